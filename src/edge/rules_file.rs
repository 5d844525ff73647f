//! Reads `rules.org` of the settings folder: the table of levels of tools.

use crate::domain::policy::tools::Table;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The file's name.
pub const NAME: &str = "rules.org";
/// Its most bytes.
const MOST: u64 = 256 * 1024;

/// Reads the file as it is now; one that is not there says nothing. What cannot be read is named in the table.
pub fn read(settings: &Path) -> Table {
    let path = settings.join(NAME);
    let name = path.canonicalize().unwrap_or_else(|_| path.clone()).to_string_lossy().into_owned();
    match text(&path) {
        Ok(Some(text)) => Table::parse(&name, &text),
        Ok(None) => Table { file: name, ..Table::default() },
        Err(why) => Table::unreadable(&name, why),
    }
}

/// Reads a text of the settings folder; one that is not there is `None`.
pub(in crate::edge) fn text(path: &Path) -> Result<Option<String>, String> {
    // A link that leads nowhere is no file that is not there.
    let about = match fs::symlink_metadata(path).and_then(|_| fs::metadata(path)) {
        Ok(about) => about,
        Err(why) if why.kind() == ErrorKind::NotFound && fs::symlink_metadata(path).is_err() => return Ok(None),
        Err(why) => return Err(format!("it cannot be read: {why}")),
    };
    if !about.is_file() {
        return Err("it is no regular file".to_string());
    }
    if about.len() > MOST {
        return Err(format!("it has {} bytes; at most 256 kB are read", about.len()));
    }
    let bytes = fs::read(path).map_err(|why| format!("it cannot be read: {why}"))?;
    let text = String::from_utf8(bytes)
        .map_err(|why| format!("it is not UTF-8 at byte {}", why.utf8_error().valid_up_to()))?;
    Ok(Some(text))
}
