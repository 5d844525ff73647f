//! The closed table of builtin tools. What a tool is stands in `tool.rs`.

use super::{Effect, Kind, Limits, Param, RESTORE, Tool};
use crate::domain::action::Target;

/// The most entries of a list that no tool bounds more narrowly.
const MANY: usize = 10_000;
/// A list of tags.
const TAGS: Kind = Kind::Texts { most: 64 };

const fn need(name: &'static str, summary: &'static str) -> Param {
    Param { name, kind: Kind::Text, required: true, summary }
}

const fn may(name: &'static str, kind: Kind, summary: &'static str) -> Param {
    Param { name, kind, required: false, summary }
}

const fn list(name: &'static str, summary: &'static str) -> Param {
    Param { name, kind: Kind::Texts { most: MANY }, required: true, summary }
}

const fn one_of(name: &'static str, words: &'static [&'static str], summary: &'static str) -> Param {
    Param { name, kind: Kind::OneOf(words), required: true, summary }
}

/// Every tool there is.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "memory-search",
        summary: "Search the user's Org memory; answers headings with their ids.",
        params: &[
            need(
                "query",
                "plain words, or terms: \"exact phrase\", tag:x, todo:TODO (open, done), deadline:<2026-12-01, \
                 scheduled:today, modified:-7d, prop:KEY=value, priority:A, file:name, under:id, links:id, backlinks:id, \
                 similar:id, sort:deadline; side by side all must fit; or, -term and (groups) combine them",
            ),
            may("limit", Kind::Number { least: 1, most: 50 }, "how many at most; 10 without"),
        ],
        effect: Effect::ReadMemory,
        target: Target::Tool,
        paths: &[],
        hosts: &[],
        limits: Limits::USUAL,
        offered: true,
    },
    Tool {
        name: "memory-read",
        summary: "Read one heading of memory in full, with what stands below it.",
        params: &[need("id", "the heading's id, as memory-search or the outline gives it")],
        effect: Effect::ReadMemory,
        target: Target::Tool,
        paths: &[],
        hosts: &[],
        limits: Limits::USUAL,
        offered: true,
    },
    Tool {
        name: "org-add-heading",
        summary: "Add a heading under another one, or at the end of an Org file.",
        params: &[
            need("title", "the new heading's title"),
            may("parent", Kind::Text, "id of the heading to put it under"),
            may("file", Kind::Text, "the Org file, when there is no parent"),
            may("todo", Kind::Text, "keyword, such as TODO"),
            may("body", Kind::Text, "text below the heading"),
            may("tags", TAGS, "tags"),
            may("scheduled", Kind::Text, "date (YYYY-MM-DD) or date and time (YYYY-MM-DD HH:MM)"),
            may("deadline", Kind::Text, "date (YYYY-MM-DD) or date and time (YYYY-MM-DD HH:MM)"),
        ],
        effect: Effect::EditOrg,
        target: Target::Tool,
        paths: &["file"],
        hosts: &[],
        limits: Limits::USUAL,
        offered: true,
    },
    Tool {
        name: "org-set-todo",
        summary: "Set or remove the keyword of a heading.",
        params: &[need("id", "the heading's id"), need("state", "a keyword of the file, or the empty text for none")],
        effect: Effect::EditOrg,
        target: Target::Tool,
        paths: &[],
        hosts: &[],
        limits: Limits::USUAL,
        offered: true,
    },
    Tool {
        name: "org-set-property",
        summary: "Set or remove a property of a heading.",
        params: &[
            need("id", "the heading's id"),
            need("property", "the property's name"),
            may("value", Kind::Text, "its value; absent removes it"),
        ],
        effect: Effect::EditOrg,
        target: Target::Tool,
        paths: &[],
        hosts: &[],
        limits: Limits::USUAL,
        offered: true,
    },
    Tool {
        name: "org-schedule",
        summary: "Set or remove when a heading is scheduled, or its deadline, or both in one call.",
        params: &[
            need("id", "the heading's id"),
            may(
                "kind",
                Kind::OneOf(&["scheduled", "deadline"]),
                "which date “when” is: scheduled (without) or deadline",
            ),
            may("when", Kind::Text, "YYYY-MM-DD or YYYY-MM-DD HH:MM, perhaps a repeater; absent removes it"),
            may("deadline", Kind::Text, "the deadline, when both dates are set; the empty text removes it"),
        ],
        effect: Effect::EditOrg,
        target: Target::Tool,
        paths: &[],
        hosts: &[],
        limits: Limits::USUAL,
        offered: true,
    },
    Tool {
        name: "org-move",
        summary: "Move a heading with all below it under another heading, or to the end of an Org file.",
        params: &[
            need("id", "the heading's id"),
            may("parent", Kind::Text, "id of the heading to put it under"),
            may("file", Kind::Text, "the Org file, when there is no parent"),
        ],
        effect: Effect::EditOrg,
        target: Target::Tool,
        paths: &["file"],
        hosts: &[],
        limits: Limits::USUAL,
        offered: true,
    },
    Tool {
        name: "read-file",
        summary: "Read a text file of the project or the memex.",
        params: &[need("path", "the file")],
        effect: Effect::ReadFile,
        target: Target::Tool,
        paths: &["path"],
        hosts: &[],
        limits: Limits::USUAL,
        offered: true,
    },
    Tool {
        name: "write-file",
        summary: "Write a text file of the project or the memex, whole.",
        params: &[need("path", "the file"), need("content", "its new text")],
        effect: Effect::WriteFile,
        target: Target::Tool,
        paths: &["path"],
        hosts: &[],
        limits: Limits::USUAL,
        offered: true,
    },
    Tool {
        name: "shell",
        summary: "Run a command in the project, confined: no network, nothing outside the project can be written.",
        params: &[need("command", "the command line, for bash")],
        effect: Effect::Execute,
        target: Target::Shell,
        paths: &[],
        hosts: &[],
        limits: Limits::USUAL,
        offered: true,
    },
    Tool {
        name: "message",
        summary: "Say something to the user while you work; an answer needs no call.",
        params: &[need("text", "what to say"), may("to", Kind::Text, "whom; only the user can be reached")],
        effect: Effect::Reply,
        target: Target::Cli,
        paths: &[],
        hosts: &[],
        limits: Limits::USUAL,
        offered: true,
    },
    Tool {
        name: "eval-lisp",
        summary: "Evaluate Emacs Lisp in the confined worker.",
        params: &[need("code", "the Lisp")],
        effect: Effect::Evaluate,
        target: Target::Emacs,
        paths: &[],
        hosts: &[],
        limits: Limits::USUAL,
        offered: false,
    },
    Tool {
        name: RESTORE,
        summary: "Take back what changed files, and keep what was written by hand since.",
        params: &[
            one_of("kind", &["undo", "redo", "rewind"], "undo, redo or rewind"),
            list("changes", "the changes to take back, newest first"),
            list("files", "the files that they changed"),
            may("to", Kind::Text, "the operation to go back to, for a rewind"),
        ],
        effect: Effect::WriteFile,
        target: Target::System,
        paths: &["files"],
        hosts: &[],
        limits: Limits::USUAL,
        offered: false,
    },
    Tool {
        name: "contact-provider",
        summary: "Send the first request to a model provider that is not local.",
        params: &[need("provider", "its name"), need("url", "where it is"), need("sent", "what would be sent")],
        effect: Effect::Send,
        target: Target::System,
        paths: &[],
        hosts: &["url"],
        limits: Limits::USUAL,
        offered: false,
    },
];
