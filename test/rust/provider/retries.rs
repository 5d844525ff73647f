//! Requests that are made again: which, after how long, how often, and never behind words that were shown.

use super::*;
use passepartout::edge::provider::retry::Retries;

/// Clients that try so often, and write down how long they would wait instead of waiting.
fn trying(tries: u32, longest: u64) -> (Clients, Arc<Mutex<Vec<Duration>>>) {
    let waited: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let noted = waited.clone();
    let retries = Retries::new(tries, Duration::from_secs(longest)).pausing(move |wait| {
        noted.lock().expect("not poisoned").push(wait);
        Box::pin(std::future::ready(()))
    });
    (clients(timeouts(20_000, 20_000)).retrying(retries), waited)
}

/// Asks a server that answers by a script; returns what came of it and the waits in milliseconds.
fn asked(dialect: Dialect, script: Vec<Script>) -> (Result<Completion, ProviderError>, Vec<u128>, usize) {
    let server = FakeServer::start(script);
    let (clients, waited) = trying(3, 20);
    let provider = Served::new(config(dialect, &server.url()), &clients, Limits::default(), vault()).expect("settings");
    let answer = ask(&provider, &prompt("hi")).0;
    let waited = waited.lock().expect("not poisoned").iter().map(Duration::as_millis).collect();
    (answer, waited, server.requests().len())
}

#[test]
fn what_may_pass_is_asked_again() {
    for dialect in DIALECTS {
        for code in [429, 500, 502, 503, 504, 529] {
            let (answer, waited, requests) = asked(dialect, vec![status(code), status(code), hello(dialect)]);
            assert_eq!(answer.expect("an answer").text, "Hello, world", "{dialect:?} {code}");
            assert_eq!((waited.len(), requests), (2, 3), "{dialect:?} {code}");
            assert!((250..=500).contains(&waited[0]) && (500..=1000).contains(&waited[1]), "{waited:?}");
        }
    }
}

#[test]
fn what_cannot_pass_is_not_asked_again() {
    for dialect in DIALECTS {
        for code in [400, 401, 402, 403, 404, 413, 501, 302] {
            let (answer, waited, requests) = asked(dialect, vec![status(code), hello(dialect)]);
            let error = answer.expect_err("an error");
            assert_eq!((waited.len(), requests, error.attempts), (0, 1, 1), "{dialect:?} {code}: {error}");
            assert_eq!(error.status, Some(code));
        }
        let spent = json!({"error": {"code": "insufficient_quota", "message": "You have no money."}});
        let (answer, _, requests) = asked(dialect, vec![Script::json(429, &spent), hello(dialect)]);
        assert!(answer.is_err() && requests == 1, "{dialect:?}: who has no money has none in a second either");
    }
}

#[test]
fn what_a_server_says_about_waiting_holds() {
    let late = |header: &str, value: &str| vec![status(429).header(header, value), hello(Dialect::OpenAi)];
    for (script, least, most) in [
        (late("retry-after", "7"), 7_000, 7_700),
        (late("retry-after-ms", "40"), 40, 44),
        (
            vec![
                status(503)
                    .header("retry-after", "Mon, 02 Mar 2026 09:00:05 GMT")
                    .header("date", "Mon, 02 Mar 2026 09:00:00 GMT"),
                hello(Dialect::OpenAi),
            ],
            5_000,
            5_500,
        ),
    ] {
        let (answer, waited, _) = asked(Dialect::OpenAi, script);
        assert_eq!(answer.expect("an answer").text, "Hello, world");
        assert!(waited.len() == 1 && (least..=most).contains(&waited[0]), "{waited:?}");
    }
    // Longer than anybody waits: the next provider is asked at once, and the user told how long it would be.
    let (answer, waited, requests) = asked(Dialect::OpenAi, late("retry-after", "3600"));
    let error = answer.expect_err("an error");
    assert!(error.text.contains("try again after 3600 seconds"), "{error}");
    assert_eq!((waited.len(), requests), (0, 1));
}

#[test]
fn tries_end_and_the_error_keeps_status_attempts_and_cause() {
    for dialect in DIALECTS {
        let (answer, waited, requests) = asked(dialect, vec![status(500), status(503), status(500), hello(dialect)]);
        let error = answer.expect_err("an error");
        assert_eq!((waited.len(), requests), (2, 3), "{dialect:?}");
        assert_eq!((error.provider.as_str(), error.status, error.attempts), ("fake", Some(500), 3), "{dialect:?}");
        assert!(error.text.ends_with("(asked 3 times)") && error.text.contains("try again later"), "{error}");
        let cause = error.cause.expect("a cause");
        assert!(cause.contains("no luck") && !cause.contains(KEY), "{cause}");
    }
}

#[test]
fn an_overload_inside_a_stream_is_asked_again_and_nothing_behind_words() {
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let event = format!("event: error\ndata: {overloaded}\n\n");
    let first = Script::raw(200, "text/event-stream", event.clone());
    let (answer, _, requests) = asked(Dialect::Anthropic, vec![first, hello(Dialect::Anthropic)]);
    assert_eq!((answer.expect("an answer").text.as_str(), requests), ("Hello, world", 2));

    // The same, once something was shown: words, or thoughts.
    let start = |block: Value, delta: Value| {
        let data = [
            json!({"type": "content_block_start", "index": 0, "content_block": block}),
            json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        ];
        let events: String =
            data.iter().map(|value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap())).collect();
        Script::raw(200, "text/event-stream", format!("{events}{event}"))
    };
    for first in [
        start(json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": "Once"})),
        start(json!({"type": "thinking", "thinking": ""}), json!({"type": "thinking_delta", "thinking": "Once"})),
    ] {
        let (answer, _, requests) = asked(Dialect::Anthropic, vec![first, hello(Dialect::Anthropic)]);
        assert!(answer.is_err() && requests == 1, "{answer:?}");
    }
}

#[test]
fn dropping_the_future_ends_a_wait() {
    let server = FakeServer::start([status(429), hello(Dialect::OpenAi)]);
    let (waiting, mut waits) = tokio::sync::mpsc::unbounded_channel();
    let retries = Retries::new(3, Duration::from_secs(20)).pausing(move |wait| {
        waiting.send(wait).expect("heard");
        Box::pin(std::future::pending())
    });
    let clients = clients(timeouts(20_000, 20_000)).retrying(retries);
    let provider = Served::new(config(Dialect::OpenAi, &server.url()), &clients, Limits::default(), vault());
    let (provider, prompt) = (provider.expect("settings"), prompt("hi"));
    run(async {
        let mut sink = |_: Streamed<'_>| {};
        tokio::select! {
            _ = provider.complete(&prompt, &mut sink) => panic!("it waits"),
            wait = waits.recv() => assert!(wait.is_some()),
        }
    });
    assert_eq!(server.requests().len(), 1);
}
