//! Loads skills from folders, in the order that they need each other, and says what became of each.
//!
//! A skill that cannot be loaded keeps no other out; when it holds rules, or may hold some, a gate that asks stands
//! in for them. The mandatory ones are also built into the program: where a folder has no readable version, the
//! built-in one stands in.

use crate::domain::gate::Gates;
use crate::domain::gate::standard::standard;
use crate::domain::org::outline::Outline;
use crate::domain::org::scan::{ScanOptions, scan};
use crate::domain::skill::Skill;
use crate::domain::skill::gate::{self, Asked, Unread};
use crate::domain::skill::lisp::Role;
use crate::domain::skill::order::order;
use crate::domain::skill::parse::{may_hold_rules, parse, rules_alone};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Largest file of a skill, in bytes.
const MAX_FILE: u64 = 256 * 1024;
/// How many files of one folder are read.
const MAX_FILES: usize = 1000;

/// Skills that cannot be absent, as they are built in.
const MANDATORY: &[(&str, &str)] =
    &[("policy", include_str!("../../skills/policy.org")), ("dispatcher", include_str!("../../skills/dispatcher.org"))];

/// What became of one skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillState {
    /// It is loaded.
    Loaded,
    /// It was kept out and has no rules; why, and what would be right.
    Failed(String),
    /// It was kept out, and holds rules or may hold some: a gate asks in their place.
    Unread(String),
}

/// One line of the list of skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillReport {
    /// Its name.
    pub name: String,
    /// Its file; `None` for one that is built in.
    pub file: Option<PathBuf>,
    /// What became of it.
    pub state: SkillState,
    /// What is odd about it.
    pub remarks: Vec<String>,
    /// How long it took to read it and to run its examples.
    pub took: Duration,
}

/// The skills of a session.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Those that are loaded, each after all that it needs.
    pub skills: Vec<Skill>,
    /// What holds of those that were kept out all the same: rules that are readable, and gates of their own.
    pub rules_alone: Vec<Skill>,
    /// What stands where rules cannot be used.
    pub unread: Vec<Unread>,
    /// What became of each, by name.
    pub reports: Vec<SkillReport>,
}

/// Loads every `*.org` of some folders but `README.org` and hidden files; of two with one name, the first counts.
/// A folder that does not exist holds nothing. Call it off Emacs's thread.
pub fn load(folders: &[PathBuf]) -> Loaded {
    load_but(folders, &|_| None)
}

/// As [`load`], but for skills of which it is known why they must stay out.
pub fn load_but(folders: &[PathBuf], known: &dyn Fn(&Skill) -> Option<String>) -> Loaded {
    let mut loaded = Loaded::default();
    let mut found: Vec<Found> = Vec::new();
    for folder in folders {
        for path in files(folder, &mut loaded) {
            read_one(path, known, &mut found, &mut loaded);
        }
    }
    for name in mandatory() {
        if !found.iter().any(|(skill, ..)| skill.name == name) {
            found.extend(loaded.built_in(name).map(|skill| (skill, None, Duration::ZERO)));
        }
    }
    let mut ordered = order(found.iter().map(|(skill, ..)| skill.clone()).collect());
    for name in mandatory() {
        if !ordered.skills.iter().any(|skill| skill.name == name)
            && let Some(mut skill) = loaded.built_in(name)
        {
            // It was left out for what it needs; the built-in one does without.
            skill.depends_on.clear();
            ordered.skills.insert(0, skill);
        }
    }
    let read = |name: &str| found.iter().find(|(skill, ..)| skill.name == name);
    let file = |name: &str| read(name).and_then(|(_, file, _)| file.clone());
    for skill in &ordered.skills {
        let (name, file, remarks) = (skill.name.clone(), file(&skill.name), skill.remarks.clone());
        let took = read(&skill.name).map(|(.., took)| *took).unwrap_or_default();
        loaded.reports.push(SkillReport { name, file, state: SkillState::Loaded, remarks, took });
    }
    for (skill, why) in ordered.left_out {
        let holds_rules = !skill.rules.is_empty() || skill.lisp.has(Role::Gate);
        loaded.keep_out(&skill.name, file(&skill.name), why.to_string(), holds_rules);
        loaded.rules_alone.push(skill);
    }
    loaded.reports.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.file.cmp(&b.file)));
    loaded.skills = ordered.skills;
    loaded
}

impl Loaded {
    /// Returns what is wrong with skills that have no rules, in words.
    pub fn complaints(&self) -> Vec<String> {
        let failed = self.reports.iter().filter_map(|report| match &report.state {
            SkillState::Loaded | SkillState::Unread(_) => None,
            SkillState::Failed(why) => Some(format!("{}: {why}", report.name)),
        });
        failed.collect()
    }

    /// Returns which rules are not in force, with what follows from it and the way out; `host` says whether the gates that
    /// skills wrote in Lisp can be asked.
    pub fn gaps(&self, host: bool) -> Vec<String> {
        let gates = if host { Vec::new() } else { self.own_gates() };
        self.unread.iter().map(Unread::words).chain(gates.iter().map(Asked::words)).collect()
    }

    /// Returns the gates that skills wrote in Lisp, also those of skills that were kept out.
    pub fn own_gates(&self) -> Vec<Asked> {
        gate::own_gates(&self.skills).chain(gate::own_gates(&self.rules_alone)).collect()
    }

    /// Returns the skills whose Lisp may be asked: the loaded ones, and of the others those with gates of their own.
    pub fn with_lisp(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter().chain(self.rules_alone.iter().filter(|skill| skill.lisp.has(Role::Gate)))
    }

    /// Returns the gates of a session: the standard ones, those of all rules that can be read, for each skill whose
    /// rules cannot be used one that asks, and for each gate in Lisp one that says what it answered.
    pub fn gates(&self) -> Gates {
        let with_rules: Vec<Skill> = self.skills.iter().chain(&self.rules_alone).cloned().collect();
        let (rules, broken) = gate::gates(&with_rules);
        let unread = broken.into_iter().chain(self.unread.iter().cloned());
        let gates = unread.fold(standard(rules), |gates, unread| gates.and(Box::new(unread)));
        self.own_gates().into_iter().fold(gates, |gates, asked| gates.and(Box::new(asked)))
    }

    /// Notes that a skill is not loaded; when it holds rules or may hold some, a gate asks in their place.
    fn keep_out(&mut self, name: &str, file: Option<PathBuf>, why: String, holds_rules: bool) {
        let state = if holds_rules {
            let place = file.as_ref().map_or_else(|| "built in".to_string(), |file| file.display().to_string());
            self.unread.push(Unread::new(&format!("skill {name}"), format!("{place}: {why}")));
            SkillState::Unread(why)
        } else {
            SkillState::Failed(why)
        };
        self.reports.push(SkillReport {
            name: name.to_string(),
            file,
            state,
            remarks: Vec::new(),
            took: Duration::ZERO,
        });
    }

    /// Notes that nobody knows what a folder holds.
    pub fn distrust(&mut self, folder: &Path, why: String) {
        self.unread.push(Unread::new("the skills folder", format!("{}: {why}", folder.display())));
    }

    /// Returns a skill that cannot be absent, as it is built in.
    fn built_in(&mut self, name: &str) -> Option<Skill> {
        let (_, text) = MANDATORY.iter().find(|(mandatory, _)| *mandatory == name)?;
        let read = outline(text.to_string()).and_then(|outline| parse(name, &outline).map_err(|why| why.to_string()));
        read.map_err(|why| self.keep_out(name, None, why, true)).ok()
    }
}

/// Returns the names of the skills that cannot be absent.
pub fn mandatory() -> impl Iterator<Item = &'static str> {
    MANDATORY.iter().map(|(name, _)| *name)
}

/// A skill, its file, and how long it took to read.
type Found = (Skill, Option<PathBuf>, Duration);

fn read_one(path: PathBuf, known: &dyn Fn(&Skill) -> Option<String>, found: &mut Vec<Found>, loaded: &mut Loaded) {
    let begin = Instant::now();
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if path.is_dir() {
        return loaded.keep_out(&name, Some(path), "it is no regular file".to_string(), false);
    }
    let text = match read_file(&path) {
        Ok(text) => text,
        // Nobody knows what stands in it.
        Err(why) => return loaded.keep_out(&name, Some(path), why, true),
    };
    let rules = may_hold_rules(&text);
    let outline = match outline(text) {
        Ok(outline) => outline,
        Err(why) => return loaded.keep_out(&name, Some(path), why, true),
    };
    let why = match (found.iter().find(|(skill, ..)| skill.name == name), parse(&name, &outline)) {
        (Some((_, Some(first), _)), _) if same(first, &path) => return,
        (Some((_, first, _)), _) => {
            let first = first.as_ref().map_or_else(String::new, |first| first.display().to_string());
            format!("a skill of this name is already loaded from {first}; rename one of them")
        }
        (None, Ok(skill)) => match known(&skill) {
            None => return found.push((skill, Some(path), begin.elapsed())),
            Some(why) => why,
        },
        (None, Err(why)) => why.to_string(),
    };
    let gate = rules_alone(&name, &outline);
    loaded.keep_out(&name, Some(path), why, rules || gate.lisp.has(Role::Gate));
    // What is wrong elsewhere in it takes no rule and no gate of its own out of force.
    loaded.rules_alone.push(gate);
}

/// Returns whether two paths lead to one file: of a folder that is named twice, each skill counts once.
fn same(one: &Path, other: &Path) -> bool {
    fs::canonicalize(one).is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
}

fn outline(text: String) -> Result<Outline, String> {
    scan(Arc::from(text), &ScanOptions::default()).map_err(|why| why.to_string())
}

fn read_file(path: &Path) -> Result<String, String> {
    let about = fs::metadata(path).map_err(|why| format!("it cannot be read: {why}"))?;
    if !about.is_file() {
        return Err("it is no regular file".to_string());
    }
    if about.len() > MAX_FILE {
        return Err(format!("it has {} bytes; a skill has at most 256 kB", about.len()));
    }
    let bytes = fs::read(path).map_err(|why| format!("it cannot be read: {why}"))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err("it grew while it was read; a skill has at most 256 kB".to_string());
    }
    String::from_utf8(bytes).map_err(|why| format!("it is not UTF-8 at byte {}", why.utf8_error().valid_up_to()))
}

/// Returns the files of a folder that may be skills, by name.
fn files(folder: &Path, loaded: &mut Loaded) -> Vec<PathBuf> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(why) => {
            loaded.distrust(folder, why.to_string());
            return Vec::new();
        }
    };
    let mut paths = Vec::new();
    for entry in entries {
        match entry {
            Ok(entry) => paths.push(entry.path()),
            Err(why) => loaded.distrust(folder, why.to_string()),
        }
    }
    paths.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".org") && !name.starts_with(['.', '#']) && name != "README.org"
    });
    paths.sort();
    if paths.len() > MAX_FILES {
        loaded.distrust(folder, format!("it holds {} skills, and the first {MAX_FILES} are read", paths.len()));
        paths.truncate(MAX_FILES);
    }
    paths
}
