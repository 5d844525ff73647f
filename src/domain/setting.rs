//! Settings of the agent in the user's Emacs: which of them a model may propose to change, and what a change would do.

use crate::domain::hash::ContentHasher;
use crate::domain::sexp::reader::Sexp;

/// How the name of every option begins.
pub const PREFIX: &str = "passepartout-";
/// A longer value is none that a human could judge at a glance, in bytes.
pub const LONGEST: usize = 2_000;

/// Whether a change of an option may be proposed. It always waits for the user in Emacs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// It may.
    May,
    /// It may, and the plan says that it guards this.
    Guards(&'static str),
    /// It may not, for this; the user sets it themselves.
    Never(&'static str),
}

/// When a change of an option counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// As soon as it is set.
    AtOnce,
    /// From the next start of the core.
    FromStart,
}

use Counts::{AtOnce, FromStart};
use Stand::{Guards, May, Never};

const SENT: &str = "it decides to whom what you ask and your notes are sent";
const PLACES: &str = "it decides which files are read or written";
const OUTSIDE: &str = "it decides what counts as from elsewhere";
const MONEY: &str = "what models may cost";

/// Every option that is declared for users, each once, in the order of their names.
pub const OPTIONS: &[(&str, Stand, Counts)] = &[
    ("passepartout-allowed-hosts", Never("it decides what may be fetched without asking you"), FromStart),
    ("passepartout-answer-timeout", May, FromStart),
    ("passepartout-approval-delay", Never("it guards your approvals"), AtOnce),
    ("passepartout-background-budget", Guards(MONEY), FromStart),
    ("passepartout-background-timeout", May, FromStart),
    ("passepartout-cascades", Never(SENT), FromStart),
    ("passepartout-chat-code-languages", Never("it names modes of Emacs that are called"), AtOnce),
    ("passepartout-chat-directory", Never(PLACES), AtOnce),
    ("passepartout-chat-go-on", May, AtOnce),
    ("passepartout-connect-timeout", May, FromStart),
    ("passepartout-consensus", May, FromStart),
    ("passepartout-consensus-timeout", May, FromStart),
    ("passepartout-day-budget", Guards(MONEY), FromStart),
    ("passepartout-directories", Never(PLACES), FromStart),
    ("passepartout-dry-run", Guards("what you are shown of a command before you decide"), FromStart),
    ("passepartout-embedding-backend", Never(SENT), FromStart),
    ("passepartout-embedding-model", Never(SENT), FromStart),
    ("passepartout-embedding-timeout", May, FromStart),
    ("passepartout-embedding-url", Never(SENT), FromStart),
    ("passepartout-header-line", Never("it decides what you see of what the agent does"), AtOnce),
    ("passepartout-hosts", Never("it decides where this Emacs connects to"), AtOnce),
    ("passepartout-listen", Never("it decides which programs can come in"), FromStart),
    ("passepartout-mcp-servers", Never("it names programs, and what they may reach"), FromStart),
    ("passepartout-mode-line", Never("it decides what you see of what the agent does"), AtOnce),
    ("passepartout-module-file", Never("it names a program"), FromStart),
    ("passepartout-module-install", Never("it has a program built or fetched"), AtOnce),
    ("passepartout-notify", Never("it decides what is shown outside of Emacs"), AtOnce),
    ("passepartout-permissions", Never("it decides what tools may do"), FromStart),
    ("passepartout-picture-models", Never(SENT), FromStart),
    ("passepartout-plan-agenda", May, AtOnce),
    ("passepartout-plan-hours", Guards("for how long a plan can be approved"), FromStart),
    ("passepartout-presets", Never("it decides who is asked, and with which tools"), FromStart),
    ("passepartout-privacy-tags", Never("it decides what is private"), FromStart),
    ("passepartout-project", Never(PLACES), FromStart),
    ("passepartout-provider-cascade", Never(SENT), FromStart),
    ("passepartout-providers", Never(SENT), FromStart),
    ("passepartout-request-timeout", May, FromStart),
    ("passepartout-request-tries", May, FromStart),
    ("passepartout-retry-wait", May, FromStart),
    ("passepartout-select-model-function", Never("it names a function"), AtOnce),
    ("passepartout-session-budget", Guards(MONEY), FromStart),
    ("passepartout-skills-directories", Never("it decides which skills are read"), FromStart),
    ("passepartout-stall-timeout", May, FromStart),
    ("passepartout-store", Never(PLACES), FromStart),
    ("passepartout-telegram", Never("it decides whether a messenger can come in"), FromStart),
    ("passepartout-trusted-remotes", Never(OUTSIDE), FromStart),
    ("passepartout-unpriced-calls", Guards(MONEY), FromStart),
    ("passepartout-untrusted-folders", Never(OUTSIDE), FromStart),
];

/// Returns the name of an option as it is declared: it may be called without its beginning.
pub fn named(word: &str) -> String {
    let word = word.trim().trim_matches(['`', '\'', '‘', '’', '=', '~', '“', '”', '"']);
    if word.starts_with(PREFIX) { word.to_string() } else { format!("{PREFIX}{word}") }
}

/// Returns how an option stands, and when a change of it counts. What is in no list is never proposed.
pub fn stand(option: &str) -> (Stand, Counts) {
    let found = OPTIONS.iter().find(|(name, ..)| *name == option);
    found.map_or((Never("it is none of those that may be proposed"), FromStart), |(_, stand, counts)| (*stand, *counts))
}

/// Reads a value that was written as Lisp data. Nothing of it is ever evaluated: one quote before it is let go.
///
/// # Errors
/// When it is no one value of plain data, or too long to be judged.
pub fn value(text: &str) -> Result<Sexp, String> {
    if text.len() > LONGEST {
        return Err(format!("its value has {} bytes, and at most {LONGEST} can be shown to the user", text.len()));
    }
    let text = text.trim();
    let data = Sexp::read(text.strip_prefix('\'').unwrap_or(text));
    data.map_err(|error| format!("its value is no plain Lisp data ({}), such as t, nil, 30 or \"text\"", error.fault))
}

/// What becomes of what Emacs has saved of an option for its next starts.
#[derive(Clone, Debug, PartialEq)]
pub enum Saved {
    /// It stays.
    Stays,
    /// This is saved.
    As(Sexp),
    /// Nothing is saved of it any more.
    Nothing,
}

/// A change of one option, as Emacs is asked for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Its name.
    pub option: String,
    /// Its value after that.
    pub value: Sexp,
    /// What is saved after that.
    pub saved: Saved,
}

/// What a change of one option would do, as Emacs found it out. Values are printed as Lisp data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingFact {
    /// Its name.
    pub option: String,
    /// The first line of its documentation.
    pub summary: String,
    /// Its value now.
    pub now: String,
    /// Its value after that.
    pub to: String,
    /// What is saved for the next starts of Emacs now; `None` for nothing.
    pub saved: Option<String>,
    /// What is saved after that.
    pub saved_then: Option<String>,
    /// When what is taken back was done: the name of that change.
    pub undoes: Option<String>,
}

impl SettingFact {
    /// Adds all of it to the name of the facts that it stands in.
    pub fn hash_into(&self, hasher: &mut ContentHasher) {
        hasher.text("setting").text(&self.option).text(&self.summary).text(&self.now).text(&self.to);
        hasher.option(self.saved.as_deref()).option(self.saved_then.as_deref()).option(self.undoes.as_deref());
    }

    /// Returns the change as Emacs is asked for it.
    ///
    /// # Errors
    /// When a value cannot be read back.
    pub fn change(&self) -> Result<Change, String> {
        let saved = match &self.saved_then {
            then if *then == self.saved => Saved::Stays,
            Some(text) => Saved::As(value(text)?),
            None => Saved::Nothing,
        };
        Ok(Change { option: self.option.clone(), value: value(&self.to)?, saved })
    }

    /// Returns what a human is shown of it, line by line: a name and what is said.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let said = |saved: &Option<String>| saved.clone().unwrap_or_else(|| "nothing".to_string());
        let (stand, counts) = stand(&self.option);
        let mut lines = vec![
            ("setting", self.option.clone()),
            ("what it is", self.summary.clone()),
            ("value now", self.now.clone()),
            ("value then", self.to.clone()),
        ];
        match self.saved == self.saved_then {
            true => lines.push(("saved for the next start of Emacs", format!("{}, as it is now", said(&self.saved)))),
            false => {
                lines.push(("saved now", said(&self.saved)));
                lines.push(("saved then", said(&self.saved_then)));
            }
        }
        if counts == Counts::FromStart {
            lines.push(("counts", "from the next start of the core: M-x passepartout-restart".to_string()));
        }
        if let Stand::Guards(what) = stand {
            lines.push(("mind", format!("it guards {what}")));
        }
        lines
    }
}

/// An option as Emacs tells of it. What is secret or private of it Emacs does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Its name.
    pub option: String,
    /// The first line of its documentation.
    pub summary: String,
    /// All of its documentation; empty in a list.
    pub documentation: String,
    /// What it may be.
    pub kind: String,
    /// Its value now; `None` when that is not told.
    pub value: Option<String>,
    /// What it is when nobody sets it; `None` when that is not told.
    pub standard: Option<String>,
    /// Where its value comes from.
    pub state: String,
}

impl Told {
    /// Returns one line of a list.
    pub fn line(&self) -> String {
        let value = self.value.as_deref().unwrap_or("its value is not told here");
        format!("- {}: {} ({value})", self.option, self.summary)
    }

    /// Returns all that is told of it; `manual` are the sections that speak of it.
    pub fn words(&self, manual: &[String]) -> String {
        let value = match &self.value {
            Some(value) => format!("Value: {value} ({})", self.state),
            None => format!("Value: not told here, as it may be private ({})", self.state),
        };
        let mut lines = vec![self.option.clone(), self.documentation.clone(), String::new(), value];
        lines.extend(self.standard.as_ref().map(|standard| format!("Without a setting: {standard}")));
        lines.push(format!("Type: {}", self.kind));
        let (stand, counts) = stand(&self.option);
        if counts == Counts::FromStart {
            lines.push("A change counts from the next start of the core: M-x passepartout-restart".to_string());
        }
        lines.push(match stand {
            Stand::May => format!("“set {} to VALUE” proposes a change.", self.option),
            Stand::Guards(what) => {
                format!("“set {} to VALUE” proposes a change; the plan says that it guards {what}.", self.option)
            }
            Stand::Never(why) => {
                format!(
                    "No change of it is ever proposed, for {why}; M-x customize-option RET {} sets it.",
                    self.option
                )
            }
        });
        if !manual.is_empty() {
            lines.push(format!("In the manual: {}", manual.join("; ")));
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_sorted_and_each_stands_there_once() {
        assert!(OPTIONS.is_sorted_by(|(a, ..), (b, ..)| a < b));
        assert!(OPTIONS.iter().all(|(name, ..)| name.starts_with(PREFIX)));
        assert!(matches!(stand("passepartout-no-such").0, Never(_)), "what nobody decided about is closed");
    }

    #[test]
    fn a_value_is_plain_data_or_refused() {
        let check = |text: &str, expected: Result<&str, &str>| match (value(text), expected) {
            (Ok(data), Ok(expected)) => assert_eq!(data.to_string(), expected, "{text}"),
            (Err(why), Err(expected)) => assert!(why.contains(expected), "{text}: {why}"),
            (found, expected) => panic!("{text}: {found:?}, not {expected:?}"),
        };
        check("30", Ok("30"));
        check(" nil ", Ok("nil"));
        check("\"a b\"", Ok("\"a b\""));
        check("'((\"code\" . 3))", Ok("((\"code\" . 3))"));
        check("", Err("it is empty"));
        check("30 40", Err("no plain Lisp data"));
        check("#.(shell-command \"x\")", Err("“#” forms are not read"));
        check("#'ignore", Err("“#” forms are not read"));
        check("`(1 ,x)", Err("no plain Lisp data"));
        check(&"(".repeat(500), Err("nested deeper"));
        check(&"1".repeat(LONGEST + 1), Err("at most 2000 can be shown"));
    }

    #[test]
    fn a_change_says_all_that_would_be() {
        let fact = SettingFact {
            option: "passepartout-plan-hours".to_string(),
            summary: "Hours for which a flight plan waits.".to_string(),
            now: "nil".to_string(),
            to: "48".to_string(),
            saved: None,
            saved_then: Some("48".to_string()),
            undoes: None,
        };
        assert_eq!(fact.change().map(|change| change.saved), Ok(Saved::As(Sexp::Int(48))));
        let shown = fact.lines().into_iter().map(|(name, text)| format!("{name}: {text}\n")).collect::<String>();
        for part in
            ["value now: nil\n", "value then: 48\n", "saved now: nothing\n", "saved then: 48\n", "mind: it guards"]
        {
            assert!(shown.contains(part), "{shown}");
        }
        let back = SettingFact { saved: Some("48".to_string()), saved_then: None, ..fact.clone() };
        assert_eq!(back.change().map(|change| change.saved), Ok(Saved::Nothing));
        let held = SettingFact { saved_then: None, ..fact };
        assert_eq!(held.change().map(|change| change.saved), Ok(Saved::Stays));
    }

    #[test]
    fn an_option_is_called_by_its_name_or_its_end() {
        for said in ["passepartout-plan-hours", "plan-hours", " `plan-hours' ", "=passepartout-plan-hours="] {
            assert_eq!(named(said), "passepartout-plan-hours", "{said}");
        }
    }
}
