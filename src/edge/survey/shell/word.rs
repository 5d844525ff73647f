//! Reads one word of a script: what the program would be given, as far as that is known before anything runs.

use super::walk::{Walk, named_children};
use crate::domain::gate::facts::Word;
use tree_sitter::Node;

impl<'a> Walk<'a> {
    /// Returns a word with its quotes taken off, or without a value when that is known only at run time.
    pub(super) fn word(&mut self, node: Node<'a>) -> Word {
        let raw = self.slice(node).to_string();
        let mut word = Word { raw, value: Some(String::new()), ..Word::default() };
        // Concatenations and strings hold leaves; an explicit stack keeps even odd trees from recursing.
        let mut stack = vec![(node, false)];
        let (mut first, mut open) = (true, false);
        while let Some((node, quoted)) = stack.pop() {
            let text = self.slice(node);
            match node.kind() {
                "concatenation" | "command_name" => {
                    if gaps(node, self.text) {
                        word.value = None;
                    }
                    stack.extend(named_children(node).into_iter().rev().map(|child| (child, quoted)));
                }
                "string" => self.quoted(node, &mut word),
                "raw_string" => append(&mut word, Some(text.get(1..text.len().saturating_sub(1)).unwrap_or(""))),
                "ansi_c_string" => append(&mut word, ansi_c(text).as_deref()),
                "word" | "number" | "test_operator" | "variable_name" | "regex" | "special_variable_name" => {
                    let (plain, glob, braces) = unquote(text, &mut open);
                    word.glob |= glob;
                    let plain = if first { self.tilde(plain) } else { Some(plain) };
                    append(&mut word, if braces { None } else { plain.as_deref() });
                }
                "extglob_pattern" => {
                    word.glob = true;
                    append(&mut word, Some(text));
                }
                "simple_expansion" | "expansion" => {
                    let value = self.variable(text);
                    append(&mut word, value.as_deref());
                }
                _ => word.value = None,
            }
            first = false;
        }
        word
    }

    pub(super) fn quoted(&mut self, node: Node<'a>, word: &mut Word) {
        // The text between the children of a string belongs to it: tree-sitter leaves white space out.
        let mut at = node.start_byte() + 1;
        let end = node.end_byte().saturating_sub(1);
        for child in named_children(node) {
            if child.kind() == "string_content" {
                continue;
            }
            let before = self.text.get(at..child.start_byte()).unwrap_or("");
            append(word, Some(&unescape_double(before)));
            let value = match child.kind() {
                "simple_expansion" | "expansion" => self.variable(self.slice(child)),
                _ => None,
            };
            append(word, value.as_deref());
            at = child.end_byte();
        }
        let rest = self.text.get(at..end).unwrap_or("");
        append(word, Some(&unescape_double(rest)));
    }

    /// Looks through the text of a node that belongs to none of its children.
    pub(super) fn leftovers(&mut self, node: Node<'a>) {
        if matches!(node.kind(), "raw_string" | "ansi_c_string" | "comment") {
            return;
        }
        let mut at = node.start_byte();
        let mut cursor = node.walk();
        let children: Vec<Node<'a>> = node.children(&mut cursor).collect();
        for child in children {
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
        let Some(rest) = plain.strip_prefix('~') else { return Some(plain) };
        match rest {
            "" => Some(self.known.home.to_string()),
            _ if rest.starts_with('/') => Some(format!("{}{rest}", self.known.home)),
            // `~user`, `~+` and `~-` are resolved where names are resolved; here they stay as they are.
            _ => Some(plain),
        }
    }

    fn variable(&self, text: &str) -> Option<String> {
        let name = text.trim_start_matches('$').trim_start_matches('{').trim_end_matches('}');
        if self.assigned.iter().any(|assigned| assigned == name) {
            return None;
        }
        match name {
            "HOME" => Some(self.known.home.to_string()),
            "PWD" => Some(self.known.folder.to_string()),
            _ => None,
        }
    }
}

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

pub(super) fn arithmetic_is_plain(text: &str) -> bool {
    !text.chars().any(|c| c.is_alphabetic() || matches!(c, '_' | '`' | '=' | '['))
        && !text.trim_start_matches('$').contains('$')
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
