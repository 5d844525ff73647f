//! Predicts edits of programs: definitions of Emacs Lisp, the balance of its brackets, and what is tangled from Org.

use crate::domain::action::Action;
use crate::domain::gate::facts::PathFact;
use crate::domain::lisp::balance::balance;
use crate::domain::lisp::check::unbalanced;
use crate::domain::lisp::edit::{Wish, edit};
use crate::domain::lisp::forms::forms;
use crate::domain::lisp::scan::scan as scan_lisp;
use crate::domain::literate::tangle::{Target, agree, tangle};
use crate::domain::literate::within::change_within;
use crate::domain::org::is_org;
use crate::domain::org::scan::scan;
use crate::domain::scope::Scope;
use crate::edge::engine::Engine;
use crate::edge::engine::planner::fact;
use crate::edge::survey::Predicted;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

impl Engine {
    /// Predicts what such a tool would change; `None` for another tool. What cannot be done as asked is said in
    /// [`Predicted::impossible`].
    pub(super) fn plan_code(&self, action: &Action, scope: &Scope, paths: &[PathFact]) -> Option<Predicted> {
        let predicted = match action.tool() {
            "literate-tangle" => self.plan_tangle(paths, action.text("target"), scope),
            "lisp-edit" => {
                let line = action.args().get("line").and_then(|line| line.as_u64());
                let wish = Wish {
                    what: action.text("do").unwrap_or(""),
                    name: action.text("name").unwrap_or(""),
                    kind: action.text("kind").filter(|kind| !kind.trim().is_empty()),
                    line: line.map(|line| usize::try_from(line).unwrap_or(usize::MAX)),
                    text: action.text("text").unwrap_or(""),
                    everywhere: action.args().get("everywhere").and_then(|flag| flag.as_bool()).unwrap_or(false),
                };
                let name = wish.name.trim().trim_start_matches('\'');
                let defines = |code: &str| {
                    let all =
                        scan_lisp(code).and_then(|scan| Ok(forms(&scan)?.iter().any(|form| form.name == Some(name))));
                    all.unwrap_or(false)
                };
                self.plan_lisp(action, scope, paths, &defines, |text| {
                    edit(text, &wish).map(|edited| (edited.text, edited.mind))
                })
            }
            "lisp-balance" => {
                let is_not = |code: &str| scan_lisp(code).is_ok_and(|scan| !unbalanced(&scan).is_empty());
                self.plan_lisp(action, scope, paths, &is_not, |text| {
                    let balanced = balance(text)?;
                    let mind = ["It follows the indentation; look at the difference.".to_string()];
                    Ok((balanced.text, balanced.steps.into_iter().chain(mind).collect()))
                })
            }
            _ => return None,
        };
        Some(predicted.unwrap_or_else(|why| Predicted { impossible: vec![why], ..Predicted::default() }))
    }

    /// Returns what tangling an Org file would write.
    ///
    /// # Errors
    /// In words, when it is no Org file or cannot be scanned.
    pub(in crate::edge) fn tangled(&self, file: &str, text: Arc<str>) -> Result<Vec<Target>, String> {
        if !is_org(file) {
            return Err(format!("{file} is no Org file"));
        }
        let outline = scan(text, &self.scan_options_of(file)).map_err(|error| format!("{file}: {error}"))?;
        Ok(tangle(&outline, file))
    }

    fn plan_tangle(&self, paths: &[PathFact], only: Option<&str>, scope: &Scope) -> Result<Predicted, String> {
        let path = paths.first().ok_or_else(|| "there is no path".to_string())?;
        let text = self.text_now(&path.resolved)?.ok_or_else(|| format!("{} is not there", path.resolved))?;
        let (mut predicted, mut agreed, mut files) = (Predicted::default(), 0, HashSet::new());
        for target in self.tangled(&path.resolved, text)? {
            if only.is_some_and(|only| only.trim() != target.file) {
                continue;
            }
            let after = match target.text {
                Ok(after) => after,
                Err(why) => {
                    let why = why.first().map(|(line, why)| format!("the block in line {line}: {why}"));
                    predicted.doubts.push(format!("“{}” is left as it is: {}.", target.file, why.unwrap_or_default()));
                    continue;
                }
            };
            let file = target_of(&path.resolved, &target.file, scope)?;
            if file == path.resolved {
                return Err(format!("“{}” is the Org file itself, which would be lost.", target.file));
            }
            if !files.insert(file.clone()) {
                return Err(format!("“{}” is named in more than one way; name it alike in each :tangle.", target.file));
            }
            let before = self.text_now(&file)?;
            if before.as_deref().is_some_and(|before| agree(before, &after).is_none()) {
                agreed += 1;
                continue;
            }
            predicted.places.push(file.clone());
            predicted.edits.push(fact(file, before, after.into()));
        }
        match predicted.edits.is_empty() {
            false => Ok(predicted),
            true if agreed > 0 && predicted.doubts.is_empty() => {
                Err("What it would write stands there already.".to_string())
            }
            true if predicted.doubts.is_empty() => Err("No block of it names such a file in :tangle.".to_string()),
            true => Err(predicted.doubts.join(" ")),
        }
    }

    /// Changes a file of Emacs Lisp, or the one block of an Org file that is named, or that fits.
    fn plan_lisp(
        &self,
        action: &Action,
        scope: &Scope,
        paths: &[PathFact],
        fits: &dyn Fn(&str) -> bool,
        change: impl FnOnce(&str) -> Result<(String, Vec<String>), String>,
    ) -> Result<Predicted, String> {
        let path = paths.first().ok_or_else(|| "there is no path".to_string())?;
        let file = &path.resolved;
        let block = action.text("block").filter(|block| !block.trim().is_empty());
        if !is_emacs_lisp(file) && !is_org(file) {
            return Err(format!(
                "{file} is no file of Emacs Lisp and no Org file: its name ends in no “.el” or “.org”"
            ));
        }
        if block.is_some() && !is_org(file) {
            return Err(format!("{file} has no blocks; leave “block” away"));
        }
        // What is said of it, also when it cannot be done, goes back to who asked.
        if is_org(file) && self.privacy_here(file) > scope.may_see {
            return Err(format!("{file} holds what is too private for this model, so its blocks are not looked at"));
        }
        let before =
            self.text_now(file)?.ok_or_else(|| format!("{file} is not there; write-file writes a new file."))?;
        let (after, mind) = match is_org(file) {
            true => {
                let outline =
                    scan(before.clone(), &self.scan_options_of(file)).map_err(|error| format!("{file}: {error}"))?;
                change_within(&outline, block, fits, change).map(|changed| (changed.text, changed.mind))
            }
            false => change(&before),
        }
        .map_err(|why| format!("{file}: {why}"))?;
        Ok(Predicted {
            edits: vec![fact(file.clone(), Some(before), Arc::from(after))],
            doubts: mind,
            ..Predicted::default()
        })
    }
}

/// Returns where a file lies that a block of an Org file names.
///
/// # Errors
/// In words, when its folder is not there, or it is no regular file.
pub(in crate::edge) fn target_of(org: &str, name: &str, scope: &Scope) -> Result<String, String> {
    let named = match name.strip_prefix("~/") {
        Some(rest) => Path::new(&scope.home).join(rest),
        None => Path::new(org).parent().unwrap_or(Path::new("/")).join(name),
    };
    let (folder, file) = named.parent().zip(named.file_name()).ok_or_else(|| format!("“{name}” names no file"))?;
    let folder = folder.canonicalize().map_err(|_| format!("the folder of “{name}” is not there"))?;
    let path = folder.join(file);
    match path.symlink_metadata() {
        Ok(metadata) if !metadata.is_file() => Err(format!("“{name}” is no regular file")),
        Ok(_) | Err(_) => path.to_str().map(str::to_string).ok_or_else(|| format!("“{name}” is no name in UTF-8")),
    }
}

/// Returns whether a file is one of Emacs Lisp, by its name.
pub(in crate::edge) fn is_emacs_lisp(file: &str) -> bool {
    let path = Path::new(file);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
    matches!(path.extension().and_then(|extension| extension.to_str()), Some("el" | "eld")) || name == ".emacs"
}
