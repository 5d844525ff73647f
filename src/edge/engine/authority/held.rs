//! Lines that tighten and were seen: they go on counting when somebody takes them away, until the user lets them go.
//!
//! What was seen stands in records, which nothing moves. A heading that is gone whole has nothing left to protect, and is
//! known again when it comes back under its id.

use crate::domain::audit::{Decision, Ruling};
use crate::domain::gate::facts::EditFact;
use crate::domain::gate::permissions::default_level;
use crate::domain::id::NodeId;
use crate::domain::memory::card::Card;
use crate::domain::memory::query::files_with;
use crate::domain::memory::view::NodeRef;
use crate::domain::policy::held::{FORBID, GONE, Spot, said, together};
use crate::domain::policy::loosening::Loosening;
use crate::domain::policy::tools::{Table, strictness, word};
use crate::domain::port::LogLevel;
use crate::domain::scope::Level;
use crate::edge::engine::record::kind;
use crate::edge::engine::{Engine, audit};
use crate::edge::rules_file;
use crate::edge::thread::in_place;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

/// What was seen, by where it stands.
pub(super) type Seen = BTreeMap<Spot, String>;

/// What one file has lost, which counts until the user lets it go.
pub(super) struct Lost {
    /// What the user confirms: all of it together.
    pub(super) loosening: Loosening,
    /// Where each line stands, and what stands there now.
    lines: Vec<(Spot, Option<String>)>,
}

impl Lost {
    /// Makes it of what each line is called, and where it stands with what stands there now.
    fn new(file: &str, lines: Vec<(String, Spot, Option<String>)>) -> Lost {
        let all: Vec<&str> = lines.iter().map(|(words, _, _)| words.as_str()).collect();
        let loosening =
            Loosening { file: file.to_string(), heading: String::new(), name: GONE.to_string(), value: all.join("; ") };
        Lost { loosening, lines: lines.into_iter().map(|(_, spot, now)| (spot, now)).collect() }
    }

    /// Returns whether something of that name is lost.
    pub(super) fn is_of(&self, name: &str) -> bool {
        self.lines.iter().any(|(spot, _)| spot.name == name)
    }
}

impl Engine {
    /// Reads which lines the store knows.
    pub(super) async fn load_seen(&self) -> Result<Seen, String> {
        let mut seen = Seen::new();
        for record in self.archive.latest_each(kind::TIGHTENING).await? {
            let text = |name: &str| record.body[name].as_str().map(str::to_string);
            let (Some(file), Some(heading), Some(name)) = (text("file"), text("heading"), text("name")) else {
                continue;
            };
            let spot = Spot { file, heading, name };
            if let Some(value) = text("value").filter(|_| spot.hash() == record.key) {
                seen.insert(spot, value);
            }
        }
        Ok(seen)
    }

    /// Returns what counts at a place instead of what stands there now; `None` when nothing was taken away.
    fn held_at(&self, spot: &Spot, now: Option<&str>) -> Option<String> {
        let authority = self.authority.lock();
        let all = together(&spot.name, authority.seen.get(spot)?, now);
        (now != Some(&all)).then_some(all)
    }

    /// Returns what counts of one name at a heading instead of what stands there now.
    pub(super) fn held_of_heading(&self, node: &NodeRef, name: &str) -> Option<String> {
        self.held_at(&Spot::of_heading(node.id().as_str(), name), said(name, values(node, name)).as_deref())
    }

    /// Returns what counts of one name for all of a file instead of what stands there now.
    pub(super) fn held_of_file(&self, file: &str, name: &str, now: Option<&str>) -> Option<String> {
        self.held_at(&Spot::of_file(file, name), now.and_then(|now| said(name, [now])).as_deref())
    }

    /// Remembers lines. What is known already touches no store.
    fn see(&self, lines: impl IntoIterator<Item = (Spot, String)>) {
        let mut authority = self.authority.lock();
        let mut records = Vec::new();
        for (spot, now) in lines {
            let known = authority.seen.get(&spot);
            let all = known.map_or_else(|| now.clone(), |known| together(&spot.name, known, Some(&now)));
            if known != Some(&all) {
                records.push(record(&spot, Some(&all)));
                authority.seen.insert(spot, all);
            }
        }
        drop(authority);
        self.keep_seen(records);
    }

    /// Queues records of lines; nobody waits, as what is not stored is learned again.
    fn keep_seen(&self, records: Vec<(&'static str, String, Value)>) {
        // Beside the owner of a store nothing is written: it sees for itself.
        if records.is_empty() || self.beside.is_some() {
            return;
        }
        let at = self.clock.now();
        let made = records.into_iter().map(|(kind, key, body)| crate::domain::memory::store::NewRecord {
            at,
            kind: kind.to_string(),
            key,
            body,
        });
        self.archive.queue(made.collect());
    }

    /// Remembers what files say that were just read: of some of them, or of all.
    ///
    /// Only what stands on the disk is remembered, since a line that is being typed is none yet.
    pub(in crate::edge::engine) fn see_read(&self, files: Option<&HashSet<Arc<str>>>) {
        let view = self.view();
        let mut speaking: BTreeSet<&Arc<str>> = BTreeSet::new();
        for name in FORBID {
            speaking.extend(files_with(&view, name).chain(files_with(&view, &format!("{name}+"))));
        }
        speaking.retain(|file| files.is_none_or(|files| files.contains(*file)));
        if speaking.is_empty() {
            return;
        }
        let on_disk: Vec<&Arc<str>> = {
            let stamps = self.stamps.lock();
            let read = |file: &&Arc<str>| {
                let root = view.card(file).map(|card| card.root());
                stamps.get(&***file).is_some_and(|stamp| Some(stamp.document) == root)
            };
            speaking.into_iter().filter(read).collect()
        };
        self.see(on_disk.into_iter().filter_map(|file| view.card(file)).flat_map(|card| lines_of(card)));
    }

    /// Lets go what an edit took away that a human approved: the plan showed it as loosening.
    ///
    /// What somebody else had taken away before goes on counting.
    pub(in crate::edge) fn let_go_approved(&self, edits: &[EditFact]) {
        if self.authority.lock().seen.is_empty() {
            return;
        }
        let rules = self.rules_name();
        let (mut before, mut after) = (Seen::new(), Seen::new());
        let mut there: HashSet<String> = HashSet::new();
        for edit in edits {
            let old = edit.before.clone().unwrap_or_else(|| "".into());
            if self.is_rules(&edit.file) {
                before.extend(rows(&rules, &Table::parse(&rules, &old)));
                after.extend(rows(&rules, &Table::parse(&rules, &edit.after)));
                there.insert(rules.clone());
                continue;
            }
            if !crate::domain::org::is_org(&edit.file) {
                continue;
            }
            let (Ok(old), Ok(new)) = (self.build(&edit.file, old), self.build(&edit.file, edit.after.clone())) else {
                continue;
            };
            before.extend(lines_of(old.card()));
            after.extend(lines_of(new.card()));
            there.extend(new.ids.iter().map(|id| id.as_str().to_string()));
            there.insert(edit.file.clone());
        }
        let mut authority = self.authority.lock();
        let mut records = Vec::new();
        for (spot, old) in before {
            let now = after.get(&spot).map(String::as_str);
            let weaker = now != Some(&together(&spot.name, &old, now));
            let whole = authority.seen.get(&spot).is_some_and(|known| together(&spot.name, known, Some(&old)) == old);
            let place = if spot.heading.is_empty() { &spot.file } else { &spot.heading };
            if weaker && whole && there.contains(place) {
                records.push(record(&spot, now));
                set(&mut authority.seen, spot, now);
            }
        }
        drop(authority);
        self.keep_seen(records);
    }

    /// Returns what headings and files have lost that would hold back now, by file.
    pub(super) fn lost_by_files(&self) -> Vec<Lost> {
        let seen: Vec<Spot> = self.authority.lock().seen.keys().cloned().collect();
        let view = self.view();
        let mut by_file: BTreeMap<String, Vec<(String, Spot, Option<String>)>> = BTreeMap::new();
        for spot in seen.into_iter().filter(|spot| FORBID.contains(&spot.name.as_str())) {
            let node = match spot.heading.is_empty() {
                true => view.node(&spot.file, 0),
                false => view.get(&NodeId::new(spot.heading.as_str())),
            };
            let Some(node) = node else { continue };
            let now = match spot.heading.is_empty() {
                true => node.card().file_property(&spot.name).and_then(|now| said(&spot.name, [now])),
                false => said(&spot.name, values(&node, &spot.name)),
            };
            let Some(all) = self.held_at(&spot, now.as_deref()) else { continue };
            if self.mandate_where(&node, true).holds_as(&self.mandate_where(&node, false)) {
                // Something above holds all of it back anyway.
                continue;
            }
            let under = match (spot.heading.is_empty(), spot.heading.contains(node.title())) {
                (true, _) => String::new(),
                (false, true) => format!(" under “{}”", spot.heading),
                (false, false) => format!(" under “{}” ({})", node.title(), spot.heading),
            };
            let words = format!("{} = {all}{under}{}", spot.name, becomes(now.as_deref()));
            by_file.entry(node.file().to_string()).or_default().push((words, spot, now));
        }
        by_file.into_iter().map(|(file, lines)| Lost::new(&file, lines)).collect()
    }

    /// Returns the levels with those that the table of rules has lost, and what it has lost.
    ///
    /// What it has is remembered.
    pub(super) fn held_levels(
        &self,
        table: &Table,
        mut levels: BTreeMap<String, Level>,
    ) -> (BTreeMap<String, Level>, Option<Lost>) {
        let name = self.rules_name();
        let now: Seen = rows(&name, table).collect();
        self.see(now.clone());
        let first = Spot::of_file(&name, "");
        let known: Vec<(Spot, String)> = {
            let authority = self.authority.lock();
            let rows = authority.seen.range(first..).take_while(|(spot, _)| spot.file == name);
            rows.map(|(spot, value)| (spot.clone(), value.clone())).collect()
        };
        let toolbox = self.toolbox();
        let mut lost = Vec::new();
        for (spot, known) in known {
            let row = now.get(&spot).map(String::as_str);
            let all = together(&spot.name, &known, row);
            let (Some(tool), Some(held)) = (toolbox.get(&spot.name), Level::parse(&all)) else { continue };
            let counts = levels.iter().find(|(tool, _)| tool.eq_ignore_ascii_case(&spot.name));
            let base = counts.map_or_else(|| default_level(tool), |(_, level)| *level);
            if row == Some(&all) || strictness(held) <= strictness(base) {
                continue;
            }
            levels.retain(|tool, _| !tool.eq_ignore_ascii_case(&spot.name));
            levels.insert(spot.name.clone(), held);
            let stands = table.rows.iter().find(|row| row.tool == spot.name).map(|row| word(row.level));
            lost.push((format!("{} = {all}{}", spot.name, becomes(stands)), spot, row.map(str::to_string)));
        }
        // Of a table that cannot be read nobody knows what it has lost.
        let lost = (!lost.is_empty() && table.gap().is_none()).then(|| Lost::new(&table.file, lost));
        (levels, lost)
    }

    /// Returns everything that was taken away and waits for the user.
    pub(super) fn all_lost(&self) -> Vec<Lost> {
        self.levels_and_lost().2.into_iter().chain(self.lost_by_files()).collect()
    }

    /// Says whether exactly this was taken away and waits.
    pub(super) fn still_lost(&self, wanted: &Loosening) -> Result<Lost, String> {
        let found = in_place(|| self.all_lost().into_iter().find(|lost| lost.loosening == *wanted));
        found.ok_or_else(|| {
            "that is not what is missing now, so nothing was let go; look again: M-x passepartout-rules".to_string()
        })
    }

    /// Lets go what a file has lost, as the user approved it, and counts what stands there instead as confirmed.
    pub(super) async fn let_go_lost(&self, wanted: &Loosening) -> Result<String, String> {
        let lost = self.still_lost(wanted)?;
        let words = self.loggable(wanted);
        let decision: Decision = Engine::of_human(Ruling::Confirmed, words.clone(), "Emacs");
        let records: Vec<_> = lost.lines.iter().map(|(spot, now)| record(spot, now.as_deref())).collect();
        self.append_all(records.into_iter().chain([audit::kept(&decision)])).await?;
        {
            let mut authority = self.authority.lock();
            for (spot, now) in &lost.lines {
                set(&mut authority.seen, spot.clone(), now.as_deref());
            }
        }
        self.say(LogLevel::Info, &format!("{words} was let go"));
        // The plan showed what stands there now.
        let waiting =
            in_place(|| self.levels_and_lost().1.into_iter().chain(self.waiting_mandates()).collect::<Vec<_>>());
        for loosening in waiting {
            let shown = |(spot, now): &(Spot, Option<String>)| {
                let row = spot.heading.is_empty() && loosening.file == wanted.file;
                let place = row || (!spot.heading.is_empty() && spot.heading == loosening.heading);
                let is_row = !FORBID.contains(&spot.name.as_str());
                spot.name == loosening.name && place && (is_row || now.is_some())
            };
            if lost.lines.iter().any(shown) {
                self.keep_loosening(&loosening, Ruling::Confirmed, "Emacs").await?;
            }
        }
        Ok(format!("It does not count any more: {} in {}.", wanted.value, wanted.file))
    }

    /// Returns the name under which rows of the table are known, also while there is no file.
    fn rules_name(&self) -> String {
        let folder = &self.config.settings;
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        folder.join(rules_file::NAME).to_string_lossy().into_owned()
    }

    /// Returns whether a file is the table of rules, also by where links lead to.
    pub(in crate::edge) fn is_rules(&self, file: &str) -> bool {
        let name = self.rules_name();
        file == name || Path::new(&name).canonicalize().is_ok_and(|real| real == Path::new(file))
    }
}

/// Says what a line has become.
fn becomes(now: Option<&str>) -> String {
    now.map_or_else(|| ", taken away".to_string(), |now| format!(", now {now}"))
}

fn set(seen: &mut Seen, spot: Spot, now: Option<&str>) {
    match now {
        Some(now) => drop(seen.insert(spot, now.to_string())),
        None => drop(seen.remove(&spot)),
    }
}

fn record(spot: &Spot, value: Option<&str>) -> (&'static str, String, Value) {
    let body = json!({ "file": spot.file, "heading": spot.heading, "name": spot.name, "value": value });
    (kind::TIGHTENING, spot.hash(), body)
}

/// Returns whether a key is a name, on one line or on a line that adds to it.
fn is_named(key: &str, name: &str) -> bool {
    key.strip_prefix(name).is_some_and(|rest| matches!(rest, "" | "+"))
}

/// Returns what a heading itself says of one name.
pub(super) fn values<'n>(node: &'n NodeRef, name: &str) -> Vec<&'n str> {
    node.properties().filter(|(key, _)| is_named(key, name)).map(|(_, value)| value).collect()
}

/// Returns what the rows of a table tighten.
fn rows<'t>(file: &'t str, table: &'t Table) -> impl Iterator<Item = (Spot, String)> + 't {
    table.rows.iter().filter_map(move |row| Some((Spot::of_file(file, &row.tool), said(&row.tool, [word(row.level)])?)))
}

/// Returns what a file tightens.
fn lines_of(card: &Card) -> Vec<(Spot, String)> {
    let mut lines = Vec::new();
    for name in FORBID {
        let whole = card.file_property(name).and_then(|value| said(name, [value]));
        lines.extend(whole.map(|value| (Spot::of_file(&card.file, name), value)));
    }
    for index in 0..card.len() {
        for name in FORBID {
            let values = card.properties(index).filter(|(key, _)| is_named(key, name)).map(|(_, value)| value);
            if let Some(value) = said(name, values) {
                lines.push((Spot::of_heading(card.id(index).as_str(), name), value));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::engine::fresh::tests::Place;
    use std::path::PathBuf;

    #[tokio::test(flavor = "multi_thread")]
    async fn what_says_nothing_or_is_known_touches_no_store() {
        let plain: String = (0..100).map(|n| format!("* Note {n}\n:PROPERTIES:\n:EFFORT: {n}\n:END:\n")).collect();
        let place = Place::new(&plain).await;
        let kept = async || place.engine.archive.newest(kind::TIGHTENING, 100).await.expect("it can be read").len();
        let read = |text: &str| {
            place.write(text);
            place.engine.read_changed(&[PathBuf::from(&place.file)]);
        };
        place.engine.levels();
        assert_eq!(kept().await, 0);
        let ruled = format!("* Office\n:PROPERTIES:\n:ID: o\n:PP_DENY: shell\n:PP_BUDGET: 9\n:END:\n{plain}");
        read(&ruled);
        assert_eq!(kept().await, 2, "one record a line");
        for n in 0..3 {
            read(&format!("{ruled}* More {n}\n"));
            place.engine.read_memex(&mut |_| {});
            place.engine.levels();
            assert!(place.engine.lost_by_files().is_empty());
        }
        read(&plain);
        assert_eq!(kept().await, 2, "what is known is not written again, nor what goes");
    }
}
