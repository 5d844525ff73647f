//! The connection with the owner of the store. It is there whenever somebody owns it, so that the user sees this program
//! in Emacs and can let it do more; where nobody does, this process owns it as long as something is under way.

use crate::domain::sexp::reader::Sexp;
use crate::edge::acp::agent::Event;
use crate::edge::peers::greeting::Said;
use crate::edge::peers::home::{Home, connect};
use crate::edge::peers::join::{Joined, join};
use crate::edge::peers::pulse::{self, Do, SILENCE, Silence};
use crate::edge::peers::stream::write;
use crate::edge::store::owner_of;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

/// How often it is looked whether somebody owns the store by now: a small read.
const LOOK: Duration = Duration::from_secs(2);
/// What is said when the owner ends in the middle.
const GONE: &str = "the process that has the notes open ended meanwhile; look what came of this before you ask again: \
                    passepartout plans list --all";
/// What is said when the user has ended this connection.
const SENT_AWAY: &str = "the user has ended the connection with this editor; ask again to come back";
/// What is said when it says nothing.
const LOOK_AGAIN: &str = "then look what came of this before you ask again: passepartout plans list --all. Nothing is \
                          sent twice.";

/// What the agent has to say.
#[derive(Debug)]
pub(super) enum Out {
    /// Something for the core, over the connection of this number.
    Say(u64, String),
    /// A connection is wanted.
    Want,
    /// Nothing is under way any more.
    Rest,
}

/// Lives as long as somebody listens.
pub(super) async fn live(
    store: &Path,
    this: Said,
    home: Arc<dyn Home>,
    events: mpsc::Sender<Event>,
    mut out: mpsc::UnboundedReceiver<Out>,
) {
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Who was sent away comes again when something is asked, and not by itself.
    let mut looks = true;
    let mut number = 0;
    loop {
        let wanted = tokio::select! {
            said = out.recv() => match said {
                Some(Out::Want) => true,
                // It was for the connection before.
                Some(Out::Say(..) | Out::Rest) => continue,
                None => return,
            },
            _ = look.tick(), if looks => false,
        };
        let joined = match wanted {
            true => connect(store, &this, home.as_ref()).await,
            false if owner_of(store).is_none() => continue,
            false => match join(store, &this).await {
                Ok(joined) => Ok(joined),
                // It is tried again when it is wanted, and then it is said.
                Err(_) => continue,
            },
        };
        let event = match joined {
            Ok(joined) => {
                number += 1;
                if events.send(Event::Up(number)).await.is_err() {
                    return;
                }
                let ended = relay((joined, number), home.as_ref(), &events, &mut out).await;
                home.end(matches!(ended, Ended::Closed)).await;
                looks = !matches!(ended, Ended::SentAway);
                match ended {
                    Ended::Closed => return,
                    Ended::SentAway => Event::Down(SENT_AWAY.to_string()),
                    Ended::Rested => continue,
                    Ended::Lost(why) => Event::Down(why),
                }
            }
            Err(why) => Event::Unreached(why),
        };
        if events.send(event).await.is_err() {
            return;
        }
    }
}

/// How a connection ended.
enum Ended {
    /// Nobody listens any more.
    Closed,
    /// The store was owned here, and need not be any more.
    Rested,
    /// The owner refused to go on with it.
    SentAway,
    /// It was lost, and why.
    Lost(String),
}

/// Passes messages on both ways until the connection ends.
async fn relay(
    (mut joined, number): (Joined, u64),
    home: &dyn Home,
    events: &mpsc::Sender<Event>,
    out: &mut mpsc::UnboundedReceiver<Out>,
) -> Ended {
    let (mut silence, mut dismissed) = (Silence::default(), false);
    loop {
        let said = tokio::select! {
            heard = tokio::time::timeout(silence.patience(), joined.incoming.next()) => match heard {
                Ok(Ok(Some(text))) => {
                    silence.heard();
                    // What it was asked came to its end before it said that it leaves.
                    if pulse::is_alive(&text) || pulse::is_leaving(&text) {
                        continue;
                    }
                    match hand_on(&text, events).await {
                        Some(last) => dismissed |= last,
                        None => return Ended::Closed,
                    }
                    continue;
                }
                Ok(Ok(None)) if dismissed => return Ended::SentAway,
                Ok(Ok(None)) => return Ended::Lost(GONE.to_string()),
                Ok(Err(broken)) => return Ended::Lost(broken.to_string()),
                Err(_) => match silence.go_on() {
                    Do::Ask => pulse::ping(),
                    Do::Tell => return Ended::Lost(pulse::diagnosis(joined.process, LOOK_AGAIN)),
                },
            },
            said = out.recv() => match said {
                Some(Out::Say(to, text)) if to == number => text,
                // It was for the connection before, and was said to be lost with it.
                Some(Out::Say(..)) => continue,
                Some(Out::Want) => match events.send(Event::Up(number)).await {
                    Ok(()) => continue,
                    Err(_) => return Ended::Closed,
                },
                Some(Out::Rest) => match home.is_here() {
                    true => return Ended::Rested,
                    false => continue,
                },
                None => return Ended::Closed,
            },
        };
        match tokio::time::timeout(SILENCE, write(&mut joined.writer, &said)).await {
            Ok(Ok(())) => {}
            Ok(Err(broken)) => return Ended::Lost(broken.to_string()),
            Err(_) => return Ended::Lost(pulse::diagnosis(joined.process, LOOK_AGAIN)),
        }
    }
}

/// Hands on a message, and returns whether it sends this client away; `None` when nobody listens.
async fn hand_on(text: &str, events: &mpsc::Sender<Event>) -> Option<bool> {
    let event = match Sexp::read(text) {
        Ok(message) => Event::Heard(message),
        Err(why) => Event::Down(format!("a message of the core could not be read: {why}")),
    };
    let dismisses = match &event {
        Event::Heard(message) => message.get("payload").is_some_and(|payload| payload.flag_at("dismissed")),
        Event::Line(_) | Event::Up(_) | Event::Down(_) | Event::Unreached(_) => false,
    };
    events.send(event).await.ok().map(|()| dismisses)
}
