//! What a query reads of nodes and views: the one place that knows how memory is laid out.

use crate::domain::label::Privacy;
use crate::domain::memory::card::Card;
use crate::domain::memory::query::{self, Planning};
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::org::property::Inheritance;
use crate::domain::org::title::without_cookies;
use crate::domain::query::snippet::{one_line, without_links};
use jiff::civil::Date;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

/// Nodes in the order of files and lines.
pub type Nodes<'a> = Box<dyn Iterator<Item = NodeRef> + 'a>;

pub fn file(node: &NodeRef) -> &Arc<str> {
    node.file()
}

pub fn line(node: &NodeRef) -> u32 {
    node.line()
}

pub fn begin(node: &NodeRef) -> u32 {
    node.begin()
}

pub fn level(node: &NodeRef) -> u16 {
    node.level()
}

/// Returns a node's keyword, and whether it is a done one.
pub fn keyword(node: &NodeRef) -> Option<(&str, bool)> {
    node.keyword().map(|keyword| (keyword.name, keyword.done))
}

/// Returns the place of a node's keyword among those of its file.
pub fn keyword_order(node: &NodeRef) -> Option<usize> {
    let own = node.keyword()?;
    node.card().keywords().position(|known| known.name == own.name)
}

pub fn priority(node: &NodeRef) -> Option<char> {
    node.priority()
}

pub fn commented(node: &NodeRef) -> bool {
    node.commented()
}

pub fn own_tags(node: &NodeRef) -> Vec<&str> {
    node.tags().collect()
}

pub fn all_tags(node: &NodeRef) -> Vec<&str> {
    node.all_tags()
}

/// Returns whether a node has a tag, own or inherited, in any case. The tag comes in lower case.
pub fn has_tag(node: &NodeRef, tag: &str) -> bool {
    let mut at = Some(node.index);
    while let Some(index) = at {
        if node.card().tags(index).any(|known| same(known, tag)) {
            return true;
        }
        at = node.card().parent(index);
    }
    false
}

pub fn has_own_tag(node: &NodeRef, tag: &str) -> bool {
    node.tags().any(|known| same(known, tag))
}

/// Returns whether a text is another one that is in lower case, without regard to case.
pub fn same(text: &str, lower: &str) -> bool {
    match text.is_ascii() {
        true => text.eq_ignore_ascii_case(lower),
        false => text.to_lowercase() == lower,
    }
}

/// Returns what a title is called: without statistics cookies, and with links as their words.
pub fn called(title: &str) -> Cow<'_, str> {
    match title.contains('[') {
        true => Cow::Owned(one_line(&without_links(&without_cookies(title)))),
        false => Cow::Borrowed(title),
    }
}

/// Returns whether a node is called so, or its title is just so, without regard to case. The name is in lower case.
pub fn is_called(title: &str, lower: &str) -> bool {
    same(title, lower) || (title.contains('[') && same(&called(title), lower))
}

/// Returns whether a text holds another one that is in lower case, without regard to case.
pub fn holds(text: &str, lower: &str) -> bool {
    let Some(first) = lower.bytes().next() else { return true };
    if !text.is_ascii() {
        return text.to_lowercase().contains(lower);
    }
    let text = text.as_bytes();
    let begins = memchr::memchr2_iter(first, first.to_ascii_uppercase(), text);
    begins.filter_map(|at| text.get(at..at + lower.len())).any(|part| part.eq_ignore_ascii_case(lower.as_bytes()))
}

pub fn property<'a>(node: &'a NodeRef, key: &str) -> Option<&'a str> {
    node.property(key)
}

/// Returns what holds of a property at a node, with what `KEY+` adds, inherited where the user's setting says so.
pub fn effective_value<'a>(node: &'a NodeRef, key: &str, inheritance: &Inheritance) -> Option<Cow<'a, str>> {
    node.card().effective_value(node.index, key, inheritance)
}

/// Returns whether a node's own section links to an id.
pub fn has_links(node: &NodeRef) -> bool {
    node.card().has_links(node.index)
}

/// Returns keys and values of a node's own drawer.
pub fn properties(node: &NodeRef) -> Vec<(&str, &str)> {
    node.properties().collect()
}

/// Returns the text of one of a node's planning timestamps.
pub fn planning(node: &NodeRef, kind: Planning) -> Option<&str> {
    node.planning(kind)
}

pub fn modified(node: &NodeRef) -> Option<jiff::Timestamp> {
    node.modified()
}

/// Returns the index of the first node behind a node's subtree.
pub fn after(node: &NodeRef) -> usize {
    node.after()
}

/// Returns the titles above a node, outermost first, the file's left out.
pub fn path(node: &NodeRef) -> Vec<String> {
    let mut titles = Vec::new();
    let mut at = node.card().parent(node.index);
    while let Some(index) = at.filter(|index| *index > 0) {
        titles.push(node.card().title(index).to_string());
        at = node.card().parent(index);
    }
    titles.reverse();
    titles
}

/// Returns the ids that a node's own section links to.
pub fn links(node: &NodeRef) -> Vec<String> {
    node.links().map(str::to_string).collect()
}

/// Returns a node by its file and index.
pub fn node(view: &View, file: &str, index: usize) -> Option<NodeRef> {
    view.node(file, index)
}

/// Returns what a node says besides its title and body: values of properties, planning, a file's name.
pub fn details(node: &NodeRef) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    if node.index == 0 {
        found.push(base_name(node).trim_end_matches(".org").to_string());
    }
    found.extend(node.properties().filter(|(key, _)| *key != "ID").map(|(_, value)| value.to_string()));
    let kinds = [Planning::Scheduled, Planning::Deadline, Planning::Closed];
    found.extend(kinds.iter().filter_map(|kind| planning(node, *kind)).map(str::to_string));
    found
}

fn base_name(node: &NodeRef) -> &str {
    node.file().rsplit('/').next().unwrap_or("")
}

/// Returns the title as it is indexed: that of a file without `#+TITLE` is none.
pub fn indexed_title(node: &NodeRef) -> &str {
    let title = node.title();
    if node.index == 0 && title == base_name(node) { "" } else { title }
}

/// Orders nodes by file and line.
pub fn order(a: &NodeRef, b: &NodeRef) -> Ordering {
    (file(a).as_ref(), a.index).cmp(&(file(b).as_ref(), b.index))
}

/// Returns whether two references mean the same node.
pub fn same_node(a: &NodeRef, b: &NodeRef) -> bool {
    order(a, b).is_eq()
}

/// What an index of memory can find without looking at every node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// A tag, own or inherited, in lower case.
    Tag(String),
    /// A keyword.
    Keyword(String),
    /// Any keyword that leaves something to do.
    Open,
    /// Any keyword that leaves nothing to do.
    Done,
    /// A property, in upper case.
    Property(String),
    /// A property, in upper case, of a node or of one above it.
    Inherited(String),
    /// A day of planning, from and to.
    Planned(Planning, Date, Date),
}

/// Returns the nodes that an index holds under a key.
pub fn holding<'a>(view: &'a View, key: &'a Key) -> Nodes<'a> {
    match key {
        Key::Tag(tag) => Box::new(query::tagged(view, tag)),
        Key::Keyword(name) => Box::new(query::with_keyword(view, name)),
        Key::Open => Box::new(query::open(view)),
        Key::Done => Box::new(query::done(view)),
        Key::Property(key) => Box::new(query::with_property(view, key, None)),
        Key::Inherited(key) => Box::new(query::below_property(view, key)),
        Key::Planned(kind, first, last) => Box::new(query::planned(view, *kind, *first, *last).map(|(node, _)| node)),
    }
}

/// Returns how many nodes an index holds under a key.
pub fn count(view: &View, key: &Key) -> usize {
    match key {
        Key::Tag(tag) => query::count(view, &query::Key::Tag(tag)),
        Key::Keyword(name) => query::count(view, &query::Key::Keyword(name)),
        Key::Open => query::count(view, &query::Key::Open),
        Key::Done => query::count(view, &query::Key::Done),
        Key::Property(key) => query::count(view, &query::Key::Property(key)),
        Key::Inherited(key) => query::count_below_property(view, key),
        Key::Planned(kind, first, last) => query::count_planned(view, *kind, *first, *last),
    }
}

/// Returns the nodes with a kind of planning by day, within a day by time, those without one last, and then by file and
/// line.
pub fn by_day(view: &View, kind: Planning, first: Date, last: Date) -> impl Iterator<Item = (NodeRef, Date)> + '_ {
    query::planned_by_day(view, kind, first, last)
}

/// Returns every node.
pub fn every<'a>(view: &'a View) -> Nodes<'a> {
    Box::new(view.nodes())
}

/// Returns the nodes that are wanted, by their card and their place there. Others cost little.
pub fn wanted<'a>(view: &'a View, wanted: impl Fn(&Card, usize) -> bool + 'a) -> Nodes<'a> {
    Box::new(view.cards().flat_map(move |card| {
        let found: Vec<usize> = (0..card.len()).filter(|index| wanted(card, *index)).collect();
        let seen = found.into_iter().filter(|index| view.sight().holds(&card.file, *index));
        seen.filter_map(|index| view.node(&card.file, index))
    }))
}

/// Returns the nodes of the files that are wanted.
pub fn of_files<'a>(view: &'a View, wanted: impl Fn(&str, Option<jiff::Timestamp>) -> bool + 'a) -> Nodes<'a> {
    let files = view.cards().filter(move |card| wanted(&card.file, card.modified()));
    let first = files.filter_map(|card| view.node(&card.file, 0));
    Box::new(first.flat_map(|first| (0..first.card().len()).filter_map(move |index| first.at(index))))
}

/// Returns whether who asks may see a node at all.
pub fn admitted(node: &NodeRef, clearance: Privacy) -> bool {
    node.privacy() <= clearance
}
