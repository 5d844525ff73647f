//! Turns of a conversation that are over: the newest stand in a prompt whole, the others by name and title alone, to be
//! reopened by their name. Nothing is summarised: a turn is there as it was said, or it is named.

use crate::domain::hash::ContentHasher;
use crate::domain::label::Privacy;
use crate::domain::port::{CountTokens, Message};
use crate::domain::signal::{Role, Said};

/// The tool that reopens one.
pub const REOPEN: &str = "reopen-turn";
/// How the list of titles begins.
const LIST: &str = "[Earlier turns of this chat";
/// How a turn begins that gave way while an answer was made.
const NAMED: &str = "[A turn of this chat, by its name and title for lack of room:";
/// How many characters of a title are shown.
const TITLE: usize = 80;
/// Which part of the room the list of titles may take: one of so many.
const LIST_PART: usize = 4;
/// How many bytes of a hash a name has.
const NAME_BYTES: usize = 6;
/// How many characters are reopened at once.
const PAGE: usize = 12_000;

/// A turn that is over and stands in the prompt by its title alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// Its name: the beginning of the hash of all that was said in it.
    pub name: String,
    /// The first line that the user said in it.
    pub title: String,
    /// All that was said in it.
    pub text: String,
    /// How private it is.
    pub privacy: Privacy,
    /// Whether it is no turn, but an answer that the conversation did not go on from.
    pub aside: bool,
}

/// A conversation as it stands in a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collapsed {
    /// Its messages, oldest first; the titles of what is collapsed stand in the first.
    pub messages: Vec<Message>,
    /// What is collapsed, oldest first.
    pub earlier: Vec<Earlier>,
    /// What is whole, oldest first: while its answer is made, one may be [named alone](name_oldest) after all.
    pub whole: Vec<Earlier>,
}

impl Earlier {
    fn of(said: &[Said]) -> Earlier {
        let mut hasher = ContentHasher::new("earlier turn");
        let mut text = String::new();
        for one in said {
            hasher.text(who(one.role)).text(&one.text);
            let gap = if text.is_empty() { "" } else { "\n\n" };
            text.push_str(&format!("{gap}{}:\n{}", who(one.role), one.text));
        }
        let name = hasher.finish().iter().take(NAME_BYTES).map(|byte| format!("{byte:02x}")).collect();
        let line = said.first().and_then(|one| one.text.trim().lines().next()).unwrap_or("").trim();
        let mut title: String = line.chars().take(TITLE).collect();
        if line.chars().nth(TITLE).is_some() {
            title.push('…');
        }
        let privacy = said.iter().map(|one| one.privacy).max().unwrap_or(Privacy::Open);
        Earlier { name, title, text, privacy, aside: said.iter().all(|one| one.aside) }
    }

    /// Returns what was said in it from a character on, as much as is read at once, and where it goes on.
    pub fn page(&self, from: usize) -> String {
        let mut rest = self.text.chars().skip(from);
        let page: String = rest.by_ref().take(PAGE).collect();
        match rest.count() {
            0 => page,
            left => format!("{page}\n[{left} more characters: call again with from {}.]", from.saturating_add(PAGE)),
        }
    }
}

fn who(role: Role) -> &'static str {
    match role {
        Role::User => "User",
        Role::Assistant => "Assistant",
        Role::Tool => "Tool",
    }
}

/// Keeps the newest turns that fit into `room` tokens whole, and names the others. Answers that the conversation did not
/// go on from are always named alone.
pub fn collapse(history: Vec<Said>, room: usize, tokens: &dyn CountTokens) -> Collapsed {
    let (asides, history): (Vec<Said>, Vec<Said>) = history.into_iter().partition(|one| one.aside);
    let size = |said: &[Said]| said.iter().map(|one| tokens.count(&one.text)).sum::<usize>();
    let mut begins: Vec<usize> =
        history.iter().enumerate().filter(|(_, one)| one.role == Role::User).map(|(at, _)| at).collect();
    if begins.first() != Some(&0) && !history.is_empty() {
        begins.insert(0, 0);
    }
    let ends = begins.iter().skip(1).copied().chain([history.len()]);
    let turns: Vec<&[Said]> = begins.iter().zip(ends).filter_map(|(begin, end)| history.get(*begin..end)).collect();
    let newest = |room: usize| {
        let fits = |left: &mut usize, said: &&[Said]| {
            *left = left.checked_sub(size(said))?;
            Some(())
        };
        turns.iter().rev().scan(room, fits).count()
    };
    let whole = match newest(room) {
        all if all == turns.len() && asides.is_empty() => all,
        _ => newest(room - room / LIST_PART),
    };
    let (old, new) = turns.split_at(turns.len() - whole);
    let named = asides.iter().map(std::slice::from_ref).chain(old.iter().copied());
    let earlier: Vec<Earlier> = named.map(Earlier::of).collect();
    let list = titles(&earlier, room / LIST_PART, tokens).map(|text| Message::Text { role: Role::User, text });
    let said = new.iter().flat_map(|said| said.iter());
    let said = said.map(|one| Message::Text { role: one.role, text: one.text.clone() });
    let whole = new.iter().copied().map(Earlier::of).collect();
    Collapsed { messages: list.into_iter().chain(said).collect(), earlier, whole }
}

/// Puts its name in place of the oldest turn of a prompt that is over and stands there whole. Returns `false` when there
/// is none that takes more room than its name.
pub fn name_oldest(messages: &mut Vec<Message>, tokens: &dyn CountTokens) -> bool {
    let is_user = |message: &Message| matches!(message, Message::Text { role: Role::User, .. });
    let begins: Vec<usize> =
        messages.iter().enumerate().filter(|(_, message)| is_user(message)).map(|(at, _)| at).collect();
    // What the last words of the user begin is not over.
    for (begin, end) in begins.iter().copied().zip(begins.iter().skip(1).copied()) {
        let said = messages.get(begin..end).unwrap_or_default().iter().map(|message| match message {
            Message::Text { role, text } => {
                Some(Said { role: *role, text: text.clone(), privacy: Privacy::Open, aside: false })
            }
            Message::Calls { .. } | Message::Result { .. } => None,
        });
        let Some(said) = said.collect::<Option<Vec<Said>>>() else { continue };
        if said.iter().any(|one| one.text.starts_with(LIST) || one.text.starts_with(NAMED)) {
            continue;
        }
        let turn = Earlier::of(&said);
        let text = format!("{NAMED} {} “{}”; {REOPEN} reads it as it was said.]", turn.name, turn.title);
        if tokens.count(&text) < said.iter().map(|one| tokens.count(&one.text)).sum() {
            messages.splice(begin..end, [Message::Text { role: Role::User, text }]);
            return true;
        }
    }
    false
}

/// Returns the list of what is collapsed, one line each; the oldest are only counted where there is no room for them.
fn titles(earlier: &[Earlier], room: usize, tokens: &dyn CountTokens) -> Option<String> {
    if earlier.is_empty() {
        return None;
    }
    let line = |turn: &Earlier| {
        let what = if turn.aside { " (another answer, which was not followed)" } else { "" };
        format!("- {} “{}”{what}", turn.name, turn.title)
    };
    let mut left = room;
    let mut lines: Vec<String> = Vec::new();
    for turn in earlier.iter().rev() {
        let line = line(turn);
        let Some(rest) = left.checked_sub(tokens.count(&line) + 1) else { break };
        left = rest;
        lines.push(line);
    }
    if let more @ 1.. = earlier.len() - lines.len() {
        lines.push(format!("({more} before these are not listed.)"));
    }
    lines.reverse();
    Some(format!(
        "{LIST}, the oldest first, by name and title; {REOPEN} reads one as it was said.\n{}]",
        lines.join("\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Words;

    impl CountTokens for Words {
        fn count(&self, text: &str) -> usize {
            text.split_whitespace().count()
        }
    }

    fn said(role: Role, text: &str) -> Said {
        Said { role, text: text.to_string(), privacy: Privacy::Open, aside: false }
    }

    fn chat(turns: usize) -> Vec<Said> {
        let turn = |n: usize| {
            [said(Role::User, &format!("question {n} of mine")), said(Role::Assistant, &format!("answer {n}"))]
        };
        (0..turns).flat_map(turn).collect()
    }

    fn first(collapsed: &Collapsed) -> String {
        match collapsed.messages.first() {
            Some(Message::Text { text, .. }) => text.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_fits_stands_there_as_it_was_said() {
        let all = collapse(chat(3), 18, &Words);
        assert_eq!((all.messages.len(), all.earlier.len()), (6, 0));
        let none = collapse(Vec::new(), 18, &Words);
        assert_eq!((none.messages.len(), none.earlier.len()), (0, 0));
    }

    #[test]
    fn what_does_not_fit_is_named_and_read_again_as_it_was() {
        let some = collapse(chat(10), 40, &Words);
        assert_eq!(some.earlier.len(), 5, "30 words are six each for five turns");
        assert_eq!(some.messages.len(), 1 + 2 * 5);
        let list = first(&some);
        assert!(list.contains(&format!("- {} “question 4 of mine”", some.earlier[4].name)), "{list}");
        assert!(list.contains("(4 before these are not listed.)"), "{list}");
        assert_eq!(some.earlier[0].page(0), "User:\nquestion 0 of mine\n\nAssistant:\nanswer 0");
        let again = collapse(chat(10), 40, &Words);
        assert_eq!(some.earlier, again.earlier, "a name is that of what was said");
    }

    #[test]
    fn an_answer_that_was_not_followed_is_named_and_never_sent() {
        let aside = |text: &str| Said { aside: true, privacy: Privacy::Ask, ..said(Role::Assistant, text) };
        let mut history = chat(3);
        history.insert(1, aside("another answer\nof more lines"));
        history.insert(5, aside("yet another"));
        for room in [0, 12, 40, 10_000] {
            let some = collapse(history.clone(), room, &Words);
            let asides: Vec<&Earlier> = some.earlier.iter().filter(|turn| turn.aside).collect();
            assert_eq!(
                asides.iter().map(|turn| turn.title.as_str()).collect::<Vec<_>>(),
                ["another answer", "yet another"]
            );
            assert_eq!(asides[0].page(0), "Assistant:\nanother answer\nof more lines");
            assert_eq!(asides[0].privacy, Privacy::Ask);
            let sent: String = some.messages.iter().map(|message| format!("{message:?}")).collect();
            assert!(!sent.contains("of more lines"), "{room}: {sent}");
            assert_eq!(sent.contains(&asides[0].name), room == 10_000, "{room}: {sent}");
            // What was gone on from is in its place: whole, or named as a turn.
            let others = collapse(chat(3), room - room / LIST_PART, &Words);
            assert_eq!(some.earlier.len() - 2, others.earlier.len().min(3), "{room}");
        }
        let all = collapse(history, 10_000, &Words);
        assert!(first(&all).contains("“another answer” (another answer, which was not followed)"), "{}", first(&all));
        assert_eq!(all.messages.len(), 1 + 6, "the rest is whole");
    }

    #[test]
    fn turns_give_way_one_after_the_other_and_are_known_by_their_names() {
        let mut history = chat(3);
        history[1].text = "a long answer ".repeat(30);
        history[5].text = "another long answer ".repeat(30);
        let Collapsed { mut messages, whole, earlier } = collapse(history, 10_000, &Words);
        assert_eq!((messages.len(), whole.len(), earlier.len()), (6, 3, 0));
        messages.push(Message::Text { role: Role::User, text: "and now, at last? ".repeat(30) });
        let texts = |messages: &[Message]| -> Vec<String> {
            let text = |message: &Message| match message {
                Message::Text { text, .. } => text.clone(),
                other => panic!("{other:?}"),
            };
            messages.iter().map(text).collect()
        };
        let all = texts(&messages);
        assert!(name_oldest(&mut messages, &Words));
        let named = format!("{NAMED} {} “question 0 of mine”; {REOPEN} reads it as it was said.]", whole[0].name);
        assert_eq!(texts(&messages), [std::slice::from_ref(&named), &all[2..]].concat());
        // The second one is shorter than its name would be; the question itself is not over.
        assert!(name_oldest(&mut messages, &Words));
        assert_eq!(texts(&messages)[..3], [named, all[2].clone(), all[3].clone()]);
        assert!(texts(&messages)[3].contains(&whole[2].name));
        assert!(!name_oldest(&mut messages, &Words));
        assert_eq!(texts(&messages).last(), all.last());
    }

    #[test]
    fn a_long_turn_is_read_in_pages() {
        let long: String = ('a'..='z').cycle().take(PAGE + 100).collect();
        let history = vec![said(Role::User, &long), said(Role::User, "short")];
        let turn = collapse(history, 1, &Words).earlier.remove(0);
        assert_eq!(turn.title.chars().count(), TITLE + 1);
        let first = turn.page(0);
        let (text, rest) = first.split_once("\n[").expect("it goes on");
        assert!(rest.contains(&format!("call again with from {PAGE}.")), "{rest}");
        assert_eq!(format!("{text}{}", turn.page(PAGE)), turn.text);
        assert_eq!(turn.page(usize::MAX), "");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_is_over(texts in prop::collection::vec("[a-c ]{0,20}", 0..30), room in 0usize..60) {
            let roles = [Role::User, Role::Assistant, Role::Assistant];
            let history: Vec<Said> = texts.iter().enumerate().map(|(n, text)| said(roles[n % 3], text)).collect();
            let collapsed = collapse(history.clone(), room, &Words);
            let listed = usize::from(!collapsed.earlier.is_empty());
            let whole: Vec<&Message> = collapsed.messages.iter().skip(listed).collect();
            let size: usize = history.iter().rev().take(whole.len()).map(|one| Words.count(&one.text)).sum();
            prop_assert!(size <= room);
            let kept = collapsed.earlier.iter().map(|turn| turn.text.clone());
            let new = history.iter().rev().take(whole.len()).rev().map(|one| format!("{}:\n{}", who(one.role), one.text));
            let all = history.iter().map(|one| format!("{}:\n{}", who(one.role), one.text));
            prop_assert_eq!(kept.chain(new).collect::<Vec<_>>().join("\n\n"), all.collect::<Vec<_>>().join("\n\n"));
        }
    }
}
