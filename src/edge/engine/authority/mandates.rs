//! What headings say of the work below them, read from memory as it is now.

use crate::domain::action::Action;
use crate::domain::gate::Facts;
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::card::Card;
use crate::domain::memory::view::NodeRef;
use crate::domain::policy;
use crate::domain::policy::loosening::Loosening;
use crate::domain::policy::mandate::{Ground, Mandate, NAMES, Said};
use crate::domain::scope::{Level, Scope};
use crate::domain::tool::{LOG_JOB, Tool};
use crate::edge::engine::Engine;
use crate::edge::engine::authority::held::values;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// How many headings are looked through for what waits.
const MOST: usize = 1_000;

impl Engine {
    /// Returns what holds for work on one heading: what its file says, then each heading down to it.
    fn mandate_of(&self, node: &NodeRef, may_name: Privacy) -> Mandate {
        self.mandate_where(node, true, may_name)
    }

    /// Returns that with what was taken away and not let go, or without it. Of headings that are more private than
    /// `may_name` it has no words.
    pub(super) fn mandate_where(&self, node: &NodeRef, held: bool, may_name: Privacy) -> Mandate {
        let local: BTreeSet<String> = self
            .providers
            .read()
            .declared
            .iter()
            .filter(|one| one.local)
            .map(|one| one.name.to_ascii_lowercase())
            .collect();
        let ground = Ground { toolbox: &self.toolbox(), confirmed: &|it| self.is_confirmed(it), local: &local };
        let mut mandate = Mandate::default();
        let file: &str = node.file();
        let whole = Some(file).filter(|_| node.card().privacy(0) <= may_name);
        for name in NAMES {
            let value = node.card().file_property(name);
            let kept = held.then(|| self.held_of_file(file, name, value)).flatten();
            let said = |value| Said { file, heading: "", title: whole, name, value };
            match (kept, value) {
                (Some(kept), value) => {
                    // What cannot be read is named all the same.
                    let value = value.filter(|value| name == "PP_DENY" || policy::held::said(name, [*value]).is_none());
                    value.into_iter().for_each(|value| mandate.take(&said(value), &ground));
                    mandate.take_held(&said(&kept), &ground);
                }
                (None, Some(value)) => mandate.take(&said(value), &ground),
                (None, None) => {}
            }
        }
        let mut chain: Vec<NodeRef> = node.ancestors().collect();
        chain.reverse();
        for above in chain.iter().chain([node]) {
            let mut kept = if held { self.held_of_heading(above) } else { BTreeMap::new() };
            let title = Some(above.title()).filter(|_| above.privacy() <= may_name);
            for name in NAMES {
                let values = values(above, name);
                let said = |value| Said { file, heading: above.id().as_str(), title, name, value };
                let kept = kept.remove(name);
                if values.len() > 1 && name != "PP_DENY" {
                    let place = said("").called();
                    mandate.wrong.push(format!("{file}: {place}: {name} stands there more than once"));
                } else if kept.is_none()
                    || policy::held::said(name, values.iter().copied()).is_none()
                    || name == "PP_DENY"
                {
                    // Of what forbids, every line counts, and what cannot be read is named.
                    values.into_iter().for_each(|value| mandate.take(&said(value), &ground));
                }
                if let Some(kept) = kept {
                    mandate.take_held(&said(&kept), &ground);
                }
            }
        }
        mandate
    }

    /// Returns what holds for everything that an action is about, together: of what it reads or changes as a whole, all
    /// that its headings forbid. What it says goes to whoever proposed the action and beside what they were answered: a
    /// heading is named there only where the conversation may know it, by what is in it and by what the action is about.
    pub(in crate::edge::engine) fn mandate_over(&self, action: &Action, facts: &Facts, scope: &Scope) -> Mandate {
        let view = self.view();
        let may_name = action.labels().privacy.max(facts.privacy.unwrap_or(Privacy::Open)).min(scope.may_see);
        let mut all: Option<Mandate> = None;
        let mut add = |one: Mandate| {
            all = Some(match all.take() {
                Some(known) => known.intersection(&one),
                None => one,
            });
        };
        let mut known: HashSet<String> = HashSet::new();
        let whole = self.toolbox().get(action.tool()).is_none_or(Tool::takes_whole);
        for name in ["id", "parent"] {
            let Some(node) = action.text(name).and_then(|id| view.get(&NodeId::new(id))) else { continue };
            known.insert(node.file().to_string());
            add(self.mandate_of(&node, may_name));
            // What is archived leaves its place, perhaps for another heading of its file: the file's own word counts.
            if let Some(whole) = view.node(node.file(), 0).filter(|_| action.tool() == "org-archive") {
                add(self.mandate_of(&whole, may_name));
            }
            // Of a file that is named by its id everything is meant, and of what is moved or read all that hangs on it.
            if name == "id" && (whole || node.index == 0) {
                let below =
                    node.with_descendants().filter(|below| below.index != node.index && self.speaks_or_spoke(below));
                below.for_each(|below| add(self.mandate_of(&below, may_name)));
            }
        }
        // A file that is named by its path is meant as a whole; one that is only edited may be known by its heading.
        let named: HashSet<&str> = facts.paths.iter().map(|path| path.resolved.as_str()).collect();
        let edits = facts.edits.iter().map(|edit| edit.file.as_str());
        let edited = edits.chain(facts.puts.iter().map(|put| put.file.as_str())).filter(|file| !known.contains(*file));
        for file in named.into_iter().chain(edited).collect::<BTreeSet<_>>() {
            // What memory does not have is ruled by nobody: what other headings allow does not hold for it.
            let Some(card) = view.card(file) else {
                add(Mandate::default());
                continue;
            };
            let nodes = (0..card.len()).filter_map(|index| view.node(file, index));
            nodes
                .filter(|node| node.index == 0 || self.speaks_or_spoke(node))
                .for_each(|node| add(self.mandate_of(&node, may_name)));
        }
        let mut mandate = all.unwrap_or_default();
        // Who confirmed a job knows that its heading keeps a log.
        if action.tool() == LOG_JOB
            && !mandate.deny.contains_key(LOG_JOB)
            && let Some(by) = action.text("id").and_then(|id| self.confirmed_job(id))
        {
            mandate.allow.insert(LOG_JOB.to_string(), by);
        }
        // Only what is judged by; what waits is listed elsewhere.
        Mandate { waiting: Vec::new(), ..mandate }
    }

    /// Returns whether a heading says something of ours by itself, or did before it was taken away.
    fn speaks_or_spoke(&self, node: &NodeRef) -> bool {
        speaks(node) || self.knows_lines_of(node)
    }

    /// Returns what holds for a turn that begins at a heading, by its id.
    pub(in crate::edge::engine) fn mandate_at(&self, id: Option<&str>) -> Mandate {
        let node = id.and_then(|id| self.view().get(&NodeId::new(id)));
        node.map(|node| self.mandate_of(&node, Privacy::Open)).unwrap_or_default()
    }

    /// Returns a scope in which what a heading denies is denied.
    pub(in crate::edge::engine) fn tightened(&self, mut scope: Scope, below: Option<&str>) -> Scope {
        let mandate = self.mandate_at(below);
        for tool in mandate.deny.into_keys() {
            scope.permissions.retain(|name, _| !name.eq_ignore_ascii_case(&tool));
            scope.permissions.insert(tool, Level::Deny);
        }
        scope
    }

    /// Returns what headings and files of memory say that loosens and was not confirmed.
    pub(in crate::edge::engine) fn waiting_mandates(&self) -> Vec<Loosening> {
        const LOOSEN: [&str; 3] = ["PP_ALLOW", "PP_BUDGET", "PP_MODEL"];
        let view = self.view();
        let mut found = BTreeSet::new();
        for name in LOOSEN {
            for node in crate::domain::memory::query::with_property(&view, name, None).take(MOST) {
                found.extend(self.mandate_of(&node, Privacy::Open).waiting);
            }
        }
        let says = |card: &&Arc<Card>| LOOSEN.iter().any(|name| card.file_property(name).is_some());
        for whole in view.cards().filter(says).take(MOST).filter_map(|card| view.node(card.file.as_ref(), 0)) {
            found.extend(self.mandate_of(&whole, Privacy::Open).waiting);
        }
        found.into_iter().collect()
    }
}

/// Returns whether a heading says something of ours by itself, on one line or by a line that adds to it.
fn speaks(node: &NodeRef) -> bool {
    let ours = |key: &str| NAMES.iter().any(|name| key.strip_prefix(name).is_some_and(|rest| matches!(rest, "" | "+")));
    node.properties().any(|(key, _)| ours(key))
}
