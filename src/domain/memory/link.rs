//! Which nodes link to which ids, read from the text of a file.

use crate::domain::org::outline::Outline;
use std::sync::Arc;

/// The longest id that is taken for one, in bytes.
const MAX_TARGET: usize = 512;

/// One link from a node to an id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IdLink {
    /// The id that is linked to, without `id:` and without a search behind `::`.
    pub target: Arc<str>,
    /// Index of the node whose own section or headline holds the link.
    pub node: u32,
}

/// Returns the `id:` links of a file, sorted by target, each node once for each target.
///
/// Bracket links (`[[id:X]]`, `[[id:X][words]]`), angle links (`<id:X>`) and plain `id:X` count.
pub fn id_links(outline: &Outline) -> Vec<IdLink> {
    let text = outline.text.as_bytes();
    let mut links = Vec::new();
    let mut node = 0;
    for at in memchr::memmem::find_iter(text, b"id:") {
        if let Some(target) = target_at(&outline.text, at) {
            while outline.nodes.get(node + 1).is_some_and(|next| next.begin as usize <= at) {
                node += 1;
            }
            links.push(IdLink { target: target.into(), node: node as u32 });
        }
    }
    links.sort();
    links.dedup();
    links
}

/// Reads the target of a link whose `id:` stands at a byte.
fn target_at(text: &str, at: usize) -> Option<&str> {
    let bytes = text.as_bytes();
    let rest = text.get(at + 3..)?;
    let mut window = rest.len().min(MAX_TARGET);
    while !rest.is_char_boundary(window) {
        window -= 1;
    }
    let rest = rest.get(..window)?;
    let bracketed = at >= 2 && bytes.get(at - 2..at) == Some(b"[[");
    let end = if bracketed {
        rest.find([']', '[', '\n']).filter(|end| rest[*end..].starts_with(']'))?
    } else {
        let before = at.checked_sub(1).and_then(|i| bytes.get(i));
        // `:id:` is a property and `custom_id:` a longer word.
        if before.is_some_and(|b| b.is_ascii_alphanumeric() || b":_-".contains(b) || !b.is_ascii()) {
            return None;
        }
        rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))).unwrap_or(rest.len())
    };
    let target = rest.get(..end)?;
    let target = target.split("::").next().unwrap_or(target).trim().trim_end_matches('.');
    (!target.is_empty()).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_link() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(text.find("id:").and_then(|at| target_at(text, at)), expect, "{text}");
        };
        check("see [[id:a-1][words]]", Some("a-1"));
        check("[[id:with space]]", Some("with space"));
        check("[[id:a::*Heading][x]]", Some("a"));
        check("<id:a1>", Some("a1"));
        check("plain id:a1, then", Some("a1"));
        check("plain id:a1.", Some("a1"));
        check(":id: a1", None);
        check("custom_id:a1", None);
        check("paid:a1", None);
        check("id: a1", None);
        check("[[id:never closed", None);
        check("[[id:]]", None);
        check("[[id:a[[id:b]]", None);
        check(&format!("id:{}", "é".repeat(400)), None);
    }
}
