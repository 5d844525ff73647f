//! What cannot be tried here is said, and kept for the end of the run: nothing is skipped silently.

use std::io::Write;

/// Says that a test, or a part of one, was left out, and why.
///
/// The runner hides what passing tests print, so the line also goes to the file that `PASSEPARTOUT_SKIPPED` names;
/// `test/scripts/test.sh` prints that at the end.
pub fn skipped(why: impl std::fmt::Display) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("{test}: {}\n", why.to_string().trim_end().replace('\n', " "));
    print!("skipped: {line}");
    let Some(path) = std::env::var_os("PASSEPARTOUT_SKIPPED") else { return };
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("PASSEPARTOUT_SKIPPED can be written");
}
