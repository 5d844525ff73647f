//! Which providers a request may go to, and in which order: privacy first, then what kind of work it is.
//!
//! A pure function of what is asked and of how providers stand: the same always comes of the same, and says why.

use crate::domain::port::{Locality, ProviderError, ProviderErrorKind};
use crate::domain::work::Work;
use std::collections::{BTreeMap, BTreeSet};

/// Of a question so many bytes are looked at to find its slot.
const LOOKED_AT: usize = 16 * 1024;

/// A kind of work; each may have a cascade of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// Programs: reading, writing and mending them.
    Code,
    /// What to do when.
    Plan,
    /// Everything else that a human asks.
    Chat,
    /// Whatever nobody waits for.
    Background,
}

impl Slot {
    /// All slots.
    pub const ALL: [Slot; 4] = [Slot::Code, Slot::Plan, Slot::Chat, Slot::Background];

    /// Returns the word that settings use.
    pub fn name(self) -> &'static str {
        match self {
            Slot::Code => "code",
            Slot::Plan => "plan",
            Slot::Chat => "chat",
            Slot::Background => "background",
        }
    }

    /// Reads that word.
    pub fn parse(word: &str) -> Option<Slot> {
        Slot::ALL.into_iter().find(|slot| slot.name() == word)
    }
}

/// The cascades, by names of providers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cascades {
    /// The one for every slot without its own.
    pub usual: Vec<String>,
    /// Those of slots.
    pub slots: BTreeMap<Slot, Vec<String>>,
}

impl Cascades {
    /// Returns the names of a slot, and whether they are its own.
    pub fn of(&self, slot: Slot) -> (&[String], bool) {
        match self.slots.get(&slot).filter(|names| !names.is_empty()) {
            Some(names) => (names, true),
            None => (&self.usual, false),
        }
    }

    /// Returns every name of them, once.
    pub fn names(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let all = self.usual.iter().chain(self.slots.values().flatten());
        all.filter(|name| seen.insert(name.as_str())).cloned().collect()
    }
}

/// Why something is private.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// The conversation drew on a private note.
    Conversation,
    /// The heading at point is private.
    Focus,
    /// Something is that who asks may not know of.
    Unsaid,
}

impl Ground {
    /// Returns it for who may be told of private headings, or may not: then it is not said that point is in one.
    pub fn told(self, sees_private: bool) -> Ground {
        match self {
            Ground::Focus if !sees_private => Ground::Unsaid,
            told => told,
        }
    }

    /// Returns why a provider elsewhere is not asked, and the way out.
    fn words(self) -> &'static str {
        match self {
            Ground::Conversation => {
                "the conversation holds private notes, which never leave this machine; ask again in a new chat, or use \
                 a model that runs here"
            }
            Ground::Unsaid => "nothing may leave this machine just now; ask again later, or use a model that runs here",
            Ground::Focus => {
                "the heading at point is private, and nothing about it leaves this machine; ask again with point \
                 elsewhere, or use a model that runs here"
            }
        }
    }
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Whether a human waits for it.
    pub work: Work,
    /// What the user typed.
    pub text: &'a str,
    /// Whether nothing of it may leave, and why.
    pub private: Option<Ground>,
    /// The only providers that the headings above let be asked, in lower case; the built-in one is no model.
    pub models: Option<&'a BTreeSet<String>>,
}

impl<'a> Asked<'a> {
    /// What a human asks with these words.
    pub fn question(text: &'a str, private: Option<Ground>, models: Option<&'a BTreeSet<String>>) -> Asked<'a> {
        Asked { work: Work::Foreground, text, private, models }
    }
}

/// A provider that is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where it runs.
    pub locality: Locality,
    /// Whether it failed lately.
    pub demoted: bool,
}

/// Who is asked, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Its quadrant.
    pub work: Work,
    /// The slot.
    pub slot: Slot,
    /// The rule that chose the slot, in words.
    pub rule: &'static str,
    /// Whether the slot has a cascade of its own.
    pub own: bool,
    /// Who may be asked, in order.
    pub order: Vec<String>,
    /// Those of them that failed lately.
    pub demoted: Vec<String>,
    /// Those of the cascade that are not asked, each with why and the way out.
    pub left: Vec<(String, &'static str)>,
    /// What the user's own function had to do with the order, in words; `None` when it was not asked.
    pub own_choice: Option<String>,
    /// Whether it chose: then its order is the order, whoever failed lately.
    pub chosen: bool,
}

/// Says why a provider is not asked because of PP_MODEL.
const NARROWED: &str = "a heading above names other models (PP_MODEL)";

/// How the user's own function is called.
const CHOOSER: &str = "passepartout-select-model-function";
/// Says why a provider is not asked because of it.
const PASSED_OVER: &str = "passepartout-select-model-function passed it over";
/// Says why nobody is asked because of it.
const SKIPPED: &str = "passepartout-select-model-function skipped this request";

/// Chooses providers. First what is private is kept from whoever is elsewhere; then the slot's own cascade, or the
/// usual one, gives the order.
pub fn route(asked: &Asked<'_>, candidates: &[Candidate<'_>], cascades: &Cascades) -> Route {
    let may = |candidate: &Candidate<'_>| match (candidate.locality, asked.private) {
        (Locality::Builtin, _) => Ok(()),
        (Locality::Remote, Some(ground)) => Err(ground.words()),
        (Locality::Local, _) | (Locality::Remote, None) => {
            let named = asked.models.is_none_or(|models| models.contains(&candidate.name.to_ascii_lowercase()));
            if named { Ok(()) } else { Err(NARROWED) }
        }
    };
    let (slot, rule) = slot(asked.work, asked.text);
    let (names, own) = cascades.of(slot);
    let (mut order, mut demoted, mut left) = (Vec::new(), Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for name in names.iter().filter(|name| seen.insert(name.as_str())) {
        // Who is not set up is told of where the cascade is set up.
        let Some(candidate) = candidates.iter().find(|candidate| candidate.name == name) else { continue };
        match may(candidate) {
            Ok(()) => {
                order.push(name.clone());
                demoted.extend(candidate.demoted.then(|| name.clone()));
            }
            Err(why) => left.push((name.clone(), why)),
        }
    }
    Route { work: asked.work, slot, rule, own, order, demoted, left, own_choice: None, chosen: false }
}

impl Route {
    /// Returns those who are not asked, as failures without an attempt.
    pub fn refused(&self) -> impl Iterator<Item = ProviderError> + '_ {
        self.left.iter().map(|(name, why)| {
            ProviderError::new(name.as_str(), ProviderErrorKind::Refused, format!("not asked: {why}"))
        })
    }

    /// Narrows it to those whom the user's own function named, in its order. It chooses among those who may be asked, and
    /// nobody else; where it names none of them, all stay.
    pub fn choose(&mut self, names: &[String]) {
        let mut order: Vec<String> = Vec::new();
        for name in names.iter().filter(|name| self.order.contains(name)) {
            if !order.contains(name) {
                order.push(name.clone());
            }
        }
        let others = names.iter().filter(|name| !self.order.contains(name)).count();
        let beside = match others {
            0 => String::new(),
            _ => "; whom else it named may not be asked".to_string(),
        };
        if order.is_empty() {
            self.own_choice = Some(format!("{CHOOSER} chose nobody, so the order stays{beside}"));
            return;
        }
        let passed = self.order.iter().filter(|name| !order.contains(name));
        self.left.extend(passed.map(|name| (name.clone(), PASSED_OVER)));
        self.demoted.clear();
        (self.order, self.chosen) = (order, true);
        self.own_choice = Some(format!("{CHOOSER} chose{beside}"));
    }

    /// Lets nobody be asked, as the user's own function wants it.
    pub fn skip(&mut self) {
        self.left.extend(self.order.drain(..).map(|name| (name, SKIPPED)));
        self.demoted.clear();
        self.chosen = true;
        self.own_choice = Some(SKIPPED.to_string());
    }

    /// Takes out one whom the user's own function named with a model that cannot be asked there.
    pub fn take_out(&mut self, name: &str, why: &'static str) {
        if let Some(at) = self.order.iter().position(|known| known == name) {
            self.left.push((self.order.remove(at), why));
        }
    }

    /// Notes why the user's own function did not choose: the order stays.
    pub fn unchosen(&mut self, why: &str) {
        self.own_choice = Some(format!("{CHOOSER} did not choose, so the order stays: {why}"));
    }

    /// Returns it in a line, for the trace.
    pub fn words(&self) -> String {
        let whose = if self.own { "its own cascade" } else { "the usual cascade" };
        let order = match self.order.as_slice() {
            [] => "nobody may be asked".to_string(),
            order => order.join(", "),
        };
        let what = match self.work {
            Work::Foreground => format!("{}, {}", self.work.name(), self.slot.name()),
            // There it has one slot.
            Work::Background => self.work.name().to_string(),
        };
        let mut words = format!("{what}, as {}; {whose}: {order}", self.rule);
        if !self.demoted.is_empty() {
            words.push_str(&format!("; behind the others, as they failed lately: {}", self.demoted.join(", ")));
        }
        if let Some(said) = &self.own_choice {
            words.push_str(&format!("; {said}"));
        }
        for (name, why) in &self.left {
            words.push_str(&format!("; not {name}: {why}"));
        }
        words
    }
}

/// Returns the slot of what is asked, and the rule that says so.
fn slot(work: Work, text: &str) -> (Slot, &'static str) {
    if work == Work::Background {
        return (Slot::Background, "nobody waits for it");
    }
    let end = (0..=text.len().min(LOOKED_AT)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let text = text.get(..end).unwrap_or("").to_lowercase();
    if text.contains("```") || text.contains("#+begin_src") {
        return (Slot::Code, "the question holds a block of code");
    }
    if text.split_whitespace().any(names_program) {
        return (Slot::Code, "the question names a file of a program");
    }
    let words: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    if CODE.iter().any(|word| words.contains(word)) {
        return (Slot::Code, "the question has a word of programming");
    }
    if PLAN.iter().any(|word| words.contains(word)) {
        return (Slot::Plan, "the question has a word of planning");
    }
    (Slot::Chat, "no other rule fits")
}

/// Words of programming.
const CODE: &[&str] = &[
    "bug",
    "bugs",
    "compile",
    "compiler",
    "compiles",
    "debug",
    "elisp",
    "function",
    "functions",
    "git",
    "html",
    "javascript",
    "lisp",
    "python",
    "refactor",
    "regex",
    "rust",
    "script",
    "sql",
    "stacktrace",
    "traceback",
    "typescript",
    "unittest",
];
/// Words of planning.
const PLAN: &[&str] = &[
    "agenda",
    "appointment",
    "appointments",
    "deadline",
    "deadlines",
    "milestone",
    "milestones",
    "plan",
    "planning",
    "plans",
    "postpone",
    "priorities",
    "prioritise",
    "prioritize",
    "priority",
    "reschedule",
    "schedule",
    "scheduled",
    "todo",
    "todos",
    "tomorrow",
];
/// What names of files of programs end with.
const PROGRAMS: &[&str] = &[
    "c", "cc", "cpp", "cs", "css", "el", "go", "h", "hs", "java", "js", "kt", "lua", "nix", "php", "pl", "py", "rb",
    "rs", "scala", "sh", "sql", "swift", "ts", "tsx", "zig",
];

/// Tells whether a word in lower case is the name of a file of a program.
fn names_program(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    // “e.g.” and “i.e.” are no files, and neither is “3.c”.
    word.rsplit_once('.').is_some_and(|(stem, end)| {
        stem.chars().filter(|c| c.is_alphabetic()).count() > 1 && !stem.contains("://") && PROGRAMS.contains(&end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_question_has_the_slot_that_its_first_rule_says() {
        for (work, text, expected) in [
            (Work::Foreground, "What about the boiler?", Slot::Chat),
            (Work::Foreground, "", Slot::Chat),
            (Work::Foreground, "e.g. the boiler, i.e. 3.c", Slot::Chat),
            (Work::Foreground, "Why does src/main.rs not build?", Slot::Code),
            (Work::Foreground, "see (init.el), please", Slot::Code),
            (Work::Foreground, "https://c.rs is what?", Slot::Chat),
            (Work::Foreground, "```\nx\n```", Slot::Code),
            (Work::Foreground, "#+BEGIN_SRC x", Slot::Code),
            (Work::Foreground, "Refactor this PLAN", Slot::Code),
            (Work::Foreground, "What is my agenda?", Slot::Plan),
            (Work::Foreground, "Plan: the week.", Slot::Plan),
            (Work::Foreground, "planetary gitter", Slot::Chat),
            (Work::Foreground, "deadlines?", Slot::Plan),
            (Work::Background, "refactor the plan", Slot::Background),
            (Work::Background, "", Slot::Background),
        ] {
            assert_eq!(slot(work, text).0, expected, "{text:?}");
        }
        // What lies further behind is not looked at, and no letter is cut.
        assert_eq!(slot(Work::Foreground, &("ü".repeat(LOOKED_AT) + " refactor")).0, Slot::Chat);
        for slot in Slot::ALL {
            assert_eq!(Slot::parse(slot.name()), Some(slot));
        }
        assert_eq!(Slot::parse("Code"), None);
    }

    #[test]
    fn the_trace_says_who_is_asked_by_which_rule_and_who_is_not() {
        let candidate = |name, locality, demoted| Candidate { name, locality, demoted };
        let candidates = [
            candidate("far", Locality::Remote, false),
            candidate("near", Locality::Local, true),
            candidate("recall", Locality::Builtin, false),
        ];
        let list = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let cascades = Cascades {
            usual: list(&["far", "gone", "near", "recall"]),
            slots: [(Slot::Code, list(&["far"])), (Slot::Plan, Vec::new())].into(),
        };
        let models: BTreeSet<String> = ["far".to_string()].into();
        let told_of =
            |work, text, private, models| route(&Asked { work, text, private, models }, &candidates, &cascades).words();
        let told = |text, private, models| told_of(Work::Foreground, text, private, models);
        let all = [
            told("boiler", None, None),
            told("fix the bug", None, None),
            told("agenda", Some(Ground::Focus), None),
            told("fix the bug", Some(Ground::Conversation), None),
            told("agenda", Some(Ground::Focus.told(false)), None),
            told("boiler", None, Some(&models)),
            told_of(Work::Background, "fix the bug", None, None),
        ];
        insta::assert_snapshot!(all.join("\n"), @r"
        foreground, chat, as no other rule fits; the usual cascade: far, near, recall; behind the others, as they failed lately: near
        foreground, code, as the question has a word of programming; its own cascade: far
        foreground, plan, as the question has a word of planning; the usual cascade: near, recall; behind the others, as they failed lately: near; not far: the heading at point is private, and nothing about it leaves this machine; ask again with point elsewhere, or use a model that runs here
        foreground, code, as the question has a word of programming; its own cascade: nobody may be asked; not far: the conversation holds private notes, which never leave this machine; ask again in a new chat, or use a model that runs here
        foreground, plan, as the question has a word of planning; the usual cascade: near, recall; behind the others, as they failed lately: near; not far: nothing may leave this machine just now; ask again later, or use a model that runs here
        foreground, chat, as no other rule fits; the usual cascade: far, recall; not near: a heading above names other models (PP_MODEL)
        background, as nobody waits for it; the usual cascade: far, near, recall; behind the others, as they failed lately: near
        ");
    }

    #[test]
    fn the_users_own_function_chooses_among_those_who_may_be_asked_and_nobody_else() {
        let list = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let candidates =
            ["a", "b", "c"].map(|name| Candidate { name, locality: Locality::Remote, demoted: name == "b" });
        let cascades = Cascades { usual: list(&["a", "b", "c"]), slots: BTreeMap::new() };
        let chosen = |names: &[&str]| {
            let mut route = route(&Asked::question("boiler", None, None), &candidates, &cascades);
            route.choose(&list(names));
            route.words()
        };
        let mut late = route(&Asked::question("boiler", None, None), &candidates, &cascades);
        late.unchosen("it was busy");
        let mut skipped = route(&Asked::question("boiler", None, None), &candidates, &cascades);
        skipped.skip();
        assert!(skipped.order.is_empty() && skipped.refused().count() == 3);
        let all =
            [chosen(&["c", "a", "c"]), chosen(&["b", "x"]), chosen(&[]), chosen(&["x"]), late.words(), skipped.words()];
        insta::assert_snapshot!(all.join("\n"), @r"
        foreground, chat, as no other rule fits; the usual cascade: c, a; passepartout-select-model-function chose; not b: passepartout-select-model-function passed it over
        foreground, chat, as no other rule fits; the usual cascade: b; passepartout-select-model-function chose; whom else it named may not be asked; not a: passepartout-select-model-function passed it over; not c: passepartout-select-model-function passed it over
        foreground, chat, as no other rule fits; the usual cascade: a, b, c; behind the others, as they failed lately: b; passepartout-select-model-function chose nobody, so the order stays
        foreground, chat, as no other rule fits; the usual cascade: a, b, c; behind the others, as they failed lately: b; passepartout-select-model-function chose nobody, so the order stays; whom else it named may not be asked
        foreground, chat, as no other rule fits; the usual cascade: a, b, c; behind the others, as they failed lately: b; passepartout-select-model-function did not choose, so the order stays: it was busy
        foreground, chat, as no other rule fits; the usual cascade: nobody may be asked; passepartout-select-model-function skipped this request; not a: passepartout-select-model-function skipped this request; not b: passepartout-select-model-function skipped this request; not c: passepartout-select-model-function skipped this request
        ");
    }

    fn names() -> impl Strategy<Value = Vec<String>> {
        proptest::collection::vec("[a-hA-H]", 0..8)
    }

    fn locality() -> impl Strategy<Value = Locality> {
        prop_oneof![Just(Locality::Builtin), Just(Locality::Local), Just(Locality::Remote)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn no_input_routes_private_text_to_a_provider_elsewhere(
            text in prop_oneof![any::<String>(), "(agenda|refactor|x\\.rs|boiler| ){0,6}"],
            background in any::<bool>(),
            private in prop_oneof![Just(None), Just(Some(Ground::Conversation)), Just(Some(Ground::Focus)), Just(Some(Ground::Unsaid))],
            localities in proptest::collection::vec((locality(), any::<bool>()), 0..16),
            usual in names(),
            slots in proptest::collection::vec((0..4_usize, names()), 0..4),
            models in proptest::option::of(proptest::collection::btree_set("[a-h]", 0..4)),
        ) {
            let set = ["a", "b", "c", "d", "e", "f", "g", "h", "A", "B", "C", "D", "E", "F", "G", "H"];
            let candidates: Vec<Candidate<'_>> = set.iter().zip(&localities)
                .map(|(name, (locality, demoted))| Candidate { name, locality: *locality, demoted: *demoted })
                .collect();
            let slots = slots.into_iter().map(|(slot, names)| (Slot::ALL[slot], names)).collect();
            let cascades = Cascades { usual, slots };
            let work = if background { Work::Background } else { Work::Foreground };
            let asked = Asked { work, text: &text, private, models: models.as_ref() };
            let chosen = route(&asked, &candidates, &cascades);
            let of = |name: &String| candidates.iter().find(|candidate| candidate.name == name).expect("it is set up");
            for name in &chosen.order {
                prop_assert!(private.is_none() || of(name).locality != Locality::Remote, "{chosen:?}");
                let named = models.as_ref().is_none_or(|models| models.contains(&name.to_ascii_lowercase()));
                prop_assert!(named || of(name).locality == Locality::Builtin, "{chosen:?}");
            }
            // Whoever stands in the cascade and is set up is asked, or it is said why not; nobody stands twice.
            let own = cascades.slots.get(&chosen.slot).filter(|names| !names.is_empty());
            let listed: BTreeSet<&String> = own.unwrap_or(&cascades.usual).iter()
                .filter(|name| candidates.iter().any(|candidate| candidate.name == name.as_str())).collect();
            let told: Vec<&String> = chosen.order.iter().chain(chosen.left.iter().map(|(name, _)| name)).collect();
            prop_assert_eq!(told.len(), listed.len());
            prop_assert_eq!(told.into_iter().collect::<BTreeSet<_>>(), listed);
            prop_assert_eq!(&route(&asked, &candidates, &cascades), &chosen);
        }
    }
}
