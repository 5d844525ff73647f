//! Carries out `memory-report`: counts and lists over memory, as far as whoever asks may see it.

use super::memory::Asked;
use super::{Done, clipped, note};
use crate::domain::count::counted;
use crate::domain::label::Privacy;
use crate::domain::memory::view::NodeRef;
use crate::domain::query::census::{Counts, Listed, Seen, since};
use crate::domain::query::snippet::one_line;
use crate::edge::engine::Engine;
use jiff::tz::TimeZone;

/// How many nodes are listed without a word on it.
const USUAL: u64 = 10;
/// How many tags are counted by name.
const TAGS: usize = 20;

impl Asked {
    pub(super) fn report(&self, engine: &Engine) -> Done {
        let view = engine.view_in_sight();
        let seen = Seen { view: &view, clearance: self.may_see };
        let limit = self.action.args().get("limit").and_then(|limit| limit.as_u64()).unwrap_or(USUAL).clamp(1, 50);
        let most = usize::try_from(limit).unwrap_or(10);
        let (zone, now) = (TimeZone::system(), engine.clock.wall());
        let local = |at: jiff::Timestamp| at.to_zoned(zone.clone()).datetime();
        let (head, listed) = match self.action.text("part").unwrap_or("counts") {
            "orphans" => {
                ("headings with an id that link to no other note and to which nothing links", seen.orphans(most))
            }
            "oldest" => ("files, the one first that was not changed for longest", seen.oldest(most, &local)),
            "largest" => ("headings, the one with the longest text first", seen.largest(most)),
            "changed" => match since(self.action.text("since").unwrap_or(""), now) {
                Ok(from) => {
                    let listed = seen.changed(most, (from, now), &local);
                    let head = format!("files changed since {}, with what is dated since then", from.date());
                    return self.listed(engine, &head, (listed, seen.hides()));
                }
                Err(why) => return Done::failed(format!("since when? {why}")),
            },
            _ => return self.counted(engine, &seen.counts()),
        };
        self.listed(engine, head, (listed, seen.hides()))
    }

    fn counted(&self, engine: &Engine, counts: &Counts) -> Done {
        let mut lines = vec![format!(
            "{}, {}, {} kB. {} of the headings have an id.",
            counted(counts.files, "file"),
            counted(counts.headings, "heading"),
            counts.bytes.div_ceil(1000),
            counts.with_id
        )];
        let by_keyword = |wanted: bool| {
            let some = counts.keywords.iter().filter(|(_, (_, done))| *done == wanted);
            some.map(|(name, (count, _))| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
        };
        for (what, words) in [("To do", by_keyword(false)), ("Done", by_keyword(true))] {
            lines.extend((!words.is_empty()).then(|| format!("{what}: {words}.")));
        }
        let mut tags: Vec<(&String, &usize)> = counts.tags.iter().collect();
        tags.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
        let more = tags.len().saturating_sub(TAGS);
        let mut named: Vec<String> = tags.iter().take(TAGS).map(|(name, count)| format!("{name} {count}")).collect();
        named.extend((more > 0).then(|| format!("and {} more", counted(more, "tag"))));
        lines.extend((!named.is_empty()).then(|| format!("By tags of their own: {}.", named.join(", "))));
        lines.extend(self.remarks(engine, counts.hidden));
        // What is named here is open to all.
        Done::read(lines.join("\n"), note(Privacy::Open), Vec::new())
    }

    fn listed(&self, engine: &Engine, head: &str, (listed, hidden): (Listed, bool)) -> Done {
        let (mut privacy, mut lines) = (Privacy::Open, vec![format!("{} {head}.", listed.total)]);
        for (node, said) in &listed.nodes {
            privacy = privacy.max(node.privacy());
            lines.push(row(node, said));
        }
        lines.extend(self.remarks(engine, hidden));
        let nodes: Vec<NodeRef> = listed.nodes.into_iter().map(|(node, _)| node).collect();
        if self.may_see < Privacy::Private {
            engine.count_sent(&nodes);
        }
        Done::read(clipped(&lines.join("\n")), note(privacy), engine.outside_of_nodes(&nodes)).of(&nodes)
    }

    pub(super) fn remarks(&self, engine: &Engine, hidden: bool) -> Vec<String> {
        let narrowed = !engine.view_in_sight().sight().is_all();
        let reading = engine.reading().is_some();
        [
            (hidden, "Note: private notes are left out."),
            (narrowed, "Note: the user's focus narrows what is looked at; /unfocus widens it."),
            (reading, "Note: the memex is still being read; ask again later."),
        ]
        .into_iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, words)| words.to_string())
        .collect()
    }
}

/// Returns the line of a node, with what is said of it.
pub(super) fn row(node: &NodeRef, said: &str) -> String {
    let name = if node.level() == 0 { node.file().to_string() } else { one_line(node.title()) };
    let line = format!("- {name} (id: {})", node.id());
    if said.is_empty() { line } else { format!("{line}: {said}") }
}
