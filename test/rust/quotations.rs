//! Words of private notes that stand elsewhere: what is found, what is not, and what becomes of it in whole turns.

use crate::explained::explained;
use crate::prompts::says;
use crate::support::engine::{Home, ask, origin, provide, tree, waiting};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use passepartout::domain::id::NodeId;
use passepartout::domain::label::{Privacy, PrivacyTag};
use passepartout::domain::memory::document::{Document, PrivacyOptions};
use passepartout::domain::memory::quotation::{FOUND, Prints, Quotations, ROW, node_with};
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::domain::port::Locality;
use passepartout::domain::turn::Ending;
use passepartout::edge::engine::explain::Pin;
use passepartout::edge::engine::inspect::Proof;
use proptest::prelude::*;
use serde_json::{Value, json};

const DIAGNOSIS: &str = "The specialist said on Tuesday that the growth behind the left ear is harmless after all.";

fn document(name: &str, text: &str) -> Document {
    Document::build(name, scan(text.into(), &ScanOptions::default()).unwrap(), &PrivacyOptions::default())
}

fn known(text: &str) -> Quotations {
    let mut known = Quotations::default();
    known.take(Prints::of(&document("n.org", text)));
    known
}

#[test]
fn what_only_warns_is_left_out_first_and_counted_by_itself() {
    let words: String = (0..100_000).map(|n| format!("word{n} ")).collect();
    let text = format!("* Plan :work:\n{words}\n* Health :private:\n{DIAGNOSIS}\n");
    let options = PrivacyOptions { tags: ["private".into(), PrivacyTag::read("work=warn").0].to_vec() };
    let mut known = Quotations::default();
    for name in 0..8 {
        let outline = scan(text.clone().into(), &ScanOptions::default()).unwrap();
        known.take(Prints::of(&Document::build(format!("{name}.org"), outline, &options)));
    }
    assert_eq!(known.left_out(), 0, "what is private is known whole");
    assert!(known.left_out_warning() > 0);
    (0..8).for_each(|name| known.forget(&format!("{name}.org")));
    assert_eq!((known.left_out(), known.left_out_warning()), (0, 0));
}

#[test]
fn a_passage_is_known_however_it_is_set_and_little_else_is() {
    let notes = format!(
        "* Health :private:\n:PROPERTIES:\n:ID: 0b7c1f4e-aaaa-bbbb-cccc-123456789012\n:END:\n\
         CLOCK: [2026-03-02 Mon 09:00]--[2026-03-02 Mon 10:00] =>  1:00\n- State \"DONE\" from \"TODO\" [2026-03-02 Mon 10:00]\n\
         {DIAGNOSIS}\n昨日の検査の結果は思ったよりもずっと良かったので、家族にはまだ何も言わないことにした。\n\
         * Open\nMilk and bread and butter and cheese and eggs and apples and pears.\n"
    );
    let known = known(&notes);
    for (text, found) in [
        (DIAGNOSIS.to_string(), true),
        (DIAGNOSIS.to_uppercase(), true),
        (DIAGNOSIS.replace(' ', "\n> "), true),
        (DIAGNOSIS.replace(' ', ", *").replace("growth", "gro\u{200b}wth"), true),
        (format!("She wrote: “{DIAGNOSIS}” And so on."), true),
        ("growth behind the left ear is harmless after all".to_string(), true),
        ("検査の結果は思ったよりもずっと良かったので、\n家族にはまだ何も言わない".to_string(), true),
        // Fewer words than a row, other words, what stands openly, and what Org writes everywhere.
        ("The specialist said on Tuesday that".to_string(), false),
        ("The doctor told me on Tuesday the growth at the left ear was harmless".to_string(), false),
        ("Milk and bread and butter and cheese and eggs and apples and pears.".to_string(), false),
        ("CLOCK: [2026-03-02 Mon 09:00]--[2026-03-02 Mon 10:00] =>  1:00".to_string(), false),
        ("- State \"DONE\" from \"TODO\" [2026-03-02 Mon 10:00]".to_string(), false),
        ("検査の結果は良かった".to_string(), false),
        (String::new(), false),
    ] {
        assert_eq!(known.quoted(&text).is_some(), found, "{text}");
    }
    let (row, privacy) = known.quoted(DIAGNOSIS).unwrap();
    assert_eq!(privacy, Privacy::Private);
    assert_eq!(known.files_with(row, privacy).iter().map(|file| &***file).collect::<Vec<_>>(), ["n.org"]);
    assert_eq!(node_with(&document("n.org", &notes), row, privacy), Some(1));
}

#[test]
fn what_is_no_longer_private_or_gone_is_no_longer_known() {
    let (private, open) = (format!("* A :private:\n{DIAGNOSIS}\n"), format!("* A\n{DIAGNOSIS}\n"));
    let mut known = known(&private);
    let card = document("n.org", &private).card().clone();
    assert!(known.knows(&card) && known.quoted(DIAGNOSIS).is_some());
    // The same words in two files, and one of them goes.
    known.take(Prints::of(&document("m.org", &private)));
    known.forget("n.org");
    assert!(known.quoted(DIAGNOSIS).is_some());
    known.take(Prints::of(&document("m.org", &open)));
    assert!(known.quoted(DIAGNOSIS).is_none() && known.is_empty());
    assert!(!known.knows(&card));
}

/// Sets words anew: their case, and what stands between them.
fn set_anew(words: &[String], marks: &[u8]) -> String {
    const BETWEEN: [&str; 6] = [" ", "\n", ", ", " — ", ".\n  ", " *"];
    let mut out = String::new();
    for (at, word) in words.iter().enumerate() {
        let mark = usize::from(marks[at % marks.len()]);
        out.push_str(&if mark % 3 == 0 { word.to_uppercase() } else { word.clone() });
        out.push_str(BETWEEN[mark % BETWEEN.len()]);
    }
    out
}

proptest! {
    #[test]
    fn any_passage_that_is_long_enough_is_found(
        words in prop::collection::vec("[a-zäöéж]{1,8}", FOUND..60),
        at in any::<prop::sample::Index>(),
        length in FOUND..40,
        marks in prop::collection::vec(any::<u8>(), 1..20),
        before in "[a-z ,.\n]{0,80}",
    ) {
        let text = format!("* Note :private:\n{}\n", words.join(" "));
        let begin = at.index(words.len() - FOUND + 1);
        let passage = &words[begin..(begin + length).min(words.len())];
        let elsewhere = format!("{before}\n{}", set_anew(passage, &marks));
        prop_assert!(known(&text).quoted(&elsewhere).is_some(), "{elsewhere}");
    }

    #[test]
    fn a_text_of_other_words_is_never_taken_for_one(
        words in prop::collection::vec("[a-z]{1,8}", 0..60),
        others in prop::collection::vec("[A-Z]{1,8}[0-9]", 0..200),
        shared in 0..ROW,
    ) {
        let known = known(&format!("* Note :private:\n{}\n", words.join(" ")));
        let quoted = words.get(..shared).unwrap_or_default().join(" ");
        let others = others.join(" ");
        let elsewhere = format!("{others} {quoted} {others}");
        prop_assert!(known.quoted(&elsewhere).is_none());
    }
}

fn home() -> Home {
    let health = format!(
        "* Health :private:\n** Doctor\n:PROPERTIES:\n:ID: doctor\n:END:\n{DIAGNOSIS}\n\
         * Shopping\n:PROPERTIES:\n:ID: shopping\n:END:\nMilk.\n"
    );
    Home::new(&[("health.org", &health)])
}

fn call(tool: &str, mut args: Value) -> Reply {
    args["explanation"] = json!("The user asked for exactly this.");
    Reply::answer(Dialect::OpenAi, &[], &[("c1", tool, args)])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quotation_in_a_prompt_goes_to_no_model_elsewhere_and_the_user_learns_of_which_note() {
    let home = home();
    let server = FakeServer::start([]);
    let engine = home.served(&server, &["fake"], false).await;
    let text = format!("translate into French, please: {}", DIAGNOSIS.to_lowercase().replace(' ', "  "));
    let (finished, _) = home.ask(&engine, &text).await;
    // No question whether the provider may have it: it may not.
    assert_eq!(finished.report.ending, Ending::Failed, "{:?}", finished.report.notice);
    assert!(finished.report.plans.is_empty());
    let notice = finished.report.notice.clone().unwrap_or_default();
    assert!(notice.contains("stand in the private note “Doctor”"), "{notice}");
    assert_eq!(engine.known_privacy(&finished.session), Privacy::Private);
    for line in engine.log_lines(1000) {
        assert!(!line.text.contains("Doctor") && !line.text.contains("specialist"), "{}", line.text);
    }
    assert!(server.requests().is_empty(), "nothing was sent");
    engine.close().await;
    // What the user is told of the note stands in no record of the turn.
    let kept = tree(&home.store()).into_iter().map(|(_, bytes)| String::from_utf8_lossy(&bytes).into_owned());
    let records: Vec<String> = kept.filter(|text| text.contains("translate into French")).collect();
    assert!(!records.is_empty(), "the records can be read as text, so that this test bites");
    assert!(records.iter().all(|text| !text.contains("stand in the private note")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quotation_that_a_tool_read_in_an_open_file_makes_the_conversation_private() {
    let home = home();
    std::fs::write(home.project("letter.txt"), format!("Dear Ann,\n{}\n", DIAGNOSIS.replace(" the ", "\nthe ")))
        .unwrap();
    let server = FakeServer::start([
        call("read-file", json!({"path": home.project("letter.txt")})),
        Reply::answer(Dialect::OpenAi, &["It is a letter."], &[]),
    ]);
    let engine = home.served(&server, &["fake"], true).await;
    let (finished, _) = home.ask(&engine, "what does the letter say?").await;
    assert_eq!(finished.report.ending, Ending::Answered, "{:?}", finished.report.notice);
    assert_eq!(finished.report.conversation.labels.privacy, Privacy::Private);
    engine.close().await;
}

/// The memex of [`home`], with an open note in which words of the private one stand.
fn repeating() -> Home {
    let home = home();
    let open = format!(
        "* Letter to Ann\n:PROPERTIES:\n:ID: letter\n:END:\nAbout the ear: {DIAGNOSIS}\n\
         * Ear plugs\n:PROPERTIES:\n:ID: plugs\n:END:\nBuy ear plugs for the ear.\n"
    );
    std::fs::write(home.file("open.org"), open).expect("a file of the memex");
    home
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_note_that_quotes_a_private_one_is_told_to_models_here_alone() {
    let home = repeating();
    let server = FakeServer::start([says("Plugs."), says("Nothing.")]);
    let engine = home.served(&server, &["fake"], false).await;
    engine.wait_until_filled();
    engine.confirm_provider("fake", &format!("{}/v1/", server.url())).await.expect("it is stored");
    let (finished, _) = home.ask(&engine, "what of the ear?").await;
    assert_eq!(finished.report.ending, Ending::Answered, "{:?}", finished.report.notice);
    let body = server.requests()[0].body.clone();
    assert!(body.contains("Buy ear plugs") && !body.contains("growth behind the left"), "{body}");
    let shown = crate::explained::last(&engine).await;
    assert_eq!(shown.proof, Proof::Absent);
    // Why is told to the user; a reader here is told the note.
    let told = async |reader| {
        let explained = explained(&engine, "what of the ear?", reader).await;
        engine.why_told(&explained, &NodeId::new("letter"))
    };
    assert_eq!(told(Locality::Remote).await, "letter: left out, quotes a private note");
    let here = told(Locality::Local).await;
    assert!(here.contains("letter: full, "), "{here}");
    // The one at point is no exception, nor one that the user wants in.
    let byte = home.read_file("open.org").find("About").expect("it is there");
    engine.focus_at(&home.file("open.org"), byte).expect("a heading");
    engine.pin(&origin(), &NodeId::new("letter"), Pin::In).expect("it is there");
    assert_eq!(told(Locality::Remote).await, "letter: left out, quotes a private note");
    let (finished, _) = home.ask(&engine, "and this?").await;
    assert_eq!(finished.report.ending, Ending::Answered, "{:?}", finished.report.notice);
    assert!(!server.requests()[1].body.contains("growth behind the left"));
}

/// What a model elsewhere is told that is asked “what of the ear plugs?”, with plugs that quote nothing in another file.
async fn told_elsewhere(files: &[(&str, &str)]) -> (Home, String) {
    let plugs = ("plugs.org", "* Ear plugs\n:PROPERTIES:\n:ID: plugs\n:END:\nBuy ear plugs for the ear.\n");
    let home = Home::new(&[files, &[plugs]].concat());
    let server = FakeServer::start([says("Plugs.")]);
    let engine = home.served(&server, &["fake"], false).await;
    engine.wait_until_filled();
    engine.confirm_provider("fake", &format!("{}/v1/", server.url())).await.expect("it is stored");
    let (finished, _) = home.ask(&engine, "what of the ear plugs?").await;
    assert_eq!(finished.report.ending, Ending::Answered, "{:?}", finished.report.notice);
    assert_eq!(engine.known_privacy(&finished.session), Privacy::Open);
    assert_eq!(crate::explained::last(&engine).await.proof, Proof::Absent);
    let body = server.requests()[0].body.clone();
    engine.close().await;
    (home, body)
}

#[tokio::test(flavor = "multi_thread")]
async fn words_that_a_private_note_has_too_are_left_out_wherever_they_stand_and_the_rest_is_told() {
    let title = "Plan for the renovation of the old boat house at the lake";
    let line = ":header-args: :results output :session main :exports both :tangle no";
    let body = "The boards below the ear of the boat are soft, and the paint comes off.";
    let child = format!("** Ear boards\n:PROPERTIES:\n:ID: boards\n:END:\n{body}\n");
    let linked = format!("* Today :private:\nSee [[file:boat.org][{title}]].\n");
    for (private, open, gone, stays) in [
        // The title of a file, and of a heading, with something below it.
        (linked.clone(), format!("#+TITLE: {title}\n* Ear boards\n{body}\n"), "boat house", None),
        (linked.clone(), format!("* {title}\n{child}"), "boat house", None),
        // It is quoted below the title: what stands elsewhere below it is told.
        (format!("* Today :private:\n{DIAGNOSIS}\n"), format!("* Boat\n{DIAGNOSIS}\n{child}"), "behind", Some(body)),
        // The outline tells properties, where another place tells the title alone.
        (
            format!("* Today :private:\n:PROPERTIES:\n{line}\n:END:\nRain.\n"),
            format!("* Boat\n:PROPERTIES:\n{line}\n:END:\n{child}"),
            ":results output",
            Some(body),
        ),
    ] {
        let (_home, told) = told_elsewhere(&[("boat.org", &open), ("diary.org", &private)]).await;
        assert!(!told.contains(gone) && told.contains("Buy ear plugs"), "{open}: {told}");
        assert!(stays.is_none_or(|stays| told.contains(stays)), "{open}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_copy_of_many_notes_is_left_out_however_many_they_are() {
    for count in [100, 1_000] {
        let heading = |n: usize| {
            format!("* Ear plugs {n}\nThe plugs number {n} for the left ear stand in row {n} of the shelf {n} there.\n")
        };
        let notes: String = (0..count).map(heading).collect();
        let copy = format!("#+FILETAGS: :private:\n{notes}");
        // Words that stand everywhere find nothing.
        let others: String = (0..4 * count).map(|n| format!("* Wood {n}\nLarch lasts in the rain.\n")).collect();
        let files = [("many.org", notes.as_str()), ("copy.org", copy.as_str()), ("wood.org", others.as_str())];
        let (_home, told) = told_elsewhere(&files).await;
        assert!(!told.contains("of the shelf"), "{count}: {told}");
        // What is not a copy is found behind so many; where they are too many, looking for it ends.
        assert!(count > 100 || told.contains("Buy ear plugs"), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn standing_texts_that_quote_a_private_note_go_to_no_model_elsewhere() {
    let home = home();
    let folder = home.config().settings.join("skills");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("ear.org"), format!("#+TITLE: Ear\n* Mandates\n{DIAGNOSIS}\n")).expect("it is written");
    let server = FakeServer::start([]);
    let engine = home.served(&server, &["fake"], false).await;
    engine.confirm_provider("fake", &format!("{}/v1/", server.url())).await.expect("it is stored");
    let (finished, _) = home.ask(&engine, "which shops are open?").await;
    assert_eq!((finished.report.ending, server.requests().len()), (Ending::Failed, 0), "{:?}", finished.report.notice);
    let notice = finished.report.notice.clone().unwrap_or_default();
    let told = "Words of what models are told (your rules) stand in the private note “Doctor”, so only models that run here \
                are asked; change the one or the other to have others asked.";
    assert!(notice.contains(told), "{notice}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_models_are_told_beside_a_conversation_never_makes_that_private() {
    let home = home();
    let identity = home.config().settings.join("IDENTITY");
    std::fs::create_dir_all(home.config().settings).expect("a folder");
    let server = FakeServer::start([says("All of them."), says("None.")]);
    for local in [false, true] {
        std::fs::write(&identity, format!("You are a friend. {DIAGNOSIS}\n")).expect("it is written");
        let engine = home.served(&server, &["fake"], local).await;
        engine.confirm_provider("fake", &format!("{}/v1/", server.url())).await.expect("it is stored");
        let before = server.requests().len();
        let (finished, _) = home.ask(&engine, "which shops are open?").await;
        let sent = server.requests().len() - before;
        // A model that runs here is told them.
        let expected = if local { (Ending::Answered, 1) } else { (Ending::Failed, 0) };
        assert_eq!((finished.report.ending, sent), expected, "{:?}", finished.report.notice);
        let notice = finished.report.notice.clone().unwrap_or_default();
        assert_eq!(notice.contains("(identity) stand in the private note “Doctor”"), !local, "{notice}");
        if !local {
            assert_eq!(engine.known_privacy(&finished.session), Privacy::Open);
            assert_eq!(finished.report.conversation.labels.privacy, Privacy::Open);
            // As soon as they are gone the same conversation goes on.
            std::fs::write(&identity, "You are a friend.\n").expect("it is written");
            let (finished, _) = home.ask(&engine, "and now?").await;
            assert_eq!(finished.report.ending, Ending::Answered, "{:?}", finished.report.notice);
        }
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quotation_asks_before_it_stands_openly_and_only_the_plan_names_the_note() {
    let home = home();
    let add = |parent: &str| json!({"title": "News", "parent": parent, "body": DIAGNOSIS});
    let server = FakeServer::start([]);
    let engine = home.served(&server, &["fake"], true).await;
    for (tool, args, asks) in [
        ("org-add-heading", add("shopping"), Some("“Shopping”")),
        ("org-add-heading", add("doctor"), None),
        ("write-file", json!({"path": home.project("note.txt"), "content": DIAGNOSIS}), Some("“note.txt”")),
        ("write-file", json!({"path": home.project("note.txt"), "content": "The specialist said no."}), None),
    ] {
        server.push(call(tool, args.clone()));
        let (finished, _) = home.ask(&engine, "write that down").await;
        assert_eq!(finished.report.ending, Ending::Parked, "{:?}", finished.report.notice);
        let plan = waiting(&engine);
        let reasons = plan.asks().into_iter().map(|(_, why)| why).collect::<Vec<_>>().join("\n");
        match asks {
            Some(place) => {
                let why = format!("privacy text: Words of a private note stand in it, and {place} is not private.");
                assert!(reasons.contains(&why), "{reasons}");
                assert!(!reasons.contains("Doctor"), "{reasons}");
                assert!(plan.body.contains("quotes a private note: “Doctor” in"), "{}", plan.body);
            }
            None => {
                assert!(!reasons.contains("privacy text"), "{args}: {reasons}");
                assert!(!plan.body.contains("quotes a private note"), "{}", plan.body);
            }
        }
        server.push(Reply::answer(Dialect::OpenAi, &["As you like."], &[]));
        home.deny(&engine, &plan, "no").await.expect("the denial counts");
    }
    for line in engine.log_lines(1000) {
        assert!(!line.text.contains("specialist said on"), "{}", line.text);
    }
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_follows_memory_and_is_there_after_a_start() {
    let home = home();
    let engine = home.engine().await;
    home.read(&engine).await;
    engine.wait_until_filled();
    let read = engine.quotations_read();
    assert_eq!((read.files, read.waiting, read.left_out), (1, 0, 0));
    engine.close().await;
    // A start reads texts from the store.
    let engine = home.engine().await;
    engine.wait_until_filled();
    let read = engine.quotations_read();
    assert_eq!((read.files, read.waiting, read.left_out), (1, 0, 0));
    std::fs::remove_file(home.file("health.org")).unwrap();
    home.read(&engine).await;
    assert_eq!(engine.quotations_read().files, 0);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_each_tag_kept_back_is_counted_and_no_note_is_named() {
    let home = Home::new(&[
        ("ear.org", &format!("* Ear :private:\n{DIAGNOSIS}\n")),
        ("tooth.org", "* Tooth :@health:\nThe dentist found nothing.\n"),
        ("pay.org", "* Pay\n:PROPERTIES:\n:PRIVACY: private\n:END:\nIt is enough.\n* Garden\nTulips.\n"),
    ]);
    let server = FakeServer::start([]);
    let set = |config: &mut passepartout::edge::config::Config| {
        config.private_tags = vec!["private".into(), "@health".into()];
        provide(config, &[("fake", &server, false)], &["fake"]);
    };
    let engine = home.engine_with(set).await;
    home.read(&engine).await;
    assert_eq!(engine.kept_back(), []);
    let before = privacy_line(&engine).await;
    assert!(before.ends_with("something is private in 3 files; kept back since the start: nothing"), "{before}");
    // The slice of memory for a model elsewhere leaves them out, before anybody is asked whether it may go there.
    let (finished, _) = home.ask(&engine, "what do my notes say of ear, tooth, pay and garden?").await;
    assert_eq!(finished.report.ending, Ending::Parked, "{:?}", finished.report.notice);
    let counts = engine.kept_back();
    let tags: Vec<&str> = counts.iter().map(|(tag, _)| tag.as_str()).collect();
    assert_eq!(tags, ["a property or keyword", "health", "private"], "{counts:?}");
    // A quotation counts once more for its tag, and only once for a conversation.
    let private = |counts: &[(String, u64)]| counts.iter().find(|(tag, _)| tag == "private").map_or(0, |(_, n)| *n);
    let mut asked = ask(DIAGNOSIS);
    asked.origin.session = passepartout::domain::id::SessionId("another".to_string());
    let turn = engine.new_turn();
    let _ = engine.ask(asked, turn, &mut |_| {}).await;
    assert!(private(&engine.kept_back()) > private(&counts), "{:?}", engine.kept_back());
    let after = privacy_line(&engine).await;
    assert!(after.contains("kept back since the start: a property or keyword "), "{after}");
    assert!(!["Ear", "Tooth", "Pay", "specialist"].iter().any(|word| after.contains(word)), "{after}");
    engine.close().await;
}

async fn privacy_line(engine: &std::sync::Arc<passepartout::edge::engine::Engine>) -> String {
    let checks = passepartout::edge::doctor::examine(engine, None).await;
    checks.into_iter().find(|check| check.name == "privacy").map(|check| check.detail).unwrap_or_default()
}
