//! Passages: what notes say about a text, a name, or the date of a heading.

use crate::domain::context::words::{Analyser, is_stop_word};
use crate::domain::memory::view::NodeRef;
use crate::domain::recall::answer::{Notes, Reply, missing, shown};
use crate::domain::recall::resolve::{Among, Resolved, matches, resolve};
use crate::domain::recall::show::{clip, day, distance, headline, one_line, place, written};
use crate::domain::recall::stamp::Stamp;
use std::collections::HashSet;

/// How many passages are shown.
const MAX_PASSAGES: usize = 6;
/// How long an excerpt is, in characters.
const LONGEST: usize = 240;
/// How much of a body is read for an excerpt, in bytes.
const MAX_BODY: usize = 64 * 1024;
/// Own properties that say nothing about the thing itself.
const BOOKKEEPING: &[&str] = &[
    "ID",
    "CUSTOM_ID",
    "CREATED",
    "CATEGORY",
    "VISIBILITY",
    "COLUMNS",
    "LOGGING",
    "ORDERED",
    "ARCHIVE",
    "STYLE",
    "LAST_REPEAT",
    "ARCHIVE_TIME",
    "ARCHIVE_FILE",
    "ARCHIVE_OLPATH",
    "ARCHIVE_CATEGORY",
    "ARCHIVE_TODO",
    "ARCHIVE_ITAGS",
    "PRIVACY",
];

/// Shows the best passages for a text or a question.
pub(super) fn find(notes: &Notes<'_>, text: &str) -> Reply {
    let found = hits(notes, text, &[]);
    if found.is_empty() {
        return nothing(notes, text);
    }
    let mut reply = Reply::words(format!("These passages fit “{}” best:", shown(text)));
    passages(&mut reply, text, &found);
    reply
}

/// Shows what a name stands for: headings of that name, then passages that mention it.
pub(super) fn who_or_what(notes: &Notes<'_>, name: &str) -> Reply {
    let named = matches(notes.view, name, 3);
    let others = hits(notes, name, &named);
    if named.is_empty() && others.is_empty() {
        return nothing(notes, name);
    }
    if named.is_empty() {
        let mut reply = Reply::words(format!("No heading is called “{}”; these passages mention it:", shown(name)));
        passages(&mut reply, name, &others);
        return reply;
    }
    let mut reply = Reply::words(format!("Your notes on “{}”:", shown(name)));
    for node in &named {
        let line = format!("- {} — {}", headline(node), place(node));
        reply.line(node, &line);
        for (key, value) in facts(node) {
            reply.text.push_str(&format!("\n  {key}: {value}"));
        }
        let opening = opening(node);
        if !opening.is_empty() {
            reply.text.push_str(&format!("\n  “{opening}”"));
        }
    }
    if !others.is_empty() {
        reply.text.push_str("\nIt is also mentioned here:");
        passages(&mut reply, name, &others);
    }
    reply
}

/// Says when a heading is due or scheduled.
pub(super) fn when(notes: &Notes<'_>, target: &str) -> Reply {
    let nodes = match resolve(notes.view, target, Among::Headings) {
        Resolved::One(node) => vec![node],
        Resolved::Several(nodes) => nodes,
        Resolved::None(_) => return find(notes, target),
    };
    let mut reply = Reply::words(if nodes.len() == 1 { "This is what is planned:" } else { "Several headings fit:" });
    for node in &nodes {
        let dates = dates(notes, node);
        let dates = if dates.is_empty() { "no date".to_string() } else { dates.join(", ") };
        let line = format!("- {}: {dates} — {}", headline(node), place(node));
        reply.line(node, &line);
    }
    if nodes.iter().all(|node| dates(notes, node).is_empty()) {
        reply.text.push_str("\nThe notes say this:");
        passages(&mut reply, target, &nodes);
    }
    reply
}

fn dates(notes: &Notes<'_>, node: &NodeRef) -> Vec<String> {
    let outline = &node.document.outline;
    let planned = node.node();
    let pairs = [("deadline", &planned.deadline), ("scheduled", &planned.scheduled), ("closed", &planned.closed)];
    let read = |(word, range): (&str, &Option<std::ops::Range<u32>>)| {
        let stamp = Stamp::parse(outline.slice(range.as_ref()?))?;
        let hour = stamp.time.map(|time| format!(" {}", time.strftime("%H:%M"))).unwrap_or_default();
        let again = stamp.repeat.map(|repeat| format!(", again every {}", repeat.words())).unwrap_or_default();
        Some(format!("{word} {}{hour} ({}{again})", day(stamp.date), distance(notes.now.date(), stamp.date)))
    };
    pairs.into_iter().filter_map(read).collect()
}

fn hits(notes: &Notes<'_>, text: &str, without: &[NodeRef]) -> Vec<NodeRef> {
    let found = (notes.search)(text, MAX_PASSAGES + without.len());
    let nodes = found.iter().filter_map(|(id, _)| notes.view.get(id));
    let mut seen = HashSet::new();
    nodes
        .filter(|node| !without.iter().any(|other| other.id() == node.id()) && seen.insert(node.id().clone()))
        .take(MAX_PASSAGES)
        .collect()
}

fn nothing(notes: &Notes<'_>, text: &str) -> Reply {
    match resolve(notes.view, text, Among::Places) {
        Resolved::One(node) => titles(text, &[node]),
        Resolved::Several(nodes) => titles(text, &nodes),
        Resolved::None(nearest) => {
            let mut reply = missing(text, &nearest);
            reply.text = reply.text.replacen("no heading called", "nothing about", 1);
            reply
        }
    }
}

fn titles(text: &str, nodes: &[NodeRef]) -> Reply {
    let mut reply = Reply::words(format!("These headings are called like “{}”:", shown(text)));
    passages(&mut reply, text, nodes);
    reply
}

fn passages(reply: &mut Reply, text: &str, nodes: &[NodeRef]) {
    let mut analyser = Analyser::default();
    let wanted = stems(text, &mut analyser);
    for node in nodes {
        let date = written(node).map(|date| format!(", {}", day(date))).unwrap_or_default();
        let line = format!("- {} — {}{date}", headline(node), place(node));
        reply.line(node, &line);
        if let Some(excerpt) = excerpt(node, &wanted, &mut analyser) {
            reply.text.push_str(&format!("\n  “{excerpt}”"));
        }
    }
}

/// Returns the sentence of a node's body that shares most words with a text.
fn excerpt(node: &NodeRef, wanted: &HashSet<String>, analyser: &mut Analyser) -> Option<String> {
    let body = clip_bytes(node.body(), MAX_BODY);
    let mut best: Option<(usize, String)> = None;
    for line in body.lines().filter(|line| is_prose(line)) {
        for sentence in sentences(line) {
            let have = stems(sentence, analyser);
            let score = wanted.iter().filter(|word| have.contains(*word)).count();
            if best.as_ref().is_none_or(|(most, _)| score > *most) {
                best = Some((score, sentence.to_string()));
            }
        }
    }
    let (_, sentence) = best?;
    Some(around(&one_line(&sentence), wanted, analyser)).filter(|text| !text.is_empty())
}

/// Returns a part of a long sentence that begins a little before the first word that is wanted.
fn around(sentence: &str, wanted: &HashSet<String>, analyser: &mut Analyser) -> String {
    if sentence.chars().count() <= LONGEST {
        return sentence.to_string();
    }
    let words: Vec<&str> = sentence.split(' ').collect();
    let hit = words.iter().position(|word| stems(word, analyser).iter().any(|stem| wanted.contains(stem))).unwrap_or(0);
    let begin = hit.saturating_sub(8);
    let cut = if begin > 0 { "… " } else { "" };
    format!("{cut}{}", clip(&words.get(begin..).unwrap_or(&[]).join(" "), LONGEST))
}

/// Returns the first sentences of a body.
fn opening(node: &NodeRef) -> String {
    let body = clip_bytes(node.body(), MAX_BODY);
    let lines: Vec<&str> =
        body.lines().map(str::trim).skip_while(|line| !is_prose(line)).take_while(|l| is_prose(l)).collect();
    clip(&one_line(&lines.join(" ")), LONGEST)
}

fn facts(node: &NodeRef) -> Vec<(String, String)> {
    let own = node.node().properties.iter();
    let telling = own.filter(|(key, value)| !BOOKKEEPING.contains(&key.as_ref()) && !value.is_empty());
    telling.take(8).map(|(key, value)| (one_line(key), clip(&one_line(value), 120))).collect()
}

/// Returns whether a line holds words for people, not structure.
fn is_prose(line: &str) -> bool {
    let line = line.trim();
    let drawer = line.len() > 2 && line.starts_with(':') && line.ends_with(':') && !line.contains(' ');
    !line.is_empty() && !line.starts_with("#+") && !line.starts_with("# ") && !drawer
}

/// Splits a line where a sentence ends; what is long without an end stays whole.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end =
            rest.find(". ").or_else(|| rest.find("? ")).or_else(|| rest.find("! ")).map_or(rest.len(), |end| end + 1);
        let (sentence, behind) = rest.split_at_checked(end)?;
        rest = behind.trim_start();
        Some(sentence)
    })
}

fn stems(text: &str, analyser: &mut Analyser) -> HashSet<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty() && !is_stop_word(word));
    words.map(|word| analyser.stem(word).to_string()).collect()
}

fn clip_bytes(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or("")
}
