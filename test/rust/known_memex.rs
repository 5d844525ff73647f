//! A command that is told of no memex takes the one that its store was read from last.

use crate::cli::{Ran, answering, program, run, terminal_of};
use crate::support::engine::Home;
use std::process::Command;

const NOTES: &str = "* TODO Order tiles\n* TODO Sow peas\n";

/// Returns the program where nothing names a memex.
fn unnamed(home: &Home) -> Command {
    let mut command = program(home);
    command.env_remove("MEMEX_DIR");
    command
}

fn bare(home: &Home, words: &[&str]) -> Ran {
    unnamed(home).args(words).output().expect("it runs").into()
}

fn typed(home: &Home, words: &str, typed: &str) -> Ran {
    let ran = answering(terminal_of(&unnamed(home), words), typed);
    assert_eq!(ran.status, 0, "{words}: {}{}", ran.out, ran.err);
    ran
}

fn log(home: &Home) -> Vec<String> {
    let log = bare(home, &["memory", "log", "--json"]).json();
    let all = log["operations"].as_array().expect("a list").iter();
    all.map(|entry| entry["by"].as_str().unwrap_or_default().to_string()).collect()
}

fn done(home: &Home) -> bool {
    let found = bare(home, &["query", "todo:DONE"]);
    assert_eq!(found.status, 0, "{}", found.err);
    found.out.contains("Order tiles")
}

#[test]
fn memory_follows_what_is_approved_undone_and_redone_without_naming_a_memex() {
    let home = Home::new(&[("home.org", NOTES)]);
    let asked = run(&home, &["ask", "mark \"Order tiles\" as done", "--json"]);
    assert_eq!(asked.status, 3, "{}", asked.err);
    let id = asked.json()["plans"][0]["id"].as_str().expect("a plan").to_string();
    typed(&home, &format!("plans approve {id}"), &format!("{id}\n"));
    assert!(home.read_file("home.org").contains("* DONE Order tiles") && done(&home));
    for (word, becomes) in [("undo", false), ("redo", true), ("undo", false)] {
        let shown = typed(&home, &format!("memory {word}"), &format!("{word}\n"));
        assert!(!shown.out.contains("outside memex"), "{}", shown.out);
        assert_eq!(home.read_file("home.org").contains("* DONE Order tiles"), becomes, "{word}: {}", shown.out);
        assert_eq!(done(&home), becomes, "{word}");
    }
    let by = ["undo by you", "redo by you", "undo by you", "agent (org-set-todo)", "read from disk"];
    assert_eq!(log(&home), by);
}

#[test]
fn what_was_named_last_counts_and_what_is_only_read_names_nothing() {
    let home = Home::new(&[("home.org", NOTES)]);
    let other = home.project("more.org");
    std::fs::write(&other, "* TODO Feed the hens\n").expect("it is written");
    assert!(bare(&home, &["query", "todo:TODO"]).out.contains("Nothing fits"), "there is no store yet");
    assert_eq!(run(&home, &["ask", "what is open?"]).status, 0);
    let open = || bare(&home, &["query", "todo:TODO"]).out;
    assert!(open().contains("Sow peas"), "{}", open());
    assert!(bare(&home, &["query", "todo:TODO", "--memex", &other]).out.contains("Feed the hens"));
    assert!(bare(&home, &["doctor", "--memex", &other]).out.contains("Store"));
    assert!(!open().contains("hens"), "who only looked has not said where the notes are");
    assert_eq!(bare(&home, &["ask", "what is open?", "--memex", &other]).status, 0);
    assert!(open().contains("hens") && !open().contains("peas"), "{}", open());
    // What changed on disk since is read, too.
    std::fs::write(&other, "* TODO Feed the geese\n").expect("it is written");
    assert!(open().contains("geese"), "{}", open());
}

#[test]
fn what_is_private_in_the_memex_is_private_for_a_command_that_names_none() {
    let home = Home::new(&[("home.org", "* TODO Order tiles\n* TODO Sow peas :diary:\n")]);
    let private = |ran: Ran| {
        assert_eq!(ran.status, 0, "{}", ran.err);
        (ran.out.contains("Sow peas"), ran.out.contains("Order tiles"))
    };
    let asked = program(&home).args(["ask", "what is open?"]).env("PRIVACY_FILTER_TAGS", "private,diary").output();
    assert!(asked.expect("it runs").status.success());
    assert_eq!(private(bare(&home, &["query", "is:private"])), (true, false));
    // Who names the memex and knows nothing of the tags takes none away from those who name none.
    assert_eq!(run(&home, &["ask", "what is open?"]).status, 0);
    assert_eq!(private(bare(&home, &["query", "is:private"])), (true, false));
}
