//! Finds secrets in text: tokens by their published shapes, keys, passwords in addresses and assignments.
//!
//! Pure and linear in the length of the text. What it finds is named by place and kind; the words
//! of a finding never hold the secret itself.

mod assignment;
mod commands;
mod formats;
mod more;
mod names;
mod near;
mod notations;
mod odd;
mod prose;
mod published;
mod seed;
mod services;
mod table;
mod values;

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

/// Builds the tables now, so that the first text does not pay for them.
pub fn prepare() {
    names::prepare();
    values::prepare();
    formats::prepare();
    services::prepare();
    seed::prepare();
}

/// Returns the secrets of a text, in order, without overlaps.
pub fn scan(text: &str) -> Vec<Finding> {
    let mut found = formats::scan(text);
    found.extend(formats::by_mark(text));
    found.extend(formats::beside(text, &found));
    found.extend(assignment::scan(text));
    if found.is_empty() {
        return found;
    }
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

/// Returns how much work a text makes beside the passes over all its bytes: bytes that are looked at again, and checksums.
///
/// It is for tests: it grows with the length of a text and not faster, whatever stands in it.
pub fn effort(text: &str) -> usize {
    formats::effort(text) + assignment::effort(text)
}

/// How often a masked text is masked again; each time removes what an earlier mask uncovered.
const PASSES: usize = 16;

/// Returns the text with every secret replaced by the name of its kind, and what was replaced in it.
///
/// What stands beside a mask can look like a secret that was not seen before, so masking goes on until nothing is found.
pub fn mask(text: &str) -> (String, Vec<Finding>) {
    let found = scan(text);
    if found.is_empty() {
        return (text.to_string(), found);
    }
    let mut masked = replaced(text, &found);
    for _ in 1..PASSES {
        let uncovered = scan(&masked);
        if uncovered.is_empty() {
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

/// What a mask begins with.
pub const HIDDEN: &str = "⟨hidden: ";

/// Returns the text with secrets replaced, as a human sees it who must judge it: what could be code stays.
///
/// A finding that holds what a shell or Lisp would act on is shown as it is: nothing may hide behind a mask.
pub fn mask_shown(text: &str) -> String {
    let acts = |c: char| {
        c.is_whitespace()
            || matches!(c, '$' | '`' | '(' | ')' | '{' | '}' | ';' | '|' | '&' | '<' | '>' | '\\' | '"' | '\'')
    };
    let mut found = scan(text);
    found.retain(|finding| {
        finding.kind == "private key" || !text.get(finding.range.clone()).unwrap_or("").contains(acts)
    });
    replaced(text, &found)
}

fn replaced(text: &str, found: &[Finding]) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    for finding in found {
        masked.push_str(text.get(at..finding.range.start).unwrap_or(""));
        masked.push_str(HIDDEN);
        masked.push_str(finding.kind);
        masked.push('⟩');
        at = finding.range.end;
    }
    masked.push_str(text.get(at..).unwrap_or(""));
    masked
}
