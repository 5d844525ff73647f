//! What happens when the store's folder or its socket is taken away under the process that owns it.

use crate::domain::port::LogLevel;
use crate::edge::runtime::Loop;

impl Loop {
    /// Has the store put back where it was deleted, and says what came of it, once for each outcome.
    pub(super) fn stay(&mut self) {
        let (engine, said) = (self.engine.clone(), self.uprooted.clone());
        tokio::spawn(async move {
            // One looks at a time; what comes meanwhile is looked at by the next tick.
            let Ok(mut said) = said.try_lock() else { return };
            let store = engine.config.store.display().to_string();
            let (level, text) = match engine.stay().await {
                Ok(()) => (
                    LogLevel::Warning,
                    format!(
                        "{store}: the folder of the store, its lock or its socket was taken away while it was in use; nothing is lost, and what was missing is put back"
                    ),
                ),
                Err(why) => (
                    LogLevel::Error,
                    format!(
                        "{why}; put the folder back where it was, or start Passepartout again (M-x passepartout-doctor)"
                    ),
                ),
            };
            if *said != text {
                engine.say(level, &text);
                *said = text;
            }
        });
    }
}
