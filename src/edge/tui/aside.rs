//! Programs of the user's own that have the terminal for a while: the editor for what is typed, and the questions of
//! `passepartout configure`.
//!
//! Only a key or a command of the human at the terminal starts one. Nothing that a model said is among its words: an
//! editor gets the name of a file, which holds what the human typed.

use crate::edge::own_file::replace;
use crate::edge::tui::input;
use std::fs::{File, remove_file};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// The variables that name an editor, as of old: the first that is set counts.
const EDITORS: [&str; 2] = ["VISUAL", "EDITOR"];

/// What has the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aside {
    /// The editor, with what was typed.
    Editor(String),
    /// The questions of `passepartout configure`.
    Configure,
}

/// What came of it: the text that was edited, if it was, or why not.
pub type CameBack = Result<Option<String>, String>;

/// Runs it to its end; the terminal is its own meanwhile. The cache folder is where a draft lies as long as it is edited.
///
/// # Errors
/// In words, when it cannot be run, ended badly, or left what is no text or too much of it.
pub fn run(aside: &Aside, cache: &Path) -> CameBack {
    match aside {
        Aside::Editor(text) => {
            let found = EDITORS.iter().filter_map(|name| std::env::var(name).ok());
            let editor = found.map(|words| words.trim().to_string()).find(|words| !words.is_empty());
            let editor = editor.ok_or("no editor is set; say which in the variable VISUAL or EDITOR")?;
            edit(&editor, text, &cache.join(format!("draft-{}.org", std::process::id()))).map(Some)
        }
        Aside::Configure => {
            let program = std::env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))?;
            let ended = Command::new(program).arg("configure").status();
            well("passepartout configure", ended).map(|()| None)
        }
    }
}

/// Has a text edited, as git has a message: by a line of words for the shell, with the file behind them.
fn edit(editor: &str, text: &str, draft: &PathBuf) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", draft.display());
    replace(draft, text).map_err(failed)?;
    let ended = Command::new("/bin/sh").args(["-c", &format!("{editor} \"$@\""), editor]).arg(draft).status();
    let edited = well("the editor", ended).and_then(|()| {
        let mut bytes = Vec::new();
        let read = File::open(draft).and_then(|file| file.take(input::LONGEST as u64 + 1).read_to_end(&mut bytes));
        read.map_err(failed)?;
        let text = String::from_utf8(bytes).map_err(|_| "what was edited is no UTF-8, or is too long".to_string())?;
        match text.len() > input::LONGEST {
            true => Err("what was edited is too long: a message has room for 60 kB".to_string()),
            false => Ok(text.trim_end().to_string()),
        }
    });
    match edited {
        Ok(text) => {
            // It stands in the line again.
            let _ = remove_file(draft);
            Ok(text)
        }
        Err(why) => Err(format!("{why}; what was written is in {}", draft.display())),
    }
}

fn well(what: &str, ended: std::io::Result<ExitStatus>) -> Result<(), String> {
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{what} ended with {status}; what was typed stays as it was")),
        Err(error) => Err(format!("{what} cannot be run: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_changes_what_was_typed_or_nothing_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let draft = folder.path().join("draft.org");
        let long = format!("head -c {} /dev/zero | tr '\\0' a >", input::LONGEST + 1);
        for (editor, expected) in [
            ("true", Ok("as it was")),
            ("sed -i s/was/is/", Ok("as it is")),
            ("printf 'one\\ntwo\\n\\n' >", Ok("one\ntwo")),
            ("false", Err("the editor ended with exit status: 1; what was typed stays as it was")),
            ("printf '\\377' >", Err("what was edited is no UTF-8, or is too long")),
            (&long, Err("what was edited is too long: a message has room for 60 kB")),
        ] {
            let edited = edit(editor, "as it was", &draft);
            // What is not taken is not lost.
            let lies = format!("; what was written is in {}", draft.display());
            let edited = edited.as_deref().map_err(|why| why.strip_suffix(&lies).unwrap_or(why));
            assert_eq!(edited, expected, "{editor}");
            assert_eq!(draft.exists(), expected.is_err(), "{editor}");
        }
        let missing = edit("no-such-editor-anywhere", "as it was", &draft);
        assert!(missing.is_err_and(|why| why.starts_with("the editor ended with")));
    }
}
