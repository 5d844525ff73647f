//! `passepartout ingest`: what was read, as a report for people or as one JSON object.

use crate::domain::count::counted;
use crate::edge::cli::run::{DONE, FAILED};
use crate::edge::config::Config;
use crate::edge::ingest::IngestReport;
use crate::edge::stderr::say;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

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

/// Prints what was read; returns the exit status.
pub(super) fn ingested(
    report: &crate::edge::ingest::IngestReport,
    json: bool,
    out: &mut dyn Write,
    errors: &mut dyn Write,
) -> std::io::Result<u8> {
    if json {
        write!(errors, "{}", problems(report))?;
        writeln!(out, "{}", self::json(report))?;
    } else {
        write!(out, "{}", self::report(report))?;
    }
    Ok(if report.files == 0 && !report.problems.is_empty() { FAILED } else { DONE })
}

pub(super) fn absolute_text(path: &PathBuf) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.clone()).to_string_lossy().into_owned()
}

/// Reads a memex into memory, without a store.
pub(super) fn read(paths: &[PathBuf], config: &Config, show: bool) -> crate::edge::ingest::IngestReport {
    let options = crate::edge::ingest::IngestOptions {
        scan: crate::edge::setup_files::SetupFiles::of(config).scan_options(config.org.todo_sequences.clone()),
        privacy: crate::domain::memory::document::PrivacyOptions { tags: config.private_tags.clone() },
        ..Default::default()
    };
    let known = crate::edge::ingest::Known::default();
    crate::edge::ingest::ingest(
        paths,
        &known,
        &options,
        &mut |at| progress(at.done, at.total, show),
        &AtomicBool::new(false),
    )
}

/// Shows how far reading has come, on a terminal only.
pub(super) fn progress(done: usize, total: usize, show: bool) {
    use std::io::IsTerminal;
    if show && std::io::stderr().is_terminal() && (done == total || done.is_multiple_of(64)) {
        say(&format!("\rreading {done}/{total}{}", if done == total { "\r\x1b[K" } else { "" }));
    }
}
