//! Rules that were learned from approvals: the shape of an action, a place, a date and a number of uses.
//!
//! A rule answers what the permissions gate and the high-impact check ask, and nothing else: what any other gate or
//! check says stands, and so does every denial.

use crate::domain::action::Action;
use crate::domain::gate::dispatcher;
use crate::domain::gate::facts::{PathForm, ScriptFact};
use crate::domain::gate::place;
use crate::domain::gate::{Case, Facts, Trace, Verdict};
use crate::domain::hash::ContentHasher;
use crate::domain::label::{Privacy, Trust};
use crate::domain::scope::Scope;
use crate::domain::tool::{Effect, Offered, RESTORE, Tool, writes_skills};
use std::collections::BTreeSet;

/// How long a rule holds that nobody gave another date, in days.
pub const DAYS: i64 = 30;
/// How often it may be used.
pub const USES: u32 = 50;
/// The arguments that are remembered with their values; of others only that they were given.
pub(super) const TELLING: &[&str] = &["state", "property", "kind"];
/// Programs that run what others name: no command with one of them is remembered.
const WRAPPERS: &[&str] = &[
    "sh",
    "bash",
    "dash",
    "zsh",
    "fish",
    "ksh",
    "csh",
    "tcsh",
    "ash",
    "mksh",
    "busybox",
    "toybox",
    "env",
    "xargs",
    "sudo",
    "doas",
    "su",
    "runuser",
    "pkexec",
    "timeout",
    "nohup",
    "nice",
    "ionice",
    "setsid",
    "stdbuf",
    "time",
    "watch",
    "strace",
    "ltrace",
    "gdb",
    "chroot",
    "unshare",
    "nsenter",
    "flock",
    "script",
    "parallel",
    "entr",
    "find",
    "fd",
    "eval",
    "exec",
    "source",
    ".",
    "command",
    "builtin",
    "trap",
    "python",
    "python2",
    "python3",
    "pypy",
    "pypy3",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "wish",
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "sed",
    "ed",
    "ex",
    "vi",
    "vim",
    "nvim",
    "emacs",
    "emacsclient",
    "osascript",
    "pwsh",
    "powershell",
    "java",
    "jshell",
    "scala",
    "groovy",
    "ghc",
    "runghc",
    "sbcl",
    "clisp",
    "guile",
    "racket",
    "elixir",
    "erl",
    "julia",
    "r",
    "rscript",
    "octave",
    "gnuplot",
    "make",
    "gmake",
    "bmake",
    "ninja",
    "cmake",
    "meson",
    "just",
    "task",
    "rake",
    "ant",
    "mvn",
    "gradle",
    "gradlew",
    "sbt",
    "bazel",
    "buck",
    "scons",
    "npm",
    "npx",
    "pnpm",
    "pnpx",
    "yarn",
    "corepack",
    "cargo",
    "go",
    "rustc",
    "rustup",
    "pip",
    "pip3",
    "pipx",
    "uv",
    "uvx",
    "poetry",
    "pdm",
    "hatch",
    "tox",
    "nox",
    "pytest",
    "conda",
    "bundle",
    "bundler",
    "gem",
    "composer",
    "dotnet",
    "swift",
    "zig",
    "nix",
    "guix",
    "docker",
    "podman",
    "kubectl",
    "helm",
    "ssh",
    "scp",
    "rsync",
    "tar",
    "git",
    "hg",
    "svn",
    "gpg",
    "openssl",
    "curl",
    "wget",
    "nc",
    "ncat",
    "socat",
    "crontab",
    "at",
    "batch",
    "systemctl",
    "systemd-run",
    "launchctl",
    "passepartout",
];

/// What is remembered of an action.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape {
    /// The tool.
    pub tool: String,
    /// Its arguments: their names, the values that tell what it does, the form of a file's name, the words of a command.
    pub words: Vec<String>,
}

/// The shape of an action, and where it happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The shape.
    pub shape: Shape,
    /// The file of notes, or the folder, canonical.
    pub place: String,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learned {
    /// The shape that it answers for.
    pub shape: Shape,
    /// The file, or the folder with all below it.
    pub place: String,
    /// Until when.
    pub until: jiff::Timestamp,
    /// How often at most.
    pub uses: u32,
}

impl Learned {
    /// Returns its short name: the letter R and the first digits of a hash of all of it.
    pub fn id(&self) -> String {
        let mut hasher = ContentHasher::new("learned rule");
        hasher.text(&self.shape.tool).number(self.shape.words.len() as u64);
        for word in &self.shape.words {
            hasher.text(word);
        }
        hasher.text(&self.place).text(&self.until.to_string()).number(u64::from(self.uses));
        let hex = blake3::Hash::from_bytes(hasher.finish()).to_hex();
        format!("R{}", hex.as_str().get(..8).unwrap_or_default().to_ascii_uppercase())
    }

    /// Returns it in one line for people.
    pub fn words(&self) -> String {
        let day = self.until.strftime("%Y-%m-%d");
        format!(
            "{} [{}] in {} and below, until {day}, {} times at most",
            self.shape.tool,
            self.shape.words.join(" "),
            self.place,
            self.uses
        )
    }

    /// Returns whether it speaks of what was seen.
    pub fn fits(&self, seen: &Seen) -> bool {
        self.shape == seen.shape && place::is_below(&seen.place, &self.place)
    }

    /// Returns whether it answers everything that was asked of a case. It never answers a denial.
    pub fn answers(&self, case: &Case<'_>, trace: &Trace) -> bool {
        seen(case.action, case.tool, case.scope, case.facts).is_some_and(|seen| self.fits(&seen))
            && answerable(case, trace)
    }
}

/// Returns whether all that gates ask of a case may be answered by a rule at all: only what the permissions gate and
/// the high-impact check ask, on an action that can be undone, holds no secret, was led by nothing from outside, and
/// stands where all that headings rule could be read.
pub fn answerable(case: &Case<'_>, trace: &Trace) -> bool {
    let facts = case.facts;
    let mut asked = false;
    for opinion in &trace.opinions {
        match (&opinion.verdict, opinion.gate.as_str()) {
            (Verdict::Pass(_), _) => {}
            (Verdict::Ask(_), "permissions") => asked = true,
            (Verdict::Ask(_), "dispatcher") => {
                asked = true;
                if !dispatcher::asks_only_of_routine(case) {
                    return false;
                }
            }
            (Verdict::Ask(_) | Verdict::Deny(_), _) => return false,
        }
    }
    let harmless = facts.unknown.is_empty()
        && facts.impossible.is_empty()
        && facts.vault.is_empty()
        && facts.not_undoable.is_none()
        && facts.doubts.is_empty()
        && facts.puts.is_empty()
        && facts.quotes.is_empty()
        && facts.mandate.wrong.is_empty()
        // What was rewritten is nothing that the user saw again and again.
        && case.action.refinement().is_none();
    let private = case.action.labels().privacy.max(facts.privacy.unwrap_or(Privacy::Open)).is_kept();
    asked && harmless && !private && case.action.labels().trust != Trust::Untrusted
}

/// Returns whether an action is about a file that runs, or decides what runs: no heading allows that in advance.
pub fn reaches_guarded(case: &Case<'_>) -> bool {
    let facts = case.facts;
    let named = facts.paths.iter().map(|path| path.resolved.as_str());
    let files = named.chain(facts.edits.iter().map(|edit| edit.file.as_str()));
    files.chain(facts.puts.iter().map(|put| put.file.as_str())).any(|file| place::guarded(file, case.scope).is_some())
}

/// Returns the shape of an action and where it happens; `None` for what is never remembered.
pub fn seen(action: &Action, tool: &Tool, scope: &Scope, facts: &Facts) -> Option<Seen> {
    let plain = facts.paths.iter().all(|path| path.form == PathForm::Plain && path.links <= 1);
    if !plain || tool.name == RESTORE || writes_skills(tool.name) || tool.offered == Offered::Never {
        return None;
    }
    let mut words: BTreeSet<String> = BTreeSet::new();
    for (name, value) in action.args() {
        match value.as_str().filter(|_| TELLING.contains(&name.as_str())) {
            Some(value) => words.insert(format!("{name}={value}")),
            None => words.insert(name.clone()),
        };
    }
    if tool.effect == Effect::Execute {
        let shape = Shape { tool: tool.name.to_string(), words: command(facts, scope)? };
        return Some(Seen { shape, place: scope.project.clone() });
    }
    let mut files: BTreeSet<&str> = facts.edits.iter().map(|edit| edit.file.as_str()).collect();
    files.extend(facts.paths.iter().map(|path| path.resolved.as_str()));
    let mut files = files.into_iter();
    // Of several files no one place would say enough.
    let file = files.next();
    let (None, named) = (files.next(), file) else { return None };
    let place = match tool.effect {
        Effect::EditOrg => named?.to_string(),
        Effect::WriteFile | Effect::ReadFile => {
            let (folder, name) = named?.rsplit_once('/')?;
            words.insert(match place::guarded(named?, scope) {
                // What runs by itself is that very file, and none of its name further down.
                Some(_) => format!("name={}", named?),
                None => {
                    name.rsplit_once('.').map_or_else(|| format!("name={name}"), |(_, end)| format!("name=*.{end}"))
                }
            });
            folder.to_string()
        }
        // What reads no file has no place; Lisp is an interpreter's; what leaves this machine has its own questions.
        Effect::Reply
        | Effect::Delegate
        | Effect::Configure
        | Effect::Execute
        | Effect::ReadMemory
        | Effect::ReadEditor
        | Effect::Commit
        | Effect::ShowInEditor
        | Effect::Evaluate
        | Effect::Send
        | Effect::Fetch
        | Effect::Custom(_) => return None,
    };
    Some(Seen { shape: Shape { tool: tool.name.to_string(), words: words.into_iter().collect() }, place })
}

/// Returns the words of one plain command, with operands below the project as `<path>`; `None` for anything more.
fn command(facts: &Facts, scope: &Scope) -> Option<Vec<String>> {
    let [script] = facts.shell.as_ref()?.scripts.as_slice() else { return None };
    let ScriptFact { commands, redirects, functions, background, unknown, .. } = script;
    let [command] = commands.as_slice() else { return None };
    if !redirects.is_empty() || !functions.is_empty() || *background || !unknown.is_empty() {
        return None;
    }
    let (program, rest) = command.words.split_first()?;
    let name = program.value.as_deref()?;
    if !command.assignments.is_empty() || name.contains('/') || is_wrapper(name) {
        return None;
    }
    let mut words = vec![name.to_string()];
    for word in rest {
        let value = word.value.as_deref().filter(|_| !word.glob)?;
        let inside = |path: &String| place::is_below(path, &scope.project);
        let names_file = value.contains('/') || value.contains('.');
        let below = !word.resolved.is_empty() && word.resolved.iter().all(inside);
        words.push(match !value.starts_with('-') && names_file && below {
            true => "<path>".to_string(),
            false => value.to_string(),
        });
    }
    Some(words)
}

/// Returns whether a program runs what its arguments, its input or a file say.
pub fn is_wrapper(program: &str) -> bool {
    let lower = program.to_lowercase();
    let bare = lower.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    WRAPPERS.iter().any(|wrapper| *wrapper == lower || (*wrapper == bare && !bare.is_empty()))
}

#[cfg(test)]
mod tests;
