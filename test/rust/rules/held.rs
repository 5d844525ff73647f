//! What tightens and is taken away goes on counting until the user lets it go.

use super::*;

const WORK: &str = "* Office\n:PROPERTIES:\n:ID: office\n:PP_DENY: memory-read\n:PP_BUDGET: 5000\n:END:\n\
** Call\n:PROPERTIES:\n:ID: call\n:END:\nSilver.\n* Garden\n:PROPERTIES:\n:ID: garden\n:END:\n";

/// Writes a file of the memex as a pull does, and lets the engine notice.
pub(super) async fn pull(home: &Home, engine: &Arc<Engine>, name: &str, text: &str) {
    let path = std::path::PathBuf::from(home.file(name));
    std::fs::write(&path, text).expect("a file");
    let reader = engine.clone();
    tokio::task::spawn_blocking(move || drop(reader.read_changed(&[path]))).await.expect("it is read");
}

fn without(lines: &[&str]) -> String {
    WORK.lines()
        .filter(|line| !lines.iter().any(|gone| line.starts_with(gone)))
        .map(|line| format!("{line}\n"))
        .collect()
}

fn waits(engine: &Engine) -> Vec<String> {
    engine.rules().into_iter().filter(|rule| rule.state == "waiting").map(|rule| rule.text).collect()
}

/// A server that has the model read a heading, some times.
async fn reader(home: &Home, id: &str, times: usize) -> (FakeServer, Arc<Engine>) {
    let script = (0..times).flat_map(|_| [calls("memory-read", json!({"id": id})), says("So be it.")]);
    let server = FakeServer::start(script.collect::<Vec<_>>());
    let engine = home.served(&server, &["fake"], true).await;
    (server, engine)
}

/// Returns why reading was refused; empty when it was not.
async fn refusal(home: &Home, engine: &Arc<Engine>) -> String {
    let (finished, _) = home.ask(engine, "please").await;
    let said = format!("{:?}", finished.report.deeds);
    if said.contains("denies memory-read") || said.contains("You set memory-read") { said } else { String::new() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_a_pull_takes_away_counts_until_the_user_lets_it_go() {
    let home = Home::new(&[("work.org", WORK)]);
    let (server, engine) = reader(&home, "call", 5).await;
    assert_eq!(waits(&engine), [""; 0], "what is seen first is never asked about");
    pull(&home, &engine, "work.org", &without(&[":PP_"])).await;
    let why = refusal(&home, &engine).await;
    assert!(why.contains("“Office”, by a line that was taken away from it"), "{why}");
    let waiting = the(&engine, "waiting");
    for line in ["PP_DENY = memory-read under “Office” (office), taken away", "PP_BUDGET = 5000 under “Office”"]
    {
        assert!(waiting.text.contains(line), "one confirmation names each line: {waiting:?}");
    }
    engine.close().await;
    drop(engine);

    let engine = home.served(&server, &["fake"], true).await;
    assert!(!refusal(&home, &engine).await.is_empty(), "it outlives the program");
    assert_eq!(the(&engine, "waiting").id, waiting.id);
    let shown = engine.propose_rule(&origin(), &waiting.id, engine.new_turn()).await.expect("it is shown");
    let plan = engine.plan(&shown.report.plans[0].0).expect("the plan is known");
    assert!(plan.body.contains("PP_DENY = memory-read") && plan.body.contains("PP_BUDGET = 5000"), "{}", plan.body);
    home.deny(&engine, &plan, "").await.expect("the denial counts");
    assert!(!refusal(&home, &engine).await.is_empty(), "a denial leaves it");
    confirm(&home, &engine, &waiting.id).await;
    assert_eq!(refusal(&home, &engine).await, "");
    assert_eq!(waits(&engine), [""; 0]);
    engine.close().await;
    drop(engine);
    let engine = home.served(&server, &["fake"], true).await;
    assert_eq!(waits(&engine), [""; 0], "what was let go is forgotten for good");
    // It comes, and goes: then it is a line like any other.
    pull(&home, &engine, "work.org", WORK).await;
    pull(&home, &engine, "work.org", &without(&[":PP_"])).await;
    assert_eq!(waits(&engine).len(), 1, "the confirmation held for that one time");
    assert!(!refusal(&home, &engine).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_comes_back_ends_the_waiting_and_a_weaker_one_waits() {
    let home = Home::new(&[("work.org", WORK)]);
    let (_server, engine) = reader(&home, "call", 3).await;
    let cases: [(&str, &[&str]); 8] = [
        (":PP_DENY: shell\n:PP_BUDGET: 5000", &["PP_DENY = memory-read shell under “Office” (office), now shell"]),
        (":PP_DENY: memory-read shell\n:PP_BUDGET: 5000", &[]),
        (":PP_DENY: memory-read shell\n:PP_BUDGET: 9000", &["PP_BUDGET = 5000 under “Office” (office), now 9000"]),
        (":PP_DENY: *\n:PP_BUDGET: 400", &[]),
        (":PP_DENY+: *\n:PP_BUDGET: 400", &[]),
        (":PP_DENY: memory-read\n:PP_BUDGET: 400", &["PP_DENY = *"]),
        ("#", &["PP_BUDGET = 400", "PP_DENY = *"]),
        (":PP_DENY: *\n:PP_BUDGET: 400", &[]),
    ];
    for (lines, expected) in cases {
        let text = WORK.replace(":PP_DENY: memory-read\n:PP_BUDGET: 5000", lines).replace("#\n", "");
        pull(&home, &engine, "work.org", &text).await;
        let said = waits(&engine).join("\n");
        assert_eq!(said.is_empty(), expected.is_empty(), "{lines}: {said}");
        assert!(expected.iter().all(|part| said.contains(part)), "{lines}: {said}");
        assert_eq!(said.contains("PP_DENY"), expected.iter().any(|part| part.contains("PP_DENY")), "{lines}: {said}");
    }
    // What stands there instead was shown, and needs no second confirmation.
    let nested = WORK.replace(":ID: call\n", ":ID: call\n:PP_BUDGET: 300\n");
    pull(&home, &engine, "work.org", &nested.replace("memory-read", "*").replace("5000", "400")).await;
    pull(&home, &engine, "work.org", &nested.replace("memory-read", "*").replace("5000", "400").replace("300", "900"))
        .await;
    let waiting = the(&engine, "waiting");
    assert!(waiting.text.contains("PP_BUDGET = 300 under “Call” (call), now 900"), "{waiting:?}");
    confirm(&home, &engine, &waiting.id).await;
    assert_eq!(waits(&engine), [""; 0]);
    assert!(the(&engine, "confirmed").text.contains("PP_BUDGET = 900"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heading_that_goes_takes_its_lines_along_and_brings_them_back() {
    let home = Home::new(&[("work.org", WORK)]);
    let (_server, engine) = reader(&home, "office", 3).await;
    let garden = "* Garden\n:PROPERTIES:\n:ID: garden\n:END:\n";
    pull(&home, &engine, "work.org", garden).await;
    assert_eq!(waits(&engine), [""; 0], "nothing is left that it could protect");
    // Under another title, in another file, without its lines.
    let elsewhere = without(&[":PP_", "* Garden"]).replace("* Office", "* Bureau");
    pull(&home, &engine, "else.org", &elsewhere).await;
    assert!(the(&engine, "waiting").text.contains("under “Bureau” (office), taken away"));
    assert!(!refusal(&home, &engine).await.is_empty());
    std::fs::remove_file(home.file("else.org")).expect("it goes");
    let path = std::path::PathBuf::from(home.file("else.org"));
    let reads = engine.clone();
    tokio::task::spawn_blocking(move || drop(reads.read_changed(&[path]))).await.expect("it is read");
    assert_eq!(waits(&engine), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heading_that_loses_its_id_with_its_line_is_known_by_its_path() {
    let home = Home::new(&[("work.org", WORK)]);
    let (_server, engine) = reader(&home, "call", 3).await;
    pull(&home, &engine, "work.org", &without(&[":PP_", ":ID: office"])).await;
    assert!(!refusal(&home, &engine).await.is_empty());
    assert!(the(&engine, "waiting").text.contains("work.org::*Office”, taken away"), "{:?}", waits(&engine));
    pull(&home, &engine, "work.org", &without(&[":PP_"]).replace("ID: office", "ID: other")).await;
    let waiting = the(&engine, "waiting");
    assert!(waiting.text.contains("under “Office” (other), taken away"), "{waiting:?}");
    // The line comes to the new id, and goes from there: it is one line all the same.
    pull(&home, &engine, "work.org", &WORK.replace("ID: office", "ID: other")).await;
    assert_eq!(waits(&engine), [""; 0]);
    pull(&home, &engine, "work.org", &without(&[":PP_"]).replace("ID: office", "ID: other")).await;
    let waiting = the(&engine, "waiting");
    assert_eq!(waiting.text.matches("PP_DENY").count(), 1, "{waiting:?}");
    assert!(!refusal(&home, &engine).await.is_empty());
    confirm(&home, &engine, &waiting.id).await;
    assert_eq!((waits(&engine).len(), refusal(&home, &engine).await.as_str()), (0, ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heading_below_that_lost_a_line_that_adds_still_binds_what_takes_all_of_it() {
    let notes =
        "* Box\n:PROPERTIES:\n:ID: box\n:END:\n** Inside\n:PROPERTIES:\n:PP_DENY+: memory-read\n:END:\nSilver.\n";
    let home = Home::new(&[("box.org", notes)]);
    let (_server, engine) = reader(&home, "box", 2).await;
    assert!(!refusal(&home, &engine).await.is_empty());
    pull(&home, &engine, "box.org", &notes.replace(":PP_DENY+: memory-read\n", "")).await;
    assert!(!refusal(&home, &engine).await.is_empty());
    assert_eq!(waits(&engine).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_a_whole_file_and_one_that_is_being_typed() {
    let whole = "#+PROPERTY: PP_DENY memory-read\n* Call\n:PROPERTIES:\n:ID: call\n:END:\n";
    let home = Home::new(&[("work.org", whole), ("open.org", "* Open\n:PROPERTIES:\n:ID: open\n:END:\n")]);
    let (_server, engine) = reader(&home, "call", 2).await;
    pull(&home, &engine, "work.org", &whole.replace("#+PROPERTY: PP_DENY memory-read\n", "")).await;
    assert!(!refusal(&home, &engine).await.is_empty());
    assert!(the(&engine, "waiting").text.contains("PP_DENY = memory-read, taken away"));
    pull(&home, &engine, "work.org", whole).await;
    for typed in ["5", "50", "500", ""] {
        let text = format!("* Open\n:PROPERTIES:\n:ID: open\n:PP_BUDGET: {typed}\n:END:\n");
        engine.take_buffer(&home.file("open.org"), text.into(), &|| true).expect("it can be read");
        assert_eq!(waits(&engine), [""; 0], "a line that is being typed is none yet");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_edit_lets_go_what_it_takes_away_and_nothing_else() {
    let home = Home::new(&[("work.org", WORK)]);
    let deny = |value: &str| {
        let args = json!({"id": "office", "property": "PP_DENY", "value": value});
        calls("org-set-property", args)
    };
    let server = FakeServer::start([deny("shell"), says("Done."), mark("garden", "TODO"), says("Done.")]);
    let engine = home.served(&server, &["fake"], true).await;
    pull(&home, &engine, "work.org", &without(&[":PP_BUDGET"])).await;
    assert_eq!(waits(&engine).len(), 1);
    assert_eq!(ending(&home, &engine).await, Ending::Parked);
    home.approve(&engine, &waiting(&engine)).await.expect("the approval counts");
    let text = home.read_file("work.org");
    assert!(text.contains("shell") && !text.contains("memory-read"), "{text}");
    let left = waits(&engine).join("\n");
    assert!(left.contains("PP_BUDGET = 5000") && !left.contains("PP_DENY"), "nobody is asked twice: {left}");
    // An edit that takes nothing away lets nothing go.
    assert_eq!(ending(&home, &engine).await, Ending::Parked);
    home.approve(&engine, &waiting(&engine)).await.expect("the approval counts");
    assert!(waits(&engine).join("\n").contains("PP_BUDGET = 5000"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_an_edit_makes_void_without_saying_so_is_held() {
    let home = Home::new(&[("work.org", WORK)]);
    // The lines stand there as before, and are no drawer any more.
    let content =
        WORK.replace("* Office\n:PROPERTIES:", "* Office\nText.\n\n:PROPERTIES:").replace(":ID: office\n", "");
    let server = FakeServer::start([
        calls("write-file", json!({"path": home.file("work.org"), "content": content})),
        says("Done."),
        calls("memory-read", json!({"id": "call"})),
        says("So be it."),
    ]);
    let engine = home.served(&server, &["fake"], true).await;
    assert_eq!(ending(&home, &engine).await, Ending::Parked);
    home.approve(&engine, &waiting(&engine)).await.expect("the approval counts");
    assert!(home.read_file("work.org").contains("Text."), "{}", home.read_file("work.org"));
    let left = waits(&engine).join("\n");
    assert!(left.contains("PP_DENY = memory-read") && left.contains("PP_BUDGET = 5000"), "{left}");
    assert!(!refusal(&home, &engine).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_taken_away_counts_until_the_user_lets_it_go() {
    let home = Home::new(&[("work.org", &WORK.replace(":PP_DENY: memory-read\n", ""))]);
    let rows = |rows: &str| rule(&home, &format!("| tool | level |\n{rows}"));
    rows("| memory-read | deny |\n| org-set-todo | deny |\n");
    let (_server, engine) = reader(&home, "call", 5).await;
    assert_eq!(waits(&engine), [""; 0]);
    rows("| memory-read | allow |\n");
    let waiting = the(&engine, "waiting");
    for part in ["memory-read = deny, now allow", "org-set-todo = deny, taken away"] {
        assert!(waiting.text.contains(part), "{waiting:?}");
    }
    assert!(refusal(&home, &engine).await.contains("You set memory-read to deny"));
    std::fs::remove_file(home.config().settings.join("rules.org")).expect("it goes");
    assert!(!refusal(&home, &engine).await.is_empty(), "also when the whole file is gone");
    rows("| memory-read | deny |\n| org-set-todo | deny |\n");
    assert_eq!(waits(&engine), [""; 0], "what comes back ends the waiting");
    rows("| org-set-todo | deny |\n");
    let stale = engine.propose_rule(&origin(), &the(&engine, "waiting").id, engine.new_turn()).await.expect("shown");
    rows("");
    let plan = engine.plan(&stale.report.plans[0].0).expect("the plan is known");
    let _ = home.approve(&engine, &plan).await;
    assert!(!matches!(status(&engine, &plan), PlanStatus::Done(_)), "{:?}", status(&engine, &plan));
    assert!(!refusal(&home, &engine).await.is_empty(), "what is missing now was not shown");
    rows("| memory-read | ask |\n");
    confirm(&home, &engine, &the(&engine, "waiting").id).await;
    assert_eq!(waits(&engine), [""; 0]);
    assert_eq!(ending(&home, &engine).await, Ending::Parked, "the weaker row counts");
    let id = super::waiting(&engine);
    home.deny(&engine, &id, "").await.expect("the denial counts");
    rows("");
    assert!(the(&engine, "waiting").text.contains("memory-read = ask, taken away"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_heading_that_lost_a_line_is_not_named_in_the_log() {
    let notes = "* Divorce lawyer :private:\n:PROPERTIES:\n:ID: d\n:PP_DENY: shell\n:END:\n";
    let home = Home::new(&[("life.org", notes)]);
    let engine = home.engine().await;
    home.read(&engine).await;
    pull(&home, &engine, "life.org", &notes.replace(":PP_DENY: shell\n", "")).await;
    let waiting = the(&engine, "waiting");
    assert!(waiting.text.contains("Divorce"), "the user is shown which: {waiting:?}");
    confirm(&home, &engine, &waiting.id).await;
    let log: String = engine.log_lines(1000).into_iter().map(|line| line.text + "\n").collect();
    assert!(!log.contains("Divorce") && log.contains("what was taken away"), "{log}");
    let kept = format!("{:?}", engine.decisions(None, 1_000).await.expect("the audit"));
    assert!(!kept.contains("Divorce"), "{kept}");
}
