//! A three-way merge of Org texts by heading: a heading is found again wherever it stands now, and refused by itself.

use crate::domain::memory::followed;
use crate::domain::org::outline::Outline;
use crate::domain::org::scan::{ScanOptions, scan};
use crate::domain::undo::lines;
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

/// One text divided into what stands before the first heading, and each heading with what is its own.
struct Parts<'a> {
    outline: &'a Outline,
    keys: Vec<String>,
    places: HashMap<String, usize>,
}

impl<'a> Parts<'a> {
    fn of(outline: &'a Outline) -> Parts<'a> {
        let mut keys: Vec<String> = Vec::with_capacity(outline.nodes.len());
        let mut places = HashMap::new();
        for (index, node) in outline.nodes.iter().enumerate() {
            let key = match (index, outline.property(node, "ID").map(str::trim).filter(|id| !id.is_empty())) {
                (0, _) => String::new(),
                (_, Some(id)) => format!("id {id}"),
                (_, None) => {
                    let parent = keys.get(node.parent as usize).map(String::as_str).unwrap_or_default();
                    // Deep paths would grow with the square of the depth.
                    match parent.len() {
                        0..=512 => format!("{parent}/{}", outline.slice(&node.title)),
                        _ => format!("{}/{}", blake3::hash(parent.as_bytes()).to_hex(), outline.slice(&node.title)),
                    }
                }
            };
            let mut name = key.clone();
            let mut count = 1;
            while places.contains_key(&name) {
                count += 1;
                name = format!("{key} #{count}");
            }
            places.insert(name.clone(), index);
            keys.push(name);
        }
        Parts { outline, keys, places }
    }

    /// Returns what belongs to a heading itself, without what is below it.
    fn own(&self, index: usize) -> &'a str {
        let begin = |index: usize| self.outline.nodes.get(index).map(|node| node.begin as usize);
        let from = if index == 0 { Some(0) } else { begin(index) };
        let to = begin(index + 1).unwrap_or(self.outline.text.len());
        from.and_then(|from| self.outline.text.get(from..to)).unwrap_or("")
    }

    fn find(&self, key: &str) -> Option<usize> {
        self.places.get(key).copied()
    }

    fn key(&self, index: usize) -> &str {
        self.keys.get(index).map(String::as_str).unwrap_or_default()
    }

    fn parent(&self, index: usize) -> &str {
        self.outline.nodes.get(index).map_or("", |node| self.key(node.parent as usize))
    }

    fn title(&self, index: usize) -> String {
        match self.outline.nodes.get(index) {
            Some(node) if index > 0 => format!("“{}”", self.outline.slice(&node.title).trim()),
            _ => "the text before the first heading".to_string(),
        }
    }
}

/// Puts what `ours` changed in `base` into `theirs`, heading by heading.
///
/// # Errors
/// In words, when the whole text has to stay as it is; a single heading that has to is named in [`Merged::left`].
pub fn merge(base: &str, ours: &str, theirs: &str, options: &ScanOptions) -> Result<Merged, String> {
    let read = |text: &str| scan(Arc::from(text), options).map_err(|error| error.to_string());
    let (base_outline, ours_outline, theirs_outline) = (read(base)?, read(ours)?, read(theirs)?);
    let [base_parts, ours_parts, theirs_parts] = [&base_outline, &ours_outline, &theirs_outline].map(Parts::of);
    let by_heading = match moved(&base_parts, &ours_parts) {
        // Headings that changed places are put back line by line.
        true => None,
        false => Some(Heads::of(&base_parts, &ours_parts, &theirs_parts).merge()),
    };
    if let Some(merged) = by_heading
        && holds(&merged, &ours_parts, &theirs_parts, options)
    {
        return Ok(merged.merged);
    }
    let text = lines::merge(base, ours, theirs)
        .map_err(|clash| format!("line {} and what is about it were changed by hand since", clash.line))?;
    Ok(Merged { text, done: changed(&base_parts, &ours_parts), left: Vec::new() })
}

/// Whether headings that both have stand in another order.
fn moved(base: &Parts<'_>, ours: &Parts<'_>) -> bool {
    let places = base.keys.iter().filter_map(|key| ours.find(key));
    let common: Vec<usize> = places.collect();
    common.windows(2).any(|pair| pair[0] > pair[1])
        || base
            .keys
            .iter()
            .enumerate()
            .any(|(index, key)| ours.find(key).is_some_and(|other| base.parent(index) != ours.parent(other)))
}

/// Returns the titles of the headings that differ.
fn changed(base: &Parts<'_>, ours: &Parts<'_>) -> Vec<String> {
    let in_base = (0..base.keys.len())
        .filter(|i| ours.find(base.key(*i)).is_none_or(|other| ours.own(other) != base.own(*i)))
        .map(|i| base.title(i));
    let in_ours = (0..ours.keys.len()).filter(|i| base.find(ours.key(*i)).is_none()).map(|i| ours.title(i));
    let mut titles: Vec<String> = in_base.chain(in_ours).collect();
    titles.dedup();
    titles
}

struct Heads<'a> {
    base: &'a Parts<'a>,
    ours: &'a Parts<'a>,
    theirs: &'a Parts<'a>,
    /// Where each heading of `base` stands in `theirs`.
    now: Vec<Option<usize>>,
}

/// A merge by heading, and what it did, so that it can be checked.
struct ByHeading {
    merged: Merged,
    removed: BTreeSet<String>,
    inserted: BTreeSet<String>,
}

impl<'a> Heads<'a> {
    /// Finds each heading again: by its `ID` or its path, and where a hand gave it another title or moved it, as memory
    /// finds it. What `ours` has is never taken for one that it has not.
    fn of(base: &'a Parts<'a>, ours: &'a Parts<'a>, theirs: &'a Parts<'a>) -> Heads<'a> {
        let mut now: Vec<Option<usize>> = base.keys.iter().map(|key| theirs.find(key)).collect();
        let known: BTreeSet<usize> = now.iter().flatten().copied().collect();
        let kin = followed(base.outline, theirs.outline);
        for (at, was) in
            kin.iter().enumerate().filter(|(at, _)| !known.contains(at) && ours.find(theirs.key(*at)).is_none())
        {
            if let Some(open) = was.and_then(|was| now.get_mut(was)).filter(|now| now.is_none()) {
                *open = Some(at);
            }
        }
        Heads { base, ours, theirs, now }
    }

    fn now(&self, index: usize) -> Option<usize> {
        self.now.get(index).copied().flatten()
    }

    /// Whether a heading of `base` hangs below the same one still.
    fn hangs_there(&self, index: usize, at: usize) -> bool {
        let above = |parts: &Parts<'_>, index: usize| parts.outline.nodes.get(index).map(|node| node.parent as usize);
        self.base.key(index) == self.theirs.key(at)
            || above(self.base, index).and_then(|above| self.now(above)) == above(self.theirs, at)
    }

    fn merge(&self) -> ByHeading {
        let (mut done, mut left) = (Vec::new(), Vec::new());
        let count = self.theirs.keys.len();
        let mut own: Vec<String> = (0..count).map(|index| self.theirs.own(index).to_string()).collect();
        self.modified(&mut own, &mut done, &mut left);
        let removed = self.removed(&mut done, &mut left);
        let (before, inserted) = self.inserted(&removed, &mut done, &mut left);
        let mut text = String::new();
        let mut put = |piece: &str| {
            // Nothing runs into the next heading.
            if !text.is_empty() && !text.ends_with('\n') && !piece.is_empty() {
                text.push('\n');
            }
            text.push_str(piece);
        };
        for (index, own) in own.iter().enumerate() {
            before.get(&index).into_iter().flatten().for_each(|block| put(block));
            if !removed.contains(self.theirs.key(index)) {
                put(own);
            }
        }
        before.get(&count).into_iter().flatten().for_each(|block| put(block));
        ByHeading { merged: Merged { text, done, left }, removed, inserted }
    }

    fn modified(&self, own: &mut [String], done: &mut Vec<String>, left: &mut Vec<String>) {
        for index in 0..self.base.keys.len() {
            let key = self.base.key(index);
            let Some(other) = self.ours.find(key) else { continue };
            let (base, ours) = (self.base.own(index), self.ours.own(other));
            // A heading that ends the file has lost the end of its last line to nobody.
            if base.trim_end_matches('\n') == ours.trim_end_matches('\n')
                && (base == ours || index + 1 == self.base.keys.len() || other + 1 == self.ours.keys.len())
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

    /// Returns the headings that go: what the change had added and nobody touched, with nothing else below it.
    fn removed(&self, done: &mut Vec<String>, left: &mut Vec<String>) -> BTreeSet<String> {
        let mut removed = BTreeSet::new();
        let gone = (0..self.base.keys.len()).filter(|index| self.ours.find(self.base.key(*index)).is_none());
        // What is below is decided first.
        for index in gone.collect::<Vec<_>>().into_iter().rev() {
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
            } else if below.any(|child| !removed.contains(self.theirs.key(child))) {
                left.push(format!("{title} has something below it that was put there since"));
            } else {
                removed.insert(self.theirs.key(at).to_string());
                done.push(title);
            }
        }
        removed
    }

    /// Returns the headings that come back, by the heading that they come before.
    fn inserted(
        &self,
        removed: &BTreeSet<String>,
        done: &mut Vec<String>,
        left: &mut Vec<String>,
    ) -> (HashMap<usize, Vec<String>>, BTreeSet<String>) {
        let (mut before, mut inserted) = (HashMap::<usize, Vec<String>>::new(), BTreeSet::new());
        for index in 1..self.ours.keys.len() {
            let key = self.ours.key(index);
            if self.base.find(key).is_some() {
                continue;
            }
            let title = self.ours.title(index);
            if let Some(at) = self.theirs.find(key) {
                if self.theirs.own(at) != self.ours.own(index) {
                    left.push(format!("{title} stands there again, otherwise"));
                }
                continue;
            }
            let stays = |at: &usize| !removed.contains(self.theirs.key(*at));
            let next = (index + 1..self.ours.keys.len())
                .filter_map(|next| self.base.find(self.ours.key(next)))
                .find_map(|next| self.now(next).filter(stays));
            let at = next.unwrap_or(self.theirs.keys.len());
            before.entry(at).or_default().push(self.ours.own(index).to_string());
            inserted.insert(key.to_string());
            done.push(title);
        }
        (before, inserted)
    }
}

/// Whether a merge by heading is what it was meant to be: nothing of theirs has gone, or hangs below another heading.
fn holds(made: &ByHeading, ours: &Parts<'_>, theirs: &Parts<'_>, options: &ScanOptions) -> bool {
    let Ok(outline) = scan(Arc::from(made.merged.text.as_str()), options) else { return false };
    let result = Parts::of(&outline);
    let stands = |parts: &Parts<'_>, index: usize| {
        result.find(parts.key(index)).is_some_and(|at| result.parent(at) == parts.parent(index))
    };
    let kept = (0..theirs.keys.len()).filter(|index| !made.removed.contains(theirs.key(*index)));
    let back = (0..ours.keys.len()).filter(|index| made.inserted.contains(ours.key(*index)));
    let expected = theirs.keys.len() - made.removed.len() + made.inserted.len();
    result.keys.len() == expected
        && kept.into_iter().all(|index| stands(theirs, index))
        && back.into_iter().all(|index| stands(ours, index))
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

    fn write(notes: &[(bool, u8)], hand: Option<usize>) -> String {
        written(notes, hand, None)
    }

    /// Writes notes; a hand added a line to one of them, and gave one another title.
    fn written(notes: &[(bool, u8)], hand: Option<usize>, called: Option<usize>) -> String {
        let one = |(index, (done, body)): (usize, &(bool, u8))| {
            let keyword = if *done { "DONE" } else { "TODO" };
            let hand = if hand == Some(index) { "by hand\n" } else { "" };
            let title = if called == Some(index) { "Mine".to_string() } else { format!("Note {index}") };
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
            called in proptest::option::of(0usize..8),
        ) {
            let (pre, post) = (write(&before, None), write(&after, None));
            let hand = hand.min(after.len() - 1);
            let called = called.map(|called| called.min(after.len() - 1));
            let now = written(&after, Some(hand), called);
            let merged = merge(&post, &pre, &now, &ScanOptions::default()).map(|merged| merged.text).unwrap_or(now);
            prop_assert!(merged.contains("by hand\n"), "{merged}");
            prop_assert_eq!(merged.matches("Mine\n").count(), usize::from(called.is_some()), "{}", merged);
        }

        #[test]
        fn without_a_hand_it_is_as_it_was(before in notes(), after in notes()) {
            let (pre, post) = (write(&before, None), write(&after, None));
            let merged = merge(&post, &pre, &post, &ScanOptions::default()).expect("it is merged");
            prop_assert_eq!(merged.text, pre);
            prop_assert_eq!(merged.left, Vec::<String>::new());
        }
    }
}
