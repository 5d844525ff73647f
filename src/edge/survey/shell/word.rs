//! Reads one word of a script: what the program would be given, as far as that is known before anything runs.

use super::super::path::home_of;
use super::variables::names;
use super::walk::{Walk, children_of, named_children};
use crate::domain::gate::facts::Word;
use tree_sitter::Node;

/// Returns whether a text begins with the name of a user whose home is known.
fn is_user(text: &str) -> bool {
    let name = text.split(['/', ':']).next().unwrap_or(text);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && home_of(name).is_some()
}

impl<'a> Walk<'a> {
    /// Returns a word with its quotes taken off, or without a value when that is known only at run time.
    pub(super) fn word(&mut self, node: Node<'a>) -> Word {
        let raw = self.slice(node).to_string();
        let mut word = Word { raw, value: Some(String::new()), ..Word::default() };
        // Concatenations and strings hold leaves; an explicit stack keeps even odd trees from recursing.
        let mut stack = vec![(node, false)];
        let (mut first, mut open, mut lost) = (true, false, false);
        while let Some((node, quoted)) = stack.pop() {
            let text = self.slice(node);
            match node.kind() {
                "concatenation" | "command_name" => {
                    if gaps(node, self.text) {
                        word.value = None;
                        lost = true;
                    }
                    stack.extend(named_children(node).into_iter().rev().map(|child| (child, quoted)));
                }
                "string" => lost |= !self.quoted(node, &mut word),
                "raw_string" => append(&mut word, Some(text.get(1..text.len().saturating_sub(1)).unwrap_or(""))),
                "ansi_c_string" => {
                    let plain = ansi_c(text);
                    lost |= plain.is_none();
                    append(&mut word, plain.as_deref());
                }
                "word" | "number" | "test_operator" | "variable_name" | "regex" | "special_variable_name" => {
                    let (plain, glob, braces) = unquote(text, &mut open);
                    word.glob |= glob;
                    let plain = if first { self.tilde(plain) } else { Some(plain) };
                    lost |= braces;
                    append(&mut word, if braces { None } else { plain.as_deref() });
                }
                "extglob_pattern" => {
                    word.glob = true;
                    append(&mut word, Some(text));
                }
                "simple_expansion" | "expansion" => lost |= !self.variable(text, false, &mut word),
                "command_substitution" => {
                    word.value = None;
                    word.from.push(self.output(node));
                }
                "arithmetic_expansion" if self.arithmetic_is_plain(text) => append(&mut word, Some(NUMBER)),
                // Its output is read like a file of this name.
                "process_substitution" if text.starts_with("<(") => append(&mut word, Some(PIPED)),
                _ => {
                    word.value = None;
                    lost = true;
                }
            }
            first = false;
        }
        if lost {
            word.from.clear();
        }
        word
    }

    /// Adds what stands in double quotes; says whether all of it is known, or at least where it comes from.
    pub(super) fn quoted(&mut self, node: Node<'a>, word: &mut Word) -> bool {
        let mut known = true;
        // The text between the children of a string belongs to it: tree-sitter leaves white space out.
        let mut at = node.start_byte() + 1;
        let end = node.end_byte().saturating_sub(1);
        for child in named_children(node) {
            if child.kind() == "string_content" {
                continue;
            }
            let before = self.text.get(at..child.start_byte()).unwrap_or("");
            append(word, Some(&unescape_double(before)));
            match child.kind() {
                "simple_expansion" | "expansion" => known &= self.variable(self.slice(child), true, word),
                "command_substitution" => {
                    word.value = None;
                    word.from.push(self.output(child));
                }
                "arithmetic_expansion" if self.arithmetic_is_plain(self.slice(child)) => append(word, Some(NUMBER)),
                _ => {
                    word.value = None;
                    known = false;
                }
            }
            at = child.end_byte();
        }
        let rest = self.text.get(at..end).unwrap_or("");
        append(word, Some(&unescape_double(rest)));
        known
    }

    /// Looks through the text of a node that belongs to none of its children.
    pub(super) fn leftovers(&mut self, node: Node<'a>) {
        if matches!(node.kind(), "raw_string" | "ansi_c_string" | "comment") {
            return;
        }
        let mut at = node.start_byte();
        for child in children_of(node, |_| true) {
            self.overlooked(self.text.get(at..child.start_byte()).unwrap_or(""));
            at = child.end_byte().max(at);
        }
        self.overlooked(self.text.get(at..node.end_byte()).unwrap_or(""));
    }

    /// What a shell would substitute must have been seen by the grammar as well.
    fn overlooked(&mut self, plain: &str) {
        let mut escaped = false;
        let mut before = ' ';
        for c in plain.chars() {
            if !escaped && (c == '`' || (before == '$' && matches!(c, '(' | '{' | '['))) {
                self.unknown("Something in quotes is substituted that was not understood.");
            }
            before = if escaped { ' ' } else { c };
            escaped = c == '\\' && !escaped;
        }
    }

    fn tilde(&self, plain: String) -> Option<String> {
        let Some(rest) = plain.strip_prefix('~') else {
            // Behind these signs a shell may take it for a home as well.
            let behind = ["=~", ":~"].iter().flat_map(|sign| plain.split(sign).skip(1));
            let known = behind.into_iter().all(|rest| rest.is_empty() || rest.starts_with(['/', ':']) || is_user(rest));
            return known.then_some(plain);
        };
        match rest {
            "" => Some(self.known.home.to_string()),
            _ if rest.starts_with('/') => Some(format!("{}{rest}", self.known.home)),
            // `~user` is resolved where names are resolved, if the system's list has the user. Where `~+`, `~-`, `~1` and
            // others lead is known only at run time.
            _ => is_user(rest).then_some(plain),
        }
    }

    /// Adds what a variable holds; says whether that is known, or at least where it comes from.
    fn variable(&self, text: &str, quoted: bool, word: &mut Word) -> bool {
        match self.filled(text, quoted) {
            Some((text, glob)) => {
                word.glob |= glob;
                append(word, Some(&text));
                true
            }
            None if self.counts(text) => {
                append(word, Some(NUMBER));
                true
            }
            None => {
                word.value = None;
                let sources = self.sources(text);
                word.from.extend(sources.into_iter().flatten());
                sources.is_some()
            }
        }
    }

    /// Returns whether working out a sum runs nothing: numbers, and variables that hold numbers.
    pub(super) fn arithmetic_is_plain(&self, text: &str) -> bool {
        let inner = text.trim_start_matches('$');
        !inner.contains(['`', '[', '{', '"', '\'', '\\'])
            && !inner.contains("$(")
            && inner.is_ascii()
            && names(inner).all(|(name, _)| self.is_numeric(name))
            && inner.match_indices('$').all(|(at, _)| {
                inner.get(at + 1..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
            })
    }
}

/// What stands for a number that is worked out.
const NUMBER: &str = "1";

/// What a program is given for `<(…)`.
const PIPED: &str = "/dev/fd/63";

fn append(word: &mut Word, part: Option<&str>) {
    match (part, &mut word.value) {
        (Some(part), Some(value)) => value.push_str(part),
        _ => word.value = None,
    }
}

/// Returns whether text stands between the children of a concatenation that belongs to none of them.
fn gaps(node: Node<'_>, text: &str) -> bool {
    let children = named_children(node);
    let mut at = node.start_byte();
    for child in &children {
        if child.start_byte() != at && text.get(at..child.start_byte()).is_some_and(|gap| !gap.is_empty()) {
            return true;
        }
        at = child.end_byte();
    }
    at != node.end_byte()
}

/// Takes backslashes off an unquoted part of a word; says whether a pattern or braces stand in it.
/// A brace that was opened in an earlier part stays open.
fn unquote(text: &str, open: &mut bool) -> (String, bool, bool) {
    let (mut plain, mut glob, mut braces) = (String::new(), false, false);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') | None => {}
                Some(next) => plain.push(next),
            },
            '*' | '?' | '[' => {
                glob = true;
                plain.push(c);
            }
            '{' => {
                *open = true;
                plain.push(c);
            }
            ',' | '.' if *open => {
                braces = braces || c == ',' || plain.ends_with('.');
                plain.push(c);
            }
            _ => plain.push(c),
        }
    }
    (plain, glob, braces)
}

fn unescape_double(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match chars.next() {
            Some('\n') => {}
            Some(next @ ('$' | '`' | '"' | '\\')) => plain.push(next),
            Some(next) => {
                plain.push('\\');
                plain.push(next);
            }
            None => plain.push('\\'),
        }
    }
    plain
}

/// Returns what `$'…'` stands for; `None` for escapes that are rare enough to be unknown.
fn ansi_c(text: &str) -> Option<String> {
    let inner = text.strip_prefix("$'")?.strip_suffix('\'')?;
    let mut plain = String::new();
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        let next = chars.next()?;
        let mut digits = |most: usize, radix: u32, first: Option<char>| {
            let mut text: String = first.into_iter().collect();
            while text.len() < most
                && let Some(digit) = chars.next_if(|c| c.is_digit(radix))
            {
                text.push(digit);
            }
            u32::from_str_radix(&text, radix).ok().and_then(char::from_u32)
        };
        plain.push(match next {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' | 'E' => '\u{1b}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '\\' | '\'' | '"' | '?' => next,
            'x' => digits(2, 16, None)?,
            'u' => digits(4, 16, None)?,
            'U' => digits(8, 16, None)?,
            '0'..='7' => digits(3, 8, Some(next))?,
            _ => return None,
        });
    }
    Some(plain)
}

/// Allows `${name}`, `${#name}`, defaults and cuts; not assignment, indirection or prompt expansion.
pub(super) fn expansion_is_plain(text: &str) -> bool {
    let Some(inner) = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else { return false };
    let inner = inner.strip_prefix('#').unwrap_or(inner);
    let name_ends = inner.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(inner.len());
    let (name, rest) = inner.split_at(name_ends);
    if name.is_empty() {
        return matches!(rest, "" | "@" | "*" | "?" | "!" | "$" | "#" | "-");
    }
    let simple = ["", "[@]", "[*]"].contains(&rest);
    simple
        || rest.starts_with(":-")
        || rest.starts_with('-')
        || rest.starts_with('#')
        || rest.starts_with('%')
        || (rest.starts_with('/') && !rest.contains('@'))
        || rest.starts_with(":+")
}
