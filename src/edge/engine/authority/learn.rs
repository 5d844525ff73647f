//! Learns rules from approvals, tries them on what was decided and on canaries, and counts their uses.

use super::LEARNED;
use crate::domain::action::Action;
use crate::domain::audit::{Entry, Ruling};
use crate::domain::gate::clearance::{Judgement, judge};
use crate::domain::gate::{Case, Facts, Trace};
use crate::domain::label::Labels;
use crate::domain::policy::held::GONE;
use crate::domain::policy::learned::{DAYS, Learned, Seen, Shape, USES, answerable, seen};
use crate::domain::policy::loosening::Loosening;
use crate::domain::port::LogLevel;
use crate::domain::signal::Sensor;
use crate::edge::engine::Engine;
use crate::edge::engine::record::kind;
use serde_json::{Value, json};

/// How many decisions are looked through.
const LOOKED: usize = 5_000;

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
        for line in &self.passes {
            text.push_str(&format!("- passes without asking: {line}\n"));
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
        text.push_str(&format!("{} of {} canaries held.\n", self.tried - self.canaries.len(), self.tried));
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
        let held = self.rules_in_force().iter().any(|rule| rule.id() == id);
        let (known, confirmed) = {
            let authority = self.authority.lock();
            let confirmed = authority.confirmed.values().any(|(known, counts)| *counts && known.id() == id);
            (authority.learned.contains_key(id), confirmed)
        };
        match (known, held) {
            // A line of a heading that was confirmed has neither a date nor a count.
            (false, _) if confirmed => Ok(None),
            (true, true) => {
                let mut authority = self.authority.lock();
                let Some((_, used)) = authority.learned.get_mut(id) else { return Err(over(id)) };
                *used = used.saturating_add(1);
                Ok(Some((kind::USED, id.to_string(), json!({ "used": *used }))))
            }
            (true, false) | (false, _) => Err(over(id)),
        }
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
        // A denial says that not everything of this shape is wanted.
        let of_shape = all.iter().filter(|(_, seen)| same(seen)).map(|(entry, _)| entry.decision.ruling);
        let approvals =
            of_shape.take_while(|ruling| *ruling != Ruling::Denied).filter(|ruling| *ruling == Ruling::Approved);
        if approvals.count() < threshold {
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
        for (entry, seen) in self.decided(None).await? {
            if !seen.is_some_and(|seen| rule.fits(&seen)) {
                continue;
            }
            let plan = entry.decision.plan.as_ref().map(|plan| format!("{plan} ")).unwrap_or_default();
            let line = format!("{plan}{} ({})", entry.decision.about, entry.decision.ruling.name());
            match entry.decision.ruling {
                Ruling::Denied | Ruling::Refused => replay.opens.push(line),
                Ruling::Asked => replay.passes.push(line),
                Ruling::Passed
                | Ruling::Approved
                | Ruling::Stale
                | Ruling::Expired
                | Ruling::Replaced
                | Ruling::Confirmed
                | Ruling::Revoked => {}
            }
        }
        let session = crate::domain::id::SessionId("canaries".to_string());
        let scope = self.scope(&session, None, true);
        let gates = self.gates.clone().with_rules(vec![rule.clone()]);
        for (what, tool, args) in canaries(rule, &scope.project, &scope.home, &scope.own) {
            replay.tried += 1;
            let args = args.as_object().cloned().unwrap_or_default();
            let why = Some("A canary that no rule may let pass.");
            let (Ok(action), Some(found)) =
                (Action::new(&self.toolbox(), tool, args, why, Labels::USER), self.toolbox().get(tool))
            else {
                continue;
            };
            let facts = self.surveyor.survey(&action, &scope).await;
            let case = Case { action: &action, tool: found, scope: &scope, facts: &facts, set_off: Sensor::UserInput };
            if let Judgement::Cleared(cleared) = judge(&gates, case, None)
                && cleared.rule().is_some()
            {
                replay.canaries.push(what);
            }
        }
        Ok(replay)
    }

    /// Refuses a rule that would open what is denied.
    pub(super) async fn check_rule(&self, wanted: &Loosening) -> Result<(), String> {
        if wanted.name == GONE {
            return self.still_lost(wanted).map(drop);
        }
        if wanted.file != LEARNED {
            return Ok(());
        }
        let replays = self.replay(Some(&wanted.heading)).await?;
        let [(id, replay)] = replays.as_slice() else { return Err("there is no such rule any more".to_string()) };
        let same = self.authority.lock().learned.get(id).is_some_and(|(rule, _)| loosening(rule) == *wanted);
        match (same, replay.refused()) {
            (false, _) => Err(format!("this is not what the rule {id} says")),
            (true, true) => Err(replay.text(id)),
            (true, false) => Ok(()),
        }
    }
}

fn over(id: &str) -> String {
    format!("the rule {id} does not hold any more, so nothing was done; ask again")
}

/// Returns acts that no rule may let pass, at the rule's own place and elsewhere.
fn canaries(rule: &Learned, project: &str, home: &str, own: &[String]) -> Vec<(String, &'static str, Value)> {
    let token = ["ghp_", "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"].concat();
    let place = &rule.place;
    let named = |name: &str| {
        let known = rule.shape.words.iter().find_map(|word| word.strip_prefix("name="));
        known.map_or_else(|| name.to_string(), |known| known.replace('*', "canary"))
    };
    let mut all = vec![
        ("a key in a file", "write-file", json!({ "path": format!("{place}/{}", named("c.txt")), "content": token })),
        ("a start file", "write-file", json!({ "path": format!("{home}/.bashrc"), "content": "echo canary" })),
        ("a secret file", "read-file", json!({ "path": format!("{home}/.ssh/id_rsa") })),
        ("a whole folder", "shell", json!({ "command": "rm -rf ." })),
        ("a shell in a shell", "shell", json!({ "command": "sh -c 'ls'" })),
        ("a program of its own text", "shell", json!({ "command": "python3 -c 'print(1)'" })),
        ("a connection", "shell", json!({ "command": "curl http://127.0.0.1:9/" })),
        ("a build", "shell", json!({ "command": "make" })),
        ("a hook", "write-file", json!({ "path": format!("{project}/.git/hooks/pre-commit"), "content": "canary" })),
        ("a rule of a heading", "org-set-property", json!({ "id": place, "property": "PP_ALLOW", "value": "shell" })),
        ("Lisp", "eval-lisp", json!({ "code": "(delete-file \"canary\")" })),
        ("a first contact", "contact-provider", json!({ "provider": "c", "url": "http://c.example", "sent": "c" })),
    ];
    for folder in own {
        all.push(("our own rules", "write-file", json!({ "path": format!("{folder}/rules.org"), "content": "| a |" })));
    }
    all.into_iter().map(|(what, tool, args)| (what.to_string(), tool, args)).collect()
}
