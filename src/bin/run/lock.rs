//! What is given up before the command runs: privileges, paths, system calls, resources.

use crate::policy::{Limits, Policy, SYSTEM, Walls};
use crate::{net, root, seccomp, sys};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use std::path::{Path, PathBuf};

/// One past the highest capability that any kernel numbers; asking for one that is not there ends the loop.
const CAPABILITIES: u64 = 64;

/// Gives up every capability for good: root inside is nobody special, and set-user-id files do nothing.
pub fn give_up_privileges(walls: Walls) -> Result<(), String> {
    let told = |e: std::io::Error| format!("privileges could not be given up: {e}");
    sys::switch(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(told)?;
    if walls == Walls::Fewer && sys::identity().0 != 0 {
        // In no namespace of its own an ordinary user has none, and may not forbid itself to be given any; the switch
        // above does.
        return sys::drop_capabilities().map_err(told);
    }
    for capability in 0..CAPABILITIES {
        if let Err(e) = sys::switch(libc::PR_CAPBSET_DROP, capability) {
            // EINVAL: this kernel has no capability of that number, nor any above.
            if e.raw_os_error() == Some(libc::EINVAL) && capability > 0 {
                break;
            }
            return Err(told(e));
        }
    }
    // Otherwise user 0 would be given capabilities back at exec.
    let locked = libc::SECBIT_NOROOT
        | libc::SECBIT_NOROOT_LOCKED
        | libc::SECBIT_NO_SETUID_FIXUP
        | libc::SECBIT_NO_SETUID_FIXUP_LOCKED
        | libc::SECBIT_KEEP_CAPS_LOCKED
        | libc::SECBIT_NO_CAP_AMBIENT_RAISE
        | libc::SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    sys::switch(libc::PR_SET_SECUREBITS, locked as u64).map_err(told)?;
    sys::drop_capabilities().map_err(told)
}

/// Installs the filter of system calls; with a proxy, connections over TCP are left.
pub fn filter_calls(policy: &Policy) -> Result<(), String> {
    let program = seccomp::program(policy.proxy, policy.walls);
    seccompiler::apply_filter(&program).map_err(|e| format!("the kernel takes no seccomp filter: {e}"))
}

/// Takes from this process that it could start another; what it executes stays alone.
pub fn forbid_processes() -> Result<(), String> {
    let program = seccomp::alone();
    seccompiler::apply_filter(&program).map_err(|e| format!("the kernel takes no seccomp filter: {e}"))
}

/// Restricts paths with Landlock: a second wall behind the new root, which knows no user and no mount.
pub fn restrict_paths(policy: &Policy) -> Result<(), String> {
    let told = |e: landlock::RulesetError| {
        format!("the kernel has no Landlock ({e}); it is built in since Linux 5.13 and must be in the boot option lsm=")
    };
    let rules = rules(policy).map_err(told)?;
    let status = rules.restrict_self().map_err(told)?;
    match status.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err("the kernel does not enforce Landlock".to_string()),
    }
}

fn rules(policy: &Policy) -> Result<RulesetCreated, landlock::RulesetError> {
    let read = AccessFs::from_read(ABI::V1);
    let own = AccessFs::from_all(ABI::V7) & !(AccessFs::MakeSock | AccessFs::MakeChar | AccessFs::MakeBlock);
    let project = if policy.writable { own } else { read };
    // Reading, writing, making and removing must be governed; what later kernels add is taken where it is.
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V7))?
        .handle_access(AccessNet::from_all(ABI::V4))?
        .scope(Scope::from_all(ABI::V6))?
        .create()?
        .no_new_privs(true);
    if policy.proxy {
        // No other port, whatever else were on the loopback inside.
        rules = rules.add_rule(NetPort::new(net::PORT, AccessNet::ConnectTcp))?;
    }
    for path in SYSTEM.iter().chain(&["/etc"]) {
        rules = allow(rules, Path::new(path), read)?;
    }
    rules = allow(rules, Path::new("/proc"), AccessFs::ReadFile | AccessFs::ReadDir)?;
    rules = allow(rules, Path::new("/dev"), AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::ReadDir)?;
    rules = allow(rules, Path::new("/tmp"), if policy.bare { read } else { own })?;
    for path in &policy.read {
        rules = allow(rules, path, read)?;
    }
    allow(rules, &policy.project, project)
}

/// Restricts paths where there is no other wall: what the kernel cannot govern entirely is refused.
pub fn restrict_alone(policy: &Policy, scratch: &Path) -> Result<(), String> {
    let told = |e: landlock::RulesetError| {
        format!("without namespaces Landlock of Linux 6.12 or newer is needed, and this kernel has less ({e})")
    };
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V6))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(ABI::V6)))
        .and_then(|rules| rules.scope(Scope::from_all(ABI::V6)))
        .and_then(Ruleset::create)
        .map_err(told)?
        .no_new_privs(true);
    let read = AccessFs::from_read(ABI::V6);
    let own = AccessFs::from_all(ABI::V6)
        & !(AccessFs::MakeSock | AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    let mut grants = Grants { rules, count: 0 };
    let etc = root::ETC.iter().map(|name| Path::new("/etc").join(name));
    for path in SYSTEM.iter().map(PathBuf::from).chain(etc) {
        // A link of the system is not followed: it leads to a place of the system, which has a rule of its own. A file
        // of /etc that this user may not even name stays away.
        let _ = grants.add(&path, read);
    }
    for name in root::DEVICES {
        grants.add(&Path::new("/dev").join(name), AccessFs::ReadFile | AccessFs::WriteFile)?;
    }
    grants.add(scratch, if policy.bare { read } else { own })?;
    for path in &policy.read {
        grants.around(path, read, read, policy)?;
    }
    let project = if policy.writable { own } else { read };
    grants.around(&policy.project, project, read, policy)?;
    let status = grants.rules.restrict_self().map_err(told)?;
    match status.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        RulesetStatus::PartiallyEnforced | RulesetStatus::NotEnforced => {
            Err("the kernel does not enforce all of Landlock that is needed without namespaces".to_string())
        }
    }
}

/// Rules that are added one by one.
struct Grants {
    rules: RulesetCreated,
    count: usize,
}

/// Most rules; a project that needs more is refused.
const MOST_RULES: usize = 20_000;

impl Grants {
    /// Allows access to a path, and below it where it is a folder. No link is followed.
    fn add(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), String> {
        use landlock::RulesetCreatedAttr as _;
        let told = |e: &dyn std::fmt::Display| format!("{} cannot be allowed: {e}", path.display());
        self.count += 1;
        if self.count > MOST_RULES {
            return Err("the project has too many places around what must stay hidden".to_string());
        }
        let name = sys::name(path).map_err(|e| told(&e))?;
        let name = std::fs::File::from(name);
        let access = if name.metadata().map_err(|e| told(&e))?.is_dir() {
            access
        } else {
            access & AccessFs::from_file(ABI::V6)
        };
        (&mut self.rules).add_rule(PathBeneath::new(name, access)).map_err(|e| told(&e))?;
        Ok(())
    }

    /// Allows access below a folder, around what in it must not be read or written.
    ///
    /// Landlock only opens, and all that lies below: so a folder with something closed in it is not opened itself, and
    /// its other entries are, one by one. Nothing can be made anew in it.
    fn around(
        &mut self,
        top: &Path,
        access: BitFlags<AccessFs>,
        closed: BitFlags<AccessFs>,
        policy: &Policy,
    ) -> Result<(), String> {
        let mut left = vec![top.to_path_buf()];
        while let Some(path) = left.pop() {
            let is = |paths: &[PathBuf]| paths.contains(&path);
            let inside = |paths: &[PathBuf]| paths.iter().any(|other| other != &path && other.starts_with(&path));
            if path != top && (is(&policy.hide) || is(&policy.mask)) {
                continue;
            }
            if is(&policy.protect) {
                self.add(&path, closed)?;
            } else if inside(&policy.hide) || inside(&policy.mask) || inside(&policy.protect) {
                if !inside(&policy.hide) {
                    self.add(&path, AccessFs::ReadDir.into())?;
                }
                let entries = std::fs::read_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
                let entries = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
                left.extend(entries.map(|entry| entry.path()));
            } else {
                self.add(&path, access)?;
            }
        }
        Ok(())
    }
}

/// Allows access below a path; a path that is not there needs no rule.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    match PathFd::new(path) {
        Ok(name) => rules.add_rule(PathBeneath::new(name, access)),
        Err(_) => Ok(rules),
    }
}

/// Bounds what the command may use.
pub fn bound(limits: &Limits) -> Result<(), String> {
    let bounds = [
        (libc::RLIMIT_CPU, limits.cpu),
        (libc::RLIMIT_DATA, limits.memory),
        // Some programs reserve far more addresses than they ever use.
        (libc::RLIMIT_AS, limits.memory.saturating_mul(4)),
        (libc::RLIMIT_FSIZE, limits.file),
        (libc::RLIMIT_NOFILE, limits.open),
        (libc::RLIMIT_NPROC, limits.processes),
        (libc::RLIMIT_MEMLOCK, 1 << 20),
        // Not 0: with that a handler behind a pipe, as many machines have one, still gets every core, and runs outside.
        (libc::RLIMIT_CORE, 1),
    ];
    for (resource, most) in bounds {
        sys::limit(resource, most).map_err(|e| format!("a resource could not be bounded: {e}"))?;
    }
    Ok(())
}
