//! Reasoning: a completion is asked for, and every call in it is judged.

use crate::domain::action::{Action, Malformed, clip, no_such_tool};
use crate::domain::gate::clearance::{Cleared, Judgement, judge};
use crate::domain::gate::disclosure::quoted;
use crate::domain::gate::plan::Approval;
use crate::domain::gate::title::title;
use crate::domain::gate::{Case, Facts, Opinion, Reason, Trace, Verdict};
use crate::domain::hash::ContentHasher;
use crate::domain::id::ActionHash;
use crate::domain::label::{Labels, Privacy, Provenance};
use crate::domain::port::{
    Answered, Call, Completion, Ended, Locality, LogLevel, Message, ModelFailure, Prompt, Sink, Streamed, pictures,
};
use crate::domain::scope::Scope;
use crate::domain::signal::{Role, Signal};
use crate::domain::tool::own::REDECLARED;
use crate::domain::tool::{Effect, is_user};
use crate::domain::turn::error::Fault;
use crate::domain::turn::fit::Over;
use crate::domain::turn::refused::{DENIED, UNREADABLE, is_bare};
use crate::domain::turn::report::{ActState, Deed, Ending};
use crate::domain::turn::{Desk, Flow, Turn, prompt, proposal};
use serde_json::Value;
use std::sync::Arc;

/// One action of an answer, judged.
pub(super) enum Judged {
    Cleared(Box<Cleared>),
    Parked(Box<(Action, Facts, Trace)>),
}

/// Why a call was refused.
#[derive(Clone)]
pub(super) struct Refusal {
    /// In words, for the model.
    pub(super) words: String,
    /// Who refused it.
    pub(super) by: By,
}

/// Who refused a call.
#[derive(Clone)]
pub(super) enum By {
    /// A gate.
    Gate { gate: String, action: ActionHash },
    /// Nobody: it is no action at all.
    Form { raw: String },
}

/// What stands in the place of a tool where notes were sent with a prompt.
const MARKED: &str = "context";

/// What stands in the place of a tool where pictures were sent with a prompt.
const PICTURES: &str = "picture";

/// What a model is told beside others whose call would ask the user.
const NOT_ASKED: &str = "Not carried out: the user would have to be asked first, and nobody is while several models answer \
                         side by side. Answer without it, or say what should be looked at.";

/// How much of a call that cannot be read is kept with the fault, in characters.
const RAW: usize = 200;

impl Turn {
    /// Asks the model, judges what it wants, and acts on it.
    pub(super) async fn reason(&mut self, signal: Signal, desk: &Desk<'_>, sink: Sink<'_>) -> Result<Flow, Fault> {
        if !std::mem::replace(&mut self.split, true) {
            self.fit(desk);
            let found = desk.model.apart(&|locality| self.asked(desk, locality)).await;
            match found {
                Ok(Some(apart)) => return self.fork(apart, signal, desk, sink).await,
                Ok(None) => {}
                Err(ModelFailure::Confirm { provider, url, prompt }) => {
                    return self.contact(provider, url, *prompt, desk, sink).await;
                }
                Err(ModelFailure::Exhausted(attempts)) => return Err(Fault::Model { attempts }),
            }
        }
        // What is said after acts is a paragraph of its own.
        let mut apart = self.spoke;
        let mut paragraph = |piece: Streamed<'_>| {
            if !piece.text().is_empty() && std::mem::take(&mut apart) {
                sink(Streamed::Text("\n\n"));
            }
            sink(piece);
        };
        let completion = match self.complete(desk, &mut paragraph).await? {
            Ok(completion) => completion,
            Err(flow) => return Ok(flow),
        };
        let (text, calls) = match proposal::parse(&completion) {
            Ok(parsed) => parsed,
            Err(words) => return self.unreadable(signal, completion.text, words, desk),
        };
        // A call that was read out of an answer's text is nobody's typed words, whoever answered.
        let labels = if completion.calls.is_empty() { Labels::MODEL } else { completion.labels };
        self.report.text = text.clone();
        self.spoke |= !text.trim().is_empty();
        if calls.is_empty() {
            if text.trim().is_empty() {
                self.report.notice = Some("The model answered nothing; ask again, or ask another one.".to_string());
            }
            self.report.ended = completion.ended;
            completion.ended.told(&completion.provider).into_iter().for_each(|told| self.tell(&told));
            let role = Role::Assistant;
            self.report.conversation.messages.push(Message::Text { role, text });
            return Ok(Flow::End(Ending::Answered));
        }
        let thinking = completion.thinking;
        self.report.conversation.messages.push(Message::Calls { text, calls: calls.clone(), thinking });
        let unreadable = match cut_off(completion.ended) {
            None => completion.unreadable,
            // Each of them may be whole, and the list of them is not.
            Some(why) => calls.iter().map(|call| (call.id.clone(), why.to_string())).collect(),
        };
        let judged = match self.judge_all(&calls, &unreadable, labels, desk).await? {
            Ok(judged) => judged,
            Err(last) => return self.rejected(signal, last),
        };
        self.tries = 0;
        self.act_all(signal, calls, judged, desk, sink).await
    }

    /// Gives a text back that looks like calls and cannot be read.
    fn unreadable(&mut self, signal: Signal, text: String, words: String, desk: &Desk<'_>) -> Result<Flow, Fault> {
        let raw = text.chars().take(RAW).collect();
        self.report.text = text.clone();
        self.spoke = true;
        let messages = &mut self.report.conversation.messages;
        messages.push(Message::Text { role: Role::Assistant, text });
        messages.push(Message::Text { role: Role::Tool, text: words.clone() });
        let told = desk.actuator.masked(&words);
        let privacy = self.report.conversation.labels.privacy;
        self.note_act("a call", &told, ActState::Blocked, None, privacy);
        self.deed("a call".to_string(), told.clone(), None, format!("{UNREADABLE}{told}"), None);
        self.rejected(signal, Refusal { words, by: By::Form { raw } })
    }

    /// Returns what a provider of this locality is asked now, once the conversation was made to fit.
    pub(super) fn asked(&self, desk: &Desk<'_>, locality: Locality) -> Prompt {
        let conversation = &self.report.conversation;
        match (locality, &conversation.contact) {
            // A human was shown this, word for word.
            (Locality::Remote, Some(contact)) => contact.prompt.clone(),
            (Locality::Builtin | Locality::Local | Locality::Remote, _) => {
                Prompt { room: self.taken.most, ..prompt::assemble(desk, conversation, locality, self.lean) }
            }
        }
    }

    /// Gets a completion; or parks the first contact with a provider that is not local.
    pub(super) async fn complete(
        &mut self,
        desk: &Desk<'_>,
        sink: Sink<'_>,
    ) -> Result<Result<Completion, Flow>, Fault> {
        let over = self.fit(desk);
        let lean = self.lean;
        let asked = |locality| self.asked(desk, locality);
        match desk.model.complete(&asked, sink).await {
            Ok(Answered { completion, locality, privacy, outside }) => {
                let read = match locality {
                    // It is given no context: it draws on what it names.
                    Locality::Builtin => outside,
                    Locality::Local | Locality::Remote => prompt::outside(desk, locality, lean),
                };
                let marked = match locality {
                    Locality::Remote => self.marked(desk),
                    Locality::Builtin | Locality::Local => Vec::new(),
                };
                let conversation = &mut self.report.conversation;
                conversation.contact = None;
                conversation.labels.privacy = conversation.labels.privacy.max(privacy);
                conversation.take_outside(&read);
                conversation.local = locality != Locality::Remote;
                self.tell_marked(&marked);
                self.tell_pictures(&completion);
                self.report.usage += completion.usage.unwrap_or_default();
                self.report.taken = Some(self.taken).filter(|taken| locality != Locality::Builtin && taken.most > 0);
                self.report.answered_by = Some((completion.provider.clone(), completion.model.clone()));
                self.report.sources.extend(completion.sources.iter().cloned());
                Ok(Ok(completion))
            }
            Err(ModelFailure::Exhausted(attempts)) => Err(match over {
                // Only the provider that reads nothing but the user's words could have answered.
                Some(Over { remaining, requested, at_point }) => Fault::Budget { remaining, requested, at_point },
                None => Fault::Model { attempts },
            }),
            Err(ModelFailure::Confirm { provider, url, prompt }) => {
                self.contact(provider, url, *prompt, desk, sink).await.map(Err)
            }
        }
    }

    /// Returns the titles of the notes that are private in any way in what a model elsewhere is asked now.
    fn marked(&self, desk: &Desk<'_>) -> Vec<String> {
        let marked = match &self.report.conversation.contact {
            Some(contact) => contact.prompt.marked.clone(),
            None => prompt::briefing(desk, Locality::Remote, self.lean).marked,
        };
        marked.into_iter().map(|(_, title)| title).collect()
    }

    /// Says in the trace which notes that are private in any way a model elsewhere was sent.
    fn tell_marked(&mut self, marked: &[String]) {
        let known = |deed: &Deed| deed.tool == MARKED;
        if marked.is_empty() || self.report.deeds.iter().any(known) {
            return;
        }
        let summary = format!("{} went to a model elsewhere, as their tags warn or you let them", quoted(marked));
        // No action, and yet it passed: what is shown of it has a name of its own.
        let action = ActionHash::new(ContentHasher::new(MARKED).text(&summary).finish());
        let verdict = Verdict::Pass(Some(Reason::new(summary.clone())));
        let opinions = vec![Opinion { gate: "dispatcher".to_string(), priority: 150, verdict }];
        let trace = Some(Trace { action, opinions });
        self.deed(MARKED.to_string(), summary, trace, "sent, and counted".to_string(), None);
    }

    /// Says in the trace which pictures a model was sent, and which model.
    fn tell_pictures(&mut self, completion: &Completion) {
        let sent: Vec<String> = pictures(&self.report.conversation.messages).map(ToString::to_string).collect();
        if sent.is_empty() || self.report.deeds.iter().any(|deed| deed.tool == PICTURES) {
            return;
        }
        let summary = format!("{} went to {}, {}", sent.join(", "), completion.provider, completion.model);
        self.deed(PICTURES.to_string(), summary, None, "sent with the question".to_string(), None);
    }

    /// Judges every call of an answer, whose texts have these labels. `Err` says that one was rejected; every call then
    /// has a result.
    pub(super) async fn judge_all(
        &mut self,
        calls: &[Call],
        unreadable: &[(String, String)],
        labels: Labels,
        desk: &Desk<'_>,
    ) -> Result<Result<Vec<Judged>, Refusal>, Fault> {
        let mut judged = Vec::with_capacity(calls.len());
        let mut rejections: Vec<(String, Refusal)> = Vec::new();
        for call in calls {
            let conversation = &self.report.conversation;
            let labels = match labels.provenance {
                // What the user typed for this call is no text from outside, whatever else the conversation holds.
                Provenance::User => Labels { trust: labels.trust, ..conversation.labels.join(labels) },
                Provenance::Note
                | Provenance::File
                | Provenance::Tool
                | Provenance::Model
                | Provenance::Gateway
                | Provenance::Agent
                | Provenance::Web => conversation.labels.join(labels),
            };
            let read = unreadable.iter().find(|(id, _)| *id == call.id).map(|(_, why)| Malformed(why.clone()));
            let proposed = read.map_or(Ok(()), Err).and_then(|()| offered(desk, call, self.beside)).and_then(|()| {
                Action::proposed(&desk.toolbox, &call.tool, call.args.clone(), labels, &conversation.outside)
            });
            let refined = match proposed {
                // Nobody puts words into the user's mouth.
                Ok(action) if labels.provenance == Provenance::User => Ok(action),
                Ok(action) => desk.skill.refine(action, &conversation.outside).await.map_err(Malformed),
                Err(malformed) => Err(malformed),
            };
            match refined {
                Err(malformed) => {
                    // It may quote what the model wrote.
                    let words = desk.actuator.masked(&malformed.0);
                    self.note_act(&call.tool, &words, ActState::Blocked, None, labels.privacy);
                    self.deed(call.tool.clone(), words.clone(), None, format!("{UNREADABLE}{words}"), None);
                    let raw = format!("{} {}", call.tool, Value::Object(call.args.clone()));
                    let by = By::Form { raw: raw.chars().take(RAW).collect() };
                    rejections.push((call.id.clone(), Refusal { words: malformed.0, by }));
                }
                Ok(action) => match self.judge(action, desk, None).await? {
                    Ok(one) => judged.push(one),
                    Err(refusal) => rejections.push((call.id.clone(), refusal)),
                },
            }
        }
        let Some((_, last)) = rejections.last().cloned() else { return Ok(Ok(judged)) };
        for call in calls {
            let words = rejections.iter().find(|(id, _)| *id == call.id).map_or_else(
                || "Not carried out: another call of the same answer was refused.".to_string(),
                |(_, refusal)| refusal.words.clone(),
            );
            self.result(call, words);
        }
        Ok(Err(last))
    }

    /// Returns the turn's scope, narrowed to what the model that proposes may see.
    pub(super) fn scope(&self, desk: &Desk<'_>) -> Scope {
        let may_see = match self.report.conversation.local {
            true => desk.scope.may_see,
            false => desk.scope.may_see.min((desk.elsewhere)()),
        };
        Scope { may_see, ..desk.scope.clone() }
    }

    /// Surveys and judges one action. `Err` is the rejection.
    pub(super) async fn judge(
        &mut self,
        action: Action,
        desk: &Desk<'_>,
        approval: Option<Approval>,
    ) -> Result<Result<Judged, Refusal>, Fault> {
        let before = (desk.gates)();
        let tool =
            desk.toolbox.get(action.tool()).ok_or_else(|| Fault::Pipeline("BUG: an action without a tool".into()))?;
        let scope = self.scope(desk);
        let (mut facts, mut gates) = (desk.surveyor.survey(&action, &scope).await, (desk.gates)());
        if !Arc::ptr_eq(&gates, &before) {
            // Skills changed meanwhile: a new gate in Lisp was not asked yet.
            (facts, gates) = (desk.surveyor.survey(&action, &scope).await, (desk.gates)());
        }
        if desk.toolbox.definition(action.tool()) != action.definition() {
            // What it was made for is not what would be judged here.
            facts.impossible.push(REDECLARED.to_string());
        }
        let set_off = self.report.conversation.set_off;
        let case = Case { action: &action, tool, scope: &scope, facts: &facts, set_off };
        Ok(match judge(&gates, case, approval) {
            Judgement::Cleared(cleared) => Ok(Judged::Cleared(cleared)),
            Judgement::Parked(trace) if !self.beside => Ok(Judged::Parked(Box::new((action, facts, trace)))),
            Judgement::Parked(trace) | Judgement::Rejected(trace) => {
                let about = action.labels().privacy.max(facts.strictest());
                let denied = trace.opinions.iter().find(|opinion| matches!(opinion.verdict, Verdict::Deny(_)));
                let words = match denied {
                    Some(_) => proposal::rejection(&trace, about > scope.may_see),
                    None if self.beside => NOT_ASKED.to_string(),
                    None => proposal::rejection(&trace, about > scope.may_see),
                };
                let gate = denied.map_or_else(|| "the gates".to_string(), |opinion| opinion.gate.clone());
                let by = By::Gate { gate, action: action.hash() };
                // What gates say of private notes is as private as they are; where nothing was found out they say nothing.
                let labels = &mut self.report.conversation.labels;
                if !facts.unsurveyed {
                    labels.privacy = labels.privacy.max(facts.privacy.unwrap_or(Privacy::Open).min(scope.may_see));
                }
                let bare = is_bare(&action, &facts, labels.privacy);
                let summary = match bare {
                    true => proposal::bare(&action),
                    false => title(&action, &facts),
                };
                let summary = desk.actuator.masked(&summary);
                let logged = proposal::logged(&action, &facts);
                desk.journal.log(LogLevel::Warning, &format!("refused: {logged}"));
                let (session, turn) = (&self.signal.origin.session, &self.signal.turn);
                desk.journal.refused(session, turn, &action, &facts, &trace).await;
                let (tool, outcome) = (action.tool().to_string(), DENIED.to_string());
                self.note_act(&tool, &summary, ActState::Blocked, None, about);
                self.report.deeds.push(Deed { tool, summary, trace: Some(trace), outcome, plan: None, bare });
                Err(Refusal { words, by })
            }
        })
    }
}

/// Returns why no call of an answer is carried out that is not whole, in words for the model.
fn cut_off(ended: Ended) -> Option<&'static str> {
    match ended {
        Ended::Whole => None,
        Ended::Limit => Some(
            "the limit of tokens cut your answer off before it was whole, so none of its calls was carried out; want \
             less in one answer: fewer calls, and shorter texts in them",
        ),
        Ended::Filtered => Some(
            "a content filter cut your answer off before it was whole, so none of its calls was carried out; say to the \
             user what cannot be done",
        ),
    }
}

/// Refuses a tool that the model was not told of, though we have it: what only we may ask for is never a model's call.
/// So is a message to anybody but the user: nobody else is connected; and what is more than reading `beside` other models.
fn offered(desk: &Desk<'_>, call: &Call, beside: bool) -> Result<(), Malformed> {
    let tool = call.tool.as_str();
    if let Some(found) = desk.offered.iter().find(|offered| offered.name == tool) {
        let to = call.args.get("to").and_then(Value::as_str);
        if found.effect == Effect::Reply && !is_user(to) {
            return Err(Malformed(format!(
                "{tool}: “{}” cannot be reached: in this version messages go to the user only. Leave “to” out, or \
                 tell the user what to send.",
                clip(to.unwrap_or_default())
            )));
        }
        return Ok(());
    }
    let names: Vec<&str> = desk.offered.iter().map(|offered| offered.name).collect();
    if beside && desk.toolbox.get(tool).is_some() {
        return Err(Malformed(format!(
            "{tool}: a fork is for answers: nothing is changed, and nobody is asked, while several models answer side \
             by side. Look things up with {}, or answer in words; what should be done can be said there.",
            names.join(", ")
        )));
    }
    Err(no_such_tool(tool, &names))
}
