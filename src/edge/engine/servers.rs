//! The MCP servers of the settings: each is started when it is wanted, its list of tools waits until the user confirmed it as
//! it was shown, and one that breaks is named, ended, and started again after a pause.

mod listed;

pub use listed::ListedServer;

use crate::domain::gate::facts::WallsFact;
use crate::domain::gate::reach::Host;
use crate::domain::id::SessionId;
use crate::domain::label::Privacy;
use crate::domain::policy::loosening::{Loosening, SERVER};
use crate::domain::port::LogLevel;
use crate::domain::scope::Scope;
use crate::domain::tool::own::{Own, REDECLARED};
use crate::domain::tool::server::{Listing, Served};
use crate::edge::engine::Engine;
use crate::edge::engine::own_tools::SHELF;
use crate::edge::mcp::client::Client;
use crate::edge::mcp::setting::ServerSetting;
use crate::edge::sandbox::{Program, SecretTest, talk};
use crate::edge::survey::Confinement;
use crate::edge::thread::aside;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a server may take to begin and to list its tools. A first start may have to unpack a program.
const BOOT: Duration = Duration::from_secs(30);
/// How long one may take to hear that what it wants of us is refused.
const SETTLE: Duration = Duration::from_secs(5);
/// How long one that nobody calls stays.
const IDLE: Duration = Duration::from_secs(300);
/// The first pause after a fault, and the longest; each one in a row doubles it.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));
/// What is said of a list that is not the one that was shown.
pub(super) const SERVER_CHANGED: &str =
    "its list of tools changed after it was shown, or it is not known now; look at it again: M-x passepartout-servers";

/// Every server.
#[derive(Default)]
pub(in crate::edge) struct Servers {
    /// In the order of the settings.
    slots: Vec<Arc<Slot>>,
    /// Held while tools are lent or taken away: of two who do that, the later one knows what the earlier one did.
    lending: Mutex<()>,
}

/// The place of one server.
struct Slot {
    setting: ServerSetting,
    /// Held while it is spoken to.
    live: tokio::sync::Mutex<Option<Client>>,
    known: Mutex<Known>,
    /// The most private that it was told: whatever it says later may quote it.
    told: Mutex<Privacy>,
    /// Counts its calls, to know that nobody called since.
    calls: AtomicU64,
}

/// What is known of a server.
#[derive(Default)]
struct Known {
    /// What it listed last.
    listing: Option<Arc<Listing>>,
    /// What it broke by, until it lists its tools again.
    fault: Option<String>,
    /// How often it broke in a row, without an answer to a call.
    failures: u32,
    /// Until when it is left alone, by the steady clock.
    until: Duration,
    /// How often it wanted something of us.
    refused: u64,
    /// The list that the user was told of that it waits.
    told: Option<String>,
}

/// What came of a call.
pub(in crate::edge) enum Called {
    /// The server answered this.
    Answered(String),
    /// It said that the call failed, in these words of its own.
    Failed(String),
    /// It was not called, in words of ours.
    Not(String),
    /// It is not the tool any more that the call was made for.
    Stale,
    /// It was called, and no answer came; in words of ours.
    Unknown(String),
}

impl Servers {
    pub(super) fn of(settings: &[ServerSetting]) -> Servers {
        let slot = |setting: &ServerSetting| {
            let (live, known, calls) = (tokio::sync::Mutex::default(), Mutex::default(), AtomicU64::new(0));
            Arc::new(Slot { setting: setting.clone(), live, known, told: Mutex::new(Privacy::Open), calls })
        };
        Servers { slots: settings.iter().map(slot).collect(), lending: Mutex::default() }
    }

    fn named(&self, name: &str) -> Option<&Arc<Slot>> {
        self.slots.iter().find(|slot| slot.setting.declared.name == name)
    }
}

impl Slot {
    fn name(&self) -> &str {
        &self.setting.declared.name
    }

    /// Returns what would be confirmed of its list, once there is one.
    fn loosening(&self) -> Option<Loosening> {
        let listing = self.known.lock().listing.clone()?;
        Some(self.loosening_of(&listing))
    }

    fn loosening_of(&self, listing: &Listing) -> Loosening {
        let count = crate::domain::count::counted(listing.tools.len(), "tool");
        let (file, name) = (self.setting.place.clone(), format!("{SERVER}{}", self.name()));
        Loosening { file, heading: String::new(), name, value: format!("{count}, {}", listing.hash) }
    }
}

impl Engine {
    /// Starts every server whose tools are not known and asks for them, all at once. What breaks is said, once. Returns after
    /// how long that is worth another try; `None` when all are known.
    pub async fn look_at_servers(self: &Arc<Self>) -> Option<Duration> {
        let unknown = || self.servers.slots.iter().filter(|slot| slot.known.lock().listing.is_none());
        let looks = unknown().map(|slot| async {
            let before = slot.known.lock().fault.clone();
            let mut live = slot.live.lock().await;
            let ready = self.ready(slot, &mut live).await;
            drop(live);
            let fault = slot.known.lock().fault.clone();
            if let (Err(_), Some(why)) = (ready, fault.filter(|why| before.as_ref() != Some(why))) {
                self.say(LogLevel::Warning, &why);
            }
            self.end_when_idle(slot);
        });
        futures_util::future::join_all(looks).await;
        let now = self.clock.steady();
        unknown().map(|slot| slot.known.lock().until.saturating_sub(now)).min()
    }

    /// Returns the lists that wait for the user.
    pub(super) fn waiting_servers(&self) -> Vec<Loosening> {
        let all = self.servers.slots.iter().filter_map(|slot| slot.loosening());
        all.filter(|loosening| !self.is_confirmed(loosening)).collect()
    }

    /// Returns all that a human is shown of a server whose list waits.
    ///
    /// # Errors
    /// When it lists something else by now.
    pub(super) fn shown_server(&self, loosening: &Loosening) -> Result<String, String> {
        let slot = loosening.server().and_then(|name| self.servers.named(name)).ok_or(SERVER_CHANGED)?;
        let listing = slot.known.lock().listing.clone().ok_or(SERVER_CHANGED)?;
        match slot.loosening_of(&listing) == *loosening {
            true => Ok(listing.shown(&slot.setting.declared)),
            false => Err(SERVER_CHANGED.to_string()),
        }
    }

    /// Lends what a server lists, if the user confirmed exactly that, and nothing of it otherwise.
    pub(super) fn lend_tools(&self, server: &str) {
        let Some(slot) = self.servers.named(server) else { return };
        let _one = self.servers.lending.lock();
        let listing = slot.known.lock().listing.clone();
        let confirmed = listing.as_ref().is_some_and(|listing| self.is_confirmed(&slot.loosening_of(listing)));
        let tools = listing.iter().filter(|_| confirmed).flat_map(|listing| listing.tools.iter().cloned());
        let own: Result<Vec<Own>, String> = tools.map(|tool| tool.into_own(&mut SHELF.lock())).collect();
        let own = own.unwrap_or_else(|why| {
            self.say(LogLevel::Warning, &format!("the MCP server {server} lends nothing: {why}"));
            Vec::new()
        });
        let mut tools = self.tools.write();
        *tools = tools.lent_by(server, own);
    }

    /// Returns how private what a server says may be, which is told something so private now.
    pub fn tell_server(&self, server: &str, privacy: Privacy) -> Privacy {
        let Some(slot) = self.servers.named(server) else { return privacy };
        let mut told = slot.told.lock();
        *told = told.max(privacy);
        *told
    }

    /// Calls a tool of a server, as it was confirmed, within its time.
    pub(in crate::edge) async fn call_server(
        self: &Arc<Self>,
        served: &Served,
        definition: [u8; 32],
        args: &Map<String, Value>,
        patience: Duration,
    ) -> Called {
        let Some(slot) = self.servers.named(&served.server).cloned() else { return Called::Stale };
        let arguments = match served.arguments(args) {
            Ok(arguments) => arguments,
            Err(why) => return Called::Not(format!("it was not called: {why}")),
        };
        let mut live = slot.live.lock().await;
        if let Err(why) = self.ready(&slot, &mut live).await {
            self.say(LogLevel::Warning, &why);
            return Called::Not(why);
        }
        // It may have listed other tools just now.
        let known = self.toolbox().own().iter().any(|own| own.definition() == definition);
        let (Some(mut client), true) = (live.take(), known) else { return Called::Stale };
        let called = tokio::time::timeout(patience, client.call(&served.tool, arguments)).await;
        let fault = match called {
            Ok(Ok(answer)) => {
                let mut seen = slot.known.lock();
                (seen.failures, seen.refused) = (0, client.refused());
                drop(seen);
                *live = Some(client);
                drop(live);
                self.end_when_idle(&slot);
                return answer.map_or_else(Called::Failed, Called::Answered);
            }
            Ok(Err(fault)) => client.with_errors(fault),
            Err(_) => format!("it did not answer within {} seconds", patience.as_secs()),
        };
        let why = self.broke(&slot, client, fault).await;
        self.say(LogLevel::Warning, &why);
        Called::Unknown(format!("it was called, and what it did is not known: {why}"))
    }

    /// Ends every server and waits until they are gone.
    pub async fn end_servers(&self) {
        for slot in &self.servers.slots {
            if let Some(client) = slot.live.lock().await.take() {
                client.end().await;
            }
        }
    }

    /// Returns the processes that launched what is alive and is not called at the moment, for tests.
    pub fn server_processes(&self) -> Vec<u32> {
        self.servers.slots.iter().filter_map(|slot| slot.live.try_lock().ok()?.as_ref()?.process()).collect()
    }

    /// Makes sure that a server is there and that what it lists is known as it is now.
    async fn ready(self: &Arc<Self>, slot: &Arc<Slot>, live: &mut Option<Client>) -> Result<(), String> {
        if let Some(mut client) = live.take() {
            let settled = tokio::time::timeout(SETTLE, client.settle()).await;
            match settled.unwrap_or_else(|_| Err("it takes nothing that is said to it".to_string())) {
                Ok(true) if !client.has_changed() => {
                    *live = Some(client);
                    return Ok(());
                }
                Ok(true) => return self.list(slot, live, client).await,
                // It went by itself while nobody called it; it is started anew.
                Ok(false) => client.end().await,
                Err(fault) => return Err(self.broke(slot, client, fault).await),
            }
        }
        let wait = slot.known.lock().until.saturating_sub(self.clock.steady());
        if !wait.is_zero() {
            let known = slot.known.lock();
            let why = known.fault.as_deref().unwrap_or("it broke");
            let seconds = wait.as_secs() + 1;
            return Err(format!("{why}; it is left alone for another {seconds} seconds"));
        }
        let started = tokio::time::timeout(BOOT, self.start_server(slot)).await;
        let late = || format!("it did not begin within {} seconds", BOOT.as_secs());
        match started.unwrap_or_else(|_| Err(late())) {
            Ok(client) => self.list(slot, live, client).await,
            Err(fault) => Err(self.note_fault(slot, fault)),
        }
    }

    /// Asks for the list of tools, and lends them where they are confirmed.
    async fn list(self: &Arc<Self>, slot: &Arc<Slot>, live: &mut Option<Client>, client: Client) -> Result<(), String> {
        let mut client = client;
        let sent = match tokio::time::timeout(BOOT, client.tools()).await {
            Ok(Ok(sent)) => sent,
            Ok(Err(fault)) => return Err(self.broke(slot, client, fault).await),
            Err(_) => {
                let fault = format!("it did not list its tools within {} seconds", BOOT.as_secs());
                return Err(self.broke(slot, client, fault).await);
            }
        };
        let listing = Arc::new(Listing::read(&slot.setting.declared, &sent));
        let mut known = slot.known.lock();
        (known.listing, known.refused, known.fault) = (Some(listing.clone()), client.refused(), None);
        let told = known.told.as_ref() == Some(&listing.hash);
        known.told = Some(listing.hash.clone());
        drop(known);
        *live = Some(client);
        self.lend_tools(slot.name());
        let waits = slot.loosening().is_some_and(|loosening| !self.is_confirmed(&loosening));
        if waits && !told {
            let name = slot.name();
            self.say(
                LogLevel::Warning,
                &format!("the tools of the MCP server {name} wait until you confirm them: M-x passepartout-rules"),
            );
            self.tell_status();
        }
        Ok(())
    }

    async fn start_server(&self, slot: &Arc<Slot>) -> Result<Client, String> {
        let setting = slot.setting.clone();
        let shell = self.shell.as_ref().map_err(|why| format!("it cannot be confined: {why}"))?;
        match shell.walls().await {
            WallsFact::All => {}
            WallsFact::Fewer(missing) | WallsFact::Nothing(missing) => {
                return Err(format!("it is started with all walls or not at all, and here is missing: {missing}"));
            }
        }
        let declared = &setting.declared;
        let hosts = declared.hosts.iter().map(|host| Host::parse(host)).collect::<Result<Vec<_>, _>>()?;
        let reach = match hosts.as_slice() {
            [] => None,
            hosts => Some(shell.network().pin(hosts).await.map_err(|why| why.to_string())?),
        };
        let me = self.me.upgrade().ok_or("the core ends")?;
        // Nothing private is its to read, whoever the model is that calls it.
        let scope = aside(move || me.scope(&SessionId("mcp".to_string()), None, false)).await;
        let scope = Scope { may_see: Privacy::Open, ..scope };
        let program = Program {
            words: declared.command.clone(),
            folder: declared.folder.as_ref().map(PathBuf::from),
            writes: declared.writes,
            reads: declared.reads.iter().map(PathBuf::from).collect(),
            variables: setting.variables.clone(),
            reach,
        };
        let secret: SecretTest = Arc::new(|path: &str| crate::domain::gate::place::secret_name(path).is_some());
        let talk = talk(shell.launcher(), program, (scope, secret)).await.map_err(|why| why.to_string())?;
        Client::greet(talk).await
    }

    /// Ends a server that broke, and has it left alone for a while. Returns what is said of it.
    async fn broke(&self, slot: &Slot, client: Client, fault: String) -> String {
        slot.known.lock().refused = client.refused();
        client.end().await;
        self.note_fault(slot, fault)
    }

    fn note_fault(&self, slot: &Slot, fault: String) -> String {
        // Its words may quote what it was told, and this goes into the log.
        let bare = || "what it said is kept back, as it was told something private".to_string();
        let fault = if slot.told.lock().is_kept() { bare() } else { slot.setting.blotted(&fault) };
        let why = format!("the MCP server {} broke: {fault}", slot.name());
        let mut known = slot.known.lock();
        known.failures = known.failures.saturating_add(1);
        let pause = PAUSES.0.saturating_mul(1 << known.failures.saturating_sub(1).min(16)).min(PAUSES.1);
        known.until = self.clock.steady() + pause;
        known.fault = Some(why.clone());
        why
    }

    /// Ends a server that nobody calls for a while.
    fn end_when_idle(&self, slot: &Arc<Slot>) {
        let count = slot.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let slot = Arc::downgrade(slot);
        tokio::spawn(async move {
            tokio::time::sleep(IDLE).await;
            if let Some(slot) = slot.upgrade().filter(|slot| slot.calls.load(Ordering::Relaxed) == count)
                && let Some(client) = slot.live.lock().await.take()
            {
                client.end().await;
            }
        });
    }
}

/// Returns what is said of a call that was made for another tool of that name.
pub(in crate::edge) fn stale() -> String {
    REDECLARED.replace(
        "the user has declared this tool anew",
        "the server lists other tools by now, or the user took them back",
    )
}
