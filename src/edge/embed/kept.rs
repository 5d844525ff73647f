//! Vectors of one embedder in a file of the cache folder: rows of one length, each with the key of its text and a checksum.
//!
//! Only the process that owns the store writes, over rows that stand for nothing any more, or behind the last one; whatever was torn by a crash, or changed by
//! anybody, is found by its checksum when it is read, left out, and made again. `docs/adr/0009-vectors.org` has the format.

use crate::domain::embed::flat::{Flat, Near, Wanted};
use crate::domain::embed::{PassageKey, Vector};
use crate::edge::embed::folder;
use crate::edge::embed::row::{HEAD, KEY, dimension_of, head, length, read_row, row};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What the coarse rows of all vectors may take in memory.
const MOST_BYTES: usize = 256 << 20;
/// When so many rows stand for nothing any more, and they are a quarter of all, the file is made shorter.
const FEW: usize = 256;

/// The vectors of one embedder.
pub struct Kept {
    path: Option<PathBuf>,
    /// The embedder's name, hashed.
    name: [u8; 32],
    /// Whether this process may write.
    owner: bool,
    exact: Exact,
    flat: Option<Flat>,
    rows: Rows,
    /// The key of each row.
    keys: Vec<PassageKey>,
    /// The rows that stand for nothing any more: the next vectors take their places.
    idle: BTreeSet<u32>,
    /// What the coarse rows of all vectors may take in memory, in bytes.
    most: usize,
}

/// Keys are hashes already: their first bytes are as good as any.
type Rows = HashMap<PassageKey, u32, BuildHasherDefault<FirstBytes>>;

#[derive(Default)]
struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0 ^= bytes.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
    }

    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Where the vectors themselves are.
enum Exact {
    /// Nowhere yet.
    Nowhere,
    File(File),
    /// There is no folder: in memory alone.
    Memory(Vec<Vector>),
}

/// Why vectors were not kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// They are of another dimension than those that are kept.
    #[error("vectors of {0} numbers do not fit those of {1}")]
    Dimension(usize, usize),
    /// There are as many as there is room for in memory.
    #[error("there is room for {0} vectors and no more")]
    Full(usize),
    /// The disk.
    #[error(transparent)]
    Disk(#[from] io::Error),
}

impl Kept {
    /// Keeps vectors in memory alone.
    pub fn in_memory(name: &str) -> Kept {
        Kept { exact: Exact::Memory(Vec::new()), ..Kept::nothing(None, name, true) }
    }

    fn nothing(path: Option<PathBuf>, name: &str, owner: bool) -> Kept {
        let name = *blake3::hash(name.as_bytes()).as_bytes();
        let (flat, rows, keys, idle) = Default::default();
        Kept { path, name, owner, exact: Exact::Nowhere, flat, rows, keys, idle, most: MOST_BYTES }
    }

    /// Lets them take so many bytes of memory at most, and not 256 MB.
    pub fn within(self, most: usize) -> Kept {
        Kept { most, ..self }
    }

    /// Opens what a folder holds of an embedder's vectors; returns how many rows were not as they had been written, too.
    /// Those, and whatever is no such file, are gone. Reads all of it.
    pub fn open(folder: &Path, name: &str, owner: bool) -> (Kept, usize) {
        let hash = blake3::hash(name.as_bytes()).to_hex();
        let path = folder.join(format!("{}.vec", hash.get(..24).unwrap_or_default()));
        let mut kept = Kept::nothing(Some(path.clone()), name, owner);
        match OpenOptions::new().read(true).write(owner).open(&path) {
            Ok(file) => {
                // Only tells that it is used still.
                let _ = file.set_modified(std::time::SystemTime::now());
                let damaged = kept.read(file).unwrap_or_else(|_| {
                    kept = Kept::nothing(Some(path), name, owner);
                    1
                });
                (kept, damaged)
            }
            Err(_) => (kept, 0),
        }
    }

    fn read(&mut self, file: File) -> io::Result<usize> {
        let mut reader = BufReader::with_capacity(1 << 20, &file);
        let mut head = [0; HEAD];
        reader.read_exact(&mut head)?;
        let dimension = dimension_of(&head, &self.name).ok_or(io::ErrorKind::InvalidData)?;
        let long = length(dimension);
        let whole = (file.metadata()?.len().saturating_sub(HEAD as u64) / long as u64) as usize;
        let mut flat = Flat::new(dimension);
        let (mut bytes, mut damaged) = (vec![0; long], 0);
        for _ in 0..whole.min(self.most_of(dimension)) {
            reader.read_exact(&mut bytes)?;
            match read_row(&bytes) {
                Some((key, vector)) => {
                    let number = flat.push(Some(&vector));
                    // A key that stands twice was written by two who did not know of each other: the last one counts.
                    self.rows.insert(key, number);
                    self.keys.push(key);
                }
                None => {
                    flat.push(None);
                    self.keys.push(PassageKey::default());
                    damaged += 1;
                }
            }
        }
        // What a crash left half written behind the last row is written over by the next one.
        self.flat = Some(flat);
        self.exact = Exact::File(file);
        self.find_idle();
        Ok(damaged)
    }

    /// Returns how many numbers a vector has, if there is any.
    pub fn dimension(&self) -> Option<usize> {
        self.flat.as_ref().map(Flat::dimension)
    }

    /// Returns how many vectors there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns how many bytes they take in memory.
    pub fn heap_bytes(&self) -> usize {
        let exact = match &self.exact {
            Exact::Nowhere | Exact::File(_) => 0,
            Exact::Memory(vectors) => vectors.len() * self.dimension().unwrap_or(0) * size_of::<f32>(),
        };
        let rows = self.rows.capacity() * (KEY + size_of::<u32>() + 1)
            + self.keys.capacity() * KEY
            + self.idle.len() * size_of::<u32>();
        exact + rows + self.flat.as_ref().map_or(0, Flat::heap_bytes)
    }

    /// Returns whether there is a vector of a text.
    pub fn holds(&self, key: &PassageKey) -> bool {
        self.rows.contains_key(key)
    }

    /// Returns the row of a text's vector.
    pub fn row(&self, key: &PassageKey) -> Option<u32> {
        self.rows.get(key).copied()
    }

    /// Returns the key of a row that stands for something.
    pub fn key(&self, row: u32) -> Option<PassageKey> {
        self.keys.get(row as usize).copied().filter(|key| self.row(key) == Some(row))
    }

    /// Returns the vector of a text; `None` without one, or when it cannot be read as it was written.
    pub fn vector(&self, key: &PassageKey) -> Option<Vector> {
        self.at(self.row(key)?)
    }

    fn at(&self, row: u32) -> Option<Vector> {
        match &self.exact {
            Exact::Nowhere => None,
            Exact::Memory(vectors) => vectors.get(row as usize).cloned(),
            Exact::File(file) => {
                let long = length(self.dimension()?);
                let mut bytes = vec![0; long];
                file.read_exact_at(&mut bytes, HEAD as u64 + u64::from(row) * long as u64).ok()?;
                // Whoever owns the store may have written another one there.
                let ours = self.keys.get(row as usize)?;
                read_row(&bytes).filter(|(key, _)| key == ours).map(|(_, vector)| vector)
            }
        }
    }

    /// Returns the rows nearest to a question, nearest first, of those that count.
    pub fn search(&self, question: &Vector, wanted: Wanted, admit: &dyn Fn(u32) -> bool) -> Vec<Near> {
        let Some(flat) = &self.flat else { return Vec::new() };
        flat.search(question, wanted, admit, &|row| self.at(row))
    }

    /// Returns how many rows there are, also those that stand for nothing any more.
    pub fn rows(&self) -> usize {
        self.flat.as_ref().map_or(0, Flat::len)
    }

    /// Returns how many vectors more there is room for; `dimension` is what they will have, if that is known, as long as there
    /// is none.
    pub fn room(&self, dimension: Option<usize>) -> usize {
        let most = |dimension: usize| self.most_of(dimension).saturating_sub(self.rows()) + self.idle.len();
        self.dimension().or(dimension).map_or(usize::MAX, most)
    }

    /// Returns how many vectors of a dimension there may be.
    fn most_of(&self, dimension: usize) -> usize {
        self.most / dimension.max(1)
    }

    /// Keeps vectors, each under the key of its text. Either all of them are kept, or none.
    ///
    /// # Errors
    /// When they are of another dimension, there is no room, or the disk takes no more.
    pub fn put(&mut self, vectors: &[(PassageKey, Vector)]) -> Result<(), KeepError> {
        let Some((_, first)) = vectors.first() else { return Ok(()) };
        let dimension = self.dimension().unwrap_or(first.dimension());
        if let Some((_, other)) = vectors.iter().find(|(_, vector)| vector.dimension() != dimension) {
            return Err(KeepError::Dimension(other.dimension(), dimension));
        }
        if vectors.len() > self.room(Some(dimension)) {
            return Err(KeepError::Full(self.most_of(dimension)));
        }
        let free: Vec<u32> = self.idle.iter().copied().chain(self.rows() as u32..).take(vectors.len()).collect();
        self.begin(dimension)?;
        for (row, (key, vector)) in free.iter().zip(vectors) {
            self.write(*row, key, vector)?;
        }
        for (row, (key, vector)) in free.into_iter().zip(vectors) {
            self.note(dimension, row, *key, vector);
        }
        Ok(())
    }

    /// Notes what was written as a row.
    fn note(&mut self, dimension: usize, row: u32, key: PassageKey, vector: &Vector) {
        let flat = self.flat.get_or_insert_with(|| Flat::new(dimension));
        self.idle.remove(&row);
        match self.keys.get_mut(row as usize) {
            Some(before) => {
                flat.set(row, vector);
                *before = key;
            }
            None => {
                flat.push(Some(vector));
                self.keys.push(key);
            }
        }
        // One that stands twice counts where it was written last.
        self.idle.extend(self.rows.insert(key, row).filter(|before| *before != row));
    }

    /// Makes sure that there is something to write to.
    fn begin(&mut self, dimension: usize) -> io::Result<()> {
        if !self.owner {
            return Err(io::Error::other("another process owns the store"));
        }
        if let (Exact::Nowhere, Some(path)) = (&self.exact, &self.path) {
            // It may have been removed, as a cache may be.
            path.parent().map_or(Ok(()), folder::make)?;
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create(true).truncate(true).mode(0o600).open(path)?;
            file.write_all_at(&head(&self.name, dimension), 0)?;
            self.exact = Exact::File(file);
        }
        Ok(())
    }

    /// Writes one row, over one that stands for nothing or behind the last one.
    fn write(&mut self, at: u32, key: &PassageKey, vector: &Vector) -> io::Result<()> {
        match &mut self.exact {
            Exact::Nowhere => Err(io::Error::other("there is no folder")),
            Exact::Memory(kept) => {
                match kept.get_mut(at as usize) {
                    Some(before) => *before = vector.clone(),
                    None => kept.push(vector.clone()),
                }
                Ok(())
            }
            // What was half written stands for nothing, and is written over by the next one.
            Exact::File(file) => {
                let long = length(vector.dimension());
                file.write_all_at(&row(key, vector), HEAD as u64 + u64::from(at) * long as u64)
            }
        }
    }

    /// Finds the rows that stand for nothing.
    fn find_idle(&mut self) {
        let rows = (0u32..).zip(&self.keys);
        self.idle = rows.filter(|(row, key)| self.rows.get(*key) != Some(row)).map(|(row, _)| row).collect();
    }

    /// Lets go of the vectors of texts that nobody wants any more: the next ones take their places.
    pub fn retain(&mut self, wanted: &HashSet<PassageKey>) {
        self.rows.retain(|key, _| wanted.contains(key));
        self.find_idle();
    }

    /// Returns whether so much stands for nothing that it is worth to [`Kept::shrink`].
    pub fn is_slack(&self) -> bool {
        self.owner && self.idle.len() >= FEW && self.idle.len() * 4 >= self.rows()
    }

    /// Moves at most so many of the last vectors to where nothing is wanted, and frees what is behind them then. Returns
    /// whether more is to do. It takes no room on the disk, and whenever it ends nothing is lost: what was moved stands at
    /// both places before it is cut off.
    ///
    /// # Errors
    /// When the disk takes nothing; all that is wanted is there still.
    pub fn shrink(&mut self, most: usize) -> io::Result<bool> {
        let Some(dimension) = self.dimension().filter(|_| self.owner) else { return Ok(false) };
        let mut moved = 0;
        while let Some(last) = (self.rows() as u32).checked_sub(1) {
            if self.idle.remove(&last) {
                self.drop_last();
                continue;
            }
            let Some(free) = self.idle.first().copied().filter(|_| moved < most) else { break };
            moved += 1;
            let found = self.key(last).and_then(|key| Some((key, self.at(last)?)));
            match found {
                Some((key, vector)) => {
                    self.write(free, &key, &vector)?;
                    self.note(dimension, free, key, &vector);
                }
                // What cannot be read is made again.
                None => {
                    self.keys.get(last as usize).map(|key| self.rows.remove(key));
                    self.idle.insert(last);
                }
            }
        }
        if let Exact::File(file) = &self.exact {
            file.set_len(HEAD as u64 + (self.rows() * length(dimension)) as u64)?;
        }
        Ok(!self.idle.is_empty())
    }

    fn drop_last(&mut self) {
        self.keys.pop();
        if let Some(flat) = &mut self.flat {
            flat.pop();
        }
        if let Exact::Memory(vectors) = &mut self.exact {
            vectors.pop();
        }
    }

    /// Forgets all of them, as when a model gives vectors of another dimension.
    pub fn clear(&mut self) {
        if let (Some(path), true) = (&self.path, self.owner) {
            // What cannot be removed is written over by the next vectors.
            let _ = std::fs::remove_file(path);
        }
        self.exact = if self.path.is_some() { Exact::Nowhere } else { Exact::Memory(Vec::new()) };
        (self.flat, self.rows, self.keys, self.idle) = Default::default();
    }
}
