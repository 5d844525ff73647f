//! Writing into the user's settings file `.env`, line by line; every other line of it stays as it is.

use crate::edge::own_file::replace;
use crate::edge::secret::{MAX_ENV_FILE, read_own_text};
use std::path::Path;

/// A key is no longer than this, in bytes.
pub(in crate::edge) const LONGEST_KEY: usize = 16 << 10;

/// A name with its new value; none takes the line away.
pub(in crate::edge) type Line = (&'static str, Option<String>);

/// Puts some lines into a file anew; without any it is only looked whether it can be read.
///
/// # Errors
/// In words, when the file cannot be read or written, or would become too large.
pub(in crate::edge) fn put(file: &Path, lines: &[Line]) -> Result<(), String> {
    let named = file.display();
    let whole = read_own_text(file, MAX_ENV_FILE).map_err(|why| why.to_string())?.unwrap_or_default();
    let text = with_lines(&whole, lines);
    if text.len() as u64 > MAX_ENV_FILE {
        return Err(format!("{named} would become larger than 64 kB"));
    }
    if lines.is_empty() { Ok(()) } else { replace(file, &text).map_err(|why| format!("{named}: {why}")) }
}

/// Returns the key in the first line of a text. What a key looks like is its service's to say; what would need quotes in
/// the file is none.
pub(in crate::edge) fn key_in(text: &str) -> Option<&str> {
    let key = text.lines().next().unwrap_or_default().trim();
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '\'' | '"' | '\\' | '#' | '$' | '`');
    (!key.is_empty() && key.len() <= LONGEST_KEY && key.chars().all(plain)).then_some(key)
}

/// Returns a settings file with some lines anew; every other line stays as it is.
fn with_lines(text: &str, lines: &[Line]) -> String {
    let names = |line: &str, name: &str| {
        let line = line.trim_start();
        let line = line.strip_prefix("export ").unwrap_or(line);
        line.split_once('=').is_some_and(|(found, _)| found.trim() == name)
    };
    let kept = text.lines().filter(|line| !lines.iter().any(|(name, _)| names(line, name)));
    let mut new: String = kept.flat_map(|line| [line, "\n"]).collect();
    for (name, value) in lines {
        if let Some(value) = value {
            let quoted = value.contains([' ', '#', '$', '"', '\\', '`', '~']);
            new.push_str(&if quoted { format!("{name}='{value}'\n") } else { format!("{name}={value}\n") });
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
