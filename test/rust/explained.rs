//! What is explained to the user: which headings a model would be told of and why, and the exact request.

use crate::prompts::{BOAT, point, says};
use crate::support::engine::{Home, ask, ask_from, origin, provide, waiting};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use passepartout::domain::context::reason::Reason;
use passepartout::domain::id::{NodeId, SessionId};
use passepartout::domain::label::{Privacy, PrivacyTag};
use passepartout::domain::port::{CountTokens, Locality};
use passepartout::domain::sexp::reader::Sexp;
use passepartout::domain::signal::{Origin, Rights, Role, Said, Source};
use passepartout::domain::turn::Ending;
use passepartout::edge::config::Config;
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::cascade::Choice;
use passepartout::edge::engine::explain::{About, Considered, Explained, Pin};
use passepartout::edge::engine::inspect::{Inspected, Proof};
use passepartout::edge::engine::turns::Ask;
use passepartout::edge::tokens::Tokens;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Returns the one request that was sent last.
pub async fn last(engine: &Arc<Engine>) -> Inspected {
    let mut all = engine.inspect_last(&origin()).await.expect("it can be shown");
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// Explains what a reader there would be told of a question.
pub async fn explained(engine: &Arc<Engine>, query: &str, reader: Locality) -> Explained {
    let about = About { query: Some(query), reader: Some(reader), ..About::default() };
    engine.explained_for(&origin(), about).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_user_pins_is_in_and_what_the_user_drops_is_out_and_each_is_explained() {
    let kept = BOAT.replace(":ID: beans\n", ":ID: beans\n:PP_CONTEXT: in\n");
    let private = "* Diary :private:\n:PROPERTIES:\n:ID: diary\n:END:\nWood smoke.\n";
    let home = Home::new(&[("boat.org", &kept), ("diary.org", private)]);
    let engine = home.served(&FakeServer::start([says("Larch.")]), &["fake"], true).await;
    engine.wait_until_filled();
    let id = |name: &str| NodeId::new(name);
    let told = async |query: &str, reader: Locality| {
        let explained = explained(&engine, query, reader).await;
        ["timber", "beans", "diary", "boat"].map(|name| engine.why_told(&explained, &id(name)))
    };
    let [timber, beans, diary, _] = told("larch for the deck", Locality::Remote).await;
    assert!(timber.starts_with("timber: full, words 1.00, "), "{timber}");
    assert!(beans.starts_with("beans: full, pinned, "), "{beans}");
    assert_eq!(diary, "diary: left out, private");
    engine.pin(&origin(), &id("timber"), Pin::Out).expect("it is there");
    engine.pin(&origin(), &id("beans"), Pin::Out).expect("it is there");
    engine.pin(&origin(), &id("diary"), Pin::In).expect("it is there");
    let [timber, beans, diary, _] = told("larch for the deck", Locality::Remote).await;
    assert_eq!(
        [timber, beans, diary],
        ["timber: left out, left out by you", "beans: left out, left out by you", "diary: left out, private"]
    );
    let [.., diary, _] = told("larch for the deck", Locality::Local).await;
    assert!(diary.contains("diary: full, pinned, "), "{diary}");
    // The node in focus is in, whatever was dropped.
    point(&engine, &home, "timber");
    let [timber, _, _, boat] = told("larch for the deck", Locality::Remote).await;
    assert!(timber.starts_with("timber: full, focus, "), "{timber}");
    assert!(boat.contains("boat: title in the outline, "), "{boat}");
    assert!(engine.pin(&origin(), &id("nowhere"), Pin::In).is_err());
    for pin in ["timber", "beans", "diary"] {
        engine.pin(&origin(), &id(pin), Pin::Neither).expect("it is there");
    }
    let [_, beans, ..] = told("larch for the deck", Locality::Remote).await;
    assert!(beans.starts_with("beans: full, pinned, "), "the property counts again: {beans}");
    // What a question names is in, whatever is dropped, and private only where its reader may see it.
    engine.pin(&origin(), &id("beans"), Pin::Out).expect("it is there");
    let naming = "what of @[[id:beans][Beans]] and @[[id:diary][Diary]]?";
    let [_, beans, diary, _] = told(naming, Locality::Remote).await;
    assert!(beans.starts_with("beans: full, pinned, "), "{beans}");
    assert_eq!(diary, "diary: left out, private");
    assert!(told(naming, Locality::Local).await[2].contains("diary: full, pinned, "));
    engine.pin(&origin(), &id("beans"), Pin::Neither).expect("it is there");
    // Without a question it is of the last one, and the parts are told with what they take.
    let _ = home.ask(&engine, "which wood for the deck?").await;
    let explained = engine.explained_for(&origin(), About::default()).await;
    assert_eq!(explained.query, "which wood for the deck?");
    let names: Vec<&str> = explained.sections.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names,
        [
            "tools",
            "identity",
            "how it works",
            "mandates",
            "outline",
            "time",
            "configuration",
            "notes",
            "log",
            "question"
        ]
    );
    assert!(explained.sections.iter().all(|(_, tokens)| *tokens > 0));
    assert!(explained.dropped_lines().iter().all(|line| line.contains(": left out, ")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_pinned_is_kept_on_the_heading_by_a_plan() {
    let home = Home::new(&[("boat.org", BOAT)]);
    let server = FakeServer::start([]);
    let engine = home.served(&server, &["fake"], true).await;
    let id = NodeId::new("beans");
    let kept = engine.keep_pin(&origin(), &id, Pin::Out, engine.new_turn()).await.expect("it may be asked for");
    assert_eq!(kept.report.plans.len(), 1, "{kept:?}");
    assert!(!home.read_file("boat.org").contains("PP_CONTEXT"), "it waits");
    let done = home.approve(&engine, &waiting(&engine)).await.expect("it is approved");
    // The user's own command is done: no model goes on with it.
    assert_eq!((done.report.ending, server.requests().len()), (Ending::Answered, 0), "{done:?}");
    assert!(home.read_file("boat.org").contains(":PP_CONTEXT: out\n"), "{}", home.read_file("boat.org"));
    let explained = explained(&engine, "beans", Locality::Local).await;
    assert_eq!(engine.why_told(&explained, &id), "beans: left out, left out by you");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_shown_byte_for_byte_before_and_after_it_was_sent() {
    let home = Home::new(&[
        ("boat.org", BOAT),
        ("diary.org", "* Diary :private:\nNobody but me may ever read what is said in here of the harbour.\n"),
    ]);
    let key = concat!("ghp", "_", "16C7e42F292c6912E7710c838347Ae178B4a");
    std::fs::write(home.file("key.org"), format!("* The key of the boat house\nIt is {key} and larch.\n"))
        .expect("it is written");
    let server = FakeServer::start(["Larch.", "Larch."].map(says));
    let engine = home.served(&server, &["fake"], false).await;
    engine.wait_until_filled();
    let none = engine.inspect_last(&origin()).await.expect_err("nothing was sent yet");
    assert!(none.contains("nothing was sent"), "{none}");
    let _ = home.ask(&engine, "hello").await;
    home.approve(&engine, &waiting(&engine)).await.expect("the first contact is confirmed");
    let question = "which wood for the boat house?";
    let before = engine.inspect_next(ask(question)).await.expect("it can be shown");
    assert_eq!(server.requests().len(), 1, "nothing is sent in order to show it");
    let (done, _) = home.ask(&engine, question).await;
    assert_eq!(done.report.text, "Larch.", "{done:?}");
    let after = last(&engine).await;
    let sent = server.requests().remove(1);
    let body = sent.body.clone();
    let (head, shown) = after.text.split_once("\n\n").expect("headers and a body");
    assert_eq!(shown, body, "byte for byte");
    assert_eq!(before.text.split_once("\n\n").expect("a body").1, body, "before as after");
    assert!(head.contains("content-type: application/json"), "{head}");
    assert_eq!((after.provider.as_str(), before.sent, after.sent.is_some()), ("fake", None, true));
    // What is private is not in it, and what is secret is marked.
    assert_eq!((after.kept_out, after.proof), (1, Proof::Absent));
    assert!(after.nodes > 4 && after.above == 0, "{} {}", after.nodes, after.above);
    assert!(!body.contains("harbour") && !body.contains(key), "{body}");
    assert!(after.redacted > 0 && body.contains('⟨'), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_be_sent_next_is_found_as_a_turn_finds_it() {
    let home = Home::new(&[("boat.org", BOAT)]);
    let settings = home.config().settings;
    std::fs::create_dir_all(&settings).expect("a folder");
    let preset = "* small\n:PROPERTIES:\n:TOKENS: 1500\n:TOOLS: none\n:END:\n";
    std::fs::write(settings.join("presets.org"), preset).expect("it is written");
    let server = FakeServer::start(["Larch.", "Larch."].map(says));
    let engine = home.served(&server, &["fake"], true).await;
    engine.wait_until_filled();
    let _ = home.ask(&engine, "/preset small").await;
    // More than the preset leaves room for: what is oldest gives way.
    let said = |n: usize| {
        let role = if n.is_multiple_of(2) { Role::User } else { Role::Assistant };
        Said {
            role,
            text: format!("Turn {n}. {}", "It is about wood. ".repeat(60)),
            privacy: Privacy::Open,
            aside: false,
        }
    };
    let question = Ask { history: (0..8).map(said).collect(), ..ask("which wood for the deck?") };
    let before = engine.inspect_next(question.clone()).await.expect("it can be shown");
    assert!(server.requests().is_empty(), "nothing is sent in order to show it");
    let done = engine.ask(question, engine.new_turn(), &mut |_| {}).await;
    assert_eq!(done.report.text, "Larch.", "{:?}", done.report.notice);
    let body = server.requests()[0].body.clone();
    assert_eq!(before.text.split_once("\n\n").expect("a body").1, body);
    assert!(body.matches("It is about wood.").count() < 8 * 60, "it gave way: {body}");
    // Turns that are over are named before the notes of the question give way.
    assert!(body.contains("[Earlier turns of this chat") && body.contains("Larch for the deck."), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_shown_as_the_next_request_where_nobody_would_be_sent_it() {
    let home = Home::new(&[("boat.org", BOAT)]);
    let server = FakeServer::start([]);
    let unasked = |text: &str, source: Source| ask_from(Origin { source, ..origin() }, text);
    for (cascade, asked, expected) in [
        (vec!["recall", "fake"], unasked("open tasks", Source::Emacs), "the built-in provider answers this"),
        (vec!["fake"], unasked("/status", Source::Emacs), "it is a command"),
        (vec!["fake"], unasked("open tasks", Source::Cli), "it was never contacted before"),
    ] {
        let set = |config: &mut passepartout::edge::config::Config| {
            provide(config, &[("fake", &server, false)], &cascade);
            config.attended = false;
        };
        let engine = home.engine_with(set).await;
        home.read(&engine).await;
        let why = engine.inspect_next(asked).await.expect_err("nobody would be sent it");
        assert!(why.contains(expected), "{why}");
        engine.close().await;
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_is_explained_for_whom_the_router_asks_and_with_what_was_shared() {
    let asks = "* Diary :ask:\n:PROPERTIES:\n:ID: diary\n:END:\nThe larch of the neighbours.\n";
    let home = Home::new(&[("boat.org", BOAT), ("diary.org", asks)]);
    let server = FakeServer::start([]);
    let set = |config: &mut passepartout::edge::config::Config| {
        config.private_tags = vec![PrivacyTag::read("ask=ask").0];
        provide(config, &[("far", &server, false), ("near", &server, true)], &["far", "near"]);
    };
    let engine = home.engine_with(set).await;
    home.read(&engine).await;
    engine.wait_until_filled();
    let told = async || {
        let explained = engine.explained_for(&origin(), About { query: Some("larch"), ..About::default() }).await;
        (explained.may_see, engine.why_told(&explained, &NodeId::new("diary")))
    };
    let (may_see, line) = told().await;
    assert_eq!((may_see, line.as_str()), (Privacy::ELSEWHERE, "diary: left out, private"));
    let _ = home.ask(&engine, "/share").await;
    let (may_see, line) = told().await;
    assert_eq!((may_see, line.contains("diary: full, ")), (Privacy::Ask, true), "{line}");
    // Another order: the model that is asked first runs here.
    engine.set_cascade(&origin(), Choice::parse("near far").expect("an order")).await.expect("it is set");
    assert_eq!(told().await.0, Privacy::Private);
    assert_eq!(server.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_can_be_asked_an_unconfirmed_provider_is_skipped_and_said() {
    let home = Home::new(&[("boat.org", BOAT)]);
    let server = FakeServer::start([says("no")]);
    let engine = home
        .engine_with(|config| {
            provide(config, &[("fake", &server, false)], &["fake", "recall"]);
            config.attended = false;
        })
        .await;
    home.read(&engine).await;
    let from = Origin { source: Source::Cli, ..origin() };
    let done = engine.ask(ask_from(from, "open tasks"), engine.new_turn(), &mut |_| {}).await;
    assert_eq!(done.report.answered_by.map(|(provider, _)| provider).as_deref(), Some("recall"));
    assert_eq!((server.requests().len(), engine.plans(true).len()), (0, 0));
    let lines = engine.log_lines(50);
    assert!(lines.iter().any(|line| line.text.contains("fake: not asked: it was never contacted before")), "{lines:?}");
    // An Emacs that joins such a core can be asked.
    let (asked, _) = home.ask(&engine, "open tasks").await;
    assert_eq!((server.requests().len(), asked.report.plans.len()), (0, 1), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_to_a_provider_that_was_set_up_while_running_is_shown() {
    let home = Home::new(&[("boat.org", BOAT)]);
    let server = FakeServer::start([says("Larch.")]);
    let engine = home.engine().await;
    home.read(&engine).await;
    let settings =
        format!("(:providers ((\"late\" :url \"{}/v1\" :model \"m\" :local t)) :cascade (\"late\"))", server.url());
    assert_eq!(engine.follow_providers(&Sexp::read(&settings).expect("a plist")), ["late"]);
    let (done, _) = home.ask(&engine, "which wood?").await;
    assert_eq!(done.report.text, "Larch.", "{done:?}");
    let shown = last(&engine).await;
    assert_eq!(shown.provider, "late");
    // What another conversation was told is shown to its human alone.
    let guest = Origin { session: SessionId("guest".to_string()), source: Source::Cli, ..origin() };
    assert!(engine.inspect_last(&guest).await.is_err());
    assert_eq!(shown.text.split_once("\n\n").expect("a body").1, server.requests()[0].body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_with_fewer_rights_pins_nothing_and_learns_no_question_of_others() {
    let home = Home::new(&[("boat.org", BOAT)]);
    let engine = home.served(&FakeServer::start([says("Larch.")]), &["fake"], true).await;
    let _ = home.ask(&engine, "which wood for my secret hut?").await;
    let rights = Rights { propose: false, see_private: false, ..Rights::HUMAN };
    let guest = Origin { session: SessionId("guest".to_string()), rights, source: Source::Client };
    let refused = engine.pin(&guest, &NodeId::new("beans"), Pin::In).expect_err("it may not");
    assert!(refused.contains("may not ask for anything"), "{refused}");
    let told = async |origin: &Origin| engine.explained_for(origin, About::default()).await;
    assert_eq!(told(&guest).await.query, "");
    let same = Origin { session: origin().session, ..guest.clone() };
    assert_eq!(told(&same).await.query, "which wood for my secret hut?");
    let emacs = Origin { session: guest.session, ..origin() };
    assert_eq!(told(&emacs).await.query, "which wood for my secret hut?");
    assert!(told(&origin()).await.nodes.iter().all(|node| node.reason.to_string() != "pinned"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_heading_has_a_reason_and_a_private_one_only_for_who_may_see_it() {
    let deep = "* Shed\n** Tools\n:PROPERTIES:\n:ID: tools\n:END:\nA saw.\n* Loft\n:PROPERTIES:\n:ID: loft\n:END:\n";
    let private = "* Wood :private:\n:PROPERTIES:\n:ID: wood\n:END:\nLarch and oak.\n";
    let home = Home::new(&[("boat.org", BOAT), ("shed.org", deep), ("wood.org", private)]);
    let engine = home.engine().await;
    home.read(&engine).await;
    engine.wait_until_filled();
    let far = Some(Locality::Remote);
    let about = About { query: Some("larch"), reader: far, ..About::default() };
    let explained = engine.explained_for(&origin(), about).await;
    let why = |id: &str| engine.why_told(&explained, &NodeId::new(id));
    assert_eq!(why("tools"), "tools: left out, too far from the question and point");
    assert_eq!(why("wood"), "wood: left out, private");
    assert_eq!(why("nowhere"), "nowhere: left out, not in memory");
    // A heading is named by its title as well, and as links name it.
    let named = |name: &str| engine.explained_lines(&explained, Some(&NodeId::new(name))).join("\n");
    for name in [
        "Tools",
        "tools",
        "[[id:tools][Tools]]",
        "shed.org::*Tools",
        &format!("[[file:{}::*Tools]]", home.file("shed.org")),
    ] {
        assert_eq!(named(name), "tools: left out, too far from the question and point", "{name}");
    }
    assert!(named("nowhere").starts_with("No heading is called “nowhere”"), "{}", named("nowhere"));
    assert!(named("boat.org::*Tools").starts_with("No heading"), "{}", named("boat.org::*Tools"));
    let rows = engine.explained_lines(&explained, None);
    assert!(rows.contains(&"wood: left out, private".to_string()), "what would be near is named: {rows:?}");
    // A budget for nothing: what is for the outline is over it.
    let poor = engine.explained_for(&origin(), About { max_tokens: Some(60), ..about }).await;
    assert_eq!(engine.why_told(&poor, &NodeId::new("loft")), "loft: left out, over budget");
    // Who may not see what is private does not learn that there is such a note.
    let rights = Rights { see_private: false, ..Rights::HUMAN };
    let guest = Origin { session: SessionId("guest".to_string()), rights, source: Source::Client };
    let explained = engine.explained_for(&guest, about).await;
    assert_eq!(engine.why_told(&explained, &NodeId::new("wood")), "wood: left out, not in memory");
    assert!(engine.explained_lines(&explained, None).iter().all(|line| !line.contains("private")));
    // Outside of what the user looks at.
    let narrowed = passepartout::edge::engine::focus::Turnabout::parse("focus beans").expect("a command");
    engine.turn_focus(narrowed).await.expect("a heading");
    let explained = engine.explained_for(&origin(), about).await;
    let told = engine.why_told(&explained, &NodeId::new("tools"));
    assert_eq!(told, "tools: left out, outside of what the focus is narrowed to");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_shown_with_the_headings_that_were_put_into_it_and_whether_any_is_above_its_reader() {
    let private = "* Diary :private:\n:PROPERTIES:\n:ID: diary\n:END:\n";
    let long: String = (0..40).map(|n| format!("Word{n} of the morning tide of the harbour number {n}. ")).collect();
    let far = "* Attic\n** Box\n*** Lid\n:PROPERTIES:\n:ID: lid\n:END:\nA copper lid.\n";
    let home = Home::new(&[("boat.org", BOAT), ("diary.org", &format!("{private}{long}\n")), ("far.org", far)]);
    let read = json!({"id": "lid", "explanation": "It may say which wood."});
    let server =
        FakeServer::start([Reply::answer(Dialect::OpenAi, &[], &[("c", "memory-read", read)]), says("Larch.")]);
    let engine = home.served(&server, &["fake"], false).await;
    engine.wait_until_filled();
    engine.confirm_provider("fake", &format!("{}/v1/", server.url())).await.expect("it is stored");
    let (done, _) = home.ask(&engine, "which wood for the deck?").await;
    assert_eq!(done.report.text, "Larch.", "{:?}", done.report.notice);
    let requests = server.requests();
    assert!(!requests[0].body.contains("copper") && requests[1].body.contains("copper"), "a tool read it");
    let shown = last(&engine).await;
    // Three files and four of their headings are told of, and a tool read one more.
    assert_eq!((shown.nodes, shown.above, shown.kept_out, shown.proof), (8, 0, 1, Proof::Absent), "{}", shown.text);
    // What becomes private later was not when it was sent, and is counted.
    let closed = far.replace("*** Lid", "*** Lid :private:").replace("A copper lid.", &long);
    engine.take_buffer(&home.file("far.org"), closed.into(), &|| true).expect("it can be read");
    let shown = last(&engine).await;
    assert_eq!((shown.nodes, shown.above, shown.kept_out), (8, 1, 2));
    // Until its words are read, nobody knows whether they stand in it.
    assert!(matches!(shown.proof, Proof::Unknown | Proof::Absent), "{:?}", shown.proof);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_sent_and_quotes_what_became_private_is_shown_as_such() {
    let words = "Larch for the deck of the boat that lies at the long wooden pier behind the mill.";
    let note = format!("* Deck\n:PROPERTIES:\n:ID: deck\n:END:\n{words}\n");
    let home = Home::new(&[("deck.org", &note)]);
    let server = FakeServer::start([says("Larch.")]);
    let engine = home.served(&server, &["fake"], false).await;
    engine.wait_until_filled();
    engine.confirm_provider("fake", &format!("{}/v1/", server.url())).await.expect("it is stored");
    let _ = home.ask(&engine, "which wood for the deck?").await;
    assert_eq!(last(&engine).await.proof, Proof::Absent);
    let closed = note.replace("* Deck", "* Deck :private:");
    engine.take_buffer(&home.file("deck.org"), closed.into(), &|| true).expect("it can be read");
    engine.wait_until_filled();
    let shown = last(&engine).await;
    assert_eq!((shown.above, shown.proof), (1, Proof::Quoted), "{}", shown.text);
}

/// Returns the system text of a request, and the tokens of all that a prompt has of it.
fn sent(body: &serde_json::Value) -> (String, usize) {
    let count = |text: &str| Tokens::default().count(text);
    let texts: Vec<&str> = body["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|message| message["content"].as_str().expect("a text"))
        .collect();
    let tools = body["tools"].as_array().into_iter().flatten().map(|tool| {
        let tool = &tool["function"];
        let text = |key: &str| tool[key].as_str().expect("a text");
        count(text("name")) + count(text("description")) + count(&tool["parameters"].to_string())
    });
    (texts[0].to_string(), tools.sum::<usize>() + texts.iter().map(|text| count(text)).sum::<usize>())
}

/// Returns the ids that stand in a part of the system text, as notes end with them.
fn ids(system: &str, title: &str) -> BTreeSet<String> {
    let part = system.split_once(title).map_or("", |(_, rest)| rest);
    let part = ["\n\nNow it is ", "\n\nFURTHER OUTLINE (", "\n\nLOG ("]
        .iter()
        .filter_map(|next| part.find(next))
        .min()
        .map_or(part, |end| &part[..end]);
    let heads = part.lines().filter(|line| line.starts_with(['*', '-']) && line.ends_with('}'));
    heads.filter_map(|line| Some(line.rsplit_once('{')?.1.trim_end_matches('}').to_string())).collect()
}

/// Explains a question, asks it, and compares: who is asked, which headings stand in it, and the tokens of all of it.
async fn check_explained(engine: &Arc<Engine>, servers: &[(&str, &FakeServer)], ask: Ask) -> Explained {
    let query = ask.text.clone();
    let about = About { query: Some(&query), chat: Some(&ask), ..About::default() };
    let explained = engine.explained_for(&origin(), about).await;
    let before: Vec<usize> = servers.iter().map(|(_, server)| server.requests().len()).collect();
    let done = engine.ask(ask, engine.new_turn(), &mut |_| {}).await;
    assert_eq!(done.report.text, "Larch.", "{:?}", done.report.notice);
    let asked = explained.asked.clone().expect("somebody would be asked");
    let (at, (_, server)) = servers.iter().enumerate().find(|(_, (name, _))| *name == asked.name).expect("one of them");
    for (other, (name, server)) in servers.iter().enumerate() {
        let more = server.requests().len() - before[other];
        assert_eq!(more, usize::from(other == at), "{name}");
    }
    let (system, tokens) = sent(&server.requests()[before[at]].json());
    let of = |outline: bool| {
        let stands = |node: &&Considered| node.rendered.is_some() && node.outline == outline;
        explained.nodes.iter().filter(stands).map(|node| node.id.to_string()).collect::<BTreeSet<_>>()
    };
    assert_eq!(of(false), ids(&system, "\n\nMEMORY ("), "{system}");
    let mut outline = ids(&system, "\n\nOUTLINE (");
    outline.extend(ids(&system, "\n\nFURTHER OUTLINE ("));
    assert_eq!(of(true), outline, "{system}");
    assert_eq!(explained.sections.iter().map(|(_, tokens)| tokens).sum::<usize>(), tokens, "{:?}", explained.sections);
    explained
}

/// A chat of so many turns.
fn chat(turns: usize) -> Vec<Said> {
    let said = |role: Role, text: String| Said { role, text, privacy: Privacy::Open, aside: false };
    let turn = |n: usize| {
        let answer = format!("In turn {n}: {}.", "larch is a wood that lasts ".repeat(20));
        [said(Role::User, format!("Question {n} about the boat?")), said(Role::Assistant, answer)]
    };
    (0..turns).flat_map(turn).collect()
}

/// Many notes near the question, so that some of them give way.
fn woods() -> String {
    let wood = |n: usize| {
        let text = format!("Larch number {n} for the deck of the boat, of the wood behind the mill. ").repeat(8);
        format!("* Wood {n}\n:PROPERTIES:\n:ID: wood{n}\n:END:\n{text}\n")
    };
    (0..60).map(wood).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_explained_is_what_is_sent() {
    let private = "* Diary :private:\n:PROPERTIES:\n:ID: diary\n:END:\nLarch of the deck, and of me.\n";
    let home = Home::new(&[("boat.org", BOAT), ("wood.org", &woods()), ("diary.org", private)]);
    let settings = home.config().settings;
    std::fs::create_dir_all(&settings).expect("a folder");
    let preset = "* small\n:PROPERTIES:\n:TOKENS: 3200\n:TOOLS: none\n:END:\n";
    std::fs::write(settings.join("presets.org"), preset).expect("it is written");
    let far = FakeServer::start(["Larch."; 3].map(says));
    let near = FakeServer::start(["Larch."; 2].map(says));
    let engine = home
        .engine_with(|config: &mut Config| {
            provide(config, &[("far", &far, false), ("near", &near, true)], &["far", "near"]);
        })
        .await;
    home.read(&engine).await;
    engine.wait_until_filled();
    engine.confirm_provider("far", &format!("{}/v1/", far.url())).await.expect("it is stored");
    let servers = [("far", &far), ("near", &near)];
    let question = ask("which larch for the deck?");
    let named = |explained: &Explained, part: &str| explained.sections.iter().any(|(name, _)| *name == part);
    // A fresh chat.
    let fresh = check_explained(&engine, &servers, question.clone()).await;
    assert_eq!((fresh.locality, fresh.budget), (Locality::Remote, 3_478));
    assert!(!named(&fresh, "earlier turns, by title") && named(&fresh, "question"), "{:?}", fresh.sections);
    // A long one.
    let long = check_explained(&engine, &servers, Ask { history: chat(80), ..question.clone() }).await;
    assert!(named(&long, "earlier turns, by title") && named(&long, "earlier turns, whole"), "{:?}", long.sections);
    // What was asked last is explained with its chat, without being sent again.
    let again = engine.explained_for(&origin(), About::default()).await;
    assert_eq!((&again.query, &again.sections), (&long.query, &long.sections));
    // A preset with little room: notes give way, and that is said.
    let _ = home.ask(&engine, "/preset small").await;
    let small = check_explained(&engine, &servers, Ask { history: chat(4), ..question.clone() }).await;
    let notes = |explained: &Explained| -> usize {
        let told = explained.nodes.iter().filter(|node| node.rendered.is_some() && !node.outline);
        told.map(|node| node.tokens).sum()
    };
    assert!(notes(&small) < notes(&fresh), "{} {}", notes(&small), notes(&fresh));
    assert!(small.most == 3_200 && small.nodes.iter().any(|node| node.reason == Reason::OverBudget));
    let _ = home.ask(&engine, "/preset none").await;
    // Point in a private heading: who is elsewhere is not asked, and whoever looks for them is told why.
    engine.focus_at(&home.file("diary.org"), 5).expect("a heading");
    let elsewhere = explained(&engine, "which larch for the deck?", Locality::Remote).await;
    let why = elsewhere.asked.clone().expect_err("nobody elsewhere is asked");
    assert!(why.contains("the heading at point is private"), "{why}");
    assert_eq!(engine.why_told(&elsewhere, &NodeId::new("diary")), "diary: left out, private");
    let here = check_explained(&engine, &servers, question.clone()).await;
    assert_eq!((here.locality, here.may_see), (Locality::Local, Privacy::Private));
    assert!(engine.why_told(&here, &NodeId::new("diary")).contains("diary: full, focus, "));
    let text = engine.explained_for(&origin(), About { query: Some("/status"), ..About::default() }).await;
    assert!(text.nodes.is_empty() && text.asked.is_err_and(|why| why.contains("it is a command")));
}

/// Whoever reads a reason finds what it means in the buffer's help and in the manual.
#[test]
fn every_reason_has_a_legend() {
    let own = include_str!("../../lisp/passepartout-context.el");
    let manual = include_str!("../../docs/manual.org");
    let begin = own.find("\"Major mode of the buffer of what a model is told.").expect("the mode says what it is");
    let help = own[begin..].split_once("\\\\{passepartout-context-mode-map}").expect("its keys end it").0;
    let help = help.replace('\n', " ");
    for reason in [
        Reason::Focus,
        Reason::BelowFocus,
        Reason::Ancestor,
        Reason::Root,
        Reason::Outline,
        Reason::Words(0.5),
        Reason::Alike(0.5),
        Reason::Kindred(0.5),
        Reason::Near(0.5),
        Reason::Beside(0.5),
        Reason::Deadline(5),
        Reason::Scheduled(5),
        Reason::Changed,
        Reason::Project,
        Reason::Pinned,
        Reason::Unpinned,
        Reason::OverBudget,
        Reason::Private,
        Reason::Quotes,
        Reason::Far,
        Reason::OutOfSight,
        Reason::TooLarge(5),
    ] {
        let said = reason.to_string();
        let word = said.split([':']).next().unwrap_or_default();
        let word = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ' ');
        let word = word.split(" in 5").next().unwrap_or_default();
        assert!(help.contains(word), "{word} in the help");
        assert!(manual.contains(&format!("={word}=")), "{word} in the manual");
    }
}
