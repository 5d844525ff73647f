//! What stands at a path: looked at, and as JSON for the store.

use crate::domain::id::ObjectHash;
use crate::domain::memory::store::content_name;
use crate::domain::undo::Image;
use serde_json::{Value, json};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Returns what stands at a path, and the bytes of a file of at most so many.
pub fn at(path: &Path, most: u64) -> (Image, Option<Vec<u8>>) {
    let unkept = |why: String| (Image::Unkept { why }, None);
    let about = match path.symlink_metadata() {
        Ok(about) => about,
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return (Image::Absent, None);
        }
        Err(error) => return unkept(error.to_string()),
    };
    let mode = about.permissions().mode() & 0o7777;
    if about.is_dir() {
        return (Image::Folder { mode }, None);
    }
    if about.file_type().is_symlink() {
        return match std::fs::read_link(path).map(|target| target.to_str().map(str::to_string)) {
            Ok(Some(target)) => (Image::Link { target }, None),
            Ok(None) => unkept("where the link leads is no UTF-8".to_string()),
            Err(error) => unkept(error.to_string()),
        };
    }
    if !about.is_file() {
        return unkept("it is a device, a pipe or a socket".to_string());
    }
    if about.len() > most {
        return unkept(format!("it has {} bytes", about.len()));
    }
    let mut bytes = Vec::new();
    let read = crate::edge::survey::open::file(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) if bytes.len() as u64 > most => unkept("it grew while it was read".to_string()),
        Ok(_) => (Image::File { content: content_name(&bytes), size: bytes.len() as u64, mode }, Some(bytes)),
        Err(error) => unkept(error.to_string()),
    }
}

/// Returns an image as JSON, for the store.
pub fn image_json(image: &Image) -> Value {
    match image {
        Image::Absent => json!({ "is": "absent" }),
        Image::File { content, size, mode } => {
            json!({ "is": "file", "content": content.to_hex(), "size": size, "mode": mode })
        }
        Image::Link { target } => json!({ "is": "link", "target": target }),
        Image::Folder { mode } => json!({ "is": "folder", "mode": mode }),
        Image::Unkept { why } => json!({ "is": "unkept", "why": why }),
    }
}

/// Reads what [`image_json`] wrote.
pub fn read_image(value: &Value) -> Option<Image> {
    let number = |key: &str| value[key].as_u64();
    let mode = || number("mode").and_then(|mode| u32::try_from(mode).ok());
    Some(match value["is"].as_str()? {
        "absent" => Image::Absent,
        "file" => Image::File {
            content: ObjectHash::from_hex(value["content"].as_str()?)?,
            size: number("size")?,
            mode: mode()?,
        },
        "link" => Image::Link { target: value["target"].as_str()?.to_string() },
        "folder" => Image::Folder { mode: mode()? },
        "unkept" => Image::Unkept { why: value["why"].as_str()?.to_string() },
        _ => return None,
    })
}
