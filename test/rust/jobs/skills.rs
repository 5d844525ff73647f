//! Skills that ship, as headings that are jobs ask for them: what they report and propose, and that nothing is spent where
//! nothing changed. It needs an Emacs.

use super::{confirm, job, says, tick, write};
use crate::skill_host::{possible, workers};
use crate::support::engine::{Home, origin, provide, waiting};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use passepartout::edge::config::Config;
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::jobs::Ticked;
use std::sync::Arc;

/// Two notes of different files that have rare words in common.
const NEAR: [&str; 2] = [
    "* Jetty\n:PROPERTIES:\n:ID: jetty\n:END:\nNilsson varnishes the jetty, which takes until the evening of Friday.\n",
    "* Evening\n:PROPERTIES:\n:ID: evening\n:END:\nFriday evening with Nilsson on the jetty, which smelled of varnish.\n",
];
const NOTES: &str = "* Boat\n:PROPERTIES:\n:ID: boat\n:END:\nSee [[id:gone]] and [[id:mast]].\n\
                     * Mast\n:PROPERTIES:\n:ID: mast\n:END:\nSee [[id:boat]].\n\
                     * Doctor :private:\n:PROPERTIES:\n:ID: doctor\n:END:\nCANARYDOCTOR [[id:lost]]\n";

/// An engine with the skills that ship.
async fn shipped(home: &Home, server: &FakeServer) -> Arc<Engine> {
    let set = |config: &mut Config| {
        provide(config, &[("fake", server, true)], &["fake"]);
        config.shipped_skills = Some(concat!(env!("CARGO_MANIFEST_DIR"), "/skills").into());
    };
    let engine = home.engine_with(set).await;
    home.read(&engine).await;
    engine
}

fn asks_for(title: &str, task: &str, watch: &str) -> String {
    format!(
        "* {title}\nSCHEDULED: <2026-03-02 Mon 07:00 +1d>\n:PROPERTIES:\n:ID: own\n:PP_RUN: {task}\n:PP_WATCH: {watch}\n:END:\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_looks_leaves_a_report_where_something_changed_and_asks_no_model() {
    if !possible(&workers()).await {
        return;
    }
    for (skill, words) in [
        ("archivist", "1 link leads nowhere."),
        ("reflection", "Jetty (id: jetty) and Evening (id: evening): both have "),
    ] {
        let jobs = asks_for("Rounds", &format!("skill:{skill}"), "memex");
        let filler: String = (0..40).map(|n| format!("* Day {n}\nNothing of note happened on day {n}.\n")).collect();
        let files = [
            ("jobs.org", jobs.as_str()),
            ("notes.org", NOTES),
            ("one.org", NEAR[0]),
            ("two.org", NEAR[1]),
            ("days.org", filler.as_str()),
        ];
        let home = Home::new(&files);
        let server = FakeServer::start([]);
        let engine = shipped(&home, &server).await;
        let tested = engine.test_skill(skill).await.expect("it is there");
        assert!(tested.holds() && tested.tests.len() == 1, "{skill}: {:?}", tested.wrong);
        assert!(job(&engine).shown.contains(&format!("All Lisp of the skill {skill}")), "{}", job(&engine).shown);
        confirm(&home, &engine, "Rounds").await;
        assert_eq!(tick(&home, &engine, 22).await, Ticked { ran: 1, soon: true, ..Ticked::default() }, "{skill}");
        let key = job(&engine).key;
        let report = engine.job_report(&origin(), &key).await.expect("it has run");
        assert_eq!(job(&engine).ran.map(|(_, outcome)| outcome).as_deref(), Some("done"), "{skill}: {report}");
        assert!(report.contains(words) && !report.contains("CANARY") && !report.contains("Doctor"), "{report}");
        assert!(report.lines().count() >= 1 && !report.contains(&format!("skill {skill} has nothing")), "{report}");
        for _ in 0..3 {
            assert_eq!(tick(&home, &engine, 24).await, Ticked { unchanged: 1, ..Ticked::default() }, "{skill}");
        }
        write(&home, &engine, "notes.org", &NOTES.replace("[[id:gone]]", "[[id:mast]]")).await;
        assert_eq!(tick(&home, &engine, 24).await.ran, 1, "{skill}");
        let report = engine.job_report(&origin(), &key).await.expect("it has run");
        assert!(skill != "archivist" || report.contains("0 links lead nowhere."), "{report}");
        assert_eq!((server.requests().len(), engine.plans(false).len()), (0, 0), "{skill}");
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scribe_proposes_notes_of_what_changed_and_spends_nothing_else() {
    let daily = "* A thought\n:PROPERTIES:\n:ID: thought\n:END:\nBoats drift when nobody looks after them.\n\
                 * At the doctor :private:\n:PROPERTIES:\n:ID: doctor\n:END:\nCANARYDOCTOR drifts when nobody looks.\n";
    let jobs = asks_for("Scribe", "distil my daily notes", "2026-03-01.org");
    let home = Home::new(&[("jobs.org", jobs.as_str()), ("2026-03-01.org", daily)]);
    let distils = |id: &str| {
        let args = serde_json::json!({
            "id": id, "title": "Boats drift", "body": "Boats drift when nobody looks after them.",
            "explanation": "It holds a thought that is worth keeping.",
        });
        Reply::answer(Dialect::OpenAi, &[], &[("c1", "note-distil", args)])
    };
    let server = FakeServer::start([distils("thought")]);
    let engine = shipped(&home, &server).await;
    confirm(&home, &engine, "Scribe").await;
    assert_eq!(tick(&home, &engine, 22).await.ran, 1);
    assert_eq!(job(&engine).ran.map(|(_, outcome)| outcome).as_deref(), Some("waits"));
    let asked = server.requests()[0].json();
    let tools: Vec<&str> =
        asked["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["function"]["name"].as_str()).collect();
    assert!(tools.contains(&"note-distil") && !tools.contains(&"org-archive"), "{tools:?}");
    let body = &server.requests()[0].body;
    assert!(body.contains("The user wants notes distilled") && !body.contains("CANARYDOCTOR"), "{body}");
    server.push(says("One note was made."));
    home.approve(&engine, &waiting(&engine)).await.expect("the user approves it");
    assert!(home.read_file("notes.org").contains(":PP_SOURCE: thought"), "{}", home.read_file("notes.org"));
    assert_eq!(home.read_file("2026-03-01.org"), daily, "what it is made of stays");
    assert_eq!(job(&engine).ran.map(|(_, outcome)| outcome).as_deref(), Some("done"));
    for _ in 0..3 {
        assert_eq!(tick(&home, &engine, 24).await, Ticked { unchanged: 1, ..Ticked::default() });
    }
    assert_eq!(server.requests().len(), 2, "nothing changed, so nothing was spent");
    // Of the same heading no second note is made, and of a private one none.
    write(&home, &engine, "2026-03-01.org", &format!("{daily}* Another\n")).await;
    for id in ["thought", "doctor"] {
        server.push(distils(id));
    }
    server.push(says("Nothing is new."));
    assert_eq!(tick(&home, &engine, 24).await.ran, 1);
    assert_eq!(engine.plans(false).len(), 0);
    assert_eq!(home.read_file("notes.org").matches(":PP_SOURCE:").count(), 1);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_its_runs_the_archivist_is_denied_what_is_no_edit_of_a_note_and_its_user_is_not() {
    let notes = "* A thought\n:PROPERTIES:\n:ID: thought\n:END:\nBoats drift.\n";
    let jobs = asks_for("Scribe", "distil my daily notes", "2026-03-01.org");
    let home = Home::new(&[("jobs.org", jobs.as_str()), ("2026-03-01.org", notes)]);
    let replaces = || {
        let args = serde_json::json!({
            "path": home.file("2026-03-01.org"), "old": "Boats drift.", "new": "Boats sink.",
            "explanation": "The archivist mends what it finds.",
        });
        Reply::answer(Dialect::OpenAi, &[], &[("c1", "replace-in-file", args)])
    };
    let server = FakeServer::start([replaces(), says("Then not.")]);
    let engine = shipped(&home, &server).await;
    confirm(&home, &engine, "Scribe").await;
    assert_eq!(tick(&home, &engine, 22).await.ran, 1);
    assert_eq!(job(&engine).ran.map(|(_, outcome)| outcome).as_deref(), Some("done"));
    let told = server.requests()[1].body.clone();
    assert!(told.contains("The archivist keeps notes; replace-in-file is not part of that."), "{told}");
    assert_eq!((engine.plans(false).len(), home.read_file("2026-03-01.org").as_str()), (0, notes));
    server.push(replaces());
    home.ask(&engine, "distil my daily notes").await;
    assert_eq!(waiting(&engine).action.tool(), "replace-in-file", "there it asks");
    engine.close().await;
}

/// What nobody answered is no turn that goes on: jobs give way to those.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_no_skill_answers_after_all_keeps_no_job_from_running() {
    if !possible(&workers()).await {
        return;
    }
    let home =
        Home::new(&[("jobs.org", asks_for("Rounds", "skill:archivist", "memex").as_str()), ("notes.org", NOTES)]);
    std::fs::create_dir_all(home.own_skills()).expect("a folder");
    let skill = "#+TITLE: House\n#+TRIGGER: sensor:user-command words:house\n* Code\n#+NAME: handler\n\
                 #+begin_src emacs-lisp\n(lambda (_) nil)\n#+end_src\n";
    std::fs::write(format!("{}/house.org", home.own_skills()), skill).expect("a file");
    let server = FakeServer::start([]);
    let engine = shipped(&home, &server).await;
    confirm(&home, &engine, "Rounds").await;
    let (_, said) = home.ask(&engine, "/house").await;
    assert!(said.contains("There is no “/house”"), "{said}");
    let ticked = tick(&home, &engine, 22).await;
    assert_eq!(ticked, Ticked { ran: 1, soon: true, ..Ticked::default() }, "and it does not wait for one");
    engine.close().await;
}
