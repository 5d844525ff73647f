//! Says in one line of words what an action would do: the title of its plan, in every list and trace.

use crate::domain::action::Action;
use crate::domain::count::counted;
use crate::domain::gate::Facts;
use crate::domain::gate::secret::mask_shown;
use crate::domain::inert::exact;
use crate::domain::job::WORKING;
use crate::domain::policy::held::GONE;
use crate::domain::policy::loosening::{OFF, SERVER, SKILL};
use crate::domain::setting::named;
use crate::domain::tool::server::PREFIX;
use crate::domain::tool::{
    ADD_ID, CONFIRM, CONTACT_EMBEDDER, CREATE_SKILL, DELEGATE, EDIT_SKILL, LOG_JOB, RENDER, RESTORE, SET_CASCADE,
    SET_KEYWORD, SETTING_CHANGE, SETTING_EXPLAIN, SETTING_UNDO, SKILL_READ,
};
use serde_json::Value;

/// What a title quotes is cut after so many characters.
const QUOTED: usize = 60;
/// What the trace says behind a command whose changes cannot be taken back; a plan has a badge for that.
const NOT_UNDOABLE: &str = " (not undoable)";
/// A title is cut after so many characters.
const LONGEST: usize = 160;

/// Returns what an action would do, as one line of bounded length in which nothing hides.
/// Headings are called by the titles that were found out, else by their ids.
pub fn title(action: &Action, facts: &Facts) -> String {
    match action.refinement() {
        None => words(action, facts),
        Some(refined) => {
            // What was found out is about what it is now.
            let proposed = clip(&words(&action.proposed_as(), &Facts::default()), QUOTED);
            let (by, now) = (clip(&plain(&refined.by), QUOTED / 3), clip(&words(action, facts), QUOTED));
            format!("{now} (by the skill {by}; proposed: {proposed})")
        }
    }
}

/// Returns what an action does, whoever rewrote it.
fn words(action: &Action, facts: &Facts) -> String {
    let given = |name: &str| action.text(name).filter(|text| !text.trim().is_empty());
    let known = |name: &str| facts.titles.iter().find(|(arg, _)| arg == name).map(|(_, title)| title.as_str());
    let heading = |name: &str| quoted(known(name).or(given(name)).unwrap_or("?"));
    let text = |name: &str| quoted(given(name).unwrap_or(""));
    let place = || match (given("parent"), given("file")) {
        (Some(_), _) => format!("under {}", heading("parent")),
        (None, Some(file)) if action.args().contains_key("under") => {
            let under = action.args().get("under").and_then(|under| under.as_array());
            let last = under.and_then(|under| under.last()).and_then(|last| last.as_str()).unwrap_or("?");
            format!("under {} in {}", quoted(last), path(file))
        }
        (None, Some(file)) => format!("at the end of {}", path(file)),
        (None, None) => "nowhere".to_string(),
    };
    let words = match action.tool() {
        "org-add-heading" => {
            let keyword = given("todo").map(|word| format!("{} ", plain(word))).unwrap_or_default();
            let when = ["scheduled", "deadline"]
                .map(|kind| given(kind).map(|when| format!(", {kind} {}", plain(when.trim()))).unwrap_or_default());
            format!("Add {keyword}{} {}{}", text("title"), place(), when.concat())
        }
        "org-set-todo" => match given("state") {
            Some(state) => format!("Mark {} {}", heading("id"), plain(state)),
            None => format!("Take the keyword off {}", heading("id")),
        },
        "org-set-property" => {
            let property = plain(given("property").unwrap_or("?"));
            match given("value") {
                Some(value) => format!("Set {property} of {} to {}", heading("id"), quoted(value)),
                None => format!("Take {property} off {}", heading("id")),
            }
        }
        "org-schedule" => {
            let (kind, when) = (given("kind"), given("when"));
            let also = action.text("deadline").is_some();
            let deadline = if also { given("deadline") } else { when };
            let second = match (deadline, also) {
                (_, false) => String::new(),
                (Some(day), true) => format!(" and set its deadline to {}", plain(day)),
                (None, true) => " and take its deadline off".to_string(),
            };
            match (kind == Some("deadline") || (also && kind.is_none() && when.is_none()), when, deadline) {
                (false, Some(when), _) => format!("Schedule {} for {}{second}", heading("id"), plain(when)),
                (false, None, _) => format!("Take the date off {}{second}", heading("id")),
                (true, _, Some(day)) => format!("Set the deadline of {} to {}", heading("id"), plain(day)),
                (true, _, None) => format!("Take the deadline off {}", heading("id")),
            }
        }
        "org-move" => format!("Move {} {}", heading("id"), place().replacen("at the", "to the", 1)),
        "org-archive" => format!("Archive {}", heading("id")),
        "org-replace-body" => {
            format!("Replace the text of {} ({})", heading("id"), lines(action.text("body").unwrap_or("")))
        }
        "org-set-tags" => {
            let tags = action.args().get("tags").and_then(|tags| tags.as_array());
            let tags: Vec<&str> = tags.into_iter().flatten().filter_map(|tag| tag.as_str()).collect();
            match tags.is_empty() {
                true => format!("Take the tags off {}", heading("id")),
                false => format!("Tag {} :{}:", heading("id"), plain(&tags.join(":"))),
            }
        }
        LOG_JOB => format!("Log that the job of {} ran: {}", heading("id"), plain(given("outcome").unwrap_or("?"))),
        "org-clock" => match given("do") {
            Some("out") => format!("Stop the clock of {}", heading("id")),
            _ => format!("Start the clock of {}", heading("id")),
        },
        "org-outline" => match (given("id"), given("file")) {
            (Some(_), _) => format!("Read the outline of {}", heading("id")),
            (None, Some(file)) => format!("Read the outline of {}", path(file)),
            (None, None) => "List the files of memory".to_string(),
        },
        ADD_ID => format!("Give {} an ID", heading("id")),
        SET_KEYWORD => {
            let (key, file) = (plain(given("keyword").unwrap_or("?")), path(given("file").unwrap_or("?")));
            match given("value") {
                Some(value) => format!("Set {key} of {file} to {}", quoted(value)),
                None => format!("Take {key} off {file}"),
            }
        }
        RENDER => {
            let what = given("file").map_or_else(|| heading("id"), path);
            match given("form") {
                Some("keywords") => format!("Read the keywords of {what}"),
                Some("outline") => format!("Read the outline of {what} as it would be exported"),
                _ => format!("Read {what} as plain text"),
            }
        }
        "org-refactor" => format!("Change {}", heading("id")),
        "insert-at-end" => {
            format!(
                "Add {} at the end of {}",
                lines(action.text("text").unwrap_or("")),
                path(given("path").unwrap_or("?"))
            )
        }
        "editor-look" => {
            let of = given("path").map(|asked| format!(" of {}", path(asked))).unwrap_or_default();
            format!("Look up {}{of} in Emacs", plain(given("verb").unwrap_or("?")))
        }
        "editor-show" => {
            let what = given("path").map(path).unwrap_or_else(|| plain(given("verb").unwrap_or("?")));
            format!("Show {what} in Emacs ({})", plain(given("verb").unwrap_or("?")))
        }
        "replace-in-file" => format!("Change {} in one place or more", path(given("path").unwrap_or("?"))),
        "lisp-check" => match (given("path"), given("id")) {
            (Some(file), _) => format!("Check the Lisp of {}", path(file)),
            (None, Some(_)) => format!("Check the Lisp of {}", heading("id")),
            (None, None) => format!("Check Lisp ({})", lines(action.text("text").unwrap_or(""))),
        },
        "lisp-definitions" => format!("List the definitions of {}", path(given("path").unwrap_or("?"))),
        "lisp-edit" => {
            let (what, file) = (text("name"), path(given("path").unwrap_or("?")));
            match given("do").unwrap_or("?") {
                "replace" => format!("Replace {what} in {file}"),
                "insert-before" => format!("Insert Lisp before {what} in {file}"),
                "insert-after" => format!("Insert Lisp after {what} in {file}"),
                "delete" => format!("Delete {what} from {file}"),
                "rename" => format!("Rename {what} to {} in {file}", text("text")),
                _ => format!("Put a form around {what} in {file}"),
            }
        }
        SET_CASCADE => {
            let names = action.list("providers");
            let held = action.args().get("keep").and_then(|keep| keep.as_bool()).unwrap_or(false);
            match names.as_slice() {
                [] => "Ask providers as the settings say".to_string(),
                names => format!(
                    "Ask providers in this order{}: {}",
                    if held { " for good" } else { "" },
                    plain(&names.join(", "))
                ),
            }
        }
        SETTING_EXPLAIN => match given("query") {
            Some(query) => format!("Look up the setting {}", plain(query)),
            None => "List the settings".to_string(),
        },
        SETTING_CHANGE => {
            let held = action.args().get("keep").and_then(|keep| keep.as_bool()).unwrap_or(false);
            let (option, value) = (given("option").unwrap_or("?"), given("value").unwrap_or("?"));
            format!("Set {} to {}{}", plain(&named(option)), plain(value), if held { " for good" } else { "" })
        }
        SETTING_UNDO => match &facts.setting {
            Some(setting) => format!("Put {} back to {}", plain(&setting.option), plain(&setting.to)),
            None => format!("Put back the setting of {}", plain(given("change").unwrap_or("the last change"))),
        },
        DELEGATE => format!("Hand over: {}", text("task")),
        CREATE_SKILL => format!("Make the skill {}", plain(given("skill").unwrap_or("?"))),
        EDIT_SKILL => format!("Change the skill {}", plain(given("skill").unwrap_or("?"))),
        "lisp-balance" => format!("Balance the brackets of {}", path(given("path").unwrap_or("?"))),
        "literate-check" => format!("Check the blocks of {}", path(given("path").unwrap_or("?"))),
        "literate-tangle" => format!("Write the code of {} into its files", path(given("path").unwrap_or("?"))),
        "list-files" => format!("List the files of {}", given("path").map_or("the project".to_string(), path)),
        "grep" => {
            let below = given("path").map_or("the project".to_string(), path);
            format!("Look for {} in the files of {below}", text("pattern"))
        }
        "git-status" => "Look at what git says has changed".to_string(),
        "git-diff" => format!("Look at the changes of {}", given("path").map_or("the project".to_string(), path)),
        "git-log" => format!("Look at the commits of {}", given("path").map_or("the project".to_string(), path)),
        "git-commit" => format!("Commit: {}", plain(given("message").unwrap_or(""))),
        "fetch-url" => format!("Fetch {}", plain(given("url").unwrap_or("?"))),
        "note-distil" => format!("Distil {} from {}", text("title"), heading("id")),
        "notes-undistilled" => "List daily notes of which nothing was distilled".to_string(),
        "memory-garden" => "Look through memory for what wants tidying".to_string(),
        "inbox-propose" => "Look where the headings of the inbox could go".to_string(),
        "links-suggest" => "Look which notes could be linked".to_string(),
        "manual-search" => format!("Look up {} in the manual", text("query")),
        "memory-report" => format!("Report on memory ({})", plain(given("part").unwrap_or("counts"))),
        "memory-search" => format!("Search memory for {}", text("query")),
        "reopen-turn" => format!("Read the earlier turn {}", text("turn")),
        "memory-read" => format!("Read {}", heading("id")),
        "read-file" => format!("Read {}", path(given("path").unwrap_or("?"))),
        "write-file" => {
            let size = lines(action.text("content").unwrap_or(""));
            format!("Write {} ({size})", path(given("path").unwrap_or("?")))
        }
        "shell" => {
            let most = LONGEST.saturating_sub("Run: ".len() + NOT_UNDOABLE.len() + 1);
            format!("Run: {}", clip(&plain_long(given("command").unwrap_or("")), most))
        }
        RESTORE => {
            let count = facts.edits.len() + facts.puts.len();
            match (given("kind").unwrap_or(""), given("to")) {
                ("rewind", Some(to)) => format!("Rewind {} to operation {}", counted(count, "file"), plain(to)),
                ("redo", _) => format!("Redo what was undone in {}", counted(count, "file")),
                _ => format!("Undo what was done to {}", counted(count, "file")),
            }
        }
        CONFIRM if given("name") == Some(GONE) => {
            // Titles of headings, which may be private, stand in the value alone.
            format!("Let go of {GONE} from {}, which loosens", plain(given("file").unwrap_or("?")))
        }
        CONFIRM if given("name").is_some_and(|name| name.starts_with(SKILL)) => {
            let off = given("value").is_some_and(|value| value.starts_with(OFF));
            let verb = if off { "Take out of use the " } else { "Use from now on the " };
            format!("{verb}{} of {}", plain(given("name").unwrap_or("?")), path(given("file").unwrap_or("?")))
        }
        CONFIRM if given("name").is_some_and(|name| name.starts_with(SERVER)) => {
            // What is behind that is for comparing, and all of it is shown below.
            let count = given("value").and_then(|value| value.split(", ").next()).unwrap_or("?");
            format!("Use from now on the {} ({})", plain(given("name").unwrap_or("?")), plain(count))
        }
        CONFIRM if given("name").is_some_and(|name| WORKING.contains(&name)) => {
            // What is behind that is for comparing, and all of it is shown below.
            let when = given("value").and_then(|value| value.split(", text ").next()).unwrap_or("?");
            format!("Let a heading of {} work by itself: {}", path(given("file").unwrap_or("?")), plain(when))
        }
        CONFIRM => format!(
            "Confirm {} = {}, which loosens",
            plain(given("name").unwrap_or("?")),
            plain(given("value").unwrap_or("?"))
        ),
        SKILL_READ => match (given("skill"), given("file")) {
            (Some(skill), Some(file)) => format!("Read {} of the skill {}", plain(file), plain(skill)),
            (Some(skill), None) => format!("Read the skill {}", plain(skill)),
            (None, _) => "List the skills that can be read".to_string(),
        },
        "message" => format!("Say {}", text("text")),
        "eval-lisp" => format!("Evaluate Lisp: {}", clip(&plain_long(given("code").unwrap_or("")), LONGEST)),
        "contact-provider" => format!(
            "Send the first request to {} ({})",
            plain(given("provider").unwrap_or("?")),
            plain(given("url").unwrap_or("?"))
        ),
        CONTACT_EMBEDDER => format!(
            "Send notes to {} ({}) from now on",
            plain(given("provider").unwrap_or("?")),
            plain(given("url").unwrap_or("?"))
        ),
        own if action.definition().is_some() => {
            let said: Vec<String> = action.args().iter().map(|(name, value)| given_to_own(name, value)).collect();
            let end = if said.is_empty() { String::new() } else { format!(": {}", said.join(", ")) };
            match own.starts_with(PREFIX) {
                true => format!("Call {} of an MCP server{end}", plain(own)),
                false => format!("Use your tool {}{end}", plain(own)),
            }
        }
        other => plain(other),
    };
    clip(&words, LONGEST)
}

/// Returns an argument of a tool of the user's own, in short.
fn given_to_own(name: &str, value: &Value) -> String {
    let value = match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => counted(items.len(), "text"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => plain(&value.to_string()),
    };
    format!("{} {value}", plain(name))
}

/// Returns what an action does as the trace tells it: its title, and whether what a command does cannot be taken back.
pub fn told(action: &Action, facts: &Facts) -> String {
    let end = if action.tool() == "shell" && facts.not_undoable.is_some() { NOT_UNDOABLE } else { "" };
    format!("{}{end}", title(action, facts))
}

/// Returns text of others between quotation marks of ours, of which it has none itself.
fn quoted(text: &str) -> String {
    format!("“{}”", plain(text).replace(['“', '”'], "\""))
}

/// Returns text of others as one bounded line in which nothing hides.
fn plain(text: &str) -> String {
    clip(&plain_long(text), QUOTED)
}

fn plain_long(text: &str) -> String {
    // What is far behind the cut need not be looked at.
    let start: String = text.chars().take(LONGEST * 20).collect();
    // Masked before it is cut: half of a key is known by no shape.
    let start: String = mask_shown(&start).chars().take(LONGEST * 2).collect();
    exact(&start.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns a path as it was asked for; of a long or absolute one its end, since the plan shows the whole.
fn path(asked: &str) -> String {
    let asked = mask_shown(asked.trim());
    let parts: Vec<&str> = asked.split('/').collect();
    let shown = match parts.as_slice() {
        ["", _, .., parent, name] => format!("…/{parent}/{name}"),
        _ => asked.clone(),
    };
    let count = shown.chars().count();
    let shown = match count > QUOTED {
        true => format!("…{}", shown.chars().skip(count - QUOTED).collect::<String>()),
        false => shown,
    };
    plain_long(&shown)
}

fn lines(content: &str) -> String {
    match content.lines().count() {
        0 => "empty".to_string(),
        count => counted(count, "line"),
    }
}

fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_string(),
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or("").trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::label::Labels;
    use crate::domain::tool::Toolbox;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn titled(tool: &str, args: Value, titles: &[(&str, &str)]) -> String {
        let args = args.as_object().cloned().expect("an object");
        let action = Action::new(&Toolbox::builtin(), tool, args, Some("To test it."), Labels::MODEL);
        let titles = titles.iter().map(|(arg, title)| (arg.to_string(), title.to_string())).collect();
        title(&action.expect("well-formed"), &Facts { titles, ..Facts::default() })
    }

    #[test]
    fn titles_say_in_words_what_happens() {
        let named = [("id", "Order tiles"), ("parent", "Errands")];
        for (tool, args, said) in [
            (
                "org-add-heading",
                json!({"title": "Call the bank", "todo": "TODO", "parent": "e1", "scheduled": "2026-03-04"}),
                "Add TODO “Call the bank” under “Errands”, scheduled 2026-03-04",
            ),
            (
                "org-add-heading",
                json!({"title": "Bank", "file": "/home/me/org/inbox.org"}),
                "Add “Bank” at the end of …/org/inbox.org",
            ),
            ("org-set-todo", json!({"id": "t", "state": "DONE"}), "Mark “Order tiles” DONE"),
            ("org-set-todo", json!({"id": "t", "state": ""}), "Take the keyword off “Order tiles”"),
            (
                "org-set-property",
                json!({"id": "t", "property": "EFFORT", "value": "1h"}),
                "Set EFFORT of “Order tiles” to “1h”",
            ),
            ("org-set-property", json!({"id": "t", "property": "EFFORT"}), "Take EFFORT off “Order tiles”"),
            ("org-schedule", json!({"id": "t", "when": "2026-03-04"}), "Schedule “Order tiles” for 2026-03-04"),
            ("org-schedule", json!({"id": "t", "kind": "deadline"}), "Take the deadline off “Order tiles”"),
            (
                "org-schedule",
                json!({"id": "t", "when": "2026-03-04", "deadline": "2026-03-06"}),
                "Schedule “Order tiles” for 2026-03-04 and set its deadline to 2026-03-06",
            ),
            (
                "org-schedule",
                json!({"id": "t", "deadline": "2026-03-06"}),
                "Set the deadline of “Order tiles” to 2026-03-06",
            ),
            ("org-schedule", json!({"id": "t", "deadline": ""}), "Take the deadline off “Order tiles”"),
            (
                "org-schedule",
                json!({"id": "t", "kind": "scheduled", "deadline": ""}),
                "Take the date off “Order tiles” and take its deadline off",
            ),
            ("org-move", json!({"id": "t", "parent": "e1"}), "Move “Order tiles” under “Errands”"),
            ("org-move", json!({"id": "t", "file": "done.org"}), "Move “Order tiles” to the end of done.org"),
            ("write-file", json!({"path": "notes.txt", "content": "a\nb\n"}), "Write notes.txt (2 lines)"),
            ("write-file", json!({"path": "/etc/passwd", "content": "a"}), "Write /etc/passwd (1 line)"),
            ("shell", json!({"command": "make test\nrm x"}), "Run: make test rm x"),
            ("memory-search", json!({"query": "tiles"}), "Search memory for “tiles”"),
        ] {
            assert_eq!(titled(tool, args, &named), said);
        }
        assert_eq!(titled("org-set-todo", json!({"id": "t", "state": "DONE"}), &[]), "Mark “t” DONE");
    }

    #[test]
    fn what_is_quoted_cannot_end_its_quotation_or_hide() {
        let said = titled("org-set-todo", json!({"id": "a” DONE, then “b", "state": "TODO"}), &[]);
        assert_eq!(said, "Mark “a\" DONE, then \"b” TODO");
        let said = titled("shell", json!({"command": "ls \u{202e}txt\u{200b}"}), &[]);
        assert_eq!(said, "Run: ls \\u{202E}txt\\u{200B}");
    }

    proptest! {
        #[test]
        fn a_title_is_one_bounded_line(text in any::<String>()) {
            let said = titled("org-add-heading", json!({"title": text, "file": text, "todo": text}), &[]);
            prop_assert!(!said.contains(['\n', '\t']) && said.chars().count() <= LONGEST + 1, "{said}");
        }
    }
}
