//! The system calls, with errors as values. All `unsafe` of the launcher that is not a filter stands here.
//!
//! The launcher has one thread from start to exec, so nothing here needs to care for others.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// Which of the two processes one is after a fork.
pub enum Fork {
    /// The new one.
    Child,
    /// The old one, with the id of the new.
    Parent(i32),
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With an exit status.
    Exit(i32),
    /// By a signal.
    Signal(i32),
}

fn done(code: impl Into<i64>) -> Result<i64> {
    let code = code.into();
    if code < 0 { Err(Error::last_os_error()) } else { Ok(code) }
}

fn text(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::from_raw_os_error(libc::EINVAL))
}

/// Opens all signals and gives each its default effect: hosts such as Emacs block and ignore some,
/// and both are inherited.
pub fn reset_signals() {
    for signal in 1..=64 {
        // SAFETY: no handler of ours is ever installed.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    open_signals();
}

/// Opens all signals, those as well that were blocked to be waited for.
pub fn open_signals() {
    // SAFETY: the set is initialised before use.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

/// Blocks the signals that are waited for with [`wait_signal`].
pub fn block_waited() {
    // SAFETY: the set is initialised by `waited`.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &waited(), std::ptr::null_mut()) };
}

fn waited() -> libc::sigset_t {
    // SAFETY: `sigemptyset` initialises the set before the others add to it.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}

/// Waits for one of the blocked signals and returns it; `None` after the time.
pub fn wait_signal(most: Option<Duration>) -> Option<i32> {
    let set = waited();
    // SAFETY: the set and the time are valid for the call; a null time waits for ever.
    let signal = unsafe {
        match most {
            None => libc::sigwaitinfo(&set, std::ptr::null_mut()),
            Some(most) => {
                let time = libc::timespec {
                    tv_sec: most.as_secs() as libc::time_t,
                    tv_nsec: libc::c_long::from(most.subsec_nanos()),
                };
                libc::sigtimedwait(&set, std::ptr::null_mut(), &time)
            }
        }
    };
    (signal > 0).then_some(signal)
}

/// Closes every descriptor above the standard three.
pub fn close_inherited() -> Result<()> {
    // SAFETY: called first thing, before we own any descriptor above 2.
    done(unsafe { libc::close_range(3, libc::c_uint::MAX, 0) }).map(drop)
}

/// Returns a copy of a descriptor, closed at exec.
pub fn duplicate(fd: i32) -> Result<File> {
    // SAFETY: the call answers a fresh descriptor that nobody else owns, or an error.
    unsafe { done(libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3)).map(|fd| File::from_raw_fd(fd as i32)) }
}

/// Puts a copy of an open file in the place of a standard descriptor.
pub fn replace(file: &File, fd: i32) -> Result<()> {
    // SAFETY: both are descriptors; what stood at `fd` is closed by the kernel and owned by nobody here.
    done(unsafe { libc::dup2(file.as_raw_fd(), fd) }).map(drop)
}

/// Returns the two ends of a pipe, read end first, both closed at exec.
pub fn pipe() -> Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: the call fills both with fresh descriptors, or fails.
    unsafe {
        done(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC))?;
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// Returns whether the other end of a pipe is closed already.
pub fn hung_up(end: &OwnedFd) -> bool {
    let mut poll = libc::pollfd { fd: end.as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: one valid entry, no waiting.
    unsafe { libc::poll(&mut poll, 1, 0) };
    poll.revents & (libc::POLLHUP | libc::POLLERR) != 0
}

/// Splits in two.
pub fn fork() -> Result<Fork> {
    // SAFETY: there is one thread, so the child may do whatever the parent may.
    match done(unsafe { libc::fork() })? {
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(pid as i32)),
    }
}

/// The stack of a child that begins in this process's memory, in bytes.
const CHILD_STACK: usize = 1 << 20;

/// Starts a child that works in this process's memory until it executes a program or leaves, and waits for that: so
/// nothing is copied for what is thrown away at once. What `run` returns is its exit status.
///
/// Whatever the child does to its own credentials, filters, limits, descriptors and folder is its own alone.
pub fn begin(run: &dyn Fn() -> i32) -> Result<i32> {
    extern "C" fn child(run: *mut libc::c_void) -> libc::c_int {
        // SAFETY: it points to what `begin` was given, which lives as long as `begin` waits.
        let run = unsafe { *run.cast::<&dyn Fn() -> i32>() };
        // What is registered to run at exit is the parent's.
        leave(run())
    }
    let (page, mut run) = (page() as usize, run);
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK | libc::MAP_NORESERVE;
    // SAFETY: the stack is fresh memory with a page below it that nothing may touch, and is given back when the child no
    // longer uses it. There is one thread, and it stands still until the child has another memory or has ended, so that
    // neither sees the other in the middle of anything.
    unsafe {
        let stack = libc::mmap(std::ptr::null_mut(), CHILD_STACK + page, libc::PROT_NONE, kind, -1, 0);
        if stack == libc::MAP_FAILED {
            return Err(Error::last_os_error());
        }
        let low = stack.cast::<u8>().add(page);
        let made = match libc::mprotect(low.cast(), CHILD_STACK, libc::PROT_READ | libc::PROT_WRITE) {
            0 => done(libc::clone(child, low.add(CHILD_STACK).cast(), flags, (&raw mut run).cast())),
            _ => Err(Error::last_os_error()),
        };
        libc::munmap(stack, CHILD_STACK + page);
        made.map(|pid| pid as i32)
    }
}

/// Leaves the process at once, without anything that was registered to run at exit.
pub fn leave(code: i32) -> ! {
    // SAFETY: always sound.
    unsafe { libc::_exit(code) }
}

/// Kills a child of ours that has not been waited for.
pub fn kill(pid: i32) {
    // SAFETY: a child that was not waited for keeps its id, so nobody else is hit.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// Waits for any child; without `block` only for one that has ended already.
pub fn wait(block: bool) -> Option<(i32, Ended)> {
    let mut status = 0;
    // SAFETY: the status is valid for the call.
    let pid = unsafe { libc::waitpid(-1, &mut status, if block { 0 } else { libc::WNOHANG }) };
    let ended = if libc::WIFSIGNALED(status) {
        Ended::Signal(libc::WTERMSIG(status))
    } else {
        Ended::Exit(libc::WEXITSTATUS(status))
    };
    (pid > 0).then_some((pid, ended))
}

/// Returns whether this process has no child, ended or not.
pub fn childless() -> bool {
    // SAFETY: nothing is waited for and nothing is written.
    let code =
        unsafe { libc::waitid(libc::P_ALL, 0, std::ptr::null_mut(), libc::WEXITED | libc::WNOHANG | libc::WNOWAIT) };
    code < 0 && Error::last_os_error().raw_os_error() == Some(libc::ECHILD)
}

/// Asks the kernel to kill this process when its parent ends. Cleared by exec of privileged files and by
/// new credentials, so it is called after every change of them.
pub fn die_with_parent() -> Result<()> {
    // SAFETY: plain numbers.
    done(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) }).map(drop)
}

/// Returns the parent's id; 0 when it lives outside of our pid namespace.
pub fn parent() -> i32 {
    // SAFETY: always sound.
    unsafe { libc::getppid() }
}

/// Returns user and group.
pub fn identity() -> (u32, u32) {
    // SAFETY: always sound.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Leaves the host's terminal, and the group of processes that its keys interrupt.
pub fn new_session() {
    // SAFETY: always sound; fails only for the leader of a group, which a shell made one of its own.
    unsafe { libc::setsid() };
}

/// Makes new namespaces for this process and its children.
pub fn unshare(flags: i32) -> Result<()> {
    // SAFETY: plain numbers; there is one thread.
    done(unsafe { libc::unshare(flags) }).map(drop)
}

/// Makes this process the parent of every orphan below it.
pub fn adopt_orphans() -> Result<()> {
    // SAFETY: plain numbers.
    done(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }).map(drop)
}

/// Returns this process's id.
pub fn own() -> i32 {
    // SAFETY: always sound.
    unsafe { libc::getpid() }
}

/// Returns a number that nobody can guess, for a name that nobody has taken.
pub fn chance() -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: the buffer has the length that is given. What is not filled stays 0, and a name that is taken is refused.
    unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    u64::from_ne_bytes(bytes)
}

/// Hides this process's memory, environment and descriptors from others of the same user.
pub fn hide_self() -> Result<()> {
    // SAFETY: plain numbers.
    done(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) }).map(drop)
}

/// Mounts a `/proc` of our pid namespace, in which nothing can be set and processes that hide cannot be seen:
/// 4 is the one kind of hiding that has no exception for group 0.
pub fn mount_proc(at: &Path) -> Result<()> {
    let at = text(at)?;
    let flags = libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // SAFETY: all texts end with NUL and outlive the call.
    done(unsafe { libc::mount(c"proc".as_ptr(), at.as_ptr(), c"proc".as_ptr(), flags, c"hidepid=4".as_ptr().cast()) })
        .map(drop)
}

/// Returns a new file system in memory that is mounted nowhere yet.
pub fn memory_folder(bytes: u64, files: u64, mode: u32) -> Result<OwnedFd> {
    let options = [("size", bytes.to_string()), ("nr_inodes", files.to_string()), ("mode", format!("{mode:o}"))];
    let context = file_system(c"tmpfs")?;
    for (key, value) in options {
        let (key, value) = (text(Path::new(key))?, text(Path::new(&value))?);
        let set = libc::FSCONFIG_SET_STRING;
        // SAFETY: the descriptor is open and both texts end with NUL.
        done(unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), set, key.as_ptr(), value.as_ptr(), 0) })?;
    }
    mounted(&context, libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV)
}

/// Returns a layer over a folder, mounted nowhere yet: what is written there goes to `upper`, and `work` is the kernel's.
/// All three are open for naming only; `upper` and `work` are empty folders of one file system.
pub fn layered(lower: &OwnedFd, upper: &OwnedFd, work: &OwnedFd) -> Result<OwnedFd> {
    let context = file_system(c"overlay")?;
    for (key, folder) in [(c"lowerdir", lower), (c"upperdir", upper), (c"workdir", work)] {
        // By its descriptor: a path could lead elsewhere by now, and has letters that mean something there.
        let path = text(Path::new(&format!("/proc/self/fd/{}", folder.as_raw_fd())))?;
        let set = libc::FSCONFIG_SET_STRING;
        // SAFETY: the descriptor is open and both texts end with NUL.
        done(unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), set, key.as_ptr(), path.as_ptr(), 0) })?;
    }
    // The notes that the kernel makes of what was removed are such as a user may make.
    let (flag, null) = (libc::FSCONFIG_SET_FLAG, std::ptr::null::<libc::c_char>());
    // SAFETY: the descriptor is open, the text ends with NUL, and null stands for "no value".
    done(unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), flag, c"userxattr".as_ptr(), null, 0) })?;
    mounted(&context, libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV)
}

fn file_system(kind: &CStr) -> Result<OwnedFd> {
    // SAFETY: the text ends with NUL; the answer is a fresh descriptor.
    unsafe {
        done(libc::syscall(libc::SYS_fsopen, kind.as_ptr(), libc::FSOPEN_CLOEXEC))
            .map(|fd| OwnedFd::from_raw_fd(fd as i32))
    }
}

fn mounted(context: &OwnedFd, attributes: u64) -> Result<OwnedFd> {
    let (create, null) = (libc::FSCONFIG_CMD_CREATE, std::ptr::null::<libc::c_char>());
    // SAFETY: the descriptor is open, null stands for "no value", and the answer is a fresh descriptor.
    unsafe {
        done(libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), create, null, null, 0))?;
        done(libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), libc::FSMOUNT_CLOEXEC, attributes))
            .map(|fd| OwnedFd::from_raw_fd(fd as i32))
    }
}

/// Cuts this mount namespace off from the host's: nothing that is mounted here is seen there.
pub fn make_private() -> Result<()> {
    let root = c"/";
    let flags = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: the texts are constants; null stands for "not used" with these flags.
    done(unsafe { libc::mount(std::ptr::null(), root.as_ptr(), std::ptr::null(), flags, std::ptr::null()) }).map(drop)
}

/// Opens a path for naming it only. A symbolic link anywhere in it is an error.
pub fn name(path: &Path) -> Result<OwnedFd> {
    let path = text(path)?;
    // SAFETY: zero is a valid value of every field.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (libc::O_PATH | libc::O_CLOEXEC) as u64;
    how.resolve = libc::RESOLVE_NO_SYMLINKS;
    // SAFETY: the path ends with NUL; `how` is valid and its size is given; the descriptor is fresh.
    unsafe {
        done(libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, path.as_ptr(), &how, size_of::<libc::open_how>()))
            .map(|fd| OwnedFd::from_raw_fd(fd as i32))
    }
}

/// Returns a detached copy of what is mounted at a path and below it.
pub fn copy_tree(at: &OwnedFd) -> Result<OwnedFd> {
    let flags = libc::OPEN_TREE_CLONE as i32 | libc::O_CLOEXEC | libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the descriptor is open, the empty path names it, and the answer is a fresh descriptor.
    unsafe {
        done(libc::syscall(libc::SYS_open_tree, at.as_raw_fd(), c"".as_ptr(), flags))
            .map(|fd| OwnedFd::from_raw_fd(fd as i32))
    }
}

/// Which mounts an attribute is set on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The mount alone.
    Alone,
    /// The mount and all below it.
    Below,
}

/// Sets attributes of a mount; those that it has already stay.
pub fn set_attributes(tree: &OwnedFd, attributes: u64, reach: Reach) -> Result<()> {
    // SAFETY: zero is a valid value of every field.
    let mut wanted: libc::mount_attr = unsafe { std::mem::zeroed() };
    wanted.attr_set = attributes;
    let flags = libc::AT_EMPTY_PATH
        | match reach {
            Reach::Alone => 0,
            Reach::Below => libc::AT_RECURSIVE,
        };
    // SAFETY: the descriptor is open, the empty path names it, the structure's size is given.
    done(unsafe {
        let size = size_of::<libc::mount_attr>();
        libc::syscall(libc::SYS_mount_setattr, tree.as_raw_fd(), c"".as_ptr(), flags, &wanted, size)
    })
    .map(drop)
}

/// Puts a detached tree at a place.
pub fn attach(tree: &impl AsRawFd, place: &impl AsRawFd) -> Result<()> {
    let flags = libc::MOVE_MOUNT_F_EMPTY_PATH | libc::MOVE_MOUNT_T_EMPTY_PATH;
    // SAFETY: both descriptors are open and named by empty paths.
    done(unsafe {
        let empty = c"".as_ptr();
        libc::syscall(libc::SYS_move_mount, tree.as_raw_fd(), empty, place.as_raw_fd(), empty, flags)
    })
    .map(drop)
}

/// Returns a `/proc` of our pid namespace that is mounted nowhere, so that only we can look into it.
pub fn own_proc() -> Result<OwnedFd> {
    mounted(&file_system(c"proc")?, libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOEXEC)
}

/// Makes an open folder the current one.
pub fn enter(folder: &OwnedFd) -> Result<()> {
    // SAFETY: the descriptor is open.
    done(unsafe { libc::fchdir(folder.as_raw_fd()) }).map(drop)
}

/// Returns the size of a page of memory, in bytes.
pub fn page() -> u64 {
    // SAFETY: always sound.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Brings up the loopback of the current network namespace.
pub fn bring_up_loopback() -> Result<()> {
    // SAFETY: a fresh socket that nobody else owns; zero is a valid value of every field of the request, whose name ends
    // with NUL, and which outlives both calls.
    unsafe {
        let socket = done(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0))?;
        let socket = OwnedFd::from_raw_fd(socket as i32);
        let mut request: libc::ifreq = std::mem::zeroed();
        for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
            *place = *byte as libc::c_char;
        }
        done(libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &mut request))?;
        request.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short;
        done(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &request)).map(drop)
    }
}

/// Sends a text over a Unix socket, and a copy of a descriptor with it.
pub fn send_descriptor(socket: &File, text: &[u8], sent: &impl AsRawFd) -> Result<()> {
    /// Large enough for one descriptor, and aligned as the kernel reads it.
    #[repr(align(8))]
    struct Control([u8; 64]);
    let mut control = Control([0; 64]);
    let mut part = libc::iovec { iov_base: text.as_ptr().cast_mut().cast(), iov_len: text.len() };
    let size = size_of::<libc::c_int>() as libc::c_uint;
    // SAFETY: zero is a valid value of every field; all that the message points to outlives the call, and the header lies
    // within the control bytes, which are long enough for it and one descriptor.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size) as _;
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size) as _;
        libc::CMSG_DATA(header).cast::<libc::c_int>().write_unaligned(sent.as_raw_fd());
        done(libc::sendmsg(socket.as_raw_fd(), &message, libc::MSG_NOSIGNAL) as i64).map(drop)
    }
}

/// What is free on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Free {
    /// Bytes.
    pub bytes: u64,
    /// Files that can still be made; 0 where the file system does not count them.
    pub files: u64,
}

/// Returns what is free where a path stands.
pub fn free(at: &Path) -> Result<Free> {
    let at = text(at)?;
    // SAFETY: zero is a valid value of every field; the path ends with NUL and the structure outlives the call.
    unsafe {
        let mut about: libc::statvfs = std::mem::zeroed();
        done(libc::statvfs(at.as_ptr(), &mut about))?;
        Ok(Free { bytes: about.f_bfree.saturating_mul(about.f_frsize), files: about.f_ffree })
    }
}

/// Leaves every group but the own one, where that is allowed.
pub fn leave_groups() {
    // SAFETY: zero groups, so nothing is read. Only root may; others keep theirs, which open nothing that is shown.
    unsafe { libc::setgroups(0, std::ptr::null()) };
}

/// Makes `root` the root and puts the old one at `old`.
pub fn pivot(root: &Path, old: &Path) -> Result<()> {
    let (root, old) = (text(root)?, text(old)?);
    // SAFETY: both texts end with NUL.
    done(unsafe { libc::syscall(libc::SYS_pivot_root, root.as_ptr(), old.as_ptr()) }).map(drop)
}

/// Takes a mount and all below it away.
pub fn detach(at: &Path) -> Result<()> {
    let at = text(at)?;
    // SAFETY: the text ends with NUL.
    done(unsafe { libc::umount2(at.as_ptr(), libc::MNT_DETACH) }).map(drop)
}

/// Bounds a resource for good.
pub fn limit(resource: libc::__rlimit_resource_t, most: u64) -> Result<()> {
    // SAFETY: zero is a valid value, and the structure is valid for both calls.
    unsafe {
        let mut now: libc::rlimit = std::mem::zeroed();
        done(libc::getrlimit(resource, &mut now))?;
        // What the host has bounded tighter stays so: raising it is not ours to do.
        let most = most.min(now.rlim_max);
        done(libc::setrlimit(resource, &libc::rlimit { rlim_cur: most, rlim_max: most })).map(drop)
    }
}

/// Sets one of the process's own switches.
pub fn switch(option: i32, value: u64) -> Result<()> {
    // SAFETY: plain numbers.
    done(unsafe { libc::prctl(option, value as libc::c_ulong, 0, 0, 0) }).map(drop)
}

/// Gives up every capability of the three sets.
pub fn drop_capabilities() -> Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let header = Header { version: VERSION_3, pid: 0 };
    let none = [0u32; 6];
    // SAFETY: version 3 reads a header and two triples of words, which is what both are.
    done(unsafe { libc::syscall(libc::SYS_capset, &header, none.as_ptr()) }).map(drop)
}

/// Tries to make a socket; used by the probe.
pub fn socket(domain: i32, kind: i32) -> Result<()> {
    // SAFETY: plain numbers; a descriptor that should not be is closed again.
    unsafe { done(libc::socket(domain, kind | libc::SOCK_CLOEXEC, 0)).map(|fd| drop(OwnedFd::from_raw_fd(fd as i32))) }
}

/// Tries a system call that takes numbers only; used by the probe.
pub fn attempt(number: libc::c_long, args: [libc::c_long; 4]) -> Result<()> {
    // SAFETY: the probe passes numbers that the call takes as numbers or refuses as bad addresses.
    done(unsafe { libc::syscall(number, args[0], args[1], args[2], args[3]) }).map(drop)
}
