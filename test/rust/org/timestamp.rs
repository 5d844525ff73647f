//! Timestamps: reading, printing, repeating.

use jiff::civil::{DateTime, date};
use passepartout::domain::org::timestamp::{Timestamp, timestamps};
use proptest::prelude::*;

#[test]
fn timestamps_are_read_and_printed() {
    let check = |text: &str, printed: &str| {
        let stamp = Timestamp::parse(text).unwrap_or_else(|| panic!("{text} is a timestamp"));
        assert_eq!(stamp.to_string(), printed);
        assert_eq!(Timestamp::parse(printed).as_ref(), Some(&stamp), "{printed}");
    };
    check("<2026-11-21 Sat 10:00 +1w>", "<2026-11-21 Sat 10:00 +1w>");
    check("<2026-11-21>", "<2026-11-21 Sat>");
    check("[2026-11-21 Sa.]", "[2026-11-21 Sat]");
    check("<2026-11-21 土 9:30-11:00>", "<2026-11-21 Sat 09:30-11:00>");
    check("<2026-11-21 Sat 10:00--11:20>", "<2026-11-21 Sat 10:00-11:20>");
    check("<2026-11-21 Sat ++1m --2d>", "<2026-11-21 Sat ++1m --2d>");
    check("<2026-11-21 Sat .+2d/4d -1h>", "<2026-11-21 Sat .+2d/4d -1h>");
    check("<2026-11-21 Sat>--<2026-11-23 Mon>", "<2026-11-21 Sat>--<2026-11-23 Mon>");
    check("<2026-11-21 10:00>--<2026-11-23 9:00>", "<2026-11-21 Sat 10:00>--<2026-11-23 Mon 09:00>");
    check("<2026-11-21 Sat 10:00 at-home>", "<2026-11-21 Sat 10:00 at-home>");
    check("<0001-01-01 Mon>", "<0001-01-01 Mon>");
}

#[test]
fn what_is_no_timestamp_is_none() {
    for text in [
        "",
        "<",
        "<>",
        "<2026-11-21",
        "2026-11-21",
        "<2026-02-30 Mon>",
        "<2026-13-01>",
        "<2026-1-1>",
        "<2026-11-21Sat>",
        "<2026-11-21 Sat>x",
        "<%%(diary-float t 4 2)>",
        "<2026-11-21\nSat>",
        "[2026-11-21>",
        "<２０２６-11-21>",
        "<é026-11-21>",
    ] {
        assert_eq!(Timestamp::parse(text), None, "{text}");
    }
}

#[test]
fn repeaters_move_as_in_org() {
    let now = date(2026, 11, 21).at(15, 30, 40, 0);
    let check = |text: &str, moved: &str| {
        let stamp = Timestamp::parse(text).unwrap().repeated(now).unwrap();
        assert_eq!(stamp.to_string(), moved, "{text}");
    };
    check("<2026-11-02 Mon +1w>", "<2026-11-09 Mon +1w>");
    check("<2026-11-02 Mon ++1w>", "<2026-11-23 Mon ++1w>");
    check("<2026-11-21 Sat ++1w>", "<2026-11-28 Sat ++1w>");
    check("<2026-12-24 Thu ++1w>", "<2026-12-31 Thu ++1w>");
    check("<2026-11-21 Sat 15:00 ++1d>", "<2026-11-22 Sun 15:00 ++1d>");
    check("<2026-11-20 Fri 16:00 ++1d>", "<2026-11-21 Sat 16:00 ++1d>");
    check("<2026-11-02 Mon .+3d>", "<2026-11-24 Tue .+3d>");
    check("<2026-11-02 Mon 08:00 .+3d/5d>", "<2026-11-24 Tue 08:00 .+3d/5d>");
    check("<2026-11-02 Mon 08:00 .+2h>", "<2026-11-21 Sat 17:30 .+2h>");
    check("<2026-11-21 Sat 14:00 ++1h>", "<2026-11-21 Sat 16:00 ++1h>");
    check("<2026-11-21 Sat 23:30 +1h>", "<2026-11-22 Sun 00:30 +1h>");
    check("<2026-01-31 Sat +1m>", "<2026-03-03 Tue +1m>");
    check("<2024-02-29 Thu +1y>", "<2025-03-01 Sat +1y>");
    check("<2026-11-02 Mon 10:00-11:30 +1w -2d>", "<2026-11-09 Mon 10:00-11:30 +1w -2d>");
    check("<1026-11-02 Mon ++1d>", "<2026-11-22 Sun ++1d>");
}

#[test]
fn what_does_not_repeat_does_not_move() {
    let now = date(2026, 11, 21).at(0, 0, 0, 0);
    for text in ["<2026-11-21 Sat>", "<2026-11-21 Sat +0d>", "<9999-12-31 Fri +1d>", "<9999-01-01 Fri +9999y>"] {
        assert_eq!(Timestamp::parse(text).unwrap().repeated(now), None, "{text}");
    }
}

#[test]
fn all_timestamps_of_a_text_are_found() {
    let text = "a <2026-11-21 Sat> b [2026-11-22 Sun 9:00]--[2026-11-22 Sun 10:00] c <no> <<2026-11-23 Mon>>";
    let found: Vec<&str> = timestamps(text).into_iter().map(|(range, _)| &text[range]).collect();
    assert_eq!(found, ["<2026-11-21 Sat>", "[2026-11-22 Sun 9:00]--[2026-11-22 Sun 10:00]", "<2026-11-23 Mon>"]);
}

fn moment() -> impl Strategy<Value = DateTime> {
    (1900i16..2100, 1i8..=12, 1i8..=28, 0i8..24, 0i8..60).prop_map(|(y, m, d, h, min)| date(y, m, d).at(h, min, 0, 0))
}

proptest! {
    #[test]
    fn reading_is_total(text in "[<\\[]?[0-9]{0,4}-?[0-9]{0,2}-?[0-9]{0,2} ?[a-zé0-9:+./dwmy -]{0,24}[>\\]]?") {
        if let Some(stamp) = Timestamp::parse(&text) {
            prop_assert_eq!(Timestamp::parse(&stamp.to_string()), Some(stamp));
        }
    }

    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        let _ = Timestamp::parse(&text);
        for (range, _) in timestamps(&text) {
            prop_assert!(text.get(range).is_some());
        }
    }

    #[test]
    fn catching_up_ends_in_the_future_and_not_a_step_later(
        at in moment(), now in moment(), count in 1u16..50, unit in proptest::sample::select(vec!['h', 'd', 'w', 'm', 'y']),
    ) {
        let text = format!("<{} Mon {:02}:{:02} ++{count}{unit}>", at.date(), at.hour(), at.minute());
        let stamp = Timestamp::parse(&text).unwrap();
        let moved = stamp.repeated(now).unwrap();
        prop_assert!(moved.start() > now && moved.start() > stamp.start());
        // One step of a plain repeater from anywhere before would have stopped earlier or at the same place.
        let plain = Timestamp::parse(&text.replace("++", "+")).unwrap().repeated(now).unwrap();
        prop_assert!(plain.start() <= moved.start());
        prop_assert!(plain.start() <= now || plain.start() == moved.start());
    }
}
