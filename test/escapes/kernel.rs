//! The kernel itself: mounts, namespaces, settings, the machine, and what is large or young.

use crate::files::text;
use crate::inside::Bare::{Open, Untried, Varies};
use crate::inside::{Table, Tried, done, entered, failed};
use std::fs;
use std::path::Path;

/// Attempts on the kernel.
pub const TABLE: Table = &[
    ("mount", Untried, |t| mount(c"tmpfs", &t.project("deep"), Some(c"tmpfs"), 0)),
    ("bind a folder over another", Untried, |t| mount(c"/usr", &t.project("deep"), None, libc::MS_BIND)),
    ("make a mount of the system writable", Untried, |_| {
        mount(c"none", Path::new("/usr"), None, libc::MS_REMOUNT | libc::MS_BIND)
    }),
    ("make the project's mounts shared", Untried, |_| {
        mount(c"none", Path::new("/"), None, libc::MS_REC | libc::MS_SHARED)
    }),
    ("take the cover of a masked file away", Untried, |t| unmount(&t.project(".env"))),
    ("take the cover of a hidden folder away", Untried, |t| unmount(&t.project("hidden"))),
    ("take the protection of git's settings away", Untried, |t| unmount(&t.project(".git/config"))),
    ("change the root by pivot", Untried, |_| entered(libc::SYS_pivot_root, &[0, 0])),
    // SAFETY (here and below): texts that end with NUL, and plain numbers.
    ("change the root", Varies, |_| done(unsafe { libc::chroot(c"/".as_ptr()) })),
    ("open a file system", Varies, |_| done(unsafe { libc::syscall(libc::SYS_fsopen, c"tmpfs".as_ptr(), 0) })),
    ("set up a file system", Varies, |_| entered(libc::SYS_fsconfig, &[-1, 0, 0, 0, 0])),
    ("mount a file system that was opened", Varies, |_| entered(libc::SYS_fsmount, &[-1, 0, 0])),
    ("pick a file system", Varies, |_| entered(libc::SYS_fspick, &[-1, 0, 0])),
    ("copy a mount", Varies, |_| entered(libc::SYS_open_tree, &[-1, 0, 0])),
    ("move a mount", Untried, |_| entered(libc::SYS_move_mount, &[-1, 0, -1, 0, 0])),
    ("set a mount's attributes", Untried, |_| entered(libc::SYS_mount_setattr, &[-1, 0, 0, 0, 0])),
    ("make a namespace of users", Varies, |_| done(unsafe { libc::unshare(libc::CLONE_NEWUSER) })),
    ("make a namespace of mounts", Varies, |_| done(unsafe { libc::unshare(libc::CLONE_NEWNS) })),
    ("make a namespace of networks", Varies, |_| done(unsafe { libc::unshare(libc::CLONE_NEWNET) })),
    ("start a process in namespaces", Varies, |_| clone(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)),
    ("start a process in namespaces by the newer call", Varies, |_| {
        let mut how = [0u64; 11];
        how[0] = libc::CLONE_NEWUSER as u64;
        let code = unsafe { libc::syscall(libc::SYS_clone3, how.as_mut_ptr(), size_of_val(&how)) };
        if code == 0 {
            unsafe { libc::_exit(0) };
        }
        done(code)
    }),
    ("enter a namespace of the first process", Varies, |_| {
        use std::os::fd::AsRawFd;
        let namespace = fs::File::open("/proc/1/ns/mnt")?;
        done(unsafe { libc::setns(namespace.as_raw_fd(), 0) })
    }),
    ("enter a namespace", Varies, |_| entered(libc::SYS_setns, &[-1, 0])),
    ("set the machine's name in /proc/sys", Untried, |_| fs::write("/proc/sys/kernel/hostname", "escaped")),
    ("set who is given cores", Untried, |_| fs::write("/proc/sys/kernel/core_pattern", "|/bin/false")),
    ("pull the emergency brake", Untried, |_| fs::OpenOptions::new().write(true).open("/proc/sysrq-trigger").map(drop)),
    ("read the kernel's memory", Varies, |_| fs::File::open("/proc/kcore").map(drop)),
    ("read the kernel's messages", Varies, |_| entered(libc::SYS_syslog, &[3, 0, 0])),
    ("read the kernel's keys", Varies, |_| {
        fs::read_to_string("/proc/keys").and_then(|text| if text.is_empty() { failed("none") } else { Ok(()) })
    }),
    ("write to /sys", Varies, |_| fs::OpenOptions::new().write(true).open("/sys/power/state").map(drop)),
    ("write to a control group", Varies, |_| {
        fs::OpenOptions::new().write(true).open("/sys/fs/cgroup/cgroup.procs").map(drop)
    }),
    ("use the ring of keys", Varies, |_| entered(libc::SYS_keyctl, &[0, -3, 0])),
    ("add a key", Varies, |_| entered(libc::SYS_add_key, &[0, 0, 0, 0, -3])),
    ("ask for a key", Varies, |_| entered(libc::SYS_request_key, &[0, 0, 0, 0])),
    ("load a program into the kernel", Varies, |_| entered(libc::SYS_bpf, &[0, 0, 0])),
    ("count events", Varies, |_| entered(libc::SYS_perf_event_open, &[0, 0, -1, -1, 0])),
    ("handle faults of memory", Varies, |_| entered(libc::SYS_userfaultfd, &[1])),
    ("use the ring", Varies, |_| entered(libc::SYS_io_uring_enter, &[-1, 0, 0, 0, 0, 0])),
    ("register with the ring", Varies, |_| entered(libc::SYS_io_uring_register, &[-1, 0, 0, 0])),
    ("watch a whole file system", Varies, |_| entered(libc::SYS_fanotify_init, &[0, 0])),
    ("set a quota", Varies, |_| entered(libc::SYS_quotactl, &[0, 0, 0, 0])),
    ("load another kernel", Untried, |_| entered(libc::SYS_kexec_load, &[0, 0, 0, 0])),
    ("load a module", Untried, |_| entered(libc::SYS_finit_module, &[-1, 0, 0])),
    ("unload a module", Untried, |_| entered(libc::SYS_delete_module, &[0, 0])),
    ("restart the machine", Untried, |_| entered(libc::SYS_reboot, &[0, 0, 0, 0])),
    ("use a file for swapping", Untried, |_| entered(libc::SYS_swapon, &[0, 0])),
    ("stop swapping", Untried, |_| entered(libc::SYS_swapoff, &[0])),
    ("keep accounts of processes", Untried, |_| entered(libc::SYS_acct, &[1])),
    ("set the machine's name", Untried, |_| entered(libc::SYS_sethostname, &[0, 0])),
    ("set the clock", Untried, |_| entered(libc::SYS_clock_settime, &[0, 0])),
    ("tune the clock", Untried, |_| entered(libc::SYS_clock_adjtime, &[-1, 0])),
    ("hang up the terminal", Untried, |_| entered(libc::SYS_vhangup, &[])),
    ("read from another's memory map", Varies, |_| entered(libc::SYS_process_madvise, &[-1, 0, 0, 0, 0])),
    ("run as an old program", Open, |_| {
        const READ_IMPLIES_EXEC: libc::c_ulong = 0x0040_0000;
        done(unsafe { libc::personality(READ_IMPLIES_EXEC) })
    }),
    ("make a call that is newer than the filter", Varies, |_| entered(1000, &[])),
    #[cfg(target_arch = "x86_64")]
    ("speak to devices", Varies, |_| entered(libc::SYS_iopl, &[3])),
    #[cfg(target_arch = "x86_64")]
    ("make an old segment", Varies, |_| entered(libc::SYS_modify_ldt, &[0x11, 0, 0])),
];

fn mount(what: &std::ffi::CStr, at: &Path, kind: Option<&std::ffi::CStr>, flags: libc::c_ulong) -> Tried {
    let at = text(at)?;
    let kind = kind.map_or(std::ptr::null(), |kind| kind.as_ptr());
    // SAFETY: all texts end with NUL.
    done(unsafe { libc::mount(what.as_ptr(), at.as_ptr(), kind, flags, std::ptr::null()) })
}

fn unmount(at: &Path) -> Tried {
    let at = text(at)?;
    // SAFETY: the text ends with NUL.
    done(unsafe { libc::umount2(at.as_ptr(), libc::MNT_DETACH) })
}

fn clone(flags: i32) -> Tried {
    // SAFETY: without a stack of its own the child goes on where it is, as after `fork`.
    let code = unsafe { libc::syscall(libc::SYS_clone, i64::from(flags | libc::SIGCHLD), 0, 0, 0, 0) };
    if code == 0 {
        // SAFETY: always sound.
        unsafe { libc::_exit(0) };
    }
    done(code)
}
