//! Org text ↔ outline: our own line scanner for structure.

pub mod archive;
pub mod attach;
mod chars;
pub mod clock;
pub mod contents;
pub mod decode;
pub mod edit;
mod headline;
mod lines;
pub mod link;
pub mod logbook;
pub mod outline;
pub mod property;
pub mod render;
pub mod scan;
mod section;
mod settings;
pub mod setup;
pub mod timestamp;
pub mod title;

/// Returns whether a file is named as Org files and their archives are.
pub fn is_org(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let extension = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension);
    extension.is_some_and(|e| ["org", "org_archive"].iter().any(|org| e.eq_ignore_ascii_case(org)))
}
