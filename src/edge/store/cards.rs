//! Cards as they lie in the store: derived, so that a start reads no text. What is missing or was shaped otherwise is
//! made anew of its text.

use crate::domain::id::ObjectHash;
use crate::domain::label::PrivacyTag;
use crate::domain::memory::card::{Card, KeptNames};
use crate::domain::memory::document::{Document, PrivacyOptions};
use crate::domain::memory::index::Keys;
use crate::domain::memory::shape::Shape;
use crate::domain::memory::shelf::{Shelf, WARM_BYTES};
use crate::domain::memory::store::{Stamp, StoreError};
use crate::domain::memory::view::View;
use crate::domain::org::scan::ScanOptions;
use crate::domain::org::setup::Setups;
use crate::edge::store::disk::DiskStore;
use crate::edge::store::objects::{self, ReadError};
use crate::edge::store::open::connect_to_texts;
use crate::edge::store::texts::SavedTexts;
use crate::edge::thread::each;
use rusqlite::{Connection, params};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Files with the hash of each.
pub(super) type Files = BTreeMap<Arc<str>, ObjectHash>;

/// Says whether reading goes on, or why not.
pub(super) type Going<'a> = &'a (dyn Fn() -> Result<(), String> + Sync);

/// So many files are worth reading their cards on several threads.
const SHARED: usize = 2_000;
/// Into so many slices the cards are divided then.
const SLICES: i64 = 32;

/// Some cards with their keys.
type Keyed = (Vec<Card>, Keys);

/// Which cards are wanted.
struct Wanted<'a> {
    /// The setup files as they are now: a card that was made by others fits no more.
    setups: &'a Setups,
    /// The name of the shape that they were made with.
    shape: ObjectHash,
    /// Their files, with the documents that they were made of.
    files: &'a Files,
    /// Says when a file was changed.
    modified: &'a (dyn Fn(&str, ObjectHash) -> Option<jiff::Timestamp> + Sync),
}

impl DiskStore {
    /// Returns the view of some files by their cards.
    pub(super) fn view_of_cards(
        &mut self,
        files: &Files,
        stamps: &[Stamp],
        shape: &Shape,
        going: Going<'_>,
        problems: &mut Vec<String>,
    ) -> Result<View, StoreError> {
        let texts = Arc::new(SavedTexts::of(&self.folder.join("memory.sqlite"), shape.clone())?);
        self.texts = Some(texts.clone());
        let shelf = Arc::new(Shelf::new(Box::new(texts), WARM_BYTES));
        let stamps: HashMap<&str, &Stamp> = stamps.iter().map(|stamp| (stamp.file.as_ref(), stamp)).collect();
        let modified = |file: &str, document: ObjectHash| {
            let stamp = stamps.get(file).filter(|stamp| stamp.document == document)?;
            jiff::Timestamp::from_nanosecond(stamp.modified.into()).ok()
        };
        let wanted = Wanted { setups: &shape.scan.setups, shape: shape.name(), files, modified: &modified };
        let (mut cards, stale) = self.read_cards(&wanted)?;
        let known: HashSet<Arc<str>> =
            cards.iter().flat_map(|(cards, _)| cards).map(|card| card.file.clone()).collect();
        let (mut fresh, mut otherwise) = (Vec::new(), Vec::new());
        for (file, document) in files.iter().filter(|(file, _)| !known.contains(*file)) {
            match self.build(file, *document, shape, going)? {
                Ok(built) => {
                    let mut built = built.changed_at(modified(file, *document));
                    match built.root() == *document {
                        true => {
                            // What headings are called cannot be made anew of the text.
                            if let Some(Some((kept, numbers))) = stale.get(&**file) {
                                built.name(kept, numbers);
                            }
                            fresh.push(Card::of(&built));
                        }
                        // It is stored under another name, so it is kept until it is stored under this one.
                        false => otherwise.push(Arc::new(built)),
                    }
                }
                Err(why) => problems.push(format!("{file}: {why}")),
            }
        }
        if self.owned.is_some() {
            // As below.
            let _ = insert_shape(&self.connection, shape);
        }
        if self.owned.is_some() && !(fresh.is_empty() && stale.is_empty()) {
            // They are derived: where there is no room for them, they are made anew at the next start.
            let _ = self.replace_cards(shape, &fresh, &stale);
        }
        let keys = Keys::of(fresh.iter());
        cards.push((fresh, keys));
        let mut view = View::of_indexed(cards, shelf);
        if !otherwise.is_empty() {
            problems.push(objects::divided_otherwise(otherwise.len()));
        }
        otherwise.into_iter().for_each(|document| view.put(document));
        Ok(view)
    }

    /// Reads the cards that are wanted, with their keys, on several threads when there are many; also returns the files
    /// whose cards fit nothing any more.
    fn read_cards(&self, wanted: &Wanted<'_>) -> Result<(Vec<Keyed>, Stale), StoreError> {
        // A store of an earlier version that is only read has no such table.
        if !self.connection.table_exists(None, "cards").map_err(self.sql())? {
            return Ok((Vec::new(), Stale::new()));
        }
        let reach = "SELECT coalesce(min(rowid), 0), coalesce(max(rowid), 0) FROM cards";
        let reach = self.connection.query_row(reach, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
        let (first, last) = reach.map_err(self.sql())?;
        let one = |connection: &Connection, rows: (i64, i64)| query_cards(connection, wanted, rows);
        let mut parts = Vec::new();
        if wanted.files.len() >= SHARED {
            let database = self.folder.join("memory.sqlite");
            // What another process writes meanwhile is not wanted, as its hash says.
            parts = each(&slices(first, last), |rows| one(&connect_to_texts(&database).ok()?, *rows).ok());
        }
        let parts = match parts.into_iter().collect::<Option<Vec<_>>>() {
            Some(parts) if !parts.is_empty() => parts,
            Some(_) | None => vec![one(&self.connection, (first, last)).map_err(self.sql())?],
        };
        let (cards, stale): (Vec<Keyed>, Vec<Stale>) = parts.into_iter().unzip();
        Ok((cards, stale.into_iter().flatten().collect()))
    }

    /// Makes the document of a stored text; the inner error is about this file alone.
    fn build(
        &self,
        file: &Arc<str>,
        document: ObjectHash,
        shape: &Shape,
        going: Going<'_>,
    ) -> Result<Result<Document, String>, StoreError> {
        match objects::text(&self.connection, document) {
            Ok(text) => Ok(going().and_then(|()| shape.build(file, text))),
            Err(ReadError::Damaged(error)) => Ok(Err(error.to_string())),
            Err(ReadError::Sqlite(error)) => Err(self.sql()(error)),
        }
    }

    fn replace_cards(&mut self, shape: &Shape, fresh: &[Card], stale: &Stale) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        for file in stale.keys() {
            transaction.prepare_cached("DELETE FROM cards WHERE file = ?1")?.execute([file])?;
        }
        let name = shape.name();
        for card in fresh {
            insert_card(&transaction, name, card, &card.encode())?;
        }
        transaction.commit()
    }
}

impl DiskStore {
    /// Makes documents of stored texts in another way, and keeps no cards until all of them are made in that way.
    pub(super) fn reshaped(&mut self, shape: &Shape) {
        self.shape = None;
        if let Some(texts) = &self.texts {
            texts.reshape(shape);
        }
        if self.owned.is_some() {
            // Who checks the store wants to know it; without it, a text is tried in every way that is known.
            let _ = insert_shape(&self.connection, shape);
        }
    }

    /// Keeps cards of another way; after the last ones those of every step are kept again.
    pub(super) fn keep_reshaped(&mut self, shape: &Shape, cards: &[Arc<Card>], last: bool) -> Result<(), StoreError> {
        let sql = self.sql();
        let transaction = self.connection.transaction().map_err(&sql)?;
        for card in cards {
            insert_card(&transaction, shape.name(), card, &card.encode()).map_err(&sql)?;
        }
        transaction.commit().map_err(&sql)?;
        if last {
            self.shape = Some(shape.clone());
        }
        Ok(())
    }
}

/// Notes what a shape is, so that who checks the store can make documents as they were made.
pub(super) fn insert_shape(connection: &Connection, shape: &Shape) -> rusqlite::Result<usize> {
    let tags: Vec<String> = shape.privacy.tags.iter().map(ToString::to_string).collect();
    let text = serde_json::json!([shape.scan.sequences, tags]).to_string();
    let sql = "INSERT OR IGNORE INTO shapes(name, shape) VALUES (?1, ?2)";
    connection.execute(sql, params![shape.name().as_bytes(), text])
}

/// Returns the shapes that cards were made with by this version of the program; the usual one is among them.
pub(super) fn query_shapes(connection: &Connection) -> rusqlite::Result<HashMap<ObjectHash, Shape>> {
    let usual = Shape::default();
    let mut shapes = HashMap::from([(usual.name(), usual)]);
    if !connection.table_exists(None, "shapes")? {
        return Ok(shapes);
    }
    let mut statement = connection.prepare("SELECT name, shape FROM shapes")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let text = row.get_ref(1)?.as_bytes().unwrap_or_default();
        let Ok((sequences, tags)) = serde_json::from_slice::<(Vec<String>, Vec<String>)>(text) else { continue };
        let tags = tags.iter().map(|tag| PrivacyTag::read(tag).0).collect();
        let shape =
            Shape { scan: ScanOptions { sequences, ..ScanOptions::default() }, privacy: PrivacyOptions { tags } };
        // Its name tells the version, and that it was not changed.
        if row.get_ref(0)?.as_blob().is_ok_and(|name| name == shape.name().as_bytes()) {
            shapes.insert(shape.name(), shape);
        }
    }
    Ok(shapes)
}

/// Returns the names of the shapes that the cards of documents were made with.
pub(super) fn query_shaped(connection: &Connection) -> rusqlite::Result<HashMap<ObjectHash, ObjectHash>> {
    if !connection.table_exists(None, "cards")? {
        return Ok(HashMap::new());
    }
    let mut statement = connection.prepare("SELECT document, shape FROM cards")?;
    let mut rows = statement.query([])?;
    let mut found = HashMap::new();
    while let Some(row) = rows.next()? {
        // Whatever a damaged row holds, it is no card.
        if let (Ok(document), Ok(shape)) = (row.get(0), row.get(1)) {
            found.insert(ObjectHash::new(document), ObjectHash::new(shape));
        }
    }
    Ok(found)
}

/// Returns whether a text makes a document.
pub(super) fn makes(shape: &Shape, text: &Arc<str>, document: ObjectHash) -> bool {
    shape.build(&Arc::from(""), text.clone()).is_ok_and(|built| built.root() == document)
}

/// Returns the documents whose text is another one than that which their card was made of.
pub(super) fn changed(connection: &Connection) -> rusqlite::Result<Vec<ObjectHash>> {
    let shapes = query_shapes(connection)?;
    let mut found = Vec::new();
    for (document, shape) in query_shaped(connection)? {
        match (shapes.get(&shape), objects::text(connection, document)) {
            (Some(shape), Ok(text)) if !makes(shape, &text, document) => found.push(document),
            (_, Err(ReadError::Sqlite(error))) => return Err(error),
            (_, Ok(_) | Err(ReadError::Damaged(_))) => {}
        }
    }
    Ok(found)
}

/// Files whose cards fit nothing any more, with the names that the headings of those keep whose text is still the same.
type Stale = HashMap<String, Option<KeptNames>>;

/// Divides numbers of rows into slices of about the same length.
fn slices(first: i64, last: i64) -> Vec<(i64, i64)> {
    let step = last.saturating_sub(first) / SLICES + 1;
    let begins = (0..SLICES).map(|at| first.saturating_add(at.saturating_mul(step)));
    begins.map(|begin| (begin, begin.saturating_add(step - 1))).collect()
}

/// Reads the cards in some rows that are wanted; returns also files whose cards fit nothing any more.
fn query_cards(connection: &Connection, wanted: &Wanted<'_>, rows: (i64, i64)) -> rusqlite::Result<(Keyed, Stale)> {
    let (mut cards, mut stale) = (Vec::new(), Stale::new());
    let sql = "SELECT file, document, shape, card FROM cards WHERE rowid BETWEEN ?1 AND ?2";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(params![rows.0, rows.1])?;
    while let Some(row) = rows.next()? {
        // Whatever a damaged row holds, it is no card.
        let Ok(file) = row.get::<_, String>(0) else { continue };
        let is = |column, hash: &ObjectHash| row.get_ref(column).is_ok_and(|v| v.as_blob() == Ok(hash.as_bytes()));
        let found = wanted.files.get_key_value(file.as_str()).filter(|(_, document)| is(1, document));
        let bytes = row.get_ref(3).ok().and_then(|value| value.as_blob().ok()).unwrap_or_default();
        let card = found.filter(|_| is(2, &wanted.shape)).and_then(|(file, document)| {
            Card::decode(file.clone(), *document, (wanted.modified)(file, *document), bytes)
        });
        let card = card.filter(|card| wanted.setups.are_as(card.setups()));
        match card {
            Some(card) => cards.push(card),
            None => {
                let names = found.and_then(|(file, document)| Card::decode_names(file, *document, bytes));
                stale.insert(file, names);
            }
        }
    }
    let keys = Keys::of(cards.iter());
    Ok(((cards, keys), stale))
}

/// Writes a card and its bytes, over the one of the same file.
pub(super) fn insert_card(
    connection: &Connection,
    shape: ObjectHash,
    card: &Card,
    bytes: &[u8],
) -> rusqlite::Result<usize> {
    let sql = "INSERT OR REPLACE INTO cards(file, document, shape, card) VALUES (?1, ?2, ?3, ?4)";
    let root = card.root();
    connection.prepare_cached(sql)?.execute(params![card.file.as_ref(), root.as_bytes(), shape.as_bytes(), bytes])
}
