//! Words that are nearly those by which a skill is read: slips of the pen, of which somebody is told.

use crate::domain::org::outline::Outline;
use crate::domain::query::error::nearest;
use crate::domain::skill::front::{self, KEYS};
use crate::domain::skill::lisp::is_commented;
use crate::domain::skill::page::Page;
use crate::domain::skill::{Skill, SkillProblem};

/// Headings of the first level that are read.
const HEADINGS: [&str; 5] = ["Prompt", "Mandates", "Rules", "Examples", "Gate examples"];

/// Returns which of some words another one was probably meant for; `None` when it is one of them.
pub(super) fn meant<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    if known.iter().any(|one| one.eq_ignore_ascii_case(word)) {
        return None;
    }
    nearest(word, known.iter().copied())
}

/// Returns which key of the front matter a word is, or was probably meant for.
pub(super) fn key(word: &str) -> Option<&'static str> {
    KEYS.iter().find(|known| known.eq_ignore_ascii_case(word)).copied().or_else(|| meant(word, &KEYS))
}

/// Looks for lines that are meant for the front matter and are not read.
///
/// # Errors
/// When `#+TOOLS` is probably meant: without it all tools are left.
pub(super) fn keys(outline: &Outline, page: &Page<'_>, skill: &mut Skill) -> Result<(), SkillProblem> {
    for (index, node) in outline.nodes.iter().enumerate() {
        if index > 0 && is_commented(outline, index) {
            continue;
        }
        for line in page.lines(&node.section).filter(|line| !line.in_block) {
            let Some((key, colon)) = front::key(line.text) else { continue };
            let exact = KEYS.iter().find(|known| known.eq_ignore_ascii_case(key)).copied();
            let Some(known) = self::key(key) else { continue };
            let text = match (exact, colon) {
                (Some(_), true) if index == 0 => continue,
                (Some(_), true) => {
                    "it stands below a heading, where it is not read; put it above the first one".to_string()
                }
                (Some(_), false) => format!("it is not read without its colon; write #+{known}:"),
                (None, _) => format!("this is not read; if #+{known} is meant, write that"),
            };
            if known == "TOOLS" {
                return Err(SkillProblem::FrontMatter { line: line.number, key: key.to_uppercase(), text });
            }
            skill.remarks.push(format!("Line {}: #+{}: {text}.", line.number, key.to_uppercase()));
        }
    }
    Ok(())
}

/// Looks for headings that are nearly those that are read, and for text below a mandate that is told to nobody.
pub(super) fn headings(outline: &Outline, skill: &mut Skill) {
    for (index, node) in outline.nodes.iter().enumerate().skip(1) {
        if is_commented(outline, index) {
            continue;
        }
        let title = |index: usize| outline.nodes.get(index).map_or("", |node| outline.slice(&node.title).trim());
        let parent = node.parent as usize;
        let above = outline.nodes.get(parent).filter(|_| parent > 0).map(|node| node.parent as usize);
        if node.parent == 0 {
            // “Gate” alone is a word of its own.
            let words = |text: &str| text.split_whitespace().count();
            let near = meant(title(index), &HEADINGS).filter(|known| words(known) == words(title(index)));
            if let Some(known) = near {
                let text = format!("Line {}: the heading “{}” is not read; ", node.line, title(index));
                skill.remarks.push(format!("{text}if “{known}” is meant, write that."));
            }
        } else if above.is_some_and(|top| is_mandates(outline, top)) {
            let text = "a heading below a single mandate is told to nobody; make it a mandate of its own, or take its stars \
                        away";
            skill.remarks.push(format!("Line {}: {text}.", node.line));
        }
    }
}

fn is_mandates(outline: &Outline, index: usize) -> bool {
    let node = outline.nodes.get(index).filter(|node| index > 0 && node.parent == 0);
    node.is_some_and(|node| outline.slice(&node.title).trim().eq_ignore_ascii_case("mandates"))
}
