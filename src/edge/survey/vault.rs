//! Looks for the vault's own values in the arguments of an action, also where they are disguised.
//!
//! Only names come out of here, never values.

use serde_json::Value;

/// Knows the values of the vault and finds them in text.
pub trait VaultScan: Send + Sync {
    /// Returns the names of the secrets whose values stand in the text.
    fn find(&self, text: &str) -> Vec<String>;
}

/// A vault without anything in it.
#[derive(Clone, Copy, Debug)]
pub struct NoVault;

impl VaultScan for NoVault {
    fn find(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

/// The longest text that is searched for disguises, in bytes. Plain values are found in any.
const MAX_DISGUISED: usize = 1024 * 1024;

/// Returns the names of the secrets that stand in any text of a value: plain, split over lines,
/// percent-encoded, in hexadecimal, or in base64.
pub fn scan(vault: &dyn VaultScan, value: &Value) -> Vec<String> {
    let mut names = Vec::new();
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        match value {
            Value::String(text) => {
                names.extend(vault.find(text));
                if text.len() <= MAX_DISGUISED {
                    names.extend(disguises(text).iter().flat_map(|plain| vault.find(plain)));
                }
            }
            Value::Array(items) => stack.extend(items),
            Value::Object(map) => {
                for (key, value) in map {
                    names.extend(vault.find(key));
                    stack.push(value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    names.sort();
    names.dedup();
    names
}

fn disguises(text: &str) -> Vec<String> {
    let joined: String = text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '\\' | '"' | '\'' | '+')).collect();
    let mut plain = Vec::new();
    if text.contains('%') {
        plain.push(percent(text));
    }
    for run in runs(&joined) {
        plain.extend(base64(run));
        plain.extend(hexadecimal(run));
    }
    for run in runs(text) {
        plain.extend(base64(run));
    }
    plain.push(joined);
    plain
}

/// Returns the runs of letters that base64 and hexadecimal are written in.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_')))
        .filter(|run| run.len() >= 8)
}

fn percent(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut i = 0;
    while let Some(byte) = bytes.get(i) {
        match (byte, text.get(i + 1..i + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(value)) => {
                out.push(value);
                i += 3;
            }
            _ => {
                out.push(*byte);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn hexadecimal(run: &str) -> Option<String> {
    if !run.len().is_multiple_of(2) || !run.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let bytes: Option<Vec<u8>> =
        (0..run.len()).step_by(2).map(|i| u8::from_str_radix(run.get(i..i + 2)?, 16).ok()).collect();
    String::from_utf8(bytes?).ok()
}

/// Decodes base64 of either alphabet, from each of its four starts: a secret may stand in the middle.
fn base64(run: &str) -> Vec<String> {
    (0..4).filter_map(|skip| run.get(skip..)).map(decode).collect()
}

fn decode(run: &str) -> String {
    let mut out = Vec::with_capacity(run.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0u32);
    for byte in run.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => continue,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(((bits >> count) & 0xff) as u8);
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
