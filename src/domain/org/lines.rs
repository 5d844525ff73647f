//! The lines of a section that Org looks into: what stands in verbatim blocks, environments and drawers of
//! properties is left out. One pass from the back and one forth, whatever is left unclosed.

use super::chars::is_space_syntax;
use super::headline;
use super::section::{self, DrawerAt, line_at, starts_with_fold};
use std::collections::HashMap;
use std::ops::Range;

/// What kind of line it is, for those who read what stands in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Only blanks.
    Blank,
    Heading,
    /// `#+key: value`, the ends of blocks that are no verbatim ones, and the ends of drawers.
    Mark,
    /// `#+caption: text`, whose value is text.
    Caption,
    /// `CLOCK: …`
    Clock,
    /// The row of a table.
    Row,
    /// The first line of a list's item.
    Item,
    /// Anything else.
    Text,
}

/// The blocks whose contents Org does not parse.
const VERBATIM: [&str; 4] = ["comment", "example", "export", "src"];

/// Calls back with each line that Org looks into: its range without the newline, and its kind.
pub(super) fn for_each(text: &str, each: impl FnMut(Range<usize>, Kind)) {
    for_each_in(text, 0..text.len(), each);
}

/// Does the same for a part of a text that begins and ends where a section does: nothing reaches over a headline.
pub(super) fn for_each_in(text: &str, part: Range<usize>, mut each: impl FnMut(Range<usize>, Kind)) {
    let closes = Closes::of(text, part.clone());
    // A property drawer stands only at the top of a file, or below a headline and its planning line.
    let mut top = true;
    let mut at = part.start;
    while at < part.end {
        let (end, next) = line_at(text, at, part.end);
        let whole = text.get(at..end).unwrap_or_default();
        let line = whole.trim_matches([' ', '\t', '\r']);
        let kind = match line.as_bytes().first() {
            None => Some(Kind::Blank),
            Some(b'*') if headline::stars(whole.as_bytes()).is_some() => Some(Kind::Heading),
            Some(b'#') if line == "#" || line.starts_with("# ") => None,
            Some(b'#') => match closes.behind(at) {
                Some(behind) => {
                    at = behind;
                    top = false;
                    continue;
                }
                None => Some(mark(line)),
            },
            Some(b':') if line == ":" || line.starts_with(": ") => None,
            Some(b':') if top && line.eq_ignore_ascii_case(":PROPERTIES:") => {
                if let DrawerAt::Found(drawer) = section::drawer(text, at, part.end) {
                    at = drawer.whole.end;
                    continue;
                }
                Some(Kind::Mark)
            }
            Some(b':') if is_drawer(line) => Some(Kind::Mark),
            Some(b'|') => Some(Kind::Row),
            Some(b'\\') => match closes.behind(at) {
                Some(behind) => {
                    at = behind;
                    top = false;
                    continue;
                }
                None => Some(Kind::Text),
            },
            Some(b'%') if whole.starts_with("%%(") => None,
            Some(b'C' | b'c') if starts_with_fold(line, "CLOCK:") => Some(Kind::Clock),
            Some(_) if bullet(whole) > 0 => Some(Kind::Item),
            Some(_) => Some(Kind::Text),
        };
        top = kind == Some(Kind::Heading) || (top && (kind.is_none() || section::is_planning(line)));
        if let Some(kind) = kind {
            each(at..end, kind);
        }
        at = next;
    }
}

/// Returns the length of a line's list bullet with the blanks around it; 0 without one.
pub(super) fn bullet(line: &str) -> usize {
    let inner = line.trim_start_matches([' ', '\t']);
    let indent = line.len() - inner.len();
    let marker = match inner.as_bytes().first() {
        Some(b'-' | b'+') => 1,
        Some(b'*') if indent > 0 => 1,
        Some(b'0'..=b'9') => {
            let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
            if matches!(inner.as_bytes().get(digits), Some(b'.' | b')')) { digits + 1 } else { 0 }
        }
        Some(_) | None => 0,
    };
    let rest = inner.get(marker..).unwrap_or_default();
    match rest.as_bytes().first() {
        _ if marker == 0 => 0,
        None => indent + marker,
        Some(b' ' | b'\t') => indent + marker + (rest.len() - rest.trim_start_matches([' ', '\t']).len()),
        Some(_) => 0,
    }
}

fn mark(line: &str) -> Kind {
    let Some(rest) = line.strip_prefix("#+") else { return Kind::Text };
    let word = rest.split(is_space_syntax).next().unwrap_or_default();
    match word.rsplit_once(':') {
        Some((key, _)) if key.eq_ignore_ascii_case("caption") => Kind::Caption,
        Some((key, _)) if !key.is_empty() => Kind::Mark,
        _ if starts_with_fold(word, "begin_") || starts_with_fold(word, "end_") => Kind::Mark,
        Some(_) | None => Kind::Text,
    }
}

fn is_drawer(line: &str) -> bool {
    let name = line.strip_prefix(':').and_then(|rest| rest.strip_suffix(':'));
    name.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_'))
}

/// Where verbatim blocks and environments open, and where the line behind the end of each begins.
struct Closes {
    /// In the order of the text.
    ends: Vec<(usize, usize)>,
}

impl Closes {
    /// Reads where they end in a part of a text; no block reaches over a headline.
    fn of(text: &str, part: Range<usize>) -> Closes {
        let mut ends = Vec::new();
        let mut open: HashMap<String, (usize, usize)> = HashMap::new();
        let mut marks = Vec::new();
        let mut section = 0usize;
        let mut at = part.start;
        while at < part.end {
            let (end, next) = line_at(text, at, part.end);
            let whole = text.get(at..end).unwrap_or_default();
            if headline::stars(whole.as_bytes()).is_some() {
                section = at + 1;
            } else if !may_be_end(whole.as_bytes()) {
                // Nearly every line.
            } else if let Some((name, opens, closes)) = ends_of(whole.trim_matches([' ', '\t', '\r'])) {
                marks.push((at, next, section, name, opens, closes));
            }
            at = next;
        }
        for (begin, behind, section, name, opens, closes) in marks.into_iter().rev() {
            if opens && closes {
                ends.push((begin, behind));
            } else if opens {
                ends.extend(open.get(&name).filter(|(_, own)| *own == section).map(|(behind, _)| (begin, *behind)));
            }
            if closes {
                open.insert(name, (behind, section));
            }
        }
        ends.reverse();
        Closes { ends }
    }

    /// Returns where the text behind the block begins that opens at a byte; nothing when none opens or it never ends.
    fn behind(&self, at: usize) -> Option<usize> {
        let index = self.ends.binary_search_by_key(&at, |(begin, _)| *begin).ok()?;
        self.ends.get(index).map(|(_, behind)| *behind)
    }
}

/// Tells quickly whether a line may open or close a block or an environment: by its first or last byte.
fn may_be_end(line: &[u8]) -> bool {
    let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r');
    let first = line.iter().find(|byte| !blank(byte));
    matches!(first, Some(b'#' | b'\\')) || line.iter().rev().find(|byte| !blank(byte)) == Some(&b'}')
}

/// Returns what a trimmed line opens or closes, under a name that both ends share.
fn ends_of(line: &str) -> Option<(String, bool, bool)> {
    if starts_with_fold(line, "#+begin_") {
        let name = line.get(8..)?.split(is_space_syntax).next()?.to_ascii_lowercase();
        return VERBATIM.contains(&name.as_str()).then_some((name, true, false));
    }
    if starts_with_fold(line, "#+end_") {
        let name = line.get(6..)?.to_ascii_lowercase();
        return VERBATIM.contains(&name.as_str()).then_some((name, false, true));
    }
    let begins = line.strip_prefix("\\begin{").and_then(|rest| rest.split_once('}')).map(|(name, _)| name);
    if let Some(name) = begins.filter(|name| is_environment(name)) {
        return Some((format!("\\{name}"), true, line.ends_with(&format!("\\end{{{name}}}"))));
    }
    let name = line.strip_suffix('}').and_then(|rest| rest.rsplit_once("\\end{")).map(|(_, name)| name)?;
    is_environment(name).then(|| (format!("\\{name}"), false, true))
}

fn is_environment(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'*')
}
