//! What the edge found out before judging: resolved paths, parsed commands, predicted edits.
//!
//! Gates judge what was resolved, and performing refuses if it has changed since.

use crate::domain::gate::closing::LeftOpen;
use crate::domain::hash::ContentHasher;
use crate::domain::id::FactsHash;
use crate::domain::label::Privacy;
use crate::domain::policy::mandate::Mandate;
use crate::domain::setting::SettingFact;
use crate::domain::undo::Image;
use std::collections::BTreeMap;

/// Everything that was found out about one action. `Default` is "nothing was found out",
/// which gates treat as unknown, never as harmless.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// One entry for each path that the action names.
    pub paths: Vec<PathFact>,
    /// What an edit would change, file by file.
    pub edits: Vec<EditFact>,
    /// The strictest privacy label of the nodes and files that the action reads or writes.
    pub privacy: Option<Privacy>,
    /// Which secrets of the vault stand in the arguments or in what would be written: names only, never values.
    pub vault: Vec<String>,
    /// Why something could not be found out; anything here asks or denies.
    pub unknown: Vec<String>,
    /// Whether looking was broken off: what is not named above may be anything, and everything but plain words is denied.
    pub unsurveyed: bool,
    /// Why it cannot be done as it was asked, though all was found out; anything here denies, and says so to the model.
    pub impossible: Vec<String>,
    /// What a commit would hold.
    pub commit: Option<CommitFact>,
    /// The titles of the headings that arguments name, by argument. They are for people to read and not part of
    /// [`Facts::hash`]: what an action does to a heading stands in its edits.
    pub titles: Vec<(String, String)>,
    /// What a shell command was parsed into; `None` for what is no shell command.
    pub shell: Option<ShellFact>,
    /// What is put at a path whole, or taken away, where that is no edit of a text.
    pub puts: Vec<PutFact>,
    /// What taking something back leaves as it is, and why; for people to read.
    pub left: Vec<String>,
    /// What is put whole as the texts that it changes, where either side is a text: for what judges privacy.
    /// It follows from the puts, and is not part of [`Facts::hash`].
    pub put_texts: Vec<EditFact>,
    /// What is not certain of what is taken back; for people to read.
    pub doubts: Vec<String>,
    /// Whether all that it edits is the one note that the text from outside in its conversation came from.
    pub own_note: bool,
    /// What would confine a command here. Where it was not found out, one runs only if everything does.
    pub walls: Option<WallsFact>,
    /// What the headings say above what it is about: `:PP_DENY:` and its like, together.
    pub mandate: Mandate,
    /// Where the action would put or send the words of private notes. It decides by its places and tiers alone.
    pub quotes: Vec<QuoteFact>,
    /// Why what the action does to files could not be undone; `None` when it could, or when it changes none.
    pub not_undoable: Option<String>,
    /// What the gates that skills wrote in Lisp answered, by the name of the gate, gathered before judging. A gate that gave
    /// no answer is not in it, and denies.
    pub answers: BTreeMap<String, Answer>,
    /// Which headings an edit would mark done while something below them is open. It follows from the edits and from
    /// what counts as done.
    pub left_open: Vec<LeftOpen>,
    /// What would become of a setting of the user's Emacs.
    pub setting: Option<SettingFact>,
}

/// What a gate of a skill answered about one action. It is one verdict among others: the strictest wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing against it.
    Pass,
    /// A human must see it first; why.
    Ask(String),
    /// It must not happen; why.
    Deny(String),
}

impl Answer {
    /// Returns `pass`, `ask` or `deny`.
    pub fn name(&self) -> &'static str {
        match self {
            Answer::Pass => "pass",
            Answer::Ask(_) => "ask",
            Answer::Deny(_) => "deny",
        }
    }
}

/// Words of a private note in what an action would write or send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuoteFact {
    /// The argument, or the heading or file, that would hold them.
    pub place: String,
    /// The note that they stand in, for people: it is never said to a model, and not part of [`Facts::hash`].
    pub note: QuotedNote,
}

/// A private note whose words stand elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotedNote {
    /// Its title.
    pub title: String,
    /// The tag that makes it private, for counting.
    pub tag: String,
    /// How private it is.
    pub privacy: Privacy,
}

/// What a commit would hold, on what, and what it leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitFact {
    /// The commit that it follows; empty for the first one.
    pub head: String,
    /// The branch that it goes on, such as `refs/heads/main`.
    pub branch: String,
    /// The files, relative to the project.
    pub files: Vec<CommitFile>,
    /// What else has changed and stays as it is, for people.
    pub left: Vec<String>,
}

/// One file of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitFile {
    /// Where it is, relative to the project.
    pub path: String,
    /// Its text in the commit before; `None` when it is new.
    pub before: Option<std::sync::Arc<str>>,
    /// Its text in this one; `None` when it goes.
    pub after: Option<std::sync::Arc<str>>,
    /// Unified diff of the two.
    pub diff: String,
}

/// What would confine a command on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WallsFact {
    /// Everything: namespaces, Landlock, seccomp and limits.
    All,
    /// Something, without namespaces; why there are none.
    Fewer(String),
    /// Nothing that suffices; why.
    Nothing(String),
}

/// What is put at one path whole, or taken away.
#[derive(Clone, Debug, PartialEq)]
pub struct PutFact {
    /// The path, canonical but for a link at its end.
    pub file: String,
    /// What stands there.
    pub before: Image,
    /// What is put there.
    pub after: Image,
    /// Unified diff, when both are texts.
    pub diff: String,
}

/// A shell command as it was parsed, with every shell text that it hands to a shell in turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellFact {
    /// The command itself first, then what `sh -c`, `eval` and script files would run.
    pub scripts: Vec<ScriptFact>,
    /// The files of the project that these name, or that programs in them find by themselves; each once.
    pub files: Vec<FileFact>,
}

/// A regular file of the project that a command names or finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFact {
    /// Where it is, canonical.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Which file it is.
    pub identity: Identity,
    /// Names its exact bytes; `None` when it is too large or may not be read, and size and identity name it.
    pub content: Option<[u8; 32]>,
    /// Whether what it says decides what the command does, as with a script.
    pub runs: bool,
    /// What it says, when it decides that and can be shown. It follows from [`FileFact::content`].
    pub text: Option<std::sync::Arc<str>>,
}

/// One shell text and what stands in it, wherever it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptFact {
    /// The text as it would be handed to the shell, or the canonical name of a script file.
    pub text: String,
    /// Every simple command, in pipes, lists, substitutions, functions and conditions alike.
    pub commands: Vec<CommandFact>,
    /// Every redirection.
    pub redirects: Vec<RedirectFact>,
    /// Of the pipelines of substitutions, the pipeline and the stage of the command that they stand in.
    pub around: BTreeMap<usize, (usize, usize)>,
    /// Names of the functions that it defines.
    pub functions: Vec<String>,
    /// Whether something is left running in the background.
    pub background: bool,
    /// Why it, or a part of it, could not be read; anything here asks.
    pub unknown: Vec<String>,
}

impl ScriptFact {
    /// Returns every word that may name a file: programs, arguments, and where redirections lead.
    pub fn words(&self) -> impl Iterator<Item = &Word> {
        let targets = self.redirects.iter().filter_map(|redirect| redirect.target.as_ref());
        self.commands.iter().flat_map(|command| &command.words).chain(targets)
    }
}

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandFact {
    /// Assignments that stand before it, or that are all of it.
    pub assignments: Vec<(String, Word)>,
    /// The program and its arguments; empty for a bare assignment.
    pub words: Vec<Word>,
    /// Which pipeline of the script it stands in.
    pub pipeline: usize,
    /// Where in the pipeline, from 0.
    pub stage: usize,
}

/// One redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedirectFact {
    /// What it does.
    pub kind: RedirectKind,
    /// The file; `None` for heredocs and for copies of descriptors.
    pub target: Option<Word>,
    /// Which pipeline of the script it stands in.
    pub pipeline: usize,
}

/// What a redirection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RedirectKind {
    /// Reads a file.
    Read,
    /// Writes a file, or may do so.
    Write,
    /// Copies or closes a descriptor.
    Copy,
    /// Hands over text that stands in the command.
    Here,
}

/// One word of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// As it is spelt.
    pub raw: String,
    /// What the program would be given; `None` when that is known only at run time.
    pub value: Option<String>,
    /// Whether an unquoted pattern stands in it, so that it may become several words.
    pub glob: bool,
    /// The canonical paths that it, or a part of it, may name; first those of the whole word.
    pub resolved: Vec<String>,
    /// How many of `resolved` the whole word names: one for each folder in which the script may be.
    pub wholes: usize,
    /// Files of the project among them that lie as keys lie in a home, and that others may not read.
    pub private: Vec<String>,
    /// Secret files that its pattern matches in the folder it names.
    pub matched: Vec<String>,
    /// Where everything in it that is known only at run time comes from: the pipelines whose output it holds.
    /// Empty when some of it may come from elsewhere.
    pub from: Vec<usize>,
}

impl Word {
    /// The canonical paths that the whole word may name, and no part of it.
    pub fn whole(&self) -> &[String] {
        self.resolved.get(..self.wholes).unwrap_or(&self.resolved)
    }
}

/// One path that an action names.
#[derive(Clone, Debug, PartialEq)]
pub struct PathFact {
    /// The argument it stands in.
    pub arg: String,
    /// As the action spells it.
    pub asked: String,
    /// Canonical; links followed; for what does not exist, its canonical parent and its name.
    pub resolved: String,
    /// What stands there.
    pub kind: FileKind,
    /// Size in bytes; 0 for what does not exist.
    pub size: u64,
    /// How many hard links.
    pub links: u64,
    /// Names the exact bytes that stand there, for files that the action would change or show.
    pub content: Option<[u8; 32]>,
    /// Whether a buffer of the user's Emacs visits it.
    pub open: bool,
    /// How the action spells it.
    pub form: PathForm,
    /// Whether everybody on this machine may read it; false for what does not exist.
    pub shared: bool,
    /// Which file it is; `None` for what does not exist.
    pub identity: Option<Identity>,
    /// Which folder it stands in, or would be made in; `None` when that does not exist either.
    pub folder: Option<Identity>,
}

/// Which object of the file system something is, and when it was last changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The device, which may have another number after a restart.
    pub device: u64,
    /// The number on the device.
    pub inode: u64,
    /// Last change of its content, in nanoseconds since 1970.
    pub modified: i128,
}

/// How an action spells a path. What is not plain is never taken for harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathForm {
    /// An ordinary path, relative, absolute or from home.
    Plain,
    /// A file on another machine, in a container, or as another user, in Emacs's spelling.
    Remote,
    /// An address of the web: it names no file.
    Web,
    /// Variables, patterns, substitutions or percent escapes: which file is known only at run time.
    Expands,
    /// Control, invisible, look-alike or bidirectional characters.
    Deceptive,
    /// Links that turn in a circle, or a part of it could not be read.
    Unresolved,
}

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// Nothing.
    Missing,
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A device, pipe or socket.
    Special,
    /// It could not be found out.
    Unknown,
}

/// What an edit would change in one file.
#[derive(Clone, Debug, PartialEq)]
pub struct EditFact {
    /// The file, canonical.
    pub file: String,
    /// Its text before; `None` when it does not exist.
    pub before: Option<std::sync::Arc<str>>,
    /// Its text after.
    pub after: std::sync::Arc<str>,
    /// Unified diff of the two.
    pub diff: String,
    /// What its setup files make of it, and labels that were taken away from it.
    pub by_setup: BySetup,
}

/// How private lines such as `#+FILETAGS` of a file's setup files make all of it, and what it does as one itself. The
/// default is that there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BySetup {
    /// As it was.
    pub before: Privacy,
    /// As it would be.
    pub after: Privacy,
    /// How private each heading counted, where labels were taken away that count all the same; else nothing.
    pub held_before: Vec<Privacy>,
    /// How private each would count.
    pub held_after: Vec<Privacy>,
    /// Where the file is a setup file itself: what it made private and would no longer do so, by name. The list is
    /// bounded, and its last entry says how many more there are.
    pub opens: Vec<String>,
}

impl Default for BySetup {
    fn default() -> Self {
        let (held_before, held_after) = (Vec::new(), Vec::new());
        BySetup { before: Privacy::Open, after: Privacy::Open, held_before, held_after, opens: Vec::new() }
    }
}

impl Facts {
    /// Only what judging goes by; where headings say nothing, the hash is what it was before there were mandates.
    fn hash_mandate(&self, hasher: &mut ContentHasher) {
        if self.mandate.deny.is_empty() && self.mandate.allow.is_empty() && self.mandate.wrong.is_empty() {
            return;
        }
        for (name, tools) in [("PP_DENY", &self.mandate.deny), ("PP_ALLOW", &self.mandate.allow)] {
            hasher.text(name).number(tools.len() as u64);
            tools.keys().for_each(|tool| {
                hasher.text(tool);
            });
        }
        hasher.number(self.mandate.wrong.len() as u64);
    }

    /// Returns how private an action is by what it reads, writes and quotes, for records of it.
    pub fn strictest(&self) -> Privacy {
        let quoted = self.quotes.iter().map(|quote| quote.note.privacy).max();
        self.privacy.max(quoted).unwrap_or(Privacy::Open)
    }

    /// Returns the files that an action is about, by their whole names, in order: what it names, edits, puts or commits, and
    /// what its command reads. `project` is the root of its turn.
    pub fn files(&self, project: &str) -> Vec<String> {
        let named = self.paths.iter().map(|path| path.resolved.clone());
        let edited = self.edits.iter().chain(&self.put_texts).map(|edit| edit.file.clone());
        let put = self.puts.iter().map(|put| put.file.clone());
        let read = self.shell.iter().flat_map(|shell| &shell.files).map(|file| file.path.clone());
        let committed = self.commit.iter().flat_map(|commit| &commit.files);
        let committed = committed.map(|file| format!("{}/{}", project.trim_end_matches('/'), file.path));
        let mut files: Vec<String> = named.chain(edited).chain(put).chain(read).chain(committed).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Returns the name of exactly these facts, as far as they decide what would happen.
    pub fn hash(&self) -> FactsHash {
        let mut hasher = ContentHasher::new("facts");
        hasher.number(self.paths.len() as u64);
        for path in &self.paths {
            hasher.text(&path.arg).text(&path.asked).text(&path.resolved).number(path.kind as u64);
            hasher.number(path.links.min(2)).number(path.form as u64);
            match (&path.content, path.kind, &path.identity) {
                (Some(content), _, _) => hasher.number(1).bytes(content),
                // Too large to be named by its bytes. Devices are left out: they are numbered anew at each start.
                (None, FileKind::File, Some(identity)) => {
                    hasher.number(2).number(path.size).number(identity.inode).bytes(&identity.modified.to_be_bytes())
                }
                (None, _, _) => hasher.number(0),
            };
        }
        hasher.number(self.edits.len() as u64);
        for edit in &self.edits {
            hasher.text(&edit.file).option(edit.before.as_deref()).text(&edit.after);
        }
        self.hash_setup(&mut hasher);
        hasher.number(match self.privacy {
            None => 0,
            Some(Privacy::Open) => 1,
            Some(Privacy::Private) => 2,
            Some(Privacy::Ask) => 3,
            Some(Privacy::Warn) => 4,
        });
        hasher.number(self.unknown.len() as u64);
        for unknown in &self.unknown {
            hasher.text(unknown);
        }
        if self.unsurveyed {
            hasher.text("unsurveyed");
        }
        if let Some(CommitFact { head, branch, files, left }) = &self.commit {
            hasher.text("commit").text(head).text(branch).number(files.len() as u64);
            for file in files {
                hasher.text(&file.path).option(file.before.as_deref()).option(file.after.as_deref());
            }
            hasher.number(left.len() as u64);
            for left in left {
                hasher.text(left);
            }
        }
        for why in &self.impossible {
            hasher.text("impossible").text(why);
        }
        if self.own_note {
            hasher.text("own note");
        }
        for quote in &self.quotes {
            hasher.text("quote").text(&quote.place);
            if quote.note.privacy != Privacy::Private {
                hasher.text(quote.note.privacy.word());
            }
        }
        self.hash_mandate(&mut hasher);
        self.hash_shell(&mut hasher);
        self.hash_undo(&mut hasher);
        self.hash_answers(&mut hasher);
        for left in &self.left_open {
            hasher.text("left open").text(&left.to_string());
        }
        if let Some(setting) = &self.setting {
            setting.hash_into(&mut hasher);
        }
        match &self.walls {
            None | Some(WallsFact::All) => {}
            Some(WallsFact::Fewer(why)) => {
                hasher.text("fewer walls").text(why);
            }
            Some(WallsFact::Nothing(why)) => {
                hasher.text("no walls").text(why);
            }
        }
        FactsHash::new(hasher.finish())
    }

    /// Adds what gates of skills answered; nothing where there are none.
    fn hash_answers(&self, hasher: &mut ContentHasher) {
        for (gate, answer) in &self.answers {
            let (number, why) = match answer {
                Answer::Pass => (0, None),
                Answer::Ask(why) => (1, Some(why.as_str())),
                Answer::Deny(why) => (2, Some(why.as_str())),
            };
            hasher.text("answer").text(gate).number(number).option(why);
        }
    }

    /// Adds what setup files make private, and what edits of them would open; nothing where there is neither.
    fn hash_setup(&self, hasher: &mut ContentHasher) {
        for edit in self.edits.iter().chain(&self.put_texts).filter(|edit| edit.by_setup != BySetup::default()) {
            let BySetup { before, after, held_before, held_after, opens } = &edit.by_setup;
            hasher.text("setup").text(&edit.file).number(*before as u64).number(*after as u64);
            for held in [held_before, held_after].into_iter().filter(|held| !held.is_empty()) {
                hasher.text("held").number(held.len() as u64);
                for tier in held {
                    hasher.number(*tier as u64);
                }
            }
            hasher.number(opens.len() as u64);
            for file in opens {
                hasher.text(file);
            }
        }
    }

    /// Adds what is put whole, and what cannot be undone; nothing where there is neither.
    fn hash_undo(&self, hasher: &mut ContentHasher) {
        if !self.puts.is_empty() || !self.left.is_empty() {
            hasher.text("puts").number(self.puts.len() as u64);
            for put in &self.puts {
                hasher.text(&put.file);
                hash_image(hasher, &put.before);
                hash_image(hasher, &put.after);
            }
            hasher.number(self.left.len() as u64);
            for left in &self.left {
                hasher.text(left);
            }
        }
        if !self.doubts.is_empty() {
            hasher.text("doubts").number(self.doubts.len() as u64);
            for doubt in &self.doubts {
                hasher.text(doubt);
            }
        }
        if let Some(why) = &self.not_undoable {
            hasher.text("not undoable").text(why);
        }
    }

    /// Adds where the words of a command lead, and the files there. What the words are follows from the action.
    fn hash_shell(&self, hasher: &mut ContentHasher) {
        let scripts = self.shell.iter().flat_map(|shell| &shell.scripts);
        for script in scripts {
            hasher.text(&script.text).number(script.commands.len() as u64);
            for word in script.words() {
                hasher.number(word.resolved.len() as u64);
                for resolved in word.resolved.iter().chain(&word.matched).chain(&word.private) {
                    hasher.text(resolved);
                }
            }
        }
        for file in self.shell.iter().flat_map(|shell| &shell.files) {
            hasher.text(&file.path).number(u64::from(file.runs)).number(u64::from(file.text.is_some()));
            match &file.content {
                Some(content) => hasher.number(1).bytes(content),
                None => {
                    let Identity { device: _, inode, modified } = &file.identity;
                    hasher.number(2).number(file.size).number(*inode).bytes(&modified.to_be_bytes())
                }
            };
        }
    }
}

fn hash_image(hasher: &mut ContentHasher, image: &Image) {
    match image {
        Image::Absent => hasher.number(0),
        Image::File { content, size, mode } => {
            hasher.number(1).bytes(content.as_bytes()).number(*size).number(u64::from(*mode))
        }
        Image::Link { target } => hasher.number(2).text(target),
        Image::Folder { mode } => hasher.number(3).number(u64::from(*mode)),
        Image::Unkept { why } => hasher.number(4).text(why),
    };
}
