//! Keeps a confined program alive that is spoken to over pipes, and that has what the user declared for it: a folder,
//! folders to read, variables, and hosts that it reaches by way of the proxy.

use super::probe::Folder;
use super::{Collected, GRACE, Running, STATUS_BYTES, fill, listener, proxy, spawner};
use crate::domain::scope::Scope;
use crate::edge::sandbox::{Launcher, Policy, Reach, SandboxError, SecretTest};
use crate::edge::secret::Secret;
use parking_lot::Mutex;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::task::JoinHandle;

/// Seconds of processor time of each process; what takes long at once is ended by its time-out long before.
const CPU: u64 = 3600;
/// Bytes of memory of all processes together.
const MEMORY: u64 = 2 << 30;
/// Processes and threads at one time.
const PROCESSES: u64 = 128;
/// What stands before the name of a variable that is for the program; the launcher takes it away.
const PASSED: &str = "PASSEPARTOUT_PASS_";
/// How long is waited for the last words of a program that ended.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How many characters of standard error are kept.
const ERRORS: usize = 2_000;

/// A program and what it is given.
pub(in crate::edge) struct Program {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The folder that it runs in; without one, an empty one of its own.
    pub folder: Option<PathBuf>,
    /// Whether it may write there.
    pub writes: bool,
    /// Further folders that it can read.
    pub reads: Vec<PathBuf>,
    /// Variables of its environment.
    pub variables: Vec<(String, Secret)>,
    /// The hosts that it reaches.
    pub reach: Option<Reach>,
}

/// A program that is alive. Dropping it ends it and all that belongs to it.
pub(in crate::edge) struct Talk {
    child: Running,
    stdin: Sender,
    stdout: Receiver,
    errors: Arc<Mutex<Collected>>,
    /// What listens to its errors, and what serves its hosts.
    tasks: Vec<JoinHandle<()>>,
    _scratch: Option<Folder>,
}

impl Drop for Talk {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Starts a program with all walls. `scope` says what must stay hidden from it, `secret` which files it may not read.
///
/// # Errors
/// When a folder opens too much, when it cannot be confined, or when it cannot be started.
pub(in crate::edge) async fn talk(
    launcher: &Launcher,
    program: Program,
    (scope, secret): (Scope, SecretTest),
) -> Result<Talk, SandboxError> {
    let Program { words, folder, writes, reads, variables, reach } = program;
    let scratch = if folder.is_none() { Some(Folder::make()?) } else { None };
    let home = folder.or_else(|| Some(scratch.as_ref()?.path().to_path_buf()));
    let home = home.ok_or_else(|| SandboxError::Policy("it has no folder".to_string()))?;
    // An empty folder of its own is its to write.
    let writes = writes || scratch.is_some();
    let made = tokio::task::spawn_blocking(move || Policy::kept(home, reads, &scope, &secret)).await;
    let broke = |_| SandboxError::Policy("looking at its folders broke".to_string());
    let policy = Policy { cpu: CPU, memory: MEMORY, processes: PROCESSES, ..made.map_err(broke)?? };
    let mut arguments = policy.arguments(std::process::id());
    arguments.extend(["--keep-stdin", "--status", "stderr"].map(OsString::from));
    arguments.extend((!writes).then(|| OsString::from("--read-only")));
    arguments.extend(reach.is_some().then(|| OsString::from("--proxy")));
    for (name, _) in &variables {
        arguments.extend(["--pass".into(), OsString::from(name)]);
    }
    arguments.push("--".into());
    arguments.extend(words.into_iter().map(OsString::from));
    let (status, told) = std::os::unix::net::UnixStream::pair()?;
    status.set_nonblocking(true)?;
    let executable = launcher.clone();
    let mut child = spawner::on_spawner(move || -> Result<Child, SandboxError> {
        let mut command = Command::new(executable.checked()?);
        command.args(arguments).env_clear().current_dir("/");
        command.envs(variables.iter().map(|(name, value)| (format!("{PASSED}{name}"), value.expose().to_string())));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::from(OwnedFd::from(told)));
        Ok(command.spawn()?)
    })
    .await??;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let child = Running(Some(child));
    let lost = || std::io::Error::other("a pipe is missing");
    let (stdin, stdout) = (stdin.ok_or_else(lost)?, stdout.ok_or_else(lost)?);
    let (stdin, stdout) = (Sender::from_owned_fd(stdin.into())?, Receiver::from_owned_fd(stdout.into())?);
    let begun = begun(UnixStream::from_std(status)?, reach.is_some());
    let slow = |_| SandboxError::Silent(format!(", or took longer than {} s", GRACE.as_secs()));
    let Begun { mut status, listener, errors } = tokio::time::timeout(GRACE, begun).await.map_err(slow)??;
    let errors = Arc::new(Mutex::new(errors));
    let heard = errors.clone();
    let mut tasks = vec![tokio::spawn(async move {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(length @ 1..) = status.read(&mut buffer).await {
            heard.lock().add(buffer.get(..length).unwrap_or_default());
        }
    })];
    if let (Some(listener), Some(reach)) = (listener, reach) {
        tasks.push(tokio::spawn(async move { proxy::serve(listener, &reach, &Arc::default()).await }));
    }
    Ok(Talk { child, stdin, stdout, errors, tasks, _scratch: scratch })
}

/// A program that the launcher has confined.
struct Begun {
    status: UnixStream,
    listener: Option<tokio::net::TcpListener>,
    errors: Collected,
}

/// Waits until the launcher says that it is confined. What comes after that line is the program's own.
async fn begun(mut status: UnixStream, proxy: bool) -> Result<Begun, SandboxError> {
    let mut first = Collected::new(STATUS_BYTES);
    let listener = if proxy { listener(&status, &mut first).await? } else { None };
    let mut said = first.text().text.into_bytes();
    let mut buffer = vec![0; 4096];
    loop {
        while let Some(end) = said.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = said.drain(..=end).collect();
            let Ok(told) = serde_json::from_slice::<serde_json::Value>(&line) else {
                let words = String::from_utf8_lossy(&line).trim().to_string();
                return Err(SandboxError::Silent(format!(" ({words})")));
            };
            if let Some(missing) = told.get("missing").and_then(serde_json::Value::as_str) {
                return Err(SandboxError::Unconfined(missing.to_string()));
            }
            if told.get("confined") == Some(&serde_json::Value::Bool(true)) {
                let mut errors = Collected::new(ERRORS);
                errors.add(&said);
                return Ok(Begun { status, listener, errors });
            }
        }
        match status.read(&mut buffer).await {
            Ok(length @ 1..) if said.len() < STATUS_BYTES => {
                said.extend_from_slice(buffer.get(..length).unwrap_or_default());
            }
            Ok(_) | Err(_) => return Err(SandboxError::Silent(String::new())),
        }
    }
}

impl Talk {
    /// Says something to it, and waits until it has taken all of that.
    pub(in crate::edge) async fn say(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stdin.write_all(bytes).await
    }

    /// Returns what it says next; `None` when it ended.
    pub(in crate::edge) async fn next(&mut self) -> Option<Vec<u8>> {
        let mut buffer = vec![0; 64 * 1024];
        match self.stdout.read(&mut buffer).await {
            Ok(length @ 1..) => Some(buffer.get(..length).unwrap_or_default().to_vec()),
            Ok(_) | Err(_) => None,
        }
    }

    /// Returns what it has said already, without waiting; `None` when it ended, and nothing when there is nothing.
    pub(in crate::edge) fn waiting(&mut self) -> Option<Vec<u8>> {
        let mut buffer = vec![0; 64 * 1024];
        match self.stdout.try_read(&mut buffer) {
            Ok(length @ 1..) => Some(buffer.get(..length).unwrap_or_default().to_vec()),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Some(Vec::new()),
            Ok(_) | Err(_) => None,
        }
    }

    /// Waits until all that it said on standard error is taken, once it has ended; not for long where it has not.
    pub(in crate::edge) async fn settle(&mut self) {
        if let Some(listening) = self.tasks.first_mut().filter(|listening| !listening.is_finished()) {
            let _ = tokio::time::timeout(LAST_WORDS, listening).await;
        }
    }

    /// Returns the begin and the end of what it said on standard error.
    pub(in crate::edge) fn errors(&self) -> String {
        self.errors.lock().text().text
    }

    /// Returns the id of the launcher's process, for tests that look whether it is gone.
    pub(in crate::edge) fn id(&self) -> Option<u32> {
        self.child.0.as_ref().map(Child::id)
    }

    /// Ends it and waits until all of it is gone.
    pub(in crate::edge) async fn end(mut self) {
        self.child.end();
        let mut rest = Collected::new(0);
        // When the pipe closes, the first process is gone, and with it everything inside.
        let _ = tokio::time::timeout(GRACE, fill(&mut self.stdout, &mut rest)).await;
        self.child.reap();
    }
}

impl Policy {
    /// Makes the policy of a program that is kept: its folder and the ones that it reads; home, memex, store and settings
    /// hidden, and in what it sees the files masked that hold secrets or that a turn elsewhere may not see. Blocks.
    fn kept(home: PathBuf, reads: Vec<PathBuf>, scope: &Scope, secret: &SecretTest) -> Result<Policy, SandboxError> {
        let canonical = |path: PathBuf| {
            let found = path.canonicalize();
            found.map_err(|why| SandboxError::Policy(format!("its folder {} cannot be used: {why}", path.display())))
        };
        let home = canonical(home)?;
        let reads = reads.into_iter().map(canonical).collect::<Result<Vec<_>, _>>()?;
        let scope = Scope { project: home.display().to_string(), ..scope.clone() };
        let mut policy = Policy::for_scope(&scope, secret)?;
        for folder in &reads {
            let one = Scope { project: folder.display().to_string(), ..scope.clone() };
            let seen = Policy::for_scope(&one, secret)?;
            policy.mask.extend(seen.mask);
            policy.hide.extend(seen.hide);
        }
        policy.hide.sort();
        policy.hide.dedup();
        policy.mask.sort();
        policy.mask.dedup();
        policy.read = reads;
        Ok(policy)
    }
}
