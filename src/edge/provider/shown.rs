//! What a provider would be sent, byte for byte: the same code that asks it asks a listener of our own, without a key.
//!
//! Nothing is made to look like a request: it is one, and it never leaves this process. A listener is needed for that:
//! the library that makes requests gives their bytes to nothing but a connection.

use crate::domain::port::{Prompt, Provider, Streamed};
use crate::edge::provider::config::ProviderConfig;
use crate::edge::provider::http::{Clients, Limits};
use crate::edge::provider::pictures::hashed;
use crate::edge::provider::served::{Served, key_headers};
use crate::edge::secret::Vault;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

/// Headers of a request take no more bytes.
const MOST_HEAD: usize = 64 * 1024;
/// A body takes no more bytes.
const MOST_BODY: usize = 64 << 20;
/// It takes no longer, nor does its head.
const PATIENCE: Duration = Duration::from_secs(10);
/// So many connections are read at once; others wait until one of these has spoken, or its time is over.
const AT_ONCE: usize = 256;

/// A request as a provider would be sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Where it goes.
    pub url: String,
    /// Its headers, one line each; in the place of a key stands that there is one.
    pub headers: Vec<String>,
    /// Its body, byte for byte; a picture has its hash in its place.
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
    Ok(Shown { url: address.chat(&config.model), headers, body: hashed(body, prompt) })
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

    /// Takes the next request that knows the path. Whoever else connects, and says nothing, holds nobody up.
    ///
    /// # Errors
    /// In words, when it is none that we make.
    pub(super) async fn take(&self) -> Result<Taken, String> {
        let mut heads = FuturesUnordered::new();
        loop {
            tokio::select! {
                Some(begun) = heads.next(), if !heads.is_empty() => {
                    if let Ok(Some(begun)) = begun {
                        return rest_of(begun).await;
                    }
                }
                came = self.listener.accept(), if heads.len() < AT_ONCE => {
                    let (stream, _) = came.map_err(|why| why.to_string())?;
                    heads.push(tokio::time::timeout(PATIENCE, head_of(stream, &self.path)));
                }
            }
        }
    }
}

/// A request whose head was read, with the beginning of its body.
struct Begun {
    stream: TcpStream,
    head: String,
    body: Vec<u8>,
}

/// Reads the head of a request; `None` when it does not know the path.
async fn head_of(mut stream: TcpStream, path: &str) -> Option<Begun> {
    let mut read = Vec::new();
    let end = loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if read.len() > MOST_HEAD || stream.read_buf(&mut read).await.unwrap_or(0) == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(read.get(..end)?).into_owned();
    let body = read.split_off(end + 4);
    head.lines().next().is_some_and(|line| line.contains(path)).then_some(Begun { stream, head, body })
}

/// Reads the rest of a request.
async fn rest_of(Begun { mut stream, head, mut body }: Begun) -> Result<Taken, String> {
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let length = length.filter(|length| *length <= MOST_BODY).ok_or("the request has no length that can be shown")?;
    while body.len() < length {
        if stream.read_buf(&mut body).await.unwrap_or(0) == 0 {
            return Err("the request ended early".to_string());
        }
    }
    let body = String::from_utf8(body).map_err(|_| "the request is no text".to_string())?;
    Ok(Taken { stream, head, body })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    #[tokio::test]
    async fn whoever_connects_and_says_nothing_holds_nobody_up() {
        let door = Door::open().await.expect("a port");
        let connect = || TcpStream::connect(("127.0.0.1", door.port));
        let write = async |text: String| {
            let mut stream = connect().await.expect("it is open");
            stream.write_all(text.as_bytes()).await.expect("it is written");
            stream
        };
        let mut others = vec![connect().await.expect("it is open")];
        others.push(write("POST /".to_string()).await);
        others.push(write("POST /other/chat HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}".to_string()).await);
        drop(connect().await.expect("it is open"));
        let ours = format!("POST /{}/chat HTTP/1.1\r\ncontent-length: 2\r\n\r\n{{", door.path);
        let mut ours = write(ours).await;
        let taken = async {
            let (taken, written) = tokio::join!(door.take(), ours.write_all(b"}"));
            written.expect("it is written");
            taken.expect("it is taken")
        };
        let taken = tokio::time::timeout(Duration::from_secs(5), taken).await.expect("nobody holds it up");
        assert_eq!(taken.body, "{}");
        assert!(taken.head.starts_with(&format!("POST /{}/chat", door.path)), "{}", taken.head);
    }
}
