//! Whole turns with scripted doubles: what the model says, what gates and humans decide, and all that comes of it.

mod desk;
mod original;
mod proposals;

use desk::{Broken, NOTE, SECRET, Say, Words, World, call, signal, told};
use passepartout::domain::action::Outcome;
use passepartout::domain::gate::Facts;
use passepartout::domain::gate::Gates;
use passepartout::domain::gate::facts::{ScriptFact, ShellFact};
use passepartout::domain::label::{Labels, Privacy, Provenance, Trust};
use passepartout::domain::port::{Call, Locality, Message};
use passepartout::domain::signal::{Body, Depth, Role};
use passepartout::domain::turn::error::{Fault, Resolution};
use passepartout::domain::turn::prompt::{Briefing, Lean, Standing, Voice};
use passepartout::domain::turn::{Conversation, EXACTLY, Ending, Start, TRYING, prompt, refused};
use serde_json::json;
use std::sync::Arc;

fn search() -> Call {
    call("c1", "memory-search", json!({"query": "boiler"}))
}

fn edit(id: &str) -> Call {
    call(id, "org-set-todo", json!({"id": "n1", "state": "DONE"}))
}

fn shell(command: &str) -> Call {
    call("c1", "shell", json!({ "command": command }))
}

/// Asks, and compares the whole report and everything that happened on the way.
#[track_caller]
fn check(world: &World, report: &str, expected_report: &str, expected_events: &[&str]) {
    assert_eq!(report, expected_report.trim().replace("\n    ", "\n"));
    assert_eq!(world.events(), expected_events);
}

#[tokio::test]
async fn a_plain_answer_ends_the_turn() {
    let world = World::new([Say::Words("It is in the cellar.")]);
    let (report, streamed) = world.ask("where is the boiler?").await;
    assert_eq!(streamed, "It is in the cellar.");
    check(
        &world,
        &told(&report),
        "
    ending: answered
    text: It is in the cellar.
    by fake/m, tokens 10+5
    typed: where is the boiler?
      User: where is the boiler?
      Assistant: It is in the cellar.
    depth 0, local, User/Own/Open, waiting []",
        &["model"],
    );
}

#[tokio::test]
async fn two_calls_in_a_row_feed_back_and_tokens_add_up() {
    let second = call("c2", "memory-read", json!({"id": "n1"}));
    let world = World::new([Say::Calls(vec![search()]), Say::Calls(vec![second]), Say::Words("Found.")]);
    let (report, _) = world.ask("where is the boiler?").await;
    check(
        &world,
        &told(&report),
        "
    ending: answered
    text: Found.
    deed: Search memory for “boiler” (asker pass, denier pass): memory-search was carried out.
    deed: Read “n1” (asker pass, denier pass): memory-read was carried out.
    by fake/m, tokens 30+15
    typed: where is the boiler?
      User: where is the boiler?
      calls: c1=memory-search
      c1 memory-search: memory-search was carried out.
      calls: c2=memory-read
      c2 memory-read: memory-read was carried out.
      Assistant: Found.
    depth 2, local, Note/Kept/Open, waiting []",
        &[
            "model",
            "survey memory-search",
            "intent memory-search",
            "perform memory-search",
            "outcome done",
            "model",
            "survey memory-read",
            "intent memory-read",
            "perform memory-read",
            "outcome done",
            "model",
        ],
    );
}

#[tokio::test]
async fn an_ask_parks_and_what_stands_behind_it_is_not_performed() {
    let calls = vec![search(), edit("c2"), call("c3", "memory-read", json!({"id": "n1"})), edit("c4")];
    let world = World::new([Say::Calls(calls)]);
    let (report, _) = world.ask("mark it done").await;
    check(
        &world,
        &told(&report),
        r#"
    ending: parked
    text: 
    deed: Search memory for “boiler” (asker pass, denier pass): memory-search was carried out.
    deed: Mark “n1” DONE (asker ask, denier pass) [P1]: waits for approval
    deed: Mark “n1” DONE (asker ask, denier pass) [P2]: waits for approval
    plans [PlanId("P1"), PlanId("P2")], changed [], sources []
    by fake/m, tokens 10+5
    typed: mark it done
      User: mark it done
      calls: c1=memory-search c2=org-set-todo c3=memory-read c4=org-set-todo
      c1 memory-search: memory-search was carried out.
      c3 memory-read: Not carried out yet: an earlier call of this answer waits for the user.
    depth 0, local, Note/Kept/Open, waiting [c2→P1 c4→P2]"#,
        &[
            "model",
            "survey memory-search",
            "survey org-set-todo",
            "survey memory-read",
            "survey org-set-todo",
            "intent memory-search",
            "perform memory-search",
            "outcome done",
            "park org-set-todo",
            "park org-set-todo",
        ],
    );
}

#[tokio::test]
async fn an_approval_is_carried_out_once_and_the_conversation_goes_on() {
    let world = World::new([Say::Calls(vec![edit("c1")]), Say::Words("It is done.")]);
    let (parked, _) = world.ask("mark it done").await;
    world.events.lock().unwrap().clear();
    let (report, _) = world.approve(parked.conversation).await;
    check(
        &world,
        &told(&report),
        "
    ending: answered
    text: It is done.
    deed: Mark “n1” DONE (asker ask, denier pass) [P1]: org-set-todo was carried out.
    by fake/m, tokens 10+5
    typed: mark it done
      User: mark it done
      calls: c1=org-set-todo
      c1 org-set-todo: org-set-todo was carried out.
      Assistant: It is done.
    depth 1, local, Note/Kept/Open, waiting []",
        &[
            "survey org-set-todo",
            "survey org-set-todo",
            "intent org-set-todo",
            "perform org-set-todo",
            "outcome done",
            "plan P1 done",
            "model",
        ],
    );
}

#[tokio::test]
async fn of_two_plans_the_first_waits_for_the_second() {
    let world = World::new([Say::Calls(vec![edit("c1"), edit("c2")]), Say::Words("not asked yet")]);
    let (parked, _) = world.ask("mark both done").await;
    let (report, _) = world.approve(parked.conversation).await;
    assert_eq!(report.ending, Ending::Parked);
    assert_eq!(report.conversation.waiting.len(), 1);
    assert_eq!(report.plans.len(), 1, "{:?}", report.plans);
    assert_eq!(world.prompts().len(), 1, "the model is asked when nothing waits any more");
}

#[tokio::test]
async fn a_denial_with_its_reason_goes_back_to_the_model() {
    let world = World::new([Say::Calls(vec![edit("c1")]), Say::Words("Then I leave it.")]);
    let (parked, _) = world.ask("mark it done").await;
    world.events.lock().unwrap().clear();
    let (report, _) = world.deny("not before Friday", parked.conversation).await;
    check(
        &world,
        &told(&report),
        "
    ending: answered
    text: Then I leave it.
    deed: Mark “n1” DONE (asker ask, denier pass) [P1]: denied: the user said no: not before Friday. Nothing was done.
    by fake/m, tokens 10+5
    typed: mark it done
      User: mark it done
      calls: c1=org-set-todo
      c1 org-set-todo: denied: the user said no: not before Friday. Nothing was done.
      Assistant: Then I leave it.
    depth 1, local, User/Own/Open, waiting []",
        &["model"],
    );
}

#[tokio::test]
async fn the_trials_of_one_answer_share_their_ten_seconds() {
    let attempt =
        |id: &str| call(id, "shell", json!({"command": format!("attempt {id}"), "explanation": "You asked."}));
    let calls = ["a", "b", "c", "d"].iter().map(|id| attempt(id)).collect();
    let world = World { trial_takes: 4_800, ..World::new([Say::Calls(calls)]) };
    *world.facts.lock().unwrap() = Facts {
        shell: Some(ShellFact { scripts: vec![ScriptFact::default()], ..ShellFact::default() }),
        ..Facts::default()
    };
    let (report, _) = world.ask("make them").await;
    assert_eq!((report.ending, report.plans.len()), (Ending::Parked, 4));
    let told = |at: usize| world.plan(at).about.tried.map(|tried| tried.text).unwrap_or_default();
    // The third would have two tenths of a second: it is not begun, and neither is the fourth.
    assert_eq!(*world.trials.lock().unwrap(), [TRYING, TRYING - 4_800], "{}", told(0));
    let said: Vec<bool> = (0..4).map(|at| told(at).contains("were used up before it")).collect();
    assert_eq!(said, [false, false, true, true]);
}

#[tokio::test]
async fn an_approval_on_changed_facts_is_stale_and_nothing_is_done() {
    let world = World::new([Say::Calls(vec![edit("c1")]), Say::Words("I see.")]);
    let (parked, _) = world.ask("mark it done").await;
    world.events.lock().unwrap().clear();
    *world.facts.lock().unwrap() = Facts { unknown: vec!["it was moved".into()], ..Facts::default() };
    let (report, _) = world.approve(parked.conversation).await;
    assert_eq!(world.events(), ["survey org-set-todo", "plan P1 stale", "model"]);
    assert!(report.deeds[0].outcome.starts_with("stale: "), "{:?}", report.deeds);
    let Some(Message::Result { text, .. }) = report.conversation.messages.get(2) else { panic!("no result") };
    assert!(text.starts_with("stale: "), "{text}");
}

#[tokio::test]
async fn an_approval_covers_only_the_asks_that_were_shown_and_no_denial() {
    struct Later(bool);
    impl passepartout::domain::gate::Gate for Later {
        fn name(&self) -> &str {
            "later"
        }
        fn priority(&self) -> u16 {
            700
        }
        fn judge(&self, _: &passepartout::domain::gate::Case<'_>) -> passepartout::domain::gate::Verdict {
            let why = passepartout::domain::gate::Reason::new("The rules are other ones now.");
            match self.0 {
                true => passepartout::domain::gate::Verdict::Ask(why),
                false => passepartout::domain::gate::Verdict::Deny(why),
            }
        }
    }
    for (asks, status, outcome) in [(true, "plan P1 stale", "stale: "), (false, "plan P1 failed", "refused")] {
        let mut world = World::new([Say::Calls(vec![edit("c1")]), Say::Words("I see.")]);
        let (parked, _) = world.ask("mark it done").await;
        world.events.lock().unwrap().clear();
        world.gates = Arc::new(Gates::clone(&world.gates).and(Box::new(Later(asks))));
        let (report, _) = world.approve(parked.conversation).await;
        assert_eq!(world.events(), ["survey org-set-todo", "survey org-set-todo", status, "model"]);
        assert!(report.deeds[0].outcome.starts_with(outcome), "{:?}", report.deeds);
    }
}

#[tokio::test]
async fn a_denied_proposal_goes_back_with_the_whole_trace_three_times_at_most() {
    let no = || Say::Calls(vec![shell("rm -rf /")]);
    let world = World::new([no(), no(), no(), Say::Words("never asked")]);
    let (report, _) = world.ask("clean up").await;
    check(
        &world,
        &told(&report),
        "
    ending: failed
    text: 
    notice: What the model wanted was refused 3 times, so nothing was done.
    deed: Run: rm -rf / (asker pass, denier deny): refused
    deed: Run: rm -rf / (asker pass, denier deny): refused
    deed: Run: rm -rf / (asker pass, denier deny): refused
    by fake/m, tokens 30+15
    typed: clean up
      User: clean up
      calls: c1=shell
      c1 shell: Refused. Nothing was done. / - denier (deny): It deletes everything. Instead: Name one file.
      calls: c1=shell
      c1 shell: Refused. Nothing was done. / - denier (deny): It deletes everything. Instead: Name one file.
      calls: c1=shell
      c1 shell: Refused. Nothing was done. / - denier (deny): It deletes everything. Instead: Name one file.
    depth 0, local, User/Own/Open, waiting []
    fault: passepartout-gate-error
    memory rolls back",
        &["model", "survey shell", "model", "survey shell", "model", "survey shell", "fault passepartout-gate-error"],
    );
    assert_eq!(
        world.log()[3..],
        [
            "warning: user-input, depth 0: denier refused the last of three proposals",
            "warning: loop-error, depth 1: denier refused the last of three proposals",
        ],
        "the log has no words of a model"
    );
}

#[tokio::test]
async fn what_was_refused_is_told_to_the_user_once_and_names_nothing_more_private_than_the_conversation() {
    let told = |report: &passepartout::domain::turn::TurnReport| -> Vec<String> {
        refused(report).into_iter().map(|refused| refused.text).collect()
    };
    let no = || Say::Calls(vec![shell("rm -rf /diary/ZANZIBAR7")]);
    let world = World::new([no(), no(), no()]);
    let (report, _) = world.ask("clean up").await;
    assert_eq!(told(&report), ["Run: rm -rf /diary/ZANZIBAR7 — It deletes everything."]);
    assert_eq!(refused(&report)[0].action, report.deeds[0].trace.as_ref().map(|trace| trace.action));
    // (what may be seen, what is called by its words): a model elsewhere leads no conversation into what is private.
    for (locality, named) in [(Locality::Local, true), (Locality::Remote, false)] {
        let world = World { locality, ..World::new([Say::Calls(vec![search()]), no(), Say::Words("I could not.")]) };
        *world.facts.lock().expect("not poisoned") = Facts { privacy: Some(Privacy::Private), ..Facts::default() };
        let (report, _) = world.ask("clean up").await;
        let lines = told(&report);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(lines[0].contains("ZANZIBAR7"), named, "{lines:?}");
        // What a gate says of it may quote it, unless the words are those of our own tables.
        let why = if named { "It deletes everything." } else { "The gate denier denies it." };
        assert!(lines[0].ends_with(&format!(" — {why}")), "{lines:?}");
        let private = report.conversation.labels.privacy == Privacy::Private;
        assert_eq!(private, named, "{lines:?}");
        assert!(named || !format!("{:?}", report.deeds).contains("ZANZIBAR7"), "{:?}", report.deeds);
        // The model is told no more of it than it may see.
        let prompts = format!("{:?}", world.prompts().last());
        assert!(prompts.contains("Refused. Nothing was done."), "{prompts}");
        assert_eq!(prompts.contains("It deletes everything."), named, "{prompts}");
        assert_eq!(prompts.contains("the user alone is told what"), !named, "{prompts}");
    }
    // What broke denies, and that is told, too.
    let world = World::new([Say::Calls(vec![shell("break the gate")]), Say::Words("I could not.")]);
    let (report, _) = world.ask("break it").await;
    assert_eq!(told(&report), ["Run: break the gate — The gate failed, and a gate that fails denies."]);
}

#[tokio::test]
async fn a_third_refusal_says_that_nothing_further_was_done_when_something_was() {
    let no = || Say::Calls(vec![shell("rm -rf /")]);
    let world = World::new([Say::Calls(vec![search()]), no(), no(), no()]);
    let (report, _) = world.ask("clean up").await;
    let notice = report.notice.unwrap_or_default();
    assert!(notice.starts_with("What the model wanted was refused 3 times, so nothing further was done."), "{notice}");
}

#[tokio::test]
async fn a_third_proposal_that_is_no_action_is_a_protocol_fault_and_a_skill_may_answer_for_it() {
    let bad = || Say::Calls(vec![call("c1", "teleport", json!({"to": "the moon"}))]);
    let mut world = World::new([bad(), bad(), bad()]);
    world.resolution = Resolution::Fallback("I could not find a way.".into());
    let (report, streamed) = world.ask("beam me up").await;
    let Some(Fault::Protocol { text, raw }) = &report.fault else { panic!("{:?}", report.fault) };
    assert!(text.contains("There is no tool “teleport”."), "{text}");
    assert!(raw.starts_with("teleport {") && raw.contains("the moon"), "{raw}");
    assert_eq!((report.ending, streamed.as_str()), (Ending::Answered, "I could not find a way."));
    assert!(!world.log().concat().contains("teleport"), "{:?}", world.log());
}

#[tokio::test]
async fn a_question_too_long_for_the_window_is_a_budget_fault_and_is_not_cut() {
    let mut world = World::new([Say::Exhausted]);
    world.max_tokens = 3_000;
    let question = "word ".repeat(5_000);
    let (report, _) = world.ask(&question).await;
    let Some(Fault::Budget { remaining, requested, at_point: None }) = report.fault else {
        panic!("{:?}", report.fault)
    };
    assert!(remaining < 3_000 && requested == 5_000, "{remaining} {requested}");
    assert_eq!(report.conversation.messages, [Message::Text { role: Role::User, text: question }]);
    assert!(report.notice.unwrap_or_default().contains("raise CONTEXT_MAX_TOKENS"));
    assert!(world.events().contains(&"fault passepartout-budget-error".to_string()));
}

#[tokio::test]
async fn no_prompt_of_a_turn_is_longer_than_the_window() {
    let step = |n: usize, tool: &str, args: serde_json::Value| call(&format!("c{n}"), tool, args);
    let written = "ink ".repeat(600);
    let mut world = World::new([
        Say::Calls(vec![step(1, "memory-search", json!({"query": "a"})), step(2, "read-file", json!({"path": "b"}))]),
        Say::Calls(vec![step(3, "shell", json!({"command": format!("echo {written}")}))]),
        Say::Calls(vec![step(4, "memory-read", json!({"id": "n1"})), step(5, "memory-read", json!({"id": "n2"}))]),
        Say::Words("Found."),
    ]);
    world.max_tokens = 3_200;
    world.outcome = |_| (Outcome::Done("result ".repeat(1_200)), NOTE);
    let (report, _) = world.ask("where is the boiler?").await;
    assert_eq!(report.ending, Ending::Answered, "{}", told(&report));
    let prompts = world.prompts();
    let sizes: Vec<usize> = prompts.iter().map(|given| prompt::tokens(given, &desk::Words)).collect();
    assert!(sizes.iter().all(|size| *size <= 3_200) && sizes[3] > 1_200, "{sizes:?}");
    let last = &prompts[3].messages;
    assert!(matches!(&last[0], Message::Text { text, .. } if text == "where is the boiler?"), "the question is kept");
    let results: Vec<&str> = last
        .iter()
        .filter_map(|message| match message {
            Message::Result { text, .. } => Some(text.as_str()),
            Message::Text { .. } | Message::Calls { .. } | Message::Picture(_) => None,
        })
        .collect();
    let said = "left out, for lack of room.";
    for read in &results[..2] {
        assert!(read.contains("The rest of 8400 characters of ") && read.contains(said), "{read}");
        assert!(read.ends_with("Make the same call again if it is still needed.]"), "{read}");
    }
    assert!(results[2].ends_with("Do not repeat the call for it: it was carried out.]"), "{}", results[2]);
    assert!(results[4].len() > 5_000, "the newest result is kept: {}", results[4].len());
}

#[tokio::test]
async fn the_newest_result_is_cut_when_it_alone_does_not_fit() {
    let mut world = World::new([Say::Calls(vec![search()]), Say::Words("Found.")]);
    world.max_tokens = 2_800;
    world.outcome = |_| (Outcome::Done("result ".repeat(9_000)), NOTE);
    let (report, _) = world.ask("where is the boiler?").await;
    assert_eq!(report.ending, Ending::Answered);
    let given = &world.prompts()[1];
    assert!(prompt::tokens(given, &desk::Words) <= 2_800);
    let Some(Message::Result { text, .. }) = given.messages.last() else { panic!("no result") };
    assert!(text.len() > 1_000 && text.ends_with("of 63000 characters are shown]"), "{} {text}", text.len());
}

#[tokio::test]
async fn a_message_is_streamed_under_a_label_and_nobody_but_the_user_is_reached() {
    let to = |to: &str| Say::Calls(vec![call("c1", "message", json!({"text": "The boiler leaks.", "to": to}))]);
    let plain = Say::Calls(vec![call("c2", "message", json!({"text": "I go on looking."}))]);
    let world = World::new([to("the plumber"), to("user"), plain, Say::Words("It is in the cellar.")]);
    let (report, streamed) = world.ask("where is the boiler?").await;
    assert_eq!(
        streamed,
        "Message from the agent: The boiler leaks.\n\nMessage from the agent: I go on looking.\n\nIt is in the cellar."
    );
    let Some(Message::Result { text, .. }) = report.conversation.messages.get(2) else { panic!("no result") };
    assert!(text.starts_with("message: “the plumber” cannot be reached: in this version messages go to the user"));
    assert_eq!(world.events().iter().filter(|event| *event == "perform message").count(), 2);
}

#[tokio::test]
async fn acts_are_told_in_the_moment_and_by_the_places_of_their_deeds() {
    let acts = |world: &World| std::mem::take(&mut *world.acts.lock().expect("not poisoned"));
    let calls = vec![search(), edit("c2"), call("c3", "memory-read", json!({"id": "n1"}))];
    let world = World::new([Say::Calls(calls), Say::Words("It is done.")]);
    let (parked, _) = world.ask("mark it done").await;
    // model, three surveys, the intent: then it begins, and behind it stands that it was performed.
    let search = "Search memory for “boiler”";
    assert_eq!(
        acts(&world),
        [
            format!("0 begun {search} Open, at 5"),
            format!("0 done {search} Open, at 6"),
            "1 asked Mark “n1” DONE [P1] Open, at 8".to_string(),
        ]
    );
    world.events.lock().expect("not poisoned").clear();
    let (report, _) = world.approve(parked.conversation).await;
    assert_eq!(
        acts(&world),
        ["0 begun Mark “n1” DONE [P1] Open, at 3", "0 done Mark “n1” DONE [P1] Open, at 4"],
        "what was approved is told under its plan: {}",
        told(&report)
    );
    let no = || Say::Calls(vec![shell("rm -rf /")]);
    let world = World::new([no(), no(), Say::Calls(vec![call("c1", "no-such", json!({}))]), Say::Words("never")]);
    let (report, _) = world.ask("clean up").await;
    let told = acts(&world);
    assert_eq!(told.len(), report.deeds.len(), "{told:?}");
    for (number, (told, deed)) in told.iter().zip(&report.deeds).enumerate() {
        assert!(told.starts_with(&format!("{number} blocked {} Open", deed.summary)), "{told}");
    }
}

#[tokio::test]
async fn what_is_said_after_acts_is_a_paragraph_of_its_own() {
    let read = || vec![call("c1", "memory-read", json!({"id": "n1"}))];
    let world = World::new([Say::Both("I look.", read()), Say::Calls(read()), Say::Words("It is there.")]);
    let (_, streamed) = world.ask("where is the boiler?").await;
    assert_eq!(streamed, "I look.\n\nIt is there.");
}

#[tokio::test]
async fn what_an_act_may_have_changed_is_judged_anew_within_an_answer() {
    let acts = vec![shell("touch a"), call("c2", "memory-read", json!({"id": "n1"})), edit("c3")];
    let world = World::new([Say::Calls(acts)]);
    let (report, _) = world.ask("do it").await;
    assert_eq!(report.ending, Ending::Parked);
    let events = world.events();
    let behind = events.iter().skip_while(|event| *event != "outcome done").skip(1).collect::<Vec<_>>();
    assert_eq!(
        behind,
        [
            "survey memory-read",
            "intent memory-read",
            "perform memory-read",
            "outcome done",
            "survey org-set-todo",
            "park org-set-todo"
        ]
    );
}

#[tokio::test]
async fn a_model_that_finds_another_way_after_a_denial_goes_on() {
    let world = World::new([
        Say::Calls(vec![shell("rm -rf /")]),
        Say::Calls(vec![shell("ls")]),
        Say::Calls(vec![shell("rm -rf /")]),
        Say::Calls(vec![shell("rm -rf /")]),
        Say::Words("Done."),
    ]);
    let (report, _) = world.ask("clean up").await;
    assert_eq!(report.ending, Ending::Answered, "what passes starts the count afresh: {}", told(&report));
}

#[tokio::test]
async fn of_one_answer_all_calls_are_carried_out_or_none() {
    let world = World::new([Say::Calls(vec![search(), shell("rm -rf /")]), Say::Words("I see.")]);
    let mut calls = match world.script.lock().unwrap().pop_front() {
        Some(Say::Calls(calls)) => calls,
        _ => unreachable!("it was put there"),
    };
    calls[1].id = "c2".into();
    world.script.lock().unwrap().push_front(Say::Calls(calls));
    let (report, _) = world.ask("clean up").await;
    assert!(!world.events().iter().any(|event| event.starts_with("perform")), "{:?}", world.events());
    let told = told(&report);
    assert!(told.contains("c1 memory-search: Not carried out: another call of the same answer was refused."), "{told}");
}

#[tokio::test]
async fn what_is_no_action_is_fed_back_in_words_that_a_model_can_act_on() {
    for (bad, words) in [
        (call("c1", "teleport", json!({})), "There is no tool “teleport”. The tools are: memory-search,"),
        (
            call("c1", "contact-provider", json!({"provider": "far", "url": "https://far", "sent": "a lie"})),
            "There is no tool “contact-provider”. The tools are: memory-search,",
        ),
        (call("c1", "memory-search", json!({})), "memory-search: the argument “query” is missing"),
        (
            call("c1", "memory-search", json!({"query": 7})),
            "memory-search: the argument “query” must be text, not a number.",
        ),
        (
            call("c1", "memory-search", json!({"query": "x", "depth": 1})),
            "memory-search: there is no argument “depth”.",
        ),
        (
            call("c1", "memory-search", json!({"query": "x", "explanation": "  "})),
            "memory-search: every action needs an “explanation”",
        ),
        (
            call("c1", "memory-search", json!({"query": "x", "limit": 1.5})),
            "memory-search: the argument “limit” must be a whole number from 1 to 50, not 1.5.",
        ),
    ] {
        let world = World::new([Say::Calls(vec![bad]), Say::Words("I see.")]);
        let (report, _) = world.ask("do it").await;
        assert_eq!(world.events(), ["model", "model"], "{words}");
        let Some(Message::Result { text, .. }) = report.conversation.messages.get(2) else { panic!("no result") };
        assert!(text.starts_with(words), "{text} does not start with {words}");
        assert_eq!(report.deeds.len(), 1);
        assert!(report.deeds[0].trace.is_none() && report.deeds[0].outcome.starts_with("refused: "));
    }
}

#[tokio::test]
async fn a_plist_goes_the_same_road_as_a_native_call() {
    let text = "```lisp\n(:TYPE :REQUEST :PAYLOAD (:TOOL \"shell\" :ARGS (:COMMAND \"rm -rf /\") :EXPLANATION \"To clean up.\"))\n```";
    let world = World::new([Say::Words(text), Say::Words("I see.")]);
    let (report, _) = world.ask("clean up").await;
    assert_eq!(world.events(), ["model", "survey shell", "model"]);
    assert_eq!(report.deeds[0].outcome, "refused");
}

#[tokio::test]
async fn at_depth_ten_the_turn_ends_with_what_was_done_and_an_offer() {
    let world = World::new((0..12).map(|_| Say::Calls(vec![search()])));
    let (report, _) = world.ask("go on and on").await;
    assert_eq!(report.ending, Ending::Answered);
    assert_eq!(report.deeds.len(), 11, "depth 0 to 10");
    assert_eq!(world.prompts().len(), 11);
    let notice = report.notice.expect("an offer");
    assert_eq!(notice, "Stopped after 10 steps. What was done is listed below; say “go on” to continue.");
    assert!(!report.roll_back);
}

#[tokio::test]
async fn an_approval_at_the_depth_limit_is_carried_out_and_ends_with_the_offer() {
    let world = World::new([Say::Calls(vec![edit("c1")])]);
    let (parked, _) = world.ask("mark it done").await;
    let mut conversation = parked.conversation;
    conversation.depth = Depth::from_number(10).expect("ten is allowed");
    let (report, _) = world.approve(conversation).await;
    assert_eq!((report.ending, report.roll_back), (Ending::Answered, false));
    assert!(report.notice.is_some_and(|notice| notice.starts_with("Stopped after 10 steps.")));
    assert!(world.events().contains(&"perform org-set-todo".to_string()));
}

/// Breaks one thing, and says what must come of it.
#[tokio::test]
async fn whatever_breaks_the_turn_ends_and_says_so() {
    struct Case {
        broken: Broken,
        script: Vec<Say>,
        ending: Ending,
        roll_back: bool,
        /// Part of what the user or the model is told.
        says: &'static str,
        performed: bool,
    }
    let failed =
        |broken, script, says| Case { broken, script, ending: Ending::Failed, roll_back: true, says, performed: false };
    let one = || vec![Say::Calls(vec![search()]), Say::Words("I see.")];
    let cases = [
        failed(Broken::Nothing, vec![Say::Panic("CRITICAL BRAIN FAILURE")], "CRITICAL BRAIN FAILURE"),
        failed(Broken::Nothing, vec![Say::Panic("no heading “ZANZIBAR7” here")], "no heading “…”"),
        failed(Broken::Nothing, vec![Say::Panic("out of bounds of `my ZANZIBAR7`")], "out of bounds of `…`"),
        failed(Broken::Nothing, vec![Say::Exhausted], "no model answered.\n- fake: it is down"),
        failed(Broken::Surveyor, one(), "the surveyor breaks"),
        failed(Broken::Briefing, one(), "the briefing breaks"),
        failed(Broken::OnError, vec![Say::Exhausted], "no model answered"),
        failed(Broken::Log, vec![Say::Exhausted], "no model answered"),
        failed(Broken::Intent, one(), "the store could not keep the intent, so nothing was done (the disk is full)"),
        failed(
            Broken::Park,
            vec![Say::Calls(vec![edit("c1")])],
            "the plan could not be kept, so nothing was done (the disk is full)",
        ),
        Case {
            broken: Broken::Actuator,
            script: one(),
            ending: Ending::Answered,
            roll_back: false,
            says: "error: Search memory for “boiler” broke: the actuator breaks",
            performed: true,
        },
        failed(
            Broken::SecondPark,
            vec![Say::Calls(vec![edit("c1"), edit("c2")])],
            "(asker ask, denier pass) [P1]: withdrawn: the turn failed behind it",
        ),
        Case {
            broken: Broken::Outcome,
            script: one(),
            ending: Ending::Answered,
            roll_back: false,
            says: "the outcome of Search memory for “boiler” could not be stored: the disk is full",
            performed: true,
        },
        Case {
            broken: Broken::Nothing,
            script: vec![Say::Calls(vec![shell("break the gate")]), Say::Words("I see.")],
            ending: Ending::Answered,
            roll_back: false,
            says: "denier (deny): The gate failed, and a gate that fails denies.",
            performed: false,
        },
    ];
    for case in cases {
        let world = World { broken: case.broken, ..World::new(case.script) };
        let (report, _) = world.ask("do it").await;
        let all = format!("{}\n{}", told(&report), world.log().join("\n"));
        assert!(!all.contains("ZANZIBAR7"), "what a panic quotes may be a note: {all}");
        assert_eq!((report.ending, report.roll_back), (case.ending, case.roll_back), "{all}");
        assert!(all.contains(case.says), "{:?} is not in\n{all}", case.says);
        let performed = world.events().iter().any(|event| event.starts_with("perform"));
        assert_eq!(performed, case.performed, "{all}");
        assert!(report.plans.is_empty(), "what failed waits for nothing: {all}");
        let prompts = format!("{:?}", world.prompts());
        assert!(!prompts.contains("the actuator breaks"), "what a panic says is for the log: {prompts}");
    }
}

#[tokio::test]
async fn a_fault_ends_as_was_chosen() {
    let failed = "no model answered.\n- fake: it is down";
    for (resolution, ending, text, done) in [
        (Resolution::Skip, Ending::Answered, "", "\nThe skill that was at work leaves it at that."),
        (
            Resolution::Fallback("Ask me later.".into()),
            Ending::Answered,
            "Ask me later.",
            "\nThe skill that was at work answered with its own text instead.",
        ),
        (Resolution::Abort, Ending::Failed, "", ""),
    ] {
        let world = World { resolution: resolution.clone(), ..World::new([Say::Exhausted]) };
        let (report, streamed) = world.ask("do it").await;
        assert_eq!((report.ending, report.text.as_str()), (ending, text), "{resolution:?}");
        assert_eq!(report.notice, Some(format!("{failed}{done}")), "the user sees what failed and what was done");
        assert!(report.roll_back, "whatever is chosen, memory goes back: {resolution:?}");
        assert_eq!(streamed, text);
        assert_eq!(world.events(), ["model", "fault passepartout-model-error"]);
        let log =
            [format!("warning: user-input, depth 0: {failed}"), format!("warning: loop-error, depth 1: {failed}")];
        assert_eq!(world.log(), log, "{resolution:?}");
    }
}

#[tokio::test]
async fn a_fault_behind_a_tools_error_rolls_nothing_back_and_raises_nothing() {
    for (outcome, sensor) in [
        (Outcome::Failed("it is gone".into()), "tool-error"),
        (Outcome::Stale("it has changed".into()), "tool-error"),
        (Outcome::Cancelled("it was stopped".into()), "tool-error"),
        (Outcome::Done("it is there".into()), "tool-output"),
    ] {
        let came_to = match &outcome {
            Outcome::Failed(_) => |_: &_| (Outcome::Failed("it is gone".into()), NOTE),
            Outcome::Stale(_) => |_: &_| (Outcome::Stale("it has changed".into()), NOTE),
            Outcome::Cancelled(_) => |_: &_| (Outcome::Cancelled("it was stopped".into()), NOTE),
            Outcome::Done(_) => |_: &_| (Outcome::Done("it is there".into()), NOTE),
        };
        let world = World { outcome: came_to, ..World::new([Say::Calls(vec![search()]), Say::Exhausted]) };
        let (report, _) = world.ask("do it").await;
        let about_error = sensor == "tool-error";
        assert_eq!((report.ending, report.roll_back), (Ending::Failed, !about_error), "{outcome:?}");
        assert_eq!(world.log()[0], format!("warning: {sensor}, depth 1: no model answered.\n- fake: it is down"));
        assert_eq!(world.log().iter().any(|line| line.contains("loop-error")), !about_error, "{:?}", world.log());
    }
}

#[tokio::test]
async fn calls_without_a_name_of_their_own_get_one() {
    let named = |id: &str, query: &str| call(id, "memory-search", json!({ "query": query }));
    let calls = vec![named("c", "a"), named("c", "b"), named("", "c"), named("call-1", "d"), edit("")];
    let world = World::new([Say::Calls(calls), Say::Words("It is done.")]);
    let (parked, _) = world.ask("do it").await;
    let results: Vec<_> = parked
        .conversation
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::Result { call, .. } => Some(call.as_str()),
            Message::Text { .. } | Message::Calls { .. } | Message::Picture(_) => None,
        })
        .collect();
    assert_eq!(results, ["c", "call-2", "call-3", "call-1"]);
    assert_eq!(parked.conversation.waiting[0].0, "call-4");
    // A plan of a call without a name is no first contact: its result reaches the model.
    let (report, _) = world.approve(parked.conversation).await;
    let last = report.conversation.messages.iter().rev().nth(1);
    assert!(matches!(last, Some(Message::Result { call, .. }) if call == "call-4"), "{}", told(&report));
}

#[tokio::test]
async fn an_empty_answer_is_said_to_be_one() {
    let world = World::new([Say::Words(" \n")]);
    let (report, _) = world.ask("do it").await;
    assert_eq!(report.notice.as_deref(), Some("The model answered nothing; ask again, or ask another one."));
}

#[tokio::test]
async fn a_loop_error_is_raised_once_one_deeper_and_not_beyond_depth_two() {
    for depth in 0..=4 {
        let mut script: Vec<Say> = (0..depth).map(|_| Say::Calls(vec![search()])).collect();
        script.push(Say::Exhausted);
        let world = World::new(script);
        let (report, _) = world.ask("do it").await;
        assert_eq!(report.ending, Ending::Failed);
        let raised: Vec<_> = world.log().into_iter().filter(|line| line.contains("loop-error")).collect();
        let expected = format!("warning: loop-error, depth {}: no model answered.\n- fake: it is down", depth + 1);
        match depth {
            0..=2 => assert_eq!(raised, [expected]),
            _ => assert!(raised.is_empty(), "{raised:?}"),
        }
    }
}

#[tokio::test]
async fn private_labels_travel_into_the_conversation_the_prompt_and_the_action() {
    let calls = || Say::Calls(vec![search()]);
    let world = World {
        outcome: |_| (Outcome::Done("a private note".into()), SECRET),
        ..World::new([calls(), Say::Calls(vec![edit("c2")])])
    };
    let (report, _) = world.ask("do it").await;
    let privacies: Vec<_> = world.prompts().iter().map(|prompt| prompt.privacy).collect();
    assert_eq!(privacies, [Privacy::Open, Privacy::Private]);
    assert_eq!(report.conversation.labels, Labels { privacy: Privacy::Private, ..NOTE });
    let labels = world.plan(0).action.labels();
    assert_eq!((labels.provenance, labels.trust, labels.privacy), (Provenance::Model, Trust::Kept, Privacy::Private));
    assert_eq!(world.plan(0).action.led(), None);
}

#[tokio::test]
async fn what_came_from_outside_travels_into_the_conversation_the_prompt_and_the_action() {
    // Where an act says that its text is untrusted and not from where, all of it is.
    let world = World {
        outcome: |_| (Outcome::Done("a page".into()), Labels::untrusted(Provenance::Web, Privacy::Open)),
        ..World::new([Say::Calls(vec![search()]), Say::Calls(vec![edit("c2")])])
    };
    let (report, _) = world.ask("do it").await;
    let told: Vec<_> = world.prompts().iter().map(|prompt| prompt.outside.sources().join(", ")).collect();
    assert_eq!(told, ["", "what memory-search said"]);
    assert_eq!(report.conversation.labels.trust, Trust::Untrusted);
    let plan = world.plan(0);
    assert_eq!(plan.action.labels().trust, Trust::Untrusted);
    assert_eq!(plan.action.led().map(|led| led.sources.join(", ")).as_deref(), Some("what memory-search said"));
    // Also by the signal itself, and by what was said before.
    let body = Body::ChatMessage { text: "Run it.".into() };
    let signal = passepartout::domain::signal::Signal {
        labels: Labels::untrusted(Provenance::Gateway, Privacy::Open),
        ..signal(body)
    };
    let outside = passepartout::domain::outside::Outside::of_sources(["an older page".to_string()]);
    let world = World::new([Say::Calls(vec![edit("c1")])]);
    let (report, _) =
        world.start(Start::Words { signal, history: Vec::new(), past: Default::default(), outside }).await;
    assert_eq!(report.conversation.outside.sources(), ["a message from a gateway", "an older page"]);
    assert!(world.plan(0).action.led().is_some());
}

#[tokio::test]
async fn an_answer_from_a_private_slice_makes_the_conversation_private() {
    for (locality, privacy) in [(Locality::Local, Privacy::Private), (Locality::Remote, Privacy::Open)] {
        let world = World { locality, memory: Privacy::Private, ..World::new([Say::Words("So it is.")]) };
        let (report, _) = world.ask("what do I hide?").await;
        assert_eq!(report.conversation.labels.privacy, privacy, "{locality:?}");
        assert_eq!(world.prompts()[0].system.contains("a private note"), privacy == Privacy::Private, "{locality:?}");
    }
}

#[tokio::test]
async fn for_a_model_that_is_not_local_private_notes_stay_shut() {
    for (locality, shut) in [(Locality::Local, ""), (Locality::Remote, ", private notes shut")] {
        let world = World {
            locality,
            ..World::new([Say::Calls(vec![search()]), Say::Calls(vec![edit("c2")]), Say::Words("")])
        };
        let (parked, _) = world.ask("do it").await;
        assert_eq!(parked.conversation.local, locality == Locality::Local);
        let _ = world.approve(parked.conversation).await;
        let touched: Vec<String> =
            world.events().into_iter().filter(|e| e.starts_with("survey") || e.starts_with("perform")).collect();
        for event in &touched {
            assert!(event.ends_with(shut) && (!shut.is_empty() || !event.contains(',')), "{event}");
        }
        assert_eq!(touched.len(), 6, "{touched:?}");
    }
}

#[tokio::test]
async fn the_first_contact_parks_exactly_what_would_be_sent_and_goes_on_when_it_is_approved() {
    let world = World { locality: Locality::Remote, ..World::new([Say::Confirm, Say::Words("Hello.")]) };
    let (parked, _) = world.ask("hello").await;
    assert_eq!((parked.ending, parked.plans.len()), (Ending::Parked, 1));
    let plan = world.plan(0);
    assert_eq!(plan.action.tool(), "contact-provider");
    let (read, exactly) = plan.action.text("sent").and_then(|sent| sent.split_once(EXACTLY)).expect("both");
    assert_eq!(read.trim_end(), prompt::shown(&world.prompts()[0]).trim_end());
    assert_eq!(exactly, "to far: 1 messages");
    assert_eq!(plan.action.text("url"), Some("https://far.example/v1/"));
    let (report, _) = world.approve(parked.conversation).await;
    assert_eq!((report.ending, report.text.as_str()), (Ending::Answered, "Hello."));
    assert_eq!(world.prompts()[1], world.prompts()[0], "what was shown is what is sent");
    assert_eq!(report.conversation.contact, None, "and it is sent once");
    let said: Vec<_> = report.conversation.messages.iter().map(|m| matches!(m, Message::Text { .. })).collect();
    assert_eq!(said, [true, true], "the contact itself is no part of the conversation");
}

#[tokio::test]
async fn a_denied_first_contact_ends_and_nothing_is_sent() {
    let world = World { locality: Locality::Remote, ..World::new([Say::Confirm]) };
    let (parked, _) = world.ask("hello").await;
    let (report, _) = world.deny("no", parked.conversation).await;
    assert_eq!((report.ending, report.notice.as_deref()), (Ending::Answered, Some("Nothing was sent.")));
    assert_eq!(world.prompts().len(), 1);
}

#[tokio::test]
async fn the_history_stands_before_the_words_and_is_sent() {
    let world = World::new([Say::Words("Yes.")]);
    let history = vec![
        Message::Text { role: Role::User, text: "Hello.".into() },
        Message::Text { role: Role::Assistant, text: "Hello!".into() },
    ];
    let body = Body::UserInput { text: "Again?".into(), history: Vec::new() };
    let (report, _) = world
        .start(Start::Words { signal: signal(body), history, past: Default::default(), outside: Default::default() })
        .await;
    let Conversation { messages, .. } = &report.conversation;
    assert_eq!(messages.len(), 4);
    assert_eq!(world.prompts()[0].messages, messages[..3]);
}

/// What the model may say in a random conversation, by number.
fn random_say(kind: u8, step: usize) -> Say {
    let id = |n: usize| format!("c{step}-{n}");
    let named = |mut call: Call, n: usize| {
        call.id = id(n);
        call
    };
    match kind {
        0 => Say::Words("So it is."),
        1 => Say::Calls(vec![named(search(), 0)]),
        2 => Say::Calls(vec![named(edit("x"), 0), named(search(), 1)]),
        3 => Say::Calls(vec![named(search(), 0), named(edit("x"), 1), named(edit("y"), 2)]),
        4 => Say::Calls(vec![named(shell("rm -rf /"), 0)]),
        5 => Say::Calls(vec![named(search(), 0), named(shell("rm -rf /"), 1)]),
        6 => Say::Calls(vec![named(shell("break the gate"), 0)]),
        7 => Say::Calls(vec![named(call("x", "teleport", json!({})), 0), named(search(), 1)]),
        8 => Say::Words("(:tool \"shell\" :args (:command \"rm -rf /\") :explanation \"To clean up.\")"),
        9 => Say::Panic("the model breaks"),
        10 => Say::Exhausted,
        _ => Say::Confirm,
    }
}

const BROKEN: [Broken; 10] = [
    Broken::Nothing,
    Broken::Surveyor,
    Broken::Actuator,
    Broken::Briefing,
    Broken::OnError,
    Broken::Log,
    Broken::Intent,
    Broken::Outcome,
    Broken::Park,
    Broken::SecondPark,
];

/// Checks what must hold after any turn.
fn invariants(world: &World, report: &passepartout::domain::turn::TurnReport, approved: bool) {
    let events = world.events();
    for (n, event) in events.iter().enumerate() {
        if let Some(tool) = event.strip_prefix("perform ") {
            let tool = tool.split(',').next().unwrap_or(tool);
            assert_eq!(events[n - 1], format!("intent {tool}"), "{events:?}");
            assert!(events.get(n + 1).is_some_and(|next| next.starts_with("outcome ")), "{events:?}");
            let free = matches!(tool, "memory-search");
            assert!(free || approved, "{tool} was performed and nobody approved it: {events:?}");
        }
        assert_ne!(event, "perform shell", "what a gate denies is never performed");
    }
    assert!(world.prompts().len() <= 33, "three tries at each of eleven depths");
    assert!(report.conversation.depth.get() <= 10);
    assert_eq!(report.ending == Ending::Parked, !report.plans.is_empty() && report.ending != Ending::Failed);
    let fault = report.ending == Ending::Failed || events.iter().any(|event| event.starts_with("fault"));
    let messages = &report.conversation.messages;
    let results =
        |id: &str| messages.iter().filter(|m| matches!(m, Message::Result { call, .. } if call == id)).count();
    for message in messages {
        let Message::Calls { calls, .. } = message else { continue };
        for call in calls.iter().filter(|call| call.id != "plist") {
            let waits = report.conversation.waiting.iter().filter(|(id, _)| *id == call.id).count();
            let told = results(&call.id) + waits;
            // A fault may come before a call has its result; nothing ever has two.
            assert!(told == 1 || (told == 0 && fault), "{} has {told}: {}", call.id, desk::told(report));
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(crate::support::soak::cases(400)))]
    #[test]
    fn whatever_is_said_and_whatever_breaks_a_turn_keeps_its_promises(
        said in proptest::collection::vec(0_u8..12, 1..12),
        broken in proptest::sample::select(&BROKEN[..]),
        remote: bool,
        resolution in 0_u8..3,
        deny: bool,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime starts");
        runtime.block_on(async {
            // What comes after the script is silence.
            let script = said.iter().enumerate().map(|(step, kind)| random_say(*kind, step));
            let world = World {
                broken,
                locality: if remote { Locality::Remote } else { Locality::Local },
                resolution: match resolution {
                    0 => Resolution::Skip,
                    1 => Resolution::Fallback("Later.".into()),
                    _ => Resolution::Abort,
                },
                ..World::new(script.chain((0..40).map(|_| Say::Words("That is all."))))
            };
            let (report, _) = world.ask("do it").await;
            invariants(&world, &report, false);
            if report.ending == Ending::Parked {
                let first = report.plans[0].clone();
                assert_eq!(world.plan(0).id, first);
                let (report, _) = match deny {
                    true => world.deny("no", report.conversation).await,
                    false => world.approve(report.conversation).await,
                };
                invariants(&world, &report, !deny);
                let fault = report.ending == Ending::Failed || world.events().iter().any(|event| event.starts_with("fault"));
                assert!(fault || !report.conversation.waiting.iter().any(|(_, id)| *id == first));
            }
        });
    }
}

#[tokio::test]
async fn the_length_of_what_stays_goes_with_the_prompt() {
    let world = World::new([Say::Words("hello")]);
    let _ = world.ask("hello").await;
    let prompt = &world.prompts()[0];
    let (stays, changes) = prompt.system.split_at(prompt.stable);
    assert!(stays.starts_with("You are Agent.\n\nYou act only by calling tools."), "{stays}");
    assert!(changes.starts_with("\n\nNow it is Monday, 2026-03-02 09:00."), "{changes}");
    assert!(changes.contains("* an open note"), "{changes}");
}

/// A briefing of which each part has ten words.
fn ten_of_each(lean: Lean) -> Briefing {
    let ten = |word: &str| [word; 10].join(" ");
    let standing = |word: &str, whose: Voice| Standing { text: ten(word), whose, always: true };
    let notes = match lean {
        Lean::Whole | Lean::Log | Lean::Mandates | Lean::Outline => "note note note note note focus",
        Lean::Half => "note note focus",
        Lean::Notes => "focus",
    };
    Briefing {
        identity: "You are Agent.".to_string(),
        outline: ten("outline"),
        memory: notes.to_string(),
        log: vec![ten("log")],
        standing: vec![standing("rule", Voice::User), standing("mandate", Voice::Shipped)],
        ..Briefing::default()
    }
}

#[tokio::test]
async fn what_is_told_gives_way_in_its_order_and_the_users_rules_and_the_focus_never() {
    // How many words there are of each part, when so many words less fit than there are.
    let told = async |less: usize| {
        let mut world = World { told: Some(ten_of_each), ..World::new([Say::Words("hello")]) };
        let _ = world.ask("hello").await;
        let prompt = &world.prompts()[0];
        let all = passepartout::domain::turn::prompt::tokens(prompt, &Words);
        world = World { max_tokens: all - less, told: Some(ten_of_each), ..World::new([Say::Words("hello")]) };
        let (report, _) = world.ask("hello").await;
        let count = |text: &str, word: &str| text.split_whitespace().filter(|found| *found == word).count();
        let parts = ["rule", "focus", "log", "mandate", "outline", "note"];
        let system = world.prompts()[0].system.clone();
        (parts.map(|word| count(&system, word)), report.ending)
    };
    for (less, expected) in [
        (0, [10, 1, 10, 10, 10, 5]),
        (1, [10, 1, 0, 10, 10, 5]),
        // A title has words, too.
        (15, [10, 1, 0, 0, 10, 5]),
        (26, [10, 1, 0, 0, 0, 5]),
        (45, [10, 1, 0, 0, 0, 2]),
        (48, [10, 1, 0, 0, 0, 0]),
        (60, [10, 1, 0, 0, 0, 0]),
    ] {
        let (found, _) = told(less).await;
        assert_eq!(found, expected, "{less} words less");
    }
}
