//! The fields of the language: their names, other names that are understood, and what may stand behind the colon.

use crate::domain::query::{Sort, SortKey, State, Thing};

/// What stands before a colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The keyword.
    Todo,
    /// A tag, own or inherited.
    Tag,
    /// An own tag.
    OwnTag,
    /// A property.
    Prop,
    /// The priority.
    Priority,
    /// The level.
    Level,
    /// The title.
    Title,
    /// The file.
    File,
    /// The node itself.
    Id,
    /// Below a node.
    Under,
    /// Right below a node.
    Parent,
    /// What a node links to.
    Links,
    /// What links to a node.
    Backlinks,
    /// What is like a node.
    Similar,
    /// A time.
    Scheduled,
    /// A time.
    Deadline,
    /// A time.
    Closed,
    /// A time.
    Planned,
    /// A time.
    Modified,
    /// What it has.
    Has,
    /// What it is.
    Is,
    /// The order.
    Sort,
    /// How many.
    Limit,
}

/// One field, as people know it.
pub struct Known {
    /// The field.
    pub field: Field,
    /// Its name.
    pub name: &'static str,
    /// Other names that are understood; those of org-ql and of mail.
    pub others: &'static [&'static str],
    /// An example, whole.
    pub example: &'static str,
}

const fn known(field: Field, name: &'static str, others: &'static [&'static str], example: &'static str) -> Known {
    Known { field, name, others, example }
}

/// Every field, in the order of the manual.
pub const FIELDS: &[Known] = &[
    known(Field::Todo, "todo", &["keyword"], "todo:TODO"),
    known(Field::Tag, "tag", &["tags", "tags-all"], "tag:work"),
    known(Field::OwnTag, "own-tag", &["tags-local", "ltags"], "own-tag:work"),
    known(Field::Prop, "prop", &["property", "properties"], "prop:EFFORT=1:00"),
    known(Field::Priority, "priority", &["prio"], "priority:A"),
    known(Field::Level, "level", &[], "level:1..2"),
    known(Field::Title, "title", &["heading", "subject"], "title:boat"),
    known(Field::File, "file", &["path"], "file:garden"),
    known(Field::Id, "id", &[], "id:boat"),
    known(Field::Under, "under", &["ancestor", "ancestors"], "under:\"Work/Boat\""),
    known(Field::Parent, "parent", &["parents"], "parent:boat"),
    known(Field::Links, "links", &["linked-from"], "links:boat"),
    known(Field::Backlinks, "backlinks", &["links-to"], "backlinks:boat"),
    known(Field::Similar, "similar", &["like"], "similar:boat"),
    known(Field::Scheduled, "scheduled", &[], "scheduled:today"),
    known(Field::Deadline, "deadline", &["due"], "deadline:<2026-12-01"),
    known(Field::Closed, "closed", &["finished"], "closed:last-week"),
    known(Field::Planned, "planned", &["planning"], "planned:+7d"),
    known(Field::Modified, "modified", &["changed"], "modified:-2d"),
    known(Field::Has, "has", &[], "has:deadline"),
    known(Field::Is, "is", &[], "is:overdue"),
    known(Field::Sort, "sort", &["order"], "sort:deadline"),
    known(Field::Limit, "limit", &[], "limit:20"),
];

/// A name that org-ql has, or that people try, and that is none here.
pub struct Absent {
    /// Its names.
    names: &'static [&'static str],
    /// The way out with a colon.
    pub pair: &'static str,
    /// The way out in an s-expression.
    pub form: &'static str,
}

const fn gone(names: &'static [&'static str], pair: &'static str, form: &'static str) -> Absent {
    Absent { names, pair, form }
}

/// Names for which there is another way.
const ABSENT: &[Absent] = &[
    gone(
        &["link"],
        "write backlinks:boat for what links to a heading, and links:boat for what it links to",
        "write (backlinks \"boat\") for what links to a heading, and (links \"boat\") for what it links to",
    ),
    gone(
        &["ts", "ts-active", "ts-a", "ts-inactive", "ts-i"],
        "times in texts are not looked for; write planned:today, scheduled:, deadline: or closed:",
        "times in texts are not looked for; write (planned :on today), (scheduled …), (deadline …) or (closed …)",
    ),
    gone(
        &["category"],
        "write prop:CATEGORY=home or file:home",
        "write (prop \"CATEGORY\" \"home\") or (file \"home\")",
    ),
    gone(&["effort"], "write prop:EFFORT<1:00", "write (prop \"EFFORT\" < \"1:00\")"),
    gone(&["habit"], "write prop:STYLE=habit", "write (prop \"STYLE\" \"habit\")"),
    gone(
        &["outline-path", "olp", "outline-path-segment", "olps"],
        "write under:\"Work/Boat\"",
        "write (under \"Work/Boat\")",
    ),
    gone(
        &["children", "descendants"],
        "queries inside of queries are not known; write parent:boat or under:boat",
        "queries inside of queries are not known; write (parent \"boat\") or (under \"boat\")",
    ),
    gone(
        &["tags-inherited", "inherited-tags", "tags-i", "itags", "tags-regexp", "tags*"],
        "write tag:work, or own-tag:work",
        "write (tags \"work\"), or (tags-local \"work\")",
    ),
    gone(&["heading-regexp", "h*"], "write title:boat", "write (title \"boat\")"),
    gone(&["clocked"], "clocks are not looked at; write modified:-7d", "clocks are not looked at; write (modified -7)"),
    gone(&["blocked"], "write todo:open has:children", "write (and (todo) (has \"children\"))"),
    gone(&["src"], "write \"the words\" of the source", "write (text \"the words\") of the source"),
];

/// Returns what is to be said of a name that is none here, in any case.
pub fn absent(name: &str) -> Option<&'static Absent> {
    ABSENT.iter().find(|absent| absent.names.iter().any(|known| known.eq_ignore_ascii_case(name)))
}

/// Returns every name of every field.
pub fn names() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().flat_map(|known| std::iter::once(&known.name).chain(known.others).copied())
}

/// What may stand behind `has:`.
pub const THINGS: &[(&str, Thing)] = &[
    ("todo", Thing::Todo),
    ("priority", Thing::Priority),
    ("tags", Thing::Tags),
    ("properties", Thing::Properties),
    ("id", Thing::Id),
    ("body", Thing::Body),
    ("children", Thing::Children),
    ("links", Thing::Links),
    ("backlinks", Thing::Backlinks),
    ("scheduled", Thing::Scheduled),
    ("deadline", Thing::Deadline),
    ("closed", Thing::Closed),
];

/// What may stand behind `is:`.
pub const STATES: &[(&str, State)] = &[
    ("open", State::Open),
    ("done", State::Done),
    ("overdue", State::Overdue),
    ("private", State::Private),
    ("file", State::File),
    ("heading", State::Heading),
    ("archived", State::Archived),
    ("commented", State::Commented),
];

/// What may stand behind `sort:`.
pub const SORTS: &[(&str, SortKey)] = &[
    ("score", SortKey::Score),
    ("file", SortKey::File),
    ("title", SortKey::Title),
    ("todo", SortKey::Todo),
    ("priority", SortKey::Priority),
    ("level", SortKey::Level),
    ("scheduled", SortKey::Scheduled),
    ("deadline", SortKey::Deadline),
    ("closed", SortKey::Closed),
    ("planned", SortKey::Planned),
    ("modified", SortKey::Modified),
];

impl Field {
    /// Finds a field by any of its names, in any case.
    pub fn named(name: &str) -> Option<Field> {
        let is = |known: &&Known| {
            std::iter::once(&known.name).chain(known.others).any(|other| other.eq_ignore_ascii_case(name))
        };
        FIELDS.iter().find(is).map(|known| known.field)
    }

    /// Returns what is known of a field.
    pub fn known(self) -> &'static Known {
        FIELDS.iter().find(|known| known.field == self).unwrap_or(&FIELDS[0])
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        self.known().name
    }
}

/// Returns the words of one of the tables above, by `, `.
pub fn listed<T>(table: &[(&str, T)]) -> String {
    table.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// Returns the name of a value of one of the tables above.
pub fn name_of<T: PartialEq>(table: &[(&'static str, T)], value: &T) -> &'static str {
    table.iter().find(|(_, known)| known == value).map_or("", |(name, _)| name)
}

impl Sort {
    /// Returns the words for it: `deadline`, `-priority`.
    pub fn words(self) -> String {
        format!("{}{}", if self.reversed { "-" } else { "" }, name_of(SORTS, &self.key))
    }
}
