//! The headings of a text, each with what is its own, and which heading of one text is which of another.

use crate::domain::memory::followed;
use crate::domain::org::outline::Outline;
use std::collections::{BTreeSet, HashMap};

/// One text divided into what stands before the first heading, and each heading with what is its own.
pub(super) struct Parts<'a> {
    pub(super) outline: &'a Outline,
    /// What each heading is called: its `ID`, or the titles above it and its own.
    pub(super) names: Vec<String>,
    /// Which headings are called so, in their order.
    places: HashMap<String, Vec<usize>>,
}

impl<'a> Parts<'a> {
    pub(super) fn of(outline: &'a Outline) -> Parts<'a> {
        let mut names: Vec<String> = Vec::with_capacity(outline.nodes.len());
        let mut places = HashMap::<String, Vec<usize>>::new();
        for (index, node) in outline.nodes.iter().enumerate() {
            let name = match (index, outline.property(node, "ID").map(str::trim).filter(|id| !id.is_empty())) {
                (0, _) => String::new(),
                (_, Some(id)) => format!("id {id}"),
                (_, None) => {
                    let parent = names.get(node.parent as usize).map(String::as_str).unwrap_or_default();
                    // Deep paths would grow with the square of the depth.
                    match parent.len() {
                        0..=512 => format!("{parent}/{}", outline.slice(&node.title)),
                        _ => format!("{}/{}", blake3::hash(parent.as_bytes()).to_hex(), outline.slice(&node.title)),
                    }
                }
            };
            places.entry(name.clone()).or_default().push(index);
            names.push(name);
        }
        Parts { outline, names, places }
    }

    /// Returns what belongs to a heading itself, without what is below it.
    pub(super) fn own(&self, index: usize) -> &'a str {
        let begin = |index: usize| self.outline.nodes.get(index).map(|node| node.begin as usize);
        let from = if index == 0 { Some(0) } else { begin(index) };
        let to = begin(index + 1).unwrap_or(self.outline.text.len());
        from.and_then(|from| self.outline.text.get(from..to)).unwrap_or("")
    }

    /// Returns how many headings there are, with the file's own place.
    pub(super) fn count(&self) -> usize {
        self.names.len()
    }

    pub(super) fn name(&self, index: usize) -> &str {
        self.names.get(index).map(String::as_str).unwrap_or_default()
    }

    /// Returns the headings that are called so.
    pub(super) fn called(&self, name: &str) -> &[usize] {
        self.places.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the one heading that is called so; nothing when others are, too.
    pub(super) fn only(&self, name: &str) -> Option<usize> {
        match self.called(name) {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// Returns the index of the heading above; the file's own place is above itself.
    pub(super) fn above(&self, index: usize) -> usize {
        self.outline.nodes.get(index).map_or(0, |node| node.parent as usize)
    }

    pub(super) fn title(&self, index: usize) -> String {
        match self.outline.nodes.get(index) {
            Some(node) if index > 0 => format!("“{}”", self.outline.slice(&node.title).trim()),
            _ => "the text before the first heading".to_string(),
        }
    }
}

/// Says for each heading of a text which one of another it is.
pub(super) type Pairs = Vec<Option<usize>>;

/// Returns where each heading of `base` stands in `ours`: by its `ID` or its path, and where it was given another title
/// or moved, as memory finds it.
pub(super) fn made_of(base: &Parts<'_>, ours: &Parts<'_>) -> Pairs {
    paired(base, ours, |_, _| true)
}

/// Returns where each heading of `base` stands in `theirs`: by its `ID` or its path, and where a hand gave it another
/// title or moved it, as memory finds it. What `ours` has, by `then`, is never taken for something else.
pub(super) fn became(base: &Parts<'_>, then: &Pairs, ours: &Parts<'_>, theirs: &Parts<'_>) -> Pairs {
    paired(base, theirs, |index, other| {
        let of_ours = ours.only(theirs.name(other));
        let same = base.name(index) == theirs.name(other);
        same || of_ours.is_none() || of_ours == then.get(index).copied().flatten()
    })
}

fn paired(base: &Parts<'_>, other: &Parts<'_>, fits: impl Fn(usize, usize) -> bool) -> Pairs {
    // Of several that are called the same each is told as memory tells them.
    let mut pairs: Pairs = base.names.iter().map(|name| base.only(name).and_then(|_| other.only(name))).collect();
    if pairs.iter().all(Option::is_some) {
        return pairs;
    }
    let known: BTreeSet<usize> = pairs.iter().flatten().copied().collect();
    let found = followed(base.outline, other.outline).into_iter().enumerate();
    for (index, at) in found.filter_map(|(at, was)| Some((was?, at))).filter(|(_, at)| !known.contains(at)) {
        let open = pairs.get(index).is_some_and(Option::is_none);
        let akin = base.name(index) == other.name(at) || akin(base.own(index), other.own(at));
        if open && akin && fits(index, at) {
            pairs[index] = Some(at);
        }
    }
    pairs
}

/// Whether two headings may be the same one: something stands below both titles, or nothing below one of them. What
/// stands in the place of another has nothing of it.
fn akin(one: &str, other: &str) -> bool {
    let words = |own: &str| own.lines().skip(1).map(str::trim).any(says);
    let lines: BTreeSet<&str> = one.lines().skip(1).map(str::trim).filter(|line| says(line)).collect();
    let shares = other.lines().skip(1).map(str::trim).any(|line| lines.contains(line));
    shares || lines.is_empty() || !words(other)
}

/// Whether a line says something: those of drawers are alike everywhere.
pub(super) fn says(line: &str) -> bool {
    !line.is_empty() && !line.starts_with(':')
}
