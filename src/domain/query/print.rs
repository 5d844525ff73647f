//! From a query to its text: reading that again gives the same query.

use crate::domain::query::field::{Field, STATES, THINGS, name_of};
use crate::domain::query::token::{Kind, tokens};
use crate::domain::query::{Filter, Query, Relation, Stamp, Term, Test, Todo};

/// Returns a query as it is typed.
pub fn print(query: &Query) -> String {
    let mut out = Printed::default();
    filter(&query.filter, Around::Nothing, &mut out);
    if !query.sort.is_empty() {
        let words: Vec<String> = query.sort.iter().map(|sort| sort.words()).collect();
        out.part(&format!("sort:{}", words.join(",")));
    }
    if let Some(limit) = query.limit {
        out.part(&format!("limit:{limit}"));
    }
    out.text
}

/// What was printed so far.
#[derive(Default)]
struct Printed {
    text: String,
    /// What comes next belongs to what stands last.
    open: bool,
}

impl Printed {
    fn part(&mut self, text: &str) {
        if !self.text.is_empty() && !self.open {
            self.text.push(' ');
        }
        self.text.push_str(text);
        self.open = false;
    }

    /// Writes a “not” or the beginning of a group.
    fn before(&mut self, text: &str) {
        self.part(text);
        self.open = true;
    }
}

/// What a filter stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Nothing,
    All,
    Any,
    Not,
}

/// Writes a filter. It calls itself as deep as groups stand in each other, which reading bounds.
fn filter(shown: &Filter, around: Around, out: &mut Printed) {
    let grouped = match (shown, around) {
        (Filter::All(_), Around::Not) | (Filter::Any(_), Around::All | Around::Not) => true,
        (Filter::All(parts), Around::Any) => parts.is_empty(),
        (Filter::All(_) | Filter::Any(_) | Filter::Not(_) | Filter::Term(_), _) => false,
    };
    if grouped {
        out.before("(");
    }
    match shown {
        Filter::All(parts) => parts.iter().for_each(|inner| filter(inner, Around::All, out)),
        Filter::Any(parts) => {
            for (at, inner) in parts.iter().enumerate() {
                if at > 0 {
                    out.part("or");
                }
                filter(inner, Around::Any, out);
            }
        }
        Filter::Not(inner) => {
            out.before("-");
            filter(inner, Around::Not, out);
        }
        Filter::Term(shown) => out.part(&term(shown)),
    }
    if grouped {
        out.text.push(')');
        out.open = false;
    }
}

/// Returns one condition as it is typed.
pub fn term(term: &Term) -> String {
    let field = |field: Field, value: &str| format!("{}:{}", field.name(), quoted_where_needed(value));
    match term {
        Term::Word(word) => word.clone(),
        Term::Phrase(text) => quoted(text),
        Term::Title(text) => field(Field::Title, text),
        Term::Todo(todo) => match todo {
            Todo::Named(names) => field(Field::Todo, &names.join(",")),
            Todo::Open => field(Field::Todo, "open"),
            Todo::Done => field(Field::Todo, "done"),
            Todo::Any => field(Field::Todo, "any"),
            Todo::None => field(Field::Todo, "none"),
        },
        Term::Tag(tags) => field(Field::Tag, &tags.join(",")),
        Term::OwnTag(tags) => field(Field::OwnTag, &tags.join(",")),
        Term::Property(key, test) => field(
            Field::Prop,
            &match test {
                Test::There => key.clone(),
                Test::Is(value) => format!("{key}={value}"),
                Test::Holds(value) => format!("{key}~{value}"),
                Test::Compare(relation, value) => format!("{key}{}{value}", relation.mark()),
            },
        ),
        Term::Priority(wanted) => {
            let row = wanted.windows(2).all(|pair| pair[1] as u32 == pair[0] as u32 + 1);
            let listed = || wanted.iter().map(char::to_string).collect::<Vec<_>>().join(",");
            let value = match wanted.as_slice() {
                [first, .., last] if row && wanted.len() > 4 => format!("{first}..{last}"),
                _ => listed(),
            };
            field(Field::Priority, &value)
        }
        Term::Level(from, to) => field(
            Field::Level,
            &match (*from, *to) {
                (from, to) if from == to => from.to_string(),
                (from, u16::MAX) => format!(">={from}"),
                (0, to) => format!("<={to}"),
                (from, to) => format!("{from}..{to}"),
            },
        ),
        Term::File(text) => field(Field::File, text),
        Term::Id(id) => field(Field::Id, id),
        Term::Under(id) => field(Field::Under, id),
        Term::Parent(id) => field(Field::Parent, id),
        Term::Links(id) => field(Field::Links, id),
        Term::Backlinks(id) => field(Field::Backlinks, id),
        Term::Similar(id) => field(Field::Similar, id),
        Term::Time(stamp, when) => field(stamp.field(), &when.to_string()),
        Term::Has(thing) => field(Field::Has, name_of(THINGS, thing)),
        Term::Is(state) => field(Field::Is, name_of(STATES, state)),
    }
}

/// Returns a condition for one word; a phrase where it would be read as something else.
pub(super) fn word(text: &str) -> Term {
    let plain = matches!(tokens(text).as_deref(), Ok([only]) if only.kind == Kind::Word(text.to_string()));
    if plain { Term::Word(text.to_string()) } else { Term::Phrase(text.trim().to_string()) }
}

fn quoted_where_needed(value: &str) -> String {
    let odd = |c: char| {
        c.is_whitespace() || c.is_control() || matches!(c, '(' | ')' | '"' | '“' | '”' | '„' | '«' | '»' | '「' | '」')
    };
    if value.contains(odd) { quoted(value) } else { value.to_string() }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

impl Relation {
    fn mark(self) -> &'static str {
        match self {
            Relation::Less => "<",
            Relation::AtMost => "<=",
            Relation::More => ">",
            Relation::AtLeast => ">=",
        }
    }
}

impl Stamp {
    /// Returns the field that asks for it.
    pub fn field(self) -> Field {
        match self {
            Stamp::Scheduled => Field::Scheduled,
            Stamp::Deadline => Field::Deadline,
            Stamp::Closed => Field::Closed,
            Stamp::Planned => Field::Planned,
            Stamp::Modified => Field::Modified,
        }
    }
}
