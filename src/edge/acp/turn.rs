//! What the core says, taken to the conversations that it is about.

use crate::domain::count::counted;
use crate::domain::sexp::reader::Sexp;
use crate::edge::acp::agent::Agent;
use crate::edge::acp::links::turned;
use crate::edge::acp::session::Stage;
use crate::edge::acp::show;
use crate::edge::json_lines::BROKE;
use agent_client_protocol_schema::v1::StopReason;

/// So many acts of a turn are told.
const ACTS: usize = 100;

/// Returns why a turn that was answered ended.
fn reason(payload: &Sexp) -> StopReason {
    match payload.name_at("cut-off") {
        Some("limit") => StopReason::MaxTokens,
        Some("filtered") => StopReason::Refusal,
        _ if payload.flag_at("out-of-steps") => StopReason::MaxTurnRequests,
        _ => StopReason::EndTurn,
    }
}

/// Returns what an editor knows an act of a turn by.
fn call_named(turn: &str, number: usize) -> String {
    format!("{turn}.{number}")
}

impl Agent {
    /// Takes a message of the core.
    pub(super) fn heard(&mut self, message: &Sexp) {
        let empty = Sexp::Nil;
        let payload = message.get("payload").unwrap_or(&empty);
        let session = message.get("meta").and_then(|meta| meta.text_at("session-id")).unwrap_or_default().to_string();
        match (message.name_at("type").unwrap_or_default(), payload.name_at("action")) {
            ("event", Some("turn-started")) => self.turn_started(&session, payload),
            ("event", Some("act")) => self.act(&session, payload),
            ("stream-chunk", _) => self.chunk(&session, payload),
            ("response", Some("turn-done")) => self.turn_done(&session, payload),
            ("response", _) => self.answered(payload),
            _ => {}
        }
    }

    fn turn_started(&mut self, name: &str, payload: &Sexp) {
        let Some(session) = self.sessions.get_mut(name) else { return };
        let turn = payload.text_at("turn").unwrap_or_default().to_string();
        let follows = payload.text_at("follows").is_some();
        let decides: Vec<&str> = payload.list_at("decides").iter().filter_map(Sexp::as_text).collect();
        let Some(prompt) = session.prompt.as_mut().filter(|prompt| prompt.waits_for(&decides, follows)) else {
            return session.begin_beside(turn);
        };
        prompt.stage = Stage::Running(turn);
        if prompt.cancelled {
            self.interrupt(name);
        }
    }

    fn chunk(&mut self, name: &str, payload: &Sexp) {
        let Some(session) = self.sessions.get_mut(name) else { return };
        let turn = payload.text_at("turn").unwrap_or_default();
        let prompt = session.prompt.as_mut().filter(|prompt| prompt.runs(turn));
        let update = match (payload.text_at("thought"), payload.text_at("text")) {
            (Some(""), _) | (None, None | Some("")) => return,
            (Some(thought), _) => show::thought(turn, thought),
            (None, Some(text)) => {
                match prompt {
                    Some(prompt) => prompt.say(text),
                    None => session.say_beside(turn, text),
                }
                match session.shown(turn, text) {
                    shown if shown.is_empty() => return,
                    shown => show::said(turn, &shown),
                }
            }
        };
        self.tell(show::update(name, update));
    }

    /// Tells how an act stands while its turn goes on; what came of it is told with the end of the turn.
    fn act(&mut self, name: &str, payload: &Sexp) {
        let Some(session) = self.sessions.get_mut(name) else { return };
        let turn = payload.text_at("turn").unwrap_or_default();
        let Some(number) = payload.count_at("number").filter(|number| *number < ACTS) else { return };
        let plan = show::plan_of(payload);
        let known = plan.and_then(|plan| session.call_of(plan)).map(str::to_string);
        let call = known.clone().unwrap_or_else(|| call_named(turn, number));
        let update = match known.is_some() || session.was_told(turn, number) {
            true => show::stands(&call, payload),
            false => show::stands_first(&call, payload),
        };
        if known.is_none() {
            if !session.note_told(turn, number) {
                return;
            }
            if let Some(plan) = plan {
                session.note_call(plan, &call);
            }
        }
        self.tell(show::update(name, update));
    }

    fn turn_done(&mut self, name: &str, payload: &Sexp) {
        let turn = payload.text_at("turn").unwrap_or_default().to_string();
        let Some(session) = self.sessions.get_mut(name) else { return };
        let own = session.prompt.as_ref().is_some_and(|prompt| prompt.runs(&turn));
        session.end_beside(&turn, payload.get("private"));
        session.tasks = payload.count_at("tasks").unwrap_or(0);
        let last = session.shown_last(&turn);
        if !last.is_empty() {
            self.tell(show::update(name, show::said(&turn, &last)));
        }
        self.tell_acts(name, &turn, payload);
        for other in payload.list_at("others") {
            let text = |key: &str| other.text_at(key).unwrap_or_default();
            let words =
                format!("Another answer, of {} ({}):\n\n{}", text("model"), text("provider"), turned(text("text")));
            self.tell(show::update(name, show::said(&format!("{turn}-{}", text("provider")), &words)));
        }
        if let Some(usage) = show::usage(payload) {
            self.tell(show::update(name, usage));
        }
        let notice = payload.text_at("text").unwrap_or_default();
        let plans: Vec<String> =
            payload.list_at("plans").iter().filter_map(Sexp::as_text).map(str::to_string).collect();
        if own {
            return self.prompt_done(name, &turn, payload, plans);
        }
        // Nobody waits for it; what is to be said of it is said all the same.
        self.say_also(name, &turn, &[notice, &self.waits(&plans)]);
    }

    /// Ends a prompt with its turn, or goes on with the plans that it came to.
    fn prompt_done(&mut self, name: &str, turn: &str, payload: &Sexp, plans: Vec<String>) {
        let Some(prompt) = self.sessions.get_mut(name).and_then(|session| session.prompt.as_mut()) else { return };
        prompt.note_private(payload.get("private"));
        let cancelled = prompt.cancelled;
        let notice = payload.text_at("text").unwrap_or_default();
        match payload.text_at("status") {
            Some("answered" | "parked") if !cancelled => {
                self.say_also(name, turn, &[notice]);
                match plans.is_empty() {
                    true => self.finish(name, Ok(reason(payload))),
                    false => self.read_plans(name, plans),
                }
            }
            Some("answered" | "parked" | "interrupted") => {
                self.say_also(name, turn, &[&self.waits(&plans)]);
                self.finish(name, Ok(StopReason::Cancelled));
            }
            _ if cancelled => self.finish(name, Ok(StopReason::Cancelled)),
            _ => {
                let why = if notice.is_empty() { "the turn failed; the log says why" } else { notice };
                self.finish(name, Err((BROKE, why.to_string())));
            }
        }
    }

    /// Tells what is to be said beside an answer, as far as there is anything.
    fn say_also(&mut self, name: &str, turn: &str, words: &[&str]) {
        for words in words.iter().filter(|words| !words.is_empty()) {
            self.note(name, turn, words);
        }
    }

    /// Tells the acts of a turn, as the gates judged them; of one that waited, what became of it.
    fn tell_acts(&mut self, name: &str, turn: &str, payload: &Sexp) {
        for (number, act) in payload.list_at("trace").iter().take(ACTS).enumerate() {
            let Some(session) = self.sessions.get_mut(name) else { return };
            let plan = show::plan_of(act);
            let told = session.was_told(turn, number).then(|| call_named(turn, number));
            let update = match plan.and_then(|plan| session.call_of(plan)).or(told.as_deref()) {
                Some(call) => show::came_of(call, act),
                None => {
                    let call = call_named(turn, number);
                    if let Some(plan) = plan {
                        session.note_call(plan, &call);
                    }
                    show::call(&call, act)
                }
            };
            self.tell(show::update(name, update));
        }
        if let Some(session) = self.sessions.get_mut(name) {
            session.forget_told(turn);
        }
        match payload.list_at("trace").len().saturating_sub(ACTS) {
            0 => {}
            more => {
                self.note(name, turn, &format!("{} of this turn: see its trace in Emacs.", counted(more, "more act")))
            }
        }
    }
}
