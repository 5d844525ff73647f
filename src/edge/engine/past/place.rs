//! A heading from one version of its file to the one before it: found by its id, its text, its path or its body.

use crate::domain::org::outline::Outline;
use crate::domain::org::scan::{ScanOptions, scan};
use std::sync::Arc;

/// Returns a heading's own text, without what is below it.
pub(super) fn own(outline: &Outline, index: usize) -> &str {
    let begin = |index: usize| outline.nodes.get(index).map(|node| node.begin as usize);
    let from = if index == 0 { Some(0) } else { begin(index) };
    let to = begin(index + 1).unwrap_or(outline.text.len());
    from.and_then(|from| outline.text.get(from..to)).unwrap_or("")
}

pub(super) fn title(outline: &Outline, index: usize) -> String {
    match outline.nodes.get(index) {
        Some(node) if index > 0 => outline.slice(&node.title).trim().to_string(),
        _ => "the text before the first heading".to_string(),
    }
}

/// A heading as it stood at some version of its file.
#[derive(Clone, Debug)]
pub(super) struct Place {
    id: Option<String>,
    path: Vec<String>,
    index: usize,
    own: String,
    pub(super) title: String,
}

/// A heading one version earlier.
pub(super) enum Before {
    Same(Place),
    Other(Place),
    Absent,
}

impl Place {
    pub(super) fn of(outline: &Outline, index: usize) -> Place {
        let node = outline.nodes.get(index);
        let id = node.and_then(|node| outline.property(node, "ID")).map(|id| id.trim().to_string());
        Place {
            id: id.filter(|id| !id.is_empty() && index > 0),
            path: path(outline, index),
            index,
            own: own(outline, index).to_string(),
            title: title(outline, index),
        }
    }

    /// Finds the heading in the newest version, which holds what it was found in.
    pub(super) fn now(&self, text: &Arc<str>, options: &ScanOptions) -> Option<Place> {
        let outline = scan(text.clone(), options).ok()?;
        self.find(&outline).map(|index| Place::of(&outline, index))
    }

    pub(super) fn before(&self, text: &Arc<str>, options: &ScanOptions) -> Before {
        let Ok(outline) = scan(text.clone(), options) else { return Before::Absent };
        match self.find(&outline) {
            None => Before::Absent,
            Some(index) => {
                let place = Place::of(&outline, index);
                let same = place.own.trim_end_matches('\n') == self.own.trim_end_matches('\n');
                if same { Before::Same(place) } else { Before::Other(place) }
            }
        }
    }

    /// Finds it by its id, else by the same text, by its path of titles, or as the one heading of its place that
    /// has another title now.
    fn find(&self, outline: &Outline) -> Option<usize> {
        if self.index == 0 {
            return Some(0);
        }
        let all = 1..outline.nodes.len();
        if let Some(id) = &self.id {
            let has = |i: &usize| outline.nodes.get(*i).is_some_and(|n| outline.property(n, "ID") == Some(id.as_str()));
            if let Some(found) = all.clone().find(has) {
                return Some(found);
            }
        }
        let nearest = |found: Vec<usize>| found.into_iter().min_by_key(|i| i.abs_diff(self.index));
        let by_text = nearest(all.clone().filter(|i| own(outline, *i) == self.own).collect());
        let by_path = || nearest(all.clone().filter(|i| path(outline, *i) == self.path).collect());
        // A new title over the same body, under the same parent.
        let body = |own: &str| own.split_once('\n').map(|(_, body)| body.trim().to_string()).unwrap_or_default();
        let mine = body(&self.own);
        let parent = self.path.split_last().map(|(_, parent)| parent.to_vec()).unwrap_or_default();
        let renamed = || {
            let fits = |i: &usize| {
                let of = path(outline, *i);
                of.split_last().is_some_and(|(_, above)| above == parent.as_slice()) && body(own(outline, *i)) == mine
            };
            let found: Vec<usize> = all.clone().filter(fits).collect();
            match found.as_slice() {
                [only] if !mine.is_empty() => Some(*only),
                _ => None,
            }
        };
        by_text.or_else(by_path).or_else(renamed)
    }
}

fn path(outline: &Outline, mut index: usize) -> Vec<String> {
    let mut path = Vec::new();
    while index != 0 && path.len() < 64 {
        let Some(node) = outline.nodes.get(index) else { break };
        path.push(outline.slice(&node.title).trim().to_string());
        index = node.parent as usize;
    }
    path.reverse();
    path
}
