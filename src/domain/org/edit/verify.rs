//! Reading the result of an edit again and comparing it with what was meant.

use super::section::head;
use super::{EditError, Plan, apply};
use crate::domain::org::outline::{Node, Outline};
use crate::domain::org::scan::{ScanOptions, scan};
use std::borrow::Cow;
use std::sync::Arc;

/// All that Org knows of a node, apart from where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub level: u16,
    pub title: Cow<'a, str>,
    pub todo: Option<String>,
    pub priority: Option<char>,
    pub tags: Vec<String>,
    pub commented: bool,
    pub properties: Vec<(String, String)>,
    pub scheduled: Option<String>,
    pub deadline: Option<String>,
    pub closed: Option<String>,
    /// Without white space at its end.
    pub body: Cow<'a, str>,
}

/// Returns the records of an outline's nodes, in order.
pub(super) fn records(outline: &Outline) -> Vec<Record<'_>> {
    outline.nodes.iter().map(|node| record(outline, node)).collect()
}

fn record<'a>(outline: &'a Outline, node: &Node) -> Record<'a> {
    let stamp = |range: &Option<std::ops::Range<u32>>| range.as_ref().map(|range| outline.slice(range).to_owned());
    Record {
        level: node.level,
        title: Cow::Borrowed(outline.slice(&node.title)),
        todo: outline.todo(node).map(|keyword| keyword.name.to_string()),
        priority: node.priority,
        tags: node.tags.iter().map(|tag| tag.to_string()).collect(),
        commented: node.commented,
        properties: node.properties.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect(),
        scheduled: stamp(&node.scheduled),
        deadline: stamp(&node.deadline),
        closed: stamp(&node.closed),
        body: body_of(outline, node),
    }
}

/// Returns a node's body as it is compared; a file's begins with the comments above its drawer.
fn body_of<'a>(outline: &'a Outline, node: &Node) -> Cow<'a, str> {
    let own = outline.slice(&node.body);
    let above = above_drawer(outline, node);
    if above.is_empty() { Cow::Borrowed(body(own)) } else { Cow::Owned(body(&format!("{above}{own}")).to_owned()) }
}

/// Returns what stands above the drawer of a file: comments.
pub(super) fn above_drawer<'a>(outline: &'a Outline, node: &Node) -> &'a str {
    let drawer = (node.level == 0 && node.body.start > 0).then(|| head(outline, node).drawer).flatten();
    drawer.and_then(|drawer| outline.text.get(..drawer.whole.start)).unwrap_or_default()
}

/// Returns a body as it is compared: without white space at its end.
pub(super) fn body(text: &str) -> &str {
    text.trim_end_matches([' ', '\t', '\n', '\r', '\u{c}'])
}

/// Refuses a plan whose result is not exactly the outline that was meant.
pub(super) fn verify(old: &Outline, plan: &Plan<'_>, options: &ScanOptions) -> Result<(), EditError> {
    let text: Arc<str> = apply(&old.text, &plan.splices).into();
    let new = scan(text, options)?;
    if new.keywords != old.keywords || new.sequences != old.sequences {
        return Err(misread("a line would change the keywords of the whole file"));
    }
    if new.filetags != old.filetags || new.startup != old.startup || new.title != old.title {
        return Err(misread("a line would change the tags, the title or the options of the whole file"));
    }
    same_nodes(&new, &plan.expected)
}

/// Refuses an outline whose nodes are not exactly those that were meant.
pub(super) fn same_nodes(new: &Outline, expected: &[Record<'_>]) -> Result<(), EditError> {
    let found = records(new);
    for (index, wanted) in expected.iter().enumerate() {
        match found.get(index) {
            None => return Err(misread(&format!("the heading {:?} would be gone", wanted.title))),
            Some(got) => compare(wanted, got)?,
        }
    }
    match found.get(expected.len()) {
        Some(extra) => Err(misread(&format!("{:?} would become a heading of its own", extra.title))),
        None => Ok(()),
    }
}

fn compare(wanted: &Record<'_>, got: &Record<'_>) -> Result<(), EditError> {
    if wanted == got {
        return Ok(());
    }
    let at = if wanted.level == 0 { "the file".to_owned() } else { format!("{:?}", wanted.title) };
    if got.level != wanted.level {
        return Err(misread(&format!("in {at}: {:?} would become a heading of level {}", got.title, got.level)));
    }
    if got.todo != wanted.todo {
        return Err(misread(&format!("the keyword of {at} would be {}", said(got.todo.as_deref()))));
    }
    if got.commented != wanted.commented {
        return Err(misread(&format!("the word COMMENT at the start of {at} has a meaning of its own")));
    }
    if got.priority != wanted.priority {
        return Err(misread(&format!("the priority of {at} would be {:?}", got.priority)));
    }
    if got.tags != wanted.tags {
        return Err(misread(&format!("the tags of {at} would be {:?}", got.tags)));
    }
    if got.title != wanted.title {
        return Err(misread(&format!("the title {at} would be {:?}", got.title)));
    }
    let stamps = [
        ("SCHEDULED", &wanted.scheduled, &got.scheduled),
        ("DEADLINE", &wanted.deadline, &got.deadline),
        ("CLOSED", &wanted.closed, &got.closed),
    ];
    for (name, wanted, got) in stamps {
        if wanted != got {
            return Err(misread(&format!("{name} of {at} would be {}", said(got.as_deref()))));
        }
    }
    if got.properties != wanted.properties {
        return Err(misread(&format!("the properties of {at} would be {:?}", got.properties)));
    }
    Err(misread(&format!("the text below {at} would be cut differently")))
}

fn said(value: Option<&str>) -> String {
    value.map_or("none".to_owned(), |value| format!("{value:?}"))
}

pub(super) fn misread(what: &str) -> EditError {
    EditError::Misread(what.to_owned())
}
