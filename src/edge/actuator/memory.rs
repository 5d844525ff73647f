//! Carries out what reads memory: `memory-search`, `memory-read`, `org-outline`, `org-render` and `memory-report`; and
//! `reopen-turn`.
//!
//! Texts come from the store and places are asked of the disk, so all of it is done where nobody waits for that.

use super::{Done, clipped, may_see, note};
use crate::domain::action::Action;
use crate::domain::context::rank::search;
use crate::domain::gate::clearance::Cleared;
use crate::domain::id::NodeId;
use crate::domain::label::{Labels, Privacy};
use crate::domain::memory::view::NodeRef;
use crate::domain::query::parse::is_plain;
use crate::domain::query::run::Hit;
use crate::domain::query::show::{Row, ended};
use crate::domain::scope::Scope;
use crate::domain::tool::RENDER;
use crate::domain::turn::earlier::{Earlier, REOPEN};
use crate::edge::engine::Engine;
use crate::edge::engine::query::Manner;
use crate::edge::thread::aside;
use std::sync::Arc;

/// What was cleared, as far as it is needed to answer.
pub(super) struct Asked {
    pub(super) action: Action,
    pub(super) scope: Scope,
    /// Where the path leads that it names.
    pub(super) path: Option<String>,
    pub(super) may_see: Privacy,
}

impl Asked {
    pub(super) fn of(cleared: &Cleared) -> Asked {
        let path = cleared.facts().paths.first().map(|path| path.resolved.clone());
        let (action, scope) = (cleared.action().clone(), cleared.scope().clone());
        Asked { action, scope, path, may_see: may_see(cleared) }
    }

    /// Answers, on a thread on which it may take a while.
    pub(super) async fn answered(self, engine: Arc<Engine>) -> Done {
        match self.action.tool() {
            REOPEN => self.reopen(&engine).await,
            _ => aside(move || self.answer(&engine)).await,
        }
    }

    fn answer(&self, engine: &Engine) -> Done {
        match self.action.tool() {
            "memory-search" => self.search(engine),
            "org-outline" => self.outline(engine),
            RENDER => self.render(engine),
            "memory-report" => self.report(engine),
            "notes-undistilled" => self.undistilled(engine),
            "memory-garden" => self.garden(engine),
            "inbox-propose" => self.inbox(engine),
            "links-suggest" => self.links(engine),
            "manual-search" => self.manual(),
            _ => self.read_node(engine),
        }
    }

    fn search(&self, engine: &Engine) -> Done {
        let (action, may_see) = (&self.action, self.may_see);
        let limit = action.args().get("limit").and_then(|v| v.as_u64()).unwrap_or(10).clamp(1, 50) as usize;
        let text = action.text("query").unwrap_or("");
        let view = engine.view_in_sight();
        let filling = engine.filling().map(|filling| filling.to_string());
        let (nodes, notes): (Vec<NodeRef>, Vec<String>) = if is_plain(text) {
            // A question in words is ranked by more than the words that it has.
            let hits = search(&view, &engine.index(), text, limit, may_see);
            (hits.iter().filter_map(|hit| view.get(&hit.id)).collect(), Vec::new())
        } else {
            match engine.query(&view, text, Some(limit), may_see, Manner::Named) {
                Ok(answer) => {
                    (answer.found.hits.into_iter().map(|hit| hit.node).take(50).collect(), answer.found.notes)
                }
                Err(error) => return Done::failed(format!("the query cannot be read: {error}")),
            }
        };
        if may_see < Privacy::Private {
            engine.count_sent(&nodes);
            engine.count_unfound(&view, text, limit, is_plain(text));
        }
        let mut privacy = Privacy::Open;
        let mut lines: Vec<String> =
            filling.map(|so_far| format!("There may be more: {so_far}.")).into_iter().collect();
        for node in &nodes {
            privacy = privacy.max(node.privacy());
            lines.push(found_line(node));
        }
        if nodes.is_empty() {
            lines.push("Nothing was found.".to_string());
        }
        lines.extend(notes.iter().map(|note| format!("Note: {}", ended(note))));
        if !view.sight().is_all() {
            // What it is narrowed to may be private, and is not named.
            lines.push("Note: the user's focus narrows what is looked at; /unfocus widens it.".to_string());
        }
        Done::read(clipped(&lines.join("\n")), note(privacy), engine.outside_of_nodes(&nodes)).of(&nodes)
    }

    /// Reads an earlier turn of the same conversation. What of it is more private than the model may see is not there.
    async fn reopen(&self, engine: &Engine) -> Done {
        let (session, name) = (&self.scope.session, self.action.text("turn").unwrap_or(""));
        let none =
            || Done::failed(format!("there is no earlier turn {name}; the list of earlier turns has their names"));
        let told = |turn: &Earlier| turn.privacy <= self.may_see;
        if self.action.args().get("before").and_then(|before| before.as_bool()).unwrap_or(false) {
            let Some((turns, more)) = engine.turns_before(session, name).await else { return none() };
            let turns: Vec<Earlier> = turns.into_iter().filter(told).collect();
            let privacy = turns.iter().map(|turn| turn.privacy).max().unwrap_or(Privacy::Open);
            let first = if more { "There may be more before these; ask for those before the first.\n" } else { "" };
            let lines: Vec<String> = turns.iter().map(Earlier::line).collect();
            let text = if lines.is_empty() { "There are none before it.".to_string() } else { lines.join("\n") };
            return Done::read(format!("{first}{text}"), Labels { privacy, ..Labels::MODEL }, Vec::new());
        }
        let from = self.action.args().get("from").and_then(|from| from.as_u64()).unwrap_or(0);
        let Some(turn) = engine.earlier_turn(session, name).await.filter(told) else { return none() };
        let labels = Labels { privacy: turn.privacy, ..Labels::MODEL };
        Done::read(turn.page(usize::try_from(from).unwrap_or(usize::MAX)), labels, Vec::new())
    }

    fn read_node(&self, engine: &Engine) -> Done {
        let (action, may_see) = (&self.action, self.may_see);
        let id = NodeId::new(action.text("id").unwrap_or(""));
        let Some(node) = engine.view().get(&id).filter(|node| node.privacy() <= may_see) else {
            return Done::failed(format!("there is no heading with the id {id}; memory-search finds ids"));
        };
        let (text, privacy) = subtree(&node, may_see);
        let (below, hidden): (Vec<NodeRef>, Vec<NodeRef>) =
            node.with_descendants().partition(|below| below.privacy() <= may_see);
        if may_see < Privacy::Private {
            engine.count_nodes(&hidden);
            engine.count_sent(&below);
        }
        Done::read(clipped(&text), note(privacy), engine.outside_of_nodes(&below)).of(&below)
    }
}

/// Returns a node's text with all below it that may be seen, and the strictest label in it.
fn subtree(node: &NodeRef, may_see: Privacy) -> (String, Privacy) {
    // Read once, for all below it.
    node.text();
    let mut text = String::new();
    let mut privacy = Privacy::Open;
    for below in node.with_descendants().filter(|below| below.privacy() <= may_see) {
        privacy = privacy.max(below.privacy());
        text.push_str(below.own());
    }
    (text, privacy)
}

/// Returns what a model is told of a node that was found.
fn found_line(node: &NodeRef) -> String {
    let row = Row::of(&Hit { node: node.clone(), score: None, snippet: None });
    let mut line = String::from("- ");
    line.extend(row.keyword.iter().flat_map(|keyword| [keyword.as_str(), " "]));
    line.push_str(&row.title);
    if !row.tags.is_empty() {
        line.push_str(&format!(" :{}:", row.tags.join(":")));
    }
    line.push_str(&format!(" (id: {})", row.id));
    let stamps = [("SCHEDULED", &row.scheduled), ("DEADLINE", &row.deadline), ("CLOSED", &row.closed)];
    for (name, stamp) in stamps {
        line.extend(stamp.iter().map(|stamp| format!(" {name}: {stamp}")));
    }
    let excerpt: String = node.body().split_whitespace().take(24).collect::<Vec<_>>().join(" ");
    format!("{line}\n  {excerpt}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::action::Outcome;
    use crate::domain::gate::facts::EditFact;
    use crate::domain::id::SessionId;
    use crate::domain::label::Labels;
    use crate::domain::tool::Toolbox;
    use crate::edge::clock::SystemClock;
    use crate::edge::config::{Config, Surroundings};
    use crate::edge::editor::NoEditor;
    use crate::edge::engine::boot::{Boot, Keep, start};
    use crate::edge::secret::Vault;
    use serde_json::json;
    use std::sync::mpsc;
    use std::time::Duration;

    async fn engine(memex: &std::path::Path) -> Arc<Engine> {
        let mut config = Config::read(&Surroundings { variables: Default::default() });
        config.directories = vec![memex.to_path_buf()];
        let (editor, clock) = (Arc::new(NoEditor), Arc::new(SystemClock));
        let boot =
            Boot { config, vault: Vault::empty(), editor, clock, notify: Arc::new(|_| {}), keep: Keep::InMemory };
        let engine = start(boot).await.expect("the engine starts");
        engine.read_memex(&mut |_| {});
        engine
    }

    /// One thread serves everything here: what waited on it would hold all else up.
    #[tokio::test]
    async fn while_memory_and_the_disk_are_waited_for_everybody_else_is_answered() {
        let memex = tempfile::tempdir().expect("a folder");
        let note = memex.path().canonicalize().expect("it is there").join("a.org");
        std::fs::write(&note, "* Apples\n:PROPERTIES:\n:ID: apples\n:END:\nRed ones.\n").expect("it is written");
        let engine = engine(memex.path()).await;
        let (ready, is_ready) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let holder = engine.clone();
        let held = std::thread::spawn(move || {
            let marks = holder.hold_marks();
            ready.send(()).expect("somebody listens");
            // A test never hangs: who is waited for by everybody gives up, and the test fails.
            let in_time = released.recv_timeout(Duration::from_secs(20)).is_ok();
            drop(marks);
            in_time
        });
        is_ready.recv().expect("it is held");
        let scope = engine.scope(&SessionId("s".into()), None, true);
        let asked = [
            ("memory-search", json!({ "query": "apples" })),
            ("memory-read", json!({ "id": "apples" })),
            ("org-outline", json!({ "id": note.to_string_lossy() })),
            ("org-outline", json!({})),
        ]
        .map(|(tool, args)| {
            let args = args.as_object().cloned().unwrap_or_default();
            let action =
                Action::new(&Toolbox::builtin(), tool, args, Some("a test"), Labels::MODEL).expect("an action");
            Asked { action, scope: scope.clone(), path: None, may_see: Privacy::Private }
        });
        let waiting = asked.map(|asked| tokio::spawn(asked.answered(engine.clone())));
        let edit = EditFact {
            file: note.to_string_lossy().into_owned(),
            before: None,
            after: "* Pears\n".into(),
            diff: String::new(),
            by_setup: Default::default(),
        };
        let marking = engine.clone();
        let marks = tokio::spawn(async move { marking.marks_for(vec![edit], vec!["the page x".into()]).await });
        for number in 0..20 {
            assert_eq!(tokio::spawn(async move { number }).await.expect("it ends"), number);
            tokio::task::yield_now().await;
        }
        assert!(!marks.is_finished(), "it waits for what is held");
        release.send(()).expect("somebody waits");
        assert!(held.join().expect("it ends"), "nobody was answered while something was waited for");
        for answer in waiting {
            let Outcome::Done(text) = answer.await.expect("it ends").outcome else { panic!("nothing was read") };
            assert!(text.contains("Apples") || text.contains("a.org"), "{text}");
        }
        assert_eq!(marks.await.expect("it ends").map(|records| records.is_empty()), Ok(false));
        engine.close().await;
    }
}
