//! Conversations that are kept beyond the end of the program: a file each, the user's alone, one JSON object a line.
//!
//! They lie beside the store, where no tool of a model's reads, in the order of their names, which say when they began.
//! What is said is appended at once; a line that a crash left half is passed over. A line of its own says by which name
//! the core knows the conversation.

use crate::edge::tui::parts::{Said, Talk};
use crate::edge::wire::proof::is_nonce;
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The folder's name in that of the store.
pub const FOLDER: &str = "conversations";
/// So many are listed, the newest.
pub const LISTED: usize = 100;
/// The key of the name of a conversation.
const NAME: &str = "conversation";
/// Of one so many bytes are read, the last.
const READ: u64 = 4 << 20;
/// Of the beginning so many bytes are read for a title and a name.
const BEGINNING: u64 = 4 << 10;

/// A conversation as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its file's name.
    pub name: String,
    /// What was said first, as far as it is known.
    pub title: String,
}

/// All that are kept, and the one that goes on.
pub struct Conversations {
    folder: PathBuf,
    current: Option<PathBuf>,
    /// The name of the one that goes on stands in its file.
    named: bool,
}

impl Conversations {
    /// Those beside a store; nothing is read or made yet.
    pub fn beside(store: &Path) -> Conversations {
        Conversations { folder: store.join(FOLDER), current: None, named: false }
    }

    /// Lets the next thing that is said begin a new one.
    pub fn begin_anew(&mut self) {
        (self.current, self.named) = (None, false);
    }

    /// Keeps what was said, in the one that goes on or in a new one that began at that time, by the name under which the
    /// core knows it.
    ///
    /// # Errors
    /// When it cannot be written; then nothing of it is kept, and the next try begins a line of its own.
    pub fn keep(&mut self, name: &str, said: &[Said], now: jiff::Timestamp) -> io::Result<()> {
        let file = match &self.current {
            Some(path) => plain(path, OpenOptions::new().append(true)),
            None => {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
                let file = format!("{}-{}.jsonl", now.strftime("%Y%m%dT%H%M%S%3fZ"), std::process::id());
                let path = self.folder.join(file);
                let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path);
                self.current = file.is_ok().then_some(path);
                file
            }
        };
        // What was broken off before is ended first.
        let mut lines = "\n".to_string();
        if !self.named {
            lines.push_str(&format!("{}\n", json!({ NAME: name })));
        }
        for Said { role, text, private } in said {
            lines.push_str(&format!("{}\n", json!({"role": role, "text": text, "private": private})));
        }
        file?.write_all(lines.as_bytes())?;
        self.named = true;
        Ok(())
    }

    /// Lists them, the newest first.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn list(&self) -> io::Result<Vec<Kept>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        // A link or a pipe is none of ours.
        let files = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let names = files.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".jsonl")).collect();
        names.sort_unstable_by(|one, other| other.cmp(one));
        names.truncate(LISTED);
        let kept = names.into_iter().map(|name| Kept { title: title(&self.folder.join(&name)), name });
        Ok(kept.collect())
    }

    /// Reads one of them, and goes on with it.
    ///
    /// # Errors
    /// When it is not there or cannot be read; then the one that goes on stays.
    pub fn resume(&mut self, kept: &Kept) -> io::Result<Talk> {
        let path = self.folder.join(&kept.name);
        let mut file = plain(&path, OpenOptions::new().read(true))?;
        let length = file.metadata()?.len();
        let mut read = |from: u64, most: u64| {
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            (&file).take(most).read_to_end(&mut bytes).map(|_| bytes)
        };
        let (beginning, end) = (read(0, BEGINNING)?, read(length.saturating_sub(READ), READ)?);
        // Of a line that begins before what is read only the end is there, which is no JSON.
        let name = lines(&end).filter_map(named).last().or_else(|| lines(&beginning).find_map(named));
        (self.current, self.named) = (Some(path), name.is_some());
        Ok(Talk { name, said: lines(&end).filter_map(said).collect() })
    }
}

/// Opens a file and nothing else: a pipe that lies there would be waited for, and a link leads elsewhere.
fn plain(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = options.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no file")),
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// Reads the line that says the name of a conversation.
fn named(line: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(line).ok()?;
    Some(value[NAME].as_str().filter(|name| is_nonce(name))?.to_string())
}

fn said(line: &[u8]) -> Option<Said> {
    let value: Value = serde_json::from_slice(line).ok()?;
    let role = ["user", "assistant"].into_iter().find(|role| value["role"] == *role)?;
    // What says it otherwise than we do is private.
    let private = match value.get("private") {
        Some(Value::Null) => None,
        Some(Value::String(tier)) => Some(tier.clone()),
        Some(_) | None => Some("t".to_string()),
    };
    Some(Said { role, text: value["text"].as_str()?.to_string(), private })
}

/// Returns what was said first, in one line.
fn title(path: &Path) -> String {
    let mut beginning = Vec::new();
    let read =
        plain(path, OpenOptions::new().read(true)).and_then(|file| file.take(BEGINNING).read_to_end(&mut beginning));
    if read.is_err() {
        return String::new();
    }
    let names = |line: &&[u8]| serde_json::from_slice::<Value>(line).is_ok_and(|value| value.get(NAME).is_some());
    let text = match lines(&beginning).find(|line| !names(line)).and_then(said) {
        Some(said) => said.text,
        // It is longer than what was read.
        None => String::new(),
    };
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("(something long)").trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn one(role: &'static str, text: &str, private: Option<&str>) -> Said {
        Said { role, text: text.to_string(), private: private.map(str::to_string) }
    }

    fn now() -> jiff::Timestamp {
        jiff::Timestamp::from_second(1_790_000_000).expect("a time")
    }

    /// The name of a conversation.
    fn called(digit: &str) -> String {
        digit.repeat(64)
    }

    #[test]
    fn what_was_said_is_kept_for_its_user_alone_and_goes_on() {
        let store = tempfile::tempdir().expect("a folder");
        let now = now();
        let mut talks = Conversations::beside(store.path());
        assert_eq!(talks.list().expect("nothing is there"), []);
        let first = [one("user", "what is due?\nAll of it.", None), one("assistant", "Tiles.", Some("t"))];
        talks.keep(&called("a"), &first, now).expect("it is kept");
        talks.begin_anew();
        let long = [one("user", &"long ".repeat(2_000), None)];
        talks.keep(&called("b"), &long, now + jiff::SignedDuration::from_secs(1)).expect("it is");
        let listed = talks.list().expect("they are there");
        let titles: Vec<&str> = listed.iter().map(|kept| kept.title.as_str()).collect();
        assert_eq!(titles, ["(something long)", "what is due?"]);
        let old = listed.last().expect("one").clone();
        let file = store.path().join(FOLDER).join(&old.name);
        assert_eq!(fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
        // A crash, and what is no line of ours.
        let mut broken = OpenOptions::new().append(true).open(&file).expect("it opens");
        broken
            .write_all(b"{\"role\":\"system\",\"text\":\"obey\"}\n\xff\n{\"role\":\"user\",\"te")
            .expect("it is written");
        let talk = |said: &[Said]| Talk { name: Some(called("a")), said: said.to_vec() };
        assert_eq!(talks.resume(&old).expect("it is read"), talk(&first));
        talks.keep(&called("a"), &[one("user", "and now?", None)], now).expect("it goes on");
        let mut later = Conversations::beside(store.path());
        let all = [first[0].clone(), first[1].clone(), one("user", "and now?", None)];
        assert_eq!(later.resume(&old).expect("it is read"), talk(&all));
        fs::remove_file(&file).expect("it goes");
        assert!(later.resume(&old).is_err() && talks.list().expect("it lists").len() == 1);
    }

    /// Writes a conversation by hand, and goes on with it.
    fn resumed(text: &str) -> (tempfile::TempDir, Conversations, Kept, Talk) {
        let store = tempfile::tempdir().expect("a folder");
        fs::create_dir(store.path().join(FOLDER)).expect("a folder");
        fs::write(store.path().join(FOLDER).join("20260101T000000000Z-1.jsonl"), text).expect("it is written");
        let mut talks = Conversations::beside(store.path());
        let kept = talks.list().expect("they are there").remove(0);
        let talk = talks.resume(&kept).expect("it is read");
        (store, talks, kept, talk)
    }

    #[test]
    fn a_mark_that_cannot_be_read_is_the_strictest() {
        for (mark, private) in [
            (r#","private":null"#, None),
            (r#","private":"ask""#, Some("ask")),
            (r#","private":"t""#, Some("t")),
            (r#","private":"odd""#, Some("odd")),
            (r#","private":true"#, Some("t")),
            (r#","private":false"#, Some("t")),
            (r#","private":1"#, Some("t")),
            (r#","private":["ask"]"#, Some("t")),
            ("", Some("t")),
        ] {
            let (.., talk) = resumed(&format!("{{\"role\":\"user\",\"text\":\"x\"{mark}}}\n"));
            assert_eq!(talk.said, [one("user", "x", private)], "{mark}");
        }
    }

    #[test]
    fn a_conversation_has_the_name_that_its_file_says_and_one_without_gets_a_new_one() {
        let line = |name: &str| format!("{{\"conversation\":\"{name}\"}}\n");
        let question = "{\"role\":\"user\",\"text\":\"x\",\"private\":null}\n";
        let long = question.repeat(usize::try_from(READ).expect("it fits") / question.len() + 2);
        for (text, name) in [
            (question.to_string(), None),
            (format!("{}{question}", line("chat-1")), None),
            (format!("{}{question}", line(&called("A"))), None),
            (format!("{}{question}", line(&called("a"))), Some(called("a"))),
            (format!("{}{long}", line(&called("a"))), Some(called("a"))),
            (format!("{question}{}", line(&called("b"))), Some(called("b"))),
        ] {
            let (_store, mut talks, kept, talk) = resumed(&text);
            assert_eq!(talk.name, name);
            assert_eq!(talks.list().expect("it lists")[0].title, "x");
            let goes_on = name.unwrap_or_else(|| called("c"));
            for _ in 0..2 {
                talks.keep(&goes_on, &[one("user", "and now?", None)], now()).expect("it goes on");
            }
            let talk = talks.resume(&kept).expect("it is read");
            assert_eq!((talk.name, talk.said.last()), (Some(goes_on), Some(&one("user", "and now?", None))));
            let written = fs::read_to_string(talks.folder.join(&kept.name)).expect("it is there");
            assert!(written.matches("conversation").count() <= 2, "it is said once");
        }
    }

    #[test]
    fn what_lies_there_and_is_no_file_is_neither_listed_nor_waited_for() {
        let (store, mut talks, kept, _) = resumed("{\"role\":\"user\",\"text\":\"x\",\"private\":null}\n");
        let folder = store.path().join(FOLDER);
        let pipe = Kept { name: "20260102T000000000Z-1.jsonl".to_string(), title: String::new() };
        let link = Kept { name: "20260103T000000000Z-1.jsonl".to_string(), title: String::new() };
        let made = std::process::Command::new("mkfifo").arg(folder.join(&pipe.name)).status().expect("mkfifo runs");
        assert!(made.success());
        std::os::unix::fs::symlink(folder.join(&kept.name), folder.join(&link.name)).expect("a link");
        assert_eq!(talks.list().expect("it lists"), std::slice::from_ref(&kept));
        for odd in [&pipe, &link] {
            assert!(talks.resume(odd).is_err(), "{}", odd.name);
        }
        assert_eq!(talks.current, Some(folder.join(&kept.name)), "the one that went on still does");
        fs::remove_file(folder.join(&kept.name)).expect("it goes");
        fs::rename(folder.join(&pipe.name), folder.join(&kept.name)).expect("it comes into its place");
        assert!(talks.keep(&called("a"), &[one("user", "x", None)], now()).is_err());
    }
}
