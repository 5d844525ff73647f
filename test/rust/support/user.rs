//! Runs a test with the rights of an ordinary user, whoever runs the tests: CI is often root.
#![allow(unsafe_code)] // One system call, which has no safe form in what we build on.

use std::io;

/// The rights by which the superuser passes over the modes of files, as bits (`linux/capability.h`):
/// to write everywhere, to read and search everywhere, to act as the owner of everything.
#[cfg(target_os = "linux")]
const PASSING_OVER: u32 = 1 << 1 | 1 << 2 | 1 << 3;

/// Runs `body` in a thread that may do with files what their modes say, and returns what it returns.
///
/// Rights belong to a thread and to the threads that it starts, so other tests keep theirs. A program that `body`
/// starts as root has all of them again.
///
/// # Panics
/// Where `body` does, and where the rights cannot be laid down.
pub fn ordinary<T: Send>(body: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            lay_down().expect("a thread can give up rights");
            body()
        });
        thread.join().unwrap_or_else(|why| std::panic::resume_unwind(why))
    })
}

/// Runs `body` in a thread that belongs to another user of this machine, without any right of root; `None` where this
/// is not run by root, who alone can become somebody else, or not on Linux.
///
/// # Panics
/// Where `body` does, and where root cannot become that user.
pub fn another<T: Send>(body: impl FnOnce() -> T + Send) -> Option<T> {
    if !cfg!(target_os = "linux") || rustix::process::geteuid().as_raw() != 0 {
        return None;
    }
    let done = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            become_another().expect("root becomes another user");
            body()
        });
        thread.join().unwrap_or_else(|why| std::panic::resume_unwind(why))
    });
    Some(done)
}

/// The number of a user who owns nothing: that of `nobody` in most systems.
#[cfg(target_os = "linux")]
const ANOTHER: libc::uid_t = 65_534;

/// The library's calls change all threads; the system's own change this one.
#[cfg(target_os = "linux")]
fn become_another() -> io::Result<()> {
    // SAFETY: no memory is handed over: an empty list of groups, and numbers.
    let done = unsafe {
        libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<libc::gid_t>()) == 0
            && libc::syscall(libc::SYS_setresgid, ANOTHER, ANOTHER, ANOTHER) == 0
            && libc::syscall(libc::SYS_setresuid, ANOTHER, ANOTHER, ANOTHER) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Elsewhere nobody becomes anybody else.
#[cfg(not(target_os = "linux"))]
fn become_another() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
fn lay_down() -> io::Result<()> {
    /// `_LINUX_CAPABILITY_VERSION_3` and this thread, as `capget(2)` takes them.
    #[repr(C)]
    struct Header {
        version: u32,
        thread: i32,
    }
    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    struct Rights {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    let mut header = Header { version: 0x2008_0522, thread: 0 };
    let mut rights = [Rights::default(); 2];
    // SAFETY: both pointers are to live values of the shapes that version 3 of the call reads and writes, two sets.
    let done = unsafe { libc::syscall(libc::SYS_capget, &mut header, rights.as_mut_ptr()) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    rights[0].effective &= !PASSING_OVER;
    rights[0].permitted &= !PASSING_OVER;
    // SAFETY: as above; the call only reads them.
    let done = unsafe { libc::syscall(libc::SYS_capset, &mut header, rights.as_ptr()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Elsewhere nobody builds as root.
#[cfg(not(target_os = "linux"))]
fn lay_down() -> io::Result<()> {
    Ok(())
}

#[test]
fn an_ordinary_user_cannot_pass_over_modes() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("closed");
    std::fs::write(&file, "x").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).unwrap();
    let refused = ordinary(|| std::fs::read(&file)).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
}
