//! Checks on Lisp and what else would run of a text: whether it can be read, whether it was tried before it is kept, and
//! what it would do.

use super::Evidence;
use crate::domain::action::texts;
use crate::domain::gate::live::{self, Change, Fresh, Kind, Piece};
use crate::domain::gate::{Case, Reason, Verdict, lisp};
use crate::domain::label::Privacy;
use crate::domain::tool::{Effect, RESTORE};

/// Warns when definitions are written that nobody tried in the worker.
pub(super) fn repl_lint(evidence: &Evidence<'_>) -> Verdict {
    let defines = ["(defun ", "(defmacro ", "(cl-defun ", "(define-"];
    let is_lisp = |piece: &Piece<'_>| matches!(piece.kind, Kind::Form | Kind::Block | Kind::Dialect);
    let mut pieces = evidence.live.iter().map(|fresh| fresh.piece).filter(is_lisp);
    if !pieces.any(|piece| defines.iter().any(|word| piece.code.contains(word))) {
        return Verdict::pass();
    }
    Verdict::Pass(Some(Reason::instead("The Lisp in it was not tried.", "Try it with eval-lisp before it is written.")))
}

/// Denies Lisp that cannot be read: in `eval-lisp`, in Lisp files, and in source blocks of Org files. Asks about what an
/// act would bring into a file that runs by itself, and about Lisp in it that is not known to be pure.
pub(super) fn lisp(evidence: &Evidence<'_>) -> Verdict {
    if let Some(lisp::Found::Unreadable(why)) = evidence.lisp.first() {
        return deny(why);
    }
    let mut verdict = Verdict::pass();
    let mut why: Vec<String> = Vec::new();
    for fresh in &evidence.live {
        match one(evidence.case, fresh) {
            Verdict::Pass(_) => {}
            Verdict::Ask(reason) if why.contains(&reason.text) || why.len() >= MOST_NAMED => {}
            Verdict::Ask(reason) => why.push(reason.text),
            denied @ Verdict::Deny(_) => verdict = verdict.stricter(denied),
        }
    }
    if !why.is_empty() {
        verdict = verdict.stricter(Verdict::Ask(Reason::new(why.join(" "))));
    }
    verdict
}

/// So many pieces are named in a reason.
const MOST_NAMED: usize = 4;

fn one(case: &Case<'_>, fresh: &Fresh<'_>) -> Verdict {
    let Piece { kind, code } = fresh.piece;
    if let Some(what) = kind.always() {
        return ask(fresh, what);
    }
    match (kind, lisp::read(code)) {
        // Reader syntax that we refuse to evaluate may well stand in a file, and what is no Emacs Lisp is not run there.
        (Kind::Form | Kind::Block | Kind::Dialect, Err(unreadable)) if !unreadable.odd => {
            return deny(&unreadable.to_string());
        }
        (Kind::Dialect, _) => return Verdict::pass(),
        (_, Err(_)) => return ask(fresh, "its Lisp cannot be read well enough to be judged"),
        (Kind::Link, Ok(_)) if !code.starts_with('(') => return ask(fresh, "a link would call a command of Emacs"),
        // What stands elsewhere would be put in its place.
        (Kind::Block, Ok(_)) if code.contains("<<") => return ask(fresh, "its Lisp is put together where it runs"),
        (_, Ok(_)) => {}
    }
    let found = lisp::examine(code);
    let Some(first) = found.first() else { return Verdict::pass() };
    // What is taken back or committed may be private, and what the agent writes here may come from what is.
    let open = case.action.labels().privacy.max(case.facts.privacy.unwrap_or(Privacy::Open)) == Privacy::Open;
    let own = matches!(case.tool.effect, Effect::WriteFile | Effect::EditOrg) && case.action.tool() != RESTORE;
    match first {
        lisp::Found::Harmful(why) | lisp::Found::Incomplete(why) | lisp::Found::Unknown(why) if open && own => {
            ask(fresh, &format!("its Lisp: {why}"))
        }
        lisp::Found::Harmful(_) => ask(fresh, "its Lisp reaches for more than values"),
        lisp::Found::Incomplete(_) | lisp::Found::Unknown(_) | lisp::Found::Unreadable(_) => {
            ask(fresh, "its Lisp is not known to be pure")
        }
    }
}

fn ask(fresh: &Fresh<'_>, what: &str) -> Verdict {
    Verdict::Ask(Reason::new(format!("“{}”: {}.", fresh.file, what.trim_end_matches('.'))))
}

fn deny(why: &str) -> Verdict {
    Verdict::Deny(Reason::instead(format!("The Lisp cannot be read: {why}."), "Balance the brackets and quotes."))
}

/// Returns what would run of a text and stands nowhere yet, in the files that an action changes.
pub(super) fn live<'a>(case: &Case<'a>) -> Vec<Fresh<'a>> {
    let (action, facts) = (case.action, case.facts);
    let changes: Vec<Change<'a>> = match case.tool.effect {
        Effect::WriteFile | Effect::EditOrg => {
            let edits = facts.edits.iter().chain(&facts.put_texts);
            let changes = edits.map(|edit| (edit.file.as_str(), edit.before.as_deref(), &*edit.after));
            changes.map(|(file, before, after)| Change { file, before, after }).collect()
        }
        Effect::Commit => {
            let files = facts.commit.iter().flat_map(|commit| &commit.files);
            let change = |(file, before, after): (&'a str, Option<&'a str>, Option<&'a str>)| {
                Some(Change { file, before, after: after? })
            };
            let texts = files.map(|file| (file.path.as_str(), file.before.as_deref(), file.after.as_deref()));
            texts.filter_map(change).collect()
        }
        Effect::Reply
        | Effect::Delegate
        | Effect::Configure
        | Effect::ReadMemory
        | Effect::ReadFile
        | Effect::ReadEditor
        | Effect::ShowInEditor
        | Effect::Execute
        | Effect::Evaluate
        | Effect::Send
        | Effect::Fetch
        | Effect::Custom(_) => return Vec::new(),
    };
    if !changes.is_empty() || case.tool.effect == Effect::Commit {
        return live::fresh(&changes);
    }
    // What becomes of the files was not found out: what is given counts as if it stood there alone.
    let file = match case.tool.effect {
        Effect::EditOrg => "the heading.org",
        _ => facts.paths.first().map(|path| path.resolved.as_str()).or(action.text("path")).unwrap_or(""),
    };
    let given = action.args().iter().filter(|(name, _)| !case.tool.paths.contains(&name.as_str()));
    let given = given.flat_map(|(_, value)| texts(value));
    live::fresh(&given.map(|after| Change { file, before: None, after }).collect::<Vec<_>>())
}
