//! Texts that are nearly the same, found by the runs of words that they share: of each the least hashes are kept, and only
//! those that share one of the very least are compared.

use crate::domain::memory::card::fingerprint;
use crate::domain::memory::quotation::is_unspaced;
use std::collections::{BTreeSet, HashMap};

/// How many words in a row are one shingle.
const RUN: usize = 4;
/// Texts of fewer words are not compared: short ones are alike by chance.
const FEWEST: usize = 12;
/// How many hashes are kept of a text.
const KEPT: usize = 64;
/// Two texts are compared when they share one of so many of the least.
const KEYS: usize = 8;
/// What more texts than this share tells nothing of them, such as a template.
const CROWD: usize = 32;
/// The part of their shingles, in percent, that near duplicates share at least.
const ALIKE: usize = 70;

/// The shingles of a text, as far as they are kept.
pub struct Sketch(Vec<u64>);

impl Sketch {
    /// Makes the sketch of a text; `None` where it is too short to be compared.
    pub fn of(text: &str) -> Option<Sketch> {
        let words: Vec<String> = words(text);
        if words.len() < FEWEST {
            return None;
        }
        let mut hashes: Vec<u64> = words.windows(RUN).map(|run| fingerprint(&run.join(" "))).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes.truncate(KEPT);
        Some(Sketch(hashes))
    }

    /// Returns which part of their shingles two texts share, in percent, as far as the sketches tell.
    fn likeness(&self, other: &Sketch) -> usize {
        let mut all: Vec<u64> = self.0.iter().chain(&other.0).copied().collect();
        all.sort_unstable();
        all.dedup();
        all.truncate(KEPT);
        let both = |hash: &&u64| self.0.binary_search(hash).is_ok() && other.0.binary_search(hash).is_ok();
        all.iter().filter(both).count() * 100 / all.len().max(1)
    }
}

/// Returns the words of a text in small letters; of scripts that put no blanks between them each character is one.
fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric()).flat_map(|part| part.split_inclusive(is_unspaced));
    let single = parts.flat_map(|part| match part.char_indices().next_back() {
        Some((at, last)) if at > 0 && is_unspaced(last) => {
            vec![part.get(..at).unwrap_or(""), part.get(at..).unwrap_or("")]
        }
        Some(_) | None => vec![part],
    });
    single.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Returns the pairs of texts that are nearly the same, by their places, with the part that they share in percent; the most
/// alike first. With them comes how many texts were compared with none, as a crowd shares all that could tell.
pub fn pairs(sketches: &[Sketch]) -> (Vec<(usize, usize, usize)>, usize) {
    let mut holders: HashMap<u64, Vec<usize>> = HashMap::new();
    for (place, sketch) in sketches.iter().enumerate() {
        for key in sketch.0.iter().take(KEYS) {
            holders.entry(*key).or_default().push(place);
        }
    }
    let mut candidates: BTreeSet<(usize, usize)> = BTreeSet::new();
    for places in holders.values().filter(|places| places.len() <= CROWD) {
        for (at, first) in places.iter().enumerate() {
            candidates.extend(places.iter().skip(at + 1).map(|second| (*first, *second)));
        }
    }
    let is_crowd = |key: &u64| holders.get(key).is_some_and(|places| places.len() > CROWD);
    let crowded = sketches.iter().filter(|sketch| sketch.0.iter().take(KEYS).all(is_crowd)).count();
    let alike = |(first, second): (usize, usize)| {
        let likeness = sketches.get(first)?.likeness(sketches.get(second)?);
        (likeness >= ALIKE).then_some((first, second, likeness))
    };
    let mut found: Vec<(usize, usize, usize)> = candidates.into_iter().filter_map(alike).collect();
    found.sort_by_key(|(first, second, likeness)| (std::cmp::Reverse(*likeness), *first, *second));
    (found, crowded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn found(texts: &[&str]) -> Vec<(usize, usize, usize)> {
        let sketches: Vec<Sketch> = texts.iter().map(|text| Sketch::of(text).expect("it is long enough")).collect();
        pairs(&sketches).0
    }

    const BOAT: &str = "The boat lies in the harbour since May and wants new paint before it goes out again \
                        with the children next summer.";

    #[test]
    fn what_is_nearly_the_same_is_found_and_what_is_alike_by_chance_is_not() {
        let shouted = BOAT.to_uppercase().replace(' ', "\n");
        let changed = BOAT.replace("next summer", "this autumn");
        let other =
            "The garden wants water in May and new beds before the children come again for the summer holidays.";
        assert_eq!(found(&[BOAT, other, &shouted]), [(0, 2, 100)]);
        let near = found(&[BOAT, &changed, other]);
        assert!(matches!(near.as_slice(), [(0, 1, 70..=99)]), "{near:?}");
        assert!(Sketch::of("Call Ann").is_none() && Sketch::of("").is_none());
        let many: Vec<&str> = vec![BOAT; CROWD + 1];
        assert!(found(&many).is_empty(), "a template is no duplicate");
        let sketches: Vec<Sketch> = many.iter().chain([&other]).filter_map(|text| Sketch::of(text)).collect();
        assert_eq!(pairs(&sketches).1, CROWD + 1, "and is counted");
        let (one, two) = (
            "この船は五月から港にあり、夏までに塗り直す必要があります。",
            "この船は五月から港にあり、冬までに塗り直す必要があります。",
        );
        assert!(matches!(found(&[one, two]).as_slice(), [(0, 1, 70..=99)]), "{:?}", found(&[one, two]));
        assert_eq!(words("Boot 船は go"), ["boot", "船", "は", "go"]);
    }

    proptest! {
        #[test]
        fn likeness_is_that_of_the_shingles(
            left in prop::collection::vec("[a-d]", 12..40), right in prop::collection::vec("[a-d]", 12..40)
        ) {
            let shingles = |words: &[String]| -> HashSet<String> { words.windows(RUN).map(|run| run.join(" ")).collect() };
            let (a, b) = (shingles(&left), shingles(&right));
            let (one, two) = (Sketch::of(&left.join(" ")).unwrap(), Sketch::of(&right.join(" ")).unwrap());
            // So few shingles are all kept: then it is exact.
            let union = a.union(&b).count();
            if union <= KEPT {
                prop_assert_eq!(one.likeness(&two), a.intersection(&b).count() * 100 / union);
            }
            prop_assert_eq!(one.likeness(&two), two.likeness(&one));
        }
    }
}
