//! The user's own function that chooses who is asked: among those alone whom the router lets be asked.

use super::*;
use crate::support::engine::{Home, origin, provide};
use async_trait::async_trait;
use passepartout::edge::editor::{Buffer, Editor, Offer, Selection, Splice};
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::explain::About;
use passepartout::edge::engine::record::Finished;

const NOTES: &str = "* Boiler\nThe boiler is from 1998.\n* Health :private:\nZANZIBAR7 is the diagnosis.\n";

/// How often a test asks all its questions, at most; a server has an answer for each.
const ROUNDS: usize = 8;

/// What the function does when it is called.
#[derive(Clone)]
enum Does {
    Names(Vec<&'static str>),
    Skips,
    Fails,
    Hangs,
}

/// An Emacs with such a function; it keeps what it was offered.
struct Chooser(Mutex<Does>, Mutex<Vec<Offer>>);

#[async_trait]
impl Editor for Chooser {
    async fn buffer(&self, _: &str) -> Result<Option<Buffer>, String> {
        Ok(None)
    }

    async fn edit(&self, file: &str, _: i64, _: Vec<Splice>) -> Result<(), String> {
        Err(format!("{file} is open nowhere"))
    }

    async fn select(&self, offer: &Offer) -> Result<Selection, String> {
        self.1.lock().expect("not poisoned").push(offer.clone());
        let does = self.0.lock().expect("not poisoned").clone();
        match does {
            Does::Names(names) => Ok(Selection::These(names.into_iter().map(str::to_string).collect())),
            Does::Skips => Ok(Selection::Skip),
            Does::Fails => Err("it is void".to_string()),
            Does::Hangs => std::future::pending().await,
        }
    }
}

struct World {
    home: Home,
    servers: [FakeServer; 2],
    emacs: Arc<Chooser>,
    engine: Arc<Engine>,
}

impl World {
    /// Two providers, “far” and “near”, that say who they are, and a function that is asked or not.
    async fn new(does: Does, selector: bool) -> World {
        let home = Home::new(&[("notes.org", NOTES)]);
        let says = |text: &str| Script::answer(Dialect::OpenAi, &[text], &[]).staying();
        let servers =
            ["far", "near"].map(|name| FakeServer::start((0..4 * ROUNDS).map(|_| says(name)).collect::<Vec<_>>()));
        let emacs = Arc::new(Chooser(Mutex::new(does), Mutex::default()));
        *home.editor.lock().expect("not poisoned") = emacs.clone();
        let set = [("far", &servers[0], false), ("near", &servers[1], true)];
        let engine = home
            .engine_with(|config| {
                provide(config, &set, &["far", "near", "recall"]);
                config.selector = selector;
            })
            .await;
        home.read(&engine).await;
        engine.confirm_provider("far", &format!("{}/v1/", servers[0].url())).await.expect("it is stored");
        World { home, servers, emacs, engine }
    }

    async fn ask(&self, heading: &str) -> Finished {
        let byte = NOTES.find(heading).expect("it is there");
        self.engine.focus_at(&self.home.file("notes.org"), byte).expect("a heading");
        self.home.ask(&self.engine, "boiler").await.0
    }

    fn offers(&self) -> Vec<Offer> {
        self.emacs.1.lock().expect("not poisoned").clone()
    }
}

fn by(finished: &Finished) -> Option<&str> {
    finished.report.answered_by.as_ref().map(|(provider, _)| provider.as_str())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_function_passes_over_and_puts_in_order_and_where_it_does_not_the_order_stays() {
    for (does, expected, said) in [
        (Does::Names(vec!["near"]), "near", "; passepartout-select-model-function chose; not far: "),
        (Does::Names(vec!["near", "far"]), "near", "; passepartout-select-model-function chose; not recall: "),
        (Does::Names(vec![]), "far", "chose nobody, so the order stays"),
        (Does::Names(vec!["mars"]), "far", "whom else it named may not be asked"),
        (Does::Fails, "far", "did not choose, so the order stays: it is void"),
        (Does::Hangs, "far", "did not choose, so the order stays: it did not answer within 2 seconds"),
    ] {
        let world = World::new(does, true).await;
        let finished = world.ask("* Boiler").await;
        assert_eq!(by(&finished), Some(expected), "{:?}", finished.report.notice);
        assert!(finished.report.routes[0].contains(said), "{:?}", finished.report.routes);
        let offer = world.offers().remove(0);
        let names: Vec<&str> = offer.candidates.iter().map(|one| one.name.as_str()).collect();
        assert_eq!((names, offer.text.as_str(), offer.private), (vec!["far", "near", "recall"], "boiler", false));
        world.engine.close().await;
    }
    let world = World::new(Does::Names(vec!["near"]), false).await;
    assert_eq!(by(&world.ask("* Boiler").await), Some("far"));
    assert_eq!(world.offers(), Vec::new(), "without a function nobody is asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_function_is_offered_and_can_choose_nobody_whom_privacy_forbids() {
    for names in [vec!["far"], vec!["far", "near"], vec!["near", "far"], vec!["recall", "far"], vec![]] {
        let first = names.iter().find(|name| **name != "far").copied().unwrap_or("near");
        let world = World::new(Does::Names(names), true).await;
        let finished = world.ask("* Health").await;
        assert_eq!(by(&finished), Some(first), "{:?}", finished.report);
        assert_eq!(world.servers[0].connections(), 0);
        for offer in world.offers() {
            assert!(offer.private && offer.candidates.iter().all(|one| one.locality != Locality::Remote), "{offer:?}");
        }
        world.engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_function_skips_a_request_also_where_one_provider_alone_may_be_asked() {
    for cascade in [vec!["far"], vec!["far", "near", "recall"]] {
        let world = World::new(Does::Skips, true).await;
        let order = cascade.join(" ");
        let choice = passepartout::edge::engine::cascade::Choice::parse(&order).expect("an order");
        world.engine.set_cascade(&crate::support::engine::origin(), choice).await.expect("it is set");
        let finished = world.ask("* Boiler").await;
        assert_eq!((by(&finished), world.offers().len()), (None, 1), "{order}: {:?}", finished.report);
        let notice = finished.report.notice.clone().unwrap_or_default();
        assert!(notice.contains("passepartout-select-model-function skipped this request"), "{order}: {notice}");
        assert!(world.servers.iter().all(|server| server.connections() == 0), "{order}");
        world.engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_function_chooses_a_model_as_well_and_none_that_runs_elsewhere() {
    let model = |server: &FakeServer| server.requests()[0].json()["model"].as_str().map(str::to_string);
    for (names, heading, asked, said) in [
        (
            vec!["near/small", "far"],
            "* Boiler",
            ("near", 1, "small"),
            "near, far; passepartout-select-model-function chose",
        ),
        (vec!["far/maker/large:free"], "* Boiler", ("far", 0, "maker/large:free"), "far; "),
        (vec!["near"], "* Boiler", ("near", 1, "m"), "near; "),
        (vec!["near/small"], "* Health", ("near", 1, "small"), "near; "),
        // The server here would hand it on.
        (vec!["near/big:cloud", "far"], "* Boiler", ("far", 0, "m"), "not near: the model that"),
        (vec!["recall/big", "near"], "* Boiler", ("near", 1, "m"), "not recall: the model that"),
        (vec!["near/a b"], "* Boiler", ("far", 0, "m"), "the order stays: “near/a b” names no model"),
    ] {
        let world = World::new(Does::Names(names.clone()), true).await;
        let finished = world.ask(heading).await;
        let (name, server, expected) = asked;
        assert_eq!(by(&finished), Some(name), "{names:?}: {:?}", finished.report.notice);
        assert_eq!(model(&world.servers[server]).as_deref(), Some(expected), "{names:?}");
        assert!(finished.report.routes[0].contains(said), "{names:?}: {:?}", finished.report.routes);
        assert_eq!(world.servers[1 - server].connections(), 0, "{names:?}");
        world.engine.close().await;
    }
    // What may not leave does not, whatever model is named.
    let world = World::new(Does::Names(vec!["near/big:cloud", "far/m"]), true).await;
    let finished = world.ask("* Health").await;
    assert_eq!(by(&finished), None, "{:?}", finished.report);
    assert!(world.servers.iter().all(|server| server.connections() == 0));
}

/// A connection is free again a moment after its answer was read, which nobody can wait for:
/// of some rounds one goes by without a new connection, and none would if each made its own.
#[tokio::test(flavor = "multi_thread")]
async fn whichever_model_the_function_chooses_the_connection_stays() {
    let world = World::new(Does::Names(vec!["near/small"]), true).await;
    let near = &world.servers[1];
    let asked = async |model| {
        *world.emacs.0.lock().expect("not poisoned") = Does::Names(vec![model]);
        let finished = world.ask("* Boiler").await;
        assert_eq!(by(&finished), Some("near"), "{model}: {:?}", finished.report.notice);
        near.connections()
    };
    let mut stays = [false; 2];
    for _ in 0..ROUNDS {
        let before = asked("near/small").await;
        stays[0] |= asked("near/large").await == before;
        // Providers that are set up anew ask over it as well.
        let before = asked("near").await;
        let choice = passepartout::edge::engine::cascade::Choice::parse("near recall").expect("an order");
        world.engine.set_cascade(&crate::support::engine::origin(), choice).await.expect("it is set");
        stays[1] |= asked("near/small").await == before;
        if stays == [true; 2] {
            break;
        }
    }
    assert_eq!(stays, [true; 2], "{} requests, {} connections", near.requests().len(), near.connections());
}

/// What marks in buffers are made from follows point: it asks nobody.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_explained_quietly_does_not_call_the_function() {
    let world = World::new(Does::Names(vec!["near"]), true).await;
    let first = async |quietly: bool| {
        let about = About { query: Some("boiler"), quietly, ..About::default() };
        world.engine.explained_for(&origin(), about).await.asked.map(|asked| asked.name)
    };
    assert_eq!((first(true).await.as_deref(), world.offers().len()), (Ok("far"), 0));
    assert_eq!((first(false).await.as_deref(), world.offers().len()), (Ok("near"), 1));
    assert!(world.servers.iter().all(|server| server.requests().is_empty()));
}
