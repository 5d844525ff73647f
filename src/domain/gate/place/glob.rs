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

/// Patterns of one purpose, sorted so that most names are told by one look into a table.
pub(super) struct Patterns {
    exact: HashSet<String>,
    ends: Vec<String>,
    starts: Vec<String>,
    others: Vec<String>,
}

impl Patterns {
    /// Sorts patterns, without regard to case.
    pub(super) fn new(patterns: &[&str]) -> Patterns {
        let mut sorted = Patterns { exact: HashSet::new(), ends: Vec::new(), starts: Vec::new(), others: Vec::new() };
        for pattern in patterns.iter().map(|pattern| pattern.to_lowercase()) {
            let plain = |text: &str| !text.contains(['*', '?', '[']);
            match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
                _ if plain(&pattern) => {
                    sorted.exact.insert(pattern);
                }
                (Some(end), _) if plain(end) => sorted.ends.push(end.to_string()),
                (_, Some(start)) if plain(start) => sorted.starts.push(start.to_string()),
                _ => sorted.others.push(pattern),
            }
        }
        sorted
    }

    /// Returns whether a name in small letters fits one of the patterns.
    pub(super) fn fit(&self, name: &str) -> bool {
        let (first, last) = (name.as_bytes().first(), name.as_bytes().last());
        // One letter tells most apart, for less than a comparison of texts.
        self.exact.contains(name)
            || self.ends.iter().any(|end| end.as_bytes().last() == last && name.ends_with(end.as_str()))
            || self.starts.iter().any(|start| start.as_bytes().first() == first && name.starts_with(start.as_str()))
            || self.others.iter().any(|pattern| {
                let open = |letter: Option<&u8>| matches!(letter, Some(b'*' | b'?' | b'[' | b']'));
                let (begin, end) = (pattern.as_bytes().first(), pattern.as_bytes().last());
                (begin == first || open(begin)) && (end == last || open(end)) && matches(pattern, name)
            })
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
        let all = ["x.Env", "*.PEM", "id_*", "a?c", "s[ab]*.json"];
        let sorted = Patterns::new(&all);
        for name in ["x.env", "k.pem", "id_rsa", "abc", "sa1.json", "x.en", "id", "ac", "sc1.json", ""] {
            assert_eq!(sorted.fit(name), all.iter().any(|p| matches(&p.to_lowercase(), name)), "{name}");
        }
    }
}
