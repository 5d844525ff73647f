//! OpenAI's newer protocol, and the providers that differ from the rest in small ways.

use super::*;

fn event(value: Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().expect("a type"))
}

fn response(status: &str, more: Value) -> Value {
    let mut response = json!({"id": "r", "model": "m", "status": status, "output": [],
        "usage": {"input_tokens": 11, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 7,
                  "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 18}});
    more.as_object().expect("an object").iter().for_each(|(name, value)| response[name] = value.clone());
    response
}

/// An answer that thinks, says something, and calls two tools with arguments in pieces.
fn answer() -> String {
    let item =
        |index: usize, item: Value| json!({"type": "response.output_item.added", "output_index": index, "item": item});
    let done =
        |index: usize, item: Value| json!({"type": "response.output_item.done", "output_index": index, "item": item});
    let call = |id: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": "memory-search", "arguments": arguments});
    let piece = |index: usize, delta: &str| json!({"type": "response.function_call_arguments.delta", "output_index": index, "delta": delta});
    [
        json!({"type": "response.created", "response": {}}),
        json!({"type": "response.reasoning_summary_text.delta", "delta": "Let me see."}),
        done(0, json!({"type": "reasoning", "id": "rs", "encrypted_content": "sealed"})),
        json!({"type": "response.output_text.delta", "delta": "Look"}),
        json!({"type": "response.output_text.delta", "delta": "ing, 漢字."}),
        item(2, call("call_a", "")),
        item(3, call("call_b", "")),
        piece(2, "{\"query\":"),
        piece(3, "{\"query\":\"la"),
        piece(2, "\"due\"}"),
        piece(3, "te\"}"),
        done(2, call("call_a", "{\"query\":\"due\"}")),
        done(3, call("call_b", "{\"query\":\"late\"}")),
        json!({"type": "response.completed", "response": response("completed", json!({}))}),
    ]
    .into_iter()
    .map(event)
    .collect()
}

fn responses(server: &FakeServer, effort: Option<&str>) -> Served {
    let effort = effort.map(str::to_string);
    let config = ProviderConfig {
        kind: Kind::OpenAiResponses,
        effort,
        ..config(Dialect::OpenAi, &format!("{}/v1", server.url()))
    };
    served(config, timeouts(20_000, 20_000), Limits::default())
}

#[test]
fn responses_are_understood_however_they_are_split_and_thoughts_go_back_sealed() {
    for piece in [1, 7, 4096] {
        let said = || Script::raw(200, "text/event-stream", answer()).in_pieces(piece);
        let server = FakeServer::start([said(), said()]);
        let provider = responses(&server, Some("high"));
        let mut prompt = prompt("What is due?");
        prompt.tools = vec![tool()];
        let (answer, streamed) = ask(&provider, &prompt);
        let answer = answer.expect("an answer");
        assert_eq!((answer.text.as_str(), streamed.as_str()), ("Looking, 漢字.", "Looking, 漢字."));
        assert_eq!(answer.thinking.text(), "Let me see.");
        assert_eq!(answer.usage, Some(Usage { input: 11, output: 7, cached: 4, thinking: 5 }));
        let calls: Vec<_> = answer.calls.iter().map(|call| (call.id.as_str(), call.args["query"].clone())).collect();
        assert_eq!(calls, [("call_a", json!("due")), ("call_b", json!("late"))]);
        let result = |call: &Call| Message::Result { call: call.id.clone(), tool: call.tool.clone(), text: "1".into() };
        let results: Vec<Message> = answer.calls.iter().map(result).collect();
        prompt.messages.push(Message::Calls { text: answer.text, calls: answer.calls, thinking: answer.thinking });
        prompt.messages.extend(results);
        ask(&provider, &prompt).0.expect("an answer");
        let (first, second) = (server.requests()[0].json(), server.requests()[1].json());
        assert_eq!(server.requests()[0].path, "/v1/responses");
        assert_eq!((&first["model"], &first["store"]), (&json!("model-x-high"), &json!(false)));
        assert_eq!(first["reasoning"]["effort"], "high");
        let input = second["input"].as_array().expect("items");
        let types: Vec<&str> = input.iter().filter_map(|item| item["type"].as_str()).collect();
        assert!(types.contains(&"reasoning") && types.contains(&"function_call_output"), "{types:?}");
        assert!(second.to_string().contains("sealed"));
    }
}

#[test]
fn without_an_effort_no_thoughts_are_asked_for() {
    let server = FakeServer::start([Script::raw(200, "text/event-stream", answer())]);
    ask(&responses(&server, None), &prompt("hi")).0.expect("an answer");
    let body = server.requests()[0].json();
    assert!(body.get("reasoning").is_none() && body.get("include").is_none(), "{body}");
}

#[test]
fn faults_of_responses_keep_their_meaning() {
    let check = |body: String, kind: ProviderErrorKind, words: &str| {
        let server = FakeServer::start([Script::raw(200, "text/event-stream", body)]);
        let error = ask(&responses(&server, None), &prompt("hi")).0.expect_err(words);
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.text.contains(words), "{error}");
    };
    let failed = json!({"error": {"code": "rate_limit_exceeded", "message": "slow down"}});
    let failed = event(json!({"type": "response.failed", "response": response("failed", failed)}));
    check(failed, ProviderErrorKind::Quota, "slow down");
    let error = event(json!({"type": "error", "code": "server_error", "message": "broke"}));
    check(error, ProviderErrorKind::Unreachable, "broke");
    let cut = event(json!({"type": "response.output_text.delta", "delta": "Half"}));
    check(cut, ProviderErrorKind::Cut, "after 4 characters");
    check("<html>".into(), ProviderErrorKind::Garbled, "no stream of this protocol");
    let far = json!({"type": "function_call", "call_id": "a", "name": "x", "arguments": ""});
    let far = json!({"type": "response.output_item.added", "output_index": u64::MAX, "item": far});
    check(event(far), ProviderErrorKind::Garbled, "more than 64 calls");
}

#[test]
fn responses_that_are_incomplete_say_what_cut_them_off() {
    for (reason, expected) in [("max_output_tokens", Ended::Limit), ("content_filter", Ended::Filtered)] {
        let said = event(json!({"type": "response.output_text.delta", "delta": "Half"}));
        let more = json!({"incomplete_details": {"reason": reason}});
        let end = event(json!({"type": "response.incomplete", "response": response("incomplete", more)}));
        let server = FakeServer::start([Script::raw(200, "text/event-stream", said + &end)]);
        let answer = ask(&responses(&server, None), &prompt("hi")).0.expect("what came is kept");
        assert_eq!((answer.text.as_str(), answer.ended), ("Half", expected), "{reason}");
    }
}

#[test]
fn mistral_is_handed_thoughts_in_its_own_shape_and_ids_that_it_takes() {
    let chunk =
        |delta: Value, reason: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    let thinking = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]);
    let call =
        json!([{"index": 0, "id": "call_with_a_long_name", "function": {"name": "memory-search", "arguments": "{}"}}]);
    let data = [
        chunk(json!({"content": thinking}), Value::Null),
        chunk(json!({"content": "Looking.", "tool_calls": call}), json!("tool_calls")),
    ];
    let body: String = data.iter().map(|value| format!("data: {value}\n\n")).collect();
    let server = FakeServer::start([
        Script::raw(200, "text/event-stream", format!("{body}data: [DONE]\n\n")),
        hello(Dialect::OpenAi),
    ]);
    let config = ProviderConfig { kind: Kind::Mistral, ..config(Dialect::OpenAi, &format!("{}/v1", server.url())) };
    let provider = served(config, timeouts(20_000, 20_000), Limits::default());
    let answer = ask(&provider, &prompt("hi")).0.expect("an answer");
    assert_eq!((answer.text.as_str(), answer.thinking.text().as_str()), ("Looking.", "Hm."));
    let mut prompt = prompt("hi");
    let id = answer.calls[0].id.clone();
    prompt.messages.push(Message::Calls { text: answer.text, calls: answer.calls, thinking: answer.thinking });
    prompt.messages.push(Message::Result { call: id, tool: "memory-search".into(), text: "Nothing.".into() });
    ask(&provider, &prompt).0.expect("an answer");
    let body = server.requests()[1].json();
    let message = &body["messages"][2];
    assert_eq!(message["content"][0]["type"], "thinking", "{message}");
    assert!(message.get("reasoning_content").is_none());
    let id = message["tool_calls"][0]["id"].as_str().expect("an id");
    assert!(id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()), "{id}");
    assert_eq!(body["messages"][3]["tool_call_id"], id);
}
