//! Words of a text that may be passwords, each looked at once however often it is asked for.

/// Signs between the columns of tables; white space parts words everywhere.
const SIGNS: [char; 4] = ['\t', ',', ';', '|'];

/// The next word that may be a password, by what parts words beside white space: nothing, or the sign of a table.
#[derive(Default)]
pub(super) struct Odd {
    ahead: [Ahead; 4],
    /// How many bytes were read.
    pub(super) steps: usize,
}

impl Odd {
    /// Returns where the next word begins, from one that ends behind a place on, that is long and odd enough to be a
    /// password.
    pub(super) fn next(&mut self, text: &str, from: usize, sign: char) -> Option<usize> {
        let n = SIGNS.iter().position(|known| *known == sign)?;
        let ahead = self.ahead.get_mut(n)?;
        let bytes = text.as_bytes();
        let parts = |b: &u8| b.is_ascii_whitespace() || char::from(*b) == sign;
        if ahead.to == 0 {
            // The word in which the place stands.
            let back = bytes.get(..from).unwrap_or(&[]).iter().rev().take_while(|b| !parts(b)).count();
            ahead.to = from - back;
        }
        while ahead.end <= from && ahead.to < bytes.len() {
            let rest = bytes.get(ahead.to..).unwrap_or(&[]);
            let start = ahead.to + rest.iter().take_while(|b| parts(b)).count();
            let rest = bytes.get(start..).unwrap_or(&[]);
            let end = start + rest.iter().take_while(|b| !parts(b)).count();
            self.steps += end - ahead.to;
            ahead.to = end;
            if bytes.get(start..end).is_some_and(is_odd) {
                (ahead.start, ahead.end) = (start, end);
            }
        }
        (ahead.end > from).then_some(ahead.start)
    }
}

/// The next odd word, and how far a text was read for it.
#[derive(Clone, Copy, Default)]
struct Ahead {
    start: usize,
    end: usize,
    to: usize,
}

/// Returns whether a word may be a password, or hold one: most words have no digit, no sign but those of names and
/// sentences, and no ten letters in a row.
fn is_odd(word: &[u8]) -> bool {
    // What no password begins with, and what a sentence puts behind it.
    let begins =
        |b: &u8| b.is_ascii_punctuation() && !matches!(b, b'!' | b'#' | b'+' | b'@' | b'^' | b'_' | b'>' | b'}' | b']');
    let ends = |b: &u8| b",;\"'`.?)>({:=".contains(b);
    let inner = word.get(word.iter().take_while(|b| begins(b)).count()..).unwrap_or(&[]);
    let inner = inner.get(..inner.len() - inner.iter().rev().take_while(|b| ends(b)).count()).unwrap_or(inner);
    let strong =
        |b: &u8| b.is_ascii_digit() || b.is_ascii_punctuation() && !matches!(b, b'-' | b'_' | b'.' | b'/' | b',');
    word.len() >= 6
        && (inner.iter().any(strong) || inner.split(|b| !b.is_ascii_alphanumeric()).any(|letters| letters.len() >= 10))
}
