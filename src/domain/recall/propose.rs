//! Proposals: calls of tools, each with an explanation. The gates judge them like any model's.

use crate::domain::memory::card;
use crate::domain::memory::view::NodeRef;
use crate::domain::port::Call;
use crate::domain::recall::answer::{Notes, Reply, missing, shown, the_one, told_apart};
use crate::domain::recall::request::{Planning, When};
use crate::domain::recall::resolve::{Among, Resolved, resolve};
use crate::domain::recall::show::{clip, keyword, link, one_line, plain};
use serde_json::{Map, Value};

/// Longest title of a new heading, in characters.
const LONGEST_TITLE: usize = 200;
/// Longest title made from a note, in characters.
const LONGEST_NOTE_TITLE: usize = 80;

/// Where a new heading goes.
enum Home {
    Under(NodeRef),
    File(NodeRef),
}

impl Home {
    fn node(&self) -> &NodeRef {
        match self {
            Home::Under(node) | Home::File(node) => node,
        }
    }

    fn of(node: NodeRef) -> Home {
        if node.index == 0 { Home::File(node) } else { Home::Under(node) }
    }

    fn put(&self, args: &mut Map<String, Value>) {
        match self {
            Home::Under(node) => text(args, "parent", node.id().as_str()),
            Home::File(node) => text(args, "file", node.file()),
        }
    }
}

/// Proposes a new heading with the first keyword of its file.
pub(super) fn add_todo(
    notes: &Notes<'_>,
    title: &str,
    under: Option<&str>,
    scheduled: Option<When>,
    deadline: Option<When>,
) -> Reply {
    let home = match home(notes, under, "add a todo call mum under Family") {
        Ok(home) => home,
        Err(reply) => return reply,
    };
    let todo = home.node().card().keywords().find(|keyword| !keyword.done).map_or("TODO", |keyword| keyword.name);
    let title = clip(&one_line(title), LONGEST_TITLE);
    let mut args = Map::new();
    text(&mut args, "title", &title);
    home.put(&mut args);
    text(&mut args, "todo", todo);
    let mut dates = String::new();
    for (name, when) in [("scheduled", scheduled), ("deadline", deadline)] {
        if let Some(when) = when {
            text(&mut args, name, &when.to_string());
            dates.push_str(&format!("{}{name} {when}", if dates.is_empty() { " (" } else { ", " }));
        }
    }
    let close = if dates.is_empty() { "" } else { ")" };
    let what = format!("{todo} “{}”{dates}{close}", plain(&title));
    let why = format!("You asked to add {what} to “{}”.", plain(home.node().title()));
    let mut reply = Reply::words(format!("I propose to add {what} to {}.", link(home.node())));
    reply.source(home.node());
    reply.calls.push(call(1, "org-add-heading", args, &why));
    reply
}

/// Proposes a new heading that keeps a text.
pub(super) fn note(notes: &Notes<'_>, words: &str, under: Option<&str>) -> Reply {
    let home = match home(notes, under, "note: the filter is 20x25 under House") {
        Ok(home) => home,
        Err(reply) => return reply,
    };
    let first = one_line(words.trim().lines().next().unwrap_or(""));
    let title = note_title(&first);
    let captured = format!("Captured on [{}]", notes.now.strftime("%Y-%m-%d %a %H:%M"));
    let body = if title == words.trim() { captured } else { format!("{}\n\n{captured}", words.trim()) };
    let mut args = Map::new();
    text(&mut args, "title", &title);
    home.put(&mut args);
    text(&mut args, "body", &body);
    let why = format!("You asked to keep the note “{}” in “{}”.", plain(&title), plain(home.node().title()));
    let mut reply = Reply::words(format!("I propose to keep “{}” as a note in {}.", plain(&title), link(home.node())));
    reply.source(home.node());
    reply.calls.push(call(1, "org-add-heading", args, &why));
    reply
}

/// Returns the first sentence, or as much of it as makes a title.
fn note_title(first: &str) -> String {
    let sentence = first.split_once(". ").map_or(first, |(sentence, _)| sentence);
    if sentence.chars().count() <= LONGEST_NOTE_TITLE {
        return sentence.to_string();
    }
    let mut title = String::new();
    for word in sentence.split(' ') {
        if title.chars().count() + word.chars().count() >= LONGEST_NOTE_TITLE {
            break;
        }
        title.push_str(word);
        title.push(' ');
    }
    let title = title.trim_end();
    if title.is_empty() { clip(sentence, LONGEST_NOTE_TITLE) } else { format!("{title} …") }
}

/// Finds where a new heading goes: where the user said, else the inbox.
fn home(notes: &Notes<'_>, under: Option<&str>, example: &str) -> Result<Home, Reply> {
    let Some(name) = under else { return inbox(notes, example) };
    match the_one(notes, name, Among::Places) {
        Ok(node) => Ok(Home::of(node)),
        Err(reply) if is_inbox(name) && reply.sources.is_empty() => inbox(notes, example),
        Err(reply) => Err(reply),
    }
}

fn is_inbox(name: &str) -> bool {
    matches!(name.to_lowercase().as_str(), "inbox" | "list" | "todo list" | "my list" | "todos" | "tasks" | "journal")
}

/// Finds the inbox: a file called so, else a heading, else a file of tasks. Two of a kind are asked about.
fn inbox(notes: &Notes<'_>, example: &str) -> Result<Home, Reply> {
    let files = |name: &'static str| {
        move |node: &NodeRef| {
            let file = node.file().rsplit('/').next().unwrap_or("").to_lowercase();
            node.index == 0 && file.strip_suffix(".org") == Some(name)
        }
    };
    let heading = |node: &NodeRef| node.index > 0 && node.title().trim().eq_ignore_ascii_case("inbox");
    let kinds: [&dyn Fn(&NodeRef) -> bool; 6] =
        [&files("inbox"), &heading, &files("refile"), &files("todo"), &files("tasks"), &files("gtd")];
    for kind in kinds {
        let mut found: Vec<NodeRef> = notes.view.nodes().filter(|node| kind(node)).take(9).collect();
        if found.len() > 1 {
            let mut reply = Reply::words("There is more than one inbox, so I propose nothing:");
            told_apart(&mut reply, notes, &found, Among::Places);
            return Err(reply);
        }
        if let Some(node) = found.pop() {
            return Ok(Home::of(node));
        }
    }
    Err(Reply::words(format!(
        "Please say where it goes, for example “{example}”. A file called inbox.org would take what has no place."
    )))
}

/// Proposes to set or remove dates of a heading.
pub(super) fn schedule(notes: &Notes<'_>, target: &str, plans: &[(Planning, Option<When>)]) -> Reply {
    let node = match the_one(notes, target, Among::Open) {
        Ok(node) => node,
        Err(reply) => return reply,
    };
    let mut parts = Vec::new();
    let mut args = target_args(&node);
    for (planning, when) in plans {
        let has = match planning {
            Planning::Scheduled => node.planning(card::Planning::Scheduled).is_some(),
            Planning::Deadline => node.planning(card::Planning::Deadline).is_some(),
        };
        if when.is_none() && !has {
            let noun = match planning {
                Planning::Scheduled => "is not scheduled",
                Planning::Deadline => "has no deadline",
            };
            let mut reply = Reply::words(format!("{} {noun}, so there is nothing to remove.", link(&node)));
            reply.source(&node);
            return reply;
        }
        let part = match (planning, when) {
            (Planning::Scheduled, Some(when)) => format!("schedule it for {}", spoken(*when)),
            (Planning::Deadline, Some(when)) => format!("set its deadline to {}", spoken(*when)),
            (Planning::Scheduled, None) => "take away its scheduled date".to_string(),
            (Planning::Deadline, None) => "take away its deadline".to_string(),
        };
        parts.push(part);
    }
    // One call for both dates: two edits of one heading would each be judged on a text that the other one changes.
    let last = |wanted: Planning| plans.iter().rev().find(|(planning, _)| *planning == wanted).map(|(_, when)| *when);
    let (scheduled, deadline) = (last(Planning::Scheduled), last(Planning::Deadline));
    let first = if scheduled.is_some() { Planning::Scheduled } else { Planning::Deadline };
    text(&mut args, "kind", first.word());
    if let Some(when) = scheduled.or(deadline).flatten() {
        text(&mut args, "when", &when.to_string());
    }
    if let (Some(_), Some(deadline)) = (scheduled, deadline) {
        text(&mut args, "deadline", &deadline.map(|when| when.to_string()).unwrap_or_default());
    }
    let wanted = parts.join(" and ");
    let why = format!("You asked about “{}”: {wanted}.", plain(node.title()));
    let mut reply = Reply::words(format!("For {} I propose to {wanted}.", link(&node)));
    reply.source(&node);
    reply.calls.push(call(1, "org-schedule", args, &why));
    reply
}

/// Asks for the day of a plan that has none.
pub(super) fn when(notes: &Notes<'_>, target: &str, planning: Planning) -> Reply {
    let node = match the_one(notes, target, Among::Open) {
        Ok(node) => node,
        Err(reply) => return reply,
    };
    let title = plain(node.title());
    let mut reply = Reply::words(match planning {
        Planning::Scheduled => {
            format!(
                "For when shall {} be scheduled? Please say, for example, “schedule {title} for Friday”.",
                link(&node)
            )
        }
        Planning::Deadline => {
            format!("By when is {} due? Please say, for example, “set the deadline of {title} to Friday”.", link(&node))
        }
    });
    reply.source(&node);
    reply
}

/// Proposes the first keyword of the file that means done.
pub(super) fn mark_done(notes: &Notes<'_>, target: &str) -> Reply {
    let node = match the_one(notes, target, Among::Open) {
        Ok(node) => node,
        Err(reply) => return reply,
    };
    if let Some(keyword) = keyword(&node).filter(|keyword| keyword.done) {
        return already(&node, keyword.name);
    }
    match node.card().keywords().find(|keyword| keyword.done) {
        Some(keyword) => set(&node, keyword.name),
        None => no_keyword(&node, "done"),
    }
}

/// Proposes a keyword; it must be one of the file's.
pub(super) fn set_todo(notes: &Notes<'_>, target: &str, state: Option<&str>) -> Reply {
    let among = if state.is_none() { Among::Headings } else { Among::Open };
    let node = match the_one(notes, target, among) {
        Ok(node) => node,
        Err(reply) => return reply,
    };
    let Some(state) = state else {
        if keyword(&node).is_some_and(|keyword| !keyword.done) {
            return already(&node, "open");
        }
        let first = node.card().keywords().find(|keyword| !keyword.done);
        return first.map_or_else(|| no_keyword(&node, "open"), |keyword| set(&node, keyword.name));
    };
    let Some(found) = keyword_like(&node, state) else { return no_keyword(&node, state) };
    if keyword(&node).is_some_and(|keyword| keyword.name == found) {
        return already(&node, &found);
    }
    set(&node, &found)
}

/// Finds a keyword of the node's file: the same, or one that means the same.
fn keyword_like(node: &NodeRef, state: &str) -> Option<String> {
    const ALIKE: &[&[&str]] = &[
        &["CANCELLED", "CANCELED", "CANCEL", "CNCL", "KILL", "DROPPED"],
        &["WAITING", "WAIT", "WAITINGFOR"],
        &["HOLD", "ONHOLD", "ON-HOLD", "PAUSED"],
        &["STARTED", "DOING", "INPROGRESS", "IN-PROGRESS", "STRT", "PROG"],
        &["SOMEDAY", "MAYBE"],
        &["BLOCKED", "STUCK"],
        &["DELEGATED"],
    ];
    let named = |word: &str| node.card().keywords().find(|keyword| keyword.name.eq_ignore_ascii_case(word));
    let group = ALIKE.iter().find(|group| group.contains(&state)).copied().unwrap_or(&[]);
    named(state).or_else(|| group.iter().find_map(|word| named(word))).map(|keyword| keyword.name.to_string())
}

fn set(node: &NodeRef, state: &str) -> Reply {
    let mut args = target_args(node);
    text(&mut args, "state", state);
    let why = format!("You asked to set “{}” to {state}.", plain(node.title()));
    let mut reply = Reply::words(format!("I propose to set {} to {state}.", link(node)));
    reply.source(node);
    reply.calls.push(call(1, "org-set-todo", args, &why));
    reply
}

fn already(node: &NodeRef, state: &str) -> Reply {
    let mut reply = Reply::words(format!("{} is {state} already.", link(node)));
    reply.source(node);
    reply
}

fn no_keyword(node: &NodeRef, state: &str) -> Reply {
    let names: Vec<&str> = node.card().keywords().map(|keyword| keyword.name).collect();
    let mut reply = Reply::words(format!(
        "The file of {} has no keyword for “{state}”. Its keywords are: {}.",
        link(node),
        names.join(", ")
    ));
    reply.source(node);
    reply
}

/// Proposes to set or remove a property.
pub(super) fn set_property(notes: &Notes<'_>, target: &str, property: &str, value: Option<&str>) -> Reply {
    let node = match the_one(notes, target, Among::Open) {
        Ok(node) => node,
        Err(reply) => return reply,
    };
    if value.is_none() && node.property(property).is_none() {
        let mut reply = Reply::words(format!("{} has no property {property}.", link(&node)));
        reply.source(&node);
        return reply;
    }
    let mut args = target_args(&node);
    text(&mut args, "property", property);
    let what = match value {
        Some(value) => {
            let value = clip(&one_line(value), LONGEST_TITLE);
            text(&mut args, "value", &value);
            format!("set the property {property} of {} to “{}”", link(&node), plain(&value))
        }
        None => format!("take away the property {property} of {}", link(&node)),
    };
    let why = format!("You asked to change the property {property} of “{}”.", plain(node.title()));
    let mut reply = Reply::words(format!("I propose to {what}."));
    reply.source(&node);
    reply.calls.push(call(1, "org-set-property", args, &why));
    reply
}

/// Proposes to put a heading with all below it under another one.
pub(super) fn move_to(notes: &Notes<'_>, target: &str, to: &str) -> Reply {
    let node = match the_one(notes, target, Among::Open) {
        Ok(node) => node,
        Err(reply) => return reply,
    };
    let home = match resolve(notes.view, to, Among::Places) {
        Resolved::One(place) => Home::of(place),
        Resolved::None(nearest) => return missing(to, &nearest),
        Resolved::Close(_) => match the_one(notes, to, Among::Places) {
            Ok(place) => Home::of(place),
            Err(reply) => return reply,
        },
        Resolved::Several(places) => {
            // The heading itself is no place for it.
            let mut others = places.into_iter().filter(|place| place.id() != node.id());
            match (others.next(), others.next()) {
                (Some(only), None) => Home::of(only),
                _ => match the_one(notes, to, Among::Places) {
                    Ok(place) => Home::of(place),
                    Err(reply) => return reply,
                },
            }
        }
    };
    let place = home.node();
    let same_file = place.file() == node.file();
    let inside = same_file && (node.index..node.after()).contains(&place.index);
    let there = same_file && node.card().parent(node.index) == Some(place.index);
    if inside || there {
        let why = if inside { "cannot stand below itself" } else { "stands there already" };
        let mut reply = Reply::words(format!("{} {why}, so I propose nothing.", link(&node)));
        reply.source(&node);
        return reply;
    }
    let mut args = target_args(&node);
    home.put(&mut args);
    let why = format!("You asked to move “{}” to “{}”.", plain(node.title()), plain(place.title()));
    let mut reply = Reply::words(format!("I propose to move {} to {}.", link(&node), link(place)));
    reply.source(&node);
    reply.source(place);
    reply.calls.push(call(1, "org-move", args, &why));
    reply
}

fn target_args(node: &NodeRef) -> Map<String, Value> {
    let mut args = Map::new();
    text(&mut args, "id", node.id().as_str());
    args
}

fn text(args: &mut Map<String, Value>, name: &str, value: &str) {
    args.insert(name.to_string(), Value::String(value.to_string()));
}

fn spoken(when: When) -> String {
    format!("{} {when}", when.date.strftime("%A"))
}

fn call(number: usize, tool: &str, mut args: Map<String, Value>, explanation: &str) -> Call {
    text(&mut args, "explanation", &shown_whole(explanation));
    Call { id: format!("recall-{number}"), tool: tool.to_string(), args }
}

fn shown_whole(explanation: &str) -> String {
    let words = one_line(explanation);
    if words.is_empty() { shown("You asked for it.") } else { words }
}
