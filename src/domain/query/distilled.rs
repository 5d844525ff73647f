//! Daily notes and what was distilled from them: a note names its source in a property, so nothing is distilled twice.

use crate::domain::label::Privacy;
use crate::domain::memory::query::with_property;
use crate::domain::memory::sight::Sight;
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::org::logbook;
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

/// Returns the notes of daily ones since a day that nothing was distilled from, the latest day first. What is private in any
/// tier is none of them: it is never distilled; nor is what is archived or a comment.
///
/// What was distilled counts also where it is out of sight. Read are the texts of notes that may be listed.
pub fn undistilled(view: &View, since: Date, most: usize) -> Listed {
    let (all, sight) = (view.narrowed(Sight::default()), view.sight());
    let known: HashSet<String> =
        with_property(&all, SOURCE, None).filter_map(|node| node.property(SOURCE).map(str::to_string)).collect();
    let mut found: Vec<(Date, NodeRef)> = Vec::new();
    for card in all.cards().filter(|card| card.is_notes()) {
        let named = date_of_file(&card.file);
        for index in 0..card.len() {
            let open = card.privacy(index) == Privacy::Open && sight.holds(&card.file, index);
            if !open || card.property(index, SOURCE).is_some() {
                continue;
            }
            let upwards = std::iter::successors(Some(index), |at| card.parent(*at)).take_while(|at| *at > 0);
            let day = upwards.clone().find_map(|at| day_of_title(card.title(at))).or(named);
            let Some(day) = day.filter(|day| *day >= since) else { continue };
            let off = upwards.clone().any(|at| card.commented(at)) || card.all_tags(index).contains(&"ARCHIVE");
            let Some(node) = all.node(&card.file, index).filter(|_| !off) else { continue };
            if node.body_len() >= SHORTEST && !known.contains(node.id().as_str()) && says_something(&node) {
                found.push((day, node));
            }
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| (a.1.file(), a.1.index).cmp(&(b.1.file(), b.1.index))));
    let total = found.len();
    Listed { nodes: found.into_iter().take(most).map(|(day, node)| (node, format!("of {day}"))).collect(), total }
}

/// Returns whether a note says something of its own, besides keywords and the log of what happened to it.
fn says_something(node: &NodeRef) -> bool {
    let body = node.body();
    let behind = logbook::log(body).map_or(0, |log| log.end);
    let lines = body.get(behind..).unwrap_or_default().lines().filter(|line| !line.trim_start().starts_with("#+"));
    lines.map(|line| line.trim().len()).sum::<usize>() >= SHORTEST
}

/// Returns the day that a file is named after: `2026-11-20.org`, `20261120.org`, `2026_11_20-monday.org`. With a time of
/// day behind it, it is one note and no day: `20261120093000-note.org`, `20261120T093000--note.org`.
fn date_of_file(file: &str) -> Option<Date> {
    let name = file.rsplit('/').next()?;
    let dashed = name.get(4..5).filter(|sign| matches!(*sign, "-" | "_"));
    let digits: String = match dashed {
        // The same sign stands twice.
        Some(sign) => {
            name.get(5..).filter(|rest| rest.get(2..3) == Some(sign)).map(|rest| rest.replacen(sign, "", 1))?
        }
        None => name.get(4..)?.to_string(),
    };
    let year = name.get(..4)?;
    let all_digits = year.bytes().chain(digits.get(..4)?.bytes()).all(|byte| byte.is_ascii_digit());
    let (year, month, day) = (year.parse().ok()?, digits.get(0..2)?.parse().ok()?, digits.get(2..4)?.parse().ok()?);
    if !all_digits || digits.get(4..)?.starts_with(|c: char| c.is_alphanumeric()) {
        return None;
    }
    Date::new(year, month, day).ok().filter(|date| date.year() >= 1900)
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
            ("/m/2026-11-20 Friday.org", Some("2026-11-20")),
            ("/m/20261120093000-note.org", None),
            ("/m/20261120T093000--note.org", None),
            ("/m/2026-1120.org", None),
            ("/m/2026-11_20.org", None),
            ("/m/+026-11-20.org", None),
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
