//! From our prompt to genai's request: history as each protocol accepts it.
//!
//! Providers refuse a conversation in which a call has no result or a result no call,
//! and ids of calls that another provider made up; both happen after an interrupt or when a cascade moves on.

use crate::domain::port::{Call, Message, Prompt, Thought};
use crate::domain::signal::Role;
use crate::edge::provider::config::Kind;
use crate::edge::provider::pictures::parts;
use genai::chat::{
    CacheControl, ChatMessage, ChatRequest, ContentPart, CustomPart, MessageContent, Tool, ToolCall, ToolName,
    ToolResponse,
};
use serde_json::Value;

/// Stands for the result of a call that was never carried out.
const NO_RESULT: &str = "There is no result: the call was not carried out.";
/// Stands in front of a conversation that would begin with the model.
const LEFT_OUT: &str = "(Earlier messages are left out.)";

/// Returns genai's request for a prompt to the provider of this kind that knows its own thoughts by this name.
pub(super) fn request(prompt: &Prompt, kind: Kind, own: &str) -> ChatRequest {
    let mut messages = history(&prompt.messages, kind, own);
    if messages.is_empty() {
        messages.push(ChatMessage::user(prompt.typed.clone()));
    }
    let request = match cached(prompt, kind) {
        Some(system) => ChatRequest::from_messages(system.into_iter().chain(messages).collect()),
        None if prompt.system.trim().is_empty() => ChatRequest::from_messages(messages),
        None => ChatRequest::from_messages(messages).with_system(prompt.system.clone()),
    };
    if prompt.tools.is_empty() {
        return request;
    }
    request.with_tools(prompt.tools.iter().map(|tool| {
        Tool::new(ToolName::Custom(tool.name.clone()))
            .with_description(tool.summary.clone())
            .with_schema(tool.schema.clone())
    }))
}

/// Whether a protocol has marks in a request up to which its beginning is kept in a cache.
fn takes_marks(kind: Kind) -> bool {
    match kind {
        Kind::Anthropic => true,
        // These cache what begins alike by themselves; for models that do not, OpenRouter takes a wish of its own.
        Kind::OpenAi
        | Kind::OpenAiResponses
        | Kind::Mistral
        | Kind::Xai
        | Kind::OpenRouter
        | Kind::Gemini
        | Kind::Ollama => false,
    }
}

/// Whether a model behind OpenRouter caches only what it is asked to.
pub(super) fn caches_on_wish(kind: Kind, model: &str) -> bool {
    kind == Kind::OpenRouter && model.trim_start_matches('~').to_ascii_lowercase().starts_with("anthropic/")
}

/// Returns the system text in two parts, the first of which does not change from turn to turn and is marked for the
/// provider's cache, with the tools that stand before it; `None` where there is no such part, or no such mark.
fn cached(prompt: &Prompt, kind: Kind) -> Option<Vec<ChatMessage>> {
    let (stable, rest) = prompt.system.split_at_checked(prompt.stable).filter(|_| takes_marks(kind))?;
    if stable.trim().is_empty() {
        return None;
    }
    let mut parts = vec![ChatMessage::system(stable).with_options(CacheControl::Ephemeral)];
    if !rest.trim().is_empty() {
        parts.push(ChatMessage::system(rest));
    }
    Some(parts)
}

/// Returns the conversation. Where this is a further step of a turn, what stands before the newest one was sent before and
/// is marked: from then on each step finds it in the provider's cache.
fn history(messages: &[Message], kind: Kind, own: &str) -> Vec<ChatMessage> {
    let question = messages.iter().rposition(|message| matches!(message, Message::Text { role: Role::User, .. }));
    let step =
        messages.iter().rposition(|message| matches!(message, Message::Calls { .. })).filter(|at| question < Some(*at));
    let (before, newest) = messages.split_at_checked(step.unwrap_or(messages.len())).unwrap_or((messages, &[]));
    let mut told = said(before, kind, own);
    if !newest.is_empty()
        && takes_marks(kind)
        && let Some(last) = told.pop()
    {
        told.push(last.with_options(CacheControl::Ephemeral));
    }
    told.extend(said(newest, kind, own));
    if told.first().is_some_and(|first| !matches!(first.role, genai::chat::ChatRole::User)) {
        told.insert(0, ChatMessage::user(LEFT_OUT));
    }
    told
}

/// Returns messages as a protocol takes them.
fn said(messages: &[Message], kind: Kind, own: &str) -> Vec<ChatMessage> {
    let mut told = Vec::new();
    // They stand in one message with the words that they go along with, and before them.
    let mut seen: Vec<ContentPart> = Vec::new();
    let mut rest = messages.iter().peekable();
    while let Some(message) = rest.next() {
        match message {
            Message::Picture(picture) => seen.extend(parts(picture)),
            Message::Text { text, .. } if text.trim().is_empty() => {}
            Message::Text { role: Role::User, text } if !seen.is_empty() => {
                seen.push(ContentPart::Text(text.clone()));
                told.push(ChatMessage::user(MessageContent::from_parts(std::mem::take(&mut seen))));
            }
            Message::Text { role: Role::User | Role::Tool, text } => told.push(ChatMessage::user(text.clone())),
            Message::Text { role: Role::Assistant, text } => told.push(ChatMessage::assistant(text.clone())),
            Message::Result { tool, text, .. } => told.push(stray(tool, text)),
            Message::Calls { text, calls, thinking } => {
                let mut results: Vec<(&str, &str, &str)> = Vec::new();
                while let Some(Message::Result { call, tool, text }) =
                    rest.next_if(|next| matches!(next, Message::Result { .. }))
                {
                    results.push((call, tool, text));
                }
                let thoughts = if thinking.by == own { thinking.thoughts.as_slice() } else { &[] };
                told.extend(exchange((text, thoughts, calls), &results, kind));
            }
        }
    }
    if !seen.is_empty() {
        told.push(ChatMessage::user(MessageContent::from_parts(seen)));
    }
    told
}

/// Returns what a model said with its calls, then one result for each call.
fn exchange(
    (text, thoughts, calls): (&str, &[Thought], &[Call]),
    results: &[(&str, &str, &str)],
    kind: Kind,
) -> Vec<ChatMessage> {
    let mut parts: Vec<ContentPart> = handed_back(thoughts, kind);
    if !text.trim().is_empty() {
        parts.push(ContentPart::Text(text.to_string()));
    }
    parts.extend(calls.iter().map(|call| {
        ContentPart::ToolCall(ToolCall {
            call_id: id_for(kind, &call.id),
            fn_name: call.tool.clone(),
            fn_arguments: Value::Object(call.args.clone()),
            thought_signatures: thoughts.iter().find_map(|thought| match thought {
                Thought::OfCall { call: of, signature } if *of == call.id => Some(vec![signature.clone()]),
                Thought::OfCall { .. } | Thought::Words { .. } | Thought::Sealed(_) => None,
            }),
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
        Kind::OpenAi | Kind::OpenAiResponses | Kind::OpenRouter | Kind::Mistral | Kind::Xai | Kind::Ollama => {
            told.extend(answers.into_iter().map(ChatMessage::from));
        }
    }
    let strays = results.iter().filter(|(id, _, _)| !calls.iter().any(|call| call.id == *id));
    told.extend(strays.map(|(_, tool, text)| stray(tool, text)));
    told
}

/// Returns thoughts as their provider wants them back.
fn handed_back(thoughts: &[Thought], kind: Kind) -> Vec<ContentPart> {
    let mut parts = Vec::new();
    for thought in thoughts {
        match (thought, kind) {
            (Thought::Words { text, signature: Some(signature) }, Kind::Anthropic) => {
                parts.push(ContentPart::ThoughtSignature(signature.clone()));
                parts.push(ContentPart::ReasoningContent(text.clone()));
            }
            (Thought::Words { text, .. }, Kind::OpenAi | Kind::Mistral | Kind::Xai) => {
                parts.push(ContentPart::ReasoningContent(text.clone()))
            }
            (Thought::Words { signature: Some(signature), .. }, Kind::OpenAiResponses) => {
                parts.push(ContentPart::ThoughtSignature(signature.clone()));
            }
            (Thought::Sealed(value), Kind::Anthropic | Kind::OpenRouter) => {
                parts.push(ContentPart::Custom(CustomPart { model_iden: None, data: value.clone() }));
            }
            // The words of others are for people; signatures of calls stand with the calls.
            (Thought::Words { .. } | Thought::Sealed(_) | Thought::OfCall { .. }, _) => {}
        }
    }
    parts
}

/// Returns a result without its call, as words.
fn stray(tool: &str, text: &str) -> ChatMessage {
    ChatMessage::user(format!("Result of the tool {tool}:\n{text}"))
}

/// Returns an id of a call as a protocol accepts it: at most 40 letters, digits, `_` and `-`; for Mistral nine letters
/// and digits.
/// Gemini takes any, and genai knows by the shape of one that it was made up.
fn id_for(kind: Kind, id: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    match kind {
        Kind::Gemini => id.to_string(),
        Kind::Mistral => {
            let nine = id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric());
            let hash = blake3::hash(id.as_bytes()).to_hex();
            if nine { id.to_string() } else { hash.get(..9).unwrap_or_default().to_string() }
        }
        Kind::OpenAi | Kind::OpenAiResponses | Kind::OpenRouter | Kind::Xai | Kind::Ollama | Kind::Anthropic => {
            if !id.is_empty() && id.len() <= 40 && id.bytes().all(plain) {
                id.to_string()
            } else {
                let hash = blake3::hash(id.as_bytes()).to_hex();
                format!("call_{}", hash.get(..24).unwrap_or_default())
            }
        }
    }
}
