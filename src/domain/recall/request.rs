//! What a user can ask of the built-in provider: the closed list of requests.

use jiff::civil::{Date, DateTime, Time};
use std::fmt;

/// One request, as the grammar read it. Names of headings are as the user typed them;
/// [`THIS`] is the heading at point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Open headings with a deadline in a window of days.
    Due {
        /// Which days.
        window: Window,
        /// Only below this heading, file or tag.
        within: Option<String>,
    },
    /// Open headings that are scheduled in a window of days.
    Scheduled {
        /// Which days.
        window: Window,
        /// Only below this heading, file or tag.
        within: Option<String>,
    },
    /// Open headings whose deadline or scheduled day has passed.
    Overdue {
        /// Only below this heading, file or tag.
        within: Option<String>,
    },
    /// All that stands on the days of a window: appointments, deadlines, scheduled headings.
    Agenda {
        /// Which days.
        window: Window,
        /// Only below this heading, file or tag.
        within: Option<String>,
    },
    /// Headings that wait for somebody or something.
    Waiting {
        /// Only below this heading, file or tag.
        within: Option<String>,
    },
    /// Projects with what is open in them.
    Projects {
        /// Only below this heading, file or tag.
        within: Option<String>,
    },
    /// Projects in which nothing is planned next.
    StuckProjects,
    /// Open headings, or those with one keyword.
    Todos {
        /// The keyword, upper case; any that is not done without.
        state: Option<String>,
        /// Only below this heading, file or tag.
        within: Option<String>,
    },
    /// Headings with a tag.
    Tagged {
        /// The tag, without colons.
        tag: String,
    },
    /// Headings that were closed in a window of days.
    Finished {
        /// Which days.
        window: Window,
        /// Only below this heading, file or tag.
        within: Option<String>,
    },
    /// Files and headings that changed since a moment.
    ChangedSince {
        /// The moment, in the user's civil time.
        since: DateTime,
    },
    /// When one heading is due or scheduled.
    When {
        /// The heading.
        target: String,
    },
    /// The passages that fit a text best.
    Find {
        /// The text.
        text: String,
    },
    /// Who or what something is.
    WhoOrWhat {
        /// The name.
        name: String,
    },
    /// Add a heading with a keyword.
    AddTodo {
        /// The new title.
        title: String,
        /// Under which heading; the inbox without.
        under: Option<String>,
        /// When to do it.
        scheduled: Option<When>,
        /// By when.
        deadline: Option<When>,
    },
    /// Set or remove when a heading is scheduled, its deadline, or both.
    Schedule {
        /// The heading.
        target: String,
        /// What to set, never empty; without a date it is removed.
        plans: Vec<(Planning, Option<When>)>,
    },
    /// Schedule a heading, or give it a deadline, on a day that was not said.
    ScheduleWhen {
        /// The heading.
        target: String,
        /// Which of the two dates.
        planning: Planning,
    },
    /// A command with a day that is in no calendar; nothing is done.
    NoDate {
        /// The words for the day, as they were typed.
        words: String,
    },
    /// A command about tags, for which there is no tool; nothing is done.
    NoTags,
    /// Give a heading a keyword that means done.
    MarkDone {
        /// The heading.
        target: String,
    },
    /// Give a heading a keyword.
    SetTodo {
        /// The heading.
        target: String,
        /// The keyword, upper case; `None` reopens: the first keyword of the file that is not done.
        state: Option<String>,
    },
    /// Set or remove a property of a heading.
    SetProperty {
        /// The heading.
        target: String,
        /// The property, upper case.
        property: String,
        /// Its value; `None` removes it.
        value: Option<String>,
    },
    /// Put a heading under another one.
    Move {
        /// The heading.
        target: String,
        /// Under which heading, or the file.
        to: String,
    },
    /// Keep a text as a new heading.
    Note {
        /// The text; may have several lines.
        text: String,
        /// Under which heading; the inbox without.
        under: Option<String>,
    },
    /// Two requests in one message, as they were typed; neither is carried out.
    Both {
        /// The first.
        first: String,
        /// The second.
        second: String,
    },
    /// What can be asked.
    Help,
    /// A command with a slash before it; there is none of that name.
    NoCommand {
        /// The name, without the slash.
        name: String,
    },
    /// Nothing that the grammar knows.
    Unknown,
}

/// The name of the heading at point, whatever words it was meant by.
pub const THIS: &str = "this";

/// The two dates that Org plans with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planning {
    /// When to do it.
    Scheduled,
    /// By when it must be done.
    Deadline,
}

impl Planning {
    /// Returns the word that the tool `org-schedule` takes.
    pub fn word(self) -> &'static str {
        match self {
            Planning::Scheduled => "scheduled",
            Planning::Deadline => "deadline",
        }
    }
}

/// A day, perhaps with a time of day. Written as `2026-11-25` or `2026-11-25 15:00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When {
    /// The day.
    pub date: Date,
    /// The time of day.
    pub time: Option<Time>,
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.date)?;
        match self.time {
            None => Ok(()),
            Some(time) => write!(f, " {:02}:{:02}", time.hour(), time.minute()),
        }
    }
}

/// Days from one to another, both counted; an open end has no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The first day.
    pub from: Option<Date>,
    /// The last day.
    pub to: Option<Date>,
}

impl Window {
    /// All days.
    pub const ANY: Window = Window { from: None, to: None };

    /// Returns a window of one day.
    pub fn day(date: Date) -> Window {
        Window { from: Some(date), to: Some(date) }
    }

    /// Returns whether a day is in it.
    pub fn contains(&self, date: Date) -> bool {
        self.from.is_none_or(|from| from <= date) && self.to.is_none_or(|to| date <= to)
    }
}
