//! `passepartout jobs`, as the process that owns the store tells it: what runs there runs, and its skills count.

use super::{PLANTS, confirm, elsewhere, says, tick};
use crate::cli::run;
use crate::support::engine::{Home, origin, provide};
use crate::support::fake_server::{FakeServer, Reply};
use passepartout::domain::signal::{Origin, Rights};
use passepartout::edge::cli::forward::at_owner;
use passepartout::edge::engine::Engine;
use std::sync::{Arc, Mutex};

const SKILL: &str = "#+TITLE: Rounds\n* Code\n#+NAME: job\n#+begin_src emacs-lisp\n(lambda (_) \"All is well.\")\n\
                     #+end_src\n";
const OF_SKILL: &str = "* Rounds\nSCHEDULED: <2026-03-02 Mon 08:00 +1d>\n:PROPERTIES:\n:ID: rounds\n\
                        :PP_RUN: skill:rounds\n:END:\n";

async fn told(engine: &Arc<Engine>, origin: &Origin, words: &[&str]) -> String {
    let said = at_owner(engine, origin, words.iter().map(|word| word.to_string()).collect()).await;
    let said = said.expect("the owner says it");
    assert_eq!((said.status, said.errors.as_str()), (0, ""));
    said.text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_goes_on_is_told_as_one() {
    let home = Home::new(&[("plants.org", PLANTS)]);
    let server = FakeServer::start([]);
    let engine = home.served(&server, &["fake"], true).await;
    assert!(told(&engine, &origin(), &["jobs"]).await.starts_with("waiting    Plants  ("));
    confirm(&home, &engine, "Plants").await;
    let (handle, heard) = (tokio::runtime::Handle::current(), Arc::new(Mutex::new(String::new())));
    let (there, seen) = (engine.clone(), heard.clone());
    server.push(says("They are dry.").meanwhile(move || {
        let (engine, seen) = (there.clone(), seen.clone());
        elsewhere(&handle, async move {
            let said = told(&engine, &origin(), &["jobs", "--json"]).await;
            *seen.lock().expect("not poisoned") = said;
        });
    }));
    assert_eq!(tick(&home, &engine, 23).await.ran, 1);
    let heard: serde_json::Value = serde_json::from_str(&heard.lock().expect("not poisoned")).expect("JSON");
    assert_eq!((&heard["jobs"][0]["state"], &heard["jobs"][0]["line"]), (&"running".into(), &1.into()), "{heard}");
    let after = told(&engine, &origin(), &["jobs"]).await;
    assert!(after.starts_with("confirmed  Plants  (") && after.contains("ran 2026-03-03 08:00: done"), "{after}");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn skills_that_only_the_owner_knows_count_and_what_is_private_stays_so() {
    let secret = PLANTS.replace("Plants\n", "Secret plants :private:\n");
    let home = Home::new(&[("rounds.org", OF_SKILL), ("secret.org", secret.as_str())]);
    let folder = home.folder.path().join("elsewhere");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("rounds.org"), SKILL).expect("a file");
    let server = FakeServer::start(std::iter::empty::<Reply>());
    let start = async |known: bool| {
        let set = |config: &mut passepartout::edge::config::Config| {
            provide(config, &[("fake", &server, true)], &["fake"]);
            config.skill_directories = if known { vec![folder.clone()] } else { Vec::new() };
        };
        let engine = home.engine_with(set).await;
        home.read(&engine).await;
        engine
    };
    for known in [false, true] {
        let engine = start(known).await;
        if known {
            home.confirm_skills(&engine).await;
        }
        let said = told(&engine, &origin(), &["jobs"]).await;
        assert_eq!(said.contains("no skill rounds is loaded"), !known, "{said}");
        assert!(said.contains("Secret plants") && !said.contains("may not be seen here"), "{said}");
        let few = Origin { rights: Rights { see_private: false, ..Rights::HUMAN }, ..origin() };
        let said = told(&engine, &few, &["jobs"]).await;
        assert!(!said.contains("Secret") && said.contains("1 private job may not be seen here"), "{said}");
        assert!(!told(&engine, &few, &["jobs", "--json"]).await.contains("Secret"));
        engine.close().await;
    }
}

#[test]
fn without_an_owner_the_command_looks_itself() {
    let home = Home::new(&[("plants.org", PLANTS)]);
    let ran = run(&home, &["jobs"]);
    assert!(ran.status == 0 && ran.out.starts_with("waiting    Plants  ("), "{ran:?}");
    let ran = run(&home, &["skills", "reload"]);
    assert!(ran.status == 0 && ran.out.starts_with("Nothing runs that would have to read its skills anew"), "{ran:?}");
}
