//! Tables of days that are not like others, and what holds for all rhythms.

use super::*;
use jiff::civil::date;
use proptest::prelude::*;

const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";
const NEW_YORK: &str = "EST5EDT,M3.2.0,M11.1.0";

fn zone(text: &str) -> TimeZone {
    TimeZone::posix(text).expect("it is a time zone")
}

fn rhythm(text: &str) -> Rhythm {
    match text.strip_prefix("cron ") {
        Some(line) => Rhythm::Cron(Cron::parse(line).expect("it is a cron line")),
        None => Rhythm::of(&Stamp::parse(text).expect("it is a timestamp")).expect("it repeats"),
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().expect("it is a moment")
}

#[test]
fn a_calendar_is_told_two_weeks_of_a_cron_line_and_of_nothing_that_has_a_timestamp() {
    let berlin = zone(BERLIN);
    for (text, expected) in [
        ("cron 0 8 * * 1", vec!["2026-03-02T07:00:00Z", "2026-03-09T07:00:00Z"]),
        ("cron 0 0 29 2 *", vec![]),
        ("<2026-03-02 Mon 08:00 +1d>", vec![]),
    ] {
        let expected: Vec<Timestamp> = expected.into_iter().map(at).collect();
        assert_eq!(rhythm(text).ahead(at("2026-03-01T12:00:00Z"), &berlin), expected, "{text}");
    }
    assert_eq!(rhythm("cron * * * * *").ahead(at("2026-03-01T12:00:00Z"), &berlin).len(), 60);
}

#[test]
fn days_that_are_not_like_others_have_each_run_once() {
    for (text, place, after, expected) in [
        // The clock goes forward at two: half past two is half past three.
        (
            "<2026-03-28 Sat 02:30 +1d>",
            BERLIN,
            "2026-03-27T12:00:00Z",
            "2026-03-28T01:30:00Z 2026-03-29T01:30:00Z 2026-03-30T00:30:00Z",
        ),
        // And back at three: half past two is twice, and runs at the first.
        (
            "<2026-10-24 Sat 02:30 ++1d>",
            BERLIN,
            "2026-10-23T12:00:00Z",
            "2026-10-24T00:30:00Z 2026-10-25T00:30:00Z 2026-10-26T01:30:00Z",
        ),
        (
            "<2026-03-29 Sun 00:30 +1h>",
            BERLIN,
            "2026-03-28T23:00:00Z",
            "2026-03-28T23:30:00Z 2026-03-29T00:30:00Z 2026-03-29T01:30:00Z 2026-03-29T02:30:00Z",
        ),
        (
            "cron 30 2 * * *",
            BERLIN,
            "2026-03-27T12:00:00Z",
            "2026-03-28T01:30:00Z 2026-03-29T01:30:00Z 2026-03-30T00:30:00Z",
        ),
        ("cron 30 2 * * *", BERLIN, "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z 2026-10-26T01:30:00Z"),
        // The same line is another moment elsewhere.
        ("<2026-07-01 Wed 08:00 +1d>", BERLIN, "2026-07-01T00:00:00Z", "2026-07-01T06:00:00Z 2026-07-02T06:00:00Z"),
        ("<2026-07-01 Wed 08:00 +1d>", NEW_YORK, "2026-07-01T00:00:00Z", "2026-07-01T12:00:00Z 2026-07-02T12:00:00Z"),
        // Leap days and ends of months, as Org steps.
        (
            "<2024-02-29 Thu 08:00 +1y>",
            "UTC0",
            "2024-01-01T00:00:00Z",
            "2024-02-29T08:00:00Z 2025-03-01T08:00:00Z 2026-03-01T08:00:00Z 2027-03-01T08:00:00Z 2028-02-29T08:00:00Z",
        ),
        (
            "<2026-01-31 Sat +1m>",
            "UTC0",
            "2026-01-01T00:00:00Z",
            "2026-01-31T00:00:00Z 2026-03-03T00:00:00Z 2026-03-31T00:00:00Z 2026-05-01T00:00:00Z",
        ),
        ("cron 0 0 29 2 *", "UTC0", "2025-01-01T00:00:00Z", "2028-02-29T00:00:00Z 2032-02-29T00:00:00Z"),
        ("cron 0 9 31 * *", "UTC0", "2026-02-01T00:00:00Z", "2026-03-31T09:00:00Z 2026-05-31T09:00:00Z"),
        ("cron 15 10 * * 1-5", "UTC0", "2026-11-20T11:00:00Z", "2026-11-23T10:15:00Z 2026-11-24T10:15:00Z"),
        ("cron */20 23 * * SUN", "UTC0", "2026-11-22T23:30:00Z", "2026-11-22T23:40:00Z 2026-11-29T23:00:00Z"),
        // A date in the future begins there.
        ("<2030-01-01 Tue 08:00 +1w>", "UTC0", "2026-01-01T00:00:00Z", "2030-01-01T08:00:00Z 2030-01-08T08:00:00Z"),
    ] {
        let (rhythm, zone) = (rhythm(text), zone(place));
        let expected: Vec<Timestamp> = expected.split(' ').map(at).collect();
        let found: Vec<Timestamp> = rhythm.walk(at(after), &zone).take(expected.len()).collect();
        assert_eq!(found, expected, "{text} in {place}");
        let (first, last) = (expected[0], expected[expected.len() - 1]);
        assert_eq!(rhythm.next(at(after), None, &zone), Some(first), "{text}");
        assert_eq!(rhythm.latest(at(after), last, None, &zone), Some(last), "{text}");
        assert_eq!(rhythm.count(at(after), last, &zone), expected.len(), "{text}");
    }
}

#[test]
fn what_counts_from_its_last_run_is_due_once_however_late() {
    let (rhythm, zone) = (rhythm("<2026-03-01 Sun 08:00 .+1d>"), zone("UTC0"));
    let now = at("2026-03-20T10:00:00Z");
    for (ran, expected) in [
        (None, "2026-03-01T08:00:00Z"),
        (Some("2026-03-12T09:30:00Z"), "2026-03-13T08:00:00Z"),
        // Not before its own date.
        (Some("2026-01-01T09:30:00Z"), "2026-03-01T08:00:00Z"),
    ] {
        let ran = ran.map(at);
        assert_eq!(rhythm.next(now, ran, &zone), Some(at(expected)));
        assert_eq!(rhythm.latest(now, now, ran, &zone), Some(at(expected)), "whatever was looked at before");
    }
    assert_eq!(rhythm.latest(now, now, Some(now), &zone), None, "not twice");
    assert_eq!(rhythm.count(at("2026-03-01T00:00:00Z"), now, &zone), 0, "nothing of it is missed");
}

#[test]
fn a_clock_that_jumps_costs_no_more_than_a_bounded_look() {
    let zone = zone(BERLIN);
    for text in ["cron * * * * *", "<2026-01-01 Thu 08:00 +1h>", "cron 0 0 29 2 *", "<2026-01-01 Thu 08:00 +1d>"] {
        let rhythm = rhythm(text);
        let (from, until) = (at("2026-03-01T00:00:30Z"), at("2076-03-01T00:00:30Z"));
        let newest = rhythm.latest(from, until, None, &zone).expect("there is one");
        assert!(newest <= until && rhythm.walk(newest, &zone).next().is_some_and(|next| next > until), "{text}");
        assert!(rhythm.count(from, until, &zone) <= COUNTED + 1, "{text}");
        // Back: nothing is due.
        assert_eq!((rhythm.latest(until, from, None, &zone), rhythm.count(until, from, &zone)), (None, 0), "{text}");
        assert!(
            rhythm.next(Timestamp::MAX, None, &zone).is_none() && rhythm.next(Timestamp::MIN, None, &zone).is_some()
        );
    }
}

#[test]
fn words_say_when() {
    for (text, expected) in [
        ("<2026-11-23 Mon 08:00 +1d>", "+1d at 08:00"),
        ("<2026-11-23 Mon +1w>", "+1w Mon at 00:00"),
        ("<2026-11-23 Mon 08:05 ++1m>", "++1m on day 23 at 08:05"),
        ("<2024-02-29 Thu 08:00 +1y>", "+1y on 02-29 at 08:00"),
        ("<2024-02-29 Thu 08:00 .+1y>", ".+1y at 08:00"),
        ("<2024-02-29 Thu 08:20 .+2h>", ".+2h"),
        ("<2026-11-23 Mon 08:20 +1h>", "+1h 00:20 into each"),
        ("cron 0 8 * * 1", "cron 0 8 * * 1"),
    ] {
        assert_eq!(rhythm(text).words(), expected);
    }
    // Only what leads to other times has other words.
    for (one, other, same) in [
        ("<2026-11-23 Mon +2w>", "<2026-12-07 Mon +2w>", true),
        ("<2026-11-23 Mon +2w>", "<2026-11-30 Mon +2w>", false),
        ("<2026-11-23 Mon +1w>", "<2026-11-24 Tue +1w>", false),
        ("<2026-11-23 Mon 08:00 +1d>", "<2026-11-23 Mon 09:00 +1d>", false),
        ("<2026-11-23 Mon 08:00 +1d>", "<2026-11-23 Mon 08:00 .+1d>", false),
        ("<2026-11-23 Mon +3m>", "<2027-02-23 Tue +3m>", true),
        // The end of a month that the next one lacks is another day from then on, whoever moves it.
        ("<2026-01-31 Sat +1m>", "<2026-03-03 Tue +1m>", false),
        ("<2026-01-31 Sat .+1m>", "<2026-03-03 Tue .+1m>", true),
        ("<2026-11-23 Mon 08:00 .+1w>", "<2026-11-25 Wed 08:00 .+1w>", true),
        ("<2026-11-23 Mon 08:00 .+1w>", "<2026-11-23 Mon 09:00 .+1w>", false),
    ] {
        assert_eq!(rhythm(one).words() == rhythm(other).words(), same, "{one} {other}");
    }
}

fn some_rhythm() -> impl Strategy<Value = Rhythm> {
    let unit = prop_oneof![Just('h'), Just('d'), Just('w'), Just('m'), Just('y')];
    let stamp = (0i64..4000, 0u8..24, 0u8..60, 1u16..5, unit, prop_oneof![Just("+"), Just("++")]);
    let stamped = stamp.prop_map(|(day, hour, minute, count, unit, kind)| {
        let day = date(2020, 1, 1).checked_add(day.days()).expect("it is near");
        rhythm(&format!("<{day} Mon {hour:02}:{minute:02} {kind}{count}{unit}>"))
    });
    let part = |most: u8| prop_oneof![Just("*".to_string()), (0..most).prop_map(|n| n.to_string())];
    let cron = (part(60), part(24), prop_oneof![Just("*".to_string()), Just("1".to_string()), Just("29".to_string())]);
    let croned = cron.prop_map(|(minute, hour, day)| rhythm(&format!("cron {minute} {hour} {day} * *")));
    prop_oneof![3 => stamped, 1 => croned]
}

proptest! {
    #[test]
    fn no_time_is_lost_or_comes_twice(
        rhythm in some_rhythm(),
        place in prop_oneof![Just(BERLIN), Just(NEW_YORK), Just("UTC0"), Just("LHST-10:30LHDT-11,M10.1.0,M4.1.0")],
        begin in 1_577_836_800i64..1_900_000_000,
        first in 1i64..600_000,
        second in 1i64..600_000,
    ) {
        let zone = zone(place);
        let [a, b, c] = [begin, begin + first, begin + first + second]
            .map(|second| Timestamp::from_second(second).expect("it is near"));
        let times = |from: Timestamp, until: Timestamp| -> Vec<Timestamp> {
            rhythm.walk(from, &zone).take_while(|at| *at <= until).collect()
        };
        let all = times(a, c);
        prop_assert!(all.is_sorted_by(|one, next| one < next) && all.iter().all(|at| *at > a));
        let parts: Vec<Timestamp> = times(a, b).into_iter().chain(times(b, c)).collect();
        prop_assert_eq!(&all, &parts, "looked at in two steps");
        prop_assert_eq!(rhythm.latest(a, c, None, &zone), all.last().copied());
        prop_assert_eq!(rhythm.count(a, c, &zone), all.len().min(COUNTED + 1));
        prop_assert!(rhythm.next(a, None, &zone).is_none_or(|next| all.first().is_none_or(|first| *first == next)));
    }

    #[test]
    fn what_org_moves_keeps_its_rhythm(
        day in 0i64..4000,
        later in 0i64..4000,
        hour in 0u8..24,
        count in 1u16..5,
        unit in prop_oneof![Just('h'), Just('d'), Just('w'), Just('m'), Just('y')],
        kind in prop_oneof![Just("+"), Just("++"), Just(".+")],
    ) {
        let day = date(2020, 1, 1).checked_add(day.days()).expect("it is near");
        // An end of a month that the next one lacks is moved to another day by Org itself.
        prop_assume!(kind == ".+" || day.day() <= 28);
        let stamp = Stamp::parse(&format!("<{day} Mon {hour:02}:30 {kind}{count}{unit}>")).expect("it is a timestamp");
        let now = day.checked_add(later.days()).expect("it is near").at(12, 0, 0, 0);
        let moved = stamp.repeated(now).expect("it repeats");
        prop_assert_eq!(Rhythm::of(&stamp).map(|rhythm| rhythm.words()), Rhythm::of(&moved).map(|rhythm| rhythm.words()));
    }
}
