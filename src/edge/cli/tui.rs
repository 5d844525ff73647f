//! `passepartout tui`: the settings of the terminal client, and the core that it runs when nobody owns the store.

use crate::domain::inert::exact;
use crate::edge::cli::args::Place;
use crate::edge::cli::daemon::settings;
use crate::edge::cli::run::{DONE, FAILED, Failure, USAGE};
use crate::edge::cli::session::{block_on, complaining_by, configured, somewhere, vault};
use crate::edge::runtime::daemon::{Daemon, Unbegun};
use crate::edge::thread::in_place;
use crate::edge::tui::link::Home;
use crate::edge::tui::run::{Setup, ears, run};
use crate::edge::tui::state::Event;
use crate::edge::tui::theme::Theme;
use async_trait::async_trait;
use std::io::IsTerminal;
use std::sync::Arc;
use tokio::sync::{Mutex, mpsc};

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

/// The core that runs here when nobody else owns the store: the same as the daemon's, as long as the terminal is open.
struct Here {
    place: Place,
    told: mpsc::Sender<Event>,
    running: Mutex<Option<Daemon>>,
}

#[async_trait]
impl Home for Here {
    async fn begin(&self) -> Result<bool, String> {
        let mut running = self.running.lock().await;
        if running.is_some() {
            return Ok(true);
        }
        let config = in_place(|| settings(&self.place));
        let (vault, told) = (vault(&config), self.told.clone());
        // What there is no room for is in the log.
        let tell = complaining_by(move |line| drop(told.try_send(Event::Told(line, true))));
        match Daemon::begin(config, vault, tell, Arc::default()).await {
            Ok(daemon) => *running = Some(daemon),
            Err(Unbegun::Owned(_)) => return Ok(false),
            Err(Unbegun::Failed(why)) => return Err(why),
        }
        Ok(true)
    }

    async fn is_here(&self) -> bool {
        self.running.lock().await.is_some()
    }

    async fn end(&self, soon: bool) {
        let Some(daemon) = self.running.lock().await.take() else { return };
        match soon {
            true => daemon.end().await,
            false => daemon.leave().await,
        }
    }
}
