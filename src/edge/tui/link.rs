//! The connection with the owner of the store: made, kept, and made again after ever longer pauses.
//!
//! When nobody owns the store, this process does as long as it runs, and joins itself like any other client.

use crate::domain::sexp::reader::Sexp;
use crate::edge::peers::greeting::{As, Said};
use crate::edge::peers::home::{Home, connect};
use crate::edge::peers::join::Joined;
use crate::edge::peers::pulse::{self, Do, SILENCE, Silence};
use crate::edge::peers::stream::write;
use crate::edge::tui::state::{Event, Linked};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

/// The first and the longest pause before it is tried again, in seconds.
const PAUSES: (u64, u64) = (1, 16);
/// A connection that lasted so long was a good one: the pauses begin anew.
const GOOD: Duration = Duration::from_secs(10);

/// What the loop has to say.
#[derive(Debug)]
pub enum Out {
    /// Something for the core.
    Say(String),
    /// The connection is to be made anew.
    Again,
}

/// Lives as long as somebody listens.
pub async fn live(store: &Path, home: Arc<dyn Home>, events: mpsc::Sender<Event>, mut out: mpsc::Receiver<Out>) {
    let mut pause = PAUSES.0;
    loop {
        if events.send(Event::Linked(Linked::Looking)).await.is_err() {
            return;
        }
        let begun = Instant::now();
        let ended = match connect(store, &Said::plain(As::Tui), home.as_ref()).await {
            Ok(joined) => {
                let (version, here) = (env!("CARGO_PKG_VERSION").to_string(), home.is_here());
                let up = Linked::Up { version, here, doubt: joined.doubt.clone() };
                // What was said to the one before is not for this one.
                while out.try_recv().is_ok() {}
                if events.send(Event::Linked(up)).await.is_err() {
                    return;
                }
                relay(joined, &events, &mut out).await
            }
            Err(why) => Ended::Lost(why),
        };
        let why = match ended {
            Ended::Closed => return,
            Ended::Again => {
                pause = PAUSES.0;
                if events.send(Event::Linked(Linked::Down("as you asked".to_string(), 0))).await.is_err() {
                    return;
                }
                continue;
            }
            Ended::Lost(why) => why,
        };
        if begun.elapsed() > GOOD {
            pause = PAUSES.0;
        }
        if events.send(Event::Linked(Linked::Down(why, pause))).await.is_err() {
            return;
        }
        let until = sleep(Duration::from_secs(pause));
        tokio::pin!(until);
        loop {
            tokio::select! {
                () = &mut until => break,
                said = out.recv() => match said {
                    Some(Out::Again) => break,
                    // There is nobody to hear it.
                    Some(Out::Say(_)) => {}
                    None => return,
                },
            }
        }
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// How a connection ended.
enum Ended {
    /// Nobody listens any more.
    Closed,
    /// It is to be made anew.
    Again,
    /// It was lost, and why.
    Lost(String),
}

/// Passes messages on both ways until the connection ends.
async fn relay(mut joined: Joined, events: &mpsc::Sender<Event>, out: &mut mpsc::Receiver<Out>) -> Ended {
    let mut silence = Silence::default();
    let gone = || Ended::Lost("the process that has the notes open has ended".to_string());
    loop {
        let said = tokio::select! {
            heard = tokio::time::timeout(silence.patience(), joined.incoming.next()) => match heard {
                Ok(Ok(Some(text))) => {
                    if silence.heard() && events.send(Event::Linked(Linked::Back)).await.is_err() {
                        return Ended::Closed;
                    }
                    if !pulse::is_alive(&text) && !hand_on(&text, events).await {
                        return Ended::Closed;
                    }
                    continue;
                }
                Ok(Ok(None)) => return gone(),
                Ok(Err(broken)) => return Ended::Lost(broken.to_string()),
                Err(_) => match silence.go_on() {
                    Do::Ask => pulse::ping(),
                    Do::Tell => {
                        let why = pulse::diagnosis(joined.process, "then this terminal goes on. Nothing is sent twice.");
                        if events.send(Event::Linked(Linked::Silent(why))).await.is_err() {
                            return Ended::Closed;
                        }
                        pulse::ping()
                    }
                },
            },
            said = out.recv() => match said {
                Some(Out::Say(text)) => text,
                Some(Out::Again) => return Ended::Again,
                None => return Ended::Closed,
            },
        };
        match tokio::time::timeout(SILENCE, write(&mut joined.writer, &said)).await {
            Ok(Ok(())) => {}
            Ok(Err(broken)) => return Ended::Lost(broken.to_string()),
            Err(_) => return Ended::Lost("the process that has the notes open takes nothing".to_string()),
        }
    }
}

/// Hands on a message; one that cannot be read is said. Returns whether somebody listens.
async fn hand_on(text: &str, events: &mpsc::Sender<Event>) -> bool {
    let event = match Sexp::read(text) {
        Ok(message) => Event::Heard(message),
        Err(why) => Event::Told(format!("a message of the core could not be read: {why}"), true),
    };
    events.send(event).await.is_ok()
}
