//! Tests of caps.

use super::*;
use jiff::civil::date;
use proptest::prelude::*;

fn wanted(session: &str, work: Work, estimate: Cost) -> Wanted {
    Wanted { session: session.to_string(), day: date(2026, 1, 5), work, estimate }
}

#[test]
fn a_refusal_names_the_cap_what_is_used_and_how_to_raise_it() {
    let dollar = |dollars: u64| Micros(dollars * 1_000_000);
    let check = |caps: Caps, work: Work, estimate: Cost, expected: Option<&str>| {
        let mut accounts = Accounts::default();
        assert!(accounts.recall_session("one", Micros(0), accounts.mark()));
        let first = wanted("one", Work::Background, Cost::Guessed(dollar(1)));
        let first = accounts.hold(first, &Caps::default()).expect("there is no cap");
        accounts.settle(first, Cost::Known(dollar(2)));
        let found = accounts.hold(wanted("one", work, estimate), &caps).err();
        assert_eq!(found.as_deref(), expected);
    };
    let (chat, background) = (Work::Foreground, Work::Background);
    let (one, none) = (Cost::Guessed(dollar(1)), Caps::default());
    check(none, chat, one, None);
    check(Caps { session: Some(dollar(3)), ..none }, chat, one, None);
    check(
        Caps { session: Some(dollar(2)), ..none },
        chat,
        one,
        Some(
            "the cap of this conversation is $2.00, $2.00 of it is used or held, and this call may cost $1.00; \
             raise SESSION_BUDGET_USD or passepartout-session-budget",
        ),
    );
    check(
        Caps { day: Some(Micros(2_500_000)), ..none },
        chat,
        one,
        Some(
            "the cap of this day is $2.50, $2.00 of it is used or held, and this call may cost $1.00; raise \
             DAY_BUDGET_USD or passepartout-day-budget",
        ),
    );
    check(Caps { background: Some(dollar(2)), ..none }, chat, one, None);
    check(
        Caps { background: Some(dollar(2)), ..none },
        background,
        Cost::Unknown,
        Some(
            "the cap of background work of this day is $2.00, $2.00 of it is used or held, and this call may cost \
             an unknown amount; raise BACKGROUND_BUDGET_USD or passepartout-background-budget",
        ),
    );
    check(Caps { day: Some(dollar(3)), ..none }, chat, Cost::Unknown, None);
    check(Caps { unpriced: Some(1), ..none }, chat, Cost::Unknown, None);
    check(
        Caps { unpriced: Some(0), ..none },
        chat,
        Cost::Unknown,
        Some(
            "its price stands in no table, and UNPRICED_CALLS allows 0 such calls a day (0 were made); add its \
             price to prices.org, or set passepartout-unpriced-calls higher",
        ),
    );
    // What costs nothing is asked whatever was used.
    check(Caps { day: Some(dollar(2)), ..none }, chat, Cost::Known(Micros(0)), None);
}

#[test]
fn a_free_call_does_not_make_a_conversation_known() {
    let (mut accounts, caps) = (Accounts::default(), Caps { session: Some(Micros(10)), ..Caps::default() });
    let more = |amount: u64| wanted("one", Work::Foreground, Cost::Guessed(Micros(amount)));
    let free = wanted("one", Work::Foreground, Cost::Known(Micros(0)));
    let held = accounts.hold(free, &caps).expect("it is free");
    assert!(!accounts.knows_session("one"));
    let why = accounts.check(&more(1), &caps).expect_err("nobody knows what was spent");
    assert_eq!(why, "there is a cap on this conversation, and what it spent is not known; ask again");
    let mark = accounts.mark();
    accounts.settle(held, Cost::Known(Micros(0)));
    // Whether the call that ended meanwhile was read nobody knows.
    assert!(!accounts.recall_session("one", Micros(9), mark) && !accounts.knows_session("one"));
    let mark = accounts.mark();
    assert!(accounts.recall_session("one", Micros(9), mark) && accounts.knows_session("one"));
    // Once is enough.
    assert!(accounts.recall_session("one", Micros(90), mark));
    assert!(accounts.check(&more(1), &caps).is_ok());
    assert!(accounts.check(&more(2), &caps).is_err());
}

#[test]
fn names_that_clients_invent_fill_no_memory_and_what_runs_is_kept() {
    let (mut accounts, caps) = (Accounts::default(), Caps { session: Some(Micros(10)), ..Caps::default() });
    assert!(accounts.recall_session("one", Micros(4), accounts.mark()));
    let one = |amount: u64| wanted("one", Work::Foreground, Cost::Guessed(Micros(amount)));
    let held = accounts.hold(one(5), &caps).expect("there is room");
    for n in 0..3 * KNOWN {
        let free = wanted(&format!("s{n}"), Work::Foreground, Cost::Known(Micros(0)));
        let held = accounts.hold(free, &caps).expect("it is free");
        accounts.settle(held, Cost::Known(Micros(0)));
        assert!(accounts.sessions.len() <= KNOWN, "{n}");
    }
    assert!(accounts.check(&one(2), &caps).is_err(), "4 are spent and 5 are held");
    accounts.settle(held, Cost::Known(Micros(5)));
    assert!(accounts.check(&one(1), &caps).is_ok());
    accounts.let_go();
    assert!(accounts.check(&one(1), &caps).is_err(), "it is not known any more");
    assert!(accounts.recall_session("one", Micros(9), accounts.mark()));
    assert!(accounts.check(&one(1), &caps).is_ok() && accounts.check(&one(2), &caps).is_err());
}

#[derive(Clone, Debug)]
enum Act {
    Ask {
        session: u8,
        day: i8,
        background: bool,
        estimate: Option<u64>,
    },
    /// Ends one of those that run, for so many hundredths of what was held; without, at an unknown price.
    End {
        which: usize,
        part: Option<u64>,
    },
    /// Reads the ledger for a conversation.
    Read {
        session: u8,
    },
    /// Takes in what was read last.
    Recall,
    LetGo,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let ask = (0..3_u8, 1..3_i8, any::<bool>(), proptest::option::of(0..400_u64))
        .prop_map(|(session, day, background, estimate)| Act::Ask { session, day, background, estimate });
    let end = (any::<usize>(), proptest::option::of(0..=300_u64)).prop_map(|(which, part)| Act::End { which, part });
    let read = (0..3_u8).prop_map(|session| Act::Read { session });
    let act = prop_oneof![8 => ask, 4 => end, 3 => read, 3 => Just(Act::Recall), 1 => Just(Act::LetGo)];
    proptest::collection::vec(act, 0..120)
}

/// What a slow reader of the ledger and of what runs would count.
#[derive(Default)]
struct Slow {
    ended: Vec<(Wanted, Cost)>,
    running: Vec<Held>,
}

impl Slow {
    fn spent(&self, about: impl Fn(&Wanted) -> bool) -> Micros {
        let ended = self.ended.iter().filter(|(wanted, _)| about(wanted));
        ended.fold(Micros(0), |sum, (_, cost)| sum.plus(cost.counted()))
    }

    fn held(&self, about: impl Fn(&Wanted) -> bool) -> Micros {
        let held = self.running.iter().filter(|held| about(&held.0));
        held.fold(Micros(0), |sum, held| sum.plus(held.0.estimate.counted()))
    }

    fn account(&self, about: impl Fn(&Wanted) -> bool) -> Account {
        Account { spent: self.spent(&about), held: self.held(&about) }
    }

    fn unpriced(&self, day: Date) -> u64 {
        let ended = self.ended.iter().filter(|(wanted, cost)| wanted.day == day && *cost == Cost::Unknown);
        let running = self.running.iter().filter(|held| held.0.day == day && held.0.estimate == Cost::Unknown);
        (ended.count() + running.count()) as u64
    }

    /// Whether a call may be made, in another way of counting.
    fn allows(&self, wanted: &Wanted, known: bool, caps: &Caps) -> bool {
        let unknown = wanted.estimate == Cost::Unknown;
        let within = |cap: Option<Micros>, about: &dyn Fn(&Wanted) -> bool| {
            let (used, more) = (self.account(about).used().0, wanted.estimate.counted().0);
            cap.is_none_or(|cap| if unknown { used < cap.0 } else { used + more <= cap.0 })
        };
        let background = wanted.work == Work::Foreground
            || within(caps.background, &|one| one.day == wanted.day && one.work == Work::Background);
        let unpriced = !unknown || caps.unpriced.is_none_or(|most| self.unpriced(wanted.day) < most);
        let session = caps.session.is_none() || known && within(caps.session, &|one| one.session == wanted.session);
        background && unpriced && session && within(caps.day, &|one| one.day == wanted.day)
    }
}

fn cap(most: u64) -> impl Strategy<Value = Option<Micros>> {
    proptest::option::weighted(0.8, (0..most).prop_map(Micros))
}

proptest! {
    /// Whatever happens in whichever order, a call is let through exactly when nothing that is spent or held is in the
    /// way; also behind calls that came to more than was held for them, and behind conversations that were let go.
    #[test]
    fn caps_hold_under_any_interleaving(acts in acts(), session in cap(1000), day in cap(1500), background in cap(800), unpriced in proptest::option::of(0..6_u64)) {
        let caps = Caps { session, day, background, unpriced };
        let (mut accounts, mut slow, mut read) = (Accounts::default(), Slow::default(), None);
        for act in acts {
            match act {
                Act::Ask { session, day, background, estimate } => {
                    let work = if background { Work::Background } else { Work::Foreground };
                    let estimate = estimate.map_or(Cost::Unknown, |amount| Cost::Guessed(Micros(amount)));
                    let wanted = Wanted { session: session.to_string(), day: date(2026, 1, day), work, estimate };
                    let allowed = slow.allows(&wanted, accounts.knows_session(&wanted.session), &caps);
                    let held = accounts.hold(wanted.clone(), &caps);
                    prop_assert_eq!(held.is_ok(), allowed, "{:?} {:?}", wanted, held);
                    slow.running.extend(held);
                }
                Act::End { which, part } if !slow.running.is_empty() => {
                    let held = slow.running.swap_remove(which % slow.running.len());
                    let cost = match (held.0.estimate, part) {
                        (_, None) => Cost::Unknown,
                        (Cost::Unknown, Some(part)) => Cost::Known(Micros(part)),
                        (Cost::Known(amount) | Cost::Guessed(amount), Some(part)) => Cost::Known(Micros(amount.0 * part / 100)),
                    };
                    slow.ended.push((held.0.clone(), cost));
                    accounts.settle(held, cost);
                }
                Act::Read { session } => {
                    let session = session.to_string();
                    read = Some((slow.spent(|one| one.session == session), session, accounts.mark()));
                }
                Act::Recall => {
                    if let Some((spent, session, mark)) = &read {
                        let _ = accounts.recall_session(session, *spent, *mark);
                    }
                }
                Act::LetGo => accounts.let_go(),
                Act::End { .. } => {}
            }
            for (name, of) in &accounts.sessions {
                let expected = slow.account(|one| one.session == *name);
                prop_assert_eq!(of.account.held, expected.held);
                prop_assert!(!of.known || of.account == expected, "{:?} {:?}", of, expected);
            }
            for (day, of) in &accounts.days {
                prop_assert_eq!(of.all, slow.account(|one| one.day == *day));
                prop_assert_eq!(of.background, slow.account(|one| one.day == *day && one.work == Work::Background));
                prop_assert_eq!(of.unpriced, slow.unpriced(*day));
            }
        }
    }
}
