//! Cassettes: what is recorded of exchanges with providers, what is not, and that it is played again as it was.

use crate::cli::run;
use crate::support::engine::{Home, ask, origin, provide, waiting};
use crate::support::fake_server::{DIALECTS, Dialect, FakeServer, Reply};
use passepartout::domain::cassette::{By, Cassette, End};
use passepartout::domain::port::Streamed;
use passepartout::domain::signal::{Origin, Rights};
use passepartout::domain::turn::Ending;
use passepartout::edge::config::{Config, ProviderSetting};
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::cascade::Choice;
use passepartout::edge::engine::record::Finished;
use passepartout::edge::provider::replay::load;
use passepartout::edge::secret::{Secret, Vault};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const NOTES: &str = "* Kitchen\n:PROPERTIES:\n:ID: kitchen\n:END:\nThe tiles are blue.\n";
/// What may be told to a model on this machine alone.
const SURGEON: &str = "* Surgeon :private:\nZANZIBAR7\n";
/// It has the form of a token, and no meaning.
const TOKEN: &str = "ghp_016C7QzGkFmKr4xQ0dVwYzTtBnHsLa2u9eXj";

fn word(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenAi => "openai",
        Dialect::Anthropic => "anthropic",
        Dialect::Gemini => "gemini",
        Dialect::Ollama => "ollama",
    }
}

fn tape(home: &Home, name: &str) -> PathBuf {
    home.folder.path().canonicalize().expect("it is there").join(name)
}

/// Returns an engine that asks a server by a protocol, or plays a cassette.
async fn with(home: &Home, kind: &str, url: &str) -> Arc<Engine> {
    with_behind(home, kind, url, &["fake"]).await
}

/// Does so with this order of providers.
async fn with_behind(home: &Home, kind: &str, url: &str, cascade: &[&str]) -> Arc<Engine> {
    let set = |config: &mut Config| {
        provide(config, &[], cascade);
        config.providers = vec![ProviderSetting {
            name: "fake".into(),
            kind: kind.into(),
            url: Some(url.into()),
            model: Some("m".into()),
            local: true,
            effort: None,
        }];
        config.request_timeout = 2;
        config.stall_timeout = 2;
    };
    let engine = home.engine_with(set).await;
    home.read(&engine).await;
    engine
}

/// What came of a turn, as far as models have a part in it.
fn told(finished: &Finished, streamed: &str) -> String {
    let report = &finished.report;
    let deeds: Vec<_> = report.deeds.iter().map(|deed| (&deed.summary, &deed.outcome)).collect();
    format!("{:?} {:?} {:?} {deeds:?} {streamed}", report.ending, report.text, report.usage)
}

/// Asks three questions while they are recorded, and plays them again; returns the cassette.
async fn recorded(home: &Home, kind: &str, server: &FakeServer, path: &Path) -> Cassette {
    let questions = ["what about the tiles?", "and the kitchen?", "and then?"];
    let engine = with(home, kind, &server.url()).await;
    engine.record_cassette(&origin(), path).expect("it is recorded");
    let mut live = Vec::new();
    for question in questions {
        let (finished, streamed) = home.ask(&engine, question).await;
        live.push(told(&finished, &streamed));
    }
    let said = engine.stop_cassette(&origin()).expect("it ends");
    assert!(said.contains("exchanges are in"), "{said}");
    engine.close().await;
    let cassette = load(path).expect("it is whole");
    let sent: Vec<String> = server.requests().iter().map(|request| request.body.clone()).collect();
    let kept: Vec<String> = cassette.exchanges.iter().map(|exchange| exchange.request.clone()).collect();
    assert_eq!(kept, sent, "{kind}: each request stands there byte for byte");
    for _ in 0..2 {
        let engine = with(home, "replay", path.to_str().expect("a name")).await;
        for (question, live) in questions.iter().zip(&live) {
            let (finished, streamed) = home.ask(&engine, question).await;
            assert_eq!(&told(&finished, &streamed), live, "{kind}");
            if finished.report.ending == Ending::Answered {
                let notice = finished.report.notice.unwrap_or_default();
                assert!(notice.contains("No model was asked: this was played from"), "{notice}");
            }
        }
        let over = home.ask(&engine, "more?").await.0.report;
        let notice = over.notice.unwrap_or_default();
        assert!(
            over.ending == Ending::Failed && notice.contains("exchanges of") && notice.contains("were played"),
            "{notice}"
        );
        engine.close().await;
    }
    cassette
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_recorded_is_played_again_as_it_was_in_every_protocol() {
    for dialect in DIALECTS {
        let home = Home::new(&[("home.org", NOTES)]);
        let call = ("c1", "memory-read", json!({"id": "kitchen", "explanation": "To look."}));
        let server = FakeServer::start([
            Reply::answer(dialect, &["Blau – ", "größer als “x”, 漢字 🜁."], &[]).in_pieces(7),
            Reply::answer(dialect, &[], &[call]).in_pieces(11),
            Reply::answer(dialect, &["Blue, all of them."], &[]),
            Reply::answer(dialect, &["Half of it and more"], &[]).cut_after("Half"),
        ]);
        let cassette = recorded(&home, word(dialect), &server, &tape(&home, "a.jsonl")).await;
        assert_eq!(cassette.head.by, By::Models);
        let ends: Vec<End> = cassette.exchanges.iter().map(|exchange| exchange.end).collect();
        assert_eq!(ends, [End::Whole, End::Whole, End::Whole, End::Cut], "{dialect:?}");
        assert!(cassette.exchanges[0].chunks.len() > 1, "{dialect:?}: in the pieces in which it came");
        assert!(cassette.exchanges.iter().all(|exchange| exchange.redacted == 0), "{dialect:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_and_servers_that_are_gone_are_played_again_too() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start([
        Reply::json(401, &json!({"error": {"message": "no key"}})),
        Reply::raw(200, "text/html", "<html></html>"),
        Reply::json(429, &json!({"error": {"message": "slowly"}})).header("retry-after", "7"),
    ]);
    let cassette = recorded(&home, "openai", &server, &tape(&home, "a.jsonl")).await;
    let statuses: Vec<u16> = cassette.exchanges.iter().map(|exchange| exchange.status).collect();
    assert_eq!(statuses, [401, 200, 429]);
    assert!(cassette.exchanges[2].headers.contains(&("retry-after".to_string(), "7".to_string())));
}

/// Returns an engine with two providers that are asked in this order.
async fn with_two(home: &Home, one: &FakeServer, two: &FakeServer) -> Arc<Engine> {
    let engine = home.engine_with(|config| provide(config, &[("one", one, true), ("two", two, true)], &["one", "two"]));
    let engine = engine.await;
    home.read(&engine).await;
    engine
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_recorded_over_a_fallback_is_played_question_by_question() {
    let home = Home::new(&[("home.org", NOTES)]);
    let says = |text: &str| Reply::answer(Dialect::OpenAi, &[text], &[]);
    let one = FakeServer::start([
        Reply::json(500, &json!({"error": {"message": "no luck"}})),
        says("The third."),
        says("Half of it and more").cut_after("Half of it"),
    ]);
    let two = FakeServer::start([says("The first."), says("The second."), says("The fourth.")]);
    let engine = with_two(&home, &one, &two).await;
    let path = tape(&home, "a.jsonl");
    engine.record_cassette(&origin(), &path).expect("it is recorded");
    let mut live = Vec::new();
    for question in ["one?", "two?", "three?", "four?"] {
        if question == "three?" {
            // The one that failed comes first again.
            home.clock.advance(1);
        }
        let (finished, streamed) = home.ask(&engine, question).await;
        live.push((question, told(&finished, &streamed)));
    }
    engine.stop_cassette(&origin()).expect("it ends");
    engine.close().await;
    for (at, words) in ["The first.", "The second.", "The third.", "The fourth."].into_iter().enumerate() {
        assert!(live[at].1.contains(words), "{}", live[at].1);
    }
    assert!(live[3].1.contains("Half of it") && live[3].1.contains("The answer of one broke off here."), "{live:?}");
    let engine = with(&home, "replay", path.to_str().expect("a name")).await;
    for (question, live) in live {
        let (finished, streamed) = home.ask(&engine, question).await;
        assert_eq!(told(&finished, &streamed), live, "{question}");
    }
    let notice = home.ask(&engine, "more?").await.0.report.notice.unwrap_or_default();
    assert!(notice.contains("all 6 exchanges of"), "{notice}");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_that_were_asked_at_once_one_is_played_for_each_question() {
    let home = Home::new(&[("home.org", NOTES)]);
    let says = |text: &str| Reply::answer(Dialect::OpenAi, &[text], &[]);
    let one = FakeServer::start([says("one says 1"), says("one says 2")]);
    let two = FakeServer::start([says("two says 1"), says("two says 2")]);
    let engine = with_two(&home, &one, &two).await;
    let path = tape(&home, "a.jsonl");
    engine.record_cassette(&origin(), &path).expect("it is recorded");
    for question in ["/consensus 2 now?", "/consensus 2 and then?"] {
        assert_eq!(home.ask(&engine, question).await.0.report.ending, Ending::Answered, "{question}");
    }
    engine.stop_cassette(&origin()).expect("it ends");
    engine.close().await;
    assert_eq!(load(&path).expect("it is whole").exchanges.len(), 4);
    let engine = with(&home, "replay", path.to_str().expect("a name")).await;
    for end in ["says 1", "says 2"] {
        let text = home.ask(&engine, "and?").await.0.report.text;
        assert!(text.ends_with(end), "{text}");
    }
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cassette_goes_on_whoever_sets_it_up_anew() {
    let home = Home::new(&[("home.org", NOTES)]);
    let says = |text: &str| Reply::answer(Dialect::OpenAi, &[text], &[]);
    let server = FakeServer::start(["first", "second", "third"].map(says));
    let engine = with(&home, "openai", &server.url()).await;
    let path = tape(&home, "a.jsonl");
    engine.record_cassette(&origin(), &path).expect("it is recorded");
    for question in ["1?", "2?", "3?"] {
        assert_eq!(home.ask(&engine, question).await.0.report.ending, Ending::Answered, "{question}");
    }
    engine.stop_cassette(&origin()).expect("it ends");
    engine.close().await;
    std::fs::create_dir_all(home.config().settings).expect("the settings' folder");
    let preset = "* tape\n:PROPERTIES:\n:MODEL: fake\n:END:\n";
    std::fs::write(home.config().settings.join("presets.org"), preset).expect("it is written");
    let engine = with(&home, "replay", path.to_str().expect("a name")).await;
    home.ask(&engine, "/preset tape").await;
    let mut said = vec![home.ask(&engine, "1?").await.0.report.text, home.ask(&engine, "2?").await.0.report.text];
    home.ask(&engine, "/preset none").await;
    // As an Emacs sends its settings again.
    engine.follow_providers(&passepartout::domain::sexp::reader::Sexp::Nil);
    said.push(home.ask(&engine, "3?").await.0.report.text);
    assert_eq!(said, ["first", "second", "third"]);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_masked_and_keys_never_there() {
    let home = Home::new(&[("home.org", NOTES)]);
    let says = format!("Your token is {TOKEN}.");
    let server = FakeServer::start([Reply::answer(Dialect::OpenAi, &[&says], &[]).in_pieces(9)]);
    let mut config = home.config();
    provide(&mut config, &[("fake", &server, true)], &["fake"]);
    let mut boot = home.boot(config);
    let key = "key-of-the-fake-server-0123456789";
    boot.vault = Vault::gather([("fake".to_string(), Secret::new(key.to_string()))], [], []);
    let engine = passepartout::edge::engine::boot::start(boot).await.expect("it starts");
    let path = tape(&home, "a.jsonl");
    engine.record_cassette(&origin(), &path).expect("it is recorded");
    let _ = home.ask(&engine, &format!("is {TOKEN} mine?")).await;
    engine.stop_cassette(&origin()).expect("it ends");
    assert_eq!(
        server.requests()[0].header("authorization"),
        Some(&*format!("Bearer {key}")),
        "the server is asked with it"
    );
    let text = std::fs::read_to_string(&path).expect("a file");
    for secret in [TOKEN, key, "Bearer"] {
        assert!(!text.contains(secret), "{text}");
    }
    let cassette = load(&path).expect("it is whole");
    assert!(cassette.exchanges[0].redacted >= 2, "{}", cassette.exchanges[0].redacted);
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&path).expect("a file"));
    assert_eq!(mode & 0o777, 0o600);
    // What is masked is played all the same.
    engine.close().await;
    let engine = with(&home, "replay", path.to_str().expect("a name")).await;
    let (finished, _) = home.ask(&engine, "is it?").await;
    assert!(finished.report.text.starts_with("Your token is "), "{}", finished.report.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_a_stream_parts_is_masked_in_every_protocol() {
    let says = format!("Your token is {TOKEN}, I think.");
    let letters: Vec<&str> = says.split_inclusive(|_| true).collect();
    for dialect in DIALECTS {
        let home = Home::new(&[("home.org", NOTES)]);
        let server = FakeServer::start([Reply::answer(dialect, &letters, &[]).in_pieces(40)]);
        let engine = with(&home, word(dialect), &server.url()).await;
        let path = tape(&home, "a.jsonl");
        engine.record_cassette(&origin(), &path).expect("it is recorded");
        let _ = home.ask(&engine, "what is mine?").await;
        engine.stop_cassette(&origin()).expect("it ends");
        engine.close().await;
        assert!(load(&path).expect("it is whole").exchanges[0].redacted > 0, "{dialect:?}");
        let engine = with(&home, "replay", path.to_str().expect("a name")).await;
        let text = home.ask(&engine, "what is it?").await.0.report.text;
        assert!(text.starts_with("Your token is ⟨") && text.ends_with("⟩, I think."), "{dialect:?}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_stopped_is_recorded_as_far_as_it_came() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start([Reply::answer(Dialect::OpenAi, &["Half", " and more"], &[]).silent_after("Half")]);
    let engine = with(&home, "openai", &server.url()).await;
    let path = tape(&home, "a.jsonl");
    engine.record_cassette(&origin(), &path).expect("it is recorded");
    let (heard, mut hears) = tokio::sync::mpsc::unbounded_channel();
    let turn = {
        let engine = engine.clone();
        let sink = move |_: Streamed<'_>| assert!(heard.send(()).is_ok());
        tokio::spawn(async move { engine.ask(ask("and now?"), engine.new_turn(), &mut { sink }).await })
    };
    hears.recv().await.expect("it says something");
    turn.abort();
    assert!(turn.await.is_err());
    engine.stop_cassette(&origin()).expect("it ends");
    let cassette = load(&path).expect("it is whole");
    let [exchange] = cassette.exchanges.as_slice() else { panic!("{}", cassette.exchanges.len()) };
    assert_eq!(exchange.end, End::Cut);
    assert!(String::from_utf8_lossy(&exchange.answer()).contains("Half"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_private_is_recorded_and_that_is_said() {
    let home = Home::new(&[("home.org", NOTES), ("health.org", SURGEON)]);
    let call = ("c1", "memory-search", json!({"query": "ZANZIBAR7", "explanation": "To look."}));
    let server = FakeServer::start([
        Reply::answer(Dialect::OpenAi, &["Blue."], &[]),
        Reply::answer(Dialect::OpenAi, &[], &[call]),
        Reply::answer(Dialect::OpenAi, &["It is ZANZIBAR7."], &[]),
        Reply::answer(Dialect::OpenAi, &["Still private."], &[]),
    ]);
    let engine = with(&home, "openai", &server.url()).await;
    let path = tape(&home, "a.jsonl");
    engine.record_cassette(&origin(), &path).expect("it is recorded");
    for question in ["what about the tiles?", "what is with the surgeon?", "and now?"] {
        assert_eq!(home.ask(&engine, question).await.0.report.ending, Ending::Answered, "{question}");
    }
    let taped = engine.taped().expect("it goes on");
    assert!(taped.private >= 2 && taped.exchanges + taped.waits + taped.private == 4, "{taped:?}");
    let said = engine.stop_cassette(&origin()).expect("it ends");
    assert!(said.contains("were not recorded, as nothing of them may leave this machine"), "{said}");
    assert!(engine.log_lines(100).iter().any(|line| line.text.contains("an exchange was not recorded")));
    let text = std::fs::read_to_string(&path).expect("a file");
    assert!(!text.contains("ZANZIBAR7"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_human_records_and_never_over_a_file_or_into_the_memex() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start([]);
    let engine = with(&home, "openai", &server.url()).await;
    let path = tape(&home, "a.jsonl");
    let model = Origin { rights: Rights { approve: false, ..Rights::HUMAN }, ..origin() };
    let refuse = |origin: &Origin, path: &Path, words: &str| {
        let why = engine.record_cassette(origin, path).expect_err(words);
        assert!(why.contains(words), "{why}");
    };
    refuse(&model, &path, "may not record");
    refuse(&origin(), Path::new("a.jsonl"), "no absolute name");
    refuse(&origin(), Path::new(&home.file("home.org")), "outside the memex");
    refuse(&origin(), &tape(&home, "none/a.jsonl"), "cannot be made");
    std::fs::write(&path, "mine").expect("a file");
    refuse(&origin(), &path, "is there already");
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), "mine");
    assert!(engine.stop_cassette(&origin()).expect_err("nothing").contains("nothing is being recorded"));
    engine.record_cassette(&origin(), &tape(&home, "b.jsonl")).expect("it is recorded");
    refuse(&origin(), &tape(&home, "c.jsonl"), "stop that first");
    assert!(engine.stop_cassette(&model).expect_err("not its own").contains("may not record"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cassette_that_is_broken_fails_with_its_line() {
    let home = Home::new(&[("home.org", NOTES)]);
    let path = tape(&home, "a.jsonl");
    let shipped = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/tour.jsonl");
    let whole = std::fs::read_to_string(shipped).expect("it is shipped");
    std::fs::write(&path, &whole[..whole.len() - 5]).expect("a file");
    let engine = with(&home, "replay", path.to_str().expect("a name")).await;
    let report = home.ask(&engine, "what about the tiles?").await.0.report;
    let notice = report.notice.unwrap_or_default();
    assert!(notice.contains("line 6: it is torn") && notice.contains("5 lines before it are whole"), "{notice}");
    let ran = run(&home, &["cassette", "show", path.to_str().expect("a name")]);
    assert!(ran.status == 1 && ran.err.contains("line 6: it is torn"), "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_is_played_over_the_demo_memex_and_says_that_a_script_spoke() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let shipped = root.join("docs/tour.jsonl");
    let move_org = std::fs::read_to_string(root.join("docs/demo-memex/projects/move.org")).expect("the demo memex");
    let home = Home::new(&[("move.org", &move_org)]);
    let engine = with_behind(&home, "replay", shipped.to_str().expect("a name"), &["fake", "recall"]).await;
    let says = "A script stood in for the model: this was played from";
    let (first, _) = home.ask(&engine, "hello").await;
    assert_eq!(first.report.ending, Ending::Answered, "{:?}", first.report);
    assert!(first.report.text.starts_with("I am a script that stands in for a model"), "{}", first.report.text);
    assert!(first.report.notice.unwrap_or_default().contains(says));
    assert!(first.report.deeds[0].outcome.contains("Post forwarding"), "{:?}", first.report.deeds);
    let second = engine.ask(ask("anything"), engine.new_turn(), &mut |_| {}).await;
    assert_eq!(second.report.ending, Ending::Parked, "{:?}", second.report);
    let done = home.approve(&engine, &waiting(&engine)).await.expect("it counts");
    assert!(done.report.text.starts_with("You decided"), "{:?}", done.report);
    assert!(std::fs::read_to_string(home.file("move.org")).expect("notes").contains("*** DONE Post forwarding"));
    let (last, _) = home.ask(&engine, "and?").await;
    assert!(last.report.text.starts_with("That is the tour,"), "{:?}", last.report);
    // Its last words are true: what is built in answers at once, and nothing has failed.
    let over = "fake is asked no more: all 5 exchanges of";
    assert!(last.report.notice.unwrap_or_default().contains(over));
    let (next, _) = home.ask(&engine, "mark Paint the back room as done").await;
    assert_eq!(next.report.ending, Ending::Parked, "{:?}", next.report);
    let plan = engine.plan(&next.report.plans[0].0).expect("it waits");
    assert_eq!(plan.action.tool(), "org-set-todo");
    for question in ["who owns the van?", "and the boxes?"] {
        let (next, _) = home.ask(&engine, question).await;
        assert_eq!(next.report.ending, Ending::Answered, "{:?}", next.report);
        assert_eq!(next.report.answered_by.as_ref().map(|(provider, _)| provider.as_str()), Some("recall"));
        assert!(!next.report.notice.unwrap_or_default().contains("asked no more"), "it is said once");
    }
    let stands = engine.stands().await;
    let stands: Vec<(&str, &str)> = stands.iter().map(|stand| (stand.name.as_str(), stand.state)).collect();
    assert_eq!(stands, [("recall", "ready"), ("fake", "left-out")]);
    let calls = engine.calls(100).await.expect("the ledger is read");
    assert_eq!(calls.iter().filter(|call| call.status == "answered").count(), calls.len(), "{calls:?}");
    assert_eq!(calls.len(), 5, "{calls:?}");
    // Setting it up anew does not rewind it.
    engine.set_cascade(&origin(), Choice::parse("fake recall").expect("an order")).await.expect("it is set");
    assert_eq!(engine.stands().await.first().map(|stand| stand.name.clone()), Some("recall".to_string()));
    engine.close().await;
    let shown = run(&home, &["cassette", "show", shipped.to_str().expect("a name")]);
    assert!(shown.out.contains("the words of a script that stood in for a model"), "{}", shown.out);
    assert!(shown.out.ends_with("5 exchanges, all of them whole lines\n"), "{}", shown.out);
    let played = run(&home, &["cassette", "play", shipped.to_str().expect("a name"), "hello"]);
    assert!(played.status == 0 && played.out.contains("I am a script"), "{} {}", played.out, played.err);
    assert!(played.out.contains(says) || played.err.contains(says), "{} {}", played.out, played.err);
}
