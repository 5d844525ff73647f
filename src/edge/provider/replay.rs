//! The provider that plays a cassette: what was recorded is answered again, in its order, without a network.
//!
//! Each answer goes the way of a live one: the same code asks a listener of our own, which gives the recorded bytes in
//! their pieces. What is asked does not choose the answer; the order does.

use crate::domain::cassette::{By, Cassette, End, Exchange, MOST_BYTES};
use crate::domain::port::{Completion, Locality, Profile, Prompt, Provider, ProviderError, ProviderErrorKind, Sink};
use crate::edge::provider::config::{Kind, ProviderConfig};
use crate::edge::provider::http::{Clients, Limits};
use crate::edge::provider::relay::{answer_head, write_chunk};
use crate::edge::provider::served::Served;
use crate::edge::provider::shown::{Door, Taken};
use crate::edge::secret::Vault;
use crate::edge::thread::in_place;
use async_trait::async_trait;
use parking_lot::Mutex;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::AsyncWriteExt;

/// Reads a cassette from a file.
///
/// # Errors
/// In words, which name the file, and the line where one is wrong.
pub fn load(path: &Path) -> Result<Cassette, String> {
    let told = |why: std::io::Error| format!("{} cannot be read: {why}", path.display());
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(told)?;
    // One byte more is enough to say that it is too large.
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(told)?;
    Cassette::read(&bytes).map_err(|fault| format!("{}, {fault}", path.display()))
}

/// A provider that plays a cassette.
pub struct Replay {
    name: String,
    path: PathBuf,
    clients: Clients,
    vault: Arc<Vault>,
    /// Read when it is asked first, so that a start waits for no file.
    cassette: Mutex<Option<Arc<Cassette>>>,
    next: AtomicUsize,
    /// Held while it answers: what two ask at once is answered one behind the other.
    playing: tokio::sync::Mutex<()>,
}

impl Replay {
    /// Makes one for a file.
    pub fn new(name: String, path: PathBuf, clients: &Clients, vault: Arc<Vault>) -> Replay {
        let (cassette, next, playing) = (Mutex::default(), AtomicUsize::new(0), tokio::sync::Mutex::default());
        Replay { name, path, clients: clients.clone(), vault, cassette, next, playing }
    }

    fn fault(&self, text: String) -> ProviderError {
        ProviderError::new(&self.name, ProviderErrorKind::Refused, text)
    }

    fn cassette(&self) -> Result<Arc<Cassette>, String> {
        let mut known = self.cassette.lock();
        if let Some(cassette) = &*known {
            return Ok(cassette.clone());
        }
        let cassette = Arc::new(load(&self.path)?);
        *known = Some(cassette.clone());
        Ok(cassette)
    }

    fn over(&self, cassette: &Cassette) -> String {
        format!(
            "all {} exchanges of {} were played; restart the core to play it from its beginning",
            cassette.exchanges.len(),
            self.path.display()
        )
    }

    /// Answers each request with the next exchange.
    async fn serve(&self, door: Door, cassette: &Cassette) -> String {
        loop {
            let taken = match door.take().await {
                Ok(taken) => taken,
                Err(why) => return why,
            };
            match cassette.exchanges.get(self.next.fetch_add(1, Ordering::Relaxed)) {
                Some(exchange) => play(taken, exchange).await,
                None => return self.over(cassette),
            }
        }
    }
}

/// Gives an answer as it was recorded; who does not wait for it any more is let go.
async fn play(Taken { mut stream, .. }: Taken, exchange: &Exchange) {
    if exchange.end == End::Never {
        return;
    }
    let head = answer_head(exchange.status, &exchange.headers);
    let mut open = stream.write_all(head.as_bytes()).await.is_ok();
    for chunk in &exchange.chunks {
        open = open && write_chunk(&mut stream, chunk).await.is_ok();
    }
    if open && exchange.end == End::Whole {
        let _ = stream.write_all(b"0\r\n\r\n").await;
    }
    let _ = stream.shutdown().await;
}

impl Profile for Replay {
    fn name(&self) -> &str {
        &self.name
    }

    fn locality(&self) -> Locality {
        // Nothing is sent anywhere.
        Locality::Local
    }

    fn url(&self) -> String {
        format!("cassette {}", self.path.display())
    }

    fn stands_in(&self) -> Option<String> {
        let played = format!("this was played from {}", self.path.display());
        Some(match self.cassette.lock().as_ref().map(|cassette| cassette.head.by) {
            Some(By::Script) => format!("A script stood in for the model: {played}."),
            Some(By::Models) | None => format!("No model was asked: {played}."),
        })
    }
}

#[async_trait]
impl Provider for Replay {
    async fn complete(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion, ProviderError> {
        let _one = self.playing.lock().await;
        let cassette = in_place(|| self.cassette()).map_err(|why| self.fault(why))?;
        let next = cassette.exchanges.get(self.next.load(Ordering::Relaxed));
        let next = next.ok_or_else(|| self.fault(self.over(&cassette)))?;
        let kind = Kind::parse(&next.kind).ok_or_else(|| {
            self.fault(format!(
                "{} was recorded with “{}”, which is no kind of provider",
                self.path.display(),
                next.kind
            ))
        })?;
        let door = Door::open().await.map_err(|why| self.fault(why))?;
        let (name, model) = (self.name.clone(), next.model.clone());
        let config = ProviderConfig { name, kind, url: door.url(), model, key: None, local: true, effort: None };
        let served = Served::new(config, &self.clients.untaped(), Limits::default(), self.vault.clone())
            .map_err(|why| self.fault(why.to_string()))?;
        tokio::select! {
            answer = served.complete(prompt, sink) => answer,
            why = self.serve(door, &cassette) => Err(self.fault(why)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpStream;

    #[tokio::test]
    async fn what_is_played_is_byte_for_byte_what_was_recorded() {
        for end in [End::Whole, End::Cut, End::Never] {
            let chunks =
                if end == End::Never { vec![] } else { vec![b"data: \xf0\x9f".to_vec(), b"\x9c\x81\n\n".to_vec()] };
            let exchange = Exchange {
                at: jiff::Timestamp::UNIX_EPOCH,
                provider: "desk".into(),
                kind: "openai".into(),
                model: "m".into(),
                url: String::new(),
                request: String::new(),
                status: if end == End::Never { 0 } else { 200 },
                headers: vec![("content-type".into(), "text/event-stream".into())],
                chunks,
                end,
                redacted: 0,
            };
            let door = Door::open().await.expect("a listener");
            let url = reqwest::Url::parse(&door.url()).expect("a URL");
            let mut client = TcpStream::connect(("127.0.0.1", url.port().unwrap_or(0))).await.expect("a connection");
            let request = format!("POST {} HTTP/1.1\r\ncontent-length: 2\r\n\r\n{{}}", url.path());
            client.write_all(request.as_bytes()).await.expect("it is sent");
            play(door.take().await.expect("it is taken"), &exchange).await;
            let mut got = Vec::new();
            client.read_to_end(&mut got).await.expect("it is read");
            let mut expected = match end {
                End::Never => Vec::new(),
                End::Whole | End::Cut => answer_head(200, &exchange.headers).into_bytes(),
            };
            for chunk in &exchange.chunks {
                expected.extend([format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat());
            }
            if end == End::Whole {
                expected.extend(b"0\r\n\r\n");
            }
            assert_eq!(got, expected, "{end:?}");
        }
    }
}
