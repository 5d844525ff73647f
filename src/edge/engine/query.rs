//! Asks memory in the query language, for every client: who asks decides what may be found.

use crate::domain::label::Privacy;
use crate::domain::memory::view::View;
use crate::domain::query::error::QueryError;
use crate::domain::query::hint::hints;
use crate::domain::query::parse::parse;
use crate::domain::query::print::print;
use crate::domain::query::run::{self, Found, World};
use crate::domain::query::{Query, USUAL_LIMIT};
use crate::edge::engine::{Engine, Reading};

/// How a query is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// As it stands.
    Whole,
    /// As it stands, for whoever labels the answer by its nodes alone: no hint names what only private ones have.
    Named,
    /// While it is being typed: the beginnings of titles count, and nobody waits for hints.
    Typing,
}

/// What came of a query.
pub struct Answer {
    /// The query as it was understood.
    pub query: String,
    /// The nodes, their number, and notes.
    pub found: Found,
    /// How far reading the memex has come, while it is read.
    pub reading: Option<Reading>,
    /// Whether no folder is named as the memex.
    pub unnamed: bool,
    /// How far the full-text index is, while it has not everything.
    pub filling: Option<String>,
}

impl Engine {
    /// Answers a query over a view. `limit` holds where it names none; nothing stricter than `clearance` is found.
    ///
    /// # Errors
    /// When it cannot be read: with what is wrong, where, and the way out.
    pub fn query(
        &self,
        view: &View,
        text: &str,
        limit: Option<usize>,
        clearance: Privacy,
        manner: Manner,
    ) -> Result<Answer, QueryError> {
        // Who may not see the heading at point is not told its id either.
        let here = self.focus().and_then(|id| view.get(&id)).filter(|node| node.privacy() <= clearance);
        let query = match (parse(text)?, here) {
            (query, Some(here)) => query.at(here.id().as_str()),
            (query, None) => query,
        };
        Ok(self.answer_query(view, &query, limit, clearance, manner))
    }

    fn answer_query(
        &self,
        view: &View,
        query: &Query,
        limit: Option<usize>,
        clearance: Privacy,
        manner: Manner,
    ) -> Answer {
        let (index, zone, org) = (self.index(), jiff::tz::TimeZone::system(), self.org_settings());
        let world = World {
            view,
            index: &index,
            now: self.clock.wall(),
            local: &|at| at.to_zoned(zone.clone()).datetime(),
            clearance,
            inheritance: &org.property_inheritance,
        };
        let usual = limit.unwrap_or(USUAL_LIMIT).max(1);
        let reading = self.reading();
        let found = match manner {
            Manner::Typing => run::find(query, &world, usual),
            Manner::Whole | Manner::Named => {
                let naming = if manner == Manner::Named { Privacy::Open } else { clearance };
                let mut found = run::answer(query, &world, usual);
                if found.hits.is_empty() && found.notes.is_empty() {
                    found.notes = hints(query, &world, naming);
                }
                found
            }
        };
        let filling = self.filling().map(|filling| filling.to_string());
        let unnamed = self.config.directories.is_empty();
        Answer { query: print(query), found, reading, unnamed, filling }
    }
}

impl Answer {
    /// Returns what must be said of memory itself: that it is still being read, that it is empty, or that not
    /// all of its words are indexed yet.
    pub fn state(&self, files: usize) -> Option<String> {
        match self.reading {
            Some(reading) => Some(format!(
                "the memex is being read, {} of {} files; ask again for what is missing",
                reading.done, reading.total
            )),
            None if files == 0 && self.unnamed => Some(
                "memory is empty: no folder is named as the memex; name one with --memex PATH, MEMEX_DIR or \
                 passepartout-directories"
                    .to_string(),
            ),
            None if files == 0 => Some(
                "memory is empty: no folder of the memex holds an Org file; M-x passepartout-doctor says more"
                    .to_string(),
            ),
            None => self.filling.as_ref().map(|so_far| format!("{so_far}; a search for words may find more later")),
        }
    }
}
