//! Labels that were taken away by hand, by a pull or by another program: they go on counting until the user lets them go.
//!
//! What the disk said is remembered, as lines that tighten are; whatever enters memory is at least so private. A heading
//! that is gone whole has nothing left to protect, and is known again under its id or at its path.

use crate::domain::count::counted;
use crate::domain::gate::facts::EditFact;
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::card::Card;
use crate::domain::memory::document::{Document, PrivacyOptions};
use crate::domain::memory::shape::Shape;
use crate::domain::memory::view::View;
use crate::domain::org::is_org;
use crate::domain::policy::held::{Line, Seen, Spot};
use crate::domain::policy::labels::{LABEL, Mark, Names, both, lasting, least, marks, tier_of};
use crate::domain::port::LogLevel;
use crate::edge::engine::Engine;
use crate::edge::engine::authority::Authority;
use crate::edge::engine::authority::held::{record, set};
use crate::edge::engine::focus::renamed_id;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// What a file has lost of its labels.
#[derive(Default)]
pub(super) struct LostLabels {
    /// Each in words, as the user is shown it.
    pub(super) words: Vec<String>,
    /// Where what is remembered of them stands, and what stands there now.
    pub(super) spots: Vec<(Spot, Option<Line>)>,
}

impl Engine {
    /// Has documents that come to memory count as at least so private as is remembered of their headings.
    pub(in crate::edge::engine) fn with_labels(&self, documents: Vec<Arc<Document>>) -> Vec<Arc<Document>> {
        let mut authority = self.authority.lock();
        if authority.labels.is_empty() && authority.settled.is_empty() {
            return documents;
        }
        let Authority { labels, settled, .. } = &mut *authority;
        let options = self.privacy_options();
        let (mut records, mut held) = (Vec::new(), Vec::new());
        for mut document in documents {
            raise(&mut document, labels, &options);
            // What came out from under a label without an id of its own is known by its name in this file alone.
            let came =
                settled.get(&document.file).map(|known| came_out(&document, known, &options)).unwrap_or_default();
            if !came.is_empty() {
                for (spot, line) in came {
                    records.push(record(&spot, Some(&line)));
                    labels.put(spot, line);
                }
                raise(&mut document, labels, &options);
            }
            held.push(document);
        }
        drop(authority);
        self.keep_seen(records);
        held
    }

    /// Has one document that was just made count as at least so private as is remembered of its headings.
    pub(in crate::edge::engine) fn labelled(&self, document: Document) -> Document {
        let authority = self.authority.lock();
        if authority.labels.is_empty() {
            return document;
        }
        let mut document = Arc::new(document);
        raise(&mut document, &authority.labels, &self.privacy_options());
        Arc::unwrap_or_clone(document)
    }

    /// Takes note of which files hold what is more private than it says.
    pub(in crate::edge::engine) fn note_held(&self, changed: &[Arc<Document>], gone: &[&str]) {
        let mut authority = self.authority.lock();
        for document in changed {
            match document.held().is_empty() {
                true => drop(authority.holding.remove(&document.file)),
                false => drop(authority.holding.insert(document.file.clone())),
            }
        }
        for file in gone {
            authority.holding.remove(*file);
            authority.settled.remove(*file);
        }
    }

    /// Returns the files in which something is more private than it says, each with how private the strictest of it is.
    pub(in crate::edge) fn held_files(&self) -> BTreeMap<String, Privacy> {
        let files: Vec<Arc<str>> = self.authority.lock().holding.iter().cloned().collect();
        let view = self.view();
        let held = |file: Arc<str>| {
            let card = view.card(&file)?;
            let held = (0..card.len()).filter(|index| card.is_held(*index)).map(|index| card.privacy(index)).max()?;
            Some((file.to_string(), held))
        };
        files.into_iter().filter_map(held).collect()
    }

    /// Makes memory that a start found as private as is remembered: what made its cards may not have known of it.
    pub(super) fn hold_found(&self) {
        let view = self.view();
        let mut files: BTreeSet<Arc<str>> =
            view.cards().filter(|card| card.holds()).map(|card| card.file.clone()).collect();
        {
            let stamps = self.stamps.lock();
            let mut authority = self.authority.lock();
            authority.holding = files.clone();
            let on_disk =
                |card: &&Arc<Card>| stamps.get(&*card.file).is_some_and(|stamp| stamp.document == card.root());
            let private = view.cards().filter(|card| card.strictest() > Privacy::Open).filter(on_disk);
            authority.settled = private.map(|card| (card.file.clone(), Settled::of(card))).collect();
            for (spot, line) in authority.labels.iter() {
                let at_path = line.path.split_once("::*").map_or(&*line.path, |(file, _)| file);
                let by_id = view.get(&NodeId::new(spot.heading.as_str()));
                let by_id = by_id.map(|node| node.card().file.clone());
                files.extend(by_id.into_iter().chain(view.card(at_path).map(|card| card.file.clone())));
            }
        }
        let options = self.privacy_options();
        let otherwise = |file: &Arc<str>| {
            let Some(card) = view.card(file) else { return false };
            let ids: Vec<NodeId> = (0..card.len()).map(|index| card.id(index)).collect();
            let said = OnceCell::new();
            let says = |index: usize| {
                let marks = said.get_or_init(|| marks(card, &options));
                marks.get(index).map_or(Privacy::Private, |mark: &Mark| mark.tier)
            };
            let path = |index: usize| card.path_name(index);
            let names = Names::new(&card.file, &ids, &path, &says);
            let least = least(&names, &self.authority.lock().labels, &options);
            let stale = |index: usize| card.is_held(index) && !least.iter().any(|(known, _)| *known == index);
            least.iter().any(|(index, tier)| card.privacy(*index) < *tier) || (0..card.len()).any(stale)
        };
        self.relabel(files.into_iter().filter(otherwise).collect());
    }

    /// Makes files of memory anew by what is remembered now. Nothing of their texts changes.
    pub(super) fn relabel(&self, files: Vec<Arc<str>>) {
        let _org = self.hold_org();
        let view = self.view();
        let made = |file: &Arc<str>| {
            let built = self.build(file, view.text(file)?).ok()?;
            Some(Arc::new(built.changed_at(view.card(file)?.modified())))
        };
        let documents: Vec<Arc<Document>> = files.iter().filter_map(made).collect();
        if documents.is_empty() {
            return;
        }
        let cards: Vec<Arc<Card>> = documents.iter().map(|document| document.card().clone()).collect();
        {
            // What was let go is not missed any more.
            let mut authority = self.authority.lock();
            for card in &cards {
                let Some(known) = authority.settled.get_mut(&card.file) else { continue };
                match (known.card.root() == card.root(), view.card(&card.file)) {
                    (true, _) => *known = Settled::of(card),
                    // The disk says something else. No text changes here, so what is less private now was let go.
                    (false, Some(before)) => {
                        let less = (0..card.len()).filter(|index| before.privacy(*index) > card.privacy(*index));
                        known.let_go.extend(less.map(|index| card.id(index)));
                    }
                    (false, None) => {}
                }
            }
        }
        self.take_anew(documents, &[]);
        if self.beside.is_none() {
            self.archive.queue_cards(Shape { scan: self.scan_options(), privacy: self.privacy_options() }, cards);
        }
    }

    /// Remembers what files on the disk say of privacy, and says once of what was taken away from them; others are `open`.
    pub(super) fn see_labels(&self, cards: &[&Arc<Card>], open: Vec<Arc<str>>) {
        let (options, view) = (self.privacy_options(), self.view());
        let mut seen: Vec<(Spot, Line)> = Vec::new();
        for card in cards {
            for (index, mark) in marks(card, &options).into_iter().enumerate() {
                if let Some(value) = mark.remembered {
                    let line = Line { value, path: card.path_name(index) };
                    seen.push((Spot::of_heading(card.id(index).as_str(), LABEL), line));
                }
            }
        }
        let mut authority = self.authority.lock();
        let mut records = Vec::new();
        let mut paths: HashMap<String, HashSet<String>> = HashMap::new();
        for (spot, now) in seen {
            let known = authority.labels.get(&spot);
            // Its id came to another place. What stands where it stood, and counts as private, goes on by itself.
            if let Some(left) = known.filter(|known| known.path != now.path) {
                let file = file_of(&left.path).to_string();
                let private = paths.entry(file).or_insert_with_key(|file| private_paths(&view, file));
                let stays = Spot::of_heading(&left.path, LABEL);
                if private.contains(&left.path) && authority.labels.get(&stays).is_none() {
                    let left = left.clone();
                    records.push(record(&stays, Some(&left)));
                    authority.labels.put(stays, left);
                }
            }
            let known = authority.labels.get(&spot);
            let value = known.map_or_else(|| now.value.clone(), |known| both(&known.value, &now.value));
            let line = Line { value, path: now.path };
            if known != Some(&line) {
                records.push(record(&spot, Some(&line)));
                authority.labels.put(spot, line);
            }
        }
        open.iter().for_each(|file| drop(authority.settled.remove(file)));
        authority.settled.extend(cards.iter().map(|card| (card.file.clone(), Settled::of(card))));
        let mut fresh = Vec::new();
        for card in cards.iter().filter(|card| card.holds()) {
            let held = (0..card.len()).filter(|index| card.is_held(*index)).map(|index| card.id(index));
            let new = held.filter(|id| authority.told.insert(id.clone())).count();
            if new > 0 {
                fresh.push((card.file.clone(), new));
            }
        }
        drop(authority);
        self.keep_seen(records);
        for (file, new) in fresh {
            // Titles of what is private are not for the log.
            let what = format!("what made {} of it private was taken away", counted(new, "heading"));
            let text = format!("{file}: {what}; it counts until you let it go: M-x passepartout-rules");
            self.say(LogLevel::Info, &text);
        }
    }

    /// Returns what each file has lost that made something private.
    pub(super) fn lost_labels(&self) -> Vec<(String, LostLabels)> {
        let files: Vec<Arc<str>> = self.authority.lock().holding.iter().cloned().collect();
        let (view, options) = (self.view(), self.privacy_options());
        let authority = self.authority.lock();
        let mut found = Vec::new();
        for card in files.iter().filter_map(|file| view.card(file)).filter(|card| card.holds()) {
            let marks = marks(card, &options);
            let ids: Vec<NodeId> = (0..card.len()).map(|index| card.id(index)).collect();
            let path = |index: usize| card.path_name(index);
            let says = |index: usize| marks.get(index).map_or(Privacy::Private, |mark| mark.tier);
            let names = Names::new(&card.file, &ids, &path, &says);
            let here = |file: &str| *file == *card.file;
            let (mut words, mut lost) = (Vec::new(), Vec::new());
            for (index, mark) in marks.iter().enumerate() {
                if card.is_held(index) {
                    words.push(in_words(card, index, mark));
                }
                if card.privacy(index) <= mark.tier {
                    continue;
                }
                for spot in names.spots(index, &authority.labels, &options) {
                    let line = authority.labels.get(spot);
                    if let Some(line) = line.filter(|line| tier_of(&line.value, &options) > mark.tier) {
                        let now = mark.value.clone().map(|value| Line { value, path: path(index) });
                        lost.extend(without(&view, &authority, &here, &card.id(index), (spot, line), now));
                    }
                }
            }
            if !lost.is_empty() {
                found.push((card.file.to_string(), LostLabels { words, spots: lost }));
            }
        }
        found
    }

    /// Forgets labels that the user let go, and has memory follow.
    pub(super) fn forget_labels(&self, file: &str, lost: &[(Spot, Option<Line>)]) {
        if lost.is_empty() {
            return;
        }
        {
            let mut authority = self.authority.lock();
            for (spot, now) in lost {
                set(&mut authority.labels, spot.clone(), now.as_ref());
                authority.told.retain(|id| id.as_str() != spot.heading);
            }
        }
        self.relabel(vec![Arc::from(file)]);
    }

    /// Lets go what an edit took away that a human approved: the plan showed it as less private.
    ///
    /// What somebody else had taken away before goes on counting.
    pub(in crate::edge) fn let_go_labels(&self, edits: &[EditFact]) {
        if self.authority.lock().labels.is_empty() {
            return;
        }
        let options = self.privacy_options();
        let mut before: HashMap<NodeId, Privacy> = HashMap::new();
        let mut after: Vec<(NodeId, String, Mark)> = Vec::new();
        let mut files: BTreeSet<Arc<str>> = BTreeSet::new();
        for edit in edits.iter().filter(|edit| is_org(&edit.file)) {
            let old = edit.before.clone().unwrap_or_else(|| "".into());
            let (Ok(old), Ok(new)) = (self.build(&edit.file, old), self.build(&edit.file, edit.after.clone())) else {
                continue;
            };
            before.extend(old.ids.iter().cloned().zip(old.written().iter().copied()));
            let card = new.card();
            let marks = marks(card, &options).into_iter().enumerate();
            after.extend(marks.map(|(index, mark)| (card.id(index), card.path_name(index), mark)));
            files.insert(new.file.clone());
        }
        let view = self.view();
        let there: HashSet<&str> = after.iter().map(|(id, ..)| id.as_str()).collect();
        let here = |file: &str| files.contains(file);
        let mut authority = self.authority.lock();
        let mut gone: Vec<(Spot, Option<Line>)> = Vec::new();
        for (id, path, mark) in &after {
            let Some(was) = before.get(id).filter(|was| **was > mark.tier) else { continue };
            let named = authority.labels.named(id.as_str()).chain(authority.labels.named(path));
            let named: BTreeSet<&Spot> = named.collect();
            // What has its own name in these files is let go under that.
            let meant = |spot: &&Spot| spot.heading == id.as_str() || !there.contains(spot.heading.as_str());
            for spot in named.into_iter().filter(meant) {
                let Some(line) = authority.labels.get(spot) else { continue };
                let tier = tier_of(&line.value, &options);
                if tier > mark.tier && tier <= *was {
                    let now = mark.value.clone().map(|value| Line { value, path: path.clone() });
                    gone.extend(without(&view, &authority, &here, id, (spot, line), now));
                }
            }
        }
        let records = gone.iter().map(|(spot, now)| record(spot, now.as_ref())).collect();
        for (spot, now) in &gone {
            set(&mut authority.labels, spot.clone(), now.as_ref());
        }
        drop(authority);
        self.keep_seen(records);
        if !gone.is_empty() {
            self.relabel(files.into_iter().collect());
        }
    }

    /// Says of edits which headings count as more private than their text, before and after: by labels that somebody took
    /// away already. What an edit itself takes away is not held: it asks as making something less private.
    pub(in crate::edge::engine) fn count_held(&self, mut edits: Vec<&mut EditFact>) {
        if self.authority.lock().holding.is_empty() {
            return;
        }
        let built = |file: &str, text: Option<&Arc<str>>| self.build(file, text?.clone()).ok();
        let sides = |edit: &&mut EditFact| {
            let known = is_org(&edit.file);
            known.then(|| (built(&edit.file, edit.before.as_ref()), built(&edit.file, Some(&edit.after))))
        };
        let mut sides: Vec<_> = edits.iter().map(|edit| sides(edit).unwrap_or_default()).collect();
        let mut was: HashMap<NodeId, Privacy> = HashMap::new();
        for old in sides.iter().filter_map(|(old, _)| old.as_ref()) {
            was.extend(old.ids.iter().cloned().zip(old.written().iter().copied()));
        }
        for (edit, (old, new)) in edits.iter_mut().zip(&mut sides) {
            if let Some(new) = new {
                let held = new.held().iter().map(|index| *index as usize);
                let by_others = |index: &usize| {
                    let counts = new.privacy.get(*index).copied().unwrap_or(Privacy::Private);
                    new.ids.get(*index).and_then(|id| was.get(id)).is_none_or(|was| *was < counts)
                };
                let least: Vec<(usize, Privacy)> = held
                    .filter(by_others)
                    .map(|index| (index, new.privacy.get(index).copied().unwrap_or(Privacy::Private)))
                    .collect();
                new.hold(&least);
            }
            let counts = |side: &Option<Document>| {
                side.as_ref().filter(|side| !side.held().is_empty()).map(|side| side.privacy.clone())
            };
            edit.by_setup.held_before = counts(old).unwrap_or_default();
            edit.by_setup.held_after = counts(new).unwrap_or_default();
        }
    }

    /// Has what is remembered of files and their headings follow them to their new names.
    pub(in crate::edge::engine) fn lines_follow(&self, moved: &[(String, String)]) {
        let mut authority = self.authority.lock();
        let Authority { seen, labels, .. } = &mut *authority;
        let mut records = Vec::new();
        for (from, to) in moved {
            for known in [&mut *seen, &mut *labels] {
                let named = |name: &str| renamed_id(name, from, to).unwrap_or_else(|| name.to_string());
                let here = known.paths_in(from).into_iter().chain(known.of_file(from).map(|(spot, _)| spot));
                let here: BTreeSet<Spot> = here.cloned().collect();
                for spot in here {
                    let Some(line) = known.get(&spot).cloned() else { continue };
                    let file = if spot.file == *from { to.clone() } else { spot.file.clone() };
                    let new = Spot { file, heading: named(&spot.heading), name: spot.name.clone() };
                    let line = Line { path: named(&line.path), ..line };
                    if known.get(&new) != Some(&line) {
                        records.push(record(&new, Some(&line)));
                        known.put(new, line);
                    }
                }
            }
        }
        drop(authority);
        self.keep_seen(records);
    }
}

/// Returns the file of a path as [`Line::path`] has it.
fn file_of(path: &str) -> &str {
    path.split_once("::*").map_or(path, |(file, _)| file)
}

/// Returns how the headings of a file that count as private are called without an id.
fn private_paths(view: &View, file: &str) -> HashSet<String> {
    let Some(card) = view.card(file) else { return HashSet::new() };
    let private = (0..card.len()).filter(|index| card.privacy(*index) > Privacy::Open);
    private.map(|index| card.path_name(index)).collect()
}

/// Returns what is remembered once a label is let go in the files that are `here`, of a heading with its `own` id, where
/// `now` stands: what it holds in other files was not shown, and goes on being held.
fn without(
    view: &View,
    authority: &Authority,
    here: &dyn Fn(&str) -> bool,
    own: &NodeId,
    (spot, line): (&Spot, &Line),
    now: Option<Line>,
) -> Vec<(Spot, Option<Line>)> {
    let id = NodeId::new(spot.heading.as_str());
    let named = view.get(&id).map(|node| node.card().file.clone());
    let others =
        authority.holding.iter().chain(named.as_ref()).filter(|file| !here(file)).filter_map(|file| view.card(file));
    let by_id: BTreeSet<String> =
        others.filter_map(|card| card.index_of(&id).map(|index| card.path_name(index))).collect();
    let by_path = !here(file_of(&line.path)) && private_paths(view, file_of(&line.path)).contains(&line.path);
    let mut on: BTreeSet<&String> = by_path.then_some(&line.path).into_iter().collect();
    let mut left = now;
    match (spot.heading == own.as_str(), by_id.first()) {
        // An id that stands in several files is let go here; there each goes on by its place.
        (true, _) => on.extend(&by_id),
        (false, Some(path)) => left = Some(Line { path: path.clone(), ..line.clone() }),
        (false, None) => {}
    }
    let held = |path: &String| {
        let spot = Spot::of_heading(path, LABEL);
        let known = authority.labels.get(&spot).map_or(line.value.as_str(), |known| &known.value);
        let value = both(known, &line.value);
        (spot, Some(Line { value, path: path.clone() }))
    };
    std::iter::once((spot.clone(), left)).chain(on.into_iter().map(held).filter(|(held, _)| held != spot)).collect()
}

/// A file with something private, as it was on the disk.
pub(super) struct Settled {
    card: Arc<Card>,
    /// What the user let go of it since, before it was saved.
    let_go: HashSet<NodeId>,
}

impl Settled {
    fn of(card: &Arc<Card>) -> Settled {
        Settled { card: card.clone(), let_go: HashSet::new() }
    }
}

/// Returns what to remember of headings without an id that are less private than they were on the disk.
fn came_out(document: &Document, Settled { card, let_go }: &Settled, options: &PrivacyOptions) -> Vec<(Spot, Line)> {
    let now: HashMap<&NodeId, Privacy> = document.ids.iter().zip(document.privacy.iter().copied()).collect();
    let may = |index: usize| {
        let id = card.id(index);
        let less = now.get(&id).is_some_and(|now| *now < card.privacy(index)) && !let_go.contains(&id);
        less.then_some((index, id))
    };
    let less: Vec<(usize, NodeId)> =
        (0..card.len()).filter(|index| card.privacy(*index) > Privacy::Open).filter_map(may).collect();
    if less.is_empty() {
        return Vec::new();
    }
    let marks = marks(card, options);
    let lasting = lasting(card, &marks);
    let line = |(index, id): (usize, NodeId)| {
        let was = lasting.get(index).copied().filter(|was| now.get(&id).is_some_and(|now| now < was))?;
        let value = marks.get(index).and_then(|mark| mark.value.clone());
        let value = value.filter(|value| tier_of(value, options) >= was).unwrap_or_else(|| was.word().to_string());
        Some((Spot::of_heading(id.as_str(), LABEL), Line { value, path: card.path_name(index) }))
    };
    less.into_iter().filter_map(line).collect()
}

/// Has a document count as at least so private as is remembered.
fn raise(document: &mut Arc<Document>, labels: &Seen, options: &PrivacyOptions) {
    let path = |index: usize| document.card().path_name(index);
    let says = |index: usize| document.written().get(index).copied().unwrap_or(Privacy::Private);
    let least = least(&Names::new(&document.file, &document.ids, &path, &says), labels, options);
    let counts = |(index, tier): &(usize, Privacy)| document.privacy.get(*index).is_some_and(|known| known >= tier);
    if !document.held().is_empty() || !least.iter().all(counts) {
        Arc::make_mut(document).hold(&least);
    }
}

/// Says what a heading has lost, as the user is shown it.
fn in_words(card: &Card, index: usize, mark: &Mark) -> String {
    let (id, title) = (card.id(index), card.title(index));
    let under = match (index, id.as_str().contains(title)) {
        (0, _) => String::new(),
        (_, true) => format!(" under “{}”", id.as_str()),
        (_, false) => format!(" under “{title}” ({})", id.as_str()),
    };
    let now = match mark.tier {
        Privacy::Open => ", taken away".to_string(),
        tier @ (Privacy::Warn | Privacy::Ask | Privacy::Private) => format!(", now {}", tier.word()),
    };
    format!("{LABEL} = {}{under}{now}", card.privacy(index).word())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::engine::fresh::tests::Place;
    use crate::edge::engine::record::kind;
    use std::path::PathBuf;

    #[tokio::test(flavor = "multi_thread")]
    async fn only_what_says_that_it_is_private_or_has_an_id_there_is_remembered() {
        let plain: String = (0..100).map(|n| format!("* Note {n}\n** Below {n}\n")).collect();
        let place = Place::new(&plain).await;
        let kept = async || place.engine.archive.newest(kind::TIGHTENING, 100).await.expect("it can be read").len();
        let read = |text: &str| {
            place.write(text);
            place.engine.read_changed(&[PathBuf::from(&place.file)]);
        };
        assert_eq!(kept().await, 0);
        let below: String = (0..50).map(|n| format!("** Under {n}\n")).collect();
        let private = format!("{plain}* Private :private:\n{below}** Known\n:PROPERTIES:\n:ID: k\n:END:\n");
        read(&private);
        assert_eq!(kept().await, 2, "one that says so, and one below it that may go elsewhere");
        for n in 0..3 {
            read(&format!("{private}* More {n}\n"));
            place.engine.read_memex(&mut |_| {});
        }
        read(&private.replace(" :private:", ""));
        assert_eq!(kept().await, 2, "what is known is not written again, nor what goes");
        assert_eq!(place.engine.held_files().into_values().collect::<Vec<_>>(), [Privacy::Private]);
        assert_eq!(place.engine.lost_labels().len(), 1);
        read(&plain);
        assert_eq!((kept().await, place.engine.held_files().len()), (2, 0), "nothing is there that could be held");
    }
}
