//! Legal Org texts that make careless parsers slow, deep or wrong, as a tool beside the project writes them.

use crate::support::skip::skipped;
use crate::support::soak::asked;
use passepartout::domain::memory::document::{Document, PrivacyOptions};
use passepartout::domain::org::link::links;
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::domain::org::timestamp::timestamps;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Long enough that only what is worse than linear can miss it, even unoptimised on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn hostile_texts_are_read_in_linear_time() {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/tools/org-hostile.py");
    if !tool.exists() || Command::new("python3").arg("--version").output().is_err() {
        skipped(format_args!("{} or python3 is absent", tool.display()));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let size: usize = asked("HOSTILE_BYTES").unwrap_or(100_000);
    let done = Command::new("python3").arg(&tool).args(["--all", &size.to_string()]).arg(folder.path()).status();
    assert!(done.unwrap().success());
    let index = std::fs::read_to_string(folder.path().join("index.txt")).unwrap();
    let mut slowest = (Duration::ZERO, String::new());
    for line in index.lines() {
        let (file, name) = line.split_once(' ').unwrap();
        let text: Arc<str> = std::fs::read_to_string(folder.path().join(file)).unwrap().into();
        let begun = Instant::now();
        let outline = match scan(text.clone(), &ScanOptions::default()) {
            Ok(outline) => outline,
            Err(refused) => {
                println!("{name}: refused: {refused}");
                continue;
            }
        };
        let scanned = begun.elapsed();
        let document = Document::build("a.org", outline, &PrivacyOptions::default());
        let found = (links(&text).len(), timestamps(&text).len(), document.ids.len());
        let took = begun.elapsed();
        assert!(took < PATIENCE, "{name}: {took:?} for {} bytes, {found:?}", text.len());
        if took > slowest.0 {
            slowest = (took, format!("{name} (scan alone {scanned:?})"));
        }
    }
    println!("{} texts of {size} bytes; slowest {:?}: {}", index.lines().count(), slowest.0, slowest.1);
}
