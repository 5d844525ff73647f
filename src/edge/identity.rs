//! Reads `IDENTITY` of the settings folder: who the agent is told to be, in its user's words.
//!
//! It is text for a model and nothing else: whatever it says, gates judge as they do.

use crate::edge::rules_file::text;
use std::path::{Path, PathBuf};

/// The file's name.
pub const NAME: &str = "IDENTITY";
/// What stands for the agent's name in it.
pub const AGENT: &str = "{name}";
/// What is told while there is no such file.
pub const SHIPPED: &str = include_str!("identity.txt");
/// Its most bytes: a model is told all of it in each request.
const MOST: usize = 32 * 1024;

/// Returns where the file is.
pub fn path(settings: &Path) -> PathBuf {
    settings.join(NAME)
}

/// Reads the file as it is now, or what is shipped where there is none.
///
/// # Errors
/// When it cannot be read or is too large, in words; what is shipped holds then.
pub fn read(settings: &Path) -> Result<String, String> {
    let path = path(settings);
    let wrong = |why: String| format!("{}: {why}; the identity that is shipped is told instead", path.display());
    match text(&path).map_err(wrong)? {
        None => Ok(SHIPPED.to_string()),
        Some(text) if text.len() > MOST => {
            Err(wrong(format!("it has {} bytes; at most {} kB are told", text.len(), MOST / 1024)))
        }
        Some(text) => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_own_text_counts_and_what_cannot_be_read_is_said() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = path(folder.path());
        assert_eq!(read(folder.path()), Ok(SHIPPED.to_string()));
        for (bytes, expected) in [
            (&b"You are a cook."[..], Ok("You are a cook.")),
            (b"", Ok("")),
            (b"caf\xe9", Err("it is not UTF-8 at byte 3")),
            (&[b'x'; MOST + 1], Err("at most 32 kB are told")),
        ] {
            std::fs::write(&file, bytes).expect("it is written");
            match (read(folder.path()), expected) {
                (Ok(text), Ok(expected)) => assert_eq!(text, expected),
                (Err(why), Err(part)) => assert!(why.contains(part) && why.contains(NAME), "{why}"),
                (found, expected) => panic!("{found:?}, and not {expected:?}"),
            }
        }
    }
}
