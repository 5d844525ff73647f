//! What the store keeps of plans, conversations and turns, as JSON; the domain's types know nothing of it.

mod past;
mod trace;

use crate::domain::action::{Action, KeptTool, Refined};
use crate::domain::gate::Facts;
use crate::domain::gate::badge::Badge;
use crate::domain::gate::plan::{About, FlightPlan, PlanStatus, Tried};
use crate::domain::gate::title::title;
use crate::domain::id::{FactsHash, NodeId, OperationId, PlanId, SessionId, TurnId};
use crate::domain::label::{Labels, Privacy, PrivacyTag, Provenance, Trust};
use crate::domain::memory::store::NewRecord;
use crate::domain::money::Micros;
use crate::domain::money::totals::{Share, Shares, Sum};
use crate::domain::outside::{Led, Outside, Said};
use crate::domain::picture::Picture;
use crate::domain::port::{Call, Message, Prompt, Thinking, Thought, ToolSpec, Usage};
use crate::domain::signal::{Depth, Role, Sensor};
use crate::domain::tool::Toolbox;
use crate::domain::turn::consensus::{Ballot, Mode, Round};
use crate::domain::turn::{Contact, Conversation, Deed, Ending, TurnReport};
use crate::edge::engine::record::past::PastRecord;
use crate::edge::engine::record::trace::TraceRecord;
use crate::edge::engine::skilled::{Setting, Under};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// The kinds of records.
pub mod kind {
    /// What going back may do about a kind of record. Whatever it is, what is stored stays.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Standing {
        /// The newest of a key says what may happen: undo, redo and rewind change none of it.
        Authority,
        /// What happened: going back adds its own.
        History,
        /// Where things are and what the user looks at.
        Place,
    }

    /// Names each kind once, with its word and its standing.
    macro_rules! kinds {
        ($($(#[$doc:meta])* $name:ident = $word:expr, $standing:ident;)*) => {
            $($(#[$doc])* pub const $name: &str = $word;)*
            /// Every kind there is.
            pub const ALL: &[(&str, Standing)] = &[$(($name, Standing::$standing)),*];
        };
    }

    kinds! {
        /// A flight plan, by its id; the newest record of an id counts.
        PLAN = "plan", Authority;
        /// A conversation that waits, by the plan that it waits for.
        CONVERSATION = "conversation", History;
        /// An act is about to happen.
        INTENT = "intent", History;
        /// What an act came to.
        OUTCOME = "outcome", History;
        /// A mark: every act that stands before it has an outcome. Its key is [`INTENT`].
        SETTLED = "settled", History;
        /// A finished turn, by its id.
        TURN = "turn", History;
        /// A conversation that drew on something private, by its session.
        LABEL = "label", Authority;
        /// What an act, or taking one back, changed: what stood at each path before and after.
        CHANGE = crate::domain::memory::store::CHANGE, History;
        /// That a change does not stand any more, by its name: which undo took it back.
        TAKEN = "taken", History;
        /// Which change left these very bytes in a file of notes, by the name of the bytes.
        MADE = "made", History;
        /// What the user narrowed the agent's sight to; the newest counts.
        FOCUS = "focus", Place;
        /// That a file of the memex came to another name, by that name.
        RENAMED = "renamed", Place;
        /// The folders that memory was read from, under the key [`MEMEX`]: a command that is told of none takes them.
        MEMEX = "memex", Place;
        /// A conversation that read text from outside, by its session: from where.
        OUTSIDE = "outside", Authority;
        /// That a conversation was had here, by its session: of one that was not, nobody knows what it read.
        HAD = "had", History;
        /// A text that is made from text from outside, or that a human vouched for, by its name; the newest counts.
        MARK = "mark", History;
        /// Who decided what; see [`crate::edge::engine::audit`].
        AUDIT = "audit", History;
        /// What loosens and was confirmed, or withdrawn, by its hash; the newest counts. See
        /// [`crate::edge::engine::authority`].
        LOOSENING = "loosening", Authority;
        /// A line that tightens and was seen, by the hash of where it stands; the newest counts, and one without a value was
        /// let go. See [`crate::edge::engine::authority`].
        TIGHTENING = "tightening", Authority;
        /// A rule that was learned and offered, by its name.
        RULE = "rule", Authority;
        /// How often a rule was used, by its name; the newest counts.
        USED = "used", Authority;
        /// A conversation in which the user lets what asks go to models elsewhere, by its name.
        SHARED = "shared", Authority;
        /// How many tokens a provider counts for one of ours, by its name; the newest counts.
        FACTOR = "factor", Place;
        /// The order of providers that the user keeps, under the key of this name; the newest counts.
        CASCADE = "cascade", Authority;
        /// The preset of a conversation, by its session; the newest counts.
        PRESET = "preset", Authority;
        /// A call of a provider, by its conversation; see [`crate::edge::engine::ledger`].
        CALL = "call", History;
        /// How a job stands, by its short name; the newest counts. See [`crate::edge::engine::jobs`].
        JOB = "job", Authority;
        /// What the last run of a job said, by its short name; the newest counts.
        JOB_SAID = "job-said", History;
        /// A setting of the user's Emacs that was changed as a flight plan, by the name of the change; the newest counts.
        /// See [`crate::edge::engine::settings`].
        SETTING = "setting", Authority;
        /// Whether a messenger is linked, by its name; the newest counts. See [`crate::edge::engine::gateways`].
        GATEWAY = "gateway", Authority;
        /// Whether a sender is let in, by messenger and sender; the newest counts.
        GATEWAY_SENDER = "gateway-sender", Authority;
        /// What came last by a messenger, which is never taken again: its number and when it was sent, by the messenger's
        /// name, or its names, by messenger and sender.
        GATEWAY_MARK = "gateway-mark", History;
        /// A question that is asked once, by the hash of its name: in which turn. See [`crate::edge::engine::once`].
        QUESTION = "question", History;
        /// How many messages of a sender were taken and are not answered yet, by messenger and sender; the newest counts.
        GATEWAY_OPEN = "gateway-open", History;
        /// A provider that the user confirmed.
        CONFIRMATION = "confirmation", Authority;
    }
}

/// Returns the record that a file was renamed by an operation.
pub fn renamed(from: &str, to: &str, operation: OperationId, at: jiff::Timestamp) -> NewRecord {
    let body = serde_json::json!({ "from": from, "operation": operation.0 });
    NewRecord { at, kind: kind::RENAMED.to_string(), key: to.to_string(), body }
}

/// A memex as it was read last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownMemex {
    /// Its folders.
    pub directories: Vec<PathBuf>,
    /// The tags that made headings of it private.
    pub private_tags: Vec<PrivacyTag>,
    /// The folders whose files counted as from elsewhere.
    pub untrusted_folders: Vec<PathBuf>,
}

/// Returns what is kept of a memex; `None` when the name of one of its folders is no text.
pub fn memex(known: &KnownMemex) -> Option<Value> {
    let names = known.directories.iter().map(|path| path.to_str()).collect::<Option<Vec<&str>>>()?;
    let untrusted: Vec<String> =
        known.untrusted_folders.iter().filter_map(|path| path.to_str().map(str::to_string)).collect();
    let tags: Vec<String> = known.private_tags.iter().map(ToString::to_string).collect();
    let mut body = serde_json::json!({ "directories": names, "private": tags });
    if !untrusted.is_empty() {
        body["untrusted"] = serde_json::json!(untrusted);
    }
    Some(body)
}

/// Reads what is kept of a memex.
pub fn read_memex(body: &Value) -> KnownMemex {
    let texts = |key: &str| body[key].as_array().cloned().unwrap_or_default().into_iter();
    let texts = |key: &str| texts(key).filter_map(|name| name.as_str().map(str::to_string)).collect::<Vec<_>>();
    let paths =
        |key: &str| texts(key).into_iter().map(PathBuf::from).filter(|path| path.is_absolute()).collect::<Vec<_>>();
    let (directories, untrusted_folders) = (paths("directories"), paths("untrusted"));
    let private_tags = texts("private").iter().map(|tag| PrivacyTag::read(tag).0).collect();
    KnownMemex { directories, private_tags, untrusted_folders }
}

/// Returns under which keys it is kept that a conversation is private, strictest first. Each tier has one of its own, so
/// that what is written later never takes the place of something stricter.
pub fn label_keys(session: &SessionId) -> [(Privacy, String); 2] {
    [(Privacy::Private, session.0.clone()), (Privacy::Ask, format!("{} (ask)", session.0))]
}

/// Returns what is kept of a conversation that is private; what only warns is not kept.
pub fn label(session: &SessionId, privacy: Privacy) -> Option<(&'static str, String, Value)> {
    let found = label_keys(session).into_iter().find(|(tier, _)| *tier == privacy);
    let word = |tier: Privacy| if tier == Privacy::Private { "private" } else { tier.word() };
    found.map(|(tier, key)| (kind::LABEL, key, serde_json::json!({ "privacy": word(tier) })))
}

/// Reads what a file was called before, and by which operation it was renamed.
pub fn read_renamed(body: &Value) -> Option<(String, OperationId)> {
    Some((body.get("from")?.as_str()?.to_string(), OperationId(body.get("operation")?.as_u64()?)))
}

#[derive(Serialize, Deserialize)]
struct LabelsRecord {
    provenance: String,
    trust: String,
    privacy: String,
}

impl LabelsRecord {
    fn of(labels: Labels) -> LabelsRecord {
        LabelsRecord {
            provenance: format!("{:?}", labels.provenance),
            trust: format!("{:?}", labels.trust),
            privacy: format!("{:?}", labels.privacy),
        }
    }

    /// What cannot be read is the strictest: untrusted and private.
    fn read(&self) -> Labels {
        let provenance = match self.provenance.as_str() {
            "User" => Provenance::User,
            "Note" => Provenance::Note,
            "File" => Provenance::File,
            "Tool" => Provenance::Tool,
            "Model" => Provenance::Model,
            "Gateway" => Provenance::Gateway,
            "Agent" => Provenance::Agent,
            _ => Provenance::Web,
        };
        let trust = match self.trust.as_str() {
            "Own" => Trust::Own,
            "Kept" => Trust::Kept,
            _ => Trust::Untrusted,
        };
        Labels { provenance, trust, privacy: read_privacy(&self.privacy) }
    }
}

/// Reads a tier as [`Debug`] writes it; what cannot be read is the strictest.
fn read_privacy(word: &str) -> Privacy {
    match word {
        "Open" => Privacy::Open,
        "Warn" => Privacy::Warn,
        "Ask" => Privacy::Ask,
        _ => Privacy::Private,
    }
}

/// Returns a body without what is not there: a field that is null, an empty list. Every record is kept twice, in the
/// database and in the plain log, so what says nothing is worth leaving out.
pub(super) fn lean(mut body: Value) -> Value {
    if let Value::Object(fields) = &mut body {
        fields.retain(|_, value| !value.is_null() && !value.as_array().is_some_and(Vec::is_empty));
    }
    body
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[derive(Serialize, Deserialize)]
struct LedRecord {
    sources: Vec<String>,
    /// Source and sentence that the arguments repeat.
    said: Option<(String, Option<String>)>,
}

impl LedRecord {
    fn of(led: &Led) -> LedRecord {
        let said = led.said.as_ref().map(|said| (said.source.clone(), said.sentence.clone()));
        LedRecord { sources: led.sources.clone(), said }
    }

    fn read(self) -> Led {
        Led { sources: self.sources, said: self.said.map(|(source, sentence)| Said { source, sentence }) }
    }
}

/// What was proposed before a skill rewrote it.
#[derive(Serialize, Deserialize)]
struct RefinedRecord {
    by: String,
    args: Map<String, Value>,
    explanation: String,
}

impl RefinedRecord {
    fn of(refined: &Refined) -> RefinedRecord {
        let Refined { by, args, explanation } = refined.clone();
        RefinedRecord { by, args, explanation }
    }

    fn read(self) -> Refined {
        Refined { by: self.by, args: self.args, explanation: self.explanation }
    }
}

#[derive(Serialize, Deserialize)]
struct PlanRecord {
    id: String,
    /// Absent in records of the first versions.
    #[serde(default)]
    title: Option<String>,
    tool: String,
    args: Map<String, Value>,
    explanation: String,
    labels: LabelsRecord,
    /// Absent where nothing came from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    led: Option<LedRecord>,
    /// The declaration of a tool of the user's own; absent for a builtin one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    declared: Option<String>,
    /// Absent where no skill rewrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refined: Option<RefinedRecord>,
    facts: String,
    body: String,
    diff: String,
    trace: TraceRecord,
    session: String,
    turn: String,
    call: String,
    created: String,
    expires: String,
    status: String,
    words: String,
    /// What follows is absent in records of the first versions.
    #[serde(default)]
    badge: String,
    #[serde(default)]
    step: u32,
    #[serde(default)]
    basis: String,
    #[serde(default)]
    differs: String,
    #[serde(default)]
    tried: Option<TriedRecord>,
    /// The strictest where it is absent.
    #[serde(default)]
    privacy: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    about: Vec<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    decided_by: String,
}

#[derive(Serialize, Deserialize)]
struct TriedRecord {
    ran: bool,
    text: String,
    said: String,
    files: Vec<(String, Option<String>)>,
}

/// Returns a plan for the store.
pub fn plan(plan: &FlightPlan) -> Value {
    let words = match &plan.status {
        PlanStatus::Pending | PlanStatus::Approved | PlanStatus::Expired => String::new(),
        PlanStatus::Denied(words) | PlanStatus::Done(words) | PlanStatus::Failed(words) | PlanStatus::Stale(words) => {
            words.clone()
        }
        PlanStatus::Replaced(by) => by.0.clone(),
    };
    let record = PlanRecord {
        id: plan.id.0.clone(),
        title: Some(plan.title.clone()),
        tool: plan.action.tool().to_string(),
        args: plan.action.args().clone(),
        explanation: plan.action.explanation().as_str().to_string(),
        labels: LabelsRecord::of(plan.action.labels()),
        led: plan.action.led().map(LedRecord::of),
        declared: plan.action.definition().map(|name| blake3::Hash::from_bytes(name).to_hex().to_string()),
        refined: plan.action.refinement().map(RefinedRecord::of),
        facts: plan.facts.to_hex(),
        body: plan.body.clone(),
        diff: plan.diff.clone(),
        trace: TraceRecord::of(&plan.trace),
        session: plan.session.0.clone(),
        turn: plan.turn.0.clone(),
        call: plan.call.clone(),
        created: plan.created.to_string(),
        expires: plan.expires.to_string(),
        status: plan.status.name().to_string(),
        words,
        badge: plan.about.badge.name().to_string(),
        step: plan.about.step,
        basis: plan.about.basis.clone(),
        differs: plan.about.differs.clone(),
        tried: plan.about.tried.clone().map(|Tried { ran, text, said, files }| TriedRecord { ran, text, said, files }),
        privacy: Some(format!("{:?}", plan.about.privacy)),
        about: plan.about.files.clone(),
        decided_by: plan.about.decided_by.clone(),
    };
    serde_json::to_value(record).unwrap_or(Value::Null)
}

/// Reads a plan from the store; `None` when it is not whole, and then it cannot be approved.
pub fn read_plan(value: &Value, toolbox: &Toolbox) -> Option<FlightPlan> {
    let record: PlanRecord = serde_json::from_value(value.clone()).ok()?;
    let labels = record.labels.read();
    let action = match record.declared {
        None => Action::new(toolbox, &record.tool, record.args, Some(&record.explanation), labels).ok()?,
        // Emacs declares its tools after the start, and perhaps not this one.
        Some(name) => {
            let definition = *blake3::Hash::from_hex(name).ok()?.as_bytes();
            let tool = KeptTool { name: record.tool, definition };
            Action::kept(tool, record.args, &record.explanation, labels).ok()?
        }
    };
    let action = action.led_by(record.led.map(LedRecord::read).unwrap_or_default());
    let action = action.refined_from(record.refined.map(RefinedRecord::read));
    let status = match record.status.as_str() {
        "pending" => PlanStatus::Pending,
        "approved" => PlanStatus::Approved,
        "denied" => PlanStatus::Denied(record.words),
        "done" => PlanStatus::Done(record.words),
        "failed" => PlanStatus::Failed(record.words),
        "stale" => PlanStatus::Stale(record.words),
        "replaced" => PlanStatus::Replaced(PlanId(record.words)),
        _ => PlanStatus::Expired,
    };
    Some(FlightPlan {
        id: PlanId(record.id),
        title: record.title.unwrap_or_else(|| title(&action, &Facts::default())),
        action,
        facts: FactsHash::from_hex(&record.facts)?,
        body: record.body,
        diff: record.diff,
        trace: record.trace.read()?,
        session: SessionId(record.session),
        turn: TurnId(record.turn),
        call: record.call,
        created: record.created.parse().ok()?,
        expires: record.expires.parse().ok()?,
        status,
        about: About {
            badge: Badge::read(&record.badge),
            step: record.step,
            basis: record.basis,
            differs: record.differs,
            tried: record.tried.map(|TriedRecord { ran, text, said, files }| Tried { ran, text, said, files }),
            privacy: record.privacy.as_deref().map_or(Privacy::Private, read_privacy),
            files: record.about,
            decided_by: record.decided_by,
        },
    })
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum MessageRecord {
    Text {
        role: String,
        text: String,
    },
    Calls {
        text: String,
        calls: Vec<CallRecord>,
        /// Absent in records of the first versions.
        #[serde(default, skip_serializing_if = "ThinkingRecord::is_empty")]
        thinking: ThinkingRecord,
    },
    Result {
        call: String,
        tool: String,
        text: String,
    },
    /// Which picture: its bytes stay where they are.
    Picture(PictureNamed),
}

/// Which picture stood in a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PictureNamed {
    /// What people call it.
    pub name: String,
    /// Its file; empty where it came in a message.
    pub file: String,
    /// The BLAKE3 of its bytes, in hex.
    pub hash: String,
}

#[derive(Serialize, Deserialize)]
struct CallRecord {
    id: String,
    tool: String,
    args: Map<String, Value>,
}

/// What a model thought before its calls: it may have to be handed back when the conversation goes on.
#[derive(Default, Serialize, Deserialize)]
struct ThinkingRecord {
    by: String,
    thoughts: Vec<ThoughtRecord>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum ThoughtRecord {
    Words { text: String, signature: Option<String> },
    Sealed { value: Value },
    OfCall { call: String, signature: String },
}

impl ThinkingRecord {
    fn of(thinking: &Thinking) -> ThinkingRecord {
        let thought = |thought: &Thought| match thought {
            Thought::Words { text, signature } => {
                ThoughtRecord::Words { text: text.clone(), signature: signature.clone() }
            }
            Thought::Sealed(value) => ThoughtRecord::Sealed { value: value.clone() },
            Thought::OfCall { call, signature } => {
                ThoughtRecord::OfCall { call: call.clone(), signature: signature.clone() }
            }
        };
        ThinkingRecord { by: thinking.by.clone(), thoughts: thinking.thoughts.iter().map(thought).collect() }
    }

    fn read(self) -> Thinking {
        let thought = |thought: ThoughtRecord| match thought {
            ThoughtRecord::Words { text, signature } => Thought::Words { text, signature },
            ThoughtRecord::Sealed { value } => Thought::Sealed(value),
            ThoughtRecord::OfCall { call, signature } => Thought::OfCall { call, signature },
        };
        Thinking { by: self.by, thoughts: self.thoughts.into_iter().map(thought).collect() }
    }

    fn is_empty(&self) -> bool {
        self.thoughts.is_empty()
    }
}

#[derive(Serialize, Deserialize)]
struct ConversationRecord {
    messages: Vec<MessageRecord>,
    typed: String,
    depth: u8,
    labels: LabelsRecord,
    /// Where text from outside in it came from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    outside: Vec<String>,
    /// Absent in records of the first versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<String>,
    local: bool,
    waiting: Vec<(String, String)>,
    set_off: String,
    project: Option<String>,
    /// Absent in records of the first versions.
    #[serde(default)]
    under: Option<Under>,
    #[serde(default)]
    contact: Option<ContactRecord>,
    #[serde(default, skip_serializing_if = "PastRecord::is_empty")]
    past: PastRecord,
}

/// What was shown for a first contact; its messages are those of the conversation.
#[derive(Serialize, Deserialize)]
struct ContactRecord {
    system: String,
    #[serde(default)]
    stable: usize,
    tools: Vec<ToolRecord>,
    now: String,
    nodes: Vec<String>,
    /// Absent in records of the first versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    marked: Vec<(String, String)>,
}

#[derive(Serialize, Deserialize)]
struct ToolRecord {
    name: String,
    summary: String,
    schema: Value,
}

impl ContactRecord {
    fn of(contact: &Contact) -> ContactRecord {
        let tool = |tool: &ToolSpec| ToolRecord {
            name: tool.name.clone(),
            summary: tool.summary.clone(),
            schema: tool.schema.clone(),
        };
        ContactRecord {
            system: contact.prompt.system.clone(),
            stable: contact.prompt.stable,
            tools: contact.prompt.tools.iter().map(tool).collect(),
            now: contact.prompt.now.to_string(),
            nodes: contact.prompt.nodes.iter().map(ToString::to_string).collect(),
            marked: contact.prompt.marked.iter().map(|(id, title)| (id.to_string(), title.clone())).collect(),
        }
    }

    /// What cannot be read is not there: then it is shown anew.
    fn read(self, conversation: &Conversation) -> Option<Contact> {
        let tool = |tool: ToolRecord| ToolSpec { name: tool.name, summary: tool.summary, schema: tool.schema };
        let prompt = Prompt {
            stable: if self.system.is_char_boundary(self.stable) { self.stable } else { 0 },
            system: self.system,
            parts: Vec::new(),
            messages: conversation.messages.clone(),
            tools: self.tools.into_iter().map(tool).collect(),
            privacy: conversation.labels.privacy,
            outside: conversation.outside.clone(),
            nodes: self.nodes.into_iter().map(NodeId::new).collect(),
            marked: self.marked.into_iter().map(|(id, title)| (NodeId::new(id), title)).collect(),
            typed: conversation.typed.clone(),
            // A first contact is one of a provider elsewhere, which reads no memory.
            may_see: Privacy::Open,
            now: self.now.parse().ok()?,
            asking: 0,
            // It is sent as it was shown.
            room: usize::MAX,
            at_point: None,
        };
        Some(Contact { prompt })
    }
}

/// Returns a conversation for the store, with what it works in and under.
pub fn conversation(conversation: &Conversation, setting: &Setting) -> Value {
    let messages = conversation
        .messages
        .iter()
        .map(|message| match message {
            Message::Text { role, text } => {
                MessageRecord::Text { role: role_name(*role).to_string(), text: text.clone() }
            }
            Message::Calls { text, calls, thinking } => MessageRecord::Calls {
                text: text.clone(),
                thinking: ThinkingRecord::of(thinking),
                calls: calls
                    .iter()
                    .map(|call| CallRecord { id: call.id.clone(), tool: call.tool.clone(), args: call.args.clone() })
                    .collect(),
            },
            Message::Result { call, tool, text } => {
                MessageRecord::Result { call: call.clone(), tool: tool.clone(), text: text.clone() }
            }
            Message::Picture(picture) => {
                let (name, file) = (picture.name().to_string(), picture.file().to_string());
                MessageRecord::Picture(PictureNamed { name, file, hash: picture.hash() })
            }
        })
        .collect();
    let record = ConversationRecord {
        messages,
        typed: conversation.typed.clone(),
        depth: conversation.depth.get(),
        labels: LabelsRecord::of(conversation.labels),
        outside: conversation.outside.sources().to_vec(),
        nodes: conversation.nodes.iter().map(ToString::to_string).collect(),
        local: conversation.local,
        waiting: conversation.waiting.iter().map(|(call, plan)| (call.clone(), plan.0.clone())).collect(),
        set_off: conversation.set_off.name().to_string(),
        project: setting.project.clone(),
        under: setting.under.clone(),
        contact: conversation.contact.as_deref().map(ContactRecord::of),
        past: PastRecord::of(&conversation.past),
    };
    serde_json::to_value(record).unwrap_or(Value::Null)
}

/// Returns which pictures stand in a conversation in the store.
pub fn pictures_of(value: &Value) -> Vec<PictureNamed> {
    let messages = value.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let picture = |message: &Value| match serde_json::from_value(message.clone()) {
        Ok(MessageRecord::Picture(named)) => Some(named),
        Ok(_) | Err(_) => None,
    };
    messages.iter().filter_map(picture).collect()
}

/// Reads a conversation from the store, with what it works in and under. Its pictures are those given; without one of them
/// it is not whole.
pub fn read_conversation(value: &Value, pictures: &[Picture]) -> Option<(Conversation, Setting)> {
    let record: ConversationRecord = serde_json::from_value(value.clone()).ok()?;
    let read = |message: MessageRecord| match message {
        MessageRecord::Text { role, text } => Some(Message::Text { role: read_role(&role), text }),
        MessageRecord::Calls { text, calls, thinking } => Some(Message::Calls {
            text,
            thinking: thinking.read(),
            calls: calls.into_iter().map(|call| Call { id: call.id, tool: call.tool, args: call.args }).collect(),
        }),
        MessageRecord::Result { call, tool, text } => Some(Message::Result { call, tool, text }),
        MessageRecord::Picture(PictureNamed { file, hash, .. }) => {
            let picture = pictures.iter().find(|known| known.file() == file && known.hash() == hash);
            picture.cloned().map(Message::Picture)
        }
    };
    let messages = record.messages.into_iter().map(read).collect::<Option<Vec<_>>>()?;
    let mut conversation = Conversation {
        past: record.past.read(&messages),
        messages,
        typed: record.typed,
        depth: Depth::from_number(u64::from(record.depth))?,
        labels: record.labels.read(),
        outside: Outside::of_sources(record.outside),
        nodes: record.nodes.into_iter().map(NodeId::new).collect(),
        local: record.local,
        waiting: record.waiting.into_iter().map(|(call, plan)| (call, PlanId(plan))).collect(),
        contact: None,
        set_off: Sensor::parse(&record.set_off)?,
    };
    conversation.contact = record.contact.and_then(|contact| contact.read(&conversation)).map(Box::new);
    Some((conversation, Setting { project: record.project, under: record.under }))
}

/// Returns the word for a role.
pub fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

/// Reads a role; anything unknown is the model's, never the user's.
pub fn read_role(text: &str) -> Role {
    match text {
        "user" => Role::User,
        "tool" => Role::Tool,
        _ => Role::Assistant,
    }
}

#[derive(Serialize, Deserialize)]
struct DeedRecord {
    tool: String,
    summary: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace: Option<TraceRecord>,
    outcome: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    /// Older records do not say; then it may be.
    #[serde(default = "yes")]
    bare: bool,
}

fn yes() -> bool {
    true
}

#[derive(Serialize, Deserialize)]
struct TurnRecord {
    turn: String,
    session: String,
    at: String,
    asked: String,
    ending: String,
    /// Of what follows only what there is is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    deeds: Vec<DeedRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    plans: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changed: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sources: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    skill: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    input: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    output: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    cached: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    thinking: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    routes: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rounds: Vec<RoundRecord>,
    #[serde(default)]
    spent: SpentRecord,
    /// Absent in records of the first versions, where nobody was asked, and where all calls were those of who answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    shares: Vec<ShareRecord>,
    seconds: f64,
}

/// What came of asking several models at once.
#[derive(Serialize, Deserialize)]
struct RoundRecord {
    mode: String,
    followed: Option<usize>,
    ballots: Vec<BallotRecord>,
}

#[derive(Serialize, Deserialize)]
struct BallotRecord {
    provider: String,
    model: String,
    kind: String,
    lines: Vec<String>,
    agrees: bool,
}

impl RoundRecord {
    fn of(round: &Round) -> RoundRecord {
        let ballot = |ballot: &Ballot| BallotRecord {
            provider: ballot.provider.clone(),
            model: ballot.model.clone(),
            kind: ballot.kind.to_string(),
            lines: ballot.lines.clone(),
            agrees: ballot.agrees,
        };
        let ballots = round.ballots.iter().map(ballot).collect();
        RoundRecord { mode: round.mode.name().to_string(), followed: round.followed, ballots }
    }

    fn read(self) -> Option<Round> {
        let kind = |word: &str| ["acts", "words", "none"].into_iter().find(|kind| *kind == word);
        let ballot = |ballot: BallotRecord| {
            let BallotRecord { provider, model, kind: word, lines, agrees } = ballot;
            Some(Ballot { provider, model, lines, kind: kind(&word)?, agrees })
        };
        let ballots = self.ballots.into_iter().map(ballot).collect::<Option<Vec<Ballot>>>()?;
        Some(Round { mode: Mode::parse(&self.mode)?, ballots, followed: self.followed })
    }
}

/// What a turn cost: calls, millionths of a dollar, how many by a guess, how many of unknown price.
#[derive(Default, Serialize, Deserialize)]
struct SpentRecord(u64, u64, u64, u64);

impl SpentRecord {
    fn of(sum: &Sum) -> SpentRecord {
        SpentRecord(sum.calls, sum.cost.0, sum.guessed, sum.unknown)
    }

    fn read(self) -> Sum {
        let SpentRecord(calls, cost, guessed, unknown) = self;
        Sum { calls, cost: Micros(cost), guessed, unknown, ..Sum::default() }
    }
}

/// What the calls of one provider came to in it.
#[derive(Serialize, Deserialize)]
struct ShareRecord {
    provider: String,
    model: String,
    spent: SpentRecord,
    failed: u64,
    input: u64,
    output: u64,
    cached: u64,
    thinking: u64,
}

impl ShareRecord {
    fn of(Share { provider, model, sum }: &Share) -> ShareRecord {
        let (provider, model, spent) = (provider.clone(), model.clone(), SpentRecord::of(sum));
        let Usage { input, output, cached, thinking } = sum.usage;
        ShareRecord { provider, model, spent, failed: sum.failed, input, output, cached, thinking }
    }

    fn read(self) -> Share {
        let ShareRecord { provider, model, spent, failed, input, output, cached, thinking } = self;
        let usage = Usage { input, output, cached, thinking };
        Share { provider, model, sum: Sum { failed, usage, ..spent.read() } }
    }
}

/// Returns whose calls were how many; nothing where all are those of who answered, and say what the turn says.
fn shares(report: &TurnReport) -> Vec<ShareRecord> {
    let sum = SpentRecord::of(&report.spent.all()).read();
    let alone = report.answered_by.clone().map(|by| alone(by, sum, report.usage));
    match report.spent.iter().eq(alone.iter()) {
        true => Vec::new(),
        false => report.spent.iter().map(ShareRecord::of).collect(),
    }
}

/// Returns the share of who answered, where nobody else was asked.
fn alone((provider, model): (String, String), sum: Sum, usage: Usage) -> Share {
    Share { provider, model, sum: Sum { usage, ..sum } }
}

/// A finished turn as it is kept for the trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Its name.
    pub turn: TurnId,
    /// The conversation.
    pub session: SessionId,
    /// When it began.
    pub at: jiff::Timestamp,
    /// What set it off, in a line.
    pub asked: String,
    /// How long it took.
    pub seconds: f64,
    /// What came of it; its conversation is kept apart.
    pub report: TurnReport,
}

/// Returns a finished turn for the store. The words of the answer stay out: they are in the chat.
pub fn turn(finished: &Finished) -> Value {
    let report = &finished.report;
    let record = TurnRecord {
        turn: finished.turn.0.clone(),
        session: finished.session.0.clone(),
        at: finished.at.to_string(),
        asked: finished.asked.clone(),
        ending: report.ending.name().to_string(),
        notice: report.notice.clone(),
        deeds: report
            .deeds
            .iter()
            .map(|deed| DeedRecord {
                tool: deed.tool.clone(),
                summary: deed.summary.clone(),
                trace: deed.trace.as_ref().map(TraceRecord::of),
                outcome: clip(&deed.outcome),
                plan: deed.plan.as_ref().map(|id| id.0.clone()),
                bare: deed.bare,
            })
            .collect(),
        plans: report.plans.iter().map(|id| id.0.clone()).collect(),
        changed: report.changed.clone(),
        sources: report.sources.iter().map(|id| id.to_string()).collect(),
        skill: report.skill.clone(),
        provider: report.answered_by.as_ref().map(|(provider, _)| provider.clone()),
        model: report.answered_by.as_ref().map(|(_, model)| model.clone()),
        input: report.usage.input,
        output: report.usage.output,
        cached: report.usage.cached,
        thinking: report.usage.thinking,
        routes: report.routes.clone(),
        rounds: report.rounds.iter().map(RoundRecord::of).collect(),
        spent: SpentRecord::of(&report.spent.all()),
        shares: shares(report),
        seconds: finished.seconds,
    };
    serde_json::to_value(record).unwrap_or(Value::Null)
}

/// Reads a finished turn.
pub fn read_turn(value: &Value) -> Option<Finished> {
    let record: TurnRecord = serde_json::from_value(value.clone()).ok()?;
    let mut spent = Shares::default();
    let (sum, known) = (record.spent.read(), record.provider.clone().zip(record.model.clone()));
    let usage = Usage { input: record.input, output: record.output, cached: record.cached, thinking: record.thinking };
    if record.shares.is_empty() && sum.calls > 0 {
        // They are those of who answered; the first versions noted of several no more either.
        spent.join(alone(known.clone().unwrap_or_default(), sum, usage));
    }
    record.shares.into_iter().for_each(|share| spent.join(share.read()));
    let ending = match record.ending.as_str() {
        "answered" => Ending::Answered,
        "parked" => Ending::Parked,
        "interrupted" => Ending::Interrupted,
        _ => Ending::Failed,
    };
    let deeds = record
        .deeds
        .into_iter()
        .map(|deed| Deed {
            tool: deed.tool,
            summary: deed.summary,
            trace: deed.trace.and_then(TraceRecord::read),
            outcome: deed.outcome,
            plan: deed.plan.map(PlanId),
            bare: deed.bare,
        })
        .collect();
    let report = TurnReport {
        ending,
        notice: record.notice,
        deeds,
        plans: record.plans.into_iter().map(PlanId).collect(),
        changed: record.changed,
        sources: record.sources.into_iter().map(NodeId::new).collect(),
        skill: record.skill,
        answered_by: known,
        routes: record.routes,
        rounds: record.rounds.into_iter().filter_map(RoundRecord::read).collect(),
        spent,
        usage,
        ..TurnReport::of(Conversation::empty())
    };
    Some(Finished {
        turn: TurnId(record.turn),
        session: SessionId(record.session),
        at: record.at.parse().ok()?,
        asked: record.asked,
        seconds: record.seconds,
        report,
    })
}

/// Returns the first 2,000 characters: a trace says what came of an act, not all that it printed.
fn clip(text: &str) -> String {
    match text.char_indices().nth(2_000) {
        None => text.to_string(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn finished(report: TurnReport) -> Finished {
        let (turn, session) = (TurnId("T1".to_string()), SessionId("chat".to_string()));
        Finished { turn, session, at: jiff::Timestamp::UNIX_EPOCH, asked: "why?".to_string(), seconds: 0.5, report }
    }

    fn share(provider: &str, failed: u64, input: u64) -> Share {
        let usage = Usage { input, output: 2, ..Usage::default() };
        Share {
            provider: provider.to_string(),
            model: "m".to_string(),
            sum: Sum { calls: 2, failed, usage, ..Sum::default() },
        }
    }

    #[test]
    fn whose_calls_a_turn_made_is_read_as_it_was_kept_and_said_once_where_all_were_of_who_answered() {
        let usage = Usage { input: 7, output: 2, ..Usage::default() };
        for (shares, kept) in [
            (vec![share("one", 0, 7)], 0),
            (vec![share("one", 1, 7)], 1),
            (vec![share("one", 0, 6)], 1),
            (vec![share("other", 0, 7)], 1),
            (vec![share("one", 0, 7), share("other", 0, 7)], 2),
            (Vec::new(), 0),
        ] {
            let mut report = TurnReport::of(Conversation::empty());
            (report.usage, report.answered_by) = (usage, Some(("one".to_string(), "m".to_string())));
            shares.into_iter().for_each(|share| report.spent.join(share));
            let whole = finished(report);
            let value = turn(&whole);
            assert_eq!(value["shares"].as_array().map_or(0, Vec::len), kept, "{value}");
            assert_eq!(read_turn(&value), Some(whole), "{value}");
        }
    }

    #[test]
    fn a_turn_of_the_first_versions_is_read_and_one_that_did_nothing_takes_little() {
        let old = json!({
            "turn": "T1", "session": "chat", "at": "1970-01-01T00:00:00Z", "asked": "why?", "ending": "answered",
            "notice": null, "deeds": [], "plans": [], "changed": [], "sources": [], "provider": null, "model": null,
            "input": 0, "output": 0, "seconds": 0.5,
        });
        let report = TurnReport { ending: Ending::Answered, ..TurnReport::of(Conversation::empty()) };
        let whole = finished(report);
        assert_eq!(read_turn(&old).as_ref(), Some(&whole));
        let value = turn(&whole);
        assert_eq!(read_turn(&value), Some(whole));
        let fields: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(fields.len(), 7, "{fields:?}");
    }
}
