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
use std::path::Path;
use std::sync::Arc;

/// The texts of a store.
pub(super) struct SavedTexts {
    connection: Mutex<Connection>,
    shape: Shape,
}

impl SavedTexts {
    /// Connects to a database.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn of(database: &Path, shape: Shape) -> Result<SavedTexts, StoreError> {
        Ok(SavedTexts { connection: Mutex::new(connect_to_texts(database)?), shape })
    }
}

impl Texts for SavedTexts {
    fn text(&self, _file: &str, document: ObjectHash) -> Result<Arc<str>, String> {
        objects::text(&self.connection.lock(), document).map_err(|error| match error {
            ReadError::Damaged(error) => error.to_string(),
            ReadError::Sqlite(error) => error.to_string(),
        })
    }

    fn build(&self, file: &Arc<str>, text: Arc<str>) -> Result<Document, String> {
        self.shape.build(file, text)
    }
}
