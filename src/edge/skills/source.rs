//! The folders of skills, and whose they are.

use super::{Ground, Loaded, load};
use crate::domain::policy::loosening::Confirmed;
use crate::domain::skill::Skill;
use crate::edge::config::Config;
use crate::edge::origin::Places;
use std::path::{Path, PathBuf};

/// Whose the skills of a folder are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The project's: a file counts as long as it is what it was when this program was built.
    Shipped,
    /// The user's own: an Org file counts as it stands there, unless it lies in a repository of somebody else, or is a
    /// link to elsewhere.
    Own,
    /// From outside: everything waits for the user.
    Outside,
}

/// A folder of skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where it is.
    pub folder: PathBuf,
    /// Whose its skills are.
    pub whose: Whose,
}

/// Loads the skills of the settings, beside what the user confirmed; `known` says why one must stay out that can be read.
pub fn load_for(config: &Config, confirmed: &Confirmed, known: &dyn Fn(&Skill) -> Option<String>) -> Loaded {
    let places = places(config);
    let foreign = |path: &Path| places.source(path);
    let ground =
        Ground { confirmed: &|it| confirmed.has(it), once: &|it| confirmed.once(it), foreign: &foreign, known };
    load(&sources(config), &ground)
}

/// Returns the folders of skills: the shipped ones, those beside our settings, then the others of the user.
pub fn sources(config: &Config) -> Vec<Source> {
    let beside = || {
        let program = std::env::current_exe().ok()?;
        let near = program.ancestors().skip(1).take(4).map(|folder| folder.join("skills"));
        near.into_iter().find(|folder| folder.join("policy.org").is_file())
    };
    let source = |folder: PathBuf, whose: Whose| Source { folder, whose };
    let shipped = config.shipped_skills.clone().or_else(beside).map(|folder| source(folder, Whose::Shipped));
    let outside = config.skill_directories.iter().map(|folder| source(folder.clone(), Whose::Outside));
    shipped.into_iter().chain([source(own(config), Whose::Own)]).chain(outside).collect()
}

/// Returns whether a file is a skill of the user's own, or one that ships and stands there as it was built in.
pub fn is_own(config: &Config, path: &Path) -> bool {
    let folder = path.parent();
    let shipped = || {
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or("");
        let known = super::shipped::text(name);
        known.is_some() && super::read_file(path).ok().as_deref() == known
    };
    let places = places(config);
    folder == Some(own(config).as_path()) && places.source(path).is_none() || shipped()
}

/// Returns where nothing counts as from outside for lying there.
fn places(config: &Config) -> Places {
    let settings = config.settings.canonicalize().unwrap_or_else(|_| config.settings.clone());
    // Whose repository the settings are kept in says nothing; one inside them does.
    Places { memex: vec![settings], ..config.places() }
}

/// Returns the folder of the user's own skills.
pub fn own(config: &Config) -> PathBuf {
    config.settings.join("skills")
}
