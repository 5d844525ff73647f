//! What the model is told beside the conversation, assembled once a turn for each audience.

use crate::domain::context::Context;
use crate::domain::context::reason::Reason;
use crate::domain::gate::secret::mask;
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::outside::Piece;
use crate::domain::port::LogLevel;
use crate::domain::preset::Preset;
use crate::domain::skill::mandates;
use crate::domain::skill::trigger::SignalFacts;
use crate::domain::turn::prompt::{Briefing, Lean, Standing, Voice};
use crate::edge::engine::Engine;
use crate::edge::engine::slices::{Slice, Wanted};
use crate::edge::identity;
use crate::edge::skills::{Loaded, SkillState, Whose};
use crate::edge::thread::in_place;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// So many private notes at most are counted as left out of one slice of memory.
const LOOKED_FOR: usize = 20;

/// What of a briefing is the same for all who read it.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// What set the turn off.
    pub typed: String,
    /// The triggered skill's prompt.
    pub skill: Option<String>,
    /// Standing texts that hold.
    pub standing: Vec<Standing>,
    /// The root of the turn's project.
    pub project: String,
    /// The most tokens of a prompt, as its provider counts them.
    pub most: usize,
    /// The same as we count them, whoever is asked.
    pub ours: usize,
    /// The most tokens of memory in it, as we count them.
    pub notes: usize,
    /// The node at point when the turn began.
    pub focus: Option<NodeId>,
    /// When the conversation began, and how many minutes ago, as far as that is known.
    pub begun: Option<(jiff::civil::DateTime, i64)>,
}

impl Told {
    fn wanted(&self, now: jiff::civil::DateTime, may_see: Privacy) -> Wanted<'_> {
        let (max_tokens, most_at_point) = (self.notes, self.ours);
        Wanted { query: Some(&self.typed), focus: self.focus.as_ref(), now, may_see, max_tokens, most_at_point }
    }
}

/// The briefings of one turn, from one snapshot of memory.
pub struct Briefings<'a> {
    engine: &'a Engine,
    told: Told,
    /// Who the model is told that it is.
    identity: String,
    now: jiff::civil::DateTime,
    made: Mutex<HashMap<(Privacy, Lean), Briefing>>,
    /// What was left out as private for a reader elsewhere, until it is counted.
    left_out: Mutex<Option<BTreeSet<NodeId>>>,
    /// Of that, what was counted.
    counted_out: Mutex<BTreeSet<NodeId>>,
    /// The titles of what was left out only as the user wants to be asked about it, until that is told.
    asks: Mutex<Vec<String>>,
    /// What was counted as sent though it is marked.
    counted: Mutex<BTreeSet<NodeId>>,
}

impl<'a> Briefings<'a> {
    /// Prepares the briefings of a turn.
    pub fn new(engine: &'a Engine, told: Told, now: jiff::civil::DateTime) -> Briefings<'a> {
        let (made, left_out, counted_out, asks, counted) = Default::default();
        let identity = in_place(|| engine.identity());
        Briefings { engine, told, identity, now, made, left_out, counted_out, asks, counted }
    }

    /// Returns what a reader may be told who may see texts up to a label, with fewer notes where these have to give way.
    pub fn get(&self, may_see: Privacy, lean: Lean) -> Briefing {
        // Texts are read from the store, and the index is searched.
        in_place(|| self.made_for(may_see, lean))
    }

    fn made_for(&self, may_see: Privacy, lean: Lean) -> Briefing {
        // What else gives way is the same for all.
        let lean = if lean < Lean::Half { Lean::Whole } else { lean };
        let mut made = self.made.lock();
        let make = || Briefing {
            identity: self.identity.clone(),
            facts: self.engine.facts(&self.told),
            standing: self.told.standing.clone(),
            skill: self.told.skill.clone(),
            begun: self.told.begun,
            ..self.briefing(may_see, lean)
        };
        made.entry((may_see, lean)).or_insert_with(make).clone()
    }

    /// Returns the slice of memory in such a briefing, and the whole one with all that was considered for it named.
    pub fn slices(&self, may_see: Privacy, lean: Lean) -> (Arc<Slice>, Slice) {
        let wanted = self.told.wanted(self.now, may_see);
        in_place(|| (self.engine.told_slice(wanted, lean), self.engine.assembled(wanted, true)))
    }

    /// Returns the most tokens of memory, as we count them and as a provider may, and of a prompt, as its provider does.
    pub fn room(&self) -> (usize, usize, usize) {
        (self.told.notes, self.engine.memory_share(self.told.most), self.told.most)
    }

    /// Counts what was left out for a reader elsewhere, each once in a turn, as one would be sent the rest.
    pub fn count_left_out(&self) {
        let Some(left_out) = self.left_out.lock().take() else { return };
        let asks = in_place(|| self.count(left_out));
        self.asks.lock().extend(asks);
    }

    /// Returns, once, the titles of what was left out only as the user wants to be asked about it.
    pub fn take_asks(&self) -> Vec<String> {
        std::mem::take(&mut self.asks.lock())
    }

    fn count(&self, mut left_out: BTreeSet<NodeId>) -> Vec<String> {
        // Most of what is private is never considered: it is what a search by somebody here finds beside the rest.
        let view = self.engine.view_in_sight();
        left_out.extend(
            self.engine.unfound(&view, &self.told.typed, LOOKED_FOR, true).iter().map(|node| node.id().clone()),
        );
        // As notes give way in the middle of a turn, what stays out is left out again.
        left_out.retain(|id| self.counted_out.lock().insert(id.clone()));
        let nodes: Vec<_> = left_out.iter().filter_map(|id| view.get(id)).collect();
        self.engine.count_nodes(&nodes);
        let asks = nodes.iter().filter(|node| node.privacy() == Privacy::Ask);
        asks.map(|node| node.title().to_string()).collect()
    }

    /// Counts what a reader elsewhere was sent though it is marked, each once in a turn.
    pub fn count_marked<'n>(&self, marked: impl Iterator<Item = &'n NodeId>) {
        let (view, mut counted) = (self.engine.view(), self.counted.lock());
        let fresh = marked.filter(|id| counted.insert((*id).clone()));
        self.engine.count_sent(&fresh.filter_map(|id| view.get(id)).collect::<Vec<_>>());
    }

    fn briefing(&self, may_see: Privacy, lean: Lean) -> Briefing {
        let (briefing, left_out) = self.engine.briefing(&self.told, self.now, may_see, lean);
        if may_see < Privacy::Private {
            *self.left_out.lock() = Some(left_out);
        }
        briefing
    }
}

/// Returns who speaks in a loaded skill: of what lies outside the user's own folder, only what is built in is not from
/// elsewhere.
fn voice(loaded: &Loaded, name: &str) -> Voice {
    match loaded.reports.iter().find(|report| report.state == SkillState::Loaded && report.name == name) {
        Some(report) if report.whose == Whose::Own => Voice::User,
        Some(report) if report.whose == Whose::Shipped => Voice::Shipped,
        Some(_) | None => Voice::Elsewhere,
    }
}

impl Engine {
    /// Returns the most tokens of a prompt, as its provider counts them: what the settings say, or less where what rules
    /// the heading or the preset says less.
    pub(super) fn prompt_budget(&self, mandate: Option<u64>, preset: Option<&Preset>) -> usize {
        let budgets = [mandate, preset.and_then(|preset| preset.tokens)].into_iter().flatten();
        let budget = budgets.min().and_then(|tokens| usize::try_from(tokens).ok()).unwrap_or(usize::MAX);
        self.config.context_tokens.min(budget)
    }

    /// Tokens of memory in a prompt of at most so many, as its provider counts them: never more than half of the whole.
    pub(super) fn memory_share(&self, prompt: usize) -> usize {
        self.focus_budget().unwrap_or(self.config.memory_tokens).min(prompt / 2)
    }

    /// Returns the same as we count them, so that it holds whoever is asked.
    pub(super) fn memory_budget(&self, prompt: usize) -> usize {
        self.greatest_factor(&self.cascade.read()).ours(self.memory_share(prompt))
    }

    /// Returns who the model is told that it is.
    fn identity(&self) -> String {
        let text = identity::read(&self.config.settings).unwrap_or_else(|why| {
            self.say(LogLevel::Warning, &why);
            identity::SHIPPED.to_string()
        });
        mask(&self.vault.mask(&text.replace(identity::AGENT, &self.config.assistant))).0
    }

    /// Returns what a model is told of the settings.
    fn facts(&self, Told { project, most, notes, .. }: &Told) -> Vec<String> {
        let home = self.config.home.to_string_lossy();
        let project = match project.strip_prefix(&*home).filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            Some(rest) => format!("~{rest}"),
            None => project.clone(),
        };
        vec![
            format!("Passepartout {}.", env!("CARGO_PKG_VERSION")),
            format!("The project, in which commands run, is {}.", self.vault.mask(&project)),
            format!("A prompt holds at most {most} tokens, {notes} of them of memory."),
        ]
    }

    /// Returns the standing texts that hold for a signal: those of skills, and what the user set for the present focus.
    pub(super) fn standing_texts(&self, facts: &SignalFacts<'_>, preset: Option<&Preset>) -> Vec<Standing> {
        let skills = self.skills();
        let of_skills = mandates(&skills.loaded.skills, facts).map(|(skill, mandate)| Standing {
            text: mandate.text.clone(),
            whose: voice(&skills.loaded, &skill.name),
            always: mandate.when.is_none(),
        });
        let of_focus =
            self.focus_mandates().into_iter().map(|text| Standing { text, whose: Voice::User, always: false });
        // The user wrote it, and it holds as long as the conversation has the preset.
        let prompt = preset.and_then(|preset| preset.prompt.clone());
        let of_preset = prompt.map(|text| Standing { text, whose: Voice::User, always: true });
        of_skills.chain(of_preset).chain(of_focus).collect()
    }

    /// Returns what is private in any way in a slice of memory for a reader who may not see everything, with its titles.
    fn marked(&self, slice: &Slice, may_see: Privacy) -> Vec<(NodeId, String)> {
        if may_see == Privacy::Private || slice.privacy().is_none_or(|privacy| privacy == Privacy::Open) {
            return Vec::new();
        }
        let (view, mut seen) = (self.view(), BTreeSet::new());
        let nodes = slice.nodes().filter(|node| seen.insert(&node.id)).filter_map(|node| view.get(&node.id));
        let marked = nodes.filter(|node| node.privacy() > Privacy::Open);
        marked.map(|node| (node.id().clone(), node.title().to_string())).collect()
    }

    /// Returns what of a slice of memory came from outside.
    fn outside_of_slice(&self, slice: &Slice) -> Vec<Piece> {
        let (view, mut seen) = (self.view(), BTreeSet::new());
        let nodes = slice.nodes().filter(|node| seen.insert(&node.id));
        self.outside_of_nodes(&nodes.filter_map(|node| view.get(&node.id)).collect::<Vec<_>>())
    }

    /// Returns the slice of memory that a turn is told.
    fn told_slice(&self, wanted: Wanted<'_>, lean: Lean) -> Arc<Slice> {
        match lean {
            Lean::Whole | Lean::Log | Lean::Mandates | Lean::Outline => self.slice(wanted),
            Lean::Half => Arc::new(self.slice_of(wanted, wanted.max_tokens / 2)),
            Lean::Notes => Arc::new(self.slice_of(wanted, 0)),
        }
    }

    fn briefing(
        &self,
        told: &Told,
        now: jiff::civil::DateTime,
        may_see: Privacy,
        lean: Lean,
    ) -> (Briefing, BTreeSet<NodeId>) {
        let slice = self.told_slice(told.wanted(now, may_see), lean);
        let log = match may_see {
            // Lines of the log name notes: they stay here.
            Privacy::Open | Privacy::Warn | Privacy::Ask => Vec::new(),
            // The answer counts as private as the slice: no line is more so.
            Privacy::Private => {
                let beside = slice.privacy().unwrap_or(Privacy::Open);
                self.log_beside(beside, self.config.log_lines).into_iter().map(|line| line.text).collect()
            }
        };
        let of = |parts: &[&Context]| {
            let all = parts.iter().flat_map(|part| &part.nodes).map(|node| node.id.clone());
            all.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
        };
        let briefing = Briefing {
            outline: self.vault.mask(&slice.outline.text),
            memory: self.vault.mask(&slice.notes.text),
            further: self.vault.mask(&slice.further.text),
            privacy: slice.privacy(),
            outside: self.outside_of_slice(&slice),
            nodes: of(&[&slice.notes]),
            outlined: of(&[&slice.outline, &slice.further]),
            marked: self.marked(&slice, may_see),
            at_point: slice.notes.at_point,
            log,
            ..Briefing::default()
        };
        let private = slice.dropped().filter(|(_, reason)| *reason == Reason::Private);
        (briefing, private.map(|(id, _)| id.clone()).collect())
    }
}
