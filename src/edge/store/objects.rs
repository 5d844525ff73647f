//! Reads texts and branches from the tables, and checks every byte; [`super::writer`] says how they lie there.

use crate::domain::count::counted;
use crate::domain::hash::ContentHasher;
use crate::domain::id::ObjectHash;
use crate::domain::memory::store::StoreError;
use crate::domain::memory::{chunk, files, group};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::sync::Arc;

/// The kinds of objects: pieces of texts, groups of pieces, branches of the trie of files.
pub(super) const CHUNK: u8 = 0;
pub(super) const GROUP: u8 = 1;
pub(super) const BRANCH: u8 = 2;
/// The kinds of objects that memory itself is made of.
pub const KINDS: [u8; 3] = [CHUNK, GROUP, BRANCH];

/// Why something could not be read: damage to it, or the database's own refusal.
pub enum ReadError {
    /// Bytes that are missing or do not match their name.
    Damaged(StoreError),
    /// What SQLite said.
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for ReadError {
    fn from(error: rusqlite::Error) -> Self {
        ReadError::Sqlite(error)
    }
}

/// Reads a branch of the trie of files.
pub fn branch(connection: &Connection, name: ObjectHash) -> Result<Vec<files::StoredEntry>, ReadError> {
    let bytes = object(connection, BRANCH, name)?;
    let actual = files::name_of(&bytes);
    files::decode(&bytes).filter(|_| actual == name).ok_or_else(|| corrupt(name, actual))
}

/// Reads a branch of the trie of files, with the slot of each entry.
pub fn slots(connection: &Connection, name: ObjectHash) -> Result<Vec<(u8, files::StoredEntry)>, ReadError> {
    let bytes = object(connection, BRANCH, name)?;
    let actual = files::name_of(&bytes);
    files::decode_slots(&bytes).filter(|_| actual == name).ok_or_else(|| corrupt(name, actual))
}

/// Reads a document's text.
pub fn text(connection: &Connection, document: ObjectHash) -> Result<Arc<str>, ReadError> {
    let bytes = content(connection, document)?;
    String::from_utf8(bytes)
        .map(Arc::from)
        .map_err(|error| corrupt(document, ObjectHash::new(*blake3::hash(error.as_bytes()).as_bytes())))
}

/// Reads the bytes of a document or of a file.
pub fn content(connection: &Connection, document: ObjectHash) -> Result<Vec<u8>, ReadError> {
    match read_manifest(connection, document)? {
        Manifest::Bytes(bytes) => Ok(bytes),
        // One step and no more: a hostile store leads nowhere.
        Manifest::Same(other) => match read_manifest(connection, other)? {
            Manifest::Bytes(bytes) => Ok(bytes),
            Manifest::Same(_) => Err(corrupt(document, other)),
        },
    }
}

/// What a manifest says.
enum Manifest {
    /// The bytes.
    Bytes(Vec<u8>),
    /// They are those of another document.
    Same(ObjectHash),
}

fn read_manifest(connection: &Connection, document: ObjectHash) -> Result<Manifest, ReadError> {
    let mut statement = connection.prepare_cached("SELECT manifest FROM texts WHERE document = ?1")?;
    let bytes = statement.query_row([document.as_bytes()], raw).optional()?;
    let bytes = bytes.ok_or(ReadError::Damaged(StoreError::Missing(document)))?;
    let damaged = || corrupt(document, ObjectHash::new(*blake3::hash(&bytes).as_bytes()));
    let (sum, manifest) = bytes.split_first_chunk::<32>().ok_or_else(damaged)?;
    if checksum(document, manifest) != ObjectHash::new(*sum) {
        return Err(damaged());
    }
    let (length, kind, rest) = match manifest {
        [1, a, b, c, d, e, f, g, h, kind, rest @ ..] => {
            (u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]), *kind, rest)
        }
        _ => return Err(damaged()),
    };
    let text = match kind {
        0 => rest.to_vec(),
        1 => gather(connection, rest, document)?,
        2 => {
            let other = rest.first_chunk::<32>().filter(|_| rest.len() == 32).ok_or_else(damaged)?;
            return Ok(Manifest::Same(ObjectHash::new(*other)));
        }
        _ => return Err(damaged()),
    };
    if text.len() as u64 != length {
        return Err(damaged());
    }
    Ok(Manifest::Bytes(text))
}

/// Puts the pieces below a top group together again, without recursion.
fn gather(connection: &Connection, top: &[u8], document: ObjectHash) -> Result<Vec<u8>, ReadError> {
    let broken = || corrupt(document, ObjectHash::new(*blake3::hash(top).as_bytes()));
    let (level, items) = decode_group(top).ok_or_else(broken)?;
    let mut waiting: Vec<(u64, ObjectHash)> = items.into_iter().rev().map(|item| (level, item)).collect();
    let mut text = Vec::new();
    while let Some((level, name)) = waiting.pop() {
        if level == 0 {
            let bytes = object(connection, CHUNK, name)?;
            let actual = chunk::name_of(&bytes);
            if actual != name {
                return Err(corrupt(name, actual));
            }
            text.extend_from_slice(&bytes);
            continue;
        }
        let bytes = object(connection, GROUP, name)?;
        let (found, items) = decode_group(&bytes).ok_or_else(broken)?;
        let actual = group::hash(found, &items);
        // The level falls with every step, so a hostile store cannot lead in circles.
        if actual != name || found + 1 != level {
            return Err(corrupt(name, actual));
        }
        waiting.extend(items.into_iter().rev().map(|item| (found, item)));
    }
    Ok(text)
}

/// Checks every object, and hands name and length of each to `visit`; returns what is damaged. Texts are not read.
///
/// # Errors
/// When the database refuses to be read.
pub fn verify_each(
    connection: &Connection,
    visit: &mut dyn FnMut(ObjectHash, u64),
) -> rusqlite::Result<Vec<StoreError>> {
    let mut damaged = Vec::new();
    let mut statement = connection.prepare("SELECT hash, kind, bytes FROM objects")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (name, kind, bytes): ([u8; 32], u8, Vec<u8>) = (row.get(0)?, row.get(1)?, raw(row)?);
        let (name, actual) = (ObjectHash::new(name), actual(kind, &bytes).unwrap_or(ObjectHash::new([0; 32])));
        visit(name, bytes.len() as u64);
        if actual != name {
            damaged.push(StoreError::Corrupt { expected: name, actual });
        }
    }
    Ok(damaged)
}

/// Takes out what is damaged: then the next save of the same content is not taken for known. Returns how many.
///
/// # Errors
/// When the database refuses to be read or written.
pub fn drop_damaged(connection: &Connection) -> rusqlite::Result<usize> {
    let (mut objects, mut texts) = (Vec::new(), Vec::new());
    for error in verify_each(connection, &mut |_, _| {})? {
        if let StoreError::Corrupt { expected, .. } = error {
            objects.push(expected);
        }
    }
    let mut statement = connection.prepare("SELECT document FROM texts")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let document = ObjectHash::new(row.get(0)?);
        match content(connection, document) {
            Ok(_) => {}
            Err(ReadError::Damaged(_)) => texts.push(document),
            Err(ReadError::Sqlite(error)) => return Err(error),
        }
    }
    for name in &objects {
        connection.prepare_cached("DELETE FROM objects WHERE hash = ?1")?.execute([name.as_bytes()])?;
    }
    for document in &texts {
        drop_text(connection, *document)?;
    }
    Ok(objects.len() + texts.len())
}

/// Takes out the manifest of a document.
///
/// # Errors
/// When the database refuses to be written.
pub fn drop_text(connection: &Connection, document: ObjectHash) -> rusqlite::Result<usize> {
    connection.prepare_cached("DELETE FROM texts WHERE document = ?1")?.execute([document.as_bytes()])
}

/// Takes out cards and stamps whose text is not there: then the next start reads their files again.
///
/// # Errors
/// When the database refuses to be written.
pub fn drop_unfounded(connection: &Connection) -> rusqlite::Result<usize> {
    let cards = "DELETE FROM cards WHERE document NOT IN (SELECT document FROM texts)";
    let stamps = "DELETE FROM stamps WHERE document NOT IN (SELECT document FROM texts)";
    Ok(connection.execute(cards, [])? + connection.execute(stamps, [])?)
}

/// Takes out the cards and stamps of texts that cannot be read, of those that are named.
///
/// # Errors
/// When the database refuses to be read or written.
pub fn forget(connection: &Connection, documents: &[ObjectHash]) -> rusqlite::Result<()> {
    for document in documents {
        match text(connection, *document) {
            Ok(_) => continue,
            Err(ReadError::Damaged(_)) => {}
            Err(ReadError::Sqlite(error)) => return Err(error),
        }
        for sql in ["DELETE FROM cards WHERE document = ?1", "DELETE FROM stamps WHERE document = ?1"] {
            connection.prepare_cached(sql)?.execute([document.as_bytes()])?;
        }
    }
    Ok(())
}

/// What was recognised among bytes of unknown origin.
pub enum Found {
    /// An object, by the name that its bytes have.
    Object(ObjectHash, u8, Vec<u8>),
    /// The manifest of a document, whose sum is right; with the sum.
    Text(ObjectHash, Vec<u8>),
}

/// Returns what a row holds: an object by the name that its bytes have, or a manifest if its sum is right.
pub fn recognise(name: ObjectHash, kind: Option<u8>, bytes: &[u8]) -> Option<Found> {
    match kind {
        Some(kind) => Some(Found::Object(actual(kind, bytes)?, kind, bytes.to_vec())),
        None => {
            let (sum, manifest) = bytes.split_first_chunk::<32>()?;
            (checksum(name, manifest) == ObjectHash::new(*sum)).then(|| Found::Text(name, bytes.to_vec()))
        }
    }
}

/// Returns the name that bytes of a kind should have; `None` when there is no such kind or they are none of it.
fn actual(kind: u8, bytes: &[u8]) -> Option<ObjectHash> {
    match kind {
        CHUNK => Some(chunk::name_of(bytes)),
        BRANCH => Some(files::name_of(bytes)),
        GROUP => decode_group(bytes).map(|(level, items)| group::hash(level, &items)),
        _ => None,
    }
}

/// Puts in what was recognised, unless it is there.
pub fn insert_found(connection: &Connection, found: &Found) -> rusqlite::Result<usize> {
    match found {
        Found::Object(name, kind, bytes) => connection
            .prepare_cached("INSERT OR IGNORE INTO objects(hash, kind, bytes) VALUES (?1, ?2, ?3)")?
            .execute(params![name.as_bytes(), kind, bytes]),
        Found::Text(name, bytes) => connection
            .prepare_cached("INSERT OR IGNORE INTO texts(document, manifest) VALUES (?1, ?2)")?
            .execute(params![name.as_bytes(), bytes]),
    }
}

/// Hands the name of every object below a document to `visit`; returns whether all of them are there.
///
/// # Errors
/// When the database refuses to be read.
pub fn below(
    connection: &Connection,
    document: ObjectHash,
    visit: &mut dyn FnMut(ObjectHash),
) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached("SELECT manifest FROM texts WHERE document = ?1")?;
    let Some(bytes) = statement.query_row([document.as_bytes()], raw).optional()? else { return Ok(false) };
    // The sum, the version, the length and the kind stand in front of the top group.
    let Some((head, top)) = bytes.split_at_checked(32 + 1 + 8 + 1) else { return Ok(false) };
    match head.last() {
        Some(1) => {}
        Some(2) => {
            let Some(other) = top.first_chunk::<32>() else { return Ok(false) };
            let other = ObjectHash::new(*other);
            visit(other);
            let found = statement.query_row([other.as_bytes()], raw).optional()?;
            // One step and no more, as when it is read.
            return match found.as_ref().and_then(|bytes| bytes.split_at_checked(32 + 1 + 8 + 1)) {
                Some((head, top)) if head.last() == Some(&1) => pieces_below(connection, top, visit),
                Some((head, _)) => Ok(head.last() == Some(&0)),
                None => Ok(false),
            };
        }
        _ => return Ok(true),
    }
    pieces_below(connection, top, visit)
}

/// Hands the name of every piece and group below a top group to `visit`; returns whether all of them are there.
fn pieces_below(connection: &Connection, top: &[u8], visit: &mut dyn FnMut(ObjectHash)) -> rusqlite::Result<bool> {
    let Some((level, items)) = decode_group(top) else { return Ok(false) };
    let mut waiting: Vec<(u64, ObjectHash)> = items.into_iter().map(|item| (level, item)).collect();
    let mut whole = true;
    while let Some((level, name)) = waiting.pop() {
        visit(name);
        if level == 0 {
            continue;
        }
        match object(connection, GROUP, name) {
            // The level falls with every step, so a hostile store cannot lead in circles.
            Ok(bytes) => match decode_group(&bytes).filter(|(found, _)| found + 1 == level) {
                Some((found, items)) => waiting.extend(items.into_iter().map(|item| (found, item))),
                None => whole = false,
            },
            Err(ReadError::Damaged(_)) => whole = false,
            Err(ReadError::Sqlite(error)) => return Err(error),
        }
    }
    Ok(whole)
}

/// Says of files that they were read otherwise than when they were stored.
pub fn divided_otherwise(files: usize) -> String {
    format!("{} divided into headings otherwise than when stored", counted(files, "file"))
}

fn object(connection: &Connection, kind: u8, name: ObjectHash) -> Result<Vec<u8>, ReadError> {
    let mut statement = connection.prepare_cached("SELECT bytes FROM objects WHERE hash = ?1 AND kind = ?2")?;
    let found = statement.query_row(params![name.as_bytes(), kind], raw).optional()?;
    found.ok_or(ReadError::Damaged(StoreError::Missing(name)))
}

/// Reads bytes whatever type a damaged cell claims to have; their hash tells the rest.
fn raw(row: &Row<'_>) -> rusqlite::Result<Vec<u8>> {
    Ok(row.get_ref(row.as_ref().column_count().saturating_sub(1))?.as_bytes().map(<[u8]>::to_vec).unwrap_or_default())
}

fn corrupt(expected: ObjectHash, actual: ObjectHash) -> ReadError {
    ReadError::Damaged(StoreError::Corrupt { expected, actual })
}

/// A manifest is named by what it makes, so it carries a sum of its own.
pub(super) fn checksum(document: ObjectHash, manifest: &[u8]) -> ObjectHash {
    ObjectHash::new(ContentHasher::new("manifest").bytes(document.as_bytes()).bytes(manifest).finish())
}

fn decode_group(bytes: &[u8]) -> Option<(u64, Vec<ObjectHash>)> {
    let (level, items) = bytes.split_first_chunk::<8>()?;
    let (items, rest) = items.as_chunks::<32>();
    (rest.is_empty()).then(|| (u64::from_le_bytes(*level), items.iter().map(|item| ObjectHash::new(*item)).collect()))
}
