//! What a parsed shell command would do, judged program by program.
//!
//! A command is harmless only when every simple command in it is a known program that reads, with
//! options that are known to read. Everything else is a [`Concern`]. Nothing is matched against the
//! text of the whole command.

mod allowed;
mod catalogue;
mod catastrophe;
mod checks;
mod destruction;
mod families;
mod git;
mod layouts;
mod moves;
mod names;
mod once;
mod options;
mod programs;
mod readers;
mod runs;
mod scripts;
mod tables;
mod told;
mod unwrap;
mod viewers;

use crate::domain::gate::facts::{CommandFact, RedirectFact, RedirectKind, ScriptFact, ShellFact, Word};
use crate::domain::gate::place::{self, Zone};
use crate::domain::scope::Scope;
use once::{OfCommand, OfScript};
use programs::Added;
use std::cell::Cell;
use std::collections::BTreeSet;
use unwrap::Inner;

pub use moves::{Move, moves, started};
pub use programs::prepare;
pub use runs::{Runs, runs};
pub use tables::is_name;

/// How bad a concern is. The order is by severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Harm {
    /// It is not known what it does.
    Unknown,
    /// It changes something that can be restored.
    Moderate,
    /// It destroys, or runs what nobody has read.
    Dangerous,
    /// It cannot be meant.
    Catastrophic,
}

/// What a concern is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Matter {
    /// What the command does.
    Effect,
    /// It names a file with keys or passwords.
    Secret,
    /// It reaches for Passepartout or its files.
    Own,
    /// It connects to somewhere.
    Network,
    /// It hands secrets to something that connects.
    Leak,
}

/// One thing that speaks against a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concern {
    /// What it is about.
    pub matter: Matter,
    /// How bad it is.
    pub harm: Harm,
    /// Why, in a sentence.
    pub why: String,
}

/// The deepest chain of wrappers that is followed: `env nice timeout 3 xargs …`.
const MAX_WRAPPERS: usize = 24;

/// Returns all that speaks against a command; nothing when it is known to read only.
pub fn examine(fact: Option<&ShellFact>, scope: &Scope) -> Vec<Concern> {
    let Some(shell) = fact.filter(|shell| !shell.scripts.is_empty()) else {
        return vec![effect(Harm::Unknown, "The command was not parsed.")];
    };
    let mut concerns = Vec::new();
    for script in &shell.scripts {
        Look::new(scope, shell, script).script(&mut concerns);
    }
    let mut seen = BTreeSet::new();
    concerns.retain(|concern| seen.insert(concern.why.clone()));
    concerns
}

/// Returns every shell text that a command hands to a shell, so that it can be parsed in turn.
pub fn inner_texts(command: &CommandFact) -> Vec<String> {
    let mut texts = Vec::new();
    let mut stack: Vec<(&[Word], usize)> = vec![(&command.words, 0)];
    while let Some((words, depth)) = stack.pop() {
        let Some(unwrapped) = unwrap::unwrap(words).filter(|_| depth < MAX_WRAPPERS) else { continue };
        for inner in unwrapped.inner {
            match inner {
                Inner::Argv { words, .. } => stack.push((words, depth + 1)),
                Inner::Script(text) => texts.push(text),
                Inner::Dynamic => {}
            }
        }
    }
    texts
}

/// Returns the script file that a command would run, as it is spelt; `None` when it runs none.
pub fn script_file(command: &CommandFact) -> Option<&Word> {
    let name = command.words.first()?.value.as_deref()?;
    match base_name(name) {
        "sh" | "bash" | "dash" | "ksh" | "zsh" | "source" | "." => {
            command.words.iter().skip(1).find(|word| word.value.as_deref().is_some_and(|text| !text.starts_with('-')))
        }
        _ if name.starts_with("./") || name.starts_with("../") => command.words.first(),
        _ => None,
    }
}

/// Returns the notes of the project that a command and all it runs in turn name: so many at most, by canonical path.
pub fn named_notes<'a>(shell: &'a ShellFact, scope: &Scope, most: usize) -> BTreeSet<&'a str> {
    let words = shell.scripts.iter().flat_map(ScriptFact::words);
    let paths = words.flat_map(|word| &word.resolved).map(String::as_str);
    paths.filter(|path| place::holds_notes(path) && place::zone(path, scope) == Zone::Project).take(most).collect()
}

fn effect(harm: Harm, why: impl Into<String>) -> Concern {
    Concern { matter: Matter::Effect, harm, why: why.into() }
}

/// Returns a program's name without the folder that it lies in.
fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Returns the program's name when it is spelt so that only the system's program can be meant.
fn system_name(name: &str) -> Option<&str> {
    if !name.contains('/') {
        return Some(name);
    }
    let (folder, base) = name.rsplit_once('/')?;
    ["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"].contains(&folder).then_some(base)
}

/// How many words behind the first of commands are looked at as if a program stood there: each is once for each word
/// before it, so their number is bounded by counting.
const TAILS: usize = 50_000;

struct Look<'a> {
    scope: &'a Scope,
    shell: &'a ShellFact,
    script: &'a ScriptFact,
    /// What is found out of the script once.
    once: OfScript,
    /// How many words may still be looked at behind the first of a command.
    tails: Cell<usize>,
}

/// What a simple command is given from around it.
#[derive(Clone, Copy)]
struct Given<'a> {
    command: &'a CommandFact,
    /// What is found out of the command once.
    once: &'a OfCommand,
    /// Whether arguments that are not known are added to those that are.
    appended: bool,
    /// The text in whose place they are put; `None` when they are put behind all others.
    slot: Option<&'a str>,
}

impl<'a> Look<'a> {
    fn new(scope: &'a Scope, shell: &'a ShellFact, script: &'a ScriptFact) -> Look<'a> {
        Look { scope, shell, script, once: OfScript::default(), tails: Cell::new(TAILS) }
    }
}

impl Look<'_> {
    fn script(&self, concerns: &mut Vec<Concern>) {
        concerns.extend(self.script.unknown.iter().map(|why| effect(Harm::Unknown, why.clone())));
        self.functions(concerns);
        if self.script.background {
            concerns.push(effect(Harm::Moderate, "It leaves something running in the background."));
        }
        for command in &self.script.commands {
            self.command(command, concerns);
        }
        for redirect in &self.script.redirects {
            self.redirect(redirect, concerns);
        }
    }

    fn functions(&self, concerns: &mut Vec<Concern>) {
        for name in &self.script.functions {
            let calls = self.script.commands.iter().filter(|c| value(c.words.first()) == Some(name.as_str())).count();
            let piped = self.script.background && calls > 1;
            if piped {
                concerns
                    .push(effect(Harm::Catastrophic, format!("“{name}” starts itself again and again (a fork bomb).")));
            }
            concerns.push(effect(
                Harm::Moderate,
                format!("It defines “{name}”, so that the word no longer means what it says."),
            ));
        }
    }

    fn command(&self, command: &CommandFact, concerns: &mut Vec<Concern>) {
        for (name, word) in &command.assignments {
            let bare = command.words.is_empty();
            // How one line is split into words is the affair of `read` alone.
            let splits = name == "IFS" && value(command.words.first()) == Some("read");
            if !splits && !tables::harmless_variable(name, word.value.as_deref(), bare) {
                concerns.push(effect(Harm::Dangerous, format!("Setting {name} can change what programs do.")));
            }
            self.secrets(word, Harm::Unknown, concerns);
        }
        if command.words.is_empty() {
            return;
        }
        let once = OfCommand::default();
        self.argv(&command.words, Given { command, once: &once, appended: false, slot: None }, concerns);
    }

    /// Judges one argument vector and all that it would run in turn.
    fn argv<'a>(&self, words: &'a [Word], given: Given<'a>, concerns: &mut Vec<Concern>) {
        let mut stack: Vec<(&'a [Word], Given<'a>, usize)> = vec![(words, given, 0)];
        while let Some((words, given, depth)) = stack.pop() {
            if depth > MAX_WRAPPERS {
                concerns.push(effect(Harm::Unknown, "Too many programs start one another."));
                return;
            }
            let before = concerns.len();
            match unwrap::unwrap(words) {
                Some(unwrapped) => {
                    if let Some(why) = unwrapped.why {
                        concerns.push(effect(Harm::Dangerous, why));
                    }
                    if given.appended && unwrapped.inner.is_empty() {
                        concerns.push(effect(Harm::Dangerous, "A program is started that is known only at run time."));
                    }
                    for inner in unwrapped.inner {
                        match inner {
                            Inner::Argv { words, appended, slot } => {
                                let slot = slot.or(given.slot);
                                let given = Given { appended: given.appended || appended, slot, ..given };
                                stack.push((words, given, depth + 1));
                            }
                            Inner::Script(text) => self.inner_script(&text, concerns),
                            Inner::Dynamic => {
                                concerns
                                    .push(effect(Harm::Dangerous, "What a shell would run is known only at run time."));
                            }
                        }
                    }
                }
                None => self.program(words, given, concerns),
            }
            if concerns.len() > before {
                self.worst(words, given, concerns);
            }
        }
    }

    fn inner_script(&self, text: &str, concerns: &mut Vec<Concern>) {
        if !self.shell.scripts.iter().any(|script| script.text == text) {
            concerns.push(effect(Harm::Unknown, "What a shell would run in turn was not parsed."));
        }
    }

    /// Looks for what cannot be meant and for what destroys, also behind a program that starts others.
    fn worst(&self, words: &[Word], given: Given<'_>, concerns: &mut Vec<Concern>) {
        let mut dangerous = destruction::find_by_name(words, given.appended);
        for n in 0..words.len().min(64) {
            let Some(tail) = words.get(n..) else { break };
            if n > 0 {
                let Some(left) = self.tails.get().checked_sub(tail.len()) else {
                    concerns.push(effect(Harm::Unknown, "It has so many words that not all of them are looked at."));
                    break;
                };
                self.tails.set(left);
            }
            if let Some(why) = catastrophe::find(tail, self.scope) {
                concerns.push(effect(Harm::Catastrophic, why));
                return;
            }
            dangerous = dangerous.or_else(|| destruction::find(tail));
        }
        concerns.extend(dangerous.map(|why| effect(Harm::Dangerous, why)));
    }

    fn program(&self, words: &[Word], given: Given<'_>, concerns: &mut Vec<Concern>) {
        let Some(first) = words.first() else {
            concerns.push(effect(Harm::Unknown, "A program is started that is known only at run time."));
            return;
        };
        let Some(spelt) = first.value.as_deref().filter(|_| !first.glob || first.raw == "[") else {
            concerns.push(effect(
                Harm::Dangerous,
                format!("Which program “{}” is, is known only at run time.", clip(&first.raw)),
            ));
            return;
        };
        let asked = words.get(1).is_some_and(|word| matches!(value(Some(word)), Some("--version" | "--help")));
        let told = asked && words.len() == 2 && spelt == "emacsclient" && !given.appended;
        if !told && tables::OURS.contains(&base_name(spelt).to_ascii_lowercase().as_str())
            || base_name(spelt).starts_with("passepartout")
        {
            let why = format!("“{}” reaches for Passepartout or for this Emacs.", clip(base_name(spelt)));
            concerns.push(Concern { matter: Matter::Own, harm: Harm::Catastrophic, why });
        }
        let name = base_name(spelt);
        let args = words.get(1..).unwrap_or(&[]);
        // Its version or its help: the only argument is an option that ends it. A program that does not know the option
        // may carry out what it is handed.
        let tells = || !given.appended && told::tells(name, args) && self.is_handed_nothing(given.command);
        if system_name(spelt) == Some(spelt) && !self.shadows(name) && tells() {
            return;
        }
        if given.appended && unwrap::starts_others(name) {
            concerns.push(effect(Harm::Dangerous, format!("“{name}” would start what is known only at run time.")));
        }
        if name == "read" && self.handed(given.command) {
            concerns.push(effect(Harm::Unknown, "“read” is given text that is made only at run time."));
        }
        let connects = tables::NETWORK.contains(&name);
        if connects {
            let why = format!(
                "“{name}” connects to somewhere; without named hosts there is no network in the confined shell."
            );
            concerns.push(Concern { matter: Matter::Network, harm: Harm::Moderate, why });
        }
        let verdict = match system_name(spelt) {
            _ if connects => Vec::new(),
            None => vec![effect(
                Harm::Dangerous,
                format!("“{}” is a program of its own making, not the system's.", clip(spelt)),
            )],
            Some(name) if self.shadows(name) || tells() => Vec::new(),
            Some(name) => {
                // Behind what ends the options, names are none.
                let ends = given.slot.is_none() && programs::ends_options(name, args);
                let added = match self.added(given) {
                    Added::Names if ends => Added::Operands,
                    added => added,
                };
                programs::judge(name, &self.with_names(name, words, given.command), added)
            }
        };
        if let Some(slot) = given.slot.filter(|slot| programs::is_told(name, words, slot)) {
            let why = format!("What “{name}” is told to do in place of “{}” is known only at run time.", clip(slot));
            concerns.push(effect(Harm::Unknown, why));
        }
        let shows = if name == "git" { git::prints(args) } else { shows_content(name, args) };
        let consumes = (shows && !catalogue::PACKERS.contains(&name)) || connects || tables::COPIES.contains(&name);
        self.arguments(name, words, given, consumes, concerns);
        if connects && self.feeds_secrets(given) {
            let why = format!("It would hand secrets or the environment to “{name}”.");
            concerns.push(Concern { matter: Matter::Leak, harm: Harm::Catastrophic, why });
        }
        concerns.extend(verdict);
    }

    fn shadows(&self, name: &str) -> bool {
        self.script.functions.iter().any(|function| function == name)
    }

    /// Whether text that stands in the script is handed to a command.
    fn handed(&self, command: &CommandFact) -> bool {
        let here =
            |redirect: &&RedirectFact| redirect.pipeline == command.pipeline && redirect.kind == RedirectKind::Here;
        self.script.redirects.iter().any(|redirect| here(&redirect))
    }

    /// Judges the files that the arguments name.
    fn arguments(&self, name: &str, words: &[Word], given: Given<'_>, consumes: bool, concerns: &mut Vec<Concern>) {
        let reads = shows_content(name, words.get(1..).unwrap_or(&[]));
        let text_only = programs::text_only(name);
        let skip = programs::pattern_operand(name, words);
        let listing = programs::lists(name) && !reads;
        let walks = walks_folders(name, words);
        // What is shown of a certificate is what everybody may know; of a key nothing is.
        let certificate = name == "openssl"
            && !given.appended
            && matches!(value(words.get(1)), Some("x509" | "req" | "crl" | "verify"))
            && programs::judge(name, words.get(1..).unwrap_or(&[]), Added::Nothing).is_empty();
        for (n, word) in words.iter().enumerate().skip(1) {
            if certificate {
                self.own(word, concerns);
                concerns.extend(self.lies_elsewhere(word, walks));
                continue;
            }
            if text_only || Some(n) == skip {
                continue;
            }
            if listing {
                // Names and sizes are no secret; our own files are nobody's business.
                self.own(word, concerns);
                continue;
            }
            // A key that a program shows to nobody is asked about: what proves who one is, and what is made.
            let kept = tables::proves(name, words, n) || name == "openssl" && value(words.get(n - 1)) == Some("-out");
            self.secrets(word, if consumes && !kept { Harm::Catastrophic } else { Harm::Dangerous }, concerns);
            if reads {
                concerns.extend(self.lies_elsewhere(word, walks));
            }
        }
        if reads && given.appended {
            // What is found below a home is read by the program: `find ~ -exec cat {} +`.
            self.elsewhere_upstream(given, concerns);
        }
        if reads && given.appended && (self.picks_secret(given) || self.upstream_hides(given)) {
            concerns.push(effect(Harm::Unknown, format!("Which files “{name}” is given is known only at run time.")));
        }
        if reads && self.wanders() && reads_there(name, words, given.appended) {
            concerns.push(effect(Harm::Unknown, WANDERS));
        }
    }

    fn own(&self, word: &Word, concerns: &mut Vec<Concern>) {
        if let Some(path) = word.resolved.iter().find(|path| place::zone(path, self.scope) == Zone::Own) {
            let why = format!("“{}” belongs to Passepartout itself.", clip(path));
            concerns.push(Concern { matter: Matter::Own, harm: Harm::Catastrophic, why });
        }
    }

    fn secrets(&self, word: &Word, harm: Harm, concerns: &mut Vec<Concern>) {
        self.own(word, concerns);
        let named = word.resolved.iter().find_map(|path| Some((path, place::secret(path, self.scope)?)));
        if let Some((path, why)) = named {
            let why = format!("“{}” is not for reading: {why}.", clip(path));
            concerns.push(Concern { matter: Matter::Secret, harm, why });
        } else if let Some(path) = word.private.first() {
            let why = format!(
                "“{}”: only its owner may read it, and it lies as keys and accounts lie in a home.",
                clip(path)
            );
            concerns.push(Concern { matter: Matter::Secret, harm: Harm::Dangerous, why });
        } else if let Some(path) = word.matched.first() {
            let why = format!("“{}” also matches “{}”, a secret file.", clip(&word.raw), clip(path));
            concerns.push(Concern { matter: Matter::Secret, harm: Harm::Dangerous, why });
        } else if word.glob && value(Some(word)).is_some_and(place::pattern_may_be_secret) {
            let why = format!("“{}” could name a secret file.", clip(&word.raw));
            concerns.push(Concern { matter: Matter::Secret, harm: Harm::Dangerous, why });
        }
    }

    /// Says what speaks against reading what a word names; when a program `walks`, what lies below it is read as well.
    fn lies_elsewhere(&self, word: &Word, walks: bool) -> Option<Concern> {
        let text = value(Some(word))?;
        let shut = |path: &&String| matches!(place::zone(path, self.scope), Zone::Home | Zone::Memex);
        // Of a word that is no option only the whole counts, wherever the script may be by then; of an option what may
        // be its value. Parts of words are candidates for secrets besides.
        let paths = match text.starts_with('-') {
            true if text.contains(['/', '~']) => word.resolved.as_slice(),
            true => &[],
            false => word.whole(),
        };
        let lies = |why: String| Some(effect(Harm::Unknown, why));
        if let Some(path) = paths.iter().find(shut) {
            return match place::zone(path, self.scope) {
                Zone::Memex => lies(format!("“{}” belongs to the memex, which the shell does not see.", clip(path))),
                _ => lies(format!("“{}” lies in somebody's home, outside the project.", clip(path))),
            };
        }
        let leads = |path: &&String| (walks || word.glob) && place::leads_to_homes(path, word.glob, self.scope);
        if let Some(path) = paths.iter().find(leads).filter(|_| !text.starts_with('-')) {
            return lies(format!("Below “{}” lie homes, outside the project.", clip(path)));
        }
        let device = |path: &&String| path.starts_with("/dev/") && !tables::harmless_device(path);
        lies(format!("“{}” is a device.", clip(paths.iter().find(device)?)))
    }

    fn redirect(&self, redirect: &RedirectFact, concerns: &mut Vec<Concern>) {
        let Some(target) = &redirect.target else { return };
        if matches!(redirect.kind, RedirectKind::Copy | RedirectKind::Here) {
            return;
        }
        let Some(path) = target.value.as_deref() else {
            concerns.push(effect(Harm::Dangerous, "A redirection's file is known only at run time."));
            return;
        };
        if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
            let why = format!("“{}” connects to somewhere.", clip(path));
            concerns.push(Concern { matter: Matter::Network, harm: Harm::Dangerous, why });
            return;
        }
        // What is written shows nothing; beyond the project it decides who may come in.
        let inside = |path: &String| place::zone(path, self.scope) == Zone::Project;
        let written = redirect.kind == RedirectKind::Write && target.resolved.iter().all(inside);
        match target.resolved.iter().find_map(|path| place::secret(path, self.scope)).filter(|_| written) {
            Some(why) => {
                let why = format!("It writes “{}”, a secret file: {why}.", clip(path));
                concerns.push(Concern { matter: Matter::Secret, harm: Harm::Dangerous, why });
            }
            None => self.secrets(target, Harm::Catastrophic, concerns),
        }
        match redirect.kind {
            RedirectKind::Read => {
                concerns.extend(self.lies_elsewhere(target, false));
                if self.wanders() && !path.starts_with('/') && !target.raw.starts_with("<(") {
                    concerns.push(effect(Harm::Unknown, WANDERS));
                }
            }
            RedirectKind::Write if tables::harmless_sink(path) => {}
            RedirectKind::Write => concerns.push(self.written(path, target)),
            RedirectKind::Copy | RedirectKind::Here => {}
        }
    }

    fn written(&self, path: &str, target: &Word) -> Concern {
        let resolved = target.resolved.first().map_or(path, String::as_str);
        if catastrophe::is_disk(resolved) {
            return effect(Harm::Catastrophic, format!("It overwrites the device “{}”.", clip(path)));
        }
        match place::guarded(resolved, self.scope) {
            Some(why) => effect(Harm::Dangerous, format!("It writes “{}”: {why}.", clip(path))),
            None => effect(Harm::Moderate, format!("It writes “{}”.", clip(path))),
        }
    }
}

const WANDERS: &str = "It changes to a folder that is known only at run time, or in somebody's home, and reads there.";

/// Whether a program shows what stands in its operands.
fn shows_content(name: &str, args: &[Word]) -> bool {
    programs::reads_content(name) || layouts::prints_content(name, args)
}

/// Whether a program reads all that lies below a folder that it is given.
fn walks_folders(name: &str, words: &[Word]) -> bool {
    let option = |letters: &[char], long: &[&str]| {
        words.iter().filter_map(|word| value(Some(word))).any(|text| match text.strip_prefix("--") {
            Some(name) => {
                let name = name.split('=').next().unwrap_or(name);
                !name.is_empty() && long.iter().any(|long| long.starts_with(name))
            }
            None => text.strip_prefix('-').is_some_and(|rest| rest.contains(letters)),
        })
    };
    match name {
        "rg" | "ripgrep" | "ag" | "tokei" | "scc" | "cloc" | "yamllint" | "exiftool" | "difft" | "difftastic" => true,
        // Where one of two things that it compares lies outside a repository, all below both is read.
        "git" => true,
        "grep" | "egrep" | "fgrep" | "zgrep" | "bzgrep" | "xzgrep" | "zegrep" | "zfgrep" => {
            option(&['r', 'R', 'd'], &["recursive", "dereference-recursive", "directories"])
        }
        "diff" | "colordiff" | "zdiff" => option(&['r'], &["recursive"]),
        "md5deep" => option(&['r'], &[]),
        _ => false,
    }
}

/// Whether a program that reads may read in the folder in which it runs: a file that is named from there, or, without
/// any name, all that is in it. What only filters what it is handed reads nothing there.
fn reads_there(name: &str, words: &[Word], appended: bool) -> bool {
    const FILTERS: &[&str] = &[
        "cat",
        "tac",
        "nl",
        "head",
        "tail",
        "cut",
        "paste",
        "fold",
        "rev",
        "expand",
        "unexpand",
        "fmt",
        "pr",
        "od",
        "hd",
        "hexdump",
        "xxd",
        "sort",
        "uniq",
        "shuf",
        "wc",
        "column",
        "base64",
        "base32",
        "md5sum",
        "sha1sum",
        "sha256sum",
        "sha512sum",
        "cksum",
        "gzip",
        "gunzip",
        "zcat",
        "xz",
        "zstd",
        "strings",
        "iconv",
        "less",
        "more",
    ];
    let named = |word: &Word| value(Some(word)).is_none_or(|text| !text.starts_with(['/', '-']));
    appended || !FILTERS.contains(&name) || words.iter().skip(1).any(named)
}

fn value(word: Option<&Word>) -> Option<&str> {
    word.and_then(|word| word.value.as_deref())
}

fn clip(text: &str) -> String {
    text.chars().take(80).collect()
}
