//! Clients from beyond this machine: by TLS, with a key that the user has let in, to a core that is known by its own.

use crate::cli::{Ran, at_terminal, program, run};
use crate::network::{cookie_of, owner_at};
use crate::runtime::{Client, TILES, action, text};
use crate::support::engine::Home;
use passepartout::domain::sexp::plist::{Plist, message};
use passepartout::domain::sexp::reader::Sexp;
use passepartout::edge::peers::allowed::{self, Allowed};
use passepartout::edge::peers::greeting::{As, Said, Unmet};
use passepartout::edge::peers::stranger::meet_stranger;
use passepartout::edge::peers::stream::{Incoming, write};
use passepartout::edge::peers::tls::{self, Fingerprint, Key, bound_client};
use passepartout::edge::wire::frame::{Frames, encode};
use passepartout::edge::wire::proof::{Cookie, End, Meeting};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use std::future::Future;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// Whatever takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// An address that is not one of this machine's own to us, and that no other machine reaches all the same: the IPv4
/// loopback written as an IPv6 address. Where there is no IPv6, all addresses of this machine.
pub(crate) fn address() -> &'static str {
    let mapped = "[::ffff:127.0.0.1]:0";
    if std::net::TcpListener::bind(mapped).is_ok() { mapped } else { "0.0.0.0:0" }
}

/// A core that listens beyond its machine, with its fingerprint, and where it is reached from here.
fn owner(home: &Home) -> (Client, SocketAddr, Fingerprint) {
    let (owner, at) = owner_at(home, None, address());
    let core = Key::kept(&home.store()).unwrap_or_else(|why| panic!("{why}")).fingerprint();
    (owner, SocketAddr::from((Ipv4Addr::LOCALHOST, at.port())), core)
}

/// A user on another machine: a folder with a key.
fn elsewhere() -> (TempDir, Key) {
    let folder = tempfile::tempdir().expect("a folder");
    let key = Key::kept(folder.path()).unwrap_or_else(|why| panic!("{why}"));
    (folder, key)
}

fn let_in(home: &Home, key: &Key, name: &str) {
    let mut all = Allowed::kept(&home.store()).unwrap_or_else(|why| panic!("{why}"));
    all.let_in(key.fingerprint(), name).unwrap_or_else(|why| panic!("{why}"));
    std::fs::create_dir_all(home.store()).expect("a folder");
    all.keep(&home.store()).unwrap_or_else(|why| panic!("{why}"));
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async { tokio::time::timeout(PATIENCE, future).await.expect("it hangs") })
}

async fn connected(key: &Key, at: SocketAddr, core: Fingerprint) -> Result<TlsStream<TcpStream>, String> {
    key.connect(TcpStream::connect(at).await.expect("it listens"), core).await
}

/// All that still comes by a connection until it ends, however it does.
async fn rest(stream: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let (mut all, mut piece) = (Vec::new(), [0; 1024]);
    while let Ok(count) = stream.read(&mut piece).await {
        if count == 0 {
            break;
        }
        all.extend_from_slice(&piece[..count]);
    }
    all
}

type Halves<S> = (Incoming<tokio::io::ReadHalf<S>>, tokio::io::WriteHalf<S>);

/// Proves that it knows a cookie, over what the proof is bound to, and is let in or not.
async fn joined<S: AsyncRead + AsyncWrite>(
    stream: S,
    (cookie, bound): (&Cookie, String),
) -> Result<(Sexp, Halves<S>), Unmet> {
    let (reader, mut writer) = tokio::io::split(stream);
    let mut incoming = Incoming::new(reader);
    let welcome = meet_stranger(&mut incoming, &mut writer, (cookie, bound), &Said::plain(As::Client)).await?;
    Ok((welcome, (incoming, writer)))
}

fn greeted(key: &Key, at: SocketAddr, core: Fingerprint, cookie: &Cookie) -> Result<Sexp, String> {
    block_on(async {
        let stream = connected(key, at, core).await?;
        let bound = bound_client(&stream).expect("the handshake is done");
        joined(stream, (cookie, bound)).await.map(|(welcome, _)| welcome).map_err(|unmet| format!("{unmet:?}"))
    })
}

/// A user on another machine whose key was let in.
pub(crate) struct Guest {
    key: Key,
    core: Fingerprint,
    _folder: TempDir,
}

impl Guest {
    pub(crate) fn of(home: &Home) -> Guest {
        let (_folder, key) = elsewhere();
        let_in(home, &key, "guest");
        let core = Key::kept(&home.store()).unwrap_or_else(|why| panic!("{why}")).fingerprint();
        Guest { key, core, _folder }
    }

    /// Greets by TLS, proves that it knows the cookie, is let in, and goes.
    pub(crate) fn greet(&self, home: &Home, at: SocketAddr) {
        greeted(&self.key, at, self.core, &cookie_of(home)).unwrap_or_else(|why| panic!("{why}"));
    }
}

#[test]
fn who_has_a_key_that_was_let_in_and_knows_the_cookie_asks_from_another_machine() {
    let home = Home::new(&[("home.org", TILES)]);
    let (_folder, key) = elsewhere();
    let_in(&home, &key, "Laptop");
    let (mut owner, at, core) = owner(&home);
    let cookie = cookie_of(&home);
    block_on(async {
        let stream = connected(&key, at, core).await.unwrap_or_else(|why| panic!("{why}"));
        let bound = bound_client(&stream).expect("the handshake is done");
        let (welcome, (mut incoming, mut writer)) =
            joined(stream, (&cookie, bound)).await.unwrap_or_else(|why| panic!("{why:?}"));
        assert_eq!(welcome.name_at("action"), Some("handshake"), "{welcome}");
        let asked = message("request", Plist::new().keyword("action", "health-check").int("request", 7));
        write(&mut writer, &asked.build().to_string()).await.unwrap_or_else(|why| panic!("{why}"));
        loop {
            let heard = incoming.next().await.unwrap_or_else(|why| panic!("{why}")).expect("it answers");
            let heard = Sexp::read(&heard).expect("a message");
            if heard.name_at("type") == Some("response") {
                break assert_eq!(heard.get("payload").and_then(|payload| payload.int_at("request")), Some(7));
            }
        }
    });
    let doctor = owner.request("doctor", Plist::new());
    let check = doctor.list_at("checks").iter().find(|check| check.text_at("name") == Some("network")).cloned();
    assert!(
        check.is_some_and(|check| check.text_at("detail").is_some_and(|detail| detail.contains("by TLS"))),
        "{doctor}"
    );
}

/// Takes any core.
#[derive(Debug)]
struct Anybody(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Connects by TLS and shows no key.
async fn without_a_key(at: SocketAddr) -> std::io::Result<TlsStream<TcpStream>> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider.clone()).with_protocol_versions(&[&rustls::version::TLS13]);
    let verifier = Arc::new(Anybody(provider));
    let builder = builder.expect("TLS 1.3").dangerous().with_custom_certificate_verifier(verifier);
    let connector = tokio_rustls::TlsConnector::from(Arc::new(builder.with_no_client_auth()));
    connector.connect(ServerName::try_from("box").expect("a name"), TcpStream::connect(at).await?).await
}

#[test]
fn without_tls_and_a_key_that_was_let_in_nobody_gets_a_byte_of_the_protocol() {
    let home = Home::new(&[("home.org", TILES)]);
    let ((_one, key), (_other, stranger)) = (elsewhere(), elsewhere());
    let_in(&home, &key, "Laptop");
    let (_owner, at, core) = owner(&home);
    let cookie = cookie_of(&home);
    let frame = encode("(:type :event :payload (:action :handshake :protocol 2 :version \"1\" :as :emacs))");
    let frame = frame.expect("it is short");
    let plain: [(&str, &[u8]); 5] = [
        ("HTTP", b"GET / HTTP/1.1\r\nHost: box\r\n\r\n"),
        ("a frame", &frame),
        ("ssh", b"SSH-2.0-OpenSSH_9.2\r\n"),
        ("TLS of long ago", &[0x80, 0x2e, 1, 0, 2, 0, 0x15, 0, 0, 0, 0x10]),
        ("nothing", b""),
    ];
    for (what, bytes) in plain {
        let got = block_on(async {
            let mut stream = TcpStream::connect(at).await.expect("it listens");
            stream.write_all(bytes).await.expect("it is taken");
            if bytes.is_empty() {
                stream.shutdown().await.expect("it says that nothing comes");
            }
            rest(&mut stream).await
        });
        assert_eq!(got, b"", "{what}");
    }
    // What begins as TLS does is told by TLS that it is none, and nothing else.
    let got = block_on(async {
        let mut stream = TcpStream::connect(at).await.expect("it listens");
        stream.write_all(b"\x16\x03\x01\x00\x05nonsense and more of it").await.expect("it is taken");
        rest(&mut stream).await
    });
    assert!(got.is_empty() || (got[0] == 0x15 && got.len() == 7), "an alert: {got:?}");
    let got = block_on(async { rest(&mut without_a_key(at).await.expect("it greets by TLS")).await });
    assert_eq!(got, b"", "no key");
    let got = block_on(async { rest(&mut connected(&stranger, at, core).await.expect("it greets by TLS")).await });
    assert_eq!(got, b"", "a key that was not let in");
    // With a key, everything is as it is on this machine: a wrong cookie gets no word.
    assert!(greeted(&key, at, core, &Cookie::of([1; 32])).is_err());
    assert!(greeted(&key, at, core, &cookie).is_ok());
}

#[test]
fn a_proof_holds_for_its_own_connection_by_tls_alone() {
    let home = Home::new(&[("home.org", TILES)]);
    let (_folder, key) = elsewhere();
    let_in(&home, &key, "Laptop");
    let (_owner, at, core) = owner(&home);
    let cookie = cookie_of(&home);
    block_on(async {
        let one = connected(&key, at, core).await.unwrap_or_else(|why| panic!("{why}"));
        let other = connected(&key, at, core).await.unwrap_or_else(|why| panic!("{why}"));
        let (own, foreign) = (bound_client(&one).expect("done"), bound_client(&other).expect("done"));
        assert_ne!(own, foreign);
        for (what, bound) in
            [("of another connection", foreign), ("an address", at.to_string()), ("nothing", String::new())]
        {
            let stream = connected(&key, at, core).await.unwrap_or_else(|why| panic!("{why}"));
            let met = joined(stream, (&cookie, bound)).await.map(|(welcome, _)| welcome);
            assert!(matches!(met, Err(Unmet::Refused(_))), "{what}: {met:?}");
        }
        assert!(joined(one, (&cookie, own)).await.is_ok());
    });
}

#[test]
fn a_listener_that_has_taken_the_port_learns_nothing_by_tls() {
    let ((core, true_key), (squatting, false_key)) = (elsewhere(), elsewhere());
    let (_folder, key) = elsewhere();
    let mut everybody = Allowed::default();
    everybody.let_in(key.fingerprint(), "everybody").unwrap_or_else(|why| panic!("{why}"));
    let (_tell, allowed) = tokio::sync::watch::channel(Arc::new(everybody));
    let squatter = false_key.acceptor(allowed).unwrap_or_else(|why| panic!("{why}"));
    block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let at = listener.local_addr().expect("an address");
        let taking = async {
            let (stream, _) = listener.accept().await.expect("somebody comes");
            squatter.accept(stream).await.map(|_| ())
        };
        let (taken, met) = tokio::join!(taking, connected(&key, at, true_key.fingerprint()));
        assert!(taken.is_err(), "it gets no connection, so it sees neither the key nor a word");
        let why = met.expect_err("it is noticed");
        assert!(why.contains("something else has taken its place"), "{why}");
    });
    drop((core, squatting));
}

#[test]
fn who_is_let_in_counts_within_seconds_and_so_does_who_is_not_any_more() {
    let home = Home::new(&[("home.org", TILES)]);
    let (_folder, key) = elsewhere();
    let (mut owner, at, core) = owner(&home);
    assert!(owner.heard.iter().any(|heard| text(heard, "text").contains("passepartout clients allow")), "it says so");
    let cookie = cookie_of(&home);
    assert!(greeted(&key, at, core, &cookie).is_err(), "nobody was let in");
    let_in(&home, &key, "Laptop");
    owner.wait("it is noticed", |m| text(m, "text").contains("is let in: “Laptop”"));
    let (ended, words) = block_on(async {
        let stream = connected(&key, at, core).await.unwrap_or_else(|why| panic!("{why}"));
        let bound = bound_client(&stream).expect("done");
        let (_, (mut incoming, _writer)) = joined(stream, (&cookie, bound)).await.expect("it is let in");
        std::fs::remove_file(allowed::place(&home.store())).expect("it is there");
        let mut words = String::new();
        while let Ok(Some(text)) = incoming.next().await {
            words.push_str(&text);
        }
        (true, words)
    });
    assert!(ended && words.contains("the key of this client is not let in any more"), "{words}");
    owner.wait("it is said", |m| text(m, "text").contains("is not let in any more: “Laptop”"));
    assert!(greeted(&key, at, core, &cookie).is_err());
    // A file that others may write lets nobody in, and that is said.
    let_in(&home, &key, "Laptop");
    owner.wait("it is noticed", |m| text(m, "text").contains("is let in: “Laptop”"));
    let place = allowed::place(&home.store());
    std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o620)).expect("its mode");
    let said = owner.wait("it is noticed", |m| text(m, "text").contains("no client on another machine is let in"));
    assert!(said.to_string().contains("0600"), "{said}");
    assert!(greeted(&key, at, core, &cookie).is_err());
}

#[test]
fn a_key_that_others_may_read_is_not_used_and_nothing_is_listened_for() {
    let home = Home::new(&[("home.org", TILES)]);
    std::fs::create_dir_all(home.store()).expect("a folder");
    Key::kept(&home.store()).unwrap_or_else(|why| panic!("{why}"));
    let path = tls::place(&home.store());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("its mode");
    let owner = Client::start_with(&home, None, "\"recall\"", &format!(":listen \"{}\"", address()));
    let said =
        |m: &Sexp| text(m, "text").contains("nobody can connect by the network") && text(m, "text").contains("0600");
    assert!(owner.heard.iter().any(said), "{:?}", owner.heard);
}

#[test]
fn keys_are_let_in_and_taken_out_at_a_terminal_alone() {
    let home = Home::new(&[("home.org", TILES)]);
    let (_folder, key) = elsewhere();
    let print = key.fingerprint().to_string();
    let listed = run(&home, &["clients", "--json"]).json();
    let own = Key::kept(&home.store()).unwrap_or_else(|why| panic!("{why}")).fingerprint();
    assert_eq!(listed, serde_json::json!({ "own": own.to_string(), "allowed": [] }));
    let piped = run(&home, &["clients", "allow", &print, "Laptop"]);
    assert!(piped.status == 1 && piped.err.contains("at a terminal"), "{piped:?}");
    for (words, typed, status, said) in [
        (format!("clients allow {print} Laptop"), "no\n", 1, "nothing was changed"),
        ("clients allow 1234 Laptop".to_string(), "", 1, "64 hexadecimal digits"),
        (format!("clients allow {print} Laptop at home"), "yes\n", 0, "It is let in"),
        (format!("clients allow {print} Again"), "yes\n", 1, "is let in already, as “Laptop at home”"),
        ("clients".to_string(), "", 0, "Laptop at home"),
        ("clients remove Desk".to_string(), "", 1, "there is no such key"),
        ("clients remove Laptop at home".to_string(), "", 0, "no longer"),
    ] {
        let ran: Ran = at_terminal(&home, &words, typed);
        assert_eq!(ran.status, status, "{words}: {ran:?}");
        assert!(ran.out.contains(said) || ran.err.contains(said), "{words}: {ran:?}");
    }
    assert_eq!(run(&home, &["clients", "--json"]).json()["allowed"], serde_json::json!([]));
}

#[test]
fn a_program_reaches_a_core_elsewhere_through_a_pipe() {
    let home = Home::new(&[("home.org", TILES)]);
    let ((mine, key), (strange, stranger)) = (elsewhere(), elsewhere());
    let_in(&home, &key, "Laptop");
    let (_owner, at, core) = owner(&home);
    let cookie = cookie_of(&home);
    let reach = |store: &TempDir, core: &str| {
        let mut command = program(&home);
        command.args(["reach", &at.to_string(), "--core", core, "--store"]).arg(store.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it runs")
    };
    let mut child = reach(&mine, &core.to_string());
    let (mut to, from) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
    let mut from = BufReader::new(from);
    let mut bound = String::new();
    from.read_line(&mut bound).expect("a line");
    let mut frames = Frames::default();
    let mut next = || loop {
        if let Some(text) = frames.take().expect("frames") {
            break Sexp::read(&text).expect("a message");
        }
        let mut piece = [0; 1024];
        let count = from.read(&mut piece).expect("it goes on");
        assert!(count > 0, "it ended");
        frames.push(&piece[..count]);
    };
    let server = text(&next(), "nonce").to_string();
    let meeting = Meeting { server, client: "c1".repeat(32), peer: bound.trim().to_string() };
    let mac = meeting.proof(&cookie, End::Client);
    let mut say = |words: String| to.write_all(&encode(&words).expect("short")).expect("it is taken");
    let hello = "(:type :event :payload (:action :handshake :protocol 2";
    say(format!("{hello} :nonce \"{}\" :mac \"{mac}\"))", meeting.client));
    assert!(meeting.holds(&cookie, End::Server, text(&next(), "mac")), "the core proves itself");
    say(format!("{hello} :version \"1\" :as :client))"));
    assert_eq!(action(&next()), Some("handshake"), "it is let in");
    drop(to);
    assert!(child.wait().expect("it ends").success(), "it ends with its input");

    let refused = |store, core: &str| -> Ran { reach(store, core).wait_with_output().expect("it ends").into() };
    let other = refused(&mine, &stranger.fingerprint().to_string());
    assert!(other.status == 1 && other.err.contains("something else has taken its place"), "{other:?}");
    assert_eq!(other.out, "");
    let mut child = reach(&strange, &core.to_string());
    let input = child.stdin.take();
    let unknown: Ran = child.wait_with_output().expect("it ends").into();
    drop(input);
    assert!(unknown.status == 1 && unknown.err.contains(&stranger.fingerprint().to_string()), "{unknown:?}");
    assert_eq!(unknown.out.trim().len(), 64, "nothing but what TLS itself gives");
    let none = refused(&mine, "1234");
    assert!(none.status == 1 && none.err.contains("64 hexadecimal digits"), "{none:?}");
}
