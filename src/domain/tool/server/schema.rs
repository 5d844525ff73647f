//! What is made of the JSON Schema of one argument: one of our own types where it fits, and JSON in a text where none does.

use crate::domain::inert::exact;
use crate::domain::tool::own::{Argument, Type};
use serde_json::Value;

/// How a value goes to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As it is.
    AsItIs,
    /// It was written as JSON, in a text.
    Json,
}

/// The longest description of an argument that is told, in characters.
const LONGEST: usize = 300;
/// The longest schema that is told, in characters.
const SCHEMA: usize = 400;
/// How many words an argument may be one of, and how long one may be, in bytes.
const WORDS: (usize, usize) = (64, 100);
/// How many texts a list may hold where the server says nothing.
const TEXTS: u64 = 1_000;
/// The whole numbers that every reader of JSON keeps exactly.
const WHOLE: i64 = (1 << 53) - 1;
/// The longest name of an argument.
const NAME: usize = 40;
/// The argument that every call has already.
const EXPLANATION: &str = "explanation";

/// Returns words of a server as they may be told: on one line, bounded, and with nothing that hides.
pub(super) fn words(text: &str, most: usize) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = line.chars().take(most).collect();
    let more = if cut.len() < line.len() { "…" } else { "" };
    format!("{}{more}", exact(&cut))
}

/// Returns what a name of a server's is called here: small letters, digits and single hyphens. `None` when nothing is left.
pub(super) fn named(theirs: &str) -> Option<String> {
    let mut ours = String::new();
    let mut small = false;
    for c in theirs.chars() {
        // `filePath` is called file-path.
        let parts = !c.is_ascii_alphanumeric() || (c.is_ascii_uppercase() && small);
        if parts && !ours.is_empty() && !ours.ends_with('-') {
            ours.push('-');
        }
        if c.is_ascii_alphanumeric() {
            ours.push(c.to_ascii_lowercase());
        }
        small = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    let ours = ours.trim_matches('-').to_string();
    (!ours.is_empty()).then_some(ours)
}

/// Returns what one argument is here.
///
/// # Errors
/// In words, when it can have no name.
pub(super) fn argument(theirs: &str, schema: &Value, required: bool) -> Result<(Argument, Form), String> {
    let ours = named(theirs).ok_or_else(|| format!("an argument has no letter or digit: “{}”", words(theirs, 80)))?;
    let begins = ours.starts_with(|c: char| c.is_ascii_lowercase()) && ours != EXPLANATION;
    let name = if begins { ours } else { format!("its-{ours}") };
    if name.len() > NAME {
        return Err(format!("the name of an argument is too long: “{}”", words(theirs, 80)));
    }
    let described = schema.get("description").and_then(Value::as_str).unwrap_or("");
    let described = match words(described, LONGEST) {
        text if text.is_empty() => format!("the server calls it {}", words(theirs, 80)),
        text => text,
    };
    let (kind, form) = match kind(schema) {
        Some(kind) => (kind, Form::AsItIs),
        None => (Type::Text, Form::Json),
    };
    let summary = match form {
        Form::AsItIs => described,
        Form::Json => format!("{described} (written as JSON, by the schema {})", words(&schema.to_string(), SCHEMA)),
    };
    Ok((Argument { name, kind, required, summary }, form))
}

/// Returns the type of ours that a schema stands for exactly enough; `None` when there is none.
fn kind(schema: &Value) -> Option<Type> {
    let number = |key: &str, usual: i64| match schema.get(key) {
        None => Some(usual),
        Some(number) => number.as_i64().map(|number| number.clamp(-WHOLE, WHOLE)),
    };
    if ["anyOf", "oneOf", "allOf", "$ref", "const", "not"].iter().any(|key| schema.get(*key).is_some()) {
        return None;
    }
    match schema.get("type")?.as_str()? {
        "string" => match schema.get("enum") {
            None => Some(Type::Text),
            Some(Value::Array(items)) => {
                let all: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(str::to_string)).collect();
                let all = all?;
                let fits = (1..=WORDS.0).contains(&all.len()) && all.iter().all(|word| word.len() <= WORDS.1);
                // What hides something is shown, and then it is another word.
                (fits && all.iter().all(|word| words(word, WORDS.1) == *word)).then_some(Type::OneOf(all))
            }
            Some(_) => None,
        },
        "integer" if schema.get("enum").is_none() => {
            let (least, most) = (number("minimum", -WHOLE)?, number("maximum", WHOLE)?);
            (least <= most).then_some(Type::Number { least, most })
        }
        "boolean" => Some(Type::Flag),
        "array" => {
            let items = schema.get("items")?;
            let plain = items.get("type")? == "string" && items.get("enum").is_none();
            let most = schema.get("maxItems").map_or(Some(TEXTS), Value::as_u64)?.clamp(1, 10_000);
            plain.then_some(Type::Texts { most: usize::try_from(most).unwrap_or(usize::MAX) })
        }
        _ => None,
    }
}
