//! What `memory compact` let go of is called so, and never damage; what is known without it is still told.

use crate::cli::{at_terminal, run};
use crate::support::engine::Home;

/// Marks headings done, each by an approved plan, and returns the operations' numbers in the log, newest first.
fn three_acts() -> Home {
    let home = Home::new(&[("a.org", "* TODO Order tiles\n* TODO Paint the fence\n* TODO Sow peas\n")]);
    for title in ["Order tiles", "Paint the fence", "Sow peas"] {
        let asked = run(&home, &["ask", &format!("mark “{title}” as done"), "--json"]);
        assert_eq!(asked.status, 3, "{}{}", asked.out, asked.err);
        let id = asked.json()["plans"][0]["id"].as_str().expect("a plan").to_string();
        let done = at_terminal(&home, &format!("plans approve {id}"), &format!("{id}\n"));
        assert_eq!(done.status, 0, "{}{}", done.out, done.err);
    }
    home
}

fn memory(home: &Home, words: &str) -> crate::cli::Ran {
    run(home, &["memory"].into_iter().chain(words.split(' ')).collect::<Vec<_>>())
}

#[test]
fn what_compact_let_go_is_called_so_and_never_damage() {
    let home = three_acts();
    assert_eq!(memory(&home, "compact --keep-operations 1").status, 0);
    let file = home.file("a.org");
    for (words, status, said) in [
        ("show 2", 0, "What it changed cannot be shown any more: the contents of operation 2 were let go by"),
        ("show 3", 0, "What it changed cannot be shown any more: the contents of operation 2 were let go by"),
        ("show 4", 0, "+* DONE Sow peas"),
        ("diff 1 4", 1, "memory can be shown and gone back to from operation 3 on"),
        ("diff 3 4", 0, "+* DONE Sow peas"),
        ("rewind 2 --memory --dry-run", 1, "the contents of operation 2 were let go by"),
        ("rewind 3 --memory --dry-run", 0, "Nothing was done."),
        ("verify", 0, "were let go by"),
    ] {
        let ran = memory(&home, words);
        let all = format!("{}{}", ran.out, ran.err);
        assert!(ran.status == status && all.contains(said), "{words}: {} {all}", ran.status);
        assert!(!all.contains("damaged") && !all.contains("missing"), "{words}: {all}");
    }
    let shown = memory(&home, "show 2");
    for known in ["by: agent (org-set-todo)", "request: mark “Order tiles” as done", "approved: you"] {
        assert!(shown.out.contains(known), "{known}: {}", shown.out);
    }
    assert!(shown.out.contains("can be undone by itself: no: what stood there before was let go"), "{}", shown.out);
    let json = memory(&home, "show 2 --json").json();
    assert!(json["changed"].is_null() && json["let_go"].as_str().is_some_and(|why| why.contains("operation 3 on")));
    // Who wrote what is as it was before can be one of those that touched its file, and each is named.
    let blamed = memory(&home, &format!("blame {file}:1"));
    for known in [
        "Order tiles",
        "it stood so already (operation 3); the contents of operation 2 were let go by",
        "perhaps written: agent (org-set-todo) (operation 2)",
        "request: mark “Order tiles” as done",
        "perhaps written: read from disk (operation 1)",
    ] {
        assert!(blamed.status == 0 && blamed.out.contains(known), "{known}: {}{}", blamed.out, blamed.err);
    }
    let blamed = memory(&home, &format!("blame {file}:3"));
    assert!(blamed.out.contains("changed: agent (org-set-todo) (operation 4)"), "{}", blamed.out);
}

#[test]
fn what_is_missing_and_was_not_let_go_is_damage() {
    let home = three_acts();
    assert_eq!(memory(&home, "compact --keep-operations 3").status, 0);
    let database = rusqlite::Connection::open(home.store().join("memory.sqlite")).expect("it is there");
    database
        .execute("DELETE FROM objects WHERE hash = (SELECT root FROM operations WHERE id = 3)", [])
        .expect("it goes");
    drop(database);
    let ran = memory(&home, "diff 3 4");
    assert!(ran.status == 1 && ran.err.contains("the store is damaged"), "{}{}", ran.out, ran.err);
    let ran = memory(&home, "verify");
    assert!(ran.status == 1 && ran.out.contains(" is lost") && !ran.out.contains("is missing is"), "{}", ran.out);
}
