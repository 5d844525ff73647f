//! The variables that a file sets where Emacs opens it: in its first lines, and in a list at its end.

use super::{Kind, Piece};
use crate::domain::gate::lisp;

/// The list stands in so many characters before the end, as Emacs has it.
const TAIL: usize = 3000;
/// What begins the list.
const LIST: &str = "local variables:";

/// Returns what the first lines and the list at the end set that could run, or change what runs.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let piece = |code| Piece { kind: Kind::Local, code };
    let first = header(text).filter(|line| !is_tame_line(line));
    first.into_iter().chain(lists(text)).map(piece).collect()
}

/// Returns the mode that the first lines name; nothing where they name none.
pub(super) fn mode(text: &str) -> &str {
    let Some(line) = header(text) else { return "" };
    if !line.contains(':') {
        return line.trim();
    }
    let settings = line.split(';').filter_map(|setting| setting.split_once(':'));
    settings
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("mode"))
        .map(|(_, mode)| mode.trim())
        .next_back()
        .unwrap_or("")
}

/// Returns what stands between `-*-` and `-*-` in one of the first two lines.
fn header(text: &str) -> Option<&str> {
    // Longer lines are none that somebody wrote by hand; what such a file sets is looked for as far as this.
    let lines = super::at_most(text, 64 * 1024).lines().take(2);
    lines.filter_map(|line| line.split_once("-*-")?.1.split_once("-*-")).map(|(inside, _)| inside).next()
}

/// Whether a first line sets nothing that could run.
fn is_tame_line(line: &str) -> bool {
    let mut rest = line.trim();
    if !rest.contains(':') {
        return true;
    }
    while !rest.is_empty() {
        let Some((name, behind)) = rest.split_once(':') else { return false };
        let behind = behind.trim_start();
        let Some(length) = lisp::first_form(behind) else { return false };
        let (value, after) = behind.split_at(length);
        if !is_tame(name.trim(), value) {
            return false;
        }
        rest = after.trim_start().trim_start_matches(';').trim_start();
    }
    true
}

/// Returns the lists at the end in which something could run. Emacs takes the first; another one counts once that is gone.
fn lists(text: &str) -> Vec<&str> {
    let start = text.char_indices().rev().nth(TAIL - 1).map_or(0, |(at, _)| at);
    let tail = text.get(start..).unwrap_or("");
    let tail = tail.rfind("\n\u{c}").and_then(|at| tail.get(at..)).unwrap_or(tail);
    let lower = tail.to_ascii_lowercase();
    lower.match_indices(LIST).filter_map(|(at, _)| list(tail, at)).collect()
}

/// Returns a list where something in it could run.
fn list(tail: &str, at: usize) -> Option<&str> {
    let prefix = tail.get(..at)?.rsplit('\n').next().unwrap_or("");
    let block = tail.get(at..)?;
    let mut lines = block.lines();
    let suffix = lines.next().and_then(|line| line.get(LIST.len()..)).unwrap_or("").trim_end();
    for line in lines {
        // Where the prefix is missing, Emacs reads no further.
        let inside = line.trim_end().strip_prefix(prefix)?;
        let inside = inside.strip_suffix(suffix).unwrap_or(inside);
        let (name, value) = inside.split_once(':')?;
        let (name, value) = (name.trim(), value.trim());
        if name.eq_ignore_ascii_case("end") {
            return None;
        }
        if !is_tame(name, value) {
            return Some(block);
        }
    }
    None
}

/// Whether a variable and its value neither run something nor name what runs.
fn is_tame(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    if PLAIN.contains(&name.as_str()) {
        return true;
    }
    let plain = !value.starts_with(['(', '[', '\'', '`', '#', ',']) && !value.ends_with('\\');
    plain && name != "eval" && !lisp::steers(&name) && !TELLING.iter().any(|part| name.contains(part))
}

/// What every file may say of itself.
const PLAIN: [&str; 8] = [
    "mode",
    "coding",
    "unibyte",
    "lexical-binding",
    "no-byte-compile",
    "no-native-compile",
    "no-update-autoloads",
    "byte-compile-warnings",
];

/// Parts of names of variables that say what runs, what is asked before, and what is trusted.
const TELLING: [&str; 16] = [
    "command",
    "program",
    "compile",
    "confirm",
    "eval",
    "function",
    "hook",
    "safe",
    "shell-file",
    "exec",
    "load",
    "path",
    "trust",
    "enable-",
    "executable",
    "inhibit",
];
