//! What made a note private and is taken away goes on counting until the user lets it go.

use super::held::pull;
use super::*;
use passepartout::domain::id::NodeId;
use passepartout::domain::label::{Privacy, PrivacyTag};

const NOTES: &str = "* Health :private:\n:PROPERTIES:\n:ID: health\n:END:\nSilver.\n** Diet\nBread.\n** Canoe\n:PROPERTIES:\n\
:ID: canoe\n:END:\nA paddle.\n* Garden\n:PROPERTIES:\n:ID: garden\n:END:\n";

async fn engine(home: &Home) -> Arc<Engine> {
    let tags = ["private", "journal=ask", "work=warn"].map(|tag| PrivacyTag::read(tag).0);
    let engine = home.engine_with(|config| config.private_tags = tags.to_vec()).await;
    home.read(&engine).await;
    engine
}

fn waits(engine: &Engine) -> Vec<String> {
    engine.rules().into_iter().filter(|rule| rule.state == "waiting").map(|rule| rule.text).collect()
}

/// Returns how private a heading counts, by its id or by what a title ends in.
fn tier(engine: &Engine, name: &str) -> &'static str {
    let view = engine.view();
    let node = view.get(&NodeId::new(name)).or_else(|| view.nodes().find(|node| node.title() == name));
    node.unwrap_or_else(|| panic!("{name} is there")).privacy().word()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_tag_that_a_pull_takes_away_counts_until_the_user_lets_it_go() {
    let home = Home::new(&[("life.org", NOTES)]);
    let engine = engine(&home).await;
    assert_eq!(waits(&engine), [""; 0], "what is seen first is never asked about");
    let open = NOTES.replace(" :private:", "");
    pull(&home, &engine, "life.org", &open).await;
    for name in ["health", "Diet", "canoe"] {
        assert_eq!(tier(&engine, name), "block", "{name}");
    }
    assert_eq!(tier(&engine, "garden"), "open");
    let line = the(&engine, "waiting");
    assert!(line.text.contains("PP_PRIVACY = block under “Health” (health), taken away"), "{line:?}");
    assert!(!line.text.contains("canoe"), "what stands below is held with it: {line:?}");
    let log: Vec<String> = engine.log_lines(1_000).into_iter().map(|line| line.text).collect();
    let said: Vec<&String> = log.iter().filter(|line| line.contains("was taken away")).collect();
    assert_eq!(said.len(), 1, "{log:?}");
    assert!(said[0].contains("M-x passepartout-rules") && !said[0].contains("Health"), "{said:?}");
    // Further changes of the file say nothing more.
    pull(&home, &engine, "life.org", &format!("{open}* More\n")).await;
    pull(&home, &engine, "life.org", &open).await;
    assert_eq!(engine.log_lines(1_000).iter().filter(|line| line.text.contains("was taken away")).count(), 1);
    engine.close().await;
    drop(engine);

    let engine = self::engine(&home).await;
    assert_eq!((tier(&engine, "health"), tier(&engine, "canoe")), ("block", "block"), "it outlives the program");
    assert_eq!(the(&engine, "waiting").id, line.id);
    let shown = engine.propose_rule(&origin(), &line.id, engine.new_turn()).await.expect("it is shown");
    let plan = engine.plan(&shown.report.plans[0].0).expect("the plan is known");
    home.deny(&engine, &plan, "").await.expect("the denial counts");
    assert_eq!(tier(&engine, "health"), "block", "a denial leaves it");
    confirm(&home, &engine, &line.id).await;
    assert_eq!(waits(&engine), [""; 0]);
    for name in ["health", "Diet", "canoe", "garden"] {
        assert_eq!(tier(&engine, name), "open", "{name}");
    }
    engine.close().await;
    drop(engine);
    let engine = self::engine(&home).await;
    assert_eq!((waits(&engine).len(), tier(&engine, "health")), (0, "open"), "what was let go is forgotten for good");
    pull(&home, &engine, "life.org", NOTES).await;
    pull(&home, &engine, "life.org", &open).await;
    assert_eq!((waits(&engine).len(), tier(&engine, "canoe")), (1, "block"), "it held for that one time");
    engine.close().await;
    drop(engine);
    // What goes while nobody looks has gone all the same.
    std::fs::write(home.file("life.org"), NOTES.replace("Silver", "Gold").replace(" :private:", "")).expect("a file");
    let engine = self::engine(&home).await;
    assert_eq!(tier(&engine, "health"), "block");
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_made_a_note_private_is_held_and_a_weaker_one_waits() {
    let home = Home::new(&[]);
    let engine = engine(&home).await;
    let drawer = |line: &str| format!("* A\n:PROPERTIES:\n:ID: a\n{line}:END:\nText.\n** B\n");
    let cases = [
        (drawer(":PP_PRIVACY: ask\n"), drawer(""), "ask", "PP_PRIVACY = ask under “A” (a), taken away"),
        (
            drawer(":PP_PRIVACY: block\n"),
            drawer(":PP_PRIVACY: warn\n"),
            "block",
            "PP_PRIVACY = block under “A” (a), now warn",
        ),
        (
            drawer(":PP_PRIVACY: warn\n"),
            drawer(":PP_PRIVACY: open\n"),
            "warn",
            "PP_PRIVACY = warn under “A” (a), taken away",
        ),
        (drawer(":PRIVACY: private\n"), drawer(":PRIVACY+: ask\n"), "block", "now ask"),
        (drawer(":PP_PRIVACY: ask\n"), drawer(":PP_PRIVACY: block\n"), "block", ""),
        ("* A :private:\n** B\n".into(), "* A :@Private:work:\n** B\n".into(), "block", ""),
        ("* A :journal:\n** B\n".into(), "* A :work:\n** B\n".into(), "ask", "now warn"),
        ("#+FILETAGS: :private:\n* A\n** B\n".into(), "* A\n** B\n".into(), "block", "PP_PRIVACY = block, taken away"),
        ("#+PROPERTY: PP_PRIVACY ask\n* A\n** B\n".into(), "* A\n** B\n".into(), "ask", "PP_PRIVACY = ask, taken away"),
        // The line stands there as before, and is no drawer any more.
        (
            drawer(":PP_PRIVACY: ask\n"),
            drawer(":PP_PRIVACY: ask\n").replace("* A\n", "* A\nText.\n\n"),
            "ask",
            "taken away",
        ),
        // The id goes with the label: the titles are the same.
        (drawer(":PP_PRIVACY: ask\n"), "* A\nText.\n** B\n".into(), "ask", "a12.org::*A”, taken away"),
        ("* A :private:\nText.\n** B\n".into(), drawer(""), "block", "PP_PRIVACY = block"),
    ];
    for (at, (before, after, expected, words)) in cases.into_iter().enumerate() {
        let (name, id) = (format!("a{}.org", at + 2), format!(":ID: a{at}\n"));
        let (before, after) = (before.replace(":ID: a\n", &id), after.replace(":ID: a\n", &id));
        let words = words.replace("(a)", &format!("(a{at})"));
        pull(&home, &engine, &name, &before).await;
        assert_eq!(waits(&engine), [""; 0], "{before}");
        pull(&home, &engine, &name, &after).await;
        let said = waits(&engine).join("\n");
        assert_eq!((tier(&engine, "A"), tier(&engine, "B")), (expected, expected), "{before}{after}{said}");
        assert_eq!(said.is_empty(), words.is_empty(), "{before}{after}{said}");
        assert!(said.contains(&words), "{before}{after}{said}");
        if !said.is_empty() {
            pull(&home, &engine, &name, &before).await;
            assert_eq!(waits(&engine), [""; 0], "what comes back ends the waiting: {before}");
        }
        // It goes whole: nothing is left that could be protected.
        std::fs::remove_file(home.file(&name)).expect("it goes");
        let (reads, path) = (engine.clone(), std::path::PathBuf::from(home.file(&name)));
        tokio::task::spawn_blocking(move || drop(reads.read_changed(&[path]))).await.expect("it is read");
        assert_eq!(waits(&engine), [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heading_that_comes_out_of_a_private_subtree_stays_as_private() {
    let home = Home::new(&[("life.org", NOTES), ("other.org", "* Other\n")]);
    let engine = engine(&home).await;
    let canoe = "** Canoe\n:PROPERTIES:\n:ID: canoe\n:END:\nA paddle.\n";
    let without = NOTES.replace(canoe, "");
    let refiled = format!("* Other\n{canoe}");
    // In either order of saving, and also when it is away for a while.
    pull(&home, &engine, "other.org", &refiled).await;
    pull(&home, &engine, "life.org", &without).await;
    assert_eq!(tier(&engine, "canoe"), "block");
    pull(&home, &engine, "other.org", "* Other\n").await;
    assert_eq!(waits(&engine), [""; 0], "a heading that is gone needs nothing");
    pull(&home, &engine, "other.org", &refiled).await;
    let line = the(&engine, "waiting");
    assert!(line.text.contains("PP_PRIVACY = block under “Canoe” (canoe), taken away"), "{line:?}");
    confirm(&home, &engine, &line.id).await;
    assert_eq!((tier(&engine, "canoe"), tier(&engine, "health")), ("open", "block"));

    // In a buffer, without an id, and after other changes that were not saved either.
    let file = home.file("life.org");
    let typed = |text: &str| engine.take_buffer(&file, text.into(), &|| true).expect("it can be read");
    typed(&without.replace("Silver.", "Silver and gold."));
    let diet = "** Diet\nBread.\n";
    typed(&format!("{}* Diet\nBread.\n", without.replace(diet, "")));
    assert_eq!(tier(&engine, "Diet"), "block");
    // What is typed there anew was never private on the disk.
    typed(&without.replace(diet, "** Diet\nBread.\n** Plan\nSoup.\n"));
    assert_eq!(tier(&engine, "Plan"), "block");
    typed(&without.replace(diet, "** Diet\nBread.\n* Plan\nSoup.\n"));
    assert_eq!(tier(&engine, "Plan"), "open");
}

/// Reads some files as they are now.
async fn read(home: &Home, engine: &Arc<Engine>, names: &[&str]) {
    let paths: Vec<_> = names.iter().map(|name| std::path::PathBuf::from(home.file(name))).collect();
    let reads = engine.clone();
    tokio::task::spawn_blocking(move || drop(reads.read_changed(&paths))).await.expect("it is read");
}

/// Returns how private what stands in a file is where its text holds some words.
fn tier_in(home: &Home, engine: &Engine, name: &str, words: &str) -> &'static str {
    let (view, file) = (engine.view(), home.file(name));
    let at = view.text(&file).and_then(|text| text.find(words)).unwrap_or_else(|| panic!("{words} stands in {name}"));
    let card = view.card(&file).expect("it is there");
    card.privacy(card.at(at)).word()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_is_put_on_another_heading_takes_no_label_away() {
    let id = ":PROPERTIES:\n:ID: health\n:END:\n";
    let before = format!("* Health :private:\n{id}Silver.\n");
    let cases: [(&str, String, String); 8] = [
        ("below the decoy", format!("* Decoy\n{id}* Health\nSilver.\n"), String::new()),
        ("a decoy that is private", format!("* Decoy :private:\n{id}* Health\nSilver.\n"), String::new()),
        ("the same title", format!("* Health\n{id}* Health\nSilver.\n"), String::new()),
        ("the same id twice", format!("* Decoy\n{id}* Health\n{id}Silver.\n"), String::new()),
        ("and another title", format!("* Decoy\n{id}* Illness\n{id}Silver.\n"), String::new()),
        ("in another file", "* Health\nSilver.\n".into(), format!("* Decoy\n{id}")),
        ("private there", "* Health\nSilver.\n".into(), format!("* Decoy :private:\n{id}")),
        ("the same id there", format!("* Health\n{id}Silver.\n"), format!("* Decoy\n{id}")),
    ];
    for (case, life, other) in cases {
        for order in [["life.org", "other.org"], ["other.org", "life.org"]] {
            let home = Home::new(&[("life.org", &before), ("other.org", "* Other\n")]);
            let engine = engine(&home).await;
            assert_eq!(waits(&engine), [""; 0]);
            std::fs::write(home.file("life.org"), &life).expect("a file");
            std::fs::write(home.file("other.org"), format!("* Other\n{other}")).expect("a file");
            for name in order {
                read(&home, &engine, &[name]).await;
            }
            assert_eq!(tier_in(&home, &engine, "life.org", "Silver"), "block", "{case} {order:?}");
            // Nor is it let go with the decoy of another file, which is all that was shown.
            for rule in engine.rules().into_iter().filter(|rule| rule.state == "waiting") {
                if !rule.text.contains("life.org") {
                    confirm(&home, &engine, &rule.id).await;
                }
            }
            read(&home, &engine, &["life.org"]).await;
            assert_eq!(tier_in(&home, &engine, "life.org", "Silver"), "block", "{case} {order:?}");
            let line = the(&engine, "waiting");
            confirm(&home, &engine, &line.id).await;
            assert_eq!(tier_in(&home, &engine, "life.org", "Silver"), "open", "{case} {order:?}");
            engine.close().await;
        }
    }
    // What is called alike and was always open stays so.
    let home = Home::new(&[("life.org", &format!("{before}* Health\nTea.\n* Note :private:\n* Note\nMilk.\n"))]);
    let engine = engine(&home).await;
    for words in ["Tea", "Milk"] {
        assert_eq!(tier_in(&home, &engine, "life.org", words), "open", "{words}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_let_go_before_it_is_saved_has_the_rest_of_the_file_watched_still() {
    let other = "* Other :private:\n** Sub\nBread and butter.\n";
    let home = Home::new(&[("life.org", &format!("{NOTES}{other}"))]);
    let engine = engine(&home).await;
    let file = home.file("life.org");
    let typed = |text: String| engine.take_buffer(&file, text.into(), &|| true).expect("it can be read");
    let open = NOTES.replace(" :private:", "");
    typed(format!("{open}{other}"));
    assert_eq!(tier(&engine, "Diet"), "block");
    confirm(&home, &engine, &the(&engine, "waiting").id).await;
    assert_eq!((tier(&engine, "health"), tier(&engine, "Diet"), tier(&engine, "Sub")), ("open", "open", "block"));
    typed(format!("{open}* Sub\nBread and butter.\n* Other :private:\n"));
    assert_eq!((tier(&engine, "health"), tier(&engine, "Diet"), tier(&engine, "Sub")), ("open", "open", "block"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_edit_lets_go_nothing_of_another_file() {
    let heading = |tag: &str, id: &str| format!("* A{tag}\n:PROPERTIES:\n:ID: {id}\n:END:\nSilver.\n");
    let home = Home::new(&[("f.org", &heading(" :private:", "a")), ("g.org", "* G\n")]);
    let open = "* A\nTea.\n* B\n";
    let server =
        FakeServer::start([calls("write-file", json!({"path": home.file("f.org"), "content": open})), says("Done.")]);
    let engine = home.served(&server, &["fake"], true).await;
    home.read(&engine).await;
    std::fs::write(home.file("f.org"), "* B\n").expect("a file");
    std::fs::write(home.file("g.org"), format!("* G\n{}", heading("", "a"))).expect("a file");
    read(&home, &engine, &["f.org", "g.org"]).await;
    assert_eq!(tier(&engine, "a"), "block");
    pull(&home, &engine, "f.org", &open.replace("* A", "* A :private:")).await;
    assert_eq!(ending(&home, &engine).await, Ending::Parked);
    home.approve(&engine, &waiting(&engine)).await.expect("the approval counts");
    assert_eq!(tier(&engine, "a"), "block", "nothing of it was shown");
    assert_eq!(tier_in(&home, &engine, "f.org", "Tea"), "open", "this is what was approved");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_renamed_and_changed_at_once_keeps_what_was_taken_away_from_it() {
    let long = "Silver.\n** Below\nGold.\n";
    for (before, after) in [
        (format!("* Health :private:\n{long}* Open\nTea.\n"), format!("* Health\n{long}* Open\nTea and more.\n")),
        (format!("#+FILETAGS: :private:\n* Health\n{long}"), format!("* Health\n{long}* More\n")),
        (format!("* Health :private:\n{long}"), "* Health\nSilver and more.\n** Below\nGold.\n".into()),
    ] {
        let home = Home::new(&[("life.org", &before), ("z.org", "* Z\n")]);
        let engine = engine(&home).await;
        std::fs::remove_file(home.file("life.org")).expect("it goes");
        std::fs::write(home.file("health.org"), &after).expect("a file");
        std::fs::write(home.file("new.org"), "* Other\nTea.\n").expect("a file");
        read(&home, &engine, &["life.org", "health.org", "new.org"]).await;
        for words in ["Silver", "Gold"] {
            assert_eq!(tier_in(&home, &engine, "health.org", words), "block", "{before}{after}");
        }
        assert_eq!(tier_in(&home, &engine, "new.org", "Tea"), "open");
        assert!(the(&engine, "waiting").text.contains("health.org"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_is_taken_away_in_a_buffer_is_held_at_once_and_one_that_is_typed_is_none_yet() {
    let home = Home::new(&[("life.org", NOTES)]);
    let engine = engine(&home).await;
    let file = home.file("life.org");
    let typed = |text: &str| engine.take_buffer(&file, text.into(), &|| true).expect("it can be read");
    for tag in [" :privat:", " :priva:", ""] {
        typed(&NOTES.replace(" :private:", tag));
        assert_eq!(tier(&engine, "health"), "block", "{tag}");
    }
    let log = || engine.log_lines(1_000).into_iter().filter(|line| line.text.contains("was taken away")).count();
    assert_eq!(log(), 0, "nothing is said before it is saved");
    typed(NOTES);
    for tag in [" :private:", ""] {
        typed(&NOTES.replace("* Garden", &format!("* Garden{tag}")));
    }
    assert_eq!((tier(&engine, "garden"), waits(&engine).len(), log()), ("open", 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_renamed_keeps_what_was_taken_away_from_it() {
    let before = "#+FILETAGS: :private:\n* A\nText.\n* B :journal:\nMore.\n";
    let home = Home::new(&[("life.org", before)]);
    let engine = engine(&home).await;
    let open = "* A\nText.\n* B\nMore.\n";
    pull(&home, &engine, "life.org", open).await;
    std::fs::rename(home.file("life.org"), home.file("new.org")).expect("it is renamed");
    let paths = ["life.org", "new.org"].map(|name| std::path::PathBuf::from(home.file(name)));
    let reads = engine.clone();
    tokio::task::spawn_blocking(move || drop(reads.read_changed(&paths))).await.expect("it is read");
    assert_eq!((tier(&engine, "A"), tier(&engine, "B")), ("block", "block"));
    let line = the(&engine, "waiting");
    assert!(line.text.contains("new.org"), "{line:?}");
    confirm(&home, &engine, &line.id).await;
    assert_eq!((tier(&engine, "A"), tier(&engine, "B")), ("open", "open"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_goes_to_no_model_elsewhere_and_is_moved_only_with_a_yes() {
    let notes = "* Health :private:\nThe canoe result is ZANZIBAR7.\n* Shopping\n:PROPERTIES:\n:ID: shopping\n:END:\nThe canoe paint.\n";
    let home = Home::new(&[("life.org", notes), ("open.org", "* Open\n:PROPERTIES:\n:ID: open\n:END:\n")]);
    let id = format!("{}::*Health", home.file("life.org"));
    let server = FakeServer::start([says("Hello."), calls("memory-read", json!({"id": id})), says("I may not.")]);
    let engine = home.served(&server, &["fake"], false).await;
    home.read(&engine).await;
    pull(&home, &engine, "life.org", &notes.replace(" :private:", "")).await;
    let _ = home.ask(&engine, "good morning").await;
    home.approve(&engine, &waiting(&engine)).await.expect("the first contact");
    let _ = home.ask(&engine, "what about the canoe result?").await;
    let sent: String = server.requests().iter().map(|request| request.json().to_string()).collect();
    assert!(sent.contains("canoe paint") && !sent.contains("ZANZIBAR7"), "{sent}");
    let counted: Vec<String> = engine.kept_back().into_iter().map(|(tag, _)| tag).collect();
    assert!(counted.contains(&"a label that was taken away".to_string()), "{counted:?}");
    let files = engine.scope(&SessionId("s".into()), None, false).held;
    assert_eq!(files.into_values().collect::<Vec<_>>(), [Privacy::Private]);

    let local = FakeServer::start([calls("org-move", json!({"id": id, "parent": "open"})), says("Done.")]);
    engine.close().await;
    drop(engine);
    let engine = home.served(&local, &["fake"], true).await;
    home.read(&engine).await;
    assert_eq!(ending(&home, &engine).await, Ending::Parked);
    let plan = waiting(&engine);
    assert!(plan.asks().iter().any(|(_, why)| why.contains("would no longer be private")), "{:?}", plan.asks());
    home.approve(&engine, &plan).await.expect("the approval counts");
    assert_eq!(tier(&engine, "Health"), "open");
    assert_eq!(waits(&engine), [""; 0], "nobody is asked twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_edit_lets_go_the_label_that_it_takes_away_and_no_other() {
    let notes = "* A :private:\n:PROPERTIES:\n:ID: a\n:END:\nText.\n** C\nMore.\n* B :private:\n:PROPERTIES:\n:ID: b\n:END:\nLess.\n";
    let home = Home::new(&[("life.org", notes)]);
    let open = "* A\n:PROPERTIES:\n:ID: a\n:END:\nText.\n** C\nMore.\n* B\n:PROPERTIES:\n:ID: b\n:END:\nLess.\n";
    let server = FakeServer::start([
        calls("write-file", json!({"path": home.file("life.org"), "content": open})),
        says("Done."),
    ]);
    let engine = home.served(&server, &["fake"], true).await;
    home.read(&engine).await;
    pull(&home, &engine, "life.org", &notes.replace("* B :private:", "* B")).await;
    assert_eq!(waits(&engine).len(), 1);
    assert_eq!(ending(&home, &engine).await, Ending::Parked);
    home.approve(&engine, &waiting(&engine)).await.expect("the approval counts");
    assert_eq!(home.read_file("life.org"), open);
    assert_eq!((tier(&engine, "a"), tier(&engine, "C"), tier(&engine, "b")), ("open", "open", "block"));
    let left = the(&engine, "waiting").text;
    assert!(left.contains("under “B” (b)") && !left.contains("(a)"), "{left}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_private_or_known_touches_no_store_and_a_setting_is_the_users_own() {
    let home = Home::new(&[("life.org", NOTES)]);
    let engine = engine(&home).await;
    let begin = engine.log_lines(1_000).len();
    for n in 0..3 {
        pull(&home, &engine, "life.org", &format!("{NOTES}* More {n}\n")).await;
    }
    assert_eq!(waits(&engine), [""; 0]);
    assert!(!engine.log_lines(1_000).iter().skip(begin).any(|line| line.text.contains("was taken away")));
    engine.close().await;
    drop(engine);
    // A tag that the user's own settings no longer name makes nothing private, and nothing waits.
    let engine = home.engine_with(|config| config.private_tags = vec!["journal".into()]).await;
    home.read(&engine).await;
    assert_eq!((tier(&engine, "health"), waits(&engine).len()), ("open", 0));
}
