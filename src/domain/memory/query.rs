//! Reads over a view: by tag, keyword, property, planning, links, time and text.
//!
//! Each answers lazily, from the structural index and the cards, in the order of files and lines unless it says
//! otherwise: whoever wants ten nodes pays for about ten. None reads a text.

use crate::domain::memory::card::{Card, minute_of};
pub use crate::domain::memory::card::{Planning, day_of};
use crate::domain::memory::index;
pub use crate::domain::memory::index::Key;
use crate::domain::memory::view::{Held, NodeRef, View};
use jiff::civil::Date;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// The files of so many days with something planned are merged; for more days, all files with anything planned are
/// gone through, of which most will do then.
const MERGED_DAYS: usize = 400;

/// Returns how many nodes hold a key. The index knows; no file or card is looked at.
pub fn count(view: &View, key: &Key<'_>) -> usize {
    view.index().count(key)
}

/// Returns how many nodes have a timestamp of one kind on one of the days from `first` to `last`.
pub fn count_planned(view: &View, planning: Planning, first: Date, last: Date) -> usize {
    view.index().count_days(planning, first, last)
}

/// Returns the nodes that have a tag, own or inherited, without regard to case.
pub fn tagged<'a>(view: &'a View, tag: &str) -> impl Iterator<Item = NodeRef> + use<'a> {
    let tag = tag.trim_matches(':').to_lowercase();
    let files = view.index().files(&Key::Tag(&tag));
    let held = files.filter_map(|entry| view.held(&entry.file));
    held.flat_map(move |held| nodes(view, held, tagged_nodes(&held.card, &tag)))
}

/// Returns the nodes of a file that have a tag in lower case, own or inherited, in order.
fn tagged_nodes(card: &Card, tag: &str) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    let mut index = 0;
    while index < card.len() {
        let here = card.tags(index).any(|own| own.eq_ignore_ascii_case(tag) || own.to_lowercase() == tag);
        let after = if here { card.after(index) } else { index + 1 };
        found.extend((index..after).filter(|_| here));
        index = after;
    }
    found
}

/// Returns the nodes that have a keyword, such as `TODO`.
pub fn with_keyword<'a>(view: &'a View, keyword: &'a str) -> impl Iterator<Item = NodeRef> + 'a {
    matching(view, &Key::Keyword(keyword), move |card, index| {
        card.keyword(index).is_some_and(|found| found.name == keyword)
    })
}

/// Returns the nodes that are still to be done: those with a keyword that is not a done one.
pub fn open(view: &View) -> impl Iterator<Item = NodeRef> + '_ {
    matching(view, &Key::Open, |card, index| card.keyword(index).is_some_and(|found| !found.done))
}

/// Returns the nodes with a keyword that means that nothing is left to do.
pub fn done(view: &View) -> impl Iterator<Item = NodeRef> + '_ {
    matching(view, &Key::Done, |card, index| card.keyword(index).is_some_and(|found| found.done))
}

/// Returns the nodes that have an own property, whatever its value or with exactly this one.
pub fn with_property<'a>(view: &'a View, key: &str, value: Option<&'a str>) -> impl Iterator<Item = NodeRef> + use<'a> {
    let name = key.to_uppercase();
    let key = match value {
        // An id is no value, but it is a property.
        Some(value) if name != "ID" => Key::Value(&name, value),
        Some(_) | None => Key::Property(&name),
    };
    let files = view.index().files(&key);
    let name = name.clone();
    files.filter_map(|entry| view.held(&entry.file)).flat_map(move |held| {
        let card = &held.card;
        let has = |index: &usize| {
            card.property(*index, &name).is_some_and(|found| value.is_none_or(|wanted| wanted == found))
        };
        nodes(view, held, (0..card.len()).filter(has).collect())
    })
}

/// Returns the nodes that have a property themselves, and all below them; all of a file whose lines give it to all.
pub fn below_property<'a>(view: &'a View, key: &str) -> impl Iterator<Item = NodeRef> + use<'a> {
    let name = key.to_uppercase();
    files_with(view, &name).filter_map(|file| view.held(file)).flat_map(move |held| {
        let card = &held.card;
        let all = card.file_property(&name).is_some();
        let (mut found, mut index) = (Vec::new(), 0);
        while index < card.len() {
            let here = all || card.property(index, &name).is_some();
            let after = if here { card.after(index) } else { index + 1 };
            found.extend((index..after).filter(|_| here));
            index = after;
        }
        nodes(view, held, found)
    })
}

/// Returns how many nodes [`below_property`] gives at most: all of the files that hold the property.
pub fn count_below_property(view: &View, key: &str) -> usize {
    files_with(view, key).filter_map(|file| view.card(file)).map(|card| card.len()).sum()
}

/// Returns the files of which a node, or all of them, may have a property, in order, each once.
pub fn files_with<'a>(view: &'a View, key: &str) -> impl Iterator<Item = &'a Arc<str>> + use<'a> {
    let mut own = view.index().files(&Key::Property(key)).map(|entry| &entry.file).peekable();
    let mut whole = view.index().files(&Key::FileProperty(key)).map(|entry| &entry.file).peekable();
    std::iter::from_fn(move || {
        let order = match (own.peek(), whole.peek()) {
            (Some(own), Some(whole)) => own.cmp(whole),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        let first = if order.is_le() { own.next() } else { None };
        let second = if order.is_ge() { whole.next() } else { None };
        first.or(second)
    })
}

/// Returns the files in which a setup file has a say, in order.
pub fn shaped_by<'a>(view: &'a View, path: &str) -> impl Iterator<Item = &'a Arc<str>> + use<'a> {
    let files = view.index().files(&Key::Setup(path)).map(|entry| &entry.file);
    let path = path.to_owned();
    files.filter(move |file| view.card(file).is_some_and(|card| card.setups().any(|(known, _)| known == path)))
}

/// Returns the nodes that link to an id.
pub fn linking<'a>(view: &'a View, target: &'a str) -> impl Iterator<Item = NodeRef> + 'a {
    let held = view.index().files(&Key::Link(target)).filter_map(|entry| view.held(&entry.file));
    held.flat_map(move |held| nodes(view, held, held.card.links_to(target).collect()))
}

/// Returns the nodes whose timestamp of one kind lies on one of the days from `first` to `last`, with its day.
///
/// The day is the one that is written; repeaters are not followed.
pub fn planned(view: &View, planning: Planning, first: Date, last: Date) -> impl Iterator<Item = (NodeRef, Date)> + '_ {
    let merged = view.index().planned_files(planning, first, last, MERGED_DAYS);
    let every = if merged.is_none() { Some(view.index().files(&Key::Planned(planning))) } else { None };
    let files = merged.into_iter().flatten().chain(every.into_iter().flatten().map(|entry| &entry.file));
    let files = files.filter(|file| view.sight().touches(file)).filter_map(|file| view.held(file));
    files.flat_map(move |held| {
        let card = &held.card;
        let day = |index: usize| card.planned_day(index, planning).filter(|day| first <= *day && *day <= last);
        let seen = (0..card.len()).filter(|index| view.looks_at(card, *index));
        let found: Vec<(usize, Date)> = seen.filter_map(|index| Some((index, day(index)?))).collect();
        found.into_iter().filter_map(|(index, day)| Some((NodeRef::of(held, index)?, day)))
    })
}

/// A day, a minute of it where there is one, and the index of a node that is planned then.
type PlannedAt = (Date, Option<u16>, usize);

/// Returns the same nodes by their day and time, on each day those without a time last, and otherwise in the order of
/// files and lines.
pub fn planned_by_day(
    view: &View,
    planning: Planning,
    first: Date,
    last: Date,
) -> impl Iterator<Item = (NodeRef, Date)> + '_ {
    let mut timed = view.index().timed(planning, first, last).peekable();
    let mut days = view.index().days(planning, first, last).filter_map(|entry| Some((entry.day()?, entry))).peekable();
    // On a day that has times its files stand among the days, too.
    let entries = std::iter::from_fn(move || {
        let day = days.peek().map(|(day, _)| *day);
        let at_a_time = |entry: &&index::Entry| entry.day_and_minute().is_some_and(|(on, _)| Some(on) == day);
        match timed.next_if(at_a_time) {
            Some(entry) => entry.day_and_minute().map(|(day, minute)| (day, Some(minute), entry)),
            None => days.next().map(|(day, entry)| (day, None, entry)),
        }
    });
    // A file may have another day for each of its headings: it is gone through twice at most, not once a day. Who wants
    // the first few mostly sees no file a second time. A file has one card in a view, wherever that lies.
    let mut planned: HashMap<*const Card, Option<Vec<PlannedAt>>> = HashMap::new();
    entries.filter_map(|(day, minute, entry)| Some((day, minute, view.held(&entry.file)?))).flat_map(
        move |(day, minute, held)| {
            let card = &held.card;
            let minute_of = |index: usize| card.planning(index, planning).and_then(minute_of);
            let on_it = match planned.entry(Arc::as_ptr(card)) {
                Entry::Vacant(first) => {
                    first.insert(None);
                    card.planned_on(planning, day).filter(|index| minute_of(*index) == minute).collect()
                }
                Entry::Occupied(again) => {
                    let of_card = again.into_mut().get_or_insert_with(|| {
                        let day =
                            |index: usize| card.planned_day(index, planning).map(|day| (day, minute_of(index), index));
                        let mut all: Vec<_> = (0..card.len()).filter_map(day).collect();
                        all.sort_unstable();
                        all
                    });
                    let begin = of_card.partition_point(|(on, at, _)| (*on, *at) < (day, minute));
                    let rest = of_card.get(begin..).unwrap_or_default();
                    let same = rest.iter().take_while(|(on, at, _)| (*on, *at) == (day, minute));
                    same.map(|(_, _, index)| *index).collect()
                }
            };
            nodes(view, held, on_it).map(move |node| (node, day))
        },
    )
}

/// Returns the cards of files that were changed between two moments, both included, the latest first.
pub fn changed_between(view: &View, from: jiff::Timestamp, to: jiff::Timestamp) -> impl Iterator<Item = &Arc<Card>> {
    let found = view.index().changed(from, to).filter_map(|entry| view.card(&entry.file));
    let found = found.filter(|card| view.sight().touches(&card.file));
    found.filter(move |card| card.modified().is_some_and(|modified| from <= modified && modified <= to))
}

/// Returns the nodes of the files that may hold a key, and for which `holds` says so.
fn matching<'a, F: Fn(&Card, usize) -> bool + 'a>(
    view: &'a View,
    key: &Key<'_>,
    holds: F,
) -> impl Iterator<Item = NodeRef> + use<'a, F> {
    let held = view.index().files(key).filter_map(|entry| view.held(&entry.file));
    held.flat_map(move |held| {
        let card = &held.card;
        nodes(view, held, (0..card.len()).filter(|index| holds(card, *index)).collect())
    })
}

/// Returns those of some nodes of a file that the view's reader looks at.
fn nodes<'a>(view: &'a View, held: &'a Arc<Held>, indices: Vec<usize>) -> impl Iterator<Item = NodeRef> + 'a {
    let indices = indices.into_iter().filter(|index| view.looks_at(&held.card, *index));
    indices.filter_map(|index| NodeRef::of(held, index))
}
