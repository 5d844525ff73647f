//! A document → its card, in one pass.

use super::{
    COMMENTED, Card, DATED, DONE, Entry, HELD, LINKING, NO_KEYWORD, PRIVACY, PRIVACY_AT, Place, Planning, RUNS, Slot,
    short,
};
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::document::Document;
use crate::domain::org::outline::{Node, Outline};
use std::collections::HashMap;

impl Card {
    /// Makes the card of a document.
    pub fn of(document: &Document) -> Card {
        let outline = &document.outline;
        let mut words = Words::default();
        // Nothing grows and nothing is cut off: a card is made at each change of its file.
        let room = Room::of(outline);
        let mut titles = String::with_capacity(room.titles);
        let mut values = String::with_capacity(room.values);
        let mut slots = Vec::with_capacity(outline.nodes.len() + 1);
        let (mut tags, mut entries) = (Vec::with_capacity(room.tags), Vec::with_capacity(room.entries));
        let keywords: Vec<u32> = outline
            .keywords
            .iter()
            .map(|keyword| words.number(&keyword.name) | if keyword.done { DONE } else { 0 })
            .collect();
        for (index, node) in outline.nodes.iter().enumerate() {
            slots.push(Slot {
                begin: node.begin,
                body: node.body.start,
                line: node.line,
                parent: node.parent,
                after: outline.nodes.len() as u32,
                title: titles.len() as u32,
                tags: tags.len() as u32,
                entries: entries.len() as u32,
                level: node.level,
                keyword: node.todo.unwrap_or(NO_KEYWORD),
                mark: mark(node, document.privacy.get(index).copied()),
            });
            titles.push_str(if index > 0 {
                outline.slice(&node.title)
            } else {
                outline.title.as_deref().unwrap_or("")
            });
            let own = if index == 0 { &outline.filetags[..] } else { &node.tags[..] };
            tags.extend(own.iter().map(|tag| words.number(tag)));
            for (planning, range) in Planning::ALL.into_iter().zip([&node.scheduled, &node.deadline, &node.closed]) {
                if let Some(range) = range {
                    entries.push(Entry { key: planning.key(), value: values.len() as u32 });
                    values.push_str(outline.slice(range));
                }
            }
            for (key, value) in node.properties.iter() {
                entries.push(Entry { key: words.number(key), value: values.len() as u32 });
                values.push_str(value);
            }
        }
        hold(&mut slots, document.held());
        close(&mut slots);
        date(&mut slots, outline);
        run(&mut slots, outline);
        let end = outline.text.len() as u32;
        let (title, last_tags, last_entries) = (titles.len() as u32, tags.len() as u32, entries.len() as u32);
        slots.push(Slot { begin: end, title, tags: last_tags, entries: last_entries, ..Slot::default() });
        entries.push(Entry { key: 0, value: values.len() as u32 });
        // Values stand behind titles.
        entries.iter_mut().for_each(|entry| entry.value += title);
        let links: Box<[(u32, u32)]> =
            document.links().iter().map(|link| (words.number(&link.target), link.node)).collect();
        for (_, node) in &links {
            if let Some(slot) = slots.get_mut(*node as usize) {
                slot.mark |= LINKING;
            }
        }
        let (names, root) = (document.names(), document.root());
        let place = |(node, id): (usize, &NodeId)| Place { print: short(root, id.as_str()), node: node as u32 };
        let file_properties = file_properties(outline).map(|(key, value)| (words.number(key), words.number(value)));
        let file_properties: Box<[(u32, u32)]> = file_properties.collect();
        let setups = outline.setups.iter().map(|setup| (words.number(&setup.path), setup.hash)).collect();
        let mut places: Vec<Place> = document.ids.iter().enumerate().map(place).collect();
        places.sort_unstable();
        let mut arena = titles;
        arena.reserve_exact(values.len() + words.length());
        arena.push_str(&values);
        let (words, arena) = words.behind(arena);
        Card {
            file: document.file.clone(),
            root,
            modified: document.modified,
            notes: document.is_notes(),
            titled: outline.title.is_some(),
            holds: !document.held().is_empty(),
            slots: slots.into(),
            tags: tags.into(),
            entries: entries.into(),
            words,
            keywords: keywords.into(),
            places: places.into(),
            suffixes: names.numbers.iter().copied().collect(),
            kept: names.kept.iter().cloned().collect(),
            links,
            file_properties,
            setups,
            arena: arena.into(),
        }
    }
}

/// How much of each a file has.
struct Room {
    titles: usize,
    values: usize,
    tags: usize,
    entries: usize,
}

impl Room {
    fn of(outline: &Outline) -> Room {
        let title = outline.title.as_ref().map_or(0, |title| title.len());
        let mut room = Room { titles: title, values: 0, tags: outline.filetags.len(), entries: 1 };
        for node in &outline.nodes {
            room.titles += node.title.len();
            room.tags += node.tags.len();
            for range in [&node.scheduled, &node.deadline, &node.closed].into_iter().flatten() {
                room.entries += 1;
                room.values += range.len();
            }
            room.entries += node.properties.len();
            room.values += node.properties.iter().map(|(_, value)| value.len()).sum::<usize>();
        }
        room
    }
}

/// The words of one file, each once.
#[derive(Default)]
struct Words<'a> {
    all: Vec<&'a str>,
    /// The numbers of those behind the first [`FEW`].
    numbers: HashMap<&'a str, u32>,
}

/// So many words are compared one after the other, which is faster than any table: most words are among the first.
const FEW: usize = 12;

impl<'a> Words<'a> {
    fn number(&mut self, word: &'a str) -> u32 {
        if let Some(early) = self.all.iter().take(FEW).position(|known| *known == word) {
            return early as u32;
        }
        let next = self.all.len() as u32;
        let number = if self.all.len() < FEW { next } else { *self.numbers.entry(word).or_insert(next) };
        if number == next {
            self.all.push(word);
        }
        number
    }

    fn length(&self) -> usize {
        self.all.iter().map(|word| word.len()).sum()
    }

    /// Writes the words behind a text; returns where each begins and the last one ends.
    fn behind(self, mut arena: String) -> (Box<[u32]>, String) {
        let mut starts = Vec::with_capacity(self.all.len() + 1);
        for word in self.all {
            starts.push(arena.len() as u32);
            arena.push_str(word);
        }
        starts.push(arena.len() as u32);
        (starts.into(), arena)
    }
}

/// Returns what holds of all nodes of a file: of the category what Org says of it, of the rest what the lines say.
fn file_properties(outline: &Outline) -> impl Iterator<Item = (&str, &str)> {
    let lines = outline.properties.iter().filter(|(key, _)| key.as_ref() != "CATEGORY");
    let category = outline.category.as_deref().map(|category| ("CATEGORY", category));
    lines.map(|(key, value)| (key.as_ref(), value.as_ref())).chain(category)
}

impl Card {
    /// Has the nodes count as so private, and those be held, as in a document of the same text.
    pub(in crate::domain::memory) fn count_as(&mut self, privacy: &[Privacy], held: &[u32]) {
        let nodes = self.len();
        for (index, slot) in self.slots.iter_mut().take(nodes).enumerate() {
            slot.mark = slot.mark & !(PRIVACY | HELD) | tier(privacy.get(index).copied());
        }
        hold(&mut self.slots, held);
        self.holds = !held.is_empty();
    }
}

fn mark(node: &Node, privacy: Option<Privacy>) -> u32 {
    node.priority.map_or(0, |c| c as u32) | if node.commented { COMMENTED } else { 0 } | tier(privacy)
}

fn tier(privacy: Option<Privacy>) -> u32 {
    match privacy {
        Some(Privacy::Open) => 0,
        Some(Privacy::Warn) => 1 << PRIVACY_AT,
        Some(Privacy::Ask) => 2 << PRIVACY_AT,
        Some(Privacy::Private) | None => 3 << PRIVACY_AT,
    }
}

fn hold(slots: &mut [Slot], held: &[u32]) {
    for index in held {
        if let Some(slot) = slots.get_mut(*index as usize) {
            slot.mark |= HELD;
        }
    }
}

/// Says of each node where its subtree ends: parents stand before their children.
fn close(slots: &mut [Slot]) {
    let mut open: Vec<usize> = Vec::new();
    for index in 1..slots.len() {
        let parent = slots[index].parent as usize;
        while let Some(last) = open.pop_if(|last| *last != parent) {
            slots[last].after = index as u32;
        }
        if open.is_empty() {
            open.push(parent);
        }
        open.push(index);
    }
}

/// Marks the nodes that may hold an active timestamp beside their planning.
fn date(slots: &mut [Slot], outline: &Outline) {
    let bytes = outline.text.as_bytes();
    let mut index = 0;
    for at in memchr::memchr_iter(b'<', bytes).filter(|at| bytes.get(at + 1).is_some_and(u8::is_ascii_digit)) {
        while slots.get(index + 1).is_some_and(|next| next.begin as usize <= at) {
            index += 1;
        }
        let Some((slot, node)) = slots.get_mut(index).zip(outline.nodes.get(index)) else { return };
        if at < node.section.start as usize || at >= node.body.start as usize {
            slot.mark |= DATED;
        }
    }
}

/// Marks the nodes that may hold a line that makes them a job or a hook.
fn run(slots: &mut [Slot], outline: &Outline) {
    let bytes = outline.text.as_bytes();
    let mut index = 0;
    for at in memchr::memmem::find_iter(bytes, b"#+") {
        let word = bytes.get(at + 2..at + 7).unwrap_or_default();
        if !word.eq_ignore_ascii_case(b"CRON:") && !word.eq_ignore_ascii_case(b"HOOK:") {
            continue;
        }
        while slots.get(index + 1).is_some_and(|next| next.begin as usize <= at) {
            index += 1;
        }
        let Some(slot) = slots.get_mut(index) else { return };
        slot.mark |= RUNS;
    }
}
