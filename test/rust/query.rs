//! The query language: what is read, what is said of what cannot be, and what is found.

mod naive;
mod parse;

use crate::support::engine::Home;
use jiff::Timestamp;
use jiff::civil::{DateTime, date};
use passepartout::domain::context::lexical::Index;
use passepartout::domain::focus::{Project, Reach};
use passepartout::domain::label::Privacy;
use passepartout::domain::memory::document::{Document, PrivacyOptions};
use passepartout::domain::memory::sight::Sight;
use passepartout::domain::memory::view::View;
use passepartout::domain::org::property::Inheritance;
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::domain::query::field::{FIELDS, SORTS, STATES, THINGS};
use passepartout::domain::query::run::{Found, Total, World, answer, find};
use passepartout::domain::query::show::{Style, plain};
use passepartout::domain::query::{hint, parse::parse as read};
use passepartout::edge::engine::query::Manner;
use std::sync::Arc;

const HOME: &str = "\
#+TITLE: Home
#+TODO: TODO NEXT WAITING | DONE
#+FILETAGS: :house:
* Kitchen                                                          :project:
:PROPERTIES:
:ID: kitchen
:END:
Renovation of the kitchen. The boiler code is 4711.
** NEXT [#A] Order tiles                                             :errand:
SCHEDULED: <2026-11-17 Tue>
:PROPERTIES:
:ID: tiles
:EFFORT: 0:30
:END:
The white ones, from the mill at Corran. See [[id:ada][Ada]].
** TODO [#B] Paint the walls
DEADLINE: <2026-11-25 Wed>
:PROPERTIES:
:EFFORT: 2:00
:END:
** WAITING Plumber calls back
** DONE Measure the window
CLOSED: [2026-11-10 Tue 18:00]
* Secret plans                                                       :private:
:PROPERTIES:
:ID: secret
:END:
A surprise for [[id:ada][Ada]]: larch from Corran.
";

const PEOPLE: &str = "\
* People
** Ada Lovelace                                                       :people:
:PROPERTIES:
:ID: ada
:END:
Sister of Bob. She orders tea and tiles.
** 東京の友達
東京都に住んでいる。明日会う。
** 图书馆
我在图书馆看书。
** TODO Réparer le vélo
DEADLINE: <2026-10-01 Thu>
";

pub fn now() -> DateTime {
    // A Sunday.
    date(2026, 11, 22).at(9, 0, 0, 0)
}

pub fn view(files: &[(&str, &str)]) -> View {
    let mut view = View::default();
    for (at, (file, text)) in files.iter().enumerate() {
        let outline = scan(Arc::from(*text), &ScanOptions::default()).expect("a short text");
        let modified = Timestamp::from_second(1_795_000_000 - 86_400 * 30 * at as i64).expect("a time");
        view.put(Arc::new(Document::build(*file, outline, &PrivacyOptions::default()).changed_at(Some(modified))));
    }
    view
}

pub fn memex() -> View {
    view(&[("/m/home.org", HOME), ("/m/people.org", PEOPLE)])
}

/// Asks, and hands over what was found.
pub fn with<T>(view: &View, clearance: Privacy, work: impl FnOnce(&World<'_>) -> T) -> T {
    with_index(view, &Index::of(view), clearance, work)
}

pub fn with_index<T>(view: &View, index: &Index, clearance: Privacy, work: impl FnOnce(&World<'_>) -> T) -> T {
    let local = |at: Timestamp| at.to_zoned(jiff::tz::TimeZone::UTC).datetime();
    work(&World { view, index, now: now(), local: &local, clearance, inheritance: &Inheritance::Never })
}

fn titles(found: &Found) -> String {
    found.hits.iter().map(|hit| hit.node.title()).collect::<Vec<_>>().join(", ")
}

fn ask(view: &View, query: &str) -> Found {
    let query = read(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    with(view, Privacy::Private, |world| answer(&query, world, 20))
}

#[test]
fn each_term_finds_what_it_says() {
    let view = memex();
    for (query, expected) in [
        ("id:tiles", "Order tiles"),
        ("id:[[id:tiles][the tiles]]", "Order tiles"),
        ("todo:TODO", "Paint the walls, Réparer le vélo"),
        ("todo:NEXT,WAITING", "Order tiles, Plumber calls back"),
        ("todo:open sort:title", "Order tiles, Paint the walls, Plumber calls back, Réparer le vélo"),
        ("todo:done", "Measure the window"),
        ("tag:project level:2", "Order tiles, Paint the walls, Plumber calls back, Measure the window"),
        ("tag:HOUSE level:1", "Kitchen, Secret plans"),
        ("own-tag:project", "Kitchen"),
        ("tag:errand,people", "Order tiles, Ada Lovelace"),
        ("prop:EFFORT", "Order tiles, Paint the walls"),
        ("prop:effort=0:30", "Order tiles"),
        ("prop:EFFORT>0:45", "Paint the walls"),
        ("prop:EFFORT~2:", "Paint the walls"),
        ("priority:A..B", "Order tiles, Paint the walls"),
        ("level:0", "Home, people.org"),
        ("title:vélo", "Réparer le vélo"),
        ("file:people level:1", "People"),
        ("file:*/home.org level:1", "Kitchen, Secret plans"),
        ("under:kitchen todo:TODO", "Paint the walls"),
        ("under:\"Home/Kitchen\"", "Order tiles, Paint the walls, Plumber calls back, Measure the window"),
        ("parent:People", "Ada Lovelace, 東京の友達, 图书馆, Réparer le vélo"),
        ("links:tiles", "Ada Lovelace"),
        ("backlinks:ada", "Order tiles, Secret plans"),
        ("scheduled:<today", "Order tiles"),
        ("deadline:+7d", "Paint the walls"),
        ("deadline:<today", "Réparer le vélo"),
        ("deadline:any sort:deadline", "Réparer le vélo, Paint the walls"),
        ("deadline:any sort:-deadline", "Paint the walls, Réparer le vélo"),
        ("deadline:none todo:any", "Order tiles, Plumber calls back, Measure the window"),
        ("planned:2026-11", "Order tiles, Paint the walls"),
        ("closed:2026-11-10", "Measure the window"),
        ("closed:tuesday", ""),
        ("modified:-2w level:1", "Kitchen, Secret plans"),
        ("is:overdue", "Réparer le vélo"),
        ("is:private", "Secret plans"),
        ("is:file", "Home, people.org"),
        ("has:priority", "Order tiles, Paint the walls"),
        ("has:children level:1", "Kitchen, People"),
        ("has:links", "Order tiles, Secret plans"),
        ("has:backlinks", "Ada Lovelace"),
        ("has:id", "Kitchen, Order tiles, Secret plans, Ada Lovelace"),
        // Text.
        ("kitchens", "Kitchen"),
        ("tiles corran", "Order tiles"),
        ("\"mill at Corran\"", "Order tiles"),
        ("\"at mill\"", ""),
        ("\"ordering tiles\"", ""),
        ("ordering tiles", "Order tiles, Ada Lovelace"),
        ("velo", "Réparer le vélo"),
        ("東京", "東京の友達"),
        ("東京都", "東京の友達"),
        ("京都", "東京の友達"),
        ("东京", ""),
        ("图书馆", "图书馆"),
        ("看书", "图书馆"),
        ("corran -tag:private", "Order tiles"),
        ("larch or vélo sort:title", "Réparer le vélo, Secret plans"),
        ("(tag:errand or tag:people) -larch", "Order tiles, Ada Lovelace"),
        ("not (tag:house or file:people)", ""),
        ("the kitchen", "Kitchen"),
        ("sort:-priority todo:any limit:2", "Paint the walls, Order tiles"),
        ("sort:todo todo:any limit:3", "Paint the walls, Réparer le vélo, Order tiles"),
        // The same as s-expressions.
        ("(and (todo \"TODO\") (deadline :to \"2026-10-31\"))", "Réparer le vélo"),
        ("(or (tags \"errand\" \"people\") (heading \"window\"))", "Order tiles, Measure the window, Ada Lovelace"),
        (
            "(and (tags \"project\") (level 2) (not (todo \"NEXT\" \"DONE\")) (sort \"title\") (limit 1))",
            "Paint the walls",
        ),
        ("(and \"tiles\" \"corran\")", "Order tiles"),
    ] {
        assert_eq!(titles(&ask(&view, query)), expected, "{query}");
    }
}

#[test]
fn nothing_is_answered_with_what_may_be_meant() {
    let view = memex();
    let check = |query: &str, expected: &[&str]| {
        let parsed = read(query).expect(query);
        let notes = with(&view, Privacy::Private, |world| {
            let found = answer(&parsed, world, 20);
            match found.hits.is_empty() && found.notes.is_empty() {
                true => hint::hints(&parsed, world, Privacy::Private),
                false => found.notes,
            }
        });
        assert_eq!(notes, expected, "{query}");
    };
    check("tag:erand", &["no heading has the tag erand; did you mean errand?"]);
    check("todo:todo", &["no heading has the keyword todo; did you mean TODO?"]);
    check("prop:EFORT", &["no heading has the property EFORT; did you mean EFFORT?"]);
    check("id:nowhere", &["no heading has the id “nowhere”"]);
    check("under:nowhere", &["no heading has the id, the title or the path “nowhere”"]);
    check("tiles zanzibar", &["nothing has all of these words; this has some of them"]);
    check("tag:errand", &[]);
}

#[test]
fn what_is_private_is_no_candidate_for_a_reader_elsewhere() {
    let view = memex();
    for query in [
        "larch",
        "tag:private",
        "id:secret",
        "backlinks:ada",
        "title:secret",
        "",
        "-tag:nothing",
        "similar:tiles",
        "\"surprise for\"",
    ] {
        let query = read(query).expect("a query");
        with(&view, Privacy::Open, |world| {
            for found in [answer(&query, world, 100), find(&query, world, 100)] {
                assert!(!titles(&found).contains("Secret"), "{query:?}: {}", titles(&found));
                assert!(!found.notes.iter().any(|note| note.contains("Secret")), "{query:?}: {:?}", found.notes);
            }
        });
    }
    // A private note cannot be used as a name, and what only it links to has no backlinks.
    let only = view_of_one_link();
    for query in ["under:secret", "links:secret", "similar:secret", "has:backlinks"] {
        let query = read(query).expect("a query");
        assert_eq!(with(&only, Privacy::Open, |world| answer(&query, world, 10)).hits.len(), 0, "{query:?}");
    }
    let query = read("has:backlinks").expect("a query");
    assert_eq!(with(&only, Privacy::Private, |world| answer(&query, world, 10)).hits.len(), 1);
}

fn view_of_one_link() -> View {
    view(&[(
        "/m/a.org",
        "* Secret :private:\n:PROPERTIES:\n:ID: secret\n:END:\nTo [[id:open]].\n* Open\n:PROPERTIES:\n:ID: open\n:END:\n",
    )])
}

#[test]
fn a_word_is_found_only_where_the_reader_looks() {
    let view = memex();
    let reach = Reach::Project(Project::Node { id: "kitchen".into(), title: "Kitchen".into() });
    let narrow = view.narrowed(Sight::of(&reach, &view, &[]));
    for (query, everywhere, here) in [
        ("tiles", 2, 1),
        ("tiles sort:title", 2, 1),
        ("larch or plumber", 2, 1),
        ("\"tea and tiles\"", 1, 0),
        ("-tiles level:1..9", 9, 4),
    ] {
        assert_eq!(ask(&view, query).hits.len(), everywhere, "{query}");
        assert_eq!(ask(&narrow, query).hits.len(), here, "{query}");
    }
}

#[test]
fn what_is_typed_finds_the_beginnings_of_titles() {
    let view = memex();
    let typing = |text: &str| {
        let query = read(text).expect(text);
        titles(&with(&view, Privacy::Private, |world| find(&query, world, 5)))
    };
    assert_eq!(typing("kit"), "Kitchen");
    assert_eq!(typing("pl"), "Plumber calls back, Secret plans, People, people.org");
    assert_eq!(typing("tiles"), "Order tiles, Ada Lovelace");
    assert_eq!(typing("tag:project win"), "Measure the window");
    assert_eq!(typing("图书"), "图书馆");
}

#[test]
fn similar_headings_share_rare_words() {
    let text = "* A\n:PROPERTIES:\n:ID: a\n:END:\nlarch boards for the deck\n* B\nlarch planks and boards\n* C\ntea and cake\n* D\ntea boards\n";
    let view = view(&[("/m/w.org", text)]);
    let found = ask(&view, "similar:a");
    assert!(titles(&found).starts_with("B"), "{}", titles(&found));
    assert!(!titles(&found).contains('C') && !titles(&found).contains('A'), "{}", titles(&found));
}

#[test]
fn a_terminal_is_told_where_what_and_when() {
    let view = memex();
    let shown = |query: &str| {
        let found = ask(&view, query);
        let total = found.total.words(found.hits.len());
        format!("{}{total}\n", plain(&found, &Style { coloured: false, width: 80 }))
    };
    insta::assert_snapshot!(shown("corran"), @r#"
    Secret plans :house:private:
      /m/home.org:24
      A surprise for Ada: larch from Corran.
    NEXT [#A] Order tiles :house:project:errand:
      /m/home.org:9
      Kitchen  scheduled <2026-11-17 Tue>
      The white ones, from the mill at Corran. See Ada.
    2 headings
    "#);
    insta::assert_snapshot!(shown("todo:TODO sort:deadline"), @r#"
    TODO Réparer le vélo
      /m/people.org:11
      People  deadline <2026-10-01 Thu>
    TODO [#B] Paint the walls :house:project:
      /m/home.org:16
      Kitchen  deadline <2026-11-25 Wed>
    2 headings
    "#);
    insta::assert_snapshot!(shown("tag:house limit:1"), @r#"
    Home :house:
      /m/home.org:1
    1 of 7 headings
    "#);
    insta::assert_snapshot!(shown("tag:nobody"), @"nothing");
}

#[test]
fn text_of_notes_moves_no_terminal() {
    let view = view(&[("/m/x.org", "* Evil \u{1b}[31m \u{202e}title\nbody \u{1b}]0;x\u{7} evil\n")]);
    let found = ask(&view, "evil");
    let text = plain(&found, &Style { coloured: false, width: 80 });
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{text}");
}

#[test]
fn the_manual_has_every_term() {
    let manual = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/manual.org")).expect("the manual");
    let table = manual.split_once("#+NAME: query-terms\n").expect("the table of terms").1;
    let rows: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    for known in FIELDS {
        let row = rows.iter().find(|row| row.starts_with(&format!("| ={}= |", known.example)));
        assert!(row.is_some(), "the manual lacks {}", known.example);
    }
    // What the table shows can be typed.
    for row in rows.iter().skip(2) {
        let cell = row.trim_matches('|').split('|').next().unwrap_or("");
        for typed in cell.split("=, =").map(|typed| typed.trim().trim_matches('=')) {
            assert!(read(typed).is_ok(), "{typed}");
        }
    }
    let all = |names: Vec<&str>, at: &str| {
        let row = rows.iter().find(|row| row.starts_with(&format!("| ={at}"))).expect("a row");
        for name in names {
            assert!(row.contains(&format!("={name}=")), "the manual lacks {name} at {at}");
        }
    };
    all(THINGS.iter().map(|(name, _)| *name).collect(), "has:");
    all(STATES.iter().map(|(name, _)| *name).collect(), "is:");
    all(SORTS.iter().map(|(name, _)| *name).collect(), "sort:");
}

#[test]
fn totals_say_whether_they_are_exact() {
    let text: String = (0..3000).map(|at| format!("* Heading {at} word{}\n", at % 7)).collect();
    let view = view(&[("/m/many.org", &text)]);
    let words = |query: &str| {
        let found = ask(&view, query);
        found.total.words(found.hits.len())
    };
    assert_eq!(words("level:1 limit:5"), "5 of at least 2005 headings");
    assert_eq!(words("title:999"), "3 headings");
    assert_eq!(words("title:2999"), "1 heading");
    assert_eq!(words("sort:title level:1"), "20 of 3000 headings");
    assert_eq!(words("word3 limit:10"), "10 of at least 11 headings");
    assert_eq!(words("title:nowhere"), "nothing");
}

#[test]
fn what_one_keyword_or_tag_finds_is_counted_whole() {
    let text = "* TODO a :x:\n** b\n".repeat(3000);
    let view = view(&[("/m/a.org", &text), ("/m/b.org", &text.replace(":x:", ":X:"))]);
    let total = |query: &str, clearance: Privacy| {
        let query = read(query).expect(query);
        with(&view, clearance, |world| answer(&query, world, 5)).total
    };
    assert_eq!(total("todo:TODO", Privacy::Private), Total::Exactly(6000));
    assert_eq!(total("todo:open sort:file", Privacy::Private), Total::Exactly(6000));
    assert_eq!(total("tag:x", Privacy::Private), Total::Exactly(12_000));
    assert_eq!(total("tag:x sort:title", Privacy::Private), Total::Exactly(12_000));
    // What may be hidden is looked at, and what has two conditions.
    assert_eq!(total("todo:TODO", Privacy::Open), Total::AtLeast(2005));
    assert_eq!(total("tag:x level:1", Privacy::Private), Total::AtLeast(1005));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_answers_and_says_how_it_understood() {
    let home = Home::new(&[("home.org", HOME), ("people.org", PEOPLE)]);
    let engine = home.engine().await;
    home.read(&engine).await;
    let answer =
        engine.query(&engine.view(), "(tags \"errand\")", None, Privacy::Open, Manner::Whole).expect("a query");
    assert_eq!((answer.query.as_str(), answer.found.hits.len()), ("tag:errand", 1));
    let error = engine
        .query(&engine.view(), "tga:errand", None, Privacy::Open, Manner::Whole)
        .map(|_| ())
        .expect_err("no field");
    assert_eq!(error.column, 1);
    // “This” is the heading at point, for whoever may see it.
    let point = |words: &str| HOME.find(words).expect("it stands there");
    for (words, clearance, expected) in [
        ("The white ones", Privacy::Open, "links:tiles"),
        ("A surprise", Privacy::Private, "links:secret"),
        ("A surprise", Privacy::Open, "links:this"),
    ] {
        engine.focus_at(&home.file("home.org"), point(words)).expect("a heading");
        let answer = engine.query(&engine.view(), "links:this", None, clearance, Manner::Whole).expect("a query");
        assert_eq!(answer.query, expected, "{words}");
        assert!(!answer.found.notes.join(" ").contains("ecret") || clearance == Privacy::Private);
    }
    engine.close().await;
}

#[test]
fn a_property_holds_below_as_the_user_has_set_it() {
    const TEXT: &str = "\
* House
:PROPERTIES:
:OWNER: Ada
:END:
** Roof
:PROPERTIES:
:OWNER+: Ben
:END:
** Cellar
:PROPERTIES:
:OWNER: nil
:END:
*** Boiler
* Garden
** Shed
:PROPERTIES:
:OWNER+: Cy
:END:
";
    let view = view(&[("/m/own.org", TEXT)]);
    let check = |inheritance: &Inheritance, query: &str, expected: &str| {
        let parsed = read(query).expect(query);
        let found =
            with(&view, Privacy::Private, |world| answer(&parsed, &World { inheritance, ..world_of(world) }, 20));
        assert_eq!(titles(&found), expected, "{query} {inheritance:?}");
    };
    let named = Inheritance::Named(vec!["owner".to_string()]);
    for query in ["prop:OWNER", "prop:OWNER level:1..9"] {
        check(&Inheritance::Never, query, "House, Roof, Shed");
        check(&Inheritance::Always, query, "House, Roof, Shed");
    }
    check(&Inheritance::Never, "prop:OWNER=Ada", "House");
    check(&Inheritance::Never, "prop:OWNER=Cy", "Shed");
    check(&Inheritance::Never, "prop:OWNER=\"Ada Ben\"", "");
    check(&named, "prop:OWNER=\"Ada Ben\"", "Roof");
    check(&named, "prop:OWNER~ada", "House, Roof");
    check(&Inheritance::Named(vec!["OTHER".to_string()]), "prop:OWNER~ada", "House");
}

/// As Org has it, what a line says of the whole file is inherited, and nothing where nothing is.
#[test]
fn a_property_of_a_whole_file_holds_where_it_is_inherited() {
    const TEXT: &str = "\
#+PROPERTY: OWNER Dan
#+PROPERTY: owner+ Eve
#+CATEGORY: farm
* House
:PROPERTIES:
:OWNER: Ada
:END:
** Roof
* Garden
** Shed
:PROPERTIES:
:OWNER+: Cy
:CATEGORY: tools
:END:
* Pond
:PROPERTIES:
:OWNER: nil
:END:
";
    let view = view(&[("/m/other.org", "* Elsewhere\n"), ("/m/own.org", TEXT)]);
    let check = |inheritance: &Inheritance, query: &str, expected: &str| {
        for query in [query.to_string(), format!("{query} level:1..9")] {
            let parsed = read(&query).expect("it is a query");
            let found =
                with(&view, Privacy::Private, |world| answer(&parsed, &World { inheritance, ..world_of(world) }, 20));
            assert_eq!(titles(&found), expected, "{query} {inheritance:?}");
        }
    };
    let named = Inheritance::Named(vec!["owner".to_string()]);
    check(&Inheritance::Never, "prop:OWNER is:heading", "House, Shed");
    check(&named, "prop:OWNER is:heading", "House, Roof, Garden, Shed");
    check(&Inheritance::Always, "prop:OWNER=\"Dan Eve\" is:heading", "Garden");
    check(&named, "prop:OWNER=\"Dan Eve Cy\"", "Shed");
    check(&named, "prop:OWNER~ada", "House, Roof");
    // A category is always inherited.
    check(&Inheritance::Never, "prop:CATEGORY=farm is:heading", "House, Roof, Garden, Pond");
    check(&Inheritance::Never, "prop:CATEGORY=tools", "Shed");
}

fn world_of<'a>(world: &World<'a>) -> World<'a> {
    World { ..*world }
}

#[test]
fn a_hint_for_a_label_of_its_own_names_nothing_private() {
    let view = view(&[("/m/a.org", "* Open :garden:\n* Hidden :crypt:secretplan:\n** Below :onlyhere:\n")]);
    let privacy = PrivacyOptions { tags: vec!["crypt".into()] };
    let text = view.text("/m/a.org").expect("a text");
    let outline = scan(text, &ScanOptions::default()).expect("a short text");
    let view = view.with(Arc::new(Document::build("/m/a.org", outline, &privacy)));
    let hints = |query: &str, naming: Privacy| {
        with(&view, Privacy::Private, |world| hint::hints(&read(query).expect(query), world, naming))
    };
    assert_eq!(
        hints("tag:secretplam", Privacy::Private),
        ["no heading has the tag secretplam; did you mean secretplan?"]
    );
    assert_eq!(hints("tag:secretplam", Privacy::Open), ["no heading has the tag secretplam"]);
    assert_eq!(hints("tag:gardem", Privacy::Open), ["no heading has the tag gardem; did you mean garden?"]);
    // A name that is there is not said to be missing.
    assert_eq!(hints("tag:onlyhere", Privacy::Open), Vec::<String>::new());
}

#[test]
fn days_and_links_of_one_large_file_take_no_time_squared() {
    let mut text = String::new();
    for n in 0..20_000 {
        let day = date(2026, 1, 1).saturating_add(jiff::Span::new().days(n % 7_000));
        text.push_str(&format!("* Task {n}\nSCHEDULED: <{day}>\n[[id:other-{n}]]\n"));
    }
    text.push_str("* Last\n");
    let view = view(&[("/m/large.org", &text)]);
    let begun = std::time::Instant::now();
    let days: Vec<_> = passepartout::domain::memory::query::planned_by_day(
        &view,
        passepartout::domain::memory::query::Planning::Scheduled,
        jiff::civil::Date::MIN,
        jiff::civil::Date::MAX,
    )
    .map(|(node, day)| (day, node.index))
    .collect();
    assert!(days.is_sorted() && days.len() == 20_000);
    assert_eq!(ask(&view, "has:links title:1999 limit:30").hits.len(), 12);
    assert_eq!(ask(&view, "has:links title:last").hits.len(), 0);
    // With a look at every heading for each of them it took minutes.
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
}

/// Whoever wants the first few by day gets those that sorting everything puts first: by time, those without one last,
/// then by file and line, or by whatever else is asked for.
#[test]
fn the_first_few_by_day_are_the_first_of_all() {
    let stamp = |n: usize| match n % 7 {
        0 => "<2026-11-22 Sun 09:30>".to_string(),
        1 => "<2026-11-22 Sun>".to_string(),
        2 => "<2026-11-22 Sun 08:00-10:00>".to_string(),
        3 => "<2026-11-23 Mon 00:00 +1w>".to_string(),
        4 => "<2026-11-22 Sun 23:59>".to_string(),
        5 => "<2026-11-22 Sun 9:30>--<2026-11-23 Mon>".to_string(),
        _ => format!("<2026-11-{:02}>", 20 + n % 9),
    };
    let file = |at: usize| {
        (0..40).fold(String::new(), |text, n| {
            let (n, keyword) = (at * 41 + n, if n % 3 == 0 { "DONE" } else { "TODO" });
            text + &format!("* {keyword} [#{}] Task {n}\nSCHEDULED: {}\n", ['A', 'B', 'C'][n % 3], stamp(n))
        })
    };
    let texts: Vec<_> = (0..6).map(|at| (format!("/m/{at}.org"), file(at))).collect();
    let view = view(&texts.iter().map(|(file, text)| (file.as_str(), text.as_str())).collect::<Vec<_>>());
    let found = |query: &str| {
        let titles = |found: Found| found.hits.iter().map(|hit| hit.node.title().to_string()).collect::<Vec<_>>();
        titles(ask(&view, query))
    };
    for sort in ["scheduled", "scheduled,file", "scheduled,priority"] {
        let all = found(&format!("todo:TODO sort:{sort} limit:240"));
        assert!(all.len() > 150, "{}", all.len());
        for limit in [1, 2, 5, 17, 40] {
            let few = found(&format!("todo:TODO scheduled:<+30d sort:{sort} limit:{limit}"));
            assert_eq!(few, all[..limit], "{sort}, the first {limit}");
        }
    }
}

/// “This” is the heading at point, wherever a query names one, and nowhere else.
#[test]
fn this_is_the_heading_at_point() {
    use passepartout::domain::query::print::print;
    for (typed, expected) in [
        ("backlinks:this", "backlinks:ada"),
        ("-(under:This or parent:this) todo:open", "-(under:ada or parent:ada) todo:open"),
        ("links:this similar:this", "links:ada similar:ada"),
        ("this title:this tag:this", "this title:this tag:this"),
    ] {
        assert_eq!(print(&read(typed).expect("a query").at("ada")), expected, "{typed}");
    }
}

/// A star stands for nothing, and who writes one is told.
#[test]
fn a_beginning_of_a_word_is_hinted_at() {
    for (query, said) in [("til*", true), ("larch til*", true), ("tiles", false), ("*", false)] {
        let found = ask(&memex(), query);
        let hint = found.notes.iter().any(|note| note.contains("title:til finds parts of words"));
        assert_eq!(hint, said, "{query}: {:?}", found.notes);
    }
}

/// A note is a sentence, and one that asks keeps its question mark.
#[test]
fn notes_end_as_sentences() {
    use passepartout::domain::query::show::ended;
    for (note, expected) in [
        ("no heading has the tag a", "no heading has the tag a."),
        ("did you mean work?", "did you mean work?"),
        ("it ends.", "it ends."),
    ] {
        assert_eq!(ended(note), expected);
    }
}

/// A count that Org keeps in a title, and the target of a link, are no part of the name.
#[test]
fn names_are_compared_without_counts_and_links() {
    let view =
        view(&[("/m/p.org", "* Proj [0/2] [0%]\n** One\n** See [[https://example.org][the mill]] [1/2]\n*** Two\n")]);
    for (query, expected) in [
        ("under:Proj", "One, See [[https://example.org][the mill]] [1/2], Two"),
        ("parent:proj", "One, See [[https://example.org][the mill]] [1/2]"),
        ("parent:\"Proj [0/2] [0%]\"", "One, See [[https://example.org][the mill]] [1/2]"),
        ("parent:\"see the mill\"", "Two"),
        ("under:\"Proj/See the mill\"", "Two"),
    ] {
        let found = ask(&view, query);
        assert_eq!(titles(&found), expected, "{query}: {:?}", found.notes);
    }
}

#[test]
fn a_block_of_ours_is_not_found_for_what_stands_in_it_and_names_of_keywords_are_no_words() {
    let dashboard = "#+title: Dashboard\n#+filetags: :desk:\n* Open\nMine.\n#+BEGIN: passepartout-query :query \"larch\"\n\
                     | Order the larch |\n#+END:\nBehind it.\n";
    let view = view(&[("/m/dash.org", dashboard), ("/m/work.org", "#+title: Work\n* Order the larch\n")]);
    let found = |query: &str| {
        let query = read(query).expect("it can be read");
        let found = with(&view, Privacy::Private, |world| answer(&query, world, 10));
        found.hits.iter().map(|hit| hit.node.title().to_string()).collect::<Vec<_>>()
    };
    for (query, expected) in [
        ("larch", vec!["Order the larch"]),
        ("\"order the larch\"", vec!["Order the larch"]),
        ("passepartout", vec![]),
        ("filetags", vec![]),
        ("mine behind", vec!["Open"]),
    ] {
        assert_eq!(found(query), expected, "{query}");
    }
    assert_eq!(found("dashboard").len(), 1, "values of keywords count");
    assert_eq!(found("desk").len(), 1);
}
