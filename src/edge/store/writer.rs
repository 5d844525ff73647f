//! Writes texts and branches into the tables: pieces by hash, and one manifest for each document.
//!
//! A text is cut where its content says, so an edit adds one or two pieces; the list of the pieces
//! goes through the same groups as a list of children.
//! Many texts are cut and named on several threads, and then put in as they lie in the table, so that each of its pages
//! is filled once.

use crate::domain::id::ObjectHash;
use crate::domain::memory::{chunk, group};
use crate::edge::store::objects::{BRANCH, CHUNK, GROUP, ReadError, checksum, content};
use crate::edge::thread::each;
use rusqlite::{Connection, params};
use std::borrow::Cow;
use std::sync::Arc;

/// A text of at most this many bytes lies in its manifest itself.
const INLINE: usize = 4 * 1024;

/// Writes objects within one transaction and counts what was new.
pub struct Writer<'a> {
    connection: &'a Connection,
    /// Write also what seems to be there: after damage was found.
    replace: bool,
    /// How many objects were new.
    pub objects: usize,
    /// How many bytes they have.
    pub bytes: u64,
}

/// A text that was cut and named.
struct Cut<'t> {
    document: ObjectHash,
    /// With its sum in front.
    manifest: Vec<u8>,
    objects: Vec<Object<'t>>,
}

struct Object<'t> {
    name: ObjectHash,
    kind: u8,
    bytes: Cow<'t, [u8]>,
}

impl<'a> Writer<'a> {
    /// Begins to write; `replace` overwrites objects that are there already.
    pub fn new(connection: &'a Connection, replace: bool) -> Self {
        Writer { connection, replace, objects: 0, bytes: 0 }
    }

    /// Writes branches of the trie of files, by their names.
    pub fn branches(&mut self, mut branches: Vec<(ObjectHash, Vec<u8>)>) -> rusqlite::Result<()> {
        branches.sort_unstable();
        branches.iter().try_for_each(|(name, bytes)| self.object(BRANCH, *name, bytes))
    }

    /// Writes the texts of documents.
    pub fn texts(&mut self, texts: &[(ObjectHash, Arc<str>)]) -> rusqlite::Result<()> {
        self.put_all(each(texts, |(document, text)| cut(*document, text.as_bytes())))
    }

    /// Returns whether the text of a document is there already.
    pub fn is_there(&self, document: ObjectHash) -> rusqlite::Result<bool> {
        let mut known = self.connection.prepare_cached("SELECT 1 FROM texts WHERE document = ?1")?;
        Ok(!self.replace && known.exists([document.as_bytes()])?)
    }

    /// Keeps the bytes of a file, as those of a document's text where these are the same.
    ///
    /// Nothing is believed to be there: it is read, because what was there before an act is kept once and never again.
    pub fn content(&mut self, name: ObjectHash, bytes: &[u8], same_as: Option<ObjectHash>) -> Result<(), ReadError> {
        if self.holds(name, bytes)? {
            return Ok(());
        }
        if let Some(document) = same_as
            && document != name
            && self.holds(document, bytes)?
        {
            self.same(name, bytes.len(), document)?;
            if self.holds(name, bytes)? {
                return Ok(());
            }
        }
        self.put(name, bytes)?;
        if !self.holds(name, bytes)? {
            // A piece that it shares with something else is damaged.
            let before = std::mem::replace(&mut self.replace, true);
            let put = self.put(name, bytes);
            self.replace = before;
            put?;
        }
        Ok(())
    }

    /// Returns whether bytes can be read under a name.
    fn holds(&self, name: ObjectHash, bytes: &[u8]) -> Result<bool, ReadError> {
        match content(self.connection, name) {
            Ok(found) => Ok(found == bytes),
            Err(ReadError::Damaged(_)) => Ok(false),
            Err(error @ ReadError::Sqlite(_)) => Err(error),
        }
    }

    fn put(&mut self, document: ObjectHash, text: &[u8]) -> rusqlite::Result<()> {
        self.put_all(vec![cut(document, text)])
    }

    /// Puts in what was cut, all of it in the order of names.
    fn put_all(&mut self, mut cuts: Vec<Cut<'_>>) -> rusqlite::Result<()> {
        cuts.sort_unstable_by_key(|cut| cut.document);
        // Two files may have the same content.
        cuts.dedup_by_key(|cut| cut.document);
        let mut objects: Vec<&Object<'_>> = cuts.iter().flat_map(|cut| &cut.objects).collect();
        objects.sort_unstable_by_key(|object| object.name);
        for object in objects {
            self.object(object.kind, object.name, &object.bytes)?;
        }
        cuts.iter().try_for_each(|cut| self.manifest(cut.document, &cut.manifest))
    }

    fn manifest(&mut self, document: ObjectHash, bytes: &[u8]) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO texts(document, manifest) VALUES (?1, ?2)";
        self.connection.prepare_cached(sql)?.execute(params![document.as_bytes(), bytes])?;
        self.objects += 1;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Writes that the bytes of a file are those of a document's text, which holds them itself.
    fn same(&mut self, name: ObjectHash, length: usize, document: ObjectHash) -> rusqlite::Result<()> {
        let mut manifest = vec![1];
        manifest.extend_from_slice(&(length as u64).to_le_bytes());
        manifest.push(2);
        manifest.extend_from_slice(document.as_bytes());
        self.manifest(name, &summed(name, &manifest))
    }

    fn object(&mut self, kind: u8, name: ObjectHash, bytes: &[u8]) -> rusqlite::Result<()> {
        let sql = match self.replace {
            true => "INSERT OR REPLACE INTO objects(hash, kind, bytes) VALUES (?1, ?2, ?3)",
            false => "INSERT OR IGNORE INTO objects(hash, kind, bytes) VALUES (?1, ?2, ?3)",
        };
        let new = self.connection.prepare_cached(sql)?.execute(params![name.as_bytes(), kind, bytes])?;
        self.objects += new;
        self.bytes += if new > 0 { bytes.len() as u64 } else { 0 };
        Ok(())
    }
}

/// Cuts a text, and names its pieces and the groups over them; the top group goes into the manifest.
fn cut(document: ObjectHash, text: &[u8]) -> Cut<'_> {
    let mut manifest = vec![1];
    manifest.extend_from_slice(&(text.len() as u64).to_le_bytes());
    let mut objects = Vec::new();
    if text.len() <= INLINE {
        manifest.push(0);
        manifest.extend_from_slice(text);
    } else {
        manifest.push(1);
        let piece = |bytes| Object { name: chunk::name_of(bytes), kind: CHUNK, bytes: Cow::Borrowed(bytes) };
        objects.extend(chunk::chunks(text).into_iter().map(piece));
        let names: Vec<ObjectHash> = objects.iter().map(|object| object.name).collect();
        let mut groups = Vec::new();
        group::root(&names, &mut |name, level, items| groups.push((name, encode_group(level, items))));
        let top = groups.pop().map_or_else(|| encode_group(0, &[]), |(_, top)| top);
        manifest.extend_from_slice(&top);
        let group = |(name, bytes)| Object { name, kind: GROUP, bytes: Cow::Owned(bytes) };
        objects.extend(groups.into_iter().map(group));
    }
    Cut { document, manifest: summed(document, &manifest), objects }
}

/// Returns a manifest with its sum in front.
fn summed(document: ObjectHash, manifest: &[u8]) -> Vec<u8> {
    [checksum(document, manifest).as_bytes(), manifest].concat()
}

fn encode_group(level: u64, items: &[ObjectHash]) -> Vec<u8> {
    let mut bytes = level.to_le_bytes().to_vec();
    items.iter().for_each(|item| bytes.extend_from_slice(item.as_bytes()));
    bytes
}
