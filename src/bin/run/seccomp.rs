//! Which system calls are refused. What is newer than this list is refused too.

use crate::filter::{self, Condition, Fate, Fates, Test};
use crate::policy::Walls;
use seccompiler::BpfProgram;

/// Lists of conditions: a call is refused when all of one list hold, and always when there is no list.
type When = Vec<Vec<Condition>>;

/// The highest call that was looked at: `mseal`, which x86-64 and aarch64 number alike. Those after it do not
/// exist for the command; neither do the calls of the x32 interface, whose numbers are far higher.
const LAST_KNOWN: u32 = 462;

/// Calls that no command of ours has a use for, or that reach what namespaces, Landlock and limits do not cover.
const REFUSED: &[libc::c_long] = &[
    // The network, and every socket of this machine.
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // Large or young parts of the kernel.
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_fanotify_init,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_lookup_dcookie,
    libc::SYS_vhangup,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];

/// Calls whose arguments a filter cannot see; C libraries fall back to older ones that it can.
const ABSENT: &[libc::c_long] = &[libc::SYS_clone3, libc::SYS_openat2];

/// Calls on what is shared with all processes of the user, and on metadata of files, which Landlock does not govern.
const SHARED: &[libc::c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_inotify_add_watch,
    libc::SYS_pidfd_open,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// Calls that set what a process may use, and the argument that names it: 0 is the caller.
const OF_PROCESSES: &[(libc::c_long, u8)] = &[
    (libc::SYS_prlimit64, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
];

/// The bits by which a file lends its owner's or group's rights to whoever runs it, on this machine for ever after.
const PRIVILEGED: [u32; 2] = [libc::S_ISUID, libc::S_ISGID];

/// Calls that set a file's mode: number of the argument.
const MODES: &[(libc::c_long, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
];

/// Calls that may make a file: numbers of the arguments for flags and mode.
const OPENS: &[(libc::c_long, u8, u8)] = &[
    (libc::SYS_openat, 2, 3),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
];

/// Returns the filter of all commands.
///
/// With a proxy, a process may make sockets of TCP and connect them: its network namespace has one peer.
///
/// Without namespaces more is refused: what they would have kept apart.
pub fn program(proxy: bool, walls: Walls) -> BpfProgram {
    filter::program(&fates(proxy, walls), LAST_KNOWN, libc::ENOSYS)
}

/// Returns a filter by which no other process is started; threads are. The other filter says that there is no `clone3`.
pub fn alone() -> BpfProgram {
    let mut fates = Fates::new();
    refuse(&mut fates, libc::SYS_clone, vec![vec![(0, Test::OtherUnder(THREAD, THREAD))]]);
    #[cfg(target_arch = "x86_64")]
    for call in [libc::SYS_fork, libc::SYS_vfork] {
        refuse(&mut fates, call, When::new());
    }
    filter::program(&fates, LAST_KNOWN, libc::ENOSYS)
}

/// What `clone` is told when it is to make a thread.
const THREAD: u32 = libc::CLONE_THREAD as u32;

fn fates(proxy: bool, walls: Walls) -> Fates {
    let mut fates: Fates = ABSENT.iter().map(|call| (*call, Fate::Error(libc::ENOSYS))).collect();
    refused(&mut fates, proxy);
    match walls {
        Walls::All => {}
        Walls::Fewer => shared(&mut fates),
    }
    fates
}

/// Adds to what is refused. What is refused already stays so.
fn refuse(fates: &mut Fates, call: libc::c_long, when: When) {
    let fate = match (fates.remove(&call), when) {
        (Some(Fate::Error(error)), _) => Fate::Error(error),
        (_, when) if when.is_empty() => Fate::Error(libc::EPERM),
        (Some(Fate::ErrorWhen(_, mut before)), when) => {
            before.extend(when);
            Fate::ErrorWhen(libc::EPERM, before)
        }
        (None, when) => Fate::ErrorWhen(libc::EPERM, when),
    };
    fates.insert(call, fate);
}

fn refused(fates: &mut Fates, proxy: bool) {
    for call in REFUSED {
        match *call {
            libc::SYS_connect if proxy => {}
            libc::SYS_socket if proxy => refuse(fates, *call, other_than_tcp()),
            call => refuse(fates, call, When::new()),
        }
    }
    // As on a file system that cannot: programs write then, which is bounded and takes time.
    fates.insert(libc::SYS_fallocate, Fate::ErrorWhen(libc::EOPNOTSUPP, reserving()));
    refuse(fates, libc::SYS_socketpair, socket_pairs());
    refuse(fates, libc::SYS_clone, vec![vec![(0, Test::Has(NAMESPACES))]]);
    refuse(fates, libc::SYS_personality, personalities());
    refuse(fates, libc::SYS_ioctl, taking_terminals());
    refuse(fates, libc::SYS_ioctl, RESERVES.map(|code| vec![(1, Test::Is(code))]).to_vec());
    for (call, mode) in MODES {
        refuse(fates, *call, PRIVILEGED.map(|bit| vec![(*mode, Test::Has(bit))]).to_vec());
    }
    for (call, flags, mode) in OPENS {
        for makes in [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY] {
            let each = PRIVILEGED.map(|bit| vec![(*flags, Test::Has(makes as u32)), (*mode, Test::Has(bit))]);
            refuse(fates, *call, each.to_vec());
        }
    }
}

fn shared(fates: &mut Fates) {
    const SET_FLAGS: [u32; 2] = [0x4008_6602, 0x401c_5820];
    const USER: u32 = 2; // who, for `setpriority`: all processes of a user
    for call in SHARED {
        refuse(fates, *call, When::new());
    }
    for (call, argument) in OF_PROCESSES {
        refuse(fates, *call, vec![vec![(*argument, Test::Not(0))]]);
    }
    refuse(fates, libc::SYS_setpriority, vec![vec![(0, Test::Is(USER))]]);
    refuse(fates, libc::SYS_ioctl, SET_FLAGS.map(|code| vec![(1, Test::Is(code))]).to_vec());
}

/// Every socket but those of TCP, over either protocol.
fn other_than_tcp() -> When {
    let is_not = |argument: u8, value: i32| (argument, Test::Not(value as u32));
    vec![
        vec![is_not(0, libc::AF_INET), is_not(0, libc::AF_INET6)],
        vec![is_not(2, 0), is_not(2, libc::IPPROTO_TCP)],
        vec![(1, Test::OtherUnder(KIND, libc::SOCK_STREAM as u32))],
    ]
}

/// The bits of a socket's type; its flags stand above them.
const KIND: u32 = 0xf;

/// A pair of connected stream sockets reaches nobody; any other kind could be sent from by name.
fn socket_pairs() -> When {
    vec![vec![(0, Test::Not(libc::AF_UNIX as u32))], vec![(1, Test::OtherUnder(KIND, libc::SOCK_STREAM as u32))]]
}

/// Every way to take room for what is not written: it fills a disk faster than anybody looks, and some of them are not
/// bounded by the largest file that may be. Giving room back is left: a hole, and a piece cut out.
fn reserving() -> When {
    let gives_back = [libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, libc::FALLOC_FL_COLLAPSE_RANGE];
    vec![gives_back.map(|mode| (1, Test::Not(mode as u32))).to_vec()]
}

/// The older names of the same, which every file system knows: `FS_IOC_RESVSP`, `FS_IOC_RESVSP64`, `FS_IOC_ZERO_RANGE`;
/// and those of XFS before Linux 5.17: `XFS_IOC_ALLOCSP`, `XFS_IOC_ALLOCSP64`.
const RESERVES: [u32; 5] = [0x4030_5828, 0x4030_582a, 0x4030_5839, 0x4030_580a, 0x4030_5824];

/// Any of the bits that ask for a namespace.
const NAMESPACES: u32 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u32;

/// The plain one, asking for the current one, and the one that debuggers and tests like.
fn personalities() -> When {
    const UNSHUFFLED: u32 = 0x0004_0000;
    vec![[0, u32::MAX, UNSHUFFLED].map(|kind| (0, Test::Not(kind))).to_vec()]
}

/// Typing into a terminal, pasting into a console, and taking a terminal for one's own.
fn taking_terminals() -> When {
    const TIOCLINUX: u32 = 0x541c;
    [libc::TIOCSTI as u32, TIOCLINUX, libc::TIOCSCTTY as u32, libc::TIOCCONS as u32, libc::TIOCSETD as u32]
        .map(|code| vec![(1, Test::Is(code))])
        .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the filters say of a call, in the order of the cases' arguments.
    fn fate(proxy: bool, walls: Walls, call: libc::c_long) -> Option<Fate> {
        fates(proxy, walls).remove(&call)
    }

    #[test]
    fn every_list_is_in_the_filter() {
        for walls in [Walls::All, Walls::Fewer] {
            for call in REFUSED {
                assert_eq!(fate(false, walls, *call), Some(Fate::Error(libc::EPERM)), "{call}");
            }
            for call in ABSENT {
                assert_eq!(fate(true, walls, *call), Some(Fate::Error(libc::ENOSYS)), "{call}");
            }
            for call in [libc::SYS_read, libc::SYS_write, libc::SYS_execve, libc::SYS_exit_group] {
                assert_eq!(fate(true, walls, call), None, "{call}");
            }
        }
        for call in SHARED {
            assert_eq!(fate(false, Walls::Fewer, *call), Some(Fate::Error(libc::EPERM)), "{call}");
        }
        assert_eq!(fate(true, Walls::All, libc::SYS_connect), None);
        assert_eq!(fate(true, Walls::All, libc::SYS_socket), Some(Fate::ErrorWhen(libc::EPERM, other_than_tcp())));
        assert_eq!(fate(true, Walls::All, libc::SYS_bind), Some(Fate::Error(libc::EPERM)));
        for walls in [Walls::All, Walls::Fewer] {
            let expected = Some(Fate::ErrorWhen(libc::EOPNOTSUPP, reserving()));
            assert_eq!(fate(true, walls, libc::SYS_fallocate), expected);
        }
        let Some(Fate::ErrorWhen(_, ioctl)) = fate(false, Walls::Fewer, libc::SYS_ioctl) else { panic!("conditions") };
        assert_eq!(ioctl.len(), taking_terminals().len() + RESERVES.len() + 2);
    }

    #[test]
    fn the_programs_say_what_the_lists_say() {
        for (proxy, walls) in [(false, Walls::All), (true, Walls::All), (false, Walls::Fewer)] {
            filter::tests::check(&fates(proxy, walls), LAST_KNOWN);
        }
        assert!(program(true, Walls::All).len() < 512, "a short program is a fast start");
    }
}
