//! The log of an entry: the LOGBOOK drawer at its top, where Org writes what happened to it; and `#+KEY: value` lines.
//!
//! What happened to an entry is no part of what it says. A drawer of that name anywhere else is text like any other.

use super::headline;
use super::lines::{self, Kind};
use super::section::{self, DrawerAt, is_planning, line_at};
use std::ops::Range;

/// Returns where the log of an entry stands, with its lines `:LOGBOOK:` and `:END:`; `None` without one. The text is what
/// stands below planning line and properties, up to the next headline at least.
pub fn log(body: &str) -> Option<Range<usize>> {
    log_in(body, 0, body.len())
}

fn log_in(text: &str, begin: usize, limit: usize) -> Option<Range<usize>> {
    let line = |at: usize| {
        let (end, next) = line_at(text, at, limit);
        (text.get(at..end).unwrap_or_default(), next)
    };
    let (first, mut at) = line(begin);
    if !first.trim_matches([' ', '\t', '\r']).eq_ignore_ascii_case(":LOGBOOK:") {
        return None;
    }
    while at < limit {
        let (whole, next) = line(at);
        // A drawer that does not end before the next heading is none.
        if headline::stars(whole.as_bytes()).is_some() {
            return None;
        }
        if whole.trim_matches([' ', '\t', '\r']).eq_ignore_ascii_case(":END:") {
            return Some(begin..next);
        }
        at = next;
    }
    None
}

/// Returns a text without the logs of its entries: two texts that differ in these alone say the same.
pub fn without_logs(text: &str) -> String {
    let (mut kept, mut copied, mut at) = (String::with_capacity(text.len()), 0, 0);
    let limit = text.len();
    while at < limit {
        let (end, next) = line_at(text, at, limit);
        let heading = headline::stars(text.as_bytes().get(at..end).unwrap_or_default()).is_some();
        at = next;
        if !heading {
            continue;
        }
        let (end, behind) = line_at(text, at, limit);
        if is_planning(text.get(at..end).unwrap_or_default()) {
            at = behind;
        }
        // It ends before anything that is no property, so no drawer is looked through twice.
        if let DrawerAt::Found(drawer) = section::drawer(text, at, limit) {
            at = drawer.whole.end;
        }
        if let Some(log) = log_in(text, at, limit) {
            kept.push_str(text.get(copied..log.start).unwrap_or_default());
            (copied, at) = (log.end, log.end);
        }
    }
    kept.push_str(text.get(copied..).unwrap_or_default());
    kept
}

/// Returns the `#+KEY: value` lines of a section that Org looks into, in order: upper-case key, trimmed value.
pub fn keywords(section: &str) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    lines::for_each(section, |range, kind| {
        let line = section.get(range).unwrap_or_default().trim_matches([' ', '\t', '\r']);
        if let (Kind::Mark, Some((key, value))) = (kind, keyword(line)) {
            found.push((key.to_ascii_uppercase(), value));
        }
    });
    found
}

/// Takes one such line apart.
pub(crate) fn keyword(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.strip_prefix("#+")?.split_once(':')?;
    let plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    plain.then(|| (key, value.trim_matches([' ', '\t', '\r'])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_log_holds_is_left_out_and_nothing_else() {
        let properties = "* A\nSCHEDULED: <2026-03-02 Mon>\n:PROPERTIES:\n:ID: a\n:END:\n";
        for (text, expected) in [
            ("", String::new()),
            ("* A\n:LOGBOOK:\n- x\n:END:\nBody.\n", "* A\nBody.\n".to_string()),
            (&format!("{properties}:LOGBOOK:\n- x\n:END:\nBody.\n"), format!("{properties}Body.\n")),
            ("* A\n  :logbook:\n  CLOCK: [2026-01-01 Thu 10:00]\n  :end:\n* B\n", "* A\n* B\n".to_string()),
            ("* A\n:LOGBOOK:\n:END:\n* B\n:LOGBOOK:\n- y\n:END:\nz", "* A\n* B\nz".to_string()),
            ("* A\n:LOGBOOK:\r\n:END:\r\nz", "* A\nz".to_string()),
        ] {
            assert_eq!(without_logs(text), expected, "{text:?}");
        }
        for same in [
            "* A\n:LOGBOOK:\n- x\n* B\n:END:\n",
            "* A\n:LOGBOOK:\n- x\n",
            "* A\n:PROPERTIES:\n:ID: a\n:END:\nx :LOGBOOK: y\n",
            // Only at the top: elsewhere it may be an example, and is text that somebody reads.
            "* A\n#+begin_example\n:LOGBOOK:\n- x\n:END:\n#+end_example\n",
            "* A\nBody.\n:LOGBOOK:\n- x\n:END:\n",
            "** bold**\nz\n:LOGBOOK:\n:END:\n",
            ":LOGBOOK:\n- of a file\n:END:\n",
        ] {
            assert_eq!(without_logs(same), same, "{same:?}");
        }
        assert_eq!(log(":LOGBOOK:\n- x\n:END:\nBody.\n"), Some(0..20));
        assert_eq!(log("\n:LOGBOOK:\n- x\n:END:\n"), None);
    }

    #[test]
    fn keywords_are_those_that_org_looks_at() {
        let text =
            "#+CRON: 0 8 * * 1\nWords.\n  #+hook:\n#+begin_example\n#+CRON: 1 1 1 1 1\n#+end_example\n#+no key: x\n";
        assert_eq!(keywords(text), [("CRON".to_string(), "0 8 * * 1"), ("HOOK".to_string(), "")]);
    }

    proptest! {
        #[test]
        fn a_log_that_is_put_in_is_taken_out_again(text in "((\\* A|:LOGBOOK:|:END:|- x|ü|  :end:)\n){0,12}") {
            let plain = without_logs(&format!("* A\n{text}"));
            prop_assert!(plain.len() <= text.len() + 4);
            let rest = plain.strip_prefix("* A\n").unwrap_or_default();
            // Behind a log that was taken out another one may stand, which is text.
            let logged = format!("* A\n:LOGBOOK:\n- x\n:END:\n{rest}");
            prop_assert_eq!(without_logs(&logged), without_below(rest));
        }
    }

    /// What is left when only the entries behind the first one have their logs taken out.
    fn without_below(rest: &str) -> String {
        let below = rest.match_indices("* A\n").map(|(at, _)| at).find(|at| *at == 0 || rest[..*at].ends_with('\n'));
        let below = below.unwrap_or(rest.len());
        format!("* A\n{}{}", &rest[..below], without_logs(&rest[below..]))
    }
}
