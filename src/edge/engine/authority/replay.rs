//! Tries rules on every decision that is recorded, and on canaries of their own shape at their own place.

use super::LEARNED;
use super::learn::{loosening, read_seen};
use crate::domain::action::Action;
use crate::domain::audit::Ruling;
use crate::domain::id::SessionId;
use crate::domain::memory::store::Record;
use crate::domain::policy::canaries::{Tried, ground, sample, tried};
use crate::domain::policy::held::GONE;
use crate::domain::policy::learned::Learned;
use crate::domain::policy::loosening::Loosening;
use crate::domain::tool::Effect;
use crate::edge::engine::record::kind;
use crate::edge::engine::{Engine, audit};
use crate::edge::thread::in_place;

/// How many decisions are read at one go.
const PAGE: usize = 5_000;
/// How many recorded decisions of one kind are named; behind that they are counted.
const NAMED: usize = 100;

/// What a rule would change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// Recorded decisions that would pass without asking.
    pub passes: Vec<String>,
    /// Recorded denials that it would open: such a rule is refused.
    pub opens: Vec<String>,
    /// Canaries that it would open: such a rule is refused.
    pub canaries: Vec<String>,
    /// How many canaries were tried.
    pub tried: usize,
}

impl Replay {
    /// Returns it for people.
    pub fn text(&self, rule: &str) -> String {
        let mut text = format!("{rule} would change:\n");
        for line in self.passes.iter().take(NAMED) {
            text.push_str(&format!("- passes without asking: {line}\n"));
        }
        if self.passes.len() > NAMED {
            text.push_str(&format!("- and {} more that pass without asking\n", self.passes.len() - NAMED));
        }
        if self.passes.is_empty() {
            text.push_str("- no decision that is recorded\n");
        }
        for line in &self.opens {
            text.push_str(&format!("- OPENS what you denied: {line}\n"));
        }
        for line in &self.canaries {
            text.push_str(&format!("- OPENS a canary: {line}\n"));
        }
        text.push_str(&format!(
            "{} of {} canaries held.\n",
            self.tried.saturating_sub(self.canaries.len()),
            self.tried
        ));
        if self.refused() {
            text.push_str("A rule that opens what is denied is refused.\n");
        }
        text
    }

    /// Returns whether the rule may not be kept.
    pub fn refused(&self) -> bool {
        !self.opens.is_empty() || !self.canaries.is_empty()
    }
}

impl Engine {
    /// Tries a rule, or all that are known, on what was decided and on canaries.
    ///
    /// # Errors
    /// When there is none of that name, or the store cannot be read.
    pub async fn replay(&self, id: Option<&str>) -> Result<Vec<(String, Replay)>, String> {
        let rules: Vec<Learned> = {
            let authority = self.authority.lock();
            let named = |rule: &&Learned| id.is_none_or(|id| rule.id().eq_ignore_ascii_case(id.trim()));
            authority.learned.values().map(|(rule, _)| rule).filter(named).cloned().collect()
        };
        if let (Some(id), []) = (id, rules.as_slice()) {
            return Err(format!("there is no rule {id}; they are listed by: passepartout rules list"));
        }
        let mut replays = Vec::new();
        for rule in rules {
            replays.push((rule.id(), self.replay_one(&rule).await?));
        }
        Ok(replays)
    }

    async fn replay_one(&self, rule: &Learned) -> Result<Replay, String> {
        let mut replay = Replay::default();
        self.replay_decisions(rule, &mut replay).await?;
        match self.replay_canaries(rule).await {
            Ok(Tried { count, open }) => (replay.tried, replay.canaries) = (count, open),
            Err(why) => replay.canaries.push(format!("none could be tried: {why}")),
        }
        Ok(replay)
    }

    /// Looks through every decision that is recorded, however long ago.
    async fn replay_decisions(&self, rule: &Learned, replay: &mut Replay) -> Result<(), String> {
        let mut records = self.archive.newest(kind::AUDIT, PAGE).await?;
        while let Some(oldest) = records.last().map(|record| record.seq) {
            let fits = |record: &&Record| read_seen(&record.body["seen"]).is_some_and(|seen| rule.fits(&seen));
            for entry in records.iter().filter(fits).filter_map(audit::read) {
                let plan = entry.decision.plan.as_ref().map(|plan| format!("{plan} ")).unwrap_or_default();
                let line = format!("{plan}{} ({})", entry.decision.about, entry.decision.ruling.name());
                match entry.decision.ruling {
                    Ruling::Denied => replay.opens.push(line),
                    Ruling::Asked => replay.passes.push(line),
                    // Of a refusal nothing is kept that a rule could fit.
                    Ruling::Refused
                    | Ruling::Passed
                    | Ruling::Approved
                    | Ruling::Stale
                    | Ruling::Expired
                    | Ruling::Replaced
                    | Ruling::Confirmed
                    | Ruling::Revoked => {}
                }
            }
            records = self.archive.newest_before(kind::AUDIT, oldest, PAGE).await?;
        }
        Ok(())
    }

    /// Tries what the rule must not let pass.
    async fn replay_canaries(&self, rule: &Learned) -> Result<Tried, String> {
        let toolbox = self.toolbox();
        let tool = toolbox.get(&rule.shape.tool).ok_or_else(|| format!("there is no tool {}", rule.shape.tool))?;
        let session = SessionId("canaries".to_string());
        let scope = ground(rule, tool, &in_place(|| self.scope(&session, None, true)));
        let mut sample = sample(rule, tool)?;
        if tool.effect == Effect::Execute {
            // A command is read where it would run.
            let args = sample.args.clone();
            let action = Action::new(&toolbox, tool.name, args, Some(&sample.why), sample.labels).map_err(|e| e.0)?;
            sample.facts = self.surveyor.survey(&action, &scope).await;
        }
        Ok(tried(&sample, &scope, &toolbox, &|case, trace| rule.answers(case, trace)))
    }

    /// Returns what a rule that was learned would change; `None` for what is no such rule.
    ///
    /// # Errors
    /// What it would open that is denied, in words: then it is refused.
    pub(super) async fn check_rule(&self, wanted: &Loosening) -> Result<Option<Replay>, String> {
        if wanted.name == GONE {
            return self.still_lost(wanted).map(|_| None);
        }
        if wanted.file != LEARNED {
            return Ok(None);
        }
        let replays = self.replay(Some(&wanted.heading)).await?;
        let [(id, replay)] = replays.as_slice() else { return Err("there is no such rule any more".to_string()) };
        let same = self.authority.lock().learned.get(id).is_some_and(|(rule, _)| loosening(rule) == *wanted);
        match (same, replay.refused()) {
            (false, _) => Err(format!("this is not what the rule {id} says")),
            (true, true) => Err(replay.text(id)),
            (true, false) => Ok(Some(replay.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::audit::Decision;
    use crate::domain::policy::learned::{Seen, Shape};
    use crate::edge::engine::fresh::tests::Place;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_denial_of_long_ago_counts() {
        let place = Place::new("* TODO A\n").await;
        let shape = Shape { tool: "org-set-todo".to_string(), words: vec!["id".to_string(), "state=DONE".to_string()] };
        let seen = Seen { shape: shape.clone(), place: place.file.clone() };
        let of = |ruling| {
            let decision: Decision = Engine::of_human(ruling, "org-set-todo".to_string(), "Emacs");
            audit::kept(&Decision { seen: Some(seen.clone()), ..decision })
        };
        let rule = Learned { shape, place: place.file.clone(), until: jiff::Timestamp::MAX, uses: 9 };
        assert!(!place.engine.replay_one(&rule).await.expect("it is replayed").refused());
        place.engine.append_all([of(Ruling::Denied)].into_iter()).await.expect("it is stored");
        place.engine.append_all((0..PAGE + 1).map(|_| of(Ruling::Asked))).await.expect("they are stored");
        let replay = place.engine.replay_one(&rule).await.expect("it is replayed");
        assert_eq!((replay.passes.len(), replay.opens.len(), replay.canaries), (PAGE + 1, 1, vec![]));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_rule_whose_canaries_cannot_be_tried_is_refused() {
        let place = Place::new("* TODO A\n").await;
        for (tool, word) in [("org-set-todo", "colour"), ("no-such-tool", "id")] {
            let shape = Shape { tool: tool.to_string(), words: vec![word.to_string()] };
            let rule = Learned { shape, place: place.file.clone(), until: jiff::Timestamp::MAX, uses: 9 };
            let replay = place.engine.replay_one(&rule).await.expect("it is replayed");
            assert!(replay.refused() && replay.text("R1").contains("none could be tried"), "{replay:?}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_command_is_tried_as_its_project_reads_it() {
        let place = Place::new("* TODO A\n").await;
        let project = place.file.replace("/memex/a.org", "");
        let words = ["ls", "-l", "<path>"].map(str::to_string).to_vec();
        let shape = Shape { tool: "shell".to_string(), words };
        let rule = Learned { shape, place: project, until: jiff::Timestamp::MAX, uses: 9 };
        let replay = place.engine.replay_one(&rule).await.expect("it is replayed");
        assert!(!replay.refused() && replay.tried > 20, "{replay:?}");
    }
}
