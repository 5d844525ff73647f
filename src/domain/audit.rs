//! The audit: what was decided about actions and rules, by whom or by what, told in plain words.
//!
//! An entry names action and facts by their hashes. Of what is private or holds a secret it has the tool and the place,
//! and which gates spoke, but none of the text.

use crate::domain::gate::{Trace, Verdict};
use crate::domain::id::{ActionHash, FactsHash, PlanId, SessionId, TurnId};
use crate::domain::policy::learned::Seen;

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ruling {
    /// Gates asked, and a flight plan waits.
    Asked,
    /// It was done without asking: every gate let it pass, or a rule answered what gates asked. Of what only reads, the
    /// trace of its turn says so.
    Passed,
    /// A human said yes.
    Approved,
    /// A human said no, or the turn that wanted it was stopped.
    Denied,
    /// What a plan rests on changed, so it was not carried out.
    Stale,
    /// Nobody decided in time.
    Expired,
    /// Another plan stands in its place.
    Replaced,
    /// Gates denied.
    Refused,
    /// A human confirmed what loosens: a rule, a line of a note or of the settings, a provider.
    Confirmed,
    /// A human took such a confirmation back.
    Revoked,
}

impl Ruling {
    /// Every ruling.
    pub const ALL: [Ruling; 10] = [
        Ruling::Asked,
        Ruling::Passed,
        Ruling::Approved,
        Ruling::Denied,
        Ruling::Stale,
        Ruling::Expired,
        Ruling::Replaced,
        Ruling::Refused,
        Ruling::Confirmed,
        Ruling::Revoked,
    ];

    /// Returns the word for the store, the wire and people.
    pub const fn name(self) -> &'static str {
        match self {
            Ruling::Asked => "asked",
            Ruling::Passed => "passed",
            Ruling::Approved => "approved",
            Ruling::Denied => "denied",
            Ruling::Stale => "stale",
            Ruling::Expired => "expired",
            Ruling::Replaced => "replaced",
            Ruling::Refused => "refused",
            Ruling::Confirmed => "confirmed",
            Ruling::Revoked => "revoked",
        }
    }

    /// Finds a ruling by its word, exactly.
    pub fn parse(name: &str) -> Option<Ruling> {
        Ruling::ALL.into_iter().find(|ruling| ruling.name() == name)
    }
}

/// Who decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decider {
    /// A human, by this channel.
    Human(String),
    /// A rule that a human had confirmed, by its name.
    Rule(String),
    /// The gates, by what the user set: a level, an allowed host.
    Setting(String),
    /// The gates.
    Gates,
    /// Nobody: what happened instead, in words.
    Nobody(String),
}

impl Decider {
    /// Returns who it was, in words.
    pub fn words(&self) -> String {
        match self {
            Decider::Human(channel) => format!("you, in {channel}"),
            Decider::Rule(name) => format!("the rule {name}"),
            Decider::Setting(what) => format!("the gates, by {what} that you set"),
            Decider::Gates => "the gates".to_string(),
            Decider::Nobody(why) => format!("nobody: {why}"),
        }
    }
}

/// What one gate objected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// The gate.
    pub gate: String,
    /// `ask` or `deny`.
    pub verdict: String,
    /// Why; `None` where the words may hold what is private or secret.
    pub reason: Option<String>,
}

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What was decided.
    pub ruling: Ruling,
    /// Who decided.
    pub decider: Decider,
    /// The tool; empty for what is about a rule.
    pub tool: String,
    /// What it is about, as the log may name it.
    pub about: String,
    /// The action.
    pub action: Option<ActionHash>,
    /// The facts on which it was judged.
    pub facts: Option<FactsHash>,
    /// The gates that asked or denied.
    pub objections: Vec<Objection>,
    /// What a rule could be learned from; `None` where none may answer it.
    pub seen: Option<Seen>,
    /// The plan.
    pub plan: Option<PlanId>,
    /// The turn.
    pub turn: Option<TurnId>,
    /// The conversation.
    pub session: Option<SessionId>,
}

/// A decision, with its place among the records and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The place of the record.
    pub seq: u64,
    /// When.
    pub at: jiff::Timestamp,
    /// What.
    pub decision: Decision,
}

/// Returns the objections of a trace. Where their words must not be kept, those of our own tables are kept all the same:
/// they say nothing of a note.
pub fn objections(trace: &Trace, words: bool, mask: &dyn Fn(&str) -> String) -> Vec<Objection> {
    let objecting = trace.opinions.iter().filter_map(|opinion| {
        let reason = match &opinion.verdict {
            Verdict::Pass(_) => return None,
            Verdict::Ask(reason) | Verdict::Deny(reason) => (words || reason.ours).then(|| mask(&reason.text)),
        };
        Some(Objection { gate: opinion.gate.clone(), verdict: opinion.verdict.name().to_string(), reason })
    });
    objecting.collect()
}

impl Decision {
    /// Returns the decision in one line.
    pub fn line(&self) -> String {
        let plan = self.plan.as_ref().map(|plan| format!("{plan} ")).unwrap_or_default();
        format!("{:<9}  {plan}{} ({})", self.ruling.name(), self.about, self.decider.words())
    }

    /// Explains the decision in plain words: what was proposed, which gate said what, who decided, and by which rule.
    pub fn explain(&self) -> String {
        let mut text = match self.tool.is_empty() {
            true => format!("It is about {}.\n", self.about),
            false => format!("Proposed: {}, with the tool {}.\n", self.about, self.tool),
        };
        for objection in &self.objections {
            let said = if objection.verdict == "deny" { "denied" } else { "asked" };
            match &objection.reason {
                Some(reason) => text.push_str(&format!("The gate {} {said}: {}\n", objection.gate, reason.trim_end())),
                None => text.push_str(&format!(
                    "The gate {} {said}; its words are not kept, as this is private or holds a secret.\n",
                    objection.gate
                )),
            }
        }
        text.push_str(&match (self.ruling, &self.decider) {
            (Ruling::Asked, _) => "No gate denied it, so it waits for you as a flight plan.\n".to_string(),
            (Ruling::Passed, Decider::Rule(name)) => {
                format!("The rule {name} answered what was asked, so it was done without asking you.\n")
            }
            (Ruling::Passed, Decider::Setting(what)) => {
                format!("You set {what}, and every gate let it pass, so nobody was asked.\n")
            }
            (Ruling::Passed, Decider::Gates) => "Every gate let it pass, so nobody was asked.\n".to_string(),
            (Ruling::Refused, _) => "A denial stands: nothing was done, and no approval changes that.\n".to_string(),
            (Ruling::Stale, Decider::Nobody(why)) | (Ruling::Expired, Decider::Nobody(why)) => {
                format!("Nothing was done: {why}.\n")
            }
            (ruling, decider) => {
                let word = ruling.name();
                let mut chars = word.chars();
                let first = chars.next().map(|c| c.to_ascii_uppercase()).unwrap_or_default();
                format!("{first}{} by {}.\n", chars.as_str(), decider.words())
            }
        });
        text
    }
}

/// Explains what became of one plan or action: its decisions, oldest first; and lists what was decided of it `later`.
pub fn explain(entries: &[Entry], later: &[Entry], when: &dyn Fn(jiff::Timestamp) -> String) -> String {
    let Some((last, before)) = entries.split_last() else { return String::new() };
    let mut text = last.decision.explain();
    for (title, others) in [("What was decided before:\n", before), ("What was decided later:\n", later)] {
        if !others.is_empty() {
            text.push_str(title);
        }
        for entry in others {
            let Decision { ruling, decider, .. } = &entry.decision;
            text.push_str(&format!("- {} {} by {}\n", when(entry.at), ruling.name(), decider.words()));
        }
    }
    let Decision { action, facts, .. } = &last.decision;
    let short = |hex: String| hex.chars().take(16).collect::<String>();
    text.push_str(&format!("Decided at {}", when(last.at)));
    if let Some(action) = action {
        text.push_str(&format!(", on action {}", short(action.to_hex())));
    }
    if let Some(facts) = facts {
        text.push_str(&format!(" and facts {}", short(facts.to_hex())));
    }
    text.push_str(&format!("; record {}.\n", last.seq));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::gate::{Opinion, Reason};

    fn decision(ruling: Ruling, decider: Decider) -> Decision {
        let objection = |gate: &str, verdict: &str, reason: Option<&str>| Objection {
            gate: gate.to_string(),
            verdict: verdict.to_string(),
            reason: reason.map(str::to_string),
        };
        Decision {
            ruling,
            decider,
            tool: "write-file".to_string(),
            about: "Write plan.txt".to_string(),
            action: Some(ActionHash::new([1; 32])),
            facts: Some(FactsHash::new([2; 32])),
            objections: vec![
                objection("permissions", "ask", Some("By default write-file asks first.")),
                objection("dispatcher", "ask", None),
            ],
            seen: None,
            plan: Some(PlanId("P1".to_string())),
            turn: None,
            session: None,
        }
    }

    #[test]
    fn words_for_people() {
        let entry =
            |seq, ruling, decider| Entry { seq, at: jiff::Timestamp::UNIX_EPOCH, decision: decision(ruling, decider) };
        let entries =
            [entry(7, Ruling::Asked, Decider::Gates), entry(9, Ruling::Approved, Decider::Human("Emacs".to_string()))];
        insta::assert_snapshot!(explain(&entries, &[], &|at| at.to_string()), @r"
        Proposed: Write plan.txt, with the tool write-file.
        The gate permissions asked: By default write-file asks first.
        The gate dispatcher asked; its words are not kept, as this is private or holds a secret.
        Approved by you, in Emacs.
        What was decided before:
        - 1970-01-01T00:00:00Z asked by the gates
        Decided at 1970-01-01T00:00:00Z, on action 0101010101010101 and facts 0202020202020202; record 9.
        ");
        insta::assert_snapshot!(entries[1].decision.line(), @"approved   P1 Write plan.txt (you, in Emacs)");
        assert_eq!(explain(&[], &[], &|at| at.to_string()), "");
        insta::assert_snapshot!(explain(&entries[..1], &entries[1..], &|at| at.to_string()), @r"
        Proposed: Write plan.txt, with the tool write-file.
        The gate permissions asked: By default write-file asks first.
        The gate dispatcher asked; its words are not kept, as this is private or holds a secret.
        No gate denied it, so it waits for you as a flight plan.
        What was decided later:
        - 1970-01-01T00:00:00Z approved by you, in Emacs
        Decided at 1970-01-01T00:00:00Z, on action 0101010101010101 and facts 0202020202020202; record 7.
        ");
    }

    #[test]
    fn rulings_have_one_word_each() {
        for ruling in Ruling::ALL {
            assert_eq!(Ruling::parse(ruling.name()), Some(ruling));
        }
        assert_eq!(Ruling::parse("allowed"), None);
    }

    #[test]
    fn what_passes_is_no_objection_and_words_stay_out_where_they_must() {
        let opinion = |gate: &str, verdict| Opinion { gate: gate.to_string(), priority: 1, verdict };
        let trace = Trace {
            action: ActionHash::new([1; 32]),
            opinions: vec![
                opinion("a", Verdict::Pass(Some(Reason::new("fine")))),
                opinion("b", Verdict::Ask(Reason::new("the key 123"))),
                opinion("c", Verdict::Deny(Reason::new("no"))),
                opinion("d", Verdict::Ask(Reason::new("By default it asks first.").in_our_words())),
            ],
        };
        let mask = |text: &str| text.replace("123", "***");
        let told = |words| objections(&trace, words, &mask).into_iter().map(|o| (o.gate, o.verdict, o.reason));
        let all: Vec<_> = told(true).collect();
        assert_eq!(all[0], ("b".to_string(), "ask".to_string(), Some("the key ***".to_string())));
        assert_eq!(all.len(), 3);
        let bare: Vec<_> = told(false).map(|(gate, _, reason)| (gate, reason)).collect();
        let none = |gate: &str| (gate.to_string(), None);
        let ours = ("d".to_string(), Some("By default it asks first.".to_string()));
        assert_eq!(bare, [none("b"), none("c"), ours], "the words of our own tables are nobody's secret");
    }
}
