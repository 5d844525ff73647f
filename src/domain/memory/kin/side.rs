//! A file's headings as they are compared: by their texts, or by titles and lengths where no text is at hand.

use crate::domain::id::ObjectHash;
use crate::domain::memory::card::{Card, fingerprint};
use crate::domain::memory::names::Headings;
use crate::domain::org::outline::Outline;

/// The headings of a file with what tells them apart.
pub(in crate::domain::memory) trait Side: Headings {
    /// Returns what tells one own text, headline included, from another.
    fn text(&self, index: usize) -> u64;
    /// Returns what tells a node with all below it from another.
    fn tree(&self, index: usize) -> u64;
    /// Returns what tells one text below a headline from another; `None` when there is none, or it is not known.
    fn body(&self, index: usize) -> Option<u64>;
    /// Returns the index of the first node behind the subtree.
    fn behind(&self, index: usize) -> usize;
}

/// A side whose texts were hashed.
pub(in crate::domain::memory) struct Hashed<'a> {
    pub outline: &'a Outline,
    /// Each node's own text.
    pub own: &'a [ObjectHash],
    /// Each node with all below it.
    pub whole: &'a [ObjectHash],
}

/// A side that is known by its card, or is compared with one: texts count by their length and title.
pub(in crate::domain::memory) struct Sketched<'a, H> {
    headings: &'a H,
    own: Vec<u64>,
    whole: Vec<u64>,
}

impl Headings for Hashed<'_> {
    fn count(&self) -> usize {
        self.outline.count()
    }

    fn above(&self, index: usize) -> u32 {
        self.outline.above(index)
    }

    fn words(&self, index: usize) -> &str {
        self.outline.words(index)
    }

    fn own(&self, index: usize) -> Option<&str> {
        self.outline.own(index)
    }
}

impl Side for Hashed<'_> {
    fn text(&self, index: usize) -> u64 {
        self.own.get(index).map_or(0, first)
    }

    fn tree(&self, index: usize) -> u64 {
        self.whole.get(index).map_or(0, first)
    }

    fn body(&self, index: usize) -> Option<u64> {
        let body = self.outline.nodes.get(index).map(|node| self.outline.slice(&node.body).trim())?;
        (!body.is_empty()).then(|| fingerprint(body))
    }

    fn behind(&self, index: usize) -> usize {
        self.outline.after(index)
    }
}

/// Returns the beginning of a hash: whoever makes two texts share it gains a wrong name, and nothing else.
fn first(hash: &ObjectHash) -> u64 {
    hash.as_bytes().first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

impl<'a, H: Headings> Sketched<'a, H> {
    fn new(headings: &'a H, about: impl Fn(usize) -> (u16, u32)) -> Self {
        let own = |index: usize| {
            let (level, bytes) = about(index);
            mixed(fingerprint(headings.words(index)), u64::from(bytes) << 16 | u64::from(level))
        };
        let own: Vec<u64> = (0..headings.count()).map(own).collect();
        let mut whole = own.clone();
        for index in (1..whole.len()).rev() {
            let (below, above) = (whole.get(index).copied().unwrap_or(0), headings.above(index) as usize);
            if let Some(above) = whole.get_mut(above) {
                *above = mixed(*above, below);
            }
        }
        Sketched { headings, own, whole }
    }
}

impl<'a> Sketched<'a, Card> {
    /// Makes it of a card.
    pub fn of_card(card: &'a Card) -> Self {
        Sketched::new(card, |index| (card.level(index), card.own_bytes(index).len() as u32))
    }
}

impl<'a> Sketched<'a, Outline> {
    /// Makes it of an outline.
    pub fn of_outline(outline: &'a Outline) -> Self {
        Sketched::new(outline, |index| {
            outline.nodes.get(index).map_or((0, 0), |node| (node.level, node.section.end - node.begin))
        })
    }
}

impl<H: Headings> Headings for Sketched<'_, H> {
    fn count(&self) -> usize {
        self.headings.count()
    }

    fn above(&self, index: usize) -> u32 {
        self.headings.above(index)
    }

    fn words(&self, index: usize) -> &str {
        self.headings.words(index)
    }

    fn own(&self, index: usize) -> Option<&str> {
        self.headings.own(index)
    }
}

impl<H: Headings + Ends> Side for Sketched<'_, H> {
    fn text(&self, index: usize) -> u64 {
        self.own.get(index).copied().unwrap_or(0)
    }

    fn tree(&self, index: usize) -> u64 {
        self.whole.get(index).copied().unwrap_or(0)
    }

    fn body(&self, _index: usize) -> Option<u64> {
        None
    }

    fn behind(&self, index: usize) -> usize {
        self.headings.end_of(index)
    }
}

/// Where subtrees end.
pub(in crate::domain::memory) trait Ends {
    /// Returns the index of the first node behind a subtree.
    fn end_of(&self, index: usize) -> usize;
}

impl Ends for Outline {
    fn end_of(&self, index: usize) -> usize {
        self.after(index)
    }
}

impl Ends for Card {
    fn end_of(&self, index: usize) -> usize {
        self.after(index)
    }
}

impl Headings for Card {
    fn count(&self) -> usize {
        self.len()
    }

    fn above(&self, index: usize) -> u32 {
        self.parent(index).unwrap_or(0) as u32
    }

    fn words(&self, index: usize) -> &str {
        self.own_title(index)
    }

    fn own(&self, index: usize) -> Option<&str> {
        self.own_id(index)
    }
}

fn mixed(state: u64, word: u64) -> u64 {
    (state.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ state >> 29
}
