//! Secrets in what would come to stand in files, whatever the arguments hold.

use super::World;
use passepartout::domain::action::Action;
use passepartout::domain::gate::clearance::ask_all;
use passepartout::domain::gate::facts::{BySetup, CommitFact, CommitFile, EditFact, PathFact};
use passepartout::domain::scope::Scope;
use passepartout::domain::tool::Tool;
use passepartout::edge::secret::{Secret, Vault};
use passepartout::edge::survey::{EditPlanner, Nowhere, Predicted, Survey};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Predicts what it was made with, whatever is asked.
struct Foretold(Predicted);

impl EditPlanner for Foretold {
    fn plan(&self, _: &Action, _: &Tool, _: &Scope, _: &[PathFact]) -> Result<Predicted, String> {
        Ok(self.0.clone())
    }

    fn not_undoable(&self, _: &Scope) -> Option<String> {
        None
    }
}

#[test]
fn a_secret_is_found_where_it_comes_to_stand() {
    let edit = |before: &str, after: &str| EditFact {
        file: "/p/notes.txt".into(),
        before: Some(before.into()),
        after: after.into(),
        diff: String::new(),
        by_setup: BySetup::default(),
    };
    let commit = |before: &str, after: &str| CommitFact {
        head: String::new(),
        branch: "refs/heads/main".into(),
        files: vec![CommitFile {
            path: "notes.txt".into(),
            before: Some(before.into()),
            after: Some(after.into()),
            diff: String::new(),
        }],
        left: Vec::new(),
    };
    let (old, new) = (format!("ghp_{}", "a1B2c3D4e5F6".repeat(3)), format!("ghp_{}", "Z9y8X7w6V5u4".repeat(3)));
    let half = old.split_at(20);
    let key = "correct-horse-battery";
    let mut world = World::new();
    for (before, after, found) in [
        (format!("{}\n{}", half.0, half.1), old.clone(), "What “notes.txt” would become seems to hold a secret"),
        (old.clone(), new.clone(), "What “notes.txt” would become seems to hold a secret"),
        (format!("{old}\n"), format!("{old}\nmore\n"), ""),
        (format!("a {old}"), "a".to_string(), ""),
        ("correct-horse".to_string(), key.to_string(), "the value of KEY"),
        (format!("{key} x"), format!("x {key}"), ""),
        (format!("{key} x"), "x".to_string(), ""),
        ("one".to_string(), "two".to_string(), ""),
    ] {
        let args = json!({"path": "notes.txt", "old": "x", "new": "y"});
        let again = json!({"kind": "undo", "changes": ["a"], "files": ["notes.txt"]});
        let change = || edit(&before, &after);
        for (tool, args, predicted) in [
            ("replace-in-file", args, Predicted { edits: vec![change()], ..Predicted::default() }),
            ("restore", again, Predicted { put_texts: vec![change()], ..Predicted::default() }),
            (
                "git-commit",
                json!({"message": "Notes"}),
                Predicted { commit: Some(commit(&before, &after)), ..Predicted::default() },
            ),
        ] {
            let vault = Vault::new([("KEY".to_string(), Secret::new(key.to_string()))]);
            let planner: Arc<dyn EditPlanner> = Arc::new(Foretold(predicted));
            world.survey = Survey::new(Arc::new(vault), Arc::new(Nowhere), Some(planner), Duration::from_secs(10));
            let action = world.action(tool, args).unwrap();
            let facts = world.facts(&action);
            let trace = ask_all(&world.gates, &world.case(&action, &facts));
            let dispatcher = &trace.opinions.iter().find(|opinion| opinion.gate == "dispatcher").unwrap().verdict;
            let why = dispatcher.reason().map(|reason| reason.text.clone()).unwrap_or_default();
            let said = format!("{tool}: {before:?} -> {after:?}: {dispatcher:?}");
            // What goes back was there, and its plan tells of it.
            let told = why.contains(found) || facts.doubts.iter().any(|doubt| doubt.contains("value of KEY"));
            match tool {
                "restore" => assert!(dispatcher.name() == "ask" && told, "{said}"),
                _ => assert_eq!((dispatcher.name() == "deny", told), (!found.is_empty(), true), "{said}"),
            }
            let objects = why.contains("secret:") || why.contains("the value of") || !facts.doubts.is_empty();
            assert_eq!(objects, !found.is_empty(), "{said}");
            assert!(!why.contains(&new) && !why.contains(&old) && !why.contains(key), "no reason holds it: {said}");
        }
    }
}

#[test]
fn a_plan_says_which_file_is_open_in_emacs() {
    let mut world = World::new();
    let file = format!("{}/README.md", world.scope.project);
    let edit = EditFact {
        file: file.clone(),
        before: Some("hello\n".into()),
        after: "good day\n".into(),
        diff: String::new(),
        by_setup: BySetup::default(),
    };
    let planner: Arc<dyn EditPlanner> = Arc::new(Foretold(Predicted { edits: vec![edit], ..Predicted::default() }));
    world.survey = Survey::new(
        Arc::new(passepartout::edge::survey::NoVault),
        Arc::new(Nowhere),
        Some(planner),
        Duration::from_secs(10),
    );
    let action = world.action("replace-in-file", json!({"path": file, "old": "hello", "new": "good day"})).unwrap();
    let mut facts = world.facts(&action);
    let said = |facts: &_| passepartout::domain::gate::show::body(&action, facts, "/p").contains("open in Emacs: ");
    assert!(!said(&facts));
    let hash = facts.hash();
    facts.paths[0].open = true;
    assert!(said(&facts));
    assert_eq!(facts.hash(), hash, "what would be written is bound, wherever it is written to");
}
