//! `passepartout tui`: the settings of the terminal client, and the engine that it runs when nobody owns the store.

use crate::domain::inert::exact;
use crate::edge::cli::args::Place;
use crate::edge::cli::run::{DONE, FAILED, Failure, USAGE};
use crate::edge::cli::session::{block_on, complaining_by, configured, owns, somewhere, start};
use crate::edge::engine::Engine;
use crate::edge::engine::boot::Keep;
use crate::edge::runtime::guests::{Guests, Serving};
use crate::edge::tui::link::Home;
use crate::edge::tui::run::{Setup, ears, run};
use crate::edge::tui::state::Event;
use crate::edge::tui::theme::Theme;
use async_trait::async_trait;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc};

/// How long the last of it may take when a signal ends this: half for who joined, half for the store.
const SOON: Duration = Duration::from_millis(900);

/// Runs the terminal client.
///
/// # Errors
/// In words for the user.
pub(super) fn run_tui(place: &Place, theme: Option<&str>) -> Result<u8, Failure> {
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        let text = "this is no terminal\nAsk in a pipe with: passepartout ask 'what is due?'";
        return Err(Failure { text: text.to_string(), status: USAGE });
    }
    somewhere(place)?;
    let theme = match theme {
        Some(name) => Theme::named(name).ok_or_else(|| Failure {
            text: format!("there is no theme “{}”; there are dark, light, contrast and none", exact(name)),
            status: USAGE,
        })?,
        // https://no-color.org
        None if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) => Theme::None,
        None => Theme::Dark,
    };
    block_on(async {
        let config = tokio::task::block_in_place(|| configured(place));
        let project = place.project.clone().or_else(|| std::env::current_dir().ok());
        let project = project.map(|path| std::path::absolute(&path).unwrap_or(path));
        let told = ears();
        let home = Arc::new(Here { place: place.clone(), told: told.0.clone(), running: Mutex::new(None) });
        let setup = Setup {
            theme,
            store: config.store,
            cache: config.cache,
            project: project.map(|path| path.to_string_lossy().into_owned()),
            told,
        };
        let ended = run(setup, home.clone()).await;
        home.end(!matches!(ended, Ok(false))).await;
        // A signal is no end of the user's making.
        Ok(if ended? { FAILED } else { DONE })
    })
}

/// The engine that runs here when nobody else owns the store.
struct Here {
    place: Place,
    told: mpsc::Sender<Event>,
    running: Mutex<Option<(Serving, Arc<Engine>)>>,
}

#[async_trait]
impl Home for Here {
    async fn begin(&self) -> Result<bool, String> {
        let mut running = self.running.lock().await;
        if running.is_some() {
            return Ok(true);
        }
        let (guests, told) = (Guests::expected(), self.told.clone());
        // What there is no room for is in the log.
        let tell = complaining_by(move |line| drop(told.try_send(Event::Told(line, true))));
        let started = start(&self.place, Keep::Along, guests.editor(), guests.telling(tell)).await;
        let engine = started.map_err(|failure| failure.text)?;
        if !owns(Keep::Along, &engine) {
            engine.close().await;
            return Ok(false);
        }
        let Some(serving) = guests.open(&engine) else {
            engine.close().await;
            return Err("no socket can be made for the store; passepartout doctor says more".to_string());
        };
        let reader = engine.clone();
        tokio::task::spawn_blocking(move || reader.read_memex(&mut |_| {}));
        *running = Some((serving, engine));
        Ok(true)
    }

    async fn is_here(&self) -> bool {
        self.running.lock().await.is_some()
    }

    async fn end(&self, soon: bool) {
        let Some((serving, engine)) = self.running.lock().await.take() else { return };
        if soon {
            // What was acknowledged is on disk already.
            let _ = tokio::time::timeout(SOON, serving.end()).await;
            let _ = tokio::time::timeout(SOON, engine.close()).await;
        } else {
            serving.end().await;
            engine.close().await;
        }
    }
}
