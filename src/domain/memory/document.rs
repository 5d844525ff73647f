//! One Org file in memory: its outline with ids, hashes and privacy for each node.
//!
//! Built from an outline in one pass; knows no disk and no clock.

use crate::domain::hash::ContentHasher;
use crate::domain::id::{NodeId, ObjectHash};
use crate::domain::label::Privacy;
use crate::domain::memory::group;
use crate::domain::memory::link::{self, IdLink};
use crate::domain::org::outline::{Node, Outline};
use std::collections::HashMap;
use std::sync::Arc;

/// A path of titles longer than this many bytes is named by its hash instead.
pub(super) const MAX_PATH: usize = 1024;
/// How long the name of such a path is, in bytes.
pub(super) const SHORT_PATH: usize = 33;

/// One file in memory.
#[derive(Debug)]
pub struct Document {
    /// The file: absolute path, or its name in tests.
    pub file: Arc<str>,
    /// Its structure and text.
    pub outline: Outline,
    /// Each node's id, by index. No two nodes of a file share one.
    pub ids: Vec<NodeId>,
    /// Each node's hash with all below it, by index.
    pub hashes: Vec<ObjectHash>,
    /// Each node's privacy, own or inherited, by index.
    pub privacy: Vec<Privacy>,
    /// When the file was last changed, if it is known; derived, never hashed.
    pub modified: Option<jiff::Timestamp>,
    /// Each node's hash without what is below it, by index.
    own: Vec<ObjectHash>,
    /// Index by id.
    places: HashMap<NodeId, u32>,
    /// Links to ids, sorted by target.
    links: Vec<IdLink>,
}

/// What makes a node private, beside its `PRIVACY` property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivacyOptions {
    /// Tags, whole and without regard to case or a leading `@`.
    pub tags: Vec<String>,
}

impl Default for PrivacyOptions {
    fn default() -> Self {
        PrivacyOptions { tags: vec!["private".to_string()] }
    }
}

impl Document {
    /// Builds a document: ids, hashes and privacy in time linear in the text.
    ///
    /// A node is named by its `:ID:`; without one by `FILE::*path/of/titles`, and a file by its path.
    /// The second node of a file with the same name gets `#2` behind it, the third `#3`.
    /// A path of titles longer than 1,024 bytes is shortened to `~` and a hash of itself.
    pub fn build(file: impl Into<Arc<str>>, outline: Outline, options: &PrivacyOptions) -> Document {
        Self::assemble(file.into(), outline, options, None)
    }

    /// Builds the document that follows another of the same file after an edit.
    ///
    /// The result is what [`Document::build`] gives; hashes of what did not change are taken over.
    pub fn rebuild(previous: &Document, outline: Outline, options: &PrivacyOptions) -> Document {
        Self::assemble(previous.file.clone(), outline, options, Some(previous))
    }

    /// Returns the document with the time at which its file was last changed.
    pub fn changed_at(mut self, modified: Option<jiff::Timestamp>) -> Document {
        self.modified = modified;
        self
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

    /// Finds a node of this file by its id.
    pub fn index_of(&self, id: &NodeId) -> Option<usize> {
        self.places.get(id).map(|index| *index as usize)
    }

    /// Returns the links to ids that stand in this file, sorted by target.
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

    fn assemble(file: Arc<str>, outline: Outline, options: &PrivacyOptions, previous: Option<&Document>) -> Document {
        let reuse = previous.map(|previous| Reuse::new(previous, &outline));
        let (own, hashes) = hashes(&outline, reuse.as_ref());
        let (ids, places) = ids(&file, &outline);
        let privacy = privacy(&outline, options);
        let links = link::id_links(&outline);
        Document { file, ids, hashes, privacy, modified: None, own, places, links, outline }
    }
}

/// Which hashes of an earlier document still hold.
struct Reuse<'a> {
    previous: &'a Document,
    /// Bytes that both texts begin with.
    head: u32,
    /// Where the part that both texts end with begins, in the new text.
    tail: u32,
    /// How many nodes more the new outline has.
    more: isize,
    /// How many bytes longer the new text is.
    longer: i64,
}

impl<'a> Reuse<'a> {
    fn new(previous: &'a Document, outline: &Outline) -> Self {
        let (old, new) = (previous.outline.text.as_bytes(), outline.text.as_bytes());
        let head = common_head(old, new);
        let room = old.len().min(new.len()) - head;
        let tail = common_tail(&old[old.len() - room..], &new[new.len() - room..]);
        Reuse {
            previous,
            head: head as u32,
            tail: (new.len() - tail) as u32,
            more: outline.nodes.len() as isize - previous.outline.nodes.len() as isize,
            longer: new.len() as i64 - old.len() as i64,
        }
    }

    /// Returns the index of the old node whose own bytes are those of a new one.
    fn own(&self, index: usize, node: &Node) -> Option<usize> {
        self.same(index, node, node.section.end, |old| old.section.end)
    }

    /// Returns the index of the old node whose whole subtree is that of a new one.
    fn subtree(&self, index: usize, node: &Node) -> Option<usize> {
        self.same(index, node, node.end, |old| old.end)
    }

    fn same(&self, index: usize, node: &Node, end: u32, end_of: impl Fn(&Node) -> u32) -> Option<usize> {
        // In front of the change offsets are the same; behind it they are moved.
        let (at, by) = if end <= self.head {
            (index, 0)
        } else if node.begin >= self.tail {
            (index.checked_add_signed(self.more.checked_neg()?)?, self.longer)
        } else {
            return None;
        };
        let old = self.previous.outline.nodes.get(at)?;
        (i64::from(old.begin) + by == i64::from(node.begin) && i64::from(end_of(old)) + by == i64::from(end))
            .then_some(at)
    }
}

/// How many bytes are compared at once.
const STRIDE: usize = 4096;

fn common_head(a: &[u8], b: &[u8]) -> usize {
    let whole = a.chunks(STRIDE).zip(b.chunks(STRIDE)).take_while(|(a, b)| a == b).map(|(a, _)| a.len()).sum();
    whole + a[whole..].iter().zip(&b[whole..]).take_while(|(a, b)| a == b).count()
}

/// Two slices of the same length.
fn common_tail(a: &[u8], b: &[u8]) -> usize {
    let whole: usize = a.rchunks(STRIDE).zip(b.rchunks(STRIDE)).take_while(|(a, b)| a == b).map(|(a, _)| a.len()).sum();
    let (a, b) = (&a[..a.len() - whole], &b[..b.len() - whole]);
    whole + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

/// Returns each node's hash without and with what is below it.
///
/// The pinned encoding: `section` over the raw bytes from the headline to the next headline;
/// `node` over that hash, the number of children, and the hash of the children's list if there are any.
fn hashes(outline: &Outline, reuse: Option<&Reuse>) -> (Vec<ObjectHash>, Vec<ObjectHash>) {
    let nodes = &outline.nodes;
    let mut own = Vec::with_capacity(nodes.len());
    for (index, node) in nodes.iter().enumerate() {
        let kept = reuse.and_then(|reuse| Some(reuse.previous.own[reuse.own(index, node)?]));
        own.push(kept.unwrap_or_else(|| {
            let bytes = outline.text.as_bytes().get(node.begin as usize..node.section.end as usize);
            ObjectHash::new(ContentHasher::new("section").bytes(bytes.unwrap_or_default()).finish())
        }));
    }
    let mut whole = vec![ObjectHash::new([0; 32]); nodes.len()];
    let mut children = Vec::new();
    // Children stand behind their parents, so going backwards meets them first: no recursion.
    for (index, node) in nodes.iter().enumerate().rev() {
        let kept = reuse.and_then(|reuse| Some(reuse.previous.hashes[reuse.subtree(index, node)?]));
        whole[index] = kept.unwrap_or_else(|| {
            children.clear();
            children.extend(outline.children(index).map(|child| whole[child]));
            let mut hasher = ContentHasher::new("node");
            hasher.bytes(own[index].as_bytes()).number(children.len() as u64);
            if !children.is_empty() {
                hasher.bytes(group::root(&children, &mut |_, _, _| {}).as_bytes());
            }
            ObjectHash::new(hasher.finish())
        });
    }
    (own, whole)
}

/// Names each node; see [`Document::build`].
fn ids(file: &Arc<str>, outline: &Outline) -> (Vec<NodeId>, HashMap<NodeId, u32>) {
    let mut ids = Vec::with_capacity(outline.nodes.len());
    let mut places = HashMap::with_capacity(outline.nodes.len());
    let mut next_suffix: HashMap<NodeId, u32> = HashMap::new();
    let base = format!("{file}::*");
    // Paths of the nodes above, the file's first; each no longer than `MAX_PATH`.
    let mut above: Vec<(u32, String)> = Vec::new();
    for (index, node) in outline.nodes.iter().enumerate() {
        let own = outline.property(node, "ID").map(str::trim).filter(|id| !id.is_empty());
        let mut name = own.map(NodeId::new);
        if index == 0 {
            name.get_or_insert_with(|| NodeId::new(file.clone()));
            above.push((0, String::new()));
        } else {
            while above.len() > 1 && above.last().is_some_and(|(at, _)| *at != node.parent) {
                above.pop();
            }
            let has_children = outline.nodes.get(index + 1).is_some_and(|next| next.parent as usize == index);
            if name.is_none() || has_children {
                let path = path(above.last().map_or("", |(_, path)| path), outline.slice(&node.title));
                name.get_or_insert_with(|| NodeId::new(format!("{base}{path}")));
                above.push((index as u32, path));
            }
        }
        let name = name.unwrap_or_else(|| NodeId::new(base.as_str()));
        let name = unique(name, &places, &mut next_suffix);
        places.insert(name.clone(), index as u32);
        ids.push(name);
    }
    (ids, places)
}

/// Returns a path with one more title; a long one is replaced by a hash, so that depth cannot make names grow.
pub(super) fn path(above: &str, title: &str) -> String {
    let path = match above {
        "" => title.to_string(),
        _ => format!("{above}/{title}"),
    };
    if path.len() <= MAX_PATH {
        return path;
    }
    let hash = ObjectHash::new(ContentHasher::new("path").text(&path).finish());
    format!("~{}", &hash.to_hex()[..32])
}

fn unique(name: NodeId, taken: &HashMap<NodeId, u32>, next_suffix: &mut HashMap<NodeId, u32>) -> NodeId {
    if !taken.contains_key(&name) {
        return name;
    }
    let next = next_suffix.entry(name.clone()).or_insert(2);
    loop {
        let candidate = NodeId::new(format!("{name}#{next}"));
        *next += 1;
        if !taken.contains_key(&candidate) {
            return candidate;
        }
    }
}

/// Returns each node's privacy: its own tags and properties, or those of anything above it.
pub fn privacy(outline: &Outline, options: &PrivacyOptions) -> Vec<Privacy> {
    let wanted: Vec<String> = options.tags.iter().map(|tag| plain_tag(tag)).filter(|tag| !tag.is_empty()).collect();
    let private_tag = |tag: &str| {
        let bare = tag.trim_start_matches('@');
        match bare.is_ascii() {
            // Nearly every tag of every file comes here: without an allocation.
            true => wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(bare)),
            false => wanted.contains(&plain_tag(tag)),
        }
    };
    let whole_file = outline.filetags.iter().any(|tag| private_tag(tag)) || private_keyword(&outline.text);
    let mut privacy = Vec::with_capacity(outline.nodes.len());
    for (index, node) in outline.nodes.iter().enumerate() {
        let own = node.tags.iter().any(|tag| private_tag(tag)) || node.properties.iter().any(private_property);
        let inherited = match index {
            0 if whole_file => Privacy::Private,
            0 => Privacy::Open,
            _ => privacy.get(node.parent as usize).copied().unwrap_or(Privacy::Private),
        };
        privacy.push(if own { Privacy::Private } else { inherited });
    }
    privacy
}

fn plain_tag(tag: &str) -> String {
    tag.trim().trim_matches(':').trim_start_matches('@').to_lowercase()
}

fn private_property((key, value): &(Box<str>, Box<str>)) -> bool {
    is_privacy(key.trim_end_matches('+')) && says_private(value)
}

fn is_privacy(key: &str) -> bool {
    key.eq_ignore_ascii_case("PRIVACY") || key.eq_ignore_ascii_case("PP_PRIVACY")
}

fn says_private(value: &str) -> bool {
    value.split_whitespace().any(|word| word.trim_matches('"').eq_ignore_ascii_case("private"))
}

/// How much of a `#+PROPERTY` line is read, in bytes.
const MAX_PROPERTY_LINE: usize = 512;

/// Returns whether a `#+PROPERTY: PRIVACY private` line stands anywhere in a file; it holds for all of it.
fn private_keyword(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memmem::find_iter(bytes, b"#+").any(|at| {
        let rest = &bytes[at + 2..];
        let rest = &rest[..rest.len().min(MAX_PROPERTY_LINE)];
        let Some((keyword, rest)) = rest.split_at_checked("property:".len()) else { return false };
        if !keyword.eq_ignore_ascii_case(b"property:") {
            return false;
        }
        let begins_line = bytes[..at].iter().rev().find(|b| !matches!(b, b' ' | b'\t')).is_none_or(|b| *b == b'\n');
        let line = String::from_utf8_lossy(rest.split(|b| matches!(b, b'\n' | b'\r')).next().unwrap_or_default());
        let mut words = line.split_whitespace();
        begins_line && words.next().is_some_and(|key| is_privacy(key.trim_end_matches('+'))) && words.any(says_private)
    })
}
