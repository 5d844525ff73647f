//! What files have lost that tightened: what counts instead, how the user is shown it, and how it is let go.

use crate::domain::audit::{Decision, Ruling};
use crate::domain::gate::permissions::default_level;
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::policy::held::{FORBID, GONE, Line, Spot, said, together};
use crate::domain::policy::loosening::Loosening;
use crate::domain::policy::tools::{Table, strictness, word};
use crate::domain::port::LogLevel;
use crate::domain::scope::Level;
use crate::edge::engine::authority::held::{record, rows, set, values};
use crate::edge::engine::authority::labels::LostLabels;
use crate::edge::engine::{Engine, audit};
use crate::edge::thread::in_place;
use std::collections::{BTreeMap, BTreeSet};

/// What one file has lost, which counts until the user lets it go.
pub(super) struct Lost {
    /// What the user confirms: all of it together.
    pub(super) loosening: Loosening,
    /// Where each line stands, and what stands there now.
    lines: Vec<(Spot, Option<Line>)>,
    /// The same of what made headings private.
    labels: Vec<(Spot, Option<Line>)>,
    /// What the user was shown as standing there now, and what loosens: who lets the old lines go confirms exactly these.
    pub(super) confirms: Vec<Loosening>,
}

impl Lost {
    /// Makes it of what each line is called, and where it stands with what stands there now.
    fn new(file: &str, lines: Vec<(String, Spot, Option<Line>)>, labels: Option<LostLabels>) -> Lost {
        let labels = labels.unwrap_or_default();
        // A heading may be known by two names.
        let mut known = BTreeSet::new();
        let words = lines.iter().map(|(words, _, _)| words).chain(&labels.words).map(String::as_str);
        let all: Vec<&str> = words.filter(|words| known.insert(*words)).collect();
        let loosening =
            Loosening { file: file.to_string(), heading: String::new(), name: GONE.to_string(), value: all.join("; ") };
        let lines = lines.into_iter().map(|(_, spot, now)| (spot, now)).collect();
        Lost { loosening, lines, labels: labels.spots, confirms: Vec::new() }
    }

    /// Returns whether something of that name is lost.
    pub(super) fn is_of(&self, name: &str) -> bool {
        self.lines.iter().any(|(spot, _)| spot.name == name)
    }
}

impl Engine {
    /// Returns what headings and files have lost that would hold back now, by file.
    pub(super) fn lost_by_files(&self) -> Vec<Lost> {
        let seen: Vec<(Spot, Line)> = {
            let authority = self.authority.lock();
            authority.seen.iter().map(|(spot, line)| (spot.clone(), line.clone())).collect()
        };
        let view = self.view();
        let mut by_file: BTreeMap<String, Vec<(String, Spot, Option<Line>)>> = BTreeMap::new();
        let mut confirms: BTreeMap<String, Vec<Loosening>> = BTreeMap::new();
        for (spot, line) in seen.into_iter().filter(|(spot, _)| FORBID.contains(&spot.name.as_str())) {
            let whole = spot.heading.is_empty();
            let named = || view.get(&NodeId::new(spot.heading.as_str())).or_else(|| self.by_path(&view, &line.path));
            let Some(node) = (if whole { view.node(&spot.file, 0) } else { named() }) else { continue };
            let now = match whole {
                true => node.card().file_property(&spot.name).and_then(|now| said(&spot.name, [now])),
                false => said(&spot.name, values(&node, &spot.name)),
            };
            let Some(all) = self.held_at([&spot], now.as_deref()) else { continue };
            let bare = self.mandate_where(&node, false, Privacy::Open);
            if self.mandate_where(&node, true, Privacy::Open).holds_as(&bare) {
                // Something above holds all of it back anyway.
                continue;
            }
            let (id, title) = (node.id(), node.title());
            let under = match (whole, id.as_str().contains(title)) {
                (true, _) => String::new(),
                (false, true) => format!(" under “{}”", id.as_str()),
                (false, false) => format!(" under “{title}” ({})", id.as_str()),
            };
            let words = format!("{} = {all}{under}{}", spot.name, becomes(now.as_deref()));
            let heading = if whole { "" } else { id.as_str() };
            let shown = |one: &Loosening| now.is_some() && one.name == spot.name && one.heading == heading;
            let of_file = confirms.entry(node.file().to_string()).or_default();
            of_file.extend(bare.waiting.into_iter().filter(shown));
            let now = now.map(|value| Line { value, path: line.path });
            by_file.entry(node.file().to_string()).or_default().push((words, spot, now));
        }
        let mut labels: BTreeMap<String, LostLabels> = self.lost_labels().into_iter().collect();
        let files: BTreeSet<String> = by_file.keys().chain(labels.keys()).cloned().collect();
        let lost = |file: String| {
            let lines = by_file.remove(&file).unwrap_or_default();
            let confirms = confirms.remove(&file).unwrap_or_default();
            Lost { confirms, ..Lost::new(&file, lines, labels.remove(&file)) }
        };
        files.into_iter().map(lost).collect()
    }

    /// Finds the heading that a path names now; it may have another id than it had.
    fn by_path(&self, view: &View, path: &str) -> Option<NodeRef> {
        if let Some(node) = view.get(&NodeId::new(path)) {
            return Some(node);
        }
        let file = path.split_once("::*").map_or(path, |(file, _)| file);
        let card = view.card(file)?;
        (0..card.len()).find(|index| card.path_name(*index) == path).and_then(|index| view.node(file, index))
    }

    /// Returns the levels with those that the table of rules has lost, and what it has lost.
    ///
    /// What it has is remembered.
    pub(super) fn held_levels(
        &self,
        table: &Table,
        mut levels: BTreeMap<String, Level>,
    ) -> (BTreeMap<String, Level>, Option<Lost>) {
        let name = self.rules_name();
        let now: BTreeMap<Spot, Line> = rows(&name, table).collect();
        self.see(now.clone());
        let known: Vec<(Spot, Line)> = {
            let authority = self.authority.lock();
            authority.seen.of_file(&name).map(|(spot, line)| (spot.clone(), line.clone())).collect()
        };
        let toolbox = self.toolbox();
        let mut lost = Vec::new();
        for (spot, known) in known {
            let row = now.get(&spot);
            let all = together(&spot.name, &known.value, row.map(|row| row.value.as_str()));
            let (Some(tool), Some(held)) = (toolbox.get(&spot.name), Level::parse(&all)) else { continue };
            let counts = levels.iter().find(|(tool, _)| tool.eq_ignore_ascii_case(&spot.name));
            let base = counts.map_or_else(|| default_level(tool), |(_, level)| *level);
            if row.is_some_and(|row| row.value == all) || strictness(held) <= strictness(base) {
                continue;
            }
            levels.retain(|tool, _| !tool.eq_ignore_ascii_case(&spot.name));
            levels.insert(spot.name.clone(), held);
            let stands = table.rows.iter().find(|row| row.tool == spot.name).map(|row| word(row.level));
            lost.push((format!("{} = {all}{}", spot.name, becomes(stands)), spot, row.cloned()));
        }
        // Of a table that cannot be read nobody knows what it has lost.
        let lost = (!lost.is_empty() && table.gap().is_none()).then(|| Lost::new(&table.file, lost, None));
        (levels, lost)
    }

    /// Returns everything that was taken away and waits for the user.
    pub(super) fn all_lost(&self) -> Vec<Lost> {
        self.levels_and_lost().2.into_iter().chain(self.lost_by_files()).collect()
    }

    /// Says whether exactly this was taken away and waits.
    pub(super) fn still_lost(&self, wanted: &Loosening) -> Result<Lost, String> {
        let found = in_place(|| self.all_lost().into_iter().find(|lost| lost.loosening == *wanted));
        found.ok_or_else(|| {
            "that is not what is missing now, so nothing was let go; look again: M-x passepartout-rules".to_string()
        })
    }

    /// Lets go what a file has lost, as the user approved it, and counts what stands there instead as confirmed.
    pub(super) async fn let_go_lost(&self, wanted: &Loosening) -> Result<String, String> {
        self.let_go_found(self.still_lost(wanted)?).await
    }

    /// Lets go what was found to be what the user approved, whatever files say by now.
    async fn let_go_found(&self, lost: Lost) -> Result<String, String> {
        let wanted = &lost.loosening;
        let words = self.loggable(wanted);
        let decision: Decision = Engine::of_human(Ruling::Confirmed, words.clone(), "Emacs");
        let all = lost.lines.iter().chain(&lost.labels);
        let records: Vec<_> = all.map(|(spot, now)| record(spot, now.as_ref())).collect();
        self.append_all(records.into_iter().chain([audit::kept(&decision)])).await?;
        {
            let mut authority = self.authority.lock();
            for (spot, now) in &lost.lines {
                set(&mut authority.seen, spot.clone(), now.as_ref());
            }
        }
        in_place(|| self.forget_labels(&lost.loosening.file, &lost.labels));
        self.say(LogLevel::Info, &format!("{words} was let go"));
        for loosening in &lost.confirms {
            self.keep_loosening(loosening, Ruling::Confirmed, "Emacs").await?;
        }
        Ok(format!("It does not count any more: {} in {}.", wanted.value, wanted.file))
    }
}

/// Says what a line has become.
fn becomes(now: Option<&str>) -> String {
    now.map_or_else(|| ", taken away".to_string(), |now| format!(", now {now}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::engine::fresh::tests::Place;

    fn confirmed(engine: &Engine) -> Vec<String> {
        engine.rules().into_iter().filter(|rule| rule.state == "confirmed").map(|rule| rule.text).collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_came_behind_the_shown_plan_is_not_confirmed_with_it() {
        let office = |budget: u32| {
            format!(
                "* Work\n:PROPERTIES:\n:PP_BUDGET: 5\n:END:\n** Office\n:PROPERTIES:\n:ID: office\n:PP_BUDGET: {budget}\n:END:\n"
            )
        };
        for came in [900, 400] {
            let place = Place::new(&office(3)).await;
            place.write(&office(400));
            place.engine.read_memex(&mut |_| {});
            let lost = place.engine.all_lost();
            let [lost] = lost.try_into().unwrap_or_else(|_| panic!("one file has lost something"));
            assert!(lost.loosening.value.contains("PP_BUDGET = 3 under “Office” (office), now 400"));
            // While the yes is being stored, a pull writes something else.
            place.write(&office(came));
            place.engine.read_memex(&mut |_| {});
            place.engine.let_go_found(lost).await.expect("it is stored");
            let all = confirmed(&place.engine);
            assert!(all.len() == 1 && all[0].contains("PP_BUDGET = 400"), "{all:?}");
            let waits: Vec<String> = place.engine.all_lost().into_iter().map(|lost| lost.loosening.value).collect();
            assert_eq!(
                waits.iter().any(|one| one.contains("= 400") && one.contains("now 900")),
                came == 900,
                "{waits:?}"
            );
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_row_that_came_behind_the_shown_plan_waits() {
        let place = Place::new("* One\n").await;
        let settings = &place.engine.config.settings;
        std::fs::create_dir_all(settings).expect("a folder");
        let write =
            |row: &str| std::fs::write(settings.join("rules.org"), format!("| tool | level |\n{row}")).expect("a file");
        for (shown, came, counts) in [
            ("", "| org-set-todo | allow |\n", false),
            ("| org-set-todo | allow |\n", "* Another\n| tool | level |\n| org-set-todo | allow |\n", false),
            ("| org-set-todo | allow |\n", "| org-set-todo | allow |\n", true),
        ] {
            write("| org-set-todo | deny |\n");
            place.engine.levels();
            write(shown);
            let [lost] = place.engine.all_lost().try_into().unwrap_or_else(|_| panic!("a row is lost"));
            write(came);
            place.engine.let_go_found(lost).await.expect("it is stored");
            let (levels, waiting) = place.engine.levels();
            assert_eq!(levels.get("org-set-todo") == Some(&Level::Allow), counts, "{shown}{came}");
            assert_eq!(waiting.len(), usize::from(!counts), "{shown}{came}{waiting:?}");
        }
    }
}
