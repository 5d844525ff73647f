//! Tiers of privacy: what blocks, what asks, what warns, through whole turns; and that no edit lowers one unasked.

use crate::support::engine::{Home, ask_from, origin, provide, waiting};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use passepartout::domain::gate::disclosure::loosened;
use passepartout::domain::gate::facts::{BySetup, EditFact};
use passepartout::domain::id::SessionId;
use passepartout::domain::label::{Privacy, PrivacyTag};
use passepartout::domain::memory::document::{PrivacyOptions, privacy};
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::domain::signal::{Origin, Rights, Source};
use passepartout::domain::turn::Ending;
use passepartout::edge::config::{Config, Surroundings};
use passepartout::edge::engine::Engine;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

fn tags() -> Vec<PrivacyTag> {
    ["private", "journal=ask", "work=warn"].map(|tag| PrivacyTag::read(tag).0).to_vec()
}

fn tiers_of(text: &str) -> Vec<&'static str> {
    let outline = scan(text.into(), &ScanOptions::default()).unwrap();
    privacy(&outline, &PrivacyOptions { tags: tags() }).into_iter().map(Privacy::word).collect()
}

#[test]
fn the_strictest_of_tags_file_tags_and_properties_counts_and_is_inherited() {
    for (text, expected) in [
        ("* A :work:\n** B :journal:\n*** C :work:\n** D :private:\n", "open warn ask ask block"),
        ("#+FILETAGS: :journal:\n* A :work:\n* B :private:\n", "ask ask block"),
        ("* A :@Journal:work:\n** B\n", "open ask ask"),
        ("#+PROPERTY: PP_PRIVACY warn\n* A\n", "warn warn"),
        ("* A\n:PROPERTIES:\n:PP_PRIVACY: ask\n:END:\n** B\n", "open ask ask"),
        ("* A\n:PROPERTIES:\n:PP_PRIVACY: block\n:END:\n", "open block"),
        // Ours, and no word that we know: it is meant to keep something.
        ("* A\n:PROPERTIES:\n:PP_PRIVACY: secret\n:END:\n", "open block"),
        // Somebody else's, perhaps.
        ("* A\n:PROPERTIES:\n:PRIVACY: secret\n:END:\n* B\n:PROPERTIES:\n:PRIVACY: warn\n:END:\n", "open open warn"),
        // What is inherited is never loosened by what stands below.
        ("* A :private:\n** B\n:PROPERTIES:\n:PP_PRIVACY: open\n:END:\n", "open block block"),
    ] {
        assert_eq!(tiers_of(text).join(" "), expected, "{text}");
    }
}

#[test]
fn a_tier_that_is_none_blocks_and_says_the_way_out() {
    let variables =
        BTreeMap::from([("PRIVACY_FILTER_TAGS".to_string(), "private, journal=ask work=shout".to_string())]);
    let config = Config::read(&Surroundings { variables });
    let read: Vec<String> = config.private_tags.iter().map(ToString::to_string).collect();
    assert_eq!(read, ["private", "journal=ask", "work"]);
    let wrong = "The private tag “work” blocks: “shout” is no tier; write block, ask or warn.";
    assert!(config.notices.iter().any(|notice| notice == wrong), "{:?}", config.notices);
    let mut config = config;
    let settings = "(:private-tags (\"diary\" (\"journal\" . \"ask\") (\"work\" . \"warn\") (\"x\" . \"y\") 7))";
    let settings = passepartout::domain::sexp::reader::Sexp::read(settings).expect("it can be read");
    config.take_settings(&settings);
    let read: Vec<String> = config.private_tags.iter().map(ToString::to_string).collect();
    assert_eq!(read, ["diary", "journal=ask", "work=warn", "x"]);
    assert!(config.notices.iter().any(|notice| notice.contains("“y” is no tier")), "{:?}", config.notices);
    assert!(config.notices.iter().any(|notice| notice.contains("A private tag is ignored")), "{:?}", config.notices);
}

const NOTES: &str = "* Health :private:\n:PROPERTIES:\n:ID: health\n:END:\nThe canoe result is ZANZIBAR7.\n\
                     * May :journal:\n:PROPERTIES:\n:ID: may\n:END:\nThe canoe trip was MOMBASA8 and long and wet and wonderful all day.\n\
                     * Office :work:\n:PROPERTIES:\n:ID: office\n:END:\nThe canoe budget is NAIROBI9.\n\
                     * Shopping\n:PROPERTIES:\n:ID: shopping\n:END:\nThe canoe paint is KAMPALA5.\n";

async fn elsewhere(home: &Home, server: &FakeServer) -> Arc<Engine> {
    let engine = home
        .engine_with(|config| {
            config.private_tags = tags();
            provide(config, &[("fake", server, false)], &["fake"]);
        })
        .await;
    home.read(&engine).await;
    engine
}

fn says(text: &str) -> Reply {
    Reply::answer(Dialect::OpenAi, &[text], &[])
}

fn call(tool: &str, mut args: Value) -> Reply {
    args["explanation"] = json!("The user asked for exactly this.");
    Reply::answer(Dialect::OpenAi, &[], &[("c1", tool, args)])
}

fn bodies(server: &FakeServer) -> Vec<String> {
    server.requests().iter().map(|request| request.json().to_string()).collect()
}

/// Approves the first contact, so that what follows is about notes alone.
async fn known(home: &Home, engine: &Arc<Engine>) {
    let _ = home.ask(engine, "good morning").await;
    home.approve(engine, &waiting(engine)).await.expect("the approval counts");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_warns_goes_out_and_is_said_what_asks_waits_for_the_user_and_what_blocks_stays() {
    let home = Home::new(&[("notes.org", NOTES)]);
    let server = FakeServer::start([says("Good morning."), says("One."), says("Two."), says("Three.")]);
    let engine = elsewhere(&home, &server).await;
    known(&home, &engine).await;
    let (finished, _) = home.ask(&engine, "what about the canoe?").await;
    assert_eq!(finished.report.ending, Ending::Answered, "{:?}", finished.report.notice);
    let sent = bodies(&server).pop().unwrap_or_default();
    for (word, goes) in [("ZANZIBAR7", false), ("MOMBASA8", false), ("NAIROBI9", true), ("KAMPALA5", true)] {
        assert_eq!(sent.contains(word), goes, "{word}: {sent}");
    }
    // The user is told once, by name, what was left out for want of a word, and the trace says what went though marked.
    let notice = finished.report.notice.clone().unwrap_or_default();
    assert!(notice.contains("“May”") && notice.contains("/share") && !notice.contains("Health"), "{notice}");
    let said = finished.report.deeds.iter().find(|deed| deed.tool == "context").expect("it is in the trace");
    assert!(said.trace.as_ref().is_some_and(|trace| trace.opinions.iter().all(|one| one.verdict.name() == "pass")));
    assert!(said.summary.contains("“Office”") && !said.summary.contains("Shopping"), "{}", said.summary);
    let sent: Vec<String> = engine.sent_marked().into_iter().map(|(tag, _)| tag).collect();
    assert_eq!(sent, ["work"]);
    let kept: Vec<String> = engine.kept_back().into_iter().map(|(tag, _)| tag).collect();
    assert_eq!(kept, ["journal", "private"]);
    let said = home.ask(&engine, "/tags").await.1;
    let line = |tag: &str| said.lines().find(|line| line.starts_with(&format!("- {tag}: "))).unwrap_or_default();
    for (tag, what) in [
        (
            "work",
            "goes to a model elsewhere, and that is said (warn); kept back 0 times since the start, sent elsewhere ",
        ),
        ("journal", "goes to a model elsewhere only after /share (ask); kept back "),
        ("private", "goes to no model elsewhere (block); kept back "),
    ] {
        assert!(line(tag).contains(what), "{tag}: {said}");
    }
    assert!(!line("private").contains("back 0 times"), "{said}");
    let stranger = Origin { rights: Rights { see_private: false, ..Rights::HUMAN }, ..origin() };
    let hidden = engine.ask(ask_from(stranger, "/tags"), engine.new_turn(), &mut |_| {}).await.report.text;
    assert!(hidden.contains("look in Emacs") && !hidden.contains("journal"), "{hidden}");
    let (again, _) = home.ask(&engine, "and the canoe?").await;
    assert_eq!(again.report.notice, None, "once in a conversation");

    // Only a channel of a human's own lets it in, and only in that conversation.
    let model = Origin { rights: Rights { approve: false, ..Rights::HUMAN }, source: Source::Client, ..origin() };
    let refused = engine.ask(ask_from(model, "/share"), engine.new_turn(), &mut |_| {}).await;
    assert!(refused.report.text.contains("may not let notes go"), "{}", refused.report.text);
    let (shared, _) = home.ask(&engine, "/share").await;
    assert!(shared.report.text.contains("in this conversation only"), "{}", shared.report.text);
    let (finished, _) = home.ask(&engine, "what about the canoe now?").await;
    assert_eq!(finished.report.ending, Ending::Answered, "{:?}", finished.report.notice);
    let sent = bodies(&server).pop().unwrap_or_default();
    assert!(sent.contains("MOMBASA8") && !sent.contains("ZANZIBAR7"), "{sent}");
    assert_eq!(finished.report.conversation.labels.privacy, Privacy::Ask);
    engine.close().await;

    // A start later it is still so; in another conversation it is not.
    server.push(says("Four."));
    server.push(says("Five."));
    let engine = elsewhere(&home, &server).await;
    let (finished, _) = home.ask(&engine, "the canoe once more").await;
    assert_eq!(finished.report.ending, Ending::Answered, "{:?}", finished.report.notice);
    assert!(bodies(&server).pop().unwrap_or_default().contains("MOMBASA8"));
    let other = Origin { session: passepartout::domain::id::SessionId("other".into()), ..origin() };
    let asked = ask_from(other, "what about the canoe?");
    let finished = engine.ask(asked, engine.new_turn(), &mut |_| {}).await;
    assert_eq!(finished.report.ending, Ending::Answered, "{:?}", finished.report.notice);
    assert!(!bodies(&server).pop().unwrap_or_default().contains("MOMBASA8"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_would_show_what_asks_waits_for_a_yes_that_holds_for_the_conversation() {
    let home = Home::new(&[("notes.org", NOTES)]);
    let server = FakeServer::start([
        says("Good morning."),
        call("memory-read", json!({"id": "may"})),
        call("memory-read", json!({"id": "may"})),
        call("memory-read", json!({"id": "health"})),
        says("I may not."),
    ]);
    let engine = elsewhere(&home, &server).await;
    known(&home, &engine).await;
    let (finished, _) = home.ask(&engine, "hello").await;
    assert_eq!(finished.report.ending, Ending::Parked, "{:?}", finished.report.notice);
    let plan = waiting(&engine);
    assert!(plan.asks().iter().any(|(_, why)| why.contains("You want to be asked about it")), "{:?}", plan.asks());
    assert!(plan.title.contains("May"), "the plan names the heading: {}", plan.title);
    assert!(!bodies(&server).concat().contains("MOMBASA8"));
    let finished = home.approve(&engine, &plan).await.expect("the approval counts");
    // The second reading asks no more, and what blocks is refused as ever.
    assert_eq!(finished.report.ending, Ending::Answered, "{:?}", finished.report.notice);
    assert!(bodies(&server).concat().contains("MOMBASA8"));
    assert!(!bodies(&server).concat().contains("ZANZIBAR7"));
    assert!(engine.plans(false).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_shows_nothing_and_words_of_what_asks_go_nowhere_else() {
    let home = Home::new(&[("notes.org", NOTES)]);
    let server =
        FakeServer::start([says("Good morning."), call("memory-read", json!({"id": "may"})), says("As you like.")]);
    let engine = elsewhere(&home, &server).await;
    known(&home, &engine).await;
    let _ = home.ask(&engine, "hello").await;
    let finished = home.deny(&engine, &waiting(&engine), "no").await.expect("the denial counts");
    assert_eq!(finished.report.ending, Ending::Answered, "{:?}", finished.report.notice);
    assert!(!bodies(&server).concat().contains("MOMBASA8"));
    // Quoted by the user, such a note makes the conversation one that asks.
    let quoted = "translate: The canoe trip was MOMBASA8 and long and wet and wonderful all day.";
    let (finished, _) = home.ask(&engine, quoted).await;
    assert_eq!(finished.report.ending, Ending::Failed, "{:?}", finished.report.notice);
    assert!(finished.report.notice.clone().unwrap_or_default().contains("/share"), "{:?}", finished.report.notice);
    assert_eq!(engine.known_privacy(&finished.session), Privacy::Ask);
    assert!(!bodies(&server).concat().contains("MOMBASA8"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_let_go_is_taken_back_from_here_on() {
    let home = Home::new(&[("notes.org", NOTES)]);
    let server = FakeServer::start([says("Good morning."), says("One."), says("Two."), says("Three.")]);
    let engine = elsewhere(&home, &server).await;
    known(&home, &engine).await;
    let said = home.ask(&engine, "/unshare").await.0.report.text;
    assert!(said.contains("nothing to take back"), "{said}");
    let _ = home.ask(&engine, "/share").await;
    // No model says so for the user, and a human may whatever the channel: it tightens.
    let model = Origin {
        rights: Rights { approve: false, propose: false, ..Rights::HUMAN },
        source: Source::Client,
        ..origin()
    };
    let refused = engine.ask(ask_from(model, "/unshare"), engine.new_turn(), &mut |_| {}).await;
    assert!(!refused.report.text.contains("stay here again"), "{}", refused.report.text);
    let terminal = Origin { source: Source::Cli, ..origin() };
    let said = engine.ask(ask_from(terminal, "/unshare"), engine.new_turn(), &mut |_| {}).await.report.text;
    assert!(said.contains("stay here again") && said.contains("cannot be called back"), "{said}");
    let (finished, _) = home.ask(&engine, "what about the canoe?").await;
    assert_eq!(finished.report.ending, Ending::Answered, "{:?}", finished.report.notice);
    assert!(!bodies(&server).concat().contains("MOMBASA8"));
    let notice = finished.report.notice.unwrap_or_default();
    assert!(notice.contains("“May”") && notice.contains("/share"), "{notice}");
    engine.close().await;
    drop(engine);
    // A start later it is still so, until it is said again.
    let engine = elsewhere(&home, &server).await;
    let _ = home.ask(&engine, "and the canoe?").await;
    assert!(!bodies(&server).concat().contains("MOMBASA8"));
    let _ = home.ask(&engine, "/share").await;
    let _ = home.ask(&engine, "the canoe now?").await;
    assert!(bodies(&server).concat().contains("MOMBASA8"));
    // What drew on such a note goes nowhere else once it is taken back.
    let _ = home.ask(&engine, "/unshare").await;
    let before = bodies(&server).len();
    let (finished, _) = home.ask(&engine, "once more?").await;
    assert_eq!(finished.report.ending, Ending::Failed, "{:?}", finished.report.notice);
    assert_eq!(bodies(&server).len(), before);
    let kept = engine.decisions(None, 1_000).await.expect("the audit");
    let taken = kept.iter().filter(|one| format!("{one:?}").contains("stays here again")).count();
    assert_eq!(taken, 2, "{kept:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_a_note_that_warns_go_out_and_are_said_and_counted() {
    let said = "the canoe budget is NAIROBI9 and nobody in the whole office likes the number at all";
    let notes = NOTES.replace("The canoe budget is NAIROBI9.", said);
    let home = Home::new(&[("notes.org", &notes)]);
    let server = FakeServer::start([says("Good morning.")]);
    let engine = elsewhere(&home, &server).await;
    known(&home, &engine).await;
    // What is in the slice of memory is in the trace; this comes by another way.
    let (narrowed, _) = home.ask(&engine, "/focus Shopping").await;
    assert!(narrowed.report.text.contains("Shopping"), "{}", narrowed.report.text);
    let copied = home.project("copied.txt");
    std::fs::write(&copied, format!("She wrote: {}.\n", said.to_uppercase())).expect("a file");
    server.push(call("read-file", json!({"path": copied})));
    server.push(says("One."));
    server.push(says("Two."));
    let (finished, _) = home.ask(&engine, "read the copied text").await;
    assert_eq!(finished.report.ending, Ending::Answered, "{:?}", finished.report.notice);
    let notice = finished.report.notice.clone().unwrap_or_default();
    assert!(
        notice.contains("stand in the note “Office”") && notice.contains("warns"),
        "{notice} {:?}",
        finished.report.deeds
    );
    assert_eq!(engine.sent_marked().first().map(|(tag, _)| tag.as_str()), Some("work"));
    assert!(!engine.kept_back().iter().any(|(tag, _)| tag == "work"), "{:?}", engine.kept_back());
    assert_eq!(engine.known_privacy(&finished.session), Privacy::Warn);
    let (again, _) = home.ask(&engine, "thank you").await;
    assert!(!again.report.notice.clone().unwrap_or_default().contains("Office"), "{:?}", again.report.notice);
}

#[tokio::test(flavor = "multi_thread")]
async fn words_that_an_act_would_send_warn_ask_or_are_denied_by_the_tier_of_their_note() {
    const CLOVES: &str = "zanzibar sells cloves by the sack to whoever comes early enough in the week";
    const LAMPS: &str = "nairobi has nine lamps on every second bridge that crosses the river by night";
    let notes = NOTES.replace("The canoe result is ZANZIBAR7.", CLOVES).replace("The canoe budget is NAIROBI9.", LAMPS);
    let home = Home::new(&[("notes.org", &notes)]);
    let server = FakeServer::start([says("Good morning.")]);
    let engine = elsewhere(&home, &server).await;
    known(&home, &engine).await;
    let sends = |text: &str| {
        call("shell", json!({"command": format!("curl -d '{text}' https://example.org/"), "hosts": ["example.org"]}))
    };
    for (text, expected) in [
        (LAMPS, ""),
        ("nothing of all this stands in any of the notes that are kept here", ""),
        ("the canoe trip was mombasa8 and long and wet and wonderful all day", "ask"),
        (CLOVES, "deny"),
    ] {
        server.push(sends(text));
        if expected.is_empty() {
            server.push(says("As you like."));
        }
        // Each in a conversation of its own: what a call holds is part of what is asked next.
        let session = SessionId(format!("about {}", text.len()));
        let asked = ask_from(Origin { session, ..origin() }, "send it");
        let finished = engine.ask(asked, engine.new_turn(), &mut |_| {}).await;
        let deed = finished.report.deeds.iter().find(|deed| deed.tool == "shell").expect("it was judged");
        let trace = deed.trace.as_ref().expect("the gates said something");
        let found = trace.opinions.iter().find(|one| format!("{:?}", one.verdict).contains("Words of a"));
        let said = found.map(|one| format!("{} {:?}", one.verdict.name(), one.verdict)).unwrap_or_default();
        assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{text}: {said}");
        // Elsewhere it is said where the act is shown.
        assert_eq!(engine.plans(false).len(), usize::from(expected != "deny"), "{text}: {deed:?}");
        for plan in engine.plans(false) {
            let warns = plan.body.contains("quotes a note that warns: “Office” in command");
            assert_eq!(warns, text == LAMPS, "{}", plan.body);
            home.deny(&engine, &plan, "no").await.expect("the denial counts");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_plan_is_judged_by_what_the_model_may_see() {
    let home = Home::new(&[("notes.org", NOTES)]);
    let server = FakeServer::start([says("Good morning.")]);
    let engine = home
        .engine_with(|config| {
            config.private_tags = tags();
            config.permissions.insert("memory-read".to_string(), passepartout::domain::scope::Level::Ask);
            provide(config, &[("fake", &server, false)], &["fake"]);
        })
        .await;
    home.read(&engine).await;
    known(&home, &engine).await;
    for (shared, id, word) in [
        (false, "office", Some("NAIROBI9")),
        (false, "health", None),
        (false, "may", None),
        (true, "may", Some("MOMBASA8")),
        (true, "health", None),
    ] {
        if shared {
            let _ = home.ask(&engine, "/share").await;
        }
        server.push(call("memory-read", json!({"id": "shopping"})));
        let (finished, _) = home.ask(&engine, "hello").await;
        assert_eq!(finished.report.ending, Ending::Parked, "{:?}", finished.report.notice);
        let mut args = waiting(&engine).action.args().clone();
        args.insert("id".into(), id.into());
        let edited = engine.edit_plan(&origin(), &waiting(&engine).id.0, args).await;
        server.push(says("Thank you."));
        let plan = match (edited, word) {
            (Ok(plan), Some(_)) => plan,
            // What asks first is one question more, and what blocks is refused.
            (Ok(plan), None) if id == "may" => {
                assert!(plan.asks().iter().any(|(_, why)| why.contains("You want to be asked")), "{:?}", plan.asks());
                home.deny(&engine, &plan, "no").await.expect("the denial counts");
                continue;
            }
            (Err(why), None) => {
                assert!(why.contains("not local"), "{why}");
                home.deny(&engine, &waiting(&engine), "no").await.expect("the denial counts");
                continue;
            }
            (edited, word) => panic!("{id}: {edited:?} {word:?}"),
        };
        home.approve(&engine, &plan).await.expect("the approval counts");
        let sent = bodies(&server).concat();
        assert!(word.is_some_and(|word| sent.contains(word)) && !sent.contains("ZANZIBAR7"), "{id}: {sent}");
    }
}

const MARKS: [&str; 6] = ["", " :work:", " :journal:", " :private:", "warn", "ask"];

fn text_of(file_tag: usize, headings: &[(usize, usize, usize)]) -> String {
    let mut text = ["", "#+FILETAGS: :work:\n", "#+FILETAGS: :journal:\n"].get(file_tag).unwrap_or(&"").to_string();
    for (name, level, mark) in headings {
        let stars = "*".repeat(*level);
        text.push_str(&match MARKS[*mark % MARKS.len()] {
            tier @ ("warn" | "ask") => {
                format!("{stars} word{name:03}\n:PROPERTIES:\n:PP_PRIVACY: {tier}\n:END:\nbody{name:03}\n")
            }
            tags => format!("{stars} word{name:03}{tags}\nbody{name:03}\n"),
        });
    }
    text
}

/// Returns how private each unique word stands.
fn places(text: &str) -> BTreeMap<String, Privacy> {
    let outline = scan(text.into(), &ScanOptions::default()).unwrap();
    let tiers = privacy(&outline, &PrivacyOptions { tags: tags() });
    let mut found = BTreeMap::new();
    for (node, tier) in outline.nodes.iter().zip(tiers) {
        let said = format!("{} {}", outline.slice(&node.title), outline.slice(&node.section));
        let words = said.split_whitespace().filter(|word| word.starts_with("word") || word.starts_with("body"));
        found.extend(words.map(|word| (word.to_string(), tier)));
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_edit_lowers_a_tier_without_an_ask(
        file_tags in (0usize..3, 0usize..3),
        before in proptest::collection::vec((1usize..4, 0usize..6), 1..8),
        after in proptest::collection::vec((0usize..8, 1usize..4, 0usize..6), 0..8),
    ) {
        let before: Vec<_> = before.into_iter().enumerate().map(|(name, (level, mark))| (name, level, mark)).collect();
        let mut seen = std::collections::BTreeSet::new();
        let after: Vec<_> = after.into_iter().filter(|(name, ..)| seen.insert(*name)).collect();
        let (before, after) = (text_of(file_tags.0, &before), text_of(file_tags.1, &after));
        let edit = EditFact {
            file: "/m/n.org".into(),
            before: Some(before.as_str().into()),
            after: after.as_str().into(),
            diff: String::new(),
            by_setup: BySetup::default(),
        };
        let lost = loosened(&[edit], &tags()).unwrap();
        let (old, new) = (places(&before), places(&after));
        let lower = |(word, was): (&String, &Privacy)| new.get(word).is_some_and(|is| is < was);
        prop_assert_eq!(!lost.names.is_empty(), old.iter().any(lower), "{:?}\n{}->\n{}", lost, before, after);
        let opens = old.iter().any(|(word, was)| *was > Privacy::Open && new.get(word) == Some(&Privacy::Open));
        prop_assert_eq!(lost.opens, opens, "{:?}\n{}->\n{}", lost, before, after);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_stored_is_taken_back_all_the_same_and_said() {
    let home = Home::new(&[("notes.org", NOTES)]);
    let server = FakeServer::start([says("One."), says("Two.")]);
    let engine = elsewhere(&home, &server).await;
    known(&home, &engine).await;
    let _ = home.ask(&engine, "/share").await;
    engine.close().await;
    let said = home.ask(&engine, "/unshare").await.0.report.text;
    assert!(said.contains("stay here again") && said.contains("It could not be stored ("), "{said}");
    assert!(said.ends_with("it holds until Emacs ends. Say /unshare again then."), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_counted_as_sent_though_marked_is_what_was_sent() {
    let home = Home::new(&[("notes.org", NOTES)]);
    let server = FakeServer::start([]);
    let engine = elsewhere(&home, &server).await;
    let sent = || engine.sent_marked().into_iter().map(|(_, count)| count).sum::<u64>();
    let in_trace = |finished: &passepartout::edge::engine::record::Finished| {
        finished.report.deeds.iter().any(|deed| deed.tool == "context")
    };
    // What a human was shown is what goes, whatever is looked at by then.
    let _ = home.ask(&engine, "good morning").await;
    let plan = waiting(&engine);
    assert!(plan.action.text("sent").is_some_and(|shown| shown.contains("Office")), "{plan:?}");
    let _ = home.ask(&engine, "/focus Shopping").await;
    server.push(says("Good morning."));
    let finished = home.approve(&engine, &plan).await.expect("the approval counts");
    assert!(bodies(&server).concat().contains("Office"));
    assert_eq!((sent(), in_trace(&finished)), (1, true));
    let _ = home.ask(&engine, "/unfocus").await;
    // A question so long that the notes give way.
    let mut gave_way = 0;
    for words in (500..20_000).step_by(500) {
        let before = (sent(), bodies(&server).len());
        server.push(says("So much."));
        let session = SessionId(format!("long {words}"));
        let question = "canoe ".repeat(words);
        let asked = ask_from(Origin { session, ..origin() }, &question);
        let finished = engine.ask(asked, engine.new_turn(), &mut |_| {}).await;
        let bodies = bodies(&server);
        let Some(body) = bodies.get(before.1) else { break };
        let went = body.contains("Office");
        assert_eq!((sent() - before.0, in_trace(&finished)), (u64::from(went), went), "{words}");
        gave_way += usize::from(!went);
    }
    assert!(gave_way > 0, "nothing gave way");
}
