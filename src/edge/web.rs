//! Fetches a page of the web as text: one host, looked up once and pinned, bounded in size and time.
//!
//! Numbers that lead inside (this machine, private networks) are refused, whatever name leads to them.

use crate::domain::page;
use crate::domain::web::{host_of, inside};
use crate::edge::sandbox::{Resolve, SystemResolver};
use encoding_rs::{Encoding, UTF_8};
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response, Url};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The largest page that is read, in bytes.
pub const MOST_BYTES: usize = 5 << 20;
/// How long the whole of it may take. The tool's own time-out is a little longer.
const PATIENCE: Duration = Duration::from_secs(28);
/// How long reading the structure of a page may take.
const READING: Duration = Duration::from_secs(5);
/// How often a page may send one elsewhere on its own host.
const MOST_TURNS: usize = 5;
/// The stack of the thread that reads the structure of a page, in bytes.
const STACK: usize = 64 << 20;

/// Which numbers may be reached; returns why not.
pub type Reach = fn(IpAddr) -> Option<&'static str>;

/// A page that was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Where it was at last.
    pub url: String,
    /// Its title, when it has one.
    pub title: Option<String>,
    /// Its text.
    pub text: String,
}

/// Fetches a page, from hosts of the public network.
///
/// # Errors
/// In words.
pub async fn fetch(url: &str) -> Result<Page, String> {
    fetch_where(url, inside).await
}

/// Fetches a page, where another rule says which numbers may be reached.
///
/// # Errors
/// In words.
pub async fn fetch_where(url: &str, reach: Reach) -> Result<Page, String> {
    fetch_by(url, reach, &SystemResolver).await
}

/// Fetches a page from where somebody else than the system says that its host is.
async fn fetch_by(url: &str, reach: Reach, names: &dyn Resolve) -> Result<Page, String> {
    let fetching = tokio::time::timeout(PATIENCE, fetched(url, reach, names));
    fetching.await.map_err(|_| format!("{url} did not come within {} seconds", PATIENCE.as_secs()))?
}

async fn fetched(url: &str, reach: Reach, names: &dyn Resolve) -> Result<Page, String> {
    let host = host_of(url).map_err(|why| format!("{url} is no address that is fetched: {why}"))?;
    let mut at = parsed(url, &host)?;
    let client = pinned(&at, reach, names).await?;
    for _ in 0..=MOST_TURNS {
        let response = client.get(at.clone()).send().await.map_err(|error| said(&error))?;
        let status = response.status();
        if status.is_redirection() {
            at = turned(&at, &response, &host)?;
            continue;
        }
        if !status.is_success() {
            return Err(format!("{host} answered with status {}", status.as_u16()));
        }
        return read(at, response).await;
    }
    Err(format!("{host} sends one elsewhere more than {MOST_TURNS} times"))
}

/// Reads an address; what another reader would take for another host is refused.
fn parsed(url: &str, host: &str) -> Result<Url, String> {
    let parsed = Url::parse(url).map_err(|error| format!("{url} is no address: {error}"))?;
    let same = host_of(parsed.as_str()).is_ok_and(|read| same_host(&read, host, parsed.scheme()));
    if !same || !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(format!("{url} can be read as another host"));
    }
    Ok(parsed)
}

/// Whether two hosts are the same; the usual port may be written or not.
fn same_host(one: &str, other: &str, scheme: &str) -> bool {
    let usual = if scheme == "https" { ":443" } else { ":80" };
    let bare = |host: &str| host.strip_suffix(usual).unwrap_or(host).to_string();
    bare(one) == bare(other)
}

/// Looks the host up, once, and returns a client that asks these very numbers.
async fn pinned(url: &Url, reach: Reach, names: &dyn Resolve) -> Result<Client, String> {
    let name = url.host_str().ok_or("it names no host")?.to_string();
    let port = url.port_or_known_default().ok_or("it names no port")?;
    let bare = name.trim_matches(['[', ']']).to_string();
    let found = names.resolve(&bare).await.map_err(|error| format!("{name} was not found: {error}"))?;
    let numbers: Vec<SocketAddr> = found.into_iter().map(|number| SocketAddr::new(number, port)).collect();
    if numbers.is_empty() {
        return Err(format!("{name} was not found"));
    }
    // One that leads inside is enough: nobody knows which of them would be asked.
    if let Some(why) = numbers.iter().find_map(|number| reach(number.ip())) {
        return Err(format!("{name} is not fetched from: {why}"));
    }
    Client::builder()
        .no_proxy()
        .no_gzip()
        .referer(false)
        .redirect(reqwest::redirect::Policy::none())
        .resolve_to_addrs(&name, &numbers)
        .connect_timeout(Duration::from_secs(10))
        .user_agent(concat!("passepartout/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| said(&error))
}

/// Returns where one is sent: on the same host, and not from a guarded connection to an open one.
fn turned(at: &Url, response: &Response, host: &str) -> Result<Url, String> {
    let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
    let to = to.and_then(|to| at.join(to).ok()).ok_or_else(|| format!("{host} sends one nowhere"))?;
    stays(at, &to, host)?;
    parsed(to.as_str(), host)
}

/// Makes sure that one address leads on from another on the same host.
fn stays(at: &Url, to: &Url, host: &str) -> Result<(), String> {
    let name = host_of(to.as_str()).map_err(|why| format!("{host} sends one to what is no address: {why}"))?;
    // Letter for letter, a dot at its end included: the numbers that were looked up are kept under that name.
    if !same_host(&name, host, to.scheme()) || to.host_str() != at.host_str() {
        return Err(format!("{host} sends one to another host: {}. Fetch that, if it is wanted", cut(to.as_str())));
    }
    if at.scheme() == "https" && to.scheme() != "https" {
        return Err(format!("{host} sends one from https to http"));
    }
    if to.port_or_known_default() != at.port_or_known_default() {
        return Err(format!("{host} sends one to another port: {}", cut(to.as_str())));
    }
    Ok(())
}

/// Returns the beginning of what a server said, for an error.
fn cut(text: &str) -> String {
    let cut: String = text.chars().take(120).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

async fn read(url: Url, mut response: Response) -> Result<Page, String> {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("").to_string();
    let media = kind.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    let html = matches!(media.as_str(), "text/html" | "application/xhtml+xml");
    if !html && !media.starts_with("text/") {
        let media = if media.is_empty() { "of no kind that it names" } else { &media };
        return Err(format!("only HTML and text are fetched, and {url} is {}", cut(media)));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| said(&error))? {
        if bytes.len() + chunk.len() > MOST_BYTES {
            return Err(format!("{url} is larger than {} MB", MOST_BYTES >> 20));
        }
        bytes.extend_from_slice(&chunk);
    }
    let text = decoded(&bytes, &kind, html);
    match html {
        false => Ok(Page { url: url.to_string(), title: None, text }),
        true => Ok(article(url.to_string(), text).await),
    }
}

/// Reads bytes by their mark, by what the server says, by what the page says, else as UTF-8.
fn decoded(bytes: &[u8], kind: &str, html: bool) -> String {
    let named = |text: &str| {
        let (_, rest) = text.split_once("charset=")?;
        let name = rest.trim_start_matches(['"', '\'']);
        let name: String = name.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')).collect();
        Encoding::for_label(name.as_bytes())
    };
    let head = String::from_utf8_lossy(bytes.get(..bytes.len().min(1024)).unwrap_or_default()).to_ascii_lowercase();
    let said = named(&kind.to_ascii_lowercase()).or_else(|| html.then(|| named(&head)).flatten());
    said.unwrap_or(UTF_8).decode(bytes).0.into_owned()
}

/// Returns the article of a page, or all its words when nothing can be told apart.
///
/// It is read on a thread of its own, which is left behind when it does not end: pages can be built to keep a reader busy.
async fn article(url: String, html: String) -> Page {
    let plain = page::plain(&html);
    let fallback = Page { url: url.clone(), title: None, text: plain.clone() };
    if !page::is_tame(&html) {
        return fallback;
    }
    let (told, found) = tokio::sync::oneshot::channel();
    let reading = crate::edge::thread::spawn("passepartout-page", STACK, move || {
        let config = dom_smoothie::Config {
            max_elements_to_parse: 60_000,
            text_mode: dom_smoothie::TextMode::Formatted,
            ..dom_smoothie::Config::default()
        };
        let read = std::panic::catch_unwind(|| {
            let mut reader = dom_smoothie::Readability::new(html, None, Some(config)).ok()?;
            let article = reader.parse().ok()?;
            Some((article.title.trim().to_string(), article.text_content.trim().to_string()))
        });
        // Nobody may wait any more.
        let _ = told.send(read.ok().flatten());
    });
    if reading.is_err() {
        return fallback;
    }
    match tokio::time::timeout(READING, found).await {
        // What is much shorter than the page is a guess that went wrong.
        Ok(Ok(Some((title, text)))) if text.len() * 20 >= plain.len() && !text.is_empty() => {
            Page { url, title: Some(title).filter(|title| !title.is_empty()), text }
        }
        Ok(_) | Err(_) => fallback,
    }
}

/// Returns an error of the network with what lies behind it: the outermost words alone say nothing.
fn said(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut behind = std::error::Error::source(error);
    for _ in 0..4 {
        let Some(cause) = behind else { break };
        text.push_str(&format!(": {cause}"));
        behind = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[test]
    fn one_stays_on_a_host_only_under_the_very_name_that_was_looked_up() {
        let at = Url::parse("https://example.org/a").expect("an address");
        for (to, stays_there) in [
            ("https://example.org/b", true),
            ("https://EXAMPLE.org/b", true),
            ("https://example.org:443/b", true),
            // The same host to a reader, and another name to whoever looks it up.
            ("https://example.org./b", false),
            ("https://www.example.org/b", false),
            ("https://example.org:444/b", false),
            ("http://example.org/b", false),
        ] {
            let to = Url::parse(to).expect("an address");
            assert_eq!(stays(&at, &to, "example.org").is_ok(), stays_there, "{to}");
        }
    }

    /// Answers one after the other, and counts how often it is asked.
    struct Names(Vec<Vec<IpAddr>>, AtomicUsize);

    #[async_trait::async_trait]
    impl Resolve for Names {
        async fn resolve(&self, _: &str) -> std::io::Result<Vec<IpAddr>> {
            let asked = self.1.fetch_add(1, Ordering::Relaxed);
            self.0.get(asked).cloned().ok_or_else(|| std::io::ErrorKind::NotFound.into())
        }
    }

    /// Sends one on to another page of the same host, and then answers; each connection has one request.
    async fn served() -> u16 {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("loopback is there");
        let port = listener.local_addr().expect("it listens").port();
        tokio::spawn(async move {
            for answer in [
                "HTTP/1.1 302 Found\r\nlocation: /on\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\nconnection: close\r\n\r\nthere",
            ] {
                let (mut client, _) = listener.accept().await.expect("it is asked");
                let _ = client.read(&mut [0; 4096]).await;
                let _ = client.write_all(answer.as_bytes()).await;
                let _ = client.shutdown().await;
            }
        });
        port
    }

    #[tokio::test]
    async fn a_name_is_looked_up_once_and_asked_at_these_numbers_alone() {
        let number = |text: &str| text.parse::<IpAddr>().expect("a number");
        let (here, public) = (number("127.0.0.1"), number("93.184.216.34"));
        let url = format!("http://site.invalid:{}/", served().await);
        // Whatever it would be said to be the second time, and whatever the system says of it.
        let names = Names(vec![vec![here], vec![public]], AtomicUsize::new(0));
        let page = fetch_by(&url, |_| None, &names).await.expect("it is fetched");
        assert_eq!((page.text.as_str(), names.1.load(Ordering::Relaxed)), ("there", 1));
        for numbers in [vec![public, here], vec![here, public], vec![number("::1")], vec![public, number("10.0.0.7")]] {
            let names = Names(vec![numbers.clone()], AtomicUsize::new(0));
            let why = fetch_by(&url, inside, &names).await.expect_err("one of them leads inside");
            assert!(why.starts_with("site.invalid is not fetched from: "), "{numbers:?}: {why}");
        }
        let none = fetch_by(&url, inside, &Names(vec![Vec::new()], AtomicUsize::new(0))).await;
        assert_eq!(none, Err("site.invalid was not found".to_string()));
    }
}
