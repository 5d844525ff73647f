//! Org text ↔ outline: what Org 9.7 says, byte for byte, and what hostile text does.

mod again;
mod agreement;
mod contents;
mod decode;
mod edit;
mod fixtures;
mod hostile;
mod link;
mod property;
mod round;
mod setup;
mod timestamp;
mod walk;

use passepartout::domain::org::outline::Outline;
use passepartout::domain::org::scan::{ScanOptions, scan};

/// Reads a text with Org's own defaults.
fn outline(text: &str) -> Outline {
    scan(text.into(), &ScanOptions::default()).expect("a test's text is small")
}
