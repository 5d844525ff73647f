//! What is told to an editor, in the types of the protocol.

use crate::domain::sexp::reader::Sexp;
use crate::domain::tool::{Class, Effect, Toolbox};
use crate::edge::acp::session::Plan;
use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, MessageId, PermissionOption, PermissionOptionKind, RequestPermissionRequest,
    SessionNotification, SessionUpdate, TextContent, ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind, UsageUpdate,
};
use serde_json::{Value, json};

/// The answer that approves what was shown, once.
pub(super) const ALLOW: &str = "allow-once";
/// The answer that denies it.
const REJECT: &str = "reject-once";

/// How the outcome of an act begins that waits as a plan.
const WAITS: [&str; 2] = ["waits for approval", "shown anew in place of"];
/// How the outcome of an act begins that was not done.
const NOT_DONE: [&str; 6] = ["refused", "failed:", "stale:", "cancelled:", "denied:", "not carried out:"];

/// Returns an update as a notification.
pub(super) fn update(session: &str, update: SessionUpdate) -> Value {
    let params = SessionNotification::new(session.to_string(), update);
    json!({"jsonrpc": "2.0", "method": "session/update", "params": params})
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text(TextContent::new(text))
}

/// Returns a piece of an answer; pieces of one name are one message.
pub(super) fn said(name: &str, words: &str) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(ContentChunk::new(text(words)).message_id(MessageId::new(name)))
}

/// Returns a piece of what a model thinks.
pub(super) fn thought(name: &str, words: &str) -> SessionUpdate {
    SessionUpdate::AgentThoughtChunk(ContentChunk::new(text(words)).message_id(MessageId::new(format!("{name}-t"))))
}

/// Returns what a prompt took of its room, where the turn says so.
pub(super) fn usage(payload: &Sexp) -> Option<SessionUpdate> {
    let taken = payload.get("context")?;
    let (used, most) = (taken.count_at("used")?, taken.count_at("most")?);
    Some(SessionUpdate::UsageUpdate(UsageUpdate::new(used as u64, most as u64)))
}

/// Returns the plan of an act, where it has one.
pub(super) fn plan_of(act: &Sexp) -> Option<&str> {
    act.text_at("plan")
}

fn kind(tool: &str) -> ToolKind {
    let toolbox = Toolbox::builtin();
    let Some(effect) = toolbox.get(tool).map(|tool| tool.effect) else { return ToolKind::Other };
    match (effect, effect.class()) {
        (Effect::ReadMemory, _) => ToolKind::Search,
        (_, Class::Read) => ToolKind::Read,
        (_, Class::Write) => ToolKind::Edit,
        (_, Class::Execute) => ToolKind::Execute,
        (_, Class::Network) => ToolKind::Fetch,
        (_, Class::Pure) => ToolKind::Other,
    }
}

fn status(outcome: &str) -> ToolCallStatus {
    let begins = |words: &[&str]| words.iter().any(|words| outcome.starts_with(words));
    match outcome {
        _ if begins(&WAITS) => ToolCallStatus::Pending,
        _ if begins(&NOT_DONE) => ToolCallStatus::Failed,
        _ => ToolCallStatus::Completed,
    }
}

/// Returns a text as an editor shows it whole: clients render texts as Markdown, in which parts of it could vanish. The
/// fence is longer than any in it.
fn fenced(words: &str) -> String {
    let longest = words.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{words}\n{fence}")
}

/// Returns which gates did not just let an act pass, and what came of it. Their reasons may name what is not for every
/// program, and stay in Emacs.
fn content(act: &Sexp) -> Vec<ToolCallContent> {
    let reasons = act.list_at("opinions").iter().filter_map(|opinion| {
        let say = |key: &str| opinion.text_at(key).unwrap_or_default();
        (say("verdict") != "pass").then(|| format!("{}: {}", say("gate"), say("verdict")))
    });
    let outcome = act.text_at("outcome").filter(|outcome| !outcome.is_empty()).map(str::to_string);
    let lines: Vec<String> = reasons.chain(outcome).collect();
    if lines.is_empty() { Vec::new() } else { vec![text(&fenced(&lines.join("\n"))).into()] }
}

/// Returns an act that is told for the first time.
pub(super) fn call(id: &str, act: &Sexp) -> SessionUpdate {
    let say = |key: &str| act.text_at(key).unwrap_or_default();
    let call = ToolCall::new(id.to_string(), say("summary"))
        .name(say("tool").to_string())
        .kind(kind(say("tool")))
        .status(status(say("outcome")))
        .content(content(act));
    SessionUpdate::ToolCall(call)
}

/// Returns how an act stands while its turn goes on.
fn standing(act: &Sexp) -> ToolCallStatus {
    match act.name_at("state") {
        Some("begun") => ToolCallStatus::InProgress,
        Some("done") => ToolCallStatus::Completed,
        Some("asked") => ToolCallStatus::Pending,
        _ => ToolCallStatus::Failed,
    }
}

/// Returns an act that is told for the first time while its turn goes on. Of what the editor may not see there is the tool
/// alone.
pub(super) fn stands_first(id: &str, act: &Sexp) -> SessionUpdate {
    let tool = act.text_at("tool").unwrap_or_default();
    let call = ToolCall::new(id.to_string(), act.text_at("summary").unwrap_or(tool));
    SessionUpdate::ToolCall(call.name(tool.to_string()).kind(kind(tool)).status(standing(act)))
}

/// Returns how an act stands by now that was told before.
pub(super) fn stands(id: &str, act: &Sexp) -> SessionUpdate {
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(
        id.to_string(),
        ToolCallUpdateFields::new().status(standing(act)),
    ))
}

/// Returns what became of an act that was told before.
pub(super) fn came_of(id: &str, act: &Sexp) -> SessionUpdate {
    let fields = ToolCallUpdateFields::new();
    let fields = fields.status(status(act.text_at("outcome").unwrap_or_default())).content(content(act));
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_string(), fields))
}

/// Returns the heading of a part of a plan's text.
fn heading(part: &str) -> &'static str {
    match part {
        "body" => "What would happen",
        "asked" => "Which gates ask, and why",
        "why" => "Why the agent wants it",
        "diff" => "The change",
        "predicted" => "What came of trying it out",
        _ => "More",
    }
}

/// Asks the editor's user about plans of one decision, which stand in it whole. There are two answers, and both hold once.
pub(super) fn permission(number: i64, session: &str, call: &str, plans: &[Plan]) -> Value {
    let content = plans.iter().flat_map(|plan| {
        let head = format!("Plan {}:\n{}", plan.id, fenced(&plan.title));
        let parts = plan.parts.iter().map(|(part, body)| format!("{}:\n{}", heading(part), fenced(body)));
        std::iter::once(head).chain(parts).map(|words| text(&words).into())
    });
    let title = match plans {
        [one] => one.title.clone(),
        several => format!("{} steps: {}", several.len(), several.first().map_or("", |plan| plan.title.as_str())),
    };
    let fields = ToolCallUpdateFields::new()
        .title(title)
        .kind(plans.first().map(|plan| kind(&plan.tool)).unwrap_or_default())
        .status(ToolCallStatus::Pending)
        .content(content.collect::<Vec<ToolCallContent>>());
    let option = |id: &'static str, name: &str, kind| PermissionOption::new(id, name, kind);
    let options = vec![
        option(ALLOW, "Approve exactly this, once", PermissionOptionKind::AllowOnce),
        option(REJECT, "Deny it", PermissionOptionKind::RejectOnce),
    ];
    let update = ToolCallUpdate::new(call.to_string(), fields);
    let params = RequestPermissionRequest::new(session.to_string(), update, options);
    json!({"jsonrpc": "2.0", "id": number, "method": "session/request_permission", "params": params})
}
