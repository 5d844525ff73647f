//! Finds out what gates need to know. It looks, and changes nothing.
//!
//! What cannot be found out becomes an `unknown` of the facts, which asks; where looking was broken off, all is denied.

mod answers;
mod files;
pub mod open;
pub mod path;
mod roads;
pub mod shell;
mod vault;
mod words;

pub use roads::Roads;
pub use vault::{NoVault, VaultScan};

use crate::domain::action::{Action, texts};
use crate::domain::gate::brought;
use crate::domain::gate::closing::LeftOpen;
use crate::domain::gate::disclosure::{NewlyOpen, newly_open};
use crate::domain::gate::facts::{
    BySetup, CommitFact, CommitFile, EditFact, Facts, PathFact, PutFact, QuoteFact, QuotedNote, ScriptFact, ShellFact,
    WallsFact,
};
use crate::domain::gate::shell as judge;
use crate::domain::label::Privacy;
use crate::domain::policy::mandate::Mandate;
use crate::domain::port::{SkillHost, Surveyor};
use crate::domain::scope::Scope;
use crate::domain::setting::SettingFact;
use crate::domain::tool::{Class, Effect, RESTORE, Tool, Toolbox, own};
use crate::edge::thread;
use async_trait::async_trait;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The most shell texts of one command that are parsed, those inside others included.
const MAX_SCRIPTS: usize = 64;
/// The most notes of one command whose privacy is found out by name. Confinement hides the private ones, named or not.
const MAX_NOTES: usize = 16;
/// The largest script file that is read, in bytes.
const MAX_SCRIPT_FILE: u64 = shell::MAX_LENGTH as u64;

/// What stands in the place of an argument for a file that a note names.
const BY_NOTE: &str = "named by the note";

/// Predicts what an edit would change. Its errors go to the human and the model.
pub trait EditPlanner: Send + Sync {
    /// Returns what the action would change, file by file, without changing it.
    ///
    /// # Errors
    /// In words, when it cannot be found out or would fail.
    fn plan(&self, action: &Action, tool: &Tool, scope: &Scope, paths: &[PathFact]) -> Result<Predicted, String>;
    /// Returns why what a command changes could not be taken back; `None` when it could.
    fn not_undoable(&self, scope: &Scope) -> Option<String>;
}

/// What an action would change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predicted {
    /// Edits of texts.
    pub edits: Vec<EditFact>,
    /// What is put whole, or taken away.
    pub puts: Vec<PutFact>,
    /// What a commit would hold.
    pub commit: Option<CommitFact>,
    /// Why it cannot be done as it was asked.
    pub impossible: Vec<String>,
    /// What is left as it is, and why.
    pub left: Vec<String>,
    /// Texts that are put whole; see [`Facts::put_texts`].
    pub put_texts: Vec<EditFact>,
    /// What is not certain of what is taken back.
    pub doubts: Vec<String>,
    /// Files that no argument names and a note does, absolute: they are looked up like those that are named.
    pub places: Vec<String>,
    /// Which headings would be done while something below them is open.
    pub left_open: Vec<LeftOpen>,
    /// What would become of a setting of the user's Emacs.
    pub setting: Option<SettingFact>,
}

/// Knows what the files and nodes of the user are: how private, and whether Emacs visits them.
pub trait Whereabouts: Send + Sync {
    /// Returns the tools that there are now, those of the user's own among them.
    fn toolbox(&self) -> Toolbox;
    /// Returns how private a node is; `None` when there is no such node.
    fn privacy_of_node(&self, id: &str) -> Option<Privacy>;
    /// Returns the title of a node; `None` when there is no such node.
    fn title_of_node(&self, id: &str) -> Option<String>;
    /// Returns how private a file is as a whole; `None` when it is not part of memory.
    fn privacy_of_file(&self, path: &str) -> Option<Privacy>;
    /// Returns whether the words of any private note are known.
    fn knows_quotations(&self) -> bool;
    /// Returns a private note whose words stand in a text.
    fn quotation(&self, text: &str) -> Option<QuotedNote>;
    /// Returns where a node's text came from, when it came from outside.
    fn source_of_node(&self, id: &str) -> Option<String>;
    /// Returns whether a buffer of the user's Emacs visits a file.
    fn is_open(&self, path: &str) -> bool;
    /// Returns what the headings rule above everything that an action is about, without words that are too private for
    /// whoever proposed it.
    fn mandate(&self, action: &Action, facts: &Facts, scope: &Scope) -> Mandate;
}

/// Knows what would confine a command on this machine.
#[async_trait]
pub trait Confinement: Send + Sync {
    /// Returns the walls that there are; found out at the first time.
    async fn walls(&self) -> WallsFact;
}

/// Knows of no memory and no Emacs, as the command line's `gate` does.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

impl Whereabouts for Nowhere {
    fn toolbox(&self) -> Toolbox {
        Toolbox::builtin()
    }

    fn mandate(&self, _: &Action, _: &Facts, _: &Scope) -> Mandate {
        Mandate::default()
    }

    fn privacy_of_node(&self, _: &str) -> Option<Privacy> {
        None
    }

    fn title_of_node(&self, _: &str) -> Option<String> {
        None
    }

    fn privacy_of_file(&self, _: &str) -> Option<Privacy> {
        None
    }

    fn knows_quotations(&self) -> bool {
        false
    }

    fn quotation(&self, _: &str) -> Option<QuotedNote> {
        None
    }

    fn source_of_node(&self, _: &str) -> Option<String> {
        None
    }

    fn is_open(&self, _: &str) -> bool {
        false
    }
}

/// Finds out what gates need to know of an action.
#[derive(Clone)]
pub struct Survey {
    vault: Arc<dyn VaultScan>,
    whereabouts: Arc<dyn Whereabouts>,
    edits: Option<Arc<dyn EditPlanner>>,
    patience: Duration,
    confinement: Option<Arc<dyn Confinement>>,
    own_gates: Option<answers::OwnGates>,
}

impl Survey {
    /// Makes a survey. Without a planner no edit is predicted, and an edit of Org files is unknown.
    pub fn new(
        vault: Arc<dyn VaultScan>,
        whereabouts: Arc<dyn Whereabouts>,
        edits: Option<Arc<dyn EditPlanner>>,
        patience: Duration,
    ) -> Survey {
        Survey { vault, whereabouts, edits, patience, confinement: None, own_gates: None }
    }

    /// Makes it find out what would confine a command. Without, that is not known, and only all walls will do.
    pub fn confined_by(self, confinement: Option<Arc<dyn Confinement>>) -> Survey {
        Survey { confinement, ..self }
    }

    /// Makes it ask the gates that skills wrote in Lisp, each for at most so long. Without, none has an answer.
    pub fn asking(self, host: Arc<dyn SkillHost>, patience: Duration) -> Survey {
        Survey { own_gates: Some(answers::OwnGates { host, patience }), ..self }
    }

    /// Looks now, on this thread. It reads the disk and may take a while on a slow one.
    pub fn look(&self, action: &Action, scope: &Scope) -> Facts {
        let mut facts = Facts::default();
        let toolbox = self.whereabouts.toolbox();
        let Some(tool) = toolbox.get(action.tool()) else { return unknown("There is no such tool.") };
        if toolbox.definition(action.tool()) != action.definition() {
            facts.impossible.push(own::REDECLARED.to_string());
        }
        let roads = Roads::default();
        self.paths(&roads, action, tool, scope, &mut facts);
        self.nodes(action, tool, &mut facts);
        facts.vault = vault::scan(self.vault.as_ref(), action.args().iter(), action.explanation().as_str());
        match tool.effect {
            Effect::Execute => {
                let command = action.text("command").unwrap_or("");
                let shell = read_shell_by(&roads, command, scope);
                for note in judge::named_notes(&shell, scope, MAX_NOTES) {
                    // In whatever case it is spelt; a name that cannot be told apart counts as it stands.
                    let listed = roads.as_listed(note.into(), roads.ask(Path::new(note)).ok().as_ref());
                    let listed = listed.as_deref().map_or(note.into(), Path::to_string_lossy);
                    facts.privacy = facts.privacy.max(self.whereabouts.privacy_of_file(&listed));
                }
                facts.shell = Some(shell);
                facts.not_undoable = self.edits.as_ref().and_then(|planner| planner.not_undoable(scope));
            }
            Effect::EditOrg | Effect::WriteFile => {
                self.predict(&roads, action, tool, scope, &mut facts);
                facts.own_note = self.is_own_note(action, tool, &facts.paths);
            }
            Effect::Commit | Effect::Configure => self.predict(&roads, action, tool, scope, &mut facts),
            Effect::Reply
            | Effect::Delegate
            | Effect::ReadMemory
            | Effect::ReadFile
            | Effect::ReadEditor
            | Effect::ShowInEditor
            | Effect::Evaluate
            | Effect::Send
            | Effect::Fetch
            | Effect::Custom(_) => {}
        }
        self.brought(action, &mut facts);
        self.quotes(action, tool, scope, &mut facts);
        facts.mandate = self.whereabouts.mandate(action, &facts, scope);
        facts
    }

    /// Looks for values of the vault in what would be written: the arguments may hold them in parts.
    fn brought(&self, action: &Action, facts: &mut Facts) {
        let names = brought::newly(&brought::brought(facts), |text| self.vault.find(text));
        if action.tool() == RESTORE {
            // It stood there before, and going back always asks: the user is told, and loses nothing.
            facts.doubts.extend(names.into_iter().map(|name| format!("The value of {name} would stand there again.")));
            return;
        }
        facts.vault.extend(names);
        facts.vault.sort();
        facts.vault.dedup();
    }

    fn paths(&self, roads: &Roads, action: &Action, tool: &Tool, scope: &Scope, facts: &mut Facts) {
        let open = |path: &str| self.whereabouts.is_open(path);
        for arg in tool.paths {
            let texts: Vec<&str> = match action.args().get(*arg) {
                Some(Value::String(text)) => vec![text],
                Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            };
            facts.paths.extend(texts.into_iter().map(|text| path::look(roads, arg, text, scope, &open)));
        }
        for path in &facts.paths {
            facts.privacy = facts.privacy.max(self.whereabouts.privacy_of_file(&path.resolved));
        }
    }

    fn nodes(&self, action: &Action, tool: &Tool, facts: &mut Facts) {
        if !matches!(tool.effect, Effect::ReadMemory | Effect::ReadFile | Effect::EditOrg) {
            return;
        }
        for name in ["id", "parent"] {
            if let Some(id) = action.text(name) {
                facts.privacy = facts.privacy.max(self.whereabouts.privacy_of_node(id));
                facts.titles.extend(self.whereabouts.title_of_node(id).map(|title| (name.to_string(), title)));
            }
        }
    }

    /// Returns whether an edit led from outside touches nothing but the note that the text came from.
    fn is_own_note(&self, action: &Action, tool: &Tool, paths: &[PathFact]) -> bool {
        let Some([source]) = action.led().map(|led| led.sources.as_slice()) else { return false };
        let nodes: Vec<&str> = ["id", "parent"].iter().filter_map(|name| action.text(name)).collect();
        let own = |id: &&str| self.whereabouts.source_of_node(id).as_ref() == Some(source);
        // A file that is named may be anywhere in it, and what moves is not only an edit of where it comes from.
        tool.effect == Effect::EditOrg && paths.is_empty() && !nodes.is_empty() && nodes.iter().all(own)
    }

    /// Looks for words of private notes in what would stand openly, and in what would leave.
    fn quotes(&self, action: &Action, tool: &Tool, scope: &Scope, facts: &mut Facts) {
        if !self.whereabouts.knows_quotations() {
            return;
        }
        let found = match tool.effect {
            Effect::EditOrg | Effect::WriteFile => {
                let edits: Vec<EditFact> = facts.edits.iter().chain(&facts.put_texts).cloned().collect();
                self.quotes_in_edits(&edits, scope)
            }
            Effect::Commit => {
                let files = facts.commit.iter().flat_map(|commit| &commit.files);
                let edits: Vec<EditFact> = files.filter_map(committed).collect();
                self.quotes_in_edits(&edits, scope)
            }
            Effect::Reply
            | Effect::Delegate
            | Effect::Configure
            | Effect::Execute
            | Effect::Evaluate
            | Effect::Send
            | Effect::Fetch => Ok(self.quotes_in_arguments(action)),
            Effect::Custom(Class::Write | Class::Execute | Class::Network) => Ok(self.quotes_in_arguments(action)),
            Effect::ReadMemory | Effect::ReadFile | Effect::ReadEditor | Effect::ShowInEditor => Ok(Vec::new()),
            Effect::Custom(Class::Pure | Class::Read) => Ok(Vec::new()),
        };
        match found {
            Ok(quotes) => facts.quotes = quotes,
            Err(why) => facts.unknown.push(why),
        }
    }

    fn quotes_in_arguments(&self, action: &Action) -> Vec<QuoteFact> {
        let quote = |(name, value): (&String, &Value)| {
            let notes = texts(value).into_iter().filter_map(|text| self.whereabouts.quotation(text));
            let note = notes.max_by_key(|note| note.privacy)?;
            Some(QuoteFact { place: name.clone(), note })
        };
        action.args().iter().filter_map(quote).collect()
    }

    fn quotes_in_edits(&self, edits: &[EditFact], scope: &Scope) -> Result<Vec<QuoteFact>, String> {
        let opened = newly_open(edits, &scope.private_tags)
            .map_err(|error| format!("Whether it quotes a private note was not found out: {error}."))?;
        let mut quotes: Vec<QuoteFact> = Vec::new();
        for NewlyOpen { place, text, below } in opened {
            let Some(note) = self.whereabouts.quotation(&text).filter(|note| note.privacy >= below) else { continue };
            // It may stand there for more than one tier; the strictest came last.
            quotes.retain(|quote| quote.place != place || quote.note != note);
            quotes.push(QuoteFact { place, note });
        }
        Ok(quotes)
    }

    fn predict(&self, roads: &Roads, action: &Action, tool: &Tool, scope: &Scope, facts: &mut Facts) {
        let Some(planner) = &self.edits else { return };
        match planner.plan(action, tool, scope, &facts.paths) {
            Ok(Predicted { edits, puts, commit, impossible, left, put_texts, doubts, places, left_open, setting }) => {
                // What is refused names them, so it is as private as they are.
                let named = left_open.iter().map(|left| left.privacy).max();
                facts.privacy = facts.privacy.max(named);
                facts.left_open = left_open;
                facts.setting = setting;
                let open = |path: &str| self.whereabouts.is_open(path);
                // Nothing of it is read, so how private the rest of it is says nothing of this.
                facts.paths.extend(places.iter().map(|place| path::look(roads, BY_NOTE, place, scope, &open)));
                // So is a note that is found by its ID, where its file has a second name.
                let named: BTreeSet<&str> = facts.paths.iter().map(|path| path.resolved.as_str()).collect();
                let linked = |file: &&str| {
                    let about = roads.ask(Path::new(file));
                    !named.contains(file) && about.is_ok_and(|about| about.is_file() && about.nlink() > 1)
                };
                let linked: Vec<&str> = edits.iter().map(|edit| edit.file.as_str()).filter(linked).collect();
                let linked: Vec<PathFact> =
                    linked.into_iter().map(|file| path::look(roads, BY_NOTE, file, scope, &open)).collect();
                facts.paths.extend(linked);
                facts.put_texts = put_texts;
                facts.doubts = doubts;
                facts.edits = edits;
                facts.impossible = impossible;
                let files = commit.iter().flat_map(|commit| &commit.files);
                for file in files.map(|file| format!("{}/{}", scope.project.trim_end_matches('/'), file.path)) {
                    facts.privacy = facts.privacy.max(self.whereabouts.privacy_of_file(&file));
                }
                facts.commit = commit;
                facts.puts = puts;
                facts.left = left;
            }
            Err(why) => facts.unknown.push(why),
        }
    }
}

#[async_trait]
impl Surveyor for Survey {
    async fn survey(&self, action: &Action, scope: &Scope) -> Facts {
        let action_tool = action.tool();
        let own_gates = self.own_gates.as_ref().map(|own| (own, action.clone()));
        let (survey, action, scope) = (self.clone(), action.clone(), scope.clone());
        let patience = self.patience;
        let looking = thread::SURVEYS.run(move || survey.look(&action, &scope));
        // What is confined is builtin.
        let runs = Toolbox::builtin()
            .get(action_tool)
            .is_some_and(|tool| matches!(tool.effect, Effect::Execute | Effect::Evaluate));
        let both = async {
            let walls = match &self.confinement {
                Some(confinement) if runs => Some(confinement.walls().await),
                Some(_) | None => None,
            };
            looking.await.map(|facts| Facts { walls, ..facts })
        };
        match tokio::time::timeout(patience, both).await {
            Ok(Ok(facts)) => match own_gates {
                Some((own, action)) => answers::gathered(own, action, facts).await,
                None => facts,
            },
            Ok(Err(why)) => unknown(&format!("Finding out what this would touch failed: {why}.")),
            Err(_) => unknown("Finding out what this would touch took too long."),
        }
    }
}

/// Returns one file of a commit as an edit of it; `None` when it goes.
fn committed(file: &CommitFile) -> Option<EditFact> {
    let (before, after) = (file.before.clone(), file.after.clone()?);
    Some(EditFact { file: file.path.clone(), before, after, diff: String::new(), by_setup: BySetup::default() })
}

/// Returns what is known where looking was broken off: nothing, so the strictest holds of all that can be forbidden.
fn unknown(why: &str) -> Facts {
    Facts {
        unknown: vec![why.to_string()],
        unsurveyed: true,
        privacy: Some(Privacy::Private),
        mandate: Mandate { wrong: vec!["it was not found out".to_string()], ..Mandate::default() },
        ..Facts::default()
    }
}

/// Shell text that is still to be read.
enum Waiting {
    /// It stands in a command.
    Text(String),
    /// It stands in a file.
    File(String),
}

/// Parses a command, every shell text that it hands to a shell in turn, and the shell scripts that it runs.
pub fn read_shell(command: &str, scope: &Scope) -> ShellFact {
    read_shell_by(&Roads::default(), command, scope)
}

/// As [`read_shell`], with the places that were looked at already.
pub fn read_shell_by(roads: &Roads, command: &str, scope: &Scope) -> ShellFact {
    let known = shell::Known { home: &scope.home, folder: &scope.project };
    let mut scripts: Vec<ScriptFact> = Vec::new();
    let mut waiting = vec![Waiting::Text(command.to_string())];
    let mut seen = BTreeSet::new();
    let (mut lookups, mut file_lookups) = (0, 0);
    let (patience, file_patience) = (shell::Patience::default(), shell::Patience::of_files());
    while let Some(next) = waiting.pop() {
        if scripts.len() >= MAX_SCRIPTS {
            // What is not in the list counts as not parsed, and asks.
            break;
        }
        let script = match next {
            Waiting::Text(text) if scripts.iter().any(|script| script.text == text) => continue,
            Waiting::Text(text) => {
                let mut script = shell::read(&text, &known, &patience);
                words::resolve_words(roads, &mut script, scope, &mut lookups);
                script
            }
            Waiting::File(path) if !seen.insert(path.clone()) => continue,
            Waiting::File(path) => {
                match script_file(roads, &path, scope, (&known, &file_patience), &mut file_lookups) {
                    Some(script) => script,
                    None => continue,
                }
            }
        };
        let files = script.commands.iter().filter_map(|command| judge::script_file(command)?.resolved.first());
        waiting.extend(files.map(|path| Waiting::File(path.clone())));
        waiting.extend(script.commands.iter().flat_map(judge::inner_texts).map(Waiting::Text));
        scripts.push(script);
    }
    let files = files::bind(roads, &scripts, scope).unwrap_or_else(|| {
        let why = "The command names more files than can be bound to an approval.".to_string();
        scripts.iter_mut().take(1).for_each(|script| script.unknown.push(why.clone()));
        Vec::new()
    });
    ShellFact { scripts, files }
}

/// Reads a script file that a command would run, so that what it would do is judged as well.
fn script_file(
    roads: &Roads,
    path: &str,
    scope: &Scope,
    (known, patience): (&shell::Known<'_>, &shell::Patience),
    lookups: &mut usize,
) -> Option<ScriptFact> {
    let file = open::file(std::path::Path::new(path)).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > MAX_SCRIPT_FILE {
        return None;
    }
    let mut text = String::new();
    file.take(MAX_SCRIPT_FILE + 1).read_to_string(&mut text).ok()?;
    let shebang = text.lines().next().unwrap_or("");
    if shebang.starts_with("#!") && !shebang.contains("sh") {
        return None;
    }
    let mut script = shell::read(&text, known, patience);
    words::resolve_words(roads, &mut script, scope, lookups);
    let hash = blake3::hash(text.as_bytes()).to_hex();
    script.text = format!("{path} {hash}");
    Some(script)
}
