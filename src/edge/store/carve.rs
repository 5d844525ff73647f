//! Takes objects and texts out of a database that SQLite cannot read any more, page by page.
//!
//! Every object is named by its hash and every manifest carries a sum, so a row that is found is a row that is right:
//! no index, no header and no free list has to be believed. The newest pages may still stand in the companion file.

use crate::domain::id::ObjectHash;
use crate::edge::store::objects::{Found, recognise};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes of a page; a store is made with this size and keeps it.
const PAGE: usize = 4096;
/// Bytes before the first page in the companion file.
const COMPANION_HEAD: u64 = 32;
/// Bytes before each page in it.
const FRAME_HEAD: u64 = 24;
/// A page of a table without row numbers that has pages below it.
const INNER: u8 = 2;
/// One that has none.
const LEAF: u8 = 10;
/// A page of a table with row numbers that has no pages below it; those above it hold no rows.
const NUMBERED: u8 = 13;

/// Hands everything that is whole to `visit`; the same may come twice.
///
/// # Errors
/// What the system says of the files; a companion that is not there is no error.
pub fn carve(database: &Path, companion: &Path, visit: &mut dyn FnMut(Found)) -> io::Result<()> {
    let pages = Pages::open(database, companion)?;
    for at in pages.all() {
        let mut page = [0; PAGE];
        if pages.read(at, &mut page).is_err() {
            continue;
        }
        // The first page begins with the head of the file, and is one of the schema.
        for payload in cells(&page).filter_map(|(kind, at)| payload(&pages, &page, kind, at)) {
            if let Some(found) = row(&payload) {
                visit(found);
            }
        }
    }
    Ok(())
}

/// Where pages lie: in the database, and newer ones in its companion.
struct Pages {
    database: File,
    companion: Option<File>,
    /// Pages of the database, from 1.
    count: u64,
    /// The places of pages in the companion, with their numbers.
    frames: Vec<(u32, u64)>,
    /// The newest of them by number.
    newest: HashMap<u32, u64>,
}

/// Where one page lies.
#[derive(Clone, Copy)]
enum Place {
    Database(u64),
    Companion(u64),
}

impl Pages {
    fn open(database: &Path, companion: &Path) -> io::Result<Pages> {
        let database = File::open(database)?;
        let count = database.metadata()?.len() / PAGE as u64;
        let companion = File::open(companion).ok();
        let mut frames = Vec::new();
        if let Some(file) = &companion {
            let mut at = COMPANION_HEAD;
            let mut number = [0; 4];
            while file.read_exact_at(&mut number, at).is_ok() {
                frames.push((u32::from_be_bytes(number), at + FRAME_HEAD));
                at += FRAME_HEAD + PAGE as u64;
            }
        }
        let newest = frames.iter().copied().collect();
        Ok(Pages { database, companion, count, frames, newest })
    }

    /// Returns how many bytes all pages have: no payload is longer.
    fn bytes(&self) -> u64 {
        (self.count + self.newest.len() as u64) * PAGE as u64
    }

    fn all(&self) -> impl Iterator<Item = Place> {
        let inside = (0..self.count).map(|number| Place::Database(number * PAGE as u64));
        inside.chain(self.frames.iter().map(|(_, at)| Place::Companion(*at)))
    }

    fn read(&self, place: Place, page: &mut [u8; PAGE]) -> io::Result<()> {
        match (place, &self.companion) {
            (Place::Companion(at), Some(file)) => file.read_exact_at(page, at),
            (Place::Companion(at) | Place::Database(at), _) => self.database.read_exact_at(page, at),
        }
    }

    /// Returns the places in which a page may stand, the newest first.
    fn numbered(&self, number: u32) -> impl Iterator<Item = Place> {
        let newer = self.newest.get(&number).map(|at| Place::Companion(*at));
        let inside = u64::from(number).checked_sub(1).filter(|number| *number < self.count);
        newer.into_iter().chain(inside.map(|number| Place::Database(number * PAGE as u64)))
    }
}

/// Returns where the cells of a page begin, and of which kind it is.
fn cells(page: &[u8; PAGE]) -> impl Iterator<Item = (u8, usize)> {
    let kind = Some(page[0]).filter(|kind| matches!(*kind, INNER | LEAF | NUMBERED));
    let count = usize::from(u16::from_be_bytes([page[3], page[4]]));
    let begin = if page[0] == INNER { 12 } else { 8 };
    let room = (PAGE - begin) / 2;
    (0..count.min(room)).filter_map(move |n| {
        let at = page.get(begin + 2 * n..)?.first_chunk::<2>()?;
        Some((kind?, usize::from(u16::from_be_bytes(*at))))
    })
}

/// Reads what a cell holds, with what of it lies on further pages.
fn payload(pages: &Pages, page: &[u8; PAGE], kind: u8, at: usize) -> Option<Vec<u8>> {
    let cell = page.get(at + if kind == INNER { 4 } else { 0 }..)?;
    let (length, cell) = number(cell)?;
    let cell = if kind == NUMBERED { number(cell)?.1 } else { cell };
    let length = usize::try_from(length).ok().filter(|_| length <= pages.bytes())?;
    // As the description of the file format has it, for tables with row numbers and without.
    let most = if kind == NUMBERED { PAGE - 35 } else { (PAGE - 12) * 64 / 255 - 23 };
    let least = (PAGE - 12) * 32 / 255 - 23;
    let fitting = least + length.saturating_sub(least) % (PAGE - 4);
    let here = if length <= most {
        length
    } else if fitting <= most {
        fitting
    } else {
        least
    };
    let (local, rest) = cell.split_at_checked(here)?;
    let mut bytes = local.to_vec();
    if here == length {
        return Some(bytes);
    }
    let next = u32::from_be_bytes(*rest.first_chunk::<4>()?);
    follow(pages, next, length, &mut bytes)?;
    Some(bytes)
}

/// Follows a chain of further pages; none stands in it twice.
fn follow(pages: &Pages, mut next: u32, length: usize, bytes: &mut Vec<u8>) -> Option<()> {
    let mut seen = HashSet::new();
    while bytes.len() < length && seen.insert(next) {
        let mut page = [0; PAGE];
        let place = pages.numbered(next).next()?;
        pages.read(place, &mut page).ok()?;
        let (link, content) = page.split_first_chunk::<4>()?;
        bytes.extend_from_slice(content.get(..content.len().min(length - bytes.len()))?);
        next = u32::from_be_bytes(*link);
    }
    (bytes.len() == length).then_some(())
}

/// Reads a row of one of the two tables; `None` when it is anything else.
fn row(payload: &[u8]) -> Option<Found> {
    let (head, _) = number(payload)?;
    let (head, mut body) = payload.split_at_checked(usize::try_from(head).ok()?)?;
    let (_, mut kinds) = number(head)?;
    let mut columns: Vec<&[u8]> = Vec::with_capacity(3);
    while !kinds.is_empty() && columns.len() < 4 {
        let (kind, rest) = number(kinds)?;
        kinds = rest;
        let length = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind as usize,
            5 => 6,
            6 | 7 => 8,
            _ => usize::try_from(kind.checked_sub(12)? / 2).ok()?,
        };
        let (column, rest) = body.split_at_checked(length)?;
        columns.push(column);
        body = rest;
        // Small numbers stand in the head itself.
        if kind == 9 {
            columns.pop();
            columns.push(&[1]);
        }
        if kind == 8 {
            columns.pop();
            columns.push(&[0]);
        }
    }
    match columns.as_slice() {
        [name, [kind], bytes] => recognise(ObjectHash::new(*name.first_chunk::<32>()?), Some(*kind), bytes),
        [name, bytes] => recognise(ObjectHash::new(*name.first_chunk::<32>()?), None, bytes),
        _ => None,
    }
}

/// Reads a number of one to nine bytes, seven bits in each but the ninth.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    for (at, byte) in bytes.iter().enumerate().take(9) {
        if at == 8 {
            return Some((value << 8 | u64::from(*byte), &bytes[9..]));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with one cell that says how long its payload is, and on which page it goes on. What says the length of a
    /// cell with a row number ends with that.
    fn leaf(kind: u8, length: &[u8], next: u32) -> [u8; PAGE] {
        let mut page = [0; PAGE];
        page[0] = kind;
        page[4] = 1;
        let (at, here) = (3000, (PAGE - 12) * 32 / 255 - 23);
        page[8..10].copy_from_slice(&(at as u16).to_be_bytes());
        page[at..at + length.len()].copy_from_slice(length);
        let link = at + length.len() + here;
        page[link..link + 4].copy_from_slice(&next.to_be_bytes());
        page
    }

    #[test]
    fn a_length_that_is_not_true_costs_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = folder.path().join("memory.sqlite");
        let mut link = [7; PAGE];
        link[..4].copy_from_slice(&2u32.to_be_bytes());
        // Page 1 goes on in page 2, and that in itself.
        let pages = |kind, length: &[u8]| {
            std::fs::write(&database, [leaf(kind, length, 2), link, link, link].concat()).expect("it is written");
            Pages::open(&database, &folder.path().join("none")).expect("it opens")
        };
        // In bytes: 489 here and 3 further pages, as many as there are; 1 GiB; as many as there are, of one page twice.
        let whole = 489 + 4092u64;
        let number = |value: u64| {
            [
                0x80 | (value >> 28) as u8,
                0x80 | (value >> 21) as u8,
                0x80 | (value >> 14) as u8,
                0x80 | (value >> 7) as u8,
                value as u8 & 0x7f,
            ]
        };
        let lengths = [(whole, true), (1 << 30, false), (whole + 4092, false), (4 * 4096, false)];
        for (kind, (length, found)) in [LEAF, NUMBERED].into_iter().flat_map(|kind| lengths.map(|case| (kind, case))) {
            let row: &[u8] = if kind == NUMBERED { &[9] } else { &[] };
            let pages = pages(kind, &[&number(length), row].concat());
            let mut page = [0; PAGE];
            pages.read(Place::Database(0), &mut page).expect("it is there");
            let (kind, at) = cells(&page).next().expect("it has one");
            let read = payload(&pages, &page, kind, at);
            assert_eq!(read.map(|bytes| bytes.len() as u64), found.then_some(length), "{kind} {length}");
        }
    }
}
