//! Programs of the user's own that have the terminal for a while: the editor for what is typed, and the questions of
//! `passepartout configure`.
//!
//! Only a key or a command of the human at the terminal starts one. Nothing that a model said is among its words: an
//! editor gets the name of a file, which holds what the human typed.

use crate::edge::config::{Config, Surroundings};
use crate::edge::engine::gateways::TOKEN;
use crate::edge::own_file::replace;
use crate::edge::stderr::complain;
use crate::edge::tui::input;
use crate::edge::tui::job::{self, Leash};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::fs::{File, metadata, read_dir, remove_file};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// The variables that name an editor, as of old: the first that is set counts.
const EDITORS: [&str; 2] = ["VISUAL", "EDITOR"];

/// What has the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aside {
    /// The editor, with what was typed.
    Editor(String),
    /// The questions of `passepartout configure`.
    Configure,
}

/// What such a program brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Brought {
    /// The text that was edited.
    Text(String),
    /// Something was set up.
    SetUp,
    /// Nothing was.
    Nothing,
}

/// What came of it, or why nothing did.
pub type CameBack = Result<Brought, String>;

/// How the questions are left.
const LEAVES: &str = "Esc or Ctrl+C leaves this; then nothing of it is set up.";

/// Where such a program runs, and how it is held.
pub struct Terms {
    /// The cache folder, where a draft lies as long as it is edited.
    pub cache: PathBuf,
    /// The options with which this program was started that say where things are, each behind a blank.
    pub options: String,
    /// By this it is ended.
    pub leash: Leash,
    /// Whether this process may stop when the program is stopped.
    pub may_stop: Box<dyn Fn() -> bool + Send>,
}

/// Runs it to its end; the terminal is its own meanwhile.
///
/// # Errors
/// In words, when it cannot be run, ended badly, or left what is no text or too much of it.
pub fn run(aside: &Aside, terms: &Terms) -> CameBack {
    match aside {
        Aside::Editor(text) => {
            let found = EDITORS.iter().filter_map(|name| std::env::var(name).ok());
            let editor = found.map(|words| words.trim().to_string()).find(|words| !words.is_empty());
            let editor = editor.ok_or("no editor is set; say which in the variable VISUAL or EDITOR")?;
            edit(&editor, text, &draft(&terms.cache), terms).map(Brought::Text)
        }
        Aside::Configure => {
            let program = std::env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))?;
            if !terms.options.is_empty() {
                complain(&format!(
                    "This terminal was started with{}: that goes before what is set here, which counts where nothing is \
                     named.",
                    terms.options
                ));
            }
            complain(LEAVES);
            let settings = Config::read(&Surroundings::of_process()).settings.join(".env");
            let mut command = Command::new(program);
            set_up(command.arg("configure").env_remove(TOKEN), &settings, terms)
        }
    }
}

/// Has a program ask what is to be set up, and says whether anything was: what it wrote last counts, however it ended.
fn set_up(command: &mut Command, settings: &Path, terms: &Terms) -> CameBack {
    let before = written(settings);
    let ended = job::run_until_escape(command, &terms.leash, &terms.may_stop);
    let left = ended.as_ref().is_ok_and(|status| matches!(status.signal(), Some(libc::SIGINT | libc::SIGQUIT)));
    match written(settings) != before {
        true => Ok(Brought::SetUp),
        false if left => Ok(Brought::Nothing),
        false => well("passepartout configure", ended).map(|()| Brought::Nothing),
    }
}

/// Returns what changes of a file whenever it is written anew; what it says is not read.
fn written(file: &Path) -> Option<(u64, i64, i64, u64)> {
    let file = metadata(file).ok()?;
    Some((file.ino(), file.mtime(), file.mtime_nsec(), file.len()))
}

/// The beginning and the end of the name of a draft; between them stands when it was begun, and of which process.
const DRAFT: (&str, &str) = ("draft-", ".org");

/// Returns the place of a new draft.
fn draft(cache: &Path) -> PathBuf {
    let (now, process) = (jiff::Timestamp::now().as_millisecond(), std::process::id());
    cache.join(format!("{}{now}-{process}{}", DRAFT.0, DRAFT.1))
}

/// Returns the drafts that were left behind, the oldest first: their program ended, and nobody took them over.
pub fn left_behind(cache: &Path) -> Vec<PathBuf> {
    let Ok(entries) = read_dir(cache) else { return Vec::new() };
    let left = |name: &str| {
        let begun = name.strip_prefix(DRAFT.0).and_then(|rest| rest.strip_suffix(DRAFT.1));
        let process = begun.and_then(|begun| begun.rsplit('-').next()?.parse::<u32>().ok());
        process.is_some_and(|process| process == std::process::id() || is_gone(process))
    };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut left: Vec<PathBuf> = names.filter(|name| left(name)).map(|name| cache.join(name)).collect();
    left.sort();
    left
}

/// Whether there is no such process any more; one that cannot be asked is there.
fn is_gone(process: u32) -> bool {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    process.is_none_or(|process| test_kill_process(process) == Err(Errno::SRCH))
}

/// Returns what starts the editor. It has its user's environment, without the key of the messenger.
fn editing(editor: &str, draft: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("{editor} \"$@\""), editor]).arg(draft).env_remove(TOKEN);
    command
}

/// Has a text edited, as git has a message: by a line of words for the shell, with the file behind them.
fn edit(editor: &str, text: &str, draft: &PathBuf, terms: &Terms) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", draft.display());
    replace(draft, text).map_err(failed)?;
    let ended = job::run(&mut editing(editor, draft), &terms.leash, &terms.may_stop);
    let edited = well("the editor", ended).and_then(|()| {
        if terms.leash.is_pulled() {
            return Err("the editor was ended by a signal".to_string());
        }
        let mut bytes = Vec::new();
        let read = File::open(draft).and_then(|file| file.take(input::LONGEST as u64 + 1).read_to_end(&mut bytes));
        read.map_err(failed)?;
        let text = String::from_utf8(bytes).map_err(|_| "what was edited is no UTF-8, or is too long".to_string())?;
        match text.len() > input::LONGEST {
            true => Err("what was edited is too long: a message has room for 60 kB".to_string()),
            false => Ok(text.trim_end().to_string()),
        }
    });
    match edited {
        Ok(text) => {
            // It stands in the line again.
            let _ = remove_file(draft);
            Ok(text)
        }
        Err(why) if is_blank(draft) => {
            let _ = remove_file(draft);
            Err(why)
        }
        Err(why) => Err(format!("{why}; what was written is in {}", draft.display())),
    }
}

/// Whether nothing was written.
fn is_blank(draft: &Path) -> bool {
    let mut bytes = Vec::new();
    let read = File::open(draft).and_then(|file| file.take(input::LONGEST as u64).read_to_end(&mut bytes));
    read.is_ok() && bytes.iter().all(u8::is_ascii_whitespace)
}

fn well(what: &str, ended: std::io::Result<ExitStatus>) -> Result<(), String> {
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{what} ended with {status}; what was typed stays as it was")),
        Err(error) => Err(format!("{what} cannot be run: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_has_no_key_of_a_messenger() {
        let command = editing("ed", Path::new("draft.org"));
        let taken: Vec<_> = command.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        assert_eq!(taken, ["TELEGRAM_BOT_TOKEN"]);
    }

    #[test]
    fn an_editor_changes_what_was_typed_or_nothing_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let (draft, terms) = (folder.path().join("draft.org"), terms(folder.path()));
        let long = format!("head -c {} /dev/zero | tr '\\0' a >", input::LONGEST + 1);
        for (editor, expected) in [
            ("true", Ok("as it was")),
            ("sed -i s/was/is/", Ok("as it is")),
            ("printf 'one\\ntwo\\n\\n' >", Ok("one\ntwo")),
            ("false", Err("the editor ended with exit status: 1; what was typed stays as it was")),
            ("printf '\\377' >", Err("what was edited is no UTF-8, or is too long")),
            (&long, Err("what was edited is too long: a message has room for 60 kB")),
        ] {
            let edited = edit(editor, "as it was", &draft, &terms);
            // What is not taken is not lost.
            let lies = format!("; what was written is in {}", draft.display());
            let edited = edited.as_deref().map_err(|why| why.strip_suffix(&lies).unwrap_or(why));
            assert_eq!(edited, expected, "{editor}");
            assert_eq!(draft.exists(), expected.is_err(), "{editor}");
        }
        let missing = edit("no-such-editor-anywhere", "as it was", &draft, &terms);
        assert!(missing.is_err_and(|why| why.starts_with("the editor ended with")));
        // Of nothing nothing is left.
        let failed = edit("false", " \n", &draft, &terms);
        assert!(failed.is_err_and(|why| !why.contains("what was written")) && !draft.exists());
    }

    #[test]
    fn an_editor_that_a_signal_ended_leaves_its_draft_whatever_it_says() {
        let folder = tempfile::tempdir().expect("a folder");
        let (draft, terms) = (folder.path().join("draft.org"), terms(folder.path()));
        let seen = folder.path().join("seen");
        // It saves and ends well when it is told to end.
        let editor = format!(
            "trap 'echo kept >> \"$1\"; exit 0' TERM; echo ready > '{}'; while :; do read x < /dev/null; done; true",
            seen.display()
        );
        let pulls = terms.leash.clone();
        let watching = std::thread::spawn(move || {
            let begun = std::time::Instant::now();
            while !seen.exists() && begun.elapsed() < std::time::Duration::from_secs(60) {
                std::thread::yield_now();
            }
            // Also an editor that never began ends by it.
            pulls.pull(rustix::process::Signal::TERM);
            seen.exists()
        });
        let edited = edit(&editor, "as it was", &draft, &terms);
        assert!(watching.join().expect("it watches"), "the editor never began");
        let lies = format!("; what was written is in {}", draft.display());
        assert!(edited.as_ref().is_err_and(|why| why.ends_with(&lies)), "{edited:?}");
        let kept = std::fs::read_to_string(&draft).expect("it is there");
        assert!(kept.starts_with("as it was"), "{kept}");
    }

    #[test]
    fn what_was_set_up_is_told_by_what_was_written_however_it_ended() {
        let folder = tempfile::tempdir().expect("a folder");
        let (settings, terms) = (folder.path().join(".env"), terms(folder.path()));
        let failed =
            || Err("passepartout configure ended with exit status: 1; what was typed stays as it was".to_string());
        for (does, expected) in [
            ("exit 0", Ok(Brought::Nothing)),
            ("exit 1", failed()),
            ("kill -INT $$; exit 1", Ok(Brought::Nothing)),
            ("kill -QUIT $$; exit 1", Ok(Brought::Nothing)),
            ("echo A=1 > .env", Ok(Brought::SetUp)),
            ("exit 0", Ok(Brought::Nothing)),
            ("echo B=1 > new; mv new .env; exit 1", Ok(Brought::SetUp)),
            ("echo LONGER=1 > .env; kill -QUIT $$", Ok(Brought::SetUp)),
            ("kill -INT $$; exit 1", Ok(Brought::Nothing)),
            ("rm .env", Ok(Brought::SetUp)),
        ] {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", does]).current_dir(folder.path());
            assert_eq!(set_up(&mut command, &settings, &terms), expected, "{does}");
        }
        let mut missing = Command::new(folder.path().join("none"));
        assert!(set_up(&mut missing, &settings, &terms).is_err_and(|why| why.contains("cannot be run")));
    }

    #[test]
    fn drafts_that_nobody_edits_any_more_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut ended = Command::new("true").spawn().expect("it runs");
        let gone = ended.id();
        ended.wait().expect("it ends");
        let names = [format!("draft-2-{gone}.org"), format!("draft-1-{gone}.org")];
        let others = ["draft-3-1.org", "draft-x.org", "history", "draft-2-99999999999.org"];
        for name in names.iter().map(String::as_str).chain(others) {
            std::fs::write(folder.path().join(name), "x").expect("it is written");
        }
        let left = left_behind(folder.path());
        assert_eq!(left, [&names[1], &names[0]].map(|name| folder.path().join(name)));
        assert_eq!(left_behind(&folder.path().join("none")), Vec::<PathBuf>::new());
    }

    fn terms(cache: &Path) -> Terms {
        let (cache, options) = (cache.to_path_buf(), String::new());
        Terms { cache, options, leash: Leash::default(), may_stop: Box::new(|| false) }
    }
}
