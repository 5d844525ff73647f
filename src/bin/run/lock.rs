//! What is given up before the command runs: privileges, paths, system calls, resources.

use crate::policy::{Limits, Policy, SYSTEM};
use crate::{seccomp, sys};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use std::path::Path;

/// One past the highest capability that any kernel numbers; asking for one that is not there ends the loop.
const CAPABILITIES: u64 = 64;

/// Gives up every capability for good: root inside is nobody special, and set-user-id files do nothing.
pub fn give_up_privileges() -> Result<(), String> {
    let told = |e: std::io::Error| format!("privileges could not be given up: {e}");
    sys::switch(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(told)?;
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

/// Installs the filters of system calls.
pub fn filter_calls() -> Result<(), String> {
    for program in seccomp::programs()? {
        seccompiler::apply_filter(&program).map_err(|e| format!("the kernel takes no seccomp filter: {e}"))?;
    }
    Ok(())
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
    for path in SYSTEM.iter().chain(&["/etc"]) {
        rules = allow(rules, Path::new(path), read)?;
    }
    rules = allow(rules, Path::new("/proc"), AccessFs::ReadFile | AccessFs::ReadDir)?;
    rules = allow(rules, Path::new("/dev"), AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::ReadDir)?;
    rules = allow(rules, Path::new("/tmp"), own)?;
    for path in &policy.read {
        rules = allow(rules, path, read)?;
    }
    allow(rules, &policy.project, project)
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
