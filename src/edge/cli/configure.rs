//! `passepartout configure`: the first questions, as `M-x passepartout-setup` asks them, for the settings without Emacs.
//!
//! What is answered goes into `.env` of the settings folder, line by line; every other line of it stays as it is. A key
//! is never asked for: it is read from a file or a pipe that is named, or its place is said.

use crate::domain::inert::exact;
use crate::edge::cli::run::{DONE, Failure, USAGE};
use crate::edge::cli::terminal;
use crate::edge::config::{Config, Surroundings};
use crate::edge::env_file::{self, LONGEST_KEY};
use crate::edge::peers::lineage::not_started_by_us;
use crate::edge::provider::known::{KNOWN, Known, RECALL};
use crate::edge::secret::read_env_file;
use clap::Args;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

/// What is answered beforehand; the rest is asked at a terminal.
#[derive(Args, Debug)]
pub struct Configure {
    /// The folder of your notes.
    #[arg(long, value_name = "DIR")]
    pub memex: Option<PathBuf>,
    /// Who answers: a provider by its name, several in their order with commas between them; recall asks no model.
    #[arg(long, value_name = "NAMES")]
    pub provider: Option<String>,
    /// Where the key of the first provider is to lie: in the environment, or in the file .env of the settings folder.
    #[arg(long, value_name = "PLACE", value_parser = ["environment", "file"])]
    pub key_in: Option<String>,
    /// Take the key from the first line of this file into .env; “-” reads it from standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "key_in")]
    pub key_from: Option<PathBuf>,
    /// US dollars that models may cost in a day; 0 takes the cap away.
    #[arg(long, value_name = "USD")]
    pub budget: Option<String>,
    /// Ask nothing; what is not said stays as it is.
    #[arg(long)]
    pub non_interactive: bool,
    /// Print one JSON object, and ask nothing.
    #[arg(long)]
    pub json: bool,
}

/// Asks what was not said, and writes it down.
///
/// # Errors
/// When an answer is no good, or the file cannot be read or written.
pub(super) fn run_configure(said: &Configure, out: &mut dyn Write) -> Result<u8, Failure> {
    not_started_by_us(std::process::id()).map_err(|why| format!("settings are made by a human: {why}"))?;
    let config = Config::read(&Surroundings::of_process());
    let file = config.settings.join(".env");
    let known: BTreeMap<String, String> =
        read_env_file(&file).map_err(|why| exact(&why.to_string()))?.into_iter().collect();
    let asks = !said.non_interactive && !said.json;
    if asks && !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        let text = "there is no terminal to ask at; say --non-interactive, with --memex, --provider and --budget";
        return Err(Failure { text: text.to_string(), status: USAGE });
    }
    let home = config.home.clone();
    let mut asked = Asked { said, asks, known: &known, home: &home, out };
    let answers = asked.all()?;
    env_file::put(&file, &answers.lines).map_err(|why| exact(&why))?;
    told(&file, &answers, said.json, out)
}

/// What is to be written, and what is to be said.
#[derive(Default)]
struct Answers {
    /// Names with their new values; none takes the line away.
    lines: Vec<env_file::Line>,
    /// The name and the value of a key.
    notes: Vec<String>,
}

struct Asked<'a> {
    said: &'a Configure,
    asks: bool,
    known: &'a BTreeMap<String, String>,
    home: &'a Path,
    out: &'a mut dyn Write,
}

impl Asked<'_> {
    fn all(&mut self) -> Result<Answers, Failure> {
        let mut answers = Answers::default();
        if let Some(folder) = self.folder()? {
            answers.lines.push(("MEMEX_DIR", Some(folder)));
        }
        let names = self.providers()?;
        let first = names.as_ref().and_then(|names| known(names.first()?));
        if let Some(names) = &names {
            answers.lines.push(("PROVIDER_CASCADE", Some(names.join(","))));
        }
        let local = names.as_ref().is_some_and(|names| names.iter().any(|name| name == "local"));
        if local && !self.known.contains_key("LOCAL_BASE_URL") {
            let text =
                "local has no address yet: set LOCAL_BASE_URL, in the environment or in .env of the settings folder";
            writeln!(self.out, "{text}; it is that of a server of this machine, such as http://127.0.0.1:8080.")?;
        }
        // What was named just now counts, also where it needs no key.
        let before = || known(self.known.get("PROVIDER_CASCADE")?.split([',', ' ']).next()?);
        let first = if names.is_some() { first } else { before() };
        match first {
            Some(provider) if !provider.keyless => self.key(provider, &mut answers)?,
            Some(_) | None if self.said.key_from.is_some() => {
                return Err(usage("the first provider takes no key; name one with --provider"));
            }
            Some(_) | None => {}
        }
        if let Some(dollars) = self.budget(first)? {
            answers.lines.push(("DAY_BUDGET_USD", dollars));
        }
        Ok(answers)
    }

    /// Asks until an answer is good; `None` when nothing is answered, and where nothing is asked.
    fn ask<T>(&mut self, question: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, Failure> {
        while self.asks {
            let Some(line) = terminal::answer(self.out, &format!("{question}: "))? else { break };
            if line.is_empty() {
                break;
            }
            match read(&line) {
                Ok(answer) => return Ok(Some(answer)),
                Err(why) => writeln!(self.out, "{}", exact(&why))?,
            }
        }
        Ok(None)
    }

    fn folder(&mut self) -> Result<Option<String>, Failure> {
        let home = self.home.to_path_buf();
        let read = move |text: &str| folder(text, &home);
        match &self.said.memex {
            Some(path) => read(&path.to_string_lossy()).map(Some).map_err(|why| usage(&why)),
            None => {
                let now = self.known.get("MEMEX_DIR").map_or("not set", String::as_str);
                self.ask(&format!("Folder of your notes (empty: as it is, {})", exact(now)), read)
            }
        }
    }

    fn providers(&mut self) -> Result<Option<Vec<String>>, Failure> {
        match &self.said.provider {
            Some(text) => names(text).map(Some).map_err(|why| usage(&why)),
            None => {
                let now = self.known.get("PROVIDER_CASCADE").map_or("whoever has a key", String::as_str);
                let all: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
                let question = format!(
                    "Model provider, of {}; recall asks no model (empty: as it is, {})",
                    all.join(", "),
                    exact(now)
                );
                self.ask(&question, names)
            }
        }
    }

    /// Sees to the key of a provider: it is taken from where it was said to be, or its place is told.
    fn key(&mut self, provider: &Known, answers: &mut Answers) -> Result<(), Failure> {
        let name = key_name(provider);
        if let Some(path) = &self.said.key_from {
            answers.lines.push((name, Some(read_key(path)?)));
            return Ok(());
        }
        if std::env::var_os(name).is_some() || self.known.contains_key(name) {
            answers.notes.push(format!("{name} is set already."));
            return Ok(());
        }
        let read = |line: &str| match line {
            "environment" | "file" => Ok(line.to_string()),
            _ => Err("Write environment or file.".to_string()),
        };
        let place = match &self.said.key_in {
            Some(place) => Some(place.clone()),
            None => self.ask("Where is its key to lie, environment or file (empty: environment)", read)?,
        };
        answers.notes.push(match place.as_deref() {
            Some("file") => format!(
                "Its key is not asked for here; to take it from a file or a pipe: \
                 passepartout configure --non-interactive --provider {} --key-from FILE",
                provider.name
            ),
            _ => format!("Set {name} in the environment of whatever starts Passepartout."),
        });
        Ok(())
    }

    fn budget(&mut self, first: Option<&Known>) -> Result<Option<Option<String>>, Failure> {
        match &self.said.budget {
            Some(text) => dollars(text).map(Some).map_err(|why| usage(&why)),
            None if first.is_some_and(|provider| !provider.keyless) => {
                let now = self.known.get("DAY_BUDGET_USD").map_or("no cap", String::as_str);
                self.ask(&format!("US dollars a day at most, 0 for no cap (empty: as it is, {})", exact(now)), dollars)
            }
            None => Ok(None),
        }
    }
}

fn usage(why: &str) -> Failure {
    Failure { text: exact(why), status: USAGE }
}

fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

/// Returns the variable of a provider's key.
fn key_name(provider: &Known) -> &'static str {
    let wanted = format!("{}_API_KEY", provider.name.to_ascii_uppercase());
    crate::edge::config::READ.iter().find(|name| **name == wanted).copied().unwrap_or("OPENAI_API_KEY")
}

/// Reads where the notes are; it must be a folder that is there and holds nothing but notes.
fn folder(text: &str, home: &Path) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("name the folder of your notes".to_string());
    }
    let path = match text.strip_prefix('~') {
        Some("") => home.to_path_buf(),
        Some(rest) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        Some(_) | None => std::path::absolute(text).unwrap_or_else(|_| PathBuf::from(text)),
    };
    let named = path.display().to_string();
    let whole = path.canonicalize().map_err(|_| format!("there is no folder {named}"))?;
    if !whole.is_dir() {
        return Err(format!("{named} is no folder"));
    }
    // “/” and “/home” hold the home folder, and more.
    if home.canonicalize().unwrap_or_else(|_| home.to_path_buf()).starts_with(&whole) || whole == Path::new("/") {
        return Err(format!("{named} holds much that is no note; name a folder of notes in it"));
    }
    if path.to_str().is_none() || named.contains(['\'', '\n']) {
        return Err(format!("{named} cannot stand in a settings file; give the folder a plainer name"));
    }
    Ok(named)
}

/// Reads names of providers in their order.
fn names(text: &str) -> Result<Vec<String>, String> {
    let names: Vec<String> =
        text.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_ascii_lowercase).collect();
    match names.iter().find(|name| *name != RECALL && *name != "local" && known(name).is_none()) {
        Some(name) => Err(format!("there is no provider {name} that needs no more than a key")),
        None if names.is_empty() => Err("name a provider, or recall".to_string()),
        None => Ok(names),
    }
}

/// Reads a cap; 0 is none.
fn dollars(text: &str) -> Result<Option<String>, String> {
    let text = text.trim();
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match text.parse::<f64>() {
        Ok(dollars) if plain && dollars.is_finite() => Ok((dollars > 0.0).then(|| text.to_string())),
        Ok(_) | Err(_) => Err("write a number of US dollars, such as 2 or 0.50".to_string()),
    }
}

/// Reads the first line of a file, or of standard input.
fn read_key(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = match path == Path::new("-") {
        true => std::io::stdin().lock().take(LONGEST_KEY as u64).read_to_string(&mut text),
        false => std::fs::File::open(path).and_then(|file| file.take(LONGEST_KEY as u64).read_to_string(&mut text)),
    };
    read.map_err(|why| format!("the key cannot be read: {why}"))?;
    let key = env_file::key_in(&text).ok_or("there is no key in the first line of that")?;
    Ok(key.to_string())
}

fn told(file: &Path, answers: &Answers, as_json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    let file = file.display().to_string();
    let names: Vec<&str> = answers.lines.iter().map(|(name, _)| *name).collect();
    if as_json {
        writeln!(out, "{}", json!({ "file": file, "written": names, "notes": answers.notes }))?;
        return Ok(DONE);
    }
    match names.is_empty() {
        true => writeln!(out, "Nothing was changed.")?,
        false => writeln!(out, "{}: {}.", exact(&file), names.join(", "))?,
    }
    answers.notes.iter().try_for_each(|note| writeln!(out, "{note}"))?;
    writeln!(out, "What works says: passepartout doctor")?;
    Ok(DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_are_no_good_are_refused() {
        let base = tempfile::tempdir().expect("a folder");
        let homes = base.path().canonicalize().expect("it is there");
        let home = homes.join("me");
        std::fs::create_dir_all(home.join("org")).expect("a folder");
        std::fs::create_dir(homes.join("shared")).expect("a folder");
        std::os::unix::fs::symlink(&homes, home.join("up")).expect("a link");
        assert!(folder("~/org", &home).is_ok_and(|path| path.ends_with("/org")));
        assert!(folder(&homes.join("shared").display().to_string(), &home).is_ok());
        let above = homes.display().to_string();
        for wrong in ["~", "~/", "/", "~/none", "", "  ", &above, "~/..", "~/up"] {
            assert!(folder(wrong, &home).is_err(), "{wrong}");
        }
        assert_eq!(names("OpenAI, recall"), Ok(vec!["openai".to_string(), "recall".to_string()]));
        assert!(names("").is_err() && names("nobody").is_err());
        assert_eq!((dollars("2.50"), dollars("0")), (Ok(Some("2.50".to_string())), Ok(None)));
        assert!(dollars("-1").is_err() && dollars("many").is_err() && dollars("inf").is_err());
        for provider in KNOWN.iter().filter(|known| !known.keyless) {
            assert!(key_name(provider).starts_with(&provider.name.to_ascii_uppercase()), "{}", provider.name);
        }
    }
}
