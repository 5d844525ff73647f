//! Clocking in and out, as Org writes it: a `CLOCK:` line at the top of the entry's LOGBOOK drawer.

use super::EditError;
use crate::domain::org::clock::Clocked;
use crate::domain::org::outline::Outline;
use crate::domain::org::section::{line_at, starts_with_fold};
use crate::domain::org::timestamp::Timestamp;
use jiff::civil::DateTime;

/// Returns the body of a heading with a clock started, for [`super::Edit::SetBody`].
///
/// # Errors
/// When its clock runs already, or there is no such heading.
pub fn clocked_in(outline: &Outline, node: usize, now: DateTime) -> Result<String, EditError> {
    let body = body_of(outline, node)?;
    if outline.clocks(node).iter().any(|clock| matches!(clock.time, Clocked::Since(_))) {
        return Err(EditError::Invalid("its clock is running already; clock out first".to_owned()));
    }
    let line = format!("CLOCK: {}\n", Timestamp::inactive(now));
    let (at, text) = match logbook(body) {
        // The newest stands first.
        Some(inside) => (inside, line),
        None => (0, format!(":LOGBOOK:\n{line}:END:\n")),
    };
    Ok(format!("{}{text}{}", body.get(..at).unwrap_or(""), body.get(at..).unwrap_or("")))
}

/// Returns the body of a heading with its running clock stopped.
///
/// # Errors
/// When no clock of it runs, when it began later than now, or there is no such heading.
pub fn clocked_out(outline: &Outline, node: usize, now: DateTime) -> Result<String, EditError> {
    let body = body_of(outline, node)?;
    let running = outline.clocks(node).into_iter().find_map(|clock| match clock.time {
        Clocked::Since(from) => Some((clock.range, from)),
        Clocked::Between(..) | Clocked::Duration(_) => None,
    });
    let (range, from) = running.ok_or_else(|| EditError::Invalid("no clock of this heading is running".to_owned()))?;
    let minutes = now.duration_since(from).as_secs().div_euclid(60);
    if minutes < 0 {
        return Err(EditError::Invalid(format!("its clock began at {from}, which is later than now")));
    }
    let start = outline.nodes.get(node).map_or(0, |node| node.body.start as usize);
    let (begin, end) = (range.start.saturating_sub(start), range.end.saturating_sub(start));
    let line = body.get(begin..end).unwrap_or("").trim_end_matches([' ', '\t', '\r']);
    let time = format!("--{} => {:2}:{:02}", Timestamp::inactive(now), minutes / 60, minutes % 60);
    Ok(format!("{}{line}{time}{}", body.get(..begin).unwrap_or(""), body.get(end..).unwrap_or("")))
}

fn body_of(outline: &Outline, node: usize) -> Result<&str, EditError> {
    let node = outline.nodes.get(node).filter(|_| node > 0).ok_or(EditError::NoSuchNode(node))?;
    Ok(outline.slice(&node.body))
}

/// Returns where the lines of a body's LOGBOOK drawer begin; `None` when it has none that ends.
fn logbook(body: &str) -> Option<usize> {
    let (mut at, mut inside) = (0, None);
    while at < body.len() {
        let (end, next) = line_at(body, at, body.len());
        let line = body.get(at..end).unwrap_or("").trim_matches([' ', '\t', '\r']);
        match inside {
            None if line.eq_ignore_ascii_case(":LOGBOOK:") => inside = Some(next),
            // What looks like one inside of a block is none.
            None if starts_with_fold(line, "#+begin_") => return None,
            Some(begin) if line.eq_ignore_ascii_case(":END:") => return Some(begin),
            None | Some(_) => {}
        }
        at = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::org::edit::{Edit, EditOptions, apply, splices};
    use crate::domain::org::scan::{ScanOptions, scan};

    fn at(hour: i8, minute: i8) -> DateTime {
        jiff::civil::date(2026, 3, 2).at(hour, minute, 0, 0)
    }

    fn edited(text: &str, body: fn(&Outline, usize, DateTime) -> Result<String, EditError>, now: DateTime) -> String {
        let outline = scan(text.into(), &ScanOptions::default()).expect("it is small");
        let body = body(&outline, 1, now).expect("it can be clocked");
        let edit = Edit::SetBody { node: 1, body };
        apply(text, &splices(&outline, &edit, &EditOptions::at(now)).expect("it is an edit"))
    }

    #[test]
    fn clocks_are_written_as_org_writes_them() {
        let text = "* Tiles\nSCHEDULED: <2026-03-02 Mon>\n:PROPERTIES:\n:ID: t\n:END:\nWhite.\n* Next\n";
        let first = edited(text, clocked_in, at(9, 0));
        let head = "* Tiles\nSCHEDULED: <2026-03-02 Mon>\n:PROPERTIES:\n:ID: t\n:END:\n";
        assert_eq!(first, format!("{head}:LOGBOOK:\nCLOCK: [2026-03-02 Mon 09:00]\n:END:\nWhite.\n* Next\n"));
        let out = edited(&first, clocked_out, at(10, 5));
        let line = "CLOCK: [2026-03-02 Mon 09:00]--[2026-03-02 Mon 10:05] =>  1:05\n";
        assert_eq!(out, format!("{head}:LOGBOOK:\n{line}:END:\nWhite.\n* Next\n"));
        let again = edited(&out, clocked_in, at(11, 0));
        let newest = "CLOCK: [2026-03-02 Mon 11:00]\n";
        assert_eq!(again, format!("{head}:LOGBOOK:\n{newest}{line}:END:\nWhite.\n* Next\n"));
    }

    #[test]
    fn a_clock_runs_once_and_forwards() {
        let outline = |text: &str| scan(text.into(), &ScanOptions::default()).expect("it is small");
        let running = outline("* T\nCLOCK: [2026-03-02 Mon 09:00]\n");
        assert!(clocked_in(&running, 1, at(10, 0)).is_err());
        assert!(clocked_out(&running, 1, at(8, 0)).is_err());
        assert!(clocked_out(&outline("* T\n"), 1, at(8, 0)).is_err());
        assert!(clocked_in(&running, 0, at(8, 0)).is_err() && clocked_in(&running, 7, at(8, 0)).is_err());
    }
}
