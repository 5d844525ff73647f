//! The one HTTP client of all providers, its time-outs and limits, and bounded reading of small answers.

use crate::edge::provider::config::{Address, ConfigError};
use crate::edge::provider::deck::Deck;
use crate::edge::provider::retry::Retries;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long each step of a request may take.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// Until a connection stands.
    pub connect: Duration,
    /// From the request to the first sign of an answer.
    pub first: Duration,
    /// Between two signs of life.
    pub stall: Duration,
    /// For the whole answer.
    pub whole: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            connect: Duration::from_secs(5),
            first: Duration::from_secs(60),
            stall: Duration::from_secs(30),
            whole: Duration::from_secs(30 * 60),
        }
    }
}

/// How large an answer may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Text, in bytes; thoughts that a model shows count apart, up to the same.
    pub text: usize,
    /// Calls of tools.
    pub calls: usize,
    /// All arguments together, in bytes.
    pub arguments: usize,
    /// Tokens of an answer, thoughts included, that the provider is told to stop at; without it, as the provider has it.
    pub answer: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { text: 4 * 1024 * 1024, calls: 64, arguments: 1024 * 1024, answer: None }
    }
}

/// The clients of so many sockets are kept.
const MOST_SOCKETS: usize = 16;
/// The largest list of models that is read, in bytes.
const MAX_LIST: usize = 4 * 1024 * 1024;

/// The HTTP clients that all providers share: connections and TLS are set up once.
///
/// Loopback addresses have their own, which asks no proxy and looks no name up,
/// because a prompt that must not leave this machine would otherwise leave it by a proxy.
#[derive(Clone, Debug)]
pub struct Clients {
    outward: reqwest::Client,
    loopback: reqwest::Client,
    /// One for each Unix socket.
    sockets: Arc<Mutex<BTreeMap<PathBuf, reqwest::Client>>>,
    timeouts: Timeouts,
    retries: Retries,
    deck: Option<Arc<Deck>>,
}

impl Clients {
    /// Makes the clients.
    pub fn new(timeouts: Timeouts) -> Result<Clients, reqwest::Error> {
        let here = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)].map(|ip| SocketAddr::new(ip, 0));
        Ok(Clients {
            outward: builder(timeouts).build()?,
            loopback: builder(timeouts).no_proxy().resolve_to_addrs("localhost", &here).build()?,
            sockets: Arc::default(),
            timeouts,
            retries: Retries::default(),
            deck: None,
        })
    }

    /// Makes failed requests again by these rules.
    pub fn retrying(self, retries: Retries) -> Clients {
        Clients { retries, ..self }
    }

    /// Has exchanges recorded while a cassette is in the deck.
    pub fn taped(self, deck: Arc<Deck>) -> Clients {
        Clients { deck: Some(deck), ..self }
    }

    /// Returns the same clients, of whose exchanges nothing is recorded.
    pub fn untaped(&self) -> Clients {
        Clients { deck: None, ..self.clone() }
    }

    /// Returns the same clients for whoever waits otherwise; how long a connection may take to stand stays.
    pub fn waiting(&self, first: Duration, stall: Duration, whole: Duration) -> Clients {
        Clients { timeouts: Timeouts { first, stall, whole, ..self.timeouts }, ..self.clone() }
    }

    /// Returns the deck, where there is one.
    pub(super) fn deck(&self) -> Option<&Arc<Deck>> {
        self.deck.as_ref()
    }

    /// Returns by which rules failed requests are made again.
    pub fn retries(&self) -> Retries {
        self.retries.clone()
    }

    /// Returns the time-outs.
    pub fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    /// Returns the client for an address.
    pub(crate) fn to(&self, address: &Address, name: &str) -> Result<reqwest::Client, ConfigError> {
        match &address.socket {
            Some(path) => self
                .of_socket(path)
                .map_err(|error| ConfigError::Client { name: name.to_string(), why: error.to_string() }),
            None if address.is_loopback() => Ok(self.loopback.clone()),
            None => Ok(self.outward.clone()),
        }
    }
}

impl Clients {
    /// Returns the client for an address that is no provider's.
    pub(crate) fn at(&self, loopback: bool) -> reqwest::Client {
        if loopback { self.loopback.clone() } else { self.outward.clone() }
    }

    fn of_socket(&self, path: &Path) -> Result<reqwest::Client, reqwest::Error> {
        let mut sockets = self.sockets.lock();
        if let Some(known) = sockets.get(path) {
            return Ok(known.clone());
        }
        let made = builder(self.timeouts).no_proxy().unix_socket(path).build()?;
        if sockets.len() >= MOST_SOCKETS {
            // Who uses one goes on with it.
            sockets.clear();
        }
        sockets.insert(path.to_path_buf(), made.clone());
        Ok(made)
    }
}

fn builder(timeouts: Timeouts) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .connect_timeout(timeouts.connect)
        // A redirect could carry a prompt, or a key, to a host that nobody confirmed.
        .redirect(reqwest::redirect::Policy::none())
        // Compressed answers could unfold to any size before we count them.
        .no_gzip()
        .referer(false)
        .user_agent(concat!("passepartout/", env!("CARGO_PKG_VERSION")))
}

/// Why a small answer was not read.
pub(crate) enum SmallFault {
    /// The connection.
    Web(reqwest::Error),
    /// Nothing in time.
    Timeout,
    /// A status other than success, with the start of the body.
    Status(u16, String),
    /// Too large, or no JSON.
    Garbled(&'static str),
}

/// Gets a JSON document of bounded size in bounded time.
pub(crate) async fn get_json(
    request: reqwest::RequestBuilder,
    timeouts: Timeouts,
) -> Result<serde_json::Value, SmallFault> {
    let read = async {
        let mut response = request.send().await.map_err(SmallFault::Web)?;
        let status = response.status();
        let most = if status.is_success() { MAX_LIST } else { 64 * 1024 };
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(SmallFault::Web)? {
            body.extend_from_slice(&chunk);
            if body.len() > most {
                if status.is_success() {
                    return Err(SmallFault::Garbled("its list of models is over 4 MiB"));
                }
                break;
            }
        }
        if !status.is_success() {
            return Err(SmallFault::Status(status.as_u16(), String::from_utf8_lossy(&body).into_owned()));
        }
        serde_json::from_slice(&body).map_err(|_| SmallFault::Garbled("its list of models is no JSON"))
    };
    tokio::time::timeout(timeouts.first, read).await.unwrap_or(Err(SmallFault::Timeout))
}
