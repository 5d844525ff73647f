//! Writes down who decided what, as records that only grow, and reads them for people.
//!
//! A decision stands in one piece with what it decides: a plan's status is never stored without it.

use crate::domain::action::Action;
use crate::domain::audit::{self, Decider, Decision, Entry, Objection, Ruling};
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::plan::{FlightPlan, PlanStatus};
use crate::domain::gate::{Facts, Trace, secret};
use crate::domain::id::{ActionHash, FactsHash, PlanId, SessionId, TurnId};
use crate::domain::memory::store::Record;
use crate::domain::policy::passes::settings_behind;
use crate::domain::port::LogLevel;
use crate::domain::signal::Origin;
use crate::domain::tool::Class;
use crate::domain::turn::{Parking, Refused, TurnReport, proposal, refused};
use crate::edge::clock::local;
use crate::edge::engine::Engine;
use crate::edge::engine::authority::learn;
use crate::edge::engine::record::{kind, lean};
use crate::edge::engine::turns::decided_by;
use serde_json::{Value, json};

/// A record to be stored.
pub(super) type Kept = (&'static str, String, Value);

/// How many decisions about one plan or action are read.
const OF_ONE: usize = 20;
/// Among so many decisions an action is looked for by the beginning of its hash.
const SEARCHED: usize = 1_000;
/// In the traces of so many turns as well.
const OF_TRACES: usize = 200;
/// The fewest digits of a hash that name an action.
const SHORTEST: usize = 8;

/// Returns what is stored of a decision: its key is the plan, or else the action, or what it is about.
///
/// An action that is the key is not said again; where there is none, that is said.
pub(super) fn kept(decision: &Decision) -> Kept {
    let (key, keyed) = match (&decision.plan, &decision.action) {
        (Some(plan), _) => (plan.0.clone(), false),
        (None, Some(action)) => (action.to_hex(), true),
        (None, None) => (decision.about.clone(), false),
    };
    let mut body = whole(decision);
    let action = body["action"].take();
    let mut body = lean(body);
    if !keyed {
        body["action"] = action;
    }
    (kind::AUDIT, key, body)
}

/// Returns all of a decision.
fn whole(decision: &Decision) -> Value {
    let (by, who) = match &decision.decider {
        Decider::Human(channel) => ("human", channel.as_str()),
        Decider::Rule(name) => ("rule", name.as_str()),
        Decider::Setting(what) => ("setting", what.as_str()),
        Decider::Gates => ("gates", ""),
        Decider::Nobody(why) => ("nobody", why.as_str()),
    };
    let objections: Vec<Value> = decision
        .objections
        .iter()
        .map(|objection| json!([objection.gate, objection.verdict, objection.reason]))
        .collect();
    json!({
        "ruling": decision.ruling.name(), "by": by, "who": who,
        "tool": decision.tool, "about": decision.about,
        "action": decision.action.map(|hash| hash.to_hex()), "facts": decision.facts.map(|hash| hash.to_hex()),
        "objections": objections, "seen": decision.seen.as_ref().map(learn::kept),
        "plan": decision.plan.as_ref().map(|id| &id.0), "turn": decision.turn.as_ref().map(|id| &id.0),
        "session": decision.session.as_ref().map(|id| &id.0),
    })
}

/// Reads a decision; `None` when it is not whole.
pub fn read(record: &Record) -> Option<Entry> {
    let body = &record.body;
    let text = |name: &str| body[name].as_str();
    let who = text("who").unwrap_or_default().to_string();
    let decider = match text("by")? {
        "human" => Decider::Human(who),
        "rule" => Decider::Rule(who),
        "setting" => Decider::Setting(who),
        "gates" => Decider::Gates,
        "nobody" => Decider::Nobody(who),
        _ => return None,
    };
    let objection = |value: &Value| {
        Some(Objection {
            gate: value.get(0)?.as_str()?.to_string(),
            verdict: value.get(1)?.as_str()?.to_string(),
            reason: value.get(2)?.as_str().map(str::to_string),
        })
    };
    let decision = Decision {
        ruling: Ruling::parse(text("ruling")?)?,
        decider,
        tool: text("tool")?.to_string(),
        about: text("about")?.to_string(),
        action: match body.get("action") {
            None => ActionHash::from_hex(&record.key),
            Some(action) => action.as_str().and_then(ActionHash::from_hex),
        },
        facts: text("facts").and_then(FactsHash::from_hex),
        objections: body["objections"].as_array().into_iter().flatten().filter_map(objection).collect(),
        seen: learn::read_seen(&body["seen"]),
        plan: text("plan").map(|id| PlanId(id.to_string())),
        turn: text("turn").map(|id| TurnId(id.to_string())),
        session: text("session").map(|id| SessionId(id.to_string())),
    };
    Some(Entry { seq: record.seq, at: record.at, decision })
}

/// Returns a decision as JSON for other programs.
pub fn json(entry: &Entry) -> Value {
    let mut body = whole(&entry.decision);
    body["record"] = entry.seq.into();
    body["at"] = entry.at.to_string().into();
    body["line"] = entry.decision.line().into();
    body
}

/// Returns what stands in the place of a plan's status, as a decision; `None` for what is none.
fn ruled(status: &PlanStatus) -> Option<(Ruling, Decider)> {
    let nobody = |why: &str| Decider::Nobody(why.to_string());
    match status {
        // That it waits was noted when it was parked, and what came of an act stands with the act.
        PlanStatus::Pending | PlanStatus::Done(_) | PlanStatus::Failed(_) => None,
        // Only a human approves; the caller says by which channel.
        PlanStatus::Approved => Some((Ruling::Approved, Decider::Human("an unknown channel".to_string()))),
        PlanStatus::Denied(_) => Some((Ruling::Denied, nobody("the turn that asked for it was stopped"))),
        PlanStatus::Stale(_) => Some((Ruling::Stale, nobody("what it rests on changed after it was shown"))),
        PlanStatus::Expired => Some((Ruling::Expired, nobody("its time ran out before anybody decided"))),
        PlanStatus::Replaced(by) => Some((Ruling::Replaced, nobody(&format!("plan {by} stands in its place")))),
    }
}

impl Engine {
    /// Returns a decision of the gates about an action.
    pub(super) fn of_gates(&self, ruling: Ruling, action: &Action, facts: &Facts, trace: &Trace) -> Decision {
        let private = action.labels().privacy.max(facts.strictest()).is_kept();
        let secret = !facts.vault.is_empty() || self.holds_secret(action);
        let bare = private || secret;
        let mask = |text: &str| secret::mask(&self.vault.mask(text)).0;
        let about = match bare {
            true => proposal::bare(action),
            false => mask(&proposal::logged(action, facts)),
        };
        Decision {
            ruling,
            decider: Decider::Gates,
            tool: action.tool().to_string(),
            about,
            action: Some(action.hash()),
            facts: Some(facts.hash()),
            objections: audit::objections(trace, !bare, &mask),
            seen: None,
            plan: None,
            turn: None,
            session: None,
        }
    }

    /// Returns what was refused in a turn, as its user is told: with the secrets in it masked.
    pub fn refusals(&self, report: &TurnReport) -> Vec<Refused> {
        let masked = |told: Refused| Refused { text: secret::mask(&self.mask(&told.text)).0, ..told };
        refused(report).into_iter().map(masked).collect()
    }

    fn holds_secret(&self, action: &Action) -> bool {
        let text = Value::Object(action.args().clone()).to_string();
        !secret::scan(&text).is_empty() || self.vault.mask(&text) != text
    }

    /// Returns what is stored of an action that was parked as a plan.
    pub(super) fn asked_of(&self, parking: &Parking) -> Decision {
        self.count_quotes(&parking.facts);
        let decision = self.of_gates(Ruling::Asked, &parking.action, &parking.facts, &parking.trace);
        let (turn, session) = (Some(parking.turn.clone()), Some(parking.session.clone()));
        let seen = self.seen_of(&parking.action, &parking.facts, &parking.trace, &parking.project);
        Decision { turn, session, seen, ..decision }
    }

    /// Returns what is stored of a plan's new status beside the plan itself; `None` when nothing was decided.
    pub(super) async fn ruled_on(&self, plan: &FlightPlan, by: Option<&Origin>) -> Option<Kept> {
        let (ruling, nobody) = ruled(&plan.status)?;
        let decider = by.map_or(nobody, |origin| Decider::Human(decided_by(origin)));
        // What may be said of it was worked out when it was parked, with the facts at hand.
        let asked = self.archive.latest(kind::AUDIT, plan.id.0.clone()).await.ok().flatten();
        let asked = asked.as_ref().and_then(read).map(|entry| entry.decision);
        let tool = plan.action.tool().to_string();
        let (about, objections, seen) = match asked {
            Some(asked) => (asked.about, asked.objections, asked.seen),
            None => (tool.clone(), audit::objections(&plan.trace, false, &|_| String::new()), None),
        };
        Some(kept(&Decision {
            ruling,
            decider,
            tool,
            about,
            action: Some(plan.action.hash()),
            facts: Some(plan.facts),
            objections,
            seen,
            plan: Some(plan.id.clone()),
            turn: Some(plan.turn.clone()),
            session: Some(plan.session.clone()),
        }))
    }

    /// Returns that an act is done without anybody being asked, and by what; `None` for what a human approved, which is
    /// written with its plan, and for what only reads.
    pub(super) fn passed(&self, turn: &TurnId, cleared: &Cleared) -> Option<Decision> {
        let action = cleared.action();
        let asked = cleared.trace().strictest().is_none_or(|opinion| opinion.verdict.severity() > 0);
        let decider = match cleared.rule() {
            Some(rule) => Decider::Rule(rule.to_string()),
            None if asked => return None,
            None => {
                let tool = self.toolbox().get(action.tool())?;
                match tool.effect.class() {
                    Class::Pure | Class::Read => return None,
                    Class::Write | Class::Execute | Class::Network => {}
                }
                match settings_behind(tool, action, cleared.scope()).join(" and ") {
                    none if none.is_empty() => Decider::Gates,
                    settings => Decider::Setting(settings),
                }
            }
        };
        let decision = self.of_gates(Ruling::Passed, action, cleared.facts(), cleared.trace());
        let (turn, session) = (Some(turn.clone()), Some(cleared.scope().session.clone()));
        Some(Decision { decider, turn, session, ..decision })
    }

    /// Writes down a human's yes to what a preview showed, before it is carried out.
    pub(super) async fn keep_yes(&self, plan: &FlightPlan, turn: &TurnId, origin: &Origin) -> Result<(), String> {
        let decision = Decision {
            ruling: Ruling::Approved,
            decider: Decider::Human(decided_by(origin)),
            tool: plan.action.tool().to_string(),
            about: format!("{} {}", plan.action.tool(), plan.action.text("kind").unwrap_or_default()),
            action: Some(plan.action.hash()),
            facts: Some(plan.facts),
            objections: audit::objections(&plan.trace, false, &|_| String::new()),
            seen: None,
            plan: None,
            turn: Some(turn.clone()),
            session: Some(origin.session.clone()),
        };
        self.append_all([kept(&decision)].into_iter()).await
    }

    /// Writes down that gates denied. Where nothing may be stored, nothing is.
    pub(super) async fn keep_refusal(&self, session: &SessionId, turn: &TurnId, decision: Decision) {
        if self.beside.is_some() {
            return;
        }
        let decision = Decision { turn: Some(turn.clone()), session: Some(session.clone()), ..decision };
        self.keep_decision(decision).await;
    }

    /// Writes down a decision that stands by itself.
    pub(super) async fn keep_decision(&self, decision: Decision) {
        if let Err(why) = self.append_all([kept(&decision)].into_iter()).await {
            let text = format!("the audit could not be written ({}): {why}", decision.ruling.name());
            self.say(LogLevel::Error, &text);
        }
    }

    /// Writes down what a human ruled that is no rule and no plan: the rights of a client.
    ///
    /// # Errors
    /// In words, when it cannot be kept; then it does not count.
    pub async fn note_ruling(&self, ruling: Ruling, about: &str, channel: &str) -> Result<(), String> {
        let decision = Engine::of_human(ruling, about.to_string(), channel);
        self.append_all(std::iter::once(kept(&decision))).await?;
        self.say(LogLevel::Info, &format!("{}: {about}", ruling.name()));
        Ok(())
    }

    /// Returns a decision of a human that is not about an action.
    pub(super) fn of_human(ruling: Ruling, about: String, channel: &str) -> Decision {
        Decision {
            ruling,
            decider: Decider::Human(channel.to_string()),
            tool: String::new(),
            about,
            action: None,
            facts: None,
            objections: Vec::new(),
            seen: None,
            plan: None,
            turn: None,
            session: None,
        }
    }

    /// Returns the last decisions since a moment, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn decisions(&self, since: Option<jiff::Timestamp>, limit: usize) -> Result<Vec<Entry>, String> {
        let records = self.archive.newest(kind::AUDIT, limit).await?;
        let young = |record: &&Record| since.is_none_or(|since| record.at >= since);
        Ok(records.iter().take_while(young).filter_map(read).collect())
    }

    /// Explains the last decision, or what became of a plan or of an action: by its name, by its hash or the beginning of
    /// that, or by the number of a record of the audit.
    ///
    /// # Errors
    /// In words, when there is none or the store cannot be read.
    pub async fn why(&self, of: Option<&str>) -> Result<String, String> {
        let named = match of.map(str::trim) {
            Some(name) => match self.numbered(name).await? {
                Some(entry) => return self.explained(entry).await,
                None => match self.plan(name) {
                    Some(plan) => plan.id.0,
                    None => self.whole_hash(name).await?,
                },
            },
            None => match self.last_decided().await? {
                Last::Told(key) => key,
                Last::Passed(text) => return Ok(text),
                Last::Nothing => return Err("nothing has been decided yet".to_string()),
            },
        };
        let entries = self.decided_about(&named).await?;
        if entries.is_empty() {
            let turns = self.turns(OF_TRACES).await?;
            let of_it = |trace: &Trace| trace.action.to_hex().starts_with(&named) && is_beginning(&named);
            let mut deeds = turns.iter().flat_map(|turn| &turn.report.deeds);
            let found = deeds.rfind(|deed| deed.trace.as_ref().is_some_and(of_it));
            let text = found.and_then(|deed| Some(let_pass(&deed.summary, &deed.tool, deed.trace.as_ref()?)));
            return text.ok_or_else(|| {
                format!(
                    "no decision about {named} is in the store; name a plan, the number that “passepartout audit” \
                     lists, or an action by its hash"
                )
            });
        }
        Ok(audit::explain(&entries, &[], &when))
    }

    /// Returns the decisions about one plan or action, oldest first.
    async fn decided_about(&self, key: &str) -> Result<Vec<Entry>, String> {
        let records = self.archive.newest_of(kind::AUDIT, key.to_string(), OF_ONE).await?;
        let mut entries: Vec<Entry> = records.iter().filter_map(read).collect();
        entries.reverse();
        Ok(entries)
    }

    /// Returns the record of the audit that has this number; `None` when there is none, or it is no number.
    async fn numbered(&self, name: &str) -> Result<Option<Record>, String> {
        let Some(number) = name.parse::<u64>().ok().filter(|_| name.bytes().all(|byte| byte.is_ascii_digit())) else {
            return Ok(None);
        };
        let records = self.archive.newest_before(kind::AUDIT, number.saturating_add(1), 1).await?;
        Ok(records.into_iter().next().filter(|record| record.seq == number && read(record).is_some()))
    }

    /// Explains one decision, with what was decided about the same thing before and after it.
    async fn explained(&self, record: Record) -> Result<String, String> {
        let mut entries = self.decided_about(&record.key).await?;
        if !entries.iter().any(|entry| entry.seq == record.seq)
            && let Some(older) = read(&record)
        {
            // It is older than those that are looked at.
            entries.insert(0, older);
        }
        let (until, later) = entries.split_at(entries.partition_point(|entry| entry.seq <= record.seq));
        Ok(audit::explain(until, later, &when))
    }

    /// Returns what names an action whose hash begins so and that was decided about, in the audit or by gates that let it
    /// pass; what is no beginning of any stays as it is.
    ///
    /// # Errors
    /// When it is the beginning of more than one.
    async fn whole_hash(&self, name: &str) -> Result<String, String> {
        if !is_beginning(name) {
            return Ok(name.to_string());
        }
        let name = name.to_ascii_lowercase();
        let records = self.archive.newest(kind::AUDIT, SEARCHED).await?;
        let key = |entry: Entry| {
            let action = entry.decision.action?.to_hex();
            let plan = entry.decision.plan.map(|plan| plan.0);
            action.starts_with(&name).then(|| (action.clone(), plan.unwrap_or(action)))
        };
        let found: Vec<(String, String)> = records.iter().filter_map(read).filter_map(key).collect();
        let turns = self.turns(OF_TRACES).await?;
        let traced = turns.iter().flat_map(|turn| &turn.report.deeds).filter_map(|deed| deed.trace.as_ref());
        let traced = traced.map(|trace| trace.action.to_hex()).filter(|action| action.starts_with(&name));
        only(&name, found.iter().map(|(action, _)| action.clone()).chain(traced))?;
        Ok(found.into_iter().next().map_or(name, |(_, key)| key))
    }

    /// Finds out what was decided last: in the audit, or by gates that let an action of the last turn pass.
    async fn last_decided(&self) -> Result<Last, String> {
        let audit = self.archive.newest(kind::AUDIT, 1).await?.into_iter().next();
        let turn = self.archive.newest(kind::TURN, 1).await?.into_iter().next();
        let audited = |record: Record| Last::Told(record.key);
        let Some(turn) = turn.filter(|turn| audit.as_ref().is_none_or(|audit| audit.seq < turn.seq)) else {
            return Ok(audit.map_or(Last::Nothing, audited));
        };
        let finished = super::record::read_turn(&turn.body);
        let last = finished.as_ref().and_then(|turn| turn.report.deeds.iter().rfind(|deed| deed.trace.is_some()));
        let Some((deed, trace)) = last.and_then(|deed| Some((deed, deed.trace.as_ref()?))) else {
            return Ok(audit.map_or(Last::Nothing, audited));
        };
        if let Some(plan) = &deed.plan {
            return Ok(Last::Told(plan.0.clone()));
        }
        match self.archive.latest(kind::AUDIT, trace.action.to_hex()).await? {
            Some(record) => Ok(audited(record)),
            None => Ok(Last::Passed(let_pass(&deed.summary, &deed.tool, trace))),
        }
    }
}

/// Returns whether a name may be the beginning of an action's hash.
fn is_beginning(name: &str) -> bool {
    (SHORTEST..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Finds out whether all actions whose hashes begin with `name` are one.
///
/// # Errors
/// When there are more.
fn only(name: &str, mut actions: impl Iterator<Item = String>) -> Result<(), String> {
    let first = actions.next();
    match first.is_some_and(|first| actions.any(|other| other != first)) {
        false => Ok(()),
        true => Err(format!("more than one action begins with {name}; give more digits of its hash")),
    }
}

fn when(at: jiff::Timestamp) -> String {
    local(at).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// What was decided last.
enum Last {
    /// The audit has it, under this key.
    Told(String),
    /// Every gate let it pass; in words.
    Passed(String),
    /// There is nothing.
    Nothing,
}

fn let_pass(summary: &str, tool: &str, trace: &Trace) -> String {
    let mut text = format!("Proposed: {summary}, with the tool {tool}.\n");
    for opinion in &trace.opinions {
        if let Some(reason) = opinion.verdict.reason() {
            text.push_str(&format!("The gate {} said {}: {}\n", opinion.gate, opinion.verdict.name(), reason.text));
        }
    }
    let strictest = trace.strictest().map_or(2, |opinion| opinion.verdict.severity());
    if strictest == 0 {
        text.push_str("Every gate let it pass, so nobody was asked.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_read_as_it_was_kept_and_as_the_first_versions_kept_it() {
        let action = ActionHash::new([7; 32]);
        let human = Engine::of_human(Ruling::Confirmed, "a rule".to_string(), "emacs");
        // What it is about may look like the hash of an action.
        let odd = Engine::of_human(Ruling::Confirmed, action.to_hex(), "emacs");
        let of_action = Decision { action: Some(action), tool: "shell".to_string(), ..human.clone() };
        let objections = vec![Objection { gate: "policy".to_string(), verdict: "ask".to_string(), reason: None }];
        let of_plan = Decision { plan: Some(PlanId("P1".to_string())), objections, ..of_action.clone() };
        let bare = Decision { plan: Some(PlanId("P1".to_string())), ..human.clone() };
        for decision in [human, odd, of_action.clone(), of_plan, bare] {
            let (kind, key, body) = kept(&decision);
            let record = Record { seq: 1, at: jiff::Timestamp::UNIX_EPOCH, kind: kind.to_string(), key, body };
            let first = Record { body: whole(&decision), ..record.clone() };
            for record in [record, first] {
                assert_eq!(read(&record).map(|entry| entry.decision), Some(decision.clone()), "{}", record.body);
            }
        }
        assert_eq!(kept(&of_action).2.get("action"), None, "its key says it");
    }

    #[test]
    fn a_beginning_of_more_than_one_action_names_none() {
        let check = |actions: &[&str]| only("ab", actions.iter().map(|action| (*action).to_string()));
        for one in [&[][..], &["ab1"], &["ab1", "ab1", "ab1"]] {
            assert_eq!(check(one), Ok(()), "{one:?}");
        }
        let told = check(&["ab1", "ab1", "ab2"]).expect_err("it says so");
        assert_eq!(told, "more than one action begins with ab; give more digits of its hash");
    }
}
