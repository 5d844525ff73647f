//! What there is in memory: how much of what, what stands alone, what is oldest and largest, what changed since a day.
//!
//! It goes by cards and the structural index: no text is read. What is stricter than the clearance is not looked at.

use crate::domain::count::counted;
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::card::Card;
use crate::domain::memory::query::linking;
use crate::domain::memory::sight::Sight;
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::query::date::{Lean, Moment, When, moment};
use crate::domain::recall::changed::dated;
use jiff::Timestamp;
use jiff::civil::DateTime;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many headings of one changed file are named.
const OF_A_FILE: usize = 5;

/// What somebody may see of a view.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    /// The memory.
    pub view: &'a View,
    /// The strictest label that may be seen.
    pub clearance: Privacy,
}

/// How much there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files of which anything may be seen.
    pub files: usize,
    /// Headings.
    pub headings: usize,
    /// Bytes of what may be seen, headlines and drawers counted.
    pub bytes: u64,
    /// Headings with an `ID`.
    pub with_id: usize,
    /// Headings that are open to all, by their keyword, and whether that means that nothing is left to do: a file makes
    /// its own keywords.
    pub keywords: BTreeMap<String, (usize, bool)>,
    /// Headings and files that are open to all, by a tag of their own: a tag is a word of the note.
    pub tags: BTreeMap<String, usize>,
    /// Whether something was not looked at, because who asks may not see it.
    pub hidden: bool,
}

/// Some nodes, each with what is said of it, and how many there are of the kind.
#[derive(Clone, Default)]
pub struct Listed {
    /// The first of them.
    pub nodes: Vec<(NodeRef, String)>,
    /// How many there are.
    pub total: usize,
}

impl<'a> Seen<'a> {
    /// Returns the cards of which anything is looked at and may be seen, each with the places that may be.
    pub(super) fn cards(self) -> impl Iterator<Item = (&'a Arc<Card>, Vec<usize>)> {
        let sight = self.view.sight();
        self.view.cards().filter_map(move |card| {
            let may = |index: &usize| card.privacy(*index) <= self.clearance && sight.holds(&card.file, *index);
            let places: Vec<usize> = (0..card.len()).filter(may).collect();
            (!places.is_empty()).then_some((card, places))
        })
    }

    /// Counts what there is.
    pub fn counts(self) -> Counts {
        let mut counts = Counts { hidden: self.hides(), ..Counts::default() };
        for (card, places) in self.cards() {
            counts.files += 1;
            for index in places {
                counts.bytes += bytes(card, index);
                let open = card.privacy(index) == Privacy::Open;
                if open {
                    card.tags(index).for_each(|tag| *counts.tags.entry(tag.to_string()).or_default() += 1);
                }
                if index == 0 {
                    continue;
                }
                counts.headings += 1;
                counts.with_id += usize::from(card.own_id(index).is_some());
                if let Some(keyword) = card.keyword(index).filter(|_| open) {
                    counts.keywords.entry(keyword.name.to_string()).or_insert((0, keyword.done)).0 += 1;
                }
            }
        }
        counts
    }

    /// Returns whether something that is looked at may not be seen.
    pub fn hides(self) -> bool {
        let sight = self.view.sight();
        let kept = |card: &Arc<Card>, index| card.privacy(index) > self.clearance && sight.holds(&card.file, index);
        self.clearance < Privacy::Private
            && self
                .view
                .cards()
                .any(|card| card.strictest() > self.clearance && (0..card.len()).any(|index| kept(card, index)))
    }

    /// Returns the headings with an `ID` that link to no other, and to which none links that may be seen.
    pub fn orphans(self, most: usize) -> Listed {
        let mut listed = Listed::default();
        // What links from beyond the focus links all the same.
        let all = self.view.narrowed(Sight::default());
        for (card, places) in self.cards() {
            let mut leads = vec![false; card.len()];
            for (target, index) in card.links() {
                if let Some(leads) = leads.get_mut(index).filter(|_| card.own_id(index) != Some(target)) {
                    *leads = true;
                }
            }
            for index in places.into_iter().filter(|index| *index > 0 && leads.get(*index) == Some(&false)) {
                if card.own_id(index).is_none() || self.is_linked(&all, &card.id(index)) {
                    continue;
                }
                listed.add(most, || Some((self.view.node(&card.file, index)?, String::new())));
            }
        }
        listed
    }

    /// Returns whether a note that may be seen links to a heading; a link to itself is none.
    fn is_linked(self, all: &View, id: &NodeId) -> bool {
        linking(all, id.as_str()).any(|node| node.privacy() <= self.clearance && node.id() != id)
    }

    /// Returns the files that were not changed for longest, with the day of their last change.
    pub fn oldest(self, most: usize, local: &dyn Fn(Timestamp) -> DateTime) -> Listed {
        let mut files = self.files();
        files.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.file().cmp(b.1.file())));
        Listed::of(files, most, |at| format!("last changed on {}", local(*at).date()))
    }

    /// Returns the headings with a text of at least so many bytes, those of the files first that were changed last.
    pub fn latest(self, most: usize, least: usize) -> Vec<NodeRef> {
        let mut cards: Vec<(&Arc<Card>, Vec<usize>)> = self.cards().filter(|(card, _)| card.is_notes()).collect();
        cards.sort_by(|(a, _), (b, _)| b.modified().cmp(&a.modified()).then_with(|| a.file.cmp(&b.file)));
        let places = cards.into_iter().flat_map(|(card, places)| places.into_iter().map(move |index| (card, index)));
        let nodes = places.filter_map(|(card, index)| self.view.node(&card.file, index));
        nodes.filter(|node| node.index > 0 && node.body_len() >= least).take(most).collect()
    }

    /// Returns the files with the time of their last change, where that is known.
    fn files(self) -> Vec<(Timestamp, NodeRef)> {
        let whole = self.cards().filter(|(_, places)| places.first() == Some(&0));
        whole.filter_map(|(card, _)| Some((card.modified()?, self.view.node(&card.file, 0)?))).collect()
    }

    /// Returns the headings with the longest texts of their own, with their size.
    pub fn largest(self, most: usize) -> Listed {
        let mut nodes: Vec<(u64, &Arc<Card>, usize)> = Vec::new();
        for (card, places) in self.cards() {
            nodes.extend(places.into_iter().filter(|index| *index > 0).map(|index| (bytes(card, index), card, index)));
        }
        nodes.sort_by_key(|(size, card, index)| (Reverse(*size), card.file.clone(), *index));
        let total = nodes.len();
        let shown = nodes.into_iter().take(most);
        let shown = shown.filter_map(|(size, card, index)| {
            Some((self.view.node(&card.file, index)?, counted(usize::try_from(size).unwrap_or(usize::MAX), "byte")))
        });
        Listed { nodes: shown.collect(), total }
    }

    /// Returns the files that changed since a moment, the latest first, each followed by those of its headings that carry
    /// a date since then. The texts of these files are read.
    pub fn changed(
        self,
        most: usize,
        (since, now): (DateTime, DateTime),
        local: &dyn Fn(Timestamp) -> DateTime,
    ) -> Listed {
        let mut files = self.files();
        files.retain(|(at, _)| local(*at) >= since);
        files.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.file().cmp(b.1.file())));
        let mut listed = Listed { total: files.len(), ..Listed::default() };
        for (at, file) in files.into_iter().take(most) {
            let at = local(at);
            let sight = self.view.sight();
            let seen = |node: &NodeRef| node.privacy() <= self.clearance && sight.holds(node.file(), node.index);
            let headings: Vec<(DateTime, NodeRef)> =
                dated(&file, since, now).into_iter().filter(|(_, node)| seen(node)).collect();
            listed.nodes.push((file, format!("changed on {}", at.strftime("%Y-%m-%d %H:%M"))));
            let headings = headings.into_iter().take(OF_A_FILE);
            listed.nodes.extend(headings.map(|(at, node)| (node, format!("dated {}", at.date()))));
        }
        listed
    }
}

impl Listed {
    /// Counts one more, and keeps it while there is room.
    pub(super) fn add(&mut self, most: usize, node: impl FnOnce() -> Option<(NodeRef, String)>) {
        self.total += 1;
        if self.nodes.len() < most {
            self.nodes.extend(node());
        }
    }

    fn of<T>(all: Vec<(T, NodeRef)>, most: usize, said: impl Fn(&T) -> String) -> Listed {
        let total = all.len();
        Listed { nodes: all.into_iter().take(most).map(|(of, node)| (node, said(&of))).collect(), total }
    }
}

/// Returns the bytes from a headline to the next one.
fn bytes(card: &Card, index: usize) -> u64 {
    let next = if index + 1 < card.len() { card.begin(index + 1) } else { card.end(0) };
    u64::from(next.saturating_sub(card.begin(index)))
}

/// Reads since when something is asked, as queries do (`tuesday`, `2026-11-20`, `-3d`), also as people write it: `last
/// week`, `last tuesday`. Returns the first moment of it.
///
/// # Errors
/// What can be written.
pub fn since(text: &str, now: DateTime) -> Result<DateTime, String> {
    let text = text.trim().trim_end_matches(['?', '.', '!']).to_lowercase();
    let last = text.strip_prefix("last ").or_else(|| text.strip_prefix("last-")).map(str::trim);
    let weekday = last.and_then(moment).filter(|moment| matches!(moment, Moment::Weekday(_)));
    let read = moment(&text).or(weekday).or_else(|| moment(&text.split_whitespace().collect::<Vec<_>>().join("-")));
    let window = read.and_then(|moment| When::Range(Some(moment), None).window(now, Lean::Back));
    // The last one of a day that it is today is that of the week before.
    let before = |from: DateTime| match weekday.is_some() && from.date() == now.date() {
        true => from.checked_sub(jiff::Span::new().days(7)).ok(),
        false => Some(from),
    };
    window.and_then(|window| window.from).and_then(before).filter(|from| *from <= now).ok_or_else(|| {
        format!("“{text}” is no day that is over; write 2026-11-20, 2026-11, yesterday, tuesday, last-week or -3d")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn since_when_is_read_as_people_write_it() {
        // A Sunday.
        let now = date(2026, 11, 22).at(9, 30, 0, 0);
        for (text, expected) in [
            ("tuesday", Ok((2026, 11, 17))),
            ("Last Tuesday?", Ok((2026, 11, 17))),
            ("sunday", Ok((2026, 11, 22))),
            ("last sunday", Ok((2026, 11, 15))),
            ("last-sunday", Ok((2026, 11, 15))),
            ("last week", Ok((2026, 11, 9))),
            ("last-week", Ok((2026, 11, 9))),
            ("-3d", Ok((2026, 11, 19))),
            ("2026-11", Ok((2026, 11, 1))),
            ("2026-11-20.", Ok((2026, 11, 20))),
            ("tomorrow", Err(())),
            ("2027", Err(())),
            ("the flood", Err(())),
            ("last", Err(())),
            ("", Err(())),
        ] {
            let found = since(text, now);
            let day = |(year, month, day)| date(year, month, day).at(0, 0, 0, 0);
            match expected {
                Ok(of) => assert_eq!(found, Ok(day(of)), "{text}"),
                Err(()) => assert!(found.is_err_and(|why| why.contains("is no day that is over; write")), "{text}"),
            }
        }
    }
}
