//! What becomes of acts, plans and conversations when a turn is stopped, breaks, or another one goes on beside it.

use crate::support::engine::{Home, ask, origin, provide, status, waiting};
use crate::support::fake_server::{Dialect, FakeCall, FakeServer, Reply};
use passepartout::domain::gate::plan::{FlightPlan, PlanStatus};
use passepartout::domain::label::Privacy;
use passepartout::domain::memory::store::{Commit, NewRecord, Record, Store};
use passepartout::domain::port::Streamed;
use passepartout::domain::scope::Level;
use passepartout::domain::turn::{Conversation, Ending};
use passepartout::edge::editor::{Buffer, Editor, Splice};
use passepartout::edge::engine::record::{self, Finished};
use passepartout::edge::engine::skilled::{Bound, Setting, Under};
use passepartout::edge::engine::turns::Decided;
use passepartout::edge::engine::{Engine, Notice};
use passepartout::edge::store::disk::DiskStore;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const TILES: &str = "* Kitchen\n** TODO Order tiles\n:PROPERTIES:\n:ID: tiles\n:END:\nThe white ones.\n";

fn why(mut args: Value) -> Value {
    args["explanation"] = json!("The user asked for exactly this.");
    args
}

fn says(text: &str) -> Reply {
    Reply::answer(Dialect::OpenAi, &[text], &[])
}

fn calls(calls: &[FakeCall<'_>]) -> Reply {
    Reply::answer(Dialect::OpenAi, &[], calls)
}

fn mark(id: &'static str, state: &str) -> FakeCall<'static> {
    (id, "org-set-todo", why(json!({"id": "tiles", "state": state})))
}

fn schedule(id: &'static str) -> FakeCall<'static> {
    (id, "org-schedule", why(json!({"id": "tiles", "when": "2026-04-01"})))
}

/// Returns what the last request said of each call.
fn results(server: &FakeServer) -> Vec<(String, String)> {
    let requests = server.requests();
    let body = requests.last().expect("there was a request").json();
    let messages = body["messages"].as_array().expect("messages").iter().filter(|message| message["role"] == "tool");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    messages.map(|message| (text(&message["tool_call_id"]), text(&message["content"]))).collect()
}

fn result(server: &FakeServer, call: &str) -> String {
    let found = results(server);
    let of_call: Vec<_> = found.iter().filter(|(id, _)| id == call).collect();
    assert_eq!(of_call.len(), 1, "one result for {call}: {found:?}");
    of_call[0].1.clone()
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it comes in time")
}

/// An editor in which every file is open; edits after the first few wait to be let through.
struct Slow {
    /// How many edits go through at once.
    free: AtomicUsize,
    asked: tokio::sync::Notify,
    go_on: tokio::sync::Notify,
}

impl Slow {
    fn after(free: usize) -> Arc<Slow> {
        let (asked, go_on) = (tokio::sync::Notify::new(), tokio::sync::Notify::new());
        Arc::new(Slow { free: AtomicUsize::new(free), asked, go_on })
    }
}

#[async_trait::async_trait]
impl Editor for Slow {
    async fn buffer(&self, _file: &str) -> Result<Option<Buffer>, String> {
        Ok(Some(Buffer { text: TILES.into(), tick: 1, read_only: false }))
    }

    async fn edit(&self, _file: &str, _tick: i64, _splices: Vec<Splice>) -> Result<(), String> {
        let free = self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| free.checked_sub(1));
        if free.is_err() {
            self.asked.notify_one();
            self.go_on.notified().await;
        }
        Ok(())
    }
}

/// An engine with two plans of one conversation: the first marks the heading, the second schedules it.
async fn two_plans(home: &Home, server: &FakeServer) -> (Arc<Engine>, FlightPlan, FlightPlan) {
    let engine = home.served(server, &["fake"], true).await;
    let _ = home.ask(&engine, "see to the tiles").await;
    let plans = engine.plans(false);
    let named = |tool: &str| plans.iter().find(|plan| plan.action.tool() == tool).cloned().expect("it waits");
    (engine, named("org-set-todo"), named("org-schedule"))
}

fn approving(engine: &Arc<Engine>, plan: &FlightPlan) -> tokio::task::JoinHandle<Result<Ending, String>> {
    let (engine, id, shown) = (engine.clone(), plan.id.clone(), plan.shown());
    tokio::spawn(async move {
        let decided = Decided::Approve { shown };
        let turn = engine.new_turn();
        engine.decide(&origin(), &id.0, decided, turn, &mut |_| {}).await.map(|done| done.report.ending)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_hears_that_an_act_that_was_stopped_may_be_done() {
    let home = Home::new(&[("home.org", TILES)]);
    let slow = Slow::after(0);
    *home.editor.lock().expect("not poisoned") = slow.clone();
    let server = FakeServer::start([calls(&[mark("c1", "DONE"), schedule("c2")]), says("I see.")]);
    let (engine, first, second) = two_plans(&home, &server).await;
    let task = approving(&engine, &first);
    soon(slow.asked.notified()).await;
    task.abort();
    assert!(soon(task).await.is_err(), "it was stopped in the act");
    assert!(matches!(status(&engine, &first), PlanStatus::Failed(_)));
    soon(home.deny(&engine, &second, "no")).await.expect("the denial counts");
    let told = result(&server, "c1");
    assert_eq!(told, "failed: it was stopped before anything was known of its end; look whether it was done");
    assert_eq!(result(&server, "c2"), "denied: the user said no: no. Nothing was done.");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_hears_what_was_done_by_a_turn_that_was_stopped_behind_its_act() {
    let home = Home::new(&[("home.org", TILES)]);
    // The turn is stopped when the plan is known as done, and before its result is in the conversation.
    let running: Arc<OnceLock<tokio::task::AbortHandle>> = Arc::default();
    let handle = running.clone();
    *home.notify.lock().expect("not poisoned") = Arc::new(move |notice| {
        if matches!(&notice, Notice::Changed(plan) if matches!(plan.status, PlanStatus::Done(_)))
            && let Some(handle) = handle.get()
        {
            handle.abort();
        }
    });
    let server = FakeServer::start([calls(&[mark("c1", "DONE"), schedule("c2")]), says("I see.")]);
    let (engine, first, second) = two_plans(&home, &server).await;
    let (go, wait) = tokio::sync::oneshot::channel::<()>();
    let (deciding, plan) = (engine.clone(), first.clone());
    let task = tokio::spawn(async move {
        wait.await.expect("it goes on");
        let decided = Decided::Approve { shown: plan.shown() };
        deciding.decide(&origin(), &plan.id.0, decided, deciding.new_turn(), &mut |_| {}).await
    });
    running.set(task.abort_handle()).expect("it is set once");
    go.send(()).expect("it waits");
    assert!(soon(task).await.is_err(), "it was stopped");
    let PlanStatus::Done(words) = status(&engine, &first) else { panic!("{:?}", status(&engine, &first)) };
    // How far the turn came behind the act decides whether the other plan was shown anew already.
    let second = match status(&engine, &second) {
        PlanStatus::Replaced(new) => engine.plan(&new.0).expect("it is there"),
        _ => second,
    };
    home.deny(&engine, &second, "").await.expect("the denial counts");
    assert_eq!(result(&server, "c1"), format!("It was done already: {words}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_during_the_act_of_a_sibling_takes_its_result_along() {
    let home = Home::new(&[("home.org", TILES)]);
    let slow = Slow::after(0);
    *home.editor.lock().expect("not poisoned") = slow.clone();
    let server = FakeServer::start([calls(&[mark("c1", "DONE"), schedule("c2")]), says("I see.")]);
    let (engine, first, second) = two_plans(&home, &server).await;
    let task = approving(&engine, &first);
    soon(slow.asked.notified()).await;
    let (editing, id) = (engine.clone(), second.id.clone());
    let args = json!({"id": "tiles", "when": "2026-05-01"}).as_object().cloned().expect("an object");
    let mut edit = tokio::spawn(async move { editing.edit_plan(&origin(), &id.0, args).await });
    let pause = async {
        for _ in 0..10_000 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        edited = &mut edit => panic!("it did not wait for the act: {edited:?}"),
        () = pause => {}
    }
    slow.go_on.notify_one();
    assert_eq!(soon(task).await.expect("it ends"), Ok(Ending::Parked));
    let new = soon(edit).await.expect("it ends").expect("it is judged anew");
    assert_eq!(status(&engine, &second), PlanStatus::Replaced(new.id.clone()));
    home.deny(&engine, &new, "").await.expect("the denial counts");
    let told = result(&server, "c1");
    assert!(told.starts_with("Done. "), "{told}");
}

const MONEY: &str = "* Money :finance:\n:PROPERTIES:\n:ID: money\n:END:\n";

fn add(id: &'static str) -> FakeCall<'static> {
    (id, "org-add-heading", why(json!({"parent": "money", "title": "Rent"})))
}

/// Starts an engine with a skill for headings of one tag, which lists its tools; without a list there is no skill.
async fn with_skill(home: &Home, server: &FakeServer, tools: Option<&str>) -> Arc<Engine> {
    let folder = home.own_skills();
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    if let Some(tools) = tools {
        let text = format!("#+TITLE: Money\n#+TRIGGER: tag:finance\n#+TOOLS: {tools}\n* Prompt\nCount the coins.\n");
        std::fs::write(format!("{folder}/money.org"), text).expect("a skill");
    }
    let engine = home
        .engine_with(|config| {
            provide(config, &[("fake", server, true)], &["fake"]);
        })
        .await;
    home.read(&engine).await;
    engine
}

/// Parks a plan under the skill, and moves point out of its headings.
async fn parked_under_skill(home: &Home, server: &FakeServer) -> (Arc<Engine>, FlightPlan) {
    let engine = with_skill(home, server, Some("memory-read org-add-heading")).await;
    engine.focus_at(&home.file("money.org"), 2).expect("there is a heading");
    let _ = home.ask(&engine, "the rent is due").await;
    engine.focus_at(&home.file("home.org"), 2).expect("there is a heading");
    let plan = waiting(&engine);
    (engine, plan)
}

/// Returns the tools of which the model was told, and whether it was told the skill's prompt, in the last request.
fn told(server: &FakeServer) -> (Vec<String>, bool) {
    let requests = server.requests();
    let body = requests.last().expect("there was a request").json();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let names = tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap_or_default().to_string());
    (names.collect(), body["messages"].to_string().contains("Count the coins."))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_on_under_the_skill_that_it_began_under() {
    // What is left of the skill at the approval: all of it, or nothing.
    for left in [true, false] {
        let home = Home::new(&[("home.org", TILES), ("money.org", MONEY)]);
        let search = ("c2", "memory-search", why(json!({"query": "rent"})));
        let server = FakeServer::start([calls(&[add("c1")]), calls(&[search]), says("It stands there.")]);
        let (mut engine, plan) = parked_under_skill(&home, &server).await;
        let (asked, prompted) = told(&server);
        assert!(prompted && asked.contains(&"org-add-heading".to_string()), "{asked:?}");
        assert!(!asked.contains(&"memory-search".to_string()), "{asked:?}");
        if !left {
            engine.close().await;
            engine = with_skill(&home, &server, None).await;
        }
        let done = home.approve(&engine, &plan).await.expect("the approval counts");
        assert_eq!(done.report.text, "It stands there.");
        assert!(home.read_file("money.org").contains("Rent"), "{:?}", done.report.deeds);
        assert_eq!(told(&server), (asked, left));
        assert!(result(&server, "c2").starts_with("There is no tool “memory-search”."), "{:?}", results(&server));
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skill_that_was_tightened_meanwhile_refuses_what_waits() {
    let home = Home::new(&[("home.org", TILES), ("money.org", MONEY)]);
    let server = FakeServer::start([calls(&[add("c1")]), says("I see.")]);
    let (engine, plan) = parked_under_skill(&home, &server).await;
    engine.close().await;
    let engine = with_skill(&home, &server, Some("memory-read")).await;
    let refused = engine.edit_plan(&origin(), &plan.id.0, plan.action.args().clone()).await.expect_err("a gate denies");
    assert!(refused.contains("This skill may not use org-add-heading."), "{refused}");
    home.approve(&engine, &plan).await.expect("the approval counts");
    assert_eq!(home.read_file("money.org"), MONEY);
    assert!(result(&server, "c1").contains("This skill may not use org-add-heading."), "{:?}", results(&server));
}

#[test]
fn a_conversation_of_an_earlier_version_is_read_and_names_no_skill() {
    let skill = Bound { name: "money".into(), tools: Some(["memory-read".to_string()].into()), rewrites: None };
    let setting = Setting { project: Some("/p".into()), under: Some(Under { skill: Some(skill), ..Under::default() }) };
    for (setting, under) in [(setting.clone(), setting.under), (Setting::default(), None)] {
        let mut kept = record::conversation(&Conversation::empty(), &setting);
        assert_eq!(
            record::read_conversation(&kept, &[]),
            Some((Conversation::empty(), Setting { under, ..setting.clone() }))
        );
        kept.as_object_mut().expect("an object").remove("under");
        let (_, read) = record::read_conversation(&kept, &[]).expect("it is read");
        assert_eq!(read, Setting { under: None, ..setting });
    }
}

/// Starts a turn, stops it when the editor is asked for what it does not let through, and returns what is told of it.
async fn stopped_in_the_act(home: &Home, server: &FakeServer, slow: &Slow) -> (Arc<Engine>, Finished) {
    let engine = home
        .engine_with(|config| {
            provide(config, &[("fake", server, true)], &["fake"]);
            config.permissions.extend(["org-set-todo", "org-schedule"].map(|tool| (tool.into(), Level::Allow)));
        })
        .await;
    home.read(&engine).await;
    let (running, turn) = (engine.clone(), engine.new_turn());
    let name = turn.clone();
    let task = tokio::spawn(async move { running.ask(ask("see to the tiles"), name, &mut |_| {}).await });
    soon(slow.asked.notified()).await;
    task.abort();
    assert!(soon(task).await.is_err(), "it was stopped in the act");
    let finished = engine.interrupted(&turn, origin().session, "see to the tiles".into(), engine.clock.now()).await;
    (engine, finished)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_was_stopped_tells_all_that_it_did() {
    let home = Home::new(&[("home.org", TILES)]);
    let slow = Slow::after(1);
    *home.editor.lock().expect("not poisoned") = slow.clone();
    let search = ("c2", "memory-search", why(json!({"query": "tiles"})));
    let server = FakeServer::start([calls(&[mark("c1", "DONE"), search]), calls(&[schedule("c3")])]);
    let (engine, finished) = stopped_in_the_act(&home, &server, &slow).await;
    let kept = engine.turns(1).await.expect("the turns are stored");
    for report in [&finished.report, &kept[0].report] {
        assert_eq!(report.ending, Ending::Interrupted);
        let deeds: Vec<_> = report.deeds.iter().map(|deed| (deed.tool.as_str(), deed.outcome.as_str())).collect();
        let [("org-set-todo", first), ("memory-search", second), ("org-schedule", third)] = deeds[..] else {
            panic!("{deeds:?}")
        };
        assert!(first.starts_with("Done. ") && second.contains("Order tiles"), "{deeds:?}");
        assert_eq!(third, "stopped while it was being done; look whether it was");
        assert!(report.deeds.iter().all(|deed| deed.trace.is_some()));
        assert_eq!(report.changed, [home.file("home.org")]);
        let notice = report.notice.as_deref().unwrap_or_default();
        let named = notice.strip_prefix("Stopped while this was being done: ").expect("the act is named");
        assert!(named.contains("Order tiles") && named.ends_with("; look whether it was."), "{notice}");
    }
    // Nothing of it is told of another turn.
    let other = engine.interrupted(&engine.new_turn(), origin().session, String::new(), engine.clock.now()).await;
    assert!(other.report.deeds.is_empty() && other.report.changed.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_was_stopped_after_a_private_act_leaves_its_conversation_private() {
    let home = Home::new(&[("home.org", &TILES.replace("tiles\n:PROP", "tiles :private:\n:PROP"))]);
    let slow = Slow::after(0);
    *home.editor.lock().expect("not poisoned") = slow.clone();
    let read = ("c1", "memory-read", why(json!({"id": "tiles"})));
    let server = FakeServer::start([calls(&[read]), calls(&[mark("c2", "DONE")])]);
    let (engine, finished) = stopped_in_the_act(&home, &server, &slow).await;
    assert_eq!(finished.report.conversation.labels.privacy, Privacy::Private);
    assert!((engine.known_privacy(&origin().session) == passepartout::domain::label::Privacy::Private));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_that_is_stopped_before_its_act_leaves_the_plan_waiting() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([calls(&[mark("c1", "DONE"), schedule("c2")]), says("I see.")]);
    let (engine, plan, _) = two_plans(&home, &server).await;
    {
        let decided = Decided::Approve { shown: plan.shown() };
        let (mut sink, from) = (|_: Streamed<'_>| {}, origin());
        let mut deciding = std::pin::pin!(engine.decide(&from, &plan.id.0, decided, engine.new_turn(), &mut sink));
        // It is dropped in the very step that claimed the plan.
        soon(std::future::poll_fn(|context| {
            let step = deciding.as_mut().poll(context);
            match status(&engine, &plan) {
                PlanStatus::Pending if step.is_pending() => std::task::Poll::Pending,
                _ => std::task::Poll::Ready(()),
            }
        }))
        .await;
        assert_eq!(status(&engine, &plan), PlanStatus::Approved);
    }
    assert_eq!(status(&engine, &plan), PlanStatus::Pending);
    assert_eq!(home.read_file("home.org"), TILES);
    engine.close().await;
    let engine = home.served(&server, &["fake"], true).await;
    assert_eq!(status(&engine, &plan), PlanStatus::Pending, "in the store as well");
    let done = home.approve(&engine, &plan).await.expect("it can be approved anew");
    assert_eq!(done.report.ending, Ending::Parked);
    assert!(home.read_file("home.org").contains("DONE Order tiles"));
    assert!(matches!(status(&engine, &plan), PlanStatus::Done(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_whose_conversation_says_too_little_can_only_be_denied_and_says_so() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([calls(&[mark("c1", "DONE")])]);
    let engine = home.served(&server, &["fake"], true).await;
    let _ = home.ask(&engine, "the tiles are ordered").await;
    let plan = waiting(&engine);
    engine.close().await;
    {
        // As a version stored it that did not note what had set the conversation off.
        let mut store = DiskStore::open(&home.store()).expect("the store opens");
        let kept = store.latest("conversation", &plan.id.0).expect("it is read").expect("it is there");
        let Record { at, kind, key, mut body, .. } = kept;
        body.as_object_mut().expect("an object").remove("set_off");
        let records = [NewRecord { at, kind, key, body }];
        store.commit(&Commit { records: &records, ..Commit::default() }).expect("it is stored");
    }
    let engine = home.served(&server, &["fake"], true).await;
    let refused = home.approve(&engine, &plan).await.expect_err("it cannot go on");
    let words =
        "was kept by an earlier version and cannot be read whole, so it cannot go on; deny the plan and ask again";
    assert_eq!(refused, format!("the conversation of plan {} {words}", plan.id));
    assert_eq!(status(&engine, &plan), PlanStatus::Pending);
    let denied = home.deny(&engine, &plan, "").await.expect("the denial counts");
    assert_eq!(denied.report.notice.as_deref(), Some("Nothing was done."));
}
