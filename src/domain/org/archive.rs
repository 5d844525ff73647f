//! Where a heading is archived to, and what is noted with it, as `org-archive-subtree` does.

use super::outline::Outline;
use super::section::starts_with_fold;
use super::timestamp::weekday;
use jiff::civil::DateTime;

/// What Org does when nobody says otherwise.
const USUAL: &str = "%s_archive::";

/// Where archived headings go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, absolute; `None` for the file itself.
    pub file: Option<String>,
    /// The title of the top-level heading they are put under; without one they stand at the end.
    pub heading: Option<String>,
}

/// Returns where a heading is archived to: its own or inherited ARCHIVE property, the file's `#+ARCHIVE` line, or the
/// file of its name with `_archive` behind it.
///
/// # Errors
/// In words, for a location that needs more than this understands, such as a date tree.
pub fn location(outline: &Outline, node: usize, file: &str) -> Result<Location, String> {
    let wanted = wanted(outline, node);
    let unclear = || format!("the archive location “{wanted}” is not understood here; archive it in Emacs");
    let (place, heading) = wanted.split_once("::").ok_or_else(unclear)?;
    let (folder, base) = file.rsplit_once('/').unwrap_or(("", file));
    let place = place.trim().replace("%s", base);
    let odd = place.starts_with('~') || place.contains([':', '$']) || place.split('/').any(|part| part == "..");
    if odd || heading.contains("datetree") {
        return Err(unclear());
    }
    let heading = match heading.trim() {
        "" => None,
        heading => {
            let title = heading.strip_prefix("* ").ok_or_else(unclear)?.replace("%s", base);
            Some(title.trim().to_string()).filter(|title| !title.is_empty())
        }
    };
    let file = match place.as_str() {
        "" => None,
        absolute if absolute.starts_with('/') => Some(absolute.to_string()),
        relative => Some(format!("{folder}/{relative}")),
    };
    let file = file.filter(|place| place != &format!("{folder}/{base}"));
    if file.is_none() && heading.is_none() {
        return Err(unclear());
    }
    Ok(Location { file, heading })
}

fn wanted(outline: &Outline, node: usize) -> String {
    let mut at = node;
    while let Some(here) = outline.nodes.get(at) {
        if let Some(own) = outline.property(here, "ARCHIVE").filter(|own| !own.trim().is_empty()) {
            return own.trim().to_string();
        }
        if at == 0 {
            break;
        }
        at = here.parent as usize;
    }
    // Of several lines the last counts.
    let mut lines = outline.text.lines().rev().map(str::trim_start).filter(|line| starts_with_fold(line, "#+archive:"));
    let said = lines.next().and_then(|line| line.get(10..)).map(str::trim).filter(|said| !said.is_empty());
    said.unwrap_or(USUAL).to_string()
}

/// Returns the properties that Org writes into an archived heading. `shown` is the file as people write it.
pub fn context(outline: &Outline, node: usize, shown: &str, now: DateTime) -> Vec<(String, String)> {
    let Some(heading) = outline.nodes.get(node) else { return Vec::new() };
    let mut path = Vec::new();
    let mut at = heading.parent as usize;
    while let Some(above) = outline.nodes.get(at).filter(|_| at > 0) {
        path.push(outline.slice(&above.title).replace('/', "\\/"));
        at = above.parent as usize;
    }
    path.reverse();
    let mut inherited = outline.all_tags(heading.parent as usize);
    inherited.retain(|tag| !heading.tags.iter().any(|own| own.as_ref() == *tag));
    let time = format!("{} {} {:02}:{:02}", now.date(), weekday(now.date()), now.hour(), now.minute());
    let all = [
        ("TIME", time),
        ("FILE", shown.to_string()),
        ("OLPATH", path.join("/")),
        ("CATEGORY", category(outline, node, shown)),
        ("TODO", outline.todo(heading).map(|keyword| keyword.name.to_string()).unwrap_or_default()),
        ("ITAGS", inherited.join(" ")),
    ];
    let filled = all.into_iter().filter(|(_, value)| !value.is_empty());
    filled.map(|(key, value)| (format!("ARCHIVE_{key}"), value)).collect()
}

fn category(outline: &Outline, node: usize, shown: &str) -> String {
    let mut at = node;
    while let Some(here) = outline.nodes.get(at) {
        if let Some(own) = outline.property(here, "CATEGORY") {
            return own.to_string();
        }
        if at == 0 {
            break;
        }
        at = here.parent as usize;
    }
    let base = shown.rsplit('/').next().unwrap_or(shown);
    let of_file = outline.category.as_ref().map(|category| category.to_string());
    of_file.unwrap_or_else(|| base.rsplit_once('.').map_or(base, |(stem, _)| stem).to_string())
}

/// Returns the beginning of a new archive, as Org writes it, with the keywords that the file declares itself.
pub fn beginning(outline: &Outline, file: &str) -> String {
    let keywords: String = outline
        .text
        .lines()
        .filter(|line| ["#+todo:", "#+seq_todo:", "#+typ_todo:"].iter().any(|word| starts_with_fold(line, word)))
        .map(|line| format!("{line}\n"))
        .collect();
    format!("#    -*- mode: org -*-\n{keywords}\n\nArchived entries from file {file}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::org::scan::{ScanOptions, scan};

    fn outline(text: &str) -> Outline {
        scan(text.into(), &ScanOptions::default()).expect("it is small")
    }

    #[test]
    fn the_nearest_location_counts() {
        let at = |text: &str, node| location(&outline(text), node, "/m/home.org").map(|at| (at.file, at.heading));
        let ok =
            |file: Option<&str>, heading: Option<&str>| Ok((file.map(str::to_string), heading.map(str::to_string)));
        assert_eq!(at("* A\n", 1), ok(Some("/m/home.org_archive"), None));
        assert_eq!(at("#+ARCHIVE: old.org::* Done\n* A\n", 1), ok(Some("/m/old.org"), Some("Done")));
        assert_eq!(at("#+archive: ::* Old\n* A\n", 1), ok(None, Some("Old")));
        let own = "#+ARCHIVE: x::\n* A\n:PROPERTIES:\n:ARCHIVE: %s.old::\n:END:\n** B\n";
        assert_eq!(at(own, 2), ok(Some("/m/home.org.old"), None));
        for odd in ["~/x::", "/ssh:h:/x::", "x::datetree/", "../x::", "x", "::", "x::** Deep", "home.org::"] {
            assert!(at(&format!("#+ARCHIVE: {odd}\n* A\n"), 1).is_err(), "{odd}");
        }
    }

    #[test]
    fn what_org_notes_is_noted() {
        let text = "#+FILETAGS: :home:\n* Kitchen :room:\n** TODO Order tiles :white:\n";
        let now = jiff::civil::date(2026, 3, 2).at(9, 5, 0, 0);
        let noted = context(&outline(text), 2, "~/m/home.org", now);
        let noted: Vec<String> = noted.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(
            noted,
            [
                "ARCHIVE_TIME=2026-03-02 Mon 09:05",
                "ARCHIVE_FILE=~/m/home.org",
                "ARCHIVE_OLPATH=Kitchen",
                "ARCHIVE_CATEGORY=home",
                "ARCHIVE_TODO=TODO",
                "ARCHIVE_ITAGS=home room",
            ]
        );
    }
}
