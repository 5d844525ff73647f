//! What may be seen, written and used: read from the arguments, checked before anything is done.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Where status lines go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusTo {
    /// Nowhere; only a refusal is told, on standard error.
    Nowhere,
    /// To the pipe that stands at standard input.
    Stdin,
    /// To the socket that stands at standard error. The command has it as its own after that, so nothing that comes after
    /// the line which says that it is confined is to be believed.
    Stderr,
}

/// What the command's standard input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// `/dev/null`.
    Null,
    /// What the launcher was given, for workers that are spoken to.
    Keep,
}

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// A command: program and arguments.
    Command(Vec<OsString>),
    /// Attempts to break out, with a line for each.
    Probe,
}

/// Upper bounds. The kernel enforces all but `disk`; the first process `disk`, and `memory` and
/// `processes` as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Seconds of processor time, for each process.
    pub cpu: u64,
    /// Bytes of memory, for each process and for all together.
    pub memory: u64,
    /// Bytes of the largest file that can be written.
    pub file: u64,
    /// Bytes of the private `/tmp`.
    pub scratch: u64,
    /// Bytes by which the free space of the project's file system may shrink.
    pub disk: u64,
    /// Open files, for each process.
    pub open: u64,
    /// Processes at one time.
    pub processes: u64,
}

/// What confines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walls {
    /// Namespaces, a root of its own, Landlock, seccomp and limits.
    All,
    /// Landlock, seccomp and limits, where the kernel makes no namespaces; on macOS a profile of `sandbox-exec`.
    Fewer,
}

/// The whole policy of one start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// What confines.
    pub walls: Walls,
    /// The folder in which the command runs.
    pub project: PathBuf,
    /// Whether the host is handed a listener through which the command may reach what the host lets it.
    pub proxy: bool,
    /// Whether the project can be written.
    pub writable: bool,
    /// A folder with empty folders `up` and `work`. What is written in the project goes to `up`, and the project stays.
    pub layer: Option<PathBuf>,
    /// Whether there is no project, nothing that can be written, and no process but the command itself.
    pub bare: bool,
    /// More folders that can be read.
    pub read: Vec<PathBuf>,
    /// Paths that must not be there at all.
    pub hide: Vec<PathBuf>,
    /// Files that are there but cannot be read.
    pub mask: Vec<PathBuf>,
    /// Paths of the project that can be read and not written.
    pub protect: Vec<PathBuf>,
    /// What the command's environment has beside the usual: names of variables, whose values stand in the launcher's own
    /// under [`PASSED`] and the name.
    pub pass: Vec<String>,
    /// Upper bounds.
    pub limits: Limits,
    /// The process that must be alive.
    pub parent: i32,
    /// Where status lines go.
    pub status: StatusTo,
    /// The command's standard input.
    pub stdin: Stdin,
    /// What is run.
    pub task: Task,
}

/// Folders of the system, which can be read by every command.
pub const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];

/// Where the command is at home; nothing of the host's is there.
pub const HOME: &str = "/tmp/home";

/// What stands before the name of a variable that is for the command, so that none is obeyed by the launcher itself.
pub const PASSED: &str = "PASSEPARTOUT_PASS_";

/// Places that the new root makes for itself; nothing may be mounted over them or stand for them.
const RESERVED: &[&str] = &["/", "/dev", "/etc", "/proc", "/sys", "/run", "/tmp", "/var", "/var/tmp"];

impl Policy {
    /// Reads the arguments. An unknown option, a missing value, a path that is not absolute and
    /// plain, and a project that would open the system are errors.
    pub fn read(args: impl Iterator<Item = OsString>) -> Result<Policy, String> {
        let mut args = args;
        let mut policy = Policy {
            walls: Walls::All,
            project: PathBuf::new(),
            proxy: false,
            writable: true,
            layer: None,
            bare: false,
            read: Vec::new(),
            hide: Vec::new(),
            mask: Vec::new(),
            protect: Vec::new(),
            pass: Vec::new(),
            limits: Limits {
                cpu: 60,
                memory: 2 << 30,
                file: 1 << 30,
                scratch: 256 << 20,
                disk: 4 << 30,
                open: 1024,
                processes: 256,
            },
            parent: 0,
            status: StatusTo::Nowhere,
            stdin: Stdin::Null,
            task: Task::Command(Vec::new()),
        };
        while let Some(option) = args.next() {
            let name = option.to_str().ok_or("an option is not text")?.to_string();
            match name.as_str() {
                "--" => {
                    policy.task = Task::Command(args.collect());
                    break;
                }
                "--probe" => policy.task = Task::Probe,
                "--proxy" => policy.proxy = true,
                "--read-only" => policy.writable = false,
                "--bare" => policy.bare = true,
                "--keep-stdin" => policy.stdin = Stdin::Keep,
                _ => policy.option(&name, args.next().ok_or_else(|| format!("{name} needs a value"))?)?,
            }
        }
        policy.checked()
    }

    fn option(&mut self, name: &str, value: OsString) -> Result<(), String> {
        match name {
            "--project" => self.project = plain(name, value)?,
            "--read" => self.read.push(plain(name, value)?),
            "--layer" => self.layer = Some(plain(name, value)?),
            "--hide" => self.hide.push(plain(name, value)?),
            "--mask" => self.mask.push(plain(name, value)?),
            "--protect" => self.protect.push(plain(name, value)?),
            "--pass" => self.pass.push(variable(name, value)?),
            "--limit-cpu" => self.limits.cpu = number(name, value)?,
            "--limit-memory" => self.limits.memory = number(name, value)?,
            "--limit-file" => self.limits.file = number(name, value)?,
            "--limit-scratch" => self.limits.scratch = number(name, value)?,
            "--limit-disk" => self.limits.disk = number(name, value)?,
            "--limit-files" => self.limits.open = number(name, value)?,
            "--limit-processes" => self.limits.processes = number(name, value)?,
            "--parent" => {
                self.parent = i32::try_from(number(name, value)?).map_err(|_| "--parent is no process id")?;
            }
            "--walls" if value == "fewer" => self.walls = Walls::Fewer,
            "--status" if value == "stdin" => self.status = StatusTo::Stdin,
            "--status" if value == "stderr" => self.status = StatusTo::Stderr,
            _ => return Err(format!("there is no option {name} with the value {}", value.to_string_lossy())),
        }
        Ok(())
    }

    fn checked(mut self) -> Result<Policy, String> {
        if self.bare {
            let opened = !self.project.as_os_str().is_empty() || !self.read.is_empty() || self.proxy;
            if opened {
                return Err("--bare excludes --project, --read and --proxy".to_string());
            }
            // An empty folder of its own, to stand in.
            self.project = PathBuf::from(HOME);
            self.writable = false;
        }
        if self.layer.is_some() && (self.bare || self.walls == Walls::Fewer) {
            return Err("--layer excludes --bare and fewer walls".to_string());
        }
        if self.project.as_os_str().is_empty() {
            return Err("--project DIR is missing".to_string());
        }
        if self.parent <= 0 {
            return Err("--parent PID is missing: the command must die with whoever wants it".to_string());
        }
        if self.task == Task::Command(Vec::new()) {
            return Err("no command: end the options with -- PROGRAM ARGUMENT…".to_string());
        }
        if self.proxy && self.status == StatusTo::Nowhere {
            return Err("--proxy needs --status stdin or stderr, to hand the listener over".to_string());
        }
        if self.status == StatusTo::Stdin && self.stdin == Stdin::Keep {
            return Err("--status stdin and --keep-stdin exclude each other".to_string());
        }
        for root in self.read.iter().chain([&self.project]) {
            let system = SYSTEM.iter().map(Path::new).any(|system| system.starts_with(root));
            if system || RESERVED.iter().any(|place| root == Path::new(place)) {
                return Err(format!("{} is a place of the system, not a project", root.display()));
            }
            if ["/dev", "/proc", "/sys", "/etc", "/run"].iter().any(|place| root.starts_with(place)) {
                return Err(format!("{} lies in a place of the system that stays closed", root.display()));
            }
        }
        if let Some(both) = self.hide.iter().find(|path| self.read.contains(path) || **path == self.project) {
            return Err(format!("{} is to be both shown and hidden", both.display()));
        }
        Ok(self)
    }
}

/// Returns an absolute path without `.`, `..`, doubled slashes or a NUL byte.
fn plain(option: &str, value: OsString) -> Result<PathBuf, String> {
    let path = PathBuf::from(&value);
    let plain = path.is_absolute() && !path.components().any(|part| matches!(part, Component::ParentDir));
    if !plain || value.as_bytes().contains(&0) {
        return Err(format!("{option}: {} is not an absolute path without “..”", path.display()));
    }
    Ok(path.components().collect())
}

/// Returns the name of a variable: letters, digits and underscores, and no digit first.
fn variable(option: &str, value: OsString) -> Result<String, String> {
    let name = value.to_string_lossy().into_owned();
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match plain && !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) {
        true => Ok(name),
        false => Err(format!("{option}: {name} is no name of a variable")),
    }
}

fn number(option: &str, value: OsString) -> Result<u64, String> {
    let text = value.to_string_lossy();
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| format!("{option}: {text} is not a number above 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Policy, String> {
        Policy::read(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn a_whole_policy_is_read() {
        let policy = read("--project /p/q/ --read /r --limit-cpu 5 --parent 7 --status stdin -- bash -c x").unwrap();
        assert_eq!(policy.project, PathBuf::from("/p/q"));
        assert_eq!(policy.read, [PathBuf::from("/r")]);
        assert_eq!(policy.limits.cpu, 5);
        let kept = read("--project /p --proxy --keep-stdin --status stderr --pass A_1 --parent 7 -- x").unwrap();
        assert_eq!((kept.status, kept.stdin, kept.pass), (StatusTo::Stderr, Stdin::Keep, vec!["A_1".to_string()]));
        assert_eq!(policy.task, Task::Command(vec!["bash".into(), "-c".into(), "x".into()]));
    }

    #[test]
    fn what_would_open_the_system_is_refused() {
        let cases = [
            ("--parent 7 -- x", "--project DIR is missing"),
            ("--project /p -- x", "--parent PID is missing"),
            ("--project /p --parent 7", "no command"),
            ("--project /p --parent 7 --", "no command"),
            ("--project p --parent 7 -- x", "not an absolute path"),
            ("--project /p/../etc --parent 7 -- x", "not an absolute path"),
            ("--project / --parent 7 -- x", "place of the system"),
            ("--project /usr --parent 7 -- x", "place of the system"),
            ("--project /nix --parent 7 -- x", "place of the system"),
            ("--project /tmp --parent 7 -- x", "place of the system"),
            ("--project /p --read /etc/ssh --parent 7 -- x", "stays closed"),
            ("--project /p --read /run/user/1000 --parent 7 -- x", "stays closed"),
            ("--project /p --hide /p --parent 7 -- x", "both shown and hidden"),
            ("--project /p --parent -3 -- x", "not a number above 0"),
            ("--project /p --parent 7 --limit-cpu 0 -- x", "not a number above 0"),
            ("--project /p --parent 7 --colour red -- x", "no option --colour"),
            ("--project /p --parent 7 --walls none -- x", "no option --walls"),
            ("--project /p --parent 7 --status fd -- x", "no option --status"),
            ("--project /p --parent 7 --proxy -- x", "needs --status stdin"),
            ("--project /p --parent 7 --pass A=B -- x", "no name of a variable"),
            ("--project /p --parent 7 --pass 1A -- x", "no name of a variable"),
            ("--bare --project /p --parent 7 -- x", "excludes"),
            ("--bare --read /p --parent 7 -- x", "excludes"),
            ("--bare --proxy --status stdin --parent 7 -- x", "excludes"),
            ("--bare --layer /l --parent 7 -- x", "--layer excludes"),
            ("--project /p --layer /l --walls fewer --parent 7 -- x", "--layer excludes"),
            ("--project /p --layer l --parent 7 -- x", "not an absolute path"),
            ("--project /p --parent 7 --keep-stdin --status stdin -- x", "exclude each other"),
        ];
        for (line, why) in cases {
            let told = read(line).expect_err(line);
            assert!(told.contains(why), "{line}: {told}");
        }
    }
}
