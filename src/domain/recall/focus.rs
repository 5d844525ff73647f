//! “This”, “it” and “that”: the heading at the user's point, which is where the user is and no text of notes.

use crate::domain::memory::view::NodeRef;
use crate::domain::recall::answer::{Notes, Reply};
use crate::domain::recall::grammar::is_command;
use crate::domain::recall::request::{Planning, Request, THIS};
use crate::domain::recall::show::{link, place, plain, without_cookies};
use serde_json::Value;

/// A request in which no word stands for the heading at point any more.
pub(super) struct Settled {
    /// The request.
    pub request: Request,
    /// The heading at point, when the request meant it.
    pub meant: Option<Meant>,
}

/// The heading that “this” meant.
pub(super) struct Meant(NodeRef);

impl Meant {
    /// Says in an answer, and in what it proposes, which heading was meant.
    pub fn named_in(self, mut reply: Reply) -> Reply {
        let Meant(node) = self;
        reply.text = format!("“This” is {}, the heading at point — {}.\n{}", link(&node), place(&node), reply.text);
        reply.source(&node);
        for call in &mut reply.calls {
            if let Some(Value::String(why)) = call.args.get_mut("explanation") {
                why.push_str(&format!(" “This” was the heading at point, “{}”.", plain(node.title())));
            }
        }
        reply
    }
}

/// Puts the id of the heading at point where the user said “this”.
///
/// # Errors
/// A reply that says what to do, when no heading is at point, it has no title and would be changed, or the request
/// says nothing else.
pub(super) fn settle(request: &Request, notes: &Notes<'_>) -> Result<Settled, Reply> {
    let mut request = planned(request.clone())?;
    let mut named = names(&mut request);
    named.retain(|name| name.as_str() == THIS);
    if named.is_empty() {
        return Ok(Settled { request, meant: None });
    }
    let node = notes.focus.as_ref().and_then(|id| notes.view.get(id));
    let Some(node) = node.filter(|node| node.index > 0) else { return Err(nowhere()) };
    for name in named {
        *name = node.id().as_str().to_string();
    }
    if is_command(&request) && plain(&without_cookies(node.title())).trim().is_empty() {
        return Err(untitled(&node));
    }
    Ok(Settled { request, meant: Some(Meant(node)) })
}

/// Nobody can tell from a plan which heading an untitled one is, and point stands on one mostly by chance.
fn untitled(node: &NodeRef) -> Reply {
    let mut reply = Reply::words(format!(
        "“This” would be {}, the heading in line {} — {}. It has no title, so I propose nothing for it. Name the \
         heading that you mean, or give this one a title and ask again.",
        link(node),
        node.line(),
        place(node)
    ));
    reply.source(node);
    reply
}

fn nowhere() -> Reply {
    Reply::words(
        "I cannot tell what “this” is, because no heading is at point. Put point on the heading in a buffer with \
         passepartout-mode and ask again, or name the heading.",
    )
}

/// “Remind me of this tomorrow” plans the heading itself; a note or a todo that says only “this” says nothing.
fn planned(request: Request) -> Result<Request, Reply> {
    match request {
        Request::AddTodo { title, under: None, scheduled, deadline } if is_this(&title) => {
            let scheduled = scheduled.map(|when| (Planning::Scheduled, Some(when)));
            let plans: Vec<_> =
                scheduled.into_iter().chain(deadline.map(|when| (Planning::Deadline, Some(when)))).collect();
            if plans.is_empty() {
                return Err(Reply::words(
                    "Please say what is to be done, for example “add a todo under this: call back”.",
                ));
            }
            Ok(Request::Schedule { target: THIS.to_string(), plans })
        }
        Request::Note { text, under: None } if is_this(&text) => {
            Err(Reply::words("Please say what to note, for example “add a note to this: the code is 4711”."))
        }
        request => Ok(request),
    }
}

fn is_this(text: &str) -> bool {
    ["this", "it", "that"].contains(&text.trim().to_lowercase().as_str())
}

/// Returns every name of a heading in a request.
fn names(request: &mut Request) -> Vec<&mut String> {
    match request {
        Request::Due { within, .. }
        | Request::Scheduled { within, .. }
        | Request::Overdue { within }
        | Request::Agenda { within, .. }
        | Request::Waiting { within }
        | Request::Projects { within }
        | Request::Todos { within, .. }
        | Request::Finished { within, .. } => within.iter_mut().collect(),
        Request::AddTodo { under, .. } | Request::Note { under, .. } => under.iter_mut().collect(),
        Request::When { target }
        | Request::Schedule { target, .. }
        | Request::ScheduleWhen { target, .. }
        | Request::MarkDone { target }
        | Request::SetTodo { target, .. }
        | Request::SetProperty { target, .. } => vec![target],
        Request::WhoOrWhat { name } => vec![name],
        Request::Move { target, to } => vec![target, to],
        Request::StuckProjects
        | Request::Tagged { .. }
        | Request::ChangedSince { .. }
        | Request::Find { .. }
        | Request::Both { .. }
        | Request::NoDate { .. }
        | Request::NoTags
        | Request::NoCommand { .. }
        | Request::Help
        | Request::Unknown => Vec::new(),
    }
}
