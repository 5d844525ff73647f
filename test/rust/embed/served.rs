//! Embedding servers against a scripted one: what is sent, what is understood, and what is said when it goes wrong.

use crate::support::fake_server::{FakeServer, Reply as Script};
use passepartout::domain::embed::{Batch, Passage, Vector};
use passepartout::domain::label::Privacy;
use passepartout::domain::port::{EmbedError, EmbedErrorKind, Embedder, Locality};
use passepartout::edge::config::{Config, Surroundings};
use passepartout::edge::embed::embedder;
use passepartout::edge::embed::served::Served;
use passepartout::edge::provider::config::{Kind, ProviderConfig};
use passepartout::edge::provider::http::{Clients, Timeouts};
use passepartout::edge::secret::{Secret, Vault};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const KEY: &str = "sk-live-0123456789abcdef";

fn config(kind: Kind, url: &str, local: bool) -> ProviderConfig {
    let key = Some(Secret::new(KEY.into()));
    let (name, model) = ("embedding".into(), "m-x".into());
    ProviderConfig { name, kind, url: url.into(), model, key, local, effort: None, pictures: None }
}

/// Short enough for a test of silence, long enough for a busy machine to answer everywhere else.
fn embedder_of(config: ProviderConfig, patience: u64) -> Served {
    let patience = Duration::from_millis(patience);
    let timeouts =
        Timeouts { connect: Duration::from_secs(5), first: patience, stall: patience, whole: Duration::from_secs(30) };
    let clients = Clients::new(timeouts).expect("clients can be made");
    let vault = Arc::new(Vault::new([("embedding".to_string(), Secret::new(KEY.into()))]));
    Served::new(config, &clients, vault).expect("the settings are right")
}

fn batch(reader: Locality, texts: &[&str]) -> Batch {
    let passages = texts.iter().filter_map(|text| Passage::new(text, Privacy::Open)).collect();
    Batch::admit(reader, passages).batch.expect("there is a text")
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts").block_on(future)
}

fn embed(served: &Served, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
    run(served.embed(&batch(Locality::Remote, texts)))
}

fn ok(body: &Value) -> Script {
    Script::json(200, body)
}

const KINDS: [Kind; 2] = [Kind::Ollama, Kind::OpenAi];

/// What a server of a kind answers with these vectors, as JSON that need not be right.
fn answer(kind: Kind, vectors: &[&str]) -> Script {
    let body = match kind {
        Kind::Ollama => format!("{{\"embeddings\":[{}]}}", vectors.join(",")),
        _ => {
            let one = |(n, vector): (usize, &&str)| format!("{{\"index\":{n},\"embedding\":{vector}}}");
            format!("{{\"data\":[{}]}}", vectors.iter().enumerate().map(one).collect::<Vec<_>>().join(","))
        }
    };
    Script::raw(200, "application/json", body)
}

#[test]
fn each_protocol_is_spoken_as_it_is() {
    let server = FakeServer::start([ok(&json!({"model": "m-x", "embeddings": [[3.0, 4.0], [0.0, -2.0]]}))]);
    let ollama = embedder_of(config(Kind::Ollama, &server.url(), true), 20_000);
    assert_eq!((ollama.name(), ollama.locality(), ollama.dimension()), ("embedding m-x", Locality::Local, None));
    let vectors = embed(&ollama, &["one text", "another"]).expect("it answers");
    let numbers: Vec<&[f32]> = vectors.iter().map(Vector::numbers).collect();
    assert_eq!((numbers, ollama.dimension()), (vec![&[0.6, 0.8][..], &[0.0, -1.0]], Some(2)));
    let sent = server.requests().remove(0);
    assert_eq!((sent.method.as_str(), sent.path.as_str()), ("POST", "/api/embed"));
    assert_eq!(sent.json(), json!({"model": "m-x", "input": ["one text", "another"]}));

    let shuffled = json!({"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]});
    let server = FakeServer::start([ok(&shuffled)]);
    let openai =
        embedder_of(config(Kind::OpenAi, &format!("{}/v1/embeddings?api-version=3", server.url()), false), 20_000);
    let vectors = embed(&openai, &["one text", "another"]).expect("it answers");
    assert_eq!(vectors[0].numbers(), [1.0, 0.0], "in the order of the texts");
    let sent = server.requests().remove(0);
    assert_eq!(sent.path, "/v1/embeddings?api-version=3");
    assert_eq!(sent.json(), json!({"model": "m-x", "input": ["one text", "another"], "encoding_format": "float"}));
    assert_eq!(sent.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
}

#[test]
fn an_old_ollama_is_asked_as_it_was_asked_once() {
    let absent = || Script::raw(404, "text/plain", "404 page not found");
    let one = |x: i32, y: i32| ok(&json!({"embedding": [x, y]}));
    let server = FakeServer::start([absent(), one(1, 0), one(0, 1), one(1, 0)]);
    let ollama = embedder_of(config(Kind::Ollama, &server.url(), true), 20_000);
    assert_eq!(embed(&ollama, &["one text", "another"]).expect("it answers").len(), 2);
    assert_eq!(embed(&ollama, &["a third"]).expect("it answers").len(), 1);
    let paths: Vec<String> = server.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/api/embed", "/api/embeddings", "/api/embeddings", "/api/embeddings"], "it is remembered");
    assert_eq!(server.requests()[1].json(), json!({"model": "m-x", "prompt": "one text"}));
    // A model that is not there is 404 as well, and no sign of age.
    let missing = || Script::json(404, &json!({"error": "model “m-x” not found, try pulling it first"}));
    let server = FakeServer::start([missing(), missing(), ok(&json!({"embeddings": [[1]]}))]);
    let ollama = embedder_of(config(Kind::Ollama, &server.url(), true), 20_000);
    let error = embed(&ollama, &["a text"]).expect_err("there is no model");
    assert!(error.text.contains("does not have the model “m-x”") && error.text.contains("try pulling"), "{error}");
    assert!(embed(&ollama, &["a text"]).is_ok(), "once it was pulled it is asked as before");
}

/// One way to misbehave, what kind of error it is, and words that the error must hold.
type Misdeed = (&'static str, fn(Kind) -> Script, EmbedErrorKind, &'static [&'static str]);

fn status(status: u16) -> Script {
    Script::json(status, &json!({"error": {"message": format!("no luck with {KEY}\nnor with {}", "x".repeat(9_000))}}))
}

fn large(bytes: usize) -> String {
    format!("[{}0.5]", "0.25,".repeat(bytes / 5))
}

const MISDEEDS: &[Misdeed] = {
    use EmbedErrorKind::{Away, Refused, Texts};
    &[
        ("wrong key", |_| status(401), Refused, &["refuses the key", "auth-source", "no luck with [MASKED] nor"]),
        ("no right", |_| status(403), Refused, &["refuses the key"]),
        ("no money", |_| status(402), Refused, &["add credit"]),
        ("no such method", |_| status(405), Refused, &["HTTP 405", "set another model"]),
        ("too many", |_| status(429).header("retry-after", "7"), Away, &["asked again in 7 seconds"]),
        ("bad texts", |_| status(400), Texts, &["does not accept the texts"]),
        ("long texts", |_| status(413), Texts, &["HTTP 413"]),
        ("fault", |_| status(500), Away, &["HTTP 500", "later"]),
        ("overloaded", |_| Script::raw(529, "text/html", "<html>busy</html>"), Away, &["HTTP 529"]),
        ("redirect", |_| status(302).header("location", "http://127.0.0.1:1/"), Refused, &["not followed"]),
        ("a page", |_| Script::raw(200, "text/html", "<html>hello</html>"), Texts, &["no list of vectors"]),
        ("nothing in it", |_| Script::raw(200, "application/json", ""), Texts, &["no list of vectors"]),
        ("no UTF-8", |_| Script::raw(200, "application/json", b"\xff\xfe".to_vec()), Texts, &["no list of vectors"]),
        ("another shape", |_| Script::json(200, &json!({"embedding": "oops"})), Texts, &["no list of vectors"]),
        ("no number", |kind| answer(kind, &["[1,NaN]", "[1,2]"]), Texts, &["no list of vectors"]),
        ("nothing for a number", |kind| answer(kind, &["[1,null]", "[1,2]"]), Texts, &["no list of vectors"]),
        ("too large a number", |kind| answer(kind, &["[1,1e39]", "[1,2]"]), Texts, &["no list of vectors"]),
        ("all zero", |kind| answer(kind, &["[0,0]", "[1,2]"]), Texts, &["all zero"]),
        ("empty vectors", |kind| answer(kind, &["[]", "[]"]), Texts, &["0 numbers"]),
        ("mixed dimensions", |kind| answer(kind, &["[1,2]", "[1,2,3]"]), Texts, &["vectors of 2 and 3 numbers"]),
        ("too few", |kind| answer(kind, &["[1,2]"]), Texts, &["1 vectors for 2 texts"]),
        ("too many vectors", |kind| answer(kind, &["[1]", "[1]", "[1]"]), Texts, &["3 vectors for 2 texts"]),
        ("none", |kind| answer(kind, &[]), Texts, &["0 vectors for 2 texts"]),
        ("dimensions without end", |kind| answer(kind, &[&large(50_000), "[1]"]), Texts, &["mixes vectors"]),
        ("50 MB", |kind| answer(kind, &[&large(50 << 20), "[1]"]), Texts, &["over 16 MiB"]),
        ("nested", |_| Script::raw(200, "application/json", "[".repeat(1 << 20)), Texts, &["no list of vectors"]),
        ("hung up", |kind| answer(kind, &["[1,2]", "[3,4]"]).cut_after("[1"), Away, &["hung up"]),
        (
            "fell silent",
            |kind| answer(kind, &["[1,2]", "[3,4]"]).in_pieces(9).silent_after("[1"),
            Away,
            &["said nothing"],
        ),
        ("never answered", |_| Script::nothing(), Away, &["said nothing"]),
    ]
};

#[test]
fn whatever_a_server_does_ends_soon_and_is_told_with_the_way_out() {
    let mut cases = 0;
    for kind in KINDS {
        for (name, reply, expected, words) in MISDEEDS {
            let server = FakeServer::start([reply(kind)]);
            let quick = matches!(*name, "fell silent" | "never answered");
            let served = embedder_of(config(kind, &server.url(), false), if quick { 250 } else { 20_000 });
            let error = embed(&served, &["one text", "another"]).expect_err(name);
            assert_eq!(error.kind, *expected, "{name} {kind:?}: {error}");
            for word in *words {
                assert!(error.text.contains(word), "{name} {kind:?} lacks “{word}”: {error}");
            }
            assert!(error.text.starts_with("embedding: 127.0.0.1:"), "{name}: {error}");
            assert!(!error.text.contains(KEY) && error.text.chars().count() < 600, "{name}: {error}");
            assert_eq!(error.after, (*name == "too many").then_some(Duration::from_secs(7)), "{name}");
            assert_eq!(server.requests().len(), 1, "{name} {kind:?}: nothing is tried again by itself");
            cases += 1;
        }
    }
    crate::support::soak::survived(format!("{cases} cases of embedding servers"));
}

#[test]
fn a_server_that_is_not_there_is_said_to_be_away() {
    let url = FakeServer::start([]).url();
    let error = embed(&embedder_of(config(Kind::Ollama, &url, true), 20_000), &["a text"]).expect_err("nobody listens");
    assert_eq!(error.kind, EmbedErrorKind::Away);
    assert!(error.text.ends_with("is its server running?"), "{error}");
}

#[test]
fn what_stays_here_goes_to_no_server_elsewhere_and_its_words_to_no_log() {
    let private = || {
        let passage = Passage::new("an entry of a diary", Privacy::Private).expect("it is a text");
        Batch::admit(Locality::Local, vec![passage]).batch.expect("it may go to one here")
    };
    let server = FakeServer::start([Script::json(500, &json!({"error": "cannot read “an entry of a diary”"}))]);
    for (url, model, local) in [
        (server.url(), "m", false),
        (server.url(), "m-cloud", true),
        ("http://elsewhere.example/".to_string(), "m", true),
    ] {
        let config = ProviderConfig { model: model.into(), ..config(Kind::Ollama, &url, local) };
        let elsewhere = embedder_of(config, 20_000);
        assert_eq!(elsewhere.locality(), Locality::Remote, "{url} {model}");
        let error = run(elsewhere.embed(&private())).expect_err("it stays here");
        assert!(error.text.contains("never sent elsewhere"), "{error}");
    }
    assert_eq!(server.connections(), 0);
    let here = embedder_of(config(Kind::Ollama, &server.url(), true), 20_000);
    let error = run(here.embed(&private())).expect_err("it has a fault");
    assert!(!error.text.contains("diary"), "{error}");
}

#[test]
fn settings_name_a_backend_and_wrong_ones_say_so() {
    let read = |pairs: &[(&str, &str)]| {
        let variables = pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Config::read(&Surroundings { variables })
    };
    let clients = Clients::new(Timeouts::default()).expect("clients can be made");
    let openai = Arc::new(Vault::new([("openai".to_string(), Secret::new(KEY.into()))]));
    let check = |pairs: &[(&str, &str)], name: &str, url: &str, locality: Locality| {
        let made = embedder(&read(pairs), &clients, &openai).expect("right settings").expect("a backend is named");
        assert_eq!((made.name(), made.url().as_str(), made.locality()), (name, url, locality), "{pairs:?}");
    };
    assert!(embedder(&read(&[]), &clients, &openai).expect("right settings").is_none(), "nothing is made unasked");
    check(&[("EMBEDDING_PROVIDER", "hashing")], "hashing trigrams 1", "", Locality::Builtin);
    check(&[("EMBEDDING_PROVIDER", "trigram")], "hashing trigrams 1", "", Locality::Builtin);
    let ollama = "http://127.0.0.1:11434/";
    check(&[("EMBEDDING_PROVIDER", "local")], "embedding-local nomic-embed-text", ollama, Locality::Local);
    let named =
        [("EMBEDDING_PROVIDER", "ollama"), ("EMBEDDING_MODEL", "m-cloud"), ("EMBEDDING_URL", "127.0.0.1:11434")];
    check(&named, "embedding-local m-cloud", ollama, Locality::Remote);
    let away = [("EMBEDDING_PROVIDER", "local"), ("EMBEDDING_URL", "http://10.0.0.7:11434")];
    check(&away, "embedding-local nomic-embed-text", "http://10.0.0.7:11434/", Locality::Remote);
    let theirs = [("EMBEDDING_PROVIDER", "openai")];
    check(&theirs, "embedding-openai text-embedding-3-small", "https://api.openai.com/v1/", Locality::Remote);
    let here =
        [("EMBEDDING_PROVIDER", "openai"), ("EMBEDDING_URL", "http://localhost:8080/v1"), ("EMBEDDING_MODEL", "m")];
    check(&here, "embedding-openai m", "http://localhost:8080/v1/", Locality::Remote);
    let declared = [here.as_slice(), &[("LLAMA_HOST", "localhost:8080")]].concat();
    check(&declared, "embedding-openai m", "http://localhost:8080/v1/", Locality::Local);
    let config = read(&[("EMBEDDING_PROVIDER", "magic"), ("CONTEXT_SEMANTIC_THRESHOLD", "75%")]);
    assert!(config.notices[0].contains("“magic”") && config.notices[0].contains("hashing, local or openai"));
    assert!(config.notices[1].contains("CONTEXT_SEMANTIC_THRESHOLD is ignored"), "{:?}", config.notices);
    assert_eq!((config.embedding.backend, config.semantic_threshold), (None, 0.75));
    assert_eq!(read(&[("CONTEXT_SEMANTIC_THRESHOLD", "0.6")]).semantic_threshold, 0.6);
    let keyed = [("EMBEDDING_PROVIDER", "openai"), ("EMBEDDING_URL", "https://me:pw@h/v1")];
    let wrong = embedder(&read(&keyed), &clients, &openai).err().expect("a key in an address");
    assert!(wrong.contains("auth-source"), "{wrong}");
}

#[test]
fn the_key_of_openai_goes_to_openai_alone() {
    let server = FakeServer::start([ok(&json!({"data": [{"index": 0, "embedding": [1]}]}))]);
    let variables = [("EMBEDDING_PROVIDER", "openai".to_string()), ("EMBEDDING_URL", server.url())];
    let variables = variables.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
    let config = Config::read(&Surroundings { variables });
    let clients = Clients::new(Timeouts::default()).expect("clients can be made");
    let vault = Arc::new(Vault::new([("openai".to_string(), Secret::new(KEY.into()))]));
    let made = embedder(&config, &clients, &vault).expect("right settings").expect("a backend is named");
    run(made.embed(&batch(Locality::Remote, &["a text"]))).expect("it answers");
    assert_eq!(server.requests()[0].header("authorization"), None);
}
