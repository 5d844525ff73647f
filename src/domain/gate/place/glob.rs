//! Patterns of names, as shells know them.

/// Returns whether a text fits a pattern with `*`, `?` and `[…]`. Linear but for the number of stars.
pub fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0usize, 0usize);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        let step = match pattern.get(p) {
            Some('*') => {
                retry = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some('?') => Some(p + 1),
            Some('[') => set(&pattern, p, text[t]),
            Some(c) if *c == text[t] => Some(p + 1),
            Some(_) | None => None,
        };
        match (step, retry) {
            (Some(next), _) => {
                p = next;
                t += 1;
            }
            (None, Some((star, from))) => {
                p = star;
                t = from + 1;
                retry = Some((star, from + 1));
            }
            (None, None) => return false,
        }
    }
    pattern.get(p..).is_some_and(|rest| rest.iter().all(|c| *c == '*'))
}

/// Returns where the pattern goes on when a set at `at` holds the character.
fn set(pattern: &[char], at: usize, c: char) -> Option<usize> {
    let mut i = at + 1;
    let negated = matches!(pattern.get(i), Some('!' | '^'));
    if negated {
        i += 1;
    }
    let start = i;
    let mut found = false;
    while let Some(now) = pattern.get(i) {
        if *now == ']' && i > start {
            return (found != negated).then_some(i + 1);
        }
        match (pattern.get(i + 1), pattern.get(i + 2)) {
            (Some('-'), Some(end)) if *end != ']' => {
                found |= *now <= c && c <= *end;
                i += 3;
            }
            _ => {
                found |= *now == c;
                i += 1;
            }
        }
    }
    (c == '[').then_some(at + 1)
}
