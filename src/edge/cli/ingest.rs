//! `passepartout ingest`: what was read, as a report for people or as one JSON object.

use crate::domain::count::counted;
use crate::edge::ingest::IngestReport;
use serde::Serialize;

#[derive(Serialize)]
struct Figures {
    files: usize,
    headings: usize,
    bytes: u64,
    problems: usize,
    seconds: f64,
}

/// Returns the report for people: one line of figures, and one line for each problem.
pub fn report(report: &IngestReport) -> String {
    let rate = if report.seconds > 0.0 { report.bytes as f64 / 1e6 / report.seconds } else { 0.0 };
    let mut text = format!(
        "{}, {}, {:.1} MB read in {:.2} s ({rate:.0} MB/s), {}\n",
        counted(report.files, "file"),
        counted(report.headings, "heading"),
        report.bytes as f64 / 1e6,
        report.seconds,
        counted(report.problems.len(), "problem"),
    );
    if report.unchanged > 0 {
        text.push_str(&format!("unchanged since the last time: {}\n", counted(report.unchanged, "file")));
    }
    if !report.removed.is_empty() {
        text.push_str(&format!("gone: {}\n", counted(report.removed.len(), "file")));
    }
    if report.cancelled {
        text.push_str("stopped before the end; what was read until then counts\n");
    }
    text.push_str(&problems(report));
    text
}

/// Returns `{"files","headings","bytes","problems","seconds"}`, all numbers, without a line end.
///
/// The problems themselves are [`problems`], for standard error.
pub fn json(report: &IngestReport) -> String {
    let figures = Figures {
        files: report.files,
        headings: report.headings,
        bytes: report.bytes,
        problems: report.problems.len(),
        seconds: (report.seconds * 1e6).round() / 1e6,
    };
    // Numbers alone: there is nothing in it that could fail to be written.
    serde_json::to_string(&figures).unwrap_or_default()
}

/// Returns one line for each problem: the file, and what happened.
pub fn problems(report: &IngestReport) -> String {
    report.problems.iter().map(|problem| format!("{problem}\n")).collect()
}
