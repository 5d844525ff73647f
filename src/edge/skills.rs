//! Loads skills from folders, in the order that they need each other, and says what became of each.
//!
//! A skill that cannot be loaded keeps no other out. The mandatory ones are also built into the program:
//! where a folder has no readable version, the built-in one stands in.

use crate::domain::org::scan::{ScanOptions, scan};
use crate::domain::skill::Skill;
use crate::domain::skill::order::{Ordered, order};
use crate::domain::skill::parse::parse;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    /// It was kept out; why, and what would be right.
    Failed(String),
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
}

/// The skills of a session.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Those that are loaded, each after all that it needs.
    pub skills: Vec<Skill>,
    /// What became of each, by name.
    pub reports: Vec<SkillReport>,
    /// Folders that could not be read, each with why.
    pub problems: Vec<String>,
}

impl Loaded {
    /// Returns what is wrong, in words.
    pub fn complaints(&self) -> Vec<String> {
        let failed = self.reports.iter().filter_map(|report| match &report.state {
            SkillState::Loaded => None,
            SkillState::Failed(why) => Some(format!("{}: {why}", report.name)),
        });
        failed.chain(self.problems.iter().cloned()).collect()
    }
}

/// Loads every `*.org` of some folders but `README.org` and hidden files; of two with one name, the first counts.
/// A folder that does not exist holds nothing. Call it off Emacs's thread.
pub fn load(folders: &[PathBuf]) -> Loaded {
    let mut loaded = Loaded::default();
    let mut found: Vec<(Skill, Option<PathBuf>)> = Vec::new();
    for folder in folders {
        for path in files(folder, &mut loaded.problems) {
            read_one(path, &mut found, &mut loaded.reports);
        }
    }
    let stand_in = |name: &str, found: &mut Vec<(Skill, Option<PathBuf>)>| {
        let text = MANDATORY.iter().find(|(mandatory, _)| *mandatory == name).map(|(_, text)| *text);
        text.map(|text| read_text(name, text.to_string()).map(|skill| found.push((skill, None))))
    };
    for (name, _) in MANDATORY {
        if found.iter().any(|(skill, _)| skill.name == *name) {
            continue;
        }
        if let Some(Err(why)) = stand_in(name, &mut found) {
            loaded.reports.push(SkillReport {
                name: (*name).to_string(),
                file: None,
                state: SkillState::Failed(why),
                remarks: Vec::new(),
            });
        }
    }
    let mut ordered = order(found.iter().map(|(skill, _)| skill.clone()).collect());
    restore_mandatory(&mut ordered, &mut loaded.reports);
    let file = |name: &str| found.iter().find(|(skill, _)| skill.name == name).and_then(|(_, file)| file.clone());
    for skill in &ordered.skills {
        let remarks = skill.remarks.clone();
        loaded.reports.push(SkillReport {
            name: skill.name.clone(),
            file: file(&skill.name),
            state: SkillState::Loaded,
            remarks,
        });
    }
    for (skill, why) in &ordered.left_out {
        let state = SkillState::Failed(why.to_string());
        let remarks = skill.remarks.clone();
        loaded.reports.push(SkillReport { name: skill.name.clone(), file: file(&skill.name), state, remarks });
    }
    loaded.reports.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.file.cmp(&b.file)));
    loaded.skills = ordered.skills;
    loaded
}

/// Puts the built-in version where a mandatory skill was left out for what it needs.
fn restore_mandatory(ordered: &mut Ordered, reports: &mut Vec<SkillReport>) {
    for (name, text) in MANDATORY {
        if ordered.skills.iter().any(|skill| skill.name == *name) {
            continue;
        }
        match read_text(name, (*text).to_string()) {
            Ok(mut skill) => {
                skill.depends_on.clear();
                ordered.skills.insert(0, skill);
            }
            Err(why) => {
                let state = SkillState::Failed(why);
                reports.push(SkillReport { name: (*name).to_string(), file: None, state, remarks: Vec::new() });
            }
        }
    }
}

/// Returns the names of the skills that cannot be absent.
pub fn mandatory() -> impl Iterator<Item = &'static str> {
    MANDATORY.iter().map(|(name, _)| *name)
}

fn read_one(path: PathBuf, found: &mut Vec<(Skill, Option<PathBuf>)>, reports: &mut Vec<SkillReport>) {
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_string();
    let failed = |why: String, file: PathBuf| {
        let state = SkillState::Failed(why);
        SkillReport { name: name.clone(), file: Some(file), state, remarks: Vec::new() }
    };
    let first = found.iter().find(|(skill, _)| skill.name == name).and_then(|(_, file)| file.as_ref());
    if let Some(first) = first {
        let why = format!("a skill of this name is already loaded from {}; rename one of them", first.display());
        return reports.push(failed(why, path));
    }
    match read_file(&path).and_then(|text| read_text(&name, text)) {
        Ok(skill) => found.push((skill, Some(path))),
        Err(why) => reports.push(failed(why, path)),
    }
}

fn read_text(name: &str, text: String) -> Result<Skill, String> {
    let outline = scan(Arc::from(text), &ScanOptions::default()).map_err(|why| why.to_string())?;
    parse(name, &outline).map_err(|why| why.to_string())
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
fn files(folder: &Path, problems: &mut Vec<String>) -> Vec<PathBuf> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(why) => {
            problems.push(format!("the skills in {} cannot be read: {why}", folder.display()));
            return Vec::new();
        }
    };
    let is_skill = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(".org") && !name.starts_with(['.', '#']) && name != "README.org"
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_skill).collect();
    paths.sort();
    if paths.len() > MAX_FILES {
        problems.push(format!("{} holds {} skills; the first {MAX_FILES} are read", folder.display(), paths.len()));
        paths.truncate(MAX_FILES);
    }
    paths
}
