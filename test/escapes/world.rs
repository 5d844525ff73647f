//! What the attempts aim at, made outside: files, listeners, processes, shared memory; and whether any of it was touched.

use crate::files::{LEFT_FILE, LEFT_FOLDER, text};
use crate::targets::Targets;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// The number of a world in which something grows: our other programs are not there.
pub const LIMITS: i32 = 2;

/// How many processes there are to be hit.
const VICTIMS: usize = 9;

const FILES: &[&str] = &[
    "home/.authinfo",
    "home/.bashrc",
    "home/.ssh/id_rsa",
    "home/memex/diary.org",
    "home/store/store.db",
    "home/settings/config",
    "home/work/other/file",
    "home/work/project/.env",
    "home/work/project/deep/.env",
    "home/work/project/hidden/secret",
    "home/work/project/notes.txt",
    "home/work/project/swap",
    "home/work/project/part/.dir-locals.el",
    "home/work/project/.git/config",
    "home/work/project/.git/HEAD",
    "home/work/project/.git/hooks/pre-commit",
    "home/work/project/mask/write.env",
    "home/work/project/mask/move.env",
    "home/work/project/mask/folder/.env",
    "home/work/project/mask/delete.env",
    "home/work/project/mask/link.env",
    "home/work/project/mask/over.env",
    "home/work/project/mask/swap.env",
    "home/work/project/mask/chmod.env",
    "home/work/project/mask/point.env",
    "elsewhere/read",
    "elsewhere/write",
    "elsewhere/cut",
    "elsewhere/delete",
    "elsewhere/move-in",
    "elsewhere/swap",
    "elsewhere/through",
    "elsewhere/chmod",
    "elsewhere/fchmod",
    "elsewhere/chown",
    "elsewhere/chown-self",
    "elsewhere/utime",
    "elsewhere/xattr",
    "elsewhere/xattr-there",
    "elsewhere/folder/file",
    "bin/module.so",
    "bin/module-spare.so",
    "bin/spare-run",
];

const MASKED: &[&str] = &[
    ".env",
    "deep/.env",
    "mask/write.env",
    "mask/move.env",
    "mask/folder/.env",
    "mask/delete.env",
    "mask/link.env",
    "mask/over.env",
    "mask/swap.env",
    "mask/chmod.env",
    "mask/point.env",
];

const PROTECTED: &[&str] = &[".git/hooks", ".git/config", "part/.dir-locals.el"];

/// The world of one run.
pub struct World {
    folder: tempfile::TempDir,
    targets: Targets,
    victims: Vec<Child>,
    streams: Vec<UnixListener>,
    tcp: Vec<TcpListener>,
    udp: UdpSocket,
    datagrams: UnixDatagram,
    key: i32,
    shared: String,
    before: BTreeMap<PathBuf, String>,
}

impl World {
    /// Makes it for the user who runs this. `lends` is a program that lends the rights of root, where there is one.
    pub fn new(number: i32, lends: Option<&Path>) -> World {
        // Not below /tmp: inside, that is a folder of its own.
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let at = folder.path().canonicalize().unwrap();
        fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).unwrap();
        for name in FILES {
            fs::create_dir_all(at.join(name).parent().unwrap()).unwrap();
            fs::write(at.join(name), "hunter2\n").unwrap();
        }
        for name in ["run/emacs", "run/systemd"] {
            fs::create_dir_all(at.join(name)).unwrap();
        }
        symlink(at.join("elsewhere/read"), at.join("home/work/project/leads-out")).unwrap();
        set_attribute(&at.join("elsewhere/xattr-there"));
        if let Some(lends) = lends {
            symlink(lends, at.join("bin/lends")).unwrap();
        }
        let own = std::env::current_exe().unwrap();
        let others = ["run", "passepartout"].iter().filter(|_| number != LIMITS);
        let others = others.map(|name| (own.with_file_name(name), *name));
        for (from, name) in std::iter::once((own.clone(), "escape")).chain(others) {
            assert!(Command::new("cp").arg(from).arg(at.join("bin").join(name)).status().unwrap().success());
        }
        let project = at.join("home/work/project");
        let sockets = [
            "run/emacs/server",
            "run/systemd/private",
            "run/bus",
            "run/ssh-agent",
            "run/docker.sock",
            "home/store/socket",
        ];
        let mut streams: Vec<UnixListener> =
            sockets.iter().map(|name| UnixListener::bind(at.join(name)).unwrap()).collect();
        streams.push(UnixListener::bind(project.join("socket")).unwrap());
        let name = format!("passepartout-escape-{}-{number}", std::process::id());
        streams.push(UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap());
        streams.iter().for_each(|socket| socket.set_nonblocking(true).unwrap());
        let tcp: Vec<TcpListener> =
            ["127.0.0.1:0", "[::1]:0"].iter().filter_map(|address| TcpListener::bind(address).ok()).collect();
        tcp.iter().for_each(|socket| socket.set_nonblocking(true).unwrap());
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        let datagrams = UnixDatagram::bind(project.join("datagrams")).unwrap();
        datagrams.set_nonblocking(true).unwrap();
        let key = 0x5041_0000 + (std::process::id() as i32 % 0x1000) * 16 + number;
        let victims: Vec<Child> = (0..VICTIMS).map(|_| victim()).collect();
        let mut targets = Targets::default();
        targets.set("world", at.display());
        targets.set("abstract", &name);
        targets.set("tcp", tcp[0].local_addr().unwrap().port());
        targets.set("tcp6", tcp.get(1).map_or(1, |socket| socket.local_addr().unwrap().port()));
        targets.set("udp", udp.local_addr().unwrap().port());
        targets.set("key", key);
        targets.set("shm", &name);
        targets.set("tester", std::process::id());
        for (number, child) in victims.iter().enumerate() {
            targets.set(&format!("victim{number}"), child.id());
        }
        targets.write(&at.join("bin/targets"));
        share(&name, key);
        let before = snapshot(&at);
        World { folder, targets, victims, streams, tcp, udp, datagrams, key, shared: name, before }
    }

    /// Returns the folder of the project.
    pub fn project(&self) -> PathBuf {
        self.targets.project("").components().collect()
    }

    /// Returns the command that makes every attempt: under the launcher, or bare.
    pub fn command(&self, launcher: Option<&Path>, walls: &[&str]) -> Command {
        let at = |name: &str| self.targets.at(name);
        let inside = [at("bin/escape").into_os_string(), "inside".into(), at("bin/targets").into_os_string()];
        let mut command = match launcher {
            None => Command::new(&inside[0]),
            Some(launcher) => {
                let mut command = Command::new(launcher);
                command.args(self.policy()).args(walls).arg("--").arg(&inside[0]);
                command
            }
        };
        command.args(&inside[1..]).current_dir(self.project());
        command.env("ESCAPE_SECRET", "hunter2").env("SSH_AUTH_SOCK", at("run/ssh-agent"));
        command
    }

    /// Returns the launcher's arguments, as the edge makes them for a project like this one.
    pub fn policy(&self) -> Vec<String> {
        let at = |name: &str| self.targets.at(name).display().to_string();
        let mut words =
            vec!["--project".to_string(), self.project().display().to_string(), "--read".to_string(), at("bin")];
        let inside = |name: &str| self.project().join(name).display().to_string();
        let mut add = |option: &str, path: String| words.extend([option.to_string(), path]);
        ["home", "home/memex", "home/store", "home/settings"].iter().for_each(|name| add("--hide", at(name)));
        add("--hide", inside("hidden"));
        MASKED.iter().for_each(|name| add("--mask", inside(name)));
        PROTECTED.iter().for_each(|name| add("--protect", inside(name)));
        add("--parent", std::process::id().to_string());
        words
    }

    /// Returns what of it was touched, in words; nothing when all held.
    pub fn touched(&mut self) -> Vec<String> {
        let mut found = Vec::new();
        let after = snapshot(self.folder.path());
        for (path, state) in &self.before {
            match after.get(path) {
                Some(now) if now == state => {}
                now => found.push(format!("{} was {state} and is {now:?}", path.display())),
            }
        }
        found.extend(
            after
                .keys()
                .filter(|path| !self.before.contains_key(*path))
                .map(|path| format!("{} was made", path.display())),
        );
        let heard = self.streams.iter().filter(|socket| socket.accept().is_ok()).count();
        let heard = heard + self.tcp.iter().filter(|socket| socket.accept().is_ok()).count();
        let mut buffer = [0u8; 64];
        let packets =
            usize::from(self.udp.recv(&mut buffer).is_ok()) + usize::from(self.datagrams.recv(&mut buffer).is_ok());
        if heard + packets > 0 {
            found.push(format!("{heard} connections and {packets} packets came"));
        }
        for (number, child) in self.victims.iter().enumerate() {
            if let Some(what) = harm(child.id()) {
                found.push(format!("victim {number}: {what}"));
            }
        }
        found
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for child in &mut self.victims {
            let _ = child.kill();
            let _ = child.wait();
        }
        unshare(&self.shared, self.key);
    }
}

/// Leaves a secret file and a folder open for whoever is started next, as a careless host would.
pub fn leave_open(world: &Targets) -> (fs::File, fs::File) {
    use std::os::fd::FromRawFd;
    let place = |path: PathBuf, at: i32| {
        let open = fs::File::open(path).unwrap().into_raw_fd();
        // SAFETY: `open` is ours; the copy is owned by what is returned.
        unsafe {
            assert_eq!(libc::dup2(open, at), at);
            libc::close(open);
            fs::File::from_raw_fd(at)
        }
    };
    (place(world.at("home/.authinfo"), LEFT_FILE), place(world.at("home"), LEFT_FOLDER))
}

impl World {
    /// Returns the targets.
    pub fn targets(&self) -> &Targets {
        &self.targets
    }
}

fn victim() -> Child {
    use std::os::unix::process::CommandExt;
    // A group of its own, so that an attempt on the group does not hit the test.
    Command::new("sleep").arg("600").env("ESCAPE_SECRET", "hunter2").process_group(0).spawn().unwrap()
}

/// Returns what became of a process that should sleep undisturbed.
fn harm(process: u32) -> Option<String> {
    let Ok(status) = fs::read_to_string(format!("/proc/{process}/stat")) else { return Some("gone".to_string()) };
    let fields: Vec<&str> = status.rsplit_once(") ").map_or(Vec::new(), |(_, rest)| rest.split(' ').collect());
    let state = fields.first().copied().unwrap_or_default();
    let nice = fields.get(16).copied().unwrap_or_default();
    let own = fs::read_to_string("/proc/self/stat").unwrap();
    let ours = own.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(16)).unwrap_or_default();
    let limits = fs::read_to_string(format!("/proc/{process}/limits")).unwrap_or_default();
    let bounded =
        limits.lines().any(|line| line.starts_with("Max open files") && line.split_whitespace().nth(3) == Some("1"));
    if state != "S" {
        Some(format!("in state {state}"))
    } else if nice != ours {
        Some(format!("nice {nice}"))
    } else {
        bounded.then(|| "bounded".to_string())
    }
}

/// Describes all that must stay as it is: everything but the inside of the project that may be written.
fn snapshot(at: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![at.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            let relative = path.strip_prefix(at).unwrap().to_path_buf();
            let about = fs::symlink_metadata(&path).unwrap();
            if about.is_dir() {
                folders.push(path.clone());
            }
            if !about.is_file() && !about.is_dir() {
                continue;
            }
            let free = relative.strip_prefix("home/work/project").ok().is_some_and(|name| {
                let guarded = MASKED.iter().chain(PROTECTED).any(|place| name.starts_with(place));
                // A folder may be moved with what is masked in it: it stays masked.
                name.starts_with("mask/folder") || !(guarded || name.starts_with("hidden"))
            });
            if free {
                continue;
            }
            let mut content = String::new();
            if about.len() < 100 && about.is_file() {
                let _ = fs::File::open(&path).and_then(|mut file| file.read_to_string(&mut content));
            }
            let inside = about.is_dir() && relative.starts_with("home/work");
            // A folder's own time changes with what is made in it: here only outside of the project.
            let time = if inside { 0 } else { about.mtime_nsec() + about.mtime() };
            found.insert(
                relative,
                format!(
                    "{:o} {}:{} {} {time} {content:?} {}",
                    about.mode(),
                    about.uid(),
                    about.gid(),
                    about.len() * u64::from(!inside),
                    attributes(&path)
                ),
            );
        }
    }
    found
}

fn set_attribute(path: &Path) {
    let path = text(path).unwrap();
    // SAFETY: both texts end with NUL. A file system without attributes has none to lose.
    unsafe { libc::setxattr(path.as_ptr(), c"user.there".as_ptr(), b"x".as_ptr().cast(), 1, 0) };
}

fn attributes(path: &Path) -> i64 {
    let path = text(path).unwrap();
    // SAFETY: without a buffer the call answers the length only.
    unsafe { libc::listxattr(path.as_ptr(), std::ptr::null_mut(), 0) as i64 }
}

/// Makes what is shared with a name or a number, for whoever can name it.
fn share(name: &str, key: i32) {
    fs::write(format!("/dev/shm/{name}"), "hunter2").unwrap();
    // SAFETY: plain numbers.
    unsafe {
        assert!(libc::shmget(key, 4096, libc::IPC_CREAT | 0o666) >= 0, "{}", std::io::Error::last_os_error());
        assert!(libc::msgget(key, libc::IPC_CREAT | 0o666) >= 0, "{}", std::io::Error::last_os_error());
        assert!(libc::semget(key, 1, libc::IPC_CREAT | 0o666) >= 0, "{}", std::io::Error::last_os_error());
    }
    let queue = std::ffi::CString::new(format!("/{name}")).unwrap();
    let none = std::ptr::null_mut::<libc::mq_attr>();
    // SAFETY: the name ends with NUL; where there are no queues, none is made.
    unsafe { libc::mq_open(queue.as_ptr(), libc::O_CREAT | libc::O_RDWR, 0o666, none) };
}

fn unshare(name: &str, key: i32) {
    let _ = fs::remove_file(format!("/dev/shm/{name}"));
    let queue = std::ffi::CString::new(format!("/{name}")).unwrap();
    // SAFETY: plain numbers, and a name that ends with NUL.
    unsafe {
        libc::shmctl(libc::shmget(key, 0, 0), libc::IPC_RMID, std::ptr::null_mut());
        libc::msgctl(libc::msgget(key, 0), libc::IPC_RMID, std::ptr::null_mut());
        libc::semctl(libc::semget(key, 0, 0), 0, libc::IPC_RMID);
        libc::mq_unlink(queue.as_ptr());
    }
}

/// Opens a pseudo-terminal and returns its two ends: of whoever sits there, and of whoever runs in it.
pub fn terminal() -> (fs::File, fs::File) {
    use std::os::fd::FromRawFd;
    let (mut near, mut far) = (0, 0);
    let null = std::ptr::null_mut;
    // SAFETY: both ends are filled with fresh descriptors, or the call fails.
    unsafe {
        assert_eq!(libc::openpty(&mut near, &mut far, null(), std::ptr::null(), std::ptr::null()), 0);
        libc::fcntl(near, libc::F_SETFD, libc::FD_CLOEXEC);
        (fs::File::from_raw_fd(near), fs::File::from_raw_fd(far))
    }
}

/// Returns how many characters wait to be read as if typed.
pub fn typed(terminal: &fs::File) -> i32 {
    let mut waiting = 0;
    // SAFETY: the number is valid for the call.
    unsafe { libc::ioctl(terminal.as_raw_fd(), libc::FIONREAD, &mut waiting) };
    waiting
}
