//! A three-way merge of lines: what one side changed is put into what the other side has made of the same text.

use crate::domain::undo::parts::says;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::collections::HashMap;
use std::ops::Range;

/// When this many pairs of lines would have to be compared, the part between common ends counts as one change.
const MOST_PAIRS: usize = 100_000_000;

/// Both sides changed the same lines, and not alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// The first line of the place in what stands there now, from 1.
    pub line: usize,
}

/// One change of a side: these lines of the base became those lines of the side.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hunk {
    base: Range<usize>,
    side: Range<usize>,
}

/// Returns `theirs` with everything that `ours` changed in `base`.
///
/// # Errors
/// [`Clash`] for the first place where both changed the same lines; nothing is half merged.
pub fn merge(base: &str, ours: &str, theirs: &str) -> Result<String, Clash> {
    if base == theirs || ours == theirs {
        return Ok(ours.to_string());
    }
    if base == ours {
        return Ok(theirs.to_string());
    }
    let [base, ours, theirs] = [base, ours, theirs].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let (left, right) = (hunks(&base, &ours), hunks(&base, &theirs));
    let mut out = String::new();
    let (mut i, mut j, mut at) = (0, 0, 0);
    while let Some((lo, mut hi)) = next(left.get(i), right.get(j)) {
        let (first_left, first_right) = (i, j);
        // The hunks that touch the same lines belong together, however many there are in a row.
        loop {
            let open = i == first_left && j == first_right;
            let takes = |hunk: &&Hunk| (open && hunk.base == (lo..hi)) || overlap(&(lo..hi), &hunk.base);
            if let Some(hunk) = left.get(i).filter(takes) {
                hi = hi.max(hunk.base.end);
                i += 1;
            } else if let Some(hunk) = right.get(j).filter(takes) {
                hi = hi.max(hunk.base.end);
                j += 1;
            } else {
                break;
            }
        }
        append(&mut out, base.get(at..lo).unwrap_or_default());
        let mine = text(&left, first_left..i, &ours, lo..hi);
        let other = text(&right, first_right..j, &theirs, lo..hi);
        let (changed_left, changed_right) = (i > first_left, j > first_right);
        match (changed_left, changed_right) {
            (true, true) if mine == other => append(&mut out, &mine),
            (true, true) => return Err(Clash { line: place(&right, first_right..j, lo) + 1 }),
            (true, false) => append(&mut out, &mine),
            (false, _) => append(&mut out, &other),
        }
        at = hi;
    }
    append(&mut out, base.get(at..).unwrap_or_default());
    Ok(out)
}

/// Whether no line is doubled in what was merged, and none is lost that the hand added or that nobody took out: that could
/// be where headings were moved, or changed so much that they count as some that went and some that came. A line that a
/// text has more than once tells nothing.
pub(super) fn adds_up(sides: [&str; 3], merged: &str) -> bool {
    let mut counts: HashMap<&str, [usize; 4]> = HashMap::new();
    for (side, text) in sides.into_iter().chain([merged]).enumerate() {
        for line in text.lines().map(str::trim).filter(|line| says(line)) {
            if let Some(count) = counts.entry(line).or_default().get_mut(side) {
                *count += 1;
            }
        }
    }
    counts.into_values().filter(|[base, ours, theirs, _]| *base.max(ours).max(theirs) < 2).all(|counts| match counts {
        [0, 0, 1, merged] | [1, 1, 1, merged] => merged == 1,
        // Both have added it, in one place or in two.
        [0, 1, 1, merged] => merged == 1 || merged == 2,
        [_, _, _, merged] => merged < 2,
    })
}

/// Appends lines. A line that was the last of its side and had no end gets one when another follows it.
fn append(out: &mut String, lines: &[&str]) {
    if !out.is_empty() && !out.ends_with('\n') && !lines.is_empty() {
        out.push('\n');
    }
    out.extend(lines.iter().copied());
}

/// Returns the base range of the hunk that comes next.
fn next(left: Option<&Hunk>, right: Option<&Hunk>) -> Option<(usize, usize)> {
    let all = [left, right].into_iter().flatten();
    all.map(|hunk| (hunk.base.start, hunk.base.end)).min()
}

/// Whether two changes are about the same lines; what merely touches is not.
fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    match (a.is_empty(), b.is_empty()) {
        (true, true) => a.start == b.start,
        (true, false) => b.start < a.start && a.start < b.end,
        (false, true) => a.start < b.start && b.start < a.end,
        (false, false) => a.start < b.end && b.start < a.end,
    }
}

/// Returns what a side made of a range of the base.
fn text<'a>(hunks: &[Hunk], taken: Range<usize>, side: &[&'a str], base: Range<usize>) -> Vec<&'a str> {
    match (hunks.get(taken.start), taken.end.checked_sub(1).and_then(|last| hunks.get(last))) {
        (Some(first), Some(last)) if !taken.is_empty() => {
            let from = first.side.start - first.base.start.saturating_sub(base.start).min(first.side.start);
            let to = last.side.end + base.end.saturating_sub(last.base.end);
            side.get(from..to).unwrap_or_default().to_vec()
        }
        _ => Vec::new(),
    }
}

/// Returns the line of the side at which a line of the base begins.
fn place(hunks: &[Hunk], taken: Range<usize>, base: usize) -> usize {
    hunks.get(taken.start).map_or(base, |hunk| hunk.side.start.saturating_sub(hunk.base.start.saturating_sub(base)))
}

fn hunks(base: &[&str], side: &[&str]) -> Vec<Hunk> {
    let head = base.iter().zip(side).take_while(|(a, b)| a == b).count();
    let (inner, other) = (base.get(head..).unwrap_or_default(), side.get(head..).unwrap_or_default());
    let tail = inner.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    let inner = inner.get(..inner.len() - tail).unwrap_or_default();
    let other = other.get(..other.len() - tail).unwrap_or_default();
    if inner.is_empty() && other.is_empty() {
        return Vec::new();
    }
    if inner.len().saturating_mul(other.len()) > MOST_PAIRS {
        return vec![Hunk { base: head..head + inner.len(), side: head..head + other.len() }];
    }
    let mut found: Vec<Hunk> = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, inner, other) {
        let hunk = match op {
            DiffOp::Equal { .. } => continue,
            DiffOp::Delete { old_index, old_len, new_index } => {
                Hunk { base: old_index..old_index + old_len, side: new_index..new_index }
            }
            DiffOp::Insert { old_index, new_index, new_len } => {
                Hunk { base: old_index..old_index, side: new_index..new_index + new_len }
            }
            DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                Hunk { base: old_index..old_index + old_len, side: new_index..new_index + new_len }
            }
        };
        let hunk = Hunk {
            base: hunk.base.start + head..hunk.base.end + head,
            side: hunk.side.start + head..hunk.side.end + head,
        };
        match found.last_mut().filter(|last| last.base.end == hunk.base.start && last.side.end == hunk.side.start) {
            Some(last) => {
                last.base.end = hunk.base.end;
                last.side.end = hunk.side.end;
            }
            None => found.push(hunk),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(base: &str, ours: &str, theirs: &str, expected: Option<&str>) {
        let lines =
            |text: &str| text.split(' ').filter(|w| !w.is_empty()).map(|w| format!("{w}\n")).collect::<String>();
        let merged = merge(&lines(base), &lines(ours), &lines(theirs));
        assert_eq!(merged.ok(), expected.map(lines), "{base} | {ours} | {theirs}");
    }

    #[test]
    fn what_is_apart_is_merged_and_what_is_not_is_refused() {
        check("a b c", "a B c", "a b c d", Some("a B c d"));
        check("a x b", "a b", "a x b c", Some("a b c"));
        check("a b x", "a b", "a b x mine", Some("a b mine"));
        check("a b", "x a b", "a b y", Some("x a b y"));
        check("a b c", "a B c", "a b C", Some("a B C"));
        check("a b c", "a B c", "a Z c", None);
        check("a b c", "a c", "a Z c", None);
        check("a b c", "a B c", "a B c", Some("a B c"));
        check("a b", "a x b", "a y b", None);
        check("a b", "a x b", "a x b", Some("a x b"));
        check("a b c d", "a d", "a b X c d", None);
        check("", "a", "b", None);
        check("a", "", "a", Some(""));
    }

    #[test]
    fn a_line_without_its_end_is_a_line_of_its_own() {
        assert_eq!(merge("a\nb\n", "a\n", "a\nb\nc"), Ok("a\nc".to_string()));
        assert_eq!(merge("a\nb\n", "a", "a\nb\nc\n"), Ok("a\nc\n".to_string()), "nothing runs together");
        assert_eq!(merge("a\nb\n", "a\nb", "a\nb\nc\n"), Ok("a\nb\nc\n".to_string()));
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(0u8..6, 0..24)
    }

    fn lines(letters: &[u8]) -> String {
        letters.iter().map(|letter| format!("line {letter}\n")).collect()
    }

    proptest! {
        #[test]
        fn hand_edits_elsewhere_survive(base in text(), at in 0usize..24, hand in 0usize..24) {
            // The act put a line in somewhere; a hand put another one in somewhere else.
            let (at, hand) = (at.min(base.len()), hand.min(base.len()));
            let before = lines(&base);
            let put = |text: &str, at: usize, line: &str| {
                let mut all: Vec<&str> = text.split_inclusive('\n').collect();
                all.insert(at.min(all.len()), line);
                all.concat()
            };
            let after = put(&before, at, "agent\n");
            let now = put(&after, if hand <= at { hand } else { hand + 1 }, "hand\n");
            let expected = put(&before, hand, "hand\n");
            prop_assert_eq!(merge(&after, &before, &now), Ok(expected));
        }

        #[test]
        fn the_trivial_merges_are_exact(base in text(), side in text()) {
            let (base, side) = (lines(&base), lines(&side));
            prop_assert_eq!(merge(&base, &side, &base), Ok(side.clone()));
            prop_assert_eq!(merge(&base, &base, &side), Ok(side.clone()));
            prop_assert_eq!(merge(&base, &side, &side), Ok(side));
        }

        #[test]
        fn undo_then_redo_is_identity(after in text(), before in text(), now in text()) {
            let (after, before, now) = (lines(&after), lines(&before), lines(&now));
            if let Ok(undone) = merge(&after, &before, &now) {
                // Redo takes the undo back: its base is what the undo left, ours is what stood before it.
                prop_assert_eq!(merge(&undone, &now, &undone), Ok(now));
            }
        }

        #[test]
        fn a_merge_keeps_every_line_that_a_hand_added(base in text(), ours in text(), at in 0usize..24) {
            let (base, ours) = (lines(&base), lines(&ours));
            let mut theirs: Vec<&str> = base.split_inclusive('\n').collect();
            theirs.insert(at.min(theirs.len()), "by hand\n");
            if let Ok(merged) = merge(&base, &ours, &theirs.concat()) {
                prop_assert!(merged.contains("by hand\n"));
            }
        }
    }
}
