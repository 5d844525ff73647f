//! `passepartout tui` at a real terminal, that of tmux: keys are sent and screens captured.

use crate::cli::program;
use crate::runtime::{Client, TILES, mark_done, parked, says};
use crate::support::engine::Home;
use crate::support::fake_server::FakeServer;
use crate::support::skip::skipped;
use std::path::PathBuf;
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
        let pane = Pane { socket: home.folder.path().join("tmux") };
        let plain = program(home);
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
        command.env("VISUAL", "sed -i s/dishes/tiles/");
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

    /// Waits until the screen shows something, and returns it.
    #[track_caller]
    fn wait(&self, words: &str) -> String {
        self.wait_while(words, || {})
    }

    /// Does the same, and something else meanwhile, such as answering for an Emacs.
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

#[test]
fn it_opens_the_notes_itself_and_gives_the_terminal_back() {
    let home = Home::new(&[("home.org", TILES)]);
    let Some(pane) = Pane::open(&home, (80, 24), "") else { return };
    pane.wait("The core runs in this terminal");
    pane.keys(&["-l", "dishes"]);
    pane.keys(&["C-x", "e"]);
    pane.wait("› tiles");
    pane.keys(&["Enter"]);
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
