//! Bytes of a file ↔ text, as Emacs would read and write them, giving back the same bytes.
//!
//! UTF-8 and UTF-16 (with a byte order mark) and Latin-1 are read; everything else is refused by name.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

/// A file's text with `\n` line ends, and how it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The text, without byte order mark.
    pub text: Arc<str>,
    /// How the file was written.
    pub format: Format,
}

/// How a text is written to its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Format {
    /// The encoding.
    pub encoding: Encoding,
    /// What ends a line.
    pub line_end: LineEnd,
}

/// The encodings that are read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Encoding {
    /// UTF-8 without byte order mark.
    #[default]
    Utf8,
    /// UTF-8 with byte order mark.
    Utf8Mark,
    /// UTF-16, little-endian, with byte order mark.
    Utf16Little,
    /// UTF-16, big-endian, with byte order mark.
    Utf16Big,
    /// ISO 8859-1.
    Latin1,
}

/// What ends a line in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LineEnd {
    /// `\n`, or a mixture, which is kept as it is.
    #[default]
    Unix,
    /// `\r\n` everywhere.
    Dos,
    /// `\r` everywhere.
    Mac,
}

/// Why bytes are not read as Org text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Not text at all.
    #[error("is not text: it {0}. Move it out of the folder, or rename it")]
    Binary(String),
    /// Text, but in an encoding that cannot be told with certainty.
    #[error(
        "line {line}: byte {byte:#04x} is neither UTF-8 nor Latin-1. Open it in Emacs with the right encoding (C-x RET r) and save it as UTF-8 (C-x RET f utf-8)"
    )]
    UnknownEncoding {
        /// One-based line of the first byte that fits neither.
        line: usize,
        /// That byte.
        byte: u8,
    },
    /// UTF-16 or UTF-32 that is broken or not supported.
    #[error("{0}. Save it as UTF-8 (in Emacs: C-x RET f utf-8)")]
    Wide(&'static str),
}

/// Why a text cannot be written in its file's encoding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line}: {character:?} cannot be written in Latin-1, the file's encoding. Save the file as UTF-8 first (in Emacs: C-x RET f utf-8)"
)]
pub struct EncodeError {
    /// One-based line of the character.
    pub line: usize,
    /// The first character that Latin-1 lacks.
    pub character: char,
}

/// Reads a file's bytes as Emacs would.
///
/// # Errors
///
/// Refuses what is binary (holds NUL), broken UTF-16, and text that is neither UTF-8 nor Latin-1.
pub fn decode(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    let (text, encoding) = characters(bytes)?;
    let line_end = line_end(&text);
    let text = match line_end {
        LineEnd::Unix => Arc::from(text),
        LineEnd::Dos => text.replace("\r\n", "\n").into(),
        LineEnd::Mac => text.replace('\r', "\n").into(),
    };
    Ok(Decoded { text, format: Format { encoding, line_end } })
}

impl Decoded {
    /// Returns a text as bytes in this file's format; the decoded text gives back the very bytes it came from.
    ///
    /// # Errors
    ///
    /// Only for a Latin-1 file and a text with characters beyond it.
    pub fn encode(&self, text: &str) -> Result<Vec<u8>, EncodeError> {
        self.format.encode(text)
    }
}

impl Format {
    /// Returns a text as bytes in this format.
    ///
    /// # Errors
    ///
    /// Only for Latin-1 and a text with characters beyond it.
    pub fn encode(&self, text: &str) -> Result<Vec<u8>, EncodeError> {
        let ended = match self.line_end {
            LineEnd::Unix => Cow::Borrowed(text),
            LineEnd::Dos => Cow::Owned(text.replace('\n', "\r\n")),
            LineEnd::Mac => Cow::Owned(text.replace('\n', "\r")),
        };
        match self.encoding {
            Encoding::Utf8 => Ok(ended.into_owned().into_bytes()),
            Encoding::Utf8Mark => Ok(["\u{feff}", &ended].concat().into_bytes()),
            Encoding::Utf16Little => Ok(wide("\u{feff}", &ended).flat_map(u16::to_le_bytes).collect()),
            Encoding::Utf16Big => Ok(wide("\u{feff}", &ended).flat_map(u16::to_be_bytes).collect()),
            Encoding::Latin1 => latin1(&ended),
        }
    }
}

fn wide<'a>(mark: &'a str, text: &'a str) -> impl Iterator<Item = u16> + 'a {
    mark.encode_utf16().chain(text.encode_utf16())
}

fn latin1(text: &str) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        match u8::try_from(u32::from(character)) {
            Ok(byte) => bytes.push(byte),
            Err(_) => return Err(EncodeError { line: line_of(text.as_bytes(), at), character }),
        }
    }
    Ok(bytes)
}

fn characters(bytes: &[u8]) -> Result<(Cow<'_, str>, Encoding), DecodeError> {
    if bytes.starts_with(&[0xff, 0xfe, 0, 0]) || bytes.starts_with(&[0, 0, 0xfe, 0xff]) {
        return Err(DecodeError::Wide("is UTF-32, which is not read"));
    }
    if let Some(rest) = bytes.strip_prefix(&[0xff, 0xfe]) {
        return Ok((utf16(rest, u16::from_le_bytes)?.into(), Encoding::Utf16Little));
    }
    if let Some(rest) = bytes.strip_prefix(&[0xfe, 0xff]) {
        return Ok((utf16(rest, u16::from_be_bytes)?.into(), Encoding::Utf16Big));
    }
    if let Some(at) = memchr::memchr(0, bytes) {
        return Err(nul(bytes, at));
    }
    let (rest, encoding) = match bytes.strip_prefix("\u{feff}".as_bytes()) {
        Some(rest) => (rest, Encoding::Utf8Mark),
        None => (bytes, Encoding::Utf8),
    };
    let error = match std::str::from_utf8(rest) {
        Ok(text) => return Ok((text.into(), encoding)),
        Err(error) => error,
    };
    if let Some(what) = magic(bytes) {
        return Err(DecodeError::Binary(format!("looks like {what}")));
    }
    // Emacs takes bytes 0x80 to 0x9f, controls in Latin-1, as a sign that it is some other encoding.
    let offset = bytes.len() - rest.len();
    let control = bytes.iter().position(|byte| (0x80..0xa0).contains(byte));
    match control {
        None if encoding == Encoding::Utf8 => Ok((bytes.iter().copied().map(char::from).collect(), Encoding::Latin1)),
        None | Some(_) => {
            let at = error.valid_up_to() + offset;
            Err(DecodeError::UnknownEncoding {
                line: line_of(bytes, at),
                byte: bytes.get(at).copied().unwrap_or_default(),
            })
        }
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, DecodeError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(DecodeError::Wide("begins as UTF-16, but has an odd number of bytes"));
    }
    let text: Result<String, _> = char::decode_utf16(pairs.iter().copied().map(unit)).collect();
    let text = text.map_err(|_| DecodeError::Wide("begins as UTF-16, but holds half a character"))?;
    if text.contains('\0') {
        return Err(DecodeError::Binary("begins as UTF-16, but holds NUL characters".to_owned()));
    }
    Ok(text)
}

/// Says what a file with a NUL byte seems to be.
fn nul(bytes: &[u8], at: usize) -> DecodeError {
    if let Some(what) = magic(bytes) {
        return DecodeError::Binary(format!("looks like {what}"));
    }
    let head = bytes.get(..bytes.len().min(512)).unwrap_or_default();
    let zeros = |odd: usize| head.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
    if head.len() >= 4 && (zeros(0) * 3 > head.len() || zeros(1) * 3 > head.len()) && zeros(0).min(zeros(1)) == 0 {
        return DecodeError::Wide("looks like UTF-16 without a byte order mark");
    }
    let mut what = String::new();
    // Writing to a string cannot fail.
    let _ = write!(what, "holds a NUL byte in line {} (byte {at})", line_of(bytes, at));
    DecodeError::Binary(what)
}

/// Names well-known binary formats by their first bytes.
fn magic(bytes: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&[u8], &str); 13] = [
        (b"%PDF-", "a PDF document"),
        (b"\x89PNG\r\n", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"PK\x03\x04", "a ZIP archive or an office document"),
        (b"\x1f\x8b", "a gzip archive"),
        (b"\xfd7zXZ\0", "an xz archive"),
        (b"\x28\xb5\x2f\xfd", "a zstd archive"),
        (b"BZh", "a bzip2 archive"),
        (b"\x7fELF", "a program (ELF)"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"-----BEGIN PGP MESSAGE", "an encrypted PGP message"),
        (b"\xd0\xcf\x11\xe0", "an old office document"),
    ];
    KNOWN.iter().find(|(start, _)| bytes.starts_with(start)).map(|(_, name)| *name)
}

/// Tells line ends as Emacs does: one bare `\n` and nothing is converted.
fn line_end(text: &str) -> LineEnd {
    let bytes = text.as_bytes();
    if memchr::memchr(b'\r', bytes).is_none() {
        return LineEnd::Unix;
    }
    let mut pairs = false;
    for at in memchr::memchr_iter(b'\n', bytes) {
        if at.checked_sub(1).and_then(|before| bytes.get(before)) != Some(&b'\r') {
            return LineEnd::Unix;
        }
        pairs = true;
    }
    if pairs { LineEnd::Dos } else { LineEnd::Mac }
}

fn line_of(bytes: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', bytes.get(..at).unwrap_or_default()).count() + 1
}
