//! Passwords in command lines, by the program that takes them.

use super::Finding;
use super::notations::{fills, likely, raw_words, words};
use super::prose::{clip, is_password, line_start, unquoted};
use std::ops::Range;

/// How a program's option holds a password.
#[derive(Clone, Copy)]
enum Form {
    /// The word behind it.
    Next,
    /// What hangs on it: `-pSecret`.
    Attached,
    /// `user%password`
    Percent,
    /// `user:password`
    Colon,
    /// `user,password`
    Comma,
}

/// Which options of which programs hold passwords.
const OPTIONS: &[(&str, &[(&str, Form)])] = &[
    ("smbclient", &[("-U", Form::Percent), ("--user", Form::Percent), ("--password", Form::Next)]),
    ("rpcclient", &[("-U", Form::Percent)]),
    ("winexe", &[("-U", Form::Percent)]),
    (
        "curl",
        &[
            ("-u", Form::Colon),
            ("--user", Form::Colon),
            ("-U", Form::Colon),
            ("--proxy-user", Form::Colon),
            ("--pass", Form::Next),
            ("--oauth2-bearer", Form::Next),
            ("--proxy-pass", Form::Next),
            ("--tlspassword", Form::Next),
        ],
    ),
    ("http", &[("-a", Form::Colon), ("--auth", Form::Colon)]),
    ("wget", &[("--password", Form::Next), ("--http-password", Form::Next), ("--ftp-password", Form::Next)]),
    ("lftp", &[("-u", Form::Comma), ("--user", Form::Comma)]),
    ("ipmitool", &[("-P", Form::Next)]),
    ("mosquitto_", &[("-P", Form::Next), ("--pw", Form::Next)]),
    ("xfreerdp", &[("/p:", Form::Attached)]),
    ("rdesktop", &[("-p", Form::Next)]),
    ("cmdkey", &[("/pass:", Form::Attached)]),
    ("7z", &[("-p", Form::Attached)]),
    ("unzip", &[("-P", Form::Next)]),
    ("zip", &[("-P", Form::Next)]),
    ("evil-winrm", &[("-p", Form::Next)]),
    ("snmp", &[("-A", Form::Next), ("-X", Form::Next), ("-c", Form::Next)]),
    ("sshpass", &[("-p", Form::Attached)]),
    ("mysql", &[("-p", Form::Attached)]),
    ("psexec", &[("-p", Form::Next)]),
    ("registry login", &[("-p", Form::Next)]),
    ("openssl", &[("-k", Form::Next)]),
    ("keyvault", &[("--value", Form::Next)]),
];

/// Reads the options of a program that is named at a place.
pub(super) fn options(text: &str, hit: Range<usize>, found: &mut Vec<Finding>) {
    let name = text.get(hit.clone()).unwrap_or("").trim_end();
    let before = text.as_bytes().get(hit.start.wrapping_sub(1)).copied().unwrap_or(b' ');
    if before.is_ascii_alphanumeric() || matches!(before, b'-' | b'_' | b'.') {
        return;
    }
    if name == "htpasswd" {
        return batch(text, hit.end, found);
    }
    let Some((_, table)) = OPTIONS.iter().find(|(program, _)| name.starts_with(program)) else { return };
    let mut waiting: Option<Form> = None;
    for (at, raw) in raw_words(text, hit.end).take(32) {
        // Most words are no options.
        if waiting.is_none() && !raw.starts_with(['-', '/', '"', '\'', '`', '(', '<', '*', '“', '‘', '„', '«']) {
            continue;
        }
        let (skip, word) = unquoted(raw);
        let at = at + skip;
        if word.is_empty() {
            continue;
        }
        if let Some(form) = waiting.take() {
            found.extend(held(form, at, word));
            continue;
        }
        for (option, form) in *table {
            let Some(rest) = word.strip_prefix(option) else { continue };
            let value = rest.trim_start_matches(['=', '"', '\'']);
            let start = at + word.len() - value.len();
            if rest.is_empty() {
                waiting = (!matches!(form, Form::Attached)).then_some(*form);
            } else if rest.starts_with('=') || !option.starts_with("--") {
                let form = if matches!(form, Form::Next) { Form::Attached } else { *form };
                found.extend(held(form, start, value));
            }
        }
    }
}

fn held(form: Form, at: usize, word: &str) -> Option<Finding> {
    let sign = match form {
        Form::Next | Form::Attached => return fills(word).then(|| likely("password", at, word)),
        Form::Percent => '%',
        Form::Colon => ':',
        Form::Comma => ',',
    };
    let (user, password) = word.split_once(sign)?;
    let value = password.trim_end_matches(['"', '\'']);
    (!user.is_empty() && !user.contains('/') && fills(value)).then(|| likely("password", at + user.len() + 1, value))
}

/// `htpasswd -b file user password`: the last word.
fn batch(text: &str, from: usize, found: &mut Vec<Finding>) {
    let line: Vec<(usize, &str)> = words(text, from).take(8).collect();
    let given = line.iter().any(|(_, word)| word.starts_with('-') && !word.starts_with("--") && word.contains('b'));
    if let Some((at, word)) = line.last().filter(|(_, word)| given && fills(word)) {
        found.push(likely("password", *at, word));
    }
}

/// `echo user:password | chpasswd`, and the lines of a text that it is given.
pub(super) fn piped(text: &str, hit: Range<usize>, found: &mut Vec<Finding>) {
    let start = line_start(text, hit.start);
    let line = text.get(start..hit.start).unwrap_or("");
    let rest = clip(text, hit.end, 300);
    let given = |at: usize, line: &str, found: &mut Vec<Finding>| {
        let mut next = at;
        for word in line.split([' ', '|', '\n', '<']) {
            let start = next;
            next += word.len() + 1;
            let bare = word.trim_matches(['"', '\'']);
            let Some((user, password)) = bare.split_once(':') else { continue };
            let named =
                !user.is_empty() && user.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
            if named && fills(password) {
                let skip = word.len() - word.trim_start_matches(['"', '\'']).len();
                found.push(likely("password", start + skip + user.len() + 1, password));
            }
        }
    };
    given(start, line, found);
    if rest.trim_start().starts_with("<<") {
        given(hit.end, rest, found);
    }
}

/// `net use Z: \\host\share /user:name password`
pub(super) fn net_use(text: &str, hit: Range<usize>, found: &mut Vec<Finding>) {
    let line: Vec<(usize, &str)> = words(text, hit.end).take(10).collect();
    let user = line.iter().any(|(_, word)| word.to_ascii_lowercase().starts_with("/user:"));
    let value = line.iter().find(|(_, word)| !word.starts_with(['/', '\\']) && !word.ends_with(':') && fills(word));
    if let Some((at, word)) = value.filter(|_| user) {
        found.push(likely("password", *at, word));
    }
}

/// `ConvertTo-SecureString -AsPlainText -Force value`
pub(super) fn secure_string(text: &str, hit: Range<usize>, found: &mut Vec<Finding>) {
    let value = words(text, hit.end).take(8).find(|(_, word)| !word.starts_with(['-', '$']));
    if let Some((at, word)) = value.filter(|(_, word)| fills(word) && !word.contains('(')) {
        found.push(likely("password", at, word));
    }
}

/// `sqlplus user/password@host`
pub(super) fn oracle(text: &str, hit: Range<usize>, found: &mut Vec<Finding>) {
    for (at, word) in words(text, hit.end).take(6) {
        let Some((user, rest)) = word.split_once('/') else { continue };
        let Some((value, _)) = rest.split_once('@') else { continue };
        let named = !user.is_empty() && user.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'#'));
        if named && fills(value) {
            found.push(likely("password", at + user.len() + 1, value));
        }
    }
}

/// `mc alias set name address user password`
pub(super) fn object_store(text: &str, hit: Range<usize>, found: &mut Vec<Finding>) {
    if let Some((at, word)) = words(text, hit.end).nth(3).filter(|(_, word)| word.len() >= 8 && fills(word)) {
        found.push(likely("password", at, word));
    }
}

/// The community of SNMP is its password.
pub(super) fn community(text: &str, hit: Range<usize>, found: &mut Vec<Finding>) {
    let known = ["public", "private", "community"];
    if let Some((at, word)) = words(text, hit.end).next()
        && word.len() >= 5
        && !known.contains(&word)
        && (fills(word) || word.bytes().all(|b| b.is_ascii_alphanumeric()) && word.len() >= 8)
    {
        found.push(likely("password", at, word));
    }
}

/// `echo password | sudo -S …`: what is written into the pipe.
pub(super) fn fed(text: &str, hit: Range<usize>, found: &mut Vec<Finding>) {
    let start = line_start(text, hit.start);
    let line = text.get(start..hit.start).unwrap_or("");
    let Some(echo) = line.find("echo ").filter(|_| line.contains('|')) else { return };
    let value = words(text, start + echo + 5).find(|(_, word)| !word.starts_with('-'));
    if let Some((at, word)) = value.filter(|(at, word)| at + word.len() < hit.start && fills(word)) {
        found.push(likely("password", at, word));
    }
}

/// `enable secret …`, `createUser name SHA "…" AES "…"`: lines that set up a device.
pub(super) fn device(text: &str, hit: Range<usize>, found: &mut Vec<Finding>) {
    for (at, word) in words(text, hit.end).take(6).filter(|(_, word)| is_password(word)) {
        found.push(likely("password", at, word));
    }
}

/// `wpa_passphrase network password`
pub(super) fn last_word(text: &str, hit: Range<usize>, found: &mut Vec<Finding>) {
    if let Some((at, word)) = words(text, hit.end).nth(1).filter(|(_, word)| word.len() >= 8 && fills(word)) {
        found.push(likely("password", at, word));
    }
}
