//! Bytes of a file ↔ text, as Emacs would read and write them, giving back the same bytes.
//!
//! UTF-8 and UTF-16 (with a byte order mark) and Latin-1 are told apart as Emacs does; other encodings are read where
//! the file names its own (`-*- coding: … -*-`, or `coding:` among its local variables). What would not come back as
//! the same bytes, or cannot be told with certainty, is refused by name.

mod coding;

use coding::{Coding, Named};
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
    /// Another encoding, which the file names itself.
    Other(&'static encoding_rs::Encoding),
}

impl Encoding {
    /// Returns the encoding's name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 | Encoding::Utf8Mark => "UTF-8",
            Encoding::Utf16Little | Encoding::Utf16Big => "UTF-16",
            Encoding::Latin1 => "Latin-1",
            Encoding::Other(other) => other.name(),
        }
    }
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
    /// The file names an encoding that its bytes are not in, or that would not give them back.
    #[error(
        "says that it is in {0}, but its bytes are not, or would not come back as they are. Open it in Emacs with the right encoding (C-x RET r) and save it as UTF-8 (C-x RET f utf-8)"
    )]
    NotAsNamed(&'static str),
    /// What Emacs shows as another text than the one that is stored.
    #[error(
        "is text/enriched, of which Emacs shows something else than what is stored. Open it in Emacs and save it as plain text (C-u M-x format-write-file)"
    )]
    Enriched,
    /// UTF-16 or UTF-32 that is broken or not supported.
    #[error("{0}. Save it as UTF-8 (in Emacs: C-x RET f utf-8)")]
    Wide(&'static str),
}

/// Why a text cannot be written in its file's encoding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The encoding lacks a character.
    #[error(
        "line {line}: {character:?} cannot be written in {encoding}, the file's encoding. Save the file as UTF-8 first (in Emacs: C-x RET f utf-8)"
    )]
    Lacks {
        /// One-based line of the character.
        line: usize,
        /// The first character that the encoding lacks.
        character: char,
        /// The encoding's name.
        encoding: &'static str,
    },
    /// The text would not be read again as it is: it names another encoding than before, or none any more.
    #[error(
        "the file would be read differently afterwards, because its encoding or its line ends could not be told any more. Save it as UTF-8 first (in Emacs: C-x RET f utf-8-unix)"
    )]
    ReadDifferently,
}

/// Reads a file's bytes as Emacs would.
///
/// # Errors
///
/// Refuses what is binary, broken UTF-16, text in an encoding that is neither told nor UTF-8 or Latin-1, and text
/// that is not in the encoding that it names.
pub fn decode(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    let (text, encoding, ends) = characters(bytes)?;
    if is_enriched(&text) {
        return Err(DecodeError::Enriched);
    }
    let line_end = match ends {
        Ends::Kept => LineEnd::Unix,
        Ends::Seen => line_end(&text, text.len()),
        // Emacs stops looking for line ends at the first escape character.
        Ends::SeenBeforeEscape => line_end(&text, memchr::memchr(0x1b, text.as_bytes()).unwrap_or(text.len())),
    };
    let text = match line_end {
        LineEnd::Unix => Arc::from(text),
        LineEnd::Dos => text.replace("\r\n", "\n").into(),
        LineEnd::Mac => text.replace('\r', "\n").into(),
    };
    Ok(Decoded { text, format: Format { encoding, line_end } })
}

/// Returns whether Emacs would show another text: that of the one format that it knows by how a file begins.
fn is_enriched(text: &str) -> bool {
    let (key, format) = ("content-type:", "text/enriched");
    let begins = |text: &str, with: &str| text.get(..with.len()).is_some_and(|head| head.eq_ignore_ascii_case(with));
    begins(text, key) && begins(text.get(key.len()..).unwrap_or_default().trim_start_matches([' ', '\t']), format)
}

/// Whether line ends are looked at.
enum Ends {
    /// Not at all: they stay as they are.
    Kept,
    Seen,
    SeenBeforeEscape,
}

impl Decoded {
    /// Returns a text as bytes in this file's format; the decoded text gives back the very bytes it came from.
    ///
    /// # Errors
    ///
    /// Only for a file that is neither UTF-8 nor UTF-16, and a text with characters beyond its encoding.
    pub fn encode(&self, text: &str) -> Result<Vec<u8>, EncodeError> {
        self.format.encode(text)
    }
}

impl Format {
    /// Returns a text as bytes in this format.
    ///
    /// # Errors
    ///
    /// For an encoding that lacks a character of the text, and for a text that would not be read again as it is.
    pub fn encode(&self, text: &str) -> Result<Vec<u8>, EncodeError> {
        let ended = match self.line_end {
            LineEnd::Unix => Cow::Borrowed(text),
            LineEnd::Dos => Cow::Owned(text.replace('\n', "\r\n")),
            LineEnd::Mac => Cow::Owned(text.replace('\n', "\r")),
        };
        let bytes =
            match self.encoding {
                Encoding::Utf8 => ended.into_owned().into_bytes(),
                Encoding::Utf8Mark => ["\u{feff}", &ended].concat().into_bytes(),
                Encoding::Utf16Little => wide("\u{feff}", &ended).flat_map(u16::to_le_bytes).collect(),
                Encoding::Utf16Big => wide("\u{feff}", &ended).flat_map(u16::to_be_bytes).collect(),
                Encoding::Latin1 => latin1(&ended)?,
                Encoding::Other(other) => coding::encode(other, &ended).map_err(|(at, character)| {
                    EncodeError::Lacks { line: line_of(ended.as_bytes(), at), character, encoding: other.name() }
                })?,
            };
        // An edit may have moved the line that names the encoding, or what told the line ends.
        match decode(&bytes) {
            Ok(again) if &*again.text == text => Ok(bytes),
            Ok(_) | Err(_) => Err(EncodeError::ReadDifferently),
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
            Err(_) => {
                return Err(EncodeError::Lacks { line: line_of(text.as_bytes(), at), character, encoding: "Latin-1" });
            }
        }
    }
    Ok(bytes)
}

fn characters(bytes: &[u8]) -> Result<(Cow<'_, str>, Encoding, Ends), DecodeError> {
    if bytes.starts_with(&[0xff, 0xfe, 0, 0]) || bytes.starts_with(&[0, 0, 0xfe, 0xff]) {
        return Err(DecodeError::Wide("is UTF-32, which is not read"));
    }
    if let Some(rest) = bytes.strip_prefix(&[0xff, 0xfe]) {
        return Ok((utf16(rest, u16::from_le_bytes)?.into(), Encoding::Utf16Little, Ends::Seen));
    }
    if let Some(rest) = bytes.strip_prefix(&[0xfe, 0xff]) {
        return Ok((utf16(rest, u16::from_be_bytes)?.into(), Encoding::Utf16Big, Ends::Seen));
    }
    if let Some(rest) = bytes.strip_prefix("\u{feff}".as_bytes()) {
        return match std::str::from_utf8(rest) {
            Ok(_) if memchr::memchr(0, rest).is_some_and(|at| !is_text_with_nul(rest, at)) => Err(nul(bytes)),
            Ok(text) => Ok((text.into(), Encoding::Utf8Mark, Ends::Seen)),
            Err(error) => Err(unknown(bytes, error.valid_up_to() + bytes.len() - rest.len())),
        };
    }
    if let Some(Coding { named, ends }) = coding::of(bytes) {
        let ends = if ends { Ends::Seen } else { Ends::Kept };
        return named_characters(bytes, named, ends);
    }
    if memchr::memchr(0, bytes).is_some() {
        return raw(bytes, Ends::Kept);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(coding::japanese(bytes).unwrap_or((text.into(), Encoding::Utf8, Ends::SeenBeforeEscape))),
        Err(_) if magic(bytes).is_some() => Err(nul(bytes)),
        // Emacs takes other bytes from 0x80 to 0x9f, controls in Latin-1, as a sign of some other encoding.
        Err(_) if !bytes.iter().any(|byte| matches!(byte, 0x80..=0x90 | 0x97..=0x9f)) => {
            Ok((latin1_text(bytes), Encoding::Latin1, Ends::Seen))
        }
        Err(error) => Err(unknown(bytes, error.valid_up_to())),
    }
}

fn latin1_text(bytes: &[u8]) -> Cow<'static, str> {
    bytes.iter().copied().map(char::from).collect()
}

fn unknown(bytes: &[u8], at: usize) -> DecodeError {
    DecodeError::UnknownEncoding { line: line_of(bytes, at), byte: bytes.get(at).copied().unwrap_or_default() }
}

/// Reads bytes in the encoding that the file names.
fn named_characters(bytes: &[u8], named: Named, ends: Ends) -> Result<(Cow<'_, str>, Encoding, Ends), DecodeError> {
    match named {
        Named::Utf8 => match std::str::from_utf8(bytes) {
            Ok(text) => Ok((text.into(), Encoding::Utf8, ends)),
            Err(_) => Err(DecodeError::NotAsNamed("UTF-8")),
        },
        Named::Ascii if bytes.is_ascii() => raw(bytes, ends),
        Named::Ascii => Err(DecodeError::NotAsNamed("ASCII")),
        Named::Latin1 => Ok((latin1_text(bytes), Encoding::Latin1, ends)),
        Named::Raw => raw(bytes, ends),
        Named::Wide => Err(DecodeError::NotAsNamed("UTF-16")),
        Named::Other(encoding) => {
            let text = coding::decode(encoding, bytes).ok_or(DecodeError::NotAsNamed(encoding.name()))?;
            Ok((text.into(), Encoding::Other(encoding), ends))
        }
    }
}

/// Reads what Emacs takes for bytes without an encoding, because of a NUL or because the file says so: as UTF-8.
fn raw(bytes: &[u8], ends: Ends) -> Result<(Cow<'_, str>, Encoding, Ends), DecodeError> {
    if memchr::memchr(0, bytes).is_some_and(|at| !is_text_with_nul(bytes, at)) {
        return Err(nul(bytes));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok((text.into(), Encoding::Utf8, ends)),
        Err(_) if memchr::memchr(0, bytes).is_some() => Err(nul(bytes)),
        Err(error) => Err(unknown(bytes, error.valid_up_to())),
    }
}

/// Tells whether what holds a NUL is text all the same: of no known kind, not UTF-16, and with few NULs.
fn is_text_with_nul(bytes: &[u8], first: usize) -> bool {
    let rest = bytes.get(first..).unwrap_or_default();
    let few = MOST_NULS.max(bytes.len() / NUL_SHARE);
    magic(bytes).is_none() && !looks_wide(bytes) && memchr::memchr_iter(0, rest).take(few + 1).count() <= few
}

/// So many NULs any text may have, and
const MOST_NULS: usize = 8;

/// one in so many bytes a long one.
const NUL_SHARE: usize = 20;

/// Tells whether a text with NULs looks like UTF-16: at least a third of its bytes are NUL, all at even or odd places.
fn looks_wide(bytes: &[u8]) -> bool {
    let head = bytes.get(..bytes.len().min(512)).unwrap_or_default();
    let zeros = |odd: usize| head.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
    head.len() >= 4 && (zeros(0) * 3 > head.len() || zeros(1) * 3 > head.len()) && zeros(0).min(zeros(1)) == 0
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

/// Says what a file that is no text seems to be.
fn nul(bytes: &[u8]) -> DecodeError {
    if let Some(what) = magic(bytes) {
        return DecodeError::Binary(format!("looks like {what}"));
    }
    if looks_wide(bytes) {
        return DecodeError::Wide("looks like UTF-16 without a byte order mark");
    }
    let at = memchr::memchr(0, bytes).unwrap_or_default();
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

/// Tells line ends as Emacs does from the text before `limit`: one bare `\n` and nothing is converted.
fn line_end(text: &str, limit: usize) -> LineEnd {
    let bytes = text.as_bytes();
    if memchr::memchr(b'\r', bytes).is_none_or(|first| first >= limit) {
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
