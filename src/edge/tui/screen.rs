//! The terminal itself: taken at the start, and given back as it was, however this ends.

use crate::edge::panics;
use crate::edge::stderr::complain;
use crate::edge::tui::state::State;
use crate::edge::tui::view::draw;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use std::io::{self, Stdout, stdout};
use tokio::sync::mpsc::UnboundedReceiver;

/// The terminal, while it is ours.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    taken: bool,
    /// What broke meanwhile: it is printed when the terminal is given back.
    broken: UnboundedReceiver<String>,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// When it cannot be taken.
    pub fn take(mouse: bool) -> io::Result<Screen> {
        let terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        let mut screen = Screen { terminal, taken: false, broken: panics::listen() };
        screen.enter(mouse)?;
        Ok(screen)
    }

    /// Takes the terminal again.
    ///
    /// # Errors
    /// When it cannot be taken.
    pub fn enter(&mut self, mouse: bool) -> io::Result<()> {
        self.taken = true;
        enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
        self.take_mouse(mouse)?;
        self.terminal.clear()
    }

    /// Takes the mouse, or leaves it to the terminal.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn take_mouse(&mut self, mouse: bool) -> io::Result<()> {
        if mouse { execute!(stdout(), EnableMouseCapture) } else { execute!(stdout(), DisableMouseCapture) }
    }

    /// Gives the terminal back.
    pub fn leave(&mut self) {
        if !std::mem::take(&mut self.taken) {
            return;
        }
        // Each is tried: of a terminal that is gone nothing can be put right.
        let _ = execute!(stdout(), DisableMouseCapture, DisableBracketedPaste, LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }

    /// Gives back what a program that had the terminal left of it when it was ended.
    pub fn restore(&mut self) {
        self.taken = true;
        self.leave();
    }

    /// Draws all of it anew.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn clear(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }

    /// Returns its size.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        self.terminal.size().map(|size| (size.width, size.height))
    }

    /// Draws the state.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn draw(&mut self, state: &mut State) -> io::Result<()> {
        self.terminal.draw(|frame| draw(frame, state)).map(drop)
    }

    /// Returns what broke meanwhile.
    pub fn broken(&mut self) -> Option<String> {
        self.broken.try_recv().ok()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
        while let Some(line) = self.broken() {
            complain(&format!("passepartout: {line}"));
        }
    }
}
