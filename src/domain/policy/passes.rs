//! What the user set that lets acts pass unasked: levels that are looser than the usual ones, and hosts that rules name.

use super::tools::{strictness_of, word};
use crate::domain::action::{Action, texts};
use crate::domain::gate::permissions::default_level;
use crate::domain::scope::{Level, Scope};
use crate::domain::tool::{Tool, Toolbox};
use crate::domain::web;
use std::collections::BTreeMap;

/// A level that is looser than the usual one of its tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looser {
    /// The tool.
    pub tool: &'static str,
    /// The level that is set.
    pub level: Level,
    /// The usual one.
    pub usual: Level,
}

/// Returns the levels that let more pass than the usual ones, by tool.
pub fn looser(levels: &BTreeMap<String, Level>, toolbox: &Toolbox) -> Vec<Looser> {
    let found = levels.iter().filter_map(|(name, level)| {
        let tool = toolbox.all().find(|tool| tool.name.eq_ignore_ascii_case(name))?;
        of(tool, *level)
    });
    found.collect()
}

fn of(tool: &'static Tool, level: Level) -> Option<Looser> {
    let usual = default_level(tool);
    let looser = strictness_of(level, tool.effect) < strictness_of(usual, tool.effect);
    looser.then_some(Looser { tool: tool.name, level, usual })
}

/// Returns which settings of the user had a part in it that an act passes: the level of its tool where that is looser than
/// the usual one, and the rules that name its hosts. Empty when every gate lets it pass as it is.
pub fn settings_behind(tool: &'static Tool, action: &Action, scope: &Scope) -> Vec<String> {
    let set = scope.permissions.iter().find(|(name, _)| name.eq_ignore_ascii_case(tool.name));
    let level = set.and_then(|(_, level)| of(tool, *level));
    let level = level.map(|looser| format!("the level {} of {}", word(looser.level), looser.tool));
    let asked = tool.hosts.iter().filter_map(|name| action.args().get(*name)).flat_map(texts);
    let hosts = asked.filter_map(|text| {
        let text = text.trim();
        let address = if text.contains("://") { text.to_string() } else { format!("https://{text}") };
        let host = web::host_of(&address).ok()?;
        let rule = scope.hosts.iter().find(|rule| web::is_allowed(&host, std::slice::from_ref(rule)))?;
        Some(format!("the allowed host {rule}"))
    });
    let mut all: Vec<String> = level.into_iter().chain(hosts).collect();
    all.dedup();
    all
}
