//! What can be confined on this machine, commands and Lisp: found out by trying, for the doctor and the canaries.

use crate::domain::gate::facts::WallsFact;
use crate::domain::id::SessionId;
use crate::domain::label::Privacy;
use crate::edge::engine::Engine;
use crate::edge::runtime::clients::program_name;
use crate::edge::sandbox::Walls;
use crate::edge::survey::Confinement;
use crate::edge::worker::{Evaluated, Owner, Told, system_emacs};
use std::path::PathBuf;

/// How commands are confined here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confined {
    /// With all walls; so many ways out were tried, and all are shut.
    All(usize),
    /// With fewer walls, so that each command asks; the ways out that were tried are shut all the same.
    Fewer {
        /// How many were tried.
        tried: usize,
        /// What is missing, in words.
        missing: String,
    },
    /// Not at all, so that commands are denied; this is missing, in words.
    Nothing(String),
    /// They run, and something that must be shut is open: this.
    Open(String),
}

/// Whether Lisp can be evaluated here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evaluates {
    /// By this Emacs, confined; with what is missing where there are fewer walls, so that each call asks.
    Yes {
        /// Where it is.
        emacs: PathBuf,
        /// What is missing, in words.
        missing: Option<String>,
    },
    /// Not at all, so that calls are refused; this is why.
    No(String),
    /// It answered wrongly: this.
    Wrong(String),
}

impl Engine {
    /// Tries whether and how commands can be confined.
    pub async fn probe_confinement(&self) -> Confined {
        let shell = match &self.shell {
            Ok(shell) => shell,
            Err(why) => return Confined::Nothing(why.clone()),
        };
        let (walls, lacking) = match shell.walls().await {
            WallsFact::All => (Walls::All, None),
            WallsFact::Fewer(missing) => (Walls::Fewer, Some(missing)),
            WallsFact::Nothing(missing) => return Confined::Nothing(missing),
        };
        let hidden: Vec<_> = std::iter::once(&self.config.home)
            .chain(&self.config.directories)
            .chain([&self.config.store])
            .cloned()
            .collect();
        let report = crate::edge::sandbox::probe(&hidden, walls).await;
        let tried = report.checks.len();
        match (&report.missing, report.checks.iter().find(|check| check.open.is_some()), lacking) {
            (Some(missing), ..) => Confined::Nothing(missing.clone()),
            (None, Some(open), _) => {
                Confined::Open(format!("{}: {}", open.name, open.open.as_deref().unwrap_or_default()))
            }
            (None, None, _) if !report.holds() => Confined::Nothing("nothing could be tried".to_string()),
            (None, None, None) => Confined::All(tried),
            (None, None, Some(missing)) => Confined::Fewer { tried, missing },
        }
    }

    /// Tries whether Lisp can be evaluated, in a worker of its own that ends at once.
    pub async fn probe_lisp(&self) -> Evaluates {
        let (workers, shell) = match (&self.workers, &self.shell) {
            (Ok(workers), Ok(shell)) => (workers, shell),
            (Err(why), _) | (_, Err(why)) => return Evaluates::No(why.clone()),
        };
        let (walls, missing) = match shell.walls().await {
            WallsFact::All => (Walls::All, None),
            WallsFact::Fewer(missing) => (Walls::Fewer, Some(missing)),
            WallsFact::Nothing(missing) => return Evaluates::No(missing),
        };
        let emacs = match system_emacs() {
            Ok(emacs) => emacs,
            Err(why) => return Evaluates::No(why),
        };
        // No conversation and no skill has this name: nobody's worker is looked at.
        let owner = Owner::Probe;
        let answer = workers.evaluate(&owner, walls, "(+ 1 2)", &Told::own(Privacy::Open)).await;
        workers.end(&owner).await;
        match answer {
            Ok(answer) if answer.ended == Evaluated::Value("3".to_string()) && answer.kept => {
                Evaluates::Yes { emacs, missing }
            }
            Ok(answer) => Evaluates::Wrong(format!("(+ 1 2) came to {:?}", answer.ended)),
            Err(why) => Evaluates::No(why.to_string()),
        }
    }

    /// A conversation is closed: what is kept alive for it ends, beside whoever says so. What it says next begins anew.
    pub fn end_conversation(&self, session: &SessionId) {
        self.end_tasks(session);
        // A program may have had any number of them; what one read is known from the store, should it go on.
        if program_name(&session.0).is_some() {
            self.outside.lock().remove(session);
        }
        if let Ok(workers) = &self.workers {
            tokio::spawn(workers.end(&Owner::Session(session.clone())));
        }
    }
}
