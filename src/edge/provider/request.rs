//! From our prompt to genai's request: history as each protocol accepts it.
//!
//! Providers refuse a conversation in which a call has no result or a result no call,
//! and ids of calls that another provider made up; both happen after an interrupt or when a cascade moves on.

use crate::domain::port::{Call, Message, Prompt};
use crate::domain::signal::Role;
use crate::edge::provider::config::Kind;
use genai::chat::{ChatMessage, ChatRequest, ContentPart, MessageContent, Tool, ToolCall, ToolName, ToolResponse};
use serde_json::Value;

/// Stands for the result of a call that was never carried out.
const NO_RESULT: &str = "There is no result: the call was not carried out.";
/// Stands in front of a conversation that would begin with the model.
const LEFT_OUT: &str = "(Earlier messages are left out.)";

/// Returns genai's request for a prompt.
pub(super) fn request(prompt: &Prompt, kind: Kind) -> ChatRequest {
    let mut messages = history(&prompt.messages, kind);
    if messages.is_empty() {
        messages.push(ChatMessage::user(prompt.typed.clone()));
    }
    let mut request = ChatRequest::from_messages(messages);
    if !prompt.system.trim().is_empty() {
        request = request.with_system(prompt.system.clone());
    }
    if prompt.tools.is_empty() {
        return request;
    }
    request.with_tools(prompt.tools.iter().map(|tool| {
        Tool::new(ToolName::Custom(tool.name.clone()))
            .with_description(tool.summary.clone())
            .with_schema(tool.schema.clone())
    }))
}

fn history(messages: &[Message], kind: Kind) -> Vec<ChatMessage> {
    let mut told = Vec::new();
    let mut rest = messages.iter().peekable();
    while let Some(message) = rest.next() {
        match message {
            Message::Text { text, .. } if text.trim().is_empty() => {}
            Message::Text { role: Role::User | Role::Tool, text } => told.push(ChatMessage::user(text.clone())),
            Message::Text { role: Role::Assistant, text } => told.push(ChatMessage::assistant(text.clone())),
            Message::Result { tool, text, .. } => told.push(stray(tool, text)),
            Message::Calls { text, calls } => {
                let mut results: Vec<(&str, &str, &str)> = Vec::new();
                while let Some(Message::Result { call, tool, text }) =
                    rest.next_if(|next| matches!(next, Message::Result { .. }))
                {
                    results.push((call, tool, text));
                }
                told.extend(exchange(text, calls, &results, kind));
            }
        }
    }
    if told.first().is_some_and(|first| !matches!(first.role, genai::chat::ChatRole::User)) {
        told.insert(0, ChatMessage::user(LEFT_OUT));
    }
    told
}

/// Returns what a model said with its calls, then one result for each call.
fn exchange(text: &str, calls: &[Call], results: &[(&str, &str, &str)], kind: Kind) -> Vec<ChatMessage> {
    let mut parts: Vec<ContentPart> = Vec::new();
    if !text.trim().is_empty() {
        parts.push(ContentPart::Text(text.to_string()));
    }
    parts.extend(calls.iter().map(|call| {
        ContentPart::ToolCall(ToolCall {
            call_id: id_for(kind, &call.id),
            fn_name: call.tool.clone(),
            fn_arguments: Value::Object(call.args.clone()),
            thought_signatures: None,
        })
    }));
    let mut told = Vec::new();
    if !parts.is_empty() {
        told.push(ChatMessage::assistant(MessageContent::from_parts(parts)));
    }
    let answers: Vec<ToolResponse> = calls
        .iter()
        .map(|call| {
            let found = results.iter().find(|(id, _, _)| *id == call.id);
            let text = found.map_or(NO_RESULT, |(_, _, text)| text);
            ToolResponse::new(id_for(kind, &call.id), text).with_fn_name(call.tool.clone())
        })
        .collect();
    match kind {
        // All results of one answer belong in one message.
        Kind::Anthropic | Kind::Gemini if !answers.is_empty() => told.push(ChatMessage::from(answers)),
        Kind::Anthropic | Kind::Gemini => {}
        Kind::OpenAi | Kind::OpenRouter | Kind::Ollama => told.extend(answers.into_iter().map(ChatMessage::from)),
    }
    let strays = results.iter().filter(|(id, _, _)| !calls.iter().any(|call| call.id == *id));
    told.extend(strays.map(|(_, tool, text)| stray(tool, text)));
    told
}

/// Returns a result without its call, as words.
fn stray(tool: &str, text: &str) -> ChatMessage {
    ChatMessage::user(format!("Result of the tool {tool}:\n{text}"))
}

/// Returns an id of a call as a protocol accepts it: at most 40 letters, digits, `_` and `-`.
/// Gemini takes any, and genai knows by the shape of one that it was made up.
fn id_for(kind: Kind, id: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    match kind {
        Kind::Gemini => id.to_string(),
        Kind::OpenAi | Kind::OpenRouter | Kind::Ollama | Kind::Anthropic => {
            if !id.is_empty() && id.len() <= 40 && id.bytes().all(plain) {
                id.to_string()
            } else {
                let hash = blake3::hash(id.as_bytes()).to_hex();
                format!("call_{}", hash.get(..24).unwrap_or_default())
            }
        }
    }
}
