//! In which order nodes are shown.

use crate::domain::memory::query::Planning;
use crate::domain::query::check::moment;
use crate::domain::query::run::{Match, World};
use crate::domain::query::{Sort, SortKey, source};
use jiff::civil::DateTime;

/// Puts the best so many nodes to the front, in order.
pub fn order(matches: &mut Vec<Match>, sort: &[Sort], limit: usize, world: &World<'_>) {
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
