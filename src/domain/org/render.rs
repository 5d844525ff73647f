//! Org as plain text for people: links as their words, markup taken away, drawers, comments and keywords left out.
//!
//! It follows what Org's export to plain text shows, without its boxes and its filling of paragraphs. One pass over the
//! lines, one over each paragraph.

use super::lines::bullet;
use super::link::{Form, links};
use super::section::{line_at, starts_with_fold};
use std::collections::HashSet;
use std::ops::Range;

/// What stands before the lines of code and examples.
const INDENT: &str = "    ";
/// What a title is underlined with, by its depth; deeper ones are not.
const RULES: [char; 3] = ['=', '-', '~'];
/// The characters of emphasis; what stands between the last two is taken as it is.
const MARKERS: [char; 6] = ['*', '/', '_', '+', '=', '~'];

/// Returns a title as it stands above its text, `depth` levels below the first one.
pub fn title(keyword: Option<&str>, title: &str, tags: &str, depth: usize) -> String {
    let line = line(keyword, title, tags);
    match RULES.get(depth) {
        Some(rule) => format!("{line}\n{}\n", rule.to_string().repeat(line.chars().count())),
        None => format!("{line}\n"),
    }
}

/// Returns a title on a line.
pub fn line(keyword: Option<&str>, title: &str, tags: &str) -> String {
    let words = words(title);
    let parts = [keyword.unwrap_or(""), words.trim(), tags];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns the text below a heading, without planning line and property drawer, as plain text.
pub fn body(text: &str) -> String {
    let mut page = Page::default();
    // A kind of block or drawer of which no end was found has none further down either.
    let mut endless: HashSet<String> = HashSet::new();
    let mut at = 0;
    while at < text.len() {
        let (end, next) = line_at(text, at, text.len());
        let raw = text.get(at..end).unwrap_or_default().trim_end_matches('\r');
        let line = raw.trim_matches([' ', '\t']);
        at = next;
        if let Some((kind, closes)) = opens(line).filter(|(_, closes)| !endless.contains(closes)) {
            if let Some((inside, behind)) = until(text, next, &closes) {
                page.block(kind, text.get(inside).unwrap_or_default());
                at = behind;
                continue;
            }
            endless.insert(closes);
        }
        match line.as_bytes() {
            [] => page.blank(),
            [b'#'] | [b'#', b' ', ..] => page.flush(),
            [b'#', b'+', ..] if is_mark(line) => page.flush(),
            [b':', b' ', ..] | [b':'] => page.fixed(line.get(2..).unwrap_or_default()),
            [b'|', ..] => page.alone(raw),
            _ if starts_with_fold(line, "CLOCK:") => page.flush(),
            _ if bullet(raw) > 0 => page.begin(raw),
            _ => page.text(raw),
        }
    }
    page.finish()
}

/// What becomes of what stands between two lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// It is shown as it stands.
    Verbatim,
    /// It is left out.
    Nothing,
}

/// Returns what a trimmed line opens whose contents are no Org, with the line that closes it, in small letters.
fn opens(line: &str) -> Option<(Kept, String)> {
    if starts_with_fold(line, "#+begin_") {
        let name = line.get(8..)?.split([' ', '\t']).next()?.to_ascii_lowercase();
        let kept = match name.as_str() {
            "src" | "example" => Kept::Verbatim,
            "comment" | "export" => Kept::Nothing,
            _ => return None,
        };
        return Some((kept, format!("#+end_{name}")));
    }
    let name = line.strip_prefix(':')?.strip_suffix(':')?;
    let part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let drawer = !name.is_empty() && name.chars().all(part) && !name.eq_ignore_ascii_case("end");
    drawer.then(|| (Kept::Nothing, ":end:".to_owned()))
}

/// Returns what stands before the first line that closes, and where the line behind that begins.
fn until(text: &str, from: usize, closes: &str) -> Option<(Range<usize>, usize)> {
    let mut at = from;
    while at < text.len() {
        let (end, next) = line_at(text, at, text.len());
        let line = text.get(at..end).unwrap_or_default().trim_matches([' ', '\t', '\r']);
        if line.eq_ignore_ascii_case(closes) {
            return Some((from..at, next));
        }
        at = next;
    }
    None
}

/// Returns whether a line that begins with `#+` is a keyword, or the begin or end of a block whose contents are Org.
fn is_mark(line: &str) -> bool {
    let word = line.split([' ', '\t']).next().unwrap_or_default();
    word.get(2..).is_some_and(|word| word.contains(':') || ["begin_", "end_"].iter().any(|s| starts_with_fold(word, s)))
}

/// What is written so far.
#[derive(Default)]
struct Page {
    out: String,
    /// The lines of the paragraph that is not written yet.
    paragraph: String,
    /// Whether an empty line is due before what comes next.
    gap: bool,
}

impl Page {
    fn text(&mut self, line: &str) {
        if !self.paragraph.is_empty() {
            self.paragraph.push('\n');
        }
        self.paragraph.push_str(line.trim_end().trim_end_matches("\\\\"));
    }

    /// Begins a paragraph at a line.
    fn begin(&mut self, line: &str) {
        self.flush();
        self.text(line);
    }

    fn alone(&mut self, line: &str) {
        self.begin(line);
        self.flush();
    }

    fn fixed(&mut self, line: &str) {
        self.flush();
        self.put(&format!("{INDENT}{line}"));
    }

    fn blank(&mut self) {
        self.flush();
        self.gap = true;
    }

    fn block(&mut self, kept: Kept, inside: &str) {
        self.flush();
        if kept == Kept::Verbatim {
            for line in inside.lines() {
                let bare = line.trim_start_matches([' ', '\t']);
                // Org puts a comma before what would be a heading or a keyword.
                let escaped =
                    bare.trim_start_matches(',').starts_with(['*']) || bare.trim_start_matches(',').starts_with("#+");
                let indent = line.get(..line.len() - bare.len()).unwrap_or_default();
                let bare = if escaped { bare.strip_prefix(',').unwrap_or(bare) } else { bare };
                self.put(&format!("{INDENT}{indent}{bare}"));
            }
        }
    }

    fn put(&mut self, lines: &str) {
        if self.gap && !self.out.is_empty() {
            self.out.push('\n');
        }
        self.gap = false;
        self.out.push_str(lines.trim_end());
        self.out.push('\n');
    }

    fn flush(&mut self) {
        if !self.paragraph.is_empty() {
            let paragraph = std::mem::take(&mut self.paragraph);
            self.put(&words(&paragraph));
        }
    }

    fn finish(mut self) -> String {
        self.flush();
        self.out
    }
}

/// Returns a paragraph or a title without markup, links as their words.
pub fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // What is no text of people, and has no markup.
    let mut opaque: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    for link in links(text) {
        out.push_str(text.get(at..link.range.start).unwrap_or_default());
        at = link.range.end;
        let begin = out.len();
        match (link.form, link.description) {
            (Form::Bracket, Some(words)) => out.push_str(text.get(words).unwrap_or_default()),
            (Form::Bracket, None) => out.push_str(inner(text, &link.range, 2)),
            (Form::Angle, _) => out.push_str(inner(text, &link.range, 1)),
            (Form::Plain, _) => out.push_str(text.get(link.range.clone()).unwrap_or_default()),
        }
        if link.form != Form::Bracket || !text.get(link.range).is_some_and(|link| link.contains("][")) {
            opaque.push(begin..out.len());
        }
    }
    out.push_str(text.get(at..).unwrap_or_default());
    without_emphasis(&out, &opaque)
}

fn inner<'a>(text: &'a str, range: &Range<usize>, brackets: usize) -> &'a str {
    text.get(range.start + brackets..range.end.saturating_sub(brackets)).unwrap_or_default()
}

/// Takes the characters away that emphasise, as Org's usual settings read them: over at most one line end.
fn without_emphasis(text: &str, opaque: &[Range<usize>]) -> String {
    if !text.contains(MARKERS) {
        return text.to_owned();
    }
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let ends: Vec<usize> = chars.iter().enumerate().filter(|(_, (_, c))| *c == '\n').map(|(at, _)| at).collect();
    let at = |index: usize| chars.get(index).map(|(_, c)| *c);
    let hidden = |index: usize| {
        let byte = chars.get(index).map_or(0, |(byte, _)| *byte);
        let before = opaque.partition_point(|range| range.end <= byte);
        opaque.get(before).is_some_and(|range| range.contains(&byte))
    };
    let solid = |index: usize| at(index).is_some_and(|c| !c.is_whitespace());
    let before = |index: usize| match index.checked_sub(1).and_then(at) {
        None => true,
        Some(c) => c.is_whitespace() || matches!(c, '-' | '–' | '—' | '(' | '\'' | '"' | '{') || MARKERS.contains(&c),
    };
    let behind = |index: usize| match at(index + 1) {
        None => true,
        Some(c) => c.is_whitespace() || "-–—.,:!?;'\")}[\\".contains(c) || MARKERS.contains(&c),
    };
    let mut gone = vec![false; chars.len()];
    // Up to where no end of such an emphasis stands, or the one that is open ends.
    let mut looked = [0usize; MARKERS.len()];
    let mut open = [0usize; MARKERS.len()];
    let mut index = 0;
    while index < chars.len() {
        let marker = at(index).and_then(|c| MARKERS.iter().position(|marker| *marker == c));
        let begins = marker.filter(|kind| {
            open.get(*kind).is_none_or(|end| index >= *end) && before(index) && solid(index + 1) && !hidden(index)
        });
        let Some(kind) = begins else {
            index += 1;
            continue;
        };
        let limit = ends.get(ends.partition_point(|end| *end <= index) + 1).copied().unwrap_or(chars.len());
        let from = looked.get(kind).copied().unwrap_or(0).max(index + 2);
        let closes = |end: &usize| at(*end) == at(index) && solid(end - 1) && behind(*end) && !hidden(*end);
        match (from..limit).find(closes) {
            Some(end) => {
                for place in [index, end] {
                    gone[place] = true;
                }
                open[kind] = end + 1;
                // Code and what is verbatim has no markup of its own.
                index = if kind >= 4 { end } else { index };
            }
            None => looked[kind] = limit,
        }
        index += 1;
    }
    chars.iter().zip(&gone).filter(|(_, gone)| !**gone).map(|((_, c), _)| *c).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_links_become_words() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a *bold* word, /slanted/ and =code=.", "a bold word, slanted and code."),
            ("*/both/* and *two _levels_ deep*", "both and two levels deep"),
            ("2 * 3 * 4, a_b_c, snake_case_name, 1/2/3", "2 * 3 * 4, a_b_c, snake_case_name, 1/2/3"),
            ("=a *b* c= ~/x/~", "a *b* c /x/"),
            ("*over\none line* end", "over\none line end"),
            ("*over\ntwo\nlines*", "*over\ntwo\nlines*"),
            ("see [[id:x][the *boat*]].", "see the boat."),
            ("see *[[id:x][the boat]]*", "see the boat"),
            (
                "[[https://a.example/_x_/][here]] [[./a_b.org]] <mailto:a@b.example>",
                "here ./a_b.org mailto:a@b.example",
            ),
            ("https://a.example/*x*/y", "https://a.example/*x*/y"),
            ("(*x*) \"/y/\" +gone+", "(x) \"y\" gone"),
            ("* not*", "* not*"),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_about_the_text_is_left_out_and_code_is_kept() {
        for (text, expected) in [
            ("\n\nOne.\n\n\n\nTwo.\n", "One.\n\nTwo.\n"),
            (":LOGBOOK:\nCLOCK: [2026-11-20 Fri 10:00]\n:END:\nText.\nCLOCK: [x]\n# note\n#+NAME: n\n", "Text.\n"),
            (":NOTES:\nOpen *x*\n", ":NOTES:\nOpen x\n"),
            ("#+begin_src sh :results none\nls *x*\n,* star\n#+end_src\n", "    ls *x*\n    * star\n"),
            ("#+begin_quote\nSaid *so*.\n#+end_quote\n", "Said so.\n"),
            ("#+begin_comment\nno\n#+end_comment\n#+BEGIN_EXPORT html\nno\n#+END_EXPORT\nyes\n", "yes\n"),
            ("#+begin_src sh\nls\n", "ls\n"),
            (": fixed *x*\n", "    fixed *x*\n"),
            ("- one *x*\n- two\n  more /y/\n", "- one x\n- two\n  more y\n"),
            ("| *a* | b |\n|---+---|\n", "| a | b |\n|---+---|\n"),
        ] {
            assert_eq!(body(text), expected, "{text:?}");
        }
        assert_eq!(title(Some("TODO"), "The [[id:x][boat]]", ":a:", 0), "TODO The boat :a:\n=================\n");
        assert_eq!(title(None, "Deep", "", 5), "Deep\n");
    }

    #[test]
    fn hostile_text_takes_one_pass() {
        for text in ["*a ".repeat(60_000), "=a\n".repeat(60_000), "[[".repeat(60_000), ":a:\n".repeat(60_000)] {
            assert!(!body(&text).is_empty(), "{}", text.get(..10).unwrap_or(""));
        }
        assert_eq!(body(&"#+begin_src\n".repeat(60_000)), "");
    }
}
