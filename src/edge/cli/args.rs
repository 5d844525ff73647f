//! The commands and options of `passepartout`; `docs/manual.org` has the same, and a test compares them.

use crate::domain::query::field::{FIELDS, SORTS, STATES, THINGS, listed};
use crate::domain::turn::consensus::MOST;
use crate::edge::cli::clients::Clients;
use crate::edge::cli::configure::Configure;
use crate::edge::cli::gateway::Gateways;
use crate::edge::cli::service::{Install, Uninstall};
use crate::edge::cli::skills::Skills;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

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
        /// Adds what stands inside each section: tables, items of lists with their boxes, blocks, footnotes.
        #[arg(long)]
        contents: bool,
    },
    /// Print what a model would be given of memory.
    #[command(args_conflicts_with_subcommands = true)]
    Context {
        /// Explain one heading, or all that was left out.
        #[command(subcommand)]
        command: Option<ContextCommands>,
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
        /// With what is near in meaning, as the settings have vectors made; they are made before the first answer.
        #[arg(long, requires = "jsonl")]
        vectors: bool,
        /// Print one JSON object, with the text.
        #[arg(long)]
        json: bool,
    },
    /// Judge actions; nothing is run.
    #[command(args_conflicts_with_subcommands = true)]
    Gate {
        /// Try rules that were learned on what was decided.
        #[command(subcommand)]
        command: Option<GateCommands>,
        /// Read {"id","tool","args","explanation"} lines and answer each with one; the only format there is.
        #[arg(long)]
        jsonl: bool,
        /// Where things are.
        #[command(flatten)]
        place: Place,
    },
    /// What loosens what may happen: lines that wait for you, what you confirmed, and rules that were learned.
    #[command(args_conflicts_with_subcommands = true)]
    Rules {
        /// What to do with them; without a word they are listed.
        #[command(subcommand)]
        command: Option<Rules>,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Skills: what became of each; see one whole, begin one, test one.
    #[command(args_conflicts_with_subcommands = true)]
    Skills {
        /// What to do with them; without a word they are listed.
        #[command(subcommand)]
        command: Option<Skills>,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Headings that want work done by themselves: when, how each stands, and what was missed. They are confirmed in Emacs.
    Jobs {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// MCP servers of the settings: how each stands, and which tools it lends. Their tools are confirmed in Emacs.
    Servers {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Messengers: how each stands, and who may write; link one, unlink one. Who may write is decided in Emacs.
    #[command(args_conflicts_with_subcommands = true)]
    Gateway {
        /// What to do with them; without a word they are listed.
        #[command(subcommand)]
        command: Option<Gateways>,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Ask something: one turn, printed. A plan that needs approval is left waiting in the store (exit status 3).
    Ask {
        /// What to ask; “-”, or nothing with something piped in, reads it from standard input.
        text: Vec<String>,
        /// Ask with this preset of yours: its model, tools, prompt and budget.
        #[arg(long)]
        preset: Option<String>,
        /// Ask so many models at once, and follow what most of them want done.
        #[arg(long, value_name = "N", conflicts_with = "fork", value_parser = clap::value_parser!(u8).range(1..=MOST as i64))]
        consensus: Option<u8>,
        /// Have so many models answer, side by side.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=MOST as i64))]
        fork: Option<u8>,
        /// Send this picture along; it can be said again for more.
        #[arg(long, value_name = "FILE")]
        picture: Vec<PathBuf>,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Talk on a terminal: answers as they come, plans to read and approve, commands behind a slash; `?` shows the keys.
    ///
    /// It joins whoever has the notes open, such as your Emacs, and else opens them itself until you leave.
    Tui {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// The colours: dark, light, contrast or none; none is the usual one where NO_COLOR is set.
        #[arg(long)]
        theme: Option<String>,
    },
    /// Evaluate Emacs Lisp in a confined Emacs, form by form: what is typed, or piped in. No model takes part.
    ///
    /// The gates judge each form. From a pipe it ends with 1 when a form failed, and with 3 when one waits for approval.
    Repl {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object for each form, a line each.
        #[arg(long)]
        json: bool,
    },
    /// Lend memory to another agent: an MCP server on standard input and output.
    ///
    /// It reads what is not private; what it would change waits as a flight plan.
    Mcp {
        /// Where things are.
        #[command(flatten)]
        place: Place,
    },
    /// Be the agent of another editor: the Agent Client Protocol on standard input and output.
    ///
    /// It reads what is not private. What it would change waits as a flight plan, which is decided about in the editor
    /// only where you let it, in Emacs.
    Acp {
        /// Where things are.
        #[command(flatten)]
        place: Place,
    },
    /// Find headings: words, "phrases", tag:work, todo:TODO, deadline:<2026-12-01, -tag:someday, sort:deadline.
    ///
    /// Terms side by side must all fit; “or” takes one side or the other; “-” and “not” turn one around; parentheses
    /// group. The manual has every term.
    #[command(after_long_help = names())]
    Query {
        /// What to find; “-” alone reads it from standard input.
        query: Vec<String>,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// How many at most, where the query does not say.
        #[arg(long)]
        limit: Option<usize>,
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
    /// Who decided what about actions and rules, newest first; and whether the records of it are unbroken (else exit status 1).
    Audit {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Only what was decided since this day or moment, such as 2026-12-01 or '2026-12-01 14:30'.
        #[arg(long)]
        since: Option<String>,
        /// How many decisions, at least one.
        #[arg(long, default_value_t = 20, value_parser = at_least_one)]
        limit: usize,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Explain the last decision, or that about one plan or action, in plain words.
    Why {
        /// The number that `audit` lists, the plan's name, or the action's hash or its beginning.
        decision: Option<String>,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// What calls of models cost, and how much of each cap is used.
    Costs {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// By day, heading, skill, provider or background.
        #[arg(long, default_value = "day")]
        by: String,
        /// Only calls since this day, such as 2026-12-01.
        #[arg(long)]
        since: Option<String>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// The model providers in their order, how they stand, and which models they have, by their own lists.
    ///
    /// Providers elsewhere that were never contacted are asked only by name.
    Models {
        /// Only this provider; it is asked anew, and even when it was never contacted (from a terminal that the agent
        /// did not start).
        provider: Option<String>,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Cassettes: exchanges with model providers, recorded and played again without a network.
    Cassette {
        /// What to do with one.
        #[command(subcommand)]
        command: Cassettes,
    },
    /// Memory through time: what was done, undo it, go back; and its health.
    Memory {
        /// What to do with it.
        #[command(subcommand)]
        command: Memory,
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
        /// Try acts that must never happen, and say what held.
        #[arg(long)]
        gates: bool,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Run the core without Emacs, in the foreground: it owns the store and serves who joins it. It logs to standard error.
    ///
    /// SIGTERM and SIGINT save and end it within two seconds; SIGHUP has it read its settings anew. It ends with 4 when
    /// another process owns the store.
    Daemon {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// While another process owns the store, wait until it has ended.
        #[arg(long)]
        wait: bool,
        /// Log also lines that may name private notes, where the log is kept; a terminal shows them anyway.
        #[arg(long)]
        log_private: bool,
    },
    /// Ask something and print only the answer, as a pipe wants it; what else is to be said goes to standard error.
    ///
    /// A plan that needs approval is left waiting in the store (exit status 3).
    Send {
        /// What to ask; “-”, or nothing with something piped in, reads it from standard input.
        text: Vec<String>,
        /// Ask with this preset of yours: its model, tools, prompt and budget.
        #[arg(long)]
        preset: Option<String>,
        /// Send this picture along; it can be said again for more.
        #[arg(long, value_name = "FILE")]
        picture: Vec<PathBuf>,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Talk line by line, with what was said before: one line in, one answer out, and an empty line behind it.
    Chat {
        /// Talk with this preset of yours: its model, tools, prompt and budget.
        #[arg(long)]
        preset: Option<String>,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object for each answer, a line each.
        #[arg(long)]
        json: bool,
    },
    /// Save the store, the settings, and with --memex the notes, in one file that only you can read.
    ///
    /// The store may be in use meanwhile. Keys are left out unless --with-keys is said.
    Backup {
        /// The file to make.
        file: PathBuf,
        /// The store's folder.
        #[arg(long)]
        store: Option<PathBuf>,
        /// Save the folders of the memex as well.
        #[arg(long)]
        memex: bool,
        /// Save keys as well.
        #[arg(long)]
        with_keys: bool,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Put a backup back, after all of it was found to be as it was written; nothing is overwritten.
    Restore {
        /// The backup.
        file: PathBuf,
        /// The store's folder.
        #[arg(long)]
        store: Option<PathBuf>,
        /// Put the notes back as well, to where they lay.
        #[arg(long)]
        memex: bool,
        /// Move what is in the way aside.
        #[arg(long)]
        force: bool,
        /// Only look whether the backup is whole.
        #[arg(long, conflicts_with_all = ["memex", "force"])]
        check: bool,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Set the memex, the providers and a budget, by a few questions.
    Configure(Configure),
    /// Print what a shell needs to complete commands and options.
    Completions {
        /// The shell.
        #[arg(value_parser = ["bash", "zsh", "fish"])]
        shell: String,
    },
    /// Say who owns the store and what it does: ends with 0 when somebody does, 1 when it is unhealthy, 4 when nobody does.
    Status {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Say what the doctor finds, without asking a provider: ends with 0 for healthy, 5 for degraded, 1 for unhealthy.
    Health {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Keys for connections between machines: your own, and those of clients that are let in here.
    #[command(args_conflicts_with_subcommands = true)]
    Clients {
        /// What to do with them; without a word they are listed.
        #[command(subcommand)]
        command: Option<Clients>,
        /// The store's folder.
        #[arg(long)]
        store: Option<PathBuf>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Connect to a core on another machine by TLS, on standard input and output; for programs that speak the protocol.
    ///
    /// The first line is what proofs over this connection are bound to; then come the bytes of the core.
    Reach {
        /// Host and port, such as box.example:9105.
        address: String,
        /// The fingerprint of that core's key, as `passepartout clients` shows it there.
        #[arg(long)]
        core: String,
        /// The folder of your own store, with your key.
        #[arg(long)]
        store: Option<PathBuf>,
    },
    /// Install a service that runs the daemon.
    Install {
        /// What to install.
        #[command(subcommand)]
        command: Install,
    },
    /// Remove what was installed.
    Uninstall {
        /// What to remove.
        #[command(subcommand)]
        command: Uninstall,
    },
}

/// Lists the names that a query knows, each with an example and with what else it may be called.
fn names() -> String {
    let mut text = "Names, each with an example:\n".to_string();
    for known in FIELDS {
        let others =
            if known.others.is_empty() { String::new() } else { format!("  also {}", known.others.join(", ")) };
        text.push_str(format!("  {:<24}{others}", known.example).trim_end());
        text.push('\n');
    }
    text.push_str(&format!("has: takes {}.\nis: takes {}.\n", listed(THINGS), listed(STATES)));
    text.push_str(&format!("sort: takes {}; with a hyphen before it the other way round.", listed(SORTS)));
    text
}

/// What else is said of a context.
#[derive(Debug, Subcommand)]
pub enum ContextCommands {
    /// Say why a heading is in, or is not.
    Why {
        /// Its id.
        id: String,
        /// What the context is of.
        #[command(flatten)]
        of: ContextOf,
    },
    /// List what was considered and left out, and why.
    Dropped {
        /// What the context is of.
        #[command(flatten)]
        of: ContextOf,
    },
}

/// What a context is of.
#[derive(Debug, Args)]
pub struct ContextOf {
    /// Where things are.
    #[command(flatten)]
    pub place: Place,
    /// The heading at point, by its id.
    #[arg(long)]
    pub focus: Option<String>,
    /// What is asked.
    #[arg(long)]
    pub query: Option<String>,
    /// The budget, where it is another one than a turn would have.
    #[arg(long)]
    pub max_tokens: Option<usize>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// What else the gates can do.
#[derive(Debug, Subcommand)]
pub enum GateCommands {
    /// Say which recorded decisions and canaries a learned rule would change; one that opens what is denied ends with 1.
    Replay {
        /// The rule's name; all that are known without it.
        rule: Option<String>,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

/// What to do with rules.
#[derive(Debug, Subcommand)]
pub enum Rules {
    /// List them: what waits for you, what counts, what is over.
    List {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Withdraw one: it does not count any more.
    Withdraw {
        /// Its name.
        rule: String,
        /// Where things are.
        #[command(flatten)]
        place: Place,
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
        /// Stop there: the model is not asked again, and what waits beside the plan is denied as well.
        #[arg(long)]
        stop: bool,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "a number from 1 on is wanted".to_string())
}

/// What to do with cassettes.
#[derive(Debug, Subcommand)]
pub enum Cassettes {
    /// Say what is on one, line by line, and whether it is whole.
    Show {
        /// The cassette.
        file: PathBuf,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Ask something and record what is sent and answered in a new file; at a terminal that the agent did not start.
    Record {
        /// The new file.
        file: PathBuf,
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
    /// Ask something that is answered from a cassette alone.
    Play {
        /// The cassette.
        file: PathBuf,
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
}

/// What to do with memory's history.
#[derive(Debug, Subcommand)]
pub enum Memory {
    /// List what moved memory, newest first.
    Log {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// How many operations, at least one.
        #[arg(long, default_value_t = 20, value_parser = at_least_one)]
        limit: usize,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Show one operation whole: who, why, and what it changed.
    Show {
        /// Its number, or the name of the change that made it.
        operation: String,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Show what differs between two operations.
    Diff {
        /// The one, by its number or the name of its change.
        from: String,
        /// The other.
        to: String,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Go back to an operation, after showing what that does; what was written by hand since stays.
    Rewind {
        /// Its number.
        operation: u64,
        /// Memory alone, and the focus; the files stay as they are.
        #[arg(long, conflicts_with_all = ["files", "both"])]
        memory: bool,
        /// The files that the agent changed, which memory follows; the focus and moves of memory alone stay.
        #[arg(long, conflicts_with = "both")]
        files: bool,
        /// Files, moves of memory alone, and the focus; this is what is done when nothing is said.
        #[arg(long)]
        both: bool,
        /// Show it and do nothing.
        #[arg(long)]
        dry_run: bool,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object; only what would happen is.
        #[arg(long)]
        json: bool,
    },
    /// Vouch for a heading with all below it, or a file, that came from elsewhere: it counts as your own until changed.
    Endorse {
        /// Its id, or the file.
        text: String,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Undo the last turn that changed something, or one change or turn by its name.
    Undo {
        /// The change or the turn.
        change: Option<String>,
        /// Show it and do nothing.
        #[arg(long)]
        dry_run: bool,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object; only what would happen is.
        #[arg(long)]
        json: bool,
    },
    /// Do again what was undone last.
    Redo {
        /// Show it and do nothing.
        #[arg(long)]
        dry_run: bool,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object; only what would happen is.
        #[arg(long)]
        json: bool,
    },
    /// Say which request, model, plan and approver made a heading what it is.
    Blame {
        /// Its id, or FILE:LINE.
        heading: String,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Check every operation and every object: say since when all is unbroken, or where it breaks (exit status 1).
    Verify {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Take what is there now for the truth when the head that was noted outside the store does not fit.
        #[arg(long)]
        accept: bool,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Let go of old contents and sweep what nothing refers to; the log of operations and all hashes stay.
    Compact {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Keep the contents of this many last days.
        #[arg(long)]
        keep_days: Option<u32>,
        /// Keep the contents of this many last operations.
        #[arg(long)]
        keep_operations: Option<u64>,
        /// Only say what would be freed and kept.
        #[arg(long)]
        dry_run: bool,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

/// Where things are.
#[derive(Args, Clone, Debug, Default)]
pub struct Place {
    /// The store's folder.
    #[arg(long)]
    pub store: Option<PathBuf>,
    /// Files and folders of the memex; before other words only the first and those that are there are taken.
    #[arg(long, num_args = 1..)]
    pub memex: Vec<PathBuf>,
    /// The project's folder.
    #[arg(long)]
    pub project: Option<PathBuf>,
}

/// Options that take exactly one value; a value is never taken for a command.
const ONE_VALUE: &[&str] = &[
    "--store",
    "--project",
    "--focus",
    "--query",
    "--max-tokens",
    "--keep-days",
    "--keep-operations",
    "--limit",
    "--since",
    "--by",
    "--preset",
    "--picture",
    "--provider",
    "--key-in",
    "--key-from",
    "--budget",
    "--theme",
    "--core",
];
/// Commands that take words of their own, which must not end up in `--memex`.
const WITH_WORDS: &[&str] = &[
    "ask", "send", "query", "record", "play", "show", "approve", "deny", "diff", "rewind", "undo", "blame", "why",
    "replay", "withdraw",
];
/// Commands that have commands of their own.
const NESTED: &[(&str, &[&str])] = &[
    ("context", &["why", "dropped"]),
    ("plans", &["list", "show", "approve", "deny"]),
    ("gate", &["replay"]),
    ("cassette", &["show", "record", "play"]),
    ("clients", &["list", "allow", "remove"]),
    ("install", &["service"]),
    ("uninstall", &["service"]),
    ("rules", &["list", "withdraw"]),
    ("memory", &["log", "show", "diff", "rewind", "undo", "redo", "blame", "verify", "compact"]),
];
/// What may stand there without a command.
const WITHOUT_COMMAND: &[&str] = &["--help", "-h", "--version", "-V"];

/// Reads a command line, the program's name first. Options may stand before the command and behind it.
///
/// # Errors
/// As clap says them: with the exit status 2 and what would have been right, or 0 for `--help`.
pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let words = arranged(words.into_iter().collect(), &|path| path.exists());
    let said = |at: usize| words.get(at).map(|word| word.to_string_lossy());
    let misplaced = said(1).is_some_and(|first| {
        (first.starts_with('-') && !WITHOUT_COMMAND.contains(&&*first)) || first.contains(char::is_whitespace)
    });
    if misplaced {
        let way_out =
            "no command stands among these words; to ask something: passepartout ask 'what is due?' [--memex PATH]";
        return Err(Arguments::command().error(ErrorKind::MissingSubcommand, way_out));
    }
    Arguments::try_parse_from(words)
}

/// Puts the command first, and gives `--memex` no words that are a command's own.
fn arranged(mut words: Vec<OsString>, exists: &dyn Fn(&Path) -> bool) -> Vec<OsString> {
    let commands: Vec<String> = Arguments::command().get_subcommands().map(|c| c.get_name().to_string()).collect();
    let is =
        |word: Option<&OsString>, any: &[&str]| word.and_then(|word| word.to_str()).is_some_and(|w| any.contains(&w));
    let command = command_at(&words, &commands);
    let mut named = 1;
    if let Some(at) = command {
        let both = NESTED.iter().any(|(name, own)| is(words.get(at), &[name]) && is(words.get(at + 1), own));
        named = 1 + usize::from(both);
        words.get_mut(1..at + named).unwrap_or_default().rotate_right(named);
    }
    if !is(words.get(named), WITH_WORDS) {
        return words;
    }
    let mut out = Vec::with_capacity(words.len());
    let mut rest = words.into_iter().peekable();
    while let Some(word) = rest.next() {
        if word == "--" {
            out.push(word);
            break;
        }
        let takes = word == "--memex";
        let Some(first) = takes.then(|| rest.next_if(|value| !is_option(value))).flatten() else {
            out.push(word);
            continue;
        };
        out.push(attached(&first));
        while let Some(next) = rest.next_if(|value| !is_option(value) && exists(Path::new(value))) {
            out.push(attached(&next));
        }
    }
    out.extend(rest);
    if out.get(1).is_some_and(|command| command == "query") { terms_last(out) } else { out }
}

/// Puts the terms of a query behind `--`: one that begins with a hyphen turns a term around and is no option.
fn terms_last(words: Vec<OsString>) -> Vec<OsString> {
    let mut options: Vec<OsString> = words.iter().take(2).cloned().collect();
    let mut terms: Vec<OsString> = Vec::new();
    let mut rest = words.into_iter().skip(2);
    while let Some(word) = rest.next() {
        let text = word.to_string_lossy();
        let takes = ONE_VALUE.contains(&text.as_ref());
        if text == "--" {
            terms.extend(rest.by_ref());
        } else if text.starts_with("--") || WITHOUT_COMMAND.contains(&text.as_ref()) {
            options.push(word);
            options.extend(if takes { rest.next() } else { None });
        } else {
            terms.push(word);
        }
    }
    if !terms.is_empty() {
        options.push("--".into());
        options.extend(terms);
    }
    options
}

fn attached(path: &OsString) -> OsString {
    let mut word = OsString::from("--memex=");
    word.push(path);
    word
}

fn is_option(word: &OsString) -> bool {
    word.as_encoded_bytes().starts_with(b"-") && word != "-"
}

/// Returns where the command stands: the first word that is one and no option's value.
fn command_at(words: &[OsString], commands: &[String]) -> Option<usize> {
    let mut at = 1;
    loop {
        let word = words.get(at)?.to_str();
        match word {
            Some("--") => return None,
            Some(option) if ONE_VALUE.contains(&option) || option == "--memex" => at += 2,
            Some(word) if commands.iter().any(|command| command == word) => return Some(at),
            // The first word that is no option and no command is what clap should complain of.
            Some(_) | None if at == 1 && !words.get(1).is_some_and(is_option) => return None,
            Some(_) | None => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let words = line.split(' ').map(OsString::from).collect();
        let exists = |path: &Path| path.to_string_lossy().starts_with('/');
        let found: Vec<String> =
            arranged(words, &exists).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(found.join(" "), expected, "{line}");
    }

    #[test]
    fn options_stand_before_and_behind_the_command() {
        for (line, expected) in [
            ("p ask q --memex /a", "p ask q --memex=/a"),
            ("p ask --memex /a q", "p ask --memex=/a q"),
            ("p ask --memex /a /b q r", "p ask --memex=/a --memex=/b q r"),
            ("p ask --memex typo q", "p ask --memex=typo q"),
            ("p ask --memex /a -- --q", "p ask --memex=/a -- --q"),
            ("p ask -- --memex /a q", "p ask -- --memex /a q"),
            ("p --memex /a ask q", "p ask --memex=/a q"),
            ("p --memex ask ask q", "p ask --memex=ask q"),
            ("p --json --store /s ask q", "p ask --json --store /s q"),
            ("p --store /s plans show --memex /a P1", "p plans show --store /s --memex=/a P1"),
            ("p --store=/s plans list", "p plans list --store=/s"),
            ("p memory show --memex /a 7", "p memory show --memex=/a 7"),
            ("p --store /s memory rewind 7 --files", "p memory rewind --store /s 7 --files"),
            ("p context --memex /a b --query ask", "p context --memex /a b --query ask"),
            ("p --query ask context", "p context --query ask"),
            ("p query -tag:x y --memex /a --json", "p query --memex=/a --json -- -tag:x y"),
            ("p query --limit 3 x -- --y", "p query --limit 3 -- x --y"),
            ("p teleport ask", "p teleport ask"),
            ("p --memex", "p --memex"),
            ("p", "p"),
        ] {
            check(line, expected);
        }
    }
}
