//! Edits of what stands below a headline: planning line, property drawer, body.

use super::heading::check_line;
use super::verify::{self, records};
use super::{EditError, Plan, Planning, Splice, heading_at, insert_lines};
use crate::domain::org::logbook;
use crate::domain::org::outline::{Node, Outline};
use crate::domain::org::section::{
    self, Drawer, DrawerAt, is_planning, line_at, property, stamp_length, starts_with_fold,
};
use std::borrow::Cow;
use std::ops::Range;

/// Where the parts at the head of a section stand.
pub(super) struct Head {
    /// The planning line without its newline.
    pub planning: Option<Range<usize>>,
    /// Where a planning line would go.
    pub planning_at: usize,
    pub drawer: Option<Drawer>,
    /// Where a drawer would go.
    pub drawer_at: usize,
}

/// Finds the parts at the head of a node's section again.
pub(super) fn head(outline: &Outline, node: &Node) -> Head {
    let text = &outline.text;
    let limit = node.section.end as usize;
    let planning_at = node.section.start as usize;
    let mut planning = None;
    let mut drawer_at = planning_at;
    if node.level == 0 {
        drawer_at = section::behind_comments(text, limit);
    } else {
        let (end, next) = line_at(text, planning_at, limit);
        if is_planning(text.get(planning_at..end).unwrap_or_default()) {
            planning = Some(planning_at..end);
            drawer_at = next;
        }
    }
    let drawer = match section::drawer(text, drawer_at, limit) {
        DrawerAt::Found(drawer) => Some(drawer),
        DrawerAt::None | DrawerAt::Broken => None,
    };
    Head { planning, planning_at, drawer, drawer_at }
}

/// Refuses a key that Org would not read, and returns it as it is kept: in upper case.
pub(super) fn check_property(key: &str, value: &str) -> Result<String, EditError> {
    check_line("a property", value)?;
    let line = format!(":{key}: {value}");
    let read = property(&line).filter(|(read, _)| *read == key && !key.eq_ignore_ascii_case("end"));
    if read.is_none() || key.chars().any(char::is_control) {
        return Err(EditError::Invalid(format!("{key:?} is no property key: a key is one word without blanks")));
    }
    Ok(key.to_uppercase())
}

/// Returns a line of a drawer, aligned as Org does it.
pub(super) fn property_line(key: &str, value: &str) -> String {
    let value = value.trim_matches([' ', '\t']);
    if value.is_empty() { format!(":{key}:\n") } else { format!("{:<10} {value}\n", format!(":{key}:")) }
}

pub(super) fn set_property<'a>(
    outline: &'a Outline,
    index: usize,
    key: &str,
    value: Option<&str>,
) -> Result<Plan<'a>, EditError> {
    let node = outline.nodes.get(index).ok_or(EditError::NoSuchNode(index))?;
    let upper = check_property(key, value.unwrap_or_default())?;
    let head = head(outline, node);
    let mut expected = records(outline);
    let properties = &mut expected[index].properties;
    let splices = match value {
        Some(value) => {
            set_record(properties, &upper, value);
            vec![property_splice(outline, &head, key, value)]
        }
        None => {
            let gone = |known: &str| known.strip_suffix('+').unwrap_or(known) == upper || known == upper;
            properties.retain(|(known, _)| !gone(known));
            removals(outline, &head, gone)
        }
    };
    Ok(Plan { splices, expected })
}

/// Sets a property in a record, as [`property_splice`] does in the text.
pub(super) fn set_record(properties: &mut Vec<(String, String)>, upper: &str, value: &str) {
    let value = value.trim_matches([' ', '\t']).to_owned();
    match properties.iter_mut().find(|(known, _)| known == upper) {
        Some((_, old)) => *old = value,
        None => properties.push((upper.to_owned(), value)),
    }
}

/// Returns the splice that sets a property: its first line, a line more, or a drawer.
pub(super) fn property_splice(outline: &Outline, head: &Head, key: &str, value: &str) -> Splice {
    let line = property_line(key, value);
    let Some(drawer) = &head.drawer else {
        return insert_lines(&outline.text, head.drawer_at, format!(":PROPERTIES:\n{line}:END:\n"));
    };
    let upper = key.to_uppercase();
    match lines(outline, drawer).find(|(_, known)| *known == upper) {
        Some((range, _)) => {
            let old = outline.text.get(range.clone()).unwrap_or_default();
            let indent = old.len() - old.trim_start_matches([' ', '\t']).len();
            // The key stays as the user wrote it.
            let old_key = property(old).map_or(key, |(old_key, _)| old_key);
            Splice { range: range.start + indent..range.end, text: property_line(old_key, value).trim_end().to_owned() }
        }
        None => {
            let last = outline.text.get(drawer.inside.end..drawer.whole.end).unwrap_or_default();
            let indent: String = last.chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
            insert_lines(&outline.text, drawer.inside.end, format!("{indent}{line}"))
        }
    }
}

/// Returns the lines of a drawer without newline, with their upper-case keys.
fn lines<'a>(outline: &'a Outline, drawer: &Drawer) -> impl Iterator<Item = (Range<usize>, String)> + 'a {
    let inside = drawer.inside.clone();
    let mut at = inside.start;
    std::iter::from_fn(move || {
        if at >= inside.end {
            return None;
        }
        let (end, next) = line_at(&outline.text, at, inside.end);
        let range = at..end;
        at = next;
        let key = property(outline.text.get(range.clone())?).map(|(key, _)| key.to_uppercase()).unwrap_or_default();
        Some((range, key))
    })
}

fn removals(outline: &Outline, head: &Head, gone: impl Fn(&str) -> bool) -> Vec<Splice> {
    let Some(drawer) = &head.drawer else { return Vec::new() };
    let all: Vec<_> = lines(outline, drawer).collect();
    if all.iter().all(|(_, key)| gone(key)) && !all.is_empty() {
        return vec![Splice { range: drawer.whole.clone(), text: String::new() }];
    }
    let doomed = all.into_iter().filter(|(_, key)| gone(key));
    doomed.map(|(range, _)| Splice { range: range.start..range.end + 1, text: String::new() }).collect()
}

/// Refuses what Org would not read as a timestamp of the planning line.
pub(super) fn check_stamp(stamp: &str) -> Result<(), EditError> {
    check_line("a timestamp", stamp)?;
    if stamp_length(stamp) == Some(stamp.len()) {
        return Ok(());
    }
    Err(EditError::Invalid(format!("{stamp:?} is no Org timestamp; write one as <2026-11-21 Sat 10:00>")))
}

pub(super) fn set_planning<'a>(
    outline: &'a Outline,
    index: usize,
    kind: Planning,
    stamp: Option<&str>,
) -> Result<Plan<'a>, EditError> {
    let node = heading_at(outline, index)?;
    stamp.map_or(Ok(()), check_stamp)?;
    let mut expected = records(outline);
    let record = &mut expected[index];
    match kind {
        Planning::Scheduled => record.scheduled = stamp.map(str::to_owned),
        Planning::Deadline => record.deadline = stamp.map(str::to_owned),
        Planning::Closed => record.closed = stamp.map(str::to_owned),
    }
    let splices = planning_splice(outline, node, kind, stamp).into_iter().collect();
    Ok(Plan { splices, expected })
}

/// Returns the splice that sets or removes a timestamp of the planning line, if there is anything to do.
pub(super) fn planning_splice(outline: &Outline, node: &Node, kind: Planning, stamp: Option<&str>) -> Option<Splice> {
    let head = head(outline, node);
    let old = match kind {
        Planning::Scheduled => &node.scheduled,
        Planning::Deadline => &node.deadline,
        Planning::Closed => &node.closed,
    };
    let old = old.as_ref().map(|range| range.start as usize..range.end as usize);
    match (stamp, old, head.planning) {
        (Some(stamp), Some(old), _) => Some(Splice { range: old, text: stamp.to_owned() }),
        (Some(stamp), None, Some(line)) => {
            // Org writes the newest first.
            let text = outline.text.get(line.clone()).unwrap_or_default();
            let at = line.start + (text.len() - text.trim_start_matches([' ', '\t']).len());
            Some(Splice { range: at..at, text: format!("{} {stamp} ", kind.keyword()) })
        }
        (Some(stamp), None, None) => {
            Some(insert_lines(&outline.text, head.planning_at, format!("{} {stamp}\n", kind.keyword())))
        }
        (None, Some(old), Some(line)) => Some(planning_removal(outline, &line, &old)),
        (None, None, _) | (None, Some(_), None) => None,
    }
}

fn planning_removal(outline: &Outline, line: &Range<usize>, old: &Range<usize>) -> Splice {
    let before = outline.text.get(line.start..old.start).unwrap_or_default();
    let word = before.trim_end_matches([' ', '\t']).trim_end_matches(|c: char| c == ':' || c.is_ascii_alphabetic());
    let head = word.trim_matches([' ', '\t']);
    let tail = outline.text.get(old.end..line.end).unwrap_or_default();
    if head.is_empty() && tail.trim_matches([' ', '\t']).is_empty() {
        let newline = usize::from(outline.text.as_bytes().get(line.end) == Some(&b'\n'));
        return Splice { range: line.start..line.end + newline, text: String::new() };
    }
    let blanks = tail.len() - tail.trim_start_matches([' ', '\t']).len();
    // At the end of the line the blanks before it go, elsewhere those behind.
    if blanks == tail.len() {
        return Splice { range: line.start + word.trim_end_matches([' ', '\t']).len()..line.end, text: String::new() };
    }
    Splice { range: line.start + word.len()..old.end + blanks, text: String::new() }
}

pub(super) fn set_body<'a>(outline: &'a Outline, index: usize, body: &str) -> Result<Plan<'a>, EditError> {
    let node = outline.nodes.get(index).ok_or(EditError::NoSuchNode(index))?;
    let old = outline.slice(&node.body);
    let (begin, end) = (node.body.start as usize, node.body.end as usize);
    // Blank lines before the next heading are not the body's to change.
    let kept = old.len() - verify::body(old).len();
    let kept = old.get(old.len() - kept..).and_then(|tail| tail.split_once('\n')).map_or("", |(_, tail)| tail);
    let new = lines_of_body(body)?;
    let text = format!("{new}{}", if new.is_empty() && old.is_empty() { "" } else { kept });
    let mut expected = records(outline);
    let whole = format!("{}{new}", verify::above_drawer(outline, node));
    expected[index].body = Cow::Owned(verify::body(&whole).to_owned());
    let mut splice = insert_lines(&outline.text, begin, text);
    splice.range.end = end;
    Ok(Plan { splices: vec![splice], expected })
}

/// Adds a line to the log of a heading, with the line ends of its file.
pub(super) fn log<'a>(outline: &'a Outline, index: usize, line: &str) -> Result<Plan<'a>, EditError> {
    check_line("a line of a log", line)?;
    if !line.starts_with("- ") {
        return Err(EditError::Invalid(format!("a line of a log is an item, “- …”, not {line:?}")));
    }
    let node = heading_at(outline, index)?;
    let (body, begin) = (outline.slice(&node.body), node.body.start as usize);
    let (end, _) = line_at(&outline.text, node.section.start as usize, outline.text.len());
    let above = outline.text.get(..node.section.start as usize).unwrap_or_default();
    let ends = if above.ends_with("\r\n") || outline.text.get(..end).is_some_and(|head| head.ends_with('\r')) {
        "\r\n"
    } else {
        "\n"
    };
    let (at, text) = match logbook::log(body) {
        Some(log) => {
            let (_, inside) = line_at(body, log.start, log.end);
            (inside, format!("{line}{ends}"))
        }
        None => (0, format!(":LOGBOOK:{ends}{line}{ends}:END:{ends}")),
    };
    let mut expected = records(outline);
    let (head, tail) = (body.get(..at).unwrap_or_default(), body.get(at..).unwrap_or_default());
    expected[index].body = Cow::Owned(verify::body(&format!("{head}{text}{tail}")).to_owned());
    Ok(Plan { splices: vec![insert_lines(&outline.text, begin + at, text)], expected })
}

/// Returns a body as whole lines, with stars inside blocks escaped by a comma.
pub(super) fn lines_of_body(body: &str) -> Result<String, EditError> {
    if let Some(c) = body.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(EditError::Invalid(format!("a body is plain text with \\n line ends; it cannot hold {c:?}")));
    }
    let body = verify::body(body);
    let mut result = String::with_capacity(body.len() + 1);
    let mut block: Option<String> = None;
    for line in body.split_terminator('\n') {
        let trimmed = line.trim_matches([' ', '\t']);
        match &block {
            None => {
                if starts_with_fold(trimmed, "#+begin_") {
                    let name = trimmed.get(8..).and_then(|rest| rest.split([' ', '\t']).next()).unwrap_or_default();
                    block = Some(format!("#+end_{name}"));
                }
            }
            Some(end) if trimmed.eq_ignore_ascii_case(end) => block = None,
            Some(_) => {
                if line.starts_with('*') {
                    result.push(',');
                }
            }
        }
        result.push_str(line);
        result.push('\n');
    }
    Ok(result)
}
