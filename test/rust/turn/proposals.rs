//! What a model says becomes words or calls; what is neither goes back to it with where it breaks.

use super::*;
use passepartout::domain::port::{Completion, Ended, Thinking, Thought};
use passepartout::domain::turn::proposal;
use std::time::{Duration, Instant};

fn completion(text: &str) -> Completion {
    Completion {
        provider: "fake".into(),
        model: "m".into(),
        text: text.into(),
        ended: Ended::Whole,
        thinking: Thinking::default(),
        calls: Vec::new(),
        unreadable: Vec::new(),
        labels: Labels::MODEL,
        usage: None,
        attempts: 1,
        sources: Vec::new(),
    }
}

/// A call: id, tool and arguments.
type Seen = (&'static str, &'static str, serde_json::Value);

/// Reads a text as words and calls.
fn read(text: &str) -> Result<(String, Vec<Call>), String> {
    proposal::parse(&completion(text))
}

const SEARCH: &str = r#"(:tool "memory-search" :args (:query "boiler") :explanation "To find it.")"#;

#[test]
fn plists_at_the_beginning_of_a_text_are_calls() {
    let whole = format!("(:type :request :target :tool :payload {})", SEARCH.replace("(:tool", "(:action :call :tool"));
    let first = || ("plist", "memory-search", json!({"query": "boiler", "explanation": "To find it."}));
    let second = || ("plist-2", "message", json!({"text": "Done."}));
    let message = r#"(:TOOL message :ARGS (:TEXT "Done."))"#;
    let one = |words: &'static str| (words, vec![first()]);
    let two = |words: &'static str| (words, vec![first(), second()]);
    let cases: Vec<(String, (&str, Vec<Seen>))> = vec![
        (SEARCH.to_string(), one("")),
        (whole.clone(), one("")),
        (whole.replace(":type :request", ":TYPE :REQUEST").replace(":payload", ":Payload"), one("")),
        (SEARCH.replace("\"memory-search\"", "Memory-Search"), one("")),
        (format!("  \n```lisp\n{SEARCH}\n```\n"), one("")),
        (format!("```\n{SEARCH}\n```"), one("")),
        (format!("```lisp\n{SEARCH}"), one("")),
        (format!("{SEARCH}\nThat finds it."), one("That finds it.")),
        (format!("```lisp\n{SEARCH}\n```\nAnd then (perhaps) more."), one("And then (perhaps) more.")),
        (format!("{SEARCH}{message}"), two("")),
        (format!("```lisp\n{SEARCH}\n\n{message}\n```\n\nBoth."), two("Both.")),
        (format!("```lisp\n{SEARCH}\n```\n```lisp\n{message}\n```"), two("")),
        (format!("{SEARCH} (:type :request :payload (:action :message :text \"Hello.\"))"), one("Hello.")),
        ("(:tool git-status)".to_string(), ("", vec![("plist", "git-status", json!({}))])),
        ("(:tool git-status :args nil)".to_string(), ("", vec![("plist", "git-status", json!({}))])),
        ("(:action :message :text \"Hello.\")".to_string(), ("Hello.", Vec::new())),
    ];
    for (text, (words, calls)) in cases {
        let read = read(&text).unwrap_or_else(|why| panic!("{text}: {why}"));
        let seen: Vec<_> = read.1.iter().map(|call| (call.id.as_str(), call.tool.as_str(), json!(call.args))).collect();
        assert_eq!((read.0.as_str(), seen), (words, calls), "{text}");
    }
}

#[test]
fn everything_else_is_words() {
    for text in [
        "Call (:tool \"shell\" :args (:command \"ls\")).",
        "An example:\n```lisp\n(:tool \"shell\" :args (:command \"ls\"))\n```",
        "#.(delete-file \"/tmp/x\")",
        "(#1=(:tool . #1#))",
        "(tool shell)",
        "(:toolbox t)",
        "```\nno list\n```",
        "``` (:tool x)```",
        "()",
        "(",
        "(:",
        "",
        "(((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((",
        "(perhaps) this is an aside",
    ] {
        assert_eq!(read(text), Ok((text.to_string(), Vec::new())), "{text}");
    }
}

#[test]
fn what_cannot_be_read_says_where_it_breaks() {
    let deep = format!("(:tool x :args (:a {}", "(".repeat(200));
    for (text, place, what) in [
        ("(:tool \"shell\" :args (:command \"ls\"", "line 1, column 22", "it ends inside a list"),
        ("(:tool \"shell\" :args (:command \"ls))", "line 1", "it ends inside a string"),
        ("```lisp\n(:tool #.(shell-command \"id\"))\n```", "line 2, column 8", "“#” forms are not read"),
        (&format!("{SEARCH}\n  (:tool [x])"), "line 2, column 10", "“[” is not part of the protocol"),
        (deep.as_str(), "line 1, column 8", "nested deeper than 64"),
        ("(:args (:a 1))", "", ""),
        ("(:payload (:args (:a 1)))", "line 1, column 1", "it names no tool"),
        ("(:tool x :args (:a))", "line 1, column 1", "no pairs of a keyword and a value"),
        ("(:tool x :args \"a\")", "line 1, column 1", "no pairs of a keyword and a value"),
        ("(:action :message)", "line 1, column 1", "a message without"),
        (&SEARCH.repeat(65), "line 1, column ", "more than 64 calls"),
        ("(:tool \"é漢\" 字 )", "line 1", "“字” is not part of the protocol"),
    ] {
        if what.is_empty() {
            assert!(read(text).is_ok(), "it is no beginning that we know: {text}");
            continue;
        }
        let why = read(text).expect_err(text);
        assert!(why.contains(place) && why.contains(what), "{text}: {why}");
        assert!(why.contains("Nothing was done") && why.len() < 700, "{why}");
    }
}

#[test]
fn ten_megabytes_are_refused_at_once() {
    let began = Instant::now();
    for text in [
        format!("(:tool \"{}", "x".repeat(10 << 20)),
        format!("(:tool {}", "(".repeat(10 << 20)),
        format!("(:tool x :args ({}", ":a 1 ".repeat(2 << 20)),
        SEARCH.repeat((10 << 20) / SEARCH.len()),
    ] {
        let why = read(&text).expect_err("too much");
        assert!(why.len() < 700, "{}", why.len());
    }
    let words = "(word) ".repeat((10 << 20) / 7);
    assert_eq!(read(&words), Ok((words, Vec::new())));
    // Far more than it takes: it fails when time grows with the square of the length.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn what_was_thought_is_no_proposal() {
    let thought = Thought::Words { text: SEARCH.to_string(), signature: None };
    let thinking = Thinking { by: String::new(), thoughts: vec![thought] };
    let said = Completion { thinking, ..completion("Yes.") };
    assert_eq!(proposal::parse(&said), Ok(("Yes.".to_string(), Vec::new())));
}

#[tokio::test]
async fn a_text_that_breaks_goes_back_and_the_next_try_counts() {
    let world =
        World::new([Say::Words("(:tool \"memory-search\" :args (:query"), Say::Words(SEARCH), Say::Words("Found.")]);
    let (report, _) = world.ask("find it").await;
    assert_eq!((report.ending, report.text.as_str()), (Ending::Answered, "Found."));
    let told = match &world.prompts()[1].messages[..] {
        [.., Message::Text { text, .. }] => text.clone(),
        other => panic!("{other:?}"),
    };
    assert!(told.contains("line 1, column 30") && told.contains("it ends inside a list"), "{told}");
    assert!(report.deeds[0].outcome.starts_with("refused: What you wrote looks like a call"), "{:?}", report.deeds);
    assert_eq!(report.deeds.len(), 2);
}

#[tokio::test]
async fn a_third_text_that_breaks_ends_the_turn_with_words() {
    let world = World::new([Say::Words("(:tool"), Say::Words("(:tool"), Say::Words("(:tool")]);
    let (report, _) = world.ask("find it").await;
    assert_eq!(report.ending, Ending::Failed);
    let notice = report.notice.expect("words");
    assert!(notice.contains("refused 3 times") && notice.contains("line 1, column 1"), "{notice}");
}
