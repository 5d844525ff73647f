//! Plans of a prompt: read whole where the user let this program decide, shown to the editor's user, and decided about.
//!
//! An answer decides about what was shown, once, and about nothing else. What is no answer of ours denies.

use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::edge::acp::agent::{Agent, Wanted};
use crate::edge::acp::session::{Plan, Reading, Stage};
use crate::edge::acp::show::{self, ALLOW};
use agent_client_protocol_schema::v1::{RequestPermissionOutcome, RequestPermissionResponse, StopReason};
use serde_json::Value;

/// Plans of one decision are shown in an editor up to so many bytes; longer ones are read in Emacs.
const MOST: usize = 256 << 10;
/// And up to so many: the core takes no more of one decision.
const STEPS: usize = 200;

/// What came of asking the editor's user.
enum Answer {
    /// Exactly what was shown.
    Yes,
    /// No, or nothing that we offered.
    No,
    /// Nobody was asked, or the prompt was stopped.
    None,
}

impl Answer {
    fn read(message: &Value) -> Answer {
        let Some(result) = message.get("result") else { return Answer::None };
        match serde_json::from_value::<RequestPermissionResponse>(result.clone()).map(|read| read.outcome) {
            Ok(RequestPermissionOutcome::Cancelled) => Answer::None,
            Ok(RequestPermissionOutcome::Selected(selected)) if *selected.option_id.0 == *ALLOW => Answer::Yes,
            Ok(_) | Err(_) => Answer::No,
        }
    }
}

impl Agent {
    /// Says which plans wait, and where they are decided about.
    pub(super) fn waits(&self, plans: &[String]) -> String {
        match plans {
            [] => String::new(),
            plans => format!(
                "{} for your approval; nothing was changed yet. Look at it in Emacs (M-x passepartout-flight-plans) or at a \
                 terminal (passepartout plans approve {}).",
                if let [one] = plans {
                    format!("Plan {one} waits")
                } else {
                    format!("Plans {} wait", plans.join(", "))
                },
                plans.first().map_or("PLAN", String::as_str)
            ),
        }
    }

    /// Begins to read the plans that a prompt came to.
    pub(super) fn read_plans(&mut self, name: &str, ids: Vec<String>) {
        let plan = |id: &String| Plan { id: id.clone(), ..Plan::default() };
        let reading = Reading { plans: ids.iter().map(plan).collect(), ..Reading::default() };
        self.stage(name, Stage::Reading(reading));
        self.request(name, "plans", Plist::new().texts("ids", ids), Wanted::Plans);
    }

    /// Takes the list of plans; who may not see them is told that they wait.
    pub(super) fn plans_listed(&mut self, name: &str, payload: &Sexp) {
        let Some(mut reading) = self.reading(name) else { return };
        let listed = payload.list_at("plans");
        let text = |plan: &Sexp, key: &str| plan.text_at(key).unwrap_or_default().to_string();
        let mut found = Vec::new();
        for plan in listed.iter().filter(|plan| plan.text_at("status") == Some("pending")) {
            let (id, title) = (text(plan, "id"), text(plan, "title"));
            let (tool, shown) = (text(plan, "tool"), text(plan, "shown"));
            if reading.plans.iter().any(|wanted| wanted.id == id) {
                found.push((plan.int_at("step"), Plan { id, title, tool, shown, parts: Vec::new() }));
            }
        }
        found.sort_by_key(|(step, _)| *step);
        // Who may see a plan and not decide about it would be asked for a yes that does not count.
        let refused = payload.text_at("error").is_some() || !payload.flag_at("decides");
        let size: usize = listed.iter().filter_map(|plan| plan.count_at("size")).sum();
        if refused || size > MOST || found.len() > STEPS {
            let ids: Vec<String> = reading.plans.into_iter().map(|plan| plan.id).collect();
            return self.leave(name, &ids, StopReason::EndTurn);
        }
        if found.is_empty() {
            // Somebody decided meanwhile.
            return self.finish(name, Ok(StopReason::EndTurn));
        }
        reading.plans = found.into_iter().map(|(_, plan)| plan).collect();
        self.next_page(name, reading);
    }

    fn next_page(&mut self, name: &str, reading: Reading) {
        let Some(plan) = reading.plans.get(reading.at) else { return self.ask_editor(name, reading) };
        let page = Plist::new().text("plan", plan.id.as_str()).int("from", reading.from);
        self.stage(name, Stage::Reading(reading));
        self.request(name, "plan-page", page, Wanted::Page);
    }

    /// Takes a page of a plan.
    pub(super) fn page_read(&mut self, name: &str, payload: &Sexp) {
        let Some(mut reading) = self.reading(name) else { return };
        let ids: Vec<String> = reading.plans.iter().map(|plan| plan.id.clone()).collect();
        let Some(plan) = reading.plans.get_mut(reading.at) else { return };
        let (part, text) = (payload.name_at("part").unwrap_or_default(), payload.text_at("text").unwrap_or_default());
        match plan.parts.last_mut() {
            Some((last, body)) if last == part => body.push_str(text),
            _ => plan.parts.push((part.to_string(), text.to_string())),
        }
        let read: usize = plan.parts.iter().map(|(_, body)| body.len()).sum();
        match (payload.text_at("error"), payload.int_at("next"), payload.text_at("shown")) {
            (None, Some(next), _) if next > reading.from && read <= MOST => reading.from = next,
            (None, None, Some(shown)) if shown == plan.shown => (reading.at, reading.from) = (reading.at + 1, 0),
            // It is not what was listed any more, or no longer shown here.
            _ => return self.leave(name, &ids, StopReason::EndTurn),
        }
        self.next_page(name, reading);
    }

    fn ask_editor(&mut self, name: &str, reading: Reading) {
        let first = reading.plans.first().map(|plan| plan.id.clone()).unwrap_or_default();
        let call = self.sessions.get(name).and_then(|session| session.call_of(&first)).map(str::to_string);
        let number = self.next_number();
        self.permissions.insert(number, name.to_string());
        self.tell(show::permission(number, name, &call.unwrap_or(first), &reading.plans));
        self.stage(name, Stage::Asked(number, reading));
    }

    /// Takes the editor's answer to a request of ours; one that nobody waits for any more says nothing.
    pub(super) fn editor_answered(&mut self, message: &Value) {
        // Some editors give a number back as a text.
        let as_text = |id: &Value| id.as_str().and_then(|id| id.parse().ok());
        let Some(number) = message.get("id").and_then(|id| id.as_i64().or_else(|| as_text(id))) else { return };
        let Some(name) = self.permissions.remove(&number) else { return };
        let Some(prompt) = self.sessions.get_mut(&name).and_then(|session| session.prompt.as_mut()) else { return };
        let reading = match &prompt.stage {
            Stage::Asked(asked, reading) if *asked == number => reading.clone(),
            _ => return,
        };
        let plans = || reading.plans.iter().map(|plan| plan.id.clone()).collect();
        let steps = |reading: &Reading| {
            let step = |plan: &Plan| Plist::new().text("plan", plan.id.as_str()).text("shown", plan.shown.as_str());
            reading.plans.iter().map(step).collect::<Vec<_>>()
        };
        match Answer::read(message) {
            Answer::None => {
                let ids: Vec<String> = plans();
                let reason = match message.get("result") {
                    Some(_) => StopReason::Cancelled,
                    // The editor cannot ask.
                    None => StopReason::EndTurn,
                };
                self.leave(&name, &ids, reason);
            }
            Answer::Yes => {
                prompt.stage = Stage::Decided(plans());
                for step in steps(&reading) {
                    self.event(&name, "plan-displayed", step);
                }
                let all = steps(&reading).into_iter().map(Plist::build);
                self.event(&name, "approval", Plist::new().list("steps", all));
            }
            Answer::No => {
                prompt.stage = Stage::Decided(plans());
                let all = steps(&reading).into_iter().map(Plist::build);
                let reason = "the user said no in the editor";
                self.event(&name, "denial", Plist::new().text("reason", reason).list("steps", all));
            }
        }
    }

    /// Ends a prompt whose plans are decided about elsewhere.
    fn leave(&mut self, name: &str, plans: &[String], reason: StopReason) {
        let waits = self.waits(plans);
        self.note(name, &format!("waits-{}", plans.first().map_or("", String::as_str)), &waits);
        self.finish(name, Ok(reason));
    }

    fn reading(&self, name: &str) -> Option<Reading> {
        match &self.sessions.get(name)?.prompt.as_ref()?.stage {
            Stage::Reading(reading) => Some(reading.clone()),
            Stage::Unsent | Stage::Sent | Stage::Running(_) | Stage::Asked(..) | Stage::Decided(_) => None,
        }
    }

    fn stage(&mut self, name: &str, stage: Stage) {
        if let Some(prompt) = self.sessions.get_mut(name).and_then(|session| session.prompt.as_mut()) {
            prompt.stage = stage;
        }
    }
}
