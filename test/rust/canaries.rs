//! `passepartout doctor --gates`: acts that must never happen are tried on this machine, and each line says what held.

use crate::cli::{Ran, program, run};
use crate::support::engine::{Home, tree};
use crate::support::skip::skipped;
use passepartout::domain::scope::Level;
use passepartout::edge::canaries;
use passepartout::edge::config::Config;
use passepartout::edge::doctor::State;
use serde_json::Value;
use std::process::{Command, Stdio};

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
    let (.., note) = found.iter().find(|(title, ..)| title == "A private note").expect("it is tried");
    assert!(note.contains("models and embedders only, and read by no tool"), "{note}");
    assert_eq!(tree(&home.folder.path().join("memex")), before);
    assert!(lines(&run(&home, &["doctor", "--json"]).json()).is_empty(), "only when it is asked for");
}

/// Without user namespaces each command asks, which is what was promised: that is a note, and no fault.
#[test]
fn a_machine_without_namespaces_is_healthy_with_a_note() {
    let home = Home::new(&[("home.org", "* TODO Order tiles\n")]);
    let asked = program(&home);
    let mut shut = Command::new("unshare");
    shut.args(["--user", "--map-current-user", "sh", "-c"]);
    shut.arg("echo 0 > /proc/sys/user/max_user_namespaces || exit 77; exec \"$@\"").arg("sh");
    shut.arg(asked.get_program()).args(["doctor", "--gates", "--json"]).env_clear();
    shut.envs(asked.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shut.current_dir(asked.get_current_dir().expect("it has one")).stdin(Stdio::null());
    let ran: Ran = match shut.output() {
        Ok(output) if output.status.code().is_some_and(|code| code != 77) => output.into(),
        other => return skipped(format_args!("no machine without namespaces can be made here: {other:?}")),
    };
    if !ran.out.starts_with('{') {
        return skipped(format_args!("no machine without namespaces can be made here: {}", ran.err));
    }
    let doctor = ran.json();
    let line = |title: &str| {
        let checks = doctor["checks"].as_array().expect("checks");
        let found = checks.iter().find(|check| check["title"] == title).expect("the line is there");
        (
            found["state"].as_str().unwrap_or_default().to_string(),
            found["detail"].as_str().unwrap_or_default().to_string(),
        )
    };
    let (state, detail) = line("Confinement");
    if state == "degraded" {
        // This kernel's Landlock does not suffice alone: commands are refused, and nothing is called open.
        assert!(detail.contains("namespaces"), "{detail}");
        assert_eq!(line("Escape").0, "unknown");
    } else {
        assert!(detail.contains("commands ask, with fewer walls") && detail.contains("namespaces"), "{detail}");
        assert_eq!(state, "healthy");
        for title in ["Escape", "A confined command", "Lisp worker"] {
            assert_eq!(line(title).0, "healthy", "{title}: {}", line(title).1);
        }
    }
    assert_ne!(doctor["verdict"], "unhealthy", "{doctor}");
    assert_eq!(ran.status, 0);
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

#[tokio::test(flavor = "multi_thread")]
async fn canaries_are_judged_by_the_gates_of_a_turn() {
    let home = Home::new(&[]);
    let config = home.config();
    std::fs::create_dir_all(&config.settings).expect("the settings folder");
    std::fs::write(config.settings.join("rules.org"), "| tool | level |\n| shel | deny |\n").expect("a file");
    let allow = |config: &mut Config| config.permissions = [("eval-lisp".to_string(), Level::Allow)].into();
    let engine = home.engine_with(allow).await;
    let checks = canaries::try_all(&engine).await;
    let lisp = checks.iter().find(|check| check.title == "Lisp").expect("it is tried");
    // While rules cannot be read everything asks, and the doctor sees the same.
    assert!(lisp.detail.contains("rules.org: unread"), "{}", lisp.detail);
}
