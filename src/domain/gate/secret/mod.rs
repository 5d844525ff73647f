//! Finds secrets in text: tokens by their published shapes, keys, passwords in addresses and assignments.
//!
//! Pure and linear in the length of the text. What it finds is named by place and kind; the words
//! of a finding never hold the secret itself.

mod assignment;
mod formats;

use std::ops::Range;

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// The name and the look of the value suggest it.
    Likely,
    /// The shape belongs to one kind of secret alone.
    Certain,
}

/// One secret in a text. It does not hold the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind of secret.
    pub kind: &'static str,
    /// Where it stands, in bytes.
    pub range: Range<usize>,
    /// How sure it is.
    pub certainty: Certainty,
}

/// Returns the secrets of a text, in order, without overlaps.
pub fn scan(text: &str) -> Vec<Finding> {
    let mut found = formats::scan(text);
    found.extend(assignment::scan(text));
    found.sort_by(|a, b| {
        a.range.start.cmp(&b.range.start).then(b.certainty.cmp(&a.certainty)).then(b.range.end.cmp(&a.range.end))
    });
    let mut kept: Vec<Finding> = Vec::new();
    for finding in found {
        match kept.last_mut() {
            Some(last) if finding.range.start < last.range.end => {
                last.range.end = last.range.end.max(finding.range.end);
                last.certainty = last.certainty.max(finding.certainty);
            }
            _ => kept.push(finding),
        }
    }
    kept
}

/// How often a masked text is masked again; each time removes what an earlier mask uncovered.
const PASSES: usize = 16;

/// Returns the text with every secret replaced by the name of its kind, and what was replaced in it.
///
/// What stands beside a mask can look like a secret that was not seen before, so masking goes on until nothing is found.
pub fn mask(text: &str) -> (String, Vec<Finding>) {
    let found = scan(text);
    let mut masked = replaced(text, &found);
    for _ in 1..PASSES {
        let uncovered = scan(&masked);
        if found.is_empty() || uncovered.is_empty() {
            return (masked, found);
        }
        masked = replaced(&masked, &uncovered);
    }
    // A text that goes on uncovering secrets is hidden whole, unless it is clean now.
    if !scan(&masked).is_empty() {
        masked = "⟨hidden: a text full of secrets⟩".to_string();
    }
    (masked, found)
}

fn replaced(text: &str, found: &[Finding]) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    for finding in found {
        masked.push_str(text.get(at..finding.range.start).unwrap_or(""));
        masked.push_str("⟨hidden: ");
        masked.push_str(finding.kind);
        masked.push('⟩');
        at = finding.range.end;
    }
    masked.push_str(text.get(at..).unwrap_or(""));
    masked
}

/// Returns whether a value is written to show where a secret goes: `xxxx`, `<your key>`, `$KEY`, `EXAMPLE`.
fn is_placeholder(value: &str) -> bool {
    if value.is_empty() || value.contains(['<', '>', '{', '}', '$', '…']) || value.starts_with('%') {
        return true;
    }
    let lower = value.to_ascii_lowercase();
    let words = [
        "xxxx",
        "****",
        "....",
        "####",
        "example",
        "placeholder",
        "redacted",
        "your_",
        "your-",
        "yourkey",
        "yourtoken",
        "changeme",
        "change_me",
        "change-me",
        "insert",
        "dummy",
        "notreal",
        "not_real",
        "todo",
        "replace",
        "abcdefghijkl",
        "my-secret",
        "mysecret",
        "my_secret",
        "put_your",
        "token_here",
        "key_here",
        "tokenhere",
        "keyhere",
        "_here",
        "0000000000",
        "undefined",
        "process.env",
        "os.environ",
        "getenv",
    ];
    words.iter().any(|word| lower.contains(word)) || lower.ends_with("...")
}

/// Returns bits of information a character, by the frequency of characters.
fn entropy(value: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in value.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let total = value.len().max(1) as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = f64::from(*count) / total;
            -share * share.log2()
        })
        .sum()
}
