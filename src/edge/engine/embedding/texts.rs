//! Which texts memory has, which of them have a vector, and what of the rest may go where.

use super::{Engine, Files, Keys};
use crate::domain::embed::Passage;
use crate::domain::label::Privacy;
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::port::{Locality, LogLevel};
use crate::edge::embed::folder;
use crate::edge::embed::kept::Kept;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Engine {
    /// Opens the vectors of an embedder, unless they are open.
    pub(super) fn open_vectors(&self, name: &str) {
        if self.embedding.kept.read().is_some() {
            return;
        }
        let (folder, owner, most) = {
            let state = self.embedding.state.lock();
            (state.folder.clone(), state.owner, state.most)
        };
        let (kept, damaged) = match folder {
            None => (Kept::in_memory(name), 0),
            Some(folder) => {
                folder.parent().filter(|_| owner).into_iter().for_each(folder::sweep);
                Kept::open(&folder, name, owner)
            }
        };
        if damaged > 0 {
            self.say(LogLevel::Warning, "some vectors in the cache folder were damaged; they are made again");
        }
        *self.embedding.kept.write() = Some(match most {
            Some(most) => kept.within(most),
            None => kept,
        });
    }

    /// Reads which texts memory has now, and returns the nodes whose vector is missing, those of the files that changed last
    /// first. Nodes that no reader of that kind may be sent are not among them.
    pub(super) fn follow_keys(&self, reader: Locality) -> Vec<(Arc<str>, usize)> {
        let view = self.view();
        self.embedding.known.write().retain(|file, _| view.card(file).is_some());
        for card in view.cards() {
            if self.stop.load(Ordering::Relaxed) {
                return Vec::new();
            }
            let known = |known: &Files| known.get(&card.file).is_some_and(|keys| keys.root == card.root());
            if known(&self.embedding.known.read()) {
                continue;
            }
            let Some(file) = view.node(&card.file, 0) else { continue };
            // Its text is read once for all of its nodes.
            let _ = file.text();
            let keys = (0..card.len()).map(|index| Passage::key_of(&file.at(index)?));
            let keys = Keys { root: card.root(), keys: keys.collect() };
            self.embedding.known.write().insert(card.file.clone(), keys);
        }
        let (missing, kept_back) = self.missing(&view, reader);
        let mut state = self.embedding.state.lock();
        (state.waiting, state.kept_back) = (missing.len(), kept_back);
        missing
    }

    /// Returns the nodes whose vector is missing, and how many stay here.
    fn missing(&self, view: &View, reader: Locality) -> (Vec<(Arc<str>, usize)>, usize) {
        let (known, kept) = (self.embedding.known.read(), self.embedding.kept.read());
        let refused = self.embedding.state.lock().refused.clone();
        let mut cards: Vec<_> = view.cards().collect();
        cards.sort_by(|a, b| b.modified().cmp(&a.modified()).then_with(|| a.file.cmp(&b.file)));
        let (mut missing, mut kept_back, mut seen) = (Vec::new(), 0, HashSet::new());
        for card in cards {
            let keys = known.get(&card.file).map_or(&[][..], |keys| &keys.keys);
            for (index, key) in keys.iter().enumerate() {
                let Some(key) = key else { continue };
                if refused.contains(key) || kept.as_ref().is_some_and(|kept| kept.holds(key)) {
                    continue;
                }
                if reader == Locality::Remote && card.privacy(index) > Privacy::ELSEWHERE {
                    kept_back += 1;
                } else if seen.insert(*key) {
                    missing.push((card.file.clone(), index));
                }
            }
        }
        (missing, kept_back)
    }

    /// Returns the passages of some nodes as memory has them now, with every secret masked. For a reader elsewhere those
    /// are left out that quote what stays here; `None` while that is not known.
    pub(super) fn passages(&self, places: &[(Arc<str>, usize)], reader: Locality) -> Option<Vec<(NodeRef, Passage)>> {
        let view = self.view();
        let found = places.iter().filter_map(|(file, index)| {
            let node = view.node(file, *index)?;
            let passage = Passage::of(&node)?.masked(&|text| self.vault.mask(text));
            Some((node, passage))
        });
        let found: Vec<(NodeRef, Passage)> = found.collect();
        if reader != Locality::Remote {
            return Some(found);
        }
        let quote = self.quote_what_stays(found.iter().map(|(_, passage)| passage.text()))?;
        let (quoting, sent): (Vec<_>, Vec<_>) = found.into_iter().zip(quote).partition(|(_, quotes)| *quotes);
        let mut state = self.embedding.state.lock();
        state.kept_back += quoting.len();
        state.refused.extend(quoting.iter().map(|((_, passage), _)| passage.key()));
        Some(sent.into_iter().map(|(found, _)| found).collect())
    }

    /// Returns of each text whether words of a note that stays on this machine stand in it; `None` while private notes are
    /// still being read. Memory may move at any time, so that is found out each time, before and after.
    pub(super) fn quote_what_stays<'a>(&self, texts: impl Iterator<Item = &'a str>) -> Option<Vec<bool>> {
        let known = |engine: &Engine| engine.knows_all_quotations().then_some(());
        known(self)?;
        let quotes = |text: &str| self.quotes_beyond(text, Privacy::ELSEWHERE);
        let found = texts.map(quotes).collect();
        known(self)?;
        Some(found)
    }

    /// Returns whether the private notes have been read by whose words quotations are known.
    pub(super) fn knows_all_quotations(&self) -> bool {
        self.quotations_read().waiting == 0
    }
}
