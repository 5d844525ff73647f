//! Memory's head goes back by one more operation, file by file: no file on disk is touched, and no record.
//!
//! What memory has taken in since stays, and so does what would make something less private than it is now, in memory
//! or on disk: what an old version did not mark, remote models must not see again.

use crate::domain::count::counted;
use crate::domain::gate::disclosure::loosened;
use crate::domain::gate::facts::EditFact;
use crate::domain::gate::show::field;
use crate::domain::hash::ContentHasher;
use crate::domain::id::{ObjectHash, OperationId, TurnId};
use crate::domain::memory::document::Document;
use crate::domain::memory::view::View;
use crate::domain::port::LogLevel;
use crate::domain::signal::Origin;
use crate::domain::turn::{Conversation, Ending, TurnReport};
use crate::domain::undo::Change;
use crate::edge::engine::Engine;
use crate::edge::engine::record::Finished;
use crate::edge::engine::skilled::Setting;
use crate::edge::engine::time::{Preview, Wish, asked};
use crate::edge::engine::turns::channel;
use crate::edge::org_file::read_text;
use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// How many files a preview of memory names.
const NAMED: usize = 50;

/// A move of memory's head, for those files that still are what they were at an operation.
#[derive(Clone, Debug)]
pub(super) struct Move {
    /// The files become what they were then.
    pub to: OperationId,
    /// A file that is no longer what it was then has moved on, and stays.
    pub since: OperationId,
    /// The changes that it takes back.
    pub of: Vec<String>,
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
    /// What stays, each with why.
    left: Vec<String>,
}

impl Engine {
    /// Shows what a move of memory would do.
    ///
    /// # Errors
    /// When it would do nothing, or the store cannot be read.
    pub(super) async fn preview_memory(self: &Arc<Self>, to: &Move) -> Result<Preview, String> {
        let way = self.way(to).await?;
        if way.steps.is_empty() {
            let why = if way.left.is_empty() { String::new() } else { format!(": {}", way.left.join("; ")) };
            return Err(format!("memory is as it was at operation {}, or has moved on{why}", to.to.0));
        }
        Ok(shown(to, &way))
    }

    /// Finds out which files go back.
    async fn way(self: &Arc<Self>, to: &Move) -> Result<Way, String> {
        self.flush().await?;
        let view = self.view();
        let mut way = Way { steps: Vec::new(), left: Vec::new() };
        for differing in self.archive.differing(to.to, to.since).await? {
            let (file, then) = (differing.file, differing.before);
            let now = root(&view, &file);
            if now == then {
                continue;
            }
            if now != differing.after {
                way.left.push(format!("{file}: memory has taken in something newer"));
                continue;
            }
            if then.is_some() && !self.belongs(&file) {
                way.left.push(format!("{file}: it does not belong to memory any more"));
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
        let tags = self.config.private_tags.clone();
        let work = move || keep_private(way, &view, &tags);
        tokio::task::spawn_blocking(work).await.map_err(|_| "comparing what is private broke".to_string())?
    }

    /// Moves memory's head by one more operation, exactly as it was shown.
    ///
    /// # Errors
    /// When the channel may not approve, or memory has moved on; nothing was changed then.
    pub(super) async fn move_memory(
        self: &Arc<Self>,
        origin: &Origin,
        wish: &Wish,
        (to, seen): (&Move, &str),
        turn: TurnId,
    ) -> Result<Finished, String> {
        if !origin.rights.approve {
            return Err("this channel may not take anything back; do it in Emacs or at a terminal".to_string());
        }
        let began = self.clock.now();
        let moved_on = || "memory has moved on since this was shown; look at it again".to_string();
        let way = self.way(to).await?;
        if shown(to, &way).shown != seen {
            return Err(moved_on());
        }
        let (mut put, mut remove) = (Vec::new(), Vec::new());
        for step in &way.steps {
            match &step.text {
                Some(text) => put.push(Arc::new(self.build(&step.file, text.clone())?)),
                None => remove.push(step.file.to_string()),
            }
        }
        let held: Vec<(String, ObjectHash)> = put.iter().map(|built| (built.file.to_string(), built.root())).collect();
        let id = self.new_change_name(&turn.0);
        let note = format!("{id} memory back to operation {}", to.to.0);
        let by = self.publish_move(&way, (put, &remove), wish, &note);
        let by = by.ok_or_else(moved_on)?;
        let before = OperationId(by.0.saturating_sub(1));
        let change = Change {
            id,
            kind: wish.kind(),
            time: began,
            since: before,
            turn: turn.0.clone(),
            session: origin.session.0.clone(),
            tool: "memory".to_string(),
            summary: title(to),
            plan: None,
            approver: Some(channel(origin.source).to_string()),
            of: to.of.clone(),
            files: Vec::new(),
            memory: Some((before, by)),
            doubt: None,
        };
        // Right behind the step, so that both are stored together.
        self.keep_move(&change).await?;
        self.hold_unchanged(&way, held).await;
        self.say(LogLevel::Info, &format!("memory went back to operation {} by operation {}", to.to.0, by.0));
        let mut report = TurnReport::of(Conversation::empty());
        report.ending = Ending::Answered;
        report.text = format!(
            "Memory is as it was at operation {} in {}. \
             The files stay as they are; memory follows a file again when that changes.",
            to.to.0,
            counted(way.steps.len(), "file")
        );
        Ok(self.finish(turn, origin.session.clone(), began, asked(wish), report, &Setting::default()).await)
    }

    /// Makes one operation of all of it or of nothing: memory may have changed while the texts were read.
    fn publish_move(
        &self,
        way: &Way,
        (put, remove): (Vec<Arc<Document>>, &[String]),
        wish: &Wish,
        note: &str,
    ) -> Option<OperationId> {
        let whole = OnceCell::new();
        let as_shown = |view: &View, _: &str| {
            *whole.get_or_init(|| way.steps.iter().all(|step| root(view, &step.file) == step.now))
        };
        self.change_memory_where(put, remove, Vec::new(), wish.kind().name(), note, &as_shown);
        self.memory.lock().log().iter().rev().find(|made| made.why.note == note).map(|made| made.id)
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

fn root(view: &View, file: &str) -> Option<ObjectHash> {
    view.card(file).map(|card| card.root())
}

/// Returns when a file was written, and its size.
fn looks(file: &str) -> Option<(SystemTime, u64)> {
    let about = std::fs::metadata(file).ok()?;
    Some((about.modified().ok()?, about.len()))
}

/// Leaves the files as they are in which something would be less private than it is now.
fn keep_private(mut way: Way, view: &View, tags: &[String]) -> Result<Way, String> {
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
        let edit = |before: Option<Arc<str>>| EditFact {
            file: step.file.to_string(),
            before,
            after: after.clone(),
            diff: String::new(),
        };
        let (by_memory, by_disk) = (edit(now), edit(disk));
        let opens =
            |edit: &EditFact| loosened(std::slice::from_ref(edit), tags).map_or(true, |names| !names.is_empty());
        if step.text.is_some() && (opens(&by_memory) || opens(&by_disk)) {
            way.left.push(format!("{}: something in it would no longer be private", step.file));
            continue;
        }
        edits.push(by_memory);
        way.steps.push(step);
    }
    // A heading that went from one file to another opens in neither alone.
    match loosened(&edits, tags) {
        Ok(names) if names.is_empty() => Ok(way),
        Ok(_) | Err(_) => Err("a heading that went from one file to another would no longer be private; \
                               go back to a later operation, or take the changes of files back"
            .to_string()),
    }
}

fn title(to: &Move) -> String {
    format!("Rewind memory to operation {}", to.to.0)
}

/// Returns a move as people are shown it. Its name stands for each file with what it was and becomes.
fn shown(to: &Move, way: &Way) -> Preview {
    let mut text = String::new();
    field(&mut text, "memory goes back to operation", &to.to.0.to_string());
    field(&mut text, "files on disk", "stay as they are; memory follows a file again when that changes");
    for step in way.steps.iter().take(NAMED) {
        let what = match (step.then, step.now) {
            (None, _) => "forgets",
            (Some(_), None) => "remembers",
            (Some(_), Some(_)) => "goes back in",
        };
        field(&mut text, what, &step.file);
    }
    if let Some(more @ 1..) = way.steps.len().checked_sub(NAMED) {
        field(&mut text, "and", &counted(more, "more file"));
    }
    for left in &way.left {
        field(&mut text, "left as it is", left);
    }
    let mut hasher = ContentHasher::new("preview of memory");
    hasher.text(&text).number(to.since.0).number(to.to.0).number(way.steps.len() as u64);
    for step in &way.steps {
        hasher.text(&step.file);
        for document in [step.now, step.then] {
            hasher.number(u64::from(document.is_some()));
            hasher.bytes(document.as_ref().map_or(&[][..], |document| document.as_bytes()));
        }
    }
    let shown = blake3::Hash::from_bytes(hasher.finish()).to_hex().to_string();
    Preview { shown, title: title(to), text }
}
