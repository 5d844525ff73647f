//! Predicts `note-distil`: one note of one heading, with an id of its own and a link to its source, and never twice.

use crate::domain::action::Action;
use crate::domain::gate::facts::{EditFact, PathFact};
use crate::domain::hash::ContentHasher;
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::org::edit::{Edit, NewHeading};
use crate::domain::org::is_org;
use crate::domain::org::scan::scan;
use crate::domain::query::distilled::{SOURCE, note_of};
use crate::domain::recall::show::link;
use crate::edge::engine::Engine;
use crate::edge::engine::planner::Located;
use crate::edge::survey::Predicted;

/// Where notes go that are given no file: in the first folder of the memex.
const NOTES: &str = "notes.org";

impl Engine {
    /// Predicts what such a tool would change; `None` for another tool. What cannot be done as asked is said in
    /// [`Predicted::impossible`].
    pub(super) fn plan_note(&self, action: &Action, paths: &[PathFact]) -> Option<Predicted> {
        (action.tool() == "note-distil").then_some(())?;
        let mut places = Vec::new();
        Some(match self.distilled(action, paths, &mut places) {
            Ok(edits) => Predicted { edits, places, ..Predicted::default() },
            Err(why) => Predicted { impossible: vec![why], ..Predicted::default() },
        })
    }

    /// Adds where the note goes to `places`, when no argument names it.
    fn distilled(
        &self,
        action: &Action,
        paths: &[PathFact],
        places: &mut Vec<String>,
    ) -> Result<Vec<EditFact>, String> {
        let text = |name: &str| action.text(name).unwrap_or("").trim();
        let (id, view) = (text("id"), self.view());
        let source = view.get(&NodeId::new(id)).filter(|node| node.index > 0);
        let source =
            source.ok_or_else(|| format!("there is no heading with the id {id}; notes-undistilled lists some"))?;
        if source.privacy() > Privacy::Open {
            return Err("the heading is private, and of what is private no note is distilled".to_string());
        }
        if let Some(note) = note_of(&view, id) {
            return Err(format!("a note was distilled from it before: {}", note.id()));
        }
        if text("body").is_empty() {
            return Err("a note needs a text".to_string());
        }
        let file = match paths.iter().find(|path| path.arg == "file") {
            Some(path) => path.resolved.clone(),
            None => {
                let folder = self.config.directories.first().and_then(|folder| folder.canonicalize().ok());
                let folder = folder.ok_or_else(|| "there is no folder of the memex; name a file".to_string())?;
                let file = folder.join(NOTES).to_string_lossy().into_owned();
                places.push(file.clone());
                file
            }
        };
        if !is_org(&file) {
            return Err(format!("{file} is no Org file"));
        }
        let before = self.text_now(&file)?.unwrap_or_else(|| "".into());
        let outline = scan(before, &self.scan_options_of(&file)).map_err(|error| format!("{file}: {error}"))?;
        // Memory may be behind the file.
        if outline.nodes.iter().any(|node| outline.property(node, SOURCE) == Some(id)) {
            return Err(format!("a note was distilled from it before, which stands in {file}"));
        }
        let tags = action.args().get("tags").and_then(|tags| tags.as_array());
        let note = NewHeading {
            title: text("title").to_string(),
            tags: tags.into_iter().flatten().filter_map(|tag| tag.as_str()).map(str::to_string).collect(),
            body: format!("{}\n\nSource: {}", text("body"), link(&source)),
            properties: vec![("ID".to_string(), new_id(action, &file)), (SOURCE.to_string(), id.to_string())],
            ..NewHeading::default()
        };
        self.edited_text(Located { file, outline, index: 0 }, &Edit::AddHeading(note), self.time_of(action))
    }
}

/// Returns an id for what an action makes: the same whenever it is predicted, so that what is written is what was shown.
fn new_id(action: &Action, file: &str) -> String {
    let mut hasher = ContentHasher::new("note");
    for name in ["id", "title", "body"] {
        hasher.text(action.text(name).unwrap_or(""));
    }
    hasher.text(file);
    let mut bytes = hasher.finish();
    // As RFC 9562 has it for ids that are made in another way than its own.
    let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
    *version = *version & 0x0f | 0x80;
    *variant = *variant & 0x3f | 0x80;
    let hex: String = bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default();
    [part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-")
}
