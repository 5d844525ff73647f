//! Faults of whole turns: what ends them, what memory holds afterwards, and that the agent goes on.

use crate::support::engine::{Home, origin, provide, waiting};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use passepartout::domain::id::{NodeId, OperationId};
use passepartout::domain::scope::Level;
use passepartout::domain::turn::Ending;
use passepartout::edge::editor::{Buffer, Editor, Splice};
use passepartout::edge::engine::{Engine, Notice};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

const TILES: &str = "* Kitchen\n** TODO Order tiles\n:PROPERTIES:\n:ID: tiles\n:END:\nThe white ones.\n";

fn call(tool: &str, mut args: Value) -> Reply {
    args["explanation"] = json!("The user asked for exactly this.");
    Reply::answer(Dialect::OpenAi, &[], &[("c1", tool, args)])
}

fn mark_done() -> Reply {
    call("org-set-todo", json!({"id": "tiles", "state": "DONE"}))
}

fn down() -> Reply {
    Reply::raw(500, "text/plain", "down")
}

/// Starts an engine in which edits of headings need no approval.
async fn engine(home: &Home, server: &FakeServer) -> Arc<Engine> {
    let engine = home
        .engine_with(|config| {
            provide(config, &[("fake", server, true)], &["fake"]);
            config.permissions.insert("org-set-todo".into(), Level::Allow);
        })
        .await;
    home.read(&engine).await;
    engine
}

fn title(engine: &Engine, id: &str) -> String {
    let node = engine.view().get(&NodeId::new(id)).expect("it is in memory");
    let todo = node.keyword().map(|keyword| format!("{} ", keyword.name));
    format!("{}{}", todo.unwrap_or_default(), node.title())
}

fn lines(engine: &Engine) -> Vec<String> {
    engine.log_lines(100).into_iter().map(|line| line.text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skill_chooses_what_ends_a_fault_of_its_turns() {
    let missing = || call("memory-read", json!({"id": "nowhere"}));
    for (line, ending, streamed, done) in [
        ("", Ending::Failed, "", ""),
        ("#+ON_ERROR: abort\n", Ending::Failed, "", ""),
        ("#+ON_ERROR: skip\n", Ending::Answered, "", "The skill that was at work leaves it at that."),
        (
            "#+ON_ERROR: fallback No figures today.\n",
            Ending::Answered,
            "No figures today.",
            "The skill that was at work answered with its own text instead.",
        ),
    ] {
        // The model fails; and a tool fails, and the model behind it.
        for (replies, failed_tool) in [(vec![down()], false), (vec![missing(), down()], true)] {
            let home = Home::new(&[("home.org", TILES)]);
            std::fs::create_dir_all(home.own_skills()).expect("a folder");
            let skill = format!("#+TITLE: Figures\n#+TRIGGER: words:figures\n{line}* Prompt\nCount.\n");
            std::fs::write(format!("{}/figures.org", home.own_skills()), skill).expect("a skill");
            let server = FakeServer::start(replies);
            let engine = engine(&home, &server).await;
            let before = (engine.head(), engine.view().root());
            let (finished, said) = home.ask(&engine, "the figures, please").await;
            let report = &finished.report;
            assert_eq!((report.ending, said.trim()), (ending, streamed), "{line}: {report:?}");
            let notice = report.notice.as_deref().unwrap_or_default();
            assert!(notice.starts_with("no model answered.\n- fake: ") && notice.ends_with(done), "{line}: {notice}");
            assert_eq!(report.roll_back, !failed_tool);
            assert_eq!((engine.head(), engine.view().root()), before);
            let sensor = if failed_tool { "tool-error, depth 1" } else { "user-input, depth 0" };
            let log = lines(&engine);
            assert!(log.iter().any(|line| line.starts_with(&format!("{sensor}: no model answered."))), "{log:?}");
            server.push(Reply::answer(Dialect::OpenAi, &["Seven."], &[]));
            assert_eq!(home.ask(&engine, "the figures, please").await.1, "Seven.", "the agent goes on");
            engine.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skill_with_an_unknown_choice_is_kept_out_and_the_doctor_can_say_why() {
    let home = Home::new(&[]);
    std::fs::create_dir_all(home.own_skills()).expect("a folder");
    let skill = "#+TITLE: Figures\n#+TRIGGER: words:figures\n#+ON_ERROR: retry\n* Prompt\nCount.\n";
    std::fs::write(format!("{}/figures.org", home.own_skills()), skill).expect("a skill");
    let engine = engine(&home, &FakeServer::start([])).await;
    let why = "figures: line 3: #+ON_ERROR: “retry” does not end a fault; there are skip, fallback and abort";
    assert!(engine.skill_report().1.contains(&why.to_string()), "{:?}", engine.skill_report());
    assert!(lines(&engine).contains(&why.to_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_skills_that_is_not_there_is_named_by_the_doctor() {
    let home = Home::new(&[]);
    let gone = home.folder.path().join("gone");
    let engine = home.engine_with(|config| config.skill_directories = vec![gone.clone()]).await;
    let checks = passepartout::edge::doctor::examine(&engine, None).await;
    let check = checks.iter().find(|check| check.name == "skills").expect("a check of the skills");
    let told = check.detail.contains(&format!("the folder of skills {} is not there", gone.display()));
    assert_eq!((check.state.name(), told), ("degraded", true), "{check:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_are_not_in_force_are_told_once_and_the_doctor_calls_it_unhealthy() {
    let home = Home::new(&[]);
    std::fs::create_dir_all(home.own_skills()).expect("a folder");
    let skill = "#+ON_ERROR: retry\n* Rules\n| tool | pattern | verdict | reason |\n| shell | git push* | deny | No. |\n\
                 * Examples\n| tool | example | match |\n| shell | git push x | deny |\n";
    std::fs::write(format!("{}/push.org", home.own_skills()), skill).expect("a skill");
    let server = FakeServer::start([]);
    let engine = engine(&home, &server).await;
    let why = format!("({}/push.org: line 1: #+ON_ERROR: “retry” does not end a fault", home.own_skills());
    let told = |text: &str| text.matches(&why).count();
    assert_eq!(lines(&engine).iter().map(|line| told(line)).sum::<usize>(), 1, "{:#?}", lines(&engine));
    for count in [1, 0] {
        server.push(Reply::answer(Dialect::OpenAi, &["Hello."], &[]));
        let (finished, text) = home.ask(&engine, "hello").await;
        assert_eq!(text, "Hello.", "the agent goes on");
        let notice = finished.report.notice.unwrap_or_default();
        assert_eq!(told(&notice), count, "{notice}");
    }
    let checks = passepartout::edge::doctor::examine(&engine, None).await;
    let check = checks.iter().find(|check| check.name == "skills").expect("a check of the skills");
    assert_eq!((check.state.name(), told(&check.detail)), ("unhealthy", 1), "{check:?}");
    assert!(check.repair.as_deref().is_some_and(|repair| repair.starts_with("Mend the file at the line")));

    // What it denies is denied, and what it may have meant asks.
    server.push(call("shell", json!({"command": "git push origin"})));
    server.push(call("shell", json!({"command": "ls"})));
    let (finished, _) = home.ask(&engine, "push it").await;
    let seen = format!("{:?}", finished.report.deeds);
    assert_eq!(engine.plans(false).len(), 1, "{seen}");
    let plan = waiting(&engine);
    assert_eq!(plan.action.text("command"), Some("ls"));
    let asked: Vec<&str> = plan.trace.opinions.iter().filter(|o| o.verdict.name() == "ask").map(|o| &*o.gate).collect();
    assert!(asked.contains(&"skill push: unread"), "{asked:?}");
}

/// An editor in which one file is open, and whose user takes every edit back at once.
struct Contrary;

#[async_trait::async_trait]
impl Editor for Contrary {
    async fn buffer(&self, _file: &str) -> Result<Option<Buffer>, String> {
        Ok(Some(Buffer { text: TILES.into(), tick: 1, read_only: false }))
    }

    async fn edit(&self, _file: &str, _tick: i64, _splices: Vec<Splice>) -> Result<(), String> {
        Ok(())
    }
}

/// What the original calls a micro-rollback: the turn put something into memory, then it crashed.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_takes_back_what_the_turn_put_into_memory_and_the_log_of_memory_only_grows() {
    let home = Home::new(&[("home.org", TILES)]);
    *home.editor.lock().expect("not poisoned") = Arc::new(Contrary);
    let server = FakeServer::start([mark_done(), down()]);
    let engine = engine(&home, &server).await;
    let (began, root) = (engine.head(), engine.view().root());
    let (finished, _) = home.ask(&engine, "the tiles are ordered").await;
    let report = finished.report;
    assert_eq!((report.ending, report.changed.len()), (Ending::Failed, 1), "{report:?}");
    assert_eq!(title(&engine, "tiles"), "TODO Order tiles");
    assert_eq!(engine.view().root(), root, "memory is what it was, to the last byte");
    assert_eq!(engine.head(), OperationId(began.0 + 2), "the act is one operation, and going back another");
    let notice = report.notice.unwrap_or_default();
    assert!(notice.ends_with(&format!("\nMemory went back in {}.", home.file("home.org"))), "{notice}");
    let told = format!(
        "the turn failed; memory was at operation {} when it began, and is as it was then by operation {}",
        began.0,
        began.0 + 2
    );
    assert!(lines(&engine).contains(&told), "{:?}", lines(&engine));
    engine.flush().await.expect("it is stored");
    engine.close().await;
    let again = home.engine().await;
    assert_eq!((again.head(), again.view().root()), (OperationId(began.0 + 2), root), "and after a restart too");
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_goes_back_only_where_files_did_and_follows_what_others_changed_meanwhile() {
    let other = "* Garden\n:PROPERTIES:\n:ID: garden\n:END:\n";
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Meanwhile {
        Nothing,
        TakenBack,
        ChangedAgain,
        Deleted,
        Unreadable,
    }
    for meanwhile in
        [Meanwhile::Nothing, Meanwhile::TakenBack, Meanwhile::ChangedAgain, Meanwhile::Deleted, Meanwhile::Unreadable]
    {
        let home = Home::new(&[("home.org", TILES), ("other.org", other)]);
        let (shared, once): (Arc<OnceLock<Arc<Engine>>>, _) = (Arc::default(), AtomicBool::new(false));
        let (known, file, beside) = (shared.clone(), home.file("home.org"), home.file("other.org"));
        *home.notify.lock().expect("not poisoned") = Arc::new(move |notice| {
            let Some(engine) = known.get().filter(|_| matches!(notice, Notice::Status)) else { return };
            let done = std::fs::read_to_string(&file).is_ok_and(|text| text.contains("DONE Order"));
            if !done || once.swap(true, Ordering::Relaxed) {
                return;
            }
            // The user types in another file while the turn is under way.
            let typed = other.replace("Garden", "Orchard");
            engine.take_text(&beside, typed.into(), "buffer-update").expect("it is read");
            match meanwhile {
                Meanwhile::Nothing => {}
                Meanwhile::TakenBack => std::fs::write(&file, TILES).expect("it is written"),
                Meanwhile::ChangedAgain => {
                    std::fs::write(&file, TILES.replace("TODO", "NEXT").replace("Order", "Choose")).expect("written")
                }
                Meanwhile::Deleted => std::fs::remove_file(&file).expect("it is removed"),
                Meanwhile::Unreadable => std::fs::write(&file, b"* \0\xff\xfe\n").expect("it is written"),
            }
        });
        let server = FakeServer::start([mark_done(), down()]);
        let engine = engine(&home, &server).await;
        shared.set(engine.clone()).ok().expect("it is set once");
        let (finished, _) = home.ask(&engine, "the tiles are ordered").await;
        assert_eq!(finished.report.ending, Ending::Failed);
        let notice = finished.report.notice.unwrap_or_default();
        let in_file = home.file("home.org");
        match meanwhile {
            Meanwhile::Nothing => {
                assert_eq!(title(&engine, "tiles"), "DONE Order tiles");
                assert!(notice.ends_with(&format!("\nWhat was done before that stands in {in_file}.")), "{notice}");
            }
            Meanwhile::TakenBack => {
                assert_eq!(title(&engine, "tiles"), "TODO Order tiles");
                assert!(notice.ends_with(&format!("\nMemory went back in {in_file}.")), "{notice}");
            }
            Meanwhile::ChangedAgain => assert_eq!(title(&engine, "tiles"), "NEXT Choose tiles"),
            Meanwhile::Deleted => assert!(engine.view().document(&in_file).is_none()),
            Meanwhile::Unreadable => {
                assert_eq!(title(&engine, "tiles"), "DONE Order tiles", "what cannot be read changes nothing");
                assert!(notice.contains("\nMemory keeps what it had: "), "{notice}");
            }
        }
        assert_eq!(title(&engine, "garden"), "Orchard", "{meanwhile:?}: what the user typed stays");
        assert_eq!(origin().session, finished.session);
        engine.close().await;
    }
}
