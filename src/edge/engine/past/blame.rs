//! Blame: which changes made a heading what it is, newest first.

use crate::domain::id::{NodeId, ObjectHash, OperationId};
use crate::domain::inert::exact;
use crate::domain::memory::operation::Operation;
use crate::domain::memory::store::content_name;
use crate::domain::org::outline::Outline;
use crate::domain::org::scan::scan;
use crate::domain::undo::{Change, Kind};
use crate::edge::engine::Engine;
use crate::edge::engine::memory::{BUFFER, READ};
use crate::edge::engine::past::place::{Before, Place};
use crate::edge::engine::past::{by, of_note};
use crate::edge::engine::record::{self, kind};
use crate::edge::walk::canonical_name;
use std::sync::Arc;

/// The most versions of a file that blame looks at.
const MOST_VERSIONS: usize = 20_000;

/// How many names of one file are followed into the past.
const MOST_NAMES: usize = 100;

/// How many changes that left the very same bytes are looked through.
const MOST_ALIKE: usize = 1_000;

/// How many operations are named that may have written what is older than what is kept.
const MOST_PERHAPS: usize = 20;

/// What became of a heading before the first version that was kept: nobody can say any more.
pub(super) const LET_GO: &str = "before that, let go";

/// What an operation may have done, of which the contents were let go.
pub(super) const PERHAPS: &str = "perhaps written";

/// What an act did may be in memory so long before the act is noted as ended.
const BEFORE_ITS_END: jiff::SignedDuration = jiff::SignedDuration::from_secs(30);

/// Who did something, and how it came about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Author {
    /// What was asked for, in a line.
    pub request: Option<String>,
    /// Which model wanted it.
    pub model: Option<String>,
    /// The plan.
    pub plan: Option<String>,
    /// Who approved it.
    pub approver: Option<String>,
    /// In words when it was no act of ours.
    pub by: String,
}

/// One change of a heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blame {
    /// The operation by which memory took it in.
    pub operation: OperationId,
    /// When.
    pub at: jiff::Timestamp,
    /// What became of the heading: `written`, `changed`, `came back`, after it was gone for a while, or `not known before`,
    /// when older versions are not looked at; `before that, let go` where older ones are not kept, with
    /// `perhaps written` for what touched its file until then.
    pub what: &'static str,
    /// Who did it.
    pub author: Author,
}

/// What a file was from an operation on, and what it was called then.
struct Version {
    operation: OperationId,
    document: Option<ObjectHash>,
    file: Arc<str>,
}

/// The version in which the heading was found last, which is the next one in time.
struct Later {
    /// Its index among the versions.
    at: usize,
    outline: Outline,
}

impl Engine {
    /// Says which changes made a heading what it is, newest first. `name` is an id, or `FILE:LINE`.
    ///
    /// # Errors
    /// When there is no such heading, or the store cannot be read.
    pub async fn blame(&self, name: &str) -> Result<(String, Vec<Blame>), String> {
        let (file, mut place) = self.heading(name)?;
        self.flush_if_kept().await?;
        let heading = place.title.clone();
        let head = self.head();
        let (mut versions, whole) = self.versions_of(&file, head).await?;
        let cut = versions.len().saturating_sub(MOST_VERSIONS);
        versions.drain(..cut);
        let whole = whole && cut == 0;
        let mut found = Vec::new();
        let mut later: Option<Later> = None;
        let mut missing = false;
        for at in (0..versions.len()).rev() {
            let Some(Version { document, file, .. }) = versions.get(at) else { break };
            let text = self.text_of(*document).await?.unwrap_or_else(|| "".into());
            let Ok(outline) = scan(text, &self.scan_options_of(file)) else { continue };
            let Some(newer) = &later else {
                // The newest version is what memory holds now.
                place = place.now(&outline).unwrap_or(place);
                later = Some(Later { at, outline });
                continue;
            };
            if missing {
                // It was gone for a while: behind what brought it back is who wrote it.
                let Some(earlier) = place.gone_from(&outline) else { continue };
                found.extend(self.blamed(&versions, newer, "came back").await?);
                (place, missing) = (earlier, false);
            } else {
                match place.before(&newer.outline, &outline) {
                    Before::Same(earlier) => place = earlier,
                    Before::Other(earlier) => {
                        found.extend(self.blamed(&versions, newer, "changed").await?);
                        place = earlier;
                    }
                    // What an act of the agent writes is its own, whatever stood there once.
                    Before::Absent if self.is_written(&versions, newer).await? => {
                        found.extend(self.blamed(&versions, newer, "written").await?);
                        return Ok((heading, found));
                    }
                    Before::Absent => {
                        missing = true;
                        continue;
                    }
                }
            }
            later = Some(Later { at, outline });
        }
        if let Some(first) = later {
            let all = whole || missing;
            let gone = match versions.get(first.at).filter(|_| !all) {
                Some(kept) => {
                    let before = OperationId(kept.operation.0.saturating_sub(1));
                    self.archive.let_go(before).await?.map(|why| (kept, why))
                }
                None => None,
            };
            match gone {
                Some((kept, why)) => found.extend(self.before_kept(kept.operation, &kept.file, why).await?),
                None => {
                    // Behind the versions that are looked at nobody knows who wrote it.
                    let what = if all { "written" } else { "not known before" };
                    found.extend(self.blamed(&versions, &first, what).await?);
                }
            }
        }
        Ok((heading, found))
    }

    /// Says what is known of a heading that stood already in the first version of its file that was kept: since when it
    /// is what it is, and which operations touched its file until then. Operations and records are never let go.
    async fn before_kept(&self, first: OperationId, file: &str, why: String) -> Result<Vec<Blame>, String> {
        let Some(kept) = self.archive.operation(first).await? else { return Ok(Vec::new()) };
        let author = Author { by: why, ..Author::default() };
        let mut found = vec![Blame { operation: first, at: kept.why.at, what: LET_GO, author }];
        // They are derived: where they cannot be read, less is known.
        let touching = self.archive.touching(file.to_string(), first, MOST_PERHAPS).await;
        for id in touching.unwrap_or_default() {
            let Some(operation) = self.archive.operation(id).await? else { continue };
            let change = self.change_of(&operation).await?;
            found.push(self.blame_of(operation, PERHAPS, change).await);
        }
        Ok(found)
    }

    /// Returns what a file was at each operation until one, oldest first, under its former names, too; and whether that
    /// is all of it, or the first of them were let go.
    async fn versions_of(&self, file: &str, until: OperationId) -> Result<(Vec<Version>, bool), String> {
        let (mut lives, mut name, mut until) = (Vec::new(), file.to_string(), until);
        loop {
            let renamed = self.archive.newest_of(kind::RENAMED, name.clone(), MOST_NAMES).await?;
            let renamed = renamed.iter().filter_map(|record| record::read_renamed(&record.body));
            let came = renamed.into_iter().find(|(_, by)| *by <= until && *by > OperationId(0));
            let since = came.as_ref().map_or(OperationId(1), |(_, by)| *by);
            let versions = self.archive.versions(name.clone(), since, until).await?;
            // Where nothing is kept of a name, it was let go.
            let whole = versions.first().is_some_and(|(first, _)| *first <= since);
            let file: Arc<str> = name.as_str().into();
            let version = |(operation, document)| Version { operation, document, file: file.clone() };
            lives.push(versions.into_iter().map(version).collect::<Vec<_>>());
            match came {
                Some((from, by)) if by > OperationId(1) && lives.len() < MOST_NAMES && whole => {
                    (name, until) = (from, OperationId(by.0 - 1));
                }
                Some(_) | None => return Ok((lives.into_iter().rev().flatten().collect(), whole)),
            }
        }
    }

    /// Says who made a version of a file.
    async fn blamed(&self, versions: &[Version], of: &Later, what: &'static str) -> Result<Option<Blame>, String> {
        let Some((operation, change)) = self.maker(versions, of).await? else { return Ok(None) };
        Ok(Some(self.blame_of(operation, what, change).await))
    }

    /// Returns the change that an operation names as its own.
    async fn change_of(&self, operation: &Operation) -> Result<Option<Change>, String> {
        match of_note(operation) {
            Some(name) => Ok(self.changes_named(vec![name.to_string()]).await?.pop()),
            None => Ok(None),
        }
    }

    async fn blame_of(&self, operation: Operation, what: &'static str, change: Option<Change>) -> Blame {
        let author = match &change {
            Some(change) => Author { by: by(&operation, Some(change)), ..self.author(change).await },
            None => Author { by: by(&operation, None), ..Author::default() },
        };
        Blame { operation: operation.id, at: operation.why.at, what, author }
    }

    /// Returns whether an act of the agent made a version.
    async fn is_written(&self, versions: &[Version], of: &Later) -> Result<bool, String> {
        let made = self.maker(versions, of).await?;
        Ok(made.is_some_and(|(_, change)| change.is_some_and(|change| change.kind == Kind::Act)))
    }

    /// Returns the operation by which a version came to memory, and the change of ours that made it.
    async fn maker(&self, versions: &[Version], of: &Later) -> Result<Option<(Operation, Option<Change>)>, String> {
        let Some(version) = versions.get(of.at) else { return Ok(None) };
        let Some(operation) = self.archive.operation(version.operation).await? else { return Ok(None) };
        let mut change = self.change_of(&operation).await?;
        if change.is_none() && (operation.why.cause == READ || operation.why.cause == BUFFER) {
            let before = versions.get(..of.at).unwrap_or_default();
            change = self.change_that_made(&operation, version, before, &of.outline.text).await?;
        }
        Ok(Some((operation, change)))
    }

    /// Finds the change that left a text in a file. What a command did is read from disk like what a hand did, and what
    /// was done in a buffer may be heard of from there before the act has ended: the bytes tell.
    async fn change_that_made(
        &self,
        operation: &Operation,
        version: &Version,
        before: &[Version],
        text: &str,
    ) -> Result<Option<Change>, String> {
        let until = operation.why.at.checked_add(BEFORE_ITS_END).unwrap_or(operation.why.at);
        let content = content_name(text.as_bytes()).to_hex();
        let made = self.archive.newest_of(kind::MADE, content, MOST_ALIKE).await?;
        for record in made.iter().filter(|record| record.body["path"] == *version.file) {
            let time = record.body["time"].as_str().and_then(|time| time.parse::<jiff::Timestamp>().ok());
            let Some(name) = record.body["change"].as_str().filter(|_| time.is_some_and(|time| time <= until)) else {
                continue;
            };
            let Some(change) = self.changes_named(vec![name.to_string()]).await?.pop() else { continue };
            if change.since >= operation.id {
                // It began later.
                continue;
            }
            // Once memory had what a change left behind, whoever brings the same bytes again does so on their own, as
            // `git stash pop` does; those before that change were taken in earlier still.
            let had = before.iter().rev().take_while(|version| version.operation > change.since);
            let taken = had.into_iter().any(|earlier| earlier.document == version.document);
            return Ok((!taken).then_some(change));
        }
        Ok(None)
    }

    /// Finds out what led to a change: the request and the model of the turn that wanted it, its plan, its approver.
    pub(super) async fn author(&self, change: &Change) -> Author {
        let plan = change.plan.as_deref().and_then(|plan| self.plan(plan));
        let turn = plan.as_ref().map_or(change.turn.clone(), |plan| plan.turn.0.clone());
        let kept = self.archive.latest(kind::TURN, turn).await.ok().flatten();
        let finished = kept.and_then(|record| record::read_turn(&record.body));
        let asked = finished.as_ref().map(|turn| turn.asked.clone()).filter(|asked| !asked.is_empty());
        let model = finished.and_then(|turn| turn.report.answered_by).map(|(provider, model)| match model.is_empty() {
            true => provider,
            false => format!("{model} ({provider})"),
        });
        let approver = change.approver.as_ref().map(|channel| format!("you, in {channel}"));
        let (plan, by) = (change.plan.clone(), String::new());
        Author { request: asked, model, plan, approver: approver.or(Some("the rules, unasked".to_string())), by }
    }

    /// Finds a heading by its id or by file and line.
    fn heading(&self, name: &str) -> Result<(String, Place), String> {
        let view = self.view();
        if let Some(node) = view.get(&NodeId::new(name)) {
            let gone = || format!("the text of “{}” cannot be had; the log says why", exact(name));
            let (document, index) = (node.document().ok_or_else(gone)?, node.index);
            return Ok((document.file.to_string(), Place::of(&document.outline, index)));
        }
        let unknown = || format!("there is no heading “{}”; name one by its id or as FILE:LINE", exact(name));
        let (file, line) = name.rsplit_once(':').ok_or_else(unknown)?;
        let line: u32 = line.parse().map_err(|_| unknown())?;
        let file = canonical_name(file);
        let document = view.document(&file).ok_or_else(|| format!("{} is not in memory", exact(&file)))?;
        let index = document.outline.nodes.partition_point(|node| node.line <= line).saturating_sub(1);
        Ok((file.to_string(), Place::of(&document.outline, index)))
    }
}
