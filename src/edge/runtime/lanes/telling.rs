//! What a turn says and thinks, on its way to those who hear it, and how private its end is said to be.

use crate::domain::inert::Inert;
use crate::domain::label::Privacy;
use crate::domain::markdown::Markdown;
use crate::domain::port::Streamed;
use crate::domain::sexp::plist::Plist;
use crate::edge::runtime::lanes::Markup;
use crate::edge::runtime::lanes::turn::Turn;

/// What a client hears of a turn that drew on what it may not see.
pub(super) const HIDDEN: &str = "What came of this draws on what is private, so it is not told here. The user can let this client see such \
                      things, in Emacs (M-x passepartout-clients); then ask again.";

/// Says in the end of a turn how private it is.
pub(super) fn marked(payload: Plist, privacy: Privacy) -> Plist {
    match privacy {
        Privacy::Open => payload,
        Privacy::Private => payload.flag("private", true),
        Privacy::Warn | Privacy::Ask => payload.text("private", privacy.word()),
    }
}

/// Words of a model on their way to those who hear them.
enum Words {
    AsWritten(Inert),
    Org(Box<Markdown>),
}

impl Words {
    fn of(markup: Markup) -> Words {
        match markup {
            Markup::AsWritten => Words::AsWritten(Inert::default()),
            Markup::Org => Words::Org(Box::default()),
        }
    }

    fn push(&mut self, text: &str) -> String {
        match self {
            Words::AsWritten(inert) => inert.push(text),
            Words::Org(markdown) => markdown.push(text),
        }
    }

    fn finish(&mut self) -> String {
        match self {
            Words::AsWritten(inert) => inert.finish(),
            Words::Org(markdown) => markdown.finish(),
        }
    }
}

/// What a turn says and thinks, on its way to those who hear it: inert, and with thoughts counted.
pub(super) struct Telling<'a> {
    turn: &'a Turn,
    text: Words,
    thoughts: Inert,
    /// Thoughts that are not counted yet.
    uncounted: String,
    /// The tokens of the thoughts before those; `None` while nothing is thought.
    tokens: Option<usize>,
}

/// So many bytes of thoughts are counted at a time.
const COUNTED: usize = 4096;

impl<'a> Telling<'a> {
    pub(super) fn new(turn: &'a Turn) -> Self {
        let text = Words::of(turn.markup);
        Telling { turn, text, thoughts: Inert::default(), uncounted: String::new(), tokens: None }
    }

    pub(super) fn hear(&mut self, piece: Streamed<'_>) {
        match piece {
            _ if piece.is_empty() => {}
            Streamed::Text(text) => {
                self.end_thoughts();
                self.turn.stream(Streamed::Text(&self.text.push(text)));
            }
            Streamed::Thought(text) => {
                if self.tokens.is_none() {
                    // What was held back of the words before comes before.
                    self.turn.stream(Streamed::Text(&self.text.finish()));
                    self.tokens = Some(0);
                }
                self.uncounted.push_str(text);
                if self.uncounted.len() > COUNTED {
                    self.count();
                }
                self.turn.stream(Streamed::Thought(&self.thoughts.push(text)));
            }
            Streamed::Act(act) => {
                self.end_thoughts();
                // What was held back of the words before comes before.
                self.turn.stream(Streamed::Text(&self.text.finish()));
                self.turn.tell_act(act);
            }
        }
    }

    fn count(&mut self) {
        let more = self.turn.engine.tokens.count(&self.uncounted);
        self.tokens = Some(self.tokens.unwrap_or(0) + more);
        self.uncounted.clear();
    }

    /// Says that what was thought up to now is over, and how long it was.
    fn end_thoughts(&mut self) {
        if self.tokens.is_none() {
            return;
        }
        self.count();
        self.turn.stream(Streamed::Thought(&self.thoughts.finish()));
        self.turn.tell_thought(self.tokens.take());
    }

    pub(super) fn finish(mut self) {
        self.end_thoughts();
    }
}

impl Drop for Telling<'_> {
    /// However it ends, what was held back is told, and what is open is ended: code would go on in what comes next.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.turn.stream(Streamed::Text(&self.text.finish()));
        }
    }
}
