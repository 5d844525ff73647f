//! The text of a node that a vector is made of, and the key that the vector is kept under.

use crate::domain::context::prose::prose;
use crate::domain::context::segment::prefix;
use crate::domain::gate::secret::mask;
use crate::domain::hash::ContentHasher;
use crate::domain::label::Privacy;
use crate::domain::memory::view::NodeRef;

/// Counts what decides about the text of a passage: with another number, other vectors.
const EDITION: u64 = 1;
/// So many bytes are in a passage: most models read no further.
const MOST_BYTES: usize = 2 << 10;
/// So many of a body are read: a secret that the end of the passage would cut in two is known as a whole, and masked.
const READ_BYTES: usize = 10 << 10;
/// So many bytes of each title.
const TITLE_BYTES: usize = 200;
/// So many titles above it are in front of a passage.
const ABOVE: usize = 3;
/// What is shorter than this says nothing.
const SHORTEST: usize = 3;

/// Names the text of a passage: what stands under the same key has the same vector.
pub type PassageKey = [u8; 32];

/// A text that a vector is made of: secrets that can be told by their shape are masked in it, and it carries the label
/// of the node that it is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Longer than what is sent of it, until all of it was masked.
    text: String,
    key: PassageKey,
    privacy: Privacy,
}

impl Passage {
    /// Returns the passage of a node: the titles above it, its own, and the beginning of what it says. `None` when it says
    /// nothing. Reads its text.
    pub fn of(node: &NodeRef) -> Option<Passage> {
        Passage::new(&text_of(node)?, node.privacy())
    }

    /// Returns the key of a node's passage alone, which takes less. Reads its text.
    pub fn key_of(node: &NodeRef) -> Option<PassageKey> {
        text_of(node).filter(|text| says_something(text)).map(|text| key_of(&text))
    }

    /// Returns the passage of a text that is not in memory, as a question is. `None` when it says nothing.
    pub fn new(text: &str, privacy: Privacy) -> Option<Passage> {
        says_something(text).then(|| Passage { text: mask(text).0, key: key_of(text), privacy })
    }

    /// Returns the same with more of it masked, as by values that only the edge knows.
    pub fn masked(mut self, mask: &dyn Fn(&str) -> String) -> Passage {
        self.text = mask(&self.text);
        self
    }

    /// Returns the text, with secrets masked.
    pub fn text(&self) -> &str {
        prefix(&self.text, MOST_BYTES)
    }

    /// Returns the key of its vector.
    pub fn key(&self) -> PassageKey {
        self.key
    }

    /// Returns how private it is.
    pub fn privacy(&self) -> Privacy {
        self.privacy
    }
}

fn text_of(node: &NodeRef) -> Option<String> {
    let body = prose(prefix(node.body(), READ_BYTES));
    // A title alone means little, and thousands are the same; what stands below it has it in front.
    if body.trim().len() < SHORTEST && node.children().next().is_some() {
        return None;
    }
    let title = |node: &NodeRef| prefix(node.title(), TITLE_BYTES).to_string();
    let above = node.ancestors().filter(|above| above.index > 0).take(ABOVE);
    let mut titles: Vec<String> = above.map(|above| title(&above)).collect();
    titles.reverse();
    titles.push(title(node));
    let text = format!("{}\n{}", titles.join(" / "), body.trim());
    Some(text.trim().to_string())
}

fn key_of(text: &str) -> PassageKey {
    ContentHasher::new("passage").number(EDITION).text(prefix(text, MOST_BYTES)).finish()
}

/// There is a letter or a digit in it, and it is no mere sign.
fn says_something(text: &str) -> bool {
    text.trim().len() >= SHORTEST && text.contains(char::is_alphanumeric)
}
