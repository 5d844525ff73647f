//! The links of a text: bracket, plain and angle, as ranges; one pass, whatever is left unclosed.
//!
//! What stands in verbatim blocks and text, drawers of properties, keywords, fixed-width lines and comments is no
//! link, as in Org.

use super::chars::is_space_syntax;
use super::headline;
use super::lines::{self, Kind as LineKind};
use std::borrow::Cow;
use std::collections::HashMap;
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

/// Tells whether a word is a link type of an Emacs with Org's own modules. Asked at every colon of every file.
fn is_type(word: &[u8]) -> bool {
    matches!(
        word,
        b"attachment"
            | b"bbdb"
            | b"bibtex"
            | b"cite"
            | b"docview"
            | b"doi"
            | b"elisp"
            | b"eww"
            | b"file"
            | b"file+emacs"
            | b"file+sys"
            | b"ftp"
            | b"gnus"
            | b"help"
            | b"http"
            | b"https"
            | b"id"
            | b"info"
            | b"irc"
            | b"mailto"
            | b"man"
            | b"mhe"
            | b"news"
            | b"notmuch"
            | b"rmail"
            | b"shell"
            | b"w3m"
            | b"coderef"
    )
}

/// Returns the links of a text, in order; none overlaps another.
///
/// The text is a file, a section of one, or a title.
pub fn links(text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    // Only sections in which a link may stand are looked at, and in them only such lines: most have none.
    let mut scanner = Scanner::of(text, may_be_links(text).collect());
    let mut done = 0;
    while let Some(at) = scanner.may_be_link(done) {
        let section = section_around(text, at, done);
        done = section.end;
        links_of_section(&mut scanner, section, &mut found);
    }
    found
}

fn links_of_section(scanner: &mut Scanner<'_>, section: Range<usize>, found: &mut Vec<Link>) {
    let text = scanner.text;
    let mut unit: Option<Range<usize>> = None;
    lines::for_each_in(text, section, |line, kind| {
        let joins = kind == LineKind::Text && unit.as_ref().is_some_and(|unit| unit.end + 1 == line.start);
        match unit.as_mut().filter(|_| joins) {
            Some(unit) => unit.end = line.end,
            None => {
                if let Some(unit) = unit.take() {
                    scanner.scan(unit, found);
                }
                match kind {
                    LineKind::Blank | LineKind::Mark | LineKind::Clock => {}
                    LineKind::Row => scanner.row(line, found),
                    LineKind::Heading | LineKind::Caption => scanner.scan(line, found),
                    LineKind::Item => {
                        let bullet = lines::bullet(text.get(line.clone()).unwrap_or_default());
                        unit = Some(line.start + bullet..line.end);
                    }
                    LineKind::Text => unit = Some(line),
                }
            }
        }
    });
    if let Some(unit) = unit {
        scanner.scan(unit, found);
    }
}

/// Returns where something stands that every link has: two brackets, or the colon behind a type.
fn may_be_links(text: &str) -> impl Iterator<Item = usize> + '_ {
    let bytes = text.as_bytes();
    memchr::memchr2_iter(b'[', b':', bytes).filter(move |at| match bytes.get(*at) {
        Some(b'[') => bytes.get(at + 1) == Some(&b'['),
        // Nearly every colon stands behind something else.
        _ => {
            at.checked_sub(1).and_then(|before| bytes.get(before)).is_some_and(u8::is_ascii_alphanumeric)
                && type_before(text, *at, 0).is_some()
        }
    })
}

/// Returns the headline and what stands below it around a place; no section ends between `floor`, where one ends or
/// the text begins, and the place unless a headline does.
fn section_around(text: &str, at: usize, floor: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let headline = |newline: &usize| headline::stars(bytes.get(newline + 1..).unwrap_or_default()).is_some();
    let before = bytes.get(floor..at).unwrap_or_default();
    let begin = memchr::memrchr_iter(b'\n', before).map(|offset| floor + offset).find(headline);
    let behind = bytes.get(at..).unwrap_or_default();
    let end = memchr::memmem::find_iter(behind, b"\n*").map(|offset| at + offset).find(headline);
    begin.map_or(floor, |newline| newline + 1)..end.map_or(text.len(), |newline| newline + 1)
}

/// Returns where the link type begins that ends at a colon, if one does.
fn type_before(text: &str, colon: usize, floor: usize) -> Option<usize> {
    let low = colon.saturating_sub(12).max(floor);
    let of_type = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'+';
    let length = text.as_bytes().get(low..colon)?.iter().rev().take_while(|byte| of_type(byte)).count();
    let begin = colon - length;
    is_type(text.as_bytes().get(begin..colon)?).then_some(begin)
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

/// The next place where `=` or `~` ends verbatim text, remembered likewise.
struct Closing {
    mark: u8,
    known: usize,
    asked: usize,
    limit: usize,
}

impl Closing {
    fn new(mark: u8) -> Self {
        Closing { mark, known: 0, asked: usize::MAX, limit: 0 }
    }

    /// Returns where it stands next at or behind `at` and before `limit`; `usize::MAX` for nowhere.
    fn from(&mut self, text: &str, at: usize, limit: usize) -> usize {
        if limit != self.limit || at < self.asked || at > self.known {
            let rest = text.as_bytes().get(at..limit).unwrap_or_default();
            let ends = |place: &usize| {
                let before = text.get(..*place).and_then(|head| head.chars().next_back());
                let after = text.get(*place + 1..limit).and_then(|tail| tail.chars().next());
                before.is_some_and(|c| !is_space_syntax(c))
                    && after.is_none_or(|c| is_space_syntax(c) || "-.,;:!?'\")}\\[".contains(c))
            };
            self.known =
                memchr::memchr_iter(self.mark, rest).map(|offset| at + offset).find(ends).unwrap_or(usize::MAX);
            self.limit = limit;
        }
        self.asked = at;
        self.known
    }
}

struct Scanner<'a> {
    text: &'a str,
    /// Where links may stand, in order.
    candidates: Vec<usize>,
    close: Next,
    angle: Next,
    equal: Closing,
    tilde: Closing,
}

/// The bytes at which a link or verbatim text may begin.
const STARTS: [bool; 256] = {
    let mut table = [false; 256];
    table[b'[' as usize] = true;
    table[b'<' as usize] = true;
    table[b':' as usize] = true;
    table[b'=' as usize] = true;
    table[b'~' as usize] = true;
    table
};

impl<'a> Scanner<'a> {
    fn of(text: &'a str, candidates: Vec<usize>) -> Self {
        Scanner {
            text,
            candidates,
            close: Next::new(b"]]"),
            angle: Next::new(b">"),
            equal: Closing::new(b'='),
            tilde: Closing::new(b'~'),
        }
    }
}

impl Scanner<'_> {
    /// Scans each cell of a table's row by itself.
    fn row(&mut self, line: Range<usize>, found: &mut Vec<Link>) {
        if self.may_be_link(line.start).is_none_or(|at| at >= line.end) {
            return;
        }
        let mut at = line.start;
        let bars: Vec<usize> =
            memchr::memchr_iter(b'|', self.text.as_bytes().get(line.clone()).unwrap_or_default()).collect();
        for bar in bars {
            self.scan(at..line.start + bar, found);
            at = line.start + bar + 1;
        }
        self.scan(at..line.end, found);
    }

    /// Returns the first place from a byte on at which a link may stand.
    fn may_be_link(&self, from: usize) -> Option<usize> {
        self.candidates.get(self.candidates.partition_point(|at| *at < from)).copied()
    }

    fn scan(&mut self, range: Range<usize>, found: &mut Vec<Link>) {
        if self.may_be_link(range.start).is_none_or(|at| at >= range.end) {
            return;
        }
        let bytes = self.text.as_bytes();
        let mut at = range.start;
        let mut floor = at;
        while at < range.end {
            let Some(&byte) = bytes.get(at) else { break };
            if !STARTS[byte as usize] {
                at += 1;
                continue;
            }
            let link = match byte {
                b'[' => self.bracket(at, range.end),
                b'<' => self.angle(at, range.end),
                b':' => self.plain(at, floor, range.end),
                _ => {
                    at = self.verbatim(byte, at, &range).map_or(at, |end| {
                        floor = end;
                        end
                    });
                    None
                }
            };
            at = link.as_ref().map_or(at + 1, |link| link.range.end);
            if link.is_some() {
                floor = at;
            }
            found.extend(link);
        }
    }

    /// Returns where the verbatim text ends that begins at a byte, at its closing mark.
    fn verbatim(&mut self, mark: u8, at: usize, range: &Range<usize>) -> Option<usize> {
        let before = self.text.get(range.start..at)?.chars().next_back();
        let after = self.text.get(at + 1..range.end)?.chars().next()?;
        if before.is_some_and(|c| !is_space_syntax(c) && !"-('\"{".contains(c)) || is_space_syntax(after) {
            return None;
        }
        let closing = if mark == b'=' { &mut self.equal } else { &mut self.tilde };
        let close = closing.from(self.text, at + 2, range.end);
        (close != usize::MAX).then_some(close)
    }

    fn bracket(&mut self, at: usize, limit: usize) -> Option<Link> {
        let bytes = self.text.as_bytes();
        if bytes.get(at + 1) != Some(&b'[') {
            return None;
        }
        let begin = at + 2;
        let end = target_end(bytes, begin, limit)?;
        let target = begin..end;
        if target.is_empty() {
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
        if close >= limit {
            return None;
        }
        self.made(at..close + 2, Form::Bracket, target, Some(description..close))
    }

    fn angle(&mut self, at: usize, limit: usize) -> Option<Link> {
        let colon = self.text.get(at + 1..limit)?.bytes().take(16).position(|byte| byte == b':')? + at + 1;
        if !is_type(self.text.as_bytes().get(at + 1..colon)?) {
            return None;
        }
        let close = self.angle.from(self.text, colon);
        if close >= limit || close == colon + 1 {
            return None;
        }
        self.made(at..close + 1, Form::Angle, at + 1..close, None)
    }

    /// A plain link around the colon at `colon`; it may begin no earlier than `floor`.
    fn plain(&self, colon: usize, floor: usize, limit: usize) -> Option<Link> {
        let begin = type_before(self.text, colon, floor)?;
        let before = self.text.get(..begin)?;
        if before.ends_with(|c: char| c.is_alphanumeric() || c == '\'') || ends_in_script(before) {
            return None;
        }
        let end = plain_end(self.text, colon + 1, limit)?;
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

/// Returns whether what follows a text is the beginning of a subscript or superscript, such as `id` in `custom_id`.
fn ends_in_script(before: &str) -> bool {
    let before = before.strip_suffix(['+', '-']).unwrap_or(before);
    before.strip_suffix(['_', '^']).is_some_and(|base| base.ends_with(|c: char| !c.is_whitespace()))
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
        if ["/", "./", "../", "~"].iter().any(|start| target.starts_with(start)) {
            return (Kind::File, 0);
        }
    }
    match target.split_once(':').map(|(scheme, _)| scheme) {
        Some("id") => (Kind::Id, 3),
        Some("file") => (Kind::File, 5),
        Some("http" | "https") => (Kind::Web, 0),
        Some("attachment") => (Kind::Attachment, 11),
        Some(scheme) if is_type(scheme.as_bytes()) => (Kind::Other, 0),
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

/// Returns where a plain link's path ends: before white space and brackets, but for such as are closed again, one
/// inside another at most; and not behind punctuation, but for a slash and what is closed.
fn plain_end(text: &str, begin: usize, limit: usize) -> Option<usize> {
    let plain = |c: char| !matches!(c, '[' | ']' | '(' | ')' | '<' | '>' | ' ' | '\t' | '\n');
    let mut at = begin;
    let mut pieces = 0;
    let mut end = None;
    while let Some(c) = text.get(at..limit).and_then(|rest| rest.chars().next()) {
        let ends = if plain(c) {
            at += c.len_utf8();
            c == '/' || c.is_alphanumeric() || (!c.is_ascii_punctuation() && c.is_ascii())
        } else {
            let Some(behind) = enclosed(text, at, limit, true) else { break };
            at = behind;
            true
        };
        pieces += 1;
        if ends && pieces > 1 {
            end = Some(at);
        }
    }
    end
}

/// Returns where brackets close that open at a byte; of any kind, as Org does not look which.
fn enclosed(text: &str, at: usize, limit: usize, nested: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    if !matches!(bytes.get(at), Some(b'(' | b'[' | b'<')) {
        return None;
    }
    let mut here = at + 1;
    while here < limit {
        match bytes.get(here)? {
            b')' | b']' | b'>' => return Some(here + 1),
            b'(' | b'[' | b'<' if nested => here = enclosed(text, here, limit, false)?,
            b'(' | b'[' | b'<' | b' ' | b'\t' | b'\n' => return None,
            _ => here += 1,
        }
    }
    None
}

/// What the abbreviations of a file stand for, by name; nothing where that takes Lisp, which is not run here.
pub struct Abbreviations<'a>(HashMap<&'a str, Option<&'a str>>);

impl<'a> Abbreviations<'a> {
    /// Gathers those of `#+LINK` lines, of which the last one of a name counts.
    pub fn of(lines: &'a [(Box<str>, Box<str>)]) -> Abbreviations<'a> {
        let line = |(name, words): &'a (Box<str>, Box<str>)| (name.as_ref(), Some(&**words).filter(|w| !runs_lisp(w)));
        Abbreviations(lines.iter().map(line).collect())
    }
}

/// Returns whether what an abbreviation stands for names a function, as `%(name)` does.
fn runs_lisp(stands_for: &str) -> bool {
    // From behind, so that each closing parenthesis is looked for once.
    let (mut end, mut closed) = (stands_for.len(), None);
    while let Some(at) = stands_for.get(..end).and_then(|front| front.rfind("%(")) {
        let found = stands_for.get(at + 2..end).and_then(|name| name.find(')')).map(|behind| at + 2 + behind);
        closed = found.or(closed);
        if closed.is_some_and(|closed| closed > at + 2) {
            return true;
        }
        end = at;
    }
    false
}

impl Link {
    /// Returns what the link points at once its abbreviation is written out, and of what kind that is; the path is
    /// that of [`Link::path`].
    ///
    /// As in Org, only links in brackets are abbreviated.
    pub fn resolved<'a>(&self, text: &'a str, abbreviations: &Abbreviations<'_>) -> (Kind, Cow<'a, str>) {
        let written_out = || {
            let whole = text.get(self.range.start + 2..self.target.end).filter(|_| self.form == Form::Bracket)?;
            let whole = self.read(whole);
            let (name, rest) = whole.split_once(':').map_or((whole.as_ref(), None), |(name, rest)| (name, Some(rest)));
            let stands_for = (*abbreviations.0.get(name)?)?;
            let tag = rest.map(|rest| rest.strip_prefix(':').unwrap_or(rest)).unwrap_or("");
            Some(write_out(stands_for, tag))
        };
        let long = if abbreviations.0.is_empty() { None } else { written_out() };
        match long {
            None => (self.kind, self.path(text)),
            Some(long) => {
                let (kind, skip) = kind(&long, Form::Bracket);
                (kind, Cow::Owned(long.get(skip..).unwrap_or_default().to_owned()))
            }
        }
    }

    /// Returns what the link points at, as Org reads it: line ends are blanks, brackets are not guarded.
    pub fn path<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.read(text.get(self.target.clone()).unwrap_or_default())
    }

    fn read<'a>(&self, raw: &'a str) -> Cow<'a, str> {
        if self.form == Form::Plain || !raw.contains(['\n', '\\']) {
            return Cow::Borrowed(raw);
        }
        let gap = if self.form == Form::Angle { "" } else { " " };
        let lines: Vec<&str> = raw.split('\n').collect();
        let last = lines.len() - 1;
        let trimmed = lines.iter().enumerate().map(|(index, line)| {
            let line = if index > 0 { line.trim_start_matches([' ', '\t']) } else { line };
            if index < last { line.trim_end_matches([' ', '\t']) } else { line }
        });
        let joined = trimmed.collect::<Vec<_>>().join(gap);
        Cow::Owned(if self.form == Form::Bracket { unguarded(&joined) } else { joined })
    }
}

/// Returns what an abbreviation stands for with its tag put in.
fn write_out(stands_for: &str, tag: &str) -> String {
    if stands_for.contains("%s") {
        stands_for.replacen("%s", tag, 1)
    } else if stands_for.contains("%h") {
        let coded = |byte: u8| match byte {
            b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
            byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        };
        stands_for.replacen("%h", &tag.bytes().map(coded).collect::<String>(), 1)
    } else {
        format!("{stands_for}{tag}")
    }
}

/// Halves the backslashes before brackets and at the end, as Org does.
fn unguarded(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut slashes = 0;
    for c in text.chars() {
        if c == '\\' {
            slashes += 1;
            continue;
        }
        let kept = if matches!(c, '[' | ']') { slashes / 2 } else { slashes };
        result.extend(std::iter::repeat_n('\\', kept));
        slashes = 0;
        result.push(c);
    }
    result.extend(std::iter::repeat_n('\\', slashes / 2));
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Looks at every line, also where no link can stand.
    fn of_every_line(text: &str) -> Vec<Link> {
        let mut found = Vec::new();
        // With a place at each byte none is left out.
        links_of_section(&mut Scanner::of(text, (0..text.len()).collect()), 0..text.len(), &mut found);
        found
    }

    proptest! {
        #[test]
        fn sections_without_links_hold_none(
            text in "(\\* |\n\\* |\n|#\\+begin_src\n|#\\+end_src\n|:PROPERTIES:\n|:END:\n|:A: b\n|- |\\||id:a|http:b|\\[\\[|\\]\\]|\\]\\[|<|>|=|~|:|a| |é){0,40}"
        ) {
            prop_assert_eq!(links(&text), of_every_line(&text));
        }
    }
}
