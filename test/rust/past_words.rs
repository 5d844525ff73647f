//! What people read of memory's past at a terminal: names, times, and the way out where something cannot be.

use crate::cli::{Ran, at_terminal, program, run};
use crate::support::engine::Home;

const NOTES: &str = "* TODO Order tiles\n* TODO Sow peas\n";

/// Marks headings done, each by an approved plan.
fn marked(titles: &[&str]) -> Home {
    let home = Home::new(&[("home.org", NOTES)]);
    for title in titles {
        let asked = run(&home, &["ask", &format!("mark \"{title}\" as done"), "--json"]);
        let id = asked.json()["plans"][0]["id"].as_str().expect("a plan").to_string();
        let done = at_terminal(&home, &format!("plans approve {id}"), &format!("{id}\n"));
        assert_eq!(done.status, 0, "{}{}", done.out, done.err);
    }
    home
}

fn memory(home: &Home, words: &str) -> Ran {
    run(home, &["memory"].into_iter().chain(words.split(' ')).collect::<Vec<_>>())
}

/// Returns the name of the change that made an operation, from the log as people read it.
fn name_in_log(home: &Home, operation: u64) -> String {
    let log = memory(home, "log").out;
    let begin = format!("{operation} ");
    let line = log.lines().find(|line| line.trim_start().starts_with(&begin)).expect("it is listed");
    line.split_whitespace().nth(3).expect("a name").to_string()
}

#[test]
fn the_name_of_a_change_stands_in_the_log_and_counts_where_an_operation_is_named() {
    let home = marked(&["Order tiles"]);
    let name = name_in_log(&home, 2);
    assert!(name.len() == 11 && name.starts_with('A'), "{name}");
    let by_number = memory(&home, "show 2");
    assert_eq!((by_number.status, memory(&home, &format!("show {name}")).out), (0, by_number.out.clone()));
    assert_eq!(memory(&home, &format!("diff 1 {name}")).out, memory(&home, "diff 1 2").out);
    for machine in ["cause:", "origin:", "note:"] {
        assert!(!by_number.out.contains(machine), "{}", by_number.out);
    }
    for (words, status, said) in [
        ("show Anothing", 1, "there is no operation or change “Anothing”"),
        ("show 9", 1, "there is no operation 9; there are those from 1 to 2\n"),
        ("diff 1 9", 1, "there is no operation 9; there are those from 1 to 2\n"),
        ("rewind 9 --dry-run", 1, "there is no operation 9; there are those from 1 to 2\n"),
        ("log --limit 0", 2, "a number from 1 on is wanted"),
    ] {
        let ran = memory(&home, words);
        assert!(ran.status == status && ran.err.contains(said), "{words}: {} {}", ran.status, ran.err);
    }
}

#[test]
fn times_are_those_of_the_users_clock_and_in_json_those_of_all() {
    let home = marked(&["Order tiles"]);
    let there = |words: &[&str]| -> Ran {
        program(&home).env("TZ", "XYZ-5:30").args(["memory"]).args(words).output().expect("it runs").into()
    };
    let json = there(&["log", "--json"]).json();
    let at: jiff::Timestamp = json["operations"][0]["at"].as_str().expect("a time").parse().expect("it is one");
    let local = (at + jiff::SignedDuration::from_mins(330)).strftime("%Y-%m-%d %H:%M:%S").to_string();
    let blame = format!("{}:1", home.file("home.org"));
    for words in [vec!["log"], vec!["show", "2"], vec!["blame", &blame]] {
        let ran = there(&words);
        assert!(ran.out.contains(&local) && !ran.out.contains("UTC"), "{local}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn an_undo_that_cannot_be_names_the_change_before_it_that_can() {
    let home = marked(&["Order tiles", "Sow peas"]);
    let file = home.file("home.org");
    std::fs::write(&file, home.read_file("home.org").replace("DONE Sow peas", "WAITING Sow beans")).expect("by hand");
    let name = name_in_log(&home, 2);
    let ran = memory(&home, "undo --dry-run");
    assert_eq!(ran.status, 1, "{}", ran.out);
    assert!(ran.err.contains("nothing can be taken back"), "{}", ran.err);
    let way_on =
        format!("Mark “Order tiles” DONE. In a chat: /undo {name}; at a terminal: passepartout memory undo {name}");
    assert!(ran.err.contains(&way_on), "{}", ran.err);
    let ran = memory(&home, &format!("undo {name} --dry-run"));
    assert!(ran.status == 0 && ran.out.contains("+* TODO Order tiles"), "{}{}", ran.out, ran.err);
}
