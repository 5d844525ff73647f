//! What the model is told beside the conversation, assembled once a turn for each audience.

use crate::domain::context::reason::Reason;
use crate::domain::context::{Audience, Request, assemble};
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::outside::Piece;
use crate::domain::turn::prompt::Briefing;
use crate::edge::engine::Engine;
use crate::edge::thread::in_place;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};

/// So many private notes at most are counted as left out of one slice of memory.
const LOOKED_FOR: usize = 20;

/// The briefings of one turn, from one snapshot of memory.
pub struct Briefings<'a> {
    engine: &'a Engine,
    typed: String,
    skill: Option<String>,
    mandates: Vec<String>,
    now: jiff::civil::DateTime,
    made: Mutex<HashMap<Privacy, Briefing>>,
    /// What was left out as private for a reader elsewhere, until it is counted.
    left_out: Mutex<Option<BTreeSet<NodeId>>>,
    /// Whether what was sent though it is marked was counted.
    counted: std::sync::atomic::AtomicBool,
}

impl<'a> Briefings<'a> {
    /// Prepares the briefings of a turn that `typed` set off, with the triggered skill's prompt and the mandates that hold.
    pub fn new(
        engine: &'a Engine,
        typed: String,
        skill: Option<String>,
        mandates: Vec<String>,
        now: jiff::civil::DateTime,
    ) -> Briefings<'a> {
        let (made, left_out, counted) = (Mutex::default(), Mutex::default(), Default::default());
        Briefings { engine, typed, skill, mandates, now, made, left_out, counted }
    }

    /// Returns what a reader may be told who may see texts up to a label.
    pub fn get(&self, may_see: Privacy) -> Briefing {
        // Texts are read from the store, and the index is searched.
        in_place(|| self.made_for(may_see))
    }

    fn made_for(&self, may_see: Privacy) -> Briefing {
        let mut made = self.made.lock();
        let make = || Briefing { mandates: self.mandates.clone(), skill: self.skill.clone(), ..self.briefing(may_see) };
        made.entry(may_see).or_insert_with(make).clone()
    }

    /// Counts what was left out for a reader elsewhere, once in a turn, as one would be sent the rest. Returns the titles
    /// of what was left out only as the user wants to be asked about it.
    pub fn count_left_out(&self) -> Vec<String> {
        let Some(left_out) = self.left_out.lock().take() else { return Vec::new() };
        in_place(|| self.count(left_out))
    }

    fn count(&self, mut left_out: BTreeSet<NodeId>) -> Vec<String> {
        // Most of what is private is never considered: it is what a search by somebody here finds beside the rest.
        let view = self.engine.view_in_sight();
        left_out.extend(self.engine.unfound(&view, &self.typed, LOOKED_FOR, true).iter().map(|node| node.id().clone()));
        let nodes: Vec<_> = left_out.iter().filter_map(|id| view.get(id)).collect();
        self.engine.count_nodes(&nodes);
        let asks = nodes.iter().filter(|node| node.privacy() == Privacy::Ask);
        asks.map(|node| node.title().to_string()).collect()
    }

    /// Counts what a reader elsewhere was sent though it is marked, once in a turn.
    pub fn count_marked(&self, may_see: Privacy) {
        let nodes = self.get(may_see).nodes;
        if self.counted.swap(true, std::sync::atomic::Ordering::Relaxed) {
            return;
        }
        let view = self.engine.view_in_sight();
        self.engine.count_sent(&nodes.iter().filter_map(|id| view.get(id)).collect::<Vec<_>>());
    }

    fn briefing(&self, may_see: Privacy) -> Briefing {
        let (briefing, left_out) = self.engine.briefing(&self.typed, self.now, may_see);
        if may_see < Privacy::Private {
            *self.left_out.lock() = Some(left_out);
        }
        briefing
    }
}

impl Engine {
    /// Assembles the slice of memory that a question is answered from.
    pub fn context(
        &self,
        query: Option<&str>,
        focus: Option<&NodeId>,
        now: jiff::civil::DateTime,
        may_see: Privacy,
        max_tokens: usize,
    ) -> crate::domain::context::Context {
        let changed = self.changed_nodes();
        let request = Request {
            focus,
            query,
            max_tokens,
            audience: match may_see {
                Privacy::Private => Audience::Local,
                Privacy::Open | Privacy::Warn | Privacy::Ask => Audience::Remote(may_see),
            },
            now,
            deadline_minutes: i64::from(self.config.deadline_minutes),
            project_tag: "project",
            changed: &changed,
        };
        assemble(&self.view_in_sight(), &self.index(), &request, self.tokens.as_ref())
    }

    /// Tokens of memory in a prompt: never more than half of the whole.
    fn memory_budget(&self) -> usize {
        self.focus_budget().unwrap_or(self.config.memory_tokens).min(self.config.context_tokens / 2)
    }

    /// Returns the titles of what is private in any way in a slice of memory for a reader who may not see everything.
    fn marked(&self, context: &crate::domain::context::Context, may_see: Privacy) -> Vec<String> {
        if may_see == Privacy::Private || context.privacy == Privacy::Open {
            return Vec::new();
        }
        let view = self.view();
        let nodes = context.nodes.iter().filter_map(|node| view.get(&node.id));
        nodes.filter(|node| node.privacy() > Privacy::Open).map(|node| node.title().to_string()).collect()
    }

    /// Returns what of a slice of memory came from outside.
    fn outside_of_context(&self, context: &crate::domain::context::Context) -> Vec<Piece> {
        let view = self.view();
        let nodes: Vec<_> = context.nodes.iter().filter_map(|node| view.get(&node.id)).collect();
        self.outside_of_nodes(&nodes)
    }

    fn briefing(&self, typed: &str, now: jiff::civil::DateTime, may_see: Privacy) -> (Briefing, BTreeSet<NodeId>) {
        let focus = self.focus();
        let context = self.context(Some(typed), focus.as_ref(), now, may_see, self.memory_budget());
        let log = match may_see {
            // Lines of the log name notes: they stay here.
            Privacy::Open | Privacy::Warn | Privacy::Ask => Vec::new(),
            Privacy::Private => self.log_lines(self.config.log_lines).into_iter().map(|line| line.text).collect(),
        };
        let briefing = Briefing {
            name: self.config.assistant.clone(),
            memory: self.vault.mask(&context.text),
            privacy: (!context.nodes.is_empty()).then_some(context.privacy),
            outside: self.outside_of_context(&context),
            nodes: context.nodes.iter().map(|node| node.id.clone()).collect(),
            marked: self.marked(&context, may_see),
            log,
            mandates: Vec::new(),
            skill: None,
        };
        let private = context.dropped.into_iter().filter(|(_, reason)| *reason == Reason::Private);
        (briefing, private.map(|(id, _)| id).collect())
    }
}
