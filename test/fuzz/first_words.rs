//! The first words of a connection, at both ends: whatever comes, who has not proved itself is told and tells nothing.

use passepartout::domain::sexp::reader::Sexp;
use passepartout::edge::peers::greeting::{As, Said, greet, meet};
use passepartout::edge::peers::stranger::{greet_stranger, meet_stranger};
use passepartout::edge::peers::stream::{Incoming, Outgoing};
use passepartout::edge::wire::frame::{Frames, encode};
use passepartout::edge::wire::proof::{Cookie, End, Meeting};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};

/// Stands in an input for the proof that the cookie gives, which no input could hold.
const PROOF: &str = "PROOF";
/// Bytes that may wait: more than either end says, so that neither waits for the other.
const ROOM: usize = 1 << 20;

/// What the other end says: the bytes as they are, or each line of them as a frame.
fn said(bytes: &[u8], framed: bool, proof: &str) -> Vec<u8> {
    if !framed {
        return bytes.to_vec();
    }
    let text = String::from_utf8_lossy(bytes).replace(PROOF, proof);
    text.lines().flat_map(|line| encode(line).expect("an input is short")).collect()
}

/// The whole messages in what was written, all of which an end of ours has made.
fn messages(bytes: &[u8]) -> Vec<Sexp> {
    let (mut frames, mut all) = (Frames::default(), Vec::new());
    frames.push(bytes);
    while let Some(text) = frames.take().expect("what we write are frames") {
        all.push(Sexp::read(&text).expect("what we write are messages"));
    }
    assert_eq!(frames.rest(), 0, "what we write is whole");
    all
}

fn payload(message: &Sexp) -> &Sexp {
    message.get("payload").expect("each has one")
}

type Ours = (Incoming<ReadHalf<DuplexStream>>, WriteHalf<DuplexStream>);

/// An end of ours, with the other end of its connection.
fn ends() -> (Ours, DuplexStream) {
    let (ours, theirs) = tokio::io::duplex(ROOM);
    let (reader, writer) = tokio::io::split(ours);
    ((Incoming::new(reader), writer), theirs)
}

/// Reads until the other end has gone.
async fn heard(mut theirs: DuplexStream) -> Vec<u8> {
    let mut all = Vec::new();
    theirs.read_to_end(&mut all).await.expect("a pipe");
    all
}

/// Says something and ends, as the other end.
async fn say(theirs: &mut DuplexStream, bytes: &[u8]) {
    // Who was refused may have gone.
    let _ = theirs.write_all(bytes).await;
    let _ = theirs.shutdown().await;
}

fn check(said: &Said) {
    let name = said.name.as_deref().unwrap_or("a");
    assert!(!name.is_empty() && !name.contains(char::is_control), "{name:?}");
    assert!(As::ALL.contains(&said.kind) && (said.numbered || said.resume.is_none()));
}

/// The listener of the network: without a proof it says a nonce and nothing else.
async fn stranger(bytes: &[u8], framed: bool) {
    let cookie = Cookie::of([7; 32]);
    let ((mut incoming, writer), mut theirs) = ends();
    let mut outgoing = Outgoing::new(writer);
    let ours = async {
        let met = greet_stranger(&mut incoming, &mut outgoing, &cookie, "127.0.0.1:9105".to_string()).await;
        drop((incoming, outgoing));
        met
    };
    let other = async {
        let mut first = vec![0; 6];
        theirs.read_exact(&mut first).await.expect("it greets");
        let length = usize::from_str_radix(std::str::from_utf8(&first).expect("digits"), 16).expect("digits");
        first.resize(6 + length, 0);
        theirs.read_exact(&mut first[6..]).await.expect("it greets");
        let greeting = messages(&first).remove(0);
        let server = payload(&greeting).text_at("nonce").expect("a nonce").to_string();
        assert_eq!(payload(&greeting).to_string().matches(':').count(), 4, "nothing but that: {greeting}");
        let meeting = Meeting { server, client: "c1".repeat(32), peer: "127.0.0.1:9105".to_string() };
        say(&mut theirs, &said(bytes, framed, &meeting.proof(&cookie, End::Client))).await;
        heard(theirs).await
    };
    let (met, more) = tokio::join!(ours, other);
    let more = messages(&more);
    match met {
        Ok(said) => check(&said),
        Err(None) => assert!(more.is_empty(), "it is told nothing: {more:?}"),
        Err(Some(why)) => assert!(!why.is_empty()),
    }
    let proved = framed && String::from_utf8_lossy(bytes).contains(PROOF);
    assert!(proved || more.is_empty(), "only who proved itself hears more: {more:?}");
    assert!(more.len() <= 1, "{more:?}");
}

/// A client of the network: to a listener without a proof it says a nonce and a proof, and nothing of itself.
async fn client(bytes: &[u8], framed: bool) {
    let cookie = Cookie::of([7; 32]);
    let ((mut incoming, mut writer), mut theirs) = ends();
    let ours = async {
        let peer = (&cookie, "127.0.0.1:9105".to_string());
        let met = meet_stranger(&mut incoming, &mut writer, peer, &Said::plain(As::Client)).await;
        drop((incoming, writer));
        met
    };
    // The nonce of the client is not known before it speaks, so no proof of a listener fits.
    let other = async {
        say(&mut theirs, &said(bytes, framed, &"0".repeat(64))).await;
        heard(theirs).await
    };
    let (met, told) = tokio::join!(ours, other);
    assert!(met.is_err(), "{met:?}");
    let told = messages(&told);
    assert!(told.len() <= 1 && told.iter().all(|words| payload(words).get("as").is_none()), "{told:?}");
}

/// The socket: whoever the system lets so far says what it is, or is refused with why.
async fn socket(bytes: &[u8], framed: bool) {
    let ((mut incoming, writer), mut theirs) = ends();
    let mut outgoing = Outgoing::new(writer);
    let ours = async {
        let met = greet(&mut incoming, &mut outgoing).await;
        drop((incoming, outgoing));
        met
    };
    let other = async {
        say(&mut theirs, &said(bytes, framed, "")).await;
        heard(theirs).await
    };
    let (met, told) = tokio::join!(ours, other);
    assert_eq!(messages(&told).len(), 1, "it greets, and says no more by itself");
    match met {
        Ok(said) => check(&said),
        Err(why) => assert!(!why.is_empty()),
    }
    let ((mut incoming, mut writer), mut theirs) = ends();
    let ours = async {
        let met = meet(&mut incoming, &mut writer, &Said::plain(As::Cli)).await;
        drop((incoming, writer));
        met
    };
    let other = async {
        say(&mut theirs, &said(bytes, framed, "")).await;
        heard(theirs).await
    };
    let (_, told) = tokio::join!(ours, other);
    assert!(messages(&told).len() <= 1);
}

/// All ends, with the bytes as they are and with each line of them as a frame.
pub fn first_words(bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        for framed in [false, true] {
            stranger(bytes, framed).await;
            client(bytes, framed).await;
            socket(bytes, framed).await;
        }
    });
}
