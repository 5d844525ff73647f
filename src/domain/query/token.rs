//! Pieces of a query as it was typed, each with its column.

use crate::domain::query::error::QueryError;

/// One piece of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its column, from 1.
    pub column: usize,
    /// How many characters it has.
    pub width: usize,
}

/// What a piece is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `(`
    Open,
    /// `)`
    Close,
    /// `-` or `!` before something, or the word `not`.
    Not,
    /// The word `or`, or `|`.
    Or,
    /// The word `and`, or `&`.
    And,
    /// A word without quotation marks.
    Word(String),
    /// Words in quotation marks.
    Quoted(String),
    /// `name:value`. The value has lost its quotation marks.
    Pair {
        /// What stands before the colon.
        name: String,
        /// What stands behind it.
        value: String,
        /// The column of the value.
        at: usize,
        /// Whether any of the value stood in quotation marks.
        quoted: bool,
    },
}

/// Cuts a query into pieces. What is read is bounded by the caller.
///
/// # Errors
/// When quotation marks are not closed.
pub fn tokens(text: &str) -> Result<Vec<Token>, QueryError> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let begin = at;
        let next = chars.get(at + 1).copied();
        let kind = match c {
            c if c.is_whitespace() || c.is_control() => {
                at += 1;
                continue;
            }
            '(' => single(&mut at, Kind::Open),
            ')' => single(&mut at, Kind::Close),
            '|' => single(&mut at, Kind::Or),
            '&' => single(&mut at, Kind::And),
            '-' | '!' if next.is_some_and(|next| !next.is_whitespace() && next != ')') => single(&mut at, Kind::Not),
            _ if closing(c).is_some() => Kind::Quoted(quoted(&chars, &mut at)?),
            _ => atom(&chars, &mut at)?,
        };
        found.push(Token { kind, column: begin + 1, width: at - begin });
    }
    Ok(found)
}

fn single(at: &mut usize, kind: Kind) -> Kind {
    *at += 1;
    kind
}

/// Returns what closes a quotation that a character opens.
fn closing(open: char) -> Option<char> {
    match open {
        '"' => Some('"'),
        '“' => Some('”'),
        '„' => Some('“'),
        '«' => Some('»'),
        '「' => Some('」'),
        _ => None,
    }
}

/// Reads what stands in quotation marks; a backslash takes the next character as it is.
fn quoted(chars: &[char], at: &mut usize) -> Result<String, QueryError> {
    let begin = *at;
    let close = chars.get(begin).and_then(|c| closing(*c)).unwrap_or('"');
    let mut text = String::new();
    *at += 1;
    while let Some(&c) = chars.get(*at) {
        *at += 1;
        match c {
            c if c == close || (close == '“' && c == '”') => return Ok(text),
            '\\' => {
                text.extend(chars.get(*at));
                *at += 1;
            }
            c => text.push(c),
        }
    }
    Err(QueryError {
        what: "the quotation marks that open here are never closed".to_string(),
        way_out: format!("put {close} behind the last word"),
        column: begin + 1,
        width: 1,
    })
}

/// Reads a word, or a name with its value.
fn atom(chars: &[char], at: &mut usize) -> Result<Kind, QueryError> {
    let begin = *at;
    let ends = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '(' | ')');
    let mut text = String::new();
    while let Some(&c) = chars.get(*at).filter(|c| !ends(**c)) {
        *at += 1;
        let is_name = || text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(is_name_char);
        if c == ':' && is_name() {
            return pair(chars, at, text, ends);
        }
        text.push(c);
    }
    if text.is_empty() {
        // A character that neither begins nor ends anything.
        *at = begin + 1;
    }
    Ok(match text.to_lowercase().as_str() {
        "or" => Kind::Or,
        "and" => Kind::And,
        "not" => Kind::Not,
        _ => Kind::Word(text),
    })
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

fn pair(chars: &[char], at: &mut usize, name: String, ends: impl Fn(char) -> bool) -> Result<Kind, QueryError> {
    let begin = *at;
    let (mut value, mut any) = (String::new(), false);
    if chars.get(begin..begin + 2) == Some(&['[', '[']) {
        // A link that was pasted: its words may hold blanks.
        let end = chars.get(begin..).unwrap_or(&[]).windows(2).position(|pair| pair == [']', ']']);
        if let Some(end) = end {
            value.extend(chars.get(begin..begin + end + 2).unwrap_or(&[]));
            *at = begin + end + 2;
            any = true;
        }
    }
    while let Some(&c) = chars.get(*at).filter(|c| !ends(**c)) {
        if closing(c).is_some() {
            value.push_str(&quoted(chars, at)?);
            any = true;
        } else {
            value.push(c);
            *at += 1;
        }
    }
    Ok(Kind::Pair { name, value, at: begin + 1, quoted: any })
}
