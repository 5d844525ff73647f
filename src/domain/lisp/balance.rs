//! Balances the brackets of a Lisp text by its indentation, and says what it did; where that is not certain it does nothing.
//!
//! Only forms that are not balanced are touched, and of those only brackets that close at the end of a line: by Emacs's
//! own indentation a line stands further right than every bracket that it is inside of, and nothing else does.

use super::Place;
use super::check::{chunks, faults, unbalanced};
use super::scan::{Bracket, Kind, Scan, Token, scan};
use crate::domain::count::counted;
use crate::domain::gate::lisp::read;
use std::collections::BTreeMap;
use std::ops::Range;

/// How far a tab reaches, as Emacs indents Lisp.
const TAB: usize = 8;

/// A text that was balanced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Balanced {
    /// The text.
    pub text: String,
    /// What was done to it, a sentence for each line that was changed.
    pub steps: Vec<String>,
}

/// A bracket that is open, and how far left and how far right it may stand: the width of some letters is not certain.
struct Opened {
    bracket: Bracket,
    columns: Range<usize>,
}

/// What is done to a text: what stands in the place of which bytes.
struct Change {
    place: Range<usize>,
    with: String,
}

/// Balances a text.
///
/// # Errors
/// In words: when it is balanced, or where it is not certain what is meant.
pub fn balance(text: &str) -> Result<Balanced, String> {
    let scanned = scan(text)?;
    if unbalanced(&scanned).is_empty() {
        return Err("It is balanced; there is nothing to do.".to_string());
    }
    if let Some(at) = scanned.unended {
        return Err(format!(
            "{}: a string begins and does not end, so it is not certain what is code.",
            Place::of(text, at)
        ));
    }
    let (mut added, mut taken) = (Vec::new(), Vec::new());
    for chunk in chunks(&scanned) {
        if faults(&scanned, chunk.clone()).is_empty() {
            continue;
        }
        let mut by_lines = ByLines::new(&scanned, chunk)?;
        by_lines.settle()?;
        added.extend(by_lines.added);
        taken.extend(by_lines.taken);
    }
    if let (Some(more), Some(less)) = (added.iter().find(|change| change.place.is_empty()), taken.first()) {
        return Err(format!(
            "By the indentation a bracket is missing at {} and one is too many at {}: it is not certain which of the two \
             is meant. Mend one of them by hand.",
            Place::of(text, more.place.start),
            Place::of(text, less.start)
        ));
    }
    let steps = steps(text, &added, &taken);
    let after = applied(text, added, taken);
    let rest = scan(&after)?;
    if let Some(fault) = unbalanced(&rest).first() {
        return Err(format!("Its indentation does not say where brackets are missing: {}.", fault.words(&after)));
    }
    match read(&after) {
        Err(why) if !why.odd => Err(format!("Balanced, it could still not be read: {why}.")),
        Err(_) | Ok(_) => Ok(Balanced { text: after, steps }),
    }
}

/// Goes through a form line by line.
struct ByLines<'s, 'a> {
    scan: &'s Scan<'a>,
    tokens: &'s [Token],
    /// What is open where it stands, the innermost last.
    open: Vec<Opened>,
    /// The brackets that close since the last piece of code.
    pending: Vec<(Bracket, Range<usize>)>,
    /// Where the last piece of code ends.
    end: usize,
    added: Vec<Change>,
    taken: Vec<Range<usize>>,
}

impl<'s, 'a> ByLines<'s, 'a> {
    fn new(scan: &'s Scan<'a>, tokens: Range<usize>) -> Result<ByLines<'s, 'a>, String> {
        let tokens = scan.tokens.get(tokens).unwrap_or_default();
        let odd = tokens.iter().find(|token| token.kind == Kind::Text && scan.of(token).contains("\n("));
        if let Some(token) = odd {
            return Err(format!(
                "{}: a string holds a line that begins with a bracket; a quote may be missing, so it is not certain what \
                 is code.",
                Place::of(scan.text, token.place.start)
            ));
        }
        let (open, pending, added, taken) = Default::default();
        Ok(ByLines { scan, tokens, open, pending, end: 0, added, taken })
    }

    fn settle(&mut self) -> Result<(), String> {
        for token in self.tokens {
            match token.kind {
                Kind::Comment => continue,
                Kind::Close(bracket) => {
                    self.pending.push((bracket, token.place.clone()));
                    continue;
                }
                Kind::Open(_) | Kind::Text | Kind::Name | Kind::Prefix => {}
            }
            match self.indentation(token) {
                Some(column) => self.by_indentation(column, token)?,
                None => self.as_they_stand()?,
            }
            if let Kind::Open(bracket) = token.kind {
                self.open.push(Opened { bracket, columns: columns(self.scan.text, token.place.start) });
            }
            self.end = token.place.end;
        }
        let wanted: Vec<Bracket> = std::mem::take(&mut self.open).into_iter().rev().map(|open| open.bracket).collect();
        self.want(&wanted);
        Ok(())
    }

    /// Returns the column of a token that is the first of its line.
    fn indentation(&self, token: &Token) -> Option<usize> {
        let text = self.scan.text;
        let before = text.get(..token.place.start)?;
        let begin = before.rfind('\n').map_or(0, |end| end + 1);
        let first = before.get(begin..)?.bytes().all(|byte| matches!(byte, b' ' | b'\t'));
        first.then(|| columns(text, token.place.start).start)
    }

    /// Closes what a line that begins at a column is not inside of.
    fn by_indentation(&mut self, column: usize, token: &Token) -> Result<(), String> {
        let place = || Place::of(self.scan.text, token.place.start);
        if column == 0 && !self.open.is_empty() && !matches!(token.kind, Kind::Open(_)) {
            return Err(format!("{}: the line is not indented, so it is not certain what it belongs to.", place()));
        }
        let mut wanted = Vec::new();
        while let Some(last) = self.open.last() {
            if last.columns.end < column {
                break;
            }
            if last.columns.start < column {
                return Err(format!(
                    "{}: the width of some letters above it is not certain, and with it what it stands below.",
                    place()
                ));
            }
            wanted.push(last.bracket);
            self.open.pop();
        }
        self.want(&wanted);
        Ok(())
    }

    /// Brackets that code follows on their line close what they close.
    fn as_they_stand(&mut self) -> Result<(), String> {
        for (bracket, place) in std::mem::take(&mut self.pending) {
            let last = self.open.pop();
            if last.is_none_or(|last| last.bracket != bracket) {
                return Err(format!(
                    "{}: “{}” does not fit, and code follows it on its line, so its place is not told by indentation.",
                    Place::of(self.scan.text, place.start),
                    bracket.close()
                ));
            }
        }
        Ok(())
    }

    /// Makes the brackets that close here the ones that are wanted, with as little change as that takes.
    fn want(&mut self, wanted: &[Bracket]) {
        let there = std::mem::take(&mut self.pending);
        for ((bracket, place), wanted) in there.iter().zip(wanted) {
            if bracket != wanted {
                self.added.push(Change { place: place.clone(), with: wanted.close().to_string() });
            }
        }
        self.taken.extend(there.iter().skip(wanted.len()).map(|(_, place)| place.clone()));
        let more: String = wanted.iter().skip(there.len()).map(|bracket| bracket.close()).collect();
        if !more.is_empty() {
            let at = there.last().map_or(self.end, |(_, place)| place.end);
            self.added.push(Change { place: at..at, with: more });
        }
    }
}

/// Returns the column of a byte, the least and the most that it may be.
fn columns(text: &str, at: usize) -> Range<usize> {
    let before = text.get(..at).unwrap_or("");
    let line = before.get(before.rfind('\n').map_or(0, |end| end + 1)..).unwrap_or("");
    line.chars().fold(0..0, |Range { start, end }, c| match c {
        '\t' => (start / TAB + 1) * TAB..(end / TAB + 1) * TAB,
        // Letters of Latin, Greek and Cyrillic are as wide as those of ASCII.
        ' '..='~' | '\u{a1}'..='\u{2ff}' | '\u{370}'..='\u{482}' => start + 1..end + 1,
        _ => start..end + 2,
    })
}

fn steps(text: &str, added: &[Change], taken: &[Range<usize>]) -> Vec<String> {
    // By where it stands, so that they come in order.
    let mut steps: BTreeMap<(usize, usize), String> = BTreeMap::new();
    for Change { place, with } in added {
        let (line, kind) = (Place::of(text, place.start).line, usize::from(!place.is_empty()));
        let said = match text.get(place.clone()) {
            Some(before) if !before.is_empty() => format!("Line {line}: “{with}” stands in the place of “{before}”."),
            _ => format!("Line {line}: “{with}” was added."),
        };
        steps.insert((place.start, kind), said);
    }
    let mut lines: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for place in taken {
        let line = lines.entry(Place::of(text, place.start).line).or_insert((place.start, 0));
        line.1 += 1;
    }
    for (line, (at, count)) in lines {
        steps.insert((at, 2), format!("Line {line}: {} too many was taken away.", counted(count, "bracket")));
    }
    steps.into_values().collect()
}

/// Makes the changes. A line of which nothing but blanks is left goes.
fn applied(text: &str, added: Vec<Change>, taken: Vec<Range<usize>>) -> String {
    let mut changes: Vec<Change> = added;
    let mut at = 0;
    while let Some(first) = taken.get(at) {
        let begin = text.get(..first.start).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
        let end =
            text.get(first.start..).and_then(|rest| rest.find('\n')).map_or(text.len(), |end| first.start + end + 1);
        let here: Vec<&Range<usize>> = taken.iter().skip(at).take_while(|place| place.start < end).collect();
        at += here.len();
        let (mut left, mut from) = (true, begin);
        for place in &here {
            left &= text.get(from..place.start).is_some_and(|part| part.trim().is_empty());
            from = place.end;
        }
        left &= text.get(from..end).is_some_and(|part| part.trim().is_empty());
        match left {
            true => changes.push(Change { place: begin..end, with: String::new() }),
            false => changes.extend(here.into_iter().map(|place| Change { place: place.clone(), with: String::new() })),
        }
    }
    changes.sort_by_key(|change| (change.place.start, change.place.end));
    let (mut after, mut from) = (String::with_capacity(text.len() + changes.len()), 0);
    for Change { place, with } in changes {
        after.push_str(text.get(from..place.start).unwrap_or(""));
        after.push_str(&with);
        from = place.end.max(from);
    }
    after.push_str(text.get(from..).unwrap_or(""));
    after
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_indentation_says_is_added_or_taken_away() {
        for (text, after, steps) in [
            ("(defun a ()\n  (b)\n", "(defun a ()\n  (b))\n", vec!["Line 2: “)” was added."]),
            (
                "(defun a ()\n  (let ((x 1 ; one\n        (y 2)\n    (+ x y ; sum\n\n(b)\n",
                "(defun a ()\n  (let ((x 1) ; one\n        (y 2))\n    (+ x y))) ; sum\n\n(b)\n",
                vec!["Line 2: “)” was added.", "Line 3: “)” was added.", "Line 4: “)))” was added."],
            ),
            ("(a\n  (b)))\n(c)\n", "(a\n  (b))\n(c)\n", vec!["Line 2: 1 bracket too many was taken away."]),
            ("(a)\n  )\n(c)\n", "(a)\n(c)\n", vec!["Line 2: 1 bracket too many was taken away."]),
            ("(a [b c)\n", "(a [b c])\n", vec!["Line 1: “]” stands in the place of “)”.", "Line 1: “)” was added."]),
            ("(a \"x)\n y\" ?\\)\n", "(a \"x)\n y\" ?\\))\n", vec!["Line 2: “)” was added."]),
            ("\t(a\n\t (b\n\t  c\n", "\t(a\n\t (b\n\t  c))\n", vec!["Line 3: “))” was added."]),
        ] {
            let found = balance(text).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!(
                (found.text.as_str(), found.steps.iter().map(String::as_str).collect()),
                (after, steps),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_not_certain_is_refused_with_its_place() {
        for (text, why) in [
            ("(a)", "nothing to do"),
            ("(a \"b)\n", "line 1, column 4: a string begins"),
            ("(a \"b\n(c\" d\n", "a quote may be missing"),
            ("(a\nb\n", "line 2, column 1: the line is not indented"),
            ("(a) b) c\n", "line 1, column 6: “)” does not fit"),
            ("(a\n  (b))\n  (c\n    (d\n  e)\n", "missing at line 4, column 7 and one is too many at line 2, column 6"),
            ("(a\n  b\n  )\n)\n(c\n", "missing at line 5, column 3 and one is too many at line 4, column 1"),
            ("(f \"\u{65e5}\" (g\n       h\n", "the width of some letters"),
        ] {
            let found = balance(text).expect_err(text);
            assert!(found.contains(why), "{text}: {found}");
        }
    }

    /// A form as Emacs would indent it.
    fn tree() -> impl Strategy<Value = Vec<String>> {
        let leaf =
            proptest::sample::select(vec!["a", "\"x)\"", "?\\(", "'q", "[1 2]"]).prop_map(|s| vec![s.to_string()]);
        leaf.prop_recursive(4, 24, 4, |inner| {
            proptest::collection::vec(inner, 1..4).prop_map(|items| {
                let mut lines = vec!["(f".to_string()];
                for item in &items {
                    lines.extend(item.iter().map(|line| format!("  {line}")));
                }
                if let Some(last) = lines.last_mut() {
                    last.push(')');
                }
                lines
            })
        })
    }

    proptest! {
        /// Brackets that were lost at ends of lines, or that are too many there, come back or go, and nothing else changes.
        #[test]
        fn lost_brackets_come_back_and_what_is_too_much_goes(
            trees in proptest::collection::vec(tree(), 1..4),
            hits in proptest::collection::vec((any::<prop::sample::Index>(), 1usize..3), 1..4),
            lost in any::<bool>(),
        ) {
            let whole: Vec<String> = trees.iter().filter(|tree| tree.len() > 1).flatten().cloned().collect();
            let mut broken = whole.clone();
            let ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at].ends_with("a)") || whole[*at].ends_with("))")).collect();
            prop_assume!(!ends.is_empty());
            for (index, count) in hits {
                let line = &mut broken[ends[index.index(ends.len())]];
                for _ in 0..count {
                    if !lost {
                        line.push(')');
                    } else if line.ends_with("a)") || line.ends_with("))") {
                        line.pop();
                    }
                }
            }
            let text = |lines: &[String]| format!("{}\n", lines.join("\n"));
            let found = balance(&text(&broken)).expect("its indentation says it");
            prop_assert_eq!(found.text, text(&whole));
        }

        /// Whatever is balanced can be read by its brackets afterwards, and has every letter that it had.
        #[test]
        fn nothing_but_brackets_changes(text in "[()\\[\\] a\n\t;\"'\u{e4}]{0,60}") {
            if let Ok(found) = balance(&text) {
                prop_assert!(unbalanced(&scan(&found.text).expect("it is short")).is_empty());
                let letters = |text: &str| text.chars().filter(|c| !"()[] \t\n".contains(*c)).collect::<String>();
                prop_assert_eq!(letters(&found.text), letters(&text));
                prop_assert!(!found.steps.is_empty());
            }
        }
    }
}
