//! A month of background work, beat by beat of a clock that does not tick.

use super::{confirm, says, write};
use crate::support::engine::{Home, provide};
use crate::support::fake_server::FakeServer;
use passepartout::domain::money::Micros;
use passepartout::domain::money::totals::Grouping;
use passepartout::edge::engine::jobs::Ticked;
use std::collections::{BTreeMap, BTreeSet};

const DAYS: i64 = 30;
/// The beat, in minutes: the usual one.
const BEAT: i64 = 1;

/// What background work may cost in a day: some dozen calls of this size.
const CAP: &str = "0.20";

const JOBS: &str = "\
* Agenda
SCHEDULED: <2026-03-02 Mon 07:00 +1d>
:PROPERTIES:
:ID: agenda
:PP_RUN: what is due today?
:PP_ALWAYS: t
:END:
* Review
:PROPERTIES:
:ID: review
:END:
#+CRON: 0 18 * * 5
* Weekly
:PROPERTIES:
:ID: weekly
:PP_RUN: summarize the inbox
:PP_CRON: 0 18 * * 5
:PP_WATCH: inbox.org
:END:
* Hourly
:PROPERTIES:
:ID: hourly
:PP_RUN: summarize the quiet file
:PP_CRON: 0 * * * *
:PP_WATCH: quiet.org
:END:
* Often
:PROPERTIES:
:ID: often
:PP_RUN: summarize the busy file
:PP_CRON: 30 * * * *
:PP_WATCH: busy.org
:END:
* Sorter
:PROPERTIES:
:ID: sorter
:PP_HOOK: list what is new
:PP_WATCH: inbox.org
:END:
";

#[tokio::test(flavor = "multi_thread")]
async fn a_month_of_background_work_runs_as_due_within_its_budget_and_for_nothing_without_change() {
    let home = Home::new(&[("jobs.org", JOBS), ("inbox.org", "* A\n"), ("quiet.org", "* Q\n"), ("busy.org", "* B\n")]);
    let folder = home.config().settings;
    std::fs::create_dir_all(&folder).expect("the settings' folder");
    let prices = "| provider | model | from | in | cached | out |\n| fake | m | 2026-01-01 | 3 | 0.30 | 15 |\n";
    std::fs::write(folder.join("prices.org"), prices).expect("it is written");
    let server = FakeServer::start([]);
    let mut answers = 0;
    let engine = home
        .engine_with(|config| {
            provide(config, &[("fake", &server, false)], &["fake"]);
            config.caps.background = Micros::parse(CAP);
            assert_eq!(config.heartbeat, BEAT as u64 * 60);
        })
        .await;
    home.read(&engine).await;
    engine.confirm_provider("fake", &format!("{}/v1/", server.url())).await.expect("it is stored");
    for title in ["Agenda", "Weekly", "Hourly", "Often", "Sorter"] {
        confirm(&home, &engine, title).await;
    }
    assert!(engine.jobs().iter().any(|job| job.title == "Review" && job.state == "broken"), "it asks for nothing");
    let mut total = Ticked::default();
    let (mut busy, mut most) = (0, 0u64);
    let mut by_day: BTreeMap<i64, u64> = BTreeMap::new();
    // Asleep from the tenth to the thirteenth day.
    for minute in (BEAT..=DAYS * 1440).step_by(BEAT as usize) {
        home.clock.advance_seconds(BEAT * 60);
        let day = minute / 1440;
        if (10..13).contains(&day) {
            continue;
        }
        // Something is new in the inbox each Wednesday, and something else all of the twentieth day.
        if minute % (7 * 1440) == 2 * 1440 {
            write(&home, &engine, "inbox.org", &format!("* A\n* New {minute}\n")).await;
        }
        if day == 20 && minute % 60 == 0 {
            busy += 1;
            write(&home, &engine, "busy.org", &format!("* B {busy}\n")).await;
        }
        let before = server.connections();
        while answers < before + 8 {
            server.push(says("It is so.").counting(|_| 3_000));
            answers += 1;
        }
        let ticked = engine.tick_jobs().await;
        let asked = (server.connections() - before) as u64;
        total.ran += ticked.ran;
        total.unchanged += ticked.unchanged;
        total.missed += ticked.missed;
        most += asked;
        *by_day.entry(day).or_default() += asked;
    }
    let text = home.read_file("jobs.org");
    let logged = |title: &str, outcome: &str| {
        let entry = text.split("\n* ").find(|entry| entry.trim_start_matches("* ").starts_with(title));
        entry.expect("it is there").matches(&format!("- Job {outcome} [")).count()
    };
    let done = |title: &str| logged(title, "done");
    let (often, kept_back) = (done("Often"), logged("Often", "failed"));
    println!(
        "a month of {} beats: {total:?}; {most} calls of models for {busy} changes of the busy file ({kept_back} runs \
         held back by the cap) and 5 of the inbox",
        DAYS * 1440 / BEAT
    );
    // Each day but the three on which the lid was closed in the morning.
    assert_eq!(done("Agenda"), DAYS as usize - 3);
    // Fridays, but for the one in between; and the two files as they stood at first.
    assert_eq!((done("Weekly"), done("Hourly"), done("Sorter")), (3, 1, 4));
    assert_eq!(total.missed, 4, "they are listed");
    // One run a change, while there is money; what was held back is tried a few times, and done with what came later.
    assert!(often <= 1 + busy && often + kept_back > busy && kept_back > 0, "{often} {kept_back} {busy}");
    let last = engine.jobs().into_iter().find(|job| job.title == "Often").and_then(|job| job.ran);
    assert_eq!(last.map(|(_, outcome)| outcome).as_deref(), Some("done"), "nothing is left undone");
    let jobs = ["Agenda", "Weekly", "Hourly", "Often", "Sorter"];
    let all: usize = jobs.iter().map(|title| done(title) + logged(title, "failed") + logged(title, "waits")).sum();
    assert_eq!((total.ran, text.matches("- Job ").count()), (all, all), "each run once");
    // Two of them ask no model, and without a change nobody does.
    assert_eq!(most as usize, done("Weekly") + done("Hourly") + often);
    let asked: BTreeSet<i64> = by_day.iter().filter(|(_, asked)| **asked > 0).map(|(day, _)| *day).collect();
    assert_eq!(asked, BTreeSet::from([0, 4, 18, 20, 25]));
    let (costs, cap) = (engine.costs(Grouping::Day, None).await.expect("the ledger is read"), Micros::parse(CAP));
    assert_eq!(costs.all.calls, most);
    for (day, sum) in &costs.groups {
        assert!(Some(sum.cost) <= cap, "{day}: {}", sum.cost);
    }
    engine.close().await;
}
