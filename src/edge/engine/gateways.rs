//! Messengers as the store knows them: which are linked, who is let in, and what came already.
//!
//! Pairing and letting in are done in the user's Emacs alone, linking there or at a terminal of the user's; whatever takes
//! away counts from every channel.

use crate::domain::audit::Ruling;
use crate::domain::gate::plan::FlightPlan;
use crate::domain::gateway::door::{self, Door};
use crate::domain::gateway::seen::Seen;
use crate::domain::gateway::{Mark, Message, Platform};
use crate::domain::id::SessionId;
use crate::domain::port::LogLevel;
use crate::domain::signal::{Origin, Source};
use crate::edge::engine::record::kind;
use crate::edge::engine::{Engine, audit};
use crate::edge::env_file;
use crate::edge::gateway::{Messenger, Signal, Telegram, Trouble, is_loopback};
use crate::edge::secret::Secret;
use crate::edge::thread::aside;
use parking_lot::Mutex;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::Notify;

/// The variable of Telegram's token. What we start has no use for it.
pub(in crate::edge) const TOKEN: &str = "TELEGRAM_BOT_TOKEN";
/// What is said where only Emacs may decide.
const IN_EMACS: &str = "who may reach the agent by a messenger is decided in Emacs: M-x passepartout-gateways";

/// Messengers, as this process knows them.
#[derive(Default)]
pub(in crate::edge) struct Gateways {
    known: Mutex<BTreeMap<Platform, Gateway>>,
    /// The store was read: once, as what it says would take back what was decided since.
    loaded: tokio::sync::OnceCell<()>,
    /// Held over a decision and its keeping: of two, the later counts here and in the store.
    deciding: tokio::sync::Mutex<()>,
    /// Held over a count of what is open and its keeping: of two, the later one is kept last.
    counting: tokio::sync::Mutex<()>,
}

/// One messenger.
#[derive(Default)]
struct Gateway {
    linked: bool,
    named: Option<String>,
    state: String,
    /// Something about it changed.
    wake: Arc<Notify>,
    /// What came already by each account.
    seen: BTreeMap<String, Seen>,
    /// How many messages of each sender were taken and are not answered yet.
    open: BTreeMap<String, i64>,
    door: Door,
}

/// A messenger, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedGateway {
    /// Which.
    pub platform: Platform,
    /// Whether nothing is missing, a token or an address.
    pub configured: bool,
    /// Whether the user linked it.
    pub linked: bool,
    /// Under what name it is linked, once it said so.
    pub named: Option<String>,
    /// How it stands.
    pub state: String,
    /// Who is let in, by the messenger's own name, and called what.
    pub allowed: Vec<(String, String)>,
    /// Who of them may decide about plans.
    pub deciders: Vec<String>,
    /// Who wrote and is not let in: the same, and whether it showed the code.
    pub strangers: Vec<(String, String, bool)>,
}

fn key(platform: Platform, sender: &str) -> String {
    format!("{} {sender}", platform.name())
}

/// Returns the conversation of a messenger's sender.
pub(in crate::edge) fn session_of(platform: Platform, sender: &str) -> SessionId {
    SessionId(format!("{}-{sender}", platform.name()))
}

/// Returns the messenger and the sender whose conversation it is; of a channel that is no messenger that means nothing.
pub(super) fn chat_of(session: &SessionId) -> Option<(Platform, &str)> {
    let (platform, sender) = session.0.split_once('-')?;
    Some((Platform::parse(platform)?, sender))
}

impl Engine {
    /// Reads what the store knows of messengers.
    ///
    /// # Errors
    /// When the store cannot be read; then nobody is let in.
    pub async fn load_gateways(&self) -> Result<(), String> {
        self.gateways.loaded.get_or_try_init(|| self.read_gateways()).await.copied()
    }

    async fn read_gateways(&self) -> Result<(), String> {
        let linked = self.archive.latest_each(kind::GATEWAY).await?;
        let senders = self.archive.latest_each(kind::GATEWAY_SENDER).await?;
        let marks = self.archive.latest_each(kind::GATEWAY_MARK).await?;
        let open = self.archive.latest_each(kind::GATEWAY_OPEN).await?;
        let mut known = self.gateways.known.lock();
        for platform in Platform::ALL {
            let gateway = known.entry(platform).or_default();
            let of_it = |key: &str| key == platform.name();
            gateway.linked = linked.iter().any(|record| of_it(&record.key) && record.body["linked"] == true);
            for record in &marks {
                let account = record.body["account"].as_str().unwrap_or_default().to_string();
                let seen = gateway.seen.entry(account);
                match record.key.split_once(' ') {
                    None if of_it(&record.key) => {
                        if let Some(number) = record.body["number"].as_i64() {
                            // An earlier version did not keep when it was sent; it was stored when it came.
                            let sent = record.body["sent"].as_str().and_then(|sent| sent.parse().ok());
                            seen.or_default().note(&Mark::Number { number, sent }, record.at);
                        }
                    }
                    Some((named, sender)) if of_it(named) => {
                        let names = record.body["names"].as_array().into_iter().flatten();
                        let seen = seen.or_default();
                        for name in names.filter_map(serde_json::Value::as_str) {
                            seen.note(&Mark::Name { sender: sender.to_string(), name: name.to_string() }, record.at);
                        }
                    }
                    Some(_) | None => {}
                }
            }
            gateway.open = open
                .iter()
                .filter_map(|record| {
                    let (named, sender) = record.key.split_once(' ')?;
                    let count = record.body["open"].as_i64().filter(|count| *count > 0)?;
                    (named == platform.name()).then(|| (sender.to_string(), count))
                })
                .collect();
            let allowed = senders.iter().filter(|record| record.body["allowed"] == true).filter_map(|record| {
                let (named, sender) = record.key.split_once(' ')?;
                let name = record.body["name"].as_str().unwrap_or("");
                (named == platform.name()).then(|| (sender.to_string(), name.to_string()))
            });
            gateway.door = Door::of(allowed.collect());
            let decide = senders.iter().filter(|record| record.body["decides"] == true);
            for (named, sender) in decide.filter_map(|record| record.key.split_once(' ')) {
                if named == platform.name() {
                    gateway.door.let_decide(sender);
                }
            }
        }
        Ok(())
    }

    fn with_gateway<T>(&self, platform: Platform, work: impl FnOnce(&mut Gateway) -> T) -> T {
        work(self.gateways.known.lock().entry(platform).or_default())
    }

    /// Returns what tells that something about a messenger changed.
    pub(in crate::edge) fn gateway_wake(&self, platform: Platform) -> Arc<Notify> {
        self.with_gateway(platform, |gateway| gateway.wake.clone())
    }

    /// Returns whether the user linked a messenger.
    pub(in crate::edge) fn gateway_is_linked(&self, platform: Platform) -> bool {
        self.with_gateway(platform, |gateway| gateway.linked)
    }

    /// Makes a messenger ready.
    ///
    /// # Errors
    /// What is missing, in words for the user.
    pub(in crate::edge) fn messenger(&self, platform: Platform) -> Result<Arc<dyn Messenger>, String> {
        match platform {
            Platform::Telegram => Ok(Arc::new(self.telegram()?)),
            Platform::Signal => Ok(Arc::new(self.signal()?)),
        }
    }

    fn telegram(&self) -> Result<Telegram, String> {
        let token = self.vault.token(Platform::Telegram.name(), TOKEN, &self.config.telegram_url);
        self.telegram_with(token.ok_or("there is no token: linking it asks for one")?)
    }

    fn telegram_with(&self, token: Secret) -> Result<Telegram, String> {
        let wrong = || "TELEGRAM_URL is no address; it begins with https://".to_string();
        let base = reqwest::Url::parse(&self.config.telegram_url).map_err(|_| wrong())?;
        let client = self.clients().map_err(|_| "no HTTP client can be made".to_string())?.at(is_loopback(&base));
        Telegram::new(client, base, token)
            .ok_or_else(|| "its token is no token, or would go over the network in the clear".to_string())
    }

    fn signal(&self) -> Result<Signal, String> {
        let missing = "where signal-cli listens is not known: say it in SIGNAL_CLI_ADDRESS";
        Signal::new(self.config.signal_address.as_deref().ok_or(missing)?, &self.config.signal_account)
    }

    /// Takes note of how a messenger stands.
    pub(in crate::edge) fn note_gateway(&self, platform: Platform, named: Option<&str>, state: &str) {
        self.with_gateway(platform, |gateway| {
            gateway.state = state.to_string();
            if let Some(named) = named {
                gateway.named = Some(named.to_string());
            }
        });
    }

    /// Returns what came already by an account.
    pub(in crate::edge) fn gateway_seen(&self, platform: Platform, account: &str) -> Seen {
        self.with_gateway(platform, |gateway| gateway.seen.get(account).cloned().unwrap_or_default())
    }

    /// Stores that something came by an account.
    pub(in crate::edge) async fn mark_gateway(
        &self,
        platform: Platform,
        account: &str,
        mark: &Mark,
    ) -> Result<(), String> {
        let (mut seen, now) = (self.gateway_seen(platform, account), self.clock.now());
        seen.note(mark, now);
        let (key, body) = match mark {
            Mark::Number { number, sent } => {
                let sent = sent.unwrap_or(now).to_string();
                (platform.name().to_string(), json!({ "account": account, "number": number, "sent": sent }))
            }
            Mark::Name { sender, .. } => {
                let names: Vec<&str> = seen.names(sender).collect();
                (key(platform, sender), json!({ "account": account, "names": names }))
            }
        };
        self.append(kind::GATEWAY_MARK, &key, body).await?;
        self.with_gateway(platform, |gateway| gateway.seen.insert(account.to_string(), seen));
        Ok(())
    }

    /// Keeps that so many more messages of a sender are open, or fewer: what a core leaves open when it ends was cut off.
    pub(in crate::edge) async fn count_open(&self, platform: Platform, sender: &str, by: i64) {
        let _one = self.gateways.counting.lock().await;
        let open = self.with_gateway(platform, |gateway| {
            let open = gateway.open.entry(sender.to_string()).or_default();
            *open = open.saturating_add(by).max(0);
            let now = *open;
            gateway.open.retain(|_, open| *open > 0);
            now
        });
        if let Err(why) = self.append(kind::GATEWAY_OPEN, &key(platform, sender), json!({ "open": open })).await {
            self.say(LogLevel::Warning, &format!("what of a messenger is not answered yet could not be stored: {why}"));
        }
    }

    /// Returns the senders of whom messages are open that nobody is about to answer: whoever asks begins to serve.
    pub(in crate::edge) fn cut_off(&self, platform: Platform) -> Vec<(String, i64)> {
        self.with_gateway(platform, |gateway| gateway.open.clone().into_iter().collect())
    }

    /// Returns whether the sender of a message is let in; who is not is listed.
    pub(in crate::edge) fn gateway_lets_in(&self, platform: Platform, message: &Message) -> bool {
        let (now, text) = (self.clock.now(), message.text.as_deref().unwrap_or(""));
        self.with_gateway(platform, |gateway| gateway.door.lets_in(&message.sender, &message.name, text, now))
    }

    /// Returns whether a sender is let in now.
    pub(in crate::edge) fn gateway_allows(&self, platform: Platform, sender: &str) -> bool {
        self.with_gateway(platform, |gateway| gateway.linked && gateway.door.allowed().contains_key(sender))
    }

    /// Returns the number of the grant by which a sender may decide about plans now.
    pub(in crate::edge) fn gateway_decides(&self, platform: Platform, sender: &str) -> Option<u64> {
        self.with_gateway(platform, |gateway| gateway.linked.then(|| gateway.door.decides(sender)).flatten())
    }

    /// Says whether a channel may decide about a plan at this moment: of a messenger, whether the user still lets the sender
    /// by the same grant, and the plan is one of that conversation. All others are looked at where they come in.
    pub(super) fn may_decide_now(&self, plan: &FlightPlan, origin: &Origin) -> Result<(), String> {
        let granted = || {
            let (platform, sender) = chat_of(&origin.session)?;
            self.gateway_decides(platform, sender)
        };
        if origin.source != Source::Gateway {
            return Ok(());
        }
        let granted = granted();
        if plan.session != origin.session || granted.is_none() || granted != origin.rights.grant {
            return Err("this sender may not decide about plans; that is decided in Emacs".to_string());
        }
        Ok(())
    }

    /// Returns a text without the keys of the vault and other secrets.
    pub(in crate::edge) fn masked(&self, text: &str) -> String {
        crate::domain::gate::secret::mask(&self.vault.mask(text)).0
    }

    /// Returns every messenger.
    pub fn gateways(&self) -> Vec<ListedGateway> {
        let listed = |platform: Platform| {
            let missing = self.messenger(platform).err();
            self.with_gateway(platform, |gateway| ListedGateway {
                platform,
                configured: missing.is_none(),
                linked: gateway.linked,
                named: gateway.named.clone(),
                state: match (&missing, gateway.linked) {
                    (Some(why), _) => why.clone(),
                    (None, false) => "not linked".to_string(),
                    (None, true) if gateway.state.is_empty() => "linked".to_string(),
                    (None, true) => gateway.state.clone(),
                },
                allowed: gateway.door.allowed().iter().map(|(sender, name)| (sender.clone(), name.clone())).collect(),
                deciders: {
                    let decides = |sender: &&String| gateway.door.decides(sender).is_some();
                    gateway.door.allowed().keys().filter(decides).cloned().collect()
                },
                strangers: {
                    let of = |known: &door::Stranger| (known.sender.clone(), known.name.clone(), known.paired);
                    gateway.door.strangers().map(of).collect()
                },
            })
        };
        Platform::ALL.into_iter().map(listed).collect()
    }

    /// Takes the token of a messenger that says that it is right, and keeps it in the settings file.
    ///
    /// # Errors
    /// When that is not for this channel, the token is none or could not be tried, or it could not be stored; nothing is
    /// kept then.
    pub async fn take_gateway_token(&self, origin: &Origin, platform: Platform, token: &str) -> Result<(), String> {
        may_link(origin)?;
        let Platform::Telegram = platform else { return Err(format!("{} has no token", platform.name())) };
        let key = env_file::key_in(token).ok_or("this is no token, so nothing was stored")?;
        let telegram = self.telegram_with(Secret::new(key.to_string()))?;
        telegram.linked_as().await.map_err(|trouble| match trouble {
            Trouble::Refused => {
                "Telegram does not know this token, so nothing was stored; BotFather tells the right one".to_string()
            }
            trouble => format!("the token could not be tried, so nothing was stored: {trouble}"),
        })?;
        let (file, lines) = (self.config.settings.join(".env"), [(TOKEN, Some(key.to_string()))]);
        aside(move || env_file::put(&file, &lines)).await?;
        // It counts before what auth-source gave at the start, which may be an older one.
        self.vault.add([(platform.name().to_string(), Secret::new(key.to_string()))]);
        Ok(())
    }

    /// Links a messenger: from then on its messages are taken.
    ///
    /// # Errors
    /// When that is not for this channel, something is missing, or it could not be stored.
    pub async fn link_gateway(&self, origin: &Origin, platform: Platform) -> Result<String, String> {
        may_link(origin)?;
        self.load_gateways().await?;
        let _one = self.gateways.deciding.lock().await;
        self.messenger(platform).map(drop)?;
        let what = format!("the gateway {} is linked", platform.name());
        let record = (kind::GATEWAY, platform.name().to_string(), json!({ "linked": true }));
        self.keep_gateway(origin, Ruling::Confirmed, (&what, record)).await?;
        self.with_gateway(platform, |gateway| {
            gateway.linked = true;
            gateway.wake.notify_one();
        });
        Ok(format!("{what}; who may write is said with a pairing code"))
    }

    /// Unlinks a messenger: its messages are not taken any more, and nobody is answered.
    ///
    /// # Errors
    /// When this channel may not, or it could not be stored; it is unlinked all the same while this process lives.
    pub async fn unlink_gateway(&self, origin: &Origin, platform: Platform) -> Result<String, String> {
        may_take_away(origin)?;
        self.load_gateways().await?;
        let _one = self.gateways.deciding.lock().await;
        self.with_gateway(platform, |gateway| {
            (gateway.linked, gateway.named) = (false, None);
            gateway.wake.notify_one();
        });
        let what = format!("the gateway {} is not linked any more", platform.name());
        let record = (kind::GATEWAY, platform.name().to_string(), json!({ "linked": false }));
        self.keep_gateway(origin, Ruling::Revoked, (&what, record)).await?;
        Ok(what)
    }

    /// Makes a code for the person who is to be let in: who sends it is marked in the list, and let in by nothing but a
    /// yes there.
    ///
    /// # Errors
    /// When that is not for this channel, or the system gives no random bytes.
    pub async fn pair_gateway(&self, origin: &Origin, platform: Platform) -> Result<String, String> {
        only_emacs(origin)?;
        self.load_gateways().await?;
        if !self.gateway_is_linked(platform) {
            return Err(format!("{} is not linked; link it first", platform.name()));
        }
        let bytes = aside(crate::edge::random::bytes::<{ door::CODE }>)
            .await
            .map_err(|error| format!("no code can be made: {error}"))?;
        let (code, now) = (door::code(bytes), self.clock.now());
        self.with_gateway(platform, |gateway| gateway.door.pair(&code, now));
        Ok(code)
    }

    /// Lets a sender in that showed the code.
    ///
    /// # Errors
    /// When that is not for this channel, the sender did not show it, or it could not be stored.
    pub async fn allow_sender(&self, origin: &Origin, platform: Platform, sender: &str) -> Result<String, String> {
        only_emacs(origin)?;
        self.load_gateways().await?;
        let _one = self.gateways.deciding.lock().await;
        let name = self.with_gateway(platform, |gateway| gateway.door.paired(sender).map(str::to_string));
        let name = name.ok_or("this sender has not sent a pairing code; make one and have it sent first")?;
        let what = format!("{sender} may write by {}", platform.name());
        let body = json!({ "allowed": true, "name": name });
        let record = (kind::GATEWAY_SENDER, key(platform, sender), body);
        self.keep_gateway(origin, Ruling::Confirmed, (&what, record)).await?;
        self.with_gateway(platform, |gateway| gateway.door.allow(sender, &name));
        Ok(what)
    }

    /// Lets a sender in no more.
    ///
    /// # Errors
    /// When this channel may not, nobody of that name is let in, or it could not be stored.
    pub async fn revoke_sender(&self, origin: &Origin, platform: Platform, sender: &str) -> Result<String, String> {
        may_take_away(origin)?;
        self.load_gateways().await?;
        let _one = self.gateways.deciding.lock().await;
        // At once, whatever becomes of the store; where that failed, it is kept when it is said again.
        let was = self.with_gateway(platform, |gateway| gateway.door.revoke(sender));
        if !was && !self.is_kept_as(platform, sender, "allowed").await? {
            return Err("this sender is not let in, so there is nothing to take back".to_string());
        }
        let what = format!("{sender} may not write by {} any more", platform.name());
        let record = (kind::GATEWAY_SENDER, key(platform, sender), json!({ "allowed": false }));
        self.keep_gateway(origin, Ruling::Revoked, (&what, record)).await?;
        Ok(what)
    }

    /// Lets a sender who is let in decide about plans.
    ///
    /// # Errors
    /// When that is not for this channel, the sender is not let in, or it could not be stored.
    pub async fn let_decide(&self, origin: &Origin, platform: Platform, sender: &str) -> Result<String, String> {
        only_emacs(origin)?;
        self.load_gateways().await?;
        let _one = self.gateways.deciding.lock().await;
        let name = self.with_gateway(platform, |gateway| gateway.door.allowed().get(sender).cloned());
        let name = name.ok_or("this sender is not let in; let it in first")?;
        let what = format!("{sender} may decide about plans by {}", platform.name());
        let body = json!({ "allowed": true, "name": name, "decides": true });
        let record = (kind::GATEWAY_SENDER, key(platform, sender), body);
        self.keep_gateway(origin, Ruling::Confirmed, (&what, record)).await?;
        self.with_gateway(platform, |gateway| gateway.door.let_decide(sender));
        Ok(what)
    }

    /// Lets a sender decide about plans no more; it is still let in.
    ///
    /// # Errors
    /// When this channel may not, the sender does not decide, or it could not be stored.
    pub async fn decide_no_more(&self, origin: &Origin, platform: Platform, sender: &str) -> Result<String, String> {
        may_take_away(origin)?;
        self.load_gateways().await?;
        let _one = self.gateways.deciding.lock().await;
        // At once, whatever becomes of the store; where that failed, it is kept when it is said again.
        let (was, name) = self.with_gateway(platform, |gateway| {
            (gateway.door.decide_no_more(sender), gateway.door.allowed().get(sender).cloned())
        });
        if !was && !self.is_kept_as(platform, sender, "decides").await? {
            return Err("this sender does not decide about plans, so there is nothing to take back".to_string());
        }
        let what = format!("{sender} may not decide about plans by {} any more", platform.name());
        let body = match name {
            Some(name) => json!({ "allowed": true, "name": name }),
            None => json!({ "allowed": false }),
        };
        let record = (kind::GATEWAY_SENDER, key(platform, sender), body);
        self.keep_gateway(origin, Ruling::Revoked, (&what, record)).await?;
        Ok(what)
    }

    /// Returns what the store says of a sender: whether it is `allowed`, or `decides`.
    async fn is_kept_as(&self, platform: Platform, sender: &str, what: &str) -> Result<bool, String> {
        let (senders, key) = (self.archive.latest_each(kind::GATEWAY_SENDER).await?, key(platform, sender));
        Ok(senders.iter().any(|record| record.key == key && record.body[what] == true))
    }

    /// Stores a decision in one piece with what it decides.
    async fn keep_gateway(
        &self,
        origin: &Origin,
        ruling: Ruling,
        (what, record): (&str, audit::Kept),
    ) -> Result<(), String> {
        let channel = crate::edge::engine::turns::channel(origin.source);
        let decision = Engine::of_human(ruling, what.to_string(), channel);
        self.append_all([record, audit::kept(&decision)].into_iter()).await?;
        self.say(LogLevel::Info, what);
        Ok(())
    }
}

/// Linking lets nobody in, so a human at a terminal that the agent did not start may do it, too.
fn may_link(origin: &Origin) -> Result<(), String> {
    if origin.source == Source::Cli && origin.rights.may_steer() { Ok(()) } else { only_emacs(origin) }
}

fn only_emacs(origin: &Origin) -> Result<(), String> {
    match origin.source == Source::Emacs && origin.rights.approve {
        true => Ok(()),
        false => Err(IN_EMACS.to_string()),
    }
}

/// What takes away counts at once, from every channel of a human.
fn may_take_away(origin: &Origin) -> Result<(), String> {
    match origin.rights.may_take_away() && origin.source != Source::Gateway {
        true => Ok(()),
        false => Err(IN_EMACS.to_string()),
    }
}
