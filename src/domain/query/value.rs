//! From a field and its value to a condition.

use crate::domain::query::date::{self, When};
use crate::domain::query::error::nearest;
use crate::domain::query::field::{Field, SORTS, STATES, THINGS, listed};
use crate::domain::query::{MAX_LIMIT, Relation, Sort, Stamp, Term, Test, Todo};

/// What a field with its value says.
pub enum Said {
    /// A condition.
    Term(Term),
    /// The order of the whole query.
    Sort(Vec<Sort>),
    /// The limit of the whole query.
    Limit(usize),
}

/// Why a value does not fit: what is wrong, and the way out.
pub type Wrong = (String, String);

/// The longest list of values.
const MAX_LIST: usize = 50;

/// Reads the value of a field.
///
/// # Errors
/// When it is no value of that field.
pub fn read(field: Field, value: &str) -> Result<Said, Wrong> {
    let example = || format!("write it like {}", field.known().example);
    let value = value.trim();
    if value.is_empty() {
        return Err((format!("nothing stands behind {}:", field.name()), example()));
    }
    let text = || value.to_string();
    Ok(Said::Term(match field {
        Field::Todo => Term::Todo(todo(value, example)?),
        Field::Tag => Term::Tag(tags(value, example)?),
        Field::OwnTag => Term::OwnTag(tags(value, example)?),
        Field::Prop => property(value)?,
        Field::Priority => Term::Priority(priorities(value)?),
        Field::Level => level(value)?,
        Field::Title => Term::Title(text()),
        Field::File => Term::File(text()),
        Field::Id => Term::Id(bare(value)),
        Field::Under => Term::Under(bare(value)),
        Field::Parent => Term::Parent(bare(value)),
        Field::Links => Term::Links(bare(value)),
        Field::Backlinks => Term::Backlinks(bare(value)),
        Field::Similar => Term::Similar(bare(value)),
        Field::Scheduled => Term::Time(Stamp::Scheduled, when(value)?),
        Field::Deadline => Term::Time(Stamp::Deadline, when(value)?),
        Field::Closed => Term::Time(Stamp::Closed, when(value)?),
        Field::Planned => Term::Time(Stamp::Planned, when(value)?),
        Field::Modified => Term::Time(Stamp::Modified, when(value)?),
        Field::Has => Term::Has(one_of("has:", THINGS, value)?),
        Field::Is => Term::Is(one_of("is:", STATES, value)?),
        Field::Sort => return Ok(Said::Sort(sorts(value)?)),
        Field::Limit => return Ok(Said::Limit(limit(value)?)),
    }))
}

/// Returns an id without the `id:` of a link and its brackets.
fn bare(value: &str) -> String {
    let inner = value.strip_prefix("[[").and_then(|value| value.strip_suffix("]]")).unwrap_or(value);
    let inner = inner.split("][").next().unwrap_or(inner);
    let inner = inner.strip_prefix("id:").unwrap_or(inner).trim();
    if inner.is_empty() { value.to_string() } else { inner.to_string() }
}

fn list(value: &str, example: impl Fn() -> String) -> Result<Vec<String>, Wrong> {
    let parts: Vec<String> =
        value.split([',', ':']).map(str::trim).filter(|part| !part.is_empty()).map(str::to_string).collect();
    match parts.len() {
        0 => Err((format!("“{value}” names nothing"), example())),
        1..=MAX_LIST => Ok(parts),
        _ => Err((format!("a list of more than {MAX_LIST}"), "ask for fewer at once".to_string())),
    }
}

fn todo(value: &str, example: impl Fn() -> String) -> Result<Todo, Wrong> {
    Ok(match value {
        "open" => Todo::Open,
        "done" => Todo::Done,
        "any" => Todo::Any,
        "none" => Todo::None,
        _ => Todo::Named(list(value, example)?),
    })
}

fn tags(value: &str, example: impl Fn() -> String) -> Result<Vec<String>, Wrong> {
    let tags = list(value, example)?;
    // Org's own search writes “a+b”, and no tag has such a sign.
    match tags.iter().find_map(|tag| tag.split_once('+').filter(|(first, _)| !first.is_empty())) {
        Some((first, second)) => {
            let both = format!("for both write tag:{first} tag:{second}, for one of them tag:{first},{second}");
            Err((format!("“{first}+{second}” is no tag"), both))
        }
        None => Ok(tags),
    }
}

fn property(value: &str) -> Result<Term, Wrong> {
    let wrong = |what: String| (what, "write prop:KEY, prop:KEY=value, prop:KEY~part or prop:KEY>5".to_string());
    let end = value.find(['=', '~', '<', '>']).unwrap_or(value.len());
    let (key, rest) = value.split_at_checked(end).unwrap_or((value, ""));
    let key = key.trim().to_uppercase();
    if key.is_empty() || key.contains(char::is_whitespace) {
        return Err(wrong(format!("“{value}” names no property")));
    }
    let test = [("<=", Relation::AtMost), (">=", Relation::AtLeast), ("<", Relation::Less), (">", Relation::More)]
        .into_iter()
        .find_map(|(mark, relation)| {
            rest.strip_prefix(mark).map(|rest| Test::Compare(relation, rest.trim().to_string()))
        });
    let test = match (test, rest.strip_prefix('='), rest.strip_prefix('~')) {
        (Some(test), _, _) => test,
        (None, Some(wanted), _) => Test::Is(wanted.trim().to_string()),
        (None, None, Some(part)) => Test::Holds(part.trim().to_string()),
        (None, None, None) => Test::There,
    };
    match &test {
        Test::Holds(text) | Test::Compare(_, text) if text.is_empty() => {
            Err(wrong(format!("nothing is compared with {key}")))
        }
        Test::There | Test::Is(_) | Test::Holds(_) | Test::Compare(..) => Ok(Term::Property(key, test)),
    }
}

fn priorities(value: &str) -> Result<Vec<char>, Wrong> {
    let wrong = || {
        let what = format!("“{value}” is no priority");
        (what, "write priority:A, priority:A,B, priority:A..C or priority:>=B, and has:priority for any".to_string())
    };
    let one = |part: &str| {
        let mut chars = part.trim().trim_start_matches("[#").trim_end_matches(']').chars();
        let first = chars.next().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase());
        if chars.next().is_some() { None } else { first }
    };
    if let Some((from, to)) = value.split_once("..") {
        let (from, to) = (one(from).ok_or_else(wrong)?, one(to).ok_or_else(wrong)?);
        let found: Vec<char> = (from..=to).filter(char::is_ascii_alphanumeric).collect();
        return if found.is_empty() { Err(wrong()) } else { Ok(found) };
    }
    // A is the highest one.
    let beyond = |from: char| if from.is_ascii_digit() { ('0', '9') } else { ('A', 'Z') };
    for (mark, higher, same) in [(">=", true, true), ("<=", false, true), (">", true, false), ("<", false, false)] {
        let Some(rest) = value.strip_prefix(mark) else { continue };
        let edge = one(rest).ok_or_else(wrong)?;
        let (first, last) = beyond(edge);
        let all = if higher { first..=edge } else { edge..=last };
        let found: Vec<char> = all.filter(|found| same || *found != edge).collect();
        return if found.is_empty() { Err(wrong()) } else { Ok(found) };
    }
    let value = value.strip_prefix('=').unwrap_or(value);
    let mut found: Vec<char> = value.split(',').map(one).collect::<Option<_>>().ok_or_else(wrong)?;
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn level(value: &str) -> Result<Term, Wrong> {
    let wrong = || (format!("“{value}” is no level"), "write level:2, level:1..3 or level:<=2".to_string());
    let number = |part: &str| part.trim().parse::<u16>().map_err(|_| wrong());
    let (from, to) = if let Some((from, to)) = value.split_once("..") {
        (if from.is_empty() { 0 } else { number(from)? }, if to.is_empty() { u16::MAX } else { number(to)? })
    } else if let Some(rest) = value.strip_prefix("<=") {
        (0, number(rest)?)
    } else if let Some(rest) = value.strip_prefix(">=") {
        (number(rest)?, u16::MAX)
    } else if let Some(rest) = value.strip_prefix('<') {
        (0, number(rest)?.checked_sub(1).ok_or_else(wrong)?)
    } else if let Some(rest) = value.strip_prefix('>') {
        (number(rest)?.checked_add(1).ok_or_else(wrong)?, u16::MAX)
    } else {
        let exact = number(value.strip_prefix('=').unwrap_or(value))?;
        (exact, exact)
    };
    if from > to { Err(wrong()) } else { Ok(Term::Level(from, to)) }
}

fn when(value: &str) -> Result<When, Wrong> {
    date::when(value).map_err(|part| {
        let what = match part {
            "" => "a day is missing here".to_string(),
            part => format!("“{part}” is no day"),
        };
        let way_out = match nearest(part, date::words()) {
            Some(word) => format!("did you mean {word}?"),
            None => "write 2026-11-22, 2026-11, today, monday, last-week, +7d or -2w, <today, >=today, or a range \
                     such as today..+7d"
                .to_string(),
        };
        (what, way_out)
    })
}

fn one_of<T: Copy>(field: &str, table: &[(&'static str, T)], value: &str) -> Result<T, Wrong> {
    let is = |name: &str| name.eq_ignore_ascii_case(value) || name.trim_end_matches('s').eq_ignore_ascii_case(value);
    if let Some((_, found)) = table.iter().find(|(name, _)| is(name)) {
        return Ok(*found);
    }
    let way_out = match nearest(value, table.iter().map(|(name, _)| *name)) {
        Some(name) => format!("did you mean {field}{name}?"),
        None => format!("it takes one of {}", listed(table)),
    };
    Err((format!("{field} knows no “{value}”"), way_out))
}

fn sorts(value: &str) -> Result<Vec<Sort>, Wrong> {
    let parts = list(value, || "write it like sort:deadline or sort:priority,-modified".to_string())?;
    parts
        .iter()
        .map(|part| {
            let (reversed, name) = match part.strip_prefix('-') {
                Some(name) => (true, name),
                None => (false, part.as_str()),
            };
            let name = if name == "date" { "planned" } else { name };
            one_of("sort:", SORTS, name).map(|key| Sort { key, reversed })
        })
        .collect()
}

fn limit(value: &str) -> Result<usize, Wrong> {
    let number = value.parse::<usize>().ok().filter(|number| (1..=MAX_LIMIT).contains(number));
    number.ok_or_else(|| (format!("“{value}” is no limit"), format!("write a number from 1 to {MAX_LIMIT}")))
}
