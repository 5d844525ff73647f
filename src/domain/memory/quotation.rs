//! Which words in a row stand in private notes: short hashes of some of them, by which a quotation is known elsewhere.
//!
//! A hash says nothing of the words. Of `WINDOW` rows that follow one another one at least is kept, always the same
//! one, so that a passage of [`FOUND`] words is found wherever it begins and ends, and looking for one takes time in
//! its own length alone.

use crate::domain::id::ObjectHash;
use crate::domain::label::Privacy;
use crate::domain::memory::card::Card;
use crate::domain::memory::document::Document;
use crate::domain::org::outline::{Node, Outline};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// How many words in a row are one hash. Fewer are never known again.
pub const ROW: usize = 7;
/// Of so many rows that follow one another one is kept.
const WINDOW: usize = 4;
/// A passage of so many words is always found, when it stands in one node and has letters in its words.
pub const FOUND: usize = ROW + WINDOW - 1;
/// In scripts that put no spaces between words, so many characters are one row.
const ROW_OF_CHARACTERS: usize = 20;
/// Rows with fewer words that hold a letter are times, dates and numbers: such stand everywhere.
const WITH_LETTERS: usize = 4;
/// The most hashes that are kept, 8 bytes for the file and some 20 in the table for each.
const MOST: usize = 1 << 20;

/// Of these so many may be of notes that only warn, so that they never take the room of what is kept.
const MOST_WARNING: usize = MOST / 4;

/// The tiers of which words are looked for, strictest first.
const TIERS: [Privacy; 3] = [Privacy::Private, Privacy::Ask, Privacy::Warn];

/// The hashes of one file's private nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prints {
    file: Arc<str>,
    root: ObjectHash,
    /// Which nodes were private: the same text says something else when a setup file has changed.
    private: u64,
    /// For each of [`TIERS`]: sorted, each once.
    rows: [Box<[u64]>; 3],
    left_out: Missing,
}

/// What of a file there is no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    Nothing,
    /// The words of notes that only warn.
    Warning,
    /// All words.
    All,
}

/// The hashes of all private nodes of memory.
#[derive(Debug, Default)]
pub struct Quotations {
    files: HashMap<Arc<str>, Prints>,
    /// For each of [`TIERS`]: in how many files each stands.
    rows: [HashMap<u64, u32, BuildHasherDefault<Plain>>; 3],
    kept: usize,
    /// Of those, the ones of notes that only warn.
    warning: usize,
}

/// What is in a table is a hash already.
#[derive(Debug, Default)]
struct Plain(u64);

impl Hasher for Plain {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = mixed(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

impl Prints {
    /// Makes the hashes of a document's private nodes, in time linear in its text.
    pub fn of(document: &Document) -> Prints {
        let rows = TIERS.map(|tier| {
            let mut rows = Vec::new();
            let nodes = document.outline.nodes.iter().zip(&document.privacy);
            for (node, _) in nodes.filter(|(_, privacy)| **privacy == tier) {
                let said = said(&document.outline, node);
                keep_some(rows_of(&said, Script::Spaced), &mut rows);
                keep_some(rows_of(&said, Script::Unspaced), &mut rows);
            }
            rows.sort_unstable();
            rows.dedup();
            rows.into()
        });
        let (file, root, private) = (document.file.clone(), document.root(), which(document.card()));
        Prints { file, root, private, rows, left_out: Missing::Nothing }
    }

    fn count(&self) -> usize {
        self.rows.iter().map(|rows| rows.len()).sum()
    }

    fn count_warning(&self) -> usize {
        self.rows.iter().zip(TIERS).filter(|(_, tier)| !tier.is_kept()).map(|(rows, _)| rows.len()).sum()
    }

    /// Returns what is kept of it without the words of notes that only warn.
    fn without_warning(mut self) -> Prints {
        for (rows, _) in self.rows.iter_mut().zip(TIERS).filter(|(_, tier)| !tier.is_kept()) {
            *rows = Box::default();
        }
        Prints { left_out: Missing::Warning, ..self }
    }

    /// Returns whether they are those of a card's text.
    pub fn are_of(&self, card: &Card) -> bool {
        self.root == card.root() && self.private == which(card)
    }
}

impl Quotations {
    /// Returns whether nothing private is known.
    pub fn is_empty(&self) -> bool {
        self.rows.iter().all(HashMap::is_empty)
    }

    /// Takes the hashes of a file in the place of those that it had. Beyond `MOST` hashes those of a file are left out.
    pub fn take(&mut self, prints: Prints) {
        self.forget(&prints.file);
        let prints = match self.warning.saturating_add(prints.count_warning()) <= MOST_WARNING {
            true => prints,
            false => prints.without_warning(),
        };
        let fits = self.kept.saturating_add(prints.count()) <= MOST;
        let prints = match fits {
            true => prints,
            false => Prints { rows: Default::default(), left_out: Missing::All, ..prints },
        };
        self.kept += prints.count();
        self.warning += prints.count_warning();
        for (known, rows) in self.rows.iter_mut().zip(&prints.rows) {
            for row in rows {
                let files = known.entry(*row).or_default();
                *files = files.saturating_add(1);
            }
        }
        self.files.insert(prints.file.clone(), prints);
    }

    /// Forgets a file.
    pub fn forget(&mut self, file: &str) {
        let Some(prints) = self.files.remove(file) else { return };
        self.kept = self.kept.saturating_sub(prints.count());
        self.warning = self.warning.saturating_sub(prints.count_warning());
        for (known, rows) in self.rows.iter_mut().zip(&prints.rows) {
            for row in rows {
                if let Some(files) = known.get_mut(row) {
                    *files = files.saturating_sub(1);
                    if *files == 0 {
                        known.remove(row);
                    }
                }
            }
        }
    }

    /// Returns whether what is known of a file is what a card of it says.
    pub fn knows(&self, card: &Card) -> bool {
        self.files.get(&card.file).is_some_and(|prints| prints.are_of(card))
    }

    /// Returns the files of which something is known.
    pub fn files(&self) -> impl Iterator<Item = &Arc<str>> {
        self.files.keys()
    }

    /// Returns how many files are left out, as there is no room.
    pub fn left_out(&self) -> usize {
        self.files.values().filter(|prints| prints.left_out == Missing::All).count()
    }

    /// Returns of how many files the words of notes that only warn are left out, and no others.
    pub fn left_out_warning(&self) -> usize {
        self.files.values().filter(|prints| prints.left_out == Missing::Warning).count()
    }

    /// Returns the first row of a text that stands in a private note, of the most private ones, and how private they are.
    /// It takes time linear in the text.
    pub fn quoted(&self, text: &str) -> Option<(u64, Privacy)> {
        self.rows.iter().zip(TIERS).filter(|(rows, _)| !rows.is_empty()).find_map(|(rows, tier)| {
            let known = |row: &u64| rows.contains_key(row);
            let found =
                rows_of(text, Script::Spaced).find(known).or_else(|| rows_of(text, Script::Unspaced).find(known));
            found.map(|row| (row, tier))
        })
    }

    /// Returns the files in which a row stands in a note of a tier, by name.
    pub fn files_with(&self, row: u64, tier: Privacy) -> Vec<&Arc<str>> {
        let with = |prints: &&Prints| {
            prints.rows.iter().zip(TIERS).any(|(rows, of)| of == tier && rows.binary_search(&row).is_ok())
        };
        let mut files: Vec<&Arc<str>> = self.files.values().filter(with).map(|prints| &prints.file).collect();
        files.sort_unstable();
        files
    }
}

/// Returns which node of a document, of a tier, a row stands in.
pub fn node_with(document: &Document, row: u64, tier: Privacy) -> Option<usize> {
    let holds = |index: &usize| {
        let private = document.privacy.get(*index) == Some(&tier);
        let said = document.outline.nodes.get(*index).filter(|_| private).map(|node| said(&document.outline, node));
        said.is_some_and(|said| {
            [Script::Spaced, Script::Unspaced]
                .into_iter()
                .any(|script| rows_of(&said, script).any(|known| known == row))
        })
    };
    (0..document.outline.nodes.len()).find(holds)
}

/// Names which nodes of a card are private, and how.
fn which(card: &Card) -> u64 {
    let tiers = (0..card.len()).map(|index| (index, card.privacy(index)));
    let private = tiers.filter(|(_, tier)| *tier > Privacy::Open);
    private.fold(card.len() as u64, |name, (index, tier)| mixed(name ^ (index as u64) << 2 ^ tier as u64))
}

/// Returns what a node says: its title and its own text, without the lines that Org writes and that stand everywhere.
fn said(outline: &Outline, node: &Node) -> String {
    let section = outline.slice(&node.section);
    let mut said = String::with_capacity(section.len() + 64);
    for line in std::iter::once(outline.slice(&node.title)).chain(section.lines()).filter(|line| !is_routine(line)) {
        said.push_str(line);
        said.push('\n');
    }
    said
}

/// Returns whether a line is a mark, a time or a short property, as Org and templates write them.
fn is_routine(line: &str) -> bool {
    const STARTS: [&str; 6] = ["CLOSED:", "SCHEDULED:", "DEADLINE:", "CLOCK:", "- State \"", "#+"];
    let line = line.trim();
    let property = line
        .strip_prefix(':')
        .and_then(|rest| rest.split_once(':'))
        .is_some_and(|(key, value)| !key.contains(char::is_whitespace) && value.split_whitespace().count() < ROW);
    property || STARTS.iter().any(|start| line.starts_with(start))
}

/// Keeps one row of each few that follow one another: the smallest, of equal ones the last.
fn keep_some(rows: impl Iterator<Item = u64>, kept: &mut Vec<u64>) {
    let mut window: VecDeque<u64> = VecDeque::with_capacity(WINDOW);
    let mut last = None;
    let mut full = false;
    for row in rows {
        if window.len() == WINDOW {
            window.pop_front();
        }
        window.push_back(row);
        full = window.len() == WINDOW;
        let least = window.iter().min().copied().filter(|_| full);
        if least.is_some() && least != last {
            kept.extend(least);
            last = least;
        }
    }
    if !full {
        // Fewer than fill a window: one of them stands for all.
        kept.extend(window.iter().min());
    }
}

/// Which characters make words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    /// Those of scripts with spaces between words.
    Spaced,
    /// Those of scripts without: each is a word of its own.
    Unspaced,
}

impl Script {
    fn row(self) -> usize {
        match self {
            Script::Spaced => ROW,
            Script::Unspaced => ROW_OF_CHARACTERS,
        }
    }
}

/// One word: its hash, and whether a letter stands in it.
#[derive(Clone, Copy, Debug)]
struct Word {
    hash: u64,
    letter: bool,
}

/// Returns the hash of every row of words in a text, whatever stands between the words.
fn rows_of(text: &str, script: Script) -> impl Iterator<Item = u64> {
    let length = script.row();
    let mut row: VecDeque<Word> = VecDeque::with_capacity(length);
    words(text, script).filter_map(move |word| {
        if row.len() == length {
            row.pop_front();
        }
        row.push_back(word);
        let letters = row.iter().filter(|word| word.letter).count();
        let whole = row.len() == length && letters >= WITH_LETTERS;
        whole.then(|| mixed(row.iter().fold(0, |hash: u64, word| hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ word.hash)))
    })
}

/// Returns the words of one kind of script, without regard to case, punctuation and line breaks.
fn words(text: &str, script: Script) -> impl Iterator<Item = Word> {
    let mut characters = text.chars().filter(|c| !is_invisible(*c)).peekable();
    std::iter::from_fn(move || {
        let mut word: Option<Word> = None;
        while let Some(c) = characters.peek().copied() {
            let unspaced = is_unspaced(c);
            let belongs = match script {
                Script::Spaced => c.is_alphanumeric() && !unspaced,
                Script::Unspaced => unspaced,
            };
            if !belongs && word.is_some() {
                return word;
            }
            characters.next();
            if !belongs {
                continue;
            }
            let so_far = word.unwrap_or(Word { hash: 0xcbf2_9ce4_8422_2325, letter: false });
            let lower = c.to_lowercase().fold(so_far.hash, |hash, c| mixed(hash ^ u64::from(u32::from(c))));
            word = Some(Word { hash: lower, letter: so_far.letter || c.is_alphabetic() });
            if script == Script::Unspaced {
                return word;
            }
        }
        word
    })
}

/// Returns whether a character is a letter of a script that puts no spaces between words.
pub(in crate::domain) fn is_unspaced(c: char) -> bool {
    let scripts = matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}');
    scripts && c.is_alphabetic()
}

/// Returns whether a character is not seen, so that a word may be taken apart by it.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

/// Spreads a number over all bits (the last steps of SplitMix64).
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
