//! What is wanted: actions, read from an untrusted proposal.

use crate::domain::hash::ContentHasher;
use crate::domain::id::ActionHash;
use crate::domain::label::Labels;
use crate::domain::tool::{Param, Tool, Toolbox};
use serde_json::{Map, Value};

/// Where an action is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// The user's Emacs.
    Emacs,
    /// The command line.
    Cli,
    /// A tool of ours.
    Tool,
    /// The core itself.
    System,
    /// A confined process.
    Shell,
}

impl Target {
    /// Returns the name used on the wire and in traces.
    pub fn name(self) -> &'static str {
        match self {
            Target::Emacs => "emacs",
            Target::Cli => "cli",
            Target::Tool => "tool",
            Target::System => "system",
            Target::Shell => "shell",
        }
    }
}

/// Why an action is wanted, in words. Never empty: an action without one cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation(String);

impl Explanation {
    /// Wraps words; `None` when nothing but white space is there.
    pub fn new(text: &str) -> Option<Explanation> {
        let text = text.trim();
        (!text.is_empty()).then(|| Explanation(text.to_string()))
    }

    /// Returns the words.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Target, verb, arguments and a non-empty explanation.
///
/// The fields are private to the value's meaning: an action is made once and never rewritten,
/// so that its hash names what was judged and shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    target: Target,
    tool: String,
    args: Map<String, Value>,
    explanation: Explanation,
    labels: Labels,
}

/// What an unknown tool, a missing argument or a wrong type is told. It goes back to the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub String);

impl Action {
    /// Builds an action on a known tool from arguments of the right types.
    ///
    /// An unknown tool, a missing or unknown argument, a wrong type, or an empty explanation
    /// is [`Malformed`], with words that a model can act on.
    pub fn new(
        toolbox: &Toolbox,
        tool: &str,
        mut args: Map<String, Value>,
        explanation: Option<&str>,
        labels: Labels,
    ) -> Result<Action, Malformed> {
        let found = toolbox.get(tool).ok_or_else(|| {
            Malformed(format!("There is no tool “{}”. The tools are: {}.", clip(tool), toolbox.names().join(", ")))
        })?;
        let inner = args.remove("explanation");
        let words = explanation.or_else(|| inner.as_ref().and_then(Value::as_str)).unwrap_or("");
        let explanation = Explanation::new(words).ok_or_else(|| {
            Malformed(format!("{tool}: every action needs an “explanation”: one sentence for the user that says why."))
        })?;
        check_args(found, &args)?;
        Ok(Action { target: found.target, tool: found.name.to_string(), args, explanation, labels })
    }

    /// Returns where it is carried out.
    pub fn target(&self) -> Target {
        self.target
    }

    /// Returns the tool's name.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the arguments.
    pub fn args(&self) -> &Map<String, Value> {
        &self.args
    }

    /// Returns an argument that is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.args.get(name).and_then(Value::as_str)
    }

    /// Returns why.
    pub fn explanation(&self) -> &Explanation {
        &self.explanation
    }

    /// Returns the labels of what led to it.
    pub fn labels(&self) -> Labels {
        self.labels
    }

    /// Returns the name of exactly this action.
    pub fn hash(&self) -> ActionHash {
        let mut hasher = ContentHasher::new("action");
        hasher.text(self.target.name()).text(&self.tool).text(self.explanation.as_str());
        hasher.json(&Value::Object(self.args.clone()));
        ActionHash::new(hasher.finish())
    }
}

fn check_args(tool: &Tool, args: &Map<String, Value>) -> Result<(), Malformed> {
    for param in tool.params {
        match args.get(param.name) {
            None | Some(Value::Null) if param.required => {
                return Err(Malformed(format!(
                    "{}: the argument “{}” is missing ({}).",
                    tool.name, param.name, param.summary
                )));
            }
            None | Some(Value::Null) => {}
            Some(value) if fits(param, value) => {}
            Some(value) => {
                return Err(Malformed(format!(
                    "{}: the argument “{}” must be {}, not {}.",
                    tool.name,
                    param.name,
                    param.kind.phrase(),
                    kind_of(value)
                )));
            }
        }
    }
    if let Some(unknown) = args.keys().find(|key| !tool.params.iter().any(|param| param.name == key.as_str())) {
        return Err(Malformed(format!("{}: there is no argument “{}”.", tool.name, clip(unknown))));
    }
    Ok(())
}

fn fits(param: &Param, value: &Value) -> bool {
    use crate::domain::tool::Kind;
    match param.kind {
        Kind::Text => value.is_string(),
        Kind::Number => value.is_i64() || value.is_u64(),
        Kind::Flag => value.is_boolean(),
        Kind::Texts => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

pub(crate) fn clip(text: &str) -> String {
    text.chars().take(60).filter(|c| !c.is_control()).collect()
}

/// What carrying out an action came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It was done; what there is to say.
    Done(String),
    /// It failed; why. Nothing else was changed.
    Failed(String),
    /// The world changed since it was judged; nothing was done.
    Stale(String),
    /// The user stopped it.
    Cancelled(String),
}

/// What was observed when an action was carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The action.
    pub action: ActionHash,
    /// What it came to.
    pub outcome: Outcome,
    /// Labels of the outcome's text.
    pub labels: Labels,
    /// Files that were changed, absolute.
    pub changed: Vec<String>,
}
