//! The targets: what must hold for any bytes at all.

use super::first_words::first_words;
use super::words::{FIRST, FRAME, LISP, ORG, QUERY, RECALL, SECRET, SEXP, SHELL, YAML};
use jiff::civil::{DateTime, date};
use passepartout::domain::action::Action;
use passepartout::domain::gate::clearance::ask_all;
use passepartout::domain::gate::live::{Change, Kind, fresh, pieces};
use passepartout::domain::gate::standard::standard;
use passepartout::domain::gate::title::title;
use passepartout::domain::gate::{Case, Facts, Verdict, lisp, secret};
use passepartout::domain::id::{NodeId, SessionId};
use passepartout::domain::inert::{Inert, exact, inert};
use passepartout::domain::label::Labels;
use passepartout::domain::lisp as lisp_text;
use passepartout::domain::lisp::edit::Wish;
use passepartout::domain::literate::blocks::blocks;
use passepartout::domain::memory::document::{Document, PrivacyOptions};
use passepartout::domain::memory::view::View;
use passepartout::domain::org::decode::decode;
use passepartout::domain::org::edit::{Edit, EditOptions, NewHeading, apply, splices};
use passepartout::domain::org::link::links;
use passepartout::domain::org::outline::Outline;
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::domain::org::timestamp::timestamps;
use passepartout::domain::port::{Completion, Ended};
use passepartout::domain::query::parse::{is_plain, parse};
use passepartout::domain::query::print::print;
use passepartout::domain::recall::grammar;
use passepartout::domain::scope::Scope;
use passepartout::domain::sexp::reader::Sexp;
use passepartout::domain::signal::Sensor;
use passepartout::domain::skill::handbook;
use passepartout::domain::tool::Toolbox;
use passepartout::domain::turn::proposal;
use passepartout::edge::config::{Config, Surroundings};
use passepartout::edge::contents::look;
use passepartout::edge::survey::{NoVault, Nowhere, Survey};
use passepartout::edge::wire::frame::{self, Frames, Step};
use serde_json::{Map, Value};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// One target.
pub struct Target {
    /// Its name; its corpus stands in the folder of that name.
    pub name: &'static str,
    /// Words of its language.
    pub words: &'static [&'static str],
    /// Panics when something does not hold.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "frame", words: FRAME, run: frame },
    Target { name: "first_words", words: FIRST, run: first_words },
    Target { name: "sexp", words: SEXP, run: sexp },
    Target { name: "org_scan", words: ORG, run: org_scan },
    Target { name: "org_edit", words: ORG, run: org_edit },
    Target { name: "org_bytes", words: ORG, run: org_bytes },
    Target { name: "org_contents", words: ORG, run: org_contents },
    Target { name: "org_ingest", words: ORG, run: org_ingest },
    Target { name: "proposal", words: SEXP, run: proposal_of },
    Target { name: "shell", words: SHELL, run: shell },
    Target { name: "lisp", words: LISP, run: lisp_code },
    Target { name: "lisp_edit", words: LISP, run: lisp_edit },
    Target { name: "blocks", words: ORG, run: org_blocks },
    Target { name: "secret", words: SECRET, run: secrets },
    Target { name: "inert", words: ORG, run: made_inert },
    Target { name: "live", words: ORG, run: live_pieces },
    Target { name: "recall", words: RECALL, run: recall },
    Target { name: "query", words: QUERY, run: query },
    Target { name: "settings", words: SEXP, run: settings },
    Target { name: "handbook", words: YAML, run: handbook },
];

/// Returns bytes as text, as lossy reading gives it.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn now() -> DateTime {
    date(2026, 3, 14).at(9, 26, 0, 0)
}

/// A stream gives the same frames however it is cut, and what is read is what is written.
fn frame(bytes: &[u8]) {
    let whole = all_frames(&[bytes]);
    for at in [1, bytes.len() / 2, bytes.len().saturating_sub(1)] {
        let (front, back) = bytes.split_at(at.min(bytes.len()));
        assert_eq!(all_frames(&[front, back]), whole);
    }
    if let Ok(Step::Complete { text, used }) = frame::decode(bytes) {
        assert!(used <= bytes.len());
        let again = frame::encode(text).expect("it was short enough");
        assert_eq!(frame::decode(&again), Ok(Step::Complete { text, used: again.len() }));
    }
}

/// The frames of a stream, and whether it broke.
fn all_frames(parts: &[&[u8]]) -> (Vec<String>, bool) {
    let (mut frames, mut texts) = (Frames::default(), Vec::new());
    for part in parts {
        frames.push(part);
        loop {
            match frames.take() {
                Ok(Some(text)) => texts.push(text),
                Ok(None) => break,
                Err(_) => return (texts, true),
            }
        }
    }
    (texts, false)
}

/// What is read can be written, and is read back the same.
fn sexp(bytes: &[u8]) {
    let text = text(bytes);
    match Sexp::read(&text) {
        Ok(value) => assert_eq!(Sexp::read(&value.to_string()), Ok(value.clone()), "{value}"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn scanned(text: &str) -> Outline {
    scan(Arc::from(text), &ScanOptions::default()).expect("a short text")
}

/// The outline is a tree whose ranges fit the text, and reading a changed text anew shares what it can.
fn org_scan(bytes: &[u8]) {
    let text = text(bytes);
    let outline = scanned(&text);
    check_outline(&outline);
    for (range, _) in timestamps(&text) {
        assert!(text.get(range).is_some());
    }
    for link in links(&text) {
        assert!(!format!("{link:?}").is_empty());
    }
    let document = Document::build("a.org", outline, &PrivacyOptions::default());
    let longer = format!("{text}\n* One more\n");
    let rebuilt = Document::rebuild(&document, scanned(&longer), &PrivacyOptions::default());
    let fresh = Document::build("a.org", scanned(&longer), &PrivacyOptions::default());
    assert_eq!(rebuilt.root(), fresh.root());
    assert_eq!(rebuilt.ids.len(), fresh.ids.len());
    assert!(rebuilt.ids.starts_with(&document.ids), "what was there keeps its name");
}

fn check_outline(outline: &Outline) {
    let size = outline.text.len() as u32;
    let within = |range: &std::ops::Range<u32>| {
        range.start <= range.end && outline.text.get(range.start as usize..range.end as usize).is_some()
    };
    for (index, node) in outline.nodes.iter().enumerate() {
        assert!(node.begin <= size && node.end <= size && node.begin <= node.end, "node {index}: {node:?}");
        let ranges = [Some(&node.section), Some(&node.title), Some(&node.body)].into_iter();
        for range in ranges.chain([node.scheduled.as_ref(), node.deadline.as_ref(), node.closed.as_ref()]).flatten() {
            assert!(within(range), "node {index}: {range:?} of {size}");
        }
        assert!(outline.todo(node).is_some() == node.todo.is_some());
        if index > 0 {
            let parent = &outline.nodes[node.parent as usize];
            assert!((node.parent as usize) < index && parent.level < node.level);
            assert!(parent.begin <= node.begin && node.end <= parent.end);
            assert!(outline.at(node.begin as usize) == index);
        }
    }
    let reached: usize = {
        let (mut stack, mut count) = (vec![0], 0);
        while let Some(index) = stack.pop() {
            count += 1;
            stack.extend(outline.children(index));
        }
        count
    };
    assert_eq!(reached, outline.nodes.len(), "every node is a child of one");
}

/// An edit is refused, or changes nothing but what it names.
fn org_edit(bytes: &[u8]) {
    let text = text(bytes);
    let outline = scanned(&text);
    let node = bytes.len() % outline.nodes.len();
    let word = text.split_whitespace().next().unwrap_or("x").to_string();
    let edits = [
        Edit::SetTodo { node, state: Some("DONE".into()) },
        Edit::SetTodo { node, state: None },
        Edit::SetProperty { node, key: "EFFORT".into(), value: Some(word.clone()) },
        Edit::SetBody { node, body: text.chars().rev().take(50).collect() },
        Edit::AddHeading(NewHeading { parent: (node > 0).then_some(node), title: word, ..NewHeading::default() }),
        Edit::Remove { node },
    ];
    for edit in edits {
        let Ok(splices) = splices(&outline, &edit, &EditOptions::at(now())) else { continue };
        let after = scanned(&apply(&text, &splices));
        check_outline(&after);
        let count = |edit: &Edit| match edit {
            Edit::AddHeading(_) => outline.nodes.len() + 1,
            Edit::Remove { node } => outline.nodes.len() - (outline.after(*node) - node),
            _ => outline.nodes.len(),
        };
        assert_eq!(after.nodes.len(), count(&edit), "{edit:?} in {text:?}");
    }
}

/// A file that is read gives the very same bytes when it is written unchanged.
fn org_bytes(bytes: &[u8]) {
    if let Ok(decoded) = decode(bytes) {
        assert_eq!(decoded.encode(&decoded.text).expect("its own text"), bytes);
    }
}

/// The inside of any section is read or refused in a bounded time, and what was found stands in the text.
fn org_contents(bytes: &[u8]) {
    let text = text(bytes);
    let begun = std::time::Instant::now();
    let found = look(&[&text]).remove(0);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?} for {text:?}", begun.elapsed());
    let Ok(found) = found else { return };
    let tables = found.tables.iter().map(|table| &table.range);
    let items = found.items.iter().map(|item| &item.range);
    let blocks = found.blocks.iter().map(|block| &block.range);
    let notes = found.footnotes.iter().map(|note| &note.range);
    for range in tables.chain(items).chain(blocks).chain(notes) {
        assert!(text.get(range.clone()).is_some(), "{range:?} of {text:?}");
    }
}

/// Any bytes go all the way: decoded or refused, scanned, built, put into a view and found there again.
fn org_ingest(bytes: &[u8]) {
    let decoded = match decode(bytes) {
        Ok(decoded) => decoded,
        Err(why) => return assert!(!why.to_string().is_empty()),
    };
    assert_eq!(decoded.encode(&decoded.text).expect("its own text"), bytes);
    let outline = scan(decoded.text, &ScanOptions::default()).expect("a short text");
    check_outline(&outline);
    for (index, node) in outline.nodes.iter().enumerate() {
        assert!(outline.clocked(index) >= 0 && !outline.category(index, "/m/a.org").contains('\n'));
        for (key, _) in node.properties.iter() {
            assert!(outline.value(index, key).is_none_or(|value| !value.contains('\n')));
        }
    }
    let document = Arc::new(Document::build("/m/a.org", outline, &PrivacyOptions::default()));
    let view = View::default().with(document.clone());
    for id in document.ids.iter() {
        assert_eq!(view.get(id).expect("it was put in").id(), id);
    }
    for link in document.links() {
        assert!((link.node as usize) < document.ids.len() && !link.target.is_empty());
        assert!(!view.backlinks(&NodeId::new(link.target.clone())).is_empty());
    }
    assert_eq!(view.without("/m/a.org").root(), View::default().root());
}

/// Whatever a model says is words or calls, and a call that is no action says why.
fn proposal_of(bytes: &[u8]) {
    let completion = Completion {
        provider: "p".into(),
        model: "m".into(),
        text: text(bytes),
        ended: Ended::Whole,
        thinking: Default::default(),
        calls: Vec::new(),
        unreadable: Vec::new(),
        labels: Labels::MODEL,
        usage: None,
        attempts: 1,
        sources: Vec::new(),
    };
    let (words, calls) = match proposal::parse(&completion) {
        Ok(parsed) => parsed,
        Err(why) => {
            assert!(why.contains(": line ") && why.len() < 1_000, "{why}");
            return;
        }
    };
    if calls.is_empty() && !completion.text.contains('(') {
        assert_eq!(words, completion.text);
    }
    let ids: std::collections::BTreeSet<&str> = calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids.len(), calls.len(), "each call has a name of its own");
    for call in calls {
        match Action::new(&Toolbox::builtin(), &call.tool, call.args, None, Labels::MODEL) {
            Ok(action) => assert!(!title(&action, &Facts::default()).contains('\n')),
            Err(malformed) => assert!(!malformed.to_string().is_empty()),
        }
    }
}

static SCOPE: LazyLock<Scope> = LazyLock::new(|| Scope {
    session: SessionId("fuzz".into()),
    memex: vec!["/nonexistent/home/memex".into()],
    project: "/nonexistent/home/project".into(),
    home: "/nonexistent/home".into(),
    own: Vec::new(),
    permissions: Default::default(),
    private_tags: vec!["private".into()],
    held: Default::default(),
    self_build: false,
    may_see: passepartout::domain::label::Privacy::Private,
    hosts: Vec::new(),
});
static SURVEY: LazyLock<Survey> =
    LazyLock::new(|| Survey::new(Arc::new(NoVault), Arc::new(Nowhere), None, Duration::from_secs(10)));

/// Judges an action with all gates; every gate says something and none breaks.
fn verdict(tool: &str, argument: &str, value: &str) -> (Verdict, Vec<String>) {
    let args = Map::from_iter([(argument.to_string(), Value::from(value))]);
    let action =
        Action::new(&Toolbox::builtin(), tool, args, Some("A test asks for it."), Labels::MODEL).expect("right types");
    let facts = SURVEY.look(&action, &SCOPE);
    let tool = Toolbox::builtin().get(tool).expect("a tool");
    let gates = standard(Vec::new());
    let trace =
        ask_all(&gates, &Case { action: &action, tool, scope: &SCOPE, facts: &facts, set_off: Sensor::UserInput });
    assert_eq!(trace.opinions.len(), gates.iter().count());
    for opinion in &trace.opinions {
        let broke = opinion.verdict.reason().is_some_and(|reason| reason.text.contains("The gate failed"));
        assert!(!broke, "{}: {:?}", opinion.gate, opinion.verdict);
    }
    let unknown = facts.shell.iter().flat_map(|shell| &shell.scripts).flat_map(|script| script.unknown.clone());
    (trace.strictest().expect("seven gates").verdict.clone(), unknown.collect())
}

/// What cannot be read for certain never passes.
fn shell(bytes: &[u8]) {
    let text = text(bytes);
    let (verdict, unknown) = verdict("shell", "command", &text);
    if !unknown.is_empty() {
        assert!(!matches!(verdict, Verdict::Pass(_)), "{text:?} passes, though {unknown:?}");
    }
}

fn lisp_code(bytes: &[u8]) {
    let text = text(bytes);
    let found = lisp::examine(&text);
    let (verdict, _) = verdict("eval-lisp", "code", &text);
    if !found.is_empty() {
        assert!(!matches!(verdict, Verdict::Pass(_)), "{text:?} passes, though {found:?}");
    }
}

/// What is balanced or changed can be read by its brackets, whatever it was, and what it says of itself lies in the text.
fn lisp_edit(bytes: &[u8]) {
    let text = text(bytes);
    let checked = lisp_text::check::check(&text).expect("it is short");
    assert!(!checked.words().is_empty());
    let scanned = lisp_text::scan::scan(&text).expect("it is short");
    assert_eq!(lisp_text::check::unbalanced(&scanned).is_empty(), checked.unbalanced.is_empty());
    if let Ok(balanced) = lisp_text::balance::balance(&text) {
        let again = lisp_text::check::check(&balanced.text).expect("it is short");
        assert!(again.is_sound() && !balanced.steps.is_empty(), "{text:?} became {:?}", balanced.text);
    }
    let Ok(forms) = lisp_text::forms::forms(&scanned) else { return };
    for form in forms.iter().filter(|form| form.name.is_some()).take(3) {
        assert!(text.get(form.place.clone()).is_some());
        for what in lisp_text::edit::DO {
            let name = form.name.unwrap_or("");
            let line = Some(lisp_text::Place::of(&text, form.place.start).line);
            let given = if *what == "rename" { "new-name" } else { "(list FORM)" };
            let wish = Wish { what, name, kind: form.kind, line, text: given, everywhere: true };
            if let Ok(edited) = lisp_text::edit::edit(&text, &wish) {
                assert!(lisp_text::check::check(&edited.text).expect("it is short").is_sound(), "{text:?} {wish:?}");
            }
        }
    }
}

/// Blocks lie in the text, and code that is none of theirs is not taken for it.
fn org_blocks(bytes: &[u8]) {
    let text = text(bytes);
    let found = blocks(&text);
    let lines = text.matches('\n').count() + 1;
    for block in &found.blocks {
        let body = text.get(block.body.clone()).expect("it lies in it");
        assert!(body.is_empty() || body.ends_with('\n'), "{body:?}");
        assert!(block.code(&text).len() <= body.len() && block.line <= lines);
    }
    assert!(found.problems.iter().all(|(line, what)| (1..=lines).contains(line) && !what.is_empty()));
}

/// A masked text holds no secret any more.
fn secrets(bytes: &[u8]) {
    let text = text(bytes);
    let found = secret::scan(&text);
    let (masked, taken) = secret::mask(&text);
    assert_eq!(found.len(), taken.len());
    if found.is_empty() {
        assert_eq!(masked, text);
    }
    let (again, left) = secret::mask(&masked);
    assert!(left.is_empty(), "{text:?} masked is {masked:?}, and masked again {again:?}");
}

/// What could run is a part of the text, and nothing of it is new where the text stays as it is.
fn live_pieces(bytes: &[u8]) {
    let text = text(bytes);
    for file in ["a.org", "a.el", "a.txt", "a.c"] {
        assert!(pieces(file, &text).iter().all(|piece| text.contains(piece.code)), "{file}");
        assert_eq!(fresh(&[Change { file, before: Some(&text), after: &text }]).len(), 0, "{file}");
    }
}

/// Inert text has no structure, and nothing in it runs, however it is cut while it streams.
fn made_inert(bytes: &[u8]) {
    let text = text(bytes);
    let whole = inert(&text);
    // Header arguments are some only in a drawer or at a block, and there is none.
    let alive: Vec<_> = pieces("a.org", &whole).into_iter().filter(|piece| piece.kind != Kind::Argument).collect();
    assert_eq!(alive, [], "{whole:?}");
    let outline = scanned(&whole);
    assert_eq!(outline.nodes.len(), 1, "a heading in {whole:?}");
    let node = &outline.nodes[0];
    assert!(node.properties.is_empty() && node.scheduled.is_none() && node.deadline.is_none(), "{whole:?}");
    assert!(outline.filetags.is_empty() && outline.title.is_none() && outline.startup.is_empty(), "{whole:?}");
    let lower = whole.to_ascii_lowercase();
    for bad in ["local variables:", "-*-", "[[elisp:", "[[shell:", "<elisp:", "\u{202e}", "\u{1b}", "\u{0}"] {
        assert!(!lower.contains(bad), "{bad:?} in {whole:?}");
    }
    for line in whole.lines() {
        let bare = line.trim_start();
        assert!(!bare.starts_with("#+"), "a keyword in {whole:?}");
        assert!(!bare.starts_with("%%("), "a diary sexp in {whole:?}");
    }
    // Any way of cutting a stream gives the same text.
    for size in [1, 3, 7, 64] {
        let (mut stream, mut streamed) = (Inert::default(), String::new());
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let end = (size.min(rest.len())..=rest.len()).find(|&at| rest.is_char_boundary(at)).unwrap_or(rest.len());
            let (piece, later) = rest.split_at(end);
            streamed.push_str(&stream.push(piece));
            rest = later;
        }
        streamed.push_str(&stream.finish());
        assert_eq!(streamed, whole, "in pieces of {size}");
    }
    let shown = exact(&text);
    assert!(!shown.chars().any(|c| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}'), "{shown:?}");
    assert_eq!(exact(&shown), shown);
}

/// Every sentence is a request of some kind, and the same one each time.
fn recall(bytes: &[u8]) {
    let text = text(bytes);
    let request = grammar::parse(&text, now());
    assert_eq!(format!("{request:?}"), format!("{:?}", grammar::parse(&text, now())));
}

/// A query that is read is printed so that it is read again as the same; one that is not says where and why.
fn query(bytes: &[u8]) {
    let text = text(bytes);
    assert_eq!(is_plain(&text), is_plain(&text));
    match parse(&text) {
        Ok(query) => {
            let printed = print(&query);
            // Written out it may be longer than what can be typed.
            if printed.len() <= passepartout::domain::query::MAX_BYTES {
                assert_eq!(parse(&printed).as_ref(), Ok(&query), "{text:?} as {printed:?}");
            }
        }
        Err(error) => {
            assert!(!error.what.is_empty() && error.column >= 1 && error.width >= 1);
            assert!(error.column <= text.chars().count().max(1), "{error:?} in {text:?}");
            assert!(error.pointed(&text).lines().count() >= 3);
        }
    }
}

/// Settings that cannot be read change nothing and end nothing.
fn settings(bytes: &[u8]) {
    let Ok(settings) = Sexp::read(&text(bytes)) else { return };
    let surroundings = Surroundings::of_settings(&settings);
    let mut config = Config::read(&surroundings);
    config.take_settings(&settings);
    assert!(config.store.is_absolute() || config.store.as_os_str().is_empty() || settings.text_at("store").is_some());
}

/// What a `SKILL.md` says is bounded, on one line where it must be, and is what stands in it.
fn handbook(bytes: &[u8]) {
    let text = text(bytes);
    let Ok(read) = handbook::read("a", &text) else { return };
    assert_eq!(read.name, "a");
    assert!(handbook::is_name(&read.name) && !read.description.is_empty() && read.description.chars().count() <= 1024);
    assert!(!read.description.contains(['\n', '\r', '\t']) && !read.body.trim().is_empty());
    assert!(text.contains(&read.body), "the body is a part of the file");
    assert!(read.offer().chars().count() < 8 * 320 && !read.offer().contains('\n'));
}
