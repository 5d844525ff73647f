//! Settings of the user's Emacs: what a change of one would do, and which changes can be put back.
//!
//! Emacs alone knows and sets them. What stood there before is kept before anything is changed, so that it can be put
//! back after any end.

use crate::domain::action::Action;
use crate::domain::id::TurnId;
use crate::domain::label::Labels;
use crate::domain::setting::{Change, Counts, Saved, SettingFact, Stand, named, stand, value};
use crate::domain::signal::Origin;
use crate::domain::tool::{SETTING_CHANGE, SETTING_UNDO};
use crate::domain::turn::refused;
use crate::edge::editor::Unchanged;
use crate::edge::engine::Engine;
use crate::edge::engine::planner::waiting_for;
use crate::edge::engine::record::kind;
use crate::edge::survey::Predicted;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// So many of the newest changes can be put back.
const MOST: usize = 1_000;

/// A change that was made, as the store keeps it. Values are printed as Lisp data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Made {
    option: String,
    /// Its value before.
    before: String,
    /// What was saved of it before.
    saved: Option<String>,
    /// Its value after.
    after: String,
    /// Whether it stands: it was made, and not put back since.
    stands: bool,
}

impl Engine {
    /// Predicts what a tool for settings would do; nothing of another tool.
    ///
    /// # Errors
    /// When it could not be found out.
    pub(super) fn plan_setting(&self, action: &Action) -> Result<Predicted, String> {
        let planned = match action.tool() {
            SETTING_CHANGE => self.plan_setting_change(action),
            SETTING_UNDO => self.plan_setting_undo(action.text("change").map(str::trim)),
            _ => return Ok(Predicted::default()),
        };
        match planned {
            Ok(predicted) => Ok(predicted),
            Err(Unchanged::Refused(why)) => Ok(Predicted { impossible: vec![why], ..Predicted::default() }),
            Err(Unchanged::Unknown(why)) => Err(format!("What would become of the setting was not found out: {why}.")),
        }
    }

    fn plan_setting_change(&self, action: &Action) -> Result<Predicted, Unchanged> {
        let option = named(action.text("option").unwrap_or_default());
        if let Stand::Never(why) = stand(&option).0 {
            let option = crate::domain::inert::exact(&crate::domain::action::clip(&option));
            return Err(Unchanged::Refused(format!(
                "the user alone sets {option}, for {why}; they can do it with M-x customize-option RET {option}"
            )));
        }
        let value = value(action.text("value").unwrap_or_default()).map_err(Unchanged::Refused)?;
        let keep = action.args().get("keep").and_then(Value::as_bool).unwrap_or(false);
        let saved = if keep { Saved::As(value.clone()) } else { Saved::Stays };
        let setting = self.weighed(&Change { option, value, saved })?;
        if setting.now == setting.to && setting.saved == setting.saved_then {
            return Err(Unchanged::Refused(format!("{} is {} already", setting.option, setting.to)));
        }
        Ok(Predicted { setting: Some(setting), ..Predicted::default() })
    }

    fn plan_setting_undo(&self, wanted: Option<&str>) -> Result<Predicted, Unchanged> {
        let (name, made) = waiting_for(self.setting_to_put_back(wanted)).map_err(Unchanged::Refused)?;
        let read = |text: &str| value(text).map_err(Unchanged::Refused);
        let saved = made.saved.as_deref().map(read).transpose()?.map_or(Saved::Nothing, Saved::As);
        let change = Change { option: made.option, value: read(&made.before)?, saved };
        let setting = SettingFact { undoes: Some(name), ..self.weighed(&change)? };
        if setting.now == setting.to && setting.saved == setting.saved_then {
            return Err(Unchanged::Refused(format!("{} stands as it did before that already", setting.option)));
        }
        let doubts = match setting.now == made.after {
            true => Vec::new(),
            false => vec![format!("It was changed again since it was set to {}.", made.after)],
        };
        Ok(Predicted { setting: Some(setting), doubts, ..Predicted::default() })
    }

    fn weighed(&self, change: &Change) -> Result<SettingFact, Unchanged> {
        // The outer one says whether there was anybody to wait with.
        waiting_for(async { Ok(self.editor.weigh(change).await) }).map_err(Unchanged::Unknown)?
    }

    /// Returns the change of this name that can be put back, or the last one.
    async fn setting_to_put_back(&self, wanted: Option<&str>) -> Result<(String, Made), String> {
        let records = self.archive.newest(kind::SETTING, MOST).await?;
        let mut seen = HashSet::new();
        let newest = records.into_iter().filter(|record| seen.insert(record.key.clone()));
        let mut standing = newest.filter_map(|record| {
            let made: Made = serde_json::from_value(record.body).ok()?;
            made.stands.then_some((record.key, made))
        });
        match wanted.filter(|name| !name.is_empty()) {
            None => standing.next().ok_or_else(|| "the agent changed no setting that could be put back".to_string()),
            Some(name) => standing.find(|(key, _)| key == name).ok_or_else(|| {
                format!(
                    "there is no change of a setting called {} that could be put back",
                    crate::domain::inert::exact(&crate::domain::action::clip(name))
                )
            }),
        }
    }

    /// Changes a setting as its plan showed it, and says so.
    ///
    /// # Errors
    /// In words, when it was not changed, or when nobody knows.
    pub(in crate::edge) async fn change_setting(&self, turn: &TurnId, found: &SettingFact) -> Result<String, String> {
        let change = found.change()?;
        let SettingFact { option, now, to, saved, undoes, .. } = found;
        let made =
            Made { option: option.clone(), before: now.clone(), saved: saved.clone(), after: to.clone(), stands: true };
        let name = match undoes {
            Some(name) => name.clone(),
            None => self.name_of_change(turn, option),
        };
        if undoes.is_none() {
            self.keep_setting(&name, &made)
                .await
                .map_err(|why| format!("what {option} is now could not be kept, so it was not changed: {why}"))?;
        }
        let set = self.editor.set(&change, found).await;
        let ended = Made { stands: false, ..made };
        match (set, undoes) {
            (Ok(()), Some(_)) => {
                let end = match self.keep_setting(&name, &ended).await {
                    Ok(()) => String::new(),
                    Err(why) => format!(" That it was put back could not be kept: {why}."),
                };
                Ok(format!("{option} is {to} again; it was {now}.{}{end}", counts(option)))
            }
            (Ok(()), None) => Ok(format!(
                "{option} is {to} from now on; it was {now}.{} /settings undo {name} puts it back.",
                counts(option)
            )),
            (Err(Unchanged::Refused(why)), undoes) => {
                if undoes.is_none() {
                    // If this is not kept, putting it back finds nothing to do.
                    let _ = self.keep_setting(&name, &ended).await;
                }
                Err(why)
            }
            (Err(Unchanged::Unknown(why)), _) => Err(format!("{why}; M-x customize-option RET {option} shows it")),
        }
    }

    fn name_of_change(&self, turn: &TurnId, option: &str) -> String {
        let text = format!("{}\n{option}\n{}", turn.0, self.clock.now());
        blake3::hash(text.as_bytes()).to_hex().chars().take(8).collect()
    }

    async fn keep_setting(&self, name: &str, made: &Made) -> Result<(), String> {
        let body = serde_json::to_value(made).map_err(|error| error.to_string())?;
        self.append(kind::SETTING, name, body).await
    }

    /// Proposes to put a setting back, for the user's own command. It waits as a flight plan.
    pub async fn propose_setting_undo(self: &Arc<Self>, origin: &Origin, change: Option<&str>) -> String {
        let args: Map<String, Value> = change.map(|name| ("change".to_string(), name.into())).into_iter().collect();
        let line = match change {
            Some(name) => format!("/settings undo {name}"),
            None => "/settings undo".to_string(),
        };
        let why = Some("You asked for it.");
        match Action::new(&self.toolbox(), SETTING_UNDO, args, why, Labels::USER) {
            Ok(action) => {
                let report = self.commanded(origin, self.new_turn(), line, action).await.report;
                let refused: Vec<String> = refused(&report).into_iter().map(|refused| refused.text).collect();
                match report.plans.as_slice() {
                    [] if report.text.is_empty() => refused.join("\n"),
                    [] => report.text,
                    _ => "What would be put back waits as a flight plan.".to_string(),
                }
            }
            Err(wrong) => format!("Nothing was done: {}.", wrong.0),
        }
    }
}

/// Says when a change counts, where that is not at once.
fn counts(option: &str) -> &'static str {
    match stand(option).1 {
        Counts::AtOnce => "",
        Counts::FromStart => " It counts from the next start of the core: M-x passepartout-restart.",
    }
}
