//! `passepartout install service` and `uninstall service`: a unit of systemd for this user, which runs the daemon.
//!
//! The unit is shown before it is written, and carries a sum of its own text: one that was changed by hand is left alone.
//!
//! What would confine the daemon is set only where it breaks nothing of ours. The launcher gives up privileges itself and
//! needs none, so `NoNewPrivileges=` is set. It does need namespaces and mounts of its own, so `RestrictNamespaces=` and
//! `SystemCallFilter=` are not; and whatever gives a user's unit other file systems (`ProtectSystem=`, `ProtectHome=`,
//! `PrivateTmp=`, …) puts it into a user namespace, in which nobody who joins could be told from a confined process.

use crate::domain::inert::exact;
use crate::edge::cli::args::Place;
use crate::edge::cli::run::{DONE, FAILED, Failure};
use crate::edge::cli::terminal;
use crate::edge::engine::gateways::TOKEN;
use crate::edge::own_file::replace;
use crate::edge::peers::lineage::not_started_by_us;
use crate::edge::runtime::lobby::{FILES_EACH, MOST};
use clap::Subcommand;
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// The unit's name.
const UNIT: &str = "passepartout.service";
/// As many files may be open as the clients need that a daemon takes by the network.
const FILES: usize = MOST * FILES_EACH;
/// What its first line begins with; behind it stands the sum of all other lines.
const MARK: &str = "# Made by passepartout install service; blake3 ";
/// Variables that decide where things are, which a user's systemd may not have.
const CARRIED: [&str; 3] = ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"];

/// What can be installed.
#[derive(Debug, Subcommand)]
pub enum Install {
    /// A unit of systemd for this user, which runs the daemon; it is shown first.
    Service {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Write it without asking.
        #[arg(long)]
        yes: bool,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

/// What can be taken away again.
#[derive(Debug, Subcommand)]
pub enum Uninstall {
    /// The unit of systemd.
    Service {
        /// Remove it without asking.
        #[arg(long)]
        yes: bool,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

/// Writes the unit, after showing it.
///
/// # Errors
/// When it cannot be written, was changed by hand, or nobody confirmed it.
pub(super) fn run_install(command: &Install, out: &mut dyn Write) -> Result<u8, Failure> {
    let Install::Service { place, yes, json } = command;
    human()?;
    let path = unit_path()?;
    let text = unit(place)?;
    if matches!(state(&path)?, State::Strange) {
        return Err(strange(&path, "it stays as it is; move it away to have a new one written"));
    }
    if !json {
        writeln!(out, "{}:\n\n{text}", exact(&path.display().to_string()))?;
    }
    if !confirmed(*yes, *json, "Write it? Type yes: ", out)? {
        return Err("nothing was written; say --yes, or confirm it at a terminal".into());
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    replace(&path, &text).map_err(|why| format!("{}: {why}", path.display()))?;
    let reloaded = systemctl(&["daemon-reload"]);
    let mut next = Vec::new();
    if reloaded.is_err() {
        next.push("systemctl --user daemon-reload");
    }
    next.push("systemctl --user enable --now passepartout.service");
    told((&path, true), &reloaded, &next, *json, out)
}

/// Removes the unit.
///
/// # Errors
/// When it cannot be removed, was changed by hand, or nobody confirmed it.
pub(super) fn run_uninstall(command: &Uninstall, out: &mut dyn Write) -> Result<u8, Failure> {
    let Uninstall::Service { yes, json } = command;
    human()?;
    let path = unit_path()?;
    match state(&path)? {
        State::Ours => {}
        State::None => return Err(format!("there is no {}", exact(&path.display().to_string())).into()),
        State::Strange => return Err(strange(&path, "remove it yourself when it is not wanted any more")),
    }
    let question = format!("Stop the daemon and remove {}? Type yes: ", exact(&path.display().to_string()));
    if !confirmed(*yes, *json, &question, out)? {
        return Err("nothing was removed; say --yes, or confirm it at a terminal".into());
    }
    // While the unit is there, it can be stopped by its name.
    let stopped = systemctl(&["disable", "--now", UNIT]);
    std::fs::remove_file(&path).map_err(|why| format!("{}: {why}", path.display()))?;
    let reloaded = stopped.and_then(|()| systemctl(&["daemon-reload"]));
    let next: &[&str] = match reloaded {
        Ok(()) => &[],
        Err(_) => &["systemctl --user stop passepartout.service", "systemctl --user daemon-reload"],
    };
    told((&path, false), &reloaded, next, *json, out)
}

/// Says what was done and what is to be done next.
fn told(
    (path, written): (&Path, bool),
    reloaded: &Result<(), String>,
    next: &[&str],
    as_json: bool,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let path = path.display().to_string();
    let why = reloaded.as_ref().err();
    if as_json {
        writeln!(
            out,
            "{}",
            json!({ "unit": path, "written": written, "reloaded": why.is_none(), "why": why, "next": next })
        )?;
        return Ok(DONE);
    }
    writeln!(out, "{} {}.", if written { "Written:" } else { "Removed:" }, exact(&path))?;
    if let Some(why) = why {
        writeln!(out, "systemd was not told: {}.", exact(why))?;
    }
    if !next.is_empty() {
        writeln!(out, "Next:")?;
        next.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
    }
    if written {
        writeln!(out, "It goes on without a login after: loginctl enable-linger")?;
    }
    Ok(DONE)
}

/// What the agent started installs nothing.
fn human() -> Result<(), Failure> {
    not_started_by_us(std::process::id()).map_err(|why| Failure {
        text: format!("a service is installed and removed by a human: {why}"),
        status: FAILED,
    })
}

fn confirmed(yes: bool, as_json: bool, question: &str, out: &mut dyn Write) -> Result<bool, Failure> {
    if yes {
        return Ok(true);
    }
    if as_json || !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        return Ok(false);
    }
    Ok(terminal::answer(out, question)?.is_some_and(|line| line.eq_ignore_ascii_case("yes")))
}

/// What lies in the unit's place.
enum State {
    None,
    /// As it was written.
    Ours,
    /// Somebody else's, or changed since.
    Strange,
}

fn state(path: &Path) -> Result<State, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) if is_ours(&text) => Ok(State::Ours),
        Ok(_) => Ok(State::Strange),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => Ok(State::None),
        Err(why) => Err(format!("{}: {why}", exact(&path.display().to_string())).into()),
    }
}

fn strange(path: &Path, then: &str) -> Failure {
    format!("{} was changed by hand, or is not ours; {then}", exact(&path.display().to_string())).into()
}

fn is_ours(text: &str) -> bool {
    let sum = text.split_once('\n').and_then(|(first, rest)| Some((first.strip_prefix(MARK)?, rest)));
    sum.is_some_and(|(sum, rest)| blake3::hash(rest.as_bytes()).to_hex().as_str() == sum)
}

fn unit_path() -> Result<PathBuf, Failure> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let settings = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
    let settings = settings.ok_or("neither XDG_CONFIG_HOME nor HOME says where your settings are")?;
    Ok(settings.join("systemd/user").join(UNIT))
}

/// Returns the unit's text.
fn unit(place: &Place) -> Result<String, Failure> {
    let program = std::env::current_exe().map_err(|why| format!("this program cannot be found: {why}"))?;
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let mut words = vec![argument(&program.display().to_string())?, "daemon".to_string(), "--wait".to_string()];
    let mut option = |name: &str, path: &PathBuf| -> Result<(), Failure> {
        words.push(name.to_string());
        words.push(argument(&absolute(path).display().to_string())?);
        Ok(())
    };
    place.store.iter().try_for_each(|path| option("--store", path))?;
    place.project.iter().try_for_each(|path| option("--project", path))?;
    place.memex.iter().try_for_each(|path| option("--memex", path))?;
    let mut lines = Vec::new();
    for name in CARRIED {
        if let Ok(value) = std::env::var(name) {
            lines.push(format!("Environment={}\n", word(&format!("{name}={value}"))?));
        }
    }
    let rest = format!(
        "# Change nothing here: systemctl --user edit passepartout.service adds lines of yours.\n\
         [Unit]\n\
         Description=Passepartout, the core without Emacs\n\
         \n\
         [Service]\n\
         Type=exec\n\
         ExecStart={}\n\
         ExecReload=/bin/kill -HUP $MAINPID\n\
         Restart=on-failure\n\
         RestartSec=5\n\
         TimeoutStopSec=10\n\
         LimitNOFILE={FILES}\n\
         KillMode=mixed\n\
         {}\
         UMask=0077\n\
         NoNewPrivileges=yes\n\
         LockPersonality=yes\n\
         RestrictRealtime=yes\n\
         RestrictSUIDSGID=yes\n\
         SystemCallArchitectures=native\n\
         RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK\n\
         # Left out, since commands could not be confined any more: RestrictNamespaces=, SystemCallFilter=.\n\
         # Left out, since nobody could join from outside a user namespace: ProtectSystem=, ProtectHome=, PrivateTmp=.\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        words.join(" "),
        lines.concat(),
    );
    Ok(format!("{MARK}{}\n{rest}", blake3::hash(rest.as_bytes()).to_hex()))
}

/// Returns a word of a command as systemd reads it back: only there `$` stands for a variable.
fn argument(text: &str) -> Result<String, Failure> {
    Ok(word(text)?.replace('$', "$$"))
}

/// Returns a word of a setting as systemd reads it back.
fn word(text: &str) -> Result<String, Failure> {
    if text.chars().any(char::is_control) {
        return Err(format!("a path with a control character cannot stand in a unit: {}", exact(text)).into());
    }
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    Ok(format!("\"{text}\""))
}

/// Has the user's systemd do something.
fn systemctl(words: &[&str]) -> Result<(), String> {
    let mut command = std::process::Command::new("systemctl");
    command.arg("--user").args(words).stdin(std::process::Stdio::null()).env_remove(TOKEN);
    let ran = command.output();
    match ran {
        Ok(ran) if ran.status.success() => Ok(()),
        Ok(ran) => Err(String::from_utf8_lossy(&ran.stderr).trim().to_string()),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => Err("there is no systemctl here".to_string()),
        Err(why) => Err(format!("systemctl cannot be run: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_that_was_changed_is_known_by_its_sum() {
        let place = Place { store: Some("/s t/100%".into()), memex: vec!["/m$x".into()], project: None };
        let text = unit(&place).unwrap_or_else(|failure| panic!("{}", failure.text));
        assert!(is_ours(&text), "{text}");
        assert!(text.contains("daemon --wait --store \"/s t/100%%\" --memex \"/m$$x\"\n"), "{text}");
        assert!(!is_ours(&text.replace("RestartSec=5", "RestartSec=6")) && !is_ours("") && !is_ours(MARK));
        let read = |made: Result<String, Failure>| made.unwrap_or_else(|failure| panic!("{}", failure.text));
        assert_eq!(read(argument("/a$b")), "\"/a$$b\"");
        assert_eq!(read(word("XDG_STATE_HOME=/a$b%")), "\"XDG_STATE_HOME=/a$b%%\"", "a setting knows no variables");
        assert!(word("a\nExecStartPre=b").is_err());
        assert!(word("a\"b\\").is_ok_and(|word| word == "\"a\\\"b\\\\\""));
    }
}
