//! Makes segments: of documents, and of other segments.

use crate::domain::context::postings::{self, Posting, Scratch, push_number};
use crate::domain::context::prose::prose;
use crate::domain::context::segment::{Entry, Head, Lead, Reader, Segment, Share, bit, prefix};
use crate::domain::context::swift::WordMap;
use crate::domain::context::trigram::Sketch;
use crate::domain::context::words::{Cut, NAMES_A_TIME, Piece, Stems, cuts, is_stop_word, is_time_word};
use crate::domain::memory::view::Document;
use std::convert::Infallible;

/// What a word in a title counts, beside one in the body.
const TITLE_WEIGHT: u16 = 2;
/// What a tag counts.
const TAG_WEIGHT: u16 = 2;
/// Bodies beyond this many bytes are data; their beginning is indexed.
const LONGEST_BODY: usize = 1 << 20;
/// A time that a node names further behind is not what it is about.
const TIME_BYTES: usize = 1 << 10;
/// A block of the dictionary is closed when it has so many bytes.
const DICTIONARY_BLOCK: usize = 2 << 10;

/// Takes the bytes of a body, in order.
pub trait Sink {
    /// Why bytes were not taken.
    type Error;
    /// Takes bytes.
    ///
    /// # Errors
    /// When they cannot be kept.
    fn put(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;
}

impl Sink for Vec<u8> {
    type Error = Infallible;

    fn put(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

/// Why segments were not joined.
#[derive(Debug, PartialEq, Eq)]
pub enum JoinError<E> {
    /// One of them is broken; its documents have to be read again.
    Broken,
    /// What came of it could not be kept.
    Sink(E),
}

/// Writes a body, terms in order.
struct Writer<'a, S: Sink> {
    sink: &'a mut S,
    head: Head,
    /// How many bytes the sink has taken.
    written: u64,
    /// The blocks of the dictionary that are full; they come behind the lists, so that looking up words reads few pages.
    dictionary: Vec<u8>,
    /// The block of the dictionary at hand; empty when none is begun.
    block: Vec<u8>,
    term: Vec<u8>,
    list: Vec<u8>,
    scratch: Scratch,
}

impl<'a, S: Sink> Writer<'a, S> {
    fn new(sink: &'a mut S, head: Head) -> Self {
        let (dictionary, block, term, list) = Default::default();
        Writer { sink, head, written: 0, dictionary, block, term, list, scratch: Scratch::default() }
    }

    fn term(&mut self, term: &[u8], postings: &[Posting]) -> Result<(), S::Error> {
        if postings.is_empty() {
            return Ok(());
        }
        self.list.clear();
        let lengths = &self.head.lengths;
        let length = |node: u32| lengths.get(node as usize).copied().unwrap_or(0);
        postings::write(postings, &length, &mut self.list, &mut self.scratch);
        if self.block.is_empty() {
            push_number(&mut self.block, self.written);
            self.head.leads.extend_from_slice(term);
            // Where the block stands is known when it is full.
            self.head.blocks.push(Lead { end: self.head.leads.len() as u32, begin: 0, bytes: 0 });
            self.head.sketches.push(None);
            self.term.clear();
        }
        if let Some(sketch) = self.head.sketches.last_mut() {
            Sketch::take(sketch, term);
        }
        let shared = self.term.iter().zip(term).take_while(|(a, b)| a == b).count();
        push_number(&mut self.block, shared as u64);
        push_number(&mut self.block, (term.len() - shared) as u64);
        self.block.extend_from_slice(&term[shared..]);
        push_number(&mut self.block, postings.len() as u64);
        push_number(&mut self.block, self.list.len() as u64);
        self.term.clear();
        self.term.extend_from_slice(term);
        self.sink.put(&self.list)?;
        self.written += self.list.len() as u64;
        if self.block.len() >= DICTIONARY_BLOCK {
            self.close();
        }
        Ok(())
    }

    fn close(&mut self) {
        if let Some(lead) = self.head.blocks.last_mut().filter(|_| !self.block.is_empty()) {
            (lead.begin, lead.bytes) = (self.dictionary.len() as u64, self.block.len() as u32);
            self.dictionary.extend_from_slice(&self.block);
            self.block.clear();
        }
    }

    fn finish(mut self) -> Result<Head, S::Error> {
        self.close();
        self.sink.put(&self.dictionary)?;
        for lead in &mut self.head.blocks {
            lead.begin += self.written;
        }
        self.head.shrink();
        Ok(self.head)
    }
}

/// Joins segments into the body that `sink` takes, leaving out documents that are dead.
/// Each part comes with its dead nodes, a bit each.
///
/// # Errors
/// When a part is broken, or the sink takes no more.
pub fn join<S: Sink>(parts: &[(&Segment, Option<&[u64]>)], sink: &mut S) -> Result<Head, JoinError<S::Error>> {
    let mut head = Head::default();
    // For each part, how its nodes are numbered now; DEAD where they are left out.
    let mut renumber: Vec<Vec<u32>> = parts.iter().map(|(segment, _)| vec![DEAD; segment.len()]).collect();
    for ((segment, dead), numbers) in parts.iter().zip(&mut renumber) {
        for share in segment.shares().iter().filter(|share| !dead.is_some_and(|dead| bit(dead, share.first))) {
            let first = head.lengths.len() as u32;
            for (offset, node) in (share.first..share.first + share.count).enumerate() {
                if let Some(number) = numbers.get_mut(node as usize) {
                    *number = first + offset as u32;
                }
                head.lengths.push(segment.length(node));
            }
            head.shares.push(Share { first, ..share.clone() });
        }
    }
    let mut walks: Vec<Walk<'_>> = parts.iter().map(|(segment, _)| Walk::new(segment)).collect();
    for walk in &mut walks {
        walk.step().ok_or(JoinError::Broken)?;
    }
    let mut writer = Writer::new(sink, head);
    let (mut here, mut found, mut least): (Vec<Posting>, Vec<Posting>, Vec<u8>) = Default::default();
    while let Some((key, term)) = walks.iter().filter_map(|walk| Some((walk.key, walk.term()?))).min() {
        least.clear();
        least.extend_from_slice(term);
        found.clear();
        for (walk, numbers) in walks.iter_mut().zip(&renumber) {
            let here_too = walk.key == key && walk.term() == Some(&least);
            let Some(entry) = walk.entry().filter(|_| here_too) else { continue };
            here.clear();
            walk.reader.all(entry, &mut here).ok_or(JoinError::Broken)?;
            let moved =
                here.iter().map(|(node, weight)| (numbers.get(*node as usize).copied().unwrap_or(DEAD), *weight));
            found.extend(moved.filter(|(node, _)| *node != DEAD));
            walk.step().ok_or(JoinError::Broken)?;
        }
        writer.term(&least, &found).map_err(JoinError::Sink)?;
    }
    writer.finish().map_err(JoinError::Sink)
}

/// Marks a node that is left out.
const DEAD: u32 = u32::MAX;

/// Goes through a segment's terms in order.
struct Walk<'a> {
    segment: &'a Segment,
    reader: Reader<'a>,
    block: usize,
    /// The terms of the block at hand, one behind the other.
    bytes: Vec<u8>,
    /// Where each of them ends, and its entry.
    terms: Vec<(usize, Entry)>,
    at: usize,
    /// The beginning of the term at hand: most comparisons end there.
    key: u64,
}

impl<'a> Walk<'a> {
    /// Stands in front of the first term.
    fn new(segment: &'a Segment) -> Self {
        let (bytes, terms) = Default::default();
        Walk { segment, reader: segment.reader(), block: 0, bytes, terms, at: 0, key: 0 }
    }

    fn term(&self) -> Option<&[u8]> {
        let (end, _) = self.terms.get(self.at)?;
        let begin = self.at.checked_sub(1).and_then(|before| self.terms.get(before)).map_or(0, |(end, _)| *end);
        self.bytes.get(begin..*end)
    }

    fn entry(&self) -> Option<Entry> {
        self.terms.get(self.at).map(|(_, entry)| *entry)
    }

    /// Moves to the next term; `None` when the segment is broken.
    fn step(&mut self) -> Option<()> {
        self.at += 1;
        if self.at >= self.terms.len()
            && let Some(lead) = self.segment.head().blocks.get(self.block)
        {
            self.reader.terms(*lead, &mut self.bytes, &mut self.terms)?;
            (self.block, self.at) = (self.block + 1, 0);
        }
        self.key = self.term().map_or(0, key);
        Some(())
    }
}

/// Returns the first eight bytes of a term as a number: numbers that differ are in the order of their terms.
fn key(term: &[u8]) -> u64 {
    let mut first = [0; 8];
    first.iter_mut().zip(term).for_each(|(to, from)| *to = *from);
    u64::from_be_bytes(first)
}

/// So many words are remembered from one segment for the next before all are forgotten; it bounds memory.
const REMEMBERED: usize = 300_000;

/// Gathers documents into segments, one after the other; what it learnt of words for one serves the next.
#[derive(Default)]
pub struct Builder {
    stems: Stems,
    head: Head,
    /// What became of each word: the number of its term.
    words: WordMap<Word>,
    terms: Terms,
    /// What was read of the node at hand: terms as they come, each with what it counts in its last sixteen bits.
    here: Vec<u64>,
    /// Term and weight, node by node.
    postings: Vec<(u32, u16)>,
    /// Where each node's postings end.
    ends: Vec<usize>,
    /// How long the node at hand is.
    length: u32,
}

/// Every term that a builder knows, by number.
#[derive(Default)]
struct Terms {
    numbers: WordMap<u32>,
    /// Their texts, one behind the other.
    text: String,
    /// Where each text ends.
    ends: Vec<u32>,
    /// In how many nodes of the segment at hand each stands.
    counts: Vec<u32>,
}

impl Terms {
    fn number(&mut self, term: &str) -> u32 {
        if let Some(known) = self.numbers.get(term) {
            return known;
        }
        let new = self.ends.len() as u32;
        self.numbers.insert(term, new);
        self.text.push_str(term);
        self.ends.push(self.text.len() as u32);
        self.counts.push(0);
        new
    }

    fn name(&self, number: u32) -> &str {
        let before = (number as usize).checked_sub(1).and_then(|before| self.ends.get(before));
        let end = self.ends.get(number as usize).copied().unwrap_or(0);
        self.text.get(before.copied().unwrap_or(0) as usize..end as usize).unwrap_or_default()
    }

    /// Returns the terms that stand anywhere, in the order of their texts.
    fn sorted(&self) -> Vec<u32> {
        let used = (0u32..).zip(&self.counts).filter(|(_, count)| **count > 0);
        let mut terms: Vec<(u64, u32)> = used.map(|(number, _)| (key(self.name(number).as_bytes()), number)).collect();
        terms.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.name(a.1).cmp(self.name(b.1))));
        terms.into_iter().map(|(_, number)| number).collect()
    }
}

#[derive(Clone, Copy)]
enum Word {
    Term(u32),
    /// A term that names a time.
    Time(u32),
    Stop,
}

impl Builder {
    /// Returns how many pairs of term and node it holds; each takes some 16 bytes until it is finished.
    pub fn size(&self) -> usize {
        self.postings.len()
    }

    /// Returns whether no document was added.
    pub fn is_empty(&self) -> bool {
        self.head.shares.is_empty()
    }

    /// Takes a document in.
    pub fn add(&mut self, document: &Document) {
        let first = self.head.lengths.len() as u32;
        for index in 0..document.outline.nodes.len() {
            self.add_node(document, index);
        }
        let count = self.head.lengths.len() as u32 - first;
        self.head.shares.push(Share { file: document.file.clone(), document: document.root(), first, count });
    }

    fn add_node(&mut self, document: &Document, index: usize) {
        let Some(node) = document.outline.nodes.get(index) else { return };
        let outline = &document.outline;
        self.length = 0;
        let title = if index > 0 { outline.slice(&node.title) } else { outline.title.as_deref().unwrap_or("") };
        self.text(title, TITLE_WEIGHT, Stop::Kept);
        if index == 0 {
            let name = document.file.rsplit('/').next().unwrap_or("").trim_end_matches(".org");
            self.text(name, 1, Stop::LeftOut);
        }
        for tag in if index == 0 { &outline.filetags[..] } else { &node.tags[..] } {
            self.text(tag, TAG_WEIGHT, Stop::Kept);
        }
        for (key, value) in node.properties.iter() {
            if key.as_ref() != "ID" {
                self.text(value, 1, Stop::LeftOut);
            }
        }
        for range in [&node.scheduled, &node.deadline, &node.closed].into_iter().flatten() {
            self.text(outline.slice(range), 1, Stop::LeftOut);
        }
        if self.text(&prose(prefix(outline.slice(&node.body), LONGEST_BODY)), 1, Stop::LeftOut) {
            self.put(NAMES_A_TIME);
        }
        self.close_node();
    }

    /// Puts in a term that is no part of the node's text, and counts nothing in its length.
    fn put(&mut self, term: &str) {
        let Builder { terms, here, length, .. } = self;
        Node { weight: 1, terms, here, length }.put_text(term, false);
    }

    fn close_node(&mut self) {
        // Sorting the few terms of a node is cheaper than asking of each, in a table of all, whether it came before.
        self.here.sort_unstable();
        for same in self.here.chunk_by(|a, b| a >> WEIGHT_BITS == b >> WEIGHT_BITS) {
            let term = same.first().map_or(0, |first| first >> WEIGHT_BITS) as u32;
            let weight = same.iter().fold(0u16, |sum, one| sum.saturating_add(*one as u16));
            if let Some(count) = self.terms.counts.get_mut(term as usize) {
                *count += 1;
                self.postings.push((term, weight));
            }
        }
        self.here.clear();
        self.head.lengths.push(self.length);
        self.ends.push(self.postings.len());
    }

    /// Takes a text of the node at hand in; returns whether its beginning names a time.
    fn text(&mut self, text: &str, weight: u16, stop: Stop) -> bool {
        let mut names_a_time = false;
        let Builder { stems, words, terms, here, length, .. } = self;
        let mut node = Node { weight, terms, here, length };
        cuts(text, |at, cut| match cut {
            Cut::Piece(Piece::Word(word)) => {
                let known = words.get(word).unwrap_or_else(|| {
                    let known = match is_stop_word(word) {
                        true => Word::Stop,
                        false => {
                            let term = node.terms.number(stems.stem(word).as_ref());
                            if is_time_word(word) { Word::Time(term) } else { Word::Term(term) }
                        }
                    };
                    words.insert(word, known);
                    known
                });
                match (known, stop) {
                    (Word::Term(term), _) => node.put(term, true),
                    (Word::Time(term), _) => {
                        names_a_time |= at.start < TIME_BYTES;
                        node.put(term, true);
                    }
                    (Word::Stop, Stop::Kept) => node.put_text(word, true),
                    (Word::Stop, Stop::LeftOut) => {}
                }
            }
            Cut::Piece(Piece::Gram(gram)) => node.put_text(gram, true),
            // Pairs have counted the text's length already.
            Cut::Sign(sign) => node.put_text(sign, false),
            Cut::Piece(Piece::Day(day)) => {
                names_a_time |= at.start < TIME_BYTES;
                // Whoever asks for a month, or a year, finds its days.
                for part in [day, day.get(..7).unwrap_or_default(), day.get(..4).unwrap_or_default()] {
                    node.put_text(part, true);
                }
            }
        });
        names_a_time
    }

    /// Returns the segment of what was added, in memory.
    pub fn finish(mut self) -> Segment {
        self.cut()
    }

    /// Does the same, and begins the next segment.
    pub fn cut(&mut self) -> Segment {
        let head = std::mem::take(&mut self.head);
        let counts = &self.terms.counts;
        // Each term's nodes, one list behind the other; the nodes of a list are in order as they come so.
        let mut begins = Vec::with_capacity(counts.len());
        let mut sum = 0usize;
        for count in counts {
            begins.push(sum);
            sum += *count as usize;
        }
        let mut lists: Vec<Posting> = vec![(0, 0); sum];
        let mut at = 0;
        for (node, end) in self.ends.iter().enumerate() {
            for (term, weight) in &self.postings[at..*end] {
                let place = &mut begins[*term as usize];
                lists[*place] = (node as u32, *weight);
                *place += 1;
            }
            at = *end;
        }
        let mut body: Vec<u8> = Vec::with_capacity(3 * sum);
        let mut writer = Writer::new(&mut body, head);
        for term in self.terms.sorted() {
            let end = begins[term as usize];
            let begin = end - counts[term as usize] as usize;
            let Ok(()) = writer.term(self.terms.name(term).as_bytes(), &lists[begin..end]);
        }
        let Ok(head) = writer.finish();
        body.shrink_to_fit();
        self.postings.clear();
        self.ends.clear();
        self.terms.counts.fill(0);
        if self.words.len().max(self.terms.ends.len()) > REMEMBERED {
            (self.words, self.terms) = Default::default();
        }
        Segment::in_memory(head, body)
    }
}

/// The node at hand, while one of its texts is read.
struct Node<'a> {
    /// What a term of this text counts.
    weight: u16,
    terms: &'a mut Terms,
    here: &'a mut Vec<u64>,
    length: &'a mut u32,
}

impl Node<'_> {
    fn put_text(&mut self, term: &str, counted: bool) {
        let number = self.terms.number(term);
        self.put(number, counted);
    }

    fn put(&mut self, term: u32, counted: bool) {
        *self.length = self.length.saturating_add(u32::from(if counted { self.weight } else { 0 }));
        self.here.push(u64::from(term) << WEIGHT_BITS | u64::from(self.weight));
    }
}

/// How many bits say what a term counts.
const WEIGHT_BITS: u32 = u16::BITS;

/// Whether stop words of a text are terms.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Kept,
    LeftOut,
}
