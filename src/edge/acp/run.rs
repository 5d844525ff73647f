//! The loop: lines of the editor and messages of the core go to the agent, and what it wants said is said here. Standard
//! output holds lines of the protocol and nothing else.

use crate::edge::acp::agent::{Agent, Effect, Event, LONGEST};
use crate::edge::acp::link::{Out, live};
use crate::edge::json_lines::next;
use crate::edge::peers::greeting::{As, Said};
use crate::edge::peers::home::Home;
use crate::edge::thread;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// So many lines wait on their way; who sends more waits.
const WAITING: usize = 256;
/// The stack of a thread that reads or writes, in bytes.
const STACK: usize = 1 << 20;
/// How long an editor that takes nothing is waited for.
const STALLED: Duration = Duration::from_secs(90);
/// How long the last lines may take.
const LAST: Duration = Duration::from_secs(2);

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The editor has closed its end.
    Closed,
    /// By a signal.
    Signal,
}

/// Answers lines until the editor goes.
///
/// # Errors
/// In words, when the system gives no thread, and when the editor takes nothing any more.
pub async fn run(store: PathBuf, home: Arc<dyn Home>) -> Result<Ended, String> {
    let failed = |why: std::io::Error| format!("the editor cannot be heard: {why}");
    let mut signals = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()]
        .map(signal)
        .into_iter()
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    let mut lines = hear().map_err(failed)?;
    let (told, written) = speak().map_err(failed)?;
    let (sender, mut events) = mpsc::channel(WAITING);
    let (out, mut outgoing) = {
        let (out, outgoing) = mpsc::unbounded_channel();
        (out, Some(outgoing))
    };
    let mut agent = Agent::default();
    let mut link: Option<JoinHandle<()>> = None;
    let ended = loop {
        let [terminate, hangup, interrupt] = signals.as_mut_slice() else {
            break Err("the signals are not there".to_string());
        };
        let event = tokio::select! {
            biased;
            _ = terminate.recv() => break Ok(Ended::Signal),
            _ = hangup.recv() => break Ok(Ended::Signal),
            _ = interrupt.recv() => break Ok(Ended::Signal),
            () = told.closed() => break Ok(Ended::Closed),
            line = lines.recv() => match line {
                Some(line) => Event::Line(line),
                None => break Ok(Ended::Closed),
            },
            Some(event) = events.recv() => event,
        };
        let mut stalled = false;
        for effect in agent.take(event) {
            match effect {
                Effect::Tell(message) => {
                    let sent = tokio::time::timeout(STALLED, told.send(message.to_string())).await;
                    stalled |= sent.is_err();
                }
                // The connection says by itself that it is gone.
                Effect::Say(text) => drop(out.send(Out::Say(text))),
                Effect::Want => drop(out.send(Out::Want)),
                Effect::Rest => drop(out.send(Out::Rest)),
                Effect::Greet(name) => {
                    // Once: an editor that greets again is who it was.
                    let Some(outgoing) = outgoing.take() else { continue };
                    let this = Said { shows_plans: true, ..Said::named(As::Acp, &name) };
                    let (store, home, sender) = (store.clone(), home.clone(), sender.clone());
                    link = Some(tokio::spawn(async move { live(&store, this, home, sender, outgoing).await }));
                }
            }
            if stalled {
                break;
            }
        }
        if stalled {
            break Err("the editor has taken nothing for 90 seconds".to_string());
        }
    };
    if let Some(link) = link {
        // What is under way is stopped when its connection ends.
        link.abort();
        let _ = link.await;
    }
    drop(told);
    // An editor that is gone takes nothing.
    let _ = tokio::time::timeout(LAST, written).await;
    ended
}

/// Reads the editor's lines on a thread of their own; `None` stands for one that is too long.
fn hear() -> std::io::Result<mpsc::Receiver<Option<Vec<u8>>>> {
    let (sender, lines) = mpsc::channel(WAITING);
    thread::spawn("passepartout-hear", STACK, move || {
        let mut input = std::io::stdin().lock();
        while let Ok(Some(line)) = next(&mut input, LONGEST) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    })?;
    Ok(lines)
}

/// Writes lines to the editor on a thread of their own, and says when all are written.
fn speak() -> std::io::Result<(mpsc::Sender<String>, oneshot::Receiver<()>)> {
    let (told, mut lines) = mpsc::channel::<String>(WAITING);
    let (done, written) = oneshot::channel();
    thread::spawn("passepartout-speak", STACK, move || {
        let mut output = std::io::stdout().lock();
        while let Some(line) = lines.blocking_recv() {
            if writeln!(output, "{line}").and_then(|()| output.flush()).is_err() {
                break;
            }
        }
        // Nobody may wait any more.
        let _ = done.send(());
    })?;
    Ok((told, written))
}
