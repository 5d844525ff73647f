//! Org tables as rows of cells, by the names in their first row.

use crate::domain::org::outline::Outline;

/// How many rows of a table are read.
const MAX_ROWS: usize = 2000;
/// The columns by which a table of rules is known wherever it stands.
const RULES: [&str; 2] = ["pattern", "verdict"];

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

/// One table, with what the cells of its first row call its columns.
pub(super) struct Table {
    /// The one-based line of its head.
    pub line: u32,
    /// Whether it has the columns of a table of rules, by its head or a row that looks like one.
    pub is_of_rules: bool,
    /// The rows below its head.
    pub rows: Vec<Row>,
    names: Vec<String>,
}

impl Table {
    /// Makes a table of its head.
    pub fn new(line: u32, head: &str) -> Table {
        let low = head.to_lowercase();
        let is_of_rules = RULES.iter().all(|column| low.contains(column));
        Table { line, is_of_rules, rows: Vec::new(), names: cells(&low) }
    }

    /// Adds a row.
    pub fn add(&mut self, line: u32, row: &str) {
        let cells = cells(row);
        self.is_of_rules |= RULES.iter().all(|column| cells.iter().any(|cell| cell.eq_ignore_ascii_case(column)));
        if self.rows.len() < MAX_ROWS && cells.iter().any(|cell| !cell.is_empty()) {
            self.rows.push(Row { line, cells: self.names.iter().cloned().zip(cells).collect() });
        }
    }
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
