//! The launcher: confines itself, then executes a command. It refuses rather than run unconfined.
//!
//! It knows nothing of the library: its whole policy comes in its arguments, so that what confines
//! can be read in one sitting. Three processes take part:
//!
//! 1. the *outer* one, started by the host, makes the namespaces, dies with its parent and takes
//!    everything with it;
//! 2. the *first* one, pid 1 of the new pid namespace, builds the new root, gives up every
//!    privilege, reaps, and ends all that runs when the command ends or grows beyond its limits;
//! 3. the *command*, under Landlock, seccomp and resource limits, with an empty environment.
//!
//! Status lines (JSON) go to the pipe that was given as standard input with `--status stdin`, or to the socket at standard
//! error with `--status stderr`, otherwise only the exit status tells: 2 for a wrong policy, 125 when confinement cannot be
//! made (the reason is on standard error), otherwise that of the command (128 + N when signal N ended it).
#![cfg_attr(all(target_os = "linux", not(test)), no_main)]
#![cfg_attr(target_os = "linux", allow(unsafe_code))] // raw system calls: each block says why it is sound

#[cfg(target_os = "linux")]
#[path = "run/alone.rs"]
mod alone;
#[cfg(target_os = "linux")]
#[path = "run/filter.rs"]
mod filter;
#[cfg(target_os = "linux")]
#[path = "run/first.rs"]
mod first;
#[cfg(target_os = "linux")]
#[path = "run/lock.rs"]
mod lock;
#[cfg(target_os = "linux")]
#[path = "run/net.rs"]
mod net;
#[cfg(target_os = "linux")]
#[path = "run/outer.rs"]
mod outer;
#[cfg(any(target_os = "linux", target_os = "macos"))]
#[path = "run/policy.rs"]
mod policy;
#[cfg(target_os = "linux")]
#[path = "run/probe.rs"]
mod probe;
#[cfg(any(target_os = "macos", test))]
#[path = "run/profile.rs"]
mod profile;
#[cfg(target_os = "linux")]
#[path = "run/root.rs"]
mod root;
#[cfg(target_os = "macos")]
#[path = "run/seatbelt.rs"]
mod seatbelt;
#[cfg(target_os = "linux")]
#[path = "run/seccomp.rs"]
mod seccomp;
#[cfg(target_os = "linux")]
#[path = "run/status.rs"]
mod status;
#[cfg(target_os = "linux")]
#[path = "run/sys.rs"]
mod sys;

/// The exit status that says: confinement could not be made, nothing was run.
#[cfg(any(target_os = "linux", target_os = "macos"))]
const REFUSED: i32 = 125;

/// Where the program begins: without what the library does first in every program, for a stack that overflows and for
/// descriptors that are closed, a start takes a tenth less. Who starts us gives us all three, and a panic ends us.
#[cfg(all(target_os = "linux", not(test)))]
#[unsafe(no_mangle)]
extern "C" fn main(_: libc::c_int, _: *const *const libc::c_char) -> libc::c_int {
    run();
    0
}

#[cfg(all(target_os = "linux", test))]
fn main() {
    run();
}

#[cfg(target_os = "linux")]
fn run() {
    // First of all: C-g in a terminal is SIGINT for everything in Emacs's process group.
    sys::new_session();
    sys::reset_signals();
    let policy = match policy::Policy::read(std::env::args_os().skip(1)) {
        Ok(policy) => policy,
        Err(why) => {
            eprintln!("passepartout-run: {why}");
            std::process::exit(2);
        }
    };
    let status = match status::Status::open(policy.status) {
        Ok(status) => status,
        Err(why) => {
            eprintln!("passepartout-run: {why}");
            std::process::exit(REFUSED);
        }
    };
    let ran = match policy.walls {
        policy::Walls::All => outer::run(&policy, &status),
        policy::Walls::Fewer => alone::run(&policy, &status),
    };
    match ran {
        // Nothing is left to be written or ended here.
        Ok(code) => sys::leave(code),
        Err(missing) => {
            status.refused(&missing);
            sys::leave(REFUSED);
        }
    }
}

#[cfg(target_os = "macos")]
fn main() {
    match policy::Policy::read(std::env::args_os().skip(1)) {
        Ok(policy) => std::process::exit(seatbelt::run(&policy)),
        Err(why) => {
            eprintln!("passepartout-run: {why}");
            std::process::exit(2);
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn main() {
    eprintln!("passepartout-run: commands can only be confined on Linux and macOS; nothing was run");
    std::process::exit(125);
}
