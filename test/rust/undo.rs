//! Taking back beside a hand: whatever an act and a hand did to an outline, no line is doubled and none of the hand's lost.

use passepartout::domain::org::scan::ScanOptions;
use passepartout::domain::undo::headings::{Merged, merge};
use proptest::prelude::*;
use proptest::sample::Index;

/// A heading: its level, its title and its lines. Each line stands nowhere else.
#[derive(Clone, Debug)]
struct Heading {
    level: usize,
    title: String,
    lines: Vec<String>,
}

/// What is done to an outline.
#[derive(Clone, Debug)]
enum Edit {
    Title(Index),
    Line(Index, Index),
    Drop(Index, Index),
    Remove(Index),
    Insert(Index, usize, usize),
    Move(Index, Index),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let at = any::<Index>;
    let edit = prop_oneof![
        at().prop_map(Edit::Title),
        (at(), at()).prop_map(|(heading, line)| Edit::Line(heading, line)),
        (at(), at()).prop_map(|(heading, line)| Edit::Drop(heading, line)),
        at().prop_map(Edit::Remove),
        (at(), 1usize..4, 0usize..3).prop_map(|(before, level, lines)| Edit::Insert(before, level, lines)),
        (at(), at()).prop_map(|(from, to)| Edit::Move(from, to)),
    ];
    proptest::collection::vec(edit, 0..5)
}

fn outlines() -> impl Strategy<Value = Vec<Heading>> {
    // Few titles: many headings are called the same.
    let heading = (1usize..4, 0usize..4, 0usize..4);
    proptest::collection::vec(heading, 1..9).prop_map(|headings| {
        let one = |(n, (level, title, lines)): (usize, (usize, usize, usize))| Heading {
            level,
            title: format!("Title {title}"),
            lines: (0..lines).map(|line| format!("line {n}-{line}.")).collect(),
        };
        headings.into_iter().enumerate().map(one).collect()
    })
}

/// Does edits to an outline; what is new in it bears a name.
fn edited(outline: &[Heading], edits: &[Edit], by: &str) -> Vec<Heading> {
    let mut outline = outline.to_vec();
    for (n, edit) in edits.iter().enumerate() {
        let at = |index: &Index| index.index(outline.len());
        match edit {
            _ if outline.is_empty() => {}
            Edit::Title(heading) => {
                let heading = at(heading);
                outline[heading].title = format!("Called {by} {n}");
            }
            Edit::Line(heading, line) => {
                let heading = at(heading);
                let lines = &mut outline[heading].lines;
                lines.insert(line.index(lines.len() + 1), format!("by {by} {n}."));
            }
            Edit::Drop(heading, line) => {
                let heading = at(heading);
                let lines = &mut outline[heading].lines;
                if !lines.is_empty() {
                    lines.remove(line.index(lines.len()));
                }
            }
            Edit::Remove(heading) => {
                let heading = at(heading);
                outline.remove(heading);
            }
            Edit::Insert(before, level, lines) => {
                let lines = (0..*lines).map(|line| format!("by {by} {n}-{line}.")).collect();
                let heading = Heading { level: *level, title: format!("New {by}"), lines };
                outline.insert(before.index(outline.len() + 1), heading);
            }
            Edit::Move(from, to) => {
                let (from, to) = (at(from), at(to));
                let heading = outline.remove(from);
                outline.insert(to, heading);
            }
        }
    }
    outline
}

fn text(outline: &[Heading]) -> String {
    let one = |heading: &Heading| {
        let lines: String = heading.lines.iter().map(|line| format!("{line}\n")).collect();
        format!("{} {}\n{lines}", "*".repeat(heading.level), heading.title)
    };
    outline.iter().map(one).collect()
}

fn count(text: &str, line: &str) -> usize {
    text.lines().filter(|found| *found == line).count()
}

/// What is expected of a merge: the text, how many headings go back, and what is left.
#[track_caller]
fn check(base: &str, ours: &str, theirs: &str, expected: (&str, usize, &[&str])) {
    let Merged { text, done, left } = merge(base, ours, theirs, &ScanOptions::default()).expect("it is merged");
    // Thousands of lines that are not as expected would tell nothing.
    let differs = text.lines().zip(expected.0.lines()).position(|(found, expected)| found != expected);
    assert_eq!((text.len(), differs, done.len()), (expected.0.len(), None, expected.1), "{text:.400}");
    assert_eq!(left, expected.2);
}

#[test]
fn of_headings_that_are_alike_each_comes_back_or_is_there_again() {
    let entries = |count: usize| format!("{}* B\n", "* Entry\ntext\n".repeat(count));
    check("* B\n", &entries(2), &entries(0), (&entries(2), 2, &[]));
    // A hand put some of them back: the others come back.
    check("* B\n", &entries(2), &entries(1), (&entries(2), 1, &[]));
    check("* B\n", &entries(5), &entries(2), (&entries(5), 3, &[]));
    check("* B\n", &entries(2), &entries(2), (&entries(2), 0, &[]));
    check("* B\n", &entries(2), &entries(3), (&entries(3), 0, &[]));
}

#[test]
fn of_headings_of_one_title_the_one_that_says_the_same_is_there_again() {
    let pre = "* Entry\none\n** Child\n* Entry\ntwo\n** Child\n* B\n";
    let both = "* Entry\ntwo\n** Child\n* Entry\none\n** Child\n* B\n";
    check("* B\n", pre, "* Entry\ntwo\n** Child\n* B\n", (both, 2, &[]));
    let both = "* Entry\nmine\n* Entry\ntwo\n* B\n";
    let otherwise = "“Entry” stands there again, otherwise";
    check("* B\n", "* Entry\none\n* Entry\ntwo\n* B\n", "* Entry\nmine\n* B\n", (both, 1, &[otherwise]));
    // One with an ID is the same wherever a hand put it.
    let known = "* Known\n:PROPERTIES:\n:ID: known\n:END:\n";
    let now = format!("* B\n*{known}");
    check("* B\n", &format!("{known}* B\n"), &now, (&now, 0, &["“Known” stands there again, otherwise"]));
}

#[test]
fn thousands_of_headings_that_are_alike_go_and_come_back() {
    // Looking through all of them for each of them would not end.
    let entries = |count: usize| "* Entry\n".repeat(count);
    let [all, half] = [20_000, 10_000].map(entries);
    let now = format!("{half}by hand\n");
    check(&half, &all, &now, (&format!("{now}{half}"), 10_000, &[]));
    let now = format!("by hand\n{half}");
    check(&half, &all, &now, (&format!("by hand\n{all}"), 10_000, &[]));
    // All were taken out, and a hand put half of them back.
    let [before, now, back] = [format!("{all}* B\n"), format!("{half}* B\nby hand\n"), format!("{all}* B\nby hand\n")];
    check("* B\n", &before, &now, (&back, 10_000, &[]));
    // Half of them were put in.
    check(&all, &half, &format!("{all}* Mine\n"), (&format!("{half}* Mine\n"), 10_000, &[]));
}

proptest! {
    #[test]
    fn each_heading_that_was_taken_out_is_there_once_whatever_a_hand_put_back(
        entries in proptest::collection::vec((0usize..2, 0usize..3, any::<bool>()), 1..12),
    ) {
        let write = |all: bool| -> String {
            let of = entries.iter().filter(|(_, _, by_hand)| all || *by_hand);
            of.map(|(title, body, _)| format!("* Title {title}\n{title} says {body}\n")).chain(["* B\n".to_string()]).collect()
        };
        let (pre, now) = (write(true), write(false));
        let merged = merge("* B\n", &pre, &now, &ScanOptions::default()).expect("nothing stands against it");
        for line in pre.lines() {
            prop_assert_eq!(count(&merged.text, line), count(&pre, line), "{}\n{}", line, merged.text);
        }
        prop_assert_eq!(merged.done.len(), entries.iter().filter(|(_, _, by_hand)| !by_hand).count());
        prop_assert_eq!(merged.left, Vec::<String>::new());
    }

    #[test]
    fn no_line_is_doubled_and_none_of_a_hand_is_lost(before in outlines(), act in edits(), hand in edits()) {
        let after = edited(&before, &act, "act");
        let now = edited(&after, &hand, "hand");
        let [pre, post, now] = [text(&before), text(&after), text(&now)];
        let options = ScanOptions::default();
        let back = merge(&post, &pre, &post, &options).expect("nothing stands against it");
        prop_assert_eq!((back.text, back.left), (pre.clone(), Vec::new()), "without a hand");
        // Refused as a whole, it stays as it is.
        if let Ok(merged) = merge(&post, &pre, &now, &options) {
            for line in pre.lines().chain(post.lines()).chain(now.lines()).filter(|line| line.ends_with('.')) {
                let found = count(&merged.text, line);
                prop_assert!(found < 2, "doubled: {}\n{}", line, merged.text);
                // What the hand wrote, and what nobody touched.
                let kept = count(&now, line) == 1 && (line.contains("by hand") || count(&pre, line) == 1);
                prop_assert!(found == 1 || !kept, "lost: {}\n{}", line, merged.text);
            }
        }
    }
}
