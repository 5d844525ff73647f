//! `passepartout dump`: what we read from Org files, one JSON object a file and a heading, for comparison with Org.

use crate::domain::org::contents::Contents;
use crate::domain::org::outline::{Node, Outline};
use crate::domain::org::scan::ScanOptions;
use crate::edge::contents::look;
use crate::edge::org_file::read_outline;
use crate::edge::walk::org_files_of;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What a dump went over.
#[derive(Debug, Default)]
pub struct DumpReport {
    /// Files that were read.
    pub files: usize,
    /// Their headings.
    pub headings: usize,
    /// Their size on disk in bytes.
    pub bytes: u64,
    /// Files and folders that were not read, each with its name and the reason.
    pub problems: Vec<String>,
}

/// Writes one line a file (level 0) and a heading, files in byte order, headings in order.
///
/// A file that cannot be read becomes a problem in the report; the others are written all the same.
///
/// # Errors
///
/// Only those of writing to `out`.
pub fn run(paths: &[PathBuf], out: &mut dyn Write) -> io::Result<DumpReport> {
    run_with(paths, &ScanOptions::default(), false, out)
}

/// Like [`run`], with the user's own default keywords, and with what stands inside each section if that is wanted.
///
/// # Errors
///
/// Only those of writing to `out`.
pub fn run_with(
    paths: &[PathBuf],
    options: &ScanOptions,
    contents: bool,
    out: &mut dyn Write,
) -> io::Result<DumpReport> {
    let mut report = DumpReport::default();
    for entry in org_files_of(paths) {
        let path = match entry {
            Ok(path) => path,
            Err(error) => {
                report.problems.push(error.to_string());
                continue;
            }
        };
        match read_outline(&path, options) {
            Ok((outline, bytes)) => {
                report.files += 1;
                report.bytes += bytes;
                report.headings += outline.nodes.len().saturating_sub(1);
                write_outline(&path, &outline, contents, out)?;
            }
            Err(error) => report.problems.push(error.to_string()),
        }
    }
    out.flush()?;
    Ok(report)
}

/// Writes the lines of one file.
///
/// # Errors
///
/// Only those of writing to `out`.
pub fn write_outline(path: &Path, outline: &Outline, contents: bool, out: &mut dyn Write) -> io::Result<()> {
    let file = path.to_string_lossy();
    // Inherited tags of the headings above the one at hand, as (index, tags so far).
    let mut above: Vec<(u32, Inherited)> = Vec::new();
    let bodies: Vec<&str> = outline.nodes.iter().map(|node| outline.slice(&node.body)).collect();
    let mut looked = if contents { look(&bodies) } else { Vec::new() };
    let root = Inherited::default().with(outline.filetags.iter());
    for (index, node) in outline.nodes.iter().enumerate() {
        while above.last().is_some_and(|(at, _)| index > 0 && *at != node.parent) {
            above.pop();
        }
        let tags = match above.last() {
            None => root.with(node.tags.iter()),
            Some((_, inherited)) => inherited.with(node.tags.iter()),
        };
        let mut row = row(&file, outline, node, &tags.order);
        match looked.get_mut(index).map(|looked| std::mem::replace(looked, Ok(Contents::default()))) {
            None => {}
            Some(Ok(contents)) => row.contents = Some(contents),
            Some(Err(why)) => row.contents_error = Some(why.to_string()),
        }
        serde_json::to_writer(&mut *out, &row)?;
        out.write_all(b"\n")?;
        // Only kept where a child follows.
        if index > 0 && outline.nodes.get(index + 1).is_some_and(|next| next.parent as usize == index) {
            above.push((index as u32, tags));
        }
    }
    Ok(())
}

/// Tags in the order in which they were first seen.
#[derive(Clone, Default)]
struct Inherited<'a> {
    order: Vec<&'a str>,
}

impl<'a> Inherited<'a> {
    fn with(&self, own: impl Iterator<Item = &'a Box<str>>) -> Self {
        let mut order = self.order.clone();
        let mut seen: HashSet<&str> = order.iter().copied().collect();
        order.extend(own.map(AsRef::as_ref).filter(|tag| seen.insert(tag)));
        Inherited { order }
    }
}

/// One line; the order of the fields is the order of the keys.
#[derive(Serialize)]
struct Row<'a> {
    file: &'a str,
    line: u32,
    level: u16,
    title: Option<&'a str>,
    todo: Option<&'a str>,
    priority: Option<char>,
    tags: Vec<&'a str>,
    all_tags: &'a [&'a str],
    commented: bool,
    properties: Vec<[&'a str; 2]>,
    id: Option<&'a str>,
    scheduled: Option<&'a str>,
    deadline: Option<&'a str>,
    closed: Option<&'a str>,
    body_sha256: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    contents: Option<Contents>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contents_error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    todo_keywords: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filetags: Option<Vec<&'a str>>,
}

fn row<'a>(file: &'a str, outline: &'a Outline, node: &'a Node, all_tags: &'a [&'a str]) -> Row<'a> {
    let is_file = node.level == 0;
    let stamp = |range: &'a Option<Range<u32>>| range.as_ref().map(|range| outline.slice(range));
    Row {
        file,
        line: node.line,
        level: node.level,
        title: if is_file { outline.title.as_deref() } else { Some(outline.slice(&node.title)) },
        todo: outline.todo(node).map(|keyword| keyword.name.as_ref()),
        priority: node.priority,
        tags: node.tags.iter().map(AsRef::as_ref).collect(),
        all_tags,
        commented: node.commented,
        properties: node.properties.iter().map(|(key, value)| [key.as_ref(), value.as_ref()]).collect(),
        id: outline.property(node, "ID"),
        scheduled: stamp(&node.scheduled),
        deadline: stamp(&node.deadline),
        closed: stamp(&node.closed),
        body_sha256: hash(outline.slice(&node.section)),
        contents: None,
        contents_error: None,
        todo_keywords: is_file.then(|| outline.keywords.iter().map(|keyword| keyword.name.as_ref()).collect()),
        filetags: is_file.then(|| outline.filetags.iter().map(AsRef::as_ref).collect()),
    }
}

/// Returns the SHA-256 of a section without white space at its ends, as sixty-four hexadecimal digits.
fn hash(section: &str) -> String {
    use std::fmt::Write as _;
    let digest = Sha256::digest(section.trim_matches([' ', '\t', '\n', '\r', '\u{c}']));
    digest.iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
