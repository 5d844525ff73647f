//! `passepartout tui` at a real terminal, that of tmux: keys are sent and screens captured.

use crate::cli::{child_of, program, run};
use crate::daemon::asking;
use crate::peers::Raw;
use crate::runtime::{Client, TILES, mark_done, parked, says};
use crate::support::engine::Home;
use crate::support::fake_server::FakeServer;
use crate::support::skip::skipped;
use passepartout::edge::peers::lineage::state_of;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A screen is waited for so long.
const PATIENCE: Duration = Duration::from_secs(40);

/// A terminal of tmux in which the client runs; it ends with this.
struct Pane {
    socket: PathBuf,
}

impl Pane {
    /// Starts the client in a window of a size; `None` where there is no tmux.
    fn open(home: &Home, size: (u16, u16), words: &str) -> Option<Pane> {
        Pane::of(&program(home), home, size, words)
    }

    /// Does the same with the environment and the folder of a command.
    fn of(plain: &Command, home: &Home, size: (u16, u16), words: &str) -> Option<Pane> {
        let pane = Pane { socket: home.folder.path().join("tmux") };
        let store = home.store().display().to_string();
        let program = env!("CARGO_BIN_EXE_passepartout");
        // The shell stays: what it says of the terminal shows whether it was given back.
        let line =
            format!("{program} tui --store '{store}' {words}; echo ENDED $?; stty -a | grep -o '.icanon'; exec sh");
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&pane.socket).args(["-f", "/dev/null", "new-session", "-d"]);
        command.args(["-x", &size.0.to_string(), "-y", &size.1.to_string(), "sh", "-c", &line]);
        command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("LANG", "C.UTF-8").env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
        command.current_dir(plain.get_current_dir().expect("it was set"));
        match command.output() {
            Ok(ran) if ran.status.success() => Some(pane),
            Ok(ran) => {
                skipped(format_args!("tmux cannot be used here: {}", String::from_utf8_lossy(&ran.stderr)));
                None
            }
            Err(_) => {
                skipped("there is no tmux here");
                None
            }
        }
    }

    fn tmux(&self, words: &[&str]) -> String {
        let ran = Command::new("tmux").arg("-S").arg(&self.socket).args(words).env("LANG", "C.UTF-8").output();
        String::from_utf8_lossy(&ran.expect("tmux runs").stdout).into_owned()
    }

    fn keys(&self, words: &[&str]) {
        self.tmux(&[&["send-keys"], words].concat());
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Types a line.
    fn line(&self, text: &str) {
        self.keys(&["-l", text]);
        self.keys(&["Enter"]);
    }

    /// Returns the process of the client.
    fn client(&self) -> u32 {
        let shell = self.tmux(&["display-message", "-p", "#{pane_pid}"]);
        child_of(shell.trim().parse().expect("a process"))
    }

    /// Waits until the screen shows something, and returns it.
    #[track_caller]
    fn wait(&self, words: &str) -> String {
        self.wait_while(words, || {})
    }

    /// Waits until the screen does not show something any more.
    #[track_caller]
    fn wait_until_gone(&self, words: &str) {
        until(&format!("“{words}” goes"), || !self.screen().contains(words));
    }

    /// Does the same as [`Pane::wait`], and something else meanwhile, such as answering for an Emacs.
    #[track_caller]
    fn wait_while(&self, words: &str, mut meanwhile: impl FnMut()) -> String {
        let begun = Instant::now();
        loop {
            meanwhile();
            let screen = self.screen();
            if screen.contains(words) {
                return screen;
            }
            assert!(begun.elapsed() < PATIENCE, "“{words}” does not come:\n{screen}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = Command::new("tmux").arg("-S").arg(&self.socket).arg("kill-server").output();
    }
}

/// Waits until something is so.
#[track_caller]
fn until(what: &str, fits: impl Fn() -> bool) {
    let begun = Instant::now();
    while !fits() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn signal(name: &str, process: u32) {
    let sent = Command::new("kill").arg(name).arg(process.to_string()).status().expect("kill runs");
    assert!(sent.success(), "{name} {process}");
}

/// An editor that writes down how it was started, what it was given and how its terminal is, and then does something
/// with the file, which the shell knows as `$file`.
struct Editor {
    folder: PathBuf,
}

impl Editor {
    fn new(home: &Home, then: &str) -> Editor {
        let editor = Editor { folder: home.folder.path().join("an editor") };
        fs::create_dir(&editor.folder).expect("a folder");
        let script = format!(
            "#!/bin/sh\nfor file; do :; done\ncd '{}'\nstty -a > modes\nprintf '%s\\n' \"$@\" > words\n\
             stat -c %a \"$file\" > mode\ncat \"$file\" > .given\necho $$ > process\nmv .given given\n{then}\n",
            editor.folder.display()
        );
        fs::write(editor.folder.join("run"), script).expect("it is written");
        let all = fs::Permissions::from_mode(0o755);
        fs::set_permissions(editor.folder.join("run"), all).expect("it can be run");
        editor
    }

    /// Starts the client with this editor.
    fn open(&self, home: &Home) -> Option<Pane> {
        let mut command = program(home);
        command.env("VISUAL", format!("'{}' --wait", self.folder.join("run").display()));
        Pane::of(&command, home, (80, 24), "")
    }

    fn seen(&self, what: &str) -> String {
        fs::read_to_string(self.folder.join(what)).unwrap_or_default()
    }

    /// Waits until it runs.
    #[track_caller]
    fn wait(&self) {
        until("the editor does not begin", || self.folder.join("given").exists());
    }
}

/// Returns the drafts in the cache folder.
fn drafts(home: &Home) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.folder.path().join("cache/passepartout")).expect("the cache folder").flatten();
    let draft = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("draft-"));
    entries.map(|entry| entry.path()).filter(|path| draft(path)).collect()
}

#[test]
fn an_editor_is_given_what_was_typed_and_the_terminal_and_gives_both_back() {
    let home = Home::new(&[("home.org", TILES)]);
    // What it appends is typed at its terminal; as many do, it puts a new file in the place of the old one.
    let editor =
        Editor::new(&home, "cat > more; sed s/dishes/tiles/ \"$file\" > new; cat more >> new; mv new \"$file\"");
    let Some(pane) = editor.open(&home) else { return };
    pane.wait("The core runs in this terminal");
    pane.keys(&["-l", "dishes, "]);
    pane.keys(&["C-x", "e"]);
    editor.wait();
    let draft = drafts(&home);
    assert_eq!(draft.len(), 1);
    assert_eq!(editor.seen("words"), format!("--wait\n{}\n", draft[0].display()));
    assert_eq!((editor.seen("given").as_str(), editor.seen("mode").trim()), ("dishes, ", "600"));
    assert!(editor.seen("modes").contains(" icanon"), "{}", editor.seen("modes"));
    // The core is here, so that nothing stops: the editor goes on at once.
    pane.keys(&["C-z"]);
    pane.line("and plates");
    pane.keys(&["C-d"]);
    let screen = pane.wait("› tiles,");
    assert!(screen.contains("and plates"), "{screen}");
    assert!(drafts(&home).is_empty(), "what was taken over is not kept elsewhere");
    pane.keys(&["C-c"]);
    pane.keys(&["C-d"]);
    pane.wait("ENDED 0");
}

#[test]
fn a_signal_ends_an_editor_as_well_and_what_was_written_is_told_of_at_the_next_start() {
    // The one ends when it is told to; the other does not hear it, and leaves the terminal as it likes it.
    for then in [
        "echo more >> \"$file\"; exec cat > kept",
        "echo more >> \"$file\"; trap '' TERM; stty -icanon -echo; cat > kept",
    ] {
        let home = Home::new(&[("home.org", TILES)]);
        let editor = Editor::new(&home, then);
        let Some(pane) = editor.open(&home) else { return };
        pane.wait("The core runs in this terminal");
        pane.keys(&["-l", "dishes"]);
        pane.keys(&["C-x", "e"]);
        editor.wait();
        let process: u32 = editor.seen("process").trim().parse().expect("a process");
        until("it waits for what is typed", || editor.folder.join("kept").exists());
        signal("-TERM", pane.client());
        pane.wait("ENDED 1");
        let screen = pane.wait("icanon");
        assert!(!screen.contains("-icanon") && screen.contains("what was written is in"), "{screen}");
        until("the editor goes on", || state_of(process).is_none());
        let left = drafts(&home);
        assert_eq!(left.len(), 1);
        assert_eq!(fs::read_to_string(&left[0]).expect("it is there"), "dishesmore\n");
        drop(pane);
        let Some(pane) = Pane::open(&home, (80, 24), "") else { return };
        pane.wait("What you were writing");
        pane.keys(&["C-d"]);
        pane.wait("ENDED 0");
    }
}

#[test]
fn ctrl_z_stops_it_where_the_core_runs_elsewhere_and_not_where_it_runs_here() {
    let home = Home::new(&[("home.org", TILES)]);
    let Some(pane) = Pane::open(&home, (80, 24), "") else { return };
    pane.wait("The core runs in this terminal");
    pane.keys(&["C-z"]);
    pane.wait("not stopped: the core runs in this terminal");
    // Neither does whoever else asks for it.
    signal("-TSTP", pane.client());
    pane.line("tiles");
    pane.wait("No language model took part");
    pane.keys(&["C-d"]);
    pane.wait("ENDED 0");
    drop(pane);
    let _owner = Client::start(&home, None, "\"recall\"");
    let Some(pane) = Pane::open(&home, (80, 24), "") else { return };
    pane.wait("Connected with the Passepartout");
    let client = pane.client();
    pane.keys(&["C-z"]);
    until("it does not stop", || state_of(client) == Some('T'));
    signal("-CONT", client);
    pane.line("/status");
    pane.wait("Connected with a core of version");
    pane.keys(&["C-d"]);
    pane.wait("ENDED 0");
}

#[test]
fn after_quit_one_signal_hurries_what_others_have_under_way_and_two_wait_for_nothing() {
    for signals in [1, 2] {
        let home = Home::new(&[("home.org", TILES)]);
        let server = FakeServer::start([says(&["half of it, ", "and the rest"]).silent_after("half of it, ")]);
        let Some(pane) = Pane::of(&asking(&home, &server), &home, (100, 24), "") else { return };
        pane.wait("The core runs in this terminal");
        let mut other = Raw::connect(&home.store());
        other.next().expect("it greets");
        other.say("(:type :event :payload (:action :handshake :protocol 2 :version \"test\" :as :cli))");
        other.say("(:type :event :payload (:sensor :user-input :text \"hello\"))");
        while !other.next().expect("it goes on").contains("half of it") {}
        let client = pane.client();
        pane.line("/quit");
        pane.wait("waiting until what others asked for here is done");
        let begun = Instant::now();
        (0..signals).for_each(|_| signal("-TERM", client));
        pane.wait("ENDED 0");
        assert!(begun.elapsed() < Duration::from_secs(5), "{signals}: {:?}", begun.elapsed());
        until("the store is not let go of", || run(&home, &["status"]).status == 4);
    }
}

#[test]
fn what_setup_asks_says_that_the_options_of_this_terminal_go_before_it() {
    let home = Home::new(&[("home.org", TILES)]);
    let Some(pane) = Pane::open(&home, (100, 30), "") else { return };
    pane.wait("The core runs in this terminal");
    pane.line("/setup");
    let screen = pane.wait("Folder of your notes");
    assert!(screen.contains("This terminal was started with --store"), "{screen}");
    pane.keys(&["Enter"]);
    pane.wait("Model provider");
    pane.line("recall");
    pane.wait("What you began this terminal with");
    pane.keys(&["C-d"]);
    pane.wait("ENDED 0");
}

#[test]
fn what_setup_asks_is_left_by_a_key_and_nothing_is_set_up_then() {
    for key in ["C-c", "Escape", "Enter"] {
        let home = Home::new(&[("home.org", TILES)]);
        let Some(pane) = Pane::open(&home, (100, 30), "") else { return };
        pane.wait("The core runs in this terminal");
        pane.line("/setup");
        let screen = pane.wait("Folder of your notes");
        assert!(screen.contains("Esc or Ctrl+C leaves this"), "{screen}");
        pane.keys(&["Enter"]);
        pane.wait("Model provider");
        if key != "Enter" {
            // What is begun counts for nothing.
            pane.keys(&["-l", "recall"]);
        }
        pane.keys(&[key]);
        pane.wait("Nothing was set up");
        // The terminal is ours again, with its keys.
        pane.keys(&["-l", "?"]);
        pane.wait("┌ Help");
        pane.keys(&["Escape"]);
        pane.wait_until_gone("┌ Help");
        pane.keys(&["C-d"]);
        pane.wait("ENDED 0");
        pane.wait("icanon");
    }
}

#[test]
fn it_opens_the_notes_itself_and_gives_the_terminal_back() {
    let home = Home::new(&[("home.org", TILES)]);
    let Some(pane) = Pane::open(&home, (80, 24), "") else { return };
    pane.wait("The core runs in this terminal");
    pane.line("tiles");
    pane.wait("No language model took part");
    pane.tmux(&["resize-window", "-x", "20", "-y", "5"]);
    pane.keys(&["-l", "?"]);
    pane.wait("┌ Help");
    pane.keys(&["Escape"]);
    pane.tmux(&["resize-window", "-x", "140", "-y", "30"]);
    pane.wait("│ Focus");
    pane.keys(&["-l", "/quit"]);
    pane.keys(&["Enter"]);
    let screen = pane.wait("ENDED 0");
    pane.wait("icanon");
    assert!(!screen.contains("-icanon"), "{screen}");
    let kept = std::fs::read_to_string(home.folder.path().join("cache/passepartout/history")).expect("it is kept");
    assert_eq!(kept, "tiles\n/quit\n");
}

#[test]
fn a_conversation_outlives_the_program_and_goes_on_with_what_was_said_in_it() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([says(&["They are white."]), says(&["White, as I said."])]);
    let mut owner = Client::start(&home, Some(&server), "\"fake\"");
    let Some(pane) = Pane::open(&home, (90, 24), "") else { return };
    pane.wait("Connected with the Passepartout");
    pane.keys(&["-l", "which tiles?"]);
    pane.keys(&["Enter"]);
    pane.wait_while("They are white.", || owner.pump());
    pane.keys(&["-l", "/quit"]);
    pane.keys(&["Enter"]);
    pane.wait("ENDED 0");
    drop(pane);
    let Some(pane) = Pane::open(&home, (90, 24), "") else { return };
    pane.wait("Connected with the Passepartout");
    pane.keys(&["-l", "/sessions"]);
    pane.keys(&["Enter"]);
    let listed = pane.wait("/resume NUMBER");
    assert!(listed.contains("which tiles?"), "{listed}");
    pane.keys(&["Escape"]);
    // With what is typed at once behind it, it would be that key with Alt.
    pane.wait_until_gone("/resume NUMBER");
    pane.keys(&["-l", "/resume 1"]);
    pane.keys(&["Enter"]);
    let resumed = pane.wait("It goes on from here.");
    assert!(resumed.contains("They are white."), "{resumed}");
    pane.keys(&["-l", "which, again?"]);
    pane.keys(&["Enter"]);
    pane.wait_while("White, as I said.", || owner.pump());
    let sent = server.requests()[1].json().to_string();
    assert!(sent.contains("which tiles?") && sent.contains("They are white."), "{sent}");
    pane.keys(&["C-d"]);
    pane.wait("ENDED 0");
    let kept = std::fs::read_dir(home.store().join("conversations")).expect("the folder is there").count();
    assert_eq!(kept, 1, "it went on in its own file");
}

#[test]
fn it_joins_whoever_has_the_notes_and_a_plan_is_read_and_approved_there() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([mark_done(), says(&["Here it goes on."]), says(&["Hello *there*."])]);
    let mut owner = Client::start(&home, Some(&server), "\"fake\"");
    parked(&mut owner);
    let Some(pane) = Pane::open(&home, (90, 40), "") else { return };
    pane.wait("Connected with the Passepartout");
    pane.wait("1 plan waits");
    pane.keys(&["-l", "/approve"]);
    pane.keys(&["Enter"]);
    pane.wait("a approve");
    pane.keys(&["-l", "a"]);
    pane.wait("Carry out exactly this");
    pane.keys(&["-l", "y"]);
    // The owner's Emacs is asked whether it has the file open.
    pane.wait_while("Here it goes on.", || owner.pump());
    assert!(home.read_file("home.org").contains("** DONE Order tiles"));
    pane.keys(&["-l", "hello"]);
    pane.keys(&["Enter"]);
    pane.wait("Hello there.");
    // The owner ends: another takes over, which is this terminal here.
    drop(owner);
    pane.wait("The connection is lost");
    pane.wait("● here");
    pane.keys(&["C-d"]);
    pane.wait("ENDED 0");
}

#[test]
fn a_signal_ends_it_and_the_terminal_is_given_back() {
    let home = Home::new(&[("home.org", TILES)]);
    let Some(pane) = Pane::open(&home, (80, 24), "--theme contrast") else { return };
    pane.wait("The core runs in this terminal");
    let lock = std::fs::read_to_string(home.store().join("lock")).expect("the store is owned");
    let process: String = lock.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    let ended = Command::new("kill").arg("-TERM").arg(&process).status().expect("kill runs");
    assert!(ended.success(), "{lock}");
    let screen = pane.wait("ENDED 1");
    pane.wait("icanon");
    assert!(!screen.contains("-icanon"), "{screen}");
}
