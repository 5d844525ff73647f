//! Carries out `inbox-propose` and `links-suggest`, which look and change nothing, and `manual-search`.

use super::census::row;
use super::memory::Asked;
use super::{Done, OWN, clipped, note};
use crate::domain::count::counted;
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::manual::Manual;
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::query::census::Seen;
use crate::domain::query::near::{Near, linked, near, place};
use crate::domain::query::snippet::one_line;
use crate::edge::engine::Engine;
use std::sync::OnceLock;

/// What the file of captured headings is called where none is named.
const INBOX: &str = "/inbox.org";
/// So many notes are looked at for links that could be made, those of the files that changed last.
const LOOKED_AT: usize = 50;
/// Text of fewer bytes is passed over.
const SHORTEST: usize = 60;
/// How many sections of the manual are told without a word on it.
const SECTIONS: u64 = 3;

/// Returns the file that is called like an inbox, wherever the focus is; of several the one in the fewest folders.
fn inbox_of(view: &View) -> Option<String> {
    let named = view.cards().map(|card| card.file.to_string()).filter(|file| file.to_lowercase().ends_with(INBOX));
    named.min_by_key(|file| (file.matches('/').count(), file.clone()))
}

/// The manual of this very version.
pub(super) fn manual() -> &'static Manual {
    static MANUAL: OnceLock<Manual> = OnceLock::new();
    MANUAL.get_or_init(|| Manual::of(include_str!("../../../docs/manual.org")))
}

impl Asked {
    pub(super) fn inbox(&self, engine: &Engine) -> Done {
        let view = engine.view_in_sight();
        let seen = Seen { view: &view, clearance: self.may_see };
        let Some(file) = self.path.clone().or_else(|| inbox_of(&view)) else {
            return Done::failed(
                "there is no inbox.org in what is looked at; name the file that holds what was captured, or /unfocus",
            );
        };
        let Some(top) = view.node(&file, 0).filter(|top| top.privacy() <= self.may_see) else {
            return Done::failed("memory has no such file; name one of the memex");
        };
        // A heading that only holds others, as the one that captured entries are put below, is no entry.
        let holds = |node: &NodeRef| node.children().next().is_some() && node.body().trim().is_empty();
        let entries = top.children().flat_map(|node| match holds(&node) {
            true => node.children().collect(),
            false => vec![node],
        });
        let captured: Vec<NodeRef> = entries.filter(|node| node.privacy() <= self.may_see).collect();
        let (mut lines, mut nodes) =
            (vec![format!("{} in the inbox.", counted(captured.len(), "heading"))], Vec::new());
        let index = engine.index();
        for heading in captured.into_iter().take(self.most()) {
            let found = near(seen, &index, &heading, self.most(), &|other| **other.file() != *file);
            lines.push(row(&heading, ""));
            match place(&heading, found) {
                None => lines.push("  nothing is near to it; decide where it goes".to_string()),
                Some(place) => {
                    let to = row(&place.parent, "");
                    lines.push(format!("  could go to: {}", to.trim_start_matches("- ")));
                    for Near { node, shared, .. } in place.because.iter().take(3) {
                        lines.push(format!("  there stands “{}”, with: {}", one_line(node.title()), shared.join(", ")));
                    }
                    let tags = place.tags.join(", ");
                    lines.extend((!tags.is_empty()).then(|| format!("  could have the tags: {tags}")));
                    nodes.push(place.parent);
                    nodes.extend(place.because.into_iter().map(|near| near.node));
                }
            }
            nodes.push(heading);
        }
        self.shown(engine, lines, nodes, seen.hides())
    }

    pub(super) fn links(&self, engine: &Engine) -> Done {
        let view = engine.view_in_sight();
        let seen = Seen { view: &view, clearance: self.may_see };
        let of: Vec<NodeRef> = match self.action.text("id").filter(|id| !id.is_empty()) {
            Some(id) => match view.get(&NodeId::new(id)).filter(|node| node.privacy() <= self.may_see) {
                Some(node) => vec![node],
                None => return Done::failed(format!("there is no heading with the id {id}; memory-search finds ids")),
            },
            None => seen.latest(LOOKED_AT, SHORTEST),
        };
        let index = engine.index();
        let mut found: Vec<(NodeRef, Near)> = Vec::new();
        for node in of {
            let distant = |other: &NodeRef| other.file() != node.file() && !linked(&node, other);
            for near in near(seen, &index, &node, 2, &distant) {
                let known = |(one, other): &(NodeRef, Near)| one.id() == near.node.id() && other.node.id() == node.id();
                if !found.iter().any(known) {
                    found.push((node.clone(), near));
                }
            }
        }
        // What shares more words goes first; scores of different notes cannot be compared.
        found.sort_by_key(|(_, near)| std::cmp::Reverse(near.shared.len()));
        let mut lines = vec![format!("{} of notes could be linked.", counted(found.len(), "pair"))];
        let mut nodes = Vec::new();
        for (one, near) in found.into_iter().take(self.most()) {
            let other = row(&near.node, "");
            let words = near.shared.join(", ");
            lines.push(format!("{} and {}: both have {words}", row(&one, ""), other.trim_start_matches("- ")));
            nodes.extend([one, near.node]);
        }
        self.shown(engine, lines, nodes, seen.hides())
    }

    fn shown(&self, engine: &Engine, mut lines: Vec<String>, nodes: Vec<NodeRef>, hidden: bool) -> Done {
        lines.extend(engine.filling().map(|filling| format!("Note: {filling}")));
        lines.extend(self.remarks(engine, hidden));
        let privacy = nodes.iter().map(NodeRef::privacy).max().unwrap_or(Privacy::Open);
        if self.may_see < Privacy::Private {
            engine.count_sent(&nodes);
        }
        Done::read(clipped(&lines.join("\n")), note(privacy), engine.outside_of_nodes(&nodes)).of(&nodes)
    }

    pub(super) fn manual(&self) -> Done {
        let query = self.action.text("query").unwrap_or("");
        let limit = self.action.args().get("limit").and_then(|limit| limit.as_u64()).unwrap_or(SECTIONS).clamp(1, 10);
        let found = manual().search(query, usize::try_from(limit).unwrap_or(3));
        if found.is_empty() {
            return Done::said("The manual has no section with these words.".to_string(), OWN);
        }
        let told = found.iter().map(|section| format!("{}\n{}", section.path.join(" › "), section.text));
        Done::said(clipped(&told.collect::<Vec<_>>().join("\n\n")), OWN)
    }
}
