//! Carries out `setting-explain`, `setting-change` and `setting-undo`: Emacs tells of its settings, and sets one.

use crate::domain::action::Action;
use crate::domain::gate::clearance::Cleared;
use crate::domain::label::{Labels, Privacy, Provenance, Trust};
use crate::domain::setting::{Told, named};
use crate::edge::actuator::near::manual;
use crate::edge::actuator::{Actuators, Done, OWN};
use crate::edge::editor::Wanted;
use crate::edge::engine::changes::Act;

/// So many sections of the manual are named that speak of a setting.
const SECTIONS: usize = 5;
/// What Emacs says of settings: words of ours, and values of the user's.
const TOLD: Labels = Labels { provenance: Provenance::Tool, trust: Trust::Kept, privacy: Privacy::Open };

impl Actuators {
    /// Tells of one setting, or of those that fit some words.
    pub(super) async fn explain_setting(&self, action: &Action) -> Done {
        let query = action.text("query").unwrap_or("").trim();
        let one = async |option: String| self.engine.editor.settings(&Wanted::One(option)).await;
        if !query.is_empty() && !query.contains(char::is_whitespace) {
            match one(named(query)).await {
                Ok(told) => {
                    if let Some(told) = told.first() {
                        return Done::said(explained(told), TOLD);
                    }
                }
                Err(why) => return Done::failed(why),
            }
        }
        let fitting = match self.engine.editor.settings(&Wanted::Fitting(query.to_string())).await {
            Ok(fitting) => fitting,
            Err(why) => return Done::failed(why),
        };
        match fitting.as_slice() {
            [] => Done::said("No setting of Passepartout fits these words.".to_string(), OWN),
            [only] => match one(only.option.clone()).await {
                Ok(told) => Done::said(explained(told.first().unwrap_or(only)), TOLD),
                Err(why) => Done::failed(why),
            },
            many => Done::said(many.iter().map(Told::line).collect::<Vec<_>>().join("\n"), TOLD),
        }
    }

    /// Changes a setting, or puts one back.
    pub(super) async fn change_setting(&self, act: &Act, cleared: &Cleared) -> Done {
        let Some(setting) = &cleared.facts().setting else {
            return Done::failed("what it would change was not found out, so nothing was changed");
        };
        match self.engine.change_setting(&act.0, setting).await {
            Ok(said) => Done::said(said, OWN),
            Err(why) => Done::failed(why),
        }
    }
}

fn explained(told: &Told) -> String {
    let mut sections = manual().speaking_of(&told.option);
    sections.truncate(SECTIONS);
    told.words(&sections)
}
