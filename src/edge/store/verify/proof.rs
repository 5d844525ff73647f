//! What checking a store came to: each broken place by what it is, and all of it for people.

use crate::domain::count::counted;
use serde::Serialize;

/// How many broken places are named; more are counted.
const MOST_NAMED: usize = 500;

/// What kind of thing is broken; it decides what repairs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// The database as SQLite sees it: pages, indexes.
    Database,
    /// The chain of operations.
    Operation,
    /// What was decided.
    Record,
    /// A piece of content, by its hash.
    Object,
    /// The plain log beside the database.
    Log,
    /// The head that was noted outside the store does not fit.
    Head,
}

/// One broken place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Break {
    /// What kind of thing it is.
    pub what: What,
    /// What and where, for people.
    pub text: String,
}

/// What checking a store came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// When the first operation was made, if there is one.
    pub since: Option<String>,
    /// How many operations there are.
    pub operations: u64,
    /// How many records.
    pub records: u64,
    /// How many objects and texts.
    pub objects: u64,
    /// How many bytes these have.
    pub bytes: u64,
    /// How many of them nothing refers to.
    pub unreferenced: u64,
    /// How many entries the plain log has.
    pub log_entries: u64,
    /// How many bytes it has.
    pub log_bytes: u64,
    /// Where it breaks.
    pub breaks: Vec<Break>,
    /// How many broken places are not named.
    pub more: u64,
    /// What is no damage and should be known.
    pub notes: Vec<String>,
}

impl Proof {
    /// Returns whether nothing is broken.
    pub fn whole(&self) -> bool {
        self.breaks.is_empty()
    }

    /// Returns whether something of a kind is broken.
    pub fn broken(&self, what: What) -> bool {
        self.breaks.iter().any(|place| place.what == what)
    }

    /// Returns the first line for people: that it is whole, or that it is not.
    pub fn verdict(&self) -> String {
        let all = format!(
            "{}, {}, {} in {:.1} MB",
            counted(self.operations as usize, "operation"),
            counted(self.records as usize, "record"),
            counted(self.objects as usize, "object"),
            self.bytes as f64 / 1e6
        );
        match (self.breaks.len() as u64 + self.more, &self.since) {
            (0, Some(since)) => format!("unbroken since {since}: {all}"),
            (0, None) => format!("unbroken, and no operation yet: {all}"),
            (broken, _) => format!("BROKEN in {}: {all}", counted(broken as usize, "place")),
        }
    }

    /// Returns all of it for people.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.verdict());
        for place in &self.breaks {
            text.push_str(&format!("- {}\n", place.text));
        }
        if self.more > 0 {
            text.push_str(&format!("- and {} more\n", self.more));
        }
        for note in &self.notes {
            text.push_str(&format!("{note}\n"));
        }
        if self.breaks.iter().any(|place| place.what != What::Head) {
            text.push_str("`passepartout doctor --fix` makes good what the log and the Org files hold.\n");
        }
        text
    }

    pub(super) fn add(&mut self, what: What, text: impl Into<String>) {
        match self.breaks.len() < MOST_NAMED {
            true => self.breaks.push(Break { what, text: text.into() }),
            false => self.more += 1,
        }
    }
}
