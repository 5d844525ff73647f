//! What ends a fault: whoever is asked chooses, memory goes back, and a loop-error is raised one deeper.

use crate::domain::port::{LogLevel, Sink};
use crate::domain::signal::{Body, Sensor, Signal};
use crate::domain::turn::error::{Fault, Resolution};
use crate::domain::turn::report::{Deed, Ending};
use crate::domain::turn::{Desk, Turn};
use std::panic::AssertUnwindSafe;

impl Turn {
    /// Ends the turn as was chosen for a fault, and says what failed and what was done about it.
    /// Returns the loop-error that the fault raises; none when the chain is already deep or about an error.
    pub(super) fn fail(&mut self, fault: &Fault, at: &Signal, desk: &Desk<'_>, sink: Sink<'_>) -> Option<Signal> {
        if self.failed {
            // The loop-error itself broke: the first fault has ended the turn already.
            return None;
        }
        self.failed = true;
        let (sensor, depth) = (at.body.sensor(), at.depth);
        let (ending, done) = match resolve(
            fault,
            &format!("{}, depth {}: {}", sensor.name(), depth.get(), fault.logged()),
            desk,
            sink,
        ) {
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
fn resolve(fault: &Fault, line: &str, desk: &Desk<'_>, sink: Sink<'_>) -> Resolution {
    let asked = std::panic::catch_unwind(AssertUnwindSafe(|| {
        desk.journal.log(LogLevel::Error, line);
        let resolution = (desk.on_error)(fault);
        if let Resolution::Fallback(text) = &resolution {
            sink(text);
        }
        resolution
    }));
    asked.unwrap_or(Resolution::Abort)
}

fn is_error_sensor(sensor: Sensor) -> bool {
    matches!(sensor, Sensor::LoopError | Sensor::ToolError | Sensor::SyntaxError)
}

fn raised(at: &Signal, fault: &Fault) -> Option<Signal> {
    Some(Signal { depth: at.depth.deeper()?, body: Body::LoopError { text: fault.logged() }, ..at.clone() })
}

/// Returns the words of a panic.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().map(|s| s.to_string()).or_else(|| panic.downcast_ref::<String>().cloned());
    words.unwrap_or_else(|| "something panicked without a word".to_string())
}
