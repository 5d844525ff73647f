//! What the user rules: tighter counts at once, looser only after the user confirmed exactly it in Emacs.

mod held;
mod labels;

use crate::support::engine::{Home, origin, provide, status, waiting};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use passepartout::domain::audit::{Decider, Ruling};
use passepartout::domain::gate::plan::PlanStatus;
use passepartout::domain::id::SessionId;
use passepartout::domain::scope::Level;
use passepartout::domain::signal::{Origin, Rights, Source};
use passepartout::domain::turn::Ending;
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::authority::Ruled;
use passepartout::edge::engine::time::{Reach, Wish};
use passepartout::edge::engine::turns::Decided;
use serde_json::{Value, json};
use std::sync::Arc;

const NOTES: &str = "* Kitchen\n:PROPERTIES:\n:ID: kitchen\n:END:\n** TODO Order tiles\n:PROPERTIES:\n:ID: tiles\n:END:\n\
** TODO Paint walls\n:PROPERTIES:\n:ID: walls\n:END:\n";

fn calls(tool: &str, mut args: Value) -> Reply {
    args["explanation"] = json!("The user asked for exactly this.");
    Reply::answer(Dialect::OpenAi, &[], &[("c1", tool, args)])
}

fn says(text: &str) -> Reply {
    Reply::answer(Dialect::OpenAi, &[text], &[])
}

fn mark(id: &str, state: &str) -> Reply {
    calls("org-set-todo", json!({"id": id, "state": state}))
}

/// Writes `rules.org` of the settings.
fn rule(home: &Home, text: &str) {
    let folder = home.config().settings;
    std::fs::create_dir_all(&folder).expect("the settings folder");
    std::fs::write(folder.join("rules.org"), text).expect("the file of rules");
}

fn the(engine: &Engine, state: &str) -> Ruled {
    let mut found: Vec<Ruled> = engine.rules().into_iter().filter(|rule| rule.state == state).collect();
    assert_eq!(found.len(), 1, "{state}: {:?}", engine.rules());
    found.remove(0)
}

/// Has the user confirm a rule in Emacs: shown as a plan, approved as a plan.
async fn confirm(home: &Home, engine: &Arc<Engine>, id: &str) {
    let parked = engine.propose_rule(&origin(), id, engine.new_turn()).await.expect("it is shown");
    assert_eq!(parked.report.ending, Ending::Parked);
    let plan = engine.plan(&parked.report.plans[0].0).expect("the plan is known");
    assert!(plan.body.contains("confirm-rule"), "{}", plan.body);
    home.approve(engine, &plan).await.expect("the approval counts");
    assert!(matches!(status(engine, &plan), PlanStatus::Done(_)), "{:?}", status(engine, &plan));
}

/// Asks, and returns how it ended and what the gates refused of it.
async fn ending(home: &Home, engine: &Arc<Engine>) -> Ending {
    home.ask(engine, "please").await.0.report.ending
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_tightens_at_once_and_loosens_after_a_confirmation_in_emacs() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start([
        calls("memory-read", json!({"id": "tiles"})),
        says("I may not."),
        mark("tiles", "DONE"),
        says("Then not."),
        mark("tiles", "DONE"),
        says("Done."),
        mark("tiles", "TODO"),
    ]);
    let engine = home.served(&server, &["fake"], true).await;
    rule(&home, "* Mine\n| tool | level |\n|---+---|\n| memory-read | deny |\n| org-set-todo | allow |\n");
    let (denied, _) = home.ask(&engine, "one").await;
    let why = format!("{:?}", denied.report.deeds);
    assert!(why.contains("You set memory-read to deny."), "{why}");

    assert_eq!(ending(&home, &engine).await, Ending::Parked, "what loosens does not count yet");
    home.deny(&engine, &waiting(&engine), "").await.expect("the denial counts");
    let loosening = the(&engine, "waiting");
    assert!(loosening.text.contains("org-set-todo = allow, not the usual ask under “Mine”"), "{loosening:?}");
    confirm(&home, &engine, &loosening.id).await;
    assert_eq!(the(&engine, "confirmed").id, loosening.id);
    assert_eq!(ending(&home, &engine).await, Ending::Answered);
    assert!(home.read_file("home.org").contains("** DONE Order tiles"));

    // Another value under the same name is another line.
    rule(&home, "* Others\n| tool | level |\n| org-set-todo | allow |\n");
    assert_eq!(ending(&home, &engine).await, Ending::Parked);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_emacs_confirms_and_nothing_that_goes_back_moves_it() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start([mark("tiles", "DONE"), says("Done."), mark("tiles", "TODO"), says("Done.")]);
    rule(&home, "| tool | level |\n| org-set-todo | allow |\n");
    let engine = home.served(&server, &["fake"], true).await;
    let id = the(&engine, "waiting").id;
    let from = |source| Origin { source, session: SessionId("other".to_string()), rights: Rights::HUMAN };
    for source in [Source::Cli, Source::Client, Source::Gateway, Source::Clock, Source::System] {
        let refused = engine.propose_rule(&from(source), &id, engine.new_turn()).await.expect_err("it is no Emacs");
        assert!(refused.contains("confirmed in Emacs"), "{refused}");
    }
    let parked = engine.propose_rule(&origin(), &id, engine.new_turn()).await.expect("it is shown");
    let plan = engine.plan(&parked.report.plans[0].0).expect("the plan is known");
    for source in [Source::Cli, Source::Client, Source::Gateway] {
        let yes = Decided::Approve { shown: plan.shown() };
        let refused = engine.decide(&from(source), &plan.id.0, yes, engine.new_turn(), &mut |_| {}).await;
        assert!(refused.is_err_and(|why| why.contains("approve it in Emacs")), "{source:?}");
    }
    assert_eq!(the(&engine, "waiting").id, id);
    home.approve(&engine, &plan).await.expect("Emacs confirms");
    assert_eq!(ending(&home, &engine).await, Ending::Answered);

    let begin = engine.decisions(None, 1_000).await.expect("the audit").len();
    let wish = Wish::Rewind(passepartout::domain::id::OperationId(1), Reach::Both);
    if let Ok(preview) = engine.preview(&origin(), wish).await {
        engine.carry_out(&origin(), &preview.shown, engine.new_turn(), &mut |_| {}).await.expect("it goes back");
    }
    assert!(engine.decisions(None, 1_000).await.expect("the audit").len() >= begin);
    assert_eq!(the(&engine, "confirmed").id, id, "what goes back moves no authority");
    engine.close().await;
    drop(engine);
    let engine = home.served(&server, &["fake"], true).await;
    assert_eq!(the(&engine, "confirmed").id, id, "it outlives the program");
    let said = engine.withdraw_rule(&from(Source::Cli), &id).await.expect("every human channel tightens");
    assert!(said.contains("does not count any more"), "{said}");
    assert_eq!(ending(&home, &engine).await, Ending::Parked);
    let last = engine.decisions(None, 3).await.expect("the audit");
    let revoked = last.iter().find(|entry| entry.decision.ruling == Ruling::Revoked).expect("it is written down");
    assert_eq!(revoked.decision.decider, Decider::Human("a terminal".to_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn while_rules_cannot_be_read_everything_asks_and_it_is_said() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start([calls("memory-read", json!({"id": "tiles"}))]);
    rule(&home, "| tool | level |\n| shel | deny |\n");
    let engine = home.served(&server, &["fake"], true).await;
    let gaps = engine.rule_gaps();
    assert!(gaps[0].contains("rules.org:2: no tool is called “shel”"), "{gaps:?}");
    assert!(engine.log_lines(100).iter().any(|line| line.text.contains("rules.org:2")));
    let (asked, _) = home.ask(&engine, "one").await;
    assert_eq!(asked.report.ending, Ending::Parked);
    assert!(asked.report.notice.is_some_and(|notice| notice.contains("Attention: ")), "the first answer says it");
    let checks = passepartout::edge::doctor::examine(&engine, None).await;
    let check = checks.iter().find(|check| check.name == "rules").expect("the doctor looks");
    assert_eq!(check.state.name(), "unhealthy");
    let asks = waiting(&engine).asks();
    assert!(asks.iter().any(|(gate, why)| gate == "rules.org: unread" && why.contains("rules.org:2")), "{asks:?}");
    // Mended, it counts at once.
    rule(&home, "| tool | level |\n| shell | deny |\n");
    assert_eq!(engine.rule_gaps(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn headings_deny_at_once_and_allow_after_a_confirmation() {
    let notes = "#+TITLE: Work\n* Office\n:PROPERTIES:\n:ID: office\n:PP_DENY: org-set-property\n:PP_ALLOW: org-set-todo\n\
                 :END:\n** TODO Call\n:PROPERTIES:\n:ID: call\n:END:\n* TODO Free\n:PROPERTIES:\n:ID: free\n:END:\n";
    let home = Home::new(&[("work.org", notes)]);
    let server = FakeServer::start([
        calls("org-set-property", json!({"id": "call", "property": "EFFORT", "value": "1"})),
        says("I may not."),
        mark("call", "DONE"),
        mark("call", "DONE"),
        says("Done."),
        mark("free", "DONE"),
        calls("org-set-property", json!({"id": "free", "property": "EFFORT", "value": "1"})),
        calls("org-set-property", json!({"id": "free", "property": "PP_ALLOW", "value": "write-file"})),
    ]);
    let engine = home.served(&server, &["fake"], true).await;
    let (denied, _) = home.ask(&engine, "one").await;
    let why = format!("{:?}", denied.report.deeds);
    assert!(why.contains("the heading “Office” denies org-set-property below it (PP_DENY)"), "{why}");
    assert_eq!(ending(&home, &engine).await, Ending::Parked);
    let loosening = the(&engine, "waiting");
    assert!(loosening.text.contains("PP_ALLOW = org-set-todo"), "{loosening:?}");
    confirm(&home, &engine, &loosening.id).await;
    let labelled = passepartout::domain::label::Labels::MODEL.trust;
    let led = labelled == passepartout::domain::label::Trust::Untrusted;
    // Where a model's words count as led from outside, nothing answers for them.
    let expected = if led { Ending::Parked } else { Ending::Answered };
    assert_eq!(ending(&home, &engine).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_whole_file_loosens_waits_like_what_a_heading_does() {
    for (name, value) in [("PP_ALLOW", "org-set-todo"), ("PP_ALLOW", "org-set-todo org-schedule")] {
        let notes = format!("#+PROPERTY: {name} {value}\n* Office\n** TODO Call\n:PROPERTIES:\n:ID: call\n:END:\n");
        let home = Home::new(&[("work.org", &notes), ("other.org", "* Other\n")]);
        let server = FakeServer::start([mark("call", "DONE"), mark("call", "DONE"), says("Done.")]);
        let engine = home.served(&server, &["fake"], true).await;
        let loosening = the(&engine, "waiting");
        assert!(loosening.text.contains(&format!("{name} = {value} in ")), "{loosening:?}");
        assert_eq!(ending(&home, &engine).await, Ending::Parked, "it does not count yet");
        confirm(&home, &engine, &loosening.id).await;
        assert!(!engine.rules().iter().any(|rule| rule.state == "waiting"));
        assert_eq!(ending(&home, &engine).await, Ending::Answered, "{value}");
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_heading_that_denies_is_not_named_in_an_open_conversation() {
    let below = |tags: &str| {
        format!(
            "* Life\n:PROPERTIES:\n:ID: life\n:END:\nOpen.\n** HIV test{tags}\n:PROPERTIES:\n:ID: below\n\
             :PP_DENY: memory-read\n:END:\nTuesday.\n"
        )
    };
    for (tags, id, named) in [("", "life", true), (" :private:", "life", false), (" :private:", "below", true)] {
        let home = Home::new(&[("life.org", &below(tags))]);
        let server = FakeServer::start([calls("memory-read", json!({ "id": id })), says("I may not.")]);
        let engine = home.served(&server, &["fake"], true).await;
        let (finished, _) = home.ask(&engine, "what is there?").await;
        let told: Vec<String> = engine.refusals(&finished.report).into_iter().map(|refused| refused.text).collect();
        assert!(told.len() == 1 && told[0].contains("denies memory-read below it (PP_DENY)"), "{tags} {id}: {told:?}");
        let heard = server.requests()[1].body.clone();
        let all = format!("{told:?} {:?} {heard}", finished.report.deeds);
        // Of what the conversation is about itself it may know the name: it is as private from then on.
        assert_eq!(all.contains("HIV"), named, "{tags} {id}: {all}");
        assert_eq!(all.contains("the private heading there"), !named, "{tags} {id}: {all}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heading_that_loosens_counts_for_what_the_user_typed() {
    let notes = "* Office\n:PROPERTIES:\n:ID: office\n:PP_ALLOW: org-set-todo\n:END:\n** TODO Call Ann\n:PROPERTIES:\n\
                 :ID: call\n:END:\n* TODO Free day\n:PROPERTIES:\n:ID: free\n:END:\n";
    let home = Home::new(&[("work.org", notes)]);
    let engine = home.engine().await;
    home.read(&engine).await;
    let (parked, _) = home.ask(&engine, "mark Call Ann done").await;
    assert_eq!(parked.report.ending, Ending::Parked, "{:?}", parked.report);
    home.deny(&engine, &waiting(&engine), "").await.expect("the denial counts");
    confirm(&home, &engine, &the(&engine, "waiting").id).await;
    let (done, _) = home.ask(&engine, "mark Call Ann done").await;
    assert_eq!(done.report.ending, Ending::Answered, "{:?}", done.report);
    assert!(home.read_file("work.org").contains("** DONE Call Ann"));
    let last = engine.decisions(None, 1).await.expect("the audit");
    assert_eq!(last[0].decision.ruling, Ruling::Passed);
    let (parked, _) = home.ask(&engine, "mark Free day done").await;
    assert_eq!(parked.report.ending, Ending::Parked, "beside the heading it asks as before");
}

/// Approves marking a heading.
async fn approve_marking(home: &Home, engine: &Arc<Engine>, what: &str) -> Option<String> {
    let (parked, _) = home.ask(engine, what).await;
    assert_eq!(parked.report.ending, Ending::Parked, "{:?}", parked.report);
    let plan = waiting(engine);
    home.approve(engine, &plan).await.expect("the approval counts").report.notice
}

#[tokio::test(flavor = "multi_thread")]
async fn three_approvals_of_one_shape_offer_a_rule_that_passes_is_counted_and_withdrawn() {
    let notes: String = (1..9).map(|n| format!("* TODO Task {n}x\n:PROPERTIES:\n:ID: t{n}\n:END:\n")).collect();
    let home = Home::new(&[("tasks.org", &notes), ("other.org", "* TODO Elsewhere\n:PROPERTIES:\n:ID: e\n:END:\n")]);
    let engine = home.engine().await;
    home.read(&engine).await;
    assert_eq!(approve_marking(&home, &engine, "mark Task 1x done").await, None);
    assert_eq!(approve_marking(&home, &engine, "mark Task 2x done").await, None);
    let offer = approve_marking(&home, &engine, "mark Task 3x done").await.expect("a rule is offered");
    let offered = the(&engine, "offered");
    assert!(offer.contains(&offered.id) && offer.contains("state=DONE"), "{offer}");
    let (parked, _) = home.ask(&engine, "mark Task 4x done").await;
    assert_eq!(parked.report.ending, Ending::Parked, "what is offered does not count");
    home.approve(&engine, &waiting(&engine)).await.expect("the approval counts");

    let replay = engine.replay(Some(&offered.id)).await.expect("it is replayed");
    let (_, replay) = &replay[0];
    assert_eq!((replay.passes.len(), replay.refused()), (4, false), "{replay:?}");
    assert!(replay.tried >= 16, "{replay:?}");
    let shown = engine.propose_rule(&origin(), &offered.id, engine.new_turn()).await.expect("it is shown");
    let plan = engine.plan(&shown.report.plans[0].0).expect("the plan is known");
    let held = format!("{0} of {0} canaries held.", replay.tried);
    assert!(plan.body.contains(&held), "what was tried stands in the plan: {}", plan.body);
    for line in &replay.passes {
        assert!(plan.body.contains(&format!("passes without asking: {line}")), "{line}: {}", plan.body);
    }
    home.approve(&engine, &plan).await.expect("the approval counts");
    let (done, _) = home.ask(&engine, "mark Task 5x done").await;
    assert_eq!(done.report.ending, Ending::Answered, "{:?}", done.report);
    assert!(home.read_file("tasks.org").contains("* DONE Task 5x"));
    assert_eq!(the(&engine, "confirmed").used, Some(1));
    let passed = &engine.decisions(None, 1).await.expect("the audit")[0].decision;
    assert_eq!((passed.ruling, passed.decider.clone()), (Ruling::Passed, Decider::Rule(offered.id.clone())));
    let why = engine.why(None).await.expect("it is explained");
    assert!(why.contains(&format!("The rule {} answered what was asked", offered.id)), "{why}");

    let (parked, _) = home.ask(&engine, "mark Elsewhere done").await;
    assert_eq!(parked.report.ending, Ending::Parked, "another place asks");
    home.deny(&engine, &waiting(&engine), "").await.expect("the denial counts");
    home.clock.advance(24 * 40);
    assert_eq!(the(&engine, "over").id, offered.id);
    let (parked, _) = home.ask(&engine, "mark Task 6x done").await;
    assert_eq!(parked.report.ending, Ending::Parked, "its time is over");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_opens_what_was_denied_is_refused_and_a_withdrawn_one_asks() {
    let notes: String = (1..9).map(|n| format!("* TODO Task {n}x\n:PROPERTIES:\n:ID: t{n}\n:END:\n")).collect();
    let home = Home::new(&[("tasks.org", &notes)]);
    let engine = home.engine().await;
    home.read(&engine).await;
    for n in 1..4 {
        approve_marking(&home, &engine, &format!("mark Task {n}x done")).await;
    }
    let id = the(&engine, "offered").id;
    confirm(&home, &engine, &id).await;
    engine.withdraw_rule(&origin(), &id).await.expect("it is withdrawn");
    let (parked, _) = home.ask(&engine, "mark Task 4x done").await;
    assert_eq!(parked.report.ending, Ending::Parked);
    home.deny(&engine, &waiting(&engine), "not this").await.expect("the denial counts");
    let refused = engine.propose_rule(&origin(), &id, engine.new_turn()).await.expect_err("it opens a denied case");
    assert!(refused.contains("OPENS what you denied"), "{refused}");
    let printed = engine.replay(None).await.expect("it is replayed");
    assert!(printed[0].1.refused());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_begins_the_count_anew_and_zero_offers_nothing() {
    let notes: String = (1..9).map(|n| format!("* TODO Task {n}x\n:PROPERTIES:\n:ID: t{n}\n:END:\n")).collect();
    let home = Home::new(&[("tasks.org", &notes)]);
    let engine = home.engine().await;
    home.read(&engine).await;
    for n in 1..3 {
        approve_marking(&home, &engine, &format!("mark Task {n}x done")).await;
    }
    let _ = home.ask(&engine, "mark Task 3x done").await;
    home.deny(&engine, &waiting(&engine), "").await.expect("the denial counts");
    approve_marking(&home, &engine, "mark Task 4x done").await;
    assert_eq!(engine.rules(), []);
    engine.close().await;
    drop(engine);
    let engine = home.engine_with(|config| config.rule_threshold = 0).await;
    home.read(&engine).await;
    for n in 5..9 {
        approve_marking(&home, &engine, &format!("mark Task {n}x done")).await;
    }
    assert_eq!(engine.rules(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_rule_reaches_what_is_our_own() {
    let home = Home::new(&[("home.org", NOTES)]);
    let config = home.config();
    let own = |folder: &std::path::Path, name: &str| folder.join(name).to_string_lossy().into_owned();
    let files = [
        own(&config.settings, "rules.org"),
        own(&config.settings, "skills/policy.org"),
        own(&config.store, "memory.sqlite"),
        home.project("passepartout/src/a.rs"),
        home.project("passepartout/skills/a.org"),
    ];
    let write = |path: &String| calls("write-file", json!({"path": path, "content": "| tool | level |"}));
    let server = FakeServer::start(files.iter().flat_map(|path| [write(path), says("No.")]).collect::<Vec<_>>());
    rule(&home, "| tool | level |\n| write-file | allow |\n");
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, &the(&engine, "waiting").id).await;
    for file in &files {
        let (refused, _) = home.ask(&engine, "please").await;
        let told = format!("{:?}", refused.report.deeds);
        assert!(told.contains("refused"), "{file}: {told}");
    }
    let text = std::fs::read_to_string(config.settings.join("rules.org")).expect("the rules are there");
    assert!(text.contains("write-file"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_below_forbids_what_takes_all_of_it() {
    let notes = "* TODO Box\n:PROPERTIES:\n:ID: box\n:END:\n** Inside\n:PROPERTIES:\n:ID: inside\n\
                 :PP_DENY+: memory-read org-move\n:END:\nSilver.\n* Shelf\n:PROPERTIES:\n:ID: shelf\n:END:\n";
    let home = Home::new(&[("box.org", notes)]);
    for (tool, args, denied) in [
        ("memory-read", json!({"id": "box"}), true),
        ("memory-read", json!({"id": home.file("box.org")}), true),
        ("org-move", json!({"id": "box", "parent": "shelf"}), true),
        ("memory-read", json!({"id": "shelf"}), false),
        // Where it would go to stands nothing in the way, and the heading alone is not what stands below it.
        ("org-move", json!({"id": "shelf", "parent": "box"}), false),
        ("org-set-todo", json!({"id": "box", "state": "DONE"}), false),
    ] {
        let server = FakeServer::start([calls(tool, args.clone()), says("So be it.")]);
        let engine = home.served(&server, &["fake"], true).await;
        let (finished, _) = home.ask(&engine, "please").await;
        let said = format!("{:?}", finished.report.deeds);
        assert_eq!(said.contains("the heading “Inside” denies"), denied, "{tool} {args}: {said}");
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heading_that_leaves_what_rules_it_asks_and_no_rule_answers() {
    let notes = "* Office\n:PROPERTIES:\n:ID: office\n:PP_DENY: shell\n:END:\n** Safe\n:PROPERTIES:\n:ID: safe\n:END:\n\
                 Silver.\n** Drawer\n:PROPERTIES:\n:ID: drawer\n:END:\n* Garden\n:PROPERTIES:\n:ID: garden\n:END:\n";
    let home = Home::new(&[("work.org", notes)]);
    let moved = "* Office\n:PROPERTIES:\n:ID: office\n:PP_DENY: shell\n:END:\n** Drawer\n:PROPERTIES:\n:ID: drawer\n\
                 :END:\n* Garden\n:PROPERTIES:\n:ID: garden\n:END:\n** Safe\nSilver.\n";
    for (tool, args, expected) in [
        ("org-move", json!({"id": "safe", "parent": "garden"}), Some("“Safe” would leave what PP_DENY forbids")),
        ("org-move", json!({"id": "safe", "file": home.file("else.org")}), Some("“Safe” would leave")),
        ("write-file", json!({"path": home.file("work.org"), "content": moved}), Some("“Safe” would leave")),
        ("org-archive", json!({"id": "safe"}), Some("“Safe” would leave")),
        ("org-move", json!({"id": "safe", "parent": "drawer"}), None),
        ("org-move", json!({"id": "garden", "parent": "office"}), None),
        ("org-set-todo", json!({"id": "safe", "state": "DONE"}), None),
    ] {
        let server = FakeServer::start([calls(tool, args.clone()), says("So be it.")]);
        let engine = home.served(&server, &["fake"], true).await;
        let (finished, _) = home.ask(&engine, "please").await;
        assert_eq!(finished.report.ending, Ending::Parked, "{tool} {args}: {:?}", finished.report.deeds);
        let plan = waiting(&engine);
        let said: String = plan.asks().into_iter().map(|(_, why)| why).collect();
        match expected {
            Some(expected) => assert!(said.contains(expected), "{tool} {args}: {said}"),
            None => assert!(!said.contains("would leave what"), "{tool} {args}: {said}"),
        }
        home.deny(&engine, &plan, "").await.expect("the denial counts");
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmation_for_a_private_heading_leaves_its_title_out_of_the_log() {
    let notes = "* Divorce lawyer :private:\n:PROPERTIES:\n:PP_ALLOW: org-set-todo\n:END:\n** TODO Call\n\
                 * Garden\n:PROPERTIES:\n:PP_ALLOW: org-schedule\n:END:\n";
    let home = Home::new(&[("life.org", notes)]);
    let engine = home.engine_with(|_| {}).await;
    home.read(&engine).await;
    let waiting: Vec<Ruled> = engine.rules().into_iter().filter(|rule| rule.state == "waiting").collect();
    assert_eq!(waiting.len(), 2, "{waiting:?}");
    assert!(waiting.iter().any(|rule| rule.text.contains("Divorce")), "the user is shown which: {waiting:?}");
    for rule in &waiting {
        confirm(&home, &engine, &rule.id).await;
        engine.withdraw_rule(&origin(), &rule.id).await.expect("it is withdrawn");
    }
    let log: String = engine.log_lines(1000).into_iter().map(|line| line.text + "\n").collect();
    assert!(!log.contains("Divorce") && log.contains("under a heading in"), "{log}");
    assert!(log.contains("Garden"), "{log}");
    let kept = format!("{:?}", engine.decisions(None, 1_000).await.expect("the audit"));
    assert!(!kept.contains("Divorce"), "{kept}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_heading_allows_does_not_hold_for_what_it_does_not_rule() {
    const ALLOW: &str = ":PP_ALLOW: org-archive\n";
    let work = |whole: &str, own: &str| {
        format!(
            "{whole}* Office\n:PROPERTIES:\n:ID: office\n{own}:END:\n** TODO Call\n:PROPERTIES:\n:ID: call\n:END:\n* Old\n"
        )
    };
    let whole = ":PROPERTIES:\n:PP_ALLOW: org-archive\n:END:\n";
    // What is allowed, where it would go by a line that came later, what is there already, and whether it is done unasked.
    let cases: [(&str, &str, &str, &str, bool); 9] = [
        ("", ALLOW, "HOME/.profile::", "", false),
        ("", ALLOW, "HOME/notes.org::", "", false),
        ("", ALLOW, "MEMEX/new.org::", "", false),
        ("", ALLOW, "MEMEX/other.org::", "* Other\n", false),
        ("", ALLOW, "::* Old", "", false),
        (whole, "", "HOME/.profile::", "", false),
        (whole, "", "MEMEX/new.org::", "", false),
        (whole, "", "::* Old", "", true),
        (whole, "", "MEMEX/other.org::", whole, true),
    ];
    for (whole, own, place, other, unasked) in cases {
        let mut files = vec![("work.org", work(whole, own))];
        if !other.is_empty() {
            files.push(("other.org", other.to_string()));
        }
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let home = Home::new(&files);
        let server = FakeServer::start([calls("org-archive", json!({"id": "call"})), says("Done.")]);
        let engine = home.served(&server, &["fake"], true).await;
        for rule in engine.rules() {
            confirm(&home, &engine, &rule.id).await;
        }
        let outside = home.folder.path().canonicalize().expect("it is there").join("home");
        let memex = home.file("").trim_end_matches('/').to_string();
        let place = place.replace("HOME", &outside.to_string_lossy()).replace("MEMEX", &memex);
        let text = work(whole, &format!("{own}:ARCHIVE: {place}\n"));
        std::fs::write(home.file("work.org"), &text).expect("a pull writes it");
        home.read(&engine).await;
        let expected = if unasked { Ending::Answered } else { Ending::Parked };
        assert_eq!(ending(&home, &engine).await, expected, "{place} {whole}{own}");
        assert_eq!(home.read_file("work.org") == text, !unasked, "{place}");
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_with_a_second_name_asks() {
    let whole = ":PROPERTIES:\n:PP_ALLOW: org-archive\n:END:\n";
    let notes = format!("{whole}#+ARCHIVE: other.org::\n* Office\n** TODO Call\n:PROPERTIES:\n:ID: call\n:END:\n");
    for linked in [false, true] {
        let home = Home::new(&[("work.org", &notes), ("other.org", whole)]);
        if linked {
            let second = home.folder.path().join("home/.profile");
            std::fs::hard_link(home.file("other.org"), second).expect("a second name");
        }
        let server = FakeServer::start([calls("org-archive", json!({"id": "call"})), says("Done.")]);
        let engine = home.served(&server, &["fake"], true).await;
        for rule in engine.rules() {
            confirm(&home, &engine, &rule.id).await;
        }
        assert_eq!(ending(&home, &engine).await, if linked { Ending::Parked } else { Ending::Answered });
        if linked {
            let asks = waiting(&engine).asks();
            assert!(asks.iter().any(|(_, why)| why.contains("has another name as well (a hard link)")), "{asks:?}");
        }
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_level_that_is_set_after_a_confirmation_counts() {
    let home = Home::new(&[("home.org", NOTES)]);
    rule(&home, "| tool | level |\n| org-set-todo | allow |\n");
    let server = FakeServer::start([]);
    let levels = [None, Some(Level::Ask), None, Some(Level::Deny)];
    for (number, set) in levels.into_iter().enumerate() {
        let engine = home
            .engine_with(|config| {
                provide(config, &[("fake", &server, true)], &["fake"]);
                config.permissions.extend(set.map(|level| ("org-set-todo".to_string(), level)));
            })
            .await;
        home.read(&engine).await;
        if number == 0 {
            confirm(&home, &engine, &the(&engine, "waiting").id).await;
        }
        let waits: Vec<String> =
            engine.rules().into_iter().filter(|rule| rule.state == "waiting").map(|rule| rule.text).collect();
        match set {
            Some(Level::Ask) => {
                assert!(waits[0].contains("org-set-todo = allow, not the ask that you set"), "{waits:?}")
            }
            _ => assert_eq!(waits, [""; 0]),
        }
        let expected = match set {
            None => Level::Allow,
            Some(set) => set,
        };
        assert_eq!(engine.levels().0.get("org-set-todo"), Some(&expected), "{number}");
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_of_one_decision_teach_as_much_as_one() {
    let home = Home::new(&[]);
    let call = |n: u8| {
        let why = "The user asked for exactly this.";
        let args = json!({"path": home.project(&format!("{n}.txt")), "content": "x", "explanation": why});
        (["c0", "c1", "c2", "c3", "c4", "c5"][usize::from(n)], "write-file", args)
    };
    let three = Reply::answer(Dialect::OpenAi, &[], &[call(1), call(2), call(3)]);
    let one = |n: u8| Reply::answer(Dialect::OpenAi, &[], &[call(n)]);
    let server = FakeServer::start([three, says("Done."), one(4), says("Done."), one(5), says("Done.")]);
    let engine = home.served(&server, &["fake"], true).await;
    for decisions in 1..4 {
        assert_eq!(ending(&home, &engine).await, Ending::Parked);
        let yes = |plan: &passepartout::domain::gate::plan::FlightPlan| Decided::Approve { shown: plan.shown() };
        let steps = engine.plans(false).iter().map(|plan| (plan.id.0.clone(), yes(plan))).collect();
        engine.decide_steps(&origin(), steps, engine.new_turn(), &mut |_| {}).await.expect("it counts");
        assert_eq!(engine.rules().len(), usize::from(decisions == 3), "{decisions}: {:?}", engine.rules());
    }
}
