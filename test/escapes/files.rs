//! Files that are none of a command's business: read, written, moved, linked to, and their metadata changed.

use crate::inside::Bare::{Open, Untried, Varies};
use crate::inside::{Table, Tried, done, entered, failed};
use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// Attempts on files.
pub const TABLE: Table = &[
    // Reading.
    ("read a file of home", Open, |t| read(&t.at("home/.authinfo"))),
    ("read a key of home", Open, |t| read(&t.at("home/.ssh/id_rsa"))),
    ("read a file of home by way of ..", Open, |t| read(&t.project("../../.authinfo"))),
    ("read the memex", Open, |t| read(&t.at("home/memex/diary.org"))),
    ("read the store", Open, |t| read(&t.at("home/store/store.db"))),
    ("read the settings", Open, |t| read(&t.at("home/settings/config"))),
    ("read what lies beside the project", Open, |t| read(&t.project("../other/file"))),
    ("read elsewhere", Open, |t| read(&t.at("elsewhere/read"))),
    ("read through /proc/self/root", Open, |t| read(&rooted("/proc/self/root", &t.at("elsewhere/read")))),
    ("read through /proc/1/root", Varies, |t| read(&rooted("/proc/1/root", &t.at("elsewhere/read")))),
    ("read through /proc/self/cwd", Open, |_| read(Path::new("/proc/self/cwd/../../.authinfo"))),
    ("list home", Open, |t| list(&t.at("home"))),
    ("list the root of the machine's users", Varies, |_| list(Path::new("/home"))),
    ("learn that a file exists", Open, |t| fs::symlink_metadata(t.at("home/.authinfo")).map(drop)),
    ("read the machine's passwords", Varies, |_| read(Path::new("/etc/shadow"))),
    ("read the machine's log", Varies, |_| read(Path::new("/dev/kmsg"))),
    // Writing.
    ("write elsewhere", Open, |t| fs::write(t.at("elsewhere/write"), "x")),
    ("write elsewhere by way of ..", Open, |t| fs::write(t.project("../other/file"), "x")),
    ("make a file elsewhere", Open, |t| fs::write(t.at("elsewhere/made"), "x")),
    ("make a folder elsewhere", Open, |t| fs::create_dir(t.at("elsewhere/made-folder"))),
    ("add to a start file of the shell", Open, |t| append(&t.at("home/.bashrc"))),
    ("cut a file off", Open, |t| OpenOptions::new().write(true).truncate(true).open(t.at("elsewhere/cut")).map(drop)),
    ("delete a file", Open, |t| fs::remove_file(t.at("elsewhere/delete"))),
    ("move a file out of the project", Open, |t| {
        fs::write(t.project("mover"), "x")?;
        fs::rename(t.project("mover"), t.at("elsewhere/moved"))
    }),
    ("move a file into the project", Open, |t| fs::rename(t.at("elsewhere/move-in"), t.project("moved-in"))),
    ("swap a file with one of the project", Open, |t| exchange(&t.project("swap"), &t.at("elsewhere/swap"))),
    ("write a program of the system", Varies, |_| append_nothing(Path::new("/usr/bin/env"))),
    ("make a file in /usr", Untried, |_| fs::write("/usr/.escaped", "x")),
    ("make a file in /etc", Untried, |_| fs::write("/etc/.escaped", "x")),
    ("write the root", Untried, |_| fs::write("/.escaped", "x")),
    // Links.
    ("write through a link of one's own", Open, |t| {
        let _ = symlink(t.at("elsewhere/through"), t.project("link"));
        fs::write(t.project("link"), "x")
    }),
    ("read through a link of the project", Open, |t| read(&t.project("leads-out"))),
    ("link to a file of home", Open, |t| {
        fs::hard_link(t.at("home/.authinfo"), t.project("hard"))?;
        read(&t.project("hard"))
    }),
    ("put a link elsewhere", Open, |t| symlink("/etc/passwd", t.at("elsewhere/link"))),
    ("put a hard link elsewhere", Open, |t| fs::hard_link(t.project("notes.txt"), t.at("elsewhere/hard"))),
    // Metadata.
    ("chmod elsewhere", Open, |t| fs::set_permissions(t.at("elsewhere/chmod"), fs::Permissions::from_mode(0o777))),
    ("chmod a folder elsewhere", Open, |t| {
        fs::set_permissions(t.at("elsewhere/folder"), fs::Permissions::from_mode(0o777))
    }),
    ("chmod home", Open, |t| fs::set_permissions(t.at("home"), fs::Permissions::from_mode(0o777))),
    ("chmod by descriptor", Open, |t| {
        let path = text(&t.at("elsewhere/fchmod"))?;
        // SAFETY: the path ends with NUL.
        done(unsafe { libc::fchmodat(libc::AT_FDCWD, path.as_ptr(), 0o777, 0) })
    }),
    ("chown elsewhere", Varies, |t| std::os::unix::fs::chown(t.at("elsewhere/chown"), Some(1), Some(1))),
    ("chown elsewhere to oneself", Open, |t| {
        // SAFETY: always sound.
        let own = unsafe { libc::getuid() };
        std::os::unix::fs::lchown(t.at("elsewhere/chown-self"), Some(own), None)
    }),
    ("utime elsewhere", Open, |t| utime(&t.at("elsewhere/utime"))),
    ("utime a folder elsewhere", Open, |t| utime(&t.at("elsewhere/folder"))),
    ("utime a device", Varies, |_| utime(Path::new("/dev/null"))),
    ("chmod a device", Untried, |_| fs::set_permissions("/dev/null", fs::Permissions::from_mode(0o600))),
    ("chmod a program of the system", Untried, |_| {
        fs::set_permissions("/usr/bin/env", fs::Permissions::from_mode(0o777))
    }),
    ("set an attribute elsewhere", Varies, |t| set_attribute(&t.at("elsewhere/xattr"))),
    ("remove an attribute elsewhere", Varies, |t| remove_attribute(&t.at("elsewhere/xattr-there"))),
    ("lend rights to a file", Varies, |t| {
        fs::write(t.project("suid"), "x")?;
        fs::set_permissions(t.project("suid"), fs::Permissions::from_mode(0o4755))?;
        if fs::metadata(t.project("suid"))?.permissions().mode() & 0o4000 != 0 {
            Ok(())
        } else {
            failed("it did not stay")
        }
    }),
    ("make a file that nobody can change", Varies, |t| immutable(&t.project("notes.txt"))),
    // What is masked.
    ("read a masked file", Open, |t| read(&t.project(".env"))),
    ("read a masked file deeper down", Open, |t| read(&t.project("deep/.env"))),
    ("write a masked file", Open, |t| fs::write(t.project("mask/write.env"), "x")),
    ("move a masked file aside", Open, |t| {
        fs::rename(t.project("mask/move.env"), t.project("mask/moved"))?;
        read(&t.project("mask/moved"))
    }),
    ("move the folder of a masked file aside", Open, |t| {
        fs::rename(t.project("mask/folder"), t.project("mask/folder-moved"))?;
        read(&t.project("mask/folder-moved/.env"))
    }),
    ("delete a masked file", Open, |t| fs::remove_file(t.project("mask/delete.env"))),
    ("link to a masked file", Open, |t| {
        fs::hard_link(t.project("mask/link.env"), t.project("mask/linked"))?;
        read(&t.project("mask/linked"))
    }),
    ("put something over a masked file", Open, |t| {
        fs::write(t.project("mask/over"), "x")?;
        fs::rename(t.project("mask/over"), t.project("mask/over.env"))
    }),
    ("swap a masked file with another", Open, |t| {
        fs::write(t.project("mask/swap"), "x")?;
        exchange(&t.project("mask/swap"), &t.project("mask/swap.env"))
    }),
    ("chmod a masked file", Open, |t| {
        fs::set_permissions(t.project("mask/chmod.env"), fs::Permissions::from_mode(0o777))
    }),
    ("read a masked file by a name that only points", Open, |t| {
        let path = text(&t.project("mask/point.env"))?;
        // SAFETY: the path ends with NUL.
        let at = unsafe { libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC) };
        done(at)?;
        read(Path::new(&format!("/proc/self/fd/{at}")))
    }),
    ("read a hidden folder of the project", Open, |t| read(&t.project("hidden/secret"))),
    ("move a hidden folder aside", Open, |t| {
        fs::rename(t.project("hidden"), t.project("not-hidden"))?;
        read(&t.project("not-hidden/secret"))
    }),
    // What others obey.
    ("change a git hook", Open, |t| append(&t.project(".git/hooks/pre-commit"))),
    ("add a git hook", Open, |t| fs::write(t.project(".git/hooks/post-checkout"), "#!/bin/sh\n")),
    ("chmod a git hook", Open, |t| {
        fs::set_permissions(t.project(".git/hooks/pre-commit"), fs::Permissions::from_mode(0o755))
    }),
    ("change git's settings", Open, |t| append(&t.project(".git/config"))),
    ("put others in the place of git's settings", Open, |t| {
        fs::write(t.project(".git/config.new"), "[core]\n")?;
        fs::rename(t.project(".git/config.new"), t.project(".git/config"))
    }),
    ("move git's hooks aside", Open, |t| {
        fs::rename(t.project(".git/hooks"), t.project(".git/hooks-moved"))?;
        fs::rename(t.project(".git/hooks-moved"), t.project(".git/hooks"))
    }),
    ("move git's folder aside and make another", Open, |t| {
        fs::rename(t.project(".git"), t.project(".git-moved"))?;
        fs::create_dir(t.project(".git"))?;
        fs::write(t.project(".git/config"), "[core]\n\tfsmonitor = escaped\n")
    }),
    ("swap git's folder with another", Open, |t| {
        fs::create_dir_all(t.project("git-other"))?;
        exchange(&t.project("git-other"), &t.project(".git"))
    }),
    ("move a module's settings aside", Open, |t| fs::rename(t.project("part/.dir-locals.el"), t.project("part/moved"))),
    ("move the folder of settings aside and make another", Open, |t| {
        fs::rename(t.project("part"), t.project("part-moved"))?;
        fs::create_dir(t.project("part"))?;
        fs::write(t.project("part/.dir-locals.el"), "((nil))")
    }),
    // Our own.
    ("write the launcher", Open, |t| append_nothing(&t.at("bin/spare-run"))),
    ("put another in the place of the launcher", Open, |t| {
        fs::write(t.project("run"), "x")?;
        fs::rename(t.project("run"), t.at("bin/spare-run"))
    }),
    ("write the module", Open, |t| append(&t.at("bin/module.so"))),
    ("delete the module", Open, |t| fs::remove_file(t.at("bin/module-spare.so"))),
    ("chmod the module", Open, |t| fs::set_permissions(t.at("bin/module.so"), fs::Permissions::from_mode(0o777))),
    // By descriptor and by handle.
    ("use a file that was left open", Open, |_| {
        let mut found = String::new();
        // SAFETY: a descriptor that nobody else uses, if it is there.
        let mut file = unsafe { <fs::File as std::os::fd::FromRawFd>::from_raw_fd(LEFT_FILE) };
        file.read_to_string(&mut found).map(drop)
    }),
    ("open a file from a folder that was left open", Open, |_| {
        // SAFETY: the text ends with NUL.
        done(unsafe { libc::openat(LEFT_FOLDER, c".authinfo".as_ptr(), libc::O_RDONLY) })
    }),
    ("go to a folder that was left open", Open, |_| {
        // SAFETY: plain numbers.
        done(unsafe { libc::fchdir(LEFT_FOLDER) })
    }),
    ("open a file by its handle", Varies, |_| entered(libc::SYS_open_by_handle_at, &[-1, 0, 0])),
    ("make a handle of a file", Varies, |_| entered(libc::SYS_name_to_handle_at, &[-100, 0, 0, 0, 0])),
    ("make a device of characters", Varies, |t| make_node(&t.project("null"), libc::S_IFCHR, libc::makedev(1, 3))),
    ("make a device of blocks", Varies, |t| make_node(&t.project("disk"), libc::S_IFBLK, libc::makedev(254, 0))),
    ("open the machine's memory", Varies, |_| fs::File::open("/dev/mem").map(drop)),
    ("open FUSE", Varies, |_| fs::File::open("/dev/fuse").map(drop)),
    ("watch a folder elsewhere", Open, |t| {
        let path = text(&t.at("elsewhere"))?;
        // SAFETY: plain numbers, and a path that ends with NUL.
        unsafe {
            let watch = libc::inotify_init1(libc::IN_CLOEXEC);
            done(watch)?;
            done(libc::inotify_add_watch(watch, path.as_ptr(), libc::IN_ALL_EVENTS))
        }
    }),
];

/// The descriptor of a secret file that whoever starts the launcher forgot to close.
pub const LEFT_FILE: i32 = 57;
/// The descriptor of a folder, likewise.
pub const LEFT_FOLDER: i32 = 58;

fn read(path: &Path) -> Tried {
    let mut text = Vec::new();
    fs::File::open(path)?.take(100).read_to_end(&mut text)?;
    if text.is_empty() { failed("it is empty") } else { Ok(()) }
}

fn rooted(root: &str, path: &Path) -> std::path::PathBuf {
    Path::new(root).join(path.strip_prefix("/").unwrap())
}

fn list(path: &Path) -> Tried {
    if fs::read_dir(path)?.flatten().any(|entry| entry.file_name() != "work") { Ok(()) } else { failed("it is empty") }
}

fn append(path: &Path) -> Tried {
    OpenOptions::new().append(true).open(path)?.write_all(b"escaped\n")
}

fn append_nothing(path: &Path) -> Tried {
    OpenOptions::new().append(true).open(path).map(drop)
}

pub fn text(path: &Path) -> std::io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(std::io::Error::other)
}

pub fn exchange(one: &Path, other: &Path) -> Tried {
    if !one.exists() {
        fs::write(one, "x")?;
    }
    let (one, other) = (text(one)?, text(other)?);
    // SAFETY: both texts end with NUL.
    done(unsafe {
        libc::renameat2(libc::AT_FDCWD, one.as_ptr(), libc::AT_FDCWD, other.as_ptr(), libc::RENAME_EXCHANGE)
    })
}

fn utime(path: &Path) -> Tried {
    let path = text(path)?;
    let times = [libc::timespec { tv_sec: 1_000_000, tv_nsec: 0 }; 2];
    // SAFETY: the path ends with NUL, and there are two times.
    done(unsafe { libc::utimensat(libc::AT_FDCWD, path.as_ptr(), times.as_ptr(), 0) })
}

fn set_attribute(path: &Path) -> Tried {
    let path = text(path)?;
    // SAFETY: both texts end with NUL, and the value has the length that is given.
    done(unsafe { libc::setxattr(path.as_ptr(), c"user.escaped".as_ptr(), b"x".as_ptr().cast(), 1, 0) })
}

fn remove_attribute(path: &Path) -> Tried {
    let path = text(path)?;
    // SAFETY: both texts end with NUL.
    done(unsafe { libc::removexattr(path.as_ptr(), c"user.there".as_ptr()) })
}

fn immutable(path: &Path) -> Tried {
    const SET_FLAGS: libc::c_ulong = 0x4008_6602;
    const IMMUTABLE: libc::c_long = 0x10;
    let file = fs::File::open(path)?;
    // SAFETY: the call reads one number.
    let set =
        |flags: libc::c_long| done(unsafe { libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&file), SET_FLAGS, &flags) });
    set(IMMUTABLE)?;
    set(0)
}

fn make_node(path: &Path, kind: libc::mode_t, device: libc::dev_t) -> Tried {
    let path = text(path)?;
    // SAFETY: the path ends with NUL.
    done(unsafe { libc::mknod(path.as_ptr(), kind | 0o600, device) })
}
