//! Whole turns with skills that say in Lisp when they are for a question, what a model is told, what is done instead, and
//! how it ends; and skills that change while a turn goes on. It needs an Emacs.

use crate::skill_host::{block, possible, workers};
use crate::support::engine::{Home, ask_from, origin, provide, waiting};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use passepartout::domain::scope::Level;
use passepartout::domain::signal::{Origin, Rights, Source};
use passepartout::domain::skill::lisp::Role;
use passepartout::domain::turn::Ending;
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::skills::Known;
use passepartout::edge::skills::SkillState;
use serde_json::json;
use std::fs;
use std::sync::Arc;

const HOUSE: &str = "* TODO Boiler\n:PROPERTIES:\n:ID: boiler\n:END:\n* TODO Roof\n:PROPERTIES:\n:ID: roof\n:END:\n\
                     * TODO Safe                                                    :private:\n:PROPERTIES:\n:ID: safe\n:END:\n";
const FRONT: &str = "#+TITLE: House\n#+TRIGGER: words:house\n";

/// A memex, a folder of skills, and a model that says what it is told to.
struct House {
    home: Home,
    engine: Arc<Engine>,
    server: FakeServer,
}

impl House {
    /// Begins with a skill `house`; `None` where no Lisp can be confined.
    async fn new(text: &str, level: Level, replies: Vec<Reply>) -> Option<House> {
        if !possible(&workers()).await {
            return None;
        }
        let home = Home::new(&[("house.org", HOUSE)]);
        fs::create_dir_all(home.own_skills()).unwrap();
        fs::write(file(&home), text).unwrap();
        let server = FakeServer::start(replies);
        let engine = home
            .engine_with(|config| {
                provide(config, &[("fake", &server, true)], &["fake"]);
                config.permissions.insert("org-set-todo".into(), level);
            })
            .await;
        home.read(&engine).await;
        Some(House { home, engine, server })
    }

    fn known(&self, name: &str) -> Known {
        self.engine.known_skills().into_iter().find(|known| known.report.name == name).expect("it is in the list")
    }

    /// Returns what the model was sent last.
    fn sent(&self) -> String {
        self.server.requests().last().map(|request| request.body.clone()).unwrap_or_default()
    }
}

/// Returns the file of the skill `house`.
fn file(home: &Home) -> String {
    format!("{}/house.org", home.own_skills())
}

/// Reads the skills anew, on a thread that waits for it.
fn reloaded(runtime: &tokio::runtime::Handle, engine: &Arc<Engine>) -> Vec<String> {
    let (runtime, engine) = (runtime.clone(), engine.clone());
    std::thread::spawn(move || runtime.block_on(engine.reload_skills())).join().unwrap()
}

fn says(text: &str) -> Reply {
    Reply::answer(Dialect::OpenAi, &[text], &[])
}

fn closes(id: &str) -> Reply {
    let args = json!({"id": id, "state": "DONE", "explanation": "You said so."});
    Reply::answer(Dialect::OpenAi, &[], &[("c", "org-set-todo", args)])
}

fn skill(blocks: &[(&str, &str)]) -> String {
    let blocks: String = blocks.iter().map(|(name, code)| block(name, code)).collect();
    format!("{FRONT}* Prompt\nMind the house.\n* Code\n{blocks}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_in_lisp_is_asked_where_the_declarative_one_matched_and_a_prompt_says_more() {
    let text = skill(&[
        ("trigger", "(lambda (signal) (string-match-p \"now\" (plist-get signal :text)))"),
        ("prompt", "(lambda (signal) (format \"Asked by %s.\" (plist-get signal :sensor)))"),
    ]);
    let Some(house) = House::new(&text, Level::Allow, vec![says("A"), says("B"), says("C")]).await else { return };
    for (question, told, calls) in
        [("the garden, now", false, 0), ("the house, later", false, 1), ("the house, now", true, 3)]
    {
        let (finished, _) = house.home.ask(&house.engine, question).await;
        let sent = house.sent();
        assert_eq!(finished.report.skill.as_deref(), told.then_some("house"), "{question}");
        assert_eq!(sent.contains("Mind the house."), told, "{question}");
        assert_eq!(sent.contains("Asked by user-input."), told, "{question}");
        assert_eq!(house.known("house").runs.calls, calls, "{question}");
    }
    let turns = house.known("house").turns;
    assert_eq!((turns.count, turns.failed, turns.rejected), (1, 0, 0));
    let kept = house.engine.turns(3).await.unwrap();
    assert_eq!(kept.iter().filter_map(|turn| turn.report.skill.as_deref()).collect::<Vec<_>>(), ["house"]);
    house.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_none_of_ours_is_answered_by_a_skill_that_names_it_and_by_no_model() {
    let says = "(lambda (signal) (format \"%s: %s\" (plist-get signal :sensor) (plist-get signal :text)))";
    let proposes =
        "(lambda (_) '(:tool \"org-set-todo\" :args (:id \"boiler\" :state \"DONE\") :explanation \"You said so.\"))";
    let of_commands = "#+TITLE: House\n#+TRIGGER: sensor:user-command words:house\n";
    for (front, code, typed, expected, done) in [
        (of_commands, says, "/house now", "user-command: house now", false),
        (of_commands, says, "/plans", "No plan waits.", false),
        (of_commands, says, "/garden-house", "There is no “/garden-house”", false),
        (of_commands, "(lambda (_) nil)", "/house", "There is no “/house”", false),
        (of_commands, proposes, "/house", "was changed.", true),
        (of_commands, says, "how is the house?", "The model says.", false),
        // One that does not name it is for what a model may be asked.
        (FRONT, says, "/house", "There is no “/house”", false),
    ] {
        let text = format!("{front}* Code\n{}", block("handler", code));
        let Some(house) = House::new(&text, Level::Allow, vec![self::says("The model says.")]).await else { return };
        let (finished, streamed) = house.home.ask(&house.engine, typed).await;
        let deeds: String = finished.report.deeds.iter().map(|deed| deed.outcome.as_str()).collect();
        assert!(format!("{streamed}{deeds}").contains(expected), "{typed}: {streamed} {:?}", finished.report);
        assert_eq!(house.server.requests().len(), usize::from(expected == "The model says."), "{typed}");
        assert_eq!(house.home.read_file("house.org").contains("* DONE Boiler"), done, "{typed}");
        house.engine.close().await;
    }
    let text = format!("{of_commands}* Code\n{}", block("handler", proposes));
    let Some(house) = House::new(&text, Level::Ask, vec![]).await else { return };
    let (finished, _) = house.home.ask(&house.engine, "/house").await;
    assert_eq!(finished.report.ending, Ending::Parked, "what it proposes is judged as anything");
    house.home.approve(&house.engine, &waiting(&house.engine)).await.expect("it counts");
    assert!(house.home.read_file("house.org").contains("* DONE Boiler") && house.server.requests().is_empty());
    house.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_messenger_brings_is_for_skills_that_name_it() {
    let says = "(lambda (signal) (format \"%s: %s\" (plist-get signal :sensor) (plist-get signal :text)))";
    let rights = Rights { approve: false, see_private: false, ..Rights::HUMAN };
    for (sensor, expected) in [
        ("chat-message", "chat-message: the house"),
        ("user-input", "The model says."),
        ("user-command", "The model says."),
    ] {
        let text = format!("#+TITLE: House\n#+TRIGGER: sensor:{sensor}\n* Code\n{}", block("handler", says));
        let Some(house) = House::new(&text, Level::Allow, vec![self::says("The model says.")]).await else { return };
        let origin = Origin { source: Source::Gateway, rights, ..origin() };
        let (turn, mut said) = (house.engine.new_turn(), String::new());
        let ask = ask_from(origin, "the house");
        house.engine.ask(ask, turn, &mut |piece| said.push_str(piece.text())).await;
        assert_eq!(said, expected, "{sensor}");
        house.engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skill_answers_itself_and_what_it_proposes_takes_the_same_road() {
    let proposes = "(:tool \"org-set-todo\" :args (:id \"boiler\" :state \"DONE\") :explanation \"You said so.\")";
    for (answer, level, expected, done) in [
        ("\"It stands.\"", Level::Allow, "It stands.", false),
        (proposes, Level::Allow, "was changed.", true),
        (proposes, Level::Ask, "", false),
        (proposes, Level::Deny, "refused", false),
        // It quotes what it was told: words, whatever they look like, are no proposal.
        ("(plist-get signal :text)", Level::Allow, "how is the house?", false),
        // It has nothing to say, says what is no answer, or breaks: a model is asked.
        ("nil", Level::Allow, "The model says.", false),
        ("(list 1 2)", Level::Allow, "The model says.", false),
        ("(format \"%S\" '(:tool \"org-set-todo\"))", Level::Allow, "The model says.", false),
        ("'(:tool \"org-set-todo\" :args (1 2))", Level::Allow, "The model says.", false),
        ("(undefined-thing)", Level::Allow, "The model says.", false),
    ] {
        let quoted = if answer.starts_with("(:") { format!("'{answer}") } else { answer.to_string() };
        let text = skill(&[("handler", &format!("(lambda (signal) {quoted})"))]);
        let Some(house) = House::new(&text, level, vec![says("The model says.")]).await else { return };
        let (finished, streamed) = house.home.ask(&house.engine, "how is the house?").await;
        let deeds: String = finished.report.deeds.iter().map(|deed| deed.outcome.as_str()).collect();
        let told = format!("{streamed}\n{deeds}");
        assert!(told.contains(expected), "{answer} {level:?}: {told} {:?}", finished.report);
        let asked = house.server.requests().len();
        assert_eq!(asked, usize::from(expected == "The model says."), "{answer} {level:?}");
        assert_eq!(house.home.read_file("house.org").contains("* DONE Boiler"), done, "{answer} {level:?}");
        assert_eq!(finished.report.ending == Ending::Parked, level == Level::Ask, "{answer} {level:?}");
        house.engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_rewritten_is_judged_instead_and_shown_beside_what_was_proposed() {
    let rewrites = "(lambda (case) (when (equal (plist-get (plist-get case :arguments) :id) \"roof\")
                      '(:arguments (:id \"boiler\" :state \"DONE\") :explanation \"The roof is the landlord's.\")))";
    let text = skill(&[("refine", rewrites)]);
    let replies = vec![closes("roof"), closes("boiler"), says("Well."), says("Well.")];
    let Some(house) = House::new(&text, Level::Ask, replies).await else { return };
    let (finished, _) = house.home.ask(&house.engine, "the house is done").await;
    assert_eq!(finished.report.ending, Ending::Parked);
    let plan = waiting(&house.engine);
    assert_eq!(plan.action.text("id"), Some("boiler"));
    assert_eq!(plan.title, "Mark “Boiler” DONE (by the skill house; proposed: Mark “roof” DONE)");
    for line in ["rewritten by: the skill house", "proposed id: roof", "proposed because: You said so."] {
        assert!(plan.body.contains(line), "{line}: {}", plan.body);
    }
    // After a new start it is the same action, bound to the same approval.
    let shown = plan.shown();
    house.engine.close().await;
    let engine = house
        .home
        .engine_with(|config| {
            provide(config, &[("fake", &house.server, true)], &["fake"]);
            config.permissions.insert("org-set-todo".into(), Level::Ask);
        })
        .await;
    house.home.read(&engine).await;
    let plan = waiting(&engine);
    assert_eq!(plan.shown(), shown);
    assert_eq!(plan.action.refinement().map(|refined| refined.by.as_str()), Some("house"));
    let done = house.home.approve(&engine, &plan).await.unwrap();
    assert!(house.home.read_file("house.org").contains("* DONE Boiler"), "{:?}", done.report);
    assert!(house.sent().contains("The skill house rewrote the call before it was judged"), "{}", house.sent());
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_skill_cannot_rewrite_is_refused_and_the_model_is_told_why() {
    for (code, why) in [
        ("(lambda (_) (error \"so it is\"))", "so it is"),
        ("(lambda (_) 'other)", "none of nil and (:arguments"),
        ("(lambda (_) '(:arguments (:id \"boiler\" :sate \"DONE\")))", "no argument “sate”"),
        ("(lambda (_) '(:arguments (:id \"boiler\") :tool \"shell\"))", "none of nil and (:arguments"),
    ] {
        let replies = vec![closes("roof"), says("Well.")];
        let Some(house) = House::new(&skill(&[("refine", code)]), Level::Allow, replies).await else { return };
        house.home.ask(&house.engine, "the house is done").await;
        assert!(house.sent().contains(why), "{code}: {}", house.sent());
        assert!(!house.home.read_file("house.org").contains("DONE"), "{code}");
        house.engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skill_says_in_lisp_what_ends_a_fault() {
    for (code, ending, expected) in [
        (
            "(lambda (fault) (list 'fallback (format \"No %s today.\" (plist-get fault :kind))))",
            Ending::Answered,
            "No model today.",
        ),
        ("(lambda (_) 'skip)", Ending::Answered, ""),
        ("(lambda (_) 'abort)", Ending::Failed, ""),
        // It has nothing to say, or breaks: what stands in the front matter is done.
        ("(lambda (_) nil)", Ending::Answered, "Declared."),
        ("(lambda (_) (error \"no\"))", Ending::Answered, "Declared."),
    ] {
        let text = format!("#+ON_ERROR: fallback Declared.\n{}", skill(&[("on-error", code)]));
        let Some(house) = House::new(&text, Level::Allow, vec![Reply::json(500, &json!({}))]).await else { return };
        let (finished, _) = house.home.ask(&house.engine, "how is the house?").await;
        assert_eq!(finished.report.ending, ending, "{code}: {:?}", finished.report);
        assert_eq!(finished.report.text, expected, "{code}");
        house.engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skill_that_is_saved_is_taken_at_once_and_a_turn_under_way_goes_on() {
    let denies = |id: &str, why: &str| {
        let case = "(plist-get (plist-get case :arguments) :id)";
        ("gate", format!("(lambda (case) (if (equal {case} \"{id}\") '(deny \"{why}\") 'pass))"))
    };
    let (role, code) = denies("none", "Never.");
    let before = skill(&[(role, &code)]);
    let Some(house) = House::new(&before, Level::Allow, vec![]).await else { return };
    let (engine, file) = (house.engine.clone(), file(&house.home));
    let (role, code) = denies("roof", "The roof is the landlord's.");
    let after = skill(&[(role, &code)]);
    let runtime = tokio::runtime::Handle::current();
    let saved = file.clone();
    // While the model thinks, the skill is saved with another gate.
    let save = move || {
        fs::write(&saved, &after).unwrap();
        assert_eq!(reloaded(&runtime, &engine), ["house was read anew"]);
    };
    house.server.push(closes("roof").meanwhile(save));
    house.server.push(says("Then not."));
    let (finished, streamed) = house.home.ask(&house.engine, "the house is done").await;
    assert_eq!((finished.report.ending, streamed.contains("Then not.")), (Ending::Answered, true), "{streamed}");
    assert!(house.sent().contains("The roof is the landlord"), "{}", house.sent());
    assert!(house.home.read_file("house.org").contains("* TODO Roof"));
    // Nothing changed: nothing is taken.
    assert_eq!(house.engine.reload_skills().await, Vec::<String>::new());
    // A broken one asks in place of its gate, and what it is is said; mended, it is there again.
    fs::write(&file, format!("{before}* Rules\nno table\n")).unwrap();
    let changes = house.engine.reload_skills().await;
    assert!(changes[0].starts_with("house is kept out: line "), "{changes:?}");
    assert!(matches!(house.known("house").report.state, SkillState::Unread(_)));
    fs::write(&file, &before).unwrap();
    assert_eq!(house.engine.reload_skills().await, ["house was read anew"]);
    house.server.push(closes("roof"));
    house.server.push(says("Done."));
    house.home.ask(&house.engine, "the house is done").await;
    assert!(house.home.read_file("house.org").contains("* DONE Roof"));
    fs::remove_file(&file).unwrap();
    assert_eq!(house.engine.reload_skills().await, ["house is gone"]);
    house.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lisp_that_was_parked_is_called_again_once_it_is_changed() {
    let broken = skill(&[("handler", "(lambda (_) (error \"no\"))")]);
    let replies = (0..4).map(|_| says("The model says.")).collect();
    let Some(house) = House::new(&broken, Level::Allow, replies).await else { return };
    for _ in 0..4 {
        let (finished, _) = house.home.ask(&house.engine, "how is the house?").await;
        let notice = finished.report.notice.expect("the user is told below the answer");
        assert!(
            notice.contains("The block “handler” of the skill house gave no answer; M-x passepartout-skills"),
            "{notice}"
        );
    }
    let runs = house.known("house").runs;
    assert!(runs.is_parked(Role::Handler) && runs.calls == 3, "{runs:?}");
    fs::write(file(&house.home), skill(&[("handler", "(lambda (_) \"It stands.\")")])).unwrap();
    house.engine.reload_skills().await;
    let (finished, streamed) = house.home.ask(&house.engine, "how is the house?").await;
    assert_eq!(streamed, "It stands.");
    assert_eq!(finished.report.notice, None);
    house.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lisp_that_was_parked_is_called_again_when_the_user_says_so_in_emacs() {
    let broken = skill(&[("handler", "(lambda (_) (error \"no\"))")]);
    let replies = (0..9).map(|_| says("The model says.")).collect();
    let Some(house) = House::new(&broken, Level::Allow, replies).await else { return };
    let parked = |house: &House| house.known("house").runs.is_parked(Role::Handler);
    let park = async |house: &House| {
        for _ in 0..3 {
            house.home.ask(&house.engine, "how is the house?").await;
        }
        assert!(parked(house), "{:?}", house.known("house").runs);
    };
    park(&house).await;
    // What a file that is saved brings about, and what another channel asks for, is none of the user's word.
    house.engine.reload_skills().await;
    for source in [Source::Cli, Source::Client, Source::Gateway, Source::Clock] {
        let changes = house.engine.reload_skills_for(&Origin { source, ..origin() }).await;
        assert!(changes.is_empty() && parked(&house), "{source:?}");
    }
    let changes = house.engine.reload_skills_for(&origin()).await;
    assert_eq!(changes, ["the Lisp of 1 skill that failed too often is called again"]);
    assert!(!parked(&house));
    assert_eq!(house.engine.reload_skills_for(&origin()).await, Vec::<String>::new());
    park(&house).await;
    // Or it is taken out of use and in again.
    assert!(house.engine.disable_skill(&origin(), "house", house.engine.new_turn()).await.unwrap().is_ok());
    house.engine.enable_skill(&origin(), "house").await.unwrap();
    assert!(!parked(&house));
    assert_eq!(house.known("house").report.state, SkillState::Loaded);
    house.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_that_fail_and_acts_that_are_refused_are_counted_for_their_skill() {
    let replies = vec![Reply::json(500, &json!({})), closes("roof"), says("Then not."), says("It stands.")];
    let text = format!("{FRONT}* Prompt\nMind the house.\n");
    let Some(house) = House::new(&text, Level::Deny, replies).await else { return };
    for (question, expected) in [
        ("how is the house?", (1, 1, 0)),
        ("the house is done", (2, 1, 1)),
        ("how is the house now?", (3, 1, 1)),
        // Nobody is asked who could answer any more.
        ("how is the house tomorrow?", (4, 2, 1)),
        ("and the garden?", (4, 2, 1)),
    ] {
        house.home.ask(&house.engine, question).await;
        let turns = house.known("house").turns;
        assert_eq!((turns.count, turns.failed, turns.rejected), expected, "{question}");
    }
    assert!(house.home.read_file("house.org").contains("* TODO Roof"));
    house.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skill_that_answers_is_the_one_whose_tools_hold() {
    let proposes =
        "(lambda (_) '(:tool \"org-set-todo\" :args (:id \"boiler\" :state \"DONE\") :explanation \"You said so.\"))";
    let text = format!("#+TOOLS: memory-search\n{}", skill(&[("handler", proposes)]));
    let Some(house) = House::new(&text, Level::Allow, vec![]).await else { return };
    let (finished, _) = house.home.ask(&house.engine, "how is the house?").await;
    assert!(!house.home.read_file("house.org").contains("DONE"), "{:?}", finished.report);
    assert_eq!(finished.report.skill.as_deref(), Some("house"));
    assert_eq!(house.known("house").turns.count, 1);
    house.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_skill_proposed_and_a_human_approved_ends_without_a_model() {
    let proposes =
        "(lambda (_) '(:tool \"org-set-todo\" :args (:id \"boiler\" :state \"DONE\") :explanation \"You said so.\"))";
    let Some(house) = House::new(&skill(&[("handler", proposes)]), Level::Ask, vec![]).await else { return };
    house.home.ask(&house.engine, "how is the house?").await;
    let done = house.home.approve(&house.engine, &waiting(&house.engine)).await.unwrap();
    assert!(house.home.read_file("house.org").contains("* DONE Boiler"));
    assert_eq!((done.report.ending, house.server.requests().len()), (Ending::Answered, 0), "{:?}", done.report);
    house.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lisp_is_told_of_an_open_heading_and_nothing_of_a_private_one() {
    let says = "(lambda (signal) (format \"%S %S %S\" (plist-get signal :title) (plist-get signal :tags) (plist-get signal :file)))";
    let Some(house) = House::new(&skill(&[("handler", says)]), Level::Allow, vec![]).await else { return };
    for (heading, told) in [("Roof", "\"Roof\" nil "), ("Safe", "nil nil nil")] {
        let text = house.home.read_file("house.org");
        house.engine.focus_at(&house.home.file("house.org"), text.find(heading).unwrap()).unwrap();
        let (_, streamed) = house.home.ask(&house.engine, "how is the house?").await;
        assert!(streamed.starts_with(told), "{heading}: {streamed}");
    }
    house.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lisp_is_tried_out_and_a_gate_that_belies_its_examples_keeps_its_skill_out() {
    let gate =
        "(lambda (case) (if (equal (plist-get (plist-get case :arguments) :command) \"push\") '(ask \"Seen.\") 'pass))";
    let table = |verdict: &str| {
        format!(
            "* Gate examples\n| tool | example | match |\n|-\n| shell | pull | no |\n| shell | push | {verdict} |\n"
        )
    };
    let good = skill(&[("gate", gate)]) + &table("ask");
    let Some(house) = House::new(&good, Level::Allow, (0..3).map(|_| says("Well.")).collect()).await else { return };
    let file = file(&house.home);
    let second = format!("{}/second.org", house.home.own_skills());
    house.engine.try_skills().await;
    assert_eq!(house.known("house").report.state, SkillState::Loaded);
    for (text, why) in [
        (
            skill(&[("gate", gate)]) + &table("deny"),
            "line 14: of the example “push” of shell its gate should say deny, but it says ask",
        ),
        (
            skill(&[("trigger", "(lambda (_) t"), ("gate", gate)]),
            "line 8: column 1: “(” is not closed, in the block “trigger”",
        ),
        (skill(&[("job", "17")]), "its Lisp, in the block “job”: The block “job” comes to no function"),
        (
            format!("#+TOOLS: memory-search\n{}", skill(&[("job", "17")])),
            "its Lisp, in the block “job”: The block “job” comes to no function",
        ),
        (skill(&[("refine", "17")]), "its Lisp, in the block “refine”: The block “refine” comes to no function"),
    ] {
        fs::write(&file, &text).unwrap();
        house.engine.reload_skills().await;
        house.engine.try_skills().await;
        let state = house.known("house").report.state;
        let (SkillState::Unread(found) | SkillState::Failed(found)) = &state else { panic!("{text}") };
        assert!(found.contains(why), "{found}");
        let tightens = ["#+NAME: gate", "#+TOOLS:", "#+NAME: refine"].iter().any(|word| text.contains(word));
        assert_eq!(matches!(state, SkillState::Unread(_)), tightens, "{text}");
        // What another file brings does not bring it back.
        let other = format!("{FRONT}* Prompt\n{}\n", text.len());
        fs::write(&second, other).unwrap();
        house.engine.reload_skills().await;
        assert_eq!(house.known("house").report.state, state);
    }
    fs::write(&file, &good).unwrap();
    house.engine.reload_skills().await;
    assert_eq!(house.known("house").report.state, SkillState::Loaded);
    house.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_skills_that_goes_away_has_everything_asked() {
    let Some(house) = House::new(&skill(&[]), Level::Allow, vec![closes("roof"), says("Well.")]).await else { return };
    fs::rename(house.home.own_skills(), house.home.project("away")).unwrap();
    let changes = house.engine.reload_skills().await;
    assert!(changes.iter().any(|change| change.ends_with("is away")), "{changes:?}");
    let (finished, _) = house.home.ask(&house.engine, "the roof is done").await;
    assert_eq!(finished.report.ending, Ending::Parked);
    fs::rename(house.home.project("away"), house.home.own_skills()).unwrap();
    house.engine.reload_skills().await;
    assert_eq!(house.engine.skill_gaps(), Vec::<String>::new());
    house.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_skill_loosens_counts_from_the_next_turn() {
    let rules = "* Rules\n| tool | pattern | verdict | reason |\n|-\n| org-set-todo | id: roof | deny | Not mine. |\n\
                 * Examples\n| tool | example | match |\n|-\n| org-set-todo | id: roof | deny |\n";
    let Some(house) = House::new(&format!("{}{rules}", skill(&[])), Level::Allow, vec![]).await else { return };
    let (engine, file) = (house.engine.clone(), file(&house.home));
    let runtime = tokio::runtime::Handle::current();
    let loosen = move || {
        fs::write(&file, skill(&[])).unwrap();
        assert_eq!(reloaded(&runtime, &engine), ["house was read anew"]);
    };
    house.server.push(closes("roof").meanwhile(loosen));
    for reply in [says("Then not."), closes("roof"), says("Done.")] {
        house.server.push(reply);
    }
    house.home.ask(&house.engine, "the house is done").await;
    assert!(house.sent().contains("Not mine."), "{}", house.sent());
    assert!(house.home.read_file("house.org").contains("* TODO Roof"));
    house.home.ask(&house.engine, "the house is done").await;
    assert!(house.home.read_file("house.org").contains("* DONE Roof"));
    house.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_that_rewrites_and_goes_away_in_a_turn_has_the_rest_of_it_refused() {
    let rewrites = "(lambda (_) '(:arguments (:id \"boiler\" :state \"DONE\")))";
    let text = skill(&[("refine", rewrites)]);
    for (what, saved) in [
        ("a slip", Some(format!("#+PRIORITY: x\n{text}"))),
        ("no block any more", Some(skill(&[]))),
        ("another block", Some(skill(&[("refine", "(lambda (_) nil)")]))),
        ("no file any more", None),
    ] {
        let Some(house) = House::new(&text, Level::Allow, vec![]).await else { return };
        let (engine, file) = (house.engine.clone(), file(&house.home));
        let runtime = tokio::runtime::Handle::current();
        let save = move || {
            match &saved {
                Some(text) => fs::write(&file, text).unwrap(),
                None => fs::remove_file(&file).unwrap(),
            }
            assert_eq!(reloaded(&runtime, &engine).len(), 1);
        };
        house.server.push(closes("roof").meanwhile(save));
        house.server.push(says("Then not."));
        house.home.ask(&house.engine, "the house is done").await;
        assert!(house.sent().contains("its Lisp is not what it was when this turn began"), "{what}: {}", house.sent());
        assert!(!house.home.read_file("house.org").contains("DONE"), "{what}");
        house.engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_due_may_be_the_work_of_a_skill_and_no_model_is_asked() {
    let job = |when: &str| {
        format!(
            "* TODO Round\nSCHEDULED: {when}\n:PROPERTIES:\n:ID: round\n:PP_RUN: skill:house\n:PP_ALWAYS: t\n:END:\n"
        )
    };
    for (code, outcome, parked) in [
        ("(lambda (_) nil)", "done", false),
        ("(lambda (signal) (plist-get signal :sensor))", "done", false),
        (
            "(lambda (_) '(:tool \"org-set-todo\" :args (:id \"boiler\" :state \"DONE\") :explanation \"The round was made.\"))",
            "waits",
            true,
        ),
        ("(lambda (_) (error \"no\"))", "failed", false),
    ] {
        let Some(house) = House::new(&skill(&[("job", code)]), Level::Allow, vec![]).await else { return };
        fs::write(house.home.file("round.org"), job("<2026-03-02 Mon 08:00 +1d>")).unwrap();
        house.home.read(&house.engine).await;
        let key = house.engine.jobs()[0].key.clone();
        house.engine.propose_job(&origin(), &key).await.unwrap();
        house.home.approve(&house.engine, &waiting(&house.engine)).await.unwrap();
        let finished = house.engine.run_job_now(&origin(), &key).await.unwrap();
        assert_eq!(
            house.engine.jobs()[0].ran.as_ref().map(|(_, came)| came.as_str()),
            Some(outcome),
            "{code}: {finished:?}"
        );
        assert_eq!(finished.report.ending == Ending::Parked, parked, "{code}");
        assert_eq!(house.server.requests().len(), 0, "{code}");
        house.engine.close().await;
    }
}

/// Confirms the only job, as the user does after it was shown whole.
async fn confirmed(house: &House) -> String {
    let jobs = house.engine.jobs();
    assert_eq!((jobs.len(), jobs[0].state), (1, "waiting"));
    house.engine.propose_job(&origin(), &jobs[0].key).await.unwrap();
    house.home.approve(&house.engine, &waiting(&house.engine)).await.unwrap();
    assert_eq!(house.engine.jobs()[0].state, "confirmed");
    jobs[0].key.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_due_is_answered_by_a_skill_that_names_it_and_its_lisp_is_part_of_what_is_confirmed() {
    let proposes = "(lambda (_) '(:tool \"org-set-todo\" :args (:id \"boiler\" :state \"DONE\") :explanation \"The round was made.\"))";
    let says = "(lambda (signal) (format \"%s: %s\" (plist-get signal :sensor) (plist-get signal :text)))";
    let (due, hook) = (
        "SCHEDULED: <2026-03-02 Mon 08:00 +1d>\n:PROPERTIES:\n:ID: own\n:PP_RUN:",
        ":PROPERTIES:\n:ID: own\n:PP_HOOK:",
    );
    for (trigger, when, code, expected, outcome) in [
        ("sensor:schedule words:\"water plants\"", due, says, "schedule: water plants", "done"),
        ("sensor:hook words:\"water plants\"", hook, says, "hook: water plants", "done"),
        ("words:\"water plants\"", due, says, "schedule: water plants", "done"),
        ("sensor:schedule words:\"water plants\"", due, proposes, "", "waits"),
        // It is not for this one, or has no answer: a model is asked.
        ("sensor:user-input words:\"water plants\"", due, says, "The model says.", "done"),
        ("sensor:schedule words:\"water plants\"", due, "(lambda (_) nil)", "The model says.", "done"),
    ] {
        let front = format!("#+TITLE: House\n#+TRIGGER: {trigger}\n");
        let text = format!("{front}* Code\n{}", block("handler", code));
        let Some(house) = House::new(&text, Level::Allow, vec![self::says("The model says.")]).await else { return };
        fs::write(house.home.file("own.org"), format!("* Own\n{when} water plants\n:END:\n")).unwrap();
        house.home.read(&house.engine).await;
        let shown = house.engine.jobs()[0].shown.clone();
        let bound = !trigger.contains("user-input");
        assert_eq!(shown.contains("All Lisp of the skill house, which may answer it"), bound, "{trigger}: {shown}");
        assert_eq!(shown.contains(code), bound, "{trigger}: {shown}");
        let key = confirmed(&house).await;
        let finished = house.engine.run_job_now(&origin(), &key).await.unwrap();
        let ran = house.engine.jobs()[0].ran.clone().map(|(_, came)| came);
        assert_eq!(ran.as_deref(), Some(outcome), "{trigger} {code}: {finished:?}");
        let modelled = expected == "The model says.";
        assert_eq!(house.server.requests().len(), usize::from(modelled), "{trigger} {code}");
        assert!(finished.report.text.contains(expected), "{trigger} {code}: {:?}", finished.report);
        assert!(house.home.read_file("house.org").contains("* TODO Boiler"), "nobody is present");
        // Other Lisp, or none, is another job.
        fs::write(file(&house.home), text.replace("* Code\n", "* Code\n\n").replace("(lambda", "(lambda ")).unwrap();
        house.engine.reload_skills().await;
        let state = if bound { "waiting" } else { "confirmed" };
        assert_eq!(house.engine.jobs()[0].state, state, "{trigger} {code}");
        house.engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_comes_later_has_a_confirmed_job_wait_again() {
    let text = "#+TITLE: House\n#+TRIGGER: words:house\n* Prompt\nMind the house.\n";
    let Some(house) = House::new(text, Level::Allow, vec![]).await else { return };
    let job = "* Own\nSCHEDULED: <2026-03-02 Mon 08:00 +1d>\n:PROPERTIES:\n:ID: own\n:PP_RUN: water plants\n:END:\n";
    fs::write(house.home.file("own.org"), job).unwrap();
    house.home.read(&house.engine).await;
    let key = confirmed(&house).await;
    let handler = format!(
        "#+TITLE: House\n#+TRIGGER: sensor:schedule words:plants\n* Code\n{}",
        block("handler", "(lambda (_) \"Watered.\")")
    );
    fs::write(file(&house.home), handler).unwrap();
    house.engine.reload_skills().await;
    assert_eq!(house.engine.jobs()[0].state, "waiting");
    assert!(house.engine.run_job_now(&origin(), &key).await.is_err());
    house.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_answer_of_its_trigger_what_narrows_or_rewrites_is_at_work() {
    let breaks = ("trigger", "(lambda (_) (error \"no\"))");
    let rewrites = ("refine", "(lambda (_) '(:arguments (:id \"boiler\" :state \"DONE\")))");
    let tools = skill(&[breaks]).replacen("* Prompt", "#+TOOLS: memory-search\n* Prompt", 1);
    for (text, boiler, roof) in
        [(skill(&[breaks, rewrites]), true, false), (tools, false, false), (skill(&[breaks]), false, true)]
    {
        let Some(house) = House::new(&text, Level::Allow, vec![closes("roof"), says("Well.")]).await else { return };
        house.home.ask(&house.engine, "the house is done").await;
        let notes = house.home.read_file("house.org");
        assert_eq!((notes.contains("DONE Boiler"), notes.contains("DONE Roof")), (boiler, roof), "{text}\n{notes}");
        house.engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_that_rewrites_and_goes_away_while_a_plan_waits_lets_nothing_pass_behind_it() {
    let rewrites = "(lambda (_) '(:arguments (:id \"boiler\" :state \"DONE\")))";
    let text = skill(&[("refine", rewrites)]);
    for (what, saved) in [
        ("no block any more", Some(skill(&[]))),
        ("another block", Some(skill(&[("refine", "(lambda (_) nil)")]))),
        ("no file any more", None),
        ("the same", Some(text.clone())),
    ] {
        let Some(house) = House::new(&text, Level::Ask, vec![closes("roof")]).await else { return };
        let (finished, _) = house.home.ask(&house.engine, "the house is done").await;
        assert_eq!(finished.report.ending, Ending::Parked, "{what}");
        match &saved {
            Some(text) => fs::write(file(&house.home), text).unwrap(),
            None => fs::remove_file(file(&house.home)).unwrap(),
        }
        house.engine.reload_skills().await;
        house.server.push(closes("roof"));
        house.server.push(says("Then not."));
        house.home.approve(&house.engine, &waiting(&house.engine)).await.expect("it counts");
        let notes = house.home.read_file("house.org");
        assert!(notes.contains("DONE Boiler") && !notes.contains("DONE Roof"), "{what}: {notes}");
        let refused = house.sent().contains("its Lisp is not what it was when this turn began");
        assert_eq!(refused, saved.as_ref() != Some(&text), "{what}: {}", house.sent());
        house.engine.close().await;
    }
}
