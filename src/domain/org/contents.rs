//! What stands inside a section: tables, items of lists, blocks and footnotes, as data, parsed by `orgize`.
//!
//! Parsing is for a section that someone asks about, and never for ingest. `orgize` takes quadratic or cubic time on
//! some texts and recurses on others, so what it is given is measured first, and refused beyond [`Limits`].
//! It wants a stack of [`STACK`] bytes: the edge calls it on a thread of its own.

use orgize::rowan::WalkEvent;
use orgize::rowan::ast::AstNode as _;
use orgize::{ParseConfig, SyntaxKind, SyntaxNode};
use serde::Serialize;
use std::ops::Range;

/// The stack that [`parse`] may need, in bytes.
pub const STACK: usize = 64 << 20;

/// The most bytes of a section that are parsed.
const MAX_BYTES: usize = 32 << 10;

/// The most lines of a section that are parsed.
const MAX_LINES: usize = 3_000;

/// The most work on one section: for each paragraph, its markers squared times its bytes.
const MAX_WORK: u64 = 500_000_000;

/// The most lines that begin with `#+`, or hold nothing but a drawer's name.
const MAX_MARKS: usize = 200;

/// The deepest indentation of a list's item, in columns.
const MAX_INDENT: usize = 100;

/// What is inside a section; ranges are bytes of its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Contents {
    /// Tables, in order.
    pub tables: Vec<Table>,
    /// Items of all lists, in order; those below another come behind it.
    pub items: Vec<Item>,
    /// Blocks, in order.
    pub blocks: Vec<Block>,
    /// Definitions of footnotes, in order.
    pub footnotes: Vec<Footnote>,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Table {
    /// Where it stands.
    pub range: Range<usize>,
    /// How many of the rows stand above the first rule; 0 without one.
    pub header: usize,
    /// Its cells without blanks around them; rules are left out.
    pub rows: Vec<Vec<String>>,
}

/// An item of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Where it stands, with all below it.
    pub range: Range<usize>,
    /// 0 for a list that is inside no other.
    pub depth: usize,
    /// Its box, if it has one.
    #[serde(rename = "box")]
    pub check: Option<Check>,
    /// Its first line, without bullet and box.
    pub text: String,
}

/// The state of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// `[ ]`
    Open,
    /// `[-]`
    Partly,
    /// `[X]`
    Done,
}

/// A block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Block {
    /// From its first line to behind its last.
    pub range: Range<usize>,
    /// The word behind `#+begin_`, in lower case.
    pub kind: String,
    /// The word behind that, such as the language of a source block.
    pub language: Option<String>,
}

/// The definition of a footnote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Footnote {
    /// Where it stands.
    pub range: Range<usize>,
    /// Its label.
    pub label: String,
}

/// Why nobody looks inside a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Limits {
    /// More bytes than are parsed.
    #[error("{0} bytes are too many to look inside")]
    Bytes(usize),
    /// More lines than are parsed.
    #[error("{0} lines are too many to look inside")]
    Lines(usize),
    /// Too many markers of emphasis, links and such in one paragraph.
    #[error("too many markers stand in one paragraph to look inside")]
    Markers,
    /// Too many keywords, blocks or drawers.
    #[error("{0} lines of keywords, blocks and drawers are too many to look inside")]
    Marks(usize),
    /// Lists that are nested too deep.
    #[error("a list is nested too deep to look inside")]
    Depth,
}

/// Refuses a section that could take `orgize` longer than some ten milliseconds.
///
/// # Errors
///
/// Which limit it passes.
pub fn check(text: &str) -> Result<(), Limits> {
    if text.len() > MAX_BYTES {
        return Err(Limits::Bytes(text.len()));
    }
    let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1;
    if lines > MAX_LINES {
        return Err(Limits::Lines(lines));
    }
    let (mut work, mut markers, mut bytes, mut marks) = (0u64, 0u64, 0u64, 0usize);
    for line in text.split('\n') {
        let inner = line.trim_start_matches([' ', '\t']);
        if inner.trim_end().is_empty() {
            work = work.saturating_add(markers.saturating_mul(markers).saturating_mul(bytes));
            (markers, bytes) = (0, 0);
            continue;
        }
        let item = inner.starts_with(|c: char| matches!(c, '-' | '+' | '*') || c.is_ascii_digit());
        if item && line.len() - inner.len() > MAX_INDENT {
            return Err(Limits::Depth);
        }
        let drawer = inner.starts_with(':') && inner.trim_end().ends_with(':');
        marks += usize::from(inner.starts_with("#+") || drawer || inner.starts_with("\\begin{"));
        markers += line.bytes().filter(|byte| b"*/_+=~[<{(\\$@^".contains(byte)).count() as u64;
        markers += (line.matches("call_").count() + line.matches("src_").count()) as u64;
        bytes += line.len() as u64 + 1;
    }
    work = work.saturating_add(markers.saturating_mul(markers).saturating_mul(bytes));
    if marks > MAX_MARKS {
        return Err(Limits::Marks(marks));
    }
    if work > MAX_WORK { Err(Limits::Markers) } else { Ok(()) }
}

/// What stands before the text that is parsed: no planning line and no property drawer can follow it.
const HEAD: &str = "* x\n\n";

/// Looks inside a section. Wants a stack of [`STACK`] bytes.
///
/// # Errors
///
/// As [`check`].
pub fn parse(text: &str) -> Result<Contents, Limits> {
    check(text)?;
    let org = ParseConfig::default().parse(format!("{HEAD}{text}"));
    let document = org.document();
    let mut contents = Contents::default();
    let mut depth = 0usize;
    for step in document.syntax().preorder() {
        match step {
            WalkEvent::Enter(node) => {
                let at = range(&node, text.len());
                match node.kind() {
                    SyntaxKind::LIST => depth += 1,
                    SyntaxKind::LIST_ITEM => contents.items.push(item(&node, at, depth.saturating_sub(1))),
                    SyntaxKind::ORG_TABLE => contents.tables.push(table(&node, at)),
                    SyntaxKind::FN_DEF => contents.footnotes.extend(footnote(text, at)),
                    SyntaxKind::SPECIAL_BLOCK
                    | SyntaxKind::QUOTE_BLOCK
                    | SyntaxKind::CENTER_BLOCK
                    | SyntaxKind::VERSE_BLOCK
                    | SyntaxKind::COMMENT_BLOCK
                    | SyntaxKind::EXAMPLE_BLOCK
                    | SyntaxKind::EXPORT_BLOCK
                    | SyntaxKind::SOURCE_BLOCK => contents.blocks.extend(block(text, at)),
                    _ => {}
                }
            }
            WalkEvent::Leave(node) => depth -= usize::from(node.kind() == SyntaxKind::LIST && depth > 0),
        }
    }
    Ok(contents)
}

/// Returns where a node stands in the section's own text, without blank lines behind it.
fn range(node: &SyntaxNode, size: usize) -> Range<usize> {
    let own = |at: usize| at.saturating_sub(HEAD.len()).min(size);
    let whole = node.text_range();
    own(usize::from(whole.start()))..own(usize::from(whole.end()))
}

fn item(node: &SyntaxNode, range: Range<usize>, depth: usize) -> Item {
    let part = |kind| node.children_with_tokens().find(|child| child.kind() == kind).map(|child| child.to_string());
    let check = part(SyntaxKind::LIST_ITEM_CHECK_BOX).and_then(|text| match text.trim() {
        "[ ]" => Some(Check::Open),
        "[-]" => Some(Check::Partly),
        "[X]" | "[x]" => Some(Check::Done),
        _ => None,
    });
    let tag = part(SyntaxKind::LIST_ITEM_TAG)
        .map(|tag| tag.trim().trim_end_matches("::").trim().to_owned())
        .filter(|tag| !tag.is_empty());
    let content = part(SyntaxKind::LIST_ITEM_CONTENT).unwrap_or_default();
    let first = content.lines().next().unwrap_or_default().trim();
    let text = tag.map_or(first.to_owned(), |tag| format!("{tag} :: {first}"));
    Item { range, depth, check, text }
}

fn table(node: &SyntaxNode, range: Range<usize>) -> Table {
    let (mut rows, mut header) = (Vec::new(), None);
    for row in node.children() {
        match row.kind() {
            SyntaxKind::ORG_TABLE_RULE_ROW => header = header.or(Some(rows.len())),
            SyntaxKind::ORG_TABLE_STANDARD_ROW => {
                let cells = row.children().filter(|cell| cell.kind() == SyntaxKind::ORG_TABLE_CELL);
                rows.push(cells.map(|cell| cell.to_string().trim().to_owned()).collect());
            }
            _ => {}
        }
    }
    // A rule at the very end, or with nothing above it, makes no header.
    let header = header.filter(|above| *above < rows.len()).unwrap_or(0);
    Table { range, header, rows }
}

fn block(text: &str, range: Range<usize>) -> Option<Block> {
    let own = text.get(range.clone())?;
    // Names and captions may stand above the first line.
    let line = own
        .lines()
        .map(str::trim_start)
        .find(|line| line.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("#+begin_")))?;
    let mut words = line.get(8..)?.split_whitespace();
    let kind = words.next()?.to_lowercase();
    Some(Block { range, kind, language: words.next().filter(|word| !word.starts_with([':', '-'])).map(str::to_owned) })
}

fn footnote(text: &str, range: Range<usize>) -> Option<Footnote> {
    let label = text.get(range.clone())?.strip_prefix("[fn:")?.split(']').next()?.to_owned();
    Some(Footnote { range, label })
}
