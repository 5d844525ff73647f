//! Signal, through a signal-cli daemon that the user runs on this machine: ADR 0016.

mod envelope;
mod line;

use crate::domain::gateway::seen::Seen;
use crate::domain::gateway::{Arrived, Mark, Platform};
use crate::edge::gateway::signal::envelope::Brought;
use crate::edge::gateway::signal::line::{Address, BROKE, Held, Line};
use crate::edge::gateway::{Messenger, Trouble};
use crate::edge::json_lines::NO_METHOD;
use async_trait::async_trait;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::VecDeque;
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
/// So many of what came last are known.
const RECENT: usize = 64;
/// How long to wait where no time was named.
const UNNAMED: Duration = Duration::from_secs(60);
/// The longest time to wait that is believed.
const LONGEST: u64 = 7 * 86_400;

const ODD: Trouble = Trouble::Passing("signal-cli's answer cannot be understood");
const LOST: Trouble = Trouble::Passing("more had come by Signal than can wait; some of it is lost");
const OTHER: Trouble =
    Trouble::Passing("signal-cli has another account than before; name the one that is meant in SIGNAL_ACCOUNT_NUMBER");
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
    /// What connections brought that are over.
    early: Mutex<Held>,
    /// What came last: a daemon that brings everything by itself and was subscribed to brings it twice.
    recent: Mutex<VecDeque<Mark>>,
    /// Until when nothing may be sent, and whether a captcha would end that.
    barred: Mutex<Option<(Instant, bool)>>,
}

/// A connection that is begun. What it brought is kept however that ends: nobody brings it again.
struct Begun<'s> {
    signal: &'s Signal,
    line: Arc<Line>,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let is_used = self.signal.line.lock().as_ref().is_some_and(|line| Arc::ptr_eq(line, &self.line));
        if !is_used && self.line.is_trusted() {
            self.signal.early.lock().append(self.line.rest());
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

    /// Returns what came to our account, once.
    fn read(&self, brought: Brought) -> Option<Arrived> {
        let account = Some(self.account()).filter(|account| !account.is_empty());
        let arrived = brought.to(account)?;
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

    /// Returns a connection that holds; the last one, or a new one.
    async fn connected(&self) -> Result<Arc<Line>, Trouble> {
        let last = self.line.lock().clone();
        if let Some(line) = last {
            if line.is_open() {
                return Ok(line);
            }
            // What it brought before it ended counts.
            self.early.lock().append(line.rest());
        }
        let begun = Begun { signal: self, line: Arc::new(Line::open(&self.address).await?) };
        self.begin(&begun.line).await?;
        *self.line.lock() = Some(begun.line.clone());
        Ok(begun.line.clone())
    }

    /// Finds out which account is meant, then has what comes to it brought: where that is not known, nothing is.
    async fn begin(&self, line: &Line) -> Result<(), Trouble> {
        let listed = line.ask("listAccounts", json!({}), CALL).await?;
        line.check().await?;
        let to = match listed {
            Ok(listed) => {
                let account = self.account_of(&listed)?;
                if *self.found.get_or_init(|| account.clone()) != account {
                    return Err(OTHER);
                }
                json!({ "account": account })
            }
            // A daemon that was started for one account knows no other, and does not tell.
            Err(error) if error["code"] == NO_METHOD => json!({}),
            Err(_) => return Err(ODD),
        };
        match line.ask("subscribeReceive", to, CALL).await? {
            Ok(_) => Ok(()),
            // An older one does nothing else than to bring it by itself.
            Err(error) if error["code"] == NO_METHOD => Ok(()),
            Err(_) => Err(ODD),
        }
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
        self.connected().await?;
        Ok(match self.account() {
            "" => "signal-cli".to_string(),
            account => account.to_string(),
        })
    }

    async fn receive(&self, _seen: &Seen, _now: Timestamp) -> Result<Vec<Arrived>, Trouble> {
        if self.early.lock().take_lost() {
            return Err(LOST);
        }
        let mut early = std::mem::take(&mut *self.early.lock());
        let arrived: Vec<Arrived> = std::iter::from_fn(|| early.take()).filter_map(|one| self.read(one)).collect();
        if !arrived.is_empty() {
            return Ok(arrived);
        }
        let held = self.line.lock().as_ref().is_some_and(|line| line.is_open());
        let line = self.connected().await?;
        if !held {
            // That it is there again is told before anything comes, and what came meanwhile is next.
            return Ok(Vec::new());
        }
        if line.take_lost() {
            return Err(LOST);
        }
        let Ok(came) = tokio::time::timeout(POLL, line.came()).await else { return Ok(Vec::new()) };
        let mut arrived = vec![self.read(came.ok_or(BROKE)?)];
        while arrived.len() < AT_ONCE
            && let Some(came) = line.came_already()
        {
            arrived.push(self.read(came));
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
