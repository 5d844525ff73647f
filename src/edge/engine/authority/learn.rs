//! Learns rules from approvals, and counts their uses.

use super::{Authority, LEARNED};
use crate::domain::action::Action;
use crate::domain::audit::{Entry, Ruling};
use crate::domain::gate::{Case, Facts, Trace};
use crate::domain::id::{PlanId, TurnId};
use crate::domain::policy::learned::{DAYS, Learned, Seen, Shape, USES, answerable, seen};
use crate::domain::policy::loosening::Loosening;
use crate::domain::port::LogLevel;
use crate::domain::signal::Sensor;
use crate::edge::engine::Engine;
use crate::edge::engine::record::kind;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// How many decisions are looked through.
const LOOKED: usize = 5_000;

/// Returns a rule as what the user would confirm.
pub(super) fn loosening(rule: &Learned) -> Loosening {
    Loosening { file: LEARNED.to_string(), heading: rule.id(), name: rule.shape.tool.clone(), value: rule.words() }
}

/// Reads a rule.
pub(super) fn read(body: &Value) -> Option<Learned> {
    Some(Learned {
        shape: read_shape(&body["shape"])?,
        place: body["place"].as_str()?.to_string(),
        until: body["until"].as_str()?.parse().ok()?,
        uses: body["uses"].as_u64().and_then(|uses| u32::try_from(uses).ok())?,
    })
}

fn read_shape(body: &Value) -> Option<Shape> {
    let words = body["words"].as_array()?.iter().map(|word| word.as_str().map(str::to_string));
    Some(Shape { tool: body["tool"].as_str()?.to_string(), words: words.collect::<Option<_>>()? })
}

/// Returns what is kept of what was seen, beside a decision.
pub(in crate::edge::engine) fn kept(seen: &Seen) -> Value {
    json!({ "tool": seen.shape.tool, "words": seen.shape.words, "place": seen.place })
}

/// Reads what was seen.
pub(in crate::edge::engine) fn read_seen(body: &Value) -> Option<Seen> {
    Some(Seen { shape: read_shape(body)?, place: body["place"].as_str()?.to_string() })
}

impl Engine {
    /// Returns what a rule could be learned from, of an action that was asked about; `None` when no rule may answer it,
    /// or when text from outside had a part in it.
    pub(in crate::edge::engine) fn seen_of(
        &self,
        action: &Action,
        facts: &Facts,
        trace: &Trace,
        project: &str,
    ) -> Option<Seen> {
        let session = crate::domain::id::SessionId(String::new());
        let scope = crate::domain::scope::Scope { project: project.to_string(), ..self.scope(&session, None, false) };
        let tool = self.toolbox().get(action.tool())?;
        let case = Case { action, tool, scope: &scope, facts, set_off: Sensor::UserInput };
        answerable(&case, trace).then(|| seen(action, tool, &scope, facts)).flatten()
    }

    /// Returns the rules that the user confirmed and that hold now.
    pub(super) fn rules_in_force(&self) -> Vec<Learned> {
        let (now, authority) = (self.clock.now(), self.authority.lock());
        let counts =
            |rule: &Learned| authority.confirmed.get(&loosening(rule).hash()).is_some_and(|(_, counts)| *counts);
        let holds = |(rule, used): &&(Learned, u32)| rule.until > now && *used < rule.uses && counts(rule);
        authority.learned.values().filter(holds).map(|(rule, _)| rule.clone()).collect()
    }

    /// Counts one more use of a rule. What answered is refused when it does not hold any more.
    ///
    /// # Errors
    /// When the rule is over or was withdrawn: then the act is not begun.
    pub(in crate::edge::engine) fn use_rule(&self, id: &str) -> Result<Option<super::super::audit::Kept>, String> {
        let now = self.clock.now();
        // Checked and counted in one piece: of two turns at once one may have the last use.
        let mut authority = self.authority.lock();
        let Authority { learned, confirmed, .. } = &mut *authority;
        let Some((rule, used)) = learned.get_mut(id) else {
            // A line of a heading that was confirmed has neither a date nor a count.
            let counts = confirmed.values().any(|(known, counts)| *counts && known.id() == id);
            return if counts { Ok(None) } else { Err(over(id)) };
        };
        let counts = confirmed.get(&loosening(rule).hash()).is_some_and(|(_, counts)| *counts);
        if !counts || rule.until <= now || *used >= rule.uses {
            return Err(over(id));
        }
        *used = used.saturating_add(1);
        Ok(Some((kind::USED, id.to_string(), json!({ "used": *used }))))
    }

    /// Offers a rule after enough approvals of one shape at one place. Returns what the user is told.
    pub(in crate::edge::engine) async fn offer_rule(
        &self,
        plan: &crate::domain::gate::plan::FlightPlan,
    ) -> Option<String> {
        let threshold = usize::try_from(self.config.rule_threshold).ok().filter(|threshold| *threshold > 0)?;
        let of_plan = self.decided(Some(&plan.id.0)).await.ok()?;
        let wanted = of_plan.iter().find_map(|(_, seen)| seen.clone())?;
        let same = |seen: &Option<Seen>| seen.as_ref() == Some(&wanted);
        let all = self.decided(None).await.ok()?;
        // A denial says that not everything of this shape is wanted. Steps of one decision are decided at one go.
        let of_shape = all.iter().filter(|(_, seen)| same(seen)).map(|(entry, _)| &entry.decision);
        // What was approved and then not done was no yes to what would have been done.
        let undone = |id: &PlanId| self.with_plan(&id.0, |plan| !plan.status.is_done()).unwrap_or(false);
        let approvals = of_shape
            .take_while(|decision| decision.ruling != Ruling::Denied)
            .filter(|decision| decision.ruling == Ruling::Approved && !decision.plan.as_ref().is_some_and(undone));
        let decisions: BTreeSet<Option<&TurnId>> = approvals.map(|decision| decision.turn.as_ref()).collect();
        if decisions.len() < threshold {
            return None;
        }
        let until = self.clock.now().checked_add(jiff::SignedDuration::from_hours(24 * DAYS)).ok()?;
        let rule = Learned { shape: wanted.shape.clone(), place: wanted.place.clone(), until, uses: USES };
        let waits = |(known, used): &(Learned, u32)| {
            known.fits(&wanted) && known.until > self.clock.now() && *used < known.uses
        };
        if self.authority.lock().learned.values().any(waits) {
            return None;
        }
        let id = rule.id();
        let body = json!({
            "shape": { "tool": rule.shape.tool, "words": rule.shape.words }, "place": rule.place,
            "until": rule.until.to_string(), "uses": rule.uses,
        });
        if let Err(why) = self.append(kind::RULE, &id, body).await {
            self.say(LogLevel::Warning, &format!("a rule could not be offered: {why}"));
            return None;
        }
        let text = format!(
            "You approved this {threshold} times. The rule {id} would do it without asking: {}. It counts when you confirm \
             it: M-x passepartout-rules.",
            rule.words()
        );
        self.authority.lock().learned.insert(id, (rule, 0));
        self.say(LogLevel::Info, &text);
        Some(text)
    }

    /// Returns decisions with what was seen of each, newest first: of one plan, or the last of all.
    async fn decided(&self, of: Option<&str>) -> Result<Vec<(Entry, Option<Seen>)>, String> {
        let records = match of {
            Some(key) => self.archive.newest_of(kind::AUDIT, key.to_string(), LOOKED).await?,
            None => self.archive.newest(kind::AUDIT, LOOKED).await?,
        };
        let both = |record| Some((super::super::audit::read(record)?, read_seen(&record.body["seen"])));
        Ok(records.iter().filter_map(both).collect())
    }
}

fn over(id: &str) -> String {
    format!("the rule {id} does not hold any more, so nothing was done; ask again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::engine::fresh::tests::Place;
    use std::sync::Barrier;

    #[tokio::test(flavor = "multi_thread")]
    async fn turns_at_once_use_a_rule_no_oftener_than_it_says() {
        let place = Place::new("* TODO A\n").await;
        let shape = Shape { tool: "org-set-todo".to_string(), words: vec!["id".to_string()] };
        let rule = Learned { shape, place: place.file.clone(), until: jiff::Timestamp::MAX, uses: 400 };
        let (id, confirmed) = (rule.id(), loosening(&rule));
        {
            let mut authority = place.engine.authority.lock();
            authority.confirmed.insert(confirmed.hash(), (confirmed, true));
            authority.learned.insert(id.clone(), (rule, 0));
        }
        let (engine, begin) = (&place.engine, Barrier::new(8));
        let used: usize = std::thread::scope(|scope| {
            let turn = || {
                begin.wait();
                (0..200).filter(|_| engine.use_rule(&id).is_ok()).count()
            };
            let turns: Vec<_> = (0..8).map(|_| scope.spawn(turn)).collect();
            turns.into_iter().map(|turn| turn.join().expect("it ends")).sum()
        });
        assert_eq!(used, 400);
        assert!(engine.use_rule(&id).is_err_and(|why| why.contains("does not hold any more")));
        assert!(engine.use_rule("R0").is_err());
    }
}
