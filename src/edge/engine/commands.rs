//! What the user types behind a slash: no model sees it.

use crate::domain::id::{SessionId, TurnId};
use crate::domain::inert::exact;
use crate::domain::port::{Sink, Streamed};
use crate::domain::signal::{Body, Origin, Sensor, Signal};
use crate::domain::skill::Skill;
use crate::domain::skill::lisp::Role;
use crate::domain::skill::trigger::Trigger;
use crate::domain::turn::{Conversation, Start, TurnReport};
use crate::edge::engine::Engine;
use crate::edge::engine::cascade::Choice;
use crate::edge::engine::changes::read_change;
use crate::edge::engine::decisions::Decided;
use crate::edge::engine::focus::Turnabout;
use crate::edge::engine::record::{Finished, kind};
use crate::edge::engine::skilled::Setting;
use crate::edge::engine::time::Wish;
use crate::edge::engine::turns::{Ask, first_line};
use std::collections::HashSet;
use std::sync::Arc;

/// How many of the newest changes are looked at for those of a conversation.
const MOST_CHANGES: usize = 1_000;

/// What `/help` shows.
const HELP: &str = "\
- /plans lists the plans that wait
- /tasks lists what goes on in the background for this conversation; /tasks stop ends it
- /files lists the files that the agent changed in this conversation
- /tags says which tags make notes private, and how often each kept something back
- /report says how much there is in memory; /report orphans, /report oldest, /report largest; /report changed since \
tuesday
- /undistilled lists daily notes of which no note was distilled, /undistilled since monday those since then; /garden \
reports broken links, headings that stand alone and near duplicates
- /inbox says where the headings of inbox.org could go; /links says which notes could be linked, /links ID with one
- /approve PLAN carries out exactly what the plan shows, once
- /deny PLAN REASON denies it; the model is told the reason and may try otherwise
- /stop PLAN REASON denies it and all that waits beside it; the model is not asked again
- /undo takes back what the agent changed last, /undo CHANGE one change; /redo does that again
- /share lets notes whose tags ask first go to models elsewhere, in this conversation only
- /unshare takes that back from here on; what already went out is gone
- /cascade says which providers are asked and how they stand; /cascade NAME NAME… sets their order until the program \
ends, /cascade keep NAME NAME… for good; /cascade usual takes that back; NAME/MODEL names a model, too
- /preset says which presets there are; /preset NAME gives this conversation one, /preset none takes it back
- /consensus N QUESTION asks N models at once and follows what most of them want done; it passes the same gates
- /fork N QUESTION has N models answer side by side; C-c M-p lets the chat go on from another of their answers
- /embed confirms the embedding server that you set up elsewhere, or says how vectors stand
- /endorse ID or /endorse FILE: what that note says, which came from elsewhere, now counts as your own
- /focus HEADING or /focus FOLDER narrows what the agent looks at; /unfocus takes that back; /focus says where it stands
- /scope memex, /scope session or /scope project widens or narrows it
- /set NAME VALUE is told to the model for as long as the focus lasts; “budget” is the tokens of notes in a prompt
- /settings says which settings there are; /settings WORDS explains those that fit; /settings undo puts the last one \
back that the agent changed
- /help shows this; /help WORDS shows what the manual says of them
What does not begin with a slash is asked as it stands. Without a model, “help” shows what can be asked.
In Emacs: C-c RET sends, C-c C-k stops the answer; M-x passepartout-flight-plans, passepartout-gate-trace, \
passepartout-log and passepartout-doctor show the rest.";

/// Commands that only look, at what is at hand: they are answered while a turn goes on.
const BESIDE: [&str; 7] = ["help", "plans", "tasks", "tasks stop", "files", "cascade", "focus"];

/// Returns whether a line is a command that waits for no turn.
pub fn runs_beside(line: &str) -> bool {
    line.trim().strip_prefix('/').is_some_and(|command| BESIDE.contains(&command.trim()))
}

impl Engine {
    /// Handles a slash command of the user; no model sees it.
    pub(super) async fn command(self: &Arc<Self>, ask: &Ask, command: &str, turn: TurnId, sink: Sink<'_>) -> Finished {
        let began = self.clock.now();
        let text = match self.typed_decision(&ask.text) {
            Some((id, decided)) => match self.decide(&ask.origin, id, decided, turn.clone(), sink).await {
                Ok(finished) => return finished,
                Err(why) => why,
            },
            None => {
                if command.trim() == "embed" {
                    return match self.propose_embedder(&ask.origin, turn.clone()).await {
                        Ok(finished) => finished,
                        Err(text) => self.answered(ask, turn, began, text, sink),
                    };
                }
                if let Some(finished) = self.looked_up(ask, command, turn.clone(), sink).await {
                    return finished;
                }
                let mut words = command.split_whitespace();
                let wish = match (words.next(), words.next()) {
                    (Some("undo"), name) => Ok(Wish::Undo(name.map(str::to_string))),
                    (Some("redo"), _) => Ok(Wish::Redo),
                    (Some("plans" | "tags"), _) if !ask.origin.rights.see_private => {
                        Err("This channel may not see what may be private; look in Emacs.".to_string())
                    }
                    (Some("tags"), _) => Err(self.tag_lines()),
                    (Some("plans"), _) => Err(self.plan_lines()),
                    (Some("tasks"), what) => Err(self.task_lines(&ask.origin.session, what == Some("stop"))),
                    (Some("endorse"), _) => {
                        let what = command.trim().strip_prefix("endorse").unwrap_or_default();
                        Err(self
                            .endorse(&ask.origin, what)
                            .await
                            .unwrap_or_else(|why| format!("Nothing was done: {why}.")))
                    }
                    (Some("share"), None) => {
                        Err(self.let_go(&ask.origin).await.unwrap_or_else(|why| format!("Nothing was done: {why}.")))
                    }
                    (Some("unshare"), None) => {
                        Err(self.unshare(&ask.origin).await.unwrap_or_else(|why| format!("Nothing was done: {why}.")))
                    }
                    (Some("preset"), name) => Err(match name {
                        None => self.preset_lines(&ask.origin.session).await,
                        Some(name) => self
                            .set_preset(&ask.origin, name)
                            .await
                            .unwrap_or_else(|why| format!("Nothing was done: {why}.")),
                    }),
                    (Some("cascade"), _) => Err(self.typed_cascade(&ask.origin, command).await),
                    (Some("files"), _) => Err(self.file_lines(&ask.origin.session).await),
                    _ => Err(match Turnabout::parse(command) {
                        Some(to) => self.move_focus(&ask.origin, to).await.unwrap_or_else(|why| why),
                        None if command.trim() == "help" => HELP.to_string(),
                        None => match self.command_of_skill(ask, command, turn.clone(), sink).await {
                            Some(finished) => return finished,
                            None => format!(
                                "There is no “/{}”.\n{HELP}",
                                exact(command.split_whitespace().next().unwrap_or_default())
                            ),
                        },
                    }),
                };
                match wish {
                    Err(words) => words,
                    Ok(wish) => match self.typed_wish(&ask.origin, wish, turn.clone(), sink).await {
                        Ok(finished) => return finished,
                        Err(why) => format!("Nothing was done: {why}."),
                    },
                }
            }
        };
        self.answered(ask, turn, began, text, sink)
    }

    /// Has a command that is none of ours answered by the first skill whose handler knows it; `None` when none does.
    async fn command_of_skill(
        self: &Arc<Self>,
        ask: &Ask,
        command: &str,
        turn: TurnId,
        sink: Sink<'_>,
    ) -> Option<Finished> {
        let listens = |skill: &Skill| {
            let named = |trigger: &Trigger| trigger.sensors.iter().any(|name| name == Sensor::UserCommand.name());
            skill.lisp.has(Role::Handler) && skill.triggers.iter().any(named)
        };
        if !self.skills().loaded.skills.iter().any(listens) {
            return None;
        }
        let (session, began) = (ask.origin.session.clone(), self.clock.now());
        let _alone = self.alone(&session).await;
        let (start, scope, _) = self.opened(ask.clone(), &turn, began).await.ok()?;
        let Start::Words { signal, history, past, outside } = start else { return None };
        let body = Body::UserCommand { line: command.trim().to_string() };
        let start = Start::Words { signal: Signal { body, ..signal }, history, past, outside };
        self.doings.begin(&turn, &session, Vec::new());
        let (report, under) = self.run(start, None, None, &scope, sink).await;
        if under.handled.is_none() {
            // It is no turn after all, and nobody waits for its end: a turn that never ends lets no job run.
            self.doings.end(&turn);
            return None;
        }
        let setting = Setting { project: Some(scope.project), under: Some(under) };
        Some(self.finish(turn, session, began, first_line(&ask.text), report, &setting).await)
    }

    /// Handles `/cascade`: says how providers stand, or sets their order.
    async fn typed_cascade(self: &Arc<Self>, origin: &Origin, command: &str) -> String {
        match Choice::parse(command.trim().strip_prefix("cascade").unwrap_or_default()) {
            None => self.cascade_lines().await,
            Some(choice) => {
                self.set_cascade(origin, choice).await.unwrap_or_else(|why| format!("Nothing was done: {why}."))
            }
        }
    }

    /// Answers a command with words.
    pub(super) fn answered(
        &self,
        ask: &Ask,
        turn: TurnId,
        at: jiff::Timestamp,
        text: String,
        sink: Sink<'_>,
    ) -> Finished {
        sink(Streamed::Text(&text));
        let mut report = TurnReport::of(Conversation::empty());
        report.text = text;
        let session = ask.origin.session.clone();
        Finished { turn, session, at, asked: first_line(&ask.text), seconds: 0.0, report }
    }

    /// Reads `/approve PLAN`, `/deny PLAN REASON` or `/stop PLAN REASON`; returns the plan's name as it was typed, and the decision.
    pub fn typed_decision<'a>(&self, text: &'a str) -> Option<(&'a str, Decided)> {
        let command = text.trim().strip_prefix('/')?;
        let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let (id, reason) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
        match word {
            "approve" => {
                // A plan is never changed: its name stands for exactly what was shown under it.
                let shown = self.plan(id).map(|plan| plan.shown()).unwrap_or_default();
                Some((id, Decided::Approve { shown }))
            }
            "deny" => Some((id, Decided::no(reason.trim(), false))),
            "stop" => Some((id, Decided::no(reason.trim(), true))),
            _ => None,
        }
    }

    /// Lists the files that the agent changed in a conversation, each with what was done to it last.
    async fn file_lines(&self, session: &SessionId) -> String {
        let records = match self.archive.newest(kind::CHANGE, MOST_CHANGES).await {
            Ok(records) => records,
            Err(why) => return format!("What was changed cannot be read: {why}."),
        };
        let changes = records.iter().filter_map(|record| read_change(&record.body));
        let mut seen = HashSet::new();
        let mut lines = String::new();
        for change in changes.filter(|change| change.session == session.0) {
            for file in change.files.iter().filter(|file| seen.insert(file.path.clone())) {
                lines.push_str(&format!("- {}: {} ({})\n", exact(&file.path), exact(&change.summary), change.id));
            }
        }
        if lines.is_empty() { "The agent changed no file in this conversation.".to_string() } else { lines }
    }

    fn plan_lines(&self) -> String {
        let plans = self.plans(false);
        if plans.is_empty() {
            return "No plan waits.".to_string();
        }
        plans.iter().map(|plan| format!("- {}: {}\n", plan.id, plan.title)).collect()
    }
}
