//! What was changed lately is told in full: by the user, by an act, and by other programs, also after a restart.

use crate::explained::explained;
use crate::support::engine::{Home, waiting};
use passepartout::domain::id::NodeId;
use passepartout::domain::memory::lately::{KEPT, Lately};
use passepartout::domain::port::Locality;
use passepartout::edge::engine::Engine;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
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

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_today_comes_before_what_this_session_changed_on_another_day() {
    let home = Home::new(&[]);
    write(&home, "peas.org", &note("peas", "Old."), 8);
    write(&home, "beans.org", &note("beans", "Old."), 8);
    let engine = home.engine().await;
    home.read(&engine).await;
    let many = |text: &str| (0..60).map(|n| note(&format!("many-{n}"), text)).collect::<String>();
    engine.take_buffer(&home.file("many.org"), many("Typed.").into(), &|| true).expect("it can be read");
    engine.take_buffer(&home.file("beans.org"), note("beans", "Typed.").into(), &|| true).expect("it can be read");
    check(&engine, &["beans"]).await;
    // Days later this session still knows what it changed, behind what comes in by another program.
    home.clock.advance(72);
    check(&engine, &["beans"]).await;
    write(&home, "peas.org", &note("peas", "Of the phone."), 80);
    home.read(&engine).await;
    check(&engine, &["beans", "peas"]).await;
    engine.take_buffer(&home.file("many.org"), many("Typed again.").into(), &|| true).expect("it can be read");
    write(&home, "peas.org", &note("peas", "Of the phone, later."), 81);
    home.read(&engine).await;
    check(&engine, &["peas"]).await;
}

/// How often ids were compared.
static COMPARED: AtomicUsize = AtomicUsize::new(0);

/// An id that counts how often it is compared.
#[derive(Clone, Debug, Eq)]
struct Counted(usize);

impl PartialEq for Counted {
    fn eq(&self, other: &Counted) -> bool {
        COMPARED.fetch_add(1, Ordering::Relaxed);
        self.0 == other.0
    }
}

impl std::hash::Hash for Counted {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

#[test]
fn a_file_of_many_changes_costs_what_it_has_and_no_more() {
    const MANY: usize = 50_000;
    let (mut lately, day) = (Lately::default(), jiff::civil::date(2026, 3, 2));
    let file: Vec<Counted> = (0..MANY).map(Counted).collect();
    for _ in 0..2 {
        lately.changed_here(&file);
        lately.changed_elsewhere(&file, day);
    }
    lately.recall(file, day);
    let latest: Vec<usize> = lately.latest(day).into_iter().map(|id| id.0).collect();
    assert_eq!(latest, (MANY - KEPT..MANY).rev().collect::<Vec<_>>());
    assert_eq!(lately.of_session().len(), MANY);
    let compared = COMPARED.load(Ordering::Relaxed);
    assert!(compared < 4 * MANY, "{compared}");
}

#[test]
fn what_changed_is_told_latest_first_each_once_whoever_changed_it() {
    let (mut lately, day) = (Lately::default(), jiff::civil::date(2026, 3, 2));
    lately.changed_here(&["a", "b"]);
    lately.changed_elsewhere(&["c", "a"], day);
    lately.changed_here(&["d"]);
    lately.recall(vec!["e", "c"], day);
    assert_eq!(lately.latest(day), ["d", "a", "c", "b", "e"]);
    let next = day.tomorrow().expect("a day");
    lately.changed_elsewhere(&["f"], next);
    assert_eq!(lately.latest(next), ["f", "d", "b", "a"], "of another day only what this session changed");
    lately.follow(|id| (*id == "a").then_some("z"));
    assert_eq!(lately.latest(next), ["f", "d", "b", "z"]);
    let (all, moves) = (lately.of_session(), lately.moves());
    assert!(all.len() == 3 && all.contains("z"), "{all:?}");
    lately.changed_elsewhere(&["g"], next);
    assert_eq!(lately.moves(), moves, "it is no change of this session");
}
