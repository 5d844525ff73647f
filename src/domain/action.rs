//! What is wanted: actions, read from an untrusted proposal.

use crate::domain::hash::ContentHasher;
use crate::domain::id::{ActionHash, NodeId};
use crate::domain::label::{Labels, Provenance, Trust};
use crate::domain::outside::{Led, Outside, Piece};
use crate::domain::tool::{Kind, Param, Tool, Toolbox, server};
use serde_json::{Map, Value};

/// Returns every text in an argument, at any depth, the names of fields included.
pub fn texts(value: &Value) -> Vec<&str> {
    let (mut found, mut stack) = (Vec::new(), vec![value]);
    while let Some(value) = stack.pop() {
        match value {
            Value::String(text) => found.push(text.as_str()),
            Value::Array(items) => stack.extend(items),
            Value::Object(map) => {
                for (key, value) in map {
                    found.push(key);
                    stack.push(value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found
}

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
    led: Led,
    /// Names the declaration of a tool of the user's own that it was made for; `None` for a builtin tool.
    definition: Option<[u8; 32]>,
    refined: Option<Box<Refined>>,
}

/// What a model proposed before a skill rewrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct Refined {
    /// The skill.
    pub by: String,
    /// The arguments as they were proposed.
    pub args: Map<String, Value>,
    /// Why it was proposed, in the model's words.
    pub explanation: String,
}

/// A tool's name and, for one of the user's own, the name of its declaration, as a store kept them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptTool {
    /// The tool's name.
    pub name: String,
    /// Names the declaration.
    pub definition: [u8; 32],
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
        let found = toolbox.get(tool).ok_or_else(|| no_such_tool(tool, &toolbox.names()))?;
        let inner = args.remove("explanation");
        let words = explanation.or_else(|| inner.as_ref().and_then(Value::as_str)).unwrap_or("");
        let explanation = Explanation::new(words).ok_or_else(|| {
            Malformed(format!("{tool}: every action needs an “explanation”: one sentence for the user that says why."))
        })?;
        check_args(found, &args)?;
        // Untrusted labels without a source are from somewhere.
        let led = if labels.trust == Trust::Untrusted { Led::unknown() } else { Led::default() };
        let (definition, refined) = (toolbox.definition(found.name), None);
        let (target, tool) = (found.target, found.name.to_string());
        Ok(Action { target, tool, args, explanation, labels, led, definition, refined })
    }

    /// Builds again what was proposed for a tool of the user's own, as a store kept it. The arguments were checked when
    /// it was proposed. Whether the tool is still declared so is found out before it is judged.
    ///
    /// # Errors
    /// When the explanation is empty.
    pub fn kept(
        tool: KeptTool,
        args: Map<String, Value>,
        explanation: &str,
        labels: Labels,
    ) -> Result<Action, Malformed> {
        let KeptTool { name, definition } = tool;
        let explanation = Explanation::new(explanation)
            .ok_or_else(|| Malformed(format!("{name}: what was kept of it has no explanation")))?;
        let led = if labels.trust == Trust::Untrusted { Led::unknown() } else { Led::default() };
        let definition = Some(definition);
        let (target, refined) = (server::target(&name), None);
        Ok(Action { target, tool: name, args, explanation, labels, led, definition, refined })
    }

    /// Builds what a model proposed in a conversation, with what text from outside may have led to it.
    ///
    /// # Errors
    /// As [`Action::new`].
    pub fn proposed(
        toolbox: &Toolbox,
        tool: &str,
        args: Map<String, Value>,
        labels: Labels,
        outside: &Outside,
    ) -> Result<Action, Malformed> {
        let action = Action::new(toolbox, tool, args, None, labels)?;
        let mut led = outside.led(&action.args);
        // What servers say of their tools stands in every prompt; it counts where an action repeats it.
        let described = match labels.provenance {
            Provenance::User => None,
            Provenance::Note
            | Provenance::File
            | Provenance::Tool
            | Provenance::Model
            | Provenance::Gateway
            | Provenance::Agent
            | Provenance::Web => toolbox.described().led(&action.args).said,
        };
        let Some(said) = described else {
            return Ok(if led.sources.is_empty() { action } else { action.led_by(led) });
        };
        led.sources.push(said.source.clone());
        led.said = led.said.or(Some(said));
        let labels = Labels { trust: Trust::Untrusted, ..labels };
        Ok(Action { labels, ..action }.led_by(led))
    }

    /// Returns the action with other arguments, and perhaps another reason, as a skill rewrote it. The tool and the labels
    /// stay, and so does what was proposed; of text from outside in its conversation it is found out anew what the arguments
    /// repeat.
    ///
    /// # Errors
    /// As [`Action::new`].
    pub fn refined(
        self,
        toolbox: &Toolbox,
        (by, outside): (&str, &Outside),
        args: Map<String, Value>,
        explanation: Option<&str>,
    ) -> Result<Action, Malformed> {
        let why = explanation.unwrap_or(self.explanation.as_str());
        let action = Action::new(toolbox, &self.tool, args, Some(why), self.labels)?;
        let mut led = self.led;
        led.said = outside.led(&action.args).said.or(led.said);
        let refined = self.refined.unwrap_or_else(|| {
            let (args, explanation) = (self.args, self.explanation.0);
            Box::new(Refined { by: by.to_string(), args, explanation })
        });
        Ok(Action { led, refined: Some(refined), ..action })
    }

    /// Returns the action with what was proposed before a skill rewrote it, as it was kept.
    pub fn refined_from(self, refined: Option<Refined>) -> Action {
        Action { refined: refined.map(Box::new), ..self }
    }

    /// Returns the action as it was proposed, for people to compare.
    pub fn proposed_as(&self) -> Action {
        match self.refinement() {
            None => self.clone(),
            Some(Refined { args, explanation, .. }) => {
                let explanation = Explanation(explanation.clone());
                Action { args: args.clone(), explanation, refined: None, ..self.clone() }
            }
        }
    }

    /// Returns what was proposed, when a skill rewrote it.
    pub fn refinement(&self) -> Option<&Refined> {
        self.refined.as_deref()
    }

    /// Returns the action with what leads it, as it was kept; one that is led from outside stays so.
    pub fn led_by(self, led: Led) -> Action {
        match (self.labels.trust, led.sources.is_empty()) {
            (Trust::Untrusted, true) | (Trust::Kept | Trust::Own, _) => self,
            (Trust::Untrusted, false) => Action { led, ..self },
        }
    }

    /// Returns where it is carried out.
    pub fn target(&self) -> Target {
        self.target
    }

    /// Returns the tool's name.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the name of the declaration that it was made for, of a tool of the user's own.
    pub fn definition(&self) -> Option<[u8; 32]> {
        self.definition
    }

    /// Returns the arguments.
    pub fn args(&self) -> &Map<String, Value> {
        &self.args
    }

    /// Returns an argument that is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.args.get(name).and_then(Value::as_str)
    }

    /// Returns the texts of an argument that is a list of them, in order; none where it is no list.
    pub fn list(&self, name: &str) -> Vec<&str> {
        let items = self.args().get(name).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Returns why.
    pub fn explanation(&self) -> &Explanation {
        &self.explanation
    }

    /// Returns the labels of what led to it.
    pub fn labels(&self) -> Labels {
        self.labels
    }

    /// Returns what text from outside may have led to it; `None` when none was in its conversation.
    pub fn led(&self) -> Option<&Led> {
        (self.labels.trust == Trust::Untrusted).then_some(&self.led)
    }

    /// Returns the name of exactly this action.
    pub fn hash(&self) -> ActionHash {
        let mut hasher = ContentHasher::new("action");
        hasher.text(self.target.name()).text(&self.tool).text(self.explanation.as_str());
        hasher.json_map(&self.args);
        if let Some(definition) = &self.definition {
            hasher.text("declared").bytes(definition);
        }
        if let Some(Refined { by, args, explanation }) = self.refinement() {
            hasher.text("refined").text(by).text(explanation);
            hasher.json_map(args);
        }
        ActionHash::new(hasher.finish())
    }
}

/// Returns what is said of a tool that there is not, with the nearest of those that there are.
pub(crate) fn no_such_tool(tool: &str, names: &[&str]) -> Malformed {
    let meant = nearest(tool, names.iter().copied()).map(|name| format!(" Did you mean “{name}”?")).unwrap_or_default();
    Malformed(format!("There is no tool “{}”.{meant} The tools are: {}.", clip(tool), names.join(", ")))
}

fn check_args(tool: &Tool, args: &Map<String, Value>) -> Result<(), Malformed> {
    let is_known = |key: &&String| tool.params.iter().any(|param| param.name == key.as_str());
    // First what it may have been meant for: of a name that is misspelt, two errors would be said else.
    if let Some(unknown) = args.keys().find(|key| !is_known(key)) {
        let names: Vec<&str> = tool.params.iter().map(|param| param.name).collect();
        let meant = match nearest(unknown, names.iter().copied()) {
            Some(name) => format!(" Did you mean “{name}”?"),
            None => String::new(),
        };
        let list = if names.is_empty() { "none".to_string() } else { names.join(", ") };
        return Err(Malformed(format!(
            "{}: there is no argument “{}”.{meant} The arguments are: {list}, and “explanation”.",
            tool.name,
            clip(unknown)
        )));
    }
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
                    "{}: the argument “{}” must be {}, not {}.{}",
                    tool.name,
                    param.name,
                    param.kind.phrase(),
                    said(param.kind, value),
                    meant(param, value)
                )));
            }
        }
    }
    Ok(())
}

/// Returns the word of a closed list that a value may have been meant for.
fn meant(param: &Param, value: &Value) -> String {
    let Kind::OneOf(words) = param.kind else { return String::new() };
    let near = value.as_str().and_then(|text| nearest(text, words.iter().copied()));
    near.map(|word| format!(" Did you mean “{word}”?")).unwrap_or_default()
}

fn fits(param: &Param, value: &Value) -> bool {
    match param.kind {
        Kind::Text => value.is_string(),
        Kind::OneOf(words) => value.as_str().is_some_and(|text| words.contains(&text)),
        Kind::Number { least, most } => value.as_i64().is_some_and(|number| (least..=most).contains(&number)),
        Kind::Flag => value.is_boolean(),
        Kind::Texts { most } => {
            value.as_array().is_some_and(|items| items.len() <= most && items.iter().all(Value::is_string))
        }
    }
}

/// Returns a value as an error names it: short ones as they are, others by their type.
fn said(kind: Kind, value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() && text.chars().count() <= 40 => format!("“{}”", clip(text)),
        Value::Number(number) if matches!(kind, Kind::Number { .. }) => number.to_string(),
        Value::Array(items) if items.iter().all(Value::is_string) => format!("a list of {}", items.len()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            kind_of(value).to_string()
        }
    }
}

/// Returns the name that a misspelt one was probably meant for: the nearest one by the letters that would have to
/// change, when it is near.
pub(crate) fn nearest<'a>(misspelt: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let misspelt: String = misspelt.chars().take(60).collect::<String>().to_lowercase().replace('_', "-");
    let distances = names.map(|name| (distance(&misspelt, &name.to_lowercase()), name));
    let (letters, name) = distances.min_by_key(|(letters, _)| *letters)?;
    (letters <= misspelt.chars().count().max(3) / 3).then_some(name)
}

/// Returns how many letters have to be put in, left out or changed to make one word of another.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(60).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut left = i + 1;
        let mut corner = i;
        for (j, other) in b.iter().enumerate() {
            let above = row.get(j + 1).copied().unwrap_or(usize::MAX - 1);
            let changed = corner + usize::from(letter != *other);
            corner = above;
            let best = changed.min(above + 1).min(left + 1);
            if let Some(cell) = row.get_mut(j) {
                *cell = left;
            }
            left = best;
        }
        if let Some(cell) = row.last_mut() {
            *cell = left;
        }
    }
    row.last().copied().unwrap_or(usize::MAX)
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
    /// What of that text came from outside, with its sources. Where the labels say untrusted and nothing stands here,
    /// all of it did.
    pub outside: Vec<Piece>,
    /// Headings of memory that stand in that text, and files of notes that it is of.
    pub nodes: Vec<NodeId>,
    /// Files that were changed, absolute.
    pub changed: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tool::Toolbox;
    use serde_json::json;

    fn refused(tool: &str, args: Value) -> String {
        let args = args.as_object().cloned().expect("an object");
        match Action::new(&Toolbox::builtin(), tool, args, Some("To test it."), Labels::MODEL) {
            Ok(_) => "taken".to_string(),
            Err(Malformed(words)) => words,
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_the_way_out() {
        for (tool, args, said) in [
            ("read-flie", json!({}), "Did you mean “read-file”? The tools are: memory-search"),
            ("Read_File", json!({}), "Did you mean “read-file”?"),
            ("frobnicate", json!({}), "There is no tool “frobnicate”. The tools are:"),
            ("read-file", json!({"pth": "a"}), "no argument “pth”. Did you mean “path”? The arguments are: path"),
            ("read-file", json!({}), "the argument “path” is missing (the file)"),
            ("read-file", json!({"path": 7}), "“path” must be text, not a number."),
            ("memory-search", json!({"query": "a", "limit": 0}), "“limit” must be a whole number from 1 to 50, not 0."),
            ("memory-search", json!({"query": "a", "limit": 1.5}), "from 1 to 50, not 1.5."),
            ("memory-search", json!({"query": "a", "limit": u64::MAX}), "from 1 to 50, not 18446744073709551615."),
            (
                "org-schedule",
                json!({"id": "a", "kind": "deadlin"}),
                "“kind” must be one of: scheduled, deadline, not “deadlin”. Did you mean “deadline”?",
            ),
            (
                "org-add-heading",
                json!({"title": "a", "tags": vec!["a"; 65]}),
                "“tags” must be a list of at most 64 texts, not a list of 65.",
            ),
            ("org-add-heading", json!({"title": "a", "tags": [1]}), "a list of at most 64 texts, not a list."),
            ("memory-search", json!({"query": "a", "limit": 50}), "taken"),
        ] {
            let words = refused(tool, args);
            assert!(words.contains(said), "{words}");
        }
    }

    #[test]
    fn letters_that_differ_are_counted() {
        for (a, b, letters) in [("", "", 0), ("a", "", 1), ("", "ab", 2), ("kitten", "sitting", 3), ("abc", "abc", 0)] {
            assert_eq!(distance(a, b), letters, "{a} {b}");
        }
    }
}
