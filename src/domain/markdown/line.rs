//! What a line is, from its beginning as soon as that is enough.

use crate::domain::inert::begins_heading;

/// What a line is, behind its indentation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    Blank,
    /// Code by its indentation.
    Code,
    /// It stays as it is.
    Raw,
    Rule,
    Heading(&'a str),
    /// A row of a table.
    Row,
    Fence {
        end: End,
        language: &'a str,
    },
    /// The first line of a formula of several lines.
    Formula(End),
    /// A quotation of Org begins, or ends.
    Quote,
    EndQuote,
    Item(Item<'a>),
    /// Words with markup.
    Text,
}

/// What ends code or a formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// At least so many of this character.
    Fence(char, usize),
    /// `#+end_` and this name.
    Org(&'static str),
    /// A line with this in it.
    Formula(&'static str),
}

impl End {
    pub(super) fn is_reached(&self, line: &str) -> bool {
        let line = line.trim();
        match self {
            End::Fence(mark, count) => line.chars().all(|c| c == *mark) && line.len() >= *count,
            End::Org(name) => keyword(line).is_some_and(|(word, _)| {
                word.get(..4).is_some_and(|end| end.eq_ignore_ascii_case("end_"))
                    && word.get(4..).is_some_and(|word| word.eq_ignore_ascii_case(name))
            }),
            End::Formula(close) => line.contains(close),
        }
    }
}

/// An item of a list: its bullet, and what stands behind it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Item<'a> {
    bullet: &'a str,
    rest: &'a str,
}

impl<'a> Item<'a> {
    /// Returns its bullet in Org; where stars may be headings as well, they stay for now.
    pub(super) fn bullet(&self, stars: bool) -> &'a str {
        if self.bullet == "*" && !stars { "-" } else { self.bullet }
    }

    /// Returns its box as Org writes it, and its words.
    pub(super) fn words(&self) -> (&'static str, &'a str) {
        match self.rest.get(..4) {
            Some("[x] " | "[X] ") => ("[X] ", self.rest.get(4..).unwrap_or("")),
            Some(_) | None => ("", self.rest),
        }
    }

    /// Returns what ends the code that begins in it, and its language.
    pub(super) fn fence(&self) -> Option<(End, &'a str)> {
        fence(self.rest)
    }
}

/// Returns how deep in quotations a line stands, the columns before that, and what is quoted; nothing if that is not clear yet.
pub(super) fn unquoted(line: &str, in_list: bool, whole: bool) -> Option<(usize, usize, &str)> {
    let (mut depth, mut before, mut rest) = (0, 0, line);
    loop {
        let inner = rest.trim_start_matches(' ');
        let blanks = rest.len() - inner.len();
        if inner.is_empty() && !whole {
            return None;
        }
        let Some(inner) = inner.strip_prefix('>').filter(|_| blanks < 4 || in_list) else {
            return Some((depth, before, rest));
        };
        if depth == 0 {
            before = blanks;
        }
        depth += 1;
        rest = inner.strip_prefix(' ').unwrap_or(inner);
    }
}

/// Returns what a line is; `whole` says that nothing of it is missing. What is said of a part of it holds of all of it.
pub(super) fn kind(line: &str, whole: bool) -> Option<Kind<'_>> {
    let first = line.chars().next();
    let found = match first {
        None => whole.then_some(Kind::Blank)?,
        Some('#') => return number_sign(line, whole),
        Some('|') => whole.then_some(Kind::Row)?,
        Some(':') => match line.get(1..) {
            Some("") if !whole => return None,
            Some(rest) if rest.is_empty() || rest.starts_with(' ') => whole.then_some(Kind::Raw)?,
            Some(_) | None => Kind::Text,
        },
        Some(mark @ ('`' | '~')) => match fence(line) {
            _ if whole => fence(line).map_or(Kind::Text, |(end, language)| Kind::Fence { end, language }),
            Some(_) => return None,
            None if line.chars().all(|c| c == mark) => return None,
            None => Kind::Text,
        },
        Some(mark @ ('-' | '*' | '_' | '+')) => return marked(line, mark, whole),
        Some('$' | '\\') => return formula(line, whole),
        Some(c) if c.is_ascii_digit() => return numbered(line, whole),
        Some(_) => Kind::Text,
    };
    Some(found)
}

/// Headings of Markdown, and keywords of Org.
fn number_sign(line: &str, whole: bool) -> Option<Kind<'_>> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    if let Some((word, rest)) = keyword(line) {
        return whole.then(|| block(word, rest));
    }
    match rest.chars().next() {
        _ if level > 6 => Some(Kind::Text),
        None | Some(' ' | '\t') => whole.then(|| Kind::Heading(title(rest))),
        Some(_) => Some(Kind::Text),
    }
}

/// Returns the words of a heading, without the signs that may stand behind them.
fn title(rest: &str) -> &str {
    let rest = rest.trim();
    let bare = rest.trim_end_matches('#');
    if bare.is_empty() || bare.ends_with([' ', '\t']) { bare.trim_end() } else { rest }
}

/// Returns the word behind `#+`, and what stands behind it.
fn keyword(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("#+")?;
    let end = rest.find([' ', '\t']).unwrap_or(rest.len());
    Some(rest.split_at(end))
}

/// A line of Org that begins or ends a block.
fn block<'a>(word: &str, rest: &'a str) -> Kind<'a> {
    let language = rest.trim_start();
    match word.to_ascii_lowercase().as_str() {
        "begin_src" => Kind::Fence { end: End::Org("src"), language },
        "begin_example" => Kind::Fence { end: End::Org("example"), language: "" },
        "begin_quote" => Kind::Quote,
        "end_quote" => Kind::EndQuote,
        _ => Kind::Raw,
    }
}

/// Returns what ends the code that a line begins, and the words behind the marks.
fn fence(line: &str) -> Option<(End, &str)> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = line.trim_start_matches(mark);
    let count = line.len() - info.len();
    (count >= 3 && !(mark == '`' && info.contains('`'))).then(|| (End::Fence(mark, count), info.trim()))
}

/// Items, rules, and headings of Org.
fn marked(line: &str, mark: char, whole: bool) -> Option<Kind<'_>> {
    let rest = line.trim_start_matches(mark);
    let count = line.len() - rest.len();
    let is_rule = mark != '+' && line.chars().all(|c| c == mark || c == ' ' || c == '\t');
    if is_rule && line.chars().filter(|c| *c == mark).count() >= 3 {
        return whole.then_some(Kind::Rule);
    }
    match rest.chars().next() {
        None if !whole => None,
        None if count == 1 && mark != '_' => Some(Kind::Item(Item { bullet: line, rest: "" })),
        Some(' ' | '\t') if is_rule && !whole => None,
        Some(' ' | '\t') if count == 1 && mark != '_' => item(line, 1, whole),
        None | Some(_) => Some(Kind::Text),
    }
}

fn numbered(line: &str, whole: bool) -> Option<Kind<'_>> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = line.len() - rest.len();
    let mut behind = rest.chars();
    match (behind.next(), behind.next()) {
        _ if digits > 9 => Some(Kind::Text),
        (None, _) => whole.then_some(Kind::Text),
        (Some('.' | ')'), None) if !whole => None,
        (Some('.' | ')'), Some(' ' | '\t')) => item(line, digits + 1, whole),
        _ => Some(Kind::Text),
    }
}

fn item(line: &str, bullet: usize, whole: bool) -> Option<Kind<'_>> {
    let (bullet, rest) = line.split_at(bullet);
    let rest = rest.trim_start_matches([' ', '\t']);
    let waits = match rest.chars().next() {
        None => true,
        Some('[') => rest.len() < 4,
        Some(mark @ ('`' | '~')) => fence(rest).is_some() || rest.chars().all(|c| c == mark),
        Some(_) => false,
    };
    (whole || !waits).then_some(Kind::Item(Item { bullet, rest }))
}

/// Formulas that stand alone: what is in them stays as it is.
fn formula(line: &str, whole: bool) -> Option<Kind<'_>> {
    for (open, close) in [("$$", "$$"), ("\\[", "\\]"), ("\\begin{", "\\end{")] {
        if let Some(rest) = line.strip_prefix(open) {
            let end = End::Formula(close);
            return whole.then_some(if rest.contains(close) { Kind::Raw } else { Kind::Formula(end) });
        }
        if !whole && open.starts_with(line) {
            return None;
        }
    }
    Some(Kind::Text)
}

/// Returns a line of code as it stands in a block of Org: what would end the block is behind a comma, which Org takes away.
pub(super) fn code_line(line: &str, end: &End) -> String {
    let content = line.trim_start_matches([' ', '\t']);
    let (blanks, _) = line.split_at(line.len() - content.len());
    let bare = content.trim_start_matches(',');
    let commas = content.len() - bare.len();
    let would_count = bare.starts_with("#+") || (blanks.is_empty() && begins_heading(bare));
    let escapes = match end {
        End::Formula(_) => false,
        End::Org(_) => commas == 0 && would_count,
        End::Fence(..) => would_count || (commas > 0 && bare.starts_with('*')),
    };
    if escapes { format!("{blanks},{content}") } else { line.to_string() }
}
