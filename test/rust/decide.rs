//! Decisions about plans from a chat, as whole turns: who is sent a plan, which token counts, and what is not sent at all.

use crate::gateway::{Fake, TOKEN, answers, update};
use crate::support::engine::{Home, origin, provide, status, waiting};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use passepartout::domain::gate::plan::{FlightPlan, PlanStatus};
use passepartout::domain::gateway::Platform;
use passepartout::domain::id::SessionId;
use passepartout::domain::label::Privacy;
use passepartout::domain::signal::{Origin, Rights, Source};
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::boot::start;
use passepartout::edge::engine::record;
use passepartout::edge::engine::turns::Decided;
use passepartout::edge::runtime::follow_gateways;
use passepartout::edge::secret::{Secret, Vault};
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) const NOTES: &str = "* Kitchen\n** TODO Order tiles\n:PROPERTIES:\n:ID: tiles\n:END:\nThe white ones.\n\
                     ** TODO Order paint\n:PROPERTIES:\n:ID: paint\n:END:\nThe blue one.\n";

fn calls(calls: &[(&str, Value)]) -> Reply {
    let call = |(tool, args): &(&str, Value)| {
        let mut args = args.clone();
        if args["explanation"].is_null() {
            args["explanation"] = json!("You asked for exactly this.");
        }
        (tool.to_string(), args)
    };
    let made: Vec<(String, Value)> = calls.iter().map(call).collect();
    let named: Vec<String> = (1..=made.len()).map(|number| format!("c{number}")).collect();
    let calls: Vec<_> =
        made.iter().zip(&named).map(|((tool, args), id)| (id.as_str(), tool.as_str(), args.clone())).collect();
    Reply::answer(Dialect::OpenAi, &[], &calls)
}

fn mark(id: &str) -> Reply {
    calls(&[("org-set-todo", json!({"id": id, "state": "DONE"}))])
}

fn says(text: &str) -> Reply {
    Reply::answer(Dialect::OpenAi, &[text], &[])
}

/// A chat with a core of its own.
pub(crate) struct Chat {
    pub(crate) home: Home,
    pub(crate) fake: Fake,
    server: FakeServer,
    pub(crate) engine: Arc<Engine>,
    serving: tokio::task::JoinHandle<()>,
    /// The number of what comes next.
    number: i64,
    /// How much of what was sent was looked at.
    at: usize,
}

impl Chat {
    /// Starts with sender 7 let in.
    pub(crate) async fn start(notes: &str, replies: impl IntoIterator<Item = Reply>) -> Chat {
        let home = Home::new(&[("home.org", notes)]);
        let (fake, server) = (Fake::start(), FakeServer::start(replies));
        let engine = engine(&home, &fake, &server).await;
        let serving = tokio::spawn(follow_gateways(Arc::downgrade(&engine)));
        let mut chat = Chat { home, fake, server, engine, serving, number: 0, at: 0 };
        chat.engine.link_gateway(&origin(), Platform::Telegram).await.expect("it is linked");
        chat.let_in(7).await;
        chat
    }

    /// The same, and sender 7 may decide about plans.
    async fn granted(notes: &str, replies: impl IntoIterator<Item = Reply>) -> Chat {
        let chat = Chat::start(notes, replies).await;
        chat.engine.let_decide(&origin(), Platform::Telegram, "7").await.expect("it is granted");
        chat
    }

    async fn let_in(&mut self, sender: i64) {
        let code = self.engine.pair_gateway(&origin(), Platform::Telegram).await.expect("a code");
        self.write(sender, &code);
        let next = self.number + 1;
        tokio::task::block_in_place(|| self.fake.until(|heard| heard.offsets.contains(&next).then_some(())));
        let sender = sender.to_string();
        self.engine.allow_sender(&origin(), Platform::Telegram, &sender).await.expect("it showed the code");
    }

    fn write(&mut self, from: i64, text: &str) {
        self.number += 1;
        self.fake.updates(&[update(self.number, from, text)]);
    }

    /// Returns as many messages as come next.
    pub(crate) fn hear(&mut self, count: usize) -> Vec<(i64, String)> {
        let (at, until) = (self.at, self.at + count);
        self.at = until;
        tokio::task::block_in_place(|| {
            self.fake.until(|heard| answers(heard).get(at..until).map(<[(i64, String)]>::to_vec))
        })
    }

    /// Writes as sender 7, and returns the one message that is the answer.
    fn ask(&mut self, text: &str) -> String {
        self.write(7, text);
        self.hear(1).remove(0).1
    }

    /// Has a restart happen.
    async fn restart(&mut self) {
        self.restart_behind(|_| {}).await;
    }

    /// The same, with something done while no core runs.
    pub(crate) async fn restart_behind(&mut self, act: impl FnOnce(&Home)) {
        self.serving.abort();
        self.engine.close().await;
        act(&self.home);
        self.engine = engine(&self.home, &self.fake, &self.server).await;
        self.serving = tokio::spawn(follow_gateways(Arc::downgrade(&self.engine)));
    }

    fn tiles_are_done(&self) -> bool {
        self.home.read_file("home.org").contains("DONE Order tiles")
    }

    /// Every file that this core keeps, and what models were sent.
    fn everything(&self) -> String {
        let mut all = String::new();
        for (_, bytes) in crate::support::engine::tree(&self.home.store()) {
            all.push_str(&String::from_utf8_lossy(&bytes));
        }
        self.server.requests().iter().for_each(|request| all.push_str(&request.body));
        self.engine.log_lines(10_000).iter().for_each(|line| all.push_str(&line.text));
        all
    }
}

impl Drop for Chat {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn engine(home: &Home, fake: &Fake, server: &FakeServer) -> Arc<Engine> {
    let mut config = home.config();
    config.telegram_url = format!("http://127.0.0.1:{}", fake.port);
    provide(&mut config, &[("fake", server, true)], &["fake"]);
    let mut boot = home.boot(config);
    boot.vault = Vault::new([("TELEGRAM_BOT_TOKEN".to_string(), Secret::new(TOKEN.to_string()))]);
    let engine = start(boot).await.expect("the engine starts");
    home.read(&engine).await;
    engine
}

/// Returns the token that stands in what was sent.
#[track_caller]
fn token(sent: &str) -> String {
    let found = sent.lines().find_map(|line| line.strip_prefix("/approve "));
    let token = found.unwrap_or_else(|| panic!("there is none in {sent:?}")).to_string();
    assert!(token.len() == 32 && sent.contains(&format!("/deny {token} [reason]")), "{sent}");
    token
}

fn chat_origin(sender: &str) -> Origin {
    chat_origin_by(sender, 1)
}

/// The same, under a grant of another number than the first.
fn chat_origin_by(sender: &str, grant: u64) -> Origin {
    let rights = Rights { read: true, propose: true, approve: true, grant: Some(grant), ..Rights::NONE };
    Origin { source: Source::Gateway, session: SessionId(format!("telegram-{sender}")), rights }
}

async fn approve(engine: &Arc<Engine>, origin: &Origin, plan: &FlightPlan) -> Result<(), String> {
    let decided = Decided::Approve { shown: plan.shown() };
    engine.decide(origin, &plan.id.0, decided, engine.new_turn(), &mut |_| {}).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_sent_whole_and_carried_out_by_its_token() {
    let mut chat = Chat::granted(NOTES, [mark("tiles"), says("They are ordered.")]).await;
    let shown = chat.ask("the tiles are ordered");
    let plan = waiting(&chat.engine);
    assert_eq!((plan.about.privacy, plan.about.files.clone()), (Privacy::Open, vec![chat.home.file("home.org")]));
    // Everything that other clients show of it; lines that do not fit are broken behind a mark of ours.
    let flat = shown.replace("\n  \\ ", "");
    for part in passepartout::domain::gate::page::parts(&plan).iter().flat_map(|(_, part)| part.lines()) {
        let part = part.trim_start_matches("dispatcher: ").trim_start_matches("permissions: ");
        assert!(flat.contains(part), "{part:?} is not in {shown}");
    }
    assert!(flat.contains(&plan.title) && !chat.tiles_are_done());
    let token = token(&shown);
    let answer = chat.ask(&format!("/approve {token}"));
    assert_eq!(answer, format!("Plan {} is done.\n\nThey are ordered.", plan.id));
    assert!(chat.tiles_are_done());
    assert_eq!(status(&chat.engine, &plan).name(), "done");
    // Who decided stands with the plan, in the audit, in the trace and in the log.
    let who = "telegram (sender 7)";
    assert_eq!(chat.engine.plan(&plan.id.0).map(|plan| plan.about.decided_by), Some(who.to_string()));
    assert!(chat.engine.why(Some(&plan.id.0)).await.is_ok_and(|why| why.contains(who)));
    let turns = chat.engine.turns(10).await.expect("the turns");
    assert!(turns.iter().any(|turn| turn.asked == format!("approval {} by {who}", plan.id)), "{turns:?}");
    let said = format!("plan {} is approved by {who}", plan.id);
    assert!(chat.engine.log_lines(1_000).iter().any(|line| line.text == said));
    // It counts once, and is nowhere.
    let again = chat.ask(&format!("/approve {token}"));
    assert!(again.starts_with("This token was not shown here, was used already"), "{again}");
    chat.engine.flush().await.expect("it is stored");
    assert!(!chat.everything().contains(&token));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_let_decide_decides_nothing_whatever_it_types() {
    let mut chat = Chat::start(NOTES, [mark("tiles")]).await;
    assert_eq!(chat.ask("the tiles are ordered"), "A plan waits for your yes in Emacs.");
    let plan = waiting(&chat.engine);
    for line in ["/approve", "/approve 00000000000000000000000000000000", "/plans"].map(str::to_string) {
        assert!(chat.ask(&line).starts_with("Commands, also /approve"), "{line}");
    }
    // Nor does a channel that says of itself what it may.
    let refused = approve(&chat.engine, &chat_origin("7"), &plan).await.expect_err("it is not granted");
    assert!(refused.contains("may not decide about plans"), "{refused}");
    let no = Decided::Deny { reason: String::new() };
    let engine = chat.engine.clone();
    assert!(engine.decide(&chat_origin("7"), &plan.id.0, no, engine.new_turn(), &mut |_| {}).await.is_err());
    assert!(status(&chat.engine, &plan) == PlanStatus::Pending && !chat.tiles_are_done());
    // What is granted to one is not granted to another, nor by another name.
    engine.let_decide(&origin(), Platform::Telegram, "7").await.expect("it is granted");
    for (sender, source) in [("8", Source::Gateway), ("7 ", Source::Gateway), ("", Source::Gateway)] {
        let from = Origin { source, ..chat_origin(sender) };
        assert!(approve(&engine, &from, &plan).await.is_err(), "{sender:?}");
    }
    engine.unlink_gateway(&origin(), Platform::Telegram).await.expect("it is unlinked");
    assert!(approve(&engine, &chat_origin("7"), &plan).await.is_err(), "nobody is there any more");
    assert_eq!(status(&engine, &plan), PlanStatus::Pending);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_counts_once_for_its_sender_in_its_chat() {
    let mut chat = Chat::granted(NOTES, [mark("tiles"), says("Fine.")]).await;
    chat.let_in(8).await;
    chat.engine.let_decide(&origin(), Platform::Telegram, "8").await.expect("it is granted");
    let first = token(&chat.ask("the tiles are ordered"));
    let plan = waiting(&chat.engine);
    // Another sender who may decide, with the right token, which is known by then: it counts no more for anybody.
    chat.write(8, &format!("/approve {first}"));
    let (to, answer) = chat.hear(1).remove(0);
    assert!(to == 8 && answer.starts_with("This token was not shown here"), "{answer}");
    assert!(chat.ask(&format!("/approve {first}")).starts_with("This token was not shown here"));
    assert_eq!(status(&chat.engine, &plan), PlanStatus::Pending);
    // What waits for one is not shown to another.
    chat.write(8, "/plans");
    assert_eq!(chat.hear(1), [(8, "A plan of another conversation waits in Emacs.".to_string())]);
    let second = token(&chat.ask("/plans"));
    // A stranger gets nothing, and takes nothing away.
    chat.write(66, &format!("/approve {second}"));
    // In another form it decides nothing, reaches no model, and counts no more.
    let asked = chat.server.requests().len();
    for form in ["is {} right?", "approve {}", "/approve {}."] {
        let token = token(&chat.ask("/plans"));
        let answer = chat.ask(&form.replace("{}", &token));
        assert!(answer.starts_with("There is a token of a plan in this; it decides only behind"), "{form}: {answer}");
        let late = chat.ask(&format!("/approve {token}"));
        assert!(late.starts_with("This token was not shown here"), "{form}: {late}");
    }
    assert_eq!((chat.server.requests().len(), status(&chat.engine, &plan)), (asked, PlanStatus::Pending));
    // It is bound to what was shown, and a plan that was shown again has another.
    let token = token(&chat.ask("/plans"));
    assert!(chat.ask(&format!("/approve {token}")).starts_with(&format!("Plan {} is done.", plan.id)));
    assert!(chat.fake.until(|heard| Some(heard.sent.iter().all(|(to, _)| *to == 7 || *to == 8))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_over_after_a_while_after_wrong_ones_and_with_its_core() {
    let mut chat = Chat::granted(NOTES, [mark("tiles"), says("Fine.")]).await;
    let first = token(&chat.ask("the tiles are ordered"));
    chat.home.clock.advance_seconds(15 * 60);
    let late = chat.ask(&format!("/approve {first}"));
    assert!(late.contains("is older than a quarter of an hour") && !chat.tiles_are_done(), "{late}");
    let second = token(&chat.ask("/plans"));
    let mut said = String::new();
    for number in 0..5 {
        said = chat.ask(&format!("/approve {number:032}"));
        assert_eq!(said.starts_with("That was the fifth wrong token"), number == 4, "{said}");
    }
    assert!(chat.ask(&format!("/approve {second}")).starts_with("This token was not shown here"), "{said}");
    let logged = "five wrong tokens were typed by telegram (sender 7)";
    assert!(chat.engine.log_lines(1_000).iter().any(|line| line.text.starts_with(logged)));
    let third = token(&chat.ask("/plans"));
    chat.restart().await;
    let after = chat.ask(&format!("/approve {third}"));
    assert!(after.contains("started anew since") && !chat.tiles_are_done(), "{after}");
    // What was granted outlives it, and so does how private the plan is.
    let fourth = token(&chat.ask("/plans"));
    assert!(chat.ask(&format!("/approve {fourth}")).ends_with("Fine.") && chat.tiles_are_done());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_back_or_changed_meanwhile_decides_nothing() {
    let mut chat = Chat::granted(NOTES, [mark("tiles")]).await;
    let first = token(&chat.ask("the tiles are ordered"));
    let engine = chat.engine.clone();
    let telegram = Platform::Telegram;
    // Granted again, the tokens of before stay what they are.
    engine.decide_no_more(&origin(), telegram, "7").await.expect("it is taken back");
    engine.let_decide(&origin(), telegram, "7").await.expect("it is granted");
    let refused = chat.ask(&format!("/approve {first}"));
    assert!(refused.contains("that token counts no more") && !chat.tiles_are_done(), "{refused}");
    let token_then = token(&chat.ask("/plans"));
    engine.decide_no_more(&origin(), telegram, "7").await.expect("it is taken back");
    let refused = chat.ask(&format!("/approve {token_then}"));
    assert!(refused.starts_with("Plans are not decided about here") && !chat.tiles_are_done(), "{refused}");
    engine.let_decide(&origin(), telegram, "7").await.expect("it is granted");
    // Edited in Emacs it is another plan.
    let second = token(&chat.ask("/plans"));
    let old = waiting(&engine);
    let args = json!({"id": "paint", "state": "DONE"}).as_object().cloned().expect("an object");
    let new = engine.edit_plan(&origin(), &old.id.0, args).await.expect("it is judged anew");
    let refused = chat.ask(&format!("/approve {second}"));
    let said = format!("Nothing was decided: plan {} is replaced; /plans shows what waits, with new ones.", old.id);
    assert_eq!(refused, said);
    let logged = "did not count: plan";
    assert!(engine.log_lines(1_000).iter().any(|line| line.text.contains(logged)), "Emacs has the reason");
    assert_eq!(status(&engine, &new), PlanStatus::Pending);
    // Between showing and approving it becomes private.
    let third = token(&chat.ask("/plans"));
    let private = NOTES.replace("** TODO Order paint", "** TODO Order paint :private:");
    std::fs::write(chat.home.file("home.org"), private).expect("the file is ours");
    let refused = chat.ask(&format!("/approve {third}"));
    let why = "it has to do with private notes";
    assert_eq!(refused, format!("Nothing was decided. Plan {} waits for your yes in Emacs now: {why}.", new.id));
    assert_eq!(chat.ask("/plans"), format!("Plan {} waits for your yes in Emacs: {why}.", new.id));
    assert_eq!(status(&engine, &new), PlanStatus::Pending);
    std::fs::write(chat.home.file("home.org"), NOTES).expect("the file is ours");
    // Who is let in no more is answered no more, and decides nothing.
    let fourth = token(&chat.ask("/plans"));
    engine.revoke_sender(&origin(), telegram, "7").await.expect("it is taken back");
    chat.write(7, &format!("/approve {fourth}"));
    let next = chat.number + 1;
    tokio::task::block_in_place(|| chat.fake.until(|heard| heard.offsets.contains(&next).then_some(())));
    for grant in 1..10 {
        assert!(approve(&engine, &chat_origin_by("7", grant), &new).await.is_err());
    }
    assert_eq!(status(&engine, &new), PlanStatus::Pending);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_counts_by_the_grant_that_it_began_under_alone() {
    let mut chat = Chat::granted(NOTES, [mark("tiles"), says("Fine.")]).await;
    token(&chat.ask("the tiles are ordered"));
    let (engine, plan) = (chat.engine.clone(), waiting(&chat.engine));
    engine.decide_no_more(&origin(), Platform::Telegram, "7").await.expect("it is taken back");
    engine.let_decide(&origin(), Platform::Telegram, "7").await.expect("it is granted again");
    let none = chat_origin("7");
    let none = Origin { rights: Rights { grant: None, ..none.rights }, ..none };
    for from in [chat_origin("7"), chat_origin_by("7", 3), none] {
        let refused = approve(&engine, &from, &plan).await.expect_err("it is another grant");
        assert!(refused.contains("may not decide about plans"), "{refused}");
    }
    assert_eq!(status(&engine, &plan), PlanStatus::Pending);
    approve(&engine, &chat_origin_by("7", 2), &plan).await.expect("this is the one that counts");
    assert!(chat.tiles_are_done());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_not_sent_when_its_token_counts_no_more() {
    let mut chat = Chat::granted(NOTES, [mark("tiles")]).await;
    let wait = json!({ "ok": false, "parameters": { "retry_after": 1 } }).to_string();
    chat.fake.heard.0.lock().expect("it is ours").refusals.push((429, wait));
    chat.write(7, "the tiles are ordered");
    tokio::task::block_in_place(|| {
        chat.fake.until(|heard| (heard.refusals.is_empty() && heard.sent.is_empty()).then_some(()));
    });
    // Telegram wants a second of the real clock; meanwhile the token's time passes.
    chat.home.clock.advance_seconds(15 * 60);
    let said = chat.hear(1).remove(0).1;
    assert!(said.starts_with("A plan could not be sent in time") && !said.contains("/approve"), "{said}");
    token(&chat.ask("/plans"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_shown_there_waits_in_emacs() {
    let check = async |notes: &str, replies: Vec<Reply>, why: &str| {
        let mut chat = Chat::granted(notes, replies).await;
        let answer = chat.ask("the tiles are ordered");
        let plan = waiting(&chat.engine);
        assert_eq!(answer, format!("Plan {} waits for your yes in Emacs: {why}.", plan.id), "{plan:?}");
        // By its name it is not decided about either.
        assert!(chat.ask(&format!("/approve {}", plan.id)).starts_with("Decide by the line"));
        assert_eq!(status(&chat.engine, &plan), PlanStatus::Pending);
        chat
    };
    let private = "it has to do with private notes";
    let safe = format!("{NOTES}* Safe :private:\nThe number is 4711.\n");
    let chat = check(&safe, vec![mark("tiles")], private).await;
    assert_eq!(waiting(&chat.engine).about.privacy, Privacy::Open, "its file alone says so");
    let long = json!({"title": "Long", "parent": "tiles", "body": "These are many words. ".repeat(300)});
    check(NOTES, vec![calls(&[("org-add-heading", long)])], "it is too long for one message").await;
    // What only Emacs may decide, in the conversation of the chat.
    let wide = format!("{NOTES}* Wide\n:PROPERTIES:\n:ID: wide\n:PP_ALLOW: shell\n:END:\n");
    let mut chat = Chat::granted(&wide, []).await;
    let rule = chat.engine.rules().into_iter().find(|rule| rule.state == "waiting").expect("it waits").id;
    let from = Origin { session: SessionId("telegram-7".to_string()), ..origin() };
    let parked = chat.engine.propose_rule(&from, &rule, chat.engine.new_turn()).await.expect("it is shown");
    let id = &parked.report.plans[0];
    let why = "it would let more happen without asking you";
    assert_eq!(chat.ask("/plans"), format!("Plan {id} waits for your yes in Emacs: {why}."));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_drew_on_private_notes_stays_in_emacs() {
    let mut chat = Chat::granted(NOTES, [mark("tiles")]).await;
    let shown = token(&chat.ask("the tiles are ordered"));
    let plan = waiting(&chat.engine);
    // Emacs goes on in it with a plan of its own: what was private once stays so.
    let private = format!("{NOTES}* Safe :private:\n** TODO Number\n:PROPERTIES:\n:ID: safe\n:END:\n");
    std::fs::write(chat.home.file("safe.org"), private.replace("tiles", "t2").replace("paint", "p2")).expect("a note");
    chat.home.read(&chat.engine).await;
    let args = json!({"id": "safe", "state": "DONE"}).as_object().cloned().expect("an object");
    let edited = chat.engine.edit_plan(&origin(), &plan.id.0, args).await.expect("Emacs sees it");
    assert_eq!(edited.about.privacy, Privacy::Private);
    // Edited back it still is: its reader saw what it was.
    let args = json!({"id": "paint", "state": "DONE"}).as_object().cloned().expect("an object");
    let back = chat.engine.edit_plan(&origin(), &edited.id.0, args).await.expect("Emacs sees it");
    assert_eq!((back.about.privacy, back.about.files), (Privacy::Private, vec![chat.home.file("home.org")]));
    let why = "it has to do with private notes";
    assert_eq!(chat.ask("/plans"), format!("Plan {} waits for your yes in Emacs: {why}.", back.id));
    assert!(chat.ask(&format!("/approve {shown}")).contains("is replaced"));
    let refused = approve(&chat.engine, &chat_origin("7"), &waiting(&chat.engine)).await.expect_err("it is private");
    assert!(refused.contains("draws on private notes"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_come_one_after_the_other_and_a_no_is_told() {
    let both = calls(&[
        ("org-set-todo", json!({"id": "tiles", "state": "DONE"})),
        ("org-set-todo", json!({"id": "paint", "state": "DONE"})),
    ]);
    let mut chat = Chat::granted(NOTES, [both, says("Only the paint, then."), says("Yes.")]).await;
    chat.write(7, "tiles and paint are ordered");
    let sent = chat.hear(2);
    assert_eq!(sent[0].1, "One more plan follows once this one is decided about.");
    let plans = chat.engine.plans(false);
    assert!(sent[1].1.starts_with(&format!("Plan {}", plans[0].id)), "{sent:?}");
    let other = token(&sent[1].1);
    chat.write(7, &format!("/deny {other} they came yesterday"));
    let sent = chat.hear(2);
    assert_eq!(sent[0].1, format!("Plan {} is denied.", plans[0].id));
    assert_eq!(chat.server.requests().len(), 1, "the model hears of it when all is decided");
    let second = token(&sent[1].1);
    assert_eq!(
        chat.ask(&format!("/approve {second}")),
        format!("Plan {} is done.\n\nOnly the paint, then.", plans[1].id)
    );
    let asked = chat.server.requests();
    assert!(asked.last().is_some_and(|asked| asked.body.contains("they came yesterday")));
    assert!(!chat.tiles_are_done() && chat.home.read_file("home.org").contains("DONE Order paint"));
    assert_eq!(chat.ask("/plans"), "No plan waits.");
    // What was said behind the decision goes along with the next question.
    assert_eq!(chat.ask("was that all?"), "Yes.");
    let asked = chat.server.requests();
    assert!(asked.last().is_some_and(|asked| asked.body.contains("Only the paint, then.")));
}

#[tokio::test(flavor = "multi_thread")]
async fn how_private_a_plan_is_is_kept_and_counts_as_the_strictest_where_it_was_not() {
    let home = Home::new(&[("home.org", NOTES)]);
    let server = FakeServer::start([mark("tiles")]);
    let engine = home.served(&server, &["fake"], true).await;
    home.ask(&engine, "the tiles are ordered").await;
    let mut plan = waiting(&engine);
    let read = |record: &Value| record::read_plan(record, &engine.toolbox()).expect("it is whole");
    for privacy in [Privacy::Open, Privacy::Warn, Privacy::Ask, Privacy::Private] {
        plan.about.privacy = privacy;
        plan.about.decided_by = "telegram (sender 7)".to_string();
        assert_eq!(read(&record::plan(&plan)), plan);
    }
    plan.about.privacy = Privacy::Open;
    for strange in [Value::Null, json!("open"), json!("whatever")] {
        let mut kept = record::plan(&plan);
        kept["privacy"] = strange;
        assert_eq!(read(&kept).about.privacy, Privacy::Private, "{kept}");
    }
    let mut old = record::plan(&plan);
    let fields = old.as_object_mut().expect("an object");
    for name in ["privacy", "about", "decided_by"] {
        fields.remove(name).expect("it is kept");
    }
    assert_eq!(read(&old).about.privacy, Privacy::Private);
}
