//! Predicts the edits that are more than one step of an outline: archiving, clocks, tags, bodies, and exact replacements.

use crate::domain::action::Action;
use crate::domain::gate::facts::{EditFact, PathFact};
use crate::domain::gate::place;
use crate::domain::hash::ContentHasher;
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::document::PrivacyOptions;
use crate::domain::org::archive::{Location, beginning, context, location};
use crate::domain::org::clock::Clocked;
use crate::domain::org::edit::{
    Edit, EditOptions, NewHeading, apply, clocked_in, clocked_out, extract, set_keyword, splices,
};
use crate::domain::org::is_org;
use crate::domain::org::outline::Outline;
use crate::domain::org::scan::scan;
use crate::domain::org::timestamp::Timestamp;
use crate::domain::replace::replace;
use crate::domain::scope::Scope;
use crate::domain::tool::{ADD_ID, LOG_JOB, SET_KEYWORD};
use crate::edge::engine::Engine;
use crate::edge::engine::planner::{Located, fact};
use crate::edge::survey::{Predicted, Whereabouts};
use jiff::civil::DateTime;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long notes are looked through for a clock that runs elsewhere.
const LOOKING: Duration = Duration::from_millis(500);
/// How many clocks that run elsewhere are named.
const MOST_CLOCKS: usize = 3;

impl Engine {
    /// Predicts what such a tool would change; `None` for another tool. What cannot be done as asked is said in
    /// [`Predicted::impossible`].
    pub(super) fn plan_chore(
        &self,
        action: &Action,
        scope: &Scope,
        paths: &[PathFact],
        whereabouts: &dyn Whereabouts,
    ) -> Option<Predicted> {
        const TOOLS: [&str; 10] = [
            LOG_JOB,
            ADD_ID,
            SET_KEYWORD,
            "replace-in-file",
            "insert-at-end",
            "org-replace-body",
            "org-set-tags",
            "org-clock",
            "org-archive",
            "org-refactor",
        ];
        if sets_id(action) {
            let why = "an ID is not set or taken away as a property: links would break, and two could be the same; \
                       org-add-id gives a heading one that it lacks";
            return Some(Predicted { impossible: vec![why.to_string()], ..Predicted::default() });
        }
        TOOLS.contains(&action.tool()).then_some(())?;
        let id = action.text("id").unwrap_or("");
        let now = self.time_of(action);
        let (mut doubts, mut places) = (Vec::new(), Vec::new());
        let edits = match action.tool() {
            "replace-in-file" => self.plan_replace(action, scope, paths, whereabouts),
            "org-replace-body" => {
                self.at(id, now, |node| Edit::SetBody { node, body: action.text("body").unwrap_or("").to_string() })
            }
            "org-set-tags" => self.at(id, now, |node| {
                let tags = action.args().get("tags").and_then(|tags| tags.as_array());
                let tags = tags.into_iter().flatten().filter_map(|tag| tag.as_str()).map(str::to_string).collect();
                Edit::SetTags { node, tags }
            }),
            LOG_JOB => self.plan_log(id, action, now),
            ADD_ID => self.plan_new_id(id, now),
            SET_KEYWORD => self.plan_keyword(action, paths),
            "org-clock" => self.plan_clock(id, (action, now), scope, &mut doubts),
            "org-archive" => self.plan_archive(id, scope, now, &mut places),
            "org-refactor" => self.plan_refactor(id, action, now),
            "insert-at-end" => self.plan_insert(action, paths),
            _ => return None,
        };
        Some(match edits {
            Ok(edits) => Predicted { edits, doubts, places, ..Predicted::default() },
            Err(why) => Predicted { impossible: vec![why], ..Predicted::default() },
        })
    }

    fn at(&self, id: &str, now: DateTime, edit: impl FnOnce(usize) -> Edit) -> Result<Vec<EditFact>, String> {
        let at = self.locate(id)?;
        let edit = edit(at.index);
        self.edited_text(at, &edit, now)
    }

    fn plan_replace(
        &self,
        action: &Action,
        scope: &Scope,
        paths: &[PathFact],
        whereabouts: &dyn Whereabouts,
    ) -> Result<Vec<EditFact>, String> {
        let path = paths.first().ok_or_else(|| "there is no path".to_string())?;
        let file = &path.resolved;
        let before =
            self.text_now(file)?.ok_or_else(|| format!("{file} is not there; write-file writes a new file."))?;
        let count = action.args().get("count").and_then(|count| count.as_u64()).unwrap_or(1);
        let (old, new) = (action.text("old").unwrap_or(""), action.text("new").unwrap_or(""));
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        match replace(&before, old, new, count) {
            Ok(after) => Ok(vec![fact(file.clone(), Some(before), after.into())]),
            Err(why) => {
                // What the file says goes back to the model: only of a file that it may read unasked.
                let inside = matches!(place::zone(file, scope), place::Zone::Project | place::Zone::Memex);
                let open = place::secret(file, scope).is_none() && inside && path.links < 2;
                let privacy = whereabouts.privacy_of_file(file).unwrap_or(Privacy::Open);
                let shown = (open && privacy <= scope.may_see).then_some(&*before);
                let masked = shown.map(|text| crate::domain::gate::secret::mask(text).0);
                Err(format!("{file}: {}", why.words(old, masked.as_deref())))
            }
        }
    }

    /// Several changes of one heading at once; none of them moves it.
    fn plan_refactor(&self, id: &str, action: &Action, now: DateTime) -> Result<Vec<EditFact>, String> {
        let at = self.locate(id)?;
        let node = at.index;
        let list = |name: &str| {
            let list = action.args().get(name).and_then(|list| list.as_array());
            list.map(|list| list.iter().filter_map(|item| item.as_str()).map(str::to_string).collect::<Vec<_>>())
        };
        let mut edits = Vec::new();
        edits.extend(action.text("title").map(|title| Edit::SetTitle { node, title: title.to_string() }));
        let state = action.text("state").map(|state| Some(state.to_string()).filter(|state| !state.is_empty()));
        edits.extend(list("tags").map(|tags| Edit::SetTags { node, tags }));
        for line in list("properties").unwrap_or_default() {
            let (key, value) =
                line.split_once('=').ok_or_else(|| format!("“{line}” is no property: write KEY=value"))?;
            let value = Some(value.trim().to_string()).filter(|value| !value.is_empty());
            edits.push(Edit::SetProperty { node, key: key.trim().to_string(), value });
        }
        edits.extend(action.text("body").map(|body| Edit::SetBody { node, body: body.to_string() }));
        // Last: it may move dates, and note that in the text.
        edits.extend(state.map(|state| Edit::SetTodo { node, state }));
        if edits.is_empty() {
            return Err("say what is to change: title, state, tags, properties or body".to_string());
        }
        self.edited_in_order(at, &edits, now)
    }

    fn plan_insert(&self, action: &Action, paths: &[PathFact]) -> Result<Vec<EditFact>, String> {
        let path = paths.first().ok_or_else(|| "there is no path".to_string())?;
        let before = self.text_now(&path.resolved)?;
        let before = before.ok_or_else(|| format!("{} is not there; write-file writes a new file.", path.resolved))?;
        let text = action.text("text").unwrap_or("");
        if text.is_empty() {
            return Err("there is no text to insert".to_string());
        }
        let between = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
        let after = format!("{before}{between}{text}{}", if text.ends_with('\n') { "" } else { "\n" });
        Ok(vec![fact(path.resolved.clone(), Some(before), after.into())])
    }

    /// Gives a heading the id that it lacks: made here, of where it stands and what it says, so that what is written is what
    /// was shown.
    fn plan_new_id(&self, id: &str, now: DateTime) -> Result<Vec<EditFact>, String> {
        let at = self.locate(id)?;
        let node = at.outline.nodes.get(at.index).ok_or_else(|| format!("there is no heading with the id {id}"))?;
        if let Some(known) = at.outline.property(node, "ID").filter(|known| !known.trim().is_empty()) {
            return Err(format!("it has an ID: {known}"));
        }
        let mut hasher = ContentHasher::new("id");
        hasher.text(&at.file).text(id).text(at.outline.slice(&(node.begin..node.end)));
        let made = NodeId::made_of(hasher.finish());
        if self.view().get(&made).is_some() {
            return Err(format!(
                "the ID that would be made, {made}, stands elsewhere already; change the heading first"
            ));
        }
        let value = Some(made.to_string());
        let edit = Edit::SetProperty { node: at.index, key: "ID".to_string(), value };
        self.edited_text(at, &edit, now)
    }

    fn plan_keyword(&self, action: &Action, paths: &[PathFact]) -> Result<Vec<EditFact>, String> {
        let file = &paths.first().ok_or_else(|| "there is no file".to_string())?.resolved;
        if !is_org(file) {
            return Err(format!("{file} is no Org file"));
        }
        let before = self.text_now(file)?;
        let before = before.ok_or_else(|| format!("{file} is not there; org-add-heading begins a new file."))?;
        let options = self.scan_options_of(file);
        let outline = scan(before.clone(), &options).map_err(|error| format!("{file}: {error}"))?;
        let key = action.text("keyword").unwrap_or("").trim().trim_start_matches("#+").trim_end_matches(':');
        let value = action.text("value").filter(|value| !value.trim().is_empty());
        let splices = set_keyword(&outline, key, value, &options).map_err(|error| format!("{file}: {error}"))?;
        if splices.is_empty() {
            return Err(format!("{file} says so already"));
        }
        Ok(vec![fact(file.clone(), Some(before.clone()), apply(&before, &splices).into())])
    }

    fn plan_log(&self, id: &str, action: &Action, now: DateTime) -> Result<Vec<EditFact>, String> {
        let at = self.locate(id)?;
        let began = action.text("began").and_then(|began| began.parse::<jiff::Timestamp>().ok());
        let began = began.map(|began| Timestamp::inactive(self.clock.zone().to_datetime(began)));
        let run = began.map(|began| format!(", of the run of {began}")).unwrap_or_default();
        let line = format!("- Job {} {}{run}", action.text("outcome").unwrap_or("done"), Timestamp::inactive(now));
        let edit = Edit::Log { node: at.index, line };
        self.edited_text(at, &edit, now)
    }

    fn plan_clock(
        &self,
        id: &str,
        (action, now): (&Action, DateTime),
        scope: &Scope,
        doubts: &mut Vec<String>,
    ) -> Result<Vec<EditFact>, String> {
        let at = self.locate(id)?;
        let body = match action.text("do") {
            Some("in") => {
                doubts.extend(self.clocks_elsewhere(&at, scope));
                clocked_in(&at.outline, at.index, now)
            }
            _ => clocked_out(&at.outline, at.index, now),
        };
        let edit = Edit::SetBody { node: at.index, body: body.map_err(|error| error.to_string())? };
        self.edited_text(at, &edit, now)
    }

    /// Returns a sentence on each clock that runs at another heading. Private headings are named only to who may see them.
    fn clocks_elsewhere(&self, here: &Located, scope: &Scope) -> Vec<String> {
        let until = Instant::now() + LOOKING;
        let view = self.view();
        let mut said = Vec::new();
        for card in view.cards() {
            if Instant::now() > until {
                said.push("Not all notes could be looked through for a clock that runs already.".to_string());
                break;
            }
            let Some(text) = view.text(&card.file).filter(|text| has_open_clock(text)) else { continue };
            let Ok(outline) = scan(text, &self.scan_options_of(&card.file)) else { continue };
            for index in 1..outline.nodes.len() {
                let running = outline.clocks(index).iter().any(|clock| matches!(clock.time, Clocked::Since(_)));
                if !running || (*card.file == *here.file && index == here.index) {
                    continue;
                }
                let hidden = card.privacy(index) > scope.may_see;
                let named = outline.nodes.get(index).map(|node| outline.slice(&node.title)).unwrap_or("");
                said.push(match hidden {
                    true => "A clock is running already, at a private heading.".to_string(),
                    false => format!("A clock is running already, at “{named}” in {}.", card.file),
                });
            }
            if said.len() >= MOST_CLOCKS {
                break;
            }
        }
        said.truncate(MOST_CLOCKS);
        said
    }

    /// Adds where it would be archived to `places`, when that is another file.
    fn plan_archive(
        &self,
        id: &str,
        scope: &Scope,
        now: DateTime,
        places: &mut Vec<String>,
    ) -> Result<Vec<EditFact>, String> {
        let from = self.locate(id)?;
        if from.index == 0 {
            return Err("a whole file is not archived; name a heading".to_string());
        }
        let shown = match from.file.strip_prefix(scope.home.trim_end_matches('/')) {
            Some(rest) if rest.starts_with('/') => format!("~{rest}"),
            _ => from.file.clone(),
        };
        let Location { file, heading } = location(&from.outline, from.index, &from.file)?;
        // What was private stays so: the tags that made it so go with it.
        let kept = self.private_tags_of(&from, scope);
        let noted = context(&from.outline, from.index, &shown, now).into_iter();
        let mut marks: Vec<Edit> =
            noted.map(|(key, value)| Edit::SetProperty { node: from.index, key, value: Some(value) }).collect();
        marks.extend(kept.map(|tags| Edit::SetTags { node: from.index, tags }));
        let marked = self.stepped(&from.file, from.outline.clone(), &marks)?;
        let Some(target) = file else {
            let parent = self.top_heading(&marked, heading.as_deref())?;
            let edit = Edit::Move { node: from.index, parent: Some(parent) };
            let after = self.stepped(&from.file, marked, &[edit])?;
            return Ok(vec![fact(from.file.clone(), Some(from.outline.text.clone()), after.text)]);
        };
        let subtree = extract(&marked, from.index).map_err(|error| error.to_string())?;
        let (before, outline) = self.archive_file(&target, &from, &shown)?;
        places.push(target.clone());
        let (outline, parent) = match heading.as_deref() {
            None => (outline, None),
            Some(title) => {
                let outline = match self.top_heading(&outline, Some(title)) {
                    Ok(_) => outline,
                    Err(_) => {
                        let new = NewHeading { title: title.to_string(), ..NewHeading::default() };
                        self.stepped(&target, outline, &[Edit::AddHeading(new)])?
                    }
                };
                let parent = self.top_heading(&outline, Some(title))?;
                (outline, Some(parent))
            }
        };
        let after = self.stepped(&target, outline, &[Edit::Insert { parent, subtree }])?;
        // The new place is written first: if the second write fails, the heading stands twice, and is not lost.
        let mut edits = vec![fact(target, before, after.text)];
        let remove = Edit::Remove { node: from.index };
        edits.extend(self.edited_text(from, &remove, now)?);
        Ok(edits)
    }

    /// Returns the own tags of a heading with those that it inherits and that make it private; `None` without any.
    fn private_tags_of(&self, at: &Located, scope: &Scope) -> Option<Vec<String>> {
        let node = at.outline.nodes.get(at.index)?;
        let own: Vec<String> = node.tags.iter().map(|tag| tag.to_string()).collect();
        let options = PrivacyOptions { tags: scope.private_tags.clone() };
        let marks = |tag: &&str| options.of_tags(&[tag]) > Privacy::Open;
        let inherited = at.outline.all_tags(node.parent as usize).into_iter().filter(marks);
        let mut all = own.clone();
        for tag in inherited {
            if !all.iter().any(|known| known == tag) {
                all.push(tag.to_string());
            }
        }
        (all != own).then_some(all)
    }

    /// Returns the archive as it is, or as a new one begins.
    fn archive_file(&self, file: &str, from: &Located, shown: &str) -> Result<(Option<Arc<str>>, Outline), String> {
        if let Ok(metadata) = Path::new(file).symlink_metadata()
            && !metadata.is_file()
        {
            return Err(format!("{file} is no regular file"));
        }
        let folder = Path::new(file).parent().ok_or_else(|| format!("{file} lies in no folder"))?;
        if folder.canonicalize().ok().as_deref() != Some(folder) {
            return Err(format!("the folder of {file} is not there, or is reached by a link"));
        }
        let before = self.text_now(file)?;
        let text = before.clone().unwrap_or_else(|| beginning(&from.outline, shown).into());
        let outline = scan(text, &self.scan_options_of(file)).map_err(|error| format!("{file}: {error}"))?;
        Ok((before, outline))
    }

    fn top_heading(&self, outline: &Outline, title: Option<&str>) -> Result<usize, String> {
        let named =
            |index: &usize| outline.nodes.get(*index).is_some_and(|node| Some(outline.slice(&node.title)) == title);
        let found = outline.children(0).find(named);
        found.ok_or_else(|| format!("there is no heading “{}” to archive under", title.unwrap_or("")))
    }

    /// Makes edits one after the other; none may move the nodes that a later one names.
    fn stepped(&self, file: &str, mut outline: Outline, edits: &[Edit]) -> Result<Outline, String> {
        let options = EditOptions { scan: self.scan_options_of(file), ..EditOptions::at(self.clock.wall()) };
        for edit in edits {
            let splices = splices(&outline, edit, &options).map_err(|error| error.to_string())?;
            let after: Arc<str> = apply(&outline.text, &splices).into();
            outline = scan(after, &options.scan).map_err(|error| format!("{file}: {error}"))?;
        }
        Ok(outline)
    }
}

/// Returns whether an action would set or take away the ID of a heading as any other property.
fn sets_id(action: &Action) -> bool {
    let is_id = |key: &str| key.trim().trim_end_matches('+').eq_ignore_ascii_case("ID");
    match action.tool() {
        "org-set-property" => action.text("property").is_some_and(is_id),
        "org-refactor" => action.list("properties").iter().any(|line| is_id(line.split('=').next().unwrap_or(""))),
        _ => false,
    }
}

/// Returns whether a text may hold a clock that runs; most hold none, and need not be scanned.
fn has_open_clock(text: &str) -> bool {
    let open = |line: &str| {
        let line = line.trim_start();
        line.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("CLOCK:")) && !line.contains("]--[")
    };
    memchr::memmem::find(text.as_bytes(), b"CLOCK:").is_some() && text.lines().any(open)
}
