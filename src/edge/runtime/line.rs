//! Lines: what was said to a client by number, so that it goes on where it was when its connection broke.
//!
//! A line outlives its connections. One connection holds it at a time; a newer one takes it from the older, which then
//! says nothing more.

use crate::domain::sexp::reader::Sexp;
use crate::edge::peers::tls::Fingerprint;
use crate::edge::runtime::clients::{Channel, ClientId};
use crate::edge::runtime::hall::Road;
use crate::edge::runtime::lobby::Held;
use crate::edge::wire::number::Sent;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Notify, OwnedSemaphorePermit, watch};

/// What one client is told and says, whatever becomes of its connections.
pub(super) struct Line {
    pub(super) channel: Arc<Channel>,
    /// Rings when something waits for the client.
    pub(super) bell: Arc<Notify>,
    /// By which the client takes it up; `None` where its messages are not numbered.
    token: Option<String>,
    /// Its process, where the system names it.
    process: Option<u32>,
    /// The key with which its client came from another machine.
    key: Option<Fingerprint>,
    state: Mutex<State>,
    share: Share,
    /// Which connection holds it.
    holder: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    sent: Sent,
    /// The number of the last message that the connection which holds the line has taken, or that its client had seen
    /// before.
    told: u64,
    /// The number of the client's last message that came.
    heard: u64,
    holder: u64,
    /// Its client's place among those who may be here. It outlives a connection, as the line does: who comes back has it
    /// still, and no more can be waited for than can be here. `None` once it was handed on.
    seat: Option<OwnedSemaphorePermit>,
}

/// How much is kept of one line, counted with that of all.
struct Share {
    own: AtomicUsize,
    all: Arc<AtomicUsize>,
}

impl Share {
    fn bytes(&self) -> usize {
        self.own.load(Ordering::Relaxed)
    }

    /// Counts anew, under the lock of the line's state.
    fn count(&self, sent: &Sent) {
        let (was, now) = (self.own.swap(sent.bytes(), Ordering::Relaxed), sent.bytes());
        match now.checked_sub(was) {
            Some(more) => self.all.fetch_add(more, Ordering::Relaxed),
            None => self.all.fetch_sub(was - now, Ordering::Relaxed),
        };
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes(), Ordering::Relaxed);
    }
}

/// A connection's hold of a line.
pub(super) struct Hold {
    line: Arc<Line>,
    number: u64,
    watch: watch::Receiver<u64>,
}

impl Line {
    /// Returns the token by which its client takes it up, where its messages are numbered.
    pub(super) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Returns the number of the client's last message that came.
    pub(super) fn heard(&self) -> u64 {
        self.state.lock().heard
    }

    /// Takes note of what a message says that its client has seen, and returns the message's own number, where it has one
    /// and the line counts.
    pub(super) fn number_of(&self, message: &Sexp) -> Option<u64> {
        self.token.as_ref()?;
        let meta = |key: &str| message.get("meta").and_then(|meta| meta.count_at(key)).map(|number| number as u64);
        if let Some(seen) = meta("seen") {
            let mut state = self.state.lock();
            state.sent.seen(seen);
            state.told = state.told.max(seen.min(state.sent.last()));
            self.share.count(&state.sent);
        }
        meta("number")
    }

    /// Hands a message of the client on, once: not what came before, and nothing by a connection that does not hold the
    /// line any more, of which the client says it again. Returns what `send` does; `None` when it was left out.
    pub(super) fn hand_on<T>(&self, hold: &Hold, number: Option<u64>, send: impl FnOnce() -> T) -> Option<T> {
        // Under one lock: what counts as heard was handed on.
        let mut state = self.state.lock();
        if state.holder != hold.number || number.is_some_and(|number| number <= state.heard) {
            return None;
        }
        state.heard = number.unwrap_or(state.heard);
        Some(send())
    }

    /// As [`Lines::next`], whatever is kept of all.
    fn next(&self, hold: &Hold, bytes: usize) -> Option<Vec<String>> {
        // Under one lock: what was taken is kept, whoever writes it.
        let mut state = self.state.lock();
        if state.holder != hold.number {
            return None;
        }
        if state.told < state.sent.last() {
            let again = state.sent.behind(state.told, bytes)?;
            state.told += again.len() as u64;
            return Some(again);
        }
        let texts = self.channel.outbox.receive(bytes);
        if self.token.is_none() {
            return Some(texts);
        }
        let texts = texts.iter().map(|text| state.sent.number(text)).collect();
        state.told = state.sent.last();
        self.share.count(&state.sent);
        Some(texts)
    }

    /// Keeps less of what was sent.
    fn forget(&self, forget: impl FnOnce(&mut Sent)) {
        let mut state = self.state.lock();
        forget(&mut state.sent);
        self.share.count(&state.sent);
    }

    fn hold(self: &Arc<Self>, seen: u64) -> Option<Hold> {
        let mut state = self.state.lock();
        if !state.sent.keeps_behind(seen) {
            return None;
        }
        state.sent.seen(seen);
        state.told = seen;
        self.share.count(&state.sent);
        let number = self.pass(&mut state);
        Some(Hold { line: self.clone(), number, watch: self.holder.subscribe() })
    }

    /// Takes the line from the connection that holds it, and returns the number of the next.
    fn pass(&self, state: &mut State) -> u64 {
        state.holder += 1;
        self.holder.send_replace(state.holder);
        state.holder
    }

    /// Takes the line from the connection that holds it, for good, and returns its seat.
    fn let_go(&self) -> Option<OwnedSemaphorePermit> {
        let mut state = self.state.lock();
        self.pass(&mut state);
        state.sent.forget_all();
        self.share.count(&state.sent);
        state.seat.take()
    }

    /// Returns whether a client that comes by a road is the one whose line this is; `now` is what it would be if it came for
    /// the first time. Not another process, nor one of another key or one that is not now what it was then.
    fn is_of(&self, road: &Road, now: &Channel) -> bool {
        let then = &self.channel;
        // What a client was granted it has beyond what its road gives.
        let same = then.kind == now.kind && (then.kind.is_program() || then.rights() == now.rights());
        same && self.process == road.process && self.key == road.held.as_ref().map(Held::key)
    }
}

impl Hold {
    /// Waits until another connection has taken the line.
    pub(super) async fn lost(&self) {
        let number = self.number;
        // The line lives as long as this does, so the wait ends for no other reason.
        let _ = self.watch.clone().wait_for(|holder| *holder != number).await;
    }
}

/// Of what was sent to all clients together at most so many bytes are kept: for eight of them all that is kept for one, and
/// for each of as many as can be here at once 30 kB still, which is a long answer. It is what a core can spare for those who
/// do not say what they have seen; who reads at once goes on where it was with the little that lies between the two ends.
const ALL: usize = 64 << 20;

/// The lines that can be taken up, by their tokens.
pub(super) struct Lines {
    lines: Mutex<HashMap<String, Arc<Line>>>,
    /// How much is kept of all of them, and how much may be.
    kept: Arc<AtomicUsize>,
    most: usize,
}

impl Default for Lines {
    fn default() -> Lines {
        Lines::keeping(ALL)
    }
}

impl Lines {
    /// Has no lines yet, of which at most so many bytes will be kept.
    fn keeping(most: usize) -> Lines {
        Lines { lines: Mutex::default(), kept: Arc::default(), most }
    }

    /// Returns what waits for a client, at most about `bytes` of it; what it did not see of earlier connections comes
    /// first. `None` to a connection that does not hold the line any more, or when what is to come first is not kept any
    /// more: then its client begins anew.
    pub(super) fn next(&self, line: &Line, hold: &Hold, bytes: usize) -> Option<Vec<String>> {
        let texts = line.next(hold, bytes);
        if self.kept.load(Ordering::Relaxed) > self.most {
            self.relieve();
        }
        texts
    }

    /// Keeps less of the line of which most is kept, until of all together no more is than may be. A line of which little
    /// is kept loses nothing.
    fn relieve(&self) {
        // Under the lock of none of them: each is looked at. They are as many as clients at most, and one gives back half
        // of its fair share or more, so it is seldom looked.
        let lines = self.lines.lock();
        while self.kept.load(Ordering::Relaxed) > self.most {
            let largest = lines.values().max_by_key(|line| line.share.bytes());
            // One that has just ended gives back what it has by itself.
            let Some(largest) = largest.filter(|line| line.share.bytes() > 0) else { return };
            largest.forget(Sent::forget_half);
        }
    }

    /// Finds a seat for a client that begins anew, and returns also who had it before. Who comes back and cannot go on has
    /// its own: its old line, by its token, is let go at once, whether it is known yet that its connection broke or not.
    /// While something of that is under way, and another seat is free, it is waited for all the same: who asks again joins
    /// a turn that goes on. `None` when there is no seat.
    pub(super) fn seat(
        &self,
        token: Option<&str>,
        road: &Road,
        now: &Channel,
    ) -> Option<(OwnedSemaphorePermit, Option<ClientId>)> {
        let free = || road.seats.clone().try_acquire_owned().ok().map(|seat| (seat, None));
        // Under the lock: a line that is being ended gives its seat back by itself.
        let mut lines = self.lines.lock();
        let old = token.and_then(|token| lines.get_key_value(token)).filter(|(_, line)| line.is_of(road, now));
        let Some((token, line)) = old.map(|(token, line)| (token.clone(), line.clone())) else { return free() };
        if line.channel.capacity.is_in_use()
            && let Some(seat) = free()
        {
            return Some(seat);
        }
        lines.remove(&token);
        Some((line.let_go()?, Some(line.channel.id)))
    }

    /// Begins the line of a client that has a seat.
    pub(super) fn begin(
        &self,
        (channel, bell): (Arc<Channel>, Arc<Notify>),
        token: Option<String>,
        road: &Road,
        seat: OwnedSemaphorePermit,
    ) -> (Arc<Line>, Hold) {
        let state = State { holder: 1, seat: Some(seat), ..State::default() };
        let (holder, watch) = watch::channel(1);
        let (process, key) = (road.process, road.held.as_ref().map(Held::key));
        let (state, share) = (Mutex::new(state), Share { own: AtomicUsize::new(0), all: self.kept.clone() });
        let line = Arc::new(Line { channel, bell, token, process, key, state, share, holder });
        if let Some(token) = &line.token {
            self.lines.lock().insert(token.clone(), line.clone());
        }
        (line.clone(), Hold { line, number: 1, watch })
    }

    /// Takes a line up for a client that comes back and has seen messages up to a number; `now` is what it would be if it
    /// came for the first time. `None` when there is none by this token, it is another one's, or what was not seen is not
    /// kept any more.
    pub(super) fn take_up(&self, (token, seen): (&str, u64), road: &Road, now: &Channel) -> Option<(Arc<Line>, Hold)> {
        let lines = self.lines.lock();
        let line = lines.get(token).filter(|line| line.is_of(road, now))?.clone();
        // Under the lock: a line that is being ended is not taken up.
        let hold = line.hold(seen)?;
        Some((line, hold))
    }

    /// Ends a line for the connection that holds it; returns false when another one holds it by now.
    pub(super) fn end(&self, hold: &Hold) -> bool {
        let mut lines = self.lines.lock();
        if hold.line.state.lock().holder != hold.number {
            return false;
        }
        if let Some(token) = &hold.line.token {
            lines.remove(token);
        }
        hold.line.forget(Sent::forget_all);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sexp::plist::Plist;
    use crate::edge::runtime::clients::Grant;
    use crate::edge::runtime::outbox::Outbox;
    use crate::edge::wire::number::EACH;
    use futures_util::FutureExt;
    use proptest::prelude::*;
    use tokio::sync::Semaphore;

    fn outbox() -> Arc<Outbox> {
        Outbox::new(Box::new(|| {}))
    }

    fn road(process: Option<u32>) -> Road {
        Road { name: String::new(), pinged: false, process, held: None, seats: Arc::new(Semaphore::new(1)) }
    }

    fn begin(lines: &Lines, channel: Arc<Channel>, process: Option<u32>) -> (Arc<Line>, Hold) {
        begin_as(lines, "token", channel, process)
    }

    fn begin_as(lines: &Lines, token: &str, channel: Arc<Channel>, process: Option<u32>) -> (Arc<Line>, Hold) {
        let road = road(process);
        let (seat, before) = lines.seat(None, &road, &channel).expect("there is a seat");
        assert_eq!(before, None);
        lines.begin((channel, Arc::default()), Some(token.to_string()), &road, seat)
    }

    fn client(id: u32) -> Arc<Channel> {
        Channel::client(id, "ab", None, outbox())
    }

    /// Has a client told something; returns by how much that is more to be kept.
    fn tell(lines: &Lines, (line, hold): &(Arc<Line>, Hold), size: usize) -> usize {
        line.channel.outbox.send("log", None, Plist::new().text("text", "x".repeat(size)));
        let texts = lines.next(line, hold, usize::MAX).expect("it holds its line");
        texts.iter().map(|text| text.len() + EACH).sum()
    }

    #[test]
    fn what_was_handed_on_counts_as_heard_and_nothing_else_does() {
        let lines = Lines::default();
        let (line, first) = begin(&lines, Channel::client(1, "ab", None, outbox()), None);
        assert_eq!(line.hand_on(&first, Some(1), || "first"), Some("first"));
        assert_eq!(line.hand_on(&first, Some(1), || "again"), None);
        assert_eq!(line.hand_on(&first, None, || "unnumbered"), Some("unnumbered"));
        let now = Channel::client(2, "cd", None, outbox());
        let (same, second) = lines.take_up(("token", 0), &road(None), &now).expect("it is there");
        // What the older connection still had in its hands is said again by the newer.
        assert_eq!(line.hand_on(&first, Some(2), || "late"), None);
        assert_eq!((same.heard(), same.hand_on(&second, Some(2), || "second")), (1, Some("second")));
        line.channel.outbox.send("log", None, Plist::new().text("text", "news"));
        assert!(lines.next(&line, &first, 1 << 20).is_none());
        assert!(lines.next(&line, &second, 1 << 20).is_some_and(|texts| texts.len() == 1));
        assert!(!lines.end(&first) && lines.end(&second));
        assert!(lines.take_up(("token", 0), &road(None), &now).is_none(), "it has ended");
    }

    #[test]
    fn a_line_is_taken_up_by_who_is_still_what_it_was_and_nobody_else() {
        let emacs = || Channel::emacs(1, 7, outbox());
        let doubted = || Channel::doubted(2, 7, ("it runs a script".to_string(), false), outbox());
        let (terminal, pipe) = (Channel::cli(3, 7, true, outbox()), Channel::cli(4, 7, false, outbox()));
        let client = || Channel::client(5, "ab", None, outbox());
        let granted = client();
        granted.grant(Grant::Private, 0).expect("it can be");
        for (then, now, process, taken) in [
            (emacs(), emacs(), Some(7), true),
            (emacs(), emacs(), Some(8), false),
            (emacs(), doubted(), Some(7), false),
            (emacs(), client(), Some(7), false),
            (terminal, pipe, Some(7), false),
            // What it was granted holds over a break, and is nothing that it has by itself.
            (granted, client(), Some(7), true),
        ] {
            let lines = Lines::default();
            let (line, _hold) = begin(&lines, then.clone(), Some(7));
            let again = lines.take_up(("token", 0), &road(process), &now);
            assert_eq!(again.is_some(), taken, "{} by {}", then.name, now.name);
            assert!(lines.take_up(("another", 0), &road(process), &now).is_none());
            assert_eq!(line.channel.rights(), then.rights());
        }
    }

    #[test]
    fn who_cannot_go_on_has_its_own_seat_again_and_nobody_elses() {
        let emacs = || Channel::emacs(1, 7, outbox());
        let doubted = || Channel::doubted(2, 7, ("it runs a script".to_string(), false), outbox());
        let granted = client(5);
        granted.grant(Grant::Private, 0).expect("it can be");
        for (then, now, process, token, has) in [
            (emacs(), emacs(), Some(7), "token", true),
            (granted, client(6), Some(7), "token", true),
            (emacs(), emacs(), Some(8), "token", false),
            (emacs(), doubted(), Some(7), "token", false),
            (emacs(), client(6), Some(7), "token", false),
            (emacs(), emacs(), Some(7), "another", false),
        ] {
            let lines = Lines::default();
            let (line, hold) = begin(&lines, then.clone(), Some(7));
            line.channel.outbox.send("log", None, Plist::new().text("text", "news"));
            assert!(lines.next(&line, &hold, 1 << 20).is_some_and(|texts| texts.len() == 1));
            let full = Road { seats: Arc::new(Semaphore::new(0)), ..road(process) };
            let found = lines.seat(Some(token), &full, &now).map(|(_, before)| before);
            assert_eq!(found, has.then_some(Some(then.id)), "{} by {} and {token}", then.name, now.name);
            assert_eq!(hold.lost().now_or_never().is_some(), has, "its connection goes on or not");
            assert_eq!((lines.next(&line, &hold, 1 << 20).is_none(), !lines.end(&hold)), (has, has));
            assert_eq!(lines.kept.load(Ordering::Relaxed), 0);
            assert!(lines.seat(Some("token"), &full, &then).is_none(), "it is let go once");
        }
    }

    #[test]
    fn who_has_something_under_way_is_waited_for_while_there_is_another_seat() {
        for (under_way, free, waited) in [(false, 0, false), (false, 1, false), (true, 0, false), (true, 1, true)] {
            let lines = Lines::default();
            let (line, hold) = begin(&lines, client(5), None);
            let place = under_way.then(|| line.channel.capacity.place(1));
            let road = Road { seats: Arc::new(Semaphore::new(free)), ..road(None) };
            let (seat, before) = lines.seat(Some("token"), &road, &client(6)).expect("there is one");
            assert_eq!(before, (!waited).then_some(5), "under way: {under_way}, free: {free}");
            assert_eq!(lines.end(&hold), waited);
            assert_eq!(road.seats.available_permits(), free - usize::from(waited), "it is its own, or another");
            drop((seat, place));
        }
    }

    /// What happens to one of several clients.
    #[derive(Clone, Debug)]
    enum Step {
        Told(usize, usize),
        Seen(usize, u64),
        Back(usize),
        Gone(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let who = || 0..5_usize;
        prop_oneof![
            16 => (who(), 0..1_500_usize).prop_map(|(who, size)| Step::Told(who, size)),
            2 => (who(), 0..40_u64).prop_map(|(who, seen)| Step::Seen(who, seen)),
            1 => who().prop_map(Step::Back),
            1 => who().prop_map(Step::Gone),
        ]
    }

    proptest! {
        #[test]
        fn of_all_together_no_more_is_kept_than_may_be_and_who_has_little_loses_nothing(
            most in 0..12_000_usize,
            steps in proptest::collection::vec(step(), 0..120),
        ) {
            let lines = Lines::keeping(most);
            let new = |who: usize| begin_as(&lines, &who.to_string(), client(who as u32), None);
            let mut all: Vec<(Arc<Line>, Hold)> = (0..5).map(new).collect();
            for step in steps {
                let before: Vec<usize> = all.iter().map(|(line, _)| line.share.bytes()).collect();
                match step {
                    Step::Told(who, size) => {
                        let more = tell(&lines, &all[who], size);
                        let mut had = before;
                        had[who] += more;
                        let now: Vec<usize> = all.iter().map(|(line, _)| line.share.bytes()).collect();
                        let lost: Vec<usize> = (0..5).filter(|n| now[*n] < had[*n]).collect();
                        if had.iter().sum::<usize>() <= most {
                            prop_assert!(lost.is_empty());
                        }
                        for (loser, other) in lost.iter().flat_map(|n| (0..5).map(|other| (*n, other))) {
                            prop_assert!(had[loser] >= now[other], "{loser} lost of {had:?}, not {other}: {now:?}");
                        }
                    }
                    Step::Seen(who, seen) => {
                        let text = format!("(:type :event :meta (:seen {seen}) :payload (:action :alive))");
                        all[who].0.number_of(&Sexp::read(&text).expect("a message"));
                    }
                    Step::Back(who) => {
                        let last = all[who].0.state.lock().sent.last();
                        let again = lines.take_up((who.to_string().as_str(), last), &road(None), &client(9));
                        all[who] = again.expect("who has seen all goes on");
                    }
                    Step::Gone(who) => {
                        prop_assert!(lines.end(&all[who].1));
                        all[who] = new(who);
                    }
                }
                let sum: usize = all.iter().map(|(line, _)| line.share.bytes()).sum();
                prop_assert_eq!(sum, lines.kept.load(Ordering::Relaxed));
                prop_assert!(sum <= most, "{} of {}", sum, most);
                for (line, _) in &all {
                    prop_assert_eq!(line.share.bytes(), line.state.lock().sent.bytes());
                }
            }
            drop(lines);
            let kept = all[0].0.share.all.clone();
            all.clear();
            prop_assert_eq!(kept.load(Ordering::Relaxed), 0);
        }
    }

    #[test]
    fn what_is_not_kept_any_more_ends_the_connection_by_which_it_was_to_come_again() {
        let lines = Lines::keeping(8_000);
        let greedy = begin_as(&lines, "greedy", client(1), None);
        let small = begin_as(&lines, "small", client(2), None);
        tell(&lines, &small, 100);
        (0..6).for_each(|_| _ = tell(&lines, &greedy, 1_000));
        let (line, hold) = lines.take_up(("greedy", 0), &road(None), &client(3)).expect("all of it is kept");
        let piece = lines.next(&line, &hold, 1).expect("it is said again");
        assert!(matches!(piece.as_slice(), [text] if text.contains(":number 1")), "{piece:?}");
        // What it says that it has seen meanwhile needs not be said again.
        line.number_of(&Sexp::read("(:type :event :meta (:seen 2))").expect("a message"));
        let piece = lines.next(&line, &hold, 1).expect("it is said again");
        assert!(matches!(piece.as_slice(), [text] if text.contains(":number 3")), "{piece:?}");
        // Too much for all is kept, and most of it is the greedy one's.
        tell(&lines, &small, 2_000);
        tell(&lines, &small, 1_500);
        assert!(lines.next(&line, &hold, 1).is_none(), "it cannot be told what comes next");
        assert!(lines.take_up(("greedy", 3), &road(None), &client(3)).is_none(), "it begins anew");
        let (line, hold) = lines.take_up(("small", 0), &road(None), &client(4)).expect("nothing of it is lost");
        assert_eq!(lines.next(&line, &hold, usize::MAX).expect("it is said again").len(), 3);
    }
}
