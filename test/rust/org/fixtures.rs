//! Files of our own, with what Org 9.7 reads in them.

use passepartout::domain::org::outline::{Node, Outline};
use passepartout::domain::org::scan::ScanOptions;
use passepartout::edge::org_file::read_outline;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("test/fixtures/org")
}

/// Renders an outline, a line a node: line, level, and what there is of keyword, priority, `!` for COMMENT, title,
/// tags, properties, planning, body.
fn rendered(outline: &Outline) -> String {
    let mut text = String::new();
    for node in &outline.nodes {
        text += &line(outline, node);
        text.push('\n');
    }
    text
}

fn line(outline: &Outline, node: &Node) -> String {
    let mut parts = vec![format!("{}/{}", node.line, node.level)];
    if node.level == 0 {
        let words = outline.keywords.iter().map(|k| format!("{}{}", k.name, if k.done { "." } else { "" }));
        parts.push(words.collect::<Vec<_>>().join(" "));
        parts.extend(outline.title.iter().map(|title| format!("{title:?}")));
        if !outline.filetags.is_empty() {
            parts.push(format!(":{}:", outline.filetags.join(":")));
        }
    } else {
        parts.extend(outline.todo(node).map(|keyword| keyword.name.to_string()));
        parts.extend(node.priority.map(|c| format!("#{c}")));
        parts.extend(node.commented.then(|| "!".to_owned()));
        parts.push(format!("{:?}", outline.slice(&node.title)));
        if !node.tags.is_empty() {
            parts.push(format!(":{}:", node.tags.join(":")));
        }
    }
    parts.extend(node.properties.iter().map(|(key, value)| format!("{key}={value}")));
    for (name, range) in [("S", &node.scheduled), ("D", &node.deadline), ("C", &node.closed)] {
        parts.extend(range.iter().map(|range| format!("{name}{}", outline.slice(range))));
    }
    let body = outline.slice(&node.body);
    if !body.is_empty() {
        parts.push(format!("{body:?}"));
    }
    parts.join(" ")
}

#[test]
fn every_fixture_is_read_as_org_reads_it() {
    for (name, expected) in FIXTURES {
        let (outline, _) = read_outline(&folder().join(format!("{name}.org")), &ScanOptions::default()).unwrap();
        assert_eq!(rendered(&outline), expected.trim_start(), "{name}");
    }
}

#[test]
fn every_fixture_is_in_the_table() {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    let mut known: Vec<&str> = FIXTURES.iter().map(|(name, _)| *name).collect();
    known.sort();
    assert_eq!(names, known);
}

#[test]
fn print_for_the_table() {
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    for path in names {
        let (outline, _) = read_outline(&path, &ScanOptions::default()).unwrap();
        println!("@@    (\"{}\", r#\"\n{}\"#),", path.file_stem().unwrap().to_str().unwrap(), rendered(&outline));
    }
}

/// Name, and what is read, as [`rendered`] puts it.
const FIXTURES: &[(&str, &str)] = &[
];
