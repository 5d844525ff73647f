//! What the user wants in every context, or out of it: said for this session, or kept as a property of the heading.

use crate::domain::id::NodeId;
use crate::domain::memory::query::with_property;
use crate::domain::memory::view::View;
use crate::domain::org::link::{Kind, links};
use std::collections::BTreeMap;

/// The property of a heading that keeps it.
pub const PROPERTY: &str = "PP_CONTEXT";
/// Its value for what is to be in.
pub const IN: &str = "in";
/// Its value for what is to be out.
pub const OUT: &str = "out";
/// More headings than this are not looked at.
const MOST: usize = 1_000;

/// So many headings are taken that one question names.
const NAMED: usize = 16;

/// What is to be in, and what is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    /// In full, as far as there is room, in the order of files or as they were named.
    pub pinned: Vec<NodeId>,
    /// Never, but as the node in focus, or as a title above another node.
    pub unpinned: Vec<NodeId>,
}

impl Pins {
    /// Returns what is wanted: what headings keep, and above that what was said for this session, `true` for in.
    pub fn of(view: &View, said: &BTreeMap<NodeId, bool>) -> Pins {
        let mut pins = Pins::default();
        for node in with_property(view, PROPERTY, None).take(MOST) {
            let value = node.property(PROPERTY).unwrap_or("").trim();
            match said.contains_key(node.id()) {
                true => {}
                false if value.eq_ignore_ascii_case(IN) => pins.pinned.push(node.id().clone()),
                false if value.eq_ignore_ascii_case(OUT) => pins.unpinned.push(node.id().clone()),
                false => {}
            }
        }
        for (id, wanted) in said {
            if *wanted { &mut pins.pinned } else { &mut pins.unpinned }.push(id.clone());
        }
        pins
    }

    /// Returns them with what a question names by links to ids: that is in before all else, whatever was dropped.
    pub fn naming(mut self, question: &str) -> Pins {
        let mut named = Vec::new();
        for id in named_in(question) {
            if named.contains(&id) {
                continue;
            }
            named.push(id);
            if named.len() == NAMED {
                break;
            }
        }
        self.unpinned.retain(|id| !named.contains(id));
        named.extend(self.pinned.into_iter().filter(|id| !named.contains(id)).collect::<Vec<_>>());
        Pins { pinned: named, unpinned: self.unpinned }
    }
}

/// Returns the ids that a question names by links, in their order, each as often as it names it.
pub fn named_in(question: &str) -> impl Iterator<Item = NodeId> {
    let ids = links(question).into_iter().filter(|link| link.kind == Kind::Id);
    ids.filter_map(move |link| question.get(link.target).map(str::trim).filter(|id| !id.is_empty()).map(NodeId::new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_question_names_comes_first_and_is_dropped_no_more() {
        let ids = |names: &[&str]| names.iter().copied().map(NodeId::new).collect::<Vec<_>>();
        for (question, pinned, unpinned) in [
            ("which wood?", vec!["a", "b"], vec!["c"]),
            ("is @[[id:x][The x]] like [[id:c]] or [[id:x]]?", vec!["x", "c", "a", "b"], vec![]),
            ("see [[id:b][b]]", vec!["b", "a"], vec!["c"]),
            ("not =[[id:x]]=, not [[file:x.org]], not [[https://id:x]], not [[id:]]", vec!["a", "b"], vec!["c"]),
        ] {
            let pins = Pins { pinned: ids(&["a", "b"]), unpinned: ids(&["c"]) };
            let expected = Pins { pinned: ids(&pinned), unpinned: ids(&unpinned) };
            assert_eq!(pins.naming(question), expected, "{question}");
        }
        let many: String = (0..1_000).map(|n| format!("[[id:n{n}]] ")).collect();
        assert_eq!(Pins::default().naming(&many).pinned.len(), NAMED);
    }
}
