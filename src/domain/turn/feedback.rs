//! Feedback: what an act or a rejection came to is the next signal, one deeper or tried again, until a limit ends the chain.

use crate::domain::action::Outcome;
use crate::domain::gate::Trace;
use crate::domain::id::PlanId;
use crate::domain::label::{Labels, Privacy, Provenance};
use crate::domain::port::{Call, Message, Sink, Streamed};
use crate::domain::signal::{Body, Depth, Signal};
use crate::domain::turn::error::Fault;
use crate::domain::turn::reason::{By, Refusal};
use crate::domain::turn::report::{Act, ActState, Deed, Ending};
use crate::domain::turn::{Flow, MAX_TRIES, Step, Turn, proposal};

impl Turn {
    /// Gives a rejection back to the model; after the last try it is the outcome, as a fault.
    pub(super) fn rejected(&mut self, signal: Signal, last: Refusal) -> Result<Flow, Fault> {
        self.tries += 1;
        if self.tries < MAX_TRIES {
            return Ok(Flow::Go(Box::new(Step::Reason(signal))));
        }
        let nothing = if self.acted { "nothing further" } else { "nothing" };
        let said = format!("What the model wanted was refused {MAX_TRIES} times, so {nothing} was done.");
        Err(match last.by {
            // What was refused and why stands below the answer, each of it once.
            By::Gate { gate, action } => Fault::Gate { gate, action, reason: said },
            By::Form { raw } => Fault::Protocol { text: format!("{said} The last reason:\n{}", last.words), raw },
        })
    }

    /// Turns what the calls of an answer came to into the next signal, one deeper; at the limit, ends with what was done.
    /// One call that was not carried out makes it a tool's error.
    pub(super) fn feed_back(&mut self, mut signal: Signal, outcomes: Vec<(String, Outcome)>) -> Flow {
        let Some(depth) = signal.depth.deeper() else { return self.offer() };
        let failed = outcomes.iter().find(|(_, outcome)| !matches!(outcome, Outcome::Done(_)));
        signal.body = match (failed, outcomes.last()) {
            (Some((tool, outcome)), _) => Body::ToolError { tool: tool.clone(), text: proposal::outcome(outcome) },
            (None, Some((tool, outcome))) => Body::ToolOutput { tool: tool.clone(), text: proposal::outcome(outcome) },
            (None, None) => Body::ToolOutput { tool: String::new(), text: String::new() },
        };
        signal.depth = depth;
        signal.labels = Labels { provenance: Provenance::Tool, ..self.report.conversation.labels };
        self.report.conversation.depth = depth;
        Flow::Go(Box::new(Step::Reason(signal)))
    }

    /// Asks the model again, one deeper than the conversation; at the limit, ends with an offer.
    pub(super) fn go_on(&mut self, mut signal: Signal) -> Flow {
        let Some(depth) = self.report.conversation.depth.deeper() else { return self.offer() };
        signal.depth = depth;
        self.report.conversation.depth = depth;
        Flow::Go(Box::new(Step::Reason(signal)))
    }

    /// Ends a chain at its limit: with what was done, and an offer to go on.
    pub(super) fn offer(&mut self) -> Flow {
        self.report.notice = Some(format!(
            "Stopped after {} steps. What was done is listed below; say “go on” to continue.",
            Depth::MAX
        ));
        self.report.out_of_steps = true;
        Flow::End(Ending::Answered)
    }

    /// Adds a line to what the user is told beside the answer.
    pub(super) fn tell(&mut self, line: &str) {
        let notice = self.report.notice.get_or_insert_default();
        notice.push_str(if notice.is_empty() { "" } else { "\n" });
        notice.push_str(line);
    }

    pub(super) fn result(&mut self, call: &Call, text: String) {
        let (call, tool) = (call.id.clone(), call.tool.clone());
        self.report.conversation.messages.push(Message::Result { call, tool, text });
    }

    /// Tells what became of acts since the last time.
    pub(super) fn tell_acts(&mut self, sink: Sink<'_>) {
        self.untold.drain(..).for_each(|act| sink(Streamed::Act(&act)));
    }

    /// Notes how an act stands whose deed is the next one of the report; it is told soon.
    pub(super) fn note_act(
        &mut self,
        tool: &str,
        summary: &str,
        state: ActState,
        plan: Option<&PlanId>,
        privacy: Privacy,
    ) {
        let number = self.report.deeds.len();
        let (tool, summary, plan) = (tool.to_string(), summary.to_string(), plan.cloned());
        self.untold.push(Act { number, tool, summary, state, plan, privacy });
    }

    pub(super) fn deed(
        &mut self,
        tool: String,
        summary: String,
        trace: Option<Trace>,
        outcome: String,
        plan: Option<PlanId>,
    ) {
        self.report.deeds.push(Deed { tool, summary, trace, outcome, plan, bare: false });
    }
}
