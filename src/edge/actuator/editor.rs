//! Carries out `editor-look` and `editor-show`: one verb of a closed table, answered in bounded rows.

use crate::domain::editor::{Question, Row, Verb};
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::place;
use crate::domain::label::{Labels, Privacy, Provenance, Trust};
use crate::domain::outside::Piece;
use crate::edge::actuator::{Actuators, Done, OWN};
use crate::edge::engine::planner::unified;
use crate::edge::survey::open;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// How many rows are asked for and shown.
const MOST: usize = 200;
/// A larger file or buffer is not compared, in bytes.
const MOST_COMPARED: usize = 2_000_000;
/// The most of a difference that Emacs is handed at once, in bytes.
const MOST_SHOWN: usize = 64 * 1024;

impl Actuators {
    pub(super) async fn ask_editor(&self, cleared: &Cleared) -> Done {
        let (action, facts) = (cleared.action(), cleared.facts());
        let Some(verb) = action.text("verb").and_then(Verb::parse) else {
            return Done::failed("there is no such verb");
        };
        let filled = |name: &str| action.text(name).filter(|text| !text.trim().is_empty()).map(str::to_string);
        let line = action.args().get("line").and_then(|line| line.as_u64()).and_then(|line| u32::try_from(line).ok());
        let file = facts.paths.first().map(|path| path.resolved.clone());
        let mut question = Question { verb, file, name: filled("name"), line, text: None, limit: MOST };
        let has = (question.file.is_some(), question.name.is_some(), question.line.is_some());
        if let Some(missing) = verb.missing(has.0, has.1, has.2) {
            return Done::failed(format!("“{}” needs the argument “{missing}”", verb.name()));
        }
        if let (Verb::Diff, Some(file)) = (verb, &question.file) {
            match self.difference(file.clone()).await {
                Ok(same) if same.is_empty() => {
                    return Done::said("Nothing is shown: the buffer has what its file has.".to_string(), OWN);
                }
                Ok(text) => question.text = Some(text),
                Err(why) => return Done::failed(why),
            }
        }
        match self.engine.editor.ask(&question).await {
            Err(why) => Done::failed(why),
            Ok(_) if !verb.looks() => Done::said("It is shown in a window of the user's Emacs.".to_string(), OWN),
            Ok(rows) => self.rows(rows, cleared).await,
        }
    }

    /// Returns how the buffer of a file differs from the file. No program is started for it.
    async fn difference(&self, file: String) -> Result<String, String> {
        let buffer = self.engine.editor.buffer(&file).await?.ok_or_else(|| format!("{file} is not open in Emacs"))?;
        if buffer.text.len() > MOST_COMPARED {
            return Err(format!("{file} is too large to be compared"));
        }
        let compared = tokio::task::spawn_blocking(move || {
            let mut bytes = Vec::new();
            let opened = open::file(Path::new(&file))
                .and_then(|file| file.take(MOST_COMPARED as u64 + 1).read_to_end(&mut bytes));
            opened.map_err(|why| format!("{file} cannot be read: {why}"))?;
            if bytes.len() > MOST_COMPARED {
                return Err(format!("{file} is too large to be compared"));
            }
            let saved = String::from_utf8(bytes).map_err(|_| format!("{file} is not UTF-8, so it is not compared"))?;
            let text = unified(&file, &saved, &buffer.text);
            match text.len() > MOST_SHOWN {
                true => Err(format!("what differs in {file} is longer than 64 kB; ediff-current-file shows it")),
                false => Ok(text),
            }
        });
        compared.await.map_err(|_| "comparing them broke".to_string())?
    }

    /// Tells what came back, without what may not be read: rows can be of other files than was asked about.
    async fn rows(&self, rows: Vec<Row>, cleared: &Cleared) -> Done {
        let (engine, scope) = (self.engine.clone(), cleared.scope().clone());
        let sorted = tokio::task::spawn_blocking(move || {
            let (mut lines, mut strictest, mut hidden) = (Vec::new(), Privacy::Open, false);
            let mut outside: BTreeMap<String, Option<String>> = BTreeMap::new();
            for row in rows.into_iter().take(MOST) {
                let inside = matches!(place::zone(&row.file, &scope), place::Zone::Project | place::Zone::Memex);
                let named = row.file.starts_with('/');
                if named && (place::secret(&row.file, &scope).is_some() || !inside && !is_shared(&row.file)) {
                    hidden = true;
                    continue;
                }
                let privacy = if named { engine.privacy_here(&row.file) } else { Privacy::Open };
                if privacy > scope.may_see {
                    engine.count_file(&row.file);
                    hidden = true;
                    continue;
                }
                strictest = strictest.max(privacy);
                // What is no file is a buffer of the user's, and anything may stand in it.
                let source = || match named {
                    true => engine.source_of_file(&row.file, &scope),
                    false => Some(row.file.clone()),
                };
                outside.entry(row.file.clone()).or_insert_with(source);
                let at = if row.line > 0 { format!(":{}", row.line) } else { String::new() };
                lines.push(format!("{}{at}: {}", row.file, row.text));
            }
            if hidden {
                lines.push("What may not be read here is left out.".to_string());
            }
            (lines, strictest, outside)
        });
        let Ok((mut lines, privacy, outside)) = sorted.await else { return Done::failed("sorting the answer broke") };
        if lines.is_empty() {
            lines.push("Nothing was found.".to_string());
        }
        let said = lines.join("\n");
        let outside = outside.into_values().flatten().map(|source| Piece::new(&source, &said, privacy)).collect();
        Done::read(said, Labels { provenance: Provenance::Tool, trust: Trust::Kept, privacy }, outside)
    }
}

/// Whether everybody on this machine may read a file: then its place tells nothing.
fn is_shared(file: &str) -> bool {
    use std::os::unix::fs::PermissionsExt;
    Path::new(file).metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o004 != 0)
}
