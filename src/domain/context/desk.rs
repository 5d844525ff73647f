//! One context in the making: the focus, what is due, projects, what changed, the outline, and what is near.

use crate::domain::context::almanac::{self, Due, DueKind};
use crate::domain::context::lexical::Index;
use crate::domain::context::question::Question;
use crate::domain::context::rank::{Evidence, Ranked, Sought, Weights, rank};
use crate::domain::context::reason::Reason;
use crate::domain::context::tray::{BYTES_OF_TOKEN, Tray};
use crate::domain::context::{Context, Included, Rendered, Request, render};
use crate::domain::gate::secret::mask;
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::port::{AtPoint, CountTokens};
use jiff::civil::DateTime;
use std::collections::{HashMap, HashSet};

/// What overdue things may take.
const DUE_SHARE: f32 = 0.1;
/// What changed nodes may take.
const CHANGED_SHARE: f32 = 0.15;
/// Nodes with less than this part of the best node's evidence are far away; see “near” in the glossary.
pub const NEAR: f32 = 0.08;
/// So many nodes are asked for by their meaning.
const BY_MEANING: usize = 64;
/// After so many nodes that did not fit, none will.
pub(super) const MISSES: usize = 24;
/// At most so many dropped nodes are named where nobody asks for all of them.
const MOST_DROPPED: usize = 200;
/// Whatever is overdue longer than this is no news.
const STALE_DAYS: i64 = 14;

/// One context in the making.
pub(super) struct Desk<'a> {
    pub(super) view: &'a View,
    index: &'a Index,
    pub(super) request: &'a Request<'a>,
    pub(super) tray: Tray<'a>,
    pub(super) dropped: Vec<(NodeId, Reason)>,
    /// How many more were left out, which nobody names.
    pub(super) unnamed: usize,
    /// What the focus takes with all below it.
    at_point: Option<AtPoint>,
}

impl<'a> Desk<'a> {
    /// Begins with nothing on it.
    pub(super) fn new(
        view: &'a View,
        index: &'a Index,
        request: &'a Request<'a>,
        counter: &'a dyn CountTokens,
    ) -> Self {
        let frame = counter.count(&render::fence(&[]));
        let tray = Tray::new(counter, frame, request);
        Desk { view, index, request, tray, dropped: Vec::new(), unnamed: 0, at_point: None }
    }

    /// Gathers everything, in the order of what must not be missing.
    pub(super) fn assembled(mut self, counter: &dyn CountTokens) -> Context {
        let focus = self.focus();
        self.pinned();
        self.due();
        if !self.request.apart {
            self.projects();
        }
        self.changed();
        if !self.request.apart {
            self.steady_outline();
        }
        self.near(focus.as_ref());
        if !self.request.apart {
            self.further_outline(&HashSet::new());
            if self.request.explained {
                self.explain_outline(HashSet::new());
            }
        }
        self.finish(counter)
    }

    /// Returns how many tokens may be in use once a part has taken its share.
    pub(super) fn limit(&self, share: f32) -> usize {
        let more = (self.request.max_tokens as f32 * share) as usize;
        self.tray.used.saturating_add(more).min(self.request.max_tokens)
    }

    pub(super) fn drop(&mut self, node: &NodeRef, reason: Reason) {
        if !self.request.explained && self.dropped.len() >= MOST_DROPPED {
            return;
        }
        // It was not taken because it is not wanted, and not because there was no room.
        let unwanted = reason == Reason::OverBudget && self.tray.is_barred(node);
        let reason = if unwanted { Reason::Unpinned } else { reason };
        self.dropped.push((node.id().clone(), reason));
    }

    /// Counts a node that did not fit; one that may not be told says nothing of the room there is.
    pub(super) fn missed(&self, node: &NodeRef) -> usize {
        usize::from(!self.tray.is_quoting(node))
    }

    /// Whether a node may be a candidate: the user looks there, and it is open to the reader.
    pub(super) fn may_see(&mut self, node: &NodeRef) -> bool {
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

    /// Puts in the focused node with all that is below it, whatever they take; of more than a prompt holds nothing.
    fn focus(&mut self) -> Option<NodeRef> {
        let id = self.request.focus?;
        let Some(node) = self.view.get(id) else {
            self.dropped.push((id.clone(), Reason::Unknown));
            return None;
        };
        if !self.is_open(&node) {
            return None;
        }
        let (before, most) = (self.tray.used, self.request.most_at_point);
        let mut bytes = 0;
        for (at, here) in node.with_descendants().enumerate() {
            let reason = if at == 0 { Reason::Focus } else { Reason::BelowFocus };
            if here.privacy() > self.request.audience.clearance() {
                self.drop(&here, Reason::Private);
                continue;
            }
            // What cannot fit is not read.
            bytes += here.body_len();
            let least = bytes / BYTES_OF_TOKEN;
            let taken = least <= most && self.tray.offer(&here, Rendered::Full, reason, usize::MAX);
            let tokens = self.tray.used.saturating_sub(before).max(least);
            if tokens > most {
                self.tray.clear(before);
                self.dropped.push((id.clone(), Reason::TooLarge(tokens)));
                self.at_point = Some(AtPoint { tokens, told: false });
                return None;
            }
            match taken {
                true => {}
                // What may not be told is no candidate, wherever point is.
                false if at == 0 => return None,
                false => self.drop(&here, Reason::OverBudget),
            }
        }
        self.at_point = Some(AtPoint { tokens: self.tray.used.saturating_sub(before), told: true });
        Some(node)
    }

    /// Returns what was asked, if anything was.
    fn asked(&self) -> Option<&'_ str> {
        self.request.query.filter(|query| !query.trim().is_empty())
    }

    /// Puts in what the user wants in, and names what the user wants out.
    fn pinned(&mut self) {
        let (view, max) = (self.view, self.request.max_tokens);
        for id in self.request.pinned {
            let Some(node) = view.get(id) else {
                self.dropped.push((id.clone(), Reason::Unknown));
                continue;
            };
            let full = |desk: &mut Self| desk.tray.offer(&node, Rendered::Full, Reason::Pinned, max);
            let title = |desk: &mut Self| desk.tray.offer(&node, Rendered::Title, Reason::Pinned, max);
            if self.is_open(&node) && !full(self) && !title(self) {
                self.drop(&node, Reason::OverBudget);
            }
        }
        for node in self.request.unpinned.iter().filter_map(|id| view.get(id)) {
            if self.is_open(&node) && !self.tray.holds(&node, Rendered::Title) {
                self.drop(&node, Reason::Unpinned);
            }
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
        let mut misses = 0;
        for (minutes, node, due) in found {
            if misses > MISSES {
                break;
            }
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
                misses += self.missed(&node);
            }
        }
    }

    /// Puts in what changed in this session or today, latest first.
    fn changed(&mut self) {
        let limit = self.limit(CHANGED_SHARE);
        let (view, changed) = (self.view, self.request.changed);
        self.offer_all(changed.iter().filter_map(|id| view.get(id)), Rendered::Full, &Reason::Changed, limit);
        // Of what is too long the title is better than nothing.
        self.offer_all(changed.iter().filter_map(|id| view.get(id)), Rendered::Title, &Reason::Changed, limit);
    }

    /// Offers one node after the other, until several did not fit.
    fn offer_all(&mut self, nodes: impl Iterator<Item = NodeRef>, rendered: Rendered, reason: &Reason, limit: usize) {
        let mut misses = 0;
        for node in nodes {
            if self.may_see(&node) && !self.tray.offer(&node, rendered, reason.clone(), limit) {
                self.drop(&node, Reason::OverBudget);
                misses += self.missed(&node);
            }
            if misses > MISSES {
                break;
            }
        }
    }

    /// Puts in what is near the question or the focus.
    fn near(&mut self, focus: Option<&NodeRef>) {
        let question = match (self.asked(), focus) {
            (Some(asked), _) => Question::read(asked, Some(self.request.now.date())),
            (None, Some(_)) => Question::default(),
            (None, None) => return,
        };
        let sought = Sought {
            question: &question,
            focus,
            near: self.near_by_meaning(focus),
            near_cosine: self.request.near_cosine,
            clearance: self.request.audience.clearance(),
        };
        let (near, far, best) = self.ranked(&sought);
        let near_cosine = self.request.near_cosine;
        let mut misses = Vec::new();
        for found in near {
            if misses.len() >= MISSES {
                self.drop(&found.node, Reason::OverBudget);
                continue;
            }
            let reason = why(&found, best, near_cosine);
            let taken = self.tray.offer(&found.node, Rendered::Full, reason, self.request.max_tokens);
            if !taken && self.missed(&found.node) > 0 {
                misses.push(found);
            }
        }
        for found in misses {
            let reason = why(&found, best, near_cosine);
            if !self.tray.offer(&found.node, Rendered::Title, reason, self.request.max_tokens) {
                self.drop(&found.node, Reason::OverBudget);
            }
        }
        if self.request.explained {
            self.explain_near(far, sought);
        }
    }

    /// Returns what is near of all that has any evidence, best first, what is too far for that, and the best's score.
    fn ranked(&self, sought: &Sought<'_>) -> (Vec<Ranked>, Vec<Ranked>, f32) {
        let ranked = rank(self.view, self.index, sought, &Weights::default());
        let best = ranked.first().map_or(0.0, |first| first.score);
        // A meaning that is not near by itself makes nothing near.
        let rest = |found: &Ranked| found.score - found.meaning;
        let least = ranked.iter().map(rest).fold(0.0, f32::max) * NEAR;
        let is_near =
            |found: &Ranked| (rest(found) > 0.0 && rest(found) >= least) || found.cosine >= sought.near_cosine;
        let (near, far) = ranked.into_iter().partition(is_near);
        (near, far, best)
    }

    /// Names, to the user alone, what was too far, and what would be near if its reader might see it.
    fn explain_near(&mut self, far: Vec<Ranked>, sought: Sought<'_>) {
        if sought.clearance < Privacy::Private {
            let all = Sought { clearance: Privacy::Private, ..sought };
            for found in self.ranked(&all).0.iter().filter(|found| found.node.privacy() > sought.clearance) {
                self.drop(&found.node, Reason::Private);
            }
        }
        far.iter().for_each(|found| self.drop(&found.node, Reason::Far));
    }

    /// Returns the nodes near the question and the focus by their meaning, each once with its greatest cosine.
    fn near_by_meaning(&self, focus: Option<&NodeRef>) -> Vec<(NodeRef, f32)> {
        let Some(nearness) = self.request.nearness else { return Vec::new() };
        let mut near = self.asked().map_or(Vec::new(), |text| nearness.near_text(text, BY_MEANING));
        near.extend(focus.into_iter().flat_map(|focus| nearness.near_node(focus.id(), BY_MEANING)));
        // What comes from outside may hold anything.
        near.retain(|(_, cosine)| cosine.is_finite());
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let mut seen: HashSet<NodeId> = HashSet::new();
        near.retain(|(id, _)| seen.insert(id.clone()));
        near.truncate(2 * BY_MEANING);
        near.into_iter().filter_map(|(id, cosine)| Some((self.view.get(&id)?, cosine.min(1.0)))).collect()
    }

    /// Writes the text, with secrets masked, and counts it exactly; what came last goes when the sum was too hopeful.
    pub(super) fn finish(mut self, counter: &dyn CountTokens) -> Context {
        let mut text = mask(&self.tray.text()).0;
        let mut tokens = counter.count(&text);
        while tokens > self.request.max_tokens {
            match self.tray.drop_last() {
                Some(piece) => self.drop(&piece.node, Reason::OverBudget),
                None if self.tray.more.take().is_some() => {}
                None => break,
            }
            text = mask(&self.tray.text()).0;
            tokens = counter.count(&text);
        }
        if self.tray.is_empty() {
            (text, tokens) = (String::new(), 0);
        }
        let pieces = || self.tray.all();
        let privacy = pieces().map(|piece| piece.node.privacy()).max().unwrap_or(Privacy::Open);
        let mut nodes: Vec<Included> = Vec::new();
        let mut places: HashMap<NodeId, usize> = HashMap::new();
        for piece in pieces() {
            let id = piece.node.id();
            // What is due, or a project, may stand in the outline too: it is one node, as full as its fullest.
            if let Some(known) = places.get(id).and_then(|at| nodes.get_mut(*at)) {
                known.rendered = known.rendered.max(piece.rendered);
                known.tokens += piece.tokens;
                if piece.reason == Reason::Focus {
                    known.reason = piece.reason.clone();
                }
                continue;
            }
            places.insert(id.clone(), nodes.len());
            let (rendered, reason, tokens) = (piece.rendered, piece.reason.clone(), piece.tokens);
            nodes.push(Included { id: id.clone(), rendered, reason, tokens });
        }
        let quoting = self.tray.take_quoting().into_iter().map(|id| (id, Reason::Quotes));
        let mut dropped: Vec<(NodeId, Reason)> = quoting.chain(self.dropped).collect();
        let mut named: HashSet<NodeId> = HashSet::new();
        // One that quotes is named even where its title is in: whoever asked may want it out altogether.
        // So is a focus that is too large, of which its title may be.
        let named_all_the_same = |reason: &Reason| matches!(reason, Reason::Quotes | Reason::TooLarge(_));
        let out = |id: &NodeId, reason: &Reason| named_all_the_same(reason) || !places.contains_key(id);
        dropped.retain(|(id, reason)| out(id, reason) && named.insert(id.clone()));
        Context { nodes, text, tokens, dropped, unnamed: self.unnamed, privacy, at_point: self.at_point }
    }
}

fn why(found: &Ranked, best: f32, near_cosine: f32) -> Reason {
    let part = if best > 0.0 { found.score / best } else { 0.0 };
    match found.evidence {
        _ if found.cosine >= near_cosine => Reason::Near(found.cosine),
        Evidence::Words => Reason::Words(part),
        Evidence::Alike => Reason::Alike(part),
        Evidence::Kindred => Reason::Kindred(part),
        Evidence::Meaning => Reason::Near(found.cosine),
        Evidence::Beside => Reason::Beside(part),
    }
}

fn minutes_between(from: DateTime, to: DateTime) -> i64 {
    to.duration_since(from).as_mins()
}
