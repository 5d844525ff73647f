//! What becomes of runs: that wait for another, fail, are broken off, or meet the user's own edits; clocks that were wrong;
//! and how little is done to learn that nothing changed.

use super::{PLANTS, confirm, elsewhere, job, says, settled, tick, write};
use crate::support::engine::{Home, origin};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use passepartout::domain::turn::Ending;
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::jobs::{Listed, Ticked};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const INBOX: &str = "* Inbox\n:PROPERTIES:\n:ID: inbox\n:PP_HOOK: count the entries\n:END:\n** One\n";

fn cron(title: &str, line: &str) -> String {
    format!("* {title}\n:PROPERTIES:\n:PP_RUN: summarize {title}\n:PP_CRON: {line}\n:PP_ALWAYS: t\n:END:\n")
}

#[track_caller]
fn named(engine: &Engine, title: &str) -> Listed {
    engine.jobs().into_iter().find(|job| job.title == title).expect("there is such a job")
}

fn outcome(engine: &Engine, title: &str) -> Option<String> {
    named(engine, title).ran.map(|(_, outcome)| outcome)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_due_while_another_runs_is_done_behind_it() {
    let text = cron("Long", "0 8 * * *") + &cron("Short", "5 8 * * *");
    let home = Arc::new(Home::new(&[("jobs.org", text.as_str())]));
    let server = FakeServer::start([]);
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, "Long").await;
    confirm(&home, &engine, "Short").await;
    let clock = home.clone();
    // Nine beats, and five would be too late.
    server.push(says("At last.").meanwhile(move || clock.clock.advance_seconds(540)));
    server.push(says("Short."));
    assert_eq!(tick(&home, &engine, 23).await, Ticked { ran: 1, soon: true, ..Ticked::default() });
    assert_eq!(engine.tick_jobs().await, Ticked { ran: 1, soon: true, ..Ticked::default() }, "it only waited");
    assert_eq!(named(&engine, "Short").missed, None);
    // What is due while it runs by hand is done as well.
    let clock = home.clone();
    server.push(says("By hand.").meanwhile(move || clock.clock.advance(24)));
    engine.run_job_now(&origin(), &named(&engine, "Short").key).await.expect("the user may");
    server.push(says("Long."));
    server.push(says("Short."));
    let ticked = engine.tick_jobs().await;
    assert_eq!(ticked.ran + ticked.missed, 2, "done or listed, and never lost: {ticked:?}");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_two_runs_go_on_at_once() {
    let text = cron("One", "0 8 * * *") + &cron("Two", "0 9 * * *");
    let home = Home::new(&[("jobs.org", text.as_str())]);
    let server = FakeServer::start([]);
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, "One").await;
    confirm(&home, &engine, "Two").await;
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    for _ in 0..4 {
        let (now, most, engine) = (now.clone(), most.clone(), engine.clone());
        server.push(says("So.").meanwhile(move || {
            let running = engine.jobs().iter().filter(|job| job.state == "running").count();
            most.fetch_max(running.max(now.fetch_add(1, Ordering::SeqCst) + 1), Ordering::SeqCst);
            now.fetch_sub(1, Ordering::SeqCst);
        }));
    }
    let keys = [named(&engine, "One").key, named(&engine, "Two").key];
    let me = origin();
    let (one, two) = tokio::join!(engine.run_job_now(&me, &keys[0]), engine.run_job_now(&me, &keys[1]));
    assert!(one.is_ok() && two.is_ok());
    assert_eq!((server.requests().len(), most.load(Ordering::SeqCst)), (2, 1));
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_gives_way_to_the_user_runs_later_and_not_when_it_was_taken_back() {
    for withdrawn in [false, true] {
        let home = Arc::new(Home::new(&[("plants.org", PLANTS)]));
        let server = FakeServer::start([]);
        let engine = home.served(&server, &["fake"], true).await;
        confirm(&home, &engine, "Plants").await;
        home.clock.advance(23);
        let (handle, other, looked) =
            (tokio::runtime::Handle::current(), engine.clone(), Arc::new(AtomicUsize::new(0)));
        let postponed = looked.clone();
        server.push(says("Hello.").meanwhile(move || {
            let (engine, looks) = (other.clone(), postponed.clone());
            elsewhere(&handle, async move {
                let ticked = engine.tick_jobs().await;
                looks.fetch_add(ticked.postponed + 10 * ticked.ran, Ordering::SeqCst);
            });
        }));
        home.ask(&engine, "Hello?").await;
        assert_eq!(looked.load(Ordering::SeqCst), 1, "the user goes first");
        if withdrawn {
            engine.withdraw_job(&origin(), &job(&engine).key).await.expect("it is taken back");
            confirm(&home, &engine, "Plants").await;
        }
        server.push(says("Dry."));
        assert_eq!(engine.tick_jobs().await.ran, usize::from(!withdrawn));
        assert_eq!(server.requests().len(), 1 + usize::from(!withdrawn));
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_has_seen_nothing_and_is_tried_again_a_few_times() {
    for (text, due) in [(PLANTS.to_string(), true), (PLANTS.replace("+1d", ".+1d"), true), (INBOX.to_string(), false)] {
        let home = Home::new(&[("jobs.org", text.as_str())]);
        // With no replies the server fails.
        let server = FakeServer::start([]);
        let engine = home.engine_with(|config| {
            crate::support::engine::provide(config, &[("fake", &server, true)], &["fake"]);
        });
        let engine = engine.await;
        home.read(&engine).await;
        let title = job(&engine).title;
        if text.contains(".+1d") {
            // What counts from its last run is due at once.
            let parked = engine.propose_job(&origin(), &job(&engine).key).await.expect("it is shown");
            let plan = engine.plan(&parked.report.plans[0].0).expect("it waits");
            home.approve(&engine, &plan).await.expect("the approval counts");
        } else {
            confirm(&home, &engine, &title).await;
        }
        if !due {
            write(&home, &engine, "jobs.org", &format!("{text}** Two\n")).await;
            engine.tick_jobs().await;
        }
        let mut tries = Vec::new();
        // The first is due next day; the second counts from its last run, and would be due again then.
        let minutes = if text.contains(" +1d") { 1_800 } else { 1_000 };
        for minute in 0..minutes {
            if engine.tick_jobs().await.ran > 0 {
                tries.push(minute);
            }
            home.clock.advance_seconds(60);
        }
        let gaps: Vec<i64> = tries.windows(2).map(|pair| pair[1] - pair[0]).take(3).collect();
        assert_eq!(gaps, [5, 20, 80], "{text} {tries:?}");
        assert_eq!(tries.len(), 4, "then it is given up: {tries:?}");
        assert_eq!(outcome(&engine, &title).as_deref(), Some("failed"));
        assert!(job(&engine).why.is_some_and(|why| why.contains("failed 4 times")), "{:?}", job(&engine));
        // The change is still news, and it is made up for when it is due or something else changes.
        server.push(says("At last."));
        let ran = match due {
            true => tick(&home, &engine, if minutes == 1_800 { 17 } else { 24 }).await.ran,
            false => {
                write(&home, &engine, "jobs.org", &home.read_file("jobs.org").replace("** Two", "** Three")).await;
                settled(&home, &engine).await
            }
        };
        assert_eq!((ran, outcome(&engine, &title).as_deref()), (1, Some("done")), "{text}");
        assert_eq!(job(&engine).why, None);
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_user_writes_meanwhile_is_news_and_what_the_job_writes_is_not() {
    let add = |title: &str| {
        let args = serde_json::json!({"title": title, "parent": "inbox", "explanation": "I note what I have counted."});
        Reply::answer(Dialect::OpenAi, &[], &[("c1", "org-add-heading", args)])
    };
    for meanwhile in [false, true] {
        for watch in ["here", "memex", "inbox.org"] {
            let text = INBOX.replace(":PP_HOOK:", &format!(":PP_WATCH: {watch}\n:PP_HOOK:"));
            let home = Arc::new(Home::new(&[("inbox.org", text.as_str())]));
            let server = FakeServer::start([]);
            let engine = home.served(&server, &["fake"], true).await;
            confirm(&home, &engine, "Inbox").await;
            write(&home, &engine, "inbox.org", &format!("{text}** Two\n")).await;
            server.push(add("Seen"));
            assert_eq!(settled(&home, &engine).await, 1, "{watch}");
            let (handle, world) = (tokio::runtime::Handle::current(), (home.clone(), engine.clone()));
            server.push(says("Noted.").meanwhile(move || {
                let (home, engine) = world.clone();
                if meanwhile {
                    let now = home.read_file("inbox.org");
                    elsewhere(&handle, async move {
                        write(&home, &engine, "inbox.org", &format!("{now}** Of the user\n")).await;
                    });
                }
            }));
            let plan = crate::support::engine::waiting(&engine);
            home.approve(&engine, &plan).await.expect("the user approves it");
            let now = home.read_file("inbox.org");
            assert!(now.contains("** Seen") && now.contains("** Of the user") == meanwhile, "{now}");
            server.push(says("One more."));
            assert_eq!(settled(&home, &engine).await, usize::from(meanwhile), "{watch}");
            assert_eq!(settled(&home, &engine).await, 0, "{watch}: once");
            engine.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_broken_off_is_known_and_not_made_up_for_blindly() {
    let home = Arc::new(Home::new(&[("plants.org", PLANTS)]));
    let server = FakeServer::start([Reply::nothing()]);
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, "Plants").await;
    home.clock.advance(23);
    {
        let run = engine.tick_jobs();
        tokio::pin!(run);
        while server.requests().is_empty() {
            let pause = tokio::time::timeout(std::time::Duration::from_millis(5), &mut run).await;
            assert!(pause.is_err(), "it goes on");
        }
        assert_eq!(job(&engine).state, "running");
    }
    engine.close().await;
    let engine = home.served(&server, &["fake"], true).await;
    assert_eq!(outcome(&engine, "Plants").as_deref(), Some("broken off"));
    assert_eq!((engine.tick_jobs().await, job(&engine).state), (Ticked::default(), "confirmed"));
    server.push(says("Dry."));
    assert_eq!(tick(&home, &engine, 24).await.ran, 1, "what changed is still news");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_was_ahead_keeps_nothing_from_running() {
    for hours in [1, 20, 24 * 365 * 10] {
        for kind in ["+1d", ".+1d"] {
            let text = PLANTS.replace("+1d", kind).replace(":PP_RUN: t", ":PP_RUN: t\n:PP_ALWAYS: t");
            let home = Home::new(&[("plants.org", text.as_str())]);
            let server = FakeServer::start([]);
            let engine = home.served(&server, &["fake"], true).await;
            let parked = engine.propose_job(&origin(), &job(&engine).key).await.expect("it is shown");
            let plan = engine.plan(&parked.report.plans[0].0).expect("it waits");
            home.approve(&engine, &plan).await.expect("the approval counts");
            server.push(says("Dry."));
            engine.tick_jobs().await;
            home.clock.advance(hours);
            server.push(says("Dry."));
            engine.run_job_now(&origin(), &job(&engine).key).await.expect("the user may");
            engine.tick_jobs().await;
            // The program ends and begins again with the right clock.
            engine.close().await;
            home.clock.advance(-hours);
            let engine = home.served(&server, &["fake"], true).await;
            (0..4).for_each(|_| server.push(says("Dry.")));
            engine.tick_jobs().await;
            let before = server.requests().len();
            assert_eq!(tick(&home, &engine, 23).await.ran, 1, "{kind} {hours}");
            assert_eq!(server.requests().len(), before + 1, "{kind} {hours}");
            engine.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_runs_so_often_at_most_and_what_writes_all_the_time_starves_none() {
    let home = Home::new(&[("inbox.org", INBOX)]);
    let server = FakeServer::start([]);
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, "Inbox").await;
    let (mut ran, mut first) = (0, None);
    // Something is written every second, for an hour.
    for second in 0..3_400 {
        if second % 2 == 0 {
            write(&home, &engine, "inbox.org", &format!("{INBOX}** {second}\n")).await;
        }
        home.clock.advance_seconds(1);
        if server.connections() == ran {
            server.push(says("Many."));
        }
        let now = engine.tick_jobs().await.ran;
        if now > 0 && first.is_none() {
            first = Some(second);
        }
        ran += now;
    }
    assert!(first.is_some_and(|second| second < 70), "it waits a minute for rest, and no longer: {first:?}");
    assert_eq!(ran, 50, "as often as a day allows");
    assert_eq!(server.requests().len(), 50);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_day_of_a_hook_begins_where_its_user_lives() {
    let home = Home::new(&[("inbox.org", INBOX)]);
    home.clock.live_in("PST8");
    let server = FakeServer::start((0..60).map(|_| says("Many.")));
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, "Inbox").await;
    let mut ran = 0;
    // It is an hour past midnight there.
    for at in 0..51 {
        write(&home, &engine, "inbox.org", &format!("{INBOX}** {at}\n")).await;
        ran += settled(&home, &engine).await;
    }
    assert_eq!(ran, 50, "as often as a day allows");
    home.clock.advance(15);
    assert_eq!(settled(&home, &engine).await, 0, "the day is over in Greenwich, and not there");
    home.clock.advance(8);
    assert_eq!(settled(&home, &engine).await, 1, "now it is");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn to_learn_that_nothing_changed_nothing_is_read() {
    let memex = cron("All", "* * * * *").replace(":PP_ALWAYS: t", ":PP_WATCH: memex");
    let here = cron("Here", "* * * * *").replace(":PP_ALWAYS: t", ":PP_WATCH: here");
    let notes: String = (0..100).map(|at| format!("* Note {at}\n")).collect();
    let others: Vec<(String, &str)> = (0..100).map(|at| (format!("n{at}.org"), notes.as_str())).collect();
    let mut files = vec![("all.org", memex.as_str()), ("here.org", here.as_str())];
    files.extend(others.iter().map(|(name, text)| (name.as_str(), *text)));
    let home = Home::new(&files);
    let server = FakeServer::start([says("So."), says("So."), says("So."), says("So.")]);
    let engine = home.served(&server, &["fake"], true).await;
    assert!(engine.view().headings() > 10_000);
    confirm(&home, &engine, "All").await;
    confirm(&home, &engine, "Here").await;
    home.clock.advance_seconds(60);
    assert_eq!(engine.tick_jobs().await.ran, 2);
    engine.tick_jobs().await;
    let at_first = engine.job_texts_read();
    for _ in 0..100 {
        home.clock.advance_seconds(60);
        assert_eq!(engine.tick_jobs().await, Ticked { unchanged: 2, ..Ticked::default() });
    }
    assert_eq!(engine.job_texts_read() - at_first, 0, "a hundred beats, 10,000 headings, nothing changed");
    write(&home, &engine, "n7.org", "* Changed\n").await;
    home.clock.advance_seconds(60);
    assert_eq!(engine.tick_jobs().await, Ticked { ran: 1, unchanged: 1, soon: true, ..Ticked::default() });
    let read = engine.job_texts_read() - at_first;
    println!("one change among 102 files with 10,002 headings: {read} texts looked at");
    assert!(read <= 4, "{read}");
    assert_eq!(server.requests().len(), 3);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn times_are_those_of_the_users_own_clock() {
    for (zone, hours) in [("UTC0", 23), ("CET-1CEST,M3.5.0,M10.5.0/3", 22), ("EST5EDT,M3.2.0,M11.1.0", 4)] {
        let home = Home::new(&[("plants.org", PLANTS)]);
        home.clock.live_in(zone);
        let server = FakeServer::start([says("Dry.")]);
        let engine = home.served(&server, &["fake"], true).await;
        confirm(&home, &engine, "Plants").await;
        assert_eq!(tick(&home, &engine, hours - 1).await, Ticked::default(), "{zone}");
        assert_eq!(tick(&home, &engine, 1).await.ran, 1, "{zone}");
        let finished = engine.turns(1).await.expect("they are read");
        assert!(finished.iter().all(|turn| turn.report.ending == Ending::Answered));
        assert!(home.read_file("plants.org").contains("Job done [2026-03-0"), "{zone}");
        engine.close().await;
    }
}

/// A reply that proposes a heading below `shed`.
fn adds() -> Reply {
    let args = serde_json::json!({"title": "New", "parent": "shed", "explanation": "I note which plants are dry now."});
    Reply::answer(Dialect::OpenAi, &[], &[("c1", "org-add-heading", args)])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_ended_the_program_is_tried_again_after_longer_and_longer_whiles() {
    for (file, text) in [("plants.org", PLANTS.replace("+1d", ".+1d")), ("inbox.org", INBOX.to_string())] {
        let home = Arc::new(Home::new(&[(file, text.as_str())]));
        let server = FakeServer::start([]);
        let engine = home.served(&server, &["fake"], true).await;
        let parked = engine.propose_job(&origin(), &job(&engine).key).await.expect("it is shown");
        let plan = engine.plan(&parked.report.plans[0].0).expect("it waits");
        home.approve(&engine, &plan).await.expect("the approval counts");
        let hook = file == "inbox.org";
        if hook {
            engine.tick_jobs().await;
            write(&home, &engine, file, &format!("{text}** Two\n")).await;
            engine.tick_jobs().await;
            home.clock.advance_seconds(61);
        }
        let mut engine = engine;
        for minutes in [5, 20, 80] {
            server.push(Reply::nothing());
            let before = server.requests().len();
            {
                let run = engine.tick_jobs();
                tokio::pin!(run);
                while server.requests().len() == before {
                    let pause = tokio::time::timeout(std::time::Duration::from_millis(5), &mut run).await;
                    assert!(pause.is_err(), "{file}: it goes on");
                }
            }
            engine.close().await;
            engine = home.served(&server, &["fake"], true).await;
            let asked = server.connections();
            for _ in 0..minutes - 1 {
                home.clock.advance_seconds(60);
                assert_eq!(engine.tick_jobs().await.ran, 0, "{file} {minutes}");
            }
            assert_eq!(server.connections(), asked, "{file} {minutes}");
            home.clock.advance_seconds(60);
            if hook {
                // It is at rest, which is seen by looking twice.
                home.clock.advance_seconds(3);
            }
        }
        server.push(says("At last."));
        assert_eq!((engine.tick_jobs().await.ran, job(&engine).why), (1, None), "{file}");
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_says_what_was_decided_and_of_which_run() {
    let text = PLANTS.replace(":PP_RUN: t", ":PP_RUN: t\n:PP_ALWAYS: t");
    let shed = "* Shed\n:PROPERTIES:\n:ID: shed\n:END:\n";
    let home = Home::new(&[("plants.org", text.as_str()), ("shed.org", shed)]);
    let server = FakeServer::start([adds(), says("I see.")]);
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, "Plants").await;
    assert_eq!(tick(&home, &engine, 23).await.ran, 1);
    home.deny(&engine, &crate::support::engine::waiting(&engine), "not yet").await.expect("the user decides");
    assert!(home.read_file("plants.org").contains(":LOGBOOK:\n- Job denied [2026-03-03 Tue 08:00]\n"), "denied");
    assert_eq!(outcome(&engine, "Plants").as_deref(), Some("denied"));
    // One that is decided after another run is told of as what it was.
    for (yes, word) in [(true, "done"), (false, "denied")] {
        server.push(adds());
        assert_eq!(tick(&home, &engine, if yes { 24 } else { 23 }).await.ran, 1, "{word}");
        let old = crate::support::engine::waiting(&engine);
        let began = if yes { "2026-03-04 Wed" } else { "2026-03-05 Thu" };
        server.push(says("All is well."));
        home.clock.advance(1);
        engine.run_job_now(&origin(), &job(&engine).key).await.expect("the user may");
        server.push(says("So be it."));
        match yes {
            true => home.approve(&engine, &old).await.expect("the user decides"),
            false => home.deny(&engine, &old, "no").await.expect("the user decides"),
        };
        let log = home.read_file("plants.org");
        let line = format!(", of the run of [{began} 08:00]\n");
        assert!(
            log.lines().any(|one| one.starts_with(&format!("- Job {word} [")) && format!("{one}\n").ends_with(&line)),
            "{log}"
        );
        assert_eq!(outcome(&engine, "Plants").as_deref(), Some("done"), "how it stands is its newest run: {word}");
    }
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_said_is_kept_for_whoever_may_see_it() {
    for (text, private) in [(PLANTS.to_string(), false), (format!("#+FILETAGS: :private:\n{PLANTS}"), true)] {
        let home = Home::new(&[("plants.org", text.as_str())]);
        let server = FakeServer::start([says("The ivy is dry.")]);
        let engine = home.served(&server, &["fake"], true).await;
        let key = job(&engine).key;
        assert!(engine.job_report(&origin(), &key).await.is_err_and(|why| why.contains("has not run")));
        confirm(&home, &engine, "Plants").await;
        assert_eq!(tick(&home, &engine, 23).await.ran, 1);
        assert_eq!(engine.job_report(&origin(), &key).await.as_deref(), Ok("The ivy is dry."));
        let rights = passepartout::domain::signal::Rights { see_private: false, ..origin().rights };
        let other = passepartout::domain::signal::Origin { rights, ..origin() };
        assert_eq!(engine.job_report(&other, &key).await.is_err(), private);
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_line_in_a_log_is_the_clocks_own() {
    let home = Home::new(&[("plants.org", PLANTS)]);
    let server = FakeServer::start([says("Dry.")]);
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, "Plants").await;
    assert_eq!(tick(&home, &engine, 23).await.ran, 1);
    let turns = engine.turns(10).await.expect("they are read");
    let log = turns.iter().find(|turn| turn.asked == "log of a job").expect("it is kept");
    let trace = format!("{:?}", log.report.deeds);
    // No human typed it, so the archivist judges it as housekeeping.
    assert!(trace.contains("job-log") && !trace.contains("Not proposed by the archivist"), "{trace}");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_known_to_be_due_later_is_looked_at_again_when_the_clock_is_moved() {
    let home = Home::new(&[("plants.org", PLANTS)]);
    home.clock.live_in("UTC0");
    let server = FakeServer::start([says("Dry.")]);
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, "Plants").await;
    assert_eq!(tick(&home, &engine, 1).await, Ticked::default());
    assert_eq!(engine.tick_jobs().await, Ticked::default());
    // A quarter past ten there is eight here.
    home.clock.live_in("XYZ2:15");
    home.clock.advance_seconds(900);
    assert_eq!(engine.tick_jobs().await.ran, 1);
    engine.close().await;
}
