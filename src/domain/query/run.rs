//! Answers a query: begins with whatever finds the fewest nodes, asks each of them the rest, sorts and cuts.
//!
//! Who asks decides what may be a candidate: what is stricter than the clearance is never looked at.

use crate::domain::context::lexical::{Index, QueryTerm};
use crate::domain::label::Privacy;
use crate::domain::memory::query::Planning;
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::org::property::Inheritance;
use crate::domain::query::check::{Judge, moment};
use crate::domain::query::plan::{Check, Plan, Ready, keys};
use crate::domain::query::snippet::{Marker, Snippet};
use crate::domain::query::source::{self, Key, Nodes};
use crate::domain::query::text::{self, Places, Reader};
use crate::domain::query::{Filter, Query, Sort, SortKey, Stamp, Term};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use std::cell::RefCell;
use std::iter::Peekable;

/// Behind the last node that is shown, so many more are looked at to say how many there are.
const COUNTED: usize = 2_000;
/// Reading a node's text costs about as much as so many entries of the index.
const READING: usize = 40;

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
struct Match {
    node: NodeRef,
    score: Option<f32>,
}

/// Answers a query. `usual` is the limit when it has none.
pub fn run(query: &Query, world: &World<'_>, usual: usize) -> Found {
    let mut reader = Reader::default();
    let plan = Plan::of(query, world, &mut reader);
    let limit = query.limit.unwrap_or(usual).min(crate::domain::query::MAX_LIMIT);
    let begin = begin(&plan, world);
    let places = of_index(&plan, world, &begin);
    let ranking = plan.ranking();
    let ranked = !ranking.is_empty() || plan.alike.is_some();
    let sort = match query.sort.as_slice() {
        [] if ranked => vec![Sort { key: SortKey::Score, reversed: false }],
        sort => sort.to_vec(),
    };
    let by_score = matches!(sort.as_slice(), [Sort { key: SortKey::Score, reversed: false }]);
    let mut judge = Judge { world, plan: &plan, places: &places, reader: &mut reader };
    let (mut matches, total) = if by_score && plan.alike.is_none() && matches!(begin.with, With::Texts(_)) {
        // The index ranks, and only what may still be among the best is asked.
        best(&mut judge, &ranking, limit)
    } else if let Some((mut matches, total)) = by_day(&mut judge, &begin, &sort, limit) {
        order(&mut matches, &sort, limit, world);
        (matches, total)
    } else {
        let in_file_order = sort.first().is_none_or(|first| first.key == SortKey::File && !first.reversed);
        let (mut matches, total) = gather(&mut judge, &begin.with, in_file_order.then_some(limit));
        if ranked {
            score(&mut matches, world, &ranking, plan.alike.as_ref());
        }
        order(&mut matches, &sort, limit, world);
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

/// Where looking begins.
struct Begin<'p> {
    with: With<'p>,
    /// About how many nodes that gives.
    cost: usize,
}

/// What gives the nodes that are asked the rest.
enum With<'p> {
    /// Nodes that are known.
    Nodes(&'p [NodeRef]),
    /// Ranges of files.
    Below(&'p [(std::sync::Arc<str>, std::ops::Range<usize>)]),
    /// Children of nodes.
    Children(&'p [NodeRef]),
    /// What an index holds under any of these keys.
    Keys(Vec<Key>),
    /// What holds any of these words, by their numbers.
    Texts(Vec<usize>),
    /// Whole files.
    Files(&'p Ready),
    /// Everything.
    Every,
    /// Nothing at all.
    Nothing,
}

/// Chooses what finds the fewest nodes.
fn begin<'p>(plan: &'p Plan, world: &World<'_>) -> Begin<'p> {
    let parts = match &plan.check {
        Check::All(parts) => parts.as_slice(),
        one @ (Check::Any(_) | Check::Not(_) | Check::One(_)) => std::slice::from_ref(one),
    };
    let all = world.view.headings() + world.view.len();
    let every = Begin { with: With::Every, cost: all.saturating_mul(2) };
    let found = parts.iter().filter_map(|part| finder(part, plan, world)).min_by_key(|begin| begin.cost);
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
fn texts(part: &Check) -> Option<Vec<usize>> {
    match part {
        Check::One(ready) => match ready.as_ref() {
            Ready::Text(at) => Some(vec![*at]),
            _ => None,
        },
        Check::Any(sides) => sides.iter().map(texts).collect::<Option<Vec<_>>>().map(|texts| texts.concat()),
        Check::All(_) | Check::Not(_) => None,
    }
}

/// Asks the index for the words of a query, unless reading the few nodes that are left costs less.
fn of_index(plan: &Plan, world: &World<'_>, begin: &Begin<'_>) -> Vec<Option<Places>> {
    let few = match begin.with {
        With::Texts(_) => false,
        With::Nodes(_)
        | With::Below(_)
        | With::Children(_)
        | With::Keys(_)
        | With::Files(_)
        | With::Every
        | With::Nothing => true,
    };
    let one = |text: &crate::domain::query::plan::Text| {
        let holding = text::frequency(world.index, &text.wanted);
        let read = few && begin.cost.saturating_mul(READING) <= holding;
        (!read && !text.wanted.terms.is_empty()).then(|| text::holding(world.index, &text.wanted))
    };
    plan.texts.iter().map(one).collect()
}

/// Returns the best nodes by what the index says of them.
fn best(judge: &mut Judge<'_>, ranking: &[QueryTerm], limit: usize) -> (Vec<Match>, Total) {
    let (view, index) = (judge.world.view, judge.world.index);
    let asked = RefCell::new(judge);
    let admit =
        |file: &str, at: u32| source::node(view, file, at as usize).is_some_and(|node| asked.borrow_mut().fits(&node));
    let scored = text::ranked(index, ranking, limit.saturating_add(1), &admit);
    let total = match scored.len() {
        few if few <= limit => Total::Exactly(few),
        many => Total::AtLeast(many),
    };
    let matches = scored.into_iter().filter_map(|found| {
        let node = source::node(view, &found.place.file, found.place.index as usize)?;
        Some(Match { node, score: Some(found.score) })
    });
    (matches.collect(), total)
}

/// Returns the nodes that fit, in the order of files and lines. With a number to stop at, no more than that are
/// returned, and only a few more are looked at to count them.
fn gather(judge: &mut Judge<'_>, with: &With<'_>, stop: Option<usize>) -> (Vec<Match>, Total) {
    let mut matches: Vec<Match> = Vec::new();
    let (mut count, mut beyond) = (0usize, 0usize);
    for node in nodes(with, judge.places, judge.world) {
        let full = stop.is_some_and(|stop| count >= stop);
        beyond += usize::from(full);
        if full && beyond > COUNTED {
            return (matches, Total::AtLeast(count));
        }
        if judge.fits(&node) {
            count += 1;
            if !full {
                matches.push(Match { node, score: None });
            }
        }
    }
    (matches, Total::Exactly(count))
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
    let (mut matches, mut looked) = (Vec::new(), 0usize);
    let mut day: Option<Date> = None;
    for (node, on) in source::by_day(judge.world.view, kind, first, last) {
        // What stands on the same day may still come before it, by its time.
        if matches.len() >= limit && day != Some(on) {
            let total = Total::AtLeast(matches.len());
            return Some((matches, total));
        }
        looked += 1;
        if looked > begin.cost {
            return None;
        }
        day = Some(on);
        if judge.fits(&node) {
            matches.push(Match { node, score: None });
        }
    }
    // Those without such a day come behind, unless none of them fits.
    let total = Total::Exactly(matches.len());
    judge.plan.needs(stamp).then_some((matches, total))
}

/// Returns the nodes that looking begins with, in the order of files and lines, each once.
fn nodes<'a>(with: &'a With<'a>, places: &'a [Option<Places>], world: &'a World<'a>) -> Nodes<'a> {
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
                .filter_map(|at| places.get(*at)?.as_ref())
                .map(|places| {
                    let all = places.all().into_iter();
                    Box::new(all.filter_map(move |(file, at)| source::node(view, &file, at))) as Nodes<'a>
                })
                .collect(),
        ),
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

/// Gives each node what its text is worth.
fn score(matches: &mut [Match], world: &World<'_>, ranking: &[QueryTerm], alike: Option<&Places>) {
    let at = |file: &str, index: usize| {
        matches.binary_search_by(|found| (source::file(&found.node).as_ref(), found.node.index).cmp(&(file, index)))
    };
    let admit = |file: &str, index: u32| at(file, index as usize).is_ok();
    let scored = match ranking {
        [] => Places::default(),
        ranking => Places::of(text::ranked(world.index, ranking, matches.len(), &admit)),
    };
    for found in matches {
        let of = |places: &Places| places.score(source::file(&found.node), found.node.index).unwrap_or(0.0);
        found.score = Some(of(&scored) + alike.map_or(0.0, of));
    }
}

/// Puts the best so many nodes to the front, in order.
fn order(matches: &mut Vec<Match>, sort: &[Sort], limit: usize, world: &World<'_>) {
    if sort.is_empty() {
        return;
    }
    let mut keyed: Vec<(Vec<SortValue>, Match)> = std::mem::take(matches)
        .into_iter()
        .map(|found| (sort.iter().map(|sort| value(&found, *sort, world)).collect(), found))
        .collect();
    let compare = |a: &(Vec<SortValue>, Match), b: &(Vec<SortValue>, Match)| {
        a.0.cmp(&b.0).then_with(|| source::order(&a.1.node, &b.1.node))
    };
    if limit > 0 && limit < keyed.len() {
        keyed.select_nth_unstable_by(limit - 1, compare);
        keyed.truncate(limit);
    }
    keyed.sort_unstable_by(compare);
    matches.extend(keyed.into_iter().map(|(_, found)| found));
}

/// What a node is sorted by; what there is not comes last, whichever way round.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SortValue {
    Number(i64),
    Text(String),
    TextDown(std::cmp::Reverse<String>),
    Missing,
}

fn value(found: &Match, sort: Sort, world: &World<'_>) -> SortValue {
    let node = &found.node;
    let seconds = |at: DateTime| {
        let days = i64::from(at.date().since(jiff::civil::date(1970, 1, 1)).map_or(0, |span| span.get_days()));
        days * 86_400 + i64::from(at.hour()) * 3600 + i64::from(at.minute()) * 60 + i64::from(at.second())
    };
    let planned = |kind: Planning| moment(node, kind).map(seconds);
    let number = match sort.key {
        SortKey::File | SortKey::Title => {
            let text = match sort.key {
                SortKey::File => format!("{}\0{:010}", source::file(node), node.index),
                _ => node.title().to_lowercase(),
            };
            return if sort.reversed { SortValue::TextDown(std::cmp::Reverse(text)) } else { SortValue::Text(text) };
        }
        // Floats of one sign are ordered as their bits are; the best comes first.
        SortKey::Score => found.score.map(|score| -i64::from(score.max(0.0).to_bits())),
        SortKey::Todo => source::keyword_order(node).map(|order| order as i64),
        SortKey::Priority => source::priority(node).map(|priority| i64::from(u32::from(priority))),
        SortKey::Level => Some(i64::from(source::level(node))),
        SortKey::Scheduled => planned(Planning::Scheduled),
        SortKey::Deadline => planned(Planning::Deadline),
        SortKey::Closed => planned(Planning::Closed),
        SortKey::Planned => planned(Planning::Scheduled).into_iter().chain(planned(Planning::Deadline)).min(),
        SortKey::Modified => source::modified(node).map(|at| -seconds((world.local)(at))),
    };
    match number {
        None => SortValue::Missing,
        Some(number) => SortValue::Number(if sort.reversed { number.saturating_neg() } else { number }),
    }
}
