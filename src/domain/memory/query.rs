//! Reads over a view: by tag, keyword, property, text, planning and time.
//!
//! Each walks the memory once, in the order of files and lines, and stops when the caller does.

use crate::domain::memory::view::{Document, NodeRef, View};
use crate::domain::org::outline::{Node, Outline};
use jiff::civil::Date;
use std::sync::Arc;

/// The three timestamps of a planning line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Planning {
    /// When work is to begin.
    Scheduled,
    /// When it is due.
    Deadline,
    /// When it was done.
    Closed,
}

/// Returns the nodes that have a tag, own or inherited, without regard to case.
pub fn tagged<'a>(view: &'a View, tag: &'a str) -> impl Iterator<Item = NodeRef> + 'a {
    let tag = tag.trim_matches(':').to_lowercase();
    view.documents().flat_map(move |document| {
        let outline = &document.outline;
        let has = |tags: &[Box<str>]| tags.iter().any(|own| own.to_lowercase() == tag);
        let mut tagged = Vec::with_capacity(outline.nodes.len());
        for (index, node) in outline.nodes.iter().enumerate() {
            let inherited = match index {
                0 => has(&outline.filetags),
                _ => tagged.get(node.parent as usize).copied().unwrap_or(false),
            };
            tagged.push(inherited || has(&node.tags));
        }
        refs(document, tagged.into_iter().enumerate().filter_map(|(index, tagged)| tagged.then_some(index)))
    })
}

/// Returns the nodes that have a keyword, such as `TODO`.
pub fn with_keyword<'a>(view: &'a View, keyword: &'a str) -> impl Iterator<Item = NodeRef> + 'a {
    matching(view, move |outline, node| outline.todo(node).is_some_and(|found| found.name.as_ref() == keyword))
}

/// Returns the nodes that are still to be done: those with a keyword that is not a done one.
pub fn open(view: &View) -> impl Iterator<Item = NodeRef> + '_ {
    matching(view, |outline, node| outline.todo(node).is_some_and(|found| !found.done))
}

/// Returns the nodes that have an own property, whatever its value or with exactly this one.
pub fn with_property<'a>(view: &'a View, key: &'a str, value: Option<&'a str>) -> impl Iterator<Item = NodeRef> + 'a {
    let key = key.to_uppercase();
    matching(view, move |outline, node| {
        outline.property(node, &key).is_some_and(|found| value.is_none_or(|wanted| wanted == found))
    })
}

/// Returns the nodes whose title or body holds a text, without regard to case.
pub fn containing<'a>(view: &'a View, text: &str) -> impl Iterator<Item = NodeRef> + 'a {
    let wanted = text.to_lowercase();
    matching(view, move |outline, node| {
        let holds = |range| outline.slice(range).to_lowercase().contains(&wanted);
        holds(&node.title) || holds(&node.body)
    })
}

/// Returns the nodes whose timestamp of one kind lies on one of the days from `first` to `last`, with its day.
///
/// The day is the one that is written; repeaters are not followed.
pub fn planned(view: &View, planning: Planning, first: Date, last: Date) -> impl Iterator<Item = (NodeRef, Date)> + '_ {
    let day = move |outline: &Outline, node: &Node| planned_day(outline, node, planning);
    matching(view, move |outline, node| day(outline, node).is_some_and(|day| first <= day && day <= last))
        .filter_map(move |found| day(&found.document.outline, found.node()).map(|day| (found, day)))
}

/// Returns the documents whose files were changed at a time or after it; unknown times do not count.
pub fn changed_since(view: &View, time: jiff::Timestamp) -> impl Iterator<Item = &Arc<Document>> {
    view.documents().filter(move |document| document.modified.is_some_and(|modified| modified >= time))
}

/// Returns the day of a node's planning, if it has one that can be read.
pub fn planned_day(outline: &Outline, node: &Node, planning: Planning) -> Option<Date> {
    let range = match planning {
        Planning::Scheduled => node.scheduled.as_ref(),
        Planning::Deadline => node.deadline.as_ref(),
        Planning::Closed => node.closed.as_ref(),
    };
    day_of(outline.slice(range?))
}

/// Returns the first day of a raw timestamp such as `<2026-11-21 Sat 10:00 +1w>`.
pub fn day_of(timestamp: &str) -> Option<Date> {
    let date = timestamp.trim_start_matches(['<', '[']).get(..10)?;
    let well_formed =
        date.bytes().enumerate().all(|(at, b)| if matches!(at, 4 | 7) { b == b'-' } else { b.is_ascii_digit() });
    well_formed.then(|| date.parse().ok()).flatten()
}

fn matching<'a>(view: &'a View, wanted: impl Fn(&Outline, &Node) -> bool + 'a) -> impl Iterator<Item = NodeRef> + 'a {
    let wanted = Arc::new(wanted);
    view.documents().flat_map(move |document| {
        let wanted = wanted.clone();
        let outline = &document.outline;
        let indices = outline.nodes.iter().enumerate().filter(move |(_, node)| wanted(outline, node));
        refs(document, indices.map(|(index, _)| index))
    })
}

fn refs<'a>(
    document: &'a Arc<Document>,
    indices: impl Iterator<Item = usize> + 'a,
) -> impl Iterator<Item = NodeRef> + 'a {
    indices.map(|index| NodeRef { document: document.clone(), index })
}
