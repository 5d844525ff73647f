//! Tools of the user's own: which their Emacs has declared, and what becomes of a declaration.

use crate::domain::port::LogLevel;
use crate::domain::sexp::reader::Sexp;
use crate::domain::tool::Toolbox;
use crate::domain::tool::own::{Definition, MOST, Own};
use crate::edge::engine::Engine;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// How many different declarations one process takes. Each stays in memory, as the builtin ones do; none is larger than
/// a few hundred kilobytes.
const MOST_KNOWN: usize = 1_000;

/// Every declaration that this process has taken, by its name: declared again it is the same.
static KNOWN: Mutex<BTreeMap<[u8; 32], Own>> = Mutex::new(BTreeMap::new());

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
        let own = {
            let mut known = KNOWN.lock();
            match known.get(&hash) {
                Some(own) => own.clone(),
                None if known.len() >= MOST_KNOWN => {
                    return Err(format!("{MOST_KNOWN} declarations of tools were taken already; start Emacs anew"));
                }
                None => known.entry(hash).or_insert(definition.into_own()).clone(),
            }
        };
        let name = own.tool().name;
        let before = tools.definition(name);
        if before == Some(hash) {
            return Ok(format!("{name} is declared so already."));
        }
        if before.is_none() && tools.own().len() >= MOST {
            return Err(format!("{MOST} tools of your own are declared; take one away before {name} is added"));
        }
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
        if tools.definition(name).is_none() {
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
