//! What a client has read of the plans: an approval counts only when it took the whole text.
//!
//! It also joins the slices of an argument that the user edited.

use crate::domain::gate::plan::{FlightPlan, PlanStatus};
use crate::domain::id::PlanId;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::Origin;
use crate::edge::engine::Engine;
use crate::edge::engine::turns::Decided;
use crate::edge::runtime::show;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// The longest text of an edited argument, in bytes.
const EDIT_MOST: usize = 16 << 20;

/// What one client has taken of the texts of plans, and what it sends of an edited argument.
#[derive(Default)]
pub(super) struct Reading {
    /// Where the next page begins of each plan that was begun; `None` when all pages were taken.
    read: HashMap<PlanId, Option<usize>>,
    edit: Option<Edit>,
}

/// A text for an argument of a plan.
pub(super) struct Edit {
    plan: String,
    name: String,
    text: String,
}

impl Reading {
    /// Takes a slice of an edited argument; returns the edit when that was the last.
    ///
    /// # Errors
    /// When the slice does not follow a first one, or the text is too long.
    pub(super) fn take_edit(&mut self, payload: &Sexp) -> Result<Option<Edit>, String> {
        let text = |name: &str| payload.text_at(name).unwrap_or("").to_string();
        let (plan, name) = (text("plan"), text("name"));
        if payload.flag_at("first") {
            self.edit = Some(Edit { plan: plan.clone(), name: name.clone(), text: String::new() });
        }
        let begun = self.edit.take().filter(|edit| edit.plan == plan && edit.name == name);
        let mut edit = begun.ok_or_else(|| "a part of the edited text is missing; edit the plan again".to_string())?;
        edit.text.push_str(&text("value"));
        if edit.text.len() > EDIT_MOST {
            return Err(format!("the text is too long; at most {} MB can be sent", EDIT_MOST >> 20));
        }
        if payload.flag_at("more") {
            self.edit = Some(edit);
            return Ok(None);
        }
        Ok(Some(edit))
    }

    /// Notes that the page that begins at `from` was taken. Only pages that follow each other count.
    fn note_page(&mut self, id: &PlanId, from: usize, next: Option<usize>) {
        let read = self.read.entry(id.clone()).or_insert(Some(0));
        if *read == Some(from) {
            *read = next;
        }
    }

    /// Says why an approval does not count when this client has not taken the whole text of a plan that waits.
    pub(super) fn unseen(&self, engine: &Engine, id: &str, shown: &str) -> Option<String> {
        let right =
            |plan: &FlightPlan| (plan.status == PlanStatus::Pending && plan.shown() == shown).then(|| plan.id.clone());
        // What is wrong otherwise is said when the decision is looked at.
        let id = engine.with_plan(id, right).flatten()?;
        let whole = self.read.get(&id).is_some_and(|read| read.is_none());
        (!whole).then(|| format!("plan {id} has not been shown to its end; look at the rest of it first"))
    }

    /// Says why a typed approval does not count when its plan was not shown to its end.
    pub(super) fn typed_unseen(&self, engine: &Engine, text: &str) -> Option<String> {
        let (id, decided) = engine.typed_decision(text)?;
        match decided {
            Decided::Approve { shown } => {
                self.unseen(engine, id, &shown).map(|why| format!("{why} (M-x passepartout-flight-plans)."))
            }
            Decided::Deny { .. } => None,
        }
    }
}

/// Says that there is no such plan.
pub(super) fn no_plan(id: &str) -> String {
    format!("there is no plan {}", crate::domain::inert::exact(id))
}

/// Has a plan judged anew with an argument that was edited; before its last slice came, answers nothing.
pub(super) async fn edit_plan(
    engine: &Arc<Engine>,
    origin: &Origin,
    edit: Result<Option<Edit>, String>,
) -> Result<Plist, String> {
    let Some(Edit { plan: id, name, text }) = edit? else { return Ok(Plist::new()) };
    let args = engine.with_plan(&id, |plan| show::edited(plan, &name, &text)).unwrap_or_else(|| Err(no_plan(&id)))?;
    let plan = engine.edit_plan(origin, &id, args).await?;
    Ok(Plist::new().plist("plan", show::plan(&plan)))
}

/// Answers with a page of a plan's text, and notes that this client has it.
pub(super) fn plan_page(engine: &Engine, reading: &Mutex<Reading>, payload: &Sexp) -> Result<Plist, String> {
    let (id, from) = (payload.text_at("plan").unwrap_or(""), payload.count_at("from").unwrap_or(0));
    let found = engine.with_plan(id, |plan| (plan.id.clone(), show::plan_page(plan, from)));
    let (id, page) = found.ok_or_else(|| no_plan(id))?;
    let (page, next) = page?;
    reading.lock().note_page(&id, from, next);
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(reading: &mut Reading, text: &str) -> Result<Option<String>, String> {
        let payload = Sexp::read(text).expect("a test's own message");
        reading.take_edit(&payload).map(|edit| edit.map(|edit| edit.text))
    }

    #[test]
    fn slices_of_an_edit_are_joined_and_none_may_be_missing() {
        let mut reading = Reading::default();
        let mut take = |text: &str| slice(&mut reading, text);
        assert_eq!(take("(:plan \"P1\" :name \"a\" :value \"x\" :first t :more t)"), Ok(None));
        assert_eq!(take("(:plan \"P1\" :name \"a\" :value \"y\")"), Ok(Some("xy".to_string())));
        // The rest of a text of which a part was refused or went to another plan becomes no text of its own.
        assert!(take("(:plan \"P1\" :name \"a\" :value \"z\")").is_err());
        assert_eq!(take("(:plan \"P1\" :name \"a\" :value \"x\" :first t :more t)"), Ok(None));
        assert!(take("(:plan \"P2\" :name \"a\" :value \"y\")").is_err());
        assert!(take("(:plan \"P1\" :name \"a\" :value \"z\")").is_err());
        let long = format!("(:plan \"P1\" :name \"a\" :value \"{}\" :first t :more t)", "x".repeat(3 << 20));
        assert_eq!(take(&long), Ok(None));
        let long = long.replace(":first t", "");
        while take(&long) == Ok(None) {}
        assert!(take("(:plan \"P1\" :name \"a\" :value \"y\")").is_err());
    }
}
