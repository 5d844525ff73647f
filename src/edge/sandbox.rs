//! Runs a command confined: policy, launcher, output, time, and the proof that it holds.
//!
//! The confinement itself is the business of the launcher (`src/bin/passepartout-run.rs`), an executable of
//! its own that is told everything by its arguments. Here it is found, checked, started, listened to and ended.
#![allow(unsafe_code)] // few calls of libc that the standard library lacks; each says why it is sound

mod collect;
mod kept;
mod launcher;
mod notes;
mod policy;
mod probe;
mod proxy;
mod reach;
mod spawner;
mod talk;
mod walls;

pub use kept::Alive;
pub(in crate::edge) use kept::{Said, keep};
pub use launcher::Launcher;
pub use policy::{Notes, Policy, SecretTest, Stamps, changed_files, newly_obeyed, stamps};
pub(crate) use probe::Folder;
pub use probe::{Check, ConfinementReport, probe};
pub use proxy::Asked;
pub use reach::{Network, Reach, Resolve, SystemResolver};
pub(in crate::edge) use talk::{Program, Talk, talk};
pub use walls::{Walls, walls};

use collect::Collected;
use std::ffi::OsString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::unix::pipe::Receiver;
use tokio::net::{TcpListener, UnixStream};

/// How long a command that was told to end may take to be gone before it is left to the kernel.
const GRACE: Duration = Duration::from_secs(5);

/// Most bytes of status lines that are listened to.
const STATUS_BYTES: usize = 16 * 1024;

/// How much time and text one run may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Seconds on the wall, from start to end.
    pub seconds: u64,
    /// Characters of each of the two outputs; the middle of more is left out.
    pub output: usize,
}

impl Limits {
    /// 30 seconds, and 100,000 characters of each output.
    pub const USUAL: Limits = Limits { seconds: 30, output: 100_000 };
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this exit status.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// It took too long and was stopped, with all that it had started.
    TimedOut,
    /// All that it had started grew beyond this limit together, and was stopped.
    Beyond(String),
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunReport {
    /// How it ended.
    pub ending: Ending,
    /// What it wrote, as text; what is no UTF-8 is replaced.
    pub stdout: Output,
    /// What it wrote to standard error.
    pub stderr: Output,
    /// What the host lacks that made the inside poorer (never less safe).
    pub notes: Vec<String>,
    /// Which hosts were asked for, where there were any to be reached.
    pub asked: Asked,
}

/// One output of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The text; begin and end when something was left out.
    pub text: String,
    /// Whether something was left out.
    pub truncated: bool,
}

/// Why nothing was run.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The launcher is not where it should be.
    #[error("the launcher passepartout-run was not found beside {0}; build it with “make build”")]
    NoLauncher(String),
    /// The launcher is not the one that was there at the start.
    #[error("{0} has changed since it was first read; restart to use the new one")]
    Changed(String),
    /// The policy makes no sense or opens too much.
    #[error("{0}")]
    Policy(String),
    /// The kernel cannot confine.
    #[error("commands cannot be confined on this machine: {0}")]
    Unconfined(String),
    /// A process could not be started or listened to.
    #[error("the command could not be started: {0}")]
    Start(#[from] std::io::Error),
    /// The launcher ended without a word.
    #[error("the launcher ended before the command began{0}")]
    Silent(String),
}

/// What the launcher is to do once confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task<'a> {
    /// Run a command line with bash.
    Bash(&'a str),
    /// Try to break out.
    Probe,
}

/// Runs a task confined and waits for its end. Dropping the future ends the task and all that it started.
///
/// Nothing is run when the launcher has changed, or when it cannot confine.
pub async fn run(
    launcher: &Launcher,
    policy: &Policy,
    task: Task<'_>,
    limits: Limits,
) -> Result<RunReport, SandboxError> {
    run_reaching(launcher, policy, task, limits, None).await
}

/// Runs what does nothing, to find out whether it can be confined.
async fn run_nothing(launcher: &Launcher, policy: &Policy, limits: Limits) -> Result<(), SandboxError> {
    let report = run(launcher, policy, Task::Bash("true"), limits).await?;
    match report.ending {
        Ending::Exit(0) => Ok(()),
        ending => Err(SandboxError::Unconfined(format!("what does nothing ended otherwise ({ending:?})"))),
    }
}

/// Runs a task as [`run`] does, and lets it reach these hosts by way of a proxy.
///
/// A program in it that does not use the proxy reaches nobody: it is alone in its network namespace.
pub async fn run_reaching(
    launcher: &Launcher,
    policy: &Policy,
    task: Task<'_>,
    limits: Limits,
    reach: Option<&Reach>,
) -> Result<RunReport, SandboxError> {
    let mut pipes = start(launcher, policy, task, reach.is_some()).await?;
    let mut status = Collected::new(STATUS_BYTES);
    let listener = match reach {
        Some(_) => tokio::time::timeout(GRACE, listener(&pipes.status, &mut status)).await.unwrap_or(Ok(None))?,
        None => None,
    };
    let asked = Arc::default();
    let serving = async {
        if let (Some(listener), Some(reach)) = (listener, reach) {
            proxy::serve(listener, reach, &asked).await;
        }
        std::future::pending::<()>().await;
    };
    let mut stdout = Collected::new(limits.output);
    let mut stderr = Collected::new(limits.output);
    let mut timed_out = false;
    {
        let all = async {
            tokio::join!(
                fill(&mut pipes.status, &mut status),
                fill(&mut pipes.stdout, &mut stdout),
                fill(&mut pipes.stderr, &mut stderr)
            )
        };
        tokio::pin!(all);
        let ended = tokio::select! {
            ended = tokio::time::timeout(Duration::from_secs(limits.seconds), &mut all) => ended.is_ok(),
            () = serving => false,
        };
        if !ended {
            timed_out = true;
            pipes.child.end();
            // When the pipes close, the first process is gone, and with it everything inside.
            let _ = tokio::time::timeout(GRACE, &mut all).await;
        }
    }
    pipes.child.reap();
    let mut report = report(timed_out, &status.text().text, stdout.text(), stderr.text())?;
    report.asked = asked.lock().clone();
    Ok(report)
}

struct Pipes {
    child: Running,
    status: UnixStream,
    stdout: Receiver,
    stderr: Receiver,
}

async fn start(launcher: &Launcher, policy: &Policy, task: Task<'_>, proxy: bool) -> Result<Pipes, SandboxError> {
    let (status, told) = std::os::unix::net::UnixStream::pair()?;
    status.set_nonblocking(true)?;
    let words: Vec<OsString> = match task {
        Task::Bash(line) => ["--", "bash", "-c", line].map(OsString::from).to_vec(),
        Task::Probe => vec!["--probe".into()],
    };
    let mut arguments = policy.arguments(std::process::id());
    arguments.extend(["--status", "stdin"].map(OsString::from));
    arguments.extend(proxy.then(|| OsString::from("--proxy")));
    arguments.extend(words);
    let executable = launcher.clone();
    let mut child = spawner::on_spawner(move || -> Result<Child, SandboxError> {
        let mut command = Command::new(executable.checked()?);
        command.args(arguments).env_clear().current_dir("/");
        command.stdin(Stdio::from(OwnedFd::from(told))).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command.spawn()?)
    })
    .await??;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let child = Running(Some(child));
    let lost = || std::io::Error::other("an output is missing");
    Ok(Pipes {
        child,
        status: UnixStream::from_std(status)?,
        stdout: Receiver::from_owned_fd(stdout.ok_or_else(lost)?.into())?,
        stderr: Receiver::from_owned_fd(stderr.ok_or_else(lost)?.into())?,
    })
}

/// Takes the listener that the launcher hands over before it says anything else; `None` when it says something else.
async fn listener(status: &UnixStream, told: &mut Collected) -> Result<Option<TcpListener>, SandboxError> {
    let mut buffer = [0u8; 1024];
    loop {
        status.readable().await?;
        match status.try_io(Interest::READABLE, || receive(status.as_raw_fd(), &mut buffer)) {
            Ok((length, found)) => {
                told.add(buffer.get(..length).unwrap_or_default());
                let Some(found) = found else { return Ok(None) };
                let listener = std::net::TcpListener::from(found);
                listener.set_nonblocking(true)?;
                return Ok(Some(TcpListener::from_std(listener)?));
            }
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// Reads from a Unix socket, and takes a descriptor that came with it.
fn receive(socket: i32, buffer: &mut [u8]) -> std::io::Result<(usize, Option<OwnedFd>)> {
    /// Large enough for one descriptor, and aligned as the kernel writes it.
    #[repr(align(8))]
    struct Control([u8; 64]);
    let mut control = Control([0; 64]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: zero is a valid value of every field; all that the message points to outlives the calls. What follows a
    // header of that kind is a descriptor that the kernel made for us and that nobody else owns.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = size_of::<Control>() as _;
        let length = libc::recvmsg(socket, &mut message, MSG_CLOSED);
        let length = usize::try_from(length).map_err(|_| std::io::Error::last_os_error())?;
        let header = libc::CMSG_FIRSTHDR(&message);
        let one = libc::CMSG_LEN(size_of::<libc::c_int>() as libc::c_uint) as usize;
        let is_one = !header.is_null()
            && (*header).cmsg_level == libc::SOL_SOCKET
            && (*header).cmsg_type == libc::SCM_RIGHTS
            && (*header).cmsg_len as usize >= one;
        let found =
            is_one.then(|| OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<libc::c_int>().read_unaligned()));
        Ok((length, found))
    }
}

/// Descriptors that come are closed at exec, where the system can say so at once.
#[cfg(target_os = "linux")]
const MSG_CLOSED: i32 = libc::MSG_CMSG_CLOEXEC;
/// Elsewhere there is no launcher that would send one.
#[cfg(not(target_os = "linux"))]
const MSG_CLOSED: i32 = 0;

async fn fill(from: &mut (impl AsyncReadExt + Unpin), to: &mut Collected) {
    let mut buffer = vec![0; 64 * 1024];
    // A pipe that breaks has nothing more to say, like one that ends.
    while let Ok(n @ 1..) = from.read(&mut buffer).await {
        to.add(buffer.get(..n).unwrap_or_default());
    }
}

fn report(timed_out: bool, status: &str, stdout: Output, stderr: Output) -> Result<RunReport, SandboxError> {
    let (mut confined, mut notes, mut ending) = (false, Vec::new(), None);
    for line in status.lines() {
        let Ok(said) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        if let Some(missing) = said.get("missing").and_then(|text| text.as_str()) {
            return Err(SandboxError::Unconfined(missing.to_string()));
        }
        let number = |name: &str| said.get(name).and_then(|n| n.as_i64()).and_then(|n| i32::try_from(n).ok());
        if said.get("confined") == Some(&serde_json::Value::Bool(true)) {
            confined = true;
            let list = said.get("notes").and_then(|notes| notes.as_array());
            notes.extend(list.into_iter().flatten().filter_map(|note| note.as_str().map(str::to_string)));
        }
        ending = number("exit").map(Ending::Exit).or_else(|| number("signal").map(Ending::Signal)).or(ending);
        if let Some(limit) = said.get("beyond").and_then(|limit| limit.as_str()) {
            ending = Some(Ending::Beyond(limit.to_string()));
        }
    }
    let asked = Asked::default();
    match ending {
        _ if !confined => Err(SandboxError::Silent(match stderr.text.trim() {
            "" => String::new(),
            words => format!(" ({words})"),
        })),
        Some(ending) => Ok(RunReport { ending, stdout, stderr, notes, asked }),
        None if timed_out => Ok(RunReport { ending: Ending::TimedOut, stdout, stderr, notes, asked }),
        // Killed from outside, so that nothing could be told.
        None => Ok(RunReport { ending: Ending::Signal(libc::SIGKILL), stdout, stderr, notes, asked }),
    }
}

/// A started launcher; dropping it ends it.
struct Running(Option<Child>);

impl Running {
    /// Asks the launcher to kill the first process inside and to wait until all in there is gone.
    fn end(&self) {
        if let Some(pid) = self.0.as_ref().and_then(|child| i32::try_from(child.id()).ok()) {
            // SAFETY: a child that was not waited for keeps its id, so nobody else is hit.
            unsafe { libc::kill(pid, libc::SIGTERM) };
        }
    }

    /// Waits for a launcher whose pipes have closed; one that has not ended by itself is killed, and the
    /// kernel then kills what it confined.
    fn reap(&mut self) {
        let Some(mut child) = self.0.take() else { return };
        if !matches!(child.try_wait(), Ok(Some(_))) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.reap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(timed_out: bool, status: &str) -> String {
        match report(timed_out, status, Output::default(), Output { text: "words\n".into(), truncated: false }) {
            Ok(report) => format!("{:?} {:?}", report.ending, report.notes),
            Err(why) => why.to_string(),
        }
    }

    #[test]
    fn what_the_launcher_says_is_understood() {
        let confined = r#"{"confined":true,"notes":["no proc"]}"#;
        let cases = [
            (false, format!("{confined}\n{{\"exit\":3}}\n"), "Exit(3) [\"no proc\"]"),
            (false, format!("{confined}\n{{\"signal\":11}}\n"), "Signal(11) [\"no proc\"]"),
            (false, format!("{confined}\n{{\"beyond\":\"memory\"}}\n"), "Beyond(\"memory\") [\"no proc\"]"),
            (true, format!("{confined}\n"), "TimedOut [\"no proc\"]"),
            (false, format!("{confined}\n"), "Signal(9) [\"no proc\"]"),
            (
                false,
                r#"{"confined":false,"missing":"no namespaces"}"#.to_string(),
                "commands cannot be confined on this machine: no namespaces",
            ),
            (false, String::new(), "the launcher ended before the command began (words)"),
            (true, "garbage".to_string(), "the launcher ended before the command began (words)"),
        ];
        for (timed_out, status, expected) in cases {
            assert_eq!(read(timed_out, &status), expected);
        }
    }
}
