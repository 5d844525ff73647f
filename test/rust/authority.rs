//! Property: whatever the user decided, going back moves none of it, and no record of any kind is lost.

use crate::support::engine::{Home, origin};
use crate::support::soak::cases;
use passepartout::domain::id::{OperationId, SessionId};
use passepartout::domain::memory::store::Store;
use passepartout::domain::scope::Level;
use passepartout::domain::signal::Origin;
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::record::kind::{self, Standing};
use passepartout::edge::engine::time::{Reach, Wish};
use passepartout::edge::store::DiskStore;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Something that the user may do.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Wants a heading marked, and approves or denies what waits.
    Mark(usize, bool),
    /// Confirms the first rule that waits, is offered or was withdrawn.
    Confirm,
    /// Withdraws the first rule that counts.
    Withdraw,
    /// Confirms a provider.
    Provider,
    /// Leaves a plan waiting.
    Wait(usize),
    /// Lets what asks go, or takes that back.
    Share(bool),
    /// Goes back to the beginning.
    Rewind(bool),
    /// Takes the last change back.
    Undo,
    /// Does it again.
    Redo,
    /// Ends the program and starts it anew.
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let one = prop_oneof![
        3 => (1usize..8, any::<bool>()).prop_map(|(n, yes)| Step::Mark(n, yes)),
        2 => Just(Step::Confirm),
        1 => Just(Step::Withdraw),
        1 => Just(Step::Provider),
        1 => (1usize..8).prop_map(Step::Wait),
        1 => any::<bool>().prop_map(Step::Share),
        2 => any::<bool>().prop_map(Step::Rewind),
        2 => Just(Step::Undo),
        1 => Just(Step::Redo),
        1 => Just(Step::Restart),
    ];
    proptest::collection::vec(one, 4..12)
}

/// What is stored of each kind, in the order in which it was stored.
fn rows(home: &Home) -> BTreeMap<&'static str, Vec<(String, String)>> {
    let mut store = DiskStore::open_to_read(&home.store()).expect("it can be read");
    let each = kind::ALL.iter().map(|(kind, _)| {
        let records = store.list(kind, 0).expect("it is read");
        (*kind, records.into_iter().map(|record| (record.key.clone(), format!("{record:?}"))).collect())
    });
    each.collect()
}

/// What counts now of what says what may happen: the newest of each key.
fn authority(rows: &BTreeMap<&'static str, Vec<(String, String)>>) -> BTreeMap<(&'static str, String), String> {
    let kinds = kind::ALL.iter().filter(|(_, standing)| *standing == Standing::Authority);
    let each = kinds.flat_map(|(kind, _)| rows[kind].iter().map(|(key, row)| ((*kind, key.clone()), row.clone())));
    each.collect()
}

/// What the engine goes by, as people are shown it.
fn in_force(engine: &Engine) -> String {
    let plans: Vec<_> = engine.plans(true).into_iter().map(|plan| (plan.id, plan.status)).collect();
    format!("{:?} {:?} {plans:?}", engine.rules(), engine.levels())
}

async fn started(home: &Home) -> Arc<Engine> {
    let ask = |config: &mut passepartout::edge::config::Config| {
        config.permissions.insert("org-set-todo".to_string(), Level::Ask);
    };
    let engine = home.engine_with(ask).await;
    home.read(&engine).await;
    engine
}

/// Does one thing; returns whether it was to go back.
async fn go(home: &Home, engine: &mut Arc<Engine>, step: Step) -> bool {
    let back = |wish| (wish, true);
    let (wish, _) = match step {
        Step::Rewind(files) => back(Wish::Rewind(OperationId(1), if files { Reach::Both } else { Reach::Memory })),
        Step::Undo => back(Wish::Undo(None)),
        Step::Redo => back(Wish::Redo),
        Step::Mark(n, yes) => {
            let known: BTreeSet<_> = engine.plans(false).into_iter().map(|plan| plan.id).collect();
            let _ = home.ask(engine, &format!("mark Task {n}x done")).await;
            for plan in engine.plans(false).into_iter().filter(|plan| !known.contains(&plan.id)) {
                // It may be stale by now, which is shown and decides nothing.
                let _ = if yes { home.approve(engine, &plan).await } else { home.deny(engine, &plan, "no").await };
            }
            return false;
        }
        Step::Wait(n) => {
            let _ = home.ask(engine, &format!("mark Task {n}x done")).await;
            return false;
        }
        Step::Confirm => {
            let rule =
                engine.rules().into_iter().find(|rule| ["waiting", "offered", "withdrawn"].contains(&rule.state));
            let Some(rule) = rule else { return false };
            if let Ok(shown) = engine.propose_rule(&origin(), &rule.id, engine.new_turn()).await
                && let Some(plan) = shown.report.plans.first().and_then(|id| engine.plan(&id.0))
            {
                home.approve(engine, &plan).await.expect("the approval counts");
            }
            return false;
        }
        Step::Withdraw => {
            let rule = engine.rules().into_iter().find(|rule| rule.state == "confirmed");
            if let Some(rule) = rule {
                engine.withdraw_rule(&origin(), &rule.id).await.expect("it is withdrawn");
            }
            return false;
        }
        Step::Provider => {
            engine.confirm_provider("far", "https://far.example").await.expect("it is kept");
            return false;
        }
        Step::Share(yes) => {
            let _ = home.ask(engine, if yes { "/share" } else { "/unshare" }).await;
            return false;
        }
        Step::Restart => {
            engine.close().await;
            *engine = started(home).await;
            return false;
        }
    };
    // Another conversation of the same human takes back what this one did.
    let origin = Origin { session: SessionId("back".to_string()), ..origin() };
    if let Ok(preview) = engine.preview(&origin, wish).await {
        let _ = engine.carry_out(&origin, &preview.shown, engine.new_turn(), &mut |_| {}).await;
    }
    true
}

async fn check(steps: Vec<Step>) -> usize {
    let notes: String = (1..9).map(|n| format!("* TODO Task {n}x\n:PROPERTIES:\n:ID: t{n}\n:END:\n")).collect();
    let home = Home::new(&[("tasks.org", &notes)]);
    let settings = home.config().settings;
    std::fs::create_dir_all(&settings).expect("the settings folder");
    std::fs::write(settings.join("rules.org"), "| tool | level |\n| write-file | allow |\n| shell | deny |\n")
        .expect("the file of rules");
    let mut engine = started(&home).await;
    let (mut before, mut moved) = (rows(&home), 0);
    for (n, step) in steps.iter().enumerate() {
        let (force, head) = (in_force(&engine), engine.head());
        let back = go(&home, &mut engine, *step).await;
        engine.flush().await.expect("it is stored");
        let after = rows(&home);
        for (kind, known) in &before {
            assert!(after[kind].starts_with(known), "{kind} only grows: {step:?}, {n} of {steps:?}");
        }
        if back {
            moved += usize::from(engine.head() != head);
            assert_eq!(authority(&after), authority(&before), "{step:?}, {n} of {steps:?}");
            assert_eq!(in_force(&engine), force, "{step:?}, {n} of {steps:?}");
        }
        before = after;
    }
    engine.close().await;
    moved
}

fn run(steps: Vec<Step>) -> usize {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(check(steps))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(8), ..ProptestConfig::default() })]

    #[test]
    fn whatever_was_decided_going_back_moves_no_authority(steps in steps()) {
        run(steps);
    }
}

#[test]
fn going_back_over_each_decision_moves_none_of_them() {
    let mut steps = vec![Step::Provider, Step::Share(true), Step::Confirm];
    steps.extend((1..4).map(|n| Step::Mark(n, true)));
    // The rule that the three taught is confirmed and used; another plan waits, and one is denied.
    steps.extend([Step::Confirm, Step::Mark(4, true), Step::Mark(5, false), Step::Wait(6)]);
    let back = [Step::Undo, Step::Undo, Step::Redo, Step::Rewind(false), Step::Undo, Step::Rewind(true), Step::Restart];
    steps.extend(back);
    steps.extend([Step::Withdraw, Step::Share(false), Step::Rewind(true), Step::Undo]);
    assert!(run(steps) >= 5, "so that going back is tried");
}
