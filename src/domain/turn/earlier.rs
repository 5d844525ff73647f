//! Turns of a conversation that are over: the newest stand in a prompt whole, the others by name and title alone, to be
//! reopened by their name. Nothing is summarised: a turn is there as it was said, or it is named.

use crate::domain::hash::ContentHasher;
use crate::domain::label::Privacy;
use crate::domain::port::{CountTokens, Message};
use crate::domain::signal::{Role, Said};
use crate::domain::turn::prompt::tokens_of;

/// The tool that reopens one.
pub const REOPEN: &str = "reopen-turn";
/// How the list of titles begins.
const LIST: &str = "[Earlier turns of this chat";
/// How many characters of a title are shown.
const TITLE: usize = 80;
/// Which part of the room the list of titles may take: one of so many.
const LIST_PART: usize = 4;
/// The list takes about so many tokens without its lines.
const FRAME: usize = 40;
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

/// What lies further back in a chat than what is sent of it, by name and title.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Older {
    /// Turns, the oldest first: their names and titles, as the chat gives them.
    pub turns: Vec<(String, String)>,
    /// Whether there are turns before these.
    pub more: bool,
}

/// A conversation as it stands in a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collapsed {
    /// Its messages, oldest first.
    pub messages: Vec<Message>,
    /// Which of them are what.
    pub past: Past,
    /// What is whole, oldest first: while its answer is made, one may be [named alone](Past::give_way) after all.
    pub whole: Vec<Earlier>,
}

/// How the turns of a conversation that are over stand in its messages, before everything else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// What is told by its name and title alone, oldest first; the list of them is the first message, if there are any.
    pub named: Vec<Earlier>,
    /// What stands behind that whole, oldest first: how many messages each turn has.
    pub whole: Vec<usize>,
    /// Whether the chat has turns before all of these, which are not named.
    pub more: bool,
}

impl Earlier {
    /// Names a turn whose text is not at hand.
    fn named(name: String, title: &str, privacy: Privacy) -> Earlier {
        Earlier { name, title: cut_title(title), text: String::new(), privacy, aside: false }
    }

    /// Makes it of what was said in it.
    pub fn of(said: &[Said]) -> Earlier {
        let privacy = said.iter().map(|one| one.privacy).max().unwrap_or(Privacy::Open);
        let texts = said.iter().map(|one| (one.role, one.text.as_str()));
        Earlier { aside: said.iter().all(|one| one.aside), ..Earlier::of_texts(texts, privacy) }
    }

    /// Makes it of messages as they stand in a prompt; what was said is a text.
    fn of_messages(messages: &[Message], privacy: Privacy) -> Earlier {
        let texts = messages.iter().filter_map(|message| match message {
            Message::Text { role, text } => Some((*role, text.as_str())),
            Message::Calls { .. } | Message::Result { .. } | Message::Picture(_) => None,
        });
        Earlier::of_texts(texts, privacy)
    }

    fn of_texts<'a>(texts: impl Iterator<Item = (Role, &'a str)>, privacy: Privacy) -> Earlier {
        let mut hasher = ContentHasher::new("earlier turn");
        let (mut text, mut first) = (String::new(), None);
        for (role, said) in texts {
            hasher.text(who(role)).text(said);
            let gap = if text.is_empty() { "" } else { "\n\n" };
            text.push_str(&format!("{gap}{}:\n{said}", who(role)));
            first.get_or_insert(said);
        }
        let name = hasher.finish().iter().take(NAME_BYTES).map(|byte| format!("{byte:02x}")).collect();
        Earlier { name, title: cut_title(first.unwrap_or("")), text, privacy, aside: false }
    }

    /// Returns its line in the list.
    pub fn line(&self) -> String {
        let what = if self.aside { " (another answer, which was not followed)" } else { "" };
        format!("- {} “{}”{what}", self.name, self.title)
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

/// Returns the first line of what was said, as much of it as is shown.
fn cut_title(said: &str) -> String {
    let line = said.trim().lines().next().unwrap_or("").trim();
    let mut title: String = line.chars().take(TITLE).collect();
    if line.chars().nth(TITLE).is_some() {
        title.push('…');
    }
    title
}

/// A name that a chat gives a turn has no more characters.
const LONGEST_NAME: usize = 40;

impl Older {
    /// Returns them as they are told, at least so private; what is no name is not there.
    pub fn named(self, privacy: Privacy) -> Vec<Earlier> {
        let is_name = |name: &str| {
            (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        let turns = self.turns.into_iter().filter(|(name, _)| is_name(name));
        turns.map(|(name, title)| Earlier::named(name, &title, privacy)).collect()
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
    collapse_behind(Vec::new(), false, history, room, tokens)
}

/// Does the same behind turns that lie further back, which are named alone; `more` says whether there are others before
/// these.
pub fn collapse_behind(
    older: Vec<Earlier>,
    more: bool,
    history: Vec<Said>,
    room: usize,
    tokens: &dyn CountTokens,
) -> Collapsed {
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
        all if all == turns.len() && asides.is_empty() && older.is_empty() => all,
        _ => newest(room - room / LIST_PART),
    };
    let (old, new) = turns.split_at(turns.len() - whole);
    let named = asides.iter().map(std::slice::from_ref).chain(old.iter().copied());
    let earlier: Vec<Earlier> = older.into_iter().chain(named.map(Earlier::of)).collect();
    let list = titles(&earlier, more, room / LIST_PART, tokens);
    let said = new.iter().flat_map(|said| said.iter());
    let said = said.map(|one| Message::Text { role: one.role, text: one.text.clone() });
    let past = Past { named: earlier, whole: new.iter().map(|said| said.len()).collect(), more };
    let whole = new.iter().copied().map(Earlier::of).collect();
    Collapsed { messages: list.into_iter().chain(said).collect(), past, whole }
}

impl Past {
    /// Returns the messages of each turn that stands there whole, and where the last of them ends.
    fn spans(&self) -> (Vec<std::ops::Range<usize>>, usize) {
        let mut end = usize::from(!self.named.is_empty());
        let mut span = |length: &usize| {
            let begin = end;
            end = end.saturating_add(*length);
            begin..end
        };
        let spans = self.whole.iter().map(&mut span).collect();
        (spans, end)
    }

    /// Returns how many messages name turns, and how many behind these are of turns that are whole.
    pub fn lengths(&self) -> (usize, usize) {
        (usize::from(!self.named.is_empty()), self.whole.iter().sum())
    }

    /// Returns all that can be reopened of it, with these messages; what is not known of a turn counts as so private.
    pub fn turns(&self, messages: &[Message], privacy: Privacy) -> Vec<Earlier> {
        let whole = self.spans().0.into_iter().filter_map(|span| messages.get(span));
        let whole = whole.map(|said| Earlier::of_messages(said, privacy));
        self.named.iter().filter(|turn| !turn.text.is_empty()).cloned().chain(whole).collect()
    }

    /// Returns whether these messages may stand so.
    pub fn is_of(&self, messages: &[Message]) -> bool {
        self.spans().1 <= messages.len()
    }

    /// Names the oldest turns that stand whole until the messages fit into `room` tokens, and no more of them than that
    /// takes; `sizes` has the tokens of each message. It takes time linear in what is named.
    pub fn give_way(
        &mut self,
        messages: &mut Vec<Message>,
        sizes: &mut Vec<usize>,
        room: usize,
        privacy: Privacy,
        tokens: &dyn CountTokens,
    ) {
        loop {
            let over = sizes.iter().sum::<usize>().saturating_sub(room);
            if over == 0 || self.whole.is_empty() || !self.is_of(messages) {
                return;
            }
            let (spans, _) = self.spans();
            // What the list may grow by; one that is new has a frame.
            let listed = sizes.first().copied().filter(|_| !self.named.is_empty()).unwrap_or(0);
            let most = (room / LIST_PART + FRAME).saturating_sub(listed);
            let mut lines = if self.named.is_empty() { FRAME } else { 0 };
            let (mut freed, mut end, mut count) = (0, 0, 0);
            for span in spans {
                if freed >= over + lines.min(most) {
                    break;
                }
                let turn = Earlier::of_messages(messages.get(span.clone()).unwrap_or_default(), privacy);
                freed += sizes.get(span.clone()).unwrap_or_default().iter().sum::<usize>();
                lines += tokens.count(&turn.line()) + 1;
                end = span.end;
                self.named.push(turn);
                count += 1;
            }
            self.whole.drain(..count);
            let list: Vec<Message> = titles(&self.named, self.more, room / LIST_PART, tokens).into_iter().collect();
            let size: Vec<usize> = list.iter().map(|list| tokens_of(list, tokens)).collect();
            messages.splice(..end, list);
            sizes.splice(..end, size);
        }
    }
}

/// Returns the list of what is collapsed, one line each; the oldest are only counted where there is no room for them.
fn titles(earlier: &[Earlier], more: bool, room: usize, tokens: &dyn CountTokens) -> Option<Message> {
    if earlier.is_empty() {
        return None;
    }
    let mut left = room;
    let mut lines: Vec<String> = Vec::new();
    for turn in earlier.iter().rev() {
        let line = turn.line();
        let Some(rest) = left.checked_sub(tokens.count(&line) + 1) else { break };
        left = rest;
        lines.push(line);
    }
    match (earlier.len() - lines.len(), more) {
        (0, false) => {}
        (count, false) => lines.push(format!("({count} before these are not listed.)")),
        (_, true) => lines.push("(More before these are not listed.)".to_string()),
    }
    lines.reverse();
    let text = format!(
        "{LIST}, the oldest first, by name and title; {REOPEN} reads one as it was said, and with before it lists those \
         before one.\n{}]",
        lines.join("\n")
    );
    Some(Message::Text { role: Role::User, text })
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
        assert_eq!((all.messages.len(), all.past.named.len()), (6, 0));
        let none = collapse(Vec::new(), 18, &Words);
        assert_eq!((none.messages.len(), none.past.named.len()), (0, 0));
    }

    #[test]
    fn what_does_not_fit_is_named_and_read_again_as_it_was() {
        let some = collapse(chat(10), 40, &Words);
        assert_eq!(some.past.named.len(), 5, "30 words are six each for five turns");
        assert_eq!(some.messages.len(), 1 + 2 * 5);
        let list = first(&some);
        assert!(list.contains(&format!("- {} “question 4 of mine”", some.past.named[4].name)), "{list}");
        assert!(list.contains("(4 before these are not listed.)"), "{list}");
        assert_eq!(some.past.named[0].page(0), "User:\nquestion 0 of mine\n\nAssistant:\nanswer 0");
        let again = collapse(chat(10), 40, &Words);
        assert_eq!(some.past.named, again.past.named, "a name is that of what was said");
    }

    #[test]
    fn an_answer_that_was_not_followed_is_named_and_never_sent() {
        let aside = |text: &str| Said { aside: true, privacy: Privacy::Ask, ..said(Role::Assistant, text) };
        let mut history = chat(3);
        history.insert(1, aside("another answer\nof more lines"));
        history.insert(5, aside("yet another"));
        for room in [0, 12, 40, 10_000] {
            let some = collapse(history.clone(), room, &Words);
            let asides: Vec<&Earlier> = some.past.named.iter().filter(|turn| turn.aside).collect();
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
            assert_eq!(some.past.named.len() - 2, others.past.named.len().min(3), "{room}");
        }
        let all = collapse(history, 10_000, &Words);
        assert!(first(&all).contains("“another answer” (another answer, which was not followed)"), "{}", first(&all));
        assert_eq!(all.messages.len(), 1 + 6, "the rest is whole");
    }

    fn texts(messages: &[Message]) -> Vec<String> {
        let text = |message: &Message| match message {
            Message::Text { text, .. } => text.clone(),
            other => panic!("{other:?}"),
        };
        messages.iter().map(text).collect()
    }

    /// Lets turns of a collapsed chat give way, with a question behind them; returns what stands there then, and how
    /// many tokens that takes.
    fn given_way(collapsed: &Collapsed, room: usize) -> (Vec<String>, Past, usize) {
        let Collapsed { mut messages, mut past, .. } = collapsed.clone();
        messages.push(Message::Text { role: Role::User, text: "and now, at last?".to_string() });
        let mut sizes: Vec<usize> = messages.iter().map(|message| tokens_of(message, &Words)).collect();
        past.give_way(&mut messages, &mut sizes, room, Privacy::Open, &Words);
        let counted: Vec<usize> = messages.iter().map(|message| tokens_of(message, &Words)).collect();
        assert_eq!(sizes, counted);
        (texts(&messages), past, sizes.iter().sum())
    }

    #[test]
    fn the_oldest_turns_give_way_into_the_list_until_the_rest_fits() {
        let mut history = chat(20);
        history.iter_mut().for_each(|said| said.text.push_str(&" and so on and on".repeat(10)));
        // One that looks like a list is none, and what was said before the first question is a turn as well.
        history[4].text = format!("{LIST}, the oldest first: what does that mean?");
        history.insert(0, said(Role::Assistant, "Welcome to all of it."));
        let whole = collapse(history.clone(), 10_000, &Words);
        let (all, ..) = given_way(&whole, 10_000);
        assert_eq!((whole.past.whole.len(), whole.past.named.len(), all.len()), (21, 0, 42));
        for room in [1_500, 1_000, 500, 200, 100] {
            let (told, past, size) = given_way(&whole, room);
            assert!(size <= room, "{size} of {room}: {told:?}");
            let named = past.named.len();
            assert_eq!(past.named[..], whole.whole[..named], "{room}: as they were said");
            assert_eq!(past.whole.len(), 21 - named);
            assert_eq!(told[1..], all[told.len().abs_diff(all.len()) + 1..], "{room}: the newest stand whole");
            assert!(told[0].starts_with(LIST) && told[0].contains(&whole.whole[named - 1].line()), "{}", told[0]);
            // One more would have fitted, or the list has taken its place.
            let next = past.named[named - 1].text.split_whitespace().count();
            assert!(size + next + FRAME > room, "{room}: {size}");
        }
        // What was named before stays in the list, and nothing is lost of it.
        let some = collapse(history, 1_000, &Words);
        let (_, past, _) = given_way(&some, 400);
        assert!(!some.past.named.is_empty() && past.named.len() > some.past.named.len());
        assert_eq!(past.named[..], whole.whole[..past.named.len()]);
        let messages: Vec<Message> = some.messages.clone();
        assert_eq!(some.past.turns(&messages, Privacy::Open), whole.whole, "all can be reopened");
        // Where nothing is enough, all are named, and it ends.
        assert_eq!(given_way(&whole, 3).1.whole, Vec::<usize>::new());
    }

    #[test]
    fn a_long_turn_is_read_in_pages() {
        let long: String = ('a'..='z').cycle().take(PAGE + 100).collect();
        let history = vec![said(Role::User, &long), said(Role::User, "short")];
        let turn = collapse(history, 1, &Words).past.named.remove(0);
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
            let listed = usize::from(!collapsed.past.named.is_empty());
            let whole: Vec<&Message> = collapsed.messages.iter().skip(listed).collect();
            let size: usize = history.iter().rev().take(whole.len()).map(|one| Words.count(&one.text)).sum();
            prop_assert!(size <= room);
            let kept = collapsed.past.named.iter().map(|turn| turn.text.clone());
            let new = history.iter().rev().take(whole.len()).rev().map(|one| format!("{}:\n{}", who(one.role), one.text));
            let all = history.iter().map(|one| format!("{}:\n{}", who(one.role), one.text));
            prop_assert_eq!(kept.chain(new).collect::<Vec<_>>().join("\n\n"), all.collect::<Vec<_>>().join("\n\n"));
        }
    }
}
