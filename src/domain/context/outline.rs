//! The outline: active projects, files, and what stands directly below them.
//!
//! A first part stands before everything that changes, and depends on memory and its reader alone, neither on the time,
//! nor on the question, nor on where point is, nor on when a file was changed: as long as no title and no property
//! changes, no byte of it does. What it has room for is fixed; what the notes leave of the budget goes to a further part
//! behind them, in which the files stand that were changed last.

use crate::domain::context::desk::{Desk, MISSES};
use crate::domain::context::lexical::Index;
use crate::domain::context::reason::Reason;
use crate::domain::context::{Context, Rendered, Request, almanac};
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::card::Card;
use crate::domain::memory::query;
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::port::CountTokens;
use std::collections::HashSet;
use std::sync::Arc;

/// What the first part may take of the budget for files, whatever is asked.
const OUTLINE_SHARE: f32 = 0.05;
/// What active projects may take.
const PROJECT_SHARE: f32 = 0.2;
/// What active projects may take of any budget, in tokens.
const PROJECT_FLOOR: usize = 100;
/// No title line takes fewer tokens.
const SMALLEST: usize = 4;
/// At most so many files and headings for which there is no room are named.
const MOST_LEFT: usize = 1_000;

/// Writes the first part. It takes at most what [`super::assemble`] would spend on it, and never more than `max_tokens`.
pub fn outline(view: &View, index: &Index, request: &Request<'_>, counter: &dyn CountTokens) -> Context {
    let mut desk = Desk::new(view, index, request, counter);
    desk.projects();
    desk.steady_outline();
    desk.finish(counter)
}

/// Writes the further part: files and what stands directly below them, without what is in one of the parts before it, as
/// far as `max_tokens` go.
pub fn further(
    view: &View,
    index: &Index,
    request: &Request<'_>,
    counter: &dyn CountTokens,
    before: &[&Context],
) -> Context {
    let told: HashSet<&NodeId> = before.iter().flat_map(|part| &part.nodes).map(|node| &node.id).collect();
    let mut desk = Desk::new(view, index, request, counter);
    desk.further_outline(&told);
    if request.explained {
        let dropped = before.iter().flat_map(|part| &part.dropped).map(|(id, _)| id);
        desk.explain_outline(told.into_iter().chain(dropped).collect());
    }
    desk.finish(counter)
}

impl<'a> Desk<'a> {
    /// Puts in the active projects: as headings below those above them, and where there are too many for that, as one
    /// line each. Those for which there is no room at all are counted, with the query that finds them.
    pub(super) fn projects(&mut self) {
        // Projects are always named: a small budget must not push them out.
        let limit = self.limit(PROJECT_SHARE).max(self.tray.used + PROJECT_FLOOR).min(self.request.max_tokens);
        let (view, tag) = (self.view, self.request.project_tag.to_lowercase());
        let mut projects: Vec<NodeRef> = almanac::tagged(view, &tag).collect();
        projects.retain(|node| self.may_see(node) && !self.tray.is_barred(node));
        let as_headings = self.tray.used + limit.saturating_sub(self.tray.used) / 2;
        let mut rest = projects.iter().peekable();
        let offer =
            |desk: &mut Self, node: &NodeRef| desk.tray.offer(node, Rendered::Title, Reason::Project, as_headings);
        while rest.next_if(|node| offer(self, node)).is_some() {}
        let query = format!("own-tag:{tag}");
        // Room for the line that counts the others is kept: it is no longer for fewer of them.
        let kept = rest.len() > 1 && self.tray.note_more(rest.len(), &query, limit);
        while rest.next_if(|node| self.tray.note_project(node, limit)).is_some() {}
        match rest.len() {
            0 => self.tray.more = None,
            left if kept => self.tray.more = Some((left, query)),
            left => drop(self.tray.note_more(left, &query, limit)),
        }
        for node in rest {
            self.drop(node, Reason::OverBudget);
        }
    }

    /// Puts in the files that stand first by their names, those of outer folders before those of inner ones, and what
    /// stands directly below them.
    pub(super) fn steady_outline(&mut self) {
        let limit = self.limit(OUTLINE_SHARE);
        let files = self.first_files(self.most_files(limit));
        self.titles(&files, limit, &HashSet::new());
    }

    /// Puts in files, latest changed first, and then what stands directly below them, without what is told elsewhere.
    pub(super) fn further_outline(&mut self, told: &HashSet<&NodeId>) {
        let limit = self.request.max_tokens;
        let most = self.most_files(limit);
        if most > 1 {
            let files = self.latest_files(most.saturating_add(told.len()));
            self.titles(&files, limit, told);
        }
    }

    /// Returns how many files can fit: thousands of them need not be looked at for the first few.
    fn most_files(&self, limit: usize) -> usize {
        limit.saturating_sub(self.tray.used) / SMALLEST + 1
    }

    /// Puts in files and then what stands directly below them, until several did not fit.
    fn titles(&mut self, files: &[&Arc<Card>], limit: usize, told: &HashSet<&NodeId>) {
        let (view, clearance): (&'a View, _) = (self.view, self.clearance());
        let roots = self.roots(files);
        let children = roots.iter().flat_map(|root| root.children().collect::<Vec<_>>());
        let all = roots.iter().cloned().map(|root| (root, Reason::Root));
        let all = all.chain(children.map(|child| (child, Reason::Outline)));
        let mut misses = 0;
        for (node, reason) in all {
            if misses > MISSES || self.tray.used + SMALLEST >= limit {
                return;
            }
            let open = node.privacy() <= clearance && view.sight().holds(node.file(), node.index);
            if open
                && !self.tray.is_barred(&node)
                && !told.contains(node.id())
                && !self.tray.offer(&node, Rendered::Title, reason, limit)
            {
                misses += self.missed(&node);
            }
        }
    }

    /// Returns the nodes of files, and of the subtrees that the user's sight is narrowed to.
    fn roots(&self, files: &[&Arc<Card>]) -> Vec<NodeRef> {
        let files = files.iter().filter_map(|card| self.view.node(&card.file, 0));
        files.chain(self.view.sight().trees().filter_map(|(file, index)| self.view.node(file, index))).collect()
    }

    /// Names what of the outline there was no room for, and counts what is too much to be named; what is known already is
    /// passed over.
    pub(super) fn explain_outline(&mut self, known: HashSet<&NodeId>) {
        let dropped: HashSet<NodeId> = self.dropped.iter().map(|(id, _)| id.clone()).collect();
        let view: &'a View = self.view;
        let files: Vec<&Arc<Card>> = view.cards().filter(|card| self.is_listed(card)).collect();
        let mut named = 0;
        for root in self.roots(&files) {
            for node in root.children().chain([root.clone()]) {
                let open = node.privacy() <= self.clearance() && self.view.sight().holds(node.file(), node.index);
                let is_known = |id: &NodeId| known.contains(id) || dropped.contains(id);
                if !open || self.tray.holds(&node, Rendered::Title) || is_known(node.id()) {
                    continue;
                }
                match named < MOST_LEFT {
                    true => self.drop(&node, Reason::OverBudget),
                    false => self.unnamed += 1,
                }
                named += 1;
            }
        }
    }

    fn clearance(&self) -> Privacy {
        self.request.audience.clearance()
    }

    /// Whether a file may stand in the outline.
    fn is_listed(&self, card: &Card) -> bool {
        card.privacy(0) <= self.clearance() && self.view.sight().holds(&card.file, 0)
    }

    /// Returns at most so many files that are open to the reader, in an order that no edit changes.
    fn first_files(&self, most: usize) -> Vec<&'a Arc<Card>> {
        let view: &'a View = self.view;
        let depth = |card: &Arc<Card>| card.file.matches('/').count();
        let mut files: Vec<(usize, &Arc<Card>)> =
            view.cards().filter(|card| self.is_listed(card)).map(|card| (depth(card), card)).collect();
        let order = |a: &(usize, &Arc<Card>), b: &(usize, &Arc<Card>)| (a.0, &a.1.file).cmp(&(b.0, &b.1.file));
        if most > 0 && files.len() > most {
            files.select_nth_unstable_by(most - 1, order);
        }
        files.truncate(most);
        files.sort_unstable_by(order);
        files.into_iter().map(|(_, card)| card).collect()
    }

    /// Returns at most so many files that are open to the reader, the latest changed first, those of which that is not
    /// known last.
    fn latest_files(&self, most: usize) -> Vec<&'a Arc<Card>> {
        let view: &'a View = self.view;
        let (mut files, mut dated): (Vec<&'a Arc<Card>>, usize) = (Vec::new(), 0);
        for card in query::changed_between(view, jiff::Timestamp::MIN, jiff::Timestamp::MAX) {
            if files.len() >= most {
                return files;
            }
            dated += 1;
            files.extend(Some(card).filter(|card| self.is_listed(card)));
        }
        if dated < view.len() {
            let undated = view.cards().filter(|card| card.modified().is_none() && self.is_listed(card));
            files.extend(undated.take(most - files.len()));
        }
        files
    }
}
