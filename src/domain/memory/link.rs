//! Which nodes link to which, read from the text of a file: the raw material of the index of backlinks.
//!
//! Every link is brought to the id of the node that it points at, so that one index by id serves all kinds of links.

use crate::domain::id::NodeId;
use crate::domain::org::attach;
use crate::domain::org::link::{Abbreviations, Kind, Link, links};
use crate::domain::org::outline::Outline;
use crate::domain::org::property::Inheritance;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// The longest target that is indexed, in bytes.
const MAX_TARGET: usize = 512;

/// One link from a node to another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IdLink {
    /// What is linked to: the id of an `id:` link; the path of a `file:` or `attachment:` link, absolute where the
    /// file's own name is, which is the id of a file's node without an `ID`; the id of the heading that a
    /// `#custom-id`, `*heading` or bare link finds in its own file. Never what stands behind `::`.
    pub target: Arc<str>,
    /// Index of the node whose own section, headline or properties hold the link.
    pub node: u32,
}

/// Returns the links of a file to nodes, sorted by target, each node once for each target.
///
/// `ids` are those of the outline's nodes. Links to the web and to what cannot be a node are left out, and so are
/// file links that begin with `~`, as the domain knows no home.
pub fn node_links(file: &str, outline: &Outline, ids: &[NodeId]) -> Vec<IdLink> {
    let mut found = Vec::new();
    let mut places = Places { outline, headings: None, custom: None };
    let abbreviations = Abbreviations::of(&outline.abbreviations);
    // What is too long is dropped at once: each link may stand for much more than it takes in the file.
    let mut target = |node: usize, text: &str, link: &Link| {
        let short = |target: &String| !target.is_empty() && target.len() <= MAX_TARGET;
        target(file, outline, ids, node, link.resolved(text, &abbreviations), &mut places).filter(short)
    };
    let mut node = 0;
    for link in links(&outline.text) {
        while outline.nodes.get(node + 1).is_some_and(|next| next.begin as usize <= link.range.start) {
            node += 1;
        }
        found.extend(target(node, &outline.text, &link).map(|target| (target, node)));
    }
    for (node, own) in outline.nodes.iter().enumerate() {
        // Nearly no property holds a link, and an ID is none.
        let may = own.properties.iter().filter(|(key, value)| key.as_ref() != "ID" && value.contains(':'));
        for (_, value) in may {
            for link in links(value) {
                found.extend(target(node, value, &link).map(|target| (target, node)));
            }
        }
    }
    let mut links: Vec<IdLink> =
        found.into_iter().map(|(target, node)| IdLink { target: target.into(), node: node as u32 }).collect();
    links.sort();
    links.dedup();
    links
}

/// Returns the links to headings of their own file (`*heading`, `#custom-id`) that find none, each with the index of the
/// node that it stands in and what it names.
pub fn dangling(outline: &Outline) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut places = Places { outline, headings: None, custom: None };
    let abbreviations = Abbreviations::of(&outline.abbreviations);
    let mut node = 0;
    for link in links(&outline.text) {
        while outline.nodes.get(node + 1).is_some_and(|next| next.begin as usize <= link.range.start) {
            node += 1;
        }
        let (kind, path) = link.resolved(&outline.text, &abbreviations);
        match kind {
            Kind::Heading if places.heading(&path).is_none() => found.push((node, format!("*{path}"))),
            Kind::CustomId if places.custom_id(&path).is_none() => found.push((node, format!("#{path}"))),
            _ => {}
        }
    }
    found
}

/// Returns the id of the node that a link points at.
fn target(
    file: &str,
    outline: &Outline,
    ids: &[NodeId],
    node: usize,
    (kind, path): (Kind, Cow<'_, str>),
    places: &mut Places<'_>,
) -> Option<String> {
    let found = |index: Option<usize>| index.and_then(|index| ids.get(index)).map(|id| id.as_str().to_owned());
    match kind {
        Kind::Id => Some(behind_search(&path).0.trim().to_owned()),
        Kind::File => {
            let (name, search) = behind_search(&path);
            if name.is_empty() { found(search.and_then(|search| places.search(search))) } else { joined(file, name) }
        }
        Kind::Attachment => {
            let folder = attach::folders(outline, node, &Inheritance::Never).into_iter().next()?;
            joined(file, &format!("{folder}/{}", behind_search(&path).0))
        }
        Kind::CustomId => found(places.custom_id(&path)),
        Kind::Heading => found(places.heading(&path)),
        Kind::Search => found(places.search(&path)),
        Kind::Web | Kind::Other => None,
    }
}

/// Splits a path at the last `::`.
fn behind_search(path: &str) -> (&str, Option<&str>) {
    path.split_once("::").map_or((path, None), |(path, search)| (path, Some(search)))
}

/// Returns a path as seen from the folder of a file, without `.` and `..`.
fn joined(file: &str, path: &str) -> Option<String> {
    if path.starts_with('~') {
        return None;
    }
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let whole = if path.starts_with('/') { Cow::Borrowed(path) } else { Cow::Owned(format!("{folder}/{path}")) };
    let rooted = file.starts_with('/') || path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    Some(format!("{}{}", if rooted { "/" } else { "" }, parts.join("/")))
}

/// Where headings stand in a file, found out when the first link asks.
struct Places<'a> {
    outline: &'a Outline,
    headings: Option<HashMap<String, usize>>,
    custom: Option<HashMap<String, usize>>,
}

impl Places<'_> {
    /// Finds what stands behind `::`, or in a bare link: `#custom-id`, `*heading`, or a title.
    fn search(&mut self, search: &str) -> Option<usize> {
        match search.strip_prefix('#') {
            Some(id) => self.custom_id(id),
            None => self.heading(search.strip_prefix('*').unwrap_or(search)),
        }
    }

    fn custom_id(&mut self, id: &str) -> Option<usize> {
        let outline = self.outline;
        let places = self.custom.get_or_insert_with(|| {
            let nodes = outline.nodes.iter().enumerate().rev();
            nodes.filter_map(|(index, node)| Some((outline.property(node, "CUSTOM_ID")?.to_owned(), index))).collect()
        });
        places.get(id).copied()
    }

    /// Finds a heading by its title, without regard to case, blanks and counts such as `[1/2]`.
    fn heading(&mut self, title: &str) -> Option<usize> {
        let outline = self.outline;
        let places = self.headings.get_or_insert_with(|| {
            let nodes = outline.nodes.iter().enumerate().skip(1).rev();
            nodes.map(|(index, node)| (plain(outline.slice(&node.title)), index)).collect()
        });
        places.get(&plain(title)).copied()
    }
}

/// Returns a title as Org compares it.
fn plain(title: &str) -> String {
    let counts = |word: &&str| {
        let inner = word.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        inner.is_some_and(|inner| {
            inner.contains(['/', '%']) && inner.chars().all(|c| c.is_ascii_digit() || matches!(c, '/' | '%'))
        })
    };
    let words = title.split_whitespace().filter(|word| !counts(word));
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::org::scan::{ScanOptions, scan};

    fn found(text: &str) -> Vec<String> {
        let outline = scan(text.into(), &ScanOptions::default()).unwrap();
        let ids: Vec<NodeId> = (0..outline.nodes.len()).map(|index| NodeId::new(format!("n{index}"))).collect();
        let links = node_links("/memex/notes/a.org", &outline, &ids);
        links.iter().map(|link| format!("{} {}", link.node, link.target)).collect()
    }

    #[test]
    fn links_to_headings_that_are_not_there_are_found() {
        let text = "* One [1/2]\n:PROPERTIES:\n:CUSTOM_ID: c\n:END:\n[[*one]] [[#c]] [[*Two][x]] [[words]]\n* Three\n\
                    [[#d]] [[file:b.org::*Four]] =[[*Five]]=\n#+begin_src org\n[[*Six]]\n#+end_src\n";
        let outline = scan(text.into(), &ScanOptions::default()).unwrap();
        assert_eq!(dangling(&outline), [(1, "*Two".to_string()), (2, "#d".to_string())]);
    }

    #[test]
    fn what_is_a_link() {
        let check = |text: &str, expect: &[&str]| assert_eq!(found(text), expect, "{text}");
        check("see [[id:a-1][words]] and [[id:with space]]", &["0 a-1", "0 with space"]);
        check("[[id:a::*Heading][x]] <id:b1> plain id:c1, then id:d1.", &["0 a", "0 b1", "0 c1", "0 d1"]);
        check("custom_id:a1 paid:a1 id: a1 [[id:]] =id:a1= ~[[id:a]]~", &[]);
        // As Org has it: a bracket that is never closed does not hide what could be a plain link, a subscript does.
        check("[[id:open x__id:a x^id:a x_-id:a (_id:a -_id:a", &["0 open"]);
        check("_id:a1 ^id:b1 x_{id:c1} x_id:a id:d1", &["0 a1", "0 b1", "0 c1", "0 d1"]);
        check(
            "[[file:b.org]] [[./c.org::*H]] [[../d.org][x]] [[/e/f.org::3]] [[~/g.org]]",
            &["0 /e/f.org", "0 /memex/d.org", "0 /memex/notes/b.org", "0 /memex/notes/c.org"],
        );
        check(
            "* One [1/2]\n:PROPERTIES:\n:CUSTOM_ID: c\n:END:\n* two\n[[*one]] [[#c]] [[Two]] [[file:::*one]]\n",
            &["2 n1", "2 n2"],
        );
        check(
            "* a\n:PROPERTIES:\n:ID: 0123456789\n:DIR: att\n:SEE: [[id:z]]\n:END:\n[[attachment:x.org]]\n",
            &["1 /memex/notes/att/x.org", "1 z"],
        );
        check(
            "* a\n:PROPERTIES:\n:ID: 0123456789\n:END:\n[[attachment:x.org]]\n",
            &["1 /memex/notes/data/01/23456789/x.org"],
        );
        check(
            "#+LINK: note file:notes/%s.org\n#+LINK: n id:\n[[note:b]] [[n:z][x]] note:c\n",
            &["0 /memex/notes/notes/b.org", "0 z"],
        );
        check("#+begin_src org\n[[id:a]]\n#+end_src\n: [[id:b]]\n# [[id:c]]\n", &[]);
        check(&format!("id:{}", "e".repeat(600)), &[]);
    }
}
