//! The lines of a skill's file: which of them stand in blocks, and the tables outside blocks.

use crate::domain::literate::blocks::blocks;
use crate::domain::org::outline::Outline;
use crate::domain::skill::table::Table;
use std::ops::Range;

/// The text of a skill, with where its lines and blocks are.
pub(super) struct Page<'a> {
    text: &'a str,
    /// Where each line begins, in bytes.
    starts: Vec<usize>,
    /// The blocks that stand in no other, from the line that begins each to the line that ends it.
    blocks: Vec<Range<usize>>,
}

/// One line.
pub(super) struct Line<'a> {
    /// One-based.
    pub number: u32,
    /// Without its end.
    pub text: &'a str,
    /// Whether it stands in a block that begins and ends, as Org has it.
    pub in_block: bool,
}

impl<'a> Page<'a> {
    /// Looks where the lines and blocks of a file are.
    pub fn new(outline: &'a Outline) -> Page<'a> {
        let text: &str = &outline.text;
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut all: Vec<Range<usize>> = blocks(text).blocks.iter().map(|block| block.begin..block.body.end).collect();
        all.sort_by_key(|block| block.start);
        let mut outer: Vec<Range<usize>> = Vec::new();
        for block in all {
            if outer.last().is_none_or(|last| last.end <= block.start) {
                outer.push(block);
            }
        }
        Page { text, starts, blocks: outer }
    }

    /// Returns the lines of a range.
    pub fn lines(&self, range: &Range<u32>) -> impl Iterator<Item = Line<'a>> {
        let mut at = range.start as usize;
        let first = self.starts.partition_point(|start| *start <= at);
        let text = self.text.get(at..range.end as usize).unwrap_or("");
        text.split_inclusive('\n').enumerate().map(move |(offset, line)| {
            let in_block = self.in_block(at);
            at += line.len();
            let number = u32::try_from(first + offset).unwrap_or(u32::MAX);
            Line { number, text: line.trim_end_matches(['\n', '\r']), in_block }
        })
    }

    /// Returns the tables of a range that stand outside blocks, each with a head.
    pub fn tables(&self, range: &Range<u32>) -> Vec<Table> {
        let (mut found, mut open): (Vec<Table>, Option<Table>) = (Vec::new(), None);
        for line in self.lines(range) {
            let row = line.text.trim();
            if line.in_block || !row.starts_with('|') {
                found.extend(open.take());
            } else if !row.starts_with("|-") {
                match &mut open {
                    None => open = Some(Table::new(line.number, row)),
                    Some(table) => table.add(line.number, row),
                }
            }
        }
        found.extend(open);
        found
    }

    /// Returns the text of a range without the lines that are for people: comments outside blocks.
    pub fn told(&self, range: &Range<u32>) -> String {
        let comment = |text: &str| text.trim_start().starts_with("# ") || text.trim() == "#";
        let kept = self.lines(range).filter(|line| line.in_block || !comment(line.text));
        kept.map(|line| format!("{}\n", line.text)).collect()
    }

    fn in_block(&self, at: usize) -> bool {
        let before = self.blocks.partition_point(|block| block.start < at);
        before.checked_sub(1).and_then(|index| self.blocks.get(index)).is_some_and(|block| at < block.end)
    }
}
