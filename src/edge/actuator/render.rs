//! Carries out `org-render`: headings of memory as plain text or as an outline, or the keywords of a file, as far as whoever
//! asks may see them.

use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::view::NodeRef;
use crate::domain::org::edit::keywords;
use crate::domain::org::render;
use crate::edge::actuator::memory::Asked;
use crate::edge::actuator::{Done, clipped, note};
use crate::edge::engine::Engine;

impl Asked {
    pub(super) fn render(&self, engine: &Engine) -> Done {
        let (action, may_see, view) = (&self.action, self.may_see, engine.view());
        let top = match (action.text("id").filter(|id| !id.is_empty()), &self.path) {
            (Some(_), Some(_)) | (None, None) => return Done::failed("say what is read: “id” or “file”, one of them"),
            (Some(id), None) => view.get(&NodeId::new(id)),
            (None, Some(path)) => view.node(path, 0),
        };
        let Some(top) = top.filter(|top| top.privacy() <= may_see) else {
            return Done::failed("memory has no such heading or file; memory-search finds ids");
        };
        let form = action.text("form").unwrap_or("text");
        if form == "keywords" {
            if top.index > 0 {
                return Done::failed("a heading has no keywords; name its file");
            }
            let lines: Vec<String> =
                keywords(top.own()).iter().map(|keyword| format!("#+{}: {}", keyword.key, keyword.value)).collect();
            let text =
                if lines.is_empty() { "There is none above its first heading.".to_string() } else { lines.join("\n") };
            return self.rendered(engine, &text, vec![top]);
        }
        // Read once, for all below it.
        top.text();
        let (shown, hidden) = exported(&top, may_see);
        if may_see < Privacy::Private {
            engine.count_nodes(&hidden);
        }
        let mut text = String::new();
        for node in &shown {
            let depth = usize::from(node.level().saturating_sub(top.level()));
            let (keyword, tags) = (node.keyword(), node.tags().collect::<Vec<_>>().join(":"));
            let keyword = keyword.as_ref().map(|keyword| keyword.name);
            // The tags of a file are no part of its title.
            let tags = if tags.is_empty() || node.index == 0 { String::new() } else { format!(":{tags}:") };
            if form == "outline" {
                let indent = "  ".repeat(depth.min(20));
                text.push_str(&format!("{indent}- {}\n", render::line(keyword, node.title(), &tags)));
                continue;
            }
            let (title, body) = (render::title(keyword, node.title(), &tags, depth), render::body(node.body()));
            let (gap, between) = (if text.is_empty() { "" } else { "\n" }, if body.is_empty() { "" } else { "\n" });
            text.push_str(&format!("{gap}{title}{between}{body}"));
        }
        self.rendered(engine, &text, shown)
    }

    fn rendered(&self, engine: &Engine, text: &str, shown: Vec<NodeRef>) -> Done {
        if self.may_see < Privacy::Private {
            engine.count_sent(&shown);
        }
        let privacy = shown.iter().map(NodeRef::privacy).max().unwrap_or(Privacy::Open);
        Done::read(clipped(text), note(privacy), engine.outside_of_nodes(&shown)).of(&shown)
    }
}

/// Returns a node and what of all below it would be exported and may be seen, and what may not be seen.
fn exported(top: &NodeRef, may_see: Privacy) -> (Vec<NodeRef>, Vec<NodeRef>) {
    let (mut shown, mut hidden, mut left_out) = (Vec::new(), Vec::new(), 0);
    for node in top.with_descendants() {
        if node.privacy() > may_see {
            hidden.push(node);
            continue;
        }
        let not_exported = node.commented() || node.tags().any(|tag| tag.eq_ignore_ascii_case("noexport"));
        if not_exported && node.index != top.index {
            left_out = left_out.max(node.after());
        }
        if node.index >= left_out {
            shown.push(node);
        }
    }
    (shown, hidden)
}
