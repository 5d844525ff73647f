//! Makes one line inert: what would be structure, or run, is broken up by one visible character.

use super::letters::{escape, is_hidden, is_joiner, is_odd_space};
use super::link::{allowed_link, closes_link_type, plain_file};

/// Writes what a line begins with, its line break left out; returns how much of it that is, and how much of that is blank.
pub(super) fn begin(line: &str, out: &mut String) -> (usize, usize) {
    let blank = line.len() - line.trim_start_matches(|c| c == ' ' || c == '\t' || is_odd_space(c)).len();
    let (indent, text) = line.split_at(blank);
    if blank == 0 && begins_heading(text) {
        out.push(' ');
    }
    out.push_str(indent);
    if text.starts_with("#+") || text.starts_with("%%(") || is_drawer_line(text) {
        out.push(',');
    }
    (blank, blank)
}

/// Writes a line from there on, inert; returns how far it is written. It is not `whole` when more of it may come: then it
/// ends in a blank, and is written up to what could be something else with that.
pub(super) fn go_on(line: &str, indent: usize, from: usize, whole: bool, out: &mut String) -> usize {
    let mut at = from;
    // Looked for once, for a line may have very many beginnings.
    let last =
        line.get(from..).filter(|new| new.contains("<<")).and_then(|new| new.rfind(">>")).map(|last| from + last);
    while let Some(rest) = line.get(at..)
        && let Some(c) = rest.chars().next()
    {
        let closes = last.is_some_and(|last| at + 2 <= last);
        if !whole && waits(rest, closes) {
            break;
        }
        let before = line.get(indent..at).unwrap_or("");
        at += break_up(rest, before, closes, out).unwrap_or_else(|| {
            if is_hidden(c) && !is_joiner(c) && c != '\t' {
                escape(c, out)
            } else {
                out.push(c)
            }
            c.len_utf8()
        });
    }
    at
}

/// Whether what comes after this could change what it is. All else is known by the end of its word.
fn waits(rest: &str, closes: bool) -> bool {
    let behind = rest.get(1..).unwrap_or("");
    match rest.as_bytes().first() {
        Some(b'[') => behind.starts_with('[') && !behind.contains("]]"),
        Some(b'<') if is_date(behind) => !behind.contains('>'),
        Some(b'<') => behind.starts_with('<') && !closes,
        Some(b':') => behind.trim_start_matches([' ', '\t']).is_empty(),
        _ => false,
    }
}

pub(in crate::domain) fn begins_heading(text: &str) -> bool {
    let stars = text.len() - text.trim_start_matches('*').len();
    stars > 0 && text.get(stars..).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// A line such as `:PROPERTIES:`, `:END:` or `:ID: x`.
pub(super) fn is_drawer_line(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(':') else { return false };
    let Some(end) = rest.find(':') else { return false };
    end > 0
        && !rest[..end].contains([' ', '\t'])
        && rest.get(end + 1..).is_some_and(|r| r.is_empty() || r.starts_with([' ', '\t']))
}

/// Breaks up what stands at the start of `rest`, if it could become something.
/// `closes` says that `>>` stands further on. Returns how many bytes were taken.
fn break_up(rest: &str, before: &str, closes: bool, out: &mut String) -> Option<usize> {
    // Emacs sees a word begin behind `_`, and between letters of two scripts.
    let word_starts = before.chars().next_back().is_none_or(|c| !c.is_ascii_alphanumeric());
    match rest.as_bytes().first()? {
        b'[' if rest.starts_with("[[") => {
            if allowed_link(rest) {
                out.push_str("[[");
                return Some(2);
            }
            out.push_str("[ ");
            Some(1)
        }
        b'[' if rest.get(..4).is_some_and(|s| s.eq_ignore_ascii_case("[fn:")) => {
            out.push_str("[fn :");
            Some(4)
        }
        b'[' if ["[cite:", "[cite/"].iter().any(|c| rest.get(..6).is_some_and(|s| s.eq_ignore_ascii_case(c))) => {
            out.push_str("[ ");
            Some(1)
        }
        b'@' if is_snippet(rest) => {
            out.push_str("@ ");
            Some(1)
        }
        b'<' if rest.starts_with("<%%") => {
            out.push_str("<% ");
            Some(2)
        }
        b'<' if is_date(rest.get(1..).unwrap_or("")) => {
            let stamp = rest.find('>').and_then(|end| rest.get(1..end)).filter(|inner| is_stamp(inner));
            match stamp {
                Some(inner) => {
                    // Behind a bracket, the new one must not make a link of two.
                    out.push_str(if before.ends_with('[') { " [" } else { "[" });
                    out.push_str(inner);
                    out.push(']');
                    Some(inner.len() + 2)
                }
                None => {
                    out.push_str("< ");
                    Some(1)
                }
            }
        }
        // A target, or the name of code that would stand here; a heredoc and a shift to the left end nowhere.
        b'<' if closes && rest.starts_with("<<") && !rest.starts_with("<< ") => {
            out.push_str("< ");
            Some(1)
        }
        b'%' if rest.starts_with("%%(") => {
            out.push_str("% ");
            Some(1)
        }
        // A field of a table: Lisp is evaluated when the user leaves it.
        b'\'' if before.starts_with('|') && rest.starts_with("'(") => {
            out.push_str("' ");
            Some(1)
        }
        b'{' if rest.starts_with("{{{") => {
            out.push_str("{ ");
            Some(1)
        }
        b'-' if rest.starts_with("-*-") => {
            out.push_str("-* ");
            Some(2)
        }
        b':' if closes_reserved(before, rest) => {
            out.push_str(" :");
            Some(1)
        }
        _ if word_starts => break_word(rest, out),
        _ => None,
    }
}

/// Words in front of a colon that make a planning line, clock line, local variables, or a link that runs.
pub(super) fn closes_reserved(before: &str, rest: &str) -> bool {
    let start = before
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '_'))
        .last()
        .map_or(before.len(), |(at, _)| at);
    let word = before.get(start..).unwrap_or("");
    let behind = rest.get(1..).unwrap_or("");
    closes_line_word(before, word, behind) || closes_link_type(before, word, behind)
}

fn closes_line_word(before: &str, word: &str, behind: &str) -> bool {
    let is = |name: &str| ends_with_word(word, name);
    if before.eq_ignore_ascii_case("clock") || ["SCHEDULED", "DEADLINE", "CLOSED"].contains(&before) {
        return true;
    }
    if is("scheduled") || is("deadline") || is("closed") || is("clock") {
        let value = behind.trim_start_matches([' ', '\t']);
        return value.is_empty()
            || value.starts_with(['<', '[', '='])
            || value.starts_with(|c: char| c.is_ascii_digit());
    }
    is("variables") && ends_with_word(before, "local variables")
}

/// Whether a text ends with a name, in any case.
fn ends_with_word(text: &str, name: &str) -> bool {
    text.len()
        .checked_sub(name.len())
        .and_then(|start| text.get(start..))
        .is_some_and(|end| end.eq_ignore_ascii_case(name))
}

/// Whether `@@name:` begins a piece of text for one exporter.
fn is_snippet(rest: &str) -> bool {
    rest.strip_prefix("@@").is_some_and(|tail| {
        let name = tail.len() - tail.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-').len();
        name > 0 && tail.get(name..).is_some_and(|behind| behind.starts_with(':'))
    })
}

/// `src_lang{…}`, `call_name(…)`, and files whose name makes opening them an act.
fn break_word(rest: &str, out: &mut String) -> Option<usize> {
    for (prefix, openers) in [("src_", ['{', '[']), ("call_", ['(', '['])] {
        if let Some(tail) = rest.strip_prefix(prefix) {
            // What is written as an escape brings a brace along.
            let escaped = |c: char| openers.contains(&'{') && c != '\t' && is_hidden(c) && !is_joiner(c);
            let inside = |c: char| c != ' ' && c != '\t' && !openers.contains(&c) && !escaped(c);
            let behind = tail.trim_start_matches(inside);
            let named = behind.len() < tail.len();
            if (named && behind.starts_with(openers)) || behind.starts_with(escaped) {
                out.push_str(prefix);
                out.push(' ');
                return Some(prefix.len());
            }
        }
    }
    if rest.get(..5).is_some_and(|s| s.eq_ignore_ascii_case("file:"))
        && !plain_file(until_blank(rest.get(5..).unwrap_or("")))
    {
        out.push_str(rest.get(..4).unwrap_or(""));
        out.push_str(" :");
        return Some(5);
    }
    None
}

fn until_blank(text: &str) -> &str {
    text.split([' ', '\t', ']']).next().unwrap_or("")
}

/// Whether this can stand in a timestamp: a colon only between digits, so that no link type hides in it.
fn is_stamp(inner: &str) -> bool {
    let plain = |c: char| (c.is_alphanumeric() && !is_hidden(c)) || matches!(c, ' ' | ':' | '-' | '+' | '.' | '/');
    inner.chars().all(plain)
        && inner.split(':').rev().skip(1).all(|part| {
            let word = part.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
            !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit())
        })
}

fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 10
        && bytes[..10].iter().enumerate().all(|(i, b)| if i == 4 || i == 7 { *b == b'-' } else { b.is_ascii_digit() })
}
