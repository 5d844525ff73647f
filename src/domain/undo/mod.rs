//! Taking back what was done: what a change is, which one is next, and how it is undone beside what came since.
//!
//! A change names what stood at each path before and after it. Undoing one is a three-way merge with what stands there
//! now; what the user wrote since is kept, and where both touched the same, nothing is done and it is said.

pub mod back;
pub mod headings;
pub mod lines;
pub mod next;
mod parts;

use crate::domain::focus::FocusStack;
use crate::domain::id::{ObjectHash, OperationId};
use std::collections::BTreeSet;

/// What stands at a path, with the bytes of a file by their name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Image {
    /// Nothing.
    Absent,
    /// A regular file.
    File {
        /// The name of its bytes; see [`crate::domain::memory::store::content_name`].
        content: ObjectHash,
        /// Its size in bytes.
        size: u64,
        /// Its permission bits.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Where it leads.
        target: String,
    },
    /// A folder.
    Folder {
        /// Its permission bits.
        mode: u32,
    },
    /// Something that was not kept, and why.
    Unkept {
        /// Why, in words.
        why: String,
    },
}

/// What a change made of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The path, absolute.
    pub path: String,
    /// What stood there before.
    pub before: Image,
    /// What stood there after.
    pub after: Image,
}

/// What kind of change it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An act of the agent.
    Act,
    /// It took others back.
    Undo,
    /// It took an undo back.
    Redo,
    /// It took back everything behind an operation.
    Rewind,
}

impl Kind {
    /// Returns the word for the store, the wire and people.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Act => "act",
            Kind::Undo => "undo",
            Kind::Redo => "redo",
            Kind::Rewind => "rewind",
        }
    }

    /// Reads what [`Kind::name`] wrote.
    pub fn parse(name: &str) -> Option<Kind> {
        [Kind::Act, Kind::Undo, Kind::Redo, Kind::Rewind].into_iter().find(|kind| kind.name() == name)
    }
}

/// One change of files or of memory's head: what was done, for whom, and what stood there before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its name.
    pub id: String,
    /// Its kind.
    pub kind: Kind,
    /// When.
    pub time: jiff::Timestamp,
    /// Where memory's log stood when it began.
    pub since: OperationId,
    /// The turn.
    pub turn: String,
    /// The conversation.
    pub session: String,
    /// The tool.
    pub tool: String,
    /// What was done, in a line.
    pub summary: String,
    /// The plan, when a human approved one.
    pub plan: Option<String>,
    /// The channel by which a human approved it, when one did.
    pub approver: Option<String>,
    /// The changes that it took back, in the order in which that was done. Behind one of which a part was left as it
    /// was stands [`IN_PART`].
    pub of: Vec<String>,
    /// The files.
    pub files: Vec<FileChange>,
    /// When it moved memory's head alone: from where, and to where.
    pub memory: Option<(OperationId, OperationId)>,
    /// When it moved the focus: what that was, and what it became.
    pub focus: Option<(FocusStack, FocusStack)>,
    /// What is not known of it, for people.
    pub doubt: Option<String>,
}

impl Change {
    /// Returns whether it moved memory alone, or the focus, and no file.
    pub fn is_inner(&self) -> bool {
        self.memory.is_some() || self.focus.is_some()
    }

    /// Returns whether there is anything that could be taken back.
    pub fn is_any(&self) -> bool {
        !self.files.is_empty() || self.is_inner()
    }

    /// Returns the changes that do not stand any more once this one does: all of what an undo took back whole.
    pub fn taken_whole(&self) -> impl Iterator<Item = &String> {
        let of = if self.kind == Kind::Undo { self.of.as_slice() } else { &[] };
        of.iter().filter(|id| !id.ends_with(IN_PART))
    }
}

/// Stands behind the name of a change that was taken back in part.
pub const IN_PART: &str = "~";

/// Marks the changes of which files, or headings in them, are left as they are; `known` are all changes.
pub fn leaving(of: Vec<String>, known: &[Change], is_left: &dyn Fn(&str) -> bool) -> Vec<String> {
    let touches = |id: &str| known.iter().any(|c| c.id == id && c.files.iter().any(|file| is_left(&file.path)));
    of.into_iter().map(|id| if touches(&id) { format!("{id}{IN_PART}") } else { id }).collect()
}

/// Marks the changes of which files should have gone back and did not, and drops those of which none did.
pub fn failing(of: Vec<String>, known: &[Change], stuck: &BTreeSet<String>, gone: &BTreeSet<String>) -> Vec<String> {
    let mut left = Vec::new();
    for name in of {
        let id = name.strip_suffix(IN_PART).unwrap_or(&name);
        let of_it = |paths: &BTreeSet<String>| {
            known.iter().any(|c| c.id == id && c.files.iter().any(|file| paths.contains(&file.path)))
        };
        match (of_it(stuck), of_it(gone)) {
            (false, _) => left.push(name),
            (true, true) => left.push(format!("{id}{IN_PART}")),
            (true, false) => {}
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::undo::next::Next;
    use proptest::prelude::*;

    /// What can be undone and redone, worked out from all changes, oldest first: what is looked up is held against it.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    struct History {
        /// Steps that can be undone, oldest first; each is a list of changes, oldest first.
        undo: Vec<Vec<String>>,
        /// Steps that can be redone, oldest first; each is a list of undos, oldest first.
        redo: Vec<Vec<String>>,
        /// Changes that stand in part: each can be undone by its name, and the next undo goes on behind them.
        in_part: BTreeSet<String>,
    }

    impl History {
        /// Replays changes: what is of one turn and one kind is one step, and an act ends what could be redone.
        fn of<'a>(changes: impl IntoIterator<Item = &'a Change>) -> History {
            let mut history = History::default();
            let mut last: Option<(Kind, &str)> = None;
            for change in changes.into_iter().filter(|change| change.is_any()) {
                let this = (change.kind, change.turn.as_str());
                let same = last == Some(this);
                match change.kind {
                    Kind::Act | Kind::Rewind => {
                        history.redo.clear();
                        join(&mut history.undo, same, &change.id);
                    }
                    Kind::Undo => {
                        let gone: BTreeSet<&String> = change.taken_whole().collect();
                        history
                            .in_part
                            .extend(change.of.iter().filter_map(|id| Some(id.strip_suffix(IN_PART)?.to_string())));
                        keep(&mut history.undo, |id| !gone.contains(id));
                        join(&mut history.redo, same, &change.id);
                    }
                    Kind::Redo => {
                        let done =
                            |id: &String| change.of.iter().any(|of| of.strip_suffix(IN_PART).unwrap_or(of) == id);
                        keep(&mut history.redo, |id| !done(id));
                        // What was done again is undone by undoing this.
                        join(&mut history.undo, same, &change.id);
                    }
                }
                last = Some(this);
            }
            history
        }

        /// Returns the changes that the next undo takes back, newest first; empty when there is nothing.
        fn next_undo(&self) -> Vec<String> {
            let whole = |step: &Vec<String>| {
                step.iter().rev().filter(|id| !self.in_part.contains(*id)).cloned().collect::<Vec<_>>()
            };
            self.undo.iter().rev().map(whole).find(|step| !step.is_empty()).unwrap_or_default()
        }

        /// Returns the undos that the next redo takes back, newest first; empty when there is nothing.
        fn next_redo(&self) -> Vec<String> {
            self.redo.last().into_iter().flatten().rev().cloned().collect()
        }

        /// Returns whether a change can still be undone by itself.
        fn stands(&self, id: &str) -> bool {
            self.undo.iter().flatten().any(|step| step == id)
        }
    }

    /// Adds a change to the last step, or as a step of its own.
    fn join(steps: &mut Vec<Vec<String>>, same: bool, id: &str) {
        match steps.last_mut().filter(|_| same) {
            Some(step) => step.push(id.to_string()),
            None => steps.push(vec![id.to_string()]),
        }
    }

    /// Drops changes from steps, and steps of which nothing is left.
    fn keep(steps: &mut Vec<Vec<String>>, stays: impl Fn(&String) -> bool) {
        for step in &mut *steps {
            step.retain(&stays);
        }
        steps.retain(|step| !step.is_empty());
    }

    fn change(id: &str, kind: Kind, turn: &str, of: &[&str]) -> Change {
        let file = FileChange { path: "/f".into(), before: Image::Absent, after: Image::Folder { mode: 0o755 } };
        Change {
            id: id.into(),
            kind,
            time: jiff::Timestamp::UNIX_EPOCH,
            since: OperationId(0),
            turn: turn.into(),
            session: "s".into(),
            tool: "shell".into(),
            summary: String::new(),
            plan: None,
            approver: None,
            of: of.iter().map(|id| id.to_string()).collect(),
            files: vec![file],
            memory: None,
            focus: None,
            doubt: None,
        }
    }

    #[test]
    fn steps_are_turns_and_a_new_act_ends_what_could_be_redone() {
        let mut all =
            vec![change("a", Kind::Act, "1", &[]), change("b", Kind::Act, "2", &[]), change("c", Kind::Act, "2", &[])];
        assert_eq!(History::of(&all).next_undo(), ["c", "b"]);
        all.push(change("u", Kind::Undo, "3", &["c", "b"]));
        assert_eq!(History::of(&all).next_undo(), ["a"]);
        assert_eq!(History::of(&all).next_redo(), ["u"]);
        all.push(change("v", Kind::Undo, "4", &["a"]));
        assert_eq!(History::of(&all).next_redo(), ["v"]);
        all.push(change("r", Kind::Redo, "5", &["v"]));
        assert_eq!(History::of(&all).next_undo(), ["r"], "what was done again can be undone again");
        assert_eq!(History::of(&all).next_redo(), ["u"]);
        all.push(change("d", Kind::Act, "6", &[]));
        assert_eq!(History::of(&all).next_redo(), [""; 0]);
        assert_eq!(History::of(&all).next_undo(), ["d"]);
        assert!(!History::of(&all).stands("b"));
    }

    #[test]
    fn a_rewind_of_files_and_of_memory_is_one_step_both_ways() {
        let inner = |id, kind, turn, of: &[&str]| {
            let memory = Some((OperationId(1), OperationId(2)));
            Change { files: Vec::new(), memory, ..change(id, kind, turn, of) }
        };
        let mut all = vec![
            change("a", Kind::Act, "1", &[]),
            change("f", Kind::Rewind, "2", &[]),
            inner("m", Kind::Rewind, "2", &[]),
        ];
        assert_eq!(History::of(&all).next_undo(), ["m", "f"]);
        all.extend([change("u", Kind::Undo, "3", &["f"]), inner("v", Kind::Undo, "3", &["m"])]);
        assert_eq!(
            (History::of(&all).next_undo(), History::of(&all).next_redo()),
            (vec!["a".into()], vec!["v".into(), "u".into()])
        );
        all.extend([change("r", Kind::Redo, "4", &["u"]), inner("s", Kind::Redo, "4", &["v"])]);
        assert_eq!(
            (History::of(&all).next_undo(), History::of(&all).next_redo()),
            (vec!["s".into(), "r".into()], vec![])
        );
        all.push(change("x", Kind::Rewind, "5", &[]));
        assert_eq!(History::of(&all).next_undo(), ["x"], "another turn is another step");
    }

    #[test]
    fn what_does_not_stand_any_more_can_be_told_from_the_undos_alone() {
        let all = [
            change("a", Kind::Act, "1", &[]),
            change("b", Kind::Act, "2", &[]),
            change("u", Kind::Undo, "3", &["b~", "a"]),
            change("r", Kind::Redo, "4", &["u"]),
            change("v", Kind::Undo, "5", &["r"]),
        ];
        let history = History::of(&all);
        let taken: BTreeSet<&String> = all.iter().flat_map(Change::taken_whole).collect();
        for change in &all {
            let stands = change.kind != Kind::Undo && !taken.contains(&change.id);
            assert_eq!(history.stands(&change.id), stands, "{}", change.id);
        }
    }

    #[test]
    fn what_was_left_or_failed_still_stands() {
        let mut all = vec![change("a", Kind::Act, "1", &[]), change("b", Kind::Act, "2", &[])];
        let of = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let paths = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<BTreeSet<_>>();
        assert_eq!(leaving(of(&["b"]), &all, &|path| path == "/f"), ["b~"]);
        assert_eq!(leaving(of(&["b"]), &all, &|path| path == "/g"), ["b"]);
        assert_eq!(failing(of(&["b"]), &all, &paths(&["/f"]), &paths(&["/g"])), Vec::<String>::new());
        assert_eq!(failing(of(&["b", "c~"]), &all, &paths(&["/g"]), &paths(&[])), ["b", "c~"]);
        all.push(change("u", Kind::Undo, "3", &["b~"]));
        let history = History::of(&all);
        assert!(history.stands("b"), "its rest can be undone by its name");
        assert_eq!((history.next_undo(), history.next_redo()), (of(&["a"]), of(&["u"])));
        all.push(change("r", Kind::Redo, "4", &["u~"]));
        assert_eq!((History::of(&all).next_undo(), History::of(&all).next_redo()), (of(&["r"]), of(&[])));
        all.push(change("v", Kind::Undo, "5", &["r", "b"]));
        assert!(!History::of(&all).stands("b"));
    }

    fn looked_up(all: &[Change], mut next: Next) -> (Vec<String>, usize) {
        let looked = all.iter().rev().take_while(|change| next.look((*change).clone())).count();
        (next.found().into_iter().map(|change| change.id).collect(), looked)
    }

    #[test]
    fn no_more_is_looked_at_than_it_takes() {
        let acts: Vec<Change> = (0..1000).map(|n| change(&format!("a{n}"), Kind::Act, &n.to_string(), &[])).collect();
        assert_eq!(looked_up(&acts, Next::undo()), (vec!["a999".to_string()], 1));
        assert_eq!(looked_up(&acts, Next::redo()), (Vec::new(), 0));
        let undone =
            [acts, vec![change("u", Kind::Undo, "u", &["a999"]), change("v", Kind::Undo, "v", &["a998"])]].concat();
        assert_eq!(looked_up(&undone, Next::undo()), (vec!["a997".to_string()], 5));
        assert_eq!(looked_up(&undone, Next::redo()), (vec!["v".to_string()], 1));
    }

    proptest! {
        #[test]
        fn looking_back_finds_what_replaying_everything_finds(
            made in proptest::collection::vec(
                (0usize..4, 0u8..3, proptest::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..4)),
                0..24,
            ),
        ) {
            let kinds = [Kind::Act, Kind::Undo, Kind::Redo, Kind::Rewind];
            let mut all: Vec<Change> = Vec::new();
            for (kind, turn, of) in made {
                // As it is in a store: an undo takes back what stands, and a redo an undo.
                let kind = kinds[kind];
                let fits = |c: &&Change| match kind {
                    Kind::Undo => c.kind != Kind::Undo,
                    Kind::Redo => c.kind == Kind::Undo,
                    Kind::Act | Kind::Rewind => false,
                };
                let known: Vec<String> = all.iter().filter(fits).map(|c| c.id.clone()).collect();
                let of: Vec<String> = match known.is_empty() {
                    true => Vec::new(),
                    false => of
                        .iter()
                        .map(|(which, part)| format!("{}{}", which.get(&known), if *part { IN_PART } else { "" }))
                        .collect(),
                };
                let of: Vec<&str> = of.iter().map(String::as_str).collect();
                all.push(change(&format!("c{}", all.len()), kind, &turn.to_string(), &of));
                let history = History::of(&all);
                prop_assert_eq!(looked_up(&all, Next::undo()).0, history.next_undo());
                prop_assert_eq!(looked_up(&all, Next::redo()).0, history.next_redo());
            }
        }
    }
}
