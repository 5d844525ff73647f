//! The ledger: every call of a provider that is not built in, as records that only grow. Going back moves none of it.

mod caps;
pub mod costs;
pub mod prices;
mod record;
mod sums;
mod under_way;

use crate::domain::id::SessionId;
use crate::domain::memory::store::NewRecord;
use crate::domain::money::caps::{Accounts, Caps, Held, Wanted};
use crate::domain::money::prices::Price;
use crate::domain::money::totals::Shares;
use crate::domain::money::{Call, Cost, Micros};
use crate::domain::port::{Charge, Completion, LogLevel, Profile, Prompt, ProviderError, ProviderErrorKind, Usage};
use crate::domain::turn::prompt::tokens;
use crate::domain::work::Work;
use crate::edge::clock::local;
use crate::edge::engine::Engine;
use crate::edge::engine::delegation::shown_in;
use crate::edge::engine::record::kind;
use crate::edge::provider::cascade::Metered;
use crate::edge::random;
use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// An answer is taken to have so many tokens, thoughts included, until it is known.
pub const ANSWER: u64 = 4_096;
/// So many calls may wait to be stored; nobody is asked any more while they do.
const MOST_WAITING: usize = 10_000;
/// So many records are read at once.
const PAGE: usize = 4_096;

/// The ledger could not be written; the log says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the ledger cannot be written; the log says why")]
pub(super) struct LedgerError;

/// On whose behalf the calls of a turn are made.
#[derive(Debug)]
pub struct Behalf {
    /// Who waits for it.
    pub work: Work,
    /// The skill under which the turn runs.
    pub skill: Option<String>,
    /// The heading in focus, by its id.
    pub heading: Option<String>,
    /// The most that its conversation may cost by its preset, beside the user's own caps.
    pub cap: Option<Micros>,
    /// What its calls came to so far.
    pub spent: Mutex<Shares>,
}

impl Behalf {
    /// Returns the caps that hold for it: those of a preset only tighten.
    fn caps(&self, caps: &Caps) -> Caps {
        let session = [caps.session, self.cap].into_iter().flatten().min();
        Caps { session, ..*caps }
    }
}

/// What the ledger holds beside the store.
pub(in crate::edge) struct Ledger {
    /// Calls that could not be stored yet, oldest first: they are tried again with the next one.
    unwritten: Mutex<Vec<NewRecord>>,
    /// Held while they are stored, so that each is stored once.
    writing: tokio::sync::Mutex<()>,
    /// What all calls that are stored come to.
    summed: tokio::sync::Mutex<sums::Summed>,
    /// What was spent, as caps see it; or why that is not known.
    accounts: Mutex<Result<Accounts, String>>,
    /// Calls that are not over.
    under_way: Mutex<under_way::UnderWay>,
    /// The folder of the store, where what is not in the ledger is noted; of a store of somebody else there is none.
    folder: OnceLock<PathBuf>,
    /// Held while that is noted.
    noting: Mutex<()>,
    /// Why calls of an earlier process are not known, if so.
    lost: Mutex<Option<String>>,
    /// It was said that calls cannot be noted.
    told: AtomicBool,
}

impl Default for Ledger {
    fn default() -> Ledger {
        let accounts = Mutex::new(Ok(Accounts::default()));
        Ledger {
            unwritten: Mutex::default(),
            writing: Default::default(),
            summed: Default::default(),
            accounts,
            under_way: Mutex::default(),
            folder: OnceLock::new(),
            noting: Mutex::default(),
            lost: Mutex::default(),
            told: AtomicBool::default(),
        }
    }
}

/// The tokens of a call, if they were said, and what it cost, once it is over.
pub(super) type Came = Arc<Mutex<Option<Ended>>>;

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    /// Its tokens, if they were said.
    pub usage: Option<Usage>,
    /// What it cost.
    pub cost: Cost,
    /// Whether any of it may have left: a server that cannot be reached was sent nothing.
    pub left: bool,
}

/// A call that is under way. Where nobody waits for it any more, it is written down as stopped.
pub(super) struct Open<'a> {
    provider: &'a dyn Profile,
    engine: Arc<Engine>,
    session: SessionId,
    behalf: Arc<Behalf>,
    at: jiff::Timestamp,
    /// By which it is found again when this program ends before it is over.
    name: String,
    /// Its number among those that are under way; 0 before it is one of them.
    number: u64,
    estimate: Cost,
    /// What is held for it.
    held: Option<Held>,
    /// Where it is told what came of the request, for who looks at that.
    came: Came,
    /// Whether any of it may have left.
    left: bool,
    closed: bool,
}

#[async_trait]
impl Metered for Open<'_> {
    async fn close(mut self: Box<Self>, result: &Result<Completion, ProviderError>) {
        self.end(result);
        // What could not be written was said, and waits.
        let _ = self.engine.write_ledger().await;
    }
}

impl Open<'_> {
    /// Returns where it will stand what came of it.
    pub(super) fn came(&self) -> Came {
        self.came.clone()
    }

    /// Notes what came of the call.
    fn end(&mut self, result: &Result<Completion, ProviderError>) {
        let mut call = self.stopped();
        match result {
            Ok(completion) => {
                call.status = "answered".to_string();
                call.attempts = completion.attempts;
                call.usage = completion.usage;
                if !completion.model.is_empty() {
                    call.model.clone_from(&completion.model);
                }
                if let Some(usage) = completion.usage {
                    // What the settings call the model may be its only name in the table.
                    let price = |model: &str| self.engine.price(self.provider, model, self.at);
                    let price = price(&call.model).and_then(|known| match known {
                        Some(_) => Ok(known),
                        None => price(self.provider.model()),
                    });
                    call.cost = match price {
                        Ok(price) => price.map_or(Cost::Unknown, |price| Cost::Known(price.of(&usage))),
                        // It could be read when the call began: what was held then is the best that is known.
                        Err(_) => self.estimate,
                    };
                }
            }
            Err(error) => {
                call.status = word(&error.kind).to_string();
                call.http = error.status;
                call.attempts = error.attempts.max(1);
                if error.charge == Charge::Nothing {
                    call.cost = Cost::Known(Micros::default());
                    self.left = error.status.is_some() || error.kind != ProviderErrorKind::Unreachable;
                }
            }
        }
        self.note(&call);
    }

    /// Returns the call as it stands when nobody waits for it any more.
    fn stopped(&self) -> Call {
        let Open { provider, session, behalf, .. } = self;
        Call {
            at: self.at,
            session: shown_in(session).0,
            provider: provider.name().to_string(),
            model: provider.model().to_string(),
            work: behalf.work,
            skill: behalf.skill.clone(),
            heading: behalf.heading.clone(),
            usage: None,
            status: "stopped".to_string(),
            http: None,
            attempts: 1,
            cost: self.estimate,
        }
    }

    /// Takes note of it beside the store before anything of it is sent: also when this program is killed it counts.
    ///
    /// # Errors
    /// When the ledger is closed, or when it cannot be noted and must be known by its `caps`.
    async fn begin(&mut self, caps: &Caps) -> Result<(), String> {
        let call = record::kept(&self.stopped(), &self.name);
        let begun = self.engine.ledger.under_way.lock().begin(call);
        let begun = begun.ok_or_else(|| "this program ends".to_string());
        let noted = match begun {
            Ok(number) => {
                self.number = number;
                let noted = self.engine.clone().note_calls().await;
                noted.or_else(|why| if caps.any() && !caps::is_free(self.estimate) { Err(why) } else { Ok(()) })
            }
            Err(why) => Err(why),
        };
        if noted.is_err() {
            // Nothing of it was sent.
            self.closed = true;
            self.engine.ledger.under_way.lock().end(self.number);
            self.engine.give_back(self.held.take());
        }
        noted
    }

    fn note(&mut self, call: &Call) {
        self.closed = true;
        // What was not over when the ledger was closed stands there as it was then.
        let mut under_way = self.engine.ledger.under_way.lock();
        if under_way.end(self.number) {
            self.engine.settle(self.held.take(), call, &self.name);
        }
        drop(under_way);
        self.behalf.spent.lock().take(call);
        *self.came.lock() = Some(Ended { usage: call.usage, cost: call.cost, left: self.left });
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.closed {
            return;
        }
        let call = self.stopped();
        self.note(&call);
        let engine = self.engine.clone();
        // Without a runtime it is written with the next call, or at the end.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            drop(runtime.spawn(async move { engine.write_ledger().await }));
        }
    }
}

/// Returns a new name for a call; an empty one, which is nobody's, where the system gives no random bytes.
fn new_name() -> String {
    random::bytes::<12>().map(|bytes| random::hex(&bytes)).unwrap_or_default()
}

/// Returns the name of a call as it is kept.
fn name_of(body: &Value) -> Option<&str> {
    body["name"].as_str()
}

fn word(kind: &ProviderErrorKind) -> &'static str {
    match kind {
        ProviderErrorKind::Timeout => "timeout",
        ProviderErrorKind::Unreachable => "unreachable",
        ProviderErrorKind::Cut => "cut",
        ProviderErrorKind::Refused => "refused",
        ProviderErrorKind::Quota => "quota",
        ProviderErrorKind::Garbled => "garbled",
    }
}

impl Engine {
    /// Opens a call, and holds what it may cost: it stands in the ledger from now on, whatever becomes of it.
    ///
    /// # Errors
    /// Which cap stands against it, or that this engine has ended.
    pub(super) async fn open_call<'a>(
        &self,
        provider: &'a dyn Profile,
        prompt: &Prompt,
        session: &SessionId,
        behalf: &Arc<Behalf>,
    ) -> Result<Open<'a>, String> {
        let engine = self.me.upgrade().ok_or("this program ends")?;
        if self.ledger.unwritten.lock().len() >= MOST_WAITING && self.write_ledger().await.is_err() {
            return Err(format!("{MOST_WAITING} calls could not be written into the ledger yet; the log says why"));
        }
        let at = self.clock.now();
        let wanted = self.wanted(provider, prompt, session, behalf)?;
        let estimate = wanted.estimate;
        let caps = behalf.caps(&self.config.caps);
        let held = Some(self.hold_for_call(wanted, behalf).await?);
        let (session, behalf, came, name) = (session.clone(), behalf.clone(), Came::default(), new_name());
        let (number, left, closed) = (0, true, false);
        let mut open = Open { provider, engine, session, behalf, at, name, number, estimate, held, came, left, closed };
        open.begin(&caps).await?;
        Ok(open)
    }

    /// Returns what a call would need of the caps.
    ///
    /// # Errors
    /// Where a cap in dollars holds and the price cannot be read: a slip in the table must not lift the cap.
    fn wanted(
        &self,
        provider: &dyn Profile,
        prompt: &Prompt,
        session: &SessionId,
        behalf: &Behalf,
    ) -> Result<Wanted, String> {
        let day = local(self.clock.now()).date();
        let estimate = match self.estimate(provider, prompt) {
            Ok(estimate) => estimate,
            Err(why) if behalf.caps(&self.config.caps).in_dollars(behalf.work) => {
                return Err(format!(
                    "there is a cap on what is spent, and its price cannot be read; mend the table, {why}"
                ));
            }
            Err(_) => Cost::Unknown,
        };
        // The cap of a conversation holds for what it hands over as well.
        Ok(Wanted { session: shown_in(session).0, day, work: behalf.work, estimate })
    }

    /// Returns what a call may cost: the tokens of its prompt as the provider counts them, and for the answer those that it
    /// is told to stop at, or [`ANSWER`].
    ///
    /// # Errors
    /// Where its price cannot be read: which line of the table, and why.
    fn estimate(&self, provider: &dyn Profile, prompt: &Prompt) -> Result<Cost, String> {
        let Some(price) = self.price(provider, provider.model(), self.clock.now())? else { return Ok(Cost::Unknown) };
        let input = self.factor(provider).theirs(tokens(prompt, self.tokens.as_ref()));
        let input = u64::try_from(input).unwrap_or(u64::MAX);
        if price == Price::NOTHING {
            return Ok(Cost::Known(Micros::default()));
        }
        let output = provider.most_tokens().unwrap_or(ANSWER);
        Ok(Cost::Guessed(price.of(&Usage { input, output, ..Usage::default() })))
    }

    /// Writes calls down, in their order.
    pub async fn write_down(&self, calls: impl IntoIterator<Item = Call>) {
        let records: Vec<NewRecord> = calls.into_iter().map(|call| record::kept(&call, &new_name())).collect();
        self.ledger.unwritten.lock().extend(records);
        let _ = self.write_ledger().await;
    }

    /// Stores the calls that are not stored yet. What cannot be stored waits, and is said.
    ///
    /// # Errors
    /// When a call that ended before could not be stored.
    pub(super) async fn write_ledger(&self) -> Result<(), LedgerError> {
        let engine = self.me.upgrade().ok_or(LedgerError)?;
        // In a task of its own: who waits here may be stopped, and what was stored must not wait any more.
        tokio::spawn(async move { engine.write_unwritten().await }).await.unwrap_or(Err(LedgerError))
    }

    async fn write_unwritten(&self) -> Result<(), LedgerError> {
        let _one = self.ledger.writing.lock().await;
        let waiting = self.ledger.unwritten.lock().clone();
        if waiting.is_empty() {
            return Ok(());
        }
        let count = waiting.len();
        if let Some(why) = &self.beside {
            self.ledger.unwritten.lock().drain(..count);
            self.say(LogLevel::Warning, &format!("calls of models that are not in the ledger: {count}; {why}"));
            return Ok(());
        }
        self.archive.append(waiting).await.map_err(|why| {
            let text = format!("the ledger could not be written, {count} calls wait to be: {why}");
            self.say(LogLevel::Error, &text);
            LedgerError
        })?;
        self.ledger.unwritten.lock().drain(..count);
        // What cannot be noted was said.
        let _ = self.note_calls().await;
        Ok(())
    }

    /// Reads the ledger, newest calls first, down to the record behind which it is known already, or until `go_on` has
    /// enough; it is told of each call and its day. Returns the place of the newest record, and how many records could not
    /// be read.
    ///
    /// # Errors
    /// When the store cannot be read.
    async fn read_ledger(
        &self,
        known: u64,
        mut go_on: impl FnMut(Call, jiff::civil::Date) -> bool,
    ) -> Result<(u64, u64), String> {
        let (mut before, mut newest, mut unreadable) = (u64::MAX, known, 0);
        loop {
            let records = self.archive.newest_before(kind::CALL, before, PAGE).await?;
            let Some(last) = records.last() else { return Ok((newest, unreadable)) };
            before = last.seq;
            for record in &records {
                if record.seq <= known {
                    return Ok((newest, unreadable));
                }
                newest = newest.max(record.seq);
                match record::read(record) {
                    Some(call) => {
                        let day = local(call.at).date();
                        if !go_on(call, day) {
                            return Ok((newest, unreadable));
                        }
                    }
                    None => unreadable += 1,
                }
            }
        }
    }
}
