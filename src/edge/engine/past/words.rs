//! Blame in words and as JSON.

use crate::domain::inert::exact;
use crate::edge::clock::local;
use crate::edge::engine::past::Blame;
use crate::edge::engine::past::blame::LET_GO;
use serde_json::{Value, json};

/// Returns blame as lines for people.
pub fn blame_text(heading: &str, found: &[Blame]) -> String {
    let mut out = format!("{}\n", exact(heading));
    for Blame { operation, at, what, author } in found {
        let at = local(*at).strftime("%Y-%m-%d %H:%M:%S");
        if *what == LET_GO {
            out.push_str(&format!("{at}  it stood so already (operation {}); {}\n", operation.0, exact(&author.by)));
            continue;
        }
        out.push_str(&format!("{at}  {what}: {} (operation {})\n", exact(&author.by), operation.0));
        for (name, value) in [
            ("request", &author.request),
            ("model", &author.model),
            ("plan", &author.plan),
            ("approved by", &author.approver),
        ] {
            if let Some(value) = value {
                out.push_str(&format!("    {name}: {}\n", exact(value).replace('\n', " ")));
            }
        }
    }
    if found.is_empty() {
        out.push_str("Nothing is known of it: memory has taken in no version of its file yet.\n");
    }
    out
}

/// Returns blame as JSON.
pub fn blame_json(heading: &str, found: &[Blame]) -> Value {
    let one = |blame: &Blame| {
        json!({
            "operation": blame.operation.0, "at": blame.at.to_string(), "what": blame.what, "by": blame.author.by,
            "request": blame.author.request, "model": blame.author.model, "plan": blame.author.plan,
            "approver": blame.author.approver,
        })
    };
    json!({ "heading": heading, "changes": found.iter().map(one).collect::<Vec<_>>() })
}
