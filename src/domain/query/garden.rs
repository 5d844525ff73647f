//! What wants tidying in memory: links that lead nowhere, headings that stand alone, texts that stand there nearly twice.
//!
//! It looks and changes nothing. Texts are read up to a bound, and what was not looked at is counted.

use crate::domain::id::NodeId;
use crate::domain::memory::link::dangling;
use crate::domain::memory::view::NodeRef;
use crate::domain::org::logbook;
use crate::domain::query::census::{Listed, Seen};
use crate::domain::query::twins::{Sketch, pairs};

/// So many bytes of texts are read.
const READ: usize = 32 * 1024 * 1024;

/// What a link was found to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leads {
    /// There is something.
    Somewhere,
    /// There is nothing.
    Nowhere,
    /// It is not looked at where it leads.
    Unknown,
}

/// What was found.
#[derive(Clone, Default)]
pub struct Garden {
    /// Headings with links that lead nowhere, each with what is wrong.
    pub broken: Listed,
    /// Headings that stand alone.
    pub orphans: Listed,
    /// Pairs of headings whose texts are nearly the same, with the part that they share in percent; the first of them.
    pub twins: Vec<(NodeRef, NodeRef, usize)>,
    /// How many such pairs there are.
    pub pairs: usize,
    /// How many texts were not compared, as too many are alike.
    pub crowded: usize,
    /// How many links lead to files that were not looked for.
    pub unknown: usize,
    /// How many files were not read.
    pub unread: usize,
}

/// Looks memory through. `leads` says of a file that memory does not have whether it is there.
pub fn garden(seen: Seen<'_>, most: usize, leads: &dyn Fn(&str) -> Leads) -> Garden {
    let mut garden = Garden { orphans: seen.orphans(most), ..Garden::default() };
    links(seen, most, leads, &mut garden);
    texts(seen, most, &mut garden);
    garden
}

/// Follows the links that the index knows. Nothing is read.
fn links(seen: Seen<'_>, most: usize, leads: &dyn Fn(&str) -> Leads, garden: &mut Garden) {
    for (card, places) in seen.cards() {
        for (target, index) in card.links().filter(|(_, index)| places.binary_search(index).is_ok()) {
            // What is there and may not be seen is there.
            if seen.view.get(&NodeId::new(target)).is_some() || seen.view.card(target).is_some() {
                continue;
            }
            let (found, what) = match target.starts_with('/') {
                true => (leads(target), format!("there is no file {target}")),
                false => (Leads::Nowhere, format!("memory has no heading with the id {target}, which may be archived")),
            };
            match found {
                Leads::Somewhere => {}
                Leads::Unknown => garden.unknown += 1,
                Leads::Nowhere => {
                    garden.broken.add(most, || Some((seen.view.node(&card.file, index)?, what)));
                }
            }
        }
    }
}

/// Reads texts: for links to headings of their own file, and for what stands there nearly twice.
fn texts(seen: Seen<'_>, most: usize, garden: &mut Garden) {
    let (mut left, mut nodes, mut sketches) = (READ, Vec::new(), Vec::new());
    for (card, places) in seen.cards() {
        let Some(rest) = left.checked_sub(card.end(0) as usize) else {
            garden.unread += 1;
            continue;
        };
        left = rest;
        let (Some(document), Some(file)) = (seen.view.document(&card.file), seen.view.node(&card.file, 0)) else {
            garden.unread += 1;
            continue;
        };
        for (index, target) in dangling(&document.outline) {
            if places.binary_search(&index).is_ok() {
                garden.broken.add(most, || Some((file.at(index)?, format!("its file has no heading “{target}”"))));
            }
        }
        for index in places {
            let body = document.outline.nodes.get(index).map_or("", |node| document.outline.slice(&node.body));
            // What happened to it is no text of it: two habits that are done on the same days are two.
            let said = body.get(logbook::log(body).map_or(0, |log| log.end)..).unwrap_or("");
            if let Some((sketch, node)) = Sketch::of(said).zip(file.at(index)) {
                sketches.push(sketch);
                nodes.push(node);
            }
        }
    }
    let (found, crowded) = pairs(&sketches);
    (garden.pairs, garden.crowded) = (found.len(), crowded);
    let shown = found.into_iter().take(most);
    garden.twins = shown
        .filter_map(|(first, second, likeness)| Some((nodes.get(first)?.clone(), nodes.get(second)?.clone(), likeness)))
        .collect();
}
