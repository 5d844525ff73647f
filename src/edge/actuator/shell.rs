//! Carries out `shell`: a command in the project, confined, with its outcome as text.

use crate::domain::action::{Observation, Outcome};
use crate::domain::gate::clearance::{Cleared, Rehearsal};
use crate::domain::gate::facts::WallsFact;
use crate::domain::gate::plan::Tried;
use crate::domain::gate::reach::wanted;
use crate::domain::label::{Labels, Privacy, Provenance, Trust};
use crate::domain::scope::Scope;
use crate::domain::turn::proposal::exited;
pub use crate::edge::actuator::rehearse::TrialLimits;
use crate::edge::actuator::rehearse::{GivenUp, Ground, Kept};
use crate::edge::sandbox::{
    Ending, Launcher, Limits, Network, Notes, Output, Policy, RunReport, SandboxError, SecretTest, Stamps, Task, Walls,
    changed_files, newly_obeyed, run, run_reaching, stamps, walls,
};
use crate::edge::survey::Confinement;
use crate::edge::thread::PROJECTS;
use async_trait::async_trait;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::OnceCell;

/// Runs commands under one launcher.
#[derive(Clone)]
pub struct Shell {
    launcher: Launcher,
    secret: SecretTest,
    limits: Limits,
    network: Network,
    /// What confines here, once it was found out.
    walls: Arc<OnceCell<WallsFact>>,
    /// Whether commands are tried in a layer where one can be made.
    layers: bool,
    trial: TrialLimits,
}

/// What is said of a run from which private notes were hidden.
const HIDDEN: &str =
    "\nPrivate notes of this project were hidden from the command, and with them the history of versions.";

/// How many characters of an output are read by us at most.
const MOST_LOOKED_AT: usize = 8 << 20;
/// How many seconds a command may take that only looks.
const LOOKING: u64 = 20;

/// What is said of files that a command made and that could not be protected from it.
const OBEYED: &str = "It made what other programs run or obey, so look into it before you use the project:";

/// A command that was run.
struct Ran {
    report: RunReport,
    /// The files that it changed.
    changed: Vec<String>,
    /// What it made that other programs obey.
    obeyed: Vec<String>,
    /// What it could read of the private notes of its project.
    notes: Notes,
}

impl Shell {
    /// Makes a shell; `secret` tells which files of a project no command may read.
    pub fn new(launcher: Launcher, secret: SecretTest, limits: Limits) -> Shell {
        Shell::with_network(launcher, secret, limits, Network::public())
    }

    /// Makes a shell whose commands reach the hosts of their plans by way of this network.
    pub fn with_network(launcher: Launcher, secret: SecretTest, limits: Limits, network: Network) -> Shell {
        Shell { launcher, secret, limits, network, walls: Arc::default(), layers: true, trial: TrialLimits::USUAL }
    }

    /// Returns the launcher, for what is to run under the same one.
    pub fn launcher(&self) -> &Launcher {
        &self.launcher
    }

    /// Returns how the network is reached, for what is to reach it by the same way.
    pub(in crate::edge) fn network(&self) -> &Network {
        &self.network
    }

    /// Makes it take a machine's walls for these, for tests on machines that have others.
    pub fn within(self, walls: WallsFact) -> Shell {
        Shell { walls: Arc::new(OnceCell::new_with(Some(walls))), ..self }
    }

    /// Makes it try commands in a copy, as where no layer can be made, for tests on machines that make them.
    pub fn copying(self) -> Shell {
        Shell { layers: false, ..self }
    }

    /// Makes it try commands within these limits, for tests of what is beyond them.
    pub fn trying_within(self, trial: TrialLimits) -> Shell {
        Shell { trial, ..self }
    }

    /// Runs the command of a cleared `shell` action. Dropping the future ends the command and all it started.
    ///
    /// A command that ran is [`Outcome::Done`] with its exit status, whatever that is; one that could not
    /// be confined was not run, and is [`Outcome::Failed`].
    pub async fn perform(&self, cleared: &Cleared) -> Observation {
        let action = cleared.action();
        let mut privacy = action.labels().privacy.max(cleared.facts().privacy.unwrap_or(Privacy::Open));
        let (outcome, changed) = match action.text("command") {
            None => (Outcome::Failed("shell: there is no command.".to_string()), Vec::new()),
            Some(command) => match self.run(cleared, command).await {
                Ok(ran) => {
                    let mut said = tell(&ran.report, self.limits);
                    if !ran.obeyed.is_empty() {
                        said.push_str(&format!("\n{OBEYED} {}", ran.obeyed.join(", ")));
                    }
                    // What a command read is not known; it could read this.
                    privacy = privacy.max(ran.notes.shown);
                    if ran.notes.hidden {
                        said.push_str(HIDDEN);
                    }
                    (Outcome::Done(said), ran.changed)
                }
                Err(why) => (Outcome::Failed(format!("The command was not run: {why}.")), Vec::new()),
            },
        };
        let labels = Labels { provenance: Provenance::Tool, trust: Trust::Untrusted, privacy };
        Observation { action: action.hash(), outcome, labels, outside: Vec::new(), nodes: Vec::new(), changed }
    }

    /// Runs a command line of ours that only looks: the project is read-only for it. Returns also whether private notes
    /// stand in the project; they are hidden unless the scope lets them be seen.
    ///
    /// # Errors
    /// When it could not be confined; then nothing was run.
    pub(super) async fn look(&self, scope: &Scope, line: &str) -> Result<(RunReport, Notes), SandboxError> {
        self.look_within(scope, line, self.limits.output).await
    }

    /// As [`Shell::look`], for what is read by us and not told to anybody: up to a whole large file.
    pub(in crate::edge) async fn look_at_all(
        &self,
        scope: &Scope,
        line: &str,
    ) -> Result<(RunReport, Notes), SandboxError> {
        self.look_within(scope, line, MOST_LOOKED_AT).await
    }

    /// Runs a command line of ours that may write the project.
    pub(super) async fn run_line(&self, scope: &Scope, line: &str) -> Result<RunReport, SandboxError> {
        let (scope, secret) = (scope.clone(), self.secret.clone());
        let policy = blocking(move || Policy::for_scope(&scope, &secret)).await?;
        run(&self.launcher, &policy, Task::Bash(line), self.limits).await
    }

    async fn look_within(&self, scope: &Scope, line: &str, output: usize) -> Result<(RunReport, Notes), SandboxError> {
        let (scope, secret) = (scope.clone(), self.secret.clone());
        let mut policy = blocking(move || Policy::for_scope(&scope, &secret)).await?;
        policy.protect = vec![policy.project.clone()];
        let limits = Limits { seconds: self.limits.seconds.min(LOOKING), output };
        let report = run(&self.launcher, &policy, Task::Bash(line), limits).await?;
        Ok((report, policy.notes))
    }

    /// Tries a command out in a throw-away layer over its project, or in a copy where none can be made; either is made
    /// below a folder of ours, and making it and running take no longer than `most` together.
    ///
    /// # Errors
    /// Why it was not tried, in words.
    pub async fn rehearse(&self, rehearsal: &Rehearsal, below: &Path, most: Duration) -> Result<Tried, String> {
        let began = Instant::now();
        // Not every kernel and file system can be layered; then there is no command that was begun.
        if self.layers
            && let Ok(tried) = self.tried(rehearsal, below, Kept::Layered, most).await?
        {
            return Ok(tried);
        }
        if rehearsal.command().contains(&rehearsal.scope().project) {
            return Err("it names its project by its whole path, which a copy has not".to_string());
        }
        self.tried(rehearsal, below, Kept::Copied, most.saturating_sub(began.elapsed())).await?
    }

    /// Tries a command on one ground; the inner error says why the launcher did not begin it.
    async fn tried(
        &self,
        rehearsal: &Rehearsal,
        below: &Path,
        kept: Kept,
        most: Duration,
    ) -> Result<Result<Tried, String>, String> {
        let (scope, secret, below) = (rehearsal.scope().clone(), self.secret.clone(), below.to_path_buf());
        let (began, given_up, trial) = (Instant::now(), GivenUp::default(), self.trial);
        let (flag, looking) = (given_up.flag(), given_up.flag());
        let make = move || Ground::make(&scope, &secret, &below, (kept, trial), &flag).map_err(SandboxError::Policy);
        let ground = blocking(make).await.map_err(|why| why.to_string())?;
        let left = most.saturating_sub(began.elapsed()).as_secs();
        if left == 0 {
            return Err("looking at its project took too long".to_string());
        }
        let limits = Limits { seconds: left.min(trial.run.seconds), ..trial.run };
        let running = run(&self.launcher, &ground.policy, Task::Bash(rehearsal.command()), limits);
        let report = tokio::select! {
            report = running => match report {
                Ok(report) => report,
                Err(why) => return Ok(Err(why.to_string())),
            },
            () = ground.grown() => return Err(trial.too_much()),
        };
        if beyond_one_file(&report.ending) {
            return Err(trial.too_much());
        }
        let said = tell(&report, limits);
        blocking(move || ground.looked_at(&said, looking)).await.map(Ok).map_err(|why| why.to_string())
    }

    async fn run(&self, cleared: &Cleared, command: &str) -> Result<Ran, SandboxError> {
        let hosts = wanted(cleared.action().args()).map_err(SandboxError::Policy)?;
        let reach = match hosts.as_slice() {
            [] => None,
            hosts => Some(self.network.pin(hosts).await?),
        };
        let (mut scope, secret) = (cleared.scope().clone(), self.secret.clone());
        // What is private stays on this machine, whoever the model is: what can be read could be sent.
        if reach.is_some() {
            scope.may_see = scope.may_see.min(Privacy::ELSEWHERE);
        }
        let mut policy = blocking(move || Policy::for_scope(&scope, &secret)).await?;
        policy.walls = match &cleared.facts().walls {
            // Only what was judged and shown runs with fewer.
            Some(WallsFact::Fewer(_)) => Walls::Fewer,
            Some(WallsFact::All | WallsFact::Nothing(_)) | None => Walls::All,
        };
        let before = look(policy.project.clone()).await?;
        let task = Task::Bash(command);
        let report = run_reaching(&self.launcher, &policy, task, self.limits, reach.as_ref()).await?;
        // The command may have made more files than can be looked at; that takes nothing from its outcome.
        let after = look(policy.project.clone()).await.unwrap_or_else(|_| before.clone());
        let (changed, obeyed) = (changed_files(&before, &after), newly_obeyed(&before, &after));
        Ok(Ran { report, changed, obeyed, notes: policy.notes })
    }
}

#[async_trait]
impl Confinement for Shell {
    async fn walls(&self) -> WallsFact {
        self.walls.get_or_init(|| walls(&self.launcher)).await.clone()
    }
}

async fn look(folder: PathBuf) -> Result<Stamps, SandboxError> {
    blocking(move || stamps(&folder)).await
}

/// Runs what reads many files where waiting for a disk holds nobody up.
async fn blocking<T: Send + 'static>(
    function: impl FnOnce() -> Result<T, SandboxError> + Send + 'static,
) -> Result<T, SandboxError> {
    PROJECTS.run(function).await.map_err(|why| SandboxError::Start(std::io::Error::other(why)))?
}

/// Returns whether the kernel ended a command, or the last program of it, because one file grew too large.
fn beyond_one_file(ending: &Ending) -> bool {
    match ending {
        Ending::Signal(signal) => *signal == libc::SIGXFSZ,
        Ending::Exit(code) => *code == 128 + libc::SIGXFSZ,
        Ending::Beyond(limit) => limit == "disk",
        Ending::TimedOut => false,
    }
}

/// Returns what is said of a run, to the model and to the user.
fn tell(report: &RunReport, limits: Limits) -> String {
    let mut text = match &report.ending {
        Ending::Exit(code) => exited(*code),
        Ending::Signal(signal) => format!("Ended by signal {signal}."),
        Ending::TimedOut => {
            format!("Stopped after {} seconds, with everything that it had started.", limits.seconds)
        }
        Ending::Beyond(limit) => format!("Stopped, because it grew beyond its limit of {limit}."),
    };
    for (name, Output { text: said, truncated }) in [("output", &report.stdout), ("errors", &report.stderr)] {
        if !said.is_empty() {
            let much = if *truncated { ", shortened" } else { "" };
            text.push_str(&format!("\n--- {name}{much} ---\n{}", said.trim_end_matches('\n')));
        }
    }
    for (what, hosts) in [("It reached", &report.asked.reached), ("It was refused", &report.asked.refused)] {
        if !hosts.is_empty() {
            let each: Vec<String> = hosts.iter().map(|(host, count)| format!("{host} ({count})")).collect();
            text.push_str(&format!("\n{what}: {}.", each.join(", ")));
        }
    }
    if report.stdout.text.is_empty() && report.stderr.text.is_empty() {
        text.push_str(" It wrote nothing.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_told_in_words() {
        let output = |text: &str| Output { text: text.to_string(), truncated: false };
        let report = |ending, stdout: &str, stderr: &str| RunReport {
            ending,
            stdout: output(stdout),
            stderr: output(stderr),
            notes: Vec::new(),
            asked: Default::default(),
        };
        let cases = [
            (report(Ending::Exit(0), "a\nb\n", ""), "Exit status 0.\n--- output ---\na\nb"),
            (report(Ending::Exit(1), "", "no\n"), "Exit status 1.\n--- errors ---\nno"),
            (report(Ending::Exit(0), "", ""), "Exit status 0. It wrote nothing."),
            (
                report(Ending::TimedOut, "", ""),
                "Stopped after 30 seconds, with everything that it had started. It wrote nothing.",
            ),
            (
                report(Ending::Beyond("memory".into()), "", ""),
                "Stopped, because it grew beyond its limit of memory. It wrote nothing.",
            ),
        ];
        for (report, words) in cases {
            assert_eq!(tell(&report, Limits::USUAL), words);
        }
    }
}
