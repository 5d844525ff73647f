//! What is typed and sent: a question, a command of this client, or one of the core's.

use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::edge::tui::aside::Aside;
use crate::edge::tui::commands::{Place, named, nearest};
use crate::edge::tui::help::help;
use crate::edge::tui::input::{Edit, Input};
use crate::edge::tui::parts::{Asked, Over, Search, What};
use crate::edge::tui::state::{Effect, Linked, State};
use crate::edge::tui::theme::Theme;
use crate::edge::tui::transcript::Kind;

/// So many lines of the log, and operations of memory, are shown.
const LISTED: i64 = 100;

/// Whether a line asks the core what the manual says.
fn sought(line: &str) -> bool {
    line.trim().strip_prefix("help").is_some_and(|words| words.starts_with(char::is_whitespace))
}

impl State {
    /// Sends what is typed, or begins a new line behind a backslash.
    pub(super) fn enter(&mut self) {
        if self.input.text().ends_with('\\') && self.input.cursor() == self.input.text().len() {
            self.input.edit(Edit::Backspace);
            self.input.insert("\n");
            return;
        }
        let text = self.input.text().trim_end().to_string();
        if text.trim().is_empty() {
            return;
        }
        let command = text.trim_start().strip_prefix('/').map(str::to_string);
        let name = command.as_deref().map(|line| line.split_whitespace().next().unwrap_or_default());
        let local = name.and_then(named).is_some_and(|command| command.place == Place::Here);
        let local = local && !command.as_deref().is_some_and(sought);
        // Those that end in the core need it; what is typed stays until then.
        if !local && !self.is_up() {
            return self.hint("there is no connection; what you typed stays here until there is");
        }
        self.input.take();
        if self.history.keep(&text) {
            self.do_it(Effect::Keep(self.history.lines().to_vec()));
        }
        self.transcript.to_end();
        self.search = None;
        match command {
            Some(line) => self.command(&line),
            None => self.question(&text),
        }
    }

    /// Asks a question.
    fn question(&mut self, text: &str) {
        self.transcript.push(Kind::User, text);
        let said = self.said.iter().map(|said| {
            let one = Plist::new().keyword("role", said.role).text("text", said.text.as_str());
            match said.private.as_deref() {
                None => one.build(),
                Some("t") => one.flag("private", true).build(),
                Some(tier) => one.text("private", tier).build(),
            }
        });
        let history: Vec<Sexp> = said.collect();
        let payload = Plist::new().text("text", text).list("history", history);
        let payload = payload.maybe("project", self.project.clone()).flag("resumed", self.resumed);
        self.ask_once(text, payload);
    }

    /// Carries out a line behind a slash.
    pub(super) fn command(&mut self, line: &str) {
        let line = line.trim();
        let (name, words) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let words = words.trim();
        let known = named(name);
        if !known.is_some_and(|command| command.place != Place::Core) || sought(line) {
            return self.send_line(line, name, known.is_some());
        }
        match name {
            "quit" | "exit" => self.do_it(Effect::Quit),
            "help" => self.read_words("Help", &help()),
            "theme" => self.choose_theme(words),
            "clear" => self.clear(),
            "sidebar" => self.toggle_panel(),
            "trace" => self.traces = !self.traces,
            "thoughts" => self.thoughts = !self.thoughts,
            "mouse" => {
                self.mouse = !self.mouse;
                self.hint(if self.mouse { "the wheel scrolls here" } else { "the mouse is the terminal's" });
                self.do_it(Effect::Mouse(self.mouse));
            }
            "search" => {
                let mut typed = Input::default();
                typed.insert(words);
                self.search = Some(Search { words: typed, ..Search::default() });
                self.find(true);
            }
            "reconnect" => {
                self.note(Kind::Note, "Connecting anew.");
                self.do_it(Effect::Reconnect);
            }
            "status" => self.say_status(),
            "editor" => self.write_elsewhere(),
            "setup" => self.do_it(Effect::Aside(Aside::Configure)),
            "sessions" => self.do_it(Effect::Sessions),
            "resume" => self.resume(words),
            _ if !self.is_up() => self.hint("there is no connection; /reconnect tries at once"),
            _ => self.ask_core(name, words),
        }
    }

    /// Carries out a command of this client that asks the core.
    fn ask_core(&mut self, name: &str, words: &str) {
        let limit = || Plist::new().int("limit", LISTED);
        let named = || Some(words).filter(|words| !words.is_empty()).map(|words| words.to_ascii_uppercase());
        match name {
            "plans" => {
                self.ask("plans", Plist::new(), What::Plans);
                self.over = Some(Over::Plans(0));
            }
            "approve" | "deny" | "stop" => self.open_plan(words),
            "why" => self.ask("why", Plist::new().maybe("plan", named()), What::Show("Why")),
            "cost" => self.ask("costs", Plist::new().flag("here", true), What::Show("Costs")),
            "doctor" => self.ask("doctor", Plist::new(), What::Show("Health")),
            "log" => self.ask("log", limit(), What::Show("Log")),
            "memory" => self.ask("memory-log", limit(), What::Show("Memory")),
            "models" => self.ask("models", Plist::new(), What::Show("Models")),
            "identity" => self.ask("identity", Plist::new(), What::Show("Identity")),
            "context" => {
                let asked = Plist::new().flag("quietly", true);
                let asked = match words.split_once(' ').unwrap_or((words, "")) {
                    ("why", id) => asked.flag("lines", true).text("why", id.trim()),
                    ("dropped", _) => asked.flag("lines", true),
                    _ => asked,
                };
                self.ask("context", asked, What::Show("Context"));
            }
            "rewind" => match words.parse::<i64>() {
                Ok(operation) => {
                    self.ask("memory-rewind", Plist::new().int("operation", operation), What::Preview(None))
                }
                Err(_) => self.hint("/rewind wants the number of an operation; /memory lists them"),
            },
            "eval" if words.is_empty() => self.hint("/eval wants a form, such as /eval (+ 1 2)"),
            "eval" => {
                self.transcript.push(Kind::User, &format!("/eval {words}"));
                let payload = Plist::new().text("code", words).maybe("project", self.project.clone());
                self.asked.push_back(Asked::default());
                self.send("repl-eval", payload);
            }
            _ => {}
        }
    }

    /// Opens the plan that is named, or the first that waits.
    pub(super) fn open_plan(&mut self, words: &str) {
        let named = words.split_whitespace().next().map(str::to_ascii_uppercase);
        let waiting = self.plans.iter().find(|plan| plan.status == "pending").map(|plan| plan.id.clone());
        match named.or(waiting) {
            Some(id) => self.read_plan(&id),
            // How many wait is known before which they are.
            None if self.status.pending > 0 => {
                self.opening = true;
                self.ask("plans", Plist::new(), What::Plans);
            }
            None => self.hint("no plan waits"),
        }
    }

    /// Sends a command to the core; of one that nobody here knows the nearest name is told.
    fn send_line(&mut self, line: &str, name: &str, known: bool) {
        if !self.is_up() {
            return self.hint("there is no connection; /reconnect tries at once");
        }
        let meant = if known || name.starts_with('/') { None } else { nearest(name) };
        if let Some(meant) = meant {
            let text =
                format!("There is no /{name}. Did you mean /{meant}? A command of a skill is sent with //{name}.");
            return self.note(Kind::Warning, &text);
        }
        // What begins with two slashes is sent as it stands: a skill may know a name that is like another.
        let line = line.strip_prefix('/').unwrap_or(line);
        self.transcript.push(Kind::User, &format!("/{line}"));
        // What it says is no part of the conversation.
        self.asked.push_back(Asked::default());
        self.send("user-command", Plist::new().text("line", line));
    }

    fn choose_theme(&mut self, name: &str) {
        let theme = if name.is_empty() { Some(self.theme.next()) } else { Theme::named(name) };
        match theme {
            Some(theme) => {
                self.theme = theme;
                self.hint(&format!("theme {}", theme.name()));
            }
            None => self.hint("themes: dark, light, contrast, none"),
        }
    }

    /// Begins a new conversation.
    fn clear(&mut self) {
        if self.busy() {
            return self.hint("an answer comes just now; Esc stops it");
        }
        self.transcript.clear();
        self.said.clear();
        self.resumed = false;
        self.unanswered.clear();
        self.do_it(Effect::BeginAnew);
        if self.is_up() {
            self.send("interrupt", Plist::new().flag("closed", true));
        }
        let name = self.names.make();
        self.go_over_to(name);
        self.hint("a new conversation");
    }

    fn say_status(&mut self) {
        let connection = match &self.linked {
            Linked::Up { version, here: true, .. } => format!("The core (version {version}) runs in this terminal"),
            Linked::Up { version, .. } => format!("Connected with a core of version {version}"),
            Linked::Down(why, _) => format!("Not connected ({why})"),
            Linked::Looking | Linked::Silent(_) | Linked::Back => "Connecting".to_string(),
        };
        let status = &self.status;
        let (files, headings) = status.memory;
        let (waiting, health) = (status.pending, &status.health);
        let kept = self.transcript.bytes() / 1024;
        let text = format!(
            "{connection}. Memory: {files} files, {headings} headings. {waiting} plans wait. Health: {health}. \
             This screen keeps {kept} kB of what was said."
        );
        self.note(Kind::Note, &text);
    }
}
