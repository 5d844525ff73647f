//! `passepartout status` and `passepartout health`: how things stand, in words or as JSON, with an exit status to go by.

use crate::domain::inert::exact;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::edge::cli::args::Place;
use crate::edge::cli::forward::{Met, Owner};
use crate::edge::cli::run::{DONE, FAILED, Failure, HALF, UNFIT};
use crate::edge::cli::session::{block_on, blocking, configured, with_engine};
use crate::edge::doctor::{self, Check};
use crate::edge::engine::boot::Keep;
use crate::edge::store::owner_of;
use serde_json::{Value, json};
use std::io::Write;

/// Says who owns the store and what it does; ends with [`UNFIT`] when nobody does.
///
/// # Errors
/// When the owner does not answer.
pub(super) fn run_status(place: &Place, as_json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    let config = configured(place);
    let store = config.store.display().to_string();
    let met = block_on(async {
        match Owner::join(&config).await? {
            Met::Owner(mut owner) => {
                let hello = owner.request("hello", Plist::new().text("version", env!("CARGO_PKG_VERSION"))).await?;
                Ok(Some((hello, owner.request("status", Plist::new()).await?)))
            }
            Met::Closed => {
                Err("the process that owns the store cannot be joined; passepartout health says more".into())
            }
            Met::Nobody => Ok(None),
        }
    })?;
    let Some((hello, status)) = met else {
        match as_json {
            true => writeln!(out, "{}", json!({ "running": false, "store": store, "state": "stopped" }))?,
            false => writeln!(out, "Nothing runs: nobody owns the store {}.", exact(&store))?,
        }
        return Ok(UNFIT);
    };
    let owner = owner_of(&config.store);
    let text = |of: &Sexp, key: &str| of.text_at(key).map(str::to_string);
    let count = |key: &str| status.count_at(key).unwrap_or(0);
    let health = text(&status, "health").unwrap_or_default();
    let (state, version) = (text(&status, "state").unwrap_or_default(), text(&hello, "version"));
    let (files, headings, pending) = (count("files"), count("headings"), count("pending"));
    if as_json {
        let all = json!({
            "running": true, "store": store, "owner": owner, "version": version, "state": state, "health": health,
            "files": files, "headings": headings, "pending": pending, "problems": count("problems"),
        });
        writeln!(out, "{all}")?;
    } else {
        let (owner, version) = (owner.unwrap_or_else(|| "a process".to_string()), version.unwrap_or_default());
        writeln!(out, "The store {} is owned by {}, version {}.", exact(&store), exact(&owner), exact(&version))?;
        writeln!(out, "It is {}: {files} files, {headings} headings, {pending} plans that wait.", exact(&state))?;
        writeln!(out, "Health: {}.", exact(&health))?;
    }
    Ok(if health == doctor::State::Unhealthy.name() { FAILED } else { DONE })
}

/// One check, as it is told.
struct Row {
    title: String,
    state: String,
    detail: String,
    repair: Option<String>,
}

impl Row {
    fn of(check: &Check) -> Row {
        let (title, state) = (check.title.to_string(), check.state.name().to_string());
        Row { title, state, detail: exact(&check.detail), repair: check.repair.as_deref().map(exact) }
    }

    fn read(told: &Sexp) -> Row {
        let text = |key: &str| told.text_at(key).map(exact);
        let of = |key: &str| text(key).unwrap_or_default();
        Row { title: of("title"), state: of("state"), detail: of("detail"), repair: text("repair") }
    }

    fn json(&self) -> Value {
        json!({ "title": self.title, "state": self.state, "detail": self.detail, "repair": self.repair })
    }
}

/// Says what the doctor finds without asking a provider: of whoever owns the store, else here. The exit status is 0 when
/// all is healthy, [`HALF`] when something is degraded or unknown, and [`FAILED`] when something is unhealthy.
///
/// # Errors
/// When nothing can be found out.
pub(super) fn run_health(place: &Place, as_json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    let config = configured(place);
    let asked = block_on(async {
        match Owner::join(&config).await? {
            Met::Owner(mut owner) => {
                let told = owner.request("doctor", Plist::new()).await?;
                let rows: Vec<Row> = told.list_at("checks").iter().map(Row::read).collect();
                Ok(Some((told.text_at("verdict").map(exact).unwrap_or_default(), rows)))
            }
            Met::Closed | Met::Nobody => Ok(None),
        }
    })?;
    let (verdict, rows) = match asked {
        Some(told) => told,
        None => here(place)?,
    };
    if as_json {
        writeln!(out, "{}", json!({ "verdict": verdict, "checks": rows.iter().map(Row::json).collect::<Vec<_>>() }))?;
    } else {
        for row in rows.iter().filter(|row| row.state != doctor::State::Healthy.name()) {
            writeln!(out, "{:<10} {}: {}", row.state, row.title, row.detail)?;
            if let Some(repair) = &row.repair {
                writeln!(out, "{:10} Repair: {repair}", "")?;
            }
        }
        writeln!(out, "{verdict}")?;
    }
    Ok(match verdict.as_str() {
        "healthy" => DONE,
        "unhealthy" => FAILED,
        _ => HALF,
    })
}

/// Examines in this process.
fn here(place: &Place) -> Result<(String, Vec<Row>), Failure> {
    // Looking would make a new store where one was deleted, maybe under the process that can put it back.
    let gone = doctor::gone(&configured(place));
    let keep = if gone.is_some() { Keep::InMemory } else { Keep::Examine };
    with_engine(place, keep, async |engine| {
        blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
        // The store's own check says what is wrong with it.
        let _ = engine.flush().await;
        let mut checks = doctor::examine(engine, None).await;
        if let Some(gone) = gone {
            checks.retain(|check| check.name != gone.name);
            checks.insert(0, gone);
        }
        Ok((doctor::verdict(&checks).name().to_string(), checks.iter().map(Row::of).collect()))
    })
}
