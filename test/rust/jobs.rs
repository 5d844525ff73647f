//! Jobs and hooks of headings: what starts them, what they may, what they cost, and what becomes of runs that were missed.

mod found;
mod month;
mod owner;
mod skills;
mod standing;
mod stop;

use crate::support::engine::{Home, origin, status};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use passepartout::domain::gate::plan::PlanStatus;
use passepartout::domain::signal::{Origin, Source};
use passepartout::domain::turn::Ending;
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::jobs::{Listed, Ticked};
use std::path::PathBuf;
use std::sync::Arc;

const PLANTS: &str = "* TODO Plants\nSCHEDULED: <2026-03-02 Mon 08:00 +1d>\n:PROPERTIES:\n:ID: plants\n:PP_RUN: t\n:END:\n\
                      Summarize which plants are dry.\n** Ivy\nIt is dry.\n";

fn says(text: &str) -> Reply {
    Reply::answer(Dialect::OpenAi, &[text], &[])
}

/// Returns the only job.
#[track_caller]
fn job(engine: &Engine) -> Listed {
    let jobs = engine.jobs();
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    jobs.into_iter().next().expect("there is one")
}

/// Confirms a job as the user does, after it was shown.
async fn confirm(home: &Home, engine: &Arc<Engine>, title: &str) {
    let found = engine.jobs().into_iter().find(|job| job.title == title).expect("there is such a job");
    assert_eq!(found.state, "waiting", "{title}");
    let parked = engine.propose_job(&origin(), &found.key).await.expect("it is shown");
    assert_eq!(parked.report.ending, Ending::Parked);
    let plan = engine.plan(&parked.report.plans[0].0).expect("the plan is known");
    // The user is shown all of it.
    assert_eq!(plan.action.text("text"), Some(found.shown.as_str()), "{title}");
    home.approve(engine, &plan).await.expect("the approval counts");
    assert!(matches!(status(engine, &plan), PlanStatus::Done(_)), "{:?}", status(engine, &plan));
    // From here on it is due.
    assert_eq!(engine.tick_jobs().await.ran, 0, "{title}");
}

/// Writes a file of the memex, and has it read.
async fn write(home: &Home, engine: &Arc<Engine>, name: &str, text: &str) {
    std::fs::write(home.file(name), text).expect("it is written");
    let (engine, path) = (engine.clone(), PathBuf::from(home.file(name)));
    tokio::task::spawn_blocking(move || engine.read_changed(&[path])).await.expect("it is read");
}

async fn tick(home: &Home, engine: &Arc<Engine>, hours: i64) -> Ticked {
    home.clock.advance(hours);
    engine.tick_jobs().await
}

/// Does something while a server thinks, on whose thread nothing can be waited for.
fn elsewhere<F: Future<Output = ()> + Send + 'static>(handle: &tokio::runtime::Handle, act: F) {
    let handle = handle.clone();
    std::thread::spawn(move || handle.block_on(act)).join().expect("it is done");
}

/// Looks as often as a hook needs to see that all is at rest, behind its pause; returns how many jobs ran.
async fn settled(home: &Home, engine: &Arc<Engine>) -> usize {
    home.clock.advance_seconds(61);
    let first = engine.tick_jobs().await.ran;
    home.clock.advance_seconds(3);
    first + engine.tick_jobs().await.ran
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_starts_after_it_was_confirmed_as_it_stands_and_by_nothing_else() {
    let home = Home::new(&[("plants.org", PLANTS)]);
    let server = FakeServer::start([says("The ivy is dry."), says("Still dry.")]);
    let engine = home.served(&server, &["fake"], true).await;
    assert_eq!(job(&engine).state, "waiting");
    assert_eq!(tick(&home, &engine, 24).await, Ticked::default(), "what a file says starts nothing");
    // Nobody but the user's Emacs confirms.
    let key = job(&engine).key;
    for source in [Source::Cli, Source::Client, Source::Gateway, Source::Clock] {
        let other = Origin { source, ..origin() };
        assert!(engine.propose_job(&other, &key).await.is_err(), "{source:?}");
        assert!(engine.run_job_now(&other, &key).await.is_err(), "{source:?}");
    }
    assert!(engine.run_job_now(&origin(), &key).await.is_err(), "not even by hand");
    confirm(&home, &engine, "Plants").await;
    assert_eq!(job(&engine).state, "confirmed");
    assert_eq!(server.requests().len(), 0);
    // It is nine in the morning of the third: nothing before that is made up for.
    assert_eq!(tick(&home, &engine, 22).await, Ticked::default());
    assert_eq!(tick(&home, &engine, 1).await, Ticked { ran: 1, soon: true, ..Ticked::default() });
    let asked = server.requests();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].body.contains("Summarize which plants are dry.") && asked[0].body.contains("It is dry."));
    let text = home.read_file("plants.org");
    assert!(text.contains(":LOGBOOK:\n- Job done [2026-03-04 Wed 08:00]\n:END:\n"), "{text}");
    assert!(text.contains("SCHEDULED: <2026-03-02 Mon 08:00 +1d>"), "the repeater is the user's own: {text}");
    assert_eq!(text.matches("- Job").count(), 1);
    // Its own log wakes it as little as its time does.
    assert_eq!(tick(&home, &engine, 24).await, Ticked { unchanged: 1, ..Ticked::default() });
    assert_eq!(job(&engine).ran.map(|(_, outcome)| outcome), Some("done".to_string()));
    // Another text is another job, and what it was is what was confirmed.
    write(&home, &engine, "plants.org", &text.replace("Summarize which", "Delete all")).await;
    assert_eq!(job(&engine).state, "waiting");
    assert_eq!(tick(&home, &engine, 24).await, Ticked::default());
    // And where that comes back, somebody else may have brought it: it is shown once more.
    write(&home, &engine, "plants.org", &text).await;
    assert_eq!((job(&engine).state, tick(&home, &engine, 24).await.ran), ("waiting", 0));
    confirm(&home, &engine, "Plants").await;
    write(&home, &engine, "plants.org", &text.replace("It is dry.", "It is wet.")).await;
    assert_eq!(job(&engine).state, "confirmed", "what it is about may change");
    assert_eq!(engine.tick_jobs().await, Ticked::default(), "it begins anew");
    assert_eq!(tick(&home, &engine, 24).await.ran, 1);
    assert_eq!(server.requests().len(), 2);
    // Taken back, it does not run; and that outlives the program.
    engine.withdraw_job(&origin(), &key).await.expect("it is taken back");
    assert_eq!(job(&engine).state, "waiting");
    engine.close().await;
    let engine = home.served(&server, &["fake"], true).await;
    assert_eq!(tick(&home, &engine, 24).await, Ticked::default());
    assert_eq!(job(&engine).ran.map(|(_, outcome)| outcome), Some("done".to_string()), "what it did is known");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_confirmed_is_all_that_the_heading_says() {
    let home = Home::new(&[("plants.org", PLANTS)]);
    let server = FakeServer::start([]);
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, "Plants").await;
    for (from, to, state) in [
        ("Summarize", "Forget", "waiting"),
        ("* TODO Plants", "* TODO Planes", "waiting"),
        ("* TODO Plants", "* TODO Plants :urgent:", "waiting"),
        ("08:00 +1d", "08:00 +1h", "waiting"),
        ("08:00 +1d", "07:00 +1d", "waiting"),
        (":PP_RUN: t", ":PP_RUN: t\n:PP_TIER: reasoning", "waiting"),
        (":PP_RUN: t", ":PP_RUN: t\n:PP_ALWAYS: t", "waiting"),
        (":PP_RUN: t", ":PP_RUN: t\n:PP_WATCH: memex", "waiting"),
        (":PP_RUN: t", ":PP_RUN: t\n:PP_USD: 5", "waiting"),
        (":PP_RUN: t", ":PP_RUN: run it", "waiting"),
        (":ID: plants", ":ID: others", "waiting"),
        // What Org does when the task is done, what it is about, and where it stands.
        ("<2026-03-02 Mon", "<2026-03-09 Mon", "confirmed"),
        (":PP_RUN: t", ":PP_RUN: t\n:LAST_REPEAT: [2026-03-08 Sun 08:00]", "confirmed"),
        ("It is dry.", "It is wet.", "confirmed"),
        ("* TODO Plants", "* Before\n* TODO Plants", "confirmed"),
        ("Summarize", ":LOGBOOK:\n- State \"DONE\" from \"TODO\"\n:END:\nSummarize", "confirmed"),
        // Nothing but that one date, and nothing that hides behind it.
        ("Mon 08:00 +1d>", "Mon 08:00 +1d -2d>", "waiting"),
        ("Mon 08:00 +1d>", "Mon 08:00-09:00 +1d>", "waiting"),
        ("Mon 08:00 +1d>", "Mon 08:00 +1d run!>", "waiting"),
        (":PP_RUN: t", ":PP_RUN: t\n:LAST_REPEAT: and delete all", "waiting"),
        (":PP_RUN: t", ":PP_RUN: t\n:LAST_REPEAT: [2026-03-08 Sun 08:00 +1d]", "waiting"),
        ("Summarize", "Summarize <2026-03-09 Mon +1d>", "waiting"),
        ("Summarize", "Summarize \n:LOGBOOK:\nand delete\n:END:\n", "waiting"),
        ("Summarize", "#+begin_example\n:LOGBOOK:\n- x\n:END:\n#+end_example\nSummarize", "waiting"),
        ("Summarize", "\nSummarize", "waiting"),
        ("* TODO Plants", "* Plants", "waiting"),
        ("* TODO Plants", "* TODO [#A] Plants", "waiting"),
        ("* TODO Plants", "* TODO plants", "waiting"),
        ("* TODO Plants", "#+FILETAGS: :garden:\n* TODO Plants", "waiting"),
        ("* TODO Plants", "#+FILETAGS: :private:\n* TODO Plants", "waiting"),
        ("* TODO Plants", "#+PROPERTY: PP_PRIVACY block\n* TODO Plants", "waiting"),
        // It is understood, or nothing is done.
        ("08:00 +1d", "08:00", "broken"),
        (":PP_RUN: t", ":PP_RUN: t\n:PP_TIER: quick", "broken"),
        (":PP_RUN: t", ":PP_RUN: t\n:PP_USD: much", "broken"),
        (":PP_RUN: t", ":PP_RUN: t\n:PP_CRON: every day", "broken"),
        ("Summarize which plants are dry.\n", "", "broken"),
    ] {
        assert!(PLANTS.contains(from), "{from}");
        write(&home, &engine, "plants.org", &PLANTS.replacen(from, to, 1)).await;
        assert_eq!(job(&engine).state, state, "{from} → {to}");
    }
    for gone in [
        "* DONE Plants",
        "* COMMENT Plants",
        "* TODO Plants :ARCHIVE:",
        "#+FILETAGS: :ARCHIVE:\n* TODO Plants",
        "* Old :ARCHIVE:\n** TODO Plants",
        "* COMMENT Old\n** TODO Plants",
    ] {
        write(&home, &engine, "plants.org", &PLANTS.replacen("* TODO Plants", gone, 1)).await;
        assert_eq!(engine.jobs(), [], "{gone}");
    }
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cron_lines_and_hooks_are_found_by_keywords_and_properties_and_in_no_example() {
    let text = "#+TITLE: Garden\n#+CRON: 0 8 * * *\nList what is to be done.\n\
                * Cron\n#+CRON: 30 7 * * 1-5\nFind weeds.\n* Hook\n#+HOOK: t\nCount the beds.\n\
                * Both\n#+HOOK:\n#+CRON: 0 8 * * *\nx\n\
                * Example\n#+begin_example\n#+CRON: 0 8 * * *\n#+end_example\nNothing.\n\
                * Off\n:PROPERTIES:\n:PP_HOOK: nil\n:END:\n* Order\n:PROPERTIES:\n:PP_HOOK: what is due today?\n:END:\n";
    let home = Home::new(&[("garden.org", text)]);
    let engine = home.engine().await;
    home.read(&engine).await;
    let all = engine.jobs();
    let told: Vec<_> = all.iter().map(|job| (job.title.as_str(), job.state, job.rhythm.as_str(), job.tier)).collect();
    assert_eq!(
        told,
        [
            ("Garden", "waiting", "cron 0 8 * * *", "cognition"),
            ("Cron", "waiting", "cron 30 7 * * 1-5", "cognition"),
            ("Hook", "waiting", "on change", "cognition"),
            ("Both", "broken", "", ""),
            ("Order", "waiting", "on change", "reflex"),
        ]
    );
    engine.close().await;
    // After a start no text has been read, and the same is known.
    let engine = home.engine().await;
    assert_eq!(engine.jobs(), all);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_fires_once_at_rest_and_not_for_what_it_does_itself() {
    let text = "* Inbox\n:PROPERTIES:\n:ID: inbox\n:PP_HOOK: count the entries\n:END:\n** One\n";
    let home = Home::new(&[("inbox.org", text)]);
    let act = Reply::answer(
        Dialect::OpenAi,
        &[],
        &[(
            "c1",
            "org-add-heading",
            serde_json::json!({"title": "Seen", "parent": "inbox", "explanation": "I note which entries I have counted."}),
        )],
    );
    let server = FakeServer::start([says("One."), act, says("Added.")]);
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, "Inbox").await;
    assert_eq!(tick(&home, &engine, 24).await.ran, 0, "what stood there is no change");
    write(&home, &engine, "inbox.org", &format!("{text}** Two\n")).await;
    assert_eq!(engine.tick_jobs().await, Ticked { soon: true, ..Ticked::default() }, "it is not at rest");
    home.clock.advance_seconds(3);
    assert_eq!(engine.tick_jobs().await.ran, 1);
    home.clock.advance_seconds(120);
    assert_eq!(engine.tick_jobs().await, Ticked::default(), "its log is no change");
    let now = home.read_file("inbox.org");
    write(&home, &engine, "inbox.org", &format!("{now}** Three\n")).await;
    assert_eq!(settled(&home, &engine).await, 1);
    // What nobody looks on while it is done waits; and it is the hook's own all the same.
    home.approve(&engine, &crate::support::engine::waiting(&engine)).await.expect("the user approves it");
    assert!(home.read_file("inbox.org").contains("** Seen"), "{}", home.read_file("inbox.org"));
    for _ in 0..3 {
        home.clock.advance_seconds(60);
        assert_eq!(engine.tick_jobs().await.ran, 0, "what it changed itself is no change");
    }
    assert_eq!(server.requests().len(), 3);
    engine.close().await;
}

/// A light run has a short prompt, however much memory there is; a full one has all the room.
#[tokio::test(flavor = "multi_thread")]
async fn a_light_run_is_asked_in_a_short_prompt() {
    let many: String =
        (0..3000).map(|n| format!("* Note {n} of the garden and of what grows there\nWords.\n")).collect();
    for (tier, light) in [("cognition", true), ("reasoning", false)] {
        let text = PLANTS.replace(":PP_RUN: t", &format!(":PP_RUN: t\n:PP_TIER: {tier}"));
        let home = Home::new(&[("plants.org", &text), ("many.org", &many)]);
        let server = FakeServer::start([says("Dry.")]);
        let engine = home.served(&server, &["fake"], true).await;
        confirm(&home, &engine, "Plants").await;
        let finished = engine.run_job_now(&origin(), &job(&engine).key).await.expect("the user may");
        let taken = finished.report.taken.expect("a model was asked");
        assert_eq!(taken.most <= 8_000, light, "{tier}: {taken:?}");
        assert!(taken.used > 0 && taken.used <= taken.most, "{tier}: {taken:?}");
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_were_missed_are_listed_once_and_not_made_up_for() {
    let home = Home::new(&[("plants.org", PLANTS)]);
    let server = FakeServer::start([says("Dry."), says("Dry.")]);
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, "Plants").await;
    // A week asleep: it is noon when the lid is opened.
    assert_eq!(tick(&home, &engine, 7 * 24 + 3).await, Ticked { missed: 7, ..Ticked::default() });
    let missed = |engine: &Engine| job(engine).missed.map(|(missed, last)| (missed, last.to_string()));
    assert_eq!(missed(&engine), Some((7, "2026-03-09T08:00:00Z".to_string())));
    assert_eq!(engine.tick_jobs().await, Ticked::default(), "once");
    assert_eq!(server.requests().len(), 0);
    let said =
        |engine: &Engine| engine.log_lines(100).iter().filter(|line| line.text.contains("missed 7 runs")).count();
    assert_eq!(said(&engine), 1);
    // The clock goes back an hour, and on: nothing runs twice, and what is due runs.
    home.clock.advance(-1);
    assert_eq!(engine.tick_jobs().await, Ticked::default());
    assert_eq!(tick(&home, &engine, 21).await.ran, 1);
    home.clock.advance(-2);
    assert_eq!(engine.tick_jobs().await, Ticked::default());
    // Eight comes twice, as the clock was wrong the first time; nothing has changed since.
    assert_eq!(tick(&home, &engine, 2).await, Ticked { unchanged: 1, ..Ticked::default() });
    // It is still listed, after another start as well, until the user runs it or lets it rest.
    engine.close().await;
    let engine = home.served(&server, &["fake"], true).await;
    assert_eq!(missed(&engine).map(|(missed, _)| missed), Some(7));
    engine.run_job_now(&origin(), &job(&engine).key).await.expect("the user may");
    assert_eq!((missed(&engine), server.requests().len()), (None, 2));
    // A clock that was years ahead keeps nothing from running afterwards.
    home.clock.advance(24 * 365 * 30);
    assert_eq!(engine.tick_jobs().await.ran, 0);
    home.clock.advance(-24 * 365 * 30);
    assert_eq!(engine.tick_jobs().await.ran, 0);
    write(&home, &engine, "plants.org", &home.read_file("plants.org").replace("It is dry.", "It is wet.")).await;
    server.push(says("Wet."));
    assert_eq!(tick(&home, &engine, 24).await.ran, 1);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_needs_a_yes_leaves_a_plan_and_may_do_no_more_than_its_heading() {
    let text = PLANTS.replace(":PP_RUN: t", ":PP_RUN: t\n:PP_DENY: org-add-heading\n:PP_ALWAYS: t");
    let home = Home::new(&[("plants.org", &text)]);
    let call = |tool: &str, args: serde_json::Value| Reply::answer(Dialect::OpenAi, &[], &[("c1", tool, args)]);
    let todo = serde_json::json!({"id": "plants", "state": "DONE", "explanation": "All of the plants are wet now."});
    let add =
        serde_json::json!({"title": "New", "parent": "plants", "explanation": "I note which plants are dry now."});
    let server =
        FakeServer::start([call("org-set-todo", todo), says("Done."), call("org-add-heading", add), says("I see.")]);
    let engine = home.served(&server, &["fake"], true).await;
    confirm(&home, &engine, "Plants").await;
    assert_eq!(tick(&home, &engine, 23).await.ran, 1);
    assert_eq!(job(&engine).ran.map(|(_, outcome)| outcome), Some("waits".to_string()));
    let plans = engine.plans(false);
    assert_eq!(plans.len(), 1, "{plans:?}");
    assert!(home.read_file("plants.org").contains("* TODO Plants"), "nothing was done");
    // The job itself cannot approve: its own conversation has no such right.
    let clock = Origin {
        source: Source::Clock,
        session: plans[0].session.clone(),
        rights: passepartout::domain::signal::Rights { approve: false, ..origin().rights },
    };
    let decided = passepartout::edge::engine::turns::Decided::Approve { shown: plans[0].shown() };
    assert!(engine.decide(&clock, &plans[0].id.0, decided, engine.new_turn(), &mut |_| {}).await.is_err());
    home.deny(&engine, &plans[0], "not yet").await.expect("the user decides");
    let finished = engine.run_job_now(&origin(), &job(&engine).key).await.expect("the user may");
    let refused = finished.report.deeds.iter().find(|deed| deed.tool == "org-add-heading").expect("it was proposed");
    assert!(refused.outcome.starts_with("refused"), "{refused:?}");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heading_from_elsewhere_is_no_job_before_the_user_vouches_for_it() {
    let text = PLANTS.replace(":ID: plants", ":ID: plants\n:SOURCE_URL: https://example.org/garden");
    let home = Home::new(&[("plants.org", &text)]);
    let engine = home.engine().await;
    home.read(&engine).await;
    let found = job(&engine);
    assert_eq!(found.state, "outside");
    assert!(engine.propose_job(&origin(), &found.key).await.is_err());
    engine.endorse(&origin(), "plants").await.expect("the user may");
    assert_eq!(job(&engine).state, "waiting");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_stops_at_what_its_heading_lets_it_cost_behind_a_yes_too() {
    let looks = || {
        let args = serde_json::json!({"query": "ivy", "explanation": "I look which plants there are."});
        Reply::answer(Dialect::OpenAi, &[], &[("c1", "memory-search", args)])
    };
    let adds = || {
        let args = serde_json::json!({"title": "Seen", "parent": "plants", "explanation": "I note what I have seen."});
        Reply::answer(Dialect::OpenAi, &[], &[("c1", "org-add-heading", args)])
    };
    // A call is expected to cost some seven cents, and the first one comes to nine.
    let dear = |reply: Reply| reply.counting(|_| 30_000);
    for (cap, plans, answered) in [("0.10", false, false), ("2", false, true), ("0.10", true, false), ("2", true, true)]
    {
        let text = PLANTS.replace(":PP_RUN: t", &format!(":PP_RUN: t\n:PP_USD: {cap}"));
        let home = Home::new(&[("plants.org", &text)]);
        let folder = home.config().settings;
        std::fs::create_dir_all(&folder).expect("the settings' folder");
        let prices = "| provider | model | from | in | cached | out |\n| fake | m | 2026-01-01 | 3 | 0.30 | 15 |\n";
        std::fs::write(folder.join("prices.org"), prices).expect("it is written");
        let server = FakeServer::start([dear(if plans { adds() } else { looks() }), says("It is dry.")]);
        let engine = home.served(&server, &["fake"], false).await;
        engine.confirm_provider("fake", &format!("{}/v1/", server.url())).await.expect("it is stored");
        confirm(&home, &engine, "Plants").await;
        let finished = engine.run_job_now(&origin(), &job(&engine).key).await.expect("the user may");
        let finished = match plans {
            false => finished,
            true => {
                assert_eq!((finished.report.ending, server.requests().len()), (Ending::Parked, 1), "{cap}");
                let waiting = crate::support::engine::waiting(&engine);
                home.approve(&engine, &waiting).await.expect("the user approves it")
            }
        };
        let said = finished.report.notice.clone().unwrap_or_default();
        let calls = engine.calls(10).await.expect("the ledger is read").len();
        if answered {
            assert_eq!((finished.report.ending, calls), (Ending::Answered, 2), "{cap} {plans}: {said}");
        } else {
            assert_eq!((finished.report.ending, calls), (Ending::Failed, 1), "{cap} {plans}: {said}");
            assert!(said.contains("the cap of this conversation is $0.10"), "{cap} {plans}: {said}");
            assert_eq!(server.requests().len(), 1, "{cap} {plans}");
        }
        engine.close().await;
    }
}
