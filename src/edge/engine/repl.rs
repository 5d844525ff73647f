//! The REPL: Lisp that the user types is judged as any other, and evaluated in the worker of its session. No model takes
//! part.

use crate::domain::action::Action;
use crate::domain::id::TurnId;
use crate::domain::label::{Labels, Privacy, Trust};
use crate::domain::lisp::repl::{HELP, Typed, inspected, inspection, typed};
use crate::domain::outside::{Outside, Piece};
use crate::domain::port::{Sink, Streamed};
use crate::domain::signal::{Body, Origin};
use crate::domain::turn::{Conversation, Ending, TurnReport};
use crate::edge::engine::Engine;
use crate::edge::engine::authority::Order;
use crate::edge::engine::inspect::MASKS;
use crate::edge::engine::record::Finished;
use crate::edge::engine::turns::{first_line, labels_of_words};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::Arc;

/// Stands at the end of what was read of a file that is longer than is read at once.
const CUT: &str = "\n[cut: ";

impl Engine {
    /// Carries out a line of the REPL: Lisp, or one of its commands. `folder` is where it was typed. Dropping the future
    /// stops it, and ends the worker with what it kept.
    pub async fn repl(
        self: &Arc<Self>,
        origin: &Origin,
        line: &str,
        folder: Option<PathBuf>,
        turn: TurnId,
        sink: Sink<'_>,
    ) -> Finished {
        let said = match typed(line) {
            _ if !origin.rights.propose => Err("This channel may not ask for anything.".to_string()),
            Typed::Help => Ok(HELP.to_string()),
            Typed::Wrong(why) => Err(why),
            Typed::Eval(code) => {
                return shown(self.evaluated(origin, (line, code), words_of(origin, line), folder, turn).await, sink);
            }
            Typed::Inspect(name) => {
                let code = inspection(name);
                let mut finished = self.evaluated(origin, (line, &code), words_of(origin, line), folder, turn).await;
                if let Some(words) = inspected(name, &finished.report.text) {
                    finished.report.text = words;
                }
                return shown(finished, sink);
            }
            Typed::Load(file) => {
                let read = self.read_for(origin, (line, file), folder.clone()).await;
                match read {
                    Ok((code, (labels, mut outside))) => {
                        // Who chose the file has a part in what it does.
                        let (own, by) = words_of(origin, line);
                        outside.join(&by);
                        let from = (labels.join(own), outside);
                        return shown(self.evaluated(origin, (line, &code), from, folder, turn).await, sink);
                    }
                    Err(why) => Err(why),
                }
            }
        };
        let mut report = TurnReport::of(Conversation::empty());
        match said {
            Ok(text) => report.text = text,
            Err(why) => {
                report.ending = Ending::Failed;
                report.notice = Some(why);
            }
        }
        sink(Streamed::Text(&report.text));
        let (session, at) = (origin.session.clone(), self.clock.now());
        Finished { turn, session, at, asked: first_line(line), seconds: 0.0, report }
    }

    async fn evaluated(
        self: &Arc<Self>,
        origin: &Origin,
        (line, code): (&str, &str),
        (labels, outside): (Labels, Outside),
        folder: Option<PathBuf>,
        turn: TurnId,
    ) -> Finished {
        let args = Map::from_iter([("code".to_string(), Value::String(code.to_string()))]);
        let why = "You typed it in the REPL.";
        let led = outside.led(&args);
        match Action::new(&self.toolbox(), "eval-lisp", args, Some(why), labels) {
            Ok(action) => {
                let action = action.led_by(led);
                self.ordered(origin, turn, order(line, folder), action).await
            }
            Err(wrong) => {
                let mut report = TurnReport::of(Conversation::empty());
                (report.ending, report.notice) = (Ending::Failed, Some(wrong.0));
                let (session, at) = (origin.session.clone(), self.clock.now());
                Finished { turn, session, at, asked: first_line(line), seconds: 0.0, report }
            }
        }
    }

    /// Reads a file for the worker, which sees none: judged as any other reading, in a turn of its own.
    ///
    /// # Errors
    /// In words, when it was not read, or not all of it.
    async fn read_for(
        self: &Arc<Self>,
        origin: &Origin,
        (line, file): (&str, &str),
        folder: Option<PathBuf>,
    ) -> Result<(String, (Labels, Outside)), String> {
        let args = Map::from_iter([("path".to_string(), Value::String(file.to_string()))]);
        let why = "You asked in the REPL to load it.";
        let action =
            Action::new(&self.toolbox(), "read-file", args, Some(why), Labels::USER).map_err(|wrong| wrong.0)?;
        let finished = self.ordered(origin, self.new_turn(), order(line, folder), action).await;
        let report = finished.report;
        let labels = report.conversation.labels;
        if labels.privacy > Privacy::Open {
            self.mark_private(&origin.session, labels.privacy);
        }
        match report.ending {
            Ending::Answered if report.text.contains(CUT) => Err(format!("{file} is too long to be loaded at once.")),
            // What stands for a secret was not written by the user: evaluated, it would mean something else.
            Ending::Answered if MASKS.iter().any(|mask| report.text.contains(mask)) => Err(format!(
                "{file} holds a secret, or the mask of one, so nothing was loaded: what is read is masked."
            )),
            Ending::Answered => Ok((report.text, (labels, report.conversation.outside))),
            Ending::Parked => Err(format!("Whether {file} may be read waits as a flight plan, so nothing was loaded.")),
            Ending::Interrupted | Ending::Failed => {
                Err(report.notice.unwrap_or_else(|| format!("{file} was not read.")))
            }
        }
    }
}

/// Returns the labels of a line, and what of it came from outside: all of it, from a program that may not decide.
fn words_of(origin: &Origin, line: &str) -> (Labels, Outside) {
    let (labels, mut outside) = (labels_of_words(origin, Privacy::Open), Outside::default());
    if labels.trust == Trust::Untrusted {
        outside.take(&Piece::new(labels.provenance.phrase(), line, labels.privacy));
    }
    (labels, outside)
}

/// Tells what a line came to.
fn shown(finished: Finished, sink: Sink<'_>) -> Finished {
    sink(Streamed::Text(&finished.report.text));
    finished
}

fn order(line: &str, folder: Option<PathBuf>) -> Order {
    Order { body: Body::ReplEval { code: line.to_string() }, asked: first_line(line), folder }
}
