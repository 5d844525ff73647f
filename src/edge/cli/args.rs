//! The commands and options of `passepartout`; `docs/manual.org` has the same, and a test compares them.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// An agent that lives in Emacs, without Emacs: reads Org memory, answers, proposes, and acts only on what you approve.
#[derive(Debug, Parser)]
#[command(name = "passepartout", version, max_term_width = 100)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Read every .org file below PATH and report.
    Ingest {
        /// Files and folders.
        #[arg(required = true)]
        path: Vec<PathBuf>,
        /// Keep what was read in this store.
        #[arg(long)]
        store: Option<PathBuf>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Print what Org files hold, one JSON object a file and a heading.
    Dump {
        /// Files and folders.
        #[arg(required = true)]
        path: Vec<PathBuf>,
        /// One object a line; the only format there is.
        #[arg(long)]
        jsonl: bool,
    },
    /// Print what a model would be given of memory.
    Context {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// The heading at point, by its id.
        #[arg(long)]
        focus: Option<String>,
        /// What is asked.
        #[arg(long)]
        query: Option<String>,
        /// The budget.
        #[arg(long, default_value_t = 4_000)]
        max_tokens: usize,
        /// Read {"id","query","focus"} lines and answer each with one.
        #[arg(long)]
        jsonl: bool,
        /// Print one JSON object, with the text.
        #[arg(long)]
        json: bool,
    },
    /// Judge actions; nothing is run.
    Gate {
        /// Read {"id","tool","args","explanation"} lines and answer each with one; the only format there is.
        #[arg(long)]
        jsonl: bool,
        /// Where things are.
        #[command(flatten)]
        place: Place,
    },
    /// Ask something: one turn, printed. A plan that needs approval is left waiting in the store (exit status 3).
    Ask {
        /// What to ask.
        #[arg(required = true)]
        text: Vec<String>,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Flight plans: actions that wait for you.
    Plans {
        /// What to do with them.
        #[command(subcommand)]
        command: Plans,
    },
    /// Say what works, what does not, and how to repair it.
    Doctor {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Repair what can be repaired here.
        #[arg(long)]
        fix: bool,
        /// Ask the model providers too; this uses the network.
        #[arg(long)]
        providers: bool,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

/// What to do with flight plans.
#[derive(Debug, Subcommand)]
pub enum Plans {
    /// List those that wait.
    List {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// List all of them.
        #[arg(long)]
        all: bool,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Show one whole.
    Show {
        /// Its name.
        plan: String,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Approve one, after showing it; only from a terminal that the agent did not start.
    Approve {
        /// Its name.
        plan: String,
        /// Where things are.
        #[command(flatten)]
        place: Place,
    },
    /// Deny one; only from a terminal that the agent did not start.
    Deny {
        /// Its name.
        plan: String,
        /// Why; the model is told.
        reason: Vec<String>,
        /// Where things are.
        #[command(flatten)]
        place: Place,
    },
}

/// Where things are.
#[derive(Args, Clone, Debug, Default)]
pub struct Place {
    /// The store's folder.
    #[arg(long)]
    pub store: Option<PathBuf>,
    /// Files and folders of the memex.
    #[arg(long, num_args = 1..)]
    pub memex: Vec<PathBuf>,
    /// The project's folder.
    #[arg(long)]
    pub project: Option<PathBuf>,
}
