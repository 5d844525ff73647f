//! What the domain asks of the world. Async traits that name no runtime; a dropped future is a cancel.

use crate::domain::action::{Action, Observation};
use crate::domain::gate::Facts;
use crate::domain::gate::clearance::{Cleared, Rehearsal};
use crate::domain::gate::plan::Tried;
use crate::domain::id::TurnId;
use crate::domain::label::{Labels, Privacy};
use crate::domain::outside::{Outside, Piece};
use crate::domain::scope::Scope;
use crate::domain::signal::Role;
use async_trait::async_trait;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Where a provider runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Locality {
    /// Inside this program: no model, no network.
    Builtin,
    /// On an address of this machine that the user declared to be local.
    Local,
    /// Anywhere else.
    Remote,
}

/// One call of a tool, as a model asked for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The provider's name for this call; ties the answer to it.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub args: Map<String, Value>,
}

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Words of the human or of the model.
    Text {
        /// Who spoke.
        role: Role,
        /// What.
        text: String,
    },
    /// The model asked for tools, perhaps with words.
    Calls {
        /// What it said beside them.
        text: String,
        /// The calls.
        calls: Vec<Call>,
    },
    /// What one call came to.
    Result {
        /// The call.
        call: String,
        /// The tool.
        tool: String,
        /// What it came to.
        text: String,
    },
}

/// One tool as providers are told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does.
    pub summary: String,
    /// JSON schema of its arguments.
    pub schema: Value,
}

/// All that a provider is given: exactly this text leaves the machine, or none.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// The system text: identity, context, logs, mandates.
    pub system: String,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// The tools.
    pub tools: Vec<ToolSpec>,
    /// The strictest label of anything in it.
    pub privacy: Privacy,
    /// What of it came from outside.
    pub outside: Outside,
    /// What the user typed to set this turn off, and nothing else. The built-in provider reads only this.
    pub typed: String,
    /// The wall clock of the user, for words such as “tomorrow”.
    pub now: jiff::civil::DateTime,
}

/// Tokens and money, as a provider reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
}

/// A model's whole answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// Which provider.
    pub provider: String,
    /// Which model.
    pub model: String,
    /// What it said.
    pub text: String,
    /// What it wants done.
    pub calls: Vec<Call>,
    /// The labels of the texts in `calls`: [`Labels::USER`] only from a provider whose calls hold no text but what
    /// the user typed, else [`Labels::MODEL`].
    pub labels: Labels,
    /// What it used, if it said.
    pub usage: Option<Usage>,
    /// Ids of the nodes that an extractive answer drew on; models leave it empty.
    pub sources: Vec<crate::domain::id::NodeId>,
}

/// Why a provider gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderErrorKind {
    /// Nothing came in time.
    Timeout,
    /// It could not be reached, or hung up.
    Unreachable,
    /// It hung up in the middle of an answer.
    Cut,
    /// It refused: wrong key, no right.
    Refused,
    /// Too many requests, or no money left.
    Quota,
    /// What it said could not be read, or was too large.
    Garbled,
}

/// A provider's failure, with words that name it and the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{provider}: {text}")]
pub struct ProviderError {
    /// Which provider.
    pub provider: String,
    /// What kind of failure.
    pub kind: ProviderErrorKind,
    /// What happened and what to do.
    pub text: String,
}

/// Where streamed text goes.
pub type Sink<'a> = &'a mut (dyn FnMut(&str) + Send);

/// A source of completions.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Returns its name, as the cascade spells it.
    fn name(&self) -> &str;
    /// Returns where it runs. There is no default.
    fn locality(&self) -> Locality;
    /// Returns where requests go, for the human who confirms the first one.
    fn url(&self) -> String;
    /// Completes a prompt, streaming text into `sink` as it comes. Dropping the future cancels.
    async fn complete(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion, ProviderError>;
}

/// Finds out what gates need to know. It looks, and changes nothing.
#[async_trait]
pub trait Surveyor: Send + Sync {
    /// Returns what holds of the world for this action now.
    async fn survey(&self, action: &Action, scope: &Scope) -> Facts;
}

/// Carries out what was cleared.
#[async_trait]
pub trait Actuator: Send + Sync {
    /// Performs a cleared action of a turn, once. Refuses when the facts no longer hold.
    /// Failure is an observation, not an error.
    async fn perform(&self, turn: &TurnId, cleared: Cleared) -> Observation;
    /// Tries a command out in a throw-away copy of its project, for at most so many milliseconds, with secrets masked in
    /// what it says; returns how many it took as well. It says why when it does not. Dropping the future ends it.
    async fn rehearse(&self, rehearsal: Rehearsal, most: u64) -> (Tried, u64);
    /// Returns text with the secrets in it masked, as people are shown what a trial said.
    fn masked(&self, text: &str) -> String;
    /// Returns what stands in each of these files; what it says nothing of was not looked at.
    async fn contents(&self, files: &[String]) -> BTreeMap<String, Content>;
}

/// What stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// These bytes, by their name in hexadecimal.
    Bytes(String),
    /// There is no file.
    Nothing,
    /// It could not be looked at.
    Unknown,
}

/// Counts tokens of text, for budgets.
pub trait CountTokens: Send + Sync {
    /// Returns the number of tokens.
    fn count(&self, text: &str) -> usize;
}

/// A model behind a cascade: picks a provider, and is given the prompt that suits where it runs.
#[async_trait]
pub trait Model: Send + Sync {
    /// Completes. `prompt` is asked for the text that a provider of that locality may be sent.
    async fn complete(
        &self,
        prompt: &(dyn Fn(Locality) -> Prompt + Send + Sync),
        sink: Sink<'_>,
    ) -> Result<Answered, ModelFailure>;
}

/// A completion, and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The completion.
    pub completion: Completion,
    /// Where the provider runs: what it may be given next depends on it.
    pub locality: Locality,
    /// The strictest label of what the answer drew on.
    pub privacy: Privacy,
    /// What the built-in provider answered with that came from outside. Of what others were given the turn knows itself.
    pub outside: Vec<Piece>,
}

/// Why no provider completed.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelFailure {
    /// A provider that is not local has never been contacted: a human must see what would be sent.
    Confirm {
        /// Its name.
        provider: String,
        /// Where it is.
        url: String,
        /// Exactly what would be sent.
        prompt: Box<Prompt>,
    },
    /// Every provider failed or was not permitted; one line each.
    Exhausted(Vec<ProviderError>),
}

/// Keeps what must not be lost: the intent of an act before it, its outcome after it, plans while they wait.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Stores that an action is about to be performed. An error forbids the act.
    async fn intent(&self, turn: &crate::domain::id::TurnId, cleared: &Cleared) -> Result<(), String>;
    /// Stores what it came to.
    async fn outcome(&self, turn: &crate::domain::id::TurnId, observation: &Observation) -> Result<(), String>;
    /// Parks an action as a plan and returns it.
    async fn park(
        &self,
        parking: crate::domain::turn::Parking,
    ) -> Result<crate::domain::gate::plan::FlightPlan, String>;
    /// Returns a plan as it stands now.
    fn plan(&self, id: &crate::domain::id::PlanId) -> Option<crate::domain::gate::plan::FlightPlan>;
    /// Parks an action in place of a plan that waits and no longer holds, and returns the new plan.
    /// The conversation is the one that both wait in. Whatever fails, one of the two waits.
    async fn renew(
        &self,
        old: &crate::domain::gate::plan::FlightPlan,
        parking: crate::domain::turn::Parking,
        conversation: &crate::domain::turn::Conversation,
    ) -> Result<crate::domain::gate::plan::FlightPlan, String>;
    /// Stores what became of a plan that a human decided about, as soon as that is known, and what differs between what
    /// it showed and what came; that is empty when nothing does, and for people only.
    async fn settled(
        &self,
        plan: &crate::domain::id::PlanId,
        status: crate::domain::gate::plan::PlanStatus,
        differs: &str,
    ) -> Result<(), String>;
    /// Writes down that gates denied an action. What cannot be written is said; the denial stands.
    async fn refused(
        &self,
        session: &crate::domain::id::SessionId,
        turn: &TurnId,
        action: &Action,
        facts: &Facts,
        trace: &crate::domain::gate::Trace,
    );
    /// Writes a line to the log.
    fn log(&self, level: LogLevel, text: &str);
}

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LogLevel {
    /// What happened.
    Info,
    /// What went wrong and was dealt with.
    Warning,
    /// What failed.
    Error,
}

impl LogLevel {
    /// Returns `info`, `warning` or `error`.
    pub fn name(self) -> &'static str {
        match self {
            LogLevel::Info => "info",
            LogLevel::Warning => "warning",
            LogLevel::Error => "error",
        }
    }
}
