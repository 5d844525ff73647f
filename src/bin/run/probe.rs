//! Attempts to break out, made from where a command would stand. A line for each: `ok` or `OPEN`, and what.

use crate::policy::{Policy, Walls};
use crate::sys;
use std::fs;
use std::io::{Error, ErrorKind};
use std::path::Path;

/// Tries everything, prints what came of it, and returns 0 when nothing was open.
pub fn run(policy: &Policy) -> i32 {
    let checks = [
        network(),
        sockets(),
        hidden(policy),
        masked(policy),
        outside(policy),
        project(policy),
        processes(),
        kernel(),
        privileges(),
    ];
    let mut code = 0;
    for (name, found) in checks {
        match found {
            Ok(()) => println!("ok\t{name}"),
            Err(why) => {
                code = 1;
                println!("OPEN\t{name}: {why}");
            }
        }
    }
    code
}

type Check = (&'static str, Result<(), String>);

fn network() -> Check {
    let domains = [
        ("IPv4", libc::AF_INET),
        ("IPv6", libc::AF_INET6),
        ("netlink", libc::AF_NETLINK),
        ("packet", libc::AF_PACKET),
        ("vsock", libc::AF_VSOCK),
        ("bluetooth", libc::AF_BLUETOOTH),
    ];
    ("no network", no_sockets(&domains))
}

fn sockets() -> Check {
    ("no Unix sockets", no_sockets(&[("Unix", libc::AF_UNIX)]))
}

fn no_sockets(domains: &[(&str, i32)]) -> Result<(), String> {
    for (name, domain) in domains {
        for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_SEQPACKET] {
            refused(&format!("a {name} socket"), sys::socket(*domain, kind))?;
        }
    }
    Ok(())
}

fn hidden(policy: &Policy) -> Check {
    let seen = policy.hide.iter().find(|path| {
        // On the way to the project there are empty folders; elsewhere there must be nothing to read.
        let inside = policy.project.starts_with(path) || policy.read.iter().any(|root| root.starts_with(path));
        !inside && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) || fs::read(path).is_ok()
    });
    (
        "home, memex, store and settings unseen",
        seen.map_or(Ok(()), |path| Err(format!("{} can be seen", path.display()))),
    )
}

fn masked(policy: &Policy) -> Check {
    let read = policy.mask.iter().find(|path| fs::read(path).is_ok());
    ("secret files unreadable", read.map_or(Ok(()), |path| Err(format!("{} can be read", path.display()))))
}

fn outside(policy: &Policy) -> Check {
    let mut places = vec![Path::new("/"), Path::new("/usr"), Path::new("/etc"), Path::new("/dev"), Path::new("/proc")];
    places.extend(policy.project.parent().filter(|parent| !parent.starts_with("/tmp")));
    places.extend(policy.read.iter().map(|path| path.as_path()));
    let written = places.into_iter().find(|place| {
        let path = place.join(format!(".passepartout-probe-{}", std::process::id()));
        let made = fs::write(&path, "").is_ok();
        let _ = fs::remove_file(&path);
        made
    });
    ("nothing outside can be written", written.map_or(Ok(()), |place| Err(format!("{} can be", place.display()))))
}

fn project(policy: &Policy) -> Check {
    let attempt = |folder: &Path| {
        let path = folder.join(format!(".passepartout-probe-{}", std::process::id()));
        fs::write(&path, "x").and_then(|()| fs::remove_file(&path))
    };
    let made = attempt(&policy.project);
    // With fewer walls a folder that holds a secret file takes no new one, and the folders beside that file do.
    let made =
        made.or_else(|why| if policy.walls == Walls::Fewer { attempt(&policy.project.join("open")) } else { Err(why) });
    match (policy.writable, made) {
        (true, Err(e)) => ("the project can be written", Err(e.to_string())),
        (true, Ok(())) => ("the project can be written", Ok(())),
        (false, made) => ("the project cannot be written", refused("writing", made)),
    }
}

fn processes() -> Check {
    let own = std::process::id().to_string();
    let seen = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name()).find(|name| {
        let name = name.to_string_lossy();
        name.bytes().all(|byte| byte.is_ascii_digit()) && *name != *own
    });
    let found = match seen {
        Some(pid) => Err(format!("process {} can be seen", pid.to_string_lossy())),
        None => match fs::read("/proc/1/environ") {
            Ok(_) => Err("the environment of process 1 can be read".to_string()),
            Err(_) => Ok(()),
        },
    };
    ("no process of others", found)
}

fn kernel() -> Check {
    let attempts = [
        ("mount", libc::SYS_mount, [0; 4]),
        ("unshare", libc::SYS_unshare, [libc::CLONE_NEWUSER.into(), 0, 0, 0]),
        ("ptrace", libc::SYS_ptrace, [0; 4]),
        ("bpf", libc::SYS_bpf, [0; 4]),
        ("io_uring", libc::SYS_io_uring_setup, [1, 0, 0, 0]),
        ("keyctl", libc::SYS_keyctl, [0; 4]),
        ("perf", libc::SYS_perf_event_open, [0; 4]),
    ];
    let open = attempts.iter().find_map(|(name, call, args)| refused(name, sys::attempt(*call, *args)).err());
    ("no way into the kernel", open.map_or(Ok(()), Err))
}

fn privileges() -> Check {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .map(|value| value.trim_start_matches(':').trim().to_string())
    };
    let wanted = [
        ("CapEff", "0000000000000000"),
        ("CapPrm", "0000000000000000"),
        ("CapBnd", "0000000000000000"),
        ("NoNewPrivs", "1"),
        ("Seccomp", "2"),
    ];
    let wrong = wanted.iter().find(|(name, value)| field(name).is_some_and(|found| found != *value));
    let found = wrong.map_or(Ok(()), |(name, _)| Err(format!("{name} is {}", field(name).unwrap_or_default())));
    ("no privileges", found)
}

/// Turns the success of an attempt into what is open.
fn refused(what: &str, attempt: Result<(), Error>) -> Result<(), String> {
    match attempt {
        Ok(()) => Err(format!("{what} is possible")),
        Err(e) if matches!(e.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => Ok(()),
        Err(e) => Err(format!("{what} was not refused, it failed ({e})")),
    }
}
