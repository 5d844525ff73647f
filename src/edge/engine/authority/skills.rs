//! Skills that come from outside, or that the user takes out of use: shown whole first, and confirmed as they were shown.

use crate::domain::count::counted;
use crate::domain::id::TurnId;
use crate::domain::label::Privacy;
use crate::domain::org::scan::{ScanOptions, scan};
use crate::domain::policy::loosening::Loosening;
use crate::domain::signal::{Origin, Source};
use crate::domain::skill::asks;
use crate::domain::skill::handbook;
use crate::domain::skill::order::needing;
use crate::domain::skill::parse::{Examples, read, rules_alone};
use crate::edge::engine::Engine;
use crate::edge::engine::record::Finished;
use crate::edge::skills::{self as files, Package, SkillReport, SkillState};
use crate::edge::thread::aside;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many files are named when several skills have one name.
const NAMED: usize = 5;

/// Which skill is meant: by its name, and by its file where several have that name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillAt {
    /// Its name; empty where the file alone is given.
    pub name: String,
    /// Its file or folder.
    pub file: Option<PathBuf>,
}

impl From<&str> for SkillAt {
    /// A word with a slash is a file.
    fn from(word: &str) -> SkillAt {
        match word.contains('/') {
            true => SkillAt { name: String::new(), file: Some(word.into()) },
            false => SkillAt { name: word.to_string(), file: None },
        }
    }
}

impl SkillAt {
    fn is(&self, report: &SkillReport) -> bool {
        let named = self.name.is_empty() || self.name == report.name;
        let there = |file: &PathBuf| report.file.as_ref().is_some_and(|own| own == file || files::same(own, file));
        named && self.file.as_ref().is_none_or(there)
    }

    /// Returns it for people.
    fn words(&self) -> String {
        let file = || self.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
        let text = if self.name.is_empty() { file() } else { crate::domain::action::clip(&self.name) };
        crate::domain::inert::exact(&text)
    }
}

/// A skill as a human is shown it.
pub struct Shown {
    /// All of it: what it asks for, a list of its files, and their texts.
    pub text: String,
    /// What it asks for, line by line.
    pub asks: Vec<String>,
    /// What using it would confirm; the name of exactly these files.
    pub using: Loosening,
    /// What taking it out of use would keep.
    pub off: Loosening,
    /// Whether something of it tightens, or may, so that taking it out of use is confirmed.
    pub tightens: bool,
    /// Why it does not load, if it does not.
    pub wrong: Option<String>,
}

impl Engine {
    /// Returns the report of a skill.
    ///
    /// # Errors
    /// When there is none, or several have the name and nobody says which file is meant.
    pub fn skill_named(&self, at: impl Into<SkillAt>) -> Result<SkillReport, String> {
        let (skills, at) = (self.skills(), at.into());
        let found: Vec<&SkillReport> = skills.loaded.reports.iter().filter(|report| at.is(report)).collect();
        match found.as_slice() {
            [] => Err(format!("there is no skill “{}”; they are listed by: passepartout skills list", at.words())),
            [one] => Ok((*one).clone()),
            several => {
                let file = |report: &&SkillReport| match &report.file {
                    Some(file) => crate::domain::inert::exact(&file.display().to_string()),
                    None => "(built in)".to_string(),
                };
                let files: Vec<String> = several.iter().take(NAMED).map(file).collect();
                let more = if several.len() > NAMED { ", …" } else { "" };
                let (name, files) = (at.words(), files.join(", "));
                Err(format!(
                    "several skills are called “{name}”: {files}{more}; name the file of the one that you mean"
                ))
            }
        }
    }

    /// Says whether a new skill may have a name: of two with one name nobody knows which is meant.
    ///
    /// # Errors
    /// When there is one of that name.
    pub fn is_free_for_skill(&self, name: &str) -> Result<(), String> {
        let skills = self.skills();
        match skills.loaded.reports.iter().find(|report| report.name == name) {
            None => Ok(()),
            Some(report) => {
                let file = report.file.as_ref().map(|file| format!(" ({})", file.display())).unwrap_or_default();
                let file = crate::domain::inert::exact(&file);
                Err(format!("there is a skill {name} already{file}; take another name"))
            }
        }
    }

    /// Shows a skill whole, as its files are now. It may take a moment.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn show_skill(&self, at: impl Into<SkillAt>) -> Result<Shown, String> {
        let SkillReport { name, file, .. } = self.skill_named(at)?;
        match &file {
            Some(path) => show(path, &name),
            None => Err(format!("the skill {name} is built in; the folder of shipped skills has its text")),
        }
    }

    /// Makes a flight plan of using a skill that comes from outside, as it was shown, for the user to approve in Emacs.
    /// What was shown is named by the whole hash of what it would confirm.
    ///
    /// # Errors
    /// When it is not what was shown any more, does not wait, or the channel is not the user's Emacs.
    pub async fn propose_skill(
        self: &Arc<Self>,
        origin: &Origin,
        at: impl Into<SkillAt>,
        shown: &str,
        turn: TurnId,
    ) -> Result<Finished, String> {
        self.only_emacs(origin)?;
        let report = self.skill_named(at)?;
        let name = &report.name;
        let SkillState::Waiting(_) = report.state else {
            return Err(format!("the skill {name} does not wait for you"));
        };
        let now = shown_aside(&report).await?;
        if now.using.hash() != shown {
            return Err(format!("the skill {name} is not what was shown any more; look at it again"));
        }
        if let Some(why) = &now.wrong {
            return Err(format!("the skill {name} does not load: {why}"));
        }
        let why = format!("You asked to use the skill {name}, which comes from outside.");
        let asks = format!("{name} asks for:\n{}", listed(&now.asks));
        self.propose_loosening(origin, &now.using, (vec![("replay", asks)], Privacy::Open), &why, turn).await
    }

    /// Takes a skill out of use. One that tightens something becomes a flight plan, for the user to approve in Emacs.
    ///
    /// # Errors
    /// When there is none of that name, it cannot be absent, or the channel may not do it.
    pub async fn disable_skill(
        self: &Arc<Self>,
        origin: &Origin,
        at: impl Into<SkillAt>,
        turn: TurnId,
    ) -> Result<Result<String, Box<Finished>>, String> {
        if !origin.rights.may_take_away() {
            return Err("this channel may not change skills".to_string());
        }
        let report = self.skill_named(at)?;
        let name = &report.name;
        if files::mandatory().any(|mandatory| mandatory == name) {
            return Err(format!("the skill {name} cannot be absent"));
        }
        if let SkillState::Off(_) = report.state {
            return Err(format!("the skill {name} is out of use already"));
        }
        let now = shown_aside(&report).await?;
        let with_it = self.tightening_with(&report);
        if !now.tightens && with_it.is_empty() {
            self.keep_loosening(&now.off, crate::domain::audit::Ruling::Confirmed, super::channel(origin.source))
                .await?;
            return Ok(Ok(format!("The skill {name} is out of use.")));
        }
        self.only_emacs(origin)?;
        let why = format!("You asked to take the skill {name} out of use, and with it what it tightens.");
        let mut asks = format!("What it does now:\n{}", listed(&now.asks));
        if !with_it.is_empty() {
            let names = with_it.join(", ");
            asks.push_str(&format!("What needs it, goes out of use with it, and tightens something: {names}\n"));
        }
        let finished =
            self.propose_loosening(origin, &now.off, (vec![("replay", asks)], Privacy::Open), &why, turn).await?;
        Ok(Err(Box::new(finished)))
    }

    /// Returns the skills that tighten something and go out of use with another one, which they need.
    fn tightening_with(&self, report: &SkillReport) -> Vec<String> {
        if report.state != SkillState::Loaded {
            return Vec::new();
        }
        let skills = self.skills();
        let needing = needing(&skills.loaded.skills, &report.name).into_iter();
        needing.filter(|skill| files::tightens(skill)).map(|skill| skill.name.clone()).collect()
    }

    /// Brings a skill back that was taken out of use.
    ///
    /// # Errors
    /// When it is not out of use, or it could not be stored.
    pub async fn enable_skill(&self, origin: &Origin, at: impl Into<SkillAt>) -> Result<String, String> {
        if !origin.rights.propose {
            return Err("this channel may not change skills".to_string());
        }
        let SkillReport { name, state, .. } = self.skill_named(at)?;
        let SkillState::Off(off) = state else {
            return Err(format!("the skill {name} is not out of use"));
        };
        let ruling = crate::domain::audit::Ruling::Revoked;
        self.keep_loosening(&off, ruling, super::channel(origin.source)).await?;
        Ok(format!("The skill {name} is in use again."))
    }

    /// Looks again whether a skill is what was shown, before that is kept.
    ///
    /// # Errors
    /// When it is not.
    pub(super) async fn still_shown(&self, loosening: &Loosening) -> Result<(), String> {
        let Some((name, off)) = loosening.skill() else { return Ok(()) };
        let (name, path) = (name.to_string(), std::path::PathBuf::from(&loosening.file));
        let now = aside(move || show(&path, &name)).await?;
        let same = if off { now.off == *loosening } else { now.using == *loosening };
        if same { Ok(()) } else { Err("the skill changed since it was shown; look at it again".to_string()) }
    }

    fn only_emacs(&self, origin: &Origin) -> Result<(), String> {
        match origin.rights.approve && origin.source == Source::Emacs {
            true => Ok(()),
            false => Err("that is shown and confirmed in Emacs: M-x passepartout-skills".to_string()),
        }
    }
}

/// Reads the skill of a report as its files are now, on another thread.
async fn shown_aside(report: &SkillReport) -> Result<Shown, String> {
    let SkillReport { name, file, .. } = report.clone();
    let Some(path) = file else { return Err(format!("the skill {name} is built in, and has no file")) };
    aside(move || show(&path, &name)).await
}

/// Reads a skill and says what it asks for.
fn show(path: &Path, name: &str) -> Result<Shown, String> {
    let (package, asks, tightens, wrong) = if path.is_dir() {
        let (package, handbook) = files::open(path)?;
        (package, asks::of_handbook(&handbook), false, None)
    } else {
        let text = files::read_file(path)?;
        let package = Package::of_text(path, name, &text);
        let outline = scan(Arc::from(text), &ScanOptions::default()).map_err(|why| why.to_string())?;
        // To look at it is not yet to try it; but one that fails its examples does not load either.
        match read(name, &outline, Examples::Left) {
            Ok(skill) => (package, asks::of_skill(&skill, true), files::tightens(&skill), None),
            // What holds of it all the same. Nobody knows what else it would forbid.
            Err(why) => (package, asks::of_skill(&rules_alone(name, &outline), true), true, Some(why.to_string())),
        }
    };
    let (using, off) = (package.loosening(), package.off(tightens));
    let text = match &wrong {
        Some(why) => format!("It does not load: {why}\n\n{}", package.shown(&asks)),
        None => package.shown(&asks),
    };
    Ok(Shown { text, asks, using, off, tightens, wrong })
}

fn listed(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}\n")).collect()
}

/// Returns the text of a skill, or of one of its files, as the model reads it, and whether it is the user's own or ships;
/// without a name, a list of those that were installed.
///
/// # Errors
/// In words for the model.
pub(in crate::edge) fn read_skill(
    engine: &Engine,
    name: Option<&str>,
    file: Option<&str>,
) -> Result<(String, bool), String> {
    let asked = name.map(str::trim).filter(|name| !name.is_empty());
    let installed = |name: &str| engine.skills().loaded.installed.iter().any(|one| one.handbook.name == name);
    if let Some(name) = asked.filter(|name| !installed(name))
        && let Some(read) = read_own(engine, name)?
    {
        return Ok(read);
    }
    Ok((read_installed(engine, asked, file)?, false))
}

/// Reads an Org file that is a skill, with what became of it; `None` when there is none of that name. Of one that waits for
/// the user, its text is not told.
fn read_own(engine: &Engine, name: &str) -> Result<Option<(String, bool)>, String> {
    let Some(line) = engine.skill_list().into_iter().find(|line| line.name == name) else { return Ok(None) };
    let mut said = vec![format!("The skill {name} is {}.", line.state)];
    said.extend(line.why.filter(|why| !why.is_empty()));
    said.extend([line.turns, line.lisp].into_iter().filter(|text| !text.is_empty()).map(|text| format!("{text}.")));
    said.extend(line.remarks);
    let path = line.file.map(std::path::PathBuf::from).filter(|path| path.is_file() && line.state != "waiting");
    let Some(path) = path else { return Ok(Some((said.join("\n"), true))) };
    let own = files::is_own(&engine.config, &path);
    let text = files::read_file(&path)?;
    Ok(Some((format!("{}\n\n{text}", said.join("\n")), own)))
}

fn read_installed(engine: &Engine, name: Option<&str>, file: Option<&str>) -> Result<String, String> {
    let skills = engine.skills();
    let all = &skills.loaded.installed;
    let Some(name) = name.filter(|name| !name.trim().is_empty()) else {
        let lines: Vec<String> = all.iter().map(|one| one.handbook.offer()).collect();
        return if lines.is_empty() { Err("there is no skill to read".to_string()) } else { Ok(lines.join("\n")) };
    };
    let found = all.iter().find(|one| one.handbook.name == name.trim());
    let Some(found) = found else {
        // What is told of a failure carries no label, so no word of a skill stands in it.
        let (said, count) = (crate::domain::action::clip(name), counted(all.len(), "skill"));
        let list = "skill-read without a name lists them";
        return Err(format!("no skill that can be read is called “{said}”; there are {count}: {list}"));
    };
    let name = file.map(|file| file.trim().trim_start_matches("./")).filter(|file| !file.is_empty());
    let texts = || {
        let files = found.package.files.iter().filter(|file| file.readable && file.name != handbook::FILE);
        files.map(|file| file.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    match name {
        None | Some(handbook::FILE) => {
            let others = texts();
            let more = if others.is_empty() { String::new() } else { format!("\n\n[Its other files: {others}]") };
            Ok(format!("{}{more}", found.handbook.body))
        }
        Some(name) => {
            let packed = found.package.file(name).ok_or_else(|| {
                let said = crate::domain::action::clip(name);
                let count = counted(found.package.files.iter().filter(|file| file.readable).count(), "file");
                format!("it has no file “{said}”; it has {count} to read, and skill-read without a file names them")
            })?;
            files::read_again(&found.package.path, packed)
        }
    }
}
