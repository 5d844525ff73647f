//! Trying a command out before a human decides about it: where nothing of it is kept, and for the human alone.

use crate::domain::action::{Action, Outcome};
use crate::domain::gate::clearance::may_rehearse;
use crate::domain::gate::differ::{difference, times};
use crate::domain::gate::plan::{FlightPlan, Tried};
use crate::domain::gate::title::title;
use crate::domain::gate::{Case, Facts, Trace};
use crate::domain::tool::Effect;
use crate::domain::turn::{Desk, Turn};
use futures_util::FutureExt;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;

/// How many milliseconds all commands of one turn may be tried for: the plans wait for no more than that.
pub const TRYING: u64 = 10_000;
/// With fewer milliseconds left a trial is not begun.
const TOO_FEW: u64 = 500;

impl Turn {
    /// Tries a command out that is about to be parked; `None` for what is no command. No model hears what came of it:
    /// the trace has a line of its own, and the plan has the rest.
    pub(super) async fn rehearse(
        &mut self,
        action: &Action,
        facts: &Facts,
        trace: &Trace,
        desk: &Desk<'_>,
    ) -> Option<Tried> {
        let tool = desk.toolbox.get(action.tool()).filter(|tool| tool.effect == Effect::Execute)?;
        let scope = self.scope(desk);
        let set_off = self.report.conversation.set_off;
        let case = Case { action, tool, scope: &scope, facts, set_off };
        let tried = match may_rehearse(&case, trace) {
            Err(why) => Tried::not(why),
            Ok(_) if self.trying < TOO_FEW => {
                Tried::not("the ten seconds for trying the commands of one answer were used up before it")
            }
            Ok(rehearsal) => {
                let (tried, took) = AssertUnwindSafe(desk.actuator.rehearse(rehearsal, self.trying))
                    .catch_unwind()
                    .await
                    .unwrap_or_else(|_| (Tried::not("trying it broke"), self.trying));
                self.trying = self.trying.saturating_sub(took);
                tried
            }
        };
        if tried.ran {
            let files = crate::domain::count::counted(tried.files.len(), "file");
            let outcome = format!("tried out, and nothing of it kept; it would change {files}, and the plan shows it");
            self.deed("dry run".to_string(), title(action, facts), Some(trace.clone()), outcome, None);
        }
        Some(tried)
    }

    /// Returns where what an approved command did differs from what it did when it was tried; empty when it does not.
    pub(super) async fn beside_reality(
        &self,
        plan: &FlightPlan,
        outcome: &Outcome,
        changed: &[String],
        desk: &Desk<'_>,
    ) -> String {
        let (Some(tried), Outcome::Done(said)) = (&plan.about.tried, outcome) else { return String::new() };
        if !tried.ran {
            return String::new();
        }
        let mut files: Vec<String> = tried.files.iter().map(|(file, _)| file.clone()).chain(changed.to_vec()).collect();
        files.sort();
        files.dedup();
        let now = desk.actuator.contents(&files).await;
        let lines = |files: &BTreeMap<String, Option<String>>| -> String {
            let line = |(file, hash): (&String, &Option<String>)| match hash {
                Some(hash) => format!("{file}: BLAKE3 {}\n", hash.get(..16).unwrap_or(hash)),
                None => format!("{file}: gone\n"),
            };
            files.iter().map(line).collect()
        };
        let then: BTreeMap<String, Option<String>> = tried.files.iter().cloned().collect();
        let now: BTreeMap<String, Option<String>> = files.into_iter().zip(now).collect();
        let heard = Tried::heard(&desk.actuator.masked(said));
        let differing = [
            match times(&tried.said, &heard) {
                Some(found) => {
                    let each: Vec<String> = found.iter().map(|(then, now)| format!("{then}, and now {now}")).collect();
                    format!("What it said differs only in what reads like times: {}.\n", each.join("; "))
                }
                None => difference("what it said when it was tried", &tried.said, &heard),
            },
            difference("the files that it changed when it was tried", &lines(&then), &lines(&now)),
        ];
        differing.concat()
    }
}
