//! `passepartout doctor --gates`: acts that must never happen are tried on this machine, and each line says what held.

use crate::cli::run;
use crate::support::engine::{Home, tree};
use passepartout::domain::scope::Level;
use passepartout::edge::canaries;
use passepartout::edge::config::Config;
use passepartout::edge::doctor::State;
use serde_json::Value;

/// Returns the lines of canaries: what each is about, its state, and what it says.
fn lines(doctor: &Value) -> Vec<(String, String, String)> {
    let text = |check: &Value, name: &str| check[name].as_str().unwrap_or_default().to_string();
    let all = doctor["checks"].as_array().expect("checks").iter();
    let canaries = all.filter(|check| check["name"] == "gates");
    canaries.map(|check| (text(check, "title"), text(check, "state"), text(check, "detail"))).collect()
}

#[test]
fn the_doctor_tries_what_must_never_happen_and_says_what_held() {
    let home = Home::new(&[("home.org", "* TODO Order tiles\n")]);
    let before = tree(&home.folder.path().join("memex"));
    let ran = run(&home, &["doctor", "--gates", "--json"]);
    let found = lines(&ran.json());
    let titles: Vec<&str> = found.iter().map(|(title, ..)| title.as_str()).collect();
    for title in ["A key in a message", "rm -rf", "Sending", "A private note", "A confined command", "Escape"] {
        assert!(titles.contains(&title), "{titles:?}");
    }
    for (title, state, detail) in &found {
        assert_eq!(state, "healthy", "{title}: {detail}");
    }
    assert_eq!(tree(&home.folder.path().join("memex")), before);
    assert!(lines(&run(&home, &["doctor", "--json"]).json()).is_empty(), "only when it is asked for");
}

#[tokio::test(flavor = "multi_thread")]
async fn permissions_that_allow_everything_open_no_canary() {
    let home = Home::new(&[]);
    let tools = ["message", "write-file", "shell", "read-file", "eval-lisp"];
    let allow = |config: &mut Config| config.permissions = tools.map(|tool| (tool.to_string(), Level::Allow)).into();
    let engine = home.engine_with(allow).await;
    let checks = canaries::try_all(&engine).await;
    assert!(checks.len() > 8, "{checks:?}");
    for check in checks {
        assert_ne!(check.state, State::Unhealthy, "{}: {}", check.title, check.detail);
    }
}
