//! Setting a keyword, with what Org does besides: CLOSED comes and goes, and repeating tasks move their dates.

use super::heading::{check_state, keyword_splice};
use super::section::{head, planning_splice, property_splice, set_record};
use super::verify::{self, records};
use super::{EditError, EditOptions, Plan, Planning, Splice, apply, heading_at, insert_lines};
use crate::domain::org::outline::{Node, Outline};
use crate::domain::org::timestamp::{Timestamp, timestamps};
use std::borrow::Cow;

pub(super) fn set_todo<'a>(
    outline: &'a Outline,
    index: usize,
    state: Option<&str>,
    options: &EditOptions,
) -> Result<Plan<'a>, EditError> {
    let node = heading_at(outline, index)?;
    state.map_or(Ok(()), |state| check_state(outline, state))?;
    let old = outline.todo(node);
    let was_done = old.is_some_and(|keyword| keyword.done);
    let is_done = state.is_some_and(|state| outline.keywords.iter().any(|k| k.done && k.name.as_ref() == state));
    let mut expected = records(outline);
    let record = &mut expected[index];
    let mut splices = Vec::new();
    if is_done && !was_done {
        let moved = moved_stamps(outline, node, options);
        if !moved.is_empty() {
            return repeat(outline, index, state.unwrap_or_default(), moved, options);
        }
        if switched(outline, ["logdone", "lognotedone"], "nologdone", options.log_done) {
            let stamp = Timestamp::inactive(options.now).to_string();
            splices.extend(planning_splice(outline, node, Planning::Closed, Some(&stamp)));
            record.closed = Some(stamp);
        }
    }
    // As in Org, CLOSED goes when a task opens again or is none any more.
    let reopened = state.is_some() && !is_done && old.is_none_or(|keyword| keyword.done);
    if (reopened || state.is_none()) && node.closed.is_some() {
        splices.extend(planning_splice(outline, node, Planning::Closed, None));
        record.closed = None;
    }
    splices.push(keyword_splice(outline, node, state));
    record.todo = state.map(str::to_owned);
    Ok(Plan { splices, expected })
}

/// Marks a repeating task as done: its dates move, and it is open again.
fn repeat<'a>(
    outline: &'a Outline,
    index: usize,
    done: &str,
    moved: Vec<Splice>,
    options: &EditOptions,
) -> Result<Plan<'a>, EditError> {
    let node = heading_at(outline, index)?;
    let next = next_state(outline, node);
    let mut expected = records(outline);
    let record = &mut expected[index];
    let at = |range: &Option<std::ops::Range<u32>>| range.as_ref().map(|range| range.start as usize);
    for splice in &moved {
        let start = Some(splice.range.start);
        if start == at(&node.scheduled) {
            record.scheduled = Some(splice.text.clone());
        } else if start == at(&node.deadline) {
            record.deadline = Some(splice.text.clone());
        }
    }
    let body_start = node.body.start as usize;
    let in_body: Vec<Splice> = moved
        .iter()
        .filter(|splice| splice.range.start >= body_start)
        .map(|splice| Splice {
            range: splice.range.start - body_start..splice.range.end - body_start,
            text: splice.text.clone(),
        })
        .collect();
    let mut body = apply(outline.slice(&node.body), &in_body);
    let mut splices = moved;
    splices.push(keyword_splice(outline, node, next.as_deref()));
    if node.closed.is_some() {
        splices.extend(planning_splice(outline, node, Planning::Closed, None));
        record.closed = None;
    }
    if switched(outline, ["logrepeat", "lognoterepeat"], "nologrepeat", options.log_repeat) {
        let stamp = Timestamp::inactive(options.now).to_string();
        splices.push(property_splice(outline, &head(outline, node), "LAST_REPEAT", &stamp));
        set_record(&mut record.properties, "LAST_REPEAT", &stamp);
        let quoted = |word: &str| format!("\"{word}\"");
        let before = outline.todo(node).map(|keyword| quoted(&keyword.name)).unwrap_or_default();
        let line = format!("- State {:<12} from {before:<12} {stamp}\n", quoted(done));
        body.insert_str(0, &line);
        splices.push(insert_lines(&outline.text, body_start, line));
    }
    record.todo = next;
    record.body = Cow::Owned(verify::body(&body).to_owned());
    Ok(Plan { splices, expected })
}

/// Returns the splices that move every repeating active timestamp of an entry.
fn moved_stamps(outline: &Outline, node: &Node, options: &EditOptions) -> Vec<Splice> {
    let section = outline.slice(&node.section);
    let start = node.section.start as usize;
    // CLOSED is inactive, so it is never among them.
    timestamps(section)
        .into_iter()
        .filter(|(_, stamp)| stamp.active)
        .filter_map(|(range, stamp)| {
            let text = stamp.repeated(options.now)?.to_string();
            Some(Splice { range: start + range.start..start + range.end, text })
        })
        .collect()
}

/// Returns the keyword of a repeated task: REPEAT_TO_STATE, else the old one of a `#+TYP_TODO` sequence,
/// else the first of the old one's sequence, else none.
fn next_state(outline: &Outline, node: &Node) -> Option<String> {
    let wanted = outline.property(node, "REPEAT_TO_STATE");
    if let Some(wanted) = wanted.filter(|wanted| outline.keywords.iter().any(|k| k.name.as_ref() == *wanted)) {
        return Some(wanted.to_owned());
    }
    let old = node.todo?;
    let sequence = outline.sequences.iter().find(|sequence| sequence.keywords.contains(&old))?;
    let index = if sequence.types { old } else { sequence.keywords.start };
    outline.keywords.get(index as usize).map(|keyword| keyword.name.to_string())
}

/// Tells whether something is switched on: by the last of its words in `#+STARTUP`, else by default.
fn switched(outline: &Outline, on: [&str; 2], off: &str, default: bool) -> bool {
    let words = outline.startup.iter().rev().map(AsRef::as_ref);
    words.filter(|word: &&str| on.contains(word) || *word == off).map(|word| word != off).next().unwrap_or(default)
}
