//! What was asked for and not done: the connection was lost meanwhile, or took nothing.

use crate::domain::sexp::reader::Sexp;
use crate::edge::tui::parts::{Asked, Over};
use crate::edge::tui::reader::Of;
use crate::edge::tui::state::{Effect, State};
use crate::edge::tui::transcript::Kind;
use crate::edge::tui::wrap::clipped;

/// So many columns of a question say which one it is.
const LINE: usize = 60;

impl State {
    /// What was under way is lost; whether it was done is not known.
    pub(super) fn lost(&mut self) {
        self.requests.clear();
        let turns = std::mem::take(&mut self.turns);
        for entry in turns.iter().flat_map(|turn| [turn.answer, turn.thought]).flatten() {
            self.transcript.close(entry, true);
        }
        // A turn that goes on from another one answers nothing that could be asked again.
        let mut under_way = turns.iter().any(|turn| turn.asked.is_none());
        let asked: Vec<Asked> = turns.into_iter().filter_map(|turn| turn.asked).chain(self.asked.drain(..)).collect();
        let (named, others): (Vec<Asked>, Vec<Asked>) = asked.into_iter().partition(|asked| asked.again.is_some());
        under_way |= !others.is_empty();
        self.unanswered.extend(named);
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
        if !self.unanswered.is_empty() {
            let text = "What you asked is asked again as soon as there is a connection, and nobody is asked twice. \
                        Ctrl+C lets it be.";
            self.note(Kind::Note, text);
        }
    }

    /// Asks again what nobody has answered, each question by its own name: a core that heard it before asks nobody, and
    /// says what became of it.
    pub(super) fn ask_again(&mut self) {
        for asked in std::mem::take(&mut self.unanswered) {
            if let Some(message) = &asked.again {
                self.do_it(Effect::Send(message.clone()));
                self.asked.push_back(asked);
            }
        }
    }

    /// Takes back what stands here as sent and was not: the connection took nothing.
    pub fn unsent(&mut self, text: &str) {
        let Ok(message) = Sexp::read(text) else { return };
        let empty = Sexp::Nil;
        let payload = message.get("payload").unwrap_or(&empty);
        match payload.name_at("sensor") {
            Some("user-input" | "user-command" | "repl-eval") => {
                // Of several that are asked again at once, another one may stand last. A command has no name.
                let at = self.asked.iter().position(|asked| asked.again.as_deref() == Some(text));
                let at = at.or_else(|| self.asked.iter().rposition(|asked| asked.again.is_none()));
                drop(at.and_then(|at| self.asked.remove(at)));
                let (line, code) = (payload.text_at("line"), payload.text_at("code"));
                let typed = payload.text_at("text").map(str::to_string);
                let typed = typed.or_else(|| line.map(|line| format!("/{line}")));
                let typed = typed.or_else(|| code.map(|code| format!("/eval {code}")));
                match typed.filter(|typed| !typed.is_empty()) {
                    Some(typed) if self.input.is_empty() => {
                        self.input.set(&typed);
                        self.note(Kind::Warning, "That was not sent: the connection takes nothing just now.");
                    }
                    Some(typed) => {
                        let line = clipped(typed.lines().next().unwrap_or_default(), LINE);
                        let text =
                            format!("“{line}” was not sent: the connection takes nothing just now. Ask it again.");
                        self.note(Kind::Warning, &text);
                    }
                    None => self.note(Kind::Warning, "That was not sent: the connection takes nothing just now."),
                }
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
