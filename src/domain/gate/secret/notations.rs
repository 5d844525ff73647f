//! Notations of files and messages with a form of their own: codes for networks, key sets, lines of password files.

use super::commands;
use super::prose::{clip, is_password, line_start, unquoted};
use super::values::{Counts, is_placeholder, is_random};
use super::{Certainty, Finding};
use std::ops::Range;

/// Reads on from a place where a notation is recognised.
pub(super) type Reader = fn(&str, Range<usize>, &mut Vec<Finding>);

/// Words by which a notation is recognised. The finder hits each of them; every reader looks at a bounded part.
pub(super) const ANCHORS: &[(&str, Reader)] = &[
    ("WIFI:", network),
    ("\"SYMMETRIC\"", key_set),
    ("\"ASYMMETRIC_PRIVATE\"", key_set),
    ("auth-credentials", list),
    (":5432:", pgpass),
    (":5433:", pgpass),
    (":*:", pgpass),
    ("chpasswd", commands::piped),
    ("net use", commands::net_use),
    ("NET USE", commands::net_use),
    ("smbclient ", commands::options),
    ("rpcclient ", commands::options),
    ("winexe ", commands::options),
    ("mount.cifs ", commands::options),
    ("htpasswd ", commands::options),
    ("curl ", commands::options),
    ("http ", commands::options),
    ("https ", commands::options),
    ("wget ", commands::options),
    ("lftp ", commands::options),
    ("ipmitool ", commands::options),
    ("mosquitto_", commands::options),
    ("xfreerdp ", commands::options),
    ("rdesktop ", commands::options),
    ("cmdkey ", commands::options),
    ("7z ", commands::options),
    ("unzip ", commands::options),
    ("zip ", commands::options),
    ("evil-winrm ", commands::options),
    ("snmpwalk ", commands::options),
    ("snmpget ", commands::options),
    ("sshpass ", commands::options),
    ("mysql ", commands::options),
    ("mysqldump ", commands::options),
    ("mysqladmin ", commands::options),
    ("psexec", commands::options),
    ("ConvertTo-SecureString", commands::secure_string),
    ("convertto-securestring", commands::secure_string),
    ("sqlplus ", commands::oracle),
    ("expdp ", commands::oracle),
    ("impdp ", commands::oracle),
    ("sqlldr ", commands::oracle),
    ("oracle:thin:", commands::oracle),
    ("alias set ", commands::object_store),
    ("config host add ", commands::object_store),
    ("snmp-server community ", commands::community),
    ("rocommunity ", commands::community),
    ("rwcommunity ", commands::community),
    ("wpa_passphrase ", commands::last_word),
    ("htdigest ", commands::options),
    ("registry login ", commands::options),
    ("openssl enc ", commands::options),
    ("keyvault secret set ", commands::options),
    ("add_user ", commands::last_word),
    ("change_password ", commands::last_word),
    ("sudo -S", commands::fed),
    ("--password-stdin", commands::fed),
    ("--stdin", commands::fed),
    ("enable secret ", commands::device),
    (" secret 0 ", commands::device),
    (" password 0 ", commands::device),
    ("pre-shared-key ", commands::device),
    ("createUser ", commands::device),
    ("redentials", credentials),
    ("ogin: ", credentials),
    ("ogin is ", credentials),
    ("Zugangsdaten", credentials),
    ("dentifiants", credentials),
    ("redenciales", credentials),
];

/// `WIFI:T:WPA;S:name;P:password;;`, as the codes that phones read.
fn network(text: &str, hit: Range<usize>, found: &mut Vec<Finding>) {
    let rest = clip(text, hit.end, 256);
    let rest = rest.split('\n').next().unwrap_or("");
    let mut at = hit.end;
    for part in rest.split(';') {
        if let Some(value) = part.strip_prefix("P:").filter(|value| value.len() >= 6 && !is_placeholder(value)) {
            found.push(likely("password", at + 2, value));
        }
        at += part.len() + 1;
    }
}

/// Tink's key sets: the value beside the kind of a key that is not public.
fn key_set(text: &str, hit: Range<usize>, found: &mut Vec<Finding>) {
    let mut from = hit.start.saturating_sub(600);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let near = clip(text, from, hit.end - from + 600);
    let Some(name) = near.find("\"value\"") else { return };
    let rest = near.get(name + 7..).unwrap_or("");
    let value = rest.trim_start_matches([' ', ':', '\n', '\t']);
    let start = from + name + 7 + rest.len() - value.len();
    let Some(value) = value.strip_prefix('"').and_then(|value| value.split('"').next()) else { return };
    if value.len() >= 16 && is_random(value, 16) {
        found.push(Finding {
            kind: "private key",
            range: start + 1..start + 1 + value.len(),
            certainty: Certainty::Certain,
        });
    }
}

/// `(smtpmail-auth-credentials '(("host" 587 "user" "password")))`: the last text of a list.
fn list(text: &str, hit: Range<usize>, found: &mut Vec<Finding>) {
    let rest = clip(text, hit.end, 300);
    let inside = rest.split("))").next().unwrap_or("");
    let mut quotes = inside.rmatch_indices('"').map(|(at, _)| at);
    if let (Some(end), Some(start)) = (quotes.next(), quotes.next())
        && let Some(value) = inside.get(start + 1..end)
        && is_password(value)
    {
        found.push(likely("password", hit.end + start + 1, value));
    }
}

/// `host:port:database:user:password`, each but the last perhaps a `*`.
fn pgpass(text: &str, hit: Range<usize>, found: &mut Vec<Finding>) {
    let start = line_start(text, hit.start);
    let line = clip(text, start, 300).split('\n').next().unwrap_or("");
    let mut fields = line.splitn(5, ':');
    let plain = |field: &str| {
        !field.is_empty()
            && field.len() <= 128
            && field.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'*' | b'/'))
    };
    let (Some(host), Some(port), Some(database), Some(user), Some(value)) =
        (fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return;
    };
    let numbered = port == "*" || (2..=5).contains(&port.len()) && port.bytes().all(|b| b.is_ascii_digit());
    let value = value.trim_end();
    let secret = value.len() >= 5 && !value.contains([' ', '/', ':']) && !is_placeholder(value) && fills(value);
    if numbered && secret && plain(host) && plain(database) && plain(user) {
        found.push(likely("password", start + line.find(value).unwrap_or(0), value));
    }
}

/// “The credentials are user / password”.
fn credentials(text: &str, hit: Range<usize>, found: &mut Vec<Finding>) {
    let line = clip(text, hit.end, 96).split('\n').next().unwrap_or("");
    let Some(sign) = line.find(" / ") else { return };
    let rest = line.get(sign + 3..).unwrap_or("");
    let (skip, value) = unquoted(rest.split([' ', '\t']).next().unwrap_or(""));
    let counts = Counts::of(value);
    if is_password(value) && counts.digits > 0 && counts.letters() > 0 {
        found.push(likely("password", hit.end + sign + 3 + skip, value));
    }
}

/// Returns whether a value stands where only a password can, and is not a stand-in for one.
pub(super) fn fills(value: &str) -> bool {
    let counts = Counts::of(value);
    let variable = value.starts_with(['$', '%', '<', '{', '@', '*'])
        || value.starts_with('-') && !counts.mixed()
        || value.contains("${")
        || value.contains("$(");
    let word = counts.digits == 0 && counts.others == 0 && !super::values::is_jumbled(value);
    value.len() >= 5 && !variable && !word && !is_placeholder(value) && value.is_ascii() && !value.contains("://")
}

pub(super) fn likely(kind: &'static str, start: usize, value: &str) -> Finding {
    Finding { kind, range: start..start + value.len(), certainty: Certainty::Likely }
}

/// Returns the words of a line behind a place, with their places, without their quotes.
pub(super) fn words(text: &str, from: usize) -> impl Iterator<Item = (usize, &str)> {
    raw_words(text, from).filter_map(|(start, word)| {
        let (skip, inner) = unquoted(word);
        (!inner.is_empty()).then_some((start + skip, inner))
    })
}

/// Returns the words of a line behind a place as they stand there, with their places.
pub(super) fn raw_words(text: &str, from: usize) -> impl Iterator<Item = (usize, &str)> {
    let rest = clip(text, from, 400);
    let rest = rest.split(['\n', '|', ';']).next().unwrap_or("");
    let mut at = from;
    rest.split([' ', '\t']).filter_map(move |word| {
        let start = at;
        at += word.len() + 1;
        (!word.is_empty()).then_some((start, word))
    })
}
