//! What was changed lately: in this session, and before it today, also by other programs.

use crate::domain::id::{NodeId, ObjectHash, OperationId};
use crate::domain::memory::document::Document;
use crate::domain::memory::store::Differing;
use crate::domain::memory::view::View;
use crate::domain::org::scan::scan;
use crate::edge::engine::Engine;
use crate::edge::engine::memory::READ;
use crate::edge::thread::aside;
use jiff::civil::Date;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::task::JoinHandle;

/// How many changed nodes are remembered, and in how many files they are looked for at a start.
const KEPT: usize = 50;
/// So many bytes of their texts are read for that, as they are and as they were.
const RECALLED: usize = 8 * 1024 * 1024;

/// The nodes that were changed lately, latest first.
#[derive(Default)]
pub(super) struct Lately {
    /// By a buffer or an act since the start, whenever that was.
    session: VecDeque<NodeId>,
    /// By another program, or before the start; on that day alone.
    today: VecDeque<NodeId>,
    day: Date,
    /// What looks for those of before the start, until somebody waits for it.
    recalling: Option<JoinHandle<()>>,
}

impl Lately {
    fn note(&mut self, changed: impl Iterator<Item = NodeId>, by_session: bool, day: Date) {
        self.turn_to(day);
        let list = if by_session { &mut self.session } else { &mut self.today };
        for id in changed {
            list.retain(|known| *known != id);
            list.push_front(id);
        }
        list.truncate(KEPT);
    }

    /// Takes what was changed before all that is known, latest first.
    fn recall(&mut self, changed: Vec<NodeId>, day: Date) {
        self.turn_to(day);
        let known: HashSet<NodeId> = self.today.iter().cloned().collect();
        self.today.extend(changed.into_iter().filter(|id| !known.contains(id)));
        self.today.truncate(KEPT);
    }

    /// Lets go of another day's.
    fn turn_to(&mut self, day: Date) {
        if self.day != day {
            (self.day, self.today) = (day, VecDeque::new());
        }
    }

    /// Lets nodes follow their files to new names.
    pub(super) fn follow(&mut self, renamed: impl Fn(&NodeId) -> Option<NodeId>) {
        for id in self.session.iter_mut().chain(&mut self.today) {
            if let Some(now) = renamed(id) {
                *id = now;
            }
        }
    }
}

impl Engine {
    /// Returns the nodes that were changed in this session, latest first.
    pub(super) fn changed_in_session(&self) -> Vec<NodeId> {
        self.lately.lock().session.iter().cloned().collect()
    }

    /// Returns the nodes that were changed in this session or today, latest first, those of this session before others.
    pub(super) fn changed_lately(&self) -> Vec<NodeId> {
        let mut lately = self.lately.lock();
        lately.turn_to(self.clock.wall().date());
        let others = lately.today.iter().filter(|id| !lately.session.contains(id));
        lately.session.iter().chain(others).take(KEPT).cloned().collect()
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
            self.lately.lock().note(differing(document, &old).into_iter(), by_session, day);
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
        self.lately.lock().recall(changed, self.clock.wall().date());
    }

    /// Returns the nodes of a file that differ from those of an earlier text of it, in the order of [`Lately::today`].
    fn changed_since(&self, view: &View, file: &Arc<str>, old: Arc<str>) -> Vec<NodeId> {
        let (Some(document), Ok(outline)) = (view.document(file), scan(old, &self.scan_options_of(file))) else {
            return Vec::new();
        };
        let old = hashes(&Document::build(file.clone(), outline, &self.privacy_options()));
        differing(&document, &old).into_iter().rev().collect()
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
fn differing(document: &Document, before: &HashSet<ObjectHash>) -> Vec<NodeId> {
    let differs = |index: usize| document.hashes.get(index).is_some_and(|hash| !before.contains(hash));
    let nodes = document.ids.iter().enumerate().skip(1);
    let changed = nodes.filter(|(index, _)| differs(*index) && !document.outline.children(*index).any(differs));
    changed.map(|(_, id)| id.clone()).collect()
}
