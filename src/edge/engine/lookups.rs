//! Commands that look something up with a tool: the same judging and the same labels as for a model, and no model.

use crate::domain::action::Action;
use crate::domain::id::TurnId;
use crate::domain::label::{Labels, Privacy};
use crate::domain::port::{Sink, Streamed};
use crate::domain::tool::{SETTING_EXPLAIN, SETTING_UNDO};
use crate::edge::engine::Engine;
use crate::edge::engine::record::Finished;
use crate::edge::engine::turns::Ask;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What may be asked of `memory-report`, besides the counts.
const PARTS: [&str; 4] = ["orphans", "oldest", "largest", "changed"];

/// A tool, and its arguments.
type Lookup = (&'static str, Map<String, Value>);

/// Reads a command that looks something up. `None` for another command.
///
/// # Errors
/// How it is written.
fn lookup(command: &str) -> Option<Result<Lookup, String>> {
    let (word, rest) = command.trim().split_once(char::is_whitespace).unwrap_or((command.trim(), ""));
    let rest = rest.trim();
    Some(match word {
        "report" => {
            let (part, more) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            match (part, more.trim()) {
                ("" | "counts", "") => Ok(("memory-report", args(&[]))),
                ("changed", since) if !since.is_empty() => {
                    let since = since.strip_prefix("since ").unwrap_or(since);
                    Ok(("memory-report", args(&[("part", "changed"), ("since", since)])))
                }
                (part, "") if PARTS.contains(&part) && part != "changed" => {
                    Ok(("memory-report", args(&[("part", part)])))
                }
                _ => Err("write /report, /report orphans, /report oldest, /report largest, or /report changed since \
                          tuesday"
                    .to_string()),
            }
        }
        "inbox" if rest.is_empty() => Ok(("inbox-propose", args(&[]))),
        "inbox" => Ok(("inbox-propose", args(&[("file", rest)]))),
        "links" if rest.is_empty() => Ok(("links-suggest", args(&[]))),
        "links" => Ok(("links-suggest", args(&[("id", rest)]))),
        "help" if !rest.is_empty() => Ok(("manual-search", args(&[("query", rest)]))),
        "settings" => match rest.split_once(char::is_whitespace).unwrap_or((rest, "")) {
            ("", _) => Ok((SETTING_EXPLAIN, args(&[]))),
            ("undo", "") => Ok((SETTING_UNDO, args(&[]))),
            ("undo", change) => Ok((SETTING_UNDO, args(&[("change", change.trim())]))),
            _ => Ok((SETTING_EXPLAIN, args(&[("query", rest)]))),
        },
        "garden" if rest.is_empty() => Ok(("memory-garden", args(&[]))),
        "garden" => Err("write /garden".to_string()),
        "undistilled" if rest.is_empty() => Ok(("notes-undistilled", args(&[]))),
        "undistilled" => {
            let since = rest.strip_prefix("since ").unwrap_or(rest);
            Ok(("notes-undistilled", args(&[("since", since)])))
        }
        _ => return None,
    })
}

fn args(named: &[(&str, &str)]) -> Map<String, Value> {
    named.iter().map(|(name, value)| (name.to_string(), Value::String(value.to_string()))).collect()
}

impl Engine {
    /// Carries out a command that looks something up; `None` for another one.
    pub(super) async fn looked_up(
        self: &Arc<Self>,
        ask: &Ask,
        command: &str,
        turn: TurnId,
        sink: Sink<'_>,
    ) -> Option<Finished> {
        let began = self.clock.now();
        let action = lookup(command)?.and_then(|(tool, args)| {
            let why = Some("You asked for it.");
            Action::new(&self.toolbox(), tool, args, why, Labels::USER).map_err(|wrong| wrong.0)
        });
        let action = match action {
            Ok(action) => action,
            Err(why) => return Some(self.answered(ask, turn, began, format!("Nothing was looked up: {why}."), sink)),
        };
        let finished = self.commanded(&ask.origin, turn, format!("/{}", command.trim()), action).await;
        // What was shown stands in the chat from here on.
        let privacy = finished.report.conversation.labels.privacy;
        if privacy > Privacy::Open {
            self.mark_private(&ask.origin.session, privacy);
        }
        sink(Streamed::Text(&finished.report.text));
        Some(finished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_something_up_is_read_and_what_is_written_otherwise_is_said() {
        let check = |command: &str, expected: &str| {
            let said = match lookup(command) {
                None => "another".to_string(),
                Some(Err(why)) => why,
                Some(Ok((tool, args))) => format!("{tool} {}", Value::Object(args)),
            };
            assert!(said.contains(expected), "{command}: {said}");
        };
        check("report", "memory-report {}");
        check("report orphans", r#"{"part":"orphans"}"#);
        check("report changed since last tuesday", r#""since":"last tuesday""#);
        check("report changed -3d", r#""since":"-3d""#);
        check("report changed", "write /report");
        check("report all", "write /report");
        check("report orphans now", "write /report");
        check("garden", "memory-garden {}");
        check("garden all", "write /garden");
        check("undistilled", "notes-undistilled {}");
        check("undistilled since monday", r#"{"since":"monday"}"#);
        check("inbox", "inbox-propose {}");
        check("inbox ~/in.org", r#"{"file":"~/in.org"}"#);
        check("links", "links-suggest {}");
        check("links boat", r#"{"id":"boat"}"#);
        check("help", "another");
        check("help flight plans", r#"manual-search {"query":"flight plans"}"#);
        check("settings", "setting-explain {}");
        check("settings plan hours", r#"setting-explain {"query":"plan hours"}"#);
        check("settings undo", "setting-undo {}");
        check("settings undo abc", r#"setting-undo {"change":"abc"}"#);
        check("reports", "another");
        check("undo", "another");
    }
}
