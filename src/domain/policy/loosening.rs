//! A line that would let more happen unasked, bound to its file, heading and value.

use crate::domain::hash::ContentHasher;
use std::collections::HashSet;

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

/// What the name of one begins with that is about a skill.
pub const SKILL: &str = "skill ";
/// What the name of one begins with that is about an MCP server.
pub const SERVER: &str = "MCP server ";
/// What the value of one begins with that takes a skill out of use.
pub const OFF: &str = "off";

impl Loosening {
    /// Returns the name of the skill that it is about, if it is about one, and whether that is out of use by it.
    pub fn skill(&self) -> Option<(&str, bool)> {
        let name = self.name.strip_prefix(SKILL)?;
        Some((name, self.value == OFF || self.value.starts_with("off ")))
    }

    /// Returns the name of the MCP server that it is about, if it is about one.
    pub fn server(&self) -> Option<&str> {
        self.name.strip_prefix(SERVER)
    }

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
        match self.skill() {
            Some((skill, true)) => return format!("leaving out the skill {skill} of {}", self.file),
            Some((skill, false)) => return format!("the skill {skill} of {}, as it was shown", self.file),
            None => {}
        }
        if self.server().is_some() {
            let count = self.value.split(", ").next().unwrap_or("");
            return format!("the {} of {} ({count}), as it was shown", self.name, self.file);
        }
        let under = if self.heading.is_empty() { String::new() } else { format!(" under “{}”", self.heading) };
        format!("{} = {}{under} in {}", self.name, self.value, self.file)
    }
}

/// What the user confirmed and did not take back.
#[derive(Clone, Debug, Default)]
pub struct Confirmed {
    hashes: HashSet<String>,
    /// The file and the name of each skill of which one state was confirmed.
    skills: HashSet<(String, String)>,
}

impl Confirmed {
    /// Takes what was confirmed.
    pub fn of<'a>(all: impl Iterator<Item = &'a Loosening>) -> Confirmed {
        let mut known = Confirmed::default();
        for one in all {
            if let Some((_, false)) = one.skill() {
                known.skills.insert((one.file.clone(), one.name.clone()));
            }
            known.hashes.insert(one.hash());
        }
        known
    }

    /// Returns whether exactly this was confirmed.
    pub fn has(&self, loosening: &Loosening) -> bool {
        self.hashes.contains(&loosening.hash())
    }

    /// Returns whether some state of this skill in this place was confirmed.
    pub fn once(&self, loosening: &Loosening) -> bool {
        self.skills.contains(&(loosening.file.clone(), loosening.name.clone()))
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
