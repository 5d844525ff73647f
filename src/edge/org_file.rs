//! Reading one Org file from disk: size-checked, decoded, with errors that name the file.

use crate::domain::org::decode::{DecodeError, Decoded, decode};
use crate::domain::org::outline::Outline;
use crate::domain::org::scan::{MAX_BYTES, ScanOptions, TooLarge, scan};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Why a file was not read; each names the file.
#[derive(Debug, thiserror::Error)]
pub enum OrgFileError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Not text that can be read.
    #[error("{}: {source}", path.display())]
    Undecodable {
        /// Which file.
        path: PathBuf,
        /// What it is instead.
        source: DecodeError,
    },
    /// Too many bytes or headings.
    #[error("{}: {source}", path.display())]
    TooLarge {
        /// Which file.
        path: PathBuf,
        /// How large.
        source: TooLarge,
    },
}

/// Reads and decodes one file. The size is checked before anything is read, and again while reading.
///
/// # Errors
///
/// When the file cannot be opened, is no regular file, is larger than 500 MB, or is not text.
pub fn read_text(path: &Path) -> Result<Decoded, OrgFileError> {
    let bytes = read_bytes(path)?;
    decode(&bytes).map_err(|source| OrgFileError::Undecodable { path: path.to_path_buf(), source })
}

/// Reads one file's outline; also returns its size on disk in bytes.
///
/// # Errors
///
/// As [`read_text`], and for more than a million headings.
pub fn read_outline(path: &Path, options: &ScanOptions) -> Result<(Outline, u64), OrgFileError> {
    let bytes = read_bytes(path)?;
    let size = bytes.len() as u64;
    let decoded = decode(&bytes).map_err(|source| OrgFileError::Undecodable { path: path.to_path_buf(), source })?;
    drop(bytes);
    let outline =
        scan(decoded.text, options).map_err(|source| OrgFileError::TooLarge { path: path.to_path_buf(), source })?;
    Ok((outline, size))
}

/// Returns a file's bytes.
///
/// # Errors
///
/// As [`read_text`], but for decoding.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, OrgFileError> {
    let unreadable = |source| OrgFileError::Unreadable { path: path.to_path_buf(), source };
    let too_large = |size: u64| OrgFileError::TooLarge {
        path: path.to_path_buf(),
        source: TooLarge::Bytes(usize::try_from(size).unwrap_or(usize::MAX)),
    };
    // Asked before opening: opening a pipe would wait for a writer.
    let meta = std::fs::metadata(path).map_err(unreadable)?;
    if !meta.is_file() {
        return Err(unreadable(io::Error::other("is not a regular file")));
    }
    if meta.len() > MAX_BYTES as u64 {
        return Err(too_large(meta.len()));
    }
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0).saturating_add(1));
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > MAX_BYTES {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}
