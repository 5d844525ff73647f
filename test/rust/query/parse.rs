//! What is read, and what is said of what cannot be.

use passepartout::domain::query::date::{Moment, Unit, When};
use passepartout::domain::query::field::{FIELDS, SORTS, STATES, THINGS};
use passepartout::domain::query::parse::{is_plain, parse};
use passepartout::domain::query::print::print;
use passepartout::domain::query::{Filter, Query, Relation, Sort, Stamp, Term, Test, Todo};
use proptest::prelude::*;

/// Each is read as the query that the second text writes out.
#[test]
fn queries_are_read() {
    for (typed, expected) in [
        ("", ""),
        ("  ", ""),
        ("larch deck", "larch deck"),
        ("larch AND deck", "larch deck"),
        ("larch & deck | oak", "larch deck or oak"),
        ("larch or deck OR oak", "larch or deck or oak"),
        ("larch (deck or oak)", "larch (deck or oak)"),
        ("(larch deck) or oak", "larch deck or oak"),
        ("((larch))", "larch"),
        ("-larch", "-larch"),
        ("not larch", "-larch"),
        ("!larch", "-larch"),
        ("not not larch", "larch"),
        ("-(larch deck)", "-(larch deck)"),
        ("\"exact phrase\"", "\"exact phrase\""),
        ("“exact phrase”", "\"exact phrase\""),
        ("\"say \\\"hi\\\"\"", "\"say \\\"hi\\\"\""),
        ("-\"a phrase\"", "-\"a phrase\""),
        ("what? — nothing!", "what? nothing!"),
        ("e-mail", "e-mail"),
        ("12:30", "12:30"),
        ("https://example.org/a?b=c", "https://example.org/a?b=c"),
        ("note: the filter", "note: the filter"),
        ("https:\"//a b) (c\"", "\"https://a b) (c\""),
        ("0-\0\u{30}", "0- 0"),
        ("plan or .", "plan"),
        (". or #", ""),
        ("-(. or #) plan", "plan"),
        ("(or (and \".\") (todo \"TODO\"))", "todo:TODO"),
        (
            "todo:TODO tag:work deadline:<2026-12-01 \"exact phrase\" -tag:someday sort:deadline limit:20",
            "todo:TODO tag:work deadline:<2026-12-01 \"exact phrase\" -tag:someday sort:deadline limit:20",
        ),
        ("TODO:NEXT,WAIT", "todo:NEXT,WAIT"),
        ("tags:a,b", "tag:a,b"),
        ("tag:a:b:", "tag:a,b"),
        ("tags-local:x", "own-tag:x"),
        ("property:effort=1:00", "prop:EFFORT=1:00"),
        ("prop:KEY=\"some words\"", "prop:\"KEY=some words\""),
        ("prop:KEY", "prop:KEY"),
        ("prop:effort>=2", "prop:EFFORT>=2"),
        ("priority:b,a", "priority:A,B"),
        ("priority:[#A]", "priority:A"),
        ("priority:A..C", "priority:A,B,C"),
        ("level:<3", "level:<=2"),
        ("level:2..", "level:>=2"),
        ("level:1..3", "level:1..3"),
        ("heading:boat", "title:boat"),
        ("under:\"Work/My boat\"", "under:\"Work/My boat\""),
        ("ancestors:boat", "under:boat"),
        ("linked-from:x", "links:x"),
        ("links-to:x", "backlinks:x"),
        ("id:id:x", "id:x"),
        ("due:today", "deadline:today"),
        ("deadline:to=+7", "deadline:..+7d"),
        ("deadline:from=today", "deadline:today.."),
        ("deadline:2026-11-01..2026-11-30", "deadline:2026-11-01..2026-11-30"),
        ("scheduled:MON", "scheduled:monday"),
        ("modified:-3h", "modified:-3h"),
        ("closed:any", "closed:any"),
        ("has:tag", "has:tags"),
        ("is:OPEN", "is:open"),
        ("sort:priority,-modified", "sort:priority,-modified"),
        ("sort:date", "sort:planned"),
        ("limit:5 larch", "larch limit:5"),
        // S-expressions.
        ("(todo \"TODO\" \"NEXT\")", "todo:TODO,NEXT"),
        ("(and (tags \"a\") (or (todo) (done)))", "tag:a (todo:open or todo:done)"),
        ("(not (tags \"a\") (tags \"b\"))", "-(tag:a or tag:b)"),
        ("(deadline :from -3 :to \"2026-12-01\")", "deadline:-3d..2026-12-01"),
        ("(property \"EFFORT\" \"1:00\")", "prop:EFFORT=1:00"),
        ("(level 1 2)", "level:1..2"),
        ("(and \"larch deck\" (limit 3))", "\"larch deck\" limit:3"),
        ("(scheduled :on today)", "scheduled:today"),
        ("(and (scheduled :on today))", "scheduled:today"),
        ("(deadline < today)", "deadline:<today"),
        ("(deadline :to 2026-12-01)", "deadline:..2026-12-01"),
        ("(deadline > 7)", "deadline:>+7d"),
        ("(level > 2)", "level:>=3"),
        ("(level '>= 2)", "level:>=2"),
        ("(level = 2)", "level:2"),
        ("'(todo \"NEXT\")", "todo:NEXT"),
        ("(todo NEXT WAIT)", "todo:NEXT,WAIT"),
        ("(todo)", "todo:open"),
        ("(tags)", "has:tags"),
        ("(priority)", "has:priority"),
        ("(priority A)", "priority:A"),
        ("(priority >= B)", "priority:A,B"),
        ("(prop \"EFFORT\" < \"1:00\")", "prop:EFFORT<1:00"),
        ("(tags-all \"a\" \"b\")", "tag:a tag:b"),
        ("tags-all:a,b", "tag:a tag:b"),
        ("(text boat deck)", "boat deck"),
        ("(AND (todo) (not (done)))", "todo:open -todo:done"),
        ("(links id:x)", "links:x"),
        ("priority:>B", "priority:A"),
        ("priority:<=C", "priority:C..Z"),
        // Words in parentheses are no s-expression.
        ("(harbour crane)", "harbour crane"),
        ("(harbour (crane or dock))", "harbour (crane or dock)"),
        ("(larch or deck)", "larch or deck"),
        ("(todo or done)", "todo or done"),
        ("(not larch)", "-larch"),
        ("(not (deck or oak))", "-(deck or oak)"),
        ("(todo:NEXT tag:a)", "todo:NEXT tag:a"),
        ("(title tag:a)", "title tag:a"),
        ("(or)", ""),
    ] {
        match parse(typed) {
            Ok(query) => assert_eq!(print(&query), expected, "{typed}"),
            Err(error) => assert_eq!(expected, "", "{typed}: {error}"),
        }
    }
}

#[test]
fn errors_say_what_where_and_the_way_out() {
    let shown = |typed: &str| match parse(typed) {
        Err(error) => error.pointed(typed),
        Ok(query) => panic!("{typed} is read as {}", print(&query)),
    };
    insta::assert_snapshot!(shown("larch tga:work"), @r#"
    column 7: there is no “tga:”; did you mean tag:work? To look for it as text, quote it: "tga:work"
      larch tga:work
            ^^^
    "#);
    insta::assert_snapshot!(shown("larch foo:bar"), @r#"
    column 7: there is no “foo:”; to look for it as text, quote it: "foo:bar"
      larch foo:bar
            ^^^
    "#);
    insta::assert_snapshot!(shown("東京 deadline:todya"), @r#"
    column 13: “todya” is no day; did you mean today?
      東京 deadline:todya
                    ^^^^^
    "#);
    insta::assert_snapshot!(shown("deadline:"), @r#"
    column 1: nothing stands behind deadline:; write it like deadline:<2026-12-01
      deadline:
      ^^^^^^^^^
    "#);
    insta::assert_snapshot!(shown("tag: work"), @r#"
    column 1: nothing stands behind tag:; no blank stands behind the colon: tag:work
      tag: work
      ^^^^
    "#);
    insta::assert_snapshot!(shown("(larch or deck"), @r#"
    column 1: this ( is never closed; put a ) behind the last term
      (larch or deck
      ^
    "#);
    insta::assert_snapshot!(shown("larch) deck"), @r#"
    column 6: this ) closes nothing; take it away, or put a ( before
      larch) deck
           ^
    "#);
    insta::assert_snapshot!(shown("larch or"), @r#"
    column 7: nothing stands behind “or”; “or” stands between two terms; quote it to look for the word: "or"
      larch or
            ^^
    "#);
    insta::assert_snapshot!(shown("or larch"), @r#"
    column 1: nothing stands before “or”; “or” stands between two terms; quote it to look for the word: "or"
      or larch
      ^^
    "#);
    insta::assert_snapshot!(shown("larch ()"), @r#"
    column 7: nothing stands between these parentheses; take them away
      larch ()
            ^
    "#);
    insta::assert_snapshot!(shown("say \"larch"), @r#"
    column 5: the quotation marks that open here are never closed; put " behind the last word
      say "larch
          ^
    "#);
    insta::assert_snapshot!(shown("is:opne"), @r#"
    column 4: is: knows no “opne”; did you mean is:open?
      is:opne
         ^^^^
    "#);
    insta::assert_snapshot!(shown("has:money"), @r#"
    column 5: has: knows no “money”; it takes one of todo, priority, tags, properties, id, body, children, links, backlinks, scheduled, deadline, closed
      has:money
          ^^^^^
    "#);
    insta::assert_snapshot!(shown("sort:size"), @r#"
    column 6: sort: knows no “size”; it takes one of score, file, title, todo, priority, level, scheduled, deadline, closed, planned, modified
      sort:size
           ^^^^
    "#);
    insta::assert_snapshot!(shown("limit:many"), @r#"
    column 7: “many” is no limit; write a number from 1 to 10000
      limit:many
            ^^^^
    "#);
    insta::assert_snapshot!(shown("level:x"), @r#"
    column 7: “x” is no level; write level:2, level:1..3 or level:<=2
      level:x
            ^
    "#);
    insta::assert_snapshot!(shown("priority:high"), @r#"
    column 10: “high” is no priority; write priority:A, priority:A,B, priority:A..C or priority:>=B, and has:priority for any
      priority:high
               ^^^^
    "#);
    insta::assert_snapshot!(shown("-limit:3"), @r#"
    column 2: limit: is about the whole query; put it outside of parentheses and “not”
      -limit:3
       ^^^^^^^
    "#);
    insta::assert_snapshot!(shown("sort:title sort:file"), @r#"
    column 12: sort: stands twice; list both: sort:deadline,priority
      sort:title sort:file
                 ^^^^^^^^^
    "#);
    insta::assert_snapshot!(shown("not"), @r#"
    column 1: nothing stands behind “not”; quote it to look for the word: "not"
      not
      ^^^
    "#);
    insta::assert_snapshot!(shown("(and (tgas \"x\"))"), @r#"
    column 7: there is no (tgas …); did you mean (tags …)?
      (and (tgas "x"))
            ^^^^
    "#);
    insta::assert_snapshot!(shown("(and (regexp \"x.*\"))"), @r#"
    column 7: regular expressions are not known here; write (text "words")
      (and (regexp "x.*"))
            ^^^^^^
    "#);
}

/// Whatever looks like a form is read as one, and what is wrong with it is said.
#[test]
fn forms_that_cannot_be_read_say_why() {
    for (typed, expected) in [
        ("(tgas \"x\")", "there is no (tgas …); did you mean (tags …)?"),
        ("(harbour \"x\")", "there is no (harbour …); to look for words, leave these parentheses away"),
        ("(foo :on today)", "there is no (foo …)"),
        ("(foo (todo))", "there is no (foo …)"),
        ("(category \"x\")", "there is no (category …); write (prop \"CATEGORY\""),
        ("(ts :on today)", "there is no (ts …); times in texts are not looked for; write (planned :on today)"),
        ("(link \"x\")", "there is no (link …); write (backlinks \"boat\")"),
        ("link:x", "there is no “link:”; write backlinks:boat for what links to a heading"),
        ("(parent (todo \"TODO\"))", "queries inside of it are not known; write it like (parent \"boat\")"),
        ("(scheduled :before today)", "(scheduled …) takes no :before; it takes :on, :from and :to"),
        ("(scheduled :on)", "nothing stands behind :on; write (scheduled :on today)"),
        ("(property \"A\" \"b\" :inherit t)", "(prop …) takes no :inherit"),
        ("(title > 3)", "(title …) compares nothing so"),
        ("(scheduled :on todya)", "“todya” is no day; did you mean today?"),
        ("(and (todo) urgent)", "urgent is no condition; write (urgent) for a condition, and \"urgent\" for a word"),
        ("(or foo bar)", "foo is no condition"),
        ("(done \"x\")", "(done) takes nothing"),
        ("(tags büro)", "put values in quotation marks: (tags \"…\")"),
        ("(todo TODO, NEXT)", "put values in quotation marks: (todo \"…\")"),
        ("tag:a+b", "“a+b” is no tag; for both write tag:a tag:b, for one of them tag:a,b"),
    ] {
        match parse(typed) {
            Err(error) => assert!(error.to_string().contains(expected), "{typed}: {error}"),
            Ok(query) => panic!("{typed} is read as {}", print(&query)),
        }
    }
}

#[test]
fn bounds_hold() {
    let deep = format!("{}a{}", "(".repeat(40), ")".repeat(40));
    assert!(parse(&deep).expect_err("too deep").what.contains("deep"));
    assert!(parse(&"a ".repeat(200)).expect_err("too many").what.contains("terms"));
    assert!(parse(&"a".repeat(5000)).expect_err("too long").what.contains("bytes"));
    let deep = format!("{}\"a\"{}", "(and ".repeat(50), ")".repeat(50));
    assert!(parse(&deep).is_err());
    assert!(parse(&"-".repeat(4000)).is_ok());
    let many = format!("tag:{}", vec!["a"; 60].join(","));
    assert!(parse(&many).is_err());
}

#[test]
fn questions_in_words_are_plain() {
    for (text, plain) in [
        ("why is the pump not running or cold", true),
        ("note: the filter, at 12:30", true),
        ("see https://example.org", true),
        ("boiler-code", true),
        ("tag:work", false),
        ("tga:work", false),
        ("\"exact\"", false),
        ("-cold pump", false),
        ("(a or b)", false),
        ("(tags \"x\")", false),
    ] {
        assert_eq!(is_plain(text), plain, "{text}");
    }
}

#[test]
fn every_name_and_example_is_read() {
    for known in FIELDS {
        let value = known.example.split_once(':').expect("an example has a value").1.trim_matches('"');
        assert_eq!(parse(&format!("({} \"{value}\")", known.name)), parse(known.example), "{}", known.name);
        assert!(parse(known.example).is_ok(), "{}", known.example);
        for name in std::iter::once(&known.name).chain(known.others) {
            let value = known.example.split_once(':').expect("an example has a value").1;
            assert_eq!(parse(&format!("{name}:{value}")), parse(known.example), "{name}");
        }
    }
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Zé東京][a-zA-Z0-9_@é京]{0,6}",
        prop::sample::select(vec!["or", "and", "not", "x y", "a\"b", "a\\b", "(x)", "-x", "ä/ö", "today", "none"])
            .prop_map(str::to_string),
    ]
}

fn word() -> impl Strategy<Value = String> {
    "[a-z東京é]{2,6}".prop_filter("no operator", |word| !matches!(word.as_str(), "or" | "and" | "not"))
}

fn plain_name() -> impl Strategy<Value = String> {
    "[A-Za-z][A-Za-z0-9_@]{0,6}"
        .prop_filter("no word of ours", |name| !matches!(name.as_str(), "open" | "done" | "any" | "none"))
}

fn moment() -> impl Strategy<Value = Moment> {
    let unit = || prop::sample::select(vec![Unit::Hour, Unit::Day, Unit::Week, Unit::Month, Unit::Year]);
    let stretch = prop::sample::select(vec![Unit::Week, Unit::Month, Unit::Year]);
    prop_oneof![
        (1i16..=9999, 1i8..=12, 1i8..=28).prop_map(|(y, m, d)| Moment::Day(jiff::civil::date(y, m, d))),
        (1i16..=9999, 1i8..=12).prop_map(|(y, m)| Moment::Month(y, m)),
        (1i16..=9999).prop_map(Moment::Year),
        (-1i8..=1).prop_map(Moment::Near),
        (1i8..=7).prop_map(|d| Moment::Weekday(jiff::civil::Weekday::from_monday_one_offset(d).expect("a day"))),
        (-1i8..=1, stretch).prop_map(|(offset, unit)| Moment::Stretch(offset, unit)),
        (-9999i32..=9999, unit()).prop_map(|(count, unit)| Moment::Away(count, unit)),
    ]
}

fn when() -> impl Strategy<Value = When> {
    prop_oneof![
        moment().prop_map(When::In),
        moment().prop_map(When::Before),
        moment().prop_map(When::After),
        (moment(), prop::option::of(moment())).prop_map(|(a, b)| When::Range(Some(a), b)),
        moment().prop_map(|b| When::Range(None, Some(b))),
        Just(When::Any),
        Just(When::None),
    ]
}

fn test() -> impl Strategy<Value = Test> {
    let relation = prop::sample::select(vec![Relation::Less, Relation::AtMost, Relation::More, Relation::AtLeast]);
    prop_oneof![
        Just(Test::There),
        name().prop_map(Test::Is),
        name().prop_map(Test::Holds),
        (relation, "[0-9]{1,3}").prop_map(|(relation, value)| Test::Compare(relation, value)),
    ]
}

fn term() -> impl Strategy<Value = Term> {
    let stamp =
        prop::sample::select(vec![Stamp::Scheduled, Stamp::Deadline, Stamp::Closed, Stamp::Planned, Stamp::Modified]);
    let names = || prop::collection::vec(plain_name(), 1..4);
    prop_oneof![
        word().prop_map(Term::Word),
        "[a-z東é\"\\\\()]{1,4} [a-zé]{1,4}"
            .prop_map(|text| Term::Phrase(text.trim().to_string()))
            .prop_filter("words", |term| {
                matches!(term, Term::Phrase(text) if text.chars().any(char::is_alphanumeric))
            }),
        name().prop_map(Term::Title),
        names().prop_map(|names| Term::Todo(Todo::Named(names))),
        prop::sample::select(vec![Todo::Open, Todo::Done, Todo::Any, Todo::None]).prop_map(Term::Todo),
        names().prop_map(Term::Tag),
        names().prop_map(Term::OwnTag),
        ("[A-Z][A-Z_]{0,5}", test()).prop_map(|(key, test)| Term::Property(key, test)),
        prop::collection::btree_set(prop::char::range('A', 'F'), 1..4)
            .prop_map(|set| Term::Priority(set.into_iter().collect())),
        (0u16..5, 0u16..5).prop_map(|(from, more)| Term::Level(from, from + more)),
        (0u16..5).prop_map(|from| Term::Level(from, u16::MAX)),
        name().prop_map(Term::File),
        name().prop_map(Term::Id),
        name().prop_map(Term::Under),
        name().prop_map(Term::Parent),
        name().prop_map(Term::Links),
        name().prop_map(Term::Backlinks),
        name().prop_map(Term::Similar),
        (stamp, when()).prop_map(|(stamp, when)| Term::Time(stamp, when)),
        prop::sample::select(THINGS.iter().map(|(_, thing)| Term::Has(*thing)).collect::<Vec<_>>()),
        prop::sample::select(STATES.iter().map(|(_, state)| Term::Is(*state)).collect::<Vec<_>>()),
    ]
}

pub fn filter(term: impl Strategy<Value = Term> + 'static) -> impl Strategy<Value = Filter> {
    term.prop_map(Filter::Term).prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Filter::all),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Filter::any),
            inner.prop_map(Filter::negated),
        ]
    })
}

fn query() -> impl Strategy<Value = Query> {
    let key = prop::sample::select(SORTS.iter().map(|(_, key)| *key).collect::<Vec<_>>());
    let sort = prop::collection::vec((key, any::<bool>()).prop_map(|(key, reversed)| Sort { key, reversed }), 0..3);
    (prop_oneof![9 => filter(term()), 1 => Just(Filter::default())], sort, prop::option::of(1usize..100))
        .prop_map(|(filter, sort, limit)| Query { filter, sort, limit })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::support::soak::cases(512)))]

    #[test]
    fn what_is_printed_is_read_back(query in query()) {
        let text = print(&query);
        prop_assert_eq!(parse(&text), Ok(query), "{}", text);
    }
}
