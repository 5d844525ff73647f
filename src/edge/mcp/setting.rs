//! The MCP servers of the settings: read from a file of JSON and from what Emacs sends, with the values of their environment.

use crate::domain::inert::exact;
use crate::domain::sexp::reader::Sexp;
use crate::domain::tool::server::{Declared, Given, MOST_SERVERS};
use crate::edge::secret::Secret;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The largest file that is read, in bytes.
const LARGEST: u64 = 256 * 1024;
/// A shorter value is a part of common words.
const SHORTEST: usize = 4;
/// The file in the folder of the settings.
pub const FILE: &str = "mcp.json";

/// A server as the user declared it.
#[derive(Clone)]
pub struct ServerSetting {
    /// What was declared.
    pub declared: Declared,
    /// Where: a file, or in Emacs.
    pub place: String,
    /// The values of its environment. They are in no message and no log.
    pub(in crate::edge) variables: Vec<(String, Secret)>,
}

impl fmt::Debug for ServerSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSetting").field("declared", &self.declared).field("place", &self.place).finish()
    }
}

impl ServerSetting {
    /// Returns those of its variables whose names, or whose form, say that they hold a secret: they are masked like every key.
    /// Of all others that would keep common words from being used anywhere.
    pub(in crate::edge) fn secrets(&self) -> impl Iterator<Item = (String, Secret)> {
        let secret = self.variables.iter().filter(|(name, value)| is_secret(name, value.expose()));
        secret.map(|(name, value)| (format!("{name} of the MCP server {}", self.declared.name), value.clone()))
    }

    /// Returns words of it, which go into the log, without any value of its environment.
    pub(in crate::edge) fn blotted(&self, words: &str) -> String {
        let values = self.variables.iter().map(|(_, value)| value.expose()).filter(|value| value.len() >= SHORTEST);
        values.fold(words.to_string(), |words, value| words.replace(value, "[MASKED]"))
    }
}

/// Returns whether a variable holds a secret, by words that are usual in such names, or as an address with a password.
fn is_secret(name: &str, value: &str) -> bool {
    const WORDS: [&str; 8] = ["KEY", "TOKEN", "SECRET", "PASS", "PASSWD", "CREDENTIAL", "AUTH", "DSN"];
    let name = name.to_ascii_uppercase();
    let address = value.split_once("://").and_then(|(_, rest)| rest.split('/').next());
    let has_password = address.and_then(|host| host.split_once('@')).is_some_and(|(user, _)| user.contains(':'));
    has_password || name.ends_with("_PAT") || WORDS.iter().any(|word| name.contains(word))
}

impl PartialEq for ServerSetting {
    fn eq(&self, other: &ServerSetting) -> bool {
        (&self.declared, &self.place) == (&other.declared, &other.place)
    }
}

/// What is needed to read a declaration beside it.
pub struct Around<'a> {
    /// Our own environment, for variables that are taken from there.
    pub ours: &'a BTreeMap<String, String>,
    /// Makes the name of a folder absolute.
    pub expand: &'a dyn Fn(&str) -> PathBuf,
}

/// Reads the file; no servers where there is none. What cannot be read is a notice.
pub fn read_file(path: &Path, around: &Around<'_>, notices: &mut Vec<String>) -> Vec<ServerSetting> {
    let named = path.display();
    let text = match crate::edge::secret::read_own_text(path, LARGEST) {
        Ok(None) => return Vec::new(),
        Ok(Some(text)) => text,
        Err(why) => {
            notices.push(format!("No MCP server of {named} is used: {why}."));
            return Vec::new();
        }
    };
    let servers = match serde_json::from_str::<Value>(&text) {
        Ok(value) => value.get("mcpServers").and_then(Value::as_object).cloned(),
        Err(why) => {
            // Line and column alone: the text may hold a key.
            let at = format!("line {}, column {}", why.line(), why.column());
            notices.push(format!("No MCP server of {named} is used: it is no JSON ({at})."));
            return Vec::new();
        }
    };
    let Some(servers) = servers else {
        notices.push(format!("No MCP server of {named} is used: it has no object “mcpServers”."));
        return Vec::new();
    };
    let place = path.display().to_string();
    read(servers.iter().map(|(name, said)| (name.as_str(), said.clone())), &place, around, notices)
}

/// Reads what Emacs sent: entries `(NAME :command (…) …)`.
pub fn read_emacs(entries: &[Sexp], around: &Around<'_>, notices: &mut Vec<String>) -> Vec<ServerSetting> {
    let one = |entry: &Sexp| {
        let (name, rest) = entry.items().split_first()?;
        Some((name.as_name().or(name.as_text())?.to_string(), said(&Sexp::list(rest.iter().cloned()))))
    };
    let all: Vec<(String, Value)> = entries.iter().filter_map(one).collect();
    if all.len() < entries.len() {
        notices.push("An entry of passepartout-mcp-servers is ignored: it begins with no name.".to_string());
    }
    read(all.iter().map(|(name, said)| (name.as_str(), said.clone())), "(Emacs)", around, notices)
}

fn read<'a>(
    all: impl Iterator<Item = (&'a str, Value)>,
    place: &str,
    around: &Around<'_>,
    notices: &mut Vec<String>,
) -> Vec<ServerSetting> {
    let mut settings: Vec<ServerSetting> = Vec::new();
    for (name, said) in all {
        if settings.len() >= MOST_SERVERS {
            notices.push(format!("More than {MOST_SERVERS} MCP servers are declared in {place}; the rest is ignored."));
            break;
        }
        match Declared::read(name, &said) {
            Ok((declared, given)) => {
                let setting = setting(declared, given, place, around);
                let Declared { name, folder, reads, writes, .. } = &setting.declared;
                let inside = |read: &String| folder.as_ref().is_some_and(|folder| Path::new(read).starts_with(folder));
                match reads.iter().find(|read| *writes && inside(read)) {
                    // It could put a link to elsewhere in its place.
                    Some(read) => notices.push(format!(
                        "The MCP server {name} is ignored: it may write where {} lies, which it is to read.",
                        exact(read)
                    )),
                    None => settings.push(setting),
                }
            }
            Err(why) => notices.push(format!("It is ignored what {} says: {why}.", exact(place))),
        }
    }
    settings
}

fn setting(declared: Declared, given: Vec<(String, Given)>, place: &str, around: &Around<'_>) -> ServerSetting {
    let value = |(name, given): (String, Given)| {
        let value = match given {
            Given::Value(text) => text,
            Given::Ours => around.ours.get(&name).cloned().unwrap_or_default(),
        };
        (name, Secret::new(value))
    };
    let expanded = |folder: &String| (around.expand)(folder).display().to_string();
    let declared = Declared {
        folder: declared.folder.as_ref().map(expanded),
        reads: declared.reads.iter().map(expanded).collect(),
        ..declared
    };
    let variables = given.into_iter().map(value).collect();
    ServerSetting { declared, place: place.to_string(), variables }
}

/// Returns what Emacs says of one server in the form of the file.
fn said(entry: &Sexp) -> Value {
    let texts = |key: &str| {
        let items = entry.list_at(key).iter();
        Value::Array(items.map(|item| item.as_text().map_or(Value::Null, |text| Value::String(text.into()))).collect())
    };
    let mut said = Map::new();
    for key in ["command", "args", "read", "hosts"] {
        if entry.get(key).is_some() {
            said.insert(key.to_string(), texts(key));
        }
    }
    if let Some(folder) = entry.text_at("folder") {
        said.insert("folder".to_string(), Value::String(folder.to_string()));
    }
    said.insert("write".to_string(), Value::Bool(entry.flag_at("write")));
    if let Some(word) = entry.name_at("effect").or(entry.text_at("effect")) {
        said.insert("effect".to_string(), Value::String(word.to_string()));
    }
    if let Some(seconds) = entry.int_at("seconds") {
        said.insert("seconds".to_string(), Value::from(seconds));
    }
    let pairs = |key: &str| {
        let read = |pair: &Sexp| match pair {
            Sexp::Dotted(items, value) => Some((items.first()?.as_text()?.to_string(), word(value))),
            _ => None,
        };
        // What is no pair is neither a variable nor an effect, and the reader says so.
        let one = |pair: &Sexp| read(pair).unwrap_or_else(|| ("?".to_string(), Value::Null));
        entry.list_at(key).iter().map(one).collect::<Map<String, Value>>()
    };
    said.insert("effects".to_string(), Value::Object(pairs("effects")));
    said.insert("env".to_string(), Value::Object(pairs("environment")));
    Value::Object(said)
}

/// Returns a text, a word, or `t` as true.
fn word(value: &Sexp) -> Value {
    match value.as_name() {
        _ if *value == Sexp::T => Value::Bool(true),
        Some(name) => Value::String(name.to_string()),
        None => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_of_an_environment_is_masked_and_nothing_of_it_is_logged() {
        for (name, value, secret) in [
            ("TICKETS_TOKEN", "t-4711-abc", true),
            ("PGPASSWORD", "plum-harbor", true),
            ("GITHUB_PAT", "ghx_4711", true),
            ("APIKEY", "abc-4711", true),
            ("DATABASE_URL", "postgres://me:plum@box/x", true),
            ("BASE_URL", "https://box.example/x@y:z", false),
            ("MODE", "development", false),
            ("LANG", "en_US.UTF-8", false),
            ("ROOT", "/home/me/maps", false),
        ] {
            let (declared, _) = Declared::read("x", &serde_json::json!({"command": "x"})).expect("a good one");
            let variables = vec![(name.to_string(), Secret::new(value.to_string()))];
            let setting = ServerSetting { declared, place: String::new(), variables };
            assert_eq!(setting.secrets().count(), usize::from(secret), "{name}");
            assert_eq!(setting.blotted(&format!("it cannot use {value}")), "it cannot use [MASKED]", "{name}");
        }
    }
}
