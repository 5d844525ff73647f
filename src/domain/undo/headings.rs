//! A three-way merge of Org texts by heading: a heading is found again wherever it stands now, and refused by itself.

use crate::domain::org::scan::{ScanOptions, scan};
use crate::domain::undo::again::put_back;
use crate::domain::undo::lines;
use crate::domain::undo::parts::{Pairs, Parts, became, made_of};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// What a merge came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The text.
    pub text: String,
    /// The headings that were changed, by their titles.
    pub done: Vec<String>,
    /// The headings that were left as they are, each with why.
    pub left: Vec<String>,
}

/// Puts what `ours` changed in `base` into `theirs`, heading by heading.
///
/// # Errors
/// In words, when the whole text has to stay as it is; a single heading that has to is named in [`Merged::left`].
pub fn merge(base: &str, ours: &str, theirs: &str, options: &ScanOptions) -> Result<Merged, String> {
    let read = |text: &str| scan(Arc::from(text), options).map_err(|error| error.to_string());
    let (base_outline, ours_outline, theirs_outline) = (read(base)?, read(ours)?, read(theirs)?);
    let [base_parts, ours_parts, theirs_parts] = [&base_outline, &ours_outline, &theirs_outline].map(Parts::of);
    let heads = Heads::of(&base_parts, &ours_parts, &theirs_parts);
    // Headings that changed places are put back line by line.
    if !heads.moved() {
        let made = heads.merge();
        if heads.holds(&made, options) && lines::adds_up([base, ours, theirs], &made.merged.text) {
            return Ok(made.merged);
        }
    }
    let text = lines::merge(base, ours, theirs)
        .map_err(|clash| format!("line {} and what is about it were changed by hand since", clash.line))?;
    if !lines::adds_up([base, ours, theirs], &text) {
        return Err("headings in it were moved, and changed by hand since".to_string());
    }
    Ok(Merged { text, done: heads.changed(), left: Vec::new() })
}

struct Heads<'a> {
    base: &'a Parts<'a>,
    ours: &'a Parts<'a>,
    theirs: &'a Parts<'a>,
    /// Where each heading of `base` stands in `ours`.
    then: Pairs,
    /// Where each heading of `base` stands in `theirs`.
    now: Pairs,
    /// Where each heading of `ours` stands in `base`.
    was: Pairs,
    /// Where each heading of `ours` that is not in `base` was put back by a hand.
    again: Pairs,
}

/// A piece of what was merged, by where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Piece {
    Theirs(usize),
    Ours(usize),
}

/// A merge by heading, and of which headings it is made, so that it can be checked.
struct ByHeading {
    merged: Merged,
    pieces: Vec<Piece>,
}

impl<'a> Heads<'a> {
    fn of(base: &'a Parts<'a>, ours: &'a Parts<'a>, theirs: &'a Parts<'a>) -> Heads<'a> {
        let then = made_of(base, ours);
        let now = became(base, &then, ours, theirs);
        let mut was = vec![None; ours.count()];
        for (index, other) in then.iter().enumerate() {
            if let Some(was) = other.and_then(|other| was.get_mut(other)) {
                *was = Some(index);
            }
        }
        let again = put_back(ours, &was, &now, theirs);
        Heads { base, ours, theirs, then, now, was, again }
    }

    fn then(&self, index: usize) -> Option<usize> {
        self.then.get(index).copied().flatten()
    }

    fn now(&self, index: usize) -> Option<usize> {
        self.now.get(index).copied().flatten()
    }

    fn was(&self, index: usize) -> Option<usize> {
        self.was.get(index).copied().flatten()
    }

    /// Whether headings that both have stand in another order, or below another heading.
    fn moved(&self) -> bool {
        let common: Vec<(usize, usize)> =
            self.then.iter().enumerate().filter_map(|(index, other)| Some((index, (*other)?))).collect();
        common.windows(2).any(|pair| pair[0].1 > pair[1].1)
            || common.iter().any(|(index, other)| self.then(self.base.above(*index)) != Some(self.ours.above(*other)))
    }

    /// Returns the titles of the headings that differ.
    fn changed(&self) -> Vec<String> {
        let in_base = (0..self.base.count())
            .filter(|index| self.then(*index).is_none_or(|other| self.ours.own(other) != self.base.own(*index)))
            .map(|index| self.base.title(index));
        let in_ours =
            (0..self.ours.count()).filter(|index| self.was(*index).is_none()).map(|index| self.ours.title(index));
        let mut titles: Vec<String> = in_base.chain(in_ours).collect();
        titles.dedup();
        titles
    }

    fn merge(&self) -> ByHeading {
        let (mut done, mut left) = (Vec::new(), Vec::new());
        let count = self.theirs.count();
        let mut own: Vec<String> = (0..count).map(|index| self.theirs.own(index).to_string()).collect();
        self.modified(&mut own, &mut done, &mut left);
        let removed = self.removed(&mut done, &mut left);
        let before = self.inserted(&removed, &mut done, &mut left);
        let (mut text, mut pieces) = (String::new(), Vec::new());
        let mut put = |piece: Piece, own: &str| {
            // Nothing runs into the next heading.
            if !text.is_empty() && !text.ends_with('\n') && !own.is_empty() {
                text.push('\n');
            }
            text.push_str(own);
            pieces.push(piece);
        };
        let blocks = |at: usize| before.get(&at).into_iter().flatten();
        for (index, own) in own.iter().enumerate() {
            blocks(index).for_each(|block| put(Piece::Ours(*block), self.ours.own(*block)));
            if !removed.contains(&index) {
                put(Piece::Theirs(index), own);
            }
        }
        blocks(count).for_each(|block| put(Piece::Ours(*block), self.ours.own(*block)));
        ByHeading { merged: Merged { text, done, left }, pieces }
    }

    fn modified(&self, own: &mut [String], done: &mut Vec<String>, left: &mut Vec<String>) {
        for index in 0..self.base.count() {
            let Some(other) = self.then(index) else { continue };
            let (base, ours) = (self.base.own(index), self.ours.own(other));
            // A heading that ends the file has lost the end of its last line to nobody.
            if base.trim_end_matches('\n') == ours.trim_end_matches('\n')
                && (base == ours || index + 1 == self.base.count() || other + 1 == self.ours.count())
            {
                continue;
            }
            let title = self.base.title(index);
            match self.now(index).and_then(|at| own.get_mut(at)) {
                None => left.push(format!("{title} is not there any more")),
                Some(own) => match lines::merge(base, ours, own) {
                    Ok(text) if text == *own => {}
                    Ok(text) => {
                        *own = text;
                        done.push(title);
                    }
                    Err(_) => left.push(format!("{title} was changed by hand since, in the same lines")),
                },
            }
        }
    }

    /// Returns the headings of theirs that go: what the change had added and nobody touched, with nothing else below it.
    fn removed(&self, done: &mut Vec<String>, left: &mut Vec<String>) -> BTreeSet<usize> {
        let mut removed = BTreeSet::new();
        // What is below is decided first.
        for index in (0..self.base.count()).filter(|index| self.then(*index).is_none()).rev() {
            let Some(at) = self.now(index) else { continue };
            let same = self.theirs.own(at).trim_end_matches('\n') == self.base.own(index).trim_end_matches('\n');
            let mut below = self.theirs.outline.children(at);
            let (title, called) = (self.base.title(index), self.theirs.title(at));
            if !same && title != called {
                left.push(format!("{title} was changed by hand since: it is called {called} now"));
            } else if !same {
                left.push(format!("{title} was changed by hand since"));
            } else if !self.hangs_there(index, at) {
                left.push(format!("{title} stands elsewhere now"));
            } else if below.any(|child| !removed.contains(&child)) {
                left.push(format!("{title} has something below it that was put there since"));
            } else {
                removed.insert(at);
                done.push(title);
            }
        }
        removed
    }

    /// Whether a heading of `base` hangs below the same one still; one with an `ID` is the same wherever it hangs.
    fn hangs_there(&self, index: usize, at: usize) -> bool {
        self.base.name(index) == self.theirs.name(at) || self.now(self.base.above(index)) == Some(self.theirs.above(at))
    }

    /// Returns where a heading that the change had taken out was put back by a hand.
    fn again(&self, index: usize) -> Option<usize> {
        self.again.get(index).copied().flatten()
    }

    /// Returns for each heading of ours the one of theirs that it would come before.
    fn followers(&self, removed: &BTreeSet<usize>) -> Pairs {
        let mut followers = vec![None; self.ours.count()];
        let mut next = None;
        for (index, follower) in followers.iter_mut().enumerate().rev() {
            *follower = next;
            let at = self.was(index).and_then(|base| self.now(base));
            next = at.filter(|at| !removed.contains(at)).or(next);
        }
        followers
    }

    /// Returns the headings of ours that come back, by the heading of theirs that they come before.
    fn inserted(
        &self,
        removed: &BTreeSet<usize>,
        done: &mut Vec<String>,
        left: &mut Vec<String>,
    ) -> HashMap<usize, Vec<usize>> {
        let mut before = HashMap::<usize, Vec<usize>>::new();
        let followers = self.followers(removed).into_iter().enumerate().skip(1);
        for (index, follower) in followers.filter(|(index, _)| self.was(*index).is_none()) {
            let title = self.ours.title(index);
            if let Some(at) = self.again(index) {
                if self.theirs.own(at) != self.ours.own(index) {
                    left.push(format!("{title} stands there again, otherwise"));
                }
                continue;
            }
            before.entry(follower.unwrap_or(self.theirs.count())).or_default().push(index);
            done.push(title);
        }
        before
    }

    /// Whether a merge by heading is what it was meant to be: each piece is a heading, and hangs below the one that it
    /// hung below.
    fn holds(&self, made: &ByHeading, options: &ScanOptions) -> bool {
        let Ok(outline) = scan(Arc::from(made.merged.text.as_str()), options) else { return false };
        let places: HashMap<Piece, usize> = made.pieces.iter().enumerate().map(|(at, piece)| (*piece, at)).collect();
        let above = |piece: Piece| match piece {
            Piece::Theirs(index) => Some(Piece::Theirs(self.theirs.above(index))),
            Piece::Ours(index) => match (self.ours.above(index), self.was(self.ours.above(index))) {
                (_, Some(base)) => self.now(base).map(Piece::Theirs),
                (above, None) => Some(self.again(above).map_or(Piece::Ours(above), Piece::Theirs)),
            },
        };
        let hangs = |(at, piece): (usize, &Piece)| {
            let found = outline.nodes.get(at).map(|node| node.parent as usize);
            found.is_some() && found == above(*piece).and_then(|above| places.get(&above).copied())
        };
        outline.nodes.len() == made.pieces.len() && made.pieces.iter().enumerate().all(hangs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(base: &str, ours: &str, theirs: &str, expected: &str, left: &[&str]) {
        let merged = merge(base, ours, theirs, &ScanOptions::default()).expect("it is merged");
        assert_eq!((merged.text.as_str(), merged.left), (expected, left.iter().map(|l| l.to_string()).collect()));
    }

    #[test]
    fn headings_are_found_again_where_they_stand_now() {
        let pre = "* A\n** TODO Tiles\ntext\n* B\n";
        let post = "* A\n** DONE Tiles\ntext\n* B\n";
        check(post, pre, post, pre, &[]);
        let moved = "* B\n** Mine\n* A\nnew\n** DONE Tiles\ntext\nmore\n";
        check(post, pre, moved, "* B\n** Mine\n* A\nnew\n** TODO Tiles\ntext\nmore\n", &[]);
        let edited = "* A\n** WAIT DONE Tiles\ntext\n* B\n";
        check(post, pre, edited, edited, &["“Tiles” was changed by hand since, in the same lines"]);
        let same_line = "* A\n** DONE [#A] Tiles\ntext\n* B\n";
        check(post, pre, same_line, same_line, &["“Tiles” was changed by hand since, in the same lines"]);
    }

    #[test]
    fn added_headings_go_unless_somebody_uses_them() {
        let (pre, post) = ("* A\n", "* A\n** New\nbody\n* C\n");
        check(
            post,
            pre,
            "* A\nmine\n** New\nbody\n* C\n** D\n",
            "* A\nmine\n* C\n** D\n",
            &["“C” has something below it that was put there since"],
        );
        check(post, pre, "* A\n** New\nbody!\n* C\n", "* A\n** New\nbody!\n", &["“New” was changed by hand since"]);
        check("* A\nx\n* N\n", "* A\nx", "* A\nx\n* N\n* Mine\n", "* A\nx\n* Mine\n", &[]);
    }

    #[test]
    fn a_heading_that_a_hand_gave_another_title_is_not_gone() {
        let (pre, post) = ("* A\n* B\n", "* A\n** New\nbody\n*** Child\nof it\n* B\n");
        let renamed = "“New” was changed by hand since: it is called “Mine” now";
        // What nobody touched below it goes, as it does below a heading with an ID.
        check(post, pre, "* A\n** Mine\nbody\n*** Child\nof it\n* B\n", "* A\n** Mine\nbody\n* B\n", &[renamed]);
        let used = "* A\n** Mine\nbody\n*** Child\nof it\nby hand\n* B\n";
        check(post, pre, used, used, &["“Child” was changed by hand since", renamed]);
        // Without a body it is told by its place.
        check("* A\n** New\n* B\n", pre, "* A\n** Mine\n* B\n", "* A\n** Mine\n* B\n", &[renamed]);
        let moved = "* A\n* B\n** New\nbody\n*** Child\nof it\n";
        check(post, pre, moved, "* A\n* B\n** New\nbody\n", &["“New” stands elsewhere now"]);
        check(post, pre, pre, pre, &[]);
        // One that stood there before the change is never taken for it.
        let (pre, post) = ("* A\n** Old\nbody\n", "* A\n** New\nbody\n** Old\nbody\n");
        check(post, pre, "* A\n** Old\nbody\n", pre, &[]);
        check(post, pre, "* A\n** Mine\nbody\n** Old\nbody\n", "* A\n** Mine\nbody\n** Old\nbody\n", &[renamed]);
    }

    #[test]
    fn what_was_changed_below_a_title_goes_back_whatever_a_hand_calls_it() {
        let pre = "* A\n** Tiles\none\ntwo\nthree\n*** Size\nsmall\n";
        let post = "* A\n** Tiles\none\ntwo\nfour\n*** Size\nlarge\n";
        let now = post.replace("Tiles", "Slabs");
        check(post, pre, &now, &pre.replace("Tiles", "Slabs"), &[]);
    }

    #[test]
    fn a_title_that_was_changed_goes_back_over_what_a_hand_wrote_below_it() {
        let (pre, post) = ("* A\n** Old\nbody\n*** Child\n* B\n", "* A\n** New\nbody\n*** Child\n* B\n");
        check(post, pre, post, pre, &[]);
        let now = "* A\n** New\nbody\nmine\n*** Child\n*** Mine\n* B\n";
        check(post, pre, now, "* A\n** Old\nbody\nmine\n*** Child\n*** Mine\n* B\n", &[]);
        let now = "* A\n** My own\nbody\n*** Child\n* B\n";
        check(post, pre, now, now, &["“New” was changed by hand since, in the same lines"]);
    }

    #[test]
    fn removed_headings_come_back_where_they_were() {
        let (pre, post) = ("* A\n** T\nt\n** U\n* B\n", "* A\n* B\n");
        check(post, pre, "* A\nhand\n** Mine\n* B\nhand\n", "* A\nhand\n** Mine\n** T\nt\n** U\n* B\nhand\n", &[]);
        // What would hang below another heading is put back line by line, or not at all.
        let refused = merge(post, pre, "* A\n* Other\n* B\n", &ScanOptions::default());
        assert!(refused.is_err() || refused.is_ok_and(|merged| merged.text.contains("* Other\n")));
    }

    fn notes() -> impl Strategy<Value = Vec<(bool, u8)>> {
        proptest::collection::vec((any::<bool>(), 0u8..4), 1..8)
    }

    /// Writes notes; a hand added a line to one of them, and some have another title.
    fn write(notes: &[(bool, u8)], hand: Option<usize>, titles: &[(Option<usize>, &str)]) -> String {
        let one = |(index, (done, body)): (usize, &(bool, u8))| {
            let keyword = if *done { "DONE" } else { "TODO" };
            let hand = if hand == Some(index) { "by hand\n" } else { "" };
            let other = titles.iter().find(|(of, _)| *of == Some(index)).map(|(_, title)| title.to_string());
            let title = other.unwrap_or_else(|| format!("Note {index}"));
            format!("* {keyword} {title}\n{}{hand}", "text\n".repeat(usize::from(*body)))
        };
        notes.iter().enumerate().map(one).collect()
    }

    proptest! {
        #[test]
        fn what_was_written_by_hand_survives_whatever_is_taken_back(
            before in notes(),
            after in notes(),
            hand in 0usize..8,
            [by_act, by_hand] in [proptest::option::of(0usize..8), proptest::option::of(0usize..8)],
        ) {
            let (hand, by_hand) = (hand.min(after.len() - 1), by_hand.map(|called| called.min(after.len() - 1)));
            let acted = (by_act, "Of the act");
            let (pre, post) = (write(&before, None, &[]), write(&after, None, &[acted]));
            let now = write(&after, Some(hand), &[(by_hand, "Mine"), acted]);
            let merged = merge(&post, &pre, &now, &ScanOptions::default()).map(|merged| merged.text).unwrap_or(now);
            prop_assert!(merged.contains("by hand\n"), "{merged}");
            prop_assert_eq!(merged.matches("Mine\n").count(), usize::from(by_hand.is_some()), "{}", merged);
        }

        #[test]
        fn without_a_hand_it_is_as_it_was(
            before in notes(),
            after in notes(),
            by_act in proptest::option::of(0usize..8),
        ) {
            let (pre, post) = (write(&before, None, &[]), write(&after, None, &[(by_act, "Of the act")]));
            let merged = merge(&post, &pre, &post, &ScanOptions::default()).expect("it is merged");
            prop_assert_eq!(merged.text, pre);
            prop_assert_eq!(merged.left, Vec::<String>::new());
        }
    }
}
