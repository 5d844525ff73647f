//! The first contact with an embedding server that is not local: a human sees what would be sent, and confirms it once.

use super::{BATCH, Engine, provider_name};
use crate::domain::action::Action;
use crate::domain::embed::Batch;
use crate::domain::id::TurnId;
use crate::domain::label::Labels;
use crate::domain::port::Locality;
use crate::domain::signal::Origin;
use crate::domain::tool::CONTACT_EMBEDDER;
use crate::edge::engine::record::Finished;
use crate::edge::thread::aside;
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::sync::Arc;

/// So many of the texts that would be sent are shown.
const SHOWN: usize = 5;

impl Engine {
    /// Parks the first contact with the embedding server of the settings, as its user asked for it; where nothing has to be
    /// confirmed, says how embedding stands.
    ///
    /// # Errors
    /// With that, when there is nothing to confirm, or the channel may not propose anything.
    pub(in crate::edge::engine) async fn propose_embedder(
        self: &Arc<Self>,
        origin: &Origin,
        turn: TurnId,
    ) -> Result<Finished, String> {
        if !origin.rights.propose {
            return Err("Nothing was done: this channel may not confirm an embedding server.".to_string());
        }
        let embedder = self.embedder().filter(|embedder| embedder.locality() == Locality::Remote);
        let Some(embedder) = embedder else { return Err(self.embedding_status().to_string()) };
        if self.may_embed(embedder.as_ref()).await {
            self.embed_soon();
            return Err(self.embedding_status().to_string());
        }
        let engine = self.clone();
        let sent = aside(move || engine.would_be_sent()).await;
        let sent =
            sent.ok_or("Nothing was done: private notes are still being read; type /embed again in a moment.")?;
        let given =
            [("provider", provider_name(embedder.as_ref()).to_string()), ("url", embedder.url()), ("sent", sent)];
        let args: Map<String, Value> =
            given.into_iter().map(|(name, value)| (name.to_string(), Value::String(value))).collect();
        let why =
            format!("You named {} to make vectors of notes and questions; it is not on this machine.", embedder.name());
        let action = Action::new(&self.toolbox(), CONTACT_EMBEDDER, args, Some(&why), Labels::USER);
        let action = action.map_err(|wrong| wrong.0)?;
        Ok(self.commanded(origin, turn, "embed".to_string(), action).await)
    }

    /// Returns what would be sent elsewhere, in words, with the first of the texts as they are; `None` while it is not known
    /// what of it quotes private notes.
    fn would_be_sent(&self) -> Option<String> {
        let missing = self.follow_keys(Locality::Remote);
        let first = missing.get(..BATCH.min(missing.len())).unwrap_or_default();
        let passages = self.passages(first, Locality::Remote)?.into_iter().map(|(_, passage)| passage).collect();
        let batch = Batch::admit(Locality::Remote, passages).batch;
        let texts = batch.as_ref().map_or(&[][..], Batch::texts);
        let mut said = format!(
            "The beginning of every note that may leave this machine, {} now and each one that is new or changed, and what \
             you ask. Secrets are masked; private notes, what quotes them, and questions of private conversations stay here.\n",
            missing.len()
        );
        for text in texts.iter().take(SHOWN) {
            let _ = write!(said, "\n{text}\n");
        }
        Some(said)
    }
}
