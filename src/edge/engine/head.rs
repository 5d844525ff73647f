//! Memory's own state goes back: its head by one more operation, file by file, and the focus. No file on disk is touched,
//! and no record.
//!
//! What memory has taken in since stays, and so does what would make something less private than it is now, in memory
//! or on disk: what an old version did not mark, remote models must not see again.

mod words;

use crate::domain::focus::FocusStack;
use crate::domain::gate::disclosure::loosened;
use crate::domain::gate::facts::{BySetup, EditFact};
use crate::domain::id::{ObjectHash, OperationId, TurnId};
use crate::domain::memory::document::Document;
use crate::domain::memory::store::{Differing, NewRecord};
use crate::domain::memory::view::View;
use crate::domain::port::LogLevel;
use crate::domain::signal::Origin;
use crate::domain::turn::{Conversation, Ending, TurnReport};
use crate::domain::undo::Change;
use crate::edge::engine::changes::change_records;
use crate::edge::engine::focus::focus_record;
use crate::edge::engine::head::words::{done, shown, title};
use crate::edge::engine::record::Finished;
use crate::edge::engine::skilled::Setting;
use crate::edge::engine::time::{Preview, Wish, asked};
use crate::edge::engine::turns::channel;
use crate::edge::engine::{Engine, Notice};
use crate::edge::org_file::read_text;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// A move of memory's own state: what it holds of files that still are what they were, and the focus.
#[derive(Clone, Debug, Default)]
pub(super) struct Move {
    /// What is gone back, one after the other.
    pub legs: Vec<Leg>,
    /// What the focus was and becomes, one after the other.
    pub turns: Vec<(FocusStack, FocusStack)>,
    /// Files that go back by themselves, which memory follows.
    pub except: BTreeSet<String>,
    /// The changes that it takes back.
    pub of: Vec<String>,
}

/// One way back of memory's head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    /// The files become what they were then.
    pub to: OperationId,
    /// A file that is no longer what it was then has moved on, and stays.
    pub since: OperationId,
}

impl Move {
    /// Returns what takes changes back that moved memory alone; the first of them goes first.
    pub fn back<'a>(changes: impl Iterator<Item = &'a Change>) -> Move {
        let mut back = Move::default();
        for change in changes.filter(|change| change.is_inner()) {
            back.of.push(change.id.clone());
            back.legs.extend(change.memory.map(|(before, after)| Leg { to: before, since: after }));
            back.turns.extend(change.focus.clone().map(|(before, after)| (after, before)));
        }
        back
    }

    /// Returns whether there is nothing to be done.
    pub fn is_nothing(&self) -> bool {
        self.legs.is_empty() && self.turns.is_empty()
    }
}

/// One file on its way.
#[derive(Clone)]
struct Step {
    file: Arc<str>,
    now: Option<ObjectHash>,
    then: Option<ObjectHash>,
    text: Option<Arc<str>>,
    /// What the file on disk looked like before it was compared.
    disk: Option<(SystemTime, u64)>,
}

/// What a move comes to.
struct Way {
    steps: Vec<Step>,
    /// What the focus is and becomes.
    focus: Option<(FocusStack, FocusStack)>,
    /// What stays, each with why.
    left: Vec<String>,
}

impl Way {
    fn is_nothing(&self) -> bool {
        self.steps.is_empty() && self.focus.is_none()
    }
}

impl Engine {
    /// Shows what a move of memory would do.
    ///
    /// # Errors
    /// When it would do nothing, with what is left as it is and why; or when the store cannot be read.
    pub(super) async fn preview_memory(self: &Arc<Self>, to: &Move) -> Result<Preview, Unmoved> {
        let way = self.way(to).await.map_err(Unmoved::Failed)?;
        if way.is_nothing() {
            return Err(Unmoved::Nothing(way.left));
        }
        Ok(shown(to, &way))
    }

    /// Finds out which files go back, and what becomes of the focus.
    async fn way(self: &Arc<Self>, to: &Move) -> Result<Way, String> {
        self.flush().await?;
        let view = self.view();
        let mut left = Vec::new();
        let mut states: BTreeMap<Arc<str>, Option<ObjectHash>> = BTreeMap::new();
        for leg in &to.legs {
            for Differing { file, before: then, after } in self.archive.differing(leg.to, leg.since).await? {
                let now = states.get(&file).copied().unwrap_or_else(|| root(&view, &file));
                if now == then || to.except.contains(&*file) {
                    continue;
                }
                if now != after {
                    left.push(format!("{file}: memory has taken in something newer"));
                } else if then.is_some() && !self.belongs(&file) {
                    left.push(format!("{file}: it does not belong to memory any more"));
                } else {
                    states.insert(file, then);
                }
            }
        }
        let focus = turned(self.focus_stack(), &to.turns, &mut left);
        let mut way = Way { steps: Vec::new(), focus, left };
        for (file, then) in states {
            let now = root(&view, &file);
            if now == then {
                continue;
            }
            let text = match then {
                None => None,
                Some(document) => {
                    let text = self.archive.text(document).await?;
                    Some(text.ok_or_else(|| format!("{file}: its text is not in the store"))?)
                }
            };
            way.steps.push(Step { file, now, then, text, disk: None });
        }
        let engine = self.clone();
        let work = move || keep_private(way, &view, &engine);
        tokio::task::spawn_blocking(work).await.map_err(|_| "comparing what is private broke".to_string())?
    }

    /// Moves memory by one more operation, exactly as it was shown, in a turn of its own.
    ///
    /// # Errors
    /// When memory has moved on, or what was done before could not be stored; nothing was changed then. What was done and
    /// is not on disk yet is no error: the words say so.
    pub(super) async fn move_memory(
        self: &Arc<Self>,
        origin: &Origin,
        wish: &Wish,
        (to, seen): (&Move, &str),
        turn: TurnId,
    ) -> Result<Finished, String> {
        let began = self.clock.now();
        let mut report = TurnReport::of(Conversation::empty());
        report.text = self.move_within(origin, wish, (to, seen), &turn).await?;
        report.ending = Ending::Answered;
        Ok(self.finish(turn, origin.session.clone(), began, asked(wish), report, &Setting::default()).await)
    }

    /// Does the same within a turn; returns what was done, in words.
    ///
    /// # Errors
    /// As [`Engine::move_memory`].
    pub(super) async fn move_within(
        self: &Arc<Self>,
        origin: &Origin,
        wish: &Wish,
        (to, seen): (&Move, &str),
        turn: &TurnId,
    ) -> Result<String, String> {
        let began = self.clock.now();
        let moved_on = || "memory has moved on since this was shown; look at it again".to_string();
        let way = self.way(to).await?;
        if way.is_nothing() || shown(to, &way).shown != seen {
            return Err(moved_on());
        }
        let _turning = self.turning.lock().await;
        if way.focus.as_ref().is_some_and(|(now, _)| *now != self.focus_stack()) {
            return Err(moved_on());
        }
        let id = self.new_change_name(&turn.0);
        let change = Change {
            id: id.clone(),
            kind: wish.kind(),
            time: began,
            since: self.head(),
            turn: turn.0.clone(),
            session: origin.session.0.clone(),
            tool: "memory".to_string(),
            summary: title(to),
            plan: None,
            approver: Some(channel(origin.source).to_string()),
            of: to.of.clone(),
            files: Vec::new(),
            memory: None,
            focus: way.focus.clone(),
            doubt: None,
        };
        let moved = self.publish_move(&way, wish, change).await?.ok_or_else(moved_on)?;
        if let Some((_, stack)) = &way.focus {
            *self.sight.lock() = stack.clone();
            (self.notify)(Notice::Status);
        }
        // It is done, stored or not: what cannot be stored now is tried again with the next change.
        let stored = self.flush().await;
        self.hold_unchanged(&way, moved).await;
        let mut done = done(to, &way);
        if let Err(why) = stored {
            done.push_str(&format!("\nThis is not on disk yet: {why}. It is stored with the next change that can be."));
        }
        self.say(LogLevel::Info, &format!("{} ({id})", title(to)));
        Ok(done)
    }

    /// Makes one operation of all of it or of nothing, as memory may have changed while the texts were read. What it was
    /// is stored in one piece with it. Returns which documents memory holds from now on; `None` when it moved on.
    async fn publish_move(
        &self,
        way: &Way,
        wish: &Wish,
        change: Change,
    ) -> Result<Option<Vec<(String, ObjectHash)>>, String> {
        let at = self.clock.now();
        let records = |change: &Change| -> Vec<NewRecord> {
            let focus = change.focus.as_ref().and_then(|(_, stack)| focus_record(stack));
            let all = change_records(change).into_iter().chain(focus);
            all.map(|(kind, key, body)| NewRecord { at, kind: kind.to_string(), key, body }).collect()
        };
        if way.steps.is_empty() {
            self.archive.append(records(&change)).await?;
            return Ok(Some(Vec::new()));
        }
        // Behind the last wait: what is made by Org's settings is in memory before they change.
        let _org = self.hold_org();
        let (mut put, mut remove) = (Vec::new(), Vec::new());
        for step in &way.steps {
            match &step.text {
                Some(text) => put.push(Arc::new(self.build(&step.file, text.clone())?)),
                None => remove.push(step.file.to_string()),
            }
        }
        let held = put.iter().map(|built: &Arc<Document>| (built.file.to_string(), built.root())).collect();
        let whole = OnceCell::new();
        let as_shown = |view: &View, _: &str| {
            *whole.get_or_init(|| way.steps.iter().all(|step| root(view, &step.file) == step.now))
        };
        let beside = |by: OperationId| {
            let before = OperationId(by.0.saturating_sub(1));
            records(&Change { since: before, memory: Some((before, by)), ..change.clone() })
        };
        let note = format!("{} {}", change.id, change.summary);
        let why = (wish.kind().name(), note.as_str());
        Ok(self.change_memory_with(put, &remove, Vec::new(), why, &as_shown, &beside).map(|_| held))
    }

    /// Has memory keep its old versions until a file changes; one that changed meanwhile is read again.
    async fn hold_unchanged(self: &Arc<Self>, way: &Way, mut held: Vec<(String, ObjectHash)>) {
        let (engine, steps) = (self.clone(), way.steps.clone());
        let work = move || {
            let known: std::collections::HashMap<&str, _> = steps.iter().map(|step| (&*step.file, step.disk)).collect();
            held.retain(|(file, _)| known.get(file.as_str()) == Some(&looks(file)));
            engine.hold(&held);
        };
        if tokio::task::spawn_blocking(work).await.is_err() {
            self.say(LogLevel::Error, "noting what memory holds of files broke; they are read again");
        }
    }
}

/// Why a move was not shown.
pub(super) enum Unmoved {
    /// There is nothing to do; what is left as it is, each with why.
    Nothing(Vec<String>),
    /// It could not be found out.
    Failed(String),
}

/// Works out what the focus becomes; `None` when it stays.
fn turned(
    now: FocusStack,
    turns: &[(FocusStack, FocusStack)],
    left: &mut Vec<String>,
) -> Option<(FocusStack, FocusStack)> {
    let mut then = now.clone();
    for (from, to) in turns {
        match then == *from {
            true => then = to.clone(),
            false if then == *to => {}
            false => left.push("the focus: it was moved since".to_string()),
        }
    }
    (then != now).then_some((now, then))
}

fn root(view: &View, file: &str) -> Option<ObjectHash> {
    view.card(file).map(|card| card.root())
}

/// Returns when a file was written, and its size.
fn looks(file: &str) -> Option<(SystemTime, u64)> {
    let about = std::fs::metadata(file).ok()?;
    Some((about.modified().ok()?, about.len()))
}

/// Leaves the files as they are in which something would be less private than it is now.
fn keep_private(mut way: Way, view: &View, engine: &Engine) -> Result<Way, String> {
    let tags = &engine.config.private_tags;
    let steps = std::mem::take(&mut way.steps);
    let mut edits = Vec::new();
    for mut step in steps {
        step.disk = looks(&step.file);
        let now = step.now.and_then(|_| view.text(&step.file));
        if step.now.is_some() && now.is_none() {
            way.left.push(format!("{}: what memory holds of it cannot be had", step.file));
            continue;
        }
        let path = Path::new(&*step.file);
        let disk = match read_text(path) {
            Ok(decoded) => Some(decoded.text),
            Err(_) if matches!(path.try_exists(), Ok(false)) => None,
            Err(error) => {
                way.left.push(format!("{}: whether it is private was not found out: {error}", step.file));
                continue;
            }
        };
        let after: Arc<str> = step.text.clone().unwrap_or_else(|| "".into());
        let edit = |before: Option<Arc<str>>| {
            let (file, after) = (step.file.to_string(), after.clone());
            let plain = EditFact { file, before, after, diff: String::new(), by_setup: BySetup::default() };
            let mut edit = EditFact { by_setup: engine.by_setup(&plain), ..plain };
            engine.count_held(vec![&mut edit]);
            edit
        };
        let (by_memory, by_disk) = (edit(now), edit(disk));
        let opens =
            |edit: &EditFact| loosened(std::slice::from_ref(edit), tags).map_or(true, |lost| !lost.names.is_empty());
        if step.text.is_some() && (opens(&by_memory) || opens(&by_disk)) {
            way.left.push(format!("{}: something in it would no longer be private", step.file));
            continue;
        }
        edits.push(by_memory);
        way.steps.push(step);
    }
    // A heading that went from one file to another opens in neither alone.
    match loosened(&edits, tags) {
        Ok(lost) if lost.names.is_empty() => Ok(way),
        Ok(_) | Err(_) => Err("a heading that went from one file to another would no longer be private; \
                               go back to a later operation, or take the changes of files back"
            .to_string()),
    }
}
