//! Asks memory in the query language, for every client: who asks decides what may be found.

use crate::domain::label::Privacy;
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
}

impl Engine {
    /// Answers a query. `limit` holds where it names none; nothing stricter than `clearance` is found.
    ///
    /// # Errors
    /// When it cannot be read: with what is wrong, where, and the way out.
    pub fn query(
        &self,
        text: &str,
        limit: Option<usize>,
        clearance: Privacy,
        manner: Manner,
    ) -> Result<Answer, QueryError> {
        let query = parse(text)?;
        Ok(self.answer_query(&query, limit, clearance, manner))
    }

    fn answer_query(&self, query: &Query, limit: Option<usize>, clearance: Privacy, manner: Manner) -> Answer {
        let (view, index, zone) = (self.view(), self.index(), jiff::tz::TimeZone::system());
        let world = World {
            view: &view,
            index: &index,
            now: self.clock.wall(),
            local: &|at| at.to_zoned(zone.clone()).datetime(),
            clearance,
        };
        let usual = limit.unwrap_or(USUAL_LIMIT).max(1);
        let reading = self.reading();
        let found = match manner {
            Manner::Typing => run::find(query, &world, usual),
            Manner::Whole => {
                let mut found = run::answer(query, &world, usual);
                if found.hits.is_empty() && found.notes.is_empty() {
                    found.notes = hints(query, &world);
                }
                found
            }
        };
        Answer { query: print(query), found, reading }
    }
}

impl Answer {
    /// Returns what must be said of memory itself: that it is still being read, or that it is empty.
    pub fn state(&self, files: usize) -> Option<String> {
        match self.reading {
            Some(reading) => Some(format!(
                "the memex is being read, {} of {} files; ask again for what is missing",
                reading.done, reading.total
            )),
            None if files == 0 => Some(
                "memory is empty: no folder of the memex holds an Org file; M-x passepartout-doctor says more"
                    .to_string(),
            ),
            None => None,
        }
    }
}
