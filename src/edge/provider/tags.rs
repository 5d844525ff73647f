//! Thoughts that a model writes into its answer between tags, as many that run on one's own machine do.

/// What may begin thoughts, and what ends them then.
const TAGS: &[(&str, &str)] = &[("<think>", "</think>"), ("<thinking>", "</thinking>")];
/// So much white space is held back before an answer, in bytes; with more of it, it is one without thoughts.
const MOST_BLANK: usize = 1024;

/// A piece of an answer, told apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Words of the answer.
    Text(String),
    /// Words of thoughts.
    Thought(String),
}

/// Tells thoughts between tags from the answer behind them, however a stream is cut.
///
/// Tags count where an answer begins, and right behind other thoughts: an answer may well be about tags.
#[derive(Default)]
pub(super) struct Tags {
    at: At,
    held: String,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum At {
    /// Before the first word.
    #[default]
    Begin,
    /// In thoughts that this tag ends.
    Inside(&'static str),
    /// Behind thoughts, before the next word.
    Behind,
    /// In the answer.
    Answer,
}

impl Tags {
    /// Takes more of what came, and returns what can be told of it.
    pub(super) fn push(&mut self, text: &str) -> Vec<Piece> {
        if self.at == At::Answer {
            return vec![Piece::Text(text.to_string())];
        }
        self.held.push_str(text);
        let mut pieces = Vec::new();
        while self.step(&mut pieces) {}
        pieces
    }

    /// Returns what was held back; thoughts that have no end are thoughts.
    pub(super) fn finish(&mut self) -> Option<Piece> {
        let held = std::mem::take(&mut self.held);
        match self.at {
            At::Inside(_) => Some(Piece::Thought(held)),
            At::Begin | At::Answer => Some(Piece::Text(held)),
            At::Behind => Some(Piece::Text(held.trim_start().to_string())),
        }
        .filter(|piece| !matches!(piece, Piece::Text(words) | Piece::Thought(words) if words.is_empty()))
    }

    /// Tells the next piece apart; returns whether there may be another one.
    fn step(&mut self, pieces: &mut Vec<Piece>) -> bool {
        match self.at {
            At::Begin | At::Behind => self.begin(pieces),
            At::Inside(end) => self.inside(end, pieces),
            At::Answer => {
                let held = std::mem::take(&mut self.held);
                pieces.extend(Some(held).filter(|held| !held.is_empty()).map(Piece::Text));
                false
            }
        }
    }

    fn begin(&mut self, pieces: &mut Vec<Piece>) -> bool {
        let word = self.held.trim_start();
        if let Some((rest, end)) = TAGS.iter().find_map(|(tag, end)| Some((word.strip_prefix(tag)?, end))) {
            self.held = rest.to_string();
            self.at = At::Inside(end);
            return true;
        }
        let blank = self.held.len() - word.len();
        let open = word.is_empty() || TAGS.iter().any(|(tag, _)| tag.starts_with(word));
        if open && blank <= MOST_BLANK {
            return false;
        }
        if self.at == At::Behind {
            self.held.drain(..blank);
        }
        self.at = At::Answer;
        self.step(pieces)
    }

    fn inside(&mut self, end: &'static str, pieces: &mut Vec<Piece>) -> bool {
        let (told, rest, done) = match self.held.split_once(end) {
            Some((told, rest)) => (told, rest, true),
            None => {
                // The beginning of the end may be all that has come of it.
                let from = (1..end.len()).rev().find(|n| self.held.ends_with(end.get(..*n).unwrap_or(end)));
                let (told, rest) = self.held.split_at(self.held.len() - from.unwrap_or(0));
                (told, rest, false)
            }
        };
        if !told.is_empty() {
            pieces.push(Piece::Thought(told.to_string()));
        }
        self.held = rest.to_string();
        if done {
            self.at = At::Behind;
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the thoughts and the answer of a text that comes in pieces of so many characters.
    fn told(text: &str, size: usize) -> (String, String) {
        let (mut tags, mut thoughts, mut answer) = (Tags::default(), String::new(), String::new());
        let characters: Vec<char> = text.chars().collect();
        let mut take = |piece: Piece| match piece {
            Piece::Text(words) => answer.push_str(&words),
            Piece::Thought(words) => thoughts.push_str(&words),
        };
        for piece in characters.chunks(size) {
            tags.push(&piece.iter().collect::<String>()).into_iter().for_each(&mut take);
        }
        tags.finish().into_iter().for_each(take);
        (thoughts, answer)
    }

    #[test]
    fn thoughts_are_told_from_the_answer_however_they_are_cut() {
        for (text, thoughts, answer) in [
            ("<think>So.</think>\n\nYes.", "So.", "Yes."),
            ("\n <think>\nSo.\n</think>Yes.", "\nSo.\n", "Yes."),
            ("<thinking>a</think>b</thinking> c", "a</think>b", "c"),
            ("<think>a</think>\n<think>b</think>c <think>d</think>", "ab", "c <think>d</think>"),
            ("<think>without an end", "without an end", ""),
            ("<think>a</thi", "a</thi", ""),
            ("<think></think>ok", "", "ok"),
            ("<thin", "", "<thin"),
            ("<b>bold</b>", "", "<b>bold</b>"),
            ("  plain", "", "  plain"),
            ("The tag <think> begins thoughts.", "", "The tag <think> begins thoughts."),
            ("<think>grün 漢字</think>日本", "grün 漢字", "日本"),
            ("", "", ""),
        ] {
            for size in [1, 2, 3, 7, 1000] {
                let expected = (thoughts.to_string(), answer.to_string());
                assert_eq!(told(text, size), expected, "{text:?} by {size}");
            }
        }
    }

    #[test]
    fn endless_white_space_is_not_held_back() {
        let (mut tags, blank) = (Tags::default(), " ".repeat(MOST_BLANK + 1));
        assert_eq!(tags.push(&blank), [Piece::Text(blank.clone())]);
    }

    proptest! {
        #[test]
        fn cutting_changes_nothing(text in "(<think>|</think>|[ab<>/\n ]){0,20}", size in 1_usize..9) {
            prop_assert_eq!(told(&text, size), told(&text, usize::MAX));
        }
    }
}
