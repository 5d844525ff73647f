//! What can be called: what a tool declares, the closed table of builtin ones, and those of the user's own beside it.

pub mod own;
pub mod server;
mod table;

use crate::domain::action::Target;
use crate::domain::label::Privacy;
use crate::domain::outside::{Outside, Piece};
use own::Own;
use std::sync::Arc;
use table::TOOLS;

/// The five classes of effect, by which permissions and people speak of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Touches nothing but the conversation.
    Pure,
    /// Looks, and changes nothing.
    Read,
    /// Changes files, notes, or what the user's windows show.
    Write,
    /// Runs a program or evaluates Lisp.
    Execute,
    /// Sends something off this machine.
    Network,
}

impl Class {
    /// Every class.
    pub const ALL: [Class; 5] = [Class::Pure, Class::Read, Class::Write, Class::Execute, Class::Network];

    /// Returns the word for people and for the wire.
    pub fn name(self) -> &'static str {
        match self {
            Class::Pure => "pure",
            Class::Read => "read",
            Class::Write => "write",
            Class::Execute => "execute",
            Class::Network => "network",
        }
    }

    /// Finds a class by its word, exactly.
    pub fn parse(text: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.name() == text)
    }
}

/// What a tool does to the world. There is no default: whoever adds a tool must say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Speaks to the user in the conversation.
    Reply,
    /// Reads memory.
    ReadMemory,
    /// Reads files: their text, their names, or what git says of them.
    ReadFile,
    /// Asks the user's editor what it knows.
    ReadEditor,
    /// Changes an Org file through a structural edit.
    EditOrg,
    /// Writes a file.
    WriteFile,
    /// Makes a commit.
    Commit,
    /// Moves what the windows of the user's editor show.
    ShowInEditor,
    /// Runs a command.
    Execute,
    /// Evaluates Lisp.
    Evaluate,
    /// Sends words to somebody, or to a provider.
    Send,
    /// Fetches something from a host of the network, which learns what was asked for.
    Fetch,
    /// Hands work over to a turn of its own, in which everything is judged as in any other.
    Delegate,
    /// Changes a setting of the agent's own: which providers are asked, or an option of the user's Emacs.
    Configure,
    /// What a tool of the user's own does, as they declared it.
    Custom(Class),
}

/// The tools that read or change all that stands below the heading which their `id` names.
const WHOLE: [&str; 6] = ["memory-read", "org-outline", RENDER, "org-move", "org-archive", "org-refactor"];

impl Tool {
    /// Returns whether it reads or changes all that stands below the heading that its `id` names.
    pub fn takes_whole(&self) -> bool {
        WHOLE.contains(&self.name)
    }
}

impl Effect {
    /// Returns the class of an effect.
    pub fn class(self) -> Class {
        match self {
            Effect::Reply | Effect::Delegate => Class::Pure,
            Effect::ReadMemory | Effect::ReadFile | Effect::ReadEditor => Class::Read,
            Effect::EditOrg | Effect::WriteFile | Effect::Commit | Effect::ShowInEditor | Effect::Configure => {
                Class::Write
            }
            Effect::Execute | Effect::Evaluate => Class::Execute,
            Effect::Send | Effect::Fetch => Class::Network,
            Effect::Custom(class) => class,
        }
    }

    /// Returns whether it may change what another act was judged on.
    pub fn changes(self) -> bool {
        match self.class() {
            Class::Pure | Class::Read => false,
            Class::Write | Class::Execute | Class::Network => true,
        }
    }
}

/// How long what a tool answered may stand for its answer to the same question, in the same turn. There is no default.
///
/// Whatever changes something in the turn ends all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stands {
    /// Not at all: it changes something, or looks at what its facts do not name, so that the user or another program
    /// may have changed it meanwhile.
    Never,
    /// While memory and what the user narrowed it to are the same.
    WithMemory,
    /// While the exact bytes of the files in its facts are the same, and Emacs has none of them open.
    WithFiles,
}

/// How long a tool may take, and how much it may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Seconds on the wall. A write that has begun is not cut off by it: it ends, and says what it did.
    pub seconds: u64,
    /// Characters of what it says; the middle of more is left out.
    pub characters: usize,
}

impl Limits {
    /// 30 seconds, and 100,000 characters.
    pub const USUAL: Limits = Limits { seconds: 30, characters: 100_000 };
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
    /// One of these words, exactly.
    OneOf(&'static [&'static str]),
    /// A whole number.
    Number {
        /// The least that it may be.
        least: i64,
        /// The most that it may be.
        most: i64,
    },
    /// True or false.
    Flag,
    /// A list of texts.
    Texts {
        /// The most that there may be.
        most: usize,
    },
}

impl Kind {
    /// Returns the words for an error: what an argument of this type must be.
    pub fn phrase(self) -> String {
        match self {
            Kind::Text => "text".to_string(),
            Kind::OneOf(words) => format!("one of: {}", words.join(", ")),
            Kind::Number { least, most } => format!("a whole number from {least} to {most}"),
            Kind::Flag => "true or false".to_string(),
            Kind::Texts { most } => format!("a list of at most {most} texts"),
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
    /// How long an answer of it stands.
    pub stands: Stands,
    /// Where it is carried out.
    pub target: Target,
    /// The arguments that are paths of files.
    pub paths: &'static [&'static str],
    /// The arguments that are hosts or addresses of the network.
    pub hosts: &'static [&'static str],
    /// How long it may take, and how much it may say.
    pub limits: Limits,
    /// In which turns models are told of it.
    pub offered: Offered,
}

/// In which turns models are told of a tool. There is no default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// In all, unless a skill or a preset narrows them.
    Always,
    /// In those of a skill that lists it: its words stand in no other prompt, and in no other turn is it called.
    BySkill,
    /// In none; only a human's own command reaches it.
    Never,
}

/// The tool that takes changes back; only a human's own command reaches it.
pub const RESTORE: &str = "restore";

/// The tool by which the user confirms what loosens; only a human's own command reaches it, and only Emacs approves it.
pub const CONFIRM: &str = "confirm-rule";
/// The tool that gives a heading the id that it lacks.
pub const ADD_ID: &str = "org-add-id";
/// The tool that sets a keyword of a file, such as its title.
pub const SET_KEYWORD: &str = "org-set-keyword";
/// The tool that reads headings as plain text.
pub const RENDER: &str = "org-render";
/// The tool that writes into the log of a job's heading that it ran.
pub const LOG_JOB: &str = "job-log";

/// The tool that reads a skill: one of the common format, or one of the user's own with what became of it.
pub const SKILL_READ: &str = "skill-read";

/// The tool that makes a skill of the user's own.
pub const CREATE_SKILL: &str = "create-skill";

/// The tool that changes a skill of the user's own.
pub const EDIT_SKILL: &str = "edit-skill";

/// The tool that sets which providers are asked.
pub const SET_CASCADE: &str = "set-cascade";

/// The tool that says what a setting of the user's Emacs is.
pub const SETTING_EXPLAIN: &str = "setting-explain";

/// The tool that changes one setting of the user's Emacs.
pub const SETTING_CHANGE: &str = "setting-change";

/// The tool that puts back a setting that was changed so.
pub const SETTING_UNDO: &str = "setting-undo";

/// The tool that hands work over to a turn in the background.
pub const DELEGATE: &str = "delegate-task";

/// Returns whether a tool writes skills, which decide what the model is told and may tighten what it may do.
pub fn writes_skills(name: &str) -> bool {
    matches!(name, CREATE_SKILL | EDIT_SKILL)
}

/// Returns whether what a tool would do may be approved in the user's Emacs alone, whatever other channels may approve.
pub fn approved_in_emacs_alone(name: &str) -> bool {
    matches!(name, CONFIRM | SET_CASCADE | SETTING_CHANGE | SETTING_UNDO) || writes_skills(name)
}

/// The tool that stands for the first contact with an embedding server that is not local; only a human's own command
/// reaches it.
pub const CONTACT_EMBEDDER: &str = "contact-embedder";

/// How the user's rules name a tool of their own: it may be declared at another time, or not in this session.
pub const OWN_PREFIX: &str = "own:";

/// What a word of the user's rules names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// A builtin tool.
    Builtin(&'static Tool),
    /// A tool of the user's own by its bare name, whether it is declared now or not.
    Own(String),
    /// Nothing.
    Nothing,
}

/// The tools of this session: the closed table, those that the user's Emacs declared, and those that servers lend.
#[derive(Clone, Debug, Default)]
pub struct Toolbox {
    own: Arc<[Own]>,
    /// What servers say of their tools: text from outside that every prompt holds.
    described: Outside,
}

impl Toolbox {
    /// Returns every tool of this program.
    pub fn builtin() -> Toolbox {
        Toolbox::default()
    }

    /// Returns the same with a tool of the user's own, in place of one of that name that they declared before.
    /// The name of a builtin one cannot be taken: [`own::Definition::read`] refuses it.
    pub fn with(&self, own: Own) -> Toolbox {
        let name = own.tool().name;
        let kept = self.own.iter().filter(|known| known.tool().name != name).cloned();
        Toolbox { own: kept.chain([own]).collect(), ..self.clone() }
    }

    /// Returns the same with these tools of a server, in place of all that it lent before.
    pub fn lent_by(&self, server: &str, tools: Vec<Own>) -> Toolbox {
        let is_its = |own: &Own| own.served().is_some_and(|served| served.server == server);
        let own: Arc<[Own]> = self.own.iter().filter(|own| !is_its(own)).cloned().chain(tools).collect();
        let mut described = Outside::default();
        let mut servers: Vec<&str> = own.iter().filter_map(|own| Some(own.served()?.server.as_str())).collect();
        servers.dedup();
        for name in servers {
            let its = own.iter().filter(|own| own.served().is_some_and(|served| served.server == name));
            let texts: Vec<String> = its.map(|own| server::told(own.tool())).collect();
            let source = format!("what the MCP server {name} says of its tools");
            described.take(&Piece::new(&source, &texts.join("\n"), Privacy::Open));
        }
        Toolbox { own, described }
    }

    /// Returns what servers say of the tools that they lend, which every prompt holds.
    pub fn described(&self) -> &Outside {
        &self.described
    }

    /// Returns the same without a tool of the user's own.
    pub fn without(&self, name: &str) -> Toolbox {
        let own = self.own.iter().filter(|known| known.tool().name != name).cloned().collect();
        Toolbox { own, ..self.clone() }
    }

    /// Returns the tools of the user's own, and those of servers, in the order in which they came.
    pub fn own(&self) -> &[Own] {
        &self.own
    }

    /// Returns the name of exactly this declaration of a tool of the user's own; `None` for what is none of them.
    pub fn definition(&self, name: &str) -> Option<[u8; 32]> {
        self.own.iter().find(|known| known.tool().name == name).map(Own::definition)
    }

    /// Finds a tool by its name, exactly.
    pub fn get(&self, name: &str) -> Option<&'static Tool> {
        self.all().find(|tool| tool.name == name)
    }

    /// Returns what a word of the user's rules names, without regard to case.
    pub fn named(word: &str) -> Named {
        if let Some(name) = word.get(..OWN_PREFIX.len()).filter(|prefix| prefix.eq_ignore_ascii_case(OWN_PREFIX)) {
            let name = word.get(name.len()..).unwrap_or("").to_ascii_lowercase();
            return if (own::is_name(&name) || server::is_name(&name)) && !is_builtin(&name) {
                Named::Own(name)
            } else {
                Named::Nothing
            };
        }
        let found = TOOLS.iter().find(|tool| tool.name.eq_ignore_ascii_case(word));
        found.map_or(Named::Nothing, Named::Builtin)
    }

    /// Returns the tools that models are told of in a turn of no skill.
    pub fn offered(&self) -> impl Iterator<Item = &'static Tool> {
        self.all().filter(|tool| tool.offered == Offered::Always)
    }

    /// Returns every tool.
    pub fn all(&self) -> impl Iterator<Item = &'static Tool> {
        TOOLS.iter().chain(self.own.iter().map(Own::tool))
    }

    /// Returns the names of those that models may be told of in some turn.
    pub fn names(&self) -> Vec<&'static str> {
        self.all().filter(|tool| tool.offered != Offered::Never).map(|tool| tool.name).collect()
    }
}

/// Returns whether a name is that of a builtin tool, without regard to case.
fn is_builtin(name: &str) -> bool {
    TOOLS.iter().any(|tool| tool.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_its_facts_name_stands_for_a_second_answer() {
        for tool in Toolbox::builtin().all() {
            let expected = match tool.name {
                "memory-search" | "memory-read" | "org-outline" | RENDER | "memory-report" | "notes-undistilled"
                | "inbox-propose" | "links-suggest" => Stands::WithMemory,
                "read-file" | "lisp-definitions" => Stands::WithFiles,
                // Of a folder or a repository the facts name neither files nor bytes.
                "grep" | "list-files" | "git-status" | "git-diff" | "git-log" => Stands::Never,
                _ => Stands::Never,
            };
            assert_eq!(tool.stands, expected, "{}", tool.name);
            let reads = matches!(tool.effect, Effect::ReadMemory | Effect::ReadFile);
            assert!(reads || tool.stands == Stands::Never, "{}", tool.name);
        }
    }
}
