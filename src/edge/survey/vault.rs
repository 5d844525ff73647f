//! Looks for the vault's own values in the arguments of an action, also where they are disguised.
//!
//! Only names come out of here, never values.

use crate::domain::gate::validator::MAX_TEXT;
use crate::edge::secret::Vault;
use serde_json::Value;
use std::sync::Arc;

/// Knows the values of the vault and finds them in text.
pub trait VaultScan: Send + Sync {
    /// Returns the names of the secrets whose values stand in the text, plain or in disguise.
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

impl VaultScan for Vault {
    fn find(&self, text: &str) -> Vec<String> {
        self.scan_disguised(text)
    }
}

impl<S: VaultScan + ?Sized> VaultScan for Arc<S> {
    fn find(&self, text: &str) -> Vec<String> {
        self.as_ref().find(text)
    }
}

/// Returns the names of the secrets that stand in texts: the keys and values of arguments at any depth, and words.
pub fn scan<'a>(
    vault: &dyn VaultScan,
    args: impl Iterator<Item = (&'a String, &'a Value)>,
    words: &str,
) -> Vec<String> {
    let mut names = vault.find(words);
    let mut stack: Vec<(&str, &Value)> = args.map(|(name, value)| (name.as_str(), value)).collect();
    while let Some((name, value)) = stack.pop() {
        names.extend(vault.find(name));
        match value {
            // What is larger asks, unread.
            Value::String(text) if text.len() > MAX_TEXT => {}
            Value::String(text) => names.extend(vault.find(text)),
            Value::Array(items) => {
                names.extend(joined(vault, items));
                stack.extend(items.iter().map(|item| ("", item)));
            }
            Value::Object(map) => stack.extend(map.iter().map(|(name, value)| (name.as_str(), value))),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Finds what was split over the items of a list.
fn joined(vault: &dyn VaultScan, items: &[Value]) -> Vec<String> {
    let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
    if texts.len() > 1 && texts.iter().map(|text| text.len()).sum::<usize>() <= MAX_TEXT {
        vault.find(&texts.concat())
    } else {
        Vec::new()
    }
}
