//! Telegram's numbers, when they begin anew and when they come again.

use super::{answers, update};
use crate::decide::{Chat, NOTES};
use passepartout::domain::memory::store::{Commit, NewRecord, Record, Store};
use passepartout::edge::clock::Clock;
use passepartout::edge::store::disk::DiskStore;
use serde_json::json;

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
