//! One conversation of an editor: what was said in it, the prompt that is being answered, and how far that is.

use crate::domain::label::Privacy;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::edge::acp::links::Links;
use crate::edge::acp::prompt::{Along, Shot, Words};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// So much of what was said is sent along with a question, in bytes.
const ALONG: usize = 512 << 10;
/// So many parts of it.
const PARTS: usize = 200;
/// So many turns beside a prompt are followed.
const BESIDE: usize = 64;
/// Of each so much of what it says is kept, in bytes.
const SAID_BESIDE: usize = 64 << 10;
/// Of so many plans, the newest, it is known which call they belong to.
const CALLS: usize = 200;

/// Something that was said.
struct Said {
    role: &'static str,
    text: String,
    /// How private it is, as the core said it.
    private: Option<Sexp>,
}

/// One conversation.
#[derive(Default)]
pub(super) struct Session {
    /// The folder that the editor works in.
    pub(super) folder: String,
    said: VecDeque<Said>,
    /// The links of answers that come in, each under its turn.
    links: BTreeMap<String, Links>,
    /// What is being answered.
    pub(super) prompt: Option<Prompt>,
    /// What is to be told before the first answer.
    pub(super) first: Option<String>,
    /// Turns that answer no prompt: what goes on from a decision made elsewhere, and reports of work handed over.
    beside: BTreeMap<String, String>,
    /// Which call a plan belongs to, the oldest first.
    calls: VecDeque<(String, String)>,
    /// Acts that were told while their turn goes on, by the turn and by their places in it.
    told: BTreeMap<String, BTreeSet<usize>>,
    /// Of so many tasks that were handed over it is still to be told.
    pub(super) tasks: usize,
}

/// A prompt that is being answered.
pub(super) struct Prompt {
    /// The request's id.
    pub(super) id: Value,
    /// What is asked.
    pub(super) words: Words,
    /// What was answered up to now.
    pub(super) answer: String,
    /// How private it is, as the core said last.
    pub(super) private: Option<Sexp>,
    /// The editor wants it stopped.
    pub(super) cancelled: bool,
    /// How far it is.
    pub(super) stage: Stage,
}

/// How far a prompt is.
pub(super) enum Stage {
    /// There is no connection yet.
    Unsent,
    /// It was sent, and no turn of it has begun.
    Sent,
    /// This turn goes on.
    Running(String),
    /// Plans of it wait, and are read.
    Reading(Reading),
    /// The editor's user is asked about them, by this request.
    Asked(i64, Reading),
    /// It was decided about these plans, and the turn of that decision has not begun.
    Decided(Vec<String>),
}

/// Plans of one decision.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    /// Those that are read, or being read.
    pub(super) plans: Vec<Plan>,
    /// Which of them is being read.
    pub(super) at: usize,
    /// Where its next page begins.
    pub(super) from: i64,
}

/// A plan, as far as it was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) tool: String,
    pub(super) shown: String,
    /// Its pages, each part a text of its own.
    pub(super) parts: Vec<(String, String)>,
}

impl Session {
    /// Opens one in a folder; `first` is told before the first answer.
    pub(super) fn opened(folder: String, first: Option<String>) -> Session {
        Session { folder, first, ..Session::default() }
    }

    /// Returns the question of the prompt as the core is asked it.
    pub(super) fn question(&self, words: &Words) -> Plist {
        let told = |said: &Said| {
            let told = Plist::new().keyword("role", said.role).text("text", said.text.as_str());
            match &said.private {
                Some(Sexp::Str(tier)) => told.text("private", tier.to_string()).build(),
                Some(_) => told.flag("private", true).build(),
                None => told.build(),
            }
        };
        let along = |Along { name, file, text }: &Along| {
            let along = Plist::new().text("name", name.as_str()).text("file", file.as_str());
            along.text("text", text.as_str()).build()
        };
        let picture = |Shot { name, file, data }: &Shot| {
            let picture = Plist::new().text("name", name.as_str()).maybe("file", file.as_deref());
            picture.text("data", data.as_str()).build()
        };
        Plist::new()
            .keyword("sensor", "user-input")
            .text("text", words.text.as_str())
            .flag("waits", true)
            .list("history", self.said.iter().map(told))
            .list("attached", words.attached.iter().map(along))
            .list("pictures", words.pictures.iter().map(picture))
            .text("project", self.folder.as_str())
    }

    /// Keeps what was asked and answered for the questions to come.
    pub(super) fn note(&mut self, prompt: &Prompt) {
        for (role, text) in [("user", &prompt.words.text), ("assistant", &prompt.answer)] {
            self.keep(role, text.clone(), prompt.private.as_ref());
        }
    }

    fn keep(&mut self, role: &'static str, text: String, private: Option<&Sexp>) {
        if text.trim().is_empty() {
            return;
        }
        let private = private.filter(|private| !matches!(private, Sexp::Nil)).cloned();
        self.said.push_back(Said { role, text, private });
        let mut bytes: usize = self.said.iter().map(|said| said.text.len()).sum();
        while bytes > ALONG || self.said.len() > PARTS {
            bytes -= self.said.pop_front().map_or(bytes, |said| said.text.len());
        }
    }

    /// Takes note of a turn that answers no prompt.
    pub(super) fn begin_beside(&mut self, turn: String) {
        if self.beside.len() < BESIDE {
            self.beside.entry(turn).or_default();
        }
    }

    /// Takes a piece of what such a turn says.
    pub(super) fn say_beside(&mut self, turn: &str, text: &str) {
        if let Some(said) = self.beside.get_mut(turn).filter(|said| said.len() < SAID_BESIDE) {
            said.push_str(text);
        }
    }

    /// Keeps what such a turn said for the questions to come, and how private it is.
    pub(super) fn end_beside(&mut self, turn: &str, private: Option<&Sexp>) {
        if let Some(text) = self.beside.remove(turn) {
            self.keep("assistant", text, private);
        }
    }

    /// Ends all of them: how private they are was to be said at their end.
    pub(super) fn lose_beside(&mut self) {
        for text in std::mem::take(&mut self.beside).into_values() {
            self.keep("assistant", text, Some(&Sexp::flag(true)));
        }
        self.links.clear();
        self.told.clear();
        self.tasks = 0;
    }

    /// Returns what an editor is shown of a piece of an answer by now.
    pub(super) fn shown(&mut self, turn: &str, text: &str) -> String {
        // So many turns at once are none of ours; what comes of another is shown as it is.
        if self.links.len() >= BESIDE && !self.links.contains_key(turn) {
            return text.to_string();
        }
        self.links.entry(turn.to_string()).or_default().feed(text)
    }

    /// Returns what is still to be shown of an answer that is whole.
    pub(super) fn shown_last(&mut self, turn: &str) -> String {
        self.links.remove(turn).map(|mut links| links.end()).unwrap_or_default()
    }

    /// Notes which call a plan belongs to.
    pub(super) fn note_call(&mut self, plan: &str, call: &str) {
        if self.call_of(plan).is_none() {
            self.calls.push_back((plan.to_string(), call.to_string()));
        }
        if self.calls.len() > CALLS {
            self.calls.pop_front();
        }
    }

    /// Returns the call that a plan belongs to.
    pub(super) fn call_of(&self, plan: &str) -> Option<&str> {
        self.calls.iter().find(|(of, _)| of == plan).map(|(_, call)| call.as_str())
    }

    /// Returns whether an act was told while its turn goes on.
    pub(super) fn was_told(&self, turn: &str, number: usize) -> bool {
        self.told.get(turn).is_some_and(|told| told.contains(&number))
    }

    /// Notes that an act is told; returns whether there is room for it: so many turns at once are none of ours.
    pub(super) fn note_told(&mut self, turn: &str, number: usize) -> bool {
        if self.told.len() >= BESIDE && !self.told.contains_key(turn) {
            return false;
        }
        self.told.entry(turn.to_string()).or_default().insert(number);
        true
    }

    /// Forgets which acts of a turn were told, as it is over.
    pub(super) fn forget_told(&mut self, turn: &str) {
        self.told.remove(turn);
    }

    /// Returns whether anything of it is under way.
    pub(super) fn busy(&self) -> bool {
        self.prompt.is_some() || !self.beside.is_empty() || self.tasks > 0
    }
}

impl Prompt {
    /// Keeps how private a turn of it was: what a later one says makes nothing of it less so.
    pub(super) fn note_private(&mut self, said: Option<&Sexp>) {
        let tier = |private: &Sexp| {
            private.as_text().map_or(Privacy::Private, |word| Privacy::tier(word).unwrap_or(Privacy::Private))
        };
        let Some(said) = said.filter(|said| !matches!(said, Sexp::Nil)) else { return };
        if self.private.as_ref().is_none_or(|known| tier(known) < tier(said)) {
            self.private = Some(said.clone());
        }
    }

    /// Returns whether a turn that decides about these plans is the one that it waits for; one that decides about none
    /// answers a question.
    pub(super) fn waits_for(&self, decides: &[&str], follows: bool) -> bool {
        match &self.stage {
            Stage::Sent => decides.is_empty() && !follows,
            Stage::Decided(plans) => plans.iter().map(String::as_str).eq(decides.iter().copied()),
            Stage::Unsent | Stage::Running(_) | Stage::Reading(_) | Stage::Asked(..) => false,
        }
    }

    /// Takes a piece of the answer.
    pub(super) fn say(&mut self, text: &str) {
        if self.answer.len() < ALONG {
            self.answer.push_str(text);
        }
    }

    /// Returns whether a turn is the one that answers it now.
    pub(super) fn runs(&self, turn: &str) -> bool {
        matches!(&self.stage, Stage::Running(running) if running == turn)
    }
}
