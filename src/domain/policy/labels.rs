//! What made headings private, as it is remembered: it goes on counting when it is gone or weaker, until the user lets
//! it go.
//!
//! Tags are remembered as tags, so that which of them make private stays the user's setting.

use crate::domain::hash::ContentHasher;
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::card::Card;
use crate::domain::memory::document::{Document, PrivacyOptions, of_lines};
use crate::domain::policy::held::{Seen, Spot};
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};

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

/// The nodes of a file: what they are called, and what the text says of them.
pub struct Names<'a> {
    /// The file.
    file: &'a str,
    /// By index.
    ids: &'a [NodeId],
    /// How a node is called without an id; asked only where something of the file is known by a path.
    path: &'a dyn Fn(usize) -> String,
    /// How private the text makes a node.
    written: &'a dyn Fn(usize) -> Privacy,
    /// Where each id stands, made when it is first asked.
    places: OnceCell<HashMap<&'a str, usize>>,
}

impl<'a> Names<'a> {
    /// Makes it of a file, the ids of its nodes, what each is called without one, and how private its text makes it.
    pub fn new(
        file: &'a str,
        ids: &'a [NodeId],
        path: &'a dyn Fn(usize) -> String,
        written: &'a dyn Fn(usize) -> Privacy,
    ) -> Names<'a> {
        Names { file, ids, path, written, places: OnceCell::new() }
    }

    fn place(&self, id: &str) -> Option<usize> {
        let places = || self.ids.iter().enumerate().map(|(index, id)| (id.as_str(), index)).collect();
        self.places.get_or_init(places).get(id).copied()
    }

    /// Returns the id that a node would share with another one of the file, were there no number behind it.
    fn shared<'i>(&self, id: &'i str) -> Option<&'i str> {
        let (shared, number) = id.rsplit_once('#')?;
        let numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        (numbered && self.place(shared).is_some()).then_some(shared)
    }

    /// Returns whether what bears the name of a label stands where it stood, and says itself that it is so private: then
    /// what is called alike is something else. An id alone is no proof, as anybody can write it below another headline.
    fn is_at_home(&self, spot: &Spot, labels: &Seen, options: &PrivacyOptions) -> bool {
        let Some((line, at)) = labels.get(spot).zip(self.place(&spot.heading)) else { return false };
        (self.written)(at) >= tier_of(&line.value, options) && (self.path)(at) == line.path
    }

    /// Returns what is remembered of a node: under its id, and under its path or an id that stands twice, unless another
    /// node is what was meant.
    pub fn spots<'s>(&self, index: usize, labels: &'s Seen, options: &PrivacyOptions) -> Vec<&'s Spot> {
        let Some(id) = self.ids.get(index).map(NodeId::as_str) else { return Vec::new() };
        let path = labels.knows_paths_in(self.file).then(|| (self.path)(index));
        let alike = path.as_deref().into_iter().chain(self.shared(id)).filter(|name| *name != id);
        let found: BTreeSet<&Spot> = std::iter::once(id).chain(alike).flat_map(|name| labels.named(name)).collect();
        let meant = |spot: &&Spot| spot.heading == id || !self.is_at_home(spot, labels, options);
        found.into_iter().filter(meant).collect()
    }
}

/// Returns the nodes of a file that count as private by what is remembered, each with how private, by index.
pub fn least(names: &Names<'_>, labels: &Seen, options: &PrivacyOptions) -> Vec<(usize, Privacy)> {
    let mut found = Vec::new();
    for index in 0..names.ids.len() {
        let spots = names.spots(index, labels, options);
        let lines = spots.into_iter().filter_map(|spot| labels.get(spot));
        let tier = lines.map(|line| tier_of(&line.value, options)).max().unwrap_or(Privacy::Open);
        if tier > Privacy::Open {
            found.push((index, tier));
        }
    }
    found
}

/// Names what stands in some nodes of a file: the titles down to each with its text, without planning line and drawer.
pub fn passages(document: &Document, wanted: impl Fn(usize) -> bool) -> HashSet<[u8; 32]> {
    let outline = &document.outline;
    // Hashes, so that depth cannot make them grow.
    let mut titles: Vec<[u8; 32]> = Vec::with_capacity(outline.nodes.len());
    let mut found = HashSet::new();
    for (index, node) in outline.nodes.iter().enumerate() {
        let above = titles.get(node.parent as usize).copied().unwrap_or_default();
        // A file has another name.
        let title = if index > 0 { outline.slice(&node.title) } else { "" };
        let path = ContentHasher::new("titles").bytes(&above).text(title).finish();
        let body = outline.slice(&node.body).trim();
        // A file in which nothing stands above the first heading is like any other.
        if wanted(index) && !(index == 0 && body.is_empty()) {
            found.insert(ContentHasher::new("passage").bytes(&path).text(body).finish());
        }
        titles.push(path);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::label::PrivacyTag;
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
        let check = |labels: &Seen, expected: &[(usize, Privacy)], counts: [Privacy; 4], held: &[u32]| {
            let mut document = document(text);
            let written = document.privacy.clone();
            let path = |index: usize| document.card().path_name(index);
            let says = |index: usize| document.written().get(index).copied().unwrap_or(Privacy::Private);
            let least = least(&Names::new(&document.file, &document.ids, &path, &says), labels, &options());
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
        check(&labels, &[(1, private), (3, ask)], [open, private, private, ask], &[1, 3]);
        labels.take(&Spot::of_heading("gone", LABEL));
        check(&labels, &[(1, private)], [open, private, private, open], &[1]);
    }

    #[test]
    fn an_id_below_another_headline_takes_no_label_along_and_what_is_called_alike_has_none() {
        let mut labels = Seen::default();
        labels.put(Spot::of_heading("h", LABEL), Line { value: ":private:".into(), path: "/m/a.org::*Health".into() });
        let check = |text: &str, expected: &[usize]| {
            let document = document(text);
            let path = |index: usize| document.card().path_name(index);
            let says = |index: usize| document.written().get(index).copied().unwrap_or(Privacy::Private);
            let least = least(&Names::new(&document.file, &document.ids, &path, &says), &labels, &options());
            assert_eq!(least.into_iter().map(|(index, _)| index).collect::<Vec<_>>(), expected, "{text}");
        };
        let id = ":PROPERTIES:\n:ID: h\n:END:\n";
        // Where it stands as it stood, its namesakes are others.
        check(&format!("* Health :private:\n{id}* Health\nText.\n"), &[1]);
        check(&format!("* Health\nText.\n* Health :private:\n{id}"), &[2]);
        check(&format!("* Health :private:\n{id}* Other\n{id}"), &[1]);
        // Where it does not, either may be meant.
        check(&format!("* Decoy\n{id}* Health\nSilver.\n"), &[1, 2]);
        check(&format!("* Decoy :private:\n{id}* Health\nSilver.\n"), &[1, 2]);
        check(&format!("* Health\n{id}* Health\nSilver.\n"), &[1, 2]);
        check(&format!("* Decoy\n{id}* Illness\n{id}"), &[1, 2]);
        check("* Health\nSilver.\n* Other\n", &[1]);
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
