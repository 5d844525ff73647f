//! What a job watches: it has nothing to do as long as that stays as it was.
//!
//! What happened to entries (their logs) does not count, so that writing down a run wakes nobody.

use crate::domain::hash::ContentHasher;
use crate::domain::id::NodeId;
use crate::domain::job::found::is_one;
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::org::logbook::without_logs;
use std::ops::{Add, Sub};
use std::path::{Component, Path, PathBuf};

/// What a job watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Its own heading, with all below it.
    Here,
    /// Everything.
    Memex,
    /// A heading by its id, or a file by its path from the folder of the job's own.
    Named(String),
}

/// What a watched part says, as a sum of the hashes of its files: what one change does to it can be added and taken away
/// whatever else changed meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct State([u64; 4]);

impl From<State> for String {
    fn from(state: State) -> String {
        state.to_hex()
    }
}

impl TryFrom<String> for State {
    type Error = &'static str;

    fn try_from(text: String) -> Result<State, &'static str> {
        State::parse(&text).ok_or("a state is 64 hexadecimal digits")
    }
}

impl State {
    /// Returns the state of one text; of nothing it is zero.
    fn of(name: &str, text: Option<&[u8]>) -> State {
        let Some(text) = text else { return State::default() };
        let hash = ContentHasher::new("watch").text(name).bytes(text).finish();
        let mut state = State::default();
        for (lane, bytes) in state.0.iter_mut().zip(hash.chunks_exact(8)) {
            *lane = bytes.iter().fold(0, |lane, byte| lane << 8 | u64::from(*byte));
        }
        state
    }

    /// Returns it as 64 hexadecimal digits.
    pub fn to_hex(self) -> String {
        self.0.iter().map(|lane| format!("{lane:016x}")).collect()
    }

    /// Reads these.
    pub fn parse(text: &str) -> Option<State> {
        let mut state = State::default();
        for (at, lane) in state.0.iter_mut().enumerate() {
            *lane = u64::from_str_radix(text.get(at * 16..at * 16 + 16)?, 16).ok()?;
        }
        (text.len() == 64).then_some(state)
    }
}

impl Add for State {
    type Output = State;

    fn add(self, other: State) -> State {
        let mut sum = self;
        sum.0.iter_mut().zip(other.0).for_each(|(lane, other)| *lane = lane.wrapping_add(other));
        sum
    }
}

impl Sub for State {
    type Output = State;

    fn sub(self, other: State) -> State {
        let mut rest = self;
        rest.0.iter_mut().zip(other.0).for_each(|(lane, other)| *lane = lane.wrapping_sub(other));
        rest
    }
}

/// Returns what a file adds to the state of the memex; zero for one that memory does not have.
pub fn of_file(view: &View, file: &str) -> State {
    let Some(card) = view.card(file) else { return State::default() };
    // Logs are written to files of jobs alone, and those are few.
    match (0..card.len()).any(|index| is_one(card, index)) {
        true => State::of(file, view.text(file).map(|text| without_logs(&text)).as_deref().map(str::as_bytes)),
        false => State::of(file, Some(card.root().as_bytes())),
    }
}

impl Watch {
    /// Reads the value of `:PP_WATCH:`.
    pub fn read(value: &str) -> Watch {
        match value.trim() {
            "" | "here" => Watch::Here,
            "memex" => Watch::Memex,
            other => {
                let bare = other.strip_prefix("[[").and_then(|link| link.split("]").next()).unwrap_or(other);
                let bare = bare.strip_prefix("id:").or_else(|| bare.strip_prefix("file:")).unwrap_or(bare);
                Watch::Named(bare.to_string())
            }
        }
    }

    /// Returns it in words.
    pub fn words(&self) -> String {
        match self {
            Watch::Here => "its heading, with all below it,".to_string(),
            Watch::Memex => "anything in the memex".to_string(),
            Watch::Named(name) => format!("“{name}”"),
        }
    }

    /// Returns the file in which what it watches stands; `None` for the memex, and where memory has no such thing.
    pub fn file(&self, view: &View, at: &NodeRef) -> Option<String> {
        match self {
            Watch::Here => Some(at.file().to_string()),
            Watch::Memex => None,
            Watch::Named(name) => match view.get(&NodeId::new(name.as_str())).filter(|node| node.index > 0) {
                Some(node) => Some(node.file().to_string()),
                None => Some(beside(at.file(), name)).filter(|file| view.card(file).is_some()),
            },
        }
    }

    /// Returns the state of a part of a file, the same as long as that says the same; `None` where it is not there. Of the
    /// memex it is the sum of [`of_file`].
    pub fn state(&self, view: &View, at: &NodeRef) -> Option<State> {
        match self {
            Watch::Here => Some(State::of("", Some(without_logs(at.subtree()).as_bytes()))),
            Watch::Memex => Some(view.cards().fold(State::default(), |sum, card| sum + of_file(view, &card.file))),
            Watch::Named(name) => {
                let node = view.get(&NodeId::new(name.as_str())).filter(|node| node.index > 0);
                let text = match &node {
                    Some(node) => Some(without_logs(node.subtree())),
                    None => view.text(&beside(at.file(), name)).map(|text| without_logs(&text)),
                };
                text.map(|text| State::of("", Some(text.as_bytes())))
            }
        }
    }
}

/// Returns a path from the folder of a file, without looking at the disk.
fn beside(file: &str, path: &str) -> String {
    let mut whole = PathBuf::from(file);
    whole.pop();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(whole.pop()),
            Component::RootDir | Component::Prefix(_) | Component::Normal(_) => whole.push(part),
        }
    }
    whole.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_is_meant_from_the_folder_of_the_job() {
        for (path, expected) in
            [("a.org", "/m/x/a.org"), ("../a.org", "/m/a.org"), ("./y/a.org", "/m/x/y/a.org"), ("/z/a.org", "/z/a.org")]
        {
            assert_eq!(beside("/m/x/jobs.org", path), expected);
        }
    }

    proptest! {
        #[test]
        fn what_one_change_did_is_taken_out_of_what_several_did(texts in proptest::collection::vec("[a-c]{0,2}", 4)) {
            let state = |at: usize| State::of("f", Some(texts[at].as_bytes()));
            // Somebody made the second of the first, and then a run made the fourth of the third elsewhere.
            let (before, after) = (state(0) + state(2), state(1) + state(3));
            let seen = before + (state(3) - state(2));
            prop_assert_eq!(seen == after, texts[0] == texts[1]);
            prop_assert_eq!(State::parse(&after.to_hex()), Some(after));
        }
    }

    #[test]
    fn what_is_no_state_is_none() {
        for text in ["", "0", &"g".repeat(64), &"0".repeat(65), &"ü".repeat(32)] {
            assert_eq!(State::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_watched_is_read_however_it_is_written() {
        let named = |name: &str| Watch::Named(name.to_string());
        for (value, expected) in [
            ("", Watch::Here),
            (" memex ", Watch::Memex),
            ("id:tiles", named("tiles")),
            ("[[id:tiles][Tiles]]", named("tiles")),
            ("[[file:a.org]]", named("a.org")),
            ("notes/a.org", named("notes/a.org")),
        ] {
            assert_eq!(Watch::read(value), expected, "{value}");
        }
    }
}
