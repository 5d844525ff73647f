//! Carries out a command: the same functions that a chat turn uses, on the same stored objects.

use crate::domain::action::Action;
use crate::domain::context::lexical::Index;
use crate::domain::gate::{Facts, Gates};
use crate::domain::id::SessionId;
use crate::domain::inert::exact;
use crate::domain::label::Privacy;
use crate::domain::memory::view::View;
use crate::domain::port::LogLevel;
use crate::domain::query::MAX_LIMIT;
use crate::domain::query::parse::parse;
use crate::domain::query::show::Style;
use crate::domain::scope::Scope;
use crate::domain::signal::{Origin, Rights, Source};
use crate::domain::turn::Ending;
use crate::edge::cli::args::{Arguments, Command, Memory, Place, Plans};
use crate::edge::cli::context::{ContextEngine, answer_lines, print_json, print_text};
use crate::edge::cli::forward::{Owner, Turned};
use crate::edge::cli::gate::GateCommand;
use crate::edge::cli::{dump, ingest, memory, plans, query};
use crate::edge::clock::{Clock, SystemClock};
use crate::edge::config::{Config, Surroundings};
use crate::edge::doctor;
use crate::edge::editor::{Editor, NoEditor};
use crate::edge::engine::boot::{self, Boot, Keep};
use crate::edge::engine::query::Manner;
use crate::edge::engine::record::Finished;
use crate::edge::engine::turns::{Ask, Decided};
use crate::edge::engine::{Engine, Notice, Notify};
use crate::edge::runtime::guests::Guests;
use crate::edge::secret::{Vault, read_env_file};
use crate::edge::store::compact::Keep as KeepContents;
use crate::edge::store::owner_of;
use crate::edge::tokens::Tokens;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The run went well.
pub const DONE: u8 = 0;
/// The run failed.
pub const FAILED: u8 = 1;
/// The words of the command were off.
pub const USAGE: u8 = 2;
/// A plan waits for approval.
pub const PENDING: u8 = 3;

/// Why a run failed, in words; the exit status is [`FAILED`] unless it says otherwise.
pub struct Failure {
    /// What went wrong and what to do.
    pub text: String,
    /// The exit status.
    pub status: u8,
}

impl<T: ToString> From<T> for Failure {
    fn from(text: T) -> Failure {
        Failure { text: text.to_string(), status: FAILED }
    }
}

/// Carries out a command; returns the exit status.
///
/// # Errors
/// In words for the user.
pub fn run(arguments: Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    match arguments.command {
        Command::Ingest { path, store: None, json } => {
            let config = Config::read(&Surroundings::of_process());
            let report = read(&path, &config, !json);
            Ok(ingested(&report, json, out, &mut std::io::stderr())?)
        }
        Command::Ingest { path, store, json } => {
            let place = Place { store, memex: path, project: None };
            let words = ["ingest".to_string()].into_iter().chain(json.then(|| "--json".to_string()));
            let words = words.chain(["--".to_string()]).chain(place.memex.iter().map(absolute_text)).collect();
            if let Some(status) = beside(&place, words, out)? {
                return Ok(status);
            }
            with_engine(&place, Keep::OnDiskOnly, async |engine| {
                let report =
                    blocking(engine, move |engine| engine.read_memex(&mut |at| progress(at.done, at.total, !json)))
                        .await?;
                engine.flush().await?;
                Ok(ingested(&report, json, out, &mut std::io::stderr())?)
            })
        }
        Command::Dump { path, jsonl: _, contents } => {
            let config = Config::read(&Surroundings::of_process());
            let options = crate::domain::org::scan::ScanOptions { sequences: config.org.todo_sequences };
            let report = dump::run_with(&path, &options, contents, out)?;
            for problem in &report.problems {
                eprintln!("{problem}");
            }
            Ok(if report.files == 0 && !report.problems.is_empty() { FAILED } else { DONE })
        }
        Command::Context { place, focus, query, max_tokens, jsonl, json } => {
            let mut engine = context_engine(&place)?;
            engine.max_tokens = max_tokens;
            if jsonl {
                answer_lines(std::io::stdin().lock(), out, &engine)?;
                return Ok(DONE);
            }
            let begun = std::time::Instant::now();
            let context = engine.context(query.as_deref(), focus.as_deref());
            let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
            if json {
                print_json(&context, micros, out)?
            } else {
                print_text(&context, max_tokens, out)?
            }
            Ok(DONE)
        }
        Command::Gate { jsonl: _, place } => gate(&place, out),
        Command::Ask { text, place, json } => ask(question(&text)?, &place, json, out),
        Command::Query { query, place, limit, json } => run_query(&query.join(" "), &place, limit, json, out),
        Command::Plans { command } => run_plans(command, out),
        Command::Memory { command } => run_memory(command, out),
        Command::Doctor { place, fix, providers, json } => run_doctor(&place, fix, providers, json, out),
    }
}

/// Prints what was read; returns the exit status.
pub(super) fn ingested(
    report: &crate::edge::ingest::IngestReport,
    json: bool,
    out: &mut dyn Write,
    errors: &mut dyn Write,
) -> std::io::Result<u8> {
    if json {
        write!(errors, "{}", ingest::problems(report))?;
        writeln!(out, "{}", ingest::json(report))?;
    } else {
        write!(out, "{}", ingest::report(report))?;
    }
    Ok(if report.files == 0 && !report.problems.is_empty() { FAILED } else { DONE })
}

fn absolute_text(path: &PathBuf) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.clone()).to_string_lossy().into_owned()
}

/// Joins the process that owns the store, when there is one that can be joined and that has this memex.
pub(super) async fn owner(place: &Place) -> Result<Option<Owner>, Failure> {
    let store = configured(place).store;
    if owner_of(&store).is_none() {
        return Ok(None);
    }
    let Some(mut owner) = Owner::join(&store).await? else { return Ok(None) };
    Ok(owner.has(&place.memex).await?.then_some(owner))
}

/// Has a command that writes carried out by the process that owns the store; `None` when there is nobody to do so, and
/// it is to be carried out here. The words are those of the command line, with absolute paths.
fn beside(place: &Place, words: Vec<String>, out: &mut dyn Write) -> Result<Option<u8>, Failure> {
    block_on(async {
        let store = configured(place).store;
        if owner_of(&store).is_none() {
            return Ok(None);
        }
        let Some(mut owner) = Owner::join(&store).await? else { return Ok(None) };
        let ran = owner.command(words).await?;
        eprint!("{}", ran.errors);
        write!(out, "{}", ran.text)?;
        Ok(Some(ran.status))
    })
}

/// Prints a turn that the owner of the store has carried out, from what it has stored.
async fn print_turned(turned: Turned, place: &Place, json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    let engine = engine(place, Keep::ToRead).await?;
    let finished = engine.turns(200).await?.into_iter().find(|finished| finished.turn.0 == turned.turn);
    let status = match finished {
        Some(finished) => print_turn(&engine, &finished, &turned.text, place, json, out),
        // It did not count, and says why; or an answer of few words that is in no trace.
        None => Err(Failure::from(turned.notice.unwrap_or(turned.text))),
    };
    engine.close().await;
    status
}

/// Reads a memex into memory, without a store.
fn read(paths: &[PathBuf], config: &Config, show: bool) -> crate::edge::ingest::IngestReport {
    let options = crate::edge::ingest::IngestOptions {
        scan: crate::domain::org::scan::ScanOptions { sequences: config.org.todo_sequences.clone() },
        privacy: crate::domain::memory::document::PrivacyOptions { tags: config.private_tags.clone() },
        ..Default::default()
    };
    let known = crate::edge::ingest::Known::default();
    crate::edge::ingest::ingest(
        paths,
        &known,
        &options,
        &mut |at| progress(at.done, at.total, show),
        &AtomicBool::new(false),
    )
}

/// Shows how far reading has come, on a terminal only.
fn progress(done: usize, total: usize, show: bool) {
    use std::io::IsTerminal;
    if show && std::io::stderr().is_terminal() && (done == total || done.is_multiple_of(64)) {
        eprint!("\rreading {done}/{total}{}", if done == total { "\r\x1b[K" } else { "" });
    }
}

fn configured(place: &Place) -> Config {
    let mut config = Config::read(&Surroundings::of_process());
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    if !place.memex.is_empty() {
        config.directories = place.memex.iter().map(absolute).collect();
    }
    if let Some(store) = &place.store {
        config.store = absolute(store);
    }
    config.project = place.project.as_ref().map(absolute).or(config.project);
    config
}

/// Refuses a memex of which nothing is there; where some of it is, the rest is warned of when it is read.
pub(super) fn somewhere(place: &Place) -> Result<(), Failure> {
    let missing = |path: &PathBuf| matches!(path.try_exists(), Ok(false));
    if place.memex.is_empty() || !place.memex.iter().all(missing) {
        return Ok(());
    }
    let named: Vec<String> = place.memex.iter().map(|path| exact(&path.display().to_string())).collect();
    let (what, it) = if named.len() == 1 { ("does not exist", "it") } else { ("do not exist", "them") };
    let text = format!(
        "{} {what}, so there are no notes to read\nName a folder with --memex that is there, or make {it} first",
        named.join(", ")
    );
    Err(Failure { text, status: USAGE })
}

fn context_engine(place: &Place) -> Result<ContextEngine, Failure> {
    somewhere(place)?;
    let config = configured(place);
    let tokens = Arc::new(Tokens::new());
    let (view, index) = match &place.store {
        Some(_) => with_engine(place, Keep::ToRead, async |engine| {
            blocking(engine, |engine| {
                engine.read_memex(&mut |_| {});
                engine.wait_until_filled();
            })
            .await?;
            Ok((engine.view(), engine.index()))
        })?,
        None => {
            let report = read(&config.directories, &config, false);
            for problem in &report.problems {
                eprintln!("{problem}");
            }
            let mut view = View::default();
            for document in report.documents.into_iter().filter(|document| document.is_notes()) {
                view.put(document);
            }
            let index = Index::of(&view);
            (view, index)
        }
    };
    let mut engine = ContextEngine::with_index(view, index, tokens, SystemClock.wall());
    engine.deadline_minutes = i64::from(config.deadline_minutes);
    Ok(engine)
}

/// Judges with what a chat judges with: the gates, rules of skills and keys; with a store or a memex, memory as well.
fn gate(place: &Place, out: &mut dyn Write) -> Result<u8, Failure> {
    somewhere(place)?;
    let config = configured(place);
    let here = std::env::current_dir()?;
    let text = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone()).to_string_lossy().into_owned();
    let memex = if place.memex.is_empty() { vec![here.clone()] } else { config.directories.clone() };
    let scope = Scope {
        session: SessionId("gate".to_string()),
        memex: memex.iter().map(text).collect(),
        project: text(place.project.as_ref().unwrap_or(&here)),
        home: text(&config.home),
        own: [&config.store, &config.settings, &config.cache].into_iter().map(text).collect(),
        permissions: config.permissions.clone(),
        private_tags: config.private_tags.clone(),
        self_build: config.self_build,
        see_private: true,
        hosts: Vec::new(),
    };
    let mut judge = |gates: &Gates, look: &dyn Fn(&Action, &Scope) -> Facts| {
        GateCommand { gates, look, scope: scope.clone() }.run(&mut std::io::stdin().lock(), out)
    };
    if place.store.is_none() && place.memex.is_empty() {
        let (gates, survey, problems) = boot::without_memory(&config, vault(&config), Duration::from_secs(5));
        for problem in config.notices.iter().chain(&problems) {
            eprintln!("{}", exact(problem));
        }
        judge(&gates, &|action, scope| survey.look(action, scope))?;
        return Ok(DONE);
    }
    let keep = if place.store.is_some() { Keep::ToRead } else { Keep::InMemory };
    with_engine(place, keep, async |engine| {
        blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
        let handle = tokio::runtime::Handle::current();
        let look = |action: &Action, scope: &Scope| handle.block_on(engine.surveyor().survey(action, scope));
        tokio::task::block_in_place(|| judge(engine.gates(), &look))?;
        Ok(DONE)
    })
}

/// The keys of the environment and of the settings.
fn vault(config: &Config) -> Vault {
    let env_file = read_env_file(&config.settings.join(".env")).unwrap_or_default();
    Vault::gather([], Surroundings::of_process().variables, env_file)
}

/// Runs work with an engine, and closes its store whatever comes of the work. Others can join it meanwhile.
pub(super) fn with_engine<T>(
    place: &Place,
    keep: Keep,
    work: impl AsyncFnOnce(&Arc<Engine>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    block_on(async {
        let guests = Guests::expected();
        let engine = start(place, keep, guests.editor(), guests.telling(complaining())).await?;
        let serving = if owns(keep, &engine) { guests.open(&engine) } else { None };
        let result = work(&engine).await;
        if let Some(serving) = serving {
            serving.end().await;
        }
        engine.close().await;
        result
    })
}

/// Returns whether an engine that was started so owns its store.
fn owns(keep: Keep, engine: &Engine) -> bool {
    match keep {
        Keep::OnDisk | Keep::OnDiskOnly | Keep::Along | Keep::Examine => {
            engine.beside().is_none() && engine.store_trouble().is_none()
        }
        Keep::ToRead | Keep::InMemory => false,
    }
}

/// Starts an engine for one command.
async fn engine(place: &Place, keep: Keep) -> Result<Arc<Engine>, Failure> {
    start(place, keep, Arc::new(NoEditor), complaining()).await
}

async fn start(place: &Place, keep: Keep, editor: Arc<dyn Editor>, notify: Notify) -> Result<Arc<Engine>, Failure> {
    let config = configured(place);
    let vault = vault(&config);
    let boot = Boot { config, vault, editor, clock: Arc::new(SystemClock), notify, keep };
    Ok(boot::start(boot).await?)
}

/// Prints what is worth a warning.
fn complaining() -> Notify {
    Arc::new(|notice: Notice| {
        if let Notice::Logged(line) = notice
            && line.level != LogLevel::Info
        {
            eprintln!("{}: {}", line.level.name(), exact(&line.text));
        }
    })
}

pub(super) fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(8 << 20)
        .on_thread_start(crate::edge::thread::block_signals)
        .enable_all()
        .build()?;
    let result = runtime.block_on(future);
    runtime.shutdown_timeout(Duration::from_millis(250));
    result
}

pub(super) async fn blocking<T: Send + 'static>(
    engine: &Arc<Engine>,
    work: impl FnOnce(&Engine) -> T + Send + 'static,
) -> Result<T, Failure> {
    let engine = engine.clone();
    tokio::task::spawn_blocking(move || work(&engine)).await.map_err(|_| Failure::from("reading broke"))
}

/// The origin of what is typed here. A human's right to approve is worked out, not claimed.
pub(super) fn origin(may_approve: bool) -> Origin {
    let rights = Rights { approve: may_approve, ..Rights::HUMAN };
    Origin { source: Source::Cli, session: SessionId(format!("cli-{}", std::process::id())), rights }
}

/// Longer questions are refused, as they are in a chat.
const LONGEST_QUESTION: u64 = 1 << 20;

/// Returns what is asked: the words, or what is piped in when there are none or only “-”.
fn question(words: &[String]) -> Result<String, Failure> {
    use std::io::{IsTerminal, Read};
    let usage = |text: &str| Failure {
        text: format!("{text}\nUsage: passepartout ask TEXT, or pipe the question in"),
        status: USAGE,
    };
    let piped = match words {
        [] => !std::io::stdin().is_terminal(),
        [only] => only == "-",
        _ => false,
    };
    let mut text = words.join(" ");
    if piped {
        text.clear();
        let mut input = std::io::stdin().lock().take(LONGEST_QUESTION + 1);
        input.read_to_string(&mut text).map_err(|error| usage(&format!("the question cannot be read: {error}")))?;
        if text.len() as u64 > LONGEST_QUESTION {
            return Err(usage("the question is longer than 1 MB; put it into a file and name the file"));
        }
    }
    if text.trim().is_empty() { Err(usage("there is no question")) } else { Ok(text) }
}

fn ask(text: String, place: &Place, json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    somewhere(place)?;
    let asked = block_on(async {
        let Some(mut owner) = owner(place).await? else { return Ok(None) };
        let project = place.project.clone().or_else(|| std::env::current_dir().ok());
        let project = project.map(|path| std::path::absolute(&path).unwrap_or(path));
        if text.trim_start().starts_with('/') {
            let engine = engine(place, Keep::ToRead).await?;
            if let Some((id, decided)) = engine.typed_decision(&text) {
                return Err(elsewhere(id, &decided));
            }
            engine.close().await;
        }
        let turned = owner.ask(&text, project.as_deref()).await?;
        print_turned(turned, place, json, out).await.map(Some)
    })?;
    if let Some(status) = asked {
        return Ok(status);
    }
    with_engine(place, Keep::Along, async |engine| {
        blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
        if let Some((id, decided)) = engine.typed_decision(&text) {
            return Err(elsewhere(id, &decided));
        }
        let folder = std::env::current_dir().ok();
        let ask = Ask { origin: origin(false), text, history: Vec::new(), folder };
        let turn = engine.new_turn();
        let mut answer = String::new();
        let finished = engine.ask(ask, turn, &mut |piece| answer.push_str(piece)).await;
        engine.flush().await?;
        let status = print_turn(engine, &finished, &answer, place, json, out)?;
        // An answer from nothing is no answer.
        Ok(if engine.view().is_empty() { FAILED } else { status })
    })
}

fn run_query(text: &str, place: &Place, limit: Option<usize>, json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    if limit.is_some_and(|limit| !(1..=MAX_LIMIT).contains(&limit)) {
        let text = format!("--limit takes a number from 1 to {MAX_LIMIT}");
        return Err(Failure { text, status: USAGE });
    }
    // What cannot be read needs no memory to say so.
    if let Err(error) = parse(text) {
        if json {
            writeln!(out, "{}", query::json_error(&error))?;
            return Ok(USAGE);
        }
        return Err(Failure { text: readable(&error.pointed(text)), status: USAGE });
    }
    somewhere(place)?;
    with_engine(place, Keep::ToRead, async |engine| {
        blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
        let asked = text.to_string();
        // A terminal is the user's own.
        let answer = blocking(engine, move |engine| {
            engine.query(&engine.view(), &asked, limit, Privacy::Private, Manner::Whole)
        })
        .await?;
        let answer = answer.map_err(|error| Failure { text: readable(&error.pointed(text)), status: USAGE })?;
        if json {
            writeln!(out, "{}", query::json(&answer, &|text| engine.mask(text)))?;
        } else {
            let mut shown = Vec::new();
            query::print_plain(&answer, engine.view().len(), &style(), &mut shown)?;
            write!(out, "{}", engine.mask(&String::from_utf8_lossy(&shown)))?;
        }
        Ok(DONE)
    })
}

/// Colours on a terminal that wants them.
fn style() -> Style {
    use std::io::IsTerminal;
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let width = std::env::var("COLUMNS").ok().and_then(|width| width.parse().ok()).unwrap_or(100);
    Style { coloured: wanted && std::io::stdout().is_terminal(), width }
}

/// Says where a plan is decided about that was named in a question: here it would be done without having been shown.
fn elsewhere(id: &str, decided: &Decided) -> Failure {
    let (verb, why) = match decided {
        Decided::Approve { .. } => ("approve", "a plan is approved where it is shown"),
        Decided::Deny { .. } => ("deny", "a plan is not decided about in a question"),
    };
    let id = if id.is_empty() { "PLAN".to_string() } else { crate::domain::inert::exact(id) };
    Failure { text: format!("{why}; use: passepartout plans {verb} {id}"), status: USAGE }
}

fn print_turn(
    engine: &Engine,
    finished: &Finished,
    answer: &str,
    place: &Place,
    json: bool,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let report = &finished.report;
    let status = match report.ending {
        Ending::Answered => DONE,
        Ending::Parked => PENDING,
        Ending::Interrupted | Ending::Failed => FAILED,
    };
    let plans: Vec<_> = report.plans.iter().filter_map(|id| engine.plan(&id.0)).collect();
    if json {
        let all = serde_json::json!({
            "status": report.ending.name(), "text": answer, "notice": report.notice,
            "sources": report.sources.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
            "plans": plans.iter().map(plans::json).collect::<Vec<_>>(),
            "turn": crate::edge::engine::record::turn(finished),
        });
        writeln!(out, "{all}")?;
        return Ok(status);
    }
    if !answer.trim().is_empty() {
        writeln!(out, "{}", readable(answer.trim_end()))?;
    }
    if let Some(notice) = &report.notice {
        writeln!(out, "{}", readable(notice))?;
    }
    for plan in &plans {
        writeln!(out, "\n{}", plans::whole(plan))?;
        writeln!(out, "It waits. Approve it with: passepartout plans approve {}{}", plan.id, options(place))?;
    }
    Ok(status)
}

/// The options that lead to the same store and memex again, quoted for a shell.
fn options(place: &Place) -> String {
    let quoted = |path: &PathBuf| format!("'{}'", path.display().to_string().replace('\'', "'\\''"));
    let one = |name: &str, path: &Option<PathBuf>| path.as_ref().map(|path| format!(" {name} {}", quoted(path)));
    let memex = (!place.memex.is_empty())
        .then(|| format!(" --memex {}", place.memex.iter().map(quoted).collect::<Vec<_>>().join(" ")));
    [one("--store", &place.store), memex, one("--project", &place.project)].into_iter().flatten().collect()
}

/// Text for a terminal: no control or bidirectional characters of anyone's making.
pub(super) fn readable(text: &str) -> String {
    exact(text)
}

fn run_plans(command: Plans, out: &mut dyn Write) -> Result<u8, Failure> {
    match command {
        Plans::List { place, all, json } => with_engine(&place, Keep::ToRead, async |engine| {
            write!(out, "{}", plans::list(&engine.plans(all), json))?;
            Ok(DONE)
        }),
        Plans::Show { plan, place, json } => with_engine(&place, Keep::ToRead, async |engine| {
            let plan =
                engine.plan(&plan).ok_or_else(|| format!("there is no plan {plan}; see: passepartout plans list"))?;
            if json {
                writeln!(out, "{}", plans::json(&plan))?
            } else {
                writeln!(out, "{}", plans::whole(&plan))?
            }
            Ok(DONE)
        }),
        Plans::Approve { plan, place } => {
            plans::human_terminal()?;
            somewhere(&place)?;
            if let Some(status) = approve_beside(&plan, &place, out)? {
                return Ok(status);
            }
            with_engine(&place, Keep::OnDiskOnly, async |engine| {
                let known = engine.plan(&plan);
                let found = known.ok_or_else(|| format!("there is no plan {plan}; see: passepartout plans list"))?;
                writeln!(out, "{}", plans::whole(&found))?;
                out.flush()?;
                if !plans::confirmed(&found.id.0)? {
                    writeln!(out, "Nothing was done.")?;
                    return Ok(DONE);
                }
                decide(engine, &plan, Decided::Approve { shown: found.shown() }, &place, out).await
            })
        }
        Plans::Deny { plan, reason, place } => {
            plans::human_terminal()?;
            somewhere(&place)?;
            let denied = block_on(async {
                let Some(mut owner) = owner(&place).await? else { return Ok(None) };
                let turned = owner.deny(&plan, &reason.join(" ")).await?;
                print_turned(turned, &place, false, out).await.map(Some)
            })?;
            if let Some(status) = denied {
                return Ok(status);
            }
            with_engine(&place, Keep::OnDiskOnly, async |engine| {
                decide(engine, &plan, Decided::Deny { reason: reason.join(" ") }, &place, out).await
            })
        }
    }
}

/// Shows a plan from the store and has it approved by the process that owns the store; `None` when there is none.
fn approve_beside(plan: &str, place: &Place, out: &mut dyn Write) -> Result<Option<u8>, Failure> {
    block_on(async {
        if owner(place).await?.is_none() {
            return Ok(None);
        }
        let engine = engine(place, Keep::ToRead).await?;
        let found = engine.plan(plan);
        engine.close().await;
        let found = found.ok_or_else(|| format!("there is no plan {plan}; see: passepartout plans list"))?;
        writeln!(out, "{}", plans::whole(&found))?;
        out.flush()?;
        if !tokio::task::block_in_place(|| plans::confirmed(&found.id.0))? {
            writeln!(out, "Nothing was done.")?;
            return Ok(Some(DONE));
        }
        // It may be another one by now: whoever owns the store has the plan.
        let Some(mut owner) = owner(place).await? else {
            return Err("the process that owned the store has ended, and nothing was done; approve it again".into());
        };
        let turned = owner.approve(&found).await?;
        print_turned(turned, place, false, out).await.map(Some)
    })
}

async fn decide(
    engine: &Arc<Engine>,
    plan: &str,
    decided: Decided,
    place: &Place,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
    let mut answer = String::new();
    let turn = engine.new_turn();
    let finished = engine.decide(&origin(true), plan, decided, turn, &mut |piece| answer.push_str(piece)).await?;
    engine.flush().await?;
    print_turn(engine, &finished, &answer, place, false, out)
}

fn run_memory(command: Memory, out: &mut dyn Write) -> Result<u8, Failure> {
    let now = SystemClock.now();
    match command {
        Memory::Verify { place, accept, json } => {
            if accept {
                plans::human_terminal()?;
            }
            memory::check(&configured(&place), now, accept, json, out)
        }
        Memory::Compact { place, keep_days, keep_operations, dry_run, json } => {
            let keep = KeepContents { days: keep_days, operations: keep_operations };
            memory::compact(&configured(&place), now, keep, dry_run, json, out)
        }
        other => super::past::run(other, out),
    }
}

fn run_doctor(place: &Place, fix: bool, providers: bool, json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    if fix {
        for line in doctor::mend(&configured(place).store) {
            writeln!(out, "{line}")?;
        }
    }
    with_engine(place, Keep::Examine, async |engine| {
        if fix {
            for line in doctor::fix(engine, "all") {
                writeln!(out, "{line}")?;
            }
        }
        blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
        let _ = engine.flush().await; // The store's own check says what is wrong with it.
        let checks = doctor::examine(engine, providers).await;
        let verdict = doctor::verdict(&checks);
        if json {
            let checks: Vec<_> = checks
                .iter()
                .map(|c| serde_json::json!({"name": c.name, "state": c.state.name(), "detail": c.detail, "repair": c.repair, "fix": c.fix}))
                .collect();
            writeln!(out, "{}", serde_json::json!({"verdict": verdict.name(), "checks": checks}))?;
        } else {
            for check in &checks {
                writeln!(out, "{:<10} {:<12} {}", check.state.name(), check.title, exact(&check.detail))?;
                if let Some(repair) = &check.repair {
                    writeln!(out, "{:23} Repair: {}", "", exact(repair))?;
                }
                if check.fix {
                    writeln!(out, "{:23} Or let it be done: passepartout doctor --fix{}", "", options(place))?;
                }
            }
            writeln!(out, "\nIn all: {}.", verdict.name())?;
        }
        Ok(if verdict == doctor::State::Unhealthy { FAILED } else { DONE })
    })
}
