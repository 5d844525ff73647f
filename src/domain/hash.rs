//! The one byte encoding that is hashed, version 1.
//!
//! Every field is length-prefixed, so no two different values share an encoding.
//! Nothing derived, timed or random is ever fed in.

/// A field of at least this many bytes is hashed where it lies; shorter ones are put side by side first.
const LARGE: usize = 4096;

/// Feeds fields into BLAKE3 in the pinned encoding.
///
/// Short values are hashed in one call over one buffer: most of what is hashed has a few dozen bytes.
pub struct ContentHasher {
    /// The encoding; what lies in front of `streamed` has gone into `stream`.
    buffer: Vec<u8>,
    /// How much of the buffer tells the kind.
    kind: usize,
    /// How much of the buffer has gone into `stream`.
    streamed: usize,
    /// Used once a large field came.
    stream: Option<Box<blake3::Hasher>>,
}

impl ContentHasher {
    /// Starts a hash for one kind of value; the kind's name separates domains.
    pub fn new(kind: &str) -> Self {
        Self::with_room(kind, 128)
    }

    /// Starts a hash for one kind of value whose fields are expected to take so many bytes.
    pub fn with_room(kind: &str, bytes: usize) -> Self {
        let buffer = Vec::with_capacity(bytes.saturating_add(64));
        let mut hasher = ContentHasher { buffer, kind: 0, streamed: 0, stream: None };
        hasher.text("passepartout 1").text(kind);
        hasher.kind = hasher.buffer.len();
        hasher
    }

    /// Forgets every field but the kind: the next value of that kind is hashed without another buffer.
    pub fn again(&mut self) -> &mut Self {
        self.buffer.truncate(self.kind);
        self.streamed = 0;
        self.stream = None;
        self
    }

    /// Adds bytes with their length in front (eight bytes, little-endian).
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as u64);
        if bytes.len() < LARGE {
            self.buffer.extend_from_slice(bytes);
        } else {
            let stream = self.stream.get_or_insert_default();
            stream.update(&self.buffer[self.streamed..]).update(bytes);
            self.streamed = self.buffer.len();
        }
        self
    }

    /// Adds text.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    /// Adds a number (eight bytes, little-endian).
    pub fn number(&mut self, number: u64) -> &mut Self {
        self.buffer.extend_from_slice(&number.to_le_bytes());
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

    /// Adds a JSON object, as [`ContentHasher::json`] does.
    pub fn json_map(&mut self, map: &serde_json::Map<String, serde_json::Value>) -> &mut Self {
        self.number(5).number(map.len() as u64);
        let mut entries: Vec<_> = map.iter().collect();
        entries.sort_by(|a, b| a.0.cmp(b.0));
        for (key, value) in entries {
            self.text(key).json(value);
        }
        self
    }

    /// Returns the hash of what was added until now.
    pub fn finish(&self) -> [u8; 32] {
        match &self.stream {
            None => *blake3::hash(&self.buffer).as_bytes(),
            Some(stream) => *stream.clone().update(&self.buffer[self.streamed..]).finalize().as_bytes(),
        }
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

    /// The encoding, field by field, as it was pinned.
    fn plainly(fields: &[&[u8]]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        for field in [&b"passepartout 1"[..], b"sample"].iter().chain(fields) {
            hasher.update(&(field.len() as u64).to_le_bytes());
            hasher.update(field);
        }
        *hasher.finalize().as_bytes()
    }

    #[test]
    fn long_and_short_fields_make_one_encoding() {
        let lengths = [0, 1, 63, 64, 1023, 1024, 1025, LARGE - 1, LARGE, LARGE + 1, 100_000];
        let field = |length: usize| (0..length).map(|n| n as u8).collect::<Vec<_>>();
        let mut again = ContentHasher::new("sample");
        for first in lengths {
            for second in lengths {
                let (a, b) = (field(first), field(second));
                let expected = plainly(&[&a, &b, b"end"]);
                let once = ContentHasher::new("sample").bytes(&a).bytes(&b).text("end").finish();
                assert_eq!(once, expected, "{first} {second}");
                assert_eq!(again.again().bytes(&a).bytes(&b).text("end").finish(), expected, "{first} {second}");
            }
        }
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
