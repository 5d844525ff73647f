//! The shortest name of a heading that means it alone when it is typed back.

use crate::domain::memory::view::{NodeRef, View};
use crate::domain::recall::grammar::parse;
use crate::domain::recall::request::{Request, THIS};
use crate::domain::recall::resolve::{Among, Resolved, resolve, without_stamps};
use crate::domain::recall::show::{one_line, plain, without_cookies};
use jiff::civil::DateTime;

/// How many titles, and how many folders, a name has at most.
const MOST_ABOVE: usize = 8;

/// Returns the shortest name that resolves to a node and can be typed in a request; `None` when no name does.
///
/// Tried are, in this order: the title, what stands above it, the file, its folders, and the id. A name is given back
/// only after it was resolved, so what is shown as a way out is one.
pub fn hint(view: &View, node: &NodeRef, among: Among) -> Option<String> {
    let means_it = |name: &String| match resolve(view, name, among) {
        Resolved::One(found) => found.id() == node.id(),
        Resolved::Several(_) | Resolved::Close(_) | Resolved::None(_) => false,
    };
    names(node).into_iter().find(|name| readings(name).is_some_and(|read| read.iter().all(means_it)))
}

/// Returns names of a node, shortest first.
fn names(node: &NodeRef) -> Vec<String> {
    let titled = typable(node.title());
    let mut name = titled.replace('/', " ");
    let mut names = Vec::new();
    let mut folders = node.file().rsplit('/').map(one_line);
    let file = folders.next().unwrap_or_default();
    if !name.is_empty() {
        names.push(titled);
    }
    let short = name.clone();
    let mut above = node.parent().filter(|parent| parent.index > 0);
    while let Some(parent) = above.filter(|_| names.len() < MOST_ABOVE) {
        name = format!("{}/{name}", typable(parent.title()).replace('/', " "));
        names.push(name.clone());
        above = parent.parent().filter(|parent| parent.index > 0);
    }
    let mut place = file;
    let mut folders = folders.filter(|folder| !folder.is_empty()).take(MOST_ABOVE);
    loop {
        if node.index == 0 {
            // A file is called by its own name, not by its title below its name.
            names.push(place.clone());
        } else {
            names.extend([format!("{place}/{short}"), format!("{place}/{name}")]);
        }
        let Some(folder) = folders.next() else { break };
        place = format!("{folder}/{place}");
    }
    names.push(format!("id:{}", node.id().as_str()));
    names.push(node.id().as_str().to_string());
    names
}

/// Returns a title as words, without dates and counts, and without quotation marks, which a name in quotation marks
/// cannot hold; none of them counts when titles are compared.
fn typable(title: &str) -> String {
    one_line(
        &plain(&without_cookies(&without_stamps(title))).replace(['"', '“', '”', '„', '«', '»', '‘', '`', '›'], " "),
    )
}

/// Returns what a request reads in which the name stands in quotation marks, and by itself; `None` when it reads
/// something else.
fn readings(name: &str) -> Option<[String; 2]> {
    let target = |typed: String| match parse(&typed, DateTime::default()) {
        Request::MarkDone { target } if target != THIS => Some(target),
        _ => None,
    };
    let quoted = target(format!("mark “{name}” done")).filter(|quoted| quoted == name)?;
    Some([quoted, target(format!("mark {name} done"))?])
}
