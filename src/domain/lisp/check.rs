//! Looks a Lisp text over in three passes: whether it is balanced, whether it can be read, and what it would call.

use super::Place;
use super::scan::{Bracket, Kind, Scan, scan};
use crate::domain::gate::lisp::{Found, examine, read};
use std::collections::HashMap;
use std::ops::Range;

/// So many of the same kind are named.
const NAMED: usize = 8;

/// Something that does not fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it stands, in bytes.
    pub at: usize,
    /// What it is.
    pub what: What,
}

/// What does not fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A bracket that is not closed.
    Open(Bracket),
    /// A bracket that closes nothing.
    Superfluous(Bracket),
    /// A bracket that closes one of the other kind, and where that stands.
    Crossed(Bracket, usize),
    /// A string that does not end.
    Text,
}

impl Fault {
    /// Returns it in words, with line and column.
    pub fn words(&self, text: &str) -> String {
        let place = Place::of(text, self.at);
        match self.what {
            What::Open(bracket) => format!("{place}: “{}” is not closed", bracket.open()),
            What::Superfluous(bracket) => format!("{place}: “{}” closes nothing", bracket.close()),
            What::Crossed(bracket, open) => {
                let sign = text.get(open..).and_then(|rest| rest.chars().next()).unwrap_or('(');
                format!("{place}: “{}” would close the “{sign}” of {}", bracket.close(), Place::of(text, open))
            }
            What::Text => format!("{place}: a string begins and does not end"),
        }
    }
}

/// Returns what does not fit together in a text, in order.
///
/// Where something does not, a bracket at the start of a line counts as that of a new outermost form, as it does for
/// Emacs's own commands: what is wrong is then said of the form that it is wrong in.
pub fn unbalanced(scan: &Scan<'_>) -> Vec<Fault> {
    let whole = faults(scan, 0..scan.tokens.len());
    if whole.is_empty() {
        return whole;
    }
    chunks(scan).into_iter().flat_map(|chunk| faults(scan, chunk)).collect()
}

/// Returns the tokens of each part of a text that begins with a bracket at the start of a line.
pub fn chunks(scan: &Scan<'_>) -> Vec<Range<usize>> {
    let (mut chunks, mut begin) = (Vec::new(), 0);
    for (at, token) in scan.tokens.iter().enumerate() {
        let first = token.place.start == 0 || scan.text.as_bytes().get(token.place.start - 1) == Some(&b'\n');
        if at > begin && first && token.kind == Kind::Open(Bracket::Round) {
            chunks.push(begin..at);
            begin = at;
        }
    }
    chunks.push(begin..scan.tokens.len());
    chunks
}

/// Returns what does not fit together in a part of a text.
pub fn faults(scan: &Scan<'_>, tokens: Range<usize>) -> Vec<Fault> {
    let mut open: Vec<(Bracket, usize)> = Vec::new();
    let mut found = Vec::new();
    for token in scan.tokens.get(tokens).unwrap_or_default() {
        let at = token.place.start;
        match token.kind {
            Kind::Open(bracket) => open.push((bracket, at)),
            Kind::Close(bracket) => match open.pop() {
                None => found.push(Fault { at, what: What::Superfluous(bracket) }),
                Some((opened, _)) if opened == bracket => {}
                Some((_, place)) => found.push(Fault { at, what: What::Crossed(bracket, place) }),
            },
            Kind::Text if scan.unended == Some(at) => found.push(Fault { at, what: What::Text }),
            Kind::Text | Kind::Comment | Kind::Name | Kind::Prefix => {}
        }
    }
    found.extend(open.into_iter().map(|(bracket, at)| Fault { at, what: What::Open(bracket) }));
    found.sort_by_key(|fault| fault.at);
    found
}

/// What a text of Lisp is found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// What does not fit together, in words: the first of it.
    pub unbalanced: Vec<String>,
    /// How much more does not.
    pub more: usize,
    /// Why it cannot be read.
    pub unreadable: Option<String>,
    /// Why it cannot be judged, though Emacs may read it.
    pub odd: Option<String>,
    /// What reaches for processes, files, the network, evaluation or start-up: the line, from 1, and what it is.
    pub harmful: Vec<(usize, String)>,
    /// What is not known to be pure, in words.
    pub unknown: Vec<String>,
}

impl Checked {
    /// Returns whether it is balanced and can be read.
    pub fn is_sound(&self) -> bool {
        self.unbalanced.is_empty() && self.unreadable.is_none()
    }

    /// Returns what the passes came to, a line each and more, for whoever asked.
    pub fn words(&self) -> String {
        let mut said = Vec::new();
        let mut list = |title: String, items: &[String], more: usize| {
            said.push(title);
            said.extend(items.iter().take(NAMED).map(|item| format!("- {item}")));
            let more = items.len().saturating_sub(NAMED) + more;
            said.extend((more > 0).then(|| format!("- and {more} more")));
        };
        if !self.unbalanced.is_empty() {
            list("1. It is not balanced:".to_string(), &self.unbalanced, self.more);
            said.push("It was looked at no further.".to_string());
            return said.join("\n");
        }
        list("1. It is balanced.".to_string(), &[], 0);
        match (&self.unreadable, &self.odd) {
            (Some(why), _) => list(format!("2. It cannot be read: {why}."), &[], 0),
            (None, Some(why)) => {
                list(format!("2. Emacs may read it, but what it would call cannot be told: {why}."), &[], 0);
            }
            (None, None) => list("2. It can be read.".to_string(), &[], 0),
        }
        if self.unreadable.is_none() && self.odd.is_none() {
            let harmful: Vec<String> = self.harmful.iter().map(|(line, what)| format!("line {line}: {what}")).collect();
            match (harmful.is_empty(), self.unknown.is_empty()) {
                (true, true) => list("3. It calls nothing but what is known to be pure.".to_string(), &[], 0),
                (false, _) => list("3. It calls what is forbidden to Lisp that runs unasked:".to_string(), &harmful, 0),
                (true, false) => {
                    list(
                        "3. It calls nothing that is forbidden, but what is not known to be pure:".to_string(),
                        &self.unknown,
                        0,
                    );
                }
            }
        }
        said.join("\n")
    }
}

/// Looks a text over.
///
/// # Errors
/// In words, when there is too much of it.
pub fn check(text: &str) -> Result<Checked, String> {
    let scanned = scan(text)?;
    let faults = unbalanced(&scanned);
    let unbalanced: Vec<String> = faults.iter().take(NAMED).map(|fault| fault.words(text)).collect();
    let more = faults.len() - unbalanced.len();
    let mut checked =
        Checked { unbalanced, more, unreadable: None, odd: None, harmful: Vec::new(), unknown: Vec::new() };
    if !checked.unbalanced.is_empty() {
        return Ok(checked);
    }
    let forms = match read(text) {
        Ok(forms) => forms,
        Err(why) if why.odd => return Ok(Checked { odd: Some(why.to_string()), ..checked }),
        Err(why) => return Ok(Checked { unreadable: Some(why.to_string()), ..checked }),
    };
    for found in examine(text) {
        match found {
            Found::Harmful(what) => checked.harmful.push((0, what)),
            Found::Unknown(what) => checked.unknown.push(what),
            Found::Unreadable(what) | Found::Incomplete(what) => {
                checked.odd = Some(what.trim_end_matches('.').to_string());
            }
        }
    }
    // Where each stands is said by the first form that has it.
    let (mut lines, mut line, mut counted) = (HashMap::new(), 1, 0);
    let places = forms.places.iter().filter(|_| !checked.harmful.is_empty());
    for place in places {
        line += text.get(counted..place.start).unwrap_or("").matches('\n').count();
        counted = place.start;
        for found in examine(text.get(place.clone()).unwrap_or("")) {
            if let Found::Harmful(what) = found {
                lines.entry(what).or_insert(line);
            }
        }
    }
    for (line, what) in &mut checked.harmful {
        *line = lines.get(what).copied().unwrap_or(1);
    }
    checked.harmful.sort();
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        check(text).expect("it is short").words()
    }

    #[test]
    fn each_pass_says_what_it_found_and_where() {
        for (text, expected) in [
            ("(+ 1 2)", "1. It is balanced.\n2. It can be read.\n3. It calls nothing but what is known to be pure."),
            (
                "(a\n  (b ?\\))",
                "1. It is not balanced:\n- line 1, column 1: “(” is not closed\nIt was looked at no further.",
            ),
            (
                "(a)\n b)",
                "1. It is not balanced:\n- line 2, column 3: “)” closes nothing\nIt was looked at no further.",
            ),
            (
                "(a\n  [b)]",
                "1. It is not balanced:\n- line 2, column 5: “)” would close the “[” of line 2, column 3\n\
                 - line 2, column 6: “]” would close the “(” of line 1, column 1\nIt was looked at no further.",
            ),
            (
                "(ä \"b\n)",
                "1. It is not balanced:\n- line 1, column 1: “(” is not closed\n\
                 - line 1, column 4: a string begins and does not end\nIt was looked at no further.",
            ),
            // The form that is wrong is the one that is named, and not those behind it.
            (
                "(defun a ()\n  (b)\n\n(defun c ()\n  (d))\n",
                "1. It is not balanced:\n- line 1, column 1: “(” is not closed\nIt was looked at no further.",
            ),
        ] {
            assert_eq!(said(text), expected, "{text}");
        }
        let found = said("(+ 1 2)\n\n(defun a ()\n  (delete-file \"x\"))\n");
        assert!(found.contains("3. It calls what is forbidden") && found.contains("line 3: “delete-file”"), "{found}");
        assert!(said("(my-own-function)").contains("not known to be pure:\n- “my-own-function”"));
        assert!(said("(a . b . c)").starts_with("1. It is balanced.\n2. "));
        assert!(said("#s(hash-table)").contains("2. Emacs may read it, but"));
        assert!(!said("(a #1=(b))").contains("3."));
    }

    #[test]
    fn what_is_not_looked_at_to_its_end_is_not_said_to_call_nothing() {
        let many: String = (0..50_000).map(|n| format!("(a{n} {n})")).collect();
        let found = said(&format!("(let ({many}) (call-process \"rm\"))"));
        assert!(
            found.ends_with(
                "what it would call cannot be told: It binds so many names at once that it cannot be followed."
            ),
            "{found}"
        );
        let many: String = (0..40).map(|n| format!("(my-own-{n})\n")).collect();
        let found = said(&format!("{many}(call-process \"rm\")"));
        assert!(
            found.contains("3. It calls what is forbidden") && found.contains("line 41: “call-process”"),
            "{found}"
        );
    }

    #[test]
    fn of_many_faults_some_are_named_and_all_are_counted() {
        let found = said(&")".repeat(20));
        assert!(found.contains("- and 12 more") && found.lines().count() < 13, "{found}");
    }
}
