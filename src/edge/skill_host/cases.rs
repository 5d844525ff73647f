//! What the Lisp of skills is told, and how its answers are read: nothing of them is evaluated, and what is none is an error.

use crate::domain::action::Action;
use crate::domain::gate::Facts;
use crate::domain::gate::facts::Answer;
use crate::domain::inert;
use crate::domain::label::{Privacy, Trust};
use crate::domain::port::Call;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::skill::lisp::GateExample;
use crate::domain::tool::{Kind, Tool, Toolbox};
use crate::domain::turn::error::{Fault, Resolution};
use crate::domain::turn::proposal;
use serde_json::{Map, Value};

/// Longest reason that a gate gives, in characters; the rest is left out.
const MAX_REASON: usize = 2_000;
/// Longest text for a model, or in place of its answer, in bytes.
const MAX_TEXT: usize = 32 * 1024;

/// What set a turn off, as the Lisp of skills sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Occasion {
    /// The sensor's name.
    pub sensor: String,
    /// What was typed, or what the signal says; secrets are masked.
    pub text: String,
    /// Tags of the heading in focus, own and inherited.
    pub tags: Vec<String>,
    /// Its keyword.
    pub todo: Option<String>,
    /// Its file.
    pub file: Option<String>,
    /// Its id and title; of one that is private or from outside nothing is told.
    pub heading: Option<(String, String)>,
    /// The user's clock, such as `2026-11-23 20:10`.
    pub time: String,
}

impl Occasion {
    /// Returns it as a property list.
    pub fn plist(&self) -> Plist {
        Plist::new()
            .text("sensor", self.sensor.as_str())
            .text("text", self.text.as_str())
            .texts("tags", self.tags.iter().map(String::as_str))
            .maybe("todo", self.todo.as_deref())
            .maybe("file", self.file.as_deref())
            .maybe("id", self.heading.as_ref().map(|(id, _)| id.as_str()))
            .maybe("title", self.heading.as_ref().map(|(_, title)| title.as_str()))
            .text("time", self.time.as_str())
    }
}

/// Returns a case as a gate sees it: what would be done, and the places that were found.
pub(super) fn of_act(action: &Action, facts: &Facts) -> Sexp {
    let paths = facts.paths.iter().map(|path| {
        Plist::new()
            .text("argument", path.arg.as_str())
            .text("asked", path.asked.as_str())
            .text("resolved", path.resolved.as_str())
            .build()
    });
    proposed(action)
        .list("paths", paths)
        .list("files", facts.edits.iter().map(|edit| Sexp::text(edit.file.as_str())))
        .texts(
            "open-children",
            facts.left_open.iter().map(ToString::to_string).collect::<Vec<_>>().iter().map(String::as_str),
        )
        .value("privacy", Sexp::symbol(facts.strictest().max(action.labels().privacy).word()))
        .flag("untrusted", action.labels().trust == Trust::Untrusted)
        .build()
}

/// Returns an example as a gate sees it.
pub(super) fn of_example(example: &GateExample) -> Sexp {
    let toolbox = Toolbox::builtin();
    let class = toolbox.get(&example.tool).map_or("custom", |tool| tool.effect.class().name());
    let (name, value) = &example.argument;
    Plist::new()
        .text("tool", example.tool.as_str())
        .value("class", Sexp::symbol(class))
        .plist("arguments", Plist::new().text(name, value.as_str()))
        .text("explanation", "An example.")
        .value("privacy", Sexp::symbol(Privacy::Open.word()))
        .build()
}

/// Returns a proposal as whoever may rewrite it sees it: nothing was found out about it yet.
pub fn of_proposal(action: &Action) -> Sexp {
    proposed(action)
        .value("privacy", Sexp::symbol(action.labels().privacy.word()))
        .flag("untrusted", action.labels().trust == Trust::Untrusted)
        .build()
}

fn proposed(action: &Action) -> Plist {
    let arguments =
        action.args().iter().fold(Plist::new(), |list, (name, value)| list.value(name, Sexp::of_json(value)));
    let tool = Toolbox::builtin();
    let class = tool.get(action.tool()).map_or("custom", |tool| tool.effect.class().name());
    Plist::new()
        .text("tool", action.tool())
        .value("class", Sexp::symbol(class))
        .plist("arguments", arguments)
        .text("explanation", action.explanation().as_str())
}

/// Returns a fault as whoever says what ends it sees it: its kind, and what the log may hold of it.
pub fn of_fault(fault: &Fault, mask: impl Fn(&str) -> String) -> Sexp {
    let kind = match fault {
        Fault::Pipeline(_) => "pipeline",
        Fault::Model { .. } => "model",
        Fault::Gate { .. } => "gate",
        Fault::Budget { .. } => "budget",
        Fault::Protocol { .. } => "protocol",
    };
    Plist::new().value("kind", Sexp::symbol(kind)).text("text", mask(&fault.logged())).build()
}

/// Reads what a gate said: `pass`, `(ask "why")` or `(deny "why")`.
pub(super) fn verdict(value: &Sexp) -> Result<Answer, String> {
    let wrong = || wrong(value, "pass, (ask \"why\") and (deny \"why\")");
    if is_symbol(value, "pass") {
        return Ok(Answer::Pass);
    }
    let (word, why) = word_and_text(value).ok_or_else(wrong)?;
    let why = cut(why, MAX_REASON);
    match word {
        "ask" => Ok(Answer::Ask(why)),
        "deny" => Ok(Answer::Deny(why)),
        _ => Err(wrong()),
    }
}

/// Reads what a trigger said: anything but `nil` is a yes.
///
/// # Errors
/// Never.
pub fn yes(value: &Sexp) -> Result<bool, String> {
    Ok(!matches!(value, Sexp::Nil))
}

/// Reads what a model is to be told: a text, or `nil` for nothing.
///
/// # Errors
/// When it is neither, or too long.
pub fn told(value: &Sexp) -> Result<Option<String>, String> {
    match (value, value.as_text()) {
        (Sexp::Nil, _) => Ok(None),
        (_, Some(text)) => short(text).map(|text| Some(text.to_string()).filter(|text| !text.trim().is_empty())),
        (_, None) => Err(wrong(value, "a text and nil")),
    }
}

/// What is answered in place of a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// Words, and nothing is done.
    Words(String),
    /// What is proposed, with words beside it, perhaps none.
    Proposal(String, Vec<Call>),
}

/// Reads what is answered in place of a model: a text, property lists of what is proposed (as a model writes them), or `nil`
/// for nothing.
///
/// # Errors
/// When it is none of them, or too long; also of a text that would be read as a proposal.
pub fn answer(value: &Sexp) -> Result<Option<Said>, String> {
    let forms = match (value, value.as_text()) {
        (Sexp::Nil, _) => return Ok(None),
        (_, Some(text)) if proposal::written(text).is_some() => {
            return Err("its text begins as a proposal does; answer with the property list itself".to_string());
        }
        (_, Some(_)) => return Ok(told(value)?.map(Said::Words)),
        // One property list, or a list of some.
        (_, None) if is_plist(value) => vec![value],
        (_, None) => value.items().iter().collect(),
    };
    let expected = "a text, property lists of proposals, and nil";
    if forms.is_empty() || !forms.iter().all(|form| is_plist(form)) {
        return Err(wrong(value, expected));
    }
    let text = forms.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    match proposal::written(short(&text)?) {
        Some(Ok((words, calls))) => Ok(Some(Said::Proposal(words, calls))),
        Some(Err(why)) => Err(format!("what it proposes cannot be read: {}", inert::exact(&cut(&why, 300)))),
        None => Err(wrong(value, expected)),
    }
}

/// A proposal as a skill wants it instead.
#[derive(Clone, Debug, PartialEq)]
pub struct Rewritten {
    /// All its arguments.
    pub args: Map<String, Value>,
    /// Why, in other words; `None` where the model's stay.
    pub explanation: Option<String>,
}

/// Reads how a proposal is rewritten: `nil` for not at all, or `(:arguments (:name value …) :explanation "why")`, the
/// second of which may be absent.
///
/// # Errors
/// When it is neither, or an argument cannot be of that tool.
pub fn rewritten(value: &Sexp, tool: &Tool) -> Result<Option<Rewritten>, String> {
    if matches!(value, Sexp::Nil) {
        return Ok(None);
    }
    let expected = "nil and (:arguments (…) :explanation \"why\")";
    let items = value.items();
    let known = |key: &Sexp| matches!(key.as_name(), Some("arguments" | "explanation")) && key.as_text().is_none();
    if items.is_empty() || !items.len().is_multiple_of(2) || !items.iter().step_by(2).all(known) {
        return Err(wrong(value, expected));
    }
    let Some(pairs) = value.get("arguments").map(Sexp::items).filter(|pairs| pairs.len().is_multiple_of(2)) else {
        return Err(wrong(value, expected));
    };
    let mut args = Map::new();
    for pair in pairs.chunks_exact(2) {
        let [key, given] = pair else { continue };
        let name = key.as_name().ok_or_else(|| wrong(value, expected))?;
        let kind = tool.params.iter().find(|param| param.name == name).map(|param| param.kind);
        let given = json(given, kind).map_err(|()| format!("its argument “{}” cannot be read", cut(name, 40)))?;
        if args.insert(name.to_string(), given).is_some() {
            return Err(format!("its argument “{}” is given twice", cut(name, 40)));
        }
    }
    let explanation = match value.get("explanation") {
        None => None,
        Some(text) => Some(short(text.as_text().ok_or_else(|| wrong(value, expected))?)?.to_string()),
    };
    Ok(Some(Rewritten { args, explanation }))
}

/// Reads what ends a fault: `skip`, `abort`, `(fallback "text")`, or `nil` where the skill has nothing to say of it.
///
/// # Errors
/// When it is none of them, or too long.
pub fn resolution(value: &Sexp) -> Result<Option<Resolution>, String> {
    match (value, word_and_text(value)) {
        (Sexp::Nil, _) => Ok(None),
        _ if is_symbol(value, "skip") => Ok(Some(Resolution::Skip)),
        _ if is_symbol(value, "abort") => Ok(Some(Resolution::Abort)),
        (_, Some(("fallback", text))) => Ok(Some(Resolution::Fallback(short(text)?.to_string()))),
        (_, Some(_) | None) => Err(wrong(value, "skip, abort, (fallback \"text\") and nil")),
    }
}

/// Returns a value of Lisp as an argument of that kind. `nil` is what that kind has for nothing.
fn json(value: &Sexp, kind: Option<Kind>) -> Result<Value, ()> {
    Ok(match (kind, value) {
        (Some(Kind::Flag), Sexp::Nil) => Value::Bool(false),
        (Some(Kind::Texts { .. }), Sexp::Nil) => Value::Array(Vec::new()),
        (Some(Kind::Text | Kind::OneOf(_) | Kind::Number { .. }) | None, Sexp::Nil) => Value::Null,
        (Some(Kind::Flag), Sexp::T) => Value::Bool(true),
        _ => match (value.as_text(), value.as_int(), value.items()) {
            (Some(text), _, _) => Value::String(text.to_string()),
            (None, Some(number), _) => Value::from(number),
            (None, None, []) => return Err(()),
            (None, None, items) => {
                let texts = items.iter().map(|item| item.as_text().map(Value::from).ok_or(()));
                Value::Array(texts.collect::<Result<Vec<Value>, ()>>()?)
            }
        },
    })
}

fn is_plist(value: &Sexp) -> bool {
    matches!(value.items().first(), Some(Sexp::Keyword(_)))
}

fn is_symbol(value: &Sexp, name: &str) -> bool {
    value.as_name() == Some(name) && value.as_text().is_none()
}

/// Returns the word and the text of a list of both.
fn word_and_text(value: &Sexp) -> Option<(&str, &str)> {
    match value.items() {
        [word, text] => Some((word.as_name()?, text.as_text()?)),
        _ => None,
    }
}

fn short(text: &str) -> Result<&str, String> {
    match text.len() {
        0..=MAX_TEXT => Ok(text),
        more => Err(format!("it answered with {more} bytes of text; {MAX_TEXT} are the most")),
    }
}

fn wrong(value: &Sexp, expected: &str) -> String {
    let said = inert::exact(&cut(&value.to_string(), 80));
    format!("it answered {said}, which is none of {expected}")
}

/// Returns the beginning of a text.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_string(),
    }
}
