//! What a key does, wherever the user is.

use crate::domain::sexp::plist::Plist;
use crate::edge::tui::commands::{completed, found};
use crate::edge::tui::help::help;
use crate::edge::tui::input::{Edit, Input};
use crate::edge::tui::layout::MARK;
use crate::edge::tui::parts::{CameTo, Over, Search, What};
use crate::edge::tui::reader::{Asked, Of, TOO_LONG};
use crate::edge::tui::state::{Effect, State};
use crate::edge::tui::transcript::Kind;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// PgUp and PgDn move by so many lines.
const PAGE: isize = 10;

impl State {
    /// Takes a key.
    pub(super) fn key(&mut self, key: KeyEvent) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        self.hint = None;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && self.everywhere(key.code) {
            return;
        }
        match &self.over {
            Some(Over::Reader(_)) => self.key_in_reader(key),
            Some(Over::Plans(_)) => self.key_in_plans(key),
            Some(Over::Palette(..)) => self.key_in_palette(key),
            None if self.search.is_some() => self.key_in_search(key),
            None => self.key_in_input(key),
        }
    }

    /// Takes a key that does the same everywhere.
    fn everywhere(&mut self, code: KeyCode) -> bool {
        match code {
            KeyCode::Char('z') => self.do_it(Effect::Suspend),
            KeyCode::Char('l') => self.do_it(Effect::Repaint),
            KeyCode::Char('g') if self.over.is_none() => {
                self.traces = !self.traces;
                let what = if self.traces { "what the gates said is shown" } else { "what the gates said is hidden" };
                self.hint(what);
            }
            KeyCode::Char('t') if self.over.is_none() => self.thoughts = !self.thoughts,
            _ => return false,
        }
        true
    }

    fn key_in_reader(&mut self, key: KeyEvent) {
        let height = isize::try_from(self.areas().reader.height).unwrap_or(1).max(1);
        let Some(Over::Reader(reader)) = self.over.as_mut() else { return };
        match &mut reader.asked {
            Asked::Nothing => {}
            Asked::Yes => return self.key_at_question(key),
            Asked::Reason { reason, stop } => {
                let stop = *stop;
                match key.code {
                    KeyCode::Esc => reader.asked = Asked::Nothing,
                    KeyCode::Enter => {
                        let reason = reason.take();
                        self.deny(&reason, stop);
                    }
                    _ => drop(typed(reason, key)),
                }
                return;
            }
        }
        let (plan, ready) = match &reader.of {
            Of::Plan { waits, .. } => (*waits, reader.was_displayed()),
            Of::Preview { .. } | Of::Words => (false, false),
        };
        let preview = matches!(reader.of, Of::Preview { .. });
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => self.over = None,
            KeyCode::Up | KeyCode::Char('k') => self.scroll(-1),
            KeyCode::Down | KeyCode::Char('j') | KeyCode::Enter => self.scroll(1),
            KeyCode::PageUp | KeyCode::Char('b') => self.scroll(-height),
            // A line of what was seen stays, so that nothing is skipped.
            KeyCode::PageDown | KeyCode::Char(' ') => self.scroll((height - 1).max(1)),
            KeyCode::Home => self.scroll(isize::MIN / 2),
            KeyCode::End => self.scroll(isize::MAX / 2),
            KeyCode::Char('a') if plan && ready => reader.asked = Asked::Yes,
            KeyCode::Char('a') if plan && reader.cut => self.hint(TOO_LONG),
            KeyCode::Char('y') if preview && reader.cut => self.hint(TOO_LONG),
            KeyCode::Char('a') if plan => self.hint("read it to its end first: Space shows more"),
            KeyCode::Char('d') if plan => reader.asked = Asked::Reason { reason: Input::default(), stop: false },
            KeyCode::Char('s') if plan => reader.asked = Asked::Reason { reason: Input::default(), stop: true },
            KeyCode::Char('w') if plan => {
                if let Of::Plan { id, .. } = reader.of.clone() {
                    self.ask("why", Plist::new().text("plan", id), What::Show("Why"));
                }
            }
            KeyCode::Char('y') if preview && reader.was_displayed() => reader.asked = Asked::Yes,
            KeyCode::Char('y') if preview => self.hint("read it to its end first: Space shows more"),
            _ => {}
        }
    }

    /// Only “y” says yes; any other key leaves it.
    fn key_at_question(&mut self, key: KeyEvent) {
        let Some(Over::Reader(reader)) = self.over.as_mut() else { return };
        reader.asked = Asked::Nothing;
        if key.code != KeyCode::Char('y') || !key.modifiers.is_empty() || !reader.was_displayed() {
            return self.hint("nothing was done");
        }
        match reader.of.clone() {
            Of::Plan { id, shown: Some(shown), waits: true } => {
                self.over = None;
                self.note(Kind::Note, &format!("You approved {id}."));
                self.decided.push(id.clone());
                self.send("approval", Plist::new().text("plan", id).text("shown", shown));
            }
            Of::Preview { shown: Some(shown), .. } => {
                self.over = None;
                self.ask("memory-do", Plist::new().text("shown", shown), What::Done);
            }
            Of::Plan { .. } | Of::Preview { .. } | Of::Words => {}
        }
    }

    fn deny(&mut self, reason: &str, stop: bool) {
        let Some(Over::Reader(reader)) = &self.over else { return };
        let Of::Plan { id, .. } = reader.of.clone() else { return };
        self.over = None;
        self.note(Kind::Note, &format!("You denied {id}{}.", if stop { ", and stopped there" } else { "" }));
        self.decided.push(id.clone());
        let payload = Plist::new().text("plan", id).text("reason", reason.trim()).flag("stop", stop);
        self.send("denial", payload);
    }

    fn key_in_plans(&mut self, key: KeyEvent) {
        let Some(Over::Plans(at)) = &self.over else { return };
        let at = *at;
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => self.over = None,
            KeyCode::Up | KeyCode::Char('k') => self.scroll(-1),
            KeyCode::Down | KeyCode::Char('j') => self.scroll(1),
            KeyCode::Enter | KeyCode::Char(' ' | 'a' | 'd') => {
                if let Some(id) = self.plans.get(at).map(|plan| plan.id.clone()) {
                    self.read_plan(&id);
                }
            }
            _ => {}
        }
    }

    fn key_in_palette(&mut self, key: KeyEvent) {
        match key.code {
            KeyCode::Up => return self.scroll(-1),
            KeyCode::Down => return self.scroll(1),
            _ => {}
        }
        let Some(Over::Palette(words, at)) = self.over.as_mut() else { return };
        match key.code {
            KeyCode::Esc => self.over = None,
            KeyCode::Enter | KeyCode::Tab => {
                let found = found(words.text());
                let chosen = found.get((*at).min(found.len().saturating_sub(1))).copied();
                self.over = None;
                match chosen {
                    // What wants words gets them first.
                    Some(command) if !command.words.is_empty() && !command.words.starts_with('[') => {
                        self.input.set(&format!("/{} ", command.name));
                    }
                    Some(command) => self.command(command.name),
                    None => self.hint("no such command"),
                }
            }
            _ => {
                *at = 0;
                typed(words, key);
            }
        }
    }

    fn key_in_search(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => self.search = None,
            KeyCode::Up | KeyCode::Enter => self.find(true),
            KeyCode::Down => self.find(false),
            KeyCode::PageUp => self.scroll(-PAGE),
            KeyCode::PageDown => self.scroll(PAGE),
            KeyCode::Char('f') if control => self.find(true),
            _ => {
                if let Some(search) = self.search.as_mut() {
                    let before = search.words.text().len();
                    // Every key that changes words changes how long they are.
                    if typed(&mut search.words, key) && search.words.text().len() != before {
                        search.came_to = CameTo::Unknown;
                    }
                }
            }
        }
    }

    /// Looks for the next place of what is searched for.
    pub(super) fn find(&mut self, up: bool) {
        let (look, height) = (self.look(), usize::from(self.areas().transcript.height));
        if look.search.is_empty() {
            return;
        }
        let found = self.transcript.find(&look.search, up, &look, height);
        if let Some(search) = self.search.as_mut() {
            search.came_to = match (found, search.came_to) {
                (true, _) => CameTo::Found,
                (false, CameTo::Found | CameTo::NoMore) => CameTo::NoMore,
                (false, CameTo::Unknown | CameTo::Nothing(_)) => CameTo::Nothing(up),
            };
        }
    }

    fn key_in_input(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if std::mem::take(&mut self.prefix) {
            match key.code {
                KeyCode::Char('b') => return self.toggle_panel(),
                KeyCode::Char('e') => return self.write_elsewhere(),
                _ => return self.hint("Ctrl+X B shows the side panel, Ctrl+X E begins your editor"),
            }
        }
        let width = usize::from(self.areas().input.width.saturating_sub(MARK));
        match (key.code, control) {
            (KeyCode::Char('x'), true) => {
                self.prefix = true;
                self.hint("Ctrl+X …");
            }
            (KeyCode::Char('p'), true) => self.over = Some(Over::Palette(Input::default(), 0)),
            (KeyCode::Char('b'), true) => self.toggle_panel(),
            (KeyCode::Char('f'), true) => self.search = Some(Search::default()),
            (KeyCode::Char('c'), true) => self.control_c(),
            (KeyCode::Char('d'), true) if self.input.is_empty() => self.do_it(Effect::Quit),
            (KeyCode::Char('?'), false) if self.input.is_empty() => self.read_words("Help", &help()),
            (KeyCode::Char('j'), true) => drop(self.input.insert("\n")),
            (KeyCode::Enter, _) if key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT) => {
                self.input.insert("\n");
            }
            (KeyCode::Enter, _) => self.enter(),
            (KeyCode::Tab, _) => self.complete(),
            (KeyCode::Esc, _) => self.escape(),
            (KeyCode::Up, _) => {
                if !self.input.row(width, false) {
                    self.older();
                }
            }
            (KeyCode::Down, _) => {
                if !self.input.row(width, true)
                    && let Some(line) = self.history.newer()
                {
                    self.input.set(&line);
                }
            }
            (KeyCode::PageUp, _) => self.scroll(-PAGE),
            (KeyCode::PageDown, _) => self.scroll(PAGE),
            (KeyCode::Home, true) => self.scroll(isize::MIN / 2),
            (KeyCode::End, true) => self.transcript.to_end(),
            _ => {
                if typed(&mut self.input, key) {
                    self.history.stop();
                }
            }
        }
    }

    fn older(&mut self) {
        let typed = self.input.text().to_string();
        match self.history.older(&typed) {
            Some(line) => self.input.set(&line),
            None => self.hint("nothing older begins so"),
        }
    }

    fn complete(&mut self) {
        match completed(self.input.text()) {
            Some(text) if text != self.input.text() => self.input.set(&text),
            Some(text) => {
                let begun = text.trim_start_matches('/');
                let names: Vec<String> =
                    crate::edge::tui::commands::beginning(begun).map(|command| format!("/{}", command.name)).collect();
                self.hint(&names.join("  "));
            }
            None => self.hint("Tab completes commands that begin with /"),
        }
    }

    fn control_c(&mut self) {
        if !self.unanswered.is_empty() {
            self.unanswered.clear();
            self.note(Kind::Note, "It is not asked again.");
        } else if self.busy() {
            self.interrupt();
        } else if !self.input.is_empty() {
            self.input.take();
            self.history.stop();
        } else {
            self.hint("Ctrl+D or /quit leaves");
        }
    }

    fn escape(&mut self) {
        if self.busy() {
            self.interrupt();
        } else if !self.transcript.at_end() {
            self.transcript.to_end();
        } else {
            self.hint("nothing goes on; Ctrl+D or /quit leaves");
        }
    }

    fn interrupt(&mut self) {
        if !self.is_up() {
            return self.hint("there is no connection");
        }
        self.stopping = true;
        self.send("interrupt", Plist::new());
        // What goes on may be of an earlier conversation, after a plan of it was decided about here.
        let goes_on = |session: &String| self.turns.iter().any(|turn| turn.session.as_ref() == Some(session));
        let theirs = self.earlier.iter().filter(|(_, session)| goes_on(session)).map(|(name, _)| name);
        for name in theirs.cloned().collect::<std::collections::BTreeSet<String>>() {
            if name != self.conversation {
                self.send_in(&name, "interrupt", Plist::new());
            }
        }
    }

    /// Shows the side panel, or hides it.
    pub(super) fn toggle_panel(&mut self) {
        let shown = self.areas().panel.width > 0;
        self.panel = Some(!shown);
    }
}

/// Carries out a key that edits; returns whether it was one.
fn typed(input: &mut Input, key: KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let edit = match (key.code, control, alt) {
        (KeyCode::Char('a'), true, _) | (KeyCode::Home, ..) => Edit::LineStart,
        (KeyCode::Char('e'), true, _) | (KeyCode::End, ..) => Edit::LineEnd,
        (KeyCode::Char('u'), true, _) => Edit::KillToStart,
        (KeyCode::Char('k'), true, _) => Edit::KillToEnd,
        (KeyCode::Char('w'), true, _) | (KeyCode::Backspace, _, true) => Edit::KillWord,
        (KeyCode::Char('y'), true, _) => Edit::Yank,
        (KeyCode::Char('d'), true, _) | (KeyCode::Delete, ..) => Edit::Delete,
        (KeyCode::Char('h'), true, _) | (KeyCode::Backspace, ..) => Edit::Backspace,
        (KeyCode::Left, true, _) | (KeyCode::Left, _, true) | (KeyCode::Char('b'), _, true) => Edit::WordLeft,
        (KeyCode::Right, true, _) | (KeyCode::Right, _, true) | (KeyCode::Char('f'), _, true) => Edit::WordRight,
        (KeyCode::Left, ..) => Edit::Left,
        (KeyCode::Right, ..) => Edit::Right,
        (KeyCode::Char(c), false, false) => {
            input.insert(c.encode_utf8(&mut [0; 4]));
            return true;
        }
        _ => return false,
    };
    input.edit(edit);
    true
}
