//! Flight plans: parked actions that wait for a human, and the approvals that release them.

use crate::domain::action::Action;
use crate::domain::gate::badge::Badge;
use crate::domain::gate::{Trace, Verdict, page};
use crate::domain::hash::ContentHasher;
use crate::domain::id::{ActionHash, FactsHash, PlanId, SessionId, TurnId};
use crate::domain::label::Privacy;
use crate::domain::signal::{Origin, Source};
use crate::domain::tool::approved_in_emacs_alone;

/// What has become of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanStatus {
    /// It waits.
    Pending,
    /// A human said yes; it has not been carried out yet.
    Approved,
    /// A human said no, with a reason that may be empty.
    Denied(String),
    /// It was carried out.
    Done(String),
    /// It was tried and failed.
    Failed(String),
    /// The world changed since it was shown.
    Stale(String),
    /// Nobody answered in time.
    Expired,
    /// It was replaced by an edited one.
    Replaced(PlanId),
}

impl PlanStatus {
    /// Whether it was approved and carried out.
    pub fn is_done(&self) -> bool {
        matches!(self, PlanStatus::Done(_))
    }

    /// Returns the word for the wire, the store and people.
    pub fn name(&self) -> &'static str {
        match self {
            PlanStatus::Pending => "pending",
            PlanStatus::Approved => "approved",
            PlanStatus::Denied(_) => "denied",
            PlanStatus::Done(_) => "done",
            PlanStatus::Failed(_) => "failed",
            PlanStatus::Stale(_) => "stale",
            PlanStatus::Expired => "expired",
            PlanStatus::Replaced(_) => "replaced",
        }
    }
}

/// A parked action.
#[derive(Clone, Debug, PartialEq)]
pub struct FlightPlan {
    /// Its name.
    pub id: PlanId,
    /// What it would do, in one line; see [`crate::domain::gate::title`].
    pub title: String,
    /// The exact action.
    pub action: Action,
    /// Names what was found out when it was judged.
    pub facts: FactsHash,
    /// What would happen, as it is shown: rendered from action and facts, never read back.
    pub body: String,
    /// The diff of edits, as it is shown; empty when nothing is edited.
    pub diff: String,
    /// What the gates said.
    pub trace: Trace,
    /// The conversation that it belongs to.
    pub session: SessionId,
    /// The turn that it belongs to.
    pub turn: TurnId,
    /// The model's name for the call, so that the outcome can be tied to it.
    pub call: String,
    /// When it was parked.
    pub created: jiff::Timestamp,
    /// When it can no longer be approved.
    pub expires: jiff::Timestamp,
    /// What has become of it.
    pub status: PlanStatus,
    /// What is kept beside that.
    pub about: About,
}

/// What is kept of a plan beside what it would do. Records of the first versions have none of it.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// Whether what it does can be taken back.
    pub badge: Badge,
    /// Which step of its decision it is, from 0: plans of one turn are steps of one decision.
    pub step: u32,
    /// What it rests on beside what it shows, line by line: for saying what differs when it is stale.
    pub basis: String,
    /// What differs between what it showed and what came: for people, never for a model.
    pub differs: String,
    /// What came of trying a command out: for people, never for a model.
    pub tried: Option<Tried>,
    /// How private the most private of its facts and of its conversation was when it was made. Of a plan of which nobody
    /// noted it, that is the strictest.
    pub privacy: Privacy,
    /// The files that it is about, by their whole names, in order.
    pub files: Vec<String>,
    /// By which channel it was decided about, in words; empty as long as it was not, or nobody noted it.
    pub decided_by: String,
}

/// What came of trying a command out in a throw-away copy of its project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Whether it was tried.
    pub ran: bool,
    /// All of it as it is shown; when it was not tried, why not.
    pub text: String,
    /// How it ended and what it said, as [`Tried::heard`] keeps it.
    pub said: String,
    /// The files of the project that it would change, each with the name of its bytes after that; `None` when it would
    /// be gone.
    pub files: Vec<(String, Option<String>)>,
}

/// So many characters of what a command said are kept and compared.
const HEARD: usize = 16_000;

impl Tried {
    /// Returns as much of what a command said as is kept of a trial, and compared with what came.
    pub fn heard(said: &str) -> String {
        match said.char_indices().nth(HEARD) {
            None => said.to_string(),
            Some((at, _)) => format!("{}…", said.get(..at).unwrap_or("")),
        }
    }

    /// Returns that a command was not tried, and why.
    pub fn not(why: &str) -> Tried {
        let text = format!("Not predicted: {}.\n", why.trim_end_matches('.'));
        Tried { ran: false, text, said: String::new(), files: Vec::new() }
    }
}

impl Default for About {
    fn default() -> About {
        About {
            badge: Badge::Irreversible,
            step: 0,
            basis: String::new(),
            differs: String::new(),
            tried: None,
            privacy: Privacy::Private,
            files: Vec::new(),
            decided_by: String::new(),
        }
    }
}

impl FlightPlan {
    /// Returns the name of what a human was shown: the action, the facts, and all of their rendering.
    pub fn shown(&self) -> String {
        let mut hasher = ContentHasher::new("plan");
        hasher.text(&self.id.0).bytes(self.action.hash().as_bytes()).bytes(self.facts.as_bytes());
        hasher.text(&self.title);
        for (_, text) in page::parts(self) {
            hasher.text(&text);
        }
        blake3::Hash::from_bytes(hasher.finish()).to_hex().to_string()
    }

    /// Returns the gates that asked, with their reasons.
    pub fn asks(&self) -> Vec<(String, String)> {
        asks(&self.trace)
    }
}

/// Returns the gates of a trace that asked, with their reasons.
pub(crate) fn asks(trace: &Trace) -> Vec<(String, String)> {
    trace
        .opinions
        .iter()
        .filter_map(|opinion| match &opinion.verdict {
            Verdict::Ask(reason) => Some((opinion.gate.clone(), reason.text.clone())),
            Verdict::Pass(_) | Verdict::Deny(_) => None,
        })
        .collect()
}

/// A human's yes to exactly one plan. It is consumed by the clearance that it makes.
#[derive(Debug)]
pub struct Approval {
    pub(super) action: ActionHash,
    pub(super) facts: FactsHash,
    pub(super) asks: Vec<(String, String)>,
}

/// Why an approval did not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The channel is not a human's own.
    #[error("this channel may not approve; approve in Emacs, or in a terminal that the agent did not start")]
    NoRight,
    /// It loosens, and the channel is not Emacs.
    #[error("plan {0} would let more happen without asking you; approve it in Emacs")]
    EmacsOnly(PlanId),
    /// It draws on what stays on this machine, and the channel is a messenger.
    #[error("plan {0} draws on private notes; decide about it in Emacs")]
    Kept(PlanId),
    /// What was shown is not what is parked.
    #[error("plan {0} has changed since it was shown; look at it again")]
    NotShown(PlanId),
    /// It is no longer waiting.
    #[error("plan {0} no longer waits: it is {1}")]
    NotPending(PlanId, &'static str),
    /// It waited too long.
    #[error("plan {0} has expired; ask again")]
    Expired(PlanId),
}

impl Approval {
    /// Makes an approval of a pending plan from a human's own channel, at a time before it expires,
    /// when `shown` is the hash of exactly what is parked.
    pub fn new(plan: &FlightPlan, shown: &str, origin: &Origin, at: jiff::Timestamp) -> Result<Approval, Refused> {
        if !origin.rights.approve {
            return Err(Refused::NoRight);
        }
        if approved_in_emacs_alone(plan.action.tool()) && origin.source != Source::Emacs {
            return Err(Refused::EmacsOnly(plan.id.clone()));
        }
        if origin.source == Source::Gateway && plan.about.privacy.is_kept() {
            return Err(Refused::Kept(plan.id.clone()));
        }
        if plan.status != PlanStatus::Pending {
            return Err(Refused::NotPending(plan.id.clone(), plan.status.name()));
        }
        if at >= plan.expires {
            return Err(Refused::Expired(plan.id.clone()));
        }
        if shown != plan.shown() {
            return Err(Refused::NotShown(plan.id.clone()));
        }
        Ok(Approval { action: plan.action.hash(), facts: plan.facts, asks: plan.asks() })
    }
}
