//! Checks on Lisp: whether it can be read, and whether it was tried before it is kept.

use super::Evidence;
use crate::domain::gate::{Reason, Verdict, lisp};
use crate::domain::tool::Effect;

/// Warns when definitions are written that nobody tried in the worker.
pub(super) fn repl_lint(evidence: &Evidence<'_>) -> Verdict {
    let defines = ["(defun ", "(defmacro ", "(cl-defun ", "(define-"]
        .iter()
        .any(|word| written(evidence).any(|(_, text)| text.contains(word)));
    if !defines {
        return Verdict::pass();
    }
    Verdict::Pass(Some(Reason::instead("The Lisp in it was not tried.", "Try it with eval-lisp before it is written.")))
}

/// Denies Lisp that cannot be read: in `eval-lisp`, in Lisp files, and in source blocks of Org files.
pub(super) fn lisp_syntax(evidence: &Evidence<'_>) -> Verdict {
    if let Some(lisp::Found::Unreadable(why)) = evidence.lisp.first() {
        return deny(why);
    }
    for (file, text) in written(evidence) {
        let pieces = if is_lisp(&file) {
            vec![text]
        } else if file.ends_with(".org") {
            blocks(text)
        } else {
            Vec::new()
        };
        for piece in pieces {
            if let Err(unreadable) = lisp::read(piece) {
                // Reader syntax that we refuse to evaluate may well stand in a file.
                if !unreadable.odd {
                    return deny(&unreadable.to_string());
                }
            }
        }
    }
    Verdict::pass()
}

fn deny(why: &str) -> Verdict {
    Verdict::Deny(Reason::instead(format!("The Lisp cannot be read: {why}."), "Balance the brackets and quotes."))
}

/// Returns what would be written, with the file's name in lower case.
fn written<'a>(evidence: &'a Evidence<'_>) -> Box<dyn Iterator<Item = (String, &'a str)> + 'a> {
    let case = evidence.case;
    match case.tool.effect {
        Effect::WriteFile => {
            let file = case.facts.paths.first().map(|path| path.resolved.to_lowercase()).unwrap_or_default();
            let file = if file.is_empty() { case.action.text("path").unwrap_or("").to_lowercase() } else { file };
            let whole = case.action.text("content");
            // What becomes of the whole file, where a part of it is replaced.
            let part = case.facts.edits.first().filter(|_| whole.is_none()).map(|edit| &*edit.after);
            Box::new(whole.or(part).into_iter().map(move |text| (file.clone(), text)))
        }
        Effect::EditOrg => Box::new(case.action.text("body").into_iter().map(|text| ("body.org".to_string(), text))),
        Effect::Reply
        | Effect::ReadMemory
        | Effect::ReadFile
        | Effect::ReadEditor
        | Effect::Commit
        | Effect::ShowInEditor
        | Effect::Execute
        | Effect::Evaluate
        | Effect::Send
        | Effect::Fetch
        | Effect::Custom(_) => Box::new(std::iter::empty()),
    }
}

fn is_lisp(file: &str) -> bool {
    [".el", ".lisp", ".lsp", ".cl"].iter().any(|ending| file.ends_with(ending))
}

/// Returns the bodies of the Lisp source blocks of an Org text.
fn blocks(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let lower = line.trim().to_ascii_lowercase();
        if let Some(rest) = lower.strip_prefix("#+begin_src") {
            let language = rest.split_whitespace().next().unwrap_or("");
            start = matches!(language, "emacs-lisp" | "elisp" | "lisp" | "common-lisp").then_some(at + line.len());
        } else if lower.starts_with("#+end_src")
            && let Some(from) = start.take()
        {
            found.extend(text.get(from..at));
        }
        at += line.len();
    }
    found
}
