//! The whole text of a plan, as a human must see it before it can be approved, and its pages.
//!
//! A plan may be long. A client takes its text page by page, so that nothing that it does at once grows with the plan.

use crate::domain::gate::plan::FlightPlan;
use crate::domain::gate::show::{field, shown};
use std::borrow::Cow;

/// The most bytes of one page.
pub const PAGE: usize = 16 * 1024;

/// The parts of a plan's text, in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What would happen.
    Body,
    /// Which gates ask, and why.
    Asked,
    /// Why the agent wants it.
    Why,
    /// The diff of what would be edited.
    Diff,
    /// What came of trying a command out.
    Predicted,
}

impl Part {
    /// Returns the word for the wire.
    pub fn name(self) -> &'static str {
        match self {
            Part::Body => "body",
            Part::Asked => "asked",
            Part::Why => "why",
            Part::Diff => "diff",
            Part::Predicted => "predicted",
        }
    }
}

/// A piece of a plan's text; it never spans two parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The part that it is of.
    pub part: Part,
    /// The text, at most [`PAGE`] bytes; it ends with a line unless the line is longer.
    pub text: String,
    /// Where the next page begins; `None` when this is the last.
    pub next: Option<usize>,
}

/// Returns the parts of a plan's text. The body is never empty; the others may be.
pub fn parts(plan: &FlightPlan) -> [(Part, Cow<'_, str>); 5] {
    let mut asked = String::new();
    for (gate, reason) in plan.asks() {
        field(&mut asked, &gate, &reason);
    }
    [
        (Part::Body, Cow::Borrowed(plan.body.as_str())),
        (Part::Asked, Cow::Owned(asked)),
        (Part::Why, Cow::Owned(shown(plan.action.explanation().as_str()))),
        (Part::Diff, Cow::Borrowed(plan.diff.as_str())),
        (Part::Predicted, Cow::Borrowed(plan.about.tried.as_ref().map_or("", |tried| tried.text.as_str()))),
    ]
}

/// Returns the size of a plan's text in bytes.
pub fn size(plan: &FlightPlan) -> usize {
    parts(plan).iter().map(|(_, text)| text.len()).sum()
}

/// Returns the page that begins at a byte of a plan's text; `None` when no page can begin there.
pub fn page(plan: &FlightPlan, from: usize) -> Option<Page> {
    let parts = parts(plan);
    let total: usize = parts.iter().map(|(_, text)| text.len()).sum();
    let mut begin = 0;
    for (part, text) in &parts {
        let end = begin + text.len();
        if from < end {
            let rest = text.get(from.checked_sub(begin)?..)?;
            let text = cut(rest).to_string();
            let after = from + text.len();
            return Some(Page { part: *part, text, next: (after < total).then_some(after) });
        }
        begin = end;
    }
    None
}

/// Returns as many whole lines as fit into a page, or as much of a line as fits.
fn cut(text: &str) -> &str {
    if text.len() <= PAGE {
        return text;
    }
    let mut end = PAGE;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let fits = text.get(..end).unwrap_or("");
    fits.rfind('\n').and_then(|at| fits.get(..=at)).unwrap_or(fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::action::Action;
    use crate::domain::gate::plan::{About, PlanStatus};
    use crate::domain::gate::{Facts, Opinion, Reason, Trace, Verdict};
    use crate::domain::id::{PlanId, SessionId, TurnId};
    use crate::domain::label::Labels;
    use crate::domain::tool::Toolbox;
    use proptest::prelude::*;

    fn plan(body: String, diff: String) -> FlightPlan {
        let args = serde_json::json!({ "command": "ls" }).as_object().cloned().expect("an object");
        let action = Action::new(&Toolbox::builtin(), "shell", args, Some("To look."), Labels::MODEL);
        let action = action.expect("well-formed");
        let verdict = Verdict::Ask(Reason::new("It runs a command."));
        let opinion = Opinion { gate: "dispatcher".to_string(), priority: 1, verdict };
        FlightPlan {
            id: PlanId("P1".to_string()),
            title: "Run: ls".to_string(),
            facts: Facts::default().hash(),
            body,
            diff,
            trace: Trace { action: action.hash(), opinions: vec![opinion] },
            action,
            session: SessionId("s".to_string()),
            turn: TurnId("t".to_string()),
            call: String::new(),
            created: jiff::Timestamp::UNIX_EPOCH,
            expires: jiff::Timestamp::MAX,
            status: PlanStatus::Pending,
            about: About::default(),
        }
    }

    /// Returns the whole text as a client puts it together.
    fn read(plan: &FlightPlan) -> String {
        let (mut text, mut next) = (String::new(), Some(0));
        while let Some(from) = next {
            assert_eq!(from, text.len(), "pages follow each other");
            let page = page(plan, from).expect("the core said that there is one");
            assert!(!page.text.is_empty() && page.text.len() <= PAGE);
            text.push_str(&page.text);
            next = page.next;
        }
        text
    }

    #[test]
    fn a_plan_has_its_parts_in_order() {
        let plan = plan("Tool: shell\n".to_string(), "+a\n".to_string());
        assert_eq!(read(&plan), "Tool: shell\ndispatcher: It runs a command.\nTo look.+a\n");
        assert_eq!(page(&plan, 12).map(|page| page.part), Some(Part::Asked));
        assert_eq!(page(&plan, size(&plan)), None);
        assert_eq!(page(&plan, usize::MAX), None);
    }

    proptest! {
        #[test]
        fn pages_are_the_whole_text(body in "[aä\n]{1,40}", times in 1usize..2000) {
            let plan = plan(body.repeat(times), body.clone());
            let whole: String = parts(&plan).iter().map(|(_, text)| text.as_ref()).collect();
            prop_assert_eq!(read(&plan), whole);
        }
    }
}
