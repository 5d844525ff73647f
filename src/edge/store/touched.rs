//! Which operations touched a file: derived, so that the versions of a file are looked up and not searched for.
//!
//! A row says that an operation may have touched a file; one without a name, that it touched many. What a file was is
//! read from the tries all the same, and the rows are only believed where those agree.

use crate::domain::id::{ObjectHash, OperationId};
use crate::domain::memory::operation::Operation;
use crate::domain::memory::store::StoreError;
use crate::domain::memory::view::View;
use crate::edge::store::compact::kept_from;
use crate::edge::store::disk::DiskStore;
use crate::edge::store::rows::{signed, unsigned};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::HashMap;
use std::sync::Arc;

/// The table, for the database that is opened.
pub const TABLE: &str = "CREATE TABLE IF NOT EXISTS touched(file TEXT NOT NULL, operation INTEGER NOT NULL,
  PRIMARY KEY(file, operation)) WITHOUT ROWID;";
/// An operation that touched more files than these is noted once, and looked at for each of them.
const MANY: usize = 64;
/// Stands for the files of an operation that touched many.
const ANY: &str = "";
/// How many operations are made up for at once.
const AT_ONCE: usize = 1000;

/// The versions of a file, each with the first operation at which it was so.
pub type Versions = Vec<(OperationId, Option<ObjectHash>)>;

/// An operation and its root.
type Rooted = (u64, ObjectHash);

/// Versions, and how many operations were looked at for them.
#[derive(Default)]
struct Found {
    versions: Versions,
    looked: usize,
}

/// Returns the operation until which it is noted what each of them touched; 0 for none.
pub fn noted(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT operation FROM heads WHERE name = 'touched'";
    let found = connection.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?;
    Ok(found.map_or(0, unsigned))
}

/// Forgets what is noted, all of it or nothing.
fn forget(connection: &Connection) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    transaction.execute_batch("DELETE FROM touched; DELETE FROM heads WHERE name = 'touched'")?;
    transaction.commit()
}

/// Notes what an operation touched; nothing said stands for many files.
fn note(connection: &Connection, operation: u64, files: Option<&[Arc<str>]>) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO touched(file, operation) VALUES (?1, ?2)";
    let mut put = connection.prepare_cached(sql)?;
    match files.filter(|files| files.len() <= MANY) {
        Some(files) => files.iter().try_for_each(|file| put.execute(params![file, signed(operation)]).map(|_| ()))?,
        None => drop(put.execute(params![ANY, signed(operation)])?),
    }
    let sql = "INSERT OR REPLACE INTO heads(name, operation) VALUES ('touched', ?1)";
    connection.prepare_cached(sql)?.execute([signed(operation)])?;
    Ok(())
}

/// Notes what an operation touches, as it is stored, where all operations before it are noted.
///
/// Where that meets a damaged page, SQLite gives up all of the transaction, as with any other damaged page.
pub fn note_step(
    connection: &Connection,
    operation: &Operation,
    (parent, before): (Option<ObjectHash>, &View),
    view: &View,
) -> rusqlite::Result<()> {
    if noted(connection)?.checked_add(1) != Some(operation.id.0) {
        return Ok(());
    }
    // What memory holds of damaged files, or of files that are divided otherwise now, is not what is stored.
    let known = parent.unwrap_or_else(|| View::default().root()) == before.root();
    let files = if known { view.files().differing(before.files(), MANY) } else { None };
    note(connection, operation.id.0, files.as_deref())
}

impl DiskStore {
    /// Returns what a file was at each operation between two.
    pub(super) fn file_versions(
        &mut self,
        file: &str,
        after: OperationId,
        until: OperationId,
    ) -> Result<Versions, StoreError> {
        if self.owned.is_some() {
            // It is derived: what cannot be noted now is looked at each time.
            let _ = self.make_up(until);
        }
        Ok(self.find_versions(file, after, until)?.versions)
    }

    fn find_versions(&self, file: &str, after: OperationId, until: OperationId) -> Result<Found, StoreError> {
        let sql = self.sql();
        // Of contents that were let go nothing is known any more.
        let begin = after.0.max(kept_from(&self.connection).map_err(&sql)?.saturating_sub(1));
        let chosen = self.chosen(file, (begin, until.0));
        if let Ok(Some(chosen)) = &chosen
            && let Some(found) = self.look_at(file, chosen, until)?
        {
            return Ok(found);
        }
        if self.owned.is_some() && !matches!(chosen, Ok(None)) {
            // The rows are wrong. They are made anew when they are needed next; until then all of it is looked at.
            let _ = forget(&self.connection);
        }
        let every = operations(&self.connection, begin, until.0).map_err(&sql)?;
        Ok(self.look_at(file, &every, until)?.unwrap_or_default())
    }

    /// Returns the operations of a stretch that have to be looked at for a file; nothing when none are noted.
    fn chosen(&self, file: &str, stretch: (u64, u64)) -> rusqlite::Result<Option<Vec<u64>>> {
        // A store of an earlier version that is only read may have no table.
        let noted = match self.connection.table_exists(None, "touched")? {
            true => noted(&self.connection)?,
            false => 0,
        };
        (noted > 0).then(|| candidates(&self.connection, file, stretch, noted)).transpose()
    }

    /// Reads what a file was at some operations; nothing when it was something else between them.
    fn look_at(&self, file: &str, chosen: &[u64], until: OperationId) -> Result<Option<Found>, StoreError> {
        let mut known = HashMap::new();
        let mut found = Found::default();
        let mut last = 0;
        for id in chosen {
            let (now, before) = self.step(*id)?;
            if let Some((_, expected)) = found.versions.last()
                && let Some((id, root)) = before
                && id != last
                && self.look_up(file, root, &mut known)? != *expected
            {
                return Ok(None);
            }
            let Some((id, root)) = now else { continue };
            let document = self.look_up(file, root, &mut known)?;
            if found.versions.last().is_none_or(|(_, last)| *last != document) {
                found.versions.push((OperationId(id), document));
            }
            (last, found.looked) = (id, found.looked + 1);
        }
        if let Some((_, expected)) = found.versions.last()
            && let (Some((id, root)), _) = self.step(until.0)?
            && id != last
            && self.look_up(file, root, &mut known)? != *expected
        {
            return Ok(None);
        }
        Ok(Some(found))
    }

    /// Returns the last operation up to a number, and the one before it, each with its root.
    fn step(&self, id: u64) -> Result<(Option<Rooted>, Option<Rooted>), StoreError> {
        let sql = "SELECT id, root FROM operations WHERE id <= ?1 ORDER BY id DESC LIMIT 2";
        let two = self.connection.prepare_cached(sql).and_then(|mut statement| {
            statement.query_map([signed(id)], rooted)?.collect::<rusqlite::Result<Vec<Rooted>>>()
        });
        let mut two = two.map_err(self.sql())?.into_iter();
        Ok((two.next(), two.next()))
    }

    /// Notes what the operations up to one touched of which it is not noted: of stores of before, and where an earlier
    /// version of the program stored them.
    fn make_up(&mut self, until: OperationId) -> Result<(), StoreError> {
        let sql = self.sql();
        loop {
            let begin = noted(&self.connection).map_err(&sql)?;
            let query = "SELECT id, root FROM operations WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3";
            let steps = self.connection.prepare_cached(query).and_then(|mut statement| {
                let values = params![signed(begin), signed(until.0), signed(AT_ONCE as u64)];
                statement.query_map(values, rooted)?.collect::<rusqlite::Result<Vec<Rooted>>>()
            });
            let steps = steps.map_err(&sql)?;
            if steps.is_empty() {
                return Ok(());
            }
            let mut before = self.step(begin)?.0.map(|(_, root)| root);
            let mut notes = Vec::new();
            for (id, root) in steps {
                let files = match self.differing_roots(before, Some(root), MANY) {
                    Ok(files) => files.map(|files| files.into_keys().collect::<Vec<_>>()),
                    // It is let go, or lost: whoever looks at it is told.
                    Err(StoreError::Missing(_) | StoreError::Corrupt { .. }) => None,
                    Err(error) => return Err(error),
                };
                notes.push((id, files));
                before = Some(root);
            }
            let transaction = self.connection.transaction().map_err(&sql)?;
            for (id, files) in notes {
                note(&transaction, id, files.as_deref()).map_err(&sql)?;
            }
            transaction.commit().map_err(&sql)?;
        }
    }
}

fn rooted(row: &Row<'_>) -> rusqlite::Result<Rooted> {
    Ok((unsigned(row.get(0)?), ObjectHash::new(row.get(1)?)))
}

/// Returns the last operations up to one that may have touched a file, newest first, as far as it is noted.
pub fn touching(
    connection: &Connection,
    file: &str,
    until: OperationId,
    most: usize,
) -> rusqlite::Result<Vec<OperationId>> {
    if !connection.table_exists(None, "touched")? {
        return Ok(Vec::new());
    }
    let sql = "SELECT operation FROM touched WHERE file = ?1 AND operation <= ?2
        UNION SELECT operation FROM touched WHERE file = '' AND operation <= ?2 ORDER BY 1 DESC LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let values = params![file, signed(until.0), signed(most as u64)];
    statement.query_map(values, |row| Ok(OperationId(unsigned(row.get(0)?))))?.collect()
}

/// Returns the operations of a stretch, oldest first.
fn operations(connection: &Connection, begin: u64, until: u64) -> rusqlite::Result<Vec<u64>> {
    let sql = "SELECT id FROM operations WHERE id >= ?1 AND id <= ?2 ORDER BY id";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map([signed(begin), signed(until)], |row| Ok(unsigned(row.get(0)?)))?.collect()
}

/// Returns the operations of a stretch that have to be looked at for a file: the first, those that may have touched it,
/// and those of which nothing is noted.
fn candidates(
    connection: &Connection,
    file: &str,
    (begin, until): (u64, u64),
    noted: u64,
) -> rusqlite::Result<Vec<u64>> {
    let sql = "SELECT min(id) FROM operations WHERE id >= ?1 AND id <= ?2
        UNION SELECT operation FROM touched WHERE file = ?3 AND operation >= ?1 AND operation <= ?2
        UNION SELECT operation FROM touched WHERE file = '' AND operation >= ?1 AND operation <= ?2
        UNION SELECT id FROM operations WHERE id > ?4 AND id >= ?1 AND id <= ?2 ORDER BY 1";
    let mut statement = connection.prepare_cached(sql)?;
    let values = params![signed(begin), signed(until), file, signed(noted)];
    let found = statement.query_map(values, |row| row.get::<_, Option<i64>>(0))?;
    Ok(found.collect::<rusqlite::Result<Vec<_>>>()?.into_iter().flatten().map(unsigned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::memory::Memory;
    use crate::domain::memory::document::{Document, PrivacyOptions};
    use crate::domain::memory::operation::Why;
    use crate::domain::memory::store::{Commit, Store};
    use crate::domain::org::scan::{ScanOptions, scan};
    use crate::edge::store::compact::Keep;

    /// What an operation does to some files; nothing said takes one out.
    type Step<'a> = Vec<(&'a str, Option<String>)>;

    fn fill(store: &mut DiskStore, memory: &mut Memory, steps: &[Step<'_>]) {
        for steps in steps.chunks(500) {
            let made: Vec<_> = steps
                .iter()
                .map(|files| {
                    let mut step = memory.begin();
                    for (file, text) in files {
                        match text {
                            Some(text) => {
                                let outline =
                                    scan(Arc::from(text.as_str()), &ScanOptions::default()).expect("it is read");
                                step.put(Arc::new(Document::build(*file, outline, &PrivacyOptions::default())));
                            }
                            None => step.remove(file),
                        }
                    }
                    let at = jiff::Timestamp::UNIX_EPOCH;
                    let why = Why { cause: "test".into(), origin: "test".into(), at, note: String::new() };
                    (step.finish(why).publish(memory).expect("one writer"), memory.head().clone())
                })
                .collect();
            store.commit(&Commit { steps: &made, ..Commit::default() }).expect("it is stored");
        }
    }

    /// A history in which `a` is touched at its begin, in its middle and at its end, and `b` always.
    fn history(length: usize) -> Vec<Step<'static>> {
        let step = |n| match n == 0 || n == length / 2 || n == length - 1 {
            true => vec![("/m/a.org", Some(format!("* A\n{n}\n"))), ("/m/b.org", Some(format!("* B\n{n}\n")))],
            false => vec![("/m/b.org", Some(format!("* B\n{n}\n")))],
        };
        (0..length).map(step).collect()
    }

    fn all(store: &DiskStore, file: &str) -> Versions {
        let until = store.head.as_ref().map_or(0, |head| head.id.0);
        let every = operations(&store.connection, 1, until).expect("they are read");
        let found = store.look_at(file, &every, OperationId(until)).expect("they are read");
        found.map(|found| found.versions).unwrap_or_default()
    }

    fn looked_up(store: &mut DiskStore, file: &str) -> (Versions, usize) {
        let until = store.head.as_ref().map_or(OperationId(0), |head| head.id);
        let versions = store.file_versions(file, OperationId(1), until).expect("they are read");
        let found = store.find_versions(file, OperationId(1), until).expect("they are read");
        assert_eq!(versions, found.versions);
        (versions, found.looked)
    }

    #[test]
    fn the_versions_of_a_file_are_looked_up_however_long_the_history_is() {
        let mut looked = Vec::new();
        for length in [1_000, 5_000] {
            let folder = tempfile::tempdir().expect("a folder");
            let mut store = DiskStore::open(folder.path()).expect("a new store");
            fill(&mut store, &mut Memory::default(), &history(length));
            let (versions, count) = looked_up(&mut store, "/m/a.org");
            let ids: Vec<u64> = versions.iter().map(|(id, _)| id.0).collect();
            assert_eq!(ids, [1, length as u64 / 2 + 1, length as u64]);
            assert_eq!(versions, all(&store, "/m/a.org"));
            looked.push(count);
            assert_eq!(looked_up(&mut store, "/m/b.org").1, length, "each was of it");
            assert_eq!(looked_up(&mut store, "/m/none.org"), (vec![(OperationId(1), None)], 1));
        }
        assert_eq!(looked, [3, 3]);
    }

    #[test]
    fn what_is_not_noted_is_looked_at_and_made_up_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut store, mut memory) = (DiskStore::open(folder.path()).expect("a new store"), Memory::default());
        fill(&mut store, &mut memory, &history(40));
        let expected = all(&store, "/m/a.org");
        // A store of before; and one to which an earlier version added since.
        for (forget, looked) in [(0, 40), (10, 31)] {
            let sql = format!(
                "DELETE FROM touched WHERE operation > {forget}; UPDATE heads SET operation = {forget} WHERE name = 'touched'"
            );
            store.connection.execute_batch(&sql).expect("it is forgotten");
            let reader = DiskStore::open_to_read(folder.path()).expect("it can be read");
            let found = reader.find_versions("/m/a.org", OperationId(1), OperationId(40)).expect("they are read");
            assert_eq!(
                (&found.versions, found.looked),
                (&expected, looked),
                "who only reads looks at what is not noted"
            );
            drop(reader);
            assert_eq!(looked_up(&mut store, "/m/a.org"), (expected.clone(), 3));
        }
        store.connection.execute_batch("DROP TABLE touched").expect("it goes");
        let mut reader = DiskStore::open_to_read(folder.path()).expect("it can be read");
        let found = reader.versions("/m/a.org", OperationId(1), OperationId(40)).expect("they are read");
        assert_eq!(found, expected);
        drop((reader, store));
        let mut store = DiskStore::open(folder.path()).expect("it opens");
        assert_eq!(store.versions("/m/a.org", OperationId(1), OperationId(40)).expect("they are read"), expected);
    }

    #[test]
    fn rows_that_are_wrong_are_not_believed() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = DiskStore::open(folder.path()).expect("a new store");
        fill(&mut store, &mut Memory::default(), &history(40));
        let expected = all(&store, "/m/a.org");
        for gone in [1, 21, 40] {
            let sql = format!("DELETE FROM touched WHERE file = '/m/a.org' AND operation = {gone}");
            store.connection.execute_batch(&sql).expect("it goes");
            let until = OperationId(40);
            assert_eq!(store.versions("/m/a.org", OperationId(1), until).expect("they are read"), expected, "{gone}");
            assert_eq!(looked_up(&mut store, "/m/a.org"), (expected.clone(), 3), "{gone}: they were made anew");
        }
    }

    #[test]
    fn whatever_happens_to_many_files_each_is_found_as_it_was() {
        let names: Vec<String> = (0..150).map(|n| format!("/m/{n}.org")).collect();
        let mut steps: Vec<Step<'_>> =
            vec![names.iter().map(|name| (name.as_str(), Some("* One\n".to_string()))).collect()];
        for n in 0..120usize {
            let (one, other) = (names[n * 7 % 150].as_str(), names[n * 31 % 150].as_str());
            steps.push(match n % 4 {
                0 => vec![(one, Some(format!("* Step {n}\n"))), (other, Some("* One\n".to_string()))],
                1 => vec![(one, None)],
                2 => vec![(other, Some("* Again\n".to_string()))],
                _ => {
                    names.iter().skip(n).map(|name| (name.as_str(), (n % 3 > 0).then(|| format!("* {n}\n")))).collect()
                }
            });
        }
        let folder = tempfile::tempdir().expect("a folder");
        let (mut store, mut memory) = (DiskStore::open(folder.path()).expect("a new store"), Memory::default());
        fill(&mut store, &mut memory, &steps);
        let check = |store: &mut DiskStore| {
            for name in names.iter().step_by(11) {
                assert_eq!(looked_up(store, name).0, all(store, name), "{name}");
            }
        };
        check(&mut store);
        let rows = |store: &DiskStore| -> Vec<(String, i64)> {
            let mut statement = store.connection.prepare("SELECT file, operation FROM touched").expect("it is read");
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("they are read");
            rows.collect::<Result<_, _>>().expect("they are read")
        };
        let noted = rows(&store);
        forget(&store.connection).expect("it is forgotten");
        check(&mut store);
        assert_eq!(rows(&store), noted, "what is made up for is what is noted when it is stored");
    }

    /// Makes the rows of one table unreadable, as a damaged page does.
    fn damage(store: DiskStore, folder: &std::path::Path) -> DiskStore {
        let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'touched'";
        let page: u64 = store.connection.query_row(root, [], |row| row.get(0).map(unsigned)).expect("it has one");
        let size: u64 = store.connection.query_row("PRAGMA page_size", [], |row| row.get(0).map(unsigned)).expect("so");
        store.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("all is in one file");
        drop(store);
        let file = std::fs::OpenOptions::new().write(true).open(folder.join("memory.sqlite")).expect("it is there");
        std::os::unix::fs::FileExt::write_all_at(&file, &[0xff; 64], (page - 1) * size).expect("it is damaged");
        DiskStore::open(folder).expect("it opens")
    }

    #[test]
    fn rows_that_cannot_be_read_keep_nothing_from_being_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = DiskStore::open(folder.path()).expect("a new store");
        fill(&mut store, &mut Memory::default(), &history(40));
        let expected = all(&store, "/m/a.org");
        let mut store = damage(store, folder.path());
        let until = OperationId(40);
        assert!(candidates(&store.connection, "/m/a.org", (1, 40), 40).is_err(), "the rows are damaged");
        assert_eq!(store.versions("/m/a.org", OperationId(1), until).expect("they are read"), expected);
        // Forgetting the rows failed, too, and left no transaction open.
        assert!(store.connection.is_autocommit());
        store.connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK").expect("others can be begun");
    }

    #[test]
    fn of_contents_that_were_let_go_no_version_is_known() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = DiskStore::open(folder.path()).expect("a new store");
        fill(&mut store, &mut Memory::default(), &history(40));
        let now = jiff::Timestamp::UNIX_EPOCH;
        store.compact(Keep { operations: Some(5), ..Keep::default() }, now).expect("it is let go");
        let ids = |versions: Versions| versions.iter().map(|(id, _)| id.0).collect::<Vec<_>>();
        assert_eq!(ids(store.versions("/m/a.org", OperationId(1), OperationId(40)).expect("they are read")), [35, 40]);
        forget(&store.connection).expect("it is forgotten");
        assert_eq!(ids(store.versions("/m/a.org", OperationId(1), OperationId(40)).expect("they are read")), [35, 40]);
    }
}
