//! The forms in which a secret may leave unseen: base64 at each of its three alignments, hexadecimal, percent and
//! other escapes, split over lines, by quotes or by signs that join texts.
//!
//! Both the forms and the searched text are brought to letters and digits alone, in small letters, so that one pass of
//! one table finds all of them.

use aho_corasick::AhoCorasick;

/// The shortest forms that are looked for, in letters and digits: what is shorter stands in ordinary text as well.
const LEAST_JOINED: usize = 10;
const LEAST_MIXED: usize = 6;
const LEAST_ENCODED: usize = 7;

/// Finds disguised values.
pub(super) struct Disguised {
    finder: Option<AhoCorasick>,
    /// Which value each pattern is a form of.
    owners: Vec<usize>,
}

impl Disguised {
    /// Makes the forms of values.
    pub(super) fn new<'a>(values: impl Iterator<Item = &'a str>) -> Disguised {
        let (mut patterns, mut owners) = (Vec::new(), Vec::new());
        for (n, value) in values.enumerate() {
            for form in forms(value) {
                patterns.push(form);
                owners.push(n);
            }
        }
        Disguised { finder: AhoCorasick::new(&patterns).ok(), owners }
    }

    /// Returns which values stand in a text in disguise; all of them when the table could not be built.
    pub(super) fn find(&self, text: &str) -> Vec<usize> {
        if self.owners.is_empty() {
            return Vec::new();
        }
        let Some(finder) = &self.finder else { return self.owners.clone() };
        let mut found = Vec::new();
        let mut look = |plain: &[u8]| {
            let hits = finder.find_overlapping_iter(plain).map(|hit| hit.pattern().as_usize());
            found.extend(hits.filter_map(|n| self.owners.get(n)).copied());
        };
        look(&plain(text, false));
        if text.contains(['%', '\\', '&']) {
            // With the escapes taken for what they stand for, and once more for what was escaped twice.
            let once = unescaped(text);
            look(&plain(&once, true));
            if once.contains('%') {
                look(&plain(&unescaped(&once), true));
            }
        }
        found
    }
}

/// Returns the forms of a value, as they stand in a text that was brought to letters and digits.
fn forms(value: &str) -> Vec<Vec<u8>> {
    let joined = plain(value, false);
    let mixed = joined.iter().any(u8::is_ascii_digit) && joined.iter().any(u8::is_ascii_alphabetic);
    let mut forms = Vec::new();
    if joined.len() >= if mixed { LEAST_MIXED } else { LEAST_JOINED } {
        forms.push(joined);
    }
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    forms.push(hex.into_bytes());
    for skipped in 0..3 {
        let form = plain(&base64(value.as_bytes(), skipped), false);
        if form.len() >= LEAST_ENCODED {
            forms.push(form);
        }
    }
    forms
}

/// Returns what base64 makes of bytes that stand behind so many others, as far as those do not show in it.
fn base64(bytes: &[u8], skipped: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bit = |n: usize| n.checked_sub(8 * skipped).and_then(|n| bytes.get(n / 8).map(|byte| byte >> (7 - n % 8) & 1));
    let mut text = String::new();
    for at in (0..(skipped + bytes.len()) * 8).step_by(6) {
        let six = (at..at + 6).try_fold(0u8, |six, n| bit(n).map(|bit| six << 1 | bit));
        if let Some(letter) = six.and_then(|six| LETTERS.get(usize::from(six))) {
            text.push(char::from(*letter));
        }
    }
    text
}

/// Returns the letters and digits of a text, in small letters. Escapes such as `\n`, which a text that was split over
/// lines has between its parts, are left out, unless escapes are undone already.
fn plain(text: &str, undone: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if !undone => {
                bytes.next_if(|next| matches!(next, b'n' | b'r' | b't'));
            }
            _ if byte.is_ascii_alphanumeric() => out.push(byte.to_ascii_lowercase()),
            // Letters beyond ASCII belong to a value, if they do at all, as they are.
            0x80.. => out.push(byte),
            _ => {}
        }
    }
    out
}

/// Returns a text with `%41`, `\x41`, `\u0041` and `&#65;` as what they stand for, and without `\n` and the like.
fn unescaped(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let (byte, left) = match (first, behind) {
            (b'%', _) => hex(behind, 2).unwrap_or((b'%', behind)),
            (b'\\', [b'x', digits @ ..]) => hex(digits, 2).unwrap_or((b'\\', behind)),
            (b'\\', [b'u', digits @ ..]) => hex(digits, 4).unwrap_or((b'\\', behind)),
            (b'\\', [b'n' | b'r' | b't', left @ ..]) => (b' ', left),
            (b'&', [b'#', b'x' | b'X', digits @ ..]) => number(digits, 16).unwrap_or((b'&', behind)),
            (b'&', [b'#', digits @ ..]) => number(digits, 10).unwrap_or((b'&', behind)),
            (byte, _) => (*byte, behind),
        };
        out.push(byte);
        rest = left;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Reads so many hexadecimal digits that stand for one byte.
fn hex(digits: &[u8], length: usize) -> Option<(u8, &[u8])> {
    let (digits, left) = digits.split_at_checked(length)?;
    let value = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    Some((u8::try_from(value).ok()?, left))
}

/// Reads digits up to a semicolon.
fn number(digits: &[u8], base: u32) -> Option<(u8, &[u8])> {
    let end = digits.iter().take(6).position(|byte| *byte == b';')?;
    let value = u32::from_str_radix(std::str::from_utf8(digits.get(..end)?).ok()?, base).ok()?;
    Some((u8::try_from(value).ok()?, digits.get(end + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_middle_of_a_text() {
        // “xAB” is eEFC: the second letter holds a part of what stands before.
        assert_eq!(base64(b"AB", 1), "FC");
        assert_eq!(base64(b"ABC", 0), "QUJD");
        // “xxABCD” is eHhBQkNE.
        assert_eq!(base64(b"ABCD", 2), "BQkNE");
    }

    #[test]
    fn every_disguise_is_seen_through() {
        let value = "S3cr3t-Horse+Battery/9";
        let found = Disguised::new([value].into_iter());
        let hex: String = value.bytes().map(|b| format!("{b:02X}")).collect();
        let percent: String = value.bytes().map(|b| format!("%{b:02x}")).collect();
        let twice = percent.replace('%', "%25");
        let unicode: String = value.bytes().map(|b| format!("\\u{b:04x}")).collect();
        let entities: String = value.bytes().map(|b| format!("&#{b};")).collect();
        for text in [
            hex.clone(),
            hex.to_lowercase(),
            hex.chars().map(|c| c.to_string()).collect::<Vec<_>>().join(" "),
            percent,
            twice,
            unicode,
            entities,
            "S3cr3t%2DHorse%2bBattery%2F9".to_string(),
            "\"S3cr3t-\" + \"Horse+\" . 'Battery/9'".to_string(),
            "S3cr3t-\\nHorse+\\nBattery/9".to_string(),
            "S3cr3t-\n  Horse+\n  Battery/9".to_string(),
            "s3cr3t-horse+battery/9".to_string(),
        ] {
            assert_eq!(found.find(&text).first(), Some(&0), "{text}");
        }
        for before in ["", "a", "ab", "abc", "abcd"] {
            let inside = format!("{before}{value}and more");
            let encoded = base64(inside.as_bytes(), 0);
            let (head, tail) = encoded.split_at(encoded.len() / 2);
            for text in [encoded.clone(), format!("{head}\n{tail}"), encoded.replace('+', "-").replace('/', "_")] {
                assert_eq!(found.find(&text).first(), Some(&0), "{before}: {text}");
            }
        }
        for text in ["a horse and a battery", "S3cr3t", "", "%%%\\\\&&#;"] {
            assert!(found.find(text).is_empty(), "{text}");
        }
    }
}
