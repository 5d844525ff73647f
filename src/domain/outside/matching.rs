//! Finds the sentence of a text from outside that the arguments of an action repeat: exactly, by a telling word such
//! as an address, a path or an amount, or by a few words in a row.

use super::Piece;
use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::{Map, Value};

/// The most things of an action's arguments that are looked for.
const NEEDLES: usize = 192;
/// The most bytes of the arguments that are looked through for them.
const ARGUMENTS: usize = 64 * 1024;
/// The longest value that is looked for as a whole, in bytes.
const WHOLE: usize = 400;
/// How many words in a row count.
const ROW: usize = 4;

/// What was found.
pub(super) struct Found<'a> {
    pub(super) piece: &'a Piece,
    pub(super) sentence: &'a str,
}

/// Returns the sentence that repeats most of what the arguments say.
pub(super) fn repeated<'a>(args: &Map<String, Value>, pieces: &'a [Piece]) -> Option<Found<'a>> {
    if pieces.is_empty() {
        return None;
    }
    let (needles, weights) = needles(args);
    if needles.is_empty() {
        return None;
    }
    let searcher =
        AhoCorasick::builder().ascii_case_insensitive(true).match_kind(MatchKind::Standard).build(&needles).ok()?;
    let mut best: Option<(u32, Found<'a>)> = None;
    for piece in pieces {
        for sentence in sentences(&piece.text) {
            let mut score = 0_u32;
            for found in searcher.find_overlapping_iter(sentence).take(64) {
                let weight = weights.get(found.pattern().as_usize()).copied().unwrap_or(0);
                // A telling word is one where it stands by itself, not inside of another.
                if stands_alone(sentence, found.start(), found.end()) {
                    score = score.saturating_add(weight);
                }
            }
            if score > 0 && best.as_ref().is_none_or(|(most, _)| score > *most) {
                best = Some((score, Found { piece, sentence }));
            }
        }
    }
    best.map(|(_, found)| found)
}

fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let before = text.get(..start).and_then(|text| text.chars().next_back());
    let after = text.get(end..).and_then(|text| text.chars().next());
    !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
}

/// Returns what is looked for, and how much each of it tells.
fn needles(args: &Map<String, Value>) -> (Vec<String>, Vec<u32>) {
    let (mut needles, mut weights) = (Vec::new(), Vec::new());
    let mut add = |needle: &str, weight: u32| {
        if needles.len() < NEEDLES && !needles.iter().any(|known: &String| known == needle) {
            needles.push(needle.to_string());
            weights.push(weight);
        }
    };
    let mut room = ARGUMENTS;
    for text in args.values().flat_map(texts) {
        let Some(rest) = room.checked_sub(text.len()) else { break };
        room = rest;
        let whole = text.trim();
        if (4..=WHOLE).contains(&whole.len()) && !whole.contains('\n') && is_telling(whole) {
            add(whole, 100);
        }
        for word in text.split(|c: char| c.is_whitespace() || "\"'`<>()[]{}|;&=".contains(c)) {
            let word = word.trim_matches(|c: char| ".,:!?".contains(c));
            if is_telling(word) {
                add(word, 10);
            }
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        for row in words.windows(ROW) {
            add(&row.join(" "), 5);
        }
    }
    (needles, weights)
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// Returns whether a word is more than prose: an address, a path, an amount, a name with digits, several words.
fn is_telling(word: &str) -> bool {
    let long = word.len() >= 4;
    let marked = word.chars().any(|c| c.is_ascii_digit() || "/.@:~$_ ".contains(c));
    long && marked || word.len() >= 3 && word.chars().filter(char::is_ascii_digit).count() >= 3
}

/// Returns the sentences of a text: its lines, and what full stops part in them.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| {
        let mut rest = line;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let stop = [". ", "! ", "? "].iter().filter_map(|mark| rest.find(mark)).min();
            let (sentence, after) = match stop.and_then(|at| rest.split_at_checked(at + 1)) {
                Some(parted) => parted,
                None => (rest, ""),
            };
            rest = after.trim_start();
            Some(sentence.trim())
        })
    })
}
