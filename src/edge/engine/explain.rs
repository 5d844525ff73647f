//! What a model would be told now, explained: every node that was considered, why it is in or not, and what it takes.

use crate::domain::action::Action;
use crate::domain::context::Rendered;
use crate::domain::context::pins::{IN, OUT, PROPERTY};
use crate::domain::context::reason::Reason;
use crate::domain::id::{NodeId, TurnId};
use crate::domain::label::{Labels, Privacy};
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::port::Locality;
use crate::domain::query::source::is_called;
use crate::domain::signal::{Origin, Source};
use crate::domain::turn::Ahead;
use crate::domain::turn::consensus::Together;
use crate::domain::turn::earlier::Older;
use crate::domain::turn::prompt::Lean;
use crate::edge::engine::Engine;
use crate::edge::engine::briefing::Briefings;
use crate::edge::engine::model::{Foreseen, Reader};
use crate::edge::engine::record::Finished;
use crate::edge::engine::turns::Ask;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// Why a channel without that right changes nothing.
/// What is said to a channel that is no human's own and wants to pin a heading.
const PINS: &str = "headings are pinned in Emacs, or by a command of this machine";

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

/// Who would be asked first.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Its name.
    pub name: String,
    /// The model.
    pub model: String,
    /// Where it runs.
    pub locality: Locality,
    /// How many tokens it counts for one of ours.
    pub factor: f64,
}

/// What a model would be told now.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The question, which may be empty.
    pub query: String,
    /// The node at point.
    pub focus: Option<NodeId>,
    /// Who would be asked first, or why nobody would: then it is what one would be told.
    pub asked: Result<Asked, String>,
    /// Where its reader is.
    pub locality: Locality,
    /// The most private that its reader may see.
    pub may_see: Privacy,
    /// Every node that was considered: what is in, in the order of the text, then what is not.
    pub nodes: Vec<Considered>,
    /// How many more were left out over budget, which are not among them.
    pub unnamed: usize,
    /// Whether it may be said what is private.
    pub sees_private: bool,
    /// The parts of the prompt, the conversation too, each with its tokens as we count them.
    pub sections: Vec<(&'static str, usize)>,
    /// Tokens of notes that there may be, as we count them.
    pub budget: usize,
    /// The same as a provider may count them: what the settings say.
    pub share: usize,
    /// Tokens of the whole prompt that there may be, as its provider counts them.
    pub most: usize,
}

/// A question with its conversation, as it is sent.
#[derive(Clone, Debug)]
pub(in crate::edge) struct Last {
    /// The question.
    pub(super) ask: Ask,
    /// Whether several models are asked.
    pub(super) together: Option<Together>,
}

/// How a turn is looked at before anybody is asked.
pub(super) struct Foresight<'a> {
    /// For whom.
    pub(super) reader: Reader,
    /// The node at point, where it is another one than that of the engine.
    pub(super) focus: Option<NodeId>,
    /// The most tokens of notes, where these are others than the turn would have.
    pub(super) notes: Option<usize>,
    /// Looks at it.
    pub(super) look: &'a mut Look<'a>,
}

/// Looks at a turn that is laid out: at who would be asked first, or why nobody would, at what of it gave way, and at what
/// it is told of memory.
type Look<'a> = dyn FnMut(Result<Foreseen, String>, &Ahead<'_>, &Briefings<'_>) + Send + 'a;

impl Last {
    /// Reads what was typed.
    ///
    /// # Errors
    /// Why it cannot be asked so.
    pub(super) fn typed(ask: Ask) -> Result<Last, String> {
        let typed = Together::typed(&ask.text).transpose()?;
        let typed = typed.map(|(together, question)| (together, question.to_string()));
        Ok(match typed {
            Some((together, text)) => Last { ask: Ask { text, ..ask }, together: Some(together) },
            None => Last { ask, together: None },
        })
    }
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
    /// The question; without one, the last that the channel may know, with the conversation before it.
    pub query: Option<&'a str>,
    /// The conversation before that question, as a chat sends it.
    pub chat: Option<&'a Ask>,
    /// The node at point, where it is another one than that of the engine.
    pub focus: Option<&'a NodeId>,
    /// The most tokens of notes, where these are others than a turn would have.
    pub max_tokens: Option<usize>,
    /// Who would read it; without one, whoever would be asked first.
    pub reader: Option<Locality>,
    /// Nobody is asked for this: neither the user's own function that chooses who is asked, nor a server for the vector of
    /// the question. What would be found out so may differ.
    pub quietly: bool,
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

/// What is said where nothing of what was considered is missing.
const NONE_LEFT: &str = "Nothing that was considered was left out. All other headings are too far from the question and point: \
                       “context why” says it of one.";

/// So much of a name that nobody has is quoted, in characters.
const NAMED: usize = 80;

/// So many headings of one title are named.
const CALLED: usize = 8;

/// Returns the nodes that are called so: by a title, by a file and a title (`notes.org::*Boiler`), or by a link to them.
fn meant(view: &View, typed: &str, seen: &dyn Fn(&NodeRef) -> bool) -> Vec<NodeId> {
    let typed = typed.trim().trim_start_matches('[').split(']').next().unwrap_or(typed).trim();
    let typed = typed.strip_prefix("file:").or_else(|| typed.strip_prefix("id:")).unwrap_or(typed);
    let (file, title) = typed.split_once("::*").map_or((None, typed), |(file, title)| (Some(file), title));
    let lower = title.trim().to_lowercase();
    let in_file = |node: &NodeRef, file: &str| {
        let path = node.file();
        &**path == file || path.strip_suffix(file).is_some_and(|above| above.ends_with('/'))
    };
    let called = |node: &NodeRef| match (file, node.index) {
        (None, 0) => in_file(node, typed),
        (Some(_), 0) => false,
        (file, _) => is_called(node.title(), &lower) && file.is_none_or(|file| in_file(node, file)),
    };
    let found = view.nodes().filter(|node| node.id().as_str() == typed || called(node));
    found.filter(|node| seen(node)).take(CALLED).map(|node| node.id().clone()).collect()
}

impl From<Foreseen> for Asked {
    fn from(foreseen: Foreseen) -> Asked {
        let Foreseen { name, model, locality, factor, .. } = foreseen;
        Asked { name, model, locality, factor }
    }
}

impl Explained {
    /// Takes in what a turn that is laid out would tell its reader.
    fn take(&mut self, ahead: &Ahead<'_>, briefings: &Briefings<'_>) {
        if let Ok(asked) = &self.asked {
            self.locality = asked.locality;
        }
        self.may_see = ahead.may_see(self.locality);
        self.sections = ahead.sections(&ahead.asked(self.locality));
        (self.budget, self.share, self.most) = briefings.room();
        let lean = ahead.lean();
        let (told, whole) = briefings.slices(self.may_see, lean);
        let parts = told.parts().into_iter().zip([true, false, true]);
        let stands = parts.filter(|(_, outline)| !outline || lean < Lean::Outline);
        self.nodes = stands
            .flat_map(|(part, outline)| {
                part.nodes.iter().map(move |node| Considered {
                    id: node.id.clone(),
                    rendered: Some(node.rendered),
                    reason: node.reason.clone(),
                    tokens: node.tokens,
                    outline,
                })
            })
            .collect();
        let mut named: HashSet<NodeId> = self.nodes.iter().map(|node| node.id.clone()).collect();
        // What the whole slice has and this one has not gave way.
        let gave_way = whole.nodes().map(|node| (&node.id, &Reason::OverBudget));
        let left = gave_way.chain(whole.dropped().chain(told.dropped()).map(|(id, reason)| (id, reason)));
        // Whoever may not see what is private learns of none that it would be near.
        let left = left.filter(|(_, reason)| self.sees_private || **reason != Reason::Private);
        let mut too_large: HashSet<NodeId> = HashSet::new();
        let mut is_new = |id: &NodeId, reason: &Reason| match reason {
            // Its title may stand in the outline all the same.
            Reason::TooLarge(_) => too_large.insert(id.clone()),
            _ => named.insert(id.clone()),
        };
        let left = left.filter(|(id, reason)| is_new(id, reason)).map(|(id, reason)| Considered {
            id: id.clone(),
            rendered: None,
            reason: reason.clone(),
            tokens: 0,
            outline: false,
        });
        let left: Vec<Considered> = left.collect();
        self.nodes.extend(left);
        self.unnamed = whole.parts().iter().map(|part| part.unnamed).sum();
        // Whoever may not see what is private is not told where point is.
        for node in self.nodes.iter_mut().filter(|_| !self.sees_private) {
            match node.reason {
                Reason::Focus | Reason::BelowFocus => node.reason = Reason::Now,
                Reason::TooLarge(_) => node.reason = Reason::OverBudget,
                _ => {}
            }
        }
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
    /// Explains what a model would be told: the turn of the question is laid out as it would be run, and looked at.
    pub async fn explained_for(self: &Arc<Self>, origin: &Origin, about: About<'_>) -> Explained {
        let asked = self.to_explain(origin, &about);
        let text = asked.as_ref().map_or_else(|_| about.query.unwrap_or_default(), |last| &last.ask.text);
        let mut explained = Explained {
            query: text.to_string(),
            focus: about.focus.cloned().or_else(|| self.focus()),
            asked: Err(String::new()),
            locality: about.reader.unwrap_or(Locality::Local),
            may_see: Privacy::Open,
            nodes: Vec::new(),
            unnamed: 0,
            sees_private: origin.rights.see_private,
            sections: Vec::new(),
            budget: 0,
            share: 0,
            most: 0,
        };
        let mut look = |found: Result<Foreseen, String>, ahead: &Ahead<'_>, briefings: &Briefings<'_>| {
            explained.asked = found.map(Asked::from);
            explained.take(ahead, briefings);
        };
        let foresight = Foresight {
            reader: Reader { at: about.reader, by_asking: !about.quietly },
            focus: about.focus.cloned(),
            notes: about.max_tokens,
            look: &mut look,
        };
        let laid_out = match asked {
            Ok(last) => self.look_ahead(last, foresight).await,
            Err(why) => Err(why),
        };
        if let Err(why) = laid_out {
            explained.asked = Err(why);
        }
        explained
    }

    /// Returns the question that is to be explained, with the conversation before it.
    fn to_explain(&self, origin: &Origin, about: &About<'_>) -> Result<Last, String> {
        let alone = |text: &str| Ask {
            origin: origin.clone(),
            text: text.to_string(),
            history: Vec::new(),
            older: Older::default(),
            folder: None,
            attached: Vec::new(),
            pictures: Vec::new(),
            wishes: Default::default(),
        };
        match (about.query, about.chat) {
            (Some(query), Some(chat)) => Last::typed(Ask { text: query.to_string(), ..chat.clone() }),
            (Some(query), None) => Last::typed(alone(query)),
            (None, _) => Ok(match self.last_asked(origin) {
                // Who looks sees what this channel may see, whoever asked.
                Some(Last { ask, together }) => {
                    let origin = Origin { session: ask.origin.session.clone(), ..origin.clone() };
                    Last { ask: Ask { origin, ..ask }, together }
                }
                None => Last { ask: alone(""), together: None },
            }),
        }
    }

    /// Returns why a node is in what was explained or is not; without one, everything that was left out, a line each.
    pub fn explained_lines(&self, explained: &Explained, id: Option<&NodeId>) -> Vec<String> {
        match id {
            Some(id) => self.why_meant(explained, id),
            None => match (explained.dropped_lines(), &explained.asked) {
                (lines, Err(why)) if lines.is_empty() && explained.nodes.is_empty() => {
                    vec![format!("No model would be asked: {why}.")]
                }
                (lines, _) if lines.is_empty() => vec![NONE_LEFT.to_string()],
                (lines, _) => lines,
            },
        }
    }

    /// Returns why a node is in what was explained or is not, when it is named by its id, its title, or a link to it; of
    /// several that are called so, which there are.
    fn why_meant(&self, explained: &Explained, id: &NodeId) -> Vec<String> {
        let view = self.view_in_sight();
        let seen = |node: &NodeRef| explained.sees_private || node.privacy() <= explained.may_see;
        let found = match view.get(id) {
            Some(_) => vec![id.clone()],
            None => meant(&view, id.as_str(), &seen),
        };
        match found.as_slice() {
            [] => {
                let what: String = id.as_str().chars().take(NAMED).collect();
                vec![format!(
                    "No heading is called “{what}”; passepartout query finds headings, and context names their ids."
                )]
            }
            [one] => self.why_told(explained, one).lines().map(str::to_string).collect(),
            several => {
                let ids = several.iter().map(|id| format!("- {id}"));
                std::iter::once("Several are called so; ask for one by its id:".to_string()).chain(ids).collect()
            }
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
    fn last_asked(&self, origin: &Origin) -> Option<Last> {
        let asked = self.asked.lock();
        let mine = |last: &&Last| origin.source == Source::Emacs || last.ask.origin.session == origin.session;
        asked.as_ref().filter(mine).cloned()
    }

    /// Has a node in every context of this session, or in none, or as it comes.
    ///
    /// # Errors
    /// When there is no such node, or the channel may not ask for anything.
    pub fn pin(&self, origin: &Origin, id: &NodeId, pin: Pin) -> Result<(), String> {
        if !origin.rights.propose {
            return Err(NOTHING.to_string());
        }
        // What is pinned counts in every conversation.
        if !origin.rights.own {
            return Err(PINS.to_string());
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
