//! Text of a model as lines for a terminal: Markdown where it is Markdown, else Org, by rules that only look.
//!
//! What comes in is made inert first: no control or bidirectional character and no escape sequence gets through. A link
//! out of one's own files shows where it leads, and nothing is followed or fetched.

use crate::domain::inert::exact;
use crate::edge::tui::theme::{Part, Theme};
use crate::edge::tui::wrap::{Run, untabbed, wrapped};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::Style;
use ratatui::text::Line;

/// Lists and quotations are not shown deeper than this.
const DEEPEST: usize = 8;

/// Returns a text as lines of a width.
pub fn lines(text: &str, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let text = untabbed(&exact(text));
    let mut page = Page { out: Vec::new(), width, theme };
    if is_markdown(&text) {
        markdown(&text, &mut page)
    } else {
        org(&text, &mut page)
    }
    page.out
}

/// Whether a text is rather Markdown than Org.
fn is_markdown(text: &str) -> bool {
    let org = text.contains("[[") || text.lines().any(|line| line.trim_start().starts_with("#+"));
    let fenced = text.lines().any(|line| line.trim_start().starts_with("```"));
    let heading = |line: &str| {
        let rest = line.trim_start_matches('#');
        rest.len() < line.len() && rest.starts_with(' ')
    };
    let marked = text.contains("**") || text.contains("](") || text.matches('`').count() > 1;
    fenced || (!org && (marked || text.lines().any(heading)))
}

/// The lines as they come to be.
struct Page {
    out: Vec<Line<'static>>,
    width: usize,
    theme: Theme,
}

impl Page {
    fn style(&self, part: Part) -> Style {
        self.theme.style(part)
    }

    fn put(&mut self, runs: &[Run], first: &[Run], rest: &[Run]) {
        self.out.extend(wrapped(runs, self.width, first, rest));
    }

    /// Adds an empty line, unless there is one.
    fn gap(&mut self) {
        if self.out.last().is_some_and(|line| !line.spans.is_empty()) {
            self.out.push(Line::default());
        }
    }

    fn code(&mut self, text: &str, before: &[Run]) {
        let mut before = before.to_vec();
        before.push(("│ ".to_string(), self.style(Part::Frame)));
        for line in text.lines() {
            self.put(&[(line.to_string(), self.style(Part::Code))], &before, &before);
        }
    }

    fn rule(&mut self) {
        let line = "─".repeat(self.width.min(40));
        self.put(&[(line, self.style(Part::Frame))], &[], &[]);
    }
}

/// What is being read of Markdown.
struct Reading {
    runs: Vec<Run>,
    styles: Vec<Style>,
    /// The number of the next item of each list, or none.
    lists: Vec<Option<u64>>,
    quotes: usize,
    /// What stands before the first line of an item.
    bullet: Option<String>,
    code: Option<String>,
    /// Where the links lead that are open.
    links: Vec<String>,
    row: bool,
}

fn markdown(text: &str, page: &mut Page) {
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    let mut reading = Reading {
        runs: Vec::new(),
        styles: vec![page.style(Part::Plain)],
        lists: Vec::new(),
        quotes: 0,
        bullet: None,
        code: None,
        links: Vec::new(),
        row: false,
    };
    for event in Parser::new_ext(text, options) {
        reading.take(event, page);
    }
    reading.flush(page);
}

impl Reading {
    fn take(&mut self, event: Event<'_>, page: &mut Page) {
        match event {
            Event::Start(tag) => self.open(tag, page),
            Event::End(end) => self.close(end, page),
            Event::Text(text) => match self.code.as_mut() {
                Some(code) => code.push_str(&text),
                None => self.say(&text),
            },
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.runs.push((text.into_string(), page.style(Part::Code)));
            }
            Event::Html(text) | Event::InlineHtml(text) => self.say(text.trim_end_matches('\n')),
            Event::FootnoteReference(name) => self.say(&format!("[{name}]")),
            // A model's lines are kept: most of what it writes is read as it stands.
            Event::SoftBreak | Event::HardBreak => self.flush(page),
            Event::Rule => {
                self.flush(page);
                page.rule();
                page.gap();
            }
            Event::TaskListMarker(done) => self.say(if done { "[x] " } else { "[ ] " }),
        }
    }

    fn say(&mut self, text: &str) {
        let style = self.styles.last().copied().unwrap_or_default();
        self.runs.push((text.replace('\n', " "), style));
    }

    fn push(&mut self, style: Style) {
        let now = self.styles.last().copied().unwrap_or_default();
        self.styles.push(now.patch(style));
    }

    fn open(&mut self, tag: Tag<'_>, page: &mut Page) {
        match tag {
            Tag::Heading { level, .. } => {
                self.flush(page);
                page.gap();
                self.push(page.style(Part::Heading));
                let deep = level as usize - HeadingLevel::H1 as usize;
                self.say(&"  ".repeat(deep.min(3)));
            }
            Tag::CodeBlock(kind) => {
                self.flush(page);
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    page.put(&[(language.into_string(), page.style(Part::Dim))], &[], &[]);
                }
                self.code = Some(String::new());
            }
            Tag::BlockQuote(_) => {
                self.flush(page);
                self.quotes += 1;
            }
            Tag::List(start) => {
                self.flush(page);
                self.lists.push(start);
            }
            Tag::Item => {
                self.flush(page);
                self.bullet = Some(match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let text = format!("{number}. ");
                        *number = number.saturating_add(1);
                        text
                    }
                    Some(None) | None => "• ".to_string(),
                });
            }
            Tag::Emphasis => self.push(page.style(Part::Emphasis)),
            Tag::Strong => self.push(page.style(Part::Strong)),
            Tag::Strikethrough => self.push(page.style(Part::Struck)),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.push(page.style(Part::Link));
                self.links.push(dest_url.into_string());
            }
            Tag::TableHead | Tag::TableRow => {
                self.flush(page);
                self.row = false;
            }
            Tag::TableCell => {
                if std::mem::replace(&mut self.row, true) {
                    self.runs.push((" │ ".to_string(), page.style(Part::Frame)));
                }
            }
            _ => self.flush(page),
        }
    }

    fn close(&mut self, end: TagEnd, page: &mut Page) {
        match end {
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                let said = self.runs.last().map(|(text, _)| text.clone()).unwrap_or_default();
                if let Some(address) = self.links.pop().filter(|address| *address != said) {
                    self.runs.push((format!(" ({address})"), page.style(Part::Dim)));
                }
            }
            TagEnd::CodeBlock => {
                let (code, before) = (self.code.take().unwrap_or_default(), self.before(page));
                page.code(&code, &before);
                page.gap();
            }
            TagEnd::Heading(_) => {
                self.flush(page);
                self.styles.pop();
            }
            TagEnd::List(_) => {
                self.flush(page);
                self.lists.pop();
                if self.lists.is_empty() {
                    page.gap();
                }
            }
            TagEnd::BlockQuote(_) => {
                self.flush(page);
                self.quotes = self.quotes.saturating_sub(1);
                page.gap();
            }
            TagEnd::Paragraph => {
                self.flush(page);
                if self.lists.is_empty() {
                    page.gap();
                }
            }
            TagEnd::TableCell => {}
            TagEnd::TableHead => {
                self.flush(page);
                page.rule();
            }
            TagEnd::Table => page.gap(),
            _ => self.flush(page),
        }
    }

    /// What stands before each line here.
    fn before(&self, page: &Page) -> Vec<Run> {
        let quoted = "▎ ".repeat(self.quotes.min(DEEPEST));
        let blanks = "  ".repeat(self.lists.len().saturating_sub(1).min(DEEPEST));
        vec![(quoted, page.style(Part::Frame)), (blanks, Style::new())]
    }

    fn flush(&mut self, page: &mut Page) {
        if self.runs.is_empty() {
            return;
        }
        let (mut first, mut rest) = (self.before(page), self.before(page));
        let bullet = self.bullet.take();
        if let Some(bullet) = bullet {
            rest.push((" ".repeat(bullet.chars().count()), Style::new()));
            first.push((bullet, page.style(Part::Frame)));
        } else if !self.lists.is_empty() {
            first.push(("  ".to_string(), Style::new()));
            rest.push(("  ".to_string(), Style::new()));
        }
        page.put(&std::mem::take(&mut self.runs), &first, &rest);
    }
}

fn org(text: &str, page: &mut Page) {
    let mut block = false;
    for line in text.lines() {
        let bare = line.trim_start().trim_start_matches(',').to_ascii_lowercase();
        let (begins, ends) = (bare.starts_with("#+begin_"), bare.starts_with("#+end_"));
        if begins || ends {
            block = begins;
            page.put(&[(line.trim().to_string(), page.style(Part::Dim))], &[], &[]);
        } else if block {
            page.code(if line.is_empty() { " " } else { line }, &[]);
        } else if line.trim().is_empty() {
            page.gap();
        } else if is_heading(line) {
            page.put(&[(line.trim().to_string(), page.style(Part::Heading))], &[], &[]);
        } else if line.trim_start().starts_with('|') {
            page.put(&[(line.to_string(), page.style(Part::Plain))], &[], &[]);
        } else if bare.len() > 4 && bare.chars().all(|c| c == '-') {
            page.rule();
        } else {
            let (indent, bullet, words) = item(line);
            let hang = " ".repeat((indent.len() + bullet.len()).min(page.width / 2));
            let first = [(indent.to_string(), Style::new()), (bullet.to_string(), page.style(Part::Frame))];
            let runs = objects(words, page.theme);
            page.put(&runs, &first, &[(hang, Style::new())]);
        }
    }
    while page.out.last().is_some_and(|line| line.spans.is_empty()) {
        page.out.pop();
    }
}

/// A heading of a model's own making stands one blank in, as nothing of it may become one.
fn is_heading(line: &str) -> bool {
    let line = line.strip_prefix(' ').unwrap_or(line);
    let rest = line.trim_start_matches('*');
    rest.len() < line.len() && rest.starts_with(' ')
}

/// Splits a line of a list into blanks, bullet and words; one that is none has no bullet.
fn item(line: &str) -> (&str, &str, &str) {
    let words = line.trim_start();
    let (indent, _) = line.split_at(line.len() - words.len());
    let digits = words.trim_start_matches(|c: char| c.is_ascii_digit());
    let length = match digits.strip_prefix(". ").or(digits.strip_prefix(") ")) {
        Some(rest) if digits.len() < words.len() => words.len() - rest.len(),
        Some(_) | None if words.starts_with("- ") || words.starts_with("+ ") => 2,
        Some(_) | None => 0,
    };
    let (bullet, words) = words.split_at(length);
    (indent, bullet, words)
}

/// Returns the words of a line of Org with what is marked in it.
fn objects(text: &str, theme: Theme) -> Vec<Run> {
    let (mut runs, mut plain, mut at) = (Vec::new(), String::new(), 0);
    let style = theme.style(Part::Plain);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let found = link(rest, theme).or_else(|| marked(rest, plain.chars().last(), theme));
        let Some((length, found)) = found else {
            let c = rest.chars().next().unwrap_or_default();
            plain.push(c);
            at += c.len_utf8();
            continue;
        };
        if !plain.is_empty() {
            runs.push((std::mem::take(&mut plain), style));
        }
        runs.extend(found);
        at += length;
    }
    if !plain.is_empty() {
        runs.push((plain, style));
    }
    runs
}

/// Reads a link; it shows where it leads, unless that is a place in one's own files, whose title it shows.
fn link(rest: &str, theme: Theme) -> Option<(usize, Vec<Run>)> {
    let inside = rest.strip_prefix("[[")?;
    let end = inside.find("]]")?;
    let inside = inside.get(..end)?;
    let (target, title) = inside.split_once("][").unwrap_or((inside, inside));
    let mut runs = vec![(title.to_string(), theme.style(Part::Link))];
    if title != target && !["id:", "file:"].iter().any(|here| target.starts_with(here)) {
        runs.push((format!(" ({target})"), theme.style(Part::Dim)));
    }
    Some((end + 4, runs))
}

/// Reads words between two equal marks.
fn marked(rest: &str, before: Option<char>, theme: Theme) -> Option<(usize, Vec<Run>)> {
    let mark = rest.chars().next()?;
    let part = match mark {
        '*' => Part::Strong,
        '/' => Part::Emphasis,
        '=' | '~' => Part::Code,
        '+' => Part::Struck,
        _ => return None,
    };
    if before.is_some_and(|c| !c.is_whitespace() && !"([{'\"-".contains(c)) {
        return None;
    }
    let inside = rest.get(1..)?;
    if inside.starts_with(char::is_whitespace) {
        return None;
    }
    let closes = |at: usize| {
        let (words, after) = inside.split_at(at);
        let behind = after.get(1..).and_then(|behind| behind.chars().next());
        !words.is_empty()
            && !words.ends_with(char::is_whitespace)
            && behind.is_none_or(|c| c.is_whitespace() || ".,;:!?)]}'\"-".contains(c))
    };
    // Far away it is no pair any more.
    let end = inside.match_indices(mark).map(|(at, _)| at).take(16).find(|at| closes(*at))?;
    Some((end + 2, vec![(inside.get(..end)?.to_string(), theme.style(part))]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::tui::wrap::plain;

    fn shown(text: &str, width: usize) -> String {
        lines(text, width, Theme::None).iter().map(plain).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn markdown_is_read_and_nothing_of_it_is_hidden() {
        for (text, expected) in [
            ("# Tiles\nOrder **ten** now.", "Tiles\nOrder ten now.\n"),
            ("- a\n- b\n  - c `x`", "• a\n• b\n  • c x\n"),
            ("1. one\n2. two **2**", "1. one\n2. two 2\n"),
            ("```sh\nrm -r x\n```", "sh\n│ rm -r x\n"),
            ("[here](https://e.org)", "here (https://e.org)\n"),
            ("**q**\n> said", "q\n\n▎ said\n"),
            ("|a|b|\n|-|-|\n|`1`|**2**|", "a │ b\n────────────────────\n1 │ 2\n"),
            ("<b>x</b> `y` `z`", "<b>x</b> y z\n"),
        ] {
            assert_eq!(shown(text, 20), expected, "{text}");
        }
    }

    #[test]
    fn org_is_read_by_its_lines() {
        for (text, expected) in [
            (" * Tiles\nOrder *ten* now.", "* Tiles\nOrder ten now."),
            ("- one two three four\n  more", "- one two three\n  four\n  more"),
            (",#+begin_src sh\nls =x=\n,#+end_src", ",#+begin_src sh\n│ ls =x=\n,#+end_src"),
            ("[[id:abc][Tiles]] and [[https://e.org][e]]", "Tiles and e\n(https://e.org)"),
            ("a/b/c =not closed and 2*3*4", "a/b/c =not closed\nand 2*3*4"),
            ("| a | b |", "| a | b |"),
        ] {
            assert_eq!(shown(text, 18), expected, "{text}");
        }
    }

    #[test]
    fn what_would_steer_a_terminal_is_shown_as_an_escape() {
        for text in ["\u{1b}[2J", "**x** \u{1b}]0;t\u{7}", "a\u{202e}b", "`\u{9b}31m`", "x\r\ny \u{0}"] {
            let shown = shown(text, 60);
            assert!(!shown.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{shown:?}");
            assert!(shown.contains("\\u{"), "{shown:?}");
        }
    }

    #[test]
    fn deep_and_odd_text_ends_in_narrow_and_wide_windows() {
        let deep = format!("{}x", "> ".repeat(500));
        let nested: String = (0..200).map(|n| format!("{}- **x**\n", " ".repeat(n * 2))).collect();
        for text in [deep.as_str(), &nested, "**", "[[", "[[]]", "*", "`` ` ``", "|", "\n\n\n", "漢字`漢`漢字`"] {
            for width in [1, 2, 5, 80] {
                let _ = lines(text, width, Theme::Dark);
            }
        }
    }
}
