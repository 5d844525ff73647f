//! Trying a command out before a human decides about it: where nothing of it is kept, and for the human alone.

use crate::domain::action::{Action, Outcome};
use crate::domain::gate::clearance::may_rehearse;
use crate::domain::gate::differ::{difference, times};
use crate::domain::gate::plan::{FlightPlan, Tried};
use crate::domain::gate::title::title;
use crate::domain::gate::{Case, Facts, Trace};
use crate::domain::port::Content;
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
        let heard = Tried::heard(&desk.actuator.masked(said));
        let differing = [
            match times(&tried.said, &heard) {
                Some(found) => {
                    let each: Vec<String> = found.iter().map(|(then, now)| format!("{then}, and now {now}")).collect();
                    format!("What it said differs only in what reads like times: {}.\n", each.join("; "))
                }
                None => difference("what it said when it was tried", &tried.said, &heard),
            },
            files_beside(&tried.files, &files, &now),
        ];
        differing.concat()
    }
}

/// Returns where files differ from what a trial left in them, and which of them were not looked at: of those nothing is
/// known, and so nothing else is said.
fn files_beside(tried: &[(String, Option<String>)], files: &[String], now: &BTreeMap<String, Content>) -> String {
    let unknown = |file: &str| matches!(now.get(file), None | Some(Content::Unknown));
    let line = |file: &str, hash: Option<&String>| match hash {
        Some(hash) => format!("{file}: BLAKE3 {}\n", hash.get(..16).unwrap_or(hash)),
        None => format!("{file}: gone\n"),
    };
    let mut then: Vec<_> = tried.iter().filter(|(file, _)| !unknown(file)).collect();
    then.sort();
    let then: String = then.into_iter().map(|(file, hash)| line(file, hash.as_ref())).collect();
    let seen: String = files
        .iter()
        .filter_map(|file| match now.get(file)? {
            Content::Bytes(hash) => Some(line(file, Some(hash))),
            Content::Nothing => Some(line(file, None)),
            Content::Unknown => None,
        })
        .collect();
    let mut said = difference("the files that it changed when it was tried", &then, &seen);
    let unseen: Vec<&str> = files.iter().map(String::as_str).filter(|file| unknown(file)).collect();
    if !unseen.is_empty() {
        said.push_str(&format!("Not looked at afterwards, so not compared: {}.\n", unseen.join(", ")));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_looked_at_is_not_said_to_differ() {
        let bytes = |hash: &str| Content::Bytes(hash.to_string());
        let tried = [("/p/a".to_string(), Some("aa".to_string())), ("/p/b".to_string(), None)];
        let check = |now: &[(&str, Content)], expected: &str| {
            let files = ["/p/a".to_string(), "/p/b".to_string()];
            let now = now.iter().map(|(file, content)| (file.to_string(), content.clone())).collect();
            assert_eq!(files_beside(&tried, &files, &now), expected, "{now:?}");
        };
        check(&[("/p/a", bytes("aa")), ("/p/b", Content::Nothing)], "");
        let unseen = |files: &str| format!("Not looked at afterwards, so not compared: {files}.\n");
        check(&[], &unseen("/p/a, /p/b"));
        check(&[("/p/a", Content::Unknown), ("/p/b", Content::Nothing)], &unseen("/p/a"));
        let files = ["/p/a".to_string(), "/p/b".to_string()];
        let now = [("/p/a".to_string(), bytes("cc"))].into_iter().collect();
        let said = files_beside(&tried, &files, &now);
        assert!(said.contains("-/p/a: BLAKE3 aa") && said.contains("+/p/a: BLAKE3 cc"), "{said}");
        assert!(said.ends_with(&unseen("/p/b")) && !said.contains("gone"), "{said}");
    }
}
