//! Shows an action to a human who must judge it: exactly, with nothing folded and nothing that hides.

use crate::domain::action::Action;
use crate::domain::gate::Facts;
use crate::domain::inert::exact;
use serde_json::Value;

/// Returns what would happen, as text: tool, arguments, resolved paths. It is shown and never read back.
pub fn body(action: &Action, facts: &Facts) -> String {
    let mut out = format!("Tool: {}\n", action.tool());
    for (name, value) in action.args() {
        field(&mut out, name, &argument(value));
    }
    for path in &facts.paths {
        if path.resolved != path.asked {
            field(&mut out, &format!("{} is", path.arg), &path.resolved);
        }
    }
    for edit in &facts.edits {
        let what = if edit.before.is_some() { "changes" } else { "creates" };
        field(&mut out, what, &edit.file);
    }
    for unknown in &facts.unknown {
        field(&mut out, "not found out", unknown);
    }
    out
}

/// Returns the diff of everything that the action would edit.
pub fn diff(facts: &Facts) -> String {
    facts.edits.iter().map(|edit| exact(&edit.diff)).collect::<Vec<_>>().join("\n")
}

/// Writes a field; text of several lines stands below its name, each line behind a bar.
fn field(out: &mut String, name: &str, value: &str) {
    let value = exact(value);
    if value.contains('\n') {
        out.push_str(&format!("{}:\n", exact(name)));
        for line in value.split('\n') {
            out.push_str(&format!("  | {line}\n"));
        }
    } else {
        out.push_str(&format!("{}: {value}\n", exact(name)));
    }
}

fn argument(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::label::Labels;
    use crate::domain::tool::Toolbox;

    #[test]
    fn everything_is_shown() {
        let mut args = serde_json::Map::new();
        args.insert("command".into(), "rm \u{202E}x\nls".into());
        let why = Some("To tidy up the folder.");
        let action = Action::new(&Toolbox::builtin(), "shell", args, why, Labels::USER);
        let action = action.expect("a test's own action is well-formed");
        assert_eq!(body(&action, &Facts::default()), "Tool: shell\ncommand:\n  | rm \\u{202E}x\n  | ls\n");
    }
}
