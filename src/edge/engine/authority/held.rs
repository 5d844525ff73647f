//! Lines that tighten and were seen: they go on counting when somebody takes them away, until the user lets them go.
//!
//! What was seen stands in records, which nothing moves. A heading that is gone whole has nothing left to protect, and is
//! known again when it comes back under its id.

use crate::domain::gate::facts::EditFact;
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::card::Card;
use crate::domain::memory::query::files_with;
use crate::domain::memory::view::NodeRef;
use crate::domain::policy::held::{FORBID, Line, Seen, Spot, said, together};
use crate::domain::policy::labels::LABEL;
use crate::domain::policy::tools::{Table, word};
use crate::edge::engine::Engine;
use crate::edge::engine::record::kind;
use crate::edge::rules_file;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

impl Engine {
    /// Reads which lines the store knows, and apart from them what makes headings private.
    pub(super) async fn load_seen(&self) -> Result<(Seen, Seen), String> {
        let (mut seen, mut labels) = (Seen::default(), Seen::default());
        for record in self.archive.latest_each(kind::TIGHTENING).await? {
            let text = |name: &str| record.body[name].as_str().map(str::to_string);
            let (Some(file), Some(heading), Some(name)) = (text("file"), text("heading"), text("name")) else {
                continue;
            };
            let spot = Spot { file, heading, name };
            if let (Some(value), true) = (text("value"), spot.hash() == record.key) {
                let known = if spot.name == LABEL { &mut labels } else { &mut seen };
                known.put(spot, Line { value, path: text("path").unwrap_or_default() });
            }
        }
        Ok((seen, labels))
    }

    /// Returns what counts at some places instead of what stands there now; `None` when nothing was taken away.
    pub(super) fn held_at<'s>(&self, spots: impl IntoIterator<Item = &'s Spot>, now: Option<&str>) -> Option<String> {
        let authority = self.authority.lock();
        let lines = spots.into_iter().filter_map(|spot| Some((spot, authority.seen.get(spot)?)));
        let held = |all: Option<String>, (spot, line): (&Spot, &Line)| {
            Some(together(&spot.name, &line.value, all.as_deref().or(now)))
        };
        lines.fold(None, held).filter(|all| now != Some(all))
    }

    /// Returns where lines stand that are known of a heading: under its id, and under a name that it had before, as
    /// somebody may take away its id as well, or give it another one.
    fn spots_of(&self, node: &NodeRef) -> Vec<Spot> {
        if self.authority.lock().seen.is_empty() {
            return Vec::new();
        }
        let (id, path) = (node.id(), node.card().path_name(node.index));
        let spots: BTreeSet<Spot> = {
            let authority = self.authority.lock();
            authority.seen.named(id.as_str()).chain(authority.seen.named(&path)).cloned().collect()
        };
        let view = self.view();
        // What another heading is named by now is of that one.
        let ours = |spot: &Spot| spot.heading == id.as_str() || view.get(&NodeId::new(spot.heading.as_str())).is_none();
        spots.into_iter().filter(ours).collect()
    }

    /// Returns whether something is known of a heading that may have been taken away from it.
    pub(super) fn knows_lines_of(&self, node: &NodeRef) -> bool {
        !self.spots_of(node).is_empty()
    }

    /// Returns what counts at a heading instead of what stands there now, by the name of the line.
    pub(super) fn held_of_heading(&self, node: &NodeRef) -> BTreeMap<&'static str, String> {
        let spots = self.spots_of(node);
        let held = |name: &'static str| {
            let known = spots.iter().filter(|spot| spot.name == name);
            Some((name, self.held_at(known, said(name, values(node, name)).as_deref())?))
        };
        if spots.is_empty() { BTreeMap::new() } else { FORBID.into_iter().filter_map(held).collect() }
    }

    /// Returns what counts of one name for all of a file instead of what stands there now.
    pub(super) fn held_of_file(&self, file: &str, name: &str, now: Option<&str>) -> Option<String> {
        self.held_at([&Spot::of_file(file, name)], now.and_then(|now| said(name, [now])).as_deref())
    }

    /// Remembers lines. What is known already touches no store.
    pub(super) fn see(&self, lines: impl IntoIterator<Item = (Spot, Line)>) {
        let mut authority = self.authority.lock();
        let mut records = Vec::new();
        for (spot, now) in lines {
            let known = authority.seen.get(&spot);
            let value =
                known.map_or_else(|| now.value.clone(), |known| together(&spot.name, &known.value, Some(&now.value)));
            let line = Line { value, path: now.path };
            if known != Some(&line) {
                records.push(record(&spot, Some(&line)));
                authority.seen.put(spot, line);
            }
        }
        drop(authority);
        self.keep_seen(records);
    }

    /// Queues records of lines; nobody waits, as what is not stored is learned again.
    pub(super) fn keep_seen(&self, records: Vec<(&'static str, String, Value)>) {
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
        let speaking: Vec<&Arc<Card>> = speaking.into_iter().filter_map(|file| view.card(file)).collect();
        let mut private: Vec<&Arc<Card>> = match files {
            Some(files) => files.iter().filter_map(|file| view.card(file)).collect(),
            None => view.cards().collect(),
        };
        if files.is_none() {
            private.retain(|card| card.strictest() > Privacy::Open);
        }
        let (speaking, mut private) = {
            let stamps = self.stamps.lock();
            let read = |card: &&Arc<Card>| stamps.get(&*card.file).is_some_and(|stamp| stamp.document == card.root());
            let on_disk = |cards: Vec<_>| cards.into_iter().filter(read).collect::<Vec<&Arc<Card>>>();
            (on_disk(speaking), on_disk(private))
        };
        self.see(speaking.into_iter().flat_map(|card| lines_of(card)));
        let open =
            private.extract_if(.., |card| card.strictest() == Privacy::Open).map(|card| card.file.clone()).collect();
        self.see_labels(&private, open);
    }

    /// Lets go what an edit took away that a human approved: the plan showed it as loosening.
    ///
    /// What somebody else had taken away before goes on counting.
    pub(in crate::edge) fn let_go_approved(&self, edits: &[EditFact]) {
        if self.authority.lock().seen.is_empty() {
            return;
        }
        let rules = self.rules_name();
        let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
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
            let now: Option<&Line> = after.get(&spot);
            let value = now.map(|now| now.value.as_str());
            let weaker = value != Some(&together(&spot.name, &old.value, value));
            let place = if spot.heading.is_empty() { &spot.file } else { &spot.heading };
            if !weaker || !there.contains(place) {
                continue;
            }
            // Also under names that the heading had before.
            let names = authority.seen.named(&spot.heading).chain(authority.seen.named(&old.path));
            let mut spots: BTreeSet<Spot> = names.filter(|one| one.name == spot.name).cloned().collect();
            spots.retain(|one| one == &spot || (!spot.heading.is_empty() && !there.contains(&one.heading)));
            spots.insert(spot);
            for spot in spots {
                let whole = |known: &Line| together(&spot.name, &known.value, Some(&old.value)) == old.value;
                if authority.seen.get(&spot).is_some_and(whole) {
                    records.push(record(&spot, now));
                    set(&mut authority.seen, spot, now);
                }
            }
        }
        drop(authority);
        self.keep_seen(records);
    }

    /// Returns the name under which rows of the table are known, also while there is no file.
    pub(super) fn rules_name(&self) -> String {
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

pub(super) fn set(seen: &mut Seen, spot: Spot, now: Option<&Line>) {
    match now {
        Some(now) => seen.put(spot, now.clone()),
        None => seen.take(&spot),
    }
}

pub(super) fn record(spot: &Spot, line: Option<&Line>) -> (&'static str, String, Value) {
    let (value, path) = (line.map(|line| &line.value), line.map(|line| &line.path));
    let body = json!({ "file": spot.file, "heading": spot.heading, "name": spot.name, "value": value, "path": path });
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
pub(super) fn rows<'t>(file: &'t str, table: &'t Table) -> impl Iterator<Item = (Spot, Line)> + 't {
    table.rows.iter().filter_map(move |row| {
        let line = Line { value: said(&row.tool, [word(row.level)])?, path: String::new() };
        Some((Spot::of_file(file, &row.tool), line))
    })
}

/// Returns what a file tightens.
fn lines_of(card: &Card) -> Vec<(Spot, Line)> {
    let mut lines = Vec::new();
    for name in FORBID {
        let whole = card.file_property(name).and_then(|value| said(name, [value]));
        let line = |value| Line { value, path: String::new() };
        lines.extend(whole.map(|value| (Spot::of_file(&card.file, name), line(value))));
    }
    for index in 0..card.len() {
        for name in FORBID {
            let values = card.properties(index).filter(|(key, _)| is_named(key, name)).map(|(_, value)| value);
            if let Some(value) = said(name, values) {
                let line = Line { value, path: card.path_name(index) };
                lines.push((Spot::of_heading(card.id(index).as_str(), name), line));
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
