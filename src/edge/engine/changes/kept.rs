//! Changes as the store keeps them, and by what they are found again.

use crate::domain::gate::place::holds_notes;
use crate::domain::id::OperationId;
use crate::domain::memory::store::{NewRecord, Record};
use crate::domain::port::LogLevel;
use crate::domain::undo::next::Next;
use crate::domain::undo::{Change, FileChange, Image, Kind};
use crate::edge::engine::Engine;
use crate::edge::engine::changes::image_of;
use crate::edge::engine::record::{kind, lean};
use crate::edge::shadow::{image_json, read_image};
use serde_json::{Value, json};
use std::collections::HashSet;

/// How many changes are read at first when the next undo is looked for; each time that they are not enough, twice as
/// many.
const FIRST_PAGE: usize = 4;
/// The most that are read at once.
const LARGEST_PAGE: usize = 256;

/// Returns a change as records: itself, and by what it is found when only its name or its bytes are known.
pub(in crate::edge::engine) fn change_records(change: &Change) -> Vec<(&'static str, String, Value)> {
    if !change.is_any() {
        return Vec::new();
    }
    let mut records = vec![(kind::CHANGE, change.id.clone(), change_json(change))];
    records.extend(change.taken_whole().map(|id| (kind::TAKEN, id.clone(), json!({ "by": change.id }))));
    for file in change.files.iter().filter(|file| holds_notes(&file.path)) {
        if let Image::File { content, .. } = &file.after {
            let body = json!({ "change": change.id, "path": file.path, "time": change.time.to_string() });
            records.push((kind::MADE, content.to_hex(), body));
        }
    }
    records
}

/// Returns a change as the store keeps it.
pub fn change_json(change: &Change) -> Value {
    let files = change.files.iter().map(|f| json!([f.path, image_json(&f.before), image_json(&f.after)]));
    let mut body = lean(json!({
        "id": change.id, "kind": change.kind.name(), "time": change.time.to_string(), "since": change.since.0,
        "turn": change.turn, "session": change.session, "tool": change.tool, "summary": change.summary,
        "plan": change.plan, "approver": change.approver, "of": change.of,
        "memory": change.memory.map(|(from, to)| [from.0, to.0]), "focus": change.focus, "doubt": change.doubt,
    }));
    body["files"] = files.collect();
    body
}

/// What a change and the intent of its act both say.
const SHARED: [&str; 4] = ["turn", "tool", "summary", "since"];

/// Returns an intent whose change does not say again what the intent says.
pub(in crate::edge::engine) fn intent_json(mut intent: Value) -> Value {
    for key in SHARED {
        let same = intent["change"].get(key).is_some_and(|value| intent.get(key) == Some(value));
        if let Some(change) = intent["change"].as_object_mut().filter(|_| same) {
            change.remove(key);
        }
    }
    lean(intent)
}

/// Returns the change of an intent, if its act makes one.
fn change_of(intent: &Value) -> Option<Change> {
    let mut change = intent["change"].clone();
    let fields = change.as_object_mut()?;
    for key in SHARED {
        if let (false, Some(value)) = (fields.contains_key(key), intent.get(key)) {
            fields.insert(key.to_string(), value.clone());
        }
    }
    read_change(&change)
}

/// Reads what [`change_json`] wrote.
pub fn read_change(value: &Value) -> Option<Change> {
    let text = |key: &str| value[key].as_str().map(str::to_string);
    let file = |value: &Value| {
        Some(FileChange {
            path: value[0].as_str()?.to_string(),
            before: read_image(&value[1])?,
            after: read_image(&value[2])?,
        })
    };
    let operation = |value: &Value| value.as_u64().map(OperationId);
    Some(Change {
        id: text("id")?,
        kind: Kind::parse(value["kind"].as_str()?)?,
        time: value["time"].as_str()?.parse().ok()?,
        since: operation(&value["since"])?,
        turn: text("turn")?,
        session: text("session")?,
        tool: text("tool")?,
        summary: text("summary")?,
        plan: text("plan"),
        approver: text("approver"),
        of: value["of"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_string).collect(),
        files: value["files"].as_array()?.iter().map(file).collect::<Option<Vec<_>>>()?,
        memory: operation(&value["memory"][0]).zip(operation(&value["memory"][1])),
        focus: match &value["focus"] {
            Value::Null => None,
            moved => Some(serde_json::from_value(moved.clone()).ok()?),
        },
        doubt: text("doubt"),
    })
}

impl Engine {
    /// Stores what an act without an outcome has changed, so that it can be taken back; returns the files.
    pub(in crate::edge::engine) async fn recover_change(&self, intent: &NewRecord) -> Vec<String> {
        let Some(mut change) = change_of(&intent.body) else { return Vec::new() };
        let mut contents = Vec::new();
        for file in &mut change.files {
            let (state, _) = self.state_of(&file.path).await;
            file.after = image_of(&state, &mut contents);
        }
        change.files.retain(|file| file.before != file.after);
        self.keep_after(contents).await;
        change.doubt = Some("its end was not seen; what came since counts as its own".to_string());
        self.note_change(&change).await;
        change.files.into_iter().map(|file| file.path).collect()
    }

    /// Stores a change, if it is one; returns whether that was possible.
    pub(super) async fn note_change(&self, change: &Change) -> bool {
        if !change.is_any() {
            return true;
        }
        let kept = self.append_all(change_records(change).into_iter()).await;
        if let Err(why) = &kept {
            self.say(LogLevel::Error, &format!("what a command changed could not be noted: {why}"));
        }
        kept.is_ok()
    }

    /// Returns some changes by their names; those that are not known are left out.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(in crate::edge::engine) async fn changes_named(&self, names: Vec<String>) -> Result<Vec<Change>, String> {
        let records = self.archive.latest_of(kind::CHANGE, names).await?;
        Ok(records.iter().flatten().filter_map(|record| read_change(&record.body)).collect())
    }

    /// Returns the changes that the next undo or redo takes back, newest first. It reads back no further than to them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(in crate::edge::engine) async fn next(&self, mut next: Next) -> Result<Vec<Change>, String> {
        let (mut before, mut page) = (u64::MAX, FIRST_PAGE);
        // Of a change that was stored twice the last record counts.
        let mut seen = HashSet::new();
        loop {
            let records = self.archive.newest_before(kind::CHANGE, before, page).await?;
            let Some(last) = records.last() else { return Ok(next.found()) };
            (before, page) = (last.seq, (page * 2).min(LARGEST_PAGE));
            for record in records {
                let change = read_change(&record.body);
                if seen.insert(record.key) && change.is_some_and(|change| !next.look(change)) {
                    return Ok(next.found());
                }
            }
        }
    }

    /// Returns the change of a name, or those of a turn, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(in crate::edge::engine) async fn changes_called(&self, name: &str) -> Result<Vec<Change>, String> {
        // As people write it: the names are of one `A` and small digits.
        let usual = name.to_ascii_lowercase().replacen('a', "A", 1);
        let named = self.archive.latest_of(kind::CHANGE, vec![name.to_string(), usual]).await?;
        let mut found = match named.into_iter().flatten().next() {
            Some(record) => vec![record],
            None => Vec::new(),
        };
        for record in self.archive.changes_of_turn(name.to_string()).await? {
            if found.iter().all(|known| known.key != record.key) {
                found.push(record);
            }
        }
        Ok(found.iter().filter_map(|record| read_change(&record.body)).collect())
    }

    /// Returns those of some changes that stand: that can still be undone by themselves.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(in crate::edge::engine) async fn standing(&self, changes: Vec<Change>) -> Result<Vec<Change>, String> {
        let names = changes.iter().map(|change| change.id.clone()).collect();
        let taken = self.archive.latest_of(kind::TAKEN, names).await?;
        let stands = |(change, taken): (Change, Option<Record>)| {
            (change.kind != Kind::Undo && change.is_any() && taken.is_none()).then_some(change)
        };
        Ok(changes.into_iter().zip(taken).filter_map(stands).collect())
    }

    /// Returns the changes that began at an operation or behind it, newest first: what a rewind to it takes back.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(in crate::edge::engine) async fn changes_since(&self, operation: OperationId) -> Result<Vec<Change>, String> {
        let records = self.archive.changes_since(operation).await?;
        Ok(records.iter().filter_map(|record| read_change(&record.body)).collect())
    }

    /// Returns every change, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn changes(&self) -> Result<Vec<Change>, String> {
        let records = self.archive.latest_each(kind::CHANGE).await?;
        Ok(records.iter().filter_map(|record| read_change(&record.body)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::action::{Action, Observation, Outcome};
    use crate::domain::gate::clearance::Cleared;
    use crate::domain::gate::clearance::{Judgement, judge};
    use crate::domain::gate::facts::{Facts, PutFact};
    use crate::domain::gate::{Case, Gate, Gates, Verdict};
    use crate::domain::id::SessionId;
    use crate::domain::label::Labels;
    use crate::domain::memory::store::{Content, content_name};
    use crate::domain::port::Journal;
    use crate::domain::scope::Scope;
    use crate::domain::signal::Sensor;
    use crate::domain::tool::RESTORE;
    use crate::domain::tool::Toolbox;
    use crate::edge::clock::SystemClock;
    use crate::edge::config::{Config, Surroundings};
    use crate::edge::editor::NoEditor;
    use crate::edge::engine::boot::{Boot, Keep, start};
    use crate::edge::engine::changes::Act;
    use crate::edge::engine::changes::watch::Watched;
    use crate::edge::secret::Vault;
    use crate::edge::shadow::{self, Shadow};
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use std::time::Duration;

    /// A gate that lets everything pass, for a clearance.
    struct Open;

    impl Gate for Open {
        fn name(&self) -> &str {
            "open"
        }
        fn priority(&self) -> u16 {
            1
        }
        fn judge(&self, _: &Case<'_>) -> Verdict {
            Verdict::pass()
        }
    }

    /// A project and the copies of it, which outlive a session.
    struct Place {
        _folder: tempfile::TempDir,
        base: PathBuf,
    }

    impl Place {
        fn new() -> Place {
            let folder = tempfile::tempdir().expect("a folder");
            let base = folder.path().canonicalize().expect("it is there");
            std::fs::create_dir(base.join("project")).expect("a folder");
            std::fs::write(base.join("project/a"), "one").expect("a file");
            Place { _folder: folder, base }
        }

        fn at(&self, name: &str) -> String {
            self.base.join("project").join(name).to_string_lossy().into_owned()
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.at(name), text).expect("a file");
        }

        async fn engine(&self) -> Arc<Engine> {
            let mut config = Config::read(&Surroundings { variables: Default::default() });
            (config.cache, config.store) = (self.base.join("cache"), self.base.join("store"));
            config.directories = vec![self.base.join("memex")];
            let (vault, clock) = (Vault::empty(), Arc::new(SystemClock));
            let (editor, notify) = (Arc::new(NoEditor), Arc::new(|_| {}));
            let boot = Boot { config, vault, editor, clock, notify, keep: Keep::InMemory };
            start(boot).await.expect("the engine starts")
        }

        fn cleared(&self, tool: &str, args: Value, facts: Facts) -> Cleared {
            let toolbox = Toolbox::builtin();
            let args = args.as_object().expect("an object").clone();
            let action = Action::new(&toolbox, tool, args, Some("a test"), Labels::MODEL).expect("a proper action");
            let scope = Scope {
                project: self.base.join("project").to_string_lossy().into_owned(),
                home: self.base.to_string_lossy().into_owned(),
                ..Scope::bare()
            };
            let tool = toolbox.get(tool).expect("a tool");
            let case = Case { action: &action, tool, scope: &scope, facts: &facts, set_off: Sensor::UserInput };
            match judge(&Gates::for_tests(vec![Box::new(Open)]), case, None) {
                Judgement::Cleared(cleared) => *cleared,
                other => panic!("{other:?}"),
            }
        }

        fn command(&self) -> Cleared {
            self.cleared("shell", json!({"command": "make"}), Facts::default())
        }

        fn undo(&self) -> Cleared {
            let before = shadow::at(Path::new(&self.at("a")), 100).0;
            let put = PutFact { file: self.at("a"), before, after: Image::Absent, diff: String::new() };
            let args = json!({"kind": "undo", "changes": ["A1", "A2"], "files": [self.at("a")]});
            self.cleared(RESTORE, args, Facts { puts: vec![put], ..Facts::default() })
        }
    }

    /// Begins an act of a turn as the turn does, and says by whom it was approved.
    async fn begin(engine: &Engine, cleared: &Cleared) -> Act {
        let turn = engine.new_turn();
        engine.doings.begin(&turn, &SessionId("s".to_string()), Vec::new());
        engine.doings.approved_by(&turn, "emacs");
        engine.intent(&turn, cleared).await.expect("it is stored");
        (turn, cleared.action().hash())
    }

    async fn watch(engine: &Arc<Engine>, act: &Act, cleared: &Cleared) -> Watched {
        let alone = engine.alone_in(cleared.scope()).await;
        engine.watch(act, cleared, alone).await.expect("it is watched")
    }

    #[test]
    fn a_change_and_an_intent_are_read_as_they_were_kept_in_this_and_in_the_first_form() {
        let file = |after| FileChange { path: "/m/a.org".to_string(), before: Image::Absent, after };
        let change = Change {
            id: "A1".to_string(),
            kind: Kind::Act,
            time: jiff::Timestamp::UNIX_EPOCH,
            since: OperationId(3),
            turn: "T1".to_string(),
            session: "chat".to_string(),
            tool: "org-set-todo".to_string(),
            summary: "Mark it".to_string(),
            plan: None,
            approver: None,
            of: Vec::new(),
            files: vec![file(Image::Absent)],
            memory: None,
            focus: None,
            doubt: None,
        };
        let full = Change {
            plan: Some("P1".to_string()),
            approver: Some("emacs".to_string()),
            of: vec!["A0".to_string()],
            memory: Some((OperationId(1), OperationId(2))),
            doubt: Some("It is so.".to_string()),
            ..change.clone()
        };
        let none = Change { files: Vec::new(), ..change.clone() };
        for change in [change, full, none] {
            let kept = change_json(&change);
            assert_eq!(read_change(&kept).as_ref(), Some(&change), "{kept}");
            // All of it, and then with other words in the intent.
            for summary in ["Mark it", "Mark something"] {
                let intent =
                    json!({"turn": "T1", "tool": "org-set-todo", "summary": summary, "change": kept, "since": 3});
                let short = intent_json(intent.clone());
                assert_eq!(short["change"].get("summary").is_none(), summary == "Mark it", "{short}");
                assert_eq!(short["change"].get("turn"), None, "{short}");
                assert_eq!([change_of(&intent), change_of(&short)], [Some(change.clone()), Some(change.clone())]);
            }
        }
        let old = json!({
            "id": "A1", "kind": "act", "time": "1970-01-01T00:00:00Z", "since": 3, "turn": "T1", "session": "chat",
            "tool": "t", "summary": "s", "plan": null, "approver": null, "of": [], "files": [], "memory": null,
            "focus": null, "doubt": null,
        });
        assert!(read_change(&old).is_some_and(|change| change.of.is_empty() && change.plan.is_none()));
        assert_eq!(change_of(&intent_json(json!({"turn": "T1", "change": null}))), None);
    }

    fn done(act: &Act) -> Observation {
        let outcome = Outcome::Done("Exit status 0.".to_string());
        Observation {
            action: act.1,
            outcome,
            labels: Labels::MODEL,
            outside: Vec::new(),
            nodes: Vec::new(),
            changed: Vec::new(),
        }
    }

    fn paths(changes: &[Change]) -> Vec<Vec<&str>> {
        changes.iter().map(|change| change.files.iter().map(|file| file.path.as_str()).collect()).collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_a_stopped_command_changed_is_known_when_its_turn_has_ended() {
        let place = Place::new();
        let (engine, cleared) = (place.engine().await, place.command());
        let act = begin(&engine, &cleared).await;
        let watched = watch(&engine, &act, &cleared).await;
        place.write("a", "by the command");
        drop(watched);
        engine.end_unfinished(&act.0).await;
        let changes = engine.changes().await.expect("they are read");
        assert_eq!(paths(&changes), [[place.at("a")]]);
        assert_eq!((changes[0].tool.as_str(), changes[0].approver.as_deref()), ("shell", Some("emacs")));
        assert_eq!(changes[0].doubt.as_deref(), Some("it was stopped while it ran"));
        assert_eq!(shadow::unfinished(&engine.shadows()), []);
        assert!(engine.watching.begun.lock().is_empty(), "nothing is left of it");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_a_command_changed_outlives_a_crash_until_its_outcome_is_stored() {
        let place = Place::new();
        let (engine, cleared) = (place.engine().await, place.command());
        let act = begin(&engine, &cleared).await;
        let watched = watch(&engine, &act, &cleared).await;
        place.write("b", "by the command");
        watched.end().await;
        // Whoever starts now finds no outcome, and the note.
        let again = place.engine().await;
        let changes = again.changes().await.expect("they are read");
        assert_eq!(paths(&changes), [[place.at("b")]]);
        assert!(changes[0].doubt.as_deref().is_some_and(|doubt| doubt.contains("the program ended")));
        assert_eq!(shadow::unfinished(&again.shadows()), []);

        let act = begin(&engine, &cleared).await;
        // The project is let go of with the outcome of the first.
        let waits = tokio::time::timeout(Duration::from_millis(20), engine.alone_in(cleared.scope())).await;
        assert!(waits.is_err(), "another command would write its note over that of the first");
        let first = engine.watching.begun.lock().keys().find(|key| **key != act).cloned().expect("the first");
        engine.outcome(&first.0, &done(&first)).await.expect("it is stored");
        let watched = watch(&engine, &act, &cleared).await;
        place.write("c", "by the command");
        watched.end().await;
        assert_eq!(shadow::unfinished(&engine.shadows()).len(), 1);
        engine.outcome(&act.0, &done(&act)).await.expect("it is stored");
        assert_eq!(shadow::unfinished(&engine.shadows()), []);
        let changes = engine.changes().await.expect("they are read");
        assert_eq!(paths(&changes), [[place.at("b")], [place.at("c")]]);
        assert!(changes.iter().all(|change| change.doubt.is_none()), "{changes:?}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_note_that_is_left_is_taken_in_before_the_next_command_and_never_twice() {
        let place = Place::new();
        let (engine, cleared) = (place.engine().await, place.command());
        for stored in [false, true] {
            let act = begin(&engine, &cleared).await;
            let watched = watch(&engine, &act, &cleared).await;
            place.write("a", &format!("by the command {stored}"));
            watched.end().await;
            let count = engine.changes().await.expect("they are read").len();
            let note = shadow::unfinished(&engine.shadows()).remove(0).1;
            if stored {
                engine.outcome(&act.0, &done(&act)).await.expect("it is stored");
                // As if the note had outlived it.
                let (root, project) = (engine.shadows(), place.base.join("project"));
                Shadow::of(&root, &project, engine.caps()).before(&note).expect("it is noted");
            } else {
                // As if its outcome could not be stored.
                engine.watching.begun.lock().remove(&act);
            }
            let act = begin(&engine, &cleared).await;
            place.write("mine", &format!("by hand {stored}"));
            watch(&engine, &act, &cleared).await.end().await;
            engine.outcome(&act.0, &done(&act)).await.expect("it is stored");
            let changes = engine.changes().await.expect("they are read");
            assert_eq!(changes.len(), count + 1, "{stored}: {changes:?}");
            assert_eq!(changes[count].doubt.is_some(), !stored, "{stored}: {changes:?}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_same_command_of_two_turns_is_told_apart() {
        let place = Place::new();
        let (engine, cleared) = (place.engine().await, place.command());
        let (first, second) = (begin(&engine, &cleared).await, begin(&engine, &cleared).await);
        for (act, text) in [(&second, "second"), (&first, "first")] {
            let watched = watch(&engine, act, &cleared).await;
            place.write("a", text);
            watched.end().await;
            engine.outcome(&act.0, &done(act)).await.expect("it is stored");
        }
        let changes = engine.changes().await.expect("they are read");
        let turns: Vec<&str> = changes.iter().map(|change| change.turn.as_str()).collect();
        assert_eq!(turns, [second.0.0.as_str(), first.0.0.as_str()]);
        assert_eq!(paths(&changes), [[place.at("a")], [place.at("a")]]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_undo_whose_end_was_not_seen_is_still_an_undo() {
        let place = Place::new();
        let (engine, cleared) = (place.engine().await, place.undo());
        let act = begin(&engine, &cleared).await;
        std::fs::remove_file(place.at("a")).expect("it goes");
        engine.end_unfinished(&act.0).await;
        let changes = engine.changes().await.expect("they are read");
        assert_eq!((changes.len(), changes[0].kind, changes[0].approver.as_deref()), (1, Kind::Undo, Some("emacs")));
        assert_eq!((changes[0].of.join(" ").as_str(), changes[0].session.as_str()), ("A1 A2", "s"));
        assert_eq!((&changes[0].turn, &changes[0].files[0].after), (&act.0.0, &Image::Absent));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_turn_that_is_stopped_ends_when_nothing_writes_for_it_any_more() {
        let place = Place::new();
        let (engine, cleared) = (place.engine().await, place.undo());
        let act = begin(&engine, &cleared).await;
        let busy = engine.writing(&act).expect("it may write");
        let (ending, turn) = (engine.clone(), act.0.clone());
        let mut ended = tokio::spawn(async move { ending.end_unfinished(&turn).await });
        assert!(tokio::time::timeout(Duration::from_millis(50), &mut ended).await.is_err(), "it waits");
        std::fs::remove_file(place.at("a")).expect("it goes");
        drop(busy);
        ended.await.expect("it ends");
        assert_eq!(paths(&engine.changes().await.expect("they are read")), [[place.at("a")]]);
        let outcomes = engine.archive.latest_each(kind::OUTCOME).await.expect("they are read");
        assert_eq!(outcomes[0].body["changed"], json!([place.at("a")]));
        assert!(engine.writing(&act).is_err(), "nothing is written for it from now on");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_only_looks_adds_nothing_to_the_store_however_large_it_is() {
        let place = Place::new();
        let engine = place.engine().await;
        let lines = |words: [&str; 3]| words.map(|word| format!("{}\n", word.repeat(1 << 20))).concat().into_bytes();
        let [before, after, now] =
            [["aaaa", "bbbb", "cccc"], ["dddd", "bbbb", "cccc"], ["dddd", "bbbb", "eeee"]].map(lines);
        let image = |bytes: &[u8], mode| Image::File { content: content_name(bytes), size: bytes.len() as u64, mode };
        engine
            .archive
            .keep(vec![Content::of(before.clone()), Content::of(after.clone())])
            .await
            .expect("they are kept");
        std::fs::write(place.at("a"), &now).expect("a file");
        let files =
            vec![FileChange { path: place.at("a"), before: image(&before, 0o755), after: image(&after, 0o644) }];
        let act = begin(&engine, &place.undo()).await;
        let change = engine.watching.begun.lock().get(&act).map(|begun| begun.change.clone()).expect("it has begun");
        let change = Arc::new(Change { files, ..change });
        let merged = content_name(&lines(["aaaa", "bbbb", "eeee"]));
        for now in [false, true] {
            let (looking, of) = (engine.clone(), change.clone());
            let work = move || looking.predict_restore(&[&of], now).map(|predicted| predicted.puts[0].after.clone());
            let found = tokio::task::spawn_blocking(work).await.expect("it does not break").expect("it is predicted");
            assert!(matches!(found, Image::File { content, mode: 0o755, .. } if content == merged), "{found:?}");
            assert_eq!(engine.kept_bytes(merged).await.is_ok(), now, "it is kept when it is about to be put");
        }
    }

    #[test]
    fn previews_at_once_never_wait_for_each_other() {
        let place = Place::new();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().max_blocking_threads(1).build();
        let runtime = runtime.expect("a runtime");
        let found = runtime.block_on(async {
            let (engine, cleared) = (place.engine().await, place.undo());
            let act = begin(&engine, &cleared).await;
            std::fs::remove_file(place.at("a")).expect("it goes");
            engine.end_unfinished(&act.0).await;
            let changes = engine.changes().await.expect("they are read");
            let work = move || engine.predict_restore(&[&changes[0]], false).map(|predicted| predicted.puts.len());
            let found = tokio::task::spawn_blocking(work);
            tokio::time::timeout(Duration::from_secs(20), found).await
        });
        // A thread that waits for itself is not waited for.
        runtime.shutdown_background();
        assert_eq!(found.expect("it comes in time").expect("it does not break"), Ok(1));
    }
}
