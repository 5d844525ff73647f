//! Money: what is written down of calls, what it comes to, and what a cap keeps from being sent.

use crate::cli::run;
use crate::support::engine::{Home, ask, ask_from, origin, provide, waiting};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use passepartout::domain::id::SessionId;
use passepartout::domain::money::totals::Grouping;
use passepartout::domain::money::{Call, Cost, Micros};
use passepartout::domain::port::Usage;
use passepartout::domain::signal::{Origin, Source};
use passepartout::domain::turn::Ending;
use passepartout::domain::work::Work;
use passepartout::edge::cli::forward::at_owner;
use passepartout::edge::config::{Config, Surroundings};
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::ledger::costs::Overview;
use serde_json::json;
use std::sync::Arc;

const NOTES: &str = "* Kitchen\nThe tiles are blue.\n";
/// Three dollars for a million tokens of a prompt, fifteen of an answer.
const PRICES: &str = "| provider | model | from | in | cached | out |\n| fake | m | 2026-01-01 | 3 | 0.30 | 15 |\n";
/// What the scripted server reports: 11 tokens in, 7 out.
const ANSWER: Micros = Micros(11 * 3 + 7 * 15);

fn says(text: &str) -> Reply {
    Reply::answer(Dialect::OpenAi, &[text], &[])
}

fn set_prices(home: &Home, text: &str) {
    let folder = home.config().settings;
    std::fs::create_dir_all(&folder).expect("the settings' folder");
    std::fs::write(folder.join("prices.org"), text).expect("it is written");
}

async fn calls(engine: &Engine) -> Vec<Call> {
    engine.calls(100).await.expect("the ledger is read")
}

/// Asks a provider elsewhere for the first time, and confirms it.
async fn first(home: &Home, engine: &Arc<Engine>) {
    assert_eq!(home.ask(engine, "what about the tiles?").await.0.report.ending, Ending::Parked);
    let done = home.approve(engine, &waiting(engine)).await.expect("the approval counts");
    assert_eq!(done.report.ending, Ending::Answered, "{:?}", done.report);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_is_written_down_with_its_price_and_outlives_the_program() {
    let home = Home::new(&[("home.org", NOTES)]);
    set_prices(&home, PRICES);
    let failed = Reply::json(500, &json!({"error": {"message": "no luck"}}));
    let server = FakeServer::start([says("Blue."), says("Still blue."), failed]);
    let engine = home.served(&server, &["fake"], false).await;
    engine.focus_at(&home.file("home.org"), 3);
    let heading = engine.focus().map(|id| id.to_string());
    assert!(heading.is_some());
    first(&home, &engine).await;
    assert_eq!(home.ask(&engine, "and now?").await.0.report.ending, Ending::Answered);
    assert_ne!(home.ask(&engine, "and then?").await.0.report.ending, Ending::Answered);
    let found = calls(&engine).await;
    assert_eq!(found.len(), 3, "what is only parked is no call");
    let (last, second) = (&found[0], &found[1]);
    assert_eq!((last.status.as_str(), last.http, last.usage), ("unreachable", Some(500), None), "{last:?}");
    assert_eq!(last.cost, Cost::Known(Micros(0)), "what was refused as a whole is not paid");
    assert_eq!((second.status.as_str(), second.attempts, second.cost), ("answered", 1, Cost::Known(ANSWER)));
    assert_eq!(second.usage, Some(Usage { input: 11, output: 7, ..Usage::default() }));
    assert_eq!((second.provider.as_str(), second.model.as_str(), second.work), ("fake", "m", Work::Foreground));
    assert_eq!((second.session.as_str(), &second.skill, &second.heading), ("chat", &None, &heading));
    let mut all = None;
    for by in Grouping::ALL {
        let costs = engine.costs(by, None).await.expect("the ledger is read");
        assert_eq!((costs.all.calls, costs.all.failed, costs.all.cost), (3, 1, ANSWER.plus(ANSWER)), "{by:?}");
        assert_eq!(*all.get_or_insert(costs.all), costs.all);
        assert_eq!(costs.unreadable, 0);
    }
    engine.close().await;
    let engine = home.served(&server, &["fake"], false).await;
    assert_eq!(calls(&engine).await, found);
    let later = engine.costs(Grouping::Day, Some(jiff::civil::date(2099, 1, 1))).await.expect("it is read");
    assert_eq!(later.all.calls, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_here_costs_nothing_and_an_unknown_price_is_unknown() {
    for (local, expected, words) in
        [(true, Cost::Known(Micros(0)), "$0.00"), (false, Cost::Unknown, "price unknown (1 call)")]
    {
        let home = Home::new(&[("home.org", NOTES)]);
        let server = FakeServer::start([says("Blue.")]);
        let engine = home.served(&server, &["fake", "recall"], local).await;
        match local {
            true => drop(home.ask(&engine, "what about the tiles?").await),
            false => first(&home, &engine).await,
        }
        let found = calls(&engine).await;
        assert_eq!(found.iter().map(|call| call.cost).collect::<Vec<_>>(), [expected]);
        let costs = engine.costs(Grouping::Provider, None).await.expect("it is read");
        assert_eq!(costs.all.words(), words);
        assert_eq!(costs.groups.keys().collect::<Vec<_>>(), ["fake m"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_stopped_while_its_call_is_written_down_writes_it_once() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start([says("Blue."), says("Still blue.")]);
    let engine = home.served(&server, &["fake"], true).await;
    {
        let mut sink = |_: passepartout::domain::port::Streamed<'_>| {};
        let mut turn = std::pin::pin!(engine.ask(ask("what about the tiles?"), engine.new_turn(), &mut sink));
        // It is stopped when the call is stored, and before it has heard of that.
        while calls(&engine).await.is_empty() {
            tokio::select! {
                biased;
                _ = &mut turn => panic!("it ended"),
                () = tokio::task::yield_now() => {}
            }
        }
    }
    assert_eq!(home.ask(&engine, "and now?").await.0.report.ending, Ending::Answered);
    engine.flush().await.expect("it is kept");
    let found: Vec<String> = calls(&engine).await.into_iter().map(|call| call.status).collect();
    assert_eq!(found, ["answered", "answered"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_nobody_waits_for_any_more_is_written_down_with_a_guess() {
    let home = Home::new(&[("home.org", NOTES)]);
    set_prices(&home, PRICES);
    let server = FakeServer::start([says("Blue."), Reply::nothing()]);
    let engine = home.served(&server, &["fake"], false).await;
    first(&home, &engine).await;
    let turn = {
        let engine = engine.clone();
        tokio::spawn(async move { engine.ask(ask("and now?"), engine.new_turn(), &mut |_| {}).await })
    };
    while server.requests().len() < 2 {
        tokio::task::yield_now().await;
    }
    turn.abort();
    assert!(turn.await.is_err());
    engine.flush().await.expect("it is kept");
    let found = calls(&engine).await;
    assert_eq!((found.len(), found[0].status.as_str(), found[0].usage), (2, "stopped", None));
    let Cost::Guessed(guess) = found[0].cost else { panic!("{:?}", found[0].cost) };
    assert!(guess > Micros(4_096 * 15), "the answer may have been long: {guess}");
}

/// Begins a question that nobody answers, and returns when its model was asked.
async fn unanswered(engine: &Arc<Engine>, server: &FakeServer) -> tokio::task::JoinHandle<()> {
    let before = server.requests().len();
    let engine = engine.clone();
    let turn = tokio::spawn(async move { drop(engine.ask(ask("and now?"), engine.new_turn(), &mut |_| {}).await) });
    while server.requests().len() == before {
        tokio::task::yield_now().await;
    }
    turn
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_turn_ends_behind_the_store_stands_in_the_ledger() {
    let home = Home::new(&[("home.org", NOTES)]);
    set_prices(&home, PRICES);
    let server = FakeServer::start([says("Blue."), Reply::nothing()]);
    let engine = home.served(&server, &["fake"], false).await;
    first(&home, &engine).await;
    let turn = unanswered(&engine, &server).await;
    engine.close().await;
    turn.abort();
    assert!(turn.await.is_err());
    drop(engine);
    assert!(!home.store().join("calls").exists(), "nothing is left to be found");
    let engine = home.served(&server, &["fake"], false).await;
    let found = calls(&engine).await;
    let stopped: Vec<&Call> = found.iter().filter(|call| call.status == "stopped").collect();
    assert_eq!((found.len(), stopped.len()), (2, 1), "{found:?}");
    assert!(matches!(stopped[0].cost, Cost::Guessed(guess) if guess > Micros(4_096 * 15)), "{stopped:?}");
    engine.close().await;
}

/// How the file of the calls that are under way is found by the next start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// The store had no time for what is in it.
    Alone,
    /// The store took it, and the program ended before the file was removed.
    Twice,
    Torn,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_under_way_in_the_end_is_found_once_and_what_cannot_be_read_opens_no_cap() {
    let cap = [("DAY_BUDGET_USD", "5")];
    for (found, stand) in [(Found::Alone, 2), (Found::Twice, 2), (Found::Torn, 1)] {
        let home = Home::new(&[("home.org", NOTES)]);
        set_prices(&home, PRICES);
        let server = FakeServer::start([says("Blue."), Reply::nothing(), says("Still blue.")]);
        let engine = capped(&home, &server, &cap).await;
        let (file, database) = (home.store().join("calls"), home.store().join("memory.sqlite"));
        assert!(!file.exists());
        let turn = unanswered(&engine, &server).await;
        let noted = std::fs::read_to_string(&file).expect("it was noted before it was sent");
        assert_eq!(noted.lines().count(), 1, "{noted}");
        if found != Found::Twice {
            let deaf = "CREATE TRIGGER deaf BEFORE INSERT ON records WHEN NEW.kind = 'call' \
                        BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END";
            let database = rusqlite::Connection::open(&database).expect("the database opens");
            database.busy_timeout(std::time::Duration::from_secs(10)).expect("it waits");
            database.execute_batch(deaf).expect("it is made");
        }
        engine.close().await;
        turn.abort();
        assert!(turn.await.is_err());
        drop(engine);
        match found {
            Found::Alone => assert_eq!(std::fs::read_to_string(&file).expect("it stays"), noted),
            Found::Twice => std::fs::write(&file, &noted).expect("a file"),
            Found::Torn => std::fs::write(&file, &noted[..noted.len() / 2]).expect("a file"),
        }
        if found != Found::Twice {
            let database = rusqlite::Connection::open(&database).expect("the database opens");
            database.execute_batch("DROP TRIGGER deaf").expect("it is there");
        }
        let engine = under(&home, &server, &cap).await;
        let known = calls(&engine).await;
        assert_eq!(known.len(), stand, "{found:?}: {known:?}");
        assert_eq!(known[0].status == "stopped", found != Found::Torn, "{found:?}: {known:?}");
        assert!(!file.exists(), "{found:?}");
        let report = home.ask(&engine, "and then?").await.0.report;
        let notice = report.notice.unwrap_or_default();
        assert_eq!(report.ending == Ending::Answered, found != Found::Torn, "{found:?}: {notice}");
        assert_eq!(server.requests().len(), 3 - usize::from(found == Found::Torn), "{found:?}");
        if found == Found::Torn {
            assert!(notice.contains("what was spent is not known") && notice.contains("calls.unreadable"), "{notice}");
            engine.close().await;
            std::fs::remove_file(home.store().join("calls.unreadable")).expect("it was put aside");
            let engine = under(&home, &server, &cap).await;
            assert_eq!(home.ask(&engine, "and at last?").await.0.report.ending, Ending::Answered);
            engine.close().await;
        } else {
            engine.close().await;
        }
    }
}

/// A refusal as a whole is free; once the model may have begun, nobody knows what it came to.
#[tokio::test(flavor = "multi_thread")]
async fn a_failure_is_free_only_where_nothing_was_begun() {
    let event = |text: &str| Reply::raw(200, "text/event-stream", format!("data: {text}\n\n"));
    let begun = "{\"choices\":[{\"delta\":{\"content\":\"Bl\"}}]}\n\ndata: ";
    let broken = "{\"error\":{\"code\":500,\"message\":\"overloaded\"}}";
    let half = "{\"choices\":[{\"delta\":{\"content\":\"Blue.\"},\"finish_reason\":\"stop\"}],\"usage\":{\"completion_tokens\":7}}\n\ndata: [DONE]";
    for (name, reply, status, free) in [
        ("refused", Reply::json(400, &json!({})), "refused", true),
        ("not allowed", Reply::json(401, &json!({})), "refused", true),
        ("no money", Reply::json(402, &json!({})), "quota", true),
        ("an error behind a part of the answer", event(&format!("{begun}{broken}")), "unreachable", false),
        ("an error in place of the answer", event(broken), "unreachable", false),
        ("cut off", says("Blue.").cut_after("Bl"), "cut", false),
        ("half of what was used", event(half), "answered", false),
    ] {
        let home = Home::new(&[("home.org", NOTES)]);
        set_prices(&home, PRICES);
        let server = FakeServer::start([says("Blue."), reply]);
        let engine = home.engine_with(|config| {
            provide(config, &[("fake", &server, false)], &["fake"]);
            config.request_tries = 1;
        });
        let engine = engine.await;
        home.read(&engine).await;
        first(&home, &engine).await;
        let _ = home.ask(&engine, "and now?").await;
        let call = calls(&engine).await.remove(0);
        assert_eq!(call.status, status, "{name}");
        match call.cost {
            Cost::Known(cost) => assert!(free && cost == Micros(0), "{name}: {cost}"),
            Cost::Guessed(cost) => assert!(!free && cost > Micros(4_096 * 15), "{name}: {cost}"),
            Cost::Unknown => panic!("{name} has a price"),
        }
    }
}

/// They stand in the order in which they ended, with the time at which they began.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_spent_today_is_read_also_behind_a_call_that_began_yesterday() {
    let home = Home::new(&[("home.org", NOTES)]);
    set_prices(&home, PRICES);
    let server = FakeServer::start([says("Blue."), says("Still blue.")]);
    let engine = home.served(&server, &["fake"], false).await;
    first(&home, &engine).await;
    let [today] = calls(&engine).await.try_into().expect("one call");
    let yesterday = Call { at: today.at - jiff::SignedDuration::from_hours(24), ..today };
    engine.write_down([yesterday]).await;
    engine.close().await;
    let engine = under(&home, &server, &[("DAY_BUDGET_USD", "0.0615")]).await;
    let said = home.ask(&engine, "and now?").await.0.report.notice.unwrap_or_default();
    assert!(said.contains("$0.000138 of it is used"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fallback_writes_down_both_and_the_built_in_one_neither() {
    let home = Home::new(&[("home.org", NOTES)]);
    let (one, two) = (FakeServer::start([Reply::json(500, &json!({}))]), FakeServer::start([says("Blue.")]));
    let set = |config: &mut passepartout::edge::config::Config| {
        provide(config, &[("one", &one, true), ("two", &two, true)], &["one", "two", "recall"]);
    };
    let engine = home.engine_with(set).await;
    home.read(&engine).await;
    for _ in 0..2 {
        // The second time neither has an answer, and the built-in one gives it.
        let _ = engine.ask(ask("what about the tiles?"), engine.new_turn(), &mut |_| {}).await;
    }
    let found: Vec<_> = calls(&engine).await.into_iter().map(|call| (call.provider, call.status)).collect();
    let has = |provider: &str, status: &str| found.contains(&(provider.to_string(), status.to_string()));
    assert!(has("one", "unreachable") && has("two", "answered"), "{found:?}");
    assert!(found.iter().all(|(provider, _)| provider != "recall"), "{found:?}");
}

/// Starts an engine with caps, and confirms its provider before they hold.
async fn capped(home: &Home, server: &FakeServer, caps: &[(&str, &str)]) -> Arc<Engine> {
    let engine = home.served(server, &["fake"], false).await;
    first(home, &engine).await;
    engine.close().await;
    under(home, server, caps).await
}

async fn under(home: &Home, server: &FakeServer, caps: &[(&str, &str)]) -> Arc<Engine> {
    let set = |config: &mut passepartout::edge::config::Config| {
        let variables = caps.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        config.caps = Config::read(&Surroundings { variables }).caps;
        provide(config, &[("fake", server, false)], &["fake"]);
    };
    let engine = home.engine_with(set).await;
    home.read(&engine).await;
    engine
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cap_keeps_what_would_go_beyond_it_from_being_sent() {
    // The first call cost 138 millionths; a next one may cost 4,096 tokens and its prompt.
    for (name, value, unpriced, expected) in [
        ("SESSION_BUDGET_USD", "5", false, None),
        ("SESSION_BUDGET_USD", "0.01", false, Some("the cap of this conversation is $0.01, $0.000138 of it is used")),
        ("DAY_BUDGET_USD", "0.01", false, Some("the cap of this day is $0.01, $0.000138 of it is used")),
        ("DAY_BUDGET_USD", "much", false, Some("the cap of this day is $0.00")),
        ("BACKGROUND_BUDGET_USD", "0", false, None),
        ("DAY_BUDGET_USD", "5", true, None),
        ("UNPRICED_CALLS", "0", true, Some("UNPRICED_CALLS allows 0 such calls a day")),
        ("UNPRICED_CALLS", "0", false, None),
    ] {
        let home = Home::new(&[("home.org", NOTES)]);
        set_prices(&home, PRICES);
        let server = FakeServer::start([says("Blue."), says("Still blue.")]);
        let engine = capped(&home, &server, &[(name, value)]).await;
        if unpriced {
            set_prices(&home, "");
        }
        let done = home.ask(&engine, "and now?").await.0;
        let said = done.report.notice.clone().unwrap_or_default();
        match expected {
            None => assert_eq!(done.report.ending, Ending::Answered, "{name} {value}: {said}"),
            Some(words) => {
                assert_eq!(server.requests().len(), 1, "{name} {value}");
                assert!(said.contains(words) && said.contains(name), "{name} {value}: {said}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_tells_of_the_caps_of_who_owns_the_store() {
    let home = Home::new(&[("notes.org", NOTES)]);
    set_prices(&home, PRICES);
    let server = FakeServer::start([says("Blue.")]);
    let engine = capped(&home, &server, &[("DAY_BUDGET_USD", "2")]).await;
    let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
    let said = at_owner(&engine, &origin(), words(&["costs", "--by", "provider"])).await.expect("it is said");
    assert!(
        said.status == 0 && said.text.contains("fake m") && said.text.contains("this day: $0.000138 of $2.00 used"),
        "{}",
        said.text
    );
    let said = at_owner(&engine, &origin(), words(&["costs", "--json"])).await.expect("it is said");
    let found: serde_json::Value = serde_json::from_str(&said.text).expect("JSON");
    assert_eq!(found["all"]["calls"], 1);
    assert!(at_owner(&engine, &origin(), words(&["costs", "--by", "moon"])).await.is_err());
}

/// What the clock sets off is in the background for the router, for the cap and in the ledger, whatever it asks.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_clock_asks_is_background_work_for_router_cap_and_ledger() {
    let clock = || ask_from(Origin { source: Source::Clock, ..origin() }, "fix the bug in x.rs");
    for (cap, expected) in [("0", Ending::Failed), ("5", Ending::Answered)] {
        let home = Home::new(&[("home.org", NOTES)]);
        set_prices(&home, PRICES);
        let server = FakeServer::start([says("Blue."), says("Still blue."), says("Mended.")]);
        let engine = capped(&home, &server, &[("BACKGROUND_BUDGET_USD", cap)]).await;
        assert_eq!(home.ask(&engine, "and now?").await.0.report.ending, Ending::Answered, "a human waits");
        let report = engine.ask(clock(), engine.new_turn(), &mut |_| {}).await.report;
        let said = report.notice.clone().unwrap_or_default();
        assert_eq!(report.ending, expected, "{cap}: {said}");
        assert_eq!(report.routes, ["background, as nobody waits for it; the usual cascade: fake"], "{cap}");
        let costs = engine.costs(Grouping::Work, None).await.expect("the ledger is read");
        let works: Vec<(&str, u64)> = costs.groups.iter().map(|(work, sum)| (work.as_str(), sum.calls)).collect();
        match expected {
            Ending::Answered => assert_eq!(works, [("background", 1), ("foreground", 2)]),
            _ => {
                assert!(said.contains("the cap of background work of this day is $0.00"), "{said}");
                assert_eq!((works, server.requests().len()), (vec![("foreground", 2)], 2));
            }
        }
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn totals_by_skill_tell_its_calls_from_those_without_one() {
    let home = Home::new(&[("home.org", NOTES)]);
    set_prices(&home, PRICES);
    let folder = home.config().settings.join("skills");
    std::fs::create_dir_all(&folder).expect("the folder of skills");
    let skill = "#+TITLE: Tidy\n#+TRIGGER: words:\"tidy up\"\n* Prompt\nTidy what is named.\n";
    std::fs::write(folder.join("tidy.org"), skill).expect("it is written");
    let server = FakeServer::start([says("Blue."), says("Tidied."), says("Tidied again."), says("Blue.")]);
    let engine = home.served(&server, &["fake"], false).await;
    first(&home, &engine).await;
    for question in ["tidy up the kitchen", "tidy up the hall", "and now?"] {
        assert_eq!(home.ask(&engine, question).await.0.report.ending, Ending::Answered, "{question}");
    }
    let (overview, rows) = shown(&engine, Grouping::Skill, true).await;
    let row = |label: &str, of: u64| (label.to_string(), Micros(ANSWER.0 * of).to_string());
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(rows.contains(&row("tidy", 2)) && rows.contains(&row("without a skill", 2)), "{rows:?}");
    assert_eq!(overview.all.calls, 4);
    let kept: Vec<Option<String>> = calls(&engine).await.into_iter().map(|call| call.skill).collect();
    let tidy = Some("tidy".to_string());
    assert_eq!(kept, [None, tidy.clone(), tidy, None], "newest first");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slip_in_the_table_of_prices_lifts_no_cap_in_dollars() {
    let comma = "| fake | m* | 2026-01-01 | 1,25 | 0.125 | 10 |\n";
    let exact = "| fake | m | 2026-01-01 | 1,25 | 0.125 | 10 |\n";
    let day = "| fake | m | 2026-02-30 | 1 | 1 | 1 |\n";
    let mend = "prices.org: line 3: “1,25” is no amount such as 2.50";
    for (name, value, slip, expected) in [
        ("DAY_BUDGET_USD", "5", exact, Some(mend)),
        ("SESSION_BUDGET_USD", "5", exact, Some(mend)),
        // What is named more closely counts, and so does what has a day that can be read.
        ("DAY_BUDGET_USD", "5", comma, None),
        ("DAY_BUDGET_USD", "5", day, None),
        ("DAY_BUDGET_USD", "0.01", day, Some("the cap of this day is $0.01")),
        // Nobody works in the background here, and without a cap in dollars the price is only unknown.
        ("BACKGROUND_BUDGET_USD", "5", exact, None),
        ("UNPRICED_CALLS", "3", exact, None),
    ] {
        let home = Home::new(&[("home.org", NOTES)]);
        set_prices(&home, PRICES);
        let server = FakeServer::start([says("Blue."), says("Still blue.")]);
        let engine = capped(&home, &server, &[(name, value)]).await;
        set_prices(&home, &format!("{PRICES}{slip}"));
        let done = home.ask(&engine, "and now?").await.0;
        let said = done.report.notice.clone().unwrap_or_default();
        assert_eq!(server.requests().len(), 1 + usize::from(expected.is_none()), "{name} {value} {slip}: {said}");
        assert!(said.contains(expected.unwrap_or_default()), "{name} {value} {slip}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_at_once_do_not_go_beyond_a_cap_together() {
    let home = Home::new(&[("home.org", NOTES)]);
    set_prices(&home, PRICES);
    let server = FakeServer::start((0..30).map(|_| says("Blue.")));
    // Room for one answer of 4,096 tokens and its prompt, and not for two.
    let engine = capped(&home, &server, &[("DAY_BUDGET_USD", "0.11")]).await;
    let turns: Vec<_> = (0..20)
        .map(|n| {
            let engine = engine.clone();
            let from = Origin { session: SessionId(format!("s{n}")), ..origin() };
            tokio::spawn(async move { engine.ask(ask_from(from, "and now?"), engine.new_turn(), &mut |_| {}).await })
        })
        .collect();
    let mut answered = 0;
    for turn in turns {
        answered += u64::from(turn.await.expect("a turn ends").report.ending == Ending::Answered);
    }
    let costs = engine.costs(Grouping::Day, None).await.expect("it is read");
    assert!(answered >= 1);
    assert_eq!(costs.all.calls, answered + 1, "who is withheld is not asked");
    assert!(costs.all.cost <= Micros(110_000), "{}", costs.all.cost);
}

/// A disk that takes no call until it has room again: then another provider was confirmed.
async fn without_room(home: &Home, server: &FakeServer, caps: &[(&str, &str)]) -> Arc<Engine> {
    capped(home, server, caps).await.close().await;
    let database = rusqlite::Connection::open(home.store().join("memory.sqlite")).expect("the database opens");
    let full = "CREATE TRIGGER no_room BEFORE INSERT ON records WHEN NEW.kind = 'call' AND 2 > \
                (SELECT count(*) FROM records WHERE kind = 'confirmation') \
                BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END";
    database.execute_batch(full).expect("it is made");
    drop(database);
    under(home, server, caps).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_full_disk_does_not_take_is_written_later_once_and_under_a_cap_nothing_is_asked_meanwhile() {
    for (cap, refused) in [(Some(("DAY_BUDGET_USD", "5")), true), (None, false)] {
        let home = Home::new(&[("home.org", NOTES)]);
        set_prices(&home, PRICES);
        let server = FakeServer::start((0..5).map(|_| says("Blue.")));
        let engine = without_room(&home, &server, cap.as_slice()).await;
        // It was sent before anybody knew.
        assert_eq!(home.ask(&engine, "and now?").await.0.report.ending, Ending::Answered);
        let said = |words: &str| engine.log_lines(usize::MAX).iter().any(|line| line.text.contains(words));
        assert!(said("the ledger could not be written, 1 calls wait to be: ") && said("disk is full"));
        let notes = shown(&engine, Grouping::Day, true).await.0.notes.join("\n");
        assert!(notes.contains("1 calls could not be written down yet, and are in no sum"), "{notes}");
        let report = home.ask(&engine, "and then?").await.0.report;
        let notice = report.notice.unwrap_or_default();
        assert_eq!((report.ending == Ending::Failed, server.requests().len()), (refused, 3 - usize::from(refused)));
        assert_eq!(notice.contains("what was spent is not known: the ledger cannot be written"), refused, "{notice}");
        // The disk has room again.
        engine.confirm_provider("other", "http://other.example/").await.expect("it is stored");
        assert_eq!(home.ask(&engine, "and at last?").await.0.report.ending, Ending::Answered);
        let found = calls(&engine).await;
        assert_eq!((found.len(), server.requests().len()), (4 - usize::from(refused), 4 - usize::from(refused)));
        assert!(found.iter().all(|call| call.cost == Cost::Known(ANSWER)), "{found:?}");
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_calls_wait_at_most_and_then_nobody_is_asked_and_it_is_said() {
    const MOST: usize = 10_000;
    let home = Home::new(&[("home.org", NOTES)]);
    set_prices(&home, PRICES);
    let server = FakeServer::start((0..4).map(|_| says("Blue.")));
    let engine = without_room(&home, &server, &[]).await;
    let one = calls(&engine).await.remove(0);
    engine.write_down((1..MOST).map(|_| one.clone())).await;
    // One more fits.
    assert_eq!(home.ask(&engine, "and now?").await.0.report.ending, Ending::Answered);
    for _ in 0..2 {
        let report = home.ask(&engine, "and then?").await.0.report;
        let notice = report.notice.unwrap_or_default();
        assert_eq!((report.ending, server.requests().len()), (Ending::Failed, 2), "{notice}");
        assert!(notice.contains("10000 calls could not be written into the ledger yet; the log says why"), "{notice}");
    }
    let said = |words: &str| engine.log_lines(usize::MAX).iter().any(|line| line.text.contains(words));
    assert!(said("the ledger could not be written, 10000 calls wait to be: ") && said("disk is full"));
    let notes = shown(&engine, Grouping::Day, true).await.0.notes.join("\n");
    assert!(notes.contains("10000 calls could not be written down yet, and are in no sum"), "{notes}");
    // The disk has room again: none of them is lost, and models are asked.
    engine.confirm_provider("other", "http://other.example/").await.expect("it is stored");
    assert_eq!(home.ask(&engine, "and at last?").await.0.report.ending, Ending::Answered);
    let all = engine.costs(Grouping::Day, None).await.expect("it is read").all;
    assert_eq!((all.calls, all.cost), (MOST as u64 + 2, Micros(ANSWER.0 * (MOST as u64 + 2))));
    engine.close().await;
}

/// Returns what people are shown, by a grouping, with its rows as label and words.
async fn shown(engine: &Engine, by: Grouping, names_private: bool) -> (Overview, Vec<(String, String)>) {
    let overview = engine.overview(by, None, Some("chat"), names_private).await.expect("the ledger is read");
    let rows = overview.rows.iter().map(|row| (row.label.clone(), row.sum.words())).collect();
    (overview, rows)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_shown_names_caps_what_is_not_known_and_no_private_title() {
    let home = Home::new(&[("home.org", "* Kitchen\nThe tiles are blue.\n* Surgeon :private:\nTomorrow.\n")]);
    set_prices(&home, PRICES);
    let server = FakeServer::start([says("Blue."), says("Still blue."), says("Green.")]);
    let engine = capped(&home, &server, &[("DAY_BUDGET_USD", "2.50"), ("SESSION_BUDGET_USD", "1")]).await;
    engine.focus_at(&home.file("home.org"), 3);
    assert_eq!(home.ask(&engine, "and now?").await.0.report.spent.all().words(), ANSWER.to_string());
    let (overview, rows) = shown(&engine, Grouping::Heading, true).await;
    assert_eq!(rows[0].0, "Kitchen", "{rows:?}");
    assert_eq!((overview.all.calls, overview.all.cost), (2, ANSWER.plus(ANSWER)));
    let caps = overview.caps.join("\n");
    assert!(caps.contains("this conversation: $0.000276 of $1.00 used; raise passepartout-session-budget"), "{caps}");
    assert!(
        caps.contains("this day: $0.000276 of $2.50 used; raise passepartout-day-budget or DAY_BUDGET_USD"),
        "{caps}"
    );
    assert_eq!(overview.notes, Vec::<String>::new());

    // A heading that became private is named to whoever may see it alone; an unknown price is said, and never 0.
    let private =
        std::fs::read_to_string(home.file("home.org")).expect("notes").replace("Kitchen", "Kitchen :private:");
    engine.take_text(&home.file("home.org"), private.into(), "buffer-update").expect("it is read");
    assert!(shown(&engine, Grouping::Heading, false).await.1.iter().all(|(label, _)| !label.contains("Kitchen")));
    set_prices(&home, "| fake | m | soon | 3 | 0.30 | 15 |\n");
    let (overview, _) = shown(&engine, Grouping::Day, true).await;
    let notes = overview.notes.join("\n");
    assert!(notes.contains("prices.org: line 1: “soon” is no day such as 2026-01-31"), "{notes}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_says_of_costs_what_the_engine_says() {
    let home = Home::new(&[("home.org", NOTES)]);
    let refuses = Reply::json(401, &json!({"error": {"message": "no key"}}));
    let server = FakeServer::start([says("Blue."), says("Still blue."), refuses]);
    let engine = home.served(&server, &["fake"], false).await;
    first(&home, &engine).await;
    set_prices(&home, PRICES);
    assert_eq!(home.ask(&engine, "and now?").await.0.report.ending, Ending::Answered);
    assert_eq!(home.ask(&engine, "and then?").await.0.report.ending, Ending::Failed);
    for by in Grouping::ALL {
        let (overview, rows) = shown(&engine, by, true).await;
        let said = run(&home, &["costs", "--by", by.name(), "--json"]).json();
        let words: Vec<(String, String)> = said["rows"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| (row["label"].to_string(), row["sum"]["cost"].to_string()))
            .map(|(label, cost)| (label.trim_matches('"').to_string(), cost.trim_matches('"').to_string()))
            .collect();
        assert_eq!(words, rows, "{by:?}");
        assert_eq!(said["all"]["cost"], overview.all.words());
        assert_eq!(said["notes"], json!(overview.notes));
        let text = run(&home, &["costs", "--by", by.name()]).out;
        assert!(text.contains("$0.000138, and 1 call of unknown price  (1 not answered)\n"), "{text}");
        assert!(text.contains("Cap: none is set;") && text.contains("prices.org"), "{text}");
    }
    let wrong = run(&home, &["costs", "--by", "moon"]);
    assert_eq!((wrong.status, wrong.err.contains("none of day, heading")), (2, true), "{}", wrong.err);
    let wrong = run(&home, &["costs", "--since", "soon"]);
    assert_eq!((wrong.status, wrong.err.contains("no day")), (2, true), "{}", wrong.err);
    engine.close().await;
}
