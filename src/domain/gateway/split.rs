//! Cuts an answer into messages: at paragraphs, or else at lines, words, characters; a block of code stays whole where it can.

/// So many messages an answer becomes at most.
pub const MOST: usize = 20;
/// What stands at the end of one that would be more.
const MORE: &str = "The answer is longer than this; ask in Emacs for all of it.";

/// How long a message may be, as its messenger counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many units of UTF-16.
    Utf16(usize),
    /// So many bytes of UTF-8.
    Utf8(usize),
}

impl Limit {
    /// Returns how many units fit, and no fewer than any character takes.
    fn most(self) -> usize {
        match self {
            Limit::Utf16(units) => units.max(2),
            Limit::Utf8(bytes) => bytes.max(4),
        }
    }

    const fn of(self, c: char) -> usize {
        match self {
            Limit::Utf16(_) => c.len_utf16(),
            Limit::Utf8(_) => c.len_utf8(),
        }
    }

    fn is_passed_by(self, text: &str) -> bool {
        text.chars().map(|c| self.of(c)).sum::<usize>() > self.most()
    }
}

/// Returns the messages, none longer than the limit and none of white space alone.
pub fn split(text: &str, limit: Limit) -> Vec<String> {
    let (mut rest, mut parts) = (text.trim_end(), Vec::new());
    while !rest.trim().is_empty() {
        if parts.len() + 1 == MOST && limit.is_passed_by(rest) {
            parts.push(MORE.to_string());
            break;
        }
        let (part, after) = rest.split_at(first(rest, limit));
        if !part.trim().is_empty() {
            parts.push(part.trim_end().to_string());
        }
        rest = after.trim_start_matches(['\n', '\r']);
    }
    parts
}

/// Where a text may be cut, from the best to the worst; 0 where there is no such place.
#[derive(Default)]
struct Places {
    paragraph: usize,
    line: usize,
    line_of_code: usize,
    word: usize,
}

/// Returns how many bytes the first message takes; more than none of a text that is not empty.
fn first(text: &str, limit: Limit) -> usize {
    let (mut places, mut units, mut code, mut from) = (Places::default(), 0, false, 0);
    for (at, c) in text.char_indices() {
        if units + limit.of(c) > limit.most() {
            let found = [places.paragraph, places.line, places.line_of_code, places.word];
            return found.into_iter().find(|place| *place > 0).unwrap_or(at);
        }
        units += limit.of(c);
        let behind = at + c.len_utf8();
        if c == '\n' {
            let line = text[from..at].trim();
            code = in_code(line, code);
            from = behind;
            match code {
                true => places.line_of_code = behind,
                false if line.is_empty() => places.paragraph = behind,
                false => places.line = behind,
            }
        } else if c.is_whitespace() {
            places.word = behind;
        }
    }
    text.len()
}

/// Returns whether a block of code goes on behind a line.
fn in_code(line: &str, before: bool) -> bool {
    let begins = |with: &str| line.get(..with.len()).is_some_and(|head| head.eq_ignore_ascii_case(with));
    match before {
        true => !(begins("```") || begins("#+end_")),
        false => begins("```") || begins("#+begin_"),
    }
}
