//! What a client has shown of plans and of what would be taken back: an approval counts only when the client says that it showed all of a text.
//!
//! To take a text is not to show it: a client may fetch pages before its reader comes to them.
//!
//! It also joins the slices of an argument that the user edited.

use crate::domain::gate::plan::{FlightPlan, PlanStatus};
use crate::domain::id::PlanId;
use crate::domain::port::LogLevel;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::{Origin, Source};
use crate::edge::engine::Engine;
use crate::edge::engine::turns::Decided;
use crate::edge::runtime::show;
use crate::edge::token::{OVER, Tokens, Typed};
use crate::edge::wire::slices::{Joining, Slice};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The longest text of an edited argument, in bytes.
const EDIT_MOST: usize = 16 << 20;

/// What one client has of the texts of plans, and what it sends of an edited argument.
#[derive(Default)]
pub(super) struct Reading {
    plans: HashMap<PlanId, Progress>,
    /// By the name of each; what was asked for longest ago is forgotten first.
    previews: VecDeque<(String, Progress)>,
    /// Texts of the past of which this client has not taken all pages, by what was asked for; the oldest first.
    past: VecDeque<(String, Arc<str>)>,
    /// Edited texts on their way, each for another argument.
    edits: Vec<Editing>,
    /// There are none before something was typed, or one is wanted.
    tokens: Option<Arc<Mutex<Tokens>>>,
}

/// Where a client has another token from.
pub(super) const ANOTHER: &str = "C-c C-a at the plan shows another";
/// How many texts of the past one client may have begun.
const BEGUN: usize = 4;
/// How many edited texts of one client may be on their way.
const EDITS: usize = 4;
/// How many previews of one client are remembered.
const PREVIEWS: usize = 32;

/// How far a client has come with the text of a plan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// It took all pages before the one that begins here.
    Taken(usize),
    /// It took all pages.
    Whole,
    /// It took all pages, and said that a human has had all of them before their eyes.
    Displayed,
}

/// A text for an argument of a plan.
pub(super) struct Edit {
    plan: String,
    name: String,
    text: String,
}

/// Such a text, of which slices have come.
struct Editing {
    plan: String,
    name: String,
    text: Joining,
}

impl Reading {
    /// Takes a slice of an edited argument; returns the edit when that was the last.
    ///
    /// # Errors
    /// When the slice does not follow the one before, the text is not the one that its last slice names, or it is too long.
    pub(super) fn take_edit(&mut self, payload: &Sexp) -> Result<Option<Edit>, String> {
        let text = |name: &str| payload.text_at(name).unwrap_or("").to_string();
        let (plan, name) = (text("plan"), text("name"));
        let slice = Slice::read(payload, "value");
        // Another edit that is on its way stays as it is.
        let at = self.edits.iter().position(|edit| edit.plan == plan && edit.name == name);
        let begun = at.map(|at| self.edits.remove(at));
        let begun = match slice.number.is_none_or(|number| number == 1) {
            true => Some(Editing { plan: plan.clone(), name: name.clone(), text: Joining::new(EDIT_MOST) }),
            false => begun,
        };
        let mut edit = begun.ok_or_else(|| "a part of the edited text is missing; edit the plan again".to_string())?;
        // One that was left in the middle is not waited for.
        if slice.more && self.edits.len() >= EDITS {
            self.edits.remove(0);
        }
        edit.text.take(slice).map_err(|wrong| wrong.to_string())?;
        if edit.text.is_over() {
            return Err(format!("the text is too long; at most {} MB can be sent", EDIT_MOST >> 20));
        }
        if slice.more {
            self.edits.push(edit);
            return Ok(None);
        }
        let text = edit.text.text().ok_or_else(|| "a part of the edited text is missing".to_string())?;
        Ok(Some(Edit { plan, name, text }))
    }

    /// Notes that the page that begins at `from` was taken. Only pages that follow each other count.
    fn note_page(&mut self, id: &PlanId, from: usize, next: Option<usize>) {
        let progress = self.plans.entry(id.clone()).or_insert(Progress::Taken(0));
        if *progress == Progress::Taken(from) {
            *progress = next.map_or(Progress::Whole, Progress::Taken);
        }
    }

    /// Notes that the page of a preview that begins at `from` was taken. Only pages that follow each other count.
    pub(super) fn note_preview(&mut self, name: &str, from: usize, next: Option<usize>) {
        let at = self.previews.iter().position(|(known, _)| known == name);
        let known = at.and_then(|at| self.previews.remove(at));
        let (name, progress) = known.unwrap_or_else(|| (name.to_string(), Progress::Taken(0)));
        let follows = progress == Progress::Taken(from);
        let now = if follows { next.map_or(Progress::Whole, Progress::Taken) } else { progress };
        self.previews.push_back((name, now));
        if self.previews.len() > PREVIEWS {
            self.previews.pop_front();
        }
    }

    /// Keeps a text of which a page was taken, while there are more.
    pub(super) fn note_past(&mut self, name: String, text: Option<Arc<str>>) {
        self.past.retain(|(known, _)| *known != name);
        self.past.extend(text.map(|text| (name, text)));
        if self.past.len() > BEGUN {
            self.past.pop_front();
        }
    }

    /// Returns a text of which a page was taken.
    pub(super) fn past_text(&self, name: &str) -> Option<Arc<str>> {
        self.past.iter().find(|(known, _)| known == name).map(|(_, text)| text.clone())
    }

    /// Returns whether this client took all of a preview.
    pub(super) fn has_preview(&self, name: &str) -> bool {
        self.previews.iter().any(|(known, progress)| known == name && *progress == Progress::Whole)
    }

    /// Notes that the client displayed the plan that has this hash to its end.
    /// It does not count for a text that the client has not taken whole, nor for another one than waits.
    pub(super) fn note_displayed(&mut self, engine: &Engine, id: &str, shown: &str) {
        let waiting = waiting(engine, id, shown);
        if let Some(progress) = waiting.and_then(|id| self.plans.get_mut(&id))
            && *progress == Progress::Whole
        {
            *progress = Progress::Displayed;
        }
    }

    /// Says why an approval does not count when this client has not displayed the whole text of a plan that waits.
    pub(super) fn unseen(&self, engine: &Engine, id: &str, shown: &str) -> Option<String> {
        // What is wrong otherwise is said when the decision is looked at.
        let id = waiting(engine, id, shown)?;
        let displayed = self.plans.get(&id) == Some(&Progress::Displayed);
        (!displayed).then(|| format!("plan {id} has not been shown to its end; look at the rest of it first"))
    }

    /// Makes a token for a plan that waits and that this client displayed to its end, when its channel may decide.
    ///
    /// # Errors
    /// In words, when it did not, or may not.
    fn token(&mut self, engine: &Engine, origin: &Origin, (id, shown): (&str, &str)) -> Result<String, String> {
        if !(origin.rights.approve && words_may_decide(origin.source)) {
            return Err("no plan is decided about by words typed in this channel".to_string());
        }
        let plan = waiting(engine, id, shown).ok_or_else(|| no_plan(id))?;
        match self.unseen(engine, id, shown) {
            Some(why) => Err(why),
            None => self.tokens(engine).lock().issue(&plan, shown, engine.clock.now()),
        }
    }

    /// Takes the token out of a typed line, if there is one; returns the line with the name of its plan instead, or
    /// `None` when there is none.
    ///
    /// # Errors
    /// When the token does not count; the words do not repeat it.
    pub(super) fn redeem(&mut self, engine: &Engine, origin: &Origin, text: &str) -> Result<Option<String>, String> {
        let typed = self.tokens(engine).lock().take(text, engine.clock.now());
        match typed {
            Typed::Plain => Ok(None),
            Typed::Named { line, plan, shown } if words_may_decide(origin.source) => {
                let holds = engine.with_plan(&plan.0, |plan| plan.shown() == shown) == Some(true);
                let changed = || format!("plan {plan} has changed since its token was shown; look at it again");
                // What comes behind goes on to a model, and may hold what another client was shown.
                holds.then(|| Some(engine.shown_tokens.blotted(&line))).ok_or_else(changed)
            }
            Typed::Late(plan) => Err(format!(
                "the token of plan {plan} is older than a quarter of an hour, so nothing was decided; {ANOTHER}"
            )),
            Typed::Over => {
                engine
                    .say(LogLevel::Warning, "five wrong tokens were typed in a client; none that it was shown counts");
                Err(format!("{OVER}; {ANOTHER}"))
            }
            Typed::Named { .. } | Typed::Unknown => {
                Err("this token was not shown here, was used already, is of before \
                 a restart, or an anew shown plan has another one; nothing was decided"
                    .to_string())
            }
        }
    }

    /// Returns the tokens that this client was shown.
    fn tokens(&mut self, engine: &Engine) -> &Mutex<Tokens> {
        self.tokens.get_or_insert_with(|| engine.shown_tokens.open())
    }

    /// Says why a typed approval does not count when its plan does not wait, or was not shown to its end.
    /// A plan that does not wait yet counts no more later, when what was typed has its turn.
    pub(super) fn typed_unseen(&self, engine: &Engine, text: &str) -> Option<String> {
        let (id, decided) = engine.typed_decision(text)?;
        match decided {
            Decided::Approve { shown } => match engine.with_plan(id, |plan| (plan.id.clone(), plan.status.clone())) {
                None => Some(no_plan(id)),
                Some((_, PlanStatus::Pending)) => {
                    self.unseen(engine, id, &shown).map(|why| format!("{why} (M-x passepartout-flight-plans)."))
                }
                Some((id, over)) => Some(format!("plan {id} no longer waits: it is {}", over.name())),
            },
            Decided::Deny { .. } | Decided::Stop { .. } => None,
        }
    }
}

/// The channels in which a typed line may decide about a plan.
fn words_may_decide(source: Source) -> bool {
    match source {
        Source::Emacs => true,
        // A command has no prompt of ours, clients are not allowed yet, the rest is no human. A messenger is no client: its
        // words are looked at where they come in, in `edge::gateway::decide`.
        Source::Cli | Source::Client | Source::Gateway | Source::Clock | Source::System => false,
    }
}

/// Answers with a token for a plan that this client displayed.
pub(super) fn plan_token(
    engine: &Engine,
    origin: &Origin,
    reading: &Mutex<Reading>,
    payload: &Sexp,
) -> Result<Plist, String> {
    let text = |key: &str| payload.text_at(key).unwrap_or("");
    let token = reading.lock().token(engine, origin, (text("plan"), text("shown")))?;
    Ok(Plist::new().text("plan", text("plan")).text("token", token))
}

/// Returns the name of a plan that waits, when this is the hash of what is to be shown of it.
fn waiting(engine: &Engine, id: &str, shown: &str) -> Option<PlanId> {
    let right =
        |plan: &FlightPlan| (plan.status == PlanStatus::Pending && plan.shown() == shown).then(|| plan.id.clone());
    engine.with_plan(id, right).flatten()
}

/// Says that there is no such plan.
pub(super) fn no_plan(id: &str) -> String {
    match id {
        "" => "name the plan, as /plans lists it".to_string(),
        id => format!("there is no plan {}", crate::domain::inert::exact(id)),
    }
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
    fn a_preview_counts_when_all_its_pages_were_taken_in_their_order() {
        let mut reading = Reading::default();
        reading.note_preview("a", 0, Some(10));
        reading.note_preview("b", 0, None);
        reading.note_preview("a", 20, None);
        assert!(!reading.has_preview("a") && reading.has_preview("b") && !reading.has_preview("c"));
        reading.note_preview("a", 10, Some(20));
        reading.note_preview("a", 20, None);
        // Looking at a page again takes nothing away.
        reading.note_preview("a", 0, Some(10));
        assert!(reading.has_preview("a"));
        assert!(!Reading::default().has_preview("a"), "it counts for this client alone");
        (0..PREVIEWS).for_each(|number| reading.note_preview(&number.to_string(), 0, Some(1)));
        assert!(!reading.has_preview("a") && reading.previews.len() == PREVIEWS);
    }

    /// A slice of an edit.
    fn edit(plan: &str, value: &str, rest: &str) -> String {
        format!("(:plan \"{plan}\" :name \"a\" :value \"{value}\" {rest})")
    }

    #[test]
    fn slices_of_an_edit_are_joined_and_none_may_be_missing() {
        let mut reading = Reading::default();
        let mut take = |text: &str| slice(&mut reading, text);
        let both = crate::edge::wire::slices::chain("xxxxyyyy", 4).hash().to_string();
        let (first, last) = (":slice 1 :more t", format!(":slice 2 :hash \"{both}\""));
        assert_eq!(take(&edit("P1", "xxxx", first)), Ok(None));
        assert_eq!(take(&edit("P1", "yyyy", &last)), Ok(Some("xxxxyyyy".to_string())));
        assert_eq!(take(&edit("P1", "short", "")), Ok(Some("short".to_string())), "one message needs no more");
        // The rest of a text of which a part was refused or went to another plan becomes no text of its own.
        assert!(take(&edit("P1", "yyyy", &last)).is_err());
        for strange in [
            edit("P1", "zzzz", &last),
            edit("P1", "yyyy", ":slice 2"),
            edit("P1", "yyyy", ":slice 3 :more t"),
            edit("P1", "yyyy", &last.replace(&both, &"0".repeat(64))),
        ] {
            assert_eq!(take(&edit("P1", "xxxx", first)), Ok(None));
            assert!(take(&strange).is_err(), "{strange}");
            assert!(take(&edit("P1", "yyyy", &last)).is_err());
        }
        // What is of another edit takes nothing away, and two of them come side by side.
        assert_eq!(take(&edit("P1", "xxxx", first)), Ok(None));
        assert!(take(&edit("P2", "yyyy", &last)).is_err());
        assert_eq!(take(&edit("P2", "xxxx", first)), Ok(None));
        assert_eq!(take(&edit("P1", "yyyy", &last)), Ok(Some("xxxxyyyy".to_string())));
        assert_eq!(take(&edit("P2", "yyyy", &last)), Ok(Some("xxxxyyyy".to_string())));
        // But not any number of them.
        for number in 0..EDITS {
            assert_eq!(take(&edit(&format!("P{number}"), "xxxx", first)), Ok(None));
        }
        assert_eq!(take(&edit("P9", "short", "")), Ok(Some("short".to_string())), "a whole one waits for nobody");
        assert_eq!(take(&edit("P9", "xxxx", first)), Ok(None));
        assert!(take(&edit("P0", "yyyy", &last)).is_err(), "the one that came first makes room");
        for number in 1..EDITS {
            assert_eq!(take(&edit(&format!("P{number}"), "yyyy", &last)), Ok(Some("xxxxyyyy".to_string())));
        }
        for number in 1..=5 {
            let long = edit("P1", &"x".repeat(3 << 20), &format!(":slice {number} :more t"));
            assert_eq!(take(&long), Ok(None));
        }
        assert!(take(&edit("P1", &"x".repeat(3 << 20), ":slice 6 :more t")).is_err_and(|why| why.contains("too long")));
        assert!(take(&edit("P1", "y", ":slice 7")).is_err());
    }
}
