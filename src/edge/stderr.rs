//! Standard error, which may be closed or broken: what is said there is said if it can be, and nothing hangs on it.
//!
//! `eprintln!` panics when nobody reads any more, which ends a program in the middle of its work.

use std::io::Write;

/// Says a line beside the answer.
pub fn complain(line: &str) {
    say(&format!("{line}\n"));
}

/// Says something that is no whole line.
pub fn say(text: &str) {
    // At once, so that lines of several threads stay whole. Who has closed it reads nothing.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// Returns the files below a folder in which something stands that panics on a broken standard error.
    fn panicking(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() {
                panicking(&entry, found);
            } else if !entry.ends_with("stderr.rs")
                && std::fs::read_to_string(&entry).is_ok_and(|text| text.contains("eprint"))
            {
                found.push(entry.display().to_string());
            }
        }
    }

    #[test]
    fn nothing_here_panics_on_a_broken_standard_error() {
        let mut found = Vec::new();
        panicking(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/edge"), &mut found);
        assert!(found.is_empty(), "{found:?}");
    }
}
