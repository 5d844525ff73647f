//! Daily notes and what was distilled from them: a note names its source in a property, so nothing is distilled twice.

use crate::domain::label::Privacy;
use crate::domain::memory::query::with_property;
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::query::census::Listed;
use jiff::civil::Date;
use std::collections::HashSet;

/// The property in which a note names the heading that it was distilled from, by its id.
pub const SOURCE: &str = "PP_SOURCE";
/// Text of fewer bytes is not worth a note.
const SHORTEST: usize = 20;

/// Returns the note that was distilled from a heading.
pub fn note_of(view: &View, source: &str) -> Option<NodeRef> {
    with_property(view, SOURCE, Some(source)).next()
}

/// Returns the headings of daily notes since a day that nothing was distilled from, the latest day first. What is private
/// in any tier is none of them: it is never distilled. Nothing is read.
pub fn undistilled(view: &View, since: Date, most: usize) -> Listed {
    let known: HashSet<String> =
        with_property(view, SOURCE, None).filter_map(|node| node.property(SOURCE).map(str::to_string)).collect();
    let sight = view.sight();
    let mut found: Vec<(Date, NodeRef)> = Vec::new();
    for card in view.cards().filter(|card| card.is_notes()) {
        let named = date_of_file(&card.file);
        for index in 1..card.len() {
            let open = card.privacy(index) == Privacy::Open && sight.holds(&card.file, index);
            // What bears a date as its title is the day, not what was noted on it.
            if !open || day_of_title(card.title(index)).is_some() || card.property(index, SOURCE).is_some() {
                continue;
            }
            let above = || {
                let upwards = std::iter::successors(card.parent(index), |at| card.parent(*at));
                upwards.take_while(|at| *at > 0).find_map(|at| day_of_title(card.title(at)))
            };
            let Some(day) = above().or(named).filter(|day| *day >= since) else { continue };
            let Some(node) = view.node(&card.file, index) else { continue };
            if node.body_len() >= SHORTEST && !known.contains(node.id().as_str()) {
                found.push((day, node));
            }
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| (a.1.file(), a.1.index).cmp(&(b.1.file(), b.1.index))));
    let total = found.len();
    Listed { nodes: found.into_iter().take(most).map(|(day, node)| (node, format!("of {day}"))).collect(), total }
}

/// Returns the day that a file is named after: `2026-11-20.org`, `20261120.org`, `2026_11_20-monday.org`.
fn date_of_file(file: &str) -> Option<Date> {
    let name = file.rsplit('/').next()?;
    let digits: String = name.chars().take(10).filter(|c| !matches!(c, '-' | '_')).take(8).collect();
    let part = |range: std::ops::Range<usize>| digits.get(range)?.parse::<i16>().ok();
    let (year, month, day) = (part(0..4)?, part(4..6)?, part(6..8)?);
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok().filter(|date| date.year() >= 1900)
}

/// Returns the day that a title begins with, as in a date tree: `2026-11-20 Friday`, `<2026-11-20 Fri>`.
fn day_of_title(title: &str) -> Option<Date> {
    title.trim_start_matches(['<', '[']).get(..10)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_after_a_day() {
        for (file, expected) in [
            ("/m/daily/2026-11-20.org", Some("2026-11-20")),
            ("/m/20261120.org", Some("2026-11-20")),
            ("/m/2026_11_20-monday.org", Some("2026-11-20")),
            ("/m/20261120093000-note.org", Some("2026-11-20")),
            ("/m/2026-13-20.org", None),
            ("/m/00010101.org", None),
            ("/m/2026-11.org", None),
            ("/m/notes.org", None),
            ("", None),
        ] {
            assert_eq!(date_of_file(file).map(|day| day.to_string()).as_deref(), expected, "{file}");
        }
        for (title, expected) in [
            ("2026-11-20 Friday", Some("2026-11-20")),
            ("<2026-11-20 Fri>", Some("2026-11-20")),
            ("On 2026-11-20", None),
            ("ä2026-11-20", None),
        ] {
            assert_eq!(day_of_title(title).map(|day| day.to_string()).as_deref(), expected, "{title}");
        }
    }
}
