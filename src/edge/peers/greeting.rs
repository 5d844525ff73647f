//! The first words of a connection: the owner greets, who joins says what it is, and the owner lets it in.

use crate::domain::sexp::plist::{Plist, message};
use crate::domain::sexp::reader::Sexp;
use crate::edge::peers::stream::{Incoming, Outgoing, write};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};

/// The number of the protocol; two ends with different ones do not talk.
pub const PROTOCOL: i64 = 2;
/// How long the other end may take for its part of the greeting.
pub(in crate::edge) const PATIENCE: Duration = Duration::from_secs(5);

/// What wants to join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum As {
    /// Another Emacs.
    Emacs,
    /// A command of the command line.
    Cli,
    /// The terminal interface.
    Tui,
    /// Any other program: it reads and proposes.
    Client,
    /// The server that lends memory to another agent over MCP: it reads and proposes, and is granted nothing.
    Mcp,
    /// The agent that another editor talks with over ACP: it reads and proposes.
    Acp,
}

impl As {
    /// All of them.
    pub const ALL: [As; 6] = [As::Emacs, As::Cli, As::Tui, As::Client, As::Mcp, As::Acp];

    /// Returns its name in the greeting.
    pub const fn name(self) -> &'static str {
        match self {
            As::Emacs => "emacs",
            As::Cli => "cli",
            As::Tui => "tui",
            As::Client => "client",
            As::Mcp => "mcp",
            As::Acp => "acp",
        }
    }

    fn read(name: &str) -> Option<As> {
        As::ALL.into_iter().find(|this| this.name() == name)
    }
}

/// What a client says of itself. None of it is believed: it is a name for people, and what the client can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// What it joins as.
    pub kind: As,
    /// What it calls itself, on one line, made harmless.
    pub name: Option<String>,
    /// It says that it shows plans whole.
    pub shows_plans: bool,
    /// It wants its messages numbered.
    pub numbered: bool,
    /// It takes up a connection that broke, by its token, and has seen messages up to this number.
    pub resume: Option<(String, u64)>,
}

/// A client's name has at most so many characters.
const NAME: usize = 60;

impl Said {
    /// Says what it joins as, and nothing else.
    pub fn plain(kind: As) -> Said {
        Said { kind, name: None, shows_plans: false, numbered: false, resume: None }
    }

    /// Says what it joins as, and what it calls itself.
    pub fn named(kind: As, name: &str) -> Said {
        Said { name: Some(name.to_string()).filter(|name| !name.trim().is_empty()), ..Said::plain(kind) }
    }

    /// Reads a client's part of the greeting.
    ///
    /// # Errors
    /// In words, when it joins as nothing that is known.
    pub(super) fn read(payload: &Sexp) -> Result<Said, String> {
        let kind = As::read(payload.name_at("as").unwrap_or_default());
        let kind = kind.ok_or("a client joins as “emacs”, “cli”, “tui”, “client”, “mcp” or “acp”")?;
        let name = payload.text_at("name").map(|name| {
            let plain = |c: char| if c.is_control() { ' ' } else { c };
            let line: String = name.chars().take(NAME).map(plain).collect();
            crate::domain::inert::exact(line.trim())
        });
        let seen = payload.count_at("seen").map(|number| number as u64);
        let token = payload.text_at("resume").map(str::to_string);
        Ok(Said {
            kind,
            name: name.filter(|name| !name.is_empty()),
            shows_plans: payload.list_at("shows").iter().any(|what| what.as_name() == Some("plans")),
            numbered: seen.is_some() || token.is_some(),
            resume: token.map(|token| (token, seen.unwrap_or(0))),
        })
    }

    /// Returns a client's part of the greeting.
    pub(super) fn words(&self) -> Plist {
        let words = handshake().keyword("as", self.kind.name()).maybe("name", self.name.clone());
        let words = words.texts("shows", self.shows_plans.then(|| "plans".to_string()));
        let seen = self.resume.as_ref().map(|(_, seen)| *seen).or(self.numbered.then_some(0));
        let words = words.maybe("resume", self.resume.as_ref().map(|(token, _)| token.clone()));
        match seen {
            Some(seen) => words.int("seen", seen),
            None => words,
        }
    }
}

/// What a client is told when it is let in.
#[derive(Clone, Debug, Default)]
pub struct Welcome<'a> {
    /// What it is called towards people.
    pub client: &'a str,
    /// Why it has less rights than it may think.
    pub doubt: Option<&'a str>,
    /// The session below which its conversations stand, where it has one of its own.
    pub session: Option<&'a str>,
    /// Where its messages are numbered: the token by which it takes up this connection, whether it just did, and the
    /// number of its last message that came.
    pub line: Option<(&'a str, bool, u64)>,
}

pub(super) fn handshake() -> Plist {
    let words = Plist::new().keyword("action", "handshake").int("protocol", PROTOCOL);
    words.text("version", env!("CARGO_PKG_VERSION"))
}

/// Greets who has connected, and returns as what it wants to join.
///
/// # Errors
/// In words for the other end, when it does not answer as it should.
pub async fn greet(
    incoming: &mut Incoming<impl AsyncRead + Unpin>,
    outgoing: &mut Outgoing<impl AsyncWrite + Unpin>,
) -> Result<Said, String> {
    let words = handshake().texts("capabilities", capabilities());
    let answer = async {
        let greeting = message("event", words).build().to_string();
        outgoing.write(&[greeting]).await.map_err(|broken| broken.to_string())?;
        read(incoming).await
    };
    let late = || "the other end did not greet within 5 seconds".to_string();
    let payload = tokio::time::timeout(PATIENCE, answer).await.map_err(|_| late())??;
    Said::read(&payload)
}

/// What an owner can do for its clients, in words of the protocol.
pub(super) fn capabilities() -> impl Iterator<Item = String> {
    let kinds = As::ALL.into_iter().map(As::name);
    kinds.chain(["resume", "redirect", "health-check"]).map(str::to_string)
}

/// Says that the other end is in.
///
/// # Errors
/// In words, when the connection broke.
pub async fn welcome(outgoing: &mut Outgoing<impl AsyncWrite + Unpin>, said: &Welcome<'_>) -> Result<(), String> {
    let words = handshake().text("client", said.client).maybe("doubt", said.doubt).maybe("session", said.session);
    let words = match said.line {
        Some((token, resumed, heard)) => words.text("resume", token).flag("resumed", resumed).int("heard", heard),
        None => words,
    };
    outgoing.write(&[message("response", words).build().to_string()]).await.map_err(|broken| broken.to_string())
}

/// Says why a connection ends.
pub async fn refuse(outgoing: &mut Outgoing<impl AsyncWrite + Unpin>, why: &str) {
    end_with(outgoing, Plist::new().text("text", why)).await;
}

/// Tells another program that its connection ends as it was sent away, and why: it comes back when it is wanted.
pub async fn dismiss(outgoing: &mut Outgoing<impl AsyncWrite + Unpin>, why: &str) {
    end_with(outgoing, Plist::new().text("text", why).flag("dismissed", true)).await;
}

async fn end_with(outgoing: &mut Outgoing<impl AsyncWrite + Unpin>, words: Plist) {
    let text = message("response", words.keyword("action", "protocol-error")).build().to_string();
    // Who does not listen is not told.
    let _ = tokio::time::timeout(PATIENCE, outgoing.write(&[text])).await;
}

/// Answers the owner's greeting, and waits until it has let this process in. Returns why it has less rights here than
/// what it joins as would have, if it has.
///
/// # Errors
/// In words: [`Unmet::Refused`] when the owner says no.
pub async fn meet(
    incoming: &mut Incoming<impl AsyncRead + Unpin>,
    writer: &mut (impl AsyncWrite + Unpin),
    this: &Said,
) -> Result<Option<String>, Unmet> {
    let meeting = async {
        read(incoming).await.map_err(Unmet::Refused)?;
        let words = this.words();
        let sent = write(writer, &message("event", words).build().to_string()).await;
        sent.map_err(|broken| Unmet::Silent(broken.to_string()))?;
        let welcome = read(incoming).await.map_err(Unmet::Refused)?;
        Ok(welcome.text_at("doubt").map(str::to_string))
    };
    match tokio::time::timeout(PATIENCE, meeting).await {
        Ok(Err(Unmet::Refused(why))) if why == ENDED => Err(Unmet::Silent(why)),
        Ok(met) => met,
        Err(_) => Err(Unmet::Late("it did not answer within 5 seconds; it may be stopped".to_string())),
    }
}

/// Why the owner of a store was not joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmet {
    /// It said no, and will say so again.
    Refused(String),
    /// Nobody is there, or it ended.
    Silent(String),
    /// It is there and did not answer.
    Late(String),
}

/// What is said of a connection that ended in mid-greeting.
pub(super) const ENDED: &str = "the connection ended";

/// Reads the other end's part; another protocol is refused.
pub(super) async fn read(incoming: &mut Incoming<impl AsyncRead + Unpin>) -> Result<Sexp, String> {
    let text = match incoming.next().await {
        Ok(Some(text)) => text,
        Ok(None) => return Err(ENDED.to_string()),
        Err(crate::edge::peers::stream::Broken::System(_)) => return Err(ENDED.to_string()),
        Err(broken) => return Err(broken.to_string()),
    };
    let message = Sexp::read(&text).map_err(|error| error.to_string())?;
    let payload = message.get("payload").cloned().unwrap_or(Sexp::Nil);
    match (payload.name_at("action"), payload.int_at("protocol")) {
        (Some("handshake"), Some(PROTOCOL)) => Ok(payload),
        (Some("handshake"), other) => {
            let other = other.map_or_else(|| "none".to_string(), |number| number.to_string());
            Err(format!("this is protocol {PROTOCOL}, and the other end has {other}; use one version of Passepartout"))
        }
        (Some("protocol-error"), _) => Err(payload.text_at("text").unwrap_or("it was refused").to_string()),
        _ => Err("a connection begins with a handshake".to_string()),
    }
}
