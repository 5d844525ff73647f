//! Looks word by word whether markup is open, and which parts of a text must stay as they are.

/// So much may be open at once; what opens more is taken for words.
const DEEPEST: usize = 32;

/// What is open in a paragraph.
#[derive(Debug)]
enum Open {
    /// Code behind so many backticks.
    Code(usize),
    /// `*`, `_` or `~~`.
    Mark(char),
    /// The words of a link.
    Bracket,
    /// Where a link leads, in so many parentheses.
    Target(usize),
    /// What begins here and stays as it is up to its end: a formula, a link or code of Org.
    Kept(usize, &'static str),
}

/// Looks at a run of words, each byte once.
#[derive(Default)]
pub(super) struct Scan {
    open: Vec<Open>,
    /// How far the run was looked at.
    at: usize,
    /// What stays as it is.
    pub(super) kept: Vec<(usize, usize)>,
    /// Whether something of it is written as Org writes it.
    pub(super) is_org: bool,
}

impl Scan {
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether a backslash means itself here.
    pub(super) fn is_in_code(&self) -> bool {
        matches!(self.open.last(), Some(Open::Code(_) | Open::Kept(..)))
    }

    /// Looks at what has been added to a run that ends with a whole word.
    pub(super) fn look(&mut self, run: &str) {
        let mut at = self.at;
        while at < run.len() {
            at = self.step(run, at);
        }
        self.at = at;
    }

    /// Forgets what stood behind a place.
    pub(super) fn cut(&mut self, at: usize) {
        self.at = self.at.min(at);
        self.kept.retain(|(_, end)| *end <= at);
    }

    /// Looks at what stands at a place, and returns where the next stands.
    fn step(&mut self, run: &str, at: usize) -> usize {
        let rest = run.get(at..).unwrap_or("");
        let Some(c) = rest.chars().next() else { return run.len() };
        match self.open.last_mut() {
            Some(Open::Code(ticks)) => match rest.find('`') {
                None => run.len(),
                Some(from) => {
                    let count = length_of(rest.get(from..).unwrap_or(""), '`');
                    if count == *ticks {
                        self.open.pop();
                    }
                    at + from + count
                }
            },
            Some(Open::Kept(from, close)) => {
                let (from, close) = (*from, *close);
                match closed(run, at.max(from + 1), close) {
                    None => run.len(),
                    Some(end) => {
                        self.open.pop();
                        self.keep(from, end, close != "\\)" && close != "\\]" && close != "$");
                        end
                    }
                }
            }
            Some(Open::Target(depth)) => {
                match c {
                    '(' => *depth += 1,
                    ')' if *depth == 0 => drop(self.open.pop()),
                    ')' => *depth -= 1,
                    _ => {}
                }
                at + c.len_utf8()
            }
            Some(Open::Mark(_) | Open::Bracket) | None => self.open_step(run, at, c),
        }
    }

    /// Looks at what stands where markup counts.
    fn open_step(&mut self, run: &str, at: usize, c: char) -> usize {
        let rest = run.get(at..).unwrap_or("");
        let before = run.get(..at).and_then(|text| text.chars().next_back());
        let next = rest.chars().nth(1);
        match c {
            '\\' => match next {
                Some('(') => self.begin(Open::Kept(at, "\\)"), at + 2),
                Some('[') => self.begin(Open::Kept(at, "\\]"), at + 2),
                Some(escaped) => at + 1 + escaped.len_utf8(),
                None => at + 1,
            },
            '`' => {
                let count = length_of(rest, '`');
                self.begin(Open::Code(count), at + count)
            }
            '*' | '_' | '~' if c != '~' || next == Some('~') => self.mark(run, at, c),
            '=' | '~' if is_before(before) && next.is_some_and(|n| n != c && !n.is_whitespace()) => {
                self.begin(Open::Kept(at, if c == '=' { "=" } else { "~" }), at + 1)
            }
            '[' if next == Some('[') => self.begin(Open::Kept(at, "]]"), at + 2),
            '[' => self.begin(Open::Bracket, at + 1),
            ']' => {
                if let Some(opened) = self.open.iter().rposition(|open| matches!(open, Open::Bracket)) {
                    self.open.truncate(opened);
                    if next == Some('(') {
                        return self.begin(Open::Target(0), at + 2);
                    }
                }
                at + 1
            }
            '$' if is_formula(rest) => self.begin(Open::Kept(at, "$"), at + 1),
            'h' if !self.is_in_link() && (rest.starts_with("http://") || rest.starts_with("https://")) => {
                let word = rest.split([' ', '\t', '\n', '<', '>', '[', ']', '`', '|', '"']).next().unwrap_or("");
                let end = at + word.trim_end_matches(['*', '_', '~', ')', '\'', '.', ',', ';', ':', '!', '?']).len();
                self.keep(at, end, false);
                end.max(at + 1)
            }
            _ => at + c.len_utf8(),
        }
    }

    fn is_in_link(&self) -> bool {
        self.open.iter().any(|open| matches!(open, Open::Bracket))
    }

    fn begin(&mut self, open: Open, next: usize) -> usize {
        if self.open.len() < DEEPEST {
            self.open.push(open);
        }
        next
    }

    fn keep(&mut self, from: usize, end: usize, of_org: bool) {
        self.is_org |= of_org;
        if end > from {
            self.kept.push((from, end));
        }
    }

    /// A run of marks: it closes what the same mark opened, or opens.
    fn mark(&mut self, run: &str, at: usize, mark: char) -> usize {
        let count = length_of(run.get(at..).unwrap_or(""), mark);
        let before = run.get(..at).and_then(|text| text.chars().next_back());
        let next = run.get(at + count..).and_then(|text| text.chars().next());
        let (after_word, before_word) =
            (before.is_some_and(|c| !c.is_whitespace()), next.is_some_and(|c| !c.is_whitespace()));
        let inside = before.is_some_and(char::is_alphanumeric) && next.is_some_and(char::is_alphanumeric);
        let opened = self.open.iter().rposition(|open| matches!(open, Open::Mark(c) if *c == mark));
        match opened {
            Some(opened) if after_word && !(inside && mark == '_') => self.open.truncate(opened),
            Some(_) | None if before_word && !inside => return self.begin(Open::Mark(mark), at + count),
            Some(_) | None => {}
        }
        at + count
    }
}

/// Returns how many of a character a text begins with; it is one byte long.
fn length_of(text: &str, c: char) -> usize {
    text.len() - text.trim_start_matches(c).len()
}

/// Returns where what is kept ends, behind its close.
fn closed(run: &str, from: usize, close: &str) -> Option<usize> {
    let is_code = close == "=" || close == "~";
    let found = run.get(from..)?.match_indices(close).map(|(at, _)| from + at).find(|at| {
        !is_code
            || (run.get(..*at).and_then(|text| text.chars().next_back()).is_some_and(|c| !c.is_whitespace())
                && is_behind(run.get(at + 1..).and_then(|text| text.chars().next())))
    })?;
    Some(found + close.len())
}

/// Whether a formula begins with a dollar, and not a price or a variable of the shell.
fn is_formula(rest: &str) -> bool {
    let mut chars = rest.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => true,
        (Some(c), next) => c.is_ascii_alphabetic() && next.is_none_or(|n| !n.is_alphanumeric()),
        (None, _) => false,
    }
}

/// Whether Org lets markup begin behind this.
pub(super) fn is_before(c: Option<char>) -> bool {
    c.is_none_or(|c| c.is_whitespace() || "-–—('\"{".contains(c))
}

/// Whether Org lets markup end before this.
pub(super) fn is_behind(c: Option<char>) -> bool {
    c.is_none_or(|c| c.is_whitespace() || "-–—.,;:!?'\")}\\[".contains(c))
}
