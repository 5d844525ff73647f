//! Carries out what the archivist looks up: `notes-undistilled` and `memory-garden`. Both look, and change nothing.

use super::census::row;
use super::memory::Asked;
use super::{Done, clipped, note};
use crate::domain::count::counted;
use crate::domain::gate::place::{Zone, zone};
use crate::domain::label::Privacy;
use crate::domain::memory::view::NodeRef;
use crate::domain::query::census::{Listed, Seen, since};
use crate::domain::query::distilled::undistilled;
use crate::domain::query::garden::{Leads, garden};
use crate::edge::engine::Engine;
use std::path::Path;

/// How many of each kind are listed without a word on it.
const USUAL: u64 = 10;
/// Since when daily notes are looked at without a word on it.
const MONTH: &str = "-30d";

impl Asked {
    pub(super) fn most(&self) -> usize {
        let limit = self.action.args().get("limit").and_then(|limit| limit.as_u64()).unwrap_or(USUAL).clamp(1, 50);
        usize::try_from(limit).unwrap_or(10)
    }

    pub(super) fn undistilled(&self, engine: &Engine) -> Done {
        let said = self.action.text("since").map(str::trim).filter(|said| !said.is_empty()).unwrap_or(MONTH);
        let from = match since(said, engine.clock.wall()) {
            Ok(from) => from.date(),
            Err(why) => return Done::failed(format!("since when? {why}")),
        };
        let listed = undistilled(&engine.view_in_sight(), from, self.most());
        let head = format!(
            "{} of daily notes since {from}, of which no note was distilled. Private ones are not among them.",
            counted(listed.total, "heading")
        );
        self.told(engine, vec![head], &[&listed], Vec::new())
    }

    pub(super) fn garden(&self, engine: &Engine) -> Done {
        let view = engine.view_in_sight();
        let seen = Seen { view: &view, clearance: self.may_see };
        let leads = |file: &str| match zone(file, &self.scope) {
            Zone::Memex | Zone::Project if Path::new(file).symlink_metadata().is_ok() => Leads::Somewhere,
            Zone::Memex | Zone::Project => Leads::Nowhere,
            _ => Leads::Unknown,
        };
        let found = garden(seen, self.most(), &leads);
        let mut lines = vec![format!("{} nowhere.", lead(found.broken.total))];
        lines.extend(found.broken.nodes.iter().map(|(node, said)| row(node, said)));
        let alone = counted(found.orphans.total, "heading");
        lines.push(format!("{alone} with an id: nothing links to it, and it links to no other note."));
        lines.extend(found.orphans.nodes.iter().map(|(node, said)| row(node, said)));
        lines.push(format!("{} of headings with nearly the same text.", counted(found.pairs, "pair")));
        let mut twins = Listed::default();
        for (first, second, likeness) in found.twins {
            lines.push(format!(
                "{} and {}: {likeness} % alike",
                row(&first, ""),
                row(&second, "").trim_start_matches("- ")
            ));
            twins.nodes.extend([(first, String::new()), (second, String::new())]);
        }
        let left = [
            (found.unknown, "link", "to files outside of the memex and the project, which were not looked for"),
            (found.unread, "file", "whose text was not read"),
            (
                found.crowded,
                "heading",
                "with a text that more than thirty share, such as a template, and that was not compared",
            ),
        ];
        let notes = left.iter().filter(|(count, ..)| *count > 0);
        let notes = notes.map(|(count, what, why)| format!("Note: {} {why}.", counted(*count, what))).collect();
        self.said(engine, (lines, notes), &[&found.broken, &found.orphans, &twins], seen.hides())
    }

    fn told(&self, engine: &Engine, mut lines: Vec<String>, listed: &[&Listed], notes: Vec<String>) -> Done {
        lines.extend(listed.iter().flat_map(|listed| &listed.nodes).map(|(node, said)| row(node, said)));
        self.said(engine, (lines, notes), listed, false)
    }

    fn said(
        &self,
        engine: &Engine,
        (mut lines, notes): (Vec<String>, Vec<String>),
        listed: &[&Listed],
        hidden: bool,
    ) -> Done {
        lines.extend(notes);
        lines.extend(self.remarks(engine, hidden));
        let nodes: Vec<NodeRef> =
            listed.iter().flat_map(|listed| &listed.nodes).map(|(node, _)| node.clone()).collect();
        let privacy = nodes.iter().map(NodeRef::privacy).max().unwrap_or(Privacy::Open);
        if self.may_see < Privacy::Private {
            engine.count_sent(&nodes);
        }
        Done::read(clipped(&lines.join("\n")), note(privacy), engine.outside_of_nodes(&nodes)).of(&nodes)
    }
}

fn lead(number: usize) -> String {
    format!("{} {}", counted(number, "link"), if number == 1 { "leads" } else { "lead" })
}
