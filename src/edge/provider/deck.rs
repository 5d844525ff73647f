//! What records exchanges with providers on a cassette: a file of lines that only grow, with secrets masked.
//!
//! Masking and writing are the work of a thread of the cassette's own: nobody holds a lock meanwhile or waits for a disk, not
//! even whose exchange it is. Of a conversation that may not leave this machine nothing is recorded, and that is said.

use crate::domain::cassette::pieces;
use crate::domain::cassette::{By, Exchange, Head, MOST_BODY, MOST_BYTES, MOST_EXCHANGES};
use crate::domain::gate::secret::mask;
use crate::domain::label::Privacy;
use crate::domain::port::LogLevel;
use crate::edge::secret::Vault;
use crate::edge::thread::spawn;
use parking_lot::Mutex;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Where lines for the log go.
type Say = Arc<dyn Fn(LogLevel, &str) + Send + Sync>;

/// The stack of the thread that writes, in bytes.
const STACK: usize = 2 << 20;
/// At its end a cassette waits so long for the disk to take the next exchange.
const PATIENCE: Duration = Duration::from_secs(10);

/// Records exchanges while a cassette is in it.
pub struct Deck {
    /// Held for a moment only.
    tape: Mutex<Option<Tape>>,
    vault: Arc<Vault>,
    say: Say,
}

/// A cassette that is being recorded, as those see it who have something to record.
struct Tape {
    to: Sender<Waiting>,
    state: Arc<State>,
    writer: JoinHandle<()>,
    /// Nobody speaks here any more once all is written.
    over: Receiver<()>,
    patience: Duration,
}

/// What they share with the thread that writes.
struct State {
    /// Held for a moment only.
    taped: Mutex<Taped>,
    /// How many bytes wait to be written.
    waiting: AtomicUsize,
    /// So many may.
    room: usize,
}

/// An exchange that waits to be written.
struct Waiting {
    exchange: Exchange,
    size: usize,
}

/// What writes, on its own thread.
struct Writer {
    file: File,
    bytes: usize,
    exchanges: usize,
    state: Arc<State>,
    vault: Arc<Vault>,
    say: Say,
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
    /// How many are not written yet.
    pub waits: usize,
}

impl fmt::Debug for Deck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deck").field("recording", &self.recording()).finish()
    }
}

impl fmt::Display for Taped {
    /// Says it to people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Taped { path, exchanges, private, lost, waits } = self;
        write!(f, "{} exchanges are in {}", exchanges, path.display())?;
        if *private > 0 {
            write!(f, "; {private} were not recorded, as nothing of them may leave this machine")?;
        }
        if *lost > 0 {
            write!(f, "; {lost} could not be recorded: the log says why")?;
        }
        if *waits > 0 {
            write!(f, "; {waits} wait for the disk, which does not answer, and are lost if this program ends first")?;
        }
        Ok(())
    }
}

impl Deck {
    /// Makes one without a cassette. The vault's values are masked in all that it records.
    pub fn new(vault: Arc<Vault>, say: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Deck {
        Deck { tape: Mutex::default(), vault, say: Arc::new(say) }
    }

    /// Begins a cassette in a new file. It waits for the disk.
    ///
    /// # Errors
    /// In words, when one is recorded already or the file cannot be made; one that is there is never written over.
    pub fn begin(&self, path: &Path, made: jiff::Timestamp) -> Result<(), String> {
        let taken = |taped: &Taped| format!("{} is being recorded; stop that first", taped.path.display());
        if let Some(taped) = self.recording() {
            return Err(taken(&taped));
        }
        let told = |why: std::io::Error| match why.kind() {
            std::io::ErrorKind::AlreadyExists => format!("{} is there already; name another file", path.display()),
            _ => format!("{} cannot be made: {why}", path.display()),
        };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(told)?;
        let line = Head { made, by: By::Models }.line();
        file.write_all(line.as_bytes()).and_then(|()| file.sync_data()).map_err(told)?;
        let begun = self.load(path, file, line.len(), MOST_BYTES).map_err(told)?;
        let mut tape = self.tape.lock();
        if let Some(other) = &*tape {
            let why = taken(&other.state.taped.lock());
            drop(tape);
            // Nothing stands in ours.
            let _ = std::fs::remove_file(path);
            return Err(why);
        }
        *tape = Some(begun);
        Ok(())
    }

    /// Starts the thread that writes to a file of so many bytes; so many more may wait.
    fn load(&self, path: &Path, file: File, bytes: usize, room: usize) -> std::io::Result<Tape> {
        let taped = Taped { path: path.to_path_buf(), exchanges: 0, private: 0, lost: 0, waits: 0 };
        let state = Arc::new(State { taped: Mutex::new(taped), waiting: AtomicUsize::new(0), room });
        let (vault, say) = (self.vault.clone(), self.say.clone());
        let writer = Writer { file, bytes, exchanges: 0, state: state.clone(), vault, say };
        let (to, from) = channel();
        let (goes_on, over) = channel::<()>();
        let writer = spawn("passepartout-cassette", STACK, move || {
            let _goes_on = goes_on;
            writer.run(&from);
        })?;
        Ok(Tape { to, state, writer, over, patience: PATIENCE })
    }

    /// Ends the cassette; returns what is on it, if one was recorded. It waits until all of it is written, as long as the
    /// disk takes one exchange after the other; what it does not take is said, and written should it answer yet.
    pub fn end(&self) -> Option<Taped> {
        let Tape { to, state, writer, over, patience } = self.tape.lock().take()?;
        drop(to);
        loop {
            let before = state.taped.lock().waits;
            if over.recv_timeout(patience) != Err(RecvTimeoutError::Timeout) {
                break;
            }
            let taped = state.taped.lock().clone();
            if taped.waits >= before {
                (self.say)(LogLevel::Warning, &format!("the cassette ends before it is written: {taped}"));
                return Some(taped);
            }
        }
        if writer.join().is_err() {
            (self.say)(LogLevel::Error, "what writes the cassette broke; the log says where");
        }
        let taped = state.taped.lock().clone();
        Some(taped)
    }

    /// Returns what was recorded up to now, if something is.
    pub fn recording(&self) -> Option<Taped> {
        self.tape.lock().as_ref().map(|tape| tape.state.taped.lock().clone())
    }

    /// Tells whether the exchange of a prompt is to be recorded. Of one that may not be, it is said.
    pub(super) fn wants(&self, privacy: Privacy) -> bool {
        let Some(state) = self.tape.lock().as_ref().map(|tape| tape.state.clone()) else { return false };
        if !privacy.is_kept() {
            return true;
        }
        state.taped.lock().private += 1;
        (self.say)(LogLevel::Warning, "an exchange was not recorded: the conversation may not leave this machine");
        false
    }

    /// Has an exchange written down, with its secrets masked. Where it fails, the file ends with its last whole line.
    pub(super) fn put(&self, exchange: Exchange) {
        let tape = self.tape.lock().as_ref().map(|tape| (tape.to.clone(), tape.state.clone()));
        if let Some((to, state)) = tape
            && let Err(why) = state.take(&to, exchange)
        {
            state.lose(&self.say, &why);
        }
    }
}

impl State {
    /// Hands an exchange to the thread that writes, unless there is more of it than a cassette may have.
    fn take(&self, to: &Sender<Waiting>, exchange: Exchange) -> Result<(), String> {
        let answer = exchange.chunks.iter().map(Vec::len).sum();
        if exchange.request.len().max(answer) > MOST_BODY {
            return Err(format!("it has more than {} MB", MOST_BODY >> 20));
        }
        let size = exchange.request.len() + answer;
        if self.waiting.fetch_add(size, Ordering::AcqRel).saturating_add(size) > self.room {
            self.waiting.fetch_sub(size, Ordering::AcqRel);
            return Err(format!("more than {} MB wait for the disk", self.room >> 20));
        }
        self.taped.lock().waits += 1;
        to.send(Waiting { exchange, size }).map_err(|_| {
            self.taped.lock().waits -= 1;
            "what writes it has ended".to_string()
        })
    }

    fn lose(&self, say: &Say, why: &str) {
        let path = {
            let mut taped = self.taped.lock();
            taped.lost += 1;
            taped.path.clone()
        };
        say(LogLevel::Error, &format!("an exchange could not be recorded in {}: {why}", path.display()));
    }
}

impl Writer {
    /// Writes what comes, until nobody has anything any more.
    fn run(mut self, from: &Receiver<Waiting>) {
        for Waiting { exchange, size } in from {
            let line = self.masked(exchange).line();
            // What would not be read again would take all behind it along.
            let sound = Exchange::read(line.as_bytes()).map(drop);
            let written = sound.and_then(|()| self.write(&line));
            self.state.waiting.fetch_sub(size, Ordering::AcqRel);
            let mut taped = self.state.taped.lock();
            taped.waits -= 1;
            taped.exchanges += usize::from(written.is_ok());
            drop(taped);
            if let Err(why) = written {
                self.state.lose(&self.say, &why);
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

    fn write(&mut self, line: &str) -> Result<(), String> {
        if self.bytes + line.len() > MOST_BYTES || self.exchanges == MOST_EXCHANGES {
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
        self.exchanges += 1;
        Ok(())
    }
}

#[cfg(test)]
impl Deck {
    /// Begins a cassette on a disk that does not answer: a pipe that nobody reads. Whoever writes there waits until somebody
    /// does.
    pub(in crate::edge) fn record_on_a_dead_disk(&self, room: usize, patience: Duration) -> std::io::PipeReader {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let file = File::from(std::os::fd::OwnedFd::from(writer));
        let begun = self.load(Path::new("a.jsonl"), file, 0, room).expect("it begins");
        *self.tape.lock() = Some(Tape { patience, ..begun });
        reader
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cassette::{Cassette, End};
    use proptest::prelude::*;

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
            asking: 0,
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
        assert_eq!(deck.end().expect("it was recorded").exchanges, 1);
        // A device that is always full.
        let full = OpenOptions::new().write(true).open("/dev/full").expect("a device");
        *deck.tape.lock() = Some(deck.load(&path, full, 0, MOST_BYTES).expect("it begins"));
        deck.put(exchange("two"));
        let taped = deck.end().expect("it was recorded");
        assert_eq!((taped.exchanges, taped.lost), (0, 1));
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

    fn any_exchange() -> impl Strategy<Value = Exchange> {
        let headers = prop::collection::vec((".{0,8}", ".{0,8}"), 0..3);
        let end = prop_oneof![Just(End::Whole), Just(End::Cut), Just(End::Never)];
        let status = prop_oneof![Just(0), 100..1100_u16];
        let chunks = prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..3);
        (headers, end, status, chunks, ".{0,20}", any::<u64>()).prop_map(
            |(headers, end, status, chunks, text, asking)| Exchange {
                headers,
                end,
                status,
                chunks,
                provider: text.clone(),
                url: text.clone(),
                asking,
                ..exchange(&text)
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn whatever_is_recorded_is_read_again(exchanges in prop::collection::vec(any_exchange(), 0..6)) {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("a.jsonl");
            let (deck, said) = deck();
            deck.begin(&path, jiff::Timestamp::UNIX_EPOCH).expect("it begins");
            let count = exchanges.len();
            exchanges.into_iter().for_each(|exchange| deck.put(exchange));
            let taped = deck.end().expect("it was recorded");
            let read = Cassette::read(&std::fs::read(&path).expect("a file"));
            prop_assert_eq!(read.map(|cassette| cassette.exchanges.len()), Ok(taped.exchanges));
            prop_assert_eq!((taped.exchanges + taped.lost, said.lock().len()), (count, taped.lost));
        }
    }

    #[test]
    fn what_would_not_be_read_again_is_lost_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.jsonl");
        let (deck, said) = deck();
        deck.begin(&path, jiff::Timestamp::UNIX_EPOCH).expect("it begins");
        let headers = vec![("content-type".to_string(), "text/event-stream;\tcharset=utf-8".to_string())];
        deck.put(Exchange { headers, ..exchange("tab") });
        deck.put(Exchange { status: 99, ..exchange("status") });
        deck.put(Exchange { status: 999, ..exchange("one") });
        let taped = deck.end().expect("it was recorded");
        assert_eq!((taped.exchanges, taped.lost), (1, 2), "{said:?}");
        for words in ["a header is no pair of plain texts", "“status” is none of an answer"] {
            assert!(said.lock().iter().any(|text| text.contains(words)), "{said:?}");
        }
        let read = Cassette::read(&std::fs::read(&path).expect("a file")).expect("it is whole");
        assert_eq!(read.exchanges.iter().map(|exchange| exchange.request.as_str()).collect::<Vec<_>>(), ["one"]);
    }

    #[tokio::test]
    async fn a_disk_that_does_not_answer_holds_up_nobody() {
        let (deck, said) = deck();
        let mut reader = deck.record_on_a_dead_disk(1 << 20, Duration::from_millis(20));
        // More than a pipe takes in.
        let large = || exchange(&"x ".repeat(100_000));
        deck.put(large());
        // Others may come, see what is recorded, and go.
        let counted = deck.recording().expect("it is recorded");
        assert_eq!((counted.exchanges, counted.lost, counted.waits), (0, 0, 1));
        assert!(!deck.wants(Privacy::Private) && deck.wants(Privacy::Open));
        // What waits is bounded: five of them are less than a megabyte.
        (0..9).for_each(|_| deck.put(large()));
        let counted = deck.recording().expect("it is recorded");
        assert_eq!((counted.lost, counted.private, counted.waits), (5, 1, 5));
        assert!(said.lock().iter().any(|text| text.contains("more than 1 MB wait for the disk")), "{said:?}");
        let taped = deck.end().expect("it was recorded");
        assert_eq!((taped.exchanges, taped.waits), (0, 5));
        assert!(taped.to_string().contains("5 wait for the disk, which does not answer"), "{taped}");
        assert!(said.lock().iter().any(|text| text.contains("ends before it is written")), "{said:?}");
        assert_eq!(deck.recording(), None, "another one may begin");
        // Should it answer yet, nothing is lost.
        let mut all = Vec::new();
        std::io::Read::read_to_end(&mut reader, &mut all).expect("it is read to its end");
        assert_eq!(all.iter().filter(|byte| **byte == b'\n').count(), 5);
    }

    #[test]
    fn a_disk_that_is_slow_is_waited_for() {
        let (deck, _) = deck();
        let mut reader = deck.record_on_a_dead_disk(MOST_BYTES, Duration::from_secs(60));
        (0..20).for_each(|_| deck.put(exchange(&"x ".repeat(100_000))));
        let reads = std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
        let taped = deck.end().expect("it was recorded");
        assert!(reads.join().is_ok_and(|read| read.is_ok()));
        assert_eq!((taped.exchanges + taped.lost, taped.waits), (20, 0), "a pipe takes all, and cannot be synced");
    }
}
