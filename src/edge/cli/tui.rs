//! `passepartout tui`: the settings of the terminal client, and the core that it runs when nobody owns the store.

use crate::domain::inert::exact;
use crate::edge::cli::args::Place;
use crate::edge::cli::home::{Here, Reading};
use crate::edge::cli::run::{DONE, FAILED, Failure, USAGE};
use crate::edge::cli::session::{block_on, configured, options, somewhere};
use crate::edge::stderr::complain;
use crate::edge::tui::run::{Setup, Signals, ears, run};
use crate::edge::tui::state::Event;
use crate::edge::tui::theme::Theme;
use std::io::IsTerminal;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::sleep;

/// After so long it is said what is waited for.
const SAID: Duration = Duration::from_secs(1);

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
            options: options(place),
            told,
        };
        let mut signals = Signals::new().map_err(|error| format!("no signal can be heard: {error}"))?;
        let ended = run(setup, home.clone(), &mut signals).await;
        leave(&home, !matches!(ended, Ok(false)), &mut signals).await;
        // A signal is no end of the user's making.
        Ok(if ended? { FAILED } else { DONE })
    })
}

/// Lets go of the store when what others have under way is done. A signal hurries that, and the next one waits for
/// nothing any more: what was acknowledged is on disk already.
async fn leave(home: &Here, mut hurried: bool, signals: &mut Signals) {
    let hurry = Notify::new();
    if hurried {
        hurry.notify_one();
    }
    let leaving = home.leave(hurry.notified());
    tokio::pin!(leaving);
    let mut said = hurried;
    loop {
        tokio::select! {
            () = &mut leaving => return,
            () = signals.end() => {
                if std::mem::replace(&mut hurried, true) {
                    return;
                }
                hurry.notify_one();
            }
            () = sleep(SAID), if !said => {
                said = true;
                complain("waiting until what others asked for here is done, half a minute at most; Ctrl+C interrupts it");
            }
        }
    }
}
