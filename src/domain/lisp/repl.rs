//! What a line of the REPL means: Lisp, or one of its few commands, which begin with a comma as no Lisp does.

use super::check::{What, faults};
use super::scan::{Kind, scan};
use crate::domain::sexp::reader::Sexp;

/// Ends a REPL: the surface does so, as it is the surface that is left.
pub const QUIT: &str = ",quit";

/// Stands between what an evaluation came to and what it printed.
const OUTPUT: &str = "\n--- output ---\n";

/// What an evaluation came to, as it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said<'a> {
    /// What it printed.
    pub printed: &'a str,
    /// Its value, or what is said instead.
    pub value: &'a str,
    /// Whether it ended with an error, or was ended.
    pub went_wrong: bool,
}

impl<'a> Said<'a> {
    /// Takes the words of `eval-lisp` apart.
    pub fn read(text: &'a str) -> Said<'a> {
        let (head, printed) = text.split_once(OUTPUT).unwrap_or((text, ""));
        let went_wrong = ["Error: ", "Stopped, ", "The worker "].iter().any(|word| head.starts_with(word));
        Said { printed, value: head.strip_prefix("Value: ").unwrap_or(head), went_wrong }
    }
}

/// Returns whether what was typed so far is a command, or all of its forms are closed. What cannot become so by more lines
/// is whole, too: what is wrong with it is said when it is judged.
pub fn is_whole(text: &str) -> bool {
    if text.trim_start().starts_with(',') {
        return true;
    }
    let Ok(scan) = scan(text) else { return true };
    let open = |what: What| matches!(what, What::Open(_) | What::Text);
    let faults = faults(&scan, 0..scan.tokens.len());
    faults.is_empty() || faults.iter().any(|fault| !open(fault.what))
}

/// Returns whether there is nothing to evaluate: blanks and comments.
pub fn nothing(text: &str) -> bool {
    scan(text).is_ok_and(|scan| scan.tokens.iter().all(|token| token.kind == Kind::Comment))
}

/// What `,help` says.
pub const HELP: &str = "\
What you type is evaluated in an Emacs of its own: it sees no file of yours, no network and no other program, and it keeps \
what you define until it has been idle for five minutes or is stopped.
,inspect NAME says what a name stands for there
,load FILE evaluates a file of the project or the memex, after its text passed the gates
,help says this
No model takes part. The gates judge what is evaluated, as they judge everything; what asks waits as a flight plan.
,quit ends the REPL, and what was defined is gone
In Emacs: RET evaluates what is balanced, C-j begins a new line, M-p and M-n go through what was typed, C-c C-c stops it.
At a terminal: a form may go over several lines, C-d ends the REPL, C-c ends it at once.";

/// What was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed<'a> {
    /// Lisp to be evaluated.
    Eval(&'a str),
    /// A name to be looked up.
    Inspect(&'a str),
    /// A file to be evaluated.
    Load(&'a str),
    /// What can be typed.
    Help,
    /// Nothing that can be done, and why.
    Wrong(String),
}

/// Reads what was typed.
pub fn typed(text: &str) -> Typed<'_> {
    let Some(command) = text.trim().strip_prefix(',') else {
        return match text.trim() {
            "" => Typed::Wrong("There is nothing to evaluate.".to_string()),
            code => Typed::Eval(code),
        };
    };
    let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    match (word, rest.trim()) {
        ("help", _) => Typed::Help,
        ("inspect", name) if is_name(name) => Typed::Inspect(name),
        ("inspect", _) => Typed::Wrong("Say which name: ,inspect NAME".to_string()),
        ("load", "") => Typed::Wrong("Say which file: ,load FILE".to_string()),
        ("load", file) => Typed::Load(file),
        _ => Typed::Wrong("There is no such command; ,help says what there is.".to_string()),
    }
}

/// Returns whether a text is one name, and nothing that stands in a form otherwise than as a name.
fn is_name(text: &str) -> bool {
    let one = scan(text).is_ok_and(
        |scan| matches!(scan.tokens.as_slice(), [token] if token.kind == Kind::Name && token.place == (0..text.len())),
    );
    one && !text.starts_with(['?', '#', '.'])
}

/// Returns Lisp that says what a name stands for: a list for [`inspected`].
pub fn inspection(name: &str) -> String {
    format!(
        "(list (and (fboundp '{name}) \
         (format \"%S\" (unless (autoloadp (indirect-function '{name})) (func-arity '{name})))) (and (macrop '{name}) t) \
         (and (commandp '{name}) t) (and (boundp '{name}) t) \
         (and (fboundp '{name}) (documentation '{name}) \
         (substring-no-properties (documentation '{name}))))"
    )
}

/// Returns what such Lisp found out, in words; `None` when the text is nothing of the kind.
pub fn inspected(name: &str, text: &str) -> Option<String> {
    let value = Sexp::read(text.trim().strip_prefix("Value:")?.trim()).ok()?;
    let [arity, is_macro, is_command, variable, documentation] = value.items() else { return None };
    let is = |value: &Sexp| *value != Sexp::Nil;
    let kind = match (is(is_macro), is(is_command)) {
        (true, _) => "a macro",
        (false, true) => "a command",
        (false, false) => "a function",
    };
    let function = arity.as_text().map(|arity| match arity {
        // What it takes is known only once its library is loaded, and that runs what nobody judged.
        "nil" => format!("{name} is {kind} of a library that is not loaded."),
        arity => format!("{name} is {kind} of {}.", arguments(arity)),
    });
    let variable = is(variable).then(|| format!("{name} is a variable; type its name to see its value."));
    let documentation = documentation.as_text().map(|text| format!("\n{text}"));
    let lines: Vec<String> = [function, variable, documentation].into_iter().flatten().collect();
    Some(if lines.is_empty() { format!("{name} stands for nothing there.") } else { lines.join("\n") })
}

/// Says how many arguments a function takes: `(1 . 2)`, `(0 . many)`, `(2 . unevalled)`.
fn arguments(arity: &str) -> String {
    let parts = arity.trim_matches(['(', ')']).split_once(" . ");
    match parts {
        Some(("1", "1")) => "1 argument".to_string(),
        Some((least, most)) if least == most => format!("{least} arguments"),
        Some((least, "many" | "unevalled")) => format!("{least} arguments or more"),
        Some((least, most)) => format!("{least} to {most} arguments"),
        None => "arguments that are not known".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::gate::lisp::examine;

    #[test]
    fn lisp_is_told_from_commands() {
        for (text, expected) in [
            (" (+ 1 2)\n", Typed::Eval("(+ 1 2)")),
            (",help", Typed::Help),
            (",inspect car", Typed::Inspect("car")),
            (" ,load  a b.el ", Typed::Load("a b.el")),
        ] {
            assert_eq!(typed(text), expected, "{text}");
        }
        for wrong in [
            "",
            ",",
            ",inspect",
            ",inspect a b",
            ",inspect (a)",
            ",inspect a) (b",
            ",inspect #.x",
            ",load",
            ",@a",
            ",x",
        ] {
            assert!(matches!(typed(wrong), Typed::Wrong(_)), "{wrong}: {:?}", typed(wrong));
        }
    }

    #[test]
    fn a_form_is_whole_when_nothing_of_it_is_open() {
        for whole in ["(a)", "1", "(a) (b)", ",load (", ")", "(a]", "\"x\"", "'(a)\n", "(a ; (\n)"] {
            assert!(is_whole(whole), "{whole}");
        }
        for open in ["(a", "(a [b", "\"x", "(a ; )\n", "(a \")\""] {
            assert!(!is_whole(open), "{open}");
        }
        assert!(nothing(" \n; x\n") && !nothing("x"));
    }

    #[test]
    fn what_an_evaluation_came_to_is_taken_apart() {
        for (text, printed, value, went_wrong) in [
            ("Value: 3", "", "3", false),
            ("Value: 3\n--- output ---\nsaid\n", "said\n", "3", false),
            ("Error: (void-variable x)", "", "Error: (void-variable x)", true),
            ("car is a function.", "", "car is a function.", false),
        ] {
            assert_eq!(Said::read(text), Said { printed, value, went_wrong }, "{text}");
        }
    }

    #[test]
    fn what_a_name_stands_for_is_told_in_words() {
        for (found, expected) in [
            (r#"("(1 . 1)" nil nil nil "Return it.")"#, "x is a function of 1 argument.\n\nReturn it."),
            (
                r#"("(0 . many)" nil t t nil)"#,
                "x is a command of 0 arguments or more.\nx is a variable; type its name to see its value.",
            ),
            (r#"("(1 . unevalled)" t nil nil nil)"#, "x is a macro of 1 arguments or more."),
            (r#"("(2 . 4)" nil nil nil nil)"#, "x is a function of 2 to 4 arguments."),
            (r#"("nil" nil t nil "Play.")"#, "x is a command of a library that is not loaded.\n\nPlay."),
            ("(nil nil nil nil nil)", "x stands for nothing there."),
        ] {
            assert_eq!(inspected("x", &format!("Value: {found}")).as_deref(), Some(expected), "{found}");
        }
        for other in ["", "Value: 5", "Value: (nil)", "Value: (1", "Error: x"] {
            assert_eq!(inspected("x", other), None, "{other}");
        }
    }

    #[test]
    fn looking_a_name_up_is_pure() {
        for name in ["car", "my-own", "delete-file", "a\\ b"] {
            assert_eq!(examine(&inspection(name)), [], "{name}");
        }
    }
}
