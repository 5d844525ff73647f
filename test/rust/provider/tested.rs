//! A key is tested with one short request: what is sent, what is said of it before and behind it, and what keeps it back.

use super::*;
use crate::runtime::Client;
use crate::support::engine::{Home, origin, provide};
use passepartout::domain::money::{Cost, Micros};
use passepartout::domain::scope::Level;
use passepartout::domain::sexp::plist::Plist;
use passepartout::domain::signal::{Origin, Rights};
use passepartout::edge::config::{Config, Surroundings};
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::boot::{Boot, start};
use passepartout::edge::engine::key_test::KeyTest;

/// What stands in the memex, and must not go out.
const NOTES: &str = "* Boiler\nIt leaks.\n";
/// Three dollars for a million tokens of a prompt, fifteen of an answer.
const PRICES: &str = "| provider | model | from | in | cached | out |\n| fake | m | 2026-01-01 | 3 | 0.30 | 15 |\n";
/// What the scripted server reports: 11 tokens in, 7 out.
const PAID: Micros = Micros(11 * 3 + 7 * 15);

fn home() -> Home {
    let home = Home::new(&[("home.org", NOTES)]);
    let settings = home.config().settings;
    std::fs::create_dir_all(&settings).expect("the settings' folder");
    std::fs::write(settings.join("prices.org"), PRICES).expect("it is written");
    home
}

/// Starts an engine whose one provider, of a key, is elsewhere and was never contacted.
async fn engine(home: &Home, server: &FakeServer, kind: &str, set: impl FnOnce(&mut Config)) -> Arc<Engine> {
    let mut config = home.config();
    provide(&mut config, &[("fake", server, false)], &["fake", "recall"]);
    config.providers[0].kind = kind.to_string();
    // More than one, which a test does not make use of.
    config.request_tries = 3;
    set(&mut config);
    let vault = Vault::gather([("fake".to_string(), Secret::new(KEY.into()))], [], []);
    let engine = start(Boot { vault, ..home.boot(config) }).await.expect("it starts");
    home.read(&engine).await;
    engine
}

fn word(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenAi => "openai",
        Dialect::Anthropic => "anthropic",
        Dialect::Gemini => "gemini",
        Dialect::Ollama => "ollama",
    }
}

fn at_its_limit(dialect: Dialect, text: &str) -> Script {
    let reason = match dialect {
        Dialect::OpenAi | Dialect::Ollama => "length",
        Dialect::Anthropic => "max_tokens",
        Dialect::Gemini => "MAX_TOKENS",
    };
    Script::answer(dialect, &[text], &[]).stopped_by(reason)
}

async fn shown(engine: &Engine) -> String {
    let offer = engine.offer_key_test(&origin(), "fake").await.expect("it can be asked");
    assert_eq!(offer.forbidden, None);
    offer.shown
}

/// Has the key tested as it was shown.
async fn test(engine: &Engine) -> KeyTest {
    let shown = shown(engine).await;
    engine.test_key(&origin(), "fake", &shown).await.expect("no rule stands against it")
}

#[tokio::test(flavor = "multi_thread")]
async fn one_fixed_text_is_sent_for_the_shortest_answer_and_stands_in_the_ledger() {
    for (dialect, limit) in [
        (Dialect::OpenAi, "/max_tokens"),
        (Dialect::Anthropic, "/max_tokens"),
        (Dialect::Gemini, "/generationConfig/maxOutputTokens"),
        (Dialect::Ollama, "/options/num_predict"),
    ] {
        // The second one came no farther than its thoughts.
        let server = FakeServer::start([at_its_limit(dialect, "OK"), at_its_limit(dialect, "")]);
        let home = home();
        let engine = engine(&home, &server, word(dialect), |config| {
            config.providers[0].effort = Some("high".to_string());
        })
        .await;
        let (host, shown) = (server.url().replace("http://", ""), shown(&engine).await);
        let expected = format!(
            "“Say OK.” and nothing else is sent to {host} (fake, m) for an answer of at most 1 token; price $3.00 in, \
             $0.30 cached, $15.00 out for a million tokens, so $0.000315 at most."
        );
        assert_eq!(shown, expected, "{dialect:?}");
        assert_eq!(server.connections(), 0, "{dialect:?}: to be shown it nobody is asked");
        for times in 1..=2 {
            let expected = format!("fake works: {host} took your key, and m answered, for $0.000138");
            assert_eq!(test(&engine).await, KeyTest { works: true, text: expected }, "{dialect:?}");
            let requests = server.requests();
            assert_eq!(requests.len(), times, "{dialect:?}");
            let (request, sent) = (&requests[times - 1], &requests[times - 1].body);
            assert_eq!(request.json().pointer(limit), Some(&json!(1)), "{dialect:?}: {sent}");
            assert_eq!(sent.matches("Say OK.").count(), 1, "{dialect:?}: {sent}");
            assert!(request.headers.iter().any(|(_, value)| value.contains(KEY)), "{dialect:?}");
            // Neither notes nor settings, tools or who the agent is, nor a wish that it thinks.
            assert!(sent.len() < 250 && !sent.contains("oiler") && !sent.contains("tools"), "{dialect:?}: {sent}");
            assert!(!sent.contains("high") && !sent.contains("thinking"), "{dialect:?}: {sent}");
        }
        let calls = engine.calls(10).await.expect("the ledger is read");
        assert_eq!(calls.len(), 2, "{dialect:?}");
        for call in calls {
            let found = (call.provider.as_str(), call.model.as_str(), call.status.as_str(), call.attempts, call.cost);
            assert_eq!(found, ("fake", "m", "answered", 1, Cost::Known(PAID)), "{dialect:?}");
            assert_eq!((call.heading, call.skill), (None, None), "{dialect:?}");
        }
        engine.close().await;
    }
}

/// Who refuses so short an answer is asked for the shortest that it gives, under the name that it has for it.
#[tokio::test(flavor = "multi_thread")]
async fn the_shortest_answer_is_what_the_protocol_takes() {
    for (kind, model, limit, most) in [
        ("openai", "gpt-5-mini", "/max_completion_tokens", 1),
        ("openai", "o3", "/max_completion_tokens", 1),
        ("mistral", "m", "/max_tokens", 1),
        ("xai", "m", "/max_tokens", 1),
        ("openrouter", "m", "/max_tokens", 16),
        ("openai-responses", "m", "/max_output_tokens", 16),
    ] {
        let server = FakeServer::start([at_its_limit(Dialect::OpenAi, "OK")]);
        let home = home();
        let engine = engine(&home, &server, kind, |config| config.providers[0].model = Some(model.to_string())).await;
        let shown = shown(&engine).await;
        let words = if most == 1 { "at most 1 token;".to_string() } else { format!("at most {most} tokens;") };
        assert!(shown.contains(&words), "{kind}: {shown}");
        if model != "m" {
            assert!(shown.ends_with("; price unknown."), "{kind} {model}: {shown}");
        }
        // What is sent is looked at, whatever becomes of it.
        let _ = engine.test_key(&origin(), "fake", &shown).await.expect("no rule stands against it");
        let sent = server.requests()[0].json();
        assert_eq!(sent.pointer(limit), Some(&json!(most)), "{kind} {model}: {sent}");
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_said_in_a_sentence_with_the_way_out() {
    let rows = [
        (status(401), "refuses the key [HTTP 401]: check the key for host"),
        (status(402), "wants payment [HTTP 402]: add credit there"),
        (status(429).header("retry-after", "1"), "has had too many requests or no money is left [HTTP 429]: try again"),
        (status(404), "does not have the model “m”, or the URL is wrong [HTTP 404]: set another model"),
        (status(500), "has a fault of its own [HTTP 500]: try again later"),
    ];
    for dialect in DIALECTS {
        let server = FakeServer::start(rows.iter().map(|(reply, _)| reply.clone()));
        let home = home();
        let engine = engine(&home, &server, word(dialect), |_| {}).await;
        for (times, (_, words)) in rows.iter().enumerate() {
            let KeyTest { works, text } = test(&engine).await;
            assert!(!works && text.starts_with("fake does not work: 127.0.0.1:"), "{dialect:?}: {text}");
            assert!(text.contains(words) && !text.contains(KEY) && !text.contains('\n'), "{dialect:?}: {text}");
            assert_eq!(server.requests().len(), times + 1, "{dialect:?}: it is asked once");
        }
        let (url, calls) = (server.url(), engine.calls(10).await.expect("the ledger is read"));
        assert!(calls.len() == rows.len() && calls.iter().all(|call| call.cost == Cost::Known(Micros(0))), "{calls:?}");
        drop(server);
        let text = test(&engine).await.text;
        assert!(text.contains("cannot be reached: is its server running?"), "{dialect:?}, {url}: {text}");
        engine.close().await;
        // One that takes the request, and says nothing.
        let silent = FakeServer::start([Script::nothing()]);
        let home = self::home();
        let engine = self::engine(&home, &silent, word(dialect), |config| config.request_timeout = 1).await;
        let text = test(&engine).await.text;
        assert!(text.contains("said nothing") && text.contains("try again"), "{dialect:?}: {text}");
        assert_eq!(silent.requests().len(), 1, "{dialect:?}");
        engine.close().await;
    }
}

/// OpenAI says so of models that think, behind the key.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_thinks_longer_than_the_test_lets_it_took_the_key() {
    let message =
        "Could not finish the message because max_tokens or model output limit was reached. Please try again.";
    let refused = |message: &str| Script::json(400, &json!({"error": {"message": message}}));
    let server = FakeServer::start([refused(message), refused("Unknown parameter.")]);
    let home = home();
    let engine = engine(&home, &server, "openai", |_| {}).await;
    let KeyTest { works, text } = test(&engine).await;
    assert!(works && text.contains("took your key, and m began"), "{text}");
    let KeyTest { works, text } = test(&engine).await;
    assert!(!works && text.contains("does not accept the request for “m” [HTTP 400]"), "{text}");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_human_has_a_key_tested_and_only_as_it_was_shown_and_that_confirms_nothing() {
    let server = FakeServer::start([at_its_limit(Dialect::OpenAi, "OK")]);
    let home = home();
    let engine = engine(&home, &server, "openai", |_| {}).await;
    let line = shown(&engine).await;
    for rights in [Rights { approve: false, ..Rights::HUMAN }, Rights { own: false, ..Rights::HUMAN }, Rights::NONE] {
        let program = Origin { rights, ..origin() };
        let offer = engine.offer_key_test(&program, "fake").await.expect("it is told");
        assert!(offer.forbidden.is_some_and(|why| why.contains("may not have a key tested")));
        let why = engine.test_key(&program, "fake", &line).await.expect_err("it is none of a human's");
        assert!(why.contains("may not have a key tested"), "{why}");
    }
    let cheaper = line.replace("$15.00", "$1.00");
    for other in ["", "t", "Say OK.", cheaper.as_str()] {
        let why = engine.test_key(&origin(), "fake", other).await.expect_err("it was not shown");
        assert!(why.contains("not what was shown, so nothing was sent") && why.ends_with(&line), "{why}");
    }
    for (name, why) in [("recall", "built in"), ("nobody", "not known"), ("", "not known")] {
        let error = engine.offer_key_test(&origin(), name).await.expect_err(name);
        assert!(error.contains(why), "{error}");
    }
    assert_eq!(server.connections(), 0);
    assert!(test(&engine).await.works);
    // Its first prompt is shown as ever, and without being asked for, so is its list.
    assert_eq!(engine.standings().await[0].stand.state, "unconfirmed");
    let list = engine.model_list(&origin(), "fake", Default::default()).await.expect("it is told");
    assert!(list.models.is_err_and(|why| why.contains("never contacted")));
    assert_eq!(server.connections(), 1);
    engine.close().await;
}

/// Whoever was confirmed is asked in turns without that being judged again, and so here.
#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_be_contacted_has_no_key_tested() {
    let server = FakeServer::start([at_its_limit(Dialect::OpenAi, "OK")]);
    let home = home();
    let engine = engine(&home, &server, "openai", |config| {
        config.permissions.insert("contact-provider".into(), Level::Deny);
    })
    .await;
    let offer = engine.offer_key_test(&origin(), "fake").await.expect("it is told");
    let why = offer.forbidden.expect("its level denies it");
    assert!(why.starts_with("the gate permissions denies the first contact: "), "{why}");
    assert_eq!(engine.test_key(&origin(), "fake", &offer.shown).await, Err(why));
    assert_eq!(server.connections(), 0);
    engine.confirm_provider("fake", &format!("{}/v1/", server.url())).await.expect("it is stored");
    assert!(test(&engine).await.works);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cap_keeps_a_key_from_being_tested_and_one_that_has_room_for_it_does_not() {
    for (cap, prices, forbids) in [
        ("0.00001", PRICES, true),
        // For an answer of any length it has no room.
        ("0.002", PRICES, false),
        ("5", "| fake | m | 2026-01-01 | 3 | 0.30 | much |\n", true),
    ] {
        let server = FakeServer::start([at_its_limit(Dialect::OpenAi, "OK")]);
        let home = home();
        std::fs::write(home.config().settings.join("prices.org"), prices).expect("it is written");
        let set = |config: &mut Config| {
            let variables = [("DAY_BUDGET_USD".to_string(), cap.to_string())].into();
            config.caps = Config::read(&Surroundings { variables }).caps;
        };
        let engine = engine(&home, &server, "openai", set).await;
        let offer = engine.offer_key_test(&origin(), "fake").await.expect("it is told");
        assert!(offer.shown.contains("Say OK."), "{cap}: {}", offer.shown);
        assert_eq!(offer.forbidden.is_some(), forbids, "{cap}: {offer:?}");
        let tested = engine.test_key(&origin(), "fake", &offer.shown).await;
        assert_eq!(tested.err(), offer.forbidden, "{cap}");
        assert_eq!(server.connections(), usize::from(!forbids), "{cap}");
        engine.close().await;
    }
}

#[test]
fn what_was_shown_is_what_a_client_asks_for() {
    let home = home();
    let server = FakeServer::start([at_its_limit(Dialect::OpenAi, "OK"), status(401)]);
    let mut client = Client::start(&home, Some(&server), "\"fake\"");
    let mut ask = |more: Plist| client.request("key-test", more.text("provider", "fake"));
    let offer = ask(Plist::new());
    let shown = offer.text_at("shown").expect("it is told").to_string();
    assert!(shown.ends_with("; price nothing."), "what runs here costs nothing: {shown}");
    assert_eq!((offer.text_at("why"), server.connections()), (None, 0));
    let answer = ask(Plist::new().text("shown", shown.as_str()));
    assert_eq!(answer.text_at("text"), Some("fake works: m answered, for nothing"), "{answer}");
    assert_eq!(server.requests()[0].json()["max_tokens"], 1);
    let answer = ask(Plist::new().text("shown", shown.as_str()));
    assert!(answer.text_at("why").is_some_and(|why| why.contains("wants a key [HTTP 401]")), "{answer}");
    let answer = ask(Plist::new().text("shown", "something"));
    assert!(answer.text_at("error").is_some_and(|why| why.contains("not what was shown")), "{answer}");
    assert_eq!(server.requests().len(), 2);
}
