//! Counts how often each private tag kept something back since the start. It names no note.

use crate::domain::action::Action;
use crate::domain::context::rank::search;
use crate::domain::gate::{Facts, Trace, Verdict};
use crate::domain::id::NodeId;
use crate::domain::inert::exact;
use crate::domain::label::Privacy;
use crate::domain::memory::card::Card;
use crate::domain::memory::view::{NodeRef, View};
use crate::edge::engine::Engine;
use crate::edge::engine::query::Manner;
use std::collections::{BTreeMap, BTreeSet};

/// What is counted where no tag of the user's makes a note private.
pub const BY_PROPERTY: &str = "a property or keyword";

/// What is counted where a note is private by what was taken away from it and not let go.
pub const TAKEN_AWAY: &str = "a label that was taken away";

/// How often, by tag.
pub(in crate::edge) type Counts = BTreeMap<String, u64>;

impl Engine {
    /// Returns the tag that makes a node as private as it is, or [`BY_PROPERTY`], or [`TAKEN_AWAY`].
    pub(super) fn tag_of(&self, card: &Card, index: usize) -> String {
        let tags = card.all_tags(index);
        let found = self.privacy_options().tag_among(&tags);
        // A property may be stricter than every tag.
        let tag = found.filter(|(_, tier)| *tier >= card.privacy(index)).map(|(tag, _)| tag);
        let held = || std::iter::successors(Some(index), |at| card.parent(*at)).any(|at| card.is_held(at));
        tag.unwrap_or_else(|| if held() { TAKEN_AWAY } else { BY_PROPERTY }.to_string())
    }

    /// Counts that something was kept back because of each of these tags.
    pub(super) fn count_tags(&self, tags: impl IntoIterator<Item = String>) {
        let mut counts = self.kept_back.lock();
        for tag in tags {
            let count = counts.entry(tag).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Counts the private ones of some nodes as kept back.
    pub(crate) fn count_nodes<'a>(&self, nodes: impl IntoIterator<Item = &'a NodeRef>) {
        let private = nodes.into_iter().filter(|node| node.privacy().is_kept());
        self.count_tags(private.map(|node| self.tag_of(node.card(), node.index)).collect::<Vec<_>>());
    }

    /// Counts those of some nodes that went to a model elsewhere though they are marked: as tags warn, or the user let them.
    pub(crate) fn count_sent<'a>(&self, nodes: impl IntoIterator<Item = &'a NodeRef>) {
        let marked = nodes.into_iter().filter(|node| node.privacy() > Privacy::Open);
        self.count_sent_tags(marked.map(|node| self.tag_of(node.card(), node.index)).collect::<Vec<_>>());
    }

    /// Counts that something with each of these tags went to a model elsewhere.
    pub(super) fn count_sent_tags(&self, tags: impl IntoIterator<Item = String>) {
        let mut counts = self.sent.lock();
        for tag in tags {
            let count = counts.entry(tag).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Counts a file as kept back, once for each tag that makes something in it private.
    pub(crate) fn count_file(&self, file: &str) {
        let view = self.view();
        let tags: BTreeSet<String> = match view.card(file) {
            Some(card) => {
                let private = (0..card.len()).filter(|index| card.privacy(*index).is_kept());
                private.map(|index| self.tag_of(card, index)).collect()
            }
            None => BTreeSet::new(),
        };
        // It is private as it stands on the disk, and memory does not know by what.
        let unknown = tags.is_empty().then(|| BY_PROPERTY.to_string());
        self.count_tags(tags.into_iter().chain(unknown));
    }

    /// Counts what a search would have found beside what a model elsewhere was told.
    pub(crate) fn count_unfound(&self, view: &View, text: &str, limit: usize, plain: bool) {
        self.count_nodes(&self.unfound(view, text, limit, plain));
    }

    /// Returns the private nodes that a search finds for somebody who may see them.
    pub(super) fn unfound(&self, view: &View, text: &str, limit: usize, plain: bool) -> Vec<NodeRef> {
        let mut nodes: Vec<NodeRef> = if plain {
            let hits = search(view, &self.index(), text, limit, Privacy::Private);
            hits.iter().filter_map(|hit| view.get(&hit.id)).collect()
        } else {
            let answer = self.query(view, text, Some(limit), Privacy::Private, Manner::Whole);
            answer.map_or_else(|_| Vec::new(), |answer| answer.found.hits.into_iter().map(|hit| hit.node).collect())
        };
        nodes.truncate(limit);
        nodes.retain(|node| node.privacy().is_kept());
        nodes
    }

    /// Counts an act that was refused because it would read what is private.
    pub(super) fn count_refused(&self, action: &Action, facts: &Facts, trace: &Trace) {
        let denied = trace.opinions.iter().any(|opinion| match &opinion.verdict {
            Verdict::Deny(reason) => reason.text.lines().any(|line| line.starts_with("privacy tags: ")),
            Verdict::Pass(_) | Verdict::Ask(_) => false,
        });
        if denied && facts.privacy.is_some_and(Privacy::is_kept) {
            let view = self.view();
            let nodes = ["id", "parent"].iter().filter_map(|name| view.get(&NodeId::new(action.text(name)?)));
            self.count_nodes(&nodes.collect::<Vec<_>>());
            let private = |file: &&str| self.privacy_here(file).is_kept();
            let files: BTreeSet<&str> = facts.paths.iter().map(|path| path.resolved.as_str()).filter(private).collect();
            files.into_iter().for_each(|file| self.count_file(file));
        }
    }

    /// Counts an act that asked or was refused because it quotes private notes.
    pub(super) fn count_quotes(&self, facts: &Facts) {
        let kept = facts.quotes.iter().filter(|quote| quote.note.privacy.is_kept());
        self.count_tags(kept.map(|quote| quote.note.tag.clone()));
    }

    /// Returns how often notes with each tag went to a model elsewhere since the start, by name.
    pub fn sent_marked(&self) -> Vec<(String, u64)> {
        self.sent.lock().iter().map(|(tag, count)| (tag.clone(), *count)).collect()
    }

    /// Returns how often each tag kept something back since the start, by name.
    pub fn kept_back(&self) -> Vec<(String, u64)> {
        self.kept_back.lock().iter().map(|(tag, count)| (tag.clone(), *count)).collect()
    }

    /// Says which tags make notes private, what each does, and how often it did so since the start.
    pub(super) fn tag_lines(&self) -> String {
        let (kept, sent) = (self.kept_back.lock().clone(), self.sent.lock().clone());
        let count = |counts: &Counts, tag: &str| counts.get(tag).copied().unwrap_or_default();
        let line = |tag: &str, what: &str| {
            let (kept, sent) = (count(&kept, tag), count(&sent, tag));
            let sent = if sent == 0 { String::new() } else { format!(", sent elsewhere {sent} times") };
            format!("- {}: {what}; kept back {kept} times since the start{sent}\n", exact(tag))
        };
        let tags = &self.config.private_tags;
        let what = |tier| match tier {
            Privacy::Private => "goes to no model elsewhere (block)",
            Privacy::Ask => "goes to a model elsewhere only after /share (ask)",
            Privacy::Warn | Privacy::Open => "goes to a model elsewhere, and that is said (warn)",
        };
        let named: String = tags.iter().map(|tag| line(&tag.tag, what(tag.tier))).collect();
        let other: BTreeSet<&String> = kept.keys().chain(sent.keys()).collect();
        let other = other.into_iter().filter(|name| !tags.iter().any(|tag| tag.tag == **name));
        let other: String = other.map(|name| line(name, "as it says")).collect();
        match named.is_empty() {
            true => format!("No tag makes notes private; passepartout-private-tags names such tags.\n{other}"),
            false => named + &other,
        }
    }
}
