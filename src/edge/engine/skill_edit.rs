//! Skills that are written for the user: what making or changing one would write, and how it is kept or taken back.
//!
//! Only files of the user's own skills are written, one at a time. A text that does not load is refused before anybody is
//! asked; its Lisp and its tests are run in a spare worker before anything is written; and what does not come to be
//! loaded afterwards is taken back.

use crate::domain::action::Action;
use crate::domain::gate::plan::FlightPlan;
use crate::domain::gate::rule::Rule;
use crate::domain::lisp::balance::balance;
use crate::domain::literate::blocks::blocks;
use crate::domain::org::scan::{ScanOptions, scan};
use crate::domain::replace::replace;
use crate::domain::signal::{Origin, Source};
use crate::domain::skill::handbook::is_name;
use crate::domain::skill::lisp::{Lisp, Role};
use crate::domain::skill::parse::rules_alone;
use crate::domain::skill::{Skill, asks, rule};
use crate::domain::tool::{CREATE_SKILL, EDIT_SKILL, RESTORE};
use crate::edge::engine::Engine;
use crate::edge::engine::planner::fact;
use crate::edge::engine::skill_test::{Looked, look_text};
use crate::edge::skills::{SkillState, own};
use crate::edge::survey::Predicted;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Engine {
    /// Predicts what such a tool would write; `None` for another tool. What cannot be done as asked is said in
    /// [`Predicted::impossible`].
    pub(super) fn plan_skill(&self, action: &Action) -> Option<Predicted> {
        let name = action.text("skill").unwrap_or("").trim();
        let planned = match action.tool() {
            CREATE_SKILL => self.plan_new_skill(name, action.text("text").unwrap_or("")),
            EDIT_SKILL => self.plan_changed_skill(name, action.text("old"), action.text("new").unwrap_or("")),
            _ => return None,
        };
        Some(planned.unwrap_or_else(|why| Predicted { impossible: vec![why], ..Predicted::default() }))
    }

    fn plan_new_skill(&self, name: &str, text: &str) -> Result<Predicted, String> {
        let path = self.own_skill_file(name)?;
        if path.symlink_metadata().is_ok() || self.is_free_for_skill(name).is_err() {
            return Err(format!("there is a skill {name} already; {EDIT_SKILL} changes one of the user's own"));
        }
        let skill = read(name, text)?;
        let mut doubts: Vec<String> =
            asks::of_skill(&skill, false).into_iter().map(|asked| format!("Asks: {asked}.")).collect();
        doubts.extend(tried_out(&skill));
        let edits = vec![fact(path.display().to_string(), None, text.into())];
        Ok(Predicted { edits, doubts, ..Predicted::default() })
    }

    fn plan_changed_skill(&self, name: &str, old: Option<&str>, new: &str) -> Result<Predicted, String> {
        let path = self.own_skill_file(name)?;
        let file = path.display().to_string();
        let report = self.skill_named(name)?;
        if report.file.as_ref().and_then(|file| file.canonicalize().ok()).as_ref() != Some(&path) {
            return Err(format!("the skill {name} is none of the user's own; only these are changed"));
        }
        if let SkillState::Waiting(_) = report.state {
            return Err(format!("the skill {name} comes from outside, and waits for the user"));
        }
        let before = self.text_now(&file)?.ok_or_else(|| format!("{file} is not there"))?;
        let after = match old.filter(|old| !old.is_empty()) {
            Some(old) => replace(&before, old, new, 1).map_err(|why| {
                let masked = crate::domain::gate::secret::mask(&self.mask(&before)).0;
                format!("{file}: {}", why.words(old, Some(&masked)))
            })?,
            None => balanced(&before)?,
        };
        let skill = read(name, &after)?;
        let mut doubts = match read(name, &before) {
            Ok(was) => differences(&was, &skill),
            Err(why) => {
                let outline = scan(Arc::from(&*before), &ScanOptions::default()).map_err(|why| why.to_string())?;
                let mut said = vec![format!("It does not load as it stands: {why}.")];
                // What holds of it all the same.
                said.extend(differences(&rules_alone(name, &outline), &skill));
                said
            }
        };
        doubts.extend(tried_out(&skill));
        let edits = vec![fact(file, Some(before), after.into())];
        Ok(Predicted { edits, doubts, ..Predicted::default() })
    }

    /// Returns the file of a skill of the user's own, where it lies or would lie.
    ///
    /// # Errors
    /// When the name is none, or the file is reached by a link.
    fn own_skill_file(&self, name: &str) -> Result<PathBuf, String> {
        if !is_name(name) {
            let said = crate::domain::inert::exact(&crate::domain::action::clip(name));
            return Err(format!(
                "“{said}” is no name for a skill; take small letters and digits with single hyphens between them, such as weekly-review"
            ));
        }
        let settings = self.config.settings.canonicalize().unwrap_or_else(|_| self.config.settings.clone());
        let path = settings.join("skills").join(format!("{name}.org"));
        let linked = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        match path.parent().is_some_and(linked) || linked(&path) {
            true => Err(format!("{} is reached by a link, so it is changed by hand", path.display())),
            false => Ok(path),
        }
    }

    /// Says whether a channel may take something back: of the user's own skills only Emacs, as it alone approves them.
    ///
    /// # Errors
    /// When it may not.
    pub(super) fn undone_where_it_may_be(&self, plan: &FlightPlan, origin: &Origin) -> Result<(), String> {
        let folder = own(&self.config);
        let folder = folder.canonicalize().unwrap_or(folder);
        let is_skill = |file: &&str| Path::new(file).parent() == Some(&folder);
        let goes_back = plan.action.tool() == RESTORE && plan.action.list("files").iter().any(is_skill);
        match goes_back && origin.source != Source::Emacs {
            true => Err("what changes your skills is approved in Emacs: M-x passepartout-flight-plans".to_string()),
            false => Ok(()),
        }
    }

    /// Makes the folder of the user's own skills, where there is none.
    ///
    /// # Errors
    /// In words.
    pub(in crate::edge) fn make_skill_folder(&self) -> Result<(), String> {
        let folder = own(&self.config);
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))
    }

    /// Reads all skills anew, and says whether this one is in use: it is none that the user took out of use.
    ///
    /// # Errors
    /// Why it does not load, in words.
    pub(in crate::edge) async fn load_written(self: &Arc<Self>, name: &str) -> Result<bool, String> {
        self.reload_skills().await;
        self.try_skills().await;
        match self.skill_named(name)?.state {
            SkillState::Loaded => Ok(true),
            SkillState::Off(_) => Ok(false),
            SkillState::Failed(why) | SkillState::Unread(why) => Err(why),
            SkillState::Waiting(_) => Err("it counts as one from outside, which waits for the user".to_string()),
        }
    }
}

/// Reads a text as a skill.
///
/// # Errors
/// Why it would not load, with the line.
fn read(name: &str, text: &str) -> Result<Skill, String> {
    match look_text(name, text)? {
        Looked::Skill(skill) => Ok(*skill),
        Looked::Wrong(_, why) => Err(format!("the skill {name} would not load: {why}")),
        Looked::Handbook => Err("it is a folder".to_string()),
    }
}

fn tried_out(skill: &Skill) -> Option<String> {
    let lisp = !skill.lisp.blocks.is_empty();
    lisp.then(|| {
        "Its Lisp and its tests are run in a spare worker before it is written; if one fails, nothing changes."
            .to_string()
    })
}

/// Returns in sentences what a skill would ask for that it did not, and what it would not forbid any more.
fn differences(was: &Skill, now: &Skill) -> Vec<String> {
    let (asked, asks) = (asks::of_skill(was, false), asks::of_skill(now, false));
    let mut said: Vec<String> =
        asks.iter().filter(|line| !asked.contains(line)).map(|line| format!("Asks now: {line}.")).collect();
    let kept = |old: &Rule| {
        now.rules.iter().any(|new| {
            (&new.tool, &new.argument, &new.pattern, new.ruling) == (&old.tool, &old.argument, &old.pattern, old.ruling)
        })
    };
    let lost = was.rules.iter().filter(|old| !kept(old));
    said.extend(lost.map(|old| format!("It would not {} any more: {}", rule::name(old.ruling), old.reason)));
    if was.tools.is_some() && was.tools != now.tools {
        said.push("Its turns would have other tools.".to_string());
    }
    for (role, what) in [(Role::Gate, "gate"), (Role::Refine, "rewriting of proposals")] {
        let shares = |lisp: &Lisp| lisp.all(Role::Definitions).map(str::to_string).collect::<Vec<_>>();
        let same = was.lisp.code(role) == now.lisp.code(role) && shares(&was.lisp) == shares(&now.lisp);
        if was.lisp.has(role) && !same {
            said.push(match now.lisp.has(role) {
                true => format!("Its {what} in Lisp would be another one."),
                false => format!("It would have no {what} in Lisp any more."),
            });
        }
    }
    said
}

/// Balances the brackets of the blocks of Emacs Lisp.
///
/// # Errors
/// When all are balanced, or it is not certain what is meant.
fn balanced(text: &str) -> Result<String, String> {
    let found = blocks(text).blocks;
    let mut after = String::with_capacity(text.len());
    let (mut upto, mut changed) = (0, false);
    for block in found.iter().filter(|block| block.is_emacs_lisp()) {
        let code = block.code(text);
        let written = text.get(block.body.clone()).unwrap_or("");
        if *code != *written {
            // Its commas would have to be put back where brackets moved.
            continue;
        }
        let new = match balance(&code) {
            Ok(new) => new.text,
            Err(why) if why.starts_with("It is balanced") => continue,
            Err(why) => return Err(format!("the block in line {}: {why}", block.line)),
        };
        after.push_str(text.get(upto..block.body.start).unwrap_or(""));
        after.push_str(&new);
        (upto, changed) = (block.body.end, true);
    }
    after.push_str(text.get(upto..).unwrap_or(""));
    match changed {
        true => Ok(after),
        false => Err("the brackets of its Lisp are balanced; say “old” and “new” to change something".to_string()),
    }
}
