//! What it means that a node's text has a word or a phrase, by reading it and by asking the full-text index.
//!
//! A word is looked for in any of its forms; a word of several pieces, such as `e-mail` or a word of a script without
//! spaces, as its pieces in a row. A phrase is looked for as it stands, but for case, accents and punctuation.

use crate::domain::context::holding::Holding;
use crate::domain::context::lexical::{Index, QueryTerm, Scored};
use crate::domain::context::prose::prose;
use crate::domain::context::segment::prefix;
use crate::domain::context::words::{Analyser, Piece, is_stop_word, pieces, traces};
use crate::domain::memory::view::NodeRef;
use crate::domain::query::source;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The longest text of a node that is read.
const LONGEST: usize = 1 << 20;

/// Returns whether a text has anything that can be looked for.
pub fn has_words(text: &str) -> bool {
    let mut any = false;
    pieces(text, |_| any = true);
    any
}

/// One word or phrase, ready to be looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its pieces in a row; stems, unless it is a phrase.
    pieces: Vec<Box<str>>,
    /// Of each whether it is of a script without spaces.
    grams: Vec<bool>,
    /// Its runs of such a script: two of its pairs in a row may come from two runs.
    runs: Vec<String>,
    /// Whether forms of a word count as the word.
    stemmed: bool,
    /// What the index must hold of a node that has it; empty when only words stand in it that it leaves out.
    pub terms: Vec<Box<str>>,
    /// What it must hold as well, and what says nothing of how well the node fits.
    pub traces: Vec<Box<str>>,
}

impl Wanted {
    /// Returns every term that the index must hold of a node that has it.
    pub fn needs(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().chain(&self.traces).map(AsRef::as_ref)
    }

    /// Adds what is marked of it in a text: words, and runs of scripts without spaces.
    pub fn marks(&self, words: &mut HashSet<Box<str>>, runs: &mut Vec<String>) {
        let spaced = self.pieces.iter().zip(&self.grams).filter(|(_, gram)| !**gram);
        words.extend(spaced.map(|(piece, _)| piece.clone()));
        runs.extend(self.runs.iter().cloned());
    }
}

/// Returns the parts of a text that are of a script without spaces, as they stand.
fn runs(text: &str) -> Vec<String> {
    let apart = |c: char| {
        c.is_whitespace()
            || c.is_ascii()
            || matches!(c, '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff20}')
    };
    let is_run = |part: &&str| {
        let mut any = false;
        pieces(part, |piece| any |= matches!(piece, Piece::Gram(_)));
        any
    };
    text.split(apart).filter(|part| !part.is_empty()).filter(is_run).map(str::to_string).collect()
}

/// Looks for words; remembers what it did with each.
#[derive(Default)]
pub struct Reader {
    analyser: Analyser,
}

impl Reader {
    /// Returns what stems words.
    pub fn analyser(&mut self) -> &mut Analyser {
        &mut self.analyser
    }

    /// Prepares a word.
    pub fn word(&mut self, word: &str) -> Wanted {
        self.wanted(word, true)
    }

    /// Prepares a phrase.
    pub fn phrase(&mut self, text: &str) -> Wanted {
        self.wanted(text, false)
    }

    fn wanted(&mut self, text: &str, stemmed: bool) -> Wanted {
        let (mut row, mut grams) = (Vec::new(), Vec::new());
        pieces(text, |piece| {
            grams.push(matches!(piece, Piece::Gram(_)));
            row.push(self.piece(piece, stemmed));
        });
        let mut terms: Vec<Box<str>> = Vec::new();
        self.analyser.terms(text, |term| terms.push(term.into()));
        terms.sort_unstable();
        terms.dedup();
        let mut traced: Vec<Box<str>> = Vec::new();
        traces(text, |trace| traced.push(trace.into()));
        traced.sort_unstable();
        traced.dedup();
        Wanted { pieces: row, grams, runs: runs(text), stemmed, terms, traces: traced }
    }

    fn piece(&mut self, piece: Piece<'_>, stemmed: bool) -> Box<str> {
        match piece {
            Piece::Word(word) if stemmed => self.analyser.stem(word).into(),
            Piece::Word(word) | Piece::Gram(word) | Piece::Day(word) => word.into(),
        }
    }

    /// Returns whether a node has it, by reading all of its text.
    pub fn holds(&mut self, node: &NodeRef, wanted: &Wanted) -> bool {
        let title = source::indexed_title(node);
        if wanted.terms.is_empty() {
            // Words that say nothing by themselves are looked for in titles alone.
            return self.stands_in(title, wanted);
        }
        self.stands_in(title, wanted)
            || source::own_tags(node).iter().any(|tag| self.stands_in(tag, wanted))
            || source::details(node).iter().any(|text| self.stands_in(text, wanted))
            || self.stands_in(&prose(prefix(node.body(), LONGEST)), wanted)
    }

    /// Returns whether a text has it.
    pub fn stands_in(&mut self, text: &str, wanted: &Wanted) -> bool {
        if let ([run], true) = (wanted.runs.as_slice(), wanted.grams.iter().all(|gram| *gram)) {
            // One run of a script without spaces is there or not, wherever words would end.
            return text.contains(run.as_str());
        }
        let row = &wanted.pieces;
        if !wanted.runs.iter().all(|run| text.contains(run.as_str())) {
            return false;
        }
        // How many pieces each attempt that is under way has matched already.
        let mut under_way: Vec<usize> = Vec::new();
        let mut found = row.is_empty();
        pieces(text, |piece| {
            if found {
                return;
            }
            let day = match piece {
                // Whoever looks for a year finds its days.
                Piece::Day(day) if row.len() == 1 => day.get(..4) == Some(&row[0]) || day.get(..7) == Some(&row[0]),
                Piece::Day(_) | Piece::Word(_) | Piece::Gram(_) => false,
            };
            let piece = self.piece(piece, wanted.stemmed);
            under_way.push(0);
            under_way.retain_mut(|matched| {
                let fits = row.get(*matched).is_some_and(|wanted| *wanted == piece);
                *matched += 1;
                fits
            });
            found = day || under_way.contains(&row.len());
            under_way.retain(|matched| *matched < row.len());
        });
        found
    }

    /// Returns whether the index says all that there is to say: it knows words, not what stands beside what.
    pub fn is_exact(wanted: &Wanted) -> bool {
        wanted.stemmed && wanted.pieces.len() == 1 && wanted.terms.len() == 1
    }

    /// Returns the weights by which a text is like a node: its terms that are rare elsewhere.
    pub fn kindred(&mut self, node: &NodeRef, index: &Index) -> Vec<QueryTerm> {
        let mut counts: HashMap<Box<str>, f32> = HashMap::new();
        let mut put = |term: &str, weight: f32| *counts.entry(term.into()).or_default() += weight;
        self.analyser.terms(source::indexed_title(node), |term| put(term, 2.0));
        self.analyser.terms(&prose(prefix(node.body(), 8 << 10)), |term| put(term, 1.0));
        let mut counts: Vec<(Box<str>, f32)> = counts.into_iter().collect();
        counts.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        counts.truncate(LOOKED_UP);
        let nodes = index.len().max(1) as f32;
        let names: Vec<&str> = counts.iter().map(|(term, _)| term.as_ref()).collect();
        let frequencies = index.frequencies(&names);
        let mut terms: Vec<QueryTerm> = counts
            .into_iter()
            .zip(frequencies)
            .filter_map(|((term, count), holding)| {
                let holding = holding as f32;
                let weight = (1.0 + count.ln()) * (nodes / holding.max(1.0)).ln();
                (holding >= 2.0 && weight > 0.0).then_some(QueryTerm { term, weight })
            })
            .collect();
        terms.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.term.cmp(&b.term)));
        terms.truncate(KINDRED);
        terms
    }
}

/// So many terms of a node are looked up to find what is like it.
const LOOKED_UP: usize = 100;
/// So many of them are asked for.
const KINDRED: usize = 16;

/// Nodes by file and index, with what each is worth.
#[derive(Clone, Debug, Default)]
pub struct Places {
    files: HashMap<Arc<str>, Vec<(u32, f32)>>,
}

impl Places {
    /// Gathers nodes that an index has found.
    pub fn of(scored: Vec<Scored>) -> Places {
        let mut files: HashMap<Arc<str>, Vec<(u32, f32)>> = HashMap::new();
        for found in scored {
            files.entry(found.place.file).or_default().push((found.place.index, found.score));
        }
        files.values_mut().for_each(|nodes| nodes.sort_unstable_by_key(|(index, _)| *index));
        Places { files }
    }

    /// Returns what a node is worth, if it is there.
    pub fn score(&self, file: &str, index: usize) -> Option<f32> {
        let nodes = self.files.get(file)?;
        let at = nodes.binary_search_by_key(&index, |(index, _)| *index as usize).ok()?;
        nodes.get(at).map(|(_, score)| *score)
    }
}

/// Returns about how many nodes have something, for choosing where to begin.
pub fn frequency(index: &Index, wanted: &Wanted) -> usize {
    let terms: Vec<&str> = wanted.needs().collect();
    index.frequencies(&terms).into_iter().min().unwrap_or(0)
}

/// Returns the nodes that hold every term of something, as the index knows them; what they are worth is not worked out.
pub fn holding(index: &Index, wanted: &Wanted) -> Holding {
    let terms: Vec<&str> = wanted.needs().collect();
    index.holding(&terms)
}

/// Returns the best nodes for some terms, best first.
pub fn ranked(index: &Index, terms: &[QueryTerm], limit: usize, admit: &dyn Fn(&str, u32) -> bool) -> Vec<Scored> {
    index.scores(terms, limit, admit)
}

/// Returns whether a word says nothing by itself, such as “the”.
pub fn is_empty_word(wanted: &Wanted) -> bool {
    wanted.terms.is_empty() && wanted.pieces.iter().all(|piece| is_stop_word(piece))
}
