//! Commands that set or remove dates.

use super::Words;
use crate::domain::recall::clause::{Clauses, Places, peel, when_of};
use crate::domain::recall::date::{Days, Lean, days};
use crate::domain::recall::request::{Planning, Request, When};
use std::ops::Range;

impl Words<'_, '_> {
    /// “set the deadline of X to Friday”, “X is due on Friday”, “deadline for X: 25 Nov”.
    pub(super) fn deadline(&self, range: Range<usize>) -> Option<Request> {
        let heads = [
            "set a deadline",
            "set the deadline",
            "set deadline",
            "add a deadline",
            "add deadline",
            "deadline",
            "change the deadline",
            "move the deadline",
            "set the due date",
            "set due date",
            "change the due date",
            "give a deadline",
            "due date",
            "extend the deadline",
            "put a deadline",
        ];
        let at = self.after(&range, &heads)?;
        let named = self.is(at, &["of", "for", "on"]);
        let at = if named { at + 1 } else { at };
        let found = self.target_and_days(at..range.end, &["to", "on", "for", "is", "at", "by", "as", "until"]);
        let Some((target, days)) = found else {
            let target = named.then(|| self.name(at..range.end)).flatten()?;
            return Some(Request::ScheduleWhen { target, planning: Planning::Deadline });
        };
        let when = when_of(days, Planning::Deadline, false, self.now)?;
        Some(Request::Schedule { target, plans: vec![(Planning::Deadline, Some(when))] })
    }

    /// Splits “X to Friday” into a name and days.
    fn target_and_days(&self, range: Range<usize>, joints: &[&str]) -> Option<(String, Days)> {
        let first = (range.start + 1).max(range.end.saturating_sub(12));
        for at in first..range.end {
            let introduced = self.is(at - 1, joints);
            // “in” and “at” belong to some dates, and introduce others.
            let skip = usize::from(self.is(at, joints) || self.is(at, &["in"]) && self.plain_in(at, range.end));
            let words = self.tokens.list.get(at + skip..range.end)?;
            let Some((days, used)) = days(words, self.now, Lean::Coming, introduced || skip > 0) else { continue };
            if at + skip + used == range.end {
                let end = if introduced { at - 1 } else { at };
                return Some((self.name(range.start..end)?, days));
            }
        }
        None
    }

    /// Returns whether “in” stands before a month or year, not a count.
    pub(super) fn plain_in(&self, at: usize, end: usize) -> bool {
        self.tokens.list.get(at..end).is_some_and(|words| days(words, self.now, Lean::Coming, true).is_none())
    }

    /// “unschedule X”, “remove the deadline of X”.
    pub(super) fn unschedule(&self, range: Range<usize>) -> Option<Request> {
        if let Some(at) = self.after(&range, &["unschedule", "deschedule"]) {
            return Some(Request::Schedule {
                target: self.name(at..range.end)?,
                plans: vec![(Planning::Scheduled, None)],
            });
        }
        let at = self.after(&range, &["remove", "clear", "delete", "drop", "cancel", "unset"])?;
        let at = if self.is(at, &["the"]) { at + 1 } else { at };
        let rest = at..range.end;
        let (at, planning) = match self.after(&rest, &["deadline", "due date"]) {
            Some(at) => (at, Planning::Deadline),
            None => {
                (self.after(&rest, &["schedule", "scheduled date", "scheduling", "planned date"])?, Planning::Scheduled)
            }
        };
        let at = if self.is(at, &["of", "from", "for", "on"]) { at + 1 } else { at };
        Some(Request::Schedule { target: self.name(at..range.end)?, plans: vec![(planning, None)] })
    }

    /// “schedule X for Friday at 15:00”, “postpone X until Monday”, “put X on Tuesday”.
    pub(super) fn schedule(&self, range: Range<usize>) -> Option<Request> {
        let verbs = [
            "schedule",
            "reschedule",
            "plan",
            "postpone",
            "defer",
            "delay",
            "push",
            "push back",
            "put",
            "put off",
            "set",
            "bring forward",
            "move",
            "shift",
            "do",
            "book",
            "pencil in",
            "re-schedule",
        ];
        let at = self.after(&range, &verbs)?;
        // “do I have time on Tuesday” is a question.
        if self.is(range.start, &["do"]) && self.is(at, &["i", "we", "you", "they"]) {
            return None;
        }
        if self.is(at, &["a", "an"]) && self.is(range.start, &["schedule", "plan", "book"]) {
            // “schedule a call with Bob on Friday” wants something new.
            return self.new_todo(peel(self.tokens, at + 1..range.end, self.now, Places::Taken)).filter(dated);
        }
        let found = peel(self.tokens, at..range.end, self.now, Places::Left);
        let to = self.target_and_days(at..range.end, &["to", "until", "till", "for", "on"]);
        let plans = match &to {
            // “until” is a deadline only where something is to be finished.
            Some((_, days)) if found.deadline.is_none() || self.until(&found) => {
                vec![(Planning::Scheduled, Some(when_of(*days, Planning::Scheduled, false, self.now)?))]
            }
            _ => found.plans(),
        };
        let target = match to {
            Some((target, _)) if found.plans().len() < 2 && (found.deadline.is_none() || self.until(&found)) => target,
            _ => self.name(found.rest.clone())?,
        };
        let plans = if found.plans().len() == 2 { found.plans() } else { plans };
        if plans.is_empty() {
            // Other verbs of the list mean something else without a date.
            let plain = ["schedule", "reschedule", "re-schedule", "postpone", "defer", "delay"];
            let end =
                if self.is(range.end - 1, &["for", "to", "on", "until", "by"]) { range.end - 1 } else { range.end };
            // “postpone it by a week” asks for a shift, which is not understood.
            let shifts = (at..end).any(|at| self.is(at, &["by"]));
            let target = (!shifts && self.is(range.start, &plain)).then(|| self.name(at..end)).flatten()?;
            return Some(Request::ScheduleWhen { target, planning: Planning::Scheduled });
        }
        Some(Request::Schedule { target, plans })
    }

    fn until(&self, found: &Clauses) -> bool {
        self.is(found.rest.end, &["until", "till"])
    }
}

fn dated(request: &Request) -> bool {
    let has = |scheduled: &Option<When>, deadline: &Option<When>| scheduled.is_some() || deadline.is_some();
    matches!(request, Request::AddTodo { scheduled, deadline, .. } if has(scheduled, deadline))
}
