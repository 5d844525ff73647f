//! The tools through whole turns: what a model is told, what a plan shows, and what stands in the files afterwards.

use crate::support::engine::{Home, waiting};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use crate::support::skip::skipped;
use passepartout::domain::editor::{Question, Row};
use passepartout::domain::gate::plan::FlightPlan;
use passepartout::domain::gate::show::diff;
use passepartout::domain::scope::Level;
use passepartout::domain::skill::Skill;
use passepartout::domain::tool::{Offered, Toolbox};
use passepartout::domain::turn::Ending;
use passepartout::edge::editor::{Buffer, Editor, Splice};
use passepartout::edge::engine::Engine;
use passepartout::edge::web::fetch_where;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::Arc;

const HOUSE: &str = "#+TODO: TODO WAIT | DONE\n* Kitchen\n:PROPERTIES:\n:ID: kitchen\n:END:\n** TODO Order tiles :white:\n\
                     :PROPERTIES:\n:ID: tiles\n:END:\nThe white ones.\n* Garden\n** Beds\n";

/// An engine with a model that asks for one tool after the other.
pub(crate) struct World {
    pub(crate) home: Home,
    server: FakeServer,
    pub(crate) engine: Arc<Engine>,
}

impl World {
    pub(crate) async fn new(files: &[(&str, &str)], local: bool, allowed: &[&str]) -> World {
        World::with(Home::new(files), local, allowed).await
    }

    pub(crate) async fn with(home: Home, local: bool, allowed: &[&str]) -> World {
        let server = FakeServer::start([]);
        let engine = home
            .engine_with(|config| {
                crate::support::engine::provide(config, &[("fake", &server, local)], &["fake"]);
                config.shipped_skills = Some(concat!(env!("CARGO_MANIFEST_DIR"), "/skills").into());
                for tool in allowed {
                    config.permissions.insert(tool.to_string(), Level::Allow);
                }
            })
            .await;
        home.read(&engine).await;
        if !local {
            server.push(Reply::answer(Dialect::OpenAi, &["Hello."], &[]));
            let _ = home.ask(&engine, "hello").await;
            home.approve(&engine, &waiting(&engine)).await.expect("the first contact is approved");
        }
        World { home, server, engine }
    }

    /// Lets the model call a tool; returns what it was told of it, or that a plan waits.
    pub(crate) async fn call(&self, tool: &str, args: Value) -> String {
        self.calls(&[(tool, args)]).await.remove(0)
    }

    pub(crate) async fn calls(&self, calls: &[(&str, Value)]) -> Vec<String> {
        for (tool, args) in calls {
            let mut args = args.clone();
            args["explanation"] = json!("The user asked for exactly this.");
            self.server.push(Reply::answer(Dialect::OpenAi, &[], &[("c1", tool, args)]));
        }
        self.server.push(Reply::answer(Dialect::OpenAi, &["Done."], &[]));
        let tools: Vec<&str> = calls.iter().map(|(tool, _)| *tool).collect();
        let (finished, _) = self.home.ask(&self.engine, &self.words_for(&tools)).await;
        if finished.report.ending == Ending::Parked {
            // The words that were to follow wait for the plan.
            return vec!["parked".to_string()];
        }
        let last = self.server.requests().last().expect("a request").json()["messages"].clone();
        let results = last.as_array().expect("messages").iter().filter(|message| message["role"] == "tool");
        let results: Vec<String> =
            results.map(|result| result["content"].as_str().expect("a text").to_string()).collect();
        results[results.len() - calls.len()..].to_vec()
    }

    /// Returns words in whose turn a model may call some tools: those that trigger the skill that ships and lists them.
    fn words_for(&self, tools: &[&str]) -> String {
        let toolbox = Toolbox::builtin();
        let listed = |tool: &&&str| toolbox.get(tool).is_some_and(|tool| tool.offered == Offered::BySkill);
        let Some(tool) = tools.iter().find(listed) else { return "please do that".to_string() };
        let skills = self.engine.skills();
        let lists = |skill: &&Skill| skill.tools.as_ref().is_some_and(|tools| tools.contains(*tool));
        let skill = skills.loaded.skills.iter().find(lists).unwrap_or_else(|| panic!("no skill lists {tool}"));
        let words = skill.triggers.iter().find_map(|trigger| trigger.words.first());
        format!("please do that: {}", words.expect("it is triggered by words"))
    }

    /// Returns how often the model was asked.
    pub(crate) fn requests(&self) -> usize {
        self.server.requests().len()
    }

    pub(crate) fn plan(&self) -> FlightPlan {
        waiting(&self.engine)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = std::path::PathBuf::from(self.home.project(name));
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
        std::fs::write(path, text).expect("it is written");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exact_text_is_replaced_and_a_wrong_one_is_said_with_what_stands_there() {
    let world = World::new(&[], true, &["replace-in-file"]).await;
    world.write("main.rs", "fn one() {}\nfn two() {}\n");
    let path = world.home.project("main.rs");
    let args = |old: &str, new: &str| json!({"path": path, "old": old, "new": new});
    let told = world.call("replace-in-file", args("fn  two()", "fn three()")).await;
    assert!(told.contains("differs only in its blanks begins in line 2:\n| fn two() {}"), "{told}");
    let told = world.call("replace-in-file", args("fn", "pub fn")).await;
    assert!(told.contains("stands there 2 times, in the lines 1, 2"), "{told}");
    assert!(world.engine.plans(false).is_empty(), "what cannot be done is no plan");
    let told = world.call("replace-in-file", args("two", "three")).await;
    assert!(told.starts_with("Done. "), "{told}");
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "fn one() {}\nfn three() {}\n");
    let mut all = args("fn", "pub fn");
    all["count"] = json!(2);
    assert!(world.call("replace-in-file", all).await.starts_with("Done. "));
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "pub fn one() {}\npub fn three() {}\n");
    let told =
        world.call("replace-in-file", json!({"path": world.home.project("none.rs"), "old": "a", "new": "b"})).await;
    assert!(told.contains("is not there"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_listed_and_searched_without_what_is_ignored_secret_or_private() {
    let notes = [("open.org", "* Needle\n"), ("health.org", "* Doctor :private:\nNeedle\n")];
    for local in [true, false] {
        let world = World::new(&notes, local, &[]).await;
        world.write(".gitignore", "target/\n");
        world.write("target/out.txt", "needle\n");
        world.write("src/a.rs", "let needle = 1;\nlet other = 2;\n");
        world.write("b.txt", "a Needle\n");
        world.write(".env", "NEEDLE=needle\n");
        let told = world.call("list-files", json!({})).await;
        assert!(told.contains("src/a.rs (31 bytes)") && told.contains("b.txt"), "{told}");
        assert!(!told.contains("out.txt") && !told.contains(".env"), "{told}");
        let told = world.call("list-files", json!({"glob": "*.rs"})).await;
        assert_eq!(told, "src/a.rs (31 bytes)");
        let told = world.call("grep", json!({"pattern": "needle"})).await;
        assert_eq!(told, "src/a.rs:1: let needle = 1;");
        let told = world.call("grep", json!({"pattern": "^a n.*e$", "regex": true, "ignore-case": true})).await;
        assert_eq!(told, "b.txt:1: a Needle");
        let told = world.call("grep", json!({"pattern": "(", "regex": true})).await;
        assert!(told.contains("the pattern cannot be read"), "{told}");
        let memex = world.home.file("");
        let told = world.call("grep", json!({"pattern": "Needle", "path": memex})).await;
        assert!(told.contains("open.org:1: * Needle"), "{told}");
        assert_eq!(told.contains("health.org"), local, "{told}");
        assert_eq!(told.contains("Private notes are left out."), !local, "{told}");
        let told = world.call("list-files", json!({"path": memex})).await;
        assert_eq!(told.contains("health.org"), local, "{told}");
        let told = world.call("grep", json!({"pattern": "needle", "path": world.home.project(".env")})).await;
        assert!(told.contains("out of bounds"), "{told}");
        world.engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_once_until_something_changes() {
    let world = World::new(&[], true, &["write-file"]).await;
    world.write("a.txt", "needle\n");
    let grep = ("grep", json!({"pattern": "needle"}));
    let write = ("write-file", json!({"path": world.home.project("b.txt"), "content": "needle\n"}));
    let told = world.calls(&[grep.clone(), grep.clone(), write, grep]).await;
    assert_eq!(told[0], "a.txt:1: needle");
    assert_eq!(told[1], told[0]);
    assert_eq!(told[3], "a.txt:1: needle\nb.txt:1: needle");
}

#[tokio::test(flavor = "multi_thread")]
async fn org_files_are_edited_in_the_further_ways() {
    let allowed = ["org-replace-body", "org-set-tags", "org-clock", "org-archive", "org-move"];
    let world = World::new(&[("house.org", HOUSE)], true, &allowed).await;
    let told = world.call("org-outline", json!({"file": world.home.file("house.org"), "depth": 1})).await;
    assert_eq!(told, "- Kitchen (id: kitchen)\n- Garden (id: Garden)".replace("id: Garden", &garden(&told)));
    let told = world.call("org-outline", json!({"id": "kitchen"})).await;
    assert_eq!(told, "- TODO Order tiles :white: (id: tiles)");
    let told = world.call("org-outline", json!({})).await;
    assert!(told.contains("house.org (4 headings)"), "{told}");

    assert!(
        world.call("org-replace-body", json!({"id": "tiles", "body": "The grey ones."})).await.starts_with("Done.")
    );
    assert!(world.home.read_file("house.org").contains(":END:\nThe grey ones.\n* Garden"));
    let told = world.call("org-replace-body", json!({"id": "tiles", "body": "* A heading"})).await;
    assert!(told.contains("refused, because Org would read it differently"), "{told}");
    assert!(world.call("org-set-tags", json!({"id": "tiles", "tags": ["grey", "home"]})).await.starts_with("Done."));
    assert!(world.home.read_file("house.org").contains(":grey:home:\n"));
    assert!(world.call("org-clock", json!({"id": "tiles", "do": "in"})).await.starts_with("Done."));
    assert!(world.home.read_file("house.org").contains(":LOGBOOK:\nCLOCK: [2026-03-02 Mon 09:00]\n:END:\n"));
    let told = world.call("org-clock", json!({"id": "tiles", "do": "in"})).await;
    assert!(told.contains("its clock is running already"), "{told}");
    world.home.clock.advance(1);
    assert!(world.call("org-clock", json!({"id": "tiles", "do": "out"})).await.starts_with("Done."));
    let line = "CLOCK: [2026-03-02 Mon 09:00]--[2026-03-02 Mon 10:00] =>  1:00\n";
    assert!(world.home.read_file("house.org").contains(line));
    let to = json!({"id": "tiles", "file": world.home.file("house.org"), "under": ["Garden", "Beds"]});
    assert!(world.call("org-move", to).await.starts_with("Done."));
    assert!(world.home.read_file("house.org").contains("** Beds\n*** TODO Order tiles"));
    let nowhere = json!({"id": "tiles", "file": world.home.file("house.org"), "under": ["Garden", "Shed"]});
    assert_eq!(world.call("org-move", nowhere).await, "parked", "edits of old say so in the plan");
    world.home.deny(&world.engine, &world.plan(), "no").await.expect("it counts");

    assert!(world.call("org-archive", json!({"id": "tiles"})).await.starts_with("Done."));
    assert!(!world.home.read_file("house.org").contains("Order tiles"));
    let archive = world.home.read_file("house.org_archive");
    let head = "#    -*- mode: org -*-\n#+TODO: TODO WAIT | DONE\n\n\nArchived entries from file ";
    assert!(archive.starts_with(head), "{archive}");
    for line in
        ["\n* TODO Order tiles", ":ARCHIVE_OLPATH: Garden/Beds\n", ":ARCHIVE_TODO: TODO\n", ":ID:       tiles\n"]
    {
        assert!(archive.replace(":ID: tiles", ":ID:       tiles").contains(line), "{line} {archive}");
    }
}

/// Returns the id that memory made for the heading without one.
fn garden(told: &str) -> String {
    let line = told.lines().last().expect("a line");
    format!("id: {}", line.rsplit_once("id: ").expect("an id").1.trim_end_matches(')'))
}

#[tokio::test(flavor = "multi_thread")]
async fn archiving_keeps_private_what_was_private_and_tags_ask_before_they_open_it() {
    let health = "* Health :private:\n** Doctor\n:PROPERTIES:\n:ID: doctor\n:END:\nThe result.\n";
    let world = World::new(&[("health.org", health)], true, &[]).await;
    assert_eq!(world.call("org-archive", json!({"id": "doctor"})).await, "parked");
    let plan = world.plan();
    assert!(plan.diff.contains("+* Doctor") && plan.diff.contains(":private:"), "{}", plan.diff);
    assert!(plan.asks().iter().all(|(_, why)| !why.contains("no longer be private")), "{:?}", plan.asks());
    world.home.deny(&world.engine, &plan, "no").await.expect("it counts");
    let _ = world.call("memory-read", json!({"id": "doctor"})).await;
    let id = world.engine.view().card(&world.home.file("health.org")).expect("a card").id(1).to_string();
    assert_eq!(world.call("org-set-tags", json!({"id": id, "tags": []})).await, "parked");
    let asks = world.plan().asks();
    assert!(asks.iter().any(|(_, why)| why.contains("no longer be private")), "{asks:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_runs_elsewhere_is_said_in_the_plan() {
    let other = "* Paint\nCLOCK: [2026-03-01 Sun 09:00]\n";
    let world = World::new(&[("house.org", HOUSE), ("other.org", other)], true, &[]).await;
    assert_eq!(world.call("org-clock", json!({"id": "tiles", "do": "in"})).await, "parked");
    let body = world.plan().body;
    assert!(body.contains("mind: A clock is running already, at “Paint” in "), "{body}");
    // The user looks at it for a while; what was shown is what is written.
    world.home.clock.advance(1);
    world.home.approve(&world.engine, &world.plan()).await.expect("it counts");
    assert!(world.home.read_file("house.org").contains("CLOCK: [2026-03-02 Mon 09:00]\n"));
}

fn git(world: &World, words: &[&str]) {
    let out = Command::new("git").args(words).current_dir(world.home.project("")).output().expect("git runs");
    assert!(out.status.success(), "{words:?}: {}", String::from_utf8_lossy(&out.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn git_is_asked_and_runs_nothing_of_the_repository() {
    let world = World::new(&[], true, &[]).await;
    if Command::new("git").arg("--version").output().is_err() {
        skipped("there is no git");
        return;
    }
    git(&world, &["init", "-q", "-b", "main"]);
    world.write("a.txt", "one\n");
    world.write(".env", "TOKEN=one\n");
    git(&world, &["add", "-A", "-f"]);
    let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    git(&world, &[&who[..], &["commit", "-q", "-m", "First step"]].concat());
    world.write("a.txt", "one\ntwo\n");
    world.write(".env", "TOKEN=two\n");
    for (key, value) in
        [("core.fsmonitor", "touch hacked; false"), ("diff.external", "touch hacked"), ("core.pager", "touch hacked")]
    {
        git(&world, &["config", key, value]);
    }
    let told = world.call("git-status", json!({})).await;
    if told.contains("cannot be confined") {
        skipped(told);
        return;
    }
    assert_eq!(told, "## main\n M a.txt");
    let told = world.call("git-log", json!({})).await;
    assert!(told.contains(" A: First step"), "{told}");
    let told = world.call("git-diff", json!({})).await;
    assert!(told.contains("+two") && !told.contains("TOKEN"), "{told}");
    let told = world.call("git-diff", json!({"path": world.home.project("a.txt"), "since": "HEAD"})).await;
    assert!(told.contains("+two"), "{told}");
    let told = world.call("git-diff", json!({"since": "--output=hacked"})).await;
    assert!(told.contains("is no plain name of a commit"), "{told}");
    let told = world.call("git-diff", json!({"staged": true})).await;
    assert_eq!(told, "Nothing has changed there.");
    assert!(!std::path::Path::new(&world.home.project("hacked")).exists(), "nothing was run");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_asks_first_and_never_comes_from_inside() {
    let world = World::new(&[], true, &[]).await;
    assert_eq!(world.call("fetch-url", json!({"url": world.server.url()})).await, "parked");
    let plan = world.plan();
    assert!(
        plan.asks().iter().any(|(_, why)| why.contains("would learn that this was asked for")),
        "{:?}",
        plan.asks()
    );
    let asked = world.server.requests().len();
    let _ = world.home.approve(&world.engine, &plan).await.expect("it counts");
    let told = world.server.requests()[asked..].to_vec();
    assert!(told.iter().all(|request| request.method == "POST"), "only the model was asked");
    let last = told.last().expect("the model goes on").body.clone();
    assert!(last.contains("is not fetched from: it is this machine"), "{last}");
    assert!(diff(&Default::default()).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_read_as_text_from_one_host_within_bounds() {
    let html = |body: &str| {
        Reply::raw(
            200,
            "text/html; charset=utf-8",
            format!("<html><head><title>T</title></head><body>{body}</body></html>"),
        )
    };
    let article = format!(
        "<nav><a href=x>Menu</a></nav><article><h1>Tiles</h1>{}</article><footer>Foot</footer>",
        "<p>White tiles are laid in the kitchen, one after the other, with care and grout.</p>".repeat(20)
    );
    let moved = |to: &str| Reply::raw(302, "text/plain", "").header("location", to);
    let cases: Vec<(Vec<Reply>, Result<&str, &str>)> = vec![
        (vec![Reply::raw(200, "text/plain; charset=iso-8859-1", b"gr\xfcn".to_vec())], Ok("grün")),
        (vec![html(&article)], Ok("White tiles are laid")),
        (vec![html("<p>short")], Ok("short")),
        (vec![html(&"<div>".repeat(100_000))], Ok("")),
        (vec![Reply::raw(200, "application/pdf", "x")], Err("only HTML and text are fetched")),
        (vec![Reply::raw(200, "text/plain", vec![b'a'; (5 << 20) + 1])], Err("is larger than 5 MB")),
        (vec![Reply::raw(404, "text/html", "x")], Err("answered with status 404")),
        (vec![moved("/else"), Reply::raw(200, "text/plain", "there")], Ok("there")),
        (vec![moved("https://example.org/")], Err("sends one to another host: https://example.org/")),
        (vec![moved("file:///etc/passwd")], Err("sends one to what is no address")),
        ((0..7).map(|_| moved("/again")).collect(), Err("elsewhere more than 5 times")),
    ];
    for (replies, expected) in cases {
        let server = FakeServer::start(replies);
        let page = fetch_where(&server.url(), |_| None).await;
        match expected {
            Ok(text) => {
                let page = page.expect("it is fetched");
                assert!(page.text.contains(text), "{page:?}");
                assert!(!page.text.contains("Menu"), "{page:?}");
            }
            Err(why) => assert!(page.as_ref().is_err_and(|said| said.contains(why)), "{page:?}"),
        }
    }
    for (url, words) in [
        ("http://localhost:1/", "localhost is not fetched from: "),
        ("http://[::1]:1/", "[::1] is not fetched from: "),
        ("http://127.1/", "its host is a number in an unusual form"),
        ("http://user@127.0.0.1/", "it names a user before the host"),
        ("ftp://127.0.0.1/", "it does not begin with https:// or http://"),
    ] {
        let why = passepartout::edge::web::fetch(url).await.expect_err("it is refused");
        assert!(why.contains(words), "{url}: {why}");
    }
}

/// An editor that has something to tell, and notes what it was asked. What is open there has one line more than its file.
struct Telling(std::sync::Mutex<Vec<String>>, Vec<Row>);

#[async_trait::async_trait]
impl Editor for Telling {
    async fn buffer(&self, file: &str) -> Result<Option<Buffer>, String> {
        let open = file.ends_with("open.org").then(|| std::fs::read_to_string(file).expect("a file"));
        Ok(open.map(|text| Buffer { text: format!("{text}One more.\n").into(), tick: 1, read_only: false }))
    }

    async fn edit(&self, file: &str, _tick: i64, _splices: Vec<Splice>) -> Result<(), String> {
        Err(format!("{file} is not open"))
    }

    async fn ask(&self, question: &Question) -> Result<Vec<Row>, String> {
        let shown = question.text.as_deref().unwrap_or_default();
        let shown = shown.lines().filter(|line| line.starts_with(['+', '-', '@'])).collect::<Vec<_>>().join(" ");
        let asked = format!("{} {:?} {shown}", question.verb.name(), question.line);
        self.0.lock().expect("not poisoned").push(asked.trim_end().to_string());
        Ok(self.1.clone())
    }
}

/// An Emacs in which one file can be open, and that loses the last bytes of what it is given.
struct Losing {
    text: std::sync::Mutex<Option<String>>,
    lost: usize,
}

#[async_trait::async_trait]
impl Editor for Losing {
    async fn buffer(&self, _: &str) -> Result<Option<Buffer>, String> {
        let text = self.text.lock().expect("not poisoned").as_deref().map(Into::into);
        Ok(text.map(|text| Buffer { text, tick: 1, read_only: false }))
    }

    async fn edit(&self, _: &str, _: i64, splices: Vec<Splice>) -> Result<(), String> {
        let mut text = self.text.lock().expect("not poisoned");
        let text = text.as_mut().ok_or("it is not open")?;
        for Splice { begin, end, text: new } in splices {
            text.replace_range(begin..end, &new[..new.len() - self.lost]);
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_buffer_says_after_an_edit_is_read_back() {
    for (lost, said) in [(0, "it is not saved yet."), (1, "says something else by now than what was written")] {
        let home = Home::new(&[("house.org", HOUSE)]);
        let losing = Losing { text: std::sync::Mutex::new(Some(HOUSE.to_string())), lost };
        *home.editor.lock().expect("not poisoned") = Arc::new(losing);
        let world = World::with(home, true, &["org-replace-body"]).await;
        let told = world.call("org-replace-body", json!({"id": "tiles", "body": "The black ones."})).await;
        assert!(told.contains(said), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_opened_since_it_was_shown_is_changed_as_it_was_shown_or_not_at_all() {
    for (opened, done, disk) in
        [(None, true, "two\n"), (Some("one\n"), true, "one\n"), (Some("one, and typed on\n"), false, "one\n")]
    {
        let home = Home::new(&[]);
        let emacs = Arc::new(Losing { text: std::sync::Mutex::new(None), lost: 0 });
        *home.editor.lock().expect("not poisoned") = emacs.clone();
        let world = World::with(home, true, &[]).await;
        world.write("a.txt", "one\n");
        let args = json!({"path": world.home.project("a.txt"), "old": "one", "new": "two"});
        assert_eq!(world.call("replace-in-file", args).await, "parked");
        let plan = world.plan();
        *emacs.text.lock().expect("not poisoned") = opened.map(str::to_string);
        world.server.push(Reply::answer(Dialect::OpenAi, &["Done."], &[]));
        world.home.approve(&world.engine, &plan).await.expect("it is decided");
        let now = world.engine.plan(&plan.id.0).expect("it is known").status;
        assert_eq!(now.name() == "done", done, "{opened:?}: {now:?}");
        let text = std::fs::read_to_string(world.home.project("a.txt")).expect("it is there");
        assert_eq!(text, disk, "{opened:?}");
        let buffer = emacs.text.lock().expect("not poisoned").clone();
        let expected = opened.map(|text| if done { "two\n" } else { text });
        assert_eq!(buffer.as_deref(), expected, "{opened:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_that_is_named_by_its_id_asks_where_its_file_has_a_second_name() {
    let world = World::new(&[("house.org", HOUSE)], true, &["org-set-todo"]).await;
    let state = |state: &str| json!({"id": "tiles", "state": state});
    assert!(world.call("org-set-todo", state("WAIT")).await.starts_with("Done."));
    let second = world.home.project("second.org");
    std::fs::hard_link(world.home.file("house.org"), &second).expect("one file system");
    assert_eq!(world.call("org-set-todo", state("DONE")).await, "parked");
    let plan = world.plan();
    let says = |reason: &str| {
        let reasons = plan.trace.opinions.iter().filter_map(|opinion| opinion.verdict.reason());
        reasons.into_iter().any(|said| said.text.contains(reason))
    };
    assert!(says("another name as well (a hard link)"), "{:?}", plan.trace);
    std::fs::remove_file(second).expect("it is there");
    world.home.approve(&world.engine, &plan).await.expect("it is decided");
    assert!(world.home.read_file("house.org").contains("** WAIT Order"), "what was shown is not so any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn emacs_is_asked_by_a_closed_table_and_nothing_secret_or_private_comes_back() {
    let world = World::new(&[], true, &[]).await;
    let told = world.call("editor-look", json!({"verb": "buffers"})).await;
    assert!(told.contains("there is no Emacs to ask"), "{told}");
    let told = world.call("editor-look", json!({"verb": "eval"})).await;
    assert!(told.contains("“verb” must be one of: buffers, diagnostics"), "{told}");
    world.engine.close().await;

    let home = Home::new(&[("open.org", "* Open\n"), ("health.org", "* Doctor :private:\n")]);
    let row = |file: String| Row { file, line: 3, text: "what stands there".to_string() };
    let rows = [home.project("a.rs"), home.project(".env"), home.file("health.org"), home.file("open.org")].map(row);
    let editor = Arc::new(Telling(Default::default(), rows.to_vec()));
    *home.editor.lock().expect("not poisoned") = editor.clone();
    let world = World::with(home, false, &[]).await;
    let told = world.call("editor-look", json!({"verb": "definitions", "path": world.home.project("a.rs")})).await;
    assert!(told.contains("“definitions” needs the argument “name”"), "{told}");
    let told = world.call("editor-look", json!({"verb": "buffers"})).await;
    assert!(told.contains("a.rs:3: what stands there") && told.contains("open.org:3"), "{told}");
    assert!(!told.contains(".env") && !told.contains("health.org"), "{told}");
    assert!(told.contains("What may not be read here is left out."), "{told}");
    let show = json!({"verb": "go-to", "path": world.home.file("open.org"), "line": 1});
    assert_eq!(world.call("editor-show", show).await, "parked", "what moves windows asks");
    assert_eq!(*editor.0.lock().expect("not poisoned"), ["buffers None"]);
    let _ = world.home.approve(&world.engine, &world.plan()).await.expect("it counts");
    assert_eq!(*editor.0.lock().expect("not poisoned"), ["buffers None", "go-to Some(1)"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn emacs_is_handed_how_a_buffer_differs_from_its_file() {
    let home = Home::new(&[("open.org", "* Open\n"), ("shut.org", "* Shut\n")]);
    let editor = Arc::new(Telling(Default::default(), Vec::new()));
    *home.editor.lock().expect("not poisoned") = editor.clone();
    let world = World::with(home, false, &["editor-show"]).await;
    let file = world.home.file("open.org");
    let told = world.call("editor-show", json!({"verb": "diff", "path": file})).await;
    assert!(told.contains("It is shown in a window"), "{told}");
    let shown = format!("diff None --- a{file} +++ b{file} @@ -1 +1,2 @@ +One more.");
    assert_eq!(*editor.0.lock().expect("not poisoned"), [shown]);
    let told = world.call("editor-show", json!({"verb": "diff", "path": world.home.file("shut.org")})).await;
    assert!(told.contains("shut.org is not open in Emacs"), "{told}");
    assert_eq!(editor.0.lock().expect("not poisoned").len(), 1, "there was nothing to show");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heading_is_changed_in_several_ways_at_once_and_changed_files_are_listed() {
    let world = World::new(&[("house.org", HOUSE)], true, &["org-refactor", "insert-at-end"]).await;
    assert_eq!(world.home.ask(&world.engine, "/files").await.1, "The agent changed no file in this conversation.");
    let args = json!({"id": "tiles", "title": "Order grey tiles", "state": "WAIT", "tags": ["grey"],
                      "properties": ["EFFORT=1h"], "body": "The grey ones."});
    assert!(world.call("org-refactor", args).await.starts_with("Done."));
    let text = world.home.read_file("house.org");
    assert!(text.contains("** WAIT Order grey tiles :grey:\n"), "{text}");
    assert!(text.contains(":EFFORT:   1h\n:END:\nThe grey ones.\n* Garden"), "{text}");
    let told = world.call("org-refactor", json!({"id": "tiles"})).await;
    assert!(told.contains("say what is to change"), "{told}");
    let pp = json!({"id": "tiles", "properties": ["PP_ALLOW=shell"]});
    assert_eq!(world.call("org-refactor", pp).await, "parked", "rules ask whatever is allowed");
    world.home.deny(&world.engine, &world.plan(), "no").await.expect("it counts");
    world.write("log.txt", "one");
    let end = json!({"path": world.home.project("log.txt"), "text": "two"});
    assert!(world.call("insert-at-end", end).await.starts_with("Done."));
    assert_eq!(std::fs::read_to_string(world.home.project("log.txt")).expect("it is there"), "one\ntwo\n");
    let files = world.home.ask(&world.engine, "/files").await.1;
    assert!(files.contains("log.txt: Add 1 line at the end of") && files.contains("house.org: Change “"), "{files}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_not_put_together_in_steps() {
    let world = World::new(&[], true, &["replace-in-file", "write-file"]).await;
    let path = world.home.project("notes.txt");
    let parts = ["ghp_a1B2c3D4e5F6", "a1B2c3D4e5F6a1B2c3D4e5F6"];
    let first = json!({"path": path, "content": format!("{} HERE\n", parts[0])});
    assert!(world.call("write-file", first).await.starts_with("Done."));
    let step = |old: &str, new: &str| json!({"path": path, "old": old, "new": new});
    assert!(world.call("replace-in-file", step("HERE", parts[1])).await.starts_with("Done."));
    let told = world.call("replace-in-file", step(&format!("{} ", parts[0]), parts[0])).await;
    assert!(told.contains("What “notes.txt” would become seems to hold a secret"), "{told}");
    let text = std::fs::read_to_string(&path).expect("it is there");
    assert_eq!(text, format!("{} {}\n", parts[0], parts[1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_holds_what_the_agent_changed_and_nothing_else() {
    let world = World::new(&[], true, &["replace-in-file", "write-file", "git-commit"]).await;
    if Command::new("git").arg("--version").output().is_err() {
        skipped("there is no git");
        return;
    }
    git(&world, &["init", "-q", "-b", "main"]);
    for (key, value) in [("user.name", "A Person"), ("user.email", "a@example.org")] {
        git(&world, &["config", key, value]);
    }
    let lines: Vec<String> = (1..=20).map(|n| format!("line {n}\n")).collect();
    world.write("a.txt", &lines.concat());
    world.write("b.txt", "b\n");
    git(&world, &["add", "-A"]);
    git(&world, &["commit", "-q", "-m", "First"]);
    for hook in ["pre-commit", "reference-transaction"] {
        world.write(&format!(".git/hooks/{hook}"), "#!/bin/sh\ntouch hacked\n");
        let path = world.home.project(&format!(".git/hooks/{hook}"));
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    }
    let told = world.call("git-commit", json!({"message": "Nothing"})).await;
    if told.contains("cannot be confined") {
        skipped(told);
        return;
    }
    assert!(told.contains("nothing that was changed in this conversation"), "{told}");
    // The user's own change of the same file, and of another one.
    world.write("a.txt", &lines.concat().replace("line 2\n", "line two\n"));
    world.write("b.txt", "b changed\n");
    let path = world.home.project("a.txt");
    let args = json!({"path": path, "old": "line 18\n", "new": "line eighteen\n"});
    assert!(world.call("replace-in-file", args).await.starts_with("Done."));
    let new = json!({"path": world.home.project("it's new.txt"), "content": "new\n"});
    assert!(world.call("write-file", new).await.starts_with("Done."));
    let told = world.call("git-commit", json!({"message": "Second 'step'"})).await;
    assert_eq!(told, "parked", "it asks whatever is allowed");
    let plan = world.plan();
    for line in [
        "branch: refs/heads/main",
        "commits changes of: a.txt",
        "commits the new: it's new.txt",
        "stays uncommitted: a.txt: what was changed in it otherwise",
        "stays uncommitted: b.txt: it was changed otherwise",
    ] {
        assert!(plan.body.contains(line), "{line}: {}", plan.body);
    }
    assert!(plan.diff.contains("+line eighteen") && !plan.diff.contains("+line two"), "{}", plan.diff);
    world.home.approve(&world.engine, &plan).await.expect("it counts");
    let said = |words: &[&str]| {
        let out = Command::new("git").args(words).current_dir(world.home.project("")).output().expect("git runs");
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    assert_eq!(said(&["log", "--format=%an %s"]), "A Person Second 'step'\nA Person First\n");
    let shown = said(&["show", "HEAD"]);
    assert!(shown.contains("+line eighteen") && shown.contains("+new") && !shown.contains("line two"), "{shown}");
    assert_eq!(said(&["status", "--porcelain"]), " M a.txt\n M b.txt\n");
    assert!(!std::path::Path::new(&world.home.project("hacked")).exists(), "no hook was run");
    assert!(said(&["diff", "--cached"]).is_empty());
    let left = std::fs::read_dir(world.home.project(".git")).expect("a folder");
    assert!(left.flatten().all(|entry| !entry.file_name().to_string_lossy().starts_with("passepartout")));
    let told = world.call("git-commit", json!({"message": "Again"})).await;
    assert!(told.contains("nothing that was changed in this conversation is left"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_user_changes_while_a_model_thinks_is_in_the_next_answer() {
    let cases = [
        ("read-file", json!({"path": "notes.txt"})),
        ("grep", json!({"pattern": "apples"})),
        ("list-files", json!({"path": "."})),
        ("git-status", json!({})),
        ("git-diff", json!({})),
        ("git-log", json!({})),
    ];
    for (tool, args) in cases {
        let world = World::new(&[], true, &[]).await;
        let root = world.home.project("");
        let git = move |words: &[&str]| {
            let mut git = Command::new("git");
            git.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", &root).current_dir(&root).args(words);
            git.output().is_ok_and(|out| out.status.success())
        };
        let user = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
        world.write("notes.txt", "apples\n");
        if !git(&["init", "-q"]) || !git(&["add", "."]) || !git(&[&user[..], &["commit", "-qm", "one"]].concat()) {
            return skipped(format_args!("there is no git here"));
        }
        world.write("notes.txt", "apples one\n");
        let mut args = args.clone();
        args["explanation"] = json!("The user asked for exactly this.");
        let ask = || Reply::answer(Dialect::OpenAi, &[], &[("c1", tool, args.clone())]);
        world.server.push(ask());
        // The second question follows on the first with nothing between them; the third on what the user did.
        world.server.push(ask());
        let (path, fresh) = (world.home.project("notes.txt"), world.home.project("apples.txt"));
        let commits =
            [&user[..], &["commit", "-qam", "two"]].concat().iter().map(|w| w.to_string()).collect::<Vec<_>>();
        world.server.push(ask().meanwhile(move || {
            std::fs::write(&path, "many apples now\n").expect("it is written");
            std::fs::write(&fresh, "apples\n").expect("it is written");
            if tool == "git-log" {
                assert!(git(&commits.iter().map(String::as_str).collect::<Vec<_>>()));
            }
        }));
        world.server.push(Reply::answer(Dialect::OpenAi, &["Done."], &[]));
        let _ = world.home.ask(&world.engine, "please do that").await;
        let last = world.server.requests().last().expect("a request").json()["messages"].clone();
        let said: Vec<String> = last
            .as_array()
            .expect("messages")
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| message["content"].as_str().expect("a text").to_string())
            .collect();
        assert_eq!(said.len(), 3, "{tool}: {said:?}");
        if said[0].contains("cannot be confined") {
            return skipped(format_args!("git cannot be confined here"));
        }
        assert_eq!(said[0], said[1], "{tool}");
        assert_ne!(said[0], said[2], "{tool}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lisp_is_evaluated_in_a_worker_of_the_conversation() {
    let world = World::new(&[], true, &[]).await;
    let told = world.call("eval-lisp", json!({"code": "(mapcar #'1+ '(1 2))"})).await;
    if told.contains("cannot be confined") || told == "parked" {
        return skipped(format_args!("Lisp cannot be confined without asking: {told}"));
    }
    assert_eq!(told, "Value: (2 3)");
    assert_eq!(
        world.call("eval-lisp", json!({"code": "(car \"a\")"})).await.lines().next(),
        Some("Error: Wrong type argument: listp, \"a\" (wrong-type-argument)")
    );
    // What is not known to be pure asks, and is evaluated once it is approved; the next call finds it.
    assert_eq!(world.call("eval-lisp", json!({"code": "(setq garden 3)"})).await, "parked");
    world.home.approve(&world.engine, &world.plan()).await.expect("it is approved");
    assert_eq!(world.engine.lisp_workers(), 1);
    world.engine.close().await;
    assert_eq!(world.engine.lisp_workers(), 0);
}
