//! The first words with who comes by the network: each end proves that it knows the cookie before it says anything.
//!
//! The listener says a nonce and nothing else, and to a wrong proof nothing at all. Who connects says nothing of itself
//! before the listener has proved itself: whoever has taken the port learns a nonce and a proof that fits nowhere else.

use crate::domain::sexp::plist::{Plist, message};
use crate::domain::sexp::reader::{MAX_BYTES, Sexp};
use crate::edge::peers::greeting::{PATIENCE, PROTOCOL, Said, Unmet, capabilities, handshake, read};
use crate::edge::peers::stream::{Incoming, Outgoing, write};
use crate::edge::random;
use crate::edge::wire::proof::{BYTES, Cookie, End, Meeting, is_nonce};
use tokio::io::{AsyncRead, AsyncWrite};

/// Who is not known yet sends no longer frame than this.
const STRANGERS: usize = 1024;

fn nonce() -> Result<String, String> {
    let bytes = random::bytes::<BYTES>().map_err(|why| format!("the system gives no random bytes ({why})"))?;
    Ok(random::hex(&bytes))
}

fn bare(nonce: &str) -> Plist {
    Plist::new().keyword("action", "handshake").int("protocol", PROTOCOL).text("nonce", nonce)
}

/// Greets who has connected by the network, to this address of the listener, and returns what it says of itself once it
/// has proved that it knows the cookie.
///
/// # Errors
/// `None` for who did not prove it, and is told nothing; for one who did, why it is not let in.
pub async fn greet_stranger(
    incoming: &mut Incoming<impl AsyncRead + Unpin>,
    outgoing: &mut Outgoing<impl AsyncWrite + Unpin>,
    cookie: &Cookie,
    peer: String,
) -> Result<Said, Option<String>> {
    incoming.limit(STRANGERS);
    let greeting = async {
        let server = nonce().map_err(|_| None)?;
        let event = |words: Plist| [message("event", words).build().to_string()];
        outgoing.write(&event(bare(&server))).await.map_err(|_| None)?;
        let answer = read(incoming).await.map_err(|_| None)?;
        let client = answer.text_at("nonce").filter(|nonce| is_nonce(nonce)).ok_or(None)?.to_string();
        let meeting = Meeting { server, client, peer };
        if !meeting.holds(cookie, End::Client, answer.text_at("mac").unwrap_or_default()) {
            return Err(None);
        }
        let words = handshake().texts("capabilities", capabilities());
        let words = words.text("mac", meeting.proof(cookie, End::Server));
        outgoing.write(&event(words)).await.map_err(|_| None)?;
        let said = read(incoming).await.map_err(Some)?;
        Said::read(&said).map_err(Some)
    };
    let said = tokio::time::timeout(PATIENCE, greeting).await.map_err(|_| None)??;
    incoming.limit(MAX_BYTES);
    Ok(said)
}

/// Meets a listener of the network as a client, and returns what it says of the client when it lets it in.
///
/// # Errors
/// [`Unmet::Refused`] when it did not prove that it knows the cookie: then something else has taken its place.
pub async fn meet_stranger(
    incoming: &mut Incoming<impl AsyncRead + Unpin>,
    writer: &mut (impl AsyncWrite + Unpin),
    (cookie, peer): (&Cookie, String),
    said: &Said,
) -> Result<Sexp, Unmet> {
    let meeting = async {
        incoming.limit(STRANGERS);
        let greeting = read(incoming).await.map_err(Unmet::Refused)?;
        let server = greeting.text_at("nonce").filter(|nonce| is_nonce(nonce)).map(str::to_string);
        let server = server.ok_or_else(|| Unmet::Refused(format!("{peer} does not greet as a core does")))?;
        let client = nonce().map_err(Unmet::Silent)?;
        let meeting = Meeting { server, client, peer };
        let words = bare(&meeting.client).text("mac", meeting.proof(cookie, End::Client));
        let silent = |broken: crate::edge::peers::stream::Broken| Unmet::Silent(broken.to_string());
        write(writer, &message("event", words).build().to_string()).await.map_err(silent)?;
        let answer = read(incoming).await.map_err(|_| {
            Unmet::Refused(format!("{} did not take the cookie; see that it is the one of that core", meeting.peer))
        })?;
        if !meeting.holds(cookie, End::Server, answer.text_at("mac").unwrap_or_default()) {
            return Err(Unmet::Refused(format!(
                "what listens at {} does not know the cookie, so it is not the core: something else has taken its port",
                meeting.peer
            )));
        }
        incoming.limit(MAX_BYTES);
        write(writer, &message("event", said.words()).build().to_string()).await.map_err(silent)?;
        read(incoming).await.map_err(Unmet::Refused)
    };
    let late = || Err(Unmet::Late("it did not answer within 5 seconds; it may be stopped".to_string()));
    tokio::time::timeout(PATIENCE, meeting).await.unwrap_or_else(|_| late())
}
