//! Several models asked at once: who is followed, that no fault of one stops the others, and that each is asked in the
//! way in which one is asked alone: privacy, confirmation, caps, ledger, patience, cancel.

use super::*;
use crate::support::engine::{Home, ask as words, ask_from, origin, provide, waiting};
use crate::support::soak::survived;
use passepartout::domain::money::Cost;
use passepartout::domain::scope::Level;
use passepartout::domain::turn::Ending;
use passepartout::domain::turn::consensus::{Mode, Round};
use passepartout::edge::config::Config;
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::record::Finished;

const NOTES: &str = "* Boiler\nThe boiler is from 1998.\n* Health :private:\nZANZIBAR7 is the diagnosis.\n";
const NAMES: [&str; 4] = ["one", "two", "three", "four"];

fn says(text: &str) -> Script {
    Script::answer(Dialect::OpenAi, &[text], &[])
}

/// An answer that wants a note looked for.
fn searches(query: &str, why: &str) -> Script {
    Script::answer(
        Dialect::OpenAi,
        &["Looking."],
        &[("c", "memory-search", json!({"explanation": why, "query": query}))],
    )
}

/// An answer that wants a file written.
fn writes(home: &Home, text: &str) -> Script {
    let args = json!({"path": home.project("made.txt"), "content": text, "explanation": format!("So that {text} can be read there later.")});
    Script::answer(Dialect::OpenAi, &[], &[("c", "write-file", args)])
}

/// Sets servers up as providers `one`, `two`, … of which the first so many run here.
async fn engine(home: &Home, servers: &[FakeServer], local: bool, set: impl FnOnce(&mut Config)) -> Arc<Engine> {
    let named: Vec<(&str, &FakeServer, bool)> =
        NAMES.iter().zip(servers).map(|(name, server)| (*name, server, local)).collect();
    let cascade: Vec<&str> = named.iter().map(|(name, ..)| *name).collect();
    let engine = home
        .engine_with(|config| {
            provide(config, &named, &cascade);
            set(config);
        })
        .await;
    home.read(&engine).await;
    engine
}

fn servers<const N: usize>(scripts: [Vec<Script>; N]) -> Vec<FakeServer> {
    scripts.into_iter().map(FakeServer::start).collect()
}

fn by(finished: &Finished) -> Option<&str> {
    finished.report.answered_by.as_ref().map(|(provider, _)| provider.as_str())
}

fn kinds(round: &Round) -> String {
    round
        .ballots
        .iter()
        .enumerate()
        .map(|(index, ballot)| {
            let mark = if round.followed == Some(index) { "*" } else { "" };
            format!("{}{mark}:{} ", ballot.provider, ballot.kind)
        })
        .collect::<String>()
        .trim_end()
        .to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_most_models_want_is_followed_and_the_trace_shows_who_disagrees() {
    let home = Home::new(&[("notes.org", NOTES)]);
    let servers = servers([
        vec![searches("pipe", "One wants to find the note about it."), says("From one.")],
        vec![searches("boiler", "Two wants to find the note about it."), says("From two.")],
        vec![searches("boiler", "Three wants to find the note about it."), says("From three.")],
    ]);
    let engine = engine(&home, &servers, true, |_| {}).await;
    let (finished, streamed) = home.ask(&engine, "/consensus 3 What about the boiler?").await;
    let report = &finished.report;
    assert_eq!((report.ending, by(&finished), report.text.as_str()), (Ending::Answered, Some("one"), "From one."));
    assert_eq!(
        report.rounds.iter().map(kinds).collect::<Vec<_>>(),
        ["one:acts two*:acts three:acts", "one*:words two:words three:words"]
    );
    assert_eq!(report.deeds.len(), 1, "what was not followed is no act: {:?}", report.deeds);
    assert!(report.deeds[0].summary.contains("boiler"), "{:?}", report.deeds);
    let round = &report.rounds[0];
    assert_eq!(round.ballots[0].lines, ["memory-search {\"query\":\"pipe\"}", "Looking."]);
    assert_eq!(round.ballots.iter().map(|ballot| ballot.agrees).collect::<Vec<_>>(), [false, true, true]);
    let notice = report.notice.as_deref().unwrap_or_default();
    assert!(notice.contains("disagree: 2 of 3"), "{notice}");
    // The answers that were not followed are shown, and only whole ones.
    let others: Vec<&str> = report.others.iter().map(|other| other.text.as_str()).collect();
    assert_eq!(others, ["From two.", "From three."]);
    assert!(streamed.ends_with("From one.") && !streamed.contains("From two."), "{streamed}");
    // Each call stands in the ledger, and the turn counts the tokens of all.
    assert_eq!(engine.calls(100).await.expect("the ledger").len(), 6);
    let shares = report.spent.iter().map(|share| (share.provider.as_str(), share.sum.calls, share.sum.usage.input));
    let mut shares: Vec<_> = shares.collect();
    shares.sort_unstable();
    assert_eq!(shares, [("one", 2, 22), ("three", 2, 22), ("two", 2, 22)], "each has its own");
    assert_eq!((report.spent.all().calls, report.usage.input), (6, 66));
    for server in &servers {
        let second = &server.requests()[1];
        assert!(second.body.contains("boiler") && !second.body.contains("pipe"), "all go on from what was followed");
    }
    let kept = engine.turns(1).await.expect("it is kept");
    assert_eq!((&kept[0].report.rounds, &kept[0].report.spent), (&report.rounds, &report.spent));
    // Each of the requests that went out for the last answer is shown, with what came of it.
    let shown = engine.inspect_last(&origin()).await.expect("they can be shown");
    let mut shown: Vec<_> = shown
        .iter()
        .map(|one| (one.provider.as_str(), one.came.map(|came| (came.usage, came.cost)), one.text.as_str()))
        .collect();
    shown.sort_unstable_by_key(|(provider, ..)| *provider);
    assert_eq!(shown.iter().map(|(provider, ..)| *provider).collect::<Vec<_>>(), ["one", "three", "two"]);
    for (provider, came, text) in shown {
        assert!(text.contains("What about the boiler?"), "{provider}: {text}");
        assert_eq!(
            came.map(|(usage, cost)| (usage.map(|usage| usage.input), cost)),
            Some((Some(11), Cost::Known(Default::default())))
        );
    }
    assert!(kept[0].report.others.is_empty(), "answers stand in the chat, and in no record");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tie_goes_to_the_first_and_what_wins_waits_like_any_proposal() {
    let home = Home::new(&[]);
    let servers = servers([
        vec![writes(&home, "a"), says("Done.")],
        vec![writes(&home, "b"), says("Done, too.")],
        vec![writes(&home, "b"), says("Done.")],
        vec![writes(&home, "a"), says("Done.")],
    ]);
    let engine = engine(&home, &servers, true, |_| {}).await;
    let (finished, _) = home.ask(&engine, "/consensus 4 Write it").await;
    assert_eq!(finished.report.ending, Ending::Parked, "{:?}", finished.report.notice);
    let plan = waiting(&engine);
    assert_eq!(plan.action.text("content"), Some("a"));
    assert!(!std::path::Path::new(&home.project("made.txt")).exists(), "a vote authorises nothing");
    // What follows the approval is asked of all as well.
    let done = home.approve(&engine, &plan).await.expect("it counts");
    assert_eq!(std::fs::read_to_string(home.project("made.txt")).expect("it is there"), "a");
    assert_eq!((done.report.text.as_str(), done.report.others.len()), ("Done.", 3));
    assert!(servers.iter().all(|server| server.connections() == 2));
    assert_eq!(done.report.rounds.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_wins_and_is_denied_is_denied() {
    let home = Home::new(&[]);
    let reads = || {
        let args =
            json!({"path": home.config().home.join(".ssh/id_rsa"), "explanation": "To see what stands in this file."});
        vec![Script::answer(Dialect::OpenAi, &[], &[("c", "read-file", args)]), says("I may not.")]
    };
    let servers = servers([reads(), reads(), reads()]);
    let engine = engine(&home, &servers, true, |_| {}).await;
    let (finished, _) = home.ask(&engine, "/consensus 3 Read it").await;
    assert_eq!((finished.report.ending, finished.report.text.as_str()), (Ending::Answered, "I may not."));
    assert_eq!(finished.report.deeds.len(), 1);
    assert_eq!(finished.report.deeds[0].outcome, "refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn words_against_what_is_followed_are_shown_before_a_human_approves_it() {
    let home = Home::new(&[]);
    let against = format!(
        "Do not: this is the only copy, and {} is its key. {}",
        "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",
        "x".repeat(600)
    );
    let servers = servers([
        vec![writes(&home, "a"), says("Done.")],
        vec![writes(&home, "a"), says("Done.")],
        vec![says(&against), says("As you like.")],
    ]);
    let engine = engine(&home, &servers, true, |_| {}).await;
    let (finished, _) = home.ask(&engine, "/consensus 3 Write it").await;
    let report = &finished.report;
    assert_eq!(report.ending, Ending::Parked, "{:?}", report.notice);
    let ballot = &report.rounds[0].ballots[2];
    assert_eq!((ballot.kind, ballot.agrees, ballot.lines.len()), ("words", false, 1), "{ballot:?}");
    assert!(ballot.lines[0].starts_with("Do not: this is the only copy"), "{ballot:?}");
    assert!(ballot.lines[0].chars().count() <= 401 && !ballot.lines[0].contains("ghp_"), "{ballot:?}");
    // It stands in the chat in full, beside the plan, and in the record as a line.
    assert_eq!(report.others.iter().map(|other| other.text.as_str()).collect::<Vec<_>>(), [against.as_str()]);
    assert_eq!(engine.turns(1).await.expect("it is kept")[0].report.rounds, report.rounds);
    // What it says in the next step does not take its place.
    let plan = waiting(&engine);
    let done = home.approve(&engine, &plan).await.expect("it counts");
    assert_eq!((done.report.text.as_str(), done.report.others.len()), ("Done.", 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_every_step_of_a_turn_stay_and_so_do_those_beside_acts() {
    let home = Home::new(&[("notes.org", NOTES)]);
    let servers = servers([
        vec![searches("boiler", "One wants to find the note about it."), says("From one.")],
        vec![searches("boiler", "Two wants to find the note about it."), says("From two.")],
        vec![says("It is from 1998."), says("From three.")],
        vec![searches("pipe", "Four wants to find the note about it."), says("From four.")],
    ]);
    let engine = engine(&home, &servers, true, |_| {}).await;
    let (finished, _) = home.ask(&engine, "/consensus 4 What about the boiler?").await;
    let report = &finished.report;
    assert_eq!(report.rounds.iter().map(kinds).collect::<Vec<_>>().len(), 2);
    let others: Vec<&str> = report.others.iter().map(|other| other.text.as_str()).collect();
    assert_eq!(others, ["It is from 1998.", "From two.", "From three.", "From four."]);
    let lines = |index: usize| report.rounds[0].ballots[index].lines.clone();
    // Whoever loses has said why beside it; who is followed says it in the chat.
    assert_eq!(lines(3), ["memory-search {\"query\":\"pipe\"}", "Looking."]);
    assert_eq!(lines(0), ["memory-search {\"query\":\"boiler\"}"]);
}

/// A name, and what a provider does that gives no answer.
type Fault = (&'static str, fn() -> Script);

fn faults() -> Vec<Fault> {
    vec![
        ("dead", || status(500)),
        ("busy", || status(429)),
        ("refused", || status(401)),
        ("gone", || status(404)),
        ("cut", || says("Half of it").cut_after("Half")),
        ("garbage", || Script::raw(200, "text/html", "<html></html>")),
        ("redirect", || status(307).header("location", "http://127.0.0.1:9/v1/")),
        ("mute", Script::nothing),
        ("stalled", || says("Half of it").silent_after("Half")),
        ("nothing said", || says(" ")),
        ("unreadable", || Script::answer(Dialect::OpenAi, &[], &[("c", "memory-search", json!([1]))])),
        ("broken plist", || says("(:tool memory-search :args (:query \"x")),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_fails_has_no_vote_and_stops_nobody() {
    let mut cases = 0;
    for (fault, script) in faults() {
        let waits = ["mute", "stalled"].contains(&fault);
        let places = [("consensus", 0), ("fork", 1), ("consensus", 2), ("fork", 0)];
        for (mode, at) in places.into_iter().take(if waits { 2 } else { 4 }) {
            let home = Home::new(&[("notes.org", NOTES)]);
            let servers: Vec<FakeServer> =
                (0..3).map(|n| FakeServer::start([if n == at { script() } else { says(NAMES[n]) }])).collect();
            // Who waits is not taken for one who fails because the machine is busy.
            let patience = if waits { 3 } else { 20 };
            let short = |config: &mut Config| (config.request_timeout, config.stall_timeout) = (patience, patience);
            let engine = engine(&home, &servers, true, short).await;
            let (finished, streamed) = home.ask(&engine, &format!("/{mode} 3 What about the boiler?")).await;
            let (report, name) = (&finished.report, format!("{fault} at {at}, {mode}"));
            let first = NAMES[usize::from(at == 0)];
            assert_eq!((report.ending, by(&finished)), (Ending::Answered, Some(first)), "{name}: {:?}", report.notice);
            assert_eq!(streamed, first, "{name}: nothing of the one that failed is shown");
            assert_eq!(report.others.len(), 1, "{name}");
            let round = &report.rounds[0];
            assert_eq!(round.ballots[at].kind, "none", "{name}: {round:?}");
            assert!(!round.ballots[at].lines.concat().is_empty(), "{name}: it says why");
            assert!(report.notice.as_deref().unwrap_or_default().contains(NAMES[at]), "{name}: {:?}", report.notice);
            let calls = engine.calls(100).await.expect("the ledger");
            // In a fork what cannot be read goes back to the one who said it.
            let again = mode == "fork" && ["unreadable", "broken plist"].contains(&fault);
            assert_eq!(calls.len(), 3 + usize::from(again), "{name}: each call is written down");
            engine.close().await;
            cases += 1;
        }
    }
    survived(format!("{cases} turns of three models with one that fails"));
}

#[tokio::test(flavor = "multi_thread")]
async fn when_all_fail_the_rest_of_the_cascade_is_asked_and_then_it_is_said() {
    let mut cases = 0;
    for (fault, script) in faults().into_iter().take(9) {
        for mode in ["consensus", "fork"] {
            for rest in [true, false] {
                let home = Home::new(&[]);
                let mut servers = servers([vec![script()], vec![script()]]);
                if rest {
                    servers.push(FakeServer::start([says("From the rest.")]));
                }
                let short = |config: &mut Config| (config.request_timeout, config.stall_timeout) = (1, 1);
                let engine = engine(&home, &servers, true, short).await;
                let (finished, _) = home.ask(&engine, &format!("/{mode} 2 What about the boiler?")).await;
                let (report, name) = (&finished.report, format!("{fault}, {mode}, {rest}"));
                let notice = report.notice.clone().unwrap_or_default();
                match rest {
                    true => assert_eq!(by(&finished), Some("three"), "{name}: {notice}"),
                    false => assert_eq!(report.ending, Ending::Failed, "{name}: {notice}"),
                }
                assert!(notice.contains("one") && notice.contains("two"), "{name}: {notice}");
                assert_eq!(report.rounds[0].followed, None, "{name}");
                engine.close().await;
                cases += 1;
            }
        }
    }
    survived(format!("{cases} turns of models that all fail"));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_model_is_asked_as_always() {
    for (question, count) in [("/consensus 1 boiler?", 2), ("/fork 1 boiler?", 2), ("/consensus 3 boiler?", 1)] {
        let home = Home::new(&[]);
        let servers: Vec<FakeServer> = (0..count).map(|_| FakeServer::start([says("Alone.")])).collect();
        let engine = engine(&home, &servers, true, |_| {}).await;
        let (finished, streamed) = home.ask(&engine, question).await;
        let report = &finished.report;
        assert_eq!((by(&finished), streamed.as_str(), report.rounds.len()), (Some("one"), "Alone.", 0), "{question}");
        assert!(servers.iter().skip(1).all(|server| server.connections() == 0));
        let told = report.notice.as_deref().unwrap_or_default().contains("Only one model was asked");
        assert_eq!(told, count == 1, "{question}: {:?}", report.notice);
        let body = servers[0].requests()[0].json();
        let writes = body["tools"].to_string().contains("write-file");
        assert_eq!(writes, !question.starts_with("/fork"), "a fork is told of tools that read");
        assert!(!body.to_string().contains("/consensus") && !body.to_string().contains("/fork"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_of_work_has_its_own_number_of_models() {
    let home = Home::new(&[]);
    let servers = servers([vec![says("a"), says("a")], vec![says("b"), says("b")]]);
    let set = |config: &mut Config| {
        let variables =
            [("HOME".to_string(), "/x".to_string()), ("CONSENSUS".to_string(), "code=2,cod=3 plan=9".into())];
        let read = Config::read(&passepartout::edge::config::Surroundings { variables: variables.into() });
        assert_eq!(read.notices.iter().filter(|notice| notice.contains("consensus")).count(), 2, "{:?}", read.notices);
        config.consensus = read.consensus;
    };
    let engine = engine(&home, &servers, true, set).await;
    let (chat, _) = home.ask(&engine, "What about the boiler?").await;
    assert_eq!((chat.report.rounds.len(), servers[1].connections()), (0, 0));
    let (code, _) = home.ask(&engine, "fix the bug").await;
    assert_eq!((code.report.rounds.len(), code.report.others.len(), servers[1].connections()), (1, 1, 1));
    assert_eq!(code.report.rounds[0].mode, Mode::Consensus);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_sent_anything_before_the_human_confirmed_all() {
    let home = Home::new(&[]);
    let servers = servers([vec![says("From one.")], vec![says("From two.")], vec![says("From three.")]]);
    let engine = engine(&home, &servers, false, |_| {}).await;
    let mut finished = home.ask(&engine, "/fork 3 What about the boiler?").await.0;
    for confirmed in 1..=3 {
        assert_eq!(finished.report.ending, Ending::Parked, "{confirmed}: {:?}", finished.report.notice);
        assert!(servers.iter().all(|server| server.connections() == 0), "{confirmed}");
        let plan = waiting(&engine);
        assert_eq!(plan.action.text("provider"), Some(NAMES[confirmed - 1]));
        finished = home.approve(&engine, &plan).await.expect("it counts");
    }
    assert_eq!((by(&finished), finished.report.others.len()), (Some("one"), 2));
    assert!(servers.iter().all(|server| server.connections() == 1), "each once");
    // Where nobody can be asked, those that were not confirmed have no vote.
    let unasked = Home::new(&[]);
    let again = self::engine(&unasked, &servers, false, |config| config.attended = false).await;
    let cli = passepartout::domain::signal::Origin { source: passepartout::domain::signal::Source::Cli, ..origin() };
    let asked = ask_from(cli, "/consensus 2 What about the boiler?");
    let alone = again.ask(asked, again.new_turn(), &mut |_| {}).await;
    assert_eq!(alone.report.ending, Ending::Failed);
    assert!(servers.iter().all(|server| server.connections() == 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_private_is_asked_of_models_here_alone_and_makes_all_of_it_private() {
    for mode in ["consensus", "fork"] {
        let home = Home::new(&[("notes.org", NOTES)]);
        let (far, near, here) =
            (FakeServer::start([says("Far.")]), FakeServer::start([says("Near.")]), FakeServer::start([says("Here.")]));
        let set = |config: &mut Config| {
            let all = [("far", &far, false), ("near", &near, true), ("here", &here, true)];
            provide(config, &all, &["far", "near", "here"]);
        };
        let engine = home.engine_with(set).await;
        home.read(&engine).await;
        engine.confirm_provider("far", &format!("{}/v1/", far.url())).await.expect("it is stored");
        let byte = NOTES.find("* Health").expect("it is there");
        engine.focus_at(&home.file("notes.org"), byte).expect("a heading");
        let (finished, _) = home.ask(&engine, &format!("/{mode} 3 What is the diagnosis?")).await;
        assert_eq!((by(&finished), far.connections()), (Some("near"), 0), "{mode}: {:?}", finished.report.notice);
        assert_eq!(finished.report.others.len(), 1, "{mode}");
        assert_eq!(finished.report.conversation.labels.privacy, Privacy::Private, "{mode}: of all of its answers");
        assert_eq!(engine.known_privacy(&origin().session), Privacy::Private, "{mode}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mixed_round_is_as_private_as_its_most_private_answer() {
    let home = Home::new(&[("notes.org", NOTES)]);
    let (far, near) = (FakeServer::start([says("Far.")]), FakeServer::start([says("Near: the diagnosis.")]));
    let set = |config: &mut Config| provide(config, &[("far", &far, false), ("near", &near, true)], &["far", "near"]);
    let engine = home.engine_with(set).await;
    home.read(&engine).await;
    engine.confirm_provider("far", &format!("{}/v1/", far.url())).await.expect("it is stored");
    let (finished, _) = home.ask(&engine, "/fork 2 What is the diagnosis of health?").await;
    assert_eq!((by(&finished), finished.report.others.len()), (Some("far"), 1), "{:?}", finished.report.notice);
    assert!(!far.requests()[0].body.contains("ZANZIBAR7") && near.requests()[0].body.contains("ZANZIBAR7"));
    assert_eq!(finished.report.conversation.labels.privacy, Privacy::Private);
    let (next, _) = home.ask(&engine, "And now?").await;
    assert_eq!((by(&next), far.connections()), (None, 1), "it goes nowhere else any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn caps_are_for_all_of_them_together() {
    let prices = "| provider | model | from | in | cached | out |\n| * | m | 2026-01-01 | 3 | 0.30 | 15 |\n";
    // One call is estimated at six cents and something for the prompt.
    for (cap, rounds, calls, ending) in
        [("9.00", 1, 3, Ending::Answered), ("0.12", 0, 1, Ending::Answered), ("0.01", 0, 0, Ending::Failed)]
    {
        let home = Home::new(&[]);
        let folder = home.config().settings;
        std::fs::create_dir_all(&folder).expect("the settings' folder");
        std::fs::write(folder.join("prices.org"), prices).expect("it is written");
        let servers = servers([vec![says("a")], vec![says("b")], vec![says("c")]]);
        let set = |config: &mut Config| {
            config.caps.day = Some(passepartout::domain::money::Micros::parse(cap).expect("an amount"));
        };
        let engine = engine(&home, &servers, false, set).await;
        for (name, server) in NAMES.iter().zip(&servers) {
            engine.confirm_provider(name, &format!("{}/v1/", server.url())).await.expect("it is stored");
        }
        let (finished, _) = home.ask(&engine, "/consensus 3 What about the boiler?").await;
        let notice = finished.report.notice.clone().unwrap_or_default();
        assert_eq!((finished.report.ending, finished.report.rounds.len()), (ending, rounds), "{cap}: {notice}");
        let made: usize = servers.iter().map(FakeServer::connections).sum();
        assert_eq!((made, engine.calls(100).await.expect("the ledger").len()), (calls, calls), "{cap}");
        let told = if calls == 0 { 3 } else { 1 - rounds };
        assert_eq!(notice.matches("the cap of this day").count(), told, "{cap}: {notice}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_be_asked_takes_no_place() {
    let home = Home::new(&[("notes.org", NOTES)]);
    let servers = servers([vec![], vec![says("From two.")], vec![says("From three.")]]);
    let named = [("one", &servers[0], false), ("two", &servers[1], true), ("three", &servers[2], true)];
    let settings = home.config().settings;
    std::fs::create_dir_all(&settings).expect("the settings' folder");
    let price = "| provider | model | from | in | cached | out |\n| one | m | 2026-01-01 | 3000 | 30 | 15000 |\n";
    std::fs::write(settings.join("prices.org"), price).expect("it is written");
    let engine = home
        .engine_with(|config| {
            let variables = [("DAY_BUDGET_USD".to_string(), "0.01".to_string())].into();
            config.caps = Config::read(&passepartout::edge::config::Surroundings { variables }).caps;
            provide(config, &named, &["one", "two", "three"]);
        })
        .await;
    home.read(&engine).await;
    let (done, _) = home.ask(&engine, "/consensus 2 how old is the boiler?").await;
    assert_eq!(by(&done), Some("two"), "{:?}", done.report.notice);
    let asked: Vec<usize> = servers.iter().map(|server| server.requests().len()).collect();
    assert_eq!(asked, [0, 1, 1]);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_too_long_is_not_waited_for() {
    let home = Home::new(&[]);
    let drip = says(&"x".repeat(4_000)).in_pieces(1).dripping(Duration::from_millis(200));
    let servers = servers([vec![drip], vec![says("In time.")]]);
    let engine = engine(&home, &servers, true, |config| config.consensus_timeout = 4).await;
    let (finished, streamed) = home.ask(&engine, "/consensus 2 What about the boiler?").await;
    assert_eq!((by(&finished), streamed.as_str()), (Some("two"), "In time."), "{:?}", finished.report.notice);
    let why = finished.report.rounds[0].ballots[0].lines.concat();
    assert!(why.contains("after 4 seconds") && why.contains("passepartout-consensus-timeout"), "{why}");
    engine.flush().await.expect("it is kept");
    let mut states: Vec<String> =
        engine.calls(9).await.expect("the ledger").into_iter().map(|call| call.status).collect();
    states.sort();
    assert_eq!(states, ["answered", "stopped"], "what was broken off stands in the ledger, too");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_can_change_nothing_any_more_is_not_waited_for() {
    let home = Home::new(&[("notes.org", NOTES)]);
    let agrees = |name: &str| vec![searches("boiler", &format!("{name} wants to find it.")), says(name)];
    let servers = servers([agrees("one"), agrees("two"), vec![Script::nothing(), Script::nothing()]]);
    let patient = |config: &mut Config| {
        (config.request_timeout, config.stall_timeout, config.consensus_timeout) = (600, 600, 600);
    };
    let engine = engine(&home, &servers, true, patient).await;
    let asked = home.ask(&engine, "/consensus 3 What about the boiler?");
    let (finished, streamed) =
        tokio::time::timeout(Duration::from_secs(120), asked).await.expect("it is not waited for");
    let report = &finished.report;
    assert_eq!((report.ending, by(&finished)), (Ending::Answered, Some("one")), "{:?}", report.notice);
    assert!(streamed.ends_with("one"), "{streamed}");
    let rounds: Vec<String> = report.rounds.iter().map(kinds).collect();
    assert_eq!(rounds, ["one*:acts two:acts three:none", "one*:words two:words three:none"]);
    for round in &report.rounds {
        assert_eq!(round.ballots[2].lines, ["not waited for, as the others had decided"]);
    }
    assert!(report.notice.as_deref().is_some_and(|notice| notice.contains("No vote of three: not waited for")));
    engine.flush().await.expect("it is kept");
    let calls = engine.calls(9).await.expect("the ledger");
    let of_three: Vec<&str> =
        calls.iter().filter(|call| call.provider == "three").map(|call| call.status.as_str()).collect();
    assert_eq!((calls.len(), of_three), (6, vec!["stopped", "stopped"]), "it was hung up on, and has not failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_hangs_up_on_all_of_them() {
    for mode in ["consensus", "fork"] {
        let home = Home::new(&[]);
        let came = Arc::new(tokio::sync::Semaphore::new(0));
        let told = |script: Script| {
            let came = came.clone();
            vec![script.meanwhile(move || came.add_permits(1))]
        };
        let half = says("Half of it").silent_after("Half");
        let servers = servers([told(Script::nothing()), told(half), told(Script::nothing())]);
        let engine = engine(&home, &servers, true, |_| {}).await;
        {
            let mut sink = |_: Streamed<'_>| {};
            let asked = words(&format!("/{mode} 3 What about the boiler?"));
            let turn = engine.ask(asked, engine.new_turn(), &mut sink);
            tokio::select! {
                _ = turn => panic!("{mode}: it ended"),
                all = came.acquire_many(3) => drop(all.expect("it is open")),
            }
        }
        let gone = tokio::task::spawn_blocking(move || servers.iter().all(|server| server.wait_gone(1)));
        assert!(gone.await.expect("it is seen"), "{mode}: a connection is still open");
        engine.flush().await.expect("it is kept");
        let calls = engine.calls(9).await.expect("the ledger");
        assert!(calls.len() == 3 && calls.iter().all(|call| call.status == "stopped"), "{mode}: {calls:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_a_fork_looks_up_what_it_likes_and_answers_by_itself() {
    let home = Home::new(&[("notes.org", NOTES)]);
    let looks = |query: &str| searches(query, "To find the note about it.");
    let servers = servers([
        vec![looks("boiler"), says("One: from 1998.")],
        vec![looks("boiler"), looks("pipe"), says("Two: from 1998, and no pipe.")],
        vec![says("Three: I know it.")],
    ]);
    let engine = engine(&home, &servers, true, |_| {}).await;
    let (finished, streamed) = home.ask(&engine, "/fork 3 What about the boiler?").await;
    let report = &finished.report;
    assert_eq!((report.ending, by(&finished)), (Ending::Answered, Some("one")), "{:?}", report.notice);
    assert_eq!(report.text, "One: from 1998.");
    assert!(streamed.ends_with("One: from 1998.") && !streamed.contains("Two:"), "{streamed}");
    let others: Vec<&str> = report.others.iter().map(|other| other.text.as_str()).collect();
    assert_eq!(others, ["Two: from 1998, and no pipe.", "Three: I know it."]);
    assert_eq!(kinds(&report.rounds[0]), "one*:words two:words three:words");
    // Each was told what it had looked up, and nothing of what the others had.
    let bodies: Vec<Vec<String>> =
        servers.iter().map(|server| server.requests().iter().map(|request| request.body.clone()).collect()).collect();
    assert_eq!(bodies.iter().map(Vec::len).collect::<Vec<_>>(), [2, 3, 1]);
    assert!(bodies[0][1].contains("The boiler is from 1998.") && !bodies[0][1].contains("pipe"));
    assert!(bodies[1][2].contains("The boiler is from 1998.") && bodies[1][2].contains("pipe"));
    // What each looked up was judged, and the trace says for whom.
    let summaries: Vec<&str> = report.deeds.iter().map(|deed| deed.summary.as_str()).collect();
    assert_eq!(summaries.iter().filter(|summary| summary.starts_with("for two: ")).count(), 2, "{summaries:?}");
    assert!(report.deeds.iter().all(|deed| deed.trace.is_some()), "{:?}", report.deeds);
    assert_eq!((report.spent.all().calls, report.usage.input), (6, 66));
    // The last request of each is shown.
    let shown = engine.inspect_last(&origin()).await.expect("they can be shown");
    assert_eq!(shown.len(), 3);
    assert!(shown.iter().any(|one| one.provider == "two" && one.text.contains("pipe")), "{shown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_changed_and_nobody_is_asked_in_a_fork() {
    let home = Home::new(&[("notes.org", NOTES)]);
    let asks = || {
        let args = json!({"url": "https://example.org/", "explanation": "To read what stands on this page."});
        Script::answer(Dialect::OpenAi, &[], &[("c", "fetch-url", args)])
    };
    let secret = || {
        let args =
            json!({"path": home.config().home.join(".ssh/id_rsa"), "explanation": "To see what stands in this file."});
        Script::answer(Dialect::OpenAi, &[], &[("c", "read-file", args)])
    };
    let lists = || {
        let args = json!({"explanation": "To see which files there are."});
        Script::answer(Dialect::OpenAi, &[], &[("c", "list-files", args)])
    };
    let servers = servers([
        vec![writes(&home, "a"), writes(&home, "b"), writes(&home, "c")],
        vec![writes(&home, "a"), secret(), says("In words.")],
        vec![asks(), lists(), says("Also in words.")],
    ]);
    let set = |config: &mut Config| {
        config.permissions.insert("list-files".into(), Level::Ask);
    };
    let engine = engine(&home, &servers, true, set).await;
    let (finished, _) = home.ask(&engine, "/fork 3 Write it").await;
    let report = &finished.report;
    assert_eq!((report.text.as_str(), report.others.len()), ("In words.", 1), "{:?}", report.notice);
    let notice = report.notice.as_deref().unwrap_or_default();
    assert!(notice.contains("No answer of one: ") && notice.contains("a fork is for answers"), "{notice}");
    assert!(engine.plans(false).is_empty(), "nothing waits");
    assert!(!std::path::Path::new(&home.project("made.txt")).exists());
    assert!(report.deeds.iter().all(|deed| deed.outcome.contains("refused") || deed.trace.is_none()), "{report:?}");
    let unasked = servers[2].requests()[2].body.clone();
    assert!(unasked.contains("the user would have to be asked first"), "{unasked}");
    let told = servers[1].requests()[1].body.clone();
    assert!(told.contains("a fork is for answers") && told.contains("memory-search"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_a_fork_that_never_comes_to_words_ends_at_its_limit() {
    let home = Home::new(&[("notes.org", NOTES)]);
    let endless = (0..20).map(|n| searches(&format!("boiler {n}"), "To find the note about it.")).collect();
    let servers = servers([endless, vec![says("In words.")]]);
    let engine = engine(&home, &servers, true, |_| {}).await;
    let (finished, _) = home.ask(&engine, "/fork 2 What about the boiler?").await;
    let report = &finished.report;
    assert_eq!((report.ending, by(&finished), report.text.as_str()), (Ending::Answered, Some("two"), "In words."));
    assert!(report.notice.as_deref().unwrap_or_default().contains("No answer of one: Stopped after"));
    assert!(servers[0].connections() <= 12, "{}", servers[0].connections());
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_were_not_followed_are_named_to_the_next_question_and_can_be_read() {
    use passepartout::domain::signal::{Role, Said};
    let home = Home::new(&[]);
    let said = |role, text: &str, aside| Said { role, text: text.to_string(), privacy: Privacy::Open, aside };
    let history = vec![
        said(Role::User, "Which wood?", false),
        said(Role::Assistant, "Oak it is.\nIt is hard.", false),
        said(Role::Assistant, "Take pine.\nIt is SOFT9.", true),
    ];
    let server = FakeServer::start([says("Named.")]);
    let engine = engine(&home, std::slice::from_ref(&server), true, |_| {}).await;
    let ask = passepartout::edge::engine::turns::Ask { history: history.clone(), ..words("And why?") };
    engine.ask(ask, engine.new_turn(), &mut |_| {}).await;
    let body = server.requests()[0].body.clone();
    assert!(body.contains("Oak it is.") && body.contains("It is hard."), "{body}");
    assert!(body.contains("“Take pine.”") && !body.contains("SOFT9"), "{body}");
    let name = body.split("- ").find_map(|line| line.split_once(" “Take pine.”")).expect("it is named").0.to_string();
    server.push(Script::answer(
        Dialect::OpenAi,
        &[],
        &[("c", "reopen-turn", json!({"turn": name, "explanation": "To read what the other answer said."}))],
    ));
    server.push(says("Read."));
    let ask = passepartout::edge::engine::turns::Ask { history, ..words("And why?") };
    let finished = engine.ask(ask, engine.new_turn(), &mut |_| {}).await;
    assert_eq!(finished.report.text, "Read.", "{:?}", finished.report);
    let told = server.requests()[2].body.clone();
    assert!(told.contains("SOFT9"), "{name}: {told}");
}
