//! The one peer of a command that may reach hosts: a proxy that opens a way to these hosts and to nothing else.
//!
//! It listens in the command's own network namespace, whose only other end it is, and connects from here. It knows
//! `CONNECT` and requests with a whole `http://` address; each connection carries one request.

use crate::domain::web;
use crate::edge::sandbox::reach::Reach;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Most bytes of a request before its body.
const MOST_HEAD: usize = 16 * 1024;
/// Most headers of a request.
const MOST_HEADERS: usize = 100;
/// How long a request may take to be sent, and a host to be connected to.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most connections at one time.
const MOST_CONNECTIONS: usize = 64;
/// Most different hosts that are remembered as refused.
const MOST_REMEMBERED: usize = 20;

/// What was asked for: how often each host was reached, and what was refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Connections to hosts of the plan, by name and port.
    pub reached: BTreeMap<String, u32>,
    /// Connections to others, which were refused.
    pub refused: BTreeMap<String, u32>,
}

/// Serves until it is dropped, and with it every connection.
pub(super) async fn serve(listener: TcpListener, reach: &Reach, asked: &Arc<Mutex<Asked>>) {
    let reach = Arc::new(reach.clone());
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = open.join_next(), if !open.is_empty() => {}
            accepted = listener.accept(), if open.len() < MOST_CONNECTIONS => {
                let Ok((client, _)) = accepted else { return };
                let (reach, asked) = (reach.clone(), asked.clone());
                open.spawn(async move { handle(client, &reach, &asked).await });
            }
        }
    }
}

fn note(asked: &mut Asked, reached: bool, host: String) {
    let hosts = if reached { &mut asked.reached } else { &mut asked.refused };
    if hosts.len() < MOST_REMEMBERED || hosts.contains_key(&host) {
        let count = hosts.entry(host).or_default();
        *count = count.saturating_add(1);
    }
}

/// Serves one connection. What breaks on either side ends it, and concerns nobody else.
async fn handle(mut client: TcpStream, reach: &Reach, told: &Mutex<Asked>) {
    let head = match tokio::time::timeout(PATIENCE, read_head(&mut client)).await {
        Ok(Ok(head)) => head,
        Ok(Err(refusal)) => return answer(&mut client, &refusal).await,
        Err(_) => return,
    };
    let request = match Request::read(&head.head) {
        Ok(request) => request,
        Err(refusal) => return answer(&mut client, &refusal).await,
    };
    let asked = format!("{}:{}", request.host, request.port);
    let Some(addresses) = reach.addresses(&request.host, request.port) else {
        note(&mut told.lock(), false, asked.clone());
        let text = format!(
            "{asked} is none of the hosts of this plan ({}). To reach it, propose the command again with it in “hosts”.",
            reach.names()
        );
        return answer(&mut client, &Refusal(403, text)).await;
    };
    let Some(mut server) = connect(&addresses).await else {
        return answer(&mut client, &Refusal(502, format!("{asked} does not answer."))).await;
    };
    note(&mut told.lock(), true, asked);
    let greeted = match &request.forward {
        None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await,
        Some(head) => server.write_all(head).await,
    };
    if greeted.is_ok() && server.write_all(&head.rest).await.is_ok() {
        let _ = copy_bidirectional(&mut client, &mut server).await;
    }
}

async fn connect(addresses: &[SocketAddr]) -> Option<TcpStream> {
    for address in addresses {
        if let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, TcpStream::connect(address)).await {
            return Some(stream);
        }
    }
    None
}

/// Why a request is not served: status and words.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Refusal(u16, String);

fn bad(words: &str) -> Refusal {
    Refusal(400, words.to_string())
}

async fn answer(client: &mut TcpStream, Refusal(status, words): &Refusal) {
    let reason = match status {
        403 => "Forbidden",
        502 => "Bad Gateway",
        _ => "Bad Request",
    };
    let text = format!("Passepartout: {words}\n");
    let length = text.len();
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let _ = client.write_all(format!("{head}{text}").as_bytes()).await;
    let _ = client.shutdown().await;
}

/// The head of a request, and what came after it already.
struct Head {
    head: Vec<u8>,
    rest: Vec<u8>,
}

async fn read_head(client: &mut TcpStream) -> Result<Head, Refusal> {
    let mut bytes = Vec::new();
    let mut buffer = [0u8; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok(Head { head: bytes, rest });
        }
        if bytes.len() > MOST_HEAD {
            return Err(bad("the request is too long"));
        }
        match client.read(&mut buffer).await {
            Ok(n @ 1..) => bytes.extend_from_slice(buffer.get(..n).unwrap_or_default()),
            Ok(_) | Err(_) => return Err(bad("the request is not whole")),
        }
    }
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Request {
    host: String,
    port: u16,
    /// What the host is sent; `None` for a tunnel.
    forward: Option<Vec<u8>>,
}

impl Request {
    /// Reads a head that ends with an empty line.
    fn read(head: &[u8]) -> Result<Request, Refusal> {
        let text = std::str::from_utf8(head).map_err(|_| bad("the request is not text"))?;
        let mut lines = text.strip_suffix("\r\n\r\n").unwrap_or(text).split("\r\n");
        let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, target, "HTTP/1.1" | "HTTP/1.0"] = words.as_slice() else {
            return Err(bad("the first line is no request"));
        };
        if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(bad("the first line is no request"));
        }
        let headers: Vec<&str> = lines.collect();
        if headers.len() > MOST_HEADERS || !headers.iter().all(|line| is_header(line)) {
            return Err(bad("a header cannot be read"));
        }
        if *method == "CONNECT" {
            let (host, port) = place(&format!("https://{target}"), None)?;
            return Ok(Request { host, port, forward: None });
        }
        if !target.starts_with("http://") || target.contains(|c: char| c.is_control() || !c.is_ascii()) {
            return Err(bad("a proxy is asked by CONNECT, or for a whole http:// address"));
        }
        let (host, port) = place(target, Some(80))?;
        let forward = forwarded(method, target, &headers);
        Ok(Request { host, port, forward: Some(forward) })
    }
}

/// Returns host and port of an address; without `usual` the port must be named.
fn place(address: &str, usual: Option<u16>) -> Result<(String, u16), Refusal> {
    let found = web::host_of(address).map_err(|why| bad(&why))?;
    let bracket = found.rfind(']').map_or(0, |at| at + 1);
    let port = found.get(bracket..).and_then(|rest| rest.rsplit_once(':')).map(|(_, port)| port.to_string());
    let host = port.as_ref().and_then(|port| found.strip_suffix(&format!(":{port}"))).unwrap_or(&found);
    let host = host.trim_start_matches('[').trim_end_matches(']').to_string();
    match (port.map(|port| port.parse::<u16>()), usual) {
        (Some(Ok(port)), _) => Ok((host, port)),
        (None, Some(port)) => Ok((host, port)),
        (Some(Err(_)), _) | (None, None) => Err(bad("the port is missing")),
    }
}

fn is_header(line: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let Some((name, value)) = line.split_once(':') else { return false };
    !name.is_empty() && name.bytes().all(token) && !value.chars().any(|c| c.is_control() && c != '\t')
}

/// Returns the request as the host is sent it: without its own name in the first line, for one request, with the host
/// that was judged, and without what is between client and proxy.
fn forwarded(method: &str, target: &str, headers: &[&str]) -> Vec<u8> {
    let rest = target.get("http://".len()..).unwrap_or_default();
    let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(at);
    let path = path.split('#').next().unwrap_or_default();
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut text = format!("{method} {slash}{path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n");
    for line in headers {
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        if !(matches!(name.as_str(), "host" | "connection" | "keep-alive" | "upgrade") || name.starts_with("proxy-")) {
            text.push_str(line);
            text.push_str("\r\n");
        }
    }
    text.push_str("\r\n");
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(head: &str) -> String {
        match Request::read(head.as_bytes()) {
            Ok(Request { host, port, forward: None }) => format!("tunnel to {host} {port}"),
            Ok(Request { host, port, forward: Some(sent) }) => {
                format!("{host} {port}: {}", String::from_utf8_lossy(&sent).replace("\r\n", "|"))
            }
            Err(Refusal(status, words)) => format!("{status} {words}"),
        }
    }

    #[test]
    fn requests_are_read_in_one_way_or_not_at_all() {
        let cases = [
            ("CONNECT Example.org:443 HTTP/1.1\r\nHost: other\r\n\r\n", "tunnel to example.org 443"),
            ("CONNECT [2606:4700::1111]:443 HTTP/1.1\r\n\r\n", "tunnel to 2606:4700::1111 443"),
            ("CONNECT example.org HTTP/1.1\r\n\r\n", "400 the port is missing"),
            ("CONNECT a@example.org:443 HTTP/1.1\r\n\r\n", "400 it names a user before the host"),
            (
                "CONNECT 2130706433:443 HTTP/1.1\r\n\r\n",
                "400 its host is a number in an unusual form; write four decimal numbers",
            ),
            (
                "GET http://example.org/a?b#c HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: x\r\nAccept: */*\r\n\r\n",
                "example.org 80: GET /a?b HTTP/1.1|Host: example.org|Connection: close|Accept: */*||",
            ),
            (
                "POST http://example.org:8080?q HTTP/1.0\r\nContent-Length: 3\r\n\r\n",
                "example.org 8080: POST /?q HTTP/1.1|Host: example.org:8080|Connection: close|Content-Length: 3||",
            ),
            (
                "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
                "400 a proxy is asked by CONNECT, or for a whole http:// address",
            ),
            (
                "GET https://example.org/ HTTP/1.1\r\n\r\n",
                "400 a proxy is asked by CONNECT, or for a whole http:// address",
            ),
            ("GET http://example.org/ HTTP/2\r\n\r\n", "400 the first line is no request"),
            ("GET  http://example.org/ HTTP/1.1\r\n\r\n", "400 the first line is no request"),
            ("GET http://example.org/ HTTP/1.1\r\nA : b\r\n\r\n", "400 a header cannot be read"),
            ("GET http://example.org/ HTTP/1.1\r\n folded\r\n\r\n", "400 a header cannot be read"),
            ("GET http://example.org/ HTTP/1.1\r\nA: b\nHost: x\r\n\r\n", "400 a header cannot be read"),
        ];
        for (head, expected) in cases {
            assert_eq!(check(head), expected, "{head}");
        }
    }

    proptest! {
        #[test]
        fn any_head_is_read_or_refused(head in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Request::read(&head);
        }

        #[test]
        fn what_is_sent_names_the_host_that_was_judged(target in "http://[a-z.:@/?#\\\\\\[\\]0-9]{0,40}", header in "[ -~]{0,40}") {
            if let Ok(request) = Request::read(format!("GET {target} HTTP/1.1\r\n{header}\r\n\r\n").as_bytes()) {
                let sent = String::from_utf8(request.forward.unwrap_or_default()).expect("it is text");
                let hosts: Vec<&str> = sent.split("\r\n").filter(|line| line.to_ascii_lowercase().starts_with("host:")).collect();
                prop_assert_eq!(hosts.len(), 1);
                let named = hosts[0].to_ascii_lowercase();
                prop_assert!(named.contains(&request.host), "{} {}", named, request.host);
            }
        }
    }
}
