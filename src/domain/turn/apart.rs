//! A fork: several models answer one question side by side. Each goes its own way, with its own steps and its own memory of
//! what it looked up, and none of them can change anything or have the user asked; then one answer is what the turn goes on
//! from.

use crate::domain::action::Action;
use crate::domain::outside::Outside;
use crate::domain::port::{Apart, AtWork, Branch, LogLevel, Message, ProviderError, ProviderErrorKind, Sink, Streamed};
use crate::domain::signal::{Role, Signal};
use crate::domain::turn::consensus::{Mode, Other, Round, Vote, Voter, choose};
use crate::domain::turn::error::Fault;
use crate::domain::turn::report::{Ending, TurnReport};
use crate::domain::turn::{Desk, Flow, Step, Turn};
use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::future::Future;
use std::pin::Pin;

/// What is on its way, and calls what calls it.
type Coming<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The skill at work as one of several models meets it: a fault of one ends that one alone.
struct Beside<'a>(&'a dyn AtWork);

#[async_trait]
impl AtWork for Beside<'_> {
    async fn refine(&self, action: Action, outside: &Outside) -> Result<Action, String> {
        self.0.refine(action, outside).await
    }
}

/// A piece of what one of them said or thought, until it is known whose answer is followed.
enum Kept {
    Text(String),
    Thought(String),
}

impl Kept {
    /// Keeps what is said and thought. What each looks up meanwhile is told in the trace: it counts its own acts.
    fn of(piece: Streamed<'_>) -> Option<Kept> {
        match piece {
            Streamed::Text(text) => Some(Kept::Text(text.to_string())),
            Streamed::Thought(text) => Some(Kept::Thought(text.to_string())),
            Streamed::Act(_) => None,
        }
    }

    fn piece(&self) -> Streamed<'_> {
        match self {
            Kept::Text(text) => Streamed::Text(text),
            Kept::Thought(text) => Streamed::Thought(text),
        }
    }
}

/// What one of them came to.
struct Came {
    provider: String,
    model: String,
    said: Vec<Kept>,
    report: TurnReport,
}

impl Came {
    /// Returns what it is for: its answer in words, or why there is none.
    fn vote(&self) -> Vote {
        let report = &self.report;
        let answered = matches!(
            report.conversation.messages.last(),
            Some(Message::Text { role: Role::Assistant, text }) if !text.trim().is_empty()
        );
        match (&report.fault, report.ending) {
            (None, Ending::Answered) if answered => Vote::cut(report.ended).unwrap_or(Vote::Words),
            (Some(Fault::Model { attempts }), _) if !attempts.is_empty() => {
                Vote::None(attempts.iter().map(|error| error.text.as_str()).collect::<Vec<_>>().join("; "))
            }
            (Some(fault), _) => Vote::None(fault.to_string()),
            (None, _) => Vote::None(report.notice.clone().unwrap_or_else(|| "it said nothing".to_string())),
        }
    }

    /// Returns whether it said something, though it may not be whole.
    fn spoke(&self) -> bool {
        self.report.fault.is_none() && self.report.ending == Ending::Answered && !self.report.text.trim().is_empty()
    }

    /// Returns how it failed, for whoever is told when nobody answers.
    fn errors(self, why: String) -> Vec<ProviderError> {
        match self.report.fault {
            Some(Fault::Model { attempts }) if !attempts.is_empty() => attempts,
            _ => vec![ProviderError::new(self.provider, ProviderErrorKind::Garbled, why)],
        }
    }
}

impl Turn {
    /// Has several models answer, and goes on from the first answer in their order. Where there is none, whoever is left
    /// of the cascade is asked as always.
    pub(super) fn fork<'a>(
        &'a mut self,
        apart: Apart<'a>,
        signal: Signal,
        desk: &'a Desk<'a>,
        sink: Sink<'a>,
    ) -> Coming<'a, Result<Flow, Fault>> {
        Box::pin(self.forked(apart, signal, desk, sink))
    }

    async fn forked(
        &mut self,
        Apart { branches, rest }: Apart<'_>,
        signal: Signal,
        desk: &Desk<'_>,
        sink: Sink<'_>,
    ) -> Result<Flow, Fault> {
        let all = self.all_of(branches, &signal, desk).await;
        let votes: Vec<Vote> = all.iter().map(Came::vote).collect();
        let whole = choose(&votes).map(|followed| followed.index);
        let chosen = whole.or_else(|| all.iter().position(Came::spoke));
        let voters = all.iter().zip(&votes).map(|(came, vote)| {
            let (provider, model, said) = (came.provider.clone(), came.model.clone(), came.report.text.clone());
            Voter { provider, model, vote: vote.clone(), said }
        });
        let round = Round::new(Mode::Fork, voters.collect(), whole, |text| desk.actuator.masked(text));
        if let Some(line) = round.line() {
            let line = format!("asked of several models: {}", line.replace('\n', " "));
            desk.journal.log(LogLevel::Info, &line);
        }
        self.report.rounds.push(round);
        let (mut followed, mut failed) = (None, Vec::new());
        for (index, (came, vote)) in all.into_iter().zip(votes).enumerate() {
            self.take_part_of(&came);
            match vote {
                _ if Some(index) == chosen => followed = Some(came),
                Vote::None(why) if !came.spoke() => failed.extend(came.errors(why)),
                Vote::None(_) | Vote::Acts(_) | Vote::Words => {
                    let (provider, model, mut text) = (came.provider, came.model, came.report.text);
                    // Such as that a limit cut it off.
                    if let Some(notice) = came.report.notice {
                        text.push_str(&format!("\n\n({notice})"));
                    }
                    self.report.others.push(Other { provider, model, text });
                }
            }
        }
        let Some(Came { said, report, .. }) = followed else {
            let left = rest(failed);
            let left = Desk { model: left.as_ref(), ..desk.clone() };
            return self.reason(signal, &left, sink).await;
        };
        said.iter().for_each(|piece| sink(piece.piece()));
        self.spoke = true;
        self.report.text = report.text;
        report.notice.iter().for_each(|notice| self.tell(notice));
        self.report.sources.extend(report.sources);
        self.report.answered_by = report.answered_by;
        // All of them stand in the chat: what one of them drew on is what all of it drew on.
        let (labels, outside) =
            (self.report.conversation.labels, std::mem::take(&mut self.report.conversation.outside));
        self.report.conversation = report.conversation;
        self.report.conversation.labels = self.report.conversation.labels.join(labels);
        self.report.conversation.outside.join(&outside);
        Ok(Flow::End(Ending::Answered))
    }

    /// Has each of them answer, and waits for all; they come in their order.
    async fn all_of(&self, branches: Vec<Branch<'_>>, signal: &Signal, desk: &Desk<'_>) -> Vec<Came> {
        let answers = branches.into_iter().enumerate();
        let answers = answers.map(|(index, branch)| async move { (index, self.branch(branch, signal, desk).await) });
        // Each is woken by what is its own alone, as where several are asked for one step.
        let mut all: Vec<(usize, Came)> = answers.collect::<FuturesUnordered<_>>().collect().await;
        all.sort_by_key(|(index, _)| *index);
        all.into_iter().map(|(_, came)| came).collect()
    }

    /// Has one of them answer, to its end.
    async fn branch(&self, branch: Branch<'_>, signal: &Signal, desk: &Desk<'_>) -> Came {
        let Branch { provider, model, asked } = branch;
        let mut turn = Turn::new(self.signal.clone(), TurnReport::of(self.report.conversation.clone()));
        (turn.split, turn.beside) = (true, true);
        // What a skill says in the place of an answer is said once, and for the turn.
        let skill = Beside(desk.skill);
        let desk = Desk { model: asked.as_ref(), skill: &skill, ..desk.clone() };
        let mut said = Vec::new();
        let mut keep = |piece: Streamed<'_>| said.extend(Kept::of(piece));
        let report = turn.through(Step::Reason(signal.clone()), &desk, &mut keep).await;
        let model = report.answered_by.as_ref().map_or(model, |(_, model)| model.clone());
        Came { provider, model, said, report }
    }

    /// Takes in what holds of the turn whichever answer is followed: what was looked up, by whom, and how private it was.
    fn take_part_of(&mut self, came: &Came) {
        let (own, theirs) = (&mut self.report, &came.report);
        own.usage += theirs.usage;
        own.deeds.extend(theirs.deeds.iter().cloned().map(|mut deed| {
            deed.summary = format!("for {}: {}", came.provider, deed.summary);
            deed
        }));
        own.conversation.labels = own.conversation.labels.join(theirs.conversation.labels);
        own.conversation.outside.join(&theirs.conversation.outside);
    }
}
