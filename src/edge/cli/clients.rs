//! `passepartout clients`: whose keys are let in from other machines, and this user's own key.
//!
//! Only a human at a terminal changes who is let in; a core that listens counts it within two seconds.

use crate::edge::cli::run::{DONE, FAILED, Failure};
use crate::edge::cli::session::configured;
use crate::edge::cli::{args::Place, terminal};
use crate::edge::peers::allowed::Allowed;
use crate::edge::peers::lineage::not_started_by_us;
use crate::edge::peers::tls::{Fingerprint, Key};
use clap::Subcommand;
use serde_json::json;
use std::fs::DirBuilder;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// What to do with keys of clients.
#[derive(Debug, Subcommand)]
pub enum Clients {
    /// List this user's own key, and those that are let in.
    List {
        /// The store's folder.
        #[arg(long)]
        store: Option<PathBuf>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Let a key in; only from a terminal that the agent did not start.
    Allow {
        /// Its fingerprint, as `passepartout clients` shows it on the other machine.
        fingerprint: String,
        /// What you call it.
        #[arg(required = true)]
        name: Vec<String>,
        /// The store's folder.
        #[arg(long)]
        store: Option<PathBuf>,
    },
    /// Let a key in no longer; its connections end. Only from a terminal that the agent did not start.
    Remove {
        /// Its name or its fingerprint.
        #[arg(required = true)]
        name: Vec<String>,
        /// The store's folder.
        #[arg(long)]
        store: Option<PathBuf>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

/// Carries out what is wanted of keys.
///
/// # Errors
/// When the files are not their user's alone, the words are off, or no human says it.
pub(super) fn run_clients(command: Clients, out: &mut dyn Write) -> Result<u8, Failure> {
    match command {
        Clients::List { store, json } => list(store, json, out),
        Clients::Allow { fingerprint, name, store } => {
            human()?;
            let key = Fingerprint::read(&fingerprint);
            let key =
                key.ok_or("a fingerprint has 64 hexadecimal digits; on that machine, passepartout clients shows it")?;
            let (folder, name) = (folder(store)?, name.join(" "));
            let mut all = Allowed::kept(&folder)?;
            all.let_in(key, &name)?;
            let question =
                format!("“{}” may come with {key}. Type yes to let it in, anything else to leave it: ", name.trim());
            if terminal::answer(out, &question)?.as_deref() != Some("yes") {
                return Err("nothing was changed".into());
            }
            // Another terminal may have taken one out while the question stood here.
            let mut all = Allowed::kept(&folder)?;
            all.let_in(key, &name)?;
            all.keep(&folder)?;
            writeln!(out, "It is let in, within two seconds where a core listens. It needs the cookie as well.")?;
            Ok(DONE)
        }
        Clients::Remove { name, store, json } => {
            human()?;
            let (folder, name) = (folder(store)?, name.join(" "));
            let mut all = Allowed::kept(&folder)?;
            if !all.take_out(&name) {
                return Err("there is no such key; passepartout clients lists them".into());
            }
            all.keep(&folder)?;
            match json {
                true => writeln!(out, "{}", json!({ "removed": name }))?,
                false => writeln!(out, "It is let in no longer, and its connections end within two seconds.")?,
            }
            Ok(DONE)
        }
    }
}

fn list(store: Option<PathBuf>, as_json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    let folder = folder(store)?;
    let (own, all) = (Key::kept(&folder)?.fingerprint(), Allowed::kept(&folder)?);
    if as_json {
        let rows: Vec<_> =
            all.all().iter().map(|(key, name)| json!({ "name": name, "fingerprint": key.to_string() })).collect();
        writeln!(out, "{}", json!({ "own": own.to_string(), "allowed": rows }))?;
        return Ok(DONE);
    }
    writeln!(out, "Your own key here: {own}")?;
    if all.all().is_empty() {
        writeln!(out, "No key of another machine is let in.")?;
    }
    all.all().iter().try_for_each(|(key, name)| writeln!(out, "let in: {key} {name}"))?;
    Ok(DONE)
}

/// Returns the folder of the store; where it is not there yet, it is made for its user alone.
pub(super) fn folder(store: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let store = configured(&Place { store, memex: Vec::new(), project: None }).store;
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&store);
    made.map_err(|why| format!("{}: {why}", store.display()))?;
    Ok(store)
}

fn human() -> Result<(), Failure> {
    let refused = |text: String| Failure { text, status: FAILED };
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        return Err(refused("who is let in is changed at a terminal; this is none".to_string()));
    }
    let free = not_started_by_us(std::process::id());
    free.map_err(|why| refused(format!("who is let in is changed by a human: {why}")))
}
