//! Where looking for nodes begins: with whatever finds the fewest.

use crate::domain::context::holding::Holding;
use crate::domain::memory::view::NodeRef;
use crate::domain::query::Stamp;
use crate::domain::query::plan::{Check, Plan, Ready, keys};
use crate::domain::query::run::World;
use crate::domain::query::source::{self, Key, Nodes};
use crate::domain::query::text;
use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;

/// Where looking begins.
pub struct Begin<'p> {
    pub with: With<'p>,
    /// About how many nodes that gives.
    pub cost: usize,
}

/// What gives the nodes that are asked the rest.
pub enum With<'p> {
    /// Nodes that are known.
    Nodes(&'p [NodeRef]),
    /// Ranges of files.
    Below(&'p [(Arc<str>, Range<usize>)]),
    /// Children of nodes.
    Children(&'p [NodeRef]),
    /// What an index holds under any of these keys.
    Keys(Vec<Key>),
    /// What holds any of these words, by their numbers.
    Texts(Vec<usize>),
    /// What has this in its title, in lower case.
    Titled(&'p str),
    /// Whole files.
    Files(&'p Ready),
    /// Everything.
    Every,
    /// Nothing at all.
    Nothing,
}

/// An entry of the index costs so much less than a node where the index itself ranks.
const RANKED: usize = 10;

/// Chooses what finds the fewest nodes. `ranked` says that the best by their words are wanted, and no others.
pub fn begin<'p>(plan: &'p Plan, world: &World<'_>, ranked: bool) -> Begin<'p> {
    let all = world.view.headings() + world.view.len();
    let every = Begin { with: With::Every, cost: all.saturating_mul(2) };
    let cost = |begin: &Begin<'_>| match begin.with {
        With::Texts(_) if ranked => begin.cost / RANKED,
        _ => begin.cost,
    };
    let found = plan.parts().iter().filter_map(|part| finder(part, plan, world)).min_by_key(cost);
    match found {
        Some(found) if found.cost < every.cost => found,
        Some(_) | None => every,
    }
}

/// Returns what finds everything that a part of the query fits, if anything does without looking at all.
fn finder<'p>(part: &'p Check, plan: &'p Plan, world: &World<'_>) -> Option<Begin<'p>> {
    if let Some(texts) = texts(part) {
        let cost = texts.iter().filter_map(|at| plan.texts.get(*at)).map(|text| {
            // Words that the index leaves out are found by reading only.
            if text.wanted.terms.is_empty() { None } else { Some(text::frequency(world.index, &text.wanted)) }
        });
        return cost.sum::<Option<usize>>().map(|cost| Begin { with: With::Texts(texts), cost });
    }
    let Check::One(ready) = part else {
        let Check::Any(sides) = part else { return None };
        let mut all = Vec::new();
        for side in sides {
            let Check::One(ready) = side else { return None };
            all.extend(keys(ready, world.inheritance)?);
        }
        let cost = all.iter().map(|key| source::count(world.view, key)).sum();
        return Some(Begin { with: With::Keys(all), cost });
    };
    match ready.as_ref() {
        Ready::Never => Some(Begin { with: With::Nothing, cost: 0 }),
        Ready::Title(text) => Some(Begin { with: With::Titled(text), cost: world.view.headings() + world.view.len() }),
        Ready::Nodes(nodes) => Some(Begin { with: With::Nodes(nodes), cost: nodes.len() }),
        Ready::Below(ranges) => {
            let cost = ranges.iter().map(|(_, range)| range.len()).sum();
            Some(Begin { with: With::Below(ranges), cost })
        }
        Ready::Child(parents) => {
            let cost = parents.iter().map(|parent| source::after(parent) - parent.index).sum();
            Some(Begin { with: With::Children(parents), cost })
        }
        Ready::File(_) | Ready::Within(Stamp::Modified, _) => {
            Some(Begin { with: With::Files(ready), cost: world.view.headings() / 2 })
        }
        _ => keys(ready, world.inheritance).map(|keys| {
            let cost = keys.iter().map(|key| source::count(world.view, key)).sum();
            Begin { with: With::Keys(keys), cost }
        }),
    }
}

/// Returns the words of a part of the query that is fitted by having one of them, and by nothing else.
pub fn texts(part: &Check) -> Option<Vec<usize>> {
    match part {
        Check::One(ready) => match ready.as_ref() {
            Ready::Text(at) => Some(vec![*at]),
            _ => None,
        },
        Check::Any(sides) => sides.iter().map(texts).collect::<Option<Vec<_>>>().map(|texts| texts.concat()),
        Check::All(_) | Check::Not(_) => None,
    }
}

/// Returns the nodes that looking begins with, in the order of files and lines, each once.
pub fn nodes<'a>(with: &'a With<'a>, holding: &'a [Option<Holding>], world: &'a World<'a>) -> Nodes<'a> {
    let view = world.view;
    match with {
        With::Nothing => Box::new(std::iter::empty()),
        With::Nodes(nodes) => Box::new(nodes.iter().cloned()),
        With::Below(ranges) => merged(
            ranges
                .iter()
                .map(|(file, range)| {
                    Box::new(range.clone().filter_map(move |at| source::node(view, file, at))) as Nodes<'a>
                })
                .collect(),
        ),
        With::Children(parents) => merged(
            parents
                .iter()
                .map(|parent| Box::new(parent.children().collect::<Vec<_>>().into_iter()) as Nodes<'a>)
                .collect(),
        ),
        With::Keys(keys) => merged(keys.iter().map(|key| source::holding(view, key)).collect()),
        With::Texts(texts) => merged(
            texts
                .iter()
                .filter_map(|at| holding.get(*at)?.as_ref())
                .map(|holding| {
                    let seen = holding.places().filter(|(file, at)| view.sight().holds(file, *at as usize));
                    Box::new(seen.filter_map(move |(file, at)| source::node(view, file, at as usize))) as Nodes<'a>
                })
                .collect(),
        ),
        With::Titled(text) => source::wanted(view, move |card, at| source::holds(card.title(at), text)),
        With::Files(Ready::File(pattern)) => source::of_files(view, move |file, _| pattern.fits(file)),
        With::Files(Ready::Within(_, window)) => {
            let window = *window;
            source::of_files(view, move |_, at| at.is_some_and(|at| window.contains((world.local)(at))))
        }
        With::Files(_) | With::Every => source::every(view),
    }
}

/// Returns what several sources in order give, in order and each node once.
fn merged<'a>(mut sources: Vec<Nodes<'a>>) -> Nodes<'a> {
    if sources.len() < 2 {
        return sources.pop().unwrap_or_else(|| Box::new(std::iter::empty()));
    }
    let mut sources: Vec<Peekable<Nodes<'a>>> = sources.into_iter().map(Iterator::peekable).collect();
    Box::new(std::iter::from_fn(move || {
        let mut least: Option<NodeRef> = None;
        for source in &mut sources {
            if let Some(node) = source.peek()
                && least.as_ref().is_none_or(|least| source::order(node, least).is_lt())
            {
                least = Some(node.clone());
            }
        }
        let least = least?;
        for source in &mut sources {
            while source.next_if(|node| source::order(node, &least).is_le()).is_some() {}
        }
        Some(least)
    }))
}
