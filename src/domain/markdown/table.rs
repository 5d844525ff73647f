//! Tables: rows are held back until the table has ended, so that its columns stand below each other.

use super::words::Words;
use unicode_width::UnicodeWidthStr;

/// A table of more bytes than this is given out as far as it is there, and its further rows as they come.
const MOST: usize = 8 * 1024;
/// A column is filled up to so many columns of the screen, not more.
const WIDEST: usize = 60;
/// A table is filled up to so many times what was written of it: one row can name thousands of columns.
const GROWTH: usize = 8;

enum Row {
    Rule,
    Fields(Vec<String>),
}

/// A table that is open.
pub(super) struct Table {
    indent: usize,
    rows: Vec<Row>,
    bytes: usize,
    /// So many bytes of it were given out.
    given: usize,
    /// How wide the columns are, once rows were given out.
    widths: Option<Vec<usize>>,
}

impl Table {
    pub(super) fn new(indent: usize) -> Table {
        Table { indent, rows: Vec::new(), bytes: 0, given: 0, widths: None }
    }

    /// Takes a row.
    pub(super) fn push(&mut self, line: &str, words: &mut Words, out: &mut String) {
        self.bytes += line.len();
        self.rows.push(row(line, words));
        if self.bytes > MOST {
            self.give(out);
        }
    }

    pub(super) fn end(mut self, out: &mut String) {
        self.give(out);
    }

    fn give(&mut self, out: &mut String) {
        let widths = self.widths.get_or_insert_with(|| widths(&self.rows));
        for row in self.rows.drain(..) {
            let before = out.len();
            let fills = self.given < GROWTH * self.bytes + MOST;
            out.push_str(&" ".repeat(self.indent));
            match row {
                Row::Rule if !fills => out.push_str("|-|"),
                Row::Rule => {
                    let dashes: Vec<String> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
                    out.push_str(&format!("|{}|", dashes.join("+")));
                }
                Row::Fields(fields) => {
                    for (number, field) in fields.iter().enumerate() {
                        let width = widths.get(number).filter(|_| fills);
                        let room = width.map_or(0, |width| width.saturating_sub(width_of(field)));
                        out.push_str(&format!("| {field}{} ", " ".repeat(room)));
                    }
                    let missing = widths.iter().skip(fields.len()).filter(|_| fills);
                    out.extend(missing.map(|width| format!("|{}", " ".repeat(width + 2))));
                    out.push('|');
                }
            }
            out.push('\n');
            self.given += out.len() - before;
        }
    }
}

fn widths(rows: &[Row]) -> Vec<usize> {
    let mut widths = Vec::new();
    for row in rows {
        let Row::Fields(fields) = row else { continue };
        for (number, field) in fields.iter().enumerate() {
            let width = width_of(field).clamp(1, WIDEST);
            match widths.get_mut(number) {
                Some(most) => *most = width.max(*most),
                None => widths.push(width),
            }
        }
    }
    if widths.is_empty() {
        widths.push(1);
    }
    widths
}

fn row(line: &str, words: &mut Words) -> Row {
    let fields = fields(line);
    let is_rule = |field: &String| {
        let dashes = field.strip_prefix(':').unwrap_or(field);
        let dashes = dashes.strip_suffix(':').unwrap_or(dashes);
        !dashes.is_empty() && dashes.chars().all(|c| c == '-' || c == '+') && dashes.starts_with('-')
    };
    match !fields.is_empty() && fields.iter().all(is_rule) {
        true => Row::Rule,
        false => Row::Fields(fields.iter().map(|field| words.field(field)).collect()),
    }
}

/// Returns the fields of a row that begins with a bar.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut escaped) = (Vec::new(), String::new(), false);
    for c in line.trim_end().chars().skip(1) {
        match c {
            '|' if escaped => {
                field.pop();
                field.push('|');
            }
            '|' => fields.push(std::mem::take(&mut field).trim().to_string()),
            _ => field.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    if !field.trim().is_empty() || fields.is_empty() {
        fields.push(field.trim().to_string());
    }
    fields
}

/// Returns how wide a field is shown: of a link its words.
fn width_of(field: &str) -> usize {
    let (mut width, mut rest) = (0, field);
    while let Some((before, from)) = rest.split_once("[[") {
        let Some((inside, behind)) = from.split_once("]]") else { break };
        width += before.width() + inside.split_once("][").map_or(inside, |(_, words)| words).width();
        rest = behind;
    }
    width + rest.width()
}
