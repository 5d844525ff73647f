//! Several models asked at once: what each proposes, in one form so that it can be compared, and whose is followed.
//!
//! It authorises nothing: what is followed is a proposal like any other, and goes through the same gates.

use crate::domain::port::{Call, Completion, Ended};
use crate::domain::turn::proposal;
use serde_json::{Map, Value};

/// The most models that are asked at once.
pub const MOST: usize = 8;
/// Values that are nested deeper are compared as they are written.
const DEEPEST: usize = 64;
/// Of an act, and of words, at most so many characters are shown.
const SHOWN: usize = 400;
/// Of the acts of one model at most so many are shown.
const ACTS: usize = 20;

/// What several models are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// What to do: what most of them propose is followed.
    Consensus,
    /// Answers, to stand side by side. Each looks up what it likes, and changes nothing.
    Fork,
}

impl Mode {
    /// Returns the word that commands, the store and the wire use.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Consensus => "consensus",
            Mode::Fork => "fork",
        }
    }

    /// Reads that word.
    pub fn parse(word: &str) -> Option<Mode> {
        [Mode::Consensus, Mode::Fork].into_iter().find(|mode| mode.name() == word)
    }
}

/// That several models are asked, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Together {
    /// What for.
    pub mode: Mode,
    /// How many; from 1 to [`MOST`].
    pub count: usize,
}

impl Together {
    /// Returns it, with a number that is neither nothing nor too much.
    pub fn new(mode: Mode, count: usize) -> Together {
        Together { mode, count: count.clamp(1, MOST) }
    }

    /// Reads `/consensus N QUESTION` or `/fork N QUESTION`; `None` when the text is neither.
    ///
    /// # Errors
    /// When it is one of these and cannot be asked; with the way out.
    pub fn typed(text: &str) -> Option<Result<(Together, &str), String>> {
        let rest = text.trim().strip_prefix('/')?;
        let (word, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let mode = Mode::parse(word)?;
        let (number, question) = rest.trim_start().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
        let usage = format!("write /{word} 3 and then your question: 3 is how many models are asked, from 1 to {MOST}");
        let question = question.trim();
        Some(match number.parse::<usize>() {
            Ok(count) if !(1..=MOST).contains(&count) => Err(format!("from 1 to {MOST} models can be asked; {usage}")),
            Ok(_) if question.is_empty() => Err(format!("there is no question; {usage}")),
            Ok(_) if question.starts_with('/') => Err(format!("a command is no question; {usage}")),
            Ok(count) => Ok((Together::new(mode, count), question)),
            Err(_) => Err(usage),
        })
    }
}

/// An act as it is compared: two that are the same are written the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Act {
    /// The tool.
    tool: String,
    /// Its arguments as JSON, their names sorted; without the explanation, which every model words in its own way.
    args: String,
}

impl Act {
    /// Brings a call into that form.
    pub fn of(call: &Call) -> Act {
        let stays = |(name, value): &(&String, &Value)| name.as_str() != "explanation" && !value.is_null();
        let args = call.args.iter().filter(stays).map(|(name, value)| (name.clone(), value.clone()));
        let mut written = String::new();
        write(&Value::Object(args.collect::<Map<String, Value>>()), DEEPEST, &mut written);
        Act { tool: call.tool.trim().to_string(), args: written }
    }

    /// Returns it in a line for people: `masked` takes secrets out of each of its texts, and then it is clipped, as half
    /// of a secret is known to nobody.
    pub fn line(&self, masked: &dyn Fn(&str) -> String) -> String {
        let args = match serde_json::from_str(&self.args) {
            Ok(args) => {
                let mut written = String::new();
                write(&texts_masked(args, DEEPEST, masked), DEEPEST, &mut written);
                written
            }
            // What cannot be read again is shown with nothing taken for granted.
            Err(_) => masked(&self.args),
        };
        clipped(masked(&format!("{} {args}", self.tool)))
    }
}

fn clipped(line: String) -> String {
    match line.char_indices().nth(SHOWN) {
        None => line,
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or("")),
    }
}

/// Takes secrets out of every text in a value, also of names. What is nested deeper than that is masked as it is written.
fn texts_masked(value: Value, depth: usize, masked: &dyn Fn(&str) -> String) -> Value {
    let Some(deeper) = depth.checked_sub(1) else { return Value::String(masked(&value.to_string())) };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
        Value::String(text) => Value::String(masked(&text)),
        Value::Array(items) => items.into_iter().map(|item| texts_masked(item, deeper, masked)).collect(),
        Value::Object(map) => {
            map.into_iter().map(|(name, item)| (masked(&name), texts_masked(item, deeper, masked))).collect()
        }
    }
}

/// Writes a value as JSON, the names in objects sorted.
fn write(value: &Value, depth: usize, out: &mut String) {
    let Some(deeper) = depth.checked_sub(1) else { return out.push_str(&value.to_string()) };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => out.push_str(&value.to_string()),
        Value::Array(items) => {
            out.push('[');
            for (n, item) in items.iter().enumerate() {
                out.push_str(if n == 0 { "" } else { "," });
                write(item, deeper, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(name, _)| name.as_str());
            out.push('{');
            for (n, (name, item)) in entries.into_iter().enumerate() {
                out.push_str(if n == 0 { "" } else { "," });
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write(item, deeper, out);
            }
            out.push('}');
        }
    }
}

/// What one of the models is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Vote {
    /// These acts, sorted; what is wanted twice stands there twice.
    Acts(Vec<Act>),
    /// An answer in words. All answers in words are one: that nothing is to be done.
    Words,
    /// It has none, and why.
    None(String),
}

impl Vote {
    /// Returns what an answer is for that is not whole.
    pub fn cut(ended: Ended) -> Option<Vote> {
        let why = match ended {
            Ended::Whole => return None,
            Ended::Limit => "its answer was cut off by its limit of tokens",
            Ended::Filtered => "its answer was cut off by its content filter",
        };
        Some(Vote::None(why.to_string()))
    }

    /// Returns what a completion is for.
    pub fn of(completion: &Completion) -> Vote {
        if let Some(cut) = Vote::cut(completion.ended) {
            return cut;
        }
        if !completion.unreadable.is_empty() {
            return Vote::None("it proposed a call that cannot be read".to_string());
        }
        match proposal::parse(completion) {
            Err(_) => Vote::None("what it proposed cannot be read".to_string()),
            Ok((text, calls)) if calls.is_empty() => match text.trim().is_empty() {
                true => Vote::None("it said nothing".to_string()),
                false => Vote::Words,
            },
            Ok((_, calls)) => {
                let mut acts: Vec<Act> = calls.iter().map(Act::of).collect();
                acts.sort();
                Vote::Acts(acts)
            }
        }
    }

    fn is_cast(&self) -> bool {
        !matches!(self, Vote::None(_))
    }
}

/// Whom to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// Which of them, counted from 0.
    pub index: usize,
    /// How many are for the same.
    pub votes: usize,
    /// How many are for anything.
    pub cast: usize,
}

/// Returns whom to follow: the first of those that most agree with. Where as many are for one thing as for another, it
/// is the one that came first. `None` when nobody is for anything.
pub fn choose(votes: &[Vote]) -> Option<Followed> {
    let cast = votes.iter().filter(|vote| vote.is_cast()).count();
    let mut best: Option<Followed> = None;
    for (index, vote) in votes.iter().enumerate().filter(|(_, vote)| vote.is_cast()) {
        let agreeing = votes.iter().filter(|other| *other == vote).count();
        if best.is_none_or(|best| agreeing > best.votes) {
            best = Some(Followed { index, votes: agreeing, cast });
        }
    }
    best
}

/// Tells whether those who have not voted yet (`None`) can no longer change what is followed, whatever each is for.
pub fn is_decided(votes: &[Option<Vote>]) -> bool {
    if votes.iter().all(Option::is_some) {
        return true;
    }
    let followed = |late: &Vote| {
        let votes: Vec<Vote> = votes.iter().map(|vote| vote.as_ref().unwrap_or(late).clone()).collect();
        let index = choose(&votes)?.index;
        let vote = votes.get(index)?.clone();
        // Of acts that are the same it is the same whose they are; words are those of the one who said them.
        let whose = if vote == Vote::Words { index } else { 0 };
        Some((vote, whose))
    };
    // Nobody gains more than when all who are late agree with them: with something new, with nothing, or with one of
    // those who have voted.
    let anything = [Vote::Acts(Vec::new()), Vote::Words, Vote::None(String::new())];
    let mut ends = anything.iter().chain(votes.iter().flatten()).map(followed);
    let first = ends.next().flatten();
    first.is_some() && ends.all(|end| end == first)
}

/// What one model was for, as people are shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ballot {
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Its acts, its words, or why it has no vote, a line each; beside acts that are not followed, its words as well.
    pub lines: Vec<String>,
    /// How it voted: `acts`, `words` or `none`.
    pub kind: &'static str,
    /// Whether what was followed is what it was for.
    pub agrees: bool,
}

/// Who was asked, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voter {
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// What it is for.
    pub vote: Vote,
    /// What it said in words.
    pub said: String,
}

/// What came of asking several models once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// What they were asked for.
    pub mode: Mode,
    /// One for each that was asked, in their order.
    pub ballots: Vec<Ballot>,
    /// Which of them is followed.
    pub followed: Option<usize>,
}

impl Round {
    /// Makes it of who was asked; `masked` takes secrets out of what is shown.
    pub fn new(mode: Mode, voters: Vec<Voter>, followed: Option<usize>, masked: impl Fn(&str) -> String) -> Round {
        let chosen = followed.and_then(|index| voters.get(index)).map(|voter| voter.vote.clone());
        // Half of a secret is known to nobody: they are masked, and then clipped.
        let words = |said: &str| {
            let line = masked(said).split_whitespace().collect::<Vec<_>>().join(" ");
            (!line.is_empty()).then(|| clipped(line))
        };
        let ballot = |Voter { provider, model, vote, said }: Voter| {
            let agrees = vote.is_cast() && chosen.as_ref() == Some(&vote);
            let (kind, lines) = match vote {
                Vote::Acts(acts) => {
                    let mut lines: Vec<String> = acts.iter().take(ACTS).map(|act| act.line(&masked)).collect();
                    if let more @ 1.. = acts.len().saturating_sub(ACTS) {
                        lines.push(format!("… and {more} more"));
                    }
                    lines.extend(words(&said).filter(|_| !agrees));
                    ("acts", lines)
                }
                Vote::Words => ("words", words(&said).into_iter().collect()),
                Vote::None(why) => ("none", vec![masked(&why)]),
            };
            Ballot { provider, model, lines, kind, agrees }
        };
        Round { mode, ballots: voters.into_iter().map(ballot).collect(), followed }
    }

    /// Tells whether one of them was for something else than what is followed.
    pub fn is_divided(&self) -> bool {
        self.ballots.iter().any(|ballot| ballot.kind != "none" && !ballot.agrees)
    }

    /// Returns what the user is told of it in the chat, unless all went well.
    pub fn line(&self) -> Option<String> {
        let mut words = Vec::new();
        if self.is_divided() {
            let agreeing = self.ballots.iter().filter(|ballot| ballot.agrees).count();
            let cast = self.ballots.iter().filter(|ballot| ballot.kind != "none").count();
            words.push(format!(
                "The models disagree: {agreeing} of {cast} are for what is followed; M-x passepartout-gate-trace \
                 shows what each wanted."
            ));
        }
        let none = self.ballots.iter().filter(|ballot| ballot.kind == "none");
        words.extend(none.map(|ballot| {
            let what = if self.mode == Mode::Fork { "No answer" } else { "No vote" };
            format!("{what} of {}: {}.", ballot.provider, ballot.lines.concat().trim_end_matches(['.', '?', '!']))
        }));
        (!words.is_empty()).then(|| words.join("\n"))
    }
}

/// An answer beside the one that the conversation goes on from.
#[derive(Clone, Debug, PartialEq)]
pub struct Other {
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// What it said.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::label::Labels;
    use crate::domain::port::Thinking;
    use proptest::prelude::*;
    use serde_json::json;

    fn call(tool: &str, args: Value) -> Call {
        Call { id: String::new(), tool: tool.to_string(), args: args.as_object().cloned().expect("an object") }
    }

    fn says(text: &str, calls: Vec<Call>) -> Completion {
        Completion {
            provider: "p".to_string(),
            model: "m".to_string(),
            text: text.to_string(),
            ended: Ended::Whole,
            thinking: Thinking::default(),
            calls,
            unreadable: Vec::new(),
            labels: Labels::MODEL,
            usage: None,
            attempts: 1,
            sources: Vec::new(),
        }
    }

    fn vote(text: &str, calls: Vec<Call>) -> Vote {
        Vote::of(&says(text, calls))
    }

    #[test]
    fn what_is_typed_is_read_or_answered_with_the_way_out() {
        for (text, expected) in [
            ("/consensus 3 what is due?", Ok((Mode::Consensus, 3, "what is due?"))),
            (" /fork 2\nwhat\nis due? ", Ok((Mode::Fork, 2, "what\nis due?"))),
            ("/consensus 1 x", Ok((Mode::Consensus, 1, "x"))),
            ("/consensus 0 x", Err("from 1 to 8 models")),
            ("/fork 99999999999999999999999 x", Err("write /fork 3")),
            ("/fork 9 x", Err("from 1 to 8 models")),
            ("/consensus", Err("write /consensus 3")),
            ("/consensus what is due?", Err("write /consensus 3")),
            ("/consensus 3", Err("there is no question")),
            ("/consensus 3 /approve P1", Err("a command is no question")),
        ] {
            match (Together::typed(text).expect("it is one of these"), expected) {
                (Ok((together, question)), Ok(expected)) => {
                    assert_eq!((together.mode, together.count, question), expected, "{text}")
                }
                (Err(why), Err(words)) => assert!(why.contains(words), "{text}: {why}"),
                (read, expected) => panic!("{text}: {read:?}, not {expected:?}"),
            }
        }
        for text in ["", "consensus 3 x", "/consensusx 3 x", "/help", "//fork 3 x", "what of /fork 3 x"] {
            assert_eq!(Together::typed(text), None, "{text}");
        }
    }

    #[test]
    fn acts_are_the_same_by_tool_and_arguments_alone() {
        let base = vote("", vec![call("shell", json!({"command": "ls", "explanation": "to see"}))]);
        for (name, other, same) in [
            ("another reason", vote("", vec![call("shell", json!({"explanation": "!", "command": "ls"}))]), true),
            ("words beside it", vote("Sure.", vec![call("shell", json!({"command": "ls"}))]), true),
            ("nothing for an argument", vote("", vec![call("shell", json!({"command": "ls", "in": null}))]), true),
            ("as a plist", vote("(:tool shell :args (:command \"ls\") :explanation \"x\")", Vec::new()), true),
            ("other arguments", vote("", vec![call("shell", json!({"command": "ls "}))]), false),
            ("another tool", vote("", vec![call("eval-lisp", json!({"command": "ls"}))]), false),
            (
                "twice",
                vote("", vec![call("shell", json!({"command": "ls"})), call("shell", json!({"command": "ls"}))]),
                false,
            ),
            ("words alone", vote("ls", Vec::new()), false),
            ("nothing", vote(" ", Vec::new()), false),
            ("a broken plist", vote("(:tool shell :args (:command \"ls", Vec::new()), false),
        ] {
            assert_eq!(base == other, same, "{name}: {base:?} {other:?}");
        }
        let unreadable = Completion { unreadable: vec![("c".into(), "why".into())], ..says("Yes.", Vec::new()) };
        assert!(!Vote::of(&unreadable).is_cast());
        let act = says("Yes.", vec![call("shell", json!({"command": "ls"}))]);
        assert!(Vote::of(&act).is_cast());
        assert_eq!(Vote::of(&says("Yes.", Vec::new())), Vote::Words);
    }

    #[test]
    fn most_are_followed_ties_go_to_the_first_and_nobody_is_nobody() {
        let act = |command: &str| vote("", vec![call("shell", json!({"command": command}))]);
        let (a, b, c, words, none) = (act("a"), act("b"), act("c"), Vote::Words, Vote::None("dead".to_string()));
        for (votes, expected) in [
            (vec![], None),
            (vec![none.clone(), none.clone()], None),
            (vec![a.clone()], Some((0, 1, 1))),
            (vec![none.clone(), a.clone()], Some((1, 1, 1))),
            (vec![a.clone(), b.clone(), b.clone()], Some((1, 2, 3))),
            (vec![a.clone(), b.clone(), b.clone(), a.clone()], Some((0, 2, 4))),
            (vec![a.clone(), b.clone(), c.clone()], Some((0, 1, 3))),
            (vec![words.clone(), words.clone(), a.clone()], Some((0, 2, 3))),
            (vec![words.clone(), a.clone(), a.clone()], Some((1, 2, 3))),
            (vec![none.clone(), words.clone(), words.clone()], Some((1, 2, 2))),
            (vec![a, b, none, words], Some((0, 1, 3))),
        ] {
            let found = choose(&votes).map(|found| (found.index, found.votes, found.cast));
            assert_eq!(found, expected, "{votes:?}");
        }
    }

    #[test]
    fn nobody_is_waited_for_who_cannot_change_what_is_followed() {
        let act = |command: &str| Some(vote("", vec![call("shell", json!({"command": command}))]));
        let (a, b, words, none, late) = (act("a"), act("b"), Some(Vote::Words), Some(Vote::None(String::new())), None);
        for (votes, expected) in [
            (vec![], true),
            (vec![late.clone()], false),
            (vec![none.clone(), none.clone()], true),
            (vec![none.clone(), late.clone()], false),
            (vec![a.clone(), late.clone()], true),
            (vec![late.clone(), a.clone()], false),
            (vec![a.clone(), a.clone(), late.clone()], true),
            (vec![late.clone(), a.clone(), a.clone()], true),
            (vec![a.clone(), b.clone(), late.clone()], false),
            (vec![a.clone(), none.clone(), late.clone()], true),
            (vec![a.clone(), late.clone(), late.clone()], false),
            (vec![a.clone(), a.clone(), late.clone(), late.clone()], true),
            (vec![late.clone(), a.clone(), a.clone(), late.clone()], false),
            (vec![a.clone(), b.clone(), a.clone(), a.clone(), late.clone(), late.clone()], true),
            (vec![a.clone(), b.clone(), a.clone(), late.clone(), late.clone()], false),
            // Of words it counts whose they are.
            (vec![words.clone(), words.clone(), late.clone()], true),
            (vec![late.clone(), words.clone(), words.clone()], false),
            (vec![words.clone(), late.clone()], true),
        ] {
            assert_eq!(is_decided(&votes), expected, "{votes:?}");
        }
    }

    fn any_vote() -> impl Strategy<Value = Vote> {
        prop_oneof![
            prop::sample::select(vec!["a", "b", "c"])
                .prop_map(|command| vote("", vec![call("shell", json!({"command": command}))])),
            Just(Vote::Words),
            Just(Vote::None(String::new())),
        ]
    }

    proptest! {
        #[test]
        fn what_is_decided_stays_so_whatever_comes(
            votes in prop::collection::vec((any_vote(), any::<bool>()), 1..MOST),
            others in prop::collection::vec(any_vote(), MOST)
        ) {
            let known: Vec<Option<Vote>> =
                votes.iter().map(|(vote, came)| came.then(|| vote.clone())).collect();
            let end = |late: &mut dyn FnMut(usize) -> Vote| {
                let all: Vec<Vote> = known.iter().enumerate()
                    .map(|(at, vote)| vote.clone().unwrap_or_else(|| late(at))).collect();
                choose(&all).map(|followed| all[followed.index].clone())
            };
            if is_decided(&known) {
                let without = end(&mut |_| Vote::None(String::new()));
                prop_assert_eq!(end(&mut |at| votes[at].0.clone()), without.clone());
                prop_assert_eq!(end(&mut |at| others[at].clone()), without);
            }
        }
    }

    #[test]
    fn what_is_shown_names_each_and_says_who_disagrees() {
        let acts = |command: &str| vote("", vec![call("shell", json!({"command": command, "explanation": "x"}))]);
        let voter = |name: &str, vote: Vote| Voter {
            provider: name.to_string(),
            model: "m".to_string(),
            vote,
            said: format!("So says {name},\nhush."),
        };
        let told = |voters: Vec<Voter>, mode| {
            let votes: Vec<Vote> = voters.iter().map(|voter| voter.vote.clone()).collect();
            let followed = choose(&votes).map(|followed| followed.index);
            let round = Round::new(mode, voters, followed, |text| text.replace("hush", "⟨secret⟩"));
            let ballots = round.ballots.iter().map(|ballot| {
                let mark = if ballot.agrees { "*" } else { " " };
                format!("{mark} {}: {} [{}]\n", ballot.provider, ballot.kind, ballot.lines.join(" | "))
            });
            format!("{}{}", ballots.collect::<String>(), round.line().unwrap_or_else(|| "(all is well)".to_string()))
        };
        let dead = || Vote::None("it hung up".to_string());
        let all = [
            told(vec![voter("a", acts("ls")), voter("b", acts("ls hush")), voter("c", acts("ls"))], Mode::Consensus),
            told(vec![voter("a", acts("ls")), voter("b", acts("ls"))], Mode::Consensus),
            told(vec![voter("a", dead()), voter("b", Vote::Words)], Mode::Consensus),
            told(vec![voter("a", Vote::Words), voter("b", Vote::Words), voter("c", dead())], Mode::Fork),
            told(vec![voter("a", acts("ls")), voter("b", Vote::Words), voter("c", acts("ls"))], Mode::Consensus),
        ];
        insta::assert_snapshot!(all.join("\n\n"), @r#"
        * a: acts [shell {"command":"ls"}]
          b: acts [shell {"command":"ls ⟨secret⟩"} | So says b, ⟨secret⟩.]
        * c: acts [shell {"command":"ls"}]
        The models disagree: 2 of 3 are for what is followed; M-x passepartout-gate-trace shows what each wanted.

        * a: acts [shell {"command":"ls"}]
        * b: acts [shell {"command":"ls"}]
        (all is well)

          a: none [it hung up]
        * b: words [So says b, ⟨secret⟩.]
        No vote of a: it hung up.

        * a: words [So says a, ⟨secret⟩.]
        * b: words [So says b, ⟨secret⟩.]
          c: none [it hung up]
        No answer of c: it hung up.

        * a: acts [shell {"command":"ls"}]
          b: words [So says b, ⟨secret⟩.]
        * c: acts [shell {"command":"ls"}]
        The models disagree: 2 of 3 are for what is followed; M-x passepartout-gate-trace shows what each wanted.
        "#);
    }

    #[test]
    fn no_part_of_a_secret_is_shown_where_a_line_is_clipped() {
        let token = "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";
        let masked = |text: &str| crate::domain::gate::secret::mask(text).0;
        let long = |before: usize| format!("{} {token} and so on, for a while", "w ".repeat(before));
        // Whatever of it the clip would leave; as a text, in a list, below a name, and where it is a name.
        for before in 150..200 {
            for args in [
                json!({"command": long(before)}),
                json!({"list": ["x", long(before)]}),
                json!({"command": {"in": long(before)}}),
                json!({long(before): "x"}),
            ] {
                let line = Act::of(&call("shell", args)).line(&masked);
                assert!(!line.contains("ghp_"), "{before}: {line}");
                assert!(line.chars().count() <= SHOWN + 1);
            }
        }
        let plain = Act::of(&call("shell", json!({"command": "ls \"a b\"", "n": 2}))).line(&masked);
        assert_eq!(plain, "shell {\"command\":\"ls \\\"a b\\\"\",\"n\":2}");
    }

    #[test]
    fn deep_and_large_arguments_end() {
        let mut deep = json!("x");
        for _ in 0..120 {
            deep = json!([deep]);
        }
        let act = Act::of(&call("shell", json!({"command": deep})));
        assert!(act.args.len() > 240 && act.line(&str::to_string).chars().count() <= SHOWN + 1);
        let round = Round::new(
            Mode::Consensus,
            vec![Voter {
                provider: "a".into(),
                model: "m".into(),
                vote: Vote::Acts(vec![act; 500]),
                said: String::new(),
            }],
            Some(0),
            str::to_string,
        );
        assert_eq!(round.ballots[0].lines.len(), ACTS + 1);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..3_i64).prop_map(Value::from),
            "[ab]{0,2}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                proptest::collection::vec(("[abc]", inner), 0..3)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    /// Turns the order of names in every object around.
    fn turned(value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(turned).collect(),
            Value::Object(map) => {
                Value::Object(map.iter().rev().map(|(name, value)| (name.clone(), turned(value))).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }

    fn votes() -> impl Strategy<Value = Vec<Vote>> {
        let act = ("[ab]", "[xy]{0,1}").prop_map(|(tool, text)| Act::of(&call(&tool, json!({"q": text}))));
        let acts = proptest::collection::vec(act, 1..3).prop_map(|mut acts| {
            acts.sort();
            Vote::Acts(acts)
        });
        let vote = prop_oneof![3 => acts, 1 => Just(Vote::Words), 1 => Just(Vote::None("dead".to_string()))];
        proptest::collection::vec(vote, 0..MOST)
    }

    proptest! {
        #[test]
        fn the_order_of_arguments_and_calls_does_not_matter(
            args in proptest::collection::vec(("[a-d]", value()), 0..4), more in "[ab]", explanation in ".{0,8}",
        ) {
            let args = Value::Object(args.into_iter().collect());
            let mut around = turned(&args);
            around["explanation"] = Value::from(explanation);
            let other = call("org-set-todo", json!({"state": more}));
            let (one, two) = (call("t", args), call("t", around));
            prop_assert_eq!(Act::of(&one), Act::of(&two));
            prop_assert_eq!(vote("", vec![one.clone(), other.clone()]), vote("other words", vec![other.clone(), two]));
            // Twice is not once.
            prop_assert_ne!(vote("", vec![one.clone(), one.clone(), other.clone()]), vote("", vec![one, other]));
        }

        #[test]
        fn what_differs_is_never_taken_for_the_same(one in value(), two in value()) {
            let act = |value: &Value| Act::of(&call("t", json!({"q": [value]})));
            prop_assert_eq!(act(&one) == act(&two), one == two);
        }

        #[test]
        fn most_win_in_whatever_order_and_the_first_of_a_tie(votes in votes(), turn in 0..MOST) {
            let size = |vote: &Vote| votes.iter().filter(|other| *other == vote).count();
            let most = votes.iter().filter(|vote| vote.is_cast()).map(size).max();
            let chosen = choose(&votes);
            prop_assert_eq!(chosen.is_none(), most.is_none());
            let Some(found) = chosen else { return Ok(()) };
            prop_assert_eq!(Some(found.votes), most);
            prop_assert_eq!(found.cast, votes.iter().filter(|vote| vote.is_cast()).count());
            // Nobody before it is for anything that as many are for.
            for before in votes.get(..found.index).expect("it is one of them") {
                prop_assert!(!before.is_cast() || size(before) < found.votes);
            }
            // Where one thing alone has most, the order of those who vote does not matter.
            let mut others = votes.clone();
            let by = turn % others.len();
            others.rotate_left(by);
            let again = choose(&others).expect("somebody is for something");
            prop_assert_eq!(again.votes, found.votes);
            let tied = votes.iter().filter(|vote| vote.is_cast() && size(vote) == found.votes).count();
            if tied == found.votes {
                prop_assert_eq!(others.get(again.index), votes.get(found.index));
            }
            // Who has no vote changes nothing.
            let silent: Vec<Vote> = votes.iter().flat_map(|vote| [Vote::None("x".into()), vote.clone()]).collect();
            let same = choose(&silent).expect("somebody is for something");
            prop_assert_eq!((same.index, same.votes), (2 * found.index + 1, found.votes));
        }
    }
}
