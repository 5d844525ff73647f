//! Telegram's numbers, when they begin anew and when they come again; and what finds no room in its chat.

use super::{Fake, Running, answers, home, update};
use crate::decide::{Chat, NOTES};
use crate::runtime::says;
use crate::support::engine::Home;
use crate::support::fake_server::{FakeServer, Reply};
use passepartout::domain::memory::store::{Commit, NewRecord, Record, Store};
use passepartout::edge::clock::Clock;
use passepartout::edge::store::disk::DiskStore;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Long enough for whatever is waited for.
const PATIENCE: Duration = Duration::from_secs(15);

impl Chat {
    /// Brings a message of sender 7 that was sent so many seconds ago.
    fn brings(&self, number: i64, text: &str, ago: i64) {
        let mut update = update(number, 7, text);
        update["message"]["date"] = json!(self.home.clock.now().as_second() - ago);
        self.fake.updates(&[update]);
    }

    /// Returns the first word of the one answer that comes next.
    fn answer(&mut self) -> String {
        let (_, text) = self.hear(1).remove(0);
        text.split([' ', ',']).next().unwrap_or("").to_string()
    }

    /// Waits until the last poll asked for this number, as one of so many.
    fn asked_for(&self, number: i64, times: usize) {
        tokio::task::block_in_place(|| {
            self.fake.until(|heard| {
                let polls = heard.offsets.iter().filter(|offset| **offset == number).count();
                (heard.offsets.last() == Some(&number) && polls >= times).then_some(())
            });
        });
    }

    /// Waits until the list says this of how the messenger stands.
    fn stands(&self, word: &str) {
        let stands = || self.engine.gateways().iter().any(|one| one.state.contains(word));
        tokio::task::block_in_place(|| self.fake.until(|_| stands().then_some(())));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_that_begin_anew_behind_a_quiet_week_are_taken_once() {
    let mut chat = Chat::start(NOTES, []).await;
    chat.brings(1_000, "/help", 0);
    assert_eq!(chat.answer(), "Write");
    chat.asked_for(1_001, 1);
    chat.home.clock.advance(8 * 24);
    // The server gives it whatever number is asked for, until it is confirmed.
    chat.brings(17, "/deny x", 0);
    assert_eq!(chat.answer(), "Commands");
    chat.asked_for(18, 1);
    // It comes again, as what was not confirmed does, and then the next one.
    chat.brings(17, "/deny x", 0);
    chat.brings(18, "/help", 0);
    assert_eq!(chat.answer(), "Write");
    chat.asked_for(19, 1);
    // A core that begins behind another quiet week asks for whatever there is.
    chat.restart_behind(|home| home.clock.advance(8 * 24)).await;
    chat.asked_for(0, 1);
    chat.brings(5, "/deny x", 0);
    assert_eq!(chat.answer(), "Commands");
    chat.asked_for(6, 1);
    assert_eq!(chat.fake.until(|heard| Some(answers(heard).len())), 4, "each was answered once");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_again_is_confirmed_and_a_server_that_does_not_wait_is_waited_for() {
    let mut chat = Chat::start(NOTES, []).await;
    chat.brings(1_000, "/help", 0);
    assert_eq!(chat.answer(), "Write");
    chat.asked_for(1_001, 1);
    // It came before, by its number and by when it was sent.
    chat.brings(5, "/help", 3_600);
    chat.asked_for(6, 1);
    for _ in 0..3 {
        chat.fake.updates(&[]);
    }
    chat.stands("it answers at once, and with nothing new");
    chat.brings(1_001, "/deny x", 0);
    assert_eq!(chat.answer(), "Commands");
    chat.asked_for(1_002, 1);
    chat.stands("running");
    let polls = chat.fake.until(|heard| Some(heard.offsets.clone()));
    assert!(polls.ends_with(&[1_001, 6, 6, 6, 6, 1_002]), "one poll for each answer: {polls:?}");
    assert_eq!(chat.fake.until(|heard| Some(answers(heard).len())), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_earlier_version_kept_of_a_number_counts() {
    let mut chat = Chat::start(NOTES, []).await;
    chat.brings(1_000, "/help", 0);
    assert_eq!(chat.answer(), "Write");
    chat.asked_for(1_001, 1);
    chat.restart_behind(|home| {
        // As it stored it: without when it was sent.
        let mut store = DiskStore::open(&home.store()).expect("nobody has it");
        let kept = store.latest("gateway-mark", "telegram").expect("it is read").expect("it is there");
        let Record { at, kind, key, mut body, .. } = kept;
        assert_eq!(body["number"], 1_000);
        assert!(body.as_object_mut().expect("an object").remove("sent").is_some());
        let records = [NewRecord { at, kind, key, body }];
        store.commit(&Commit { records: &records, ..Commit::default() }).expect("it is stored");
    })
    .await;
    chat.asked_for(1_001, 2);
    // What it took is not taken again.
    chat.brings(1_000, "/help", 0);
    chat.asked_for(1_001, 3);
    chat.home.clock.advance(8 * 24);
    chat.brings(17, "/deny x", 0);
    assert_eq!(chat.answer(), "Commands");
    chat.asked_for(18, 1);
}

/// Returns what a store says last of a thing, as it is now.
fn kept(home: &Home, kind: &str, key: &str) -> Option<Value> {
    let mut store = DiskStore::open_to_read(&home.store()).ok()?;
    store.latest(kind, key).ok()?.map(|record| record.body)
}

/// Waits until the store says of Telegram that this number came last.
#[track_caller]
fn noted(home: &Home, fake: &Fake, number: i64) {
    let noted = || kept(home, "gateway-mark", "telegram").is_some_and(|body| body["number"] == number);
    fake.until(|_| noted().then_some(()));
}

/// Returns how many messages of sender 7 are open, as the store says it.
#[track_caller]
fn open(home: &Home, fake: &Fake) -> i64 {
    fake.until(|_| kept(home, "gateway-open", "telegram 7")?["open"].as_i64())
}

/// Returns an answer that is held until it is let go, with what tells that it is asked for and what lets it go.
fn held(text: &str) -> (Reply, Receiver<()>, Sender<()>) {
    let ((begun, asked), (go, gate)) = (channel(), channel());
    let gate = Mutex::new(gate);
    let reply = says(&[text]).meanwhile(move || {
        let _ = begun.send(());
        // Who waits for longer has failed, and is not held up.
        let _ = gate.lock().expect("it is ours").recv_timeout(PATIENCE);
    });
    (reply, asked, go)
}

/// Returns the messages of these numbers, all at once.
fn helps(numbers: std::ops::RangeInclusive<i64>) -> Vec<Value> {
    numbers.map(|number| update(number, 7, "/help")).collect()
}

#[test]
fn what_finds_no_room_in_its_chat_is_taken_when_there_is_some() {
    let (home, fake) = (home(), Fake::start());
    let ((first, first_asked, first_go), (second, second_asked, second_go)) = (held("In May."), held("By Ann."));
    let server = FakeServer::start([first, second]);
    let mut running = Running::start_with(&home, &fake, Some(&server));
    running.ask(":action :gateway :platform \"telegram\" :do :link");
    running.let_in(&fake, 1, 7);
    fake.updates(&[update(2, 7, "when is the boiler serviced?")]);
    first_asked.recv_timeout(PATIENCE).expect("the model is asked");
    // One is being answered, and sixteen wait; there is no room for the last.
    let mut more = vec![update(3, 7, "by whom is the boiler serviced?")];
    more.extend(helps(4..=18));
    more.push(update(19, 7, "/deny x"));
    fake.updates(&more);
    noted(&home, &fake, 18);
    assert_eq!(open(&home, &fake), 17);
    assert_eq!(fake.until(|heard| heard.offsets.last().copied()), 3, "nothing more is asked for meanwhile");
    first_go.send(()).expect("it is held");
    second_asked.recv_timeout(PATIENCE).expect("the model is asked");
    // There is room, the next one is under way, and what waited counts as taken.
    fake.until(|heard| (heard.offsets.last() == Some(&20)).then_some(()));
    noted(&home, &fake, 19);
    assert_eq!(open(&home, &fake), 17);
    second_go.send(()).expect("it is held");
    let sent = fake.until(|heard| Some(answers(heard)).filter(|sent| sent.len() >= 3));
    let begins: Vec<&str> = sent.iter().take(3).map(|(_, text)| text.split(',').next().unwrap_or("")).collect();
    assert_eq!(begins, ["In May.", "By Ann.", "Write"]);
    running.core.stop();
}

#[test]
fn what_found_no_room_when_a_core_ended_comes_again() {
    let (home, fake) = (home(), Fake::start());
    let (begun, asked) = channel();
    let thinks =
        says(&["It is serviced in May."]).silent_after("It").meanwhile(move || begun.send(()).expect("it is heard"));
    let server = FakeServer::start([thinks]);
    let mut running = Running::start_with(&home, &fake, Some(&server));
    running.ask(":action :gateway :platform \"telegram\" :do :link");
    running.let_in(&fake, 1, 7);
    fake.updates(&[update(2, 7, "when is the boiler serviced?")]);
    asked.recv_timeout(PATIENCE).expect("the model is asked");
    let mut more = helps(3..=18);
    more.push(update(19, 7, "/deny x"));
    fake.updates(&more);
    noted(&home, &fake, 18);
    assert_eq!(open(&home, &fake), 17);
    running.core.stop();
    // It was not noted as taken, so it is asked for, and the server still has it.
    let running = Running::start_with(&home, &fake, Some(&server));
    fake.until(|heard| (heard.offsets.last() == Some(&19)).then_some(()));
    fake.updates(&[update(19, 7, "/deny x")]);
    let sent = fake.until(|heard| Some(answers(heard)).filter(|sent| !sent.is_empty()));
    assert!(sent.len() == 1 && sent[0].1.starts_with("Commands"), "{sent:?}");
    running.core.stop();
}
