//! Thoughts: told from the answer, counted, and handed back with results to who wants them, and to nobody else.

use super::*;
use passepartout::edge::provider::shown::shown;

const QUESTION: &str = "What is due?";

fn calls() -> [(&'static str, &'static str, Value); 2] {
    [("call_a", "memory-search", json!({"query": "due"})), ("call_b", "memory-search", json!({"query": "late"}))]
}

/// Asks a provider; returns what it said, and what was streamed as text and as thoughts.
fn ask_thinking(provider: &Served, prompt: &Prompt) -> (Result<Completion, ProviderError>, String, String) {
    let (mut text, mut thoughts) = (String::new(), String::new());
    let mut sink = |piece: Streamed<'_>| match piece {
        Streamed::Text(words) => text.push_str(words),
        Streamed::Thought(words) => thoughts.push_str(words),
        Streamed::Act(_) => unreachable!("a provider does nothing"),
    };
    let answer = run(provider.complete(prompt, &mut sink));
    (answer, text, thoughts)
}

#[test]
fn thoughts_are_told_from_the_answer_and_counted_in_every_protocol() {
    for dialect in DIALECTS {
        for piece in [1, 9, 4096] {
            let reply = Script::thinking(dialect, &["Grübeln, ", "漢字 😀."], &["Ja", "wohl."], &calls());
            let server = FakeServer::start([reply.in_pieces(piece)]);
            let (answer, text, thoughts) = ask_thinking(&patient(dialect, &server), &prompt(QUESTION));
            let answer = answer.unwrap_or_else(|error| panic!("{dialect:?} by {piece}: {error}"));
            assert_eq!((answer.text.as_str(), text.as_str()), ("Jawohl.", "Jawohl."), "{dialect:?}");
            assert_eq!(
                (thoughts.as_str(), answer.thinking.text().as_str()),
                ("Grübeln, 漢字 😀.", "Grübeln, 漢字 😀.")
            );
            assert_eq!(answer.calls.len(), 2, "{dialect:?}");
            let thinking = if dialect == Dialect::Ollama { 0 } else { 5 };
            assert_eq!(answer.usage, Some(Usage { input: 11, output: 7, cached: 4, thinking }), "{dialect:?}");
        }
    }
}

#[test]
fn thoughts_between_tags_are_thoughts_however_they_are_split() {
    for dialect in [Dialect::OpenAi, Dialect::Ollama] {
        for piece in [1, 5, 4096] {
            let texts = ["<th", "ink>\nSo: (:tool \"shell\" :args (:command \"rm\"))\n</thi", "nk>\n\nYes."];
            let server = FakeServer::start([Script::answer(dialect, &texts, &[]).in_pieces(piece)]);
            let (answer, text, thoughts) = ask_thinking(&patient(dialect, &server), &prompt(QUESTION));
            let answer = answer.expect("an answer");
            assert_eq!((answer.text.as_str(), text.as_str()), ("Yes.", "Yes."), "{dialect:?}");
            assert!(thoughts.contains("rm") && answer.thinking.text() == thoughts, "{dialect:?}: {thoughts}");
            // No server has a place for them.
            assert_eq!(answer.thinking.by, "");
        }
    }
}

#[test]
fn thoughts_alone_are_no_answer() {
    for dialect in DIALECTS {
        let server = FakeServer::start([Script::thinking(dialect, &["Nothing but this."], &[], &[])]);
        let (answer, text, thoughts) = ask_thinking(&patient(dialect, &server), &prompt(QUESTION));
        let error = answer.expect_err("no answer");
        assert!(error.text.contains("thoughts, and no answer"), "{dialect:?}: {error}");
        assert_eq!((text.as_str(), thoughts.as_str()), ("", "Nothing but this."), "{dialect:?}");
    }
    let server = FakeServer::start([Script::answer(Dialect::Ollama, &["<think>", "and no end"], &[])]);
    let (answer, text, thoughts) = ask_thinking(&patient(Dialect::Ollama, &server), &prompt(QUESTION));
    assert!(answer.is_err() && text.is_empty() && thoughts == "and no end", "{text}");
}

#[test]
fn endless_thoughts_are_stopped_at_the_limit() {
    let limits = Limits { text: 1000, ..Limits::default() };
    for dialect in DIALECTS {
        let server = FakeServer::start([Script::thinking(dialect, &["x".repeat(600).as_str(); 2], &["Yes."], &[])]);
        let provider = served(config(dialect, &server.url()), timeouts(20_000, 20_000), limits);
        let error = ask_thinking(&provider, &prompt(QUESTION)).0.expect_err("too much");
        assert!(error.text.contains("thoughts ran beyond the limit"), "{dialect:?}: {error}");
    }
}

/// Lets a model think and call, and hands the results to the provider that `other` makes of its settings; returns the
/// request that came.
fn handed_back(dialect: Dialect, other: fn(ProviderConfig) -> ProviderConfig) -> Value {
    let first = Script::thinking(dialect, &["First, ", "then."], &["Looking."], &calls());
    let server = FakeServer::start([first, Script::answer(dialect, &["Done."], &[])]);
    let mut prompt = prompt(QUESTION);
    prompt.tools = vec![tool()];
    let answer = ask(&patient(dialect, &server), &prompt).0.expect("an answer");
    let result =
        |call: &Call| Message::Result { call: call.id.clone(), tool: call.tool.clone(), text: "Nothing.".into() };
    let results: Vec<Message> = answer.calls.iter().map(result).collect();
    prompt.messages.push(Message::Calls { text: answer.text, calls: answer.calls, thinking: answer.thinking });
    prompt.messages.extend(results);
    let settings = other(config(dialect, &server.url()));
    let shown = run(shown(&settings, &prompt, &clients(timeouts(20_000, 20_000)), vault())).expect("it can be shown");
    let next = served(settings, timeouts(20_000, 20_000), Limits::default());
    ask(&next, &prompt).0.expect("an answer");
    let sent = &server.requests()[1];
    assert_eq!(shown.body, sent.body, "{dialect:?}: what is shown is what is sent, thoughts included");
    sent.json()
}

#[test]
fn thoughts_are_handed_back_with_the_results_where_a_provider_wants_them() {
    let same = |config: ProviderConfig| config;
    let body = handed_back(Dialect::Anthropic, same);
    let blocks = body["messages"][1]["content"].as_array().expect("blocks");
    let expected = [
        json!({"type": "thinking", "thinking": "First, ", "signature": "signed:7"}),
        json!({"type": "thinking", "thinking": "then.", "signature": "signed:5"}),
        json!({"type": "redacted_thinking", "data": "sealed"}),
        json!({"type": "text", "text": "Looking."}),
    ];
    assert_eq!(blocks[..4], expected, "in the order in which they came, before everything else");
    assert_eq!(blocks.len(), 6);

    let body = handed_back(Dialect::OpenAi, same);
    assert_eq!(body["messages"][2]["reasoning_content"], "First, then.");

    let body = handed_back(Dialect::Gemini, same);
    let parts = body["contents"][1]["parts"].as_array().expect("parts");
    let signatures: Vec<&str> = parts.iter().filter_map(|part| part["thoughtSignature"].as_str()).collect();
    assert_eq!(signatures, ["signed:0", "signed:1"]);
    assert!(!body.to_string().contains("First, "), "Gemini wants the signatures alone");
}

#[test]
fn nobody_else_is_handed_what_a_model_thought() {
    let others: [fn(ProviderConfig) -> ProviderConfig; 2] = [
        |config| ProviderConfig { model: "another".into(), ..config },
        |config| ProviderConfig { name: "another".into(), ..config },
    ];
    for dialect in DIALECTS {
        for other in others {
            let body = handed_back(dialect, other).to_string();
            for words in ["First, ", "signed:", "sealed"] {
                assert!(!body.contains(words), "{dialect:?}: {words} is in {body}");
            }
        }
    }
}

#[test]
fn blocks_that_openrouter_alone_can_read_go_back_as_they_came() {
    let chunk =
        |delta: Value, reason: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    let words = |text: &str| json!([{"type": "reasoning.text", "index": 0, "text": text}]);
    let signed = json!([{"type": "reasoning.text", "index": 0, "text": "", "signature": "s1"}]);
    let sealed = json!([{"type": "reasoning.encrypted", "index": 1, "data": "opaque"}]);
    let call = json!([{"index": 0, "id": "call_a", "function": {"name": "memory-search", "arguments": "{}"}}]);
    let data = [
        chunk(json!({"reasoning": "Let ", "reasoning_details": words("Let ")}), Value::Null),
        chunk(json!({"reasoning": "me.", "reasoning_details": words("me.")}), Value::Null),
        chunk(json!({"reasoning_details": signed}), Value::Null),
        chunk(json!({"reasoning_details": sealed}), Value::Null),
        chunk(json!({"tool_calls": call}), json!("tool_calls")),
    ];
    let body: String = data.iter().map(|value| format!("data: {value}\n\n")).collect();
    let reply = Script::raw(200, "text/event-stream", format!("{body}data: [DONE]\n\n"));
    let server = FakeServer::start([reply, hello(Dialect::OpenAi)]);
    let config = ProviderConfig { kind: Kind::OpenRouter, ..config(Dialect::OpenAi, &format!("{}/v1", server.url())) };
    let provider = served(config, timeouts(20_000, 20_000), Limits::default());
    let answer = ask(&provider, &prompt(QUESTION)).0.expect("an answer");
    assert_eq!(answer.thinking.text(), "Let me.");
    let mut prompt = prompt(QUESTION);
    prompt.messages.push(Message::Calls { text: String::new(), calls: answer.calls, thinking: answer.thinking });
    ask(&provider, &prompt).0.expect("an answer");
    let message = &server.requests()[1].json()["messages"][2];
    assert_eq!(
        message["reasoning_details"],
        json!([
            {"type": "reasoning.text", "index": 0, "text": "Let me.", "signature": "s1"},
            {"type": "reasoning.encrypted", "index": 1, "data": "opaque"},
        ])
    );
    assert_eq!(message.get("reasoning_content"), None);
}

#[test]
fn thoughts_without_calls_are_kept_as_they_were_shown() {
    let server = FakeServer::start([Script::thinking(Dialect::Anthropic, &["So."], &["Yes."], &[])]);
    let answer = ask(&patient(Dialect::Anthropic, &server), &prompt(QUESTION)).0.expect("an answer");
    let words = Thought::Words { text: "So.".into(), signature: Some("signed:3".into()) };
    assert_eq!(
        answer.thinking.thoughts,
        [words, Thought::Sealed(json!({"type": "redacted_thinking", "data": "sealed"}))]
    );
}
