//! What a property is worth at a node: own lines, `KEY+` lines, inheritance, `#+PROPERTY`, as `org-entry-get` has it.

use super::outline::Outline;
use regex::{Regex, RegexBuilder};

/// Which properties hold below the heading that has them: Org's `org-use-property-inheritance`.
#[derive(Clone, Debug, Default)]
pub enum Inheritance {
    /// None but those that Org always inherits; Org's own default.
    #[default]
    Never,
    /// All.
    Always,
    /// Those of a list, in any case.
    Named(Vec<String>),
    /// Those in whose name a pattern is found.
    Matching(Regex),
}

impl PartialEq for Inheritance {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Inheritance::Never, Inheritance::Never) | (Inheritance::Always, Inheritance::Always) => true,
            (Inheritance::Named(own), Inheritance::Named(other)) => own == other,
            (Inheritance::Matching(own), Inheritance::Matching(other)) => own.as_str() == other.as_str(),
            (Inheritance::Never | Inheritance::Always | Inheritance::Named(_) | Inheritance::Matching(_), _) => false,
        }
    }
}

impl Eq for Inheritance {}

/// What Org inherits whatever the user says.
const ALWAYS: [&str; 5] = ["CATEGORY", "ARCHIVE", "COLUMNS", "LOGGING", "LOG_INTO_DRAWER"];

/// The longest pattern that is taken, in bytes.
const MAX_PATTERN: usize = 2_000;

impl Inheritance {
    /// Reads a pattern as Emacs writes them.
    ///
    /// # Errors
    ///
    /// What of it has no meaning here, for people.
    pub fn matching(pattern: &str) -> Result<Self, String> {
        if pattern.len() > MAX_PATTERN {
            return Err(format!("the pattern is longer than {MAX_PATTERN} bytes"));
        }
        let translated = translated(pattern)?;
        let built = RegexBuilder::new(&translated).case_insensitive(true).size_limit(1 << 20).build();
        built.map(Inheritance::Matching).map_err(|error| error.to_string())
    }

    /// Returns whether a property holds below the heading that has it; the key in any case.
    pub fn inherits(&self, key: &str) -> bool {
        let upper = key.to_uppercase();
        if ALWAYS.contains(&upper.as_str()) || upper.ends_with("_ALL") || upper.starts_with("HEADER-ARGS") {
            return true;
        }
        match self {
            Inheritance::Never => false,
            Inheritance::Always => true,
            Inheritance::Named(names) => names.iter().any(|name| name.to_uppercase() == upper),
            Inheritance::Matching(pattern) => pattern.is_match(&upper),
        }
    }
}

/// Translates a pattern of Emacs: there, the bare parentheses, braces and bar are letters, the guarded ones are not.
fn translated(pattern: &str) -> Result<String, String> {
    let mut result = String::with_capacity(pattern.len() + 8);
    let mut chars = pattern.chars().peekable();
    let mut start = true;
    while let Some(c) = chars.next() {
        let mut begins = false;
        match c {
            '\\' => match chars.next() {
                Some(c @ ('(' | ')' | '|' | '{' | '}')) => {
                    result.push(c);
                    begins = matches!(c, '(' | '|');
                    if c == '(' && chars.peek() == Some(&'?') {
                        chars.next();
                        while chars.next_if(char::is_ascii_digit).is_some() {}
                        if chars.next() != Some(':') {
                            return Err("it has a group of an unknown kind".to_owned());
                        }
                        result.push_str("?:");
                    }
                }
                Some('`') => result.push_str("\\A"),
                Some('\'') => result.push_str("\\z"),
                Some('<' | '>' | 'b') => result.push_str("\\b"),
                Some(c @ ('w' | 'W' | 'B')) => result.extend(['\\', c]),
                Some(c) if !c.is_alphanumeric() && c != '_' && c != '=' => {
                    result.push_str(&regex::escape(&c.to_string()))
                }
                Some(c) => return Err(format!("\\{c} has no meaning here")),
                None => return Err("it ends with a backslash".to_owned()),
            },
            '(' | ')' | '|' | '{' | '}' => result.extend(['\\', c]),
            // A star with nothing before it is a letter.
            '*' | '+' | '?' if start => result.extend(['\\', c]),
            '[' => {
                result.push('[');
                result.extend(chars.next_if_eq(&'^'));
                if chars.next_if_eq(&']').is_some() {
                    result.push_str("\\]");
                }
                loop {
                    match chars.next() {
                        None => return Err("a bracket is not closed".to_owned()),
                        Some(']') => break,
                        Some('[') if chars.peek() == Some(&':') => {
                            result.push('[');
                            for c in chars.by_ref() {
                                result.push(c);
                                if c == ']' {
                                    break;
                                }
                            }
                        }
                        Some(c @ ('[' | '\\' | '&' | '~')) => result.extend(['\\', c]),
                        Some(c) => result.push(c),
                    }
                }
                result.push(']');
            }
            c => result.push(c),
        }
        start = begins;
    }
    Ok(result)
}

impl Outline {
    /// Returns what a node itself says of a property: its value and what `KEY+` lines add, a blank between.
    ///
    /// The key in upper case. The word `nil` means none.
    pub fn value(&self, index: usize, key: &str) -> Option<String> {
        let node = self.nodes.get(index)?;
        let (base, added) = lines(&node.properties, key);
        let base = base.filter(|value| *value != "nil");
        joined(base.into_iter().chain(added).collect())
    }

    /// Returns what holds of a property at a node: as [`Outline::value`], or from above, or of the whole file.
    ///
    /// The search ends at the first heading that has the key itself; what `KEY+` lines between say is added to it.
    pub fn inherited_value(&self, index: usize, key: &str) -> Option<String> {
        let mut values: Vec<&str> = Vec::new();
        let mut at = index;
        loop {
            let node = self.nodes.get(at)?;
            let (base, added) = lines(&node.properties, key);
            let found = base.is_some();
            let own: Vec<&str> = base.into_iter().chain(added).collect();
            values.splice(0..0, own);
            if found {
                return joined(values);
            }
            if at == 0 {
                break;
            }
            at = node.parent as usize;
        }
        let global = self.properties.iter().find(|(own, _)| own.as_ref() == key);
        if let Some((_, value)) = global {
            values.insert(0, value);
        }
        joined(values)
    }

    /// Returns what holds of a property at a node, inherited where the user's setting says so.
    pub fn effective_value(&self, index: usize, key: &str, inheritance: &Inheritance) -> Option<String> {
        if inheritance.inherits(key) { self.inherited_value(index, key) } else { self.value(index, key) }
    }

    /// Returns a node's category; `file` names the file where nothing else does.
    pub fn category(&self, index: usize, file: &str) -> String {
        let mut at = index;
        let mut added: Vec<&str> = Vec::new();
        while let Some(node) = self.nodes.get(at) {
            let (base, more) = lines(&node.properties, "CATEGORY");
            let found = base.is_some();
            let own: Vec<&str> = base.into_iter().chain(more).collect();
            added.splice(0..0, own);
            if found || at == 0 {
                break;
            }
            at = node.parent as usize;
        }
        let own = self.nodes.get(at).and_then(|node| lines(&node.properties, "CATEGORY").0);
        if own.is_none() {
            let name = file.rsplit('/').next().unwrap_or(file);
            let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
            added.insert(0, self.category.as_deref().unwrap_or(if stem.is_empty() { "???" } else { stem }));
        }
        joined(added).unwrap_or_else(|| "???".to_owned())
    }

    /// Returns whether a heading itself has the tag `ARCHIVE`.
    pub fn is_archived(&self, index: usize) -> bool {
        self.nodes.get(index).is_some_and(|node| node.tags.iter().any(|tag| tag.as_ref() == "ARCHIVE"))
    }
}

/// Returns the value of the last line of a key, and those of its `KEY+` lines.
fn lines<'a>(properties: &'a [(Box<str>, Box<str>)], key: &str) -> (Option<&'a str>, Vec<&'a str>) {
    let base = properties.iter().rev().find(|(own, _)| own.as_ref() == key).map(|(_, value)| value.as_ref());
    let added = properties.iter().filter(|(own, _)| own.strip_suffix('+') == Some(key));
    (base, added.map(|(_, value)| value.as_ref()).collect())
}

fn joined(values: Vec<&str>) -> Option<String> {
    let value = (!values.is_empty()).then(|| values.join(" "))?;
    (value != "nil").then_some(value)
}
