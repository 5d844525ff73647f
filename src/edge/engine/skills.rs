//! The skills of a session: taken anew when a file of theirs changes, without losing what is under way; and what is known of
//! each.

use crate::domain::count::counted;
use crate::domain::gate::Gates;
use crate::domain::gate::secret::mask;
use crate::domain::job::skill_of_task;
use crate::domain::label::{Privacy, Trust};
use crate::domain::memory::view::NodeRef;
use crate::domain::port::LogLevel;
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::{Origin, Source};
use crate::domain::skill::lisp::{Lisp, Role};
use crate::domain::skill::trigger::SignalFacts;
use crate::domain::skill::{Skill, handlers, triggered};
use crate::domain::turn::{Ending, Start, TurnReport};
use crate::edge::config::Config;
use crate::edge::engine::{Engine, Notice};
use crate::edge::skill_host::cases::{self, Occasion, Said};
use crate::edge::skill_host::{Runs, Tried};
use crate::edge::skills::{Loaded, SkillReport, SkillState, load_for, sources};
use crate::edge::thread::aside;
use crate::edge::worker::Told;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long a turn waits for the Lisp of skills before it begins, whatever there is of it.
const BEFORE: Duration = Duration::from_secs(10);

/// What came of trying the Lisp of skills out: by their names, which Lisp, and what is wrong with it.
pub(super) type TriedLisp = BTreeMap<String, (Lisp, Result<(), String>)>;

/// The skills that hold at a moment.
pub struct Skills {
    /// Each of them, and what became of others.
    pub loaded: Loaded,
    /// Folders that held skills and are away.
    pub lost: Vec<PathBuf>,
    /// The gates that there are with them.
    pub gates: Gates,
    /// Counts how often they were taken anew.
    pub number: u64,
}

/// What became of the turns of a skill since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Turns {
    /// How many there were.
    pub count: u64,
    /// How many seconds they took together.
    pub seconds: f64,
    /// How many of them failed.
    pub failed: u64,
    /// How many of their acts were refused.
    pub rejected: u64,
}

/// One line of the list of skills, with all that is known of it.
#[derive(Clone, Debug)]
pub struct Known {
    /// What became of it.
    pub report: SkillReport,
    /// The skill, where it is loaded.
    pub skill: Option<Skill>,
    /// What became of its turns.
    pub turns: Turns,
    /// What is known of its Lisp.
    pub runs: Runs,
}

impl Skills {
    /// Makes them of what was loaded.
    pub fn new(loaded: Loaded) -> Skills {
        let gates = loaded.gates();
        Skills { loaded, lost: Vec::new(), gates, number: 0 }
    }
}

impl Engine {
    /// Returns the skills that hold now.
    pub fn skills(&self) -> Arc<Skills> {
        self.skills.read().clone()
    }

    /// Returns all skills that there are, by name, with what is known of each.
    pub fn known_skills(&self) -> Vec<Known> {
        let skills = self.skills();
        let turns = self.skill_turns.lock().clone();
        let known = |report: &SkillReport| {
            let loaded = report.state == SkillState::Loaded;
            let skill = skills.loaded.skills.iter().find(|skill| loaded && skill.name == report.name).cloned();
            let runs = self.skill_host.as_ref().map(|host| host.runs(&report.name)).unwrap_or_default();
            let turns = turns.get(&report.name).copied().unwrap_or_default();
            Known { report: report.clone(), skill, turns, runs }
        };
        skills.loaded.reports.iter().map(known).collect()
    }

    /// Reads all skills anew. What is under way goes on with the prompt and the tools that it began with; what tightens
    /// counts for it at once, and what loosens from the next turn. Returns what changed, in words.
    pub async fn reload_skills(&self) -> Vec<String> {
        let _alone = self.reloading.lock().await;
        let (old, folders, tried) = (self.skills(), skill_folders(&self.config), self.tried.lock().clone());
        let (before, lost_before) = (old.loaded.clone(), old.lost.clone());
        let (config, confirmed) = (self.config.clone(), self.confirmed_now());
        let read = aside(move || {
            let known = |skill: &Skill| match tried.get(&skill.name) {
                Some((lisp, Err(why))) if *lisp == skill.lisp => Some(why.clone()),
                Some(_) | None => None,
            };
            let mut loaded = load_for(&config, &confirmed, &known);
            // Nobody knows any more what a folder forbids that is away.
            let held = |folder: &PathBuf| {
                let mut files = before.reports.iter().filter_map(|report| report.file.as_ref());
                files.any(|file| file.starts_with(folder)) || lost_before.contains(folder)
            };
            let lost: Vec<PathBuf> = folders.into_iter().filter(|folder| held(folder) && !folder.exists()).collect();
            for folder in &lost {
                loaded.distrust(folder, "it held skills, and is not there any more".to_string());
            }
            (loaded, lost)
        });
        let (loaded, lost) = read.await;
        let mut changes = changed(&old.loaded, &loaded);
        changes.extend(
            lost.iter()
                .filter(|folder| !old.lost.contains(folder))
                .map(|folder| format!("the folder {} is away", folder.display())),
        );
        if changes.is_empty() && lost == old.lost {
            return changes;
        }
        let skills = Skills { number: old.number + 1, lost, ..Skills::new(loaded) };
        if let Some(host) = &self.skill_host {
            // Before the gates: what they stand for can be asked from the first moment.
            host.take(skills.loaded.with_lisp());
        }
        *self.skills.write() = Arc::new(skills);
        for change in &changes {
            self.say(LogLevel::Info, &format!("skills: {change}"));
        }
        // It is no error of ours: who saved the file is told so, the next answer tells of it again, and the list has it.
        for gap in self.skill_gaps() {
            self.say(LogLevel::Warning, &gap);
        }
        self.gaps_told.store(false, std::sync::atomic::Ordering::Relaxed);
        (self.notify)(Notice::Status);
        self.jobs_doubt();
        changes
    }

    /// Reads all skills anew as the user asks for it: in Emacs, where it is seen what became of them, blocks that failed too
    /// often are called again, too. Returns what changed, in words.
    pub async fn reload_skills_for(&self, origin: &Origin) -> Vec<String> {
        let mut changes = self.reload_skills().await;
        let own = origin.source == Source::Emacs && origin.rights.approve;
        let again = self.skill_host.as_ref().filter(|_| own).map_or(0, |host| host.unpark());
        if again > 0 {
            changes.push(format!("the Lisp of {} that failed too often is called again", counted(again, "skill")));
        }
        changes
    }

    /// Tries the Lisp of skills out that is new, one skill after the other in one spare worker, and keeps those out whose
    /// Lisp breaks, or whose gate says something else of its examples. Until then they hold as they are.
    pub async fn try_skills(&self) {
        let Some(host) = self.skill_host.clone() else { return };
        let _alone = self.trying.lock().await;
        let skills = self.skills();
        let mut failed = false;
        for skill in skills.loaded.skills.iter().filter(|skill| skill.lisp.is_run()) {
            if self.tried.lock().get(&skill.name).is_some_and(|(lisp, _)| *lisp == skill.lisp) {
                continue;
            }
            let came = match host.try_out(skill).await {
                Tried::Well => Ok(()),
                Tried::Badly(why) => Err(why),
                // It is tried again when skills are read next; where no Lisp can be run its gate denies.
                Tried::Not => continue,
            };
            failed |= came.is_err();
            self.tried.lock().insert(skill.name.clone(), (skill.lisp.clone(), came));
        }
        if failed {
            self.reload_skills().await;
        }
    }

    /// Returns the skill for an occasion: the first that is for it, whose trigger in Lisp says so where it has one.
    pub(super) async fn triggered_skill(&self, by: &By<'_>) -> Option<Skill> {
        let skills = self.skills();
        for skill in triggered(&skills.loaded.skills, &by.facts) {
            if self.is_triggered(skill, by).await {
                return Some(skill.clone());
            }
        }
        None
    }

    /// Returns what the first skill says that answers an occasion itself, with that skill.
    pub(super) async fn handled(&self, by: &By<'_>) -> Option<(Skill, Said)> {
        let skills = self.skills();
        for skill in handlers(&skills.loaded.skills, &by.facts) {
            if self.is_triggered(skill, by).await
                && let Some(Some(said)) = self.ask_skill(skill, Role::Handler, by, cases::answer).await
            {
                return Some((skill.clone(), said));
            }
        }
        None
    }

    /// Runs the block `job` of the skill that a task names; `None` when it names none.
    ///
    /// # Errors
    /// Why it was not run, in words.
    pub(super) async fn job_of_skill(&self, by: &By<'_>) -> Option<Result<(Skill, Said), String>> {
        let name = skill_of_task(by.facts.text)?;
        let skills = self.skills();
        let skill = skills.loaded.skills.iter().find(|skill| skill.name == name && skill.lisp.has(Role::Job));
        let Some(skill) = skill else {
            return Some(Err(format!(
                "no skill {name} is loaded that has a block “job”; M-x passepartout-skills says why"
            )));
        };
        let said = self.ask_skill(skill, Role::Job, by, cases::answer).await;
        let nothing = || Said::Words(format!("The skill {name} had nothing to do."));
        let said = said.ok_or_else(|| format!("the block “job” of the skill {name} gave no answer; the log says why"));
        Some(said.map(|said| (skill.clone(), said.unwrap_or_else(nothing))))
    }

    /// Asks the trigger of a skill whose declarative trigger matches, once in a turn; one without Lisp is for the occasion.
    /// Without an answer only one is that narrows what may be done, or rewrites it.
    async fn is_triggered(&self, skill: &Skill, by: &By<'_>) -> bool {
        if !skill.lisp.has(Role::Trigger) {
            return true;
        }
        let known = by.known.lock().get(&skill.name).copied();
        if let Some(known) = known {
            return known;
        }
        let said = self.ask_skill(skill, Role::Trigger, by, cases::yes).await;
        let holds = said.unwrap_or(skill.tools.is_some() || skill.lisp.has(Role::Refine));
        by.known.lock().insert(skill.name.clone(), holds);
        holds
    }

    /// Returns what a skill tells a model on an occasion: what stands below its heading, then what its Lisp says.
    pub(super) async fn skill_prompt(&self, skill: &Skill, by: &By<'_>) -> Option<String> {
        let mut parts: Vec<String> = skill.prompt.iter().cloned().collect();
        if skill.lisp.has(Role::Prompt) {
            parts.extend(self.ask_skill(skill, Role::Prompt, by, cases::told).await.flatten());
        }
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }

    /// Asks a skill about an occasion, as long as there is time before the turn begins; `None` without an answer.
    async fn ask_skill<T>(
        &self,
        skill: &Skill,
        role: Role,
        by: &By<'_>,
        read: impl FnOnce(&Sexp) -> Result<T, String>,
    ) -> Option<T> {
        let (host, until) = (self.skill_host.as_ref()?, by.until?);
        let case = by.occasion.plist().build();
        let asked = host.ask(&skill.name, role, (&case, &by.told), read);
        let answer = tokio::time::timeout_at(until, asked).await.ok().and_then(Result::ok);
        if answer.is_none() {
            by.silent.lock().insert((role, skill.called().into_owned()));
        }
        answer
    }

    /// Returns what set a turn off, as skills are told of it; who only looks ahead asks no Lisp.
    pub(super) fn occasion<'a>(
        &self,
        start: &Start,
        facts: SignalFacts<'a>,
        focus: Option<&NodeRef>,
        (now, lisp): (jiff::civil::DateTime, bool),
    ) -> By<'a> {
        let (labels, outside) = match start {
            Start::Words { signal, outside, .. } => (signal.labels, !outside.is_empty()),
            Start::Commanded(commanded) => (commanded.signal.labels, false),
            Start::Decided { conversation, .. } => (conversation.labels, !conversation.outside.is_empty()),
        };
        // Of a heading that is private, or that somebody else wrote, Lisp is told nothing.
        let told_of = |node: &&NodeRef| {
            node.privacy() == Privacy::Open && self.outside_of_nodes(std::slice::from_ref(*node)).is_empty()
        };
        let focus = focus.filter(told_of);
        let hidden = |text: &str| mask(&self.mask(text)).0;
        let occasion = Occasion {
            sensor: facts.sensor.to_string(),
            text: hidden(facts.text),
            tags: focus.map(|_| facts.tags.iter().map(|tag| hidden(tag)).collect()).unwrap_or_default(),
            todo: focus.and(facts.todo).map(hidden),
            file: focus.and(facts.file).map(hidden),
            heading: focus.map(|node| (hidden(node.id().as_str()), hidden(node.title()))),
            time: now.strftime("%Y-%m-%d %H:%M").to_string(),
        };
        let trust = if outside { Trust::Untrusted } else { labels.trust };
        let told = Told { privacy: labels.privacy, trust, sources: Default::default() };
        let until = lisp.then(|| tokio::time::Instant::now() + BEFORE);
        By { facts, occasion, told, until, known: Mutex::default(), silent: Mutex::default() }
    }

    /// Counts a turn of a skill.
    pub(super) fn count_turn(&self, skill: &str, seconds: f64, report: &TurnReport) {
        let mut all = self.skill_turns.lock();
        let turns = all.entry(skill.to_string()).or_default();
        turns.count += 1;
        turns.seconds += seconds;
        turns.failed += u64::from(report.ending == Ending::Failed);
        turns.rejected += u64::try_from(report.rejections()).unwrap_or(u64::MAX);
    }
}

/// What set a turn off, for triggers and for the Lisp of skills.
pub(super) struct By<'a> {
    /// For declarative triggers.
    pub facts: SignalFacts<'a>,
    /// For Lisp.
    pub occasion: Occasion,
    /// What is known of what Lisp is told.
    pub told: Told,
    /// Until when Lisp is waited for, all together; `None` when none is asked.
    pub until: Option<tokio::time::Instant>,
    /// What triggers in Lisp said.
    pub known: Mutex<BTreeMap<String, bool>>,
    /// What gave no answer: the block and its skill.
    pub silent: Mutex<BTreeSet<(Role, String)>>,
}

impl By<'_> {
    /// Says below the answer whose Lisp gave none, as the user would wonder what becomes of it.
    pub fn silence(&self) -> Vec<String> {
        let line = |(role, skill): &(Role, String)| {
            let block = role.name();
            format!("The block “{block}” of the skill {skill} gave no answer; M-x passepartout-skills says why.")
        };
        self.silent.lock().iter().map(line).collect()
    }
}

/// What became of the turns of each skill.
pub(super) type SkillTurns = BTreeMap<String, Turns>;

/// The folders of skills: the shipped ones, those beside our settings, then the user's.
pub(super) fn skill_folders(config: &Config) -> Vec<PathBuf> {
    sources(config).into_iter().map(|source| source.folder).collect()
}

/// Returns what is otherwise than before, one line a skill.
fn changed(old: &Loaded, new: &Loaded) -> Vec<String> {
    type Now = (SkillState, Option<Skill>, Option<String>, String);
    let state = |loaded: &Loaded| -> BTreeMap<(String, Option<PathBuf>), Now> {
        let skill =
            |name: &str| loaded.skills.iter().chain(&loaded.rules_alone).find(|skill| skill.name == name).cloned();
        let one = |report: &SkillReport| {
            let (key, called) = ((report.name.clone(), report.file.clone()), report.called().into_owned());
            let installed = loaded.installed.iter().find(|one| one.handbook.name == report.name);
            (key, (report.state.clone(), skill(&report.name), installed.map(|one| one.package.hash()), called))
        };
        loaded.reports.iter().map(one).collect()
    };
    let (before, after) = (state(old), state(new));
    let mut lines = Vec::new();
    // A model reads the log.
    let strange = |key: &(String, Option<PathBuf>)| {
        new.reports.iter().any(|report| report.is_strange() && (&report.name, &report.file) == (&key.0, &key.1))
    };
    for (key, now @ (.., name)) in &after {
        let word = match (before.get(key), &now.0) {
            (Some(then), _) if then == now => continue,
            (_, SkillState::Failed(_) | SkillState::Unread(_)) if strange(key) => {
                format!("{name} comes from outside and is kept out: M-x passepartout-skills says why")
            }
            (_, SkillState::Failed(why) | SkillState::Unread(why)) => format!("{name} is kept out: {why}"),
            (_, SkillState::Waiting(_)) => {
                format!("{name} comes from outside and waits for you: M-x passepartout-skills")
            }
            (_, SkillState::Off(_)) => format!("{name} is out of use"),
            (Some(_), SkillState::Loaded) => format!("{name} was read anew"),
            (None, SkillState::Loaded) => format!("{name} came in"),
        };
        lines.push(word);
    }
    let gone = before.iter().filter(|(key, _)| !after.contains_key(*key));
    lines.extend(gone.map(|(_, (.., name))| format!("{name} is gone")));
    lines
}
