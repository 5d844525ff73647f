//! Kindred words: those that stand often in the best nodes for a question, and are rare elsewhere.
//! The question says “trip”; its best nodes say “Lisbon”, “flight” and “hotel”.

use crate::domain::context::lexical::QueryTerm;
use crate::domain::context::swift::WordMap;
use crate::domain::context::words::Analyser;

/// How rare at most so many words are is looked up.
pub(super) const LOOKED_UP: usize = 96;
/// So many at a time.
const AT_ONCE: usize = 16;
/// A word that fewer nodes hold says nothing of others.
const LEAST_HOLDING: f32 = 2.0;
/// Keeps the few words of a very short node from counting as its whole meaning.
const SHORT: f32 = 10.0;

/// Which words are wanted of some texts.
pub(super) struct Wanted {
    /// At most so many.
    pub(super) most: usize,
    /// What the first of them weighs.
    pub(super) weight: f32,
    /// None that more nodes hold.
    pub(super) frequent: f32,
    /// How many nodes there are.
    pub(super) nodes: f32,
}

/// Returns the words that stand often in some texts, with what each text counts, and are rare elsewhere.
/// `holding` says how many nodes hold each of some words; that costs most, so it is asked for few.
pub(super) fn kindred(
    asked: &[QueryTerm],
    texts: &[(String, f32)],
    wanted: &Wanted,
    holding: &mut dyn FnMut(&[&str]) -> Vec<usize>,
) -> Vec<QueryTerm> {
    let mut shares = shares(texts);
    let by_share = |a: &(Box<str>, f32), b: &(Box<str>, f32)| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0));
    if shares.len() > LOOKED_UP {
        shares.select_nth_unstable_by(LOOKED_UP, by_share);
        shares.truncate(LOOKED_UP);
    }
    shares.sort_unstable_by(by_share);
    let mut rare: Vec<QueryTerm> = Vec::new();
    for some in shares.chunks(AT_ONCE) {
        // The rarest word that counts at all is worth no more than this, and words come by their shares.
        let most = some.first().map_or(0.0, |(_, share)| share * (wanted.nodes / LEAST_HOLDING).ln());
        let least = wanted.most.checked_sub(1).and_then(|last| rare.get(last)).map_or(0.0, |last| last.weight);
        if most < least {
            break;
        }
        let words: Vec<&str> = some.iter().map(|(word, _)| word.as_ref()).collect();
        for ((word, share), holding) in some.iter().zip(holding(&words)) {
            let holding = holding as f32;
            let counts = holding >= LEAST_HOLDING && holding <= wanted.frequent;
            if counts && !asked.iter().any(|known| known.term == *word) {
                rare.push(QueryTerm { term: word.clone(), weight: share * (wanted.nodes / holding).ln() });
            }
        }
        rare.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.term.cmp(&b.term)));
        rare.truncate(wanted.most);
    }
    let first = rare.first().map_or(1.0, |first| first.weight);
    rare.iter_mut().for_each(|term| term.weight *= wanted.weight / first);
    rare.retain(|term| term.weight > 0.0);
    rare
}

/// Returns each word of some texts with the part of them that it is, by what each text counts.
fn shares(texts: &[(String, f32)]) -> Vec<(Box<str>, f32)> {
    let sum: f32 = texts.iter().map(|(_, score)| score).sum();
    let mut analyser = Analyser::default();
    let mut numbers: WordMap<usize> = WordMap::default();
    let mut names: Vec<Box<str>> = Vec::new();
    // Of each word how often it stands in the text at hand, and its share so far.
    let mut words: Vec<(f32, f32)> = Vec::new();
    let mut here: Vec<usize> = Vec::new();
    for (text, score) in texts {
        let mut length = SHORT;
        analyser.terms(text, |term| {
            let number = numbers.get(term).unwrap_or_else(|| {
                numbers.insert(term, words.len());
                names.push(Box::from(term));
                words.push((0.0, 0.0));
                words.len() - 1
            });
            if let Some((count, _)) = words.get_mut(number) {
                if *count == 0.0 {
                    here.push(number);
                }
                *count += 1.0;
            }
            length += 1.0;
        });
        for number in here.drain(..) {
            if let Some((count, share)) = words.get_mut(number) {
                *share += score / sum * *count / length;
                *count = 0.0;
            }
        }
    }
    names.into_iter().zip(words).map(|(name, (_, share))| (name, share)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WANTED: Wanted = Wanted { most: 10, weight: 0.3, frequent: 1000.0, nodes: 10_000.0 };

    /// A word's number says how many nodes hold it.
    fn holding(word: &str) -> usize {
        word.bytes().fold(7, |sum: usize, byte| (sum * 31 + usize::from(byte)) % 1_500)
    }

    /// Returns the kindred words, and how many were looked up.
    fn found(texts: &[(String, f32)]) -> (Vec<QueryTerm>, usize) {
        let mut looked_up = 0;
        let terms = kindred(&[], texts, &WANTED, &mut |words| {
            looked_up += words.len();
            words.iter().map(|word| holding(word)).collect()
        });
        (terms, looked_up)
    }

    /// Does the same for all words that may be looked up, at once.
    fn all(texts: &[(String, f32)]) -> Vec<QueryTerm> {
        let mut shares = shares(texts);
        shares.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let counting = shares.into_iter().take(LOOKED_UP).map(|(term, share)| (holding(&term) as f32, term, share));
        let counting = counting.filter(|(holding, ..)| (LEAST_HOLDING..=WANTED.frequent).contains(holding));
        let mut rare: Vec<QueryTerm> = counting
            .map(|(holding, term, share)| QueryTerm { term, weight: share * (WANTED.nodes / holding).ln() })
            .collect();
        rare.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.term.cmp(&b.term)));
        rare.truncate(WANTED.most);
        let first = rare.first().map_or(1.0, |first| first.weight);
        rare.iter_mut().for_each(|term| term.weight *= WANTED.weight / first);
        rare
    }

    #[test]
    fn few_words_are_looked_up() {
        // Three letters for three digits, and nothing that a stemmer takes off.
        let letter = |digit: usize| char::from(b"bcdfghjklm"[digit % 10]);
        let word = |number: usize| format!("q{}{}{}x", letter(number / 100), letter(number / 10), letter(number));
        let every = (0..600).map(word).collect::<Vec<_>>();
        let plain = (every.join(" "), 1.0);
        let often = (format!("{0} {0} {0} {0}", every[..60].join(" ")), 1.0);
        // Nothing tells these words apart: the bound holds.
        assert_eq!(found(std::slice::from_ref(&plain)).1, LOOKED_UP);
        // Those that stand four times are worth more than the rarest of the others.
        let (terms, looked_up) = found(&[plain, often]);
        assert_eq!((terms.len(), looked_up <= 64), (WANTED.most, true), "{looked_up}");
        assert_eq!(found(&[]), (Vec::new(), 0));
    }

    proptest! {
        #[test]
        fn what_is_not_looked_up_would_not_be_among_them(
            texts in prop::collection::vec(("([b-d]{1,3} ){0,200}", 0.1f32..9.0), 0..6)
        ) {
            let (terms, looked_up) = found(&texts);
            prop_assert_eq!(terms, all(&texts));
            prop_assert!(looked_up <= LOOKED_UP);
        }
    }
}
