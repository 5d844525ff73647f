//! Which changes the next undo or redo takes back, found by looking back from the newest change, and no further than it
//! takes.

use crate::domain::undo::{Change, IN_PART, Kind};
use std::collections::BTreeSet;

/// Looks back for what the next undo or redo takes back.
///
/// What is of one turn and one kind is one step. What took a change back came behind it, so whoever goes back has seen
/// that before the change itself.
pub struct Next {
    wanted: Wanted,
    /// Changes that are not taken back once more: they were, all of them or a part.
    gone: BTreeSet<String>,
    /// The step that is being looked at.
    step: Option<(Kind, String)>,
    found: Vec<Change>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Undo,
    Redo,
}

impl Next {
    /// Looks for what the next undo takes back.
    pub fn undo() -> Next {
        Next::of(Wanted::Undo)
    }

    /// Looks for what could be undone behind some changes.
    pub fn undo_behind(changes: impl IntoIterator<Item = String>) -> Next {
        Next { gone: changes.into_iter().collect(), ..Next::of(Wanted::Undo) }
    }

    /// Looks for what the next redo takes back.
    pub fn redo() -> Next {
        Next::of(Wanted::Redo)
    }

    fn of(wanted: Wanted) -> Next {
        Next { wanted, gone: BTreeSet::new(), step: None, found: Vec::new() }
    }

    /// Looks at a change; they come newest first. Returns whether one more has to be looked at.
    pub fn look(&mut self, change: Change) -> bool {
        if !change.is_any() {
            return true;
        }
        let same = self.step.as_ref().is_some_and(|(kind, turn)| (*kind, turn) == (change.kind, &change.turn));
        if !same && !self.found.is_empty() {
            return false;
        }
        self.step = Some((change.kind, change.turn.clone()));
        let is_wanted = match (self.wanted, change.kind) {
            (Wanted::Undo, Kind::Act | Kind::Rewind | Kind::Redo) | (Wanted::Redo, Kind::Undo) => true,
            (Wanted::Undo, Kind::Undo) | (Wanted::Redo, Kind::Redo) => {
                let bare = |id: &String| id.strip_suffix(IN_PART).unwrap_or(id).to_string();
                self.gone.extend(change.of.iter().map(bare));
                false
            }
            // What is done anew ends what could be redone.
            (Wanted::Redo, Kind::Act | Kind::Rewind) => return false,
        };
        if is_wanted && !self.gone.contains(&change.id) {
            self.found.push(change);
        }
        true
    }

    /// Returns the changes of the step that was found, newest first; empty when there is nothing.
    pub fn found(self) -> Vec<Change> {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::OperationId;
    use crate::domain::undo::{FileChange, Image, failing, leaving};
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

    fn next_undo(all: &[Change]) -> Vec<String> {
        looked_up(all, Next::undo()).0
    }

    fn next_redo(all: &[Change]) -> Vec<String> {
        looked_up(all, Next::redo()).0
    }

    #[test]
    fn steps_are_turns_and_a_new_act_ends_what_could_be_redone() {
        let mut all =
            vec![change("a", Kind::Act, "1", &[]), change("b", Kind::Act, "2", &[]), change("c", Kind::Act, "2", &[])];
        assert_eq!(next_undo(&all), ["c", "b"]);
        all.push(change("u", Kind::Undo, "3", &["c", "b"]));
        assert_eq!(next_undo(&all), ["a"]);
        assert_eq!(next_redo(&all), ["u"]);
        all.push(change("v", Kind::Undo, "4", &["a"]));
        assert_eq!(next_redo(&all), ["v"]);
        all.push(change("r", Kind::Redo, "5", &["v"]));
        assert_eq!(next_undo(&all), ["r"], "what was done again can be undone again");
        assert_eq!(next_redo(&all), ["u"]);
        all.push(change("d", Kind::Act, "6", &[]));
        assert_eq!(next_redo(&all), [""; 0]);
        assert_eq!(next_undo(&all), ["d"]);
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
        assert_eq!(next_undo(&all), ["m", "f"]);
        all.extend([change("u", Kind::Undo, "3", &["f"]), inner("v", Kind::Undo, "3", &["m"])]);
        assert_eq!((next_undo(&all), next_redo(&all)), (vec!["a".into()], vec!["v".into(), "u".into()]));
        all.extend([change("r", Kind::Redo, "4", &["u"]), inner("s", Kind::Redo, "4", &["v"])]);
        assert_eq!((next_undo(&all), next_redo(&all)), (vec!["s".into(), "r".into()], vec![]));
        all.push(change("x", Kind::Rewind, "5", &[]));
        assert_eq!(next_undo(&all), ["x"], "another turn is another step");
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
        assert_eq!((next_undo(&all), next_redo(&all)), (of(&["a"]), of(&["u"])));
        all.push(change("r", Kind::Redo, "4", &["u~"]));
        assert_eq!((next_undo(&all), next_redo(&all)), (of(&["r"]), of(&[])));
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
