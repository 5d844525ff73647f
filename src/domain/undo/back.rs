//! Takes one change of one path back, beside what has come since.

use crate::domain::org::decode::{Decoded, decode};
use crate::domain::org::scan::ScanOptions;
use crate::domain::undo::{headings, lines};
use std::sync::Arc;

/// What stands at a path, with the bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing.
    Absent,
    /// A regular file.
    File {
        /// Its bytes.
        bytes: Arc<[u8]>,
        /// Its permission bits.
        mode: u32,
    },
    /// A symbolic link, and where it leads.
    Link(String),
    /// A folder, and its permission bits.
    Folder(u32),
    /// Something else, or something of which the bytes are not known, and why.
    Unknown(String),
}

/// What taking a change back comes to at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Back {
    /// What stands there then.
    pub state: State,
    /// The headings that go back, by their titles.
    pub done: Vec<String>,
    /// What is left as it is, each with why.
    pub left: Vec<String>,
}

impl State {
    fn text(&self) -> Option<Decoded> {
        match self {
            State::File { bytes, .. } => decode(bytes).ok(),
            State::Absent | State::Link(_) | State::Folder(_) | State::Unknown(_) => None,
        }
    }

    /// Returns whether two states hold the same for whoever reads them: a text may be written in another encoding.
    pub fn same(&self, other: &State) -> bool {
        match (self, other) {
            (State::File { bytes: a, mode: m }, State::File { bytes: b, mode: n }) => {
                m == n && (a == b || self.text().is_some_and(|a| other.text().is_some_and(|b| a.text == b.text)))
            }
            (State::Unknown(_), _) | (_, State::Unknown(_)) => false,
            _ => self == other,
        }
    }
}

/// Takes back what made `after` of `before`, where `now` stands. `file` is its name: Org files go heading by heading.
pub fn back(file: &str, now: &State, before: &State, after: &State, options: &ScanOptions) -> Back {
    let stays = |why: String| Back { state: now.clone(), done: Vec::new(), left: vec![why] };
    let exactly = |state: &State| Back { state: state.clone(), done: Vec::new(), left: Vec::new() };
    match (before, now) {
        (State::Unknown(why), _) => return stays(format!("what stood there before was not kept: {why}")),
        (_, State::Unknown(why)) => return stays(why.clone()),
        _ => {}
    }
    if now.same(before) {
        return exactly(now);
    }
    if now.same(after) {
        return exactly(before);
    }
    match (before, after, now) {
        (State::File { mode, .. }, State::File { mode: left, .. }, State::File { bytes, mode: found }) => {
            let mode = if found == left { *mode } else { *found };
            match (before.text(), after.text(), now.text()) {
                (Some(ours), Some(base), Some(theirs)) => {
                    texts(file, &base, &ours, &theirs, mode, options).unwrap_or_else(stays)
                }
                // Only its mode was changed, and its bytes by hand.
                _ if matches!((before, after), (State::File { bytes: a, .. }, State::File { bytes: b, .. }) if a == b) => {
                    exactly(&State::File { bytes: bytes.clone(), mode })
                }
                _ => stays("it was changed since, and is no text that could be merged".to_string()),
            }
        }
        (_, _, State::Absent) => stays("it was removed since".to_string()),
        (State::Absent, _, _) => stays("it was changed since".to_string()),
        _ => stays("something else stands there now".to_string()),
    }
}

fn texts(
    file: &str,
    base: &Decoded,
    ours: &Decoded,
    theirs: &Decoded,
    mode: u32,
    options: &ScanOptions,
) -> Result<Back, String> {
    let written = |text: &str| {
        let bytes = theirs.encode(text).map_err(|error| error.to_string())?;
        Ok::<State, String>(State::File { bytes: bytes.into(), mode })
    };
    if crate::domain::gate::place::holds_notes(file) {
        let merged = headings::merge(&base.text, &ours.text, &theirs.text, options)?;
        return Ok(Back { state: written(&merged.text)?, done: merged.done, left: merged.left });
    }
    let text = lines::merge(&base.text, &ours.text, &theirs.text)
        .map_err(|clash| format!("line {} and what is about it were changed by hand since", clash.line))?;
    Ok(Back { state: written(&text)?, done: Vec::new(), left: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> State {
        State::File { bytes: text.as_bytes().into(), mode: 0o644 }
    }

    #[track_caller]
    fn check(name: &str, (now, before, after): (State, State, State), expected: State, left: usize) {
        let back = back(name, &now, &before, &after, &ScanOptions::default());
        assert_eq!((back.state, back.left.len()), (expected, left), "{:?}", back.left);
    }

    #[test]
    fn each_kind_of_change_goes_back_or_stays_whole() {
        let (a, b, c) = (file("a\n"), file("b\n"), file("c\n"));
        let binary = |byte: u8| State::File { bytes: [0, byte, 0].as_slice().into(), mode: 0o644 };
        let mode = |mode: u32| State::File { bytes: b"a\n".as_slice().into(), mode };
        let absent = || State::Absent;
        check("f", (b.clone(), a.clone(), b.clone()), a.clone(), 0);
        check("f", (absent(), a.clone(), absent()), a.clone(), 0);
        check("f", (b.clone(), absent(), b.clone()), absent(), 0);
        check("f", (c.clone(), absent(), b.clone()), c.clone(), 1);
        check("f", (c.clone(), a.clone(), b.clone()), c.clone(), 1);
        check("f", (absent(), a.clone(), b.clone()), absent(), 1);
        check("f", (a.clone(), a.clone(), b.clone()), a.clone(), 0);
        check("f", (binary(2), binary(1), binary(2)), binary(1), 0);
        check("f", (binary(3), binary(1), binary(2)), binary(3), 1);
        check("f", (mode(0o755), mode(0o644), mode(0o755)), mode(0o644), 0);
        check("f", (State::Link("x".into()), a.clone(), State::Link("x".into())), a.clone(), 0);
        check("f", (State::Folder(0o755), absent(), State::Folder(0o755)), absent(), 0);
        let unknown = State::Unknown("too large".into());
        check("f", (b.clone(), unknown, b.clone()), b, 1);
    }

    #[test]
    fn a_text_keeps_its_encoding_and_what_a_hand_wrote() {
        let latin = |text: &str| State::File { bytes: text.chars().map(|c| c as u8).collect(), mode: 0o600 };
        check("n.txt", (latin("é\nb\nhand\n"), latin("é\na\n"), latin("é\nb\n")), latin("é\na\nhand\n"), 0);
        let marked = |text: &str| file(&format!("\u{feff}{text}"));
        check("n.txt", (marked("b\n"), file("a\n"), file("b\n")), file("a\n"), 0);
    }
}
