//! Carries out a tool of the user's own: their Emacs is asked, what it answers is labelled by what it was given, and of
//! the files that it was given those that it changed are named.

use crate::domain::action::Outcome;
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::facts::{FileKind, Identity, PathFact};
use crate::domain::gate::place;
use crate::domain::label::{Labels, Privacy, Provenance, Trust};
use crate::domain::outside::Piece;
use crate::domain::tool::own::REDECLARED;
use crate::domain::tool::{Class, Tool};
use crate::edge::actuator::{Actuators, Done, OWN};
use crate::edge::editor::{Call, Unanswered};
use serde_json::{Map, Value};
use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

impl Actuators {
    /// Calls it. What it says is as private as what led to the call and as the files that it was given; it is from
    /// outside when its effect is network, or when one of those files is.
    pub(super) async fn call_own(&self, cleared: &Cleared, class: Class) -> Done {
        let (action, facts) = (cleared.action(), cleared.facts());
        let toolbox = self.engine.toolbox();
        let own = toolbox.own().iter().find(|own| Some(own.definition()) == action.definition());
        let Some(own) = own else {
            // It went between the survey and now.
            let outcome = Outcome::Stale(REDECLARED.to_string());
            return Done { outcome, labels: OWN, outside: Vec::new(), nodes: Vec::new(), changed: Vec::new() };
        };
        if let Some(served) = own.served() {
            return self.call_served(cleared, own, served).await;
        }
        let tool = action.tool().to_string();
        let Some(args) = with_resolved(action.args(), own.tool(), &facts.paths) else {
            return Done::failed(format!("which files {tool} means was not found out, so it was not called"));
        };
        if let Some(path) = facts.paths.iter().find(|path| place::is_remote(&path.resolved)) {
            return Done::failed(format!("{}, so {tool} was not called", place::connects(&path.resolved)));
        }
        let judged = facts.paths.clone();
        let moved = tokio::task::spawn_blocking(move || judged.into_iter().find(|path| !is_same(path))).await;
        match moved {
            Ok(None) => {}
            Ok(Some(path)) => {
                let why = format!("“{}” is not what it was when it was judged, so {tool} was not called.", path.asked);
                return Done {
                    outcome: Outcome::Stale(why),
                    labels: OWN,
                    outside: Vec::new(),
                    nodes: Vec::new(),
                    changed: Vec::new(),
                };
            }
            Err(_) => return Done::failed(format!("looking at the files of {tool} broke, so it was not called")),
        }
        let directory = cleared.scope().project.clone();
        let call = Call { tool, mark: own.mark().to_string(), args, directory, limits: own.tool().limits };
        let (outcome, said) = match self.engine.editor.call(&call).await {
            Ok(text) => (Outcome::Done(text.clone()), text),
            Err(Unanswered::Failed(why)) => (Outcome::Failed(why.clone()), why),
            // These words are ours.
            Err(Unanswered::Not(why)) => return Done::failed(why),
            // So are these; but it was called, and its files are looked at.
            Err(Unanswered::Unknown(why)) => (Outcome::Failed(why), String::new()),
        };
        let privacy = action.labels().privacy.max(facts.privacy.unwrap_or(Privacy::Open));
        let sent = (class == Class::Network).then(|| format!("what your tool {} answered", call.tool));
        let (engine, scope, paths) = (self.engine.clone(), cleared.scope().clone(), facts.paths.clone());
        let writes = matches!(class, Class::Write | Class::Execute);
        let looked = tokio::task::spawn_blocking(move || {
            let files = paths.iter().map(|path| path.resolved.as_str());
            let sources: Vec<String> = files.filter_map(|file| engine.source_of_file(file, &scope)).collect();
            let changed = paths.iter().filter(|path| writes && is_changed(path));
            (sources, changed.map(|path| path.resolved.clone()).collect::<Vec<_>>())
        });
        let Ok((sources, changed)) = looked.await else {
            return Done::failed(format!("{} was called, and looking at its files then broke", call.tool));
        };
        let outside: Vec<Piece> =
            sources.into_iter().chain(sent).map(|source| Piece::new(&source, &said, privacy)).collect();
        let trust = if outside.is_empty() { Trust::Kept } else { Trust::Untrusted };
        let labels = Labels { provenance: Provenance::Tool, trust, privacy };
        Done { outcome, labels, outside, nodes: Vec::new(), changed }
    }
}

/// Returns the arguments as the tool is given them: every path as it was resolved, judged and shown. Emacs would find
/// another file under the words of the model, from wherever it happens to be. `None` when not each of them was looked up.
fn with_resolved(args: &Map<String, Value>, tool: &Tool, paths: &[PathFact]) -> Option<Map<String, Value>> {
    let mut given = args.clone();
    for arg in tool.paths {
        let mut found = paths.iter().filter(|path| path.arg == *arg);
        let mut next = |asked: &str| {
            let path = found.next().filter(|path| path.asked == asked && path.resolved.starts_with('/'))?;
            Some(Value::String(path.resolved.clone()))
        };
        let value = match given.get(*arg) {
            None => continue,
            Some(Value::String(text)) => next(text)?,
            Some(Value::Array(items)) => {
                Value::Array(items.iter().map(|item| next(item.as_str()?)).collect::<Option<_>>()?)
            }
            Some(_) => return None,
        };
        given.insert(arg.to_string(), value);
    }
    Some(given)
}

/// Returns whether what was judged still stands at a path, in the same folder: the same file, unchanged, under no second
/// name that it did not have. Of a folder, that it is the same.
fn is_same(path: &PathFact) -> bool {
    let same = |was: Identity, now: &Metadata| (was.device, was.inode) == (now.dev(), now.ino());
    let at = Path::new(&path.resolved);
    let now = match std::fs::symlink_metadata(at) {
        Ok(now) => Some(now),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
        Err(_) => return false,
    };
    let folder = at.parent().and_then(|parent| std::fs::symlink_metadata(parent).ok());
    let stands = match (path.folder, folder) {
        (Some(was), Some(now)) => same(was, &now) && now.is_dir(),
        (None, now) => now.is_none_or(|now| !now.is_dir()),
        (Some(_), None) => false,
    };
    let found = match (path.identity, now) {
        (Some(was), Some(now)) => {
            same(was, &now)
                && match path.kind {
                    FileKind::File => {
                        let same = (was.modified, path.size) == (modified(&now), now.len());
                        now.is_file() && same && (path.links > 1 || now.nlink() < 2)
                    }
                    FileKind::Folder => now.is_dir(),
                    FileKind::Special => !now.is_file() && !now.is_dir() && !now.is_symlink(),
                    FileKind::Missing | FileKind::Unknown => false,
                }
        }
        (None, None) => path.kind == FileKind::Missing,
        (None, Some(_)) | (Some(_), None) => false,
    };
    stands && found
}

fn modified(file: &Metadata) -> i128 {
    i128::from(file.mtime()) * 1_000_000_000 + i128::from(file.mtime_nsec())
}

/// Returns whether a file is not what it was when it was surveyed. A folder is none.
fn is_changed(path: &PathFact) -> bool {
    let now = match std::fs::metadata(&path.resolved) {
        Ok(now) if now.is_file() => now,
        Ok(_) => return false,
        Err(_) => return path.kind == FileKind::File,
    };
    path.identity.is_none_or(|was| (was.inode, was.modified, path.size) != (now.ino(), modified(&now), now.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::scope::Scope;
    use crate::domain::tool::Toolbox;
    use crate::edge::survey::{Roads, path::look};
    use serde_json::json;

    fn judged(folder: &Path, asked: &str) -> PathFact {
        let text = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let scope = Scope { project: text("project"), home: text("home"), ..Scope::bare() };
        look(&Roads::default(), "path", asked, &scope, &|_| false)
    }

    fn place() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("it is there");
        for name in ["project", "home", "project/sub", "home/sub"] {
            std::fs::create_dir(base.join(name)).expect("a folder");
        }
        for name in ["project/a.org", "home/a.org", "project/sub/a.org", "home/sub/a.org"] {
            std::fs::write(base.join(name), name).expect("a file");
        }
        (folder, base)
    }

    #[test]
    fn a_tool_is_given_the_file_that_was_judged_however_it_was_spelt() {
        let (_folder, base) = place();
        std::os::unix::fs::symlink(base.join("home/a.org"), base.join("project/link.org")).expect("a link");
        let tool = Toolbox::builtin().get("read-file").expect("it is there");
        let at = |name: &str| json!(base.join(name).to_string_lossy());
        for (asked, given) in [
            ("a.org", "project/a.org"),
            ("./sub/../a.org", "project/a.org"),
            ("~/a.org", "home/a.org"),
            ("[[file:a.org]]", "project/a.org"),
            ("file:a.org", "project/a.org"),
            ("/:a.org", "project/a.org"),
            ("link.org", "home/a.org"),
            ("new.org", "project/new.org"),
        ] {
            let args = json!({ "path": asked, "other": "a.org" }).as_object().cloned().expect("an object");
            let given_args = with_resolved(&args, tool, &[judged(&base, asked)]).expect("it was looked up");
            assert_eq!((&given_args["path"], &given_args["other"]), (&at(given), &json!("a.org")), "{asked}");
        }
        let both = [judged(&base, "a.org"), judged(&base, "~/a.org")];
        let list = json!({ "path": ["a.org", "~/a.org"] }).as_object().cloned().expect("an object");
        let given = with_resolved(&list, tool, &both).expect("each was looked up");
        assert_eq!(given["path"], json!([at("project/a.org"), at("home/a.org")]));
        // What was not looked up, or is something else, is given to nobody.
        assert_eq!(with_resolved(&list, tool, &both[..1]), None);
        assert_eq!(with_resolved(&list, tool, &[both[1].clone(), both[0].clone()]), None);
    }

    #[test]
    fn another_file_at_the_same_place_is_noticed() {
        type Swap<'a> = (&'a str, &'a dyn Fn(&Path));
        let swap: [Swap; 6] = [
            ("a.org", &|base| std::fs::write(base.join("project/a.org"), "It says more by now.").expect("a file")),
            ("a.org", &|base| {
                std::fs::remove_file(base.join("project/a.org")).expect("it goes");
                std::os::unix::fs::symlink(base.join("home/a.org"), base.join("project/a.org")).expect("a link");
            }),
            ("a.org", &|base| std::fs::rename(base.join("home/a.org"), base.join("project/a.org")).expect("it moves")),
            ("a.org", &|base| std::fs::hard_link(base.join("project/a.org"), base.join("b.org")).expect("a link")),
            ("sub/new.org", &|base| {
                std::fs::remove_dir_all(base.join("project/sub")).expect("it goes");
                std::os::unix::fs::symlink(base.join("home/sub"), base.join("project/sub")).expect("a link");
            }),
            ("new.org", &|base| std::fs::write(base.join("project/new.org"), "x").expect("a file")),
        ];
        for (number, (asked, swap)) in swap.into_iter().enumerate() {
            let (_folder, base) = place();
            let path = judged(&base, asked);
            assert!(is_same(&path), "{number}");
            swap(&base);
            assert!(!is_same(&path), "{number}");
        }
    }
}
