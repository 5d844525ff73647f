//! The skill at work in a turn: the gates that there are meanwhile, what its Lisp rewrites and chooses, and one that answers
//! in place of a model.

use crate::domain::action::{Action, texts};
use crate::domain::gate::secret::mask;
use crate::domain::gate::{Gate, Gates};
use crate::domain::label::{Labels, Privacy};
use crate::domain::outside::Outside;
use crate::domain::port::{
    Answered, AtWork, Completion, Ended, Locality, Model, ModelFailure, Prompt, Sink, Streamed, Thinking, Usage,
};
use crate::domain::preset::Preset;
use crate::domain::recall::report::report_with;
use crate::domain::skill::gate::ToolsGate;
use crate::domain::skill::lisp::Role;
use crate::domain::skill::{Skill, on_error};
use crate::domain::tool::{Class, Toolbox};
use crate::domain::turn::error::{Fault, Resolution};
use crate::edge::engine::Engine;
use crate::edge::engine::skills::Skills;
use crate::edge::skill_host::cases::{self, Said};
use crate::edge::thread::in_place;
use crate::edge::worker::Told;
use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The gates of a turn. What skills that are taken anew meanwhile tighten is among them at once; what they loosen counts
/// from the next turn.
pub(super) struct TurnGates<'a> {
    engine: &'a Engine,
    skill: Option<&'a Skill>,
    preset: Option<&'a Preset>,
    /// The skills when the turn began.
    begun: Arc<Skills>,
    /// What was made last, and of which skills.
    known: Mutex<Option<(u64, Arc<Gates>)>>,
}

impl<'a> TurnGates<'a> {
    pub(super) fn new(engine: &'a Engine, skill: Option<&'a Skill>, preset: Option<&'a Preset>) -> TurnGates<'a> {
        TurnGates { engine, skill, preset, begun: engine.skills(), known: Mutex::default() }
    }

    /// Returns them as they are now.
    pub(super) fn now(&self) -> Arc<Gates> {
        let skills = self.engine.skills();
        let mut known = self.known.lock();
        if let Some((_, gates)) = known.as_ref().filter(|(of, _)| *of == skills.number) {
            return gates.clone();
        }
        let mut gates = in_place(|| self.engine.gates_now(self.skill));
        if skills.number != self.begun.number {
            gates = self.with_those_before(gates, &skills);
        }
        let gates = match self.preset.and_then(ToolsGate::of_preset) {
            Some(gate) => gates.and(Box::new(gate)),
            None => gates,
        };
        let gates = Arc::new(gates);
        *known = Some((skills.number, gates.clone()));
        gates
    }

    /// Adds the rules that skills had when the turn began and have no more, gates in Lisp that are gone, which nobody can ask
    /// and which deny, and the tools that its own skill leaves by now.
    fn with_those_before(&self, mut gates: Gates, now: &Skills) -> Gates {
        let rules_now = |name: &str| {
            let with = now.loaded.skills.iter().chain(&now.loaded.rules_alone).find(|skill| skill.name == name);
            with.map(|skill| skill.rules.as_slice()).unwrap_or_default()
        };
        let before = self.begun.loaded.skills.iter().chain(&self.begun.loaded.rules_alone);
        let changed = before.filter(|skill| rules_now(&skill.name) != skill.rules);
        let changed: Vec<Skill> =
            changed.map(|skill| Skill { name: format!("{}, as it was", skill.name), ..skill.clone() }).collect();
        let (rules, unread) = crate::domain::skill::gate::gates(&changed);
        for gate in rules {
            gates = gates.and(Box::new(gate));
        }
        for gate in unread {
            gates = gates.and(Box::new(gate));
        }
        let own: BTreeSet<String> = now.loaded.own_gates().iter().map(|gate| gate.name().to_string()).collect();
        for gate in self.begun.loaded.own_gates().into_iter().filter(|gate| !own.contains(gate.name())) {
            gates = gates.and(Box::new(gate));
        }
        let skill = self.skill.and_then(|skill| now.loaded.skills.iter().find(|known| known.name == skill.name));
        match skill.and_then(ToolsGate::new) {
            Some(gate) => gates.and(Box::new(gate)),
            None => gates,
        }
    }
}

/// The skill at work, with its Lisp.
pub(super) struct Working<'a> {
    pub engine: &'a Engine,
    pub skill: Option<&'a Skill>,
}

impl Working<'_> {
    /// Returns the skill as it is now, where it has a block for that.
    fn with(&self, role: Role) -> Option<Skill> {
        let (skill, skills) = (self.skill?, self.engine.skills());
        let now = skills.loaded.skills.iter().find(|known| known.name == skill.name)?;
        now.lisp.has(role).then(|| now.clone())
    }
}

#[async_trait]
impl AtWork for Working<'_> {
    async fn refine(&self, action: Action, outside: &Outside) -> Result<Action, String> {
        let Some(begun) = self.skill else { return Ok(action) };
        let (name, had, now) = (begun.name.as_str(), begun.lisp.has(Role::Refine), self.with(Role::Refine));
        let no =
            |why: &str| format!("The skill {name}, which is at work, rewrites what is proposed, and could not: {why}.");
        // What was to be rewritten when the turn began does not pass as it is because a file was saved meanwhile.
        if had && now.as_ref().is_none_or(|now| now.lisp.digest() != begun.lisp.digest()) {
            return Err(no("its Lisp is not what it was when this turn began; ask once more, in a new turn"));
        }
        if now.is_none() {
            return Ok(action);
        }
        let host = self.engine.skill_host.as_ref().ok_or_else(|| no("no Lisp can be confined here"))?;
        let toolbox = self.engine.toolbox();
        let tool = toolbox.get(action.tool()).ok_or_else(|| no("there is no such tool"))?;
        let own = action.args().values().flat_map(texts).chain([action.explanation().as_str()]);
        if own.into_iter().any(|text| mask(&self.engine.mask(text)).0 != text) {
            return Err(no("a secret stands in it, which is told to no skill"));
        }
        let labels = action.labels();
        let told = Told { privacy: labels.privacy, trust: labels.trust, sources: BTreeSet::new() };
        let case = cases::of_proposal(&action);
        let said = host.ask(name, Role::Refine, (&case, &told), |value| cases::rewritten(value, tool)).await;
        match said.map_err(|why| no(why.trim_end_matches('.')))? {
            None => Ok(action),
            Some(new) if new.args == *action.args() && new.explanation.is_none() => Ok(action),
            Some(new) => {
                let refined = action.refined(&toolbox, (name, outside), new.args, new.explanation.as_deref());
                refined.map_err(|malformed| no(malformed.0.trim_end_matches('.')))
            }
        }
    }

    async fn resolve(&self, fault: &Fault) -> Resolution {
        let declared = on_error(self.skill);
        let (Some(skill), Some(host)) = (self.with(Role::OnError), &self.engine.skill_host) else { return declared };
        // It is told what the log may hold, and nothing of the conversation.
        let told = Told::own(Privacy::Open);
        let case = cases::of_fault(fault, |text| mask(&self.engine.mask(text)).0);
        let said = host.ask(&skill.name, Role::OnError, (&case, &told), cases::resolution).await;
        said.ok().flatten().unwrap_or(declared)
    }
}

/// A skill that answers in place of a model: what it proposes takes the same road as a model's calls.
pub(super) struct Answering {
    pub skill: String,
    /// What it says first; `None` once it was said.
    said: Mutex<Option<Said>>,
    /// How private what it was told is.
    privacy: Privacy,
}

impl Answering {
    /// Makes what answers; without anything that is still to be said it tells what came of what was proposed.
    pub(super) fn new(skill: String, said: Option<Said>, privacy: Privacy) -> Answering {
        Answering { skill, said: Mutex::new(said), privacy }
    }
}

#[async_trait]
impl Model for Answering {
    async fn complete(
        &self,
        prompt: &(dyn Fn(Locality) -> Prompt + Send + Sync),
        sink: Sink<'_>,
    ) -> Result<Answered, ModelFailure> {
        let said = self.said.lock().take();
        let (text, calls) = match said {
            Some(Said::Words(text)) => (text, Vec::new()),
            Some(Said::Proposal(text, calls)) => (text, calls),
            None => {
                // What was looked up is the answer.
                let toolbox = Toolbox::builtin();
                let reads = |tool: &str| toolbox.get(tool).is_some_and(|tool| tool.effect.class() == Class::Read);
                let came = report_with(&prompt(Locality::Builtin).messages, &reads);
                (came.unwrap_or_else(|| format!("The skill {} has nothing more to say.", self.skill)), Vec::new())
            }
        };
        // An answer stands in a chat, and what stands there may be sent to a model later.
        let (text, _) = mask(&text);
        sink(Streamed::Text(&text));
        let completion = Completion {
            provider: format!("skill {}", self.skill),
            model: "no model".to_string(),
            text,
            ended: Ended::Whole,
            thinking: Thinking::default(),
            calls,
            unreadable: Vec::new(),
            labels: Labels::MODEL,
            usage: Some(Usage::default()),
            attempts: 1,
            sources: Vec::new(),
        };
        Ok(Answered { completion, locality: Locality::Builtin, privacy: self.privacy, outside: Vec::new() })
    }

    async fn exactly(&self, _provider: &str, _prompt: &Prompt) -> Result<String, String> {
        Err(format!("the skill {} answers this itself, so no model is asked", self.skill))
    }
}
