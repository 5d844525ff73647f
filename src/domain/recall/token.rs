//! Words of what the user typed: bounded, lower-cased, with their places in the text.

use std::ops::Range;

/// How many words are looked at; what stands behind them is one last word that no rule knows.
pub const MAX_TOKENS: usize = 400;
/// How long a quoted text may be, in bytes.
const MAX_QUOTED: usize = 2000;
/// Words whose `'s` means `is`.
const BEFORE_IS: &[&str] = &["what", "who", "where", "when", "how", "which", "that", "there", "here", "it"];

/// Words of time that may stand in the genitive: “today's agenda”.
const OF_DAYS: &[&str] = &[
    "today",
    "tomorrow",
    "yesterday",
    "week",
    "month",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "year",
    "weekend",
];

/// One word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// In lower case, with plain apostrophes; a quoted text keeps its case.
    pub word: String,
    /// Where it begins, in bytes; quotation marks not counted.
    pub begin: usize,
    /// Where it ends.
    pub end: usize,
    /// Where it ends with quotation mark and punctuation.
    pub behind: usize,
    /// Whether it stood in quotation marks.
    pub quoted: bool,
    /// The first mark of punctuation behind it.
    pub mark: Option<char>,
}

impl Token {
    /// Returns whether it is this word, outside quotation marks.
    pub fn is(&self, word: &str) -> bool {
        !self.quoted && self.word == word
    }

    /// Returns whether it is one of these words, outside quotation marks.
    pub fn is_any(&self, words: &[&str]) -> bool {
        !self.quoted && words.contains(&self.word.as_str())
    }
}

/// The words of a text.
#[derive(Clone, Debug)]
pub struct Tokens<'a> {
    /// The text.
    pub source: &'a str,
    /// Its words.
    pub list: Vec<Token>,
}

impl<'a> Tokens<'a> {
    /// Splits a text into at most [`MAX_TOKENS`] words and a rest.
    pub fn new(source: &'a str) -> Tokens<'a> {
        let mut list = Vec::new();
        let mut at = 0;
        while let Some(begin) = next_word(source, at) {
            if list.len() >= MAX_TOKENS {
                let end = source.trim_end().len();
                list.push(Token { word: String::new(), begin, end, behind: end, quoted: true, mark: None });
                break;
            }
            let token = quoted(source, begin).unwrap_or_else(|| plain(source, begin));
            at = token.behind.max(begin + 1);
            push(&mut list, source, token);
        }
        Tokens { source, list }
    }

    /// Returns the text of some words as the user typed it, on one line.
    pub fn line(&self, range: Range<usize>) -> String {
        self.text(range).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Returns the text of some words with the punctuation behind the last one.
    pub fn whole(&self, range: Range<usize>) -> &'a str {
        let words = self.list.get(range.clone()).unwrap_or(&[]);
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return "" };
        if last.quoted {
            return self.text(range);
        }
        let begin = if first.quoted { before_quote(self.source, first.begin) } else { first.begin };
        self.source.get(begin..last.behind).unwrap_or("").trim()
    }

    /// Returns the text of some words exactly as the user typed it, inner line breaks kept.
    pub fn text(&self, range: Range<usize>) -> &'a str {
        let words = self.list.get(range).unwrap_or(&[]);
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return "" };
        let begin = if first.quoted && words.len() > 1 { before_quote(self.source, first.begin) } else { first.begin };
        let end = if last.quoted && words.len() > 1 { after_quote(self.source, last.end) } else { last.end };
        self.source.get(begin..end).unwrap_or("").trim()
    }
}

fn push(list: &mut Vec<Token>, source: &str, token: Token) {
    if token.word.is_empty() && !token.quoted {
        // Punctuation by itself belongs to the word before it.
        if let Some(last) = list.last_mut() {
            last.mark = last.mark.or(token.mark);
            last.behind = token.behind;
        }
        return;
    }
    let (head, tail) = match split_contraction(&token) {
        Some(parts) => parts,
        None => return list.push(token),
    };
    let text = source.get(token.begin..token.end).unwrap_or("");
    let cut = token.begin + text.find(['\'', '’']).unwrap_or(text.len());
    list.push(Token { word: head.to_string(), end: cut, behind: cut, mark: None, ..token.clone() });
    list.push(Token { word: tail.to_string(), begin: cut, ..token });
}

/// Returns the two words that a contraction stands for.
fn split_contraction(token: &Token) -> Option<(String, &'static str)> {
    if token.quoted {
        return None;
    }
    match token.word.as_str() {
        "whats" => return Some(("what".to_string(), "is")),
        "whos" => return Some(("who".to_string(), "is")),
        "wheres" => return Some(("where".to_string(), "is")),
        "whens" => return Some(("when".to_string(), "is")),
        _ => {}
    }
    let (head, tail) = token.word.split_once('\'')?;
    let tail = match tail {
        "s" if BEFORE_IS.contains(&head) => "is",
        "m" if head == "i" => "am",
        "ve" => "have",
        "d" if matches!(head, "i" | "what" | "who") => "would",
        "re" => "are",
        "ll" => "will",
        _ => return None,
    };
    Some((head.to_string(), tail))
}

fn next_word(source: &str, at: usize) -> Option<usize> {
    let rest = source.get(at..)?;
    Some(at + rest.find(|c: char| !c.is_whitespace())?)
}

/// Reads a text in quotation marks; `None` when there is none or it does not end.
fn quoted(source: &str, begin: usize) -> Option<Token> {
    let rest = source.get(begin..)?;
    let open = rest.chars().next()?;
    let close = match open {
        '"' => '"',
        '“' | '„' => '”',
        '‘' => '’',
        '\'' => '\'',
        '«' => '»',
        '`' => '`',
        _ => return None,
    };
    let inner = begin + open.len_utf8();
    let limit = floor(source, inner.saturating_add(MAX_QUOTED));
    let text = source.get(inner..limit)?;
    let end = text.char_indices().find_map(|(offset, c)| {
        let fits = c == close || (open == '„' && c == '“');
        // An apostrophe inside a word closes nothing.
        let ends = source.get(inner + offset + c.len_utf8()..).is_some_and(|r| !r.starts_with(char::is_alphanumeric));
        (fits && offset > 0 && ends).then_some(inner + offset)
    })?;
    let after = end + source.get(end..)?.chars().next()?.len_utf8();
    let (mark, behind) = marks(source, after);
    let word = source.get(inner..end)?.trim().to_string();
    (!word.is_empty()).then_some(Token { word, begin: inner, end, behind, quoted: true, mark })
}

fn plain(source: &str, begin: usize) -> Token {
    let rest = source.get(begin..).unwrap_or("");
    let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let chunk = rest.get(..length).unwrap_or("");
    let open = chunk.len() - chunk.trim_start_matches(['(', '<', '[', '"', '“', '\'', '¿']).len();
    let inner = chunk.get(open..).unwrap_or("");
    let kept = inner.trim_end_matches([',', ';', ':', '?', '!', '.', ')', '>', ']', '"', '”', '\'', '…']);
    let mark = inner.get(kept.len()..).and_then(|tail| tail.chars().next());
    let mut word = kept.to_lowercase().replace('’', "'");
    if let Some(stem) = word.strip_suffix("'s").filter(|stem| OF_DAYS.contains(stem)) {
        word = stem.to_string();
    }
    let begin = begin + open;
    Token { word, begin, end: begin + kept.len(), behind: begin + inner.len(), quoted: false, mark }
}

/// Returns the first mark of punctuation at a place, and where the marks end.
fn marks(source: &str, at: usize) -> (Option<char>, usize) {
    let rest = source.get(at..).unwrap_or("");
    let kept = rest.trim_start_matches([',', ';', ':', '?', '!', '.', ')', ']']);
    (rest.chars().next().filter(|_| kept.len() < rest.len()), at + rest.len() - kept.len())
}

fn floor(source: &str, at: usize) -> usize {
    let mut at = at.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn before_quote(source: &str, at: usize) -> usize {
    source.get(..at).and_then(|head| head.chars().next_back()).map_or(at, |c| at - c.len_utf8())
}

fn after_quote(source: &str, at: usize) -> usize {
    source.get(at..).and_then(|tail| tail.chars().next()).map_or(at, |c| at + c.len_utf8())
}
