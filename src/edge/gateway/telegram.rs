//! Telegram's Bot API, by long polling. Its token is a part of every address, so no address leaves this file.

use crate::domain::gateway::seen::Seen;
use crate::domain::gateway::{Arrived, Mark, Message, Platform};
use crate::edge::gateway::{Messenger, Trouble};
use crate::edge::secret::Secret;
use async_trait::async_trait;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

/// How long the server is asked to wait for something to come.
const POLL: u64 = 25;
/// How long any other call may take, and a poll longer than what it asks for.
const CALL: Duration = Duration::from_secs(20);
/// So many updates are taken at once.
const AT_ONCE: u64 = 20;
/// The longest answer that is read, in bytes.
const MOST: usize = 4 << 20;
/// The longest time to wait that a server is believed.
const LONGEST: u64 = 3_600;
/// A poll that brings nothing new takes longer than this: the server waits for something to come.
const SOON: Duration = Duration::from_secs(1);
const NOTHING_NEW: Trouble = Trouble::Passing("it answers at once, and with nothing new");

/// A bot.
pub(in crate::edge) struct Telegram {
    client: reqwest::Client,
    base: reqwest::Url,
    token: Secret,
    /// The largest number of what the last answer brought, where nothing of it was new. It is not noted anywhere else, and
    /// the server brings it until a poll asks for what is behind it.
    dropped: Mutex<Option<i64>>,
}

impl Telegram {
    /// Makes one for a base address; `None` when a token must not go there in the clear, or is none.
    pub(in crate::edge) fn new(client: reqwest::Client, base: reqwest::Url, token: Secret) -> Option<Telegram> {
        let safe = base.scheme() == "https" || (base.scheme() == "http" && is_loopback(&base));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'_' | b'-');
        let whole = !token.is_empty() && token.expose().bytes().all(plain);
        let dropped = Mutex::default();
        (safe && whole && !base.cannot_be_a_base()).then_some(Telegram { client, base, token, dropped })
    }

    /// Calls a method. Of whatever goes wrong only the kind is told: an error of the client names the address.
    async fn call(&self, method: &str, body: Value, longest: Duration) -> Result<Value, Trouble> {
        let mut url = self.base.clone();
        let bot = format!("bot{}", self.token.expose());
        url.path_segments_mut().map_err(|()| Trouble::Refused)?.pop_if_empty().extend([bot.as_str(), method]);
        let answered = async {
            let request = self.client.post(url).header("content-type", "application/json").body(body.to_string());
            let mut response = request.send().await.map_err(|error| passing(&error))?;
            let (status, mut read) = (response.status().as_u16(), Vec::new());
            while let Some(chunk) = response.chunk().await.map_err(|error| passing(&error))? {
                read.extend_from_slice(&chunk);
                if read.len() > MOST {
                    return Err(Trouble::Passing("its answer is too long"));
                }
            }
            Ok((status, read))
        };
        let late = || Err(Trouble::Passing("it did not answer in time"));
        let (status, read) = tokio::time::timeout(longest, answered).await.unwrap_or_else(|_| late())?;
        outcome(status, serde_json::from_slice(&read).ok())
    }
}

/// Returns whether an address is of this machine.
pub(in crate::edge) fn is_loopback(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or("").trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn passing(error: &reqwest::Error) -> Trouble {
    Trouble::Passing(match (error.is_connect(), error.is_timeout()) {
        (true, _) => "it cannot be reached",
        (false, true) => "it did not answer in time",
        (false, false) => "the connection broke",
    })
}

/// Tells what an answer says.
fn outcome(status: u16, answer: Option<Value>) -> Result<Value, Trouble> {
    let asked_to_wait = answer.as_ref().and_then(|answer| answer["parameters"]["retry_after"].as_u64());
    match (status, answer) {
        (200..=299, Some(mut answer)) if answer["ok"] == true => Ok(answer["result"].take()),
        (200..=299, _) => Err(Trouble::Passing("its answer cannot be understood")),
        (401 | 404, _) => Err(Trouble::Refused),
        (409, _) => Err(Trouble::Taken),
        (429, _) => Err(Trouble::Wait(Duration::from_secs(asked_to_wait.unwrap_or(5).min(LONGEST)))),
        (400..=499, _) => Err(Trouble::Rejected(status)),
        _ => Err(Trouble::Passing("its server has trouble of its own")),
    }
}

#[async_trait]
impl Messenger for Telegram {
    fn platform(&self) -> Platform {
        Platform::Telegram
    }

    /// The bot's number, which stands before the secret part of its token.
    fn account(&self) -> &str {
        self.token.expose().split_once(':').map_or("", |(bot, _)| bot)
    }

    fn identity(&self) -> blake3::Hash {
        blake3::hash(format!("{} {}", self.base, self.token.expose()).as_bytes())
    }

    async fn linked_as(&self) -> Result<String, Trouble> {
        let me = self.call("getMe", json!({}), CALL).await?;
        let name = me["username"].as_str().ok_or(Trouble::Passing("its answer cannot be understood"))?;
        Ok(format!("@{}", name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40).collect::<String>()))
    }

    async fn receive(&self, seen: &Seen, now: Timestamp) -> Result<Vec<Arrived>, Trouble> {
        let dropped = *self.dropped.lock();
        let offset = dropped.map_or_else(|| seen.next(now), |number| number.saturating_add(1));
        let body = json!({
            "offset": offset, "limit": AT_ONCE, "timeout": POLL, "allowed_updates": ["message"],
        });
        let asked = Instant::now();
        let updates = self.call("getUpdates", body, CALL + Duration::from_secs(POLL)).await?;
        let updates = updates.as_array().ok_or(Trouble::Passing("its answer cannot be understood"))?;
        // Each for itself: one that cannot be read takes no other with it.
        let came: Vec<Arrived> = updates.iter().filter_map(arrived).collect();
        if came.iter().any(|one| !seen.has(&one.mark)) {
            *self.dropped.lock() = None;
            return Ok(came);
        }
        if let Some(last) = updates.iter().filter_map(number).max() {
            *self.dropped.lock() = Some(last);
        }
        if asked.elapsed() < SOON { Err(NOTHING_NEW) } else { Ok(came) }
    }

    async fn send(&self, to: &str, text: &str) -> Result<(), Trouble> {
        let chat: i64 = to.parse().map_err(|_| Trouble::Rejected(400))?;
        let body = json!({ "chat_id": chat, "text": text, "link_preview_options": { "is_disabled": true } });
        self.call("sendMessage", body, CALL).await.map(drop)
    }
}

fn number(update: &Value) -> Option<i64> {
    update["update_id"].as_i64().filter(|number| *number > 0)
}

fn arrived(update: &Value) -> Option<Arrived> {
    let number = number(update)?;
    let sent = update["message"]["date"].as_i64().and_then(|second| Timestamp::from_second(second).ok());
    Some(Arrived { mark: Mark::Number { number, sent }, message: message(&update["message"]) })
}

/// Reads a message of a person to the bot alone: in a group others would read the answer.
fn message(message: &Value) -> Option<Message> {
    let (from, chat) = (&message["from"], &message["chat"]);
    let sender = from["id"].as_i64()?;
    let alone = chat["type"] == "private" && chat["id"].as_i64() == Some(sender);
    if !alone || from["is_bot"] != false {
        return None;
    }
    let name = [&from["first_name"], &from["username"]].into_iter().find_map(Value::as_str).unwrap_or("");
    let text = message["text"].as_str().map(str::to_string);
    Some(Message { sender: sender.to_string(), name: name.to_string(), text })
}
