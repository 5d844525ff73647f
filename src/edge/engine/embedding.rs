//! How vectors follow memory: what is new or changed is embedded when nobody waits for anything, in batches, and what
//! cannot be embedded now is tried again later, each time after a longer pause.
//!
//! Nothing waits for this but a question, for a moment. Whatever is missing, context is chosen by words alone.

mod confirm;
mod keeping;
mod near;
mod status;
mod texts;

pub use status::EmbeddingStatus;

use crate::domain::embed::{Admitted, Batch, Passage, PassageKey, Vector};
use crate::domain::id::ObjectHash;
use crate::domain::label::Privacy;
use crate::domain::memory::view::NodeRef;
use crate::domain::port::{EmbedError, EmbedErrorKind, Embedder, Locality, LogLevel};
use crate::edge::embed::kept::{KeepError, Kept};
use crate::edge::embed::{self, folder};
use crate::edge::engine::Engine;
use crate::edge::engine::model::contact;
use crate::edge::engine::record::kind;
use crate::edge::thread::aside;
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, RwLock};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::Notify;

/// So many texts go into one request.
const BATCH: usize = 64;
/// After the first failure it is tried again after so long; after each further one twice as long.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(30);
/// The longest of these pauses.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(3600);
/// A text that any server takes: one that does not take this is at fault itself.
const ANY_TEXT: &str = "Passepartout";
/// So often at most all vectors are made anew because the server gives others now, until the next start.
const MOST_RENEWALS: u32 = 3;

/// What is known of vectors, and what makes them.
#[derive(Default)]
pub(in crate::edge) struct Embedding {
    embedder: RwLock<Option<Arc<dyn Embedder>>>,
    kept: RwLock<Option<Kept>>,
    known: RwLock<Files>,
    state: Mutex<State>,
    /// Questions of late, with their vectors.
    questions: Mutex<VecDeque<(PassageKey, Vector)>>,
    /// Held by whoever embeds.
    draining: tokio::sync::Mutex<()>,
    /// Vectors that were made and not kept: they are kept before anything else is sent.
    left_over: Mutex<Vec<(PassageKey, Vector)>>,
    /// Told when memory changed, or something may go on.
    wake: Arc<Notify>,
}

/// What is known of the texts of each file.
type Files = HashMap<Arc<str>, Keys>;

/// The keys of a file's passages, by node; a node without one says nothing.
struct Keys {
    root: ObjectHash,
    keys: Box<[Option<PassageKey>]>,
}

#[derive(Default)]
struct State {
    /// Where vectors are kept; `None` for memory alone.
    folder: Option<std::path::PathBuf>,
    /// Whether this process may write there.
    owner: bool,
    /// What vectors may take in memory, in bytes, when it is not what they usually may.
    most: Option<usize>,
    /// Why the settings name no embedder that can be used.
    wrong: Option<String>,
    failures: u32,
    /// Before this nothing is tried.
    rests_until: Option<Timestamp>,
    /// What went wrong last, until something goes well.
    trouble: Option<String>,
    /// Why vectors are not kept, until they are again. The server has nothing to do with it.
    unkept: Option<String>,
    /// The file of vectors could not be made shorter.
    stuck: bool,
    /// It is not local, and the user has not confirmed it.
    unconfirmed: bool,
    /// Texts that the server does not take, or that quote what stays here; not tried again before the next start.
    refused: HashSet<PassageKey>,
    /// How many texts stay on this machine.
    kept_back: usize,
    /// How many texts wait for their vector.
    waiting: usize,
    renewals: u32,
}

/// What came of an attempt to embed all that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// There is no embedder, or another process keeps the vectors.
    Nothing,
    /// Nothing waits any more.
    Done,
    /// Something else goes on, or memory moved: it is gone on with soon.
    Interrupted,
    /// A human has to confirm the server first.
    Unconfirmed,
    /// It failed, or it is not time to try again yet.
    Resting,
    /// There is no room for more, in memory or on the disk. Those that are there are searched as ever.
    Full,
}

/// What came of one request.
enum Step {
    Kept,
    /// All vectors are forgotten, and are to be made anew.
    Anew,
    /// It is given up for now.
    Rest,
    /// What was made could not be kept.
    Full,
}

impl Engine {
    /// Makes the embedder that the settings name. `keep` says whether its vectors go to the cache folder.
    pub(super) fn set_up_embedding(&self, keep: bool) {
        let seconds = Duration::from_secs;
        let (config, clients) = (&self.config, self.clients().map_err(|error| error.to_string()));
        let (first, stall) = (seconds(config.request_timeout), seconds(config.stall_timeout));
        let clients = clients.map(|clients| clients.waiting(first, stall, seconds(config.embedding_timeout)));
        let made = clients.and_then(|clients| embed::embedder(&self.config, &clients, &self.vault));
        let mut state = self.embedding.state.lock();
        state.folder = keep.then(|| folder::of(&self.config.cache, &self.config.store));
        state.owner = self.beside.is_none() && self.store_trouble.is_none();
        match made {
            Ok(embedder) => *self.embedding.embedder.write() = embedder,
            Err(why) => {
                state.wrong = Some(why.clone());
                drop(state);
                self.say(LogLevel::Warning, &format!("no vectors are made: {why}"));
            }
        }
    }

    /// Puts another embedder in the place of the one that the settings name; for tests and for whoever knows better.
    pub fn embed_with(&self, embedder: Arc<dyn Embedder>) {
        *self.embedding.kept.write() = None;
        self.embedding.left_over.lock().clear();
        *self.embedding.embedder.write() = Some(embedder);
    }

    /// Lets vectors take so many bytes of memory at most, from when they are opened next; for tests and small machines.
    pub fn embed_within(&self, most: usize) {
        self.embedding.state.lock().most = Some(most);
    }

    /// Is told whenever there may be something to embed.
    pub(crate) fn embedding_wake(&self) -> Arc<Notify> {
        self.embedding.wake.clone()
    }

    /// Says that memory changed, or that something that was in the way is gone.
    pub(crate) fn embed_soon(&self) {
        self.embedding.wake.notify_one();
    }

    fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        self.embedding.embedder.read().clone()
    }

    /// Embeds whatever of memory has no vector yet. It gives way to turns, and ends soon when the engine stops.
    pub async fn embed_what_waits(self: &Arc<Self>) -> Drained {
        let Some(embedder) = self.embedder() else { return Drained::Nothing };
        let Ok(_alone) = self.embedding.draining.try_lock() else { return Drained::Interrupted };
        let engine = self.clone();
        let name = embedder.name().to_string();
        aside(move || engine.open_vectors(&name)).await;
        if !self.embedding.state.lock().owner {
            let engine = self.clone();
            aside(move || engine.follow_keys(Locality::Builtin)).await;
            return Drained::Nothing;
        }
        if self.rests() {
            return Drained::Resting;
        }
        if embedder.locality() == Locality::Remote && !self.knows_all_quotations() {
            return Drained::Interrupted;
        }
        loop {
            let (engine, reader) = (self.clone(), embedder.locality());
            let missing = match aside(move || engine.missing_now(reader)).await {
                Ok(missing) => missing,
                Err(why) => return self.note_unkept(&why),
            };
            match self.embed_missing(embedder.as_ref(), missing).await {
                Ok(true) => {}
                Ok(false) => {
                    self.embedding.state.lock().unkept = None;
                    return Drained::Done;
                }
                Err(why) => return why,
            }
        }
    }

    /// Embeds what is missing; returns whether it has to be looked up again, as all vectors are made anew.
    async fn embed_missing(
        self: &Arc<Self>,
        embedder: &dyn Embedder,
        missing: Vec<(Arc<str>, usize)>,
    ) -> Result<bool, Drained> {
        if !missing.is_empty() && !self.may_embed(embedder).await {
            return Err(Drained::Unconfirmed);
        }
        let mut left = missing.as_slice();
        while !left.is_empty() {
            if self.stop.load(Ordering::Relaxed) || !self.is_idle() {
                self.embed_soon();
                return Err(Drained::Interrupted);
            }
            // Nothing is sent for a vector that cannot be kept.
            let (engine, dimension) = (self.clone(), embedder.dimension());
            let room =
                aside(move || engine.embedding.kept.read().as_ref().map_or(usize::MAX, |kept| kept.room(dimension)));
            let (places, rest) = left.split_at(left.len().min(BATCH).min(room.await));
            if places.is_empty() {
                let kept = self.embedding_status().vectors;
                return Err(self.note_unkept(&KeepError::Full(kept)));
            }
            left = rest;
            let (engine, places, reader) = (self.clone(), places.to_vec(), embedder.locality());
            let Some(passages) = aside(move || engine.passages(&places, reader)).await else {
                // It is gone on with when they have been read.
                return Err(Drained::Interrupted);
            };
            let count = passages.len();
            match self.embed_passages(embedder, passages).await {
                Step::Kept => {}
                Step::Anew => return Ok(true),
                Step::Rest => return Err(Drained::Resting),
                Step::Full => return Err(Drained::Full),
            }
            let mut state = self.embedding.state.lock();
            state.waiting = state.waiting.saturating_sub(count);
        }
        Ok(false)
    }

    /// Embeds some passages; those among them that the server does not take are found out and left out.
    async fn embed_passages(self: &Arc<Self>, embedder: &dyn Embedder, passages: Vec<(NodeRef, Passage)>) -> Step {
        let mut parts = vec![passages];
        // Whether it took something since it refused a text for good.
        let mut takes = false;
        while let Some(mut part) = parts.pop() {
            let passages = part.iter().map(|(_, passage)| passage.clone()).collect();
            let Admitted { batch: Some(batch), sent, .. } = Batch::admit(embedder.locality(), passages) else {
                continue;
            };
            match embedder.embed(&batch).await {
                Ok(vectors) => {
                    takes = true;
                    // It went there, whatever becomes of what came back.
                    self.count_embedded(embedder, &part, &sent);
                    match self.keep_vectors(embedder, &sent, vectors).await {
                        Step::Kept => {}
                        other => return other,
                    }
                }
                Err(error) if error.kind == EmbedErrorKind::Texts => {
                    // A page for browsers, or a proxy that refuses everything, says nothing of these texts.
                    if !takes && !takes_any(embedder).await {
                        return self.note_failure(&error);
                    }
                    takes = true;
                    if part.len() > 1 {
                        let rest = part.split_off(part.len() / 2);
                        parts.extend([rest, part]);
                        continue;
                    }
                    takes = false;
                    self.count_embedded(embedder, &part, &sent);
                    self.embedding.state.lock().refused.extend(sent.iter().map(Passage::key));
                    self.say(LogLevel::Info, &format!("a note has no vector: {}", error.text));
                }
                Err(error) => return self.note_failure(&error),
            }
        }
        Step::Kept
    }

    /// Counts what of some passages was sent elsewhere though it is marked.
    fn count_embedded(&self, embedder: &dyn Embedder, part: &[(NodeRef, Passage)], sent: &[Passage]) {
        if embedder.locality() == Locality::Remote {
            // By its label, too: what may not go has the same key where it says the same.
            self.count_sent(part.iter().filter(|(_, passage)| sent.contains(passage)).map(|(node, _)| node));
        }
    }

    fn note_success(&self, embedder: &dyn Embedder) {
        let trouble = {
            let mut state = self.embedding.state.lock();
            (state.failures, state.rests_until) = (0, None);
            state.trouble.take()
        };
        if trouble.is_some() {
            self.say(LogLevel::Info, &format!("{} answers again; what waited gets its vectors", embedder.name()));
        }
    }

    /// Notes that it failed: it is said once, and tried again after a pause.
    fn note_failure(&self, error: &EmbedError) -> Step {
        let now = self.clock.now();
        let said = {
            let mut state = self.embedding.state.lock();
            let pause = (0..state.failures.min(16)).fold(FIRST_PAUSE, |pause, _| (pause * 2).min(LONGEST_PAUSE));
            let wanted = error.after.and_then(|after| SignedDuration::try_from(after).ok()).unwrap_or_default();
            state.failures = state.failures.saturating_add(1);
            state.rests_until = now.checked_add(pause.max(wanted)).ok();
            let said = state.trouble.is_some();
            state.trouble = Some(error.text.clone());
            said
        };
        if !said {
            let text = format!("{}. Until then notes are found by their words alone", error.text.trim_end_matches('.'));
            self.say(LogLevel::Warning, &text);
        }
        Step::Rest
    }

    fn rests(&self) -> bool {
        let until = self.embedding.state.lock().rests_until;
        until.is_some_and(|until| self.clock.now() < until)
    }

    /// Returns whether nothing goes on in any conversation.
    fn is_idle(&self) -> bool {
        let lanes: Vec<_> = self.lanes.lock().values().filter_map(std::sync::Weak::upgrade).collect();
        lanes.iter().all(|lane| lane.try_lock().is_ok())
    }

    /// Returns whether an embedder may be sent anything: it is on this machine, or the user confirmed it. That nothing is
    /// sent until then is said once.
    async fn may_embed(&self, embedder: &dyn Embedder) -> bool {
        let may = match embedder.locality() {
            Locality::Builtin | Locality::Local => true,
            Locality::Remote => {
                let contact = contact(provider_name(embedder), &embedder.url());
                self.archive.latest(kind::CONFIRMATION, contact).await.is_ok_and(|record| record.is_some())
            }
        };
        let said = {
            let mut state = self.embedding.state.lock();
            std::mem::replace(&mut state.unconfirmed, !may)
        };
        if !may && !said {
            let text = format!(
                "{} is not on this machine, so nothing is sent to it before you confirm it: type /embed in a chat",
                embedder.name()
            );
            self.say(LogLevel::Warning, &text);
        }
        may
    }
}

/// Returns whether an embedder makes a vector of anything now.
async fn takes_any(embedder: &dyn Embedder) -> bool {
    let passage = Passage::new(ANY_TEXT, Privacy::Open);
    match Batch::admit(embedder.locality(), passage.into_iter().collect()).batch {
        Some(batch) => embedder.embed(&batch).await.is_ok(),
        None => false,
    }
}

/// Returns the name under which an embedder is confirmed: the backend's, as the texts go there whatever the model.
fn provider_name(embedder: &dyn Embedder) -> &str {
    embedder.name().split(' ').next().unwrap_or_default()
}
