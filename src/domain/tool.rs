//! What can be called: the closed table of tools.

use crate::domain::action::Target;

/// What a tool does to the world. There is no default: whoever adds a tool must say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Speaks to the user in the conversation.
    Reply,
    /// Reads memory.
    ReadMemory,
    /// Reads a file.
    ReadFile,
    /// Changes an Org file through a structural edit.
    EditOrg,
    /// Writes a file.
    WriteFile,
    /// Runs a command.
    Execute,
    /// Evaluates Lisp.
    Evaluate,
    /// Sends words to somebody, or to a provider.
    Send,
}

impl Effect {
    /// Returns whether it may change what another act was judged on.
    pub fn changes(self) -> bool {
        match self {
            Effect::Reply | Effect::ReadMemory | Effect::ReadFile => false,
            Effect::EditOrg | Effect::WriteFile | Effect::Execute | Effect::Evaluate | Effect::Send => true,
        }
    }
}

/// Returns whether a message's `to` means the user, who alone can be reached in this version.
pub fn is_user(to: Option<&str>) -> bool {
    matches!(to.unwrap_or("user").trim().to_ascii_lowercase().as_str(), "" | "user" | "me" | "you")
}

/// The type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A whole number.
    Number,
    /// True or false.
    Flag,
    /// A list of texts.
    Texts,
}

impl Kind {
    /// Returns the words for an error.
    pub fn phrase(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Number => "a whole number",
            Kind::Flag => "true or false",
            Kind::Texts => "a list of texts",
        }
    }
}

/// One argument of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Whether it must be there.
    pub required: bool,
    /// What it is, for the model.
    pub summary: &'static str,
}

/// One tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// What it does, for the model.
    pub summary: &'static str,
    /// Its arguments.
    pub params: &'static [Param],
    /// What it does to the world.
    pub effect: Effect,
    /// Where it is carried out.
    pub target: Target,
    /// The arguments that are paths of files.
    pub paths: &'static [&'static str],
    /// Whether models are told of it.
    pub offered: bool,
}

const fn need(name: &'static str, summary: &'static str) -> Param {
    Param { name, kind: Kind::Text, required: true, summary }
}

const fn may(name: &'static str, kind: Kind, summary: &'static str) -> Param {
    Param { name, kind, required: false, summary }
}

const fn list(name: &'static str, summary: &'static str) -> Param {
    Param { name, kind: Kind::Texts, required: true, summary }
}

/// The tool that takes changes back; only a human's own command reaches it.
pub const RESTORE: &str = "restore";

/// Every tool there is.
const TOOLS: &[Tool] = &[
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
            may("limit", Kind::Number, "how many at most; 10 without"),
        ],
        effect: Effect::ReadMemory,
        target: Target::Tool,
        paths: &[],
        offered: true,
    },
    Tool {
        name: "memory-read",
        summary: "Read one heading of memory in full, with what stands below it.",
        params: &[need("id", "the heading's id, as memory-search or the outline gives it")],
        effect: Effect::ReadMemory,
        target: Target::Tool,
        paths: &[],
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
            may("tags", Kind::Texts, "tags"),
            may("scheduled", Kind::Text, "date (YYYY-MM-DD) or date and time (YYYY-MM-DD HH:MM)"),
            may("deadline", Kind::Text, "date (YYYY-MM-DD) or date and time (YYYY-MM-DD HH:MM)"),
        ],
        effect: Effect::EditOrg,
        target: Target::Tool,
        paths: &["file"],
        offered: true,
    },
    Tool {
        name: "org-set-todo",
        summary: "Set or remove the keyword of a heading.",
        params: &[need("id", "the heading's id"), need("state", "a keyword of the file, or the empty text for none")],
        effect: Effect::EditOrg,
        target: Target::Tool,
        paths: &[],
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
        offered: true,
    },
    Tool {
        name: "org-schedule",
        summary: "Set or remove when a heading is scheduled, or its deadline, or both in one call.",
        params: &[
            need("id", "the heading's id"),
            may("kind", Kind::Text, "which date “when” is: scheduled (without) or deadline"),
            may("when", Kind::Text, "YYYY-MM-DD or YYYY-MM-DD HH:MM, perhaps a repeater; absent removes it"),
            may("deadline", Kind::Text, "the deadline, when both dates are set; the empty text removes it"),
        ],
        effect: Effect::EditOrg,
        target: Target::Tool,
        paths: &[],
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
        offered: true,
    },
    Tool {
        name: "read-file",
        summary: "Read a text file of the project or the memex.",
        params: &[need("path", "the file")],
        effect: Effect::ReadFile,
        target: Target::Tool,
        paths: &["path"],
        offered: true,
    },
    Tool {
        name: "write-file",
        summary: "Write a text file of the project or the memex, whole.",
        params: &[need("path", "the file"), need("content", "its new text")],
        effect: Effect::WriteFile,
        target: Target::Tool,
        paths: &["path"],
        offered: true,
    },
    Tool {
        name: "shell",
        summary: "Run a command in the project, confined: no network, nothing outside the project can be written.",
        params: &[need("command", "the command line, for bash")],
        effect: Effect::Execute,
        target: Target::Shell,
        paths: &[],
        offered: true,
    },
    Tool {
        name: "message",
        summary: "Say something to the user while you work; an answer needs no call.",
        params: &[need("text", "what to say"), may("to", Kind::Text, "whom; only the user can be reached")],
        effect: Effect::Reply,
        target: Target::Cli,
        paths: &[],
        offered: true,
    },
    Tool {
        name: "eval-lisp",
        summary: "Evaluate Emacs Lisp in the confined worker.",
        params: &[need("code", "the Lisp")],
        effect: Effect::Evaluate,
        target: Target::Emacs,
        paths: &[],
        offered: false,
    },
    Tool {
        name: RESTORE,
        summary: "Take back what changed files, and keep what was written by hand since.",
        params: &[
            need("kind", "undo, redo or rewind"),
            list("changes", "the changes to take back, newest first"),
            list("files", "the files that they changed"),
            may("to", Kind::Text, "the operation to go back to, for a rewind"),
        ],
        effect: Effect::WriteFile,
        target: Target::System,
        paths: &["files"],
        offered: false,
    },
    Tool {
        name: "contact-provider",
        summary: "Send the first request to a model provider that is not local.",
        params: &[need("provider", "its name"), need("url", "where it is"), need("sent", "what would be sent")],
        effect: Effect::Send,
        target: Target::System,
        paths: &[],
        offered: false,
    },
];

/// The tools of this session; a closed set.
#[derive(Clone, Copy, Debug)]
pub struct Toolbox(&'static [Tool]);

impl Toolbox {
    /// Returns every tool of this program.
    pub const fn builtin() -> Toolbox {
        Toolbox(TOOLS)
    }

    /// Finds a tool by its name, exactly.
    pub fn get(&self, name: &str) -> Option<&'static Tool> {
        self.0.iter().find(|tool| tool.name == name)
    }

    /// Returns the tools that models are told of.
    pub fn offered(&self) -> impl Iterator<Item = &'static Tool> {
        self.0.iter().filter(|tool| tool.offered)
    }

    /// Returns every tool.
    pub fn all(&self) -> impl Iterator<Item = &'static Tool> {
        self.0.iter()
    }

    /// Returns the names that models are told of.
    pub fn names(&self) -> Vec<&'static str> {
        self.offered().map(|tool| tool.name).collect()
    }
}
