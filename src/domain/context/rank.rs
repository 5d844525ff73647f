//! Which nodes are near a question: words first, then what stands beside, above and below, and time.

use crate::domain::context::lexical::{Index, Place, QueryTerm, Scored};
use crate::domain::context::prose::prose;
use crate::domain::context::question::Question;
use crate::domain::context::segment::prefix;
use crate::domain::context::words::{Analyser, Piece, pieces};
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::card::Card;
use crate::domain::memory::view::{NodeRef, View};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
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
    /// What is left of a sibling's share after each step further away.
    pub fade: f32,
    /// What a node passes on to the nodes that it links to.
    pub link: f32,
    /// What the words count that stand with the question's words in the best nodes.
    pub kindred: f32,
    /// What a node that names a time gains when the question asks for one.
    pub time: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Weights { next: 0.45, previous: 0.4, parent: 0.1, child: 0.1, fade: 0.75, link: 0.2, kindred: 0.3, time: 0.25 }
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
        let open = |card: &Arc<Card>| card.privacy(node as usize) <= clearance;
        view.sight().holds(file, node as usize) && view.card(file).is_some_and(open)
    };
    let mut field = Field { view, files: Vec::new(), numbers: HashMap::new(), nodes: HashMap::new() };
    let mut terms = question.terms.clone();
    terms.extend(kindred(view, index, &terms, weights, &admit));
    for scored in index.scores(&terms, CANDIDATES, &admit) {
        field.seed(scored);
    }
    field.spread(weights);
    field.follow_links(weights, clearance);
    let mut ranked = field.finish(clearance);
    ranked.sort_by(better);
    if question.wants_time {
        // Only what has a chance is read.
        let top = ranked.len().min(READ_FOR_TIME);
        for found in &mut ranked[..top] {
            if names_a_time(&found.node) {
                found.score *= 1.0 + weights.time;
            }
        }
        ranked.sort_by(better);
    }
    ranked
}

fn better(a: &Ranked, b: &Ranked) -> Ordering {
    let place = || (a.node.file(), a.node.index).cmp(&(b.node.file(), b.node.index));
    b.score.total_cmp(&a.score).then_with(place)
}

/// So many of the best nodes are read for the times they name.
const READ_FOR_TIME: usize = 160;
/// So many of the best nodes are read for kindred words.
const READ: usize = 8;
/// Out of so many.
const LOOKED_UP: usize = 160;
/// So many kindred words are asked for.
const KINDRED: usize = 10;

/// Returns the words that stand with the question's words in the best nodes and are rare elsewhere.
/// The question says “trip”; its best nodes say “Lisbon”, “flight” and “hotel”.
fn kindred(
    view: &View,
    index: &Index,
    asked: &[QueryTerm],
    weights: &Weights,
    admit: &dyn Fn(&str, u32) -> bool,
) -> Vec<QueryTerm> {
    let best = index.scores(asked, READ, admit);
    let sum: f32 = best.iter().map(|found| found.score).sum();
    let mut analyser = Analyser::default();
    let mut shares: BTreeMap<Box<str>, f32> = BTreeMap::new();
    for found in &best {
        let Some(node) = view.node(&found.place.file, found.place.index as usize) else { continue };
        let mut here: BTreeMap<Box<str>, f32> = BTreeMap::new();
        let mut length = SHORT;
        analyser.terms(&prose(prefix(node.body(), READ_BYTES)), |term| {
            *here.entry(Box::from(term)).or_default() += 1.0;
            length += 1.0;
        });
        for (term, count) in here {
            *shares.entry(term).or_default() += found.score / sum * count / length;
        }
    }
    // Looking up how rare a word is costs most; words that hardly count are not looked up.
    let mut shares: Vec<(Box<str>, f32)> = shares.into_iter().collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    shares.truncate(LOOKED_UP);
    let nodes = index.len() as f32;
    let mut rare: Vec<QueryTerm> = Vec::new();
    let terms: Vec<&str> = shares.iter().map(|(term, _)| term.as_ref()).collect();
    let frequencies = index.frequencies(&terms);
    for ((term, share), holding) in shares.into_iter().zip(frequencies) {
        let holding = holding as f32;
        if holding >= 2.0 && holding <= nodes / 10.0 && !asked.iter().any(|known| known.term == term) {
            rare.push(QueryTerm { term, weight: share * (nodes / holding).ln() });
        }
    }
    rare.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.term.cmp(&b.term)));
    rare.truncate(KINDRED);
    let most = rare.first().map_or(1.0, |first| first.weight);
    rare.iter_mut().for_each(|term| term.weight *= weights.kindred / most);
    rare.retain(|term| term.weight > 0.0);
    rare
}

/// Keeps the few words of a very short node from counting as its whole meaning.
const SHORT: f32 = 10.0;
/// How many bytes of a node are read for kindred words, or for a time.
const READ_BYTES: usize = 1 << 10;

/// Scores by document and node, while evidence spreads.
struct Field<'a> {
    view: &'a View,
    /// The files' own nodes: others of the same file are had without looking it up.
    files: Vec<NodeRef>,
    numbers: HashMap<Arc<str>, usize>,
    /// Own score and gathered score.
    nodes: HashMap<(usize, u32), (f32, f32)>,
}

impl Field<'_> {
    fn seed(&mut self, scored: Scored) {
        let Place { file, index } = scored.place;
        let Some(number) = self.number(&file) else { return };
        self.nodes.insert((number, index), (scored.score, 0.0));
    }

    fn number(&mut self, file: &Arc<str>) -> Option<usize> {
        if let Some(number) = self.numbers.get(file) {
            return Some(*number);
        }
        self.files.push(self.view.node(file, 0)?);
        self.numbers.insert(file.clone(), self.files.len() - 1);
        Some(self.files.len() - 1)
    }

    fn spread(&mut self, weights: &Weights) {
        let mut seeds: Vec<((usize, u32), f32)> = self.nodes.iter().map(|(at, score)| (*at, score.0)).collect();
        // Sums of floats depend on their order; this one is fixed.
        seeds.sort_by_key(|seed| seed.0);
        for ((number, index), score) in seeds {
            let card = self.files[number].card();
            let mut gifts: Vec<(usize, f32)> = Vec::new();
            let index = index as usize;
            let (mut before, mut behind) = (card.previous(index), card.next(index));
            let mut left = 1.0;
            for _ in 0..REACH {
                gifts.extend(before.map(|at| (at, weights.previous * left)));
                gifts.extend(behind.map(|at| (at, weights.next * left)));
                before = before.and_then(|at| card.previous(at));
                behind = behind.and_then(|at| card.next(at));
                left *= weights.fade;
            }
            if let Some(parent) = card.parent(index).filter(|parent| *parent > 0) {
                gifts.push((parent, weights.parent));
            }
            if index > 0 {
                gifts.extend(card.children(index).take(CHILDREN).map(|at| (at, weights.child)));
            }
            for (at, part) in gifts {
                self.nodes.entry((number, at as u32)).or_default().1 += score * part;
            }
        }
    }

    /// Gives the nodes that the best ones link to a share.
    fn follow_links(&mut self, weights: &Weights, clearance: Privacy) {
        let mut best: Vec<((usize, u32), f32)> = self.nodes.iter().map(|(at, score)| (*at, score.0)).collect();
        best.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        for ((number, index), score) in best.into_iter().take(LINKING) {
            let card = self.files[number].card().clone();
            for link in card.links_of(index as usize).take(LINKS).filter(|_| score > 0.0) {
                let Some(target) = self.view.get(&NodeId::new(link)) else { continue };
                if target.privacy() <= clearance
                    && let Some(number) = self.number(target.file())
                {
                    self.nodes.entry((number, target.index as u32)).or_default().1 += score * weights.link;
                }
            }
        }
    }

    fn finish(self, clearance: Privacy) -> Vec<Ranked> {
        let (view, files) = (self.view, self.files);
        let ranked = self.nodes.into_iter().filter_map(|((number, index), (own, gathered))| {
            let node = files.get(number)?.at(index as usize)?;
            Some(Ranked { node, score: own + gathered, own })
        });
        let seen = |node: &NodeRef| node.privacy() <= clearance && view.sight().holds(node.file(), node.index);
        ranked.filter(|found| found.score > 0.0 && seen(&found.node)).collect()
    }
}

/// So many siblings on either side are given a share.
const REACH: usize = 4;
/// The links of so many of the best nodes are followed.
const LINKING: usize = 24;
/// At most so many links of each.
const LINKS: usize = 8;
/// A heading passes on to at most so many children.
const CHILDREN: usize = 32;

/// Returns whether a node's text names a time: a date, a weekday, “last week”, “ago”.
fn names_a_time(node: &NodeRef) -> bool {
    let text = prefix(node.body(), READ_BYTES);
    let mut found = false;
    pieces(text, |piece| {
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
