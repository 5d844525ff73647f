//! Secrets by where they stand: assignments to telling names, passwords in addresses, headers and options.

use super::{Certainty, Finding, entropy, is_placeholder};

/// The most characters that are looked at on either side of a sign.
const WINDOW: usize = 1_024;

/// Endings of names whose values are secret, in lower case without separators.
const SECRET_ENDS: &[&str] = &[
    "apikey",
    "apitoken",
    "token",
    "secret",
    "password",
    "passwd",
    "passwort",
    "pwd",
    "passphrase",
    "credential",
    "credentials",
    "accesskey",
    "secretkey",
    "authkey",
    "privatekey",
    "clientsecret",
    "licensekey",
    "encryptionkey",
    "signingkey",
    "masterkey",
    "accesskeyid",
    "accessid",
    "authtoken",
    "userauth",
    "key",
    "pw",
    "pass",
    "auth",
    "login",
    "contribsyscom",
    "secretvalue",
    "srt",
];

/// Endings that look like the above and are not secret.
const OPEN_ENDS: &[&str] = &[
    "publickey",
    "pubkey",
    "publictoken",
    "csrftoken",
    "xsrftoken",
    "primarykey",
    "foreignkey",
    "sortkey",
    "cachekey",
    "partitionkey",
    "hotkey",
    "monkey",
    "turkey",
    "keyboardkey",
    "bypass",
    "compass",
    "indexkey",
    "eventkey",
    "rowkey",
    "mapkey",
    "objectkey",
    "groupkey",
    "routingkey",
    "idempotencykey",
    "nexttoken",
    "pagetoken",
    "continuationtoken",
    "idxkey",
    "surpass",
    "trespass",
    "passthrough",
    "hashkey",
    "keykey",
    "sequencekey",
    "lookupkey",
    "kmskey",
    "hostkey",
    "sitekey",
    "stringkey",
    "entrykey",
    "translationkey",
    "i18nkey",
];

/// Returns the secrets of a text that are told by what stands before them.
pub(super) fn scan(text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'=' | b':' => found.extend(assigned(text, at)),
            b',' => found.extend(pair(text, at)),
            b'-' if bytes.get(at + 1) == Some(&b'-')
                && at.checked_sub(1).is_none_or(|n| bytes.get(n).is_some_and(u8::is_ascii_whitespace)) =>
            {
                found.extend(option(text, at));
            }
            b'@' => found.extend(address(text, at)),
            b'-' if bytes.get(at + 1) == Some(&b'u') && bytes.get(at + 2).is_some_and(u8::is_ascii_whitespace) => {
                found.extend(user_option(text, at + 2));
            }
            _ => {}
        }
    }
    found
}

fn likely(kind: &'static str, start: usize, value: &str) -> Finding {
    Finding { kind, range: start..start + value.len(), certainty: Certainty::Likely }
}

/// Returns the part of a text before a place, at most a window long.
fn before(text: &str, at: usize) -> &str {
    let mut start = at.saturating_sub(WINDOW / 4);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..at).unwrap_or("")
}

/// Reads a value behind a sign: quoted, or up to white space. Returns where it starts, and whether it was quoted.
fn value_at(text: &str, from: usize) -> Option<(usize, &str, bool)> {
    let rest = text.get(from..)?;
    let skip = rest
        .bytes()
        .take(16)
        .take_while(|b| matches!(b, b' ' | b'\t' | b'=' | b':' | b'>' | b'\\' | b'?' | b'('))
        .count();
    let start = from + skip;
    let rest = text.get(start..)?;
    let first = rest.chars().next()?;
    if matches!(first, '"' | '\'' | '`') {
        let inner = rest.get(1..)?;
        let end = inner
            .bytes()
            .take(2 * WINDOW)
            .position(|b| b == first as u8 || b == b'\n' || (b == b'\\' && first == '"'))
            .unwrap_or(inner.len().min(2 * WINDOW));
        return Some((start + 1, inner.get(..end)?, true));
    }
    let end = rest
        .char_indices()
        .take(2 * WINDOW)
        .find(|(_, c)| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';' | ')' | '<' | '&' | ']' | '}'))
        .map_or(rest.len(), |(n, _)| n);
    Some((start, rest.get(..end)?, false))
}

fn assigned(text: &str, at: usize) -> Option<Finding> {
    if matches!(text.as_bytes().get(at.wrapping_sub(1)), Some(b'=' | b'!' | b'<' | b'>')) {
        return None;
    }
    let left = before(text, at);
    let name = name_before(left).filter(|name| name == "authorization" || tells(name))?;
    let (start, value, quoted) = value_at(text, at + 1)?;
    if name == "authorization" {
        return header(text, start, value);
    }
    judge(&name, value, quoted).map(|kind| likely(kind, start, value))
}

/// `Authorization: Bearer …`: the scheme stands before the secret.
fn header(text: &str, start: usize, value: &str) -> Option<Finding> {
    let scheme = value.to_ascii_lowercase();
    let (start, value) = if matches!(scheme.as_str(), "basic" | "bearer" | "token" | "apikey" | "digest" | "ssws") {
        let (start, value, _) = value_at(text, start + value.len())?;
        (start, value)
    } else if let Some((head, rest)) = value.split_once(' ') {
        (start + head.len() + 1, rest)
    } else {
        (start, value)
    };
    let fine = value.len() >= 8 && !is_placeholder(value) && !value.contains("..") && value.is_ascii();
    let telling = value.bytes().any(|b| b.is_ascii_digit() || b == b'=') || entropy(value) > 3.5;
    (fine && telling).then(|| likely("authorization header", start, value))
}

/// `getenv("api_token", "value")`: a telling name and a value side by side.
fn pair(text: &str, at: usize) -> Option<Finding> {
    let left = before(text, at).trim_end();
    let left = left.strip_suffix(['"', '\''])?;
    let name = name_before(left).filter(|name| tells(name))?;
    let rest = text.get(at + 1..)?.trim_start();
    if !rest.starts_with(['"', '\'']) {
        return None;
    }
    let (start, value, quoted) = value_at(text, at + 1)?;
    judge(&name, value, quoted).map(|kind| likely(kind, start, value))
}

/// `--api-key value`
fn option(text: &str, at: usize) -> Option<Finding> {
    let rest = text.get(at + 2..)?;
    let length = rest.bytes().take(64).take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')).count();
    let name = rest.get(..length)?;
    if !rest.get(length..)?.starts_with(' ') {
        return None;
    }
    if name == "user" {
        return user_option(text, at + 2 + length);
    }
    let (start, value, quoted) = value_at(text, at + 2 + length + 1)?;
    judge(&plain_name(name), value, quoted).map(|kind| likely(kind, start, value))
}

/// `-u name:password`, as curl takes it.
fn user_option(text: &str, at: usize) -> Option<Finding> {
    if !before(text, at).contains("curl") {
        return None;
    }
    let (start, value, quoted) = value_at(text, at)?;
    let (user, password) = value.split_once(':')?;
    let (start, password) = if password.is_empty() && !quoted {
        let (start, password, _) = value_at(text, start + user.len() + 1)?;
        (start, password)
    } else {
        (start + user.len() + 1, password)
    };
    let known = matches!(password, "pass" | "password" | "passwd" | "secret" | "pw" | "mypassword" | "x");
    let variable =
        password.starts_with(['$', '{', '<', '%', '(']) || password.contains("${") || password.contains("$(");
    (password.len() >= 5 && !known && !variable && !is_placeholder(&password.replace('$', "")))
        .then(|| likely("password", start, password))
}

/// `scheme://name:password@host`
fn address(text: &str, at: usize) -> Option<Finding> {
    let left = before(text, at);
    let from = left.rfind("://")?;
    let inside = left.get(from + 3..)?;
    if inside.contains(['/', ' ', '"', '\'', '<', '\n', '?', '#', ';']) {
        return None;
    }
    let (user, password) = inside.split_once(':')?;
    let telling = password.len() >= 6 && password.bytes().any(|b| b.is_ascii_digit())
        || entropy(password) > 3.0 && password.len() >= 8;
    let known = matches!(
        password.to_ascii_lowercase().as_str(),
        "password"
            | "passwd"
            | "secret"
            | "pass"
            | "postgres"
            | "root"
            | "admin"
            | "mypassword"
            | "example"
            | "changeme"
    );
    if user.is_empty() || known || !telling || is_placeholder(password) || password.contains('@') {
        return None;
    }
    Some(likely("password in an address", at - password.len(), password))
}

/// Returns the name that stands before a sign, in lower case without separators.
fn name_before(left: &str) -> Option<String> {
    let left = left.trim_end_matches([' ', '\t', ':', '?', '"', '\'', ']', '\\', '=']);
    let word = last_word(left);
    // `var name string = …`: the type stands between.
    let word = if matches!(word, "string" | "String" | "str" | "char" | "text") {
        last_word(left.strip_suffix(word)?.trim_end_matches([' ', ':', '*']))
    } else {
        word
    };
    (!word.is_empty()).then(|| plain_name(word))
}

fn last_word(text: &str) -> &str {
    let start = text
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        .last()
        .map_or(text.len(), |(n, _)| n);
    text.get(start..).unwrap_or("")
}

fn plain_name(name: &str) -> String {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    plain.trim_end_matches(|c: char| c.is_ascii_digit()).to_string()
}

/// Returns whether the values under a name are secret, before any value is looked at.
fn tells(name: &str) -> bool {
    SECRET_ENDS.iter().any(|end| name.ends_with(end))
}

/// Returns the kind of secret when a value under a name looks like one.
fn judge(name: &str, value: &str, quoted: bool) -> Option<&'static str> {
    let ends = SECRET_ENDS.iter().filter(|end| name.ends_with(**end)).max_by_key(|end| end.len())?;
    if OPEN_ENDS.iter().any(|end| name.ends_with(end)) || name.contains("public") || name.contains("checksum") {
        return None;
    }
    let value = value.trim_end_matches('.');
    if value.len() < 8 || value.len() > 2 * WINDOW || is_placeholder(value) || !value.is_ascii() {
        return None;
    }
    if value.contains(char::is_whitespace)
        || value.contains("://")
        || value.starts_with(['/', '.', '~', '!', '(', '[', '&', '*', '@', '#'])
    {
        return None;
    }
    let password = matches!(*ends, "password" | "passwd" | "passwort" | "pwd" | "passphrase" | "pw" | "pass");
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    // Under a weak name only a long and varied value counts.
    let least = match *ends {
        "key" | "auth" | "srt" => 16,
        "login" => 32,
        _ if password => 8,
        _ => 10,
    };
    let mixed = digits > 0 && letters > 0;
    let signs = value.bytes().any(|b| b.is_ascii_punctuation() && !matches!(b, b'-' | b'_' | b'.' | b'(' | b')'));
    let code = !quoted && value.contains(['(', ')', '[', '.']) && !value.contains(['+', '/', '=']);
    if value.len() < least || code || is_slug(value) || is_file(value) {
        return None;
    }
    let telling = if *ends == "contribsyscom" {
        value.contains(':')
    } else if password {
        mixed || signs
    } else {
        mixed && entropy(value) >= 2.4 || (value.len() >= 20 && entropy(value) >= 4.0 && letters < value.len())
    };
    telling.then_some(if password { "password" } else { "secret under a telling name" })
}

/// Returns whether a value is words and numbers with dashes between: a name, not a key.
fn is_slug(value: &str) -> bool {
    let parts: Vec<&str> = value.split(['-', '_', '.', ':', '/']).filter(|part| !part.is_empty()).collect();
    let hex = |part: &&str| part.bytes().all(|b| b.is_ascii_hexdigit());
    // The parts of a UUID, and of two hexadecimal numbers, are no words.
    if parts.iter().all(hex) {
        return false;
    }
    parts.len() > 1
        && parts.iter().all(|part| {
            let word = part.bytes().all(|b| b.is_ascii_lowercase()) || part.bytes().all(|b| b.is_ascii_uppercase());
            word || part.bytes().all(|b| b.is_ascii_digit()) || part.len() <= 4
        })
        && parts.iter().any(|part| part.len() >= 3 && part.bytes().all(|b| b.is_ascii_alphabetic()))
}

fn is_file(value: &str) -> bool {
    let extension = value.rsplit_once('.').map(|(_, extension)| extension).unwrap_or("");
    matches!(
        extension,
        "pem" | "key" | "cer" | "crt" | "json" | "yml" | "yaml" | "txt" | "env" | "com" | "org" | "net" | "io"
    )
}
