//! Where a heading's attachments lie, as `org-attach-dir` finds it.

use super::outline::Outline;
use super::property::Inheritance;

/// Returns the folders in which a node's attachments may lie; the first that exists counts, and the first of all
/// where none exists. Relative ones are below the folder of the file. None when nothing says where they lie.
pub fn folders(outline: &Outline, index: usize, inheritance: &Inheritance) -> Vec<String> {
    for key in ["DIR", "ATTACH_DIR"] {
        if let Some(folder) = outline.effective_value(index, key, inheritance) {
            return vec![folder];
        }
    }
    let id = outline.effective_value(index, "ID", inheritance).unwrap_or_default();
    let ways = [split(&id, 2), split(&id, 6), id.chars().next().map(|first| format!("__/{first}/{id}"))];
    ways.into_iter().flatten().map(|folder| format!("data/{folder}")).collect()
}

/// Returns an id with a slash behind its first characters; nothing when it has no more than those.
fn split(id: &str, characters: usize) -> Option<String> {
    let (at, _) = id.char_indices().nth(characters)?;
    Some(format!("{}/{}", id.get(..at)?, id.get(at..)?))
}
