//! Files of our own, with what Org 9.7 in Emacs 30.1 reads in them: `test/fixtures/org-9.7.jsonl`.
//!
//! `test/scripts/org-truth.sh` asks Org again, and remakes that file.

use passepartout::domain::org::link::{Form, Kind, Link, links};
use passepartout::domain::org::outline::Outline;
use passepartout::domain::org::scan::ScanOptions;
use passepartout::domain::org::timestamp::{Delay, Repeater, RepeaterKind, Timestamp, Unit, Until};
use passepartout::edge::org_file::read_outline;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("test/fixtures")
}

/// What Org says: rows by file.
fn truth() -> BTreeMap<String, Vec<Value>> {
    let text = std::fs::read_to_string(fixtures().join("org-9.7.jsonl")).unwrap();
    let mut rows: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        rows.entry(row["file"].as_str().unwrap().to_owned()).or_default().push(row);
    }
    rows
}

/// What differs from Org (file, line, field), and why; nothing else may.
const KNOWN: [(&str, u64, &str); 4] = [
    // The ends of a range in brackets of two kinds are read as text only.
    ("planning-places.org", 13, "deadline"),
    // Org gives a diary timestamp's time of day; it has no day, and is text only here.
    ("planning.org", 7, "scheduled"),
    ("timestamps.org", 11, "scheduled"),
    ("timestamps.org", 11, "deadline"),
];

#[test]
fn every_fixture_is_read_as_org_reads_it() {
    let truth = truth();
    assert!(truth.len() >= 60, "{} fixtures", truth.len());
    let mut wrong = Vec::new();
    for (file, rows) in &truth {
        let (outline, _) = read_outline(&fixtures().join("org").join(file), &ScanOptions::default()).unwrap();
        let own: Vec<Value> = (0..outline.nodes.len()).map(|index| row(file, &outline, index)).collect();
        if own.len() != rows.len() {
            wrong.push(format!("{file}: {} nodes instead of {}", own.len(), rows.len()));
        }
        for (own, row) in own.iter().zip(rows) {
            for (field, value) in row.as_object().unwrap() {
                let known = KNOWN.contains(&(file.as_str(), row["line"].as_u64().unwrap(), field.as_str()));
                let mine = match field.as_str() {
                    "values" => values(file, &outline, &own["index"], value),
                    _ => own[field].clone(),
                };
                if mine != *value && !known {
                    wrong.push(format!("{file}:{} {field}: Org {value} we {mine}", row["line"]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_fixture_is_in_the_dump() {
    let mut names: Vec<String> = std::fs::read_dir(fixtures().join("org"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, truth().into_keys().collect::<Vec<_>>());
}

/// Returns what `org-entry-get` says of the keys that Org was asked for.
fn values(_: &str, outline: &Outline, index: &Value, asked: &Value) -> Value {
    let index = index.as_u64().unwrap() as usize;
    let rows = asked.as_array().unwrap().iter().map(|entry| {
        let key = entry[0].as_str().unwrap();
        // CATEGORY is a property of its own kind, and compared by itself.
        match key {
            "CATEGORY" => entry.clone(),
            _ => json!([key, outline.value(index, key), outline.inherited_value(index, key)]),
        }
    });
    rows.collect()
}

fn row(file: &str, outline: &Outline, index: usize) -> Value {
    let node = &outline.nodes[index];
    let pairs = |pairs: &[(Box<str>, Box<str>)]| pairs.iter().map(|(k, v)| json!([k, v])).collect::<Value>();
    let end = outline.nodes.get(index + 1).map_or(outline.text.len(), |next| next.begin as usize);
    let mut found = links_of(outline, node.begin as usize..end);
    if index == 0 {
        let words = |done: bool| outline.keywords.iter().filter(move |keyword| !done || keyword.done);
        let names = |done: bool| words(done).map(|keyword| json!(keyword.name)).collect::<Vec<_>>();
        let mut properties = outline.properties.clone();
        properties.sort();
        return json!({
            "index": 0, "file": file, "line": 1, "level": 0,
            "todo_keywords": names(false), "done_keywords": names(true), "filetags": outline.filetags,
            "keyword_properties": pairs(&properties), "properties": pairs(&node.properties),
            "links": found.split_off(0), "body_sha256": checksum(outline, &node.section),
        });
    }
    let todo = outline.todo(node);
    json!({
        "index": index, "file": file, "line": node.line, "level": node.level,
        "title": outline.slice(&node.title), "todo": todo.map(|keyword| &keyword.name),
        "done": todo.is_some_and(|keyword| keyword.done), "priority": node.priority,
        "tags": node.tags, "commented": node.commented, "archived": outline.is_archived(index),
        "properties": pairs(&node.properties), "category": outline.category(index, ""),
        "scheduled": stamp(outline, &node.scheduled), "deadline": stamp(outline, &node.deadline),
        "closed": stamp(outline, &node.closed), "clock": outline.clocked(index), "links": found,
        "body_sha256": checksum(outline, &node.section),
    })
}

fn checksum(outline: &Outline, range: &Range<u32>) -> String {
    let digest = Sha256::digest(outline.slice(range).trim_matches([' ', '\t', '\n', '\r', '\u{c}']));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The parts of a timestamp in the order in which Org was asked for them.
fn stamp(outline: &Outline, range: &Option<Range<u32>>) -> Value {
    let Some(range) = range else { return Value::Null };
    let raw = outline.slice(range);
    let Some(stamp) = Timestamp::parse(raw) else { return json!([raw]) };
    let (end, end_time) = match stamp.until {
        Until::Open => (stamp.date, stamp.time),
        Until::Time(time) => (stamp.date, Some(time)),
        Until::Day(date, time) => (date, time),
    };
    let unit = |unit| match unit {
        Unit::Hour => "hour",
        Unit::Day => "day",
        Unit::Week => "week",
        Unit::Month => "month",
        Unit::Year => "year",
    };
    let kind = |repeater: Repeater| match repeater.kind {
        RepeaterKind::Cumulate => "cumulate",
        RepeaterKind::CatchUp => "catch-up",
        RepeaterKind::Restart => "restart",
    };
    let delay = |delay: Delay| if delay.first_only { "first" } else { "all" };
    json!([
        raw,
        stamp.date.year(),
        stamp.date.month(),
        stamp.date.day(),
        stamp.time.map(|time| time.hour()),
        stamp.time.map(|time| time.minute()),
        end.year(),
        end.month(),
        end.day(),
        end_time.map(|time| time.hour()),
        end_time.map(|time| time.minute()),
        stamp.repeater.map(kind),
        stamp.repeater.map(|repeater| repeater.count),
        stamp.repeater.map(|repeater| unit(repeater.unit)),
        stamp.delay.map(delay),
        stamp.delay.map(|delay| delay.count),
        stamp.delay.map(|delay| unit(delay.unit)),
    ])
}

/// The links that begin in a range, as Org was asked for them.
fn links_of(outline: &Outline, range: Range<usize>) -> Vec<Value> {
    let all = links(&outline.text).into_iter().filter(|link| range.contains(&link.range.start));
    all.filter_map(|link| link_row(&outline.text, &link)).collect()
}

fn link_row(text: &str, link: &Link) -> Option<Value> {
    let path = link.path(text).into_owned();
    let form = match link.form {
        Form::Bracket => "bracket",
        Form::Plain => "plain",
        Form::Angle => "angle",
    };
    let (kind, path, search) = match link.kind {
        Kind::Id => ("id", path, None),
        Kind::Attachment => ("attachment", path, None),
        Kind::CustomId => ("custom-id", path, None),
        Kind::Heading => ("fuzzy", format!("*{path}"), None),
        Kind::Search => ("fuzzy", path, None),
        Kind::File => match path.split_once("::") {
            None => ("file", path, None),
            Some((name, search)) => ("file", name.to_owned(), Some(search.to_owned())),
        },
        Kind::Web | Kind::Other => {
            let (scheme, rest) = path.split_once(':')?;
            let kind = ["http", "https", "mailto"].into_iter().find(|known| *known == scheme)?;
            (kind, rest.to_owned(), None)
        }
    };
    Some(json!([kind, path, form, search]))
}
