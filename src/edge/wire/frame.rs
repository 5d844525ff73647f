//! Frames on a socket: six hexadecimal digits that give the length in bytes, then that much UTF-8.
//!
//! Pure and total: a slice in; complete, need-more, or a typed error out. Lengths are checked before they are believed.

use crate::domain::sexp::reader::MAX_BYTES;

/// The bytes of a frame's head.
const HEAD: usize = 6;
/// The most white space that is skipped in front of a frame.
const MAX_SPACE: usize = 4096;

/// How far a slice goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// A whole frame stands at the front.
    Complete {
        /// Its text.
        text: &'a str,
        /// The bytes it takes up, with head and white space in front.
        used: usize,
    },
    /// At least this many more bytes are needed.
    NeedMore(usize),
}

/// Why a stream of frames cannot be read on; the connection should be closed with these words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The head is no number.
    #[error(
        "byte {0} of the frame is no hexadecimal digit: a frame begins with its length in bytes as six hexadecimal digits"
    )]
    Head(usize),
    /// Too long.
    #[error("a frame of {0} bytes is over the limit of 4 MiB; send large texts in slices")]
    TooLong(usize),
    /// No UTF-8.
    #[error("byte {0} of the frame is not UTF-8")]
    Text(usize),
    /// Nothing but white space.
    #[error("more than 4,096 bytes of white space in front of a frame")]
    Space,
}

/// Reads the frame at the front of a slice.
pub fn decode(bytes: &[u8]) -> Result<Step<'_>, FrameError> {
    decode_within(bytes, MAX_BYTES)
}

/// Does the same with a limit of its own: who is not known yet has little to say.
pub fn decode_within(bytes: &[u8], most: usize) -> Result<Step<'_>, FrameError> {
    let space = bytes.iter().take(MAX_SPACE + 1).take_while(|b| b.is_ascii_whitespace()).count();
    if space > MAX_SPACE {
        return Err(FrameError::Space);
    }
    let rest = bytes.get(space..).unwrap_or(&[]);
    let mut length = 0usize;
    for (n, byte) in rest.iter().take(HEAD).enumerate() {
        let digit = char::from(*byte).to_digit(16).ok_or(FrameError::Head(space + n))?;
        length = length * 16 + digit as usize;
    }
    if rest.len() < HEAD {
        return Ok(Step::NeedMore(HEAD - rest.len()));
    }
    if length > most.min(MAX_BYTES) {
        return Err(FrameError::TooLong(length));
    }
    match rest.get(HEAD..HEAD + length) {
        None => Ok(Step::NeedMore(HEAD + length - rest.len())),
        Some(body) => match std::str::from_utf8(body) {
            Ok(text) => Ok(Step::Complete { text, used: space + HEAD + length }),
            Err(error) => Err(FrameError::Text(space + HEAD + error.valid_up_to())),
        },
    }
}

/// Returns a text as a frame.
pub fn encode(text: &str) -> Result<Vec<u8>, FrameError> {
    let mut frame = Vec::with_capacity(HEAD + text.len().min(MAX_BYTES));
    encode_onto(&mut frame, text)?;
    Ok(frame)
}

/// Adds a text as a frame to bytes; when it is too long, nothing is added.
pub fn encode_onto(bytes: &mut Vec<u8>, text: &str) -> Result<(), FrameError> {
    if text.len() > MAX_BYTES {
        return Err(FrameError::TooLong(text.len()));
    }
    bytes.extend_from_slice(format!("{:06x}", text.len()).as_bytes());
    bytes.extend_from_slice(text.as_bytes());
    Ok(())
}

/// The bytes of a stream that are not yet whole frames.
#[derive(Debug)]
pub struct Frames {
    bytes: Vec<u8>,
    used: usize,
    most: usize,
}

impl Default for Frames {
    fn default() -> Frames {
        Frames { bytes: Vec::new(), used: 0, most: MAX_BYTES }
    }
}

impl Frames {
    /// Adds bytes as they came.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.used);
        self.used = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// From now on a frame has at most so many bytes, and never more than any may have.
    pub fn limit(&mut self, most: usize) {
        self.most = most;
    }

    /// Returns how many bytes came that are no whole frame yet.
    pub fn rest(&self) -> usize {
        self.bytes.len().saturating_sub(self.used)
    }

    /// Takes the next whole frame; `None` until more bytes came.
    pub fn take(&mut self) -> Result<Option<String>, FrameError> {
        match decode_within(self.bytes.get(self.used..).unwrap_or(&[]), self.most)? {
            Step::NeedMore(_) => Ok(None),
            Step::Complete { text, used } => {
                let text = text.to_string();
                self.used += used;
                Ok(Some(text))
            }
        }
    }
}
