//! Texts on demand: connections of their own, which only read, so that nobody waits for the store's thread, and few
//! for each other.

use crate::domain::id::ObjectHash;
use crate::domain::memory::document::Document;
use crate::domain::memory::shape::Shape;
use crate::domain::memory::shelf::Texts;
use crate::domain::memory::store::StoreError;
use crate::edge::store::objects::{self, ReadError};
use crate::edge::store::open::connect_to_texts;
use parking_lot::{Mutex, MutexGuard, RwLock};
use rusqlite::Connection;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many threads read at the same time.
const CONNECTIONS: usize = 3;

/// The texts of a store.
pub(super) struct SavedTexts {
    database: PathBuf,
    /// Each is `None` until it is used, and after the store was closed.
    connections: [Mutex<Option<Connection>>; CONNECTIONS],
    /// Counts those who waited, so that they wait at different ones.
    waited: AtomicUsize,
    /// It becomes another one when Org's settings change.
    shape: RwLock<Shape>,
    /// What was damaged or missing when it was wanted.
    lost: Mutex<BTreeSet<ObjectHash>>,
}

impl SavedTexts {
    /// Connects to a database.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn of(database: &Path, shape: Shape) -> Result<SavedTexts, StoreError> {
        let mut connections: [_; CONNECTIONS] = Default::default();
        if let Some(first) = connections.first_mut() {
            *first = Mutex::new(Some(connect_to_texts(database)?));
        }
        let (database, waited) = (database.to_path_buf(), AtomicUsize::default());
        Ok(SavedTexts { database, connections, waited, shape: RwLock::new(shape), lost: Mutex::default() })
    }

    /// Returns, once, what was damaged or missing when it was wanted.
    pub(super) fn take_lost(&self) -> Vec<ObjectHash> {
        std::mem::take(&mut *self.lost.lock()).into_iter().collect()
    }

    /// Makes documents otherwise from now on.
    pub(super) fn reshape(&self, shape: &Shape) {
        *self.shape.write() = shape.clone();
    }

    /// Lets go of the database: while anybody is connected, what was written last does not come into its own file.
    pub(super) fn close(&self) {
        self.connections.iter().for_each(|connection| drop(connection.lock().take()));
    }

    /// Returns a connection that nobody uses, or waits for one.
    fn free(&self) -> MutexGuard<'_, Option<Connection>> {
        if let Some(free) = self.connections.iter().find_map(Mutex::try_lock) {
            return free;
        }
        let turn = self.waited.fetch_add(1, Ordering::Relaxed) % CONNECTIONS;
        self.connections[turn].lock()
    }

    /// Reads a text, on a new connection when there is none.
    fn read(&self, connection: &mut Option<Connection>, document: ObjectHash) -> Result<Arc<str>, String> {
        let connection = match connection {
            Some(connection) => connection,
            None => connection.insert(connect_to_texts(&self.database).map_err(|error| error.to_string())?),
        };
        // One look at the locks serves all of its pieces; it writes nothing.
        let looking = connection.unchecked_transaction().map_err(|error| error.to_string())?;
        objects::text(&looking, document).map_err(|error| match error {
            ReadError::Damaged(error) => {
                self.lost.lock().insert(document);
                error.to_string()
            }
            ReadError::Sqlite(error) => error.to_string(),
        })
    }
}

impl Texts for Arc<SavedTexts> {
    fn text(&self, _file: &str, document: ObjectHash) -> Result<Arc<str>, String> {
        let mut connection = self.free();
        let fresh = connection.is_none();
        let found = self.read(&mut connection, document);
        match found {
            // The database may have been put back meanwhile, as another file.
            Err(_) if !fresh => {
                connection.take();
                self.read(&mut connection, document)
            }
            found => found,
        }
    }

    fn build(&self, file: &Arc<str>, text: Arc<str>) -> Result<Document, String> {
        let shape = self.shape.read().clone();
        shape.build(file, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::store::open::set_up;

    #[test]
    fn a_reader_does_not_wait_for_another_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = folder.path().join("memory.sqlite");
        set_up(&mut Connection::open(&database).expect("a database"), &database).expect("its tables");
        let texts = Arc::new(SavedTexts::of(&database, Shape::default()).expect("it opens"));
        let missing = ObjectHash::new([7; 32]);
        let others = [texts.free(), texts.free()];
        // This would wait for ever if there were no other.
        assert!(texts.text("a", missing).is_err_and(|why| why.contains("missing")), "it was looked for");
        drop(others);
        assert_eq!((texts.take_lost(), texts.take_lost()), (vec![missing], vec![]));
        texts.close();
        assert!(texts.connections.iter().all(|connection| connection.lock().is_none()));
    }
}
