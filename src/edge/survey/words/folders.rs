//! The folders in which names of a script count.

use super::super::path::{expand_home, lexical};
use super::super::roads::Roads;
use crate::domain::gate::facts::{CommandFact, ScriptFact, Word};
use crate::domain::gate::shell::{Move, moves};
use crate::domain::scope::Scope;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// How many folders in which a script may be are followed.
const MOST: usize = 32;
/// How many changes from one folder are followed. People write a handful; more is known only at run time.
const MOST_STEPS: usize = 256;

/// The folders in which a script may look for names.
pub struct Folders {
    /// All of them, the project first.
    pub all: Vec<PathBuf>,
    /// Whether there are others that are known only at run time, or too many.
    pub lost: bool,
    /// By pipeline, those in which alone its commands may be; nothing where that is not known.
    each: BTreeMap<usize, Vec<PathBuf>>,
    /// How many changes from one folder were followed.
    steps: usize,
}

impl Folders {
    /// Finds out where a script may be.
    ///
    /// Where each command needs the success of the one before it, a folder is left for the next. Elsewhere a change may
    /// fail, be made again, or hold for a part of the script alone: then every command may be in any of them, and from
    /// each that is there every change may follow, whatever their order.
    pub fn of(roads: &Roads, script: &ScriptFact, scope: &Scope) -> Folders {
        let project = PathBuf::from(&scope.project);
        let mut folders = Folders { all: vec![project.clone()], lost: false, each: BTreeMap::new(), steps: 0 };
        // What leads back to a folder that was left keeps all of them.
        let mut words = script.commands.iter().flat_map(|command| &command.words);
        let back = words.any(|word| matches!(word.value.as_deref(), Some("pushd" | "popd" | "dirs")));
        let straight = !back && is_straight(&script.text);
        if !straight {
            folders.spread(roads, script, scope, &project);
        }
        if !folders.lost {
            folders.pass(roads, script, scope, straight, vec![project]);
        }
        folders
    }

    /// Goes by every change from every folder to which one led, as long as there are new ones. From a folder that is not
    /// there nothing goes on.
    fn spread(&mut self, roads: &Roads, script: &ScriptFact, scope: &Scope, project: &Path) {
        let mut seen: BTreeSet<Vec<&str>> = BTreeSet::new();
        let moving: Vec<&CommandFact> = script
            .commands
            .iter()
            .filter(|command| {
                // The same words lead to the same folders.
                let texts = command.words.iter().map(|word| word.value.as_deref().unwrap_or(&word.raw)).collect();
                !moves(command).is_empty() && seen.insert(texts)
            })
            .collect();
        let mut shells = vec![project.to_path_buf()];
        let mut looked: BTreeMap<PathBuf, bool> = BTreeMap::new();
        let mut next = 0;
        while let Some(from) = shells.get(next).cloned() {
            next += 1;
            for command in &moving {
                let (programs, shell) = self.reached(roads, command, std::slice::from_ref(&from), scope);
                let mut there = |folder: &PathBuf| *looked.entry(folder.clone()).or_insert_with(|| folder.is_dir());
                let reached: Vec<PathBuf> = shell.into_iter().flatten().filter(&mut there).collect();
                let ends: Vec<PathBuf> = programs.into_iter().filter(&mut there).collect();
                self.all = ends.iter().chain(&reached).cloned().fold(std::mem::take(&mut self.all), with);
                shells = reached.into_iter().fold(shells, with);
                if self.is_too_much() {
                    return;
                }
            }
        }
    }

    /// Returns whether no more is followed: then the rest is known only at run time.
    fn is_too_much(&mut self) -> bool {
        let over = self.all.len() > MOST || self.steps > MOST_STEPS;
        self.lost |= over;
        self.all.truncate(MOST);
        over
    }

    /// Goes through a script, from some folders.
    fn pass(&mut self, roads: &Roads, script: &ScriptFact, scope: &Scope, straight: bool, mut here: Vec<PathBuf>) {
        for alternatives in script.commands.chunk_by(|a, b| a.pipeline == b.pipeline) {
            let (mut there, mut next) = (here.clone(), Vec::new());
            for command in alternatives {
                let (programs, shell) = self.reached(roads, command, &here, scope);
                there = programs.into_iter().fold(there, with);
                if !(straight && shell.is_some() && changes_itself(command)) {
                    next = here.iter().cloned().fold(next, with);
                }
                next = shell.into_iter().flatten().fold(next, with);
            }
            self.all = there.iter().chain(&next).cloned().fold(std::mem::take(&mut self.all), with);
            if let Some(first) = alternatives.first().filter(|_| straight) {
                self.each.insert(first.pipeline, there);
            }
            here = next;
            if self.is_too_much() {
                break;
            }
        }
    }

    /// Returns the folders in which commands of a pipeline may be.
    pub fn at(&self, pipeline: usize) -> &[PathBuf] {
        self.each.get(&pipeline).unwrap_or(&self.all)
    }

    /// Returns where programs of a command go, and where the shell goes by it; `None` when it stays.
    fn reached(
        &mut self,
        roads: &Roads,
        command: &CommandFact,
        here: &[PathBuf],
        scope: &Scope,
    ) -> (Vec<PathBuf>, Option<Vec<PathBuf>>) {
        let (mut programs, mut shell) = (Vec::new(), None);
        for found in moves(command) {
            self.steps += here.len();
            match found {
                // Where the shell goes that way, what reads there asks.
                Move::Shell(None) => {}
                Move::Shell(Some(word)) => shell = follow(roads, here, word, scope).or(shell),
                Move::Program(words) => {
                    let mut there = here.to_vec();
                    for word in words {
                        match follow(roads, &there, word, scope) {
                            Some(reached) => there = reached,
                            None => self.lost = true,
                        }
                    }
                    programs.extend(there);
                }
            }
        }
        (programs, shell)
    }
}

/// Returns where a word leads from each of some folders; `None` when that is known only at run time.
fn follow(roads: &Roads, from: &[PathBuf], word: &Word, scope: &Scope) -> Option<Vec<PathBuf>> {
    let target = word.value.as_deref().filter(|_| !word.glob)?;
    let target = expand_home(target, scope);
    // A shell takes `..` off the name, a program follows links before it.
    let reached = from.iter().flat_map(|from| {
        let followed = roads.resolve_in(from, &target);
        followed.into_iter().chain([lexical(&from.join(&target))])
    });
    let mut reached = reached.fold(Vec::new(), with);
    reached.truncate(MOST + 1);
    Some(reached)
}

fn with(mut known: Vec<PathBuf>, new: PathBuf) -> Vec<PathBuf> {
    if !known.contains(&new) {
        known.push(new);
    }
    known
}

/// Returns whether a text is plain commands with `&&` between them, and nothing else.
fn is_straight(text: &str) -> bool {
    // A script of its own begins with the name of its file.
    let other = |c: char| matches!(c, ';' | '|' | '&' | '(' | ')' | '{' | '}' | '`' | '!' | '#') || c.is_control();
    !text.starts_with('/') && !text.replace("&&", " ").contains(other)
}

/// Returns whether it is the shell itself that a command makes change its folder, and nothing that it starts.
fn changes_itself(command: &CommandFact) -> bool {
    let texts = command.words.iter().map(|word| word.value.as_deref().unwrap_or(""));
    let mut texts = texts.skip_while(|text| matches!(*text, "command" | "builtin"));
    texts.next() == Some("cd")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::label::Privacy;

    /// What leads nowhere from many folders is not followed from each of them.
    #[test]
    fn changes_of_the_folder_are_followed_up_to_a_bound() {
        let project = tempfile::tempdir().expect("a folder");
        let at = project.path().canonicalize().expect("it is there");
        (0..20).for_each(|n| std::fs::create_dir(at.join(format!("d{n}"))).expect("a folder"));
        let word = |text: &str| Word { raw: text.into(), value: Some(text.into()), ..Word::default() };
        let command = |pipeline: usize, name: String| CommandFact {
            words: vec![word("cd"), word(&name)],
            pipeline,
            ..CommandFact::default()
        };
        let check = |gone: usize, lost: bool| {
            let there = (0..20).map(|n| format!("d{n}"));
            let names = there.chain((0..gone).map(|n| format!("x{n}")));
            let commands: Vec<_> = names.enumerate().map(|(pipeline, name)| command(pipeline, name)).collect();
            let script = ScriptFact { text: "cd d0; …".to_string(), commands, ..ScriptFact::default() };
            let scope = Scope {
                project: at.to_string_lossy().into_owned(),
                home: "/nowhere/home".to_string(),
                may_see: Privacy::Open,
                ..Scope::bare()
            };
            let roads = Roads::default();
            let found = Folders::of(&roads, &script, &scope);
            assert_eq!(found.lost, lost, "{gone}");
            assert!(found.all.len() <= MOST && roads.looks() <= 2 * MOST_STEPS + 64, "{gone}: {}", roads.looks());
        };
        check(500, true);
        check(5_000, true);
    }
}
