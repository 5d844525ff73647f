//! What a question asks for: its words, the names and dates in it, and whether it asks for a time.

use crate::domain::context::lexical::QueryTerm;
use crate::domain::context::words::{Analyser, Piece, is_stop_word, pieces};
use jiff::civil::Date;
use std::collections::{BTreeSet, HashMap};

/// Questions beyond this many bytes are texts; their beginning is asked.
const LONGEST: usize = 8 << 10;
/// At most so many different terms are asked for.
const MOST_TERMS: usize = 64;
/// Of these, at most so many dates and so many names are taken before other words.
const MOST_DATES: usize = 16;
const MOST_NAMES: usize = 24;

/// What was asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Question {
    /// The terms to look for.
    pub terms: Vec<QueryTerm>,
    /// Whether an answer would name a time.
    pub wants_time: bool,
}

impl Question {
    /// Reads a question. `today` gives “today”, “tonight”, “yesterday” and “tomorrow” their meaning; without it they are
    /// words. Of more terms than are asked for, the dates and names come first, and then those at both ends: what is asked
    /// of a text stands before it or behind it.
    pub fn read(text: &str, today: Option<Date>) -> Question {
        let text = crate::domain::context::segment::prefix(text, LONGEST);
        let mut asked = Asked::default();
        let mut analyser = Analyser::default();
        analyser.terms(text, |term| asked.add(term, 1.0, Kind::Word));
        if asked.terms.is_empty() {
            // “Who is it?” has only stop words, and titles hold those.
            analyser.all_terms(text, |term| asked.add(term, 1.0, Kind::Word));
        }
        for name in names(text) {
            asked.add(analyser.stem(&name), NAME_BONUS, Kind::Name);
        }
        for date in dates(text, today) {
            asked.add(&date, DATE_BONUS, Kind::Date);
        }
        Question { terms: asked.most(), wants_time: wants_time(text) }
    }
}

/// What a term of a question is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Name,
    Date,
}

/// All terms of a question, in the order of its text, each once.
#[derive(Default)]
struct Asked {
    terms: Vec<(QueryTerm, Kind)>,
    places: HashMap<Box<str>, usize>,
}

impl Asked {
    fn add(&mut self, term: &str, weight: f32, kind: Kind) {
        match self.places.get(term).and_then(|at| self.terms.get_mut(*at)) {
            Some((known, of)) => {
                // Saying a word twice asks a little more for it, not twice as much.
                known.weight += weight * 0.5;
                *of = if kind == Kind::Word { *of } else { kind };
            }
            None => {
                self.places.insert(Box::from(term), self.terms.len());
                self.terms.push((QueryTerm { term: Box::from(term), weight }, kind));
            }
        }
    }

    /// Returns those that are asked for, in their order.
    fn most(self) -> Vec<QueryTerm> {
        let mut chosen: BTreeSet<usize> = BTreeSet::new();
        for (kind, most) in [(Some(Kind::Date), MOST_DATES), (Some(Kind::Name), MOST_NAMES), (None, MOST_TERMS)] {
            let wanted = |of: Kind| kind.is_none_or(|kind| kind == of);
            let each = self.terms.iter().enumerate().filter(|(at, (_, of))| wanted(*of) && !chosen.contains(at));
            let places: Vec<usize> = each.map(|(at, _)| at).collect();
            let room = most.min(MOST_TERMS - chosen.len()).min(places.len());
            chosen.extend(places.iter().take(room.div_ceil(2)));
            chosen.extend(places.iter().rev().take(room / 2));
        }
        let terms = self.terms.into_iter().enumerate().filter(|(at, _)| chosen.contains(at));
        terms.map(|(_, (term, _))| term).collect()
    }
}

/// What a name adds to its weight as a word.
const NAME_BONUS: f32 = 0.25;
/// What a date counts.
const DATE_BONUS: f32 = 1.0;

fn wants_time(text: &str) -> bool {
    let mut words = Vec::new();
    pieces(text, |piece| {
        if let Piece::Word(word) = piece
            && words.len() < 200
        {
            words.push(word.to_string());
        }
    });
    let asks = |pair: &[String]| match pair {
        [how, much] => how == "how" && (much == "long" || much == "often"),
        _ => false,
    };
    let period = ["year", "month", "date", "day", "week", "time"];
    words.iter().any(|word| word == "when")
        || words.windows(2).any(asks)
        || words.windows(2).any(|pair| (pair[0] == "what" || pair[0] == "which") && period.contains(&pair[1].as_str()))
}

/// Returns the capitalised words that do not open a sentence, in lower case.
fn names(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut opens = true;
    for word in text.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        if !opens && bare.chars().next().is_some_and(char::is_uppercase) {
            pieces(bare, |piece| {
                if let Piece::Word(name) = piece
                    && !is_stop_word(name)
                {
                    found.push(name.to_string());
                }
            });
        }
        opens = word.ends_with(['.', '?', '!', ':']);
    }
    found
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Returns the days and months that are named, as terms of the index: `2026-03-14`, `2026-03`.
fn dates(text: &str, today: Option<Date>) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    pieces(text, |piece| {
        if let Piece::Word(word) = piece {
            words.push(word.to_string());
        }
    });
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let month = MONTHS.iter().position(|month| {
            *month == word
                || (word.len() == 3 && month.starts_with(word.as_str()))
                || (word == "sept" && *month == "september")
        });
        if let Some(month) = month {
            found.extend(month_term(&words, at, month + 1));
        }
        let Some(today) = today else { continue };
        let day = |offset: i64| today.checked_add(jiff::Span::new().days(offset)).ok();
        match word.as_str() {
            "today" | "tonight" => found.push(today.to_string()),
            "yesterday" => found.extend(day(-1).map(|day| day.to_string())),
            "tomorrow" => found.extend(day(1).map(|day| day.to_string())),
            _ => {}
        }
    }
    found
}

/// Returns the term of “May 2023”, “8 May 2023” or “May 8th, 2023”; a month without a year names no time.
fn month_term(words: &[String], at: usize, month: usize) -> Option<String> {
    let number = |at: usize| -> Option<u32> {
        let digits = words.get(at)?.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        digits.parse().ok()
    };
    let year = |at: usize| number(at).filter(|year| (1000..=9999).contains(year));
    let day = |at: usize| number(at).filter(|day| (1..=31).contains(day));
    let before = at.checked_sub(1).and_then(day);
    match (year(at + 1), day(at + 1), year(at + 2)) {
        (Some(year), _, _) => Some(match before {
            Some(day) => format!("{year}-{month:02}-{day:02}"),
            None => format!("{year}-{month:02}"),
        }),
        (None, Some(day), Some(year)) => Some(format!("{year}-{month:02}-{day:02}")),
        (None, _, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_questions_are_read() {
        for (text, expected) in [
            ("What happened in May 2023?", "2023-05"),
            ("on 8 May, 2023", "2023-05-08"),
            ("on May 8th 2023", "2023-05-08"),
            ("Sept 2024 and Dec 31, 2024", "2024-09 2024-12-31"),
            ("may I ask", ""),
            ("what did I do yesterday", "2026-02-28"),
            ("tomorrow and today", "2026-03-02 2026-03-01"),
            ("May 99999999999999999999", ""),
        ] {
            assert_eq!(dates(text, Some(jiff::civil::date(2026, 3, 1))).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn questions_for_a_time_are_known() {
        for (text, expected) in [
            ("When did Ada leave?", true),
            ("How long was the trip?", true),
            ("In which month did it rain?", true),
            ("What did Ada read?", false),
            ("How is Ada?", false),
        ] {
            assert_eq!(wants_time(text), expected, "{text}");
        }
    }

    #[test]
    fn names_are_the_capitalised_words_inside() {
        assert_eq!(names("What did Ada Lovelace's dog eat? The Engine."), ["ada", "lovelace", "engine"]);
    }
}
