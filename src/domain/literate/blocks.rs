//! Finds the blocks of an Org text, as Org does, and what of them is not balanced.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// Blocks whose text is no Org: only their own end ends them.
const RAW: [&str; 5] = ["src", "example", "export", "comment", "verse"];
/// Lines that belong to the block below them.
const LEADING: [&str; 6] = ["name", "header", "headers", "caption", "plot", "results"];

/// One block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Where that line begins, in bytes.
    pub begin: usize,
    /// What kind it is, in lower case: `src`, `quote`.
    pub kind: String,
    /// What else stands on the line on which it begins.
    pub args: &'a str,
    /// Where its text stands, in bytes.
    pub body: Range<usize>,
    /// What `#+NAME:` above it says.
    pub name: Option<&'a str>,
    /// What `#+HEADER:` lines above it say, in order.
    pub headers: Vec<&'a str>,
}

impl<'a> Block<'a> {
    /// Returns the language of a source block.
    pub fn language(&self) -> Option<&'a str> {
        (self.kind == "src").then(|| self.args.split_whitespace().next()).flatten()
    }

    /// Returns whether it is a source block of Emacs Lisp.
    pub fn is_emacs_lisp(&self) -> bool {
        matches!(self.language(), Some("emacs-lisp" | "elisp"))
    }

    /// Returns its text without the commas that keep its lines from being Org.
    pub fn code<'t>(&self, text: &'t str) -> Cow<'t, str> {
        unescaped(text.get(self.body.clone()).unwrap_or(""))
    }
}

/// The blocks of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks<'a> {
    /// Those that begin and end, in order of their ends.
    pub blocks: Vec<Block<'a>>,
    /// What does not fit together: the line, from 1, and what it is.
    pub problems: Vec<(usize, String)>,
}

/// A block that is open.
struct Opened<'a> {
    block: Block<'a>,
    raw: bool,
}

/// Returns the blocks of an Org text.
pub fn blocks(text: &str) -> Blocks<'_> {
    let mut scan = Scan { found: Blocks::default(), open: Vec::new(), name: None, headers: Vec::new() };
    // Of each kind, up to which line it is known that no block of it ends.
    let mut endless: HashMap<String, usize> = HashMap::new();
    let lines: Vec<(usize, &str)> = lines(text).collect();
    let mut raw_until = None;
    for (number, (at, line)) in lines.iter().enumerate() {
        let (at, line) = (*at, *line);
        let here = line.trim_matches([' ', '\t', '\r']);
        if raw_until.is_some_and(|end| number < end) {
            continue;
        }
        if is_heading(line) {
            scan.end_all(Some(number + 1));
            continue;
        }
        if let Some(rest) = keyword(here, "#+begin_") {
            let (kind, args) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
            let kind = kind.to_ascii_lowercase();
            let raw = RAW.contains(&kind.as_str());
            let body = lines.get(number + 1).map_or(text.len(), |(next, _)| *next);
            let (name, headers) = (scan.name.take(), std::mem::take(&mut scan.headers));
            let block = Block { line: number + 1, begin: at, kind, args: args.trim(), body: body..body, name, headers };
            if raw {
                let known = endless.get(&block.kind).is_some_and(|until| number < *until);
                let end = if known { Err(0) } else { end_of(&lines, number + 1, &block.kind) };
                match end {
                    Ok(end) => raw_until = Some(end),
                    Err(until) => {
                        let until = endless.get(&block.kind).copied().unwrap_or(0).max(until);
                        endless.insert(block.kind.clone(), until);
                        let last = lines.get(until.saturating_sub(1)).filter(|(_, line)| !known && is_heading(line));
                        scan.unclosed(&block, last.map(|_| until));
                        continue;
                    }
                }
            }
            scan.open.push(Opened { block, raw });
            continue;
        }
        if let Some(kind) = keyword(here, "#+end_") {
            scan.close(number, at, &kind.to_ascii_lowercase());
            continue;
        }
        scan.leading(here);
    }
    scan.end_all(None);
    scan.found.problems.sort();
    scan.found
}

struct Scan<'a> {
    found: Blocks<'a>,
    open: Vec<Opened<'a>>,
    name: Option<&'a str>,
    headers: Vec<&'a str>,
}

impl<'a> Scan<'a> {
    /// Takes a line that is none of a block: it may belong to the block below it.
    fn leading(&mut self, line: &'a str) {
        let said = line.strip_prefix("#+").and_then(|rest| rest.split_once(':'));
        match said.map(|(key, value)| (key.to_ascii_lowercase(), value.trim())) {
            Some((key, value)) if key == "name" => self.name = Some(value),
            Some((key, value)) if key == "header" || key == "headers" => self.headers.push(value),
            Some((key, _))
                if LEADING.contains(&key.as_str()) || key.starts_with("attr_") || key.starts_with("results[") => {}
            _ => {
                self.name = None;
                self.headers.clear();
            }
        }
    }

    fn close(&mut self, number: usize, at: usize, kind: &str) {
        (self.name, self.headers) = Default::default();
        let Some(depth) = self.open.iter().rposition(|open| open.block.kind == kind) else {
            return self.problem(number, format!("#+end_{kind} ends no block"));
        };
        // What is open inside of it does not end.
        for inner in self.open.split_off(depth + 1) {
            self.unclosed(&inner.block, None);
        }
        if let Some(Opened { block, .. }) = self.open.pop() {
            let body = block.body.start..at.max(block.body.start);
            self.found.blocks.push(Block { body, ..block });
        }
    }

    /// A heading, on such a line, or the end of the text ends whatever is open.
    fn end_all(&mut self, heading: Option<usize>) {
        (self.name, self.headers) = Default::default();
        for open in std::mem::take(&mut self.open) {
            // Of a raw block the end was found before it was opened.
            if !open.raw {
                self.unclosed(&open.block, heading);
            }
        }
    }

    fn unclosed(&mut self, block: &Block<'a>, heading: Option<usize>) {
        let by = heading
            .map(|line| format!("; the heading in line {line} would end it (in code, write a comma before the star)"));
        self.problem(block.line - 1, format!("#+begin_{} is not ended{}", block.kind, by.unwrap_or_default()));
    }

    fn problem(&mut self, number: usize, what: String) {
        self.found.problems.push((number + 1, what));
    }
}

/// Returns the line that ends a block, or that up to which nothing does.
fn end_of(lines: &[(usize, &str)], from: usize, kind: &str) -> Result<usize, usize> {
    for (number, (_, line)) in lines.iter().enumerate().skip(from) {
        if is_heading(line) {
            return Err(number + 1);
        }
        let here = line.trim_matches([' ', '\t', '\r']);
        if keyword(here, "#+end_").is_some_and(|end| end.eq_ignore_ascii_case(kind)) {
            return Ok(number);
        }
    }
    Err(lines.len())
}

fn is_heading(line: &str) -> bool {
    line.starts_with('*') && line.trim_start_matches('*').starts_with(' ')
}

/// Returns what follows a word that a line begins with, in whatever case.
fn keyword<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let rest = line.get(word.len()..)?;
    line.get(..word.len())
        .filter(|begin| begin.eq_ignore_ascii_case(word))
        .map(|_| rest)
        .filter(|rest| !rest.is_empty())
}

/// Returns where each line begins, and the line without what ends it.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let begin = *at;
        *at += line.len();
        Some((begin, line.strip_suffix('\n').unwrap_or(line)))
    })
}

/// Returns a text without the first comma before each `*` and `#+` that a line begins with.
pub fn unescaped(text: &str) -> Cow<'_, str> {
    let escape = |line: &str| {
        let inner = line.trim_start_matches([' ', '\t']);
        let rest = inner.trim_start_matches(',');
        (rest.len() < inner.len() && (rest.starts_with('*') || rest.starts_with("#+")))
            .then(|| line.len() - rest.len() - 1)
    };
    if !text.split('\n').any(|line| escape(line).is_some()) {
        return Cow::Borrowed(text);
    }
    let line = |line: &str| match escape(line) {
        Some(at) => [line.get(..at).unwrap_or(""), line.get(at + 1..).unwrap_or("")].concat(),
        None => line.to_string(),
    };
    Cow::Owned(text.split('\n').map(line).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_are_found_with_what_belongs_to_them() {
        let text = "#+NAME: one\n#+HEADER: :tangle a.el\n  #+begin_src emacs-lisp :var x=1\n  (a)\n  ,* b\n  #+END_SRC\n\
                    #+BEGIN_quote\n#+begin_example\n#+begin_src c\n* no heading\n";
        let text = text.replace("* no heading\n", "#+end_example\n#+end_quote\n");
        let found = blocks(&text);
        assert_eq!(found.problems, []);
        let kinds: Vec<(&str, usize)> = found.blocks.iter().map(|block| (block.kind.as_str(), block.line)).collect();
        assert_eq!(kinds, [("src", 3), ("example", 8), ("quote", 7)]);
        let one = &found.blocks[0];
        assert_eq!(
            (one.name, one.headers.as_slice(), one.args),
            (Some("one"), &[":tangle a.el"][..], "emacs-lisp :var x=1")
        );
        assert_eq!(one.code(&text), "  (a)\n  * b\n");
        assert!(one.is_emacs_lisp());
    }

    #[test]
    fn what_is_not_balanced_is_named_with_its_line() {
        for (text, problems) in [
            ("#+begin_src c\nx\n", vec![(1, "#+begin_src is not ended")]),
            ("x\n#+end_src\n", vec![(2, "#+end_src ends no block")]),
            (
                "#+begin_src org\n* A\n#+end_src\n",
                vec![
                    (
                        1,
                        "#+begin_src is not ended; the heading in line 2 would end it (in code, write a comma before the star)",
                    ),
                    (3, "#+end_src ends no block"),
                ],
            ),
            ("#+begin_quote\n#+begin_center\n#+end_quote\n", vec![(2, "#+begin_center is not ended")]),
            (
                "#+begin_quote\n\n* A\n",
                vec![(
                    1,
                    "#+begin_quote is not ended; the heading in line 3 would end it (in code, write a comma before the star)",
                )],
            ),
            ("#+begin_src c\n#+end_example\n#+end_src\n", vec![]),
            ("#+begin_src\n#+begin_src\n", vec![(1, "#+begin_src is not ended"), (2, "#+begin_src is not ended")]),
        ] {
            let expected: Vec<(usize, String)> =
                problems.into_iter().map(|(line, what)| (line, what.to_string())).collect();
            assert_eq!(blocks(text).problems, expected, "{text}");
        }
    }

    proptest! {
        /// Whatever a text is, its blocks lie in it, and each end and each begin is a block's or is named.
        #[test]
        fn every_begin_and_every_end_is_a_blocks_or_is_named(
            lines in proptest::collection::vec(
                proptest::sample::select(vec!["#+begin_src c", "#+end_src", "#+begin_quote", "#+END_QUOTE", "* A", "x", "#+NAME: n", "  #+begin_src"]),
                0..20,
            ),
        ) {
            let text = lines.join("\n");
            let found = blocks(&text);
            for block in &found.blocks {
                prop_assert!(text.get(block.begin..block.body.start).is_some() && text.get(block.body.clone()).is_some());
            }
            let inside = |line: usize| found.blocks.iter().any(|block| {
                let raw = block.kind == "src";
                let first = block.line;
                let last = text.get(..block.body.end).unwrap_or("").matches('\n').count() + 1;
                raw && first < line && line < last
            });
            for (at, line) in lines.iter().enumerate() {
                let number = at + 1;
                if inside(number) || !line.trim_start().starts_with("#+begin") {
                    continue;
                }
                let is_block = found.blocks.iter().any(|block| block.line == number);
                prop_assert!(is_block != found.problems.iter().any(|(known, _)| *known == number), "{} {:?}", number, found);
            }
        }
    }
}
