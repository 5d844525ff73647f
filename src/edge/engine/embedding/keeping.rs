//! How vectors are kept once they are made, what is let go for them, and what happens where there is no room.

use super::{Drained, Engine, MOST_RENEWALS, Step};
use crate::domain::embed::{Passage, PassageKey, Vector};
use crate::domain::memory::card::Card;
use crate::domain::port::{EmbedError, EmbedErrorKind, Embedder, Locality, LogLevel};
use crate::edge::embed::kept::{KeepError, Kept};
use crate::edge::thread::aside;
use parking_lot::RwLockWriteGuard;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// So many vectors are moved while nobody else can have one.
const STEP: usize = 64;

impl Engine {
    /// Makes room, keeps what was made and not kept yet, and returns the nodes whose vector is missing then.
    pub(super) fn missing_now(&self, reader: Locality) -> Result<Vec<(Arc<str>, usize)>, KeepError> {
        let missing = self.follow_keys(reader);
        self.let_go_of_vectors();
        let left_over = std::mem::take(&mut *self.embedding.left_over.lock());
        if left_over.is_empty() {
            return Ok(missing);
        }
        match self.keep(left_over) {
            // With vectors of another length they are of no use, and made again.
            Ok(()) | Err(KeepError::Dimension(..)) => Ok(self.follow_keys(reader)),
            Err(why) => Err(why),
        }
    }

    /// Keeps what came of some texts, and notes what that says of the server and of the room there is.
    pub(super) async fn keep_vectors(
        self: &Arc<Self>,
        embedder: &dyn Embedder,
        sent: &[Passage],
        vectors: Vec<Vector>,
    ) -> Step {
        if vectors.len() != sent.len() {
            let text = format!("{}: it gives {} vectors for {} texts", embedder.name(), vectors.len(), sent.len());
            return self.note_failure(&EmbedError { kind: EmbedErrorKind::Refused, text, after: None });
        }
        let rows: Vec<(PassageKey, Vector)> = sent.iter().map(Passage::key).zip(vectors).collect();
        let engine = self.clone();
        match aside(move || engine.keep(rows)).await {
            Ok(()) => {
                self.note_success(embedder);
                Step::Kept
            }
            Err(KeepError::Dimension(now, before)) => self.vectors_anew(embedder, now, before),
            Err(why @ (KeepError::Full(_) | KeepError::Disk(_))) => {
                self.note_success(embedder);
                self.note_unkept(&why);
                Step::Full
            }
        }
    }

    /// Keeps vectors; those for which there is no room now are kept first of all later.
    fn keep(&self, rows: Vec<(PassageKey, Vector)>) -> Result<(), KeepError> {
        let kept = match self.embedding.kept.write().as_mut() {
            Some(kept) => kept.put(&rows),
            None => return Ok(()),
        };
        if let Err(KeepError::Full(_) | KeepError::Disk(_)) = &kept {
            *self.embedding.left_over.lock() = rows;
        }
        kept
    }

    /// Notes that vectors are not kept, and says so once.
    pub(super) fn note_unkept(&self, why: &KeepError) -> Drained {
        let text = format!("vectors are not kept: {why}");
        let before = self.embedding.state.lock().unkept.replace(text.clone());
        if before.is_none() {
            self.say(LogLevel::Warning, &format!("{text}. Notes without one are found by their words alone"));
        }
        Drained::Full
    }

    /// The server gives vectors of another dimension: those that are kept are compared with nothing any more.
    fn vectors_anew(&self, embedder: &dyn Embedder, now: usize, before: usize) -> Step {
        let name = embedder.name();
        let renewals = {
            let mut state = self.embedding.state.lock();
            state.renewals += 1;
            state.renewals
        };
        if renewals > MOST_RENEWALS {
            let text = format!("{name}: it gives vectors of {now} numbers and of {before} by turns; set one model");
            return self.note_failure(&EmbedError { kind: EmbedErrorKind::Refused, text, after: None });
        }
        self.say(
            LogLevel::Info,
            &format!("{name} gives vectors of {now} numbers now, not of {before}: all are made again"),
        );
        if let Some(kept) = self.embedding.kept.write().as_mut() {
            kept.clear();
        }
        self.embedding.questions.lock().clear();
        Step::Anew
    }

    /// Lets go of the vectors of what is not in memory any more, once memory has all of the memex.
    fn let_go_of_vectors(&self) {
        let view = self.view();
        let wanted: HashSet<PassageKey> = {
            let known = self.embedding.known.read();
            // What is not read yet may be wanted.
            let read = |card: &Arc<Card>| known.get(&card.file).is_some_and(|keys| keys.root == card.root());
            if !self.has_read_memex() || !view.cards().all(read) {
                return;
            }
            known.values().flat_map(|keys| keys.keys.iter().flatten().copied()).collect()
        };
        match self.embedding.kept.write().as_mut() {
            Some(kept) => kept.retain(&wanted),
            None => return,
        }
        let slack = self.embedding.kept.read().as_ref().is_some_and(Kept::is_slack);
        let shrunk = if slack { self.shrink_vectors() } else { Ok(()) };
        let stuck = shrunk.err().map(|why| format!("the file of vectors could not be made shorter: {why}"));
        // It is tried again with each change, as it costs nothing, and said once.
        let before = std::mem::replace(&mut self.embedding.state.lock().stuck, stuck.is_some());
        stuck.filter(|_| !before).into_iter().for_each(|text| self.say(LogLevel::Info, &text));
    }

    /// Frees what stands for nothing, a little at a time: whoever asks for vectors meanwhile gets them in between.
    fn shrink_vectors(&self) -> std::io::Result<()> {
        while !self.stop.load(Ordering::Relaxed) {
            let mut kept = self.embedding.kept.write();
            let more = kept.as_mut().map_or(Ok(false), |kept| kept.shrink(STEP));
            RwLockWriteGuard::unlock_fair(kept);
            if !more? {
                break;
            }
        }
        Ok(())
    }
}
