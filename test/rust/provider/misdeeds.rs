//! Every way in which a server misbehaves, and the error that says so.

use super::*;

/// One way to misbehave, what kind of error it is, words that the error must hold, and what was streamed before.
struct Misdeed {
    name: &'static str,
    reply: fn(Dialect) -> Script,
    kind: ProviderErrorKind,
    words: &'static [&'static str],
    streamed: &'static str,
}

const fn misdeed(
    name: &'static str,
    reply: fn(Dialect) -> Script,
    kind: ProviderErrorKind,
    words: &'static [&'static str],
) -> Misdeed {
    Misdeed { name, reply, kind, words, streamed: "" }
}

const MISDEEDS: &[Misdeed] = &[
    misdeed(
        "wrong key",
        |_| status(401),
        ProviderErrorKind::Refused,
        &["check the key for host 127.0.0.1", "auth-source", "no luck with [MASKED] nor"],
    ),
    misdeed("no right", |_| status(403), ProviderErrorKind::Refused, &["check the key"]),
    misdeed("no such model", |_| status(404), ProviderErrorKind::Refused, &["“model-x-high”", "set another model"]),
    misdeed("no money", |_| status(402), ProviderErrorKind::Quota, &["credit"]),
    misdeed(
        "too many",
        |_| status(429).header("retry-after", "7"),
        ProviderErrorKind::Quota,
        &["try again after 7 seconds"],
    ),
    misdeed("bad request", |_| status(400), ProviderErrorKind::Refused, &["does not accept the request"]),
    misdeed("too large", |_| status(413), ProviderErrorKind::Refused, &["too large", "budget"]),
    misdeed("fault", |_| status(500), ProviderErrorKind::Unreachable, &["try again later", "HTTP 500"]),
    misdeed(
        "overloaded",
        |_| Script::raw(529, "text/html", "<html>busy</html>"),
        ProviderErrorKind::Unreachable,
        &["HTTP 529"],
    ),
    misdeed("gateway", |_| status(504), ProviderErrorKind::Timeout, &["try again"]),
    misdeed(
        "redirect",
        |_| status(302).header("location", "http://127.0.0.1:1/"),
        ProviderErrorKind::Refused,
        &["not followed"],
    ),
    misdeed(
        "a page",
        |_| Script::raw(200, "text/html", "<html>hello</html>"),
        ProviderErrorKind::Garbled,
        &["cannot be read"],
    ),
    misdeed(
        "nothing in it",
        |_| Script::raw(200, "text/event-stream", ""),
        ProviderErrorKind::Garbled,
        &["cannot be read"],
    ),
    misdeed(
        "no JSON",
        |_| Script::raw(200, "text/event-stream", "event: content_block_delta\ndata: {oops\n\n"),
        ProviderErrorKind::Garbled,
        &["not of its protocol"],
    ),
    misdeed(
        "no UTF-8",
        |_| Script::raw(200, "text/event-stream", b"data: \xff\xfe\xff\xff\xff\n\n".to_vec()),
        ProviderErrorKind::Garbled,
        &["cannot be read"],
    ),
    misdeed(
        "an empty answer",
        |dialect| Script::answer(dialect, &[""], &[]),
        ProviderErrorKind::Garbled,
        &["empty answer"],
    ),
    Misdeed {
        name: "hung up",
        reply: |dialect| hello(dialect).cut_after("Hello, "),
        kind: ProviderErrorKind::Cut,
        words: &["hung up", "after 7 characters"],
        streamed: "Hello, ",
    },
    Misdeed {
        name: "ended early",
        reply: |dialect| hello(dialect).ended_after("Hello, "),
        kind: ProviderErrorKind::Cut,
        words: &["after 7 characters"],
        streamed: "Hello, ",
    },
    Misdeed {
        name: "fell silent",
        reply: |dialect| hello(dialect).silent_after("Hello, "),
        kind: ProviderErrorKind::Timeout,
        words: &["said nothing for 0.25 seconds", "7 characters"],
        streamed: "Hello, ",
    },
    misdeed("said nothing", |_| Script::nothing(), ProviderErrorKind::Timeout, &["said nothing"]),
    misdeed(
        "only headers",
        |dialect| {
            Script::raw(200, "text/event-stream", "\n")
                .silent_after("\n")
                .header("x", if dialect == Dialect::Ollama { "a" } else { "b" })
        },
        ProviderErrorKind::Timeout,
        &["said nothing"],
    ),
    Misdeed {
        name: "one long line",
        reply: |_| Script::raw(200, "text/event-stream", "x".repeat(3_000_000)),
        kind: ProviderErrorKind::Garbled,
        words: &[],
        streamed: "",
    },
];

#[test]
fn every_misdeed_has_an_error_that_names_provider_host_and_way_out() {
    std::thread::scope(|scope| {
        for dialect in DIALECTS {
            scope.spawn(move || MISDEEDS.iter().for_each(|misdeed| check_misdeed(dialect, misdeed)));
        }
    });
}

#[track_caller]
fn check_misdeed(dialect: Dialect, misdeed: &Misdeed) {
    let at = format!("{dialect:?}, {}", misdeed.name);
    let server = FakeServer::start([(misdeed.reply)(dialect)]);
    // Silence is waited for, so the limit is short there, and long where a busy machine might hit it.
    let short = misdeed.kind == ProviderErrorKind::Timeout;
    let first = if short && misdeed.streamed.is_empty() { 250 } else { 20_000 };
    let patience = timeouts(first, if short { 250 } else { 20_000 });
    let provider = served(config(dialect, &server.url()), patience, Limits::default());
    let (answer, streamed) = ask(&provider, &prompt("hi"));
    let error = answer.expect_err(&at);
    let text = error.to_string();
    assert_eq!(error.kind, misdeed.kind, "{at}: {text}");
    assert_eq!(streamed, misdeed.streamed, "{at}");
    assert!(text.starts_with("fake: 127.0.0.1:"), "{at}: {text}");
    for words in misdeed.words {
        assert!(text.contains(words), "{at}: {words:?} is not in {text:?}");
    }
    assert!(!text.contains(KEY) && !format!("{error:?}").contains(KEY), "{at}: {text}");
    assert!(!text.chars().any(char::is_control), "{at}: {text:?}");
}

#[test]
fn errors_read_well() {
    let told = |reply: Script, dialect: Dialect| {
        let server = FakeServer::start([reply]);
        let error = ask(&patient(dialect, &server), &prompt("hi")).0.expect_err("an error").to_string();
        error.replace(&server.url()["http://".len()..], "HOST")
    };
    insta::assert_snapshot!(told(status(401), Dialect::OpenAi), @"fake: HOST refuses the key [HTTP 401]: check the key for host HOST in auth-source, or FAKE_API_KEY outside Emacs (it says: no luck with [MASKED] nor <b>here</b>)");
    insta::assert_snapshot!(told(status(404), Dialect::OpenAi), @"fake: HOST does not have the model “model-x-high”, or the URL is wrong [HTTP 404]: set another model (the doctor lists them) (it says: no luck with [MASKED] nor <b>here</b>)");
    insta::assert_snapshot!(told(status(429), Dialect::OpenAi), @"fake: HOST has had too many requests or no money is left [HTTP 429]: try again, or look at the account (it says: no luck with [MASKED] nor <b>here</b>)");
    insta::assert_snapshot!(told(hello(Dialect::OpenAi).cut_after("Hello, "), Dialect::OpenAi), @"fake: HOST hung up in the middle of its answer after 7 characters, which are kept: ask again");
    insta::assert_snapshot!(told(Script::raw(200, "text/html", "<p>"), Dialect::OpenAi), @"fake: HOST answered with what cannot be read: it is no stream of this protocol; check URL and kind of the provider, or set another model than “model-x-high”");
}

#[test]
fn errors_inside_a_stream_keep_their_meaning() {
    let sse =
        |event: &str, data: Value| Script::raw(200, "text/event-stream", format!("event: {event}\ndata: {data}\n\n"));
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let rows = [
        (Dialect::Anthropic, sse("error", overloaded), ProviderErrorKind::Unreachable),
        (
            Dialect::OpenAi,
            sse("message", json!({"error": {"message": "slow down", "code": 429}})),
            ProviderErrorKind::Quota,
        ),
        (
            Dialect::OpenAi,
            sse("message", json!({"error": {"message": "bad", "type": "invalid_request_error"}})),
            ProviderErrorKind::Refused,
        ),
        (
            Dialect::Gemini,
            sse("message", json!({"error": {"code": 503, "status": "UNAVAILABLE"}})),
            ProviderErrorKind::Unreachable,
        ),
        (
            Dialect::Gemini,
            sse("message", json!({"promptFeedback": {"blockReason": "SAFETY"}})),
            ProviderErrorKind::Garbled,
        ),
        (
            Dialect::Ollama,
            Script::raw(200, "application/x-ndjson", "{\"error\":\"model runner died\"}\n"),
            ProviderErrorKind::Garbled,
        ),
        (
            Dialect::Gemini,
            Script::json(400, &json!({"error": {"code": 400, "message": "API key not valid."}})),
            ProviderErrorKind::Refused,
        ),
    ];
    for (dialect, reply, kind) in rows {
        let server = FakeServer::start([reply]);
        let error = ask(&patient(dialect, &server), &prompt("hi")).0.expect_err("an error");
        assert_eq!(error.kind, kind, "{dialect:?}: {error}");
    }
}

#[test]
fn a_server_that_says_private_things_in_an_error_is_not_quoted() {
    let server = FakeServer::start([Script::json(400, &json!({"error": "cannot parse: my diagnosis"}))]);
    let local = ProviderConfig { local: true, ..config(Dialect::OpenAi, &server.url()) };
    let mut prompt = prompt("my diagnosis");
    prompt.privacy = Privacy::Private;
    let error = ask(&served(local, timeouts(20_000, 20_000), Limits::default()), &prompt).0.expect_err("an error");
    assert!(!error.to_string().contains("diagnosis"), "{error}");
}
