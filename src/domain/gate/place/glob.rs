//! Patterns of names, as shells know them.

use std::collections::HashSet;

/// Returns whether a text fits a pattern with `*`, `?` and `[…]`. Linear but for the number of stars.
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut pattern_left = pattern;
    let mut text_left = text;
    // What stands behind the last star, and the text at which it is tried next.
    let mut retry: Option<(&str, &str)> = None;
    loop {
        let mut rest = pattern_left.chars();
        let wanted = rest.next();
        if wanted == Some('*') {
            pattern_left = rest.as_str();
            retry = Some((pattern_left, text_left));
            continue;
        }
        let mut ahead = text_left.chars();
        let Some(c) = ahead.next() else { return pattern_left.is_empty() };
        let step = match wanted {
            Some('?') => Some(rest.as_str()),
            Some('[') => set(rest.as_str(), c),
            Some(same) if same == c => Some(rest.as_str()),
            Some(_) | None => None,
        };
        match (step, retry) {
            (Some(next), _) => {
                pattern_left = next;
                text_left = ahead.as_str();
            }
            (None, Some((star, from))) => {
                let mut from = from.chars();
                from.next();
                pattern_left = star;
                text_left = from.as_str();
                retry = Some((star, text_left));
            }
            (None, None) => return false,
        }
    }
}

/// As `matches`, of a pattern that could reach what is not to be read: where it names a class of characters, which is not
/// looked up, its sets hold every one.
pub fn may_match(pattern: &str, text: &str) -> bool {
    if !["[:", "[.", "[="].iter().any(|class| pattern.contains(class)) {
        return matches(pattern, text);
    }
    let (mut wide, mut rest) = (String::with_capacity(pattern.len()), pattern);
    while let Some((before, inner)) = rest.split_once('[') {
        let Some(behind) = behind_set(inner) else { return true };
        wide.push_str(before);
        wide.push('?');
        rest = behind;
    }
    wide.push_str(rest);
    matches(&wide, text)
}

/// Returns whether a pattern of a shell may match a name that begins with a dash: by a dash, by a sign that stands for
/// any letter, or by one that begins a group (`@(…)`).
pub fn may_match_option(pattern: &str) -> bool {
    let group = || pattern.get(1..).is_some_and(|rest| rest.starts_with('('));
    pattern.starts_with(['-', '*', '?', '[']) || pattern.starts_with(['@', '+', '!']) && group()
}

/// Returns whether a pattern of a shell may match one of the tests that work out the name of a variable, which can run
/// commands.
pub fn may_match_variable_test(pattern: &str) -> bool {
    may_match_option(pattern) && (pattern.contains('(') || ["-v", "-R"].iter().any(|test| may_match(pattern, test)))
}

/// Returns what stands behind a set that was opened before `inner`; `None` when nothing closes it.
fn behind_set(inner: &str) -> Option<&str> {
    let mut left = inner.strip_prefix(['!', '^']).unwrap_or(inner);
    left = left.strip_prefix(']').unwrap_or(left);
    loop {
        let mark = left.strip_prefix('[').and_then(|rest| rest.chars().next()).filter(|c| matches!(c, ':' | '.' | '='));
        let next = left.chars().next()?;
        left = match mark {
            Some(mark) => left.get(2..)?.split_once(&format!("{mark}]")).map(|(_, behind)| behind)?,
            None => left.get(next.len_utf8()..)?,
        };
        if mark.is_none() && next == ']' {
            return Some(left);
        }
    }
}

/// Returns where the pattern goes on when the set that was opened before `inner` holds the character.
fn set(inner: &str, c: char) -> Option<&str> {
    let mut left = inner;
    let negated = left.starts_with(['!', '^']);
    if negated {
        left = left.get(1..).unwrap_or("");
    }
    let (mut found, mut first) = (false, true);
    while let Some(now) = left.chars().next() {
        let after = left.get(now.len_utf8()..).unwrap_or("");
        if now == ']' && !first {
            return (found != negated).then_some(after);
        }
        first = false;
        let end = after.strip_prefix('-').and_then(|rest| rest.chars().next()).filter(|end| *end != ']');
        match end {
            Some(end) => {
                found |= now <= c && c <= end;
                left = after.get(1 + end.len_utf8()..).unwrap_or("");
            }
            None => {
                found |= now == c;
                left = after;
            }
        }
    }
    // A set that nothing closes is a bracket.
    (c == '[').then_some(inner)
}

/// Patterns of one purpose, sorted so that most names are told by a few looks into tables.
pub(super) struct Patterns {
    exact: HashSet<String>,
    /// By the first letter of those, one bit for each length.
    lengths: [u64; 32],
    /// Ends by their last letter, starts by their first.
    ends: Lettered,
    starts: Lettered,
    /// Patterns by their first letter; where that is open by their last; where both are, all.
    first: Lettered,
    last: Lettered,
    others: Vec<String>,
}

/// Texts by one of their letters.
struct Lettered(Vec<Vec<String>>);

impl Lettered {
    fn new() -> Lettered {
        Lettered((0..256).map(|_| Vec::new()).collect())
    }

    fn add(&mut self, letter: Option<u8>, text: String) {
        if let Some(texts) = self.0.get_mut(usize::from(letter.unwrap_or(0))) {
            texts.push(text);
        }
    }

    fn under(&self, letter: Option<&u8>) -> impl Iterator<Item = &str> {
        self.0.get(usize::from(letter.copied().unwrap_or(0))).into_iter().flatten().map(String::as_str)
    }
}

/// Returns where the bit of a name stands in a table of lengths.
fn shape(name: &str) -> (usize, u64) {
    let first = name.as_bytes().first().copied().unwrap_or(0);
    (usize::from(first & 31), 1 << name.len().min(63))
}

impl Patterns {
    /// Sorts patterns, without regard to case.
    pub(super) fn new(patterns: &[&str]) -> Patterns {
        let empty = Lettered::new;
        let mut sorted = Patterns {
            exact: HashSet::new(),
            lengths: [0; 32],
            ends: empty(),
            starts: empty(),
            first: empty(),
            last: empty(),
            others: Vec::new(),
        };
        for pattern in patterns.iter().map(|pattern| pattern.to_lowercase()) {
            sorted.sort(pattern);
        }
        sorted
    }

    fn sort(&mut self, pattern: String) {
        let plain = |text: &str| !text.contains(['*', '?', '[']);
        let open = |letter: u8| matches!(letter, b'*' | b'?' | b'[' | b']');
        if plain(&pattern) {
            let (letter, length) = shape(&pattern);
            if let Some(lengths) = self.lengths.get_mut(letter) {
                *lengths |= length;
            }
            self.exact.insert(pattern);
            return;
        }
        let (first, last) = (pattern.bytes().next(), pattern.bytes().last());
        match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
            (Some(end), _) if plain(end) => self.ends.add(last, end.to_string()),
            (_, Some(start)) if plain(start) => self.starts.add(first, start.to_string()),
            _ if first.is_some_and(|letter| !open(letter)) => self.first.add(first, pattern),
            _ if last.is_some_and(|letter| !open(letter)) => self.last.add(last, pattern),
            _ => self.others.push(pattern),
        }
    }

    /// Returns whether a name in small letters fits one of the patterns.
    pub(super) fn fit(&self, name: &str) -> bool {
        let (first, last) = (name.as_bytes().first(), name.as_bytes().last());
        let (letter, length) = shape(name);
        let exact = self.lengths.get(letter).is_some_and(|lengths| lengths & length != 0);
        exact && self.exact.contains(name)
            || self.ends.under(last).any(|end| name.ends_with(end))
            || self.starts.under(first).any(|start| name.starts_with(start))
            || self.first.under(first).any(|pattern| matches(pattern, name))
            || self.last.under(last).any(|pattern| matches(pattern, name))
            || self.others.iter().any(|pattern| matches(pattern, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_shells_have_it() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("?", "\u{e9}", true),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]x]", "]", true),
            ("[a-]", "-", true),
            ("[ab", "[ab", true),
            ("", "", true),
            ("", "a", false),
            ("a", "", false),
            ("**", "ab", true),
            ("id_rsa[-_.]*", "id_rsa.old", true),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
        let all = ["x.Env", "*.PEM", "id_*", "a?c", "s[ab]*.json", "*a?.key", "*q*", "[xy]z", "k[ab]"];
        let sorted = Patterns::new(&all);
        for name in [
            "x.env", "k.pem", "id_rsa", "abc", "sa1.json", "x.en", "id", "ac", "sc1.json", "", "bab.key", "aqa", "yz",
            "ka", "kc", "*", "ab.key",
        ] {
            assert_eq!(sorted.fit(name), all.iter().any(|p| matches(&p.to_lowercase(), name)), "{name}");
        }
    }
}
