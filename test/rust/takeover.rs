//! Processes on one store whose owner is killed again and again, while others join, take over, and go on asking.

use crate::runtime::{Client, action, payload_of, settings, text};
use crate::store::reopened;
use crate::support::engine::Home;
use crate::support::soak::{self, survived};
use passepartout::domain::memory::store::Store;
use passepartout::domain::sexp::plist::Plist;
use passepartout::edge::store::verify::verify;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

const SETTINGS: &str = "PASSEPARTOUT_TEST_ASKING";
const NAME: &str = "PASSEPARTOUT_TEST_ASKING_NAME";
/// A test never hangs.
const PATIENCE: Duration = Duration::from_secs(90);

/// The body of a process that asks for one heading after the other, as the owner or through it.
#[test]
fn child_that_asks_for_headings() {
    let (Ok(settings), Ok(name)) = (std::env::var(SETTINGS), std::env::var(NAME)) else { return };
    let mut client = Client::begin(&settings);
    client.wait("a store", |m| {
        ["the memex has ", "the store is in use by "].iter().any(|words| text(m, "text").starts_with(words))
    });
    let hello = |client: &mut Client| client.request("hello", Plist::new());
    hello(&mut client);
    // The runner has begun a line.
    println!();
    for n in 0.. {
        let title = format!("Errand {name}x{n}");
        println!("asked {title}");
        client.say_in(&format!("session {name}"), &format!("add a todo “{title}” under Kitchen"));
        let end = client.wait("an end of it", |m| matches!(action(m), Some("turn-done" | "core-lost")));
        if action(&end) == Some("core-lost") {
            println!("lost {title}");
            hello(&mut client);
            continue;
        }
        // Another one may have written the file in the same moment: then it is told so, and nothing is done.
        let done = payload_of(&end);
        match done.text_at("status") == Some("answered") && !done.list_at("changed").is_empty() {
            true => println!("done {title}"),
            false => println!("refused {title}: {}", done.to_string().replace('\n', " ")),
        }
    }
}

/// One such process.
struct Asking {
    name: String,
    child: Child,
    reader: std::thread::JoinHandle<()>,
}

impl Asking {
    fn start(home: &Home, name: String, said: &Sender<(String, String)>) -> Asking {
        let settings = settings(home, None, "\"recall\"");
        let settings = settings.replacen("(:directories", "(:permissions ((org-add-heading allow)) :directories", 1);
        let folder = home.folder.path();
        let mut child = Command::new(std::env::current_exe().expect("it has a name"))
            .args(["--exact", "takeover::child_that_asks_for_headings", "--nocapture", "--test-threads=1"])
            .envs([(SETTINGS, settings), (NAME, name.clone())])
            .envs([("XDG_CONFIG_HOME", folder.join("config")), ("XDG_CACHE_HOME", folder.join("cache"))])
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let (said, own) = (said.clone(), name.clone());
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // The test may have ended.
                let _ = said.send((own.clone(), line));
            }
        });
        Asking { name, child, reader }
    }

    /// Kills it; what it said until then is in the channel when this returns.
    fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
        self.reader.join().expect("it reads to the end");
    }
}

/// What all of them said.
#[derive(Default)]
struct Said {
    asked: BTreeSet<String>,
    done: BTreeSet<String>,
    refused: BTreeMap<String, String>,
    lost: usize,
}

impl Said {
    /// Takes a line; returns whether something was acknowledged.
    fn take(&mut self, line: &str) -> bool {
        match line.split_once(' ') {
            Some(("asked", title)) => drop(self.asked.insert(title.to_string())),
            Some(("lost", _)) => self.lost += 1,
            Some(("done", title)) => return self.done.insert(title.to_string()),
            Some(("refused", rest)) => {
                let (title, why) = rest.split_once(": ").unwrap_or((rest, ""));
                self.refused.insert(title.to_string(), why.to_string());
            }
            Some(_) | None => {}
        }
        false
    }
}

/// A number that is another one for each place, the same in each run.
fn scattered(n: u64) -> u64 {
    u64::from_le_bytes(*blake3::hash(&n.to_le_bytes()).as_bytes().first_chunk().expect("a hash has eight bytes"))
}

#[test]
fn owners_that_are_killed_while_others_go_on_lose_nothing_that_was_acknowledged_and_do_nothing_twice() {
    let kills: u64 = soak::asked("OWNER_KILLS").unwrap_or(6);
    let count = soak::asked("CLIENTS").unwrap_or(4usize);
    let home = Home::new(&[("home.org", "* Kitchen\n")]);
    let (tell, heard) = channel();
    let mut names = (0..).map(|n| format!("p{n}"));
    let mut start = || Asking::start(&home, names.next().expect("there are enough"), &tell);
    let mut asking: Vec<Asking> = (0..count).map(|_| start()).collect();
    let mut said = Said::default();
    let mut owners = BTreeSet::new();
    for round in 0..kills {
        let before = said.done.len();
        // Until somebody owns the store and something was acknowledged since the last kill, and then a little on.
        let at = loop {
            let enough = said.done.len() >= before + 1 + (scattered(round) % 4) as usize;
            let owner = std::fs::read_to_string(home.store().join("lock")).unwrap_or_default();
            let owner = owner.lines().next().and_then(|pid| pid.parse::<u32>().ok());
            match asking.iter().position(|one| Some(one.child.id()) == owner).filter(|_| enough) {
                Some(at) => break at,
                None => hear(&heard, &mut said, &mut asking),
            }
        };
        for _ in 0..scattered(round + 7) % [20_000, 4_000_000][round as usize % 2] {
            std::hint::spin_loop();
        }
        owners.insert(asking[at].name.clone());
        asking.swap_remove(at).kill();
        // Now and then one that passes its messages on goes with it.
        if round % 4 == 3 {
            asking.swap_remove(0).kill();
            asking.push(start());
        }
        asking.push(start());
    }
    // The last owner goes on for a while.
    let before = said.done.len();
    while said.done.len() < before + count {
        hear(&heard, &mut said, &mut asking);
    }
    asking.into_iter().for_each(Asking::kill);
    for (_, line) in heard.try_iter() {
        said.take(&line);
    }
    assert_eq!(owners.len() as u64, kills, "each time another one owned the store");
    holds(&home, &said);
    survived(format!(
        "{kills} owners killed among {count} processes: {} headings acknowledged and each there once, {} asked when their owner was lost, {} refused and said so, none twice",
        said.done.len(),
        said.lost,
        said.refused.len()
    ));
}

/// Takes one line; nobody may have ended by itself.
#[track_caller]
fn hear(heard: &Receiver<(String, String)>, said: &mut Said, asking: &mut [Asking]) {
    match heard.recv_timeout(PATIENCE) {
        Ok((_, line)) => {
            said.take(&line);
        }
        Err(why) => panic!("nothing is said any more ({why}); refused: {:?}", said.refused),
    }
    for one in asking {
        assert!(one.child.try_wait().expect("it can be asked").is_none(), "{} ended by itself", one.name);
    }
}

/// What was acknowledged is in the file, in memory and in the log of acts; nothing is there twice.
fn holds(home: &Home, said: &Said) {
    let count = |text: &str| {
        let mut found = BTreeMap::<String, usize>::new();
        for title in text.lines().filter_map(|line| line.split_once(" TODO ")).map(|(_, title)| title) {
            *found.entry(title.to_string()).or_default() += 1;
        }
        found
    };
    let (mut store, memory, problems) = reopened(&home.store());
    assert!(problems.iter().all(|p| p.contains("taken over") || p.contains("damaged end")), "{problems:?}");
    let file = home.file("home.org");
    let remembered = memory.head().document(&file).expect("it is in memory").outline.text.to_string();
    for (place, found) in [("the file", count(&home.read_file("home.org"))), ("memory", count(&remembered))] {
        let twice: Vec<_> = found.iter().filter(|(_, times)| **times > 1).collect();
        assert!(twice.is_empty(), "{place} has twice: {twice:?}");
        let missing: Vec<_> = said.done.iter().filter(|title| !found.contains_key(*title)).collect();
        assert!(missing.is_empty(), "{place} lost {missing:?}");
        let strange: Vec<_> = found.keys().filter(|title| !said.asked.contains(*title)).collect();
        assert!(strange.is_empty(), "{place} has what nobody asked for: {strange:?}");
    }
    let acts = |kind: &str, store: &mut dyn Store| store.list(kind, 0).expect("it can be read");
    let (intents, outcomes) = (acts("intent", &mut store), acts("outcome", &mut store));
    let ended = outcomes.iter().filter(|record| record.body["outcome"] == "done").count();
    assert!(ended >= said.done.len(), "{ended} acts are known to be done, {} were acknowledged", said.done.len());
    assert!(intents.len() <= said.asked.len(), "{} acts of {} requests", intents.len(), said.asked.len());
    drop(store);
    let proof = verify(&home.store(), None).expect("it can be read");
    assert!(proof.whole(), "{:?}", proof.breaks);
}
