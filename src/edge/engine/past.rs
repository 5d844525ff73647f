//! What was: the log of memory with who did what, the difference between two operations, and who wrote a heading.

mod blame;
mod place;
mod words;

pub use blame::{Author, Blame};
pub use words::{blame_json, blame_text};

use crate::domain::count::counted;
use crate::domain::gate::show::field;
use crate::domain::id::{ObjectHash, OperationId};
use crate::domain::inert::exact;
use crate::domain::memory::operation::Operation;
use crate::domain::memory::store::Differing;
use crate::domain::org::outline::Outline;
use crate::domain::org::scan::{ScanOptions, scan};
use crate::domain::undo::{Change, Image, Kind};
use crate::edge::clock::local;
use crate::edge::engine::Engine;
use crate::edge::engine::memory::{ACT, BUFFER, READ};
use crate::edge::engine::past::place::{own, title};
use crate::edge::engine::planner::unified;
use crate::edge::engine::record::kind;
use crate::edge::engine::rollback::ROLLBACK;
use crate::edge::thread::aside;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// The most files of which a difference is shown; more are only counted.
const SHOWN_FILES: usize = 200;
/// So much of a difference is shown at most, in bytes: less than a reader of Emacs takes.
const SHOWN_BYTES: usize = 1 << 20;
/// So many headings of a file that came or went are named.
const SHOWN_HEADINGS: usize = 1_000;
/// So much of files is compared for one difference, in bytes: some seconds.
const COMPARED_BYTES: usize = 64 << 20;
/// How many operations behind the begin of a change are looked through for the one that it made.
const MOST_BETWEEN: u64 = 1_000;

/// One entry of the log, as it is listed.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The operation.
    pub operation: Operation,
    /// The change that made it, when it was an act of ours.
    pub change: Option<Change>,
    /// Whether that can still be undone by itself.
    pub stands: bool,
}

impl Entry {
    /// Returns who or what moved memory, in a word or two.
    pub fn who(&self) -> String {
        by(&self.operation, self.change.as_ref())
    }

    /// Returns what was done, in a line in which nothing hides.
    pub fn what(&self) -> String {
        exact(self.change.as_ref().map_or(&self.operation.why.note, |change| &change.summary)).replace('\n', " ")
    }

    /// Returns it as JSON.
    pub fn json(&self) -> Value {
        let Operation { id, parent, root, why } = &self.operation;
        json!({
            "operation": id.0, "hash": self.operation.hash().to_hex(), "parent": parent.map(|parent| parent.to_hex()),
            "root": root.to_hex(), "cause": why.cause, "origin": why.origin, "at": why.at.to_string(), "note": why.note,
            "by": self.who(), "what": self.what(), "change": self.change.as_ref().map(|change| &change.id),
            "plan": self.change.as_ref().and_then(|change| change.plan.as_ref()), "undoable": self.stands,
        })
    }
}

fn by(operation: &Operation, change: Option<&Change>) -> String {
    match (change, operation.why.cause.as_str()) {
        (Some(change), _) if change.kind == crate::domain::undo::Kind::Act => format!("agent ({})", change.tool),
        (Some(change), _) => format!("{} by you", change.kind.name()),
        (None, BUFFER) => "by hand, in Emacs".to_string(),
        (None, READ) => "read from disk".to_string(),
        (None, ACT) => "agent".to_string(),
        (None, ROLLBACK) => "a turn that failed went back".to_string(),
        (None, other) => exact(other),
    }
}

impl Engine {
    /// Returns the last operations of memory, newest first, each with the change that made it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn memory_log(&self, limit: usize) -> Result<Vec<Entry>, String> {
        self.flush_if_kept().await?;
        let operations = self.archive.operations(limit).await?;
        self.entries(operations.into_iter().rev().collect()).await
    }

    /// Finds the change that made each of some operations. What it reads does not grow with the log.
    async fn entries(&self, operations: Vec<Operation>) -> Result<Vec<Entry>, String> {
        let names: BTreeSet<&str> = operations.iter().filter_map(of_note).collect();
        let names: Vec<String> = names.into_iter().map(str::to_string).collect();
        let known = self.changes_named(names.clone()).await?;
        let known: HashMap<&str, &Change> = known.iter().map(|change| (change.id.as_str(), change)).collect();
        let taken = self.archive.latest_of(kind::TAKEN, names).await?;
        let taken: HashSet<&str> = taken.iter().flatten().map(|record| record.key.as_str()).collect();
        let entry = |operation: Operation| {
            let change = of_note(&operation).and_then(|id| known.get(id)).map(|change| (*change).clone());
            let stands =
                change.as_ref().is_some_and(|change| change.kind != Kind::Undo && !taken.contains(change.id.as_str()));
            Entry { operation, change, stands }
        };
        Ok(operations.into_iter().map(entry).collect())
    }

    /// Returns one operation with what it changed, as text.
    ///
    /// # Errors
    /// When there is no such operation, or the store cannot be read.
    pub async fn memory_show(&self, id: OperationId) -> Result<String, String> {
        let entry = self.memory_entry(id).await?;
        let mut out = String::new();
        let mut line = |name: &str, value: &str| field(&mut out, name, value);
        line("by", &entry.who());
        line("what", &entry.what());
        line("at", &local(entry.operation.why.at).strftime("%Y-%m-%d %H:%M:%S").to_string());
        if let Some(change) = &entry.change {
            let author = self.author(change).await;
            for (name, value) in [
                ("request", &author.request),
                ("model", &author.model),
                ("plan", &author.plan),
                ("approved", &author.approver),
            ] {
                if let Some(value) = value {
                    line(name, value);
                }
            }
            if let Some(doubt) = &change.doubt {
                line("not certain", doubt);
            }
            for file in &change.files {
                line(file_word(&file.before, &file.after), &file.path);
            }
            let undoable = match (entry.stands, self.swept(change).await?) {
                (true, false) => "yes",
                (true, true) => "no: what stood there before was let go by `passepartout memory compact`",
                (false, _) => "no",
            };
            line("can be undone by itself", undoable);
            line("change", &change.id);
        }
        // What only machines and scripts ask for comes last.
        line("operation", &id.0.to_string());
        line("hash", &entry.operation.hash().to_hex());
        line("parent", &entry.operation.parent.map_or("none".to_string(), |parent| parent.to_hex()));
        out.push('\n');
        match self.memory_diff(OperationId(id.0.saturating_sub(1)), id).await {
            Ok(diff) => out.push_str(&diff),
            Err(failed) => match self.let_go_around(id).await? {
                Some(why) => out.push_str(&format!("What it changed cannot be shown any more: {why}.\n")),
                None => return Err(failed),
            },
        }
        Ok(out)
    }

    /// Returns one operation and what it changed as JSON.
    ///
    /// # Errors
    /// As [`Engine::memory_show`].
    pub async fn memory_show_json(&self, id: OperationId) -> Result<Value, String> {
        let operation = self.memory_entry(id).await?.json();
        match self.memory_diff_json(OperationId(id.0.saturating_sub(1)), id).await {
            Ok(changed) => Ok(json!({ "operation": operation, "changed": changed })),
            Err(failed) => match self.let_go_around(id).await? {
                Some(why) => Ok(json!({ "operation": operation, "changed": null, "let_go": why })),
                None => Err(failed),
            },
        }
    }

    /// Says that memory as it was at an operation, or before it, was let go, if it was.
    async fn let_go_around(&self, id: OperationId) -> Result<Option<String>, String> {
        match self.archive.let_go(id).await? {
            Some(why) => Ok(Some(why)),
            None => self.archive.let_go(OperationId(id.0.saturating_sub(1))).await,
        }
    }

    /// Returns whether bytes are gone that are needed to take a change back.
    async fn swept(&self, change: &Change) -> Result<bool, String> {
        for file in &change.files {
            if let Image::File { content, .. } = &file.before
                && self.archive.content(*content).await?.is_none()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Finds an operation by its number, or by the name of the change that made it, as the log shows both.
    ///
    /// # Errors
    /// When there is no such operation, or the store cannot be read.
    pub async fn operation_called(&self, name: &str) -> Result<OperationId, String> {
        if let Ok(number) = name.parse() {
            return Ok(OperationId(number));
        }
        self.flush_if_kept().await?;
        let unknown =
            format!("there is no operation or change “{}”; the names stand in: passepartout memory log", exact(name));
        let found = self.changes_called(name).await?;
        let (Some(change), Some(since)) = (found.first(), found.iter().map(|change| change.since).min()) else {
            return Err(unknown);
        };
        // It was begun at that operation, and others may have come before it ended.
        for number in since.0..=self.head().0.min(since.0.saturating_add(MOST_BETWEEN)) {
            let operation = self.archive.operation(OperationId(number)).await?;
            if operation.as_ref().and_then(of_note) == Some(change.id.as_str()) {
                return Ok(OperationId(number));
            }
        }
        Err(format!("{} is in no operation of its own: what it did was read from disk", exact(name)))
    }

    /// Makes sure that there are some operations.
    fn there_are(&self, wanted: [OperationId; 2]) -> Result<(), String> {
        let head = self.head();
        match wanted.into_iter().find(|id| *id > head) {
            Some(id) => Err(no_operation(id, head)),
            None => Ok(()),
        }
    }

    /// Returns one operation with the change that made it.
    ///
    /// # Errors
    /// When there is no such operation, or the store cannot be read.
    pub async fn memory_entry(&self, id: OperationId) -> Result<Entry, String> {
        self.flush_if_kept().await?;
        let unknown = || no_operation(id, self.head());
        let operation = self.archive.operation(id).await?.ok_or_else(unknown)?;
        self.entries(vec![operation]).await?.pop().ok_or_else(unknown)
    }

    /// Returns the difference of memory between two operations as text: files, headings, and a unified diff, each as far as
    /// somebody can read it; about 1 MB.
    ///
    /// # Errors
    /// When an operation is unknown, or the store cannot be read.
    pub async fn memory_diff(&self, from: OperationId, to: OperationId) -> Result<String, String> {
        self.flush_if_kept().await?;
        self.there_are([from, to])?;
        let differing = self.archive.differing(from, to).await?;
        let (mut out, mut read) = (String::new(), 0);
        let mut shown = 0;
        for Differing { file, before, after } in differing.iter().take(SHOWN_FILES) {
            if out.len() >= SHOWN_BYTES || read >= COMPARED_BYTES {
                break;
            }
            shown += 1;
            let what = match (before, after) {
                (None, _) => "came",
                (_, None) => "went",
                (Some(_), Some(_)) => "changed",
            };
            field(&mut out, what, file);
            let (old, new) = (self.text_of(*before).await?, self.text_of(*after).await?);
            read += [&old, &new].into_iter().flatten().map(|text| text.len()).sum::<usize>();
            let between = self.between(file, old, new).await;
            for heading in between.headings.iter().take(SHOWN_HEADINGS) {
                field(&mut out, "  heading", heading);
            }
            if let Some(more @ 1..) = between.headings.len().checked_sub(SHOWN_HEADINGS) {
                out.push_str(&format!("  and {}\n", counted(more, "more heading")));
            }
            out.push_str(&begin_of(&between.diff, SHOWN_BYTES.saturating_sub(out.len())));
            out.push('\n');
        }
        if let Some(more @ 1..) = differing.len().checked_sub(shown) {
            out.push_str(&format!("and {}\n", counted(more, "more file")));
        }
        let files = counted(differing.len(), "file");
        Ok(format!("{files} between operations {} and {}.\n{out}", from.0, to.0))
    }

    /// Returns the same as JSON.
    ///
    /// # Errors
    /// As [`Engine::memory_diff`].
    pub async fn memory_diff_json(&self, before: OperationId, after: OperationId) -> Result<Value, String> {
        self.flush_if_kept().await?;
        self.there_are([before, after])?;
        let mut files = Vec::new();
        for Differing { file, before, after } in self.archive.differing(before, after).await? {
            let (old, new) = (self.text_of(before).await?, self.text_of(after).await?);
            let Between { headings, diff } = self.between(&file, old, new).await;
            let hex = |hash: Option<ObjectHash>| hash.map(|hash| hash.to_hex());
            files.push(json!({
                "file": &*file, "before": hex(before), "after": hex(after), "headings": headings, "diff": diff,
            }));
        }
        Ok(json!({ "from": before.0, "to": after.0, "files": files }))
    }

    async fn text_of(&self, document: Option<ObjectHash>) -> Result<Option<Arc<str>>, String> {
        match document {
            None => Ok(None),
            Some(document) => self.archive.text(document).await,
        }
    }

    /// Compares two texts of a file, on a thread of its own: it may take a second.
    async fn between(&self, file: &str, old: Option<Arc<str>>, new: Option<Arc<str>>) -> Between {
        let (file, options) = (file.to_string(), self.scan_options());
        let none = || Arc::from("");
        let (old, new) = (old.unwrap_or_else(none), new.unwrap_or_else(none));
        aside(move || {
            let headings = headings_between(&old, &new, &options);
            Between { headings, diff: unified(&file, &old, &new) }
        })
        .await
    }

    /// Waits until everything is stored, where anything is.
    async fn flush_if_kept(&self) -> Result<(), String> {
        match self.beside() {
            Some(_) => Ok(()),
            None => self.flush().await,
        }
    }
}

/// What two texts of a file differ in.
struct Between {
    /// The titles of headings that came or went.
    headings: Vec<String>,
    diff: String,
}

/// Returns the titles of headings that differ, those that came and those that went, each once.
fn headings_between(old: &Arc<str>, new: &Arc<str>, options: &ScanOptions) -> Vec<String> {
    let outline = |text: &Arc<str>| scan(text.clone(), options).ok();
    let (Some(old), Some(new)) = (outline(old), outline(new)) else { return Vec::new() };
    let all = |outline: &Outline| 1..outline.nodes.len();
    let known: HashSet<&str> = all(&old).map(|i| own(&old, i)).collect();
    let left: HashSet<&str> = all(&new).map(|i| own(&new, i)).collect();
    let came = all(&new).filter(|i| !known.contains(own(&new, *i))).map(|i| title(&new, i));
    let went = all(&old).filter(|i| !left.contains(own(&old, *i))).map(|i| title(&old, i));
    let mut seen = HashSet::new();
    came.chain(went).filter(|title| seen.insert(title.clone())).collect()
}

/// Returns as many lines of a difference as there is room for, with nothing hidden in them.
fn begin_of(diff: &str, most: usize) -> String {
    let lines = diff.split_inclusive('\n').scan(0, |bytes, line| {
        *bytes += line.len();
        Some((*bytes, line))
    });
    let begin: String = lines.take_while(|(bytes, _)| *bytes <= most).map(|(_, line)| line).collect();
    let mut shown = exact(&begin).trim_end_matches('\n').to_string();
    if let Some(more @ 1..) = diff.len().checked_sub(begin.len()) {
        let more = counted(more, "more byte");
        shown.push_str(&format!("\n(and {more} of this file; passepartout memory diff --json shows all)"));
    }
    shown
}

/// Says which operations there are.
pub(super) fn no_operation(id: OperationId, head: OperationId) -> String {
    match head.0 {
        0 => format!("there is no operation {}: memory has not moved yet", id.0),
        1 => format!("there is no operation {}; there is one, operation 1", id.0),
        last => format!("there is no operation {}; there are those from 1 to {last}", id.0),
    }
}

/// Returns the change that an operation's note names.
fn of_note(operation: &Operation) -> Option<&str> {
    let word = operation.why.note.split(' ').next()?;
    (word.len() == 11 && word.starts_with('A')).then_some(word)
}

fn file_word(before: &Image, after: &Image) -> &'static str {
    match (before, after) {
        (Image::Absent, _) => "created",
        (_, Image::Absent) => "deleted",
        _ => "changed",
    }
}
