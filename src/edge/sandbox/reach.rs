//! What a command may reach: the hosts of its plan, each looked up once and kept at the numbers that were found.

use crate::domain::gate::reach::{Host, leads_inside};
use crate::edge::sandbox::SandboxError;
use async_trait::async_trait;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// How long a name may take to be looked up.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most numbers that are kept of one name.
const MOST_NUMBERS: usize = 8;

/// Looks names up.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// Returns the numbers of a name.
    ///
    /// # Errors
    /// When it has none, or nobody could be asked.
    async fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>>;
}

/// Asks the system.
#[derive(Clone, Copy, Debug)]
pub struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// How the network is reached on behalf of commands. It is made by the program, and nothing that a model says changes it.
#[derive(Clone)]
pub struct Network {
    resolver: Arc<dyn Resolve>,
    refused: fn(IpAddr) -> Option<&'static str>,
}

impl Network {
    /// The system's names, and only numbers of the public network.
    pub fn public() -> Network {
        Network { resolver: Arc::new(SystemResolver), refused: leads_inside }
    }

    /// Other names and other numbers, for tests that have loopback only.
    pub fn with(resolver: Arc<dyn Resolve>, refused: fn(IpAddr) -> Option<&'static str>) -> Network {
        Network { resolver, refused }
    }

    /// Looks every host up, once.
    ///
    /// # Errors
    /// When one has no number, or any number of it leads inside: then nothing is reached at all.
    pub async fn pin(&self, hosts: &[Host]) -> Result<Reach, SandboxError> {
        let mut pinned = Vec::new();
        for host in hosts {
            let numbers = match host.number() {
                Some(number) => vec![number],
                None => self.look_up(host.name()).await?,
            };
            if let Some((number, why)) = numbers.iter().find_map(|n| (self.refused)(*n).map(|why| (n, why))) {
                return Err(SandboxError::Policy(format!("{host} may not be reached, since it is at {number}: {why}")));
            }
            pinned.push(Pinned { host: host.clone(), numbers });
        }
        Ok(Reach(pinned))
    }

    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, SandboxError> {
        let unknown = |why: String| SandboxError::Policy(format!("{name} cannot be looked up: {why}"));
        let looked = tokio::time::timeout(PATIENCE, self.resolver.resolve(name)).await;
        let mut numbers =
            looked.map_err(|_| unknown("nobody answered".to_string()))?.map_err(|e| unknown(e.to_string()))?;
        numbers.dedup();
        numbers.truncate(MOST_NUMBERS);
        if numbers.is_empty() { Err(unknown("it has no address".to_string())) } else { Ok(numbers) }
    }
}

#[derive(Clone, Debug)]
struct Pinned {
    host: Host,
    numbers: Vec<IpAddr>,
}

/// The hosts that one command may reach, at the numbers that they had when it began.
#[derive(Clone, Debug)]
pub struct Reach(Vec<Pinned>);

impl Reach {
    /// Returns where a host stands, if it may be reached at that port.
    pub(super) fn addresses(&self, name: &str, port: u16) -> Option<Vec<SocketAddr>> {
        let found = self.0.iter().find(|pinned| pinned.host.is(name, port))?;
        Some(found.numbers.iter().map(|number| SocketAddr::new(*number, port)).collect())
    }

    /// Returns the names, for people.
    pub(super) fn names(&self) -> String {
        self.0.iter().map(|pinned| pinned.host.to_string()).collect::<Vec<_>>().join(", ")
    }
}
