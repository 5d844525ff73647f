//! The first words of a connection: the owner greets, who joins says what it is, and the owner lets it in.

use crate::domain::sexp::plist::{Plist, message};
use crate::domain::sexp::reader::Sexp;
use crate::edge::peers::stream::{Incoming, write};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};

/// The number of the protocol; two ends with different ones do not talk.
pub const PROTOCOL: i64 = 2;
/// How long the other end may take for its part of the greeting.
const PATIENCE: Duration = Duration::from_secs(5);

/// What wants to join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum As {
    /// Another Emacs.
    Emacs,
    /// A command of the command line.
    Cli,
    /// The client on a terminal that stays.
    Tui,
}

impl As {
    /// Returns its name in the greeting.
    pub const fn name(self) -> &'static str {
        match self {
            As::Emacs => "emacs",
            As::Cli => "cli",
            As::Tui => "tui",
        }
    }

    fn read(name: &str) -> Option<As> {
        [As::Emacs, As::Cli, As::Tui].into_iter().find(|this| this.name() == name)
    }
}

fn handshake() -> Plist {
    let words = Plist::new().keyword("action", "handshake").int("protocol", PROTOCOL);
    words.text("version", env!("CARGO_PKG_VERSION"))
}

/// Greets who has connected, and returns as what it wants to join.
///
/// # Errors
/// In words for the other end, when it does not answer as it should.
pub async fn greet(
    incoming: &mut Incoming<impl AsyncRead + Unpin>,
    writer: &mut (impl AsyncWrite + Unpin),
) -> Result<As, String> {
    let words = handshake().texts("capabilities", [As::Emacs, As::Cli, As::Tui].map(|this| this.name().to_string()));
    let answer = async {
        write(writer, &message("event", words).build().to_string()).await.map_err(|broken| broken.to_string())?;
        read(incoming).await
    };
    let late = || "the other end did not greet within 5 seconds".to_string();
    let payload = tokio::time::timeout(PATIENCE, answer).await.map_err(|_| late())??;
    let name = payload.name_at("as").unwrap_or_default();
    As::read(name).ok_or_else(|| "a client joins as “emacs”, “cli” or “tui”".to_string())
}

/// Says that the other end is in; `doubt` says why it has less rights than it may think.
///
/// # Errors
/// In words, when the connection broke.
pub async fn welcome(writer: &mut (impl AsyncWrite + Unpin), client: &str, doubt: Option<&str>) -> Result<(), String> {
    let words = handshake().text("client", client).maybe("doubt", doubt);
    write(writer, &message("response", words).build().to_string()).await.map_err(|broken| broken.to_string())
}

/// Says why a connection ends.
pub async fn refuse(writer: &mut (impl AsyncWrite + Unpin), why: &str) {
    let words = Plist::new().keyword("action", "protocol-error").text("text", why);
    // Who does not listen is not told.
    let _ = tokio::time::timeout(PATIENCE, write(writer, &message("response", words).build().to_string())).await;
}

/// Answers the owner's greeting, and waits until it has let this process in. Returns why it has less rights here than
/// what it joins as would have, if it has.
///
/// # Errors
/// In words: [`Unmet::Refused`] when the owner says no.
pub async fn meet(
    incoming: &mut Incoming<impl AsyncRead + Unpin>,
    writer: &mut (impl AsyncWrite + Unpin),
    this: As,
) -> Result<Option<String>, Unmet> {
    let meeting = async {
        read(incoming).await.map_err(Unmet::Refused)?;
        let words = handshake().keyword("as", this.name());
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
const ENDED: &str = "the connection ended";

/// Reads the other end's part; another protocol is refused.
async fn read(incoming: &mut Incoming<impl AsyncRead + Unpin>) -> Result<Sexp, String> {
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
