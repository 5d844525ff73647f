//! Shows an action to a human who must judge it: exactly, with nothing folded and nothing that hides.

use crate::domain::action::Action;
use crate::domain::gate::badge::{Badge, badge};
use crate::domain::gate::differ::basis;
use crate::domain::gate::facts::{FileFact, PutFact, WallsFact};
use crate::domain::gate::plan::FlightPlan;
use crate::domain::gate::secret::mask_shown;
use crate::domain::gate::{Facts, reach};
use crate::domain::inert::exact;
use crate::domain::policy::held::GONE;
use crate::domain::setting::SettingFact;
use crate::domain::tool::server::PREFIX;
use crate::domain::tool::{CONFIRM, Effect, RESTORE};
use crate::domain::undo::Image;
use serde_json::Value;

/// An action as a human is shown it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// What would happen.
    pub body: String,
    /// The diff of what would be edited.
    pub diff: String,
    /// What it rests on beside that.
    pub basis: String,
    /// Whether what it does can be taken back.
    pub badge: Badge,
}

impl Shown {
    /// Returns an action as a plan shows it.
    pub fn of(plan: &FlightPlan) -> Shown {
        let (body, diff, basis) = (plan.body.clone(), plan.diff.clone(), plan.about.basis.clone());
        Shown { body, diff, basis, badge: plan.about.badge }
    }
}

/// Returns all that is shown of an action with this effect.
pub fn rendered(action: &Action, facts: &Facts, project: &str, effect: Option<Effect>) -> Shown {
    let badge = match action.tool() {
        // What was confirmed counts until it is withdrawn. What is let go is gone.
        CONFIRM if action.text("name").is_some_and(|name| name != GONE) => Badge::Withdrawable,
        _ => badge(effect, facts),
    };
    let own = match effect {
        Some(Effect::Custom(class)) => {
            let mut own = String::new();
            let who = match action.tool().starts_with(PREFIX) {
                true => "an MCP server that you declared does it, confined, and nobody has looked whether it does that",
                false => "your own Lisp does it",
            };
            field(&mut own, "what it does", &format!("{}, as you declared it; {who}", class.name()));
            own
        }
        Some(_) | None => String::new(),
    };
    let body = format!("{}\n{own}{}", badge.sentence(), body(action, facts, project));
    Shown { body, diff: diff(facts), basis: basis(facts), badge }
}

/// Returns what would happen, as text: tool, arguments, where a command runs, resolved paths.
/// `project` is the root of the turn. It is shown and never read back.
pub fn body(action: &Action, facts: &Facts, project: &str) -> String {
    let mut out = format!("Tool: {}\n", action.tool());
    if action.tool() == RESTORE {
        restored(&mut out, action, facts);
        quotes(&mut out, facts);
        return out;
    }
    for (name, value) in action.args() {
        match (value, facts.edits.as_slice()) {
            // A text that becomes the whole file is shown once: as the change.
            (Value::String(text), [edit])
                if action.tool() == "write-file" && name == "content" && *text == *edit.after =>
            {
                let said = if text.is_empty() { "nothing" } else { "as in the change" };
                field(&mut out, name, said);
            }
            _ => argument(&mut out, name, value),
        }
    }
    if let Some(refined) = action.refinement() {
        field(&mut out, "rewritten by", &format!("the skill {}; before that it was proposed with", refined.by));
        for (name, value) in &refined.args {
            argument(&mut out, &format!("proposed {name}"), value);
        }
        field(&mut out, "proposed because", &refined.explanation);
    }
    if action.tool() == "shell" {
        field(&mut out, "in", project);
        if action.args().get(reach::ARGUMENT).and_then(Value::as_array).is_some_and(|hosts| !hosts.is_empty()) {
            field(&mut out, "network", "these hosts alone, through a proxy; a program that does not use it has none");
        }
    }
    if matches!(action.tool(), "shell" | "eval-lisp")
        && let Some(WallsFact::Fewer(missing)) = &facts.walls
    {
        field(&mut out, "runs without namespaces", missing);
    }
    for file in facts.shell.iter().flat_map(|shell| &shell.files).filter(|file| file.runs) {
        carried_out(&mut out, file);
    }
    for path in &facts.paths {
        if path.resolved != path.asked {
            field(&mut out, &format!("{} is", path.arg), &path.resolved);
        }
        if path.open && facts.edits.iter().any(|edit| edit.file == path.resolved) {
            field(&mut out, "open in Emacs", "its buffer is changed there, and not saved");
        }
    }
    if let Some(why) = &facts.not_undoable {
        field(&mut out, "not undoable", why);
    }
    if let Some(commit) = &facts.commit {
        field(&mut out, "branch", &commit.branch);
        for file in &commit.files {
            let what = match (&file.before, &file.after) {
                (None, _) => "commits the new",
                (_, None) => "commits that it is gone",
                (Some(_), Some(_)) => "commits changes of",
            };
            field(&mut out, what, &file.path);
        }
        for left in &commit.left {
            field(&mut out, "stays uncommitted", left);
        }
    }
    for (name, said) in facts.setting.iter().flat_map(SettingFact::lines) {
        field(&mut out, name, &said);
    }
    quotes(&mut out, facts);
    for doubt in &facts.doubts {
        field(&mut out, "mind", doubt);
    }
    for edit in &facts.edits {
        let what = if edit.before.is_some() { "changes" } else { "creates" };
        field(&mut out, what, &edit.file);
    }
    for unknown in &facts.unknown {
        field(&mut out, "not found out", unknown);
    }
    if action.definition().is_some() {
        for why in &facts.impossible {
            field(&mut out, "cannot be done", why);
        }
    }
    out
}

/// Names the private notes whose words stand in it. Only people are shown this.
fn quotes(out: &mut String, facts: &Facts) {
    for quote in &facts.quotes {
        let what = if quote.note.privacy.is_kept() { "quotes a private note" } else { "quotes a note that warns" };
        field(out, what, &format!("“{}” in {}", quote.note.title, quote.place));
    }
}

/// Writes what taking changes back would do, file by file, and what it would leave.
fn restored(out: &mut String, action: &Action, facts: &Facts) {
    argument(out, "kind", action.args().get("kind").unwrap_or(&Value::Null));
    if let Some(to) = action.text("to") {
        field(out, "to operation", to);
    }
    for edit in &facts.edits {
        field(out, if edit.before.is_some() { "changes" } else { "creates" }, &edit.file);
    }
    for PutFact { file, before, after, .. } in &facts.puts {
        let what = match (before, after) {
            (_, Image::Absent) => "deletes".to_string(),
            (Image::Absent, after) => format!("creates {}", described(after)),
            (before, after) => format!("puts {} in the place of {} at", described(after), described(before)),
        };
        field(out, &what, file);
    }
    for left in &facts.left {
        field(out, "left as it is", left);
    }
    for doubt in &facts.doubts {
        field(out, "not certain, so look at the difference", doubt);
    }
    for unknown in &facts.unknown {
        field(out, "not found out", unknown);
    }
}

fn described(image: &Image) -> String {
    match image {
        Image::Absent => "nothing".to_string(),
        Image::File { size, mode, .. } => format!("a file of {size} bytes (mode {mode:o})"),
        Image::Link { target } => format!("a link to {}", exact(target).replace('\n', " ")),
        Image::Folder { mode } => format!("a folder (mode {mode:o})"),
        Image::Unkept { why } => format!("what was not kept ({why})"),
    }
}

/// Writes what a file says that a command would carry out, each line behind a bar, or else which bytes it has.
fn carried_out(out: &mut String, file: &FileFact) {
    field(out, "runs", &file.path);
    match (&file.text, &file.content) {
        (Some(text), _) if text.is_empty() => out.push_str("  (it is empty)\n"),
        (Some(text), _) => {
            let text = shown(text);
            for line in text.strip_suffix('\n').unwrap_or(&text).split('\n') {
                out.push_str(&format!("  | {line}\n"));
            }
            if !text.ends_with('\n') {
                out.push_str("  (no newline at the end)\n");
            }
        }
        (None, Some(content)) => {
            let hash = blake3::Hash::from_bytes(*content).to_hex();
            out.push_str(&format!("  (not shown: {} bytes, BLAKE3 {hash})\n", file.size));
        }
        (None, None) => {
            out.push_str(&format!("  (not shown: {} bytes, bound by size and time of its last change)\n", file.size));
        }
    }
}

/// Returns the diff of everything that the action would edit.
pub fn diff(facts: &Facts) -> String {
    let puts = facts.puts.iter().map(|put| &put.diff).filter(|diff| !diff.is_empty());
    let committed = facts.commit.iter().flat_map(|commit| &commit.files).map(|file| &file.diff);
    let edits = facts.edits.iter().map(|edit| &edit.diff);
    edits.chain(puts).chain(committed).map(|diff| shown(diff)).collect::<Vec<_>>().join("\n")
}

/// Returns a text as a plan shows it: nothing in it hides, but for secrets, which are named by their kind.
pub(crate) fn shown(text: &str) -> String {
    exact(&mask_shown(text))
}

/// Writes a field; text of several lines stands below its name, each line behind a bar.
pub(crate) fn field(out: &mut String, name: &str, value: &str) {
    let value = shown(value);
    if value.contains('\n') {
        out.push_str(&format!("{}:\n", exact(name)));
        for line in value.split('\n') {
            out.push_str(&format!("  | {line}\n"));
        }
    } else {
        out.push_str(&format!("{}: {value}\n", exact(name)));
    }
}

fn argument(out: &mut String, name: &str, value: &Value) {
    match value {
        Value::String(text) => field(out, name, text),
        Value::Array(items) if items.is_empty() => field(out, name, "nothing"),
        // Item by item: joined, one item with a comma in it would look like two.
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                let text = item.as_str().map_or_else(|| item.to_string(), str::to_string);
                field(out, &format!("{name} ({} of {})", n + 1, items.len()), &text);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => field(out, name, &value.to_string()),
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
        let shown = "Tool: shell\ncommand:\n  | rm \\u{202E}x\n  | ls\nin: /work/garden\n";
        assert_eq!(body(&action, &Facts::default(), "/work/garden"), shown);
    }

    #[test]
    fn what_is_confirmed_can_be_withdrawn_and_what_is_let_go_is_gone() {
        for (name, badge) in
            [("skill tea", Badge::Withdrawable), ("shell", Badge::Withdrawable), (GONE, Badge::Irreversible)]
        {
            let given = [("file", "/f.org"), ("heading", ""), ("name", name), ("value", "off")];
            let args = given.map(|(name, value)| (name.to_string(), value.into())).into_iter().collect();
            let action = Action::new(&Toolbox::builtin(), CONFIRM, args, Some("You asked."), Labels::USER);
            let action = action.expect("a test's own action is well-formed");
            let shown = rendered(&action, &Facts::default(), "/work/garden", Some(Effect::Configure));
            assert_eq!((shown.badge, shown.body.starts_with(badge.sentence())), (badge, true), "{name}");
        }
    }

    #[test]
    fn what_is_carried_out_is_shown_literally() {
        let identity = crate::domain::gate::facts::Identity { device: 1, inode: 2, modified: 3 };
        let file = |path: &str, text: Option<&str>, content| FileFact {
            path: path.into(),
            size: 9,
            identity,
            content,
            runs: true,
            text: text.map(Into::into),
        };
        let shown = |file: FileFact| {
            let mut out = String::new();
            carried_out(&mut out, &file);
            out
        };
        let some = Some([0; 32]);
        let path = "/p/a\nin: /q.sh";
        let forged = shown(file(path, Some("ls\nin: /work\u{202E}\n\n"), some));
        assert_eq!(forged, "runs:\n  | /p/a\n  | in: /q.sh\n  | ls\n  | in: /work\\u{202E}\n  | \n");
        assert_eq!(shown(file("/p/a", Some("ls"), some)), "runs: /p/a\n  | ls\n  (no newline at the end)\n");
        assert_eq!(shown(file("/p/a", Some(""), some)), "runs: /p/a\n  (it is empty)\n");
        let hash = "0".repeat(64);
        assert_eq!(shown(file("/p/a", None, some)), format!("runs: /p/a\n  (not shown: 9 bytes, BLAKE3 {hash})\n"));
        let large = "runs: /p/a\n  (not shown: 9 bytes, bound by size and time of its last change)\n";
        assert_eq!(shown(file("/p/a", None, None)), large);
    }

    #[test]
    fn lists_are_shown_item_by_item() {
        let shown = |value: Value| {
            let mut out = String::new();
            argument(&mut out, "tags", &value);
            out
        };
        assert_eq!(shown(serde_json::json!(["a, b"])), "tags (1 of 1): a, b\n");
        assert_eq!(shown(serde_json::json!(["a", "b"])), "tags (1 of 2): a\ntags (2 of 2): b\n");
        assert_eq!(shown(serde_json::json!(["a\ntags (2 of 2): b"])), "tags (1 of 1):\n  | a\n  | tags (2 of 2): b\n");
        assert_eq!(shown(serde_json::json!([])), "tags: nothing\n");
    }
}
