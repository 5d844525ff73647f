//! Keeps a confined program alive that is spoken to over pipes. It has no project, no file to write and no other process.

use super::{Collected, GRACE, Running, STATUS_BYTES, fill, spawner};
use crate::edge::sandbox::{Launcher, SandboxError, Walls};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};

/// What begins the launcher's words when it refuses.
const REFUSED: &str = "not run, because it cannot be confined: ";
/// Seconds of processor time in all; what takes long at once is ended by its time-out long before.
const CPU: u64 = 3600;
/// Most bytes of the files in its folder for scratch, which it cannot write.
const SCRATCH: u64 = 1 << 20;

/// A program that is alive. Dropping it ends it and all that belongs to it.
pub struct Alive {
    child: Running,
    stdin: Sender,
    stdout: Receiver,
    stderr: Receiver,
}

/// What a program that is alive said next.
#[derive(Debug)]
pub(in crate::edge) enum Said {
    /// On standard output.
    Output(Vec<u8>),
    /// On standard error.
    Errors(Vec<u8>),
    /// It ended.
    Ended,
}

/// Starts a program that must lie in a folder of the system.
///
/// # Errors
/// When it cannot be started. That it cannot be confined is known when it has ended: see [`Alive::end`].
pub(in crate::edge) async fn keep(
    launcher: &Launcher,
    walls: Walls,
    memory: u64,
    program: &Path,
    arguments: &[&str],
) -> Result<Alive, SandboxError> {
    let mut words: Vec<OsString> = ["--bare", "--keep-stdin"].map(OsString::from).to_vec();
    let numbers = [
        ("--limit-cpu", CPU),
        ("--limit-memory", memory),
        ("--limit-scratch", SCRATCH),
        ("--parent", u64::from(std::process::id())),
    ];
    words.extend(numbers.iter().flat_map(|(option, number)| [OsString::from(option), number.to_string().into()]));
    if walls == Walls::Fewer {
        words.extend(["--walls", "fewer"].map(OsString::from));
    }
    words.push("--".into());
    words.push(program.into());
    words.extend(arguments.iter().map(OsString::from));
    let executable = launcher.clone();
    let mut child = spawner::on_spawner(move || -> Result<Child, SandboxError> {
        let mut command = Command::new(executable.checked()?);
        command.args(words).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command.spawn()?)
    })
    .await??;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let child = Running(Some(child));
    let lost = || std::io::Error::other("a pipe is missing");
    Ok(Alive {
        child,
        stdin: Sender::from_owned_fd(stdin.ok_or_else(lost)?.into())?,
        stdout: Receiver::from_owned_fd(stdout.ok_or_else(lost)?.into())?,
        stderr: Receiver::from_owned_fd(stderr.ok_or_else(lost)?.into())?,
    })
}

impl Alive {
    /// Says something to it, and waits until it has taken all of that.
    pub(in crate::edge) async fn say(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stdin.write_all(bytes).await
    }

    /// Returns what it says next; errors are taken first, so that none is left behind.
    pub(in crate::edge) async fn next(&mut self) -> Said {
        let (mut one, mut other) = (vec![0; 16 * 1024], vec![0; 64 * 1024]);
        let taken = |buffer: Vec<u8>, length: usize| buffer.get(..length).unwrap_or_default().to_vec();
        tokio::select! {
            biased;
            Ok(length @ 1..) = self.stderr.read(&mut one) => Said::Errors(taken(one, length)),
            read = self.stdout.read(&mut other) => match read {
                Ok(length @ 1..) => Said::Output(taken(other, length)),
                Ok(_) | Err(_) => Said::Ended,
            },
        }
    }

    /// Returns what stands on standard error by now.
    pub(in crate::edge) fn left(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(length @ 1..) = self.stderr.try_read(&mut buffer) {
            all.extend_from_slice(buffer.get(..length).unwrap_or_default());
            if all.len() > 1 << 20 {
                break;
            }
        }
        all
    }

    /// Returns the id of the launcher's process, for tests that look whether it is gone.
    pub(in crate::edge) fn id(&self) -> Option<u32> {
        self.child.0.as_ref().map(Child::id)
    }

    /// Ends it, waits until all of it is gone, and returns why the launcher did not confine it, if that is what ended it.
    pub(in crate::edge) async fn end(mut self) -> Option<String> {
        self.child.end();
        let mut errors = Collected::new(STATUS_BYTES);
        let mut rest = Collected::new(0);
        let all = async { tokio::join!(fill(&mut self.stderr, &mut errors), fill(&mut self.stdout, &mut rest)) };
        // When the pipes close, the first process is gone, and with it everything inside.
        let _ = tokio::time::timeout(GRACE, all).await;
        self.child.reap();
        let text = errors.text().text;
        text.split_once(REFUSED).map(|(_, why)| why.trim().to_string())
    }
}
