//! What shapes documents and cards beside the text: how it is scanned, and what is private.

use crate::domain::hash::ContentHasher;
use crate::domain::id::ObjectHash;
use crate::domain::memory::card;
use crate::domain::memory::document::{Document, PrivacyOptions};
use crate::domain::org::scan::{ScanOptions, scan};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How documents are made of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// How they are scanned.
    pub scan: ScanOptions,
    /// What makes a node private.
    pub privacy: PrivacyOptions,
}

impl Shape {
    /// Makes the document of a text.
    ///
    /// # Errors
    /// When the text is too large to be read.
    pub fn build(&self, file: &Arc<str>, text: Arc<str>) -> Result<Document, String> {
        let outline = scan(text, &self.scan.of(file)).map_err(|error| format!("{file}: {error}"))?;
        Ok(Document::build(file.clone(), outline, &self.privacy))
    }

    /// Names the shape, with the version of this program: a card that was made with another one is made anew.
    pub fn name(&self) -> ObjectHash {
        // Without `..`: an option that is added must be added here. What setup files say is named in each card.
        let ScanOptions { sequences, setups: _ } = &self.scan;
        // In whichever order a client lists them, the same tags make the same cards.
        let PrivacyOptions { tags } = &self.privacy;
        let tags = &tags.iter().map(ToString::to_string).collect::<BTreeSet<_>>().into_iter().collect();
        let mut hasher = ContentHasher::new("shape");
        hasher.number(card::VERSION.into()).text(env!("CARGO_PKG_VERSION"));
        for list in [sequences, tags] {
            hasher.number(list.len() as u64);
            for word in list {
                hasher.text(word);
            }
        }
        ObjectHash::new(hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::label::PrivacyTag;

    #[test]
    fn the_same_private_tags_in_another_order_are_the_same_shape() {
        let shape = |tags: &[&str]| {
            let tags = tags.iter().map(|tag| PrivacyTag::read(tag).0).collect();
            Shape { privacy: PrivacyOptions { tags }, ..Shape::default() }.name()
        };
        assert_eq!(shape(&["private", "diary"]), shape(&["diary", "private", "diary"]));
        assert_ne!(shape(&["private"]), shape(&["private", "diary"]));
        assert_ne!(shape(&["private", "diary"]), shape(&["private", "diary=ask"]));
    }
}
