//! Asks one node whether it fits.

use crate::domain::context::holding::Holding;
use crate::domain::memory::query::{Planning, day_of};
use crate::domain::memory::view::NodeRef;
use crate::domain::org::timestamp::Timestamp;
use crate::domain::query::plan::{Check, Plan, Ready, is_private, kinds};
use crate::domain::query::run::World;
use crate::domain::query::text::Reader;
use crate::domain::query::{Relation, Stamp, State, Test, Thing, Todo, source};
use jiff::civil::{Date, DateTime, Time};

/// Asks nodes whether they fit.
pub struct Judge<'a> {
    /// Memory, the index and the moment.
    pub world: &'a World<'a>,
    /// The query.
    pub plan: &'a Plan,
    /// Reads texts.
    pub reader: &'a mut Reader,
}

/// What the index has said already.
pub enum Know<'k> {
    /// For each word of the query the nodes that hold its terms, if the index was asked.
    Lists(&'k [Option<Holding>]),
    /// Which terms the node holds, and which of them each word of the query needs.
    Terms {
        /// Of each word the places of its terms.
        rows: &'k [Vec<usize>],
        /// Of each term whether the node holds it.
        held: &'k [bool],
    },
}

/// Whether a node fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// Only its text can tell.
    Unread,
}

impl From<bool> for Answer {
    fn from(fits: bool) -> Answer {
        if fits { Answer::Yes } else { Answer::No }
    }
}

impl Judge<'_> {
    /// Returns whether who asks may see a node, and it fits. Its text is read only when nothing else tells.
    pub fn fits(&mut self, node: &NodeRef, know: &Know<'_>) -> bool {
        self.sees(node)
            && match self.glance(node, know) {
                Answer::Yes => true,
                Answer::No => false,
                Answer::Unread => self.read(node, know),
            }
    }

    /// Returns whether who asks may see a node at all.
    pub fn sees(&self, node: &NodeRef) -> bool {
        source::admitted(node, self.world.clearance)
    }

    /// Says whether a node fits, without reading its text.
    pub fn glance(&mut self, node: &NodeRef, know: &Know<'_>) -> Answer {
        self.check(node, &self.plan.check, know, false)
    }

    /// Returns whether a node fits, and reads its text where that is needed.
    pub fn read(&mut self, node: &NodeRef, know: &Know<'_>) -> bool {
        self.check(node, &self.plan.check, know, true) == Answer::Yes
    }

    /// Asks a part of the query. It calls itself as deep as groups stand in each other, which reading bounds.
    fn check(&mut self, node: &NodeRef, check: &Check, know: &Know<'_>, read: bool) -> Answer {
        match check {
            Check::All(parts) => self.until(node, parts, Answer::No, know, read),
            Check::Any(parts) => self.until(node, parts, Answer::Yes, know, read),
            Check::Not(inner) => match self.check(node, inner, know, read) {
                Answer::Yes => Answer::No,
                Answer::No => Answer::Yes,
                Answer::Unread => Answer::Unread,
            },
            Check::One(ready) => match ready.as_ref() {
                Ready::Text(at) => self.text(node, *at, know, read),
                ready => self.one(node, ready).into(),
            },
        }
    }

    /// Asks parts until one gives the answer that settles it.
    fn until(&mut self, node: &NodeRef, parts: &[Check], settled: Answer, know: &Know<'_>, read: bool) -> Answer {
        let mut answer = if settled == Answer::No { Answer::Yes } else { Answer::No };
        for part in parts {
            match self.check(node, part, know, read) {
                found if found == settled => return settled,
                Answer::Unread => answer = Answer::Unread,
                Answer::Yes | Answer::No => {}
            }
        }
        answer
    }

    fn one(&self, node: &NodeRef, ready: &Ready) -> bool {
        match ready {
            Ready::Text(_) | Ready::Never => false,
            Ready::Title(text) => source::holds(node.title(), text),
            Ready::Todo(todo) => match (todo, source::keyword(node)) {
                (Todo::Named(names), Some((found, _))) => names.iter().any(|name| name == found),
                (Todo::Open, Some((_, done))) => !done,
                (Todo::Done, Some((_, done))) => done,
                (Todo::Any, Some(_)) | (Todo::None, None) => true,
                (Todo::Named(_) | Todo::Open | Todo::Done | Todo::Any, None) | (Todo::None, Some(_)) => false,
            },
            Ready::Tag(tags) => tags.iter().any(|tag| source::has_tag(node, tag)),
            Ready::OwnTag(tags) => tags.iter().any(|tag| source::has_own_tag(node, tag)),
            Ready::Property(key, test) => {
                let value = source::effective_value(node, key, self.world.inheritance);
                value.is_some_and(|value| compare(&value, test))
            }
            Ready::Priority(wanted) => source::priority(node).is_some_and(|found| wanted.contains(&found)),
            Ready::Level(from, to) => (*from..=*to).contains(&source::level(node)),
            Ready::File(pattern) => pattern.fits(source::file(node)),
            Ready::Nodes(nodes) => nodes.binary_search_by(|known| source::order(known, node)).is_ok(),
            Ready::Below(ranges) => {
                ranges.iter().any(|(file, range)| range.contains(&node.index) && file == source::file(node))
            }
            Ready::Child(parents) => {
                node.parent().is_some_and(|parent| parents.iter().any(|known| source::same_node(known, &parent)))
            }
            Ready::Within(Stamp::Modified, window) => {
                source::modified(node).is_some_and(|at| window.contains((self.world.local)(at)))
            }
            Ready::Within(stamp, window) => {
                kinds(*stamp).iter().any(|kind| day(node, *kind).is_some_and(|day| window.contains_day(day)))
            }
            Ready::Timed(stamp) => timed(node, *stamp),
            Ready::Untimed(stamp) => !timed(node, *stamp),
            Ready::Has(thing) => self.has(node, *thing),
            Ready::Is(state, today) => is(node, *state, *today),
        }
    }

    fn text(&mut self, node: &NodeRef, at: usize, know: &Know<'_>, read: bool) -> Answer {
        let Some(text) = self.plan.texts.get(at) else { return Answer::No };
        let held = match know {
            Know::Lists(lists) => {
                let list = lists.get(at).and_then(Option::as_ref);
                list.map(|list| list.has(source::file(node), node.index as u32))
            }
            Know::Terms { rows, held } => {
                let row = rows.get(at).filter(|row| !row.is_empty());
                row.map(|row| row.iter().all(|term| held.get(*term).is_some_and(|held| *held)))
            }
        };
        match held {
            Some(false) => Answer::No,
            Some(true) if Reader::is_exact(&text.wanted) => Answer::Yes,
            // Words that the index leaves out are looked for in titles, which are at hand.
            None if text.wanted.terms.is_empty() => self.reader.holds(node, &text.wanted).into(),
            Some(true) | None if read => self.reader.holds(node, &text.wanted).into(),
            Some(true) | None => Answer::Unread,
        }
    }

    fn has(&self, node: &NodeRef, thing: Thing) -> bool {
        match thing {
            Thing::Todo => source::keyword(node).is_some(),
            Thing::Priority => source::priority(node).is_some(),
            Thing::Tags => !source::all_tags(node).is_empty(),
            Thing::Properties => !source::properties(node).is_empty(),
            Thing::Id => source::property(node, "ID").is_some_and(|id| !id.trim().is_empty()),
            Thing::Body => !node.body().trim().is_empty(),
            Thing::Children => source::after(node) > node.index + 1,
            Thing::Links => source::has_links(node),
            // What may not be seen must not show by what it links to.
            Thing::Backlinks => {
                let linking = self.world.view.backlinks(node.id());
                linking.iter().any(|linking| source::admitted(linking, self.world.clearance))
            }
            Thing::Scheduled => source::planning(node, Planning::Scheduled).is_some(),
            Thing::Deadline => source::planning(node, Planning::Deadline).is_some(),
            Thing::Closed => source::planning(node, Planning::Closed).is_some(),
        }
    }
}

fn timed(node: &NodeRef, stamp: Stamp) -> bool {
    match stamp {
        Stamp::Modified => source::modified(node).is_some(),
        Stamp::Scheduled | Stamp::Deadline | Stamp::Closed | Stamp::Planned => {
            kinds(stamp).iter().any(|kind| day(node, *kind).is_some())
        }
    }
}

fn is(node: &NodeRef, state: State, today: Date) -> bool {
    let open = || source::keyword(node).is_some_and(|(_, done)| !done);
    match state {
        State::Open => open(),
        State::Done => source::keyword(node).is_some_and(|(_, done)| done),
        State::Overdue => open() && day(node, Planning::Deadline).is_some_and(|day| day < today),
        State::Private => is_private(node.privacy()),
        State::File => node.index == 0,
        State::Heading => node.index > 0,
        State::Archived => source::has_tag(node, "archive"),
        State::Commented => source::commented(node),
    }
}

/// Returns the day of a node's planning.
pub fn day(node: &NodeRef, kind: Planning) -> Option<Date> {
    day_of(source::planning(node, kind)?)
}

/// Returns the moment of a node's planning, for sorting: a day without a time comes after those with one.
pub fn moment(node: &NodeRef, kind: Planning) -> Option<DateTime> {
    let text = source::planning(node, kind)?;
    let day = day_of(text)?;
    let time = Timestamp::parse_start(text).and_then(|(stamp, _)| stamp.time);
    Some(day.to_datetime(time.unwrap_or(Time::MAX)))
}

fn compare(value: &str, test: &Test) -> bool {
    match test {
        Test::There => true,
        Test::Is(wanted) => source::same(value.trim(), &wanted.to_lowercase()),
        Test::Holds(part) => value.to_lowercase().contains(&part.to_lowercase()),
        Test::Compare(relation, wanted) => measure(value, wanted).is_some_and(|ordering| match relation {
            Relation::Less => ordering.is_lt(),
            Relation::AtMost => ordering.is_le(),
            Relation::More => ordering.is_gt(),
            Relation::AtLeast => ordering.is_ge(),
        }),
    }
}

/// Compares two values that are both numbers, both durations such as `1:30`, or both days.
fn measure(value: &str, wanted: &str) -> Option<std::cmp::Ordering> {
    let (value, wanted) = (value.trim(), wanted.trim());
    if let (Some(value), Some(wanted)) = (day_of(value), day_of(wanted)) {
        return Some(value.cmp(&wanted));
    }
    let number = |text: &str| -> Option<f64> {
        match text.split_once(':') {
            Some((hours, minutes)) => Some(hours.parse::<f64>().ok()? * 60.0 + minutes.parse::<f64>().ok()?),
            None => text.parse().ok(),
        }
    };
    if value.contains(':') != wanted.contains(':') {
        return None;
    }
    number(value)?.partial_cmp(&number(wanted)?)
}
