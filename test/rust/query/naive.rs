//! What is found is what a slow reader finds, who looks at every node and knows no index.

use super::parse::filter;
use super::{now, view, with, with_index};
use passepartout::domain::context::lexical::{Index, QueryTerm};
use passepartout::domain::context::words::Analyser;
use passepartout::domain::label::Privacy;
use passepartout::domain::memory::view::{NodeRef, View};
use passepartout::domain::query::run::{Found, Hit, Total, World, run};
use passepartout::domain::query::{Filter, Query, Sort, SortKey, State, Term, Test, Thing, Todo};
use passepartout::domain::query::{Stamp, date::Lean};
use proptest::prelude::*;

/// Words whose forms and neighbours a test can tell without a stemmer.
const BLOCK: &str = "#+BEGIN: passepartout-query :query \"larch\"\n| deck |\n#+END:\n";
const BLOCK_OF_BLOCKS: &str =
    "#+BEGIN: passepartout-query\n#+boat: 東京\n#+END:\nmill\n#+BEGIN: passepartout-query\ndeck\n#+END:\n";
const WORDS: &[&str] = &["boat", "boats", "larch", "deck", "mill", "東京", "東京都", "京都"];

fn text_has(text: &str, word: &str) -> bool {
    if !word.is_ascii() {
        return text.contains(word);
    }
    let bare = |word: &str| word.trim_end_matches('s').to_string();
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|found| bare(found) == bare(word))
}

fn phrase_stands(text: &str, phrase: &str) -> bool {
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let wanted: Vec<&str> = phrase.split(' ').collect();
    words.windows(wanted.len()).any(|row| row == wanted)
}

/// What the heading's author wrote: no dynamic block of ours, and no name of a keyword.
fn written(body: &str) -> String {
    let (mut out, mut inside) = (String::new(), false);
    for line in body.lines() {
        inside |= line.starts_with("#+BEGIN: passepartout");
        if !inside {
            out.push_str(line.strip_prefix("#+boat:").unwrap_or(line));
            out.push('\n');
        }
        inside &= line != "#+END:";
    }
    out
}

fn node_texts(node: &NodeRef) -> Vec<String> {
    let document = node.document().expect("its document");
    let outline = &document.outline;
    let own = &outline.nodes[node.index];
    let mut texts = vec![written(node.body())];
    texts.push(if node.index == 0 { outline.title.as_deref().unwrap_or("").into() } else { node.title().to_string() });
    texts.extend(if node.index == 0 { outline.filetags.iter() } else { own.tags.iter() }.map(|tag| tag.to_string()));
    texts
}

fn holds(node: &NodeRef, term: &Term) -> bool {
    let document = node.document().expect("its document");
    let outline = &document.outline;
    let own = &outline.nodes[node.index];
    let day = |range: &Option<std::ops::Range<u32>>| -> Option<jiff::civil::Date> {
        outline.slice(range.as_ref()?).get(1..11)?.parse().ok()
    };
    let todo = outline.todo(own);
    match term {
        Term::Word(word) => node_texts(node).iter().any(|text| text_has(text, word)),
        Term::Phrase(phrase) => node_texts(node).iter().any(|text| phrase_stands(text, phrase)),
        Term::Title(text) => node.title().to_lowercase().contains(text.as_str()),
        Term::Todo(Todo::Named(names)) => todo.is_some_and(|todo| names.iter().any(|name| **name == *todo.name)),
        Term::Todo(Todo::Open) => todo.is_some_and(|todo| !todo.done),
        Term::Todo(Todo::None) => todo.is_none(),
        Term::Tag(tags) => outline.all_tags(node.index).iter().any(|tag| tags.iter().any(|wanted| wanted == tag)),
        Term::Property(key, Test::Is(value)) => outline.property(own, key) == Some(value),
        Term::Level(from, to) => (*from..=*to).contains(&own.level),
        Term::Under(id) => {
            let mut above = node.parent();
            while let Some(parent) = above {
                if parent.id().as_str() == id {
                    return true;
                }
                above = parent.parent();
            }
            false
        }
        Term::Backlinks(id) => node.body().contains(&format!("[[id:{id}]]")),
        Term::Time(stamp, when) => {
            let window = when.window(now(), Lean::Forward).expect("a window");
            let stamps = match stamp {
                Stamp::Deadline => vec![&own.deadline],
                _ => vec![&own.scheduled, &own.deadline],
            };
            stamps.into_iter().any(|stamp| day(stamp).is_some_and(|day| window.contains_day(day)))
        }
        Term::Has(Thing::Deadline) => own.deadline.is_some(),
        Term::Is(State::Private) => node.privacy() == Privacy::Private,
        Term::Is(State::File) => node.index == 0,
        other => panic!("the slow reader does not know {other:?}"),
    }
}

fn fits(node: &NodeRef, filter: &Filter) -> bool {
    match filter {
        Filter::All(parts) => parts.iter().all(|part| fits(node, part)),
        Filter::Any(parts) => parts.iter().any(|part| fits(node, part)),
        Filter::Not(inner) => !fits(node, inner),
        Filter::Term(term) => holds(node, term),
    }
}

fn heading() -> impl Strategy<Value = String> {
    let words = |n| prop::collection::vec(prop::sample::select(WORDS), 0..n).prop_map(|words| words.join(" "));
    let meta = (
        1usize..4,
        prop::option::of(prop::sample::select(vec!["TODO", "DONE"])),
        prop::collection::btree_set(prop::sample::select(vec!["work", "home", "private"]), 0..2),
        prop::option::of((prop::sample::select(vec!["DEADLINE", "SCHEDULED"]), 18u8..28)),
    );
    let made = prop::sample::select(vec!["", "#+boat: mill\n", BLOCK, BLOCK_OF_BLOCKS]);
    let ids =
        (prop::option::of(0u8..6), prop::option::of(prop::sample::select(vec!["x", "y"])), prop::option::of(0u8..6));
    (meta, words(4), words(8), ids, made).prop_map(
        |((level, todo, tags, stamp), title, body, (id, value, link), made)| {
            let todo = todo.map(|todo| format!("{todo} ")).unwrap_or_default();
            let tags: Vec<&str> = tags.into_iter().collect();
            let tags = if tags.is_empty() { String::new() } else { format!(" :{}:", tags.join(":")) };
            let stamp = stamp.map(|(kind, day)| format!("{kind}: <2026-11-{day}>\n")).unwrap_or_default();
            let id = id.map(|id| format!(":ID: n{id}\n")).unwrap_or_default();
            let value = value.map(|value| format!(":KEY: {value}\n")).unwrap_or_default();
            let drawer = if id.is_empty() && value.is_empty() {
                String::new()
            } else {
                format!(":PROPERTIES:\n{id}{value}:END:\n")
            };
            let link = link.map(|link| format!("[[id:n{link}]]\n")).unwrap_or_default();
            // A word behind the title that nothing asks for: a title is never empty.
            format!("{} {todo}{title} t{tags}\n{stamp}{drawer}{body}\n{link}{made}", "*".repeat(level))
        },
    )
}

fn memex() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop::collection::vec(heading(), 0..12).prop_map(|headings| headings.concat()), 1..4)
}

fn view_of(texts: &[String]) -> View {
    let names = ["/m/a.org", "/m/b.org", "/m/c.org"];
    let files: Vec<(&str, &str)> = names.into_iter().zip(texts.iter().map(String::as_str)).collect();
    view(&files)
}

fn term() -> impl Strategy<Value = Term> {
    use passepartout::domain::query::date::when;
    let times = ["today", "+3d", "<2026-11-24", "2026-11-20..", "any-day"].map(|text| when(text).ok());
    let times: Vec<_> = times.into_iter().flatten().collect();
    let text = |word: &&str| word.to_string();
    let words: Vec<String> = WORDS.iter().map(text).collect();
    prop_oneof![
        3 => prop::sample::select(words.clone()).prop_map(Term::Word),
        1 => (prop::sample::select(&WORDS[..5]), prop::sample::select(&WORDS[..5])).prop_map(|(a, b)| Term::Phrase(format!("{a} {b}"))),
        1 => prop::sample::select(words).prop_map(Term::Title),
        1 => prop::sample::select(vec![Todo::Named(vec!["TODO".into()]), Todo::Named(vec!["TODO".into(), "DONE".into()]), Todo::Open, Todo::None]).prop_map(Term::Todo),
        2 => prop::sample::select(vec![vec!["work".to_string()], vec!["work".into(), "home".into()]]).prop_map(Term::Tag),
        1 => Just(Term::Property("KEY".into(), Test::Is("x".into()))),
        1 => (0u16..3, 0u16..2).prop_map(|(from, more)| Term::Level(from, from + more)),
        1 => (0u8..6).prop_map(|id| Term::Backlinks(format!("n{id}"))),
        1 => (prop::sample::select(vec![Stamp::Deadline, Stamp::Planned]), prop::sample::select(times)).prop_map(|(stamp, when)| Term::Time(stamp, when)),
        1 => Just(Term::Has(Thing::Deadline)),
        1 => prop::sample::select(vec![Term::Is(State::Private), Term::Is(State::File)]),
    ]
}

fn names(nodes: &[NodeRef]) -> Vec<String> {
    nodes.iter().map(|node| format!("{} {}", node.file(), node.index)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::support::soak::cases(256)))]

    #[test]
    fn what_is_found_is_what_a_slow_reader_finds(texts in memex(), filter in filter(term()), open in any::<bool>(), sorted in 0usize..4) {
        let view = view_of(&texts);
        let clearance = if open { Privacy::Open } else { Privacy::Private };
        // A name that may not be seen means nothing, and the slow reader does not know that.
        let expected: Vec<NodeRef> =
            view.nodes().filter(|node| node.privacy() <= clearance && (fits(node, &filter))).collect();
        let asks = |filter: &Filter| format!("{filter:?}").contains("Backlinks");
        prop_assume!(!(open && asks(&filter)));
        let by = |key| vec![Sort { key, reversed: false }];
        let sort = [by(SortKey::File), Vec::new(), by(SortKey::Deadline), by(SortKey::Title)][sorted].clone();
        let query = Query { filter: filter.clone(), sort, limit: Some(1000) };
        let mut found: Vec<NodeRef> = with(&view, clearance, |world| {
            let found = run(&query, world, 1000);
            assert_eq!(found.total, Total::Exactly(found.hits.len()));
            found.hits.into_iter().map(|hit| hit.node).collect()
        });
        if sorted > 0 {
            found.sort_by(|a, b| (a.file(), a.index).cmp(&(b.file(), b.index)));
        }
        prop_assert_eq!(names(&found), names(&expected), "{:?}", query);
        // A limit cuts the same order, and says what there is.
        let by_score = sorted == 1 && filter_has_words(&filter);
        with(&view, clearance, |world| {
            let whole = names(&nodes(&run(&query, world, 1000)));
            for limit in [0, 1, 2, 7] {
                let few = run(&Query { limit: Some(limit), ..query.clone() }, world, 1000);
                prop_assert_eq!(names(&nodes(&few)), &whole[..whole.len().min(limit)], "{:?}", query);
                match few.total {
                    Total::Exactly(total) => prop_assert_eq!(total, whole.len()),
                    Total::AtLeast(least) => prop_assert!(limit <= least && least <= whole.len()),
                }
            }
            if by_score {
                ranked_as_by_a_slow_reader(&filter, &expected, &run(&query, world, 1000), world)?;
            }
            Ok(())
        })?;
    }
}

fn nodes(found: &Found) -> Vec<NodeRef> {
    found.hits.iter().map(|hit| hit.node.clone()).collect()
}

fn filter_has_words(filter: &Filter) -> bool {
    !words_of(filter, true).is_empty()
}

/// Words and phrases that a node is better for, in order.
fn words_of(filter: &Filter, counts: bool) -> Vec<String> {
    match filter {
        Filter::All(parts) | Filter::Any(parts) => parts.iter().flat_map(|part| words_of(part, counts)).collect(),
        Filter::Not(inner) => words_of(inner, !counts),
        Filter::Term(Term::Word(text) | Term::Phrase(text)) if counts => vec![text.clone()],
        Filter::Term(_) => Vec::new(),
    }
}

/// Compares scores and order with those of a search for all words that leaves nothing out.
fn ranked_as_by_a_slow_reader(
    filter: &Filter,
    expected: &[NodeRef],
    found: &Found,
    world: &World<'_>,
) -> Result<(), TestCaseError> {
    let (mut analyser, mut terms) = (Analyser::default(), Vec::<QueryTerm>::new());
    for text in words_of(filter, true) {
        let mut own = std::collections::BTreeSet::new();
        analyser.terms(&text, |term| own.extend([term.to_string()]));
        for term in own {
            if !terms.iter().any(|known| *known.term == *term) {
                terms.push(QueryTerm { term: term.into(), weight: 1.0 });
            }
        }
    }
    let all = world.index.scores(&terms, usize::MAX, &|_, _| true);
    let score = |node: &NodeRef| {
        let here =
            all.iter().find(|found| found.place.file == *node.file() && found.place.index as usize == node.index);
        here.map_or(0.0, |found| found.score)
    };
    let mut order: Vec<(f32, &NodeRef)> = expected.iter().map(|node| (score(node), node)).collect();
    // The nodes stand in the order of files and lines already.
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let slow: Vec<String> =
        order.iter().map(|(score, node)| format!("{} {} {score}", node.file(), node.index)).collect();
    let fast = found.hits.iter();
    let fast: Vec<String> =
        fast.map(|hit| format!("{} {} {}", hit.node.file(), hit.node.index, hit.score.unwrap_or(-1.0))).collect();
    prop_assert_eq!(fast, slow);
    Ok(())
}

/// A memory of several windows of the index, whose words are as unevenly spread as those of a language.
fn large() -> (View, Index) {
    let mut seed = 7u64;
    let mut throw = |most: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % most
    };
    let (mut view, mut index) = (View::default(), Index::default());
    for file in 0..12 {
        let mut text = String::new();
        for _ in 0..400 {
            let tag = ["", "", " :work:", " :private:"][throw(4) as usize];
            text.push_str(&format!("* {} t{tag}\n", WORDS[throw(8) as usize]));
            for _ in 0..throw(9) {
                let most = 1 + throw(WORDS.len() as u64);
                text.push_str(&format!("{} ", WORDS[throw(most) as usize]));
                if throw(40) == 0 {
                    text.push_str(["ありがとう ", "ありが とう ", "がありとう ", "がとうあり "][throw(4) as usize]);
                }
                if throw(300) == 0 {
                    text.push_str("rare ");
                }
            }
            text.push('\n');
        }
        let one = super::view(&[(&format!("/m/{file:02}.org"), &text)]);
        let document = one.documents().next().expect("a document");
        view.put(document.clone());
        // Some segments have nodes that are dead.
        if file % 3 == 0 {
            let other = super::view(&[(&format!("/m/{file:02}.org"), &text.replace("boat", "mill"))]);
            index = index.with(&other.documents().next().expect("a document"));
        }
        index = index.with(&document);
    }
    (view, index)
}

#[test]
fn a_large_memory_is_answered_as_by_a_slow_reader() {
    let (view, index) = large();
    assert!(index.segments().count() > 1);
    for query in [
        "boat",
        "rare",
        "boat larch mill",
        "boat rare",
        "ありがとう",
        "りがと -boat",
        "ありがとう boat",
        "ありがとう or rare",
        "(東京都 or ありがとう) (boat or rare)",
        "\"boats larch\"",
        "\"boat larch\" tag:work",
        "boat -larch -\"deck mill\" -tag:work",
        "boat tag:work -ありがとう",
        "京都 mill level:1",
        "boat -rare -nowhere",
        "title:boat larch",
        "nowhere boat",
    ] {
        let query = passepartout::domain::query::parse::parse(query).expect(query);
        for clearance in [Privacy::Open, Privacy::Private] {
            let slow = view.nodes().filter(|node| node.privacy() <= clearance && fits(node, &query.filter));
            let slow: Vec<NodeRef> = slow.collect();
            with_index(&view, &index, clearance, |world| {
                let limited = |limit, sort: &[Sort]| {
                    run(&Query { limit: Some(limit), sort: sort.to_vec(), ..query.clone() }, world, 20)
                };
                let whole = limited(10_000, &[]);
                assert_eq!(whole.total, Total::Exactly(slow.len()), "{query:?}");
                ranked_as_by_a_slow_reader(&query.filter, &slow, &whole, world)
                    .unwrap_or_else(|error| panic!("{query:?}: {error}"));
                for limit in [0, 1, 10, 100] {
                    let few = limited(limit, &[]);
                    let of = |found: &Found| -> Vec<(String, u32)> {
                        let one = |hit: &Hit| (format!("{:?}", hit.node), hit.score.unwrap_or(-1.0).to_bits());
                        found.hits.iter().map(one).collect()
                    };
                    assert_eq!(of(&few), of(&whole)[..limit.min(slow.len())], "{query:?} {limit}");
                    match few.total {
                        Total::Exactly(total) => assert_eq!(total, slow.len(), "{query:?} {limit}"),
                        Total::AtLeast(least) => assert!(limit < least && least <= slow.len(), "{query:?} {limit}"),
                    }
                    let by_file = limited(limit, &[Sort { key: SortKey::File, reversed: false }]);
                    assert_eq!(names(&nodes(&by_file)), names(&slow[..limit.min(slow.len())]), "{query:?} {limit}");
                }
            });
        }
    }
}
