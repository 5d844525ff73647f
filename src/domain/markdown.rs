//! Turns what a model writes into inert Org while it arrives: Markdown is converted, what is Org already comes through.
//!
//! Where a text is cut into blocks, and a paragraph into runs of words in which no markup is open, depends on the text
//! alone and never on the pieces in which it comes.  A run is parsed when it is whole, and only once; code passes line by
//! line.  Words go through [`Inert`], and what stands around code and quotations is one of the lines in [`Frame`], so that
//! nothing of it can run or lead anywhere that the text as it came could not.

mod inline;
mod line;
mod scan;
mod table;
mod words;

use crate::domain::inert::{Frame, Inert, Language};
use line::{End, Item, Kind, code_line, kind, unquoted};
use table::Table;
use words::{Dialect, Words};

/// So many bytes of a line are held back until it is clear what it is; a longer one is text.
const HELD: usize = 2048;
/// What stands in a list is not set further in than this.
const DEEPEST: usize = 80;

/// Turns the text of a model into inert Org, piece by piece.
#[derive(Default)]
pub struct Markdown {
    page: Page,
    /// The current line as it came, until it is clear what it is.
    line: String,
    /// What becomes of the rest of the current line.
    rest: Rest,
    words: Words,
    /// Whether a paragraph is open.
    paragraph: bool,
    /// Whether the line before was empty, or there is none.
    after_blank: bool,
    /// Whether the line before was code by its indentation.
    indented: bool,
    code: Option<Code>,
    table: Option<Table>,
    list: Option<List>,
    quote: Option<Quote>,
    /// Whether there was a line.
    begun: bool,
}

/// What becomes of the rest of a line whose beginning was taken.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// Nothing of it was taken.
    #[default]
    Open,
    /// Words with markup.
    Words,
    /// It stays as it is.
    Raw,
}

/// Code that is open, or a formula.
struct Code {
    end: End,
    /// What ends it in Org; nothing ends a formula.
    frame: Option<Frame>,
    indent: usize,
    /// Whether its lines stand behind the mark of a quotation.
    quoted: bool,
}

/// A quotation that is open.
struct Quote {
    indent: usize,
    /// Whether it is one of Org, which says itself where it ends.
    of_org: bool,
}

/// A list that is open.
#[derive(Clone, Copy)]
struct List {
    /// Whether its items may as well be headings of Org, so that their stars are kept.
    stars: bool,
}

/// What stands behind a line that was taken.
#[derive(PartialEq, Eq)]
enum After {
    Break,
    Words,
    Nothing,
}

/// Returns a text that is there whole as inert Org.
pub fn org(text: &str) -> String {
    let mut markdown = Markdown::default();
    let mut out = markdown.push(text);
    out.push_str(&markdown.finish());
    out
}

impl Markdown {
    /// Takes more text and returns what is final of it.
    pub fn push(&mut self, text: &str) -> String {
        for piece in text.split_inclusive('\n') {
            let (body, ends) = piece.strip_suffix('\n').map_or((piece, false), |body| (body, true));
            self.take(body);
            if ends {
                self.end_line();
            }
        }
        if self.rest == Rest::Open && !self.line.is_empty() {
            self.begin(false);
        }
        self.page.given()
    }

    /// Returns what was held back, and ends what is open.
    pub fn finish(&mut self) -> String {
        if self.rest == Rest::Open && !self.line.is_empty() {
            self.begin(true);
        }
        self.end_paragraph();
        self.end_table();
        self.end_code();
        self.end_quote();
        let mut out = self.page.given();
        out.push_str(&self.page.inert.finish());
        *self = Markdown { words: Words::of(self.words.dialect), ..Markdown::default() };
        out
    }

    /// Takes a part of a line.
    fn take(&mut self, body: &str) {
        let mut body = body;
        if self.rest == Rest::Open {
            let room = HELD.saturating_sub(self.line.len());
            let (head, tail) = body.split_at(body.floor_char_boundary(room));
            self.line.push_str(head);
            if tail.is_empty() {
                return;
            }
            if self.begin(false).is_none() {
                self.give_up();
            }
            body = tail;
        }
        match self.rest {
            Rest::Open => {}
            Rest::Words => self.words.push(body, &mut self.page.text),
            Rest::Raw => self.page.text.push_str(body),
        }
    }

    /// Takes the end of a line.
    fn end_line(&mut self) {
        let after = match self.rest {
            Rest::Open => self.begin(true).unwrap_or(After::Break),
            Rest::Words => After::Words,
            Rest::Raw => After::Break,
        };
        match after {
            After::Break => self.page.text.push('\n'),
            After::Words => self.words.end_line(&mut self.page.text),
            After::Nothing => {}
        }
        self.rest = Rest::Open;
        self.begun = true;
    }

    /// Takes a line of which nobody can say what it is, for it is too long.
    fn give_up(&mut self) {
        let line = std::mem::take(&mut self.line);
        match &self.code {
            Some(code) => self.page.text.push_str(&code_line(&line, &code.end)),
            None => {
                self.end_table();
                self.text(0, &line);
                return;
            }
        }
        self.rest = Rest::Raw;
    }

    /// Takes the line up to here, if it is clear what it is; `whole` says that it has ended.
    fn begin(&mut self, whole: bool) -> Option<After> {
        let line = std::mem::take(&mut self.line);
        let after = match self.code.is_some() {
            true if whole => Some(self.code_begins(&line)),
            true => None,
            false => self.block_begins(&line, whole),
        };
        if after.is_none() {
            self.line = line;
        }
        after
    }

    /// Takes a line while code is open.
    fn code_begins(&mut self, line: &str) -> After {
        let Some(code) = &self.code else { return After::Nothing };
        let (line, inside) = match code.quoted {
            true => unquoted(line, true, true).map_or((line, false), |(depth, _, rest)| (rest, depth > 0)),
            false => (line, true),
        };
        if !inside {
            // It left the quotation without ending what it had begun.
            self.end_code();
            return self.block_begins(line, true).unwrap_or(After::Break);
        }
        let formula = code.frame.is_none();
        if code.end.is_reached(line) && !formula {
            self.end_code();
            return After::Nothing;
        }
        if formula && (code.end.is_reached(line) || line.trim().is_empty()) {
            self.after_blank = line.trim().is_empty();
            self.code = None;
            self.page.text.push_str(line);
        } else {
            self.page.text.push_str(&code_line(line, &code.end));
        }
        After::Break
    }

    /// Takes a line outside of code, if it is clear what it is.
    fn block_begins(&mut self, line: &str, whole: bool) -> Option<After> {
        let (depth, before, rest) = unquoted(line, self.list.is_some(), whole)?;
        let content = rest.trim_start_matches([' ', '\t']);
        let blank = rest.get(..rest.len() - content.len()).unwrap_or("");
        let columns: usize = blank.chars().map(|c| if c == '\t' { 4 } else { 1 }).sum();
        if content.is_empty() && !whole {
            return None;
        }
        let is_code = columns >= 4
            && !content.is_empty()
            && self.list.is_none()
            && self.words.dialect != Dialect::Org
            && (self.indented || self.after_blank || !self.begun)
            && !self.paragraph;
        let found = match is_code {
            true if whole => Kind::Code,
            true => return None,
            false => kind(content, whole)?,
        };
        self.enter(depth, before);
        let indent = columns.min(DEEPEST);
        let after = self.block(&found, content, columns, indent);
        self.indented = is_code || (self.indented && found == Kind::Blank);
        self.after_blank = found == Kind::Blank;
        Some(after)
    }

    /// Begins or ends a quotation, as a line asks for it.
    fn enter(&mut self, depth: usize, before: usize) {
        match &self.quote {
            Some(quote) if quote.of_org || depth > 0 => {}
            None if depth == 0 => {}
            Some(_) => {
                self.end_paragraph();
                self.end_table();
                self.end_quote();
            }
            None => {
                self.end_paragraph();
                self.end_table();
                let indent = if self.list.is_some() { before.min(DEEPEST) } else { 0 };
                self.quote(indent, false);
            }
        }
    }

    fn quote(&mut self, indent: usize, of_org: bool) {
        self.list = self.list.filter(|_| indent > 0);
        self.quote = Some(Quote { indent, of_org });
        self.page.frame(indent, Frame::Quote);
        self.after_blank = true;
    }

    /// Takes a line of which it is clear what it is.
    fn block(&mut self, found: &Kind<'_>, content: &str, columns: usize, indent: usize) -> After {
        if !matches!(found, Kind::Text) {
            self.end_paragraph();
        }
        if !matches!(found, Kind::Row) {
            self.end_table();
        }
        if columns == 0 && !matches!(found, Kind::Text | Kind::Item(_) | Kind::Blank) {
            self.list = None;
        }
        let blanks = " ".repeat(indent);
        match found {
            Kind::Blank => return After::Break,
            Kind::Code => self.page.put(&[": ", &" ".repeat(columns - 4), content]),
            Kind::Raw => self.page.put(&[&blanks, content]),
            Kind::Rule => self.page.put(&[&blanks, "-----"]),
            Kind::Heading(title) => {
                let title = self.words.heading(title);
                self.page.put(&[&blanks, &title]);
            }
            Kind::Row => {
                let table = self.table.get_or_insert_with(|| Table::new(indent));
                table.push(content, &mut self.words, &mut self.page.text);
                return After::Nothing;
            }
            Kind::Formula(end) => {
                self.page.put(&[&blanks, content]);
                self.code = Some(Code { end: end.clone(), frame: None, indent, quoted: self.is_marked() });
            }
            Kind::Fence { end, language } => {
                self.fence(end, language, indent);
                return After::Nothing;
            }
            Kind::Quote if self.quote.is_none() => {
                self.words.dialect.see(Dialect::Org);
                self.quote(indent, true);
                return After::Nothing;
            }
            Kind::EndQuote if self.quote.as_ref().is_some_and(|quote| quote.of_org) => {
                self.end_quote();
                return After::Nothing;
            }
            Kind::Quote | Kind::EndQuote => self.page.put(&[&blanks, content]),
            Kind::Item(item) => return self.item(item, indent),
            Kind::Text => {
                if columns == 0 && self.after_blank {
                    self.list = None;
                }
                if content.starts_with("** ") || content.starts_with("*** ") {
                    self.words.dialect.see(Dialect::Org);
                }
                return self.text(indent, content);
            }
        }
        After::Break
    }

    fn fence(&mut self, end: &End, language: &str, indent: usize) {
        let frame = Language::called(language).map_or(Frame::Example, Frame::Source);
        self.words.dialect.see(if matches!(end, End::Org(_)) { Dialect::Org } else { Dialect::Markdown });
        self.page.frame(indent, frame);
        let quoted = self.is_marked();
        self.code = Some(Code { end: end.clone(), frame: Some(frame.end()), indent, quoted });
    }

    /// Whether lines here stand behind the mark of a quotation.
    fn is_marked(&self) -> bool {
        self.quote.as_ref().is_some_and(|quote| !quote.of_org)
    }

    fn item(&mut self, item: &Item<'_>, indent: usize) -> After {
        let stars = self.words.dialect != Dialect::Markdown;
        let list = *self.list.get_or_insert(List { stars });
        let bullet = item.bullet(list.stars);
        self.page.put(&[&" ".repeat(indent), bullet, " "]);
        if let Some((end, language)) = item.fence() {
            self.page.text.push('\n');
            self.fence(&end, language, indent + bullet.len() + 1);
            return After::Nothing;
        }
        let (boxed, words) = item.words();
        self.page.text.push_str(boxed);
        self.text(0, words)
    }

    /// Takes words with markup: the beginning of a line, or all of it.
    fn text(&mut self, indent: usize, content: &str) -> After {
        match self.paragraph {
            true => self.words.go_on(indent, &mut self.page.text),
            false => {
                self.page.put(&[&" ".repeat(indent)]);
                self.words.begin(indent);
            }
        }
        self.paragraph = true;
        self.words.push(content, &mut self.page.text);
        self.rest = Rest::Words;
        After::Words
    }

    fn end_paragraph(&mut self) {
        if std::mem::take(&mut self.paragraph) {
            self.words.end(&mut self.page.text);
        }
    }

    fn end_table(&mut self) {
        if let Some(table) = self.table.take() {
            table.end(&mut self.page.text);
        }
    }

    fn end_code(&mut self) {
        if let Some(Code { frame: Some(frame), indent, .. }) = self.code.take() {
            self.page.frame(indent, frame);
        }
    }

    fn end_quote(&mut self) {
        if let Some(Quote { indent, .. }) = self.quote.take() {
            self.list = self.list.filter(|_| indent > 0);
            self.page.frame(indent, Frame::EndQuote);
        }
    }
}

/// What is written, on its way through what makes it inert.
#[derive(Default)]
struct Page {
    text: String,
    inert: Inert,
    out: String,
}

impl Page {
    fn put(&mut self, parts: &[&str]) {
        self.text.extend(parts.iter().copied());
    }

    /// Puts a line of our own, where a line begins.
    fn frame(&mut self, indent: usize, frame: Frame) {
        self.settle();
        self.out.push_str(&self.inert.frame(indent, frame));
    }

    fn settle(&mut self) {
        if !self.text.is_empty() {
            self.out.push_str(&self.inert.push(&self.text));
            self.text.clear();
        }
    }

    fn given(&mut self) -> String {
        self.settle();
        std::mem::take(&mut self.out)
    }
}

#[cfg(test)]
mod tests;
