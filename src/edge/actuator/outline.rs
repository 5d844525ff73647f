//! Carries out `org-outline`: the headings of memory without their texts, as far as whoever asks may see them.

use crate::domain::count::counted;
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::view::NodeRef;
use crate::domain::outside::Piece;
use crate::domain::query::run::Hit;
use crate::domain::query::show::Row;
use crate::edge::actuator::memory::Asked;
use crate::edge::actuator::{Done, note};
use crate::edge::engine::Engine;

/// How many headings or files are shown at once.
const MOST: usize = 500;

impl Asked {
    pub(super) fn outline(&self, engine: &Engine) -> Done {
        let (action, may_see) = (&self.action, self.may_see);
        let depth = action.args().get("depth").and_then(|depth| depth.as_u64()).unwrap_or(3).clamp(1, 20);
        let depth = u16::try_from(depth).unwrap_or(3);
        let view = engine.view();
        let top = match (action.text("id").filter(|id| !id.is_empty()), &self.path) {
            (Some(id), _) => view.get(&NodeId::new(id)),
            (None, Some(path)) => view.node(path, 0),
            (None, None) => return self.files(engine),
        };
        let Some(top) = top.filter(|top| top.privacy() <= may_see) else {
            return Done::failed("memory has no such heading or file; memory-search finds ids");
        };
        let mut privacy = Privacy::Open;
        let (mut lines, mut shown) = (Vec::new(), Vec::new());
        let seen = top.with_descendants().filter(|node| {
            node.privacy() <= may_see && node.level() > top.level() && node.level().saturating_sub(top.level()) <= depth
        });
        for node in seen {
            if lines.len() == MOST {
                lines.push(format!("Only the first {MOST} are shown: name a heading further down, or fewer levels."));
                break;
            }
            privacy = privacy.max(node.privacy());
            lines.push(line(&node, top.level()));
            shown.push(node);
        }
        if lines.is_empty() {
            lines.push("There is no heading below it.".to_string());
        }
        Done::read(lines.join("\n"), note(privacy), engine.outside_of_nodes(&shown)).of(&shown)
    }

    /// Lists the files of memory. One with anything private in it is named only to who may see that.
    fn files(&self, engine: &Engine) -> Done {
        let (may_see, scope) = (self.may_see, &self.scope);
        let view = engine.view_in_sight();
        let mut privacy = Privacy::Open;
        let (mut lines, mut outside, mut files) = (Vec::new(), Vec::new(), Vec::new());
        for card in view.cards().filter(|card| card.strictest() <= may_see) {
            if lines.len() == MOST {
                lines.push(format!("Only the first {MOST} are shown."));
                break;
            }
            privacy = privacy.max(card.strictest());
            let line = format!("- {} ({})", card.file, counted(card.headings(), "heading"));
            // A name is text, too.
            if let Some(source) = engine.source_of_place(&card.file, scope) {
                outside.push(Piece::new(&source, &line, card.strictest()));
            }
            lines.push(line);
            files.extend(view.node(&card.file, 0));
        }
        if lines.is_empty() {
            lines.push("Memory has no file.".to_string());
        }
        Done::read(lines.join("\n"), note(privacy), outside).of(&files)
    }
}

fn line(node: &NodeRef, top: u16) -> String {
    let row = Row::of(&Hit { node: node.clone(), score: None, snippet: None });
    let indent = "  ".repeat(usize::from(node.level().saturating_sub(top + 1)).min(20));
    let keyword = row.keyword.as_ref().map(|keyword| format!("{keyword} ")).unwrap_or_default();
    let tags = if row.tags.is_empty() { String::new() } else { format!(" :{}:", row.tags.join(":")) };
    format!("{indent}- {keyword}{}{tags} (id: {})", row.title, row.id)
}
