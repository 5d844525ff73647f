//! Org tables as rows of cells, by the names in their first row.

use crate::domain::org::outline::Outline;
use std::ops::Range;

/// How many rows of a table are read.
const MAX_ROWS: usize = 2000;

/// One row: its one-based line, and its cells by column.
pub(super) struct Row {
    pub line: u32,
    cells: Vec<(String, String)>,
}

impl Row {
    /// Returns the cell of a column, by the column's name in lower case; empty when there is none.
    pub fn cell(&self, column: &str) -> &str {
        self.cells.iter().find(|(name, _)| name == column).map_or("", |(_, cell)| cell)
    }

    /// Returns whether the table has a column.
    pub fn has(&self, column: &str) -> bool {
        self.cells.iter().any(|(name, _)| name == column)
    }
}

/// Reads the first table of a range; `None` when there is none.
pub(super) fn rows(outline: &Outline, range: &Range<u32>) -> Option<Vec<Row>> {
    let first = line_of(outline, range.start);
    let mut names: Option<Vec<String>> = None;
    let mut rows = Vec::new();
    for (offset, line) in outline.slice(range).lines().enumerate() {
        let line = line.trim();
        if !line.starts_with('|') {
            if names.is_some() {
                break;
            }
            continue;
        }
        if line.starts_with("|-") {
            continue;
        }
        let cells = cells(line);
        match &names {
            None => names = Some(cells.iter().map(|cell| cell.to_lowercase()).collect()),
            Some(names) if rows.len() < MAX_ROWS && cells.iter().any(|cell| !cell.is_empty()) => {
                let line = first.saturating_add(u32::try_from(offset).unwrap_or(u32::MAX));
                rows.push(Row { line, cells: names.iter().cloned().zip(cells).collect() });
            }
            Some(_) => {}
        }
    }
    names.map(|_| rows)
}

/// Returns the cells of a row; `\vert` stands for a bar, as in Org.
fn cells(line: &str) -> Vec<String> {
    let inner = line.strip_prefix('|').unwrap_or(line);
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    let plain = |cell: &str| {
        let cell = cell.trim();
        let cell = cell.strip_prefix('~').and_then(|rest| rest.strip_suffix('~')).unwrap_or(cell);
        let cell = cell.strip_prefix('=').and_then(|rest| rest.strip_suffix('=')).unwrap_or(cell);
        cell.replace("\\vert{}", "|").replace("\\vert", "|")
    };
    inner.split('|').map(plain).collect()
}

/// Returns the one-based line of a byte.
pub(super) fn line_of(outline: &Outline, byte: u32) -> u32 {
    let before = outline.text.get(..byte as usize).unwrap_or("");
    u32::try_from(before.bytes().filter(|b| *b == b'\n').count()).unwrap_or(u32::MAX).saturating_add(1)
}
