//! What the user rules beside the gates: a table of tools, properties of headings, rules that were learned.
//!
//! What tightens counts at once, whoever wrote it. What loosens counts only after the user confirmed exactly it.

pub mod canaries;
pub mod held;
pub mod labels;
pub mod learned;
pub mod loosening;
pub mod mandate;
pub mod passes;
pub mod tools;
