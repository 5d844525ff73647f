//! Tools of the user's own: which their Emacs has declared, and what becomes of a declaration.

use crate::domain::port::LogLevel;
use crate::domain::sexp::reader::Sexp;
use crate::domain::tool::Toolbox;
use crate::domain::tool::own::{Definition, MOST, Shelf};
use crate::edge::engine::Engine;
use parking_lot::Mutex;

/// The tools of all declarations that this process has taken. They stay in memory, as the builtin ones do.
pub(super) static SHELF: Mutex<Shelf> = Mutex::new(Shelf::new());

impl Engine {
    /// Returns the tools as they are now.
    pub fn toolbox(&self) -> Toolbox {
        self.tools.read().clone()
    }

    /// Takes a declaration, in place of one of that name. Whoever calls this has made sure that it comes from the user's
    /// Emacs and from nobody else.
    ///
    /// # Errors
    /// In words that say what is wrong with it and what to do; then nothing has changed.
    pub fn define_tool(&self, said: &Sexp) -> Result<String, String> {
        let definition = Definition::read(said)?;
        let hash = definition.hash();
        let mut tools = self.tools.write();
        let name = definition.name().to_string();
        let before = tools.definition(&name);
        if before == Some(hash) {
            return Ok(format!("{name} is declared so already."));
        }
        let declared = tools.own().iter().filter(|own| own.served().is_none()).count();
        if before.is_none() && declared >= MOST {
            return Err(format!("{MOST} tools of your own are declared; take one away before {name} is added"));
        }
        let own = definition.into_own(&mut SHELF.lock())?;
        *tools = tools.with(own.clone());
        drop(tools);
        let anew = if before.is_some() { " anew" } else { "" };
        let text = format!("your tool {name} ({}) is declared{anew}", own.tool().effect.class().name());
        self.say(LogLevel::Info, &text);
        Ok(text)
    }

    /// Takes a tool of the user's own away.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn undefine_tool(&self, name: &str) -> Result<String, String> {
        let mut tools = self.tools.write();
        let is_it = |own: &crate::domain::tool::own::Own| own.tool().name == name && own.served().is_none();
        if !tools.own().iter().any(is_it) {
            let name = crate::domain::action::clip(name);
            return Err(format!("there is no tool of your own with the name “{name}”"));
        }
        *tools = tools.without(name);
        drop(tools);
        let text = format!("your tool {name} is taken away");
        self.say(LogLevel::Info, &text);
        Ok(text)
    }
}
