//! What the user declares of an MCP server: read, checked, shown, and part of the name of what they confirm.

use super::NAMES;
use crate::domain::action::clip;
use crate::domain::gate::reach::{self, Host};
use crate::domain::hash::ContentHasher;
use crate::domain::inert::exact;
use crate::domain::tool::{Class, Limits};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The longest time of one call, in seconds.
const MOST_SECONDS: u64 = 600;
/// The longest word of a command, and how many there may be.
const COMMAND: (usize, usize) = (4_096, 64);

/// What the user declares of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// Its name, which stands in the names of its tools.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The folder that it runs in; without one, an empty one of its own.
    pub folder: Option<String>,
    /// Whether it may write there.
    pub writes: bool,
    /// Further folders that it can read.
    pub reads: Vec<String>,
    /// The hosts that it reaches.
    pub hosts: Vec<String>,
    /// The variables of its environment: the name of each, and what names its value where that stands in the declaration.
    pub variables: Vec<(String, Option<String>)>,
    /// What its tools do, where the user says so.
    pub effect: Option<Class>,
    /// What single tools do, by the names that the server has for them.
    pub effects: BTreeMap<String, Class>,
    /// How long a call may take, in seconds.
    pub seconds: u64,
}

/// What the environment of a server holds: a value, or what has this name in ours.
#[derive(Clone, PartialEq, Eq)]
pub enum Given {
    /// This value.
    Value(String),
    /// What our own environment has under this name.
    Ours,
}

impl Given {
    /// Returns what names a value that stands in the declaration; another value is another declaration.
    fn digest(&self) -> Option<String> {
        match self {
            Given::Value(text) => {
                let name = ContentHasher::new("mcp-variable").text(text).finish();
                Some(name.iter().map(|byte| format!("{byte:02x}")).collect())
            }
            // What is ours may be a key that is made anew.
            Given::Ours => None,
        }
    }
}

impl Declared {
    /// Reads a declaration, with what its environment holds.
    ///
    /// # Errors
    /// In words that say what is wrong and what it may be instead.
    pub fn read(name: &str, said: &Value) -> Result<(Declared, Vec<(String, Given)>), String> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let good = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.bytes().all(plain);
        if !good || name.len() > NAMES.0 {
            return Err(format!(
                "“{}” is no name for an MCP server: it is made of small letters and digits, begins with a letter, and has \
                 at most {}",
                exact(&clip(name)),
                NAMES.0
            ));
        }
        read_declared(name, said).map_err(|why| format!("the MCP server {name}: {why}"))
    }

    /// Returns what a tool of it does, by the name that the server has for it.
    pub(super) fn effect_of(&self, tool: &str) -> Class {
        let usual = if self.hosts.is_empty() { Class::Execute } else { Class::Network };
        self.effects.get(tool).copied().or(self.effect).unwrap_or(usual)
    }

    /// Returns it in words, line by line.
    pub fn lines(&self) -> Vec<String> {
        let all = |texts: &[String]| match texts {
            [] => "none".to_string(),
            texts => texts.iter().map(|text| exact(text)).collect::<Vec<_>>().join(", "),
        };
        let command: Vec<String> = self.command.iter().map(|word| format!("“{}”", exact(word))).collect();
        let folder = match (&self.folder, self.writes) {
            (None, _) => "an empty folder of its own".to_string(),
            (Some(folder), true) => format!("{}, which it may write", exact(folder)),
            (Some(folder), false) => format!("{}, which it may read", exact(folder)),
        };
        let variable = |(name, given): &(String, Option<String>)| match given {
            // A value may be a key: it is bound by its hash and not shown.
            Some(_) => format!("{name} (a value that is written there)"),
            None => format!("{name} (what it is in your own environment)"),
        };
        let variables: Vec<String> = self.variables.iter().map(variable).collect();
        vec![
            format!("It runs {}, confined; a call may take {} seconds.", command.join(" "), self.seconds),
            format!("Folder: {folder}. Other folders that it reads: {}.", all(&self.reads)),
            format!(
                "Hosts that it reaches: {}. Variables of its environment: {}.",
                all(&self.hosts),
                if variables.is_empty() { "none".to_string() } else { variables.join(", ") }
            ),
        ]
    }

    /// Adds all of it to a name.
    pub(super) fn hash_into(&self, hasher: &mut ContentHasher) {
        hasher.text(&self.name).option(self.folder.as_deref()).number(u64::from(self.writes)).number(self.seconds);
        hasher.number(self.variables.len() as u64);
        for (name, given) in &self.variables {
            hasher.text(name).option(given.as_deref());
        }
        for list in [&self.command, &self.reads, &self.hosts] {
            hasher.number(list.len() as u64);
            for text in list {
                hasher.text(text);
            }
        }
        hasher.option(self.effect.map(Class::name)).number(self.effects.len() as u64);
        for (tool, effect) in &self.effects {
            hasher.text(tool).text(effect.name());
        }
    }
}

fn read_declared(name: &str, said: &Value) -> Result<(Declared, Vec<(String, Given)>), String> {
    let said = said.as_object().ok_or("what stands there is no object")?;
    const KEYS: [&str; 11] =
        ["command", "args", "env", "folder", "write", "read", "hosts", "effect", "effects", "seconds", "type"];
    if let Some(odd) = said.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("“{}” is none of its settings; there are {}", exact(&clip(odd)), KEYS.join(", ")));
    }
    if said.get("type").is_some_and(|kind| kind != "stdio") {
        return Err("only servers that are programs of this machine are spoken to (type stdio)".to_string());
    }
    let list = |key: &str, most: usize| texts(said.get(key), most).map_err(|why| format!("its {key} {why}"));
    let command = match said.get("command") {
        Some(Value::String(program)) => vec![program.clone()],
        Some(Value::Array(_)) => list("command", COMMAND.1)?,
        Some(_) | None => Vec::new(),
    };
    let command: Vec<String> = command.into_iter().chain(list("args", COMMAND.1)?).collect();
    if command.first().is_none_or(|program| program.is_empty()) {
        return Err("its command is missing: a program, with its arguments in args".to_string());
    }
    if command.iter().any(|word| word.len() > COMMAND.0 || word.contains('\0')) {
        return Err(format!("a word of its command has more than {} bytes, or a zero byte", COMMAND.0));
    }
    let folder = match said.get("folder") {
        None | Some(Value::Null) => None,
        Some(Value::String(folder)) => Some(folder.clone()),
        Some(_) => return Err("its folder is no text".to_string()),
    };
    let writes = flag(said.get("write")).ok_or("its write is true or false")?;
    if writes && folder.is_none() {
        return Err("it may write, and no folder is named; name one".to_string());
    }
    let hosts = list("hosts", reach::MOST)?;
    for host in &hosts {
        Host::parse(host)?;
    }
    let effect =
        said.get("effect").filter(|effect| !effect.is_null()).map(|effect| class(effect, &hosts)).transpose()?;
    let mut effects = BTreeMap::new();
    for (tool, effect) in object(said.get("effects")).ok_or("its effects are no object")? {
        effects.insert(tool.clone(), class(&effect, &hosts)?);
    }
    let environment = environment(said.get("env"))?;
    let seconds = match said.get("seconds") {
        None | Some(Value::Null) => Limits::USUAL.seconds,
        Some(seconds) => seconds
            .as_u64()
            .filter(|seconds| (1..=MOST_SECONDS).contains(seconds))
            .ok_or_else(|| format!("its seconds are a whole number from 1 to {MOST_SECONDS}"))?,
    };
    let variables = environment.iter().map(|(name, given)| (name.clone(), given.digest())).collect();
    let (name, reads) = (name.to_string(), list("read", COMMAND.1)?);
    let declared = Declared { name, command, folder, writes, reads, hosts, variables, effect, effects, seconds };
    Ok((declared, environment))
}

/// Reads what the user says that a tool does.
fn class(said: &Value, hosts: &[String]) -> Result<Class, String> {
    let word = said.as_str().unwrap_or("");
    match Class::parse(word) {
        Some(class @ Class::Network) => Ok(class),
        Some(_) if !hosts.is_empty() => Err("it reaches hosts, so what its tools do is network".to_string()),
        Some(class @ (Class::Read | Class::Write | Class::Execute)) => Ok(class),
        Some(Class::Pure) | None => {
            Err(format!("“{}” is no effect; it is one of read, write, execute, network", exact(&clip(word))))
        }
    }
}

fn environment(said: Option<&Value>) -> Result<Vec<(String, Given)>, String> {
    let mut all = Vec::new();
    for (name, value) in object(said).ok_or("its env is no object")? {
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !plain || name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || name.len() > 100 {
            return Err(format!("“{}” is no name of a variable", exact(&clip(&name))));
        }
        match value {
            Value::String(text) if !text.contains('\0') => all.push((name, Given::Value(text))),
            Value::Bool(true) => all.push((name, Given::Ours)),
            // The value is not repeated: it may be a key.
            _ => return Err(format!("the variable {name} is a text, or true for what it is in our own environment")),
        }
    }
    if all.len() > COMMAND.1 { Err(format!("it has more than {} variables", COMMAND.1)) } else { Ok(all) }
}

fn flag(said: Option<&Value>) -> Option<bool> {
    said.map_or(Some(false), |said| if said.is_null() { Some(false) } else { said.as_bool() })
}

pub(super) fn object(said: Option<&Value>) -> Option<Map<String, Value>> {
    match said {
        None | Some(Value::Null) => Some(Map::new()),
        Some(Value::Object(map)) => Some(map.clone()),
        Some(_) => None,
    }
}

pub(super) fn texts(said: Option<&Value>, most: usize) -> Result<Vec<String>, String> {
    let items = match said {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(items)) if items.len() <= most => items,
        Some(Value::Array(_)) => return Err(format!("are more than {most}")),
        Some(_) => return Err("are no list of texts".to_string()),
    };
    items.iter().map(|item| item.as_str().map(str::to_string).ok_or("are no list of texts".to_string())).collect()
}
