//! A heading from one version of its file to the one before it: by its id, or as memory follows it through an edit.

use crate::domain::memory::followed;
use crate::domain::org::outline::Outline;
use std::collections::HashSet;

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
    pub(super) fn now(&self, newest: &Outline) -> Option<Place> {
        let found = match self.index {
            0 => Some(0),
            _ => self
                .by_id(newest)
                .or_else(|| self.by_text(newest, &|_| true))
                .or_else(|| self.by_path(newest, &|_| true)),
        };
        found.map(|index| Place::of(newest, index))
    }

    /// Finds the heading one version earlier. `newer` is the version that it was found in.
    pub(super) fn before(&self, newer: &Outline, older: &Outline) -> Before {
        match self.find(newer, older) {
            None => Before::Absent,
            Some(index) => {
                let place = Place::of(older, index);
                let same = place.own.trim_end_matches('\n') == self.own.trim_end_matches('\n');
                if same { Before::Same(place) } else { Before::Other(place) }
            }
        }
    }

    /// Finds the heading in a version since which it was gone and has come back: by its id or as it stood.
    pub(super) fn gone_from(&self, older: &Outline) -> Option<Place> {
        let found = self.by_id(older).or_else(|| self.by_text(older, &|_| true));
        found.map(|index| Place::of(older, index))
    }

    /// Finds it by its id, else as memory follows headings through an edit; what memory took for another one, because
    /// too much was changed at once, is known by its text or its path of titles, unless it is another one's.
    fn find(&self, newer: &Outline, older: &Outline) -> Option<usize> {
        if self.index == 0 {
            return Some(0);
        }
        if let Some(found) = self.by_id(older) {
            return Some(found);
        }
        let from = followed(older, newer);
        if let Some(found) = from.get(self.index).copied().flatten() {
            return Some(found);
        }
        let taken: HashSet<usize> = from.into_iter().flatten().collect();
        let free = |index: usize| !taken.contains(&index);
        self.by_text(older, &free).or_else(|| self.by_path(older, &free))
    }

    fn by_id(&self, outline: &Outline) -> Option<usize> {
        let id = self.id.as_deref()?;
        let has = |i: &usize| outline.nodes.get(*i).is_some_and(|node| outline.property(node, "ID") == Some(id));
        (1..outline.nodes.len()).find(has)
    }

    fn by_text(&self, outline: &Outline, may: &dyn Fn(usize) -> bool) -> Option<usize> {
        let mine = self.own.trim_end_matches('\n');
        self.nearest(outline, &|index| may(index) && own(outline, index).trim_end_matches('\n') == mine)
    }

    fn by_path(&self, outline: &Outline, may: &dyn Fn(usize) -> bool) -> Option<usize> {
        self.nearest(outline, &|index| may(index) && path(outline, index) == self.path)
    }

    fn nearest(&self, outline: &Outline, fits: &dyn Fn(usize) -> bool) -> Option<usize> {
        (1..outline.nodes.len()).filter(|index| fits(*index)).min_by_key(|index| index.abs_diff(self.index))
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
