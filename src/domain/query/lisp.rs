//! The same language as an s-expression, in the manner of org-ql: `(and (todo "TODO") (not (tags "someday")))`.

use crate::domain::query::error::{QueryError, nearest};
use crate::domain::query::field::{FIELDS, Field};
use crate::domain::query::text::has_words;
use crate::domain::query::value::{self, Said};
use crate::domain::query::{Filter, MAX_DEPTH, MAX_TERMS, Query, Term};
use crate::domain::sexp::reader::Sexp;

/// Returns whether a text is one s-expression of this language; words in parentheses are none.
pub fn is_lisp(text: &str) -> bool {
    form(text).is_some()
}

/// Reads a text when it is one s-expression of this language.
pub fn read(text: &str) -> Option<Result<Query, QueryError>> {
    let form = form(text)?;
    let mut reader = Reader { text, terms: 0, query: Query::default() };
    Some(match reader.filter(&form, 0) {
        Ok(filter) => Ok(Query { filter: filter.unwrap_or_default(), ..reader.query }),
        Err(error) => Err(error),
    })
}

/// Returns the list that a text is, when its head is known and what follows is no bare word.
fn form(text: &str) -> Option<Sexp> {
    let trimmed = text.trim();
    if !trimmed.starts_with('(') || !trimmed.ends_with(')') {
        return None;
    }
    let form = Sexp::read(trimmed).ok()?;
    let (head, rest) = form.items().split_first()?;
    let Sexp::Symbol(head) = head else { return None };
    let bare = |item: &Sexp| matches!(item, Sexp::Symbol(_) | Sexp::Dotted(..));
    (is_head(head.as_str()) && !rest.iter().any(bare)).then_some(form)
}

fn is_head(head: &str) -> bool {
    matches!(head, "and" | "or" | "not" | "text" | "regexp" | "rifle" | "done" | "phrase")
        || Field::named(head).is_some()
}

struct Reader<'a> {
    text: &'a str,
    terms: usize,
    query: Query,
}

impl Reader<'_> {
    fn wrong(&self, about: &str, what: impl Into<String>, way_out: impl Into<String>) -> QueryError {
        let at = self.text.find(about).unwrap_or(0);
        let column = self.text.get(..at).map_or(0, |before| before.chars().count()) + 1;
        QueryError { what: what.into(), way_out: way_out.into(), column, width: about.chars().count().max(1) }
    }

    /// Reads one form. It calls itself through groups, at most [`MAX_DEPTH`] deep.
    fn filter(&mut self, form: &Sexp, depth: usize) -> Result<Option<Filter>, QueryError> {
        self.terms += 1;
        if depth > MAX_DEPTH || self.terms > MAX_TERMS {
            return Err(self.wrong("(", "too many or too deep groups", "ask for less at once"));
        }
        if let Sexp::Str(text) = form {
            return Ok(words(text));
        }
        let Some((Sexp::Symbol(head), rest)) = form.items().split_first() else {
            let shown = form.to_string();
            return Err(self.wrong(&shown, format!("{shown} is no condition"), "write (todo \"TODO\"), or a string"));
        };
        match head.as_str() {
            "and" => Ok(Some(Filter::all(self.each(rest, depth)?))),
            "or" => match self.each(rest, depth)? {
                sides if sides.is_empty() => Err(self.wrong("(or", "“or” has no sides", "put two forms into it")),
                sides => Ok(Some(Filter::any(sides))),
            },
            "not" => match self.each(rest, depth)? {
                parts if parts.is_empty() => {
                    Err(self.wrong("(not", "“not” has nothing to turn around", "put a form into it"))
                }
                // As in org-ql: none of them.
                parts => Ok(Some(Filter::any(parts).negated())),
            },
            "text" | "rifle" | "phrase" | "regexp" => {
                if head.as_str() == "regexp" {
                    return Err(self.wrong(
                        "regexp",
                        "regular expressions are not known here",
                        "write (text \"words\")",
                    ));
                }
                Ok(Some(Filter::all(self.each(rest, depth)?)))
            }
            "done" => Ok(Some(Filter::Term(Term::Todo(crate::domain::query::Todo::Done)))),
            name => self.field(name, rest, depth),
        }
    }

    fn each(&mut self, forms: &[Sexp], depth: usize) -> Result<Vec<Filter>, QueryError> {
        let mut parts = Vec::new();
        for form in forms {
            parts.extend(self.filter(form, depth + 1)?.filter(Filter::says_something));
        }
        Ok(parts)
    }

    fn field(&mut self, name: &str, rest: &[Sexp], depth: usize) -> Result<Option<Filter>, QueryError> {
        let Some(field) = Field::named(name) else {
            let names = FIELDS.iter().flat_map(|known| std::iter::once(&known.name).chain(known.others).copied());
            let way_out = match nearest(name, names) {
                Some(near) => format!("did you mean ({near} …)?"),
                None => "M-x info, or passepartout query --help, lists them".to_string(),
            };
            return Err(self.wrong(name, format!("there is no ({name} …)"), way_out));
        };
        let value = written(field, rest);
        let said = value::read(field, &value).map_err(|(what, way_out)| self.wrong(name, what, way_out))?;
        match said {
            Said::Term(term) => return Ok(Some(Filter::Term(term))),
            Said::Sort(_) | Said::Limit(_) if depth > 1 => {
                return Err(self.wrong(
                    name,
                    format!("({name} …) is about the whole query"),
                    "put it into the outermost (and …)",
                ));
            }
            Said::Sort(sort) => self.query.sort = sort,
            Said::Limit(limit) => self.query.limit = Some(limit),
        }
        Ok(None)
    }
}

fn words(text: &str) -> Option<Filter> {
    let term = match text.contains(char::is_whitespace) {
        true => Term::Phrase(text.trim().to_string()),
        false => super::print::word(text),
    };
    has_words(text).then_some(Filter::Term(term))
}

/// Returns arguments as they stand behind a colon: `"A" "B"` as `A,B`, `:from X :to Y` as `X..Y`.
fn written(field: Field, rest: &[Sexp]) -> String {
    let text = |item: &Sexp| match item {
        Sexp::Str(text) => text.clone(),
        Sexp::Keyword(name) | Sexp::Symbol(name) => name.as_str().to_string(),
        Sexp::Int(number) => match field {
            // Bare numbers are days from today, as in org-ql.
            Field::Scheduled | Field::Deadline | Field::Closed | Field::Planned | Field::Modified => {
                format!("{number:+}d")
            }
            Field::Todo
            | Field::Tag
            | Field::OwnTag
            | Field::Prop
            | Field::Priority
            | Field::Level
            | Field::Title
            | Field::File
            | Field::Id
            | Field::Under
            | Field::Parent
            | Field::Links
            | Field::Backlinks
            | Field::Similar
            | Field::Has
            | Field::Is
            | Field::Sort
            | Field::Limit => number.to_string(),
        },
        Sexp::T => "any".to_string(),
        Sexp::Nil => "none".to_string(),
        Sexp::Float(_) | Sexp::List(_) | Sexp::Dotted(..) => item.to_string(),
    };
    match (field, rest) {
        (Field::Todo, []) => "open".to_string(),
        (Field::Tag | Field::Scheduled | Field::Deadline | Field::Closed | Field::Planned, []) => "any".to_string(),
        (Field::Prop, [key, value]) => format!("{}={}", text(key), text(value)),
        (Field::Level, [from, to]) => format!("{}..{}", text(from), text(to)),
        (_, [Sexp::Keyword(_), ..]) => {
            let named = |wanted: &str| {
                rest.chunks_exact(2).find_map(|pair| match pair {
                    [Sexp::Keyword(name), value] if name.as_str() == wanted => Some(text(value)),
                    _ => None,
                })
            };
            match named("on") {
                Some(day) => day,
                None => format!("{}..{}", named("from").unwrap_or_default(), named("to").unwrap_or_default()),
            }
        }
        _ => rest.iter().map(text).collect::<Vec<_>>().join(","),
    }
}
