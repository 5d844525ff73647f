//! Which system calls are refused. What is newer than this list is refused too.

use crate::policy::Walls;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

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

fn shared() -> Result<Rules, seccompiler::BackendError> {
    const SET_FLAGS: [u64; 2] = [0x4008_6602, 0x401c_5820];
    const USER: u64 = 2; // who, for `setpriority`: all processes of a user
    let mut rules: Rules = SHARED.iter().map(|call| (*call, Vec::new())).collect();
    for (call, argument) in OF_PROCESSES {
        rules.insert(*call, vec![SeccompRule::new(vec![condition(*argument, SeccompCmpOp::Ne, 0)?])?]);
    }
    let of_user = SeccompRule::new(vec![condition(0, SeccompCmpOp::Eq, USER)?])?;
    rules.entry(libc::SYS_setpriority).or_default().push(of_user);
    let flags = SET_FLAGS.iter().map(|code| SeccompRule::new(vec![condition(1, SeccompCmpOp::Eq, *code)?]));
    rules.insert(libc::SYS_ioctl, flags.collect::<Result<_, _>>()?);
    Ok(rules)
}

/// The bits by which a file lends its owner's or group's rights to whoever runs it, on this machine for ever after.
const PRIVILEGED: &[u64] = &[libc::S_ISUID as u64, libc::S_ISGID as u64];

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

/// Returns the filters, each to be installed.
///
/// With a proxy, a process may make sockets of TCP and connect them: its network namespace has one peer.
///
/// Without namespaces more is refused: what they would have kept apart.
pub fn programs(proxy: bool, walls: Walls) -> Result<Vec<BpfProgram>, String> {
    let told = |e: seccompiler::BackendError| format!("no filter of system calls could be made: {e}");
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(told)?;
    let absent: Rules = ABSENT.iter().map(|call| (*call, Vec::new())).collect();
    let mut programs = vec![newer_calls()];
    for (rules, error) in [(absent, libc::ENOSYS), (refused(proxy).map_err(told)?, libc::EPERM)] {
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(error as u32), arch);
        programs.push(filter.and_then(BpfProgram::try_from).map_err(told)?);
    }
    if walls == Walls::Fewer {
        let rules = shared().map_err(told)?;
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32), arch);
        programs.push(filter.and_then(BpfProgram::try_from).map_err(told)?);
    }
    Ok(programs)
}

/// Returns a filter by which no other process is started; threads are. The other filters say that there is no `clone3`.
pub fn alone() -> Result<BpfProgram, String> {
    let told = |e: seccompiler::BackendError| format!("no filter of system calls could be made: {e}");
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(told)?;
    let process = condition(0, SeccompCmpOp::MaskedEq(libc::CLONE_THREAD as u64), 0)
        .and_then(|condition| SeccompRule::new(vec![condition]))
        .map_err(told)?;
    let mut rules: Rules = BTreeMap::from([(libc::SYS_clone, vec![process])]);
    #[cfg(target_arch = "x86_64")]
    rules.extend([(libc::SYS_fork, Vec::new()), (libc::SYS_vfork, Vec::new())]);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32), arch);
    filter.and_then(BpfProgram::try_from).map_err(told)
}

/// Returns a filter by which calls with higher numbers than the last known do not exist.
fn newer_calls() -> BpfProgram {
    let step = |code: u32, jt: u8, k: u32| sock_filter { code: code as u16, jt, jf: 0, k };
    vec![
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0), // the call's number
        step(libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K, 1, LAST_KNOWN),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
    ]
}

fn refused(proxy: bool) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    if proxy {
        rules.remove(&libc::SYS_connect);
        rules.insert(libc::SYS_socket, other_than_tcp()?);
    }
    rules.insert(libc::SYS_socketpair, socket_pairs()?);
    rules.insert(libc::SYS_clone, new_namespaces()?);
    rules.insert(libc::SYS_personality, personalities()?);
    rules.insert(libc::SYS_ioctl, taking_terminals()?);
    for (call, mode) in MODES {
        let each = PRIVILEGED.iter().map(|bit| SeccompRule::new(vec![has(*mode, *bit)?]));
        rules.insert(*call, each.collect::<Result<_, _>>()?);
    }
    for (call, flags, mode) in OPENS {
        let mut each = Vec::new();
        for makes in [libc::O_CREAT as u64, (libc::O_TMPFILE & !libc::O_DIRECTORY) as u64] {
            for bit in PRIVILEGED {
                each.push(SeccompRule::new(vec![has(*flags, makes)?, has(*mode, *bit)?])?);
            }
        }
        rules.insert(*call, each);
    }
    Ok(rules)
}

/// Every socket but those of TCP, over either protocol.
fn other_than_tcp() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let is_not = |argument: u8, value: i32| condition(argument, SeccompCmpOp::Ne, value as u64);
    let mut rules = vec![
        SeccompRule::new(vec![is_not(0, libc::AF_INET)?, is_not(0, libc::AF_INET6)?])?,
        SeccompRule::new(vec![is_not(2, 0)?, is_not(2, libc::IPPROTO_TCP)?])?,
    ];
    for kind in (0..=KIND).filter(|kind| *kind != libc::SOCK_STREAM as u64) {
        rules.push(SeccompRule::new(vec![condition(1, SeccompCmpOp::MaskedEq(KIND), kind)?])?);
    }
    Ok(rules)
}

/// The bits of a socket's type; its flags stand above them.
const KIND: u64 = 0xf;

/// A pair of connected stream sockets reaches nobody; any other kind could be sent from by name.
fn socket_pairs() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut rules = vec![SeccompRule::new(vec![condition(0, SeccompCmpOp::Ne, libc::AF_UNIX as u64)?])?];
    for kind in (0..=KIND).filter(|kind| *kind != libc::SOCK_STREAM as u64) {
        rules.push(SeccompRule::new(vec![condition(1, SeccompCmpOp::MaskedEq(KIND), kind)?])?);
    }
    Ok(rules)
}

fn new_namespaces() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let flags = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    flags.iter().map(|flag| SeccompRule::new(vec![has(0, *flag as u32 as u64)?])).collect()
}

/// The plain one, asking for the current one, and the one that debuggers and tests like.
fn personalities() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    const UNSHUFFLED: u64 = 0x0004_0000;
    let others: Result<Vec<_>, _> =
        [0, 0xffff_ffff, UNSHUFFLED].iter().map(|kind| condition(0, SeccompCmpOp::Ne, *kind)).collect();
    Ok(vec![SeccompRule::new(others?)?])
}

/// Typing into a terminal, pasting into a console, and taking a terminal for one's own.
fn taking_terminals() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    const TIOCLINUX: u64 = 0x541c;
    [libc::TIOCSTI, TIOCLINUX, libc::TIOCSCTTY, libc::TIOCCONS, libc::TIOCSETD]
        .iter()
        .map(|code| SeccompRule::new(vec![condition(1, SeccompCmpOp::Eq, *code)?]))
        .collect()
}

fn has(argument: u8, bit: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    condition(argument, SeccompCmpOp::MaskedEq(bit), bit)
}

fn condition(argument: u8, operation: SeccompCmpOp, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value)
}
