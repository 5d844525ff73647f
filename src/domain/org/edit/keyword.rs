//! The keywords of a file, such as `#+TITLE:`: which there are, and one set or removed.

use super::heading::check_line;
use super::verify::{self, misread, records};
use super::{EditError, Splice, apply, insert_lines};
use crate::domain::org::lines::{self, Kind as LineKind};
use crate::domain::org::outline::Outline;
use crate::domain::org::scan::{ScanOptions, scan};
use crate::domain::org::section::{line_at, starts_with_fold};
use crate::domain::org::settings::{self, Kind};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Keywords that belong to what stands below them, and name nothing of the file.
const AFFILIATED: [&str; 15] = [
    "CALL", "CAPTION", "DATA", "HEADER", "HEADERS", "LABEL", "NAME", "PLOT", "RESNAME", "RESULT", "RESULTS", "SOURCE",
    "SRCNAME", "TBLNAME", "TBLFM",
];

/// One line `#+KEY: value` that is about the whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyword<'a> {
    /// As it is written.
    pub key: &'a str,
    /// Without the blanks around it.
    pub value: &'a str,
    /// Where the line stands, without its newline.
    pub line: Range<usize>,
}

/// Returns the keywords of a text that are about the whole file, in order.
pub fn keywords(text: &str) -> Vec<Keyword<'_>> {
    let mut found = Vec::new();
    lines::for_each(text, |line, kind| {
        if kind == LineKind::Mark {
            found.extend(keyword(text, line));
        }
    });
    found
}

fn keyword(text: &str, line: Range<usize>) -> Option<Keyword<'_>> {
    let whole = text.get(line.clone())?.trim_matches([' ', '\t', '\r']);
    let (key, value) = whole.strip_prefix("#+")?.split_once(':')?;
    is_key(key).then_some(Keyword { key, value: value.trim_matches([' ', '\t']), line })
}

/// Returns whether a word can be a keyword that is about the whole file.
fn is_key(key: &str) -> bool {
    let affiliated = AFFILIATED.iter().any(|known| known.eq_ignore_ascii_case(key)) || starts_with_fold(key, "attr_");
    let block = key.eq_ignore_ascii_case("begin") || key.eq_ignore_ascii_case("end");
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let marks = starts_with_fold(key, "begin_") || starts_with_fold(key, "end_");
    key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.chars().all(part) && !affiliated && !block && !marks
}

/// Returns the splices that set a keyword of a file, or remove its line. A new line goes below those at the top.
///
/// # Errors
/// When it is no such keyword, stands more than once, or when Org would then read a heading, or another setting,
/// differently.
pub fn set_keyword(
    outline: &Outline,
    key: &str,
    value: Option<&str>,
    options: &ScanOptions,
) -> Result<Vec<Splice>, EditError> {
    let value = value.map(|value| value.trim_matches([' ', '\t']));
    check_line("a keyword", value.unwrap_or_default())?;
    if !is_key(key) {
        return Err(EditError::Invalid(format!("{key:?} is no keyword of a file, such as TITLE or FILETAGS")));
    }
    let text = &outline.text;
    let all = keywords(text);
    let mut same = all.iter().filter(|known| known.key.eq_ignore_ascii_case(key));
    let splice = match (same.next(), value) {
        (Some(_), _) if same.next().is_some() => {
            return Err(EditError::Invalid(format!(
                "#+{key} stands there more than once; change the line that is meant"
            )));
        }
        (None, None) => return Err(EditError::Invalid(format!("there is no #+{key} to remove"))),
        (None, Some(value)) => insert_lines(text, place(outline), format!("#+{}: {value}\n", key.to_uppercase())),
        (Some(known), Some(value)) => {
            let old = text.get(known.line.clone()).unwrap_or_default();
            let indent = old.len() - old.trim_start_matches([' ', '\t']).len();
            let end = known.line.end - usize::from(old.ends_with('\r'));
            // The key stays as the user wrote it.
            Splice { range: known.line.start + indent..end, text: format!("#+{}: {value}", known.key) }
        }
        (Some(known), None) => {
            let (_, next) = line_at(text, known.line.start, text.len());
            Splice { range: known.line.start..next, text: String::new() }
        }
    };
    let splices = if text.get(splice.range.clone()) == Some(splice.text.as_str()) { Vec::new() } else { vec![splice] };
    check(outline, &splices, (key, value), options)?;
    Ok(splices)
}

/// Returns where a new keyword goes: below the comments and keywords at the top, and below the drawer of the file.
fn place(outline: &Outline) -> usize {
    let top = outline.nodes.first().map_or(0..0, |file| file.body.start as usize..file.body.end as usize);
    let mut at = top.start;
    while at < top.end {
        let (end, next) = line_at(&outline.text, at, top.end);
        let line = outline.text.get(at..end).unwrap_or_default();
        let trimmed = line.trim_matches([' ', '\t', '\r']);
        if !(trimmed == "#" || trimmed.starts_with("# ") || keyword(&outline.text, at..end).is_some()) {
            break;
        }
        at = next;
    }
    at
}

/// Refuses what changes more than the one setting.
fn check(
    old: &Outline,
    splices: &[Splice],
    (key, value): (&str, Option<&str>),
    options: &ScanOptions,
) -> Result<(), EditError> {
    let text: Arc<str> = apply(&old.text, splices).into();
    let new = scan(text, options)?;
    let read = keywords(&new.text);
    let mut same = read.iter().filter(|known| known.key.eq_ignore_ascii_case(key));
    if same.next().map(|known| known.value) != value || same.next().is_some() {
        return Err(misread("the line would not be read as that keyword"));
    }
    let kind = settings::kind(key);
    // What a setup file says counts as if it stood here.
    if kind != Some(Kind::Setupfile) {
        let todo = matches!(kind, Some(Kind::Todo | Kind::SeqTodo | Kind::TypTodo));
        let same = [
            (todo || (new.keywords == old.keywords && new.sequences == old.sequences), "keywords"),
            (kind == Some(Kind::Filetags) || new.filetags == old.filetags, "tags"),
            (kind == Some(Kind::Startup) || new.startup == old.startup, "options"),
            (kind == Some(Kind::Title) || new.title == old.title, "title"),
        ];
        if let Some((_, what)) = same.into_iter().find(|(same, _)| !same) {
            return Err(misread(&format!("the {what} of the whole file would be others")));
        }
    }
    let (mut expected, found) = (records(old), records(&new));
    for splice in splices {
        // Only the text that the line stands in is another one, and the line has been read back above.
        let at = if splice.text.is_empty() { old.at(splice.range.start) } else { new.at(splice.range.start) };
        if let (Some(record), Some(after)) = (expected.get_mut(at), found.get(at)) {
            record.body = Cow::Borrowed(&after.body);
        }
    }
    verify::same_nodes(&new, &expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str, key: &str, value: Option<&str>) -> Result<String, String> {
        let options = ScanOptions::default();
        let outline = scan(text.into(), &options).expect("it is small");
        let splices = set_keyword(&outline, key, value, &options).map_err(|error| error.to_string())?;
        Ok(apply(text, &splices))
    }

    #[test]
    fn a_keyword_is_set_and_removed_and_nothing_else_changes() {
        for (text, key, value, expected) in [
            ("", "title", Some("Boat"), "#+TITLE: Boat\n"),
            ("* A\n", "TITLE", Some("Boat"), "#+TITLE: Boat\n* A\n"),
            ("#+title: Old\n* A\n", "TITLE", Some(" New "), "#+title: New\n* A\n"),
            ("  #+Title: Old\r\nx\n", "TITLE", Some("New"), "  #+Title: New\r\nx\n"),
            (
                "# -*- mode: org -*-\n#+TITLE: T\n\nText.\n",
                "FILETAGS",
                Some(":a:b:"),
                "# -*- mode: org -*-\n#+TITLE: T\n#+FILETAGS: :a:b:\n\nText.\n",
            ),
            (
                ":PROPERTIES:\n:ID: x\n:END:\nText.\n",
                "AUTHOR",
                Some("me"),
                ":PROPERTIES:\n:ID: x\n:END:\n#+AUTHOR: me\nText.\n",
            ),
            ("#+TITLE: T\n#+AUTHOR: me\n* A\n", "author", None, "#+TITLE: T\n* A\n"),
            ("* A\n#+FILETAGS: :a:\n* B\n", "FILETAGS", Some(":b:"), "* A\n#+FILETAGS: :b:\n* B\n"),
            (
                "#+begin_src org\n#+TITLE: no\n#+end_src\n",
                "TITLE",
                Some("T"),
                "#+TITLE: T\n#+begin_src org\n#+TITLE: no\n#+end_src\n",
            ),
            ("#+TITLE: T", "TITLE", Some("T"), "#+TITLE: T"),
            ("#+TITLE: T", "DATE", Some("x"), "#+TITLE: T\n#+DATE: x\n"),
            ("* A\n", "TODO", Some("OPEN | SHUT"), "#+TODO: OPEN | SHUT\n* A\n"),
        ] {
            assert_eq!(set(text, key, value).as_deref(), Ok(expected), "{text:?} {key}");
        }
        for (text, key, value, why) in [
            ("#+A: 1\n#+a: 2\n", "A", Some("3"), "more than once"),
            ("", "A", None, "there is no #+A to remove"),
            ("", "BEGIN_SRC", Some("x"), "no keyword of a file"),
            ("", "NAME", Some("x"), "no keyword of a file"),
            ("", "A B", Some("x"), "no keyword of a file"),
            ("", "A", Some("x\n* y"), "a keyword"),
            ("* OPEN boat\n", "TODO", Some("OPEN | SHUT"), "the keyword of"),
            ("* TODO boat\n#+TODO: TODO | DONE\n", "TODO", Some("A | B"), "the keyword of"),
        ] {
            let said = set(text, key, value).expect_err(text);
            assert!(said.contains(why), "{text:?} {key}: {said}");
        }
    }

    #[test]
    fn the_keywords_of_a_file_are_read_and_those_of_its_parts_are_not() {
        let text = "#+TITLE: T\n#+NAME: n\n#+attr_html: x\n#+BEGIN: b\n#+filetags: :a:\n#+X\n";
        let found: Vec<_> = keywords(text).into_iter().map(|found| (found.key, found.value)).collect();
        assert_eq!(found, [("TITLE", "T"), ("filetags", ":a:")]);
    }
}
