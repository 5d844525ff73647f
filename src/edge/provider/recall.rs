//! The built-in provider: answers from memory by fixed rules, without a model and without network.
//!
//! It reads what the user typed and the clock of a prompt, and of the conversation only what its own
//! proposals came to.

use crate::domain::gate::secret::mask;
use crate::domain::id::NodeId;
use crate::domain::label::{Labels, Privacy};
use crate::domain::memory::view::View;
use crate::domain::port::{
    Completion, Ended, Locality, Profile, Prompt, Provider, ProviderError, ProviderErrorKind, Sink, Streamed, Thinking,
    Usage,
};
use crate::domain::recall::answer::{Narrowed, Notes, Reply, answer};
use crate::domain::recall::grammar::parse;
use crate::domain::recall::report::report;
use async_trait::async_trait;
use jiff::tz::TimeZone;
use std::sync::Arc;

/// Its name, as the cascade spells it.
pub const NAME: &str = "recall";
/// How large a piece of streamed text is, in bytes.
const PIECE: usize = 512;

/// The memory as it is now.
pub trait Source: Send + Sync {
    /// Returns a picture of the memory.
    fn view(&self) -> View;
    /// Returns nodes that fit a query, with scores, best first.
    fn search(&self, query: &str, limit: usize) -> Vec<(NodeId, f32)>;
    /// Returns the heading at the user's point, if there is one.
    fn focus(&self) -> Option<NodeId>;
    /// Returns what the user's focus narrows the memory to, if it does.
    fn narrowed(&self) -> Option<Narrowed>;
}

/// The provider that is always there.
pub struct RecallProvider {
    source: Arc<dyn Source>,
    zone: TimeZone,
}

impl RecallProvider {
    /// Makes the provider over a memory; times of files are shown in the zone of this machine.
    pub fn new(source: Arc<dyn Source>) -> RecallProvider {
        RecallProvider { source, zone: TimeZone::system() }
    }
}

impl Profile for RecallProvider {
    fn name(&self) -> &str {
        NAME
    }

    fn locality(&self) -> Locality {
        Locality::Builtin
    }

    fn url(&self) -> String {
        "built in".to_string()
    }

    fn takes_pictures(&self) -> Option<bool> {
        Some(false)
    }
}

#[async_trait]
impl Provider for RecallProvider {
    async fn complete(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion, ProviderError> {
        let reply = match report(&prompt.messages) {
            Some(text) => Reply { text, ..Reply::default() },
            None => self.ask(prompt).await?,
        };
        // An answer stands in a chat, and what stands there may be sent to another model later.
        let (text, _) = mask(&reply.text);
        for piece in pieces(&text) {
            sink(Streamed::Text(piece));
        }
        Ok(Completion {
            provider: NAME.to_string(),
            model: "no model".to_string(),
            text,
            ended: Ended::Whole,
            thinking: Thinking::default(),
            calls: reply.calls,
            // The grammar takes every text of a call from the words that were typed.
            unreadable: Vec::new(),
            labels: Labels::USER,
            usage: Some(Usage::default()),
            attempts: 1,
            sources: reply.sources,
        })
    }
}

impl RecallProvider {
    /// Answers on a thread for work that takes time: a large memory takes a tenth of a second.
    async fn ask(&self, prompt: &Prompt) -> Result<Reply, ProviderError> {
        let (source, zone) = (self.source.clone(), self.zone.clone());
        let (typed, now, may_see) = (prompt.typed.clone(), prompt.now, prompt.may_see);
        let work = tokio::task::spawn_blocking(move || {
            let view = source.view().up_to(may_see);
            let notes = Notes {
                view: &view,
                search: &|query, limit| source.search(query, limit),
                now,
                focus: source.focus(),
                narrowed: source.narrowed().map(|narrowed| hushed(narrowed, &view, may_see)),
                local: &|at| at.to_zoned(zone.clone()).datetime(),
            };
            answer(&parse(&typed, now), &notes)
        });
        work.await.map_err(|_| {
            let text = "the built-in provider failed on this request; please say it in other words, and report it";
            ProviderError::new(NAME, ProviderErrorKind::Garbled, text)
        })
    }
}

/// Says to who may not see everything only that the notes are narrowed, and not by which heading or folder, unless it is
/// a heading that may be seen.
fn hushed(narrowed: Narrowed, view: &View, may_see: Privacy) -> Narrowed {
    let seen = narrowed.source.as_ref().is_some_and(|source| view.get(source).is_some());
    match seen || may_see == Privacy::Private {
        true => narrowed,
        false => Narrowed {
            words: "Only a part of the notes is looked at, as the user has narrowed them.".to_string(),
            source: None,
        },
    }
}

/// Cuts a text at line ends into pieces of about half a kilobyte.
fn pieces(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut begin = 0;
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        if end - begin >= PIECE {
            out.extend(text.get(begin..end));
            begin = end;
        }
    }
    out.extend(text.get(begin..end).filter(|rest| !rest.is_empty()));
    out
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn pieces_are_the_text() {
        let text = "line of an answer\n".repeat(200) + "end";
        let cut = pieces(&text);
        assert_eq!(cut.concat(), text);
        assert!(cut.len() > 3);
        assert!(pieces("").is_empty());
    }
}
