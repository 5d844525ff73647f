//! What every command stands on: its settings, its engine, and the process that owns the store.

use crate::domain::id::SessionId;
use crate::domain::inert::exact;
use crate::domain::label::PrivacyTag;
use crate::domain::port::LogLevel;
use crate::domain::signal::{Origin, Rights, Source};
use crate::edge::cli::args::Place;
use crate::edge::cli::forward::{Met, Owner};
use crate::edge::cli::run::{DONE, Failure, USAGE};
use crate::edge::clock::SystemClock;
use crate::edge::config::{Config, Surroundings};
use crate::edge::editor::{Editor, NoEditor};
use crate::edge::engine::boot::{self, Boot, Keep};
use crate::edge::engine::folders::known_memex;
use crate::edge::engine::{Engine, Notice, Notify};
use crate::edge::peers::greeting::{As, Said};
use crate::edge::peers::lineage::command_session;
use crate::edge::runtime::clients::{STRANGER, own_name, program_session};
use crate::edge::runtime::guests::Guests;
use crate::edge::secret::{Vault, read_env_file};
use crate::edge::stderr::{self, complain};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub(super) fn configured(place: &Place) -> Config {
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

/// Returns the settings of a command; where no memex is named, it is the one that the store was read from last, in which
/// what was private then is still so.
pub(super) fn settled(place: &Place) -> Config {
    let mut config = configured(place);
    if config.directories.is_empty() {
        let known = known_memex(&config.store);
        config.directories = known.directories;
        let more: Vec<PrivacyTag> =
            known.private_tags.into_iter().filter(|tag| !config.private_tags.contains(tag)).collect();
        config.private_tags.extend(more);
        config.untrusted_folders.extend(known.untrusted_folders);
    }
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

/// The keys of the environment and of the settings.
pub(super) fn vault(config: &Config) -> Vault {
    let env_file = read_env_file(&config.settings.join(".env")).unwrap_or_default();
    Vault::gather([], Surroundings::of_process().variables, env_file)
}

/// Joins the process that owns the store, when there is one that can be joined and that has this memex.
pub(super) async fn owner(place: &Place) -> Result<Option<Owner>, Failure> {
    match met(place).await? {
        Met::Owner(owner) => Ok(Some(owner)),
        Met::Closed | Met::Nobody => Ok(None),
    }
}

/// As [`owner`], and says whether there is one.
pub(super) async fn met(place: &Place) -> Result<Met, Failure> {
    met_as(place, &Said::plain(As::Cli)).await
}

/// Does the same as something else than a command.
pub(super) async fn met_as(place: &Place, this: &Said) -> Result<Met, Failure> {
    Ok(match Owner::join_as(&configured(place), this).await? {
        Met::Owner(mut owner) => match owner.has(&place.memex).await? {
            true => Met::Owner(owner),
            false => Met::Closed,
        },
        other @ (Met::Closed | Met::Nobody) => other,
    })
}

/// Has a command that writes carried out by the process that owns the store; `None` when there is nobody to do so, and
/// it is to be carried out here. The words are those of the command line, with absolute paths.
pub(super) fn beside(place: &Place, words: Vec<String>, out: &mut dyn Write) -> Result<Option<u8>, Failure> {
    block_on(async {
        let Met::Owner(mut owner) = Owner::join(&configured(place)).await? else { return Ok(None) };
        let ran = owner.command(words).await?;
        stderr::say(&ran.errors);
        write!(out, "{}", ran.text)?;
        Ok(Some(ran.status))
    })
}

/// Runs work with an engine, and closes its store whatever comes of the work. Others can join it meanwhile.
pub(super) fn with_engine<T>(
    place: &Place,
    keep: Keep,
    work: impl AsyncFnOnce(&Arc<Engine>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_engine_that_tells(place, keep, complaining(), work)
}

/// Does the same, with somebody else who hears what is worth a warning.
pub(super) fn with_engine_that_tells<T>(
    place: &Place,
    keep: Keep,
    told: Notify,
    work: impl AsyncFnOnce(&Arc<Engine>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    block_on(async {
        let guests = Guests::expected();
        let engine = start(place, keep, guests.editor(), guests.telling(told)).await?;
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
pub(super) fn owns(keep: Keep, engine: &Engine) -> bool {
    match keep {
        Keep::OnDisk | Keep::OnDiskOnly | Keep::Along | Keep::Examine => {
            engine.beside().is_none() && engine.store_trouble().is_none()
        }
        Keep::ToRead | Keep::InMemory => false,
    }
}

/// Starts an engine for one command.
pub(super) async fn engine(place: &Place, keep: Keep) -> Result<Arc<Engine>, Failure> {
    start(place, keep, Arc::new(NoEditor), complaining()).await
}

/// As [`engine`], with an editor and with who hears what is worth a warning.
pub(super) async fn start(
    place: &Place,
    keep: Keep,
    editor: Arc<dyn Editor>,
    notify: Notify,
) -> Result<Arc<Engine>, Failure> {
    let mut config = tokio::task::block_in_place(|| settled(place));
    // In a pipe nobody sees what would be sent.
    config.attended = std::io::stdout().is_terminal();
    let vault = vault(&config);
    let boot = Boot { config, vault, editor, clock: Arc::new(SystemClock), notify, keep };
    Ok(boot::start(boot).await?)
}

/// Prints what is worth a warning.
pub(super) fn complaining() -> Notify {
    complaining_by(|line| complain(&line))
}

/// Hands on what is worth a warning, line by line.
pub(super) fn complaining_by(tell: impl Fn(String) + Send + Sync + 'static) -> Notify {
    Arc::new(move |notice: Notice| {
        if let Notice::Logged(line) = notice
            && line.level != LogLevel::Info
        {
            tell(format!("{}: {}", line.level.name(), exact(&line.text)));
        }
    })
}

/// Makes what a command's tasks run on.
pub(super) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(8 << 20)
        .on_thread_start(crate::edge::thread::block_signals)
        .enable_all()
        .build()
}

pub(super) fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = runtime()?;
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

/// The origin of what a program that this process speaks for asks for, where nobody else owns the store: the rights of a
/// stranger, whoever started it.
///
/// # Errors
/// When the system gives no random bytes for its name.
pub(super) fn origin_of_program(kind: As, called: &str) -> std::io::Result<Origin> {
    let own = own_name()?;
    let session = program_session(kind.name(), Some(called), &own);
    Ok(Origin { source: Source::Client, session: SessionId(session), rights: STRANGER })
}

/// The origin of what is typed here. A human's right to approve is worked out, not claimed.
pub(super) fn origin(may_approve: bool) -> Origin {
    let rights = Rights { approve: may_approve, ..Rights::HUMAN };
    Origin { source: Source::Cli, session: SessionId(command_session(std::process::id())), rights }
}

/// The options that lead to the same store and memex again, quoted for a shell.
pub(super) fn options(place: &Place) -> String {
    let quoted = |path: &PathBuf| format!("'{}'", path.display().to_string().replace('\'', "'\\''"));
    let one = |name: &str, path: &Option<PathBuf>| path.as_ref().map(|path| format!(" {name} {}", quoted(path)));
    let memex = (!place.memex.is_empty())
        .then(|| format!(" --memex {}", place.memex.iter().map(quoted).collect::<Vec<_>>().join(" ")));
    [one("--store", &place.store), memex, one("--project", &place.project)].into_iter().flatten().collect()
}

/// Prints a sentence of ours, or a JSON object with it.
pub(super) fn say(text: &str, as_json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    match as_json {
        true => writeln!(out, "{}", serde_json::json!({ "text": text }))?,
        false => writeln!(out, "{}", exact(text))?,
    }
    Ok(DONE)
}

/// Text for a terminal: no control or bidirectional characters of anyone's making.
pub(super) fn readable(text: &str) -> String {
    exact(text)
}
