//! Predicts `note-distil`: one note of one heading, with an id of its own and a link to its source, and never twice.
//!
//! A source without an `ID` is given one by the same edit: a path of titles is another one when the heading moves.

use crate::domain::action::Action;
use crate::domain::gate::facts::{EditFact, PathFact};
use crate::domain::gate::place::{Zone, zone};
use crate::domain::hash::ContentHasher;
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::org::edit::{Edit, NewHeading};
use crate::domain::org::is_org;
use crate::domain::org::scan::scan;
use crate::domain::query::distilled::{SOURCE, note_of};
use crate::domain::recall::show::{link, link_to};
use crate::domain::scope::Scope;
use crate::edge::engine::Engine;
use crate::edge::engine::planner::Located;
use crate::edge::survey::Predicted;

/// Where notes go that are given no file: in the first folder of the memex.
const NOTES: &str = "notes.org";

impl Engine {
    /// Predicts what such a tool would change; `None` for another tool. What cannot be done as asked is said in
    /// [`Predicted::impossible`].
    pub(super) fn plan_note(&self, action: &Action, paths: &[PathFact], scope: &Scope) -> Option<Predicted> {
        (action.tool() == "note-distil").then_some(())?;
        let mut places = Vec::new();
        Some(match self.distilled(action, (paths, scope), &mut places) {
            Ok(edits) => Predicted { edits, places, ..Predicted::default() },
            Err(why) => Predicted { impossible: vec![why], ..Predicted::default() },
        })
    }

    /// Adds where the note goes to `places`, when no argument names it.
    fn distilled(
        &self,
        action: &Action,
        (paths, scope): (&[PathFact], &Scope),
        places: &mut Vec<String>,
    ) -> Result<Vec<EditFact>, String> {
        let text = |name: &str| action.text(name).unwrap_or("").trim();
        let (id, view) = (text("id"), self.view());
        let source = view.get(&NodeId::new(id));
        let source =
            source.ok_or_else(|| format!("there is no note with the id {id}; notes-undistilled lists some"))?;
        if source.privacy() > Privacy::Open {
            return Err("the heading is private, and of what is private no note is distilled".to_string());
        }
        if let Some(note) = note_of(&view, id) {
            return Err(format!("a note was distilled from it before: {}", note.id()));
        }
        if text("body").is_empty() {
            return Err("a note needs a text".to_string());
        }
        let file = self.note_file(paths, places)?;
        if !is_org(&file) {
            return Err(format!("{file} is no Org file"));
        }
        // Elsewhere nobody would see that it is there already.
        if zone(&file, scope) != Zone::Memex {
            return Err(format!("{file} is not in the memex, where notes are looked for"));
        }
        let before = self.text_now(&file)?.unwrap_or_else(|| "".into());
        let outline = scan(before, &self.scan_options_of(&file)).map_err(|error| format!("{file}: {error}"))?;
        // Memory may be behind the file.
        if outline.nodes.iter().any(|node| outline.property(node, SOURCE) == Some(id)) {
            return Err(format!("a note was distilled from it before, which stands in {file}"));
        }
        let own = source.property("ID").map(str::to_string);
        let given = own.is_none().then(|| new_id(action, "source", source.file()));
        let tags = action.args().get("tags").and_then(|tags| tags.as_array());
        let link = match &given {
            Some(given) => link_to(given, source.title()),
            None => link(&source),
        };
        let note = Edit::AddHeading(NewHeading {
            title: text("title").to_string(),
            tags: tags.into_iter().flatten().filter_map(|tag| tag.as_str()).map(str::to_string).collect(),
            body: format!("{}\n\nSource: {link}", text("body")),
            properties: vec![
                ("ID".to_string(), new_id(action, "note", &file)),
                (SOURCE.to_string(), given.clone().or(own).unwrap_or_default()),
            ],
            ..NewHeading::default()
        });
        let now = self.time_of(action);
        let Some(given) = given else {
            return self.edited_text(Located { file, outline, index: 0 }, &note, now);
        };
        let from = self.locate(id)?;
        let named = Edit::SetProperty { node: from.index, key: "ID".to_string(), value: Some(given) };
        if from.file == file {
            return self.edited_in_order(from, &[named, note], now);
        }
        let mut edits = self.edited_text(Located { file, outline, index: 0 }, &note, now)?;
        edits.extend(self.edited_text(from, &named, now)?);
        Ok(edits)
    }

    /// Returns where the note goes, and adds it to `places` when no argument names it.
    fn note_file(&self, paths: &[PathFact], places: &mut Vec<String>) -> Result<String, String> {
        if let Some(path) = paths.iter().find(|path| path.arg == "file") {
            return Ok(path.resolved.clone());
        }
        let folder = self.config.directories.first().and_then(|folder| folder.canonicalize().ok());
        let folder = folder.ok_or_else(|| "there is no folder of the memex; name a file".to_string())?;
        let file = folder.join(NOTES).to_string_lossy().into_owned();
        places.push(file.clone());
        Ok(file)
    }
}

/// Returns an id for what an action makes: the same whenever it is predicted, so that what is written is what was shown.
fn new_id(action: &Action, what: &str, file: &str) -> String {
    let mut hasher = ContentHasher::new(what);
    for name in ["id", "title", "body"] {
        hasher.text(action.text(name).unwrap_or(""));
    }
    hasher.text(file);
    NodeId::made_of(hasher.finish()).to_string()
}
