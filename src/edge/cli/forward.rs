//! Commands beside the owner of a store: what writes is carried out by the owner, over its socket.
//!
//! A question and a decision are the messages of a chat. Every other command that writes travels as its words
//! ([`Owner::command`]) and is carried out by [`at_owner`] with the owner's engine; what only reads needs none of this.

use crate::domain::gate::plan::FlightPlan;
use crate::domain::inert::exact;
use crate::domain::label::Privacy;
use crate::domain::sexp::plist::{Plist, message};
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::{Origin, Role, Said};
use crate::domain::turn::Ending;
use crate::domain::turn::consensus::Other;
use crate::edge::cli::args::{Command, Rules, read};
use crate::edge::cli::costs::costs;
use crate::edge::cli::doing;
use crate::edge::cli::ingest::ingested;
use crate::edge::cli::jobs;
use crate::edge::cli::models::gather;
use crate::edge::cli::run::{FAILED, Failure};
use crate::edge::cli::servers;
use crate::edge::cli::session::say;
use crate::edge::cli::skills::{Skills, decided, look, reloaded};
use crate::edge::config::Config;
use crate::edge::doctor::gone;
use crate::edge::engine::Engine;
use crate::edge::engine::time::Preview;
use crate::edge::peers::greeting::{As, Said as Greeting, Unmet};
use crate::edge::peers::join::{Joined, join};
use crate::edge::peers::pulse::{self, Do, SILENCE, Silence};
use crate::edge::peers::stream::{Broken, write};
use crate::edge::random;
use crate::edge::stderr::complain;
use crate::edge::store::owner_of;
use crate::edge::walk::canonical;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Of what a command prints at the owner, at most so many bytes come back.
const PRINTED: usize = 1 << 20;
/// How long a process that owns the store and cannot be joined is waited for: it may be about to listen, or to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long nothing is tried in between.
const PAUSE: Duration = Duration::from_millis(50);
/// What is said when the owner had no time for something any more.
pub(super) const NOTHING_BEGUN: &str =
    "the process that owned the store has ended, and nothing was done; do this again";
/// What is said when the owner ends in the middle.
const GONE: &str = "the process that owns the store ended meanwhile; look what came of this before you ask again: \
                    passepartout plans list --all";
/// What is said when what comes is no message.
const ODD: &str = "the process that owns the store sent what is no message, and nothing is waited for any longer; look what \
                   came of this before you ask again: passepartout plans list --all. The trouble is";
/// What is said when the owner is silent for too long.
const LOOK: &str = "then look what came of this before you ask again: passepartout plans list --all. Nothing is waited \
                    for any longer, and nothing was taken back.";

/// What a command came to at the owner.
pub struct Ran {
    /// What it prints.
    pub text: String,
    /// What it prints beside that, for people.
    pub errors: String,
    /// Its exit status.
    pub status: u8,
}

/// Carries out a command that writes, as the process that owns the store.
///
/// # Errors
/// In words, when it is no such command or fails.
pub async fn at_owner(engine: &Arc<Engine>, origin: &Origin, words: Vec<String>) -> Result<Ran, String> {
    if !origin.rights.propose {
        return Err("this channel may not change anything".to_string());
    }
    let words = ["passepartout".to_string()].into_iter().chain(words).map(OsString::from);
    let arguments = read(words).map_err(|error| error.to_string())?;
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    let status = match arguments.command {
        Command::Ingest { path, store: _, json } => {
            let memex = &engine.config.directories;
            if let Some(stranger) = path.iter().find(|path| !within(path, memex)) {
                let named: Vec<String> = memex.iter().map(|path| path.display().to_string()).collect();
                let (stranger, memex) = (exact(&stranger.display().to_string()), exact(&named.join(", ")));
                return Err(format!(
                    "{stranger} is not in the memex of the process that owns the store ({memex}); add it there"
                ));
            }
            let reader = engine.clone();
            let report = tokio::task::spawn_blocking(move || reader.read_memex(&mut |_| {})).await;
            let report = report.map_err(|_| "reading broke".to_string())?;
            engine.flush().await?;
            ingested(&report, json, &mut out, &mut errors).map_err(|error| error.to_string())?
        }
        Command::Rules { command: Some(Rules::Withdraw { rule, json, .. }), .. } => {
            let said = engine.withdraw_rule(origin, &rule).await?;
            say(&said, json, &mut out).map_err(|failure| failure.text)?
        }
        Command::Skills { command: Some(Skills::Disable { skill, json, .. }), .. } => {
            let said = decided(engine, origin, false, &skill).await?;
            say(&said, json, &mut out).map_err(|failure| failure.text)?
        }
        Command::Skills { command: Some(Skills::Enable { skill, json, .. }), .. } => {
            let said = decided(engine, origin, true, &skill).await?;
            say(&said, json, &mut out).map_err(|failure| failure.text)?
        }
        Command::Skills { command: Some(Skills::Reload { json, .. }), .. } => {
            say(&reloaded(engine).await, json, &mut out).map_err(|failure| failure.text)?
        }
        Command::Skills { command, place, json } => {
            let command = command.unwrap_or(Skills::List { place, json });
            let (printed, status) = look(engine, &command).await.map_err(|failure| failure.text)?;
            out = printed;
            status
        }
        // Its keys may be those of an Emacs, which no terminal has.
        Command::Models { provider, json, .. } => {
            let gathered = gather(engine, origin, provider.as_deref()).await?;
            gathered.print(json, &mut out).map_err(|error| error.to_string())?
        }
        Command::Costs { by, since, json, .. } => {
            out = costs(engine, &by, since.as_deref(), origin.rights.see_private, json).await?;
            0
        }
        Command::Jobs { json, .. } => {
            let printed = jobs::listed(engine, origin.rights.see_private, json).await;
            out = printed.map_err(|failure| failure.text)?;
            0
        }
        Command::Servers { json, .. } => {
            out = servers::listed(engine, json).map_err(|failure| failure.text)?;
            0
        }
        Command::Rules { command: Some(Rules::List { .. }) | None, .. }
        | Command::Dump { .. }
        | Command::Context { .. }
        | Command::Gate { .. }
        | Command::Ask { .. }
        | Command::Repl { .. }
        | Command::Tui { .. }
        | Command::Mcp { .. }
        | Command::Gateway { .. }
        | Command::Acp { .. }
        | Command::Plans { .. }
        | Command::Memory { .. }
        | Command::Query { .. }
        | Command::Audit { .. }
        | Command::Cassette { .. }
        | Command::Why { .. }
        | Command::Daemon { .. }
        | Command::Send { .. }
        | Command::Chat { .. }
        | Command::Backup { .. }
        | Command::Restore { .. }
        | Command::Configure { .. }
        | Command::Completions { .. }
        | Command::Status { .. }
        | Command::Health { .. }
        | Command::Install { .. }
        | Command::Uninstall { .. }
        | Command::Clients { .. }
        | Command::Reach { .. }
        | Command::Doctor { .. } => return Err("the owner of a store does not carry out this command".to_string()),
    };
    let printed = |bytes: Vec<u8>| {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let end = (0..=text.len().min(PRINTED)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.get(..end).unwrap_or_default().to_string()
    };
    Ok(Ran { text: printed(out), errors: printed(errors), status })
}

fn within(path: &Path, memex: &[PathBuf]) -> bool {
    let path = canonical(path);
    memex.iter().any(|folder| path.starts_with(folder))
}

/// The owner of a store, as a command talks with it.
pub struct Owner {
    joined: Joined,
    requests: i64,
    /// It ended.
    gone: bool,
}

/// Returns a new name for a question, by which nobody is asked it twice; `None` where the system gives no random bytes.
pub(super) fn new_name() -> Option<String> {
    random::bytes::<32>().ok().map(|bytes| random::hex(&bytes))
}

/// What is said before a question is asked again.
pub(super) const AGAIN: &str = "the process that owned the store ended meanwhile; finding out what became of the question. \
                                Nobody is asked it twice";
/// A question is asked so often at most.
pub(super) const TRIES: usize = 4;

/// What came of looking for the owner of a store.
pub enum Met {
    /// It was joined.
    Owner(Owner),
    /// Somebody owns the store and cannot be joined, or has other notes.
    Closed,
    /// Nobody owns the store.
    Nobody,
}

/// A turn at the owner, as it was told.
pub struct Turned {
    /// Its name.
    pub turn: String,
    /// What was streamed.
    pub text: String,
    /// Answers beside that one.
    pub others: Vec<Other>,
    /// What was said beside that.
    pub notice: Option<String>,
    /// How it ended, as a word of the protocol.
    pub status: String,
    /// Whether it came to its end as it should.
    pub answered: bool,
    /// The plans of it that wait.
    pub plans: Vec<String>,
    /// How private it is, as the owner says.
    pub privacy: Privacy,
    /// Of how many tasks that were handed over it is still to be told.
    pub tasks: usize,
    /// Whether it was not begun, because the owner is about to end; then it can be asked for again.
    pub again: bool,
    /// Whether it was asked before by its name: then nobody was asked, and the notice says what became of it.
    pub before: bool,
}

/// Which turn is waited for: in this conversation others begin as well, as when a plan of it is approved elsewhere.
#[derive(Clone, Copy)]
enum Awaited<'a> {
    /// The one that answers what was sent.
    Answer,
    /// The one that decides about a plan, or says why it does not.
    Decision(&'a str),
    /// One that tells what came of work that was handed over.
    Report,
}

impl Awaited<'_> {
    /// Returns whether it is the one that begins.
    fn is(self, started: &Sexp) -> bool {
        let (decides, follows) = (started.list_at("decides"), started.text_at("follows").is_some());
        match self {
            Awaited::Answer => decides.is_empty() && !follows,
            Awaited::Decision(plan) => {
                let named = |id: &Sexp| id.as_text().is_some_and(|id| id.eq_ignore_ascii_case(plan));
                decides.iter().any(named) || (decides.is_empty() && !follows)
            }
            Awaited::Report => decides.is_empty() && follows,
        }
    }
}

/// An owner of which nothing is asked: what it says meanwhile is read all the same, so that it does not pile up there.
pub struct Idle {
    wake: oneshot::Sender<()>,
    reads: JoinHandle<Option<Owner>>,
}

impl Idle {
    /// Returns the owner, to be asked; `None` when it has ended.
    pub async fn wake(self) -> Option<Owner> {
        drop(self.wake);
        self.reads.await.ok().flatten()
    }
}

/// Reads how private a turn is; what is said otherwise than we would is the strictest.
fn privacy_of(payload: &Sexp) -> Privacy {
    match payload.get("private") {
        None | Some(Sexp::Nil) => Privacy::Open,
        Some(said) => said.as_name().and_then(Privacy::tier).unwrap_or(Privacy::Private),
    }
}

/// Reads an answer beside the one.
fn other(said: &Sexp) -> Other {
    let text = |key: &str| said.text_at(key).unwrap_or_default().to_string();
    Other { provider: text("provider"), model: text("model"), text: text("text") }
}

impl Owner {
    /// Joins the owner of a store, if there is one. One that begins or ends just now is waited for, but not for long.
    ///
    /// # Errors
    /// In words, when it says no.
    pub async fn join(config: &Config) -> Result<Met, String> {
        Owner::join_as(config, &Greeting::plain(As::Cli)).await
    }

    /// Does the same as something else than a command.
    ///
    /// # Errors
    /// In words, when it says no.
    pub async fn join_as(config: &Config, this: &Greeting) -> Result<Met, String> {
        let (begun, store) = (tokio::time::Instant::now(), &config.store);
        if owner_of(store).is_none() && gone(config).is_some() {
            let wait = PATIENCE.as_secs();
            complain(&format!(
                "the store was deleted; waiting up to {wait} seconds for a process that may put it back"
            ));
        }
        // One that was deleted is put back by its owner, which nobody would find any more once there is a new one.
        while owner_of(store).is_some() || (gone(config).is_some() && begun.elapsed() < PATIENCE) {
            match join(store, this).await {
                Ok(joined) => return Ok(Met::Owner(Owner { joined, requests: 0, gone: false })),
                Err(Unmet::Silent(_)) if begun.elapsed() < PATIENCE => tokio::time::sleep(PAUSE).await,
                Err(Unmet::Silent(_)) => return Ok(Met::Closed),
                Err(Unmet::Late(why)) => {
                    complain(&format!("warning: the process that owns the store cannot be joined: {why}"));
                    return Ok(Met::Closed);
                }
                Err(Unmet::Refused(why)) => return Err(why),
            }
        }
        Ok(Met::Nobody)
    }

    /// Reads what it says, on this runtime, until it is wanted again.
    pub fn idle(mut self, runtime: &Handle) -> Idle {
        let (wake, mut woken) = oneshot::channel();
        let reads = runtime.spawn(async move {
            loop {
                tokio::select! {
                    biased;
                    _ = &mut woken => return Some(self),
                    heard = self.joined.incoming.next() => match heard {
                        Ok(Some(_)) => {}
                        Ok(None) | Err(_) => return None,
                    },
                }
            }
        });
        Idle { wake, reads }
    }

    /// Says whether all of these lie in the memex of the owner.
    ///
    /// # Errors
    /// When it ended.
    pub async fn has(&mut self, memex: &[PathBuf]) -> Result<bool, Failure> {
        let hello = self.request("hello", Plist::new().text("version", env!("CARGO_PKG_VERSION"))).await?;
        let theirs: Vec<PathBuf> =
            hello.list_at("directories").iter().filter_map(Sexp::as_text).map(PathBuf::from).collect();
        Ok(memex.iter().all(|path| within(path, &theirs)))
    }

    /// Whether the owner has ended: what was asked of it and not answered may be asked of the next one, by its name.
    pub fn is_gone(&self) -> bool {
        self.gone
    }

    /// Asks a question by a name, and waits for what came of it.
    ///
    /// # Errors
    /// When the owner ended.
    pub async fn ask(
        &mut self,
        text: &str,
        project: Option<&Path>,
        once: Option<&str>,
        pictures: &[String],
    ) -> Result<Turned, Failure> {
        let payload = Plist::new().text("text", text).flag("waits", true).maybe("once", once);
        let pictures = pictures.iter().map(|file| Plist::new().text("file", file.as_str()).build());
        let payload = payload.list("pictures", pictures);
        let payload = payload.maybe("project", project.map(|path| path.to_string_lossy().into_owned()));
        self.event("user-input", payload).await?;
        self.turn(Awaited::Answer).await
    }

    /// Goes on with a conversation by a question with a name, and waits for what came of it.
    ///
    /// # Errors
    /// When the owner ended.
    pub async fn go_on(
        &mut self,
        (text, once): (&str, Option<&str>),
        project: Option<&Path>,
        said: impl Iterator<Item = &Said>,
    ) -> Result<Turned, Failure> {
        let told = |said: &Said| {
            let role = match said.role {
                Role::User => "user",
                Role::Assistant | Role::Tool => "assistant",
            };
            let told = Plist::new().keyword("role", role).text("text", said.text.as_str());
            match said.privacy {
                Privacy::Open => told.build(),
                Privacy::Private => told.flag("private", true).build(),
                Privacy::Warn | Privacy::Ask => told.text("private", said.privacy.word()).build(),
            }
        };
        let payload = Plist::new().text("text", text).flag("waits", true).list("history", said.map(told));
        let payload = payload.maybe("once", once);
        let payload = payload.maybe("project", project.map(|path| path.to_string_lossy().into_owned()));
        self.event("user-input", payload).await?;
        self.turn(Awaited::Answer).await
    }

    /// Waits for what came of a task that was handed over.
    ///
    /// # Errors
    /// When the owner ended.
    pub async fn report(&mut self) -> Result<Turned, Failure> {
        self.turn(Awaited::Report).await
    }

    /// Has a line of a REPL carried out, and waits for what came of it.
    ///
    /// # Errors
    /// When the owner ended.
    pub async fn evaluate(&mut self, line: &str, project: Option<&Path>) -> Result<Turned, Failure> {
        let payload = Plist::new().text("code", line);
        let payload = payload.maybe("project", project.map(|path| path.to_string_lossy().into_owned()));
        self.event("repl-eval", payload).await?;
        self.turn(Awaited::Answer).await
    }

    /// Gives what is asked from here on a preset.
    ///
    /// # Errors
    /// As the owner says, and when it ended.
    pub async fn choose_preset(&mut self, name: &str) -> Result<(), Failure> {
        self.request("preset", Plist::new().text("name", name)).await.map(drop)
    }

    /// Says that a human has seen all of a plan and approves it; waits for what came of it.
    ///
    /// # Errors
    /// When the owner ended, or has another text under that name.
    pub async fn approve(&mut self, plan: &FlightPlan) -> Result<Turned, Failure> {
        let named = || Plist::new().text("plan", plan.id.0.as_str()).text("shown", plan.shown());
        let mut from = 0;
        loop {
            let page = Plist::new().text("plan", plan.id.0.as_str()).int("from", from);
            let page = self.request("plan-page", page).await?;
            match page.int_at("next") {
                Some(next) if next > from => from = next,
                _ if page.text_at("shown") == Some(plan.shown().as_str()) => break,
                _ => return Err(format!("plan {} is not what was shown any more; look at it again", plan.id).into()),
            }
        }
        self.event("plan-displayed", named()).await?;
        self.event("approval", named()).await?;
        self.turn(Awaited::Decision(&plan.id.0)).await
    }

    /// Denies a plan, and stops there if that is wanted; waits for what came of it.
    ///
    /// # Errors
    /// When the owner ended.
    pub async fn deny(&mut self, plan: &str, reason: &str, stop: bool) -> Result<Turned, Failure> {
        let denial = Plist::new().text("plan", plan).text("reason", reason).flag("stop", stop);
        self.event("denial", denial).await?;
        self.turn(Awaited::Decision(plan)).await
    }

    /// Has a command carried out that writes; see [`at_owner`]. Paths among its words must be absolute.
    ///
    /// # Errors
    /// As the owner says, and when it ended.
    pub async fn command(&mut self, words: Vec<String>) -> Result<Ran, Failure> {
        let ran = self.request("command", Plist::new().texts("words", words)).await?;
        let text = |key: &str| ran.text_at(key).unwrap_or_default().to_string();
        let status = ran.int_at("status").and_then(|status| u8::try_from(status).ok()).unwrap_or(FAILED);
        Ok(Ran { text: text("text"), errors: text("errors"), status })
    }

    /// Works out what undo, redo or rewind would do, and takes all that is to be shown of it.
    ///
    /// # Errors
    /// As the owner says, and when it ended.
    pub async fn preview(&mut self, action: &str, payload: Plist) -> Result<Preview, Failure> {
        let mut page = self.request(action, payload).await?;
        let text = |page: &Sexp, key: &str| page.text_at(key).unwrap_or_default().to_string();
        let (title, name, mut shown) = (text(&page, "title"), text(&page, "preview"), text(&page, "text"));
        while let Some(next) = page.int_at("next") {
            page = self.request("memory-page", Plist::new().text("preview", name.as_str()).int("from", next)).await?;
            shown.push_str(page.text_at("text").unwrap_or_default());
        }
        Ok(Preview { title, text: shown, shown: text(&page, "shown") })
    }

    /// Carries out what was shown; returns whether it was done, and what is said of it.
    ///
    /// # Errors
    /// As the owner says, and when it ended.
    pub async fn take_back(&mut self, shown: &str) -> Result<(bool, String), Failure> {
        let done = self.request("memory-do", Plist::new().text("shown", shown)).await?;
        let words = done.text_at("text").unwrap_or_default().to_string();
        Ok((done.text_at("status") == Some("answered"), words))
    }

    async fn event(&mut self, sensor: &str, payload: Plist) -> Result<(), Failure> {
        self.say(&message("event", payload.keyword("sensor", sensor)).build().to_string()).await
    }

    /// Returns the payload of the answer to a request.
    pub(super) async fn request(&mut self, action: &str, payload: Plist) -> Result<Sexp, Failure> {
        self.requests += 1;
        let number = self.requests;
        let payload = payload.keyword("action", action).int("request", number);
        self.say(&message("request", payload).build().to_string()).await?;
        loop {
            let (kind, payload) = self.next().await?;
            if kind == "response" && payload.int_at("request") == Some(number) {
                return match payload.text_at("error") {
                    Some(why) => Err(why.into()),
                    None => Ok(payload),
                };
            }
        }
    }

    /// Waits for the end of the turn that was set off. From its beginning on it is known by its name.
    async fn turn(&mut self, awaited: Awaited<'_>) -> Result<Turned, Failure> {
        let (turn, text, others) = (String::new(), String::new(), Vec::new());
        let (plans, status) = (Vec::new(), String::new());
        let mut told = Turned {
            turn,
            text,
            others,
            notice: None,
            status,
            answered: false,
            plans,
            privacy: Privacy::Private,
            tasks: 0,
            again: false,
            before: false,
        };
        loop {
            let (kind, payload) = self.next().await?;
            let turn = payload.text_at("turn").unwrap_or_default();
            match (kind.as_str(), payload.name_at("action")) {
                ("event", Some("turn-started")) if told.turn.is_empty() && awaited.is(&payload) => {
                    told.turn = turn.to_string();
                }
                ("event", Some("act")) if turn == told.turn => doing::told(&payload),
                ("stream-chunk", _) if turn == told.turn => {
                    told.text.push_str(payload.text_at("text").unwrap_or_default());
                }
                ("response", Some("turn-done")) if turn == told.turn => {
                    doing::over();
                    told.notice = payload.text_at("text").map(str::to_string);
                    told.others = payload.list_at("others").iter().map(other).collect();
                    told.status = payload.text_at("status").unwrap_or_default().to_string();
                    told.answered = told.status == Ending::Answered.name();
                    told.plans =
                        payload.list_at("plans").iter().filter_map(Sexp::as_text).map(str::to_string).collect();
                    told.tasks = payload.count_at("tasks").unwrap_or(0);
                    told.again = payload.flag_at("again");
                    told.before = payload.get("before").is_some();
                    told.privacy = privacy_of(&payload);
                    return Ok(told);
                }
                // What it had under way is done, and this was not.
                ("event", Some(pulse::LEAVING)) if told.turn.is_empty() => {
                    return Ok(Turned { notice: Some(NOTHING_BEGUN.to_string()), again: true, ..told });
                }
                _ => {}
            }
        }
    }

    async fn next(&mut self) -> Result<(String, Sexp), Failure> {
        let text = self.hear().await?;
        let message = Sexp::read(&text)?;
        let payload = message.get("payload").cloned().unwrap_or(Sexp::Nil);
        if payload.name_at("action") == Some("protocol-error") {
            return Err(payload.text_at("text").unwrap_or(GONE).into());
        }
        Ok((message.name_at("type").unwrap_or_default().to_string(), payload))
    }

    /// Returns what the owner says next; an owner that says nothing at all is not waited for.
    async fn hear(&mut self) -> Result<String, Failure> {
        let mut silence = Silence::default();
        loop {
            match tokio::time::timeout(silence.patience(), self.joined.incoming.next()).await {
                Ok(Ok(Some(text))) if pulse::is_alive(&text) => drop(silence.heard()),
                Ok(Ok(Some(text))) => return Ok(text),
                // It is there still, and the next one would be no other.
                Ok(Err(Broken::Frame(why))) => return Err(format!("{ODD}: {why}").into()),
                Ok(Ok(None) | Err(Broken::Half | Broken::System(_))) => {
                    self.gone = true;
                    return Err(GONE.into());
                }
                Err(_) => match silence.go_on() {
                    Do::Ask => self.say(&pulse::ping()).await?,
                    Do::Tell => return Err(pulse::diagnosis(self.joined.process, LOOK).into()),
                },
            }
        }
    }

    /// Says something, unless the owner does not take it.
    async fn say(&mut self, text: &str) -> Result<(), Failure> {
        match tokio::time::timeout(SILENCE, write(&mut self.joined.writer, text)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(Broken::Frame(why))) => {
                Err(format!("this is too long to be sent, and nothing was done: {why}").into())
            }
            Ok(Err(Broken::Half | Broken::System(_))) => {
                self.gone = true;
                Err(GONE.into())
            }
            Err(_) => Err(pulse::diagnosis(self.joined.process, LOOK).into()),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::edge::peers::stream::Incoming;
    use tokio::io::AsyncWriteExt;
    use tokio::net::UnixStream;

    /// An owner, and its end of the connection.
    pub fn owner() -> (Owner, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let (reader, writer) = ours.into_split();
        let joined = Joined { incoming: Incoming::new(reader), writer, process: None, doubt: None };
        (Owner { joined, requests: 0, gone: false }, theirs)
    }

    #[tokio::test]
    async fn an_owner_that_sends_no_message_is_not_taken_for_gone() {
        for (sent, gone, says) in
            [("no frame at all", false, "no message"), ("", true, "ended"), ("0000", true, "ended")]
        {
            let (mut owner, mut theirs) = owner();
            theirs.write_all(sent.as_bytes()).await.expect("it is taken");
            theirs.shutdown().await.expect("it is shut");
            let failed = owner.report().await.err().expect("nothing came of it");
            assert_eq!((owner.is_gone(), failed.text.contains(says)), (gone, true), "{sent:?}: {}", failed.text);
            assert!(failed.text.contains("before you ask again"), "{}", failed.text);
        }
    }

    #[tokio::test]
    async fn a_turn_of_somebody_else_in_the_same_conversation_is_not_taken_for_the_answer() {
        let told = |turn: &str, more: &str, says: &str| {
            let started = format!("(:type :event :payload (:action :turn-started :turn \"{turn}\"{more}))");
            let chunk = format!("(:type :stream-chunk :payload (:turn \"{turn}\" :text \"{says}\"))");
            let done = "(:type :response :payload (:action :turn-done :turn";
            [started, chunk, format!("{done} \"{turn}\" :status \"answered\"))")]
        };
        let decided = || told("T2", " :follows \"T1\" :decides (\"P1\")", "decided");
        let reported = || told("T3", " :follows \"T1\"", "reported");
        let answered = || told("T4", "", "answered");
        let refused = || told("T5", " :decides (\"P1\")", "not yours");
        type Asked = for<'a> fn(&'a mut Owner) -> futures_util::future::LocalBoxFuture<'a, Result<Turned, Failure>>;
        let evaluate: Asked = |owner| Box::pin(owner.evaluate("(+ 1 1)", None));
        let ask: Asked = |owner| Box::pin(owner.ask("and now?", None, None, &[]));
        let report: Asked = |owner| Box::pin(owner.report());
        let deny: Asked = |owner| Box::pin(owner.deny("p1", "no", false));
        for (asked, heard, turn, text) in [
            (evaluate, [decided(), answered()], "T4", "answered"),
            (evaluate, [reported(), answered()], "T4", "answered"),
            (evaluate, [refused(), answered()], "T4", "answered"),
            (ask, [decided(), answered()], "T4", "answered"),
            (report, [decided(), reported()], "T3", "reported"),
            (deny, [reported(), decided()], "T2", "decided"),
            (deny, [reported(), refused()], "T5", "not yours"),
        ] {
            let (mut owner, mut theirs) = owner();
            for message in heard.iter().flatten() {
                write(&mut theirs, message).await.expect("it is taken");
            }
            let turned = asked(&mut owner).await.unwrap_or_else(|failed| panic!("{}", failed.text));
            assert_eq!((turned.turn.as_str(), turned.text.as_str()), (turn, text));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_command_does_not_wait_for_an_owner_that_never_answers() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let (reader, writer) = ours.into_split();
        let joined = Joined { incoming: Incoming::new(reader), writer, process: Some(std::process::id()), doubt: None };
        let mut owner = Owner { joined, requests: 0, gone: false };
        let begun = tokio::time::Instant::now();
        let failed = owner.ask("what is open?", None, None, &[]).await.err().expect("it is not waited for");
        assert_eq!((begun.elapsed().as_secs(), failed.status), (SILENCE.as_secs(), FAILED));
        let own = format!("Process {}, which owns the store, has not answered for 10 seconds", std::process::id());
        assert!(failed.text.starts_with(&own) && failed.text.contains("before you ask again"), "{}", failed.text);
        let (theirs, _) = theirs.into_split();
        let (mut heard, mut said) = (Incoming::new(theirs), Vec::new());
        drop(owner);
        while let Ok(Some(text)) = heard.next().await {
            said.push(text);
        }
        assert!(said.len() == 2 && said[0].contains(":user-input") && said[1] == pulse::ping(), "{said:?}");
    }

    #[tokio::test]
    async fn what_an_owner_says_while_nothing_is_asked_does_not_pile_up() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let (reader, writer) = ours.into_split();
        let joined = Joined { incoming: Incoming::new(reader), writer, process: None, doubt: None };
        let idle = Owner { joined, requests: 0, gone: false }.idle(&Handle::current());
        let (_, mut says) = theirs.into_split();
        // Many times what a socket holds.
        let news = format!("(:type :log :payload (:text \"{}\"))", "x".repeat(64 << 10));
        for _ in 0..100 {
            write(&mut says, &news).await.expect("it is taken");
        }
        let owner = idle.wake().await.expect("it is there still");
        let idle = owner.idle(&Handle::current());
        drop(says);
        assert!(idle.reads.await.is_ok_and(|owner| owner.is_none()), "it hears when it ends");
    }
}
