//! Buffers of the clients, as the loop hears of them: what changed, where point is, and when a reading has ended.
//!
//! The loop reads no file and copies no text here; that is done beside it.

use crate::domain::inert::exact;
use crate::domain::port::LogLevel;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::edge::engine::Engine;
use crate::edge::org_file::read_text;
use crate::edge::runtime::clients::ClientId;
use crate::edge::runtime::mirror::{OnDisk, Outcome, Update};
use crate::edge::runtime::scans::{Read, Scanned};
use crate::edge::runtime::{Client, Loop};
use crate::edge::walk::canonical_name;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Returns what reads files and buffers into the memory of an engine.
pub(super) fn read(engine: Arc<Engine>) -> Read {
    let (disk, held) = (engine.clone(), engine.clone());
    Read {
        disk: Arc::new(move |file| on_disk(&disk, file)),
        held: Arc::new(move |file| held.held(file)),
        take: Arc::new(move |file, held, text, wanted| engine.take_buffer_over(file, held, text, wanted)),
    }
}

fn on_disk(engine: &Engine, file: &str) -> Result<Option<OnDisk>, String> {
    let path = Path::new(file);
    let missing = || std::fs::symlink_metadata(path).is_err_and(|why| why.kind() == ErrorKind::NotFound);
    if missing() && !engine.is_away(file) {
        return Ok(None);
    }
    let before = modified(path);
    let decoded = read_text(path).map_err(|error| format!("{error}; memory keeps what it had"))?;
    let modified = before.filter(|before| modified(path) == Some(*before));
    Ok(Some(OnDisk { text: decoded.text, modified }))
}

/// Returns when a file was last changed, in nanoseconds since 1970.
fn modified(path: &Path) -> Option<i64> {
    let meta = std::fs::metadata(path).ok()?;
    meta.mtime().checked_mul(1_000_000_000)?.checked_add(meta.mtime_nsec())
}

impl Loop {
    /// Takes note of where a client's point is; the heading there counts when the file's newest text is known.
    pub(super) fn point_update(&mut self, client: ClientId, payload: &Sexp) {
        let place = payload.text_at("file").map(canonical_name).zip(payload.count_at("byte"));
        if let Some((file, byte)) = place
            && let Some(state) = self.clients.get_mut(&client)
        {
            state.point = Some((file, byte));
            self.pointed = client;
            self.focus(client);
        }
    }

    /// Moves the focus of a client, and of the core, to where that client's point is.
    fn focus(&mut self, client: ClientId) {
        if let Some(state) = self.clients.get_mut(&client)
            && let Some((file, byte)) = &state.point
            && !self.scans.pending(file)
            && let Some((node, _)) = self.engine.focus_at(file, *byte)
            && state.focus.as_ref() != Some(&node)
        {
            state.focus = Some(node);
            self.send_status();
        }
    }

    /// A client asks something: what it means by “this” is where its own point is.
    pub(super) fn look_where_it_is(&mut self, client: ClientId) {
        if self.pointed != client && self.clients.get(&client).is_some_and(|state| state.point.is_some()) {
            self.pointed = client;
            self.focus(client);
        }
    }

    /// Takes note of what became of a buffer; it is read when it has rested.
    pub(super) fn buffer_update(&mut self, client: ClientId, payload: &Sexp) {
        let Some(typed) = payload.text_at("file") else { return };
        let file = canonical_name(typed);
        let closed = payload.name_at("part") == Some("closed");
        if !closed && self.is_strange(&file) {
            return;
        }
        let update = self.opened.take(client, &file, payload);
        self.registry.note_open(&file, client, !closed);
        self.note_open(&file);
        match update {
            Update::Changed => self.scans.changed(file),
            Update::Waiting => {}
            Update::Lost => self.resync(client, typed),
            Update::Refused(why) => {
                // What the mirror had is not what the buffer has.
                self.scans.changed(file);
                if let Some(client) = self.clients.get(&client) {
                    client.channel.refuse(None, format!("{}: {why}", exact(typed)));
                }
            }
        }
    }

    /// Tells the engine whether a file is open anywhere, and whether a buffer holds what the file does not.
    pub(super) fn note_open(&self, file: &str) {
        let open = self.opened.is_open(file);
        self.engine.note_open(file, self.opened.ahead(file));
        self.engine.note_buffer(file, open);
        if !open && !self.engine.belongs(file) {
            let engine = self.engine.clone();
            tokio::task::spawn_blocking(move || engine.leave_out_strangers());
        }
    }

    /// Asks for a buffer as a whole.
    fn resync(&self, client: ClientId, typed: &str) {
        if let Some(client) = self.clients.get(&client) {
            let payload = Plist::new().keyword("action", "resync").text("file", typed);
            client.channel.outbox.send("request", None, payload);
        }
    }

    /// Reads a file's new text, beside the loop.
    pub(super) fn rested(&mut self, file: String) {
        let opened = &self.opened;
        self.scans.rested(file.clone(), || opened.job(&file));
    }

    /// Has a file that is gone taken out of memory, unless a buffer holds what it had.
    ///
    /// It goes the way of news of the disk and beside them: with those of a new name it is a file that was renamed.
    fn look_at(&self, file: &str) {
        let path = PathBuf::from(file);
        match &self.watch {
            Some(watch) => watch.look(path),
            None => {
                let engine = self.engine.clone();
                tokio::task::spawn_blocking(move || engine.read_changed(&[path]));
            }
        }
    }

    /// Takes note that a file was read; the point may be in a heading that was not known before.
    pub(super) fn scanned(&mut self, file: String, scanned: Scanned) {
        let behind = matches!(scanned.taken, Ok(false));
        if let Err(why) = scanned.taken {
            self.engine.say(LogLevel::Warning, &why);
        }
        if scanned.outcome.as_ref().is_some_and(Outcome::is_gone) {
            self.look_at(&file);
        }
        let lost = scanned.outcome.and_then(|outcome| self.opened.settle(&file, outcome));
        if let Some((client, typed)) = lost {
            self.resync(client, &typed);
        }
        if self.scans.ended(&file, behind) {
            return self.rested(file);
        }
        let there = |client: &Client| client.point.as_ref().is_some_and(|(at, _)| *at == file);
        if self.clients.get(&self.pointed).is_some_and(there) {
            self.focus(self.pointed);
        }
        self.release(&file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::clock::SystemClock;
    use crate::edge::config::{Config, ProviderSetting, Surroundings};
    use crate::edge::engine::boot::{self, Boot, Keep};
    use crate::edge::runtime::clients::{Channel, Clients, OWN};
    use crate::edge::runtime::outbox::Outbox;
    use crate::edge::runtime::{Ears, Event, Letter, listen, tell};
    use crate::edge::secret::Vault;
    use std::sync::mpsc as channel;
    use std::time::Duration;
    use tokio::sync::mpsc;

    /// A test never hangs.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// The loop with a client that only listens, and a reading of buffers that the test holds up.
    struct Held {
        inbox: mpsc::UnboundedSender<Event>,
        own: Arc<Channel>,
        outbox: Arc<Outbox>,
        woken: Arc<tokio::sync::Notify>,
        engine: Arc<Engine>,
        /// What is on disk, last changed at 7.
        disk: Arc<parking_lot::Mutex<String>>,
        /// Each reading says which text it has, or that it reads the disk, and waits to be told to go on.
        begun: channel::Receiver<String>,
        go_on: channel::Sender<()>,
    }

    impl Held {
        async fn start(folder: &std::path::Path, url: String) -> Held {
            let woken = Arc::new(tokio::sync::Notify::new());
            let bell = woken.clone();
            let outbox = Outbox::new(Box::new(move || bell.notify_one()));
            let variables = [("HOME", folder.join("home")), ("XDG_STATE_HOME", folder.join("state"))];
            let variables =
                variables.map(|(name, path)| (name.to_string(), path.to_string_lossy().into_owned())).into();
            let mut config = Config::read(&Surroundings { variables });
            config.cascade = Some(vec!["mute".to_string()]);
            let (name, kind) = ("mute".to_string(), "openai".to_string());
            config.providers = vec![ProviderSetting {
                name,
                kind,
                url: Some(url),
                model: Some("m".into()),
                local: true,
                effort: None,
            }];
            let own = Channel::own(outbox.clone());
            let clients = Clients::of(own.clone());
            let (inbox, events) = mpsc::unbounded_channel();
            let boot = Boot {
                config,
                vault: Vault::empty(),
                editor: clients.clone(),
                clock: Arc::new(SystemClock),
                notify: tell(clients.clone(), inbox.clone()),
                keep: Keep::InMemory,
            };
            let engine = boot::start(boot).await.expect("the engine starts");
            let ears = Ears { inbox: inbox.clone(), events };
            let (begin, begun) = channel::channel();
            let (go_on, told) = channel::channel();
            let (begin, told, reader) = (parking_lot::Mutex::new(begin), parking_lot::Mutex::new(told), engine.clone());
            let hold = Arc::new(move |text: &str| {
                begin.lock().send(text.to_string()).expect("the test listens");
                told.lock().recv_timeout(PATIENCE).expect("the test goes on");
            });
            let (before, disk) = (hold.clone(), Arc::new(parking_lot::Mutex::new(String::new())));
            let (found, known) = (disk.clone(), engine.clone());
            let read = Read {
                disk: Arc::new(move |_| {
                    before("the disk");
                    Ok(Some(OnDisk { text: found.lock().as_str().into(), modified: Some(7) }))
                }),
                held: Arc::new(move |file| known.held(file)),
                take: Arc::new(move |file, held, text, wanted| {
                    hold(&text);
                    reader.take_buffer_over(file, held, text, wanted)
                }),
            };
            tokio::spawn(listen(engine.clone(), clients, ears, (read, crate::edge::runtime::Host::Emacs)));
            Held { inbox, own, outbox, woken, engine, disk, begun, go_on }
        }

        fn message(&self, text: &str) {
            // Nothing waits at a gate here.
            self.own.note_waiting(text.len());
            assert!(self.inbox.send(Event::Message(OWN, Letter::read(text))).is_ok(), "the loop runs");
        }

        fn event(&self, payload: &str) {
            self.message(&format!("(:type :event :meta (:session-id \"s\") :payload {payload})"));
        }

        fn write(&self, text: &str) {
            let hash = crate::edge::wire::slices::chain(text, 64 * 1024).hash().to_string();
            let begin = format!(":begin :size {}", text.len());
            for part in [begin, format!(":slice :slice 1 :text {text:?}"), format!(":end :tick 1 :hash \"{hash}\"")] {
                self.event(&format!("(:sensor :buffer-update :file \"/notes/big.org\" :part {part})"));
            }
        }

        fn update(&self, part: &str) {
            self.event(&format!("(:sensor :buffer-update :file \"/notes/big.org\" :part {part})"));
        }

        async fn reading(&self) -> String {
            tokio::task::block_in_place(|| self.begun.recv_timeout(PATIENCE)).expect("it is read")
        }

        /// Waits for a message in which a text stands.
        async fn wait(&self, words: &str) {
            let heard = async {
                while !self.outbox.receive(usize::MAX).iter().any(|message| message.contains(words)) {
                    self.woken.notified().await;
                }
            };
            assert!(tokio::time::timeout(PATIENCE, heard).await.is_ok(), "waited for {words}");
        }
    }

    /// A server that takes connections and says nothing.
    fn mute() -> (std::net::TcpListener, String) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("it has one"));
        (listener, url)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_interrupt_is_answered_while_a_buffer_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let (_server, url) = mute();
        let held = Held::start(folder.path(), url).await;
        held.write("* A heading\n");
        assert_eq!(held.reading().await, "* A heading\n");
        held.event("(:sensor :user-input :text \"are you there?\")");
        held.wait(":turn-started").await;
        held.event("(:sensor :interrupt)");
        held.wait("\"interrupted\"").await;
        assert!(held.engine.view().is_empty(), "the buffer is still being read");
        held.go_on.send(()).expect("it waits");
        held.wait(":headings 1").await;
        assert_eq!(held.engine.view().headings(), 1);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_was_read_of_an_older_text_is_dropped_and_the_newest_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let (_server, url) = mute();
        let held = Held::start(folder.path(), url).await;
        held.write("* Old\n");
        assert_eq!(held.reading().await, "* Old\n");
        held.write("* Half\n");
        held.write("* New\n** Newer\n");
        held.event("(:sensor :point-update :file \"/notes/big.org\" :byte 8)");
        // The loop takes messages in order: when it answers, it has heard of the changes.
        let hello = "(:type :request :payload (:action :hello :request 1))";
        held.message(hello);
        held.wait(":request 1").await;
        held.go_on.send(()).expect("it waits");
        assert_eq!(held.reading().await, "* New\n** Newer\n", "one reading at a time, and of the newest");
        assert!(held.engine.view().is_empty(), "what is stale was dropped");
        held.go_on.send(()).expect("it waits");
        held.wait(":focus-title \"Newer\"").await;
        assert_eq!(held.engine.view().headings(), 2);
        assert_eq!(held.engine.head().0, 1, "one operation");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_change_that_says_where_point_is_moves_the_focus() {
        let folder = tempfile::tempdir().expect("a folder");
        let (_server, url) = mute();
        let held = Held::start(folder.path(), url).await;
        held.write("* One\n");
        assert_eq!(held.reading().await, "* One\n");
        held.go_on.send(()).expect("it waits");
        held.wait(":headings 1").await;
        held.update(":change :beg 6 :end 6 :text \"* Two\n\" :size 12 :tick 2 :byte 11");
        assert_eq!(held.reading().await, "* One\n* Two\n");
        held.go_on.send(()).expect("it waits");
        held.wait(":focus-title \"Two\"").await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_text_of_before_an_act_is_not_taken_over_what_the_act_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let (_server, url) = mute();
        let held = Held::start(folder.path(), url).await;
        held.write("* Old\n");
        assert_eq!(held.reading().await, "* Old\n");
        held.go_on.send(()).expect("it waits");
        held.wait(":headings 1").await;
        held.event(
            "(:sensor :buffer-update :file \"/notes/big.org\" :part :change :beg 2 :end 5 :text \"Odd\" :size 6)",
        );
        assert_eq!(held.reading().await, "* Odd\n");
        // An act changes the buffer while its text of before is read; memory has the act's text before the loop hears.
        held.engine.take_text("/notes/big.org", "* Done\n".into(), "an act").expect("it is taken");
        held.go_on.send(()).expect("it waits");
        // The buffer is looked at once more, over what the act made.
        assert_eq!(held.reading().await, "* Odd\n");
        let text = || held.engine.view().document("/notes/big.org").expect("it is in memory").outline.text.to_string();
        assert_eq!(text(), "* Done\n", "the act's text stands");
        held.go_on.send(()).expect("it waits");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_interrupt_is_answered_while_the_disk_is_read_and_what_is_changed_meanwhile_is_not_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let (_server, url) = mute();
        let held = Held::start(folder.path(), url).await;
        "* TODO A heading [ ]\n".clone_into(&mut held.disk.lock());
        held.update(":saved :modified 7");
        assert_eq!(held.reading().await, "the disk");
        held.update(":change :beg 18 :end 19 :text \"X\" :size 21");
        held.event("(:sensor :user-input :text \"are you there?\")");
        held.wait(":turn-started").await;
        held.event("(:sensor :interrupt)");
        held.wait("\"interrupted\"").await;
        assert!(held.engine.view().is_empty(), "the disk is still being read");
        held.go_on.send(()).expect("it waits");
        assert_eq!(held.reading().await, "* TODO A heading [ ]\n");
        held.go_on.send(()).expect("it waits");
        // From what is known now: the disk is not read again.
        assert_eq!(held.reading().await, "* TODO A heading [X]\n");
        held.go_on.send(()).expect("it waits");
        held.wait(":headings 1").await;
        let document = held.engine.view().document("/notes/big.org").expect("it is in memory").clone();
        assert_eq!(&*document.outline.text, "* TODO A heading [X]\n");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_change_of_another_text_than_the_saved_one_makes_the_buffer_travel_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let (_server, url) = mute();
        let held = Held::start(folder.path(), url).await;
        "* Another\n".clone_into(&mut held.disk.lock());
        held.update(":saved :modified 6");
        held.update(":change :beg 2 :end 3 :text \"x\" :size 10");
        assert_eq!(held.reading().await, "the disk");
        held.go_on.send(()).expect("it waits");
        held.wait(":resync").await;
        assert!(held.engine.view().is_empty(), "nothing is taken of it");
    }
}
