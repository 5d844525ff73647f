//! The order in which skills are loaded: what a skill needs comes before it.

use crate::domain::skill::Skill;
use std::collections::{BTreeMap, BTreeSet};

/// Why a skill has no place in the order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderProblem {
    /// It needs what is not there.
    #[error("{skill} needs “{dependency}”, and there is no such skill")]
    Unknown {
        /// The skill.
        skill: String,
        /// What it needs, as its file says.
        dependency: String,
    },
    /// It needs itself, by way of others.
    #[error("{} need each other in a circle", members.join(" → "))]
    Circular {
        /// All skills of the circle, by name.
        members: Vec<String>,
    },
    /// What it needs was kept out.
    #[error("{skill} needs {dependency}, which was not loaded")]
    Kept {
        /// The skill.
        skill: String,
        /// What it needs.
        dependency: String,
    },
}

/// Skills in order, and those without a place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ordered {
    /// Each after all that it needs; by name where that leaves a choice.
    pub skills: Vec<Skill>,
    /// The skills that were left out, each with why.
    pub left_out: Vec<(Skill, OrderProblem)>,
}

/// Orders skills by what they need. Skills without a place do not keep the others out.
pub fn order(skills: Vec<Skill>) -> Ordered {
    let needs = needs(&skills);
    let mut placed: BTreeSet<usize> = BTreeSet::new();
    let mut sequence = Vec::new();
    let mut by_name: Vec<usize> = (0..skills.len()).collect();
    by_name.sort_by(|a, b| skills.get(*a).map(|s| &s.name).cmp(&skills.get(*b).map(|s| &s.name)));
    loop {
        let ready = by_name.iter().copied().find(|index| {
            !placed.contains(index)
                && needs
                    .get(index)
                    .is_some_and(|all| all.iter().all(|need| matches!(need, Need::Skill(n) if placed.contains(n))))
        });
        let Some(index) = ready else { break };
        placed.insert(index);
        sequence.push(index);
    }
    let problems: BTreeMap<usize, OrderProblem> = (0..skills.len())
        .filter(|index| !placed.contains(index))
        .map(|index| (index, problem(index, &skills, &needs, &placed)))
        .collect();
    let mut slots: Vec<Option<Skill>> = skills.into_iter().map(Some).collect();
    let mut take = |index: usize| slots.get_mut(index).and_then(Option::take);
    let ordered = sequence.into_iter().filter_map(&mut take).collect();
    let left_out = problems.into_iter().filter_map(|(index, why)| take(index).map(|skill| (skill, why))).collect();
    Ordered { skills: ordered, left_out }
}

/// Returns the skills that need one, directly or by way of others.
pub fn needing<'a>(skills: &'a [Skill], name: &str) -> Vec<&'a Skill> {
    let needs = needs(skills);
    let Some(wanted) = skills.iter().position(|skill| skill.name == name) else { return Vec::new() };
    let other = |index: &usize| *index != wanted && reach(*index, &needs).contains(&wanted);
    (0..skills.len()).filter(other).filter_map(|index| skills.get(index)).collect()
}

enum Need {
    Skill(usize),
    Unknown(String),
}

fn needs(skills: &[Skill]) -> BTreeMap<usize, Vec<Need>> {
    let find = |dependency: &str| {
        let id = dependency.strip_prefix("id:");
        skills.iter().position(|skill| match id {
            Some(id) => skill.id.as_deref() == Some(id),
            None => skill.name == dependency,
        })
    };
    let of = |skill: &Skill| {
        let all = skill.depends_on.iter();
        all.map(|name| find(name).map_or_else(|| Need::Unknown(name.clone()), Need::Skill)).collect()
    };
    skills.iter().enumerate().map(|(index, skill)| (index, of(skill))).collect()
}

fn problem(
    index: usize,
    skills: &[Skill],
    needs: &BTreeMap<usize, Vec<Need>>,
    placed: &BTreeSet<usize>,
) -> OrderProblem {
    let name = |index: usize| skills.get(index).map(|skill| skill.name.clone()).unwrap_or_default();
    let own = needs.get(&index).map(Vec::as_slice).unwrap_or_default();
    if let Some(dependency) = own.iter().find_map(|need| match need {
        Need::Unknown(name) => Some(name.clone()),
        Need::Skill(_) => None,
    }) {
        return OrderProblem::Unknown { skill: name(index), dependency };
    }
    let circle: Vec<usize> =
        reach(index, needs).into_iter().filter(|other| reach(*other, needs).contains(&index)).collect();
    if circle.contains(&index) {
        let mut members: Vec<String> = circle.into_iter().map(name).collect();
        members.sort();
        return OrderProblem::Circular { members };
    }
    let kept = own.iter().find_map(|need| match need {
        Need::Skill(other) if !placed.contains(other) => Some(name(*other)),
        Need::Skill(_) | Need::Unknown(_) => None,
    });
    OrderProblem::Kept { skill: name(index), dependency: kept.unwrap_or_default() }
}

/// Returns all that a skill needs, directly or by way of others.
fn reach(index: usize, needs: &BTreeMap<usize, Vec<Need>>) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open = vec![index];
    while let Some(at) = open.pop() {
        for need in needs.get(&at).map(Vec::as_slice).unwrap_or_default() {
            if let Need::Skill(other) = need
                && found.insert(*other)
            {
                open.push(*other);
            }
        }
    }
    found
}
