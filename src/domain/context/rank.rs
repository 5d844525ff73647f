//! Which nodes are near a question: words first, then what stands beside, above and below, and time.

use crate::domain::context::lexical::{Index, Place, Scored};
use crate::domain::context::question::Question;
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::document::Document;
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::org::outline::Outline;
use std::collections::HashMap;
use std::sync::Arc;

/// So many nodes that hold the words are looked at closely.
const CANDIDATES: usize = 400;

/// How evidence adds up. The figures are measured in `docs/adr/0003-lexical-index.org`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// What a node passes on to the sibling behind it.
    pub next: f32,
    /// What a node passes on to the sibling before it.
    pub previous: f32,
    /// What a node passes on to its parent.
    pub parent: f32,
    /// What a node passes on to its children.
    pub child: f32,
    /// What is left after a second step.
    pub second: f32,
    /// What a node that names a time gains when the question asks for one.
    pub time: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Weights { next: 0.35, previous: 0.25, parent: 0.1, child: 0.1, second: 0.4, time: 0.1 }
    }
}

/// One node near a question.
#[derive(Clone)]
pub struct Ranked {
    /// The node.
    pub node: NodeRef,
    /// All its evidence; above 0.
    pub score: f32,
    /// What of it comes from its own words; 0 for a node that only stands beside.
    pub own: f32,
}

/// One node that a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The node.
    pub id: NodeId,
    /// How well it fits; comparable within one search only.
    pub score: f32,
}

/// Finds nodes for tools and people: the best `limit`, best first. `clearance` is the strictest label that may be shown.
pub fn search(view: &View, index: &Index, query: &str, limit: usize, clearance: Privacy) -> Vec<Hit> {
    let named = query.split_whitespace().filter_map(|word| view.get(&NodeId::new(word)));
    let mut hits: Vec<Hit> = Vec::new();
    for node in named.filter(|node| node.privacy() <= clearance) {
        hits.push(Hit { id: node.id().clone(), score: f32::MAX });
    }
    for found in rank(view, index, &Question::read(query, None), clearance, &Weights::default()) {
        // A search shows what holds the words; what only stands beside is for the model's context.
        if found.own > 0.0 && !hits.iter().any(|hit| hit.id == *found.node.id()) {
            hits.push(Hit { id: found.node.id().clone(), score: found.score });
        }
        if hits.len() >= limit {
            break;
        }
    }
    hits.truncate(limit);
    hits
}

/// Returns the nodes near a question, best first. Nodes stricter than `clearance` are never candidates.
pub fn rank(view: &View, index: &Index, question: &Question, clearance: Privacy, weights: &Weights) -> Vec<Ranked> {
    let admit = |file: &str, node: u32| {
        let label = view.document(file).and_then(|document| document.privacy.get(node as usize));
        label.is_some_and(|label| *label <= clearance)
    };
    let mut field = Field { view, documents: Vec::new(), numbers: HashMap::new(), nodes: HashMap::new() };
    for scored in index.scores(&question.terms, CANDIDATES, &admit) {
        field.seed(scored);
    }
    field.spread(weights);
    let mut ranked = field.finish(clearance);
    if question.wants_time {
        for found in &mut ranked {
            if names_a_time(&found.node) {
                found.score *= 1.0 + weights.time;
            }
        }
    }
    ranked.sort_by(|a, b| {
        let place = || (&a.node.document.file, a.node.index).cmp(&(&b.node.document.file, b.node.index));
        b.score.total_cmp(&a.score).then_with(place)
    });
    ranked
}

/// Scores by document and node, while evidence spreads.
struct Field<'a> {
    view: &'a View,
    documents: Vec<Arc<Document>>,
    numbers: HashMap<Arc<str>, usize>,
    /// Own score and gathered score.
    nodes: HashMap<(usize, u32), (f32, f32)>,
}

impl Field<'_> {
    fn seed(&mut self, scored: Scored) {
        let Place { file, index } = scored.place;
        let number = match self.numbers.get(&file) {
            Some(number) => *number,
            None => {
                let Some(document) = self.view.document(&file) else { return };
                self.documents.push(document.clone());
                self.numbers.insert(file, self.documents.len() - 1);
                self.documents.len() - 1
            }
        };
        self.nodes.insert((number, index), (scored.score, 0.0));
    }

    fn spread(&mut self, weights: &Weights) {
        let mut seeds: Vec<((usize, u32), f32)> = self.nodes.iter().map(|(at, score)| (*at, score.0)).collect();
        // Sums of floats depend on their order; this one is fixed.
        seeds.sort_by_key(|seed| seed.0);
        for ((number, index), score) in seeds {
            let outline = &self.documents[number].outline;
            let mut gifts: Vec<(usize, f32)> = Vec::new();
            let index = index as usize;
            let (before, behind) = (previous(outline, index), next(outline, index));
            gifts.extend(before.map(|at| (at, weights.previous)));
            gifts.extend(behind.map(|at| (at, weights.next)));
            gifts.extend(before.and_then(|at| previous(outline, at)).map(|at| (at, weights.previous * weights.second)));
            gifts.extend(behind.and_then(|at| next(outline, at)).map(|at| (at, weights.next * weights.second)));
            if let Some(node) = outline.nodes.get(index).filter(|node| index > 0 && node.parent > 0) {
                gifts.push((node.parent as usize, weights.parent));
            }
            if index > 0 {
                gifts.extend(outline.children(index).take(CHILDREN).map(|at| (at, weights.child)));
            }
            for (at, part) in gifts {
                self.nodes.entry((number, at as u32)).or_default().1 += score * part;
            }
        }
    }

    fn finish(self, clearance: Privacy) -> Vec<Ranked> {
        let documents = self.documents;
        let ranked = self.nodes.into_iter().map(|((number, index), (own, gathered))| Ranked {
            node: NodeRef { document: documents[number].clone(), index: index as usize },
            score: own + gathered,
            own,
        });
        ranked.filter(|found| found.node.privacy() <= clearance && found.score > 0.0).collect()
    }
}

/// A heading passes on to at most so many children.
const CHILDREN: usize = 32;

fn next(outline: &Outline, index: usize) -> Option<usize> {
    let after = outline.after(index);
    let parent = outline.nodes.get(index)?.parent;
    (index > 0 && outline.nodes.get(after)?.parent == parent).then_some(after)
}

fn previous(outline: &Outline, index: usize) -> Option<usize> {
    let parent = outline.nodes.get(index)?.parent as usize;
    let mut at = index.checked_sub(1)?;
    // Climbs from the deepest node before to the sibling above it; parents always stand before children.
    while at > parent {
        let up = outline.nodes.get(at)?.parent as usize;
        if up == parent {
            return Some(at);
        }
        if up >= at {
            return None;
        }
        at = up;
    }
    None
}

/// Returns whether a node's text names a time: a date, a weekday, “last week”, “ago”.
fn names_a_time(node: &NodeRef) -> bool {
    let text = crate::domain::context::segment::prefix(node.body(), 4 << 10);
    let mut found = false;
    crate::domain::context::words::pieces(text, |piece| {
        use crate::domain::context::words::Piece;
        found |= match piece {
            Piece::Word(word) => TIME_WORDS.contains(&word),
            Piece::Gram(_) => false,
            Piece::Day(_) => true,
        }
    });
    found
}

const TIME_WORDS: &[&str] = &[
    "yesterday",
    "today",
    "tomorrow",
    "tonight",
    "ago",
    "last",
    "next",
    "week",
    "weekend",
    "month",
    "year",
    "years",
    "weeks",
    "months",
    "days",
    "recently",
    "since",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "summer",
    "winter",
    "spring",
    "autumn",
    "morning",
    "evening",
    "night",
];
