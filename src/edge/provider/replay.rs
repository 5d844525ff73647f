//! The provider that plays a cassette: what was recorded is answered again, in its order, without a network.
//!
//! Each answer goes the way of a live one: the same code asks a listener of our own, which gives the recorded bytes in
//! their pieces. What is asked does not choose the answer; the order does. Where several were asked for one answer, as the
//! first ones failed, they are played one behind the other until one answers, as it was.

use crate::domain::cassette::{By, Cassette, End, Exchange, MOST_BYTES, Requests};
use crate::domain::port::{
    Completion, Locality, Profile, Prompt, Provider, ProviderError, ProviderErrorKind, Sink, Streamed,
};
use crate::edge::provider::cascade::broke_off;
use crate::edge::provider::config::{Kind, ProviderConfig};
use crate::edge::provider::http::{Clients, Limits};
use crate::edge::provider::relay::{answer_head, write_chunk};
use crate::edge::provider::retry::Retries;
use crate::edge::provider::served::Served;
use crate::edge::provider::shown::{Door, Taken};
use crate::edge::secret::Vault;
use crate::edge::thread::in_place;
use async_trait::async_trait;
use parking_lot::Mutex;
use std::io::Read;
use std::path::{Display, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
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

/// A cassette that is being played, and how far it is. It outlives the providers that play it: whoever sets them up anew
/// goes on with it.
pub struct Playback {
    path: PathBuf,
    /// Read when it is asked first, so that a start waits for no file.
    read: Mutex<Option<Arc<Played>>>,
    /// How many askings were answered.
    next: AtomicUsize,
    /// Held while it answers: what two ask at once is answered one behind the other.
    playing: tokio::sync::Mutex<()>,
}

/// What was read, and what of it belongs together.
struct Played {
    cassette: Cassette,
    askings: Vec<Vec<Requests>>,
}

impl Playback {
    /// Begins a file; it is not read yet.
    pub fn new(path: PathBuf) -> Playback {
        Playback { path, read: Mutex::default(), next: AtomicUsize::new(0), playing: tokio::sync::Mutex::default() }
    }

    fn played(&self) -> Result<Arc<Played>, String> {
        let mut known = self.read.lock();
        if let Some(played) = &*known {
            return Ok(played.clone());
        }
        let cassette = load(&self.path)?;
        let played = Arc::new(Played { askings: cassette.askings(), cassette });
        *known = Some(played.clone());
        Ok(played)
    }
}

/// A provider that plays a cassette.
pub struct Replay {
    name: String,
    playback: Arc<Playback>,
    clients: Clients,
    vault: Arc<Vault>,
}

impl Replay {
    /// Makes one that goes on with a cassette.
    pub fn new(name: String, playback: Arc<Playback>, clients: &Clients, vault: Arc<Vault>) -> Replay {
        Replay { name, playback, clients: clients.clone(), vault }
    }

    fn path(&self) -> Display<'_> {
        self.playback.path.display()
    }

    fn fault(&self, text: String) -> ProviderError {
        ProviderError::new(&self.name, ProviderErrorKind::Refused, text)
    }

    fn all_played(&self, played: &Played) -> String {
        format!(
            "all {} exchanges of {} were played; restart the core to play it from its beginning",
            played.cassette.exchanges.len(),
            self.path()
        )
    }

    /// Plays what one provider was asked for one answer, as often as it was asked.
    async fn play(
        &self,
        exchanges: &[&Exchange],
        prompt: &Prompt,
        sink: Sink<'_>,
    ) -> Result<Completion, ProviderError> {
        let kind = exchanges.first().map_or("", |first| &first.kind);
        let model = exchanges.first().map(|first| first.model.clone()).unwrap_or_default();
        let kind = Kind::parse(kind).ok_or_else(|| {
            self.fault(format!("{} was recorded with “{kind}”, which is no kind of provider", self.path()))
        })?;
        let door = Door::open().await.map_err(|why| self.fault(why))?;
        let config = ProviderConfig {
            name: self.name.clone(),
            kind,
            url: door.url(),
            model,
            key: None,
            local: true,
            effort: None,
            // What is played was sent once.
            pictures: Some(true),
        };
        // It was asked again as often as its exchanges say; nothing is waited for.
        let tries = u32::try_from(exchanges.len()).unwrap_or(u32::MAX);
        let again = Retries::new(tries, Duration::MAX).pausing(|_| Box::pin(std::future::ready(())));
        let clients = self.clients.untaped().retrying(again);
        let served = Served::new(config, &clients, Limits::default(), self.vault.clone())
            .map_err(|why| self.fault(why.to_string()))?;
        tokio::select! {
            answer = served.complete(prompt, sink) => answer,
            why = serve(door, exchanges) => Err(self.fault(why)),
        }
    }
}

/// Answers each request with the next exchange.
async fn serve(door: Door, exchanges: &[&Exchange]) -> String {
    for exchange in exchanges {
        match door.take().await {
            Ok(taken) => play(taken, exchange).await,
            Err(why) => return why,
        }
    }
    // What was answered last is still being read meanwhile.
    match door.take().await {
        Ok(_) => "it asked once more than was recorded".to_string(),
        Err(why) => why,
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
        format!("cassette {}", self.path())
    }

    fn takes_pictures(&self) -> Option<bool> {
        Some(true)
    }

    fn stands_in(&self) -> Option<String> {
        let played = format!("this was played from {}", self.path());
        Some(match self.playback.read.lock().as_ref().map(|played| played.cassette.head.by) {
            Some(By::Script) => format!("A script stood in for the model: {played}."),
            Some(By::Models) | None => format!("No model was asked: {played}."),
        })
    }

    fn over(&self) -> Option<String> {
        // What was not read yet is not over.
        let played = self.playback.read.lock().clone()?;
        let next = self.playback.next.load(Ordering::Relaxed);
        (next >= played.askings.len()).then(|| self.all_played(&played))
    }
}

#[async_trait]
impl Provider for Replay {
    async fn complete(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion, ProviderError> {
        let _one = self.playback.playing.lock().await;
        let played = in_place(|| self.playback.played()).map_err(|why| self.fault(why))?;
        let next = self.playback.next.load(Ordering::Relaxed);
        let asking = played.askings.get(next).ok_or_else(|| self.fault(self.all_played(&played)))?;
        // Whatever becomes of it: the next question has the next answer.
        self.playback.next.store(next.saturating_add(1), Ordering::Relaxed);
        let mut failed = self.fault(self.all_played(&played));
        for (n, requests) in asking.iter().enumerate() {
            let exchanges: Vec<&Exchange> =
                requests.iter().filter_map(|at| played.cassette.exchanges.get(*at)).collect();
            let mut streamed = false;
            let mut told = |piece: Streamed<'_>| {
                streamed |= !piece.text().is_empty();
                sink(piece);
            };
            match self.play(&exchanges, prompt, &mut told).await {
                Ok(completion) => return Ok(completion),
                Err(error) => failed = error,
            }
            // As the cascade says it where the next one is another provider.
            let who = exchanges.first().filter(|_| streamed && asking.len() > n + 1);
            who.into_iter().for_each(|of| sink(Streamed::Text(&broke_off(&of.provider, true))));
        }
        Err(failed)
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
                asking: 0,
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
