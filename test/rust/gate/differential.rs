//! What passes as shell text is run in a real bash, with a command of ours hidden in it: bash must not come to it.

use super::properties::plain_scope;
use crate::support::soak::cases;
use passepartout::domain::gate::shell;
use passepartout::edge::survey::read_shell;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRng, TestRunner};
use std::path::Path;
use std::process::{Command, Stdio};

/// Texts that are varied.
const SEEDS: &[&str] = &[
    "echo a \\\n b; ls",
    "echo \"a $(echo b) c\" # x\nls",
    "cat <<E\na $(echo b)\nE\n",
    "echo ${x:-a b} 'c d'",
    "echo $((1 + 2)) \"${x#a}\"",
    "for x in a b; do echo \"$x\"; done",
    "case x in a) echo b;; esac",
    "[[ a == b ]] && echo c",
    "echo $'a\\'b' c",
    "if true; then echo a; fi # c",
    "echo \"$(echo 'a b' \\\n c)\"",
    "ls <(echo a) | cat",
    "x=(a b); echo \"${x[@]}\"",
    "cat <<'E' | cat\n a b\nE\necho c",
    "cat <<< \"a b\" ",
    "echo \"${x:-'a'}\"",
    "[[ a =~ ^a$ ]]",
    "echo \\ a",
];

/// What they are varied with.
const PIECES: &[&str] = &[
    "echo ",
    "a",
    " ",
    "\n",
    "\\\n",
    "\\",
    "\\ ",
    "'",
    "\"",
    "$'",
    "$\"",
    "$(",
    ")",
    "(",
    "`",
    "${x",
    "${x:-",
    "${x#",
    "${x:+",
    "}",
    "{",
    "#",
    " # ",
    ";",
    "&",
    "|",
    "||",
    "&&",
    "<",
    "<(",
    "<<<",
    "<<E\n",
    "<<'E'\n",
    "<<-E\n",
    "\nE\n",
    "E",
    "$((",
    "))",
    "$[",
    "]",
    "[[ ",
    " ]]",
    "case x in ",
    "x) ",
    ";; esac",
    "if ",
    "then ",
    "fi",
    "zz",
    "=",
    "x=",
    "x=(",
    "@(",
    "!",
    "$$",
    "$#",
    "$",
    "~",
    "\t",
    "((",
    "for x in ",
    "do ",
    "; done",
    "f() ",
    "=~ ",
    "== ",
    "*",
    "[",
    "cat ",
    "true ",
    "test ",
    "\\'",
    "\\\"",
    "\\#",
    "$x",
    "''",
    "2>&1",
    "<&-",
    "-1",
    "+",
    "é",
];

/// Where the command is put that must not run.
const HIDDEN: &[&str] = &["zz", "$(zz)", "\nzz\n", ";zz;", "`zz`"];

fn varied() -> impl Strategy<Value = String> {
    let piece = || proptest::sample::select(PIECES);
    let glued = proptest::collection::vec(piece(), 3..14).prop_map(|pieces| format!("echo {}", pieces.concat()));
    let changes = proptest::collection::vec((any::<prop::sample::Index>(), piece()), 1..6);
    let changed = (proptest::sample::select(SEEDS), changes).prop_map(|(seed, changes)| {
        changes.into_iter().fold(seed.to_string(), |text, (at, piece)| put(&text, at, piece))
    });
    let text = prop_oneof![glued, changed];
    (text, any::<prop::sample::Index>(), proptest::sample::select(HIDDEN))
        .prop_map(|(text, at, hidden)| if text.contains("zz") { text } else { put(&text, at, hidden) })
}

fn put(text: &str, at: prop::sample::Index, piece: &str) -> String {
    let at = text.floor_char_boundary(at.index(text.len() + 1));
    format!("{}{piece}{}", &text[..at], &text[at..])
}

/// Whether bash runs `zz` in a text. It finds no other program, reads nothing, and is given five seconds of processor.
fn runs(text: &str, folder: &Path) -> bool {
    let mark = folder.join("mark");
    let _ = std::fs::remove_file(&mark);
    let mut bash = Command::new("/bin/sh");
    bash.args(["-c", "ulimit -t 5; exec bash -c \"$1\"", "sh", text]).env_clear().env("PATH", "/usr/bin:/bin");
    bash.env("BASH_ENV", folder.join("start")).current_dir(folder);
    bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let ran = bash.status();
    ran.is_ok() && mark.exists()
}

#[test]
fn bash_runs_nothing_of_what_passes_that_was_not_seen() {
    let world = tempfile::tempdir().expect("a folder");
    let folder = world.path();
    // No program but ours is found, and each text starts so.
    let start = format!("PATH=\nzz() {{ : > '{}'; }}\n", folder.join("mark").display());
    std::fs::write(folder.join("start"), start).expect("a file");
    assert!(runs("echo $(zz)", folder), "bash is there, and what it runs is seen");
    let scope = plain_scope();
    let config = Config { failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(config.rng_algorithm);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let (varied, mut passed) = (varied(), 0);
    for _ in 0..cases(6_000) {
        let text = varied.new_tree(&mut runner).expect("a text").current();
        let fact = read_shell(&text, &scope);
        if shell::examine(Some(&fact), &scope).is_empty() {
            passed += 1;
            assert!(!runs(&text, folder), "bash runs what was hidden in {text:?}");
        }
    }
    assert!(passed > 50, "only {passed} passed: nothing was tried");
}
