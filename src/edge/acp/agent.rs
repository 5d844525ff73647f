//! The state of an agent: what comes from the editor and from the core goes in, and what is to be said to either comes out.
//! It knows no socket, no pipe and no clock.

use crate::domain::sexp::plist::{Plist, message};
use crate::domain::sexp::reader::Sexp;
use crate::edge::acp::prompt::words;
use crate::edge::acp::session::{Prompt, Session, Stage};
use crate::edge::acp::show;
use crate::edge::json_lines::{BROKE, NO_METHOD, NO_PARAMS, NO_REQUEST, UNREADABLE, refusal, too_long};
use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, AvailableCommand as Offered, AvailableCommandInput, AvailableCommandsUpdate, CancelNotification,
    CloseSessionRequest, Implementation, InitializeRequest, InitializeResponse, McpServer, NewSessionRequest,
    NewSessionResponse, PromptCapabilities, PromptRequest, PromptResponse, SessionCapabilities,
    SessionCloseCapabilities, SessionUpdate, StopReason, UnstructuredCommandInput,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// A line is no longer than this, in bytes.
pub(super) const LONGEST: usize = 4 << 20;
/// So many conversations are open at once.
const SESSIONS: usize = 64;
/// How an editor calls itself, in characters.
const NAME: usize = 60;

/// The commands that an editor offers; whatever else begins with a slash is answered all the same.
const COMMANDS: [(&str, &str, &str); 6] = [
    ("help", "show what can be typed behind a slash; with words, what the manual says of them", "words"),
    ("focus", "say or narrow what the agent looks at", "heading or folder"),
    ("cascade", "say which providers are asked, and how they stand", ""),
    ("preset", "say which presets there are, or give this conversation one", "name"),
    ("files", "list the files that the agent changed in this conversation", ""),
    ("tasks", "list what goes on in the background for this conversation", "stop"),
];

/// What comes in.
#[derive(Debug)]
pub(super) enum Event {
    /// A line of the editor; `None` stands for one that is too long.
    Line(Option<Vec<u8>>),
    /// A message of the core.
    Heard(Sexp),
    /// There is a connection with the core, of this number.
    Up(u64),
    /// There is none any more, and why.
    Down(String),
    /// None could be made, and why.
    Unreached(String),
}

/// What is to be done.
#[derive(Debug)]
pub(super) enum Effect {
    /// A message for the editor.
    Tell(Value),
    /// A message for the core, over the connection of this number.
    Say(u64, String),
    /// The editor has said what it calls itself.
    Greet(String),
    /// A connection with the core is wanted.
    Want,
    /// Nothing is under way any more.
    Rest,
}

/// What was asked of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The plans of a prompt.
    Plans,
    /// A page of one.
    Page,
}

/// What is wrong with a request: a code, and why.
pub(super) type Wrong = (i64, String);

/// An agent.
#[derive(Default)]
pub(super) struct Agent {
    greeted: bool,
    linked: bool,
    /// The number of the connection that there is, or was last.
    link: u64,
    pub(super) sessions: BTreeMap<String, Session>,
    /// So many conversations were opened up to now.
    opened: u64,
    /// Requests of the core that are not answered, by their number.
    asked: HashMap<i64, (String, Wanted)>,
    /// Requests of the editor that are not answered, by their number.
    pub(super) permissions: HashMap<i64, String>,
    numbers: i64,
    out: Vec<Effect>,
}

fn read<T: DeserializeOwned>(params: &Value) -> Result<T, Wrong> {
    serde_json::from_value(params.clone()).map_err(|why| (NO_PARAMS, format!("these parameters cannot be read: {why}")))
}

fn written(result: impl serde::Serialize) -> Result<Value, Wrong> {
    serde_json::to_value(result).map_err(|why| (BROKE, format!("the answer cannot be written: {why}")))
}

impl Agent {
    /// Takes what came in, and returns what is to be done about it.
    pub(super) fn take(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Line(Some(line)) if line.trim_ascii().is_empty() => {}
            Event::Line(Some(line)) => self.line(&line),
            Event::Line(None) => self.tell(too_long(LONGEST >> 20)),
            Event::Heard(message) => self.heard(&message),
            Event::Up(link) => {
                (self.linked, self.link) = (true, link);
                self.send_waiting();
            }
            // What was not sent yet waits for the next one, which was asked for already.
            Event::Down(why) => self.lost(&why, |stage| !matches!(stage, Stage::Unsent)),
            Event::Unreached(why) => self.lost(&why, |_| true),
        }
        // A connection is used as long as something is under way; for the next prompt it is asked for anew.
        if self.linked && !self.sessions.values().any(Session::busy) {
            self.linked = false;
            self.out.push(Effect::Rest);
        }
        std::mem::take(&mut self.out)
    }

    fn line(&mut self, line: &[u8]) {
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(why) => return self.tell(refusal(&Value::Null, UNREADABLE, &format!("this is no JSON: {why}"))),
        };
        let known = message.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
        let params = message.get("params").unwrap_or(&Value::Null);
        match (message.get("id"), message.get("method").and_then(Value::as_str)) {
            (Some(_), None) if known && (message.get("result").is_some() || message.get("error").is_some()) => {
                self.editor_answered(&message);
            }
            (None, Some(method)) if known => self.notified(method, params),
            (Some(id @ (Value::String(_) | Value::Number(_))), Some(method)) if known => {
                match self.requested(id, method, params) {
                    Ok(Some(result)) => {
                        self.tell(json!({"jsonrpc": "2.0", "id": id, "result": result}));
                        if method == "session/new" {
                            self.offer_commands();
                        }
                    }
                    // A prompt is answered when it is.
                    Ok(None) => {}
                    Err((code, why)) => self.tell(refusal(id, code, &why)),
                }
            }
            _ => self.tell(refusal(&Value::Null, NO_REQUEST, "this is no request of JSON-RPC 2.0")),
        }
    }

    fn requested(&mut self, id: &Value, method: &str, params: &Value) -> Result<Option<Value>, Wrong> {
        match (method, self.greeted) {
            ("initialize", _) => self.initialize(params).map(Some),
            (_, false) => Err((NO_REQUEST, "initialize comes first".to_string())),
            ("session/new", true) => self.open(params).map(Some),
            ("session/prompt", true) => self.prompt(id, params).map(|()| None),
            ("session/close", true) => self.close(params).map(Some),
            ("authenticate", true) => Err((NO_PARAMS, "there is nothing to authenticate with here".to_string())),
            (_, true) => Err((NO_METHOD, "this agent has no such method".to_string())),
        }
    }

    fn initialize(&mut self, params: &Value) -> Result<Value, Wrong> {
        let asked: InitializeRequest = read(params)?;
        let name = asked.client_info.map(|info| info.name).unwrap_or_default();
        self.greeted = true;
        self.out.push(Effect::Greet(name.chars().take(NAME).collect()));
        let session = SessionCapabilities::new().close(SessionCloseCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .prompt_capabilities(PromptCapabilities::new().embedded_context(true).image(true))
            .session_capabilities(session);
        // Whichever version the editor has: this one is spoken here, and one that cannot speak it says so.
        let answer = InitializeResponse::new(ProtocolVersion::V1).agent_capabilities(capabilities).agent_info(
            Implementation::new("passepartout", env!("CARGO_PKG_VERSION")).title("Passepartout".to_string()),
        );
        written(answer)
    }

    fn open(&mut self, params: &Value) -> Result<Value, Wrong> {
        let asked: NewSessionRequest = read(params)?;
        if !asked.cwd.is_absolute() {
            return Err((NO_PARAMS, "the folder of a conversation (cwd) is an absolute path".to_string()));
        }
        if self.sessions.len() >= SESSIONS {
            return Err((NO_REQUEST, format!("{SESSIONS} conversations are open; close one of them first")));
        }
        self.opened += 1;
        let name = format!("{}", self.opened);
        let folder = asked.cwd.to_string_lossy().into_owned();
        let first = servers(&asked.mcp_servers);
        self.sessions.insert(name.clone(), Session::opened(folder, first));
        written(NewSessionResponse::new(name))
    }

    /// Tells what can be typed in the conversation that was opened last.
    fn offer_commands(&mut self) {
        let name = self.opened.to_string();
        let command = |(name, words, hint): (&str, &str, &str)| {
            let input = (!hint.is_empty())
                .then(|| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint.to_string())));
            Offered::new(name, words).input(input)
        };
        let commands = AvailableCommandsUpdate::new(COMMANDS.into_iter().map(command).collect());
        self.tell(show::update(&name, SessionUpdate::AvailableCommandsUpdate(commands)));
    }

    fn prompt(&mut self, id: &Value, params: &Value) -> Result<(), Wrong> {
        let asked: PromptRequest = read(params)?;
        let name = asked.session_id.to_string();
        let words = words(&asked.prompt).map_err(|why| (NO_PARAMS, why))?;
        let session = self.sessions.get_mut(&name).ok_or_else(unknown)?;
        if session.prompt.is_some() {
            return Err((NO_REQUEST, "a prompt of this conversation is being answered; stop it first".to_string()));
        }
        session.prompt = Some(Prompt {
            id: id.clone(),
            words,
            answer: String::new(),
            private: None,
            cancelled: false,
            stage: Stage::Unsent,
        });
        if let Some(first) = session.first.take() {
            self.note(&name, "first", &first);
        }
        match self.linked {
            true => self.send_waiting(),
            false => self.out.push(Effect::Want),
        }
        Ok(())
    }

    /// Asks the core what waits for a connection.
    fn send_waiting(&mut self) {
        let mut questions = Vec::new();
        for (name, session) in &mut self.sessions {
            let Some(words) = session.prompt.as_mut().and_then(|prompt| {
                let unsent = matches!(prompt.stage, Stage::Unsent);
                unsent.then(|| {
                    prompt.stage = Stage::Sent;
                    prompt.words.clone()
                })
            }) else {
                continue;
            };
            questions.push((name.clone(), session.question(&words)));
        }
        for (name, question) in questions {
            self.say("event", &name, question);
        }
    }

    fn notified(&mut self, method: &str, params: &Value) {
        if method == "session/cancel"
            && self.greeted
            && let Ok(cancel) = read::<CancelNotification>(params)
        {
            self.cancel(&cancel.session_id.to_string());
        }
    }

    fn cancel(&mut self, name: &str) {
        let Some(prompt) = self.sessions.get_mut(name).and_then(|session| session.prompt.as_mut()) else { return };
        if std::mem::replace(&mut prompt.cancelled, true) {
            return;
        }
        match &prompt.stage {
            Stage::Running(_) => self.interrupt(name),
            // What waits behind another turn need not wait for it; what has begun meanwhile is stopped when that is heard.
            Stage::Sent => self.event(name, "interrupt", Plist::new().flag("waiting", true)),
            // It is stopped when it begins.
            Stage::Decided(_) => {}
            Stage::Unsent => self.finish(name, Ok(StopReason::Cancelled)),
            Stage::Reading(reading) | Stage::Asked(_, reading) => {
                let plans: Vec<String> = reading.plans.iter().map(|plan| plan.id.clone()).collect();
                let waits = self.waits(&plans);
                self.note(name, "cancelled", &waits);
                self.finish(name, Ok(StopReason::Cancelled));
            }
        }
    }

    fn close(&mut self, params: &Value) -> Result<Value, Wrong> {
        let asked: CloseSessionRequest = read(params)?;
        let name = asked.session_id.to_string();
        if !self.sessions.contains_key(&name) {
            return Err(unknown());
        }
        self.finish(&name, Ok(StopReason::Cancelled));
        self.event(&name, "interrupt", Plist::new().flag("closed", true));
        self.sessions.remove(&name);
        Ok(json!({}))
    }

    /// The connection is gone: what was asked and not answered is lost, as far as its stage says so.
    fn lost(&mut self, why: &str, is_lost: fn(&Stage) -> bool) {
        self.linked = false;
        self.asked.clear();
        let names: Vec<String> = self.sessions.keys().cloned().collect();
        for name in names {
            if let Some(session) = self.sessions.get_mut(&name) {
                session.lose_beside();
            }
            // How private a half answer is was to be said at its end.
            if let Some(prompt) = self.sessions.get_mut(&name).and_then(|session| session.prompt.as_mut())
                && !prompt.answer.is_empty()
            {
                prompt.note_private(Some(&Sexp::flag(true)));
            }
            let cancelled =
                self.prompt_of(&name).filter(|prompt| is_lost(&prompt.stage)).map(|prompt| prompt.cancelled);
            match cancelled {
                Some(true) => self.finish(&name, Ok(StopReason::Cancelled)),
                Some(false) => self.finish(&name, Err((BROKE, why.to_string()))),
                None => {}
            }
        }
    }

    /// Answers a prompt, if there is one.
    pub(super) fn finish(&mut self, name: &str, ended: Result<StopReason, Wrong>) {
        let Some(session) = self.sessions.get_mut(name) else { return };
        let Some(prompt) = session.prompt.take() else { return };
        session.note(&prompt);
        self.permissions.retain(|_, of| of != name);
        let answer = match ended {
            Ok(reason) => json!({"jsonrpc": "2.0", "id": prompt.id, "result": PromptResponse::new(reason)}),
            Err((code, why)) => refusal(&prompt.id, code, &why),
        };
        self.tell(answer);
    }

    /// Takes an answer of the core to a request of ours.
    pub(super) fn answered(&mut self, payload: &Sexp) {
        if payload.name_at("action") == Some("protocol-error") {
            let why = payload.text_at("text").unwrap_or("the core could not read a message");
            return self.lost(why, |stage| !matches!(stage, Stage::Unsent));
        }
        let Some(number) = payload.int_at("request") else { return };
        match self.asked.remove(&number) {
            Some((name, Wanted::Plans)) => self.plans_listed(&name, payload),
            Some((name, Wanted::Page)) => self.page_read(&name, payload),
            None => {}
        }
    }

    /// Asks the core for something.
    pub(super) fn request(&mut self, name: &str, action: &str, payload: Plist, wanted: Wanted) {
        let number = self.next_number();
        self.asked.insert(number, (name.to_string(), wanted));
        self.say("request", name, payload.keyword("action", action).int("request", number));
    }

    /// Tells the core that something happened.
    pub(super) fn event(&mut self, name: &str, sensor: &str, payload: Plist) {
        self.say("event", name, payload.keyword("sensor", sensor));
    }

    /// Stops the turn of a conversation.
    pub(super) fn interrupt(&mut self, name: &str) {
        self.event(name, "interrupt", Plist::new());
    }

    fn say(&mut self, kind: &str, name: &str, payload: Plist) {
        let message = message(kind, payload).plist("meta", Plist::new().text("session-id", name));
        self.out.push(Effect::Say(self.link, message.build().to_string()));
    }

    /// Tells the editor's user something of our own.
    pub(super) fn note(&mut self, name: &str, about: &str, words: &str) {
        self.tell(show::update(name, show::said(&format!("{about}-note"), &format!("{words}\n"))));
    }

    pub(super) fn tell(&mut self, message: Value) {
        self.out.push(Effect::Tell(message));
    }

    pub(super) fn next_number(&mut self) -> i64 {
        self.numbers += 1;
        self.numbers
    }

    fn prompt_of(&self, name: &str) -> Option<&Prompt> {
        self.sessions.get(name)?.prompt.as_ref()
    }
}

fn unknown() -> Wrong {
    (NO_PARAMS, "there is no such conversation here; session/new opens one".to_string())
}

/// Says that programs of the editor are not started, and how their tools can be had.
fn servers(servers: &[McpServer]) -> Option<String> {
    match servers.len() {
        0 => None,
        count => Some(format!(
            "The editor names {count} MCP server{}, and none of them is started on its word. Declare in Passepartout what may \
             run and what it may reach: see “Tools of MCP servers” in its manual.\n",
            if count == 1 { "" } else { "s" }
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;
    use std::collections::{BTreeSet, VecDeque};

    /// What happens next; numbers choose among what is there.
    #[derive(Clone, Debug)]
    enum Act {
        Greet,
        Open,
        Prompt(usize),
        Cancel(usize),
        Close(usize),
        /// Answers a question, which may be over, with these words.
        Choose(i64, &'static str),
        Line(&'static str),
        Up,
        Down,
        Start(usize, usize, Begins),
        Chunk(usize, usize),
        /// With so many plans.
        Done(usize, usize, &'static str, usize),
        /// The core answers what it was asked first.
        Answer(Answers),
    }

    /// What a turn that begins is.
    #[derive(Clone, Copy, Debug)]
    enum Begins {
        Asked,
        Follows,
        /// It decides about so many plans.
        Decides(usize),
    }

    /// How the core answers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Answers {
        Refuses,
        /// The client may see plans, and not decide.
        Shows,
        /// It may decide.
        Lets,
        /// What is shown is another plan by now.
        Changed,
    }

    /// The plans of a conversation.
    fn plans_of(session: usize, count: usize) -> Vec<String> {
        (0..count).map(|n| format!("P{session}{n}")).collect()
    }

    /// Names what is shown of a plan: each has a name of its own.
    fn shown_of(plan: &str) -> String {
        blake3::hash(plan.as_bytes()).to_hex().to_string()
    }

    fn list(key: &str, texts: &[String]) -> String {
        let texts: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
        format!(":{key} ({})", texts.join(" "))
    }

    fn acts() -> impl Strategy<Value = Vec<Act>> {
        let (session, turn) = (1..4_usize, 0..4_usize);
        let choice = select(&["allow-once", "allow-always", "reject-once", "", "cancelled"][..]);
        let status = select(&["answered", "parked", "interrupted", "failed", "odd"][..]);
        let line = select(
            &["", "{", "[]", "7", r#"{"jsonrpc":"2.0","id":1,"error":{}}"#, r#"{"jsonrpc":"2.0","method":"x"}"#][..],
        );
        let begins = select(&[Begins::Asked, Begins::Follows, Begins::Decides(1), Begins::Decides(2)][..]);
        let answers = [Answers::Refuses, Answers::Shows, Answers::Lets, Answers::Lets, Answers::Lets, Answers::Changed];
        let act = prop_oneof![
            1 => Just(Act::Greet),
            2 => Just(Act::Open),
            6 => session.clone().prop_map(Act::Prompt),
            2 => session.clone().prop_map(Act::Cancel),
            1 => session.clone().prop_map(Act::Close),
            6 => (1..12_i64, choice).prop_map(|(number, choice)| Act::Choose(number, choice)),
            1 => line.prop_map(Act::Line),
            4 => Just(Act::Up),
            1 => Just(Act::Down),
            6 => (session.clone(), turn.clone(), begins).prop_map(|(s, t, begins)| Act::Start(s, t, begins)),
            2 => (session.clone(), turn.clone()).prop_map(|(s, t)| Act::Chunk(s, t)),
            6 => (session, turn, status, 0..3_usize).prop_map(|(s, t, status, plans)| Act::Done(s, t, status, plans)),
            8 => select(answers.to_vec()).prop_map(Act::Answer),
        ];
        prop::collection::vec(act, 0..60)
    }

    fn core(session: usize, kind: &str, payload: &str) -> Event {
        let text = format!("(:type :{kind} :meta (:session-id \"{session}\") :payload ({payload}))");
        Event::Heard(Sexp::read(&text).expect("a message"))
    }

    fn request(id: i64, method: &str, params: Value) -> Event {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        Event::Line(Some(message.to_string().into_bytes()))
    }

    /// Returns what a core answers.
    fn answer(asked: &Sexp, how: Answers) -> Event {
        let payload = asked.get("payload").expect("a payload");
        let number = payload.int_at("request").expect("a number");
        let said = match (payload.name_at("action"), how) {
            (_, Answers::Refuses) => ":error \"this channel may not see what may be private\"".to_string(),
            (Some("plans"), _) => {
                let row = |(step, id): (usize, &str)| {
                    let shown = shown_of(id);
                    format!(
                        "(:id {id:?} :status \"pending\" :shown {shown:?} :tool \"org-set-todo\" :title \"T\" :step {step} :size 9)"
                    )
                };
                let rows: Vec<String> =
                    payload.list_at("ids").iter().filter_map(Sexp::as_text).enumerate().map(row).collect();
                let decides = if how == Answers::Shows { "" } else { ":decides t" };
                format!("{decides} :plans ({})", rows.join(" "))
            }
            (_, how) => {
                let plan = payload.text_at("plan").expect("a plan");
                let shown = shown_of(if how == Answers::Changed { "another" } else { plan });
                format!(":part :body :text \"all of {plan}\" :shown {shown:?}")
            }
        };
        core(1, "response", &format!("{said} :request {number}"))
    }

    /// An agent with one conversation, and what it wants done.
    struct Talk {
        agent: Agent,
        told: Vec<Value>,
        said: Vec<Sexp>,
    }

    impl Talk {
        /// Opens a conversation; with a connection, when there is to be one.
        fn begin(link: Option<u64>) -> Talk {
            let mut talk = Talk { agent: Agent::default(), told: Vec::new(), said: Vec::new() };
            talk.take(request(1, "initialize", json!({"protocolVersion": 1})));
            talk.take(request(2, "session/new", json!({"cwd": "/tmp", "mcpServers": []})));
            talk.prompt(3);
            if let Some(link) = link {
                talk.take(Event::Up(link));
            }
            talk
        }

        fn take(&mut self, event: Event) {
            for effect in self.agent.take(event) {
                match effect {
                    Effect::Tell(message) => self.told.push(message),
                    Effect::Say(_, text) => self.said.push(Sexp::read(&text).expect("it can be read")),
                    Effect::Greet(_) | Effect::Want | Effect::Rest => {}
                }
            }
        }

        fn prompt(&mut self, id: i64) {
            let blocks = json!([{"type": "text", "text": "do it"}]);
            self.take(request(id, "session/prompt", json!({"sessionId": "1", "prompt": blocks})));
        }

        fn cancel(&mut self) {
            let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "1"}});
            self.take(Event::Line(Some(cancel.to_string().into_bytes())));
        }

        fn hear(&mut self, kind: &str, payload: &str) {
            self.take(core(1, kind, payload));
        }

        fn starts(&mut self, turn: &str, more: &str) {
            self.hear("event", &format!(":action :turn-started :turn \"{turn}\" {more}"));
        }

        fn says(&mut self, turn: &str, text: &str) {
            self.hear("stream-chunk", &format!(":turn \"{turn}\" :text \"{text}\""));
        }

        fn ends(&mut self, turn: &str, more: &str) {
            self.hear("response", &format!(":action :turn-done :turn \"{turn}\" {more}"));
        }

        /// The core answers what it was asked last.
        fn answers(&mut self, how: Answers) {
            let asked = self.said.iter().rfind(|said| said.name_at("type") == Some("request")).expect("it was asked");
            let event = answer(asked, how);
            self.take(event);
        }

        /// Comes to a question about plans, and returns its number.
        fn asked(&mut self, plans: &[String]) -> i64 {
            self.starts("T1", "");
            self.ends("T1", &format!(":status \"parked\" {}", list("plans", plans)));
            (0..=plans.len()).for_each(|_| self.answers(Answers::Lets));
            let question = self.told.last().expect("it is asked");
            assert_eq!(question["method"], json!("session/request_permission"));
            question["id"].as_i64().expect("a number")
        }

        /// Returns the answer to a request of the editor.
        fn answer(&self, id: i64) -> Option<&Value> {
            self.told.iter().find(|told| told["id"] == json!(id) && told.get("method").is_none())
        }

        fn reason(&self, id: i64) -> Option<&str> {
            self.answer(id)?["result"]["stopReason"].as_str()
        }

        fn last(&self) -> &Sexp {
            self.said.last().and_then(|said| said.get("payload")).expect("something was said")
        }
    }

    #[test]
    fn a_prompt_is_stopped_before_its_turn_began() {
        // Without a connection nobody is told.
        let mut talk = Talk::begin(None);
        talk.cancel();
        assert_eq!((talk.reason(3), talk.said.len()), (Some("cancelled"), 0));
        // Behind another turn it does not wait for that one.
        let mut talk = Talk::begin(Some(1));
        talk.starts("T0", ":follows \"T9\"");
        talk.cancel();
        talk.cancel();
        assert!(talk.last().name_at("sensor") == Some("interrupt") && talk.last().flag_at("waiting"));
        assert_eq!((talk.said.len(), talk.reason(3)), (2, None));
        talk.starts("T1", "");
        talk.ends("T1", ":status \"interrupted\"");
        assert_eq!(talk.reason(3), Some("cancelled"));
        // It had begun meanwhile.
        let mut talk = Talk::begin(Some(1));
        talk.cancel();
        talk.starts("T1", "");
        assert!(talk.last().name_at("sensor") == Some("interrupt") && !talk.last().flag_at("waiting"));
        talk.ends("T1", ":status \"answered\"");
        assert_eq!(talk.reason(3), Some("cancelled"));
    }

    #[test]
    fn no_other_turn_is_taken_for_the_one_that_was_approved() {
        let plans = plans_of(1, 2);
        for id in [json!(0), json!("0")] {
            let mut talk = Talk::begin(Some(1));
            let number = talk.asked(&plans);
            let id = if id.is_string() { json!(number.to_string()) } else { json!(number) };
            let yes = json!({"outcome": {"outcome": "selected", "optionId": "allow-once"}});
            let yes = json!({"jsonrpc": "2.0", "id": id, "result": yes});
            talk.take(Event::Line(Some(yes.to_string().into_bytes())));
            assert_eq!(talk.last().name_at("sensor"), Some("approval"));
            // Other turns of the conversation, which begin and end in that moment.
            for (turn, more) in [
                ("T2", ":follows \"T1\"".to_string()),
                ("T3", String::new()),
                ("T4", format!(":follows \"T1\" {}", list("decides", &plans[..1]))),
            ] {
                talk.starts(turn, &more);
                talk.says(turn, "beside");
                talk.ends(turn, ":status \"failed\" :text \"no\"");
                assert_eq!(talk.answer(3), None, "{turn}");
            }
            talk.starts("T5", &format!(":follows \"T1\" {}", list("decides", &plans)));
            talk.ends("T5", ":status \"answered\"");
            assert_eq!(talk.reason(3), Some("end_turn"));
        }
    }

    #[test]
    fn what_was_said_beside_a_prompt_goes_along_with_the_next() {
        let mut talk = Talk::begin(Some(1));
        talk.starts("T0", ":follows \"T9\"");
        talk.says("T0", "The report.");
        talk.ends("T0", ":status \"answered\" :private t");
        talk.starts("T1", "");
        talk.says("T1", "The answer.");
        talk.ends("T1", ":status \"answered\" :tasks 1");
        talk.starts("T2", ":follows \"T1\"");
        talk.says("T2", "Half a rep");
        talk.take(Event::Down("it ended".to_string()));
        talk.prompt(4);
        talk.take(Event::Up(2));
        let said = |said: &Sexp| (said.text_at("text").unwrap_or_default().to_string(), said.flag_at("private"));
        let said: Vec<(String, bool)> = talk.last().list_at("history").iter().map(said).collect();
        let said: Vec<(&str, bool)> = said.iter().map(|(text, private)| (text.as_str(), *private)).collect();
        assert_eq!(said, [("The report.", true), ("do it", false), ("The answer.", false), ("Half a rep", true)]);
    }

    #[test]
    fn a_connection_that_ends_late_loses_nothing_that_was_not_sent() {
        let mut talk = Talk::begin(None);
        talk.take(Event::Down("the one before ended".to_string()));
        assert_eq!(talk.answer(3), None);
        talk.take(Event::Up(2));
        assert_eq!(talk.last().name_at("sensor"), Some("user-input"));
        let mut talk = Talk::begin(None);
        talk.take(Event::Unreached("nobody is there".to_string()));
        assert_eq!(talk.answer(3).map(|answer| &answer["error"]["message"]), Some(&json!("nobody is there")));
    }

    #[test]
    fn acts_are_told_while_they_are_done_and_each_is_one_call() {
        let mut talk = Talk::begin(Some(1));
        talk.starts("T1", "");
        let act = |number: usize, state: &str, more: &str| {
            format!(":action :act :turn \"T1\" :number {number} :state :{state} :tool \"shell\" {more}")
        };
        let told = |talk: &Talk| -> Vec<(String, String, String)> {
            let of = |told: &Value| {
                let update = &told["params"]["update"];
                let text = |key: &str| update[key].as_str().unwrap_or_default().to_string();
                update["toolCallId"].is_string().then(|| (text("sessionUpdate"), text("toolCallId"), text("status")))
            };
            talk.told.iter().filter_map(of).collect()
        };
        let row = |kind: &str, id: &str, status: &str| (kind.to_string(), id.to_string(), status.to_string());
        talk.hear("event", &act(0, "begun", ":summary \"shell ls\""));
        assert_eq!(told(&talk), [row("tool_call", "T1.0", "in_progress")]);
        talk.hear("event", &act(0, "done", ":summary \"shell ls\""));
        talk.hear("event", &act(1, "blocked", ""));
        talk.hear("event", &act(2, "begun", ""));
        talk.hear("event", &act(2, "failed", ""));
        talk.hear("event", &act(3, "asked", ":plan \"P1\""));
        talk.hear("event", &act(100, "begun", ""));
        let live = [
            row("tool_call", "T1.0", "in_progress"),
            row("tool_call_update", "T1.0", "completed"),
            row("tool_call", "T1.1", "failed"),
            row("tool_call", "T1.2", "in_progress"),
            row("tool_call_update", "T1.2", "failed"),
            // What waits is what a call is that says nothing else.
            row("tool_call", "T1.3", ""),
        ];
        assert_eq!(told(&talk), live, "and beyond the hundredth nothing");
        let trace =
            |outcome: &str, more: &str| format!("(:tool \"shell\" :summary \"s\" :outcome \"{outcome}\" {more})");
        let trace = [
            trace("well", ""),
            trace("refused", ""),
            trace("failed: no", ""),
            trace("waits for approval", ":plan \"P1\""),
            trace("sent, and counted", ""),
        ];
        talk.ends("T1", &format!(":status \"answered\" :trace ({})", trace.join(" ")));
        let ends = [
            row("tool_call_update", "T1.0", "completed"),
            row("tool_call_update", "T1.1", "failed"),
            row("tool_call_update", "T1.2", "failed"),
            row("tool_call_update", "T1.3", "pending"),
            row("tool_call", "T1.4", "completed"),
        ];
        assert_eq!(told(&talk)[live.len()..], ends, "what was not told yet is told now, and nothing as new twice");
        // The plan that was approved is the same call, in whatever turn.
        talk.starts("T2", ":follows \"T1\" :decides (\"P1\")");
        talk.hear("event", ":action :act :turn \"T2\" :number 0 :state :begun :tool \"shell\" :plan \"P1\"");
        assert_eq!(told(&talk).last(), Some(&row("tool_call_update", "T1.3", "in_progress")));
        let titles: Vec<&str> =
            talk.told.iter().filter_map(|told| told["params"]["update"]["title"].as_str()).take(2).collect();
        assert_eq!(titles, ["shell ls", "shell"], "of what it may not see an editor is told the tool alone");
    }

    #[test]
    fn who_may_not_decide_is_not_asked() {
        for how in [Answers::Shows, Answers::Refuses] {
            let mut talk = Talk::begin(Some(1));
            talk.starts("T1", "");
            talk.ends("T1", &format!(":status \"parked\" {}", list("plans", &plans_of(1, 1))));
            talk.answers(how);
            assert_eq!(talk.reason(3), Some("end_turn"), "{how:?}");
            let told = json!(talk.told).to_string();
            assert!(told.contains("passepartout-flight-plans") && !told.contains("request_permission"), "{how:?}");
        }
    }

    #[test]
    fn an_editor_is_told_why_a_turn_ended() {
        for (more, reason) in [
            ("", "end_turn"),
            (":out-of-steps t", "max_turn_requests"),
            (":cut-off \"limit\"", "max_tokens"),
            (":cut-off \"filtered\"", "refusal"),
            (":cut-off \"odd\"", "end_turn"),
        ] {
            let mut talk = Talk::begin(Some(1));
            talk.starts("T1", "");
            talk.ends("T1", &format!(":status \"answered\" {more}"));
            assert_eq!(talk.reason(3), Some(reason), "{more}");
        }
    }

    proptest! {
        /// Whatever comes in whatever order: each request is answered at most once, nothing is approved but by the one answer
        /// to a question that stands, and a core that is not asked is told nothing.
        #[test]
        fn in_any_order_nothing_is_answered_twice_and_nothing_else_approves(acts in acts()) {
            let mut agent = Agent::default();
            let (mut ids, mut open, mut answered) = (100, BTreeSet::new(), BTreeSet::new());
            let mut questions = BTreeMap::new();
            let mut asked: VecDeque<Sexp> = VecDeque::new();
            for act in acts {
                ids += 1;
                let mut approves = None;
                let event = match act {
                    Act::Greet => request(ids, "initialize", json!({"protocolVersion": 1})),
                    Act::Open => request(ids, "session/new", json!({"cwd": "/tmp", "mcpServers": []})),
                    Act::Prompt(s) => request(
                        ids, "session/prompt",
                        json!({"sessionId": s.to_string(), "prompt": [{"type": "text", "text": "do it"}]}),
                    ),
                    Act::Close(s) => request(ids, "session/close", json!({"sessionId": s.to_string()})),
                    Act::Cancel(s) => Event::Line(Some(
                        json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": s.to_string()}})
                            .to_string().into_bytes(),
                    )),
                    Act::Choose(number, choice) => {
                        approves = questions.remove(&number).filter(|_| choice == "allow-once");
                        let outcome = match choice {
                            "cancelled" => json!({"outcome": "cancelled"}),
                            choice => json!({"outcome": "selected", "optionId": choice}),
                        };
                        let message = json!({"jsonrpc": "2.0", "id": number, "result": {"outcome": outcome}});
                        Event::Line(Some(message.to_string().into_bytes()))
                    }
                    Act::Line(line) => Event::Line(Some(line.as_bytes().to_vec())),
                    Act::Up => Event::Up(ids as u64),
                    Act::Down => {
                        asked.clear();
                        Event::Down("it ended".to_string())
                    }
                    Act::Start(s, t, begins) => {
                        let more = match begins {
                            Begins::Asked => String::new(),
                            Begins::Follows => ":follows \"t9\"".to_string(),
                            Begins::Decides(count) => format!(":follows \"t9\" {}", list("decides", &plans_of(s, count))),
                        };
                        core(s, "event", &format!(":action :turn-started :turn \"t{t}\" {more}"))
                    }
                    Act::Chunk(s, t) => core(s, "stream-chunk", &format!(":turn \"t{t}\" :text \"word\"")),
                    Act::Done(s, t, status, plans) => {
                        let plans = list("plans", &plans_of(s, plans));
                        core(s, "response", &format!(":action :turn-done :turn \"t{t}\" :status \"{status}\" {plans}"))
                    }
                    Act::Answer(how) => match asked.pop_front() {
                        Some(message) => answer(&message, how),
                        None => continue,
                    },
                };
                if let Event::Line(Some(line)) = &event
                    && let Ok(message) = serde_json::from_slice::<Value>(line)
                    && let (Some(id), Some(_)) = (message["id"].as_i64(), message["method"].as_str())
                {
                    open.insert(id);
                }
                for effect in agent.take(event) {
                    match effect {
                        Effect::Tell(message) => match (message["id"].as_i64(), message["method"].as_str()) {
                            (Some(number), Some("session/request_permission")) => {
                                prop_assert!(questions.insert(number, message.to_string()).is_none(), "asked twice: {message}");
                            }
                            (Some(id), None) => {
                                prop_assert!(open.contains(&id) && answered.insert(id), "answered twice: {message}");
                            }
                            _ => {}
                        },
                        Effect::Say(_, text) => {
                            let message = Sexp::read(&text).expect("it can be read");
                            let payload = message.get("payload").expect("a payload");
                            if payload.name_at("sensor") == Some("approval") {
                                let question = approves.take();
                                prop_assert!(question.is_some(), "nobody said so: {text}");
                                let question = question.unwrap_or_default();
                                let steps = payload.list_at("steps");
                                prop_assert_eq!(steps.len(), question.matches("all of P").count(), "{}", text);
                                for step in steps {
                                    let plan = step.text_at("plan").unwrap_or_default();
                                    let shown = shown_of(plan);
                                    prop_assert!(question.contains(&format!("all of {plan}")), "it was not shown: {text}");
                                    prop_assert_eq!(step.text_at("shown"), Some(shown.as_str()));
                                }
                            }
                            if message.name_at("type") == Some("request") {
                                asked.push_back(message);
                            }
                        }
                        Effect::Greet(_) | Effect::Want | Effect::Rest => {}
                    }
                }
            }
            // A connection that ends leaves no prompt without an answer.
            let mut last = agent.take(Event::Down("it ended".to_string()));
            last.extend(agent.take(Event::Unreached("nor is there another".to_string())));
            for effect in last {
                if let Effect::Tell(message) = effect && message.get("method").is_none() {
                    answered.insert(message["id"].as_i64().expect("an id"));
                }
            }
            prop_assert_eq!(open, answered);
        }
    }
}
