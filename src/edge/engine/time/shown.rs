//! What is shown before anything is taken back: previews, their pages, and how many are worked out at once.

use crate::domain::gate::page;
use crate::domain::hash::ContentHasher;
use serde_json::{Value, json};

/// How many previews are worked out at once: each holds a thread that may wait for a disk or for Emacs.
const AT_ONCE: usize = 2;

/// Exactly what would happen, as a human is shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// Names what was shown.
    pub shown: String,
    /// What would happen, in a line.
    pub title: String,
    /// All of it: files, headings, what is left as it is, and the difference.
    pub text: String,
}

impl Preview {
    /// Returns the name by which its pages are asked for; it carries nothing out.
    pub fn name(&self) -> String {
        preview_name(&self.shown)
    }
}

/// Returns the name by which pages of what is shown under a hash are asked for.
pub fn preview_name(shown: &str) -> String {
    let hash = ContentHasher::new("name of a preview").text(shown).finish();
    let hex = blake3::Hash::from_bytes(hash).to_hex();
    hex.get(..16).unwrap_or_default().to_string()
}

/// A page of a preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewPage {
    /// The text.
    pub text: String,
    /// Where the next page begins; `None` when this is the last.
    pub next: Option<usize>,
    /// Names what was shown, on the last page.
    pub shown: Option<String>,
}

/// Returns at most a page of a text from a byte on, and where the next begins. It ends with a line where one ends.
pub fn slice(text: &str, from: usize) -> (String, Option<usize>) {
    let rest = text.get(from..).unwrap_or("");
    if rest.len() <= page::PAGE {
        return (rest.to_string(), None);
    }
    let mut end = page::PAGE;
    while !rest.is_char_boundary(end) {
        end -= 1;
    }
    let piece = rest.get(..end).unwrap_or("");
    let end = piece.rfind('\n').map_or(end, |at| at + 1);
    (rest.get(..end).unwrap_or("").to_string(), Some(from + end))
}

/// Lets few previews at once be worked out.
pub(in crate::edge) struct Previewing(tokio::sync::Semaphore);

impl Default for Previewing {
    fn default() -> Previewing {
        Previewing(tokio::sync::Semaphore::new(AT_ONCE))
    }
}

impl Previewing {
    /// Waits for its turn, until what this returns is dropped.
    pub(super) async fn turn(&self) -> Result<tokio::sync::SemaphorePermit<'_>, String> {
        self.0.acquire().await.map_err(|_| "BUG: previews were closed".to_string())
    }
}

/// Returns a preview as JSON.
pub fn json(preview: &Preview) -> Value {
    json!({ "title": preview.title, "text": preview.text, "shown": preview.shown })
}
