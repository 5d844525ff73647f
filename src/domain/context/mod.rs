//! What a model is given of memory: chosen, rendered within a budget, and explained.
//!
//! Near the focus and the question nodes are shown in full, further away as titles, and far away not at all.
//! What may not leave is never a candidate.

pub mod almanac;
pub mod build;
pub mod holding;
pub mod lexical;
pub mod outline;
pub mod postings;
pub mod prose;
pub mod question;
pub mod race;
pub mod rank;
pub mod reason;
pub mod render;
pub mod script;
pub mod segment;
pub mod sieve;
pub mod swift;
pub mod tray;
pub mod words;

use crate::domain::context::almanac::{Due, DueKind};
use crate::domain::context::lexical::Index;
use crate::domain::context::question::Question;
use crate::domain::context::rank::{Ranked, Weights, rank};
use crate::domain::context::reason::Reason;
use crate::domain::context::tray::Tray;
use crate::domain::gate::secret::mask;
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::card::Card;
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::port::CountTokens;
use jiff::civil::DateTime;
use std::collections::HashMap;
use std::sync::Arc;

/// Who will read the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Audience {
    /// A reader on this machine; private nodes may be in it.
    Local,
    /// Any other reader, and the most private that one may see.
    Remote(Privacy),
}

/// How a node is written. The order is by fullness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rendered {
    /// Its title line.
    Title,
    /// Heading, properties and text, without what is below it.
    Full,
}

/// What a context is asked for.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The node at point.
    pub focus: Option<&'a NodeId>,
    /// What the user asked.
    pub query: Option<&'a str>,
    /// The budget, in tokens of the whole text.
    pub max_tokens: usize,
    /// Who will read it.
    pub audience: Audience,
    /// The user's wall clock.
    pub now: DateTime,
    /// How many minutes ahead deadlines and schedules are shown first; 60 unless the user says otherwise.
    pub deadline_minutes: i64,
    /// The tag that makes a heading a project, lower case; `project` unless the user says otherwise.
    pub project_tag: &'a str,
    /// Nodes changed in this session or today, latest first.
    pub changed: &'a [NodeId],
    /// Whether the outline of projects and files is told apart from this, by [`outline::outline`].
    pub apart: bool,
}

/// One node that is in.
#[derive(Clone, Debug, PartialEq)]
pub struct Included {
    /// Which.
    pub id: NodeId,
    /// How it is written.
    pub rendered: Rendered,
    /// Why.
    pub reason: Reason,
    /// Tokens of its part of the text.
    pub tokens: usize,
}

/// What a model is given of memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// The text, fenced as data; empty when nothing is in it.
    pub text: String,
    /// Tokens of exactly that text.
    pub tokens: usize,
    /// What is in it, in the order of the text.
    pub nodes: Vec<Included>,
    /// What was considered and left out, best first, and why.
    pub dropped: Vec<(NodeId, Reason)>,
    /// The strictest label of what is in it.
    pub privacy: Privacy,
}

/// What the outline of files may take of the budget when there is something to look for.
const OUTLINE_SHARE: f32 = 0.05;
/// What the outline may take when there is nothing to look for.
const IDLE_OUTLINE_SHARE: f32 = 0.6;
/// What overdue things may take.
const DUE_SHARE: f32 = 0.1;
/// What changed nodes may take.
const CHANGED_SHARE: f32 = 0.15;
/// What titles of active projects may take.
const PROJECT_SHARE: f32 = 0.2;
/// What titles of active projects may take of any budget, in tokens.
const PROJECT_FLOOR: usize = 100;
/// Nodes with less than this part of the best node's evidence are far away.
const NEAR: f32 = 0.08;
/// After so many nodes that did not fit, none will.
const MISSES: usize = 24;
/// At most so many dropped nodes are named.
const MOST_DROPPED: usize = 200;
/// Whatever is overdue longer than this is no news.
const STALE_DAYS: i64 = 14;

impl Audience {
    /// Returns the strictest label that this reader may see.
    pub fn clearance(self) -> Privacy {
        match self {
            Audience::Local => Privacy::Private,
            Audience::Remote(privacy) => privacy,
        }
    }
}

/// Chooses and writes what a model is given of memory.
///
/// The text never takes more than `max_tokens`, except that the title line of the focus is always in it:
/// a focus that is larger than the whole budget is cut, and its reason says so.
pub fn assemble(view: &View, index: &Index, request: &Request<'_>, counter: &dyn CountTokens) -> Context {
    let clearance = request.audience.clearance();
    let frame = counter.count(&render::fence(&[]));
    let mut desk = Desk { view, index, request, tray: Tray::new(counter, clearance, frame), dropped: Vec::new() };
    let focus = desk.focus(counter);
    desk.due();
    if !request.apart {
        desk.projects();
    }
    desk.changed();
    let searching = request.query.is_some_and(|query| !query.trim().is_empty()) || focus.is_some();
    if !request.apart {
        desk.outline(if searching { OUTLINE_SHARE } else { IDLE_OUTLINE_SHARE });
    }
    desk.near(focus.as_ref());
    desk.finish(counter)
}

/// One context in the making.
struct Desk<'a> {
    view: &'a View,
    index: &'a Index,
    request: &'a Request<'a>,
    tray: Tray<'a>,
    dropped: Vec<(NodeId, Reason)>,
}

impl Desk<'_> {
    /// Returns how many tokens may be in use once a part has taken its share.
    fn limit(&self, share: f32) -> usize {
        let more = (self.request.max_tokens as f32 * share) as usize;
        self.tray.used.saturating_add(more).min(self.request.max_tokens)
    }

    fn drop(&mut self, node: &NodeRef, reason: Reason) {
        if self.dropped.len() < MOST_DROPPED {
            self.dropped.push((node.id().clone(), reason));
        }
    }

    /// Whether a node may be a candidate: the user looks there, and it is open to the reader.
    fn may_see(&mut self, node: &NodeRef) -> bool {
        self.view.sight().holds(node.file(), node.index) && self.is_open(node)
    }

    /// Whether a node is open to the reader; a private one is named as left out, to the user alone.
    fn is_open(&mut self, node: &NodeRef) -> bool {
        let may = node.privacy() <= self.request.audience.clearance();
        if !may {
            self.drop(node, Reason::Private);
        }
        may
    }

    /// Puts in the focused node, whatever it takes, and what is below it as far as there is room.
    fn focus(&mut self, counter: &dyn CountTokens) -> Option<NodeRef> {
        let id = self.request.focus?;
        let Some(node) = self.view.get(id) else {
            self.dropped.push((id.clone(), Reason::Unknown));
            return None;
        };
        if !self.is_open(&node) {
            return None;
        }
        let max = self.request.max_tokens;
        if !self.tray.offer(&node, Rendered::Full, Reason::Focus, max) {
            let (text, lost) = self.cut(&node, counter);
            let reason = if lost == 0 { Reason::Focus } else { Reason::FocusCut(lost) };
            self.tray.put(&node, Rendered::Full, reason, text, usize::MAX);
        }
        let mut misses = 0;
        for below in node.with_descendants().skip(1) {
            if misses > MISSES || !self.is_open(&below) {
                continue;
            }
            if !self.tray.offer(&below, Rendered::Full, Reason::BelowFocus, max) {
                misses += 1;
                if !self.tray.offer(&below, Rendered::Title, Reason::BelowFocus, max) {
                    self.drop(&below, Reason::OverBudget);
                }
            }
        }
        Some(node)
    }

    /// Returns as much of the focus as fits beside the titles above it, and how much is left out.
    fn cut(&self, node: &NodeRef, counter: &dyn CountTokens) -> (String, usize) {
        let above = std::iter::successors(node.parent(), NodeRef::parent).map(|parent| render::title(&parent));
        let above: usize = above.map(|title| counter.count(&title)).sum();
        let room = self.request.max_tokens.saturating_sub(self.tray.used).saturating_sub(above);
        // A token is at least a byte or so and seldom more than five; start above and shrink.
        let mut bytes = room.saturating_mul(5).min(node.body().len());
        loop {
            let (text, lost) = render::full_cut(node, bytes);
            if bytes == 0 || counter.count(&text) <= room {
                return (text, lost);
            }
            bytes = bytes * 4 / 5;
        }
    }

    /// Puts in what is due within the window, today, or overdue, soonest first.
    fn due(&mut self) {
        let limit = self.limit(DUE_SHARE);
        let now = self.request.now;
        // Days are compared first: most of what is planned is far away.
        let day = |days: i64| jiff::Span::new().try_days(days).ok().and_then(|span| now.date().checked_add(span).ok());
        let horizon = day(self.request.deadline_minutes.max(0) / 1440 + 1).unwrap_or(jiff::civil::Date::MAX);
        let stale = day(-STALE_DAYS).unwrap_or(jiff::civil::Date::MIN);
        let mut found: Vec<(i64, NodeRef, Due)> = Vec::new();
        for (node, due) in almanac::due(self.view, stale, horizon) {
            let minutes = minutes_between(now, due.moment());
            if minutes <= self.request.deadline_minutes || (due.time.is_none() && due.date == now.date()) {
                found.push((minutes, node, due));
            }
        }
        // What is still to come stands before what is overdue.
        found.sort_by_key(|(minutes, ..)| if *minutes >= 0 { (0, *minutes) } else { (1, minutes.saturating_neg()) });
        for (minutes, node, due) in found {
            let (word, reason) = match due.kind {
                DueKind::Deadline => ("DEADLINE", Reason::Deadline(minutes)),
                DueKind::Scheduled => ("SCHEDULED", Reason::Scheduled(minutes)),
            };
            let hour = due.time.map(|time| time.strftime(" %H:%M").to_string()).unwrap_or_default();
            let what = format!("{word} {}{hour}", due.date);
            // What is near is told whatever it takes; what is overdue has its share.
            let limit = if minutes >= 0 { self.request.max_tokens } else { limit };
            if self.may_see(&node) && !self.tray.note_due(&node, reason, &what, limit) {
                self.drop(&node, Reason::OverBudget);
            }
        }
    }

    /// Puts in the titles of active projects.
    fn projects(&mut self) {
        // Projects are always named: a small budget must not push them out.
        let limit = self.limit(PROJECT_SHARE).max(self.tray.used + PROJECT_FLOOR).min(self.request.max_tokens);
        let tag = self.request.project_tag.to_lowercase();
        for node in almanac::tagged(self.view, &tag) {
            if self.may_see(&node) && !self.tray.offer(&node, Rendered::Title, Reason::Project, limit) {
                self.drop(&node, Reason::OverBudget);
            }
        }
    }

    /// Puts in what changed in this session or today, latest first.
    fn changed(&mut self) {
        let limit = self.limit(CHANGED_SHARE);
        let nodes: Vec<NodeRef> = self.request.changed.iter().filter_map(|id| self.view.get(id)).collect();
        for node in nodes {
            if self.may_see(&node) && !self.tray.offer(&node, Rendered::Full, Reason::Changed, limit) {
                self.drop(&node, Reason::OverBudget);
            }
        }
    }

    /// Puts in files, latest changed first, and then what stands directly below them.
    fn outline(&mut self, share: f32) {
        let limit = self.limit(share);
        let clearance = self.request.audience.clearance();
        let sight = self.view.sight();
        let open = |card: &&Arc<Card>| card.privacy(0) <= clearance && sight.holds(&card.file, 0);
        let mut files: Vec<&Arc<Card>> = self.view.cards().filter(open).collect();
        let latest = |a: &&Arc<Card>, b: &&Arc<Card>| b.modified().cmp(&a.modified()).then_with(|| a.file.cmp(&b.file));
        // No more can fit than this; thousands of files need not be sorted for the first few.
        let most = limit.saturating_sub(self.tray.used) / SMALLEST + 1;
        if files.len() > most {
            files.select_nth_unstable_by(most, latest);
            files.truncate(most);
        }
        files.sort_by(latest);
        let files = files.into_iter().filter_map(|card| self.view.node(&card.file, 0));
        let trees = sight.trees().filter_map(|(file, index)| self.view.node(file, index));
        let files: Vec<NodeRef> = files.chain(trees.filter(|tree| tree.privacy() <= clearance)).collect();
        let room = |desk: &Self| desk.tray.used + SMALLEST < limit;
        for file in &files {
            if !room(self) {
                return;
            }
            self.tray.offer(file, Rendered::Title, Reason::Root, limit);
        }
        for file in &files {
            for child in file.children().filter(|child| child.privacy() <= clearance) {
                if !room(self) {
                    return;
                }
                self.tray.offer(&child, Rendered::Title, Reason::Outline, limit);
            }
        }
    }

    /// Puts in what is near the question; without one, what is near the focus.
    fn near(&mut self, focus: Option<&NodeRef>) {
        let asked = self.request.query.filter(|query| !query.trim().is_empty());
        let text = match (asked, focus) {
            (Some(query), _) => query.to_string(),
            (None, Some(focus)) => format!("{} {}", focus.title(), focus.body()),
            (None, None) => return,
        };
        let question = Question::read(&text, Some(self.request.now.date()));
        let clearance = self.request.audience.clearance();
        let ranked = rank(self.view, self.index, &question, clearance, &Weights::default());
        let best = ranked.first().map_or(0.0, |first| first.score);
        let mut misses = Vec::new();
        let near = ranked.into_iter().take_while(|found| found.score >= best * NEAR);
        for found in near {
            if misses.len() >= MISSES {
                self.drop(&found.node, Reason::OverBudget);
                continue;
            }
            let reason = why(&found, best);
            if !self.tray.offer(&found.node, Rendered::Full, reason, self.request.max_tokens) {
                misses.push(found);
            }
        }
        for found in misses {
            let reason = why(&found, best);
            if !self.tray.offer(&found.node, Rendered::Title, reason, self.request.max_tokens) {
                self.drop(&found.node, Reason::OverBudget);
            }
        }
    }

    /// Writes the text, with secrets masked, and counts it exactly; what came last goes when the sum was too hopeful.
    fn finish(mut self, counter: &dyn CountTokens) -> Context {
        let mut text = mask(&self.tray.text()).0;
        let mut tokens = counter.count(&text);
        while tokens > self.request.max_tokens {
            let Some(piece) = self.tray.drop_last() else { break };
            self.drop(&piece.node, Reason::OverBudget);
            text = mask(&self.tray.text()).0;
            tokens = counter.count(&text);
        }
        if self.tray.due.is_empty() && self.tray.pieces.is_empty() {
            (text, tokens) = (String::new(), 0);
        }
        let pieces = || self.tray.due.iter().chain(self.tray.pieces.values());
        let privacy = pieces().map(|piece| piece.node.privacy()).max().unwrap_or(Privacy::Open);
        let mut nodes: Vec<Included> = Vec::new();
        let mut places: HashMap<NodeId, usize> = HashMap::new();
        for piece in pieces() {
            let id = piece.node.id();
            // What is due may stand in the outline too: it is one node, as full as its fullest.
            if let Some(known) = places.get(id).and_then(|at| nodes.get_mut(*at)) {
                known.rendered = known.rendered.max(piece.rendered);
                known.tokens += piece.tokens;
                if matches!(piece.reason, Reason::Focus | Reason::FocusCut(_)) {
                    known.reason = piece.reason.clone();
                }
                continue;
            }
            places.insert(id.clone(), nodes.len());
            let (rendered, reason, tokens) = (piece.rendered, piece.reason.clone(), piece.tokens);
            nodes.push(Included { id: id.clone(), rendered, reason, tokens });
        }
        self.dropped.retain(|(id, _)| !places.contains_key(id));
        Context { nodes, text, tokens, dropped: self.dropped, privacy }
    }
}

/// No title line takes fewer tokens.
const SMALLEST: usize = 4;

fn why(found: &Ranked, best: f32) -> Reason {
    let part = found.score / best;
    if found.own > 0.0 { Reason::Words(part) } else { Reason::Beside(part) }
}

fn minutes_between(from: DateTime, to: DateTime) -> i64 {
    to.duration_since(from).as_mins()
}
