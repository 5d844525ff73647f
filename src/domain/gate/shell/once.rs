//! What is found out once of a script or a command, however many programs ask for it.
//!
//! A program may depend on all that stands before it in its pipe, and a command may start hundreds of programs: without
//! this, a long command would take the square of its length.

use super::programs::Added;
use super::{Concern, Given, Look, Move, base_name, place, value};
use crate::domain::gate::facts::{CommandFact, RedirectFact, RedirectKind, Word};
use crate::domain::gate::place::Zone;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// How many substitutions within each other are looked at.
const MAX_AROUND: usize = 64;

/// What is found out of a script.
#[derive(Default)]
pub(super) struct OfScript {
    wanders: OnceCell<bool>,
    /// By pipeline, the first stage that hands on secrets.
    feeders: OnceCell<BTreeMap<usize, usize>>,
    /// By pipeline, the first stage that hides names.
    hiders: OnceCell<BTreeMap<usize, usize>>,
    /// By pipeline, the first stage that does anything, and the first that does not list names of files.
    listers: OnceCell<BTreeMap<usize, Listing>>,
    /// Pipelines that text is handed to by something but pipes.
    fed: OnceCell<BTreeSet<usize>>,
    /// Whether pipelines yield names of revisions.
    pub(super) revisions: RefCell<BTreeMap<usize, bool>>,
    /// By pipeline, what lies elsewhere of what its commands name, with the stage.
    elsewhere: OnceCell<BTreeMap<usize, Told>>,
}

/// What is found out of a command, for all programs that it starts in turn.
#[derive(Default)]
pub(super) struct OfCommand {
    feeds: OnceCell<bool>,
    picks: OnceCell<bool>,
    hides: OnceCell<bool>,
    added: OnceCell<Added>,
    elsewhere: OnceCell<Told>,
}

/// Where a pipeline begins to do something, and where it ends to list names of files.
#[derive(Clone, Copy)]
pub(super) struct Listing {
    pub(super) first: usize,
    pub(super) fails: Option<usize>,
}

/// What is said of several programs: once whole, and then its beginning alone, since nothing is told twice.
#[derive(Default)]
struct Told {
    /// By stage.
    concerns: Vec<(usize, Concern)>,
    next: Cell<usize>,
}

impl Told {
    /// Tells what comes from stages before this one.
    fn tell(&self, until: usize, concerns: &mut Vec<Concern>) {
        let end = self.concerns.partition_point(|(stage, _)| *stage < until);
        let new = self.concerns.get(self.next.get()..end).filter(|new| !new.is_empty());
        // What was told already speaks against the next program as well.
        let told = new.or_else(|| self.concerns.get(..end.min(1))).unwrap_or(&[]);
        concerns.extend(told.iter().map(|(_, concern)| concern.clone()));
        self.next.set(self.next.get().max(end));
    }
}

/// Returns by pipeline the first stage of a command for which something holds.
fn first_stages<'a>(
    commands: impl Iterator<Item = &'a CommandFact>,
    holds: impl Fn(&CommandFact) -> bool,
) -> BTreeMap<usize, usize> {
    let mut stages: BTreeMap<usize, usize> = BTreeMap::new();
    for command in commands.filter(|command| holds(command)) {
        let stage = stages.entry(command.pipeline).or_insert(command.stage);
        *stage = command.stage.min(*stage);
    }
    stages
}

impl Look<'_> {
    /// Whether the script changes to a folder that is not known, or to one whose files are not read unasked.
    pub(super) fn wanders(&self) -> bool {
        *self.once.wanders.get_or_init(|| self.wanders_somewhere())
    }

    fn wanders_somewhere(&self) -> bool {
        let shut = |path: &String| {
            matches!(place::zone(path, self.scope), Zone::Home | Zone::Memex | Zone::Own)
                || place::leads_to_homes(path, false, self.scope)
        };
        // How often a loop goes up is not counted. What it goes down leads to a home from above one only.
        let loops = ["for", "while", "until"].iter().any(|word| self.script.text.contains(word));
        let climbs = |word: &Word| value(Some(word)).is_some_and(|text| text.contains(".."));
        let moves = self.script.commands.iter().flat_map(super::moves);
        moves.into_iter().any(|found| match found {
            Move::Shell(None) => true,
            Move::Shell(Some(word)) => {
                word.value.is_none() || word.glob || loops && climbs(word) || word.resolved.iter().any(shut)
            }
            Move::Program(_) => false,
        })
    }

    fn names_secret(&self, command: &CommandFact) -> bool {
        let secret = |path: &String| place::secret(path, self.scope).is_some();
        let mut names = command.words.iter().filter_map(|word| value(Some(word))).map(base_name);
        let name = names.find(|name| super::tables::NETWORK.contains(name)).unwrap_or("");
        command
            .words
            .iter()
            .enumerate()
            .any(|(n, word)| word.resolved.iter().any(secret) && !super::tables::proves(name, &command.words, n))
    }

    /// Whether what stands before a command in its pipe reads secrets or the environment, or it names secrets itself.
    pub(super) fn feeds_secrets(&self, given: Given<'_>) -> bool {
        let command = given.command;
        *given.once.feeds.get_or_init(|| {
            let gives = |before: &CommandFact| {
                let name = value(before.words.first()).map(base_name).unwrap_or("");
                matches!(name, "env" | "printenv" | "set" | "export" | "declare" | "history")
                    || self.names_secret(before)
            };
            let feeders = self.once.feeders.get_or_init(|| first_stages(self.script.commands.iter(), gives));
            feeders.get(&command.pipeline).is_some_and(|stage| *stage < command.stage) || self.names_secret(command)
        })
    }

    /// Whether a command names what is secret by its name alone, or a pattern that may match such.
    pub(super) fn picks_secret(&self, given: Given<'_>) -> bool {
        let picks = |word: &Word| {
            value(Some(word)).is_some_and(|text| {
                place::secret_name(text).is_some()
                    || (word.raw.contains(['*', '?', '[']) && place::pattern_may_be_secret(text))
            })
        };
        *given.once.picks.get_or_init(|| given.command.words.iter().any(picks))
    }

    /// Whether what stands before a command in its pipe hides names: decoders, text with escapes, secret patterns.
    pub(super) fn upstream_hides(&self, given: Given<'_>) -> bool {
        let command = given.command;
        *given.once.hides.get_or_init(|| {
            let hiders = || first_stages(self.script.commands.iter(), |before| self.hides(before));
            self.handed(command)
                || self
                    .once
                    .hiders
                    .get_or_init(hiders)
                    .get(&command.pipeline)
                    .is_some_and(|stage| *stage < command.stage)
        })
    }

    /// Says what lies elsewhere of what a command names, and what stands before it in its pipe.
    pub(super) fn elsewhere_upstream(&self, given: Given<'_>, concerns: &mut Vec<Concern>) {
        let of = |command: &CommandFact| -> Vec<(usize, Concern)> {
            let words = command.words.iter().skip(1);
            let rooted = words.filter(|word| value(Some(word)).is_some_and(|text| text.starts_with(['/', '.'])));
            rooted.filter_map(|word| Some((command.stage, self.lies_elsewhere(word, true)?))).collect()
        };
        let pipes = self.once.elsewhere.get_or_init(|| {
            let mut pipes: BTreeMap<usize, Told> = BTreeMap::new();
            for command in &self.script.commands {
                pipes.entry(command.pipeline).or_default().concerns.extend(of(command));
            }
            pipes.values_mut().for_each(|told| told.concerns.sort_by_key(|(stage, _)| *stage));
            pipes
        });
        if let Some(told) = pipes.get(&given.command.pipeline) {
            told.tell(given.command.stage, concerns);
        }
        let own = given.once.elsewhere.get_or_init(|| Told { concerns: of(given.command), next: Cell::new(0) });
        own.tell(usize::MAX, concerns);
    }

    /// Returns what is known of the words that are added to those of a program.
    pub(super) fn added(&self, given: Given<'_>) -> Added {
        let command = given.command;
        if !given.appended {
            return Added::Nothing;
        }
        *given.once.added.get_or_init(|| {
            // `find -exec` gives names that begin with the folder in which it looks; and without a name nothing is given.
            let finds = matches!(value(command.words.first()), Some("find" | "gfind"));
            let lists = || self.lists(command.pipeline, command.stage);
            match () {
                () if finds || self.is_handed_nothing(command) => Added::Operands,
                () if !lists() => Added::Unknown,
                () if self.names_no_option(command.pipeline) || self.finds_whole(command) => Added::Operands,
                () => Added::Names,
            }
        })
    }

    /// Whether a command takes whole names from a `find` that stands right before it: each ends where no name can. A name
    /// that ends at a blank or a line's end may hold one, and behind that a dash.
    fn finds_whole(&self, command: &CommandFact) -> bool {
        const WHOLE: &[&str] = &["-0", "--null", "-0r", "-r0"];
        let [program, option, ..] = command.words.as_slice() else { return false };
        let whole = value(Some(program)) == Some("xargs") && WHOLE.contains(&value(Some(option)).unwrap_or(""));
        // Another option could end names elsewhere.
        let more = command.words.get(2).and_then(|word| value(Some(word)));
        let mut before = self.script.commands.iter().filter(|other| other.pipeline == command.pipeline);
        whole
            && more.is_some_and(|text| !text.starts_with('-'))
            && before.all(|other| {
                let prints = || other.words.last().and_then(|word| value(Some(word))) == Some("-print0");
                let finds = matches!(value(other.words.first()), Some("find" | "gfind"));
                other.stage >= command.stage || finds && prints() && other.stage + 1 == command.stage
            })
    }

    /// Whether what a pipeline lists is names that none but their keeper gives, or that the system's folders hold.
    pub(super) fn names_no_option(&self, pipeline: usize) -> bool {
        const ROOTED: &[&str] = &["which", "command", "pwd", "docker", "podman", "kubectl"];
        let Some(listing) = self.listing(pipeline) else { return false };
        let first = |command: &&CommandFact| command.pipeline == pipeline && command.stage == listing.first;
        let mut firsts = self.script.commands.iter().filter(first);
        firsts.all(|command| value(command.words.first()).is_some_and(|name| ROOTED.contains(&name)))
    }

    /// Whether nothing stands before a command in its pipe, and no file or text is handed to it.
    pub(super) fn is_handed_nothing(&self, command: &CommandFact) -> bool {
        let (mut pipeline, mut stage) = (command.pipeline, command.stage);
        // What stands in a substitution has what is handed to the command around it.
        for _ in 0..MAX_AROUND {
            let first = self.listing(pipeline).is_none_or(|listing| listing.first >= stage);
            if !first || self.fed(pipeline) {
                return false;
            }
            match self.script.around.get(&pipeline) {
                Some(around) => (pipeline, stage) = *around,
                None => return true,
            }
        }
        false
    }

    /// Whether a pipeline, up to a stage, lists names of files and changes none.
    pub(super) fn lists(&self, pipeline: usize, until: usize) -> bool {
        let Some(listing) = self.listing(pipeline).filter(|listing| listing.first < until) else { return false };
        !self.fed(pipeline) && listing.fails.is_none_or(|fails| fails >= until)
    }

    fn listing(&self, pipeline: usize) -> Option<Listing> {
        let listers = self.once.listers.get_or_init(|| {
            let busy = || self.script.commands.iter().filter(|command| !command.words.is_empty());
            let firsts = first_stages(busy(), |_| true);
            let first = |command: &CommandFact| firsts.get(&command.pipeline) == Some(&command.stage);
            let fails = first_stages(busy(), |command| !self.passes_names(command, first(command)));
            let listing = |(pipeline, first): (&usize, &usize)| {
                (*pipeline, Listing { first: *first, fails: fails.get(pipeline).copied() })
            };
            firsts.iter().map(listing).collect()
        });
        listers.get(&pipeline).copied()
    }

    /// Whether something but pipes hands text to a pipeline.
    fn fed(&self, pipeline: usize) -> bool {
        let feeds = |redirect: &&RedirectFact| {
            let piped = redirect.target.as_ref().is_some_and(|target| target.raw.starts_with("<("));
            !piped && matches!(redirect.kind, RedirectKind::Read | RedirectKind::Here)
        };
        let fed = || self.script.redirects.iter().filter(feeds).map(|redirect| redirect.pipeline).collect();
        self.once.fed.get_or_init(fed).contains(&pipeline)
    }
}
