//! The result of the last check of a store, as it is kept outside it for the doctor.

use super::Proof;
use crate::edge::own_file::replace;
use crate::edge::store::witness;
use std::path::Path;

/// The result of a check as it is kept for the doctor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// When.
    pub at: jiff::Timestamp,
    /// Whether it was whole.
    pub whole: bool,
    /// The first line of what was said.
    pub verdict: String,
}

/// Keeps the result of a check outside the store.
///
/// # Errors
/// What the system says.
pub fn keep_result(heads: &Path, folder: &Path, proof: &Proof, at: jiff::Timestamp) -> std::io::Result<()> {
    let word = if proof.whole() { "whole" } else { "broken" };
    let text = format!("{at} {word} {}\n", proof.verdict());
    replace(&witness::result_file(heads, folder), &text)
}

/// Returns the result of the last check of a store.
pub fn last_result(heads: &Path, folder: &Path) -> Option<Checked> {
    let text = std::fs::read_to_string(witness::result_file(heads, folder)).ok()?;
    let (at, rest) = text.trim_end().split_once(' ')?;
    let (word, verdict) = rest.split_once(' ')?;
    Some(Checked { at: at.parse().ok()?, whole: word == "whole", verdict: verdict.to_string() })
}
