//! The same language as an s-expression, in the manner of org-ql: `(and (todo "TODO") (not (tags "someday")))`.

use crate::domain::query::error::{QueryError, nearest};
use crate::domain::query::field::{Field, absent, names};
use crate::domain::query::text::has_words;
use crate::domain::query::token::{Kind, Token, tokens};
use crate::domain::query::value::{self, Said, Wrong};
use crate::domain::query::{Filter, MAX_DEPTH, MAX_TERMS, Query, Term, Thing, Todo};
use crate::domain::sexp::reader::{Fault, Sexp};

/// Returns whether a text is one s-expression of this language; words in parentheses are none.
pub fn is_lisp(text: &str) -> bool {
    form(text).is_some()
}

/// Reads a text when it is one s-expression of this language.
///
/// It is one when it is a single list whose head is a name of this language or of org-ql, or whose head is another word
/// and what follows is what only Lisp has: a string, `:on`, `<`, a form. `(harbour crane)` and `(larch or deck)` are
/// groups of words.
pub fn read(text: &str) -> Option<Result<Query, QueryError>> {
    let form = match form(text)? {
        Ok(form) => form,
        Err(error) => return Some(Err(error)),
    };
    let mut reader = Reader { text, terms: 0, query: Query::default() };
    Some(match reader.filter(&form, 0) {
        Ok(filter) => Ok(Query { filter: filter.unwrap_or_default(), ..reader.query }),
        Err(error) => Err(error),
    })
}

/// Returns the form that a text is, or what is wrong with it where its head says that it is to be one.
fn form(text: &str) -> Option<Result<Sexp, QueryError>> {
    let trimmed = text.trim().trim_start_matches('\'');
    if !trimmed.starts_with('(') || !trimmed.ends_with(')') {
        return None;
    }
    match Sexp::read(&unquoted(trimmed)) {
        Ok(form) => is_form(&form).then_some(Ok(form)),
        Err(why) => match why.fault {
            Fault::Character(_) | Fault::Hash | Fault::Escape | Fault::Dot | Fault::Range => {
                let head = trimmed.get(1..)?.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')')).next()?;
                (is_head(head) && !is_group(text)).then(|| {
                    let what = "this is no form that can be read".to_string();
                    let way_out = format!("put values in quotation marks: ({head} \"…\")");
                    Err(QueryError { what, way_out, column: 1, width: 1 })
                })
            }
            Fault::TooLong
            | Fault::TooDeep
            | Fault::TooMany
            | Fault::Empty
            | Fault::Unfinished(_)
            | Fault::Unopened
            | Fault::Trailing => None,
        },
    }
}

/// Returns a text without the quotes of Lisp, as in `(level '> 2)`: nothing here is evaluated.
fn unquoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut inside, mut escaped, mut before) = (false, false, '(');
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let begins = before.is_whitespace() || before == '(';
        let quote = c == '\'' && !inside && begins && chars.peek().is_some_and(|next| !next.is_whitespace());
        inside ^= c == '"' && !escaped;
        escaped = inside && c == '\\' && !escaped;
        before = c;
        if !quote {
            out.push(c);
        }
    }
    out
}

/// Returns whether a text is written with signs that only groups of words have: `or`, `tag:work`.
fn is_group(text: &str) -> bool {
    let signs = |token: &Token| match &token.kind {
        Kind::Or | Kind::And => true,
        Kind::Pair { name, .. } => Field::named(name).is_some(),
        Kind::Open | Kind::Close | Kind::Not | Kind::Word(_) | Kind::Quoted(_) => false,
    };
    tokens(text).is_ok_and(|tokens| tokens.iter().any(signs))
}

/// Returns whether a list is a form of this language. It calls itself as deep as lists stand in each other, which
/// reading bounds.
fn is_form(form: &Sexp) -> bool {
    let Some((Sexp::Symbol(head), rest)) = form.items().split_first() else { return false };
    let telling = |item: &Sexp| match item {
        Sexp::Str(_) | Sexp::Keyword(_) => true,
        Sexp::Symbol(name) => COMPARISONS.contains(&name.as_str()),
        Sexp::List(_) => is_form(item),
        Sexp::Nil | Sexp::T | Sexp::Int(_) | Sexp::Float(_) | Sexp::Dotted(..) => false,
    };
    let symbol = |item: &Sexp, is: fn(&str) -> bool| matches!(item, Sexp::Symbol(name) if is(name.as_str()));
    let joins = |name: &str| matches!(name.to_ascii_lowercase().as_str(), "or" | "and" | "not" | "&");
    let pairs = |name: &str| name.split_once(':').is_some_and(|(name, _)| name != "id" && Field::named(name).is_some());
    let head = head.as_str();
    match head.to_ascii_lowercase().as_str() {
        "and" | "not" => rest.is_empty() || rest.iter().any(telling) && !rest.iter().any(|item| symbol(item, joins)),
        "or" => true,
        _ if rest.iter().any(|item| symbol(item, joins) || symbol(item, pairs)) => false,
        _ if is_head(head) => true,
        _ => {
            let turned = rest.iter().any(|item| symbol(item, |name| name.starts_with(['-', '!'])));
            looks_like_a_name(head) && !turned && rest.iter().any(telling)
        }
    }
}

fn looks_like_a_name(head: &str) -> bool {
    head.starts_with(|c: char| c.is_ascii_alphabetic())
        && head.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'*' | b'&'))
}

fn is_head(head: &str) -> bool {
    matches!(head, "text" | "regexp" | "rifle" | "done" | "phrase" | "tags&")
        || Field::named(head).is_some()
        || absent(head).is_some()
}

/// Signs between two values.
const COMPARISONS: [&str; 5] = ["<", "<=", ">", ">=", "="];

struct Reader<'a> {
    text: &'a str,
    terms: usize,
    query: Query,
}

impl Reader<'_> {
    fn wrong(&self, about: &str, what: impl Into<String>, way_out: impl Into<String>) -> QueryError {
        let at = self.text.find(&format!("({about}")).map(|at| at + 1).or_else(|| self.text.find(about)).unwrap_or(0);
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
            let way_out = match form {
                Sexp::Symbol(_) => format!("write ({shown}) for a condition, and \"{shown}\" for a word"),
                _ => "write (todo \"TODO\"), or a string".to_string(),
            };
            return Err(self.wrong(&shown, format!("{shown} is no condition"), way_out));
        };
        match head.as_str().to_ascii_lowercase().as_str() {
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
            "regexp" => Err(self.wrong("regexp", "regular expressions are not known here", "write (text \"words\")")),
            "text" | "rifle" | "phrase" => {
                let mut parts = Vec::new();
                for item in rest {
                    parts.extend(match item {
                        Sexp::Symbol(word) => words(word.as_str()),
                        Sexp::Int(number) => words(&number.to_string()),
                        other => self.filter(other, depth + 1)?,
                    });
                }
                Ok(Some(Filter::all(parts)))
            }
            "done" if rest.is_empty() => Ok(Some(Filter::Term(Term::Todo(Todo::Done)))),
            "done" => Err(self.wrong("done", "(done) takes nothing", "write (and (done) …)")),
            // As in org-ql, and apart from (tags …): all of them.
            "tags-all" | "tags&" if !rest.is_empty() => {
                let each = rest.iter().map(|tag| self.field("tags", std::slice::from_ref(tag), depth));
                let each = each.collect::<Result<Vec<_>, _>>()?;
                Ok(Some(Filter::all(each.into_iter().flatten().collect())))
            }
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
            let way_out = match (absent(name), nearest(name, names())) {
                (Some(absent), _) => absent.form.to_string(),
                (None, Some(near)) => format!("did you mean ({near} …)?"),
                (None, None) => "to look for words, leave these parentheses away; M-x info, or passepartout query \
                                 --help, lists the names"
                    .to_string(),
            };
            return Err(self.wrong(name, format!("there is no ({name} …)"), way_out));
        };
        match (field, rest) {
            // Whichever, as in org-ql.
            (Field::Priority, []) => return Ok(Some(Filter::Term(Term::Has(Thing::Priority)))),
            (Field::Tag, []) => return Ok(Some(Filter::Term(Term::Has(Thing::Tags)))),
            _ => {}
        }
        let value = written(field, rest).map_err(|(what, way_out)| self.wrong(name, what, way_out))?;
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

/// Returns whether a field is a time.
fn is_time(field: Field) -> bool {
    match field {
        Field::Scheduled | Field::Deadline | Field::Closed | Field::Planned | Field::Modified => true,
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
        | Field::Limit => false,
    }
}

/// Returns arguments as they stand behind a colon: `"A" "B"` as `A,B`, `:from X :to Y` as `X..Y`, `> 2` as `>2`.
fn written(field: Field, rest: &[Sexp]) -> Result<String, Wrong> {
    let name = field.name();
    if let Some(form) = rest.iter().find(|item| matches!(item, Sexp::List(_) | Sexp::Dotted(..))) {
        let what = format!("({name} …) takes values, and {form} is a form; queries inside of it are not known");
        return Err((what, format!("write it like {}", example(field))));
    }
    let text = |item: &Sexp| match item {
        Sexp::Str(text) => text.clone(),
        Sexp::Keyword(name) | Sexp::Symbol(name) => name.as_str().to_string(),
        // Bare numbers are days from today, as in org-ql.
        Sexp::Int(number) if is_time(field) => format!("{number:+}d"),
        Sexp::Int(number) => number.to_string(),
        Sexp::T => "any".to_string(),
        Sexp::Nil => "none".to_string(),
        Sexp::Float(_) | Sexp::List(_) | Sexp::Dotted(..) => item.to_string(),
    };
    if let Some(at) = rest.iter().position(|item| matches!(item, Sexp::Keyword(_))) {
        return if is_time(field) && at == 0 { span(field, rest, text) } else { Err(takes_none(field, &rest[at])) };
    }
    let compares = |item: &Sexp| matches!(item, Sexp::Symbol(name) if COMPARISONS.contains(&name.as_str()));
    Ok(match (field, rest) {
        (Field::Prop, [key, sign, value]) if compares(sign) => format!("{}{}{}", text(key), text(sign), text(value)),
        (field, [sign, value])
            if compares(sign) && (is_time(field) || field == Field::Level || field == Field::Priority) =>
        {
            format!("{}{}", text(sign), text(value))
        }
        (_, rest) if rest.iter().any(compares) => {
            return Err((format!("({name} …) compares nothing so"), format!("write it like {}", example(field))));
        }
        (Field::Todo, []) => "open".to_string(),
        (field, []) if is_time(field) => "any".to_string(),
        (Field::Prop, [key, value]) => format!("{}={}", text(key), text(value)),
        (Field::Level, [from, to]) => format!("{}..{}", text(from), text(to)),
        _ => rest.iter().map(text).collect::<Vec<_>>().join(","),
    })
}

/// Returns `:on X`, or `:from X :to Y`, as it stands behind a colon.
fn span(field: Field, rest: &[Sexp], text: impl Fn(&Sexp) -> String) -> Result<String, Wrong> {
    let (mut on, mut from, mut to) = (None, None, None);
    for pair in rest.chunks(2) {
        let (Some(name @ Sexp::Keyword(word)), value) = (pair.first(), pair.get(1)) else {
            return Err(takes_none(field, pair.first().unwrap_or(&Sexp::Nil)));
        };
        let slot = match word.as_str() {
            "on" => &mut on,
            "from" => &mut from,
            "to" => &mut to,
            _ => return Err(takes_none(field, name)),
        };
        let Some(value) = value else {
            return Err((format!("nothing stands behind {name}"), format!("write ({} {name} today)", field.name())));
        };
        *slot = Some(text(value));
    }
    Ok(on.unwrap_or_else(|| format!("{}..{}", from.unwrap_or_default(), to.unwrap_or_default())))
}

/// Returns the example of a field as a form.
fn example(field: Field) -> String {
    let value = field.known().example.split_once(':').map_or("", |(_, value)| value);
    format!("({} \"{}\")", field.name(), value.trim_matches('"'))
}

fn takes_none(field: Field, item: &Sexp) -> Wrong {
    let way_out = match is_time(field) {
        true => "it takes :on, :from and :to".to_string(),
        false => format!("write it like {}", example(field)),
    };
    (format!("({} …) takes no {item}", field.name()), way_out)
}
