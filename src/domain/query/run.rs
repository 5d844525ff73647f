//! Answers a query: begins with whatever finds the fewest nodes, asks each of them the rest, sorts and cuts.
//!
//! Who asks decides what may be a candidate: what is stricter than the clearance is never looked at.

use crate::domain::context::holding::Holding;
use crate::domain::context::lexical::{Index, Place, QueryTerm};
use crate::domain::label::Privacy;
use crate::domain::memory::query::Planning;
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::org::property::Inheritance;
use crate::domain::query::begin::{Begin, With, begin, nodes};
use crate::domain::query::best::best;
use crate::domain::query::check::{Judge, Know};
use crate::domain::query::order::order;
use crate::domain::query::plan::{Check, Plan, Ready, Text};
use crate::domain::query::snippet::{Marker, Snippet};
use crate::domain::query::source;
use crate::domain::query::text::{self, Places, Reader};
use crate::domain::query::{Filter, Query, Sort, SortKey, Stamp, Term};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use std::sync::Arc;

/// Behind the last node that is shown, so many more are looked at to say how many there are.
const COUNTED: usize = 2_000;
/// A node of another file than the one before costs as much as so many of the same.
const OTHER_FILE: usize = 16;
/// Reading a node's text costs about as much as so many entries of the index.
const READING: usize = 10_000;

/// What a query is asked of, when, and by whom.
pub struct World<'a> {
    /// The memory.
    pub view: &'a View,
    /// Its full-text index.
    pub index: &'a Index,
    /// The user's civil time.
    pub now: DateTime,
    /// Turns the time of a file into the user's civil time.
    pub local: &'a dyn Fn(Timestamp) -> DateTime,
    /// The strictest label that may be seen.
    pub clearance: Privacy,
    /// Which properties are taken over from above: the user's setting.
    pub inheritance: &'a Inheritance,
}

/// How many nodes fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// So many.
    Exactly(usize),
    /// So many, and perhaps more that nobody counted.
    AtLeast(usize),
}

/// One node that fits.
#[derive(Clone)]
pub struct Hit {
    /// The node.
    pub node: NodeRef,
    /// How well its text fits; comparable within one answer only. `None` when no text was asked for.
    pub score: Option<f32>,
    /// The part of its body that fits best, where text was asked for and there is any.
    pub snippet: Option<Snippet>,
}

/// What came of a query.
pub struct Found {
    /// The nodes, in order.
    pub hits: Vec<Hit>,
    /// How many there are.
    pub total: Total,
    /// What ought to be said about it.
    pub notes: Vec<String>,
}

/// A node that fits, while it is sorted.
pub(super) struct Match {
    pub(super) node: NodeRef,
    pub(super) score: Option<f32>,
}

/// Answers a query. `usual` is the limit when it has none.
pub fn run(query: &Query, world: &World<'_>, usual: usize) -> Found {
    let mut reader = Reader::default();
    let plan = Plan::of(query, world, &mut reader);
    let limit = query.limit.unwrap_or(usual).min(crate::domain::query::MAX_LIMIT);
    let ranking = plan.ranking();
    let ranked = !ranking.is_empty() || plan.alike.is_some();
    let sort = match query.sort.as_slice() {
        [] if ranked => vec![Sort { key: SortKey::Score, reversed: false }],
        sort => sort.to_vec(),
    };
    let by_score = matches!(sort.as_slice(), [Sort { key: SortKey::Score, reversed: false }]);
    let by_words = by_score && plan.alike.is_none();
    let begin = begin(&plan, world, by_words);
    let mut judge = Judge { world, plan: &plan, reader: &mut reader };
    let (mut matches, total) = if by_words && matches!(begin.with, With::Texts(_)) {
        // The index ranks, and only what may still be among the best is asked.
        best(&mut judge, ranking, limit)
    } else {
        let (mut matches, total) = by_day(&mut judge, &begin, &sort, limit).unwrap_or_else(|| {
            let in_file_order = sort.first().is_none_or(|first| first.key == SortKey::File && !first.reversed);
            gather(&mut judge, &begin, in_file_order.then_some(limit))
        });
        // What nothing is sorted by is worked out for those that are shown.
        let early = ranked && sort.iter().any(|sort| sort.key == SortKey::Score);
        if early {
            score(&mut matches, world, &ranking, plan.alike.as_ref());
        }
        order(&mut matches, &sort, limit, world);
        matches.truncate(limit);
        if ranked && !early {
            score(&mut matches, world, &ranking, plan.alike.as_ref());
        }
        (matches, total)
    };
    matches.truncate(limit);
    let marker = Marker::of(&plan);
    let hits = matches
        .into_iter()
        .map(|found| Hit { snippet: marker.snippet(&mut reader, &found.node), score: found.score, node: found.node })
        .collect();
    Found { hits, total, notes: plan.notes }
}

/// Answers a query as people want it: when nothing has all of its words, what has some of them is shown, and said so.
pub fn answer(query: &Query, world: &World<'_>, usual: usize) -> Found {
    let found = run(query, world, usual);
    let Some(looser) = looser(query).filter(|_| found.hits.is_empty()) else { return found };
    let mut again = run(&looser, world, usual);
    match again.hits.is_empty() {
        true => found,
        false => {
            again.notes.insert(0, "nothing has all of these words; this has some of them".to_string());
            again
        }
    }
}

/// How many titles are compared with what is being typed.
const TITLES: usize = 500;

/// Finds headings while somebody types: those whose titles have all words or beginnings of words that stand there
/// already, best first, and behind them what [`answer`] finds.
pub fn find(query: &Query, world: &World<'_>, usual: usize) -> Found {
    let limit = query.limit.unwrap_or(usual);
    let Some((typed, titles)) = titled(query) else { return answer(query, world, usual) };
    let mut by_title = run(&Query { limit: Some(TITLES), ..titles }, world, TITLES).hits;
    let rank = |hit: &Hit| {
        let title = hit.node.title().to_lowercase();
        let words = title.split(|c: char| !c.is_alphanumeric()).any(|word| word.starts_with(&typed));
        (title != typed, !title.starts_with(&typed), !words, hit.node.index == 0, title.chars().count())
    };
    by_title.sort_by_cached_key(rank);
    by_title.truncate(limit);
    let mut found = answer(query, world, usual);
    let fresh = |hit: &Hit| !by_title.iter().any(|known| source::same_node(&known.node, &hit.node));
    let rest: Vec<Hit> = found.hits.iter().filter(|hit| fresh(hit)).cloned().collect();
    let (count, extra) = (found.total.count(), by_title.len() + rest.len() - found.hits.len());
    if found.hits.is_empty() || extra > 0 {
        found.total = Total::AtLeast(count + extra);
        if by_title.len() + rest.len() <= limit && rest.len() == found.hits.len() && by_title.len() < limit {
            found.total = Total::Exactly(by_title.len() + rest.len());
        }
    }
    found.hits = by_title.into_iter().chain(rest).take(limit).collect();
    found
}

/// Returns the words of a query as one text in lower case, and the query with each looked for in titles instead.
fn titled(query: &Query) -> Option<(String, Query)> {
    let mut words = Vec::new();
    let parts = query.filter.conjuncts().iter().map(|part| match part {
        Filter::Term(Term::Word(word) | Term::Phrase(word)) => {
            words.push(word.to_lowercase());
            Filter::Term(Term::Title(word.clone()))
        }
        Filter::All(_) | Filter::Any(_) | Filter::Not(_) | Filter::Term(_) => part.clone(),
    });
    let filter = Filter::all(parts.collect());
    (!words.is_empty()).then(|| (words.join(" "), Query { filter, sort: Vec::new(), limit: query.limit }))
}

/// Returns a query that any of its words fits, when it has several side by side.
fn looser(query: &Query) -> Option<Query> {
    let is_word = |part: &&Filter| matches!(part, Filter::Term(Term::Word(_)));
    let parts = query.filter.conjuncts();
    let words: Vec<Filter> = parts.iter().filter(is_word).cloned().collect();
    if words.len() < 2 {
        return None;
    }
    let rest = parts.iter().filter(|part| !is_word(part)).cloned();
    let filter = Filter::all(rest.chain([Filter::any(words)]).collect());
    Some(Query { filter, ..query.clone() })
}

/// Asks the index for the words of a query, unless reading the few nodes that are left costs less.
fn of_index(plan: &Plan, world: &World<'_>, begin: &Begin<'_>) -> Vec<Option<Holding>> {
    let few = !matches!(begin.with, With::Texts(_));
    let one = |text: &Text| {
        let read = few && begin.cost.saturating_mul(READING) <= text::frequency(world.index, &text.wanted);
        (!read && !text.wanted.terms.is_empty()).then(|| text::holding(world.index, &text.wanted))
    };
    plan.texts.iter().map(one).collect()
}

/// Returns the nodes that fit, in the order of files and lines. With a number to stop at, no more than that are
/// returned, and only a few more are looked at to count them, unless the memory's own index has counted them already.
fn gather(judge: &mut Judge<'_>, begin: &Begin<'_>, stop: Option<usize>) -> (Vec<Match>, Total) {
    let holding = of_index(judge.plan, judge.world, begin);
    let know = Know::Lists(&holding);
    let known = is_counted(judge, begin).then_some(Total::Exactly(begin.cost));
    let mut matches: Vec<Match> = Vec::new();
    let (mut count, mut beyond) = (0usize, 0usize);
    let mut last: Option<Arc<str>> = None;
    for node in nodes(&begin.with, &holding, judge.world) {
        let full = stop.is_some_and(|stop| count >= stop);
        if let Some(total) = known.filter(|_| full) {
            return (matches, total);
        }
        let file = source::file(&node);
        let same = last.as_ref() == Some(file);
        if !same {
            last = Some(file.clone());
        }
        beyond += match (full, same) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => OTHER_FILE,
        };
        if full && beyond > COUNTED {
            return (matches, Total::AtLeast(count));
        }
        if judge.fits(&node, &know) {
            count += 1;
            if !full {
                matches.push(Match { node, score: None });
            }
        }
    }
    (matches, Total::Exactly(count))
}

/// Returns whether looking begins with exactly the nodes that fit: one keyword or tag is asked for, and nothing is hidden
/// from who asks.
fn is_counted(judge: &Judge<'_>, begin: &Begin<'_>) -> bool {
    let [Check::One(ready)] = judge.plan.parts() else { return false };
    let one = matches!(&begin.with, With::Keys(keys) if keys.len() == 1);
    let held = matches!(ready.as_ref(), Ready::Todo(_) | Ready::Tag(_));
    one && held && judge.world.view.sight().is_all() && judge.world.clearance == Privacy::Private
}

/// Returns the first nodes by day where that is the order, when they are found before everything was looked at.
fn by_day(judge: &mut Judge<'_>, begin: &Begin<'_>, sort: &[Sort], limit: usize) -> Option<(Vec<Match>, Total)> {
    let (kind, stamp) = match sort.first().filter(|first| !first.reversed)?.key {
        SortKey::Scheduled => (Planning::Scheduled, Stamp::Scheduled),
        SortKey::Deadline => (Planning::Deadline, Stamp::Deadline),
        SortKey::Closed => (Planning::Closed, Stamp::Closed),
        SortKey::Score
        | SortKey::File
        | SortKey::Title
        | SortKey::Todo
        | SortKey::Priority
        | SortKey::Level
        | SortKey::Planned
        | SortKey::Modified => return None,
    };
    let ranked = sort.iter().any(|sort| sort.key == SortKey::Score);
    if begin.cost <= limit.saturating_mul(2) || ranked || !judge.plan.texts.is_empty() || judge.plan.alike.is_some() {
        return None;
    }
    let (first, last) = judge.plan.days_of(stamp);
    // They come by time within a day, and by file within a time: nothing that comes later is sorted before.
    let in_order = match sort {
        [_] => true,
        [_, second, ..] => second.key == SortKey::File && !second.reversed,
        [] => false,
    };
    let (mut matches, mut looked) = (Vec::new(), 0usize);
    let mut day: Option<Date> = None;
    for (node, on) in source::by_day(judge.world.view, kind, first, last) {
        if matches.len() >= limit && (in_order || day != Some(on)) {
            let total = Total::AtLeast(matches.len());
            return Some((matches, total));
        }
        looked += 1;
        if looked > begin.cost {
            return None;
        }
        day = Some(on);
        if judge.fits(&node, &Know::Lists(&[])) {
            matches.push(Match { node, score: None });
        }
    }
    // Those without such a day come behind, unless none of them fits.
    let total = Total::Exactly(matches.len());
    judge.plan.needs(stamp).then_some((matches, total))
}

/// Gives each node what its text is worth.
fn score(matches: &mut [Match], world: &World<'_>, ranking: &[QueryTerm], alike: Option<&Places>) {
    let place = |found: &Match| Place { file: source::file(&found.node).clone(), index: found.node.index as u32 };
    let scored = match ranking {
        [] => Places::default(),
        ranking => Places::of(world.index.worth(ranking, &matches.iter().map(place).collect::<Vec<_>>())),
    };
    for found in matches {
        let of = |places: &Places| places.score(source::file(&found.node), found.node.index).unwrap_or(0.0);
        found.score = Some(of(&scored) + alike.map_or(0.0, of));
    }
}
