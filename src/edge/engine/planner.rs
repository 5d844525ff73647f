//! Predicts what an edit would change: on the text of the open buffer, or of the file.

use crate::domain::action::Action;
use crate::domain::count::counted;
use crate::domain::gate::Facts;
use crate::domain::gate::closing::{LeftOpen, left_open};
use crate::domain::gate::facts::{BySetup, EditFact, PathFact, QuotedNote};
use crate::domain::gate::place::holds_notes;
use crate::domain::gate::plan::{FlightPlan, PlanStatus};
use crate::domain::id::{ActionHash, NodeId};
use crate::domain::label::Privacy;
use crate::domain::memory::card::Card;
use crate::domain::memory::document::privacy_by_lines;
use crate::domain::memory::query::shaped_by;
use crate::domain::memory::view::NodeRef;
use crate::domain::org::edit::{Edit, EditOptions, NewHeading, Planning, apply, extract, splices};
use crate::domain::org::is_org;
use crate::domain::org::outline::Outline;
use crate::domain::org::scan::scan;
use crate::domain::org::timestamp::Timestamp;
use crate::domain::policy::mandate::Mandate;
use crate::domain::scope::Scope;
use crate::domain::tool::{Effect, RESTORE, Tool, Toolbox};
use crate::edge::engine::Engine;
use crate::edge::engine::inspect::MASKS;
use crate::edge::survey::{EditPlanner, Predicted, Whereabouts};
use jiff::civil::DateTime;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};

/// The engine as the survey sees it; it is filled in when the engine stands.
#[derive(Clone, Default)]
pub struct Lookout(Arc<OnceLock<Weak<Engine>>>);

impl Lookout {
    /// Lets the survey see an engine. The first one counts.
    pub fn set(&self, engine: &Arc<Engine>) {
        // A second engine would be a mistake of ours; the first goes on being seen.
        let _ = self.0.set(Arc::downgrade(engine));
    }

    fn engine(&self) -> Option<Arc<Engine>> {
        self.0.get()?.upgrade()
    }
}

impl Whereabouts for Lookout {
    fn toolbox(&self) -> Toolbox {
        self.engine().map_or_else(Toolbox::builtin, |engine| engine.toolbox())
    }

    fn mandate(&self, action: &Action, facts: &Facts, scope: &Scope) -> Mandate {
        match self.engine() {
            Some(engine) => engine.mandate_over(action, facts, scope),
            None => Mandate { wrong: vec!["memory is not there yet".to_string()], ..Mandate::default() },
        }
    }

    fn privacy_of_node(&self, id: &str) -> Option<Privacy> {
        let node = self.engine()?.view().get(&NodeId::new(id))?;
        Some(node.privacy())
    }

    fn title_of_node(&self, id: &str) -> Option<String> {
        let node = self.engine()?.view().get(&NodeId::new(id))?;
        Some(node.title().to_string())
    }

    fn privacy_of_file(&self, path: &str) -> Option<Privacy> {
        let Some(engine) = self.engine() else { return Some(Privacy::Private) };
        let known = engine.view().card(path).map(|card| card.strictest());
        // Memory may be behind, and does not know every file: the text that would be read decides as well.
        if holds_notes(path) { known.max(engine.privacy_now(path)) } else { known }
    }

    fn knows_quotations(&self) -> bool {
        self.engine().is_some_and(|engine| engine.knows_quotations())
    }

    fn quotation(&self, text: &str) -> Option<QuotedNote> {
        self.engine()?.quotation(text)
    }

    fn source_of_node(&self, id: &str) -> Option<String> {
        let engine = self.engine()?;
        let node = engine.view().get(&NodeId::new(id))?;
        engine.source_of(&node)
    }

    fn is_open(&self, path: &str) -> bool {
        // When Emacs does not say, the file is taken for open: then its buffer is asked for, and that fails clearly.
        self.engine().is_some_and(|engine| engine.is_open_now(path).unwrap_or(true))
    }
}

/// The times of so many edits are remembered while their plans wait.
const PINNED: usize = 256;
/// How many files an edit of a setup file names that it would open.
const OPENS_NAMED: usize = 50;

impl EditPlanner for Lookout {
    fn plan(&self, action: &Action, tool: &Tool, scope: &Scope, paths: &[PathFact]) -> Result<Predicted, String> {
        let engine = self.engine().ok_or_else(|| "the engine is not there yet".to_string())?;
        let code = engine.plan_code(action, scope, paths);
        let code = code.or_else(|| engine.plan_note(action, paths, scope)).or_else(|| engine.plan_skill(action));
        let chore = code.or_else(|| engine.plan_chore(action, scope, paths, self)).map(Ok);
        let mut predicted = chore.unwrap_or_else(|| match tool.effect {
            Effect::WriteFile if action.tool() == RESTORE => engine.plan_restore(action),
            Effect::WriteFile => {
                let path = paths.first().ok_or_else(|| "there is no path".to_string())?;
                let before = engine.text_now(&path.resolved)?;
                let after: Arc<str> = action.text("content").unwrap_or("").into();
                Ok(edits(vec![fact(path.resolved.clone(), before, after)]))
            }
            Effect::EditOrg => engine.plan_org(action, paths).map(edits),
            Effect::Commit => Ok(engine.plan_commit(action, scope)),
            Effect::Configure => engine.plan_setting(action),
            Effect::Reply
            | Effect::Delegate
            | Effect::ReadMemory
            | Effect::ReadFile
            | Effect::Execute
            | Effect::Evaluate
            | Effect::Send
            | Effect::ReadEditor
            | Effect::ShowInEditor
            | Effect::Fetch
            | Effect::Custom(_) => Ok(Predicted::default()),
        })?;
        for edit in predicted.edits.iter_mut().chain(&mut predicted.put_texts) {
            edit.by_setup = engine.by_setup(edit);
        }
        if matches!(tool.effect, Effect::EditOrg | Effect::WriteFile) && action.tool() != RESTORE {
            predicted.left_open = engine.left_open(&predicted.edits, scope);
            predicted.impossible.extend(predicted.edits.iter().filter_map(writes_mask));
        }
        engine.count_held(predicted.edits.iter_mut().chain(&mut predicted.put_texts).collect());
        Ok(predicted)
    }

    fn not_undoable(&self, scope: &Scope) -> Option<String> {
        match self.engine() {
            Some(engine) => engine.not_undoable(scope),
            None => Some("the engine is not there yet".to_string()),
        }
    }
}

impl Engine {
    /// Asks the editor for a buffer, from a thread that may block.
    fn buffer_now(&self, file: &str) -> Result<Option<crate::edge::editor::Buffer>, String> {
        waiting_for(self.editor.buffer(file))
    }

    /// Asks the editor whether a file is open, from a thread that may block.
    fn is_open_now(&self, file: &str) -> Result<bool, String> {
        waiting_for(self.editor.is_open(file))
    }

    /// Returns a file's text as the user sees it: the buffer's where it is open, else the disk's; `None` when there is none.
    pub(in crate::edge) fn text_now(&self, file: &str) -> Result<Option<Arc<str>>, String> {
        if let Some(buffer) = self.buffer_now(file)? {
            return match buffer.read_only {
                true => Err(format!("{file} is open in a read-only buffer")),
                false => Ok(Some(buffer.text)),
            };
        }
        let path = Path::new(file);
        match path.symlink_metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            _ => crate::edge::org_file::read_text(path)
                .map(|decoded| Some(decoded.text))
                .map_err(|e| format!("{file}: {e}")),
        }
    }

    /// Returns how private an Org file is as it stands now; `None` when there is none. What cannot be read is private.
    fn privacy_now(&self, file: &str) -> Option<Privacy> {
        let text = match self.buffer_now(file) {
            Ok(Some(buffer)) => buffer.text,
            Ok(None) => match crate::edge::org_file::read_text(Path::new(file)) {
                Ok(decoded) => decoded.text,
                Err(_) if is_missing(file) => return None,
                Err(_) => return Some(Privacy::Private),
            },
            Err(_) => return Some(Privacy::Private),
        };
        Some(self.privacy_of_text(file, text))
    }

    /// Returns how private a file is as a whole, as memory knows it or as it stands on disk, whichever is stricter. It
    /// reads the disk.
    pub(crate) fn privacy_here(&self, file: &str) -> Privacy {
        if !holds_notes(file) {
            return Privacy::Open;
        }
        let known = self.view().card(file).map_or(Privacy::Open, |card| card.strictest());
        if known == Privacy::Private {
            return known;
        }
        known.max(match crate::edge::org_file::read_text(Path::new(file)) {
            Ok(decoded) => self.privacy_of_text(file, decoded.text),
            Err(_) if is_missing(file) => Privacy::Open,
            Err(_) => Privacy::Private,
        })
    }

    /// Returns how private an Org text is as a whole; one that cannot be scanned is private.
    pub(crate) fn privacy_of_text(&self, file: &str, text: Arc<str>) -> Privacy {
        let document = self.build(file, text).ok();
        document.and_then(|document| document.privacy.iter().copied().max()).unwrap_or(Privacy::Private)
    }

    /// Returns the headings that edits would mark done while something below them is open. What cannot be scanned has none
    /// that anybody could read.
    fn left_open(&self, edits: &[EditFact], scope: &Scope) -> Vec<LeftOpen> {
        let read = |edit: &EditFact| {
            let outline = |text: &Arc<str>| scan(text.clone(), &self.scan_options_of(&edit.file)).ok();
            let after = is_org(&edit.file).then(|| outline(&edit.after)).flatten()?;
            Some((edit.before.as_ref().and_then(outline), after))
        };
        let outlines: Vec<_> = edits.iter().filter_map(read).collect();
        left_open(&outlines, &self.privacy_options(), scope.may_see)
    }

    /// Says what setup files make of a file before and after an edit.
    pub(super) fn by_setup(&self, edit: &EditFact) -> BySetup {
        let private = |text: &Arc<str>| {
            let outline = scan(text.clone(), &self.scan_options_of(&edit.file));
            let set_up = outline.ok().filter(|outline| !outline.setups.is_empty());
            set_up.map_or(Privacy::Open, |outline| privacy_by_lines(&outline, &self.privacy_options()))
        };
        let opens = self.opens_by_setup(edit);
        match is_org(&edit.file) {
            true => BySetup {
                before: edit.before.as_ref().map_or(Privacy::Open, private),
                after: private(&edit.after),
                opens,
                ..BySetup::default()
            },
            false => BySetup { opens, ..BySetup::default() },
        }
    }

    /// Returns the files that a file made private as their setup file, whatever its name, and would no longer after an
    /// edit.
    fn opens_by_setup(&self, edit: &EditFact) -> Vec<String> {
        let view = self.view();
        let mut names = self.setups.at_or_below(&[PathBuf::from(&edit.file)]);
        names.push(edit.file.clone());
        let found: BTreeSet<&Arc<str>> = names.iter().flat_map(|name| shaped_by(&view, name)).collect();
        // One that is not there makes private what names it, as one does that cannot be read.
        let private = |text: &Arc<str>| {
            let outline = scan(text.clone(), &self.scan_options_of(&edit.file));
            let by_others = outline
                .map_or(Some(Privacy::Private), |outline| outline.setups.iter().map(|setup| setup.privacy).max());
            self.setups.makes_private(text).max(by_others.unwrap_or(Privacy::Open))
        };
        if found.is_empty() || private(&edit.after) >= edit.before.as_ref().map_or(Privacy::Private, private) {
            return Vec::new();
        }
        let mut opens: Vec<String> = found.iter().take(OPENS_NAMED).map(|file| file.to_string()).collect();
        if found.len() > OPENS_NAMED {
            opens.push(format!("{} more", counted(found.len() - OPENS_NAMED, "file")));
        }
        opens
    }

    /// Finds a node and the outline of its file as it is now, which may be ahead of memory.
    pub(super) fn locate(&self, id: &str) -> Result<Located, String> {
        let node = self.view().get(&NodeId::new(id)).ok_or_else(|| format!("there is no heading with the id {id}"))?;
        let file = node.file().to_string();
        let text = self.text_now(&file)?.ok_or_else(|| format!("{file} is gone"))?;
        let outline = scan(text, &self.scan_options_of(&file)).map_err(|e| format!("{file}: {e}"))?;
        let index = index_now(&node, &outline).ok_or_else(|| {
            format!("the heading {id} is not where memory has it; wait a moment until the file has been read again")
        })?;
        Ok(Located { file, outline, index })
    }

    /// The file that is named instead of a parent, or the target of the parent's id; a new file is empty.
    fn destination(&self, action: &Action, paths: &[PathFact]) -> Result<Located, String> {
        if let Some(parent) = action.text("parent") {
            return self.locate(parent);
        }
        let path =
            paths.iter().find(|path| path.arg == "file").ok_or_else(|| "say where: “parent” or “file”".to_string())?;
        let text = self.text_now(&path.resolved)?.unwrap_or_else(|| "".into());
        let options = self.scan_options_of(&path.resolved);
        let outline = scan(text, &options).map_err(|e| format!("{}: {e}", path.resolved))?;
        let under = action.args().get("under").and_then(|under| under.as_array());
        let titles: Vec<&str> = under.into_iter().flatten().filter_map(|title| title.as_str()).collect();
        let index = below(&outline, &titles).map_err(|why| format!("{}: {why}", path.resolved))?;
        Ok(Located { file: path.resolved.clone(), outline, index })
    }

    /// Returns the time that an edit writes: that at which it was proposed, as long as its plan waits, so that the plan
    /// shows exactly what will be written; else now.
    pub(super) fn time_of(&self, action: &Action) -> DateTime {
        let hash = action.hash();
        let waits = |plan: &&FlightPlan| {
            matches!(plan.status, PlanStatus::Pending | PlanStatus::Approved) && plan.action.hash() == hash
        };
        let waits = self.plans.lock().values().any(|plan| waits(&plan));
        let pinned = self.pinned.lock();
        if let Some((_, time)) = pinned.iter().find(|(known, _)| waits && *known == hash) {
            return *time;
        }
        drop(pinned);
        let now = self.clock.wall();
        self.pin_time(hash, now);
        now
    }

    /// Takes note of the time that an action writes.
    pub(super) fn pin_time(&self, action: ActionHash, time: DateTime) {
        let mut pinned = self.pinned.lock();
        pinned.retain(|(known, _)| *known != action);
        pinned.push_back((action, time));
        if pinned.len() > PINNED {
            pinned.pop_front();
        }
    }

    fn plan_org(&self, action: &Action, paths: &[PathFact]) -> Result<Vec<EditFact>, String> {
        let now = self.time_of(action);
        let text = |name: &str| action.text(name).filter(|text| !text.trim().is_empty()).map(str::to_string);
        let id = action.text("id").unwrap_or("");
        match action.tool() {
            "org-add-heading" => {
                let at = self.destination(action, paths)?;
                let tags = action.args().get("tags").and_then(|v| v.as_array());
                let heading = NewHeading {
                    parent: (at.index > 0).then_some(at.index),
                    title: text("title").unwrap_or_default(),
                    todo: text("todo"),
                    tags: tags.into_iter().flatten().filter_map(|v| v.as_str()).map(str::to_string).collect(),
                    body: text("body").unwrap_or_default(),
                    scheduled: text("scheduled").map(|when| stamp(&when)).transpose()?,
                    deadline: text("deadline").map(|when| stamp(&when)).transpose()?,
                    ..NewHeading::default()
                };
                self.edited_text(at, &Edit::AddHeading(heading), now)
            }
            "org-set-todo" => {
                let at = self.locate(id)?;
                let edit = Edit::SetTodo { node: at.index, state: text("state") };
                self.edited_text(at, &edit, now)
            }
            "org-set-property" => {
                let at = self.locate(id)?;
                let key = text("property").unwrap_or_default();
                let edit = Edit::SetProperty { node: at.index, key, value: action.text("value").map(str::to_string) };
                self.edited_text(at, &edit, now)
            }
            "org-schedule" => {
                let at = self.locate(id)?;
                let node = at.index;
                let edits = planned(action)?.into_iter().map(|(kind, stamp)| Edit::SetPlanning { node, kind, stamp });
                self.edited_in_order(at, &edits.collect::<Vec<_>>(), now)
            }
            "org-move" => self.plan_move(id, action, paths, now),
            other => Err(format!("{other} changes no Org file")),
        }
    }

    fn plan_move(&self, id: &str, action: &Action, paths: &[PathFact], now: DateTime) -> Result<Vec<EditFact>, String> {
        let (from, to) = (self.locate(id)?, self.destination(action, paths)?);
        let parent = (to.index > 0).then_some(to.index);
        if from.file == to.file {
            let edit = Edit::Move { node: from.index, parent };
            return self.edited_text(from, &edit, now);
        }
        let subtree = extract(&from.outline, from.index).map_err(|e| e.to_string())?;
        let remove = Edit::Remove { node: from.index };
        // The new place is written first: if the second write fails, the heading stands twice, and is not lost.
        let mut edits = self.edited_text(to, &Edit::Insert { parent, subtree }, now)?;
        edits.extend(self.edited_text(from, &remove, now)?);
        Ok(edits)
    }

    pub(super) fn edited_text(&self, at: Located, edit: &Edit, now: DateTime) -> Result<Vec<EditFact>, String> {
        self.edited_in_order(at, std::slice::from_ref(edit), now)
    }

    /// Applies edits one after the other; none may move the nodes that a later one names.
    pub(super) fn edited_in_order(&self, at: Located, edits: &[Edit], now: DateTime) -> Result<Vec<EditFact>, String> {
        let options = EditOptions { scan: self.scan_options_of(&at.file), ..EditOptions::at(now) };
        let before = (!at.outline.text.is_empty() || Path::new(&at.file).exists()).then(|| at.outline.text.clone());
        let mut outline = at.outline;
        for edit in edits {
            let splices = splices(&outline, edit, &options).map_err(|e| e.to_string())?;
            let after: Arc<str> = apply(&outline.text, &splices).into();
            outline = scan(after, &options.scan).map_err(|e| format!("{}: {e}", at.file))?;
        }
        Ok(vec![fact(at.file, before, outline.text)])
    }
}

/// Says why an edit is none, where it would write down what only stands in the place of a secret: who was not shown a
/// password writes a mask back, and the password would be lost.
fn writes_mask(edit: &EditFact) -> Option<String> {
    let before = edit.before.as_deref().unwrap_or("");
    let more = |mask: &str| edit.after.matches(mask).count() > before.matches(mask).count();
    let mask = MASKS.iter().find(|mask| more(mask))?.trim();
    Some(format!(
        "“{mask}” stands in the new text where a secret was not shown, and would take its place; change the part around it \
         with replace-in-file"
    ))
}

/// Returns the dates that `org-schedule` sets, and those that it removes.
fn planned(action: &Action) -> Result<Vec<(Planning, Option<String>)>, String> {
    let filled = |name: &str| action.text(name).filter(|text| !text.trim().is_empty());
    let date = |name: &str| filled(name).map(stamp).transpose();
    let deadline = action.text("deadline").is_some().then(|| date("deadline")).transpose()?;
    match (filled("kind"), deadline) {
        (None | Some("scheduled"), None) => Ok(vec![(Planning::Scheduled, date("when")?)]),
        (Some("deadline"), None) => Ok(vec![(Planning::Deadline, date("when")?)]),
        (Some("scheduled"), Some(deadline)) => {
            Ok(vec![(Planning::Scheduled, date("when")?), (Planning::Deadline, deadline)])
        }
        // Without a word of another date, nothing becomes of it.
        (None, Some(deadline)) => {
            let scheduled = filled("when").map(|_| date("when")).transpose()?;
            let first = scheduled.map(|stamp| (Planning::Scheduled, stamp));
            Ok(first.into_iter().chain([(Planning::Deadline, deadline)]).collect())
        }
        (Some("deadline"), Some(_)) => Err("the deadline stands in “when” or in “deadline”, not in both".to_string()),
        (Some(other), _) => Err(format!("“kind” is scheduled or deadline, not “{other}”")),
    }
}

fn edits(edits: Vec<EditFact>) -> Predicted {
    Predicted { edits, ..Predicted::default() }
}

pub(super) fn waiting_for<T>(answer: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    match tokio::runtime::Handle::try_current() {
        Ok(handle) => handle.block_on(answer),
        Err(_) => Err("no runtime".to_string()),
    }
}

fn is_missing(file: &str) -> bool {
    Path::new(file).symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

pub(super) struct Located {
    pub(super) file: String,
    pub(super) outline: Outline,
    pub(super) index: usize,
}

/// Returns a node's index in the present outline: by its :ID:, else by its path of titles.
fn index_now(node: &NodeRef, outline: &Outline) -> Option<usize> {
    if let Some(id) = node.property("ID") {
        return (0..outline.nodes.len())
            .find(|&i| outline.nodes.get(i).is_some_and(|n| outline.property(n, "ID") == Some(id)));
    }
    if node.text() == &*outline.text {
        return Some(node.index);
    }
    let wanted: Vec<&str> = titles(node.card(), node.index);
    let mut same = (0..outline.nodes.len()).filter(|&i| path_of(outline, i) == wanted);
    // Two headings of one path cannot be told apart in a text that has changed.
    same.next().filter(|_| same.next().is_none())
}

/// Returns the titles from a heading upwards.
fn titles(card: &Card, index: usize) -> Vec<&str> {
    let headings = std::iter::successors(Some(index), |at| card.parent(*at)).take_while(|at| *at > 0);
    headings.map(|at| card.title(at)).collect()
}

fn path_of(outline: &Outline, mut index: usize) -> Vec<&str> {
    let mut path = Vec::new();
    while index != 0 {
        let Some(node) = outline.nodes.get(index) else { break };
        path.push(outline.slice(&node.title));
        index = node.parent as usize;
    }
    path
}

/// Returns the heading that titles lead to from the top; the file itself without any.
fn below(outline: &Outline, titles: &[&str]) -> Result<usize, String> {
    let mut at = 0;
    for title in titles {
        let named = |index: &usize| {
            outline.nodes.get(*index).is_some_and(|node| outline.slice(&node.title).trim() == title.trim())
        };
        let mut found = outline.children(at).filter(named);
        at = found.next().ok_or_else(|| format!("there is no heading “{title}” there"))?;
        if found.next().is_some() {
            return Err(format!("there are several headings “{title}” there; name the one that is meant by its id"));
        }
    }
    Ok(at)
}

/// Returns an active timestamp for `YYYY-MM-DD`, perhaps with a time and a repeater, or for a whole timestamp.
fn stamp(when: &str) -> Result<String, String> {
    let bare = when.trim().trim_start_matches(['<', '[']).trim_end_matches(['>', ']']);
    let parsed = Timestamp::parse(&format!("<{bare}>"));
    parsed
        .map(|stamp| stamp.to_string())
        .ok_or_else(|| format!("“{when}” is no date; write YYYY-MM-DD or YYYY-MM-DD HH:MM"))
}

pub(in crate::edge) fn fact(file: String, before: Option<Arc<str>>, after: Arc<str>) -> EditFact {
    let diff = unified(&file, before.as_deref().unwrap_or(""), &after);
    EditFact { file, before, after, diff, by_setup: BySetup::default() }
}

/// Returns how two texts of a file differ, as a unified diff; empty where they are the same. It takes half a second at most.
pub(in crate::edge) fn unified(file: &str, before: &str, after: &str) -> String {
    similar::TextDiff::configure()
        .timeout(std::time::Duration::from_millis(500))
        .diff_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .header(&format!("a{file}"), &format!("b{file}"))
        .to_string()
}
