//! What skills cost: 200 without Lisp are loaded, 50 with Lisp are tried out in one spare worker, and what a call takes
//! through the host.

use crate::report::row;
use async_trait::async_trait;
use passepartout::domain::gate::facts::WallsFact;
use passepartout::domain::label::Privacy;
use passepartout::domain::sexp::reader::Sexp;
use passepartout::domain::skill::lisp::Role;
use passepartout::edge::sandbox::Launcher;
use passepartout::edge::skill_host::{CALL, LispHost, Tried, cases};
use passepartout::edge::skills::{Ground, Loaded, Source, Whose};
use passepartout::edge::survey::Confinement;
use passepartout::edge::worker::{Told, WorkerLimits, Workers};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

/// Loads a folder of the user's own.
fn load(folder: &std::path::Path) -> Loaded {
    let ground = Ground { confirmed: &|_| false, once: &|_| false, foreign: &|_| None, known: &|_| None };
    passepartout::edge::skills::load(&[Source { folder: folder.to_path_buf(), whose: Whose::Own }], &ground)
}

const PLAIN: usize = 200;
const LISP: usize = 50;
const CALLS: usize = 500;

struct Confined;

#[async_trait]
impl Confinement for Confined {
    async fn walls(&self) -> WallsFact {
        WallsFact::All
    }
}

/// Prints the rows.
pub fn print() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..PLAIN {
        std::fs::write(folder.path().join(format!("plain-{n:03}.org")), plain(n)).unwrap();
    }
    let begin = Instant::now();
    let loaded = load(folder.path());
    let took = begin.elapsed().as_secs_f64();
    let ours = loaded.skills.iter().filter(|skill| skill.name.starts_with("plain-")).count();
    assert_eq!(ours, PLAIN, "{:?}", loaded.complaints());
    row(&format!("{PLAIN} skills without Lisp, 20 examples each"), "3 s", &format!("{took:.3} s"));
    if cfg!(target_os = "linux") {
        lisp();
    }
}

fn lisp() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..LISP {
        std::fs::write(folder.path().join(format!("lisp-{n:03}.org")), with_lisp(n)).unwrap();
    }
    let loaded = load(folder.path());
    let launcher = Launcher::at(Path::new(env!("CARGO_BIN_EXE_passepartout-run"))).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let _entered = runtime.enter();
    let workers = Arc::new(Workers::new(launcher, WorkerLimits::USUAL));
    let host = LispHost::new(workers, Arc::new(Confined), loaded.with_lisp(), CALL);
    let begin = Instant::now();
    let mut tried = 0;
    for skill in loaded.skills.iter().filter(|skill| skill.lisp.is_run()) {
        match runtime.block_on(host.try_out(skill)) {
            Tried::Well => tried += 1,
            Tried::Badly(why) => panic!("{}: {why}", skill.name),
            Tried::Not => break,
        }
    }
    let name = format!("{LISP} skills with Lisp tried in one spare worker");
    if tried < LISP {
        return row(&name, "20 s", "not possible on this machine");
    }
    row(&name, "20 s", &format!("{:.2} s", begin.elapsed().as_secs_f64()));
    let (case, told) = (Sexp::list([]), Told::own(Privacy::Open));
    let mut times: Vec<f64> = (0..=CALLS)
        .filter_map(|_| {
            let from = Instant::now();
            let asked = host.ask("lisp-000", Role::Trigger, (&case, &told), cases::yes);
            runtime.block_on(asked).ok().map(|_| from.elapsed().as_secs_f64() * 1e6)
        })
        .skip(1)
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or(f64::NAN);
    let said = format!("p50 {:.0} µs, p99 {:.0}; a line through “cat” p50 {:.0}", at(50), at(99), line_through_cat());
    row("a call of a skill's Lisp through the host", "p50 100 µs", &said);
}

/// The yardstick of a call: how many µs a line takes to another process and back, when nothing is done with it.
fn line_through_cat() -> f64 {
    let mut cat = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut there, mut back) = (cat.stdin.take().unwrap(), BufReader::new(cat.stdout.take().unwrap()));
    let mut line = String::new();
    let mut times: Vec<f64> = (0..CALLS)
        .map(|_| {
            let from = Instant::now();
            there.write_all(b"(:role trigger :case nil)\n").unwrap();
            line.clear();
            back.read_line(&mut line).unwrap();
            from.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    drop(there);
    cat.wait().unwrap();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn plain(n: usize) -> String {
    let rules: String = (0..10).map(|m| format!("| shell | command: tool-{n}-{m} * | ask | It is seen. |\n")).collect();
    let examples: String =
        (0..10).map(|m| format!("| shell | tool-{n}-{m} now | ask |\n| shell | other-{n}-{m} now | no |\n")).collect();
    format!(
        "#+TITLE: Plain {n}\n#+TRIGGER: words:\"plain {n}\"\n* Prompt\nDo it plainly.\n* Mandates\nBe plain.\n* Rules\n\
         | tool | pattern | verdict | reason |\n|-\n{rules}* Examples\n| tool | example | match |\n|-\n{examples}"
    )
}

fn with_lisp(n: usize) -> String {
    let block = |name: &str, code: &str| format!("#+NAME: {name}\n#+begin_src emacs-lisp\n{code}\n#+end_src\n");
    let gate = format!(
        "(lambda (case)\n  (if (string-match-p \"tool-{n}\" (or (plist-get (plist-get case :arguments) :command) \"\"))\n      \
         '(ask \"It is seen.\")\n    'pass))"
    );
    let examples: String =
        (0..10).map(|m| format!("| shell | tool-{n} {m} | ask |\n| shell | other-{n} {m} | no |\n")).collect();
    format!(
        "#+TITLE: Lisp {n}\n* Code\n{}{}* Gate examples\n| tool | example | match |\n|-\n{examples}",
        block("gate", &gate),
        block("trigger", "(lambda (_) t)"),
    )
}
