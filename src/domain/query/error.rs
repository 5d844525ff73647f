//! Why a query cannot be read: what, where, and the way out.

use std::fmt;

/// Why a query cannot be read or answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// What is wrong, in words.
    pub what: String,
    /// The way out, in words; may be empty.
    pub way_out: String,
    /// The column of the character that it is about, from 1.
    pub column: usize,
    /// How many characters it is about, at least 1.
    pub width: usize,
}

impl QueryError {
    /// Returns the error with the query and a mark below the place, for a terminal.
    pub fn pointed(&self, query: &str) -> String {
        let line: String = query.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let before: String = line.chars().take(self.column.saturating_sub(1)).collect();
        // What stands before takes its own width: a wide character takes two cells.
        let indent: usize = before.chars().map(cells).sum();
        let marked: usize = line.chars().skip(self.column.saturating_sub(1)).take(self.width).map(cells).sum();
        format!("{self}\n  {line}\n  {}{}", " ".repeat(indent), "^".repeat(marked.max(1)))
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column, self.what)?;
        if self.way_out.is_empty() { Ok(()) } else { write!(f, "; {}", self.way_out) }
    }
}

impl std::error::Error for QueryError {}

/// Returns how many cells of a terminal a character takes.
pub fn cells(c: char) -> usize {
    match c {
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200d}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{303e}'
        | '\u{3041}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

/// Returns the word that is nearest to another one, if any is near enough to be a slip of the keys.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.chars().take(40).flat_map(char::to_lowercase).collect();
    let most = if word.len() <= 4 { 1 } else { 2 };
    known
        .into_iter()
        .filter_map(|candidate| {
            let letters: Vec<char> = candidate.chars().take(40).flat_map(char::to_lowercase).collect();
            let slips = distance(&word, &letters);
            let begins = word.len() >= 3 && letters.starts_with(&word);
            (slips <= most && slips < word.len() || begins).then_some((if begins { 1 } else { slips }, candidate))
        })
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// Returns how many letters must be put in, taken out, changed or swapped to make one word of the other.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let mut best = (above[j] + usize::from(from != to)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *to && b[j - 1] == *from {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_keys_are_near() {
        let known = ["tag", "todo", "deadline", "scheduled", "under"];
        for (word, expected) in [
            ("tga", Some("tag")),
            ("tags", Some("tag")),
            ("dedline", Some("deadline")),
            ("dead", Some("deadline")),
            ("sheduled", Some("scheduled")),
            ("http", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }
}
