//! Frames over a connection, one at a time.

use crate::edge::wire::frame::{FrameError, Frames, encode, encode_onto};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Bytes that are read at once of who says much.
const PIECE: usize = 64 * 1024;
/// And of everybody else: of a thousand that are connected, most say nothing.
const LITTLE: usize = 1024;

/// Why a connection cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// What came is no frame.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// It ended within a frame.
    #[error("the connection ended within a frame")]
    Half,
    /// The system says why.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// What comes by a connection.
pub struct Incoming<R> {
    reader: R,
    frames: Frames,
    piece: Vec<u8>,
    begun: bool,
}

impl<R: AsyncRead + Unpin> Incoming<R> {
    /// Reads frames from here.
    pub fn new(reader: R) -> Incoming<R> {
        Incoming { reader, frames: Frames::default(), piece: vec![0; LITTLE], begun: false }
    }

    /// From now on a frame has at most so many bytes.
    pub fn limit(&mut self, most: usize) {
        self.frames.limit(most);
    }

    /// Returns the next text; `None` when the connection has ended after a whole frame. Nothing is lost when the
    /// future is dropped.
    ///
    /// # Errors
    /// When what came is no frame, or the connection broke.
    pub async fn next(&mut self) -> Result<Option<String>, Broken> {
        loop {
            if let Some(text) = self.frames.take()? {
                self.begun = self.frames.rest() > 0;
                return Ok(Some(text));
            }
            let count = self.reader.read(&mut self.piece).await?;
            if count == 0 {
                return if self.begun { Err(Broken::Half) } else { Ok(None) };
            }
            self.frames.push(self.piece.get(..count).unwrap_or(&[]));
            self.begun = true;
            if count == self.piece.len() && count < PIECE {
                self.piece = vec![0; (count * 8).min(PIECE)];
            }
        }
    }
}

/// Writes one frame.
///
/// # Errors
/// When the text is too long, or the connection broke.
pub async fn write(writer: &mut (impl AsyncWrite + Unpin), text: &str) -> Result<(), Broken> {
    writer.write_all(&encode(text)?).await?;
    Ok(writer.flush().await?)
}

/// What goes by a connection: whole frames, whatever becomes of who writes them.
pub struct Outgoing<W> {
    writer: W,
    /// What is being written, and how much of it is.
    frames: Vec<u8>,
    written: usize,
}

impl<W: AsyncWrite + Unpin> Outgoing<W> {
    /// Writes frames there.
    pub fn new(writer: W) -> Outgoing<W> {
        Outgoing { writer, frames: Vec::new(), written: 0 }
    }

    /// Writes a frame of each text, all at once. When the future is dropped in the middle of it, the rest goes before
    /// whatever is written next: no frame begins within another.
    ///
    /// # Errors
    /// When a text is too long for a frame, and then none of them is written; or the connection broke.
    pub async fn write(&mut self, texts: &[String]) -> Result<(), Broken> {
        let before = self.frames.len();
        self.frames.reserve(texts.iter().map(|text| text.len() + 8).sum());
        for text in texts {
            if let Err(long) = encode_onto(&mut self.frames, text) {
                self.frames.truncate(before);
                return Err(long.into());
            }
        }
        while let Some(rest) = self.frames.get(self.written..).filter(|rest| !rest.is_empty()) {
            match self.writer.write(rest).await? {
                0 => return Err(std::io::Error::from(std::io::ErrorKind::WriteZero).into()),
                count => self.written += count,
            }
        }
        // Of a thousand that are connected, most are told nothing at the moment: they keep no room for it.
        (self.frames, self.written) = (Vec::new(), 0);
        Ok(self.writer.flush().await?)
    }
}
