//! Another user of this machine gets nothing of the core, by no road; and one who has taken its port learns nothing.

use crate::network::{Program, cookie_of, meeting, owner_at, prove};
use crate::runtime::{Client, TILES, text};
use crate::support::engine::Home;
use crate::support::skip::skipped;
use crate::support::user::another;
use passepartout::domain::sexp::plist::Plist;
use passepartout::edge::peers::greeting::{As, Said, Unmet};
use passepartout::edge::peers::stranger::meet_stranger;
use passepartout::edge::peers::stream::Incoming;
use passepartout::edge::wire::frame::encode;
use passepartout::edge::wire::proof::{Cookie, End};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whatever takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs something as another user, or says that this could not be tried.
fn as_another<T: Send>(body: impl FnOnce() -> T + Send) -> Option<T> {
    let done = another(body);
    if done.is_none() {
        skipped("only root can become another user, and only on Linux; run the tests as root to try it");
    }
    done
}

fn open_to_all(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

/// What came of each file, and of connecting to the socket.
type Tried = (Vec<(PathBuf, [ErrorKind; 2])>, Result<(), ErrorKind>);

/// What comes of reading and of writing a file.
fn tried(path: &Path) -> [ErrorKind; 2] {
    let kind = |tried: std::io::Result<()>| tried.map_or_else(|error| error.kind(), |()| ErrorKind::Other);
    [kind(fs::read(path).map(drop)), kind(fs::OpenOptions::new().append(true).open(path).map(drop))]
}

/// Says something at a socket, and returns all that comes until it ends.
fn heard(stream: &mut (impl Read + Write), words: &[u8]) -> Vec<u8> {
    // Who is not let in finds the connection closed, in the middle of its words perhaps.
    let _ = stream.write_all(words);
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    all
}

#[test]
fn another_user_gets_nothing_but_the_bare_greeting() {
    let home = Home::new(&[("home.org", TILES)]);
    let (_owner, at) = owner_at(&home, None, "127.0.0.1:0");
    let store = home.store();
    passepartout::edge::peers::tls::Key::kept(&store).unwrap_or_else(|why| panic!("{why}"));
    let join = "(:type :event :payload (:action :handshake :protocol 2 :version \"1\" :as :emacs))";
    let join = encode(join).expect("it is short");
    let secret: Vec<_> = ["cookie", "key.pem"].iter().map(|name| store.join(name)).collect();
    let socket = store.join("socket");
    assert!(secret.iter().chain([&socket]).all(|path| path.exists()), "{secret:?}");
    let closed = [ErrorKind::PermissionDenied; 2];
    let shut_out = || {
        let files: Vec<_> = secret.iter().map(|path| (path.clone(), tried(path))).collect();
        (files, UnixStream::connect(&socket).map(drop).map_err(|error| error.kind()))
    };
    let check = |what: &str, (files, connected): Tried| {
        files.iter().for_each(|(path, got)| assert_eq!(*got, closed, "{what}: {}", path.display()));
        assert_eq!(connected, Err(ErrorKind::PermissionDenied), "{what}");
    };
    let Some(got) = as_another(shut_out) else { return };
    check("as it is", got);
    // Also where every folder above is open: each file keeps others out by itself.
    for folder in store.ancestors().take_while(|folder| folder.starts_with(home.folder.path())) {
        open_to_all(folder, 0o755);
    }
    check("in open folders", as_another(shut_out).expect("root"));
    // And where even the socket is: the system says who is there, and another user is closed without a word.
    open_to_all(&socket, 0o666);
    let words =
        as_another(|| heard(&mut UnixStream::connect(&socket).expect("the mode lets it"), &join)).expect("root");
    assert_eq!(words, b"", "it is told nothing by the socket");
    // At the port everybody can knock.
    let (greeting, more) = as_another(|| {
        let (mut program, greeting) = Program::connected(at);
        let meeting = meeting(&greeting, at);
        let guessed = Cookie::of([0; 32]);
        program.send(&prove(&meeting, &meeting.proof(&guessed, End::Client)));
        (greeting.to_string(), program.next())
    })
    .expect("root");
    assert_eq!(greeting.matches(':').count(), 4, "nothing but action, protocol and nonce: {greeting}");
    assert_eq!(more, None, "it is told nothing more");
    let more = as_another(|| {
        let mut stream = TcpStream::connect(at).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        heard(&mut stream, &join)
    });
    let more = String::from_utf8(more.expect("root")).expect("text");
    assert_eq!(more.matches("(:type").count(), 1, "the bare greeting alone: {more}");
    // The user is let in all the same.
    Program::join(&home, at, "");
}

#[test]
fn a_port_that_another_user_has_taken_is_noticed_by_core_and_client_and_tells_nothing() {
    let Some(squatter) = as_another(|| TcpListener::bind("127.0.0.1:0").expect("a port")) else { return };
    let at = squatter.local_addr().expect("an address");
    let home = Home::new(&[("home.org", TILES)]);
    let mut owner = Client::start_with(&home, None, "\"recall\"", &format!(":listen \"{at}\""));
    let said = |m: &_| text(m, "text").contains("something else listens at") && text(m, "level") == "error";
    assert!(owner.heard.iter().any(said), "{:?}", owner.heard);
    let doctor = owner.request("doctor", Plist::new());
    let check = doctor.list_at("checks").iter().find(|check| check.text_at("name") == Some("network")).cloned();
    let detail = check.as_ref().and_then(|check| check.text_at("detail")).unwrap_or_default();
    assert!(detail.contains("something else listens at"), "{doctor}");
    let heard = std::thread::spawn(move || {
        another(move || {
            let (mut stream, _) = squatter.accept().expect("somebody comes");
            stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
            let nonce = "ab".repeat(32);
            let hello = format!("(:type :event :payload (:action :handshake :protocol 2 :nonce \"{nonce}\"))");
            let proof =
                format!("(:type :event :payload (:action :handshake :protocol 2 :version \"1\" :mac \"{nonce}\"))");
            let words = [hello, proof].map(|words| encode(&words).expect("it is short")).concat();
            String::from_utf8(heard(&mut stream, &words)).expect("text")
        })
        .expect("root")
    });
    let cookie = cookie_of(&home);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let met = runtime.block_on(async {
        let (reader, mut writer) = tokio::net::TcpStream::connect(at).await.expect("it listens").into_split();
        let peer = (&cookie, at.to_string());
        meet_stranger(&mut Incoming::new(reader), &mut writer, peer, &Said::plain(As::Client)).await
    });
    let Err(Unmet::Refused(why)) = met else { panic!("{met:?}") };
    assert!(why.contains("something else has taken its port"), "{why}");
    let heard = heard.join().expect("it ends");
    assert_eq!(heard.matches("(:type").count(), 1, "a nonce and a proof for this one connection: {heard}");
    assert!(heard.contains(":nonce") && heard.contains(":mac") && !heard.contains(":as"), "{heard}");
}
