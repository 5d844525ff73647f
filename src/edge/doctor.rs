//! The doctor: what works, what does not, and how to repair it. Local checks use no network.

use crate::domain::count::counted;
use crate::domain::label::{Privacy, PrivacyTag};
use crate::domain::signal::Origin;
use crate::edge::clock::local;
use crate::edge::config::Config;
use crate::edge::engine::Engine;
use crate::edge::engine::confined::{Confined, Evaluates};
use crate::edge::engine::models::{Known, Listing, Wish};
use crate::edge::engine::quotations::QuotationsRead;
use crate::edge::engine::servers::ListedServer;
use crate::edge::engine::turns::SET_A_FOLDER;
use crate::edge::store::verify::last_result;
use crate::edge::store::{DiskStore, owner_of, witness};
use crate::edge::thread::aside;
use futures_util::future::join_all;
use std::path::Path;
use std::sync::Arc;

/// How one thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// It works.
    Healthy,
    /// It could not be found out.
    Unknown,
    /// Something is missing, and the rest works.
    Degraded,
    /// It does not work.
    Unhealthy,
}

impl State {
    /// Returns the word.
    pub fn name(self) -> &'static str {
        match self {
            State::Healthy => "healthy",
            State::Unknown => "unknown",
            State::Degraded => "degraded",
            State::Unhealthy => "unhealthy",
        }
    }
}

/// The name of checks that are acts which must never happen; see [`crate::edge::canaries`].
pub const CANARIES: &str = "gates";

/// One check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name, for `doctor-fix`.
    pub name: &'static str,
    /// What it is about, for people.
    pub title: &'static str,
    /// How it is.
    pub state: State,
    /// What was found.
    pub detail: String,
    /// What to do.
    pub repair: Option<String>,
    /// Whether [`fix`] can do it.
    pub fix: bool,
}

impl Check {
    fn good(name: &'static str, title: &'static str, detail: impl Into<String>) -> Check {
        Check { name, title, state: State::Healthy, detail: detail.into(), repair: None, fix: false }
    }

    fn bad(name: &'static str, title: &'static str, state: State, detail: impl Into<String>, repair: &str) -> Check {
        Check { name, title, state, detail: detail.into(), repair: Some(repair.to_string()), fix: false }
    }

    /// Returns how it is, in a word: of an act that must never happen, whether it was held.
    pub fn word(&self) -> &'static str {
        match (self.name == CANARIES, self.state) {
            (true, State::Healthy) => "held",
            (true, State::Unknown) => "untried",
            (true, State::Degraded | State::Unhealthy) => "failed",
            (false, state) => state.name(),
        }
    }

    fn fixable(mut self) -> Check {
        self.fix = true;
        self
    }
}

/// Returns the worst state of all.
pub fn verdict(checks: &[Check]) -> State {
    checks.iter().map(|check| check.state).max().unwrap_or(State::Unknown)
}

/// Runs the local checks; with `asks`, also asks each provider for its list of models, as far as that channel may.
pub async fn examine(engine: &Arc<Engine>, asks: Option<&Origin>) -> Vec<Check> {
    let mut checks = vec![store(engine).await];
    let looks = engine.clone();
    checks
        .extend(aside(move || [memex(&looks), project(&looks), settings(&looks), skills(&looks), rules(&looks)]).await);
    checks.extend(own_tools(engine));
    checks.extend(servers(engine));
    checks.push(confinement(engine.probe_confinement().await));
    checks.push(lisp(engine.probe_lisp().await));
    checks.push(copies(engine).await);
    checks.push(privacy(engine));
    checks.push(models(engine, asks.is_some()));
    checks.push(embeddings(engine));
    checks.extend(network(engine));
    checks.extend(panics(engine));
    if let Some(origin) = asks {
        checks.extend(ask_providers(engine, origin).await);
    }
    checks
}

/// Returns whether something is unhealthy that can be mended while a core runs. What is read once at the start, and a
/// store that this core has given up, stay as they are until the next one.
pub fn may_be_mended(engine: &Engine, checks: &[Check]) -> bool {
    let live = |check: &&Check| match check.name {
        "rules" => true,
        "store" => engine.store_trouble().is_none() && engine.lost().is_none(),
        _ => false,
    };
    checks.iter().filter(|check| check.state == State::Unhealthy).any(|check| live(&check))
}

/// Looks again at what people mend while a core runs, and takes the rest as it was found last: nothing is started for
/// this, and no network is used.
pub async fn look_again(engine: &Arc<Engine>, last: &[Check]) -> Vec<Check> {
    let looks = engine.clone();
    let now = aside(move || [memex(&looks), project(&looks), rules(&looks)]).await;
    let now: Vec<Check> = now.into_iter().chain([store(engine).await]).collect();
    let again = |check: &Check| now.iter().find(|found| found.name == check.name).unwrap_or(check).clone();
    last.iter().map(again).collect()
}

/// Says where programs can connect, where that is wanted.
fn network(engine: &Engine) -> Option<Check> {
    Some(match engine.listening()? {
        Ok(at) if at.ip().is_loopback() => {
            Check::good("network", "Network", format!("programs on this machine can connect to {at}"))
        }
        Ok(at) => {
            let detail = format!("programs whose keys were let in can connect to {at}, by TLS; passepartout clients");
            Check::good("network", "Network", detail)
        }
        Err(why) => {
            let repair = "Mend that, or set passepartout-listen or PASSEPARTOUT_LISTEN otherwise, and start again.";
            Check::bad("network", "Network", State::Degraded, why, repair)
        }
    })
}

/// Says what broke inside since the start, if anything did.
fn panics(engine: &Engine) -> Option<Check> {
    let lines = engine.log_lines(usize::MAX);
    let panics: Vec<&str> =
        lines.iter().map(|line| &*line.text).filter(|text| text.starts_with(crate::edge::panics::PREFIX)).collect();
    let detail =
        format!("something broke inside, {} times since the start; the last: {}", panics.len(), panics.last()?);
    let repair = "Report that line. If something does not answer, start Passepartout again.";
    Some(Check::bad("panics", "Inside", State::Degraded, detail, repair))
}

async fn store(engine: &Engine) -> Check {
    let path = engine.config.store.display().to_string();
    if let Some(trouble) = engine.store_trouble() {
        let repair =
            "Until then nothing is remembered beyond this session. Repair what the line above says, then start again.";
        let check = Check::bad("store", "Store", State::Unhealthy, trouble.text, repair);
        return if trouble.rebuild { check.fixable() } else { check };
    }
    if let Some(why) = engine.beside() {
        return Check::good("store", "Store", format!("{path}; {why}"));
    }
    if let Some(why) = engine.lost() {
        let repair = "Start Passepartout again; report what the log says of it (M-x passepartout-log).";
        return Check::bad("store", "Store", State::Unhealthy, format!("{path}: {why}"), repair);
    }
    if let Err(why) = engine.stay().await {
        let repair = "Put the folder back where it was, or start Passepartout again: then a new store is made of your Org files, without its history.";
        return Check::bad("store", "Store", State::Unhealthy, why, repair);
    }
    let head = engine.head();
    match engine.stored().await {
        Some(stored) if stored == head => {
            let saved = format!("{path}; everything is saved (operation {}, {})", head.0, engine.saved_when());
            proven(engine, saved)
        }
        Some(stored) => {
            let detail = format!("{path}; saved up to operation {} of {}", stored.0, head.0);
            Check::bad(
                "store",
                "Store",
                State::Degraded,
                detail,
                "It is tried again with the next change; the log says why it failed (M-x passepartout-log).",
            )
        }
        None => Check::bad(
            "store",
            "Store",
            State::Unhealthy,
            format!("{path}: the store has stopped"),
            "Start Passepartout again.",
        ),
    }
}

/// Says that a store is gone that was there: its head was noted outside it. Asked before anything makes a new one.
pub fn gone(config: &Config) -> Option<Check> {
    let there = ["memory.sqlite", "memory.log"].iter().any(|name| config.store.join(name).exists());
    let (seen, _) = witness::look(&config.heads(), &config.store).filter(|(seen, _)| !there && seen.operation > 0)?;
    let detail = format!(
        "{}: the store is gone; it was at operation {} when it was saved last, on {}",
        config.store.display(),
        seen.operation,
        local(seen.at).strftime("%Y-%m-%d %H:%M"),
    );
    let repair = "If the Emacs that used it still runs, it puts the store back within seconds: look again. Else put the folder back from where it was moved or from a backup; without one, the next command that writes makes a new store of your Org files, without its history.";
    Some(Check::bad("store", "Store", State::Unhealthy, detail, repair))
}

/// Adds what the last check of the whole store came to.
fn proven(engine: &Engine, saved: String) -> Check {
    let (heads, store) = (engine.config.heads(), &engine.config.store);
    let misfits = witness::misfits(&heads, store);
    if let Some((_, path)) = misfits.first() {
        let detail = format!("{saved}; a head that was noted outside it does not fit it any more: {}", path.display());
        let repair = "See what it says: passepartout memory verify.";
        return Check::bad("store", "Store", State::Degraded, detail, repair);
    }
    match last_result(&heads, store) {
        None => Check::good("store", "Store", format!("{saved}; not checked yet: passepartout memory verify")),
        Some(last) if last.whole => {
            let when = local(last.at).strftime("%Y-%m-%d");
            Check::good("store", "Store", format!("{saved}; checked on {when}: {}", last.verdict))
        }
        Some(last) => {
            let detail = format!("{saved}; checked on {}: {}", local(last.at).strftime("%Y-%m-%d"), last.verdict);
            let repair = "End Emacs or its core, then: passepartout doctor --fix, and passepartout memory verify.";
            Check::bad("store", "Store", State::Degraded, detail, repair)
        }
    }
}

/// Repairs a store that nobody uses, before it is opened: what is broken in it comes back from its log and from what
/// is whole; returns what was done.
pub fn mend(folder: &Path) -> Vec<String> {
    if !folder.join("memory.sqlite").exists() && !folder.join("memory.log").exists() {
        return Vec::new();
    }
    if let Some(owner) = owner_of(folder) {
        return vec![format!("the store is in use by {owner}, so it is not checked or repaired; end that first")];
    }
    match DiskStore::rebuild(folder) {
        Ok(store) => store.notices().to_vec(),
        Err(error) => vec![error.to_string()],
    }
}

fn memex(engine: &Engine) -> Check {
    let view = engine.view();
    let missing: Vec<String> =
        engine.config.directories.iter().filter(|p| !p.exists()).map(|p| p.display().to_string()).collect();
    if engine.config.directories.is_empty() {
        return Check::bad("memex", "Memex", State::Degraded, "no folder is set", SET_A_FOLDER);
    }
    if !missing.is_empty() {
        let detail = format!("not there: {}", missing.join(", "));
        return Check::bad(
            "memex",
            "Memex",
            State::Degraded,
            detail,
            "Make the folder, or correct passepartout-directories, MEMEX_DIR or --memex.",
        )
        .fixable();
    }
    let problems = engine.problems();
    let folders: Vec<String> = engine.config.directories.iter().map(|path| path.display().to_string()).collect();
    let (files, headings) = (counted(view.len(), "file"), counted(view.headings(), "heading"));
    let detail = format!("{files}, {headings} in {}", folders.join(", "));
    match problems.first() {
        None => Check::good("memex", "Memex", detail),
        Some(first) => {
            let detail = format!("{detail}; {} could not be read, the first: {first}", problems.len());
            Check::bad(
                "memex",
                "Memex",
                State::Degraded,
                detail,
                "Repair or move the files that the log names; then M-x passepartout-rescan, or ask again.",
            )
        }
    }
}

fn project(engine: &Engine) -> Check {
    match &engine.config.project {
        None => {
            Check::good("project", "Project", "worked out for each chat from its folder; a scratch folder without one")
        }
        Some(path) => match crate::edge::project::objection(&engine.config, path) {
            None => Check::good("project", "Project", path.display().to_string()),
            Some(why) => Check::bad(
                "project",
                "Project",
                State::Degraded,
                why,
                "Choose a narrower folder with passepartout-project or --project; until then a scratch folder is used.",
            ),
        },
    }
}

fn settings(engine: &Engine) -> Check {
    match engine.config.notices.as_slice() {
        [] => Check::good("settings", "Settings", "all of them were understood"),
        notices => Check::bad(
            "settings",
            "Settings",
            State::Degraded,
            notices.join(" "),
            "Remove or correct what is named; the manual has a table of all settings.",
        ),
    }
}

fn skills(engine: &Engine) -> Check {
    let (loaded, mut problems) = engine.skill_report();
    let gone = engine.config.skill_directories.iter().filter(|folder| !folder.is_dir());
    problems.extend(gone.map(|folder| format!("the folder of skills {} is not there", folder.display())));
    let gaps = engine.skill_gaps();
    if !gaps.is_empty() {
        let all: Vec<String> = gaps.into_iter().chain(problems).collect();
        let detail = format!("{loaded} loaded; {}", all.join("; "));
        let repair = "Mend the file at the line that is named, or move it out of the folder; \
                      until then every act but plain reading asks.";
        return Check::bad("skills", "Skills", State::Unhealthy, detail, repair);
    }
    let runs = engine.skill_runs();
    let lisp: String = runs.iter().map(|(name, runs)| format!("; Lisp of {name}: {}", runs.words())).collect();
    if let Some((name, parked)) = runs.iter().find(|(_, runs)| !runs.parked().is_empty()) {
        let last = parked.last.as_deref().unwrap_or_default();
        let detail = format!(
            "{loaded} loaded{lisp}; what is parked of {name} is not called any more, and a gate denies then; {last}"
        );
        let repair = "Mend the skill's block of Lisp, or move the skill away.";
        return Check::bad("skills", "Skills", State::Unhealthy, detail, repair);
    }
    match problems.as_slice() {
        [] => Check::good("skills", "Skills", format!("{loaded} loaded{lisp}")),
        problems => {
            let detail = format!("{loaded} loaded{lisp}; {}", problems.join("; "));
            let repair = "Mend what is named, or confirm what waits: M-x passepartout-skills.";
            Check::bad("skills", "Skills", State::Degraded, detail, repair)
        }
    }
}

fn rules(engine: &Engine) -> Check {
    let gaps = engine.rule_gaps();
    if !gaps.is_empty() {
        let repair = "Mend the line that is named, or move the file away; it counts at once.";
        return Check::bad("rules", "Rules", State::Unhealthy, gaps.join("; "), repair);
    }
    let rules = engine.rules();
    let count = |state: &str| rules.iter().filter(|rule| rule.state == state).count();
    match count("waiting") {
        0 => {
            let detail = format!(
                "{} confirmed, {} offered, {} let pass by settings",
                count("confirmed"),
                count("offered"),
                count("set")
            );
            Check::good("rules", "Rules", detail)
        }
        waiting => {
            let detail = format!("{} that would loosen wait for you and do not count", counted(waiting, "line"));
            Check::good("rules", "Rules", format!("{detail}; M-x passepartout-rules shows them"))
        }
    }
}

/// Lists the tools that the user's Emacs declared, if there are any.
fn own_tools(engine: &Engine) -> Option<Check> {
    let toolbox = engine.toolbox();
    let own = toolbox.own().iter().filter(|own| own.served().is_none());
    let names: Vec<String> =
        own.map(|own| format!("{} ({})", own.tool().name, own.tool().effect.class().name())).collect();
    (!names.is_empty()).then(|| Check::good("tools", "Tools of your own", names.join(", ")))
}

/// What to do about a server that breaks.
const MEND_SERVER: &str = "run its command in a terminal to see why it fails, and look whether its program and all that it reads \
                           lie in the system's folders or in those that its declaration names";

/// Says how the MCP servers of the settings stand, if there are any.
fn servers(engine: &Engine) -> Option<Check> {
    let servers = engine.servers();
    let line = |server: &ListedServer| {
        let tools = counted(server.tools.len(), "tool");
        match server.state {
            "lending" => format!("{} lends {tools}", server.name),
            "waiting" => format!("{} waits for you with {tools}: M-x passepartout-rules", server.name),
            "broken" => server.why.clone().unwrap_or_else(|| format!("{} broke", server.name)),
            _ => format!("{} is not started here", server.name),
        }
    };
    let all = servers.iter().map(line).collect::<Vec<_>>().join("; ");
    match servers.iter().any(|server| server.state == "broken") {
        true => Some(Check::bad("servers", "MCP servers", State::Degraded, all, MEND_SERVER)),
        false => (!servers.is_empty()).then(|| Check::good("servers", "MCP servers", all)),
    }
}

/// Says what is private, how much of it is known by its words, and how often which tag kept something back.
fn privacy(engine: &Engine) -> Check {
    let named = |tag: &PrivacyTag| match tag.tier {
        Privacy::Private => tag.tag.clone(),
        tier @ (Privacy::Open | Privacy::Warn | Privacy::Ask) => format!("{} ({})", tag.tag, tier.word()),
    };
    let tags = match engine.config.private_tags.as_slice() {
        [] => "no tag makes notes private".to_string(),
        tags => format!("private by {}", tags.iter().map(named).collect::<Vec<_>>().join(", ")),
    };
    let QuotationsRead { files, waiting, left_out, left_out_warning } = engine.quotations_read();
    let mut known = format!("something is private in {}", counted(files, "file"));
    if waiting > 0 {
        known.push_str(&format!(", of which {waiting} are not read for quotations yet"));
    }
    if left_out_warning > 0 {
        let files = counted(left_out_warning, "file");
        known
            .push_str(&format!(", and notes that only warn are not known by their words in {files}, for lack of room"));
    }
    let kept: Vec<String> = engine.kept_back().into_iter().map(|(tag, count)| format!("{tag} {count}")).collect();
    let kept = if kept.is_empty() { "nothing".to_string() } else { kept.join(", ") };
    let sent: Vec<String> = engine.sent_marked().into_iter().map(|(tag, count)| format!("{tag} {count}")).collect();
    let sent = if sent.is_empty() { String::new() } else { format!("; sent though marked: {}", sent.join(", ")) };
    let held = match engine.held_files().len() {
        0 => String::new(),
        files => format!(
            "; what made notes private was taken away from {}, and counts until you let it go: M-x passepartout-rules",
            counted(files, "file")
        ),
    };
    let detail = format!("{tags}; {known}; kept back since the start: {kept}{sent}{held}");
    match left_out {
        0 => Check::good("privacy", "Privacy", detail),
        more => {
            let detail =
                format!("{detail}; {} cannot be known again by words, for lack of room", counted(more, "file"));
            let repair = "Quotations of those files are not found; all else of privacy holds. Make fewer notes private, \
                          or keep large ones outside the memex.";
            Check::bad("privacy", "Privacy", State::Degraded, detail, repair)
        }
    }
}

/// Says what makes vectors of notes, and how far that has come.
fn embeddings(engine: &Engine) -> Check {
    let (name, title) = ("embeddings", "Embeddings");
    let status = engine.embedding_status();
    let detail = status.to_string();
    if status.unconfirmed {
        let repair =
            "Type /embed in a chat to see what would be sent and confirm it, or name a server on this machine.";
        let detail = format!("{detail}; nothing is sent there before you confirm it");
        return Check::bad(name, title, State::Degraded, detail, repair);
    }
    match (status.trouble, status.unkept) {
        (None, None) => Check::good(name, title, detail),
        (None, Some(unkept)) => {
            let repair = "Notes without a vector are found by their words alone. Make room on the disk of the cache folder, \
                          or set a model whose vectors have fewer numbers.";
            Check::bad(name, title, State::Degraded, format!("{detail}; {unkept}"), repair)
        }
        (Some(trouble), _) => {
            let repair = "Until it is mended notes are found by their words alone. Look at passepartout-embedding-backend, \
                          -model and -url, or EMBEDDING_PROVIDER, EMBEDDING_MODEL and EMBEDDING_URL.";
            Check::bad(name, title, State::Degraded, format!("{detail}; {trouble}"), repair)
        }
    }
}

/// Says what was found when it was tried whether commands can be confined.
///
/// With fewer walls everything that is promised still holds, because each command asks: that is no fault of the machine.
fn confinement(found: Confined) -> Check {
    let (name, title) = ("confinement", "Confinement");
    match found {
        Confined::All(tried) => Check::good(name, title, format!("tried {tried} ways out, all shut")),
        Confined::Fewer { tried, missing } => Check::good(
            name,
            title,
            format!(
                "commands ask, with fewer walls: tried {tried} ways out, all shut, but {missing}. A command that you \
                 approve can learn that a file exists, and none can be given hosts of the network"
            ),
        ),
        Confined::Nothing(missing) => Check::bad(
            name,
            title,
            State::Degraded,
            missing,
            "Commands are refused until it works; everything else does. It needs Linux with Landlock and seccomp, and \
             user namespaces or Landlock of Linux 6.12 or newer.",
        ),
        Confined::Open(what) => Check::bad(
            name,
            title,
            State::Unhealthy,
            what,
            "A command could get out: approve none, and set shell and eval-lisp to deny, until this line is gone; \
             report it.",
        ),
    }
}

/// Says whether Lisp can be evaluated here.
fn lisp(found: Evaluates) -> Check {
    let (name, title) = ("eval-lisp", "Lisp worker");
    match found {
        Evaluates::Yes { emacs, missing: None } => {
            Check::good(name, title, format!("eval-lisp works, confined, with {}", emacs.display()))
        }
        Evaluates::Yes { emacs, missing: Some(missing) } => {
            let detail = format!("eval-lisp works with {}; it asks, with fewer walls: {missing}", emacs.display());
            Check::good(name, title, detail)
        }
        Evaluates::No(why) => {
            let repair = "Until then no Lisp is evaluated; everything else works. It needs an Emacs that the system \
                          installed, and what commands need to be confined.";
            Check::bad(name, title, State::Degraded, why, repair)
        }
        Evaluates::Wrong(what) => {
            let repair = "Start Passepartout again; if it stays so, report it, with the version of that Emacs.";
            Check::bad(name, title, State::Degraded, what, repair)
        }
    }
}

/// Says what the copies of projects take, which make commands undoable.
async fn copies(engine: &Engine) -> Check {
    let (folder, taken, most) = engine.copies().await;
    let detail = match taken.projects {
        0 => format!("none yet; before a command the files of its project are copied into {}", folder.display()),
        projects => format!(
            "{} MB of {} in {}, {} MB at most for this store (UNDO_MAX_MB sets this); while no command runs that folder \
             may be deleted",
            taken.bytes.div_ceil(1 << 20),
            counted(projects, "project"),
            folder.display(),
            most >> 20
        ),
    };
    Check::good("copies", "Copies", detail)
}

fn models(engine: &Engine, asked: bool) -> Check {
    let (names, left) = engine.provider_names();
    if names.is_empty() {
        return Check::bad(
            "models",
            "Models",
            State::Degraded,
            left.join("; "),
            "Set passepartout-provider-cascade, or add “recall” to it.",
        );
    }
    let alone = names.iter().all(|name| name == crate::edge::provider::recall::NAME);
    let how = match (alone, asked) {
        (true, _) => "built in; no model is set up, and none is needed for answers from your notes",
        (false, true) => "asked below",
        (false, false) => {
            "set up; whether they answer is tried when you ask for it (passepartout doctor --providers, or the button below)"
        }
    };
    let detail = format!("{}: {how}", names.join(", "));
    if left.is_empty() {
        return Check::good("models", "Models", detail);
    }
    Check::bad(
        "models",
        "Models",
        State::Degraded,
        format!("{detail}; left out: {}", left.join("; ")),
        "Do what the reason says, or take it out of the cascade.",
    )
}

async fn ask_providers(engine: &Arc<Engine>, origin: &Origin) -> Vec<Check> {
    // One that was never contacted is told of its user only where a human wants just that.
    let wish = Wish { fresh: true, contact: origin.rights.may_steer() };
    let ask = async |name: String| (engine.model_list(origin, &name, wish).await, name);
    // All at once: one that is slow holds nobody up but the end.
    let lists = join_all(engine.listable().into_iter().map(ask)).await;
    let check = |(listing, name): (Result<Listing, String>, String)| match listing {
        Ok(Listing { models: Ok(models), .. }) => {
            Check::good("provider", "Provider", format!("{name}: {}", listed(&models)))
        }
        Ok(Listing { models: Err(why), at: None, .. }) => {
            let repair = "Ask in Emacs, or in a terminal that the agent did not start.";
            Check::bad("provider", "Provider", State::Unknown, format!("{name}: {why}"), repair)
        }
        Ok(Listing { models: Err(why), .. }) | Err(why) => Check::bad(
            "provider",
            "Provider",
            State::Degraded,
            format!("{name}: {why}"),
            "Until it answers the next one of the cascade is asked. Take it out of passepartout-provider-cascade if you \
             do not want it.",
        ),
    };
    let mut checks: Vec<Check> = lists.into_iter().map(check).collect();
    if checks.is_empty() {
        checks.push(Check::good("provider", "Provider", "none is set up beside the built-in one, so nobody was asked"));
    }
    checks
}

/// How many models of a provider are named.
const MOST_MODELS: usize = 8;

fn listed(models: &[Known]) -> String {
    let named: Vec<&str> = models.iter().take(MOST_MODELS).map(|model| model.name.as_str()).collect();
    let more = if models.len() > named.len() { ", …" } else { "" };
    let names = if named.is_empty() { String::new() } else { format!(": {}{more}", named.join(", ")) };
    format!("{}{names}", counted(models.len(), "model"))
}

/// Repairs what can be repaired here; returns what was done.
pub fn fix(engine: &Arc<Engine>, name: &str) -> Vec<String> {
    let mut done = Vec::new();
    if (name == "store" || name == "all") && engine.store_trouble().is_some_and(|trouble| trouble.rebuild) {
        match DiskStore::rebuild(&engine.config.store) {
            Ok(store) => {
                done.extend(store.notices().iter().cloned());
                done.push("The store was made anew from its log; start Passepartout again to use it.".to_string());
            }
            Err(error) => done.push(error.to_string()),
        }
    }
    if name == "memex" || name == "all" {
        for folder in engine.config.directories.iter().filter(|path| !path.exists()) {
            match std::fs::create_dir_all(folder) {
                Ok(()) => done.push(format!("made {}", folder.display())),
                Err(error) => done.push(format!("{} could not be made: {error}", folder.display())),
            }
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_walls_are_a_note_and_an_open_way_is_a_fault() {
        let why = || "no namespaces".to_string();
        for (found, state, word) in [
            (Confined::All(9), State::Healthy, "tried 9 ways out"),
            (Confined::Fewer { tried: 9, missing: why() }, State::Healthy, "commands ask, with fewer walls"),
            (Confined::Nothing(why()), State::Degraded, "no namespaces"),
            (Confined::Open("no network: it is open".to_string()), State::Unhealthy, "it is open"),
        ] {
            let check = confinement(found);
            assert_eq!(check.state, state);
            assert!(check.detail.contains(word), "{}", check.detail);
            assert_eq!(check.repair.is_some(), state != State::Healthy);
        }
        let emacs = || std::path::PathBuf::from("/usr/bin/emacs");
        for (found, state, word) in [
            (Evaluates::Yes { emacs: emacs(), missing: None }, State::Healthy, "/usr/bin/emacs"),
            (Evaluates::Yes { emacs: emacs(), missing: Some(why()) }, State::Healthy, "it asks, with fewer walls"),
            (Evaluates::No("there is no Emacs".to_string()), State::Degraded, "there is no Emacs"),
            (Evaluates::Wrong("(+ 1 2) came to 4".to_string()), State::Degraded, "4"),
        ] {
            let check = lisp(found);
            assert_eq!(check.state, state);
            assert!(check.detail.contains(word), "{}", check.detail);
        }
    }
}
