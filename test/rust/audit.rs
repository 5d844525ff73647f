//! Every decision leaves a record that only grows, tells who decided, and is part of what the store proves.

use crate::cli::run;
use crate::support::engine::{Home, origin, provide, waiting};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use passepartout::domain::audit::{Decider, Entry, Ruling};
use passepartout::domain::scope::Level;
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::boot::{Boot, start};
use passepartout::edge::engine::time::Wish;
use passepartout::edge::secret::Vault;
use serde_json::{Value, json};

const NOTES: &str =
    "* Kitchen\n:PROPERTIES:\n:ID: kitchen\n:END:\n** TODO Order tiles\n:PROPERTIES:\n:ID: tiles\n:END:\n";
const DIARY: &str = "* Diary :private:\n:PROPERTIES:\n:ID: diary\n:END:\nZANZIBAR7\n";

fn calls(tool: &str, mut args: Value) -> Reply {
    args["explanation"] = json!("The user asked for exactly this.");
    Reply::answer(Dialect::OpenAi, &[], &[("c1", tool, args)])
}

fn says(text: &str) -> Reply {
    Reply::answer(Dialect::OpenAi, &[text], &[])
}

fn mark(state: &str) -> Reply {
    calls("org-set-todo", json!({"id": "tiles", "state": state}))
}

/// Returns the decisions, oldest first.
async fn decisions(engine: &Engine) -> Vec<Entry> {
    let mut entries = engine.decisions(None, 1_000).await.expect("the audit is read");
    entries.reverse();
    entries
}

fn told(entries: &[Entry]) -> Vec<(Ruling, Decider)> {
    entries.iter().map(|entry| (entry.decision.ruling, entry.decision.decider.clone())).collect()
}

fn you() -> Decider {
    Decider::Human("Emacs".to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn approvals_denials_refusals_and_expiry_are_written_with_who_decided() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start([
        mark("DONE"),
        says("Done."),
        mark("TODO"),
        says("Then not."),
        calls("read-file", json!({"path": "~/.ssh/id_rsa"})),
        says("I may not."),
        mark("TODO"),
    ]);
    let engine = home.served(&server, &["fake"], true).await;
    let _ = home.ask(&engine, "one").await;
    let approved = waiting(&engine);
    home.approve(&engine, &approved).await.expect("the approval counts");
    let _ = home.ask(&engine, "two").await;
    home.deny(&engine, &waiting(&engine), "no").await.expect("the denial counts");
    let _ = home.ask(&engine, "three").await;
    let _ = home.ask(&engine, "four").await;
    let expired = waiting(&engine);
    home.clock.advance(24 * 30);
    engine.expire_plans().await.expect("it is stored");

    let entries = decisions(&engine).await;
    let expected = [
        (Ruling::Asked, Decider::Gates),
        (Ruling::Approved, you()),
        (Ruling::Asked, Decider::Gates),
        (Ruling::Denied, you()),
        (Ruling::Refused, Decider::Gates),
        (Ruling::Asked, Decider::Gates),
        (Ruling::Expired, Decider::Nobody("its time ran out before anybody decided".to_string())),
    ];
    assert_eq!(told(&entries), expected);
    let first = &entries[1].decision;
    assert_eq!(first.plan, Some(approved.id.clone()));
    assert_eq!((first.action, first.facts), (Some(approved.action.hash()), Some(approved.facts)));
    assert!(first.objections.iter().any(|objection| objection.gate == "permissions"), "{first:?}");
    assert!(entries[4].decision.objections.iter().any(|objection| objection.verdict == "deny"));

    let why = engine.why(Some(&approved.id.0)).await.expect("it is explained");
    assert!(why.contains("The gate permissions asked: By default org-set-todo asks first."), "{why}");
    assert!(why.contains("Approved by you, in Emacs."), "{why}");
    let last = engine.why(None).await.expect("it is explained");
    assert!(
        last.contains("Nothing was done: its time ran out") && last.contains("with the tool org-set-todo"),
        "{last}"
    );
    assert!(engine.why(Some(&expired.id.0.to_lowercase())).await.is_ok(), "case makes no difference");
    assert!(engine.why(Some("P0")).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_every_gate_let_pass_is_explained_from_its_trace() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start([calls("memory-read", json!({"id": "tiles"})), says("White.")]);
    let engine = home.served(&server, &["fake"], true).await;
    assert_eq!(engine.why(None).await, Err("nothing has been decided yet".to_string()));
    let _ = home.ask(&engine, "which?").await;
    let why = engine.why(None).await.expect("it is explained");
    assert!(why.contains("with the tool memory-read") && why.contains("Every gate let it pass"), "{why}");
    assert_eq!(decisions(&engine).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_acts_without_asking_is_written_with_what_let_it_pass() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start([
        calls("shell", json!({"command": "ls"})),
        says("Nothing."),
        calls("write-file", json!({"path": home.project("a.txt"), "content": "x"})),
        says("Done."),
        calls("read-file", json!({"path": home.project("a.txt")})),
        says("It says x."),
    ]);
    let engine = home
        .engine_with(|config| {
            provide(config, &[("fake", &server, true)], &["fake"]);
            config.permissions.insert("write-file".into(), Level::Allow);
            config.permissions.insert("read-file".into(), Level::Allow);
            config.allowed_hosts.push(".example.org".into());
        })
        .await;
    home.read(&engine).await;
    for words in ["one", "two", "three"] {
        let _ = home.ask(&engine, words).await;
    }
    let setting = Decider::Setting("the level allow of write-file".to_string());
    let expected = [(Ruling::Passed, Decider::Gates), (Ruling::Passed, setting.clone())];
    let entries = decisions(&engine).await;
    assert_eq!(told(&entries), expected, "what only reads stands in the trace of its turn");
    let line = entries[1].decision.line();
    assert!(line.ends_with("(the gates, by the level allow of write-file that you set)"), "{line}");
    let why = engine.why(Some(&entries[1].seq.to_string())).await.expect("it is explained");
    assert!(why.contains("You set the level allow of write-file, and every gate let it pass"), "{why}");
    let why = engine.why(Some(&entries[0].seq.to_string())).await.expect("it is explained");
    assert!(why.contains("Every gate let it pass, so nobody was asked."), "{why}");

    // Each such setting is in the list, with where it is taken back; one that is no looser than the usual is not.
    let set: Vec<_> = engine.rules().into_iter().filter(|rule| rule.state == "set").collect();
    let ids: Vec<&str> = set.iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(ids, ["write-file", ".example.org"]);
    assert!(set[0].text.contains("write-file = allow, not the usual ask") && set[0].text.contains("permissions"));
    let refused = engine.withdraw_rule(&origin(), ".example.org").await.expect_err("it is taken back where it is set");
    assert!(refused.contains("ALLOWED_HOSTS"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_what_is_private_or_secret_only_kind_and_place_are_kept() {
    let home = Home::new(&[("home.org", NOTES), ("diary.org", DIARY)]);
    let key = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
    let server = FakeServer::start([
        calls("org-set-property", json!({"id": "diary", "property": "MOOD", "value": "ZANZIBAR7 again"})),
        says("Denied, then."),
        calls("write-file", json!({"path": home.project("a.txt"), "content": format!("token {key}")})),
        says("No."),
    ]);
    let engine = home.served(&server, &["fake"], true).await;
    let _ = home.ask(&engine, "one").await;
    home.deny(&engine, &waiting(&engine), "ZANZIBAR7 no").await.expect("the denial counts");
    let _ = home.ask(&engine, "two").await;
    let entries = decisions(&engine).await;
    assert_eq!(entries.len(), 3, "{entries:?}");
    let all = format!("{entries:?}");
    assert!(!all.contains("ZANZIBAR7") && !all.contains(&key), "{all}");
    assert_eq!(entries[1].decision.about, "org-set-property diary");
    assert!(entries[2].decision.about.starts_with("write-file /"), "{all}");
    // The words of our own tables say nothing of the note, and are shown.
    let said = |gate: &str| entries[1].decision.objections.iter().find(|o| o.gate == gate).map(|o| o.reason.as_deref());
    assert_eq!(said("permissions"), Some(Some("By default org-set-property asks first.")), "{all}");
    let others = entries[1].decision.objections.iter().filter(|objection| objection.gate != "permissions");
    assert!(others.clone().all(|objection| objection.reason.is_none()), "{all}");
    let plan = entries[1].decision.plan.clone().expect("it was a plan");
    let why = engine.why(Some(&plan.0)).await.expect("it is explained");
    assert!(why.contains("The gate permissions asked: By default org-set-property asks first."), "{why}");
    assert!(!why.contains("ZANZIBAR7"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_refused_is_told_without_the_secrets_in_it() {
    let home = Home::new(&[("home.org", NOTES)]);
    let (key, word) = (format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a"), "zebra-crossing-at-noon-4711");
    let shell = |command: String| calls("shell", json!({ "command": command }));
    let server = FakeServer::start([
        shell(format!("echo {key}")),
        shell(format!("echo {word}")),
        calls("read-file", json!({"path": "~/.ssh/id_rsa"})),
    ]);
    let mut config = home.config();
    provide(&mut config, &[("fake", &server, true)], &["fake"]);
    let vault = Vault::gather([], [("OPENAI_API_KEY".to_string(), word.to_string())], []);
    let engine = start(Boot { vault, ..home.boot(config) }).await.expect("the engine starts");
    home.read(&engine).await;
    let (first, _) = home.ask(&engine, "one").await;
    let told = engine.refusals(&first.report);
    let lines: Vec<&str> = told.iter().map(|refused| refused.text.as_str()).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].starts_with("Run: echo ") && lines[1].starts_with("Run: echo "), "{lines:?}");
    assert!(lines[2].starts_with("Read ~/.ssh/id_rsa — "), "{lines:?}");
    let all = format!("{lines:?} {:?}", first.report.deeds);
    assert!(!all.contains(&key) && !all.contains(word), "{all}");
    // What a client reads out of the store later is the same.
    let kept = engine.turns(1).await.expect("it is stored");
    assert_eq!(engine.refusals(&kept[0].report), told);
}

#[tokio::test(flavor = "multi_thread")]
async fn rewind_and_undo_move_no_decision_and_add_their_own() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start([mark("DONE"), says("Done.")]);
    let engine = home.served(&server, &["fake"], true).await;
    let _ = home.ask(&engine, "one").await;
    home.approve(&engine, &waiting(&engine)).await.expect("the approval counts");
    let before = decisions(&engine).await;
    let preview = engine.preview(&origin(), Wish::Undo(None)).await.expect("it can be undone");
    engine.carry_out(&origin(), &preview.shown, engine.new_turn(), &mut |_| {}).await.expect("it is undone");
    let after = decisions(&engine).await;
    assert_eq!(after[..before.len()], before[..]);
    assert_eq!(told(&after[before.len()..]), [(Ruling::Approved, you())]);
    assert_eq!(after.last().map(|entry| entry.decision.tool.as_str()), Some("restore"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_lists_and_checks_and_says_where_it_is_broken() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start([mark("DONE"), says("Done.")]);
    let engine = home.served(&server, &["fake"], true).await;
    let _ = home.ask(&engine, "one").await;
    let plan = waiting(&engine);
    home.approve(&engine, &plan).await.expect("the approval counts");
    engine.close().await;
    drop(engine);
    let printed = run(&home, &["audit"]);
    assert_eq!(printed.status, 0, "{printed:?}");
    let lines: Vec<&str> = printed.out.lines().collect();
    assert!(lines[0].contains("approved") && lines[0].contains("(you, in Emacs)"), "{printed:?}");
    assert!(lines[1].contains("asked") && lines[1].contains("(the gates)"), "{printed:?}");
    assert!(printed.out.contains("unbroken: "), "{printed:?}");
    let all: Value = serde_json::from_str(&run(&home, &["audit", "--json", "--limit", "1"]).out).expect("it is JSON");
    assert_eq!((all["whole"].as_bool(), all["decisions"].as_array().map(Vec::len)), (Some(true), Some(1)));
    assert_eq!(all["decisions"][0]["ruling"], "approved");
    let none = run(&home, &["audit", "--since", "2999-01-01"]);
    assert!(none.out.starts_with("Nothing has been decided yet."), "{none:?}");
    assert_eq!(run(&home, &["audit", "--since", "soon"]).status, 2);
    let why = run(&home, &["why", &plan.id.0]);
    assert!(why.out.contains("Approved by you, in Emacs."), "{why:?}");
    // What the list shows names it: the number in front, and the hash or its beginning.
    let number = |line: &str| line.split_whitespace().next().expect("a number").to_string();
    let (approved, asked) = (number(lines[0]), number(lines[1]));
    let numbered = run(&home, &["why", &approved]);
    assert_eq!((numbered.status, &numbered.out), (0, &why.out), "{numbered:?}");
    let before = run(&home, &["why", &asked]);
    assert!(before.out.contains("it waits for you as a flight plan."), "{before:?}");
    assert!(
        before.out.contains("decided later:\n- ") && before.out.contains("approved by you, in Emacs"),
        "{before:?}"
    );
    assert!(printed.out.contains(&format!("passepartout why {approved}")), "{printed:?}");
    let hash = plan.action.hash().to_hex();
    for name in [&hash[..8], &hash[..16], &hash, &hash[..12].to_uppercase()] {
        assert_eq!(run(&home, &["why", name]).out, why.out, "{name}");
    }
    for none in ["999999", "0", &hash[..7], "ffffffffffffffff"] {
        let ran = run(&home, &["why", none]);
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(ran.err.contains("passepartout audit"), "{ran:?}");
    }

    let database = rusqlite::Connection::open(home.store().join("memory.sqlite")).expect("the database opens");
    database.execute_batch("DROP TRIGGER records_hold").expect("who may write there may do that");
    let sql = "UPDATE records SET body = replace(body, 'approved', 'refused') WHERE kind = 'audit'";
    assert!(database.execute(sql, []).expect("it is changed") > 0);
    drop(database);
    let broken = run(&home, &["audit"]);
    assert_eq!(broken.status, 1, "{broken:?}");
    assert!(broken.out.contains("BROKEN"), "{broken:?}");
}
