//! The time machine: every kind of act is taken back and done again, beside what a hand wrote since.

use crate::support::engine::{Home, origin, provide, tree, waiting};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use crate::support::soak;
use passepartout::domain::gate::plan::PlanStatus;
use passepartout::domain::id::OperationId;
use passepartout::domain::scope::Level;
use passepartout::domain::signal::{Origin, Rights, Source};
use passepartout::domain::turn::Ending;
use passepartout::domain::undo::{Change, Kind};
use passepartout::edge::config::Config;
use passepartout::edge::editor::{Buffer, Editor, Splice};
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::focus::Turnabout;
use passepartout::edge::engine::past::{Blame, blame_text};
use passepartout::edge::engine::record::Finished;
use passepartout::edge::engine::time::{Preview, Reach, Wish};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

const NOTES: &str =
    "* Kitchen\n** TODO Order tiles\n:PROPERTIES:\n:ID: tiles\n:END:\nThe white ones.\n* Garden\n** TODO Plant bulbs\n";

fn call(tool: &str, mut args: Value) -> Reply {
    args["explanation"] = json!("The user asked for exactly this.");
    Reply::answer(Dialect::OpenAi, &[], &[("c", tool, args)])
}

fn says(text: &str) -> Reply {
    Reply::answer(Dialect::OpenAi, &[text], &[])
}

/// One act, and an answer behind it.
fn act(tool: &str, args: Value) -> [Reply; 2] {
    [call(tool, args), says("Done.")]
}

async fn engine(home: &Home, server: &FakeServer, set: impl FnOnce(&mut Config)) -> Arc<Engine> {
    let engine = home
        .engine_with(|config| {
            provide(config, &[("fake", server, true)], &["fake"]);
            for tool in ["org-set-todo", "org-add-heading", "org-move", "write-file", "shell"] {
                config.permissions.insert(tool.into(), Level::Allow);
            }
            set(config);
        })
        .await;
    home.read(&engine).await;
    engine
}

/// Asks, and sees to it that what the model wanted was done.
async fn does(home: &Home, engine: &Arc<Engine>, text: &str) -> Finished {
    let (finished, _) = home.ask(engine, text).await;
    assert_eq!(finished.report.ending, Ending::Answered, "{:?}", finished.report);
    finished
}

async fn carried(engine: &Arc<Engine>, preview: &Preview) -> Finished {
    let done = engine.carry_out(&origin(), &preview.shown, engine.new_turn(), &mut |_| {}).await.expect("it counts");
    assert_eq!(done.report.ending, Ending::Answered, "{:?} {:?}", done.report.notice, done.report.deeds);
    done
}

async fn takes_back(engine: &Arc<Engine>, wish: Wish) -> Preview {
    let preview = engine.preview(&origin(), wish).await.expect("it is shown");
    carried(engine, &preview).await;
    preview
}

async fn undo(engine: &Arc<Engine>) -> Preview {
    takes_back(engine, Wish::Undo(None)).await
}

async fn redo(engine: &Arc<Engine>) -> Preview {
    takes_back(engine, Wish::Redo).await
}

fn world(home: &Home) -> Vec<(PathBuf, Vec<u8>)> {
    ["memex", "project"].iter().flat_map(|name| tree(&home.folder.path().join(name))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_a_heading_is_undone_and_what_a_hand_wrote_since_stays() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start(act("org-set-todo", json!({"id": "tiles", "state": "DONE"})));
    let engine = engine(&home, &server, |_| {}).await;
    does(&home, &engine, "the tiles are ordered").await;
    let after = home.read_file("home.org");
    assert_ne!(after, NOTES);
    // By hand, in the same heading and elsewhere, and moved to another place.
    let (kitchen, garden) = after.split_once("* Garden").expect("both are there");
    let by_hand = format!("* Garden{garden}Mine.\n{}And blue ones.\n", kitchen);
    std::fs::write(home.file("home.org"), &by_hand).expect("it is written");
    let preview = engine.preview(&origin(), Wish::Undo(None)).await.expect("it is shown");
    assert!(
        preview.text.contains("-** DONE Order tiles") && preview.text.contains("+** TODO Order tiles"),
        "{preview:?}"
    );
    assert_eq!(home.read_file("home.org"), by_hand, "a preview changes nothing");
    carried(&engine, &preview).await;
    let undone = home.read_file("home.org");
    let (kitchen, garden) = NOTES.split_once("* Garden").expect("both are there");
    assert_eq!(undone, format!("* Garden{garden}Mine.\n{kitchen}And blue ones.\n"));
    assert_eq!(engine.view().text(&home.file("home.org")).as_deref(), Some(undone.as_str()), "memory follows");
    let none = engine.carry_out(&origin(), &preview.shown, engine.new_turn(), &mut |_| {}).await;
    assert_eq!(none.err().as_deref(), Some("that is not what was shown last; look at it again"), "once");
    redo(&engine).await;
    assert_eq!(home.read_file("home.org"), by_hand);
    undo(&engine).await;
    assert_eq!(home.read_file("home.org"), undone, "what was done again can be undone again");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_both_changed_is_shown_and_left_and_the_rest_goes_back() {
    let home = Home::new(&[("home.org", NOTES)]);
    let text = NOTES.replace("TODO Order", "DONE Order").replace("TODO Plant", "DONE Plant");
    let server = FakeServer::start(act("write-file", json!({"path": home.file("home.org"), "content": text})));
    let engine = engine(&home, &server, |_| {}).await;
    does(&home, &engine, "both are done").await;
    let by_hand = text.replace("** DONE Plant bulbs", "** DONE Plant the red bulbs");
    let by_hand = by_hand.replace("DONE Order tiles", "WAIT Order tiles");
    std::fs::write(home.file("home.org"), &by_hand).expect("it is written");
    let refused = engine.preview(&origin(), Wish::Undo(None)).await.expect_err("all of it is in conflict");
    assert!(refused.contains("“Order tiles” was changed by hand since"), "{refused}");
    assert!(refused.contains("“Plant bulbs” was changed by hand since"), "{refused}");
    let by_hand = text.replace("** DONE Plant bulbs", "** WAIT Plant bulbs");
    std::fs::write(home.file("home.org"), &by_hand).expect("it is written");
    let preview = undo(&engine).await;
    assert!(preview.text.contains("left as it is: ") && preview.text.contains("Plant bulbs"), "{}", preview.text);
    assert_eq!(home.read_file("home.org"), NOTES.replace("TODO Plant", "WAIT Plant"));
    // The rest still stands: nothing older is there, and by its name it goes back once the hand is gone.
    assert_eq!(engine.preview(&origin(), Wish::Undo(None)).await.err().as_deref(), Some("there is nothing to undo"));
    let rest = engine.changes().await.expect("they are read")[0].id.clone();
    std::fs::write(home.file("home.org"), NOTES.replace("TODO Plant", "DONE Plant")).expect("it is written");
    takes_back(&engine, Wish::Undo(Some(rest.clone()))).await;
    assert_eq!(home.read_file("home.org"), NOTES);
    let twice = engine.preview(&origin(), Wish::Undo(Some(rest))).await.expect_err("all of it went back");
    assert!(twice.ends_with("was undone already"), "{twice}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heading_that_was_added_and_then_called_otherwise_by_hand_is_left_and_named() {
    let home = Home::new(&[("home.org", NOTES)]);
    let text = format!("{NOTES}* Added\nOf the agent.\n* Another\nOf the agent, too.\n");
    let server = FakeServer::start(act("write-file", json!({"path": home.file("home.org"), "content": text})));
    let engine = engine(&home, &server, |_| {}).await;
    does(&home, &engine, "both are added").await;
    std::fs::write(home.file("home.org"), text.replace("* Added", "* My own title")).expect("it is written");
    let preview = undo(&engine).await;
    assert!(preview.text.contains("“Added” was changed by hand since: it is called “My own title” now"), "{preview:?}");
    assert_eq!(home.read_file("home.org"), format!("{NOTES}* My own title\nOf the agent.\n"));
    // The rest of it still stands, and goes once the hand is gone.
    let rest = engine.changes().await.expect("they are read")[0].id.clone();
    std::fs::write(home.file("home.org"), format!("{NOTES}* Added\nOf the agent.\n")).expect("it is written");
    takes_back(&engine, Wish::Undo(Some(rest))).await;
    assert_eq!(home.read_file("home.org"), NOTES);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_counts_only_for_what_was_shown_and_only_from_a_human() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start(act("org-set-todo", json!({"id": "tiles", "state": "DONE"})));
    let engine = engine(&home, &server, |_| {}).await;
    does(&home, &engine, "the tiles are ordered").await;
    let gateway = Origin { source: Source::Gateway, rights: Rights { approve: false, ..Rights::HUMAN }, ..origin() };
    let preview = engine.preview(&gateway, Wish::Undo(None)).await.expect("it is shown");
    let refused = engine.carry_out(&gateway, &preview.shown, engine.new_turn(), &mut |_| {}).await;
    assert!(refused.is_err_and(|why| why.contains("may not take anything back")));
    let by_hand = format!("{}Later.\n", home.read_file("home.org"));
    std::fs::write(home.file("home.org"), &by_hand).expect("it is written");
    let done = engine.carry_out(&origin(), &preview.shown, engine.new_turn(), &mut |_| {}).await.expect("it is tried");
    assert_eq!(done.report.ending, Ending::Failed);
    assert!(done.report.notice.is_some_and(|notice| notice.contains("has changed since it was shown")));
    assert_eq!(home.read_file("home.org"), by_hand);
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_command_did_to_files_is_undone_and_redone() {
    let home = Home::new(&[("home.org", NOTES)]);
    let project = home.folder.path().canonicalize().expect("there").join("project");
    for (name, text) in [("a.txt", "one\ntwo\n"), ("b.txt", "bee\n"), ("run.sh", "true\n"), ("old/c.txt", "sea\n")] {
        std::fs::create_dir_all(project.join(name).parent().expect("a folder")).expect("a folder");
        std::fs::write(project.join(name), text).expect("a file");
    }
    std::fs::write(project.join("blob"), [0, 1, 2, 255]).expect("a file");
    let command = "echo three >> a.txt; mv b.txt d.txt; rm -r old; chmod +x run.sh; printf '\\0new' > blob; \
                   mkdir -p new/deep; echo x > new/deep/x.txt; ln -s a.txt link; mkdir empty";
    let server = FakeServer::start(act("shell", json!({ "command": command })));
    let engine = engine(&home, &server, |_| {}).await;
    let before = world(&home);
    let (asked, _) = home.ask(&engine, "tidy up").await;
    if asked.report.ending == Ending::Parked {
        let plan = waiting(&engine);
        assert!(!plan.body.contains("not undoable"), "{}", plan.body);
        home.approve(&engine, &plan).await.expect("it counts");
    }
    if !project.join("d.txt").exists() {
        println!("skipped: commands cannot be confined here: {:?}", engine.turns(1).await);
        return;
    }
    let after = world(&home);
    assert_ne!(before, after);
    let checks = passepartout::edge::doctor::examine(&engine, None).await;
    let copies = checks.iter().find(|check| check.name == "copies").expect("the doctor says what copies take");
    assert!(
        copies.detail.starts_with("1 MB of 1 project in ") && copies.detail.contains("may be deleted"),
        "{copies:?}"
    );
    // By hand since: a line at another place of a file that the command changed.
    std::fs::write(project.join("a.txt"), "zero\none\ntwo\nthree\n").expect("a file");
    undo(&engine).await;
    let mode = |name: &str| project.join(name).metadata().expect("it is there").permissions().mode() & 0o777;
    assert_eq!(std::fs::read_to_string(project.join("a.txt")).expect("a file"), "zero\none\ntwo\n");
    std::fs::write(project.join("a.txt"), "one\ntwo\n").expect("a file");
    assert_eq!(world(&home), before);
    assert!(!project.join("empty").exists() && !project.join("new").exists() && !project.join("link").exists());
    assert_eq!(mode("run.sh") & 0o111, 0);
    redo(&engine).await;
    assert_eq!(std::fs::read_link(project.join("link")).expect("a link"), Path::new("a.txt"));
    assert!(project.join("empty").is_dir() && mode("run.sh") & 0o100 != 0 && !project.join("old").exists());
    assert_eq!(std::fs::read(project.join("blob")).expect("a file"), b"\0new");
    // In a folder that came back empty a hand has put something: it stays, and is named.
    std::fs::write(project.join("empty/mine"), "mine").expect("a file");
    let preview = undo(&engine).await;
    assert!(preview.text.contains("the folder has other things in it"), "{}", preview.text);
    assert!(project.join("empty/mine").exists() && !project.join("new").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_to_be_undone_is_said_before_it_runs() {
    let home = Home::new(&[]);
    std::fs::write(home.project("a"), "a").expect("a file");
    std::fs::write(home.project("b"), "b").expect("a file");
    let server = FakeServer::start(act("shell", json!({"command": "make everything"})));
    let engine = engine(&home, &server, |config| config.undo_files = 1).await;
    let (asked, _) = home.ask(&engine, "make it").await;
    assert_eq!(asked.report.ending, Ending::Parked);
    let plan = waiting(&engine);
    assert!(plan.body.contains("not undoable: ") && plan.body.contains("UNDO_MAX_FILES"), "{}", plan.body);
    assert_eq!(plan.about.badge, passepartout::domain::gate::badge::Badge::Irreversible);
    assert!(!plan.title.contains("undoable"), "the badge says it once: {}", plan.title);
    assert!(asked.report.deeds.iter().any(|deed| deed.summary.ends_with("(not undoable)")), "{:?}", asked.report.deeds);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_were_written_made_or_moved_go_back_together() {
    let home = Home::new(&[("home.org", NOTES), ("work.org", "* Errands\n")]);
    let server = FakeServer::start(
        [
            act("write-file", json!({"path": home.project("new.txt"), "content": "new\n"})),
            act("org-move", json!({"id": "tiles", "file": home.file("work.org")})),
            act("org-add-heading", json!({"title": "Call the bank", "file": home.file("work.org")})),
        ]
        .into_iter()
        .flatten(),
    );
    let engine = engine(&home, &server, |_| {}).await;
    let before = world(&home);
    let start = engine.head();
    for text in ["write it", "move it", "add it"] {
        does(&home, &engine, text).await;
    }
    let after = world(&home);
    let preview = takes_back(&engine, Wish::Rewind(start, Reach::Both)).await;
    assert!(preview.title.starts_with("Rewind 3 files"), "{}", preview.title);
    assert_eq!(world(&home), before);
    undo(&engine).await;
    assert_eq!(world(&home), after, "a rewind can be undone");
    undo(&engine).await;
    assert!(!home.read_file("work.org").contains("bank") && home.read_file("work.org").contains("tiles"));
    // Half of a move would double a heading or lose it.
    std::fs::write(home.file("work.org"), home.read_file("work.org").replace("white ones", "blue ones")).expect("ok");
    let refused = engine.preview(&origin(), Wish::Undo(None)).await.expect_err("the moved heading was changed");
    assert!(refused.contains("so all of"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_alone_goes_back_and_follows_a_file_again_when_that_changes() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start(act("org-set-todo", json!({"id": "tiles", "state": "DONE"})));
    let engine = engine(&home, &server, |_| {}).await;
    let start = engine.head();
    does(&home, &engine, "the tiles are ordered").await;
    let after = home.read_file("home.org");
    let state = |engine: &Engine| {
        let text = engine.view().text(&home.file("home.org")).expect("it is in memory");
        ["TODO", "DONE"].into_iter().find(|word| text.contains(&format!("** {word} Order")))
    };
    let preview = takes_back(&engine, Wish::Rewind(start, Reach::Memory)).await;
    assert!(preview.text.contains("stay as they are; memory follows a file again"), "{}", preview.text);
    assert_eq!((home.read_file("home.org"), state(&engine)), (after.clone(), Some("TODO")));
    home.read(&engine).await;
    assert_eq!(state(&engine), Some("TODO"), "until the file changes");
    undo(&engine).await;
    assert_eq!(state(&engine), Some("DONE"), "it can be undone");
    redo(&engine).await;
    std::fs::write(home.file("home.org"), format!("{after}Mine.\n")).expect("it is written");
    home.read(&engine).await;
    assert_eq!(state(&engine), Some("DONE"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rewind_reaches_files_or_memory_or_all_that_was_done_here() {
    let home = Home::new(&[("home.org", NOTES), ("other.org", "* Other\n")]);
    let server = FakeServer::start(act("org-set-todo", json!({"id": "tiles", "state": "DONE"})));
    let engine = engine(&home, &server, |_| {}).await;
    let start = engine.head();
    std::fs::write(home.file("other.org"), "* Other\nMine.\n").expect("it is written");
    home.read(&engine).await;
    let mark = engine.head();
    // Behind the mark: memory alone is moved, the focus is, and the agent changes a file.
    takes_back(&engine, Wish::Rewind(start, Reach::Memory)).await;
    engine.turn_focus(Turnabout::To("tiles".to_string())).await.expect("it is moved");
    does(&home, &engine, "the tiles are ordered").await;
    let all = |engine: &Engine| {
        let held = |file: &str| engine.view().text(&home.file(file)).expect("it is in memory");
        let state = |text: &str| if text.contains("DONE Order") { "done" } else { "todo" };
        let other = if held("other.org").contains("Mine") { "mine" } else { "moved" };
        let focus = if engine.focus_stack().frames().is_empty() { "memex" } else { "tiles" };
        [state(&home.read_file("home.org")), state(&held("home.org")), other, focus].join(" ")
    };
    assert_eq!(all(&engine), "done done moved tiles");
    let on_disk = world(&home);
    for (reach, after) in [
        (Reach::Files, "todo todo moved tiles"),
        (Reach::Memory, "done todo mine memex"),
        (Reach::Both, "todo todo mine memex"),
    ] {
        let preview = takes_back(&engine, Wish::Rewind(mark, reach)).await;
        assert_eq!(all(&engine), after, "{reach:?}: {}", preview.text);
        assert_eq!(preview.text.contains("the focus goes back to: the whole memex"), reach != Reach::Files);
        assert_eq!(preview.text.contains("-** DONE Order tiles"), reach != Reach::Memory, "{}", preview.text);
        // It is one step, both ways.
        undo(&engine).await;
        assert_eq!(all(&engine), "done done moved tiles", "{reach:?}");
        redo(&engine).await;
        assert_eq!(all(&engine), after, "{reach:?}");
        undo(&engine).await;
        assert_eq!((all(&engine).as_str(), world(&home)), ("done done moved tiles", on_disk.clone()), "{reach:?}");
    }
    for (reach, why) in [(Reach::Files, "changed no file since"), (Reach::Both, "nor the focus was moved")] {
        let refused =
            engine.preview(&origin(), Wish::Rewind(engine.head(), reach)).await.expect_err("nothing came since");
        assert!(refused.contains(why), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_focus_was_moved_since_it_stays_and_when_memory_was_nothing_is_done() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start(Vec::new());
    let engine = engine(&home, &server, |_| {}).await;
    let mark = engine.head();
    let to = |what: &str| Turnabout::To(what.to_string());
    engine.turn_focus(to("tiles")).await.expect("it is moved");
    let shown = engine.preview(&origin(), Wish::Rewind(mark, Reach::Both)).await.expect("it is shown");
    assert_eq!(shown.title, "Rewind the focus");
    engine.turn_focus(to("Garden")).await.expect("it is moved");
    let refused = engine.carry_out(&origin(), &shown.shown, engine.new_turn(), &mut |_| {}).await;
    assert!(refused.is_err_and(|why| why.contains("memory has moved on")));
    takes_back(&engine, Wish::Rewind(mark, Reach::Both)).await;
    assert!(engine.focus_stack().frames().is_empty());
    engine.turn_focus(to("tiles")).await.expect("it is moved");
    let refused = engine.preview(&origin(), Wish::Undo(None)).await.expect_err("a hand has moved it");
    assert!(refused.contains("the focus: it was moved since"), "{refused}");
    engine.close().await;
    let again = home.engine().await;
    assert_eq!(again.focus_stack().reach().to_string(), "the project “Order tiles”", "the newest counts");
}

/// An editor that answers when it is told to.
struct Slow(tokio::sync::Semaphore);

#[async_trait::async_trait]
impl Editor for Slow {
    async fn buffer(&self, _file: &str) -> Result<Option<Buffer>, String> {
        self.0.acquire().await.map(|_| None).map_err(|_| "closed".to_string())
    }

    async fn edit(&self, _file: &str, _tick: i64, _splices: Vec<Splice>) -> Result<(), String> {
        Err("it is open nowhere".to_string())
    }
}

/// An editor in which every file is open as it is on disk, and that counts how often it is asked for a buffer.
struct Counting {
    read_only: bool,
    asked: AtomicUsize,
    /// How often it answers; then it says why it cannot.
    most: usize,
}

#[async_trait::async_trait]
impl Editor for Counting {
    async fn buffer(&self, file: &str) -> Result<Option<Buffer>, String> {
        if self.asked.fetch_add(1, Ordering::Relaxed) >= self.most {
            return Err("it does not answer any more".to_string());
        }
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
        Ok(Some(Buffer { text: text.into(), tick: 1, read_only: self.read_only }))
    }

    async fn is_open(&self, _file: &str) -> Result<bool, String> {
        Ok(true)
    }

    async fn edit(&self, _file: &str, _tick: i64, _splices: Vec<Splice>) -> Result<(), String> {
        Err("nothing is edited here".to_string())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_preview_of_an_undo_must_know_of_a_buffer_is_asked_once() {
    // Whether it is private, which is asked of every path of every act; then what stands in it, and whether it may change.
    const ASKED: usize = 2;
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start(act("org-set-todo", json!({"id": "tiles", "state": "DONE"})));
    let first = engine(&home, &server, |_| {}).await;
    does(&home, &first, "the tiles are ordered").await;
    first.close().await;
    drop(first);
    for (read_only, most, expected) in [
        (false, ASKED, Ok(())),
        (true, ASKED, Err("it is open in a read-only buffer")),
        (false, ASKED - 1, Err("it does not answer any more")),
    ] {
        let counting = Arc::new(Counting { read_only, asked: AtomicUsize::new(0), most });
        *home.editor.lock().expect("not poisoned") = counting.clone();
        let engine = engine(&home, &server, |_| {}).await;
        counting.asked.store(0, Ordering::Relaxed);
        let shown = engine.preview(&origin(), Wish::Undo(None)).await;
        match (&shown, expected) {
            (Ok(_), Ok(())) => {}
            (Err(why), Err(expected)) => assert!(why.contains(expected), "{why}"),
            _ => panic!("{read_only} {most}: {:?}", shown.map(|shown| shown.text)),
        }
        assert_eq!(counting.asked.load(Ordering::Relaxed), ASKED, "{read_only} {most}");
        engine.close().await;
    }
}

#[test]
fn many_previews_at_once_leave_threads_for_everything_else() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start(act("org-set-todo", json!({"id": "tiles", "state": "DONE"})));
    let slow = Arc::new(Slow(tokio::sync::Semaphore::new(1)));
    *home.editor.lock().expect("not poisoned") = slow.clone();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().max_blocking_threads(3).build();
    runtime.expect("a runtime").block_on(async {
        let engine = engine(&home, &server, |_| {}).await;
        does(&home, &engine, "the tiles are ordered").await;
        let held = slow.0.acquire().await.expect("it is open");
        let previews: Vec<_> = (0..8)
            .map(|_| {
                let engine = engine.clone();
                tokio::spawn(async move { engine.preview(&origin(), Wish::Undo(None)).await })
            })
            .collect();
        // As many as may be are at work, and there is a thread left.
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        let free = tokio::time::timeout(std::time::Duration::from_secs(10), tokio::task::spawn_blocking(|| ())).await;
        assert!(free.is_ok(), "no thread was free");
        drop(held);
        for preview in previews {
            preview.await.expect("it does not break").expect("it is shown");
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_that_goes_back_makes_nothing_less_private() {
    let home = Home::new(&[("home.org", NOTES), ("other.org", "* Other\n"), ("disk.org", "* Disk\nSecret\n")]);
    let server = FakeServer::start(act("org-set-todo", json!({"id": "tiles", "state": "DONE"})));
    let engine = engine(&home, &server, |_| {}).await;
    let start = engine.head();
    let private = NOTES.replace("* Kitchen", "* Kitchen :private:");
    std::fs::write(home.file("home.org"), &private).expect("it is written");
    std::fs::write(home.file("other.org"), "* Other\nMore.\n").expect("it is written");
    std::fs::write(home.file("disk.org"), "* Disk\nSecret\nMore.\n").expect("it is written");
    home.read(&engine).await;
    // Memory has not seen this one yet.
    std::fs::write(home.file("disk.org"), "* Disk :private:\nSecret\nMore.\n").expect("it is written");
    let preview = takes_back(&engine, Wish::Rewind(start, Reach::Memory)).await;
    for file in ["home.org", "disk.org"] {
        let said = format!("left as it is: {}: something in it would no longer be private", home.file(file));
        assert!(preview.text.contains(&said), "{}", preview.text);
    }
    let text = |file: &str| engine.view().text(&home.file(file)).expect("it is in memory").to_string();
    assert_eq!((text("home.org"), text("other.org")), (private, "* Other\n".to_string()));
    assert_eq!(text("disk.org"), "* Disk\nSecret\nMore.\n");
    home.read(&engine).await;
    assert!(text("disk.org").contains(":private:"), "it is read as any file that changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_of_memory_is_taken_back_file_by_file_and_what_came_since_stays() {
    let home = Home::new(&[("home.org", NOTES), ("other.org", "* Other\n")]);
    let server = FakeServer::start(Vec::new());
    let engine = engine(&home, &server, |_| {}).await;
    let start = engine.head();
    let by_hand = format!("{NOTES}Mine.\n");
    std::fs::write(home.file("home.org"), &by_hand).expect("it is written");
    std::fs::write(home.file("other.org"), "* Other\nOne.\n").expect("it is written");
    home.read(&engine).await;
    takes_back(&engine, Wish::Rewind(start, Reach::Memory)).await;
    std::fs::write(home.file("other.org"), "* Other\nOne.\nTwo.\n").expect("it is written");
    std::fs::write(home.file("new.org"), "* New\n").expect("it is written");
    home.read(&engine).await;
    let (_, typed) = home.ask(&engine, "/undo").await;
    assert!(typed.starts_with("Nothing was done: that moved memory or the focus"), "{typed}");
    let stale = engine.preview(&origin(), Wish::Undo(None)).await.expect("it is shown");
    assert!(stale.text.contains("other.org: memory has taken in something newer"), "{}", stale.text);
    std::fs::write(home.file("home.org"), format!("{NOTES}Later.\n")).expect("it is written");
    home.read(&engine).await;
    let refused = engine.carry_out(&origin(), &stale.shown, engine.new_turn(), &mut |_| {}).await;
    assert!(refused.is_err_and(|why| why.contains("memory has moved on")));
    std::fs::write(home.file("home.org"), NOTES).expect("it is written");
    home.read(&engine).await;
    undo(&engine).await;
    let text = |file: &str| engine.view().text(&home.file(file)).expect("it is in memory").to_string();
    assert_eq!(text("home.org"), by_hand);
    assert_eq!(text("other.org"), "* Other\nOne.\nTwo.\n");
    assert_eq!(text("new.org"), "* New\n", "what memory took in since is not forgotten");
}

#[tokio::test(flavor = "multi_thread")]
async fn going_back_moves_no_authority() {
    let home = Home::new(&[("home.org", NOTES)]);
    let set = json!({"id": "tiles", "state": "DONE"});
    let server = FakeServer::start(act("org-set-todo", set));
    let engine = engine(&home, &server, |config| {
        config.permissions.insert("org-set-todo".into(), Level::Ask);
    })
    .await;
    let start = engine.head();
    let _ = home.ask(&engine, "the tiles are ordered").await;
    let plan = waiting(&engine);
    home.approve(&engine, &plan).await.expect("it counts");
    engine.confirm_provider("far", "https://far.example").await.expect("it is kept");
    let records = |kinds: &'static [&'static str]| {
        let store = home.store();
        kinds.iter().flat_map(move |kind| rows(&store, kind)).collect::<Vec<_>>()
    };
    const AUTHORITY: &[&str] = &["plan", "confirmation", "intent", "outcome", "label", "turn", "change"];
    engine.flush().await.expect("it is stored");
    let before = records(AUTHORITY);
    for reach in [Reach::Both, Reach::Memory] {
        takes_back(&engine, Wish::Rewind(start, reach)).await;
        undo(&engine).await;
    }
    engine.flush().await.expect("it is stored");
    let after = records(AUTHORITY);
    assert!(before.iter().all(|row| after.contains(row)), "records only grow");
    assert!(matches!(engine.plan(&plan.id.0).expect("known").status, PlanStatus::Done(_)), "and none is undone");
    assert!(home.approve(&engine, &plan).await.is_err(), "an approval counts once, whatever goes back");
    assert!(rows(&home.store(), "confirmation").len() == 1);
}

fn rows(store: &Path, kind: &str) -> Vec<String> {
    use passepartout::domain::memory::store::Store;
    let mut store = passepartout::edge::store::DiskStore::open_to_read(store).expect("it can be read");
    store.list(kind, 0).expect("it is read").iter().map(|record| format!("{record:?}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_in_a_chat_it_is_a_plan_that_is_approved_like_any_other() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start(act("org-set-todo", json!({"id": "tiles", "state": "DONE"})));
    let allowed = |config: &mut Config| {
        config.permissions.insert("restore".into(), Level::Allow);
    };
    let engine = engine(&home, &server, allowed).await;
    let (_, nothing) = home.ask(&engine, "/undo").await;
    assert_eq!(nothing, "Nothing was done: there is nothing to undo.");
    does(&home, &engine, "the tiles are ordered").await;
    let after = home.read_file("home.org");
    let asked = server.requests().len();
    for (word, expected) in [("/undo", NOTES), ("/redo", after.as_str()), ("/undo", NOTES)] {
        let (finished, _) = home.ask(&engine, word).await;
        assert_eq!(finished.report.ending, Ending::Parked, "{:?}", finished.report);
        let plan = waiting(&engine);
        let done = home.approve(&engine, &plan).await.expect("it counts");
        assert_eq!(done.report.ending, Ending::Answered, "{:?}", done.report);
        assert_eq!(home.read_file("home.org"), expected, "{word}");
    }
    assert_eq!(server.requests().len(), asked, "no model is told of it");
}

#[tokio::test(flavor = "multi_thread")]
async fn blame_says_who_wrote_a_heading_also_after_a_restart() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start(act("org-set-todo", json!({"id": "tiles", "state": "DONE"})));
    let first = engine(&home, &server, |config| {
        config.permissions.insert("org-set-todo".into(), Level::Ask);
    })
    .await;
    let _ = home.ask(&first, "the tiles are ordered").await;
    let plan = waiting(&first);
    home.approve(&first, &plan).await.expect("it counts");
    std::fs::write(home.file("home.org"), home.read_file("home.org").replace("Plant bulbs", "Plant red bulbs"))
        .expect("ok");
    home.read(&first).await;
    first.close().await;
    let again = engine(&home, &server, |_| {}).await;
    let (heading, found) = again.blame("tiles").await.expect("it is known");
    let text = blame_text(&heading, &found);
    assert!(
        text.contains("changed: agent (org-set-todo)") && text.contains("request: the tiles are ordered"),
        "{text}"
    );
    assert!(text.contains("model: m (fake)") && text.contains(&format!("plan: {}", plan.id)), "{text}");
    assert!(text.contains("approved by: you, in Emacs") && text.contains("written: read from disk"), "{text}");
    let line = home.read_file("home.org").lines().position(|line| line.contains("bulbs")).expect("it is there") + 1;
    let (heading, found) = again.blame(&format!("{}:{line}", home.file("home.org"))).await.expect("it is known");
    assert_eq!(heading, "Plant red bulbs");
    assert!(found.iter().all(|blame| blame.author.by == "read from disk"), "{found:?}");
    assert_eq!(again.blame("nowhere").await.err().as_deref().map(|why| why.contains("FILE:LINE")), Some(true));
}

/// An editor whose user types on behind every edit, and whose buffer is read before the core hears that the edit is made.
struct Typing {
    text: Mutex<Arc<str>>,
    engine: OnceLock<Arc<Engine>>,
    file: String,
    typed: &'static str,
}

#[async_trait::async_trait]
impl Editor for Typing {
    async fn buffer(&self, _file: &str) -> Result<Option<Buffer>, String> {
        Ok(Some(Buffer { text: self.text.lock().expect("not poisoned").clone(), tick: 1, read_only: false }))
    }

    async fn edit(&self, _file: &str, _tick: i64, splices: Vec<Splice>) -> Result<(), String> {
        let [splice] = &*splices else { return Err("one splice is made".to_string()) };
        let text = self.text.lock().expect("not poisoned").to_string();
        let edited: Arc<str> = format!("{}{}{}", &text[..splice.begin], splice.text, &text[splice.end..]).into();
        let text: Arc<str> = format!("{edited}{}", self.typed).into();
        *self.text.lock().expect("not poisoned") = text.clone();
        self.engine.get().expect("it is there").take_buffer(&self.file, text, &|| true)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_typed_behind_an_edit_of_the_agent_stays_in_memory() {
    for typed in ["", "* Mine\n"] {
        let home = Home::new(&[("home.org", NOTES)]);
        let file = home.file("home.org");
        let typing = Typing { text: Mutex::new(NOTES.into()), engine: OnceLock::new(), file: file.clone(), typed };
        let typing = Arc::new(typing);
        *home.editor.lock().expect("not poisoned") = typing.clone();
        let server = FakeServer::start(act("org-set-todo", json!({"id": "tiles", "state": "DONE"})));
        let engine = engine(&home, &server, |_| {}).await;
        assert!(typing.engine.set(engine.clone()).is_ok());
        does(&home, &engine, "the tiles are ordered").await;
        let expected = format!("{}{typed}", NOTES.replace("TODO Order", "DONE Order"));
        assert_eq!(engine.view().text(&file).as_deref(), Some(&*expected), "memory is as the buffer is");
        if typed.is_empty() {
            let (heading, found) = engine.blame("tiles").await.expect("it is known");
            let text = blame_text(&heading, &found);
            assert!(text.contains("request: the tiles are ordered"), "{text}");
        } else {
            let line = expected.lines().count();
            let (heading, found) = engine.blame(&format!("{file}:{line}")).await.expect("it is known");
            assert_eq!(heading, "Mine");
            assert!(found[0].author.request.is_none() && found[0].author.by == "by hand, in Emacs", "{found:?}");
        }
    }
}

fn said(found: Vec<Blame>) -> Vec<(&'static str, String)> {
    found.into_iter().map(|blame| (blame.what, blame.author.by)).collect()
}

const AGENT: &str = "agent (org-add-heading)";
const DISK: &str = "read from disk";
const HAND: &str = "by hand, in Emacs";

/// Notes of bare headings, of which the agent adds one; returns the engine and the text then.
async fn a_bare_heading_of_the_agent(home: &Home, server: &FakeServer) -> (Arc<Engine>, String) {
    let engine = engine(home, server, |_| {}).await;
    does(home, &engine, "add it").await;
    (engine, home.read_file("home.org"))
}

#[tokio::test(flavor = "multi_thread")]
async fn blame_follows_a_heading_without_text_whose_title_alone_was_changed() {
    const BARE: &str = "* List\n** One\n** Two\n* Last\n";
    for (under, changed) in [
        ("list", "* List\n** One\n** Two\n** Buy new grouts\n* Last\n"),
        // What stands around it is edited in the same moment.
        ("list", "Text.\n* List\n** One and a half\n** Two\n** Buy new grouts\n* Last\n* Very last\n"),
        ("list", "* List\n** One\n** Two\n** TODO Buy grout :shop:\n* Last one\n"),
    ] {
        let notes = BARE.replacen("* List\n", "* List\n:PROPERTIES:\n:ID: list\n:END:\n", 1);
        let home = Home::new(&[("home.org", &notes)]);
        let server = FakeServer::start(act("org-add-heading", json!({"title": "Buy new grout", "parent": under})));
        let (engine, text) = a_bare_heading_of_the_agent(&home, &server).await;
        let file = home.file("home.org");
        let line = |text: &str| text.lines().position(|line| line.contains("grout")).expect("it is there") + 1;
        let id = |engine: &Engine, text: &str| {
            let document = engine.view().document(&file).expect("it is in memory").clone();
            let at = document.outline.nodes.partition_point(|node| node.line as usize <= line(text)) - 1;
            document.ids[at].clone()
        };
        let (_, before) = engine.blame(&format!("{file}:{}", line(&text))).await.expect("it is known");
        assert_eq!(said(before), [("written", AGENT.to_string())], "{text}");
        let key = id(&engine, &text);
        let typed = changed.replacen("* List\n", "* List\n:PROPERTIES:\n:ID: list\n:END:\n", 1);
        engine.take_buffer(&file, typed.as_str().into(), &|| true).expect("it can be read");
        assert_eq!(id(&engine, &typed), key, "{typed}");
        let (_, after) = engine.blame(&format!("{file}:{}", line(&typed))).await.expect("it is known");
        assert_eq!(said(after), [("changed", HAND.to_string()), ("written", AGENT.to_string())], "{typed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blame_tells_what_came_back_and_behind_it_who_wrote_it() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server =
        FakeServer::start(act("org-add-heading", json!({"title": "Buy grout", "file": home.file("home.org")})));
    let (engine, text) = a_bare_heading_of_the_agent(&home, &server).await;
    let file = home.file("home.org");
    let blame = || async {
        let line = text.lines().position(|line| line.contains("grout")).expect("it is there") + 1;
        said(engine.blame(&format!("{file}:{line}")).await.expect("it is known").1)
    };
    let take = |text: &str| engine.take_buffer(&file, text.into(), &|| true).expect("it can be read");
    take(NOTES);
    take(&format!("* Meanwhile\n{NOTES}"));
    take(&text);
    let written = ("written", AGENT.to_string());
    assert_eq!(blame().await, [("came back", HAND.to_string()), written.clone()]);
    // The file goes, and comes back as a whole.
    std::fs::remove_file(&file).expect("it was there");
    home.read(&engine).await;
    std::fs::write(&file, &text).expect("a file");
    home.read(&engine).await;
    assert_eq!(blame().await, [("came back", DISK.to_string()), ("came back", HAND.to_string()), written]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bytes_that_an_undo_left_once_are_not_its_own_for_ever() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start(act("org-set-todo", json!({"id": "tiles", "state": "DONE"})));
    let engine = engine(&home, &server, |_| {}).await;
    does(&home, &engine, "the tiles are ordered").await;
    undo(&engine).await;
    assert_eq!(home.read_file("home.org"), NOTES);
    for text in [NOTES.replace("Order tiles", "Order red tiles").as_str(), NOTES] {
        std::fs::write(home.file("home.org"), text).expect("a file");
        home.read(&engine).await;
    }
    let (_, found) = engine.blame("tiles").await.expect("it is known");
    let mut found = said(found);
    assert_eq!(found.remove(2), ("changed", "undo by you".to_string()));
    assert_eq!(found.remove(2), ("changed", "agent (org-set-todo)".to_string()));
    assert_eq!(found, [("changed", DISK.to_string()), ("changed", DISK.to_string()), ("written", DISK.to_string())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn blame_follows_a_file_to_its_former_names() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start(act("org-set-todo", json!({"id": "tiles", "state": "DONE"})));
    let first = engine(&home, &server, |config| {
        config.permissions.insert("org-set-todo".into(), Level::Ask);
    })
    .await;
    let _ = home.ask(&first, "the tiles are ordered").await;
    let plan = waiting(&first);
    home.approve(&first, &plan).await.expect("it counts");
    home.read(&first).await;
    for (from, to) in [("home.org", "house.org"), ("house.org", "flat.org")] {
        std::fs::rename(home.file(from), home.file(to)).expect("renamed");
        home.read(&first).await;
    }
    // Whatever is called so now is another file.
    std::fs::write(home.file("home.org"), "* Another one\n").expect("a file");
    home.read(&first).await;
    let expect = [("changed", "agent (org-set-todo)".to_string()), ("written", "read from disk".to_string())];
    let (_, found) = first.blame("tiles").await.expect("it is known");
    assert_eq!(said(found), expect);
    let (_, other) = first.blame(&format!("{}::*Another one", home.file("home.org"))).await.expect("it is known");
    assert_eq!(said(other), [("written", "read from disk".to_string())]);
    first.close().await;
    let again = engine(&home, &server, |_| {}).await;
    let (_, found) = again.blame("tiles").await.expect("it is known");
    assert_eq!(said(found), expect);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_shows_each_step_and_two_of_them_can_be_compared() {
    let home = Home::new(&[("home.org", NOTES), ("other.org", "* Other\n")]);
    let server = FakeServer::start(act("org-set-todo", json!({"id": "tiles", "state": "DONE"})));
    let engine = engine(&home, &server, |_| {}).await;
    let start = engine.head();
    does(&home, &engine, "the tiles are ordered").await;
    let log = engine.memory_log(10).await.expect("it is read");
    assert_eq!(log[0].who(), "agent (org-set-todo)");
    assert_eq!(log[0].what(), "Mark “Order tiles” DONE");
    assert!(log[0].stands && log[0].operation.id == engine.head());
    let shown = engine.memory_show(engine.head()).await.expect("it is shown");
    assert!(shown.contains("request: the tiles are ordered") && shown.contains("+** DONE Order tiles"), "{shown}");
    let diff = engine.memory_diff(start, engine.head()).await.expect("it is compared");
    assert!(diff.starts_with("1 file between operations") && diff.contains("heading: Order tiles"), "{diff}");
    assert!(!diff.contains("other.org"), "{diff}");
    let back = engine.memory_diff(engine.head(), start).await.expect("it is compared");
    assert!(back.contains("+** TODO Order tiles"), "{back}");
    assert!(engine.memory_show(OperationId(99)).await.is_err());
    let all = engine.memory_diff(OperationId(0), start).await.expect("all of it");
    assert!(all.starts_with("2 files") && all.contains("\ncame: ") && all.contains("\n+* Other\n"), "{all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_large_difference_as_much_is_shown_as_can_be_read_and_it_says_so() {
    let line = format!("{}\n", "word ".repeat(20));
    let long: String = (0..150).map(|n| format!("* Heading {n}\n{}", line.repeat(80))).collect();
    let home = Home::new(&[("home.org", &long), ("other.org", "* Other\n")]);
    let server = FakeServer::start([]);
    let engine = engine(&home, &server, |_| {}).await;
    let all = engine.memory_diff(OperationId(0), engine.head()).await.expect("all of it");
    assert!(all.starts_with("2 files") && all.len() < (1 << 20) + 1000, "{}", all.len());
    assert!(
        all.contains(" more bytes of this file; ") && all.ends_with("\nand 1 more file\n"),
        "{}",
        &all[all.len() - 300..]
    );
    let json = engine.memory_diff_json(OperationId(0), engine.head()).await.expect("all of it");
    let shown = |at: usize| json["files"][at]["diff"].as_str().expect("a difference").to_string();
    assert!(shown(0).contains("+* Heading 149\n") && shown(1).contains("+* Other"), "a machine gets all");
    // One title is told once, in order.
    std::fs::write(home.file("other.org"), "* New\nMore.\n* Other\nAnother text.\n* New\n")
        .expect("a file of the memex");
    let before = engine.head();
    home.read(&engine).await;
    let json = engine.memory_diff_json(before, engine.head()).await.expect("all of it");
    assert_eq!(json["files"][0]["headings"], json!(["New", "Other"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_outlive_the_program() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start(act("org-set-todo", json!({"id": "tiles", "state": "DONE"})));
    let first = engine(&home, &server, |_| {}).await;
    does(&home, &first, "the tiles are ordered").await;
    first.close().await;
    let again = engine(&home, &server, |_| {}).await;
    let changes: Vec<Change> = again.changes().await.expect("they are read");
    assert_eq!((changes.len(), changes[0].kind, changes[0].files.len()), (1, Kind::Act, 1));
    undo(&again).await;
    assert_eq!(home.read_file("home.org"), NOTES);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_comes_in_pages_and_the_last_one_names_it() {
    let home = Home::new(&[("home.org", NOTES)]);
    let long: String = (0..3_000).map(|n| format!("line {n} of what the agent wrote\n")).collect();
    let server = FakeServer::start(act("write-file", json!({"path": home.project("long.txt"), "content": long})));
    let engine = engine(&home, &server, |_| {}).await;
    does(&home, &engine, "write it").await;
    let preview = engine.preview(&origin(), Wish::Undo(None)).await.expect("it is shown");
    let first = engine.preview_page(&preview.name(), 0).expect("a page");
    assert_eq!(first.shown, None);
    let (mut text, mut next) = (first.text.clone(), first.next);
    while let Some(from) = next {
        let page = engine.preview_page(&preview.name(), from).expect("a page");
        text.push_str(&page.text);
        assert_eq!(page.next.is_none(), page.shown.is_some());
        next = page.next;
    }
    assert_eq!(text, preview.text);
    carried(&engine, &preview).await;
    assert!(!Path::new(&home.project("long.txt")).exists());
}

/// Returns how many bytes a store takes, all its files together.
fn room(home: &Home) -> u64 {
    tree(&home.store()).iter().map(|(_, bytes)| bytes.len() as u64).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_changes_one_heading_adds_little_to_the_store() {
    // The whole figure, 1,000 turns in 20,000 files of 50 MB, takes minutes: `make soak` asks for it.
    let turns: usize = soak::asked("TURNS").unwrap_or(20);
    let files: usize = if turns > 20 { 20_000 } else { 1_000 };
    let home = Home::new(&[]);
    let mut bytes = 0;
    for n in 0..files {
        let lines = |part: usize| -> String {
            (0..10).map(|line| format!("Line {part}{line} of note {n} says what nobody else says.\n")).collect()
        };
        let mut text = format!("* TODO Note {n}\n:PROPERTIES:\n:ID: n{n}\n:END:\n{}", lines(0));
        (1..5).for_each(|part| text.push_str(&format!("** Part {part} of {n}\n{}", lines(part))));
        bytes += text.len();
        std::fs::write(home.file(&format!("n{n}.org")), text).expect("a file");
    }
    let place = |n: usize| n * 19 % files;
    let calls = (0..turns).flat_map(|n| act("org-set-todo", json!({"id": format!("n{}", place(n)), "state": "DONE"})));
    let server = FakeServer::start(calls);
    let first = engine(&home, &server, |_| {}).await;
    first.close().await;
    let before = room(&home);
    let again = engine(&home, &server, |_| {}).await;
    for n in 0..turns {
        does(&home, &again, &format!("note {n} is done")).await;
    }
    let changes = again.changes().await.expect("they are read");
    assert_eq!(changes.len(), turns, "each can be taken back: what its file was before is kept");
    again.close().await;
    let added = room(&home) - before;
    soak::survived(format!(
        "{turns} turns that each change one heading of {:.1} MB in {files} files, with what each file was before: {:.1} MB more in the store, {} bytes each",
        bytes as f64 / 1e6,
        added as f64 / 1e6,
        added / turns as u64
    ));
    assert!(added < 20_000 * turns as u64, "{added} bytes for {turns} turns");
}
