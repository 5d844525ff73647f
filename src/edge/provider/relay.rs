//! What stands between a provider and its server while exchanges are recorded: each byte is handed on as it comes.
//!
//! The provider asks a listener of our own in the place of its server, without a key; this asks the server with it. Only
//! so are the bytes seen as they come, in their pieces: the library that reads answers gives none of that away.

use crate::domain::cassette::{End, Exchange, MOST_BODY, is_header};
use crate::edge::provider::config::{Address, Kind, ProviderConfig};
use crate::edge::provider::http::Clients;
use crate::edge::provider::served::key_headers;
use crate::edge::provider::shown::{Door, Taken};
use parking_lot::Mutex;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::task::JoinHandle;

/// Headers of an answer that are read.
const READ: [&str; 3] = ["content-type", "retry-after", "retry-after-ms"];
/// Headers of a request that are about its connection alone, or a key's place.
const OWN: [&str; 5] = ["host", "content-length", "connection", "transfer-encoding", "accept-encoding"];
/// How long the end of an answer may still be on its way after it was understood.
const REST: Duration = Duration::from_millis(500);

/// One exchange that is recorded.
pub(super) struct Relay {
    /// Where the provider asks.
    pub(super) here: Address,
    exchange: Arc<Mutex<Exchange>>,
    task: JoinHandle<()>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        // With the turn ends the request to the server.
        self.task.abort();
    }
}

impl Relay {
    /// Opens one for a request; what it is about is told apart by `asking`, as [`Exchange::asking`] says.
    ///
    /// # Errors
    /// In words, when this machine gives no listener.
    pub(super) async fn open(
        config: &ProviderConfig,
        address: &Address,
        clients: &Clients,
        asking: u64,
    ) -> Result<Relay, String> {
        let door = Door::open().await?;
        let here = ProviderConfig { url: door.url(), ..config.clone() }.address().map_err(|why| why.to_string())?;
        let client = clients.to(address, &config.name).map_err(|why| why.to_string())?;
        let kind = Kind::NAMES.iter().find(|(_, kind)| *kind == config.kind).map_or("", |(name, _)| name);
        let exchange = Arc::new(Mutex::new(Exchange {
            at: jiff::Timestamp::now(),
            provider: config.name.clone(),
            kind: kind.to_string(),
            model: config.model.clone(),
            url: address.shown(),
            request: String::new(),
            status: 0,
            headers: Vec::new(),
            chunks: Vec::new(),
            end: End::Never,
            asking,
            redacted: 0,
        }));
        let (url, keys) = (address.chat(&config.model), keys(config)?);
        let kept = exchange.clone();
        let task = tokio::spawn(async move {
            if let Ok(taken) = door.take().await {
                pass_on(taken, &client, &url, keys, &kept).await;
            }
        });
        Ok(Relay { here, exchange, task })
    }

    /// Returns what went by; `understood` when the answer was read to its end.
    pub(super) async fn taped(mut self, understood: bool) -> Exchange {
        if understood {
            let _ = tokio::time::timeout(REST, &mut self.task).await;
        }
        self.exchange.lock().clone()
    }

    /// Returns what went by until now, if a request did; nothing more will.
    pub(super) fn stopped(self) -> Option<Exchange> {
        self.task.abort();
        Some(self.exchange.lock().clone()).filter(|exchange| !exchange.request.is_empty())
    }
}

fn keys(config: &ProviderConfig) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in key_headers(config) {
        let mut value = HeaderValue::from_str(&value).map_err(|_| "the key cannot stand in a header".to_string())?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(headers)
}

/// Asks the server, and hands on and keeps what comes.
async fn pass_on(taken: Taken, client: &reqwest::Client, url: &str, keys: HeaderMap, kept: &Mutex<Exchange>) {
    let Taken { mut stream, head, body } = taken;
    let mut headers = HeaderMap::new();
    for (name, value) in head.lines().skip(1).filter_map(|line| line.split_once(':')) {
        let pair = (HeaderName::from_bytes(name.trim().as_bytes()), HeaderValue::from_str(value.trim()));
        if let (Ok(name), Ok(value)) = pair
            && !OWN.contains(&name.as_str())
        {
            headers.insert(name, value);
        }
    }
    headers.extend(keys);
    kept.lock().request.clone_from(&body);
    // Where the server is not reached, the provider finds its own connection closed.
    let Ok(mut response) = client.post(url).headers(headers).body(body).send().await else { return };
    let status = response.status().as_u16();
    let read = |name: &&str| {
        // Between words of a header a tab is as good as a space.
        let value = response.headers().get(*name)?.to_str().ok()?.replace('\t', " ");
        is_header(&value).then(|| (name.to_string(), value))
    };
    let answered: Vec<(String, String)> = READ.iter().filter_map(read).collect();
    {
        let mut kept = kept.lock();
        (kept.status, kept.headers, kept.end) = (status, answered.clone(), End::Cut);
    }
    let mut open = stream.write_all(answer_head(status, &answered).as_bytes()).await.is_ok();
    let mut size = 0_usize;
    loop {
        match response.chunk().await {
            Ok(Some(bytes)) => {
                size = size.saturating_add(bytes.len());
                // What is too much is not kept whole; one piece more says so to whoever writes it down.
                if size <= MOST_BODY.saturating_add(bytes.len()) {
                    kept.lock().chunks.push(bytes.to_vec());
                }
                open = open && write_chunk(&mut stream, &bytes).await.is_ok();
            }
            Ok(None) => {
                kept.lock().end = End::Whole;
                let _ = stream.write_all(b"0\r\n\r\n").await;
                let _ = stream.shutdown().await;
                return;
            }
            // The provider finds its own connection cut.
            Err(_) => return,
        }
    }
}

/// Returns the head of an answer that comes in chunks.
pub(super) fn answer_head(status: u16, headers: &[(String, String)]) -> String {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("HTTP/1.1 {status} .\r\n{headers}transfer-encoding: chunked\r\nconnection: close\r\n\r\n")
}

/// Writes one chunk of an answer.
pub(super) async fn write_chunk(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> std::io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let framed = [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
    stream.write_all(&framed).await?;
    stream.flush().await
}
