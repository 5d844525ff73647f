//! The table of prices: Org, for people to edit, with a date at each price.
//!
//! A row is `| provider | model | from | in | cached | out |`: dollars for a million tokens, from a day on. `*` stands for
//! any provider, and at the end of a model for any rest. What no row fits has no price: never 0.

use crate::domain::money::Micros;
use crate::domain::port::Usage;
use jiff::civil::Date;
use std::fmt;

/// More rows are not read.
const MOST_ROWS: usize = 10_000;

/// What a million tokens cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Of the prompt.
    pub input: Micros,
    /// Of the prompt, as far as they came from the provider's cache.
    pub cached: Micros,
    /// Of the answer.
    pub output: Micros,
}

impl Price {
    /// What runs on this machine costs nothing.
    pub const NOTHING: Price = Price { input: Micros(0), cached: Micros(0), output: Micros(0) };

    /// Returns what tokens cost, rounded up to the next millionth.
    pub fn of(&self, usage: &Usage) -> Micros {
        let cached = usage.cached.min(usage.input);
        let part = |tokens: u64, price: Micros| u128::from(tokens) * u128::from(price.0);
        let sum = part(usage.input - cached, self.input)
            .saturating_add(part(cached, self.cached))
            .saturating_add(part(usage.output, self.output));
        Micros(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Price {
    /// Writes what a million tokens cost.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Price { input, cached, output } = self;
        write!(f, "{input} in, ")?;
        if cached != input {
            write!(f, "{cached} cached, ")?;
        }
        write!(f, "{output} out")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    provider: String,
    model: String,
    /// `None` where that cannot be read.
    from: Option<Date>,
    /// Or its line, and what is wrong with it.
    price: Result<Price, String>,
}

/// Prices, as a table has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prices(Vec<Row>);

impl Prices {
    /// Reads a table, and says of each row that is none, by its number, what is wrong with it. Such a row gives no price.
    pub fn read(text: &str) -> (Prices, Vec<String>) {
        let (mut rows, mut wrong) = (Vec::new(), Vec::new());
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            let Some(cells) = line.strip_prefix('|').filter(|rest| !rest.starts_with('-')) else { continue };
            let cells: Vec<&str> = cells.strip_suffix('|').unwrap_or(cells).split('|').map(str::trim).collect();
            if cells.first() == Some(&"provider") {
                continue;
            }
            if rows.len() == MOST_ROWS {
                wrong.push(format!("line {}: only the first {MOST_ROWS} prices are read", number + 1));
                break;
            }
            match row(&cells) {
                Ok(row) => rows.push(row),
                Err(why) => {
                    let why = format!("line {}: {why}", number + 1);
                    rows.extend(unreadable(&cells, &why));
                    wrong.push(why);
                }
            }
        }
        (Prices(rows), wrong)
    }

    /// Returns these prices, and others where these have none; `None` where none has.
    ///
    /// # Errors
    /// Where the row that counts cannot be read, its line and why: nobody knows the price then, whatever other rows say.
    pub fn price<'a>(tables: impl IntoIterator<Item = &'a Prices>, asked: &Asked<'_>) -> Result<Option<Price>, String> {
        let found = tables.into_iter().find_map(|table| table.find(asked));
        found.map(|row| row.price.clone()).transpose()
    }

    /// Returns the row that counts.
    fn find(&self, asked: &Asked<'_>) -> Option<&Row> {
        let fits = |row: &&Row| {
            let provider = row.provider == "*" || row.provider.eq_ignore_ascii_case(asked.provider);
            provider && row.from.is_none_or(|from| from <= asked.day) && fits_model(&row.model, asked.model)
        };
        // The more is said of whom it is about, the more it counts; then the newest, and what has no day is never newer.
        let rank = |row: &Row| (row.provider != "*", !row.model.ends_with('*'), row.model.len(), row.from);
        self.0.iter().filter(fits).max_by_key(|row| rank(row))
    }
}

/// Whose price is looked up.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The provider.
    pub provider: &'a str,
    /// The model.
    pub model: &'a str,
    /// The day of the call.
    pub day: Date,
}

fn fits_model(pattern: &str, model: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => model.starts_with(beginning),
        None => pattern == model,
    }
}

fn row(cells: &[&str]) -> Result<Row, String> {
    let [provider, model, from, input, cached, output] = cells else {
        return Err(format!("a price has 6 cells, and this one has {}", cells.len()));
    };
    if provider.is_empty() || model.is_empty() {
        return Err("a price names its provider and its model; * stands for any".to_string());
    }
    let named = from.trim_matches(['[', ']', '<', '>']);
    let from = day_of(from).ok_or(format!("“{named}” is no day such as 2026-01-31"))?;
    let dollars = |text: &str| Micros::parse(text).ok_or(format!("“{text}” is no amount such as 2.50"));
    let input = dollars(input)?;
    let cached = if cached.is_empty() { input } else { dollars(cached)? };
    let price = Price { input, cached, output: dollars(output)? };
    Ok(Row { provider: provider.to_string(), model: model.to_string(), from: Some(from), price: Ok(price) })
}

/// Returns what a row that cannot be read is about: of that the price is unknown, and not what an older row says.
fn unreadable(cells: &[&str], why: &str) -> Option<Row> {
    let (provider, model) = (cells.first()?.to_string(), cells.get(1)?.to_string());
    let from = cells.get(2).and_then(|from| day_of(from));
    (!provider.is_empty() && !model.is_empty()).then(|| Row { provider, model, from, price: Err(why.to_string()) })
}

fn day_of(cell: &str) -> Option<Date> {
    cell.trim_matches(['[', ']', '<', '>']).split(' ').next().unwrap_or_default().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    const TABLE: &str = "#+TITLE: Prices\n\
        | provider | model | from | in | cached | out |\n\
        |----------+-------+------+----+--------+-----|\n\
        | one | big-* | 2026-01-01 | 3 | 0.30 | 15 |\n\
        | one | big-* | [2026-02-01 Sun] | 2 | 0.20 | 10 |\n\
        | one | big-2 | 2026-01-01 | 5 | | 25 |\n\
        | *   | big-2-mini | 2026-01-01 | 1 | 1 | 1 |\n";

    #[test]
    fn the_price_is_the_one_that_says_most_and_is_newest() {
        let (prices, wrong) = Prices::read(TABLE);
        assert_eq!(wrong, Vec::<String>::new());
        let check = |provider: &str, model: &str, day: Date, expected: Option<(u64, u64)>| {
            let found = Prices::price([&prices], &Asked { provider, model, day });
            let found = found.map(|price| price.map(|price| (price.input.0 / 1_000_000, price.output.0 / 1_000_000)));
            assert_eq!(found, Ok(expected), "{provider} {model} {day}");
        };
        check("one", "big-1", date(2026, 1, 5), Some((3, 15)));
        check("ONE", "big-1", date(2026, 2, 1), Some((2, 10)));
        check("one", "big-2", date(2026, 2, 1), Some((5, 25)));
        check("one", "big-2-mini", date(2026, 2, 1), Some((2, 10)));
        check("two", "big-2-mini", date(2026, 2, 1), Some((1, 1)));
        check("one", "big-1", date(2025, 12, 31), None);
        check("one", "small", date(2026, 2, 1), None);
        check("two", "big-1", date(2026, 2, 1), None);
    }

    #[test]
    fn an_earlier_table_goes_before_a_later_one() {
        let (shipped, _) = Prices::read(TABLE);
        let (own, _) = Prices::read("| * | big-* | 2020-01-01 | 7 | 7 | 7 |");
        let asked = Asked { provider: "one", model: "big-2", day: date(2026, 3, 1) };
        let found = Prices::price([&own, &shipped], &asked).expect("it can be read");
        assert_eq!(found.map(|price| price.input), Some(Micros(7_000_000)));
    }

    #[test]
    fn a_row_that_is_none_is_named_and_gives_no_price() {
        for (row, why) in [
            ("| one | m | 2026-01-01 | 3 | 15 |", "line 1: a price has 6 cells, and this one has 5"),
            ("| one | m | soon | 3 | 3 | 15 |", "line 1: “soon” is no day such as 2026-01-31"),
            ("| one | m | 2026-01-01 | free | 3 | 15 |", "line 1: “free” is no amount such as 2.50"),
            ("| one | m | 2026-01-01 | 3 | 3 | |", "line 1: “” is no amount such as 2.50"),
            ("| | m | 2026-01-01 | 3 | 3 | 1 |", "line 1: a price names its provider and its model; * stands for any"),
        ] {
            // It stands behind one that would do.
            let (prices, wrong) = Prices::read(&format!("{row}\n| one | m | 2025-01-01 | 1 | 1 | 1 |"));
            assert_eq!(wrong, [why], "{row}");
            // It counts where it is the newest; where it has no day it may be older, and what is dated counts.
            let older = Price { input: Micros(1_000_000), cached: Micros(1_000_000), output: Micros(1_000_000) };
            let counts = !row.starts_with("| | m") && !row.contains("soon");
            let found = Prices::price([&prices], &Asked { provider: "one", model: "m", day: date(2026, 3, 1) });
            assert_eq!(found, if counts { Err(why.to_string()) } else { Ok(Some(older)) }, "{row}");
            let other = Prices::price([&prices], &Asked { provider: "one", model: "n", day: date(2026, 3, 1) });
            assert_eq!(other, Ok(None));
        }
        let (alone, wrong) = Prices::read("| one | m | 2025-02-30 | 3 | 3 | 15 |");
        let found = Prices::price([&alone], &Asked { provider: "one", model: "m", day: date(2026, 3, 1) });
        assert_eq!(found.err().as_slice(), wrong);
    }

    #[test]
    fn tokens_of_the_cache_are_paid_as_such_and_halves_are_rounded_up() {
        let price = Price { input: Micros(3_000_000), cached: Micros(300_000), output: Micros(15_000_000) };
        let check = |input: u64, cached: u64, output: u64, expected: u64| {
            let usage = Usage { input, cached, output, thinking: 0 };
            assert_eq!(price.of(&usage), Micros(expected), "{usage:?}");
        };
        check(0, 0, 0, 0);
        check(1_000_000, 0, 0, 3_000_000);
        check(1_000, 1_000, 0, 300);
        check(1_000, 400, 100, 1_800 + 120 + 1_500);
        check(1, 1, 0, 1);
        // More from the cache than there were.
        check(10, 20, 0, 3);
        check(u64::MAX, 0, u64::MAX, u64::MAX);
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "[|*0-9a-z.\\-\\n \\[\\]é]{0,200}") {
            let (prices, _) = Prices::read(&text);
            let _ = Prices::price([&prices], &Asked { provider: "a", model: "b", day: date(2026, 1, 1) });
        }

        #[test]
        fn more_tokens_never_cost_less(input in 0..1_u64 << 40, output in 0..1_u64 << 40, more in 0..1_u64 << 20) {
            let price = Price { input: Micros(3_000_001), cached: Micros(7), output: Micros(15_000_003) };
            let usage = Usage { input, output, ..Usage::default() };
            let greater = Usage { input: input + more, output: output + more, ..Usage::default() };
            prop_assert!(price.of(&greater) >= price.of(&usage));
        }
    }
}
