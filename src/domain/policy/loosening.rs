//! A line that would let more happen unasked, bound to its file, heading and value.

use crate::domain::hash::ContentHasher;

/// One line of a file, or one rule that was learned, that loosens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Loosening {
    /// The file, canonical; what else it comes from in parentheses.
    pub file: String,
    /// The heading that it stands under: its id or title; empty for none.
    pub heading: String,
    /// What is set: a tool, or the name of a property.
    pub name: String,
    /// To what.
    pub value: String,
}

impl Loosening {
    /// Returns the name of exactly this, as 64 hexadecimal digits: a confirmation holds for nothing else.
    pub fn hash(&self) -> String {
        let mut hasher = ContentHasher::new("loosening");
        hasher.text(&self.file).text(&self.heading).text(&self.name).text(&self.value);
        blake3::Hash::from_bytes(hasher.finish()).to_hex().to_string()
    }

    /// Returns a short name for people: the letter L and the first digits of the hash.
    pub fn id(&self) -> String {
        let hash = self.hash();
        format!("L{}", hash.get(..8).unwrap_or_default().to_ascii_uppercase())
    }

    /// Returns it in one line for the log and records: the heading's title, which may be private, is not in it.
    pub fn bare(&self) -> String {
        let under = if self.heading.is_empty() { "" } else { " under a heading" };
        format!("{} ({} = {}{under} in {})", self.id(), self.name, self.value, self.file)
    }

    /// Returns it in one line for people.
    pub fn words(&self) -> String {
        let under = if self.heading.is_empty() { String::new() } else { format!(" under “{}”", self.heading) };
        format!("{} = {}{under} in {}", self.name, self.value, self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_decides_the_name() {
        let made = |parts: [&str; 4]| {
            let [file, heading, name, value] = parts.map(str::to_string);
            Loosening { file, heading, name, value }
        };
        let one = made(["/f", "h", "n", "v"]);
        for other in [["/g", "h", "n", "v"], ["/f", "i", "n", "v"], ["/f", "h", "m", "v"], ["/f", "h", "n", "w"]] {
            assert_ne!(made(other).hash(), one.hash());
        }
        assert_ne!(made(["/fh", "", "n", "v"]).hash(), made(["/f", "h", "n", "v"]).hash());
        assert_eq!(made(["/f", "h", "n", "v"]).hash(), one.hash());
    }
}
