//! Gets a query ready for one memory at one moment: names become places, days become dates, words become terms.

use crate::domain::context::lexical::QueryTerm;
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::card::Card;
use crate::domain::memory::query::Planning;
use crate::domain::memory::view::NodeRef;
use crate::domain::org::property::Inheritance;
use crate::domain::query::date::{Lean, When, Window};
use crate::domain::query::run::World;
use crate::domain::query::source::{self, Key};
use crate::domain::query::text::{self, Places, Reader, Wanted};
use crate::domain::query::{Filter, Query, Stamp, State, Term, Test, Thing, Todo};
use jiff::civil::Date;
use std::ops::Range;
use std::sync::Arc;

/// A name that is no id may mean at most so many headings.
const NAMED: usize = 100;
/// So many nodes are like another one.
pub const ALIKE: usize = 50;

/// A filter, ready to be asked.
pub enum Check {
    /// All of these.
    All(Vec<Check>),
    /// One of these.
    Any(Vec<Check>),
    /// Not this.
    Not(Box<Check>),
    /// One condition.
    One(Box<Ready>),
}

/// One condition, ready to be asked.
pub enum Ready {
    /// A word or phrase, by its number in [`Plan::texts`].
    Text(usize),
    /// The title holds this text in lower case.
    Title(String),
    /// The keyword.
    Todo(Todo),
    /// One of these tags, in lower case.
    Tag(Vec<String>),
    /// One of these own tags, in lower case.
    OwnTag(Vec<String>),
    /// A property.
    Property(String, Test),
    /// One of these priorities.
    Priority(Vec<char>),
    /// A level from and to.
    Level(u16, u16),
    /// A part of the file's name, or a pattern.
    File(FilePattern),
    /// Exactly these nodes.
    Nodes(Vec<NodeRef>),
    /// Nodes with an index in one of these ranges of a file.
    Below(Vec<(Arc<str>, Range<usize>)>),
    /// Nodes whose parent is one of these.
    Child(Vec<NodeRef>),
    /// A time in a stretch.
    Within(Stamp, Window),
    /// A time, whichever.
    Timed(Stamp),
    /// No such time.
    Untimed(Stamp),
    /// Something that it has.
    Has(Thing),
    /// Something that it is.
    Is(State, Date),
    /// Nothing fits.
    Never,
}

/// A part of a file's name in lower case; with `*`, the whole of it.
pub struct FilePattern(Vec<String>);

/// One word or phrase of a query.
pub struct Text {
    /// What is looked for.
    pub wanted: Wanted,
    /// Whether a node is better for it: it stands under no “not”.
    pub counts: bool,
}

/// A query, ready to be asked.
pub struct Plan {
    /// Which nodes.
    pub check: Check,
    /// Its words and phrases.
    pub texts: Vec<Text>,
    /// Nodes that are like another one, with how much.
    pub alike: Option<Places>,
    /// What ought to be said about it.
    pub notes: Vec<String>,
}

impl Plan {
    /// Gets a query ready.
    pub fn of(query: &Query, world: &World<'_>, reader: &mut Reader) -> Plan {
        let mut planner = Planner {
            world,
            reader,
            plan: Plan { check: Check::All(Vec::new()), texts: Vec::new(), alike: None, notes: Vec::new() },
        };
        let check = planner.filter(&query.filter, true);
        let mut plan = planner.plan;
        plan.check = plan.without_empty_words(check);
        plan
    }

    /// Leaves words such as “the” out where others must be there as well.
    fn without_empty_words(&mut self, check: Check) -> Check {
        let Check::All(parts) = check else { return check };
        let empty = |check: &Check| match check {
            Check::One(ready) => match ready.as_ref() {
                Ready::Text(at) => self.texts.get(*at).is_some_and(|text| text::is_empty_word(&text.wanted)),
                _ => false,
            },
            Check::All(_) | Check::Any(_) | Check::Not(_) => false,
        };
        if parts.iter().all(empty) || !parts.iter().any(empty) {
            return Check::All(parts);
        }
        let (out, kept): (Vec<Check>, Vec<Check>) = parts.into_iter().partition(|part| empty(part));
        self.notes.push(format!(
            "{} too common to be looked for and left out; quote several words to find them as they stand",
            if out.len() == 1 { "one word is" } else { "some words are" }
        ));
        Check::All(kept)
    }

    /// Returns the parts that must all fit.
    pub fn parts(&self) -> &[Check] {
        match &self.check {
            Check::All(parts) => parts.as_slice(),
            one @ (Check::Any(_) | Check::Not(_) | Check::One(_)) => std::slice::from_ref(one),
        }
    }

    /// Returns the conditions that must all hold.
    fn conditions(&self) -> impl Iterator<Item = &Ready> {
        self.parts().iter().filter_map(|part| match part {
            Check::One(ready) => Some(ready.as_ref()),
            Check::All(_) | Check::Any(_) | Check::Not(_) => None,
        })
    }

    /// Returns the first and last day that a node's stamp may have.
    pub fn days_of(&self, stamp: Stamp) -> (Date, Date) {
        let windows = self.conditions().filter_map(|ready| match ready {
            Ready::Within(of, window) if *of == stamp => Some(days(window)),
            Ready::Is(State::Overdue, today) if stamp == Stamp::Deadline => Some((Date::MIN, *today)),
            _ => None,
        });
        windows.fold((Date::MIN, Date::MAX), |(first, last), (from, to)| (first.max(from), last.min(to)))
    }

    /// Returns whether only nodes with a day in this stamp can fit.
    pub fn needs(&self, stamp: Stamp) -> bool {
        self.conditions().any(|ready| match ready {
            Ready::Within(of, _) | Ready::Timed(of) => *of == stamp,
            Ready::Is(State::Overdue, _) => stamp == Stamp::Deadline,
            _ => false,
        })
    }

    /// Returns the terms by which nodes are ranked.
    pub fn ranking(&self) -> Vec<QueryTerm> {
        let mut terms: Vec<QueryTerm> = Vec::new();
        for term in self.texts.iter().filter(|text| text.counts).flat_map(|text| &text.wanted.terms) {
            if !terms.iter().any(|known| known.term == *term) {
                terms.push(QueryTerm { term: term.clone(), weight: 1.0 });
            }
        }
        terms
    }
}

struct Planner<'a, 'b> {
    world: &'a World<'a>,
    reader: &'b mut Reader,
    plan: Plan,
}

impl Planner<'_, '_> {
    /// Gets a filter ready. It calls itself as deep as groups stand in each other, which reading bounds.
    fn filter(&mut self, filter: &Filter, counts: bool) -> Check {
        match filter {
            Filter::All(parts) => Check::All(parts.iter().map(|part| self.filter(part, counts)).collect()),
            Filter::Any(parts) => Check::Any(parts.iter().map(|part| self.filter(part, counts)).collect()),
            Filter::Not(inner) => Check::Not(Box::new(self.filter(inner, !counts))),
            Filter::Term(term) => Check::One(Box::new(self.term(term, counts))),
        }
    }

    fn text(&mut self, wanted: Wanted, counts: bool) -> Ready {
        self.plan.texts.push(Text { wanted, counts });
        Ready::Text(self.plan.texts.len() - 1)
    }

    fn term(&mut self, term: &Term, counts: bool) -> Ready {
        match term {
            Term::Word(word) => {
                if let Some(begin) = word.strip_suffix('*').filter(|begin| text::has_words(begin)) {
                    let note = format!(
                        "“{word}” is looked for as the word {begin}; title:{begin} finds parts of words in titles"
                    );
                    self.plan.notes.push(note);
                }
                let wanted = self.reader.word(word);
                self.text(wanted, counts)
            }
            Term::Phrase(phrase) => {
                let wanted = self.reader.phrase(phrase);
                self.text(wanted, counts)
            }
            Term::Title(text) => Ready::Title(text.to_lowercase()),
            Term::Todo(todo) => Ready::Todo(todo.clone()),
            Term::Tag(tags) => Ready::Tag(tags.iter().map(|tag| tag.to_lowercase()).collect()),
            Term::OwnTag(tags) => Ready::OwnTag(tags.iter().map(|tag| tag.to_lowercase()).collect()),
            Term::Property(key, test) => Ready::Property(key.clone(), test.clone()),
            Term::Priority(wanted) => Ready::Priority(wanted.clone()),
            Term::Level(from, to) => Ready::Level(*from, *to),
            Term::File(name) => Ready::File(FilePattern::new(name)),
            Term::Id(id) => match self.by_id(id) {
                Some(node) => Ready::Nodes(vec![node]),
                None => self.nobody(&format!("no heading has the id “{id}”")),
            },
            Term::Under(name) => {
                let below = |node: &NodeRef| (source::file(node).clone(), node.index + 1..source::after(node));
                match self.named(name) {
                    nodes if nodes.is_empty() => Ready::Never,
                    nodes => Ready::Below(nodes.iter().map(below).collect()),
                }
            }
            Term::Parent(name) => match self.named(name) {
                nodes if nodes.is_empty() => Ready::Never,
                nodes => Ready::Child(nodes),
            },
            Term::Links(name) => {
                let nodes = self.named(name);
                let targets = nodes.iter().flat_map(source::links);
                let view = self.world.view;
                let found = targets.filter_map(|id| view.get(&NodeId::new(id.as_str())));
                Ready::Nodes(in_order(found.collect()))
            }
            Term::Backlinks(name) => {
                let view = self.world.view;
                // An id that no heading has may be linked to all the same.
                let mut found = view.backlinks(&NodeId::new(name.as_str()));
                if found.is_empty() {
                    let nodes = self.named(name);
                    found = nodes.iter().flat_map(|node| view.backlinks(node.id())).collect();
                }
                Ready::Nodes(in_order(found))
            }
            Term::Similar(name) => self.similar(name, counts),
            Term::Time(stamp, when) => self.time(*stamp, when),
            Term::Has(thing) => Ready::Has(*thing),
            Term::Is(state) => Ready::Is(*state, self.world.now.date()),
        }
    }

    fn time(&mut self, stamp: Stamp, when: &When) -> Ready {
        let lean = match stamp {
            Stamp::Scheduled | Stamp::Deadline | Stamp::Planned => Lean::Forward,
            Stamp::Closed | Stamp::Modified => Lean::Back,
        };
        match (when, when.window(self.world.now, lean)) {
            (When::Any, _) => Ready::Timed(stamp),
            (When::None, _) => Ready::Untimed(stamp),
            (_, Some(window)) => Ready::Within(stamp, window),
            (_, None) => self.nobody(&format!("{when} lies beyond the calendar")),
        }
    }

    fn nobody(&mut self, note: &str) -> Ready {
        self.plan.notes.push(note.to_string());
        Ready::Never
    }

    fn admitted(&self, node: &NodeRef) -> bool {
        source::admitted(node, self.world.clearance)
    }

    fn by_id(&self, id: &str) -> Option<NodeRef> {
        self.world.view.get(&NodeId::new(id)).filter(|node| self.admitted(node))
    }

    /// Finds what a name means: an id, a file, a title, or titles on the way down to it, by `/`.
    fn named(&mut self, name: &str) -> Vec<NodeRef> {
        if let Some(node) = self.by_id(name) {
            return vec![node];
        }
        // Counts go first: the sign that divides a path stands in them, too.
        let called = source::called(name.trim());
        let wanted: Vec<String> = called.split('/').map(|part| part.trim().to_lowercase()).collect();
        let whole = called.to_lowercase();
        let fits = |card: &Card, index: usize| {
            let title = card.title(index);
            if index == 0 {
                let file = card.file.to_lowercase();
                return file.ends_with(&format!("/{whole}")) || file == whole || source::is_called(title, &whole);
            }
            source::is_called(title, &whole)
                || (wanted.len() > 1 && wanted.last().is_some_and(|last| source::is_called(title, last)))
        };
        // A path is looked at whole only where its end fits.
        let is =
            |node: &NodeRef| node.index == 0 || source::is_called(node.title(), &whole) || ends_with(node, &wanted);
        let nodes = source::wanted(self.world.view, fits).filter(|node| is(node) && self.admitted(node));
        let found: Vec<NodeRef> = nodes.take(NAMED).collect();
        if found.is_empty() {
            let note = format!("no heading has the id, the title or the path “{name}”");
            self.plan.notes.push(note);
        }
        found
    }

    fn similar(&mut self, name: &str, counts: bool) -> Ready {
        let Some(node) = self.named(name).into_iter().next() else { return Ready::Never };
        let (world, reader) = (self.world, &mut *self.reader);
        let terms = reader.kindred(&node, world.index);
        let admit = |file: &str, index: u32| {
            let found = source::node(world.view, file, index as usize);
            found.is_some_and(|found| source::admitted(&found, world.clearance) && !source::same_node(&found, &node))
        };
        let scored = text::ranked(world.index, &terms, ALIKE, &admit);
        let found =
            scored.iter().filter_map(|found| source::node(world.view, &found.place.file, found.place.index as usize));
        let ready = Ready::Nodes(in_order(found.collect()));
        if counts {
            self.plan.alike = Some(Places::of(scored));
        }
        ready
    }
}

fn in_order(mut nodes: Vec<NodeRef>) -> Vec<NodeRef> {
    nodes.sort_by(source::order);
    nodes.dedup_by(|a, b| source::same_node(a, b));
    nodes
}

/// Returns whether a node's title and those above it are these, the last one its own.
fn ends_with(node: &NodeRef, wanted: &[String]) -> bool {
    let mut at = Some(node.clone());
    for title in wanted.iter().rev() {
        let Some(node) = at else { return false };
        if !source::is_called(node.title(), title) {
            return false;
        }
        at = node.parent();
    }
    true
}

impl FilePattern {
    fn new(text: &str) -> FilePattern {
        FilePattern(text.to_lowercase().split('*').map(str::to_string).collect())
    }

    /// Returns whether a file's name fits.
    pub fn fits(&self, file: &str) -> bool {
        let file = file.to_lowercase();
        let [first, rest @ ..] = self.0.as_slice() else { return true };
        let Some((last, middle)) = rest.split_last() else { return file.contains(first) };
        // With a star: the end must fit, and the parts before it stand in their order.
        let Some(mut from) = file.find(first).map(|at| at + first.len()) else { return false };
        for part in middle {
            match file.get(from..).and_then(|rest| rest.find(part)) {
                Some(at) => from += at + part.len(),
                None => return false,
            }
        }
        file.get(from..).is_some_and(|rest| rest.ends_with(last))
    }
}

/// Returns the first and last day that a stretch touches.
fn days(window: &Window) -> (Date, Date) {
    (window.from.map_or(Date::MIN, |at| at.date()), window.to.map_or(Date::MAX, |at| at.date()))
}

/// Returns the planning that a stamp is about.
pub fn kinds(stamp: Stamp) -> &'static [Planning] {
    match stamp {
        Stamp::Scheduled => &[Planning::Scheduled],
        Stamp::Deadline => &[Planning::Deadline],
        Stamp::Closed => &[Planning::Closed],
        Stamp::Planned => &[Planning::Scheduled, Planning::Deadline],
        Stamp::Modified => &[],
    }
}

/// Returns the keys of an index that together find everything that a condition fits; `None` when no index does.
pub fn keys(ready: &Ready, inheritance: &Inheritance) -> Option<Vec<Key>> {
    Some(match ready {
        Ready::Todo(todo) => match todo {
            Todo::Named(names) => names.iter().map(|name| Key::Keyword(name.clone())).collect(),
            Todo::Open => vec![Key::Open],
            Todo::Done => vec![Key::Done],
            Todo::Any => vec![Key::Open, Key::Done],
            Todo::None => return None,
        },
        Ready::Tag(tags) => tags.iter().map(|tag| Key::Tag(tag.clone())).collect(),
        Ready::Property(key, _) => {
            let key_of = if inheritance.inherits(key) { Key::Inherited } else { Key::Property };
            vec![key_of(key.clone()), key_of(format!("{key}+"))]
        }
        Ready::Within(stamp, window) => {
            let (first, last) = days(window);
            match kinds(*stamp) {
                [] => return None,
                kinds => kinds.iter().map(|kind| Key::Planned(*kind, first, last)).collect(),
            }
        }
        Ready::Timed(stamp) => match kinds(*stamp) {
            [] => return None,
            kinds => kinds.iter().map(|kind| Key::Planned(*kind, Date::MIN, Date::MAX)).collect(),
        },
        Ready::Has(Thing::Todo) => vec![Key::Open, Key::Done],
        Ready::Has(Thing::Scheduled) => vec![Key::Planned(Planning::Scheduled, Date::MIN, Date::MAX)],
        Ready::Has(Thing::Deadline) => vec![Key::Planned(Planning::Deadline, Date::MIN, Date::MAX)],
        Ready::Has(Thing::Closed) => vec![Key::Planned(Planning::Closed, Date::MIN, Date::MAX)],
        Ready::Is(State::Open, _) => vec![Key::Open],
        Ready::Is(State::Done, _) => vec![Key::Done],
        Ready::Is(State::Overdue, today) => vec![Key::Planned(Planning::Deadline, Date::MIN, *today)],
        Ready::Is(State::Archived, _) => vec![Key::Tag("archive".to_string())],
        Ready::Text(_)
        | Ready::Title(_)
        | Ready::OwnTag(_)
        | Ready::Priority(_)
        | Ready::Level(..)
        | Ready::File(_)
        | Ready::Nodes(_)
        | Ready::Below(_)
        | Ready::Child(_)
        | Ready::Untimed(_)
        | Ready::Has(_)
        | Ready::Is(..)
        | Ready::Never => return None,
    })
}

/// Returns whether a label is one that nobody but the user and what is local may see.
pub fn is_private(privacy: Privacy) -> bool {
    match privacy {
        Privacy::Open => false,
        Privacy::Warn | Privacy::Ask | Privacy::Private => true,
    }
}
