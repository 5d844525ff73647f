//! What to say when nothing fits: names that no heading has, and what is near to them.

use crate::domain::label::Privacy;
use crate::domain::query::error::nearest;
use crate::domain::query::run::World;
use crate::domain::query::{Filter, Query, Term, Todo, source};
use std::collections::BTreeMap;

/// How many different names are gathered.
const MOST_NAMES: usize = 20_000;

/// Names of headings, each with the label of the least private heading that has it.
type Names = BTreeMap<String, Privacy>;

/// Returns what may be wrong with a query that nothing fits. It looks at every node, so it is for people who wait.
///
/// No name is proposed that only headings stricter than `naming` have: what is proposed has no label of its own.
pub fn hints(query: &Query, world: &World<'_>, naming: Privacy) -> Vec<String> {
    let mut hints = Vec::new();
    let missing = |what: &str, name: &str, known: &Names, any_case| missing(what, name, known, any_case, naming);
    for part in query.filter.conjuncts() {
        let Filter::Term(term) = part else { continue };
        match term {
            Term::Tag(tags) | Term::OwnTag(tags) => {
                let known = names(world, |node| source::own_tags(node).into_iter().map(str::to_string).collect());
                hints.extend(tags.iter().filter_map(|tag| missing("the tag", tag, &known, true)));
            }
            Term::Todo(Todo::Named(wanted)) => {
                let known =
                    names(world, |node| source::keyword(node).map(|(name, _)| name.to_string()).into_iter().collect());
                hints.extend(wanted.iter().filter_map(|name| missing("the keyword", name, &known, false)));
            }
            Term::Property(key, _) => {
                let known = names(world, |node| {
                    source::properties(node).into_iter().map(|(key, _)| key.trim_end_matches('+').to_string()).collect()
                });
                hints.extend(missing("the property", key, &known, true));
            }
            Term::File(_)
            | Term::Word(_)
            | Term::Phrase(_)
            | Term::Title(_)
            | Term::Todo(_)
            | Term::Priority(_)
            | Term::Level(..)
            | Term::Id(_)
            | Term::Under(_)
            | Term::Parent(_)
            | Term::Links(_)
            | Term::Backlinks(_)
            | Term::Similar(_)
            | Term::Time(..)
            | Term::Has(_)
            | Term::Is(_) => {}
        }
    }
    hints
}

fn names(world: &World<'_>, of: impl Fn(&crate::domain::memory::view::NodeRef) -> Vec<String>) -> Names {
    let mut known = Names::new();
    for node in source::every(world.view).filter(|node| source::admitted(node, world.clearance)) {
        for name in of(&node) {
            let least = known.entry(name).or_insert(node.privacy());
            *least = (*least).min(node.privacy());
        }
        if known.len() > MOST_NAMES {
            break;
        }
    }
    known
}

fn missing(what: &str, name: &str, known: &Names, any_case: bool, naming: Privacy) -> Option<String> {
    let is = |known: &str| match any_case {
        true => known.to_lowercase() == name.to_lowercase(),
        false => known == name,
    };
    if known.keys().any(|known| is(known)) {
        return None;
    }
    let near = nearest(name, known.iter().filter(|(_, least)| **least <= naming).map(|(known, _)| known.as_str()));
    Some(match near {
        Some(near) => format!("no heading has {what} {name}; did you mean {near}?"),
        None => format!("no heading has {what} {name}"),
    })
}
