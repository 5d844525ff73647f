//! The table of `rules.org`: which level each tool has. What tightens counts; what loosens waits for the user.

use crate::domain::action::nearest;
use crate::domain::gate::permissions::default_level;
use crate::domain::gate::{Case, Gate, Reason, Verdict};
use crate::domain::policy::loosening::Loosening;
use crate::domain::scope::Level;
use crate::domain::tool::{Effect, Named, Toolbox};
use std::collections::BTreeMap;

/// How many rows are read.
const MOST: usize = 1_000;

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its line, from 1.
    pub line: usize,
    /// The heading that it stands under; empty for none.
    pub heading: String,
    /// The tool; of one of the user's own its bare name.
    pub tool: String,
    /// Its level.
    pub level: Level,
}

/// What a file of rules says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Its name, canonical.
    pub file: String,
    /// Its rows.
    pub rows: Vec<Row>,
    /// What is wrong with it: the line, 0 for all of it, and why.
    pub wrong: Vec<(usize, String)>,
}

/// Returns how much a level forbids. Where nothing says what a tool would do, `auto` asks and `allow` does not.
pub fn strictness(level: Level) -> u8 {
    match level {
        Level::Allow => 0,
        Level::Auto => 1,
        Level::Ask => 2,
        Level::Deny => 3,
    }
}

/// Returns how much a level forbids a tool: of those that are built in what they would do is judged, by `auto` and `allow`
/// alike.
pub(super) fn strictness_of(level: Level, effect: Effect) -> u8 {
    match (level, effect) {
        (Level::Auto, Effect::Custom(_)) => strictness(level),
        (Level::Auto, _) => strictness(Level::Allow),
        _ => strictness(level),
    }
}

/// Returns the word for a level.
pub fn word(level: Level) -> &'static str {
    match level {
        Level::Allow => "allow",
        Level::Ask => "ask",
        Level::Deny => "deny",
        Level::Auto => "auto",
    }
}

impl Table {
    /// Returns a table of which nothing can be read.
    pub fn unreadable(file: &str, why: String) -> Table {
        Table { file: file.to_string(), rows: Vec::new(), wrong: vec![(0, why)] }
    }

    /// Reads every table of a text that has a column “tool”, and one “level”. What cannot be read is named; the other
    /// rows are read all the same.
    pub fn parse(file: &str, text: &str) -> Table {
        let mut table = Table { file: file.to_string(), ..Table::default() };
        let mut columns: Option<Option<(usize, usize)>> = None;
        let mut heading = String::new();
        if text.replace("\r\n", "\n").contains('\r') {
            table.bad(1, "its lines end as on old Macs, so its rows cannot be told apart; save it with Unix line ends");
        }
        for (line, text) in text.lines().enumerate().map(|(at, text)| (at + 1, text)) {
            let stars = text.bytes().take_while(|byte| *byte == b'*').count();
            if stars > 0 && text.as_bytes().get(stars) == Some(&b' ') {
                heading = text.get(stars..).unwrap_or_default().trim().to_string();
            }
            let text = text.trim();
            if !text.starts_with('|') {
                columns = None;
                continue;
            }
            if text.starts_with("|-") {
                continue;
            }
            let cells: Vec<&str> = text.trim_matches('|').split('|').map(|cell| bare(cell.trim())).collect();
            match columns {
                None => {
                    let at = |name: &str| cells.iter().position(|cell| cell.eq_ignore_ascii_case(name));
                    columns = Some(at("tool").zip(at("level")));
                    if columns == Some(None) {
                        table.bad(
                            line,
                            "a table here has the columns “tool” and “level”; this one would be read by nobody",
                        );
                    }
                }
                Some(None) => {}
                Some(Some(_)) if cells.iter().all(|cell| cell.is_empty()) => {}
                Some(Some(_)) if table.rows.len() >= MOST => {
                    table.bad(line, &format!("at most {MOST} rows are read"));
                    break;
                }
                Some(Some((tool, level))) => {
                    let cell = |at: usize| cells.get(at).copied().unwrap_or_default();
                    table.row(line, &heading, (cell(tool), cell(level)));
                }
            }
        }
        table
    }

    fn row(&mut self, line: usize, heading: &str, (tool, level): (&str, &str)) {
        let found = match Toolbox::named(tool) {
            Named::Builtin(found) if found.effect == Effect::Reply => {
                return self.bad(line, &format!("{} only speaks to you, and has no level", found.name));
            }
            Named::Builtin(found) => found.name.to_string(),
            Named::Own(name) => name,
            Named::Nothing => {
                let names: Vec<&str> = Toolbox::builtin().all().map(|tool| tool.name).collect();
                let tool = clip(tool);
                let meant = match nearest(&tool, names.iter().copied()) {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("the tools are {}, and own:NAME for one of your own", names.join(", ")),
                };
                return self.bad(line, &format!("no tool is called “{tool}”; {meant}"));
            }
        };
        let Some(level) = Level::parse(level) else {
            return self.bad(line, &format!("“{}” is no level; it is one of allow, ask, deny and auto", clip(level)));
        };
        if self.rows.iter().any(|row| row.tool == found) {
            return self.bad(line, &format!("{found} stands in the table already; a tool has one level"));
        }
        self.rows.push(Row { line, heading: heading.to_string(), tool: found, level });
    }

    fn bad(&mut self, line: usize, why: &str) {
        self.wrong.push((line, why.to_string()));
    }

    /// Returns what is wrong with it, what follows from that, and the way out; `None` when all of it was read.
    pub fn gap(&self) -> Option<String> {
        let all: Vec<String> = self.wrong.iter().take(5).map(|(line, why)| self.place(*line, why)).collect();
        let (more, named) = (self.wrong.len().saturating_sub(all.len()), all.join("; "));
        let more = if more == 0 { String::new() } else { format!("; and {more} more") };
        (!all.is_empty()).then(|| {
            format!("{named}{more}: while not all of it can be read, every tool asks but what only speaks to you; mend the line")
        })
    }

    fn place(&self, line: usize, why: &str) -> String {
        if line == 0 { format!("{}: {why}", self.file) } else { format!("{}:{line}: {why}", self.file) }
    }

    /// Returns a row that would loosen what is set elsewhere, as what the user would confirm: what it would loosen is a
    /// part of that, so that who sets another level later is asked anew.
    fn loosening(&self, row: &Row, set: Option<Level>, usual: Level) -> Loosening {
        let instead = match set {
            Some(set) => format!("the {} that you set", word(set)),
            None => format!("the usual {}", word(usual)),
        };
        let (name, value) = (row.tool.clone(), format!("{}, not {instead}", word(row.level)));
        Loosening { file: self.file.clone(), heading: row.heading.clone(), name, value }
    }

    /// Returns the levels that count, and the rows that would loosen and were not confirmed.
    ///
    /// `set` are the levels that the user set elsewhere. `confirmed` says whether the user confirmed exactly that.
    pub fn over(
        &self,
        set: &BTreeMap<String, Level>,
        toolbox: &Toolbox,
        confirmed: &dyn Fn(&Loosening) -> bool,
    ) -> (BTreeMap<String, Level>, Vec<Loosening>) {
        let (mut levels, mut waiting) = (set.clone(), Vec::new());
        for row in &self.rows {
            let Some(tool) = toolbox.get(&row.tool) else { continue };
            let known = set.iter().find(|(name, _)| name.eq_ignore_ascii_case(&row.tool));
            let base = known.map_or_else(|| default_level(tool), |(_, level)| *level);
            let loosens = strictness_of(row.level, tool.effect) < strictness_of(base, tool.effect);
            if loosens && known.is_some_and(|(_, level)| *level == Level::Deny) {
                // What the user denies in Emacs is denied, whatever was confirmed before.
                continue;
            }
            let loosening = self.loosening(row, known.map(|(_, level)| *level), default_level(tool));
            if loosens && !confirmed(&loosening) {
                waiting.push(loosening);
                continue;
            }
            if let Some((name, _)) = known {
                levels.remove(name);
            }
            levels.insert(row.tool.clone(), row.level);
        }
        (levels, waiting)
    }
}

fn bare(cell: &str) -> &str {
    ['~', '='].iter().find_map(|mark| cell.strip_prefix(*mark)?.strip_suffix(*mark)).unwrap_or(cell)
}

fn clip(text: &str) -> String {
    text.chars().take(40).filter(|c| !c.is_control()).collect()
}

/// Stands where not all of a table can be read: whatever it might have tightened asks.
pub struct UnreadTable(String);

impl UnreadTable {
    /// Makes the gate for a table with a gap; `None` when all of it was read.
    pub fn of(table: &Table) -> Option<UnreadTable> {
        table.gap().map(UnreadTable)
    }
}

impl Gate for UnreadTable {
    fn name(&self) -> &str {
        "rules.org: unread"
    }

    fn priority(&self) -> u16 {
        450
    }

    fn judge(&self, case: &Case<'_>) -> Verdict {
        match case.tool.effect {
            Effect::Reply => Verdict::pass(),
            Effect::ReadMemory
            | Effect::Delegate
            | Effect::Configure
            | Effect::ReadFile
            | Effect::ReadEditor
            | Effect::EditOrg
            | Effect::WriteFile
            | Effect::Commit
            | Effect::ShowInEditor
            | Effect::Execute
            | Effect::Evaluate
            | Effect::Send
            | Effect::Fetch
            | Effect::Custom(_) => {
                Verdict::Ask(Reason::new(format!("Nobody knows what your rules forbid: {}.", self.0)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tool::Class;
    use proptest::prelude::*;

    fn read(text: &str) -> Table {
        Table::parse("/s/rules.org", text)
    }

    #[test]
    fn a_table_is_read_and_mistakes_are_named_by_line() {
        let table =
            read("* Mine\n| tool | why | level |\n|---+---+---|\n| ~shell~ | x | deny |\n| write-file | | Allow |\n");
        let rows: Vec<_> =
            table.rows.iter().map(|row| (row.line, row.tool.as_str(), row.level, row.heading.as_str())).collect();
        assert_eq!(rows, [(4, "shell", Level::Deny, "Mine"), (5, "write-file", Level::Allow, "Mine")]);
        assert_eq!((table.wrong.len(), table.gap()), (0, None));
        let check = |text: &str, expected: &str| {
            let gap = read(&format!("| tool | level |\n{text}\n| shell | deny |\n")).gap().unwrap_or_default();
            assert!(gap.contains(expected), "{text}: {gap}");
        };
        check("| shel | deny |", "/s/rules.org:2: no tool is called “shel”; did you mean shell?");
        check("| whatever-it-is | deny |", "/s/rules.org:2: no tool is called “whatever-it-is”; the tools are ");
        check("| own:shell | deny |", "and own:NAME for one of your own");
        check("| weather | deny |", "no tool is called “weather”");
        check("| write-file | no |", "/s/rules.org:2: “no” is no level");
        check("| write-file |", "/s/rules.org:2: “” is no level");
        check("| message | deny |", "/s/rules.org:2: message only speaks to you");
        check("| shell | ask |", "/s/rules.org:3: shell stands in the table already");
        assert!(read("| what | level |\n| shell | deny |\n").gap().unwrap_or_default().contains("rules.org:1: "));
        // A tool of one's own may be declared later, or elsewhere; that is no mistake.
        let own = read("| tool | level |\n| own:weather | deny |\n");
        assert_eq!((own.wrong.len(), own.rows.first().map(|row| row.tool.as_str())), (0, Some("weather")));
        // What stands beside a mistake counts all the same.
        assert_eq!(read("| tool | level |\n| shel | deny |\n| shell | deny |\n").rows.len(), 1);
        assert_eq!(read("No table.\n"), Table { file: "/s/rules.org".to_string(), ..Table::default() });
    }

    fn level() -> impl Strategy<Value = Level> {
        prop_oneof![Just(Level::Allow), Just(Level::Ask), Just(Level::Deny), Just(Level::Auto)]
    }

    #[test]
    fn allow_over_auto_waits_for_a_yes_where_it_lets_more_happen() {
        let toolbox = Toolbox::builtin();
        for (was, now) in [(Level::Auto, Level::Allow), (Level::Allow, Level::Auto)] {
            let set = BTreeMap::from([("shell".to_string(), was)]);
            let table = read(&format!("| tool | level |\n| shell | {} |\n", word(now)));
            let (levels, waiting) = table.over(&set, &toolbox, &|_| false);
            assert_eq!((levels.get("shell"), waiting.len()), (Some(&now), 0));
        }
        for class in [Class::Pure, Class::Read, Class::Write, Class::Execute, Class::Network] {
            let own = |level| strictness_of(level, Effect::Custom(class));
            assert!(own(Level::Allow) < own(Level::Auto) && own(Level::Auto) < own(Level::Ask), "{class:?}");
        }
        for level in [Level::Allow, Level::Auto] {
            assert!(strictness_of(level, Effect::Execute) < strictness_of(Level::Ask, Effect::Execute));
        }
    }

    proptest! {
        #[test]
        fn a_table_alone_only_tightens_and_what_is_confirmed_counts(
            set in proptest::collection::btree_map("(shell|write-file|read-file|SHELL)", level(), 0..4),
            rows in proptest::collection::btree_map("(shell|write-file|read-file|org-set-todo)", level(), 0..4),
            yes in any::<bool>(),
        ) {
            let lines: String = rows.iter().map(|(tool, level)| format!("| {tool} | {} |\n", word(*level))).collect();
            let table = read(&format!("| tool | level |\n{lines}"));
            prop_assert!(table.wrong.is_empty());
            let toolbox = Toolbox::builtin();
            let of = |levels: &BTreeMap<String, Level>, tool: &'static crate::domain::tool::Tool| {
                let known = levels.iter().find(|(name, _)| name.eq_ignore_ascii_case(tool.name));
                strictness_of(known.map_or_else(|| default_level(tool), |(_, level)| *level), tool.effect)
            };
            let (levels, waiting) = table.over(&set, &toolbox, &|_| yes);
            for tool in toolbox.all() {
                let wanted = rows.get(tool.name).map(|level| strictness_of(*level, tool.effect));
                let known = set.iter().find(|(name, _)| name.eq_ignore_ascii_case(tool.name));
                let denied = known.is_some_and(|(_, level)| *level == Level::Deny);
                let expected = match (wanted, yes) {
                    (Some(wanted), true) if !denied => wanted,
                    (Some(_), true) => of(&set, tool),
                    (Some(wanted), false) => wanted.max(of(&set, tool)),
                    (None, _) => of(&set, tool),
                };
                prop_assert_eq!(of(&levels, tool), expected, "{}", tool.name);
            }
            prop_assert_eq!(yes && !waiting.is_empty(), false);
        }
    }
}
