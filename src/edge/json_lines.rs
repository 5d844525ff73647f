//! Lines of JSON-RPC on standard input and output: reading them one by one, and refusing one. What they say is not its business.

use serde_json::{Value, json};
use std::io::{BufRead, Read};

/// What is said of a line that is no JSON.
pub const UNREADABLE: i64 = -32700;
/// What is said of a message that is no request, or not now.
pub const NO_REQUEST: i64 = -32600;
/// What is said of a method that is not there.
pub const NO_METHOD: i64 = -32601;
/// What is said of parameters that cannot be.
pub const NO_PARAMS: i64 = -32602;
/// What is said when we could not do it.
pub const BROKE: i64 = -32603;

/// Reads a line; the inner `None` stands for one that is longer than `longest` bytes, of which nothing is kept. A last line
/// without its end counts as a line.
///
/// # Errors
/// As the input says.
pub fn next(input: &mut impl BufRead, longest: usize) -> std::io::Result<Option<Option<Vec<u8>>>> {
    let mut line = Vec::new();
    if input.by_ref().take(longest as u64 + 1).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.len() <= longest || line.ends_with(b"\n") {
        return Ok(Some(Some(line)));
    }
    while !line.ends_with(b"\n") && !line.is_empty() {
        line.clear();
        input.by_ref().take(longest as u64).read_until(b'\n', &mut line)?;
    }
    Ok(Some(None))
}

/// Refuses a request.
pub fn refusal(id: &Value, code: i64, why: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}})
}

/// Refuses a line that is too long to be read.
pub fn too_long(megabytes: usize) -> Value {
    refusal(&Value::Null, UNREADABLE, &format!("a line of more than {megabytes} MB is not read"))
}
