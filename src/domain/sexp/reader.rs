//! S-expressions: an iterative reader and writer for the subset that messages are made of.
//!
//! The reader refuses what another Lisp could misread (quotes, `#` forms, vectors, comments),
//! and bounds depth, size and number of atoms before it believes anything,
//! because a stack overflow here would end Emacs.

use std::fmt;

/// The deepest nesting that is read; a flat list has depth 1.
pub const MAX_DEPTH: usize = 64;
/// The longest text that is read, in bytes.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The largest number of atoms that is read.
pub const MAX_ATOMS: usize = 100_000;

/// One value of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Sexp {
    /// `nil`, also the empty list, also what is false or absent.
    Nil,
    /// `t`.
    T,
    /// A keyword, in lower case, without its colon.
    Keyword(Name),
    /// Any other symbol, in the case it was written in. Floats without a finite value are read as symbols.
    Symbol(Name),
    /// A string.
    Str(String),
    /// A whole number.
    Int(i64),
    /// A finite number with a point.
    Float(f64),
    /// A list. An empty one is written, and read back, as `nil`.
    List(Vec<Sexp>),
    /// A list with at least one item whose tail is an atom, such as `(a b . c)`.
    Dotted(Vec<Sexp>, Box<Sexp>),
}

/// The name of a symbol or keyword: only characters that every Lisp reads alike without escapes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name(String);

impl Name {
    /// Returns the name's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text could not be read, and at which byte.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the message at byte {at}: {fault}")]
pub struct ReadError {
    /// The 0-based byte of the fault.
    pub at: usize,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Longer than [`MAX_BYTES`].
    #[error("it is longer than 4 MiB; send large texts in slices")]
    TooLong,
    /// Deeper than [`MAX_DEPTH`].
    #[error("lists are nested deeper than 64")]
    TooDeep,
    /// More than [`MAX_ATOMS`].
    #[error("it holds more than 100,000 atoms; send it in parts")]
    TooMany,
    /// Nothing there.
    #[error("it is empty")]
    Empty,
    /// A list or string that does not end.
    #[error("it ends inside a {0}")]
    Unfinished(&'static str),
    /// A `)` too many.
    #[error("a “)” without its “(”")]
    Unopened,
    /// More after the value.
    #[error("there is more after the end of the message")]
    Trailing,
    /// A dot that does not stand between list and tail.
    #[error("a dot in the wrong place")]
    Dot,
    /// A character that starts nothing we read.
    #[error("“{0}” is not part of the protocol: use lists, strings, numbers, keywords and plain symbols")]
    Character(char),
    /// A `#` form.
    #[error("“#” forms are not read: send strings without text properties, and lists in place of vectors")]
    Hash,
    /// An escape in a string that we do not read.
    #[error("an escape in a string that is not read: escape only “\\\"” and “\\\\”, and send text as UTF-8")]
    Escape,
    /// A whole number out of range.
    #[error("a whole number that does not fit in 64 bits")]
    Range,
}

impl Sexp {
    /// Reads one value, which must be all of the text but for white space around it.
    pub fn read(text: &str) -> Result<Sexp, ReadError> {
        let mut reader = Reader { text, at: 0, atoms: 0 };
        let value = reader.value()?;
        reader.skip_space();
        if reader.at == text.len() { Ok(value) } else { reader.fail(reader.at, Fault::Trailing) }
    }

    /// Reads the first value of a text, and returns with it where the text goes on behind it, in bytes.
    pub fn read_first(text: &str) -> Result<(Sexp, usize), ReadError> {
        let mut reader = Reader { text, at: 0, atoms: 0 };
        let value = reader.value()?;
        Ok((value, reader.at))
    }

    /// Returns a keyword. Capitals become small; characters that a name cannot hold become `-`.
    pub fn keyword(name: &str) -> Sexp {
        Sexp::Keyword(plain_name(name.strip_prefix(':').unwrap_or(name)).map_lower())
    }

    /// Returns the symbol, or whatever else the reader takes this name for (`nil`, `t`, a number, a keyword).
    /// Characters that a name cannot hold become `-`.
    pub fn symbol(name: &str) -> Sexp {
        let name = plain_name(name);
        atom(name.as_str()).unwrap_or(Sexp::Symbol(Name("-".into())))
    }

    /// Returns a string.
    pub fn text(text: impl Into<String>) -> Sexp {
        Sexp::Str(text.into())
    }

    /// Returns a whole number; one too large becomes the largest.
    pub fn int(number: impl TryInto<i64>) -> Sexp {
        Sexp::Int(number.try_into().unwrap_or(i64::MAX))
    }

    /// Returns a number with a point; infinities and NaN become the symbols that Emacs prints for them.
    pub fn float(number: f64) -> Sexp {
        if number.is_finite() { Sexp::Float(number) } else { Sexp::Symbol(Name(odd_float(number).into())) }
    }

    /// Returns `t` or `nil`.
    pub fn flag(truth: bool) -> Sexp {
        if truth { Sexp::T } else { Sexp::Nil }
    }

    /// Returns a list; an empty one is `nil`.
    pub fn list(items: impl IntoIterator<Item = Sexp>) -> Sexp {
        let items: Vec<Sexp> = items.into_iter().collect();
        if items.is_empty() { Sexp::Nil } else { Sexp::List(items) }
    }

    /// Returns `(head . tail)` in its normal form: a list as a tail continues the list.
    pub fn pair(head: Sexp, tail: Sexp) -> Sexp {
        join(vec![head], tail)
    }
}

/// Joins items and a tail into the one normal form of that list.
fn join(mut items: Vec<Sexp>, tail: Sexp) -> Sexp {
    match tail {
        Sexp::Nil => Sexp::list(items),
        Sexp::List(more) => {
            items.extend(more);
            Sexp::list(items)
        }
        Sexp::Dotted(more, end) => {
            items.extend(more);
            Sexp::Dotted(items, end)
        }
        atom @ (Sexp::T | Sexp::Keyword(_) | Sexp::Symbol(_) | Sexp::Str(_) | Sexp::Int(_) | Sexp::Float(_)) => {
            Sexp::Dotted(items, Box::new(atom))
        }
    }
}

impl Name {
    fn map_lower(self) -> Name {
        Name(self.0.to_ascii_lowercase())
    }
}

/// Returns a name with every character that a name cannot hold replaced.
fn plain_name(text: &str) -> Name {
    let name: String = text.chars().map(|c| if is_name_char(c) { c } else { '-' }).collect();
    Name(if name.is_empty() { "-".into() } else { name })
}

/// Which characters of ASCII a name or a number may hold: every byte of a message that is in no string is looked at.
const NAME_CHARS: [bool; 128] = {
    let (others, mut all, mut n) = (b"*+-/<>=!?_.:&%$@~^", [false; 128], 0_u8);
    while n < 128 {
        all[n as usize] = n.is_ascii_alphanumeric();
        n += 1;
    }
    let mut n = 0;
    while n < others.len() {
        all[others[n] as usize] = true;
        n += 1;
    }
    all
};

fn is_name_char(c: char) -> bool {
    NAME_CHARS.get(c as usize).copied().unwrap_or(false)
}

/// Returns what a token stands for; `None` when it stands for nothing that we read.
fn atom(token: &str) -> Option<Sexp> {
    if token.eq_ignore_ascii_case("nil") {
        return Some(Sexp::Nil);
    }
    if token.eq_ignore_ascii_case("t") {
        return Some(Sexp::T);
    }
    if let Some(name) = token.strip_prefix(':') {
        return (!name.is_empty()).then(|| Sexp::Keyword(Name(name.to_ascii_lowercase())));
    }
    match number(token) {
        Number::Whole(digits) => return digits.parse().ok().map(Sexp::Int),
        Number::Broken(text) => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => return Some(Sexp::Float(number)),
            Ok(_) | Err(_) => {}
        },
        Number::None => {}
    }
    // `?a` is a character to Emacs, and a token of dots is an error to Common Lisp.
    let misread = token.starts_with('?') || token.bytes().all(|b| b == b'.');
    (!misread).then(|| Sexp::Symbol(Name(token.to_string())))
}

/// What a token is as a number.
enum Number {
    None,
    Whole(String),
    Broken(String),
}

/// Tells whether a token is a number to Emacs or to Common Lisp: `1`, `+1`, `1.`, `1.5`, `.5`, `1e5`, `1.5d0`.
fn number(token: &str) -> Number {
    let unsigned = token.strip_prefix(['+', '-']).unwrap_or(token);
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(unsigned);
    let rest = unsigned.get(whole..).unwrap_or("");
    if rest.is_empty() || rest == "." {
        return match whole {
            0 => Number::None,
            _ => Number::Whole(token.trim_end_matches('.').to_string()),
        };
    }
    let (fraction, rest) = match rest.strip_prefix('.') {
        None => (0, rest),
        Some(rest) => {
            let fraction = digits(rest);
            (fraction, rest.get(fraction..).unwrap_or(""))
        }
    };
    let exponent = match rest.as_bytes().first() {
        None => true,
        Some(b'e' | b'E') => true,
        // Common Lisp's; without a point it is an ordinary symbol to Emacs.
        Some(b'd' | b'D' | b'f' | b'F') => fraction > 0,
        Some(_) => false,
    };
    let power = rest.get(1..).unwrap_or("");
    let power = power.strip_prefix(['+', '-']).unwrap_or(power);
    let powered = rest.is_empty() || (digits(power) == power.len() && !power.is_empty());
    let pointed = whole + rest.len() < unsigned.len();
    if exponent && powered && (fraction > 0 || (whole > 0 && !pointed)) {
        Number::Broken(token.replace(['d', 'D', 'f', 'F'], "e"))
    } else {
        Number::None
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    atoms: usize,
}

/// A list that is still open.
struct Open {
    items: Vec<Sexp>,
    tail: Tail,
    at: usize,
}

/// How far an open list is behind its dot.
enum Tail {
    Before,
    Wanted,
    Has(Sexp),
}

impl<'a> Reader<'a> {
    fn fail<T>(&self, at: usize, fault: Fault) -> Result<T, ReadError> {
        Err(ReadError { at, fault })
    }

    fn value(&mut self) -> Result<Sexp, ReadError> {
        if self.text.len() > MAX_BYTES {
            return self.fail(MAX_BYTES, Fault::TooLong);
        }
        let mut open: Vec<Open> = Vec::new();
        loop {
            self.skip_space();
            let start = self.at;
            let Some(c) = self.peek() else {
                return match open.last() {
                    None => self.fail(start, Fault::Empty),
                    Some(list) => self.fail(list.at, Fault::Unfinished("list")),
                };
            };
            let value = match c {
                '(' => {
                    if open.len() >= MAX_DEPTH {
                        return self.fail(start, Fault::TooDeep);
                    }
                    self.at += 1;
                    open.push(Open { items: Vec::new(), tail: Tail::Before, at: start });
                    continue;
                }
                ')' => {
                    self.at += 1;
                    match open.pop() {
                        None => return self.fail(start, Fault::Unopened),
                        Some(Open { items, tail: Tail::Before, .. }) => {
                            if items.is_empty() {
                                self.count(start)?;
                            }
                            Sexp::list(items)
                        }
                        Some(Open { tail: Tail::Wanted, .. }) => return self.fail(start, Fault::Dot),
                        Some(Open { items, tail: Tail::Has(tail), .. }) => join(items, tail),
                    }
                }
                '"' => {
                    self.count(start)?;
                    Sexp::Str(self.string()?)
                }
                '#' => return self.fail(start, Fault::Hash),
                c if is_name_char(c) => {
                    let token = self.token();
                    if token == "." {
                        match open.last_mut() {
                            Some(Open { items, tail: tail @ Tail::Before, .. }) if !items.is_empty() => {
                                *tail = Tail::Wanted;
                                continue;
                            }
                            Some(_) | None => return self.fail(start, Fault::Dot),
                        }
                    }
                    self.count(start)?;
                    match atom(token) {
                        Some(value) => value,
                        None if matches!(number(token), Number::Whole(_)) => return self.fail(start, Fault::Range),
                        None => return self.fail(start, Fault::Character(c)),
                    }
                }
                c => return self.fail(start, Fault::Character(c)),
            };
            match open.last_mut() {
                None => return Ok(value),
                Some(Open { items, tail: Tail::Before, .. }) => items.push(value),
                Some(Open { tail: tail @ Tail::Wanted, .. }) => *tail = Tail::Has(value),
                Some(Open { tail: Tail::Has(_), .. }) => return self.fail(start, Fault::Dot),
            }
        }
    }

    fn count(&mut self, at: usize) -> Result<(), ReadError> {
        self.atoms += 1;
        if self.atoms > MAX_ATOMS { self.fail(at, Fault::TooMany) } else { Ok(()) }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_space(&mut self) {
        let space = |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0c);
        self.at += self.rest().bytes().take_while(|b| space(b)).count();
    }

    fn token(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.bytes().take_while(|byte| is_name_char(char::from(*byte))).count();
        self.at += end;
        rest.get(..end).unwrap_or("")
    }

    /// Reads a string from its opening quote on.
    fn string(&mut self) -> Result<String, ReadError> {
        let start = self.at;
        self.at += 1;
        let mut read = String::new();
        loop {
            let rest = self.rest();
            let Some(end) = memchr::memchr2(b'"', b'\\', rest.as_bytes()) else {
                return self.fail(start, Fault::Unfinished("string"));
            };
            read.push_str(rest.get(..end).unwrap_or(""));
            self.at += end + 1;
            if rest.as_bytes().get(end) == Some(&b'"') {
                return Ok(read);
            }
            if let Some(c) = self.escape(start)? {
                read.push(c);
            }
        }
    }

    /// Reads what follows a backslash in a string; `None` when it stands for no character.
    /// These are the escapes that Emacs prints under its various settings.
    fn escape(&mut self, string: usize) -> Result<Option<char>, ReadError> {
        let at = self.at.saturating_sub(1);
        let Some(c) = self.peek() else {
            return self.fail(string, Fault::Unfinished("string"));
        };
        self.at += c.len_utf8();
        let simple = match c {
            '"' | '\\' => c,
            '\n' | ' ' => return Ok(None),
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'f' => '\u{0c}',
            'b' => '\u{08}',
            'a' => '\u{07}',
            'v' => '\u{0b}',
            'e' => '\u{1b}',
            '0'..='7' => {
                self.at -= 1;
                return self.number_escape(at, 8, 3).map(Some);
            }
            'x' => return self.number_escape(at, 16, 6).map(Some),
            _ => return self.fail(at, Fault::Escape),
        };
        Ok(Some(simple))
    }

    /// Reads the digits of an escape. Raw bytes (128 to 255) are refused: they are no text.
    fn number_escape(&mut self, at: usize, radix: u32, most: usize) -> Result<char, ReadError> {
        let rest = self.rest();
        let digits = rest.chars().take(most).take_while(|c| c.is_digit(radix)).count();
        self.at += digits;
        let code = u32::from_str_radix(rest.get(..digits).unwrap_or(""), radix).unwrap_or(u32::MAX);
        match char::from_u32(code) {
            Some(c) if !(0x80..0x100).contains(&code) => Ok(c),
            Some(_) | None => self.fail(at, Fault::Escape),
        }
    }
}

/// Written in the place of what is nested deeper than any reader takes.
const TOO_DEEP: &str = "\"(nested too deeply)\"";

impl fmt::Display for Sexp {
    /// Writes the value so that [`Sexp::read`], Emacs and Common Lisp read it back.
    /// What is nested deeper than [`MAX_DEPTH`] is replaced by a text that says so, since it could end a reader's process.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        enum Step<'a> {
            Value(&'a Sexp, usize),
            Text(&'static str),
        }
        let mut steps = vec![Step::Value(self, 0)];
        while let Some(step) = steps.pop() {
            let (value, depth) = match step {
                Step::Text(text) => {
                    f.write_str(text)?;
                    continue;
                }
                Step::Value(value, depth) => (value, depth),
            };
            let (items, tail) = match value {
                Sexp::List(items) => (items, None),
                Sexp::Dotted(items, tail) => (items, Some(&**tail)),
                Sexp::Nil
                | Sexp::T
                | Sexp::Keyword(_)
                | Sexp::Symbol(_)
                | Sexp::Str(_)
                | Sexp::Int(_)
                | Sexp::Float(_) => {
                    write_atom(value, f)?;
                    continue;
                }
            };
            if items.is_empty() {
                // Only a hand-made value: an empty list is nil, and a tail without items is the tail.
                steps.push(Step::Value(tail.unwrap_or(&Sexp::Nil), depth));
                continue;
            }
            if depth >= MAX_DEPTH {
                f.write_str(TOO_DEEP)?;
                continue;
            }
            f.write_str("(")?;
            steps.push(Step::Text(")"));
            if let Some(tail) = tail {
                steps.push(Step::Value(tail, depth + 1));
                steps.push(Step::Text(" . "));
            }
            for (n, item) in items.iter().enumerate().rev() {
                steps.push(Step::Value(item, depth + 1));
                if n > 0 {
                    steps.push(Step::Text(" "));
                }
            }
        }
        Ok(())
    }
}

fn write_atom(value: &Sexp, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match value {
        Sexp::Nil => f.write_str("nil"),
        Sexp::T => f.write_str("t"),
        Sexp::Keyword(name) => write!(f, ":{name}"),
        Sexp::Symbol(name) => f.write_str(name.as_str()),
        Sexp::Str(text) => write_string(text, f),
        Sexp::Int(number) => write!(f, "{number}"),
        Sexp::Float(number) => write_float(*number, f),
        Sexp::List(_) | Sexp::Dotted(..) => Ok(()),
    }
}

fn write_string(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("\"")?;
    let mut rest = text;
    while let Some(end) = memchr::memchr2(b'"', b'\\', rest.as_bytes()) {
        f.write_str(rest.get(..end).unwrap_or(""))?;
        f.write_str("\\")?;
        f.write_str(rest.get(end..=end).unwrap_or(""))?;
        rest = rest.get(end + 1..).unwrap_or("");
    }
    f.write_str(rest)?;
    f.write_str("\"")
}

fn write_float(number: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if !number.is_finite() {
        return f.write_str(odd_float(number));
    }
    let text = format!("{number:?}");
    match text.split_once('e') {
        Some((mantissa, power)) if !mantissa.contains('.') => write!(f, "{mantissa}.0e{power}"),
        Some(_) | None => f.write_str(&text),
    }
}

/// Returns what Emacs prints for a number without a finite value.
fn odd_float(number: f64) -> &'static str {
    if number.is_nan() {
        "0.0e+NaN"
    } else if number > 0.0 {
        "1.0e+INF"
    } else {
        "-1.0e+INF"
    }
}
