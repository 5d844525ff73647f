//! Jobs and hooks: headings that want work done by themselves, at times or when something changes.
//!
//! What is found here starts nothing: it counts only after the user confirmed exactly this text in Emacs.

pub mod cron;
pub mod found;
pub mod rhythm;
pub mod watch;

use crate::domain::hash::ContentHasher;
use crate::domain::id::NodeId;
use crate::domain::job::rhythm::Rhythm;
use crate::domain::job::watch::Watch;
use crate::domain::label::Privacy;
use crate::domain::money::Micros;
use crate::domain::policy::loosening::Loosening;
use crate::domain::preset::Preset;
use crate::domain::recall::grammar;
use std::sync::Arc;

/// The most bytes of what a job asks for.
pub const MAX_TASK: usize = 16 * 1024;
/// The most bytes of the text of its heading.
pub const MAX_TEXT: usize = 32 * 1024;
/// A hook runs so often in a day at most.
pub const HOOKS_A_DAY: u32 = 50;
/// So many seconds lie between two runs of a hook.
pub const HOOK_PAUSE: i64 = 60;
/// The most tokens of a prompt of [`Tier::Cognition`].
const LIGHT: u64 = 8_000;
/// What is confirmed of a job, and of a hook.
const RUN: &str = "PP_RUN";
/// What is confirmed when a heading may work by itself, by its name.
pub const WORKING: [&str; 2] = [RUN, HOOK];
const HOOK: &str = "PP_HOOK";
/// What the sessions of jobs begin with.
const SESSION: &str = "job-";

/// How much thought a job is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// None: the built-in provider alone, by its fixed rules.
    Reflex,
    /// A model for the background, with a small prompt.
    Cognition,
    /// A model for the background, with all the room that there is.
    Reasoning,
}

impl Tier {
    /// All of them.
    pub const ALL: [Tier; 3] = [Tier::Reflex, Tier::Cognition, Tier::Reasoning];

    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Reflex => "reflex",
            Tier::Cognition => "cognition",
            Tier::Reasoning => "reasoning",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|tier| word.eq_ignore_ascii_case(tier.name()))
    }

    /// Returns the tier of what says none: by what it asks for.
    pub fn of_task(task: &str) -> Tier {
        const LIGHT: [&str; 8] = ["summarize", "summarise", "list", "find", "count", "show", "tell", "name"];
        if skill_of_task(task).is_some() || (!task.trim().contains('\n') && grammar::is_fixed(task)) {
            return Tier::Reflex;
        }
        let first = task.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()).unwrap_or_default();
        match LIGHT.iter().any(|word| first.eq_ignore_ascii_case(word)) {
            true => Tier::Cognition,
            false => Tier::Reasoning,
        }
    }
}

/// Returns the skill whose block `job` a task has run: `skill:NAME` and nothing else.
pub fn skill_of_task(task: &str) -> Option<&str> {
    let name = task.trim().strip_prefix("skill:")?.trim();
    (!name.is_empty() && !name.contains(char::is_whitespace)).then_some(name)
}

/// What sets it off.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    /// The clock.
    Due(Rhythm),
    /// A change of what it watches.
    Changed,
}

/// A heading, or a file, that wants work done by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The heading.
    pub node: NodeId,
    /// The file that it stands in.
    pub file: Arc<str>,
    /// Its title.
    pub title: String,
    /// What sets it off.
    pub when: When,
    /// What is to be done, as the user would type it.
    pub task: String,
    /// How much thought it is given.
    pub tier: Tier,
    /// Without a change of what, nothing is done.
    pub watch: Watch,
    /// Whether it runs whenever it is due, changed or not.
    pub always: bool,
    /// The most that a run may cost.
    pub dollars: Option<Micros>,
    /// How private its heading is, of itself or by what it stands in. A run sees what is that private, and nothing more.
    pub privacy: Privacy,
    /// Its tags, own and inherited.
    pub tags: Vec<String>,
    /// Its heading's own text as it is confirmed: every byte but its log, and of what repeats by a timestamp the date.
    pub words: String,
    /// The hash of all that is confirmed with it.
    pub text: String,
    /// All Lisp that runs with it, where it asks for the block of a skill that there is.
    pub lisp: Option<Arc<str>>,
    /// The skills that may answer it in place of a model, in the order in which they are asked, each with all its Lisp.
    pub handlers: Vec<(String, Arc<str>)>,
}

impl Job {
    /// Returns what sets it off, in words.
    pub fn rhythm(&self) -> String {
        match &self.when {
            When::Due(rhythm) => rhythm.words(),
            When::Changed => "on change".to_string(),
        }
    }

    /// Returns what the user confirms: exactly this text at this heading.
    pub fn loosening(&self) -> Loosening {
        let name = match &self.when {
            When::Due(_) => RUN,
            When::Changed => HOOK,
        };
        Loosening {
            file: self.file.to_string(),
            heading: self.node.to_string(),
            name: name.to_string(),
            value: format!("{}, {}, text {}{}", self.rhythm(), self.tier.name(), self.text, self.lisp_hash()),
        }
    }

    /// Returns what is confirmed of the Lisp that runs with it.
    fn lisp_hash(&self) -> String {
        let hash = |lisp: &Arc<str>| blake3::Hash::from_bytes(ContentHasher::new("job lisp").text(lisp).finish());
        let own = self.lisp.as_ref().map(|lisp| format!(", Lisp {}", hash(lisp).to_hex())).unwrap_or_default();
        if self.handlers.is_empty() {
            return own;
        }
        let mut hasher = ContentHasher::new("job handlers");
        for (skill, lisp) in &self.handlers {
            hasher.text(skill).text(lisp);
        }
        format!("{own}, handlers {}", blake3::Hash::from_bytes(hasher.finish()).to_hex())
    }

    /// Returns the Lisp that may answer it, as it is shown.
    fn shown_handlers(&self) -> String {
        let one = |(skill, lisp): &(String, Arc<str>)| {
            format!("\nAll Lisp of the skill {skill}, which may answer it in place of a model:\n{}\n", lisp.trim_end())
        };
        self.handlers.iter().map(one).collect()
    }

    /// Returns it whole, as it is shown before it is confirmed.
    pub fn shown(&self) -> String {
        let runs = match (self.always, &self.when) {
            (true, _) => "whether or not anything changed".to_string(),
            (false, When::Changed) => format!("when {} changes", self.watch.words()),
            (false, When::Due(_)) => format!("if {} changed since its last run", self.watch.words()),
        };
        let often = match &self.when {
            When::Changed => {
                format!("Often: {HOOKS_A_DAY} times a day at most, and not twice in {HOOK_PAUSE} seconds\n")
            }
            When::Due(_) => String::new(),
        };
        let dollars = self.dollars.map_or_else(String::new, |most| format!("A run costs at most {most}.\n"));
        let sees = match self.privacy {
            Privacy::Open => "notes that are not private",
            Privacy::Warn => "notes that are not private or warn, as its heading does",
            Privacy::Ask => {
                "what is private enough to ask, as its heading is, and leaves this machine only if you let it"
            }
            Privacy::Private => "private notes, as its heading is private: no model elsewhere is asked",
        };
        let tags = if self.tags.is_empty() { "none".to_string() } else { format!(":{}:", self.tags.join(":")) };
        let first = if self.handlers.is_empty() { "" } else { "the Lisp below, and where that has no answer " };
        let tier = match self.tier {
            _ if self.lisp.is_some() => "the Lisp below: no model is asked",
            Tier::Reflex => "reflex: no model is asked",
            Tier::Cognition => "cognition: a model is asked, with a small prompt",
            Tier::Reasoning => "reasoning: a model is asked, with all the room that there is",
        };
        let lisp = match (skill_of_task(&self.task), &self.lisp) {
            (Some(skill), Some(lisp)) => {
                format!("\nAll Lisp of the skill {skill}, of which the block job is called:\n{}\n", lisp.trim_end())
            }
            (Some(_), None) | (None, _) => String::new(),
        };
        format!(
            "Runs: {}\nOnly: {runs}\n{often}With: {first}{tier}\nSees: {sees}\nTags, inherited ones too: {tags}\n{dollars}Nobody is \
             asked while it runs; what needs a yes waits as a flight plan.\nIt is asked to:\n{}\n\nAll of its heading, but \
             for its log and the date that Org moves:\n{}\n{lisp}{}",
            self.rhythm(),
            self.task.trim_end(),
            self.words.trim_end(),
            self.shown_handlers()
        )
    }

    /// Returns the name of the conversation of one run. It says what may be used, so that it is known whenever the
    /// conversation goes on.
    pub fn session(&self, at: jiff::Timestamp) -> String {
        let dollars = self.dollars.map_or_else(|| "any".to_string(), |most| most.0.to_string());
        format!("{SESSION}{}-{dollars}-{}-{:x}", self.tier.name(), self.key(), at.as_millisecond())
    }

    /// Returns a short name of it that says no word of a note, for sessions and records.
    pub fn key(&self) -> String {
        key(&self.file, self.node.as_str())
    }
}

/// Returns the short name of the job at a heading of a file.
pub fn key(file: &str, node: &str) -> String {
    let hash = blake3::Hash::from_bytes(ContentHasher::new("job").text(file).text(node).finish()).to_hex();
    hash.get(..16).unwrap_or_default().to_string()
}

/// Returns whether a line that loosens is one that starts work.
pub fn starts_work(loosening: &Loosening) -> bool {
    WORKING.contains(&loosening.name.as_str())
}

/// Returns the key of the job that a conversation belongs to, if it is one of a job.
pub fn key_of_session(session: &str) -> Option<&str> {
    session.strip_prefix(SESSION)?.split('-').rev().nth(1)
}

/// Returns when the run of a job began that a conversation is, if it is one.
pub fn began_of_session(session: &str) -> Option<jiff::Timestamp> {
    let (_, began) = session.strip_prefix(SESSION)?.rsplit_once('-')?;
    i64::from_str_radix(began, 16).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok())
}

/// Returns what the conversation of a job has, by its name: it only takes away, whoever calls a conversation so.
pub fn preset_of_session(session: &str) -> Option<Preset> {
    let mut parts = session.strip_prefix(SESSION)?.splitn(3, '-');
    let tier = Tier::parse(parts.next()?)?;
    let dollars = parts.next()?;
    let named = Preset { name: format!("a job of {}", tier.name()), ..Preset::default() };
    let preset = match tier {
        Tier::Reflex => Preset { order: vec!["recall".to_string()], ..named },
        Tier::Cognition => Preset { tokens: Some(LIGHT), ..named },
        Tier::Reasoning => named,
    };
    Some(Preset { dollars: dollars.parse().ok().map(Micros), ..preset })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::job::cron::Cron;

    fn job(node: &str, tier: Tier, dollars: Option<&str>) -> Job {
        Job {
            node: NodeId::new(node),
            file: Arc::from("/m/jobs.org"),
            title: "Plants".to_string(),
            when: When::Due(Rhythm::Cron(Cron::parse("0 8 * * *").expect("it is one"))),
            task: "Summarize which plants are dry.".to_string(),
            tier,
            watch: Watch::Here,
            always: false,
            dollars: dollars.and_then(Micros::parse),
            privacy: Privacy::Open,
            tags: Vec::new(),
            words: "* Plants\n#+CRON: 0 8 * * *\nSummarize which plants are dry.\n".to_string(),
            text: "0".repeat(64),
            lisp: None,
            handlers: Vec::new(),
        }
    }

    #[test]
    fn what_is_asked_for_says_how_much_thought_it_needs() {
        for (task, expected) in [
            ("skill:tidy", Tier::Reflex),
            ("skill: tidy the garden", Tier::Reasoning),
            ("what is due today?", Tier::Reflex),
            ("add a todo call mum", Tier::Reflex),
            ("Summarize the inbox", Tier::Cognition),
            ("- list what is new", Tier::Cognition),
            ("find out what is new", Tier::Cognition),
            ("Plan the week", Tier::Reasoning),
            ("what is due today?\nand what does it mean?", Tier::Reasoning),
            ("", Tier::Reasoning),
        ] {
            assert_eq!(Tier::of_task(task), expected, "{task}");
        }
        for tier in Tier::ALL {
            assert_eq!(Tier::parse(&tier.name().to_uppercase()), Some(tier));
        }
    }

    #[test]
    fn a_conversation_of_a_job_has_what_its_name_says_and_nothing_more() {
        let at = jiff::Timestamp::from_second(1_800_000_000).expect("a moment");
        for (tier, dollars, order, tokens) in [
            (Tier::Reflex, None, vec!["recall".to_string()], None),
            (Tier::Cognition, Some("0.05"), Vec::new(), Some(LIGHT)),
            (Tier::Reasoning, Some("2"), Vec::new(), None),
        ] {
            let job = job("with-dashes-in it", tier, dollars);
            let session = job.session(at);
            assert_eq!(key_of_session(&session), Some(job.key().as_str()), "{session}");
            assert_eq!(began_of_session(&session), Some(at), "{session}");
            let preset = preset_of_session(&session).expect("it has one");
            assert_eq!((preset.order, preset.tokens, preset.tools, preset.prompt), (order, tokens, None, None));
            assert_eq!(preset.dollars, job.dollars, "{session}");
            assert!(!session.contains("dashes") && !session.contains("Plants"), "no word of a note: {session}");
        }
        for none in ["job-x", "job-reflex-any-0-x", "chat-1"] {
            assert_eq!(began_of_session(none), None, "{none}");
        }
        for other in ["chat", "job", "job-", "job-x", "jobs-reflex-any-0-0", ""] {
            assert_eq!(preset_of_session(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_confirmed_is_shown_whole() {
        let mut job = job("plants", Tier::Cognition, Some("0.05"));
        assert_eq!(
            job.shown(),
            "Runs: cron 0 8 * * *\nOnly: if its heading, with all below it, changed since its last run\nWith: cognition: a \
             model is asked, with a small prompt\nSees: notes that are not private\nTags, inherited ones too: none\nA run costs at most \
             $0.05.\nNobody is asked while it runs; what needs a yes waits as a flight plan.\nIt is asked to:\nSummarize \
             which plants are dry.\n\nAll of its heading, but for its log and the date that Org moves:\n* Plants\n#+CRON: \
             0 8 * * *\nSummarize which plants are dry.\n"
        );
        let before = job.loosening().hash();
        job.text = "1".repeat(64);
        assert_ne!(job.loosening().hash(), before);
        job.when = When::Changed;
        assert_eq!((job.loosening().name.as_str(), job.rhythm().as_str()), ("PP_HOOK", "on change"));
        // The Lisp of a skill is part of it.
        job.task = "skill:tidy".to_string();
        let before = job.loosening().hash();
        job.lisp = Some(Arc::from(";; job\n(lambda (_) nil)\n"));
        let with = job.loosening().hash();
        assert_ne!(with, before);
        job.lisp = Some(Arc::from(";; job\n(lambda (_) t)\n"));
        assert_ne!(job.loosening().hash(), with);
        let shown = job.shown();
        assert!(shown.contains("With: the Lisp below: no model is asked\n"), "{shown}");
        assert!(shown.ends_with("of which the block job is called:\n;; job\n(lambda (_) t)\n"), "{shown}");
        // And so is that of those who may answer it.
        (job.task, job.lisp) = ("Summarize which plants are dry.".to_string(), None);
        let before = job.loosening().hash();
        job.handlers = vec![("water".to_string(), Arc::from(";; handler\n(lambda (_) nil)\n"))];
        let with = job.loosening().hash();
        job.handlers = vec![("water".to_string(), Arc::from(";; handler\n(lambda (_) t)\n"))];
        assert!(before != with && with != job.loosening().hash());
        let shown = job.shown();
        assert!(shown.contains("With: the Lisp below, and where that has no answer cognition: a model"), "{shown}");
        assert!(shown.ends_with("which may answer it in place of a model:\n;; handler\n(lambda (_) t)\n"), "{shown}");
    }
}
