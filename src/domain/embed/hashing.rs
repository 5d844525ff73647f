//! Vectors without a model: how often which three letters in a row stand in a text, hashed into a fixed number of places.
//!
//! They know spelling, not meaning: inflections and misspellings of one word lie near each other, synonyms do not.

use crate::domain::embed::Vector;
use std::collections::HashMap;

/// How many numbers such a vector has.
pub const DIMENSION: usize = 384;
/// So many characters of a text are read.
const MOST_CHARACTERS: usize = 4 << 10;

/// Returns the vector of a text; `None` when there is no letter or digit in it.
pub fn hashed(text: &str) -> Option<Vector> {
    let mut counts: HashMap<[char; 3], f32> = HashMap::new();
    for word in words(text) {
        let marked: Vec<char> = [' '].into_iter().chain(word.chars()).chain([' ']).collect();
        for three in marked.windows(3) {
            if let [a, b, c] = three {
                *counts.entry([*a, *b, *c]).or_default() += 1.0;
            }
        }
    }
    let mut sorted: Vec<([char; 3], f32)> = counts.into_iter().collect();
    // Sums of floats depend on their order; this one is fixed.
    sorted.sort_unstable_by_key(|(three, _)| *three);
    let mut numbers = vec![0f32; DIMENSION];
    for (three, count) in sorted {
        let hash = blake3::hash(three.iter().collect::<String>().as_bytes());
        let [low, high, sign, ..] = *hash.as_bytes();
        let place = usize::from(u16::from_le_bytes([low, high])) % DIMENSION;
        // A sign of its own lets trigrams that share a place cancel out on average instead of adding up.
        let share = if sign & 1 == 0 { 1.0 } else { -1.0 } * (1.0 + count.ln());
        if let Some(number) = numbers.get_mut(place) {
            *number += share;
        }
    }
    Vector::new(numbers).ok()
}

/// Returns the words of a text in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    let cut: String = text.chars().take(MOST_CHARACTERS).collect::<String>().to_lowercase();
    let words: Vec<String> =
        cut.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_string).collect();
    words.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        hashed(a).expect("it has letters").cosine(&hashed(b).expect("it has letters"))
    }

    #[test]
    fn spelling_is_near_and_other_words_are_far() {
        for (near, far) in
            [(("Lisbon", "Lisbom"), ("Lisbon", "harbour")), (("travelling", "travelled"), ("travel", "hotel"))]
        {
            assert!(cosine(near.0, near.1) > cosine(far.0, far.1) + 0.2, "{near:?} {far:?}");
        }
        assert!((cosine("the same words", "The SAME, words!") - 1.0).abs() < 1e-6);
        assert!(cosine("漢字の本", "漢字の森") > 0.3);
    }

    #[test]
    fn without_letters_there_is_no_vector_and_long_texts_are_cut() {
        for text in ["", " \n", "—…!?"] {
            assert_eq!(hashed(text), None, "{text:?}");
        }
        let long = "word ".repeat(1_000_000);
        assert_eq!(hashed(&long), hashed(&long[..MOST_CHARACTERS]));
        assert_eq!(hashed("pinned").expect("letters").dimension(), DIMENSION);
    }

    #[test]
    fn the_places_are_pinned() {
        let vector = hashed("ab").expect("letters");
        let places: Vec<usize> = (0..DIMENSION).filter(|at| vector.numbers()[*at] != 0.0).collect();
        // The two trigrams “ ab” and “ab ”: kept vectors would mean something else if these moved.
        assert_eq!(places.len(), 2);
    }
}
