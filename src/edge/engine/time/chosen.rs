//! What an undo, a redo or a rewind takes back, looked up in the store.

use crate::domain::action::Action;
use crate::domain::focus::FocusStack;
use crate::domain::id::OperationId;
use crate::domain::inert::exact;
use crate::domain::label::Labels;
use crate::domain::tool::RESTORE;
use crate::domain::undo::next::Next;
use crate::domain::undo::{Change, FileChange, IN_PART, failing, leaving};
use crate::edge::engine::Engine;
use crate::edge::engine::head::{Leg, Move};
use crate::edge::engine::past::no_operation;
use crate::edge::engine::time::{Reach, Wish};
use serde_json::{Map, Value};

/// What is to be taken back, as it was worked out.
pub(super) struct Chosen {
    /// The changes of files; empty when none is.
    pub(super) files: Vec<String>,
    pub(super) to: Option<OperationId>,
    pub(super) memory: Move,
}

impl Engine {
    /// Works out what a wish takes back.
    pub(super) async fn chosen(&self, wish: &Wish) -> Result<Chosen, String> {
        let nothing = |what: &str| format!("there is nothing to {what}");
        let back = match wish {
            Wish::Undo(None) => match self.next(Next::undo()).await? {
                none if none.is_empty() => return Err(nothing("undo")),
                some => some,
            },
            Wish::Undo(Some(name)) => {
                let found = self.changes_called(name).await?;
                if found.is_empty() {
                    return Err(format!("there is no change {}; see: memory log", exact(name)));
                }
                match self.standing(found).await? {
                    none if none.is_empty() => return Err(format!("{} was undone already", exact(name))),
                    some => some,
                }
            }
            Wish::Redo => match self.next(Next::redo()).await? {
                none if none.is_empty() => return Err(nothing("redo")),
                some => some,
            },
            Wish::Rewind(to, reach) => return self.rewound(*to, *reach).await,
        };
        Ok(parted(&back, None))
    }

    /// Works out what a rewind takes back.
    async fn rewound(&self, to: OperationId, reach: Reach) -> Result<Chosen, String> {
        let head = self.head();
        if to > head {
            return Err(no_operation(to, head));
        }
        let focus = match reach {
            Reach::Files => None,
            Reach::Memory | Reach::Both => self.focus_then(to).await?,
        };
        let turns: Vec<_> =
            focus.map(|then| (self.focus_stack(), then)).filter(|(now, then)| now != then).into_iter().collect();
        let chosen = match reach {
            Reach::Memory => {
                let legs = vec![Leg { to, since: head }];
                return Ok(Chosen { files: Vec::new(), to: None, memory: Move { legs, turns, ..Move::default() } });
            }
            Reach::Files => Chosen { memory: Move::default(), ..parted(&self.changes_since(to).await?, Some(to)) },
            Reach::Both => {
                let mut chosen = parted(&self.changes_since(to).await?, Some(to));
                chosen.memory.turns = turns;
                chosen
            }
        };
        match (reach, chosen.files.is_empty() && chosen.memory.is_nothing()) {
            (_, false) => Ok(chosen),
            (Reach::Files, true) => Err(format!("the agent has changed no file since operation {}", to.0)),
            (Reach::Memory | Reach::Both, true) => Err(format!(
                "since operation {} the agent has changed no file, and neither memory alone nor the focus was moved",
                to.0
            )),
        }
    }

    /// Returns the focus as it was at an operation; nothing when that cannot be found out any more.
    async fn focus_then(&self, operation: OperationId) -> Result<Option<FocusStack>, String> {
        match self.archive.operation(operation).await? {
            Some(then) => self.focus_at_time(then.why.at).await,
            None => Ok((operation == OperationId(0)).then(FocusStack::default)),
        }
    }

    /// Makes the action that takes changes back.
    pub(super) async fn restoring(
        &self,
        wish: &Wish,
        changes: Vec<String>,
        to: Option<OperationId>,
    ) -> Result<Action, String> {
        let all = self.changes_named(changes.clone()).await?;
        let mut files: Vec<&str> = Vec::new();
        for change in &all {
            files.extend(change.files.iter().map(|file| file.path.as_str()));
        }
        files.sort_unstable();
        files.dedup();
        let mut args = Map::new();
        args.insert("kind".into(), wish.kind().name().into());
        args.insert("changes".into(), changes.into());
        args.insert("files".into(), files.into());
        if let Some(to) = to {
            args.insert("to".into(), Value::String(to.0.to_string()));
        }
        let why = format!("You asked to {} this.", wish.kind().name());
        Action::new(&self.toolbox(), RESTORE, args, Some(&why), Labels::USER).map_err(|malformed| malformed.0)
    }

    /// Marks the changes of which something is left as it is.
    pub(in crate::edge::engine) async fn not_left(&self, of: Vec<String>, left: &[String]) -> Vec<String> {
        if of.is_empty() || left.is_empty() {
            return of;
        }
        let is_left =
            |path: &str| left.iter().any(|why| why.strip_prefix(path).is_some_and(|why| why.starts_with(": ")));
        match self.changes_named(whole_names(&of)).await {
            Ok(known) => leaving(of, &known, &is_left),
            Err(_) => of.into_iter().map(|id| id + IN_PART).collect(),
        }
    }

    /// Leaves out the changes of which nothing went back, and marks those of which not all did.
    pub(in crate::edge::engine) async fn not_failed(
        &self,
        of: Vec<String>,
        stuck: &[&FileChange],
        gone: &[&FileChange],
    ) -> Vec<String> {
        if of.is_empty() || stuck.is_empty() {
            return of;
        }
        let paths = |files: &[&FileChange]| files.iter().map(|file| file.path.clone()).collect();
        match self.changes_named(whole_names(&of)).await {
            Ok(known) => failing(of, &known, &paths(stuck), &paths(gone)),
            Err(_) => Vec::new(),
        }
    }
}

/// Returns the names of changes of which perhaps only a part was taken back.
fn whole_names(of: &[String]) -> Vec<String> {
    of.iter().map(|id| id.strip_suffix(IN_PART).unwrap_or(id).to_string()).collect()
}

/// Parts changes into those of files and those of memory's own state.
fn parted(back: &[Change], to: Option<OperationId>) -> Chosen {
    let of_files: Vec<&Change> = back.iter().filter(|change| !change.files.is_empty()).collect();
    let mut memory = Move::back(back.iter());
    memory.except = of_files.iter().flat_map(|change| &change.files).map(|file| file.path.clone()).collect();
    Chosen { files: of_files.iter().map(|change| change.id.clone()).collect(), to, memory }
}
