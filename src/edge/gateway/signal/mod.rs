//! Signal, through a signal-cli daemon that the user runs on this machine: ADR 0016.

mod envelope;
mod line;

use crate::domain::gateway::seen::Seen;
use crate::domain::gateway::{Arrived, Mark, Platform};
use crate::edge::gateway::signal::line::{Address, BROKE, Line};
use crate::edge::gateway::{Messenger, Trouble};
use crate::edge::json_lines::NO_METHOD;
use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::Instant;

/// How long it is waited for something to come.
const POLL: Duration = Duration::from_secs(25);
/// How long a call may take, and one that sends: signal-cli asks Signal's servers first.
const CALL: Duration = Duration::from_secs(20);
const SEND: Duration = Duration::from_secs(60);
/// So many messages are taken at once.
const AT_ONCE: usize = 20;
/// So many that came while we connected are kept; signal-cli then brings all that Signal kept for us.
const EARLY: usize = 1_024;
/// So many of what came last are known.
const RECENT: usize = 64;
/// How long to wait where no time was named.
const UNNAMED: Duration = Duration::from_secs(60);
/// The longest time to wait that is believed.
const LONGEST: u64 = 7 * 86_400;

const ODD: Trouble = Trouble::Passing("signal-cli's answer cannot be understood");
const LOST: Trouble = Trouble::Passing("more had come by Signal than can wait; some of it is lost");
const UNTRUSTED: Trouble = Trouble::Unsent(
    "the safety number of this person has changed, so nothing was sent: compare it with theirs, then run signal-cli trust \
     with --verified-safety-number",
);

/// An account of signal-cli.
pub(in crate::edge) struct Signal {
    address: Address,
    /// The account as it was set; empty where signal-cli has but one.
    set: String,
    /// The account as signal-cli named it.
    found: OnceLock<String>,
    line: Mutex<Option<Arc<Line>>>,
    early: Mutex<Early>,
    /// What came last: a daemon that brings everything by itself and was subscribed to brings it twice.
    recent: Mutex<VecDeque<Mark>>,
    /// Until when nothing may be sent, and whether a captcha would end that.
    barred: Mutex<Option<(Instant, bool)>>,
}

/// What came while something else was waited for.
#[derive(Default)]
struct Early {
    arrived: VecDeque<Arrived>,
    lost: bool,
}

impl Early {
    fn keep(&mut self, arrived: Option<Arrived>) {
        match arrived {
            Some(arrived) if self.arrived.len() < EARLY => self.arrived.push_back(arrived),
            Some(_) => self.lost = true,
            None => {}
        }
    }
}

impl Signal {
    /// Makes one for the address of a daemon and an account, which may be empty.
    ///
    /// # Errors
    /// In words for the user, when the address is none or of another machine.
    pub(in crate::edge) fn new(address: &str, account: &str) -> Result<Signal, String> {
        Ok(Signal {
            address: Address::parse(address)?,
            set: account.to_string(),
            found: OnceLock::new(),
            line: Mutex::default(),
            early: Mutex::default(),
            recent: Mutex::default(),
            barred: Mutex::default(),
        })
    }

    fn read(&self, params: &Value) -> Option<Arrived> {
        let account = Some(self.account()).filter(|account| !account.is_empty());
        let arrived = envelope::arrived(params, account)?;
        let mut recent = self.recent.lock();
        if recent.contains(&arrived.mark) {
            return None;
        }
        recent.push_back(arrived.mark.clone());
        if recent.len() > RECENT {
            recent.pop_front();
        }
        Some(arrived)
    }

    /// Asks for something, and keeps what comes meanwhile: signal-cli answers behind it.
    async fn ask(&self, line: &Line, method: &str, early: &mut Early) -> Result<Result<Value, Value>, Trouble> {
        let mut asked = pin!(line.ask(method, json!({}), CALL));
        loop {
            tokio::select! {
                answer = &mut asked => return answer,
                Some(came) = line.came() => early.keep(self.read(&came)),
            }
        }
    }

    /// Returns a connection that holds; the last one, or a new one.
    async fn connected(&self) -> Result<Arc<Line>, Trouble> {
        let last = self.line.lock().clone();
        if let Some(line) = last {
            if line.is_open() {
                return Ok(line);
            }
            // What it brought before it ended counts.
            while let Some(came) = line.came().await {
                self.early.lock().keep(self.read(&came));
            }
        }
        let (line, mut early) = (Line::open(&self.address).await?, Early::default());
        let asked = self.ask(&line, "subscribeReceive", &mut early).await;
        if asked.is_ok() || line.is_known() {
            line.check().await.inspect_err(|_| self.recent.lock().clear())?;
            // Whatever was answered: nobody brings it again.
            self.keep_all(early);
        } else {
            // Who did not answer brought nothing that counts as known.
            self.recent.lock().clear();
        }
        match asked? {
            Ok(_) => {}
            // An older one does nothing else than to bring it by itself.
            Err(error) if error["code"] == NO_METHOD => {}
            Err(_) => return Err(ODD),
        }
        let line = Arc::new(line);
        *self.line.lock() = Some(line.clone());
        Ok(line)
    }

    fn keep_all(&self, early: Early) {
        let mut kept = self.early.lock();
        kept.lost |= early.lost;
        early.arrived.into_iter().for_each(|arrived| kept.keep(Some(arrived)));
    }

    /// Returns the account that is meant, of those that signal-cli names.
    fn account_of(&self, listed: &Value) -> Result<String, Trouble> {
        let accounts: Vec<&str> =
            listed.as_array().into_iter().flatten().filter_map(|one| one["number"].as_str()).collect();
        match (self.set.as_str(), accounts.as_slice()) {
            ("", [one]) => Ok((*one).to_string()),
            ("", []) => Err(Trouble::Passing("signal-cli has no account; register or link one there")),
            ("", _) => Err(Trouble::Passing("signal-cli has several accounts; name one in SIGNAL_ACCOUNT_NUMBER")),
            (set, accounts) if accounts.contains(&set) => Ok(set.to_string()),
            _ => Err(Trouble::Passing("signal-cli does not have the account of SIGNAL_ACCOUNT_NUMBER")),
        }
    }

    /// Returns for how long nothing may be sent any more.
    fn barred(&self) -> Option<Trouble> {
        let (until, captcha) = (*self.barred.lock())?;
        let rest = until.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero())?;
        Some(if captcha { Trouble::Captcha(rest) } else { Trouble::Wait(rest) })
    }
}

#[async_trait]
impl Messenger for Signal {
    fn platform(&self) -> Platform {
        Platform::Signal
    }

    fn account(&self) -> &str {
        if self.set.is_empty() { self.found.get().map_or("", String::as_str) } else { &self.set }
    }

    fn identity(&self) -> blake3::Hash {
        blake3::hash(format!("{:?} {}", self.address, self.set).as_bytes())
    }

    async fn linked_as(&self) -> Result<String, Trouble> {
        let line = self.connected().await?;
        let mut early = Early::default();
        let listed = self.ask(&line, "listAccounts", &mut early).await;
        self.keep_all(early);
        match listed? {
            Ok(listed) => {
                let account = self.account_of(&listed)?;
                Ok(self.found.get_or_init(|| account).clone())
            }
            // A daemon that was started for one account knows no other, and does not tell.
            Err(error) if error["code"] == NO_METHOD => Ok(match self.set.as_str() {
                "" => "signal-cli".to_string(),
                set => set.to_string(),
            }),
            Err(_) => Err(ODD),
        }
    }

    async fn receive(&self, _seen: &Seen) -> Result<Vec<Arrived>, Trouble> {
        if std::mem::take(&mut self.early.lock().lost) {
            return Err(LOST);
        }
        let early = std::mem::take(&mut self.early.lock().arrived);
        if !early.is_empty() {
            return Ok(early.into());
        }
        let held = self.line.lock().as_ref().is_some_and(|line| line.is_open());
        let line = self.connected().await?;
        if !held {
            // That it is there again is told before anything comes, and what came meanwhile is next.
            return Ok(Vec::new());
        }
        let Ok(came) = tokio::time::timeout(POLL, line.came()).await else { return Ok(Vec::new()) };
        let mut arrived = vec![self.read(&came.ok_or(BROKE)?)];
        while arrived.len() < AT_ONCE
            && let Some(came) = line.came_already()
        {
            arrived.push(self.read(&came));
        }
        Ok(arrived.into_iter().flatten().collect())
    }

    async fn send(&self, to: &str, text: &str) -> Result<(), Trouble> {
        if let Some(trouble) = self.barred() {
            return Err(trouble);
        }
        let line = self.line.lock().clone().ok_or(BROKE)?;
        let mut params = json!({ "recipient": [to], "message": text });
        if !self.account().is_empty() {
            params["account"] = json!(self.account());
        }
        let sent = outcome(&line.ask("send", params, SEND).await?);
        if let Err(Trouble::Wait(named) | Trouble::Captcha(named)) = &sent {
            *self.barred.lock() = Some((Instant::now() + *named, matches!(sent, Err(Trouble::Captcha(_)))));
        }
        sent
    }
}

/// Tells what came of sending to one person. The daemon's own words are not told on: they may hold the number.
fn outcome(answer: &Result<Value, Value>) -> Result<(), Trouble> {
    let (results, code) = match answer {
        Ok(result) => (&result["results"], None),
        Err(error) => (&error["data"]["response"]["results"], Some(error["code"].as_i64().unwrap_or(0))),
    };
    let results: Vec<&Value> = results.as_array().into_iter().flatten().collect();
    let is = |kind: &str| results.iter().any(|result| result["type"] == kind);
    let is_taken = || answer.as_ref().is_ok_and(|result| result["timestamp"].is_number());
    if code.is_none() && (is("SUCCESS") || (results.is_empty() && is_taken())) {
        return Ok(());
    }
    let named = results.iter().filter_map(|result| result["retryAfterSeconds"].as_u64()).max();
    let named = named.map_or(UNNAMED, |seconds| Duration::from_secs(seconds.min(LONGEST)));
    Err(match code {
        _ if results.iter().any(|result| result["token"].is_string()) => Trouble::Captcha(named),
        _ if is("RATE_LIMIT_FAILURE") => Trouble::Wait(named),
        _ if is("IDENTITY_FAILURE") => UNTRUSTED,
        _ if is("UNREGISTERED_FAILURE") => Trouble::Unsent("this person has no account of Signal any more"),
        _ if is("NETWORK_FAILURE") || is("INVALID_PRE_KEY_FAILURE") => {
            Trouble::Passing("signal-cli could not send; it tells why in its own log")
        }
        Some(-5) => Trouble::Wait(named),
        Some(-4) => UNTRUSTED,
        Some(-3 | -32603) => Trouble::Passing("signal-cli could not send; it tells why in its own log"),
        Some(-32602) => Trouble::Unsent("signal-cli does not have the account of SIGNAL_ACCOUNT_NUMBER"),
        Some(_) | None => Trouble::Unsent("signal-cli did not take it; it tells why in its own log"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_of_sending_is_read_from_kinds_and_numbers() {
        let failed = |code: i64, results: Value| {
            Err(json!({ "code": code, "message": "+15550007", "data": { "response": { "results": results } } }))
        };
        let wait = |seconds| Trouble::Wait(Duration::from_secs(seconds));
        let captcha = |seconds| Trouble::Captcha(Duration::from_secs(seconds));
        let passing = Trouble::Passing("signal-cli could not send; it tells why in its own log");
        let gone = Trouble::Unsent("this person has no account of Signal any more");
        let unsent = Trouble::Unsent("signal-cli did not take it; it tells why in its own log");
        for (answer, found) in [
            (Ok(json!({ "timestamp": 1, "results": [{ "type": "SUCCESS" }] })), None),
            (Ok(json!({ "timestamp": 1 })), None),
            (Ok(json!({ "results": [{ "type": "IDENTITY_FAILURE" }] })), Some(UNTRUSTED)),
            (failed(-4, json!([{ "type": "IDENTITY_FAILURE" }])), Some(UNTRUSTED)),
            (Err(json!({ "code": -4 })), Some(UNTRUSTED)),
            (failed(-5, json!([{ "type": "RATE_LIMIT_FAILURE", "retryAfterSeconds": 7 }])), Some(wait(7))),
            (failed(-1, json!([{ "type": "RATE_LIMIT_FAILURE" }])), Some(wait(60))),
            (Err(json!({ "code": -5 })), Some(wait(60))),
            (failed(-5, json!([{ "type": "RATE_LIMIT_FAILURE", "retryAfterSeconds": u64::MAX }])), Some(wait(LONGEST))),
            (failed(-5, json!([{ "token": "x", "retryAfterSeconds": 86_400 }])), Some(captcha(86_400))),
            (failed(-1, json!([{ "type": "UNREGISTERED_FAILURE" }])), Some(gone)),
            (failed(-1, json!([{ "type": "NETWORK_FAILURE" }])), Some(passing.clone())),
            (Err(json!({ "code": -3 })), Some(passing.clone())),
            (Err(json!({ "code": -32603 })), Some(passing)),
            (Err(json!({ "code": -1 })), Some(unsent.clone())),
            (Err(json!("odd")), Some(unsent.clone())),
            (failed(-1, json!("odd")), Some(unsent)),
        ] {
            assert_eq!(outcome(&answer).err(), found, "{answer:?}");
        }
    }
}
