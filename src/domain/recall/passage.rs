//! Passages: what notes say about a text, a name, or the date of a heading.

use crate::domain::context::words::{Analyser, Cut, Piece, cuts, is_stop_word, pieces};
use crate::domain::id::NodeId;
use crate::domain::memory::card::Planning;
use crate::domain::memory::view::NodeRef;
use crate::domain::recall::answer::{Notes, Reply, missing, shown};
use crate::domain::recall::resolve::{Among, Resolved, matches, resolve, without_stamps};
use crate::domain::recall::show::{clip, day, distance, headline, one_line, place, written};
use crate::domain::recall::stamp::Stamp;
use std::collections::HashSet;

/// How many passages are shown.
const MAX_PASSAGES: usize = 6;
/// How many nodes are looked at for passages that hold the words.
const MAX_SEARCHED: usize = 24;
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

/// Shows the best passages for a text or a question: those that hold its words, and apart from them the neighbours.
pub(super) fn find(notes: &Notes<'_>, text: &str) -> Reply {
    let found = hits(notes, text, &[]);
    if found.is_empty() {
        return nothing(notes, text);
    }
    let holding: Vec<NodeRef> = found.all.into_iter().chain(found.some).collect();
    if holding.is_empty() {
        let mut reply = Reply::words(format!("Nothing holds a word of “{}”. These stand near to it:", shown(text)));
        passages(&mut reply, text, first(&found.none));
        return reply;
    }
    let mut reply = Reply::words(format!("These passages fit “{}” best:", shown(text)));
    passages(&mut reply, text, first(&holding));
    reply
}

/// Shows what a name stands for: headings of that name, then passages that mention it. Neighbours are left out.
pub(super) fn who_or_what(notes: &Notes<'_>, name: &str) -> Reply {
    let by_id = notes.view.get(&NodeId::new(name));
    let name = &by_id.as_ref().map_or_else(|| name.to_string(), |node| node.title().to_string());
    let mut named = by_id.map_or_else(|| matches(notes.view, name, 3), |node| vec![node]);
    for (node, _) in known(notes, name) {
        if !named.iter().any(|other| other.id() == node.id()) {
            named.push(node);
        }
    }
    // What carries facts describes the thing; what only bears its name mentions it.
    named.sort_by_key(|node| facts(node).is_empty());
    let found = hits(notes, name, &named);
    if named.is_empty() && found.all.is_empty() && found.some.is_empty() {
        return nothing(notes, name);
    }
    let mut reply = Reply::words(match named.is_empty() {
        true => format!("No heading is called “{}”.", shown(name)),
        false => format!("Your notes on “{}”:", shown(name)),
    });
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
    if !found.all.is_empty() {
        let mention = if named.is_empty() { " These passages mention it:" } else { "\nIt is also mentioned here:" };
        reply.text.push_str(mention);
        passages(&mut reply, name, first(&found.all));
    } else if named.is_empty() {
        reply.text.push_str(" Nothing holds all of its words; these hold some:");
        passages(&mut reply, name, first(&found.some));
    }
    reply
}

/// Says what a property of a heading says, and when a heading is due or scheduled.
pub(super) fn when(notes: &Notes<'_>, target: &str) -> Reply {
    let known = known(notes, target);
    if known.is_empty() {
        return planned(notes, target);
    }
    let mut reply = Reply::words("This is noted:");
    for (node, facts) in &known {
        let line = format!("- {} — {}", headline(node), place(node));
        reply.line(node, &line);
        for (key, value) in facts {
            reply.text.push_str(&format!("\n  {key}: {value}"));
        }
    }
    let mut others = match resolve(notes.view, target, Among::Headings) {
        Resolved::One(node) => vec![node],
        Resolved::Several(nodes) | Resolved::Close(nodes) => nodes,
        Resolved::None(_) => Vec::new(),
    };
    others.retain(|node| !dates(notes, node).is_empty() && !known.iter().any(|(told, _)| told.id() == node.id()));
    if !others.is_empty() {
        reply.text.push_str("\nThis is planned:");
    }
    for node in &others {
        let line = format!("- {}: {} — {}", headline(node), dates(notes, node).join(", "), place(node));
        reply.line(node, &line);
    }
    reply
}

/// Returns the headings of whose properties a text speaks, and those properties: “Otis's birthday”, “phone of Elin”.
///
/// Every word must stand in the title or in the name of the property, and each of the two must have one.
fn known(notes: &Notes<'_>, text: &str) -> Vec<(NodeRef, Vec<(String, String)>)> {
    let mut analyser = Analyser::default();
    let wanted = stems(&without_genitives(text), &mut analyser);
    let mut found = Vec::new();
    for node in notes.view.nodes().filter(|node| node.properties().next().is_some()) {
        let title = stems(&without_genitives(node.title()), &mut analyser);
        if title.is_disjoint(&wanted) {
            continue;
        }
        let asked = |(key, _): &(String, String)| {
            let key = stems(&key.replace(['_', '-'], " "), &mut analyser);
            !key.is_empty()
                && key.is_subset(&wanted)
                && wanted.iter().all(|word| key.contains(word) || title.contains(word))
                && wanted.iter().any(|word| !key.contains(word))
        };
        let facts: Vec<_> = facts(&node).into_iter().filter(asked).collect();
        if !facts.is_empty() {
            found.push((node, facts));
        }
        if found.len() >= MAX_PASSAGES {
            break;
        }
    }
    found
}

fn without_genitives(text: &str) -> String {
    text.replace("'s", "").replace("’s", "")
}

fn planned(notes: &Notes<'_>, target: &str) -> Reply {
    let mut nodes = match resolve(notes.view, target, Among::Headings) {
        Resolved::One(node) => vec![node],
        Resolved::Several(nodes) => nodes,
        // What fits in part answers only when it has a date.
        Resolved::Close(mut nodes) => {
            nodes.retain(|node| !dates(notes, node).is_empty());
            if nodes.is_empty() {
                return find(notes, target);
            }
            nodes
        }
        Resolved::None(_) => return find(notes, target),
    };
    nodes.sort_by_key(|node| dates(notes, node).is_empty());
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
    let pairs = [("deadline", Planning::Deadline), ("scheduled", Planning::Scheduled), ("closed", Planning::Closed)];
    let read = |(word, planning): (&str, Planning)| {
        let stamp = Stamp::parse(node.planning(planning)?)?;
        let hour = stamp.time.map(|time| format!(" {}", time.strftime("%H:%M"))).unwrap_or_default();
        let again = stamp.repeat.map(|repeat| format!(", again every {}", repeat.words())).unwrap_or_default();
        Some(format!("{word} {}{hour} ({}{again})", day(stamp.date), distance(notes.now.date(), stamp.date)))
    };
    pairs.into_iter().filter_map(read).collect()
}

/// What was found for a text, best first, by how many of its words each node holds.
struct Hits {
    all: Vec<NodeRef>,
    some: Vec<NodeRef>,
    none: Vec<NodeRef>,
}

impl Hits {
    fn is_empty(&self) -> bool {
        self.all.is_empty() && self.some.is_empty() && self.none.is_empty()
    }
}

fn first(nodes: &[NodeRef]) -> &[NodeRef] {
    nodes.get(..MAX_PASSAGES).unwrap_or(nodes)
}

fn hits(notes: &Notes<'_>, text: &str, without: &[NodeRef]) -> Hits {
    let mut analyser = Analyser::default();
    let wanted = stems(text, &mut analyser);
    let found = (notes.search)(text, MAX_SEARCHED + without.len());
    let mut seen = HashSet::new();
    let nodes = found.iter().filter_map(|(id, _)| notes.view.get(id));
    let nodes =
        nodes.filter(|node| !without.iter().any(|other| other.id() == node.id()) && seen.insert(node.id().clone()));
    let mut hits = Hits { all: Vec::new(), some: Vec::new(), none: Vec::new() };
    let mut asking = Vec::new();
    let mut some: Vec<(usize, NodeRef)> = Vec::new();
    for node in nodes {
        let held = held(&node, &wanted, &mut analyser);
        if only_asks(&node, &wanted, &mut analyser) {
            asking.push(node);
        } else if held == wanted.len() {
            hits.all.push(node);
        } else if held > 0 {
            some.push((held, node));
        } else {
            hits.none.push(node);
        }
    }
    some.sort_by_key(|(held, _)| std::cmp::Reverse(*held));
    hits.some = some.into_iter().map(|(_, node)| node).collect();
    // Who asks the same has no answer; it is shown when nobody has.
    if hits.all.is_empty() && hits.some.is_empty() {
        hits.all = asking;
    }
    hits
}

/// Returns how many words of a text stand in a node: in its title, text, tags, or values of properties.
fn held(node: &NodeRef, wanted: &HashSet<String>, analyser: &mut Analyser) -> usize {
    // The weekday of a date is no word: “Wed” has nothing to do with a wedding.
    let mut have = held_by(&without_stamps(node.title()), analyser);
    have.extend(held_by(&without_stamps(clip_bytes(node.body(), MAX_BODY)), analyser));
    for text in own_tags(node).chain(node.properties().map(|(_, value)| value)) {
        have.extend(held_by(text, analyser));
    }
    for (key, _) in facts(node) {
        have.extend(held_by(&key, analyser));
    }
    wanted.iter().filter(|word| have.contains(*word)).count()
}

/// Returns the tags of a heading; those of a file stand in all of it.
fn own_tags(node: &NodeRef) -> impl Iterator<Item = &str> {
    node.tags().filter(|_| node.index > 0)
}

/// Returns whether the words stand in a node only as a question: a list of things to ask.
fn only_asks(node: &NodeRef, wanted: &HashSet<String>, analyser: &mut Analyser) -> bool {
    let mut asks = false;
    for line in clip_bytes(node.body(), MAX_BODY).lines() {
        for sentence in sentences(line) {
            let have = held_by(sentence, analyser);
            let hit = wanted.iter().any(|word| have.contains(word));
            if hit && !sentence.ends_with('?') {
                return false;
            }
            asks |= hit;
        }
    }
    asks && !held_by(node.title(), analyser).iter().any(|word| wanted.contains(word))
}

fn nothing(notes: &Notes<'_>, text: &str) -> Reply {
    match resolve(notes.view, text, Among::Places) {
        Resolved::One(node) => titles(text, &[node]),
        Resolved::Several(nodes) | Resolved::Close(nodes) => titles(text, &nodes),
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
        for (key, value) in facts(node) {
            if stems(&key, &mut analyser).iter().any(|word| wanted.contains(word)) {
                reply.text.push_str(&format!("\n  {key}: {value}"));
            }
        }
        if let Some(excerpt) = excerpt(node, &wanted, &mut analyser) {
            reply.text.push_str(&format!("\n  “{excerpt}”"));
        }
    }
}

/// Returns the sentence of a node's body that shares most words with a text, and those that follow it in its paragraph
/// as far as there is room.
fn excerpt(node: &NodeRef, wanted: &HashSet<String>, analyser: &mut Analyser) -> Option<String> {
    let body = clip_bytes(node.body(), MAX_BODY);
    let mut all: Vec<(usize, &str)> = Vec::new();
    let mut paragraph = 0;
    for line in body.lines() {
        let begins = line.trim_start().starts_with(['-', '+', '|', '#', ':']);
        paragraph += usize::from(begins || !is_prose(line));
        all.extend(sentences(line).filter(|_| is_prose(line)).map(|sentence| (paragraph, sentence)));
    }
    let mut best: Option<(usize, usize)> = None;
    for (at, (_, sentence)) in all.iter().enumerate() {
        let have = held_by(sentence, analyser);
        let score = wanted.iter().filter(|word| have.contains(*word)).count();
        if best.is_none_or(|(most, _)| score > most) {
            best = Some((score, at));
        }
    }
    let (_, at) = best?;
    let (here, sentence) = all.get(at)?;
    let mut text = around(&one_line(sentence), wanted, analyser);
    for (_, next) in all.iter().skip(at + 1).take_while(|(paragraph, _)| paragraph == here) {
        let next = one_line(next);
        if text.chars().count() + next.chars().count() >= LONGEST {
            break;
        }
        text.push(' ');
        text.push_str(&next);
    }
    Some(text).filter(|text| !text.is_empty())
}

/// Returns a part of a long sentence that begins a little before the first word that is wanted.
fn around(sentence: &str, wanted: &HashSet<String>, analyser: &mut Analyser) -> String {
    if sentence.chars().count() <= LONGEST {
        return sentence.to_string();
    }
    let words: Vec<&str> = sentence.split(' ').collect();
    let hit =
        words.iter().position(|word| held_by(word, analyser).iter().any(|stem| wanted.contains(stem))).unwrap_or(0);
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
    let telling = node.properties().filter(|(key, value)| !BOOKKEEPING.contains(key) && !value.is_empty());
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

/// Returns the words of a text as the index compares them: stems, and pairs of characters of scripts without spaces.
fn stems(text: &str, analyser: &mut Analyser) -> HashSet<String> {
    let mut found = HashSet::new();
    pieces(text, |piece| put(piece, analyser, &mut found));
    found
}

/// Returns the same of a text that is looked through: a single character of such a script is found in it, too.
fn held_by(text: &str, analyser: &mut Analyser) -> HashSet<String> {
    let mut found = HashSet::new();
    cuts(text, |_, cut| match cut {
        Cut::Piece(piece) => put(piece, analyser, &mut found),
        Cut::Sign(sign) => {
            found.insert(sign.to_string());
        }
    });
    found
}

fn put(piece: Piece<'_>, analyser: &mut Analyser, found: &mut HashSet<String>) {
    match piece {
        Piece::Word(word) if is_stop_word(word) => {}
        Piece::Word(word) => {
            found.insert(analyser.stem(word).to_string());
        }
        Piece::Gram(pair) => {
            found.insert(pair.to_string());
        }
        // Whoever looks for a year finds its days.
        Piece::Day(day) => found.extend(day.split('-').map(str::to_string)),
    }
}

fn clip_bytes(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or("")
}
