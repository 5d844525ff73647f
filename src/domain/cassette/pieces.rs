//! Secrets that an answer says in pieces: a stream parts a word between two events, where nobody finds it any more.
//!
//! What stands at the same place of each event is put together, looked through, and, where something was found, written
//! back masked: all of it into the first event, and nothing into the others.

use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// No event is looked into deeper than this; `serde_json` reads none that is deeper.
const DEEPEST: usize = 128;

/// Returns an answer with what its events say together masked, and how much was; `None` when nothing was found.
/// `hidden` masks one text and counts.
pub fn masked(answer: &str, hidden: &dyn Fn(&str) -> (u64, String)) -> Option<(u64, String)> {
    let mut lines: Vec<Line<'_>> = match serde_json::from_str(answer) {
        Ok(event) => vec![Line { before: "", event: Some(event), text: answer }],
        Err(_) => answer.split_inclusive('\n').map(Line::read).collect(),
    };
    let mut said: BTreeMap<String, String> = BTreeMap::new();
    for event in lines.iter_mut().filter_map(|line| line.event.as_mut()) {
        each(event, &mut |place, text| said.entry(place.to_string()).or_default().push_str(text));
    }
    let mut found = 0;
    said.retain(|_, text| {
        let (here, masked) = hidden(text);
        found += here;
        *text = masked;
        here > 0
    });
    if found == 0 {
        return None;
    }
    for event in lines.iter_mut().filter_map(|line| line.event.as_mut()) {
        each(event, &mut |place, text| {
            if let Some(masked) = said.get_mut(place) {
                *text = std::mem::take(masked);
            }
        });
    }
    Some((found, lines.iter().map(Line::written).collect()))
}

/// One line of an answer: an event, or what stands between them.
struct Line<'a> {
    /// What stands before the event.
    before: &'a str,
    event: Option<Value>,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn read(text: &'a str) -> Self {
        let begin = text.find('{').unwrap_or(text.len());
        let (before, rest) = text.split_at(begin);
        Line { before, event: serde_json::from_str(rest.trim_end()).ok(), text }
    }

    fn written(&self) -> Cow<'a, str> {
        match &self.event {
            Some(event) => format!("{}{event}\n", self.before).into(),
            None => self.text.into(),
        }
    }
}

/// Calls `visit` with every text of an event and its place: names and numbers on the way there, and what an event says
/// of itself to tell its parts from those of others (`index`).
fn each(event: &mut Value, visit: &mut dyn FnMut(&str, &mut String)) {
    let mut waiting = vec![(String::new(), event, 0)];
    while let Some((place, value, depth)) = waiting.pop() {
        match value {
            Value::String(text) => visit(&place, text),
            Value::Array(parts) if depth < DEEPEST => {
                waiting
                    .extend(parts.iter_mut().enumerate().map(|(at, part)| (format!("{place}/{at}"), part, depth + 1)));
            }
            Value::Object(fields) if depth < DEEPEST => {
                let index = fields.get("index").and_then(Value::as_u64).map_or_else(String::new, |at| format!("#{at}"));
                let below = |name: &String| format!("{place}{index}/{name}");
                waiting.extend(fields.iter_mut().map(|(name, part)| (below(name), part, depth + 1)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// Masks a word that is no word.
    fn hidden(text: &str) -> (u64, String) {
        (text.matches("xyzzy42").count() as u64, text.replace("xyzzy42", "⟨hidden⟩"))
    }

    fn check(answer: &str, expected: Option<(u64, &str)>) {
        assert_eq!(masked(answer, &hidden), expected.map(|(found, text)| (found, text.to_string())), "{answer}");
    }

    #[test]
    fn what_events_say_together_is_masked() {
        check("", None);
        check("data: {\"t\":\"a\"}\n\ndata: [DONE]\n", None);
        check(
            "event: x\ndata: {\"t\":\"a xyz\"}\n\ndata: {\"t\":\"zy42 b\"}\n\ndata: [DONE]\n",
            Some((1, "event: x\ndata: {\"t\":\"a ⟨hidden⟩ b\"}\n\ndata: {\"t\":\"\"}\n\ndata: [DONE]\n")),
        );
        // Lines without a mark, as one of the protocols has them; and what JSON writes in another way.
        check(
            "{\"m\":{\"c\":\"xyz\"}}\n{\"m\":{\"c\":\"zy4\"}}\n{\"m\":{\"c\":\"\\u0032\"}}\n",
            Some((1, "{\"m\":{\"c\":\"⟨hidden⟩\"}}\n{\"m\":{\"c\":\"\"}}\n{\"m\":{\"c\":\"\"}}\n")),
        );
        check("{\"c\":\"xyzzy4\\u0032\"}", Some((1, "{\"c\":\"⟨hidden⟩\"}\n")));
        // Calls that come at the same time are told apart by their numbers.
        let part = |index: u32, text: &str| format!("data: {}\n", json!({"calls": [{"index": index, "a": text}]}));
        let both = [part(0, "xyz"), part(1, "one"), part(0, "zy42"), part(1, "two")].concat();
        let masked = [part(0, "⟨hidden⟩"), part(1, "one"), part(0, ""), part(1, "two")].concat();
        check(&both, Some((1, &masked)));
        check("xyzzy42, which is no event\n", None);
    }

    proptest! {
        /// However the words are parted, what is written is read as the whole, masked.
        #[test]
        fn parting_hides_nothing(pieces in prop::collection::vec("[xyz42 ]{0,4}", 0..30)) {
            let whole = pieces.concat();
            let answer: String = pieces.iter().map(|piece| format!("data: {}\n\n", json!({"d": [{"t": piece}]}))).collect();
            let (found, text) = hidden(&whole);
            match masked(&answer, &hidden) {
                None => prop_assert_eq!(found, 0),
                Some((said, written)) => {
                    prop_assert_eq!(said, found);
                    let read: String = written
                        .lines()
                        .filter_map(|line| line.strip_prefix("data: "))
                        .filter_map(|event| serde_json::from_str::<Value>(event).ok()?.pointer("/d/0/t")?.as_str().map(str::to_string))
                        .collect();
                    prop_assert_eq!(read, text);
                }
            }
        }

        #[test]
        fn any_answer_is_survived(answer in "\\PC{0,200}") {
            masked(&answer, &hidden);
        }
    }
}
