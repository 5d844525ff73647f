//! Presets: a conversation under one has its model, its prompt, and no more tools and money than it leaves.

use crate::cli::run;
use crate::support::engine::{Home, ask_from, origin, provide, waiting};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use passepartout::domain::gate::{Opinion, Verdict};
use passepartout::domain::id::SessionId;
use passepartout::domain::signal::{Origin, Rights};
use passepartout::domain::turn::{Deed, Ending};
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::explain::About;
use passepartout::edge::engine::presets::Wishes;
use passepartout::edge::engine::record::Finished;
use passepartout::edge::engine::turns::Ask;
use serde_json::{Value, json};
use std::sync::Arc;

const NOTES: &str = "* TODO Tiles\n:PROPERTIES:\n:ID: tiles\n:END:\nThe tiles are blue.\n";
const PRESETS: &str = "* terse\n:PROPERTIES:\n:MODEL: near/small recall\n:TOOLS: memory-read\n:END:\n\
    ANSWER IN ONE WORD.\n\
    * tight\n:PROPERTIES:\n:TOKENS: 50\n:END:\n\
    * poor\n:PROPERTIES:\n:USD: 0.000001\n:END:\n\
    * away\n:PROPERTIES:\n:MODEL: mars\n:END:\n\
    * slip\n:PROPERTIES:\n:TOOL: none\n:END:\n";

fn set(home: &Home, name: &str, text: &str) {
    let folder = home.config().settings;
    std::fs::create_dir_all(&folder).expect("the settings' folder");
    std::fs::write(folder.join(name), text).expect("it is written");
}

fn says(text: &str) -> Reply {
    Reply::answer(Dialect::OpenAi, &[text], &[])
}

fn calls(tool: &str, args: Value) -> Reply {
    Reply::answer(Dialect::OpenAi, &[], &[("c1", tool, args)])
}

async fn engine(home: &Home, near: &FakeServer, far: &FakeServer) -> Arc<Engine> {
    let engine = home
        .engine_with(|config| provide(config, &[("far", far, false), ("near", near, true)], &["far", "near", "recall"]))
        .await;
    home.read(&engine).await;
    engine.confirm_provider("far", &format!("{}/v1/", far.url())).await.expect("it is stored");
    engine
}

fn by(finished: &Finished) -> Option<(&str, &str)> {
    finished.report.answered_by.as_ref().map(|(provider, model)| (provider.as_str(), model.as_str()))
}

/// Words of the chat with what they say of themselves.
fn wishing(text: &str, wishes: Wishes) -> Ask {
    Ask { wishes, ..crate::support::engine::ask(text) }
}

fn wish(text: &str) -> Option<String> {
    Some(text.to_string())
}

fn weak() -> Origin {
    Origin { rights: Rights { approve: false, ..Rights::HUMAN }, ..origin() }
}

fn tools(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_under_a_preset_has_its_model_its_prompt_and_its_tools_alone() {
    let home = Home::new(&[("home.org", NOTES)]);
    set(&home, "presets.org", PRESETS);
    let edit = || calls("org-set-todo", json!({"id": "tiles", "state": "DONE", "explanation": "It was asked for."}));
    let near = FakeServer::start([edit(), says("Blue."), says("Red.")]);
    let far = FakeServer::start([says("From afar."), says("From afar.")]);
    let first = engine(&home, &near, &far).await;
    let (said, _) = home.ask(&first, "/preset terse").await;
    insta::assert_snapshot!(said.report.text, @"This conversation has the preset terse: near/small, recall; tools memory-read; a prompt.");
    let (done, _) = home.ask(&first, "set the tiles to done").await;
    assert_eq!(done.report.ending, Ending::Answered, "{:?}", done.report);
    assert_eq!(by(&done).map(|(provider, _)| provider), Some("near"));
    let sent = near.requests()[0].json();
    assert_eq!(sent["model"], "small");
    assert!(sent["messages"][0]["content"].as_str().is_some_and(|text| text.contains("ANSWER IN ONE WORD.")), "{sent}");
    assert_eq!(tools(&sent), ["memory-read", "message"]);
    let deed = &done.report.deeds[0];
    assert!(deed.outcome.starts_with("refused: There is no tool"), "{deed:?}");
    assert_eq!(home.read_file("home.org"), NOTES);
    // Another conversation has none, and this one has it still after a start.
    let other = Origin { session: SessionId("other".to_string()), ..origin() };
    let plain = first.ask(ask_from(other, "blue?"), first.new_turn(), &mut |_| {}).await;
    assert_eq!(by(&plain).map(|(provider, _)| provider), Some("far"));
    assert!(tools(&far.requests()[0].json()).contains(&"org-set-todo"));
    first.close().await;
    let second = engine(&home, &near, &far).await;
    assert_eq!(by(&home.ask(&second, "red?").await.0).map(|(provider, _)| provider), Some("near"));
    let shown = second.inspect_next(crate::support::engine::ask("red?")).await.expect("it is shown");
    assert!(shown.provider == "near" && shown.text.contains("ANSWER IN ONE WORD."), "{}", shown.text);
    let sent = crate::explained::last(&second).await;
    for shown in [shown, sent] {
        assert!(
            shown.text.contains("\"model\":\"small\"") || shown.text.contains("\"model\": \"small\""),
            "{}",
            shown.text
        );
    }
    assert_eq!(second.preset_name(&origin().session).as_deref(), Some("terse"));
    home.ask(&second, "/preset none").await;
    assert_eq!(by(&home.ask(&second, "blue?").await.0).map(|(provider, _)| provider), Some("far"));
    second.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_question_says_of_itself_holds_for_it_and_what_goes_on_from_it_alone() {
    let home = Home::new(&[("home.org", NOTES)]);
    set(&home, "presets.org", PRESETS);
    let near = FakeServer::start([says("Blue."), says("Red."), says("Grey.")]);
    let far = FakeServer::start([says("From afar.")]);
    let engine = engine(&home, &near, &far).await;
    let chosen = Wishes { model: wish("near/small"), tools: wish("memory-read memory-search"), ..Wishes::default() };
    for (wishes, provider, offered) in [
        (chosen.clone(), "near", vec!["memory-search", "memory-read", "message"]),
        (Wishes { preset: wish("terse"), ..Wishes::default() }, "near", vec!["memory-read", "message"]),
        // Both: no more tools than both leave, and whom the question itself names.
        (Wishes { preset: wish("terse"), ..chosen.clone() }, "near", vec!["memory-read", "message"]),
    ] {
        let asked = wishing("blue?", wishes.clone());
        let shown = engine.inspect_next(asked.clone()).await.expect("it is shown");
        assert_eq!(shown.provider, provider, "{wishes:?}");
        let done = engine.ask(asked, engine.new_turn(), &mut |_| {}).await;
        assert_eq!(by(&done), Some((provider, "small")), "{wishes:?}: {:?}", done.report.notice);
        let mut had = near.requests().last().map(|request| request.json()).expect("it was asked");
        assert_eq!(had["model"].take(), "small", "{wishes:?}");
        assert_eq!(tools(&had), offered, "{wishes:?}");
    }
    // The next question says nothing of itself.
    assert_eq!(by(&home.ask(&engine, "blue?").await.0).map(|(provider, _)| provider), Some("far"));
    assert_eq!(engine.preset_name(&origin().session), None);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_whose_settings_cannot_be_had_is_asked_of_nobody() {
    let home = Home::new(&[("home.org", NOTES)]);
    set(&home, "presets.org", PRESETS);
    let (near, far) = (FakeServer::start([]), FakeServer::start([]));
    let engine = engine(&home, &near, &far).await;
    let none = Wishes::default;
    for (from, wishes, why) in [
        (origin(), Wishes { model: wish("mars"), ..none() }, "mars"),
        (origin(), Wishes { model: wish(" "), ..none() }, "PP_MODEL names no provider"),
        (origin(), Wishes { tools: wish("read-fiel"), ..none() }, "PP_TOOLS names no tool with “read-fiel”"),
        (
            origin(),
            Wishes { tokens: wish("much"), ..none() },
            "PP_BUDGET is a whole number of tokens above 0, not “much”",
        ),
        (origin(), Wishes { dollars: wish("-1"), ..none() }, "PP_USD is an amount of dollars"),
        (origin(), Wishes { preset: wish("x"), ..none() }, "PP_PRESET: there is no preset “x”"),
        (weak(), Wishes { model: wish("near"), ..none() }, "this channel may not choose who is asked"),
        (weak(), Wishes { preset: wish("terse"), ..none() }, "this channel may not choose who is asked"),
    ] {
        let asked = Ask { origin: from, ..wishing("blue?", wishes.clone()) };
        let done = engine.ask(asked, engine.new_turn(), &mut |_| {}).await.report;
        assert_eq!(done.ending, Ending::Failed, "{wishes:?}");
        let notice = done.notice.unwrap_or_default();
        assert!(notice.starts_with("Nothing was asked: ") && notice.contains(why), "{wishes:?}: {notice}");
    }
    assert!(near.requests().is_empty() && far.requests().is_empty());
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_goes_on_with_what_its_question_said_of_itself() {
    let home = Home::new(&[("home.org", NOTES)]);
    let edit = calls("org-set-todo", json!({"id": "tiles", "state": "DONE", "explanation": "It was asked for."}));
    let near = FakeServer::start([edit, says("It is done.")]);
    let far = FakeServer::start([]);
    let engine = engine(&home, &near, &far).await;
    let wishes = Wishes { model: wish("near/small"), tools: wish("org-set-todo"), ..Wishes::default() };
    let parked = engine.ask(wishing("set the tiles to done", wishes), engine.new_turn(), &mut |_| {}).await;
    assert_eq!(parked.report.ending, Ending::Parked, "{:?}", parked.report);
    let done = home.approve(&engine, &waiting(&engine)).await.expect("it is decided");
    assert_eq!(by(&done), Some(("near", "small")), "{:?}", done.report.notice);
    assert!(home.read_file("home.org").contains("DONE Tiles"));
    let sent = near.requests().last().map(|request| request.json()).expect("it was asked");
    assert_eq!((sent["model"].as_str(), tools(&sent)), (Some("small"), vec!["org-set-todo", "message"]));
    assert!(far.requests().is_empty());
    engine.close().await;
}

/// What was begun under a preset's tools goes on with no more of them, whatever the preset says by then; and one that a
/// question names takes none of the bounds of its conversation's away.
#[tokio::test(flavor = "multi_thread")]
async fn a_preset_that_a_question_names_gives_nothing_back() {
    let home = Home::new(&[("home.org", NOTES)]);
    let few = |tools: &str| {
        format!(
            "* few\n:PROPERTIES:\n:MODEL: near/small\n:TOOLS: {tools}\n:END:\n* all\n:PROPERTIES:\n:MODEL: near/small\n:END:\n"
        )
    };
    set(&home, "presets.org", &few("org-set-todo"));
    let edit = calls("org-set-todo", json!({"id": "tiles", "state": "DONE", "explanation": "It was asked for."}));
    let near = FakeServer::start([edit, says("It is done."), says("Blue.")]);
    let far = FakeServer::start([]);
    let engine = engine(&home, &near, &far).await;
    let wishes = Wishes { preset: wish("few"), ..Wishes::default() };
    let parked = engine.ask(wishing("set the tiles to done", wishes), engine.new_turn(), &mut |_| {}).await;
    assert_eq!(parked.report.ending, Ending::Parked, "{:?}", parked.report);
    set(&home, "presets.org", &few("org-set-todo memory-read"));
    home.approve(&engine, &waiting(&engine)).await.expect("it is decided");
    let last = || {
        let sent = near.requests().last().map(|request| request.json()).expect("it was asked");
        tools(&sent).into_iter().map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(last(), ["org-set-todo", "message"]);
    home.ask(&engine, "/preset few").await;
    let wishes = Wishes { preset: wish("all"), ..Wishes::default() };
    let done = engine.ask(wishing("blue?", wishes), engine.new_turn(), &mut |_| {}).await;
    assert_eq!(by(&done), Some(("near", "small")), "{:?}", done.report.notice);
    assert_eq!(last(), ["memory-read", "org-set-todo", "message"]);
    engine.close().await;
}

/// What no model can call is the user's own: a first contact, and going back.
#[tokio::test(flavor = "multi_thread")]
async fn a_preset_of_few_tools_leaves_the_user_what_is_theirs() {
    let home = Home::new(&[("home.org", NOTES)]);
    set(&home, "presets.org", "* reader\n:PROPERTIES:\n:TOOLS: none\n:END:\n");
    let server = FakeServer::start([says("Blue.")]);
    let engine = home.served(&server, &["fake"], false).await;
    home.ask(&engine, "/preset reader").await;
    assert_eq!(home.ask(&engine, "blue?").await.0.report.ending, Ending::Parked);
    let done = home.approve(&engine, &crate::support::engine::waiting(&engine)).await.expect("it is decided");
    assert_eq!(done.report.ending, Ending::Answered, "{:?}", done.report.notice);
    assert_eq!(server.requests().len(), 1);
    let said = home.ask(&engine, "/undo").await.0.report.text;
    assert!(!said.contains("may not use"), "{said}");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preset_never_allows_more_than_there_is_and_its_budget_holds() {
    let home = Home::new(&[("home.org", NOTES)]);
    set(&home, "presets.org", PRESETS);
    set(&home, "prices.org", "| far | m | 2026-01-01 | 3 | 0.30 | 15 |\n");
    let (near, far) = (FakeServer::start([]), FakeServer::start([]));
    let engine = engine(&home, &near, &far).await;
    for (name, why) in [("tight", "there is room for 0"), ("poor", "the preset of this conversation allows it no more")]
    {
        home.ask(&engine, &format!("/preset {name}")).await;
        engine
            .set_cascade(&origin(), passepartout::edge::engine::cascade::Choice::parse("far").expect("one"))
            .await
            .expect("set");
        let (done, _) = home.ask(&engine, "blue?").await;
        let notice = done.report.notice.clone().unwrap_or_default();
        assert!(done.report.ending == Ending::Failed && notice.contains(why), "{name}: {notice}");
    }
    assert_eq!((near.connections(), far.connections()), (0, 0));
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_had_is_refused_with_what_there_is_and_what_went_closes_its_conversation() {
    let home = Home::new(&[("home.org", NOTES)]);
    set(&home, "presets.org", PRESETS);
    let near = FakeServer::start([says("Blue.")]);
    let far = FakeServer::start([]);
    let engine = engine(&home, &near, &far).await;
    for (name, why) in [
        ("nothing", "there is no preset “nothing”; there are away, poor, slip, terse, tight"),
        ("slip", "the preset “slip” cannot be used: line 19: TOOL is no property of a preset"),
        ("away", "mars: it is not known"),
    ] {
        let (said, _) = home.ask(&engine, &format!("/preset {name}")).await;
        assert!(said.report.text.contains(why), "{}", said.report.text);
        assert_eq!(engine.preset_name(&origin().session), None);
    }
    // Whoever may ask may tighten; to take that back is a human's own.
    let refused = engine.set_preset(&weak(), "terse").await.expect_err("it says who is asked");
    assert!(refused.contains("may not choose who is asked"), "{refused}");
    engine.set_preset(&weak(), "tight").await.expect("it only takes away");
    for name in ["none", "terse"] {
        let refused = engine.set_preset(&weak(), name).await.expect_err(name);
        assert!(refused.contains("may not take a preset back"), "{refused}");
    }
    assert!(engine.set_preset(&Origin { rights: Rights::NONE, ..origin() }, "terse").await.is_err());
    engine.set_preset(&origin(), "terse").await.expect("a human's own channel may");
    insta::assert_snapshot!(home.ask(&engine, "/preset").await.0.report.text, @r"
    This conversation has the preset terse; /preset none takes it back.
    - away: mars
    - poor: $0.000001
    - slip cannot be used: line 19: TOOL is no property of a preset; there are MODEL, TOOLS, TOKENS and USD
    - terse: near/small, recall; tools memory-read; a prompt
    - tight: 50 tokens
    ");
    set(&home, "presets.org", "* other\nx\n");
    let (done, _) = home.ask(&engine, "blue?").await;
    let notice = done.report.notice.clone().unwrap_or_default();
    assert!(done.report.ending == Ending::Failed && notice.contains("take it back with /preset none"), "{notice}");
    assert_eq!((near.connections(), far.connections()), (0, 0));
    set(&home, "presets.org", PRESETS);
    assert_eq!(home.ask(&engine, "blue?").await.0.report.ending, Ending::Answered);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_approval_is_judged_by_the_preset_that_was_chosen_meanwhile() {
    let home = Home::new(&[("home.org", NOTES)]);
    set(&home, "presets.org", PRESETS);
    let edit = calls("org-set-todo", json!({"id": "tiles", "state": "DONE", "explanation": "It was asked for."}));
    let near = FakeServer::start([edit, says("I may not."), says("I may not.")]);
    let engine = home.served(&near, &["fake"], true).await;
    assert_eq!(home.ask(&engine, "set the tiles to done").await.0.report.ending, Ending::Parked);
    set(&home, "presets.org", "* reader\n:PROPERTIES:\n:TOOLS: memory-read\n:END:\n");
    home.ask(&engine, "/preset reader").await;
    let done = home.approve(&engine, &waiting(&engine)).await.expect("it is decided");
    let gates = |deed: &Deed| deed.trace.iter().flat_map(|trace| trace.opinions.clone()).collect::<Vec<_>>();
    let denies =
        |opinion: &Opinion| opinion.gate == "preset reader: tools" && matches!(opinion.verdict, Verdict::Deny(_));
    assert!(done.report.deeds.iter().flat_map(gates).any(|opinion| denies(&opinion)), "{:?}", done.report.deeds);
    assert_eq!(home.read_file("home.org"), NOTES);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_under_a_preset_is_told_its_room() {
    let home = Home::new(&[("home.org", NOTES)]);
    set(&home, "presets.org", "* small\n:PROPERTIES:\n:TOOLS: memory-read\n:TOKENS: 6000\n:END:\n");
    let near = FakeServer::start([says("Blue."), says("Blue.")]);
    let engine = home.served(&near, &["fake"], true).await;
    let told = |request: usize| {
        let sent = near.requests()[request].json();
        let text = sent["messages"][0]["content"].as_str().unwrap_or_default().to_string();
        let line = text.lines().find(|line| line.contains("A prompt holds at most")).map(str::to_string);
        let line = line.expect("it is told");
        let numbers = line.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse::<usize>().ok());
        numbers.collect::<Vec<_>>()
    };
    home.ask(&engine, "blue?").await;
    home.ask(&engine, "/preset small").await;
    // What is explained has the same room.
    let explained = engine.explained_for(&origin(), About { query: Some("blue?"), ..About::default() }).await;
    home.ask(&engine, "blue?").await;
    let ([whole, memory], [small, part]) = (two(told(0)), two(told(1)));
    assert_eq!((whole, small), (16_384, 6_000));
    assert!(part <= 3_000 && part < memory, "never more than half: {part}, {memory}");
    assert_eq!(explained.budget, part);
    engine.close().await;
}

fn two(numbers: Vec<usize>) -> [usize; 2] {
    numbers.try_into().expect("two numbers")
}

#[test]
fn the_command_line_asks_with_a_preset() {
    let home = Home::new(&[("home.org", NOTES)]);
    set(&home, "presets.org", "* quiet\n:PROPERTIES:\n:TOOLS: none\n:END:\n");
    let refused = run(&home, &["ask", "--preset", "loud", "tiles?"]);
    assert!(refused.err.contains("there is no preset “loud”; there are quiet"), "{}", refused.err);
    let asked = run(&home, &["ask", "--preset", "quiet", "tiles?"]);
    assert!(asked.out.contains("blue"), "{} {}", asked.out, asked.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cap_of_a_preset_is_shown_with_its_name() {
    let home = Home::new(&[("home.org", NOTES)]);
    set(&home, "presets.org", "* cheap\n:PROPERTIES:\n:USD: 0.50\n:END:\n");
    let engine = home.served(&FakeServer::start([]), &["fake"], true).await;
    home.ask(&engine, "/preset cheap").await;
    let by = passepartout::domain::money::totals::Grouping::Day;
    let shown = engine.overview(by, None, Some(&origin().session.0), true).await.expect("it is shown");
    let caps = shown.caps.join("\n");
    assert!(caps.contains("of $0.50 used; the preset cheap says so, and its USD raises it"), "{caps}");
    engine.close().await;
}
