//! One segment in a file: written in one go, read page by page, every page with its checksum.
//!
//! The file is the body in pages, the head, the checksums of the pages, and a trailer of fixed length that says where
//! they stand. Pages are read when they are asked for and kept in a cache that all segments share; the file is never
//! mapped into memory, so that whoever cuts it short does not end Emacs.

use crate::domain::context::build::Sink;
use crate::domain::context::segment::{Head, PAGE, Pages, Segment};
use crate::domain::context::swift::SwiftMap;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a file of this kind ends with, with the number of its format.
const MAGIC: &[u8; 8] = b"ppfull\x00\x02";
/// Magic, body's, head's and checksums' lengths, the reading, the hash of head and checksums, the trailer's own hash.
const TRAILER: usize = 8 + 3 * 8 + 32 + 32 + 32;
/// How many bytes of a page's hash are kept.
const SUM: usize = 8;

/// Whatever the texts of a segment are cut into depends on, beside the texts: segments of another reading are left out.
pub type Reading = [u8; 32];

/// Why a file is no segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// It is gone, cut short, or has bytes that were not written so.
    Damaged,
    /// Another version of this program, or other settings, wrote it.
    Foreign,
}

fn sum(page: &[u8]) -> [u8; SUM] {
    let mut sum = [0; SUM];
    sum.copy_from_slice(&blake3::hash(page).as_bytes()[..SUM]);
    sum
}

/// Pages that were read lately, of all segments.
pub struct Cache {
    kept: Mutex<Kept>,
    most: usize,
    next: AtomicU64,
}

#[derive(Default)]
struct Kept {
    pages: SwiftMap<(u64, u32), Page>,
    /// In the order in which they are looked at when there is no more room.
    order: VecDeque<(u64, u32)>,
}

struct Page {
    bytes: Arc<[u8]>,
    /// Whether it was asked for again since it was last looked at.
    used: bool,
}

impl Cache {
    /// Makes a cache for so many bytes.
    pub fn new(bytes: usize) -> Arc<Cache> {
        Arc::new(Cache { kept: Mutex::default(), most: (bytes / PAGE).max(1), next: AtomicU64::new(0) })
    }

    fn get(&self, key: (u64, u32)) -> Option<Arc<[u8]>> {
        let mut kept = self.kept.lock();
        let page = kept.pages.get_mut(&key)?;
        page.used = true;
        Some(page.bytes.clone())
    }

    fn put(&self, key: (u64, u32), bytes: &Arc<[u8]>) {
        let mut kept = self.kept.lock();
        let kept = &mut *kept;
        if kept.pages.insert(key, Page { bytes: bytes.clone(), used: false }).is_none() {
            kept.order.push_back(key);
        }
        while kept.order.len() > self.most
            && let Some(first) = kept.order.pop_front()
        {
            match kept.pages.get_mut(&first) {
                // The dictionary is asked again and again; lists pass by.
                Some(page) if page.used => {
                    page.used = false;
                    kept.order.push_back(first);
                }
                _ => {
                    kept.pages.remove(&first);
                }
            }
        }
    }

    fn forget(&self, file: u64) {
        let mut kept = self.kept.lock();
        kept.pages.retain(|key, _| key.0 != file);
        kept.order.retain(|key| key.0 != file);
    }
}

/// The pages of a file.
struct Paged {
    file: File,
    /// How many bytes the body has.
    body: u64,
    sums: Box<[[u8; SUM]]>,
    cache: Arc<Cache>,
    /// Its number in the cache.
    number: u64,
}

impl Pages for Paged {
    fn page(&self, number: u32) -> Option<Arc<[u8]>> {
        let key = (self.number, number);
        if let Some(page) = self.cache.get(key) {
            return Some(page);
        }
        let begin = u64::from(number) * PAGE as u64;
        let length = self.body.checked_sub(begin)?.min(PAGE as u64) as usize;
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, begin).ok()?;
        if self.sums.get(number as usize) != Some(&sum(&bytes)) {
            return None;
        }
        let page: Arc<[u8]> = bytes.into();
        self.cache.put(key, &page);
        Some(page)
    }
}

impl Drop for Paged {
    fn drop(&mut self) {
        self.cache.forget(self.number);
    }
}

/// Opens a segment. `name` gives a file's name, shared if it is known already.
///
/// # Errors
/// When it is not as it was written, or written by somebody else.
pub fn open(
    path: &Path,
    reading: &Reading,
    cache: &Arc<Cache>,
    name: &dyn Fn(&str) -> Arc<str>,
) -> Result<Arc<Segment>, Unfit> {
    let file = File::open(path).map_err(|_| Unfit::Damaged)?;
    let length = file.metadata().map_err(|_| Unfit::Damaged)?.len();
    let at = length.checked_sub(TRAILER as u64).ok_or(Unfit::Damaged)?;
    let mut trailer = [0; TRAILER];
    file.read_exact_at(&mut trailer, at).map_err(|_| Unfit::Damaged)?;
    let (told, own) = trailer.split_at(TRAILER - 32);
    if told[..6] != MAGIC[..6] || blake3::hash(told).as_bytes() != own {
        return Err(Unfit::Damaged);
    }
    if told[..8] != *MAGIC || told[32..64] != *reading {
        return Err(Unfit::Foreign);
    }
    let number = |at: usize| told[at..at + 8].try_into().map(u64::from_le_bytes).unwrap_or(u64::MAX);
    let (body, head, sums) = (number(8), number(16), number(24));
    let pages = body.div_ceil(PAGE as u64);
    if body.checked_add(head).and_then(|sum| sum.checked_add(sums)) != Some(at) || sums != pages * SUM as u64 {
        return Err(Unfit::Damaged);
    }
    let mut bytes = vec![0; (head + sums) as usize];
    file.read_exact_at(&mut bytes, body).map_err(|_| Unfit::Damaged)?;
    if blake3::hash(&bytes).as_bytes() != &told[64..96] {
        return Err(Unfit::Damaged);
    }
    let (head, sums) = bytes.split_at(head as usize);
    let head = Head::decode(head, name).ok_or(Unfit::Damaged)?;
    let sums = sums.chunks_exact(SUM).map(|sum| sum.try_into().unwrap_or_default()).collect();
    let paged = Paged { file, body, sums, cache: cache.clone(), number: cache.next.fetch_add(1, Ordering::Relaxed) };
    Ok(Arc::new(Segment::paged(head, Arc::new(paged))))
}

/// A segment that is being written, under a name of its own; it is removed unless it is finished.
pub struct Draft {
    out: Option<BufWriter<File>>,
    path: PathBuf,
    page: Vec<u8>,
    sums: Vec<u8>,
    body: u64,
}

impl Draft {
    /// Begins a file in a folder.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn begin(folder: &Path) -> std::io::Result<Draft> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{}-{serial}.part", std::process::id()));
        // What a process of the same number left behind is nobody's.
        let _ = std::fs::remove_file(&path);
        let file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
        let out = Some(BufWriter::with_capacity(1 << 18, file));
        Ok(Draft { out, path, page: Vec::with_capacity(PAGE), sums: Vec::new(), body: 0 })
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match &mut self.out {
            Some(out) => out.write_all(bytes),
            None => Err(std::io::ErrorKind::NotFound.into()),
        }
    }

    fn close_page(&mut self) -> std::io::Result<()> {
        let page = std::mem::take(&mut self.page);
        self.sums.extend_from_slice(&sum(&page));
        self.body += page.len() as u64;
        self.write(&page)?;
        self.page = page;
        self.page.clear();
        Ok(())
    }

    /// Ends the file and gives it the name of its content; returns that.
    ///
    /// # Errors
    /// When the disk takes no more.
    pub fn finish(mut self, head: &Head, reading: &Reading) -> std::io::Result<PathBuf> {
        if !self.page.is_empty() {
            self.close_page()?;
        }
        let (body, head) = (self.body, head.encode());
        let mut told = Vec::with_capacity(TRAILER);
        told.extend_from_slice(MAGIC);
        let sums = std::mem::take(&mut self.sums);
        for length in [body, head.len() as u64, sums.len() as u64] {
            told.extend_from_slice(&length.to_le_bytes());
        }
        told.extend_from_slice(reading);
        let mut hasher = blake3::Hasher::new();
        let content = hasher.update(&head).update(&sums).finalize();
        told.extend_from_slice(content.as_bytes());
        let own = blake3::hash(&told);
        told.extend_from_slice(own.as_bytes());
        for part in [head, sums, told] {
            self.write(&part)?;
        }
        // Not synced: what a power cut takes is found by its checksums and made again.
        if let Some(mut out) = self.out.take() {
            out.flush()?;
        }
        let path = self.path.with_file_name(format!("{}.seg", own.to_hex()));
        std::fs::rename(&self.path, &path)?;
        Ok(path)
    }
}

impl Sink for Draft {
    type Error = std::io::Error;

    fn put(&mut self, mut bytes: &[u8]) -> std::io::Result<()> {
        while !bytes.is_empty() {
            let room = PAGE - self.page.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.page.extend_from_slice(now);
            bytes = later;
            if self.page.len() == PAGE {
                self.close_page()?;
            }
        }
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Once it is finished it has another name.
        let _ = std::fs::remove_file(&self.path);
    }
}
