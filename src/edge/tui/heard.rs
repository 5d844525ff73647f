//! What the core says, taken into the state.

use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::edge::tui::parts::{Act, Over, Plan, Said, Status, Turn, What};
use crate::edge::tui::reader::{Of, Reader};
use crate::edge::tui::show;
use crate::edge::tui::state::{Effect, State};
use crate::edge::tui::transcript::Kind;

/// So much of what was said is sent along with a question, in bytes.
const ALONG: usize = 200 * 1024;
/// So many parts of it.
const PARTS: usize = 200;
/// So many files that changed are named.
const FILES: usize = 12;
/// So many turns go on at once, as far as this client follows them.
const TURNS: usize = 64;
/// So many actions of a turn are shown.
const ACTIONS: usize = 40;

impl State {
    /// Takes a message of the core.
    pub(super) fn heard(&mut self, message: &Sexp) {
        let empty = Sexp::Nil;
        let payload = message.get("payload").unwrap_or(&empty);
        let action = payload.name_at("action");
        match (message.name_at("type").unwrap_or_default(), action) {
            ("event", Some("turn-started")) => {
                let session = message.get("meta").and_then(|meta| meta.text_at("session-id"));
                self.turn_started(payload, session);
            }
            ("event", Some("act")) => self.act(payload),
            ("stream-chunk", _) => self.chunk(payload),
            ("response", Some("turn-done")) => self.turn_done(payload),
            ("event", Some(told @ ("plan-parked" | "plan-changed"))) => {
                if told == "plan-parked" {
                    let session = message.get("meta").and_then(|meta| meta.text_at("session-id"));
                    self.parked(payload.get("plan").unwrap_or(&empty), session);
                }
                let plan = payload.get("plan").unwrap_or(&empty);
                self.decided.retain(|decided| Some(decided.as_str()) != plan.text_at("id"));
                self.became(plan);
                self.ask("plans", Plist::new(), What::Plans);
            }
            ("event", Some("leaving")) => {}
            ("status", _) => self.take_status(payload),
            ("log", _) => {
                let text = payload.text_at("text").unwrap_or_default();
                match payload.text_at("level") {
                    Some("warning") => self.note(Kind::Warning, text),
                    Some("error") => self.note(Kind::Bad, text),
                    _ => {}
                }
            }
            ("response", Some("protocol-error")) => {
                self.note(Kind::Bad, payload.text_at("text").unwrap_or("a message could not be read"));
            }
            ("response", _) => self.answered(payload),
            _ => {}
        }
    }

    /// Tells of a plan that begins to wait; of one of a turn that goes on here its end tells.
    fn parked(&mut self, plan: &Sexp, session: Option<&str>) {
        let Some(id) = plan.text_at("id") else { return };
        if self.is_here(session) && !self.turns.is_empty() {
            return;
        }
        let whose = if self.is_here(session) { "" } else { " of another conversation" };
        let title = plan.text_at("title").unwrap_or_default();
        let text =
            format!("Waits for you{whose}: {id}, {title}. /plans shows what would happen, to approve or deny it.");
        self.note(Kind::Warning, &text);
    }

    /// Notes what became of the action of a plan: one that was decided is not listed any more.
    fn became(&mut self, plan: &Sexp) {
        let (Some(id), Some(status)) = (plan.text_at("id"), plan.text_at("status")) else { return };
        let verdict = match status {
            "pending" => return,
            "approved" | "done" => "pass",
            _ => "deny",
        };
        for act in self.gates.last.iter_mut().filter(|act| act.plan.as_deref() == Some(id)) {
            act.verdict = verdict.to_string();
            self.changed = true;
        }
    }

    fn turn_started(&mut self, payload: &Sexp, session: Option<&str>) {
        self.changed = true;
        let name = payload.text_at("turn").unwrap_or_default().to_string();
        // One that goes on from another answers no question that was typed here, but what was decided.
        let asked = match payload.text_at("follows") {
            Some(_) => {
                self.decided.clear();
                None
            }
            None if self.is_here(session) => self.asked.pop_front(),
            None => None,
        };
        if self.turns.len() < TURNS {
            let session = session.map(str::to_string);
            self.turns.push(Turn {
                name,
                session,
                answer: None,
                thought: None,
                doing: None,
                said: String::new(),
                asked,
            });
        }
    }

    fn chunk(&mut self, payload: &Sexp) {
        let name = payload.text_at("turn").unwrap_or_default();
        let Some(turn) = self.turns.iter_mut().find(|turn| turn.name == name) else { return };
        self.changed = true;
        match (payload.text_at("thought"), payload.text_at("text")) {
            (Some(""), _) => {
                if let Some(thought) = turn.thought.take() {
                    self.transcript.close(thought, false);
                }
            }
            (Some(text), _) => {
                let id = turn.thought.unwrap_or_else(|| self.transcript.open(Kind::Thought));
                turn.thought = Some(self.transcript.append(id, text));
            }
            (None, Some(text)) if !text.is_empty() => {
                if let Some(thought) = turn.thought.take() {
                    self.transcript.close(thought, false);
                }
                if turn.said.len() < ALONG {
                    turn.said.push_str(text);
                }
                let id = turn.answer.unwrap_or_else(|| self.transcript.open(Kind::Answer));
                turn.answer = Some(self.transcript.append(id, text));
            }
            (None, _) => {}
        }
    }

    /// Notes what is being done in a turn; what came of it stands below the answer in the end.
    fn act(&mut self, payload: &Sexp) {
        let name = payload.text_at("turn").unwrap_or_default();
        let Some(turn) = self.turns.iter_mut().find(|turn| turn.name == name) else { return };
        let words = payload.text_at("summary").or(payload.text_at("tool")).unwrap_or_default();
        turn.doing = (payload.name_at("state") == Some("begun")).then(|| words.to_string());
        self.changed = true;
    }

    fn turn_done(&mut self, payload: &Sexp) {
        self.changed = true;
        let name = payload.text_at("turn").unwrap_or_default();
        let status = payload.text_at("status").unwrap_or_default();
        let interrupted = status == "interrupted";
        let at = self.turns.iter().position(|turn| turn.name == name);
        let Some(turn) = at.map(|at| self.turns.remove(at)) else {
            // It was told in one word, as a decision is that was refused.
            self.decided.clear();
            return self.foot(payload, status);
        };
        if let Some(thought) = turn.thought {
            self.transcript.close(thought, interrupted && turn.answer.is_none());
        }
        if let Some(answer) = turn.answer {
            self.transcript.close(answer, interrupted);
        }
        if interrupted {
            self.stopping = false;
            if turn.answer.is_none() && turn.thought.is_none() {
                self.note(Kind::Warning, "Interrupted before an answer came.");
            }
        }
        self.remember(&turn, payload);
        let again = turn.asked.filter(|asked| payload.flag_at("again") && asked.again.is_some());
        match again {
            // Nothing was begun, as the core there is ending.
            Some(asked) => {
                self.unanswered.push_back(asked);
                self.note(Kind::Note, "The core is ending; this is asked again when another one has the notes.");
            }
            None => self.foot(payload, status),
        }
        self.stopping &= self.busy();
        self.ask("plans", Plist::new(), What::Plans);
        self.ask("status", Plist::new(), What::Status);
        if payload.int_at("tokens-in").is_some() || payload.text_at("provider").is_some() {
            self.ask("context", Plist::new().flag("quietly", true), What::Gauge);
        }
    }

    /// Keeps what was said for the questions to come.
    fn remember(&mut self, turn: &Turn, payload: &Sexp) {
        // What a command of the core says is no part of the conversation, nor is what was said in another one.
        let command = turn.asked.as_ref().is_some_and(|asked| asked.text.is_empty());
        // Of what was asked before nothing is known here, not even how private it is.
        let known = payload.get("before").is_none() && !payload.flag_at("again");
        if command || !known || !self.is_here(turn.session.as_deref()) {
            return;
        }
        let private = match payload.get("private") {
            None => None,
            Some(Sexp::Nil) => None,
            Some(value) => Some(value.as_text().unwrap_or("t").to_string()),
        };
        let asked = turn.asked.as_ref().map(|asked| asked.text.as_str()).unwrap_or_default();
        let said = [("user", asked), ("assistant", turn.said.as_str())];
        let said = said.into_iter().filter(|(_, text)| !text.trim().is_empty());
        let said = said.map(|(role, text)| Said { role, text: text.to_string(), private: private.clone() });
        let said: Vec<Said> = said.collect();
        if !said.is_empty() {
            self.do_it(Effect::KeepSaid(self.conversation.clone(), said.clone()));
        }
        self.go_on_from(said);
    }

    /// Sends along what was said with the questions to come, as much of its end as there is room for.
    pub(super) fn go_on_from(&mut self, said: Vec<Said>) {
        self.said.extend(said);
        let mut bytes: usize = self.said.iter().map(|said| said.text.len()).sum();
        while bytes > ALONG || self.said.len() > PARTS {
            bytes -= self.said.pop_front().map_or(bytes, |said| said.text.len());
        }
    }

    /// Shows what stands below an answer.
    fn foot(&mut self, payload: &Sexp, status: &str) {
        let notice = payload.text_at("text").unwrap_or_default();
        if !notice.is_empty() {
            let kind = match status {
                "failed" => Kind::Bad,
                "interrupted" => Kind::Warning,
                _ => Kind::Note,
            };
            self.note(kind, notice);
        }
        if payload.get("before").is_some() {
            // What was said just now speaks of names, which questions have that nobody here gave one.
            self.note(Kind::Note, "To ask it anew, send it again: Up brings it back. What you type is a new question.");
        }
        for other in payload.list_at("others") {
            let text = |key: &str| other.text_at(key).unwrap_or_default();
            self.note(Kind::Foot, &format!("Another answer, of {} ({}):", text("model"), text("provider")));
            self.note(Kind::Answer, text("text"));
        }
        for refused in payload.list_at("refused") {
            self.note(Kind::Warning, &format!("Refused: {}", refused.text_at("text").unwrap_or_default()));
        }
        let trace = show::trace(payload);
        if !trace.is_empty() {
            self.note(Kind::Trace, &trace);
        }
        self.count(payload);
        let plans: Vec<&str> = payload.list_at("plans").iter().filter_map(Sexp::as_text).collect();
        if !plans.is_empty() {
            let named = plans.join(", ");
            let how = "/plans shows what would happen, to approve or deny it";
            self.note(Kind::Warning, &format!("Waits for you: {named}. {how}."));
        }
        let foot = show::foot(payload);
        if !foot.is_empty() {
            self.note(Kind::Foot, &foot);
        }
    }

    /// Counts what the gates said, what it cost, and which files changed.
    fn count(&mut self, payload: &Sexp) {
        let deeds = payload.list_at("trace");
        if !deeds.is_empty() {
            self.gates.last.clear();
        }
        for deed in deeds.iter().take(ACTIONS) {
            let text = |key: &str| deed.text_at(key).unwrap_or_default().to_string();
            let plan = deed.text_at("plan").map(str::to_string);
            self.gates.last.push(Act { verdict: text("verdict"), summary: text("summary"), plan });
            for opinion in deed.list_at("opinions") {
                let verdict = opinion.text_at("verdict").unwrap_or_default();
                if matches!(verdict, "ask" | "deny") {
                    let gate = opinion.text_at("gate").unwrap_or_default().to_string();
                    let (asked, denied) = self.gates.counts.entry(gate).or_default();
                    *if verdict == "ask" { asked } else { denied } += 1;
                }
            }
        }
        let tokens = |key: &str| payload.count_at(key).unwrap_or(0);
        self.spent.tokens.0 = self.spent.tokens.0.saturating_add(tokens("tokens-in"));
        self.spent.tokens.1 = self.spent.tokens.1.saturating_add(tokens("tokens-out"));
        if let Some(cost) = payload.text_at("cost") {
            self.spent.last = Some(cost.to_string());
        }
        if let Some(model) = payload.text_at("model").or(payload.text_at("provider")) {
            self.spent.model = Some(model.to_string());
        }
        for file in payload.list_at("changed").iter().filter_map(Sexp::as_text) {
            self.files.retain(|known| known != file);
            self.files.push_front(file.to_string());
        }
        self.files.truncate(FILES);
    }

    fn take_status(&mut self, payload: &Sexp) {
        let text = |key: &str| payload.text_at(key).map(str::to_string);
        let of = |key: &str| match payload.list_at(key) {
            [done, total] => Some(format!("{} of {}", done.as_int().unwrap_or(0), total.as_int().unwrap_or(0))),
            _ => None,
        };
        let status = Status {
            state: text("state").unwrap_or_default(),
            pending: payload.count_at("pending").unwrap_or(0),
            focus: text("focus-title").or(text("focus")),
            scope: text("scope"),
            memory: (payload.count_at("files").unwrap_or(0), payload.count_at("headings").unwrap_or(0)),
            reading: of("reading"),
            health: text("health").unwrap_or_default(),
        };
        let waiting = self.plans.iter().filter(|plan| plan.status == "pending").count();
        if status.pending != waiting && !self.requests.values().any(|what| *what == What::Plans) {
            self.ask("plans", Plist::new(), What::Plans);
        }
        if status != self.status {
            self.changed = true;
            self.status = status;
        }
    }

    fn take_plans(&mut self, payload: &Sexp) {
        let plan = |plan: &Sexp| {
            let text = |key: &str| plan.text_at(key).unwrap_or_default().to_string();
            Plan { id: text("id"), title: text("title"), status: text("status"), badge: text("badge") }
        };
        let plans: Vec<Plan> = payload.list_at("plans").iter().map(plan).collect();
        if plans != self.plans {
            (self.changed, self.plans) = (true, plans);
        }
        self.status.pending = self.plans.iter().filter(|plan| plan.status == "pending").count();
        if let Some(Over::Plans(at)) = self.over.as_mut() {
            *at = (*at).min(self.plans.len().saturating_sub(1));
        }
        if std::mem::take(&mut self.opening) && self.over.is_none() {
            self.open_plan("");
        }
    }

    fn answered(&mut self, payload: &Sexp) {
        let Some(what) = payload.int_at("request").and_then(|number| self.requests.remove(&number)) else { return };
        if let Some(why) = payload.text_at("error") {
            match what {
                What::Status | What::Plans | What::Gauge => {}
                What::Page(_) | What::Preview(_) => {
                    self.close_reader_of(&what);
                    self.note(Kind::Warning, why);
                }
                What::Done | What::Show(_) => self.note(Kind::Warning, why),
            }
            return;
        }
        match what {
            What::Status => self.take_status(payload),
            What::Plans => self.take_plans(payload),
            What::Page(id) => self.take_page(&id, payload),
            What::Preview(page) => self.take_preview(page, payload),
            What::Gauge => {
                let used = payload.list_at("sections").iter();
                let used = used.filter_map(|section| section.items().get(1)?.as_int()).sum::<i64>();
                let (used, most) = (usize::try_from(used).unwrap_or(0), payload.count_at("most").unwrap_or(0));
                self.changed |= self.context != Some((used, most));
                self.context = Some((used, most));
            }
            What::Done => {
                if let Some(text) = payload.text_at("text").filter(|text| !text.is_empty()) {
                    self.note(Kind::Note, text);
                }
            }
            What::Show(title) => {
                self.read_words(title, &show::answer(title, payload));
                // Its newest line is the last.
                if title == "Log" {
                    self.scroll(isize::MAX / 2);
                }
            }
        }
    }

    /// Takes a page of the plan that is being read; one of another is of no use any more.
    fn take_page(&mut self, id: &str, payload: &Sexp) {
        let waits = self.plans.iter().find(|plan| plan.id == id).is_none_or(|plan| plan.status == "pending");
        let Some(Over::Reader(reader)) = self.over.as_mut() else { return };
        match &mut reader.of {
            Of::Plan { id: of, waits: now, .. } if of == id => *now = waits,
            Of::Plan { .. } | Of::Preview { .. } | Of::Words => return,
        }
        // It may have been opened twice: each page counts once.
        if !reader.awaits(payload.int_at("from")) {
            return;
        }
        self.changed = true;
        let part = payload.name_at("part").unwrap_or_default();
        let text = payload.text_at("text").unwrap_or_default();
        reader.take(part, text, payload.int_at("next"), payload.text_at("shown"));
    }

    /// Takes a page of a preview. A later one says no name: it is of the preview that it was asked for, and is of no use
    /// when that one is not read any more.
    fn take_preview(&mut self, page: Option<(String, i64)>, payload: &Sexp) {
        let from = match page {
            None => {
                let name = payload.text_at("preview").unwrap_or_default();
                let of = Of::Preview { name: name.to_string(), shown: None };
                let title = payload.text_at("title").unwrap_or("What would happen");
                self.over = Some(Over::Reader(Box::new(Reader::pages(title, of))));
                0
            }
            Some((name, from)) => match &self.over {
                Some(Over::Reader(reader)) if reader.is_of_preview(&name) => from,
                _ => return,
            },
        };
        let Some(Over::Reader(reader)) = self.over.as_mut() else { return };
        if !reader.awaits(Some(from)) {
            return;
        }
        self.changed = true;
        let text = payload.text_at("text").unwrap_or_default();
        reader.take("", text, payload.int_at("next"), payload.text_at("shown"));
    }

    /// Closes the reader whose page does not come; another one stays.
    pub(super) fn close_reader_of(&mut self, what: &What) {
        let Some(Over::Reader(reader)) = &self.over else { return };
        let waits = match what {
            What::Page(id) => matches!(&reader.of, Of::Plan { id: of, .. } if of == id) && reader.awaits(None),
            What::Preview(Some((name, from))) => reader.is_of_preview(name) && reader.awaits(Some(*from)),
            What::Preview(None) | What::Status | What::Plans | What::Done | What::Gauge | What::Show(_) => false,
        };
        if waits {
            (self.changed, self.over) = (true, None);
        }
    }
}
