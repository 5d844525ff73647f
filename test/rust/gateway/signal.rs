//! Signal: a daemon of signal-cli that behaves, misbehaves and vanishes, by a Unix socket and by a port.

use super::{Fake, Running, TOKEN, home, update};
use crate::runtime::says;
use crate::support::engine::Home;
use crate::support::fake_server::FakeServer;
use crate::support::skip::skipped;
use crate::support::user::another;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

const ANN: &str = "0123abcd-0000-4000-8000-00000000000a";
const EVE: &str = "0123abcd-0000-4000-8000-00000000000e";
const OURS: &str = "+15550001";

/// One end of a connection, by either road.
enum End {
    Socket(UnixStream),
    Port(TcpStream),
}

impl End {
    fn again(&self) -> End {
        match self {
            End::Socket(stream) => End::Socket(stream.try_clone().expect("a descriptor")),
            End::Port(stream) => End::Port(stream.try_clone().expect("a descriptor")),
        }
    }

    fn shut(&self) {
        let _ = match self {
            End::Socket(stream) => stream.shutdown(std::net::Shutdown::Both),
            End::Port(stream) => stream.shutdown(std::net::Shutdown::Both),
        };
    }
}

impl Read for End {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match self {
            End::Socket(stream) => stream.read(into),
            End::Port(stream) => stream.read(into),
        }
    }
}

impl Write for End {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            End::Socket(stream) => stream.write(bytes),
            End::Port(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What becomes of a message that is to be sent.
enum Fate {
    /// The daemon answers with this error.
    Error(Value),
    /// It answers under another number, then the connection ends.
    Vanishes,
}

/// What a daemon heard, and how it stands.
#[derive(Default)]
struct Heard {
    /// Messages that were sent, each with its recipient and by which account.
    sent: Vec<(String, String, Option<String>)>,
    /// How often somebody subscribed.
    subscribed: usize,
    /// To which accounts; `None` is all that it has.
    subscribed_to: Vec<Option<String>>,
    /// What was not taken, as often as it was tried.
    refused: usize,
    /// The connection, once it is subscribed.
    to: Option<End>,
    /// What nobody was there for.
    kept: Vec<String>,
    /// What becomes of what is sent next.
    fates: VecDeque<Fate>,
    /// Its accounts; `None` when it was started for one.
    accounts: Option<Vec<&'static str>>,
}

/// A daemon.
#[derive(Clone)]
struct Daemon {
    heard: Arc<(Mutex<Heard>, Condvar)>,
    address: String,
    /// Holds the socket.
    _folder: Arc<tempfile::TempDir>,
}

impl Daemon {
    fn at_socket() -> Daemon {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).expect("a socket");
        let daemon = Daemon::new(path.display().to_string(), folder);
        let served = daemon.clone();
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| served.meet(End::Socket(stream))));
        daemon
    }

    fn at_port() -> Daemon {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let daemon = Daemon::new(address, tempfile::tempdir().expect("a folder"));
        let served = daemon.clone();
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| served.meet(End::Port(stream))));
        daemon
    }

    fn new(address: String, folder: tempfile::TempDir) -> Daemon {
        let daemon = Daemon { heard: Arc::default(), address, _folder: Arc::new(folder) };
        daemon.lock().accounts = Some(vec![OURS]);
        daemon
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Heard> {
        self.heard.0.lock().expect("it is ours")
    }

    fn meet(&self, end: End) {
        let served = self.clone();
        std::thread::spawn(move || served.serve(&end));
    }

    fn serve(&self, end: &End) -> Option<()> {
        let mut write = end.again();
        for line in BufReader::new(end.again()).lines() {
            let asked: Value = serde_json::from_str(&line.ok()?).ok()?;
            let (id, mut heard) = (asked["id"].as_u64()?, self.lock());
            let mut say = |answer: Value| writeln!(write, "{answer}").ok();
            let result = |id: u64, result: Value| json!({ "jsonrpc": "2.0", "result": result, "id": id });
            let error = |error: &Value| json!({ "jsonrpc": "2.0", "error": error, "id": id });
            match asked["method"].as_str()? {
                "subscribeReceive" => {
                    heard.subscribed_to.push(asked["params"]["account"].as_str().map(str::to_string));
                    say(result(id, json!(0)))?;
                    heard.subscribed += 1;
                    heard.kept.drain(..).try_for_each(|line| writeln!(write, "{line}").ok())?;
                    heard.to = Some(end.again());
                }
                "listAccounts" => match &heard.accounts {
                    Some(accounts) => {
                        let listed = accounts.iter().map(|number| json!({ "number": number })).collect();
                        say(result(id, listed))?;
                    }
                    None => say(error(&json!({ "code": -32601, "message": "Method not implemented" })))?,
                },
                "send" => match heard.fates.pop_front() {
                    Some(fate) => {
                        heard.refused += 1;
                        match fate {
                            Fate::Error(why) => say(error(&why))?,
                            Fate::Vanishes => {
                                say(result(id + 1_000, json!({ "timestamp": 1 })))?;
                                end.shut();
                            }
                        }
                    }
                    None => {
                        let text = |value: &Value| value.as_str().map(str::to_string);
                        let params = &asked["params"];
                        let to = text(&params["recipient"][0])?;
                        heard.sent.push((to, text(&params["message"])?, text(&params["account"])));
                        let done = json!([{ "recipientAddress": { "uuid": ANN }, "type": "SUCCESS" }]);
                        say(result(id, json!({ "timestamp": 1, "results": done })))?;
                    }
                },
                _ => return None,
            }
            self.heard.1.notify_all();
        }
        Some(())
    }

    /// Brings a line, as soon as somebody is there.
    fn line(&self, line: String) {
        let mut heard = self.lock();
        let gone = match &mut heard.to {
            Some(end) => writeln!(end, "{line}").is_err(),
            None => true,
        };
        if gone {
            heard.to = None;
            heard.kept.push(line);
        }
    }

    /// Brings a message as a daemon does that brings them by itself, and was subscribed to as well: twice.
    fn bring(&self, params: &Value) {
        self.line(json!({ "jsonrpc": "2.0", "method": "receive", "params": params }).to_string());
        let wrapped = json!({ "subscription": 0, "result": params });
        self.line(json!({ "jsonrpc": "2.0", "method": "receive", "params": wrapped }).to_string());
    }

    /// Ends the connection, with something said before.
    fn vanish(&self, with: &str) {
        let mut heard = self.lock();
        if let Some(mut end) = heard.to.take() {
            let _ = end.write_all(with.as_bytes());
            end.shut();
        }
    }

    /// Waits until something was heard.
    #[track_caller]
    fn until<T>(&self, found: impl Fn(&Heard) -> Option<T>) -> T {
        let mut heard = self.lock();
        for _ in 0..200 {
            if let Some(found) = found(&heard) {
                return found;
            }
            heard = self.heard.1.wait_timeout(heard, Duration::from_millis(200)).expect("it is ours").0;
        }
        panic!("it was never heard: sent {:?}, subscribed {}", heard.sent, heard.subscribed);
    }

    #[track_caller]
    fn sent(&self, count: usize) -> Vec<String> {
        self.until(|heard| {
            let sent = heard.sent.iter().filter(|(_, text, _)| !text.contains("ended before it had answered you"));
            let sent: Vec<String> = sent.map(|(_, text, _)| text.clone()).collect();
            (sent.len() >= count).then_some(sent)
        })
    }
}

fn message(sender: &str, stamp: u64, text: &str) -> Value {
    json!({ "account": OURS, "envelope": {
        "source": "+15550007", "sourceNumber": "+15550007", "sourceUuid": sender, "sourceName": "Ann",
        "sourceDevice": 1, "timestamp": stamp, "serverReceivedTimestamp": stamp, "serverDeliveredTimestamp": stamp,
        "dataMessage": {
            "timestamp": stamp, "message": text, "expiresInSeconds": 0, "isExpirationUpdate": false, "viewOnce": false,
        },
    }})
}

fn start(home: &Home, daemon: &Daemon, account: &str) -> Running {
    let variables = [("SIGNAL_CLI_ADDRESS", daemon.address.clone()), ("SIGNAL_ACCOUNT_NUMBER", account.to_string())];
    Running::begin(home, &variables, None)
}

impl Running {
    /// Asks how messengers stand until something is there.
    #[track_caller]
    fn listed(&mut self, word: &str) -> String {
        self.listed_when(word, |_, listed| listed.contains(word))
    }

    #[track_caller]
    fn listed_when(&mut self, what: &str, holds: impl Fn(&Running, &str) -> bool) -> String {
        let mut listed = String::new();
        for _ in 0..600 {
            listed = self.ask(":action :gateways");
            if holds(self, &listed) {
                return listed;
            }
            // Something is said, or nothing for a while.
            let mut rung = self.bell.0.lock().expect("it is ours");
            *rung = false;
            let waited = self.bell.1.wait_timeout_while(rung, Duration::from_millis(50), |rung| !*rung);
            drop(waited.expect("it is ours"));
        }
        panic!("{what} is not there: {listed}");
    }

    /// Has Ann let in, as a user does it.
    #[track_caller]
    fn let_ann_in(&mut self, daemon: &Daemon) {
        let linked = self.ask(":action :gateway :platform \"signal\" :do :link");
        assert!(linked.contains("is linked"), "{linked}");
        let answer = self.ask(":action :gateway :platform \"signal\" :do :pair");
        let code = answer.split(":code \"").nth(1).and_then(|rest| rest.split('"').next()).expect("a code").to_string();
        daemon.bring(&message(ANN, 1, &code));
        self.listed(":paired t");
        let allow = format!(":action :gateway :platform \"signal\" :do :allow :sender \"{ANN}\"");
        let answer = self.ask(&allow);
        assert!(answer.contains("may write"), "{answer}");
    }
}

#[test]
fn who_was_let_in_is_answered_in_order_once_and_across_restarts() {
    for daemon in [Daemon::at_socket(), Daemon::at_port()] {
        let home = home();
        let mut running = start(&home, &daemon, "");
        // What came before there was anybody to hear it, of somebody who is not let in.
        daemon.bring(&message(EVE, 5, "let me in"));
        running.let_ann_in(&daemon);
        let listed = running.listed("running");
        assert!(listed.contains(&format!(":named \"{OURS}\"")) && listed.contains("+15550007 Ann"), "{listed}");
        let refused = running.ask(&format!(":action :gateway :platform \"signal\" :do :allow :sender \"{EVE}\""));
        assert!(refused.contains("pairing code"), "{refused}");
        let mut picture = message(ANN, 13, "");
        picture["envelope"]["dataMessage"]["attachments"] = json!([{ "contentType": "image/png" }]);
        let mut group = message(ANN, 14, "hello all");
        group["envelope"]["dataMessage"]["groupInfo"] = json!({ "groupId": "x=" });
        let mut sync = message(ANN, 15, "to myself");
        let data = sync["envelope"]["dataMessage"].take();
        sync["envelope"]["syncMessage"] = json!({ "sentMessage": data });
        // The later one first: it was written by another device, or was on its way for longer.
        for one in [
            message(ANN, 12, "/help"),
            message(ANN, 11, "/deny P1"),
            group,
            sync,
            picture,
            message(EVE, 16, "hello?"),
            message(ANN, 12, "/help"),
        ] {
            daemon.bring(&one);
        }
        let begins = |sent: &[String]| -> Vec<String> {
            sent.iter().map(|text| text.split(',').next().unwrap_or("").to_string()).collect()
        };
        assert_eq!(begins(&daemon.sent(3)), ["Write", "Commands", "I read text only"]);
        running.core.stop();
        // Another core takes none of it again, and what came while there was none is answered.
        daemon.vanish("");
        daemon.bring(&message(ANN, 11, "/deny P1"));
        daemon.bring(&message(ANN, 17, "boiler"));
        daemon.bring(&message(ANN, 18, "4711"));
        let mut running = start(&home, &daemon, "");
        let sent = daemon.sent(5);
        assert!(sent[3].contains("boiler") && !sent[4].contains("Safe"), "{sent:?}");
        // Who is let in no more gets nothing.
        let revoked = running.ask(&format!(":action :gateway :platform \"signal\" :do :revoke :sender \"{ANN}\""));
        assert!(revoked.contains("not write"), "{revoked}");
        daemon.bring(&message(ANN, 30, "/help"));
        daemon.bring(&message(EVE, 31, "hello?"));
        running.listed(EVE);
        assert_eq!(daemon.sent(5).len(), 5);
        let heard = daemon.lock();
        assert!(heard.sent.iter().all(|(to, _, by)| to == ANN && by.as_deref() == Some(OURS)), "{:?}", heard.sent);
    }
}

#[test]
fn a_daemon_that_misbehaves_or_vanishes_is_waited_for() {
    let (home, daemon) = (home(), Daemon::at_socket());
    let mut running = start(&home, &daemon, OURS);
    running.let_ann_in(&daemon);
    // Nothing of this is a message, and nothing of it takes a message with it.
    let answer = json!({ "jsonrpc": "2.0", "id": 77, "result": {} });
    for odd in [
        "",
        "<html>",
        "{\"method\":\"receive\"",
        "[]",
        "7",
        "null",
        "{\"method\":\"receive\",\"params\":[]}",
        "{\"method\":\"receive\",\"params\":{\"envelope\":{\"dataMessage\":7}}}",
        &answer.to_string(),
        &"[".repeat(10_000),
        &"x".repeat(3 << 20),
    ] {
        daemon.line(odd.to_string());
    }
    daemon.bring(&message(ANN, 2, "/help"));
    assert!(daemon.sent(1)[0].starts_with("Write"));
    // It ends in the middle of a message, and comes back.
    let half = json!({ "method": "receive", "params": message(ANN, 3, "/deny") }).to_string();
    let before = daemon.until(|heard| Some(heard.subscribed));
    daemon.vanish(&half[..half.len() - 9]);
    daemon.until(|heard| (heard.subscribed > before).then_some(()));
    daemon.bring(&message(ANN, 3, "/deny"));
    assert!(daemon.sent(2)[1].starts_with("Commands"));
    // It ends before it said whether a message was sent: that is tried again.
    let fates = [
        Fate::Vanishes,
        Fate::Error(json!({ "code": -32603, "message": "oops" })),
        Fate::Error(json!({ "code": -5, "data": { "response": {
            "results": [{ "type": "RATE_LIMIT_FAILURE", "retryAfterSeconds": 0 }] } } })),
    ];
    daemon.lock().fates.extend(fates);
    daemon.bring(&message(ANN, 4, "/help"));
    assert!(daemon.sent(3)[2].starts_with("Write"));
    assert_eq!(daemon.lock().refused, 3);
    running.listed("running");
    let began = std::time::Instant::now();
    running.core.stop();
    assert!(began.elapsed() < Duration::from_secs(1), "a connection holds nothing up");
}

#[test]
fn what_cannot_be_sent_is_said_and_not_tried_again() {
    let (home, daemon) = (home(), Daemon::at_socket());
    let mut running = start(&home, &daemon, OURS);
    running.let_ann_in(&daemon);
    let failed = |code: i64, result: Value| json!({ "code": code, "data": { "response": { "results": [result] } } });
    let limit = json!({ "type": "RATE_LIMIT_FAILURE", "token": "secret-token", "retryAfterSeconds": 86_400 });
    for (stamp, why, said) in [
        (10, failed(-4, json!({ "type": "IDENTITY_FAILURE" })), "signal-cli trust"),
        (11, failed(-1, json!({ "type": "UNREGISTERED_FAILURE" })), "no account of Signal any more"),
        (12, failed(-5, limit), "submitRateLimitChallenge"),
    ] {
        daemon.lock().fates.push_back(Fate::Error(why));
        daemon.bring(&message(ANN, stamp, "/help"));
        running.listed(said);
    }
    // As long as Signal wants us to wait nothing is tried.
    daemon.bring(&message(ANN, 13, "/deny"));
    let said = |running: &Running| running.heard.concat().matches("an answer could not be sent by signal").count();
    running.listed_when("the fourth warning", |running, _| said(running) >= 4);
    let heard = daemon.lock();
    assert_eq!((heard.refused, heard.sent.len()), (3, 0));
    assert!(!running.heard.concat().contains("secret-token"));
}

#[test]
fn which_account_is_meant_is_found_out_or_said() {
    let check = |accounts: Option<&[&'static str]>, set: &str, said: &str| {
        let (home, daemon) = (home(), Daemon::at_socket());
        daemon.lock().accounts = accounts.map(<[&str]>::to_vec);
        let mut running = start(&home, &daemon, set);
        let linked = running.ask(":action :gateway :platform \"signal\" :do :link");
        assert!(linked.contains("is linked"), "{linked}");
        running.listed(said);
        daemon.lock().subscribed_to.clone()
    };
    let one = |number: &str| vec![Some(number.to_string())];
    assert_eq!(check(Some(&[OURS, "+15550002"]), "+15550002", ":named \"+15550002\""), one("+15550002"));
    assert_eq!(check(Some(&[OURS]), "", ":named \"+15550001\""), one(OURS));
    assert_eq!(check(None, OURS, ":named \"+15550001\""), [None]);
    assert_eq!(check(None, "", ":named \"signal-cli\""), [None]);
    // Where it is not known whose messages are meant, none are asked for.
    let several = "has several accounts; name one in SIGNAL_ACCOUNT_NUMBER";
    assert!(check(Some(&[OURS, "+15550002"]), "", several).is_empty());
    assert!(check(Some(&[]), "", "has no account").is_empty());
    assert!(check(Some(&[OURS]), "+15550002", "does not have the account of SIGNAL_ACCOUNT_NUMBER").is_empty());
}

#[test]
fn only_a_daemon_of_this_machine_is_an_address() {
    let home = home();
    let listed = |address: &str| {
        let mut command = crate::cli::program(&home);
        command.env("SIGNAL_CLI_ADDRESS", address).env("XDG_RUNTIME_DIR", home.folder.path()).args(["gateway", "list"]);
        crate::cli::Ran::from(command.output().expect("it runs")).out
    };
    for (address, said) in [
        ("192.168.0.2:7583", "SIGNAL_CLI_ADDRESS is of another machine"),
        ("example.org:7583", "SIGNAL_CLI_ADDRESS is no address"),
        ("localhost:7583", "signal       not linked"),
        ("", "signal       not linked"),
    ] {
        assert!(listed(address).contains(said), "{address}: {}", listed(address));
    }
    let daemon = Daemon::at_socket();
    let mut running = start(&home, &daemon, "");
    daemon.vanish("");
    let gone = format!("{}-gone", daemon.address);
    std::fs::rename(&daemon.address, gone).expect("it is ours");
    running.ask(":action :gateway :platform \"signal\" :do :link");
    running.listed("signal-cli cannot be reached; start its daemon");
}

#[test]
fn another_users_program_in_the_place_of_signal_cli_is_noticed_and_names_no_sender() {
    let home = home();
    let (tell, told) = std::sync::mpsc::channel();
    let squatter = std::thread::spawn(move || {
        let done = another(|| {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            tell.send(listener.local_addr().expect("an address")).expect("the test waits");
            let (stream, _) = listener.accept().expect("it comes");
            let (mut write, mut asked) = (stream.try_clone().expect("a descriptor"), String::new());
            let mut read = BufReader::new(stream);
            read.read_line(&mut asked).expect("a line");
            let early = json!({ "method": "receive", "params": message(ANN, 40, "/help") });
            writeln!(write, "{early}\n{}", json!({ "jsonrpc": "2.0", "id": 1, "result": 0 })).expect("it reads");
            // All that comes until the end.
            let _ = read.read_to_string(&mut asked);
            asked
        });
        drop(tell);
        done
    });
    let Ok(address) = told.recv() else {
        skipped("only root can become another user, and only on Linux; run the tests as root to try it");
        return;
    };
    let daemon = Daemon::at_socket();
    let mut running = start(&home, &daemon, "");
    running.let_ann_in(&daemon);
    running.core.stop();
    let mut running = Running::begin(&home, &[("SIGNAL_CLI_ADDRESS", address.to_string())], None);
    running.listed("a program of another user answers in the place of signal-cli");
    let asked = squatter.join().expect("it ends").expect("it was another user");
    assert!(
        asked.contains("listAccounts")
            && !asked.contains("subscribeReceive")
            && !asked.contains("send")
            && !asked.contains(ANN),
        "{asked}"
    );
}

#[test]
fn what_came_is_answered_although_it_is_linked_again_meanwhile() {
    let (home, daemon) = (home(), Daemon::at_socket());
    let (begun, asked) = std::sync::mpsc::channel();
    let (go_on, waits) = std::sync::mpsc::channel::<()>();
    let waits = Mutex::new(waits);
    let thinks = says(&["It is serviced in May."]).meanwhile(move || {
        begun.send(()).expect("the test waits for it");
        let _ = waits.lock().expect("it is ours").recv_timeout(Duration::from_secs(60));
    });
    let server = FakeServer::start([thinks]);
    let variables = [("SIGNAL_CLI_ADDRESS", daemon.address.clone())];
    let mut running = Running::begin(&home, &variables, Some(&server));
    running.let_ann_in(&daemon);
    daemon.bring(&message(ANN, 2, "when is the boiler serviced?"));
    asked.recv_timeout(Duration::from_secs(60)).expect("the model is asked");
    // Behind the one that is answered now.
    daemon.bring(&message(ANN, 3, "/help"));
    // It was taken once a stranger's, which came later, is listed.
    daemon.bring(&message(EVE, 4, "hello?"));
    running.listed(EVE);
    let linked = running.ask(":action :gateway :platform \"signal\" :do :link");
    assert!(linked.contains("is linked"), "{linked}");
    daemon.bring(&message(ANN, 5, "/deny"));
    go_on.send(()).expect("the model waits");
    let sent = daemon.sent(3);
    assert_eq!(sent[0], "It is serviced in May.");
    assert!(sent[1].starts_with("Write") && sent[2].starts_with("Commands"), "{sent:?}");
    assert_eq!(daemon.lock().subscribed, 1, "the connection held");
}

#[test]
fn one_messenger_is_linked_while_another_answers() {
    let (home, fake, daemon) = (home(), Fake::start(), Daemon::at_socket());
    let (begun, asked) = std::sync::mpsc::channel();
    let (go_on, waits) = std::sync::mpsc::channel::<()>();
    let waits = Mutex::new(waits);
    let thinks = says(&["It is serviced in May."]).meanwhile(move || {
        begun.send(()).expect("the test waits for it");
        let _ = waits.lock().expect("it is ours").recv_timeout(Duration::from_secs(60));
    });
    let server = FakeServer::start([thinks]);
    let variables = [
        ("TELEGRAM_URL", format!("http://127.0.0.1:{}", fake.port)),
        ("TELEGRAM_BOT_TOKEN", TOKEN.to_string()),
        ("SIGNAL_CLI_ADDRESS", daemon.address.clone()),
    ];
    let mut running = Running::begin(&home, &variables, Some(&server));
    running.ask(":action :gateway :platform \"telegram\" :do :link");
    running.let_in(&fake, 1, 7);
    fake.updates(&[update(2, 7, "when is the boiler serviced?")]);
    asked.recv_timeout(Duration::from_secs(60)).expect("the model is asked");
    running.let_ann_in(&daemon);
    running.ask(":action :gateway :platform \"signal\" :do :unlink");
    go_on.send(()).expect("the model waits");
    let sent = fake.until(|heard| (!heard.sent.is_empty()).then(|| heard.sent.clone()));
    assert_eq!(sent, [(7, "It is serviced in May.".to_string())]);
}
