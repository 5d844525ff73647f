//! What was changed lately: in this session, and before it today, also by other programs.

use crate::domain::id::{NodeId, ObjectHash, OperationId};
use crate::domain::memory::document::Document;
use crate::domain::memory::store::Differing;
use crate::domain::memory::view::View;
use crate::domain::org::scan::scan;
use crate::edge::engine::Engine;
use crate::edge::engine::memory::READ;
use jiff::civil::Date;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// How many changed nodes are remembered, and in how many files they are looked for at a start.
const KEPT: usize = 50;

/// The nodes that were changed lately, latest first.
#[derive(Default)]
pub(super) struct Lately {
    /// By a buffer or an act since the start, whenever that was.
    session: VecDeque<NodeId>,
    /// By another program, or before the start; on that day alone.
    today: VecDeque<NodeId>,
    day: Date,
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

    /// Finds what was changed today before the start, in the log and the files of memory.
    pub(super) async fn recall_changes(&self) {
        let Some(before) = self.last_before_today().await else { return };
        let Ok(files) = self.archive.differing(before, self.head()).await else { return };
        let view = self.view();
        let known = files.into_iter().filter_map(|Differing { file, before, .. }| Some((file, before?)));
        let mut known: Vec<(Arc<str>, ObjectHash)> = known.collect();
        known.sort_by_cached_key(|(file, _)| view.card(file).and_then(|card| card.modified()));
        known.drain(..known.len().saturating_sub(KEPT));
        let day = self.clock.wall().date();
        for (file, old) in known {
            let (Ok(Some(text)), Some(document)) = (self.archive.text(old).await, view.document(&file)) else {
                continue;
            };
            let Ok(outline) = scan(text, &self.scan_options_of(&file)) else { continue };
            let old = hashes(&Document::build(file, outline, &self.privacy_options()));
            self.lately.lock().note(differing(&document, &old).into_iter(), false, day);
        }
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
