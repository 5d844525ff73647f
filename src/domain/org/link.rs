//! The links of a text: bracket, plain and angle, as ranges; one pass, whatever is left unclosed.
//!
//! What stands in verbatim blocks, fixed-width lines and comments is no link, as in Org.
//! Links inside inline `=verbatim=` and `~code~` are listed all the same.

use super::section::{line_at, starts_with_fold};
use std::ops::Range;

/// A link; ranges are bytes into the text it was found in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// All of it, brackets included.
    pub range: Range<usize>,
    /// How it is written.
    pub form: Form,
    /// What it points at.
    pub kind: Kind,
    /// The target without brackets; for [`Kind::Id`], [`Kind::File`], [`Kind::Attachment`] and [`Kind::CustomId`]
    /// without `id:`, `file:`, `attachment:` and `#`; for [`Kind::Heading`] without `*`.
    pub target: Range<usize>,
    /// The description of a bracket link.
    pub description: Option<Range<usize>>,
}

/// How a link is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `[[target][description]]`
    Bracket,
    /// `https://example.org`
    Plain,
    /// `<https://example.org>`
    Angle,
}

/// What a link points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `id:`
    Id,
    /// `file:`, or a bracketed path that begins with `/`, `./`, `../` or `~/`.
    File,
    /// `http:` or `https:`
    Web,
    /// `attachment:`
    Attachment,
    /// `#custom-id`
    CustomId,
    /// `*Heading`
    Heading,
    /// Any other of Org's link types, such as `mailto:` or `elisp:`.
    Other,
    /// A bracketed text that is searched for in the file.
    Search,
}

/// The link types of an Emacs with Org's own modules.
const TYPES: [&str; 28] = [
    "attachment",
    "bbdb",
    "bibtex",
    "cite",
    "docview",
    "doi",
    "elisp",
    "eww",
    "file",
    "file+emacs",
    "file+sys",
    "ftp",
    "gnus",
    "help",
    "http",
    "https",
    "id",
    "info",
    "irc",
    "mailto",
    "man",
    "mhe",
    "news",
    "notmuch",
    "rmail",
    "shell",
    "w3m",
    "coderef",
];

/// Returns the links of a text, in order; none overlaps another.
pub fn links(text: &str) -> Vec<Link> {
    let mut scanner = Scanner { text, close: Next::new(b"]]"), gap: Next::new(b"\n\n"), angle: Next::new(b">") };
    let mut found = Vec::new();
    for range in prose(text) {
        scanner.scan(range, &mut found);
    }
    found
}

/// Returns the parts of a text that may hold links: what is not verbatim.
fn prose(text: &str) -> Vec<Range<usize>> {
    let marks = marks(text);
    // Where each kind of block ends next, from the back.
    let mut ends = [None; VERBATIM.len()];
    let mut closes = vec![None; marks.len()];
    for (index, (_, mark)) in marks.iter().enumerate().rev() {
        match mark {
            Mark::Skip => {}
            Mark::Close(block) => ends[*block] = Some(index),
            Mark::Open(block) => closes[index] = ends[*block],
        }
    }
    let mut parts = Vec::new();
    let (mut from, mut index) = (0, 0);
    while let Some((line, mark)) = marks.get(index) {
        let last = match mark {
            Mark::Skip => Some(index),
            Mark::Close(_) => None,
            Mark::Open(_) => closes[index],
        };
        if let Some((last_line, _)) = last.and_then(|last| marks.get(last)) {
            parts.push(from..line.start);
            from = last_line.end;
        }
        index = last.unwrap_or(index) + 1;
    }
    parts.push(from..text.len());
    parts.retain(|part| !part.is_empty());
    parts
}

const VERBATIM: [&str; 4] = ["comment", "example", "export", "src"];

enum Mark {
    /// A fixed-width or comment line.
    Skip,
    /// Where a verbatim block may begin; an index into [`VERBATIM`].
    Open(usize),
    /// Where it may end.
    Close(usize),
}

fn marks(text: &str) -> Vec<(Range<usize>, Mark)> {
    let block =
        |name: Option<&str>| VERBATIM.iter().position(|known| name.is_some_and(|n| n.eq_ignore_ascii_case(known)));
    let mut marks = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let (end, next) = line_at(text, at, text.len());
        let line = text.get(at..end).unwrap_or_default().trim_matches([' ', '\t']);
        let mark = if matches!(line, ":" | "#") || line.starts_with(": ") || line.starts_with("# ") {
            Some(Mark::Skip)
        } else if starts_with_fold(line, "#+begin_") {
            block(line.get(8..).and_then(|rest| rest.split([' ', '\t']).next())).map(Mark::Open)
        } else if starts_with_fold(line, "#+end_") {
            block(line.get(6..)).map(Mark::Close)
        } else {
            None
        };
        marks.extend(mark.map(|mark| (at..next, mark)));
        at = next;
    }
    marks
}

/// The next place of a byte string, remembered so that asking often costs one pass.
struct Next {
    what: &'static [u8],
    known: usize,
    asked: usize,
    valid: bool,
}

impl Next {
    fn new(what: &'static [u8]) -> Self {
        Next { what, known: 0, asked: 0, valid: false }
    }

    /// Returns where it stands next at or behind `at`; `usize::MAX` for nowhere.
    fn from(&mut self, text: &str, at: usize) -> usize {
        if !self.valid || at < self.asked || at > self.known {
            let rest = text.as_bytes().get(at..).unwrap_or_default();
            self.known = memchr::memmem::find(rest, self.what).map_or(usize::MAX, |offset| at + offset);
            self.valid = true;
        }
        self.asked = at;
        self.known
    }
}

struct Scanner<'a> {
    text: &'a str,
    close: Next,
    gap: Next,
    angle: Next,
}

impl Scanner<'_> {
    fn scan(&mut self, range: Range<usize>, found: &mut Vec<Link>) {
        let bytes = self.text.as_bytes();
        let mut at = range.start;
        while let Some(offset) = memchr::memchr3(b'[', b'<', b':', bytes.get(at..range.end).unwrap_or_default()) {
            let here = at + offset;
            let link = match bytes.get(here) {
                Some(b'[') => self.bracket(here, range.end),
                Some(b'<') => self.angle(here, range.end),
                Some(_) | None => self.plain(here, at, range.end),
            };
            at = link.as_ref().map_or(here + 1, |link| link.range.end);
            found.extend(link);
        }
    }

    fn bracket(&mut self, at: usize, limit: usize) -> Option<Link> {
        let bytes = self.text.as_bytes();
        if bytes.get(at + 1) != Some(&b'[') {
            return None;
        }
        let begin = at + 2;
        let end = target_end(bytes, begin, limit)?;
        let gap = self.gap.from(self.text, begin);
        let target = begin..end;
        if target.is_empty() || gap < end {
            return None;
        }
        if bytes.get(end + 1) == Some(&b']') {
            return self.made(at..end + 2, Form::Bracket, target, None);
        }
        if bytes.get(end + 1) != Some(&b'[') {
            return None;
        }
        let description = end + 2;
        // At least one character, then the first `]]`.
        let close = self.close.from(self.text, description + 1);
        if close >= limit || gap < close {
            return None;
        }
        self.made(at..close + 2, Form::Bracket, target, Some(description..close))
    }

    fn angle(&mut self, at: usize, limit: usize) -> Option<Link> {
        let colon = self.text.get(at + 1..limit)?.bytes().take(16).position(|byte| byte == b':')? + at + 1;
        if !TYPES.contains(&self.text.get(at + 1..colon)?) {
            return None;
        }
        let close = self.angle.from(self.text, colon);
        if close >= limit || close == colon + 1 || self.gap.from(self.text, at) < close {
            return None;
        }
        self.made(at..close + 1, Form::Angle, at + 1..close, None)
    }

    /// A plain link around the colon at `colon`; it may begin no earlier than `floor`.
    fn plain(&self, colon: usize, floor: usize, limit: usize) -> Option<Link> {
        let bytes = self.text.as_bytes();
        let is_type = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'+';
        let low = colon.saturating_sub(12).max(floor);
        let length = bytes.get(low..colon)?.iter().rev().take_while(|byte| is_type(byte)).count();
        let begin = colon - length;
        if !TYPES.contains(&self.text.get(begin..colon)?) {
            return None;
        }
        if self.text.get(..begin)?.chars().next_back().is_some_and(char::is_alphanumeric) {
            return None;
        }
        let end = plain_end(bytes, colon + 1, limit);
        let trimmed = self
            .text
            .get(colon + 1..end)?
            .trim_end_matches(|c: char| c.is_ascii_punctuation() && !matches!(c, '/' | ')'));
        let end = colon + 1 + trimmed.len();
        if trimmed.is_empty() {
            return None;
        }
        self.made(begin..end, Form::Plain, begin..end, None)
    }

    fn made(
        &self,
        range: Range<usize>,
        form: Form,
        target: Range<usize>,
        description: Option<Range<usize>>,
    ) -> Option<Link> {
        let (kind, skip) = kind(self.text.get(target.clone())?, form);
        Some(Link { range, form, kind, target: target.start + skip..target.end, description })
    }
}

/// Returns what a target points at, and how many bytes of it say so.
fn kind(target: &str, form: Form) -> (Kind, usize) {
    if form == Form::Bracket {
        if target.starts_with('#') {
            return (Kind::CustomId, 1);
        }
        if target.starts_with('*') {
            return (Kind::Heading, 1);
        }
        if ["/", "./", "../", "~/"].iter().any(|start| target.starts_with(start)) {
            return (Kind::File, 0);
        }
    }
    match target.split_once(':').map(|(scheme, _)| scheme) {
        Some("id") => (Kind::Id, 3),
        Some("file") => (Kind::File, 5),
        Some("http" | "https") => (Kind::Web, 0),
        Some("attachment") => (Kind::Attachment, 11),
        Some(scheme) if TYPES.contains(&scheme) => (Kind::Other, 0),
        Some(_) | None => (Kind::Search, 0),
    }
}

/// Returns where a bracket link's target ends: at the first `]` that no backslash guards; a bare `[` forbids it.
fn target_end(bytes: &[u8], begin: usize, limit: usize) -> Option<usize> {
    let mut at = begin;
    let mut guarded = false;
    while at < limit {
        match bytes.get(at)? {
            b'\\' => guarded = !guarded,
            b']' if !guarded => return Some(at),
            b'[' if !guarded => return None,
            _ => guarded = false,
        }
        at += 1;
    }
    None
}

/// Returns where a plain link's path ends: at white space or a bracket, but for balanced parentheses.
fn plain_end(bytes: &[u8], begin: usize, limit: usize) -> usize {
    let mut depth = 0u32;
    let mut at = begin;
    while at < limit {
        match bytes.get(at) {
            None | Some(b' ' | b'\t' | b'\n' | b'\r' | b'<' | b'>' | b'[' | b']') => break,
            Some(b'(') => depth += 1,
            Some(b')') if depth == 0 => break,
            Some(b')') => depth -= 1,
            Some(_) => {}
        }
        at += 1;
    }
    at
}
