//! Replaces an exact text in a file, when it stands there as often as was said; else says what stands there instead.

use std::ops::Range;

/// How many lines are compared when a text was not found.
const MOST_LINES: usize = 20_000;
/// How many characters of a line are compared and shown.
const MOST_SHOWN: usize = 160;
/// How many places of a text are named.
const MOST_PLACES: usize = 8;

/// Why nothing was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreplaced {
    /// Nothing is looked for, or nothing would change.
    Nothing(&'static str),
    /// It stands there another number of times; the lines, from 1, at most `MOST_PLACES` of them.
    Count {
        /// How often it stands there.
        found: usize,
        /// The first of the lines.
        lines: Vec<usize>,
    },
    /// It does not stand there.
    Missing {
        /// The line that is most like its first one, from 1, when one is.
        nearest: Option<usize>,
        /// Whether only blanks differ there.
        blanks: bool,
    },
}

/// Returns the text with `old` replaced by `new`; `old` must stand there exactly `count` times.
///
/// # Errors
/// [`Unreplaced`]; nothing is half replaced.
pub fn replace(text: &str, old: &str, new: &str, count: usize) -> Result<String, Unreplaced> {
    if old.is_empty() {
        return Err(Unreplaced::Nothing("“old” is empty, so it says no place"));
    }
    if old == new {
        return Err(Unreplaced::Nothing("“old” and “new” are the same, so nothing would change"));
    }
    let places: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
    match places.len() {
        0 => Err(missing(text, old)),
        found if found == count => Ok(text.replace(old, new)),
        found => {
            let line = |at: &usize| text.get(..*at).unwrap_or("").matches('\n').count() + 1;
            Err(Unreplaced::Count { found, lines: places.iter().take(MOST_PLACES).map(line).collect() })
        }
    }
}

impl Unreplaced {
    /// Returns it in words, for whoever asked. `text` is shown from when it may be; without it only lines are named.
    pub fn words(&self, old: &str, text: Option<&str>) -> String {
        match self {
            Unreplaced::Nothing(why) => format!("{why}."),
            Unreplaced::Count { found, lines } => {
                let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
                let more = if *found > lines.len() { ", …" } else { "" };
                format!(
                    "“old” stands there {found} times, in the lines {}{more}. Take more of the lines around it into \
                     “old”, or say “count”: {found} to replace all of them.",
                    lines.join(", ")
                )
            }
            Unreplaced::Missing { nearest: None, .. } => {
                "“old” does not stand there, nor anything like it. Read the file, and copy the text exactly."
                    .to_string()
            }
            Unreplaced::Missing { nearest: Some(line), blanks } => {
                let how = if *blanks { "differs only in its blanks" } else { "is most like it" };
                let shown = text.map(|text| excerpt(text, *line, old.lines().count())).unwrap_or_default();
                format!(
                    "“old” does not stand there. What {how} begins in line {line}{}\
                     Copy the text exactly, with its blanks.",
                    if shown.is_empty() { ". ".to_string() } else { format!(":\n{shown}") }
                )
            }
        }
    }
}

/// Returns some lines of a text, each with a bar before it.
fn excerpt(text: &str, line: usize, count: usize) -> String {
    let lines = text.lines().skip(line.saturating_sub(1)).take(count.clamp(1, 12));
    lines.map(|line| format!("| {}\n", line.chars().take(MOST_SHOWN).collect::<String>())).collect()
}

fn missing(text: &str, old: &str) -> Unreplaced {
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted: Vec<String> = old.lines().map(squeezed).collect();
    let lines: Vec<&str> = text.lines().take(MOST_LINES).collect();
    let plain: Vec<String> = lines.iter().map(|line| squeezed(line)).collect();
    let first = wanted.iter().position(|line| !line.is_empty()).unwrap_or(0);
    let core: Range<usize> = first..wanted.iter().rposition(|line| !line.is_empty()).map_or(first, |last| last + 1);
    let core = wanted.get(core).unwrap_or_default();
    if !core.is_empty()
        && let Some(at) = plain.windows(core.len()).position(|window| window == core)
    {
        return Unreplaced::Missing { nearest: Some(at + 1), blanks: true };
    }
    // A part of one line, with other blanks in it.
    if let [wanted] = core
        && let Some(at) = plain.iter().position(|line| line.contains(wanted.as_str()))
    {
        return Unreplaced::Missing { nearest: Some(at + 1), blanks: true };
    }
    let Some(wanted) = core.first() else { return Unreplaced::Missing { nearest: None, blanks: false } };
    let likeness = |line: &String| alike(wanted, line);
    let best = plain.iter().enumerate().map(|(at, line)| (likeness(line), at));
    let best = best.fold(None, |best: Option<(f32, usize)>, next| match best {
        Some(best) if best.0 >= next.0 => Some(best),
        _ => Some(next),
    });
    Unreplaced::Missing { nearest: best.filter(|(likeness, _)| *likeness >= 0.5).map(|(_, at)| at + 1), blanks: false }
}

/// Returns how much of two lines is the same, from 0 to 1: the pairs of letters that both have.
fn alike(one: &str, other: &str) -> f32 {
    let pairs = |text: &str| {
        let letters: Vec<char> = text.chars().take(MOST_SHOWN).collect();
        let mut pairs: Vec<(char, char)> = letters.windows(2).filter_map(|w| Some((*w.first()?, *w.get(1)?))).collect();
        pairs.sort_unstable();
        pairs
    };
    let (one, other) = (pairs(one), pairs(other));
    let (mut i, mut j, mut same) = (0, 0, 0);
    while let (Some(a), Some(b)) = (one.get(i), other.get(j)) {
        match a.cmp(b) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => (i, j, same) = (i + 1, j + 1, same + 1),
        }
    }
    let all = one.len() + other.len();
    if all == 0 { 0.0 } else { 2.0 * same as f32 / all as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "fn one() {\n    let apples = 3;\n}\n\nfn two() {\n    let apples = 3;\n    let pears = 4;\n}\n";

    #[test]
    fn a_text_is_replaced_when_it_stands_there_as_often_as_was_said() {
        assert_eq!(replace(TEXT, "pears = 4", "pears = 5", 1), Ok(TEXT.replace("pears = 4", "pears = 5")));
        assert_eq!(replace(TEXT, "apples", "plums", 2), Ok(TEXT.replace("apples", "plums")));
        for (old, count, said) in [
            ("", 1, "“old” is empty, so it says no place."),
            ("apples", 1, "“old” stands there 2 times, in the lines 2, 6. Take more"),
            ("pears", 2, "“old” stands there 1 times, in the lines 7."),
            ("  let  pears = 4;", 1, "differs only in its blanks begins in line 7:\n|     let pears = 4;\n"),
            ("let peers = 4;", 1, "is most like it begins in line 7:\n|     let pears = 4;\n"),
            ("zzzz qqqq", 1, "nor anything like it"),
        ] {
            let words = replace(TEXT, old, "x", count).expect_err("it does not fit").words(old, Some(TEXT));
            assert!(words.contains(said), "{words}");
        }
        let hidden =
            replace(TEXT, "let peers = 4;", "x", 1).expect_err("it does not fit").words("let peers = 4;", None);
        assert!(hidden.contains("line 7") && !hidden.contains("pears"), "{hidden}");
        assert!(replace(TEXT, "a", "a", 1).is_err());
    }

    proptest! {
        #[test]
        fn nothing_panics_and_what_is_replaced_is_what_was_said(
            text in "[ab \n]{0,40}", old in "[ab \n]{0,4}", new in "[ab]{0,3}", count in 1usize..4
        ) {
            match replace(&text, &old, &new, count) {
                Ok(after) => {
                    prop_assert_eq!(text.matches(&old).count(), count);
                    prop_assert_eq!(after, text.replace(&old, &new));
                }
                Err(why) => prop_assert!(!why.words(&old, Some(&text)).is_empty()),
            }
        }
    }
}
