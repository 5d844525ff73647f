//! The time machine: undo, redo and rewind, each shown first and then carried out exactly as it was shown.
//!
//! Files go back through the one door: an action that is judged by all gates and carried out by the actuators, approved
//! by the human who saw the preview. Authority (approvals, confirmations, intents, the audit) stands in records, and no
//! record is ever moved.

mod chosen;
mod shown;

use crate::domain::action::Action;
use crate::domain::gate::clearance::{Judgement, judge};
use crate::domain::gate::plan::{Approval, FlightPlan};
use crate::domain::gate::show::field;
use crate::domain::gate::{Case, page};
use crate::domain::hash::ContentHasher;
use crate::domain::id::{OperationId, TurnId};
use crate::domain::inert::exact;
use crate::domain::label::{Labels, Privacy};
use crate::domain::port::{Journal, Sink, Streamed};
use crate::domain::scope::Scope;
use crate::domain::signal::{Body, Depth, Origin, Sensor, Signal};
use crate::domain::turn::{Commanded, Ending, Parking, Start, proposal};
use crate::domain::undo::Kind;
use crate::domain::undo::next::Next;
use crate::edge::engine::Engine;
use crate::edge::engine::head::{Move, Unmoved};
use crate::edge::engine::record::Finished;
use crate::edge::engine::skilled::Setting;
use crate::edge::engine::time::chosen::Chosen;
use crate::edge::engine::turns::channel;
use crate::edge::thread::aside;
pub(in crate::edge) use shown::Previewing;
pub use shown::{Preview, PreviewPage, json, preview_name, slice};
use std::sync::Arc;

/// How many previews can be carried out; the oldest are forgotten.
const KEPT: usize = 32;
/// How many steps behind one that cannot be undone are tried.
const MOST_TRIED: usize = 5;
/// How many bytes of text previews hold together, but for the last one.
const KEPT_BYTES: usize = 8 << 20;
/// What a chat answers when the last change moved memory or the focus: there is no plan for that, and without one nothing
/// is shown before it happens.
const MEMORY_MOVED: &str = "that moved memory or the focus, which is looked at before it is taken back: \
                            M-x passepartout-undo or passepartout-redo, or at a terminal: passepartout memory undo or redo";

/// How far a rewind goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Memory alone, and the focus with it; the files stay as they are.
    Memory,
    /// The files that the agent changed; memory follows them. The focus, and where memory was moved alone, stay.
    Files,
    /// Everything that was done here since: files as with [`Reach::Files`], moves of memory alone, and the focus.
    Both,
}

/// What a human wants taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The last turn that changed something, or one change or turn by its name.
    Undo(Option<String>),
    /// The last undo.
    Redo,
    /// Everything behind an operation.
    Rewind(OperationId, Reach),
}

impl Wish {
    fn body(&self) -> Body {
        match self {
            Wish::Undo(_) => Body::Undo,
            Wish::Redo => Body::Redo,
            Wish::Rewind(to, _) => Body::UserCommand { line: format!("rewind {}", to.0) },
        }
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Wish::Undo(_) => Kind::Undo,
            Wish::Redo => Kind::Redo,
            Wish::Rewind(..) => Kind::Rewind,
        }
    }
}

/// A preview that can be carried out.
pub struct Prepared {
    shown: String,
    text: String,
    wish: Wish,
    what: What,
}

/// What is carried out: files, then memory.
struct What {
    files: Option<(Box<FlightPlan>, Box<Scope>)>,
    /// With the name of what was shown of it.
    memory: Option<(Move, String)>,
}

impl Engine {
    /// Works out what a wish would do, and keeps it under the name of what is shown, until it is carried out.
    ///
    /// # Errors
    /// In words: when there is nothing to take back, everything is in conflict, or a gate denies.
    pub async fn preview(self: &Arc<Self>, origin: &Origin, wish: Wish) -> Result<Preview, String> {
        if !origin.rights.read {
            return Err("this channel may not look at memory".to_string());
        }
        let _turn = self.previewing.turn().await?;
        let (what, preview) = match self.shown(origin, &wish).await {
            Ok(shown) => shown,
            Err(why) => return Err(self.with_way_on(origin, &wish, why).await),
        };
        let mut previews = self.previews.lock();
        previews.retain(|kept| kept.shown != preview.shown);
        let (shown, text) = (preview.shown.clone(), preview.text.clone());
        previews.push_back(Prepared { shown, text, wish, what });
        let held =
            |previews: &std::collections::VecDeque<Prepared>| previews.iter().map(|p| p.text.len()).sum::<usize>();
        while previews.len() > KEPT || (previews.len() > 1 && held(&previews) > KEPT_BYTES) {
            previews.pop_front();
        }
        Ok(preview)
    }

    /// Returns a page of a preview; the last one says under which name it can be carried out. Who has taken which pages
    /// is counted where the clients are.
    ///
    /// # Errors
    /// When there is no such preview any more.
    pub fn preview_page(&self, name: &str, from: usize) -> Result<PreviewPage, String> {
        let previews = self.previews.lock();
        let found = previews.iter().find(|kept| preview_name(&kept.shown) == name);
        let kept = found.ok_or("there is no such preview any more; look at it again")?;
        let (text, next) = slice(&kept.text, from);
        Ok(PreviewPage { text, next, shown: next.is_none().then(|| kept.shown.clone()) })
    }

    /// Carries out what was shown under a name, once. The human's command is the approval.
    ///
    /// # Errors
    /// When nothing was shown under that name, or the channel may not approve; nothing was changed then.
    pub async fn carry_out(
        self: &Arc<Self>,
        origin: &Origin,
        shown: &str,
        turn: TurnId,
        sink: Sink<'_>,
    ) -> Result<Finished, String> {
        if !origin.rights.may_steer() {
            return Err("this channel may not take anything back; do it in Emacs or at a terminal".to_string());
        }
        let prepared = {
            let mut previews = self.previews.lock();
            let at = previews.iter().position(|kept| kept.shown == shown);
            at.and_then(|at| previews.remove(at))
        };
        let prepared = prepared.ok_or("that is not what was shown last; look at it again")?;
        let What { files, memory } = prepared.what;
        let memory = memory.as_ref().map(|(to, name)| (to, name.as_str()));
        match (files, memory) {
            (None, None) => Err("BUG: nothing was shown".to_string()),
            (None, Some(to)) => self.move_memory(origin, &prepared.wish, to, turn).await,
            (Some((plan, scope)), memory) => {
                self.undone_where_it_may_be(&plan, origin)?;
                // Its text is part of what was shown under the name that was given.
                let approval =
                    Approval::new(&plan, &plan.shown(), origin, self.clock.now()).map_err(|why| why.to_string())?;
                self.keep_yes(&plan, &turn, origin).await?;
                let act = (&prepared.wish, plan.action.clone(), Some(approval));
                let mut finished = self.command_turn(origin, act, &scope, turn.clone(), sink).await;
                // Memory goes back with the files or not at all.
                if let Some(to) = memory.filter(|_| finished.report.ending == Ending::Answered) {
                    match self.move_within(origin, &prepared.wish, to, &turn).await {
                        Ok(words) => finished.report.text = format!("{}\n{words}", finished.report.text),
                        Err(why) => {
                            finished.report.ending = Ending::Failed;
                            finished.report.notice = Some(format!("the files went back, and memory did not: {why}"));
                        }
                    }
                }
                Ok(finished)
            }
        }
    }

    /// Does what `/undo` and `/redo` ask for in a chat: what the gates ask about becomes a flight plan.
    pub(super) async fn typed_wish(
        self: &Arc<Self>,
        origin: &Origin,
        wish: Wish,
        turn: TurnId,
        sink: Sink<'_>,
    ) -> Result<Finished, String> {
        let Chosen { files, to, memory } = self.chosen(&wish).await?;
        if !memory.is_nothing() {
            return Err(MEMORY_MOVED.to_string());
        }
        let action = self.restoring(&wish, files, to).await?;
        let (engine, session, sees) = (self.clone(), origin.session.clone(), origin.rights.see_private);
        let scope = aside(move || engine.scope(&session, None, sees)).await;
        let one_of_few = self.previewing.turn().await?;
        let facts = self.surveyor.survey(&action, &scope).await;
        drop(one_of_few);
        if let Err(why) = something(&facts) {
            return Err(self.with_way_on(origin, &wish, why).await);
        }
        Ok(self.command_turn(origin, (&wish, action, None), &scope, turn, sink).await)
    }

    /// Adds to why the last change cannot be undone which one before it can be, by its name.
    async fn with_way_on(self: &Arc<Self>, origin: &Origin, wish: &Wish, why: String) -> String {
        if *wish != Wish::Undo(None) {
            return why;
        }
        // Where the store cannot be read there is no way on.
        let mut passed: Vec<String> = Vec::new();
        for tried in 0..=MOST_TRIED {
            let step = self.next(Next::undo_behind(passed.clone())).await.unwrap_or_default();
            let Some(last) = step.first() else { break };
            let name = if step.len() == 1 { last.id.clone() } else { last.turn.clone() };
            // The first is the one that could not be undone.
            if tried > 0 && self.shown(origin, &Wish::Undo(Some(name.clone()))).await.is_ok() {
                let what = exact(&last.summary).replace('\n', " ");
                return format!(
                    "{why}\nWhat was done before that can be: {what}. In a chat: /undo {name}; at a terminal: passepartout memory undo {name}"
                );
            }
            passed.extend(step.into_iter().map(|change| change.id));
        }
        why
    }

    /// Works out all that a wish would do, and how that is shown.
    async fn shown(self: &Arc<Self>, origin: &Origin, wish: &Wish) -> Result<(What, Preview), String> {
        let Chosen { files, to, memory } = self.chosen(wish).await?;
        let of_files = match files.is_empty() {
            true => None,
            false => Some(self.preview_files(origin, wish, files, to).await),
        };
        let of_memory = match memory.is_nothing() {
            true => Err(Unmoved::Nothing(Vec::new())),
            false => self.preview_memory(&memory).await,
        };
        let as_left = |left: Vec<String>| {
            let mut text = String::new();
            left.iter().for_each(|left| field(&mut text, "left as it is", left));
            text
        };
        match (of_files, of_memory) {
            (_, Err(Unmoved::Failed(why))) => Err(why),
            (Some(Err(why)), Err(Unmoved::Nothing(_))) => Err(why),
            (None, Err(Unmoved::Nothing(left))) => {
                let why = if left.is_empty() { String::new() } else { format!(": {}", left.join("; ")) };
                Err(format!("memory is as it was then, or has moved on{why}"))
            }
            (None, Ok(shown)) => Ok((What { files: None, memory: Some((memory, shown.shown.clone())) }, shown)),
            (Some(Err(why)), Ok(shown)) => {
                let text = format!("{}{}", as_left(vec![format!("the files: {why}")]), shown.text);
                let what = What { files: None, memory: Some((memory, shown.shown.clone())) };
                Ok((what, Preview { text, ..shown }))
            }
            (Some(Ok((files, shown))), Err(Unmoved::Nothing(left))) => {
                let text = format!("{}{}", shown.text, as_left(left));
                Ok((What { files: Some(files), memory: None }, Preview { text, ..shown }))
            }
            (Some(Ok((files, shown))), Ok(inner)) => {
                let mut hasher = ContentHasher::new("preview of files and memory");
                hasher.text(&shown.shown).text(&inner.shown);
                let name = blake3::Hash::from_bytes(hasher.finish()).to_hex().to_string();
                let title = format!("{}, and memory", shown.title);
                let text = format!("{}\n{}", shown.text, inner.text);
                let what = What { files: Some(files), memory: Some((memory, inner.shown)) };
                Ok((what, Preview { shown: name, title, text }))
            }
        }
    }

    async fn preview_files(
        self: &Arc<Self>,
        origin: &Origin,
        wish: &Wish,
        changes: Vec<String>,
        to: Option<OperationId>,
    ) -> Result<((Box<FlightPlan>, Box<Scope>), Preview), String> {
        let action = self.restoring(wish, changes, to).await?;
        let (engine, session, sees) = (self.clone(), origin.session.clone(), origin.rights.see_private);
        let scope = aside(move || engine.scope(&session, None, sees)).await;
        let facts = self.surveyor.survey(&action, &scope).await;
        something(&facts)?;
        let tool = self.toolbox().get(action.tool()).ok_or_else(|| "BUG: an action without a tool".to_string())?;
        let set_off = wish.body().sensor();
        let case = Case { action: &action, tool, scope: &scope, facts: &facts, set_off };
        let engine = self.clone();
        let gates = aside(move || engine.gates_now(None)).await;
        let trace = match judge(&gates, case, None) {
            Judgement::Parked(trace) => trace,
            Judgement::Cleared(cleared) => cleared.trace().clone(),
            Judgement::Rejected(trace) => {
                self.refused(&origin.session, &self.new_turn(), &action, &facts, &trace).await;
                let about = action.labels().privacy.max(facts.strictest());
                return Err(proposal::rejection(&trace, about.is_kept() && !origin.rights.see_private));
            }
        };
        let (session, turn, project) = (origin.session.clone(), self.new_turn(), scope.project.clone());
        let (plan, _) = self.plan_of(Parking {
            action,
            facts,
            trace,
            session,
            turn,
            call: String::new(),
            project,
            step: 0,
            tried: None,
            // It is of no conversation: a human began it, and is shown it alone.
            privacy: Privacy::Private,
        });
        let text = page::parts(&plan)
            .iter()
            .filter(|(part, text)| *part != page::Part::Why && !text.is_empty())
            .map(|(_, text)| text.trim_end_matches('\n'))
            .collect::<Vec<_>>()
            .join("\n");
        let preview = Preview { shown: plan.shown(), title: plan.title.clone(), text: format!("{text}\n") };
        Ok(((Box::new(plan), Box::new(scope)), preview))
    }

    /// Runs one turn for a human's own command.
    async fn command_turn(
        self: &Arc<Self>,
        origin: &Origin,
        (wish, action, approval): (&Wish, Action, Option<Approval>),
        scope: &Scope,
        turn: TurnId,
        sink: Sink<'_>,
    ) -> Finished {
        let _alone = self.alone(&origin.session).await;
        let began = self.clock.now();
        self.doings.begin(&turn, &origin.session, Vec::new());
        if approval.is_some() {
            self.doings.approved_by(&turn, channel(origin.source));
        }
        let signal = Signal {
            origin: origin.clone(),
            depth: Depth::outermost(),
            turn: turn.clone(),
            at: began,
            labels: Labels::USER,
            body: wish.body(),
        };
        let asked = asked(wish);
        let start = Start::Commanded(Box::new(Commanded { signal, action, approval }));
        let (report, under) = self.run(start, None, None, scope, sink).await;
        sink(Streamed::Text(&report.text));
        let setting = Setting { project: Some(scope.project.clone()), under: Some(under) };
        self.finish(turn, origin.session.clone(), began, asked, report, &setting).await
    }
}

/// Refuses what would change nothing, with what stands against it.
fn something(facts: &crate::domain::gate::Facts) -> Result<(), String> {
    if !facts.edits.is_empty() || !facts.puts.is_empty() {
        return Ok(());
    }
    let why: Vec<&str> = facts.unknown.iter().chain(&facts.left).map(String::as_str).collect();
    Err(match why.as_slice() {
        [] => "nothing is left to take back: what it did is not there any more".to_string(),
        why => format!("nothing can be taken back: {}", why.join("; ")),
    })
}

/// Returns what set a turn off, for the trace.
pub(super) fn asked(wish: &Wish) -> String {
    match wish {
        Wish::Undo(None) => Sensor::Undo.name().to_string(),
        Wish::Undo(Some(name)) => format!("{} {}", Sensor::Undo.name(), exact(name)),
        Wish::Redo => Sensor::Redo.name().to_string(),
        Wish::Rewind(to, _) => format!("rewind {}", to.0),
    }
}
