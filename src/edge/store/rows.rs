//! Rows of the tables ↔ our values. One place knows each statement.

use crate::domain::id::{ObjectHash, OperationId};
use crate::domain::memory::operation::{Operation, Why};
use crate::domain::memory::store::{NewRecord, Record, Stamp};
use rusqlite::{Connection, OptionalExtension, Row, params};

/// How deep the body of a record may be nested.
pub const MAX_NESTING: usize = 64;
/// The columns of an operation, in the order in which they are read.
pub const OPERATION: &str = "id, hash, parent, root, cause, origin, at, note";

/// Returns operations behind a place, oldest first.
pub fn query_operations(connection: &Connection, after: u64, limit: usize) -> rusqlite::Result<Vec<Operation>> {
    let sql = format!("SELECT {OPERATION} FROM operations WHERE id > ?1 ORDER BY id LIMIT ?2");
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map([signed(after), signed(limit as u64)], operation_of)?.collect()
}

/// Returns records behind a place, oldest first.
pub fn query_records(connection: &Connection, after: u64, limit: usize) -> rusqlite::Result<Vec<Record>> {
    let sql = "SELECT seq, at, kind, key, body FROM records WHERE seq > ?1 ORDER BY seq LIMIT ?2";
    connection.prepare_cached(sql)?.query_map([signed(after), signed(limit as u64)], record_of)?.collect()
}

/// Returns the last record of one thing.
pub fn query_latest(connection: &Connection, kind: &str, key: &str) -> rusqlite::Result<Option<Record>> {
    let sql = "SELECT seq, at, kind, key, body FROM records WHERE kind = ?1 AND key = ?2 ORDER BY seq DESC LIMIT 1";
    connection.prepare_cached(sql)?.query_row([kind, key], record_of).optional()
}

/// Returns the records of a kind behind a place, oldest first.
pub fn query_kind(connection: &Connection, kind: &str, after: u64) -> rusqlite::Result<Vec<Record>> {
    let sql = "SELECT seq, at, kind, key, body FROM records WHERE kind = ?1 AND seq > ?2 ORDER BY seq";
    connection.prepare_cached(sql)?.query_map(params![kind, signed(after)], record_of)?.collect()
}

/// Returns the last records of a kind, newest first.
pub fn query_newest(connection: &Connection, kind: &str, limit: usize) -> rusqlite::Result<Vec<Record>> {
    let sql = "SELECT seq, at, kind, key, body FROM records WHERE kind = ?1 ORDER BY seq DESC LIMIT ?2";
    connection.prepare_cached(sql)?.query_map(params![kind, signed(limit as u64)], record_of)?.collect()
}

/// Returns the last records of one thing, newest first.
pub fn query_newest_of(connection: &Connection, kind: &str, key: &str, limit: usize) -> rusqlite::Result<Vec<Record>> {
    let sql = "SELECT seq, at, kind, key, body FROM records WHERE kind = ?1 AND key = ?2 ORDER BY seq DESC LIMIT ?3";
    connection.prepare_cached(sql)?.query_map(params![kind, key, signed(limit as u64)], record_of)?.collect()
}

/// Returns the last records of a kind before a place, newest first.
pub fn query_newest_before(
    connection: &Connection,
    kind: &str,
    before: u64,
    limit: usize,
) -> rusqlite::Result<Vec<Record>> {
    let sql = "SELECT seq, at, kind, key, body FROM records WHERE kind = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3";
    let values = params![kind, signed(before), signed(limit as u64)];
    connection.prepare_cached(sql)?.query_map(values, record_of)?.collect()
}

/// What a change says of itself, as an expression of SQL; a body that is damaged says nothing.
macro_rules! of_change {
    ($field:literal) => {
        concat!("CASE WHEN json_valid(body) THEN json_extract(body, '$.", $field, "') END")
    };
}

/// The indexes by which changes are found: by their turns, and by the operations at which they were begun.
pub const CHANGE_INDEXES: &str = concat!(
    "CREATE INDEX IF NOT EXISTS changes_by_turn ON records(kind, ",
    of_change!("turn"),
    ", seq) WHERE kind = 'change';\nCREATE INDEX IF NOT EXISTS changes_by_since ON records(kind, ",
    of_change!("since"),
    ") WHERE kind = 'change';"
);

/// Makes a query for the last record of each change of which something is said, newest first. The sign keeps SQLite from
/// walking all changes in their order only to spare the sorting.
macro_rules! changes_where {
    ($field:literal, $is:literal) => {
        concat!(
            "SELECT seq, at, kind, key, body FROM records AS found WHERE kind = 'change' AND ",
            of_change!($field),
            $is,
            " AND NOT EXISTS (SELECT 1 FROM records AS newer WHERE newer.kind = 'change' AND newer.key = found.key",
            " AND newer.seq > found.seq) ORDER BY +seq DESC"
        )
    };
}

/// The query for the changes of a turn.
pub const CHANGES_OF_TURN: &str = changes_where!("turn", " = ?1");
/// The query for the changes that were begun at an operation or behind it.
pub const CHANGES_SINCE: &str = changes_where!("since", " >= ?1");

/// Returns the last record of each change of a turn, newest first.
pub fn query_changes_of_turn(connection: &Connection, turn: &str) -> rusqlite::Result<Vec<Record>> {
    connection.prepare_cached(CHANGES_OF_TURN)?.query_map([turn], record_of)?.collect()
}

/// Returns the last record of each change that was begun at an operation or behind it, newest first.
pub fn query_changes_since(connection: &Connection, operation: OperationId) -> rusqlite::Result<Vec<Record>> {
    connection.prepare_cached(CHANGES_SINCE)?.query_map([signed(operation.0)], record_of)?.collect()
}

/// Returns the last record of each thing of a kind, in the order of their places.
pub fn query_latest_each(connection: &Connection, kind: &str) -> rusqlite::Result<Vec<Record>> {
    let sql = "SELECT seq, at, kind, key, body FROM records
        WHERE seq IN (SELECT max(seq) FROM records WHERE kind = ?1 GROUP BY key) ORDER BY seq";
    connection.prepare_cached(sql)?.query_map([kind], record_of)?.collect()
}

/// Appends an operation.
pub fn insert_operation(connection: &Connection, operation: &Operation) -> rusqlite::Result<usize> {
    let sql = format!("INSERT INTO operations({OPERATION}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
    connection.prepare_cached(&sql)?.execute(params![
        signed(operation.id.0),
        operation.hash().as_bytes(),
        operation.parent.as_ref().map(ObjectHash::as_bytes),
        operation.root.as_bytes(),
        operation.why.cause,
        operation.why.origin,
        operation.why.at.to_string(),
        operation.why.note
    ])
}

/// Appends a record.
pub fn insert_record(connection: &Connection, record: &Record) -> rusqlite::Result<usize> {
    let sql = "INSERT INTO records(seq, at, kind, key, body) VALUES (?1, ?2, ?3, ?4, ?5)";
    let body = record.body.to_string();
    let values = params![signed(record.seq), record.at.to_string(), record.kind, record.key, body];
    connection.prepare_cached(sql)?.execute(values)
}

/// Returns all stamps.
pub fn query_stamps(connection: &Connection) -> rusqlite::Result<Vec<Stamp>> {
    let mut statement = connection.prepare("SELECT file, modified, size, document, settled FROM stamps")?;
    let stamps = statement.query_map([], |row| {
        let file: String = row.get(0)?;
        let (size, document) = (unsigned(row.get(2)?), ObjectHash::new(row.get(3)?));
        Ok(Stamp { file: file.into(), modified: row.get(1)?, size, document, settled: row.get(4)? })
    })?;
    stamps.collect()
}

/// Puts a stamp in, or replaces the one of the same file.
pub fn insert_stamp(connection: &Connection, stamp: &Stamp) -> rusqlite::Result<usize> {
    let sql = "INSERT OR REPLACE INTO stamps(file, modified, size, document, settled) VALUES (?1, ?2, ?3, ?4, ?5)";
    let size = signed(stamp.size);
    let values = params![stamp.file.as_ref(), stamp.modified, size, stamp.document.as_bytes(), stamp.settled];
    connection.prepare_cached(sql)?.execute(values)
}

/// Makes an operation the head.
pub fn set_head(connection: &Connection, id: OperationId) -> rusqlite::Result<usize> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO heads(name, operation) VALUES ('memory', ?1)")?
        .execute([signed(id.0)])
}

/// Reads an operation from a row of [`OPERATION`].
pub fn operation_of(row: &Row<'_>) -> rusqlite::Result<Operation> {
    let parent: Option<[u8; 32]> = row.get(2)?;
    let root: [u8; 32] = row.get(3)?;
    Ok(Operation {
        id: OperationId(unsigned(row.get(0)?)),
        parent: parent.map(ObjectHash::new),
        root: ObjectHash::new(root),
        why: Why { cause: row.get(4)?, origin: row.get(5)?, at: time_of(row, 6)?, note: row.get(7)? },
    })
}

/// Reads a record from a row.
pub fn record_of(row: &Row<'_>) -> rusqlite::Result<Record> {
    let body: String = row.get(4)?;
    let body = serde_json::from_str(&body)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(4, rusqlite::types::Type::Text, Box::new(error)))?;
    Ok(Record { seq: unsigned(row.get(0)?), at: time_of(row, 1)?, kind: row.get(2)?, key: row.get(3)?, body })
}

fn time_of(row: &Row<'_>, column: usize) -> rusqlite::Result<jiff::Timestamp> {
    let text: String = row.get(column)?;
    text.parse().map_err(|error: jiff::Error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    })
}

/// SQLite knows signed numbers only; no place in a log comes near the limit.
pub fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Reads a number that was never below zero.
pub fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Gives a record its place.
pub fn numbered(record: &NewRecord, seq: u64) -> Record {
    let NewRecord { at, kind, key, body } = record.clone();
    Record { seq, at, kind, key, body }
}

/// Returns whether a value could not be read back: serde_json's reader stops at 128.
pub fn too_deep(value: &serde_json::Value) -> bool {
    let mut waiting = vec![(value, 0)];
    while let Some((value, depth)) = waiting.pop() {
        if depth > MAX_NESTING {
            return true;
        }
        match value {
            serde_json::Value::Array(items) => waiting.extend(items.iter().map(|item| (item, depth + 1))),
            serde_json::Value::Object(fields) => waiting.extend(fields.values().map(|item| (item, depth + 1))),
            serde_json::Value::Null
            | serde_json::Value::Bool(_)
            | serde_json::Value::Number(_)
            | serde_json::Value::String(_) => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::store::open::set_up;

    #[test]
    fn changes_are_found_by_their_indexes_and_a_damaged_one_is_no_obstacle() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = folder.path().join("memory.sqlite");
        let mut connection = Connection::open(&database).expect("a database");
        set_up(&mut connection, &database).expect("its tables");
        let put = |seq: u64, kind: &str, key: &str, body: &str| {
            let sql = "INSERT INTO records(seq, at, kind, key, body) VALUES (?1, '2026-03-01T00:00:00Z', ?2, ?3, ?4)";
            connection.execute(sql, params![signed(seq), kind, key, body]).expect("a row");
        };
        for n in 1..=500u64 {
            put(n, "change", &format!("A{n}"), &format!(r#"{{"turn":"T{n}","since":{n}}}"#));
            put(1000 + n, "intent", &format!("A{n}"), &format!(r#"{{"turn":"T{n}","since":{n}}}"#));
        }
        put(2000, "change", "damaged", "{");
        // It was begun long ago and ended just now; of one that was stored twice the last record counts.
        put(2001, "change", "slow", r#"{"turn":"T7","since":3}"#);
        put(2002, "change", "A9", r#"{"turn":"T7","since":499}"#);
        for (sql, index) in [(CHANGES_OF_TURN, "changes_by_turn"), (CHANGES_SINCE, "changes_by_since")] {
            let plan: String = connection
                .query_row(&format!("EXPLAIN QUERY PLAN {sql}"), ["1"], |row| row.get("detail"))
                .expect("it has a plan");
            assert!(plan.starts_with(&format!("SEARCH found USING INDEX {index}")), "{plan}");
        }
        let keys = |found: rusqlite::Result<Vec<Record>>| -> Vec<String> {
            found.expect("they are read").into_iter().map(|record| record.key).collect()
        };
        assert_eq!(keys(query_changes_of_turn(&connection, "T7")), ["A9", "slow", "A7"]);
        assert_eq!(keys(query_changes_of_turn(&connection, "T9")), [""; 0]);
        assert_eq!(keys(query_changes_since(&connection, OperationId(499))), ["A9", "A500", "A499"]);
        assert_eq!(keys(query_changes_since(&connection, OperationId(3))).len(), 499);
        assert_eq!(keys(query_newest_before(&connection, "change", 500, 2)), ["A499", "A498"]);
        // A store of before, that is only read, has no such indexes.
        connection.execute_batch("DROP INDEX changes_by_turn; DROP INDEX changes_by_since").expect("they go");
        assert!(keys(query_changes_of_turn(&connection, "T7")).len() == 3);
        connection.execute_batch(CHANGE_INDEXES).expect("they come back, whatever is damaged");
    }
}
