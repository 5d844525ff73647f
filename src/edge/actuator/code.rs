//! Carries out what looks at programs and changes nothing: `lisp-check`, `lisp-definitions` and `literate-check`.

use crate::domain::count::counted;
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::place;
use crate::domain::id::NodeId;
use crate::domain::inert::exact;
use crate::domain::label::{Labels, Privacy, Provenance};
use crate::domain::lisp::check::check;
use crate::domain::lisp::{forms, scan};
use crate::domain::literate::blocks::{Block, blocks};
use crate::domain::literate::tangle::{Target, agree};
use crate::domain::org::is_org;
use crate::domain::scope::Scope;
use crate::edge::actuator::look::{is_inside, text_of};
use crate::edge::actuator::{Actuators, Done, may_see, note};
use crate::edge::engine::Engine;
use crate::edge::engine::code::{is_emacs_lisp, target_of};
use crate::edge::thread::{LOOKS, aside};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// So many source blocks are looked over at once.
const MOST_BLOCKS: usize = 50;
/// The largest file that is compared with what would be tangled to it, in bytes.
const MOST_FILE: u64 = 4 << 20;

/// Returns whether a tool looks at programs.
pub(super) fn looks(tool: &str) -> bool {
    matches!(tool, "lisp-check" | "lisp-definitions" | "literate-check")
}

impl Actuators {
    /// Looks at a program, on a thread where it may take a while.
    pub(super) async fn look_at_code(&self, cleared: &Cleared) -> Done {
        let action = cleared.action();
        let given = ["text", "path", "id"].into_iter().filter(|name| action.args().contains_key(*name)).count();
        if given != 1 {
            return Done::failed("say which Lisp is meant: “text”, “path” or “id”, one of them");
        }
        if let Some(id) = action.text("id") {
            return self.check_heading(id.to_string(), cleared).await;
        }
        if let Some(text) = action.text("text") {
            // It says again what was given, and nothing else.
            let (text, labels) = (text.to_string(), Labels { provenance: Provenance::Tool, ..action.labels() });
            let said = aside(move || check(&text).map(|checked| checked.words())).await;
            return said.map_or_else(Done::failed, |said| Done::said(said, labels));
        }
        let read = match self.file_text(cleared).await {
            Ok(read) => read,
            Err(done) => return done,
        };
        if action.tool() == "literate-check" {
            let (engine, path, text) = (self.engine.clone(), read.path.clone(), read.text.clone());
            let scope = cleared.scope().clone();
            // Its files may lie where nothing answers.
            return match LOOKS.run(move || literate(&engine, &path, text, &scope)).await {
                Ok(Ok(said)) => read.says(said),
                Ok(Err(why)) | Err(why) => Done::failed(why),
            };
        }
        let (path, text, lists) = (read.path.clone(), read.text.clone(), action.tool() == "lisp-definitions");
        let said = aside(move || match (is_emacs_lisp(&path), is_org(&path)) {
            (true, _) if lists => scan::scan(&text).and_then(|scan| forms::list(&scan)),
            (true, _) => check(&text).map(|checked| checked.words()),
            (false, true) if lists => list_blocks(&text),
            (false, true) => check_blocks(&text),
            (false, false) => {
                Err("it is no file of Emacs Lisp and no Org file: its name ends in no “.el” or “.org”".to_string())
            }
        });
        match said.await {
            Ok(said) => read.says(said),
            Err(why) => Done::failed(format!("{}: {why}", read.path)),
        }
    }

    async fn check_heading(&self, id: String, cleared: &Cleared) -> Done {
        let (engine, may_see) = (self.engine.clone(), may_see(cleared));
        aside(move || {
            let node = engine.view().get(&NodeId::new(id.as_str())).filter(|node| node.privacy() <= may_see);
            let Some(node) = node else {
                return Done::failed(format!("there is no heading with the id {id}; memory-search finds ids"));
            };
            match check_blocks(node.own()) {
                Ok(said) => {
                    let nodes = [node.clone()];
                    Done::read(said, note(node.privacy()), engine.outside_of_nodes(&nodes)).of(&nodes)
                }
                Err(why) => Done::failed(why),
            }
        })
        .await
    }
}

/// Says of an Org file whether its blocks are balanced, and whether its code agrees with the files that it is tangled to.
fn literate(engine: &Engine, path: &str, text: Arc<str>, scope: &Scope) -> Result<String, String> {
    let found = blocks(&text);
    let sources = found.blocks.iter().filter(|block| block.kind == "src").count();
    let mut said = vec![format!("{}, {sources} of them of source.", counted(found.blocks.len(), "block"))];
    said.extend(found.problems.iter().take(MOST_BLOCKS).map(|(line, what)| format!("- line {line}: {what}")));
    if found.problems.is_empty() {
        said.push("Each is begun and ended.".to_string());
    }
    let targets = engine.tangled(path, text.clone())?;
    said.push(match targets.is_empty() {
        true => "Nothing of it is tangled.".to_string(),
        false => "What tangling would write:".to_string(),
    });
    for Target { file, lines, text } in targets.into_iter().take(MOST_BLOCKS) {
        let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
        let state = match text {
            Ok(text) => compared(engine, path, &file, &text, scope),
            Err(why) => {
                let why: Vec<String> = why.into_iter().map(|(line, why)| format!("line {line}, {why}")).collect();
                format!("not followed: {}", why.join("; "))
            }
        };
        said.push(format!("- {} (blocks in the lines {}): {state}", exact(&file), lines.join(", ")));
    }
    Ok(said.join("\n"))
}

/// Says how a file stands to what would be written there. Nothing of the file itself is told.
fn compared(engine: &Engine, org: &str, name: &str, text: &str, scope: &Scope) -> String {
    let file = match target_of(org, name, scope) {
        Ok(file) => file,
        Err(why) => return why,
    };
    if !is_inside(&file, scope) || place::secret(&file, scope).is_some() || engine.privacy_here(&file) > Privacy::Open {
        return "not looked at: it lies outside project and memex, or is not for everybody's eyes".to_string();
    }
    let path = Path::new(&file);
    match path.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "not there yet".to_string(),
        Err(error) => format!("cannot be looked at: {error}"),
        Ok(metadata) if metadata.nlink() > 1 || metadata.len() > MOST_FILE => {
            "not looked at: it is too large, or has a second name".to_string()
        }
        Ok(metadata) => match text_of(path, &metadata) {
            None => "is no text".to_string(),
            Some(there) => match agree(&there, text) {
                None => "agrees".to_string(),
                Some(line) => format!("differs from line {line} on"),
            },
        },
    }
}

/// Lists the definitions of the source blocks of an Org text.
fn list_blocks(text: &str) -> Result<String, String> {
    let found = blocks(text);
    let lisp: Vec<&Block<'_>> = found.blocks.iter().filter(|block| block.is_emacs_lisp()).collect();
    let mut said = Vec::new();
    for block in lisp.iter().take(MOST_BLOCKS) {
        said.push(named(block));
        let code = block.code(text);
        // One that is not balanced keeps none of the others from being listed.
        let listed = scan::scan(&code).and_then(|scan| forms::list(&scan));
        said.push(listed.unwrap_or_else(|why| format!("It is not balanced: {why}")));
    }
    if lisp.len() > MOST_BLOCKS {
        said.push(format!("{} more blocks were not looked at.", lisp.len() - MOST_BLOCKS));
    }
    match said.is_empty() {
        true => Ok("There is no source block of Emacs Lisp.".to_string()),
        false => Ok(said.join("\n")),
    }
}

fn named(block: &Block<'_>) -> String {
    let name = block.name.map(|name| format!(" “{name}”")).unwrap_or_default();
    format!("Block{name} in line {}; lines are counted from its first:", block.line)
}

/// Looks the source blocks of an Org text over.
fn check_blocks(text: &str) -> Result<String, String> {
    let found = blocks(text);
    let lisp: Vec<&Block<'_>> = found.blocks.iter().filter(|block| block.is_emacs_lisp()).collect();
    let mut said = Vec::new();
    for block in lisp.iter().take(MOST_BLOCKS) {
        said.push(named(block));
        said.push(check(&block.code(text))?.words());
    }
    if lisp.len() > MOST_BLOCKS {
        said.push(format!("{} more blocks were not looked at.", lisp.len() - MOST_BLOCKS));
    }
    said.extend(found.problems.iter().take(MOST_BLOCKS).map(|(line, what)| format!("line {line}: {what}")));
    match said.is_empty() {
        true => Ok("There is no source block of Emacs Lisp.".to_string()),
        false => Ok(said.join("\n")),
    }
}
