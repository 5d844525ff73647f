//! Links of Org in an answer, as the links of Markdown that editors show; what streams in comes through as it comes.

use std::fmt::Write as _;

/// What may be a link is held back so far, in bytes; longer ones stay as they are.
const MOST: usize = 4096;
/// So much of a line is remembered, to see whether it is code.
const LINE: usize = 4096;

/// Turns the links of a text that comes in pieces. Code stays as it is.
#[derive(Default)]
pub(super) struct Links {
    /// The beginning of what may be a link.
    held: String,
    /// The line up to here, as it came.
    line: String,
    fenced: bool,
}

impl Links {
    /// Takes a piece of the text, and returns what can be shown by now.
    pub(super) fn feed(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        self.turned(false)
    }

    /// Returns what was held back: nothing more comes.
    pub(super) fn end(&mut self) -> String {
        self.turned(true)
    }

    fn turned(&mut self, last: bool) -> String {
        let text = std::mem::take(&mut self.held);
        let (mut out, mut rest) = (String::with_capacity(text.len()), text.as_str());
        while let Some(at) = rest.find('[') {
            let (before, from) = rest.split_at(at);
            self.pass(before, &mut out);
            match found(from) {
                Found::Link(link, length) => {
                    let (whole, behind) = from.split_at(length);
                    match self.is_code() {
                        true => self.pass(whole, &mut out),
                        false => out.push_str(&link),
                    }
                    rest = behind;
                }
                Found::Open if !last && from.len() < MOST => {
                    self.held = from.to_string();
                    return out;
                }
                Found::Open | Found::Nothing => {
                    let (bracket, behind) = from.split_at(1);
                    self.pass(bracket, &mut out);
                    rest = behind;
                }
            }
        }
        self.pass(rest, &mut out);
        out
    }

    /// Lets a text through as it is.
    fn pass(&mut self, text: &str, out: &mut String) {
        out.push_str(text);
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.fenced ^= self.line.trim_start().starts_with("```");
                self.line.clear();
            }
            let room = LINE.saturating_sub(self.line.len()).min(line.len());
            self.line.push_str(line.get(..line.floor_char_boundary(room)).unwrap_or_default());
        }
    }

    /// Whether what comes next stands in code.
    fn is_code(&self) -> bool {
        self.fenced || self.line.trim_start().starts_with("```") || self.line.matches('`').count() % 2 == 1
    }
}

/// Returns a text that is there whole with its links turned.
pub(super) fn turned(text: &str) -> String {
    let mut links = Links::default();
    let mut out = links.feed(text);
    out.push_str(&links.end());
    out
}

/// What stands at a bracket.
enum Found {
    /// A link as Markdown, and the length of what it stands for.
    Link(String, usize),
    /// The beginning of one, perhaps.
    Open,
    /// None.
    Nothing,
}

fn found(text: &str) -> Found {
    if text == "[" {
        return Found::Open;
    }
    // However it is cut: what does not end within so much is none.
    let near = text.get(..text.floor_char_boundary(MOST)).unwrap_or(text);
    let Some(body) = near.strip_prefix("[[") else { return Found::Nothing };
    let line = body.split('\n').next().unwrap_or_default();
    let Some(end) = line.find("]]") else {
        let may_end = line.len() == body.len() && near.len() == text.len();
        return if may_end { Found::Open } else { Found::Nothing };
    };
    let Some(inside) = line.get(..end) else { return Found::Nothing };
    match markdown(inside) {
        Some(link) => Found::Link(link, end + "[[]]".len()),
        None => Found::Nothing,
    }
}

/// Returns what stands inside of a link as Markdown. What only Org can follow is its words.
fn markdown(inside: &str) -> Option<String> {
    let (target, label) = match inside.split_once("][") {
        Some((target, label)) => (target, Some(label)),
        None => (inside, None),
    };
    if target.is_empty() || label.is_some_and(str::is_empty) {
        return None;
    }
    match (address(target), label) {
        (Some(address), _) => Some(format!("[{}]({address})", plain(label.unwrap_or(target)))),
        (None, Some(label)) => Some(plain(label)),
        (None, None) => None,
    }
}

/// Returns where a link leads that others than Org can follow: a page of the web, or a file by its whole name.
fn address(target: &str) -> Option<String> {
    if target.starts_with("https://") || target.starts_with("http://") {
        return Some(encoded(target, "-._~:/?#@!$&'*+,;=%"));
    }
    let path = target.strip_prefix("file:").unwrap_or(target);
    let (path, place) = path.split_once("::").unwrap_or((path, ""));
    let line = place.parse::<usize>().map(|line| format!("#L{line}")).unwrap_or_default();
    path.starts_with('/').then(|| format!("file://{}{line}", encoded(path, "-._~/")))
}

/// Returns an address in which only letters, digits and the characters that are named stand for themselves (RFC 3986).
fn encoded(text: &str, plain: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        match byte.is_ascii_alphanumeric() || plain.as_bytes().contains(&byte) {
            true => out.push(char::from(byte)),
            // Writing to a text cannot fail.
            false => drop(write!(out, "%{byte:02X}")),
        }
        out
    })
}

/// Returns a text that Markdown shows as it is.
fn plain(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, one| {
        if "\\`*_[]<>".contains(one) {
            out.push('\\');
        }
        out.push(one);
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn links_of_org_become_those_of_markdown() {
        let cases = [
            ("see [[file:/n/a b.org::*Ring][Ring it]].", "see [Ring it](file:///n/a%20b.org)."),
            ("[[file:/n/a.org::12][a]]", "[a](file:///n/a.org#L12)"),
            ("[[file:/n/ä(1).org]]", "[file:/n/ä(1).org](file:///n/%C3%A4%281%29.org)"),
            ("[[https://x.org/a_(b)?q=1#c][the *page*]]", "[the \\*page\\*](https://x.org/a_%28b%29?q=1#c)"),
            ("[[id:move-post][Post [x] here]] and", "Post \\[x\\] here and"),
            ("[[id:alone]] [[file:here.org][here]]", "[[id:alone]] here"),
            ("[[x", "[[x"),
            ("[[x\n]]", "[[x\n]]"),
            ("[ ] a box, [1] and [[]] and [[a][]]", "[ ] a box, [1] and [[]] and [[a][]]"),
            ("`[[file:/a][b]]` [[file:/a][b]]", "`[[file:/a][b]]` [b](file:///a)"),
            ("```org\n[[file:/a][b]]\n```\n[[file:/a][b]]", "```org\n[[file:/a][b]]\n```\n[b](file:///a)"),
            ("[[javascript:alert(1)][b]]", "b"),
        ];
        for (text, wanted) in cases {
            assert_eq!(turned(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_does_not_end_is_held_back_no_longer_than_that() {
        let mut links = Links::default();
        assert_eq!(links.feed("a [["), "a ");
        let long = "x".repeat(MOST);
        assert_eq!(links.feed(&long), format!("[[{long}"));
        assert_eq!(links.end(), "");
    }

    #[test]
    fn a_link_that_is_too_long_stays_as_it_is_however_it_is_cut() {
        for length in [MOST - 20, MOST - 14, MOST - 13, MOST, MOST + 1000] {
            let link = format!("[[file:/{}][b]] and", "x".repeat(length));
            for size in [1, 7, 1000, 100_000] {
                let mut links = Links::default();
                let mut out: String =
                    link.as_bytes().chunks(size).map(|piece| links.feed(&String::from_utf8_lossy(piece))).collect();
                out.push_str(&links.end());
                assert_eq!(out, turned(&link), "{length} by {size}");
            }
        }
        let many = "[".repeat(200_000);
        assert_eq!(turned(&many), many);
    }

    proptest! {
        #[test]
        fn how_it_is_cut_changes_nothing(
            parts in proptest::collection::vec("[\\[\\]a`\n:]{0,6}|\\[\\[file:/a\\]\\[b\\]\\]", 0..20)
        ) {
            let mut links = Links::default();
            let mut out: String = parts.iter().map(|part| links.feed(part)).collect();
            out.push_str(&links.end());
            prop_assert_eq!(out, turned(&parts.concat()));
        }
    }
}
