//! The focus stack: commands move it, the store keeps it, and turns go by it.

use crate::support::engine::{Home, origin};
use passepartout::domain::focus::{Project, Reach};
use passepartout::domain::label::Privacy;
use passepartout::domain::signal::Origin;
use passepartout::edge::clock::Clock;
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::focus::Turnabout;
use std::sync::Arc;

const NOTES: &str =
    "* Kitchen :project:\n** TODO Order tiles\n* Garden\n** TODO Plant bulbs\n* Twice\n* Twice\n* Shed [0/2]\n";

async fn turn(engine: &Engine, command: &str) -> Result<String, String> {
    engine.turn_focus(Turnabout::parse(command).expect("a command of the focus")).await
}

async fn read(home: &Home) -> Arc<Engine> {
    let engine = home.engine().await;
    home.read(&engine).await;
    engine
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_asks_where_the_focus_stands_and_does_not_move_it() {
    let home = Home::new(&[("home.org", NOTES)]);
    let engine = read(&home).await;
    let mut program = origin();
    program.rights.approve = false;
    let human = origin();
    let turn = async |who: &Origin, command: &str| {
        engine.move_focus(who, Turnabout::parse(command).expect("a command of the focus")).await
    };
    assert!(turn(&program, "focus").await.is_ok());
    for command in ["focus Kitchen", "focus /", "scope session", "unfocus", "set language German"] {
        let why = turn(&program, command).await.expect_err(command);
        assert!(why.contains("moved in Emacs"), "{command}: {why}");
        assert!(engine.focus_stack().frames().is_empty(), "{command}");
    }
    assert!(turn(&human, "focus Kitchen").await.is_ok());
    assert!(engine.log_lines(5).iter().any(|line| line.text.contains("the focus was moved in chat")));
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_that_are_taken_at_once_are_all_taken() {
    let home = Home::new(&[("home.org", NOTES)]);
    let engine = read(&home).await;
    turn(&engine, "focus Kitchen").await.expect("it is there");
    let steps = (0..8).map(|number| {
        let engine = engine.clone();
        async move { turn(&engine, &format!("set word{number} yes")).await }
    });
    assert!(futures_util::future::join_all(steps).await.iter().all(Result::is_ok));
    assert_eq!(engine.focus_stack().settings().len(), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_narrow_widen_and_say_where_it_stands() {
    let home = Home::new(&[("home.org", NOTES)]);
    let engine = read(&home).await;
    assert_eq!(turn(&engine, "focus").await.as_deref(), Ok("The agent looks at the whole memex."));
    let check = async |command: &str, expect: Result<&str, &str>| {
        let said = turn(&engine, command).await;
        let said = said.as_deref().map_err(String::as_str);
        match (said, expect) {
            (Ok(said), Ok(words)) | (Err(said), Err(words)) => assert!(said.contains(words), "{command}: {said}"),
            _ => panic!("{command}: {said:?}"),
        }
    };
    check("unfocus", Err("nothing is narrowed")).await;
    check("set language German", Err("nothing is narrowed")).await;
    check("scope project", Err("no project was chosen")).await;
    check("scope galaxy", Err("memex, session or project")).await;
    check("focus nowhere", Err("no heading and no folder")).await;
    check("focus twice", Err("several headings")).await;
    check("focus .", Err("point is in no heading")).await;
    check("focus kitchen", Ok("the project “Kitchen”")).await;
    check("set language German", Ok("language = German")).await;
    check("set budget 5", Err("at least 200")).await;
    check("scope session", Ok("what was changed in this session")).await;
    check("scope project", Ok("the project “Kitchen”")).await;
    let way_back = "\n/unfocus goes back to what was changed in this session, then to the project “Kitchen”";
    check("focus", Ok(way_back)).await;
    check("unfocus", Ok("what was changed in this session")).await;
    check("unfocus", Ok("the project “Kitchen”")).await;
    check("unfocus", Ok("the whole memex")).await;
    engine.focus_at(&home.file("home.org"), 50).expect("a heading");
    check("focus .", Ok("Plant bulbs")).await;
    check("focus shed", Ok("the project “Shed [0/2]”")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_moves_at_once_none_is_lost() {
    let home = Home::new(&[("home.org", NOTES)]);
    let engine = read(&home).await;
    for _ in 0..20 {
        turn(&engine, "focus kitchen").await.expect("room");
        turn(&engine, "focus garden").await.expect("room");
        let (one, other) = tokio::join!(turn(&engine, "unfocus"), turn(&engine, "unfocus"));
        assert!(one.is_ok() && other.is_ok(), "{one:?} {other:?}");
        assert_eq!(engine.focus_stack().frames(), []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_kept_over_a_restart_with_its_settings() {
    let home = Home::new(&[("home.org", NOTES)]);
    let engine = read(&home).await;
    for n in 0..9 {
        turn(&engine, if n % 2 == 0 { "focus kitchen" } else { "scope memex" }).await.expect("room");
    }
    turn(&engine, "focus garden").await.expect("room");
    turn(&engine, "set language German").await.expect("a step");
    assert!(turn(&engine, "scope memex").await.expect_err("ten are there").contains("10 steps"));
    let before = engine.focus_stack();
    engine.close().await;
    let engine = read(&home).await;
    assert_eq!(engine.focus_stack(), before);
    assert_eq!(engine.focus_stack().frames().len(), 10);
    assert_eq!(engine.focus_stack().setting("language"), Some("German"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_may_be_a_project_is_where_commands_run() {
    let home = Home::new(&[("home.org", NOTES)]);
    let engine = read(&home).await;
    let other = home.folder.path().canonicalize().expect("it is there").join("other");
    std::fs::create_dir(&other).expect("a folder");
    let project = || engine.scope(&origin().session, None, true).project;
    assert_eq!(project(), home.project("").trim_end_matches('/'));
    turn(&engine, &format!("focus {}", other.display())).await.expect("a folder");
    assert_eq!(*engine.focus_stack().reach(), Reach::Project(Project::Folder { path: other.display().to_string() }));
    assert_eq!(project(), other.display().to_string());
    // Notes may be private: commands do not run among them.
    turn(&engine, &format!("focus {}", home.file("").trim_end_matches('/'))).await.expect("a folder");
    assert_eq!(project(), home.project("").trim_end_matches('/'));
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_told_and_find_only_what_is_looked_at() {
    let home = Home::new(&[("home.org", NOTES), ("far.org", "* Attic\n** TODO Order lamps\n")]);
    let engine = read(&home).await;
    let now = home.clock.wall();
    let told = || engine.context(Some("order plant"), None, now, Privacy::Private, 4_000).text;
    let holds = |text: &str| ["tiles", "bulbs", "lamps"].map(|word| text.contains(word));
    assert_eq!(holds(&told()), [true, true, true]);
    assert_eq!(holds(&home.ask(&engine, "open tasks").await.1), [true, true, true]);
    turn(&engine, "focus kitchen").await.expect("a heading");
    assert_eq!(holds(&told()), [true, false, false], "{}", told());
    assert_eq!(holds(&home.ask(&engine, "open tasks").await.1), [true, false, false]);
    assert_eq!(holds(&home.ask(&engine, "search for lamps").await.1.to_lowercase())[..2], [false, false]);
    // Nothing was changed yet, and then something was.
    turn(&engine, "scope session").await.expect("room");
    assert_eq!(holds(&told()), [false, false, false], "{}", told());
    let text = "* Attic\n** TODO Order lamps soon\n";
    engine.take_buffer(&home.file("far.org"), text.into(), &|| true).expect("it can be read");
    assert_eq!(holds(&told()), [false, false, true], "{}", told());
    turn(&engine, &format!("focus {}", home.file("").trim_end_matches('/'))).await.expect("a folder");
    assert_eq!(holds(&told()), [true, true, true]);
    // A project whose heading is gone is nothing, not everything.
    turn(&engine, "focus kitchen").await.expect("a heading");
    engine.take_buffer(&home.file("home.org"), "* Cellar\n** TODO Order wine\n".into(), &|| true).expect("read");
    assert_eq!(holds(&told()), [false, false, false], "{}", told());
    assert!(!told().contains("wine"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_names_a_heading_that_is_open_and_no_other_place_that_the_focus_is_moved_to() {
    let home = Home::new(&[("home.org", "* Divorce papers :private:\n* Kitchen\n")]);
    let engine = read(&home).await;
    let folder = home.file("").trim_end_matches('/').to_string();
    for (what, word, named) in
        [("Divorce papers", "Divorce", false), (folder.as_str(), folder.as_str(), false), ("Kitchen", "Kitchen", true)]
    {
        for command in [format!("focus {what}"), "set language German".to_string()] {
            let to = Turnabout::parse(&command).expect("a command of the focus");
            let said = engine.move_focus(&origin(), to).await.expect("a human moves it");
            assert!(said.contains(word), "who asks is told: {said}");
        }
        let lines: Vec<String> = engine.log_lines(1_000).into_iter().map(|line| line.text).collect();
        assert_eq!(lines.iter().any(|line| line.contains(word)), named, "{lines:?}");
        assert!(lines.iter().any(|line| line.starts_with("the focus was moved in chat: ")), "{lines:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_was_changed_in_the_session_is_in_its_scope_however_much_it_is() {
    let home = Home::new(&[("home.org", NOTES), ("far.org", "* Attic\n")]);
    let engine = read(&home).await;
    let lamps = |from: usize| -> String {
        let lamps = (from..from + 80).map(|n| format!("** TODO Lamp {n:03}\n*** Its bulb {n:03}\n"));
        "* Attic\n".to_string() + &lamps.collect::<String>()
    };
    engine.take_buffer(&home.file("far.org"), lamps(0).into(), &|| true).expect("it can be read");
    turn(&engine, "scope session").await.expect("room");
    let seen = |word: &str| {
        let view = engine.view_in_sight();
        view.nodes().filter(|node| node.title().starts_with(word)).map(|node| node.title().to_string()).collect()
    };
    let all: Vec<String> = seen("Its bulb");
    assert_eq!((all.len(), all.first().map(String::as_str)), (80, Some("Its bulb 000")));
    assert_eq!(seen("Kitchen"), [""; 0], "it was not changed");
    // A file that comes to another name is the same one, and what is taken out is nothing.
    std::fs::write(home.file("far.org"), lamps(0)).expect("it is written");
    home.read(&engine).await;
    std::fs::rename(home.file("far.org"), home.file("near.org")).expect("it is renamed");
    home.read(&engine).await;
    assert_eq!(seen("Its bulb").len(), 80);
    engine.take_buffer(&home.file("near.org"), "* Attic\n".into(), &|| true).expect("it can be read");
    assert_eq!(seen("Its bulb"), [""; 0]);
}
