//! Cuts text into the terms that the lexical index is made of.
//!
//! English words are stemmed, Chinese, Japanese and Korean runs become pairs of characters,
//! and dates become terms of their own. It knows nothing of nodes or scores.

use rust_stemmers::{Algorithm, Stemmer};
use std::collections::HashMap;

/// Words longer than this are data (hashes, base64), not language; only their beginning is kept.
const LONGEST_WORD: usize = 40;

/// One piece of a text, before stemming. Words are lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A word in an alphabet that puts spaces between words.
    Word(&'a str),
    /// Two neighbouring characters of a script without spaces, or one that stands alone.
    Gram(&'a str),
    /// A calendar day, written `2026-03-14`.
    Day(&'a str),
}

/// Calls `emit` for every piece of the text, in order.
pub fn pieces(text: &str, mut emit: impl FnMut(Piece<'_>)) {
    let mut word = String::new();
    let mut letters = 0usize;
    let mut previous: Option<char> = None;
    let mut alone = true;
    let bytes = text.as_bytes();
    let mut skip_to = 0usize;
    for (at, c) in text.char_indices() {
        if at < skip_to {
            continue;
        }
        if let Some(last) = previous
            && !is_cjk(c)
        {
            if alone {
                emit(Piece::Gram(last.encode_utf8(&mut [0; 4])));
            }
            previous = None;
        }
        if word.is_empty() && c.is_ascii_digit() && day_at(bytes, at) {
            // The ten bytes are ASCII, so they are characters too.
            emit(Piece::Day(text.get(at..at + 10).unwrap_or_default()));
            skip_to = at + 10;
        } else if is_cjk(c) {
            flush(&mut word, &mut letters, &mut emit);
            match previous {
                Some(last) => {
                    let mut pair = [0u8; 8];
                    let first = last.encode_utf8(&mut pair).len();
                    let length = first + c.encode_utf8(&mut pair[first..]).len();
                    emit(Piece::Gram(std::str::from_utf8(&pair[..length]).unwrap_or_default()));
                    alone = false;
                }
                None => alone = true,
            }
            previous = Some(c);
        } else if c.is_alphanumeric() {
            if letters < LONGEST_WORD {
                fold(c, &mut word);
                letters += 1;
            }
        } else if is_apostrophe(c) && !word.is_empty() {
            // “Caroline's” is Caroline, “don't” is don: what follows an apostrophe is grammar.
            flush(&mut word, &mut letters, &mut emit);
            skip_to = at + c.len_utf8() + grammar(&text[at + c.len_utf8()..]);
        } else if !is_combining(c) {
            flush(&mut word, &mut letters, &mut emit);
        }
    }
    if let Some(last) = previous
        && alone
    {
        emit(Piece::Gram(last.encode_utf8(&mut [0; 4])));
    }
    flush(&mut word, &mut letters, &mut emit);
}

fn flush(word: &mut String, letters: &mut usize, emit: &mut impl FnMut(Piece<'_>)) {
    if !word.is_empty() {
        emit(Piece::Word(word));
        word.clear();
    }
    *letters = 0;
}

/// Returns how many bytes of an English contraction's tail stand at the beginning of the text.
fn grammar(rest: &str) -> usize {
    let tail = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
    let word = rest.get(..tail).unwrap_or_default();
    let known = ["s", "t", "d", "m", "ll", "ve", "re"];
    if known.iter().any(|known| word.eq_ignore_ascii_case(known)) { tail } else { 0 }
}

/// Appends a character in lower case, Latin letters without their accents.
pub fn fold(c: char, word: &mut String) {
    if c.is_ascii() {
        word.push(c.to_ascii_lowercase());
        return;
    }
    for lower in c.to_lowercase() {
        match lower {
            'à'..='å' | 'ā' | 'ă' | 'ą' => word.push('a'),
            'æ' => word.push_str("ae"),
            'ç' | 'ć' | 'č' => word.push('c'),
            'ď' | 'đ' => word.push('d'),
            'è'..='ë' | 'ē' | 'ė' | 'ę' | 'ě' => word.push('e'),
            'ğ' => word.push('g'),
            'ì'..='ï' | 'ī' | 'į' | 'ı' => word.push('i'),
            'ł' => word.push('l'),
            'ñ' | 'ń' | 'ň' => word.push('n'),
            'ò'..='ö' | 'ø' | 'ō' | 'ő' => word.push('o'),
            'œ' => word.push_str("oe"),
            'ř' => word.push('r'),
            'ś' | 'š' | 'ş' => word.push('s'),
            'ß' => word.push_str("ss"),
            'ť' => word.push('t'),
            'ù'..='ü' | 'ū' | 'ů' | 'ű' => word.push('u'),
            'ý' | 'ÿ' => word.push('y'),
            'ź' | 'ż' | 'ž' => word.push('z'),
            combining if is_combining(combining) => {}
            other => word.push(other),
        }
    }
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}' | '\u{02bc}')
}

fn is_combining(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036f}' | '\u{200b}'..='\u{200d}' | '\u{00ad}' | '\u{feff}')
}

/// Returns whether a character belongs to a script that is written without spaces, or to Hangul,
/// whose endings cling to words.
fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9d}' | '\u{20000}'..='\u{3134f}')
}

/// Returns whether `2026-03-14` stands at a byte offset, with no digit before or behind it.
fn day_at(bytes: &[u8], at: usize) -> bool {
    let Some(day) = bytes.get(at..at + 10) else { return false };
    let shaped = day.iter().enumerate().all(|(i, b)| if i == 4 || i == 7 { *b == b'-' } else { b.is_ascii_digit() });
    shaped && !bytes.get(at + 10).is_some_and(u8::is_ascii_digit)
}

/// Turns pieces into terms, and remembers what it did with each word.
pub struct Analyser {
    stemmer: Stemmer,
    stems: HashMap<Box<str>, Box<str>>,
}

/// How many words an analyser remembers before it forgets them all; bounds its memory.
const REMEMBERED: usize = 200_000;

impl Default for Analyser {
    fn default() -> Self {
        Analyser { stemmer: Stemmer::create(Algorithm::English), stems: HashMap::new() }
    }
}

impl Analyser {
    /// Returns the stem of a lower-case word; text that is not plain English letters stays as it is.
    pub fn stem(&mut self, word: &str) -> &str {
        if self.stems.len() > REMEMBERED {
            self.stems.clear();
        }
        if !self.stems.contains_key(word) {
            let stem = if word.bytes().all(|b| b.is_ascii_lowercase()) {
                Box::from(self.stemmer.stem(word).as_ref())
            } else {
                Box::from(word)
            };
            self.stems.insert(Box::from(word), stem);
        }
        self.stems.get(word).map_or("", |stem| stem)
    }

    /// Calls `emit` for every term of the text; stop words are left out.
    pub fn terms(&mut self, text: &str, mut emit: impl FnMut(&str)) {
        pieces(text, |piece| match piece {
            Piece::Word(word) if is_stop_word(word) => {}
            Piece::Word(word) => emit(self.stem(word)),
            Piece::Gram(gram) => emit(gram),
            Piece::Day(day) => {
                emit(day);
                // Whoever asks for a month, or a year, finds its days.
                emit(day.get(..7).unwrap_or_default());
                emit(day.get(..4).unwrap_or_default());
            }
        });
    }

    /// Calls `emit` for every term of the text, stop words included.
    pub fn all_terms(&mut self, text: &str, mut emit: impl FnMut(&str)) {
        pieces(text, |piece| {
            if let Piece::Word(word) = piece
                && is_stop_word(word)
            {
                emit(word);
            }
        });
        self.terms(text, emit);
    }
}

/// Returns whether an English word carries no meaning of its own. The word is lower case.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Sorted; a test holds that.
const STOP_WORDS: &[&str] = &[
    "a",
    "about",
    "above",
    "after",
    "again",
    "against",
    "all",
    "also",
    "although",
    "am",
    "an",
    "and",
    "any",
    "are",
    "aren",
    "as",
    "at",
    "be",
    "because",
    "been",
    "before",
    "being",
    "below",
    "between",
    "both",
    "but",
    "by",
    "can",
    "cannot",
    "could",
    "couldn",
    "did",
    "didn",
    "do",
    "does",
    "doesn",
    "doing",
    "don",
    "down",
    "during",
    "each",
    "else",
    "ever",
    "few",
    "for",
    "from",
    "further",
    "had",
    "hadn",
    "has",
    "hasn",
    "have",
    "haven",
    "having",
    "he",
    "her",
    "here",
    "hers",
    "herself",
    "him",
    "himself",
    "his",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "isn",
    "it",
    "its",
    "itself",
    "just",
    "ll",
    "may",
    "me",
    "might",
    "more",
    "most",
    "must",
    "mustn",
    "my",
    "myself",
    "no",
    "nor",
    "not",
    "now",
    "of",
    "off",
    "on",
    "once",
    "only",
    "or",
    "other",
    "our",
    "ours",
    "ourselves",
    "out",
    "over",
    "own",
    "re",
    "s",
    "same",
    "shall",
    "she",
    "should",
    "shouldn",
    "so",
    "some",
    "such",
    "t",
    "than",
    "that",
    "the",
    "their",
    "theirs",
    "them",
    "themselves",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "through",
    "to",
    "too",
    "under",
    "until",
    "up",
    "upon",
    "us",
    "ve",
    "very",
    "was",
    "wasn",
    "we",
    "were",
    "weren",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "whom",
    "whose",
    "why",
    "will",
    "with",
    "won",
    "would",
    "wouldn",
    "you",
    "your",
    "yours",
    "yourself",
    "yourselves",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> String {
        let mut found = Vec::new();
        pieces(text, |piece| {
            found.push(match piece {
                Piece::Word(word) => word.to_string(),
                Piece::Gram(gram) => format!("<{gram}>"),
                Piece::Day(day) => format!("@{day}"),
            });
        });
        found.join(" ")
    }

    #[test]
    fn text_is_cut_into_pieces() {
        for (text, expected) in [
            ("", ""),
            ("Hello, World!", "hello world"),
            ("Caroline's dog doesn’t bark", "caroline dog doesn bark"),
            ("O'Neill", "o neill"),
            ("café Ångström Straße", "cafe angstrom strasse"),
            ("cafe\u{301}", "cafe"),
            ("東京に行く", "<東京> <京に> <に行> <行く>"),
            ("猫 and 犬小屋", "<猫> and <犬小> <小屋>"),
            ("Rust言語2024", "rust <言語> 2024"),
            ("on [2026-03-14 Sat 10:00]", "on @2026-03-14 sat 10 00"),
            ("12026-03-14", "12026 03 14"),
            ("2026-03-145", "2026 03 145"),
            ("foo_bar-baz/qux.el", "foo bar baz qux el"),
            ("naïve — “quoted”", "naive quoted"),
        ] {
            assert_eq!(cut(text), expected, "{text}");
        }
    }

    #[test]
    fn endless_words_are_cut_short() {
        assert_eq!(cut(&"x".repeat(1_000_000)).len(), LONGEST_WORD);
    }

    #[test]
    fn terms_are_stemmed() {
        let mut analyser = Analyser::default();
        let mut found = Vec::new();
        analyser.terms("The runners were painting 2026-03-14", |term| found.push(term.to_string()));
        assert_eq!(found, ["runner", "paint", "2026-03-14", "2026-03", "2026"]);
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.windows(2).all(|pair| pair[0] < pair[1]));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_cut(text in "\\PC*") {
            pieces(&text, |piece| match piece {
                Piece::Word(p) | Piece::Gram(p) | Piece::Day(p) => assert!(!p.is_empty()),
            });
        }
    }
}
