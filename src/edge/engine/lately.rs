//! What was changed lately: noted as memory moves, and found again after a start.

use crate::domain::focus::Reach;
use crate::domain::id::{NodeId, ObjectHash, OperationId};
use crate::domain::memory::document::Document;
use crate::domain::memory::lately::{self, KEPT};
use crate::domain::memory::sight::Sight;
use crate::domain::memory::store::Differing;
use crate::domain::memory::view::View;
use crate::domain::org::scan::scan;
use crate::edge::engine::Engine;
use crate::edge::engine::memory::READ;
use crate::edge::thread::aside;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::task::JoinHandle;

/// So many bytes of their texts are read for that, as they are and as they were.
const RECALLED: usize = 8 * 1024 * 1024;

/// What is known of it.
#[derive(Default)]
pub(super) struct Lately {
    /// The nodes.
    pub(super) changed: lately::Lately,
    /// What looks for those of before the start, until somebody waits for it.
    recalling: Option<JoinHandle<()>>,
    /// What the scope of the session looks at, and as of which moves of memory and of what was changed.
    sight: Option<((u64, u64), Sight)>,
}

impl Engine {
    /// Returns what the scope of this session looks at in a view, that memory has after so many moves.
    pub(super) fn session_sight(&self, view: &View, moves: u64) -> Sight {
        let (as_of, changed) = {
            let lately = self.lately.lock();
            let as_of = (moves, lately.changed.moves());
            match &lately.sight {
                Some((known, sight)) if *known == as_of => return sight.clone(),
                Some(_) | None => (as_of, lately.changed.of_session()),
            }
        };
        let changed: Vec<NodeId> = changed.iter().cloned().collect();
        let sight = Sight::of(&Reach::Session, view, &changed);
        self.lately.lock().sight = Some((as_of, sight.clone()));
        sight
    }

    /// Returns the nodes that were changed in this session or today, latest first.
    pub(super) fn changed_lately(&self) -> Vec<NodeId> {
        let day = self.clock.wall().date();
        self.lately.lock().changed.latest(day)
    }

    /// Remembers the nodes that differ from before. Of what was read, what another program changed today counts: neither
    /// what is new to memory nor what it read late.
    pub(super) fn note_changes(&self, before: &View, documents: &[Arc<Document>], cause: &str) {
        let by_session = cause != READ;
        let since = self.midnight();
        let counts = |document: &&Arc<Document>| {
            let old = before.card(&document.file);
            let moved = old.is_some_and(|old| old.root() != document.root());
            by_session || (moved && document.modified.is_some_and(|at| at >= since))
        };
        let mut changed: Vec<&Arc<Document>> = documents.iter().filter(counts).collect();
        if !by_session {
            // Each costs reading what it was before, and no more nodes are kept than the latest.
            changed.sort_by_key(|document| document.modified);
            changed.drain(..changed.len().saturating_sub(KEPT));
        }
        let day = self.clock.wall().date();
        for document in changed {
            let old = before.document(&document.file).map(|old| hashes(&old)).unwrap_or_default();
            // Who asks what was changed waits for no file to be looked through.
            if by_session {
                let nodes: Vec<NodeId> = differing(document, &old).collect();
                self.lately.lock().changed.changed_here(&nodes);
            } else {
                let mut nodes: Vec<NodeId> = differing(document, &old).rev().take(KEPT).collect();
                nodes.reverse();
                self.lately.lock().changed.changed_elsewhere(&nodes, day);
            }
        }
    }

    /// Begins to find what was changed today before the start: nobody waits for it, as it reads texts.
    pub(super) fn recall_changes_soon(self: &Arc<Self>) {
        let engine = self.me.clone();
        let task = tokio::spawn(async move {
            if let Some(engine) = engine.upgrade() {
                engine.recall_changes().await;
            }
        });
        self.lately.lock().recalling = Some(task);
    }

    /// Waits until it is found.
    pub async fn changes_recalled(&self) {
        let task = self.lately.lock().recalling.take();
        if let Some(task) = task {
            // Where it broke, the log says so.
            let _ = task.await;
        }
    }

    /// Finds what was changed today before the start, in the log and the files of memory, by what [`Engine::note_changes`]
    /// goes by: what has an earlier date was copied back.
    async fn recall_changes(self: &Arc<Self>) {
        let Some(before) = self.last_before_today().await else { return };
        let Ok(files) = self.archive.differing(before, self.head()).await else { return };
        let (view, since) = (self.view(), self.midnight());
        let known = files.into_iter().filter_map(|Differing { file, before, .. }| {
            let (card, old) = (view.card(&file)?, before?);
            let at = card.modified().filter(|at| *at >= since)?;
            Some((at, card.end(0) as usize, file, old))
        });
        let mut known: Vec<(jiff::Timestamp, usize, Arc<str>, ObjectHash)> = known.collect();
        known.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
        known.truncate(KEPT);
        let (mut left, mut changed) = (RECALLED, Vec::new());
        for (_, size, file, old) in known {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            // What is too long to be read for that is passed over.
            let Some(rest) = left.checked_sub(size) else { continue };
            let Ok(Some(text)) = self.archive.text(old).await else { continue };
            left = rest.saturating_sub(text.len());
            let (engine, view) = (self.clone(), view.clone());
            changed.extend(aside(move || engine.changed_since(&view, &file, text)).await);
        }
        let day = self.clock.wall().date();
        self.lately.lock().changed.recall(changed, day);
    }

    /// Returns the nodes of a file that differ from those of an earlier text of it, the last one first; no more than are
    /// kept.
    fn changed_since(&self, view: &View, file: &Arc<str>, old: Arc<str>) -> Vec<NodeId> {
        let (Some(document), Ok(outline)) = (view.document(file), scan(old, &self.scan_options_of(file))) else {
            return Vec::new();
        };
        let old = hashes(&Document::build(file.clone(), outline, &self.privacy_options()));
        differing(&document, &old).rev().take(KEPT).collect()
    }

    /// Returns the last operation before today, and none when memory did not move since or not before.
    async fn last_before_today(&self) -> Option<OperationId> {
        let since = self.midnight();
        // Operations are in the order of time: the first of today is looked for by halving.
        let (mut earlier, mut later) = (0, self.head().0);
        while earlier < later {
            let middle = earlier + (later - earlier).div_ceil(2);
            match self.archive.operation(OperationId(middle)).await.ok()?? {
                operation if operation.why.at < since => earlier = middle,
                _ => later = middle - 1,
            }
        }
        (earlier > 0 && earlier < self.head().0).then_some(OperationId(earlier))
    }

    /// Returns when today began, by the user's clock.
    fn midnight(&self) -> jiff::Timestamp {
        let wall = self.clock.wall();
        let gone = wall.duration_since(wall.date().to_datetime(jiff::civil::Time::midnight()));
        self.clock.now().checked_sub(gone).unwrap_or(jiff::Timestamp::MIN)
    }
}

fn hashes(document: &Document) -> HashSet<ObjectHash> {
    document.hashes.iter().copied().collect()
}

/// Returns the nodes of a document whose hash was not there before, without those that only hold a changed one.
fn differing<'d>(
    document: &'d Document,
    before: &'d HashSet<ObjectHash>,
) -> impl DoubleEndedIterator<Item = NodeId> + 'd {
    let differs = move |index: usize| document.hashes.get(index).is_some_and(|hash| !before.contains(hash));
    let nodes = document.ids.iter().enumerate().skip(1);
    let changed = nodes.filter(move |(index, _)| differs(*index) && !document.outline.children(*index).any(differs));
    changed.map(|(_, id)| id.clone())
}
