//! Finds tokens by shape in one pass: a table of beginnings, and a measure of what follows each.

use super::more::MORE;
use super::notations::{ANCHORS, Reader};
use super::prose::{self, WORDS};
use super::table::{FORMATS, Format, Letters, MEASURED};
use super::values::{Counts, ends_in_checksum, is_placeholder};
use super::{Certainty, Finding};
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use std::ops::Range;
use std::sync::LazyLock;

/// What begins that is no entry of the table: keys between lines of dashes.
const KEY_BEGINS: &str = "-----BEGIN ";

/// How many bodies of one run are measured whole.
const WHOLE: usize = 8;

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let prefixes = FORMATS
        .iter()
        .chain(MORE)
        .map(|format| format.prefix)
        .chain([KEY_BEGINS])
        .chain(MARKS.iter().map(|mark| mark.0));
    let prefixes =
        prefixes.chain(ANCHORS.iter().map(|anchor| anchor.0)).chain(WORDS.iter().map(|word| word.text.as_str()));
    AhoCorasick::builder()
        .match_kind(MatchKind::Standard)
        // The fastest on text; it takes some milliseconds and about two megabytes once.
        .kind(Some(AhoCorasickKind::DFA))
        .build(prefixes)
        .ok()
});

/// Builds the table now, so that no text pays for it.
pub(super) fn prepare() {
    LazyLock::force(&FINDER);
}

/// Returns the tokens of a text.
pub(super) fn scan(text: &str) -> Vec<Finding> {
    let Some(finder) = FINDER.as_ref() else {
        // Without the table nothing is known to be clean.
        return vec![certain("text that could not be searched", 0..text.len())];
    };
    search(text, finder).found
}

/// Returns how many bytes were looked at beside the search itself, and how many checksums were worked out.
pub(super) fn effort(text: &str) -> usize {
    FINDER.as_ref().map_or(0, |finder| {
        let scan = search(text, finder);
        scan.steps + scan.prose.steps()
    })
}

/// Searches a text with the table.
fn search<'a>(text: &'a str, finder: &AhoCorasick) -> Scan<'a> {
    let mut scan = Scan {
        text,
        runs: [(0, 0, 0); Letters::KINDS],
        found: Vec::new(),
        covered: 0..0,
        key_end: None,
        prose: prose::Prose::default(),
        steps: 0,
        sealed: (0, 0),
    };
    for hit in finder.find_overlapping_iter(text) {
        match Pattern::of(hit.pattern().as_usize()) {
            Pattern::Format(format) => scan.token(format, hit.start(), hit.end()),
            Pattern::Key => scan.private_key(hit.start()),
            Pattern::Mark(mark, shape) => scan.found.extend(around(text, hit.start(), mark.len(), shape)),
            Pattern::Anchor(read) => read(text, hit.start()..hit.end(), &mut scan.found),
            Pattern::Word(n) => scan.prose.said(text, hit.start()..hit.end(), n, &mut scan.found),
        }
    }
    scan
}

/// What a hit of the finder stands for.
enum Pattern {
    Format(&'static Format),
    Key,
    Mark(&'static str, &'static Mark),
    Anchor(Reader),
    Word(usize),
}

impl Pattern {
    /// Returns what the pattern of a number is; the finder has them in this order.
    fn of(n: usize) -> Pattern {
        if let Some(format) = FORMATS.get(n) {
            return Pattern::Format(format);
        }
        let Some(n) = n.checked_sub(FORMATS.len()).filter(|n| *n != MORE.len()) else { return Pattern::Key };
        if let Some(format) = MORE.get(n) {
            return Pattern::Format(format);
        }
        let n = n - MORE.len() - 1;
        if let Some((mark, shape)) = MARKS.get(n) {
            return Pattern::Mark(mark, shape);
        }
        let n = n - MARKS.len();
        ANCHORS.get(n).map_or(Pattern::Word(n.wrapping_sub(ANCHORS.len())), |anchor| Pattern::Anchor(anchor.1))
    }
}

struct Scan<'a> {
    text: &'a str,
    /// Where the last run of each set of letters was measured from, where it ends, and where the dots at its end begin.
    runs: [(usize, usize, usize); Letters::KINDS],
    found: Vec<Finding>,
    /// Where the last certain token stands. What begins within it is part of it.
    covered: Range<usize>,
    /// Where the next `-----END` stands, once it was looked for; the length of the text when there is none.
    key_end: Option<usize>,
    prose: prose::Prose,
    /// How many bytes of bodies were measured: the work beside the search itself.
    steps: usize,
    /// The end of the last run in which bodies were measured whole, and how many were.
    sealed: (usize, usize),
}

impl Scan<'_> {
    fn token(&mut self, format: &Format, start: usize, body_start: usize) {
        if self.within(start) || !starts_word(self.text, start, format.prefix) {
            return;
        }
        let (end, bare) = self.run_end(body_start, format.letters);
        let Some(trimmed) = self.text.get(body_start..bare.max(body_start)) else { return };
        if trimmed.len() < format.least || trimmed.len() > format.most || !(format.check)(self.measured(trimmed, end)) {
            return;
        }
        // `xoxp-572370529330-####`: the rest is crossed out.
        let after = self.text.get(end..).unwrap_or("");
        let crossed = ["##", "**", "…"].iter().any(|mark| after.starts_with(mark));
        let proven = trimmed.len() == 36 && ends_in_checksum(trimmed);
        if proven || (!crossed && !is_placeholder(trimmed)) {
            let range = start..body_start + trimmed.len();
            if format.certainty == Certainty::Certain && range.end > self.covered.end {
                self.covered = range.clone();
            }
            self.found.push(Finding { kind: format.kind, range, certainty: format.certainty });
        }
    }

    fn within(&self, start: usize) -> bool {
        self.covered.start < start && start < self.covered.end
    }

    /// Returns how much of a body is measured: all of it, unless many beginnings stand in one run, as in no text that
    /// somebody wrote. The whole stays linear by that.
    fn measured<'t>(&mut self, body: &'t str, run_end: usize) -> &'t str {
        if self.sealed.0 != run_end {
            self.sealed = (run_end, 0);
        }
        self.sealed.1 += 1;
        let most = if self.sealed.1 <= WHOLE { MEASURED } else { 256 };
        let body = body.get(..most).unwrap_or(body);
        self.steps += body.len();
        body
    }

    /// Returns where the run ends in which a place stands, and where the dots at its end begin. Each run is measured once
    /// for each set of letters, so that the whole stays linear.
    fn run_end(&mut self, from: usize, letters: Letters) -> (usize, usize) {
        let measured = self.runs.get(letters as usize).copied().unwrap_or((0, 0, 0));
        if (measured.0..measured.1).contains(&from) {
            return (measured.1, measured.2);
        }
        let rest = self.text.as_bytes().get(from..).unwrap_or(&[]);
        let length = rest.iter().position(|byte| !letters.has(*byte)).unwrap_or(rest.len());
        self.steps += length;
        let dots = rest.get(..length).unwrap_or(&[]).iter().rev().take_while(|byte| **byte == b'.').count();
        let run = (from, from + length, from + length - dots);
        if let Some(known) = self.runs.get_mut(letters as usize) {
            *known = run;
        }
        (run.1, run.2)
    }

    fn private_key(&mut self, start: usize) {
        let text = self.text;
        let rest = text.get(start..).unwrap_or("");
        let line = rest.get(..rest.bytes().take(60).position(|b| b == b'\n').unwrap_or(60)).unwrap_or(rest);
        if self.within(start) || !(line.contains("PRIVATE KEY") || line.contains("OpenVPN Static key")) {
            return;
        }
        // A rule that looks for keys is no key.
        let head = line.get(KEY_BEGINS.len()..).and_then(|head| head.split("KEY").next()).unwrap_or("");
        if head.contains(['(', '|', '[', '*', '+', '?', '{']) {
            return;
        }
        let known = self.key_end.filter(|end| *end >= start);
        let end = known.unwrap_or_else(|| rest.find("-----END").map_or(text.len(), |end| start + end));
        self.key_end = Some(end);
        // Without an end, or with the end of another key, what can be part of a key belongs to it.
        let body = start + KEY_BEGINS.len();
        let key = |b: u8| {
            b.is_ascii_alphanumeric()
                || b.is_ascii_whitespace()
                || matches!(b, b'+' | b'/' | b'=' | b'\\' | b'-' | b':' | b',' | b'"')
        };
        let letters = text.as_bytes().get(body..end).unwrap_or(&[]).iter().position(|b| !key(*b));
        let range = start..letters.map_or(end, |n| body + n).max(start + line.len());
        self.covered = range.clone();
        self.found.push(certain("private key", range));
    }
}

fn certain(kind: &'static str, range: Range<usize>) -> Finding {
    Finding { kind, range, certainty: Certainty::Certain }
}

/// Returns whether a token can begin here: what stands before belongs to no longer word.
fn starts_word(text: &str, at: usize, prefix: &str) -> bool {
    let bytes = text.as_bytes();
    let back = |n: usize| at.checked_sub(n).and_then(|n| bytes.get(n)).copied().unwrap_or(b' ');
    let (first, before) = (prefix.as_bytes().first().copied().unwrap_or(b' '), back(1));
    // Letters after an escape such as `\n` belong to the escape, and so do the digits of `%3D`.
    let escaped = back(2) == b'\\' && matches!(before, b'n' | b't' | b'r')
        || back(3) == b'%' && back(2).is_ascii_hexdigit() && before.is_ascii_hexdigit();
    !first.is_ascii_alphanumeric()
        || escaped
        || !(before.is_ascii_alphanumeric() || before == b'_' || before == b'+' || before == b'/' && prefix.len() < 4)
}

/// Tokens that are known by a mark in their middle.
pub(super) fn by_mark(text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    for at in memchr::memchr3_iter(b':', b'|', b'-', bytes) {
        found.extend(match bytes.get(at) {
            Some(b':') => telegram(text, at),
            Some(b'|') => facebook(text, at),
            _ => mailchimp(text, at),
        });
    }
    for at in memchr::memchr3_iter(b'~', b'.', b'!', bytes) {
        found.extend(match bytes.get(at) {
            Some(b'~') => azure_secret(text, at),
            Some(b'.') => discord(text, at),
            _ => salesforce(text, at),
        });
    }
    found
}

/// Marks in the middle of a key; how much stands before, how much behind, and what it is.
type Mark = (usize, usize, usize, usize, &'static str);
const MARKS: [(&str, Mark); 17] = [
    ("AAAAAAAAAA", (11, 11, 43, 43, "Dropbox token")),
    ("_mmk", (36, 36, 0, 0, "MaxMind key")),
    ("AZDO", (76, 76, 4, 4, "Azure DevOps token")),
    ("JQQJ99", (52, 52, 26, 26, "Azure key")),
    ("+ASt", (74, 78, 6, 10, "Azure storage key")),
    ("ACDb", (74, 78, 6, 10, "Azure database key")),
    ("AzFu", (44, 46, 6, 10, "Azure functions key")),
    ("AzSe", (42, 46, 6, 10, "Azure search key")),
    ("+ACR", (40, 44, 6, 10, "Azure registry key")),
    ("AIoT", (32, 36, 5, 10, "Azure hub key")),
    ("NRAL", (36, 36, 0, 0, "New Relic key")),
    ("nral", (36, 36, 0, 0, "New Relic key")),
    ("FFFFNRAL", (32, 36, 0, 0, "New Relic key")),
    ("ACOG", (76, 76, 4, 4, "Azure AI key")),
    ("APIM", (74, 78, 6, 10, "Azure gateway key")),
    ("+AMC", (74, 78, 6, 10, "Azure learning key")),
    ("+ABa", (74, 78, 6, 10, "Azure batch key")),
];

/// Returns the key in whose middle a mark stands.
fn around(text: &str, at: usize, mark: usize, shape: &Mark) -> Option<Finding> {
    let (least, most, least_behind, most_behind, kind) = *shape;
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'-' | b'_');
    let head = behind(text, at, most + 1, word);
    if !(least..=most).contains(&head.len()) {
        return None;
    }
    let tail = ahead(text, at + mark, word);
    let end = at + mark + tail.len();
    ((least_behind..=most_behind).contains(&tail.len()) && !is_placeholder(head))
        .then(|| certain(kind, at - head.len()..end))
}

/// Mailchimp: 32 hexadecimal digits, `-us`, and the data centre.
fn mailchimp(text: &str, at: usize) -> Option<Finding> {
    if text.get(at..at + 3) != Some("-us") {
        return None;
    }
    let hex = behind(text, at, 33, |b| b.is_ascii_hexdigit());
    let centre = ahead(text, at + 3, |b| b.is_ascii_digit());
    (hex.len() == 32 && (1..=2).contains(&centre.len()))
        .then(|| certain("Mailchimp key", at - 32..at + 3 + centre.len()))
}

/// Azure: three characters, a digit, `Q~`, then 31 to 34 more.
fn azure_secret(text: &str, at: usize) -> Option<Finding> {
    let start = at.checked_sub(5)?;
    let bytes = text.as_bytes();
    let digit = bytes.get(at - 2).is_some_and(u8::is_ascii_digit) && bytes.get(at - 1) == Some(&b'Q');
    if !digit || !text.is_char_boundary(start) {
        return None;
    }
    let body = ahead(text, at + 1, |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'~' | b'.' | b'-'));
    ((31..=34).contains(&body.len()) && !is_placeholder(body))
        .then(|| certain("Azure client secret", start..at + 1 + body.len()))
}

/// Telegram: the bot's number, then 35 characters that begin with `AA`.
fn telegram(text: &str, at: usize) -> Option<Finding> {
    let body = ahead(text, at + 1, url_letter);
    if !(34..=36).contains(&body.len()) || !body.starts_with("AA") {
        return None;
    }
    let number = behind(text, at, 12, |b| b.is_ascii_digit());
    (8..=10).contains(&number.len()).then(|| certain("Telegram token", at - number.len()..at + 1 + body.len()))
}

/// Facebook: the application's number and 27 characters.
fn facebook(text: &str, at: usize) -> Option<Finding> {
    let number = behind(text, at, 18, |b| b.is_ascii_digit());
    if !(15..=16).contains(&number.len()) {
        return None;
    }
    let body = ahead(text, at + 1, url_letter);
    (26..=28).contains(&body.len()).then(|| certain("Facebook token", at - number.len()..at + 1 + body.len()))
}

/// Salesforce: the organisation's number from `00D` on, `!`, and the session.
fn salesforce(text: &str, at: usize) -> Option<Finding> {
    let number = behind(text, at, 19, |b| b.is_ascii_alphanumeric());
    if !matches!(number.len(), 15 | 18) || !number.starts_with("00D") {
        return None;
    }
    let body = ahead(text, at + 1, |b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_'));
    (body.len() >= 80).then(|| certain("Salesforce session", at - number.len()..at + 1 + body.len()))
}

/// Discord: the bot's number, a time of six characters and a signature, each in base64, with dots between.
/// HashiCorp's tokens for teams have `atlasv1` in the middle.
fn discord(text: &str, at: usize) -> Option<Finding> {
    let bytes = text.as_bytes();
    let second = match bytes.get(at + 7).zip(bytes.get(at + 8)) {
        Some((b'.', _)) => at + 7,
        Some((_, b'.')) if text.get(at..at + 9) == Some(".atlasv1.") => at + 8,
        _ => return None,
    };
    let number = behind(text, at, 29, url_letter);
    let signature = ahead(text, second + 1, url_letter);
    let range = at - number.len()..second + 1 + signature.len();
    if second == at + 8 {
        return (number.len() == 14 && signature.len() >= 60).then(|| certain("Terraform token", range));
    }
    let time = text.get(at + 1..second).is_some_and(|time| time.bytes().all(url_letter));
    let digits = number.get(..3).is_some_and(|head| head.contains(['M', 'N', 'O']));
    let fits = time
        && (23..=28).contains(&number.len())
        && (27..=40).contains(&signature.len())
        && digits
        && !number.starts_with(['P', 'Q', 'Z']);
    fits.then(|| certain("Discord token", range))
}

fn url_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Returns the run behind a place. No token is longer; this keeps many marks in one run from costing its square.
fn ahead(text: &str, from: usize, has: fn(u8) -> bool) -> &str {
    let rest = text.get(from..).unwrap_or("");
    let length = rest.bytes().take(160).take_while(|byte| has(*byte)).count();
    rest.get(..length).unwrap_or("")
}

/// Returns the run that ends at a place, of so many bytes at most.
fn behind(text: &str, at: usize, most: usize, has: fn(u8) -> bool) -> &str {
    let rest = text.as_bytes().get(..at).unwrap_or(&[]);
    let length = rest.iter().rev().take(most).take_while(|byte| has(**byte)).count();
    text.get(at - length..at).unwrap_or("")
}

/// Returns the secret halves of AWS keys: 40 characters near a key's public half.
pub(super) fn beside(text: &str, found: &[Finding]) -> Vec<Finding> {
    let mut halves = Vec::new();
    let mut done = 0;
    for key in found.iter().filter(|finding| finding.kind == "AWS access key") {
        let from = key.range.end.max(done);
        let mut to = text.len().min(key.range.end.saturating_add(200));
        while !text.is_char_boundary(to) {
            to -= 1;
        }
        done = done.max(to);
        let Some(near) = text.get(from..to) else { continue };
        let mut at = from;
        for part in near.as_bytes().split(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))) {
            let start = at;
            at += part.len() + 1;
            let half = text.get(start..start + part.len()).filter(|half| half.len() == 40);
            let counts = half.map(Counts::of).unwrap_or_default();
            if counts.capitals > 0 && counts.small > 0 && counts.digits > 0 {
                halves.push(certain("AWS secret key", start..start + part.len()));
            }
        }
    }
    halves
}
