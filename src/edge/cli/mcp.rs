//! `passepartout mcp`: lends memory to another agent over lines of MCP on standard input and output.
//!
//! Each call is carried out by the process that owns the store, or, when there is none, by an engine for this call alone:
//! so a client that stays for days keeps no Emacs from owning its store.

use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::edge::cli::args::Place;
use crate::edge::cli::ask::not_beside;
use crate::edge::cli::forward::{Met, Owner};
use crate::edge::cli::run::{DONE, Failure};
use crate::edge::cli::session::{block_on, blocking, complaining, met, origin, somewhere, with_engine_that_tells};
use crate::edge::engine::boot::Keep;
use crate::edge::engine::lent::Lent;
use crate::edge::mcp::server::{Call, LONGEST, Server, too_long};
use crate::edge::store::owner_of;
use serde_json::Value;
use std::io::{BufRead, Read, Write};

/// Answers lines until there are no more.
///
/// # Errors
/// In words, when the memex is not there or the other end takes nothing.
pub(super) fn run_mcp(place: &Place, out: &mut dyn Write) -> Result<u8, Failure> {
    somewhere(place)?;
    let (mut server, mut input) = (Server::default(), std::io::stdin().lock());
    while let Some(line) = next(&mut input)? {
        let answer = match line {
            Some(line) if line.trim_ascii().is_empty() => None,
            Some(line) => server.answer(&line, &mut |call| carry_out(place, call).map_err(|failure| failure.text)),
            None => Some(too_long()),
        };
        if let Some(answer) = answer {
            writeln!(out, "{answer}")?;
            out.flush()?;
        }
    }
    Ok(DONE)
}

/// Reads a line; the inner `None` stands for one that is too long, of which nothing is kept.
fn next(input: &mut impl BufRead) -> std::io::Result<Option<Option<Vec<u8>>>> {
    let mut line = Vec::new();
    if input.by_ref().take(LONGEST as u64 + 1).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.len() <= LONGEST || line.ends_with(b"\n") {
        return Ok(Some(Some(line)));
    }
    while !line.ends_with(b"\n") && !line.is_empty() {
        line.clear();
        input.by_ref().take(LONGEST as u64).read_until(b'\n', &mut line)?;
    }
    Ok(Some(None))
}

fn carry_out(place: &Place, call: Call<'_>) -> Result<Lent, Failure> {
    let there = block_on(async {
        match met(place).await? {
            Met::Owner(mut owner) => at_owner(&mut owner, &call).await.map(Some),
            Met::Closed | Met::Nobody => Ok(None),
        }
    })?;
    match there {
        Some(lent) => Ok(lent),
        None => here(place, call),
    }
}

async fn at_owner(owner: &mut Owner, call: &Call<'_>) -> Result<Lent, Failure> {
    let args = Value::Object(call.args.clone()).to_string();
    let payload = Plist::new().text("tool", call.tool).text("arguments", args).text("name", call.client);
    let said = owner.request("tool-call", payload).await?;
    let plans = said.list_at("plans").iter().filter_map(Sexp::as_text).map(str::to_string).collect();
    let text = said.text_at("text").unwrap_or_default().to_string();
    Ok(Lent { text, plans, failed: said.flag_at("failed") })
}

fn here(place: &Place, call: Call<'_>) -> Result<Lent, Failure> {
    with_engine_that_tells(place, Keep::Along, complaining(), async |engine| {
        if engine.beside().is_some() {
            return Err(not_beside(owner_of(&engine.config.store)));
        }
        blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
        let lent = engine.lend(&origin(false), call.client, call.tool, call.args).await;
        engine.flush().await?;
        Ok(lent)
    })
}
