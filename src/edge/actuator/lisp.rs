//! Carries out `eval-lisp`: in the worker of the conversation, confined, with its outcome as text.

use super::{Actuators, Done};
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::facts::WallsFact;
use crate::domain::label::{Labels, Privacy, Provenance, Trust};
use crate::domain::outside::Piece;
use crate::edge::sandbox::Walls;
use crate::edge::worker::{Answer, Evaluated, Owner, Told};

impl Actuators {
    /// Evaluates cleared Lisp. An error of the code is no failure: it was evaluated.
    pub(super) async fn evaluate(&self, cleared: &Cleared) -> Done {
        let workers = match &self.engine.workers {
            Ok(workers) => workers,
            Err(why) => return Done::failed(format!("Lisp cannot be confined here, so none is evaluated: {why}")),
        };
        let action = cleared.action();
        let Some(code) = action.text("code") else { return Done::failed("eval-lisp: there is no code") };
        let walls = match &cleared.facts().walls {
            // Only what was judged and shown runs with fewer.
            Some(WallsFact::Fewer(_)) => Walls::Fewer,
            Some(WallsFact::All | WallsFact::Nothing(_)) | None => Walls::All,
        };
        let owner = Owner::Session(cleared.scope().session.clone());
        let privacy = action.labels().privacy.max(cleared.facts().privacy.unwrap_or(Privacy::Open));
        let sources = action.led().map(|led| led.sources.iter().cloned().collect()).unwrap_or_default();
        let told = Told { privacy, trust: action.labels().trust, sources };
        match workers.evaluate(&owner, walls, code, &told).await {
            // It can read nothing but what it was told, now or by an earlier call: it is as trustworthy as that, and as
            // private.
            Ok(answer) => {
                let (text, Told { privacy, trust, sources }) = (tell(&answer), &answer.told);
                let labels =
                    Labels { provenance: Provenance::Tool, trust: (*trust).min(Trust::Kept), privacy: *privacy };
                let outside = match trust {
                    Trust::Untrusted => sources.iter().map(|source| Piece::new(source, &text, *privacy)).collect(),
                    Trust::Kept | Trust::Own => Vec::new(),
                };
                Done { outside, ..Done::said(text, labels) }
            }
            Err(why) => Done::failed(format!("The Lisp was not evaluated: {why}.")),
        }
    }
}

/// Returns what is said of a call, to the model and to the user.
fn tell(answer: &Answer) -> String {
    const LOST: &str = "What earlier calls had defined or set is gone; the next call begins anew.";
    let mut text = match &answer.ended {
        Evaluated::Value(value) => format!("Value: {value}"),
        Evaluated::Error(error) => format!("Error: {error}"),
        Evaluated::TimedOut => format!("Stopped, because it took too long. {LOST}"),
        Evaluated::Gone => format!("The worker ended: the Lisp ended it, or it grew beyond its limits. {LOST}"),
        Evaluated::Broken => format!("The worker no longer answered as it should, and was ended. {LOST}"),
    };
    if !answer.kept && matches!(answer.ended, Evaluated::Value(_) | Evaluated::Error(_)) {
        text.push_str(&format!(
            "\nThe worker was ended: the Lisp changed what a function of Emacs means, or left something running. {LOST}"
        ));
    }
    let printed = answer.printed.trim_matches('\n');
    if !printed.is_empty() {
        text.push_str(&format!("\n--- output ---\n{printed}"));
    }
    text
}
