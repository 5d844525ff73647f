//! What a line of the REPL means: Lisp, or one of its few commands, which begin with a comma as no Lisp does.

use super::scan::{Kind, scan};

/// What `,help` says.
pub const HELP: &str = "\
What you type is evaluated in an Emacs of its own: it sees no file of yours, no network and no other program, and it keeps \
what you define until it has been idle for five minutes or is stopped.
,inspect NAME says what a name stands for there
,load FILE evaluates a file of the project or the memex, after its text passed the gates
,help says this
No model takes part. The gates judge what is evaluated, as they judge everything; what asks waits as a flight plan.
In Emacs: RET evaluates what is balanced, C-j begins a new line, M-p and M-n go through what was typed, C-c C-c stops it.";

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

/// Returns Lisp that says what a name stands for.
pub fn inspection(name: &str) -> String {
    format!(
        "(list (cons 'function (and (fboundp '{name}) (func-arity '{name}))) (cons 'macro (macrop '{name})) \
         (cons 'command (commandp '{name})) (cons 'variable (boundp '{name})) \
         (cons 'documentation (and (fboundp '{name}) (documentation '{name}))))"
    )
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
    fn looking_a_name_up_is_pure() {
        for name in ["car", "my-own", "delete-file", "a\\ b"] {
            assert_eq!(examine(&inspection(name)), [], "{name}");
        }
    }
}
