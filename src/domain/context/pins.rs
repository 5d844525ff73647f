//! What the user wants in every context, or out of it: said for this session, or kept as a property of the heading.

use crate::domain::id::NodeId;
use crate::domain::memory::query::with_property;
use crate::domain::memory::view::View;
use std::collections::BTreeMap;

/// The property of a heading that keeps it.
pub const PROPERTY: &str = "PP_CONTEXT";
/// Its value for what is to be in.
pub const IN: &str = "in";
/// Its value for what is to be out.
pub const OUT: &str = "out";
/// More headings than this are not looked at.
const MOST: usize = 1_000;

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
}
