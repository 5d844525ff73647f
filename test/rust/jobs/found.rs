//! What must not run: texts that nobody was shown, rights that nobody gave, identities that stand twice.

use super::{PLANTS, confirm, elsewhere, job, says, settled, tick, write};
use crate::support::engine::{Home, origin, waiting};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use passepartout::edge::engine::jobs::Ticked;
use std::sync::Arc;

fn call(tool: &str, args: serde_json::Value) -> Reply {
    Reply::answer(Dialect::OpenAi, &[], &[("c1", tool, args)])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_went_and_comes_back_is_confirmed_again() {
    for away in [
        PLANTS.replace("Summarize", "Delete"),
        PLANTS.replace("* TODO", "* DONE"),
        PLANTS.replace("* TODO", "* COMMENT"),
        format!("#+FILETAGS: :ARCHIVE:\n{PLANTS}"),
        PLANTS.replace("08:00 +1d", "08:00"),
        "* Nothing\n".to_string(),
    ] {
        let home = Home::new(&[("plants.org", PLANTS)]);
        let server = FakeServer::start([]);
        let engine = home.served(&server, &["fake"], true).await;
        confirm(&home, &engine, "Plants").await;
        let key = job(&engine).key;
        write(&home, &engine, "plants.org", &away).await;
        assert_eq!(engine.tick_jobs().await.ran, 0);
        // It outlives the program, too.
        engine.close().await;
        let engine = home.served(&server, &["fake"], true).await;
        write(&home, &engine, "plants.org", PLANTS).await;
        assert_eq!((job(&engine).state, job(&engine).key == key), ("waiting", true), "{away}");
        for _ in 0..3 {
            assert_eq!(tick(&home, &engine, 24).await, Ticked::default(), "{away}");
        }
        let revoked = engine.decisions(None, 50).await.expect("the audit is read");
        assert!(revoked.iter().any(|entry| format!("{entry:?}").contains("its heading changed")), "{away}");
        assert_eq!(server.requests().len(), 0);
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_confirmed_can_be_taken_back_whatever_stands_there_now() {
    let home = Home::new(&[("plants.org", PLANTS)]);
    let engine = home.served(&FakeServer::start([]), &["fake"], true).await;
    confirm(&home, &engine, "Plants").await;
    let key = job(&engine).key;
    // Nobody has looked since.
    write(&home, &engine, "plants.org", &PLANTS.replace("Summarize", "Delete")).await;
    engine.withdraw_job(&origin(), &key).await.expect("it is taken back");
    assert!(engine.withdraw_job(&origin(), &key).await.is_err(), "once");
    write(&home, &engine, "plants.org", PLANTS).await;
    assert_eq!((job(&engine).state, tick(&home, &engine, 24).await.ran), ("waiting", 0));
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_confirmed_that_is_not_shown_as_it_stands() {
    let home = Home::new(&[("plants.org", PLANTS)]);
    let engine = home.served(&FakeServer::start([]), &["fake"], true).await;
    confirm(&home, &engine, "Plants").await;
    let withdrawn = |engine: &passepartout::edge::engine::Engine| {
        let rules = engine.rules().into_iter();
        rules.filter(|rule| rule.state == "withdrawn").map(|rule| rule.id).collect::<Vec<_>>()
    };
    engine.withdraw_job(&origin(), &job(&engine).key).await.expect("it is taken back");
    write(&home, &engine, "plants.org", &PLANTS.replace("Summarize", "Delete")).await;
    let old = withdrawn(&engine).pop().expect("it is listed");
    let refused = engine.propose_rule(&origin(), &old, engine.new_turn()).await;
    assert!(refused.is_err_and(|why| why.contains("says something else")), "its text is gone");
    // A plan that waited while the text changed confirms nothing, of the old text or the new one.
    let parked = engine.propose_job(&origin(), &job(&engine).key).await.expect("it is shown");
    let plan = engine.plan(&parked.report.plans[0].0).expect("it waits");
    write(&home, &engine, "plants.org", &PLANTS.replace("Summarize", "Burn")).await;
    let _ = home.approve(&engine, &plan).await;
    assert_eq!((job(&engine).state, tick(&home, &engine, 24).await.ran), ("waiting", 0));
    write(&home, &engine, "plants.org", &PLANTS.replace("Summarize", "Delete")).await;
    assert_eq!((job(&engine).state, tick(&home, &engine, 24).await.ran), ("waiting", 0));
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_while_another_job_runs_is_looked_at_again() {
    let first = "* First\n:PROPERTIES:\n:ID: first\n:PP_RUN: summarize the day\n:PP_CRON: 0 8 * * *\n:END:\n";
    for what in ["changed", "private", "paused", "withdrawn", "nothing"] {
        // Files are looked at by their names.
        let home = Arc::new(Home::new(&[("a.org", first), ("plants.org", PLANTS)]));
        let server = FakeServer::start([]);
        let engine = home.served(&server, &["fake"], true).await;
        confirm(&home, &engine, "First").await;
        confirm(&home, &engine, "Plants").await;
        let key = engine.jobs().into_iter().find(|job| job.title == "Plants").expect("it is there").key;
        let (handle, world, runs) = (tokio::runtime::Handle::current(), (home.clone(), engine.clone()), key.clone());
        server.push(says("So it was.").meanwhile(move || {
            let ((home, engine), runs) = (world.clone(), runs.clone());
            elsewhere(&handle, async move {
                match what {
                    "changed" => write(&home, &engine, "plants.org", &PLANTS.replace("Summarize", "Delete")).await,
                    "private" => write(&home, &engine, "plants.org", &format!("#+FILETAGS: :private:\n{PLANTS}")).await,
                    "paused" => drop(engine.pause_job(&origin(), &runs, true).await.expect("it rests")),
                    "withdrawn" => drop(engine.withdraw_job(&origin(), &runs).await.expect("it is taken back")),
                    _ => {}
                }
            });
        }));
        server.push(says("They are dry."));
        let ran = if what == "nothing" { 2 } else { 1 };
        assert_eq!(tick(&home, &engine, 23).await.ran, ran, "{what}");
        assert_eq!(server.requests().len(), ran, "{what}");
        if what == "paused" {
            let found = engine.jobs().into_iter().find(|job| job.key == key).expect("it is there");
            assert_eq!(found.state, "paused", "what the user ruled meanwhile stays ruled");
        }
        engine.close().await;
    }
}

/// What the model is told by a job before a yes to its plan, and behind it: whether the words of a private note; and what is
/// shown of the job.
async fn told(text: &str) -> ([bool; 2], String) {
    let text = text.replace(":PP_RUN: t", ":PP_RUN: t\n:PP_ALWAYS: t");
    let secret = "* Plants that are dry :private:\nWhich plants are dry: CANARYIVY, summarize it.\n";
    let home = Home::new(&[("plants.org", text.as_str()), ("secret.org", secret)]);
    let add = serde_json::json!({"title": "New", "parent": "plants", "explanation": "I note which plants are dry."});
    let server = FakeServer::start([call("org-add-heading", add), says("It is noted."), says("So it is.")]);
    // One that may be told everything: what holds it back is the job alone.
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, "Plants").await;
    assert_eq!(tick(&home, &engine, 23).await.ran, 1);
    home.approve(&engine, &waiting(&engine)).await.expect("the user approves it");
    let told: Vec<bool> = server.requests().iter().map(|request| request.body.contains("CANARYIVY")).collect();
    let shown = job(&engine).shown;
    // The user's own question sees it.
    home.ask(&engine, "Which plants are dry?").await;
    assert!(server.requests().last().is_some_and(|request| request.body.contains("CANARYIVY")));
    engine.close().await;
    (told.try_into().expect("two requests"), shown)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_gives_a_job_no_more_to_see_than_its_heading() {
    let (seen, shown) = told(PLANTS).await;
    assert_eq!(seen, [false, false], "before the yes, and behind it");
    assert!(shown.contains("Sees: notes that are not private\n"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_a_private_heading_is_shown_as_one_and_sees_what_is_private() {
    let (seen, shown) = told(&format!("#+FILETAGS: :private:\n{PLANTS}")).await;
    assert_eq!(seen, [true, true]);
    assert!(shown.contains("its heading is private") && shown.contains(":private:"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_works_in_a_folder_of_its_own_wherever_the_user_does() {
    let home = Home::new(&[("plants.org", PLANTS)]);
    let write = serde_json::json!({"path": "list.txt", "content": "ivy", "explanation": "I write down which are dry."});
    let server = FakeServer::start([call("write-file", write)]);
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, "Plants").await;
    assert_eq!(tick(&home, &engine, 23).await.ran, 1);
    let plan = waiting(&engine);
    let shown = format!("{plan:?}");
    assert!(shown.contains("/passepartout-scratch/") && !shown.contains(&home.project("list.txt")), "{shown}");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_stands_twice_runs_nothing() {
    let home = Home::new(&[("plants.org", PLANTS)]);
    let server = FakeServer::start([]);
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, "Plants").await;
    // Whichever of them comes first.
    for (name, text) in [("a.org", "* Any\n:PROPERTIES:\n:ID: plants\n:END:\n"), ("z.org", PLANTS)] {
        write(&home, &engine, name, text).await;
        assert!(engine.jobs().iter().all(|job| job.state == "broken"), "{:?}", engine.jobs());
        assert_eq!(tick(&home, &engine, 24).await.ran, 0, "{name}");
        let key = engine.jobs()[0].key.clone();
        assert!(engine.run_job_now(&origin(), &key).await.is_err(), "{name}");
        assert!(engine.propose_job(&origin(), &key).await.is_err(), "{name}");
        write(&home, &engine, name, "* Any\n").await;
        assert_eq!(job(&engine).state, "confirmed", "{name}");
    }
    write(&home, &engine, "plants.org", &format!("{PLANTS}* Other\n:PROPERTIES:\n:ID: plants\n:END:\n")).await;
    assert_eq!((job(&engine).state, engine.tick_jobs().await.ran), ("broken", 0));
    assert_eq!(server.requests().len(), 0);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_understood_is_listed_and_says_why() {
    let many: String = (0..203)
        .map(|at| format!("* J{at}\n:PROPERTIES:\n:PP_RUN: what is due today?\n:PP_CRON: 0 8 * * *\n:END:\n"))
        .collect();
    let watch = PLANTS.replace(":PP_RUN: t", ":PP_RUN: t\n:PP_WATCH: plnts.org");
    let home = Home::new(&[("many.org", many.as_str()), ("watch.org", watch.as_str())]);
    let engine = home.served(&FakeServer::start([]), &["fake"], true).await;
    let states = |state: &str| engine.jobs().iter().filter(|job| job.state == state).count();
    assert_eq!((states("waiting"), states("broken")), (200, 4));
    let why: Vec<String> = engine.jobs().into_iter().filter_map(|job| job.why).collect();
    assert!(why[..3].iter().all(|why| why.contains("only 200 of one file")), "{why:?}");
    assert!(why[3].contains("PP_WATCH names “plnts.org”"), "{why:?}");
    // It is found when it comes, and nothing ran meanwhile.
    write(&home, &engine, "plnts.org", "* Ivy\n").await;
    assert_eq!(states("broken"), 3);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_is_confirmed_again_begins_anew() {
    let text = "* Inbox\n:PROPERTIES:\n:ID: inbox\n:PP_HOOK: count the entries\n:END:\n** One\n";
    let home = Home::new(&[("inbox.org", text)]);
    let server = FakeServer::start([]);
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, "Inbox").await;
    engine.withdraw_job(&origin(), &job(&engine).key).await.expect("it is taken back");
    assert_eq!(settled(&home, &engine).await, 0);
    write(&home, &engine, "inbox.org", &format!("{text}** Two\n")).await;
    assert_eq!(settled(&home, &engine).await, 0);
    confirm(&home, &engine, "Inbox").await;
    assert_eq!(settled(&home, &engine).await, 0, "what changed before was not its business");
    server.push(says("Three."));
    write(&home, &engine, "inbox.org", &format!("{text}** Two\n** Three\n")).await;
    assert_eq!(settled(&home, &engine).await, 1);
    engine.close().await;
}

const TIDY: &str = "* Tidy\n:PROPERTIES:\n:ID: tidy\n:PP_RUN: skill:tidy\n:PP_CRON: 0 8 * * *\n:END:\n";

fn skill(code: &str) -> String {
    format!("#+TITLE: Tidy\n#+TRIGGER: words:tidy\n#+NAME: job\n#+begin_src emacs-lisp\n{code}\n#+end_src\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lisp_of_a_skill_is_part_of_what_is_confirmed() {
    let home = Home::new(&[("tidy.org", TIDY)]);
    std::fs::create_dir_all(home.own_skills()).expect("it is made");
    let file = format!("{}/tidy.org", home.own_skills());
    let has = |text: &str| std::fs::write(&file, text).expect("it is written");
    has(&skill("(lambda (_) nil)"));
    let engine = home.served(&FakeServer::start([]), &["fake"], true).await;
    let shown = job(&engine).shown;
    assert!(shown.contains("All Lisp of the skill tidy") && shown.contains("\n;; job\n(lambda (_) nil)\n"), "{shown}");
    confirm(&home, &engine, "Tidy").await;
    // The same Lisp among other words is the same.
    has(&format!("{}Some prose.\n", skill("(lambda (_) nil)")));
    engine.reload_skills().await;
    engine.tick_jobs().await;
    assert_eq!(job(&engine).state, "confirmed");
    // One that is away takes nothing back, and runs nothing.
    for away in ["#+TITLE: Tidy\n#+PRIORITY: much\n", "#+TITLE: Tidy\n#+TRIGGER: words:tidy\n* Prompt\nTidy.\n"] {
        has(away);
        engine.reload_skills().await;
        assert_eq!((engine.tick_jobs().await.ran, job(&engine).state), (0, "broken"));
        assert!(job(&engine).why.is_some_and(|why| why.contains("no skill tidy is loaded that has a block “job”")));
        assert!(engine.propose_job(&origin(), &job(&engine).key).await.is_err());
        has(&skill("(lambda (_) nil)"));
        engine.reload_skills().await;
        engine.tick_jobs().await;
        assert_eq!(job(&engine).state, "confirmed");
    }
    // Another block is another job, and what it was waits as well when it comes back.
    for code in ["(lambda (_) \"Gone.\")", "(lambda (_) nil)"] {
        has(&skill(code));
        engine.reload_skills().await;
        assert_eq!((tick(&home, &engine, 24).await.ran, job(&engine).state), (0, "waiting"), "{code}");
    }
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_emacs_with_other_folders_takes_nothing_back() {
    let home = Home::new(&[("plants.org", PLANTS)]);
    let server = FakeServer::start([]);
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, "Plants").await;
    engine.close().await;
    let other = tempfile::tempdir().expect("a folder");
    std::fs::write(other.path().join("own.org"), "* Own\n").expect("it is written");
    let folder = other.path().canonicalize().expect("it is there");
    let engine = home.engine_with(|config| config.directories = vec![folder]).await;
    home.read(&engine).await;
    assert_eq!((engine.jobs().len(), tick(&home, &engine, 1).await.ran), (0, 0));
    engine.close().await;
    let engine = home.served(&server, &["fake"], true).await;
    engine.tick_jobs().await;
    assert_eq!(job(&engine).state, "confirmed");
    // In its own folders what is gone is gone.
    write(&home, &engine, "plants.org", "* Nothing\n").await;
    engine.tick_jobs().await;
    write(&home, &engine, "plants.org", PLANTS).await;
    assert_eq!((engine.tick_jobs().await.ran, job(&engine).state), (0, "waiting"));
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_many_of_all_files_are_looked_at_and_what_was_confirmed_always_is() {
    let one = |at: usize| format!("* J{at}\n:PROPERTIES:\n:PP_RUN: what is due today?\n:PP_CRON: 0 8 * * *\n:END:\n");
    let many = |from: usize| (from..from + 150).map(one).collect::<String>();
    let home = Home::new(&[("z.org", PLANTS)]);
    let engine = home.served(&FakeServer::start([]), &["fake"], true).await;
    confirm(&home, &engine, "Plants").await;
    for file in 0..8 {
        write(&home, &engine, &format!("a{file}.org"), &many(file * 150)).await;
    }
    let states = |state: &str| engine.jobs().iter().filter(|job| job.state == state).count();
    assert_eq!((states("confirmed"), states("waiting"), states("broken")), (1, 1_000, 2));
    let why: Vec<String> = engine.jobs().into_iter().filter_map(|job| job.why).collect();
    assert_eq!(why[0], "only 1000 of all files are looked at, so 50 jobs of this one are not; take some away");
    assert!(why[1].contains("150 jobs of this one"), "{why:?}");
    // They are told of together, and once.
    engine.tick_jobs().await;
    engine.tick_jobs().await;
    let said = |words: &str| engine.log_lines(500).iter().filter(|line| line.text.contains(words)).count();
    assert_eq!((said("1000 jobs do not run before you confirm them"), said("before you confirm")), (1, 1));
    write(&home, &engine, "b.org", &one(5_000)).await;
    engine.tick_jobs().await;
    assert_eq!(said("before you confirm"), 1, "it found no room");
    // What found no room finds it when others go.
    write(&home, &engine, "a0.org", "* Nothing\n").await;
    assert_eq!((states("confirmed"), states("waiting"), states("broken")), (1, 1_000, 2));
    write(&home, &engine, "a1.org", "* Nothing\n").await;
    assert_eq!((states("confirmed"), states("waiting"), states("broken")), (1, 901, 0));
    assert_eq!(job_named(&engine, "Plants").state, "confirmed");
    engine.close().await;
}

#[track_caller]
fn job_named(engine: &passepartout::edge::engine::Engine, title: &str) -> passepartout::edge::engine::jobs::Listed {
    engine.jobs().into_iter().find(|job| job.title == title).expect("there is such a job")
}
