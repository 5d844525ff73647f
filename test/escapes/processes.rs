//! Other processes: seen, signalled, traced, bounded; and what is shared with them.

use crate::inside::Bare::{Open, Untried, Varies};
use crate::inside::{Table, Tried, done, entered, failed};
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;

/// Attempts on processes.
pub const TABLE: Table = &[
    ("read the environment of the parent", Open, |_| {
        environment(&format!("/proc/{}/environ", std::os::unix::process::parent_id()))
    }),
    ("read the environment of the first process", Varies, |_| environment("/proc/1/environ")),
    ("read the environment of another process", Open, |t| environment(&format!("/proc/{}/environ", t.victim(0)))),
    ("find a secret in any environment", Open, |_| any_environment()),
    ("read the command line of another process", Open, |t| {
        fs::read(format!("/proc/{}/cmdline", t.victim(0))).map(drop)
    }),
    ("read the memory of another process", Open, |t| fs::File::open(format!("/proc/{}/mem", t.victim(0))).map(drop)),
    ("write the memory of another process", Open, |t| {
        fs::OpenOptions::new().write(true).open(format!("/proc/{}/mem", t.victim(0))).map(drop)
    }),
    ("read the memory of the first process", Varies, |_| fs::File::open("/proc/1/mem").map(drop)),
    ("list the files of the first process", Varies, |_| fs::read_dir("/proc/1/fd").map(drop)),
    ("write to the pipe by which the launcher tells", Varies, |_| {
        let mut told = failed("there is none");
        for end in fs::read_dir("/proc/1/fd")?.flatten() {
            let file = fs::OpenOptions::new().write(true).open(end.path());
            told = file.and_then(|mut file| file.write_all(b"{\"exit\":0}\n")).or(told);
        }
        told
    }),
    ("go to where another process is", Open, |t| std::env::set_current_dir(format!("/proc/{}/cwd", t.victim(0)))),
    // SAFETY (all of these): plain numbers; a process of the test that is there to be hit.
    ("kill another process", Open, |t| done(unsafe { libc::kill(t.victim(1), libc::SIGKILL) })),
    ("kill the group of another process", Varies, |t| done(unsafe { libc::kill(-t.victim(2), libc::SIGKILL) })),
    ("stop another process", Open, |t| done(unsafe { libc::kill(t.victim(3), libc::SIGSTOP) })),
    ("signal a thread of another process", Open, |t| {
        let victim = i64::from(t.victim(4));
        done(unsafe { libc::syscall(libc::SYS_tgkill, victim, victim, i64::from(libc::SIGKILL)) })
    }),
    ("hold another process", Varies, |t| done(unsafe { libc::syscall(libc::SYS_pidfd_open, t.victim(0), 0) })),
    ("kill whoever waits for the launcher", Untried, |t| {
        done(unsafe { libc::kill(t.number("tester") as i32, libc::SIGKILL) })
    }),
    ("trace another process", Varies, |t| done(unsafe { libc::ptrace(libc::PTRACE_ATTACH, t.victim(5), 0, 0) })),
    ("seize another process", Varies, |t| done(unsafe { libc::ptrace(libc::PTRACE_SEIZE, t.victim(6), 0, 0) })),
    ("trace the first process", Untried, |_| done(unsafe { libc::ptrace(libc::PTRACE_ATTACH, 1, 0, 0) })),
    ("be traced by the parent", Varies, |_| entered(libc::SYS_ptrace, &[0, 0, 0, 0])),
    ("read from another process", Varies, |t| {
        entered(libc::SYS_process_vm_readv, &[t.victim(0).into(), 0, 0, 0, 0, 0])
    }),
    ("write to another process", Varies, |t| {
        entered(libc::SYS_process_vm_writev, &[t.victim(0).into(), 0, 0, 0, 0, 0])
    }),
    ("take a file from another process", Varies, |_| entered(libc::SYS_pidfd_getfd, &[-1, 0, 0])),
    ("compare with another process", Varies, |t| {
        entered(libc::SYS_kcmp, &[t.victim(0).into(), t.victim(1).into(), 0, 0, 0])
    }),
    ("bound another process", Open, |t| {
        let bound = libc::rlimit { rlim_cur: 1, rlim_max: 1 };
        done(unsafe { libc::prlimit(t.victim(7), libc::RLIMIT_NOFILE, &bound, std::ptr::null_mut()) })
    }),
    ("bound whoever waits for the launcher", Untried, |t| {
        let bound = libc::rlimit { rlim_cur: 1, rlim_max: 1 };
        done(unsafe { libc::prlimit(t.number("tester") as i32, libc::RLIMIT_NOFILE, &bound, std::ptr::null_mut()) })
    }),
    ("slow another process down", Open, |t| {
        done(unsafe { libc::setpriority(libc::PRIO_PROCESS, t.victim(8) as u32, 19) })
    }),
    ("slow the disk of another process down", Open, |t| {
        const IDLE: i64 = 3 << 13;
        done(unsafe { libc::syscall(libc::SYS_ioprio_set, 1, i64::from(t.victim(8)), IDLE) })
    }),
    ("put another process on one processor", Open, |t| {
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        unsafe { libc::CPU_SET(0, &mut set) };
        done(unsafe { libc::sched_setaffinity(t.victim(8), size_of::<libc::cpu_set_t>(), &set) })
    }),
    ("go before all others", Varies, |_| done(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -10) })),
    ("run in real time", Varies, |_| {
        let first = libc::sched_param { sched_priority: 1 };
        done(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &first) })
    }),
    ("lift an own bound", Varies, |_| {
        let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        done(unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut now) })?;
        if now.rlim_max == libc::RLIM_INFINITY {
            return Ok(());
        }
        let more = libc::rlimit { rlim_cur: now.rlim_max + 1, rlim_max: now.rlim_max + 1 };
        done(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &more) })
    }),
    ("ask for core files", Varies, |_| {
        let much = libc::rlimit { rlim_cur: 1 << 20, rlim_max: 1 << 20 };
        done(unsafe { libc::setrlimit(libc::RLIMIT_CORE, &much) })
    }),
    ("hand a core to the machine's handler", Varies, |_| {
        // A handler behind a pipe is told of every core but those of processes whose bound is exactly 1.
        let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        done(unsafe { libc::getrlimit(libc::RLIMIT_CORE, &mut now) })?;
        if now.rlim_max == 1 { failed("it is not told") } else { Ok(()) }
    }),
    ("find a secret in the own environment", Open, |_| {
        if std::env::var_os("ESCAPE_SECRET").is_some() { Ok(()) } else { failed("it is not there") }
    }),
    ("find sockets in the own environment", Open, |_| {
        let names = ["SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"];
        if names.iter().any(|name| std::env::var_os(name).is_some()) { Ok(()) } else { failed("they are not there") }
    }),
    // What is shared.
    ("open memory that is shared by name", Open, |t| fs::read(format!("/dev/shm/{}", t.text("shm"))).map(drop)),
    ("attach memory that is shared by number", Open, |t| {
        let segment = unsafe { libc::shmget(t.number("key") as i32, 0, 0) };
        done(segment)
    }),
    ("read a queue of System V", Open, |t| done(unsafe { libc::msgget(t.number("key") as i32, 0) })),
    ("use a semaphore of System V", Open, |t| done(unsafe { libc::semget(t.number("key") as i32, 0, 0) })),
    ("open a queue of messages", Varies, |t| {
        let name = std::ffi::CString::new(format!("/{}", t.text("shm"))).unwrap();
        done(unsafe { libc::mq_open(name.as_ptr(), libc::O_WRONLY) })
    }),
    ("run from memory and read a file of home", Open, |t| {
        let name = unsafe { libc::memfd_create(c"escape".as_ptr(), libc::MFD_CLOEXEC) };
        done(name)?;
        let mut file = unsafe { <fs::File as std::os::fd::FromRawFd>::from_raw_fd(name) };
        file.write_all(&fs::read("/bin/cat").or_else(|_| fs::read("/usr/bin/cat"))?)?;
        let mut command = std::process::Command::new(format!("/proc/self/fd/{name}"));
        command
            .arg0("cat")
            .arg(t.at("home/.authinfo"))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        if command.status()?.success() { Ok(()) } else { failed("it could not read it") }
    }),
    ("gain rights from a program that lends them", Varies, |t| {
        let before = unsafe { libc::geteuid() };
        let output = std::process::Command::new(t.at("bin/lends")).arg("who").output()?;
        let after: u32 = String::from_utf8_lossy(&output.stdout).trim().parse().map_err(std::io::Error::other)?;
        if before != 0 && after == 0 { Ok(()) } else { failed("it lends none") }
    }),
    ("become root", Varies, |_| {
        if unsafe { libc::getuid() } == 0 {
            // Root inside is nobody special: it may not even become somebody else.
            return done(unsafe { libc::setuid(1) });
        }
        done(unsafe { libc::setuid(0) })
    }),
    ("gain a capability", Varies, |_| {
        let header = [0x2008_0522u32, 0];
        let all = [0xffff_ffffu32, 0xffff_ffff, 0, 0, 0, 0];
        done(unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), all.as_ptr()) })
    }),
    // Our own programs.
    ("start the launcher again with a project of one's own", Open, |t| {
        let parent = std::process::id().to_string();
        let mut command = std::process::Command::new(t.at("bin/run"));
        command.arg("--project").arg(t.at("home/store")).args(["--parent", &parent, "--", "cat", "store.db"]);
        found(&command.output()?.stdout)
    }),
    ("approve a plan as at a terminal", Varies, approve),
    ("type into the terminal", Varies, |_| done(unsafe { libc::ioctl(2, libc::TIOCSTI, c"x".as_ptr()) })),
    ("paste into the console", Varies, |_| {
        const TIOCLINUX: libc::c_ulong = 0x541c;
        const SELECTION: u8 = 3;
        match done(unsafe { libc::ioctl(2, TIOCLINUX, &SELECTION) }) {
            Err(e) if e.raw_os_error() == Some(libc::EPERM) => Err(e),
            // Only what has a console answers anything else.
            _ if cfg!(not(target_os = "linux")) => failed("there is no console"),
            other => other,
        }
    }),
    ("open the terminal", Varies, |_| fs::OpenOptions::new().write(true).open("/dev/tty").map(drop)),
    ("take the terminal", Varies, |_| done(unsafe { libc::ioctl(2, libc::TIOCSCTTY, 0) })),
    ("make a terminal", Varies, |_| fs::OpenOptions::new().read(true).write(true).open("/dev/ptmx").map(drop)),
];

/// Says what a human would say at a terminal, to a store of the same user; the program makes the store when it is let.
fn approve(targets: &crate::targets::Targets) -> Tried {
    use std::os::fd::{FromRawFd, OwnedFd};
    let (mut near, mut far, null) = (0, 0, std::ptr::null_mut);
    // SAFETY: both ends are filled with fresh descriptors, or the call fails.
    done(unsafe { libc::openpty(&mut near, &mut far, null(), std::ptr::null(), std::ptr::null()) })?;
    // SAFETY: both are ours alone.
    let (_near, far) = unsafe { (OwnedFd::from_raw_fd(near), OwnedFd::from_raw_fd(far)) };
    let mut command = std::process::Command::new(targets.at("bin/passepartout"));
    for name in ["HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
        command.env(name, targets.at("home/state"));
    }
    command.args(["plans", "approve", "P1A2B3"]).stdin(far.try_clone()?).stdout(far.try_clone()?).stderr(far);
    command.status()?;
    fs::read_dir(targets.at("home/state/passepartout")).map(drop)
}

fn environment(path: &str) -> Tried {
    found(&fs::read(path)?)
}

fn found(text: &[u8]) -> Tried {
    if text.windows(7).any(|part| part == b"hunter2") { Ok(()) } else { failed("no secret stands there") }
}

/// Looks for the secret that stands in the environment of processes outside.
fn any_environment() -> Tried {
    let own = std::process::id().to_string();
    for entry in fs::read_dir("/proc")?.flatten().filter(|entry| *entry.file_name() != *own) {
        let text = fs::read(entry.path().join("environ")).unwrap_or_default();
        if text.windows(7).any(|part| part == b"hunter2") {
            return Ok(());
        }
    }
    failed("there is none")
}
