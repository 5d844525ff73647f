//! Runs that the user ends: by stopping them, and by taking back, resting or rewriting their job.

use super::{PLANTS, confirm, elsewhere, job, says, settled, tick, write};
use crate::support::engine::{Home, origin, provide};
use crate::support::fake_server::{FakeServer, Reply};
use passepartout::domain::signal::{Origin, Rights};
use passepartout::edge::engine::Engine;
use std::sync::Arc;

fn said(engine: &Engine, words: &str) -> bool {
    engine.log_lines(200).iter().any(|line| line.text.contains(words))
}

fn outcome(engine: &Engine) -> Option<String> {
    job(engine).ran.map(|(_, outcome)| outcome)
}

/// Has a server that never answers do something once it is asked.
fn never(home: &Arc<Home>, engine: &Arc<Engine>, what: &'static str) -> Reply {
    let (handle, world) = (tokio::runtime::Handle::current(), (home.clone(), engine.clone()));
    Reply::nothing().meanwhile(move || {
        let (home, engine) = world.clone();
        elsewhere(&handle, async move {
            let key = job(&engine).key;
            assert_eq!(job(&engine).state, "running");
            let done = match what {
                "stopped" => engine.stop_job(&origin(), &key),
                "withdrawn" => engine.withdraw_job(&origin(), &key).await,
                "paused" => engine.pause_job(&origin(), &key, true).await,
                _ => {
                    write(&home, &engine, "plants.org", &PLANTS.replace("Summarize", "Delete")).await;
                    Ok(String::new())
                }
            };
            done.expect("it is done");
        });
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_ends_when_its_job_does_not_count_any_more() {
    for (what, logged, words) in [
        ("stopped", true, "was stopped by the user"),
        ("withdrawn", false, "was stopped, as its job does not count any more"),
        ("paused", true, "was stopped, as the user lets its job rest"),
        ("changed", false, "was stopped, as its job says something else by now"),
    ] {
        let home = Arc::new(Home::new(&[("plants.org", PLANTS)]));
        let server = FakeServer::start([]);
        let engine = home.served(&server, &["fake"], true).await;
        confirm(&home, &engine, "Plants").await;
        let key = job(&engine).key;
        assert!(engine.stop_job(&origin(), &key).is_err(), "it does not run");
        server.push(never(&home, &engine, what));
        assert_eq!(tick(&home, &engine, 23).await.ran, 1, "{what}");
        assert_eq!(outcome(&engine).as_deref(), Some("stopped"), "{what}");
        assert!(said(&engine, words), "{what}");
        assert_eq!(home.read_file("plants.org").contains("- Job stopped [2026-03-03 Tue 08:00]"), logged, "{what}");
        let turns = engine.turns(10).await.expect("they are read");
        let run = turns.iter().find(|turn| turn.session.0.starts_with("job-cognition")).expect("it is kept");
        assert_eq!(run.report.notice.as_deref(), Some("Stopped."), "{what}");
        // The user ended it, so it is not tried again by itself.
        for _ in 0..30 {
            home.clock.advance_seconds(300);
            assert_eq!(engine.tick_jobs().await.ran, 0, "{what}");
        }
        assert_eq!(job(&engine).why, None, "{what}");
        if what == "stopped" {
            server.push(says("They are dry."));
            // Eight of the next morning.
            home.clock.advance_seconds(21 * 3600 + 1800);
            assert_eq!(engine.tick_jobs().await.ran, 1, "what changed is still news");
            assert_eq!(outcome(&engine).as_deref(), Some("done"));
        }
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_takes_too_long_is_ended_and_tried_again() {
    let home = Home::new(&[("plants.org", PLANTS)]);
    let server = FakeServer::start([]);
    let engine = home
        .engine_with(|config| {
            provide(config, &[("fake", &server, true)], &["fake"]);
            config.background_timeout = 1;
        })
        .await;
    home.read(&engine).await;
    confirm(&home, &engine, "Plants").await;
    server.push(Reply::nothing());
    assert_eq!(tick(&home, &engine, 23).await.ran, 1);
    assert_eq!(outcome(&engine).as_deref(), Some("overran"));
    assert!(said(&engine, "took too long and was ended: It took too long and was stopped."));
    assert!(home.read_file("plants.org").contains("- Job overran [2026-03-03 Tue 08:00]"));
    server.push(says("They are dry."));
    home.clock.advance_seconds(300);
    assert_eq!(engine.tick_jobs().await.ran, 1, "it saw nothing, so it is news still");
    assert_eq!(outcome(&engine).as_deref(), Some("done"));
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_stopped_comes_again_when_it_would_anyway() {
    // What counts from its last run counts from this one.
    let text = PLANTS.replace("+1d", ".+1d");
    let home = Arc::new(Home::new(&[("plants.org", text.as_str())]));
    let server = FakeServer::start([]);
    let engine = home.served(&server, &["fake"], true).await;
    let parked = engine.propose_job(&origin(), &job(&engine).key).await.expect("it is shown");
    let plan = engine.plan(&parked.report.plans[0].0).expect("it waits");
    home.approve(&engine, &plan).await.expect("the approval counts");
    server.push(never(&home, &engine, "stopped"));
    engine.tick_jobs().await;
    assert_eq!(tick(&home, &engine, 1).await.ran + tick(&home, &engine, 12).await.ran, 0);
    server.push(says("They are dry."));
    assert_eq!((tick(&home, &engine, 12).await.ran, outcome(&engine).as_deref()), (1, Some("done")));
    engine.close().await;
    // A hook waits for the next change.
    let text = "* Plants\n:PROPERTIES:\n:ID: plants\n:PP_HOOK: count the entries\n:END:\n** One\n";
    let home = Arc::new(Home::new(&[("plants.org", text)]));
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, "Plants").await;
    write(&home, &engine, "plants.org", &format!("{text}** Two\n")).await;
    server.push(never(&home, &engine, "stopped"));
    assert_eq!((settled(&home, &engine).await, outcome(&engine).as_deref()), (1, Some("stopped")));
    assert_eq!(settled(&home, &engine).await + settled(&home, &engine).await, 0);
    server.push(says("Three."));
    write(&home, &engine, "plants.org", &home.read_file("plants.org").replace("** Two", "** Two\n** Three")).await;
    assert_eq!((settled(&home, &engine).await, outcome(&engine).as_deref()), (1, Some("done")));
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_rests_is_run_by_hand_and_goes_on() {
    let home = Home::new(&[("plants.org", PLANTS)]);
    let server = FakeServer::start([says("They are dry.")]);
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, "Plants").await;
    let key = job(&engine).key;
    engine.pause_job(&origin(), &key, true).await.expect("it rests");
    engine.run_job_now(&origin(), &key).await.expect("the user may");
    assert_eq!(outcome(&engine).as_deref(), Some("done"));
    let nobody = Origin { rights: Rights { propose: false, ..origin().rights }, ..origin() };
    assert!(engine.stop_job(&nobody, &key).is_err_and(|why| why.contains("may not")));
    engine.close().await;
}
