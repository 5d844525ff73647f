//! Writing into the user's settings file `.env`, line by line; every other line of it stays as it is.

use crate::edge::own_file::replace;
use crate::edge::secret::{MAX_ENV_FILE, read_own_text};
use std::fs::{DirBuilder, File, TryLockError};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long it is waited for another process that writes into the file, and between two looks.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_millis(5));

/// A key is no longer than this, in bytes.
pub(in crate::edge) const LONGEST_KEY: usize = 16 << 10;

/// A name with its new value; none takes the line away.
pub(in crate::edge) type Line = (&'static str, Option<String>);

/// Puts some lines into a file anew; without any it is only looked whether it can be read. Of several who write at once
/// none takes a line of another away.
///
/// # Errors
/// In words, when the file cannot be read or written, or would become too large.
pub(in crate::edge) fn put(file: &Path, lines: &[Line]) -> Result<(), String> {
    let named = file.display();
    // Held over reading and replacing.
    let _alone = if lines.is_empty() { None } else { Some(alone(file).map_err(|why| format!("{named}: {why}"))?) };
    let whole = read_own_text(file, MAX_ENV_FILE).map_err(|why| why.to_string())?.unwrap_or_default();
    let text = with_lines(&whole, lines);
    if text.len() as u64 > MAX_ENV_FILE {
        return Err(format!("{named} would become larger than 64 kB"));
    }
    if lines.is_empty() { Ok(()) } else { replace(file, &text).map_err(|why| format!("{named}: {why}")) }
}

/// Locks the folder of a file, as the file itself is replaced by another; it is free again when what is returned is dropped.
fn alone(file: &Path) -> std::io::Result<File> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let (lock, began) = (File::open(folder)?, Instant::now());
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            // A file system without such locks, as NFS for a folder: it is written as well as without one.
            Err(TryLockError::Error(_)) => return Ok(lock),
            Err(TryLockError::WouldBlock) if began.elapsed() < PATIENCE.0 => std::thread::sleep(PATIENCE.1),
            Err(TryLockError::WouldBlock) => {
                return Err(std::io::Error::other("another process holds it; try again when that is done"));
            }
        }
    }
}

/// Returns the key in the first line of a text. What a key looks like is its service's to say; what would need quotes in
/// the file is none.
pub(in crate::edge) fn key_in(text: &str) -> Option<&str> {
    let key = text.lines().next().unwrap_or_default().trim();
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '\'' | '"' | '\\' | '#' | '$' | '`');
    (!key.is_empty() && key.len() <= LONGEST_KEY && key.chars().all(plain)).then_some(key)
}

/// Returns a settings file with some lines anew; every other line stays as it is, and new ones end as its first does.
fn with_lines(text: &str, lines: &[Line]) -> String {
    let names = |line: &str, name: &str| {
        let line = line.trim_start();
        let line = line.strip_prefix("export ").unwrap_or(line);
        line.split_once('=').is_some_and(|(found, _)| found.trim() == name)
    };
    let end = if text.split_inclusive('\n').next().is_some_and(|line| line.ends_with("\r\n")) { "\r\n" } else { "\n" };
    let kept = text.split_inclusive('\n').filter(|line| !lines.iter().any(|(name, _)| names(line, name)));
    let mut new: String = kept.collect();
    if !new.is_empty() && !new.ends_with('\n') {
        new.push_str(end);
    }
    for (name, value) in lines {
        if let Some(value) = value {
            let quoted = value.contains([' ', '#', '$', '"', '\\', '`', '~']);
            new.push_str(&if quoted { format!("{name}='{value}'{end}") } else { format!("{name}={value}{end}") });
        }
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_lines_of_a_file_change() {
        let text = "# mine\nexport MEMEX_DIR=/old\nOPENAI_API_KEY=x\nMEMEX_DIRS=/y\n";
        let lines = [("MEMEX_DIR", Some("/my notes".to_string())), ("DAY_BUDGET_USD", None)];
        assert_eq!(with_lines(text, &lines), "# mine\nOPENAI_API_KEY=x\nMEMEX_DIRS=/y\nMEMEX_DIR='/my notes'\n");
        assert_eq!(with_lines(text, &[]), text);
        // Each keeps its end, and what is new has that of the file.
        for (text, new) in [
            ("# mine\r\nMEMEX_DIR=/old\r\nKEY=x\r\n", "# mine\r\nKEY=x\r\nMEMEX_DIR='/my notes'\r\n"),
            ("KEY=x\r\nOTHER=y", "KEY=x\r\nOTHER=y\r\nMEMEX_DIR='/my notes'\r\n"),
            ("KEY=x\nOTHER=y", "KEY=x\nOTHER=y\nMEMEX_DIR='/my notes'\n"),
            ("KEY=x\nOTHER=y\r\n", "KEY=x\nOTHER=y\r\nMEMEX_DIR='/my notes'\n"),
            ("", "MEMEX_DIR='/my notes'\n"),
        ] {
            assert_eq!(with_lines(text, &lines), new, "{text:?}");
        }
    }

    #[test]
    fn of_many_who_write_at_once_none_loses_a_line() {
        const NAMES: [&str; 6] = ["A", "B", "C", "D", "E", "F"];
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("new").join(".env");
        for round in 0..20 {
            let begin = std::sync::Barrier::new(NAMES.len());
            std::thread::scope(|scope| {
                for name in NAMES {
                    let (file, begin) = (&file, &begin);
                    scope.spawn(move || {
                        begin.wait();
                        put(file, &[(name, Some(round.to_string()))]).expect("it is written");
                    });
                }
            });
            let text = std::fs::read_to_string(&file).expect("it is there");
            let mut lines: Vec<&str> = text.lines().collect();
            lines.sort_unstable();
            assert_eq!(lines, NAMES.map(|name| format!("{name}={round}")), "{round}");
        }
    }

    #[test]
    fn a_key_is_one_plain_word() {
        for (text, key) in [
            (" 12:AA-x_y\nmore", Some("12:AA-x_y")),
            ("", None),
            ("\nsecond", None),
            ("two words", None),
            ("it's", None),
            ("naïve", None),
        ] {
            assert_eq!(key_in(text), key, "{text:?}");
        }
        assert_eq!(key_in(&"x".repeat(LONGEST_KEY + 1)), None);
    }
}
