//! A whole engine in a folder of its own: home, memex, project, store, and a clock that tests can move.

use crate::support::fake_server::FakeServer;
use passepartout::domain::gate::plan::{FlightPlan, PlanStatus};
use passepartout::domain::id::SessionId;
use passepartout::domain::signal::{Origin, Rights, Source};
use passepartout::edge::clock::{Clock, SystemClock};
use passepartout::edge::config::{Config, ProviderSetting, Surroundings};
use passepartout::edge::editor::{Editor, NoEditor};
use passepartout::edge::engine::boot::{Boot, Keep, start};
use passepartout::edge::engine::record::Finished;
use passepartout::edge::engine::turns::{Ask, Decided};
use passepartout::edge::engine::{Engine, Notify};
use passepartout::edge::secret::Vault;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A clock that stands at 2026-03-02 09:00 until it is moved; each look is a millisecond later.
#[derive(Default)]
pub struct TestClock {
    real: AtomicBool,
    seconds: AtomicI64,
    passed: AtomicU64,
    looks: AtomicI64,
    zone: Mutex<Option<jiff::tz::TimeZone>>,
}

impl TestClock {
    /// Tells the machine's time from now on, as a program beside the test does.
    pub fn follow_the_machine(&self) {
        self.real.store(true, Ordering::Relaxed);
    }

    /// Moves to another time zone, whose text is that of POSIX.
    pub fn live_in(&self, zone: &str) {
        *self.zone.lock().unwrap() = Some(jiff::tz::TimeZone::posix(zone).expect("it is a time zone"));
    }

    fn moment(&self) -> jiff::Timestamp {
        if self.real.load(Ordering::Relaxed) {
            return SystemClock.wall().to_zoned(jiff::tz::TimeZone::UTC).expect("a time in UTC").timestamp();
        }
        let begin: jiff::Timestamp = "2026-03-02T09:00:00Z".parse().expect("a moment");
        begin + jiff::SignedDuration::from_secs(self.seconds.load(Ordering::Relaxed))
    }

    pub fn advance(&self, hours: i64) {
        self.advance_seconds(hours * 3600);
    }

    pub fn advance_seconds(&self, seconds: i64) {
        self.seconds.fetch_add(seconds, Ordering::Relaxed);
        self.passed.fetch_add(u64::try_from(seconds).unwrap_or(0), Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> jiff::Timestamp {
        let looks = self.looks.fetch_add(1, Ordering::Relaxed);
        self.moment() + jiff::SignedDuration::from_millis(looks)
    }

    fn wall(&self) -> jiff::civil::DateTime {
        if self.real.load(Ordering::Relaxed) {
            return SystemClock.wall();
        }
        self.zone().to_datetime(self.moment())
    }

    fn zone(&self) -> jiff::tz::TimeZone {
        self.zone.lock().unwrap().clone().unwrap_or(jiff::tz::TimeZone::UTC)
    }

    fn steady(&self) -> std::time::Duration {
        std::time::Duration::from_secs(self.passed.load(Ordering::Relaxed))
    }
}

/// Folders of one test.
pub struct Home {
    pub folder: tempfile::TempDir,
    pub clock: Arc<TestClock>,
    /// Who is told of what happens in the next engine.
    pub notify: Mutex<Notify>,
    /// The editor of the next engine.
    pub editor: Mutex<Arc<dyn Editor>>,
}

impl Home {
    /// Makes the folders, with files of the memex.
    pub fn new(files: &[(&str, &str)]) -> Home {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["home", "memex", "project", "config", "cache"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder in the temporary one");
        }
        let home = Home {
            folder,
            clock: Arc::default(),
            notify: Mutex::new(Arc::new(|_| {})),
            editor: Mutex::new(Arc::new(NoEditor)),
        };
        for (name, text) in files {
            std::fs::write(home.file(name), text).expect("a file of the memex");
        }
        home
    }

    pub fn at(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().canonicalize().expect("the folder is there").join(name)
    }

    /// Returns the absolute name of a file of the memex.
    pub fn file(&self, name: &str) -> String {
        self.at("memex").join(name).to_string_lossy().into_owned()
    }

    /// Returns the absolute name of a file of the project.
    pub fn project(&self, name: &str) -> String {
        self.at("project").join(name).to_string_lossy().into_owned()
    }

    /// Returns the absolute name of the folder of the user's own skills.
    pub fn own_skills(&self) -> String {
        self.config().settings.join("skills").to_string_lossy().into_owned()
    }

    /// Confirms every skill that waits, as its user does; says whether there was one.
    pub async fn confirm_skills(&self, engine: &Arc<Engine>) -> bool {
        let waiting: Vec<String> =
            engine.skill_list().into_iter().filter(|line| line.state == "waiting").map(|line| line.name).collect();
        for name in &waiting {
            let shown = engine.show_skill(name.as_str()).expect("it can be shown").using.hash();
            let parked =
                engine.propose_skill(&origin(), name.as_str(), &shown, engine.new_turn()).await.expect("it is shown");
            let plan = engine.plan(&parked.report.plans[0].0).expect("the plan is known");
            self.approve(engine, &plan).await.expect("the approval counts");
        }
        !waiting.is_empty()
    }

    pub fn store(&self) -> std::path::PathBuf {
        self.at("state/passepartout")
    }

    pub fn read_file(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).expect("the file is there")
    }

    pub fn config(&self) -> Config {
        let variables = [
            ("HOME", self.at("home")),
            ("XDG_STATE_HOME", self.at("state")),
            ("XDG_CONFIG_HOME", self.at("config")),
            ("XDG_CACHE_HOME", self.at("cache")),
        ];
        let variables = variables.map(|(name, path)| (name.to_string(), path.to_string_lossy().into_owned())).into();
        let mut config = Config::read(&Surroundings { variables });
        config.directories = vec![self.at("memex")];
        config.project = Some(self.at("project"));
        config.cascade = Some(vec!["recall".to_string()]);
        config.launcher = Some(env!("CARGO_BIN_EXE_passepartout-run").into());
        config
    }

    pub async fn engine(&self) -> Arc<Engine> {
        self.engine_with(|_| {}).await
    }

    /// Starts an engine on this store; the one before it must be closed.
    pub async fn engine_with(&self, set: impl FnOnce(&mut Config)) -> Arc<Engine> {
        let mut config = self.config();
        set(&mut config);
        start(self.boot(config)).await.expect("the engine starts")
    }

    /// What an engine on this store is started with.
    pub fn boot(&self, config: Config) -> Boot {
        Boot {
            config,
            vault: Vault::empty(),
            editor: self.editor.lock().expect("not poisoned").clone(),
            clock: self.clock.clone(),
            notify: self.notify.lock().expect("not poisoned").clone(),
            keep: Keep::OnDiskOnly,
        }
    }

    /// Starts an engine that asks a scripted server, and has read the memex.
    pub async fn served(&self, server: &FakeServer, cascade: &[&str], local: bool) -> Arc<Engine> {
        let engine = self.engine_with(|config| provide(config, &[("fake", server, local)], cascade)).await;
        self.read(&engine).await;
        engine
    }

    /// Reads the memex.
    pub async fn read(&self, engine: &Arc<Engine>) {
        let engine = engine.clone();
        tokio::task::spawn_blocking(move || engine.read_memex(&mut |_| {})).await.expect("it is read");
    }

    /// Runs a turn of the chat; returns it and what was streamed.
    pub async fn ask(&self, engine: &Arc<Engine>, text: &str) -> (Finished, String) {
        let mut streamed = String::new();
        let finished = engine.ask(ask(text), engine.new_turn(), &mut |text| streamed.push_str(text.text())).await;
        (finished, streamed)
    }

    /// Approves a plan as it is shown now.
    pub async fn approve(&self, engine: &Arc<Engine>, plan: &FlightPlan) -> Result<Finished, String> {
        let decided = Decided::Approve { shown: plan.shown() };
        engine.decide(&origin(), &plan.id.0, decided, engine.new_turn(), &mut |_| {}).await
    }

    /// Denies a plan.
    pub async fn deny(&self, engine: &Arc<Engine>, plan: &FlightPlan, reason: &str) -> Result<Finished, String> {
        let decided = Decided::Deny { reason: reason.to_string() };
        engine.decide(&origin(), &plan.id.0, decided, engine.new_turn(), &mut |_| {}).await
    }
}

/// Sets scripted servers up as providers.
pub fn provide(config: &mut Config, servers: &[(&str, &FakeServer, bool)], cascade: &[&str]) {
    config.providers = servers
        .iter()
        .map(|(name, server, local)| ProviderSetting {
            name: name.to_string(),
            kind: "openai".to_string(),
            url: Some(server.url()),
            model: Some("m".to_string()),
            local: *local,
            effort: None,
        })
        .collect();
    config.cascade = Some(cascade.iter().map(|name| name.to_string()).collect());
    config.request_timeout = 20;
    config.request_tries = 1;
}

/// Returns the origin of the chat: the human's own.
pub fn origin() -> Origin {
    Origin { source: Source::Emacs, session: SessionId("chat".to_string()), rights: Rights::HUMAN }
}

/// Returns words of the chat.
pub fn ask(text: &str) -> Ask {
    ask_from(origin(), text)
}

/// Returns words of another chat or channel.
pub fn ask_from(origin: Origin, text: &str) -> Ask {
    Ask {
        origin,
        text: text.to_string(),
        history: Vec::new(),
        older: Default::default(),
        folder: None,
        attached: Vec::new(),
        pictures: Vec::new(),
        wishes: Default::default(),
    }
}

/// Returns the only plan that waits.
#[track_caller]
pub fn waiting(engine: &Engine) -> FlightPlan {
    let mut plans = engine.plans(false);
    assert_eq!(plans.len(), 1, "{plans:?}");
    plans.remove(0)
}

/// Returns a plan's status now.
#[track_caller]
pub fn status(engine: &Engine, plan: &FlightPlan) -> PlanStatus {
    engine.plan(&plan.id.0).expect("the plan is known").status
}

/// Returns every file below a folder with its bytes, to see that nothing was touched.
pub fn tree(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a readable folder") {
            let path = entry.expect("a readable entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push((path.clone(), std::fs::read(&path).expect("a readable file"))),
            }
        }
    }
    found.sort();
    found
}
