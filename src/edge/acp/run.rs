//! The loop: lines of the editor and messages of the core go to the agent, and what it wants said is said here. Standard
//! output holds lines of the protocol and nothing else.

use crate::edge::acp::agent::{Agent, Effect, Event, LONGEST};
use crate::edge::acp::link::{Out, live};
use crate::edge::json_lines::next;
use crate::edge::peers::greeting::{As, Said};
use crate::edge::peers::home::Home;
use crate::edge::thread;
use std::future::poll_fn;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

/// So many lines wait on their way; who sends more waits.
const WAITING: usize = 256;
/// As many bytes wait in lines on their way, in each direction; one line may be as long.
const BYTES: usize = 2 * LONGEST;
/// The stack of a thread that reads or writes, in bytes.
const STACK: usize = 1 << 20;
/// How long an editor that takes nothing is waited for.
const STALLED: Duration = Duration::from_secs(90);
/// How long the last lines may take.
const LAST: Duration = Duration::from_secs(1);

/// Something on its way, with the room that it takes there.
struct Weighed<T>(T, OwnedSemaphorePermit);

/// Waits until there is room for so many bytes.
async fn room(bytes: &Arc<Semaphore>, wanted: usize) -> Option<OwnedSemaphorePermit> {
    let wanted = u32::try_from(wanted.min(BYTES)).ok()?;
    bytes.clone().acquire_many_owned(wanted).await.ok()
}

/// The editor's end for what it is told.
struct Told {
    lines: mpsc::Sender<Weighed<String>>,
    bytes: Arc<Semaphore>,
}

impl Told {
    /// Hands a line on to the editor; an editor that takes nothing holds nobody up who wants this to end.
    async fn hand_on(&self, line: String, ends: impl Future<Output = ()>) -> Handed {
        let handed = async {
            let room = room(&self.bytes, line.len()).await?;
            self.lines.send(Weighed(line, room)).await.ok()
        };
        tokio::select! {
            biased;
            () = ends => Handed::Ends,
            handed = tokio::time::timeout(STALLED, handed) => match handed {
                // That the editor has gone is heard of by itself.
                Ok(_) => Handed::On,
                Err(_) => Handed::Stalled,
            },
        }
    }
}

/// What became of a line for the editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handed {
    /// It is on its way.
    On,
    /// The editor has taken nothing for too long.
    Stalled,
    /// This is to end.
    Ends,
}

/// The signals that end this.
struct Signals(Vec<Signal>);

impl Signals {
    fn listen() -> std::io::Result<Signals> {
        let all = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()];
        Ok(Signals(all.map(signal).into_iter().collect::<Result<_, _>>()?))
    }

    async fn any(&mut self) {
        poll_fn(|context| match self.0.iter_mut().any(|signal| signal.poll_recv(context).is_ready()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }
}

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
    let mut signals = Signals::listen().map_err(failed)?;
    let mut lines = hear().map_err(failed)?;
    let (told, written) = speak().map_err(failed)?;
    let (sender, mut events) = mpsc::channel(WAITING);
    let (out, mut outgoing) = {
        let (out, outgoing) = mpsc::unbounded_channel();
        (out, Some(outgoing))
    };
    let mut agent = Agent::default();
    let mut link: Option<JoinHandle<()>> = None;
    let ended = 'all: loop {
        let event = tokio::select! {
            biased;
            () = signals.any() => break Ok(Ended::Signal),
            () = told.lines.closed() => break Ok(Ended::Closed),
            line = lines.recv() => match line {
                Some(Weighed(line, _)) => Event::Line(line),
                None => break Ok(Ended::Closed),
            },
            Some(event) = events.recv() => event,
        };
        for effect in agent.take(event) {
            match effect {
                Effect::Tell(message) => match told.hand_on(message.to_string(), signals.any()).await {
                    Handed::On => {}
                    Handed::Stalled => break 'all Err("the editor has taken nothing for 90 seconds".to_string()),
                    Handed::Ends => break 'all Ok(Ended::Signal),
                },
                // The connection says by itself that it is gone.
                Effect::Say(link, text) => drop(out.send(Out::Say(link, text))),
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
fn hear() -> std::io::Result<mpsc::Receiver<Weighed<Option<Vec<u8>>>>> {
    let (sender, lines) = mpsc::channel(WAITING);
    let (bytes, runtime) = (Arc::new(Semaphore::new(BYTES)), Handle::current());
    thread::spawn("passepartout-hear", STACK, move || {
        let mut input = std::io::stdin().lock();
        while let Ok(Some(line)) = next(&mut input, LONGEST) {
            let wanted = line.as_ref().map_or(1, Vec::len);
            let Some(room) = runtime.block_on(room(&bytes, wanted)) else { return };
            if sender.blocking_send(Weighed(line, room)).is_err() {
                return;
            }
        }
    })?;
    Ok(lines)
}

/// Writes lines to the editor on a thread of their own, and says when all are written.
fn speak() -> std::io::Result<(Told, oneshot::Receiver<()>)> {
    let (lines, mut coming) = mpsc::channel::<Weighed<String>>(WAITING);
    let (done, written) = oneshot::channel();
    thread::spawn("passepartout-speak", STACK, move || {
        let mut output = std::io::stdout().lock();
        while let Some(Weighed(line, _room)) = coming.blocking_recv() {
            if writeln!(output, "{line}").and_then(|()| output.flush()).is_err() {
                break;
            }
        }
        // Nobody may wait any more.
        let _ = done.send(());
    })?;
    Ok((Told { lines, bytes: Arc::new(Semaphore::new(BYTES)) }, written))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An editor that takes nothing, with room for so many lines and bytes.
    fn told(lines: usize, bytes: usize) -> (Told, mpsc::Receiver<Weighed<String>>) {
        let (lines, coming) = mpsc::channel(lines);
        (Told { lines, bytes: Arc::new(Semaphore::new(bytes)) }, coming)
    }

    #[tokio::test(start_paused = true)]
    async fn an_editor_that_takes_nothing_holds_nobody_up_and_is_given_up() {
        let never = || std::future::pending::<()>();
        // Lines are full, or bytes are.
        for (told, _coming) in [told(1, BYTES), told(9, 5)] {
            assert_eq!(told.hand_on("12345".to_string(), never()).await, Handed::On);
            let began = tokio::time::Instant::now();
            assert_eq!(told.hand_on("12345".to_string(), async {}).await, Handed::Ends);
            assert_eq!(began.elapsed(), Duration::ZERO, "who wants this to end does not wait");
            assert_eq!(told.hand_on("12345".to_string(), never()).await, Handed::Stalled);
            assert_eq!(began.elapsed(), STALLED);
        }
        // What was taken makes room, and a line that is longer than all the room fits in.
        let (told, mut coming) = told(9, BYTES);
        for _ in 0..3 {
            assert_eq!(told.hand_on("x".repeat(BYTES + 1), never()).await, Handed::On);
            assert_eq!(coming.recv().await.map(|Weighed(line, _)| line.len()), Some(BYTES + 1));
        }
    }
}
