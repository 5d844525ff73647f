//! The folders of the memex: what lies outside of them is no part of memory, whatever the store holds.

use crate::support::engine::Home;
use passepartout::edge::engine::Engine;
use std::path::PathBuf;
use std::sync::Arc;

const TILES: &str = "* Kitchen\n** TODO Order tiles\n";
const BULBS: &str = "* Garden\n** TODO Plant bulbs\n";

/// Returns a home with a second memex beside its own, and both folders.
fn two() -> (Home, PathBuf, PathBuf) {
    let home = Home::new(&[("home.org", TILES)]);
    let base = home.folder.path().canonicalize().expect("it is there");
    let (first, second) = (base.join("memex"), base.join("memex-2"));
    std::fs::create_dir(&second).expect("a folder");
    std::fs::write(second.join("garden.org"), BULBS).expect("a file");
    (home, first, second)
}

/// Returns the names of the files in memory, without their folders.
fn files(engine: &Engine) -> Vec<String> {
    let view = engine.view();
    view.documents().map(|d| d.file.rsplit('/').next().unwrap_or("").to_string()).collect()
}

async fn on(home: &Home, folders: &[&PathBuf]) -> Arc<Engine> {
    home.engine_with(|config| config.directories = folders.iter().map(|folder| folder.to_path_buf()).collect()).await
}

/// Starts an engine on folders; returns the files before the memex is read, those after, and what an answer lists.
async fn turn(home: &Home, folders: &[&PathBuf]) -> (Vec<String>, Vec<String>, String) {
    let engine = on(home, folders).await;
    let before = files(&engine);
    home.read(&engine).await;
    let after = files(&engine);
    let answer = home.ask(&engine, "open tasks").await.1;
    engine.close().await;
    (before, after, answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_no_longer_named_leaves_memory_and_comes_back() {
    let (home, first, second) = two();
    let (_, after, _) = turn(&home, &[&first, &second]).await;
    assert_eq!(after, ["garden.org", "home.org"]);
    // Before anything is read, and after.
    let (before, after, answer) = turn(&home, &[&second]).await;
    assert_eq!((before, after), (vec!["garden.org".to_string()], vec!["garden.org".to_string()]));
    assert!(answer.contains("Plant bulbs") && !answer.contains("Order tiles"), "{answer}");
    let (before, after, answer) = turn(&home, &[&first]).await;
    assert!(before.is_empty(), "{before:?}");
    assert_eq!(after, ["home.org"]);
    assert!(answer.contains("Order tiles") && !answer.contains("Plant bulbs"), "{answer}");
    let (_, after, answer) = turn(&home, &[&second, &first]).await;
    assert_eq!(after, ["garden.org", "home.org"]);
    assert!(answer.contains("Order tiles") && answer.contains("Plant bulbs"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_leaves_memory_does_so_in_one_operation_and_stays_in_the_log() {
    let (home, first, second) = two();
    std::fs::write(first.join("more.org"), "* More\n").expect("a file");
    let engine = on(&home, &[&first, &second]).await;
    home.read(&engine).await;
    let then = engine.head();
    engine.close().await;
    let engine = on(&home, &[&second]).await;
    assert_eq!(engine.head().0, then.0 + 1);
    home.read(&engine).await;
    assert_eq!(engine.head().0, then.0 + 1, "nothing is left to take out");
    engine.close().await;
    let engine = on(&home, &[&second]).await;
    assert_eq!(engine.head().0, then.0 + 1, "and it is taken out once");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_named_folder_that_has_vanished_keeps_what_is_known_of_it() {
    let (home, first, second) = two();
    let link = first.with_file_name("link");
    let below = first.join("below");
    std::fs::create_dir(&below).expect("a folder");
    std::fs::write(below.join("below.org"), "* Below\n").expect("a file");
    std::os::unix::fs::symlink(&first, &link).expect("a link");
    let all = ["garden.org", "below.org", "home.org"];
    for named in [&first, &link, &first.join("../link/"), &first.join("../memex")] {
        let (_, mut known, _) = turn(&home, &[named, &second]).await;
        known.sort();
        let mut expected = all;
        expected.sort();
        assert_eq!(known, expected, "{named:?}");
        let away = first.with_file_name("away");
        std::fs::rename(&first, &away).expect("it moves");
        let engine = on(&home, &[named, &second]).await;
        home.read(&engine).await;
        assert_eq!(files(&engine).len(), 3, "{named:?}");
        let problems = engine.problems();
        assert!(problems.iter().any(|line| line.contains("does not exist")), "{problems:?}");
        engine.close().await;
        std::fs::rename(&away, &first).expect("it moves");
    }
    // A folder below a link that leads nowhere now.
    let (_, known, _) = turn(&home, &[&link.join("below")]).await;
    assert_eq!(known, ["below.org"]);
    std::fs::rename(&first, first.with_file_name("away")).expect("it moves");
    let (before, after, _) = turn(&home, &[&link.join("below")]).await;
    assert_eq!((before.len(), after.len()), (1, 1));
    // A loop of links is no trouble.
    let round = first.with_file_name("round");
    std::os::unix::fs::symlink(&round, &round).expect("a link");
    let (before, after, _) = turn(&home, &[&round]).await;
    assert_eq!((before.len(), after.len()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_folder_is_named_memory_is_what_the_store_holds() {
    let (home, first, second) = two();
    let _ = turn(&home, &[&first, &second]).await;
    let (before, after, _) = turn(&home, &[]).await;
    assert_eq!((before.len(), after.len()), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_buffer_elsewhere_is_in_memory_while_it_is_open() {
    let (home, first, second) = two();
    let engine = on(&home, &[&first]).await;
    home.read(&engine).await;
    let beside = second.join("garden.org").to_string_lossy().into_owned();
    let take = |text: &str| engine.take_buffer(&beside, text.into(), &|| true).expect("it is read");
    take(BULBS);
    assert_eq!(files(&engine), ["home.org"], "nobody has it open");
    engine.note_buffer(&beside, true);
    take(BULBS);
    assert_eq!(files(&engine), ["garden.org", "home.org"]);
    home.read(&engine).await;
    assert_eq!(files(&engine), ["garden.org", "home.org"], "as long as it is open");
    engine.note_buffer(&beside, false);
    engine.leave_out_strangers();
    assert_eq!(files(&engine), ["home.org"]);
    take(BULBS);
    assert_eq!(files(&engine), ["home.org"], "what was on its way comes too late");
    engine.close().await;
}

const CHAT: &str =
    ":PROPERTIES:\n:PP_CHAT: s1\n:END:\n* Mark tiles done\n:PROPERTIES:\n:PP_ROLE: user\n:END:\n** TODO Buy tiles\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_was_saved_is_no_note() {
    let (home, first, _) = two();
    let chat = home.file("chat.org");
    // A store of an earlier version, in which it stands, is as one in which the file was a note before.
    std::fs::write(&chat, CHAT.replace(":PP_CHAT: s1", ":OTHER: s1")).expect("a file");
    let (_, known, _) = turn(&home, &[&first]).await;
    assert_eq!(known, ["chat.org", "home.org"]);
    std::fs::write(&chat, CHAT).expect("a file");
    let engine = on(&home, &[&first]).await;
    home.read(&engine).await;
    assert_eq!(files(&engine), ["home.org"]);
    assert_eq!(engine.view().headings(), 2);
    let head = engine.head();
    home.read(&engine).await;
    assert_eq!(engine.head(), head, "nothing is news");
    for text in ["who is tiles?", "open tasks", "find buy", "mark tiles done"] {
        let answer = home.ask(&engine, text).await.1;
        assert!(!answer.contains("chat.org") && !answer.contains("Buy tiles"), "{text}: {answer}");
    }
    engine.note_buffer(&chat, true);
    engine.take_buffer(&chat, CHAT.into(), &|| true).expect("it is read");
    assert_eq!(files(&engine), ["home.org"], "nor does its buffer bring it in");
    // Without its property it is a file as any other.
    engine.take_buffer(&chat, CHAT.replace("PP_CHAT: s1", "PP_CHAT:").into(), &|| true).expect("it is read");
    assert_eq!(files(&engine), ["chat.org", "home.org"]);
    engine.take_buffer(&chat, CHAT.into(), &|| true).expect("it is read");
    assert_eq!(files(&engine), ["home.org"]);
    engine.close().await;
}
