//! What a provider would be sent, byte for byte: the same code that asks it asks a listener of our own, without a key.
//!
//! Nothing is made to look like a request: it is one, and it never leaves this process. A listener is needed for that:
//! the library that makes requests gives their bytes to nothing but a connection.

use crate::domain::port::{Prompt, Provider, Streamed};
use crate::edge::provider::config::ProviderConfig;
use crate::edge::provider::http::{Clients, Limits};
use crate::edge::provider::served::{Served, key_headers};
use crate::edge::secret::Vault;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

/// Headers of a request take no more bytes.
const MOST_HEAD: usize = 64 * 1024;
/// A body takes no more bytes.
const MOST_BODY: usize = 64 << 20;
/// It takes no longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A request as a provider would be sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Where it goes.
    pub url: String,
    /// Its headers, one line each; in the place of a key stands that there is one.
    pub headers: Vec<String>,
    /// Its body, byte for byte.
    pub body: String,
}

/// Returns what a provider would be sent for a prompt.
///
/// # Errors
/// In words, when the provider cannot be set up or the request cannot be made.
pub async fn shown(
    config: &ProviderConfig,
    prompt: &Prompt,
    clients: &Clients,
    vault: Arc<Vault>,
) -> Result<Shown, String> {
    let door = Door::open().await?;
    let url = door.url();
    let here = ProviderConfig { url, ..config.clone() }.address().map_err(|why| why.to_string())?;
    // Nothing of it is an exchange to be recorded.
    let clients = &clients.untaped();
    let served = Served::new(config.clone(), clients, Limits::default(), vault)
        .and_then(|served| served.shown_at(clients, here))
        .map_err(|why| why.to_string())?;
    let mut sink = |_: Streamed<'_>| {};
    let made = async {
        tokio::select! {
            taken = door.take() => taken.map(|taken| (taken.head, taken.body)),
            answer = served.complete(prompt, &mut sink) => {
                Err(answer.err().map_or_else(|| "nothing was sent".to_string(), |why| why.text))
            }
        }
    };
    let made = tokio::time::timeout(PATIENCE, made).await;
    let (head, body) = made.map_err(|_| "the request could not be made in time".to_string())??;
    let address = config.address().map_err(|why| why.to_string())?;
    let own = |line: &&str| !line.to_ascii_lowercase().starts_with("host:");
    let mut headers: Vec<String> = head.lines().skip(1).filter(own).map(str::to_string).collect();
    let known = |name: &str, headers: &[String]| headers.iter().any(|line| line.to_ascii_lowercase().starts_with(name));
    for (name, _) in key_headers(config) {
        if !known(name, &headers) {
            headers.push(format!("{name}: ⟨your key, which is never shown⟩"));
        }
    }
    Ok(Shown { url: address.chat(&config.model), headers, body })
}

/// A listener of our own on this machine, for whoever knows its path.
pub(super) struct Door {
    listener: TcpListener,
    path: String,
    port: u16,
}

/// A request that came through.
pub(super) struct Taken {
    /// Where the answer goes.
    pub(super) stream: TcpStream,
    /// The request's first line and headers.
    pub(super) head: String,
    /// Its body.
    pub(super) body: String,
}

impl Door {
    /// Opens one.
    ///
    /// # Errors
    /// In words, when this machine gives none.
    pub(super) async fn open() -> Result<Door, String> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(|why| why.to_string())?;
        let port = listener.local_addr().map_err(|why| why.to_string())?.port();
        // Whoever else connects does not know it.
        let path = format!("{:016x}", RandomState::new().hash_one(port));
        Ok(Door { listener, path, port })
    }

    /// Returns its address.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.path)
    }

    /// Takes the next request that knows the path.
    ///
    /// # Errors
    /// In words, when it is none that we make.
    pub(super) async fn take(&self) -> Result<Taken, String> {
        take(&self.listener, &self.path).await
    }
}

async fn take(listener: &TcpListener, path: &str) -> Result<Taken, String> {
    loop {
        let (mut stream, _) = listener.accept().await.map_err(|why| why.to_string())?;
        let mut read = Vec::new();
        let end = loop {
            if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
                break Some(end);
            }
            if read.len() > MOST_HEAD || stream.read_buf(&mut read).await.unwrap_or(0) == 0 {
                break None;
            }
        };
        let Some(end) = end else { continue };
        let head = String::from_utf8_lossy(read.get(..end).unwrap_or_default()).into_owned();
        if !head.lines().next().is_some_and(|line| line.contains(path)) {
            continue;
        }
        let mut body = read.split_off(end + 4);
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
        });
        let length =
            length.filter(|length| *length <= MOST_BODY).ok_or("the request has no length that can be shown")?;
        while body.len() < length {
            if stream.read_buf(&mut body).await.unwrap_or(0) == 0 {
                return Err("the request ended early".to_string());
            }
        }
        let body = String::from_utf8(body).map_err(|_| "the request is no text".to_string())?;
        return Ok(Taken { stream, head, body });
    }
}
