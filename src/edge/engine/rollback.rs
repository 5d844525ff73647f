//! Memory goes back to where it stood when a failed turn began: one more operation, and nothing is erased.
//!
//! Memory mirrors files. Where a file or its buffer still holds what the turn made of it, memory stays with the file.

use crate::domain::id::{ObjectHash, OperationId};
use crate::domain::memory::Memory;
use crate::domain::memory::document::Document;
use crate::domain::memory::operation::Operation;
use crate::domain::memory::view::View;
use crate::domain::org::scan::ScanOptions;
use crate::domain::port::LogLevel;
use crate::edge::engine::Engine;
use crate::edge::engine::memory::{BUFFER, READ};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// The cause of operations that take memory back.
pub const ROLLBACK: &str = "rollback";

/// How many files a message names.
const NAMED: usize = 5;

/// Where memory stood at some moment.
pub(super) struct Bookmark {
    at: OperationId,
    view: View,
    /// How all of that was read; `None` when that was about to change.
    scan: Option<ScanOptions>,
}

/// A file that memory may go back in, and what was found of it.
struct Found {
    file: String,
    /// What memory held when the file was looked at: when it holds something else by now, that is newer.
    seen: Option<ObjectHash>,
    truth: Truth,
}

enum Truth {
    /// The file is as it was at the bookmark.
    AsBefore,
    /// The file is as the turn left it.
    AsNow,
    /// The file holds something else, read in this way.
    Other(Arc<Document>, ScanOptions),
    /// The file is gone.
    Gone,
    /// It could not be found out.
    Unknown(String),
}

impl Engine {
    /// Returns where memory stands, for going back to it.
    pub(super) fn bookmark(&self) -> Bookmark {
        // Held while memory is made anew by other settings of Org.
        let resting = self.reshaping.try_lock();
        let scan = resting.is_ok().then(|| self.scan_options());
        let memory = self.memory.lock();
        Bookmark { at: memory.at(), view: memory.head().clone(), scan }
    }

    /// Takes memory back to a bookmark, but for what files and buffers really hold now.
    /// Returns what the user should know of it; nothing when the turn had changed nothing.
    pub(super) async fn go_back(self: &Arc<Self>, to: &Bookmark) -> Option<String> {
        let (moves, now) = {
            let memory = self.memory.lock();
            (moves(&memory, to), memory.head().clone())
        };
        let files = touched(moves, to, &now);
        let mut found = Vec::new();
        for file in files {
            found.push(self.look(file, to).await);
        }
        let named = |fits: &dyn Fn(&Truth) -> bool| names(found.iter().filter(|f| fits(&f.truth)).map(|f| &*f.file));
        let back = named(&|truth| matches!(truth, Truth::AsBefore));
        let stands = named(&|truth| matches!(truth, Truth::AsNow | Truth::Other(..) | Truth::Gone));
        let unknown: Vec<&String> = found
            .iter()
            .filter_map(|f| match &f.truth {
                Truth::Unknown(why) => Some(why),
                Truth::AsBefore | Truth::AsNow | Truth::Other(..) | Truth::Gone => None,
            })
            .collect();
        self.put_back(&found, to);
        let (at, now) = self.at_and_root();
        let how = match () {
            () if at == to.at => format!("memory stands where it stood at operation {}", at.0),
            () if now == to.view.root() => {
                format!(
                    "memory was at operation {} when it began, and is as it was then by operation {}",
                    to.at.0, at.0
                )
            }
            () => format!("memory was at operation {} when it began and is at {} now, as the files are", to.at.0, at.0),
        };
        self.say(LogLevel::Warning, &format!("the turn failed; {how}"));
        for why in &unknown {
            self.say(LogLevel::Warning, &format!("{why}; memory keeps what it had"));
        }
        let lines = [
            back.map(|files| format!("Memory went back in {files}.")),
            stands.map(|files| format!("What was done before that stands in {files}.")),
            unknown.first().map(|why| format!("Memory keeps what it had: {why}.")),
        ];
        Some(lines.into_iter().flatten().collect::<Vec<_>>().join("\n")).filter(|text| !text.is_empty())
    }

    fn at_and_root(&self) -> (OperationId, ObjectHash) {
        let memory = self.memory.lock();
        (memory.at(), memory.head().root())
    }

    /// Finds out what a file holds now: its buffer where it is open, else the file on disk.
    async fn look(self: &Arc<Self>, file: String, to: &Bookmark) -> Found {
        let seen = root(&self.view(), &file);
        let before = to.view.document(&file);
        let open = self.editor.buffer(&file).await;
        let (engine, name) = (self.clone(), file.clone());
        let work = move || match open {
            Ok(Some(buffer)) => engine.compare(&name, seen, before, buffer.text),
            Ok(None) => match crate::edge::org_file::read_text(Path::new(&name)) {
                Ok(decoded) => engine.compare(&name, seen, before, decoded.text),
                Err(_) if matches!(Path::new(&name).try_exists(), Ok(false)) => match before {
                    None => Truth::AsBefore,
                    Some(_) => Truth::Gone,
                },
                Err(error) => Truth::Unknown(error.to_string()),
            },
            Err(why) => Truth::Unknown(format!("{name}: {why}")),
        };
        let truth = tokio::task::spawn_blocking(work).await;
        let truth = truth.unwrap_or_else(|_| Truth::Unknown(format!("{file}: reading it broke")));
        Found { file, seen, truth }
    }

    fn compare(&self, file: &str, seen: Option<ObjectHash>, before: Option<Arc<Document>>, text: Arc<str>) -> Truth {
        if before.is_some_and(|document| document.outline.text == text) {
            return Truth::AsBefore;
        }
        let _org = self.hold_org();
        match self.build(file, text) {
            Ok(document) if Some(document.root()) == seen => Truth::AsNow,
            Ok(document) => Truth::Other(Arc::new(document.changed_at(Some(self.clock.now()))), self.scan_options()),
            Err(why) => Truth::Unknown(why),
        }
    }

    /// Makes one operation of all that goes back. What has moved on since it was looked at stays.
    fn put_back(&self, found: &[Found], to: &Bookmark) {
        let _org = self.hold_org();
        let scan = self.scan_options();
        // Org's settings may have changed since; what cannot be read by the new ones is not put.
        let by_now = |document: Arc<Document>, read: Option<&ScanOptions>| {
            if read == Some(&scan) {
                return Some(document);
            }
            let built = self.build(&document.file, document.outline.text.clone()).ok()?;
            Some(Arc::new(built.changed_at(document.modified)))
        };
        let (mut put, mut remove) = (Vec::new(), Vec::new());
        for found in found {
            match &found.truth {
                Truth::AsBefore => match to.view.document(&found.file) {
                    Some(document) => put.extend(by_now(document, to.scan.as_ref())),
                    None => remove.push(found.file.clone()),
                },
                Truth::Other(document, read) => put.extend(by_now(document.clone(), Some(read))),
                Truth::Gone => remove.push(found.file.clone()),
                Truth::AsNow | Truth::Unknown(_) => {}
            }
        }
        let unmoved =
            |view: &View, file: &str| found.iter().any(|found| found.file == file && found.seen == root(view, file));
        put.retain(|document| self.belongs(&document.file));
        let note = format!("back to operation {}", to.at.0);
        self.change_memory_where(put, &remove, Vec::new(), ROLLBACK, &note, &unmoved);
    }
}

fn root(view: &View, file: &str) -> Option<ObjectHash> {
    view.card(file).map(|card| card.root())
}

/// One move of memory's head, and memory behind it while that is kept.
struct Move {
    follows: bool,
    after: Option<View>,
}

/// Returns what moved memory since a bookmark, oldest first.
fn moves(memory: &Memory, since: &Bookmark) -> Vec<Move> {
    let from = memory.log().partition_point(|operation| operation.id <= since.at);
    let of = |operation: &Operation| Move {
        follows: matches!(&*operation.why.cause, READ | BUFFER | ROLLBACK),
        after: memory.view_at(operation.id),
    };
    memory.log().get(from..).unwrap_or_default().iter().map(of).collect()
}

/// Returns the files that were changed since a bookmark, but for moves that only followed files and buffers.
fn touched(moves: Vec<Move>, since: &Bookmark, now: &View) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    let mut before = Some(since.view.clone());
    for Move { follows, after } in moves {
        match (&before, &after) {
            _ if follows => {}
            (Some(before), Some(after)) => differing(before, after, &mut files),
            // Its views are no longer kept: then everything that differs is looked at.
            (None, _) | (_, None) => differing(&since.view, now, &mut files),
        }
        before = after;
    }
    files
}

fn differing(before: &View, after: &View, files: &mut BTreeSet<String>) {
    files.extend(after.differing(before).into_iter().map(|file| file.to_string()));
}

/// Returns some names of files, and how many more there are; nothing without any.
fn names<'a>(files: impl Iterator<Item = &'a str>) -> Option<String> {
    let all: Vec<&str> = files.collect();
    let more = all.len().saturating_sub(NAMED);
    let named = all.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match (all.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(named),
        (false, more) => Some(format!("{named} and {more} more")),
    }
}

#[cfg(test)]
mod tests {
    use crate::edge::config::OrgSettings;
    use crate::edge::engine::fresh::tests::Place;
    use crate::edge::engine::memory::ACT;

    #[tokio::test(flavor = "multi_thread")]
    async fn memory_that_goes_back_reads_by_the_settings_of_now() {
        let place = Place::new("* WAIT One\n").await;
        let engine = &place.engine;
        let waits = || {
            let view = engine.view();
            view.card(&place.file).and_then(|card| card.keyword(1)).is_some_and(|keyword| keyword.name == "WAIT")
        };
        let settings =
            |sequence: &str| OrgSettings { todo_sequences: vec![sequence.to_string()], ..engine.org_settings() };
        for (text, back) in [("* WAIT One\n", "* WAIT One\n"), ("* WAIT Another\n", "* WAIT Another\n")] {
            place.write("* WAIT One\n");
            engine.read_changed(&[place.file.clone().into()]);
            let bookmark = engine.bookmark();
            engine.take_text(&place.file, "* Two\n".into(), ACT).expect("it can be read");
            place.write(text);
            assert!(!waits());
            assert_eq!(engine.follow_org(settings("TODO WAIT | DONE")).await, Ok(true));
            // Until memory is made anew.
            drop(engine.reshaping.lock().await);
            engine.go_back(&bookmark).await.expect("something went back");
            assert_eq!(engine.view().text(&place.file).as_deref(), Some(back));
            assert!(waits(), "{text}");
            assert_eq!(engine.follow_org(settings("TODO | DONE")).await, Ok(true));
            drop(engine.reshaping.lock().await);
        }
    }
}
