//! `passepartout tui`: the settings of the terminal client, and the core that it runs when nobody owns the store.

use crate::domain::inert::exact;
use crate::edge::cli::args::Place;
use crate::edge::cli::home::{Here, Reading};
use crate::edge::cli::run::{DONE, FAILED, Failure, USAGE};
use crate::edge::cli::session::{block_on, configured, somewhere};
use crate::edge::peers::home::Home;
use crate::edge::tui::run::{Setup, ears, run};
use crate::edge::tui::state::Event;
use crate::edge::tui::theme::Theme;
use std::io::IsTerminal;

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
        let tell = told.0.clone();
        // What there is no room for is in the log.
        let tell = move |line: String| drop(tell.try_send(Event::Told(line, true)));
        let home = Here::new(place, Reading::Beside, tell);
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
