//! The loop: keys, messages and signals go to the state; what it wants done is done here.

use crate::edge::peers::home::Home;
use crate::edge::random;
use crate::edge::stderr::complain;
use crate::edge::thread::{self, in_place};
use crate::edge::tui::aside::{self, Aside, CameBack, Terms};
use crate::edge::tui::job::Leash;
use crate::edge::tui::keep;
use crate::edge::tui::kept::Conversations;
use crate::edge::tui::link::{Out, live};
use crate::edge::tui::screen::Screen;
use crate::edge::tui::state::{Effect, Event, State};
use crate::edge::tui::theme::Theme;
use parking_lot::FairMutex;
use ratatui::crossterm::event::{self, Event as Input, MouseEventKind};
use rustix::process::Signal as Sent;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

/// So many events wait at most; who sends more waits itself.
const WAITING: usize = 1024;
/// What comes by the connection is drawn no more often than this.
const FRAME: Duration = Duration::from_millis(33);
/// What moves has a new picture as often.
const TICK: Duration = Duration::from_millis(120);
/// How long a key is waited for before it is looked whether anybody still wants one.
const KEYS: Duration = Duration::from_millis(100);
/// How long what has the terminal may take to end when a signal ends this, once and once more.
const ENDS: Duration = Duration::from_millis(600);
/// So many events are taken before one picture.
const AT_ONCE: usize = 512;

/// Why Ctrl+Z does not stop it.
const STAYS: &str = "not stopped: the core runs in this terminal, for others too; /quit leaves";

/// What it begins with.
pub struct Setup {
    /// The colours.
    pub theme: Theme,
    /// The store's folder.
    pub store: PathBuf,
    /// The cache folder, where what was typed is kept.
    pub cache: PathBuf,
    /// The folder of the project.
    pub project: Option<String>,
    /// The options that say where things are with which this was started, each behind a blank.
    pub options: String,
    /// Where others send what is to be told.
    pub told: (mpsc::Sender<Event>, mpsc::Receiver<Event>),
}

/// Makes the way by which others tell something.
pub fn ears() -> (mpsc::Sender<Event>, mpsc::Receiver<Event>) {
    mpsc::channel(WAITING)
}

/// The signals that it hears: what ends it, apart from the user, and what stops it.
pub struct Signals {
    ends: [Signal; 3],
    stop: Signal,
    go_on: Signal,
}

impl Signals {
    /// From now on none of them does anything by itself.
    ///
    /// # Errors
    /// When the system does not say when one comes.
    pub fn new() -> std::io::Result<Signals> {
        let ends = [signal(SignalKind::terminate())?, signal(SignalKind::hangup())?, signal(SignalKind::interrupt())?];
        let stop = signal(SignalKind::from_raw(libc::SIGTSTP))?;
        Ok(Signals { ends, stop, go_on: signal(SignalKind::from_raw(libc::SIGCONT))? })
    }

    /// Waits until one comes that ends a program.
    pub async fn end(&mut self) {
        let [terminate, hangup, interrupt] = &mut self.ends;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}

/// Reads the terminal's keys on a thread of their own, while nobody else holds them.
fn read_keys(held: Arc<FairMutex<()>>) -> std::io::Result<mpsc::Receiver<Event>> {
    let (sender, events) = mpsc::channel(WAITING);
    thread::spawn("passepartout-keys", 1 << 20, move || {
        while !sender.is_closed() {
            let ours = held.lock();
            let event = match event::poll(KEYS) {
                Ok(true) => event::read(),
                Ok(false) => continue,
                Err(error) => Err(error),
            };
            drop(ours);
            // The terminal is gone; a signal says so, too.
            let Ok(event) = event else { return };
            if let Some(event) = translated(event)
                && sender.blocking_send(event).is_err()
            {
                return;
            }
        }
    })?;
    Ok(events)
}

fn translated(input: Input) -> Option<Event> {
    match input {
        Input::Key(key) => Some(Event::Key(key)),
        Input::Paste(text) => Some(Event::Paste(text)),
        Input::Resize(columns, rows) => Some(Event::Resize(columns, rows)),
        Input::Mouse(mouse) => match mouse.kind {
            MouseEventKind::ScrollUp => Some(Event::Wheel(-1)),
            MouseEventKind::ScrollDown => Some(Event::Wheel(1)),
            _ => None,
        },
        Input::FocusGained | Input::FocusLost => None,
    }
}

/// Runs until the user leaves, or a signal comes; returns whether it was a signal.
///
/// # Errors
/// In words, when the terminal cannot be used.
pub async fn run(setup: Setup, home: Arc<dyn Home>, signals: &mut Signals) -> Result<bool, String> {
    let Setup { theme, store, cache, project, options, told: (told, mut heard) } = setup;
    let failed = |error: std::io::Error| format!("the terminal cannot be used: {error}");
    let screen = Screen::take(true).map_err(failed)?;
    let size = screen.size().map_err(failed)?;
    let seed = random::bytes().map_err(|error| format!("the system gives no random bytes: {error}"))?;
    let mut state = State::new(size, theme, keep::kept(&cache), project, seed);
    (state.news, state.options) = (in_place(|| news(&cache)), options);
    let held = Arc::default();
    let keys = read_keys(Arc::clone(&held)).map_err(failed)?;
    let (out, outgoing) = mpsc::channel(WAITING);
    let kept = Conversations::beside(&store);
    let here = home.clone();
    let link = tokio::spawn(async move { live(&store, here, told, outgoing).await });
    let mut running =
        Running { state, screen, keys, held, out, cache, kept, home, aside: None, leash: Leash::default() };
    let ended = running.go(&mut heard, signals).await;
    link.abort();
    drop(running);
    ended
}

struct Running {
    state: State,
    screen: Screen,
    keys: mpsc::Receiver<Event>,
    /// Who reads the keys holds this.
    held: Arc<FairMutex<()>>,
    out: mpsc::Sender<Out>,
    cache: PathBuf,
    kept: Conversations,
    home: Arc<dyn Home>,
    /// What has the terminal, as long as it does: nothing is drawn then, and signals of the keyboard are its own.
    aside: Option<JoinHandle<CameBack>>,
    /// By this it is ended.
    leash: Leash,
}

/// Says which drafts were left behind, if any were.
fn news(cache: &Path) -> Option<String> {
    let left: Vec<String> = aside::left_behind(cache).iter().map(|path| path.display().to_string()).collect();
    (!left.is_empty()).then(|| {
        let left = left.join(", ");
        format!("What you were writing when an editor or this terminal ended is kept; remove it when it is done with: {left}")
    })
}

/// What comes next.
enum Next {
    Event(Event),
    Signal,
    Stop,
    GoOn,
    Back(CameBack),
    Draw,
    Gone,
}

impl Running {
    async fn go(&mut self, heard: &mut mpsc::Receiver<Event>, signals: &mut Signals) -> Result<bool, String> {
        let gone = |error: std::io::Error| format!("the terminal is gone: {error}");
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // A key is answered at once; the rest may wait for the next picture.
        let (mut drawn, mut at_once) = (Instant::now() - FRAME, true);
        loop {
            let draws = self.aside.is_none();
            if draws && self.state.changed && (at_once || drawn.elapsed() >= FRAME) {
                self.state.changed = false;
                self.screen.draw(&mut self.state).map_err(gone)?;
                (drawn, at_once) = (Instant::now(), false);
                if self.take(Event::Drawn).await? {
                    return Ok(false);
                }
            }
            let due = drawn + FRAME;
            let [terminate, hangup, interrupt] = &mut signals.ends;
            let next = tokio::select! {
                biased;
                _ = terminate.recv() => Next::Signal,
                _ = hangup.recv() => Next::Signal,
                _ = interrupt.recv() => if draws { Next::Signal } else { Next::Draw },
                _ = signals.stop.recv() => Next::Stop,
                _ = signals.go_on.recv() => Next::GoOn,
                came = back(&mut self.aside) => Next::Back(came),
                // What is typed ahead waits until the terminal is ours again.
                key = self.keys.recv(), if draws => key.map_or(Next::Gone, Next::Event),
                () = sleep_until(due), if self.state.changed && draws => Next::Draw,
                event = heard.recv() => event.map_or(Next::Gone, Next::Event),
                _ = tick.tick(), if self.state.busy() => Next::Event(Event::Tick),
            };
            match next {
                Next::Signal | Next::Gone => {
                    self.end_aside().await;
                    return Ok(true);
                }
                Next::Stop => self.suspend().await.map_err(gone)?,
                Next::GoOn if draws => self.enter().map_err(gone)?,
                Next::GoOn | Next::Draw => {}
                Next::Back(came) => {
                    if self.aside.take().is_none() {
                        continue;
                    }
                    self.enter().map_err(gone)?;
                    at_once = true;
                    if self.take(Event::Back(came)).await? {
                        return Ok(false);
                    }
                }
                Next::Event(event) => {
                    at_once |= !matches!(event, Event::Heard(_) | Event::Tick);
                    if self.take(event).await? || self.take_waiting(heard).await? {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Takes what waits, so that a flood makes one picture.
    async fn take_waiting(&mut self, heard: &mut mpsc::Receiver<Event>) -> Result<bool, String> {
        for _ in 0..AT_ONCE {
            let key = if self.aside.is_none() { self.keys.try_recv().ok() } else { None };
            let Some(event) = key.or_else(|| heard.try_recv().ok()) else { break };
            if self.take(event).await? {
                return Ok(true);
            }
        }
        while let Some(line) = self.screen.broken() {
            let text = format!("something inside broke: {line}");
            self.take(Event::Told(text, true)).await?;
        }
        Ok(false)
    }

    /// Takes one event and does what comes of it; returns whether this ends.
    async fn take(&mut self, event: Event) -> Result<bool, String> {
        let mut next = Some(event);
        while let Some(event) = next.take() {
            for effect in self.state.update(event) {
                if effect == Effect::Quit {
                    return Ok(true);
                }
                let came = self.carry_out(effect).await.map_err(|error| format!("the terminal is gone: {error}"))?;
                next = came.or(next);
            }
        }
        Ok(false)
    }

    /// Carries out what the state wants done; returns what comes of it, if the state is to know.
    async fn carry_out(&mut self, effect: Effect) -> std::io::Result<Option<Event>> {
        match effect {
            Effect::Quit => {}
            Effect::Send(text) => self.say(Out::Say(text)),
            Effect::Reconnect => self.say(Out::Again),
            Effect::Keep(lines) => {
                if let Err(error) = in_place(|| keep::keep(&self.cache, &lines)) {
                    self.state.hint = Some(format!("what you typed is not kept for next time: {error}"));
                }
            }
            Effect::KeepSaid(name, said) => {
                if let Err(error) = in_place(|| self.kept.keep(&name, &said, jiff::Timestamp::now())) {
                    self.state.hint = Some(format!("what was said is not kept for next time: {error}"));
                }
            }
            Effect::BeginAnew => self.kept.begin_anew(),
            Effect::Sessions => {
                let listed = in_place(|| self.kept.list()).map_err(|error| error.to_string());
                return Ok(Some(Event::Sessions(listed)));
            }
            Effect::Resume(kept) => {
                let said = in_place(|| self.kept.resume(&kept)).map_err(|error| error.to_string());
                return Ok(Some(Event::Resumed(said)));
            }
            Effect::Aside(aside) => self.give(aside),
            Effect::Suspend => self.suspend().await?,
            Effect::Repaint => self.screen.clear()?,
            Effect::Mouse(ours) => self.screen.take_mouse(ours)?,
        }
        Ok(None)
    }

    /// Gives the terminal to a program of the user's own until it ends; what comes meanwhile is heard and not drawn.
    fn give(&mut self, aside: Aside) {
        if self.aside.is_some() {
            return;
        }
        self.screen.leave();
        let (held, home) = (self.held.clone(), self.home.clone());
        let terms = Terms {
            cache: self.cache.clone(),
            options: self.state.options.clone(),
            leash: self.leash.clone(),
            may_stop: Box::new(move || !home.is_here()),
        };
        self.aside = Some(tokio::task::spawn_blocking(move || {
            let _keys = held.lock();
            aside::run(&aside, &terms)
        }));
    }

    /// Ends what has the terminal, and says where what was written there lies.
    async fn end_aside(&mut self) {
        let Some(mut running) = self.aside.take() else { return };
        let mut ended = None;
        for signal in [Sent::TERM, Sent::KILL] {
            self.leash.pull(signal);
            ended = timeout(ENDS, &mut running).await.ok();
            if ended.is_some() {
                break;
            }
        }
        self.screen.restore();
        if let Some(Ok(Err(why))) = ended {
            complain(&format!("passepartout: {why}"));
        }
    }

    /// Takes the terminal again.
    fn enter(&mut self) -> std::io::Result<()> {
        self.state.changed = true;
        self.screen.enter(self.state.mouse)
    }

    /// Says something to the connection, which must not be waited for.
    fn say(&mut self, out: Out) {
        match self.out.try_send(out).map_err(|unsent| unsent.into_inner()) {
            Err(Out::Say(text)) => self.state.unsent(&text),
            Err(Out::Again) => self.state.hint("the connection takes nothing just now; try again in a moment"),
            Ok(()) => {}
        }
    }

    /// Stops this process, as Ctrl+Z does in a shell, and comes back when the shell goes on with it. A core that runs
    /// here is not stopped: jobs, messengers and whoever joined it would stand still, and no command could have the
    /// notes.
    async fn suspend(&mut self) -> std::io::Result<()> {
        if self.home.is_here() {
            self.state.hint(STAYS);
            return Ok(());
        }
        self.screen.leave();
        let process = rustix::process::getpid();
        rustix::process::kill_process(process, rustix::process::Signal::STOP).map_err(std::io::Error::from)?;
        if self.aside.is_some() { Ok(()) } else { self.enter() }
    }
}

/// Waits until what has the terminal gives it back; for ever when nothing has it.
async fn back(aside: &mut Option<JoinHandle<CameBack>>) -> CameBack {
    match aside {
        Some(running) => running.await.unwrap_or_else(|_| Err("it broke inside".to_string())),
        None => std::future::pending().await,
    }
}
