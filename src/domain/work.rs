//! The quadrant of a turn: whether a human waits for it, or nobody does. The router and the ledger both ask here.

use crate::domain::signal::{Sensor, Source};

/// On whose behalf a model is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// A human set it off, and waits.
    Foreground,
    /// Something else set it off; nobody waits.
    Background,
}

impl Work {
    /// Returns what a turn is that came by a channel, set off by such a signal: in the foreground is only what a human's
    /// own channel brought by a signal that a human waits for.
    pub fn of(source: Source, set_off: Sensor) -> Work {
        let by_human = match source {
            Source::Emacs | Source::Cli | Source::Client | Source::Gateway => true,
            Source::Clock | Source::System => false,
        };
        match by_human && is_waited_for(set_off) {
            true => Work::Foreground,
            false => Work::Background,
        }
    }

    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Work::Foreground => "foreground",
            Work::Background => "background",
        }
    }

    /// Reads the word; “chat” is what ledgers before this name say of the foreground.
    pub fn parse(word: &str) -> Option<Work> {
        match word {
            "foreground" | "chat" => Some(Work::Foreground),
            "background" => Some(Work::Background),
            _ => None,
        }
    }
}

/// Tells whether a human waits for what such a signal sets off.
fn is_waited_for(set_off: Sensor) -> bool {
    match set_off {
        Sensor::UserInput
        | Sensor::ChatMessage
        | Sensor::UserCommand
        | Sensor::Interrupt
        | Sensor::ToolOutput
        | Sensor::ToolError
        | Sensor::Approval
        | Sensor::Denial
        | Sensor::ReplEval
        | Sensor::Undo
        | Sensor::Redo => true,
        Sensor::BufferUpdate
        | Sensor::PointUpdate
        | Sensor::Heartbeat
        | Sensor::Schedule
        | Sensor::Hook
        | Sensor::Delegation
        | Sensor::LoopError
        | Sensor::SyntaxError
        | Sensor::RepairRequest => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_humans_channel_brought_by_a_humans_signal_is_in_the_foreground() {
        let foreground = |source: Source, set_off: Sensor| Work::of(source, set_off) == Work::Foreground;
        for (source, set_off, expected) in [
            (Source::Emacs, Sensor::UserInput, true),
            (Source::Gateway, Sensor::ChatMessage, true),
            (Source::Cli, Sensor::Approval, true),
            (Source::Emacs, Sensor::Schedule, false),
            (Source::Client, Sensor::Delegation, false),
            (Source::Clock, Sensor::UserInput, false),
            (Source::System, Sensor::ToolOutput, false),
        ] {
            assert_eq!(foreground(source, set_off), expected, "{source:?} {set_off:?}");
        }
        // Whatever sets it off, the clock and the system wait for nothing.
        for set_off in Sensor::ALL {
            assert!(!foreground(Source::Clock, set_off) && !foreground(Source::System, set_off), "{set_off:?}");
        }
    }

    #[test]
    fn its_word_is_read_again_and_that_of_older_ledgers_too() {
        for work in [Work::Foreground, Work::Background] {
            assert_eq!(Work::parse(work.name()), Some(work));
        }
        assert_eq!((Work::parse("chat"), Work::parse("Background")), (Some(Work::Foreground), None));
    }
}
