//! Counts tokens as o200k does, for all providers.
//!
//! The vocabulary takes about 0.2 s to load, so it is loaded once, in a thread of its own.

mod ranks;
mod split;

use crate::domain::context::segment::prefix;
use crate::domain::context::swift::{Swift, SwiftMap};
use crate::domain::port::CountTokens;
use crate::edge::thread::spawn;
use crate::edge::tokens::ranks::Ranks;
use parking_lot::Mutex;
use std::hash::BuildHasher;
use std::sync::OnceLock;
use tiktoken_rs::CoreBPE;

/// Lines longer than this many bytes are counted in parts: the encoder's time grows faster than the line,
/// and its regular expression gives up on very long runs. Each cut adds at most a token or two.
const LONGEST: usize = 2048;
/// So many words are remembered, twice.
const REMEMBERED: usize = 100_000;
/// The stack of the thread that loads the vocabulary, in bytes.
const STACK: usize = 2 << 20;
/// So many words are looked up at a time.
const BATCH: usize = 64;

static VOCABULARY: OnceLock<Option<Vocabulary>> = OnceLock::new();

struct Vocabulary {
    encoder: CoreBPE,
    ranks: Ranks,
}

fn vocabulary() -> Option<&'static Vocabulary> {
    let load = || tiktoken_rs::o200k_base().ok().map(|encoder| Vocabulary { ranks: Ranks::of(&encoder), encoder });
    VOCABULARY.get_or_init(load).as_ref()
}

/// Counts tokens, and remembers the words it has seen: a text costs what its new words cost.
pub struct Tokens {
    hasher: Swift,
    seen: Mutex<Generations>,
}

/// Two maps: when the young one is full it grows old, and the old one is forgotten.
#[derive(Default)]
struct Generations {
    young: SwiftMap<u64, u32>,
    old: SwiftMap<u64, u32>,
}

impl Default for Tokens {
    fn default() -> Self {
        Tokens { hasher: Swift::default(), seen: Mutex::new(Generations::default()) }
    }
}

impl Tokens {
    /// Starts loading the vocabulary in the background; counting waits for it.
    pub fn new() -> Self {
        // A thread that cannot be started is no loss: the first count loads the vocabulary itself.
        let _ = spawn("passepartout-tokens", STACK, || {
            vocabulary();
        });
        Tokens::default()
    }
}

impl CountTokens for Tokens {
    fn count(&self, text: &str) -> usize {
        self.count_within(text, usize::MAX).unwrap_or(usize::MAX)
    }

    fn count_within(&self, text: &str, most: usize) -> Option<usize> {
        let mut sum = 0usize;
        let mut pieces = pieces(text).map(|piece| (piece, self.hasher.hash_one(piece)));
        let mut unknown: Vec<(&str, u64)> = Vec::new();
        loop {
            let mut looked_up = 0;
            {
                let mut seen = self.seen.lock();
                for (piece, hash) in pieces.by_ref().take(BATCH) {
                    looked_up += 1;
                    match seen.find(hash) {
                        Some(tokens) => sum += tokens as usize,
                        None => unknown.push((piece, hash)),
                    }
                }
            }
            if !unknown.is_empty() {
                // The lock is free while the encoder works.
                let counted: Vec<(u64, u32)> = unknown.drain(..).map(|(piece, hash)| (hash, encode(piece))).collect();
                let mut seen = self.seen.lock();
                for (hash, tokens) in counted {
                    sum += tokens as usize;
                    seen.remember(hash, tokens);
                }
            }
            if sum > most {
                return None;
            }
            if looked_up < BATCH {
                return Some(sum);
            }
        }
    }
}

impl Generations {
    fn find(&mut self, hash: u64) -> Option<u32> {
        if let Some(tokens) = self.young.get(&hash) {
            return Some(*tokens);
        }
        let tokens = self.old.remove(&hash)?;
        self.remember(hash, tokens);
        Some(tokens)
    }

    fn remember(&mut self, hash: u64, tokens: u32) {
        if self.young.len() >= REMEMBERED {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(hash, tokens);
    }
}

fn encode(piece: &str) -> u32 {
    match vocabulary() {
        Some(vocabulary) => vocabulary.count(piece),
        // Without a vocabulary every byte counts: too much rather than too little.
        None => piece.len() as u32,
    }
}

impl Vocabulary {
    /// Counts the tokens of a piece; what is not cut simply, and all behind it, is the encoder's.
    fn count(&self, piece: &str) -> u32 {
        let (mut rest, mut tokens) = (piece, 0);
        while !rest.is_empty() {
            let simple = split::run(rest).and_then(|end| rest.split_at_checked(end));
            let Some((of_run, tail)) = simple.and_then(|(run, tail)| Some((self.ranks.tokens_of(run)?, tail))) else {
                return tokens + self.encoder.count_ordinary(rest) as u32;
            };
            tokens += of_run;
            rest = tail;
        }
        tokens
    }
}

/// Cuts a text where no token can reach across: in front of a space that stands alone between two words or signs, and
/// behind a line break that no space and no slash follows. (o200k's own pattern takes one space to what stands behind it
/// and none to what stands before it; it joins line breaks with the space around them, and a slash with what stands
/// before it.)
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        // No further than a piece may be long: looking at everything each time would take quadratic time.
        let window = prefix(rest, LONGEST + 1);
        let mut breaks = memchr::memchr2_iter(b' ', b'\n', window.as_bytes());
        let end = breaks.find_map(|at| seam(rest, at)).unwrap_or(window.len());
        let (piece, tail) = rest.split_at(chop(rest, end));
        rest = tail;
        Some(piece)
    })
}

/// Returns where to cut at the space or line break that stands at a place, if that can be.
fn seam(text: &str, at: usize) -> Option<usize> {
    let next = text.get(at + 1..).and_then(|tail| tail.chars().next());
    match (text.as_bytes().get(at), next) {
        (Some(b' '), Some(next)) => {
            let before = text.get(..at).and_then(|head| head.chars().next_back());
            (before.is_some_and(|before| !before.is_whitespace()) && !next.is_whitespace()).then_some(at)
        }
        (Some(b'\n'), Some(next)) if next.is_whitespace() || next == '/' => None,
        (Some(b'\n'), _) => Some(at + 1),
        _ => None,
    }
}

/// Returns where to cut a piece that ends at `end`: there, or earlier when it is too long, in front of a space if one is near.
fn chop(text: &str, end: usize) -> usize {
    if end <= LONGEST {
        return end;
    }
    let near = |at: &usize| text.as_bytes().get(*at).is_some_and(|byte| *byte == b' ');
    let spaced = (LONGEST / 2..=LONGEST).rev().find(near);
    spaced.unwrap_or_else(|| (1..=LONGEST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exactly(text: &str) -> usize {
        vocabulary().expect("the vocabulary is built in").encoder.encode_ordinary(text).len()
    }

    #[test]
    fn texts_are_counted() {
        let tokens = Tokens::default();
        for text in [
            "",
            "hello",
            "* A heading {id}\nText.\n",
            "a\n\n\nb\n/c\n  d\n",
            "猫が好き\n",
            "don't\n'll\n",
            "\r\n\r\n x",
            "one two  three, (four) 5 / six",
            "ends with a space ",
            "x' s and x 's",
            "x'ſ and don'ſt",
        ] {
            let tokens_in_it = exactly(text);
            assert_eq!(tokens.count(text), tokens_in_it, "{text:?}");
            assert_eq!(tokens.count(text), tokens_in_it, "{text:?}, remembered");
            assert_eq!(tokens.count_within(text, tokens_in_it), Some(tokens_in_it), "{text:?}");
            let less = tokens_in_it.checked_sub(1).and_then(|less| tokens.count_within(text, less));
            assert_eq!(less, None, "{text:?}");
        }
    }

    #[test]
    fn endless_runs_are_counted_in_time() {
        let tokens = Tokens::default();
        for run in ["x", " ", "猫", "=", "\n", "é", "0"] {
            let text = run.repeat(1_000_000 / run.len());
            let counted = tokens.count(&text);
            assert!(counted > 0 && counted <= text.len(), "{run:?}: {counted}");
        }
    }

    #[test]
    fn a_long_run_of_digits_is_cut_in_time_linear_in_it() {
        // Were the rest of it looked through for each three, this would take hours.
        let digits: String = (0..1_000_000).map(|n: u32| n.wrapping_mul(2_654_435_761).to_string()).collect();
        let mut rest = digits.as_str();
        while let Some(run) = split::run(rest).filter(|run| *run < rest.len()) {
            assert_eq!(run, 3);
            rest = &rest[run..];
        }
        assert!(rest.len() <= 3, "{rest}");
        let tokens = Tokens::default();
        let part = &digits[..100_000];
        let (counted, least) = (tokens.count(part), part.len() / 3);
        assert!((least..=least + 2 * part.len() / LONGEST).contains(&counted), "{counted}");
    }

    #[test]
    fn what_is_too_long_is_not_counted_to_its_end() {
        let tokens = Tokens::default();
        let text: String = (0..10_000).map(|n| format!("word{n} ")).collect();
        assert_eq!(tokens.count_within(&text, 20), None);
        assert!(tokens.seen.lock().young.len() <= BATCH, "it stops soon after it knows");
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut seen = Generations::default();
        for hash in 0..(REMEMBERED as u64 * 5) {
            seen.remember(hash, 1);
        }
        assert!(seen.young.len() + seen.old.len() <= 2 * REMEMBERED);
        assert_eq!(seen.find(0), None);
    }

    #[test]
    fn common_texts_do_not_need_the_encoder() {
        for (text, cut) in [
            ("hello world", "hello| world"),
            (" HELLO Hello helloWorld XMLFile", " HELLO| Hello| hello|World| XMLFile"),
            ("don't I'LL x's", "don't| I'LL| x's"),
            ("猫が好き。ロード", "猫が好き|。ロード"),
            ("12345 6", "123|45| |6"),
            ("a  b \n\n c\n", "a| | b| \n\n| c|\n"),
            ("x ((y) /z/\n//\n", "x| ((|y|)| /|z|/\n//\n"),
            ("* TODO [#A] Заметка :tag:", "*| TODO| [#|A|]| Заметка| :|tag|:"),
        ] {
            let (mut rest, mut runs) = (text, Vec::new());
            while !rest.is_empty() {
                let (run, tail) = rest.split_at(split::run(rest).unwrap_or_else(|| panic!("{rest:?} is not simple")));
                runs.push(run);
                rest = tail;
            }
            assert_eq!(runs.join("|"), cut);
            assert_eq!(Tokens::default().count(text), exactly(text), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn texts_of_many_scripts_are_counted_exactly(
            text in "([a-zA-Zàéß ÀЖж0-9٣²]|[ .,/'*=(—…\\n\\r\\t]|'[sStTlLrRvVeE]|[ぁ-ゖァ-ヺー一-龥가-힣]|[ก-๛]|[e\u{301}ǅʰªſ]){0,80}"
        ) {
            prop_assert_eq!(Tokens::default().count(&text), exactly(&text));
        }

        #[test]
        fn words_are_joined_as_the_encoder_joins_them(text in "[a-z]{1,120}|[一-龥]{1,40}|[=*/-]{1,120}") {
            prop_assert_eq!(Tokens::default().count(&text), exactly(&text));
        }

        #[test]
        fn short_texts_are_counted_exactly(text in "([a-zA-Z0-9 .,/'*=\\n\\r\\t{}:-]|é|猫|\u{85}|\u{2028}|😀){0,120}") {
            prop_assert_eq!(Tokens::default().count(&text), exactly(&text));
        }
    }
}
