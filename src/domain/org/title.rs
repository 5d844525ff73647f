//! A title without what Org itself writes into it.

/// Leaves out statistics such as `[1/3]` and `[50%]`, which Org's search for headlines does not compare.
pub fn without_cookies(title: &str) -> String {
    let is_cookie = |word: &str| {
        let inner = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
        inner.is_some_and(|inner| {
            let counts = inner.chars().all(|c| c.is_ascii_digit() || matches!(c, '/' | '%'));
            counts && inner.contains(['/', '%'])
        })
    };
    title.split(' ').filter(|word| !is_cookie(word)).collect::<Vec<_>>().join(" ")
}
