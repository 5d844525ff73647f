//! One immutable part of the full-text index: terms in order, and for each the nodes that hold it.
//!
//! A segment has a head, which is resident, and a body, which is read as it is needed: the lists of nodes and behind them
//! the dictionary in one stream of bytes, in memory while the segment is small and recent, in pages of a file otherwise.
//! Both are the same bytes. A body that cannot be read as it was written makes its segment broken: it finds nothing
//! more, says so, and whoever keeps the index builds its documents anew.

use crate::domain::context::dictionary::{Step, Terms, seek};
use crate::domain::context::postings::{
    BLOCK, Block, Posting, directory_bytes, number, read_block, read_directory, small,
};
use crate::domain::context::swift::WordMap;
use crate::domain::context::trigram::Sketch;
use crate::domain::id::ObjectHash;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicBool};

/// How many bytes a page of a body has; the last one has fewer.
pub const PAGE: usize = 4 << 10;
/// So many terms of a segment are remembered before all are forgotten; each takes some 50 bytes.
const KNOWN: usize = 4 << 10;

/// Gives pages of a body that lies elsewhere.
pub trait Pages: Send + Sync {
    /// Returns one page, exactly as it was written; `None` when that cannot be had any more.
    fn page(&self, number: u32) -> Option<Arc<[u8]>>;
}

/// One document's share of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The file.
    pub file: Arc<str>,
    /// The hash of the document that was read.
    pub document: ObjectHash,
    /// The first node; the node of index `i` is `first + i`.
    pub first: u32,
    /// How many nodes.
    pub count: u32,
}

/// What of a segment is resident.
#[derive(Debug, Default)]
pub struct Head {
    /// The documents, in the order of their nodes.
    pub shares: Vec<Share>,
    /// How long each node is, in weighted terms.
    pub lengths: Vec<u32>,
    /// The first term of each block of the dictionary, one behind the other.
    pub(super) leads: Vec<u8>,
    /// Where each of them ends, and where its block begins and how many bytes it has.
    pub(super) blocks: Vec<Lead>,
    /// For each block that has words, which runs of letters they have.
    pub(super) sketches: Vec<Option<Box<Sketch>>>,
}

/// One block of the dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lead {
    pub(super) end: u32,
    pub(super) begin: u64,
    pub(super) bytes: u32,
}

/// Where the postings of a term stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// In how many nodes it stands, dead ones included.
    pub count: u32,
    /// Where its list begins in the body.
    pub begin: u64,
    /// How many bytes it has.
    pub bytes: u32,
}

/// An immutable inverted index over whole documents.
pub struct Segment {
    head: Head,
    /// Positions in the shares, in the order of files.
    by_file: Vec<u32>,
    body: Body,
    broken: AtomicBool,
    /// Where terms stand that were looked for lately, and which stand nowhere: every question brings common words.
    known: Mutex<WordMap<Option<Entry>>>,
}

enum Body {
    Memory(Box<[u8]>),
    Pages(Arc<dyn Pages>),
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segment").field("shares", &self.head.shares.len()).field("nodes", &self.len()).finish()
    }
}

impl Segment {
    /// Makes a segment whose body is in memory.
    pub fn in_memory(head: Head, body: Vec<u8>) -> Segment {
        Self::new(head, Body::Memory(body.into_boxed_slice()))
    }

    /// Makes a segment whose body is read in pages.
    pub fn paged(head: Head, pages: Arc<dyn Pages>) -> Segment {
        Self::new(head, Body::Pages(pages))
    }

    fn new(head: Head, body: Body) -> Segment {
        let mut by_file: Vec<u32> = (0..head.shares.len() as u32).collect();
        by_file.sort_by(|a, b| head.shares[*a as usize].file.cmp(&head.shares[*b as usize].file));
        Segment { head, by_file, body, broken: AtomicBool::new(false), known: Mutex::default() }
    }

    /// Returns what of it is resident.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Returns the bytes of a body that is in memory.
    pub fn memory(&self) -> Option<&[u8]> {
        match &self.body {
            Body::Memory(bytes) => Some(bytes),
            Body::Pages(_) => None,
        }
    }

    /// Returns whether something of it could not be read as it was written; then it may have found too little.
    pub fn is_broken(&self) -> bool {
        self.broken.load(atomic::Ordering::Relaxed)
    }

    /// Returns how many nodes it holds, dead ones included.
    pub fn len(&self) -> usize {
        self.head.lengths.len()
    }

    /// Returns whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.head.lengths.is_empty()
    }

    /// Returns the documents, in the order of their nodes.
    pub fn shares(&self) -> &[Share] {
        &self.head.shares
    }

    /// Returns a node's length in weighted terms.
    pub fn length(&self, node: u32) -> u32 {
        self.head.lengths.get(node as usize).copied().unwrap_or(0)
    }

    /// Returns the share of a file.
    pub fn share(&self, file: &str) -> Option<&Share> {
        let shares = &self.head.shares;
        let found = self.by_file.binary_search_by(|at| shares[*at as usize].file.as_ref().cmp(file)).ok()?;
        shares.get(self.by_file[found] as usize)
    }

    /// Returns the share that a node stands in.
    pub fn share_of(&self, node: u32) -> Option<&Share> {
        let at = self.head.shares.partition_point(|share| share.first <= node).checked_sub(1)?;
        self.head.shares.get(at).filter(|share| node - share.first < share.count)
    }

    /// Returns the bytes that its parts take in memory, names of files left out.
    pub fn heap_bytes(&self) -> usize {
        self.memory().map_or(0, <[u8]>::len)
            + self.head.leads.capacity()
            + size_of::<Lead>() * self.head.blocks.capacity()
            + 4 * (self.head.lengths.capacity() + self.by_file.capacity())
            + size_of::<Share>() * self.head.shares.capacity()
            + 8 * self.head.sketches.capacity()
            + Sketch::BYTES * self.head.sketches.iter().flatten().count()
    }

    /// Returns something that reads this segment's body.
    pub fn reader(&self) -> Reader<'_> {
        Reader { segment: self, held: None, joined: Vec::new(), scratch: Vec::new() }
    }
}

/// Reads a segment's body, and keeps the page at hand.
pub struct Reader<'a> {
    segment: &'a Segment,
    held: Option<(u32, Arc<[u8]>)>,
    joined: Vec<u8>,
    scratch: Vec<Posting>,
}

impl<'a> Reader<'a> {
    /// Finds a term.
    pub fn find(&mut self, term: &str) -> Option<Entry> {
        let segment = self.segment;
        // What is broken says nothing from memory either.
        let known = segment.known.lock().get(term).filter(|_| !segment.is_broken());
        if let Some(known) = known {
            return known;
        }
        let head = &segment.head;
        let block = head.blocks.len().min(partition(head.blocks.len(), |at| head.lead(at) <= term.as_bytes()));
        let lead = *head.blocks.get(block.checked_sub(1)?)?;
        let read = seek(self.block(lead)?, term.as_bytes());
        let found = self.sound(read)?;
        let mut known = segment.known.lock();
        if known.len() >= KNOWN {
            *known = WordMap::default();
        }
        known.insert(term, found);
        found
    }

    fn block(&mut self, lead: Lead) -> Option<&[u8]> {
        self.bytes(lead.begin, lead.bytes as usize)
    }

    /// Reads the terms of one block of the dictionary, one behind the other, with where each ends and its entry; `None`
    /// when it is broken.
    pub(super) fn terms(&mut self, lead: Lead, bytes: &mut Vec<u8>, found: &mut Vec<(usize, Entry)>) -> Option<()> {
        let segment = self.segment;
        bytes.clear();
        found.clear();
        let mut terms = Terms::new(self.block(lead)?);
        loop {
            match terms.next() {
                Step::Entry(entry) => {
                    bytes.extend_from_slice(&terms.term);
                    found.push((bytes.len(), entry));
                }
                Step::End => return Some(()),
                Step::Nonsense => {
                    segment.broken.store(true, atomic::Ordering::Relaxed);
                    return None;
                }
            }
        }
    }

    /// Returns the directory of a list of more than [`BLOCK`] nodes.
    pub fn directory(&mut self, entry: Entry) -> Option<Vec<Block>> {
        let head = self.bytes(entry.begin, (entry.bytes as usize).min(10))?;
        let size = directory_bytes(head).filter(|size| *size <= entry.bytes as usize);
        let read = size.and_then(|size| read_directory(self.bytes(entry.begin, size)?, entry.count));
        self.sound(read)
    }

    /// Reads a whole list of at most [`BLOCK`] nodes.
    pub fn short(&mut self, entry: Entry, into: &mut Vec<Posting>) -> Option<()> {
        let bytes = self.bytes(entry.begin, entry.bytes as usize)?;
        let read = read_block(bytes, entry.count, 0, into);
        self.in_range(read, into)
    }

    /// Reads one block of a longer list; `before` is the last node of the block before.
    pub fn one_block(&mut self, entry: Entry, block: &Block, before: u32, into: &mut Vec<Posting>) -> Option<()> {
        let begin = entry.begin.checked_add(u64::from(block.begin))?;
        let bytes = self.bytes(begin, block.bytes as usize)?;
        let read = read_block(bytes, block.count, before, into);
        self.in_range(read, into)
    }

    /// Appends all nodes of a list; `None` when it is broken.
    pub fn all(&mut self, entry: Entry, into: &mut Vec<Posting>) -> Option<()> {
        // Most lists are short: nothing is asked for anew for each.
        let mut here = std::mem::take(&mut self.scratch);
        let read = self.all_by(entry, &mut here, into);
        self.scratch = here;
        read
    }

    fn all_by(&mut self, entry: Entry, here: &mut Vec<Posting>, into: &mut Vec<Posting>) -> Option<()> {
        if entry.count as usize <= BLOCK {
            self.short(entry, here)?;
            into.extend_from_slice(here);
            return Some(());
        }
        let mut before = 0;
        for block in self.directory(entry)? {
            self.one_block(entry, &block, before, here)?;
            into.extend_from_slice(here);
            before = block.last;
        }
        Some(())
    }

    fn in_range(&mut self, read: Option<()>, into: &mut Vec<Posting>) -> Option<()> {
        let nodes = self.segment.len();
        let read = read.filter(|()| into.last().is_none_or(|last| (last.0 as usize) < nodes));
        if read.is_none() {
            into.clear();
        }
        self.sound(read)
    }

    fn sound<T>(&self, read: Option<T>) -> Option<T> {
        if read.is_none() {
            self.segment.broken.store(true, atomic::Ordering::Relaxed);
        }
        read
    }

    /// Returns a part of the body; the segment is broken when it is not there.
    fn bytes(&mut self, begin: u64, length: usize) -> Option<&[u8]> {
        let segment = self.segment;
        match &segment.body {
            Body::Memory(bytes) => {
                let begin = usize::try_from(begin).ok();
                let found = begin.and_then(|begin| bytes.get(begin..begin.checked_add(length)?));
                self.sound(found)
            }
            Body::Pages(pages) => {
                let found = self.paged(pages.as_ref(), begin, length);
                if found.is_none() {
                    segment.broken.store(true, atomic::Ordering::Relaxed);
                }
                found
            }
        }
    }

    fn paged(&mut self, pages: &dyn Pages, begin: u64, length: usize) -> Option<&[u8]> {
        let (mut page, offset) = (u32::try_from(begin / PAGE as u64).ok()?, (begin % PAGE as u64) as usize);
        self.hold(pages, page)?;
        if offset.checked_add(length)? <= PAGE {
            return self.held.as_ref()?.1.get(offset..offset + length);
        }
        // A length that no file has is not asked for before there are bytes for it.
        self.joined.clear();
        self.joined.extend_from_slice(self.held.as_ref()?.1.get(offset..)?);
        while self.joined.len() < length {
            page = page.checked_add(1)?;
            self.hold(pages, page)?;
            let more = &self.held.as_ref()?.1;
            let wanted = (length - self.joined.len()).min(more.len());
            if wanted == 0 {
                return None;
            }
            self.joined.extend_from_slice(more.get(..wanted)?);
        }
        self.joined.get(..length)
    }

    fn hold(&mut self, pages: &dyn Pages, page: u32) -> Option<()> {
        if self.held.as_ref().is_none_or(|held| held.0 != page) {
            // A segment that is broken stays so: its disk is not asked again and again.
            if self.segment.is_broken() {
                return None;
            }
            self.held = Some((page, pages.page(page)?));
        }
        Some(())
    }
}

impl Head {
    pub(super) fn lead(&self, at: usize) -> &[u8] {
        let begin = at.checked_sub(1).and_then(|before| self.blocks.get(before)).map_or(0, |lead| lead.end);
        let end = self.blocks.get(at).map_or(begin, |lead| lead.end);
        self.leads.get(begin as usize..end as usize).unwrap_or_default()
    }

    /// Writes it down; [`Head::decode`] reads it.
    pub fn encode(&self) -> Vec<u8> {
        use crate::domain::context::postings::push_number;
        let mut bytes = Vec::with_capacity(2 * self.lengths.len() + 64 * self.shares.len());
        push_number(&mut bytes, self.shares.len() as u64);
        for share in &self.shares {
            push_number(&mut bytes, share.file.len() as u64);
            bytes.extend_from_slice(share.file.as_bytes());
            bytes.extend_from_slice(share.document.as_bytes());
            push_number(&mut bytes, u64::from(share.count));
        }
        for length in &self.lengths {
            push_number(&mut bytes, u64::from(*length));
        }
        push_number(&mut bytes, self.blocks.len() as u64);
        for (at, block) in self.blocks.iter().enumerate() {
            let lead = self.lead(at);
            push_number(&mut bytes, lead.len() as u64);
            bytes.extend_from_slice(lead);
            push_number(&mut bytes, block.begin);
            push_number(&mut bytes, u64::from(block.bytes));
            let sketch = self.sketches.get(at).and_then(Option::as_ref);
            bytes.push(u8::from(sketch.is_some()));
            sketch.into_iter().for_each(|sketch| sketch.write(&mut bytes));
        }
        bytes
    }

    /// Reads a head; `None` when the bytes are none. `name` gives the file's name, shared if it is known already.
    pub fn decode(bytes: &[u8], name: &dyn Fn(&str) -> Arc<str>) -> Option<Head> {
        let mut at = 0;
        let take = |at: &mut usize, length: u64| {
            let end = at.checked_add(usize::try_from(length).ok()?)?;
            let found = bytes.get(*at..end)?;
            *at = end;
            Some(found)
        };
        let mut head = Head::default();
        let mut first = 0u32;
        for _ in 0..number(bytes, &mut at)? {
            let length = number(bytes, &mut at)?;
            let file = name(std::str::from_utf8(take(&mut at, length)?).ok()?);
            let document = ObjectHash::new(take(&mut at, 32)?.try_into().ok()?);
            // A document has at least the file's own node.
            let count = small(bytes, &mut at).filter(|count| *count > 0)?;
            head.shares.push(Share { file, document, first, count });
            first = first.checked_add(count)?;
        }
        // Each length has a byte or more.
        if first as usize > bytes.len() - at {
            return None;
        }
        head.lengths.reserve_exact(first as usize);
        for _ in 0..first {
            head.lengths.push(small(bytes, &mut at)?);
        }
        for _ in 0..number(bytes, &mut at)? {
            let length = number(bytes, &mut at)?;
            head.leads.extend_from_slice(take(&mut at, length)?);
            let end = u32::try_from(head.leads.len()).ok()?;
            head.blocks.push(Lead { end, begin: number(bytes, &mut at)?, bytes: small(bytes, &mut at)? });
            head.sketches.push(match take(&mut at, 1)? {
                [0] => None,
                [1] => Some(Box::new(Sketch::read(take(&mut at, Sketch::BYTES as u64)?)?)),
                _ => return None,
            });
        }
        head.shrink();
        (at == bytes.len()).then_some(head)
    }

    pub(super) fn shrink(&mut self) {
        self.shares.shrink_to_fit();
        self.lengths.shrink_to_fit();
        self.leads.shrink_to_fit();
        self.blocks.shrink_to_fit();
        self.sketches.shrink_to_fit();
    }
}

/// Returns how many of `length` places come first for which `before` holds.
fn partition(length: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, length);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Returns one bit of many; what is not there is 0.
pub fn bit(bits: &[u64], at: u32) -> bool {
    bits.get(at as usize / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
}

/// Returns the beginning of a text, at most so many bytes, cut between characters.
pub fn prefix(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let cut = (0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..cut).unwrap_or_default()
}
