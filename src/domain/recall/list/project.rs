//! Projects: headings with the tag or keyword, or what stands below a heading or in a folder called “Projects”.

use super::{MAX_LINES, Place, is_live, more, stamp};
use crate::domain::memory::card::Planning;
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::recall::answer::{Notes, Reply};
use crate::domain::recall::resolve::is_open;
use crate::domain::recall::show::{day, headline, keyword, place};
use jiff::civil::Date;

/// Shows projects with their own dates, what is open in them, the next thing to do, and the nearest deadline below.
pub(in crate::domain::recall) fn projects(notes: &Notes<'_>, within: Option<&str>) -> Reply {
    let place = match Place::find(notes, within) {
        Ok(place) => place,
        Err(reply) => return reply,
    };
    let projects: Vec<NodeRef> = all(notes.view).into_iter().filter(|node| place.holds(node)).collect();
    show(&projects, &format!("Projects{}", place.words()), NONE)
}

/// Shows projects in which nothing is next, scheduled, or has a deadline.
pub(in crate::domain::recall) fn stuck(notes: &Notes<'_>) -> Reply {
    let projects: Vec<NodeRef> = all(notes.view).into_iter().filter(|node| Progress::of(node).is_stuck()).collect();
    show(&projects, "Stuck projects: nothing in them is NEXT, scheduled, or has a deadline", "No project is stuck.")
}

const NONE: &str =
    "I found no projects. A project is a heading with the tag “project”, or one below a heading called “Projects”.";

fn show(projects: &[NodeRef], head: &str, none: &str) -> Reply {
    if projects.is_empty() {
        return Reply::words(none);
    }
    let mut reply = Reply::words(format!("{head} ({}):", projects.len()));
    for node in projects.iter().take(MAX_LINES) {
        let progress = Progress::of(node);
        let mut parts = vec![format!("{} open, {} done", progress.open, progress.done)];
        for (word, planning) in [("scheduled", Planning::Scheduled), ("deadline", Planning::Deadline)] {
            let stamp = stamp(node, planning);
            parts.extend(stamp.map(|stamp| format!("{word} {}", day(stamp.date))));
        }
        let line = format!("- {}: {} — {}", headline(node), parts.join(", "), place(node));
        reply.line(node, &line);
        let nearest = progress.nearest.map(|(date, node)| (node, format!(" deadline {}", day(date))));
        let same = |node: &NodeRef| nearest.as_ref().is_some_and(|(nearest, _)| nearest.id() == node.id());
        // What is to be done next, unless its deadline is the nearest one and is told anyhow.
        let next = progress.next.filter(|next| !same(next)).map(|next| (next, String::new()));
        for (node, date) in next.into_iter().chain(nearest) {
            let line = format!("  - next: {}{date}", headline(&node));
            reply.line(&node, &line);
        }
    }
    more(&mut reply, projects.len());
    reply
}

/// What is going on in a project.
struct Progress {
    open: usize,
    done: usize,
    next: Option<NodeRef>,
    /// The nearest deadline below the project, and whose it is.
    nearest: Option<(Date, NodeRef)>,
    planned: bool,
}

impl Progress {
    fn of(project: &NodeRef) -> Progress {
        let mut progress = Progress { open: 0, done: 0, next: None, nearest: None, planned: false };
        let mut first = None;
        for node in project.with_descendants() {
            let own = node.index == project.index;
            if keyword(&node).is_some_and(|keyword| keyword.done) && !own {
                progress.done += 1;
            }
            if !is_live(&node) {
                continue;
            }
            let deadline = stamp(&node, Planning::Deadline).map(|stamp| stamp.date);
            if own {
                continue;
            }
            if let Some(date) = deadline.filter(|date| progress.nearest.as_ref().is_none_or(|(least, _)| date < least))
            {
                progress.nearest = Some((date, node.clone()));
            }
            let is_next = keyword(&node).is_some_and(|keyword| keyword.name.eq_ignore_ascii_case("NEXT"));
            progress.planned |= is_next || deadline.is_some() || node.planning(Planning::Scheduled).is_some();
            if is_open(&node) {
                progress.open += 1;
                if is_next && progress.next.is_none() {
                    progress.next = Some(node);
                } else if first.is_none() {
                    first = Some(node);
                }
            }
        }
        progress.next = progress.next.or(first);
        progress
    }

    fn is_stuck(&self) -> bool {
        !self.planned
    }
}

fn all(view: &View) -> Vec<NodeRef> {
    let marked: Vec<NodeRef> = view.nodes().filter(is_marked).collect();
    if !marked.is_empty() {
        return marked;
    }
    let below = |node: &NodeRef| node.parent().is_some_and(|parent| is_projects(&parent));
    let listed: Vec<NodeRef> = view.nodes().filter(|node| is_live(node) && below(node)).collect();
    if !listed.is_empty() {
        return listed;
    }
    let folder = |node: &NodeRef| {
        let above = node.file().rsplit('/').nth(1).unwrap_or("");
        node.index == 0 && above.eq_ignore_ascii_case("projects")
    };
    view.nodes().filter(folder).collect()
}

/// Returns whether a heading has the tag or a keyword of projects, and is not done.
fn is_marked(node: &NodeRef) -> bool {
    let tag = node.tags().any(|tag| tag.trim_start_matches('@').eq_ignore_ascii_case("project"));
    let word = keyword(node).is_some_and(|keyword| matches!(keyword.name.to_uppercase().as_str(), "PROJECT" | "PROJ"));
    is_live(node) && (tag || word)
}

fn is_projects(node: &NodeRef) -> bool {
    let title = node.title().trim();
    title.eq_ignore_ascii_case("projects") || title.eq_ignore_ascii_case("projects.org")
}
