//! From a request and the memory to an answer in Org, with links, sources, and proposals.
//!
//! The text of notes is quoted, one line each, and read for nothing else: it is never parsed as a request.

use crate::domain::id::NodeId;
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::port::Call;
use crate::domain::recall::hint::hint;
use crate::domain::recall::request::Request;
use crate::domain::recall::resolve::{Among, Resolved, resolve};
use crate::domain::recall::{changed, focus, list, passage, propose, show};
use jiff::Timestamp;
use jiff::civil::DateTime;

/// What is said at the end of every answer.
pub const CLOSING: &str = "No language model took part: this was read from your notes by fixed rules.";

/// Ranked full-text search: query and limit to nodes with scores, best first.
pub type Search<'a> = dyn Fn(&str, usize) -> Vec<(NodeId, f32)> + 'a;

/// All that an answer is made from.
pub struct Notes<'a> {
    /// The memory.
    pub view: &'a View,
    /// Finds nodes by text.
    pub search: &'a Search<'a>,
    /// The user's civil time.
    pub now: DateTime,
    /// The heading at the user's point, if there is one.
    pub focus: Option<NodeId>,
    /// What the view is narrowed to by the user's focus, if it is.
    pub narrowed: Option<Narrowed>,
    /// Turns the time of a file into the user's civil time.
    pub local: &'a dyn Fn(Timestamp) -> DateTime,
}

/// What the user's focus narrows answers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Narrowed {
    /// That only this is looked at, and the way out, as a sentence.
    pub words: String,
    /// The heading whose title stands there, if one does.
    pub source: Option<NodeId>,
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// What to say, in Org.
    pub text: String,
    /// The nodes that it draws on, each once, in the order of use.
    pub sources: Vec<NodeId>,
    /// What it proposes to do.
    pub calls: Vec<Call>,
}

impl Reply {
    /// Makes a reply of words alone.
    pub(super) fn words(text: impl Into<String>) -> Reply {
        Reply { text: text.into(), ..Reply::default() }
    }

    /// Adds a line that shows a node.
    pub(super) fn line(&mut self, node: &NodeRef, line: &str) {
        self.text.push('\n');
        self.text.push_str(line);
        self.source(node);
    }

    /// Names a node as a source.
    pub(super) fn source(&mut self, node: &NodeRef) {
        if !self.sources.contains(node.id()) {
            self.sources.push(node.id().clone());
        }
    }
}

/// Answers one request.
pub fn answer(request: &Request, notes: &Notes<'_>) -> Reply {
    let mut reply = match focus::settle(request, notes) {
        Ok(focus::Settled { request, meant: None }) => inner(&request, notes),
        Ok(focus::Settled { request, meant: Some(meant) }) => meant.named_in(inner(&request, notes)),
        Err(reply) => reply,
    };
    // What lies outside of the focus is missing from any answer, and nobody sees what is missing.
    if let Some(narrowed) = notes.narrowed.as_ref().filter(|_| looks(request)) {
        reply.text.push_str(&format!("\n{}", narrowed.words));
        if let Some(source) = narrowed.source.as_ref().filter(|source| !reply.sources.contains(source)) {
            reply.sources.push(source.clone());
        }
    }
    reply.text.push_str("\n\n");
    reply.text.push_str(CLOSING);
    reply
}

/// Returns whether a request is answered from notes.
fn looks(request: &Request) -> bool {
    match request {
        Request::NoDate { .. }
        | Request::NoTags
        | Request::Both { .. }
        | Request::Help
        | Request::NoCommand { .. }
        | Request::Unknown => false,
        Request::Due { .. }
        | Request::Scheduled { .. }
        | Request::Overdue { .. }
        | Request::Agenda { .. }
        | Request::Waiting { .. }
        | Request::Projects { .. }
        | Request::StuckProjects
        | Request::Todos { .. }
        | Request::Tagged { .. }
        | Request::Finished { .. }
        | Request::ChangedSince { .. }
        | Request::When { .. }
        | Request::Find { .. }
        | Request::WhoOrWhat { .. }
        | Request::AddTodo { .. }
        | Request::Note { .. }
        | Request::Schedule { .. }
        | Request::ScheduleWhen { .. }
        | Request::MarkDone { .. }
        | Request::SetTodo { .. }
        | Request::SetProperty { .. }
        | Request::Move { .. } => true,
    }
}

fn inner(request: &Request, notes: &Notes<'_>) -> Reply {
    match request {
        Request::Due { window, within } => list::due(notes, window, within.as_deref()),
        Request::Scheduled { window, within } => list::scheduled(notes, window, within.as_deref()),
        Request::Overdue { within } => list::overdue(notes, within.as_deref()),
        Request::Agenda { window, within } => list::agenda(notes, window, within.as_deref()),
        Request::Waiting { within } => list::waiting(notes, within.as_deref()),
        Request::Projects { within } => list::projects(notes, within.as_deref()),
        Request::StuckProjects => list::stuck(notes),
        Request::Todos { state, within } => list::todos(notes, state.as_deref(), within.as_deref()),
        Request::Tagged { tag } => list::tagged(notes, tag),
        Request::Finished { window, within } => list::finished(notes, window, within.as_deref()),
        Request::ChangedSince { since } => changed::changed(notes, *since),
        Request::When { target } => passage::when(notes, target),
        Request::Find { text } => passage::find(notes, text),
        Request::WhoOrWhat { name } => passage::who_or_what(notes, name),
        Request::AddTodo { title, under, scheduled, deadline } => {
            propose::add_todo(notes, title, under.as_deref(), *scheduled, *deadline)
        }
        Request::Note { text, under } => propose::note(notes, text, under.as_deref()),
        Request::Schedule { target, plans } => propose::schedule(notes, target, plans),
        Request::ScheduleWhen { target, planning } => propose::when(notes, target, *planning),
        Request::NoDate { words } => Reply::words(format!("“{}” is no date, so I propose nothing.", shown(words))),
        Request::NoTags => {
            Reply::words("I cannot change tags, so I propose nothing. In Emacs, C-c C-q on the heading sets them.")
        }
        Request::MarkDone { target } => propose::mark_done(notes, target),
        Request::SetTodo { target, state } => propose::set_todo(notes, target, state.as_deref()),
        Request::SetProperty { target, property, value } => {
            propose::set_property(notes, target, property, value.as_deref())
        }
        Request::Move { target, to } => propose::move_to(notes, target, to),
        Request::Both { first, second } => Reply::words(both(first, second)),
        Request::Help => Reply::words(HELP),
        Request::NoCommand { name } => Reply::words(format!("There is no “/{}”.\n{HELP}", shown(name))),
        Request::Unknown => Reply::words(format!("I did not understand that.\n{HELP}")),
    }
}

const HELP: &str = "Without a language model I can look things up in your notes and propose changes to them:
- what is due this week?  what is overdue?  what is scheduled for Friday?
- agenda for tomorrow;  what am I waiting for?  which projects are stuck?
- open tasks in Kitchen;  what is tagged errand?  what did I finish last week?
- find boiler code;  who is Ada?  when did I last water the plants?  what changed since Monday?
- add a todo call mum under Family by 25 Nov;  note: the filter is 20x25
- schedule call mum for Friday at 15:00;  mark call mum done;  move call mum under Home
- mark this done;  schedule this for Friday;  add a note to this: …  (“this” is the heading at point)
Nothing is changed before you approve it.";

/// Says that one request at a time is taken, and what was understood.
fn both(first: &str, second: &str) -> String {
    format!(
        "I take one request at a time, so I have done nothing yet. I read these two:\n- {}\n- {}\n\
         Please send the first, and then the other. If it is one request, put the title into quotation marks.",
        shown(first),
        shown(second)
    )
}

/// Finds the one heading that a name means, or says in a reply why there is none.
pub(super) fn the_one(notes: &Notes<'_>, name: &str, among: Among) -> Result<NodeRef, Reply> {
    match resolve(notes.view, name, among) {
        Resolved::One(node) => Ok(node),
        Resolved::Several(nodes) => {
            let mut reply = Reply::words(format!("“{}” may be any of these, so I propose nothing:", shown(name)));
            told_apart(&mut reply, notes, &nodes, among);
            Err(reply)
        }
        Resolved::Close(nodes) => Err(close(notes, name, &nodes, among)),
        Resolved::None(nearest) => Err(missing(name, &nearest)),
    }
}

/// Shows what a name fits in part, and how to name it whole.
fn close(notes: &Notes<'_>, name: &str, nodes: &[NodeRef], among: Among) -> Reply {
    let fit = if nodes.len() == 1 { "This one fits in part" } else { "These fit in part" };
    let mut reply = Reply::words(format!("No heading is called “{}”, so I propose nothing. {fit}:", shown(name)));
    candidates(&mut reply, nodes);
    let example = nodes.iter().find_map(|node| hint(notes.view, node, among));
    reply.text.push_str(&match example {
        Some(example) => format!("\nPlease say it again with the whole title, for example “{example}”."),
        None => format!("\n{BY_POINT}"),
    });
    reply
}

/// What is said where no name that can be typed means one heading alone.
const BY_POINT: &str = "Put point on the one that you mean and say “this”.";

/// Lists nodes, each with a name that means it alone, and asks for one of the names.
pub(super) fn told_apart(reply: &mut Reply, notes: &Notes<'_>, nodes: &[NodeRef], among: Among) {
    let (mut named, mut nameless) = (false, false);
    for node in nodes {
        let name = hint(notes.view, node, among);
        named |= name.is_some();
        nameless |= name.is_none();
        let name = name.map(|name| format!(": “{name}”")).unwrap_or_default();
        let line = format!("- {} — {}{name}", show::headline(node), show::place(node));
        reply.line(node, &line);
    }
    if named {
        reply.text.push_str("\nPlease say it again with one of the names in quotation marks.");
    }
    if nameless {
        reply.text.push_str(&format!("\n{BY_POINT}"));
    }
}

/// Says that there is no such heading, and what is nearest.
pub(super) fn missing(name: &str, nearest: &[NodeRef]) -> Reply {
    let mut reply = Reply::words(format!("I found no heading called “{}”.", shown(name)));
    if !nearest.is_empty() {
        reply.text.push_str(" The nearest are:");
        candidates(&mut reply, nearest);
    }
    reply
}

fn candidates(reply: &mut Reply, nodes: &[NodeRef]) {
    for node in nodes {
        let line = format!("- {} — {}", show::headline(node), show::place(node));
        reply.line(node, &line);
    }
}

/// Returns what the user typed as it is quoted in an answer.
pub(super) fn shown(typed: &str) -> String {
    show::plain(typed)
}
