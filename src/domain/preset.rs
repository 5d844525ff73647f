//! Presets: model, tools, prompt and budget under one name, as the user defined them in Org or in Lisp.
//!
//! But for whom it asks a preset only takes away: tools from those that there are, tokens and dollars from what is
//! allowed. What cannot be read as a whole cannot be chosen, so that no misspelt line leaves more than was meant.

use crate::domain::money::Micros;
use crate::domain::org::outline::Outline;
use crate::domain::org::scan::{ScanOptions, scan};
use crate::domain::tool::{Effect, Named, Tool, Toolbox};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The longest prompt, in bytes.
const MAX_PROMPT: usize = 8 * 1024;
/// The longest name, in characters.
const MAX_NAME: usize = 60;
/// The word that takes a preset back; none can be called so.
pub const NONE: &str = "none";
/// Properties that any heading may have.
const OTHERS: [&str; 4] = ["ID", "CUSTOM_ID", "CATEGORY", "CREATED"];

/// A preset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: String,
    /// Who is asked in which order, each as `PROVIDER` or `PROVIDER/MODEL`; empty leaves the usual order.
    pub order: Vec<String>,
    /// The only tools that are left, beside words to the user; `None` leaves all.
    pub tools: Option<BTreeSet<String>>,
    /// What the model is told beside everything else.
    pub prompt: Option<String>,
    /// The most tokens of a prompt.
    pub tokens: Option<u64>,
    /// The most that its conversation may cost.
    pub dollars: Option<Micros>,
}

/// What somebody wrote of a preset, in words.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said<'a> {
    /// Providers with their models.
    pub model: Option<&'a str>,
    /// Names of tools, or `none`.
    pub tools: Option<&'a str>,
    /// A number of tokens.
    pub tokens: Option<&'a str>,
    /// An amount of dollars.
    pub dollars: Option<&'a str>,
    /// The prompt.
    pub prompt: Option<&'a str>,
}

impl Preset {
    /// Reads a preset.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn read(name: &str, said: &Said<'_>) -> Result<Preset, String> {
        check_name(name)?;
        let tokens = said.tokens.map(|text| {
            let tokens = text.trim().parse::<u64>().ok().filter(|tokens| *tokens > 0);
            tokens.ok_or_else(|| format!("TOKENS is a whole number of tokens above 0, not “{text}”"))
        });
        let dollars = said.dollars.map(|text| {
            Micros::parse(text).ok_or_else(|| format!("USD is an amount of dollars such as 0.50, not “{text}”"))
        });
        let prompt = said.prompt.map(str::trim).filter(|prompt| !prompt.is_empty());
        if prompt.is_some_and(|prompt| prompt.len() > MAX_PROMPT) {
            return Err("its prompt is longer than 8 kB".to_string());
        }
        let order: Vec<String> = words(said.model.unwrap_or_default()).map(str::to_string).collect();
        if said.model.is_some() && order.is_empty() {
            return Err("MODEL names no provider; write PROVIDER or PROVIDER/MODEL".to_string());
        }
        let preset = Preset {
            name: name.to_string(),
            order,
            tools: said.tools.map(tools).transpose()?,
            prompt: prompt.map(str::to_string),
            tokens: tokens.transpose()?,
            dollars: dollars.transpose()?,
        };
        if preset == (Preset { name: name.to_string(), ..Preset::default() }) {
            return Err("it says nothing; give it MODEL, TOOLS, TOKENS, USD or a text".to_string());
        }
        Ok(preset)
    }

    /// Returns what stands for a preset that was chosen and cannot be had: nobody is asked, and no tool is left.
    pub fn shut(name: &str) -> Preset {
        Preset { name: name.to_string(), tools: Some(BTreeSet::new()), tokens: Some(0), ..Preset::default() }
    }

    /// Returns it with what a question says beside it: that asks whom it names, and otherwise only takes away.
    pub fn with(self, other: Preset) -> Preset {
        let tools = match (self.tools, other.tools) {
            (None, tools) | (tools, None) => tools,
            (Some(mine), Some(theirs)) => Some(mine.intersection(&theirs).cloned().collect()),
        };
        Preset {
            order: if other.order.is_empty() { self.order } else { other.order },
            tools,
            prompt: self.prompt.or(other.prompt),
            tokens: self.tokens.into_iter().chain(other.tokens).min(),
            dollars: self.dollars.into_iter().chain(other.dollars).min(),
            name: self.name,
        }
    }

    /// Returns what both leave; whom this one names is asked, and how, and where it names nobody, whom the other does.
    #[must_use]
    pub fn over(self, other: Preset) -> Preset {
        let order = if self.order.is_empty() { other.order.clone() } else { self.order.clone() };
        Preset { order, ..self.with(other) }
    }

    /// Returns whether it leaves a tool. Speaking to the user is always left.
    pub fn may_use(&self, tool: &Tool) -> bool {
        tool.effect == Effect::Reply || self.tools.as_ref().is_none_or(|tools| tools.contains(tool.name))
    }

    /// Returns it in a line, for people.
    pub fn words(&self) -> String {
        let mut parts = Vec::new();
        parts.extend((!self.order.is_empty()).then(|| self.order.join(", ")));
        parts.extend(self.tools.as_ref().map(|tools| match tools.len() {
            0 => "no tools".to_string(),
            _ => format!("tools {}", tools.iter().map(String::as_str).collect::<Vec<_>>().join(", ")),
        }));
        parts.extend(self.tokens.map(|tokens| format!("{tokens} tokens")));
        parts.extend(self.dollars.map(|dollars| dollars.to_string()));
        parts.extend(self.prompt.as_ref().map(|_| "a prompt".to_string()));
        parts.join("; ")
    }
}

/// The presets that there are, each with what is wrong with it, if anything is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Presets {
    known: BTreeMap<String, Result<Preset, String>>,
    /// Why some could not be read at all.
    broken: Option<String>,
}

impl Presets {
    /// Reads a file: each heading of the first level is a preset with the properties MODEL, TOOLS, TOKENS and USD, and the
    /// text below it is the prompt.
    pub fn read(text: &str) -> Presets {
        let mut presets = Presets::default();
        let outline = match scan(Arc::from(text), &ScanOptions::default()) {
            Ok(outline) => outline,
            Err(why) => return Presets::broken(why.to_string()),
        };
        for (index, node) in outline.nodes.iter().enumerate() {
            if index == 0 || node.parent != 0 || node.commented {
                continue;
            }
            let name = outline.slice(&node.title).trim();
            let read = heading(&outline, index, name).map_err(|why| format!("line {}: {why}", node.line));
            presets.add(name, read);
        }
        presets
    }

    /// Returns presets of which nothing is known but why.
    pub fn broken(why: String) -> Presets {
        Presets { known: BTreeMap::new(), broken: Some(why) }
    }

    /// Adds one. Two of one name are none.
    pub fn add(&mut self, name: &str, read: Result<Preset, String>) {
        let twice = || Err("it is defined twice; take one of them away".to_string());
        let read = if self.known.contains_key(name) { twice() } else { read };
        self.known.insert(name.to_string(), read);
    }

    /// Returns a preset by its name.
    ///
    /// # Errors
    /// When there is none, with those that there are, or when it cannot be used, with why.
    pub fn get(&self, name: &str) -> Result<&Preset, String> {
        match (self.known.get(name), &self.broken) {
            (Some(Ok(preset)), None) => Ok(preset),
            (_, Some(why)) => Err(format!("presets cannot be read: {why}")),
            (Some(Err(why)), None) => Err(format!("the preset “{name}” cannot be used: {why}")),
            (None, None) => {
                let names = self.names().join(", ");
                let there = match names.is_empty() {
                    true => "none is defined; the manual says how".to_string(),
                    false => format!("there are {names}"),
                };
                Err(format!("there is no preset “{name}”; {there}"))
            }
        }
    }

    /// Returns the names, those that cannot be used among them.
    pub fn names(&self) -> Vec<&str> {
        self.known.keys().map(String::as_str).collect()
    }

    /// Returns each with what it says, or with what is wrong with it.
    pub fn all(&self) -> impl Iterator<Item = (&str, Result<&Preset, &str>)> {
        self.known.iter().map(|(name, read)| (name.as_str(), read.as_ref().map_err(String::as_str)))
    }

    /// Returns why they could not be read, if so.
    pub fn trouble(&self) -> Option<&str> {
        self.broken.as_deref()
    }
}

fn heading(outline: &Outline, index: usize, name: &str) -> Result<Preset, String> {
    let node = outline.nodes.get(index).ok_or("there is no such heading")?;
    let mut said = Said::default();
    for (key, value) in node.properties.iter() {
        let value: &str = value;
        let place = match key.trim_end_matches('+') {
            "MODEL" => &mut said.model,
            "TOOLS" => &mut said.tools,
            "TOKENS" => &mut said.tokens,
            "USD" => &mut said.dollars,
            other if OTHERS.contains(&other) => continue,
            other => return Err(format!("{other} is no property of a preset; there are MODEL, TOOLS, TOKENS and USD")),
        };
        if place.replace(value).is_some() {
            return Err(format!("{key} stands there twice"));
        }
    }
    let text = outline.slice(&(node.body.start..node.end));
    let kept = text.lines().filter(|line| !line.trim_start().starts_with("# ") && line.trim() != "#");
    let prompt = kept.collect::<Vec<_>>().join("\n");
    Preset::read(name, &Said { prompt: Some(&prompt), ..said })
}

fn check_name(name: &str) -> Result<(), String> {
    let sound = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    match !name.is_empty() && name.chars().count() <= MAX_NAME && name.chars().all(sound) && name != NONE {
        true => Ok(()),
        false => Err(format!(
            "a preset is called by letters, digits, dots and dashes, and not “{NONE}”; “{name}” is no name"
        )),
    }
}

/// Reads names of tools; `none` stands for no tool.
fn tools(text: &str) -> Result<BTreeSet<String>, String> {
    let mut found = BTreeSet::new();
    for word in words(text).filter(|word| *word != NONE) {
        match Toolbox::named(word) {
            Named::Builtin(tool) => found.insert(tool.name.to_string()),
            Named::Own(tool) => found.insert(tool),
            Named::Nothing => return Err(format!("TOOLS names no tool with “{word}”")),
        };
    }
    if found.is_empty() && !words(text).any(|word| word == NONE) {
        return Err(format!("TOOLS names no tool; write {NONE} to leave none"));
    }
    Ok(found)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn presets_are_read_as_a_whole_or_not_at_all() {
        let text = "#+TITLE: Presets\n\
            * careful\n:PROPERTIES:\n:ID: x\n:MODEL: work/large, recall\n:TOOLS: memory-search read-file\n\
            :TOKENS: 8000\n:USD: 0.50\n:END:\n# A remark.\nAnswer in two sentences.\n** And\nIn French.\n\
            * quiet\n:PROPERTIES:\n:TOOLS: none\n:END:\n\
            * COMMENT old\n\
            * slip\n:PROPERTIES:\n:TOOL: none\n:END:\n\
            * wild\n:PROPERTIES:\n:TOOLS: read-fiel\n:END:\n\
            * empty\n* none\nx\n* two words\nx\n\
            * much\n:PROPERTIES:\n:TOKENS: all\n:END:\n\
            * dear\n:PROPERTIES:\n:USD: -1\n:END:\n\
            * twin\nOne.\n* twin\nTwo.\n";
        let presets = Presets::read(text);
        let line = |(name, read): (&str, Result<&Preset, &str>)| match read {
            Ok(preset) => format!("{name}: {} [{}]", preset.words(), preset.prompt.as_deref().unwrap_or("")),
            Err(why) => format!("{name}! {why}"),
        };
        insta::assert_snapshot!(presets.all().map(line).collect::<Vec<_>>().join("\n"), @r"
        careful: work/large, recall; tools memory-search, read-file; 8000 tokens; $0.50; a prompt [Answer in two sentences.
        ** And
        In French.]
        dear! line 36: USD is an amount of dollars such as 0.50, not “-1”
        empty! line 27: it says nothing; give it MODEL, TOOLS, TOKENS, USD or a text
        much! line 32: TOKENS is a whole number of tokens above 0, not “all”
        none! line 28: a preset is called by letters, digits, dots and dashes, and not “none”; “none” is no name
        quiet: no tools []
        slip! line 19: TOOL is no property of a preset; there are MODEL, TOOLS, TOKENS and USD
        twin! it is defined twice; take one of them away
        two words! line 30: a preset is called by letters, digits, dots and dashes, and not “none”; “two words” is no name
        wild! line 23: TOOLS names no tool with “read-fiel”
        ");
        for (name, why) in [
            ("slip", "the preset “slip” cannot be used: line"),
            ("x", "there is no preset “x”; there are careful, dear, "),
        ] {
            let error = presets.get(name).expect_err(name);
            assert!(error.starts_with(why), "{error}");
        }
        let none = Presets::default().get("x").expect_err("there is none");
        assert_eq!(none, "there is no preset “x”; none is defined; the manual says how");
        let broken = Presets::broken("it is no file".to_string());
        assert_eq!(broken.get("x").expect_err("none"), "presets cannot be read: it is no file");
    }

    #[test]
    fn a_question_names_whom_it_asks_and_otherwise_only_takes_away() {
        let read = |model, tools, tokens, dollars| {
            Preset::read("a", &Said { model, tools, tokens, dollars, prompt: None }).expect("it is sound")
        };
        for (mine, other, words) in [
            (
                read(Some("far"), Some("read-file memory-read"), Some("90"), Some("1")),
                read(Some("near/small recall"), Some("memory-read shell"), Some("100"), Some("0.5")),
                "near/small, recall; tools memory-read; 90 tokens; $0.50",
            ),
            (
                read(Some("far"), None, None, Some("1")),
                read(None, Some("none"), Some("7"), None),
                "far; no tools; 7 tokens; $1.00",
            ),
            (read(None, Some("shell"), None, None), read(None, Some("read-file"), None, None), "no tools"),
        ] {
            assert_eq!(mine.clone().with(other.clone()).words(), words);
            let (one, two) = (mine.clone().with(other.clone()), other.with(mine));
            assert_eq!((one.tools, one.tokens, one.dollars), (two.tools, two.tokens, two.dollars));
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "(\\* [a-z]{0,3}\n|:PROPERTIES:\n|:END:\n|:(MODEL|TOOLS|TOKENS|USD):|[ a-z0-9./-]{0,9}|\n){0,40}") {
            let presets = Presets::read(&text);
            for (name, read) in presets.all() {
                prop_assert_eq!(read.is_ok(), presets.get(name).is_ok());
            }
        }
    }
}
