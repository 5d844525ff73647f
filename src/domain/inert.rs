//! Makes text of models, tools and notes inert before it enters a buffer or a plan.
//!
//! In an Org buffer such text must never be a heading, keyword, drawer, planning line, local variable,
//! block that runs, active timestamp, or link of a kind that runs: whatever could be is broken up by one
//! visible character.  Control and bidirectional characters are shown as escapes.

/// Returns text for an Org buffer: every line inert, control and bidirectional characters as escapes.
pub fn inert(text: &str) -> String {
    let mut stream = Inert::default();
    let mut out = stream.push(text);
    out.push_str(&stream.finish());
    out
}

/// Returns text for a human who must judge it exactly: control, bidirectional, invisible and look-alike
/// characters as `\u{…}` escapes, line breaks and tabs kept.
pub fn exact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in words(text) {
        let disguised = is_disguised(word);
        for c in word.chars() {
            if (c != '\n' && c != '\t' && is_hidden(c)) || is_odd_space(c) || (disguised && !c.is_ascii()) {
                escape(c, &mut out);
            } else {
                out.push(c);
            }
        }
    }
    out
}

/// Makes streamed text inert: what could still become something else is held back until it cannot.
#[derive(Default)]
pub struct Inert {
    /// The current line as it came, without what was already given out.
    line: String,
    /// How many bytes of the line's start were given out as they stand.
    given: usize,
}

/// A line longer than this is cut at white space, so that what is held back stays bounded.
const LONGEST: usize = 16 * 1024;

impl Inert {
    /// Takes more text and returns what is safe to show now.
    pub fn push(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for piece in text.split_inclusive('\n') {
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                self.end_line(&mut out);
            } else if self.line.len() > LONGEST {
                self.cut(&mut out);
            }
        }
        self.give_plain(&mut out);
        out
    }

    /// Returns what was held back.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        if !self.line.is_empty() {
            self.end_line(&mut out);
        }
        out
    }

    fn end_line(&mut self, out: &mut String) {
        let safe = inert_line(self.line.trim_end_matches('\n').trim_end_matches('\r'));
        out.push_str(safe.get(self.given..).unwrap_or(""));
        if self.line.ends_with('\n') {
            out.push('\n');
        }
        self.line.clear();
        self.given = 0;
    }

    /// Cuts an overlong line at its last white space; both halves are made inert on their own,
    /// and an unclosed link is broken up in either.
    fn cut(&mut self, out: &mut String) {
        let at = self.line.rfind([' ', '\t']).map_or(self.line.len(), |at| at + 1).max(self.given);
        let rest = self.line.split_off(at);
        self.end_line(out);
        self.line = rest;
    }

    /// Gives out whole words at the line's start that no rule below can touch.
    fn give_plain(&mut self, out: &mut String) {
        let plain = self.line.find(|c: char| !is_plain(c)).unwrap_or(self.line.len());
        let Some(end) = self.line.get(..plain).and_then(|s| s.rfind(' ')).map(|at| at + 1) else { return };
        let starts = self.line.get(..end).is_some_and(|s| !s.trim().is_empty());
        if starts && end > self.given {
            out.push_str(self.line.get(self.given..end).unwrap_or(""));
            self.given = end;
        }
    }
}

/// Characters that begin nothing: a prefix of them stays as it is whatever follows.
fn is_plain(c: char) -> bool {
    (c.is_alphanumeric() && !is_hidden(c)) || matches!(c, ' ' | ',' | '.' | ';' | '\'' | '"' | '!' | '?' | '(' | ')')
}

/// Returns one line, without its line break, made inert.
fn inert_line(line: &str) -> String {
    let mut out = String::with_capacity(line.len() + 8);
    let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
    let (indent, text) = line.split_at(blank);
    if blank == 0 && begins_heading(text) {
        out.push(' ');
    }
    out.push_str(indent);
    if text.starts_with("#+") || text.starts_with("%%(") || is_drawer_line(text) {
        out.push(',');
    }
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let before = text.get(..text.len() - rest.len()).unwrap_or("");
        let used = break_up(rest, before, &mut out).unwrap_or_else(|| {
            if is_hidden(c) && !is_joiner(c) && c != '\t' {
                escape(c, &mut out)
            } else {
                out.push(c)
            }
            c.len_utf8()
        });
        rest = rest.get(used..).unwrap_or("");
    }
    out
}

fn begins_heading(text: &str) -> bool {
    let stars = text.len() - text.trim_start_matches('*').len();
    stars > 0 && text.get(stars..).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// A line such as `:PROPERTIES:`, `:END:` or `:ID: x`.
fn is_drawer_line(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(':') else { return false };
    let Some(end) = rest.find(':') else { return false };
    end > 0
        && !rest[..end].contains([' ', '\t'])
        && rest.get(end + 1..).is_some_and(|r| r.is_empty() || r.starts_with([' ', '\t']))
}

/// Breaks up what stands at the start of `rest`, if it could become something.
/// Returns how many bytes were taken.
fn break_up(rest: &str, before: &str, out: &mut String) -> Option<usize> {
    let word_starts = before.chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
    match rest.as_bytes().first()? {
        b'[' if rest.starts_with("[[") => {
            if allowed_link(rest) {
                out.push_str("[[");
                return Some(2);
            }
            out.push_str("[ ");
            Some(1)
        }
        b'[' if rest.get(..4).is_some_and(|s| s.eq_ignore_ascii_case("[fn:")) => {
            out.push_str("[fn :");
            Some(4)
        }
        b'<' if rest.starts_with("<%%") => {
            out.push_str("<% ");
            Some(2)
        }
        b'<' if is_date(rest.get(1..).unwrap_or("")) => {
            let stamp = rest.find('>').and_then(|end| rest.get(1..end)).filter(|inner| is_stamp(inner));
            match stamp {
                Some(inner) => {
                    // Behind a bracket, the new one must not make a link of two.
                    out.push_str(if out.ends_with('[') { " [" } else { "[" });
                    out.push_str(inner);
                    out.push(']');
                    Some(inner.len() + 2)
                }
                None => {
                    out.push_str("< ");
                    Some(1)
                }
            }
        }
        b'<' if rest.starts_with("<<") && rest.chars().nth(2).is_some_and(|c| c != ' ') => {
            out.push_str("< ");
            Some(1)
        }
        b'%' if rest.starts_with("%%(") => {
            out.push_str("% ");
            Some(1)
        }
        b'{' if rest.starts_with("{{{") => {
            out.push_str("{ ");
            Some(1)
        }
        b'-' if rest.starts_with("-*-") => {
            out.push_str("-* ");
            Some(2)
        }
        b':' if closes_reserved(before, rest) => {
            out.push_str(" :");
            Some(1)
        }
        _ if word_starts => break_word(rest, out),
        _ => None,
    }
}

/// Words in front of a colon that make a planning line, clock line, local variables, or a link that runs.
fn closes_reserved(before: &str, rest: &str) -> bool {
    let start = before
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '_'))
        .last()
        .map_or(before.len(), |(at, _)| at);
    let word = before.get(start..).unwrap_or("").to_ascii_lowercase();
    let behind = rest.get(1..).unwrap_or("");
    match word.as_str() {
        "scheduled" | "deadline" | "closed" | "clock" => {
            let value = behind.trim_start_matches([' ', '\t']);
            value.is_empty() || value.starts_with(['<', '[', '=']) || value.starts_with(|c: char| c.is_ascii_digit())
        }
        "variables" => before.to_ascii_lowercase().ends_with("local variables"),
        word => {
            // Between angle brackets a link may begin with white space, and go on in the next line.
            let angled = before.get(..start).is_some_and(|text| text.ends_with('<'));
            let blank = behind.is_empty() || behind.starts_with([' ', '\t']);
            (RUNS.contains(&word) && (angled || !blank)) || (word == "file" && angled && blank)
        }
    }
}

/// Org link types that run, send, or open something other than a page or a note.
const RUNS: &[&str] = &[
    "elisp",
    "shell",
    "file+sys",
    "file+emacs",
    "attachment",
    "help",
    "info",
    "news",
    "mailto",
    "mhe",
    "rmail",
    "gnus",
    "docview",
    "bbdb",
    "irc",
    "eww",
    "w3m",
    "ftp",
    "man",
    "woman",
    "orgit",
    "orgit-rev",
    "orgit-log",
    "mu4e",
    "notmuch",
    "org-protocol",
    "treemacs",
    "projectile",
];

/// `src_lang{…}`, `call_name(…)`, and files whose name makes opening them an act.
fn break_word(rest: &str, out: &mut String) -> Option<usize> {
    for (prefix, openers) in [("src_", ['{', '[']), ("call_", ['(', '['])] {
        if let Some(tail) = rest.strip_prefix(prefix) {
            let name =
                tail.len() - tail.trim_start_matches(|c: char| c != ' ' && c != '\t' && !openers.contains(&c)).len();
            if name > 0 && tail.get(name..).is_some_and(|t| t.starts_with(openers)) {
                out.push_str(prefix);
                out.push(' ');
                return Some(prefix.len());
            }
        }
    }
    if rest.get(..5).is_some_and(|s| s.eq_ignore_ascii_case("file:"))
        && !plain_file(until_blank(rest.get(5..).unwrap_or("")))
    {
        out.push_str(rest.get(..4).unwrap_or(""));
        out.push_str(" :");
        return Some(5);
    }
    None
}

fn until_blank(text: &str) -> &str {
    text.split([' ', '\t', ']']).next().unwrap_or("")
}

/// A file name that names a file of this machine and nothing more: no remote name, no search that could be Lisp.
fn plain_file(name: &str) -> bool {
    let (path, search) = name.split_once("::").unwrap_or((name, ""));
    !path.contains(':') && !path.starts_with("//") && !path.contains('%') && !search.starts_with('(')
}

/// Returns whether `[[…` begins a link to a node, a file or a page, closed on this line.
fn allowed_link(rest: &str) -> bool {
    let Some(inner) = rest.get(2..) else { return false };
    let Some(end) = inner.find(']') else { return false };
    let target = inner.get(..end).unwrap_or("");
    let Some(tail) = inner.get(end..) else { return false };
    let closed = tail.starts_with("]]")
        || tail.strip_prefix("][").is_some_and(|d| {
            d.find("]]").is_some_and(|at| {
                d.get(..at).is_some_and(|d| {
                    !d.contains(['[', ']', '<']) && !d.contains("{{{") && !is_image(d) && !has_scheme(d)
                })
            })
        });
    if !closed
        || target.contains(['[', '<'])
        || target.contains("{{{")
        || target.chars().any(|c| is_hidden(c) || is_odd_space(c))
    {
        return false;
    }
    let lower = target.to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        // A picture would be fetched in order to show it.
        return !is_image(&lower);
    }
    match lower.split_once(':') {
        Some(("id", id)) => !id.is_empty() && !id.contains("::"),
        Some(("file", name)) => plain_file(name),
        Some(_) => false,
        // A shell's test, not a link.
        None => target.starts_with(' ') && tail.starts_with("]]"),
    }
}

fn is_image(target: &str) -> bool {
    let path = target.split(['?', '#']).next().unwrap_or(target).to_ascii_lowercase();
    [".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".bmp", ".tif", ".tiff", ".xbm", ".xpm", ".pbm", ".avif"]
        .iter()
        .any(|end| path.ends_with(end))
}

/// A description that is itself a link of a kind that runs would be shown as one.
fn has_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, _)| RUNS.contains(&scheme.to_ascii_lowercase().as_str()))
}

/// Whether this can stand in a timestamp: a colon only between digits, so that no link type hides in it.
fn is_stamp(inner: &str) -> bool {
    let plain = |c: char| (c.is_alphanumeric() && !is_hidden(c)) || matches!(c, ' ' | ':' | '-' | '+' | '.' | '/');
    inner.chars().all(plain) && inner.split(':').rev().skip(1).all(|part| part.ends_with(|c: char| c.is_ascii_digit()))
}

fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 10
        && bytes[..10].iter().enumerate().all(|(i, b)| if i == 4 || i == 7 { *b == b'-' } else { b.is_ascii_digit() })
}

fn escape(c: char, out: &mut String) {
    out.push_str(&format!("\\u{{{:X}}}", c as u32));
}

/// Zero-width joiners and variation selectors, which emoji and some scripts need.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200C}' | '\u{200D}' | '\u{FE00}'..='\u{FE0F}')
}

/// Characters that cannot be seen, or that change how others are seen.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}'
            | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Spaces that look like the usual one and are not.
fn is_odd_space(c: char) -> bool {
    matches!(c, '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}')
}

/// Splits text into runs of letters and digits and what stands between.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let inside = first.is_alphanumeric();
        let end = rest.find(|c: char| c.is_alphanumeric() != inside).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        rest = tail;
        Some(word)
    })
}

/// A word that mixes ASCII letters with letters of other alphabets that resemble them, or is made of such letters alone.
fn is_disguised(word: &str) -> bool {
    let letters = word.chars().filter(|c| c.is_alphabetic());
    let (mut ascii, mut alike, mut other) = (false, false, false);
    for c in letters {
        if c.is_ascii() {
            ascii = true;
        } else if is_look_alike(c) {
            alike = true;
        } else {
            other = true;
        }
    }
    alike && (ascii || !other)
}

/// Letters of other alphabets that are drawn like ASCII ones.
fn is_look_alike(c: char) -> bool {
    matches!(c, '\u{FF21}'..='\u{FF3A}' | '\u{FF41}'..='\u{FF5A}' | '\u{1D400}'..='\u{1D7FF}' | '\u{13A0}'..='\u{13F5}'
        | '\u{2100}'..='\u{214F}' | '\u{2160}'..='\u{217F}' | '\u{A4D0}'..='\u{A4F7}')
        || "аеорсухіјѕԁһӏԛԝѵьАВЕЗКМНОРСТУХІЈЅԌԚԜҮΑΒΕΖΗΙΚΜΝΟΡΤΥΧανορυικγτωϲϳօսոցհզքԼՍՕɑɡɩɪʀʏｏ".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_becomes_structure() {
        for (given, shown) in [
            ("* TODO heading", " * TODO heading"),
            ("*** x", " *** x"),
            ("*bold* text", "*bold* text"),
            ("#+SETUPFILE: /ssh:evil:/x", ",#+SETUPFILE: /ssh:evil:/x"),
            ("  #+begin_src sh :eval yes", "  ,#+begin_src sh :eval yes"),
            (":PROPERTIES:", ",:PROPERTIES:"),
            (":END:", ",:END:"),
            ("SCHEDULED: <2026-11-21 Sat>", "SCHEDULED : [2026-11-21 Sat]"),
            ("at <2026-11-21 Sat 10:00> sharp", "at [2026-11-21 Sat 10:00] sharp"),
            ("<%%(shell-command \"id\")>", "<% %(shell-command \"id\")>"),
            ("%%(kill-emacs)", ",% %(kill-emacs)"),
            ("[[elisp:(kill-emacs)][Notes]]", "[ [elisp :(kill-emacs)][Notes]]"),
            ("[[shell:rm -rf ~]]", "[ [shell :rm -rf ~]]"),
            ("see elisp:(x) and shell:ls", "see elisp :(x) and shell :ls"),
            ("see <elisp: (x)> and <shell:", "see <elisp : (x)> and <shell :"),
            ("help: x, man: y, <file:", "help: x, man: y, <file :"),
            ("[[id:abc][Abc]]", "[[id:abc][Abc]]"),
            ("[[https://example.org][site]]", "[[https://example.org][site]]"),
            ("[[https://example.org/x.png]]", "[ [https://example.org/x.png]]"),
            ("[[id:abc][https://example.org/x.png]]", "[ [id:abc][https://example.org/x.png]]"),
            ("[[file:/ssh:host:/etc/passwd]]", "[ [file :/ssh:host:/etc/passwd]]"),
            ("[[file:a.org::*Heading][h]]", "[[file:a.org::*Heading][h]]"),
            ("src_elisp{(kill-emacs)} call_f()", "src_ elisp{(kill-emacs)} call_ f()"),
            ("# Local Variables:", "# Local Variables :"),
            ("-*- mode: x -*-", "-* - mode: x -* -"),
            ("{{{macro}}}", "{ {{macro}}}"),
            ("<<target>>", "< <target>>"),
            ("[fn:1] note", "[fn :1] note"),
            ("a\u{202E}b\u{1b}[31m", "a\\u{202E}b\\u{1B}[31m"),
            ("note: this is plain: yes", "note: this is plain: yes"),
            ("CLOCK: [2026-11-21 Sat 10:00]", "CLOCK : [2026-11-21 Sat 10:00]"),
        ] {
            assert_eq!(inert(given), shown, "for {given:?}");
        }
    }

    #[test]
    fn a_plan_shows_what_hides() {
        assert_eq!(exact("rm \u{202E}x\u{200B}"), "rm \\u{202E}x\\u{200B}");
        assert_eq!(exact("cаt файл"), "c\\u{430}t файл");
        assert_eq!(exact("a\u{A0}b\nc\td"), "a\\u{A0}b\nc\td");
        assert_eq!(exact("сор"), "\\u{441}\\u{43E}\\u{440}");
        assert_eq!(exact("a\u{1b}[2K"), "a\\u{1B}[2K");
    }

    fn nasty() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("* ".to_string()),
            Just("#+".to_string()),
            Just("[[".to_string()),
            Just("]]".to_string()),
            Just("][".to_string()),
            Just("elisp:".to_string()),
            Just("id:a".to_string()),
            Just("file:".to_string()),
            Just("SCHEDULED:".to_string()),
            Just("<2026-11-21".to_string()),
            Just(">".to_string()),
            Just("%%(".to_string()),
            Just("\n".to_string()),
            Just(" ".to_string()),
            Just(":END:".to_string()),
            Just("{{{".to_string()),
            Just("src_x{".to_string()),
            Just("Local Variables:".to_string()),
            Just("\u{202E}".to_string()),
            Just("-*-".to_string()),
            Just("<<".to_string()),
            "[a-z ]{0,6}",
            "\\PC{0,3}",
        ];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn streamed_in_any_pieces_it_is_the_same(text in nasty(), cuts in prop::collection::vec(0usize..200, 0..8)) {
            let whole = inert(&text);
            let mut stream = Inert::default();
            let mut out = String::new();
            let mut at = 0;
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|c| text.is_char_boundary(*c)).collect();
            cuts.sort_unstable();
            for cut in cuts {
                if cut > at {
                    out.push_str(&stream.push(&text[at..cut]));
                    at = cut;
                }
            }
            out.push_str(&stream.push(&text[at..]));
            out.push_str(&stream.finish());
            prop_assert_eq!(out, whole);
        }

        #[test]
        fn made_inert_twice_it_is_the_same(text in nasty()) {
            let once = inert(&text);
            prop_assert_eq!(inert(&once), once);
        }

        #[test]
        fn no_line_begins_structure(text in nasty()) {
            for line in inert(&text).lines() {
                prop_assert!(!begins_heading(line), "{line:?}");
                prop_assert!(!line.trim_start_matches([' ', '\t']).starts_with("#+"), "{line:?}");
                prop_assert!(!is_drawer_line(line.trim_start_matches([' ', '\t'])), "{line:?}");
                prop_assert!(!line.contains("[[elisp:") && !line.contains("%%("), "{line:?}");
            }
        }
    }
}
