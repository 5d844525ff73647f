//! Runs the Lisp of skills: each skill in a confined worker of its own, which is told a case and answers with a value.
//!
//! What a skill answers is read and never evaluated. One that hangs, breaks, floods or says what no answer is leaves none,
//! and one that does so three times in a row is parked: it is not called any more until its Lisp is changed, or the user
//! says so.

pub mod cases;

use crate::domain::action::Action;
use crate::domain::gate::Facts;
use crate::domain::gate::facts::{Answer, WallsFact};
use crate::domain::inert;
use crate::domain::label::Privacy;
use crate::domain::lisp::check::check;
use crate::domain::port::SkillHost;
use crate::domain::sexp::reader::Sexp;
use crate::domain::skill::Skill;
use crate::domain::skill::gate::{gate_key, gate_of};
use crate::domain::skill::lisp::{Block, GateExample, Lisp, Role};
use crate::edge::sandbox::{SandboxError, Walls};
use crate::edge::survey::Confinement;
use crate::edge::worker::{Answer as Worked, Evaluated, Owner, Task, Told, Workers};
use async_trait::async_trait;
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long one call may take.
pub const CALL: Duration = Duration::from_secs(1);
/// How long who asks a gate waits at most: for a worker that ends, one that starts, and its own call.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// After so many failures in a row a skill is not called any more.
pub const STRIKES: u32 = 3;
/// Longest case that is told, in bytes.
const MAX_CASE: usize = 1 << 20;

/// What is known of a skill's Lisp since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// How often it was called.
    pub calls: u64,
    /// How long all calls took together.
    pub time: Duration,
    /// How many of them failed.
    pub failures: u64,
    /// How many failed since one that did not, by the block.
    pub in_a_row: BTreeMap<Role, u32>,
    /// Why the last one that failed did.
    pub last: Option<String>,
}

impl Runs {
    /// Returns whether a block is not called any more.
    pub fn is_parked(&self, role: Role) -> bool {
        self.in_a_row.get(&role).is_some_and(|strikes| *strikes >= STRIKES)
    }

    /// Returns the blocks that are not called any more.
    pub fn parked(&self) -> Vec<Role> {
        Role::ALL.into_iter().filter(|role| self.is_parked(*role)).collect()
    }

    /// Returns it in words, such as `3 calls in 12 ms, 1 failed`.
    pub fn words(&self) -> String {
        let failed = if self.failures > 0 { format!(", {} failed", self.failures) } else { String::new() };
        let parked: String = self.parked().iter().map(|role| format!(", “{}” parked", role.name())).collect();
        let noun = if self.calls == 1 { "call" } else { "calls" };
        format!("{} {noun} in {} ms{failed}{parked}", self.calls, self.time.as_millis())
    }
}

/// Says what the user should know.
type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// What came of trying the Lisp of a skill out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tried {
    /// It does what its examples say, or has none.
    Well,
    /// It does not: what is wrong, with its line where there is one.
    Badly(String),
    /// No Lisp can be run here.
    Not,
}

/// Why there is no answer.
enum Lost {
    /// It was not asked.
    Unasked(String),
    /// It was, and failed.
    Failed(String),
}

/// The code of one skill.
struct Code {
    /// What its worker evaluates first.
    setup: String,
    /// Names it; see [`Lisp::digest`](crate::domain::skill::lisp::Lisp::digest).
    digest: String,
    /// What there is a function for.
    roles: BTreeSet<Role>,
}

/// The Lisp of all skills, by their names; `None` for one that cannot be run as it is meant, as nobody could tell whose it
/// is.
#[derive(Default)]
struct Shelf(BTreeMap<String, Option<Code>>);

/// Runs the Lisp of the skills of a session.
pub struct LispHost {
    workers: Arc<Workers>,
    confinement: Arc<dyn Confinement>,
    shelf: RwLock<Arc<Shelf>>,
    runs: Mutex<BTreeMap<String, Runs>>,
    tell: OnceLock<Tell>,
    call: Duration,
}

impl LispHost {
    /// Makes a host for skills, each of whose calls may take so long; nothing is started before the first.
    pub fn new<'a>(
        workers: Arc<Workers>,
        confinement: Arc<dyn Confinement>,
        skills: impl Iterator<Item = &'a Skill>,
        call: Duration,
    ) -> LispHost {
        let shelf = RwLock::new(Arc::new(Shelf::of(skills)));
        LispHost { workers, confinement, shelf, runs: Mutex::default(), tell: OnceLock::new(), call }
    }

    /// Takes other skills from now on. One whose Lisp has changed may be called again, however often it failed before.
    pub fn take<'a>(&self, skills: impl Iterator<Item = &'a Skill>) {
        let new = Arc::new(Shelf::of(skills));
        let old = std::mem::replace(&mut *self.shelf.write(), new.clone());
        let mut runs = self.runs.lock();
        for (skill, code) in &new.0 {
            let same = old.0.get(skill).is_some_and(|old| setup_of(old) == setup_of(code));
            if let Some(runs) = runs.get_mut(skill).filter(|_| !same) {
                runs.in_a_row.clear();
            }
        }
        drop(runs);
        for skill in old.0.keys().filter(|skill| !new.0.contains_key(*skill)) {
            tokio::spawn(self.workers.end(&Owner::Skill(skill.clone())));
        }
    }

    /// Has blocks called again that failed too often, as the user wants it; returns of how many skills there were some.
    pub fn unpark(&self) -> usize {
        let mut runs = self.runs.lock();
        let parked = runs.values_mut().filter(|runs| !runs.parked().is_empty());
        parked.map(|runs| runs.in_a_row.clear()).count()
    }

    /// Says from now on what the user should know.
    pub fn telling(&self, tell: impl Fn(&str) + Send + Sync + 'static) {
        let _ = self.tell.set(Box::new(tell));
    }

    /// Returns what is known of the Lisp of every skill that was called, by name.
    pub fn all_runs(&self) -> Vec<(String, Runs)> {
        self.runs.lock().iter().map(|(name, runs)| (name.clone(), runs.clone())).collect()
    }

    /// Returns what is known of a skill's Lisp.
    pub fn runs(&self, skill: &str) -> Runs {
        self.runs.lock().get(skill).cloned().unwrap_or_default()
    }

    /// Returns what the function of a skill says of a case, as `read` reads it; how it went is noted.
    ///
    /// # Errors
    /// Why there is no answer, in words: it could not be asked, it failed, or what it said is none.
    pub async fn ask<T>(
        &self,
        skill: &str,
        role: Role,
        (case, told): (&Sexp, &Told),
        read: impl FnOnce(&Sexp) -> Result<T, String>,
    ) -> Result<T, String> {
        let shelf = self.shelf.read().clone();
        let code = match shelf.0.get(skill) {
            Some(Some(code)) if code.roles.contains(&role) => code,
            Some(Some(_)) | None => return Err(format!("the skill {skill} has no block “{}”", role.name())),
            Some(None) => {
                return Err(format!(
                    "two skills are called {skill}, or one has two blocks for one thing; rename or join them"
                ));
            }
        };
        if self.runs(skill).is_parked(role) {
            return Err("it failed too often and is not called any more".to_string());
        }
        let begin = Instant::now();
        let called = self.call(skill, code, role, case, told).await;
        let answered = called.and_then(|value| read(&value).map_err(Lost::Failed));
        // What is said of private notes stays out of the log.
        let bare = told.privacy.is_kept();
        self.note((skill, role), begin.elapsed(), answered.as_ref().err(), bare);
        answered.map_err(|(Lost::Unasked(why) | Lost::Failed(why))| why)
    }

    /// Tries the Lisp of a skill out in the spare worker, which is fresh each time: whether every block comes to a function,
    /// and whether its gate says of the examples what it should.
    pub async fn try_out(&self, skill: &Skill) -> Tried {
        let Some(code) = code(skill) else { return Tried::Well };
        let tried = self.tried(skill, &code).await;
        self.workers.end(&Owner::Spare).await;
        match tried {
            Ok(Ok(())) => Tried::Well,
            Ok(Err(why)) => Tried::Badly(why),
            Err(_) => Tried::Not,
        }
    }

    async fn tried(&self, skill: &Skill, code: &Code) -> Result<Result<(), String>, SandboxError> {
        let told = Told::own(Privacy::Open);
        let run = async |code_of: &str| {
            // A busy machine is no fault of the skill's.
            let task = Task { setup: &code.setup, code: code_of, told: &told, plain: true, patience: PATIENCE };
            Ok::<_, SandboxError>(read(self.workers.run(&Owner::Spare, Walls::All, task).await?, PATIENCE))
        };
        if let Err(why) = run("t").await? {
            return Ok(Err(match faulty(&skill.lisp, |role| role != Role::Tests, &why) {
                Some(block) => format!("line {}: its Lisp, in the block “{}”: {why}", block.line, block.role.name()),
                None => format!("its Lisp: {why}"),
            }));
        }
        for example in &skill.lisp.examples {
            let call = format!("(funcall '{} '{})", function(Role::Gate), cases::of_example(example));
            let said = run(&call).await?.and_then(|value| cases::verdict(&value));
            let why = match said {
                Ok(answer) if answer.name() == example.expected => continue,
                Ok(answer) => format!("it says {}", answer.name()),
                Err(why) => why,
            };
            let GateExample { line, tool, argument: (_, value), expected } = example;
            let text = format!("of the example “{value}” of {tool} its gate should say {expected}, but {why}");
            return Ok(Err(format!("line {line}: {text}")));
        }
        Ok(Ok(()))
    }

    /// Calls a function of a skill and returns its value.
    async fn call(&self, skill: &str, code: &Code, role: Role, case: &Sexp, told: &Told) -> Result<Sexp, Lost> {
        let case = case.to_string();
        if case.len() > MAX_CASE {
            let text = format!("there is too much to tell it ({} bytes; {MAX_CASE} are the most)", case.len());
            return Err(Lost::Unasked(text));
        }
        let walls = match self.confinement.walls().await {
            WallsFact::All => Walls::All,
            WallsFact::Fewer(missing) | WallsFact::Nothing(missing) => {
                return Err(Lost::Unasked(format!("its Lisp cannot be confined here: {missing}")));
            }
        };
        let code = Task {
            setup: &code.setup,
            code: &format!("(funcall '{} '{case})", function(role)),
            told,
            plain: true,
            patience: self.call,
        };
        let answer = self.workers.run(&Owner::Skill(skill.to_string()), walls, code).await;
        read(answer.map_err(|why| Lost::Unasked(why.to_string()))?, self.call).map_err(Lost::Failed)
    }

    /// Notes how a call went, and says so when it was the last that was borne with.
    fn note(&self, (skill, role): (&str, Role), took: Duration, lost: Option<&Lost>, bare: bool) {
        if let Some(Lost::Unasked(why)) = lost {
            // It is none of the Lisp's doing.
            return self.tell(&unanswered(skill, role, why));
        }
        let mut all = self.runs.lock();
        let runs = all.entry(skill.to_string()).or_default();
        runs.calls += 1;
        runs.time += took;
        let Some(Lost::Failed(why) | Lost::Unasked(why)) = lost else {
            runs.in_a_row.remove(&role);
            return;
        };
        let why = if bare { "it failed over something private" } else { why.trim_end_matches('.') };
        runs.failures += 1;
        let strikes = runs.in_a_row.entry(role).or_default();
        *strikes += 1;
        let parked = *strikes == STRIKES;
        runs.last = Some(format!("{}: {why}", role.name()));
        drop(all);
        let text = if parked {
            let denies = if role == Role::Gate { ", so it denies every act" } else { "" };
            format!(
                "the block “{}” of the skill {skill} failed {STRIKES} times in a row and is not called any more{denies}; \
                 mend it, move the skill away, or press r in M-x passepartout-skills. The last time: {why}",
                role.name()
            )
        } else {
            unanswered(skill, role, why)
        };
        self.tell(&text);
    }

    fn tell(&self, text: &str) {
        if let Some(tell) = self.tell.get() {
            tell(text);
        }
    }
}

#[async_trait]
impl SkillHost for LispHost {
    fn gates(&self) -> Vec<String> {
        let shelf = self.shelf.read().clone();
        let codes = shelf.0.iter().filter_map(|(skill, code)| Some((skill, code.as_ref()?)));
        let with = codes.filter(|(_, code)| code.roles.contains(&Role::Gate));
        with.map(|(skill, code)| gate_key(skill, &code.digest)).collect()
    }

    async fn answer(&self, gate: &str, action: &Action, facts: &Facts) -> Result<Answer, String> {
        let shelf = self.shelf.read().clone();
        let named = gate_of(gate).and_then(|(skill, digest)| Some((skill, digest, shelf.0.get(skill)?)));
        let skill = match named {
            None => return Err(format!("nobody knows a gate “{gate}”")),
            // Other code is another gate.
            Some((skill, digest, Some(code))) if code.digest != digest => {
                return Err(format!("the Lisp of the skill {skill} has changed"));
            }
            Some((skill, ..)) => skill,
        };
        if !facts.vault.is_empty() {
            // A denial is certain, and a secret is told to nobody.
            return Err("a secret of yours stands in it".to_string());
        }
        let privacy = action.labels().privacy.max(facts.strictest());
        let told = Told { privacy, trust: action.labels().trust, sources: BTreeSet::new() };
        self.ask(skill, Role::Gate, (&cases::of_act(action, facts), &told), cases::verdict).await
    }
}

impl Shelf {
    fn of<'a>(skills: impl Iterator<Item = &'a Skill>) -> Shelf {
        let mut shelf = Shelf::default();
        for skill in skills.filter(|skill| skill.lisp.is_run()) {
            // Of two skills with one name nobody knows which answers.
            let code = if shelf.0.contains_key(&skill.name) { None } else { code(skill) };
            shelf.0.insert(skill.name.clone(), code);
        }
        shelf
    }
}

fn setup_of(code: &Option<Code>) -> Option<&str> {
    code.as_ref().map(|code| code.setup.as_str())
}

/// Says that a block gave no answer, and what follows from it.
fn unanswered(skill: &str, role: Role, why: &str) -> String {
    let so = match role {
        Role::Gate | Role::Definitions | Role::Tests => "so the act was denied",
        Role::Trigger => "so it was triggered only if it lists its tools or rewrites proposals",
        Role::Prompt => "so the model was told what stands below its heading “Prompt” alone",
        Role::Refine => "so the act was refused",
        Role::Handler => "so it went on without its answer",
        Role::OnError => "so what #+ON_ERROR says was done",
        Role::Job => "so it did nothing",
    };
    format!("the block “{}” of the skill {skill} gave no answer, {so}: {}", role.name(), why.trim_end_matches('.'))
}

/// Returns what a worker of a skill evaluates first; `None` when it has two blocks for one thing, or one in another language.
pub fn setup(skill: &Skill) -> Option<String> {
    code(skill).map(|code| code.setup)
}

/// Returns what a worker evaluates before it is called; `None` when a skill has two blocks for one thing, or one in another
/// language.
fn code(skill: &Skill) -> Option<Code> {
    let definitions = skill.lisp.all(Role::Definitions).collect::<Vec<_>>().join("\n");
    let (mut setup, mut roles) = (definitions, BTreeSet::new());
    for role in Role::ALL.into_iter().filter(|role| role.is_function() && skill.lisp.has(*role)) {
        let (code, name, word) = (skill.lisp.code(role)?, function(role), role.name());
        // A comment at the end of a block takes no bracket with it.
        setup.push_str(&format!(
            "\n(fset '{name} (progn\n{code}\n))\n\
             (unless (functionp '{name}) (error \"The block “{word}” comes to no function\"))"
        ));
        roles.insert(role);
    }
    setup.push_str("\nt");
    Some(Code { setup, digest: skill.lisp.digest(), roles })
}

/// Returns the block that an error is of, as far as that can be told without running it: one whose brackets do not balance,
/// the one that the error names, or the only one.
pub fn faulty<'a>(lisp: &'a Lisp, is_run: impl Fn(Role) -> bool, why: &str) -> Option<&'a Block> {
    let blocks: Vec<&Block> = lisp.blocks.iter().filter(|block| is_run(block.role)).collect();
    let unsound = |block: &&&Block| check(&block.code).map_or(true, |checked| !checked.is_sound());
    let named = |block: &&&Block| why.contains(&format!("“{}”", block.role.name()));
    let only = if blocks.len() == 1 { blocks.first() } else { None };
    blocks.iter().find(unsound).or_else(|| blocks.iter().find(named)).or(only).copied()
}

/// Returns how the function of a role is called in a worker.
fn function(role: Role) -> String {
    format!("passepartout-skill-{}", role.name())
}

/// Returns the value of a call.
fn read(worked: Worked, call: Duration) -> Result<Sexp, String> {
    match worked.ended {
        Evaluated::Value(value) => Sexp::read(&value).map_err(|_| "it answered with what cannot be read".to_string()),
        Evaluated::Error(error) => Err(inert::exact(&cases::cut(&error, 300))),
        Evaluated::TimedOut => Err(format!("it took longer than {} ms", call.as_millis())),
        Evaluated::Gone => Err("its worker ended: the Lisp ended it, or it grew beyond its limits".to_string()),
        Evaluated::Broken => Err("its worker answered what no worker answers".to_string()),
    }
}
