//! What runs in an Org text: source blocks, header arguments, links, diary expressions, formulas, macros, settings.
//!
//! The text is read line by line and not parsed whole: what could be alive in some version of Org counts. What stands in
//! a block of code, or of an example, is none of it but for diary expressions, which the agenda finds anywhere.

use super::{Kind, LONGEST, MOST, Piece, at_most};
use crate::domain::gate::lisp;
use std::collections::HashMap;
use std::ops::Range;

/// Returns the pieces of an Org text that could run.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    // Of the same length, byte for byte.
    let lower = text.to_ascii_lowercase();
    let mut scan = Scan { text, lower: &lower, raw: Vec::new(), found: diary(text) };
    scan.lines();
    scan.inline();
    scan.found
}

/// Returns the diary expressions of a text: at the start of a line, or in the brackets of a timestamp.
pub(super) fn diary(text: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    for at in memchr::memmem::find_iter(text.as_bytes(), "%%(") {
        let before = text.get(..at).unwrap_or("");
        let begins = |text: &str| text.is_empty() || text.ends_with(['\n', '\r']);
        if !(before.ends_with('<') || begins(before) || before.strip_suffix('&').is_some_and(begins)) {
            continue;
        }
        let rest = text.get(at + 2..).unwrap_or("");
        if found.len() == MOST {
            found.push(Piece { kind: Kind::More, code: rest });
            break;
        }
        let near = at_most(rest, LONGEST);
        let code = lisp::first_form(near).and_then(|end| near.get(..end)).unwrap_or(near);
        found.push(Piece { kind: Kind::Agenda, code });
    }
    found
}

/// The longest name of a language or a call that is looked for at each of them, in bytes.
const LONGEST_NAME: usize = 128;

/// Blocks whose text is no Org.
const RAW: [&str; 4] = ["src", "example", "export", "comment"];

struct Scan<'a, 'l> {
    text: &'a str,
    lower: &'l str,
    /// Where blocks stand whose text is no Org, in order.
    raw: Vec<Range<usize>>,
    found: Vec<Piece<'a>>,
}

impl<'a, 'l> Scan<'a, 'l> {
    fn push(&mut self, kind: Kind, place: Range<usize>) {
        let kind = if self.found.len() < MOST { kind } else { Kind::More };
        if self.found.last().is_none_or(|last| last.kind != Kind::More) {
            let place = if kind == Kind::More { place.start..self.text.len() } else { place };
            self.found.push(Piece { kind, code: self.text.get(place).unwrap_or("").trim() });
        }
    }

    fn line(&self, at: usize) -> (&'l str, usize) {
        let lower: &'l str = self.lower;
        let end = memchr::memchr(b'\n', lower.as_bytes().get(at..).unwrap_or(&[])).map(|end| at + end);
        (lower.get(at..end.unwrap_or(lower.len())).unwrap_or(""), end.map_or(lower.len(), |end| end + 1))
    }

    fn lines(&mut self) {
        let (mut at, mut unclosed) = (0, HashMap::new());
        while at < self.lower.len() {
            let (line, next) = self.line(at);
            let inner = line.trim_start_matches([' ', '\t']);
            let whole = at + (line.len() - inner.len())..at + line.len();
            at = next;
            match inner.as_bytes() {
                [b'#', b'+', ..] => {
                    let block = inner.strip_prefix("#+begin_").and_then(|rest| rest.split([' ', '\t', '\r']).next());
                    let name = block.and_then(|block| RAW.into_iter().find(|raw| *raw == block));
                    self.keyword(inner, whole);
                    let end = name.and_then(|name| self.end_of_block(name, next, &mut unclosed));
                    if let Some((end, behind)) = end {
                        self.block(inner, next..end);
                        self.raw.push(next..end);
                        at = behind;
                    }
                }
                [b':', ..] if inner.starts_with(":header-args") => self.arguments(whole),
                [b'|', ..] if inner.contains('=') && inner.contains("'(") => self.push(Kind::Formula, whole),
                _ => {}
            }
        }
    }

    /// Returns where the last line of a block stands, and where the next line begins. A block ends before the next
    /// heading, or it is none.
    fn end_of_block(
        &self,
        name: &'static str,
        from: usize,
        unclosed: &mut HashMap<&'static str, usize>,
    ) -> Option<(usize, usize)> {
        if unclosed.get(name).is_some_and(|until| from < *until) {
            return None;
        }
        let mut at = from;
        while at < self.lower.len() {
            let (line, next) = self.line(at);
            if line.starts_with('*') && line.trim_start_matches('*').starts_with(' ') {
                break;
            }
            if line.trim_matches([' ', '\t', '\r']).strip_prefix("#+end_") == Some(name) {
                return Some((at, next));
            }
            at = next;
        }
        unclosed.insert(name, at);
        None
    }

    fn block(&mut self, begin: &str, body: Range<usize>) {
        let language = begin.strip_prefix("#+begin_src").and_then(|rest| rest.split_whitespace().next());
        match language {
            Some("emacs-lisp" | "elisp") => self.push(Kind::Block, body),
            Some("lisp" | "common-lisp") => self.push(Kind::Dialect, body),
            Some(_) | None => {}
        }
    }

    fn keyword(&mut self, line: &str, whole: Range<usize>) {
        let rest = line.get(2..).unwrap_or("");
        if rest.starts_with("begin_src") {
            return self.arguments(whole);
        }
        let Some((key, value)) = rest.split_once(':') else { return };
        let value = value.trim();
        let second = value.split_once([' ', '\t']).map_or("", |(_, rest)| rest.trim_start());
        match key {
            "header" | "headers" | "call" => self.arguments(whole),
            "property" if value.starts_with("header-args") => self.arguments(whole),
            "macro" if second.starts_with("(eval") => self.push(Kind::Macro, whole),
            "tblfm" if value.contains("'(") => self.push(Kind::Formula, whole),
            "begin" if value.contains("'(") || value.contains(":formatter") => self.push(Kind::Formula, whole),
            "link" if ["%(", "elisp:", "shell:"].iter().any(|sign| second.contains(sign)) => {
                self.push(Kind::Setting, whole)
            }
            "bind" | "orgtbl" => self.push(Kind::Setting, whole),
            "setupfile" | "include" if is_elsewhere(value) => self.push(Kind::Fetched, whole),
            _ => {}
        }
    }

    /// Finds the forms among header arguments, or the arguments of a call. A bracket behind a word is that of a call, in
    /// which others may stand.
    fn arguments(&mut self, place: Range<usize>) {
        let Some(part) = self.text.get(place.clone()) else { return };
        let bytes = part.as_bytes();
        // In a string none begins, where it is plain which parts are strings.
        let plain = !part.contains('\\') && bytes.iter().filter(|byte| **byte == b'"').count() % 2 == 0;
        let (mut at, mut quoted) = (0, false);
        while let Some(byte) = bytes.get(at) {
            quoted ^= *byte == b'"' && plain;
            if *byte == b'(' && !quoted {
                let before = bytes.get(..at).unwrap_or(&[]);
                let quotes = before.iter().rev().take_while(|byte| matches!(byte, b'\'' | b'`')).count();
                let called = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b']');
                if quotes > 0 || !before.last().is_some_and(called) {
                    let start = at - quotes;
                    let rest = part.get(start..).unwrap_or("");
                    let length = lisp::first_form(rest).unwrap_or(rest.len());
                    self.push(Kind::Argument, place.start + start..place.start + start + length);
                    at = start + length;
                    continue;
                }
            }
            at += 1;
        }
        // What is put before and behind a block is text, and becomes code.
        for name in [":prologue", ":epilogue"] {
            let lower = self.lower.get(place.clone()).unwrap_or("");
            let Some(behind) = lower.find(name).map(|at| at + name.len()) else { continue };
            let value = lower.get(behind..).unwrap_or("").trim_start_matches([' ', '\t', '"']);
            if value.starts_with('(') || value.contains("\\n(") {
                self.push(Kind::Argument, place.end - value.len()..place.end);
            }
        }
    }

    /// Finds what stands within lines.
    fn inline(&mut self) {
        let (lower, mut broken) = (self.lower, 0);
        for needle in ["src_", "call_", "elisp:", "shell:"] {
            for at in memchr::memmem::find_iter(lower.as_bytes(), needle) {
                let after_word = lower.as_bytes().get(at.wrapping_sub(1)).is_some_and(u8::is_ascii_alphanumeric);
                let raw = self.raw.partition_point(|range| range.end <= at);
                if after_word || self.raw.get(raw).is_some_and(|range| range.contains(&at)) {
                    continue;
                }
                if broken == MOST || self.found.len() > MOST {
                    return self.push(Kind::More, at..lower.len());
                }
                match needle {
                    "src_" | "call_" => broken += usize::from(!self.call(at, at + needle.len())),
                    _ => self.link(at, at + needle.len()),
                }
            }
        }
    }

    /// `src_LANGUAGE[arguments]{code}` and `call_NAME[arguments](arguments)[arguments]`; false when a bracket is not
    /// closed.
    fn call(&mut self, begin: usize, name: usize) -> bool {
        let near = at_most(self.lower.get(name..).unwrap_or(""), LONGEST);
        let ends = |c: char| c.is_whitespace() || matches!(c, '[' | '{' | '(');
        let Some(end) = at_most(near, LONGEST_NAME).find(ends) else {
            // A name that long is looked at once more only as often as brackets may be broken.
            let Some(end) = near.find(ends) else {
                if name + near.len() < self.lower.len() {
                    self.push(Kind::Argument, name..name + near.len());
                }
                return false;
            };
            self.behind_name(begin, name, near, end);
            return false;
        };
        self.behind_name(begin, name, near, end)
    }

    /// Looks at what stands behind the name of a call; `near` begins with the name, which ends at `end`.
    fn behind_name(&mut self, begin: usize, name: usize, near: &str, end: usize) -> bool {
        let (language, mut rest) = near.split_at(end);
        if language.is_empty() {
            return true;
        }
        let is_code = self.lower.get(begin..name) == Some("src_");
        let is_lisp = is_code && matches!(language, "emacs-lisp" | "elisp");
        while rest.starts_with(['[', '{', '(']) {
            let from = name + near.len() - rest.len();
            let Some(length) = bracketed(rest) else {
                // It may be closed farther away than is looked at.
                if name + near.len() < self.lower.len() {
                    self.push(Kind::Argument, from..name + near.len());
                }
                return false;
            };
            if is_code && rest.starts_with('{') {
                if is_lisp {
                    self.push(Kind::Block, from + 1..from + length - 1);
                }
                return true;
            }
            // Behind a word it is the bracket of the call itself.
            self.arguments(from - 1..from + length);
            rest = rest.get(length..).unwrap_or("");
        }
        true
    }

    fn link(&mut self, begin: usize, path: usize) {
        let near = at_most(self.text.get(path..).unwrap_or(""), LONGEST);
        let near = near.split('\n').next().unwrap_or("");
        let opened = self.lower.get(..begin).is_some_and(|before| before.ends_with("[[") || before.ends_with('<'));
        let goes_on = |c: char| c.is_alphanumeric() || "(/.~$\"'".contains(c);
        if !opened && !near.starts_with(goes_on) {
            return;
        }
        let end = near.find([']', '>']).unwrap_or(near.len());
        let word = near.find(|c: char| c.is_whitespace() || matches!(c, ']' | '>')).unwrap_or(near.len());
        if self.lower.get(begin..path) == Some("shell:") {
            return self.push(Kind::Shell, path..path + if opened { end } else { word });
        }
        let form = near.starts_with('(').then(|| lisp::first_form(near)).flatten();
        self.push(Kind::Link, path..path + form.unwrap_or(word));
    }
}

/// Returns the length of what stands in brackets at the start of a text, the brackets included.
fn bracketed(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return (at > 0).then_some(at + 1);
        }
    }
    None
}

/// Whether a file's name is an address, or that of a file on another machine.
fn is_elsewhere(name: &str) -> bool {
    let name = name.trim_start_matches(['"', ' ']);
    let remote = name.strip_prefix('/').and_then(|path| path.split_once(':'));
    name.contains("://") || remote.is_some_and(|(method, _)| !method.is_empty() && !method.contains('/'))
}
