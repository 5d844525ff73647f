//! Lines that tighten and were seen: what goes on counting when one is gone or weaker, until the user lets it go.

use crate::domain::hash::ContentHasher;
use crate::domain::policy::tools::{strictness, word};
use crate::domain::scope::Level;
use crate::domain::tool::{Effect, Named, Toolbox};
use std::collections::{BTreeMap, BTreeSet};

/// The properties of headings that only forbid.
pub const FORBID: [&str; 3] = ["PP_DENY", "PP_BUDGET", "PP_MODEL"];

/// The name under which the user is shown what a file has lost.
pub const GONE: &str = "what was taken away";

/// Where a line stands that tightens: one heading has one of each name, and a table one row of each tool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The file, of a line that holds for all of it, and of a row; empty where a heading is named by its id.
    pub file: String,
    /// The heading, by its id; empty for a line that holds for all of a file, and for a row.
    pub heading: String,
    /// The property, or of a row the tool.
    pub name: String,
}

impl Spot {
    /// Returns that of a line of a heading, which may come to another file.
    pub fn of_heading(id: &str, name: &str) -> Spot {
        Spot { file: String::new(), heading: id.to_string(), name: name.to_string() }
    }

    /// Returns that of a line that holds for all of a file, or of a row of a table.
    pub fn of_file(file: &str, name: &str) -> Spot {
        Spot { file: file.to_string(), heading: String::new(), name: name.to_string() }
    }

    /// Returns its name in the store, as 64 hexadecimal digits.
    pub fn hash(&self) -> String {
        let mut hasher = ContentHasher::new("tightening");
        hasher.text(&self.file).text(&self.heading).text(&self.name);
        blake3::Hash::from_bytes(hasher.finish()).to_hex().to_string()
    }
}

/// A line that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it forbids, as [`said`] writes it.
    pub value: String,
    /// How its heading is known without an id: by its file and the titles down to it; empty where there is no heading.
    pub path: String,
}

/// The lines that were seen, by where they stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    lines: BTreeMap<Spot, Line>,
    /// Where lines of a heading stand, by its id and by its path.
    named: BTreeMap<String, BTreeSet<Spot>>,
}

impl Seen {
    /// Returns a line.
    pub fn get(&self, spot: &Spot) -> Option<&Line> {
        self.lines.get(spot)
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns every line, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Spot, &Line)> {
        self.lines.iter()
    }

    /// Returns the lines that hold for all of a file, or are rows of it.
    pub fn of_file(&self, file: &str) -> impl Iterator<Item = (&Spot, &Line)> {
        self.lines.range(Spot::of_file(file, "")..).take_while(move |(spot, _)| spot.file == file)
    }

    /// Returns where lines stand of what is, or was, named so: by an id, or by a path.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &Spot> {
        self.named.get(name).into_iter().flatten()
    }

    /// Returns whether something stands, or stood, at a file or a heading of it that is known by its path.
    pub fn knows_paths_in(&self, file: &str) -> bool {
        let (path, below) = (file.to_string(), format!("{file}::*"));
        self.named.contains_key(&path)
            || self.named.range(below.clone()..).next().is_some_and(|(name, _)| name.starts_with(&below))
    }

    /// Returns where lines stand of a file and of what is known by a path in it.
    pub fn paths_in(&self, file: &str) -> BTreeSet<&Spot> {
        let below = format!("{file}::*");
        let named = self.named.range(below.clone()..).take_while(|(name, _)| name.starts_with(&below));
        self.named.get(file).into_iter().chain(named.map(|(_, spots)| spots)).flatten().collect()
    }

    /// Puts a line in, in the place of the one that stood there.
    pub fn put(&mut self, spot: Spot, line: Line) {
        self.take(&spot);
        for name in [&spot.heading, &line.path] {
            self.named.entry(name.clone()).or_default().insert(spot.clone());
        }
        self.lines.insert(spot, line);
    }

    /// Takes a line out.
    pub fn take(&mut self, spot: &Spot) {
        let Some(line) = self.lines.remove(spot) else { return };
        for name in [&spot.heading, &line.path] {
            if let Some(spots) = self.named.get_mut(name) {
                spots.remove(spot);
                if spots.is_empty() {
                    self.named.remove(name);
                }
            }
        }
    }
}

/// Returns what some values of one name forbid, always written the same way; `None` when they forbid nothing, or cannot
/// be read.
///
/// Of what is denied every value counts; of anything else one alone can be read.
pub fn said<'v>(name: &str, values: impl IntoIterator<Item = &'v str>) -> Option<String> {
    let mut values = values.into_iter();
    if name == "PP_DENY" {
        return denied(values.flat_map(words));
    }
    let value = values.next().filter(|_| values.next().is_none())?.trim();
    match name {
        "PP_BUDGET" => value.parse::<u64>().ok().map(|tokens| tokens.to_string()),
        "PP_MODEL" => {
            let models: BTreeSet<String> = words(value).map(str::to_ascii_lowercase).collect();
            (!models.is_empty()).then(|| joined_words(&models))
        }
        _ => Level::parse(value).filter(|level| strictness(*level) > 0).map(|level| word(level).to_string()),
    }
}

/// Returns what holds where something was known and something stands now: all that either forbids.
///
/// Both are as [`said`] writes them. Where that is not what stands now, the line is gone or weaker. Of two sets of models
/// that share none, the known one holds: no model at all would be a new rule.
pub fn together(name: &str, known: &str, now: Option<&str>) -> String {
    let Some(now) = now else { return known.to_string() };
    let all = match name {
        "PP_DENY" => denied(words(known).chain(words(now))),
        "PP_BUDGET" => known.parse::<u64>().ok().zip(now.parse().ok()).map(|(known, now)| known.min(now).to_string()),
        "PP_MODEL" => {
            let allowed: BTreeSet<&str> = words(now).collect();
            let both: BTreeSet<String> = words(known).filter(|one| allowed.contains(one)).map(str::to_string).collect();
            (!both.is_empty()).then(|| joined_words(&both))
        }
        _ => {
            let level = |text: &str| Level::parse(text).map_or(0, strictness);
            Some(if level(now) > level(known) { now } else { known }.to_string())
        }
    };
    all.unwrap_or_else(|| known.to_string())
}

/// Returns the names of tools in order; of those that `*` stands for none is named beside it.
fn denied<'w>(words: impl Iterator<Item = &'w str>) -> Option<String> {
    let (mut names, mut all) = (BTreeSet::new(), false);
    for word in words {
        match Toolbox::named(word) {
            _ if word == "*" => all = true,
            Named::Builtin(tool) => drop(names.insert((tool.name.to_string(), tool.effect == Effect::Reply))),
            Named::Own(name) => drop(names.insert((format!("own:{name}"), false))),
            // A mistake is named elsewhere, and forbids nothing by itself.
            Named::Nothing => {}
        }
    }
    let names = names.into_iter().filter(|(_, speaks)| !all || *speaks).map(|(name, _)| name);
    let names: BTreeSet<String> = all.then(|| "*".to_string()).into_iter().chain(names).collect();
    (!names.is_empty()).then(|| joined_words(&names))
}

fn joined_words(words: &BTreeSet<String>) -> String {
    words.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn words(value: &str) -> impl Iterator<Item = &str> {
    value.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_that_is_gone_or_weaker_goes_on_holding() {
        let check = |name: &str, known: &str, now: &[&str], expected: &str, weaker: bool| {
            let known = said(name, [known]).expect("it forbids something");
            let now = said(name, now.iter().copied());
            let all = together(name, &known, now.as_deref());
            assert_eq!((all.as_str(), now.as_deref() != Some(&all)), (expected, weaker), "{name} {known} {now:?}");
        };
        check("PP_DENY", "write-file, shell", &["shell write-file"], "shell write-file", false);
        check("PP_DENY", "shell write-file", &["SHELL"], "shell write-file", true);
        check("PP_DENY", "shell", &["write-file"], "shell write-file", true);
        check("PP_DENY", "shell", &["write-file", "shell"], "shell write-file", false);
        check("PP_DENY", "shell own:weather", &["*"], "*", false);
        check("PP_DENY", "message shell", &["*"], "* message", true);
        check("PP_DENY", "*", &["shell"], "*", true);
        check("PP_DENY", "shel shell", &["shell"], "shell", false);
        check("PP_BUDGET", "500", &["0500"], "500", false);
        check("PP_BUDGET", "500", &["400"], "400", false);
        check("PP_BUDGET", "500", &["900"], "500", true);
        check("PP_BUDGET", "500", &["much"], "500", true);
        check("PP_BUDGET", "500", &["400", "300"], "500", true);
        check("PP_MODEL", "Near far", &["far"], "far", false);
        check("PP_MODEL", "near far", &["far other"], "far", true);
        check("PP_MODEL", "near", &["far"], "near", true);
        check("shell", "deny", &["ask"], "deny", true);
        check("shell", "ask", &["deny"], "deny", false);
        check("shell", "ask", &["allow"], "ask", true);
        check("PP_DENY", "shell", &[], "shell", true);
        check("PP_BUDGET", "5", &[], "5", true);
        check("PP_MODEL", "near", &[], "near", true);
        check("shell", "deny", &[], "deny", true);
    }

    fn any_value() -> impl Strategy<Value = (&'static str, String)> {
        prop_oneof![
            "(shell|write-file|message|own:a|\\*)( (read-file|shell))?".prop_map(|value| ("PP_DENY", value)),
            "[1-9]{1,3}".prop_map(|value| ("PP_BUDGET", value)),
            "(a|b|c)( [a-d])?".prop_map(|value| ("PP_MODEL", value)),
            "(ask|deny)".prop_map(|value| ("shell", value)),
        ]
    }

    proptest! {
        #[test]
        fn what_holds_holds_still_when_it_is_seen_again((name, known) in any_value(), (other, now) in any_value()) {
            let known = said(name, [known.as_str()]).expect("it forbids something");
            let now = said(name, [now.as_str()]).filter(|_| name == other);
            let all = together(name, &known, now.as_deref());
            prop_assert_eq!(said(name, [all.as_str()]), Some(all.clone()));
            prop_assert_eq!(together(name, &all, now.as_deref()), all.clone());
            prop_assert_eq!(together(name, &known, Some(&known)), known.clone());
            if name != "PP_MODEL" {
                prop_assert_eq!(together(name, &all, Some(&known)), all);
            }
        }
    }
}
