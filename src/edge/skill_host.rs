//! Runs the Lisp of skills: each skill in a confined worker of its own, which is told a case and answers with a value.
//!
//! What a skill answers is read and never evaluated. One that hangs, breaks, floods or says what no answer is leaves none,
//! and one that does so three times in a row is parked: it is not called any more until the program is started again.

use crate::domain::action::Action;
use crate::domain::gate::Facts;
use crate::domain::gate::facts::{Answer, WallsFact};
use crate::domain::inert;
use crate::domain::label::Trust;
use crate::domain::port::SkillHost;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::skill::Skill;
use crate::domain::skill::lisp::Role;
use crate::domain::tool::Toolbox;
use crate::edge::sandbox::Walls;
use crate::edge::survey::Confinement;
use crate::edge::worker::{Answer as Worked, Evaluated, Owner, Task, Told, Workers};
use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long one call may take.
pub const CALL: Duration = Duration::from_secs(1);
/// How long who asks a gate waits at most: for a worker that ends, one that starts, and its own call.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// After so many failures in a row a skill is not called any more.
pub const STRIKES: u32 = 3;
/// Longest reason that a gate gives, in characters; the rest is left out.
const MAX_REASON: usize = 2_000;
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
    /// How many failed since one that did not.
    pub in_a_row: u32,
    /// Why the last one that failed did.
    pub last: Option<String>,
}

impl Runs {
    /// Returns whether it is not called any more.
    pub fn parked(&self) -> bool {
        self.in_a_row >= STRIKES
    }

    /// Returns it in words, such as `3 calls in 12 ms, 1 failed`.
    pub fn words(&self) -> String {
        let failed = if self.failures > 0 { format!(", {} failed", self.failures) } else { String::new() };
        let parked = if self.parked() { ", parked" } else { "" };
        let noun = if self.calls == 1 { "call" } else { "calls" };
        format!("{} {noun} in {} ms{failed}{parked}", self.calls, self.time.as_millis())
    }
}

/// Says what the user should know.
type Tell = Box<dyn Fn(&str) + Send + Sync>;

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
}

/// Runs the Lisp of the skills of a session.
pub struct LispHost {
    workers: Arc<Workers>,
    confinement: Arc<dyn Confinement>,
    /// By the name of the gate: the skill, and its code unless it cannot be run as it is meant.
    gates: BTreeMap<String, (String, Option<Code>)>,
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
        let mut gates: BTreeMap<String, (String, Option<Code>)> = BTreeMap::new();
        for skill in skills {
            for gate in crate::domain::skill::gate::own_gates(std::slice::from_ref(skill)) {
                let name = crate::domain::gate::Gate::name(&gate).to_string();
                // Of two skills with one name nobody knows which answers.
                let code = if gates.contains_key(&name) { None } else { code(skill) };
                gates.insert(name, (skill.name.clone(), code));
            }
        }
        LispHost { workers, confinement, gates, runs: Mutex::default(), tell: OnceLock::new(), call }
    }

    /// Returns the names of the gates that it can be asked for.
    pub fn gates(&self) -> Vec<String> {
        self.gates.keys().cloned().collect()
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
    fn note(&self, skill: &str, took: Duration, lost: Option<&Lost>) {
        if let Some(Lost::Unasked(why)) = lost {
            // It is none of the Lisp's doing.
            return self.tell(&unanswered(skill, why));
        }
        let mut all = self.runs.lock();
        let runs = all.entry(skill.to_string()).or_default();
        runs.calls += 1;
        runs.time += took;
        let Some(Lost::Failed(why) | Lost::Unasked(why)) = lost else {
            runs.in_a_row = 0;
            return;
        };
        runs.failures += 1;
        runs.in_a_row += 1;
        runs.last = Some(why.to_string());
        let parked = runs.in_a_row == STRIKES;
        drop(all);
        let why = why.trim_end_matches('.');
        let text = if parked {
            format!(
                "the Lisp of the skill {skill} failed {STRIKES} times in a row and is not called any more, so its gate denies \
                 every act; mend the block or move the skill away, then start again. The last time: {why}"
            )
        } else {
            unanswered(skill, why)
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
    async fn answer(&self, gate: &str, action: &Action, facts: &Facts) -> Result<Answer, String> {
        let (skill, code) = self.gates.get(gate).ok_or_else(|| format!("nobody knows a gate “{gate}”"))?;
        let Some(code) = code else {
            return Err(format!("two skills are called {skill}, or one has two gates; rename or join them"));
        };
        if self.runs(skill).parked() {
            return Err("it failed too often and is not called any more".to_string());
        }
        if !facts.vault.is_empty() {
            // A denial is certain, and a secret is told to nobody.
            return Err("a secret of yours stands in it".to_string());
        }
        let begin = Instant::now();
        let privacy = action.labels().privacy.max(facts.strictest());
        let told = Told { privacy, trust: action.labels().trust, sources: BTreeSet::new() };
        let called = self.call(skill, code, Role::Gate, &case(action, facts), &told).await;
        let answered = called.and_then(|value| verdict(&value).map_err(Lost::Failed));
        self.note(skill, begin.elapsed(), answered.as_ref().err());
        answered.map_err(|(Lost::Unasked(why) | Lost::Failed(why))| why)
    }
}

fn unanswered(skill: &str, why: &str) -> String {
    format!("the gate of the skill {skill} gave no answer, so the act was denied: {}", why.trim_end_matches('.'))
}

/// Returns what a worker evaluates before it is called; `None` when a skill has no gate, or two.
fn code(skill: &Skill) -> Option<Code> {
    let gate = skill.lisp.code(Role::Gate)?;
    let definitions = skill.lisp.all(Role::Definitions).collect::<Vec<_>>().join("\n");
    let name = function(Role::Gate);
    // A comment at the end of a block takes no bracket with it.
    let setup = format!(
        "{definitions}\n(fset '{name} (progn\n{gate}\n))\n\
         (unless (functionp '{name}) (error \"The block “gate” comes to no function\"))\nt"
    );
    Some(Code { setup })
}

/// Returns how the function of a role is called in a worker.
fn function(role: Role) -> String {
    format!("passepartout-skill-{}", role.name())
}

/// Returns the value of a call.
fn read(worked: Worked, call: Duration) -> Result<Sexp, String> {
    match worked.ended {
        Evaluated::Value(value) => Sexp::read(&value).map_err(|_| "it answered with what cannot be read".to_string()),
        Evaluated::Error(error) => Err(inert::exact(&cut(&error, 300))),
        Evaluated::TimedOut => Err(format!("it took longer than {} ms", call.as_millis())),
        Evaluated::Gone => Err("its worker ended: the Lisp ended it, or it grew beyond its limits".to_string()),
        Evaluated::Broken => Err("its worker answered what no worker answers".to_string()),
    }
}

/// Reads what a gate said: `pass`, `(ask "why")` or `(deny "why")`.
fn verdict(value: &Sexp) -> Result<Answer, String> {
    let wrong = || {
        let said = inert::exact(&cut(&value.to_string(), 80));
        format!("it answered {said}, which is none of pass, (ask \"why\") and (deny \"why\")")
    };
    if value.as_name() == Some("pass") && value.as_text().is_none() {
        return Ok(Answer::Pass);
    }
    let (word, why) = match value.items() {
        [word, why] => (word.as_name(), why.as_text()),
        _ => (None, None),
    };
    let why = why.map(|why| cut(why, MAX_REASON)).ok_or_else(wrong)?;
    match word {
        Some("ask") => Ok(Answer::Ask(why)),
        Some("deny") => Ok(Answer::Deny(why)),
        _ => Err(wrong()),
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_string(),
    }
}

/// Returns a case as a gate in Lisp sees it: what would be done, and the places that were found.
fn case(action: &Action, facts: &Facts) -> Sexp {
    let arguments =
        action.args().iter().fold(Plist::new(), |list, (name, value)| list.value(name, Sexp::of_json(value)));
    let tool = Toolbox::builtin();
    let class = tool.get(action.tool()).map_or("custom", |tool| tool.effect.class().name());
    let paths = facts.paths.iter().map(|path| {
        Plist::new()
            .text("argument", path.arg.as_str())
            .text("asked", path.asked.as_str())
            .text("resolved", path.resolved.as_str())
            .build()
    });
    Plist::new()
        .text("tool", action.tool())
        .value("class", Sexp::symbol(class))
        .plist("arguments", arguments)
        .text("explanation", action.explanation().as_str())
        .list("paths", paths)
        .list("files", facts.edits.iter().map(|edit| Sexp::text(edit.file.as_str())))
        .value("privacy", Sexp::symbol(facts.strictest().max(action.labels().privacy).word()))
        .flag("untrusted", action.labels().trust == Trust::Untrusted)
        .build()
}
