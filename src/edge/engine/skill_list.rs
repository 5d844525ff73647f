//! The list of skills for people: what became of each, and how it did.

use crate::edge::engine::Engine;
use crate::edge::engine::skills::{Known, Turns};
use crate::edge::skills::{SkillState, Whose};

/// Longest title, in characters.
const LONGEST: usize = 200;

/// One skill of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillLine {
    /// Its name.
    pub name: String,
    /// Its title, or what it says it is for.
    pub title: String,
    /// `loaded`, `waiting` for the user, `off`, `failed`, or `unread` where its rules are not in force either.
    pub state: &'static str,
    /// Why it is not loaded, with the way out.
    pub why: Option<String>,
    /// Its priority, of an Org file that is loaded.
    pub priority: Option<u16>,
    /// Its file or folder; `None` for one that is built in.
    pub file: Option<String>,
    /// Whether it is the user's own: what somebody else wrote is opened with care.
    pub own: bool,
    /// What became of its turns since the start, in words; empty when there were none.
    pub turns: String,
    /// How long it took to read.
    pub took: std::time::Duration,
    /// How its Lisp did, in words; empty when none was called.
    pub lisp: String,
    /// What is odd about it.
    pub remarks: Vec<String>,
}

/// What took less is not worth a word.
const SLOW: std::time::Duration = std::time::Duration::from_millis(5);

impl SkillLine {
    /// Returns how long it took to read, in words, where that was long.
    pub fn slow(&self) -> Option<String> {
        (self.took >= SLOW).then(|| format!("It took {} ms to read.", self.took.as_millis()))
    }
}

impl Engine {
    /// Returns every skill that was found, by name.
    pub fn skill_list(&self) -> Vec<SkillLine> {
        let skills = self.skills();
        let title = |known: &Known| {
            let installed = skills.loaded.installed.iter().find(|one| one.handbook.name == known.report.name);
            let installed = installed.filter(|_| known.report.state == SkillState::Loaded);
            let title = known.skill.as_ref().map(|skill| skill.title.clone());
            title.or_else(|| installed.map(|one| one.handbook.description.clone())).unwrap_or_default()
        };
        self.known_skills().into_iter().map(|known| line(title(&known), known)).collect()
    }
}

fn line(title: String, known: Known) -> SkillLine {
    let Known { report, skill, turns, runs } = known;
    let (state, why) = match report.state {
        SkillState::Loaded => ("loaded", None),
        SkillState::Waiting(_) => {
            let why = "It comes from outside: look at it whole, and confirm it in Emacs. Its rules hold already; no Lisp of it runs.";
            ("waiting", Some(why.to_string()))
        }
        SkillState::Off(_) => ("off", Some("You took it out of use.".to_string())),
        SkillState::Failed(why) => ("failed", Some(why)),
        SkillState::Unread(why) => {
            ("unread", Some(format!("{why}. Until it is mended or moved away, all but plain reading asks.")))
        }
    };
    let last = runs.last.as_ref().map(|last| format!(" (the last failure: {last})")).unwrap_or_default();
    SkillLine {
        name: report.name,
        title: title.chars().take(LONGEST).collect(),
        state,
        why,
        priority: skill.map(|skill| skill.priority),
        file: report.file.map(|file| file.display().to_string()),
        own: report.whose == Whose::Own,
        turns: told(&turns),
        lisp: if runs.calls > 0 { format!("Lisp: {}{last}", runs.words()) } else { String::new() },
        took: report.took,
        remarks: report.remarks,
    }
}

/// Returns what became of the turns of a skill, in words; nothing when there were none.
fn told(turns: &Turns) -> String {
    if turns.count == 0 {
        return String::new();
    }
    let noun = if turns.count == 1 { "turn" } else { "turns" };
    let more = [(turns.failed, "failed"), (turns.rejected, "acts refused")];
    let more: String =
        more.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}")).collect();
    format!("{} {noun} in {:.1} s{more}", turns.count, turns.seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::skills::SkillReport;
    use std::time::Duration;

    #[test]
    fn what_took_long_to_read_is_said() {
        for (millis, told) in
            [(0, None), (4, None), (5, Some("It took 5 ms to read.")), (1200, Some("It took 1200 ms to read."))]
        {
            let report = SkillReport {
                name: "a".to_string(),
                file: None,
                whose: Whose::Own,
                state: SkillState::Loaded,
                remarks: Vec::new(),
                took: Duration::from_millis(millis),
            };
            let known = Known { report, skill: None, turns: Turns::default(), runs: Default::default() };
            assert_eq!(line(String::new(), known).slow().as_deref(), told, "{millis}");
        }
    }
}
