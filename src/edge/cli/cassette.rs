//! `passepartout cassette`: what is on one, and asking with one.

use crate::domain::cassette::{By, Cassette, End};
use crate::edge::cli::args::Cassettes;
use crate::edge::cli::ask::{Tape, ask_taped};
use crate::edge::cli::plans;
use crate::edge::cli::run::{DONE, Failure};
use crate::edge::cli::session::readable;
use crate::edge::provider::replay::load;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Carries out a command about cassettes.
///
/// # Errors
/// In words for the user.
pub(super) fn run_cassette(command: Cassettes, out: &mut dyn Write) -> Result<u8, Failure> {
    match command {
        Cassettes::Show { file, json } => {
            let cassette = load(&absolute(&file))?;
            match json {
                true => writeln!(out, "{}", all_json(&cassette))?,
                false => print(&cassette, out)?,
            }
            Ok(DONE)
        }
        Cassettes::Record { file, text, place, json } => {
            plans::human_terminal()?;
            ask_taped(&text.join(" "), &place, &Tape::Record(absolute(&file)), json, out)
        }
        Cassettes::Play { file, text, place, json } => {
            ask_taped(&text.join(" "), &place, &Tape::Play(absolute(&file)), json, out)
        }
    }
}

fn absolute(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf())
}

fn print(cassette: &Cassette, out: &mut dyn Write) -> std::io::Result<()> {
    let whose = match cassette.head.by {
        By::Models => "the words of models",
        By::Script => "the words of a script that stood in for a model",
    };
    writeln!(out, "begun {}, {whose}", cassette.head.made)?;
    for (n, exchange) in cassette.exchanges.iter().enumerate() {
        let ended = match exchange.end {
            End::Whole => format!("status {}", exchange.status),
            End::Cut => format!("status {}, broke off", exchange.status),
            End::Never => "no answer".to_string(),
        };
        let masked = if exchange.redacted > 0 { format!(", {} masked", exchange.redacted) } else { String::new() };
        let (bytes, pieces) = (exchange.answer().len(), exchange.chunks.len());
        let (who, model) = (readable(&exchange.provider), readable(&exchange.model));
        writeln!(out, "{:>4}  {who} {model}: {ended}, {bytes} bytes in {pieces} pieces{masked}", n + 1)?;
    }
    writeln!(out, "{} exchanges, all of them whole lines", cassette.exchanges.len())
}

fn all_json(cassette: &Cassette) -> serde_json::Value {
    let each = cassette.exchanges.iter().map(|exchange| {
        json!({
            "at": exchange.at.to_string(), "provider": exchange.provider, "kind": exchange.kind,
            "model": exchange.model, "status": exchange.status, "bytes": exchange.answer().len(),
            "chunks": exchange.chunks.len(), "whole": exchange.end == End::Whole, "redacted": exchange.redacted,
        })
    });
    let script = cassette.head.by == By::Script;
    json!({ "made": cassette.head.made.to_string(), "script": script, "exchanges": each.collect::<Vec<_>>() })
}
