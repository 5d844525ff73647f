//! Texts on demand: a connection of its own, which only reads, so that nobody waits for the store's thread.

use crate::domain::id::ObjectHash;
use crate::domain::memory::document::Document;
use crate::domain::memory::shape::Shape;
use crate::domain::memory::shelf::Texts;
use crate::domain::memory::store::StoreError;
use crate::edge::store::objects::{self, ReadError};
use crate::edge::store::open::connect_to_texts;
use parking_lot::Mutex;
use rusqlite::Connection;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The texts of a store.
pub(super) struct SavedTexts {
    database: PathBuf,
    /// `None` until it is used, and after the store was closed.
    connection: Mutex<Option<Connection>>,
    shape: Shape,
    /// What was damaged or missing when it was wanted.
    lost: Mutex<BTreeSet<ObjectHash>>,
}

impl SavedTexts {
    /// Connects to a database.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn of(database: &Path, shape: Shape) -> Result<SavedTexts, StoreError> {
        let connection = Mutex::new(Some(connect_to_texts(database)?));
        Ok(SavedTexts { database: database.to_path_buf(), connection, shape, lost: Mutex::default() })
    }

    /// Returns, once, what was damaged or missing when it was wanted.
    pub(super) fn take_lost(&self) -> Vec<ObjectHash> {
        std::mem::take(&mut *self.lost.lock()).into_iter().collect()
    }

    /// Lets go of the database: while anybody is connected, what was written last does not come into its own file.
    pub(super) fn close(&self) {
        self.connection.lock().take();
    }

    /// Reads a text, on a new connection when there is none.
    fn read(&self, connection: &mut Option<Connection>, document: ObjectHash) -> Result<Arc<str>, String> {
        let connection = match connection {
            Some(connection) => connection,
            None => connection.insert(connect_to_texts(&self.database).map_err(|error| error.to_string())?),
        };
        objects::text(connection, document).map_err(|error| match error {
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
        let mut connection = self.connection.lock();
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
        self.shape.build(file, text)
    }
}
