//! How the turns of a conversation that are over are kept while it waits.

use crate::domain::port::Message;
use crate::domain::turn::earlier::{Earlier, Past};
use crate::edge::engine::record::read_privacy;
use serde::{Deserialize, Serialize};

/// Which messages are turns that are over. Without it none of them gives way.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct PastRecord {
    named: Vec<EarlierRecord>,
    whole: Vec<usize>,
    #[serde(default)]
    more: bool,
}

/// A turn that is told by its name, with what was said in it.
#[derive(Serialize, Deserialize)]
struct EarlierRecord {
    name: String,
    title: String,
    /// Empty where it is too much to keep.
    text: String,
    privacy: String,
    aside: bool,
}

/// Of the turns that are told by their names so many bytes are kept with a conversation that waits, the newest first.
const EARLIER_TEXT: usize = 256 * 1024;

impl PastRecord {
    pub(super) fn of(past: &Past) -> PastRecord {
        let mut left = EARLIER_TEXT;
        let kept = |turn: &Earlier| {
            left = left.saturating_sub(turn.text.len());
            EarlierRecord {
                name: turn.name.clone(),
                title: turn.title.clone(),
                text: if left > 0 { turn.text.clone() } else { String::new() },
                privacy: format!("{:?}", turn.privacy),
                aside: turn.aside,
            }
        };
        let mut named: Vec<EarlierRecord> = past.named.iter().rev().map(kept).collect();
        named.reverse();
        PastRecord { named, whole: past.whole.clone(), more: past.more }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty() && self.whole.is_empty()
    }

    /// What does not go with the messages is not there.
    pub(super) fn read(self, messages: &[Message]) -> Past {
        let named = self.named.into_iter().map(|turn| {
            let EarlierRecord { name, title, text, privacy, aside } = turn;
            Earlier { name, title, text, privacy: read_privacy(&privacy), aside }
        });
        let past = Past { named: named.collect(), whole: self.whole, more: self.more };
        Some(past).filter(|past| past.is_of(messages)).unwrap_or_default()
    }
}
