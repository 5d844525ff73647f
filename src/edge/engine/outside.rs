//! What came from outside: which notes and files did, what is kept of texts that are made from them, and the
//! conversations that read them.
//!
//! A text that an act makes from text from outside is marked by its content, before the act: the mark goes with it
//! wherever it is moved or copied to, and ends when somebody edits what it says, or a human vouches for it.

use crate::domain::action::Observation;
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::facts::EditFact;
use crate::domain::gate::place::{Zone, holds_notes, zone};
use crate::domain::id::{ActionHash, NodeId, SessionId, TurnId};
use crate::domain::label::Privacy;
use crate::domain::memory::store::{NewRecord, Record};
use crate::domain::memory::view::NodeRef;
use crate::domain::org::is_org;
use crate::domain::org::scan::{ScanOptions, scan};
use crate::domain::outside::written::{self, Known, Mark, TextName};
use crate::domain::outside::{Outside, Piece};
use crate::domain::port::LogLevel;
use crate::domain::scope::Scope;
use crate::domain::signal::Origin;
use crate::domain::tool::{Class, Effect};
use crate::edge::engine::Engine;
use crate::edge::engine::record::kind;
use crate::edge::engine::turns::{KNOWN_SESSIONS, channel};
use crate::edge::org_file::read_text;
use crate::edge::thread::{aside, in_place};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// The most files that one command changed whose texts are marked one by one.
const CHANGED_MARKED: usize = 512;
/// The largest file that is read for its mark, in bytes.
const LARGEST_MARKED: u64 = 4 << 20;
/// Folders of the system: what stands there was not put there by anybody whose text is read.
const SYSTEM: [&str; 8] = ["/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/nix/store", "/proc"];

/// What is kept of texts that are made from text from outside.
#[derive(Default)]
pub(in crate::edge) struct Marks {
    /// Where a text came from, by its name.
    sources: HashMap<TextName, Vec<String>>,
    /// Titles of such texts, so that others need not be read.
    titles: HashSet<TextName>,
    /// Files that are no notes, and what was written in them.
    files: HashMap<String, TextName>,
    /// Texts that a human vouched for, wherever they stand.
    endorsed: HashSet<TextName>,
}

impl Marks {
    fn take(&mut self, name: TextName, body: &Value) {
        let texts = |key: &str| body[key].as_array().cloned().unwrap_or_default();
        let sources: Vec<String> =
            texts("sources").iter().filter_map(|source| source.as_str().map(str::to_string)).collect();
        if body["endorsed"].as_bool() == Some(true) {
            self.sources.remove(&name);
            self.endorsed.insert(name);
            return;
        }
        self.endorsed.remove(&name);
        // A mark that cannot be read is one all the same.
        let sources = if sources.is_empty() { vec!["text from outside".to_string()] } else { sources };
        if body["whole"].as_bool() == Some(true)
            && let Some(file) = body["file"].as_str()
        {
            self.files.insert(file.to_string(), name);
        }
        self.titles.extend(body["title"].as_str().and_then(from_hex));
        self.sources.insert(name, sources);
    }
}

fn to_hex(name: &TextName) -> String {
    blake3::Hash::from_bytes(*name).to_hex().to_string()
}

fn from_hex(text: &str) -> Option<TextName> {
    blake3::Hash::from_hex(text).ok().map(|hash| *hash.as_bytes())
}

fn mark_record(mark: &Mark) -> (&'static str, String, Value) {
    let body = json!({ "title": to_hex(&mark.title), "file": mark.file, "whole": mark.whole, "sources": mark.sources });
    (kind::MARK, to_hex(&mark.name), body)
}

/// What a command that is under way is led by.
pub(in crate::edge) type LedActs = HashMap<(TurnId, ActionHash), (Vec<String>, String)>;

/// What a conversation of which nobody knows what it read counts as having read.
fn earlier() -> Outside {
    Outside::of_sources(vec!["an earlier part of this conversation".to_string()])
}

impl Engine {
    /// Reads the marks that the store kept.
    pub(super) async fn load_marks(&self) -> Result<(), String> {
        let records = self.archive.latest_each(kind::MARK).await?;
        let mut marks = self.marks.write();
        for Record { key, body, .. } in &records {
            if let Some(name) = from_hex(key) {
                marks.take(name, body);
            }
        }
        Ok(())
    }

    /// Returns a file's name as a source is called by it: below its root.
    fn short_name(&self, file: &str) -> String {
        let path = Path::new(file);
        let roots = self.config.directories.iter().chain(&self.config.project);
        let below = roots.filter_map(|root| path.strip_prefix(root).ok()).min_by_key(|rest| rest.as_os_str().len());
        match below.filter(|rest| !rest.as_os_str().is_empty()) {
            Some(rest) => rest.display().to_string(),
            None => match path.strip_prefix(&self.config.home) {
                Ok(rest) => format!("~/{}", rest.display()),
                Err(_) => file.to_string(),
            },
        }
    }

    /// Returns how a file from outside is called, by the place that it lies in.
    fn source_by_place(&self, file: &str) -> Option<String> {
        let why = self.origins.source(Path::new(file))?;
        Some(format!("{} ({why})", self.short_name(file)))
    }

    /// Returns how a file from outside is called, by where it lies alone: also one that is nobody's here.
    pub(crate) fn source_of_place(&self, file: &str, scope: &Scope) -> Option<String> {
        let own = matches!(zone(file, scope), Zone::Project | Zone::Memex);
        let system = SYSTEM.iter().any(|root| crate::domain::gate::place::is_below(file, root));
        self.source_by_place(file)
            .or_else(|| (!own && !system).then(|| format!("{} (a file from elsewhere)", self.short_name(file))))
    }

    /// Returns where a file, or any node of it that memory has, came from, when it came from outside.
    pub(crate) fn source_of_file(&self, file: &str, scope: &Scope) -> Option<String> {
        let view = self.view();
        let nodes = || view.node(file, 0)?.with_descendants().find_map(|node| self.source_of(&node));
        self.source_of_place(file, scope).or_else(nodes)
    }

    fn called(&self, file: &str, url: &str) -> String {
        format!("{} (SOURCE_URL {})", self.short_name(file), written::host(url))
    }

    /// Returns where a node's text came from, when it came from outside and nobody vouched for it.
    pub(super) fn source_of(&self, node: &NodeRef) -> Option<String> {
        self.source_in(node, self.source_by_place(node.file()))
    }

    fn source_in(&self, node: &NodeRef, by_place: Option<String>) -> Option<String> {
        let card = node.card();
        let chain = std::iter::successors(Some(node.index), |at| card.parent(*at));
        let url = chain
            .flat_map(|at| card.properties(at))
            .chain(card.file_properties())
            .find(|entry| written::names_source(*entry))
            .map(|(_, url)| self.called(node.file(), url));
        let placed = url.or(by_place);
        let marks = self.marks.read();
        // Most texts are neither: nothing is read for them.
        if placed.is_none() && !marks.titles.contains(&written::title_name(own_title(node))) {
            return None;
        }
        let name = written::name(own_title(node), node.properties(), node.body());
        if marks.endorsed.contains(&name) {
            return None;
        }
        placed.or_else(|| {
            Some(format!("{} (made from {})", self.short_name(node.file()), joined(marks.sources.get(&name)?)))
        })
    }

    /// Returns what of some nodes came from outside, with their texts.
    pub fn outside_of_nodes<'a>(&self, nodes: impl IntoIterator<Item = &'a NodeRef>) -> Vec<Piece> {
        // Many nodes of one file, and the disk is asked about it once.
        let mut places: HashMap<Arc<str>, Option<String>> = HashMap::new();
        let mut piece = |node: &NodeRef| {
            let place = places.entry(node.file().clone()).or_insert_with(|| self.source_by_place(node.file())).clone();
            Some(Piece::new(&self.source_in(node, place)?, node.own(), node.privacy()))
        };
        nodes.into_iter().filter_map(&mut piece).collect()
    }

    /// Returns what of a text came from outside that was read from a file. It may take a while.
    pub(crate) fn outside_of_text(&self, file: &str, text: &Arc<str>, privacy: Privacy, scope: &Scope) -> Vec<Piece> {
        let whole = |source: String| vec![Piece::new(&source, text, privacy)];
        let name = written::whole_name(text.as_bytes());
        {
            let marks = self.marks.read();
            if marks.endorsed.contains(&name) {
                return Vec::new();
            }
            if let Some(sources) = marks.sources.get(&name) {
                return whole(format!("{} (made from {})", self.short_name(file), joined(sources)));
            }
        }
        let placed = self.source_of_place(file, scope);
        if !holds_notes(file) {
            return placed.map(whole).unwrap_or_default();
        }
        let Ok(outline) = scan(text.clone(), &ScanOptions::default()) else {
            return whole(format!("{} (too large to tell)", self.short_name(file)));
        };
        let marks = self.marks.read();
        let mut pieces = Vec::new();
        for (index, node) in outline.nodes.iter().enumerate() {
            let name = written::node_name(&outline, index);
            if marks.endorsed.contains(&name) {
                continue;
            }
            let url = || written::source_url(&outline, index).map(|url| self.called(file, url));
            let marked =
                || Some(format!("{} (made from {})", self.short_name(file), joined(marks.sources.get(&name)?)));
            if let Some(source) = placed.clone().or_else(url).or_else(marked) {
                let own = outline.slice(&(node.begin..node.section.end));
                pieces.push(Piece::new(&source, own, privacy));
            }
        }
        pieces
    }

    /// Returns what of a command's output came from outside: all of it, when anything in its project did. It may take
    /// a while.
    pub(crate) fn outside_of_command(&self, scope: &Scope, said: &str, privacy: Privacy) -> Vec<Piece> {
        let root = Path::new(&scope.project);
        let name = last(root);
        let placed = self.origins.source(root).or_else(|| self.origins.source_inside(root));
        let source = placed.map(|why| format!("the project {name} ({why})")).or_else(|| {
            let marks = self.marks.read();
            let mut marked = marks.files.iter().filter(|(file, _)| Path::new(file).starts_with(root));
            let (file, _) = marked.find(|(file, name)| {
                // What stands there now may be something else, and then it is the user's.
                let text = read_marked(file);
                text.is_some_and(|text| written::whole_name(text.as_bytes()) == **name)
                    && !marks.endorsed.contains(*name)
            })?;
            Some(format!("{} (made from text from outside)", self.short_name(file)))
        });
        source
            .or_else(|| self.notes_inside(root))
            .map(|source| vec![Piece::new(&source, said, privacy)])
            .unwrap_or_default()
    }

    /// Returns the first note directly in a project that came from outside by what it says.
    fn notes_inside(&self, root: &Path) -> Option<String> {
        let entries = std::fs::read_dir(root).ok()?;
        let files =
            entries.flatten().take(1_000).map(|entry| entry.path()).filter(|path| is_org(&path.to_string_lossy()));
        files.take(64).find_map(|path| {
            let file = path.to_string_lossy().into_owned();
            let outline = scan(read_marked(&file)?, &ScanOptions::default()).ok()?;
            let marks = self.marks.read();
            (0..outline.nodes.len()).find_map(|index| {
                let name = written::node_name(&outline, index);
                if marks.endorsed.contains(&name) {
                    return None;
                }
                let url = written::source_url(&outline, index).map(|url| self.called(&file, url));
                url.or_else(|| {
                    Some(format!("{} (made from {})", self.short_name(&file), joined(marks.sources.get(&name)?)))
                })
            })
        })
    }

    /// Returns the marks of what an act is about to write, before it does so, for the record of its intent.
    pub(super) async fn marks_of(
        &self,
        turn: &TurnId,
        cleared: &Cleared,
    ) -> Result<Vec<(&'static str, String, Value)>, String> {
        let action = cleared.action();
        let led = action.led().map(|led| led.sources.clone()).unwrap_or_default();
        let effect = self.toolbox().get(action.tool()).map(|tool| tool.effect);
        // What these change is known only when they have ended.
        if matches!(effect, Some(Effect::Execute | Effect::Custom(Class::Write | Class::Execute))) {
            let project = cleared.scope().project.clone();
            self.led_acts.lock().insert((turn.clone(), action.hash()), (led, project));
            return Ok(Vec::new());
        }
        let edits: Vec<EditFact> = cleared.facts().edits.iter().chain(&cleared.facts().put_texts).cloned().collect();
        self.marks_for(edits, led).await
    }

    /// Returns the marks of texts that are about to be written, for the record of an intent.
    pub(in crate::edge) async fn marks_for(
        &self,
        edits: Vec<EditFact>,
        led: Vec<String>,
    ) -> Result<Vec<(&'static str, String, Value)>, String> {
        if edits.is_empty() {
            return Ok(Vec::new());
        }
        let engine = self.me.upgrade().ok_or("the core has ended")?;
        aside(move || engine.marks_in(&edits, &led)).await
    }

    /// Returns the marks of texts that are about to be written. It reads them whole, and asks the disk about places.
    fn marks_in(&self, edits: &[EditFact], led: &[String]) -> Result<Vec<(&'static str, String, Value)>, String> {
        let found = {
            let marks = self.marks.read();
            let known = Known {
                led,
                marked: &|name| marks.sources.get(name).cloned(),
                place: &|file| self.source_by_place(file),
                called: &|file, url| self.called(file, url),
            };
            written::marks(edits, &known).map_err(|error| error.to_string())?
        };
        Ok(self.take_marks(found))
    }

    /// Holds everybody up who asks for marks or takes one in.
    #[cfg(test)]
    pub(in crate::edge) fn hold_marks(&self) -> parking_lot::RwLockWriteGuard<'_, Marks> {
        self.marks.write()
    }

    /// Takes marks in and returns the records of those that are new.
    fn take_marks(&self, found: Vec<Mark>) -> Vec<(&'static str, String, Value)> {
        let mut marks = self.marks.write();
        let mut records = Vec::new();
        for mark in found {
            let known = marks.sources.get(&mark.name) == Some(&mark.sources)
                && (!mark.whole || marks.files.get(&mark.file) == Some(&mark.name));
            if !known {
                let record = mark_record(&mark);
                marks.take(mark.name, &record.2);
                records.push(record);
            }
        }
        records
    }

    /// Returns the marks of what a command or a tool of the user's own left, when it was led from outside or read what came from there.
    pub(super) async fn marks_after(
        self: &Arc<Self>,
        turn: &TurnId,
        observation: &Observation,
    ) -> Vec<(&'static str, String, Value)> {
        let Some((led, _)) = self.led_acts.lock().remove(&(turn.clone(), observation.action)) else {
            return Vec::new();
        };
        let read = observation.outside.iter().map(|piece| piece.source().to_string());
        let sources: Vec<String> = led.into_iter().chain(read).collect::<BTreeSet<_>>().into_iter().collect();
        if sources.is_empty() || observation.changed.is_empty() {
            return Vec::new();
        }
        if observation.changed.len() > CHANGED_MARKED {
            let text = format!(
                "a command changed more than {CHANGED_MARKED} files; those behind them are not marked as made from text from outside"
            );
            self.say(LogLevel::Warning, &text);
        }
        let files: Vec<String> = observation.changed.iter().take(CHANGED_MARKED).cloned().collect();
        let found = tokio::task::spawn_blocking(move || {
            let mut found = Vec::new();
            for file in files {
                let Some(text) = read_marked(&file) else { continue };
                found.push(written::whole(&file, text.as_bytes(), sources.clone()));
                if is_org(&file) {
                    let after = EditFact {
                        file: file.clone(),
                        before: None,
                        after: text,
                        diff: String::new(),
                        by_setup: Default::default(),
                    };
                    let known =
                        Known { led: &sources, marked: &|_| None, place: &|_| None, called: &|_, url| url.to_string() };
                    found.extend(written::marks(&[after], &known).unwrap_or_default());
                }
            }
            found
        });
        self.take_marks(found.await.unwrap_or_default())
    }

    /// Keeps that a conversation read text from outside, now and in the store: what it proposes is led by that from
    /// here on.
    pub(crate) fn mark_outside(&self, session: &SessionId, outside: &Outside) {
        let mut sessions = self.outside.lock();
        let known = sessions.entry(session.clone()).or_default();
        let before = known.sources().len();
        known.join(outside);
        let sources = known.sources().to_vec();
        drop(sessions);
        if sources.len() > before {
            let (at, kind) = (self.clock.now(), kind::OUTSIDE.to_string());
            let body = json!({ "sources": sources });
            self.archive.queue(vec![NewRecord { at, kind, key: session.0.clone(), body }]);
        }
    }

    /// Takes note of a question before anybody is asked. One that begins a conversation makes known that it was had here;
    /// of answers that go along from one that was not, it stays that nobody knows what they draw on.
    pub(super) async fn note_asked(&self, session: &SessionId, tells_answers: bool) {
        match (self.read_by(session).await, tells_answers) {
            (Some(_), _) => {}
            (None, true) => self.mark_outside(session, &earlier()),
            (None, false) => self.note_had(session),
        }
    }

    /// Keeps that a conversation goes on from another one, of which nobody knows here what it read.
    pub(in crate::edge) fn note_resumed(&self, session: &SessionId) {
        self.mark_outside(session, &earlier());
    }

    fn note_had(&self, session: &SessionId) {
        let (at, kind) = (self.clock.now(), kind::HAD.to_string());
        self.archive.queue(vec![NewRecord { at, kind, key: session.0.clone(), body: json!({}) }]);
        let mut sessions = self.outside.lock();
        if sessions.len() < KNOWN_SESSIONS {
            sessions.entry(session.clone()).or_default();
        }
    }

    /// Returns what a conversation read from outside. What cannot be found out counts as read, and so does what one of
    /// which no turn was had here read before: it comes from another store, another machine, or a client's own file.
    pub(super) async fn outside_of(&self, session: &SessionId) -> Outside {
        self.read_by(session).await.unwrap_or_else(earlier)
    }

    /// Returns what a conversation read from outside, when it was had here or that cannot be found out.
    async fn read_by(&self, session: &SessionId) -> Option<Outside> {
        if let Some(known) = self.outside.lock().get(session) {
            return Some(known.clone());
        }
        let latest = |kind: &'static str| self.archive.latest(kind, session.0.clone());
        let record = match latest(kind::OUTSIDE).await {
            Ok(Some(record)) => record,
            Ok(None) => {
                return match latest(kind::HAD).await {
                    Ok(had) => had.map(|_| Outside::default()),
                    Err(_) => Some(earlier()),
                };
            }
            Err(_) => return Some(earlier()),
        };
        Some(match record.body["sources"].as_array() {
            Some(sources) => {
                let sources = sources.iter().filter_map(|source| source.as_str().map(str::to_string));
                Outside::of_sources(sources.collect::<Vec<_>>())
            }
            None => earlier(),
        })
    }

    /// Vouches for a heading with all below it, or for a whole file: what it says now counts as the user's own.
    ///
    /// # Errors
    /// When the channel is no human's own, nothing of that name is there, or it could not be stored.
    pub async fn endorse(self: &Arc<Self>, origin: &Origin, what: &str) -> Result<String, String> {
        if !origin.rights.may_steer() {
            return Err(
                "this channel may not vouch for texts; do it in Emacs, or in a terminal that the agent did not start"
                    .to_string(),
            );
        }
        let what = what.trim();
        if what.is_empty() {
            return Err("name a heading by its id, or a file".to_string());
        }
        let view = self.view();
        let canonical = crate::edge::walk::canonical_name(what.strip_prefix("file:").unwrap_or(what));
        let node = view.get(&NodeId::new(what)).or_else(|| view.get(&NodeId::new(canonical.as_str())));
        let named = |below: NodeRef| {
            let title = own_title(&below);
            let name = written::name(title, below.properties(), below.body());
            (name, written::title_name(title), below.file().to_string())
        };
        // All texts below it are read.
        let mut names: Vec<(TextName, TextName, String)> =
            in_place(|| node.iter().flat_map(|node| node.with_descendants()).map(named).collect());
        if node.as_ref().is_none_or(|node| node.index == 0) {
            let file = canonical.clone();
            let text = tokio::task::spawn_blocking(move || read_marked(&file)).await.ok().flatten();
            let found =
                text.map(|text| (written::whole_name(text.as_bytes()), written::title_name(&canonical), canonical));
            names.extend(found);
        }
        if names.is_empty() {
            return Err(format!("there is no heading and no file “{}”", crate::domain::inert::exact(what)));
        }
        let (count, by) = (names.len(), channel(origin.source));
        let records: Vec<_> = names
            .iter()
            .map(|(name, title, file)| {
                let body = json!({ "title": to_hex(title), "file": file, "endorsed": true, "by": by });
                (kind::MARK, to_hex(name), body)
            })
            .collect();
        self.append_all(records.iter().cloned()).await?;
        let mut marks = self.marks.write();
        for ((name, ..), (_, _, body)) in names.iter().zip(&records) {
            marks.take(*name, body);
        }
        drop(marks);
        self.say(LogLevel::Info, &format!("the user vouched for {count} texts"));
        Ok(match node {
            Some(node) if node.index > 0 => format!(
                "What “{}” and all below it says now counts as your own, until somebody changes it.",
                crate::domain::inert::exact(node.title())
            ),
            Some(_) | None => "What that file says now counts as your own, until somebody changes it.".to_string(),
        })
    }
}

/// Returns a heading's title; a file without `#+TITLE` has none.
fn own_title(node: &NodeRef) -> &str {
    if node.index == 0 { "" } else { node.title() }
}

fn joined(sources: &[String]) -> String {
    // What is made from what was made from a page is made from that page.
    let plain = |source: &String| match source.split_once(" (made from ") {
        Some((_, first)) => first.trim_end_matches(')').to_string(),
        None => source.clone(),
    };
    let all: BTreeSet<String> = sources.iter().map(plain).collect();
    let named: Vec<String> = all.iter().take(2).cloned().collect();
    let more = if all.len() > named.len() { " and more" } else { "" };
    format!("{}{more}", named.join(", "))
}

fn last(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Reads a text for its mark; `None` when it is none, or too large.
fn read_marked(file: &str) -> Option<Arc<str>> {
    let path = Path::new(file);
    let about = path.symlink_metadata().ok().filter(|about| about.is_file() && about.len() <= LARGEST_MARKED)?;
    debug_assert!(about.is_file());
    read_text(path).ok().map(|decoded| decoded.text)
}
