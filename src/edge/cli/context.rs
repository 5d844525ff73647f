//! `passepartout context`: what a model would be given of memory, and why.

use crate::domain::context::lexical::Index;
use crate::domain::context::pins::Pins;
use crate::domain::context::{self, Audience, Context, Rendered, Request};
use crate::domain::id::NodeId;
use crate::domain::inert::exact;
use crate::domain::label::Privacy;
use crate::domain::memory::view::View;
use crate::domain::port::{CountTokens, Nearness};
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::edge::cli::args::{ContextOf, Place};
use crate::edge::cli::ingest::read;
use crate::edge::cli::run::{DONE, Failure};
use crate::edge::cli::session::{block_on, blocking, origin, owner, settled, somewhere, with_engine};
use crate::edge::clock::{Clock, SystemClock};
use crate::edge::engine::Engine;
use crate::edge::engine::boot::Keep;
use crate::edge::engine::embedding::{Drained, EmbeddingStatus};
use crate::edge::engine::explain::About;
use crate::edge::stderr::complain;
use crate::edge::thread::aside;
use crate::edge::tokens::Tokens;
use jiff::civil::DateTime;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::Instant;

/// Longer lines are refused.
const LONGEST_LINE: usize = 1 << 20;

/// Everything that answering needs.
#[derive(Clone)]
pub struct ContextEngine {
    /// The memory.
    pub view: View,
    /// Its index.
    pub index: Index,
    /// Counts tokens.
    pub tokens: Arc<dyn CountTokens>,
    /// The budget, in tokens.
    pub max_tokens: usize,
    /// Who would read it.
    pub audience: Audience,
    /// The user's wall clock.
    pub now: DateTime,
    /// Minutes ahead within which deadlines come first.
    pub deadline_minutes: i64,
    /// The tag of projects.
    pub project_tag: String,
    /// Whether all that was considered is named.
    pub explained: bool,
    /// What knows which nodes are near in meaning, and from which cosine on they are.
    pub meaning: Option<(Arc<Engine>, f32)>,
}

/// One line of `--jsonl`.
#[derive(Deserialize)]
struct Question {
    id: Option<Value>,
    query: Option<String>,
    focus: Option<String>,
}

impl ContextEngine {
    /// Indexes a memory, with 4,000 tokens, the window of an hour and the tag `project`, for a reader anywhere.
    pub fn new(view: View, tokens: Arc<dyn CountTokens>, now: DateTime) -> Self {
        let index = Index::of(&view);
        Self::with_index(view, index, tokens, now)
    }

    /// Does the same with an index that is there already.
    pub fn with_index(view: View, index: Index, tokens: Arc<dyn CountTokens>, now: DateTime) -> Self {
        ContextEngine {
            index,
            view,
            tokens,
            max_tokens: 4_000,
            audience: Audience::Remote(Privacy::ELSEWHERE),
            now,
            deadline_minutes: 60,
            project_tag: "project".to_string(),
            explained: false,
            meaning: None,
        }
    }

    /// Returns what a model would be given.
    pub fn context(&self, query: Option<&str>, focus: Option<&str>) -> Context {
        let focus = focus.map(NodeId::new);
        let pins = Pins::of(&self.view, &BTreeMap::new());
        let known = self.meaning.as_ref();
        let meaning = known.and_then(|(engine, _)| engine.meaning(&self.view, self.audience.clearance()));
        let request = Request {
            focus: focus.as_ref(),
            query,
            max_tokens: self.max_tokens,
            most_at_point: usize::MAX,
            audience: self.audience,
            now: self.now,
            deadline_minutes: self.deadline_minutes,
            project_tag: &self.project_tag,
            changed: &[],
            apart: false,
            explained: self.explained,
            nearness: meaning.as_ref().map(|meaning| meaning as &dyn Nearness),
            near_cosine: known.map_or(context::rank::NEAR_COSINE, |(_, cosine)| *cosine),
            pinned: &pins.pinned,
            unpinned: &pins.unpinned,
            quoting: None,
        };
        context::assemble(&self.view, &self.index, &request, self.tokens.as_ref())
    }
}

/// Answers one line of `--jsonl` with one line; a line that is no question is answered with `error`.
pub fn answer(line: &str, engine: &ContextEngine) -> String {
    let question: Question = match serde_json::from_str(line) {
        Ok(question) => question,
        Err(error) => {
            let text = format!("not a question: {error}; write {{\"id\": …, \"query\": …, \"focus\": …}}");
            return json!({"id": null, "error": text}).to_string();
        }
    };
    if let (Some((meaning, _)), Some(query)) = (&engine.meaning, &question.query) {
        // As a turn does, before its slice is made.
        let session = origin(false).session;
        tokio::runtime::Handle::current().block_on(meaning.embed_asked(query, &session));
    }
    let begun = Instant::now();
    let context = engine.context(question.query.as_deref(), question.focus.as_deref());
    let micros = begun.elapsed().as_micros() as u64;
    json!({
        "id": question.id,
        "tokens": context.tokens,
        "nodes": nodes(&context),
        "micros": micros,
    })
    .to_string()
}

/// Answers every line in order. Empty lines are passed over.
///
/// # Errors
///
/// When reading or writing fails; what was answered until then has been written.
pub fn answer_lines(mut input: impl BufRead, mut output: impl Write, engine: &ContextEngine) -> io::Result<()> {
    // The first question should not wait for the vocabulary: its time is of assembling.
    engine.tokens.count("ready");
    let mut line = Vec::new();
    loop {
        line.clear();
        if io::Read::take(&mut input, LONGEST_LINE as u64).read_until(b'\n', &mut line)? == 0 {
            return output.flush();
        }
        if line.len() == LONGEST_LINE && !line.ends_with(b"\n") {
            skip_line(&mut input)?;
            writeln!(output, "{}", json!({"id": null, "error": "a line of more than 1 MB; ask less at once"}))?;
            continue;
        }
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            writeln!(output, "{}", answer(text.trim(), engine))?;
        }
    }
}

/// Writes one context as JSON, with its text.
///
/// # Errors
///
/// When writing fails.
pub fn print_json(context: &Context, micros: u64, mut output: impl Write) -> io::Result<()> {
    let dropped: Vec<Value> =
        context.dropped.iter().map(|(id, reason)| json!({"id": id.as_str(), "reason": reason.to_string()})).collect();
    let all = json!({
        "tokens": context.tokens,
        "nodes": nodes(context),
        "dropped": dropped,
        "unnamed": context.unnamed,
        "micros": micros,
        "text": context.text,
    });
    writeln!(output, "{all}")
}

/// Writes one context as its text, and below it why each node is in it; says so when there is none, and when it takes
/// more than the `max_tokens` that were asked for.
///
/// # Errors
///
/// When writing fails.
pub fn print_text(context: &Context, max_tokens: usize, mut output: impl Write) -> io::Result<()> {
    if context.text.is_empty() {
        writeln!(output, "Nothing of memory would be given to a model.")?;
    } else {
        output.write_all(context.text.as_bytes())?;
        let over = if context.tokens > max_tokens {
            format!("; more than the {max_tokens} asked for, as the focus and the titles above it are never left out")
        } else {
            String::new()
        };
        writeln!(output, "\nWhy ({} tokens in all{over}):", context.tokens)?;
    }
    let reasons: Vec<String> = context.nodes.iter().map(|node| exact(&node.reason.to_string())).collect();
    let width = reasons.iter().map(|reason| reason.chars().count()).max().unwrap_or(0);
    for (node, reason) in context.nodes.iter().zip(&reasons) {
        let (rendered, id) = (word(node.rendered), exact(node.id.as_str()));
        writeln!(output, "  {reason:<width$}  {rendered:<5}  {:>6}  {id}", node.tokens)?;
    }
    // What was left out is told by its number; one object with --json names each.
    let mut left: BTreeMap<String, usize> = BTreeMap::new();
    for (_, reason) in &context.dropped {
        *left.entry(reason.to_string()).or_default() += 1;
    }
    if context.unnamed > 0 {
        *left.entry("of the outline over budget".to_string()).or_default() += context.unnamed;
    }
    if !left.is_empty() {
        let told: Vec<String> = left.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        writeln!(output, "Left out: {} (--json names them).", told.join(", "))?;
    }
    Ok(())
}

/// Says why a heading is in what a turn would tell a model, or is not; without an id, what is left out. The process that
/// owns the store is asked, as it knows where point is and what was pinned; where there is none, it is worked out here in
/// the same way.
pub(super) fn run_explained(of: &ContextOf, id: Option<&str>, out: &mut dyn Write) -> Result<u8, Failure> {
    somewhere(&of.place)?;
    let lines = match block_on(by_owner(of, id))? {
        Some(lines) => lines,
        None => with_engine(&of.place, Keep::ToRead, async |engine| {
            blocking(engine, |engine| {
                engine.read_memex(&mut |_| {});
                engine.wait_until_filled();
            })
            .await?;
            let (focus, id) = (of.focus.as_deref().map(NodeId::new), id.map(NodeId::new));
            let query = of.query.as_deref();
            let about = About { query, focus: focus.as_ref(), max_tokens: of.max_tokens, ..About::default() };
            let explained = engine.explained_for(&origin(false), about).await;
            let engine = engine.clone();
            Ok(aside(move || engine.explained_lines(&explained, id.as_ref())).await)
        })?,
    };
    match of.json {
        true => writeln!(out, "{}", serde_json::json!({ "lines": lines }))?,
        false => lines.iter().try_for_each(|line| writeln!(out, "{}", exact(line)))?,
    }
    Ok(DONE)
}

/// Returns what the owner of the store says, when there is one that can be joined.
async fn by_owner(of: &ContextOf, id: Option<&str>) -> Result<Option<Vec<String>>, Failure> {
    let Some(mut owner) = owner(&of.place).await? else { return Ok(None) };
    let asked = Plist::new()
        .maybe("query", of.query.as_deref())
        .maybe("focus", of.focus.as_deref())
        .maybe_int("tokens", of.max_tokens)
        .maybe("why", id)
        .flag("lines", true);
    let told = owner.request("context", asked).await?;
    Ok(Some(told.list_at("lines").iter().filter_map(Sexp::as_text).map(str::to_string).collect()))
}

fn word(rendered: Rendered) -> &'static str {
    match rendered {
        Rendered::Full => "full",
        Rendered::Title => "title",
    }
}

fn nodes(context: &Context) -> Vec<Value> {
    let one = |node: &context::Included| json!({"id": node.id.as_str(), "rendered": word(node.rendered), "reason": node.reason.to_string(), "tokens": node.tokens});
    context.nodes.iter().map(one).collect()
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = memchr::memchr(b'\n', buffer);
        let used = end.map_or(buffer.len(), |at| at + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

/// Answers lines with what is near in meaning as well: vectors are made of all notes first, as the settings say, and say
/// why when they cannot be.
pub(super) fn answer_by_meaning(place: &Place, max_tokens: usize, out: &mut dyn Write) -> Result<u8, Failure> {
    somewhere(place)?;
    let keep = if place.store.is_some() { Keep::ToRead } else { Keep::InMemory };
    with_engine(place, keep, async |engine| {
        blocking(engine, |engine| {
            engine.read_memex(&mut |_| {});
            engine.wait_until_filled();
        })
        .await?;
        let made = engine.embed_what_waits().await;
        let status = engine.embedding_status();
        // Beside its owner nothing is made, and what the owner keeps counts.
        if made != Drained::Done && (place.store.is_none() || status.name.is_none()) {
            return Err(unmade(made, &status).into());
        }
        let now = SystemClock.wall();
        let mut context = ContextEngine::with_index(engine.view(), engine.index(), Arc::new(Tokens::new()), now);
        let config = settled(place);
        context.deadline_minutes = i64::from(config.deadline_minutes);
        (context.max_tokens, context.meaning) = (max_tokens, Some((engine.clone(), config.semantic_threshold)));
        tokio::task::block_in_place(|| answer_lines(io::stdin().lock(), out, &context))?;
        Ok(DONE)
    })
}

/// Says why there are not vectors of all notes, and what to do.
fn unmade(made: Drained, status: &EmbeddingStatus) -> String {
    let trouble = status.trouble.as_deref().unwrap_or("it is not said why; passepartout doctor looks");
    match (made, &status.name) {
        (Drained::Done, _) => "all vectors are made".to_string(),
        (_, None) => {
            let wrong = status.trouble.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
            format!(
                "nothing makes vectors{wrong}: name what does in EMBEDDING_PROVIDER (local, openai or hashing), and \
                 where its server is in EMBEDDING_URL"
            )
        }
        (Drained::Unconfirmed, Some(name)) => format!(
            "{name} is at {}, which is not on this machine and which you have not confirmed: type /embed in a chat, or \
             name a server here",
            exact(&status.url)
        ),
        (Drained::Interrupted, Some(_)) => "memory changed while vectors were made of it; ask again".to_string(),
        (Drained::Full, Some(name)) => format!("{name}: {}", exact(status.unkept.as_deref().unwrap_or(trouble))),
        (Drained::Nothing | Drained::Resting, Some(name)) => {
            format!("{name} made no vectors of all notes: {}", exact(trouble))
        }
    }
}

pub(super) fn context_engine(place: &Place) -> Result<ContextEngine, Failure> {
    somewhere(place)?;
    let config = settled(place);
    let tokens = Arc::new(Tokens::new());
    let (view, index) = match &place.store {
        Some(_) => with_engine(place, Keep::ToRead, async |engine| {
            blocking(engine, |engine| {
                engine.read_memex(&mut |_| {});
                engine.wait_until_filled();
            })
            .await?;
            Ok((engine.view(), engine.index()))
        })?,
        None => {
            let report = read(&config.directories, &config, false);
            for problem in &report.problems {
                complain(&problem.to_string());
            }
            let mut view = View::default();
            for document in report.documents.into_iter().filter(|document| document.is_notes()) {
                view.put(document);
            }
            let index = Index::of(&view);
            (view, index)
        }
    };
    let mut engine = ContextEngine::with_index(view, index, tokens, SystemClock.wall());
    engine.deadline_minutes = i64::from(config.deadline_minutes);
    Ok(engine)
}
