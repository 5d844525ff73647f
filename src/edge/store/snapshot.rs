//! Memory as it lies in the tables: a view is read from its root, and written as what differs from another.

use crate::domain::id::ObjectHash;
use crate::domain::memory::files::StoredEntry;
use crate::domain::memory::store::{Build, StoreError};
use crate::domain::memory::view::View;
use crate::edge::store::cards::Files;
use crate::edge::store::disk::DiskStore;
use crate::edge::store::objects::{self, ReadError};
use crate::edge::store::writer::Writer;
use std::sync::Arc;

impl DiskStore {
    /// Walks from a root to every file; what is damaged becomes a line in `problems`.
    pub(super) fn files_at(&self, root: ObjectHash, problems: &mut Vec<String>) -> Result<Files, StoreError> {
        let mut files = Files::new();
        // The empty memory has a root but no branch.
        let mut branches = if root == View::default().root() { Vec::new() } else { vec![root] };
        while let Some(name) = branches.pop() {
            match objects::branch(&self.connection, name) {
                Ok(entries) => entries.into_iter().for_each(|entry| match entry {
                    StoredEntry::File(file, document) => {
                        files.insert(file, document);
                    }
                    StoredEntry::Branch(below) => branches.push(below),
                }),
                Err(ReadError::Damaged(error)) => problems.push(error.to_string()),
                Err(ReadError::Sqlite(error)) => return Err(self.sql()(error)),
            }
        }
        Ok(files)
    }

    /// Reads every document of a view; what is damaged becomes a line in `problems`.
    pub(super) fn read_view(
        &self,
        root: ObjectHash,
        build: Build<'_>,
        problems: &mut Vec<String>,
    ) -> Result<View, StoreError> {
        let files = self.files_at(root, problems)?;
        let mut view = self.saved.cleared();
        let mut otherwise = 0;
        for (file, document) in files {
            if self.saved.card(&file).is_some_and(|known| known.root() == document) {
                view.adopt(&self.saved, &file);
                continue;
            }
            let built = match objects::text(&self.connection, document) {
                Ok(text) => build(&file, text),
                Err(ReadError::Damaged(error)) => Err(error.to_string()),
                Err(ReadError::Sqlite(error)) => return Err(self.sql()(error)),
            };
            match built {
                Ok(built) => {
                    otherwise += usize::from(built.root() != document);
                    view.put_saved(Arc::new(built));
                }
                Err(why) => problems.push(format!("{file}: {why}")),
            }
        }
        if otherwise > 0 {
            problems.push(objects::divided_otherwise(otherwise));
        }
        Ok(view)
    }
}

/// Texts of so many bytes are cut and written together.
const TOGETHER: usize = 16 << 20;

/// Writes what a view has and an earlier one has not; returns the files whose texts are stored by that.
pub(super) fn write_view(writer: &mut Writer<'_>, view: &View, before: &View) -> rusqlite::Result<Vec<Arc<str>>> {
    let (mut new, mut branches) = (Vec::new(), Vec::new());
    view.files().new_branches(Some(before.files()), &mut |branch| {
        let known = |file, document| before.card(file).is_some_and(|known| known.root() == document);
        let files = branch.files().filter(|(file, document)| !known(file, *document));
        new.extend(files.map(|(file, document)| (file.clone(), document)));
        branches.push((branch.hash(), branch.encode()));
    });
    let (mut texts, mut bytes) = (Vec::new(), 0);
    for (file, document) in &new {
        // One that cannot be had was reported when it was asked for.
        if !writer.is_there(*document)?
            && let Some(text) = view.text(file)
        {
            bytes += text.len();
            texts.push((*document, text));
        }
        // A repair writes all of memory: not all of it is there at once.
        if bytes >= TOGETHER {
            writer.texts(&std::mem::take(&mut texts))?;
            bytes = 0;
        }
    }
    writer.texts(&texts)?;
    writer.branches(branches)?;
    Ok(new.into_iter().map(|(file, _)| file).collect())
}
