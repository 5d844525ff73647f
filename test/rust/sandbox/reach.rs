//! What a command reaches whose plan names hosts: these, by way of the proxy, and nobody else.

use super::*;
use async_trait::async_trait;
use parking_lot::Mutex;
use passepartout::domain::gate::reach::leads_inside;
use passepartout::edge::sandbox::{Network, Resolve};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};

/// Knows a few names, and notes which were asked for.
#[derive(Default)]
struct Names(Mutex<Vec<String>>);

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        self.0.lock().push(name.to_string());
        let numbers: &[&str] = match name {
            "served.example" | "other.example" => &["127.0.0.1"],
            "inner.example" => &["10.0.0.1"],
            "mixed.example" => &["1.1.1.1", "fd00::1"],
            "mapped.example" => &["::ffff:1.1.1.1"],
            "empty.example" => &[],
            _ => return Err(std::io::Error::other("there is no such name")),
        };
        Ok(numbers.iter().map(|number| number.parse().unwrap()).collect())
    }
}

/// The policy for addresses, but for the loopback, where the servers of tests are.
fn but_loopback(number: IpAddr) -> Option<&'static str> {
    if number == IpAddr::V4(Ipv4Addr::LOCALHOST) { None } else { leads_inside(number) }
}

/// A server on loopback that answers every connection with one line and notes what it was sent.
struct Server {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = heard.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(mut stream), kept) = (stream, kept.clone()) else { return };
                std::thread::spawn(move || {
                    let mut buffer = [0u8; 4096];
                    let length = stream.read(&mut buffer).unwrap_or(0);
                    kept.lock().push(String::from_utf8_lossy(&buffer[..length]).into_owned());
                    let answer = "HTTP/1.1 302 Found\r\nLocation: http://other.example/\r\nContent-Length: 6\r\nConnection: close\r\n\r\nserved";
                    let _ = stream.write_all(answer.as_bytes());
                });
            }
        });
        Server { port, heard }
    }
}

/// Asks the proxy: each argument is a request whose lines are parted by `|`.
const ASK: &str = r#"
use Socket;
for my $request (@ARGV) {
    socket(my $s, PF_INET, SOCK_STREAM, 0) or do { print "no socket\n"; next };
    connect($s, sockaddr_in(3128, INADDR_LOOPBACK)) or do { print "no proxy: $!\n"; next };
    my @parts = split /!/, $request;
    for my $part (@parts) {
        $part =~ s/\|/\r\n/g;
        syswrite $s, $part;
        my ($all, $got) = ('', '');
        while (sysread $s, $got, 4096) { $all .= $got; last if $part =~ /^CONNECT/ && $all =~ /\r\n\r\n/ && $all =~ / 200 /; }
        $all =~ s/\r\n/|/g; $all =~ s/\n/ /g;
        print "$all\n";
    }
}
"#;

struct Run {
    outcome: Outcome,
    names: Arc<Names>,
}

/// Runs a command with hosts under the launcher, in a world that holds `ask.pl`.
async fn reaching(world: &World, hosts: &[String], command: &str) -> Run {
    fs::write(world.project().join("ask.pl"), ASK).unwrap();
    let names = Arc::new(Names::default());
    let network = Network::with(names.clone(), but_loopback);
    let launcher = Launcher::at(&world.path("run")).unwrap();
    let shell = Shell::with_network(launcher, Arc::new(|path| path.ends_with(".env")), Limits::USUAL, network);
    let args = serde_json::json!({ "command": command, "hosts": hosts });
    let observation = shell.perform(&cleared_with(world, args)).await;
    Run { outcome: observation.outcome, names }
}

fn said(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Done(text) | Outcome::Failed(text) | Outcome::Stale(text) | Outcome::Cancelled(text) => text,
    }
}

#[tokio::test]
async fn a_named_host_is_reached_and_no_other() {
    if !possible() {
        return;
    }
    let (world, server, other) = (World::new(None), Server::start(), Server::start());
    let (port, elsewhere) = (server.port, other.port);
    let host = format!("served.example:{port}");
    let command = format!(
        "perl ask.pl 'GET http://{host}/a HTTP/1.1|Host: other.example|Proxy-Token: x||' \
         'CONNECT {host} HTTP/1.1||!through the tunnel' \
         'GET http://other.example:{elsewhere}/ HTTP/1.1||' 'CONNECT served.example:{elsewhere} HTTP/1.1||' \
         'CONNECT 127.0.0.1:{port} HTTP/1.1||' 'GET / HTTP/1.1||'; \
         echo $https_proxy; grep -c hunter2 .env notes.txt"
    );
    let run = reaching(&world, std::slice::from_ref(&host), &command).await;
    let served = "HTTP/1.1 302 Found|Location: http://other.example/|Content-Length: 6|Connection: close||served";
    let text = said(&run.outcome);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.first(), Some(&"Exit status 2."), "{text}");
    assert_eq!(lines[2..5], [served, "HTTP/1.1 200 Connection established||", served], "{text}");
    for (line, asked) in [
        (5, format!("other.example:{elsewhere}")),
        (6, format!("served.example:{elsewhere}")),
        (7, format!("127.0.0.1:{port}")),
    ] {
        assert!(lines[line].starts_with("HTTP/1.1 403 Forbidden|"), "{text}");
        let words =
            format!("{asked} is none of the hosts of this plan ({host}). To reach it, propose the command again");
        assert!(lines[line].contains(&words), "{text}");
    }
    assert!(lines[8].starts_with("HTTP/1.1 400 Bad Request|"), "{text}");
    assert_eq!(lines[9], "http://127.0.0.1:3128");
    let told = format!(
        "It reached: {host} (2).\nIt was refused: 127.0.0.1:{port} (1), other.example:{elsewhere} (1), served.example:{elsewhere} (1)."
    );
    assert!(text.ends_with(&told), "{text}");
    let heard = server.heard.lock().clone();
    assert_eq!(
        heard,
        [format!("GET /a HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"), "through the tunnel".to_string()]
    );
    assert!(other.heard.lock().is_empty(), "nobody else heard anything");
    assert_eq!(*run.names.0.lock(), ["served.example"], "the one name was looked up, once");
}

#[tokio::test]
async fn nothing_but_the_proxy_is_there() {
    if !possible() {
        return;
    }
    let (world, server) = (World::new(None), Server::start());
    let listening = UnixListener::bind(world.project().join("socket")).unwrap();
    listening.set_nonblocking(true).unwrap();
    let command = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{} || echo not the host; exec 4<>/dev/tcp/127.0.0.1/22 || echo no other port; \
         exec 5<>/dev/tcp/1.1.1.1/443 || echo nobody outside; exec 6<>/dev/udp/127.0.0.1/53 || echo no packets; \
         perl -MSocket -e 'for my $d (1, 2, 10, 16, 17, 40) {{ for my $t (1, 2, 3, 5) {{ socket(S, $d, $t, 0) and print \"open $d $t\\n\" }} }} \
         socket(S, 2, 1, 262) and print \"multipath\\n\"; socket(S, 2, 1, 132) and print \"sctp\\n\"; \
         socket(S, 2, 1, 0); bind(S, sockaddr_in(9, INADDR_ANY)) and print \"bound\\n\"; listen(S, 1) and print \"listens\\n\"'",
        server.port
    );
    let run = reaching(&world, &["served.example".to_string()], &command).await;
    let Outcome::Done(text) = &run.outcome else { panic!("{:?}", run.outcome) };
    let output = text.split("--- output ---\n").nth(1).and_then(|rest| rest.split("\n---").next());
    assert_eq!(output, Some("not the host\nno other port\nnobody outside\nno packets\nopen 2 1\nopen 10 1"), "{text}");
    assert!(server.heard.lock().is_empty() && listening.accept().is_err());
}

#[tokio::test]
async fn a_host_that_leads_inside_stops_the_command() {
    if !possible() {
        return;
    }
    let world = World::new(None);
    for (host, why) in [
        ("inner.example", "inner.example may not be reached, since it is at 10.0.0.1: it lies in a private network"),
        ("mixed.example", "mixed.example may not be reached, since it is at fd00::1: it lies in a private network"),
        ("mapped.example", "since it is at ::ffff:1.1.1.1: it stands for another address"),
        ("empty.example", "empty.example cannot be looked up: it has no address"),
        ("nowhere.example", "nowhere.example cannot be looked up: there is no such name"),
        ("*.example", "a pattern names no host"),
    ] {
        let run = reaching(&world, &["served.example".to_string(), host.to_string()], "touch ran").await;
        assert!(matches!(&run.outcome, Outcome::Failed(words) if words.contains(why)), "{:?}", run.outcome);
        assert!(!world.project().join("ran").exists());
    }
}

#[tokio::test]
async fn private_notes_are_hidden_from_what_reaches_hosts() {
    if !possible() {
        return;
    }
    let world = World::new(None);
    fs::write(world.project().join("diary.org"), "* Health :private:\nhunter3\n").unwrap();
    let command = "cat diary.org; echo $http_proxy";
    let alone = reaching(&world, &[], command).await;
    assert!(said(&alone.outcome).contains("hunter3"), "{:?}", alone.outcome);
    assert!(!said(&alone.outcome).contains("3128"), "without hosts there is no proxy");
    let out = reaching(&world, &["served.example".to_string()], command).await;
    assert!(!said(&out.outcome).contains("hunter3") && said(&out.outcome).contains("3128"), "{:?}", out.outcome);
    assert!(said(&out.outcome).contains("Private notes of this project were hidden"), "{:?}", out.outcome);
}
