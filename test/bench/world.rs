//! What the benches work on: a memex of 10,000 headings, the gates, and a survey.

use jiff::civil::{DateTime, date};
use passepartout::domain::action::Action;
use passepartout::domain::context::lexical::Index;
use passepartout::domain::context::{self, Audience, Request};
use passepartout::domain::gate::clearance::ask_all;
use passepartout::domain::gate::standard::standard;
use passepartout::domain::gate::{Case, Gates, Trace};
use passepartout::domain::id::SessionId;
use passepartout::domain::label::Labels;
use passepartout::domain::memory::document::{Document, PrivacyOptions};
use passepartout::domain::memory::view::View;
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::domain::scope::Scope;
use passepartout::domain::signal::Sensor;
use passepartout::domain::tool::Toolbox;
use passepartout::edge::ingest::{IngestOptions, Known, ingest};
use passepartout::edge::survey::{NoVault, Nowhere, Survey};
use passepartout::edge::tokens::Tokens;
use serde_json::{Map, Value};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Headings of the memex, in [`FILES`] files.
const HEADINGS: usize = 10_000;
const FILES: usize = 100;

pub struct World {
    pub folder: tempfile::TempDir,
    /// All files as one.
    pub text: Arc<str>,
    /// Their size.
    pub bytes: usize,
    pub view: View,
    index: Index,
    tokens: Tokens,
    pub scope: Scope,
    pub survey: Survey,
    pub gates: Gates,
}

static WORLD: LazyLock<Arc<World>> = LazyLock::new(|| Arc::new(World::new()));

pub fn now() -> DateTime {
    date(2026, 3, 14).at(9, 26, 0, 0)
}

/// Text without any structure, about so many bytes.
pub fn prose(bytes: usize) -> String {
    let line = "The quick brown fox jumps over the lazy dog, and the answer [with an aside] goes on: *so* it is.\n";
    line.repeat(bytes / line.len() + 1)
}

const NOUNS: [&str; 10] =
    ["harbour", "crane", "boat", "timber", "quotes", "garden", "lighthouse", "choir", "engine", "letter"];

fn file_text(file: usize) -> String {
    let nouns = NOUNS;
    let mut text = format!("#+TITLE: File {file}\n");
    for n in 0..HEADINGS / FILES {
        let noun = |step: usize| nouns[(file * 7 + n * step) % nouns.len()];
        let stars = if n % 5 == 0 { "*" } else { "**" };
        let todo = if n % 3 == 0 { "TODO " } else { "" };
        text.push_str(&format!("{stars} {todo}The {} of the {} {n} :{}:\n", noun(1), noun(3), noun(2)));
        if n % 6 == 0 {
            text.push_str(&format!("DEADLINE: <2026-03-{:02} x>\n", 1 + (file + n) % 28).replace(" x>", ">"));
        }
        if n % 4 == 0 {
            text.push_str(&format!(":PROPERTIES:\n:ID: n{file}-{n}\n:END:\n"));
        }
        text.push_str(&format!("Some words about the {} and [[id:n{file}-0][the {}]].\n", noun(4), noun(5)));
        text.push_str("A second line that says little, as second lines do, and a third that says less.\n");
    }
    text
}

impl World {
    pub fn get() -> Arc<World> {
        WORLD.clone()
    }

    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let texts: Vec<String> = (0..FILES).map(file_text).collect();
        for (n, text) in texts.iter().enumerate() {
            std::fs::write(folder.path().join(format!("file-{n}.org")), text).unwrap();
        }
        let scope = Scope {
            session: SessionId("bench".into()),
            memex: vec!["/nonexistent/home/memex".into()],
            project: folder.path().to_string_lossy().into_owned(),
            home: "/nonexistent/home".into(),
            own: Vec::new(),
            permissions: Default::default(),
            private_tags: vec!["private".into()],
            held: Default::default(),
            self_build: false,
            may_see: passepartout::domain::label::Privacy::Private,
            hosts: Vec::new(),
        };
        let text: Arc<str> = texts.concat().into();
        let mut world = World {
            bytes: text.len(),
            text,
            folder,
            view: View::default(),
            index: Index::default(),
            tokens: Tokens::new(),
            scope,
            survey: Survey::new(Arc::new(NoVault), Arc::new(Nowhere), None, Duration::from_secs(10)),
            gates: standard(Vec::new()),
        };
        world.view = world.ingest();
        assert_eq!(world.view.headings(), HEADINGS);
        world.index = world.index();
        world
    }

    pub fn ingest(&self) -> View {
        let roots = [self.folder.path().to_path_buf()];
        let report = ingest(&roots, &Known::default(), &IngestOptions::default(), &mut |_| {}, &AtomicBool::new(false));
        report.documents.into_iter().fold(View::default(), |view, document| view.with(document))
    }

    /// One of the words that headings are made of.
    pub fn noun(&self, n: usize) -> &'static str {
        NOUNS[n % NOUNS.len()]
    }

    pub fn index(&self) -> Index {
        Index::of(&self.view)
    }

    fn first(&self) -> Arc<Document> {
        self.view.documents().next().unwrap()
    }

    /// The text of one file with one character less.
    pub fn edited_file(&self) -> Arc<str> {
        self.first().outline.text.replacen("Some words", "Some word", 1).into()
    }

    /// Takes a changed text of one file.
    pub fn edit(&self, text: &Arc<str>) -> (View, Index) {
        let previous = self.first();
        let outline = scan(text.clone(), &ScanOptions::default()).unwrap();
        let document = Arc::new(Document::rebuild(&previous, outline, &PrivacyOptions::default()));
        (self.view.with(document.clone()), self.index.with(&document))
    }

    pub fn large_document(&self) -> Document {
        Document::build(
            "all.org",
            scan(self.text.clone(), &ScanOptions::default()).unwrap(),
            &PrivacyOptions::default(),
        )
    }

    pub fn context(&self, query: Option<&str>) -> usize {
        let request = Request {
            focus: None,
            query,
            max_tokens: 4_000,
            audience: Audience::Local,
            now: now(),
            deadline_minutes: 60,
            project_tag: "project",
            changed: &[],
            apart: false,
            explained: false,
            nearness: None,
            most_at_point: usize::MAX,
            near_cosine: passepartout::domain::context::rank::NEAR_COSINE,
            pinned: &[],
            unpinned: &[],
            quoting: None,
        };
        context::assemble(&self.view, &self.index, &request, &self.tokens).tokens
    }

    pub fn action(&self, tool: &str, argument: &str, value: &str) -> Action {
        let args = Map::from_iter([(argument.to_string(), Value::from(value))]);
        Action::new(&Toolbox::builtin(), tool, args, Some("A bench asks for it."), Labels::MODEL).unwrap()
    }

    pub fn write(&self, text: &str) -> Action {
        let path = self.folder.path().join("out.txt").to_string_lossy().into_owned();
        let args =
            Map::from_iter([("path".to_string(), Value::from(path)), ("content".to_string(), Value::from(text))]);
        Action::new(&Toolbox::builtin(), "write-file", args, Some("A bench asks for it."), Labels::MODEL).unwrap()
    }

    pub fn judge(&self, action: &Action) -> Trace {
        let facts = self.survey.look(action, &self.scope);
        let tool = Toolbox::builtin().get(action.tool()).unwrap();
        ask_all(&self.gates, &Case { action, tool, scope: &self.scope, facts: &facts, set_off: Sensor::UserInput })
    }
}
