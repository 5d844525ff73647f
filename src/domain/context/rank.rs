//! Which nodes are near a question: words first, then words that are written nearly so, meaning, what stands beside,
//! above and below, links, and time.

use crate::domain::context::field::Field;
use crate::domain::context::kindred::{Wanted, kindred};
use crate::domain::context::lexical::{Best, Index, Place, QueryTerm};
use crate::domain::context::prose::prose;
use crate::domain::context::question::Question;
use crate::domain::context::segment::prefix;
use crate::domain::context::swift::SwiftMap;
use crate::domain::context::words::NAMES_A_TIME;
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::card::Card;
use crate::domain::memory::view::{NodeRef, View};
use std::cmp::Ordering;
use std::sync::Arc;

/// So many nodes that hold the words are looked at closely.
const CANDIDATES: usize = 400;
/// Nodes of at least this cosine are near, whatever their words.
pub const NEAR_COSINE: f32 = 0.75;
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
    /// What a word counts that is written nearly as one of the question that nobody holds.
    pub alike: f32,
    /// What a node of cosine 1 gains, beside the best node's words; one of `FAR_COSINE` gains nothing.
    pub meaning: f32,
    /// What the words of the focus count beside those of a question.
    pub focus: f32,
    /// What the focus passes on, beside the best node.
    pub from_focus: f32,
}

/// What is looked for, and by whom.
pub struct Sought<'a> {
    /// The question; empty when only a focus is given.
    pub question: &'a Question,
    /// The node at point: what shares its words, links and place is a little nearer.
    pub focus: Option<&'a NodeRef>,
    /// Nodes near by their meaning, with the cosine.
    pub near: Vec<(NodeRef, f32)>,
    /// From which cosine on a node is near by its meaning.
    pub near_cosine: f32,
    /// The strictest label that may be a candidate.
    pub clearance: Privacy,
}

/// What the most of a node's score comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Words of the question.
    Words,
    /// Words that are written nearly so.
    Alike,
    /// Words that stand with the question's in the best nodes, or mark the focus.
    Kindred,
    /// Its meaning.
    Meaning,
    /// What stands beside it.
    Beside,
}

impl Default for Weights {
    fn default() -> Self {
        Weights {
            next: 0.45,
            previous: 0.4,
            parent: 0.1,
            child: 0.1,
            fade: 0.75,
            link: 0.2,
            kindred: 0.3,
            time: 0.25,
            alike: 0.6,
            meaning: 0.8,
            focus: 0.2,
            from_focus: 0.5,
        }
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
    /// What of it comes from its meaning.
    pub meaning: f32,
    /// What most of it comes from.
    pub evidence: Evidence,
    /// How near it is by its meaning, −1 to 1; 0 when that is not known.
    pub cosine: f32,
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
    let question = &Question::read(query, None);
    let sought = Sought { question, focus: None, near: Vec::new(), near_cosine: NEAR_COSINE, clearance };
    for found in rank(view, index, &sought, &Weights::default()) {
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

/// Returns the nodes near a question or a focus, best first. Nodes stricter than the clearance are never candidates.
pub fn rank(view: &View, index: &Index, sought: &Sought<'_>, weights: &Weights) -> Vec<Ranked> {
    let clearance = sought.clearance;
    let mut open = Openness { view, clearance, cards: SwiftMap::default(), closed: !view.sight().is_all() };
    let mut field = Field::of(view, sought.near_cosine);
    let asked = asked(index, sought, weights);
    let mut terms = asked.terms.clone();
    let best = open.best(index, &terms, READ, &|_| ());
    let text = |place: &Place| {
        let node = view.node(&place.file, place.index as usize)?;
        Some(prose(prefix(node.body(), READ_BYTES)).into_owned())
    };
    let texts: Vec<(String, f32)> =
        best.into_iter().filter_map(|found| Some((text(&found.place)?, found.score))).collect();
    let nodes = index.len() as f32;
    let wanted = Wanted { most: KINDRED, weight: weights.kindred, frequent: nodes / 10.0, nodes };
    terms.extend(kindred(&terms, &texts, &wanted, &mut |words| index.frequencies(words)));
    let kind_of = |held: &[bool]| {
        let any = |terms: std::ops::Range<usize>| held.get(terms).is_some_and(|held| held.contains(&true));
        match asked.of_question {
            of_question if any(0..of_question) => Evidence::Words,
            of_question if any(of_question..asked.alike) => Evidence::Alike,
            _ => Evidence::Kindred,
        }
    };
    let found = open.best(index, &terms, CANDIDATES, &kind_of);
    let top = found.first().map_or(1.0, |best| best.score);
    for found in found {
        field.seed(&found.place, found.score, found.with);
    }
    let near = sought
        .near
        .iter()
        .filter(|(node, _)| node.privacy() <= clearance && view.sight().holds(node.file(), node.index));
    for (node, cosine) in near {
        field.mean(node, *cosine, top * weights.meaning);
    }
    if let Some(focus) = sought.focus {
        field.spread_from(focus, top * weights.from_focus, weights);
    }
    field.spread(weights);
    field.follow_links(weights, clearance);
    let mut ranked = field.finish(clearance);
    ranked.sort_by(better);
    if sought.question.wants_time {
        let top = ranked.len().min(TOP_FOR_TIME);
        let places: Vec<Place> = ranked[..top].iter().map(|found| place(&found.node)).collect();
        // The index knows which nodes name a time: none is read.
        for (found, names_a_time) in ranked.iter_mut().zip(index.have(NAMES_A_TIME, &places)) {
            if names_a_time {
                found.score *= 1.0 + weights.time;
            }
        }
        ranked.sort_by(better);
    }
    ranked
}

fn place(node: &NodeRef) -> Place {
    Place { file: node.file().clone(), index: node.index as u32 }
}

/// The terms that are asked for.
struct Asked {
    terms: Vec<QueryTerm>,
    /// So many of them, the first ones, are those of the question itself.
    of_question: usize,
    /// Up to here stand those that are written nearly so.
    alike: usize,
}

/// Gathers what is asked for: the question's words; for those that nobody holds such as are written nearly so; and the
/// words that mark the focus.
fn asked(index: &Index, sought: &Sought<'_>, weights: &Weights) -> Asked {
    let mut terms = sought.question.terms.clone();
    let of_question = terms.len();
    let names: Vec<&str> = terms.iter().map(|term| term.term.as_ref()).collect();
    let unknown: Vec<QueryTerm> = terms
        .iter()
        .zip(index.frequencies(&names))
        .filter(|(_, holding)| *holding == 0)
        .map(|(term, _)| term.clone())
        .collect();
    for term in unknown.iter().take(CORRECTED) {
        for alike in index.alike(&term.term, ALIKE) {
            let weight = term.weight * alike.weight * weights.alike;
            if !terms.iter().any(|known| known.term == alike.term) {
                terms.push(QueryTerm { term: alike.term, weight });
            }
        }
    }
    let alike = terms.len();
    if let Some(focus) = sought.focus {
        // Without a question its words are all there is to look for.
        let (most, weight) = if of_question == 0 { (ALONE, 1.0) } else { (BESIDE_QUESTION, weights.focus) };
        let nodes = index.len() as f32;
        let wanted = Wanted { most, weight, frequent: (nodes / 10.0).max(FREQUENT), nodes };
        let text = format!("{}\n{}", focus.title(), prose(prefix(focus.body(), READ_BYTES)));
        terms.extend(kindred(&terms, &[(text, 1.0)], &wanted, &mut |words| index.frequencies(words)));
        if of_question == 0 {
            return Asked { of_question: terms.len(), alike: terms.len(), terms };
        }
    }
    Asked { terms, of_question, alike }
}

/// Says which nodes may be candidates; the card of a file is looked up once.
struct Openness<'a> {
    view: &'a View,
    clearance: Privacy,
    cards: SwiftMap<*const u8, Option<&'a Arc<Card>>>,
    /// Whether many may not, as far as is known.
    closed: bool,
}

impl Openness<'_> {
    /// Returns the best `limit` nodes that may be candidates, and what `with` makes of which terms each holds.
    ///
    /// Looking up cards costs about as much as the race itself. Where nearly all nodes may be candidates, that is asked
    /// of the best alone, of some more than are wanted; where too few of them may, of all that come to be among the best.
    fn best<T>(
        &mut self,
        index: &Index,
        terms: &[QueryTerm],
        limit: usize,
        with: &dyn Fn(&[bool]) -> T,
    ) -> Vec<Best<T>> {
        if !self.closed {
            // A reader of everything is refused nothing but what the index has and memory has no more.
            let more = if self.clearance == Privacy::Private { 0 } else { limit.div_ceil(SPARE) };
            let mut best = index.best(terms, &[], limit + more, &mut |_, _, held| Some(with(held)));
            let is_all = best.len() < limit + more;
            best.retain(|found| self.admit(&found.place.file, found.place.index).is_some());
            if is_all || best.len() >= limit {
                best.truncate(limit);
                return best;
            }
            self.closed = true;
        }
        index.best(terms, &[], limit, &mut |file, node, held| self.admit(file, node).map(|()| with(held)))
    }

    fn admit(&mut self, file: &Arc<str>, node: u32) -> Option<()> {
        let card = *self.cards.entry(file.as_ptr()).or_insert_with(|| self.view.card(file));
        let open = card.is_some_and(|card| card.privacy(node as usize) <= self.clearance);
        (open && self.view.sight().holds(file, node as usize)).then_some(())
    }
}

fn better(a: &Ranked, b: &Ranked) -> Ordering {
    let place = || (a.node.file(), a.node.index).cmp(&(b.node.file(), b.node.index));
    b.score.total_cmp(&a.score).then_with(place)
}

/// So many words of a question that nobody holds are looked for as others are written.
const CORRECTED: usize = 4;
/// So many words are taken for each of them.
const ALIKE: usize = 4;
/// So many words of a focus are asked for where nothing else is.
const ALONE: usize = 16;
/// So many beside a question.
const BESIDE_QUESTION: usize = 6;
/// Of so many of the best nodes it is asked whether they name a time.
const TOP_FOR_TIME: usize = 160;
/// So many of the best nodes are read for kindred words; from four to eight nothing changes in what is found.
const READ: usize = 5;
/// So many kindred words are asked for.
const KINDRED: usize = 10;
/// A word of the focus that no more nodes than this hold is rare in any memory.
const FREQUENT: f32 = 3.0;
/// Beside the best nodes one in so many is kept, in the place of such as may not be candidates.
const SPARE: usize = 4;
/// How many bytes of a node are read for kindred words.
const READ_BYTES: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::memory::document::{Document, PrivacyOptions};
    use crate::domain::org::scan::{ScanOptions, scan};

    /// Files of headings that hold a word more or less often, of which one in so many is private.
    fn memory(private: usize) -> View {
        let heading = |file: usize, n: usize| {
            let tag = if private > 0 && (file + n).is_multiple_of(private) { " :private:" } else { "" };
            format!("* One{tag}\n{} and {}\n", "larch ".repeat(1 + n * 7 % 5), "other ".repeat(n * 3 % 11))
        };
        let document = |file: usize| {
            let text: String = (0..60).map(|n| heading(file, n)).collect();
            let outline = scan(text.into(), &ScanOptions::default()).expect("it is short");
            Arc::new(Document::build(format!("{file}.org"), outline, &PrivacyOptions::default()))
        };
        (0..12).map(document).fold(View::default(), |view, document| view.with(document))
    }

    #[test]
    fn whoever_is_asked_late_or_at_once_the_same_are_the_best() {
        let terms = [QueryTerm { term: Box::from("larch"), weight: 1.0 }];
        for private in [0, 100, 20, 3, 2, 1] {
            let view = memory(private);
            let index = Index::of(&view);
            for clearance in [Privacy::Open, Privacy::Private] {
                let best = |closed: bool, limit: usize| {
                    let mut open = Openness { view: &view, clearance, cards: SwiftMap::default(), closed };
                    (open.best(&index, &terms, limit, &|held| held.to_vec()), open.closed)
                };
                for limit in [1, 5, 400, 700, 10_000] {
                    let ((found, _), (expected, _)) = (best(false, limit), best(true, limit));
                    assert_eq!(found, expected, "one in {private}, {clearance:?}, {limit}");
                    let open = |found: &Best<Vec<bool>>| {
                        view.card(&found.place.file)
                            .is_some_and(|card| card.privacy(found.place.index as usize) <= clearance)
                    };
                    assert!(found.iter().all(open), "one in {private}, {clearance:?}, {limit}");
                }
            }
            let mut reader =
                Openness { view: &view, clearance: Privacy::Open, cards: SwiftMap::default(), closed: false };
            reader.best(&index, &terms, 400, &|_| ());
            assert_eq!(
                reader.closed,
                matches!(private, 1..=3),
                "one in {private}: few that may not cost no second race"
            );
        }
    }
}
