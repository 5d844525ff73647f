//! The dump against what Org 9.7 itself says of the same files, where the corpus lies beside the project.

use crate::support::skip::skipped;
use passepartout::edge::cli::dump;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The fields in which a heading must agree.
const FIELDS: [&str; 11] = [
    "level",
    "title",
    "todo",
    "priority",
    "tags",
    "commented",
    "properties",
    "scheduled",
    "deadline",
    "closed",
    "body_sha256",
];

type Rows = HashMap<String, Vec<Value>>;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus")
}

/// Reads a dump; file names lose what stands before `prefix`.
fn rows(text: &str, prefix: &str) -> Rows {
    let mut rows = Rows::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).expect("a line of a dump is JSON");
        let name = row["file"].as_str().unwrap();
        let name = name.strip_prefix(prefix).unwrap_or(name).to_owned();
        rows.entry(name).or_default().push(row);
    }
    rows
}

/// Returns what Org says, or nothing where the corpus or `xz` is absent.
fn truth(file: &str) -> Option<Rows> {
    let path = corpus().join(file);
    let output = path.exists().then(|| Command::new("xz").arg("-dc").arg(&path).output());
    let Some(Ok(output)) = output else {
        skipped(format_args!("{} or xz is not there", path.display()));
        return None;
    };
    Some(rows(&String::from_utf8_lossy(&output.stdout), ""))
}

fn ours(files: &[PathBuf]) -> Rows {
    let mut out = Vec::new();
    dump::run(files, &mut out).unwrap();
    rows(std::str::from_utf8(&out).unwrap(), &format!("{}/", corpus().display()))
}

fn field(row: &Value, name: &str) -> Value {
    match name {
        "title" => Value::from(row[name].as_str().unwrap_or_default().trim_matches([' ', '\t'])),
        _ => row[name].clone(),
    }
}

#[derive(Default, Debug, PartialEq)]
struct Counts {
    files: usize,
    files_same: usize,
    headings: usize,
    headings_same: usize,
}

fn compare(truth: &Rows, ours: &Rows, differences: &mut Vec<String>) -> Counts {
    let mut counts = Counts::default();
    for (name, rows) in truth {
        let mine = ours.get(name).map_or(&[][..], Vec::as_slice);
        let by_line: HashMap<i64, &Value> =
            mine.iter().filter(|row| row["level"] != 0).map(|row| (row["line"].as_i64().unwrap(), row)).collect();
        let mut same = !mine.is_empty();
        let mut heads = 0;
        for row in rows {
            let line = row["line"].as_i64().unwrap();
            let level = row["level"].as_i64().unwrap();
            heads += usize::from(level > 0);
            let found = if level == 0 { mine.first() } else { by_line.get(&line).copied() };
            let fields: &[&str] =
                if level == 0 { &["properties", "body_sha256", "todo_keywords", "filetags"] } else { &FIELDS };
            let bad: Vec<_> = match found {
                None => vec!["is missing".to_owned()],
                Some(found) => fields
                    .iter()
                    .filter(|f| field(row, f) != field(found, f))
                    .map(|f| format!("{f}: Org {} we {}", row[*f], found[*f]))
                    .collect(),
            };
            counts.headings_same += usize::from(level > 0 && bad.is_empty());
            same &= bad.is_empty();
            differences.extend(bad.into_iter().map(|what| format!("{name}:{line}: {what}")));
        }
        if by_line.len() > heads {
            same = false;
            differences.push(format!("{name}: {} headings that are none", by_line.len() - heads));
        }
        counts.files += 1;
        counts.files_same += usize::from(same);
        counts.headings += heads;
    }
    differences.sort();
    counts
}

/// Every eighth file, all of them with `PASSEPARTOUT_AGREEMENT=all`.
#[test]
fn agreement_with_org() {
    let Some(mut truth) = truth("org-9.7.truth.jsonl.xz") else { return };
    let all = std::env::var("PASSEPARTOUT_AGREEMENT").is_ok_and(|value| value == "all");
    let mut names: Vec<String> = truth.keys().cloned().collect();
    names.sort();
    if !all {
        names = names.into_iter().step_by(8).collect();
        truth.retain(|name, _| names.binary_search(name).is_ok());
    }
    let files: Vec<PathBuf> = names.iter().map(|name| corpus().join(name)).collect();
    let mut differences = Vec::new();
    let counts = compare(&truth, &ours(&files), &mut differences);
    println!("{counts:?}");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The folder as a whole gives the same files as the list of what Org read.
#[test]
fn the_walk_finds_what_org_read() {
    let Some(truth) = truth("org-9.7.truth.jsonl.xz") else { return };
    let found = passepartout::edge::walk::org_files(&corpus().join("org"));
    let mut found: Vec<String> = found
        .into_iter()
        .map(|path| path.unwrap().strip_prefix(corpus()).unwrap().to_str().unwrap().to_owned())
        .collect();
    let mut known: Vec<String> = truth.into_keys().collect();
    known.sort();
    assert!(found.is_sorted());
    found.sort();
    assert_eq!(found, known);
}

#[test]
fn agreement_on_edge_cases() {
    let Some(truth) = truth("org-edge-9.7.truth.jsonl.xz") else { return };
    let files: Vec<PathBuf> = truth.keys().map(|name| corpus().join(name)).collect();
    let mut differences = Vec::new();
    let counts = compare(&truth, &ours(&files), &mut differences);
    println!("{counts:?}\n{}", differences.join("\n"));
    assert_eq!(counts.files, 52);
    assert!(counts.files_same >= 51, "{}", differences.join("\n"));
}
