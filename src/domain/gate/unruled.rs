//! What an edit does to rules of headings: which text would stand where a `PP_` line no longer holds for it.
//!
//! What such a line itself becomes is compared elsewhere; here the lines stay, and headings leave them.

use crate::domain::gate::disclosure::{Side, afters, befores};
use crate::domain::gate::facts::EditFact;
use crate::domain::label::{Privacy, PrivacyTag};
use crate::domain::org::scan::TooLarge;
// `PP_ALLOW` is missed by nobody, and `PP_PRIVACY` goes by tiers.
use crate::domain::policy::held::FORBID;
use std::collections::{BTreeSet, HashMap};

/// One line of a heading or file: its name and value.
type Rule = (String, String);

/// A heading that would leave what rules it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unruled {
    /// Its title, or its file's name; `None` when it is private, since reasons go to models.
    pub name: Option<String>,
    /// The name of the line that would no longer hold.
    pub rule: String,
}

/// Returns the highest headings with text that would be taken out from under a line that forbids something.
///
/// All edits are taken together. A copy leaves the text where it is, and text that goes leaves nothing to rule.
///
/// # Errors
/// When a text is too large to be read as Org.
pub fn unruled(edits: &[EditFact], private_tags: &[PrivacyTag]) -> Result<Vec<Unruled>, TooLarge> {
    // Nearly no edit touches a file with such a line.
    let any = |edit: &EditFact| edit.before.as_deref().is_some_and(speaks);
    if !edits.iter().any(any) {
        return Ok(Vec::new());
    }
    let (before, after) = (befores(edits, private_tags)?, afters(edits, private_tags)?);
    let (old, new): (Vec<_>, Vec<_>) = (before.iter().map(rules).collect(), after.iter().map(rules).collect());
    let all: BTreeSet<&Rule> = old.iter().flatten().flatten().collect();
    let mut found: Vec<Unruled> = Vec::new();
    for rule in all {
        let (was, is) = (counts(&before, &old, rule), counts(&after, &new, rule));
        let loses = |piece: &str| {
            let count = |counts: &HashMap<&str, [usize; 2]>| counts.get(piece).copied().unwrap_or_default();
            let ([was_under, was_free], [is_under, is_free]) = (count(&was), count(&is));
            is_free > was_free && is_under < was_under
        };
        for (side, rules) in before.iter().zip(&old) {
            let mut covered: Vec<bool> = Vec::with_capacity(rules.len());
            for (node, rules) in rules.iter().enumerate() {
                // Parents stand before their children.
                let above = side.parent(node).and_then(|parent| covered.get(parent).copied()).unwrap_or(false);
                let here = rules.contains(rule) && side.pieces(node).any(loses);
                if here && !above {
                    let name = (side.tier(node) == Privacy::Open).then(|| side.name(node));
                    let one = Unruled { name, rule: rule.0.clone() };
                    if !found.contains(&one) {
                        found.push(one);
                    }
                }
                covered.push(here || above);
            }
        }
    }
    Ok(found)
}

fn speaks(text: &str) -> bool {
    let ours = |line: &str| FORBID.iter().any(|name| line.to_ascii_uppercase().contains(name));
    text.lines().filter(|line| line.contains('_')).any(ours)
}

/// Returns by node which lines hold for it, of its own and from above.
fn rules(side: &Side) -> Vec<BTreeSet<Rule>> {
    let ours = |(key, value): &(Box<str>, Box<str>)| {
        let key = key.trim_end_matches('+').to_ascii_uppercase();
        FORBID.contains(&key.as_str()).then(|| (key, value.trim().to_string()))
    };
    let mut found: Vec<BTreeSet<Rule>> = Vec::with_capacity(side.outline.nodes.len());
    for (index, node) in side.outline.nodes.iter().enumerate() {
        let whole = side.outline.properties.iter().filter(|_| index == 0);
        let own = node.properties.iter().chain(whole).filter_map(ours).filter(|_| side.is_org());
        let above = side.parent(index).and_then(|parent| found.get(parent)).cloned().unwrap_or_default();
        found.push(above.into_iter().chain(own).collect());
    }
    found
}

/// Returns how often each piece of text stands under a line, and how often free of it.
fn counts<'a>(sides: &'a [Side], rules: &[Vec<BTreeSet<Rule>>], rule: &Rule) -> HashMap<&'a str, [usize; 2]> {
    let mut counts: HashMap<&str, [usize; 2]> = HashMap::new();
    for (side, rules) in sides.iter().zip(rules) {
        for (node, held) in rules.iter().enumerate() {
            for piece in side.pieces(node) {
                let [under, free] = counts.entry(piece).or_default();
                *(if held.contains(rule) { under } else { free }) += 1;
            }
        }
    }
    counts
}
