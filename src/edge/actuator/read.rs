//! Reads a file for the model: exactly the bytes that were judged, or nothing.

use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::facts::PathFact;
use crate::domain::gate::place::holds_notes;
use crate::domain::label::{Labels, Privacy, Provenance, Trust};
use crate::domain::memory::view::NodeRef;
use crate::domain::org::decode::{Decoded, decode};
use crate::domain::org::scan::MAX_BYTES;
use crate::domain::outside::Piece;
use crate::edge::actuator::{Actuators, Done, clipped, may_see, note};
use crate::edge::survey::open;
use crate::edge::thread::LOOKS;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// What is said of a file that is not what it was when it was judged.
const CHANGED: &str = "it changed after it was judged; nothing was read";

/// What was read of a file.
pub(super) struct FileText {
    /// Its name, as it was resolved.
    pub(super) path: String,
    /// Its text.
    pub(super) text: Arc<str>,
    labels: Labels,
    outside: Vec<Piece>,
    nodes: Vec<NodeRef>,
}

impl FileText {
    /// Says something that is made of the text and of nothing else.
    pub(super) fn says(self, said: String) -> Done {
        Done::read(said, self.labels, self.outside).of(&self.nodes)
    }
}

impl Actuators {
    pub(super) async fn read_file(&self, cleared: &Cleared) -> Done {
        match self.file_text(cleared).await {
            Ok(read) => {
                let text = clipped(&read.text);
                read.says(text)
            }
            Err(done) => done,
        }
    }

    /// Reads the file that was judged.
    ///
    /// # Errors
    /// What is said instead of it.
    pub(super) async fn file_text(&self, cleared: &Cleared) -> Result<FileText, Done> {
        let Some(fact) = cleared.facts().paths.first().cloned() else {
            return Err(Done::failed("the path could not be found out"));
        };
        let path = fact.resolved.clone();
        let text = match self.engine.editor.buffer(&path).await {
            Ok(Some(buffer)) => buffer.text,
            Ok(None) => match LOOKS.run(move || judged_text(&fact)).await {
                Ok(Ok(decoded)) => decoded.text,
                Ok(Err(why)) => return Err(Done::failed(format!("{path}: {why}"))),
                Err(why) => return Err(Done::failed(format!("{path}: it was not read: {why}"))),
            },
            Err(why) => return Err(Done::failed(why)),
        };
        let mut privacy = cleared.facts().privacy.unwrap_or(Privacy::Open);
        if holds_notes(&path) {
            // This very text, and not what was looked at a moment ago.
            let (engine, file, text) = (self.engine.clone(), path.clone(), text.clone());
            let found = LOOKS.run(move || engine.privacy_of_text(&file, text)).await;
            privacy = privacy.max(found.unwrap_or(Privacy::Private));
        }
        if privacy > may_see(cleared) {
            return Err(Done::failed(format!("{path} is private, and what asks may not see that")));
        }
        let kept = cleared.scope().memex.iter().any(|root| Path::new(&path).starts_with(root));
        let labels =
            if kept { note(privacy) } else { Labels { provenance: Provenance::File, trust: Trust::Kept, privacy } };
        let (engine, scope, read, file) = (self.engine.clone(), cleared.scope().clone(), text.clone(), path.clone());
        let found = move || {
            let view = engine.view();
            let nodes = view.node(&file, 0).into_iter().flat_map(|file| file.with_descendants().collect::<Vec<_>>());
            (engine.outside_of_text(&file, &read, privacy, &scope), nodes.collect::<Vec<_>>())
        };
        Ok(match LOOKS.run(found).await {
            Ok((outside, nodes)) => FileText { path, text, labels, outside, nodes },
            // What is not known of it is the worst.
            Err(_) => {
                let labels = Labels { trust: Trust::Untrusted, ..labels };
                FileText { path, text, labels, outside: Vec::new(), nodes: Vec::new() }
            }
        })
    }
}

/// Returns the text of a file whose facts were judged; no link is followed, and other bytes than those are not read out.
///
/// # Errors
/// In words: when it is no regular file, is not what was judged, is too large, or is no text.
pub fn judged_text(fact: &PathFact) -> Result<Decoded, String> {
    let file = open::file(Path::new(&fact.resolved)).map_err(|error| match error.raw_os_error() {
        // A link in a canonical name was put there since.
        Some(libc::ELOOP | libc::ENOTDIR) => CHANGED.to_string(),
        _ => error.to_string(),
    })?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is no regular file".to_string());
    }
    if metadata.len() > MAX_BYTES as u64 {
        return Err("it is too large to be read".to_string());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0).saturating_add(1));
    (&file).take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let same = match fact.content {
        Some(content) => blake3::hash(&bytes).as_bytes() == &content,
        // Too large to be named by its bytes: the same file, which nobody wrote to, not while it was read either.
        None => {
            let after = file.metadata().map_err(|error| error.to_string())?;
            fact.identity == Some(open::identity(&after)) && fact.size == after.len() && bytes.len() as u64 == fact.size
        }
    };
    if !same {
        return Err(CHANGED.to_string());
    }
    decode(&bytes).map_err(|error| error.to_string())
}
