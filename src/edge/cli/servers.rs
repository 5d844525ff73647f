//! `passepartout servers`: the MCP servers of the settings, and how each stands.

use crate::edge::cli::args::Place;
use crate::edge::cli::run::{DONE, Failure};
use crate::edge::cli::session::{beside, readable, with_engine};
use crate::edge::engine::Engine;
use crate::edge::engine::boot::Keep;
use crate::edge::engine::servers::ListedServer;
use serde_json::json;
use std::io::Write;

/// Prints all servers, as the process that owns the store has them; where there is none, they are not started.
///
/// # Errors
/// In words for the user.
pub(super) fn run_servers(place: &Place, as_json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    let words = ["servers"].into_iter().chain(as_json.then_some("--json"));
    if let Some(status) = beside(place, words.map(str::to_string).collect(), out)? {
        return Ok(status);
    }
    with_engine(place, Keep::ToRead, async |engine| {
        out.write_all(&listed(engine, as_json)?)?;
        Ok(DONE)
    })
}

/// Returns what is printed of all servers.
///
/// # Errors
/// When it cannot be written.
pub(super) fn listed(engine: &Engine, as_json: bool) -> Result<Vec<u8>, Failure> {
    let (servers, mut out) = (engine.servers(), Vec::new());
    if as_json {
        let all: Vec<_> = servers.iter().map(all_of).collect();
        writeln!(out, "{}", json!({ "servers": all }))?;
        return Ok(out);
    }
    for server in &servers {
        writeln!(out, "{:<11}  {}  ({})", server.state, server.name, readable(&server.place))?;
        writeln!(out, "             {}", readable(&server.command.join(" ")))?;
        for (tool, effect) in &server.tools {
            writeln!(out, "             {tool} ({effect})")?;
        }
        for line in server.why.iter().chain(&server.left) {
            writeln!(out, "             {}", readable(line))?;
        }
        if server.refused > 0 {
            writeln!(out, "             it wanted something of us {} times, which was refused", server.refused)?;
        }
    }
    if servers.is_empty() {
        writeln!(out, "No MCP server is declared; the manual says how, under “Tools of MCP servers”.")?;
    }
    Ok(out)
}

fn all_of(server: &ListedServer) -> serde_json::Value {
    let tools: Vec<_> = server.tools.iter().map(|(name, effect)| json!({"name": name, "effect": effect})).collect();
    json!({
        "name": server.name, "place": server.place, "command": server.command, "state": server.state, "why": server.why,
        "rule": server.rule, "tools": tools, "left": server.left, "refused": server.refused,
    })
}
