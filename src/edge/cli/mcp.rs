//! `passepartout mcp`: lends memory to another agent over lines of MCP on standard input and output.
//!
//! Each call is carried out by the process that owns the store, which knows this one as what it is from the first call on
//! to the last; or, when there is none, by an engine for this call alone: so a client that stays for days keeps no Emacs
//! from owning its store.

use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::edge::cli::args::Place;
use crate::edge::cli::ask::not_beside;
use crate::edge::cli::forward::{Idle, Met, Owner};
use crate::edge::cli::run::{DONE, Failure};
use crate::edge::cli::session::{
    blocking, complaining, configured, met_as, origin_of_program, runtime, somewhere, with_engine_that_tells,
};
use crate::edge::engine::boot::Keep;
use crate::edge::engine::lent::Lent;
use crate::edge::json_lines::{next, too_long};
use crate::edge::mcp::server::{Call, LONGEST, Server};
use crate::edge::peers::greeting::{As, Said};
use crate::edge::store::owner_of;
use serde_json::Value;
use std::io::Write;
use std::time::Duration;
use tokio::runtime::Runtime;

/// How long what is under way may take to end with the input.
const LAST: Duration = Duration::from_millis(250);

/// Answers lines until there are no more.
///
/// # Errors
/// In words, when the memex is not there or the other end takes nothing.
pub(super) fn run_mcp(place: &Place, out: &mut dyn Write) -> Result<u8, Failure> {
    somewhere(place)?;
    let (mut server, mut input) = (Server::default(), std::io::stdin().lock());
    let mut road = Road { place, runtime: runtime()?, owner: None };
    while let Some(line) = next(&mut input, LONGEST)? {
        let answer = match line {
            Some(line) if line.trim_ascii().is_empty() => None,
            Some(line) => server.answer(&line, &mut |call| road.carry_out(call).map_err(|failure| failure.text)),
            None => Some(too_long(LONGEST >> 20)),
        };
        if let Some(answer) = answer {
            writeln!(out, "{answer}")?;
            out.flush()?;
        }
        if let Some(client) = server.client() {
            road.show(client);
        }
    }
    let Road { runtime, owner, .. } = road;
    drop(owner);
    runtime.shutdown_timeout(LAST);
    Ok(DONE)
}

/// Where calls go.
struct Road<'a> {
    place: &'a Place,
    runtime: Runtime,
    /// The process that owns the store, as long as this one is connected with it.
    owner: Option<Idle>,
}

impl Road<'_> {
    /// Joins whoever owns the store, so that the user sees who is there before anything is asked.
    fn show(&mut self, client: &str) {
        if self.owner.is_none() && owner_of(&configured(self.place).store).is_some() {
            // Why it cannot be joined is said when something is called.
            self.owner = self.join(client).unwrap_or_default().map(|owner| owner.idle(self.runtime.handle()));
        }
    }

    fn join(&self, client: &str) -> Result<Option<Owner>, Failure> {
        let this = Said::named(As::Mcp, client);
        match self.runtime.block_on(met_as(self.place, &this))? {
            Met::Owner(owner) => Ok(Some(owner)),
            Met::Closed | Met::Nobody => Ok(None),
        }
    }

    fn carry_out(&mut self, call: Call<'_>) -> Result<Lent, Failure> {
        let known = self.owner.take().and_then(|owner| self.runtime.block_on(owner.wake()));
        // One that ended meanwhile is no owner any more; nothing was asked of it by that.
        let known = known.and_then(|mut owner| {
            let has = self.runtime.block_on(owner.has(&self.place.memex)).is_ok_and(|has| has);
            has.then_some(owner)
        });
        let owner = match known {
            Some(owner) => Some(owner),
            None => self.join(call.client)?,
        };
        let Some(mut owner) = owner else { return here(self.place, call) };
        let lent = self.runtime.block_on(at_owner(&mut owner, &call));
        self.owner = Some(owner.idle(self.runtime.handle()));
        lent
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
        let origin = origin_of_program(As::Mcp, call.client)?;
        let lent = engine.lend(&origin, call.client, call.tool, call.args).await;
        engine.flush().await?;
        Ok(lent)
    })
}
