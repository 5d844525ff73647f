//! From what was typed to a query. Reading is bounded in length, depth and number of terms.
//!
//! Terms side by side must all fit; `or` takes one side or the other and binds less; `-` and `not` turn one around;
//! parentheses group. A query that is one s-expression, as org-ql has them, is read as such.

use crate::domain::query::error::{QueryError, nearest};
use crate::domain::query::field::{Field, absent, names};
use crate::domain::query::lisp;
use crate::domain::query::text::has_words;
use crate::domain::query::token::{Kind, Token, tokens};
use crate::domain::query::value::{self, Said};
use crate::domain::query::{Filter, MAX_BYTES, MAX_DEPTH, MAX_TERMS, Query, Term};

/// Reads a query.
///
/// # Errors
/// With what is wrong, the column, and the way out.
pub fn parse(text: &str) -> Result<Query, QueryError> {
    if text.len() > MAX_BYTES {
        let way_out = "ask for less at once".to_string();
        return Err(QueryError {
            what: format!("a query has at most {MAX_BYTES} bytes, this one {}", text.len()),
            way_out,
            column: 1,
            width: 1,
        });
    }
    if let Some(query) = lisp::read(text) {
        return query;
    }
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, at: 0, terms: 0, query: Query::default(), sorted: false };
    let filter = parser.either(0)?;
    if let Some(token) = parser.peek() {
        return Err(wrong(token, "this ) closes nothing", "take it away, or put a ( before"));
    }
    Ok(Query { filter: filter.unwrap_or_default(), ..parser.query })
}

/// Returns whether a text asks with plain words alone: no field, quotation marks, group, or turning around.
///
/// Whoever asks in sentences is better served by a ranked search.
pub fn is_plain(text: &str) -> bool {
    if text.len() > MAX_BYTES {
        return true;
    }
    let Ok(tokens) = tokens(text) else { return true };
    // “not”, “and” and “or” are words of a sentence; their signs are not.
    let is_word = |token: &Token| match &token.kind {
        Kind::Word(_) => true,
        Kind::Not | Kind::Or | Kind::And => token.width > 1,
        Kind::Pair { name, value, .. } => Field::named(name).is_none() && is_prose(name, value),
        Kind::Quoted(_) | Kind::Open | Kind::Close => false,
    };
    !lisp::is_lisp(text) && tokens.iter().all(is_word)
}

/// Returns whether a name with a colon is none of ours: “note:”, `https://…`, “12:30”.
fn is_prose(name: &str, value: &str) -> bool {
    value.is_empty() || value.starts_with("//") || (name.len() == 1 && !value.is_empty())
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    terms: usize,
    query: Query,
    sorted: bool,
}

fn wrong(token: &Token, what: impl Into<String>, way_out: impl Into<String>) -> QueryError {
    QueryError { what: what.into(), way_out: way_out.into(), column: token.column, width: token.width.max(1) }
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    /// Reads sides of `or`. Calls itself through groups, at most [`MAX_DEPTH`] deep.
    fn either(&mut self, depth: usize) -> Result<Option<Filter>, QueryError> {
        let mut sides = Vec::new();
        let mut before: Option<&Token> = None;
        loop {
            match (self.both(depth)?, before) {
                // A side that says nothing is no reason to find everything.
                (Some(side), _) => sides.extend(Some(side).filter(Filter::says_something)),
                (None, None) if self.peek().is_none_or(|token| token.kind != Kind::Or) => return Ok(None),
                (None, None) => {
                    let token = self.peek().unwrap_or(&self.tokens[0]);
                    return Err(wrong(token, "nothing stands before “or”", OR));
                }
                (None, Some(or)) => return Err(wrong(or, "nothing stands behind “or”", OR)),
            }
            match self.peek() {
                Some(token) if token.kind == Kind::Or => {
                    before = Some(token);
                    self.at += 1;
                }
                Some(_) | None => return Ok(Some(Filter::any(sides))),
            }
        }
    }

    /// Reads terms side by side; `None` when there is none.
    fn both(&mut self, depth: usize) -> Result<Option<Filter>, QueryError> {
        let mut parts = Vec::new();
        let mut any = false;
        while let Some(token) = self.peek() {
            match token.kind {
                Kind::Or | Kind::Close => break,
                Kind::And => self.at += 1,
                Kind::Open | Kind::Not | Kind::Word(_) | Kind::Quoted(_) | Kind::Pair { .. } => {
                    any = true;
                    parts.extend(self.one(depth)?);
                }
            }
        }
        Ok(any.then(|| Filter::all(parts)))
    }

    /// Reads one term or group with what turns it around; `None` for what says nothing of single nodes.
    fn one(&mut self, depth: usize) -> Result<Option<Filter>, QueryError> {
        let mut not: Option<&Token> = None;
        let mut turned = false;
        while let Some(token) = self.peek().filter(|token| token.kind == Kind::Not) {
            not = Some(token);
            turned = !turned;
            self.at += 1;
        }
        let Some(token) = self.peek() else {
            let token = not.unwrap_or(&self.tokens[0]);
            return Err(wrong(token, "nothing stands behind “not”", "quote it to look for the word: \"not\""));
        };
        self.at += 1;
        let inner = match &token.kind {
            Kind::Open => Some(self.group(token, depth)?).filter(Filter::says_something),
            Kind::Word(word) => has_words(word).then(|| Filter::Term(Term::Word(word.clone()))),
            Kind::Quoted(text) => has_words(text).then(|| Filter::Term(Term::Phrase(text.trim().to_string()))),
            Kind::Pair { name, value, at, quoted } => {
                self.pair(token, (name, value), (*at, *quoted), depth > 0 || not.is_some())?
            }
            Kind::Or | Kind::And | Kind::Close | Kind::Not => {
                return Err(wrong(token, "a term is missing here", "quote the word to look for it as text"));
            }
        };
        self.terms += 1;
        if self.terms > MAX_TERMS {
            return Err(wrong(token, format!("more than {MAX_TERMS} terms"), "ask for less at once"));
        }
        Ok(inner.map(|inner| if turned { inner.negated() } else { inner }))
    }

    fn group(&mut self, open: &Token, depth: usize) -> Result<Filter, QueryError> {
        if depth + 1 > MAX_DEPTH {
            return Err(wrong(open, format!("groups more than {MAX_DEPTH} deep"), "ask for less at once"));
        }
        let inner = self.either(depth + 1)?;
        match self.peek() {
            Some(token) if token.kind == Kind::Close => self.at += 1,
            Some(_) | None => return Err(wrong(open, "this ( is never closed", "put a ) behind the last term")),
        }
        inner.ok_or_else(|| wrong(open, "nothing stands between these parentheses", "take them away"))
    }

    fn pair(
        &mut self,
        token: &Token,
        (name, value): (&str, &str),
        (at, quoted): (usize, bool),
        inside: bool,
    ) -> Result<Option<Filter>, QueryError> {
        let Some(field) = Field::named(name) else { return unknown(token, name, value) };
        let said = value::read(field, value).map_err(|(what, way_out)| {
            let width = (token.column + token.width).saturating_sub(at);
            let at = if width == 0 { (token.column, token.width) } else { (at, width) };
            let blank = value.is_empty() && !quoted && self.peek().is_some();
            let way_out =
                if blank { format!("no blank stands behind the colon: {}", field.known().example) } else { way_out };
            QueryError { what, way_out, column: at.0, width: at.1.max(1) }
        })?;
        match said {
            // As in org-ql, and apart from the other names of this field: all of them.
            Said::Term(Term::Tag(tags)) if name.eq_ignore_ascii_case("tags-all") => {
                let each = tags.into_iter().map(|tag| Filter::Term(Term::Tag(vec![tag])));
                return Ok(Some(Filter::all(each.collect())));
            }
            Said::Term(term) => return Ok(Some(Filter::Term(term))),
            Said::Sort(_) | Said::Limit(_) if inside => {
                let what = format!("{}: is about the whole query", field.name());
                return Err(wrong(token, what, "put it outside of parentheses and “not”"));
            }
            Said::Sort(_) if std::mem::replace(&mut self.sorted, true) => {
                return Err(wrong(token, "sort: stands twice", "list both: sort:deadline,priority"));
            }
            Said::Sort(sort) => self.query.sort = sort,
            Said::Limit(_) if self.query.limit.is_some() => {
                return Err(wrong(token, "limit: stands twice", "leave one"));
            }
            Said::Limit(limit) => self.query.limit = Some(limit),
        }
        Ok(None)
    }
}

const OR: &str = "“or” stands between two terms; quote it to look for the word: \"or\"";

/// Takes a name that is no field of ours for text, or says so.
fn unknown(token: &Token, name: &str, value: &str) -> Result<Option<Filter>, QueryError> {
    if is_prose(name, value) {
        let word = format!("{name}:{value}");
        // What stood in quotation marks may hold blanks and parentheses.
        let is_quoted = matches!(token.kind, Kind::Pair { quoted: true, .. });
        let term = if is_quoted { Term::Phrase(word.trim().to_string()) } else { Term::Word(word.clone()) };
        return Ok(has_words(&word).then_some(Filter::Term(term)));
    }
    let way_out = match (absent(name), nearest(name, names())) {
        (Some(absent), _) => format!("{}; to look for it as text, quote it: \"{name}:{value}\"", absent.pair),
        (None, Some(near)) => {
            let near = Field::named(near).map_or(near, Field::name);
            format!("did you mean {near}:{value}? To look for it as text, quote it: \"{name}:{value}\"")
        }
        (None, None) => format!("to look for it as text, quote it: \"{name}:{value}\""),
    };
    Err(QueryError {
        what: format!("there is no “{name}:”"),
        way_out,
        column: token.column,
        width: name.chars().count().max(1),
    })
}
