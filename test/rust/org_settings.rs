//! Org's settings that change while a core runs: memory follows them, and nothing that runs is stopped.

use crate::peers::join;
use crate::runtime::{Client, says, text};
use crate::support::engine::Home;
use crate::support::fake_server::FakeServer;
use passepartout::domain::sexp::plist::Plist;
use passepartout::domain::sexp::reader::Sexp;
use passepartout::edge::config::OrgSettings;
use passepartout::edge::engine::Engine;
use std::sync::Arc;
use std::time::{Duration, Instant};

const NOTES: &str = "* WAIT for the paint\n:PROPERTIES:\n:AREA: hall\n:END:\nThe green one.\n** TODO Stir it\n";

fn waiting() -> OrgSettings {
    OrgSettings { todo_sequences: vec!["TODO WAIT | DONE".to_string()], ..OrgSettings::default() }
}

/// Returns keyword and title of every heading, by file.
fn headings(engine: &Engine) -> Vec<String> {
    let view = engine.view();
    let name = |node: &passepartout::domain::memory::view::NodeRef| {
        let keyword = node.keyword().map_or("-".to_string(), |keyword| keyword.name.to_string());
        format!("{keyword} {}", node.title())
    };
    let mut all: Vec<String> = view.nodes().filter(|node| node.parent().is_some()).map(|node| name(&node)).collect();
    all.sort();
    all
}

/// Lets memory follow settings, and waits until it has.
pub async fn follow(engine: &Arc<Engine>, settings: OrgSettings) {
    let anew = |engine: &Engine| {
        let lines = engine.log_lines(1_000);
        lines.iter().filter(|line| line.text.starts_with("memory was read anew")).count()
    };
    let before = anew(engine);
    assert_eq!(engine.follow_org(settings).await, Ok(true));
    let end = Instant::now() + Duration::from_secs(20);
    while anew(engine) == before {
        assert!(Instant::now() < end, "it is not read anew");
        tokio::task::yield_now().await;
    }
    // Two take turns: when the next one may begin, the cards are stored.
    assert_eq!(engine.follow_org(engine.org_settings()).await, Ok(false));
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_follows_new_keywords_and_the_next_start_has_them_without_a_text() {
    let home =
        Home::new(&[("a.org", NOTES), ("b.org", "* TODO Nothing of this\n"), ("c.org", "#+TODO: WAIT | X\n* WAIT\n")]);
    let engine = home.engine().await;
    home.read(&engine).await;
    engine.flush().await.expect("it is stored");
    engine.close().await;
    // As after a start: nothing is at hand but cards.
    let engine = home.engine().await;
    let (root, at) = (engine.view().root(), engine.head());
    assert_eq!(headings(&engine), ["- WAIT for the paint", "TODO Nothing of this", "TODO Stir it", "WAIT "]);
    follow(&engine, waiting()).await;
    let anew = ["TODO Nothing of this", "TODO Stir it", "WAIT ", "WAIT for the paint"];
    assert_eq!(headings(&engine), anew);
    assert_eq!((engine.view().root(), engine.head()), (root, at), "no byte changed, so nothing is logged");
    let found = |engine: &Engine, query: &str| {
        let (view, whole) = (engine.view(), passepartout::edge::engine::query::Manner::Whole);
        let private = passepartout::domain::label::Privacy::Private;
        engine.query(&view, query, None, private, whole).expect("it can be read").found.hits.len()
    };
    assert_eq!((found(&engine, "todo:WAIT"), found(&engine, "paint"), found(&engine, "green")), (2, 1, 1));
    let document = engine.view().document(&home.file("a.org")).expect("its text is in the store");
    assert!(document.outline.todo(&document.outline.nodes[1]).is_some());
    // What is written from now on is read by them, too.
    std::fs::write(home.file("b.org"), "* WAIT and see\n").expect("it is written");
    home.read(&engine).await;
    engine.flush().await.expect("it is stored");
    engine.close().await;
    let database = rusqlite::Connection::open(home.store().join("memory.sqlite")).expect("a database");
    assert_eq!(database.execute("DELETE FROM texts", []), Ok(4));
    drop(database);
    let engine = home.engine_with(|config| config.org = waiting()).await;
    assert_eq!(headings(&engine), ["TODO Stir it", "WAIT ", "WAIT and see", "WAIT for the paint"]);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_without_a_store_follows_them_and_goes_back_with_them() {
    let home = Home::new(&[("a.org", NOTES)]);
    let boot = passepartout::edge::engine::boot::Boot {
        keep: passepartout::edge::engine::boot::Keep::InMemory,
        ..home.boot(home.config())
    };
    let engine = passepartout::edge::engine::boot::start(boot).await.expect("it starts");
    home.read(&engine).await;
    follow(&engine, waiting()).await;
    assert_eq!(headings(&engine), ["TODO Stir it", "WAIT for the paint"]);
    follow(&engine, OrgSettings::default()).await;
    assert_eq!(headings(&engine), ["- WAIT for the paint", "TODO Stir it"]);
}

#[test]
fn a_turn_goes_on_while_memory_follows_new_settings_and_another_emacs_changes_nothing() {
    let home = Home::new(&[("a.org", NOTES)]);
    let server = FakeServer::start([says(&["Half an ", "answer"]).silent_after("Half an ")]);
    let mut emacs = Client::start(&home, Some(&server), "\"fake\"");
    emacs.say("go on");
    emacs.wait("a chunk", |m| m.name_at("type") == Some("stream-chunk"));
    let settings = || {
        let keywords = Sexp::read("((\"TODO\" \"WAIT\" \"|\" \"DONE\"))").expect("keywords");
        Plist::new().value("todo-keywords", keywords).texts("property-inheritance", ["AREA".to_string()])
    };
    let mut other = join(&home, Some(&server));
    let refused = other.request("org-settings", settings());
    assert_eq!((refused.text_at("text"), refused.text_at("error")), (None, None), "they do not count: {refused}");
    let taken = emacs.request("org-settings", settings());
    assert_eq!(taken.text_at("text"), Some("memory is read anew by Org's new settings"));
    emacs.wait("memory", |m| text(m, "text").starts_with("memory was read anew by Org's new settings: 1 file reads"));
    let total = |client: &mut Client, query: &str| {
        client.request("query", Plist::new().text("query", query).keyword("for", "screen")).int_at("total")
    };
    assert_eq!((total(&mut emacs, "todo:WAIT"), total(&mut other, "todo:WAIT")), (Some(1), Some(1)));
    assert_eq!(emacs.request("org-settings", settings()).text_at("text"), None, "they are known");
    assert_eq!((emacs.count("turn-done"), emacs.count("core-lost"), other.count("core-lost")), (0, 0, 0));
    emacs.event("interrupt", Plist::new());
    let done = emacs.turn_done();
    assert_eq!(done.text_at("status"), Some("interrupted"));
}
