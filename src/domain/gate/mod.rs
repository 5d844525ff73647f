//! Deterministic checks: a case goes in, a verdict and its reason come out.
//!
//! A gate never rewrites the action and never touches the world. All gates run on every action;
//! the strictest verdict wins; order decides display only.

pub mod archivist;
pub mod badge;
pub mod brought;
pub mod clearance;
pub mod closing;
pub mod differ;
pub mod disclosure;
pub mod dispatcher;
pub mod facts;
pub mod lisp;
pub mod live;
pub mod orchestrator;
pub mod page;
pub mod permissions;
pub mod place;
pub mod plan;
pub mod policy;
pub mod reach;
pub mod rule;
pub mod secret;
pub mod shell;
pub mod show;
pub mod standard;
pub mod title;
pub mod unruled;
pub mod validator;
pub mod vault;

pub use facts::Facts;

use crate::domain::action::Action;
use crate::domain::id::ActionHash;
use crate::domain::policy::learned::{self, Learned};
use crate::domain::scope::Scope;
use crate::domain::signal::Sensor;
use crate::domain::tool::Tool;
use std::sync::Arc;

/// Why, and what to do instead. Shown to the user and to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Why.
    pub text: String,
    /// What would be allowed instead, when there is something.
    pub instead: Option<String>,
    /// Whether the words are those of our own tables alone: then nothing of a note, of a secret or of a model's text is
    /// in them, whatever the action is about.
    pub ours: bool,
}

impl Reason {
    /// Makes a reason without an alternative.
    pub fn new(text: impl Into<String>) -> Reason {
        Reason { text: text.into(), instead: None, ours: false }
    }

    /// Makes a reason with an alternative.
    pub fn instead(text: impl Into<String>, instead: impl Into<String>) -> Reason {
        Reason { text: text.into(), instead: Some(instead.into()), ours: false }
    }

    /// Returns the reason as one whose words are those of our own tables alone.
    pub fn in_our_words(self) -> Reason {
        Reason { ours: true, ..self }
    }
}

/// What a gate says. The order is by severity: `max` of two is the strictest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing against it; perhaps a remark.
    Pass(Option<Reason>),
    /// A human must see it first.
    Ask(Reason),
    /// It must not happen. No approval changes that.
    Deny(Reason),
}

impl Verdict {
    /// Returns a pass without a remark.
    pub const fn pass() -> Verdict {
        Verdict::Pass(None)
    }

    /// Returns 0 for pass, 1 for ask, 2 for deny.
    pub fn severity(&self) -> u8 {
        match self {
            Verdict::Pass(_) => 0,
            Verdict::Ask(_) => 1,
            Verdict::Deny(_) => 2,
        }
    }

    /// Returns `pass`, `ask` or `deny`.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Pass(_) => "pass",
            Verdict::Ask(_) => "ask",
            Verdict::Deny(_) => "deny",
        }
    }

    /// Returns the reason, if there is one.
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Verdict::Pass(reason) => reason.as_ref(),
            Verdict::Ask(reason) | Verdict::Deny(reason) => Some(reason),
        }
    }

    /// Returns the stricter of two; the first when they are alike.
    pub fn stricter(self, other: Verdict) -> Verdict {
        if other.severity() > self.severity() { other } else { self }
    }
}

/// What a gate judges.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The action.
    pub action: &'a Action,
    /// The tool it calls.
    pub tool: &'a Tool,
    /// What the turn may see and touch.
    pub scope: &'a Scope,
    /// What the edge found out.
    pub facts: &'a Facts,
    /// What set off the chain in which it is proposed; the turn knows that, and no text can claim it.
    pub set_off: Sensor,
}

/// A deterministic check.
pub trait Gate: Send + Sync {
    /// Returns its name, as traces show it.
    fn name(&self) -> &str;
    /// Returns its priority: higher stands earlier in the trace.
    fn priority(&self) -> u16;
    /// Judges a case. Pure.
    fn judge(&self, case: &Case<'_>) -> Verdict;
}

/// One gate's verdict in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opinion {
    /// The gate.
    pub gate: String,
    /// Its priority.
    pub priority: u16,
    /// What it said.
    pub verdict: Verdict,
}

/// Every gate's verdict on an action, by priority. No timings: they are not facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The action.
    pub action: ActionHash,
    /// The opinions, highest priority first.
    pub opinions: Vec<Opinion>,
}

impl Trace {
    /// Returns the strictest opinion; `None` when no gate spoke.
    pub fn strictest(&self) -> Option<&Opinion> {
        self.opinions.iter().reduce(|a, b| if b.verdict.severity() > a.verdict.severity() { b } else { a })
    }
}

/// The gates of a session, by priority. Without the mandatory ones nothing is cleared.
#[derive(Clone)]
pub struct Gates {
    gates: Vec<Arc<dyn Gate>>,
    mandatory: &'static [&'static str],
    /// Rules that the user confirmed: they answer what they may answer, and are no gates.
    learned: Arc<[Learned]>,
}

impl Gates {
    /// Orders gates by priority, highest first; gates of one priority by name.
    pub fn new(gates: Vec<Box<dyn Gate>>) -> Gates {
        Gates::ordered(gates.into_iter().map(Arc::from).collect(), standard::MANDATORY)
    }

    /// Returns gates of which none is mandatory, for tests of how verdicts are combined. An empty stack still denies.
    #[doc(hidden)]
    pub fn for_tests(gates: Vec<Box<dyn Gate>>) -> Gates {
        Gates::ordered(gates.into_iter().map(Arc::from).collect(), &[])
    }

    fn ordered(mut gates: Vec<Arc<dyn Gate>>, mandatory: &'static [&'static str]) -> Gates {
        gates.sort_by(|a, b| b.priority().cmp(&a.priority()).then_with(|| a.name().cmp(b.name())));
        Gates { gates, mandatory, learned: Arc::from([]) }
    }

    /// Returns these gates and one more.
    pub fn and(self, gate: Box<dyn Gate>) -> Gates {
        let learned = self.learned;
        let gates = Gates::ordered(self.gates.into_iter().chain([Arc::from(gate)]).collect(), self.mandatory);
        Gates { learned, ..gates }
    }

    /// Returns these gates, beside rules that the user confirmed and that hold now.
    pub fn with_rules(self, learned: Vec<Learned>) -> Gates {
        Gates { learned: learned.into(), ..self }
    }

    /// Returns the name of the rule that answers all that was asked of a case, if one does.
    pub(super) fn answered_by(&self, case: &Case<'_>, trace: &Trace) -> Option<String> {
        let rule = self.learned.iter().find(|rule| rule.answers(case, trace)).map(Learned::id);
        let in_advance = || {
            let allowed = case.facts.mandate.allow.get(case.tool.name);
            allowed.filter(|_| learned::answerable(case, trace) && !learned::reaches_guarded(case))
        };
        rule.or_else(|| in_advance().cloned())
    }

    /// Returns the gates.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Gate> {
        self.gates.iter().map(|gate| gate.as_ref())
    }

    /// Returns the names of the mandatory gates that are not there.
    pub fn missing(&self) -> impl Iterator<Item = &'static str> {
        self.mandatory.iter().copied().filter(|name| !self.iter().any(|gate| gate.name() == *name))
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }
}
