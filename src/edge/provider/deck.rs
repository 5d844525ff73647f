//! What records exchanges with providers on a cassette: a file of lines that only grow, with secrets masked.
//!
//! Of a conversation that may not leave this machine nothing is recorded, and that is said.

use crate::domain::cassette::pieces;
use crate::domain::cassette::{By, Exchange, Head, MOST_BODY, MOST_BYTES, MOST_EXCHANGES};
use crate::domain::gate::secret::mask;
use crate::domain::label::Privacy;
use crate::domain::port::LogLevel;
use crate::edge::secret::Vault;
use parking_lot::Mutex;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where lines for the log go.
type Say = Box<dyn Fn(LogLevel, &str) + Send + Sync>;

/// Records exchanges while a cassette is in it.
pub struct Deck {
    tape: Mutex<Option<Tape>>,
    vault: Arc<Vault>,
    say: Say,
}

struct Tape {
    file: File,
    bytes: usize,
    taped: Taped,
}

/// What was recorded up to now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taped {
    /// The file.
    pub path: PathBuf,
    /// How many exchanges are in it.
    pub exchanges: usize,
    /// How many were not recorded, as nothing of them may leave this machine.
    pub private: usize,
    /// How many were not recorded for another reason; the log says which.
    pub lost: usize,
}

impl fmt::Debug for Deck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deck").field("recording", &self.recording()).finish()
    }
}

impl fmt::Display for Taped {
    /// Says it to people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Taped { path, exchanges, private, lost } = self;
        write!(f, "{} exchanges are in {}", exchanges, path.display())?;
        if *private > 0 {
            write!(f, "; {private} were not recorded, as nothing of them may leave this machine")?;
        }
        if *lost > 0 {
            write!(f, "; {lost} could not be recorded: the log says why")?;
        }
        Ok(())
    }
}

impl Deck {
    /// Makes one without a cassette. The vault's values are masked in all that it records.
    pub fn new(vault: Arc<Vault>, say: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Deck {
        Deck { tape: Mutex::default(), vault, say: Box::new(say) }
    }

    /// Begins a cassette in a new file.
    ///
    /// # Errors
    /// In words, when one is recorded already or the file cannot be made; one that is there is never written over.
    pub fn begin(&self, path: &Path, made: jiff::Timestamp) -> Result<(), String> {
        let mut tape = self.tape.lock();
        if let Some(tape) = &*tape {
            return Err(format!("{} is being recorded; stop that first", tape.taped.path.display()));
        }
        let told = |why: std::io::Error| match why.kind() {
            std::io::ErrorKind::AlreadyExists => format!("{} is there already; name another file", path.display()),
            _ => format!("{} cannot be made: {why}", path.display()),
        };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(told)?;
        let line = Head { made, by: By::Models }.line();
        file.write_all(line.as_bytes()).and_then(|()| file.sync_data()).map_err(told)?;
        let taped = Taped { path: path.to_path_buf(), exchanges: 0, private: 0, lost: 0 };
        *tape = Some(Tape { file, bytes: line.len(), taped });
        Ok(())
    }

    /// Ends the cassette; returns what is on it, if one was recorded.
    pub fn end(&self) -> Option<Taped> {
        self.tape.lock().take().map(|tape| tape.taped)
    }

    /// Returns what was recorded up to now, if something is.
    pub fn recording(&self) -> Option<Taped> {
        self.tape.lock().as_ref().map(|tape| tape.taped.clone())
    }

    /// Tells whether the exchange of a prompt is to be recorded. Of one that may not be, it is said.
    pub(super) fn wants(&self, privacy: Privacy) -> bool {
        let mut tape = self.tape.lock();
        let Some(tape) = &mut *tape else { return false };
        if !privacy.is_kept() {
            return true;
        }
        tape.taped.private += 1;
        (self.say)(LogLevel::Warning, "an exchange was not recorded: the conversation may not leave this machine");
        false
    }

    /// Writes an exchange down, with its secrets masked. Where that fails, the file ends with its last whole line.
    pub(super) fn put(&self, exchange: Exchange) {
        let line = match exchange.request.len().max(exchange.chunks.iter().map(Vec::len).sum()) > MOST_BODY {
            true => Err(format!("it has more than {} MB", MOST_BODY >> 20)),
            false => Ok(self.masked(exchange).line()),
        };
        let mut tape = self.tape.lock();
        let Some(tape) = &mut *tape else { return };
        let written = line.and_then(|line| tape.write(&line));
        match written {
            Ok(()) => tape.taped.exchanges += 1,
            Err(why) => {
                tape.taped.lost += 1;
                let path = tape.taped.path.display();
                (self.say)(LogLevel::Error, &format!("an exchange could not be recorded in {path}: {why}"));
            }
        }
    }

    fn masked(&self, exchange: Exchange) -> Exchange {
        let hidden = |text: &str| {
            let known = self.vault.mask(text);
            let (masked, found) = mask(&known);
            (u64::from(known != text) + found.len() as u64, masked)
        };
        let (in_request, request) = hidden(&exchange.request);
        let answer = exchange.answer();
        let (in_answer, masked) = hidden(&String::from_utf8_lossy(&answer));
        let (in_pieces, masked) = pieces::masked(&masked, &hidden).unwrap_or((0, masked));
        let found = in_answer + in_pieces;
        let chunks = if found > 0 { vec![masked.into_bytes()] } else { exchange.chunks };
        Exchange { request, chunks, redacted: in_request + found, ..exchange }
    }
}

impl Tape {
    fn write(&mut self, line: &str) -> Result<(), String> {
        if self.bytes + line.len() > MOST_BYTES || self.taped.exchanges == MOST_EXCHANGES {
            let most = format!("{} MB or {MOST_EXCHANGES} exchanges", MOST_BYTES >> 20);
            return Err(format!("a cassette has at most {most}; begin another one"));
        }
        let done = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        if let Err(why) = done {
            // Half a line would tear it: what is whole stays.
            let whole = u64::try_from(self.bytes).unwrap_or(u64::MAX);
            let cut = self.file.set_len(whole).and_then(|()| {
                use std::io::Seek;
                self.file.seek(std::io::SeekFrom::Start(whole)).map(drop)
            });
            let torn = cut.err().map(|why| format!(", and its last line is torn: {why}")).unwrap_or_default();
            return Err(format!("{why}{torn}"));
        }
        self.bytes += line.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cassette::{Cassette, End};

    fn exchange(request: &str) -> Exchange {
        Exchange {
            at: jiff::Timestamp::UNIX_EPOCH,
            provider: "desk".into(),
            kind: "openai".into(),
            model: "m".into(),
            url: String::new(),
            request: request.to_string(),
            status: 200,
            headers: Vec::new(),
            chunks: vec![b"a".to_vec()],
            end: End::Whole,
            redacted: 0,
        }
    }

    fn deck() -> (Deck, Arc<Mutex<Vec<String>>>) {
        let said: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = said.clone();
        (Deck::new(Arc::new(Vault::empty()), move |_, text| kept.lock().push(text.to_string())), said)
    }

    #[test]
    fn a_full_disk_loses_an_exchange_and_says_so_and_what_is_whole_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.jsonl");
        let (deck, said) = deck();
        deck.begin(&path, jiff::Timestamp::UNIX_EPOCH).expect("it begins");
        deck.put(exchange("one"));
        // The next bytes go to a device that is always full.
        if let Some(tape) = deck.tape.lock().as_mut() {
            tape.file = OpenOptions::new().write(true).open("/dev/full").expect("a device");
        }
        deck.put(exchange("two"));
        let taped = deck.end().expect("it was recorded");
        assert_eq!((taped.exchanges, taped.lost), (1, 1));
        assert!(said.lock().iter().any(|text| text.contains("No space left on device")), "{said:?}");
        let read = Cassette::read(&std::fs::read(&path).expect("a file")).expect("it is whole");
        assert_eq!(read.exchanges.iter().map(|exchange| exchange.request.as_str()).collect::<Vec<_>>(), ["one"]);
    }

    #[test]
    fn what_is_too_large_is_not_recorded_and_the_rest_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.jsonl");
        let (deck, said) = deck();
        deck.begin(&path, jiff::Timestamp::UNIX_EPOCH).expect("it begins");
        deck.put(exchange(&"x".repeat(MOST_BODY + 1)));
        deck.put(exchange("one"));
        let taped = deck.end().expect("it was recorded");
        assert_eq!((taped.exchanges, taped.lost), (1, 1));
        assert!(said.lock().iter().any(|text| text.contains("it has more than 8 MB")), "{said:?}");
    }
}
