//! Answers that are not whole: a limit of tokens or a content filter ended them. What was said stays, and that it is not
//! all is said; nothing that it wants is done.

use super::*;
use crate::support::engine::{Home, provide};
use passepartout::domain::turn::Ending;
use passepartout::edge::engine::Engine;

const NOTES: &str = "* Boiler\nThe boiler is from 1998.\n";

/// A protocol, the word by which it says that a limit of tokens was reached, and the one of its filter if it has one.
const WORDS: [(Dialect, &str, Option<&str>); 4] = [
    (Dialect::OpenAi, "length", Some("content_filter")),
    (Dialect::Anthropic, "max_tokens", Some("refusal")),
    (Dialect::Gemini, "MAX_TOKENS", Some("SAFETY")),
    (Dialect::Ollama, "length", None),
];

fn kind_name(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenAi => "openai",
        Dialect::Anthropic => "anthropic",
        Dialect::Gemini => "gemini",
        Dialect::Ollama => "ollama",
    }
}

async fn engine(home: &Home, dialect: Dialect, servers: &[(&str, &FakeServer)]) -> Arc<Engine> {
    let named: Vec<(&str, &FakeServer, bool)> = servers.iter().map(|(name, server)| (*name, *server, true)).collect();
    let cascade: Vec<&str> = servers.iter().map(|(name, _)| *name).collect();
    let engine = home
        .engine_with(|config| {
            provide(config, &named, &cascade);
            config.providers.iter_mut().for_each(|one| one.kind = kind_name(dialect).to_string());
        })
        .await;
    home.read(&engine).await;
    engine
}

fn says(text: &str) -> Script {
    Script::answer(Dialect::OpenAi, &[text], &[])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_not_whole_stays_and_says_so() {
    for (dialect, limit, filter) in WORDS {
        let cases = [(limit, "limit of tokens")].into_iter().chain(filter.map(|word| (word, "content filter")));
        for (reason, words) in cases {
            let home = Home::new(&[("notes.org", NOTES)]);
            let half = Script::answer(dialect, &["The boiler was bought in"], &[]).stopped_by(reason);
            let server = FakeServer::start([half, Script::answer(dialect, &["It is old."], &[])]);
            let engine = engine(&home, dialect, &[("fake", &server)]).await;
            let (done, streamed) = home.ask(&engine, "What about the boiler?").await;
            let at = format!("{dialect:?} {reason}");
            assert_eq!((done.report.ending, streamed.as_str()), (Ending::Answered, "The boiler was bought in"), "{at}");
            assert_eq!(done.report.text, streamed, "{at}");
            let notice = done.report.notice.unwrap_or_default();
            assert!(notice.contains("The answer ends here because") && notice.contains(words), "{at}: {notice}");
            assert!(notice.contains("fake"), "{at}: {notice}");
            // The trace says it as well.
            let kept = engine.turns(1).await.expect("it is kept");
            assert_eq!(kept[0].report.notice.as_deref(), Some(notice.as_str()), "{at}");
            // A whole one says nothing.
            let (done, _) = home.ask(&engine, "And?").await;
            assert_eq!(done.report.notice, None, "{at}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_answer_that_is_not_whole_wants_is_not_done() {
    let written =
        "(:tool \"write-file\" :args (:path \"/tmp/x\" :content \"a\") :explanation \"So that it stands there.\")";
    for (dialect, limit, _) in WORDS {
        let home = Home::new(&[("notes.org", NOTES)]);
        let args = json!({"explanation": "To find what is said of it.", "query": "boiler"});
        let calls = [("call_a", "memory-search", args)];
        for half in [Script::answer(dialect, &["Looking."], &calls), Script::answer(dialect, &[written], &[])] {
            let server = FakeServer::start([half.stopped_by(limit), Script::answer(dialect, &["Then not."], &[])]);
            let engine = engine(&home, dialect, &[("fake", &server)]).await;
            let (done, _) = home.ask(&engine, "What about the boiler?").await;
            assert_eq!((done.report.ending, done.report.text.as_str()), (Ending::Answered, "Then not."), "{dialect:?}");
            assert!(done.report.deeds.iter().all(|deed| deed.trace.is_none()), "{dialect:?}: {:?}", done.report.deeds);
            assert_eq!(done.report.deeds.len(), 1, "{dialect:?}: it is in the trace");
            // The model learns why, and can ask for less at once.
            let told = server.requests()[1].body.clone();
            assert!(told.contains("before it was whole"), "{dialect:?}: {told}");
            engine.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_not_whole_has_no_vote_where_others_have_one() {
    let half = || says("The boiler was bought in").stopped_by("length");
    let by = |done: &passepartout::edge::engine::record::Finished| {
        done.report.answered_by.as_ref().map(|(provider, _)| provider.clone()).unwrap_or_default()
    };
    for mode in ["consensus", "fork"] {
        for (others, expected) in [([says("In 1998."), says("In 1998, too.")], "two"), ([half(), half()], "one")] {
            let home = Home::new(&[("notes.org", NOTES)]);
            let [second, third] = others;
            let servers = [half(), second, third].map(|reply| FakeServer::start([reply]));
            let named = [("one", &servers[0]), ("two", &servers[1]), ("three", &servers[2])];
            let engine = engine(&home, Dialect::OpenAi, &named).await;
            let (done, _) = home.ask(&engine, &format!("/{mode} 3 When was it bought?")).await;
            assert_eq!(
                (done.report.ending, by(&done).as_str()),
                (Ending::Answered, expected),
                "{mode}: {:?}",
                done.report
            );
            assert_eq!(done.report.rounds[0].ballots[0].kind, "none", "{mode}");
            let notice = done.report.notice.unwrap_or_default();
            assert_eq!(notice.contains("The answer ends here"), expected == "one", "{mode}: {notice}");
            // Nothing of it is lost: it was paid for. What is not whole says so wherever it stands.
            let beside = done.report.others;
            assert_eq!(beside.len(), 2, "{mode}: {beside:?}");
            for other in beside {
                assert_eq!(
                    other.text.contains("The answer ends here"),
                    other.text.starts_with("The boiler"),
                    "{other:?}"
                );
            }
        }
    }
}

#[test]
fn a_limit_is_known_also_where_the_server_hangs_up_behind_it() {
    let half = Script::answer(Dialect::OpenAi, &["The boiler"], &[]).stopped_by("length");
    let server = FakeServer::start([half.cut_after("\"finish_reason\":\"length\"")]);
    let answer = ask(&patient(Dialect::OpenAi, &server), &prompt("hi")).0.expect("its end came");
    assert_eq!((answer.text.as_str(), answer.ended), ("The boiler", Ended::Limit));
}
