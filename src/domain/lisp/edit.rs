//! Changes one outermost form of a Lisp text, named by what it defines; every byte of the rest stays.

use super::Place;
use super::check::check;
use super::forms::{Form, forms};
use super::scan::{Kind, Scan, scan};
use crate::domain::count::counted;
use crate::domain::gate::lisp::read;
use std::ops::Range;

/// The word that stands for the form in what is put around it.
pub const FORM: &str = "FORM";

/// What can be done to a form, as it is asked for.
pub const DO: &[&str] = &["replace", "insert-before", "insert-after", "delete", "rename", "wrap"];

/// So many lines are named.
const NAMED: usize = 12;

/// What is to be done to which form.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish<'a> {
    /// One of [`DO`].
    pub what: &'a str,
    /// The name that the form gives.
    pub name: &'a str,
    /// Its first word, where the name is given more than once.
    pub kind: Option<&'a str>,
    /// The line on which it begins, from 1, where that does not do either.
    pub line: Option<usize>,
    /// The new form or forms; of `rename` the new name; of `wrap` a form in which [`FORM`] stands once.
    pub text: &'a str,
    /// Whether `rename` changes the name wherever it stands in the code of the text.
    pub everywhere: bool,
}

/// A text that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The text.
    pub text: String,
    /// What whoever approves it should mind, in sentences.
    pub mind: Vec<String>,
}

/// Changes a form. What comes of it is balanced and can be read, and calls nothing forbidden that it did not call before.
///
/// # Errors
/// In words, with the way out; then there is nothing half changed.
pub fn edit(text: &str, wish: &Wish<'_>) -> Result<Edited, String> {
    let scanned = scan(text)?;
    let all =
        forms(&scanned).map_err(|why| format!("The file is not balanced ({why}); lisp-balance may mend it first."))?;
    let form = find(text, &all, wish)?;
    let given = scan(wish.text)?;
    let mut mind = Vec::new();
    let changes = match wish.what {
        "replace" => vec![(form.place.clone(), some_forms(&given)?.to_string())],
        "insert-before" => {
            let at = led(&scanned, form, |_| true);
            vec![(at..at, format!("{}\n\n", some_forms(&given)?))]
        }
        "insert-after" => {
            let at = behind(&scanned, form)?;
            vec![(at..at, format!("\n\n{}", some_forms(&given)?))]
        }
        "delete" => vec![(gone(&scanned, form), String::new())],
        "rename" => renamed(&scanned, &all, form, wish, &mut mind)?,
        "wrap" => vec![(form.place.clone(), wrapped(&scanned, form, &given)?)],
        other => return Err(format!("“{other}” is nothing that can be done; say one of: {}.", DO.join(", "))),
    };
    let crlf = text.contains("\r\n");
    let (mut after, mut from) = (String::with_capacity(text.len() + wish.text.len()), 0);
    for (place, with) in changes {
        after.push_str(text.get(from..place.start).unwrap_or(""));
        match crlf {
            // As the rest of the file ends its lines.
            true => after.push_str(&with.replace("\r\n", "\n").replace('\n', "\r\n")),
            false => after.push_str(&with),
        }
        from = place.end;
    }
    after.push_str(text.get(from..).unwrap_or(""));
    if after == text {
        return Err("Nothing would change.".to_string());
    }
    sound(text, wish, &after)?;
    let at = all.iter().position(|other| other == form).unwrap_or(0);
    others_stay(&scanned, &all, at, wish, &after)?;
    Ok(Edited { text: after, mind })
}

/// Makes sure of the three passes.
fn sound(before: &str, wish: &Wish<'_>, after: &str) -> Result<(), String> {
    let (was, now) = (check(before)?, check(after)?);
    if !now.is_sound() || (now.odd.is_some() && was.odd.is_none()) {
        return Err(format!("What would come of it is not sound, so nothing is proposed.\n{}", now.words()));
    }
    // What was there before is not what this brings.
    let brought = check(wish.text)?;
    if let Some(why) = brought.odd {
        return Err(format!("What “text” would call cannot be told, so nothing is proposed: {why}."));
    }
    let new: Vec<String> = brought
        .harmful
        .into_iter()
        .map(|(_, what)| what)
        .filter(|what| !was.harmful.iter().any(|(_, known)| known == what))
        .collect();
    match new.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "It would bring calls that are forbidden to Lisp that runs unasked, so nothing is proposed: {} When the user \
             wants them, replace-in-file or insert-at-end proposes them as text.",
            new.into_iter().take(NAMED).collect::<Vec<_>>().join(" ")
        )),
    }
}

/// Makes sure that every other form is still there, byte for byte: a comment at the end of what is given could swallow
/// what follows it.
fn others_stay(scan: &Scan<'_>, all: &[Form<'_>], at: usize, wish: &Wish<'_>, after: &str) -> Result<(), String> {
    let lost = || {
        "Another form of the file would be changed or lost, so nothing is proposed; end “text” without a comment."
            .to_string()
    };
    let scanned = super::scan::scan(after)?;
    let now = forms(&scanned).map_err(|_| lost())?;
    let kept = usize::from(wish.what.starts_with("insert"));
    let new = match wish.what {
        "delete" => 0,
        "rename" => 1,
        _ => forms(&super::scan::scan(wish.text)?).map_err(|_| lost())?.len(),
    };
    let behind = all.len() - at - 1;
    if now.len() != at + kept + new + behind {
        return Err(lost());
    }
    // What `rename` changes everywhere are names, each where it stood.
    if wish.what == "rename" {
        return Ok(());
    }
    let (from, to) =
        (at + usize::from(wish.what == "insert-after"), behind + usize::from(wish.what == "insert-before"));
    let text = |scan: &Scan<'_>, form: &Form<'_>| scan.text.get(form.place.clone()).map(str::to_string);
    let same = |(old, new): (&Form<'_>, &Form<'_>)| text(scan, old) == text(&scanned, new);
    let stay = all.iter().zip(&now).take(from).all(same) && all.iter().rev().zip(now.iter().rev()).take(to).all(same);
    if stay { Ok(()) } else { Err(lost()) }
}

fn find<'f, 'a>(text: &str, all: &'f [Form<'a>], wish: &Wish<'_>) -> Result<&'f Form<'a>, String> {
    let line = |form: &Form<'_>| Place::of(text, form.place.start).line;
    let name = wish.name.trim().trim_start_matches('\'');
    let named = all.iter().filter(|form| form.name == Some(name));
    let of_kind = named.filter(|form| wish.kind.is_none_or(|kind| form.kind == Some(kind.trim())));
    let found: Vec<&Form<'_>> = of_kind.filter(|form| wish.line.is_none_or(|wanted| line(form) == wanted)).collect();
    match found.as_slice() {
        [one] => Ok(*one),
        [] => {
            let kind = wish.kind.map(|kind| format!("{} ", kind.trim())).unwrap_or_default();
            let at = wish.line.map(|line| format!(" in line {line}")).unwrap_or_default();
            Err(format!("There is no “{kind}{name}”{at}; lisp-definitions lists what there is."))
        }
        many => {
            let places: Vec<String> =
                many.iter().take(NAMED).map(|form| format!("{} in line {}", form.called(), line(form))).collect();
            Err(format!("“{name}” is defined {} times: {}. Say “kind” or “line”.", many.len(), places.join(", ")))
        }
    }
}

/// Returns the forms of a text that is given, without the blanks around them.
fn some_forms<'a>(given: &Scan<'a>) -> Result<&'a str, String> {
    match forms(given) {
        Err(why) => Err(format!("“text” is not balanced: {why}.")),
        Ok(forms) if forms.is_empty() => Err("“text” holds no form.".to_string()),
        Ok(_) => Ok(given.text.trim()),
    }
}

/// Returns where what leads to a form begins: the comments directly above it that are wanted, else the form itself.
fn led(scan: &Scan<'_>, form: &Form<'_>, wanted: impl Fn(&str) -> bool) -> usize {
    let mut at = form.place.start;
    for token in scan.tokens.get(..form.tokens.start).unwrap_or_default().iter().rev() {
        let comment = scan.of(token);
        // Three semicolons make a heading of a file, but for what is told to the maker of autoloads.
        let heading = comment.starts_with(";;;") && !comment.starts_with(";;;###");
        let between = scan.text.get(token.place.end..at).unwrap_or("");
        let alone = begins_line(scan.text, token.place.start) && between.matches('\n').count() == 1;
        if token.kind != Kind::Comment || heading || !alone || !begins_line(scan.text, at) || !wanted(comment) {
            break;
        }
        at = token.place.start;
    }
    at
}

fn begins_line(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or("");
    before.get(before.rfind('\n').map_or(0, |end| end + 1)..).is_some_and(|line| line.trim().is_empty())
}

/// Returns where the line ends that a form ends on.
fn behind(scan: &Scan<'_>, form: &Form<'_>) -> Result<usize, String> {
    let end = form.place.end;
    let line = scan.text.get(end..).unwrap_or("");
    let until = end + line.find('\n').unwrap_or(line.len());
    let next = scan.tokens.get(form.tokens.end).filter(|token| token.place.start < until);
    match next {
        None => Ok(end),
        Some(token) if token.kind == Kind::Comment => Ok(token.place.end),
        Some(_) => Err("Another form follows it on the same line; replace it by both instead.".to_string()),
    }
}

/// Returns what goes with a form that is deleted: what tells the maker of autoloads of it, and the lines that it leaves
/// empty. Other comments stay.
fn gone(scan: &Scan<'_>, form: &Form<'_>) -> Range<usize> {
    let (text, start) = (scan.text, led(scan, form, |comment| comment.starts_with(";;;###")));
    let rest = text.get(form.place.end..).unwrap_or("");
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let end = form.place.end + blanks;
    let newline = |at: usize| {
        let rest = text.get(at..).unwrap_or("");
        let length = if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) };
        (length > 0).then_some(at + length)
    };
    let Some(next) = newline(end).filter(|_| begins_line(text, start)) else { return start..end };
    let begin = text.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
    let before = text.get(..begin).unwrap_or("");
    let above = before.is_empty() || before.ends_with("\n\n") || before.ends_with("\n\r\n");
    // Of the empty lines around it one goes along.
    begin..newline(next).filter(|_| above).unwrap_or(next)
}

fn renamed(
    scan: &Scan<'_>,
    all: &[Form<'_>],
    form: &Form<'_>,
    wish: &Wish<'_>,
    mind: &mut Vec<String>,
) -> Result<Vec<(Range<usize>, String)>, String> {
    let new = wish.text.trim();
    let is_name = |scan: Scan<'_>| matches!(scan.tokens.as_slice(), [one] if one.kind == Kind::Name && one.place == (0..new.len()));
    let plain = new.starts_with(|c: char| c.is_alphabetic() || "-+*/_~!$%^&=<>{}".contains(c));
    // `-5` is a number.
    let symbol = read(new).is_ok_and(|read| read.top.first().is_some_and(|top| read.symbol(*top).is_some()));
    if !super::scan::scan(new).is_ok_and(is_name) || !plain || !symbol {
        return Err(format!("“{new}” is no name."));
    }
    let (Some(old), Some(named)) = (form.name, form.named) else { return Err("It has no name.".to_string()) };
    if let Some(taken) = all.iter().find(|other| other.name == Some(new) && clash(other, form)) {
        let line = Place::of(scan.text, taken.place.start).line;
        return Err(format!("There is a “{}” already, in line {line}.", taken.called()));
    }
    let same = |(_, token): &(usize, &super::scan::Token)| token.kind == Kind::Name && scan.of(token) == old;
    let places: Vec<(usize, Range<usize>)> =
        scan.tokens.iter().enumerate().filter(same).map(|(at, token)| (at, token.place.clone())).collect();
    let (chosen, left): (Vec<_>, Vec<_>) = places.into_iter().partition(|(at, _)| wish.everywhere || *at == named);
    if !left.is_empty() {
        let mut lines: Vec<usize> = left.iter().map(|(_, place)| Place::of(scan.text, place.start).line).collect();
        lines.dedup();
        let more = if lines.len() > NAMED { ", …" } else { "" };
        let shown: Vec<String> = lines.iter().take(NAMED).map(usize::to_string).collect();
        mind.push(format!(
            "“{old}” stands {} more often in the file and stays there, in the lines {}{more}; other files were not looked \
             at.",
            counted(left.len(), "time"),
            shown.join(", ")
        ));
    }
    Ok(chosen.into_iter().map(|(_, place)| (place, new.to_string())).collect())
}

/// Kinds of definitions that give a function, and those that give a variable; some give both.
const FUNCTIONS: &[&str] = &[
    "defun",
    "defmacro",
    "defsubst",
    "defalias",
    "define-inline",
    "cl-defun",
    "cl-defmacro",
    "cl-defsubst",
    "cl-defgeneric",
    "iter-defun",
    "define-minor-mode",
    "define-globalized-minor-mode",
    "define-derived-mode",
];
const VARIABLES: &[&str] =
    &["defvar", "defvar-local", "defconst", "defcustom", "define-minor-mode", "define-globalized-minor-mode"];

/// Returns whether two forms of one name would define the same thing.
fn clash(one: &Form<'_>, other: &Form<'_>) -> bool {
    let both = |kinds: &[&str]| [one, other].iter().all(|form| form.kind.is_some_and(|kind| kinds.contains(&kind)));
    one.kind == other.kind || both(FUNCTIONS) || both(VARIABLES)
}

/// Returns a form in what is put around it, its lines moved to the right by where it comes to stand.
fn wrapped(scan: &Scan<'_>, form: &Form<'_>, given: &Scan<'_>) -> Result<String, String> {
    let around = some_forms(given)?;
    let given = super::scan::scan(around)?;
    let marks: Vec<Range<usize>> = given
        .tokens
        .iter()
        .filter(|token| token.kind == Kind::Name && given.of(token) == FORM)
        .map(|token| token.place.clone())
        .collect();
    let [mark] = marks.as_slice() else {
        return Err(format!(
            "“text” must hold the word {FORM} once, for the form that is wrapped; it stands there {} times.",
            marks.len()
        ));
    };
    let indent = Place::of(around, mark.start).column - 1;
    let (mut inner, mut from) = (String::new(), form.place.start);
    let tokens = scan.tokens.get(form.tokens.clone()).unwrap_or_default();
    let body = scan.text.get(form.place.clone()).unwrap_or("");
    for (at, _) in body.match_indices('\n') {
        let at = form.place.start + at + 1;
        let before = tokens.partition_point(|token| token.place.start < at);
        let last = before.checked_sub(1).and_then(|last| tokens.get(last));
        let in_text = last.is_some_and(|token| token.kind == Kind::Text && at < token.place.end);
        let blank = scan.text.get(at..).is_some_and(|rest| rest.starts_with(['\n', '\r']));
        inner.push_str(scan.text.get(from..at).unwrap_or(""));
        // What stands in a string is no layout.
        if !in_text && !blank {
            inner.push_str(&" ".repeat(indent));
        }
        from = at;
    }
    inner.push_str(scan.text.get(from..form.place.end).unwrap_or(""));
    let part = |range: Range<usize>| around.get(range).unwrap_or("");
    Ok(format!("{}{inner}{}", part(0..mark.start), part(mark.end..around.len())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILE: &str = ";;; a.el --- A\n\n;; One.\n;;;###autoload\n(defun one (x)\n  \"Doc\n(x).\"\n  (two x)) ; end\n\n(defvar two 2)\n\n\
                        (defun two (x) x)\n\n;;; Foot:\n(provide 'a)\n";

    fn wish<'a>(what: &'a str, name: &'a str, text: &'a str) -> Wish<'a> {
        Wish { what, name, text, ..Wish::default() }
    }

    #[track_caller]
    fn check_edit(wish: Wish<'_>, old: &str, new: &str) {
        let expected = FILE.replacen(old, new, 1);
        assert_ne!(expected, FILE, "the case says what changes");
        assert_eq!(edit(FILE, &wish).map(|edited| edited.text), Ok(expected));
    }

    #[test]
    fn one_form_changes_and_nothing_else() {
        check_edit(
            wish("replace", "two", "(defvar two 3 \"Two.\")\n").of_kind("defvar"),
            "(defvar two 2)",
            "(defvar two 3 \"Two.\")",
        );
        check_edit(wish("insert-before", "one", "(defvar z 0)"), ";; One.", "(defvar z 0)\n\n;; One.");
        check_edit(wish("insert-before", "a", "(defvar z 0)"), "(provide", "(defvar z 0)\n\n(provide");
        check_edit(wish("insert-after", "one", ";; New.\n(defvar z 0)"), "; end", "; end\n\n;; New.\n(defvar z 0)");
        check_edit(
            wish("delete", "one", ""),
            ";;;###autoload\n(defun one (x)\n  \"Doc\n(x).\"\n  (two x)) ; end",
            "; end",
        );
        check_edit(wish("delete", "two", "").of_kind("defvar"), "(defvar two 2)\n\n", "");
        check_edit(wish("delete", "a", ""), "(provide 'a)\n", "");
        check_edit(wish("rename", "one", "uno"), "defun one", "defun uno");
        check_edit(wish("rename", "'a", "b"), "'a", "'b");
        check_edit(
            wish("wrap", "one", "(when t\n  FORM)"),
            "(defun one (x)\n  \"Doc\n(x).\"\n  (two x))",
            "(when t\n  (defun one (x)\n    \"Doc\n(x).\"\n    (two x)))",
        );
        let all = Wish { everywhere: true, ..wish("rename", "two", "zwei").of_kind("defun") };
        assert_eq!(edit(FILE, &all).map(|edited| edited.text), Ok(FILE.replace("two", "zwei")));
        let one = edit(FILE, &wish("rename", "two", "zwei").of_kind("defun")).expect("it can be done");
        assert!(one.mind[0].contains("2 times more often") && one.mind[0].contains("in the lines 8, 10;"), "{one:?}");
    }

    impl<'a> Wish<'a> {
        fn of_kind(self, kind: &'a str) -> Wish<'a> {
            Wish { kind: Some(kind), ..self }
        }
    }

    #[test]
    fn what_cannot_be_done_or_would_not_be_sound_is_refused() {
        for (wish, why) in [
            (wish("replace", "none", "(a)"), "There is no “none”; lisp-definitions"),
            (wish("delete", "two", ""), "“two” is defined 2 times: defvar two in line 10, defun two in line 12. Say"),
            (Wish { line: Some(9), ..wish("delete", "two", "") }, "There is no “two” in line 9"),
            (wish("replace", "one", "(defun one ("), "“text” is not balanced: line 1, column 1"),
            (wish("replace", "one", "; nothing"), "“text” holds no form"),
            (wish("replace", "one", "(defun one () (a . b . c))"), "not sound"),
            (wish("replace", "one", "(defun one () #1=(a))"), "not sound"),
            (wish("replace", "one", "(defun one () (delete-file \"x\"))"), "forbidden"),
            (wish("rename", "one", "two"), "There is a “defun two” already, in line 12"),
            (wish("rename", "one", "a b"), "is no name"),
            (wish("rename", "one", "12"), "is no name"),
            (wish("rename", "one", "-5"), "is no name"),
            (wish("rename", "one", "+1e5"), "is no name"),
            (wish("rename", "one", "one"), "There is a “defun one” already"),
            (wish("wrap", "one", "(when t)"), "it stands there 0 times"),
            (wish("wrap", "one", "(list FORM FORM)"), "it stands there 2 times"),
            (wish("eat", "one", ""), "“eat” is nothing that can be done"),
        ] {
            let found = edit(FILE, &wish).expect_err(wish.text);
            assert!(found.contains(why), "{wish:?}: {found}");
        }
        let found = edit("(defun a () 1)\n(defmacro b () 1)\n", &wish("rename", "a", "b")).expect_err("a double");
        assert!(found.contains("There is a “defmacro b” already"), "{found}");
        // A call behind many that are not known is found, and what cannot be judged brings none along.
        let many: String = (0..40).map(|n| format!("(my-own-{n}) ")).collect();
        let hidden = format!("(defun b () {many}(call-process \"rm\"))");
        let found = edit("(defun b () 1)\n", &wish("replace", "b", &hidden)).expect_err("it hides a call");
        assert!(found.contains("forbidden") && found.contains("call-process"), "{found}");
        let odd = edit("(z #1=(c))\n(defun b () 1)\n", &wish("replace", "b", "(defun b () #2=(delete-file \"x\"))"));
        assert!(odd.as_ref().is_err_and(|why| why.contains("cannot be told")), "{odd:?}");
        // A comment at the end of what is given swallows nothing.
        for (file, what, text) in [
            ("(defvar a 1) (defvar b 2)\n", "replace", "(defvar a 2) ; two"),
            ("(defvar a 1) (defvar b 2)\n", "wrap", "(progn FORM) ; two"),
        ] {
            let found = edit(file, &wish(what, "a", text)).expect_err(text);
            assert!(found.contains("changed or lost"), "{text}: {found}");
        }
        assert!(edit("(defvar a 1)\n(defvar b 2)\n", &wish("replace", "a", "(defvar a 2) ; two")).is_ok());
        let found = edit("(a", &wish("delete", "a", "")).expect_err("it is not balanced");
        assert!(found.contains("lisp-balance"), "{found}");
        let found = edit("(a b) (c d)\n", &wish("insert-after", "b", "(e)")).expect_err("two on a line");
        assert!(found.contains("same line"), "{found}");
        // What a file called before, a new form of it may call.
        let again = "(defun a () (delete-file \"x\"))\n(defun b () 1)\n";
        assert!(edit(again, &wish("replace", "b", "(defun b () (delete-file \"y\"))")).is_ok());
        let returns = edit("(defvar a 1)\r\n(defvar b 2)\r\n", &wish("insert-after", "a", "(defvar c\n  3)"));
        assert_eq!(
            returns.map(|edited| edited.text),
            Ok("(defvar a 1)\r\n\r\n(defvar c\r\n  3)\r\n(defvar b 2)\r\n".to_string())
        );
    }

    proptest! {
        /// Of any file, an edit of a form leaves the other forms and the comments as they are, byte for byte.
        #[test]
        fn other_forms_stay_byte_for_byte(
            parts in proptest::collection::vec("(;; c[a-z ]{0,4}\n|;;; H\n|\n){0,2}\\(def(un|var) [a-c]( [a-z]|\n  \"[a-z(\n]{0,6}\"| ; \\)\n|\n  \\[1\\]){0,3}\\)", 1..6),
            pick in any::<prop::sample::Index>(),
            what in proptest::sample::select(vec!["replace", "insert-before", "insert-after", "delete", "wrap"]),
        ) {
            let file = format!("{}\n", parts.join("\n"));
            let scanned = scan(&file).expect("it is short");
            let Ok(all) = forms(&scanned) else { return Ok(()) };
            let form = &all[pick.index(all.len())];
            let line = Place::of(&file, form.place.start).line;
            let text = if what == "wrap" { "(progn\n FORM)" } else { "(defvar new 1)" };
            let wish = Wish { what, name: form.name.expect("it has one"), kind: form.kind, line: Some(line), text, everywhere: false };
            let Ok(edited) = edit(&file, &wish) else { return Ok(()) };
            let others = |text: &str| {
                let scan = scan(text).expect("it is short");
                let all = forms(&scan).expect("it is sound");
                all.iter().map(|form| text[form.place.clone()].to_string()).collect::<Vec<_>>()
            };
            let (mut before, after) = (others(&file), others(&edited.text));
            let at = all.iter().position(|other| other == form).expect("it is one of them");
            match what {
                "replace" => before[at] = text.to_string(),
                "insert-before" => before.insert(at, text.to_string()),
                "insert-after" => before.insert(at + 1, text.to_string()),
                "delete" => drop(before.remove(at)),
                _ => before[at] = after[at].clone(),
            }
            prop_assert_eq!(before, after);
            let outer = |text: &str| text.lines().filter(|line| line.starts_with(";;")).map(str::to_string).collect::<Vec<_>>();
            prop_assert!(matches!(what, "replace" | "wrap" | "delete") || outer(&file) == outer(&edited.text));
        }
    }
}
