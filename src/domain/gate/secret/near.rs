//! Tokens drawn by lot that stand beside the name of a service or behind a word such as “key”.

use super::services::{Name, named};
use super::values::{
    Counts, entropy, is_identifier, is_kept_elsewhere, is_numbered_slug, is_placeholder, is_slug, is_uuid, unspoken,
};
use super::{Certainty, Finding};

/// The shortest token that is measured, in bytes.
pub(super) const LEAST: usize = 16;
/// The longest token that is measured, in bytes.
const MOST: usize = 400;
/// How much is looked at before a token, in bytes.
const BEFORE: usize = 64;

/// Words that say that a value opens something.
const TELLING: &[&str] = &[
    "key",
    "keys",
    "token",
    "tokens",
    "secret",
    "secrets",
    "private",
    "access",
    "auth",
    "apikey",
    "apitoken",
    "credential",
    "credentials",
    "creds",
    "bearer",
    "password",
    "passwd",
    "pass",
    "pat",
    "appid",
    "authtoken",
    "accesstoken",
    "secretkey",
    "privatekey",
    "authorization",
    "accesskey",
    "api",
];

/// Words that say that a value is a digest or a number that all may know.
const OPEN: &[&str] = &[
    "sha",
    "sha1",
    "sha256",
    "sha384",
    "sha512",
    "md5",
    "blake3",
    "commit",
    "commits",
    "checksum",
    "digest",
    "integrity",
    "hash",
    "rev",
    "revision",
    "uuid",
    "guid",
    "etag",
    "fingerprint",
    "public",
    "pub",
    "publishable",
    "csrf",
    "nonce",
    "trace",
    "span",
    "tree",
    "blob",
    "image",
    "checkout",
    "merge",
    "version",
    "ref",
    "session_id",
    "font",
    "narhash",
    "sri",
    "resolved",
    "cid",
    "address",
    "contract",
    "tx",
    "transaction",
    "h1",
    "mod",
    "block",
];

/// Services beside whose names digests stand in plain texts.
const DIGESTING: &[&str] = &["gitlab", "bitbucket", "gitea", "azure", "aws", "artifactory", "nuget", "sonatype"];

/// Returns the token in a run of letters, digits, `_` and `-`, when what stands before it says whose it is.
pub(super) fn token(text: &str, start: usize, end: usize) -> Option<Finding> {
    let run = text.get(start..end)?;
    let before = text.as_bytes().get(start.wrapping_sub(1)).copied().unwrap_or(b' ');
    if run.len() > MOST || matches!(before, b'/' | b'@' | b'#' | b'~' | b'$' | b'%') {
        return None;
    }
    let counts = Counts::of(run);
    if counts.digits < 2 && !unspoken(run) || counts.letters() < 3 {
        return None;
    }
    let mut from = start.saturating_sub(BEFORE);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let left = text.get(from..start)?;
    // `serviceKey-9f8e…`: name and token are one run.
    let split = run.len().checked_sub(36).and_then(|at| run.split_at_checked(at)).filter(|(_, tail)| is_uuid(tail));
    let (head, token) = match split.or_else(|| run.rsplit_once('-')) {
        Some((head, tail)) if tail.len() >= LEAST && (ends_telling(head) || split.is_some()) => (head, tail),
        Some((head, tail)) if tail.len() >= 20 && is_own(&head.to_ascii_lowercase()) && !is_hex(tail) => (head, tail),
        _ => ("", run),
    };
    let glued = !head.is_empty();
    if !is_strong(token) {
        return None;
    }
    let (mut of_service, mut told, mut adjacent) = (false, glued, false);
    // The last words tell most; what stands on lines farther up tells nothing.
    let near = left.rsplit('\n').take(2);
    let mut words: Vec<&str> =
        near.flat_map(|line| line.rsplit(|c: char| !c.is_ascii_alphanumeric())).take(24).collect();
    words.retain(|word| !word.is_empty());
    let mut first = true;
    for word in head.rsplit(|c: char| !c.is_ascii_alphanumeric()).chain(words.iter().copied()).filter(|w| !w.is_empty())
    {
        let lower = word.to_ascii_lowercase();
        if OPEN.contains(&lower.as_str())
            || first && !glued && lower.ends_with("id") && !TELLING.contains(&lower.as_str())
        {
            return None;
        }
        told |= TELLING.contains(&lower.as_str()) || ends_telling(&lower);
        let service = named(&lower);
        of_service |= service.is_some();
        adjacent |= first && service == Some(Name::Own) && !DIGESTING.contains(&lower.as_str());
        first = false;
    }
    // `the-odds-api`, `pager_duty`: a name may be written in parts.
    let last = left.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    let parts = last.bytes().rev().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')).count();
    let whole: String =
        last.get(last.len() - parts..).unwrap_or("").chars().filter(char::is_ascii_alphanumeric).collect();
    let whole = whole.to_ascii_lowercase();
    if let Some(sort) = named(&whole) {
        of_service = true;
        adjacent |= sort == Name::Own && !DIGESTING.iter().any(|name| whole.starts_with(name));
    }
    let signs = left.bytes().rev().take_while(|b| !b.is_ascii_alphanumeric()).take(8);
    let mut assigned = false;
    for sign in signs {
        match sign {
            b'=' | b':' => assigned = true,
            b'"' | b'\'' | b' ' | b'\t' | b'`' | b'|' | b'>' | b'-' | b'_' => {}
            _ => {
                adjacent = false;
                break;
            }
        }
    }
    let (digest, hex) = (matches!(token.len(), 40 | 64) && is_hex(token), is_hex(token) || is_uuid(token));
    let beside = adjacent && (assigned && !digest || !hex) && !is_uuid(token);
    let theirs = of_service && told || beside || glued && !is_uuid(token) && (of_service || counts.digits >= 3);
    theirs.then(|| Finding { kind: "token of a service", range: end - token.len()..end, certainty: Certainty::Likely })
}

/// Returns whether a word is the name of a service and nothing else.
fn is_own(word: &str) -> bool {
    named(word) == Some(Name::Own)
}

fn is_hex(token: &str) -> bool {
    token.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Returns whether a name ends in a word that tells: `mailKey`, `MY_SECRET`.
fn ends_telling(name: &str) -> bool {
    let tail = name.get(name.len().saturating_sub(8)..).unwrap_or(name).to_ascii_lowercase();
    ["key", "token", "secret", "private", "access", "apikey"].iter().any(|end| tail.ends_with(end))
}

/// Returns whether a token was drawn by lot beyond doubt.
fn is_strong(token: &str) -> bool {
    let counts = Counts::of(token);
    if is_uuid(token) {
        return true;
    }
    let mixed = counts.digits >= 2 && counts.letters() >= 3 || token.len() >= 20 && unspoken(token);
    token.len() >= LEAST
        && mixed
        && entropy(token) >= 2.9
        && !is_placeholder(token)
        && !is_kept_elsewhere(token)
        && !is_slug(token)
        && !is_numbered_slug(token)
        && !is_identifier(token)
}
