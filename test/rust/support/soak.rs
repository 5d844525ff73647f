//! How much a test tries: little in an ordinary run, more when `make soak` asks for it.

use std::io::Write;
use std::str::FromStr;

/// Returns the number in an environment variable, or nothing when it is not set.
///
/// # Panics
/// When it is set and is no number: a soak that was asked for wrongly must not pass.
pub fn asked<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Returns how many cases a property whose usual number is `usual` tries.
///
/// `PROPTEST_CASES` counts for a property with the 256 cases that are the library's own default; others keep their
/// proportion to it.
pub fn cases(usual: u32) -> u32 {
    match asked::<u32>("PROPTEST_CASES") {
        None => usual,
        Some(all) => u32::try_from(u64::from(all) * u64::from(usual) / 256).unwrap_or(u32::MAX).max(1),
    }
}

/// Says what a test of what must be survived has counted; the scripts print these lines at their end.
///
/// The runner hides what passing tests print, so the line goes to the file that `PASSEPARTOUT_COUNTED` names.
pub fn survived(counted: impl std::fmt::Display) {
    let line = format!("{}\n", counted.to_string().replace('\n', " "));
    print!("survived: {line}");
    let Some(path) = std::env::var_os("PASSEPARTOUT_COUNTED") else { return };
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("PASSEPARTOUT_COUNTED can be written");
}
