//! Tries to escape from the real launcher by every way that we know, as root and as an ordinary user.
//!
//! It is its own helper: the same program, started with `inside`, makes the attempts. Without the launcher most of
//! them go through, which shows that it is the launcher that holds them.
#![allow(missing_docs)]
#![cfg_attr(target_os = "linux", allow(unsafe_code))] // raw system calls: what an attacker would make
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod grow;
#[cfg(target_os = "linux")]
mod inside;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod outside;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(target_os = "linux")]
#[path = "../rust/support/skip.rs"]
mod skip;
#[cfg(target_os = "linux")]
#[path = "../rust/support/soak.rs"]
#[allow(dead_code, reason = "only what was counted is said here")]
mod soak;
#[cfg(target_os = "linux")]
mod targets;
#[cfg(target_os = "linux")]
mod world;

#[cfg(target_os = "linux")]
fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("inside") => {
            let targets = targets::Targets::read(words[1].as_ref());
            std::process::exit(inside::run(&targets, None, words.get(2).is_some_and(|word| word == "bare")).min(1));
        }
        Some("grow") => grow::run(&words[1..]),
        // SAFETY: always sound.
        Some("who") => println!("{}", unsafe { libc::geteuid() }),
        Some("try") => outside::try_all(words[1].as_ref(), words.get(2).map(|path| path.as_ref())),
        // What lists tests and starts them one by one.
        Some("--list") if words.iter().any(|word| word == "--ignored") => {}
        Some("--list") => println!("escapes: test"),
        Some(name) if !name.starts_with('-') && !"escapes".contains(name) => {}
        _ => outside::as_every_user(),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
