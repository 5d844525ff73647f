//! Backups: the store, the settings and the notes in one archive, with a sum of every file, and the way back.
//!
//! An archive is a tar. Its last entry, `manifest.json`, names every other one with its size and BLAKE3 sum, and where
//! it came from. Nothing is put back before all of it was read and every sum found right.

mod places;
mod read;
mod write;

pub use read::{Restored, Targets, Unrestorable, restore, verify};
pub use write::{Sources, Written, write};

use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::path::PathBuf;

/// The version of the form; another one is refused.
const FORM: u32 = 1;
/// The name of the last entry.
const MANIFEST: &str = "manifest.json";
/// No manifest is longer, in bytes.
const LONGEST_MANIFEST: u64 = 256 << 20;
/// Bytes that are read at once.
const PIECE: usize = 128 * 1024;

/// What an archive says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    form: u32,
    /// When it was made.
    pub made: String,
    /// By which version.
    pub version: String,
    /// Whether keys are in it.
    pub keys: bool,
    /// Where the store lay.
    pub store: PathBuf,
    /// Where the settings lay.
    pub settings: PathBuf,
    /// Where the folders of the memex lay, in the order of their numbers; empty when they are not in it.
    pub memex: Vec<PathBuf>,
    /// What was left out, and why.
    pub left_out: Vec<String>,
    /// Every other entry.
    pub files: Vec<Entry>,
}

/// One file in an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its path in the archive.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Its sum.
    pub blake3: String,
}

/// What is kept of a file beside its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kept {
    /// Its mode; of it counts whether its user may run it.
    mode: u32,
    /// When it was changed, in seconds since 1970; 0 is not known.
    modified: u64,
}

/// Whether a path of an entry stays below where it is put, in one of the parts that there are.
fn is_safe(name: &str) -> bool {
    let plain = name.split('/').all(|part| !matches!(part, "" | "." | "..")) && !name.contains('\0');
    plain && ["store/", "settings/", "memex/"].iter().any(|part| name.starts_with(part))
}

/// Copies all that can be read, and returns how much it was and its sum.
fn copy_summed(from: &mut (impl Read + ?Sized), to: &mut impl Write) -> io::Result<(u64, String)> {
    let (mut hasher, mut piece, mut bytes) = (blake3::Hasher::new(), vec![0; PIECE], 0);
    loop {
        let count = match from.read(&mut piece) {
            Ok(0) => return Ok((bytes, hasher.finalize().to_hex().to_string())),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let part = piece.get(..count).unwrap_or_default();
        hasher.update(part);
        to.write_all(part)?;
        bytes += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_entry_leads_out_of_where_it_is_put() {
        for (name, safe) in [
            ("store/memory.log", true),
            ("settings/skills/a.org", true),
            ("memex/0/notes/ä b.org", true),
            ("memex/0/../../x", false),
            ("store/../settings/.env", false),
            ("/store/memory.log", false),
            ("elsewhere/x", false),
            ("store", false),
            ("store/", false),
            ("settings//etc/passwd", false),
            ("settings/./x", false),
            ("", false),
        ] {
            assert_eq!(is_safe(name), safe, "{name}");
        }
    }
}
