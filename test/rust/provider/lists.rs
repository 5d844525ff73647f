//! Lists of models: what each protocol says of size and price, how long a list counts, and who is asked for one at all.

use super::*;
use crate::support::engine::{Home, origin, provide};
use passepartout::domain::money::Micros;
use passepartout::domain::money::prices::Price;
use passepartout::domain::signal::{Origin, Rights};
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::boot::Boot;
use passepartout::edge::engine::cascade::Choice;
use passepartout::edge::engine::models::{Listing, Wish};

const ASK: Wish = Wish { fresh: false, contact: false };
const ANEW: Wish = Wish { fresh: true, contact: false };
const CONTACT: Wish = Wish { fresh: false, contact: true };

fn list(models: &[&str]) -> Script {
    let models: Vec<Value> = models.iter().map(|id| json!({ "id": id })).collect();
    Script::json(200, &json!({ "data": models }))
}

#[test]
fn every_protocol_says_what_it_knows_of_size_and_price() {
    let dollars = |input: u64, cached: u64, output: u64| {
        Some(Price { input: Micros(input), cached: Micros(cached), output: Micros(output) })
    };
    let check = |kind: Kind, body: Value, expected: &[(&str, Option<u64>, Option<Price>)]| {
        let server = FakeServer::start([Script::json(200, &body)]);
        let config = ProviderConfig { kind, ..config(Dialect::OpenAi, &server.url()) };
        let models = run(list_models(&config, &clients(timeouts(20_000, 20_000)), &vault())).expect("a list");
        let found: Vec<_> = models.iter().map(|model| (model.name.as_str(), model.context, model.price)).collect();
        assert_eq!(found, expected, "{kind:?}: {body}");
    };
    check(
        Kind::OpenRouter,
        json!({"data": [
            {"id": "b/free", "context_length": 8192, "pricing": {"prompt": "0", "completion": "0"}},
            {"id": "a/x", "context_length": 200_000,
             "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003"}},
            {"id": "auto", "pricing": {"prompt": "-1", "completion": "-1"}},
            {"id": "odd", "context_length": "many", "pricing": {"prompt": 1, "completion": "x"}},
        ]}),
        &[
            ("a/x", Some(200_000), dollars(3_000_000, 300_000, 15_000_000)),
            ("auto", None, None),
            ("b/free", Some(8192), dollars(0, 0, 0)),
            ("odd", None, None),
        ],
    );
    // Groq, vLLM, llama.cpp.
    check(
        Kind::OpenAi,
        json!({"data": [
            {"id": "g", "context_window": 131_072}, {"id": "v", "max_model_len": 4096},
            {"id": "l", "meta": {"n_ctx_train": 32_768}}, {"id": "l", "meta": {}}, {"id": ""}, {"id": 7}, {},
            {"id": "n".repeat(201)}, {"id": "zero", "context_window": 0},
        ]}),
        &[("g", Some(131_072), None), ("l", Some(32_768), None), ("v", Some(4096), None), ("zero", None, None)],
    );
    check(Kind::Mistral, json!({"data": [{"id": "m", "max_context_length": 128_000}]}), &[("m", Some(128_000), None)]);
    check(
        Kind::Anthropic,
        json!({"data": [{"id": "c", "max_input_tokens": 1_000_000}]}),
        &[("c", Some(1_000_000), None)],
    );
    check(
        Kind::Gemini,
        json!({"models": [{"name": "models/g", "inputTokenLimit": 1_048_576}]}),
        &[("g", Some(1_048_576), None)],
    );
    check(Kind::Ollama, json!({"models": [{"name": "q:7b", "size": 1}]}), &[("q:7b", None, None)]);
}

#[test]
fn ollama_is_asked_of_each_model_that_runs_here_how_much_it_reads() {
    let show = |body: Value| Script::json(200, &body);
    let server = FakeServer::start([
        show(json!({"models": [{"name": "a"}, {"name": "b"}, {"name": "c-cloud"}, {"name": "d"}]})),
        show(json!({"model_info": {"general.architecture": "x", "x.context_length": 40_960}})),
        status(404),
        show(json!({"model_info": {"y.context_length": 8192}})),
    ])
    .script_models();
    let config = ProviderConfig { kind: Kind::Ollama, ..config(Dialect::Ollama, &server.url()) };
    let clients = clients(timeouts(20_000, 20_000));
    let models = run(async {
        let mut models = list_models(&config, &clients, &vault()).await.expect("a list");
        add_sizes(&mut models, &config, &clients).await;
        models
    });
    let found: Vec<_> = models.iter().map(|model| (model.name.as_str(), model.context)).collect();
    assert_eq!(found, [("a", Some(40_960)), ("b", None), ("c-cloud", None), ("d", Some(8192))]);
    let asked: Vec<(String, String)> =
        server.requests()[1..].iter().map(|r| (r.path.clone(), r.body.clone())).collect();
    let show = |name: &str| ("/api/show".to_string(), json!({ "model": name }).to_string());
    assert_eq!(asked, [show("a"), show("b"), show("d")]);
    // One that says nothing is not waited for again and again.
    let silent = FakeServer::start([Script::nothing(), Script::nothing()]).script_models();
    let config = ProviderConfig { url: silent.url(), ..config };
    let mut models = models;
    models.iter_mut().for_each(|model| model.context = None);
    run(add_sizes(&mut models, &config, &super::clients(timeouts(200, 200))));
    assert!(silent.requests().len() <= 2 && models.iter().all(|model| model.context.is_none()));
}

fn names(listing: &Listing) -> Vec<&str> {
    listing.models.as_ref().expect("a list").iter().map(|model| model.name.as_str()).collect()
}

async fn engine(home: &Home, servers: &[(&str, &FakeServer, bool)], cascade: &[&str]) -> Arc<Engine> {
    home.engine_with(|config| {
        provide(config, servers, cascade);
        config.request_timeout = 1;
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_counts_for_five_minutes_and_one_that_fails_holds_nobody_up() {
    let home = Home::new(&[]);
    let one = FakeServer::start([list(&["m", "a"]), list(&["b"]), list(&["c"])]);
    let (dead, bad) = (FakeServer::start([Script::nothing()]), FakeServer::start([status(401)]));
    let servers = [("one", &one, true), ("dead", &dead, true), ("bad", &bad, true)];
    let engine = engine(&home, &servers, &["dead", "bad", "one", "recall"]).await;
    let mine = origin();
    let ask = |name: &'static str, wish| engine.model_list(&mine, name, wish);
    let (slow, wrong, listed) = tokio::join!(ask("dead", ASK), ask("bad", ASK), ask("one", ASK));
    let words = |listing: Result<Listing, String>| listing.expect("it is told").models.expect_err("no list");
    let slow = words(slow);
    assert!(slow.contains("said nothing"), "{slow}");
    let wrong = words(wrong);
    assert!(wrong.contains("wants a key"), "{wrong}");
    let listed = listed.expect("it is listed");
    assert_eq!(names(&listed), ["a", "m"]);
    let set: Vec<bool> = listed.models.expect("a list").iter().map(|model| model.set).collect();
    assert_eq!(set, [false, true]);
    let again = async |wish| names(&ask("one", wish).await.expect("it is listed")).concat();
    home.clock.advance_seconds(299);
    assert_eq!(again(ASK).await, "am");
    home.clock.advance_seconds(2);
    assert_eq!(again(ASK).await, "b");
    assert_eq!(again(ANEW).await, "c");
    // A clock that went back says nothing about how old a list is.
    home.clock.advance_seconds(-100);
    assert!(ask("one", ASK).await.expect("it is told").models.is_err(), "the script is at its end");
    for (name, why) in [("recall", "built in"), ("nobody", "not known"), ("", "not known")] {
        let error = ask(name, ASK).await.expect_err(name);
        assert!(error.contains(why), "{error}");
    }
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_never_contacted_is_asked_only_when_its_human_wants_that() {
    let home = Home::new(&[]);
    let far = FakeServer::start([list(&["m"]), list(&["m"]), list(&["m"]), list(&["n"])]);
    let engine = engine(&home, &[("far", &far, false)], &["far", "recall"]).await;
    let client = Origin { rights: Rights { approve: false, ..Rights::HUMAN }, ..origin() };
    for wish in [ASK, ANEW] {
        let told = engine.model_list(&origin(), "far", wish).await.expect("it is told");
        assert_eq!(told.at, None);
        assert!(told.models.expect_err("no list").contains("never contacted"));
    }
    let refused = engine.model_list(&client, "far", CONTACT).await.expect_err("not from there");
    assert!(refused.contains("may not have a new provider contacted"), "{refused}");
    // The doctor is no way round that.
    let row = async |origin: &Origin| {
        let checks = passepartout::edge::doctor::examine(&engine, Some(origin)).await;
        checks.into_iter().find(|check| check.name == "provider").expect("there is a row").detail
    };
    let untold = row(&client).await;
    assert!(untold.starts_with("far: it was never contacted"), "{untold}");
    assert_eq!(far.connections(), 0);
    let told = engine.model_list(&origin(), "far", CONTACT).await.expect("it is told");
    assert_eq!((names(&told), far.connections()), (vec!["m"], 1));
    assert!(far.requests()[0].body.is_empty());
    assert_eq!((row(&origin()).await.as_str(), far.connections()), ("far: 1 model: m", 2));
    // That is no confirmation: its first prompt is shown as ever, and without being asked for, so is its list.
    let state = |engine: &Arc<Engine>| {
        let engine = engine.clone();
        async move { engine.standings().await[0].stand.state }
    };
    assert_eq!(state(&engine).await, "unconfirmed");
    assert_eq!(engine.model_list(&origin(), "far", ASK).await.expect("it is told").at, None);
    engine.confirm_provider("far", &format!("{}/v1/", far.url())).await.expect("it is stored");
    assert_eq!(state(&engine).await, "ready");
    assert_eq!(names(&engine.model_list(&client, "far", ANEW).await.expect("it is told")), ["m"]);
    assert_eq!(far.connections(), 3);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_chosen_with_its_provider_and_kept() {
    let home = Home::new(&[("a.org", "* A\n")]);
    let prices = "| provider | model | from | in | cached | out |\n| far | big* | 2026-01-01 | 3 | 0.30 | 15 |\n";
    let settings = home.config().settings;
    std::fs::create_dir_all(&settings).expect("the settings' folder");
    std::fs::write(settings.join("prices.org"), prices).expect("it is written");
    let answer = || Script::answer(Dialect::OpenAi, &["Yes."], &[]);
    let models = json!({"data": [{"id": "big-1", "context_window": 9000}, {"id": "m"}]});
    let near = FakeServer::start([answer(), Script::json(200, &models), answer(), answer()]);
    let far = FakeServer::start([]);
    let servers = [("near", &near, true), ("far", &far, false)];
    let first = engine(&home, &servers, &["near", "recall"]).await;
    let choose = async |engine: &Arc<Engine>, words: &str| {
        engine.set_cascade(&origin(), Choice::parse(words).expect("a choice")).await
    };
    for (words, why) in [
        ("recall/x", "recall: it has no model to be chosen"),
        ("near/a near/b", "near stands there twice"),
        ("near/", "names no model"),
    ] {
        let error = choose(&first, words).await.expect_err(words);
        assert!(error.contains(why), "{error}");
    }
    assert_eq!(first.order(), ["near", "recall"]);
    home.read(&first).await;
    home.ask(&first, "well?").await;
    assert_eq!(near.requests()[0].json()["model"], "m");
    first.model_list(&origin(), "near", ASK).await.expect("it is listed");
    let said = choose(&first, "keep far/big-2 near/big-1 recall").await.expect("it is set");
    assert!(said.contains("far/big-2, near/big-1, recall (kept"), "{said}");
    let shown = async |engine: &Arc<Engine>| {
        let line = |one: &passepartout::edge::engine::models::Standing| {
            let size = one.context.map_or_else(|| "?".to_string(), |tokens| tokens.to_string());
            let price = one.price.clone().unwrap_or_default();
            format!("{} {} {} {size} {price}", one.stand.name, one.stand.state, one.stand.model)
        };
        engine.standings().await.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(shown(&first).await, @r"
    far unconfirmed big-2 ? $3.00 in, $0.30 cached, $15.00 out
    near ready big-1 9000 nothing
    recall ready  ? 
    ");
    first.close().await;
    let second = engine(&home, &servers, &["near", "recall"]).await;
    assert_eq!(second.order(), ["far/big-2", "near/big-1", "recall"]);
    choose(&second, "near/big-1 recall").await.expect("it is set");
    home.read(&second).await;
    home.ask(&second, "well?").await;
    assert_eq!(near.requests()[2].json()["model"], "big-1");
    choose(&second, "usual").await.expect("it is set");
    home.ask(&second, "well?").await;
    assert_eq!(near.requests()[3].json()["model"], "m");
    assert!(shown(&second).await.contains("far unused m"), "{}", shown(&second).await);
    second.close().await;
}

#[test]
fn the_command_line_lists_who_was_contacted_and_whom_it_is_not_told_to_contact() {
    let home = Home::new(&[]);
    let models = json!({"data": [{"id": "big-1", "context_window": 9000}, {"id": "m\u{1b}[31m"}]});
    let here = FakeServer::start([Script::json(200, &models), Script::json(200, &models)]);
    let folder = home.config().settings;
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(".env");
    let settings = format!("LOCAL_BASE_URL={}\nGROQ_API_KEY=gsk_x\nPROVIDER_CASCADE=local recall\n", here.url());
    std::fs::write(&file, settings).expect("a file");
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("it is ours");
    let ran = crate::cli::run(&home, &["models"]);
    let shown: Vec<&str> = ran.out.lines().filter_map(|line| line.split(", asked at").next()).collect();
    insta::assert_snapshot!(shown.join("\n"), @r"
    local (local, ready)
      big-1                                             9000 tokens       price nothing
      m\u{1B}[31m                                      size unknown       price nothing
      2 models in its own list
    recall (built in, ready)
    groq (elsewhere, in no cascade)
      no list: it was never contacted, so it is not asked for its list: its address would learn that you are there, and by your key who you are; nothing else would be sent. Ask for this one by its name
    ");
    assert_eq!(ran.status, 0, "{}", ran.err);
    let ran = crate::cli::run(&home, &["models", "--json"]);
    let found = ran.json();
    assert_eq!(found["order"], json!(["local", "recall"]));
    assert_eq!(found["lists"][0]["models"][0]["context"], 9000);
    assert_eq!(found["lists"][1]["models"], Value::Null);
    // No human is at this terminal.
    let ran = crate::cli::run(&home, &["models", "groq"]);
    assert!(ran.status == 1 && ran.err.contains("may not have a new provider contacted"), "{}", ran.err);
    let ran = crate::cli::run(&home, &["models", "mars"]);
    assert!(ran.status == 1 && ran.err.contains("mars: it is not known"), "{}", ran.err);
}

/// Its key may only be missing now: whoever changes the order of the others must not drop it for good.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_left_out_for_now_keeps_its_place_and_nobody_new_comes_in_who_cannot_be_asked() {
    let home = Home::new(&[("notes.org", "* Boiler\n")]);
    let near = FakeServer::start([]);
    let start = async |keys: &[(&str, &str)]| {
        let mut config = home.config();
        provide(&mut config, &[("near", &near, true)], &["openai", "near", "recall"]);
        let keys = keys.iter().map(|(name, key)| (name.to_string(), Secret::new(key.to_string())));
        let boot = Boot { vault: Vault::gather(keys, [], []), ..home.boot(config) };
        passepartout::edge::engine::boot::start(boot).await.expect("it starts")
    };
    let choose = async |engine: &Arc<Engine>, words: &str| {
        engine.set_cascade(&origin(), Choice::parse(words).expect("a choice")).await
    };
    // A key with the end of a line in it cannot stand in a header.
    let first = start(&[("groq", "half a\nkey")]).await;
    assert_eq!(first.order(), ["openai", "near", "recall"]);
    for (words, who) in
        [("groq near", "groq: "), ("near deepseek", "deepseek: "), ("openai", "none of them can be asked")]
    {
        let why = choose(&first, words).await.expect_err(words);
        assert!(why.contains(who), "{words}: {why}");
    }
    assert_eq!(first.order(), ["openai", "near", "recall"], "nothing has changed");
    let said = choose(&first, "keep near openai recall").await.expect("it stood there");
    assert!(said.contains("in this order: near, recall (kept until"), "{said}");
    assert!(said.contains(" Left out for now is openai: "), "{said}");
    assert_eq!(first.order(), ["near", "openai", "recall"]);
    first.close().await;
    let second = start(&[("openai", "key-of-openai-0123456789")]).await;
    assert_eq!(second.provider_names(), (["near", "openai", "recall"].map(str::to_string).to_vec(), vec![]));
    second.close().await;
}
