//! Who failed stands behind the others for a while and comes back; and the order as the user sets it at run time.

use super::*;
use crate::support::engine::{Home, ask_from, origin, provide};
use crate::support::soak::survived;
use passepartout::domain::signal::{Origin, Rights, Source};
use passepartout::domain::turn::Ending;
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::record::Finished;

fn says(text: &str) -> Script {
    Script::answer(Dialect::OpenAi, &[text], &[])
}

/// Returns an engine with local providers and the built-in one, each one request behind the other.
async fn engine(home: &Home, servers: &[(&str, &FakeServer)]) -> Arc<Engine> {
    let servers: Vec<_> = servers.iter().map(|(name, server)| (*name, *server, true)).collect();
    let mut names: Vec<&str> = servers.iter().map(|(name, ..)| *name).collect();
    names.push("recall");
    let engine = home
        .engine_with(|config| {
            provide(config, &servers, &names);
            (config.request_timeout, config.stall_timeout) = (1, 1);
        })
        .await;
    home.read(&engine).await;
    engine
}

/// Asks; returns who answered.
async fn by(home: &Home, engine: &Arc<Engine>, text: &str) -> String {
    let (Finished { report, .. }, _) = home.ask(engine, text).await;
    assert_eq!(report.ending, Ending::Answered, "{text}: {:?}", report.notice);
    report.answered_by.map(|(provider, _)| provider).unwrap_or_default()
}

async fn states(engine: &Engine) -> Vec<(String, &'static str)> {
    engine.stands().await.into_iter().map(|stand| (stand.name, stand.state)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_fails_in_whichever_way_stands_behind_the_others_and_comes_back() {
    let faults: [(&str, Script, i64); 6] = [
        ("gone", status(500), 30),
        ("busy", status(429), 60),
        ("no key", status(401), 300),
        ("cut", says("Half of it").cut_after("Half"), 15),
        ("garbage", Script::raw(200, "text/html", "<html></html>"), 15),
        ("stalled", Script::nothing(), 60),
    ];
    let mut cases = 0;
    for (fault, script, seconds) in faults {
        let home = Home::new(&[("notes.org", "* Boiler\n")]);
        let one = FakeServer::start([script, says("I am back."), says("Still here.")]);
        let two = FakeServer::start([says("For it."), says("For it again.")]);
        let engine = engine(&home, &[("one", &one), ("two", &two)]).await;
        assert_eq!(by(&home, &engine, "first").await, "two", "{fault}");
        let asked = one.requests().len();
        let expected: Vec<(String, &str)> =
            [("two", "ready"), ("one", "demoted"), ("recall", "ready")].map(|(n, s)| (n.to_string(), s)).into();
        assert_eq!(states(&engine).await, expected, "{fault}");
        // While it lasts nobody waits for it.
        assert_eq!(by(&home, &engine, "second").await, "two", "{fault}");
        assert_eq!(one.requests().len(), asked, "{fault}");
        home.clock.advance_seconds(seconds);
        assert_eq!(by(&home, &engine, "third").await, "one", "{fault}");
        assert!(states(&engine).await.iter().all(|(_, state)| *state == "ready"), "{fault}");
        engine.close().await;
        cases += 1;
    }
    survived(format!("{cases} failures that demote"));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_demoted_is_asked_all_the_same_before_the_one_that_always_answers() {
    let home = Home::new(&[("notes.org", "* Boiler\n")]);
    let one = FakeServer::start([status(500), says("I am back.")]);
    let engine = engine(&home, &[("one", &one)]).await;
    assert_eq!(by(&home, &engine, "boiler").await, "recall");
    assert_eq!(states(&engine).await[0], ("one".to_string(), "demoted"));
    assert_eq!(by(&home, &engine, "boiler").await, "one");
    assert_eq!(states(&engine).await[0], ("one".to_string(), "ready"));
    let (said, _) = home.ask(&engine, "/cascade").await;
    assert!(said.report.text.contains("- one (local, ready)\n- recall (built in, ready)"), "{}", said.report.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_sets_the_order_for_now_or_for_good_and_nobody_else_does() {
    let home = Home::new(&[("notes.org", "* Boiler\n")]);
    let (one, two) = (FakeServer::start([says("One."), says("One.")]), FakeServer::start([says("Two."), says("Two.")]));
    let engine1 = engine(&home, &[("one", &one), ("two", &two)]).await;
    let (said, _) = home.ask(&engine1, "/cascade two, one two").await;
    assert!(said.report.text.contains("two, one (until the program ends"), "{}", said.report.text);
    assert_eq!(by(&home, &engine1, "boiler").await, "two");

    // Another channel, an unknown name, one without a key, none and too many change nothing.
    let client = Origin { rights: Rights { approve: false, ..Rights::HUMAN }, source: Source::Client, ..origin() };
    let refused = engine1.ask(ask_from(client, "/cascade one"), engine1.new_turn(), &mut |_| {}).await;
    assert!(refused.report.text.contains("may not choose providers"), "{}", refused.report.text);
    let many: String = (0..40).map(|n| format!("p{n} ")).collect();
    for (words, why) in [
        ("nobody one", "nobody: it is not known"),
        ("anthropic", "there is no key for it"),
        ("keep", "name from one to 32 providers"),
        (many.as_str(), "name from one to 32 providers"),
    ] {
        let (said, _) = home.ask(&engine1, &format!("/cascade {words}")).await;
        assert!(
            said.report.text.starts_with("Nothing was done") && said.report.text.contains(why),
            "{}",
            said.report.text
        );
    }
    assert_eq!(engine1.provider_names().0, ["two", "one"]);
    engine1.close().await;

    // What was for now is over; what is kept is not, and settings that Emacs sends do not undo it.
    let engine2 = engine(&home, &[("one", &one), ("two", &two)]).await;
    assert_eq!(engine2.provider_names().0, ["one", "two", "recall"]);
    let (said, _) = home.ask(&engine2, "/cascade keep two").await;
    assert!(said.report.text.contains("kept until /cascade usual"), "{}", said.report.text);
    engine2.close().await;
    let engine3 = engine(&home, &[("one", &one), ("two", &two)]).await;
    assert_eq!(engine3.provider_names().0, ["two"]);
    let settings = passepartout::domain::sexp::reader::Sexp::read("(:cascade (\"one\"))").expect("a plist");
    assert_eq!(engine3.follow_providers(&settings), ["two"]);
    let (said, _) = home.ask(&engine3, "/cascade usual").await;
    assert!(said.report.text.contains("one (as your settings say)"), "{}", said.report.text);
    engine3.close().await;
    let engine4 = engine(&home, &[("one", &one), ("two", &two)]).await;
    assert_eq!(engine4.provider_names().0, ["one", "two", "recall"]);
    engine4.close().await;
}
