//! Cuts text into the terms that the full-text index is made of.
//!
//! English words are stemmed, runs of scripts without spaces become pairs of characters, and dates become terms of their
//! own. It knows nothing of nodes or scores.

use crate::domain::context::script::{is_combining, is_mark, is_of_few, is_unspaced, normal};
use crate::domain::context::swift::WordMap;
use rust_stemmers::{Algorithm, Stemmer};
use std::borrow::Cow;
use std::ops::Range;

/// What cutting and stemming do, and what of a text is left out, is counted by this number: an index that was made with
/// another is made anew.
pub const EDITION: u32 = 4;

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

/// What an index has of a text: its pieces, and what else it can be found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut<'a> {
    /// A piece.
    Piece(Piece<'a>),
    /// One character of those that stand in pairs, so that a question for it alone finds it, or the [trace] of three.
    ///
    /// [trace]: traces
    Sign(&'a str),
}

/// Calls `emit` for every piece of the text, in order.
pub fn pieces(text: &str, mut emit: impl FnMut(Piece<'_>)) {
    spans(text, |_, piece| emit(piece));
}

/// Calls `emit` for every piece of the text with the bytes that it was read from, in order.
pub fn spans(text: &str, mut emit: impl FnMut(Range<usize>, Piece<'_>)) {
    cuts(text, |at, cut| match cut {
        Cut::Piece(piece) => emit(at, piece),
        Cut::Sign(_) => {}
    });
}

/// Calls `emit` for the trace of every three characters in a row of scripts with few characters: a term that says that
/// they stand there or, seldom, that three others do. Whoever looks for a longer run need not read all texts that hold
/// its pairs somewhere.
pub fn traces(text: &str, mut emit: impl FnMut(&str)) {
    cuts(text, |_, cut| match cut {
        Cut::Sign(sign) if sign.starts_with(is_trace) => emit(sign),
        Cut::Sign(_) | Cut::Piece(_) => {}
    });
}

/// So many traces there are.
const TRACES: u32 = 1 << 15;
/// Where they begin among the characters; no text is cut into one of these.
const FIRST_TRACE: u32 = 0xf_0000;

fn is_trace(c: char) -> bool {
    (FIRST_TRACE..FIRST_TRACE + TRACES).contains(&(c as u32))
}

/// Returns the trace of three characters, when two of them are of a script with few.
fn trace(three: [char; 3]) -> Option<char> {
    if three.iter().filter(|c| is_of_few(**c)).count() < 2 {
        return None;
    }
    let mixed = three.iter().fold(0u32, |sum, c| (sum ^ *c as u32).wrapping_mul(0x9e37_79b1).rotate_left(13));
    char::from_u32(FIRST_TRACE + mixed.wrapping_mul(0x85eb_ca6b) / (u32::MAX / TRACES + 1))
}

/// The term of nodes whose text names a time; no text is cut into it.
pub const NAMES_A_TIME: &str = "\u{f8000}";

/// Returns whether an English word names a time. The word is lower case.
pub fn is_time_word(word: &str) -> bool {
    TIME_WORDS.binary_search(&word).is_ok()
}

/// Sorted; a test holds that.
const TIME_WORDS: &[&str] = &[
    "ago",
    "april",
    "august",
    "autumn",
    "days",
    "december",
    "evening",
    "february",
    "friday",
    "january",
    "july",
    "june",
    "last",
    "march",
    "monday",
    "month",
    "months",
    "morning",
    "next",
    "night",
    "november",
    "october",
    "recently",
    "saturday",
    "september",
    "since",
    "spring",
    "summer",
    "sunday",
    "thursday",
    "today",
    "tomorrow",
    "tonight",
    "tuesday",
    "wednesday",
    "week",
    "weekend",
    "weeks",
    "winter",
    "year",
    "years",
    "yesterday",
];

/// Calls `emit` for all that an index has of the text, with the bytes that it was read from, in order.
pub fn cuts(text: &str, mut emit: impl FnMut(Range<usize>, Cut<'_>)) {
    let bytes = text.as_bytes();
    let (mut word, mut run) = (Gathered::default(), Run::default());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if byte.is_ascii_alphanumeric() {
            run.end(&mut emit);
            if word.letters == 0 && byte.is_ascii_digit() && day_at(bytes, at) {
                // The ten bytes are ASCII, so they are characters too.
                emit(at..at + 10, Cut::Piece(Piece::Day(text.get(at..at + 10).unwrap_or_default())));
                at += 10;
                continue;
            }
            let length = bytes[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
            word.ascii(text, at, at + length);
            at += length;
            continue;
        }
        if byte.is_ascii() && *byte != b'\'' {
            run.end(&mut emit);
            word.end(&mut emit);
            at += 1;
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        let (c, length) = normal(rest);
        let behind = at + length.max(1);
        if is_combining(c) {
            // It belongs to what stands before it.
        } else if is_unspaced(c) {
            word.end(&mut emit);
            run.push(c, at..behind, &mut emit);
        } else {
            run.end(&mut emit);
            if c.is_alphanumeric() {
                word.letter(c, at, behind);
            } else if is_apostrophe(c) && word.letters > 0 {
                // “Caroline's” is Caroline, “don't” is don: what follows an apostrophe is grammar.
                word.end(&mut emit);
                at = behind + grammar(text.get(behind..).unwrap_or_default());
                continue;
            } else {
                word.end(&mut emit);
            }
        }
        at = behind;
    }
    run.end(&mut emit);
    word.end(&mut emit);
}

/// The word at hand.
#[derive(Default)]
struct Gathered {
    text: String,
    letters: usize,
    begin: usize,
    end: usize,
}

impl Gathered {
    fn ascii(&mut self, text: &str, begin: usize, end: usize) {
        if self.letters == 0 {
            self.begin = begin;
        }
        let kept = (end - begin).min(LONGEST_WORD.saturating_sub(self.letters));
        let from = self.text.len();
        self.text.push_str(text.get(begin..begin + kept).unwrap_or_default());
        if let Some(new) = self.text.get_mut(from..) {
            new.make_ascii_lowercase();
        }
        self.letters += end - begin;
        self.end = end;
    }

    fn letter(&mut self, c: char, begin: usize, end: usize) {
        if self.letters == 0 {
            self.begin = begin;
        }
        if self.letters < LONGEST_WORD {
            fold(c, &mut self.text);
        }
        self.letters += 1;
        self.end = end;
    }

    fn end(&mut self, emit: &mut impl FnMut(Range<usize>, Cut<'_>)) {
        if self.letters > 0 {
            if !self.text.is_empty() {
                emit(self.begin..self.end, Cut::Piece(Piece::Word(&self.text)));
            }
            self.text.clear();
            self.letters = 0;
        }
    }
}

/// A run of characters of scripts without spaces.
#[derive(Default)]
struct Run {
    /// The character before, and where it stands.
    before: Option<(char, Range<usize>)>,
    /// Whether it is the first of its run.
    first: bool,
    /// The character before that one, if it is of the same run.
    earlier: Option<char>,
}

impl Run {
    fn push(&mut self, c: char, at: Range<usize>, emit: &mut impl FnMut(Range<usize>, Cut<'_>)) {
        let mut pair = [0u8; 8];
        if let Some((before, stood)) = &self.before {
            if self.first {
                sign(*before, stood, emit);
            }
            let first = before.encode_utf8(&mut pair).len();
            let length = first + c.encode_utf8(&mut pair[first..]).len();
            let text = std::str::from_utf8(&pair[..length]).unwrap_or_default();
            emit(stood.start..at.end, Cut::Piece(Piece::Gram(text)));
            sign(c, &at, emit);
            let trace = self.earlier.and_then(|earlier| trace([earlier, *before, c]));
            if let Some(trace) = trace {
                emit(stood.start..at.end, Cut::Sign(trace.encode_utf8(&mut [0; 4])));
            }
            self.first = false;
            self.earlier = Some(*before);
        } else {
            self.first = true;
            self.earlier = None;
        }
        self.before = Some((c, at));
    }

    fn end(&mut self, emit: &mut impl FnMut(Range<usize>, Cut<'_>)) {
        if let Some((c, at)) = self.before.take()
            && self.first
        {
            emit(at, Cut::Piece(Piece::Gram(c.encode_utf8(&mut [0; 4]))));
        }
    }
}

fn sign(c: char, at: &Range<usize>, emit: &mut impl FnMut(Range<usize>, Cut<'_>)) {
    if !is_mark(c) {
        emit(at.clone(), Cut::Sign(c.encode_utf8(&mut [0; 4])));
    }
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
            'à'..='å' | 'ā' | 'ă' | 'ą' | '\u{1ea1}'..='\u{1eb7}' => word.push('a'),
            'æ' => word.push_str("ae"),
            'ç' | 'ć' | 'č' => word.push('c'),
            'ď' | 'đ' => word.push('d'),
            'è'..='ë' | 'ē' | 'ė' | 'ę' | 'ě' | '\u{1eb9}'..='\u{1ec7}' => word.push('e'),
            'ğ' => word.push('g'),
            'ì'..='ï' | 'ī' | 'į' | 'ı' | '\u{1ec9}'..='\u{1ecb}' => word.push('i'),
            'ł' => word.push('l'),
            'ñ' | 'ń' | 'ň' => word.push('n'),
            'ò'..='ö' | 'ø' | 'ō' | 'ő' | 'ơ' | '\u{1ecd}'..='\u{1ee3}' => word.push('o'),
            'œ' => word.push_str("oe"),
            'ř' => word.push('r'),
            'ś' | 'š' | 'ş' => word.push('s'),
            'ß' => word.push_str("ss"),
            'ť' => word.push('t'),
            'ù'..='ü' | 'ū' | 'ů' | 'ű' | 'ư' | '\u{1ee5}'..='\u{1ef1}' => word.push('u'),
            'ý' | 'ÿ' | '\u{1ef3}'..='\u{1ef9}' => word.push('y'),
            'ź' | 'ż' | 'ž' => word.push('z'),
            combining if is_combining(combining) => {}
            other => word.push(other),
        }
    }
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}' | '\u{02bc}')
}

/// Returns whether `2026-03-14` stands at a byte offset, with no digit before or behind it.
fn day_at(bytes: &[u8], at: usize) -> bool {
    let Some(day) = bytes.get(at..at + 10) else { return false };
    let shaped = day.iter().enumerate().all(|(i, b)| if i == 4 || i == 7 { *b == b'-' } else { b.is_ascii_digit() });
    shaped && !bytes.get(at + 10).is_some_and(u8::is_ascii_digit)
}

/// Finds the stems of words.
pub struct Stems(Stemmer);

impl Default for Stems {
    fn default() -> Self {
        Stems(Stemmer::create(Algorithm::English))
    }
}

impl Stems {
    /// Returns the stem of a lower-case word; text that is not plain English letters stays as it is.
    pub fn stem<'a>(&self, word: &'a str) -> Cow<'a, str> {
        if word.bytes().all(|b| b.is_ascii_lowercase()) { self.0.stem(word) } else { Cow::Borrowed(word) }
    }
}

/// Turns the pieces of a question into terms, and remembers what it did with each word.
#[derive(Default)]
pub struct Analyser {
    stems: Stems,
    known: WordMap<Known>,
    /// The stems of the words that are known.
    found: Vec<Box<str>>,
}

/// What is remembered of a word.
#[derive(Clone, Copy)]
struct Known {
    is_stop_word: bool,
    /// The place of its stem.
    stem: usize,
}

/// How many words an analyser remembers before it forgets them all; bounds its memory.
const REMEMBERED: usize = 20_000;

impl Analyser {
    /// Returns the stem of a lower-case word; text that is not plain English letters stays as it is.
    pub fn stem(&mut self, word: &str) -> &str {
        let known = self.known(word);
        self.found.get(known.stem).map_or("", |stem| stem)
    }

    fn known(&mut self, word: &str) -> Known {
        if let Some(known) = self.known.get(word) {
            return known;
        }
        if self.known.len() > REMEMBERED {
            (self.known, self.found) = Default::default();
        }
        let known = Known { is_stop_word: is_stop_word(word), stem: self.found.len() };
        self.found.push(Box::from(self.stems.stem(word).as_ref()));
        self.known.insert(word, known);
        known
    }

    /// Calls `emit` for every term of a text that asks; stop words are left out. Characters of a script without spaces
    /// are asked for in pairs, or alone where they stand alone.
    pub fn terms(&mut self, text: &str, mut emit: impl FnMut(&str)) {
        self.spans(text, |_, term| emit(term));
    }

    /// Calls `emit` for every such term with the bytes that it was read from.
    pub fn spans(&mut self, text: &str, mut emit: impl FnMut(Range<usize>, &str)) {
        spans(text, |at, piece| match piece {
            Piece::Word(word) => {
                let known = self.known(word);
                let stem = self.found.get(known.stem).filter(|_| !known.is_stop_word);
                stem.into_iter().for_each(|stem| emit(at.clone(), stem));
            }
            Piece::Gram(gram) => emit(at, gram),
            Piece::Day(day) => {
                emit(at.clone(), day);
                // Whoever asks for a month, or a year, finds its days.
                emit(at.clone(), day.get(..7).unwrap_or_default());
                emit(at, day.get(..4).unwrap_or_default());
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
            ("Tiếng Việt", "tieng viet"),
            ("Tie\u{302}\u{301}ng Vie\u{323}\u{302}t", "tieng viet"),
            ("ＡＢＣ１２３　ｄｅｆ", "abc123 def"),
            ("ｶﾀｶﾅ", "<カタ> <タカ> <カナ>"),
            ("ｶﾞｲﾄﾞ", "<ガイ> <イド>"),
            ("か\u{3099}い", "<がい>"),
            ("ハ\u{309a}リ", "<パリ>"),
            ("時々、人々", "<時々> <人々>"),
            ("データ・ベース", "<デー> <ータ> <ベー> <ース>"),
            ("葛\u{e0100}城", "<葛城>"),
            ("서울에서 만나", "<서울> <울에> <에서> <만나>"),
            ("\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}", "<한글>"),
            ("ㅋㅋ", "<ㅋㅋ>"),
            ("น้ำ", "<น้> <้ำ>"),
            ("กินปูดอง", "<กิ> <ิน> <นป> <ปู> <ูด> <ดอ> <อง>"),
            ("ณ บ้าน", "<ณ> <บ้> <้า> <าน>"),
            ("แมว\u{200b}ดำ", "<แม> <มว> <วด> <ดำ>"),
            ("พ.ศ. ๒๕๖๙", "<พ> <ศ> 2569"),
            ("ໝາ", "<ໝາ>"),
            ("iPhoneを買う2台", "iphone <を買> <買う> 2 <台>"),
            ("C++と𠮷野家", "c <と𠮷> <𠮷野> <野家>"),
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
    fn one_character_of_a_run_is_a_piece_too() {
        for (text, expected) in
            [("東京に", "東京に"), ("猫", ""), ("猫 x 犬", ""), ("물을", "물을"), ("น้ำ", "น"), ("ปูดอง", "ปดอง")]
        {
            let mut found = String::new();
            cuts(text, |_, cut| {
                if let Cut::Sign(sign) = cut
                    && !sign.starts_with(is_trace)
                {
                    found.push_str(sign);
                }
            });
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn three_in_a_row_of_few_leave_a_trace() {
        let found = |text: &str| {
            let mut found = Vec::new();
            traces(text, |trace| found.push(trace.to_string()));
            found
        };
        for (text, expected) in [
            ("東京都庁", 0),
            ("ありがと", 2),
            ("あり がと", 0),
            ("กินปู", 3),
            ("한국말", 0),
            ("買います", 2),
            ("東京は", 0),
            ("abc", 0),
        ] {
            assert_eq!(found(text).len(), expected, "{text}");
        }
        let long = found("กินปูดองกับข้าว");
        assert!(found("ดองกับ").iter().all(|trace| long.contains(trace)));
        assert!(!found("บกัอดง").iter().all(|trace| long.contains(trace)));
        assert_ne!(trace(['あ', 'り', 'が']), trace(['が', 'り', 'あ']));
        // Texts do not hold any of themselves.
        let mut pieces = 0;
        cuts("\u{f0000}\u{f7fff}", |_, _| pieces += 1);
        assert_eq!(pieces, 0);
    }

    #[test]
    fn pieces_say_where_they_stand() {
        for text in ["Ｈello, wörld's 東京ﾀﾞﾖ 2026-03-14 น้ำใจ!", "e\u{301}tude", "한\u{1112}\u{1161}\u{11ab}"]
        {
            let mut end = 0;
            spans(text, |at, piece| {
                assert!(text.get(at.clone()).is_some(), "{piece:?} at {at:?} of {text}");
                assert!(at.end >= end && at.start < at.end);
                end = at.end;
            });
        }
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.windows(2).all(|pair| pair[0] < pair[1]));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_cut(text in "\\PC*") {
            spans(&text, |at, _| assert!(text.get(at).is_some_and(|part| !part.is_empty())));
            pieces(&text, |piece| match piece {
                Piece::Word(p) | Piece::Gram(p) | Piece::Day(p) => assert!(!p.is_empty()),
            });
        }
    }
}
