//! Tests a skill as its file stands now: its examples here, its ERT tests in a spare confined worker.

use crate::domain::gate::facts::WallsFact;
use crate::domain::inert::exact;
use crate::domain::label::Privacy;
use crate::domain::org::scan::{ScanOptions, scan};
use crate::domain::sexp::reader::Sexp;
use crate::domain::skill::lisp::{Block, Role};
use crate::domain::skill::parse::parse;
use crate::domain::skill::{Skill, SkillProblem};
use crate::edge::engine::Engine;
use crate::edge::engine::authority::SkillAt;
use crate::edge::sandbox::Walls;
use crate::edge::skill_host::{self, Tried};
use crate::edge::skills;
use crate::edge::survey::Confinement;
use crate::edge::thread::aside;
use crate::edge::worker::{Evaluated, Owner, Task, Told};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long all tests of a skill may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longest text of one failure, in characters.
const LONGEST: usize = 2_000;
/// Runs every test that is defined, and answers a list of name, how it ended, and why. ERT itself waits for a debugger,
/// which nobody calls where errors are caught, as in a worker. Each text is printed anew, and not as a reference.
const RUN: &str = r#"
(mapcar
 (lambda (test)
   (let* ((why "")
          (ended (condition-case problem
                     (progn (funcall (ert-test-body test)) "passed")
                   (ert-test-skipped "skipped")
                   ((error quit) (setq why (format "%S" problem)) "failed"))))
     (when (eq (ert-test-expected-result-type test) :failed)
       (setq ended (if (equal ended "failed") "passed" "failed")
             why ""))
     (mapcar #'copy-sequence
             (list (symbol-name (ert-test-name test)) ended
                   (cond ((equal why "") nil)
                         ((> (length why) 2000) (substring why 0 2000))
                         (t why))))))
 (ert-select-tests t t))"#;

/// How one test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestLine {
    /// Its name.
    pub name: String,
    /// Its line in the file, one-based; `None` where nobody knows.
    pub line: Option<u32>,
    /// `passed`, `failed` or `skipped`.
    pub ended: String,
    /// Why, of one that failed.
    pub why: String,
}

/// What testing a skill came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tested {
    /// Its file.
    pub file: String,
    /// How many rules it has, each of which an example matches; they all held unless something is wrong.
    pub rules: usize,
    /// What keeps it out: a line of the file where it is known, and what is wrong there.
    pub wrong: Option<(Option<u32>, String)>,
    /// How many examples its gate in Lisp answered as it should.
    pub gate_examples: usize,
    /// Whether what is wrong keeps it out; its tests alone keep nothing out.
    pub kept_out: bool,
    /// Its tests, in their order in the file.
    pub tests: Vec<TestLine>,
    /// What is odd about it, and keeps nothing out.
    pub remarks: Vec<String>,
}

impl Tested {
    /// Returns whether everything held.
    pub fn holds(&self) -> bool {
        self.wrong.is_none() && self.tests.iter().all(|test| test.ended != "failed")
    }

    /// Returns what it came to in one line.
    pub fn words(&self) -> String {
        let count = |ended: &str| self.tests.iter().filter(|test| test.ended == ended).count();
        match (&self.wrong, self.kept_out) {
            (Some(_), true) => return "It does not load.".to_string(),
            (Some(_), false) => return "It loads, but its tests could not be run to their end.".to_string(),
            (None, _) => {}
        }
        let rules = match self.rules {
            0 => String::new(),
            1 => " Its rule holds its examples.".to_string(),
            rules => format!(" Its {rules} rules hold their examples."),
        };
        let examples = match self.gate_examples {
            0 => String::new(),
            1 => " Its gate holds its example.".to_string(),
            many => format!(" Its gate holds its {many} examples."),
        };
        let tests = match (self.tests.len(), count("failed"), count("skipped")) {
            (0, ..) => " It has no tests.".to_string(),
            (all, failed, skipped) => {
                let passed = all - failed - skipped;
                let skipped = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
                format!(" Tests: {passed} passed, {failed} failed{skipped}.")
            }
        };
        format!("It loads.{rules}{examples}{tests}")
    }
}

impl Engine {
    /// Tests a skill as its file stands now; what is loaded does not change.
    ///
    /// # Errors
    /// When there is none of that name, its file cannot be read, or its tests could not be run.
    pub async fn test_skill(self: &Arc<Self>, at: impl Into<SkillAt>) -> Result<Tested, String> {
        let at = at.into();
        let report = match self.skill_named(at.clone()) {
            Ok(report) => report,
            // It may have been written a moment ago.
            Err(_) => {
                self.reload_skills().await;
                self.skill_named(at)?
            }
        };
        let name = &report.name;
        let Some(path) = report.file.clone() else {
            return Err(format!("the skill {name} is built in; the folder of shipped skills has its file"));
        };
        let file = path.display().to_string();
        let (skill_name, read) = (name.to_string(), path.clone());
        let skill = match aside(move || look(&read, &skill_name)).await? {
            Looked::Skill(skill) => *skill,
            Looked::Handbook => return Ok(Tested { file, ..Tested::default() }),
            Looked::Wrong(line, why) => {
                return Ok(Tested { file, wrong: Some((line, why)), kept_out: true, ..Tested::default() });
            }
        };
        self.tested(file, &skill).await
    }

    /// Tests a text as a skill of that name would be tested, and tries its Lisp and the examples of its gate out; what is
    /// loaded does not change.
    ///
    /// # Errors
    /// When its Lisp could not be run.
    pub(in crate::edge) async fn test_skill_text(&self, name: &str, file: &str, text: &str) -> Result<Tested, String> {
        let file = file.to_string();
        let skill = match look_text(name, text)? {
            Looked::Skill(skill) => *skill,
            Looked::Handbook => return Ok(Tested { file, ..Tested::default() }),
            Looked::Wrong(line, why) => {
                return Ok(Tested { file, wrong: Some((line, why)), kept_out: true, ..Tested::default() });
            }
        };
        self.tested(file, &skill).await
    }

    async fn tested(&self, file: String, skill: &Skill) -> Result<Tested, String> {
        let remarks = skill.remarks.clone();
        let out = |wrong| Tested { wrong: Some(wrong), kept_out: true, remarks: remarks.clone(), ..Tested::default() };
        if let Some(why) = self.skills().loaded.why_out(skill) {
            return Ok(Tested { file, ..out((None, why)) });
        }
        let gate_examples = match self.run_gate_examples(skill).await {
            Ok(held) => held,
            Err(why) => return Ok(Tested { file, ..out(why) }),
        };
        let tests = self.run_tests(skill).await?;
        Ok(Tested {
            file,
            rules: skill.rules.len(),
            gate_examples,
            kept_out: false,
            wrong: tests.as_ref().err().cloned(),
            tests: tests.unwrap_or_default(),
            remarks,
        })
    }

    /// Looks at the Lisp of a skill as it is done before it is loaded: whether each block comes to a function, and what its
    /// gate says of its examples, and returns how many of these held. Where no Lisp can be run the tests say so.
    async fn run_gate_examples(&self, skill: &Skill) -> Result<usize, (Option<u32>, String)> {
        let Some(host) = self.skill_host.as_ref() else { return Ok(0) };
        let _alone = self.trying.lock().await;
        match host.try_out(skill).await {
            Tried::Well => Ok(skill.lisp.examples.len()),
            Tried::Not => Ok(0),
            Tried::Badly(why) => {
                let line = why.strip_prefix("line ").and_then(|rest| rest.split_once(':')?.0.parse().ok());
                Err((line, exact(&why)))
            }
        }
    }

    /// Runs the tests of a skill in a worker of its own, which ends with them. The inner error is what they do wrong.
    async fn run_tests(&self, skill: &Skill) -> Result<Result<Vec<TestLine>, (Option<u32>, String)>, String> {
        let blocks: Vec<&Block> = skill.lisp.blocks.iter().filter(|block| block.role == Role::Tests).collect();
        let runs = !skill.lisp.blocks.is_empty();
        if !runs {
            return Ok(Ok(Vec::new()));
        }
        let walls = match self.shell.as_ref().map_err(Clone::clone)?.walls().await {
            WallsFact::All => Walls::All,
            WallsFact::Fewer(missing) | WallsFact::Nothing(missing) => {
                return Err(format!("its Lisp cannot be confined here, so its tests were not run: {missing}"));
            }
        };
        let workers = self.workers.as_ref().map_err(Clone::clone)?;
        let tests: String = blocks.iter().map(|block| format!("{}\n", block.code)).collect();
        let code = format!("(require 'ert)\n{tests}{RUN}");
        let setup = skill_host::setup(skill).ok_or("two of its blocks are for one thing; make one of both")?;
        let told = Told::own(Privacy::Open);
        let task = Task { setup: &setup, code: &code, told: &told, plain: true, patience: PATIENCE };
        // Nothing else lives under this name, and nothing of this lives on.
        let owner = Owner::Skill(format!("{} (tests)", skill.name));
        let answer = workers.run(&owner, walls, task).await;
        workers.end(&owner).await;
        let first = skill.lisp.blocks.first().map(|block| block.line);
        let wrong = |why: String| Ok(Err((blocks.first().map(|block| block.line).or(first), why)));
        match answer.map_err(|why| why.to_string())?.ended {
            Evaluated::Value(value) => match read(&value, &blocks) {
                Some(lines) => Ok(Ok(lines)),
                None => wrong("the tests answered what no tests answer".to_string()),
            },
            Evaluated::Error(error) => {
                let why = exact(&crate::domain::action::clip(&error));
                let of_tests = !blocks.is_empty();
                let block = skill_host::faulty(&skill.lisp, |role| !of_tests || role == Role::Tests, &why);
                Ok(Err((block.or(blocks.first().copied()).map(|block| block.line).or(first), why)))
            }
            Evaluated::TimedOut => wrong(format!("its tests took longer than {} s", PATIENCE.as_secs())),
            Evaluated::Gone => wrong("the worker ended: the Lisp ended it, or it grew beyond its limits".to_string()),
            Evaluated::Broken => wrong("the worker answered what no worker answers".to_string()),
        }
    }
}

/// What a text is as a skill.
pub(super) enum Looked {
    /// One that loads.
    Skill(Box<Skill>),
    /// One of the common format.
    Handbook,
    /// None: a line where it is known, and what is wrong there.
    Wrong(Option<u32>, String),
}

/// Reads a skill anew.
fn look(path: &Path, name: &str) -> Result<Looked, String> {
    if path.is_dir() {
        return Ok(match skills::open(path) {
            Ok(_) => Looked::Handbook,
            Err(why) => Looked::Wrong(None, why),
        });
    }
    look_text(name, &skills::read_file(path)?)
}

/// Reads a text as a skill.
///
/// # Errors
/// When it cannot be scanned at all.
pub(super) fn look_text(name: &str, text: &str) -> Result<Looked, String> {
    let outline = scan(Arc::from(text), &ScanOptions::default()).map_err(|why| why.to_string())?;
    Ok(match parse(name, &outline) {
        Ok(skill) => Looked::Skill(Box::new(skill)),
        Err(why) => {
            let line = match &why {
                SkillProblem::FrontMatter { line, .. }
                | SkillProblem::Section { line, .. }
                | SkillProblem::Example { line, .. } => Some(*line),
                SkillProblem::TooLarge { .. } => None,
            };
            Looked::Wrong(line, why.to_string())
        }
    })
}

/// Reads what the tests came to; `None` when that is no such list.
fn read(value: &str, blocks: &[&Block]) -> Option<Vec<TestLine>> {
    let value = Sexp::read(value).ok()?;
    let line = |item: &Sexp| {
        let [name, ended, why] = item.items() else { return None };
        let (name, ended) = (name.as_text()?, ended.as_text()?);
        let known = matches!(ended, "passed" | "failed" | "skipped");
        let why: String = why.as_text().unwrap_or_default().chars().take(LONGEST).collect();
        known.then(|| TestLine {
            name: exact(name),
            line: line_of(name, blocks),
            ended: ended.to_string(),
            why: exact(&why),
        })
    };
    let mut lines = value.items().iter().map(line).collect::<Option<Vec<TestLine>>>()?;
    lines.sort_by(|a, b| a.line.cmp(&b.line).then_with(|| a.name.cmp(&b.name)));
    Some(lines)
}

/// Returns the line on which a test is defined.
fn line_of(name: &str, blocks: &[&Block]) -> Option<u32> {
    let defines = |line: &str| {
        line.trim_start().strip_prefix("(ert-deftest").and_then(|rest| rest.split_whitespace().next()) == Some(name)
    };
    blocks.iter().find_map(|block| {
        let at = block.code.lines().position(defines)?;
        Some(block.line.saturating_add(u32::try_from(at).ok()?))
    })
}
