//! What ends a fault: whoever is asked chooses, memory goes back, and a loop-error is raised one deeper.

use crate::domain::port::{LogLevel, Sink, Streamed};
use crate::domain::signal::{Body, Sensor, Signal};
use crate::domain::turn::error::{Fault, Resolution};
use crate::domain::turn::report::{Deed, Ending};
use crate::domain::turn::{Desk, Turn};
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;

impl Turn {
    /// Ends the turn as was chosen for a fault, and says what failed and what was done about it.
    /// Returns the loop-error that the fault raises; none when the chain is already deep or about an error.
    pub(super) async fn fail(&mut self, fault: &Fault, at: &Signal, desk: &Desk<'_>, sink: Sink<'_>) -> Option<Signal> {
        if self.failed {
            // The loop-error itself broke: the first fault has ended the turn already.
            return None;
        }
        self.failed = true;
        let (sensor, depth) = (at.body.sensor(), at.depth);
        let line = format!("{}, depth {}: {}", sensor.name(), depth.get(), fault.logged());
        let (ending, done) = match resolve(fault, &line, desk, sink).await {
            Resolution::Skip => (Ending::Answered, Some("The skill that was at work leaves it at that.")),
            Resolution::Fallback(text) => {
                self.report.text = text;
                (Ending::Answered, Some("The skill that was at work answered with its own text instead."))
            }
            Resolution::Abort => (Ending::Failed, None),
        };
        self.report.ending = ending;
        let said = [self.report.notice.take(), Some(fault.to_string()), done.map(str::to_string)];
        self.report.notice = Some(said.into_iter().flatten().collect::<Vec<_>>().join("\n"));
        self.report.fault = Some(fault.clone());
        self.withdraw();
        let about_error = is_error_sensor(sensor);
        self.report.roll_back |= !about_error;
        raised(at, fault).filter(|_| depth.get() <= DEEPEST && !about_error)
    }

    /// Takes back plans that were parked before the fault: the conversation that they wait for does not go on.
    fn withdraw(&mut self) {
        let plans = std::mem::take(&mut self.report.plans);
        let of_plans = |deed: &&mut Deed| deed.plan.as_ref().is_some_and(|id| plans.contains(id));
        for deed in self.report.deeds.iter_mut().filter(of_plans) {
            deed.outcome = "withdrawn: the turn failed behind it".to_string();
        }
    }
}

/// The deepest signal whose fault still raises a loop-error.
const DEEPEST: u8 = 2;

/// Logs a fault and asks what ends it. Whoever is asked may break too: then the turn aborts.
async fn resolve(fault: &Fault, line: &str, desk: &Desk<'_>, sink: Sink<'_>) -> Resolution {
    let asked = AssertUnwindSafe(async {
        // The user is told in the answer itself.
        desk.journal.log(LogLevel::Warning, line);
        let resolution = desk.skill.resolve(fault).await;
        if let Resolution::Fallback(text) = &resolution {
            sink(Streamed::Text(text));
        }
        resolution
    });
    asked.catch_unwind().await.unwrap_or(Resolution::Abort)
}

fn is_error_sensor(sensor: Sensor) -> bool {
    matches!(sensor, Sensor::LoopError | Sensor::ToolError | Sensor::SyntaxError)
}

fn raised(at: &Signal, fault: &Fault) -> Option<Signal> {
    Some(Signal { depth: at.depth.deeper()?, body: Body::LoopError { text: fault.logged() }, ..at.clone() })
}

/// Longest text of a panic that is kept, in characters.
const LONGEST: usize = 300;

/// What a panic may quote: code, and no text of anybody.
const CODE: &[&str] = &[
    "Option::unwrap()",
    "Result::unwrap()",
    "Result::unwrap_err()",
    "Some",
    "None",
    "Ok",
    "Err",
    "left == right",
    "left != right",
    "left matches right",
];

/// Returns the first line of a panic's text without what it quotes, which may be a passage of a note: for notices, the
/// log and the store.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    redacted(words.unwrap_or("something panicked without a word"))
}

fn redacted(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    // Behind this stands what an error holds.
    let line = line.split_once("value: ").map_or(line, |(before, _)| before);
    let mut out = String::new();
    for (n, piece) in line.split('`').enumerate() {
        if n % 2 == 0 {
            out.push_str(piece);
        } else if CODE.contains(&piece) {
            out.extend(["`", piece, "`"]);
        } else {
            // A quotation may hold the mark that ends it: nothing behind it is kept.
            out.push_str("`…`");
            break;
        }
    }
    if let Some((before, _)) = out.split_once(['"', '“']) {
        out = format!("{before}“…”");
    }
    match out.char_indices().nth(LONGEST) {
        None => out,
        Some((at, _)) => format!("{}…", out.get(..at).unwrap_or("")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_panic_quotes_is_left_out() {
        for (text, shown) in [
            ("nothing special", "nothing special"),
            ("called `Option::unwrap()` on a `None` value", "called `Option::unwrap()` on a `None` value"),
            ("byte index 3 is out of bounds of `My diagnosis`", "byte index 3 is out of bounds of `…`"),
            ("index 3 is out of bounds of `My `Ok` diagnosis`", "index 3 is out of bounds of `…`"),
            ("out of bounds of `my::diagnosis == bad`", "out of bounds of `…`"),
            ("an open `quote of a note", "an open `…`"),
            ("called `Result::unwrap()` on an `Err` value: Bad(\"mine\")", "called `Result::unwrap()` on an `Err` "),
            ("the file is there: Missing(\"My \\\"diagnosis\\\" is bad\")", "the file is there: Missing(“…”"),
            ("no heading “My diagnosis” here", "no heading “…”"),
            ("assertion `left == right` failed\n  left: \"mine\"", "assertion `left == right` failed"),
        ] {
            assert_eq!(panic_text(&text.to_string()), shown);
        }
        assert_eq!(panic_text(&"é".repeat(400)).chars().count(), LONGEST + 1);
        assert_eq!(panic_text(&7), "something panicked without a word");
    }
}
