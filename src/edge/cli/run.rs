//! Carries out a command: the same functions that a chat turn uses, on the same stored objects.

use crate::domain::turn::consensus::Mode;
use crate::edge::cli::acp::run_acp;
use crate::edge::cli::args::{Arguments, Command, ContextCommands, GateCommands, Place, Rules};
use crate::edge::cli::ask::{Manner, ask, of_several, question, whole};
use crate::edge::cli::audit::{run_audit, run_why};
use crate::edge::cli::backup::{run_backup, run_restore};
use crate::edge::cli::cassette::run_cassette;
use crate::edge::cli::chat::run_chat;
use crate::edge::cli::clients::{Clients, run_clients};
use crate::edge::cli::completions::run_completions;
use crate::edge::cli::configure::run_configure;
use crate::edge::cli::context::{
    answer_by_meaning, answer_lines, context_engine, print_json, print_text, run_explained,
};
use crate::edge::cli::costs::run_costs;
use crate::edge::cli::daemon::run_daemon;
use crate::edge::cli::decide::run_plans;
use crate::edge::cli::doctor::{Wanted, run_doctor};
use crate::edge::cli::dump;
use crate::edge::cli::gate::gate;
use crate::edge::cli::gateway::{Gateways, run_gateway};
use crate::edge::cli::ingest::{absolute_text, ingested, progress, read};
use crate::edge::cli::jobs::run_jobs;
use crate::edge::cli::mcp::run_mcp;
use crate::edge::cli::memory::run_memory;
use crate::edge::cli::models::run_models;
use crate::edge::cli::query::{asked, run_query};
use crate::edge::cli::reach::run_reach;
use crate::edge::cli::repl::run_repl;
use crate::edge::cli::rules::{replay, run_rules};
use crate::edge::cli::servers::run_servers;
use crate::edge::cli::service::{run_install, run_uninstall};
use crate::edge::cli::session::{beside, blocking, with_engine};
use crate::edge::cli::skills::{Skills, run_skills};
use crate::edge::cli::status::{run_health, run_status};
use crate::edge::cli::tui::run_tui;
use crate::edge::config::{Config, Surroundings};
use crate::edge::engine::boot::Keep;
use crate::edge::stderr::complain;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The run went well.
pub const DONE: u8 = 0;

/// The run failed.
pub const FAILED: u8 = 1;

/// The words of the command were off.
pub const USAGE: u8 = 2;

/// A plan waits for approval.
pub const PENDING: u8 = 3;

/// The store is not as the command needs it: in use by another process, or owned by nobody.
pub const UNFIT: u8 = 4;

/// Something is degraded, or could not be found out; the rest works.
pub const HALF: u8 = 5;

/// Why a run failed, in words; the exit status is [`FAILED`] unless it says otherwise.
pub struct Failure {
    /// What went wrong and what to do.
    pub text: String,
    /// The exit status.
    pub status: u8,
}

impl<T: ToString> From<T> for Failure {
    fn from(text: T) -> Failure {
        Failure { text: text.to_string(), status: FAILED }
    }
}

/// Carries out a command; returns the exit status.
///
/// # Errors
/// In words for the user.
pub fn run(arguments: Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    match arguments.command {
        Command::Ingest { path, store: None, json } => {
            let mut config = Config::read(&Surroundings::of_process());
            // What is read is part of the memex, for its setup files too.
            let folder = |path: &PathBuf| {
                let path = std::path::absolute(path).unwrap_or(path.clone());
                let above = path.parent().filter(|_| path.is_file()).map(Path::to_path_buf);
                above.unwrap_or(path)
            };
            config.directories.extend(path.iter().map(folder));
            let report = read(&path, &config, !json);
            Ok(ingested(&report, json, out, &mut std::io::stderr())?)
        }
        Command::Ingest { path, store, json } => {
            let place = Place { store, memex: path, project: None };
            let words = ["ingest".to_string()].into_iter().chain(json.then(|| "--json".to_string()));
            let words = words.chain(["--".to_string()]).chain(place.memex.iter().map(absolute_text)).collect();
            if let Some(status) = beside(&place, words, out)? {
                return Ok(status);
            }
            with_engine(&place, Keep::OnDiskOnly, async |engine| {
                let report =
                    blocking(engine, move |engine| engine.read_memex(&mut |at| progress(at.done, at.total, !json)))
                        .await?;
                engine.flush().await?;
                Ok(ingested(&report, json, out, &mut std::io::stderr())?)
            })
        }
        Command::Dump { path, jsonl: _, contents } => {
            let config = Config::read(&Surroundings::of_process());
            let options =
                crate::domain::org::scan::ScanOptions { sequences: config.org.todo_sequences, ..Default::default() };
            let report = dump::run_with(&path, &options, contents, out)?;
            for problem in &report.problems {
                complain(&problem.to_string());
            }
            Ok(if report.files == 0 && !report.problems.is_empty() { FAILED } else { DONE })
        }
        Command::Context { command: Some(command), .. } => {
            let (of, id) = match command {
                ContextCommands::Why { id, of } => (of, Some(id)),
                ContextCommands::Dropped { of } => (of, None),
            };
            run_explained(&of, id.as_deref(), out)
        }
        Command::Context { command: None, place, max_tokens, vectors: true, .. } => {
            answer_by_meaning(&place, max_tokens, out)
        }
        Command::Context { command: None, place, focus, query, max_tokens, jsonl, vectors: false, json } => {
            let mut engine = context_engine(&place)?;
            engine.max_tokens = max_tokens;
            if jsonl {
                answer_lines(std::io::stdin().lock(), out, &engine)?;
                return Ok(DONE);
            }
            engine.explained = true;
            let begun = std::time::Instant::now();
            let context = engine.context(query.as_deref(), focus.as_deref());
            let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
            if json {
                print_json(&context, micros, out)?
            } else {
                print_text(&context, max_tokens, out)?
            }
            Ok(DONE)
        }
        Command::Gate { command: Some(GateCommands::Replay { rule, place, json }), .. } => {
            replay(rule.as_deref(), &place, json, out)
        }
        Command::Gate { command: None, jsonl: _, place } => gate(&place, out),
        Command::Rules { command, place, json } => run_rules(command.unwrap_or(Rules::List { place, json }), out),
        Command::Skills { command, place, json } => run_skills(command.unwrap_or(Skills::List { place, json }), out),
        Command::Jobs { place, json } => run_jobs(&place, json, out),
        Command::Gateway { command, place, json } => {
            run_gateway(command.unwrap_or(Gateways::List { place, json }), out)
        }
        Command::Servers { place, json } => run_servers(&place, json, out),
        Command::Ask { text, preset, consensus, fork, picture, place, json } => {
            let several = consensus.map(|count| (Mode::Consensus, count)).or(fork.map(|count| (Mode::Fork, count)));
            let manner = Manner { json, preset, bare: false, pictures: whole(picture) };
            ask(of_several(question("ask", &text)?, several), &place, &manner, out)
        }
        Command::Repl { place, json } => run_repl(&place, json, out),
        Command::Tui { place, theme } => run_tui(&place, theme.as_deref()),
        Command::Mcp { place } => run_mcp(&place, out),
        Command::Acp { place } => run_acp(&place),
        Command::Query { query, place, limit, json } => run_query(&asked(&query)?, &place, limit, json, out),
        Command::Plans { command } => run_plans(command, out),
        Command::Audit { place, since, limit, json } => run_audit(&place, since.as_deref(), limit, json, out),
        Command::Why { decision, place, json } => run_why(&place, decision.as_deref(), json, out),
        Command::Costs { place, by, since, json } => run_costs(&place, &by, since.as_deref(), json, out),
        Command::Models { provider, place, json } => run_models(&place, provider.as_deref(), json, out),
        Command::Cassette { command } => run_cassette(command, out),
        Command::Memory { command } => run_memory(command, out),
        Command::Doctor { place, fix, providers, gates, json } => {
            run_doctor(&place, &Wanted { fix, providers, gates, json }, out)
        }
        Command::Daemon { place, wait, log_private } => run_daemon(&place, wait, log_private),
        Command::Send { text, preset, picture, place, json } => {
            let manner = Manner { json, preset, bare: true, pictures: whole(picture) };
            ask(question("send", &text)?, &place, &manner, out)
        }
        Command::Chat { preset, place, json } => run_chat(&place, &Manner { json, preset, ..Manner::default() }, out),
        Command::Backup { file, store, memex, with_keys, json } => {
            run_backup((&file, store), (memex, with_keys), json, out)
        }
        Command::Restore { file, store, memex, force, check, json } => {
            run_restore((&file, store), (memex, force, check), json, out)
        }
        Command::Configure(said) => run_configure(&said, out),
        Command::Completions { shell } => run_completions(&shell, out),
        Command::Status { place, json } => run_status(&place, json, out),
        Command::Health { place, json } => run_health(&place, json, out),
        Command::Clients { command, store, json } => run_clients(command.unwrap_or(Clients::List { store, json }), out),
        Command::Reach { address, core, store } => run_reach((&address, &core), store, out),
        Command::Install { command } => run_install(&command, out),
        Command::Uninstall { command } => run_uninstall(&command, out),
    }
}
