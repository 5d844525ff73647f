//! Which walls this machine can put around a command: found out once, by running one that does nothing.

use crate::domain::gate::facts::WallsFact;
use crate::edge::sandbox::probe::Folder;
use crate::edge::sandbox::{Launcher, Limits, Policy, SandboxError, run_nothing};

/// What confines a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walls {
    /// Namespaces, a root of its own, Landlock, seccomp and limits.
    All,
    /// What there is without namespaces: Landlock, seccomp and limits on Linux, a profile of `sandbox-exec` on macOS.
    Fewer,
}

/// Runs what does nothing, first with all walls and, where they cannot be had, with fewer.
///
/// What cannot be found out counts as: nothing confines here.
pub async fn walls(launcher: &Launcher) -> WallsFact {
    let missing = match attempt(launcher, Walls::All).await {
        Ok(()) => return WallsFact::All,
        Err(SandboxError::Unconfined(missing)) => missing,
        Err(other) => return WallsFact::Nothing(other.to_string()),
    };
    match attempt(launcher, Walls::Fewer).await {
        Ok(()) => WallsFact::Fewer(missing),
        Err(SandboxError::Unconfined(more)) => WallsFact::Nothing(format!("{missing}; and {more}")),
        Err(other) => WallsFact::Nothing(format!("{missing}; and {other}")),
    }
}

async fn attempt(launcher: &Launcher, walls: Walls) -> Result<(), SandboxError> {
    let folder = Folder::make()?;
    let policy = Policy { walls, ..Policy::new(folder.path().to_path_buf()) };
    run_nothing(launcher, &policy, Limits { seconds: 10, output: 1000 }).await
}
