//! Finds what a text of Lisp is made of, byte for byte and whether or not it is well formed: brackets, strings, comments,
//! names.

use crate::domain::gate::lisp::{MAX_LENGTH, token};
use std::ops::Range;

/// The most pieces that are told apart.
const MOST: usize = 1_000_000;

/// A kind of bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bracket {
    /// `(` and `)`
    Round,
    /// `[` and `]`
    Square,
}

impl Bracket {
    /// Returns the sign that opens.
    pub fn open(self) -> char {
        match self {
            Bracket::Round => '(',
            Bracket::Square => '[',
        }
    }

    /// Returns the sign that closes.
    pub fn close(self) -> char {
        match self {
            Bracket::Round => ')',
            Bracket::Square => ']',
        }
    }
}

/// What a piece of the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A bracket that opens.
    Open(Bracket),
    /// A bracket that closes.
    Close(Bracket),
    /// A string, its quotes included; the last one of a text may lack its end.
    Text,
    /// A comment up to the end of its line.
    Comment,
    /// A name, a number or a character.
    Name,
    /// What stands before a form and belongs to it: a quote, a comma, a `#` before a bracket.
    Prefix,
}

/// One piece of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it stands, in bytes.
    pub place: Range<usize>,
}

/// A text and what it is made of; what lies between two tokens is blank.
#[derive(Clone, Debug)]
pub struct Scan<'a> {
    /// The text.
    pub text: &'a str,
    /// Its pieces, in order.
    pub tokens: Vec<Token>,
    /// Where a string begins that does not end.
    pub unended: Option<usize>,
}

/// Returns what a text is made of.
///
/// # Errors
/// In words, when there is too much of it.
pub fn scan(text: &str) -> Result<Scan<'_>, String> {
    if text.len() > MAX_LENGTH {
        return Err(format!("the Lisp is longer than {} MB", MAX_LENGTH >> 20));
    }
    let mut scan = Scan { text, tokens: Vec::new(), unended: None };
    let mut at = 0;
    while let Some(c) = char_at(text, at) {
        if c.is_whitespace() || c < ' ' {
            at += c.len_utf8();
            continue;
        }
        let (kind, end) = scan.step(c, at);
        if scan.tokens.len() == MOST {
            return Err("the Lisp has too many parts".to_string());
        }
        scan.tokens.push(Token { kind, place: at..end });
        at = end;
    }
    Ok(scan)
}

fn char_at(text: &str, at: usize) -> Option<char> {
    text.get(at..)?.chars().next()
}

impl<'a> Scan<'a> {
    /// Returns the text of a token.
    pub fn of(&self, token: &Token) -> &'a str {
        self.text.get(token.place.clone()).unwrap_or("")
    }

    /// Returns what begins at a byte, and where it ends; that is behind where it begins.
    fn step(&mut self, c: char, at: usize) -> (Kind, usize) {
        match c {
            '(' => (Kind::Open(Bracket::Round), at + 1),
            '[' => (Kind::Open(Bracket::Square), at + 1),
            ')' => (Kind::Close(Bracket::Round), at + 1),
            ']' => (Kind::Close(Bracket::Square), at + 1),
            ';' => (Kind::Comment, self.end_of_line(at)),
            '"' => (Kind::Text, self.end_of_text(at)),
            '\'' | '`' => (Kind::Prefix, at + 1),
            ',' => (Kind::Prefix, at + if char_at(self.text, at + 1) == Some('@') { 2 } else { 1 }),
            '?' => (Kind::Name, self.end_of_character(at)),
            '#' => self.hash(at),
            _ => (Kind::Name, self.end_of_name(at)),
        }
    }

    /// Returns where a line ends, without what ends it.
    fn end_of_line(&self, at: usize) -> usize {
        let end = self.text.get(at..).and_then(|rest| rest.find('\n')).map_or(self.text.len(), |end| at + end);
        if self.text.as_bytes().get(end.wrapping_sub(1)) == Some(&b'\r') { end - 1 } else { end }
    }

    fn end_of_text(&mut self, at: usize) -> usize {
        // As Emacs reads it; what it does not understand ends at the next quote that no backslash stands before.
        if let Some(end) = token::text_end(self.text, at + 1) {
            return end;
        }
        let (bytes, mut end) = (self.text.as_bytes(), at + 1);
        loop {
            match bytes.get(end) {
                Some(b'\\') => end += 2,
                Some(b'"') => return end + 1,
                Some(_) => end += 1,
                None => {
                    self.unended = Some(at);
                    return self.text.len();
                }
            }
        }
    }

    fn end_of_character(&self, at: usize) -> usize {
        if let Some(end) = token::character_end(self.text, at + 1) {
            return end;
        }
        let mut end = at + 1;
        if char_at(self.text, end) == Some('\\') {
            end += 1;
        }
        char_at(self.text, end).filter(|c| *c > ' ').map_or(end, |c| end + c.len_utf8())
    }

    fn end_of_name(&self, at: usize) -> usize {
        if let Some(name) = token::name(self.text, at).filter(|name| name.end > at) {
            return name.end;
        }
        let mut end = at;
        while let Some(c) = char_at(self.text, end) {
            if c == '\\' {
                end += 1;
                end += char_at(self.text, end).map_or(0, char::len_utf8);
            } else if (token::ends_symbol(c) || c.is_whitespace()) && end > at {
                break;
            } else {
                end += c.len_utf8();
            }
        }
        end
    }

    /// `#'x`, `#x1f`, `#s(…)`, `#1=(…)`, `#1#`, `##`.
    fn hash(&self, at: usize) -> (Kind, usize) {
        if at == 0 && self.text.starts_with("#!") {
            return (Kind::Comment, self.end_of_line(at));
        }
        let run = self.text.get(at + 1..).unwrap_or("");
        let length = run.find(|c: char| token::ends_symbol(c) || c.is_whitespace()).unwrap_or(run.len());
        let end = at + 1 + length;
        match char_at(self.text, end) {
            Some('\'') if length == 0 => (Kind::Prefix, end + 1),
            Some('#') => (Kind::Name, end + 1),
            Some('(' | '[' | '"') => (Kind::Prefix, end),
            Some(_) | None if run.get(..length).is_some_and(|run| run.ends_with('=')) => (Kind::Prefix, end),
            Some(_) | None => (Kind::Name, end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kinds(text: &str) -> Vec<(&str, Kind)> {
        let scan = scan(text).expect("it is short");
        scan.tokens.iter().map(|token| (scan.of(token), token.kind)).collect()
    }

    #[test]
    fn a_text_is_what_emacs_takes_it_for() {
        use Bracket::Round;
        use Kind::{Close, Comment, Name, Open, Prefix, Text};
        let round = (("(", Open(Round)), (")", Close(Round)));
        for (text, expected) in [
            ("(a \"b)\\\"\" ; )\n)", vec![round.0, ("a", Name), ("\"b)\\\"\"", Text), ("; )", Comment), round.1]),
            ("?( ?\\) ?\\\" x?y", vec![("?(", Name), ("?\\)", Name), ("?\\\"", Name), ("x?y", Name)]),
            ("'a `,@b", vec![("'", Prefix), ("a", Name), ("`", Prefix), (",@", Prefix), ("b", Name)]),
            ("#'f #x1F ## #1#", vec![("#'", Prefix), ("f", Name), ("#x1F", Name), ("##", Name), ("#1#", Name)]),
            ("#s(a)", vec![("#s", Prefix), round.0, ("a", Name), round.1]),
            ("#1=(a)", vec![("#1=", Prefix), round.0, ("a", Name), round.1]),
            ("a\\(b\\ c", vec![("a\\(b\\ c", Name)]),
            ("; ü\r\nx", vec![("; ü", Comment), ("x", Name)]),
            ("\"open", vec![("\"open", Text)]),
            ("#!/bin/sh (\nx", vec![("#!/bin/sh (", Comment), ("x", Name)]),
        ] {
            assert_eq!(kinds(text), expected, "{text}");
        }
        assert_eq!(scan("(a \"b").expect("it is short").unended, Some(3));
        assert_eq!(scan("(a \"b\"").expect("it is short").unended, None);
    }

    proptest! {
        /// Whatever a text is, its tokens stand in order, and only blanks lie between them.
        #[test]
        fn nothing_of_a_text_is_lost(text in "[()\\[\\]\"\\\\;?#'`,@a1\u{e4}=\\- \n\r\t]{0,60}|.{0,40}") {
            let scan = scan(&text).expect("it is short");
            let mut at = 0;
            for token in &scan.tokens {
                prop_assert!(token.place.start >= at && token.place.end > token.place.start);
                let between = text.get(at..token.place.start);
                prop_assert!(between.is_some_and(|between| between.chars().all(|c| c.is_whitespace() || c < ' ')));
                at = token.place.end;
            }
            prop_assert!(text.get(at..).is_some_and(|rest| rest.chars().all(|c| c.is_whitespace() || c < ' ')));
        }

        /// What the reader of the gates can read is made of the same forms.
        #[test]
        fn forms_end_where_the_reader_has_them_end(
            text in "([()'`,?#\"\\\\;a \n]|\\(a b\\)|\"x\"|\\?\\\\\\(){0,20}"
        ) {
            let Ok(read) = crate::domain::gate::lisp::read(&text) else { return Ok(()) };
            let scan = scan(&text).expect("it is short");
            let forms = crate::domain::lisp::forms::forms(&scan).expect("it is balanced");
            let ours: Vec<_> = forms.iter().map(|form| form.place.clone()).collect();
            prop_assert_eq!(ours, read.places);
        }
    }
}
