//! Reads Lisp text into a flat tree. Iterative, bounded in depth and size, evaluates nothing.

use super::token;
use std::borrow::Cow;
use std::ops::Range;

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
    /// Whether Emacs may well read it: it is only too odd to be judged.
    pub odd: bool,
}

/// One node of the tree; children are indexes into [`Forms::nodes`].
#[derive(Clone, Debug, PartialEq)]
pub enum Node<'a> {
    /// A symbol.
    Symbol(Cow<'a, str>),
    /// A symbol that begins with a colon, the colon included: evaluates to itself.
    Keyword(Cow<'a, str>),
    /// A number, a character or `t`: evaluates to itself.
    Constant,
    /// Text.
    Text,
    /// A list; `()` and `nil` are the empty one.
    List(Vec<usize>),
    /// A list whose last item stands behind a dot and is no list.
    Dotted(Vec<usize>),
    /// A vector.
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
    /// The nodes.
    pub nodes: Vec<Node<'a>>,
    /// The outermost forms.
    pub top: Vec<usize>,
    /// Where each of them stands in the text, in bytes.
    pub places: Vec<Range<usize>>,
    /// Whether a text holds `#`, or an escape that could stand for it: some readers run what follows.
    pub marked: bool,
    /// The texts, in order, that can name a file on another machine: those with a colon, or an escape that could stand
    /// for one.
    pub far: Vec<usize>,
}

impl<'a> Forms<'a> {
    /// Returns the name that stands at an index.
    pub fn symbol(&'a self, index: usize) -> Option<&'a str> {
        match self.nodes.get(index) {
            Some(Node::Symbol(name)) => Some(name),
            _ => None,
        }
    }

    /// Returns whether the text at an index can name a file on another machine.
    pub fn is_far(&self, index: usize) -> bool {
        self.far.binary_search(&index).is_ok()
    }

    /// Returns the items of the list that stands at an index.
    pub fn items(&'a self, index: usize) -> Option<&'a [usize]> {
        match self.nodes.get(index) {
            Some(Node::List(items)) => Some(items),
            _ => None,
        }
    }
}

enum Open {
    /// A list or vector that is not closed, and how many items stood before its dot.
    List {
        items: Vec<usize>,
        vector: bool,
        dot: Option<usize>,
    },
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

/// Reads every form of a text, as Emacs does. Unbalanced text is an error; so is syntax that runs or hides something
/// while it is read, and what versions of Emacs read in different ways.
pub fn read(text: &str) -> Result<Forms<'_>, Unreadable> {
    read_forms(text, usize::MAX)
}

/// Returns where the first form of a text ends, in bytes; nothing where it cannot be read.
pub fn first_form(text: &str) -> Option<usize> {
    read_forms(text, 1).ok()?.places.first().map(|place| place.end)
}

/// Reads so many forms, and no further.
fn read_forms(text: &str, most: usize) -> Result<Forms<'_>, Unreadable> {
    if text.len() > MAX_LENGTH {
        return Err(Unreadable { line: 1, what: "the Lisp is too long to be read".into(), odd: false });
    }
    let mut reader = Reader { text, at: 0, forms: Forms::default(), open: Vec::new() };
    // Emacs finds out from the first lines how they end, and takes one alone for the end of a line, and so of a comment.
    let returns = text.matches('\r').count();
    if returns > 0 && (returns != text.matches("\r\n").count() || returns != text.matches('\n').count()) {
        return Err(reader.odd("lines end in more than one way"));
    }
    let mut begin = 0;
    while let Some(c) = text.get(reader.at..).and_then(|rest| rest.chars().next()) {
        if reader.open.len() > MAX_DEPTH {
            return Err(reader.broken("the Lisp is nested too deeply"));
        }
        if reader.open.is_empty() {
            begin = reader.at;
        }
        reader.step(c)?;
        if reader.forms.top.len() > reader.forms.places.len() {
            reader.forms.places.push(begin..reader.at);
            if reader.forms.places.len() == most {
                break;
            }
        }
    }
    if !reader.open.is_empty() {
        return Err(reader.broken("a bracket or a quote is left open"));
    }
    Ok(reader.forms)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    forms: Forms<'a>,
    open: Vec<Open>,
}

impl<'a> Reader<'a> {
    fn broken(&self, what: &str) -> Unreadable {
        let before = self.text.as_bytes().get(..self.at).unwrap_or(&[]);
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        Unreadable { line, what: what.to_string(), odd: false }
    }

    fn odd(&self, what: &str) -> Unreadable {
        Unreadable { odd: true, ..self.broken(what) }
    }

    /// Returns the byte that stands so far behind the place where it reads; a blank where the text ends.
    fn ahead(&self, by: usize) -> u8 {
        self.text.as_bytes().get(self.at + by).copied().unwrap_or(b' ')
    }

    fn prefix(&mut self, prefix: Prefix, length: usize) {
        self.open.push(Open::Prefix(prefix));
        self.at += length;
    }

    /// Reads a token that begins with `c`.
    fn step(&mut self, c: char) -> Result<(), Unreadable> {
        match c {
            _ if token::is_odd_blank(c) => return Err(self.odd("a blank is none that Emacs knows")),
            _ if c <= ' ' => self.at += 1,
            ';' => {
                self.at = self.text.get(self.at..).and_then(|r| r.find('\n')).map_or(self.text.len(), |n| self.at + n)
            }
            '(' | '[' => {
                self.open.push(Open::List { items: Vec::new(), vector: c == '[', dot: None });
                self.at += 1;
            }
            ')' | ']' => self.end_of_list(c == ']')?,
            '\'' => self.prefix(Prefix::Quote, 1),
            '`' => self.prefix(Prefix::Backquote, 1),
            ',' if self.ahead(1) == b'.' => return Err(self.odd("a dot follows a comma")),
            ',' => self.prefix(Prefix::Unquote, if self.ahead(1) == b'@' { 2 } else { 1 }),
            '"' => {
                let end = token::text_end(self.text, self.at + 1);
                let end =
                    end.ok_or_else(|| self.broken("a string does not end, or an escape in it is not understood"))?;
                let inner = self.text.get(self.at..end).unwrap_or("");
                self.forms.marked |= is_marked(inner, '#');
                if is_marked(inner, ':') {
                    self.forms.far.push(self.forms.nodes.len());
                }
                self.close(Node::Text);
                self.at = end;
            }
            '?' => {
                let end = token::character_end(self.text, self.at + 1);
                let end = end.ok_or_else(|| self.odd("a character after “?” does not end, or is not understood"))?;
                self.close(Node::Constant);
                self.at = end;
            }
            '#' => self.hash()?,
            '.' if token::follows_dot(char::from(self.ahead(1))) => self.dot()?,
            _ => self.name()?,
        }
        Ok(())
    }

    fn hash(&mut self) -> Result<(), Unreadable> {
        let radix = match self.ahead(1) {
            b'\'' => {
                self.prefix(Prefix::Function, 2);
                return Ok(());
            }
            b'x' | b'X' => 16,
            b'o' | b'O' => 8,
            b'b' | b'B' => 2,
            _ => return Err(self.odd("“#” syntax can run or hide something while it is read")),
        };
        let number = token::name(self.text, self.at + 2).filter(|number| {
            let digits = number.name.strip_prefix(['-', '+']).unwrap_or(&number.name);
            !number.escaped && !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix))
        });
        let number = number.ok_or_else(|| self.odd("a number after “#” is not understood"))?;
        self.close(Node::Constant);
        self.at = number.end;
        Ok(())
    }

    fn dot(&mut self) -> Result<(), Unreadable> {
        match self.open.last_mut() {
            Some(Open::List { items, vector: false, dot: dot @ None }) if !items.is_empty() => *dot = Some(items.len()),
            _ => return Err(self.odd("a dot stands where nothing can be joined")),
        }
        self.at += 1;
        // It is the end of the list for us, and a symbol for some versions of Emacs.
        if matches!(self.ahead(0), b')' | b']') {
            return Err(self.odd("nothing follows a dot"));
        }
        Ok(())
    }

    fn name(&mut self) -> Result<(), Unreadable> {
        let Some(read) = token::name(self.text, self.at) else {
            return Err(self.odd("a name holds a “#”, a blank or an escape that Emacs may read in another way"));
        };
        let number = if read.escaped { Some(false) } else { token::is_number(&read.name) };
        let node = match (number, read.name) {
            (Some(true), _) => Node::Constant,
            (Some(false), name) if name == "nil" => Node::List(Vec::new()),
            (Some(false), name) if name == "t" => Node::Constant,
            (Some(false), name) if name.starts_with(':') => Node::Keyword(name),
            // Written with a backslash they would be what a comma and a backquote are.
            (Some(false), name) if !name.starts_with(['`', ',']) && !name.starts_with(STRANGE) => Node::Symbol(name),
            (None | Some(false), _) => return Err(self.odd("a name can be read in more than one way")),
        };
        self.close(node);
        self.at = read.end;
        Ok(())
    }

    fn end_of_list(&mut self, vector: bool) -> Result<(), Unreadable> {
        let node = match self.open.pop() {
            Some(Open::List { items, vector: true, .. }) if vector => Node::Vector(items),
            Some(Open::List { items, vector: false, dot: None }) if !vector => Node::List(items),
            Some(Open::List { items, vector: false, dot: Some(dot) }) if !vector => match self.joined(items, dot) {
                Some(node) => node,
                None => return Err(self.broken("a dot is not followed by one form")),
            },
            Some(_) | None => return Err(self.broken("a bracket closes what was not opened")),
        };
        self.close(node);
        self.at += 1;
        Ok(())
    }

    /// `(a . (b c))` is `(a b c)`, and `(a . 'b)` is `(a quote b)`.
    fn joined(&mut self, mut items: Vec<usize>, dot: usize) -> Option<Node<'a>> {
        let tail = items.pop().filter(|_| items.len() == dot)?;
        let (word, inner) = match self.forms.nodes.get(tail)? {
            Node::List(rest) => {
                items.extend(rest);
                return Some(Node::List(items));
            }
            Node::Dotted(rest) => {
                items.extend(rest);
                return Some(Node::Dotted(items));
            }
            Node::Quote(inner) => ("quote", *inner),
            Node::Function(inner) => ("function", *inner),
            Node::Backquote(inner) => ("`", *inner),
            Node::Unquote(_) | Node::Symbol(_) | Node::Keyword(_) | Node::Constant | Node::Text | Node::Vector(_) => {
                items.push(tail);
                return Some(Node::Dotted(items));
            }
        };
        self.forms.nodes.push(Node::Symbol(word.into()));
        items.extend([self.forms.nodes.len() - 1, inner]);
        Some(Node::List(items))
    }

    fn close(&mut self, node: Node<'a>) {
        let forms = &mut self.forms;
        forms.nodes.push(node);
        let mut index = forms.nodes.len() - 1;
        loop {
            match self.open.last_mut() {
                Some(Open::Prefix(prefix)) => {
                    let node = prefix.of(index);
                    self.open.pop();
                    forms.nodes.push(node);
                    index = forms.nodes.len() - 1;
                }
                Some(Open::List { items, .. }) => return items.push(index),
                None => return forms.top.push(index),
            }
        }
    }
}

/// Quotation marks that Emacs takes at the start of a name for a slip of the pen.
const STRANGE: [char; 10] = [
    '\u{2018}', '\u{2019}', '\u{201b}', '\u{201c}', '\u{201d}', '\u{201f}', '\u{301d}', '\u{301e}', '\u{ff02}',
    '\u{ff07}',
];

/// Returns whether a text holds a sign, plain or escaped by its number.
fn is_marked(text: &str, sign: char) -> bool {
    let escaped =
        |two: &[u8]| matches!(two, [b'\\', sign] if !matches!(sign, b'"' | b'\\' | b'n' | b't' | b' ' | b'\n'));
    text.contains(sign) || text.contains('\\') && text.as_bytes().windows(2).any(escaped)
}
