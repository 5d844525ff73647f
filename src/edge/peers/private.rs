//! Small files of their user alone, such as a cookie or a key: read only when nobody else may, and made once.

use crate::edge::peers::trust::own_user;
use crate::edge::random;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Why a file was not read.
pub enum Unread {
    /// There is no file.
    Missing,
    /// In words, why it is not taken.
    Refused(String),
}

/// Reads such a file; `told` says what it should be, and the way out.
///
/// # Errors
/// When it is not there, not its user's alone, longer than `longest`, or no text.
pub fn read(path: &Path, longest: u64, told: &str) -> Result<String, Unread> {
    let refused = |why: &str| Unread::Refused(format!("{}: {why}", path.display()));
    // Not through a link, and never waiting for the other end of a pipe.
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
    let file = opened.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Unread::Missing,
        _ => refused(&error.to_string()),
    })?;
    let about = file.metadata().map_err(|error| refused(&error.to_string()))?;
    if !about.is_file() || about.uid() != own_user() || about.mode() & 0o077 != 0 || about.len() > longest {
        return Err(refused(told));
    }
    let mut text = String::new();
    file.take(longest).read_to_string(&mut text).map_err(|error| refused(&error.to_string()))?;
    Ok(text)
}

/// Makes such a file where there is none; returns whether it is ours. Who is faster keeps the place: whoever looks sees a
/// whole one or none.
///
/// # Errors
/// In words, when it cannot be written.
pub fn make(path: &Path, text: &str) -> Result<bool, String> {
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    let draft = path.with_extension(format!("new-{}", random::hex(&random::bytes::<8>().map_err(told)?)));
    let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let placed = written.and_then(|()| fs::hard_link(&draft, path));
    // It has its name, or is of no use.
    let _ = fs::remove_file(&draft);
    match placed {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(told(error)),
    }
}
