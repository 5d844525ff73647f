//! What made headings private, as it is remembered: it goes on counting when it is gone or weaker, until the user lets
//! it go.
//!
//! Tags are remembered as tags, so that which of them make private stays the user's setting.

use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::card::Card;
use crate::domain::memory::document::{PrivacyOptions, of_lines};
use crate::domain::policy::held::{Seen, Spot};
use std::collections::BTreeSet;

/// The name under which labels are remembered, whether a tag or a property made them.
pub const LABEL: &str = "PP_PRIVACY";

/// What the text says of one node's privacy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// How private it is by its own tags and lines, and those of what it stands in.
    pub tier: Privacy,
    /// The same in words, as [`tier_of`] reads them; `None` when it is open.
    pub value: Option<String>,
    /// What is remembered of it: where it says nothing of its own, only a node with an id can be known elsewhere.
    pub remembered: Option<String>,
}

/// Returns what the text of a card says of the privacy of each node, by index.
pub fn marks(card: &Card, options: &PrivacyOptions) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::with_capacity(card.len());
    for index in 0..card.len() {
        let above = card.parent(index).map(|parent| marks.get(parent).map_or(Privacy::Private, |mark| mark.tier));
        if above.unwrap_or(Privacy::Open) == Privacy::Open && card.privacy(index) == Privacy::Open {
            // As nearly always: what is no more private than its text is open by its text, too.
            marks.push(Mark { tier: Privacy::Open, value: None, remembered: None });
            continue;
        }
        let tags: Vec<&str> = card.tags(index).collect();
        let whole = card.file_properties().filter(|_| index == 0);
        let by_lines = of_lines(card.properties(index).chain(whole));
        let own = match index {
            // Other lines and setup files have a say in a file. One that could not be read makes it private for as long as
            // that lasts, and nobody said so.
            0 if !card.is_held(0) && card.setups().all(|(_, read)| read.is_some()) => card.privacy(0),
            _ => options.of_tags(&tags).max(by_lines),
        };
        let tier = own.max(above.unwrap_or(Privacy::Open));
        let value = said(&card.all_tags(index), tier, options);
        let remembered = match own > Privacy::Open {
            true => said(&tags, own, options),
            false => value.clone().filter(|_| card.own_id(index).is_some()),
        };
        marks.push(Mark { tier, value, remembered });
    }
    marks
}

/// Returns how private each node of a card counts by its marks and by what is held, by index.
pub fn lasting(card: &Card, marks: &[Mark]) -> Vec<Privacy> {
    let mut lasting: Vec<Privacy> = Vec::with_capacity(marks.len());
    for (index, mark) in marks.iter().enumerate() {
        let above = card.parent(index).and_then(|parent| lasting.get(parent)).copied().unwrap_or(Privacy::Open);
        let held = if card.is_held(index) { card.privacy(index) } else { Privacy::Open };
        lasting.push(mark.tier.max(above).max(held));
    }
    lasting
}

/// Writes what makes something so private: its tags, and a tier where they do not account for it.
fn said(tags: &[&str], tier: Privacy, options: &PrivacyOptions) -> Option<String> {
    let mut words: BTreeSet<String> = options.private_among(tags).into_iter().map(|tag| format!(":{tag}:")).collect();
    if tier > options.of_tags(tags) {
        words.insert(tier.word().to_string());
    }
    (!words.is_empty()).then(|| words.into_iter().collect::<Vec<_>>().join(" "))
}

/// Returns how private what is remembered makes a node, by the tags that the user set.
pub fn tier_of(value: &str, options: &PrivacyOptions) -> Privacy {
    let tier = |word: &str| match word.strip_prefix(':').and_then(|word| word.strip_suffix(':')) {
        Some(tag) => options.of_tags(&[tag]),
        None => Privacy::tier(word).unwrap_or(Privacy::Private),
    };
    value.split_whitespace().map(tier).max().unwrap_or(Privacy::Open)
}

/// Returns what is remembered where something was, and something stands now: all of both.
pub fn both(known: &str, now: &str) -> String {
    let words: BTreeSet<&str> = known.split_whitespace().chain(now.split_whitespace()).collect();
    words.into_iter().collect::<Vec<_>>().join(" ")
}

/// Returns what is remembered of a node: under its id, and under its path where what was called so is nowhere else.
pub fn spots<'s>(
    labels: &'s Seen,
    id: &'s NodeId,
    path: Option<&str>,
    elsewhere: &'s dyn Fn(&str) -> bool,
) -> impl Iterator<Item = &'s Spot> {
    let by_path = path.filter(|path| *path != id.as_str()).into_iter().flat_map(|path| labels.named(path));
    let found: BTreeSet<&Spot> = labels.named(id.as_str()).chain(by_path).collect();
    found.into_iter().filter(move |spot| spot.heading == id.as_str() || !elsewhere(&spot.heading))
}

/// Where a node is named: its file, the ids of the nodes there, and how they are named without ids.
pub struct Names<'a> {
    /// The file.
    pub file: &'a str,
    /// By index.
    pub ids: &'a [NodeId],
    /// By index; asked only where something of the file is known by a path.
    pub path: &'a dyn Fn(usize) -> String,
}

/// Returns the nodes of a file that count as private by what is remembered, each with how private, by index.
pub fn least(
    names: &Names<'_>,
    labels: &Seen,
    options: &PrivacyOptions,
    elsewhere: &dyn Fn(&str) -> bool,
) -> Vec<(usize, Privacy)> {
    let by_path = labels.knows_paths_in(names.file);
    let mut found = Vec::new();
    for (index, id) in names.ids.iter().enumerate() {
        let path = by_path.then(|| (names.path)(index));
        let lines = spots(labels, id, path.as_deref(), elsewhere).filter_map(|spot| labels.get(spot));
        let tier = lines.map(|line| tier_of(&line.value, options)).max().unwrap_or(Privacy::Open);
        if tier > Privacy::Open {
            found.push((index, tier));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::label::PrivacyTag;
    use crate::domain::memory::document::Document;
    use crate::domain::org::scan::{ScanOptions, scan};
    use crate::domain::policy::held::Line;
    use proptest::prelude::*;

    fn options() -> PrivacyOptions {
        PrivacyOptions { tags: ["private", "job=ask", "chat=warn"].map(|tag| PrivacyTag::read(tag).0).to_vec() }
    }

    fn document(text: &str) -> Document {
        Document::build("/m/a.org", scan(text.into(), &ScanOptions::default()).expect("small"), &options())
    }

    #[test]
    fn what_a_text_says_is_remembered_where_it_is_said_and_where_an_id_stands() {
        let check = |text: &str, expected: &[(Privacy, &str, &str)]| {
            let marks = marks(document(text).card(), &options());
            let said = |value: Option<String>| value.unwrap_or_default();
            let found: Vec<_> =
                marks.into_iter().map(|mark| (mark.tier, said(mark.value), said(mark.remembered))).collect();
            let expected: Vec<_> =
                expected.iter().map(|(tier, value, kept)| (*tier, value.to_string(), kept.to_string())).collect();
            assert_eq!(found, expected, "{text}");
        };
        let open = (Privacy::Open, "", "");
        check("* A\n** B :other:\n", &[open, open, open]);
        check(
            "* A :@Private:\n** B\n** C\n:PROPERTIES:\n:ID: c\n:END:\n** D :job:\n* E\n",
            &[
                open,
                (Privacy::Private, ":private:", ":private:"),
                (Privacy::Private, ":private:", ""),
                (Privacy::Private, ":private:", ":private:"),
                (Privacy::Private, ":job: :private:", ":job:"),
                open,
            ],
        );
        check(
            "#+FILETAGS: :chat:\n* A\n:PROPERTIES:\n:PP_PRIVACY: ask\n:END:\n** B\n",
            &[
                (Privacy::Warn, ":chat:", ":chat:"),
                (Privacy::Ask, ":chat: ask", "ask"),
                (Privacy::Ask, ":chat: ask", ""),
            ],
        );
        check("Text.\n#+PROPERTY: PP_PRIVACY block\n", &[(Privacy::Private, "block", "block")]);
        check("* A\n:PROPERTIES:\n:PP_PRIVACY: whatever\n:END:\n", &[open, (Privacy::Private, "block", "block")]);
    }

    #[test]
    fn what_is_remembered_holds_below_and_what_the_text_says_alone_is_still_known() {
        let text = "* A\n** B :job:\n* C\n:PROPERTIES:\n:ID: other\n:END:\n";
        let mut labels = Seen::default();
        let line = |value: &str, path: &str| Line { value: value.into(), path: path.into() };
        labels.put(Spot::of_heading("/m/a.org::*A", LABEL), line(":private:", "/m/a.org::*A"));
        labels.put(Spot::of_heading("gone", LABEL), line("ask", "/m/a.org::*C"));
        let check = |elsewhere: &str, expected: &[(usize, Privacy)], counts: [Privacy; 4], held: &[u32]| {
            let mut document = document(text);
            let written = document.privacy.clone();
            let path = |index: usize| document.card().path_name(index);
            let names = Names { file: &document.file, ids: &document.ids, path: &path };
            let least = least(&names, &labels, &options(), &|name| name == elsewhere);
            assert_eq!(least, expected);
            document.hold(&least);
            assert_eq!((document.privacy.as_slice(), document.held()), (&counts[..], held));
            assert_eq!(document.written(), written);
            let card = Card::of(&document);
            assert!(card.holds() && card.is_held(1) && !card.is_held(2));
            assert_eq!(card.privacy(2), Privacy::Private);
            let stored = Card::decode(card.file.clone(), card.root(), None, &card.encode()).expect("it can be read");
            assert_eq!(stored, card);
            assert_eq!(marks(&card, &options()).iter().map(|mark| mark.tier).collect::<Vec<_>>(), written);
            document.hold(&[]);
            assert_eq!((document.privacy.clone(), document.held()), (written, &[][..]));
        };
        let (open, ask, private) = (Privacy::Open, Privacy::Ask, Privacy::Private);
        check("", &[(1, private), (3, ask)], [open, private, private, ask], &[1, 3]);
        check("gone", &[(1, private)], [open, private, private, open], &[1]);
    }

    proptest! {
        #[test]
        fn all_of_two_is_as_strict_as_either(known in "(:private:|:job:|warn)( (ask|:chat:))?", now in "(block|:job:|:chat:)") {
            let (tier, all) = (|value: &str| tier_of(value, &options()), both(&known, &now));
            prop_assert_eq!(tier(&all), tier(&known).max(tier(&now)));
            prop_assert_eq!(both(&all, &now), all);
        }
    }
}
