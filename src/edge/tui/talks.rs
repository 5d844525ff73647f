//! Conversations that are kept, and what comes back from a program of the user's own: listed, gone on with, taken over.

use crate::domain::inert::exact;
use crate::domain::sexp::plist::Plist;
use crate::edge::tui::aside::{Aside, Brought, CameBack};
use crate::edge::tui::kept::Kept;
use crate::edge::tui::parts::{Said, Talk, Wanted};
use crate::edge::tui::state::{Effect, State};
use crate::edge::tui::transcript::Kind;

/// Of a title so many characters are shown.
const TITLE: usize = 100;

impl State {
    /// Goes on with a conversation by its number in the list, or with the newest one.
    pub(super) fn resume(&mut self, words: &str) {
        if self.busy() {
            return self.hint("an answer comes just now; Esc stops it");
        }
        let number = if words.is_empty() { Ok(1) } else { words.parse::<usize>() };
        match (number, &self.kept) {
            (Err(_) | Ok(0), _) => self.hint("/resume wants a number of /sessions, or nothing for the newest"),
            // The number is that of the list which was shown, whatever came since.
            (Ok(number), Some(kept)) if !words.is_empty() => match kept.get(number - 1).cloned() {
                Some(kept) => self.do_it(Effect::Resume(kept)),
                // There may be more by now.
                None => {
                    self.resuming = Some(Wanted::Unlisted(number));
                    self.do_it(Effect::Sessions);
                }
            },
            (Ok(number), _) => {
                self.resuming = Some(Wanted::This(number));
                self.do_it(Effect::Sessions);
            }
        }
    }

    /// Shows the conversations, or goes on with the one that was asked for.
    pub(super) fn listed(&mut self, listed: Result<Vec<Kept>, String>) {
        let wanted = self.resuming.take();
        let kept = match listed {
            Ok(kept) => kept,
            Err(why) => return self.note(Kind::Warning, &format!("The conversations cannot be read: {why}")),
        };
        let hint = match wanted {
            _ if kept.is_empty() => return self.hint("no conversation is kept yet"),
            Some(Wanted::This(number)) => match kept.get(number - 1).cloned() {
                Some(kept) => return self.do_it(Effect::Resume(kept)),
                None => format!("there is no conversation {number}; these are kept"),
            },
            Some(Wanted::Unlisted(number)) if number > kept.len() => {
                format!("there is no conversation {number}; these are kept")
            }
            Some(Wanted::Unlisted(number)) => {
                format!("the list that you saw had no {number}; this is how they are numbered now")
            }
            None => String::new(),
        };
        let mut text = String::new();
        for (at, Kept { name, title }) in kept.iter().enumerate() {
            let title: String = exact(title).chars().take(TITLE).collect();
            text.push_str(&format!("{:>4}  {}  {title}\n", at + 1, began(name)));
        }
        text.push_str("\n/resume NUMBER goes on with one; /resume with the newest. Times are in UTC.\n");
        self.kept = Some(kept);
        self.read_words("Conversations", &text);
        if !hint.is_empty() {
            self.hint(&hint);
        }
    }

    /// Goes on with what was said in another conversation.
    pub(super) fn resumed(&mut self, talk: Result<Talk, String>) {
        let Talk { name, said } = match talk {
            Ok(talk) => talk,
            Err(why) => return self.note(Kind::Warning, &format!("That conversation cannot be read: {why}")),
        };
        self.over = None;
        self.transcript.clear();
        self.said.clear();
        self.unanswered.clear();
        if self.is_up() {
            self.send("interrupt", Plist::new().flag("closed", true));
        }
        // Nobody knows what one without a name drew on.
        self.resumed = name.is_none();
        let name = name.unwrap_or_else(|| self.names.make());
        self.go_over_to(name);
        for Said { role, text, private: _ } in &said {
            self.transcript.push(if *role == "user" { Kind::User } else { Kind::Answer }, text);
        }
        self.go_on_from(said);
        self.note(Kind::Note, "It goes on from here. What was changed meanwhile in your notes is read anew.");
    }

    /// Hands what is typed to an editor of the user's own.
    pub(super) fn write_elsewhere(&mut self) {
        let typed = self.input.text().to_string();
        self.do_it(Effect::Aside(Aside::Editor(typed)));
    }

    /// Takes what a program of the user's own came back with; nothing of it is sent.
    pub(super) fn came_back(&mut self, came: CameBack) {
        self.changed = true;
        match came {
            Err(why) => self.hint(&why),
            Ok(Brought::Text(text)) => {
                self.history.stop();
                self.input.set(&text);
            }
            Ok(Brought::Nothing) => self.note(Kind::Note, "Nothing was set up: all stays as it was."),
            Ok(Brought::SetUp) => {
                let text = "What was set up counts when the core begins anew: leave with /quit and begin again, or end \
                            the one that runs elsewhere.";
                let beside = match self.options.as_str() {
                    "" => String::new(),
                    options => format!(" What you began this terminal with goes before it:{options}"),
                };
                self.note(Kind::Note, &format!("{text}{beside}"));
            }
        }
    }
}

/// Returns when a conversation began, as its name says it.
fn began(name: &str) -> String {
    let digits = |from: usize, to: usize| name.get(from..to).unwrap_or("??");
    format!("{}-{}-{} {}:{}", digits(0, 4), digits(4, 6), digits(6, 8), digits(9, 11), digits(11, 13))
}
