//! Asks Emacs, over the protocol, for the text of a buffer or an edit of it.

use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::edge::editor::{Buffer, Editor, Splice};
use crate::edge::runtime::outbox::Outbox;
use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;

/// How long Emacs may take to answer; it may be in a minibuffer or in a long command.
const PATIENCE: Duration = Duration::from_secs(10);

struct Waiting {
    text: String,
    answer: oneshot::Sender<(Sexp, String)>,
}

/// Emacs, at the other end of an outbox.
pub struct EmacsEditor {
    outbox: Arc<Outbox>,
    next: AtomicU64,
    waiting: Mutex<HashMap<u64, Waiting>>,
}

impl EmacsEditor {
    /// Makes an editor that asks through an outbox.
    pub fn new(outbox: Arc<Outbox>) -> Arc<EmacsEditor> {
        Arc::new(EmacsEditor { outbox, next: AtomicU64::new(1), waiting: Mutex::default() })
    }

    /// Takes an `editor-reply`; the last of several wakes who waits.
    pub fn reply(&self, payload: &Sexp) {
        let Some(number) = payload.int_at("request").and_then(|n| u64::try_from(n).ok()) else { return };
        let mut waiting = self.waiting.lock();
        if let Some(entry) = waiting.get_mut(&number) {
            entry.text.push_str(payload.text_at("text").unwrap_or(""));
        }
        if !payload.flag_at("more")
            && let Some(entry) = waiting.remove(&number)
        {
            // Who no longer waits does not need the answer.
            let _ = entry.answer.send((payload.clone(), entry.text));
        }
    }

    async fn ask(&self, payload: Plist) -> Result<(Sexp, String), String> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, coming) = oneshot::channel();
        self.waiting.lock().insert(number, Waiting { text: String::new(), answer });
        self.outbox.send("request", None, payload.int("request", number as i64));
        let result = tokio::time::timeout(PATIENCE, coming).await;
        self.waiting.lock().remove(&number);
        match result {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err("Emacs went away".to_string()),
            Err(_) => Err("Emacs did not answer within 10 seconds; try again when it is idle".to_string()),
        }
    }
}

#[async_trait]
impl Editor for EmacsEditor {
    async fn buffer(&self, file: &str) -> Result<Option<Buffer>, String> {
        let (answer, text) = self.ask(Plist::new().keyword("action", "buffer-state").text("file", file)).await?;
        if !answer.flag_at("open") {
            return Ok(None);
        }
        let tick = answer.int_at("tick").ok_or_else(|| "Emacs named no state of the buffer".to_string())?;
        let whole = answer.count_at("size").is_none_or(|size| size == text.len());
        if !whole {
            return Err(format!("the buffer of {file} came in parts that do not fit; try again"));
        }
        Ok(Some(Buffer { text: text.into(), tick, read_only: answer.flag_at("read-only") }))
    }

    async fn edit(&self, file: &str, tick: i64, splices: Vec<Splice>) -> Result<(), String> {
        let edits = splices
            .into_iter()
            .map(|s| Sexp::list([Sexp::int(s.begin as i64), Sexp::int(s.end as i64), Sexp::text(s.text)]));
        let payload =
            Plist::new().keyword("action", "buffer-edit").text("file", file).int("tick", tick).list("edits", edits);
        let (answer, text) = self.ask(payload).await?;
        if answer.flag_at("ok") {
            Ok(())
        } else {
            Err(if text.is_empty() { "Emacs refused the edit".to_string() } else { text })
        }
    }
}
