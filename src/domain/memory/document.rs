//! One Org file in memory: its outline with ids, hashes and privacy for each node.
//!
//! Built from an outline in one pass; knows no disk and no clock.

use crate::domain::id::{NodeId, ObjectHash};
use crate::domain::label::{Privacy, PrivacyTag};
use crate::domain::memory::card::Card;
use crate::domain::memory::digest::{Digests, Reuse};
use crate::domain::memory::kin::{self, Hashed, Sketched};
use crate::domain::memory::link::{self, IdLink};
use crate::domain::memory::names::{self, Names};
use crate::domain::org::outline::Outline;
use crate::domain::org::scan::{ScanOptions, TooLarge, scan_again};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

/// One file in memory.
#[derive(Clone, Debug)]
pub struct Document {
    /// The file: absolute path, or its name in tests.
    pub file: Arc<str>,
    /// Its structure and text.
    pub outline: Outline,
    /// Each node's id, by index. No two nodes of a file share one.
    pub ids: Arc<[NodeId]>,
    /// Each node's hash with all below it, by index.
    pub hashes: Vec<ObjectHash>,
    /// Each node's privacy, own or inherited, by index: what counts.
    pub privacy: Vec<Privacy>,
    /// When the file was last changed, if it is known; derived, never hashed.
    pub modified: Option<jiff::Timestamp>,
    /// What was not taken over from an earlier document.
    pub anew: Anew,
    /// Each node's hash without what is below it, by index.
    own: Vec<ObjectHash>,
    /// The ids again, and how they are made.
    names: Names,
    /// Links to ids, sorted by target.
    links: Vec<IdLink>,
    /// What the text says of privacy, where that is not what counts.
    written: Option<Box<[Privacy]>>,
    /// The highest nodes that are more private than the text says, in order.
    held: Box<[u32]>,
    /// Made when it is first wanted.
    card: OnceLock<Arc<Card>>,
}

/// What makes a node private, beside its `PRIVACY` property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivacyOptions {
    /// Tags, whole and without regard to case or a leading `@`; the strictest of several counts.
    pub tags: Vec<PrivacyTag>,
}

impl PrivacyOptions {
    /// Returns the first of the strictest of these options' tags that are among some tags, as it is written without
    /// marks, with its tier.
    pub fn tag_among(&self, tags: &[&str]) -> Option<(String, Privacy)> {
        let wanted = Tiers::of(self).0.into_iter();
        let among = wanted.filter(|(wanted, _)| tags.iter().any(|tag| plain_tag(tag) == *wanted));
        // Of equal ones the first: `max_by_key` takes the last.
        among.rev().max_by_key(|(_, tier)| *tier)
    }

    /// Returns how private tags make what carries them.
    pub fn of_tags<T: AsRef<str>>(&self, tags: &[T]) -> Privacy {
        Tiers::of(self).of_tags(tags)
    }

    /// Returns those of some tags that make private what carries them, as they are written without marks, in order.
    pub fn private_among(&self, tags: &[&str]) -> BTreeSet<String> {
        let tiers = Tiers::of(self);
        tags.iter().filter(|tag| tiers.of_tag(tag) > Privacy::Open).map(|tag| plain_tag(tag)).collect()
    }
}

/// How much of a document had to be worked out; the rest was taken over from the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anew {
    /// Nodes whose own text was hashed.
    pub sections: usize,
    /// Nodes that were hashed with what is below them.
    pub nodes: usize,
    /// Nodes that were named.
    pub names: usize,
}

impl Default for PrivacyOptions {
    fn default() -> Self {
        PrivacyOptions { tags: vec!["private".into()] }
    }
}

impl Document {
    /// Builds a document: ids, hashes and privacy in time linear in the text.
    ///
    /// A node is named by its `:ID:`; without one by `FILE::*path/of/titles`, and a file by its path.
    /// The second node of a file with the same name gets `#2` behind it, the third `#3`.
    /// A path of titles longer than 1,024 bytes is shortened to `~` and a hash of itself.
    pub fn build(file: impl Into<Arc<str>>, outline: Outline, options: &PrivacyOptions) -> Document {
        Self::assemble(file.into(), outline, options, Earlier::Nothing)
    }

    /// Builds the document that follows another of the same file after an edit.
    ///
    /// Hashes are those that [`Document::build`] gives; those of what did not change are taken over. A heading without
    /// an `:ID:` keeps the name that it had: whatever becomes of the titles above it, of its siblings and of its own,
    /// as long as its text or its place tells that it is the same. What was not there before is named as by
    /// [`Document::build`], below the path that its parent keeps.
    pub fn rebuild(previous: &Document, outline: Outline, options: &PrivacyOptions) -> Document {
        Self::assemble(previous.file.clone(), outline, options, Earlier::Document(previous))
    }

    /// Builds the document that follows one of which the card is left; without its text, a heading is known again by
    /// title, length and place.
    pub fn rebuild_cold(previous: &Card, outline: Outline, options: &PrivacyOptions) -> Document {
        Self::assemble(previous.file.clone(), outline, options, Earlier::Card(previous))
    }

    /// Gives the nodes the names that a card of the same content has, of this file or of what it was called before.
    pub fn name_as(&mut self, card: &Card) {
        let (kept, numbers) = card.names();
        if card.root() == self.root() {
            self.name(kept, numbers);
        }
    }

    /// Gives the nodes names by what those of the same content keep. Where two nodes would have one name, as titles are
    /// read otherwise now, names stay as they are.
    pub fn name(&mut self, kept: &[(u32, Box<str>)], numbers: &[(u32, u32)]) {
        if *self.names.kept == *kept && *self.names.numbers == *numbers {
            return;
        }
        let names = Names::given(&self.file, &self.outline, kept.to_vec(), numbers.to_vec());
        let mut seen = HashSet::with_capacity(names.ids.len());
        if names.ids.iter().all(|id| seen.insert(id)) {
            self.names = names;
            self.ids = self.names.ids.clone();
            self.links = link::node_links(&self.file, &self.outline, &self.ids);
            self.card = OnceLock::new();
        }
    }

    /// Reads and builds the document of a text that is the one of another document after an edit.
    ///
    /// The result is what [`crate::domain::org::scan::scan`] and [`Document::rebuild`] give; what was not touched is
    /// not read again.
    ///
    /// # Errors
    /// When the text is too large.
    pub fn edited(
        previous: &Document,
        text: Arc<str>,
        scan: &ScanOptions,
        options: &PrivacyOptions,
    ) -> Result<Document, TooLarge> {
        Ok(Self::rebuild(previous, scan_again(&previous.outline, text, scan)?, options))
    }

    /// Returns the document with the time at which its file was last changed.
    pub fn changed_at(mut self, modified: Option<jiff::Timestamp>) -> Document {
        self.modified = modified;
        self.card = OnceLock::new();
        self
    }

    /// Returns the card of this document, which is made once: whoever reads many files may have it made by the thread
    /// that read the file, before memory takes the document in.
    pub fn card(&self) -> &Arc<Card> {
        self.card.get_or_init(|| Arc::new(Card::of(self)))
    }

    /// Returns the hash of the whole file's content.
    pub fn root(&self) -> ObjectHash {
        self.hashes.first().copied().unwrap_or(ObjectHash::new([0; 32]))
    }

    /// Returns whether this is a file of notes, as memory takes them in. A chat that was saved is none: what was asked
    /// and answered there would be asked about, and changed, in place of the notes themselves.
    pub fn is_notes(&self) -> bool {
        let chat = self.outline.nodes.first().and_then(|file| self.outline.property(file, "PP_CHAT"));
        chat.is_none_or(|session| session.trim().is_empty())
    }

    /// Returns how private the text makes each node, by index.
    pub fn written(&self) -> &[Privacy] {
        self.written.as_deref().unwrap_or(&self.privacy)
    }

    /// Returns the nodes that are more private than the text and what they stand in make them, in order.
    pub fn held(&self) -> &[u32] {
        &self.held
    }

    /// Has nodes count as at least so private, with all below them, whatever the text says; each time anew.
    pub fn hold(&mut self, least: &[(usize, Privacy)]) {
        let written = self.written.take().unwrap_or_else(|| self.privacy.clone().into());
        let least: HashMap<usize, Privacy> = least.iter().copied().collect();
        let mut counts: Vec<Privacy> = Vec::with_capacity(written.len());
        let mut held = Vec::new();
        for (index, own) in written.iter().copied().enumerate() {
            let parent = self.outline.nodes.get(index).filter(|_| index > 0).map(|node| node.parent as usize);
            // Parents stand before their children.
            let above = parent.map_or(Privacy::Open, |at| counts.get(at).copied().unwrap_or(Privacy::Private));
            let usual = own.max(above);
            let least = least.get(&index).copied().unwrap_or(usual);
            if least > usual {
                held.push(index as u32);
            }
            counts.push(usual.max(least));
        }
        self.written = (!held.is_empty()).then_some(written);
        (self.privacy, self.held) = (counts, held.into());
        // Of a card that was made nothing else changes.
        if let Some(mut card) = self.card.take() {
            Arc::make_mut(&mut card).count_as(&self.privacy, &self.held);
            self.card = OnceLock::from(card);
        }
    }

    /// Has nodes count as private as those of a card of the same text.
    pub(super) fn hold_as(&mut self, card: &Card) {
        if card.holds() {
            let held = (0..card.len()).filter(|index| card.is_held(*index));
            self.hold(&held.map(|index| (index, card.privacy(index))).collect::<Vec<_>>());
        }
    }

    /// Returns the links to nodes that stand in this file, sorted by target.
    pub fn links(&self) -> &[IdLink] {
        &self.links
    }

    /// Returns the links to one id.
    pub fn links_to(&self, target: &str) -> &[IdLink] {
        let begin = self.links.partition_point(|link| link.target.as_ref() < target);
        let rest = &self.links[begin..];
        &rest[..rest.partition_point(|link| link.target.as_ref() == target)]
    }

    /// Returns whether an id is made from this file's name, so that the file alone can find it.
    pub fn derives(&self, id: &NodeId) -> bool {
        let Some(rest) = id.as_str().strip_prefix(self.file.as_ref()) else { return false };
        rest.is_empty() || rest.starts_with("::*")
    }

    /// Returns whether its nodes have the names of a card's, and count as more private than the text says where those do.
    pub(super) fn is_made_as(&self, card: &Card) -> bool {
        let (kept, numbers) = card.names();
        *self.names.kept == *kept && *self.names.numbers == *numbers && card.holds_as(self)
    }

    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    fn assemble(file: Arc<str>, outline: Outline, options: &PrivacyOptions, earlier: Earlier<'_>) -> Document {
        let previous = match earlier {
            Earlier::Document(previous) => Some(previous),
            Earlier::Card(_) | Earlier::Nothing => None,
        };
        let reuse = previous.map(|old| Reuse::new(&old.hashes, &old.own, &old.outline, &outline));
        let Digests { whole: hashes, own, nodes, sections } = Digests::new(&outline, reuse.as_ref());
        let (names, named) = match earlier {
            Earlier::Nothing => (Names::new(&file, &outline), outline.nodes.len()),
            Earlier::Document(previous) => previous.names_of(&outline, &own, &hashes),
            Earlier::Card(card) => names_after(card, &outline),
        };
        let anew = Anew { sections, nodes, names: named };
        let privacy = privacy(&outline, options);
        let ids = names.ids.clone();
        let links = link::node_links(&file, &outline, &ids);
        let card = OnceLock::new();
        let (written, held) = (None, Box::default());
        Document { file, ids, hashes, privacy, modified: None, anew, own, names, links, written, held, outline, card }
    }

    /// Returns the names of the outline that follows this document, and how many of them are new.
    fn names_of(&self, outline: &Outline, own: &[ObjectHash], whole: &[ObjectHash]) -> (Names, usize) {
        let old = Hashed { outline: &self.outline, own: &self.own, whole: &self.hashes };
        let from = kin::kin(&old, &Hashed { outline, own, whole });
        let unmoved = from.iter().enumerate().all(|(index, old)| *old as usize == index);
        if unmoved && names::alike(&self.outline, outline) {
            return (self.names.clone(), 0);
        }
        let carried = kin::carried(&self.outline, &self.names, &self.file, outline, &from);
        let named = carried.ids.iter().filter(|id| id.is_none()).count();
        (Names::after(&self.file, outline, carried), named)
    }
}

/// What a document follows.
enum Earlier<'a> {
    Nothing,
    Document(&'a Document),
    Card(&'a Card),
}

/// Returns the names of the outline that follows a card's, and how many of them are new.
fn names_after(card: &Card, outline: &Outline) -> (Names, usize) {
    let (kept, numbers) = card.names();
    let names = Names::given(&card.file, card, kept.to_vec(), numbers.to_vec());
    let from = kin::kin(&Sketched::of_card(card), &Sketched::of_outline(outline));
    let carried = kin::carried(card, &names, &card.file, outline, &from);
    let named = carried.ids.iter().filter(|id| id.is_none()).count();
    (Names::after(&card.file, outline, carried), named)
}

/// Returns each node's privacy: the strictest of its own tags and properties, and of anything above it.
pub fn privacy(outline: &Outline, options: &PrivacyOptions) -> Vec<Privacy> {
    let tiers = Tiers::of(options);
    let whole_file = tiers.of_lines(outline);
    let mut privacy: Vec<Privacy> = Vec::with_capacity(outline.nodes.len());
    for (index, node) in outline.nodes.iter().enumerate() {
        let own = tiers.of_tags(&node.tags).max(of_properties(&node.properties));
        let inherited = match index {
            0 => whole_file,
            _ => privacy.get(node.parent as usize).copied().unwrap_or(Privacy::Private),
        };
        privacy.push(own.max(inherited));
    }
    privacy
}

/// Returns how private lines such as `#+FILETAGS`, in a file or its setup files, make all of it: what reads such a file
/// for its settings becomes as private. A setup file that could not be read is the strictest.
pub fn privacy_by_lines(outline: &Outline, options: &PrivacyOptions) -> Privacy {
    Tiers::of(options).of_lines(outline)
}

/// The tags that make private, without marks and in lower case.
struct Tiers(Vec<(String, Privacy)>);

impl Tiers {
    fn of(options: &PrivacyOptions) -> Tiers {
        let tags = options.tags.iter().map(|tag| (plain_tag(&tag.tag), tag.tier));
        Tiers(tags.filter(|(tag, _)| !tag.is_empty()).collect())
    }

    fn of_tag(&self, tag: &str) -> Privacy {
        let bare = tag.trim_start_matches('@');
        // Nearly every tag of every file comes here: without an allocation, where it is ASCII.
        let plain = if bare.is_ascii() { None } else { Some(plain_tag(tag)) };
        let is = |wanted: &str| plain.as_ref().map_or(wanted.eq_ignore_ascii_case(bare), |plain| wanted == plain);
        let tiers = self.0.iter().filter(|(wanted, _)| is(wanted)).map(|(_, tier)| *tier);
        tiers.max().unwrap_or(Privacy::Open)
    }

    fn of_tags<T: AsRef<str>>(&self, tags: &[T]) -> Privacy {
        tags.iter().map(|tag| self.of_tag(tag.as_ref())).max().unwrap_or(Privacy::Open)
    }

    fn of_lines(&self, outline: &Outline) -> Privacy {
        let setups = outline.setups.iter().map(|setup| setup.privacy).max().unwrap_or(Privacy::Open);
        let lines = self.of_tags(&outline.filetags).max(of_properties(&outline.properties));
        setups.max(lines).max(of_keywords(&outline.text))
    }
}

fn plain_tag(tag: &str) -> String {
    tag.trim().trim_matches(':').trim_start_matches('@').to_lowercase()
}

fn of_properties(properties: &[(Box<str>, Box<str>)]) -> Privacy {
    of_lines(properties.iter().map(|(key, value)| (key.as_ref(), value.as_ref())))
}

/// Returns how private lines of properties make what they stand at.
pub fn of_lines<'a>(properties: impl Iterator<Item = (&'a str, &'a str)>) -> Privacy {
    let tiers = properties.map(|(key, value)| of_property(key, value.split_whitespace()));
    tiers.max().unwrap_or(Privacy::Open)
}

/// Returns what a property makes private. `PP_PRIVACY` is ours, so that whatever it says but `open` is meant to; of
/// `PRIVACY`, which others may use for something else, only our words count.
fn of_property<'a>(key: &str, words: impl Iterator<Item = &'a str>) -> Privacy {
    let key = key.trim_end_matches('+');
    let unknown = match () {
        () if key.eq_ignore_ascii_case("PP_PRIVACY") => Privacy::Private,
        () if key.eq_ignore_ascii_case("PRIVACY") => Privacy::Open,
        () => return Privacy::Open,
    };
    let open = |word: &str| matches!(word.trim_matches('"').to_ascii_lowercase().as_str(), "" | "open" | "nil");
    let tier = |word: &str| if open(word) { Privacy::Open } else { Privacy::tier(word).unwrap_or(unknown) };
    words.map(tier).max().unwrap_or(Privacy::Open)
}

/// How much of a `#+PROPERTY` line is read, in bytes.
const MAX_PROPERTY_LINE: usize = 512;

/// Returns how private lines such as `#+PROPERTY: PRIVACY private` make a file, wherever in it they stand.
fn of_keywords(text: &str) -> Privacy {
    let bytes = text.as_bytes();
    let tier = |at: usize| {
        let rest = bytes.get(at + 2..).unwrap_or_default();
        let rest = &rest[..rest.len().min(MAX_PROPERTY_LINE)];
        let Some((keyword, rest)) = rest.split_at_checked("property:".len()) else { return Privacy::Open };
        if !keyword.eq_ignore_ascii_case(b"property:") {
            return Privacy::Open;
        }
        let begins_line = bytes[..at].iter().rev().find(|b| !matches!(b, b' ' | b'\t')).is_none_or(|b| *b == b'\n');
        let line = String::from_utf8_lossy(rest.split(|b| matches!(b, b'\n' | b'\r')).next().unwrap_or_default());
        let mut words = line.split_whitespace();
        let key = words.next().filter(|_| begins_line);
        key.map_or(Privacy::Open, |key| of_property(key, words))
    };
    memchr::memmem::find_iter(bytes, b"#+").map(tier).max().unwrap_or(Privacy::Open)
}
