//! What is near in meaning: to the question of a turn, or to what the user's point is in.

use super::{Engine, Files, provider_name};
use crate::domain::embed::flat::Wanted;
use crate::domain::embed::{Admitted, Batch, Passage, PassageKey, Vector};
use crate::domain::id::{NodeId, SessionId};
use crate::domain::label::Privacy;
use crate::domain::memory::card::Card;
use crate::domain::memory::view::View;
use crate::domain::port::{EmbedError, EmbedErrorKind, Embedder, Locality, Nearness};
use crate::domain::route::Ground;
use crate::edge::engine::model::contact;
use crate::edge::engine::record::kind;
use crate::edge::thread::aside;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// A turn waits so long for the vector of its question, and then goes on without.
const PATIENCE: Duration = Duration::from_secs(3);
/// So many questions of late keep their vectors.
const QUESTIONS: usize = 32;

/// Below this cosine nothing is near in any way.
const LEAST: f32 = 0.3;

/// What is near in meaning, in one view of memory and for one reader.
pub struct Meaning<'a> {
    engine: &'a Engine,
    view: &'a View,
    clearance: Privacy,
}

impl Engine {
    /// Gets the vector of what was asked in a conversation, for [`Engine::meaning`]. What goes wrong is noted, and the
    /// question answered without. What may go to no model elsewhere, as the conversation or point is private, is not sent
    /// elsewhere for this either; whether one may be asked for other reasons is the caller's to know.
    pub async fn embed_asked(self: &Arc<Self>, text: &str, session: &SessionId) {
        if self.embedder().is_none() || text.trim().is_empty() {
            return;
        }
        let known = self.session_privacy(session).await;
        let privacy = self.ground(session, None).map_or(known, |_: Ground| Privacy::Private);
        self.embed_question(text, privacy).await;
    }

    /// Does the same where nothing may leave this machine for it.
    pub(in crate::edge::engine) async fn embed_here(self: &Arc<Self>, text: &str, session: &SessionId) {
        if !self.embeds_elsewhere() {
            self.embed_asked(text, session).await;
        }
    }

    /// Returns whether what makes vectors is not on this machine.
    pub(in crate::edge::engine) fn embeds_elsewhere(&self) -> bool {
        self.embedder().is_some_and(|embedder| embedder.locality() == Locality::Remote)
    }

    async fn embed_question(self: &Arc<Self>, text: &str, privacy: Privacy) {
        let Some(embedder) = self.embedder() else { return };
        let Some(passage) = Passage::new(text, privacy) else { return };
        let (engine, key) = (self.clone(), passage.key());
        let wanted = aside(move || {
            let empty = engine.embedding.kept.read().as_ref().is_none_or(|kept| kept.is_empty());
            !empty && engine.vector_of(&key).is_none()
        });
        if self.rests() || !wanted.await {
            return;
        }
        let passage = passage.masked(&|text| self.vault.mask(text));
        if embedder.locality() == Locality::Remote && !self.may_ask_elsewhere(embedder.as_ref(), &passage).await {
            return;
        }
        let key = passage.key();
        let Admitted { batch: Some(batch), .. } = Batch::admit(embedder.locality(), vec![passage]) else { return };
        match tokio::time::timeout(PATIENCE, embedder.embed(&batch)).await {
            Ok(Ok(vectors)) => {
                let mut questions = self.embedding.questions.lock();
                questions.extend(vectors.into_iter().next().map(|vector| (key, vector)));
                while questions.len() > QUESTIONS {
                    questions.pop_front();
                }
            }
            // The text of a question is no fault of the server.
            Ok(Err(EmbedError { kind: EmbedErrorKind::Texts, .. })) => {}
            Ok(Err(error)) => drop(self.note_failure(&error)),
            Err(_) => {
                let text = format!("{} takes longer than a question waits", embedder.name());
                self.note_failure(&EmbedError { kind: EmbedErrorKind::Away, text, after: None });
            }
        }
    }

    async fn may_ask_elsewhere(self: &Arc<Self>, embedder: &dyn Embedder, passage: &Passage) -> bool {
        let contact = contact(provider_name(embedder), &embedder.url());
        if !self.archive.latest(kind::CONFIRMATION, contact).await.is_ok_and(|record| record.is_some()) {
            return false;
        }
        let (engine, text) = (self.clone(), passage.text().to_string());
        aside(move || engine.quote_what_stays([text.as_str()].into_iter())).await == Some(vec![false])
    }

    /// Returns the vector of a text that was embedded, as a question or as a node.
    fn vector_of(&self, key: &PassageKey) -> Option<Vector> {
        let asked =
            self.embedding.questions.lock().iter().find(|(known, _)| known == key).map(|(_, vector)| vector.clone());
        asked.or_else(|| self.embedding.kept.read().as_ref()?.vector(key))
    }

    /// Returns how many vectors of notes there are, and whether there is one of a question: with these, what is near in
    /// meaning changes while memory does not.
    pub(in crate::edge::engine) fn meaning_now(&self, question: Option<&str>) -> (usize, bool) {
        let vectors = self.embedding.kept.read().as_ref().map_or(0, |kept| kept.len());
        if vectors == 0 {
            return (0, false);
        }
        let key = question.and_then(|text| Passage::new(text, Privacy::Private)).map(|passage| passage.key());
        (vectors, key.is_some_and(|key| self.vector_of(&key).is_some()))
    }

    /// Returns what knows which nodes of a view are near in meaning, of those that a reader may see; `None` when nothing is
    /// known of that. It sends nothing: only a question that was embedded before, with [`Engine::embed_asked`], is near
    /// anything.
    pub fn meaning<'a>(&'a self, view: &'a View, clearance: Privacy) -> Option<Meaning<'a>> {
        self.embedder()?;
        Some(Meaning { engine: self, view, clearance })
    }
}

impl std::fmt::Debug for Meaning<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meaning").field("clearance", &self.clearance).finish_non_exhaustive()
    }
}

impl Nearness for Meaning<'_> {
    fn near_text(&self, text: &str, most: usize) -> Vec<(NodeId, f32)> {
        // As a question was embedded; how private it is does not tell its key.
        let key = Passage::new(text, Privacy::Private).map(|passage| passage.key());
        key.and_then(|key| self.engine.vector_of(&key)).map_or_else(Vec::new, |vector| self.near(&vector, most))
    }

    fn near_node(&self, id: &NodeId, most: usize) -> Vec<(NodeId, f32)> {
        let passage = self.view.get(id).as_ref().and_then(Passage::of);
        let vector = passage.and_then(|passage| self.engine.vector_of(&passage.key()));
        let mut near = vector.map_or_else(Vec::new, |vector| self.near(&vector, most.saturating_add(1)));
        near.retain(|(found, _)| found != id);
        near.truncate(most);
        near
    }
}

impl Meaning<'_> {
    fn near(&self, vector: &Vector, most: usize) -> Vec<(NodeId, f32)> {
        let embedding = &self.engine.embedding;
        let (known, kept) = (embedding.known.read(), embedding.kept.read());
        let Some(kept) = kept.as_ref() else { return Vec::new() };
        // Which rows stand for a node that counts; what these nodes are is looked up for the few that are near.
        let mut admitted = vec![false; kept.rows()];
        for (card, keys) in self.cards(&known) {
            for (index, key) in keys.iter().enumerate() {
                let row = key.filter(|_| self.counts(card, index)).and_then(|key| kept.row(&key));
                if let Some(admitted) = row.and_then(|row| admitted.get_mut(row as usize)) {
                    *admitted = true;
                }
            }
        }
        let admit = |row: u32| admitted.get(row as usize).is_some_and(|yes| *yes);
        let near = kept.search(vector, Wanted { most, least: LEAST }, &admit);
        let cosines: HashMap<PassageKey, f32> =
            near.iter().filter_map(|near| Some((kept.key(near.row)?, near.cosine))).collect();
        if cosines.is_empty() {
            return Vec::new();
        }
        let mut found: Vec<(f32, NodeId)> = Vec::new();
        for (card, keys) in self.cards(&known) {
            for (index, key) in keys.iter().enumerate() {
                let cosine = key.and_then(|key| cosines.get(&key).copied());
                found.extend(cosine.filter(|_| self.counts(card, index)).map(|cosine| (cosine, card.id(index))));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        found.truncate(most);
        found.into_iter().map(|(cosine, id)| (id, cosine)).collect()
    }

    /// Returns the files of the view of which the keys are known as it has them.
    fn cards<'k>(&self, known: &'k Files) -> impl Iterator<Item = (&Arc<Card>, &'k [Option<PassageKey>])> {
        known.iter().filter_map(|(file, keys)| {
            let card = self.view.card(file).filter(|card| card.root() == keys.root)?;
            Some((card, &*keys.keys))
        })
    }

    /// Returns whether the reader may see a node, and looks at it.
    fn counts(&self, card: &Card, index: usize) -> bool {
        card.privacy(index) <= self.clearance && self.view.sight().holds(&card.file, index)
    }
}
