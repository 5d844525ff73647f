//! Loads skills from folders, in the order that they need each other, and says what became of each.
//!
//! A skill that cannot be loaded keeps no other out; when it tightens, or may, a gate that asks stands
//! in for it. The mandatory ones are also built into the program: where a folder has no readable version, the
//! built-in one stands in.
//!
//! What comes from outside waits until the user confirmed exactly its files. Until then its rules hold, for they only
//! tighten, and nothing else of it is used: no Lisp is run that nobody was shown.

mod folder;
mod package;
mod shipped;
mod source;

use crate::domain::action::clip;
use crate::domain::gate::Gates;
use crate::domain::gate::standard::standard;
use crate::domain::inert::exact;
use crate::domain::org::outline::Outline;
use crate::domain::org::scan::{ScanOptions, scan};
use crate::domain::policy::loosening::Loosening;
use crate::domain::skill::gate::{self, Asked, Unread};
use crate::domain::skill::handbook;
use crate::domain::skill::lisp::{Lisp, Role};
use crate::domain::skill::order::{OrderProblem, order};
use crate::domain::skill::parse::{Examples, may_hold_rules, may_narrow, read, rules_alone};
use crate::domain::skill::{Skill, spoken_name};
use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use folder::{Installed, open};
pub use package::{Package, Packed, read_again};
pub use source::{Source, Whose, is_own, load_for, own, sources};

/// Largest file of a skill, in bytes.
const MAX_FILE: u64 = 256 * 1024;
/// How many files of one folder are read.
const MAX_FILES: usize = 1000;

/// Longest message about one skill, in characters.
const MAX_WORDS: usize = 500;
/// How many remarks about one skill are told.
const MAX_REMARKS: usize = 10;

/// What is known of skills beside their files.
pub struct Ground<'a> {
    /// Whether the user confirmed exactly this.
    pub confirmed: &'a dyn Fn(&Loosening) -> bool,
    /// Whether the user confirmed the same skill in the same place as it was once.
    pub once: &'a dyn Fn(&Loosening) -> bool,
    /// Why a place counts as from outside, if it does.
    pub foreign: &'a dyn Fn(&Path) -> Option<String>,
    /// Why a skill must stay out that can be read, if that is known.
    pub known: &'a dyn Fn(&Skill) -> Option<String>,
}

/// What became of one skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillState {
    /// It is loaded.
    Loaded,
    /// It was kept out and tightens nothing; why, and what would be right.
    Failed(String),
    /// It was kept out, and tightens or may: a gate asks in its place.
    Unread(String),
    /// It comes from outside, and waits until the user confirms this. Its rules hold.
    Waiting(Loosening),
    /// The user took it out of use; taking this back brings it back.
    Off(Loosening),
}

/// One line of the list of skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillReport {
    /// Its name.
    pub name: String,
    /// Its file; `None` for one that is built in.
    pub file: Option<PathBuf>,
    /// Whose it is: from outside is also what was shipped and changed, and a link out of the user's own folder.
    pub whose: Whose,
    /// What became of it.
    pub state: SkillState,
    /// What is odd about it.
    pub remarks: Vec<String>,
    /// How long it took to read it and to run its examples.
    pub took: Duration,
}

impl SkillReport {
    /// Returns whether no word of it may reach the log or a model: it is from outside, and not in use.
    pub fn is_strange(&self) -> bool {
        self.whose == Whose::Outside && self.state != SkillState::Loaded
    }

    /// Returns how it is called where a model may read it.
    pub fn called(&self) -> Cow<'_, str> {
        if self.is_strange() { spoken_name(&self.name) } else { Cow::Borrowed(&self.name) }
    }
}

/// The skills of a session.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Those that are loaded, each after all that it needs.
    pub skills: Vec<Skill>,
    /// What holds of those that were kept out all the same: rules that are readable, and gates of their own.
    pub rules_alone: Vec<Skill>,
    /// The skills of the common format that are loaded, by name.
    pub installed: Vec<Installed>,
    /// What stands where rules cannot be used.
    pub unread: Vec<Unread>,
    /// What became of each, by name.
    pub reports: Vec<SkillReport>,
}

/// Loads every `*.org` of some folders but `README.org` and hidden files, and every folder with a `SKILL.md`; of two with
/// one name, the first counts. A folder that does not exist holds nothing. Call it off Emacs's thread.
pub fn load(sources: &[Source], ground: &Ground<'_>) -> Loaded {
    let mut loaded = Loaded::default();
    let mut found: Vec<Found> = Vec::new();
    let (shipped, others): (Vec<&Source>, Vec<&Source>) =
        sources.iter().partition(|source| source.whose == Whose::Shipped);
    let read_all = |sources: &[&Source], found: &mut Vec<Found>, loaded: &mut Loaded| {
        for Source { folder, whose } in sources {
            for path in files(folder, loaded) {
                read_one(path, &Place { folder, whose: *whose, ground }, found, loaded);
            }
        }
    };
    read_all(&shipped, &mut found, &mut loaded);
    // Before anybody else can take their names.
    loaded.stand_in(&mut found);
    read_all(&others, &mut found, &mut loaded);
    for source in sources {
        for path in folder::handbooks(&source.folder, &mut loaded) {
            folder::install(path, ground, &found, &mut loaded);
        }
    }
    let mut ordered = order(found.iter().map(|found| found.skill.clone()).collect());
    for name in mandatory() {
        if !ordered.skills.iter().any(|skill| skill.name == name)
            && let Some(mut skill) = loaded.built_in(name)
        {
            // It was left out for what it needs; the built-in one does without.
            skill.depends_on.clear();
            ordered.skills.insert(0, skill);
        }
    }
    let of = |name: &str| found.iter().find(|found| found.skill.name == name);
    let place = |name: &str| of(name).map_or((None, Whose::Shipped), |found| (found.file.clone(), found.whose));
    for skill in &ordered.skills {
        let ((file, whose), remarks) = (place(&skill.name), told(&skill.remarks));
        let took = of(&skill.name).map(|found| found.took).unwrap_or_default();
        let name = skill.name.clone();
        loaded.reports.push(SkillReport { name, file, whose, state: SkillState::Loaded, remarks, took });
    }
    for (skill, why) in ordered.left_out {
        let why = loaded.why_left_out(&why);
        loaded.keep_out(&skill.name, place(&skill.name), why, tightens(&skill));
        loaded.rules_alone.push(skill);
    }
    loaded.reports.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.file.cmp(&b.file)));
    loaded.skills = ordered.skills;
    loaded
}

impl Loaded {
    /// Returns what is wrong with skills that tighten nothing, in words.
    pub fn complaints(&self) -> Vec<String> {
        let failed = self.reports.iter().filter_map(|report| match &report.state {
            SkillState::Loaded | SkillState::Unread(_) | SkillState::Off(_) => None,
            SkillState::Waiting(_) => Some(format!(
                "{} comes from outside and waits until you were shown it and confirmed it: M-x passepartout-skills",
                report.called()
            )),
            SkillState::Failed(_) if report.is_strange() => Some(format!(
                "{} comes from outside and cannot be used; M-x passepartout-skills says why",
                report.called()
            )),
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
        let (mut rules, broken) = gate::gates(&self.skills);
        rules.extend(gate::kept_out(&self.rules_alone));
        let unread = broken.into_iter().chain(self.unread.iter().cloned());
        let gates = unread.fold(standard(rules), |gates, unread| gates.and(Box::new(unread)));
        self.own_gates().into_iter().fold(gates, |gates, asked| gates.and(Box::new(asked)))
    }

    /// Notes that a skill is not loaded; when it tightens or may, a gate asks in its place.
    fn keep_out(&mut self, name: &str, (file, whose): (Option<PathBuf>, Whose), why: String, held: bool) {
        let why = bounded(&why);
        let state = if held {
            let place = file.as_ref().map_or_else(|| "built in".to_string(), |file| file.display().to_string());
            self.unread.push(match whose {
                // Its name, its place and what is wrong with it are words of somebody else.
                Whose::Outside => Unread::from_outside(name),
                Whose::Own | Whose::Shipped => Unread::new(&format!("skill {name}"), format!("{place}: {why}")),
            });
            SkillState::Unread(why)
        } else {
            SkillState::Failed(why)
        };
        self.reports.push(SkillReport {
            name: name.to_string(),
            file,
            whose,
            state,
            remarks: Vec::new(),
            took: Duration::ZERO,
        });
    }

    /// Notes that nobody knows what a folder holds.
    pub fn distrust(&mut self, folder: &Path, why: String) {
        self.unread.push(Unread::new("the skills folder", format!("{}: {why}", folder.display())));
    }

    /// Has a gate ask in the place of what a skill forbade before it changed, which waits and was noted last.
    fn distrust_change(&mut self, name: &str) {
        self.unread.push(Unread::from_outside(name));
        let text = "It is not what you confirmed any more, and nobody knows what that forbade: until you confirm it as it \
                    is, take it out of use, or withdraw your word in M-x passepartout-rules, all but plain reading asks.";
        if let Some(report) = self.reports.last_mut() {
            report.remarks.push(text.to_string());
        }
    }

    /// Returns what waits for the user.
    pub fn waiting(&self) -> impl Iterator<Item = &Loosening> {
        self.reports.iter().filter_map(|report| match &report.state {
            SkillState::Waiting(loosening) => Some(loosening),
            SkillState::Loaded | SkillState::Failed(_) | SkillState::Unread(_) | SkillState::Off(_) => None,
        })
    }

    /// Returns what the model is told of skills that it may read.
    pub fn offers(&self) -> Option<String> {
        handbook::offers(self.installed.iter().map(|installed| &installed.handbook))
    }

    /// Notes that a skill is not in use, for a reason of the user's.
    fn note(&mut self, name: &str, (file, whose): (&Path, Whose), state: SkillState) {
        let file = Some(file.to_path_buf());
        self.reports.push(SkillReport {
            name: name.to_string(),
            file,
            whose,
            state,
            remarks: Vec::new(),
            took: Duration::ZERO,
        });
    }

    /// Returns whether a file waits or is out of use already: of a folder that is named twice, each counts once.
    fn is_noted(&self, path: &Path) -> bool {
        let noted = |report: &&SkillReport| matches!(report.state, SkillState::Waiting(_) | SkillState::Off(_));
        self.reports.iter().filter(noted).any(|report| report.file.as_ref().is_some_and(|file| same(file, path)))
    }

    /// Returns why a skill would have no place among those that are loaded; `None` when it would have one.
    pub fn why_out(&self, skill: &Skill) -> Option<String> {
        let others = self.skills.iter().filter(|other| other.name != skill.name);
        let ordered = order(others.chain([skill]).cloned().collect());
        let why = ordered.left_out.into_iter().find(|(out, _)| out.name == skill.name)?.1;
        Some(bounded(&self.why_left_out(&why)))
    }

    /// Returns why a skill has no place in the order, with what may still come.
    fn why_left_out(&self, why: &OrderProblem) -> String {
        let known = |name: &str| self.reports.iter().find(|report| report.name == name).map(|report| &report.state);
        match why {
            OrderProblem::Unknown { skill, dependency } => match known(dependency) {
                Some(SkillState::Waiting(_)) => {
                    format!("{skill} needs {dependency}, which waits for you to confirm it")
                }
                Some(SkillState::Off(_)) => format!("{skill} needs {dependency}, which you took out of use"),
                Some(SkillState::Loaded | SkillState::Failed(_) | SkillState::Unread(_)) | None => why.to_string(),
            },
            OrderProblem::Circular { .. } | OrderProblem::Kept { .. } => why.to_string(),
        }
    }

    /// Adds the built-in text of what cannot be absent and is not there, and of what was shipped and changed: until the
    /// user decides about the change, what it was holds.
    fn stand_in(&mut self, found: &mut Vec<Found>) {
        let waits = |report: &&SkillReport| matches!(report.state, SkillState::Waiting(_));
        let changed = self.reports.iter().filter(waits).map(|report| report.name.clone());
        let names: Vec<String> = mandatory().map(str::to_string).chain(changed).collect();
        for name in names {
            if shipped::text(&name).is_some() && !found.iter().any(|found| found.skill.name == name) {
                found.extend(self.built_in(&name).map(Found::built_in));
            }
        }
    }

    /// Returns a shipped skill as it is built in.
    fn built_in(&mut self, name: &str) -> Option<Skill> {
        let text = shipped::text(name)?;
        let parsed = outline(text.to_string())
            .and_then(|outline| read(name, &outline, Examples::Run).map_err(|why| why.to_string()));
        parsed.map_err(|why| self.keep_out(name, (None, Whose::Shipped), why, true)).ok()
    }
}

/// Returns the names of the skills that cannot be absent.
pub fn mandatory() -> impl Iterator<Item = &'static str> {
    shipped::MANDATORY.into_iter()
}

/// Returns whether a skill tightens what may happen: it forbids or asks, it leaves its turns fewer tools, or it puts
/// something else in the place of what is proposed.
pub fn tightens(skill: &Skill) -> bool {
    let narrows = skill.tools.is_some() || skill.lisp.has(Role::Refine);
    narrows || !skill.rules.is_empty() || skill.lisp.has(Role::Gate)
}

/// Where a file was found.
struct Place<'a> {
    folder: &'a Path,
    whose: Whose,
    ground: &'a Ground<'a>,
}

impl Place<'_> {
    /// Returns whose a file of it is; without its text, where nobody could read that.
    fn whose(&self, path: &Path, name: &str, text: Option<&str>) -> Whose {
        let inside = || {
            let (Ok(path), Ok(folder)) = (fs::canonicalize(path), fs::canonicalize(self.folder)) else { return false };
            path.parent() == Some(folder.as_path()) && (self.ground.foreign)(&path).is_none()
        };
        let counts = match self.whose {
            Whose::Shipped => text.is_none_or(|text| shipped::text(name) == Some(text)),
            // Of a file that nobody could read nothing is quoted.
            Whose::Own => inside() || (text.is_none() && (self.ground.foreign)(path).is_none()),
            Whose::Outside => false,
        };
        if counts { self.whose } else { Whose::Outside }
    }
}

/// A skill that may be used, its file, whose it is, and how long it took to read.
struct Found {
    skill: Skill,
    file: Option<PathBuf>,
    whose: Whose,
    took: Duration,
}

impl Found {
    fn built_in(skill: Skill) -> Found {
        Found { skill, file: None, whose: Whose::Shipped, took: Duration::ZERO }
    }

    /// Returns whether one of the user's own may stand in its place: it ships, can be absent, and tightens nothing.
    fn gives_way(&self) -> bool {
        let can_be_absent = mandatory().all(|mandatory| mandatory != self.skill.name);
        self.whose == Whose::Shipped && can_be_absent && !tightens(&self.skill)
    }
}

fn read_one(path: PathBuf, place: &Place<'_>, found: &mut Vec<Found>, loaded: &mut Loaded) {
    let begin = Instant::now();
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let unread = |text: Option<&str>| (Some(path.clone()), place.whose(&path, &name, text));
    if path.is_dir() {
        return loaded.keep_out(&name, unread(None), "it is no regular file".to_string(), false);
    }
    if loaded.is_noted(&path) {
        return;
    }
    // A link of somebody else may lead to what has no end.
    let text = match text_of(&path, place.whose != Whose::Outside) {
        Ok(text) => text,
        // Nobody knows what stands in it.
        Err(why) => return loaded.keep_out(&name, unread(None), why, true),
    };
    if let Some(built_in) = found.iter_mut().find(|found| found.file.is_none() && found.skill.name == name)
        && shipped::text(&name) == Some(text.as_str())
    {
        // It is the very same.
        built_in.file = Some(path);
        return;
    }
    let rules = may_hold_rules(&text);
    let package = Package::of_text(&path, &name, &text);
    let at @ (_, whose) = unread(Some(&text));
    let trusted = whose != Whose::Outside || (place.ground.confirmed)(&package.loosening());
    // What it forbade when it was confirmed may not stand in it any more.
    let changed = !trusted && (place.ground.once)(&package.loosening());
    let outline = match outline(text) {
        Ok(outline) => outline,
        Err(why) => return loaded.keep_out(&name, at, why, true),
    };
    // Rules only tighten, and count at once. Of Lisp nothing is run that nobody was shown.
    let examples = if trusted { Examples::Run } else { Examples::Left };
    let tightening = || match rules_alone(&name, &outline) {
        skill if trusted => skill,
        skill => Skill { unconfirmed: true, lisp: Lisp::default(), ..skill },
    };
    let parsed = read(&name, &outline, examples);
    let of_name = found.iter().position(|found| found.skill.name == name);
    let first = of_name.and_then(|index| found.get(index));
    if first.and_then(|first| first.file.as_ref()).is_some_and(|first| same(first, &path)) {
        return;
    }
    let renamed = renamed(&path);
    let tightens = parsed.as_ref().map_or_else(|_| may_tighten(&name, &outline), tightens);
    let off = package.off(tightens);
    let can_be_off = renamed.is_none() && mandatory().all(|mandatory| mandatory != name);
    if can_be_off && (place.ground.confirmed)(&off) {
        return loaded.note(&name, (&path, whose), SkillState::Off(off));
    }
    let is_own = whose == Whose::Own && trusted && renamed.is_none();
    let replaces = of_name.filter(|_| is_own && first.is_some_and(Found::gives_way));
    let why = match (first.filter(|_| replaces.is_none() || parsed.is_err()), parsed) {
        (Some(Found { file, .. }), Ok(_)) => {
            let first = file.as_ref().map_or_else(|| "the program".to_string(), |first| first.display().to_string());
            format!("a skill of this name is already loaded from {first}; rename one of them")
        }
        (None, Ok(skill)) => match renamed.or_else(|| (place.ground.known)(&skill)) {
            Some(why) => why,
            None => {
                if trusted {
                    let (file, took) = (Some(path), begin.elapsed());
                    let mut one = Found { skill, file, whose, took };
                    match replaces.and_then(|index| found.get_mut(index)) {
                        Some(shipped) => {
                            one.skill
                                .remarks
                                .push("It stands in the place of the one of this name that ships.".to_string());
                            *shipped = one;
                        }
                        None => found.push(one),
                    }
                    return;
                }
                loaded.note(&name, (&path, whose), SkillState::Waiting(package.loosening()));
                if changed {
                    loaded.distrust_change(&name);
                }
                return loaded.rules_alone.push(tightening());
            }
        },
        (_, Err(why)) => why.to_string(),
    };
    let gate = tightening();
    // Of what nobody confirmed, rules alone were in force.
    let held = rules || changed || gate.lisp.has(Role::Gate) || (trusted && tightens);
    loaded.keep_out(&name, at, why, held);
    // What is wrong elsewhere in it takes no rule and no gate of its own out of force.
    loaded.rules_alone.push(gate);
}

/// Returns whether a skill may tighten that does not load as it is: of one that cannot be read, when a line of it looks as if
/// it were meant to.
fn may_tighten(name: &str, outline: &Outline) -> bool {
    let unreadable = |_| may_hold_rules(&outline.text) || may_narrow(&outline.text);
    read(name, outline, Examples::Left).map_or_else(unreadable, |skill| tightens(&skill))
}

/// Returns the beginning of what is said of a skill: it may quote a file, which may be long.
fn bounded(text: &str) -> String {
    match text.char_indices().nth(MAX_WORDS) {
        None => text.to_string(),
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
    }
}

/// Returns what is odd about a skill, as far as it is told.
fn told(remarks: &[String]) -> Vec<String> {
    remarks.iter().take(MAX_REMARKS).map(|remark| bounded(remark)).collect()
}

/// Returns why a link cannot stand for what it leads to; `None` for what is none, or has one name with it.
fn renamed(path: &Path) -> Option<String> {
    let real = fs::canonicalize(path).ok()?;
    let (name, other) = (path.file_name()?, real.file_name()?.to_string_lossy());
    (name.to_string_lossy() != other).then(|| {
        let other = exact(&clip(&other));
        format!("it is a link to “{other}”, and a skill has the name of its file; give the link that name")
    })
}

/// Returns whether two paths lead to one file: of a folder that is named twice, each skill counts once.
pub fn same(one: &Path, other: &Path) -> bool {
    fs::canonicalize(one).is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
}

fn outline(text: String) -> Result<Outline, String> {
    scan(Arc::from(text), &ScanOptions::default()).map_err(|why| why.to_string())
}

/// Reads the file of a skill.
///
/// # Errors
/// In words: when it cannot be read, is no regular file, is too large, or is no text.
pub fn read_file(path: &Path) -> Result<String, String> {
    text_of(path, true)
}

/// Reads the file of a skill; `follow` says whether it may be a link.
fn text_of(path: &Path, follow: bool) -> Result<String, String> {
    let read = package::limited(path, MAX_FILE, follow).map_err(|why| format!("it {why}"))?;
    let bytes = read.ok_or("it is too large; a skill has at most 256 kB")?;
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
