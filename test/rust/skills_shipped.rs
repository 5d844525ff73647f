//! The skills that ship, through whole turns: what their tools answer, to whom, and what their commands say without a model.

use crate::skill_host::{possible, workers};
use crate::support::engine::Home;
use crate::tools::World;
use passepartout::domain::label::Privacy;
use serde_json::json;
use std::fs::{File, FileTimes};
use std::time::{Duration, SystemTime};

const NOTES: &str = "* TODO Boat :sea:\n:PROPERTIES:\n:ID: boat\n:END:\nSee [[id:mast]].\n* DONE Mast\n:PROPERTIES:\n:ID: mast\n:END:\n\
                     * Lighthouse\n:PROPERTIES:\n:ID: lighthouse\n:END:\nIt stands alone. [2026-03-01 Sun]\n* Plain\n";
const HEALTH: &str = "#+TODO: INFECTED | CURED\n* INFECTED Doctor :private:body:\n:PROPERTIES:\n:ID: doctor\n:END:\nSee [[id:lighthouse]], and much more of it here.\n";

/// Sets when a file of the memex was changed, in days before the tests' clock.
fn aged(home: &Home, name: &str, days: u64) {
    let began = jiff::civil::date(2026, 3, 2).at(9, 0, 0, 0).to_zoned(jiff::tz::TimeZone::system()).expect("a time");
    let at = SystemTime::from(began.timestamp()) - Duration::from_secs(days * 86_400);
    let file = File::options().write(true).open(home.file(name)).expect("it is there");
    file.set_times(FileTimes::new().set_modified(at)).expect("it is ours");
}

async fn world(local: bool) -> World {
    let home = Home::new(&[("notes.org", NOTES), ("old.org", "* Ancient\n"), ("health.org", HEALTH)]);
    for (name, days) in [("notes.org", 1), ("old.org", 400), ("health.org", 2)] {
        aged(&home, name, days);
    }
    World::with(home, local, &[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_reported_as_far_as_it_may_be_seen() {
    for local in [true, false] {
        let world = world(local).await;
        let report = |part: &'static str| world.call("memory-report", json!({"part": part}));
        let counts = report("counts").await;
        let expected = if local { "3 files, 6 headings, " } else { "3 files, 5 headings, " };
        assert!(counts.starts_with(expected), "{counts}");
        assert!(counts.contains("To do: TODO 1.\nDone: DONE 1.\nBy tags of their own: sea 1."), "{counts}");
        assert_eq!(counts.contains("private notes are left out"), !local, "{counts}");
        // A private file may make its own keywords, and a tag is a word of its note.
        assert!(counts.contains("To do: TODO ") && !counts.contains("INFECTED"), "{counts}");
        assert!(!counts.contains("body"), "a tag of a private note is a word of it: {counts}");
        let orphans = report("orphans").await;
        // What only a private note links to stands alone for who may not know of that.
        assert_eq!(orphans.contains("Lighthouse (id: lighthouse)"), !local, "{orphans}");
        assert!(!orphans.contains("(id: boat)") && !orphans.contains("(id: mast)"), "{orphans}");
        let oldest = report("oldest").await;
        let first = oldest.lines().nth(1).expect("a file");
        assert!(first.contains("old.org") && first.ends_with("last changed on 2025-01-26"), "{oldest}");
        let largest = report("largest").await;
        let first = largest.lines().nth(1).expect("a heading");
        assert_eq!(first.contains("Doctor"), local, "{largest}");
        assert_eq!(largest.contains("Doctor"), local, "{largest}");
        let changed = world.call("memory-report", json!({"part": "changed", "since": "last friday"})).await;
        let lines: Vec<&str> = changed.lines().collect();
        assert!(lines[0].starts_with("2 files changed since 2026-02-27, "), "{changed}");
        assert!(lines[1].contains("notes.org") && lines[1].contains("changed on 2026-03-01 09:00"), "{changed}");
        assert_eq!(lines[2], "- Lighthouse (id: lighthouse): dated 2026-03-01", "{changed}");
        assert!(!changed.contains("old.org"), "{changed}");
        let told = world.call("memory-report", json!({"part": "changed", "since": "the flood"})).await;
        assert!(told.contains("“the flood” is no day that is over; write 2026-11-20"), "{told}");
        let told = world.call("memory-report", json!({"part": "changed"})).await;
        assert!(told.contains("since when?"), "{told}");
        assert!(world.engine.plans(false).is_empty(), "what only looks asks nobody");
        world.engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_reports_without_a_model_and_what_it_shows_marks_the_conversation() {
    let world = world(true).await;
    let session = &crate::support::engine::origin().session;
    let before = world.requests();
    let typed = async |line: &str| world.home.ask(&world.engine, line).await;
    let (_, said) = typed("/report").await;
    assert!(said.starts_with("3 files, 6 headings, "), "{said}");
    let (_, said) = typed("/report changed since last friday").await;
    assert!(said.contains("notes.org"), "{said}");
    let (_, said) = typed("/report changed").await;
    assert!(said.starts_with("Nothing was looked up: write /report"), "{said}");
    assert_eq!(world.engine.known_privacy(session), Privacy::Open, "nothing private was shown");
    let (_, said) = typed("/report largest").await;
    assert!(said.contains("Doctor"), "{said}");
    assert_eq!(world.engine.known_privacy(session), Privacy::Private);
    assert_eq!(world.requests(), before, "no model was asked");
    world.engine.close().await;
}

const MOVE: &str = "* TODO Move\n:PROPERTIES:\n:ID: move\n:END:\n** TODO Pack\n:PROPERTIES:\n:ID: pack\n:END:\n\
                    ** TODO Scan :private:\n:PROPERTIES:\n:ID: scan\n:END:\n* TODO Rest\n:PROPERTIES:\n:ID: rest\n:END:\n";

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_done_unasked_while_something_below_it_is_open() {
    let allowed = ["org-set-todo", "org-refactor", "replace-in-file", "write-file", "org-set-tags"];
    let home = || Home::new(&[("move.org", MOVE)]);
    let world = World::with(home(), true, &allowed).await;
    let file = world.home.file("move.org");
    let done = |id: &str| json!({"id": id, "state": "DONE"});
    let asks = [
        ("org-set-todo", done("move")),
        ("org-refactor", done("move")),
        ("replace-in-file", json!({"path": file, "old": "* TODO Move", "new": "* DONE Move"})),
        ("write-file", json!({"path": file, "content": MOVE.replacen("TODO Move", "DONE Move", 1)})),
    ];
    for (tool, args) in asks {
        assert_eq!(world.call(tool, args).await, "parked", "{tool}");
        let plan = world.plan();
        let why = "It would be done while something below it is open. “Move”: “Pack”, “Scan”.";
        assert!(
            plan.asks().iter().any(|(gate, said)| gate == "skill task-integrity" && said == why),
            "{:?}",
            plan.asks()
        );
        world.home.deny(&world.engine, &plan, "no").await.expect("it counts");
    }
    assert_eq!(world.home.read_file("move.org"), MOVE);
    // What closes all of it at once asks nobody, and neither does what has nothing open below.
    assert!(world.call("org-set-todo", done("rest")).await.starts_with("Done."));
    let all = world.home.read_file("move.org").replace("TODO", "DONE");
    assert!(world.call("write-file", json!({"path": file, "content": all})).await.starts_with("Done."));
    assert!(world.engine.plans(false).is_empty());
    world.engine.close().await;
    // What was closed by an earlier step of the same answer is closed.
    let world = World::with(home(), true, &allowed).await;
    let steps = ["pack", "scan", "move"].map(|id| ("org-set-todo", done(id)));
    let told = world.calls(&steps).await;
    assert!(told.iter().all(|told| told.starts_with("Done.")), "{told:?}");
    assert!(!world.home.read_file("move.org").replace("TODO Rest", "").contains("TODO"));
    world.engine.close().await;
    // A plan that waits is judged by what holds when it is carried out.
    let world = World::with(home(), true, &allowed).await;
    assert_eq!(world.call("org-set-todo", done("move")).await, "parked");
    let (plan, text) = (world.plan(), world.home.read_file("move.org"));
    std::fs::write(world.home.file("move.org"), text.replace("** TODO", "** DONE")).expect("it is written");
    world.home.read(&world.engine).await;
    assert!(world.home.approve(&world.engine, &plan).await.is_ok());
    assert!(!world.home.read_file("move.org").contains("* DONE Move"), "it was another edit than was shown");
    world.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_what_is_open_the_private_is_not_named_to_who_may_not_see_it() {
    let text = "#+TITLE: Strict\n* Rules\n| tool | pattern | verdict | reason |\n|-\n\
                | * | open-children: * | deny | First what is below. |\n\
                ** Examples\n| tool | example | match |\n|-\n| org-set-todo | open-children: “A”: “B” | deny |\n";
    for local in [true, false] {
        let home = Home::new(&[("move.org", MOVE)]);
        let folder = home.folder.path().join("config/passepartout/skills");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("strict.org"), text).expect("it is written");
        let world = World::with(home, local, &["org-set-todo"]).await;
        let told = world.call("org-set-todo", json!({"id": "move", "state": "DONE"})).await;
        assert!(told.contains("First what is below. “Move”: “Pack”"), "{told}");
        assert_eq!(told.contains("Scan"), local, "{told}");
        // What was named marks the conversation, so that nobody elsewhere is told next.
        let label = world.engine.known_privacy(&crate::support::engine::origin().session);
        assert_eq!(label, if local { Privacy::Private } else { Privacy::Open });
        assert_eq!(world.home.read_file("move.org"), MOVE);
        world.engine.close().await;
    }
}

const DAY: &str = "* Talked about boats\n:PROPERTIES:\n:ID: talk\n:END:\nA boat that is painted in May lasts for a summer longer.\n\
                   * No id [here]\nThe harbour is closed to small boats in winter.\n\
                   * Doctor :private:\n:PROPERTIES:\n:ID: doctor\n:END:\nThe doctor said that all is well with me now.\n\
                   * Short\nYes.\n";

async fn archive() -> World {
    let tree = "* 2026\n** 2026-02-27 Friday\n*** Seen\n:PROPERTIES:\n:ID: seen\n:END:\nA seal sat on the jetty all morning.\n\
                ** 2025-02-27 Thursday\n*** Long ago\n:PROPERTIES:\n:ID: long\n:END:\nThis was noted long before that month.\n";
    World::new(
        &[("2026-03-01.org", DAY), ("journal.org", tree), ("other.org", "* Other\nNo daily note, but long enough.\n")],
        true,
        &[],
    )
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_is_distilled_once_by_a_plan_and_of_nothing_private() {
    let world = archive().await;
    let listed = world.call("notes-undistilled", json!({})).await;
    let lines: Vec<&str> = listed.lines().collect();
    assert!(
        lines[0].starts_with("3 headings of daily notes since 2026-01-31, of which no note was distilled."),
        "{listed}"
    );
    assert_eq!(lines[1], "- Talked about boats (id: talk): of 2026-03-01");
    assert!(lines[2].starts_with("- No id [here] (id: ") && lines[3] == "- Seen (id: seen): of 2026-02-27", "{listed}");
    assert_eq!(lines.len(), 4, "{listed}");
    let note = |id: &str| json!({"id": id, "title": "Paint in May", "body": "It lasts longer.", "tags": ["boat"]});
    assert_eq!(world.call("note-distil", note("talk")).await, "parked");
    let plan = world.plan();
    assert_eq!(plan.title, "Distil “Paint in May” from “Talked about boats”");
    let shown = plan.diff.clone();
    world.home.clock.advance(1);
    world.home.approve(&world.engine, &plan).await.expect("it counts");
    let notes = world.home.read_file("notes.org");
    assert!(
        shown.lines().filter_map(|line| line.strip_prefix('+')).skip(1).all(|line| notes.contains(line)),
        "{shown}"
    );
    for part in [
        "* Paint in May",
        ":boat:",
        ":PP_SOURCE: talk\n",
        "\nIt lasts longer.\n\nSource: [[id:talk][Talked about boats]]\n",
    ] {
        assert!(notes.replace(":PP_SOURCE:  ", ":PP_SOURCE: ").contains(part), "{part} {notes}");
    }
    let ids: Vec<&str> = notes.lines().filter_map(|line| line.trim().strip_prefix(":ID:")).map(str::trim).collect();
    assert!(matches!(ids.as_slice(), [id] if id.len() == 36), "{notes}");
    // Never twice: neither as memory knows it, nor as the file stands.
    let told = world.call("note-distil", note("talk")).await;
    assert!(told.contains(&format!("a note was distilled from it before: {}", ids[0])), "{told}");
    let told = world.call("note-distil", note("doctor")).await;
    assert!(told.contains("the heading is private, and of what is private no note is distilled"), "{told}");
    let told = world.call("note-distil", json!({"id": "seen", "title": "x", "body": "* y"})).await;
    assert!(told.contains("Org would read it differently"), "{told}");
    for (args, why) in [
        (json!({"id": "none", "title": "x", "body": "y"}), "there is no note with the id none"),
        (json!({"id": "seen", "title": "x", "body": " "}), "a note needs a text"),
        (json!({"id": "seen", "title": "x", "body": "y", "file": world.home.file("a.txt")}), "is no Org file"),
    ] {
        let told = world.call("note-distil", args).await;
        assert!(told.contains(why), "{told}");
    }
    assert!(world.engine.plans(false).is_empty(), "what cannot be done is no plan");
    let listed = world.call("notes-undistilled", json!({"since": "sunday"})).await;
    assert!(listed.starts_with("1 heading of daily notes since 2026-03-01") && !listed.contains("talk"), "{listed}");
    // A heading without an id is given one by the same plan: else it would be another one as soon as it is moved.
    let id = world.engine.view().card(&world.home.file("2026-03-01.org")).expect("a card").id(2).to_string();
    assert_eq!(world.call("note-distil", note(&id)).await, "parked");
    let plan = world.plan();
    assert!(plan.diff.contains("+Source: [[id:") && plan.diff.contains("][No id (here)]]"), "{}", plan.diff);
    world.home.approve(&world.engine, &plan).await.expect("it counts");
    let day = world.home.read_file("2026-03-01.org");
    assert!(day.contains("* No id [here]\n:PROPERTIES:\n:ID:       "), "{day}");
    std::fs::rename(world.home.file("2026-03-01.org"), world.home.file("2026-03-02.org")).expect("it is renamed");
    world.home.read(&world.engine).await;
    let listed = world.call("notes-undistilled", json!({})).await;
    assert!(listed.contains("(id: seen)") && !listed.contains("No id"), "{listed}");
    // A note in the day itself, and one that nobody would find again.
    let seen = |file: String| json!({"id": "seen", "title": "Seal", "body": "It sat there.", "file": file});
    let told = world.call("note-distil", seen(world.home.project("notes.org"))).await;
    assert!(told.contains("is not in the memex"), "{told}");
    let (_, said) = world.home.ask(&world.engine, "/focus seen").await;
    let listed = world.call("notes-undistilled", json!({})).await;
    assert!(!listed.contains("talk") && !listed.contains("No id"), "{said} {listed}");
    world.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_daily_note_is_and_what_says_something() {
    let long = "This was noted and is long enough.";
    let log = ":LOGBOOK:\n- State \"DONE\"       from \"TODO\"       [2026-02-28 Sat 10:00]\n:END:\n";
    let day = format!(
        "#+TITLE: A day\n{long}\n* 2026-02-28 Meeting with Ann\n{long}\n* 2026-02-28 Saturday\n** Below\n{long}\n\
         * Habit\n{log}* COMMENT Draft\n{long}\n* Old :ARCHIVE:\n** Older\n{long}\n"
    );
    let note = format!("* Of a moment\n{long}\n");
    let files = [("2026-02-28.org", day.as_str()), ("20260228T101500--x.org", &note), ("20260228101500-x.org", &note)];
    let world = World::new(&files, true, &[]).await;
    let listed = world.call("notes-undistilled", json!({})).await;
    let said: Vec<&str> = listed.lines().skip(1).map(|line| line.split(" (id: ").next().unwrap_or(line)).collect();
    let file = format!("- {}", world.home.file("2026-02-28.org"));
    assert_eq!(said, [file.as_str(), "- 2026-02-28 Meeting with Ann", "- Below"], "{listed}");
    world.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_for_a_secret_is_not_written_in_its_place() {
    let note = "* Router\n:PROPERTIES:\n:ID: router\n:END:\npassword = hunter2hunter2hunter2\nSee [[id:gone]].\n";
    let world = World::new(&[("net.org", note)], true, &["org-replace-body", "write-file", "replace-in-file"]).await;
    let read = world.call("memory-read", json!({"id": "router"})).await;
    assert!(read.contains("⟨hidden: ") && !read.contains("hunter2"), "{read}");
    let line = read.lines().find(|line| line.contains("⟨hidden: ")).expect("a line");
    let body = format!("{line}\nSee nothing.\n");
    let file = world.home.file("net.org");
    for (tool, args) in [
        ("org-replace-body", json!({"id": "router", "body": body})),
        ("write-file", json!({"path": file, "content": format!("* Router\n{body}")})),
        ("replace-in-file", json!({"path": file, "old": "See [[id:gone]].", "new": "[MASKED]"})),
    ] {
        let told = world.call(tool, args).await;
        assert!(told.contains("where a secret was not shown"), "{tool}: {told}");
        assert_eq!(world.home.read_file("net.org"), note);
    }
    let told = world.call("replace-in-file", json!({"path": file, "old": "[[id:gone]]", "new": "nothing"})).await;
    assert!(told.starts_with("Done."), "{told}");
    assert_eq!(world.home.read_file("net.org"), note.replace("[[id:gone]]", "nothing"));
    world.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_garden_is_reported_and_left_as_it_is() {
    let long = "The boat lies in the harbour since May and wants new paint before it goes out again with the children. \
                Whoever has time on a dry weekend scrapes the hull, fills what the winter left in the planks, and asks \
                Nilsson for the slip, which he lends for a cake and a promise to sweep it when all is done and dry.";
    let notes = format!(
        "* A\n:PROPERTIES:\n:ID: a\n:END:\n[[id:gone]] [[id:b]] [[*Nowhere]] [[file:none.org]] [[file:/etc/none]]\n{long}\n\
         * B\n:PROPERTIES:\n:ID: b\n:END:\n{long}\n* C\n:PROPERTIES:\n:ID: c\n:END:\nAlone.\n\
         * D :private:\n:PROPERTIES:\n:ID: d\n:END:\n[[id:lost]]\n{long}\n* E\n[[id:d]] [[file:there.org]]\n"
    );
    for local in [true, false] {
        let world = World::new(&[("notes.org", &notes), ("there.org", "")], local, &[]).await;
        let before = world.home.read_file("notes.org");
        let told = world.call("memory-garden", json!({})).await;
        for line in [
            "- A (id: a): memory has no heading with the id gone, which may be archived".to_string(),
            format!("- A (id: a): there is no file {}", world.home.file("none.org")),
            "- A (id: a): its file has no heading “*Nowhere”".to_string(),
            "1 heading with an id: nothing links to it, and it links to no other note.".to_string(),
            "- C (id: c)".to_string(),
            "Note: 1 link to files outside of the memex and the project, which were not looked for.".to_string(),
        ] {
            assert_eq!(told.lines().filter(|said| *said == line).count(), 1, "{line}\n{told}");
        }
        assert!(told.starts_with(if local { "4 links lead nowhere.\n" } else { "3 links lead nowhere.\n" }), "{told}");
        assert_eq!(told.contains("- D (id: d): memory has no heading with the id lost"), local, "{told}");
        assert!(told.contains("- A (id: a) and B (id: b): "), "{told}");
        assert_eq!(told.contains("3 pairs of headings"), local, "{told}");
        assert_eq!(told.contains("private notes are left out"), !local, "{told}");
        assert_eq!(world.home.read_file("notes.org"), before);
        let (asked, said) = (world.requests(), world.home.ask(&world.engine, "/garden").await.1);
        assert!(said.contains("its file has no heading “*Nowhere”") && world.requests() == asked, "{said}");
        world.engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inbox_is_sorted_by_what_is_near_and_nothing_is_moved() {
    let inbox = "* Varnish for the jetty\nAsk Nilsson whether the jetty wants varnish before the winter comes again.\n* Zeppelin\n";
    let harbour = "* Harbour\n:PROPERTIES:\n:ID: harbour\n:END:\n** Jetty :water:\nNilsson repaired the jetty, and wants varnish.\n\
                   ** Crane :water:\nThe crane by the jetty is varnished by Nilsson.\n* Kitchen\n** Tiles\nGrey tiles.\n";
    let health = "* Doctor :private:\n:PROPERTIES:\n:ID: doctor\n:END:\n** Splinter\nA splinter of the jetty, with varnish; Nilsson drove.\n";
    // Captured entries stand below a heading of their own, as in Org's template, and the inbox is not the archived one.
    let inbox = format!("* Tasks\n{}", inbox.replace("* ", "** "));
    let filler: String = (0..40).map(|n| format!("* Day {n}\nNothing of note happened on day {n}.\n")).collect();
    for local in [true, false] {
        let files = [
            ("inbox.org", inbox.as_str()),
            ("harbour.org", harbour),
            ("health.org", health),
            ("days.org", filler.as_str()),
        ];
        let world = World::new(&files, local, &[]).await;
        let told = world.call("inbox-propose", json!({})).await;
        assert!(told.starts_with("2 headings in the inbox."), "{told}");
        assert!(told.contains("\n  could go to: Harbour (id: harbour)\n  there stands “"), "{told}");
        assert!(told.contains("could have the tags: water"), "{told}");
        assert!(told.ends_with("nothing is near to it; decide where it goes") || !local, "{told}");
        assert!(local || !told.contains("Splinter"), "{told}");
        let told = world.call("links-suggest", json!({})).await;
        assert!(told.contains("Varnish for the jetty") && told.contains(": both have "), "{told}");
        assert_eq!(told.contains("Splinter"), local, "{told}");
        let near = |line: &str| line.contains("Jetty (id: ") && line.contains("Crane (id: ");
        assert!(!told.lines().any(near), "those of one file are not distant: {told}");
        assert_eq!(world.home.read_file("inbox.org"), inbox);
        let (asked, said) = (world.requests(), world.home.ask(&world.engine, "/inbox").await.1);
        assert!(said.contains("could go to: Harbour") && world.requests() == asked, "{said}");
        let told = world.call("inbox-propose", json!({"file": "/etc/none.org"})).await;
        assert!(!told.contains("in the inbox"), "{told}");
        world.engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_that_are_linked_are_not_suggested_again() {
    let one = "* Jetty\n:PROPERTIES:\n:ID: jetty\n:END:\nNilsson varnishes the jetty, which takes him until the evening of Friday.\n";
    let two = "* Evening\n:PROPERTIES:\n:ID: evening\n:END:\nFriday evening with Nilsson on the jetty, which smelled of fresh varnish.\n";
    let filler: String = (0..40).map(|n| format!("* Day {n}\nNothing of note happened on day {n}.\n")).collect();
    for linked in [false, true] {
        let two = if linked { format!("{two}See [[id:jetty]].\n") } else { two.to_string() };
        let world = World::new(&[("one.org", one), ("two.org", &two), ("days.org", &filler)], true, &[]).await;
        let told = world.call("links-suggest", json!({"id": "jetty"})).await;
        assert_eq!(told.contains("Jetty (id: jetty) and Evening (id: evening): both have "), !linked, "{told}");
        assert!(told.starts_with(if linked { "0 pairs" } else { "1 pair of" }), "{told}");
        let told = world.call("links-suggest", json!({"id": "none"})).await;
        assert!(told.contains("there is no heading with the id none"), "{told}");
        world.engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_manual_answers_with_its_sections() {
    let world = World::new(&[], true, &[]).await;
    let told = world.call("manual-search", json!({"query": "cassette record", "limit": 1})).await;
    assert!(told.starts_with("Several models at once") || told.contains("Cassettes\n"), "{told}");
    assert!(told.contains("M-x passepartout-cassette-record"), "{told}");
    let (asked, said) = (world.requests(), world.home.ask(&world.engine, "/help flight plan deny").await.1);
    assert!(said.contains("C-c C-k") && world.requests() == asked, "{said}");
    let (_, said) = world.home.ask(&world.engine, "/help zeppelinfahrt").await;
    assert_eq!(said, "The manual has no section with these words.");
    let (_, said) = world.home.ask(&world.engine, "/help").await;
    assert!(said.contains("/plans lists the plans that wait"), "{said}");
    world.engine.close().await;
}

/// What ships is tested as what a user writes: its examples hold, and so do its own tests.
#[tokio::test(flavor = "multi_thread")]
async fn every_shipped_skill_passes_its_own_tests() {
    if !possible(&workers()).await {
        return;
    }
    let home = Home::new(&[("home.org", "* Kitchen\n")]);
    let engine = home
        .engine_with(|config| config.shipped_skills = Some(concat!(env!("CARGO_MANIFEST_DIR"), "/skills").into()))
        .await;
    home.read(&engine).await;
    let known = engine.known_skills();
    assert!(known.len() >= 20, "{}", known.len());
    for one in known {
        let (name, skill) = (one.report.name.as_str(), one.skill.expect("it is loaded"));
        let tested = engine.test_skill(name).await.unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(tested.holds() && tested.remarks.is_empty(), "{name}: {tested:?}");
        // Lisp that is run has tests.
        assert_eq!(tested.tests.is_empty(), !skill.lisp.is_run(), "{name}: {tested:?}");
    }
    engine.close().await;
}
