//! Keeps a prompt within what it may hold: first what is told beside the conversation gives way, then what earlier steps of
//! this turn brought, turns that are over, which are named then and can be reopened, what the last step brought, and last
//! the notes around the one in focus. What gave way of the conversation is said.

use crate::domain::port::{AtPoint, Call, CountTokens, Locality, Message, Thinking};
use crate::domain::signal::Role;
use crate::domain::tool::Toolbox;
use crate::domain::turn::prompt::Lean;
use crate::domain::turn::{Conversation, Desk, Taken, Turn, prompt};
use serde_json::Value;

/// A text of so many characters is not worth cutting: the line in its place is as long.
const SHORT: usize = 300;
/// How much of what gave way is still quoted, in characters.
const QUOTED: usize = 120;

/// What does not fit, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Over {
    /// Room for the conversation.
    pub(super) remaining: u64,
    /// What is left of the conversation, when all that may give way has done so.
    pub(super) requested: u64,
    /// What the heading at point takes, where there would be room without it.
    pub(super) at_point: Option<u64>,
}

impl Turn {
    /// Makes the conversation fit beside what every prompt says. Returns by how much it does not.
    pub(super) fn fit(&mut self, desk: &Desk<'_>) -> Option<Over> {
        if self.report.conversation.contact.is_some() {
            // It was shown word for word, and is sent so.
            return None;
        }
        let most = (desk.max_tokens)();
        let conversation = &mut self.report.conversation;
        let said = conversation.messages.iter().map(|message| prompt::tokens_of(message, desk.tokens)).sum::<usize>();
        let room = |lean| most.saturating_sub(prompt::fixed_tokens(desk, lean));
        let (mut over, mut whole) = (None, true);
        for lean in Lean::ALL {
            self.lean = lean;
            over = match lean {
                Lean::Whole | Lean::Log | Lean::Mandates if said > room(lean) => continue,
                Lean::Whole | Lean::Log | Lean::Mandates => None,
                Lean::Outline | Lean::Half | Lean::Notes => {
                    whole = false;
                    fit(conversation, room(lean), desk.tokens, &desk.toolbox)
                }
            };
            if over.is_none() {
                break;
            }
        }
        let tokens =
            |messages: &[Message]| messages.iter().map(|message| prompt::tokens_of(message, desk.tokens)).sum();
        let said = if whole { said } else { tokens(&conversation.messages) };
        self.taken = Taken { used: prompt::fixed_tokens(desk, self.lean) + said, most };
        self.at_point(over, desk)
    }

    /// Says whether it is the heading at point that does not fit: it is told as it stands, or nothing is asked.
    fn at_point(&self, over: Option<Over>, desk: &Desk<'_>) -> Option<Over> {
        let briefings = [Locality::Local, Locality::Remote].map(|locality| prompt::briefing(desk, locality, self.lean));
        let at_point = briefings.iter().filter_map(|briefing| briefing.at_point).max_by_key(|at_point| at_point.tokens);
        let Some(AtPoint { tokens, told }) = at_point else { return over };
        let tokens = tokens as u64;
        match over {
            Some(over) if told && over.requested > over.remaining.saturating_add(tokens) => Some(over),
            Some(over) => Some(Over { at_point: Some(tokens), ..over }),
            None if told => None,
            None => Some(Over { remaining: self.taken.most as u64, requested: tokens, at_point: Some(tokens) }),
        }
    }
}

/// Cuts messages until they fit into `room` tokens: first thoughts before earlier answers, then their results, then what
/// earlier calls were given, then the oldest turns that are over, then words of this turn's steps, then the results of the
/// last answer but the newest, then that one in part. The user's words are never touched.
fn fit(conversation: &mut Conversation, room: usize, tokens: &dyn CountTokens, toolbox: &Toolbox) -> Option<Over> {
    let Conversation { messages, past, labels, .. } = conversation;
    let mut sizes: Vec<usize> = messages.iter().map(|message| prompt::tokens_of(message, tokens)).collect();
    let cut = |messages: &mut Vec<Message>, sizes: &mut Vec<usize>, steps: &[(&dyn Fn(usize) -> bool, Cut)]| {
        let mut total: usize = sizes.iter().sum();
        for (may, cut) in steps {
            for (at, (message, size)) in messages.iter_mut().zip(sizes.iter_mut()).enumerate() {
                if total <= room {
                    return;
                }
                if may(at) && cut.apply(message, toolbox) {
                    let now = prompt::tokens_of(message, tokens);
                    total = total.saturating_sub(*size) + now;
                    *size = now;
                }
            }
        }
    };
    let is_call = |message: &Message| matches!(message, Message::Calls { .. });
    let last = messages.iter().rposition(is_call).unwrap_or(messages.len());
    let before = |at: usize| at < last;
    cut(messages, &mut sizes, &[(&before, Cut::Thoughts), (&before, Cut::Result), (&|_| true, Cut::Arguments)]);
    past.give_way(messages, &mut sizes, room, labels.privacy, tokens);
    let question = messages.iter().rposition(|message| matches!(message, Message::Text { role: Role::User, .. }));
    let newest = messages.len().saturating_sub(1);
    let behind = |at: usize| question.is_none_or(|question| at > question);
    cut(messages, &mut sizes, &[(&behind, Cut::Words), (&|at| at < newest, Cut::Result)]);
    let mut total: usize = sizes.iter().sum();
    if total > room
        && let (Some(message @ Message::Result { .. }), Some(size)) = (messages.last_mut(), sizes.last())
    {
        let others = total.saturating_sub(*size);
        shorten(message, room.saturating_sub(others), tokens);
        total = others + prompt::tokens_of(message, tokens);
    }
    (total > room).then_some(Over { remaining: room as u64, requested: total as u64, at_point: None })
}

/// What gives way in a step.
#[derive(Clone, Copy)]
enum Cut {
    Thoughts,
    Result,
    Arguments,
    Words,
}

impl Cut {
    /// Cuts a message; returns whether anything gave way.
    fn apply(self, message: &mut Message, toolbox: &Toolbox) -> bool {
        match (self, message) {
            (Cut::Result, Message::Result { tool, text, .. }) if is_long(text) => {
                *text = left_out(text, tool, toolbox);
                true
            }
            (Cut::Thoughts, Message::Calls { thinking, .. }) => {
                // What is signed is whole, or not there.
                std::mem::take(thinking) != Thinking::default()
            }
            (Cut::Arguments, Message::Calls { calls, .. }) => {
                // All of them give way, not only the first.
                calls.iter_mut().map(cut_arguments).filter(|cut| *cut).count() > 0
            }
            (Cut::Words, Message::Text { text, .. } | Message::Calls { text, .. }) if is_long(text) => {
                *text =
                    format!("{}… [The rest of {} characters is left out, for lack of room.]", head(text), length(text));
                true
            }
            (Cut::Thoughts | Cut::Result | Cut::Arguments | Cut::Words, _) => false,
        }
    }
}

/// Says in place of a result how long it was, and how to come by it again.
fn left_out(text: &str, tool: &str, toolbox: &Toolbox) -> String {
    let again = match toolbox.get(tool) {
        Some(tool) if !tool.effect.changes() => "Make the same call again if it is still needed.",
        Some(_) | None => "Do not repeat the call for it: it was carried out.",
    };
    format!(
        "{}… [The rest of {} characters of {tool} is left out, for lack of room. {again}]",
        head(text),
        length(text)
    )
}

fn cut_arguments(call: &mut Call) -> bool {
    let mut cut = false;
    for value in call.args.values_mut() {
        let long = value.as_str().filter(|text| is_long(text));
        if let Some(text) = long {
            let words = format!("{}… [{} characters; left out, for lack of room]", head(text), length(text));
            *value = Value::String(words);
            cut = true;
        }
    }
    cut
}

/// Cuts a result to so many tokens, and says so.
fn shorten(message: &mut Message, room: usize, tokens: &dyn CountTokens) {
    let Message::Result { text, .. } = &*message else { return };
    let (all, count) = (length(text), tokens.count(text).max(1));
    let mut keep = all;
    let mut fits = message.clone();
    // Characters and tokens are not in step: the part is made smaller until it fits.
    while prompt::tokens_of(&fits, tokens) > room && keep > QUOTED {
        keep = (keep.saturating_mul(room) / count.max(room + 1)).min(keep / 2).max(QUOTED);
        if let (Message::Result { text: kept, .. }, Message::Result { text, .. }) = (&mut fits, &*message) {
            let head: String = text.chars().take(keep).collect();
            *kept = format!("{head}\n[cut for lack of room: {keep} of {all} characters are shown]");
        }
    }
    *message = fits;
}

fn is_long(text: &str) -> bool {
    text.chars().nth(SHORT).is_some()
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn head(text: &str) -> String {
    text.chars().take(QUOTED).collect()
}
