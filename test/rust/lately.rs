//! What was changed lately is told in full: by the user, by an act, and by other programs, also after a restart.

use crate::explained::explained;
use crate::support::engine::{Home, waiting};
use passepartout::domain::id::NodeId;
use passepartout::domain::port::Locality;
use passepartout::edge::engine::Engine;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

fn note(id: &str, text: &str) -> String {
    format!("* TODO Note of {id}\n:PROPERTIES:\n:ID: {id}\n:END:\n{text}\n")
}

/// Writes a file as a program does that sets its time: so many hours before or after 2026-03-02 00:00 UTC.
fn write(home: &Home, name: &str, text: &str, hours: i64) {
    std::fs::write(home.file(name), text).expect("it is written");
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs((1_772_409_600 + hours * 3600) as u64);
    let file = std::fs::File::options().write(true).open(home.file(name)).expect("it is there");
    file.set_modified(at).expect("its time is set");
}

async fn check(engine: &Arc<Engine>, lately: &[&str]) {
    let explained = explained(engine, "zebra", Locality::Local).await;
    let found: Vec<&str> = ["larch", "beans", "peas", "tiles"]
        .into_iter()
        .filter(|id| engine.why_told(&explained, &NodeId::new(*id)).contains(": full, changed lately, "))
        .collect();
    assert_eq!(found, lately);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_today_is_told_whoever_changed_it_and_whoever_was_restarted() {
    let home = Home::new(&[]);
    write(&home, "larch.org", &note("larch", "Old."), 8);
    write(&home, "beans.org", &note("beans", "Old."), 8);
    write(&home, "tiles.org", &note("tiles", "Old."), 8);
    let engine = home.engine().await;
    home.read(&engine).await;
    check(&engine, &[]).await;
    // Another program changes one file, brings a new one, and copies back one that is older than today.
    write(&home, "larch.org", &note("larch", "New."), 9);
    write(&home, "peas.org", &note("peas", "New."), 9);
    write(&home, "beans.org", &note("beans", "Older."), -100);
    home.read(&engine).await;
    check(&engine, &["larch"]).await;
    // An act of ours.
    let (finished, _) = home.ask(&engine, "mark \"Note of tiles\" as done").await;
    assert!(!finished.asked.is_empty());
    home.approve(&engine, &waiting(&engine)).await.expect("it is approved");
    check(&engine, &["larch", "tiles"]).await;
    engine.close().await;
    // Nothing of it is forgotten where memory moved before today.
    home.clock.advance(24);
    let engine = home.engine().await;
    engine.changes_recalled().await;
    check(&engine, &[]).await;
    home.read(&engine).await;
    write(&home, "peas.org", &note("peas", "Newer."), 33);
    write(&home, "beans.org", &note("beans", "As it once was."), -50);
    home.read(&engine).await;
    check(&engine, &["peas"]).await;
    engine.close().await;
    drop(engine);
    // Nor is more told of it than before.
    let engine = home.engine().await;
    engine.changes_recalled().await;
    check(&engine, &["peas"]).await;
    home.clock.advance(24);
    check(&engine, &[]).await;
}
