//! `passepartout gate --jsonl`: judges actions line by line, with the gates of a session, and runs nothing.

use crate::domain::action::Action;
use crate::domain::gate::clearance::ask_all;
use crate::domain::gate::{Case, Facts, Gates, Trace};
use crate::domain::id::SessionId;
use crate::domain::inert::exact;
use crate::domain::label::{Labels, Privacy, Provenance, Trust};
use crate::domain::policy::tools::UnreadTable;
use crate::domain::scope::{Level, Scope};
use crate::domain::signal::Sensor;
use crate::domain::tool::Toolbox;
use crate::edge::cli::args::Place;
use crate::edge::cli::run::{DONE, Failure};
use crate::edge::cli::session::{blocking, configured, settled, somewhere, vault, with_engine};
use crate::edge::engine::boot::{self, Keep};
use crate::edge::rules_file;
use crate::edge::stderr::complain;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

/// The longest line that is read, in bytes.
const MAX_LINE: u64 = 64 * 1024 * 1024;

/// What the command judges with.
pub struct GateCommand<'a> {
    /// The gates.
    pub gates: &'a Gates,
    /// Finds out about an action what the gates need to know.
    pub look: &'a dyn Fn(&Action, &Scope) -> Facts,
    /// What the actions may see and touch, unless a line says otherwise.
    pub scope: Scope,
}

impl GateCommand<'_> {
    /// Reads one JSON object a line and answers each with one; a line that cannot be read gets an
    /// error object, and reading goes on. Fails only when reading or writing itself fails.
    pub fn run(&self, input: &mut dyn BufRead, output: &mut dyn Write) -> std::io::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if std::io::Read::take(&mut *input, MAX_LINE).read_until(b'\n', &mut line)? == 0 {
                return output.flush();
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            serde_json::to_writer(&mut *output, &self.answer(&line))?;
            output.write_all(b"\n")?;
        }
    }

    /// Returns the answer to one line.
    pub fn answer(&self, line: &[u8]) -> Value {
        let request = match serde_json::from_slice::<Value>(line) {
            Ok(Value::Object(request)) => request,
            Ok(_) => return json!({"error": "a line must be a JSON object"}),
            Err(error) => return json!({"error": format!("the line is not JSON: {error}")}),
        };
        let id = request.get("id").cloned().unwrap_or(Value::Null);
        let start = Instant::now();
        let judged = self.judge(&request);
        // What is measured is the survey and the judging, not how they are written down.
        let micros = start.elapsed().as_nanos() as f64 / 1000.0;
        let (verdict, trace) = match judged {
            Ok(trace) => (trace.strictest().map_or("deny", |opinion| opinion.verdict.name()), opinions(&trace)),
            // What cannot even be built as an action cannot happen.
            Err(why) => ("deny", json!([{"gate": "action", "priority": 700, "verdict": "deny", "reason": why}])),
        };
        json!({"id": id, "verdict": verdict, "micros": micros, "trace": trace})
    }

    fn judge(&self, request: &Map<String, Value>) -> Result<Trace, String> {
        let text = |name: &str| request.get(name).and_then(Value::as_str);
        let tool = text("tool").ok_or("“tool” is missing")?;
        let args = match request.get("args") {
            Some(Value::Object(args)) => args.clone(),
            None | Some(Value::Null) => Map::new(),
            Some(_) => return Err("“args” must be an object".to_string()),
        };
        let toolbox = Toolbox::builtin();
        let labels = labels(request.get("labels"))?;
        let action =
            Action::new(&toolbox, tool, args, text("explanation"), labels).map_err(|error| error.to_string())?;
        let found = toolbox.get(action.tool()).ok_or("there is no such tool")?;
        let scope = self.scope_of(request)?;
        let facts = (self.look)(&action, scope.as_ref());
        // Who asks on the command line is a human, unless the line says what else set it off.
        let set_off = match text("sensor") {
            None => Sensor::UserInput,
            Some(name) => Sensor::parse(name).ok_or_else(|| format!("there is no sensor “{name}”"))?,
        };
        let case = Case { action: &action, tool: found, scope: scope.as_ref(), facts: &facts, set_off };
        Ok(ask_all(self.gates, &case))
    }

    fn scope_of(&self, request: &Map<String, Value>) -> Result<std::borrow::Cow<'_, Scope>, String> {
        let text = |name: &str| request.get(name).and_then(Value::as_str);
        let project = text("project").or_else(|| text("cwd"));
        let memex = request.get("memex");
        let see_private = request.get("see_private");
        if project.is_none() && memex.is_none() && see_private.is_none() {
            return Ok(std::borrow::Cow::Borrowed(&self.scope));
        }
        let mut scope = self.scope.clone();
        if let Some(value) = see_private {
            let see = value.as_bool().ok_or("“see_private” must be true or false")?;
            scope.may_see = if see { Privacy::Private } else { Privacy::ELSEWHERE };
        }
        if let Some(project) = project {
            scope.project = canonical(project);
        }
        match memex {
            None => {}
            Some(Value::String(folder)) => scope.memex = vec![canonical(folder)],
            Some(Value::Array(folders)) => {
                scope.memex = folders.iter().filter_map(Value::as_str).map(canonical).collect()
            }
            Some(_) => return Err("“memex” must be a folder or a list of folders".to_string()),
        }
        Ok(std::borrow::Cow::Owned(scope))
    }
}

fn canonical(folder: &str) -> String {
    std::fs::canonicalize(Path::new(folder))
        .map_or_else(|_| folder.to_string(), |path| path.to_string_lossy().into_owned())
}

fn opinions(trace: &Trace) -> Value {
    let each = trace.opinions.iter().map(|opinion| {
        json!({
            "gate": opinion.gate,
            "priority": opinion.priority,
            "verdict": opinion.verdict.name(),
            "reason": opinion.verdict.reason().map(|reason| reason.text.as_str()),
        })
    });
    Value::Array(each.collect())
}

/// Reads labels; what is not said is what a model's words have. An unknown word is an error, never a default.
fn labels(value: Option<&Value>) -> Result<Labels, String> {
    let mut labels = Labels::MODEL;
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(labels) };
    let map = value.as_object().ok_or("“labels” must be an object")?;
    for (name, value) in map {
        let word = value.as_str().ok_or("labels are words")?;
        match (name.as_str(), word) {
            ("provenance", "user") => labels.provenance = Provenance::User,
            ("provenance", "note") => labels.provenance = Provenance::Note,
            ("provenance", "file") => labels.provenance = Provenance::File,
            ("provenance", "tool") => labels.provenance = Provenance::Tool,
            ("provenance", "model") => labels.provenance = Provenance::Model,
            ("provenance", "gateway") => labels.provenance = Provenance::Gateway,
            ("provenance", "agent") => labels.provenance = Provenance::Agent,
            ("provenance", "web") => labels.provenance = Provenance::Web,
            ("trust", "untrusted") => labels.trust = Trust::Untrusted,
            ("trust", "kept") => labels.trust = Trust::Kept,
            ("trust", "own") => labels.trust = Trust::Own,
            ("privacy", "open") => labels.privacy = Privacy::Open,
            ("privacy", "warn") => labels.privacy = Privacy::Warn,
            ("privacy", "ask") => labels.privacy = Privacy::Ask,
            ("privacy", "private") => labels.privacy = Privacy::Private,
            (name, word) => return Err(format!("the label “{name}” has no value “{word}”")),
        }
    }
    Ok(labels)
}

/// Judges with what a chat judges with: the gates, rules of skills and keys; with a store or a memex, memory as well.
pub(super) fn gate(place: &Place, out: &mut dyn Write) -> Result<u8, Failure> {
    somewhere(place)?;
    let config = if place.store.is_some() { settled(place) } else { configured(place) };
    let here = std::env::current_dir()?;
    let text = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone()).to_string_lossy().into_owned();
    let named = !place.memex.is_empty() || place.store.is_some();
    let memex = if named { config.directories.clone() } else { Vec::new() };
    let memex = if memex.is_empty() { vec![here.clone()] } else { memex };
    let scope = Scope {
        session: SessionId("gate".to_string()),
        memex: memex.iter().map(text).collect(),
        project: text(place.project.as_ref().unwrap_or(&here)),
        home: text(&config.home),
        own: [&config.store, &config.settings, &config.cache].into_iter().map(text).collect(),
        permissions: config.permissions.clone(),
        private_tags: config.private_tags.clone(),
        held: Default::default(),
        self_build: config.self_build,
        may_see: Privacy::Private,
        hosts: config.allowed_hosts.clone(),
    };
    let mut judge = |gates: &Gates, look: &dyn Fn(&Action, &Scope) -> Facts, permissions: BTreeMap<String, Level>| {
        GateCommand { gates, look, scope: Scope { permissions, ..scope.clone() } }
            .run(&mut std::io::stdin().lock(), out)
    };
    if place.store.is_none() && place.memex.is_empty() {
        let (gates, survey, problems) = boot::without_memory(&config, vault(&config), Duration::from_secs(5));
        for problem in config.notices.iter().chain(&problems) {
            complain(&exact(problem));
        }
        let table = rules_file::read(&config.settings);
        let levels = table.over(&config.permissions, &Toolbox::builtin(), &|_| false).0;
        let gates = UnreadTable::of(&table).map_or_else(|| gates.clone(), |unread| gates.clone().and(Box::new(unread)));
        judge(&gates, &|action, scope| survey.look(action, scope), levels)?;
        return Ok(DONE);
    }
    let keep = if place.store.is_some() { Keep::ToRead } else { Keep::InMemory };
    with_engine(place, keep, async |engine| {
        blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
        let handle = tokio::runtime::Handle::current();
        let look = |action: &Action, scope: &Scope| handle.block_on(engine.surveyor().survey(action, scope));
        let gates = engine.gates_now(None);
        tokio::task::block_in_place(|| judge(&gates, &look, engine.levels().0))?;
        Ok(DONE)
    })
}
