//! Reads Lisp text into a flat tree. Iterative, bounded in depth and size, evaluates nothing.

use std::borrow::Cow;

/// The deepest nesting that is read.
pub const MAX_DEPTH: usize = 200;
/// The longest text that is read, in bytes.
pub const MAX_LENGTH: usize = 4 * 1024 * 1024;

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct Unreadable {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

/// One node of the tree; children are indexes into [`Forms::nodes`].
#[derive(Clone, Debug, PartialEq)]
pub enum Node<'a> {
    /// A symbol.
    Symbol(Cow<'a, str>),
    /// A number, a character or a keyword: evaluates to itself.
    Constant,
    /// Text.
    Text,
    /// A list, `()` included.
    List(Vec<usize>),
    /// A vector or another literal in brackets.
    Vector(Vec<usize>),
    /// `'x`
    Quote(usize),
    /// `#'x`
    Function(usize),
    /// `` `x ``
    Backquote(usize),
    /// `,x` and `,@x`
    Unquote(usize),
}

/// All forms of a text.
#[derive(Clone, Debug, Default)]
pub struct Forms<'a> {
    /// The nodes. Every one stands in one of the outermost forms.
    pub nodes: Vec<Node<'a>>,
    /// The outermost forms.
    pub top: Vec<usize>,
    /// Whether a text holds `#`, or an escape that could stand for it: some readers run what follows.
    pub marked: bool,
}

enum Open {
    List { items: Vec<usize>, vector: bool },
    Prefix(Prefix),
}

#[derive(Clone, Copy)]
enum Prefix {
    Quote,
    Function,
    Backquote,
    Unquote,
}

impl Prefix {
    fn of<'a>(self, inner: usize) -> Node<'a> {
        match self {
            Prefix::Quote => Node::Quote(inner),
            Prefix::Function => Node::Function(inner),
            Prefix::Backquote => Node::Backquote(inner),
            Prefix::Unquote => Node::Unquote(inner),
        }
    }
}

/// Reads every form of a text. Unbalanced text, `#.` and other syntax that runs or hides something
/// while it is read is an error.
pub fn read(text: &str) -> Result<Forms<'_>, Unreadable> {
    let line_of = |at: usize| text.as_bytes().get(..at).unwrap_or(&[]).iter().filter(|b| **b == b'\n').count() + 1;
    let fail = |at: usize, what: &str| Err(Unreadable { line: line_of(at), what: what.to_string() });
    if text.len() > MAX_LENGTH {
        return fail(0, "the Lisp is too long to be read");
    }
    let mut forms = Forms::default();
    let mut open: Vec<Open> = Vec::new();
    let mut i = 0;
    while let Some(c) = text.get(i..).and_then(|rest| rest.chars().next()) {
        let width = c.len_utf8();
        let next = text.as_bytes().get(i + width).copied().unwrap_or(b' ');
        if open.len() > MAX_DEPTH {
            return fail(i, "the Lisp is nested too deeply");
        }
        match c {
            _ if c.is_whitespace() => i += width,
            ';' => i += text.get(i..).and_then(|rest| rest.find('\n')).unwrap_or(text.len() - i),
            '(' | '[' => {
                open.push(Open::List { items: Vec::new(), vector: c == '[' });
                i += 1;
            }
            ')' | ']' => {
                i += 1;
                match open.pop() {
                    Some(Open::List { items, vector }) if vector == (c == ']') => {
                        let node = if vector { Node::Vector(items) } else { Node::List(items) };
                        close(&mut forms, &mut open, node);
                    }
                    Some(_) | None => return fail(i, "a bracket closes what was not opened"),
                }
            }
            '\'' => {
                open.push(Open::Prefix(Prefix::Quote));
                i += 1;
            }
            '`' => {
                open.push(Open::Prefix(Prefix::Backquote));
                i += 1;
            }
            ',' => {
                open.push(Open::Prefix(Prefix::Unquote));
                i += if next == b'@' { 2 } else { 1 };
            }
            '"' => {
                let Some(end) = string_end(text, i + 1) else { return fail(i, "a string does not end") };
                forms.marked |= text.get(i..end).is_some_and(is_marked);
                close(&mut forms, &mut open, Node::Text);
                i = end;
            }
            '?' if !is_symbol_end(next) || matches!(next, b'(' | b')' | b' ' | b'"' | b'\\') => {
                let Some(end) = character_end(text, i + 1) else { return fail(i, "a character does not end") };
                close(&mut forms, &mut open, Node::Constant);
                i = end;
            }
            '#' => match next {
                b'\'' => {
                    open.push(Open::Prefix(Prefix::Function));
                    i += 2;
                }
                b'x' | b'o' | b'b' | b'X' | b'O' | b'B' => {
                    i = symbol_end(text, i + 1);
                    close(&mut forms, &mut open, Node::Constant);
                }
                b'#' | b':' => {
                    i = symbol_end(text, i + 2);
                    close(&mut forms, &mut open, Node::Constant);
                }
                _ => return fail(i, "“#” syntax can run or hide something while it is read"),
            },
            _ => {
                let end = symbol_end(text, i);
                let symbol = text.get(i..end).unwrap_or("");
                close(&mut forms, &mut open, atom(symbol));
                i = end.max(i + width);
            }
        }
    }
    if !open.is_empty() {
        return fail(text.len(), "a bracket or a quote is left open");
    }
    Ok(forms)
}

fn close<'a>(forms: &mut Forms<'a>, open: &mut Vec<Open>, node: Node<'a>) {
    forms.nodes.push(node);
    let mut index = forms.nodes.len() - 1;
    loop {
        match open.last_mut() {
            Some(Open::Prefix(prefix)) => {
                let node = prefix.of(index);
                open.pop();
                forms.nodes.push(node);
                index = forms.nodes.len() - 1;
            }
            Some(Open::List { items, .. }) => return items.push(index),
            None => return forms.top.push(index),
        }
    }
}

fn atom(text: &str) -> Node<'_> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let number = !text.ends_with(['+', '-'])
        && digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits.bytes().any(|b| b.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-'));
    if number || text.starts_with(':') || matches!(text, "t" | "nil") {
        return Node::Constant;
    }
    // A backslash makes any character part of a name.
    Node::Symbol(if text.contains('\\') { text.replace('\\', "").into() } else { text.into() })
}

fn is_symbol_end(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'(' | b')' | b'[' | b']' | b'"' | b'\'' | b';' | b'`' | b',')
}

fn symbol_end(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let mut i = from;
    loop {
        // Most characters are plain, and need not be taken out of the text one by one.
        let plain = |b: &&u8| b.is_ascii_graphic() && **b != b'\\' && !is_symbol_end(**b);
        i += bytes.get(i..).unwrap_or(&[]).iter().take_while(plain).count();
        let Some(c) = text.get(i..).and_then(|rest| rest.chars().next()) else { break };
        if c == '\\' {
            i += 1;
            i += text.get(i..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
            continue;
        }
        if c.is_whitespace() || (c.is_ascii() && is_symbol_end(c as u8)) {
            break;
        }
        i += c.len_utf8();
    }
    i
}

fn string_end(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut i = from;
    while let Some(byte) = bytes.get(i) {
        match byte {
            b'\\' => i += 2,
            b'"' => return Some(i + 1),
            _ => i += 1,
        }
    }
    None
}

/// Returns whether a text holds `#`, plain or escaped by its number.
fn is_marked(text: &str) -> bool {
    let escaped =
        |two: &[u8]| matches!(two, [b'\\', sign] if !matches!(sign, b'"' | b'\\' | b'n' | b't' | b' ' | b'\n'));
    text.contains('#') || text.as_bytes().windows(2).any(escaped)
}

fn character_end(text: &str, from: usize) -> Option<usize> {
    let first = text.get(from..)?.chars().next()?;
    if first != '\\' {
        return Some(from + first.len_utf8());
    }
    let second = text.get(from + 1..)?.chars().next()?;
    let after = from + 1 + second.len_utf8();
    // `?\C-x`, `?\M-\C-x`, `?\x41`, `?\N{…}`
    if matches!(second, 'C' | 'M' | 'S' | 'H' | 's' | 'A') && text.as_bytes().get(after) == Some(&b'-') {
        let last = text.get(after + 1..)?.chars().next()?;
        if last != '\\' {
            return Some(after + 1 + last.len_utf8());
        }
        return Some(symbol_end(text, after + 1));
    }
    if matches!(second, 'x' | 'u' | 'U' | 'N' | '0'..='7' | '^') {
        return Some(symbol_end(text, after));
    }
    Some(after)
}
