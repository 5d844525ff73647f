//! Why a node is in a context, or is not, in words that a person can read.

use std::fmt;

/// Why a node is in, or left out.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// The node at point.
    Focus,
    /// The node at point, which takes at least so many tokens with all below it: more than a prompt holds.
    TooLarge(usize),
    /// Stands below the node at point.
    BelowFocus,
    /// It is in every context at the moment; why, is not said.
    Now,
    /// Stands above a node that is in.
    Ancestor,
    /// A file.
    Root,
    /// Stands directly below a file.
    Outline,
    /// Holds the question's words; 1 is the best of all.
    Words(f32),
    /// Holds words that are written nearly as those of the question, or that these are a part of.
    Alike(f32),
    /// Holds words that stand with the question's in the best nodes, or that mark the focus.
    Kindred(f32),
    /// Means nearly what the question or the focus does: the cosine of the angle between their vectors.
    Near(f32),
    /// Stands beside nodes that hold the question's words, or is linked from them.
    Beside(f32),
    /// A deadline in so many minutes; below 0 it has passed.
    Deadline(i64),
    /// Scheduled in so many minutes; below 0 it has begun.
    Scheduled(i64),
    /// Changed in this session or today.
    Changed,
    /// An active project.
    Project,
    /// The user wants it in.
    Pinned,
    /// The user wants it out.
    Unpinned,
    /// Would be in, but the budget is used up.
    OverBudget,
    /// May not be seen by the provider.
    Private,
    /// May be seen, but words of a note that may not stand in it.
    Quotes,
    /// Holds nothing of the question or the focus, or too little.
    Far,
    /// Stands outside of what the user narrowed the agent's sight to.
    OutOfSight,
    /// There is no such node.
    Unknown,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Focus => f.write_str("focus"),
            Reason::TooLarge(tokens) => write!(f, "focus, too large: {tokens} tokens or more with all below it"),
            Reason::BelowFocus => f.write_str("below the focus"),
            Reason::Now => f.write_str("in every context now"),
            Reason::Ancestor => f.write_str("ancestor"),
            Reason::Root => f.write_str("file"),
            Reason::Outline => f.write_str("outline"),
            Reason::Words(score) => write!(f, "words {score:.2}"),
            Reason::Alike(score) => write!(f, "similar words {score:.2}"),
            Reason::Kindred(score) => write!(f, "kindred words {score:.2}"),
            Reason::Near(cosine) => f.write_str(format!("cosine {cosine:.2}").replacen(" 0.", " .", 1).as_str()),
            Reason::Beside(score) => write!(f, "beside {score:.2}"),
            Reason::Deadline(minutes) => write!(f, "deadline {}", Span(*minutes)),
            Reason::Scheduled(minutes) => write!(f, "scheduled {}", Span(*minutes)),
            Reason::Changed => f.write_str("changed lately"),
            Reason::Project => f.write_str("active project"),
            Reason::Pinned => f.write_str("pinned"),
            Reason::Unpinned => f.write_str("left out by you"),
            Reason::OverBudget => f.write_str("over budget"),
            Reason::Private => f.write_str("private"),
            Reason::Quotes => f.write_str("quotes a private note"),
            Reason::Far => f.write_str("too far from the question and point"),
            Reason::OutOfSight => f.write_str("outside of what the focus is narrowed to"),
            Reason::Unknown => f.write_str("not in memory"),
        }
    }
}

/// Minutes from now, as a person says them.
struct Span(i64);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = self.0.unsigned_abs();
        let (amount, unit) = match minutes {
            0..120 => (minutes, "min"),
            120..2880 => (minutes / 60, "h"),
            _ => (minutes / 1440, "days"),
        };
        if self.0 < 0 { write!(f, "{amount} {unit} ago") } else { write!(f, "in {amount} {unit}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_read_well() {
        for (reason, expected) in [
            (Reason::Deadline(40), "deadline in 40 min"),
            (Reason::Deadline(-90), "deadline 90 min ago"),
            (Reason::Pinned, "pinned"),
            (Reason::Unpinned, "left out by you"),
            (Reason::Scheduled(-60 * 24 * 3), "scheduled 3 days ago"),
            (Reason::Words(0.8149), "words 0.81"),
            (Reason::Near(0.8149), "cosine .81"),
            (Reason::Near(1.0), "cosine 1.00"),
            (Reason::Alike(0.5), "similar words 0.50"),
            (Reason::TooLarge(12), "focus, too large: 12 tokens or more with all below it"),
            (Reason::Deadline(i64::MIN), "deadline 6405119470038038 days ago"),
        ] {
            assert_eq!(reason.to_string(), expected);
        }
    }
}
