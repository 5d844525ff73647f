//! What leaves the machine: exactly this, in every protocol.

use super::*;

/// The prompt of a second step: a question, two calls, one result, a stray result.
fn second_step() -> Prompt {
    let call = |id: &str, query: &str| Call {
        id: id.into(),
        tool: "memory-search".into(),
        args: args(json!({"query": query})),
    };
    let result =
        |id: &str, text: &str| Message::Result { call: id.into(), tool: "memory-search".into(), text: text.into() };
    let mut prompt = prompt("What is due?");
    prompt.tools = vec![tool()];
    prompt.messages.extend([
        Message::Calls {
            text: "Looking.".into(),
            calls: vec![call("call_1a", "due"), call("call#memory-search#7", "late")],
            thinking: Thinking::default(),
        },
        result("call#memory-search#7", "Nothing late."),
        result("call_9z", "From nowhere."),
    ]);
    prompt
}

/// Sends the second step and returns the one request that came in.
fn sent(dialect: Dialect) -> crate::support::fake_server::Recorded {
    let server = FakeServer::start([Script::answer(dialect, &["Done."], &[])]);
    let answer = ask(&patient(dialect, &server), &second_step()).0;
    assert_eq!(answer.map(|answer| answer.text).as_deref(), Ok("Done."), "{dialect:?}");
    let mut requests = server.requests();
    assert_eq!(requests.len(), 1);
    requests.remove(0)
}

/// Replaces an id that is a hash, whatever it is.
fn without_hashes(body: &Value) -> String {
    let text = serde_json::to_string_pretty(body).expect("JSON");
    let id = text.split('"').find(|word| word.starts_with("call_") && word.len() > 20).map(str::to_string);
    id.map_or(text.clone(), |id| text.replace(&id, "call_HASH"))
}

#[test]
fn exactly_this_leaves_the_machine_for_openai() {
    let request = sent(Dialect::OpenAi);
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert!(!request.body.contains(KEY));
    insta::assert_snapshot!(without_hashes(&request.json()), @r#"
    {
      "model": "model-x-high",
      "stream": true,
      "tools": [
        {
          "type": "function",
          "function": {
            "name": "memory-search",
            "description": "Finds notes.",
            "parameters": {
              "type": "object",
              "properties": {
                "query": {
                  "type": "string"
                }
              },
              "required": [
                "query"
              ]
            },
            "strict": false
          }
        }
      ],
      "messages": [
        {
          "role": "system",
          "content": "You are helpful."
        },
        {
          "role": "user",
          "content": "What is due?"
        },
        {
          "role": "assistant",
          "content": "Looking.",
          "tool_calls": [
            {
              "type": "function",
              "id": "call_1a",
              "function": {
                "name": "memory-search",
                "arguments": "{\"query\":\"due\"}"
              }
            },
            {
              "type": "function",
              "id": "call_HASH",
              "function": {
                "name": "memory-search",
                "arguments": "{\"query\":\"late\"}"
              }
            }
          ]
        },
        {
          "role": "tool",
          "content": "There is no result: the call was not carried out.",
          "tool_call_id": "call_1a"
        },
        {
          "role": "tool",
          "content": "Nothing late.",
          "tool_call_id": "call_HASH"
        },
        {
          "role": "user",
          "content": "Result of the tool memory-search:\nFrom nowhere."
        }
      ],
      "stream_options": {
        "include_usage": true
      }
    }
    "#);
}

#[test]
fn exactly_this_leaves_the_machine_for_anthropic() {
    let request = sent(Dialect::Anthropic);
    assert_eq!(request.path, "/v1/messages");
    assert_eq!((request.header("x-api-key"), request.header("anthropic-version")), (Some(KEY), Some("2023-06-01")));
    assert_eq!(request.header("authorization"), None);
    insta::assert_snapshot!(without_hashes(&request.json()), @r#"
    {
      "model": "model-x-high",
      "stream": true,
      "system": "You are helpful.",
      "tools": [
        {
          "name": "memory-search",
          "input_schema": {
            "type": "object",
            "properties": {
              "query": {
                "type": "string"
              }
            },
            "required": [
              "query"
            ]
          },
          "description": "Finds notes."
        }
      ],
      "messages": [
        {
          "role": "user",
          "content": [
            {
              "type": "text",
              "text": "What is due?",
              "cache_control": {
                "type": "ephemeral"
              }
            }
          ]
        },
        {
          "role": "assistant",
          "content": [
            {
              "type": "text",
              "text": "Looking."
            },
            {
              "type": "tool_use",
              "id": "call_1a",
              "name": "memory-search",
              "input": {
                "query": "due"
              }
            },
            {
              "type": "tool_use",
              "id": "call_HASH",
              "name": "memory-search",
              "input": {
                "query": "late"
              }
            }
          ]
        },
        {
          "role": "user",
          "content": [
            {
              "type": "tool_result",
              "content": "There is no result: the call was not carried out.",
              "tool_use_id": "call_1a"
            },
            {
              "type": "tool_result",
              "content": "Nothing late.",
              "tool_use_id": "call_HASH"
            }
          ]
        },
        {
          "role": "user",
          "content": "Result of the tool memory-search:\nFrom nowhere."
        }
      ],
      "max_tokens": 64000
    }
    "#);
}

#[test]
fn exactly_this_leaves_the_machine_for_gemini() {
    let request = sent(Dialect::Gemini);
    assert_eq!(request.path, "/v1beta/models/model-x-high:streamGenerateContent?alt=sse");
    assert_eq!(request.header("x-goog-api-key"), Some(KEY));
    insta::assert_snapshot!(without_hashes(&request.json()), @r#"
    {
      "systemInstruction": {
        "parts": [
          {
            "text": "You are helpful."
          }
        ]
      },
      "tools": [
        {
          "functionDeclarations": [
            {
              "name": "memory-search",
              "description": "Finds notes.",
              "parametersJsonSchema": {
                "type": "object",
                "properties": {
                  "query": {
                    "type": "string"
                  }
                },
                "required": [
                  "query"
                ]
              }
            }
          ]
        }
      ],
      "contents": [
        {
          "role": "user",
          "parts": [
            {
              "text": "What is due?"
            }
          ]
        },
        {
          "role": "model",
          "parts": [
            {
              "text": "Looking."
            },
            {
              "functionCall": {
                "id": "call_1a",
                "name": "memory-search",
                "args": {
                  "query": "due"
                }
              }
            },
            {
              "functionCall": {
                "name": "memory-search",
                "args": {
                  "query": "late"
                }
              }
            }
          ]
        },
        {
          "role": "user",
          "parts": [
            {
              "functionResponse": {
                "name": "memory-search",
                "response": {
                  "name": "memory-search",
                  "content": "There is no result: the call was not carried out."
                },
                "id": "call_1a"
              }
            },
            {
              "functionResponse": {
                "name": "memory-search",
                "response": {
                  "name": "memory-search",
                  "content": "Nothing late."
                }
              }
            }
          ]
        },
        {
          "role": "user",
          "parts": [
            {
              "text": "Result of the tool memory-search:\nFrom nowhere."
            }
          ]
        }
      ]
    }
    "#);
}

#[test]
fn exactly_this_leaves_the_machine_for_ollama() {
    let request = sent(Dialect::Ollama);
    assert_eq!(request.path, "/api/chat");
    insta::assert_snapshot!(without_hashes(&request.json()), @r#"
    {
      "model": "model-x-high",
      "stream": true,
      "tools": [
        {
          "type": "function",
          "function": {
            "name": "memory-search",
            "description": "Finds notes.",
            "parameters": {
              "type": "object",
              "properties": {
                "query": {
                  "type": "string"
                }
              },
              "required": [
                "query"
              ]
            }
          }
        }
      ],
      "messages": [
        {
          "role": "system",
          "content": "You are helpful."
        },
        {
          "role": "user",
          "content": "What is due?"
        },
        {
          "role": "assistant",
          "content": "Looking.",
          "tool_calls": [
            {
              "function": {
                "name": "memory-search",
                "arguments": {
                  "query": "due"
                }
              }
            },
            {
              "function": {
                "name": "memory-search",
                "arguments": {
                  "query": "late"
                }
              }
            }
          ]
        },
        {
          "role": "tool",
          "content": "There is no result: the call was not carried out."
        },
        {
          "role": "tool",
          "content": "Nothing late."
        },
        {
          "role": "user",
          "content": "Result of the tool memory-search:\nFrom nowhere."
        }
      ]
    }
    "#);
}

#[test]
fn what_stays_from_turn_to_turn_is_marked_for_a_cache_that_takes_marks() {
    let sent = |dialect: Dialect, stable: usize| {
        let server = FakeServer::start([Script::answer(dialect, &["Done."], &[])]);
        let prompt = Prompt { system: "Grüße stay. It is nine.".into(), stable, ..second_step() };
        ask(&patient(dialect, &server), &prompt).0.expect("an answer");
        server.requests()[0].json()
    };
    let mark = json!({"type": "ephemeral"});
    let body = sent(Dialect::Anthropic, "Grüße stay. ".len());
    assert_eq!(
        body["system"],
        json!([
            {"type": "text", "text": "Grüße stay. ", "cache_control": mark},
            {"type": "text", "text": "It is nine."},
        ])
    );
    // Besides, the question before the newest step; and where it is the first one, nothing.
    assert_eq!(
        body["messages"][0]["content"],
        json!([{"type": "text", "text": "What is due?", "cache_control": mark}])
    );
    assert_eq!(body.to_string().matches("cache_control").count(), 2, "{body}");
    let whole = sent(Dialect::Anthropic, "Grüße stay. It is nine.".len());
    assert_eq!(whole["system"].as_array().map(Vec::len), Some(1));
    // Unknown, inside a character, or beyond the end: sent as one text, without a mark.
    for stable in [0, 3, 1000] {
        assert_eq!(sent(Dialect::Anthropic, stable)["system"], "Grüße stay. It is nine.", "{stable}");
    }
    let steps = |count: usize| {
        let question = Message::Text { role: Role::User, text: "What is due?".into() };
        let step = |n: usize| {
            let call = Call { id: format!("c{n}"), tool: "memory-search".into(), args: args(json!({"query": "due"})) };
            let calls = Message::Calls { text: String::new(), calls: vec![call], thinking: Default::default() };
            let (call, tool) = (format!("c{n}"), "memory-search".to_string());
            [calls, Message::Result { call, tool, text: format!("Result {n}.") }]
        };
        let server = FakeServer::start([Script::answer(Dialect::Anthropic, &["Done."], &[])]);
        let messages = std::iter::once(question).chain((0..count).flat_map(step)).collect();
        let prompt = Prompt { messages, ..prompt("What is due?") };
        ask(&patient(Dialect::Anthropic, &server), &prompt).0.expect("an answer");
        let marked = server.requests()[0].json()["messages"].as_array().expect("messages").clone();
        marked.iter().map(|message| message.to_string().contains("cache_control")).collect::<Vec<_>>()
    };
    assert_eq!(steps(0), [false]);
    assert_eq!(steps(1), [true, false, false]);
    assert_eq!(steps(2), [false, false, true, false, false]);
    for dialect in [Dialect::OpenAi, Dialect::Gemini, Dialect::Ollama] {
        assert_eq!(sent(dialect, "Grüße stay. ".len()), sent(dialect, 0), "{dialect:?}");
    }
}

#[test]
fn models_of_anthropic_behind_openrouter_are_wished_to_cache() {
    for (model, wished) in [
        ("anthropic/claude-sonnet-4.5", true),
        ("~Anthropic/claude-latest", true),
        ("openai/gpt-5", false),
        ("meta/anthropic", false),
    ] {
        let server = FakeServer::start([Script::answer(Dialect::OpenAi, &["Done."], &[])]);
        let config = ProviderConfig {
            kind: Kind::OpenRouter,
            model: model.to_string(),
            ..config(Dialect::OpenAi, &format!("{}/v1/", server.url()))
        };
        let served = served(config, timeouts(20_000, 20_000), Limits::default());
        ask(&served, &second_step()).0.expect("an answer");
        let body = server.requests()[0].json();
        let expected = if wished { json!({"type": "ephemeral"}) } else { Value::Null };
        assert_eq!((&body["cache_control"], &body["model"]), (&expected, &json!(model)), "{body}");
    }
}

#[test]
fn headers_hold_nothing_but_what_the_request_needs() {
    for dialect in DIALECTS {
        let request = sent(dialect);
        let known = [
            "accept",
            "anthropic-version",
            "authorization",
            "content-length",
            "content-type",
            "host",
            "user-agent",
            "x-api-key",
            "x-goog-api-key",
        ];
        let odd: Vec<_> = request.headers.iter().filter(|(name, _)| !known.contains(&name.as_str())).collect();
        assert!(odd.is_empty(), "{dialect:?}: {odd:?}");
        let with_key = request.headers.iter().filter(|(_, value)| value.contains(KEY)).count();
        assert_eq!(with_key, 1, "{dialect:?}");
    }
}

#[test]
fn without_a_key_no_header_is_made_up() {
    for dialect in DIALECTS {
        let server = FakeServer::start([Script::answer(dialect, &["Hi."], &[])]);
        let keyless = ProviderConfig { key: None, ..config(dialect, &server.url()) };
        ask(&served(keyless, timeouts(20_000, 20_000), Limits::default()), &prompt("hi")).0.expect("an answer");
        let request = &server.requests()[0];
        for name in ["authorization", "x-api-key", "x-goog-api-key"] {
            assert_eq!(request.header(name), None, "{dialect:?}");
        }
    }
}
