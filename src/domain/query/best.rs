//! The best nodes by their words: the index intersects its lists, ranks, and says of few nodes that they may fit;
//! everything else is asked of those alone, and texts are read best first until there are enough.

use crate::domain::context::lexical::QueryTerm;
use crate::domain::context::sieve::Group;
use crate::domain::memory::view::NodeRef;
use crate::domain::query::begin::texts;
use crate::domain::query::check::{Answer, Judge, Know};
use crate::domain::query::plan::Plan;
use crate::domain::query::run::{Match, Total};
use crate::domain::query::source;
use crate::domain::query::text::Reader;
use std::sync::Arc;

/// Where texts have to be read, so many times as many nodes are looked for as are wanted.
const SPARE: usize = 4;
/// When they were not enough, so many times as many again.
const MORE: usize = 8;

/// What the index is asked for.
struct Asked {
    /// Terms that rank, and behind them those that are only looked for.
    query: Vec<QueryTerm>,
    /// Of each word of the query which of them a node must hold.
    rows: Vec<Vec<usize>>,
    /// What every node must hold.
    need: Vec<Group>,
}

/// A node that the index found.
struct Candidate {
    node: NodeRef,
    /// Which terms it holds, when its text has to be read.
    unsure: Option<Box<[bool]>>,
}

/// Returns the best nodes by what the index says of them. It stops looking at the first node beyond the limit.
pub fn best(judge: &mut Judge<'_>, ranking: Vec<QueryTerm>, limit: usize) -> (Vec<Match>, Total) {
    let Asked { query, rows, need } = asked(judge.plan, ranking);
    let world = judge.world;
    let enough = limit.saturating_add(1);
    let exact = judge.plan.texts.iter().all(|text| Reader::is_exact(&text.wanted));
    let mut most = if exact { enough } else { enough.saturating_mul(SPARE) };
    let (mut matches, mut asked) = (Vec::new(), 0);
    loop {
        // Neighbours in a list are mostly of one file.
        let mut last: Option<NodeRef> = None;
        let mut admit = |file: &Arc<str>, at: u32, held: &[bool]| {
            let known =
                last.as_ref().filter(|known| Arc::ptr_eq(source::file(known), file) || source::file(known) == file);
            let node = match known {
                Some(known) => known.at(at as usize)?,
                None => source::node(world.view, file, at as usize)?,
            };
            last = Some(node.clone());
            if !world.view.sight().holds(file, at as usize) || !judge.sees(&node) {
                return None;
            }
            match judge.glance(&node, &Know::Terms { rows: &rows, held }) {
                Answer::No => None,
                Answer::Yes => Some(Candidate { node, unsure: None }),
                Answer::Unread => Some(Candidate { node, unsure: Some(held.into()) }),
            }
        };
        let found = world.index.best(&query, &need, most, &mut admit);
        let all = found.len() < most;
        for found in found.into_iter().skip(asked) {
            asked += 1;
            let Candidate { node, unsure } = found.with;
            if unsure.is_none_or(|held| judge.read(&node, &Know::Terms { rows: &rows, held: &held })) {
                matches.push(Match { node, score: Some(found.score) });
            }
            if matches.len() >= enough {
                return (matches, Total::AtLeast(enough));
            }
        }
        if all {
            let total = Total::Exactly(matches.len());
            return (matches, total);
        }
        most = most.saturating_mul(MORE);
    }
}

fn asked(plan: &Plan, ranking: Vec<QueryTerm>) -> Asked {
    let mut query = ranking;
    let mut number = |term: &str| match query.iter().position(|known| known.term.as_ref() == term) {
        Some(at) => at,
        None => {
            query.push(QueryTerm { term: term.into(), weight: 0.0 });
            query.len() - 1
        }
    };
    let rows: Vec<Vec<usize>> = plan.texts.iter().map(|text| text.wanted.needs().map(&mut number).collect()).collect();
    // What the index leaves out is found by reading only; a part of the query with such a word needs nothing here.
    let row = |at: usize| rows.get(at).filter(|row| !row.is_empty()).cloned();
    let group = |texts: Vec<usize>| texts.into_iter().map(row).collect::<Option<Group>>();
    let need = plan.parts().iter().filter_map(|part| group(texts(part)?)).collect();
    Asked { query, rows, need }
}
