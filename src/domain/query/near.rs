//! What is near to a note by the rare words that both have: where a captured heading would go, and which notes could be
//! linked with each other. Nothing is decided here: these are proposals, each with the words that speak for it.

use crate::domain::context::lexical::Index;
use crate::domain::memory::view::NodeRef;
use crate::domain::query::census::Seen;
use crate::domain::query::text::{Reader, ranked};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// So many of what is near are looked at.
const LOOKED_AT: usize = 40;
/// How many words two notes share at least. One alone says nothing.
const SHARED: usize = 2;
/// How many of them are named.
const NAMED: usize = 5;
/// How many notes a proposal of a place is made from.
const VOTES: usize = 5;

/// A note that is near to another one.
#[derive(Clone)]
pub struct Near {
    /// Which.
    pub node: NodeRef,
    /// How near; comparable among those of one note only.
    pub score: f32,
    /// The words that both have and that are rare elsewhere, as they are indexed.
    pub shared: Vec<String>,
}

/// Returns the headings that share rare words with a node, the nearest first, as far as they are admitted and may be seen.
pub fn near(
    seen: Seen<'_>,
    index: &Index,
    node: &NodeRef,
    most: usize,
    admitted: &dyn Fn(&NodeRef) -> bool,
) -> Vec<Near> {
    let mut reader = Reader::default();
    let terms = reader.kindred(node, index);
    let at = |file: &str, place: u32| seen.view.node(file, place as usize);
    let admit = |file: &str, place: u32| {
        at(file, place).is_some_and(|found| {
            let sight = seen.view.sight().holds(found.file(), found.index);
            sight && found.index > 0 && found.privacy() <= seen.clearance && found.id() != node.id() && admitted(&found)
        })
    };
    let mut found = Vec::new();
    for scored in ranked(index, &terms, LOOKED_AT, &admit) {
        let Some(other) = at(&scored.place.file, scored.place.index) else { continue };
        let theirs = reader.kindred(&other, index);
        let both = terms.iter().filter(|term| theirs.iter().any(|other| other.term == term.term));
        let shared: Vec<String> = both.take(NAMED).map(|term| term.term.to_string()).collect();
        if shared.len() >= SHARED {
            found.push(Near { node: other, score: scored.score, shared });
        }
        if found.len() == most {
            break;
        }
    }
    found
}

/// Where a captured heading would go.
#[derive(Clone)]
pub struct Place {
    /// Below which heading, or at the end of which file.
    pub parent: NodeRef,
    /// The notes there that speak for it.
    pub because: Vec<Near>,
    /// Tags that most of these have and the heading has not.
    pub tags: Vec<String>,
}

/// Proposes a place for a heading by what is near to it: where most of that stands. `None` when nothing is near.
pub fn place(heading: &NodeRef, near: Vec<Near>) -> Option<Place> {
    let mut votes: BTreeMap<(String, usize), (f32, Vec<Near>)> = BTreeMap::new();
    for near in near.into_iter().take(VOTES) {
        let Some(parent) = near.node.parent() else { continue };
        let vote = votes.entry((parent.file().to_string(), parent.index)).or_default();
        vote.0 += near.score;
        vote.1.push(near);
    }
    let (_, because) = votes.into_values().reduce(|best, vote| if vote.0 > best.0 { vote } else { best })?;
    let parent = because.first()?.node.parent()?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for tag in because.iter().flat_map(|near| near.node.tags()) {
        *counts.entry(tag).or_default() += 1;
    }
    let most = |(tag, count): &(&str, usize)| *count * 2 > because.len() && !heading.has_tag(tag);
    let mut tags: Vec<(&str, usize)> = counts.into_iter().filter(most).collect();
    tags.sort_by_key(|(tag, count)| (Reverse(*count), *tag));
    let tags = tags.into_iter().map(|(tag, _)| tag.to_string()).collect();
    Some(Place { parent, because, tags })
}

/// Returns whether one of two notes links to the other.
pub fn linked(one: &NodeRef, other: &NodeRef) -> bool {
    let leads = |from: &NodeRef, to: &NodeRef| from.links().any(|target| target == to.id().as_str());
    leads(one, other) || leads(other, one)
}
