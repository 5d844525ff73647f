//! What was asked for and not done: the connection was lost meanwhile, or took nothing.

use crate::domain::sexp::reader::Sexp;
use crate::edge::tui::parts::Over;
use crate::edge::tui::reader::Of;
use crate::edge::tui::state::State;
use crate::edge::tui::transcript::Kind;

impl State {
    /// What was under way is lost; whether it was done is not known.
    pub(super) fn lost(&mut self) {
        self.requests.clear();
        let under_way = self.busy();
        for turn in std::mem::take(&mut self.turns) {
            for entry in [turn.answer, turn.thought].into_iter().flatten() {
                self.transcript.close(entry, true);
            }
        }
        self.asked.clear();
        let decided = std::mem::take(&mut self.decided);
        (self.stopping, self.opening) = (false, false);
        if matches!(&self.over, Some(Over::Reader(reader)) if reader.of != Of::Words) {
            // Whoever comes next has not shown it to anybody.
            self.over = None;
        }
        if !decided.is_empty() {
            let decided = decided.join(", ");
            self.note(
                Kind::Warning,
                &format!("What you decided about {decided} may have come there or not: /plans says how it stands."),
            );
        }
        if under_way {
            self.note(Kind::Warning, "What was under way may have been done or not: look before you ask again.");
        }
    }

    /// Takes back what stands here as sent and was not: the connection took nothing.
    pub fn unsent(&mut self, text: &str) {
        let Ok(message) = Sexp::read(text) else { return };
        let empty = Sexp::Nil;
        let payload = message.get("payload").unwrap_or(&empty);
        match payload.name_at("sensor") {
            Some("user-input" | "user-command" | "repl-eval") => {
                self.asked.pop_back();
                let (line, code) = (payload.text_at("line"), payload.text_at("code"));
                let typed = payload.text_at("text").map(str::to_string);
                let typed = typed.or_else(|| line.map(|line| format!("/{line}")));
                let typed = typed.or_else(|| code.map(|code| format!("/eval {code}")));
                if let Some(typed) = typed.filter(|_| self.input.is_empty()) {
                    self.input.set(&typed);
                }
                self.note(Kind::Warning, "That was not sent: the connection takes nothing just now.");
            }
            Some("approval" | "denial") => {
                let plan = payload.text_at("plan").unwrap_or_default().to_string();
                self.decided.retain(|decided| *decided != plan);
                self.note(Kind::Warning, &format!("What you decided about {plan} was not sent: decide again."));
            }
            // The core does not know that it was read: it is opened and read again.
            Some("plan-displayed") => self.over = None,
            Some("interrupt") => self.stopping = false,
            Some(_) | None => {
                if let Some(what) = payload.int_at("request").and_then(|number| self.requests.remove(&number)) {
                    self.close_reader_of(&what);
                }
            }
        }
        self.hint("the connection takes nothing just now; what you asked for was not sent");
    }
}
