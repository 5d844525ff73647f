//! Tools of the user's own: what a declaration must say, and what is wrong with one that does not.

use super::server::{self, Served};
use super::{Class, Effect, Kind, Limits, Offered, Param, Stands, Tool, is_builtin};
use crate::domain::action::{clip, nearest};
use crate::domain::hash::ContentHasher;
use crate::domain::sexp::reader::Sexp;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many there may be at once.
pub const MOST: usize = 64;
/// How many arguments one may have.
const MOST_PARAMS: usize = 20;
/// How many words an argument may be one of.
const MOST_WORDS: usize = 64;
/// How many texts a list may hold.
const MOST_TEXTS: i64 = 10_000;
/// The longest description, in bytes.
const LONGEST: usize = 2_000;
/// The longest time, in seconds.
const MOST_SECONDS: i64 = 600;
/// The least and the most that may be said, in characters.
const CHARACTERS: (i64, i64) = (100, 100_000);
/// The argument that every call has.
const EXPLANATION: &str = "explanation";

/// Why a call is not carried out: it was made for another declaration of that name.
pub const REDECLARED: &str =
    "the user has declared this tool anew since the call was made; look at what it is now, and propose the call again";

/// Returns whether something can be the name of a tool or of an argument.
pub(super) fn is_name(name: &str) -> bool {
    let rest = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() <= 40 && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.bytes().all(rest)
}

/// The type of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Text,
    OneOf(Vec<String>),
    Number { least: i64, most: i64 },
    Flag,
    Texts { most: usize },
}

/// One argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    pub(super) name: String,
    pub(super) kind: Type,
    pub(super) required: bool,
    pub(super) summary: String,
}

/// A declaration that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub(super) name: String,
    pub(super) summary: String,
    pub(super) effect: Class,
    pub(super) arguments: Vec<Argument>,
    pub(super) paths: Vec<String>,
    pub(super) hosts: Vec<String>,
    pub(super) limits: Limits,
    /// What Emacs calls this declaration with its function; another function is another declaration.
    pub(super) mark: String,
    /// How it is called, when a server lends it.
    pub(super) served: Option<Arc<Served>>,
}

impl Definition {
    /// Reads a declaration as Emacs sends it.
    ///
    /// # Errors
    /// In words that name the tool, what is wrong with it, and what it may be instead.
    pub fn read(said: &Sexp) -> Result<Definition, String> {
        let name = said.text_at("name").unwrap_or("").to_string();
        if !is_name(&name) {
            return Err(format!(
                "“{}” is no name for a tool: it is made of small letters, digits and hyphens, begins with a letter, and \
                 has at most 40",
                clip(&name)
            ));
        }
        Definition::of(&name, said).map_err(|why| format!("the tool {name}: {why}"))
    }

    fn of(name: &str, said: &Sexp) -> Result<Definition, String> {
        if is_builtin(name) {
            return Err("a tool of Passepartout's has that name; choose another one".to_string());
        }
        if name.starts_with(server::PREFIX) {
            return Err(format!("tools of MCP servers begin with {}; choose another name", server::PREFIX));
        }
        let summary = described(said.text_at("summary"), "its description")?;
        let effect = said.name_at("effect").or(said.text_at("effect"));
        let words = || Class::ALL.map(Class::name).join(", ");
        let effect = match effect {
            None => return Err(format!("its effect is missing; it is one of {}", words())),
            Some(word) => {
                Class::parse(word).ok_or_else(|| format!("“{}” is no effect; it is one of {}", clip(word), words()))?
            }
        };
        let arguments = arguments(said.list_at("args"))?;
        let (paths, hosts) = (places(said, "paths", &arguments)?, places(said, "hosts", &arguments)?);
        if effect == Class::Pure && !paths.is_empty() {
            return Err("it names files, so its effect is not pure; read is the least".to_string());
        }
        if !matches!(effect, Class::Network | Class::Execute) && !hosts.is_empty() {
            return Err("it names hosts, so its effect is network, or execute".to_string());
        }
        let seconds = bounded(said, "seconds", Limits::USUAL.seconds as i64, (1, MOST_SECONDS))?;
        let characters = bounded(said, "characters", Limits::USUAL.characters as i64, CHARACTERS)?;
        let limits = Limits { seconds: seconds.unsigned_abs(), characters: characters.unsigned_abs() as usize };
        let mark = said.text_at("mark").unwrap_or("");
        if mark.len() != 64 || !mark.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err("Emacs did not say which declaration it is; load passepartout-tools.el again".to_string());
        }
        let (name, mark) = (name.to_string(), mark.to_string());
        Ok(Definition { name, summary, effect, arguments, paths, hosts, limits, mark, served: None })
    }

    /// Returns the name of the tool.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what it does.
    pub fn effect(&self) -> Class {
        self.effect
    }

    /// Returns the name of exactly this declaration.
    pub fn hash(&self) -> [u8; 32] {
        let mut hasher = ContentHasher::new("tool of the user's own");
        hasher.text(&self.name).text(&self.summary).text(self.effect.name()).text(&self.mark);
        hasher.number(self.limits.seconds).number(self.limits.characters as u64);
        hasher.number(self.arguments.len() as u64);
        for argument in &self.arguments {
            hasher.text(&argument.name).text(&argument.summary).number(u64::from(argument.required));
            match &argument.kind {
                Type::Text => hasher.text("text"),
                Type::OneOf(words) => {
                    hasher.text("one of").number(words.len() as u64);
                    words.iter().fold(&mut hasher, |hasher, word| hasher.text(word))
                }
                Type::Number { least, most } => {
                    hasher.text("number").bytes(&least.to_be_bytes()).bytes(&most.to_be_bytes())
                }
                Type::Flag => hasher.text("flag"),
                Type::Texts { most } => hasher.text("texts").number(*most as u64),
            };
        }
        for (kind, names) in [("paths", &self.paths), ("hosts", &self.hosts)] {
            hasher.text(kind).number(names.len() as u64);
            names.iter().for_each(|name| {
                hasher.text(name);
            });
        }
        hasher.finish()
    }

    /// Returns the most bytes that it can leave on a shelf.
    fn size(&self) -> usize {
        let list = |texts: &[String]| texts.iter().map(|text| text.len() + size_of::<&str>()).sum::<usize>();
        let of = |argument: &Argument| {
            let words = match &argument.kind {
                Type::OneOf(words) => list(words),
                Type::Text | Type::Number { .. } | Type::Flag | Type::Texts { .. } => 0,
            };
            words + argument.name.len() + argument.summary.len() + size_of::<Param>()
        };
        let arguments: usize = self.arguments.iter().map(of).sum();
        size_of::<Tool>() + self.name.len() + self.summary.len() + arguments + list(&self.paths) + list(&self.hosts)
    }

    /// Makes a tool of it, like those of the closed table, which stays for the life of the program on a shelf. Declared
    /// again with another function, it is the same tool there.
    ///
    /// # Errors
    /// When the shelf is full, in words.
    pub fn into_own(self, shelf: &mut Shelf) -> Result<Own, String> {
        let definition = self.hash();
        let (mark, served) = (self.mark.clone(), self.served.clone());
        Ok(Own { tool: shelf.keep(self)?, definition, mark, served })
    }
}

/// The most bytes that declarations may leave in memory for good.
const MOST_BYTES: usize = 8 << 20;

/// What the declarations of this process have left in memory for good, as the closed table is there: each tool once, and
/// each text once, whatever became of the declaration.
#[derive(Debug, Default)]
pub struct Shelf {
    /// By the names of their declarations without a function.
    tools: BTreeMap<[u8; 32], &'static Tool>,
    texts: BTreeSet<&'static str>,
    bytes: usize,
}

impl Shelf {
    /// Returns an empty one.
    pub const fn new() -> Shelf {
        Shelf { tools: BTreeMap::new(), texts: BTreeSet::new(), bytes: 0 }
    }

    /// Returns how many bytes lie on it.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn keep(&mut self, definition: Definition) -> Result<&'static Tool, String> {
        let plain = Definition { mark: String::new(), served: None, ..definition };
        let key = plain.hash();
        if let Some(tool) = self.tools.get(&key).copied() {
            return Ok(tool);
        }
        if self.bytes.saturating_add(plain.size()) > MOST_BYTES {
            let megabytes = MOST_BYTES >> 20;
            return Err(format!("{megabytes} MB of declarations of tools were taken already; start Emacs anew"));
        }
        let target = server::target(&plain.name);
        let Definition { name, summary, effect, arguments, paths, hosts, limits, mark: _, served: _ } = plain;
        let params = arguments.into_iter().map(|argument| self.param(argument)).collect();
        let tool = Tool {
            name: self.text(name),
            summary: self.text(summary),
            params: self.all(params),
            effect: Effect::Custom(effect),
            target,
            paths: self.texts(paths),
            hosts: self.texts(hosts),
            limits,
            // What it looks at nobody knows here.
            stands: Stands::Never,
            offered: Offered::Always,
        };
        self.bytes += size_of::<Tool>();
        let tool: &'static Tool = Box::leak(Box::new(tool));
        self.tools.insert(key, tool);
        Ok(tool)
    }

    fn text(&mut self, text: String) -> &'static str {
        if let Some(known) = self.texts.get(text.as_str()).copied() {
            return known;
        }
        self.bytes += text.len();
        let text: &'static str = Box::leak(text.into_boxed_str());
        self.texts.insert(text);
        text
    }

    fn all<T>(&mut self, items: Vec<T>) -> &'static [T] {
        self.bytes += size_of_val(items.as_slice());
        Box::leak(items.into_boxed_slice())
    }

    fn texts(&mut self, texts: Vec<String>) -> &'static [&'static str] {
        let texts = texts.into_iter().map(|text| self.text(text)).collect();
        self.all(texts)
    }

    fn param(&mut self, argument: Argument) -> Param {
        let Argument { name, kind, required, summary } = argument;
        let kind = match kind {
            Type::Text => Kind::Text,
            Type::OneOf(words) => Kind::OneOf(self.texts(words)),
            Type::Number { least, most } => Kind::Number { least, most },
            Type::Flag => Kind::Flag,
            Type::Texts { most } => Kind::Texts { most },
        };
        Param { name: self.text(name), kind, required, summary: self.text(summary) }
    }
}

/// A tool that the user's Emacs declared, or that a server which the user declared lends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Own {
    tool: &'static Tool,
    definition: [u8; 32],
    mark: String,
    served: Option<Arc<Served>>,
}

impl Own {
    /// Returns the tool.
    pub fn tool(&self) -> &'static Tool {
        self.tool
    }

    /// Returns the name of exactly this declaration.
    pub fn definition(&self) -> [u8; 32] {
        self.definition
    }

    /// Returns what Emacs calls this declaration with its function.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// Returns how it is called, when a server lends it; `None` for one of the user's Emacs.
    pub fn served(&self) -> Option<&Arc<Served>> {
        self.served.as_ref()
    }
}

/// Reads a description for models.
fn described(said: Option<&str>, what: &str) -> Result<String, String> {
    let said = said.unwrap_or("").trim();
    match said.len() {
        0 => Err(format!("{what} is missing; say in a sentence what it is, for the model")),
        1..=LONGEST => Ok(said.to_string()),
        bytes => Err(format!("{what} has {bytes} bytes; at most {LONGEST} are sent to a model")),
    }
}

fn arguments(said: &[Sexp]) -> Result<Vec<Argument>, String> {
    if said.len() > MOST_PARAMS {
        return Err(format!("it has {} arguments; at most {MOST_PARAMS} are taken", said.len()));
    }
    let mut all: Vec<Argument> = Vec::new();
    for said in said {
        let name = said.text_at("name").unwrap_or("").to_string();
        if !is_name(&name) || name == EXPLANATION {
            return Err(format!(
                "“{}” is no name for an argument: it is made of small letters, digits and hyphens, and each call has \
                 an explanation already",
                clip(&name)
            ));
        }
        if all.iter().any(|known| known.name == name) {
            return Err(format!("the argument “{name}” stands there twice"));
        }
        let kind = kind(said).map_err(|why| format!("the argument “{name}”: {why}"))?;
        let summary = described(said.text_at("summary"), &format!("what the argument “{name}” is"))?;
        all.push(Argument { name, kind, required: said.flag_at("required"), summary });
    }
    Ok(all)
}

fn kind(said: &Sexp) -> Result<Type, String> {
    match said.name_at("kind").or(said.text_at("kind")).unwrap_or("") {
        "text" => Ok(Type::Text),
        "flag" => Ok(Type::Flag),
        "one-of" => {
            let words: Vec<String> =
                said.list_at("words").iter().filter_map(Sexp::as_text).map(str::to_string).collect();
            let whole = words.len() == said.list_at("words").len() && words.iter().all(|word| word.len() <= 100);
            match words.len() {
                1..=MOST_WORDS if whole => Ok(Type::OneOf(words)),
                _ => Err(format!("one-of is followed by its words, 1 to {MOST_WORDS} of them as strings")),
            }
        }
        "number" => match (said.int_at("least"), said.int_at("most")) {
            (Some(least), Some(most)) if least <= most => Ok(Type::Number { least, most }),
            _ => Err("number is followed by the least and the most that it may be".to_string()),
        },
        "texts" => match said.int_at("most") {
            Some(most @ 1..=MOST_TEXTS) => Ok(Type::Texts { most: most.unsigned_abs() as usize }),
            _ => Err(format!("texts is followed by how many there may be, from 1 to {MOST_TEXTS}")),
        },
        other => {
            let kinds = ["text", "one-of", "number", "flag", "texts"];
            let meant = nearest(other, kinds.into_iter()).map(|kind| format!(" (did you mean {kind}?)"));
            Err(format!("“{}” is no type{}; it is one of {}", clip(other), meant.unwrap_or_default(), kinds.join(", ")))
        }
    }
}

/// Reads which arguments are paths, or hosts.
fn places(said: &Sexp, key: &str, arguments: &[Argument]) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for name in said.list_at(key) {
        let name = name.as_text().or(name.as_name()).unwrap_or("");
        let argument = arguments.iter().find(|argument| argument.name == name);
        let argument = argument.ok_or_else(|| {
            let known: Vec<&str> = arguments.iter().map(|argument| argument.name.as_str()).collect();
            format!("{key} names “{}”, which is no argument of it; its arguments are {}", clip(name), known.join(", "))
        })?;
        if !matches!(argument.kind, Type::Text | Type::Texts { .. }) {
            return Err(format!("{key} names “{name}”, which is neither a text nor a list of texts"));
        }
        names.push(name.to_string());
    }
    Ok(names)
}

fn bounded(said: &Sexp, key: &str, usual: i64, (least, most): (i64, i64)) -> Result<i64, String> {
    match said.get(key) {
        None | Some(Sexp::Nil) => Ok(usual),
        Some(value) => value
            .as_int()
            .filter(|value| (least..=most).contains(value))
            .ok_or_else(|| format!("its {key} are a whole number from {least} to {most}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tool::{Named, Toolbox};

    const MARK: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn read(rest: &str) -> Result<Definition, String> {
        Definition::read(&Sexp::read(&format!("(:mark \"{MARK}\" {rest})")).expect("it can be read"))
    }

    #[test]
    fn a_bad_declaration_names_what_is_wrong_and_the_way_out() {
        let named = "(:name \"file\" :kind text :summary \"the file\")";
        for (said, expected) in [
            (":name \"Weather\"", "“Weather” is no name for a tool: it is made of small letters"),
            (":name \"shell\" :summary \"x\" :effect read", "the tool shell: a tool of Passepartout's has that name"),
            (":name \"restore\" :summary \"x\" :effect read", "choose another one"),
            (":name \"weather\" :effect read", "its description is missing"),
            (
                ":name \"weather\" :summary \"x\"",
                "its effect is missing; it is one of pure, read, write, execute, network",
            ),
            (":name \"weather\" :summary \"x\" :effect none", "“none” is no effect; it is one of pure, read"),
            (
                ":name \"weather\" :summary \"x\" :effect read :args ((:name \"a b\"))",
                "“a b” is no name for an argument",
            ),
            (
                ":name \"weather\" :summary \"x\" :effect read :args ((:name \"explanation\"))",
                "has an explanation already",
            ),
            (
                ":name \"weather\" :summary \"x\" :effect read :args ((:name \"town\" :kind txt :summary \"x\"))",
                "the argument “town”: “txt” is no type (did you mean text?); it is one of text, one-of",
            ),
            (
                ":name \"weather\" :summary \"x\" :effect read :args ((:name \"days\" :kind number :summary \"x\" :least 3 :most 1))",
                "number is followed by the least and the most",
            ),
            (
                ":name \"weather\" :summary \"x\" :effect read :args ((:name \"town\" :kind text))",
                "what the argument “town” is is missing",
            ),
            (
                ":name \"weather\" :summary \"x\" :effect read :paths (\"file\")",
                "paths names “file”, which is no argument",
            ),
            (
                &format!(":name \"weather\" :summary \"x\" :effect pure :args ({named}) :paths (\"file\")"),
                "its effect is not pure",
            ),
            (
                &format!(":name \"weather\" :summary \"x\" :effect read :args ({named}) :hosts (\"file\")"),
                "its effect is network, or execute",
            ),
            (
                ":name \"weather\" :summary \"x\" :effect read :args ((:name \"f\" :kind flag :summary \"x\")) :paths (\"f\")",
                "neither a text nor a list of texts",
            ),
            (
                ":name \"weather\" :summary \"x\" :effect read :seconds 0",
                "its seconds are a whole number from 1 to 600",
            ),
            (":name \"weather\" :summary \"x\" :effect read :characters 9", "from 100 to 100000"),
        ] {
            let why = read(said).expect_err(said);
            assert!(why.contains(expected), "{said}: {why}");
        }
        let why = Definition::read(&Sexp::read("(:name \"w\" :summary \"x\" :effect read)").expect("it can be read"));
        assert!(why.expect_err("no mark").contains("load passepartout-tools.el again"));
    }

    #[test]
    fn whatever_differs_is_another_declaration() {
        let base = ":name \"weather\" :summary \"Tell the weather.\" :effect network :seconds 9 :characters 900 \
                    :args ((:name \"town\" :kind text :summary \"where\" :required t)) :hosts (\"town\")";
        let hash = |text: &str| read(text).expect(text).hash();
        for (from, to) in [
            ("weather\"", "wether\""),
            ("Tell", "Say"),
            ("network", "execute"),
            (":seconds 9", ":seconds 8"),
            (":characters 900", ":characters 901"),
            ("\"town\"", "\"city\""),
            (":kind text", ":kind texts :most 3"),
            ("where", "here"),
            (" :required t", ""),
            (":hosts (\"town\")", ""),
            (":hosts", ":paths"),
        ] {
            assert_ne!(hash(base), hash(&base.replace(from, to)), "{from}");
        }
        let other = base.replace(":name", &format!(":mark \"{}\" :name", MARK.replace('0', "f")));
        assert_eq!(hash(base), hash(base));
        assert_eq!(hash(base), hash(&other), "the first mark counts, as in every property list");
    }

    #[test]
    fn what_is_declared_again_leaves_nothing_more_in_memory_and_the_rest_is_bounded() {
        let said = |mark: usize, summary: &str| {
            let rest = format!(":name \"weather\" :summary \"{summary}\" :effect read");
            Definition::read(&Sexp::read(&format!("(:mark \"{mark:064x}\" {rest})")).expect("it can be read"))
                .expect("a good one")
        };
        let mut shelf = Shelf::new();
        let first = said(0, "Tell the weather.").into_own(&mut shelf).expect("there is room");
        let bytes = shelf.bytes();
        for mark in 1..5_000 {
            let own = said(mark, "Tell the weather.").into_own(&mut shelf).expect("it is there already");
            assert!(own.definition() != first.definition() && std::ptr::eq(own.tool(), first.tool()));
        }
        assert_eq!(shelf.bytes(), bytes, "another function is another declaration, and no other tool");
        let long = "x".repeat(LONGEST - 10);
        let full = (0..).find_map(|n| said(n, &format!("{long} {n}")).into_own(&mut shelf).err()).expect("an end");
        assert!(full.contains("8 MB") && full.contains("start Emacs anew"), "{full}");
        assert!(shelf.bytes() <= MOST_BYTES && shelf.bytes() > MOST_BYTES / 2, "{}", shelf.bytes());
        assert!(said(1, "Tell the weather.").into_own(&mut shelf).is_ok(), "what is there stays");
    }

    #[test]
    fn a_declared_tool_is_found_beside_the_closed_table_and_goes_again() {
        let own = read(":name \"weather\" :summary \"x\" :effect read").expect("a good one");
        let own = own.into_own(&mut Shelf::new()).expect("there is room");
        let toolbox = Toolbox::builtin().with(own.clone()).with(own);
        assert_eq!(toolbox.own().len(), 1, "declared anew, not twice");
        assert!(toolbox.names().contains(&"weather") && toolbox.get("shell").is_some());
        assert!(toolbox.definition("weather").is_some() && toolbox.definition("shell").is_none());
        assert!(Toolbox::builtin().get("weather").is_none());
        let without = toolbox.without("weather").without("shell");
        assert!(without.get("weather").is_none() && without.get("shell").is_some());
        assert_eq!(Toolbox::named("OWN:weather"), Named::Own("weather".to_string()));
        for nothing in ["weather", "own:", "own:shell", "own:a b", "", "ownö"] {
            assert_eq!(Toolbox::named(nothing), Named::Nothing, "{nothing}");
        }
        assert!(matches!(Toolbox::named("SHELL"), Named::Builtin(tool) if tool.name == "shell"));
    }
}
