//! The encoding that a file names itself, found as Emacs finds it; and encodings beyond Unicode and Latin-1.

use super::{Encoding as Known, Ends};
use encoding_rs::Encoding;
use std::borrow::Cow;

/// How far from its start a file may name its encoding, in bytes.
const HEAD: usize = 1024;

/// How far from its end its local variables may begin, in bytes.
const TAIL: usize = 3072;

/// What a file says of its encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Coding {
    pub named: Named,
    /// Whether line ends are looked at; `utf-8-unix` says that they stay.
    pub ends: bool,
}

/// An encoding that is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Utf8,
    Ascii,
    Latin1,
    /// Bytes as they are.
    Raw,
    /// UTF-16, in which the name could not have been read.
    Wide,
    Other(&'static Encoding),
}

/// Returns what a file says of its encoding; a name that Emacs does not know says nothing.
pub(super) fn of(bytes: &[u8]) -> Option<Coding> {
    let head = bytes.get(..bytes.len().min(HEAD)).unwrap_or_default();
    let tail = bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or_default();
    // Nearly every file says nothing, and this shows it at once.
    if find(head, b"coding:").is_none() && find(tail, b"coding").is_none() {
        return None;
    }
    let name = in_first_line(bytes).or_else(|| in_local_variables(tail))?;
    known(std::str::from_utf8(name).ok()?)
}

/// Returns the place of a word in lower case, in any case.
fn find(bytes: &[u8], word: &[u8]) -> Option<usize> {
    let first = *word.first()?;
    memchr::memchr2_iter(first, first.to_ascii_uppercase(), bytes)
        .find(|at| bytes.get(*at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word)))
}

/// Returns the value of `coding:` between `-*-` and `-*-` in the first line, or the second behind `#!`.
fn in_first_line(bytes: &[u8]) -> Option<&[u8]> {
    let lines = if bytes.starts_with(b"#!") { 2 } else { 1 };
    let end = memchr::memchr_iter(b'\n', bytes).nth(lines - 1).unwrap_or(bytes.len());
    let line = bytes.get(..end)?;
    let open = memchr::memmem::find(line, b"-*-")? + 3;
    let rest = line.get(open..)?;
    let inner = rest.get(..memchr::memmem::find(rest.split(|byte| *byte == b'\n').next()?, b"-*-")?)?;
    let inner = inner.trim_ascii_end();
    let set = find(inner, b"coding:").filter(|at| open + at < HEAD)?;
    // The last that stands behind a semicolon wins over the first of all.
    let behind = memchr::memrchr_iter(b';', inner).find_map(|at| {
        let rest = inner.get(at + 1..)?.trim_ascii_start();
        rest.get(..7).filter(|word| word.eq_ignore_ascii_case(b"coding:"))?;
        rest.get(7..)
    });
    let value = behind.or_else(|| inner.get(set + 7..))?.trim_ascii_start();
    value.split(|byte| matches!(byte, b' ' | b';')).next().filter(|name| !name.is_empty())
}

/// Returns the value of `coding:` among the local variables at the end of a file.
fn in_local_variables(tail: &[u8]) -> Option<&[u8]> {
    let page = tail.windows(2).position(|pair| matches!(pair, b"\n\x0c" | b"\r\x0c")).map_or(0, |at| at + 2);
    let mut lines = tail.get(page..)?.split(|byte| matches!(byte, b'\n' | b'\r'));
    // What stands before the first line end is no whole line.
    lines.next();
    let (prefix, suffix) = lines.find_map(|line| {
        let at = find(line, b"local variables:")?;
        Some((line.get(..at)?, line.get(at + 16..)?.trim_ascii_start()))
    })?;
    for line in lines {
        let Some(rest) = line.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix)) else { continue };
        let Some(colon) = memchr::memchr(b':', rest) else { continue };
        let (name, value) = rest.split_at(colon);
        let name = name.trim_ascii();
        if name.eq_ignore_ascii_case(b"end") {
            return None;
        }
        let value = value.get(1..)?.trim_ascii();
        if name.eq_ignore_ascii_case(b"coding") && !value.is_empty() && !value.contains(&b' ') {
            return Some(value);
        }
    }
    None
}

/// Returns what a name of Emacs's means.
fn known(name: &str) -> Option<Coding> {
    let lower = name.strip_suffix('!').unwrap_or(name).to_ascii_lowercase();
    let (base, ends) = match lower.strip_suffix("-unix") {
        Some(base) => (base, false),
        None => (lower.strip_suffix("-dos").or_else(|| lower.strip_suffix("-mac")).unwrap_or(&lower), true),
    };
    let named = match base {
        "utf-8" | "mule-utf-8" | "utf-8-emacs" | "cp65001" => Named::Utf8,
        "us-ascii" | "ascii" | "iso-safe" => Named::Ascii,
        "latin-1" | "iso-latin-1" | "iso-8859-1" => Named::Latin1,
        "binary" | "no-conversion" => return Some(Coding { named: Named::Raw, ends: false }),
        "raw-text" => Named::Raw,
        _ if base.starts_with("utf-16") => Named::Wide,
        // What Emacs finds out by itself, or does not know.
        _ => Named::Other(other(base)?),
    };
    Some(Coding { named, ends })
}

/// Emacs's names, where they are not those of the web.
const NAMES: [(&str, &str); 34] = [
    ("latin-2", "iso-8859-2"),
    ("iso-latin-2", "iso-8859-2"),
    ("latin-3", "iso-8859-3"),
    ("iso-latin-3", "iso-8859-3"),
    ("latin-4", "iso-8859-4"),
    ("iso-latin-4", "iso-8859-4"),
    ("cyrillic-iso-8bit", "iso-8859-5"),
    ("greek-iso-8bit", "iso-8859-7"),
    ("hebrew-iso-8bit", "iso-8859-8"),
    ("latin-9", "iso-8859-15"),
    ("latin-0", "iso-8859-15"),
    ("iso-latin-9", "iso-8859-15"),
    ("koi8", "koi8-r"),
    ("cyrillic-koi8", "koi8-r"),
    ("alternativnyj", "ibm866"),
    ("sjis", "shift_jis"),
    ("japanese-shift-jis", "shift_jis"),
    ("cp932", "shift_jis"),
    ("japanese-cp932", "shift_jis"),
    ("japanese-iso-8bit", "euc-jp"),
    ("euc-japan", "euc-jp"),
    ("euc-japan-1990", "euc-jp"),
    ("iso-2022-jp", "iso-2022-jp"),
    ("junet", "iso-2022-jp"),
    ("korean-iso-8bit", "euc-kr"),
    ("euc-korea", "euc-kr"),
    ("chinese-iso-8bit", "gbk"),
    ("euc-china", "gbk"),
    ("euc-cn", "gbk"),
    ("cn-gb", "gbk"),
    ("cn-gb-2312", "gbk"),
    ("chinese-gbk", "gbk"),
    ("chinese-big5", "big5"),
    ("cn-big5", "big5"),
];

fn other(base: &str) -> Option<&'static Encoding> {
    let label = NAMES.iter().find(|(name, _)| *name == base).map_or(base, |(_, label)| label);
    let label = match label.strip_prefix("cp") {
        Some(page @ ("1250" | "1251" | "1252" | "1253" | "1254" | "1255" | "1256" | "1257" | "1258")) => {
            Cow::Owned(format!("windows-{page}"))
        }
        Some("866") => Cow::Borrowed("ibm866"),
        Some("936") => Cow::Borrowed("gbk"),
        Some("949") => Cow::Borrowed("euc-kr"),
        Some("950") => Cow::Borrowed("big5"),
        Some(_) | None => Cow::Borrowed(label),
    };
    const READ: [&str; 28] = [
        "iso-8859-2",
        "iso-8859-3",
        "iso-8859-4",
        "iso-8859-5",
        "iso-8859-6",
        "iso-8859-7",
        "iso-8859-8",
        "iso-8859-10",
        "iso-8859-13",
        "iso-8859-14",
        "iso-8859-15",
        "iso-8859-16",
        "windows-1250",
        "windows-1251",
        "windows-1252",
        "windows-1253",
        "windows-1254",
        "windows-1255",
        "windows-1256",
        "windows-1257",
        "windows-1258",
        "koi8-r",
        "koi8-u",
        "ibm866",
        "shift_jis",
        "euc-jp",
        "iso-2022-jp",
        "euc-kr",
    ];
    const CHINESE: [&str; 4] = ["gb2312", "gbk", "gb18030", "big5"];
    if !READ.contains(&label.as_ref()) && !CHINESE.contains(&label.as_ref()) {
        return None;
    }
    Encoding::for_label(label.as_bytes())
}

/// Reads bytes in an encoding; nothing when they are not in it, or would not come back the same.
pub(super) fn decode(encoding: &'static Encoding, bytes: &[u8]) -> Option<String> {
    if maps_otherwise(encoding, bytes) {
        return None;
    }
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?.into_owned();
    (encode(encoding, &text).as_deref() == Ok(bytes)).then_some(text)
}

/// Tells whether bytes are among those that Emacs and the web map to different characters.
fn maps_otherwise(encoding: &'static Encoding, bytes: &[u8]) -> bool {
    let mut at = 0;
    while let Some(&lead) = bytes.get(at) {
        let next = bytes.get(at + 1).copied().unwrap_or_default();
        let (width, odd) = match lead {
            0..0x80 => (1, false),
            // Four bytes, which Emacs numbers in its own way.
            _ if encoding == encoding_rs::GB18030 => (2, next.is_ascii_digit()),
            // Beyond plain Big5: Hong Kong's characters, and those of ETEN.
            _ if encoding == encoding_rs::BIG5 => {
                (2, !(0xa1..=0xf9).contains(&lead) || (0xc6a1..=0xc8fe).contains(&u16::from_be_bytes([lead, next])))
            }
            _ => return false,
        };
        if odd {
            return true;
        }
        at += width;
    }
    false
}

/// Writes a text in an encoding, or says where the first character stands that it lacks.
pub(super) fn encode(encoding: &'static Encoding, text: &str) -> Result<Vec<u8>, (usize, char)> {
    let (bytes, _, lacking) = encoding.encode(text);
    if !lacking {
        return Ok(bytes.into_owned());
    }
    let lacks = |c: char| encoding.encode(c.encode_utf8(&mut [0; 4])).2;
    Err(text.char_indices().find(|(_, c)| lacks(*c)).unwrap_or((0, '\u{fffd}')))
}

/// Reads ISO-2022-JP, which Emacs knows by its escape sequences; nothing for any other text.
pub(super) fn japanese(bytes: &[u8]) -> Option<(Cow<'_, str>, Known, Ends)> {
    let escape = memchr::memchr(0x1b, bytes)?;
    if !bytes.is_ascii() || !matches!(bytes.get(escape + 1..escape + 3), Some(b"$B" | b"$@")) {
        return None;
    }
    let text = decode(encoding_rs::ISO_2022_JP, bytes)?;
    Some((text.into(), Known::Other(encoding_rs::ISO_2022_JP), Ends::Seen))
}
