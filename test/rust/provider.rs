//! Model providers against a scripted server: what is sent, what is understood, and what is said when it goes wrong.

mod demoted;
mod keys;
mod limits;
mod lists;
mod load;
mod matrix;
mod misdeeds;
mod responses;
mod retries;
mod routed;
mod selected;
mod sent;
mod tested;
mod thinking;
mod together;
mod whole_turn;

use crate::support::fake_server::{DIALECTS, Dialect, FakeServer, Reply as Script};
use passepartout::domain::label::Privacy;
use passepartout::domain::port::{
    Call, Completion, Ended, Locality, LogLevel, Message, ModelFailure, Profile, Prompt, Provider, ProviderError,
    ProviderErrorKind, Streamed, Thinking, Thought, ToolSpec, Usage,
};
use passepartout::domain::signal::Role;
use passepartout::edge::clock::SystemClock;
use passepartout::edge::config::ProviderSetting;
use passepartout::edge::provider::cascade::{Cascade, Memory, Meter, Metered, Permit, Permits, Reply};
use passepartout::edge::provider::config::{ConfigError, Kind, ProviderConfig};
use passepartout::edge::provider::http::{Clients, Limits, Timeouts};
use passepartout::edge::provider::known::{Declared, Place, places};
use passepartout::edge::provider::models::{Listed, add_sizes, has_model, list_models};
use passepartout::edge::provider::retry::Retries;
use passepartout::edge::provider::served::Served;
use passepartout::edge::secret::{EnvFileError, MASK, Secret, Vault, read_env_file};
use serde_json::{Value, json};
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const KEY: &str = "sk-live-0123456789abcdef";

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts").block_on(future)
}

fn kind(dialect: Dialect) -> Kind {
    match dialect {
        Dialect::OpenAi => Kind::OpenAi,
        Dialect::Anthropic => Kind::Anthropic,
        Dialect::Gemini => Kind::Gemini,
        Dialect::Ollama => Kind::Ollama,
    }
}

fn config(dialect: Dialect, url: &str) -> ProviderConfig {
    ProviderConfig {
        name: "fake".into(),
        kind: kind(dialect),
        url: url.into(),
        model: "model-x-high".into(),
        key: Some(Secret::new(KEY.into())),
        local: false,
        effort: None,
        pictures: None,
    }
}

/// Short enough for a test of silence, long enough for a busy machine to answer everywhere else.
fn timeouts(first: u64, stall: u64) -> Timeouts {
    let ms = Duration::from_millis;
    Timeouts { connect: ms(5000), first: ms(first), stall: ms(stall), whole: ms(30_000) }
}

fn clients(timeouts: Timeouts) -> Clients {
    // One try: what a single request comes to is looked at; `retrying` tries more.
    Clients::new(timeouts).expect("clients can be made").retrying(Retries::new(1, Duration::ZERO))
}

fn vault() -> Arc<Vault> {
    Arc::new(Vault::new([("fake".to_string(), Secret::new(KEY.into()))]))
}

fn served(config: ProviderConfig, timeouts: Timeouts, limits: Limits) -> Served {
    Served::new(config, &clients(timeouts), limits, vault()).expect("the settings are right")
}

fn patient(dialect: Dialect, server: &FakeServer) -> Served {
    served(config(dialect, &server.url()), timeouts(20_000, 20_000), Limits::default())
}

fn prompt(text: &str) -> Prompt {
    Prompt {
        system: "You are helpful.".into(),
        stable: 0,
        parts: Vec::new(),
        messages: vec![Message::Text { role: Role::User, text: text.into() }],
        tools: Vec::new(),
        privacy: Privacy::Open,
        outside: Default::default(),
        nodes: Default::default(),
        marked: Vec::new(),
        typed: text.into(),
        may_see: Privacy::Private,
        now: jiff::civil::date(2026, 1, 5).at(9, 0, 0, 0),
        asking: 0,
        room: 0,
        at_point: None,
    }
}

fn tool() -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]});
    ToolSpec { name: "memory-search".into(), summary: "Finds notes.".into(), schema }
}

fn args(value: Value) -> serde_json::Map<String, Value> {
    value.as_object().expect("an object").clone()
}

/// Asks a provider; returns what it said and what was streamed before.
fn ask(provider: &Served, prompt: &Prompt) -> (Result<Completion, ProviderError>, String) {
    let mut streamed = String::new();
    let mut sink = |piece: Streamed<'_>| streamed.push_str(piece.text());
    let answer = run(provider.complete(prompt, &mut sink));
    (answer, streamed)
}

fn hello(dialect: Dialect) -> Script {
    Script::answer(dialect, &["Hello, ", "world"], &[])
}

fn status(status: u16) -> Script {
    Script::json(
        status,
        &json!({"error": {"message": format!("no\u{7} luck with {KEY}\nnor <b>here</b>"), "type": "x"}}),
    )
}

#[test]
fn text_streams_in_every_protocol_however_it_is_split() {
    for dialect in DIALECTS {
        for piece in [1, 7, 4096] {
            let server =
                FakeServer::start([Script::answer(dialect, &["Grüß ", "dich, 漢字 😀", "!"], &[]).in_pieces(piece)]);
            let (answer, streamed) = ask(&patient(dialect, &server), &prompt("hi"));
            let answer = answer.unwrap_or_else(|error| panic!("{dialect:?} by {piece}: {error}"));
            assert_eq!(answer.text, "Grüß dich, 漢字 😀!", "{dialect:?} by {piece}");
            assert_eq!(streamed, answer.text);
            assert_eq!(answer.usage, Some(Usage { input: 11, output: 7, ..Usage::default() }), "{dialect:?}");
            assert_eq!((answer.provider.as_str(), answer.model.as_str()), ("fake", "model-x-high"));
            assert!(answer.calls.is_empty() && answer.sources.is_empty());
        }
    }
}

#[test]
fn several_calls_come_whole_with_ids_of_their_own() {
    let calls = [
        ("call_abc", "memory-search", json!({"query": "Zürich"})),
        ("call_def", "memory-search", json!({"query": "x".repeat(300)})),
        ("call_ghi", "message", json!({})),
    ];
    for dialect in DIALECTS {
        let server = FakeServer::start([Script::answer(dialect, &["Looking."], &calls).in_pieces(11)]);
        let (answer, _) = ask(&patient(dialect, &server), &prompt("hi"));
        let answer = answer.unwrap_or_else(|error| panic!("{dialect:?}: {error}"));
        assert_eq!(answer.text, "Looking.");
        let read: Vec<_> =
            answer.calls.iter().map(|call| (call.tool.as_str(), Value::Object(call.args.clone()))).collect();
        let sent: Vec<_> = calls.iter().map(|(_, tool, args)| (*tool, args.clone())).collect();
        assert_eq!(read, sent, "{dialect:?}");
        let mut ids: Vec<&str> = answer.calls.iter().map(|call| call.id.as_str()).collect();
        if matches!(dialect, Dialect::OpenAi | Dialect::Anthropic) {
            assert_eq!(ids, ["call_abc", "call_def", "call_ghi"]);
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 3, "{dialect:?}: {ids:?}");
    }
}

#[test]
fn ids_that_a_provider_leaves_out_never_repeat_from_answer_to_answer() {
    let calls = [("", "message", json!({})), ("", "message", json!({"a": 1}))];
    for dialect in [Dialect::OpenAi, Dialect::Gemini, Dialect::Ollama] {
        let reply = Script::answer(dialect, &[], &calls);
        let server = FakeServer::start([reply.clone(), reply]);
        let provider = patient(dialect, &server);
        let mut ids = Vec::new();
        for _ in 0..2 {
            ids.extend(ask(&provider, &prompt("hi")).0.expect("an answer").calls.into_iter().map(|call| call.id));
        }
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 4, "{dialect:?}: {ids:?}");
    }
}

#[test]
fn ten_megabytes_of_text_are_stopped_at_the_limit() {
    for dialect in DIALECTS {
        let piece = "x".repeat(1024 * 1024);
        let texts = [piece.as_str(); 10];
        let server = FakeServer::start([Script::answer(dialect, &texts, &[])]);
        let (answer, streamed) = ask(&patient(dialect, &server), &prompt("hi"));
        let error = answer.expect_err("too large");
        assert_eq!(error.kind, ProviderErrorKind::Garbled);
        assert!(error.text.contains("over the limit of 4096 kB"), "{error}");
        assert_eq!(streamed.len(), 4 * 1024 * 1024, "{dialect:?}");
    }
}

#[test]
fn calls_and_arguments_have_limits() {
    let limits = Limits { text: 1000, calls: 3, arguments: 1000, ..Limits::default() };
    let check = |dialect: Dialect, reply: Script, words: &str| {
        let server = FakeServer::start([reply]);
        let provider = served(config(dialect, &server.url()), timeouts(20_000, 20_000), limits);
        let error = ask(&provider, &prompt("hi")).0.expect_err(words);
        assert_eq!(error.kind, ProviderErrorKind::Garbled, "{dialect:?}: {error}");
        assert!(error.text.contains(words), "{dialect:?}: {error}");
    };
    for dialect in DIALECTS {
        let ids = ["a", "b", "c", "d"].map(|id| (id, "message", json!({})));
        check(dialect, Script::answer(dialect, &[], &ids), "more than 3 calls");
        let large = json!({"text": "y".repeat(1200)});
        check(dialect, Script::answer(dialect, &[], &[("a", "message", large)]), "arguments");
    }
    // A number that would make a naive reader reserve all memory there is.
    for index in [json!(3), json!(4_294_967_295_u64), json!(u64::MAX), json!(-1), json!("0"), Value::Null] {
        let call = json!({"index": index, "id": "a", "function": {"name": "message", "arguments": "{}"}});
        let data = json!({"choices": [{"delta": {"tool_calls": [call]}}]});
        let server =
            FakeServer::start([Script::raw(200, "text/event-stream", format!("data: {data}\n\ndata: [DONE]\n\n"))]);
        let provider = served(config(Dialect::OpenAi, &server.url()), timeouts(20_000, 20_000), limits);
        let error = ask(&provider, &prompt("hi")).0.expect_err("refused");
        assert_eq!(error.kind, ProviderErrorKind::Garbled, "{index}: {error}");
    }
}

#[test]
fn arguments_that_cannot_be_read_say_why_beside_the_calls_that_can() {
    for dialect in DIALECTS {
        let calls = [("call_a", "message", json!([1])), ("call_b", "message", json!({"text": "hi"}))];
        let server = FakeServer::start([Script::answer(dialect, &[], &calls)]);
        let answer = ask(&patient(dialect, &server), &prompt("hi")).0.expect("an answer");
        assert_eq!(answer.calls.len(), 2, "{dialect:?}");
        let [(id, why)] = &answer.unreadable[..] else { panic!("{dialect:?}: {:?}", answer.unreadable) };
        assert_eq!(*id, answer.calls[0].id);
        assert!(why.starts_with("message: its arguments are a list; send one JSON object"), "{why}");
    }
    let call = json!({"index": 0, "id": "a", "function": {"name": "message", "arguments": "{\"text\": \"hi\", }"}});
    let data = json!({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]});
    let server =
        FakeServer::start([Script::raw(200, "text/event-stream", format!("data: {data}\n\ndata: [DONE]\n\n"))]);
    let answer = ask(&patient(Dialect::OpenAi, &server), &prompt("hi")).0.expect("an answer");
    assert!(answer.unreadable[0].1.contains("line 1 column 16 of 16 bytes"), "{:?}", answer.unreadable);
}

#[test]
fn a_server_that_ends_without_its_last_word_has_still_answered() {
    let calls = [("call_a", "message", json!({"text": "hi"}))];
    let reply = Script::answer(Dialect::OpenAi, &["Yes."], &calls).ended_after("\"finish_reason\":\"tool_calls\"");
    let server = FakeServer::start([reply]);
    let answer = ask(&patient(Dialect::OpenAi, &server), &prompt("hi")).0.expect("an answer");
    assert_eq!(answer.text, "Yes.");
    assert_eq!(answer.calls, [Call { id: "call_a".into(), tool: "message".into(), args: args(json!({"text": "hi"})) }]);
}

#[test]
fn a_slow_server_is_waited_for_while_it_gives_signs_of_life() {
    // Longer in all than the patience for silence.
    let body = format!(
        "{}data: {}\n\ndata: [DONE]\n\n",
        ": busy\n\n".repeat(40),
        json!({"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]})
    );
    let reply = Script::raw(200, "text/event-stream", body).in_pieces(8).dripping(Duration::from_millis(15));
    let server = FakeServer::start([reply]);
    let provider = served(config(Dialect::OpenAi, &server.url()), timeouts(20_000, 500), Limits::default());
    assert_eq!(ask(&provider, &prompt("hi")).0.expect("an answer").text, "Hi.");
}

#[test]
fn dropping_the_future_closes_the_connection() {
    let server = FakeServer::start([hello(Dialect::OpenAi).silent_after("Hello, ")]);
    let provider = patient(Dialect::OpenAi, &server);
    let prompt = prompt("hi");
    run(async {
        let (heard, mut hear) = tokio::sync::mpsc::unbounded_channel();
        let mut sink = |piece: Streamed<'_>| heard.send(piece.text().to_string()).expect("heard");
        tokio::select! {
            _ = provider.complete(&prompt, &mut sink) => panic!("it never ends by itself"),
            text = hear.recv() => assert_eq!(text.as_deref(), Some("Hello, ")),
        }
    });
    assert!(server.wait_gone(1));
}

#[test]
fn nobody_there_is_said_plainly() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("bound").local_addr().expect("address").port();
    let config = config(Dialect::OpenAi, &format!("http://127.0.0.1:{port}"));
    let error = ask(&served(config, timeouts(5000, 5000), Limits::default()), &prompt("hi")).0.expect_err("nobody");
    assert_eq!(error.kind, ProviderErrorKind::Unreachable);
    assert!(error.text.contains("is its server running?"), "{error}");
}

#[test]
fn a_unix_socket_is_a_local_address() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("llm.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).expect("bound");
    let server = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        while !request.ends_with(b"}") {
            let n = stream.read(&mut buffer).expect("read");
            request.extend_from_slice(&buffer[..n]);
        }
        let data = json!({"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]});
        let body = format!("data: {data}\n\ndata: [DONE]\n\n");
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
            .expect("written");
    });
    let url = format!("unix://{}", path.display());
    let local = ProviderConfig { local: true, key: None, ..config(Dialect::OpenAi, &url) };
    assert_eq!(local.locality(), Locality::Local);
    let mut private = prompt("hi");
    private.privacy = Privacy::Private;
    let answer = ask(&served(local, timeouts(5000, 5000), Limits::default()), &private).0;
    assert_eq!(answer.map(|answer| answer.text).as_deref(), Ok("Hi."));
    server.join().expect("the server ended");
}

/// Whatever it is called: `ollama cp some-cloud-model big` makes a name that says nothing.
#[test]
fn private_notes_go_to_no_model_that_a_server_here_hands_on() {
    let about = |body: Value| Script::json(200, &body);
    let answer = || Script::answer(Dialect::Ollama, &["Hi."], &[]);
    for (privacy, shown, expected) in [
        (Privacy::Private, vec![about(json!({"model_info": {}}))], Ok("Hi.")),
        (Privacy::Private, vec![about(json!({"remote_host": "", "remote_model": ""}))], Ok("Hi.")),
        (Privacy::Private, vec![about(json!({"remote_host": "https://ollama.com:443"}))], Err("hands it on")),
        (Privacy::Ask, vec![about(json!({"remote_model": "gpt-oss:120b"}))], Err("hands it on")),
        (Privacy::Private, vec![Script::raw(500, "text/plain", "no")], Err("500")),
        (Privacy::Private, vec![Script::raw(200, "text/plain", "no")], Err("no JSON")),
        // What may go elsewhere is not asked about.
        (Privacy::Open, vec![], Ok("Hi.")),
        (Privacy::Warn, vec![], Ok("Hi.")),
    ] {
        let asked = shown.len();
        let server = FakeServer::start(shown.into_iter().chain([answer()])).script_models();
        let config = ProviderConfig { local: true, model: "big".into(), ..config(Dialect::Ollama, &server.url()) };
        let prompt = Prompt { privacy, ..prompt("hi") };
        let answer = ask(&served(config, timeouts(5000, 5000), Limits::default()), &prompt).0;
        match (&answer, expected) {
            (Ok(answer), Ok(text)) => assert_eq!(answer.text, text),
            (Err(error), Err(words)) => {
                assert!(error.to_string().contains(words), "{error}");
                assert!(server.requests().iter().all(|request| request.path == "/api/show"), "nothing was sent");
            }
            _ => panic!("{privacy:?}: {answer:?}"),
        }
        assert_eq!(server.requests().len(), asked + usize::from(expected.is_ok()));
    }
}

#[test]
fn local_is_what_the_user_declared_and_only_this_machine_can_be() {
    let check = |url: &str, model: &str, local: bool, expected: Locality| {
        let config = ProviderConfig { model: model.into(), local, ..config(Dialect::Ollama, url) };
        assert_eq!(config.locality(), expected, "{url} {model} {local}");
    };
    for url in
        ["http://127.0.0.1:11434", "http://localhost:1", "http://[::1]:1/", "https://127.9.9.9", "unix:///run/x.sock"]
    {
        check(url, "llama3", true, Locality::Local);
        check(url, "llama3", false, Locality::Remote);
        for model in ["gpt-oss:120b-cloud", "kimi-k2:cloud", "X-CLOUD", "cloud "] {
            check(url, model, true, Locality::Remote);
        }
        // Whoever confirmed the server for a model that runs there did not confirm it for one that it hands on.
        let place = |model: &str| {
            let config = ProviderConfig { model: model.into(), ..config(Dialect::Ollama, url) };
            Served::new(config, &clients(timeouts(1, 1)), Limits::default(), vault()).expect("it is set up").url()
        };
        assert_eq!(place("kimi-k2:cloud"), format!("{}#kimi-k2:cloud", place("llama3")));
    }
    for url in [
        "http://example.org",
        "http://10.0.0.1",
        "http://0.0.0.0",
        "http://localhost.example.org",
        "http://127.0.0.1.example.org",
        "http://[::ffff:127.0.0.1]",
        "http://notlocalhost",
        "nonsense",
        "http://127.0.0.1@example.org/",
    ] {
        check(url, "llama3", true, Locality::Remote);
    }
}

#[test]
fn wrong_settings_are_told_before_anything_is_sent() {
    let refuse = |config: ProviderConfig, words: &str| {
        let error = Served::new(config, &clients(timeouts(1, 1)), Limits::default(), vault()).err().expect("refused");
        assert!(error.to_string().contains(words), "{error}");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
        error
    };
    refuse(config(Dialect::OpenAi, "ftp://x"), "https://api.openai.com/v1/");
    assert!(matches!(
        refuse(config(Dialect::Gemini, "https://g/?key=hunter2hunter2"), "auth-source"),
        ConfigError::KeyInUrl { .. }
    ));
    refuse(ProviderConfig { model: " ".into(), ..config(Dialect::OpenAi, "http://x") }, "no model");
    refuse(
        ProviderConfig { key: Some(Secret::new("hunter2\nx: y".into())), ..config(Dialect::OpenAi, "http://x") },
        "key",
    );
}

#[test]
fn models_are_listed_in_every_protocol() {
    let openai = json!({"data": [{"id": "b"}, {"id": "model-x-high"}, {"id": "a"}]});
    let gemini = json!({"models": [{"name": "models/b"}, {"name": "models/model-x-high"}, {"name": "models/a"}]});
    let ollama = json!({"models": [{"name": "b"}, {"name": "model-x-high:latest"}, {"name": "a"}]});
    let rows = [
        (Dialect::OpenAi, &openai, "/v1/models"),
        (Dialect::Anthropic, &openai, "/v1/models?limit=1000"),
        (Dialect::Gemini, &gemini, "/v1beta/models?pageSize=1000"),
        (Dialect::Ollama, &ollama, "/api/tags"),
    ];
    for (dialect, body, path) in rows {
        let server =
            FakeServer::start([Script::json(200, body), status(401), Script::json(200, &json!([])), Script::nothing()]);
        let config = config(dialect, &server.url());
        let clients = clients(timeouts(300, 300));
        let list = || run(list_models(&config, &clients, &vault()));
        let models = list().expect("a list");
        assert_eq!(models.len(), 3);
        assert_eq!(models[0], Listed { name: "a".to_string(), context: None, price: None });
        assert!(has_model(&models, &config), "{models:?}");
        assert_eq!(server.requests()[0].path, path);
        assert!(server.requests()[0].body.is_empty());
        for words in ["check the key", "another shape", "said nothing"] {
            let error = list().expect_err(words).to_string();
            assert!(error.contains(words) && !error.contains(KEY), "{dialect:?}: {error}");
        }
    }
}

/// Notes which calls were opened and what came of them; refuses those of whoever is too dear.
#[derive(Default)]
struct Till(Mutex<Vec<String>>);

struct Noting<'a>(&'a Till, &'a str);

impl Till {
    fn note(&self, line: String) {
        self.0.lock().expect("not poisoned").push(line);
    }
}

#[async_trait::async_trait]
impl Meter for Till {
    async fn open<'a>(&'a self, provider: &'a dyn Profile, _: &'a Prompt) -> Result<Box<dyn Metered + 'a>, String> {
        if provider.name() == "dear" {
            return Err("it is too dear".to_string());
        }
        self.note(format!("{} opened", provider.name()));
        Ok(Box::new(Noting(self, provider.name())))
    }
}

#[async_trait::async_trait]
impl Metered for Noting<'_> {
    async fn close(self: Box<Self>, result: &Result<Completion, ProviderError>) {
        self.0.note(format!("{} {}", self.1, if result.is_ok() { "answered" } else { "failed" }));
    }
}

/// Asks a cascade; returns what came of it, what was streamed, and the log.
fn cascade(
    providers: Vec<Arc<dyn Provider>>,
    prompt: &Prompt,
    permits: Permits<'_>,
) -> (Result<Reply, ModelFailure>, String, Vec<(LogLevel, String)>) {
    let mut streamed = String::new();
    let mut lines = Vec::new();
    let mut sink = |piece: Streamed<'_>| streamed.push_str(piece.text());
    let mut log = |level: LogLevel, line: String| lines.push((level, line));
    let cascade = Cascade::new(providers, Vec::new());
    let answer = run(cascade.complete(&|_| prompt.clone(), &mut sink, &mut log, permits, &Till::default()));
    (answer, streamed, lines)
}

fn named(name: &str, local: bool, server: &FakeServer) -> Arc<dyn Provider> {
    let config = ProviderConfig { name: name.into(), local, ..config(Dialect::OpenAi, &server.url()) };
    Arc::new(served(config, timeouts(20_000, 20_000), Limits::default()))
}

fn granted(_: &dyn Profile, _: &Prompt) -> Permit {
    Permit::Granted
}

/// Returns the provider and text of an answer.
fn said(reply: Result<Reply, ModelFailure>) -> (String, String) {
    let completion = reply.expect("an answer").completion;
    (completion.provider, completion.text)
}

/// Returns the lines of an exhausted cascade.
fn lines(reply: Result<Reply, ModelFailure>) -> String {
    match reply {
        Err(ModelFailure::Exhausted(errors)) => {
            errors.iter().map(ProviderError::to_string).collect::<Vec<_>>().join("\n")
        }
        other => panic!("not exhausted: {other:?}"),
    }
}

#[test]
fn a_failing_provider_is_logged_and_the_next_is_asked() {
    let (one, two) = (FakeServer::start([status(429)]), FakeServer::start([hello(Dialect::OpenAi)]));
    let (answer, streamed, log) =
        cascade(vec![named("one", false, &one), named("two", false, &two)], &prompt("hi"), &granted);
    assert_eq!(said(answer), ("two".into(), "Hello, world".into()));
    assert_eq!(streamed, "Hello, world");
    assert_eq!(log.len(), 1);
    assert!(log[0].0 == LogLevel::Warning && log[0].1.starts_with("one: 127.0.0.1:"), "{log:?}");
}

#[test]
fn half_an_answer_stays_is_marked_and_is_never_joined_to_another() {
    let one = FakeServer::start([Script::answer(Dialect::OpenAi, &["Once upon "], &[]).cut_after("Once upon ")]);
    let two = FakeServer::start([hello(Dialect::OpenAi)]);
    let (answer, streamed, _) =
        cascade(vec![named("one", false, &one), named("two", false, &two)], &prompt("hi"), &granted);
    assert_eq!(said(answer).1, "Hello, world");
    assert_eq!(
        streamed,
        "Once upon \n\n(The answer of one broke off here. The next one starts afresh.)\n\nHello, world"
    );
}

#[test]
fn exhaustion_lists_every_provider_with_its_reason() {
    let one = FakeServer::start([status(500)]);
    let two = FakeServer::start([hello(Dialect::OpenAi).cut_after("Hello, ")]);
    let providers = vec![named("one", false, &one), named("two", false, &two), named("three", false, &one)];
    let permits = |provider: &dyn Profile, _: &Prompt| match provider.name() {
        "three" => Permit::Withheld("the budget is used up".into()),
        _ => Permit::Granted,
    };
    let (answer, streamed, _) = cascade(providers, &prompt("hi"), &permits);
    assert!(streamed.starts_with("Hello, \n\n(The answer of two broke off"), "{streamed}");
    let host = |server: &FakeServer| server.url()["http://".len()..].to_string();
    let text = lines(answer).replace(&host(&one), "HOST-1").replace(&host(&two), "HOST-2");
    insta::assert_snapshot!(text, @r#"
    one: HOST-1 has a fault of its own [HTTP 500]: try again later (it says: no luck with [MASKED] nor <b>here</b>)
    two: HOST-2 hung up in the middle of its answer after 7 characters, which are kept: ask again
    three: not asked: the budget is used up
    "#);
    assert_eq!(lines(cascade(vec![], &prompt("hi"), &granted).0), "");
}

#[test]
fn a_new_provider_is_shown_to_a_human_before_anything_is_sent() {
    let server = FakeServer::start([hello(Dialect::OpenAi)]);
    let permits = |_: &dyn Profile, _: &Prompt| Permit::Confirm;
    let (answer, streamed, _) = cascade(vec![named("new", false, &server)], &prompt("hi"), &permits);
    let url = format!("{}/v1/", server.url());
    let would = Box::new(prompt("hi"));
    let expected = ModelFailure::Confirm { provider: "new".into(), url, prompt: would };
    assert_eq!((answer, streamed.as_str(), server.connections()), (Err(expected), "", 0));
}

/// A provider that panics in the middle of its answer.
struct Breaking;

impl Profile for Breaking {
    fn name(&self) -> &str {
        "breaking"
    }
    fn locality(&self) -> Locality {
        Locality::Local
    }
    fn url(&self) -> String {
        "http://127.0.0.1:1/".into()
    }
}

#[async_trait::async_trait]
impl Provider for Breaking {
    async fn complete(
        &self,
        _: &Prompt,
        sink: passepartout::domain::port::Sink<'_>,
    ) -> Result<passepartout::domain::port::Completion, ProviderError> {
        sink(Streamed::Text("Half an"));
        panic!("a passage of a note")
    }
}

#[test]
fn a_provider_that_breaks_is_one_that_fails() {
    let server = FakeServer::start([hello(Dialect::OpenAi)]);
    let providers: Vec<Arc<dyn Provider>> = vec![Arc::new(Breaking), named("next", true, &server)];
    let (answer, streamed, log) = cascade(providers, &prompt("hi"), &granted);
    assert_eq!(said(answer).0, "next");
    assert!(streamed.starts_with("Half an\n\n(The answer of breaking broke off here. The next one starts afresh.)"));
    let told = "breaking: it broke inside on this request; the log says where; the next provider is tried";
    assert_eq!(log[0], (LogLevel::Warning, told.to_string()));
    let alone: Vec<Arc<dyn Provider>> = vec![Arc::new(Breaking)];
    assert_eq!(
        lines(cascade(alone, &prompt("hi"), &granted).0),
        "breaking: it broke inside on this request; the log says where"
    );
}

#[test]
fn each_call_is_opened_and_closed_once_and_who_is_withheld_has_not_failed() {
    let (bad, good) = (FakeServer::start([status(500)]), FakeServer::start([hello(Dialect::OpenAi)]));
    let never = FakeServer::start([]);
    let (dear, bad) = (named("dear", false, &never), named("bad", true, &bad));
    let providers = vec![dear, Arc::new(Breaking), bad, named("good", true, &good), named("idle", true, &never)];
    let (till, memory) = (Till::default(), Arc::new(Memory::new(Arc::new(SystemClock))));
    let cascade = Cascade::new(providers, Vec::new()).remembering(memory.clone());
    let (hi, mut sink, mut log) = (prompt("hi"), |_: Streamed<'_>| {}, |_: LogLevel, _: String| {});
    let answer = run(cascade.complete(&|_| hi.clone(), &mut sink, &mut log, &granted, &till));
    assert_eq!((answer.expect("an answer").completion.provider.as_str(), never.connections()), ("good", 0));
    let noted = till.0.into_inner().expect("not poisoned");
    let expected = ["breaking opened", "breaking failed", "bad opened", "bad failed", "good opened", "good answered"];
    assert_eq!(noted, expected);
    let failures = ["dear", "breaking", "bad", "good"].map(|name| memory.demoted(name).map_or(0, |it| it.failures));
    assert_eq!(failures, [0, 1, 1, 0]);
}

#[test]
fn a_private_prompt_goes_only_to_a_local_provider() {
    let (remote, local) = (FakeServer::start([hello(Dialect::OpenAi)]), FakeServer::start([hello(Dialect::OpenAi)]));
    let mut private = prompt("my diagnosis");
    private.privacy = Privacy::Private;
    let asked = Mutex::new(Vec::new());
    let permits = |provider: &dyn Profile, _: &Prompt| {
        asked.lock().expect("not poisoned").push(provider.name().to_string());
        Permit::Granted
    };
    let providers = vec![named("remote", false, &remote), named("local", true, &local)];
    let (answer, _, log) = cascade(providers, &private, &permits);
    let answer = answer.expect("an answer");
    assert_eq!((answer.completion.provider.as_str(), answer.locality), ("local", Locality::Local));
    assert_eq!(remote.connections(), 0);
    assert!(log[0].0 == LogLevel::Info && log[0].1.starts_with("remote: not asked"), "{log:?}");
    assert!(!log[0].1.contains("diagnosis"));
    // Nobody is bothered about a provider that may not be asked anyway.
    assert_eq!(*asked.lock().expect("not poisoned"), ["local"]);

    assert!(lines(cascade(vec![named("remote", false, &remote)], &private, &granted).0).contains("private notes"));
    // Even asked past the cascade, the provider itself refuses.
    let provider = patient(Dialect::OpenAi, &remote);
    assert_eq!(ask(&provider, &private).0.expect_err("refused").kind, ProviderErrorKind::Refused);
    assert_eq!(remote.connections(), 0);
}

#[test]
fn settings_become_a_cascade() {
    let vault = Vault::gather(
        [("openai".to_string(), Secret::new("k-openai".into()))],
        [("GROQ_API_KEY".to_string(), "k-groq".to_string()), ("HOME".into(), "/home/me".into())],
        [("GROQ_API_KEY".to_string(), "older".to_string()), ("ANTHROPIC_API_KEY".into(), String::new())],
    );
    let told = |cascade: &[&str], declared: &[Declared]| {
        let cascade: Vec<String> = cascade.iter().map(|name| name.to_string()).collect();
        let lines: Vec<String> = places(&cascade, declared, &vault)
            .into_iter()
            .map(|place| match place {
                Place::Asked(config) => format!("{config:?}"),
                Place::Recall => "recall".into(),
                Place::Replay { name, path } => format!("{name} plays {}", path.display()),
                Place::Left { name, why } => format!("not {name}: {why}"),
            })
            .collect();
        lines.join("\n")
    };
    insta::assert_snapshot!(told(&[], &[]), @r#"
    ProviderConfig { name: "openai", kind: OpenAi, url: "https://api.openai.com/v1/", model: "gpt-4.1-mini", key: true, local: false }
    ProviderConfig { name: "groq", kind: OpenAi, url: "https://api.groq.com/openai/v1/", model: "llama-3.3-70b-versatile", key: true, local: false }
    recall
    "#);
    let mine = Declared {
        name: "mine".into(),
        url: Some("http://localhost:8080".into()),
        model: Some("qwen".into()),
        local: true,
        ..Declared::default()
    };
    let odd = Declared { name: "odd".into(), kind: Some("telepathy".into()), ..Declared::default() };
    insta::assert_snapshot!(told(&["recall", "anthropic", "mine", "ollama", "odd", "who", "local"], &[mine, odd]), @r#"
    recall
    not anthropic: there is no key for it; add one for host api.anthropic.com to auth-source, or set ANTHROPIC_API_KEY
    ProviderConfig { name: "mine", kind: OpenAi, url: "http://localhost:8080/v1/", model: "qwen", key: false, local: true }
    ProviderConfig { name: "ollama", kind: Ollama, url: "http://127.0.0.1:11434/", model: "llama3.1", key: false, local: false }
    not odd: “telepathy” is no kind of provider; the kinds are openai, openai-responses, mistral, xai, ollama, anthropic, gemini, openrouter, replay
    not who: it is not known; declare it with a kind, a URL and a model
    not local: it has no address; set LOCAL_BASE_URL to that of a server of this machine
    "#);
}

#[test]
fn providers_are_taken_as_the_configuration_reads_them() {
    let setting = |name: &str, kind: &str, url: Option<&str>| ProviderSetting {
        name: name.into(),
        kind: kind.into(),
        url: url.map(str::to_string),
        model: None,
        local: false,
        effort: None,
    };
    let check = |setting: ProviderSetting, expected: (Kind, &str, &str)| {
        let vault = Vault::new([(setting.name.clone(), Secret::new("k-123456".into()))]);
        match &places(&[], &[Declared::from(&setting)], &vault)[0] {
            Place::Asked(config) => assert_eq!((config.kind, config.url.as_str(), config.model.as_str()), expected),
            other => panic!("{other:?}"),
        }
    };
    let groq = "https://api.groq.com/openai/v1/";
    check(setting("groq", "groq", None), (Kind::OpenAi, groq, "llama-3.3-70b-versatile"));
    check(setting("mine", "mine", Some("http://h")), (Kind::OpenAi, "http://h", "default"));
    check(setting("llama", "openai", Some("http://h")), (Kind::OpenAi, "http://h", "default"));
    check(setting("work", "anthropic", None), (Kind::Anthropic, "https://api.anthropic.com/v1/", "claude-sonnet-4-5"));
    check(setting("ollama", "ollama", Some("http://h")), (Kind::Ollama, "http://h", "llama3.1"));
}
