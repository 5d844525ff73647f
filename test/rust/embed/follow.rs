//! How vectors follow memory, what of it goes where, and that nothing is lost with a server.

use crate::support::engine::{Home, ask_from, origin, provide, waiting};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use async_trait::async_trait;
use passepartout::domain::embed::hashing::hashed;
use passepartout::domain::embed::{Batch, Vector};
use passepartout::domain::id::{NodeId, SessionId};
use passepartout::domain::label::{Privacy, PrivacyTag};
use passepartout::domain::port::{EmbedError, EmbedErrorKind, Embedder, Locality, Nearness};
use passepartout::domain::signal::{Origin, Role, Said};
use passepartout::domain::turn::Ending;
use passepartout::edge::embed::{Backend, EmbeddingSetting};
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::embedding::Drained;
use passepartout::edge::engine::turns::Ask;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// An embedder that writes down what it is sent, and misbehaves on demand.
struct Scripted {
    name: String,
    locality: Locality,
    sent: Mutex<Vec<String>>,
    /// What goes wrong with the next requests, in order.
    faults: Mutex<VecDeque<EmbedError>>,
    /// How many numbers its vectors have.
    dimension: Mutex<usize>,
    /// It takes no batch with a text that holds this.
    bad: Mutex<Option<&'static str>>,
    /// What happens while it makes its next vectors.
    meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Scripted {
    fn new(locality: Locality) -> Arc<Scripted> {
        Arc::new(Scripted::named("scripted m", locality))
    }

    fn named(name: &str, locality: Locality) -> Scripted {
        let (sent, faults, bad, meanwhile) = Default::default();
        Scripted { name: name.to_string(), locality, sent, faults, dimension: Mutex::new(384), bad, meanwhile }
    }

    /// Returns what it was sent since it was asked last.
    fn sent(&self) -> Vec<String> {
        std::mem::take(&mut *self.sent.lock().expect("not poisoned"))
    }

    fn fail(&self, kind: EmbedErrorKind, text: &str) {
        self.faults.lock().expect("not poisoned").push_back(EmbedError { kind, text: text.to_string(), after: None });
    }
}

#[async_trait]
impl Embedder for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn locality(&self) -> Locality {
        self.locality
    }

    fn url(&self) -> String {
        "https://elsewhere.example/v1/".to_string()
    }

    fn dimension(&self) -> Option<usize> {
        Some(*self.dimension.lock().expect("not poisoned"))
    }

    async fn embed(&self, batch: &Batch) -> Result<Vec<Vector>, EmbedError> {
        assert!(batch.is_for(self.locality));
        let meanwhile = self.meanwhile.lock().expect("not poisoned").take();
        meanwhile.into_iter().for_each(|happens| tokio::task::block_in_place(happens));
        if let Some(fault) = self.faults.lock().expect("not poisoned").pop_front() {
            return Err(fault);
        }
        let bad = *self.bad.lock().expect("not poisoned");
        if bad.is_some_and(|bad| batch.texts().iter().any(|text| text.contains(bad))) {
            return Err(EmbedError::texts("it does not take that"));
        }
        self.sent.lock().expect("not poisoned").extend(batch.texts().iter().cloned());
        let dimension = *self.dimension.lock().expect("not poisoned");
        let one = |text: &String| {
            let mut numbers = hashed(text).expect("letters").numbers().to_vec();
            numbers.resize(dimension, 0.5);
            Vector::new(numbers).expect("it points somewhere")
        };
        Ok(batch.texts().iter().map(one).collect())
    }
}

const TRIP: &str = "* Trip\n** Lisbon\nThe ferry leaves at nine.\n** Porto\nThe wine cellar opens at noon.\n";

async fn engine(home: &Home, embedder: &Arc<Scripted>) -> Arc<Engine> {
    let engine = home.engine().await;
    engine.embed_with(embedder.clone());
    home.read(&engine).await;
    engine
}

fn texts(mut sent: Vec<String>) -> Vec<String> {
    sent.sort();
    sent
}

fn said(engine: &Engine, words: &str) -> usize {
    engine.log_lines(usize::MAX).iter().filter(|line| line.text.contains(words)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_new_or_changed_is_embedded_and_nothing_twice() {
    let home = Home::new(&[("trip.org", TRIP)]);
    let scripted = Scripted::new(Locality::Local);
    let engine = engine(&home, &scripted).await;
    assert_eq!(engine.embed_what_waits().await, Drained::Done);
    let expected = ["Trip / Lisbon\nThe ferry leaves at nine.", "Trip / Porto\nThe wine cellar opens at noon."];
    assert_eq!(texts(scripted.sent()), expected);
    assert_eq!(engine.embed_what_waits().await, Drained::Done);
    assert_eq!(scripted.sent(), [""; 0], "nothing waits");
    std::fs::write(home.file("trip.org"), TRIP.replace("nine", "ten")).expect("a file of the memex");
    home.read(&engine).await;
    assert_eq!(engine.embed_what_waits().await, Drained::Done);
    assert_eq!(scripted.sent(), ["Trip / Lisbon\nThe ferry leaves at ten."], "only what changed");
    let status = engine.embedding_status();
    assert_eq!((status.vectors, status.waiting, status.dimension), (2, 0, Some(384)), "the old one is let go");
    engine.close().await;
    // Another start, another model, a folder that is gone.
    let cache = home.config().cache.join("vectors");
    for (name, gone, count) in [("scripted m", false, 0), ("scripted n", false, 2), ("scripted m", true, 2)] {
        if gone {
            std::fs::remove_dir_all(&cache).expect("a folder of the cache");
        }
        let scripted = Arc::new(Scripted::named(name, Locality::Local));
        let engine = self::engine(&home, &scripted).await;
        assert_eq!(engine.embed_what_waits().await, Drained::Done);
        assert_eq!((scripted.sent().len(), engine.embedding_status().vectors), (count, 2), "{name} {gone}");
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_of_another_dimension_are_all_made_again() {
    let home = Home::new(&[("trip.org", TRIP)]);
    let scripted = Scripted::new(Locality::Local);
    let engine = engine(&home, &scripted).await;
    assert_eq!(engine.embed_what_waits().await, Drained::Done);
    for (round, dimension) in [400, 500, 600, 700].into_iter().enumerate() {
        *scripted.dimension.lock().expect("not poisoned") = dimension;
        std::fs::write(home.file("trip.org"), TRIP.replace("nine", &format!("round {round}"))).expect("a file");
        home.read(&engine).await;
        let expected = if round < 3 { Drained::Done } else { Drained::Resting };
        assert_eq!(engine.embed_what_waits().await, expected, "{round}");
        if round < 3 {
            let status = engine.embedding_status();
            assert_eq!((status.vectors, status.dimension), (2, Some(dimension)), "{round}");
        }
    }
    assert!(engine.embedding_status().trouble.is_some_and(|trouble| trouble.contains("by turns")), "it ends somewhere");
}

#[tokio::test(flavor = "multi_thread")]
async fn private_notes_are_embedded_here_alone() {
    let diary = "* Diary :private:\n** Monday\nI told nobody that the old lighthouse keeper gave me his brass key.\n\
                 * Open\n** Plans\nThe harbour has a lighthouse.\n** Quoting\nHe wrote: nobody that the old lighthouse \
                 keeper gave me his brass key, and so on.\n** Deploy\nUse 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 today.\n";
    let home = Home::new(&[("diary.org", diary)]);
    let scripted = Scripted::new(Locality::Local);
    let here = engine(&home, &scripted).await;
    assert_eq!(here.embed_what_waits().await, Drained::Done);
    let sent = scripted.sent().join("\n");
    assert!(sent.contains("I told nobody") && sent.contains("He wrote") && !sent.contains("ghp_"), "{sent}");
    here.close().await;
    let scripted = Arc::new(Scripted::named("far m", Locality::Remote));
    let model = FakeServer::start([]);
    // One elsewhere that is never reached: it is asked before it is confirmed.
    let engine = home.engine_with(|config| provide(config, &[("model", &model, false)], &["model"])).await;
    engine.embed_with(scripted.clone());
    home.read(&engine).await;
    assert_eq!(engine.embed_what_waits().await, Drained::Unconfirmed);
    assert_eq!(engine.embed_what_waits().await, Drained::Unconfirmed);
    engine.embed_asked("what is in the harbour?", &origin().session).await;
    assert_eq!(
        (scripted.sent(), said(&engine, "before you confirm it: type /embed")),
        (Vec::new(), 1),
        "it is said once"
    );
    let (finished, _) = home.ask(&engine, "/embed").await;
    assert_eq!(finished.report.ending, Ending::Parked, "{:?}", finished.report);
    let plan = waiting(&engine);
    let shown = plan.action.text("sent").expect("what would be sent");
    assert!(shown.contains("The harbour has a lighthouse.") && shown.contains(" 3 now"), "{shown}");
    assert!(!shown.contains("brass") && !shown.contains("ghp_"), "{shown}");
    let _ = home.deny(&engine, &plan, "").await.expect("it can be denied");
    assert_eq!(engine.embed_what_waits().await, Drained::Unconfirmed);
    let _ = home.ask(&engine, "/embed").await;
    let done = home.approve(&engine, &waiting(&engine)).await.expect("the approval counts");
    assert_eq!(done.report.notice.as_deref(), Some("far may be asked from now on."), "{:?}", done.report);
    assert_eq!(engine.embed_what_waits().await, Drained::Done);
    let sent = scripted.sent().join("\n");
    assert!(sent.contains("The harbour has a lighthouse.") && sent.contains("Deploy"), "{sent}");
    assert!(!sent.contains("brass") && !sent.contains("ghp_"), "{sent}");
    let status = engine.embedding_status();
    assert!(status.kept_back >= 1 && status.unconfirmed.eq(&false), "{status:?}");
    // Questions: of an open conversation, one that quotes, of a private one, and one asked in a private heading.
    engine.embed_asked("what is in the harbour?", &origin().session).await;
    engine.embed_asked("nobody that the old lighthouse keeper gave me his brass key", &origin().session).await;
    assert_eq!(scripted.sent(), ["what is in the harbour?"]);
    let session = SessionId("secret".to_string());
    let text = "It is about my key.".to_string();
    let history = vec![Said { role: Role::User, text, privacy: Privacy::Private, aside: false }];
    let secret = Ask { history, ..ask_from(Origin { session, ..origin() }, "what did I tell nobody?") };
    let _ = engine.ask(secret, engine.new_turn(), &mut |_| {}).await;
    let at = |heading: &str| diary.find(heading).expect("the heading is there");
    for (heading, question) in [("** Monday", "what does this say of the keeper?"), ("** Plans", "which boats come?")] {
        engine.focus_at(&home.file("diary.org"), at(heading)).expect("a heading");
        let session = SessionId(heading.to_string());
        let _ = engine.ask(ask_from(Origin { session, ..origin() }, question), engine.new_turn(), &mut |_| {}).await;
    }
    assert_eq!(scripted.sent(), ["which boats come?"]);
}

/// What went elsewhere is counted by its marks, whatever came back, and what stayed is not, though it says the same.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_elsewhere_though_it_is_marked_is_counted() {
    let same = "The harbour has a lighthouse.";
    let notes = format!("* Port\n{same}\n* Boat :warned:\nIt is BADLY green.\n* Crew :warned:\nThey are five.\n");
    let kept = format!("* Port :private:\n{same}\n");
    let home = Home::new(&[("a.org", &notes), ("b.org", &kept)]);
    let scripted =
        Arc::new(Scripted { bad: Mutex::new(Some("BADLY")), ..Scripted::named("scripted m", Locality::Remote) });
    let engine = home
        .engine_with(|config| config.private_tags.push(PrivacyTag { tag: "warned".to_string(), tier: Privacy::Warn }))
        .await;
    engine.embed_with(scripted.clone());
    home.read(&engine).await;
    engine.confirm_provider("scripted", &scripted.url()).await.expect("it is stored");
    assert_eq!(engine.embed_what_waits().await, Drained::Done);
    assert!(!scripted.sent().concat().contains("BADLY"), "it was refused");
    assert_eq!(engine.sent_marked(), [("warned".to_string(), 2)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_becomes_private_while_vectors_are_made_is_not_quoted_to_a_server_elsewhere() {
    let words = "nobody that the old lighthouse keeper gave me his brass key";
    // It comes last, behind the first request, and the note that it quotes comes in meanwhile, with too many others to be
    // read at once.
    let open: String = (0..100).map(|n| format!("* Note {n}\nAbout ferry {n}.\n")).collect();
    let home = Home::new(&[("open.org", &format!("{open}* Letter\nHe wrote: {words}, and so on.\n"))]);
    let scripted = Scripted::new(Locality::Remote);
    let engine = engine(&home, &scripted).await;
    engine.confirm_provider("scripted", &scripted.url()).await.expect("it is stored");
    let many: String =
        (0..5000).map(|n| format!("** Day {n}\nIt is the {n}th, and nothing happened at all.\n")).collect();
    let diary = format!("* Diary :private:\n{many}** Last\nI told {words}.\n");
    let (file, reader) = (home.file("diary.org"), engine.clone());
    *scripted.meanwhile.lock().expect("not poisoned") = Some(Box::new(move || {
        std::fs::write(file, diary).expect("a file of the memex");
        reader.read_memex(&mut |_| {});
    }));
    for _ in 0..100 {
        if engine.embed_what_waits().await == Drained::Done {
            break;
        }
        engine.wait_until_filled();
    }
    let sent = scripted.sent();
    assert_eq!(sent.len(), 100, "all but the letter");
    assert!(!sent.iter().any(|text| text.contains("brass")), "{sent:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_server_is_said_once_and_tried_again_ever_later() {
    let home = Home::new(&[("trip.org", TRIP)]);
    let scripted = Scripted::new(Locality::Local);
    let engine = engine(&home, &scripted).await;
    for _ in 0..3 {
        scripted.fail(EmbedErrorKind::Away, "it is away");
    }
    for round in 0..3 {
        assert_eq!(engine.embed_what_waits().await, Drained::Resting, "{round}");
        let left = scripted.faults.lock().expect("not poisoned").len();
        assert_eq!(engine.embed_what_waits().await, Drained::Resting, "not at once");
        assert_eq!(scripted.faults.lock().expect("not poisoned").len(), left, "it is let rest");
        home.clock.advance(1);
    }
    assert_eq!(said(&engine, "it is away"), 1);
    let (finished, text) = home.ask(&engine, "when does the ferry leave?").await;
    assert!(text.contains("nine"), "words are found without it: {:?}", finished.report);
    assert_eq!(engine.embed_what_waits().await, Drained::Done);
    assert_eq!((scripted.sent().len(), said(&engine, "answers again")), (2, 1));
    // A question that fails is answered by words, and the server let rest.
    scripted.fail(EmbedErrorKind::Away, "it went away");
    assert!(home.ask(&engine, "when does the ferry leave?").await.1.contains("nine"));
    assert_eq!(said(&engine, "it went away"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_not_taken_holds_no_other_up() {
    let text: String =
        (0..100).map(|n| format!("* Note {n}\nAbout {}.\n", if n == 37 { "poison" } else { "ferries" })).collect();
    let home = Home::new(&[("notes.org", &text)]);
    let scripted =
        Arc::new(Scripted { bad: Mutex::new(Some("poison")), ..Scripted::named("scripted m", Locality::Local) });
    let engine = engine(&home, &scripted).await;
    assert_eq!(engine.embed_what_waits().await, Drained::Done);
    let status = engine.embedding_status();
    assert_eq!((status.vectors, status.refused, status.waiting, said(&engine, "a note has no vector")), (99, 1, 0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_room_for_more_nothing_is_sent_for_nothing_and_questions_keep_their_vectors() {
    let notes = |count: usize| -> String { (0..count).map(|n| format!("* Note {n}\nAbout ferry {n}.\n")).collect() };
    let home = Home::new(&[("notes.org", &notes(100))]);
    let scripted = Scripted::new(Locality::Local);
    let engine = engine(&home, &scripted).await;
    engine.embed_within(384 * 80);
    assert_eq!(engine.embed_what_waits().await, Drained::Full);
    let status = engine.embedding_status();
    assert_eq!((scripted.sent().len(), status.vectors, status.waiting), (80, 80, 20));
    assert_eq!((status.trouble, said(&engine, "there is room for 80 vectors and no more")), (None, 1));
    assert!(status.unkept.is_some());
    assert_eq!(engine.embed_what_waits().await, Drained::Full);
    assert_eq!((scripted.sent(), said(&engine, "vectors are not kept")), (Vec::new(), 1), "it is said once");
    engine.embed_asked("which ferry?", &origin().session).await;
    assert_eq!(scripted.sent(), ["which ferry?"], "what is there is searched still");
    // What changed takes the place of what it was, and what went makes room.
    let changed = notes(100).replace("ferry 5.", "the last ferry.");
    for (text, drained, count) in [(changed, Drained::Full, 80), (notes(50), Drained::Done, 50)] {
        std::fs::write(home.file("notes.org"), text).expect("a file of the memex");
        home.read(&engine).await;
        assert_eq!(engine.embed_what_waits().await, drained);
        assert_eq!(engine.embedding_status().vectors, count);
    }
    assert_eq!((engine.embedding_status().unkept, said(&engine, "vectors are not kept")), (None, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_that_the_disk_does_not_take_are_kept_and_made_once() {
    let home = Home::new(&[("trip.org", TRIP)]);
    let scripted = Scripted::new(Locality::Local);
    let engine = engine(&home, &scripted).await;
    let config = home.config();
    let folder = passepartout::edge::embed::folder::of(&config.cache, &config.store);
    let name = blake3::hash(b"scripted m").to_hex();
    let in_the_way = folder.join(format!("{}.vec", &name[..24]));
    std::fs::create_dir_all(&in_the_way).expect("a folder of the cache");
    for sent in [2, 0] {
        assert_eq!(engine.embed_what_waits().await, Drained::Full);
        assert_eq!((scripted.sent().len(), said(&engine, "vectors are not kept")), (sent, 1));
        assert_eq!(engine.embedding_status().trouble, None, "the server is well");
    }
    std::fs::remove_dir(&in_the_way).expect("it is empty");
    assert_eq!(engine.embed_what_waits().await, Drained::Done);
    let status = engine.embedding_status();
    assert_eq!((scripted.sent().len(), status.vectors, status.unkept), (0, 2, None), "nothing is made twice");
}

/// As behind the page of a hotel's network, which answers everything.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_nothing_is_at_fault_itself_and_no_note_is_left_out_for_it() {
    let text: String = (0..20).map(|n| format!("* Note {n}\nAbout ferry {n}.\n")).collect();
    let home = Home::new(&[("notes.org", &text)]);
    let scripted = Arc::new(Scripted { bad: Mutex::new(Some("")), ..Scripted::named("scripted m", Locality::Local) });
    let engine = engine(&home, &scripted).await;
    for round in 0..3 {
        assert_eq!(engine.embed_what_waits().await, Drained::Resting, "{round}");
        assert_eq!((engine.embedding_status().refused, said(&engine, "a note has no vector")), (0, 0), "{round}");
        home.clock.advance(1);
    }
    assert_eq!(said(&engine, "it does not take that"), 1);
    // One that waits alone is known for what it is, too, and holds no question up.
    *scripted.bad.lock().expect("not poisoned") = Some("ferry 7.");
    assert_eq!(engine.embed_what_waits().await, Drained::Done);
    std::fs::write(home.file("notes.org"), text.replace("ferry 8.", "the old ferry 7.")).expect("a file of the memex");
    home.read(&engine).await;
    assert_eq!(engine.embed_what_waits().await, Drained::Done);
    let status = engine.embedding_status();
    assert_eq!((status.vectors, status.refused, status.waiting, status.trouble), (18, 2, 0, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_near_is_found_by_question_and_by_node_and_only_for_who_may_see_it() {
    let home = Home::new(&[("trip.org", TRIP), ("diary.org", "* Lisboa :private:\nThe ferry leaves at nine, too.\n")]);
    let scripted = Scripted::new(Locality::Local);
    let engine = engine(&home, &scripted).await;
    assert_eq!(engine.embed_what_waits().await, Drained::Done);
    engine.embed_asked("the ferry leaves at nine", &origin().session).await;
    let view = engine.view_in_sight();
    let near = |clearance: Privacy| {
        let meaning = engine.meaning(&view, clearance).expect("there is an embedder");
        let titles = |found: Vec<(NodeId, f32)>| -> Vec<String> {
            assert!(found.windows(2).all(|two| two[0].1 >= two[1].1), "{found:?}");
            found.iter().map(|(id, _)| view.get(id).expect("it is in memory").title().to_string()).collect()
        };
        let lisbon = view.nodes().find(|node| node.title() == "Lisbon").expect("it is in memory");
        (titles(meaning.near_text("the ferry leaves at nine", 2)), titles(meaning.near_node(lisbon.id(), 1)))
    };
    let (text, node) = near(Privacy::Private);
    assert!(text.contains(&"Lisbon".to_string()) && text.contains(&"Lisboa".to_string()), "{text:?}");
    assert_eq!(node, ["Lisboa"]);
    let (text, node) = near(Privacy::ELSEWHERE);
    assert_eq!((text[0].as_str(), text.contains(&"Lisboa".to_string())), ("Lisbon", false));
    assert!(!node.contains(&"Lisboa".to_string()), "{node:?}");
    let meaning = engine.meaning(&view, Privacy::Private).expect("there is an embedder");
    assert!(meaning.near_text("a question that was not embedded", 2).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_and_the_command_say_how_it_stands() {
    let home = Home::new(&[("trip.org", TRIP)]);
    let engine = home.engine().await;
    let row = |engine: &Arc<Engine>| {
        let engine = engine.clone();
        async move {
            let checks = passepartout::edge::doctor::examine(&engine, None).await;
            checks.into_iter().find(|check| check.name == "embeddings").expect("there is a row")
        }
    };
    assert!(row(&engine).await.detail.starts_with("hashing: "), "without a setting nothing is sent or made");
    engine.embed_with(Scripted::new(Locality::Remote));
    home.read(&engine).await;
    assert_eq!(engine.embed_what_waits().await, Drained::Unconfirmed);
    let check = row(&engine).await;
    assert!(check.detail.contains("not on this machine; 0 vectors, 2 texts wait"), "{check:?}");
    assert!(check.repair.is_some_and(|repair| repair.contains("/embed")));
    engine.embed_with(Scripted::new(Locality::Local));
    assert_eq!(engine.embed_what_waits().await, Drained::Done);
    let finished = engine.ask(ask_from(origin(), "/embed"), engine.new_turn(), &mut |_| {}).await;
    let text = finished.report.text;
    assert!(text.contains("on this machine; 2 vectors of 384 numbers"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_answer_and_all_texts_of_a_request_have_the_time_that_the_settings_give() {
    // Each gives signs of life for minutes.
    let drips = |reply: Reply| FakeServer::start([reply.in_pieces(20).dripping(Duration::from_millis(50))]);
    let model = drips(Reply::answer(Dialect::OpenAi, &["and on "; 600], &[]));
    let vectors = format!("{{\"embeddings\":[[{}1]]}}", "1,".repeat(60_000));
    let embedding = drips(Reply::raw(200, "application/json", vectors));
    let home = Home::new(&[("trip.org", TRIP)]);
    let engine = home
        .engine_with(|config| {
            provide(config, &[("fake", &model, true)], &["fake"]);
            (config.answer_timeout, config.embedding_timeout) = (1, 1);
            config.embedding =
                EmbeddingSetting { backend: Some(Backend::Local), model: None, url: Some(embedding.url()) };
        })
        .await;
    home.read(&engine).await;
    assert_eq!(engine.embed_what_waits().await, Drained::Resting);
    let trouble = engine.embedding_status().trouble.expect("it is said");
    assert!(trouble.contains("not done after 1 s, as passepartout-embedding-timeout says"), "{trouble}");
    let notice = home.ask(&engine, "when does the ferry leave?").await.0.report.notice.expect("it is said");
    assert!(notice.contains("not done after 1 seconds: passepartout-answer-timeout says"), "{notice}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_no_model_elsewhere_may_be_asked_is_not_sent_elsewhere_for_its_vector() {
    let notes = "* Client\n:PROPERTIES:\n:PP_MODEL: near\n:END:\nThe contract ends in May.\n* Garden\nBeans.\n";
    let home = Home::new(&[("home.org", notes)]);
    let settings = home.config().settings;
    std::fs::create_dir_all(&settings).expect("the settings' folder");
    std::fs::write(settings.join("presets.org"), "* here\n:PROPERTIES:\n:MODEL: near\n:END:\n").expect("presets");
    let says = || Reply::answer(Dialect::OpenAi, &["I do not know."], &[]);
    let (near, far) = (FakeServer::start([says(), says(), says()]), FakeServer::start([says(), says()]));
    let servers = [("far", &far, false), ("near", &near, true)];
    let engine = home.engine_with(|config| provide(config, &servers, &["far", "near"])).await;
    let scripted = Scripted::new(Locality::Remote);
    engine.embed_with(scripted.clone());
    home.read(&engine).await;
    engine.confirm_provider("scripted", &scripted.url()).await.expect("it is stored");
    engine.confirm_provider("far", &format!("{}/v1/", far.url())).await.expect("it is stored");
    assert_eq!(engine.embed_what_waits().await, Drained::Done);
    assert_eq!(scripted.sent().len(), 2);
    let ask = async |session: &str, heading: &str, question: &str| {
        engine.focus_at(&home.file("home.org"), notes.find(heading).expect("it is there")).expect("a heading");
        let origin = Origin { session: SessionId(session.to_string()), ..origin() };
        let _ = engine.ask(ask_from(origin, question), engine.new_turn(), &mut |_| {}).await;
        (scripted.sent(), far.requests().len(), near.requests().len())
    };
    assert_eq!(ask("a", "* Client", "when does it end?").await, (Vec::new(), 0, 1), "the heading names a model here");
    let _ = ask("b", "* Garden", "/preset here").await;
    assert_eq!(ask("b", "* Garden", "which beans are these?").await, (Vec::new(), 0, 2), "the preset does");
    assert_eq!(
        ask("c", "* Garden", "which beans are those?").await,
        (vec!["which beans are those?".to_string()], 1, 2)
    );
}
