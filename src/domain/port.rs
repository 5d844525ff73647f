//! What the domain asks of the world. Async traits that name no runtime; a dropped future is a cancel.

use crate::domain::action::{Action, Observation};
use crate::domain::embed::{Batch, Vector};
use crate::domain::gate::Facts;
use crate::domain::gate::clearance::{Cleared, Rehearsal};
use crate::domain::gate::facts::Answer;
use crate::domain::gate::plan::Tried;
use crate::domain::id::{NodeId, TurnId};
use crate::domain::label::{Labels, Privacy};
use crate::domain::outside::{Outside, Piece};
use crate::domain::picture::Picture;
use crate::domain::scope::Scope;
use crate::domain::signal::Role;
use crate::domain::turn::Act;
use crate::domain::turn::error::{Fault, Resolution};
use async_trait::async_trait;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

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
        /// What it thought before them: its provider may want it back with the results, and nobody else is given it.
        thinking: Thinking,
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
    /// A picture that goes along with the human's next words. It belongs to their turn, and to no later one.
    Picture(Picture),
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
    /// The system text: first what stays the same from turn to turn, then what changes.
    pub system: String,
    /// How many bytes of `system`, from its beginning, do not change from turn to turn; 0 when that is not known.
    /// Providers that take marks for their caches are told of it.
    pub stable: usize,
    /// What people call the parts of `system`, each with where it ends; empty when that is not known.
    pub parts: Vec<(&'static str, usize)>,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// The tools.
    pub tools: Vec<ToolSpec>,
    /// The strictest label of anything in it.
    pub privacy: Privacy,
    /// What of it came from outside.
    pub outside: Outside,
    /// The headings of memory that stand in it: in what is told of memory, and in what tools read in this turn.
    pub nodes: BTreeSet<NodeId>,
    /// What the heading at point takes of it, where one is told of.
    pub at_point: Option<AtPoint>,
    /// Of what is told of memory in it, the headings that are private in any way though it is for a model elsewhere, with
    /// their titles.
    pub marked: Vec<(NodeId, String)>,
    /// What the user typed to set this turn off, and nothing else. The built-in provider reads only this.
    pub typed: String,
    /// How private the notes may be that the built-in provider answers from, which reads memory itself.
    pub may_see: Privacy,
    /// The wall clock of the user, for words such as “tomorrow”.
    pub now: jiff::civil::DateTime,
    /// What all share who are asked for the same answer, to tell them from others; 0 where nobody is asked yet. It is sent to
    /// nobody.
    pub asking: u64,
    /// So many tokens, as we count them, it was found to have room for, whoever may be asked; 0 when that is not known.
    pub room: usize,
}

impl Prompt {
    /// Returns the pictures in it.
    pub fn pictures(&self) -> impl Iterator<Item = &Picture> {
        pictures(&self.messages)
    }
}

/// Returns the pictures among messages.
pub fn pictures(messages: &[Message]) -> impl Iterator<Item = &Picture> {
    messages.iter().filter_map(|message| match message {
        Message::Picture(picture) => Some(picture),
        Message::Text { .. } | Message::Calls { .. } | Message::Result { .. } => None,
    })
}

/// What the heading at point takes with all that is below it. It is told as it stands, or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtPoint {
    /// Its tokens, as we count them; at least so many where it is not told.
    pub tokens: usize,
    /// Whether it is told; else it alone takes more than a prompt holds, and nothing may be asked without it.
    pub told: bool,
}

/// Tokens, as a provider reported them; 0 is what it did not report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt, those from a cache included.
    pub input: u64,
    /// Tokens of the answer, those of thoughts included.
    pub output: u64,
    /// Tokens of the prompt that came from the provider's cache.
    pub cached: u64,
    /// Tokens of the answer that were thoughts.
    pub thinking: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.input, other.input);
        add(&mut self.output, other.output);
        add(&mut self.cached, other.cached);
        add(&mut self.thinking, other.thinking);
    }
}

/// What a model thought: never an answer, and never a proposal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thinking {
    /// Who thought: its provider says which words it takes back. Nobody else is given them.
    pub by: String,
    /// The thoughts, in the order in which they came.
    pub thoughts: Vec<Thought>,
}

/// A part of what a model thought.
#[derive(Clone, Debug, PartialEq)]
pub enum Thought {
    /// Words. A signature proves to the provider that they are its own; one without words stands for what it hides.
    Words {
        /// What was thought, as far as it was shown.
        text: String,
        /// The provider's signature, if it signs.
        signature: Option<String>,
    },
    /// What only its provider can read, as it came.
    Sealed(Value),
    /// The signature of a call.
    OfCall {
        /// The call.
        call: String,
        /// The provider's signature.
        signature: String,
    },
}

impl Thinking {
    /// Returns the words of all thoughts that were shown.
    pub fn text(&self) -> String {
        let words = self.thoughts.iter().filter_map(|thought| match thought {
            Thought::Words { text, .. } => Some(text.as_str()),
            Thought::Sealed(_) | Thought::OfCall { .. } => None,
        });
        words.collect()
    }
}

/// How an answer came to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ended {
    /// The model had said all of it.
    #[default]
    Whole,
    /// A limit of tokens was reached: more was to come.
    Limit,
    /// The provider's content filter stopped it: more was to come.
    Filtered,
}

impl Ended {
    /// Returns the word for the wire; `None` of one that is whole.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Ended::Whole => None,
            Ended::Limit => Some("limit"),
            Ended::Filtered => Some("filtered"),
        }
    }

    /// Says to people that an answer of that provider is not whole; `None` of one that is.
    pub fn told(self, provider: &str) -> Option<String> {
        match self {
            Ended::Whole => None,
            Ended::Limit => Some(format!(
                "The answer ends here because the limit of tokens of {provider} was reached; say “go on” for the rest."
            )),
            Ended::Filtered => {
                Some(format!("The answer ends here because the content filter of {provider} stopped it."))
            }
        }
    }
}

/// A model's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// Which provider.
    pub provider: String,
    /// Which model.
    pub model: String,
    /// What it said, without what it thought.
    pub text: String,
    /// How it came to its end.
    pub ended: Ended,
    /// What it thought before it said that.
    pub thinking: Thinking,
    /// What it wants done.
    pub calls: Vec<Call>,
    /// Of these, the ids of calls whose arguments cannot be read, each with why, in words for the model.
    pub unreadable: Vec<(String, String)>,
    /// The labels of the texts in `calls`: [`Labels::USER`] only from a provider whose calls hold no text but what
    /// the user typed, else [`Labels::MODEL`].
    pub labels: Labels,
    /// What it used, if it said.
    pub usage: Option<Usage>,
    /// How often it was asked for this answer; at least 1.
    pub attempts: u32,
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
    /// The status that it answered with, if it did.
    pub status: Option<u16>,
    /// How often it was asked for this answer; 0 when it was not.
    pub attempts: u32,
    /// The cause in the words of the server or the system, as far as they may be told.
    pub cause: Option<String>,
    /// Whether the provider may charge for it.
    pub charge: Charge,
}

/// Whether a provider may charge for a call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Charge {
    /// Nothing was sent, or what was sent was refused as a whole.
    Nothing,
    /// The model may have begun: nobody here knows how far it came.
    Perhaps,
}

impl ProviderError {
    /// Returns a failure without an answer, before anything was sent.
    pub fn new(provider: impl Into<String>, kind: ProviderErrorKind, text: impl Into<String>) -> Self {
        let (provider, text, charge) = (provider.into(), text.into(), Charge::Nothing);
        ProviderError { provider, kind, text, status: None, attempts: 0, cause: None, charge }
    }
}

/// A piece of what a model says while it says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streamed<'a> {
    /// Words of the answer.
    Text(&'a str),
    /// Words that it thinks.
    Thought(&'a str),
    /// How an act stands by now. A turn tells it; no provider does.
    Act(&'a Act),
}

impl<'a> Streamed<'a> {
    /// Returns the words if they are of the answer, else none.
    pub fn text(self) -> &'a str {
        match self {
            Streamed::Text(text) => text,
            Streamed::Thought(_) | Streamed::Act(_) => "",
        }
    }

    /// Tells whether there is nothing in it.
    pub fn is_empty(self) -> bool {
        match self {
            Streamed::Text(words) | Streamed::Thought(words) => words.is_empty(),
            Streamed::Act(_) => false,
        }
    }
}

/// Where what is streamed goes.
pub type Sink<'a> = &'a mut (dyn FnMut(Streamed<'_>) + Send);

/// What is known of a source of completions without asking it.
pub trait Profile: Send + Sync {
    /// Returns its name, as the cascade spells it.
    fn name(&self) -> &str;
    /// Returns the model that it asks, as the settings name it; empty when it is made of none.
    fn model(&self) -> &str {
        ""
    }
    /// Returns where it runs. There is no default.
    fn locality(&self) -> Locality;
    /// Returns where requests go, for the human who confirms the first one.
    fn url(&self) -> String;
    /// Returns whether its model takes pictures; `None` where nobody says that it does, and then it is given none.
    fn takes_pictures(&self) -> Option<bool> {
        None
    }
    /// Returns how many tokens it is told to answer with at most, thoughts included; `None` where it is told nothing.
    fn most_tokens(&self) -> Option<u64> {
        None
    }
    /// Says to people what stands in for a model, where none is asked and that is not plain from its name.
    fn stands_in(&self) -> Option<String> {
        None
    }
    /// Says why it can answer nothing any more until the program is started anew, with the way out. Who cannot is asked for
    /// nothing, and has not failed.
    fn over(&self) -> Option<String> {
        None
    }
}

/// A source of completions.
#[async_trait]
pub trait Provider: Profile {
    /// Completes a prompt, streaming into `sink` what the model says and thinks as it comes. Dropping the future cancels.
    async fn complete(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion, ProviderError>;
}

/// Makes vectors of texts.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Returns what its vectors are kept under: backend and model. Under another name there are other vectors.
    fn name(&self) -> &str;
    /// Returns where it runs. There is no default.
    fn locality(&self) -> Locality;
    /// Returns where requests go, for the human who confirms the first one; empty inside this program.
    fn url(&self) -> String;
    /// Returns how many numbers a vector has; `None` until the first one came.
    fn dimension(&self) -> Option<usize>;
    /// Makes one vector of each text, in order, all of one dimension. Dropping the future cancels.
    async fn embed(&self, batch: &Batch) -> Result<Vec<Vector>, EmbedError>;
}

/// Why an embedder made no vectors, with words that name it and the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct EmbedError {
    /// What kind of failure.
    pub kind: EmbedErrorKind,
    /// What happened and what to do.
    pub text: String,
    /// After how long it wants to be asked again, if it said so.
    pub after: Option<std::time::Duration>,
}

impl EmbedError {
    /// Returns an error about the texts that were given.
    pub fn texts(text: impl Into<String>) -> EmbedError {
        EmbedError { kind: EmbedErrorKind::Texts, text: text.into(), after: None }
    }
}

/// What a failure of an embedder means for what comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbedErrorKind {
    /// It is away, busy, or broken: it is tried again later.
    Away,
    /// It refuses whoever asks: the key, the right, the model. It is tried again later, as settings may be mended there.
    Refused,
    /// It does not take these texts, or what it made of them is no vectors: others may do.
    Texts,
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

    /// Returns the number of tokens if there are no more than `most`; whoever can stops counting beyond that.
    fn count_within(&self, text: &str, most: usize) -> Option<usize> {
        Some(self.count(text)).filter(|tokens| *tokens <= most)
    }
}

/// Finds nodes by what they mean: their vectors are compared, and what has none is not found. It may be slow to answer
/// for a text that it must make a vector of first; whoever makes one sees to it that no private text leaves for that.
pub trait Nearness: Send + Sync + std::fmt::Debug {
    /// Returns at most `most` nodes near a text, with the cosine of the angle between, −1 to 1; best first. Nothing when
    /// there is no vector to be had now.
    fn near_text(&self, text: &str, most: usize) -> Vec<(NodeId, f32)>;

    /// Returns at most `most` other nodes near a node, in the same way.
    fn near_node(&self, id: &NodeId, most: usize) -> Vec<(NodeId, f32)>;
}

/// Knows which words stand in notes that a reader may not see.
pub trait Quotes: Send + Sync + std::fmt::Debug {
    /// Returns whether such words stand in a text. It takes time linear in the text.
    fn quotes(&self, text: &str) -> bool;
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

    /// Says whether several models answer apart from one another, and which; `None` where one is asked, or several for one
    /// step. Nothing is sent for that.
    ///
    /// # Errors
    /// Whom a human must confirm before any is sent something.
    async fn apart<'a>(
        &'a self,
        _prompt: &(dyn Fn(Locality) -> Prompt + Send + Sync),
    ) -> Result<Option<Apart<'a>>, ModelFailure> {
        Ok(None)
    }

    /// Returns the request that the provider of this name would be sent for a prompt now, byte for byte: where it goes, its
    /// headers without keys and, after an empty line, its body. Nobody is sent anything.
    ///
    /// # Errors
    /// In words, when it cannot be made.
    async fn exactly(&self, provider: &str, prompt: &Prompt) -> Result<String, String>;
}

/// Several models that answer apart from one another.
pub struct Apart<'a> {
    /// Each of them.
    pub branches: Vec<Branch<'a>>,
    /// Makes of how all of them failed whoever is asked then.
    pub rest: Box<dyn FnOnce(Vec<ProviderError>) -> Box<dyn Model + 'a> + Send + 'a>,
}

/// One of several models that answer apart from one another.
pub struct Branch<'a> {
    /// Its provider.
    pub provider: String,
    /// The model, as the settings name it.
    pub model: String,
    /// Asks it, and nobody else.
    pub asked: Box<dyn Model + 'a>,
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

/// Asks the gates that skills wrote in Lisp, each where it can touch nothing.
#[async_trait]
pub trait SkillHost: Send + Sync {
    /// Returns the names of the gates that there are now.
    fn gates(&self) -> Vec<String>;

    /// Returns what a gate says of an action and of what was found out about it.
    ///
    /// # Errors
    /// Why there is no answer, in words. Who asks waits no longer than it wants to, whatever happens here.
    async fn answer(&self, gate: &str, action: &Action, facts: &Facts) -> Result<Answer, String>;
}

/// The skill that is at work in a turn, as far as it has a say in it. One without a say leaves all as it is.
#[async_trait]
pub trait AtWork: Send + Sync {
    /// Returns what a model proposed, rewritten by [`Action::refined`] or as it was, before it is judged.
    ///
    /// # Errors
    /// Why nobody knows what it should be, in words for the model: then it is refused.
    async fn refine(&self, action: Action, _outside: &Outside) -> Result<Action, String> {
        Ok(action)
    }

    /// Says what ends a fault.
    async fn resolve(&self, _fault: &Fault) -> Resolution {
        Resolution::Abort
    }
}

/// Nobody is at work: nothing is rewritten, and a fault aborts the turn.
pub struct Nobody;

impl AtWork for Nobody {}
