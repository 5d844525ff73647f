//! The one byte encoding that is hashed, version 1.
//!
//! Every field is length-prefixed, so no two different values share an encoding.
//! Nothing derived, timed or random is ever fed in.

/// Feeds fields into BLAKE3 in the pinned encoding.
pub struct ContentHasher(blake3::Hasher);

impl ContentHasher {
    /// Starts a hash for one kind of value; the kind's name separates domains.
    pub fn new(kind: &str) -> Self {
        let mut hasher = ContentHasher(blake3::Hasher::new());
        hasher.text("passepartout 1").text(kind);
        hasher
    }

    /// Adds bytes with their length in front (eight bytes, little-endian).
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// Adds text.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    /// Adds a number (eight bytes, little-endian).
    pub fn number(&mut self, number: u64) -> &mut Self {
        self.0.update(&number.to_le_bytes());
        self
    }

    /// Adds text that may be absent; absence differs from the empty text.
    pub fn option(&mut self, text: Option<&str>) -> &mut Self {
        match text {
            None => self.number(0),
            Some(text) => self.number(1).text(text),
        }
    }

    /// Adds a JSON value; objects by sorted key, numbers by their shortest text.
    pub fn json(&mut self, value: &serde_json::Value) -> &mut Self {
        // An explicit stack: arguments come from models and may be deep.
        enum Step<'a> {
            Value(&'a serde_json::Value),
            Key(&'a str),
        }
        let mut stack = vec![Step::Value(value)];
        while let Some(step) = stack.pop() {
            match step {
                Step::Key(key) => {
                    self.text(key);
                }
                Step::Value(serde_json::Value::Null) => {
                    self.number(0);
                }
                Step::Value(serde_json::Value::Bool(b)) => {
                    self.number(1).number(u64::from(*b));
                }
                Step::Value(serde_json::Value::Number(n)) => {
                    self.number(2).text(&n.to_string());
                }
                Step::Value(serde_json::Value::String(s)) => {
                    self.number(3).text(s);
                }
                Step::Value(serde_json::Value::Array(items)) => {
                    self.number(4).number(items.len() as u64);
                    stack.extend(items.iter().rev().map(Step::Value));
                }
                Step::Value(serde_json::Value::Object(map)) => {
                    self.number(5).number(map.len() as u64);
                    let mut keys: Vec<_> = map.iter().collect();
                    keys.sort_by(|a, b| b.0.cmp(a.0));
                    for (key, value) in keys {
                        stack.push(Step::Value(value));
                        stack.push(Step::Key(key));
                    }
                }
            }
        }
        self
    }

    /// Ends the hash.
    pub fn finish(&self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_is_pinned() {
        let value = serde_json::json!({"b": [1, null, true], "a": "x"});
        let hex = blake3::Hash::from_bytes(ContentHasher::new("sample").text("t").option(None).json(&value).finish())
            .to_hex()
            .to_string();
        assert_eq!(hex, "4c6391c5cc7e4b75306e6f53bdc4adfe15a23a1e33d2f69c902e8d44f444fda6");
    }

    #[test]
    fn neighbours_differ() {
        let hash = |parts: &[&str]| {
            let mut hasher = ContentHasher::new("sample");
            for part in parts {
                hasher.text(part);
            }
            hasher.finish()
        };
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_ne!(hash(&["a", ""]), hash(&["a"]));
    }
}
