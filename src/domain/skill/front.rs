//! The front matter of a skill: the lines above its first heading that say when, with what and after which others.

use crate::domain::org::outline::Outline;
use crate::domain::skill::page::Page;
use crate::domain::skill::trigger::Trigger;
use crate::domain::skill::{Skill, SkillProblem};
use crate::domain::tool::Toolbox;
use crate::domain::turn::error::Resolution;
use std::collections::BTreeSet;

/// Longest text of `#+ON_ERROR: fallback`, in bytes.
const MAX_FALLBACK: usize = 2 * 1024;
/// What is answered for a skill that falls back and gives no text of its own.
const FALLBACK: &str = "I could not do this now. Ask again later; the log says what failed.";
/// The keys that are read; others are Org's, or anybody's.
pub(super) const KEYS: [&str; 5] = ["PRIORITY", "DEPENDS_ON", "TRIGGER", "ON_ERROR", "TOOLS"];

/// Returns the key that a line begins with, and whether a colon stands behind it.
pub(super) fn key(line: &str) -> Option<(&str, bool)> {
    let rest = line.trim_start().strip_prefix("#+")?;
    let key = rest.split(|c: char| c == ':' || c.is_whitespace()).next().filter(|key| !key.is_empty())?;
    Some((key, rest.get(key.len()..)?.trim_start().starts_with(':')))
}

/// Reads what stands above the first heading, blocks left out.
///
/// # Errors
/// The first line that cannot be read.
pub(super) fn front_matter(
    outline: &Outline,
    page: &Page<'_>,
    toolbox: &Toolbox,
    skill: &mut Skill,
) -> Result<(), SkillProblem> {
    let Some(file) = outline.nodes.first() else { return Ok(()) };
    let mut has_priority = false;
    for line in page.lines(&file.section).filter(|line| !line.in_block) {
        let Some((key, true)) = key(line.text) else { continue };
        let value = line.text.split_once(':').map_or("", |(_, value)| value.trim());
        let (key, line) = (key.to_uppercase(), line.number);
        let wrong = |text: String| SkillProblem::FrontMatter { line, key: key.clone(), text };
        match key.as_str() {
            "PRIORITY" if std::mem::replace(&mut has_priority, true) => {
                return Err(wrong("it stands there twice; one line says which skill comes first".to_string()));
            }
            "PRIORITY" => {
                let number = value.parse::<u16>().ok().filter(|number| *number <= 1000);
                skill.priority = number.ok_or_else(|| wrong(format!("“{value}” is no number from 0 to 1000")))?;
            }
            "DEPENDS_ON" => skill.depends_on.extend(needs(value)),
            "TRIGGER" => skill.triggers.push(Trigger::parse(value).map_err(wrong)?),
            "ON_ERROR" if skill.on_error.is_some() => {
                return Err(wrong("it stands there twice; one line says what ends a fault".to_string()));
            }
            "ON_ERROR" => skill.on_error = Some(on_error(value).map_err(wrong)?),
            "TOOLS" => {
                let tools = skill.tools.get_or_insert_with(BTreeSet::new);
                for tool in words(value).filter(|word| word != "none") {
                    if toolbox.get(&tool).is_none() {
                        return Err(wrong(format!(
                            "there is no tool “{tool}”; the tools are {}",
                            toolbox.names().join(", ")
                        )));
                    }
                    tools.insert(tool);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Reads what ends a fault: `skip`, `abort`, or `fallback` with the text that is answered.
fn on_error(value: &str) -> Result<Resolution, String> {
    let (word, text) = value.split_once(char::is_whitespace).unwrap_or((value, ""));
    match (word.to_lowercase().as_str(), text.trim()) {
        ("fallback", long) if long.len() > MAX_FALLBACK => {
            Err(format!("the text of fallback has at most {MAX_FALLBACK} bytes, not {}", long.len()))
        }
        ("fallback", "") => Ok(Resolution::Fallback(FALLBACK.to_string())),
        ("fallback", text) => Ok(Resolution::Fallback(text.to_string())),
        ("skip", "") => Ok(Resolution::Skip),
        ("abort", "") => Ok(Resolution::Abort),
        (word @ ("skip" | "abort"), text) => {
            Err(format!("{word} stands alone, without “{text}”; only fallback is followed by a text"))
        }
        ("", _) => Err("what ends a fault is missing; there are skip, fallback and abort".to_string()),
        (word, _) => Err(format!("“{word}” does not end a fault; there are skip, fallback and abort")),
    }
}

fn words(value: &str) -> impl Iterator<Item = String> + '_ {
    value.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()).map(str::to_string)
}

/// Returns what a skill needs: words, and of links what they lead to, whatever their titles.
fn needs(mut value: &str) -> Vec<String> {
    let mut found = Vec::new();
    while let Some((before, (link, rest))) =
        value.split_once("[[").and_then(|(before, rest)| Some((before, rest.split_once("]]")?)))
    {
        found.extend(words(before));
        found.push(link.split_once("][").map_or(link, |(target, _)| target).trim().to_string());
        value = rest;
    }
    found.extend(words(value));
    found
}
