//! The file of what was typed: the user's alone, bounded, and written whole or not at all.

use crate::edge::own_file::replace;
use crate::edge::tui::history::{BYTES, read, written};
use std::fs;
use std::io::Read;
use std::path::Path;

/// Its name in the cache folder.
pub const NAME: &str = "history";

/// Returns what was typed before, the oldest first; nothing when it cannot be read.
pub fn kept(cache: &Path) -> Vec<String> {
    let mut bytes = Vec::new();
    // Escapes make it longer than what it holds, at most twice.
    let most = BYTES as u64 * 2;
    match fs::File::open(cache.join(NAME)).and_then(|file| file.take(most).read_to_end(&mut bytes)) {
        Ok(_) => read(&String::from_utf8_lossy(&bytes)),
        Err(_) => Vec::new(),
    }
}

/// Keeps what was typed.
///
/// # Errors
/// When it cannot be written.
pub fn keep(cache: &Path, lines: &[String]) -> std::io::Result<()> {
    replace(&cache.join(NAME), &written(lines))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_was_typed_is_kept_for_its_user_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = folder.path().join("cache/passepartout");
        assert!(kept(&cache).is_empty());
        let lines = ["one".to_string(), "two\nlines \\n".to_string()];
        keep(&cache, &["old".to_string()]).expect("it is written");
        keep(&cache, &lines).expect("it is written");
        assert_eq!(kept(&cache), lines);
        let mode = fs::metadata(cache.join(NAME)).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(&cache).expect("a folder").count(), 1);
        fs::write(cache.join(NAME), b"\xff\xfe\n").expect("it is written");
        assert_eq!(kept(&cache).len(), 1, "what is no text is read as well as it can be");
    }
}
