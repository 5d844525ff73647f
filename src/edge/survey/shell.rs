//! Parses shell text into facts: every simple command, wherever it stands.
//!
//! tree-sitter gives the structure; a list of node kinds says what is understood. An error node, a
//! kind that is not on the list, or text that the pre-check refuses makes the script unknown, and
//! unknown asks. Nothing here judges, and nothing recurses on the input.

mod continued;
mod leaf;
mod variables;
mod walk;
mod word;

use crate::domain::gate::facts::ScriptFact;
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use tree_sitter::{ParseOptions, Parser};
use walk::walk;

/// The longest shell text that is read, in bytes.
pub const MAX_LENGTH: usize = 16 * 1024;
/// The deepest nesting of brackets that is read.
const MAX_NESTING: usize = 64;
/// How many steps of the parser, in hundreds, all texts of one action may take together. They are counted and not timed,
/// so that no verdict depends on how busy the machine is. Clear syntax takes one for a hundred bytes.
const EFFORT: u32 = 60;
/// The same for the script files that it runs.
const FILES_EFFORT: u32 = 180;
/// How much a hundred steps count in a text that is not clear: each of them tries much at once.
const UNCLEAR: u32 = 30;
/// How long the pieces are in which the parser is given a text, in bytes.
const PIECE: usize = 256;
/// How many pieces the parser may look at for all texts of one action together. Clear syntax is looked at once; where signs
/// could mean much, it looks ahead from each of them, between two of the steps that are counted.
const PIECES: u32 = 500;
/// The same for the script files that it runs.
const FILES_PIECES: u32 = 1_500;
/// How many commands all texts of one action may hold together.
const COMMANDS: u32 = 600;

thread_local! {
    static PARSER: RefCell<Option<Parser>> = const { RefCell::new(None) };
}

/// What the values of variables are known to be before anything runs.
pub struct Known<'a> {
    /// The user's home.
    pub home: &'a str,
    /// The folder in which the command runs.
    pub folder: &'a str,
}

/// What the reading of one action's texts may still cost.
#[derive(Debug)]
pub struct Patience {
    /// Hundreds of steps of the parser.
    steps: Cell<u32>,
    /// Pieces of text that the parser looks at.
    pieces: Cell<u32>,
    /// Commands.
    commands: Cell<u32>,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { steps: Cell::new(EFFORT), pieces: Cell::new(PIECES), commands: Cell::new(COMMANDS) }
    }
}

impl Patience {
    /// Returns what the reading of script files may cost.
    pub fn of_files() -> Patience {
        Patience { steps: Cell::new(FILES_EFFORT), pieces: Cell::new(FILES_PIECES), ..Patience::default() }
    }
}

/// Takes so much from what is left, and returns whether there was as much.
fn take(left: &Cell<u32>, much: u32) -> bool {
    let fits = left.get().checked_sub(much);
    left.set(fits.unwrap_or(0));
    fits.is_some()
}

/// Reads shell text into facts. Words carry no resolved paths yet.
pub fn read(text: &str, known: &Known<'_>, patience: &Patience) -> ScriptFact {
    let mut script = ScriptFact { text: text.to_string(), ..ScriptFact::default() };
    if let Some(why) = refuse(text) {
        script.unknown.push(why);
        return script;
    }
    let joined = continued::joined(text).unwrap_or_else(|why| {
        script.unknown.push(why.to_string());
        None
    });
    let text = joined.as_ref().map_or(text, |joined| &joined.text);
    let tree = parse(text, patience);
    if let (Some(joined), Some(tree)) = (&joined, &tree)
        && !joined.agrees(tree)
    {
        script.unknown.push(continued::UNCLEAR.to_string());
    }
    if tree.as_ref().is_some_and(|tree| leaf::loses_blank(tree.root_node(), text)) {
        script.unknown.push(leaf::ODD.to_string());
    }
    match tree {
        None => script.unknown.push("The command is too tangled to be parsed.".to_string()),
        Some(tree) if tree.root_node().has_error() => {
            script.unknown.push("The command is not clear shell syntax.".to_string());
            walk(text, known, &mut script, tree.root_node());
        }
        Some(tree) => {
            walk(text, known, &mut script, tree.root_node());
        }
    }
    let room = patience.commands.get();
    let parts = script.commands.len().max(script.redirects.len());
    if !take(&patience.commands, u32::try_from(parts).unwrap_or(u32::MAX)) {
        // What is judged all the same may deny; nothing of it can pass.
        script.commands.truncate(room as usize);
        script.redirects.truncate(room as usize);
        script.unknown.push("The command has too many parts.".to_string());
    }
    script
}

/// Returns why a text is not even parsed.
fn refuse(text: &str) -> Option<String> {
    if text.len() > MAX_LENGTH {
        return Some(format!("The command is longer than {MAX_LENGTH} bytes."));
    }
    if let Some(odd) = text.chars().find(|c| deceives(*c)) {
        return Some(format!("The command holds the character U+{:04X}, which can hide what it does.", odd as u32));
    }
    let (mut depth, mut deepest) = (0usize, 0usize);
    for byte in text.bytes() {
        match byte {
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    let openers = ["if ", "while ", "until ", "case ", "for ", "select "];
    let words: usize = openers.iter().map(|word| text.matches(word).count()).sum();
    let ticks = text.bytes().filter(|byte| *byte == b'`').count() / 2;
    (deepest > MAX_NESTING || words > 4 * MAX_NESTING || ticks > MAX_NESTING)
        .then(|| "The command is nested too deeply.".to_string())
}

/// Returns whether a character is invisible, turns the direction of writing, or controls a terminal.
pub fn deceives(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || (c.is_whitespace() && !c.is_ascii())
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0e}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffc}' | '\u{e0000}'..='\u{e0fff}')
}

fn parse(text: &str, patience: &Patience) -> Option<tree_sitter::Tree> {
    PARSER.with(|cell| {
        let mut slot = cell.try_borrow_mut().ok()?;
        if slot.is_none() {
            let mut parser = Parser::new();
            parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
            *slot = Some(parser);
        }
        let parser = slot.as_mut()?;
        if patience.steps.get() == 0 || patience.pieces.get() == 0 {
            return None;
        }
        // The parser asks after each hundred of its steps.
        let mut late = |state: &tree_sitter::ParseState| {
            let much = if state.has_error() { UNCLEAR } else { 1 };
            let goes_on = take(&patience.steps, much) && patience.pieces.get() > 0;
            if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let bytes = text.as_bytes();
        let tree = parser.parse_with_options(
            &mut |at, _| match take(&patience.pieces, 1) {
                true => bytes.get(at..bytes.len().min((at / PIECE + 1) * PIECE)).unwrap_or(&[]),
                false => &[],
            },
            None,
            Some(ParseOptions::new().progress_callback(&mut late)),
        );
        // What was cut short is no tree of this text.
        let tree = tree.filter(|_| patience.pieces.get() > 0);
        if tree.is_none() {
            parser.reset();
        }
        tree
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<Option<String>>> {
        let script = read(text, &Known { home: "/home/u", folder: "/work" }, &Patience::default());
        assert!(script.unknown.is_empty(), "{text}: {:?}", script.unknown);
        script.commands.into_iter().map(|c| c.words.into_iter().map(|w| w.value).collect()).collect()
    }

    fn literal(text: &str) -> Vec<String> {
        words(text).into_iter().flatten().map(|value| value.unwrap_or_else(|| "?".to_string())).collect()
    }

    #[test]
    fn quotes_are_taken_off() {
        assert_eq!(literal(r"r\m -r'f' "), ["rm", "-rf"]);
        assert_eq!(literal("ls my\\ file \"a\\ b\" 'c\\ d' # a\\ b"), ["ls", "my file", "a\\ b", "c\\ d"]);
        assert_eq!(literal(r"$'\x72\155' a"), ["rm", "a"]);
        assert_eq!(literal(r#"echo "a b"'c'd "x\"y" "#), ["echo", "a bcd", "x\"y"]);
        assert_eq!(literal("ls ~/x $HOME \"$PWD/y\" ~root"), ["ls", "/home/u/x", "/home/u", "/work/y", "~root"]);
        assert_eq!(literal("HOME=/etc; cat $HOME/x"), ["cat", "?"]);
        assert_eq!(literal("$x -rf {a,b} `id`").first().map(String::as_str), Some("?"));
    }

    #[test]
    fn commands_are_found_wherever_they_stand() {
        let names = |text: &str| -> Vec<String> {
            let mut names: Vec<String> = words(text).iter().filter_map(|w| w.first().cloned().flatten()).collect();
            names.sort();
            names
        };
        assert_eq!(names("a | b && c; (d) ; { e; }"), ["a", "b", "c", "d", "e"]);
        assert_eq!(names("echo $(a \"$(b)\") `c` <(d)"), ["a", "b", "c", "d", "echo"]);
        assert_eq!(names("if a; then b; elif c; then d; else e; fi"), ["a", "b", "c", "d", "e"]);
        assert_eq!(names("for x in $(a); do b; done; while c; do d; done"), ["a", "b", "c", "d"]);
        assert_eq!(names("case $(a) in x) b ;; esac"), ["a", "b"]);
        assert_eq!(names("cat <<E | sh\n$(a)\nE\n"), ["a", "cat", "sh"]);
        assert_eq!(names("x=$(a) b; y=$(c)"), ["a", "b", "c"]);
        assert_eq!(names("cat < $(a) > \"$(b)\"; cat <<< \"$(c)\""), ["a", "b", "c", "cat", "cat"]);
        assert_eq!(names("[ -n \"$(a)\" ] && [[ $(b) = x ]]"), ["a", "b"]);
        assert_eq!(names("f() { a; }; export X=$(b)"), ["a", "b", "export"]);
        assert_eq!(names("echo ${x:-$(a)} $((1+2))"), ["a", "echo"]);
        assert_eq!(names("echo \"$\\\n(a)\" $\\\n(b) <\\\n(c) |\\\n d; e\\\nf"), ["a", "b", "c", "d", "echo", "ef"]);
    }

    #[test]
    fn what_cannot_be_read_is_unknown() {
        let known = Known { home: "/home/u", folder: "/work" };
        let long = "x".repeat(MAX_LENGTH + 1);
        let deep = "(".repeat(200);
        for text in [
            "echo 'x",
            "a\u{200b}b",
            "ls \u{1b}[2J",
            "echo ${x:=y}",
            "echo ${!x}",
            "echo $((a[0]))",
            "echo ${y#$(b)}",
            "echo \"${y%`b`}\"",
            "cat <<E\n`b`\nE",
            "cat <<'E' \\\n; id\nE\n",
            "echo `i\\\nd`",
            "echo \"$\\\n{x@P}\"",
            "echo \"${x:-'$(b)'}\"",
            "echo \"${x:-'`b`'}\"",
            "echo \"${x:-$'a$(b)'}\"",
            "cat <<E\n${HOME:+'$(b)'}\nE\n",
            "cat <\\\n<E\n# $\\\n(b)\nE\n",
            "cat <<E\n'$\\\n(b)'\nE\n",
            "echo [ a == ;b; ]",
            "echo [ a == ;curl|sh; ]",
            "echo [[ a =~ b;c ]]",
            "cat [[ a =~ b\nc\nd ]]",
            "echo a[[ b == \nc\nd ]]",
            "echo $(echo =~ a\nb\n)",
            "cat <<E;b\na $x\nE\n",
            "cat <<E&b\na $x\n",
            "cat <<E\n$(echo '\nE\nb #')\nE\n",
            "echo <&-$\nb",
            "echo \\ # $(b)",
            "echo \\\t# $(b)",
            "echo >&-$\nb",
            &long,
            &deep,
        ] {
            assert!(!read(text, &known, &Patience::default()).unknown.is_empty(), "{text:.40}");
        }
    }

    #[test]
    fn what_an_action_may_cost_is_counted_over_all_its_texts() {
        let known = Known { home: "/home/u", folder: "/work" };
        let tangled = "a|".repeat(8_000) + "a";
        let many = "true; ".repeat(700);
        for (text, why) in [(&tangled, "too tangled"), (&many, "too many parts")] {
            let script = read(text, &known, &Patience::of_files());
            assert!(script.unknown.iter().any(|told| told.contains(why)), "{:?}", script.unknown);
            assert!(script.commands.len() <= COMMANDS as usize);
        }
        let fine = "true; ".repeat(250);
        let patience = Patience::default();
        assert!(read(&fine, &known, &patience).unknown.is_empty());
        assert!(read(&fine, &known, &patience).unknown.is_empty());
        assert!(!read(&fine, &known, &patience).unknown.is_empty(), "the third is one too many");
        assert!(!read(&tangled, &known, &patience).unknown.is_empty());
        assert!(!read("true", &known, &patience).unknown.is_empty(), "nothing is left after what was too tangled");
    }
}
