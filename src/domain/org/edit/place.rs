//! Edits of where headings stand: add, insert, remove, move; and taking a subtree out for another file.

use super::heading::{aligned, check_priority, check_state, check_tags, check_title};
use super::section::{check_property, check_stamp, lines_of_body, property_line, set_record};
use super::verify::{self, Record, records};
use super::{EditError, NewHeading, Plan, Splice, heading_at};
use crate::domain::org::outline::Outline;
use crate::domain::org::scan::{ScanOptions, scan};
use std::borrow::Cow;

/// A heading with all below it, taken out of its file; its top is at level 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subtree {
    /// Whole lines.
    pub text: String,
    /// The keywords that it uses; the other file must have them.
    pub keywords: Vec<Box<str>>,
    /// Tags that it inherited from file and ancestors, which it would lose by the move.
    pub inherited_tags: Vec<Box<str>>,
}

/// Takes out a heading with all below it, its top at level 1; the outline stays as it is.
///
/// # Errors
///
/// When the node is not a heading of this outline.
pub fn extract(outline: &Outline, node: usize) -> Result<Subtree, EditError> {
    let heading = heading_at(outline, node)?;
    let text = relevelled(outline, node, 1)?;
    let mut keywords: Vec<Box<str>> = Vec::new();
    for inner in outline.nodes.get(node..outline.after(node)).unwrap_or_default() {
        if let Some(keyword) = outline.todo(inner).filter(|keyword| !keywords.contains(&keyword.name)) {
            keywords.push(keyword.name.clone());
        }
    }
    let inherited = outline.all_tags(heading.parent as usize);
    let mut inherited_tags: Vec<Box<str>> = inherited.into_iter().map(Box::from).collect();
    inherited_tags.retain(|tag| !heading.tags.contains(tag));
    Ok(Subtree { text, keywords, inherited_tags })
}

pub(super) fn add<'a>(outline: &'a Outline, new: &NewHeading) -> Result<Plan<'a>, EditError> {
    let parent = parent_of(outline, new.parent)?;
    let level = child_level(outline, parent);
    let (text, record) = written(outline, new, level)?;
    placed(outline, parent, text, vec![record])
}

pub(super) fn insert<'a>(
    outline: &'a Outline,
    parent: Option<usize>,
    subtree: &Subtree,
) -> Result<Plan<'a>, EditError> {
    let parent = parent_of(outline, parent)?;
    for keyword in &subtree.keywords {
        check_state(outline, keyword)?;
    }
    // Read with the keywords of the file it goes into.
    let sequences = outline.sequences.iter().map(|sequence| {
        let range = sequence.keywords.start as usize..sequence.keywords.end as usize;
        let keywords = outline.keywords.get(range).unwrap_or_default();
        let names = |done: bool| keywords.iter().filter(move |k| k.done == done).map(|k| k.name.as_ref());
        let (open, done): (Vec<&str>, Vec<&str>) = (names(false).collect(), names(true).collect());
        format!("{} | {}", open.join(" "), done.join(" "))
    });
    let options = ScanOptions { sequences: sequences.collect(), ..ScanOptions::default() };
    let inner = scan(subtree.text.as_str().into(), &options)?;
    let whole = inner.nodes.get(1).is_some_and(|top| top.begin == 0 && inner.after(1) == inner.nodes.len());
    if !whole {
        return Err(EditError::Invalid("what is inserted must be one heading with what is below it".to_owned()));
    }
    let level = child_level(outline, parent);
    let text = relevelled(&inner, 1, level)?;
    let top = inner.nodes.get(1).map_or(1, |node| node.level);
    let owned = records(&inner).into_iter().skip(1).map(|record| Record {
        level: (record.level - top).saturating_add(level),
        title: Cow::Owned(record.title.into_owned()),
        body: Cow::Owned(record.body.into_owned()),
        ..record
    });
    placed(outline, parent, text, owned.collect())
}

pub(super) fn remove(outline: &Outline, node: usize) -> Result<Plan<'_>, EditError> {
    let heading = heading_at(outline, node)?;
    let mut expected = records(outline);
    expected.drain(node..outline.after(node));
    let splice = Splice { range: heading.begin as usize..heading.end as usize, text: String::new() };
    Ok(Plan { splices: vec![splice], expected })
}

pub(super) fn shift(outline: &Outline, node: usize, parent: Option<usize>) -> Result<Plan<'_>, EditError> {
    let heading = heading_at(outline, node)?;
    let parent = parent_of(outline, parent)?;
    let after = outline.after(node);
    if (node..after).contains(&parent) {
        return Err(EditError::IntoItself);
    }
    let level = child_level(outline, parent);
    let text = relevelled(outline, node, level)?;
    let all = records(outline);
    let moved: Vec<Record<'_>> = all
        .get(node..after)
        .unwrap_or_default()
        .iter()
        .map(|record| Record { level: (record.level - heading.level).saturating_add(level), ..record.clone() })
        .collect();
    let target = outline.after(parent);
    let mut plan = placed(outline, parent, text, moved)?;
    // Where the old place stands in the list that already holds the new one.
    let count = after - node;
    let old = if target <= node { node + count } else { node };
    plan.expected.drain(old..old + count);
    let removal = Splice { range: heading.begin as usize..heading.end as usize, text: String::new() };
    // The heading itself may be what stands before its new place, without a newline at the end of the file.
    if let Some(first) = plan.splices.first_mut().filter(|first| first.range.start == removal.range.end) {
        first.text = first.text.strip_prefix('\n').unwrap_or(&first.text).to_owned();
    }
    plan.splices.push(removal);
    Ok(plan)
}

fn parent_of(outline: &Outline, parent: Option<usize>) -> Result<usize, EditError> {
    let parent = parent.unwrap_or(0);
    outline.nodes.get(parent).map(|_| parent).ok_or(EditError::NoSuchNode(parent))
}

/// Returns the level of a new child: two more where the file keeps to odd levels.
fn child_level(outline: &Outline, parent: usize) -> u16 {
    let step = if outline.startup.iter().any(|word| word.as_ref() == "odd") { 2 } else { 1 };
    match outline.nodes.get(parent) {
        Some(node) if node.level > 0 => node.level.saturating_add(step),
        Some(_) | None => 1,
    }
}

/// Plans lines at the end of a parent's subtree.
fn placed<'a>(
    outline: &'a Outline,
    parent: usize,
    mut lines: String,
    new: Vec<Record<'a>>,
) -> Result<Plan<'a>, EditError> {
    let at = outline.nodes.get(parent).map_or(outline.text.len(), |node| node.end as usize);
    // Where headings are set apart by blank lines, the next one stays so.
    let before = outline.text.get(..at).unwrap_or_default();
    if before.ends_with("\n\n") && at < outline.text.len() && !lines.ends_with("\n\n") {
        lines.push('\n');
    }
    let mut expected = records(outline);
    let index = outline.after(parent);
    expected.splice(index..index, new);
    Ok(Plan { splices: vec![super::insert_lines(&outline.text, at, lines)], expected })
}

/// Returns the text of a subtree with its top at `level`, as whole lines.
fn relevelled(outline: &Outline, node: usize, level: u16) -> Result<String, EditError> {
    let top = heading_at(outline, node)?;
    let mut text = String::with_capacity((top.end - top.begin) as usize + 16);
    for inner in outline.nodes.get(node..outline.after(node)).unwrap_or_default() {
        let stars = (inner.level - top.level).checked_add(level).filter(|_| inner.level < u16::MAX);
        let stars = stars.ok_or_else(|| EditError::Invalid("these headings are nested too deep".to_owned()))?;
        text.extend(std::iter::repeat_n('*', stars as usize));
        let begin = inner.begin as usize + inner.level as usize;
        text.push_str(outline.text.get(begin..inner.section.end as usize).unwrap_or_default());
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// Writes a new heading, and what it must be read as.
fn written(outline: &Outline, new: &NewHeading, level: u16) -> Result<(String, Record<'static>), EditError> {
    let title = check_title(&new.title)?;
    check_tags(&new.tags)?;
    new.todo.as_deref().map_or(Ok(()), |state| check_state(outline, state))?;
    new.priority.map_or(Ok(()), check_priority)?;
    let mut text = "*".repeat(level as usize);
    for word in [new.todo.clone(), new.priority.map(|c| format!("[#{c}]")), Some(title.to_owned())] {
        text.extend(word.iter().flat_map(|word| [" ", word.as_str()]));
    }
    text.push_str(&aligned(&text, &new.tags));
    text.push('\n');
    let mut planning = Vec::new();
    for (word, stamp) in [("SCHEDULED:", &new.scheduled), ("DEADLINE:", &new.deadline)] {
        if let Some(stamp) = stamp {
            check_stamp(stamp)?;
            planning.push(format!("{word} {stamp}"));
        }
    }
    if !planning.is_empty() {
        text.push_str(&planning.join(" "));
        text.push('\n');
    }
    let mut properties = Vec::new();
    if !new.properties.is_empty() {
        text.push_str(":PROPERTIES:\n");
        for (key, value) in &new.properties {
            let upper = check_property(key, value)?;
            if properties.iter().any(|(known, _)| *known == upper) {
                return Err(EditError::Invalid(format!("the property {upper} is given twice")));
            }
            text.push_str(&property_line(key, value));
            set_record(&mut properties, &upper, value);
        }
        text.push_str(":END:\n");
    }
    let body = lines_of_body(&new.body)?;
    text.push_str(&body);
    let record = Record {
        level,
        title: Cow::Owned(title.to_owned()),
        todo: new.todo.clone(),
        priority: new.priority,
        tags: new.tags.clone(),
        commented: false,
        properties,
        scheduled: new.scheduled.clone(),
        deadline: new.deadline.clone(),
        closed: None,
        body: Cow::Owned(verify::body(&body).to_owned()),
    };
    Ok((text, record))
}
