//! A program that has the terminal for a while, in a process group of its own: it can be ended with all that it started,
//! and the keyboard's signals are its own meanwhile.
//!
//! Run on a thread in which every signal is blocked: a process behind another one may not take the terminal back
//! otherwise. The program itself hears every signal.

use crate::edge::thread::{leave_no_image, let_signals_in};
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpgrp, getpid, kill_process, kill_process_group, waitid};
use rustix::termios::{OptionalActions, SpecialCodeIndex, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};
use std::io::{self, stdin};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

/// How long what such a program started has to end when it was ended itself.
const MOMENT: Duration = Duration::from_millis(300);
/// The character of the key Esc.
const ESCAPE: u8 = 0x1b;

/// By this such a program is ended from elsewhere.
#[derive(Clone, Default)]
pub struct Leash(Arc<Mutex<Held>>);

#[derive(Default)]
struct Held {
    /// Its group, as long as it was not waited for: until then the number is nobody else's.
    group: Option<Pid>,
    /// Nothing is begun any more.
    pulled: bool,
}

impl Leash {
    /// Whether it was pulled.
    pub fn is_pulled(&self) -> bool {
        self.0.lock().pulled
    }

    /// Sends a signal to whatever runs at this leash, and lets nothing begin there any more.
    pub fn pull(&self, signal: Signal) {
        let mut held = self.0.lock();
        held.pulled = true;
        if let Some(group) = held.group {
            // It may have ended by itself; one that stands still hears nothing before it goes on.
            let _ = kill_process_group(group, signal);
            let _ = kill_process_group(group, Signal::CONT);
        }
    }
}

/// Runs a program to its end with the terminal, if this process has it. When the program is stopped by the keyboard, this
/// process stops as well where it may, and both go on together; where it may not, the program goes on at once.
///
/// # Errors
/// When it cannot be started or waited for.
pub fn run(command: &mut Command, leash: &Leash, may_stop: impl Fn() -> bool) -> io::Result<ExitStatus> {
    run_with(command, leash, may_stop, false)
}

/// Does the same with a program that asks in lines: Esc ends it as Ctrl+C does. The terminal makes a signal of the key, so
/// that nothing has to be read for it; other keys that begin with its character end it as well.
///
/// # Errors
/// When it cannot be started or waited for.
pub fn run_until_escape(command: &mut Command, leash: &Leash, may_stop: impl Fn() -> bool) -> io::Result<ExitStatus> {
    // The signal that a second key can be given is the one that would leave an image.
    leave_no_image(command);
    run_with(command, leash, may_stop, true)
}

fn run_with(command: &mut Command, leash: &Leash, may_stop: impl Fn() -> bool, escape: bool) -> io::Result<ExitStatus> {
    command.process_group(0);
    let_signals_in(command);
    let (mut child, group) = {
        let mut held = leash.0.lock();
        if held.pulled {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let child = command.spawn()?;
        let group = Pid::from_child(&child);
        held.group = Some(group);
        (child, group)
    };
    let ours = getpgrp();
    // Where this process does not have the terminal, there is none to give.
    let gives = tcgetpgrp(stdin()).is_ok_and(|front| front == ours);
    let modes = tcgetattr(stdin());
    let give = |to: Pid| {
        if gives {
            // Of a terminal that is gone nothing can be put right.
            let _ = tcsetpgrp(stdin(), to);
        }
    };
    let keys = || {
        if let (true, true, Ok(modes)) = (escape, gives, &modes) {
            let mut modes = modes.clone();
            modes.special_codes[SpecialCodeIndex::VQUIT] = ESCAPE;
            let _ = tcsetattr(stdin(), OptionalActions::Now, &modes);
        }
    };
    keys();
    give(group);
    let ended = until_ended(group, |wanted| {
        if wanted && may_stop() {
            if let (true, true, Ok(modes)) = (escape, gives, &modes) {
                let _ = tcsetattr(stdin(), OptionalActions::Now, modes);
            }
            give(ours);
            let _ = kill_process(getpid(), Signal::STOP);
            keys();
        }
        give(group);
        let _ = kill_process_group(group, Signal::CONT);
    });
    if leash.0.lock().pulled {
        // What it started may not have ended with it. As long as it is not waited for, its group has its number.
        std::thread::sleep(MOMENT);
        let _ = kill_process_group(group, Signal::KILL);
    }
    let status = {
        let mut held = leash.0.lock();
        held.group = None;
        child.wait()
    };
    give(ours);
    if let (true, Ok(modes)) = (gives, modes) {
        // One that was killed did not put them back.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &modes);
    }
    ended.and(status)
}

/// Waits until the first process of a group has ended, and leaves it to be waited for; `stopped` is called whenever it was
/// stopped, with whether that was wanted: by the keyboard, or by itself as some editors do. One that has not been given the
/// terminal yet is stopped, too, and nobody wanted that.
fn until_ended(first: Pid, stopped: impl Fn(bool)) -> io::Result<()> {
    let (wanted, early) = ([Signal::TSTP, Signal::STOP], [Signal::TTIN, Signal::TTOU]);
    let (wanted, early) = (wanted.map(Signal::as_raw), early.map(Signal::as_raw));
    loop {
        let either = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(first), either) {
            Ok(Some(status)) if status.stopped() => {
                // From here on it is news when it stops again.
                waitid(WaitId::Pid(first), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG)?;
                match status.stopping_signal() {
                    Some(signal) if wanted.contains(&signal) => stopped(true),
                    Some(signal) if early.contains(&signal) => stopped(false),
                    Some(_) | None => {}
                }
            }
            Ok(Some(_)) => return Ok(()),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::Stdio;

    fn shell(words: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", words]);
        command
    }

    #[test]
    fn a_program_runs_to_its_end_and_one_that_is_stopped_by_a_terminal_goes_on() {
        for (words, code, asked) in [
            ("exit 3", 3, 0),
            ("kill -TSTP $$; exit 4", 4, 1),
            ("kill -TTIN $$; kill -TTOU $$; exit 5", 5, 0),
            ("kill -STOP $$; exit 6", 6, 1),
        ] {
            let times = std::cell::Cell::new(0);
            let may_stop = || {
                times.set(times.get() + 1);
                false
            };
            let ended = run(&mut shell(words), &Leash::default(), may_stop).expect("it runs");
            assert_eq!((ended.code(), times.get()), (Some(code), asked), "{words}");
        }
        assert!(run(&mut Command::new("/no/such/program"), &Leash::default(), || false).is_err());
    }

    #[test]
    fn a_program_hears_the_signals_that_the_thread_which_starts_it_blocks() {
        let (sender, ended) = std::sync::mpsc::channel();
        let waits = crate::edge::thread::spawn("passepartout-test", 1 << 20, move || {
            for signal in ["INT", "QUIT", "TERM", "WINCH"] {
                let mut script = shell(&format!("trap 'exit 3' {signal}; kill -{signal} $$; exit 4"));
                type Running = fn(&mut Command, &Leash) -> io::Result<ExitStatus>;
                let running: [(&str, Running); 2] = [
                    ("run", |command, leash| run(command, leash, || false)),
                    ("until escape", |command, leash| run_until_escape(command, leash, || false)),
                ];
                for (how, running) in running {
                    let code = running(&mut script, &Leash::default()).map(|ended| ended.code());
                    let _ = sender.send((signal, how, code));
                }
            }
        });
        waits.expect("a thread").join().expect("it ends");
        let ended: Vec<_> = ended.iter().collect();
        assert_eq!(ended.len(), 8);
        for (signal, how, code) in ended {
            assert_eq!(code.expect("it runs"), Some(3), "{signal}, {how}");
        }
    }

    #[test]
    fn what_is_pulled_ends_with_all_that_it_started() {
        let leash = Leash::default();
        let (mut reader, writer) = io::pipe().expect("a pipe");
        // It waits for a program of its own, which waits for ever, and does not hear it; both have the pipe.
        let mut command = shell("(trap '' TERM; exec tail -f /dev/null) & echo begun; wait");
        command.stdin(Stdio::null()).stdout(writer);
        let held = leash.clone();
        let running = std::thread::spawn(move || run(&mut command, &held, || false));
        let mut begun = [0; 6];
        reader.read_exact(&mut begun).expect("it has begun");
        leash.pull(Signal::TERM);
        let ended = running.join().expect("it is waited for").expect("it ran");
        assert!(!ended.success());
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).expect("nobody has the pipe any more");
        assert!(rest.is_empty());
        assert!(run(&mut shell("exit 0"), &leash, || false).is_err(), "nothing begins any more");
    }
}
