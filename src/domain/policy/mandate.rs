//! What headings say of the work below them: `:PP_ALLOW:`, `:PP_DENY:`, `:PP_PRIVACY:`, `:PP_BUDGET:`, `:PP_MODEL:`.
//!
//! Properties are inherited, and each heading on the way down may only tighten what stands above it, until the user
//! confirmed more.

use crate::domain::policy::loosening::Loosening;
use crate::domain::tool::{Named, Toolbox};
use std::collections::{BTreeMap, BTreeSet};

/// The names of the properties.
pub const NAMES: [&str; 5] = ["PP_ALLOW", "PP_DENY", "PP_PRIVACY", "PP_BUDGET", "PP_MODEL"];
/// What a heading is called whose title is too private to be named. It sorts behind those that are named.
const UNNAMED: &str = "the private heading there";

/// Returns whether who rules something is said without a word of a note.
pub fn is_unnamed(who: &str) -> bool {
    who.starts_with(UNNAMED)
}

/// What holds for work below some headings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mandate {
    /// The tools that must not be used, each with who says so.
    pub deny: BTreeMap<String, String>,
    /// The tools whose asks the user answered in advance, each with the confirmation by its name.
    pub allow: BTreeMap<String, String>,
    /// The most tokens of a prompt.
    pub budget: Option<u64>,
    /// The providers that may be asked; `None` for those that are set up.
    pub models: Option<BTreeSet<String>>,
    /// What cannot be read; while there is any, every tool but plain words asks.
    pub wrong: Vec<String>,
    /// What would loosen and was not confirmed.
    pub waiting: Vec<Loosening>,
}

impl Mandate {
    /// Returns what holds where both do: delegated and scheduled work gets the intersection of what its headings allow.
    /// It is never looser than either.
    pub fn intersection(&self, other: &Mandate) -> Mandate {
        let both = |a: &Option<u64>, b: &Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(*a.min(b)),
            (one, None) | (None, one) => *one,
        };
        let mut deny = self.deny.clone();
        for (tool, who) in &other.deny {
            let known = deny.entry(tool.clone()).or_insert_with(|| who.clone());
            if *who < *known {
                known.clone_from(who);
            }
        }
        let allow = self.allow.iter().filter_map(|(tool, by)| {
            let also = other.allow.get(tool).filter(|_| !deny.contains_key(tool))?;
            Some((tool.clone(), by.min(also).clone()))
        });
        let allow = allow.collect();
        let models = match (&self.models, &other.models) {
            (Some(a), Some(b)) => Some(a.intersection(b).cloned().collect()),
            (one, None) | (None, one) => one.clone(),
        };
        let joined = |a: &[String], b: &[String]| {
            a.iter().chain(b).cloned().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
        };
        let waiting: BTreeSet<Loosening> = self.waiting.iter().chain(&other.waiting).cloned().collect();
        Mandate {
            deny,
            allow,
            budget: both(&self.budget, &other.budget),
            models,
            wrong: joined(&self.wrong, &other.wrong),
            waiting: waiting.into_iter().collect(),
        }
    }

    /// Returns whether it says nothing at all.
    pub fn is_empty(&self) -> bool {
        *self == Mandate::default()
    }

    /// Adds what one heading says, from the outermost to the innermost.
    pub fn take(&mut self, said: &Said<'_>, ground: &Ground<'_>) {
        let Ground { toolbox, confirmed, local } = ground;
        let place = format!("{}: {}", said.file, said.called());
        let value = said.value.trim();
        let name = said.name.to_ascii_uppercase();
        let loosening = || Loosening {
            file: said.file.to_string(),
            heading: said.heading.to_string(),
            name: name.clone(),
            value: value.to_string(),
        };
        match name.as_str() {
            "PP_DENY" => {
                for tool in self.tools(said, &place, &name, toolbox) {
                    self.allow.remove(&tool);
                    self.deny.entry(tool).or_insert_with(|| said.called());
                }
            }
            "PP_ALLOW" => {
                let tools = self.tools(said, &place, &name, toolbox);
                let loosening = loosening();
                if !confirmed(&loosening) {
                    return self.waiting.push(loosening);
                }
                let more: Vec<String> = tools.into_iter().filter(|tool| !self.deny.contains_key(tool)).collect();
                self.allow.extend(more.into_iter().map(|tool| (tool, loosening.id())));
            }
            "PP_BUDGET" => match value.parse::<u64>() {
                Ok(tokens) => {
                    let loosens = self.budget.is_some_and(|above| tokens > above);
                    let loosening = loosening();
                    if !loosens || confirmed(&loosening) {
                        self.budget = Some(tokens);
                    } else {
                        self.waiting.push(loosening);
                    }
                }
                Err(_) => {
                    let not = said.quoted(value);
                    self.wrong.push(format!("{place}: PP_BUDGET is a whole number of tokens, not “{not}”"));
                }
            },
            "PP_MODEL" => {
                let models: BTreeSet<String> = words(value).map(str::to_ascii_lowercase).collect();
                if models.is_empty() {
                    return self.wrong.push(format!("{place}: PP_MODEL names no provider"));
                }
                // Where something local could answer, going elsewhere alone loosens.
                let near = |models: &BTreeSet<String>| models.iter().any(|model| local.contains(model));
                let above = self.models.as_ref().unwrap_or(local);
                let leaves = near(above) && !near(&models);
                let loosens = leaves || self.models.as_ref().is_some_and(|above| !models.is_subset(above));
                let loosening = loosening();
                match loosens && !confirmed(&loosening) {
                    true => self.waiting.push(loosening),
                    false => self.models = Some(models),
                }
            }
            // How private a heading is, memory knows.
            _ => {}
        }
    }

    /// Adds what a heading said until its line was taken away, which the user did not confirm. It never loosens: where the
    /// line itself would have to be confirmed and was not, it counts as little as before.
    pub fn take_held(&mut self, said: &Said<'_>, ground: &Ground<'_>) {
        let (waiting, denied) = (self.waiting.len(), self.deny.clone());
        self.take(said, ground);
        self.waiting.truncate(waiting);
        for (_, who) in self.deny.iter_mut().filter(|(tool, _)| !denied.contains_key(*tool)) {
            *who = format!(
                "{}, by a line that was taken away from it and counts until you let it go (M-x passepartout-rules),",
                said.called()
            );
        }
    }

    /// Returns whether it holds back as another one does: what waits and what is wrong is not compared.
    pub fn holds_as(&self, other: &Mandate) -> bool {
        self.deny.keys().eq(other.deny.keys())
            && (&self.allow, &self.budget, &self.models) == (&other.allow, &other.budget, &other.models)
    }

    /// Reads names of tools; `*` stands for all but those that only speak to the user.
    fn tools(&mut self, said: &Said<'_>, place: &str, name: &str, toolbox: &Toolbox) -> Vec<String> {
        let mut tools = Vec::new();
        for word in words(said.value) {
            if word == "*" && name == "PP_DENY" {
                let others = toolbox.all().filter(|tool| tool.effect != crate::domain::tool::Effect::Reply);
                tools.extend(others.map(|tool| tool.name.to_string()));
                continue;
            }
            match Toolbox::named(word) {
                Named::Builtin(tool) => tools.push(tool.name.to_string()),
                Named::Own(tool) => tools.push(tool),
                Named::Nothing => {
                    self.wrong.push(format!("{place}: {name} names no tool with “{}”", said.quoted(word)));
                }
            }
        }
        tools
    }
}

fn words(value: &str) -> impl Iterator<Item = &str> {
    value.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty())
}

/// What a property is read against.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// The tools.
    pub toolbox: &'a Toolbox,
    /// Whether the user confirmed exactly this.
    pub confirmed: &'a dyn Fn(&Loosening) -> bool,
    /// The local providers that are set up, in lower case.
    pub local: &'a BTreeSet<String>,
}

/// One property of one heading.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// The file, canonical.
    pub file: &'a str,
    /// The heading, by its id.
    pub heading: &'a str,
    /// Its title, for people; `None` where it is more private than whoever hears of it may know.
    pub title: Option<&'a str>,
    /// The property.
    pub name: &'a str,
    /// Its value.
    pub value: &'a str,
}

impl Said<'_> {
    /// Returns what its heading is called to whoever hears of it.
    pub fn called(&self) -> String {
        self.title.map_or_else(|| UNNAMED.to_string(), |title| format!("the heading “{title}”"))
    }

    /// Returns words of its value; of a heading that has no name here they are as private as that.
    fn quoted<'v>(&self, words: &'v str) -> &'v str {
        self.title.map_or("…", |_| words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mandate(said: &[(&str, &str)], yes: bool) -> Mandate {
        let mut mandate = Mandate::default();
        for (name, value) in said {
            let said = Said { file: "/m/a.org", heading: "id", title: Some("Work"), name, value };
            let local = BTreeSet::from(["near".to_string()]);
            let ground = Ground { toolbox: &Toolbox::builtin(), confirmed: &|_| yes, local: &local };
            mandate.take(&said, &ground);
        }
        mandate
    }

    #[test]
    fn what_tightens_counts_at_once_and_what_loosens_waits() {
        let tight = mandate(&[("PP_DENY", "shell, write-file"), ("pp_budget", "500"), ("PP_PRIVACY", "block")], false);
        assert_eq!(tight.deny.keys().collect::<Vec<_>>(), ["shell", "write-file"]);
        assert_eq!((tight.budget, tight.waiting.len()), (Some(500), 0));
        for (name, values) in [("PP_BUDGET", ["500", "900"]), ("PP_MODEL", ["near", "near far"])] {
            let said = values.map(|value| (name, value));
            let (no, yes) = (mandate(&said, false), mandate(&said, true));
            assert_eq!((no.waiting.len(), yes.waiting.len()), (1, 0), "{name}");
            assert_ne!(no, yes);
        }
        let (no, yes) = (mandate(&[("PP_ALLOW", "write-file")], false), mandate(&[("PP_ALLOW", "write-file")], true));
        assert_eq!((no.allow.len(), no.waiting.len(), yes.allow.len()), (0, 1, 1));
        let (no, yes) = (mandate(&[("PP_MODEL", "far")], false), mandate(&[("PP_MODEL", "far")], true));
        assert_eq!((no.models, yes.models.map(|models| models.len())), (None, Some(1)));
        assert_eq!(mandate(&[("PP_MODEL", "near")], false).waiting, []);
        // A denial stands, wherever it stands.
        for said in [[("PP_DENY", "shell"), ("PP_ALLOW", "shell")], [("PP_ALLOW", "shell"), ("PP_DENY", "shell")]] {
            let both = mandate(&said, true);
            assert!(both.allow.is_empty() && both.deny.contains_key("shell"));
        }
        let all = mandate(&[("PP_DENY", "*")], false);
        assert!(all.deny.contains_key("memory-read") && !all.deny.contains_key("message"));
        assert_eq!(mandate(&[("PP_ALLOW", "*")], true).allow.len(), 0);
        let wrong = mandate(&[("PP_DENY", "shel"), ("PP_BUDGET", "much"), ("PP_MODEL", " ")], true);
        assert_eq!(wrong.wrong.len(), 3, "{wrong:?}");
    }

    #[test]
    fn a_heading_without_a_name_is_told_without_its_words() {
        let mut hidden = Mandate::default();
        let (toolbox, local) = (Toolbox::builtin(), BTreeSet::new());
        let ground = Ground { toolbox: &toolbox, confirmed: &|_| false, local: &local };
        for (name, value) in [("PP_DENY", "shell clinic"), ("PP_BUDGET", "clinic"), ("PP_MODEL", "")] {
            hidden.take(&Said { file: "/m/a.org", heading: "id", title: None, name, value }, &ground);
        }
        assert_eq!(hidden.deny.get("shell").map(String::as_str), Some(UNNAMED));
        assert!(hidden.wrong.len() == 3 && !format!("{:?}", hidden.wrong).contains("clinic"), "{:?}", hidden.wrong);
        let held = Said { file: "/m/a.org", heading: "id", title: None, name: "PP_DENY", value: "grep" };
        hidden.take_held(&held, &ground);
        assert!(hidden.deny["grep"].starts_with("the private heading there, by a line"), "{:?}", hidden.deny);
        // Where one that may be named says the same, it is named.
        let both = hidden.intersection(&mandate(&[("PP_DENY", "shell")], false));
        assert_eq!(both.deny["shell"], "the heading “Work”");
    }

    fn any_mandate() -> impl Strategy<Value = Mandate> {
        let said = prop_oneof![
            ("(PP_DENY|PP_ALLOW)", "(shell|write-file|read-file|message)( org-set-todo)?"),
            ("PP_BUDGET", "[1-9]{1,3}"),
            ("PP_MODEL", "(a|b|c)( d)?"),
            ("PP_PRIVACY", "(open|block)"),
        ];
        (proptest::collection::vec(said, 0..6), any::<bool>()).prop_map(|(said, yes)| {
            let said: Vec<(&str, &str)> = said.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            mandate(&said, yes)
        })
    }

    /// Returns whether a mandate lets through nothing that another does not.
    fn no_looser(one: &Mandate, other: &Mandate) -> bool {
        let budget = match (one.budget, other.budget) {
            (Some(one), Some(other)) => one <= other,
            (None, Some(_)) => false,
            (_, None) => true,
        };
        let models = match (&one.models, &other.models) {
            (Some(one), Some(other)) => one.is_subset(other),
            (None, Some(_)) => false,
            (_, None) => true,
        };
        other.deny.keys().all(|tool| one.deny.contains_key(tool))
            && one.allow.keys().all(|tool| other.allow.contains_key(tool))
            && budget
            && models
    }

    proptest! {
        #[test]
        fn an_intersection_is_never_looser_than_either(a in any_mandate(), b in any_mandate(), c in any_mandate()) {
            let both = a.intersection(&b);
            prop_assert!(no_looser(&both, &a) && no_looser(&both, &b), "{both:?}");
            prop_assert_eq!(&both, &b.intersection(&a));
            prop_assert_eq!(both.intersection(&c).allow, a.intersection(&b.intersection(&c)).allow);
            prop_assert!(no_looser(&a.intersection(&a), &a) && no_looser(&a, &a.intersection(&a)));
        }
    }
}
