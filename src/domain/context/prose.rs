//! The words of a body: without our own dynamic blocks, which repeat what other notes say, and without names of keywords.

use std::borrow::Cow;
use std::ops::Range;

/// The names of our dynamic blocks begin so.
const OURS: &str = "passepartout";

/// A dynamic block whose end has not come yet.
struct Open {
    begin: usize,
    /// How much was left out before it.
    before: usize,
    ours: bool,
}

/// Returns what of a body is searched for words: all of it but our own dynamic blocks, from `#+BEGIN:` to `#+END:`, and
/// names such as `#+title:`. A block without an end is none. It takes one pass.
pub fn prose(body: &str) -> Cow<'_, str> {
    // Nearly every body has nothing to leave out.
    if memchr::memmem::find(body.as_bytes(), b"#+").is_none() {
        return Cow::Borrowed(body);
    }
    let mut left_out: Vec<Range<usize>> = Vec::new();
    let (mut open, mut end): (Option<Open>, usize) = (None, 0);
    for line in body.split_inclusive('\n') {
        let begin = end;
        end += line.len();
        let bare = line.trim_start_matches([' ', '\t']);
        let Some(keyword) = bare.strip_prefix("#+") else { continue };
        let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let (name, behind) = keyword.split_at(keyword.find(|c| !part(c)).unwrap_or(keyword.len()));
        let value = behind.strip_prefix(':').filter(|_| !name.is_empty());
        let ends = name.eq_ignore_ascii_case("end") && (value.is_some() || behind.trim().is_empty());
        match &open {
            Some(block) if ends && block.ours => {
                left_out.truncate(block.before);
                left_out.push(block.begin..end);
                open = None;
                continue;
            }
            Some(_) if ends => open = None,
            None if name.eq_ignore_ascii_case("begin") => {
                let ours = |value: &str| value.trim_start_matches([' ', '\t']).starts_with(OURS);
                open = value.map(|value| Open { begin, before: left_out.len(), ours: ours(value) });
            }
            Some(_) | None => {}
        }
        if let Some(value) = value {
            left_out.push(begin..end - value.len());
        }
    }
    if left_out.is_empty() { Cow::Borrowed(body) } else { Cow::Owned(without(body, &left_out)) }
}

fn without(body: &str, left_out: &[Range<usize>]) -> String {
    let (mut out, mut at) = (String::with_capacity(body.len()), 0);
    for range in left_out {
        out.push_str(body.get(at..range.start).unwrap_or_default());
        at = range.end;
    }
    out.push_str(body.get(at..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_blocks_and_names_of_keywords_are_left_out() {
        let block = "#+BEGIN: passepartout-query :query \"larch\"\n| larch |\n#+title: x\n";
        for (body, expected) in [
            ("plain\n", "plain\n".to_string()),
            ("#+title: The boat\n  #+Filetags: :a:\nx\n", " The boat\n :a:\nx\n".into()),
            (&format!("before\n{block}#+END:\nbehind\n"), "before\nbehind\n".into()),
            (&format!("{block}#+end\n{block}#+END:"), "".into()),
            // Without an end it is no block.
            (&format!("before\n{block}"), "before\n passepartout-query :query \"larch\"\n| larch |\n x\n".into()),
            // Those of others stay, and in them none of ours can begin.
            (
                &format!("#+BEGIN: clocktable\n{block}#+END:\n"),
                " clocktable\n passepartout-query :query \"larch\"\n| larch |\n x\n\n".into(),
            ),
            (
                "#+begin_src sh\nx\n#+end_src\n#+: y\n#+CAPTION[a]: b\n",
                "#+begin_src sh\nx\n#+end_src\n#+: y\n#+CAPTION[a]: b\n".into(),
            ),
            ("a #+title: b\n", "a #+title: b\n".into()),
            ("#+größe: ä\n#+", " ä\n#+".into()),
        ] {
            assert_eq!(prose(body), expected, "{body:?}");
        }
    }
}
