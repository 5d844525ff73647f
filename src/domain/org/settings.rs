//! In-buffer settings: which `#+TODO:`, `#+FILETAGS:`, `#+TITLE:` and `#+STARTUP:` lines count, and what they say.

use super::chars::is_space_syntax;
use super::headline::split_tags;
use super::outline::{Keyword, Sequence};
use super::section::{line_at, starts_with_fold};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// How many keywords a file may declare; [`super::outline::Node::todo`] is a `u16`.
pub(super) const MAX_KEYWORDS: usize = u16::MAX as usize;

/// How many abbreviations of links a file may have; those behind them are left out.
const MAX_ABBREVIATIONS: usize = 1000;

/// The longest line of an abbreviation, in bytes; longer ones are left out, as each link repeats what it stands for.
const MAX_ABBREVIATION: usize = 1000;

/// Which setting a line makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Todo,
    SeqTodo,
    TypTodo,
    Filetags,
    Title,
    Startup,
    Property,
    Category,
    Link,
    Setupfile,
}

const NAMES: [(&str, Kind); 10] = [
    ("TODO", Kind::Todo),
    ("SEQ_TODO", Kind::SeqTodo),
    ("TYP_TODO", Kind::TypTodo),
    ("FILETAGS", Kind::Filetags),
    ("TITLE", Kind::Title),
    ("STARTUP", Kind::Startup),
    ("PROPERTY", Kind::Property),
    ("CATEGORY", Kind::Category),
    ("LINK", Kind::Link),
    ("SETUPFILE", Kind::Setupfile),
];

/// A line that makes a setting, unless it stands inside a block.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub kind: Kind,
    pub begin: usize,
    pub value: Range<usize>,
}

/// What one line says, in the file itself or in a setup file of it.
#[derive(Clone, Debug)]
pub(super) struct Statement<'a> {
    pub kind: Kind,
    pub value: Cow<'a, str>,
    /// Whether it stands in the file itself.
    pub own: bool,
}

/// What a file says of itself.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub keywords: Vec<Keyword>,
    pub sequences: Vec<Sequence>,
    pub filetags: Vec<Box<str>>,
    pub title: Option<Box<str>>,
    pub startup: Vec<Box<str>>,
    pub properties: Vec<(Box<str>, Box<str>)>,
    pub category: Option<Box<str>>,
    pub abbreviations: Vec<(Box<str>, Box<str>)>,
    /// Whether keywords were left out for their number.
    pub too_many_keywords: bool,
}

/// Returns the setting that a keyword makes, if it makes one.
pub(super) fn kind(key: &str) -> Option<Kind> {
    NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(key)).map(|(_, kind)| *kind)
}

/// Returns the setting that a line makes; `begin` is where the line stands.
pub(super) fn setting(line: &str, begin: usize) -> Option<Line> {
    let inner = line.trim_start_matches([' ', '\t']);
    let token = inner.split(is_space_syntax).next()?;
    // The key reaches to the last colon of the first word: `#+FILETAGS::a:` is not FILETAGS.
    let (key, _) = token.rsplit_once(':')?;
    let name = key.strip_prefix("#+")?;
    let kind = kind(name)?;
    let start = begin + (line.len() - inner.len()) + key.len() + 1;
    Some(Line { kind, begin, value: start..begin + line.len() })
}

/// Returns the setting lines of a whole text, in order, those inside blocks included.
pub(super) fn all(text: &str) -> Vec<Line> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut behind = 0;
    for at in memchr::memmem::find_iter(bytes, b"#+") {
        // One line may hold it often.
        if at < behind {
            continue;
        }
        let before = bytes.get(behind..at).unwrap_or_default();
        let begin = memchr::memrchr(b'\n', before).map_or(behind, |offset| behind + offset + 1);
        let (end, next) = line_at(text, at, text.len());
        behind = next;
        if bytes.get(begin..at).is_some_and(|blanks| blanks.iter().all(|byte| matches!(byte, b' ' | b'\t'))) {
            found.extend(setting(text.get(begin..end).unwrap_or_default(), begin));
        }
    }
    found
}

/// Returns what a setting line says, without the blanks around it.
pub(super) fn value<'a>(text: &'a str, line: &Line) -> &'a str {
    text.get(line.value.clone()).unwrap_or_default().trim_matches([' ', '\t', '\r', '\n'])
}

/// Reads the settings that count, in their order; `defaults` are sequences as behind `#+TODO:`.
pub(super) fn read(statements: &[Statement<'_>], defaults: &[String]) -> Settings {
    let of = |kind: Kind| statements.iter().filter(move |statement| statement.kind == kind);
    let values = |kind: Kind| of(kind).map(|statement| statement.value.as_ref());
    // Org takes TYP_TODO first, then TODO, then SEQ_TODO, whatever their order in the file.
    let steps = values(Kind::Todo).chain(values(Kind::SeqTodo)).map(|value| (value, false));
    let mut declared: Vec<(&str, bool)> = values(Kind::TypTodo).map(|value| (value, true)).chain(steps).collect();
    if declared.is_empty() {
        declared = defaults.iter().map(|value| (value.as_str(), false)).collect();
    }
    let (keywords, sequences, too_many_keywords) = keywords(&declared);
    let fields = values(Kind::Filetags).flat_map(words);
    let filetags = fields.flat_map(split_tags).collect();
    // Org takes the title from the file itself alone.
    let titles = of(Kind::Title).filter(|statement| statement.own).map(|statement| statement.value.as_ref());
    let titles: Vec<&str> = titles.filter(|title| !title.is_empty()).collect();
    let title = (!titles.is_empty()).then(|| titles.join(" ").into());
    let startup = values(Kind::Startup).flat_map(words).map(Box::from).collect();
    let mut properties = properties(values(Kind::Property));
    // Org takes the first line for the property, and the last of the file's own for what `org-get-category` says.
    if let Some(first) = values(Kind::Category).next() {
        put(&mut properties, "CATEGORY", first);
    }
    let own = of(Kind::Category).rfind(|statement| statement.own);
    let category = own.map(|statement| statement.value.as_ref()).or_else(|| values(Kind::Category).next());
    let category = category.map(Box::from);
    let filetags = thinned(filetags);
    let abbreviations = abbreviations(values(Kind::Link));
    Settings { keywords, sequences, filetags, title, startup, properties, category, abbreviations, too_many_keywords }
}

/// Reads `#+PROPERTY` lines: a later one replaces an earlier one of the same key, and `key+` adds to it.
fn properties<'a>(values: impl Iterator<Item = &'a str>) -> Vec<(Box<str>, Box<str>)> {
    let mut found = Vec::new();
    for value in values {
        let key = value.split(is_space_syntax).next().unwrap_or_default();
        let rest = value.get(key.len()..).unwrap_or_default();
        if !key.is_empty() && rest.starts_with([' ', '\t']) {
            put(&mut found, key, rest.trim_start_matches([' ', '\t']));
        }
    }
    found
}

/// Reads `#+LINK` lines: the abbreviation, in quotation marks where it holds blanks, and what it stands for.
fn abbreviations<'a>(values: impl Iterator<Item = &'a str>) -> Vec<(Box<str>, Box<str>)> {
    let quoted = |value: &'a str| {
        // As Org has it: up to the last quotation mark with a blank and something behind it, and no backslash before.
        let rest = value.strip_prefix('"')?;
        rest.rmatch_indices('"').find_map(|(at, _)| {
            let (name, behind) = (rest.get(..at)?, rest.get(at + 1..)?);
            let words = behind.trim_start_matches([' ', '\t']);
            let fits = name.chars().nth(1).is_some() && !name.ends_with('\\') && words.len() < behind.len();
            (fits && !words.is_empty()).then_some((name, words))
        })
    };
    let plain = |value: &'a str| {
        let name = value.split(is_space_syntax).next().filter(|name| !name.is_empty())?;
        let behind = value.get(name.len()..)?;
        let words = behind.trim_start_matches([' ', '\t']);
        (words.len() < behind.len() && !words.is_empty()).then_some((name, words))
    };
    let values = values.filter(|value| value.len() <= MAX_ABBREVIATION);
    let pairs = values.filter_map(|value| quoted(value).or_else(|| plain(value)));
    let pairs = pairs.map(|(name, words)| (name.into(), words.into()));
    pairs.take(MAX_ABBREVIATIONS).collect()
}

fn put(properties: &mut Vec<(Box<str>, Box<str>)>, key: &str, value: &str) {
    let upper = key.to_uppercase();
    let (name, adds) = match upper.strip_suffix('+') {
        Some(name) => (name, true),
        None => (upper.as_str(), false),
    };
    // A file of nothing but such lines must not make this quadratic.
    let known =
        if properties.len() < 1000 { properties.iter_mut().find(|(own, _)| own.as_ref() == name) } else { None };
    match known {
        // What is added to without bound would grow quadratically.
        Some((_, old)) if adds && old.len() < 100_000 => *old = format!("{old} {value}").into(),
        Some((_, old)) if !adds => *old = value.into(),
        Some(_) => {}
        None => properties.push((name.into(), value.into())),
    }
}

/// Splits as Emacs's `split-string` does, which takes a vertical tab for a blank, too.
fn words(value: &str) -> impl Iterator<Item = &str> {
    value.split([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']).filter(|word| !word.is_empty())
}

/// Keeps each file tag once where there are so many that memory would suffer.
fn thinned(tags: Vec<Box<str>>) -> Vec<Box<str>> {
    if tags.len() < 1000 {
        return tags;
    }
    let mut seen = HashSet::new();
    tags.into_iter().filter(|tag| seen.insert(tag.clone())).collect()
}

fn keywords(declared: &[(&str, bool)]) -> (Vec<Keyword>, Vec<Sequence>, bool) {
    let mut found: Vec<Keyword> = Vec::new();
    let mut sequences = Vec::new();
    let mut done_names: HashSet<&str> = HashSet::new();
    let mut too_many = false;
    for (value, types) in declared {
        let words: Vec<&str> = words(value).collect();
        let bar = words.iter().position(|word| *word == "|");
        let names: Vec<&str> = words.iter().filter(|word| **word != "|").map(|word| bare(word)).collect();
        let room = MAX_KEYWORDS - found.len();
        if names.len() > room {
            too_many = true;
            break;
        }
        match bar {
            Some(bar) => done_names.extend(names.iter().skip(bar)),
            None => done_names.extend(names.last()),
        }
        let first = found.len() as u16;
        found.extend(names.iter().map(|name| Keyword { name: (*name).into(), done: false }));
        sequences.push(Sequence { keywords: first..found.len() as u16, types: *types });
    }
    (mark(found, &done_names), sequences, too_many)
}

fn mark(mut keywords: Vec<Keyword>, done: &HashSet<&str>) -> Vec<Keyword> {
    for keyword in &mut keywords {
        keyword.done = done.contains(keyword.name.as_ref());
    }
    keywords
}

/// Returns a keyword without its fast-access key: `NEXT` of `NEXT(n!/@)`.
fn bare(word: &str) -> &str {
    match word.find('(') {
        Some(open) if word.ends_with(')') => word.get(..open).unwrap_or(word),
        Some(_) | None => word,
    }
}

/// Returns those of a section's setting lines that are not inside a block whose content is verbatim.
///
/// One pass back to find where each block ends, one forth to skip: linear, whatever is left unclosed.
pub(super) fn outside_blocks(text: &str, section: Range<usize>, lines: &[Line]) -> Vec<Line> {
    let events = events(text, section, lines);
    let mut closes: HashMap<u32, usize> = HashMap::new();
    let mut close_of = vec![usize::MAX; events.len()];
    for (index, event) in events.iter().enumerate().rev() {
        match event {
            Event::Close(name) => {
                closes.insert(*name, index);
            }
            Event::Open { name, .. } => {
                if let (Some(slot), Some(close)) = (close_of.get_mut(index), closes.get(name)) {
                    *slot = *close;
                }
            }
            Event::Setting(_) => {}
        }
    }
    let mut found = Vec::new();
    let mut limits: Vec<usize> = Vec::new();
    let mut index = 0;
    while let Some(event) = events.get(index) {
        while limits.last().is_some_and(|limit| *limit <= index) {
            limits.pop();
        }
        match event {
            Event::Setting(line) => found.extend(lines.get(*line).cloned()),
            Event::Close(_) => {}
            Event::Open { verbatim, .. } => {
                let close = close_of.get(index).copied().unwrap_or(usize::MAX);
                // An inner block must end before the outer one does.
                if close < limits.last().copied().unwrap_or(usize::MAX) {
                    if *verbatim {
                        index = close;
                    } else {
                        limits.push(close);
                    }
                }
            }
        }
        index += 1;
    }
    found
}

enum Event {
    Open { name: u32, verbatim: bool },
    Close(u32),
    Setting(usize),
}

/// Returns what opens, closes or sets something in a section, in order.
fn events(text: &str, section: Range<usize>, lines: &[Line]) -> Vec<Event> {
    let mut names: HashMap<String, u32> = HashMap::new();
    let mut events = Vec::new();
    let mut next_line = 0;
    let mut opened = false;
    let mut at = section.start;
    while at < section.end {
        // Settings stand mostly at the top, before any block: then the rest does not matter.
        if next_line == lines.len() && !opened {
            break;
        }
        let (end, next) = line_at(text, at, section.end);
        if lines.get(next_line).is_some_and(|line| line.begin == at) {
            events.push(Event::Setting(next_line));
            next_line += 1;
            // What it says may end with the end of the environment that it stands in.
            let line = text.get(at..end).unwrap_or_default().trim_matches([' ', '\t']);
            if let Some(name) = environment_end(line) {
                let count = names.len() as u32;
                events.push(Event::Close(*names.entry(name).or_insert(count)));
            }
        } else {
            let line = text.get(at..end).unwrap_or_default().trim_matches([' ', '\t']);
            if let Some((kind, name)) = marker(line) {
                let count = names.len() as u32;
                let name = *names.entry(name).or_insert(count);
                opened |= !matches!(kind, Marker::Close);
                events.push(match kind {
                    Marker::Verbatim => Event::Open { name, verbatim: true },
                    Marker::Container => Event::Open { name, verbatim: false },
                    Marker::Close => Event::Close(name),
                });
            }
        }
        at = next;
    }
    events
}

enum Marker {
    Verbatim,
    Container,
    Close,
}

/// Returns what a trimmed line opens or closes, under a name that both ends share.
fn marker(line: &str) -> Option<(Marker, String)> {
    const VERBATIM: [&str; 5] = ["comment", "example", "export", "src", "verse"];
    if starts_with_fold(line, "#+begin_") {
        let name = line.get(8..)?.split(is_space_syntax).next().filter(|name| !name.is_empty())?.to_ascii_lowercase();
        let kind = if VERBATIM.contains(&name.as_str()) { Marker::Verbatim } else { Marker::Container };
        return Some((kind, format!("#{name}")));
    }
    if starts_with_fold(line, "#+end_") {
        return Some((Marker::Close, format!("#{}", line.get(6..)?.to_ascii_lowercase())));
    }
    if let Some(inner) = line.strip_prefix(':').and_then(|rest| rest.strip_suffix(':')) {
        if inner.eq_ignore_ascii_case("end") {
            return Some((Marker::Close, ":".to_owned()));
        }
        let plain = !inner.is_empty() && inner.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
        return plain.then(|| (Marker::Container, ":".to_owned()));
    }
    let begins = line.strip_prefix("\\begin{").and_then(|rest| rest.split_once('}')).map(|(name, _)| name);
    if let Some(name) = begins.filter(|name| is_environment(name)) {
        // An environment that ends in its own line holds no other line, but ends one that began above.
        let ends = line.ends_with(&format!("\\end{{{name}}}"));
        return Some((if ends { Marker::Close } else { Marker::Verbatim }, format!("\\{name}")));
    }
    environment_end(line).map(|name| (Marker::Close, name))
}

/// Returns the name under which both ends of an environment are known, of a trimmed line that ends with its end.
fn environment_end(line: &str) -> Option<String> {
    let name = line.strip_suffix('}').and_then(|rest| rest.rsplit_once("\\end{")).map(|(_, name)| name)?;
    is_environment(name).then(|| format!("\\{name}"))
}

fn is_environment(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'*')
}
