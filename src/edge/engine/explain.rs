//! What a model would be told now, explained: every node that was considered, why it is in or not, and what it takes.

use crate::domain::action::Action;
use crate::domain::context::Rendered;
use crate::domain::context::pins::{IN, OUT, PROPERTY};
use crate::domain::context::reason::Reason;
use crate::domain::id::{NodeId, SessionId, TurnId};
use crate::domain::label::{Labels, Privacy};
use crate::domain::port::Locality;
use crate::domain::preset::Preset;
use crate::domain::signal::{Origin, Sensor, Source};
use crate::domain::skill::offered;
use crate::domain::skill::trigger::SignalFacts;
use crate::domain::tool::Tool;
use crate::domain::turn::prompt::{Briefing, Lean, sections};
use crate::edge::engine::Engine;
use crate::edge::engine::briefing::{Briefings, Told};
use crate::edge::engine::record::Finished;
use crate::edge::engine::slices::Wanted;
use crate::edge::engine::turns::Ask;
use crate::edge::thread::aside;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// Why a channel without that right changes nothing.
const NOTHING: &str = "this channel may not ask for anything";

/// What is to become of a node in contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pin {
    /// In, in full as far as there is room.
    In,
    /// Out.
    Out,
    /// As it comes.
    Neither,
}

/// One node that was considered.
#[derive(Clone, Debug, PartialEq)]
pub struct Considered {
    /// Which.
    pub id: NodeId,
    /// How it is written; `None` when it is left out.
    pub rendered: Option<Rendered>,
    /// Why.
    pub reason: Reason,
    /// What it takes.
    pub tokens: usize,
    /// Whether it stands in the outline, and not among the notes.
    pub outline: bool,
}

/// What a model would be told now.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The question, which may be empty.
    pub query: String,
    /// The node at point.
    pub focus: Option<NodeId>,
    /// The most private that its reader may see.
    pub may_see: Privacy,
    /// Every node that was considered: what is in, in the order of the text, then what is not.
    pub nodes: Vec<Considered>,
    /// How many more were left out over budget, which are not among them.
    pub unnamed: usize,
    /// Whether it may be said what is private.
    pub sees_private: bool,
    /// The parts of what is told beside the conversation, each with its tokens as we count them.
    pub sections: Vec<(&'static str, usize)>,
    /// Tokens of notes that there may be, as we count them.
    pub budget: usize,
}

impl Pin {
    /// Reads the word of a message.
    pub fn read(word: &str) -> Option<Pin> {
        match word {
            IN => Some(Pin::In),
            OUT => Some(Pin::Out),
            "neither" => Some(Pin::Neither),
            _ => None,
        }
    }
}

/// What is to be explained.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// The question; without one, the last that the channel may know.
    pub query: Option<&'a str>,
    /// The node at point, where it is another one than that of the engine.
    pub focus: Option<&'a NodeId>,
    /// The most tokens of notes, where these are others than a turn would have.
    pub max_tokens: Option<usize>,
    /// Who would read it; without one, whoever would be asked first.
    pub reader: Option<Locality>,
}

impl Explained {
    /// Returns what was left out, a line each; the last one counts what is not named.
    pub fn dropped_lines(&self) -> Vec<String> {
        let dropped = self.nodes.iter().filter(|node| node.rendered.is_none()).map(Considered::line);
        let rest =
            (self.unnamed > 0).then(|| format!("{} more files and headings of the outline: over budget", self.unnamed));
        dropped.chain(rest).collect()
    }
}

impl Considered {
    /// Returns how a node is written, why, and what it takes.
    pub fn line(&self) -> String {
        let place = if self.outline { " in the outline" } else { "" };
        match self.rendered {
            Some(Rendered::Full) => format!("{}: full{place}, {}, {} tokens", self.id, self.reason, self.tokens),
            Some(Rendered::Title) => format!("{}: title{place}, {}, {} tokens", self.id, self.reason, self.tokens),
            None => format!("{}: left out, {}", self.id, self.reason),
        }
    }
}

impl Engine {
    /// Explains what a model would be told, in the conversation that the question belongs to.
    pub async fn explained_for(self: &Arc<Self>, origin: &Origin, about: About<'_>) -> Explained {
        let (session, query) = match (about.query, self.last_asked(origin)) {
            (Some(query), _) => (origin.session.clone(), query.to_string()),
            (None, Some((session, text))) => (session, text),
            (None, None) => (origin.session.clone(), String::new()),
        };
        self.recall_shared(&session).await;
        let preset = self.preset_or_shut(&session).await;
        let first = async || {
            let origin = Origin { session: session.clone(), ..origin.clone() };
            let asked = Ask { origin, text: query.clone(), history: Vec::new(), folder: None };
            self.foresee(asked).await.map_or(Locality::Builtin, |foreseen| foreseen.locality)
        };
        let reader = match about.reader {
            Some(reader) => reader,
            None => first().await,
        };
        let may_see = match reader {
            Locality::Remote => self.elsewhere(&session),
            Locality::Local | Locality::Builtin => Privacy::Private,
        };
        let sees = origin.rights.see_private;
        let may_see = if sees { may_see } else { may_see.min(Privacy::Open) };
        let (engine, focus, max_tokens) = (self.clone(), about.focus.cloned(), about.max_tokens);
        aside(move || {
            let focus = focus.or_else(|| engine.focus());
            let wanted = (query, focus, max_tokens);
            engine.explained_to(wanted, may_see, sees, preset.as_ref())
        })
        .await
    }

    /// Explains what a reader who may see so much would be told of a question, or of the last one that `origin` may know.
    pub fn explained_context(&self, origin: &Origin, query: Option<&str>, may_see: Privacy) -> Explained {
        let last = || self.last_asked(origin).map(|(_, text)| text);
        let query = query.map(str::to_string).or_else(last).unwrap_or_default();
        self.explained_to((query, self.focus(), None), may_see, origin.rights.see_private, None)
    }

    fn explained_to(
        &self,
        (query, focus, max_tokens): (String, Option<NodeId>, Option<usize>),
        may_see: Privacy,
        sees_private: bool,
        preset: Option<&Preset>,
    ) -> Explained {
        let now = self.clock.wall();
        let mandate = self.mandate_at(focus.as_ref().map(NodeId::as_str));
        let most = self.prompt_budget(mandate.budget, preset);
        let max_tokens = max_tokens.unwrap_or_else(|| self.memory_budget(most));
        let wanted = Wanted { query: Some(&query), focus: focus.as_ref(), now, may_see, max_tokens };
        // Its reasons tell minutes, and what was left out: it is made anew.
        let slice = self.assembled(wanted, true);
        let included = slice.parts().into_iter().zip([true, false, true]).flat_map(|(part, outline)| {
            part.nodes.iter().map(move |node| Considered {
                id: node.id.clone(),
                rendered: Some(node.rendered),
                reason: node.reason.clone(),
                tokens: node.tokens,
                outline,
            })
        });
        let mut nodes: Vec<Considered> = included.collect();
        let mut told: HashSet<NodeId> = nodes.iter().map(|node| node.id.clone()).collect();
        // Whoever may not see what is private learns of none that it would be near.
        let may_know = |reason: &Reason| sees_private || *reason != Reason::Private;
        let left = slice.dropped().filter(|(_, reason)| may_know(reason));
        for (id, reason) in left.filter(|(id, _)| told.insert(id.clone())) {
            let (id, reason) = (id.clone(), reason.clone());
            nodes.push(Considered { id, rendered: None, reason, tokens: 0, outline: false });
        }
        let project = self.config.project.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        let (briefing, offered) = self.briefing_now(&query, may_see, (&project, most), preset);
        let sections = sections(&briefing, &offered, now, self.tokens.as_ref());
        let unnamed = slice.parts().iter().map(|part| part.unnamed).sum();
        Explained { query, focus, may_see, nodes, unnamed, sees_private, sections, budget: max_tokens }
    }

    /// Returns why a node is in what was explained or is not; without one, everything that was left out, a line each.
    pub fn explained_lines(&self, explained: &Explained, id: Option<&NodeId>) -> Vec<String> {
        match id {
            Some(id) => self.why_told(explained, id).lines().map(str::to_string).collect(),
            None => match explained.dropped_lines() {
                lines if lines.is_empty() => vec!["Nothing was left out.".to_string()],
                lines => lines,
            },
        }
    }

    /// Returns why a node is in what was explained or is not, in a line or more; every node has a reason.
    pub fn why_told(&self, explained: &Explained, id: &NodeId) -> String {
        let found: Vec<String> = explained.nodes.iter().filter(|node| node.id == *id).map(Considered::line).collect();
        if !found.is_empty() {
            return found.join("\n");
        }
        let view = self.view_in_sight();
        let reason = match view.get(id) {
            Some(node) if node.privacy() > explained.may_see && explained.sees_private => Reason::Private,
            Some(node) if node.privacy() > explained.may_see => Reason::Unknown,
            Some(node) if !view.sight().holds(node.file(), node.index) => Reason::OutOfSight,
            // A file, or what stands directly below one, is for the outline, and all others with any evidence are named.
            Some(node) if node.parent().is_none_or(|parent| parent.index == 0) => Reason::OverBudget,
            Some(_) => Reason::Far,
            None => Reason::Unknown,
        };
        Considered { id: id.clone(), rendered: None, reason, tokens: 0, outline: false }.line()
    }

    /// Returns the question that was asked last: in the channel's own conversation, or in any for Emacs, whose buffers
    /// belong to one human.
    fn last_asked(&self, origin: &Origin) -> Option<(SessionId, String)> {
        let asked = self.asked.lock();
        let mine = |(session, _): &&(SessionId, String)| origin.source == Source::Emacs || *session == origin.session;
        asked.as_ref().filter(mine).cloned()
    }

    /// Returns what a model would be told beside a question, and the tools that it would be told of.
    fn briefing_now(
        &self,
        query: &str,
        may_see: Privacy,
        (project, most): (&str, usize),
        preset: Option<&Preset>,
    ) -> (Briefing, Vec<&'static Tool>) {
        let focus = self.focus().and_then(|id| self.view().get(&id));
        let tags: Vec<String> = focus.iter().flat_map(|node| node.all_tags()).map(str::to_string).collect();
        let facts = SignalFacts {
            sensor: Sensor::UserInput.name(),
            text: query,
            tags: &tags,
            todo: focus.as_ref().and_then(|node| node.keyword().map(|keyword| keyword.name)),
            file: focus.as_ref().map(|node| &**node.file()),
        };
        let skill = crate::domain::skill::triggered(&self.skills.skills, &facts);
        let told = Told {
            typed: query.to_string(),
            skill: skill.and_then(|skill| skill.prompt.clone()),
            standing: self.standing_texts(&facts, preset),
            project: project.to_string(),
            most,
        };
        let mut offered = offered(&self.toolbox(), skill);
        offered.retain(|tool| preset.is_none_or(|preset| preset.may_use(tool)));
        (Briefings::new(self, told, self.clock.wall()).get(may_see, Lean::Whole), offered)
    }

    /// Has a node in every context of this session, or in none, or as it comes.
    ///
    /// # Errors
    /// When there is no such node, or the channel may not ask for anything.
    pub fn pin(&self, origin: &Origin, id: &NodeId, pin: Pin) -> Result<(), String> {
        if !origin.rights.propose {
            return Err(NOTHING.to_string());
        }
        if self.view().get(id).is_none() {
            return Err(format!("there is no heading with the id {id}"));
        }
        let mut pins = self.pins.lock();
        match pin {
            Pin::In => pins.insert(id.clone(), true),
            Pin::Out => pins.insert(id.clone(), false),
            Pin::Neither => pins.remove(id),
        };
        Ok(())
    }

    /// Keeps it as a property of the heading: judged and asked about like any other edit.
    ///
    /// # Errors
    /// When the channel may not ask for anything.
    pub async fn keep_pin(
        self: &Arc<Self>,
        origin: &Origin,
        id: &NodeId,
        pin: Pin,
        turn: TurnId,
    ) -> Result<Finished, String> {
        if !origin.rights.propose {
            return Err(NOTHING.to_string());
        }
        let mut args = Map::new();
        args.insert("id".to_string(), id.to_string().into());
        args.insert("property".to_string(), PROPERTY.into());
        let value = match pin {
            Pin::In => Some(IN),
            Pin::Out => Some(OUT),
            Pin::Neither => None,
        };
        args.extend(value.map(|value| ("value".to_string(), Value::String(value.to_string()))));
        let why = "You asked to keep on the heading whether models are told of it.";
        let action = Action::new(&self.toolbox(), "org-set-property", args, Some(why), Labels::USER);
        let action = action.map_err(|wrong| wrong.0)?;
        Ok(self.commanded(origin, turn, format!("context {id}"), action).await)
    }
}
