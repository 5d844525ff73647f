//! Walks a parsed script: every command and redirection, wherever it stands.

use super::Known;
use super::leaf::{ODD, is_odd};
use super::variables::{Variable, Way, is_number, yields_number};
use super::word::expansion_is_plain;
use crate::domain::gate::facts::{CommandFact, RedirectFact, RedirectKind, ScriptFact, Word};
use crate::domain::gate::place;
use aho_corasick::AhoCorasick;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use tree_sitter::Node;

/// The most commands of one text that are read.
const MAX_COMMANDS: usize = 2_000;
/// From how many words on a command is read in one way only, whatever its variables hold.
const MAX_WORDS: usize = 10_000;
/// Programs that change the folder of the shell.
const FOLDERS: &[&str] = &["cd", "chdir", "pushd", "popd"];
/// What is said then.
const TOO_MANY_WORDS: &str = "The command has more words than are read in every way.";

/// Adds what stands in a parsed script to its facts.
pub(super) fn walk(text: &str, known: &Known<'_>, script: &mut ScriptFact, root: Node<'_>) {
    Walk::new(text, known, script).run(root);
}

/// Where a node stands.
#[derive(Clone, Copy)]
struct Place {
    pipeline: usize,
    stage: usize,
}

pub(super) struct Walk<'a> {
    pub(super) text: &'a str,
    pub(super) known: &'a Known<'a>,
    script: &'a mut ScriptFact,
    pub(super) pipelines: usize,
    /// How many words were read, each in every way.
    words: usize,
    /// What stands anywhere in the text.
    has: Has,
    /// What the script gives its variables: what is known from outside no longer holds.
    pub(super) variables: BTreeMap<String, Variable>,
    /// The pipelines of substitutions, by their nodes.
    pub(super) outputs: BTreeMap<usize, usize>,
    /// Whether a program gives values to variables whose names are known only at run time.
    pub(super) odd_names: bool,
    /// Whether the script changes its folder.
    pub(super) moves: bool,
    /// What variables hold in the reading of a command that is being made.
    pub(super) way: Way,
}

/// What stands anywhere in a text: of what does not, nothing needs to be looked for.
struct Has {
    /// `&`
    ampersand: bool,
    /// What begins something that is substituted.
    substitutes: bool,
    /// A word or a sign by which variables are given values.
    gives: bool,
}

/// Without these in its text a script gives no variable a value.
const GIVES: &[&str] = &[
    "=", "((", "$[", "for", "select", "read", "mapfile", "getopts", "printf", "let", "wait", "declare", "typeset",
    "export", "local", "unset",
];

static GIVING: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(GIVES).ok());

impl Has {
    fn of(text: &str) -> Has {
        let signs = memchr::memchr2(b'`', b'$', text.as_bytes()).is_some();
        Has { ampersand: memchr::memchr(b'&', text.as_bytes()).is_some(), substitutes: signs, gives: may_give(text) }
    }
}

/// Returns whether a script may give a variable a value; `false` is certain.
pub(super) fn may_give(text: &str) -> bool {
    GIVING.as_ref().is_none_or(|words| words.is_match(text))
}

impl<'a> Walk<'a> {
    pub(super) fn new(text: &'a str, known: &'a Known<'a>, script: &'a mut ScriptFact) -> Walk<'a> {
        let (variables, outputs) = (BTreeMap::new(), BTreeMap::new());
        let has = Has::of(text);
        let (odd_names, moves, way) = (false, false, Way::new());
        Walk { text, known, script, pipelines: 0, words: 0, has, variables, outputs, odd_names, moves, way }
    }

    fn run(mut self, root: Node<'a>) {
        self.moves = self.has.substitutes && self.text.contains("PWD") && self.changes_folder(root);
        if self.has.gives {
            self.collect(root);
        }
        let mut stack: Vec<(Node<'a>, Option<Place>)> = vec![(root, None)];
        while let Some((node, place)) = stack.pop() {
            if self.script.commands.len() > MAX_COMMANDS {
                self.unknown("The command has too many parts.");
                return;
            }
            self.visit(node, place, &mut stack);
        }
        self.script.commands.sort_by_key(|command| (command.pipeline, command.stage));
    }

    /// Whether a word anywhere is that of a program that changes the folder, or could be one.
    fn changes_folder(&mut self, root: Node<'a>) -> bool {
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            if node.kind() == "command" {
                for part in named_children(node).into_iter().filter(|part| !part.kind().ends_with("redirect")) {
                    let text = self.word(part).value;
                    if text.as_deref().map_or(part.kind() == "command_name", |text| FOLDERS.contains(&text)) {
                        return true;
                    }
                }
            }
            stack.extend(named_children(node));
        }
        false
    }

    fn visit(&mut self, node: Node<'a>, place: Option<Place>, stack: &mut Vec<(Node<'a>, Option<Place>)>) {
        if is_odd(node, self.text) {
            self.unknown(ODD);
        }
        if self.has.substitutes {
            self.leftovers(node);
        }
        match node.kind() {
            "program" | "list" | "compound_statement" | "subshell" | "do_group" | "if_statement" | "elif_clause"
            | "else_clause" | "while_statement" | "case_statement" | "case_item" | "negated_command" => {
                let sum = node.kind() == "compound_statement" && self.slice(node).starts_with("((");
                if sum && !self.arithmetic_is_plain(self.slice(node)) {
                    self.unknown("Arithmetic on variables can run commands.");
                }
                if self.has.ampersand && has_token(node, "&") {
                    self.script.background = true;
                }
                // What stands in a compound shares its pipe: `curl … | { sh; }`.
                self.push(node, place, stack);
            }
            "for_statement" => {
                if self.slice(node).starts_with("select") {
                    self.unknown("“select” waits for input.");
                }
                self.loop_name(node, place);
                self.push(node, place, stack);
            }
            "function_definition" => {
                if let Some(name) = node.child_by_field_name("name") {
                    self.script.functions.push(self.slice(name).to_string());
                }
                self.push(node, place, stack);
            }
            "pipeline" => self.pipeline(node, place, stack),
            "redirected_statement" => self.redirected(node, place, stack),
            "command" => self.command(node, place, stack),
            "declaration_command" | "unset_command" => self.declaration(node, place, stack),
            "variable_assignment" | "variable_assignments" => self.bare_assignment(node, place, stack),
            "file_redirect" => self.redirect(node, place, stack),
            "heredoc_redirect" | "herestring_redirect" => {
                let pipeline = self.place(place).pipeline;
                self.script.redirects.push(RedirectFact { kind: RedirectKind::Here, target: None, pipeline });
                self.heredoc(node, place, stack);
            }
            "test_command" => {
                self.test(node);
                self.push(node, place, stack);
            }
            "c_style_for_statement" => {
                let head = self.slice(node).split_once("))").map_or("", |(head, _)| head);
                if !self.arithmetic_is_plain(head.trim_start_matches("for")) {
                    self.unknown("Arithmetic on variables can run commands.");
                }
                self.push(node, place, stack);
            }
            "arithmetic_expansion" => {
                if !self.arithmetic_is_plain(self.slice(node)) {
                    self.unknown("Arithmetic on variables can run commands.");
                }
                self.push(node, place, stack);
            }
            "expansion" => {
                if !expansion_is_plain(self.slice(node)) {
                    self.unknown("A variable is expanded in a way that can change or run something.");
                }
                self.push(node, place, stack);
            }
            "command_substitution" => {
                self.substituted(node, place, stack);
            }
            // That of a redirection was given the pipe that it feeds.
            "process_substitution" => match self.outputs.get(&node.id()) {
                Some(pipeline) => self.push(node, Some(Place { pipeline: *pipeline, stage: 0 }), stack),
                None => self.substituted(node, place, stack),
            },
            "array" => {
                // Where an element stands is worked out as a sum.
                let placed = |text: &str| {
                    let place = text.strip_prefix('[').and_then(|rest| rest.split_once("]="));
                    place.is_some_and(|(place, _)| !is_number(place))
                };
                if named_children(node).into_iter().any(|part| placed(self.slice(part))) {
                    self.unknown("Arithmetic on variables can run commands.");
                }
                self.push(node, place, stack);
            }
            "string"
            | "concatenation"
            | "word"
            | "raw_string"
            | "ansi_c_string"
            | "translated_string"
            | "brace_expression"
            | "simple_expansion"
            | "string_content"
            | "number"
            | "variable_name"
            | "special_variable_name"
            | "subscript"
            | "command_name"
            | "comment"
            | "extglob_pattern"
            | "regex"
            | "test_operator"
            | "unary_expression"
            | "binary_expression"
            | "postfix_expression"
            | "parenthesized_expression"
            | "heredoc_body"
            | "heredoc_start"
            | "heredoc_end"
            | "heredoc_content"
            | "file_descriptor" => {
                self.push(node, place, stack);
            }
            other => {
                let words = format!("“{other}” is shell syntax that is not judged.");
                self.unknown(&words);
                self.push(node, place, stack);
            }
        }
    }

    pub(super) fn unknown(&mut self, why: &str) {
        if !self.script.unknown.iter().any(|known| known == why) {
            self.script.unknown.push(why.to_string());
        }
    }

    pub(super) fn slice(&self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or("")
    }

    /// What is substituted is a pipe of its own, and has the input of what it stands in.
    fn substituted(&mut self, node: Node<'a>, place: Option<Place>, stack: &mut Vec<(Node<'a>, Option<Place>)>) {
        let pipeline = self.output(node);
        if let Some(around) = place {
            self.script.around.insert(pipeline, (around.pipeline, around.stage));
        }
        self.push(node, Some(Place { pipeline, stage: 0 }), stack);
    }

    fn place(&mut self, place: Option<Place>) -> Place {
        place.unwrap_or_else(|| {
            self.pipelines += 1;
            Place { pipeline: self.pipelines, stage: 0 }
        })
    }

    fn push(&mut self, node: Node<'a>, place: Option<Place>, stack: &mut Vec<(Node<'a>, Option<Place>)>) {
        if node.child_count() > 0 {
            stack.extend(named_children(node).into_iter().rev().map(|child| (child, place)));
        }
    }

    fn pipeline(&mut self, node: Node<'a>, place: Option<Place>, stack: &mut Vec<(Node<'a>, Option<Place>)>) {
        let first = self.place(place);
        for (n, child) in named_children(node).into_iter().enumerate() {
            stack.push((child, Some(Place { pipeline: first.pipeline, stage: first.stage + n })));
        }
    }

    /// In `tr < file a b` the grammar gives the words behind the file to the redirection: they are arguments.
    fn redirected(&mut self, node: Node<'a>, place: Option<Place>, stack: &mut Vec<(Node<'a>, Option<Place>)>) {
        let mut here = self.place(place);
        let children = named_children(node);
        if let Some(feeder) = children.iter().find_map(|child| self.feeder(*child)) {
            // `… < <(a | b)` is `a | b | …`.
            self.outputs.insert(feeder.id(), here.pipeline);
            here.stage += 16;
        }
        let simple = children.iter().find(|child| child.kind() == "command");
        let before = self.script.commands.len();
        if let Some(body) = simple {
            self.command(*body, Some(here), stack);
        }
        for child in children.iter().rev().filter(|child| child.kind() != "command") {
            let targets: Vec<Node<'a>> =
                named_children(*child).into_iter().filter(|part| part.kind() != "file_descriptor").collect();
            if child.kind() == "file_redirect" && targets.len() > 1 {
                let extra: Vec<Word> = targets.iter().skip(1).map(|target| self.word(*target)).collect();
                let ways = self.script.commands.len().saturating_sub(before);
                self.words += ways * extra.len();
                let most = if self.words > MAX_WORDS { 1 } else { ways };
                match (simple, self.script.commands.get_mut(before..)) {
                    (Some(_), Some(read)) => {
                        read.iter_mut().take(most).for_each(|command| command.words.extend(extra.iter().cloned()))
                    }
                    (None, _) | (_, None) => self.unknown("A redirection has more than one target."),
                }
                if most < ways {
                    self.unknown(TOO_MANY_WORDS);
                }
            }
            stack.push((*child, Some(here)));
        }
    }

    /// A pipe after a heredoc stands inside its node: `cat <<E | sh`.
    fn heredoc(&mut self, node: Node<'a>, place: Option<Place>, stack: &mut Vec<(Node<'a>, Option<Place>)>) {
        let here = self.place(place);
        let start = named_children(node).into_iter().find(|child| child.kind() == "heredoc_start");
        let literal = start.is_some_and(|start| self.slice(start).contains(['\'', '"', '\\']));
        if !literal && self.slice(node).contains('`') {
            // The grammar does not look for backquotes there.
            self.unknown("A backquote in a heredoc can run something.");
        }
        for child in named_children(node).into_iter().filter(|child| !literal || child.kind() != "heredoc_body") {
            let below = match child.kind() {
                "pipeline" | "command" | "redirected_statement" => Place { stage: here.stage + 1, ..here },
                _ => here,
            };
            stack.push((child, Some(below)));
        }
    }

    /// Returns the process substitution whose output a redirection hands over.
    fn feeder(&self, node: Node<'a>) -> Option<Node<'a>> {
        let feeds = |child: &Node<'a>| child.kind() == "process_substitution" && self.slice(*child).starts_with("<(");
        named_children(node).into_iter().find(feeds).filter(|_| node.kind() == "file_redirect")
    }

    /// A loop gives its variable values, as an assignment does.
    fn loop_name(&mut self, node: Node<'a>, place: Option<Place>) {
        let Some(name) = node.child_by_field_name("variable") else { return };
        let (name, place) = (self.slice(name).to_string(), self.place(place));
        let assignments = vec![(name, Word { value: Some(String::new()), ..Word::default() })];
        let Place { pipeline, stage } = place;
        self.script.commands.push(CommandFact { assignments, pipeline, stage, ..CommandFact::default() });
    }

    /// A command with variables that hold one of several texts is read in each of these ways.
    fn command(&mut self, node: Node<'a>, place: Option<Place>, stack: &mut Vec<(Node<'a>, Option<Place>)>) {
        let place = self.place(place);
        let children = named_children(node);
        for (n, way) in self.ways(&children).into_iter().enumerate() {
            self.words += children.len();
            if n > 0 && self.words > MAX_WORDS {
                self.unknown(TOO_MANY_WORDS);
                break;
            }
            self.way = way;
            let command = self.one_command(&children, place);
            self.script.commands.push(command);
        }
        self.way = Way::new();
        for child in children {
            match child.kind() {
                "file_redirect" | "heredoc_redirect" | "herestring_redirect" => stack.push((child, Some(place))),
                "comment" => {}
                // It holds for this command alone: what it substitutes is looked at, and it is no assignment of its own.
                "variable_assignment" => {
                    named_children(child).into_iter().for_each(|part| stack.push((part, Some(place))))
                }
                _ => stack.push((child, Some(place))),
            }
        }
    }

    fn one_command(&mut self, children: &[Node<'a>], place: Place) -> CommandFact {
        let mut command = CommandFact { pipeline: place.pipeline, stage: place.stage, ..CommandFact::default() };
        for child in children {
            match child.kind() {
                "variable_assignment" => command.assignments.push(self.assignment(*child)),
                "command_name" => {
                    for part in named_children(*child) {
                        if !self.vanishes(part) {
                            command.words.push(self.word(part));
                        }
                    }
                }
                "file_redirect" | "heredoc_redirect" | "herestring_redirect" | "comment" => {}
                _ if self.vanishes(*child) => {}
                _ => command.words.push(self.word(*child)),
            }
        }
        self.fills_variables(&command.words, place);
        command
    }

    /// Notes what `read` fills. Spelt otherwise than as a bare word with names behind it, it would fill variables that
    /// were taken for known when the script was looked through.
    fn fills_variables(&mut self, words: &[Word], place: Place) {
        let text = |word: &Word| word.value.clone().unwrap_or_default();
        let prefixes = ["command", "builtin", "time", "exec", "coproc"];
        let behind = words.iter().take_while(|word| {
            let text = text(word);
            prefixes.contains(&text.as_str()) || text.starts_with('-') && word.raw == text
        });
        let behind = behind.count();
        let Some(program) = words.get(behind) else { return };
        if text(program) != "read" {
            return;
        }
        let named = words.iter().skip(behind + 1).any(|word| !text(word).starts_with('-'));
        if behind == 0 && program.raw == "read" && named {
            self.reads_from(words, (place.stage > 0).then_some(place.pipeline));
        } else {
            self.unknown("It reads into variables in a way that is not judged.");
        }
    }

    fn declaration(&mut self, node: Node<'a>, place: Option<Place>, stack: &mut Vec<(Node<'a>, Option<Place>)>) {
        let place = self.place(place);
        let mut command = CommandFact { pipeline: place.pipeline, stage: place.stage, ..CommandFact::default() };
        let head = self.slice(node).split_whitespace().next().unwrap_or("declare").to_string();
        command.words.push(Word { raw: head.clone(), value: Some(head), ..Word::default() });
        for child in named_children(node) {
            match child.kind() {
                "variable_assignment" => command.assignments.push(self.assignment(child)),
                "comment" => {}
                _ => command.words.push(self.word(child)),
            }
            stack.push((child, Some(place)));
        }
        self.script.commands.push(command);
    }

    fn bare_assignment(&mut self, node: Node<'a>, place: Option<Place>, stack: &mut Vec<(Node<'a>, Option<Place>)>) {
        if node.kind() == "variable_assignments" {
            return self.push(node, place, stack);
        }
        let place = self.place(place);
        let assignments = vec![self.assignment(node)];
        self.script.commands.push(CommandFact {
            assignments,
            pipeline: place.pipeline,
            stage: place.stage,
            ..CommandFact::default()
        });
        self.push(node, Some(place), stack);
    }

    fn assignment(&mut self, node: Node<'a>) -> (String, Word) {
        let name = node.child_by_field_name("name").map(|name| self.slice(name).to_string()).unwrap_or_default();
        let word = node.child_by_field_name("value").map(|value| self.word(value));
        let empty = Word { value: Some(String::new()), ..Word::default() };
        (name, word.unwrap_or(empty))
    }

    fn redirect(&mut self, node: Node<'a>, place: Option<Place>, stack: &mut Vec<(Node<'a>, Option<Place>)>) {
        let place = self.place(place);
        let pipeline = place.pipeline;
        let operator = (0..node.child_count())
            .filter_map(|n| node.child(n))
            .find(|child| !child.is_named())
            .map(|child| self.slice(child))
            .unwrap_or("");
        let targets: Vec<Node<'a>> =
            named_children(node).into_iter().filter(|child| child.kind() != "file_descriptor").collect();
        for way in self.ways(&targets) {
            self.way = way;
            let redirect = self.one_redirect(operator, targets.first().copied(), pipeline);
            self.script.redirects.push(redirect);
        }
        self.way = Way::new();
        for child in targets {
            stack.push((child, Some(place)));
        }
    }

    fn one_redirect(&mut self, operator: &str, target: Option<Node<'a>>, pipeline: usize) -> RedirectFact {
        let target = target.map(|child| self.word(child));
        let number = target.as_ref().and_then(|word| word.value.as_deref());
        let copies =
            number.is_some_and(|text| text == "-" || (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())));
        let kind = match operator {
            "<" => RedirectKind::Read,
            ">&" | "<&" if copies => RedirectKind::Copy,
            ">&-" | "<&-" => RedirectKind::Copy,
            _ => RedirectKind::Write,
        };
        RedirectFact { kind, target, pipeline }
    }

    fn test(&mut self, node: Node<'a>) {
        let text = self.slice(node);
        let sums = text.starts_with("((") && !self.arithmetic_is_plain(text);
        let compares = text.starts_with("[[") && !self.comparisons_are_plain(node);
        // Brackets and operators may stand beside it without a blank.
        let mut words = text.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '|' | '&' | '!'));
        let names_variable = words.any(|word| matches!(word, "-v" | "-R"));
        if sums || compares || names_variable {
            self.unknown("Arithmetic on variables can run commands.");
        }
        if !text.starts_with("((") && !text.starts_with("[[") && !self.words_are_plain(node) {
            self.unknown("What is tested is known only at run time, and could be a test that runs commands.");
        }
    }

    /// `[ $x ]`: a text that is known only at run time could be `-v` and a name that is worked out. In quotes it is one
    /// word, and does no harm as long as no other such word, and no name that is worked out, stands beside it. `[ -? x ]`: a
    /// pattern could match a file of that name.
    fn words_are_plain(&mut self, root: Node<'a>) -> bool {
        let mut before = false;
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            let children = children_of(node, |_| true);
            let inner = matches!(
                node.kind(),
                "test_command"
                    | "unary_expression"
                    | "binary_expression"
                    | "parenthesized_expression"
                    | "negated_command"
            );
            if inner {
                stack.extend(children.into_iter().rev());
                continue;
            }
            let open = self.is_open(node);
            let (matches, named) = self.tested(node);
            if matches || before && named || open.is_some_and(|quoted| !quoted || before) {
                return false;
            }
            before = open.is_some();
        }
        true
    }

    /// Whether a part of a test is a pattern that may match a test that works out a name; and whether it may be such a name.
    fn tested(&mut self, node: Node<'a>) -> (bool, bool) {
        const WORDS: [&str; 13] = [
            "word",
            "string",
            "raw_string",
            "ansi_c_string",
            "concatenation",
            "number",
            "test_operator",
            "extglob_pattern",
            "regex",
            "simple_expansion",
            "expansion",
            "command_substitution",
            "arithmetic_expansion",
        ];
        if !WORDS.contains(&node.kind()) {
            // Of what the grammar takes for something else, any sign of a pattern counts.
            let signs =
                !matches!(node.kind(), "[" | "]") && self.slice(node).replace("$?", "").contains(['*', '?', '[']);
            return (signs, signs);
        }
        let word = self.word(node);
        let text = word.value.unwrap_or_default();
        (word.glob && place::may_match_variable_test(&text), text.contains('['))
    }

    /// Whether a word holds what is known only at run time: with `true` all of that stands in quotes.
    fn is_open(&self, word: Node<'a>) -> Option<bool> {
        let mut found = None;
        let mut stack = vec![(word, false)];
        while let Some((node, quoted)) = stack.pop() {
            match node.kind() {
                "simple_expansion" | "expansion" if self.is_one_word(self.slice(node)) => {}
                "simple_expansion" | "expansion" if matches!(self.slice(node), "$#" | "$?" | "$$" | "$!") => {}
                "simple_expansion" | "expansion" if self.slice(node).starts_with("${#") => {}
                "command_substitution" if yields_number(self.slice(node)) => {}
                "arithmetic_expansion" => {}
                // Several words, in quotes as well.
                "simple_expansion" | "expansion" if self.slice(node).contains('@') => found = Some(false),
                "simple_expansion" | "expansion" | "command_substitution" | "process_substitution" => {
                    found = Some(found.unwrap_or(true) && quoted);
                }
                _ => {
                    let quoted = quoted || node.kind() == "string";
                    stack.extend(named_children(node).into_iter().map(|child| (child, quoted)));
                }
            }
        }
        found
    }

    /// `[[ a -eq b ]]` works both sides out: they must be numbers.
    fn comparisons_are_plain(&self, root: Node<'a>) -> bool {
        const COMPARES: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
        let seen = self.slice(root).split_whitespace().filter(|word| COMPARES.contains(word)).count();
        let (mut plain, mut stack) = (0, vec![root]);
        while let Some(node) = stack.pop() {
            let mut cursor = node.walk();
            let children: Vec<Node<'a>> = node.children(&mut cursor).collect();
            for side in children.windows(3) {
                if let [left, operator, right] = side
                    && COMPARES.contains(&self.slice(*operator))
                    && self.is_numeric_word(*left)
                    && self.is_numeric_word(*right)
                {
                    plain += 1;
                }
            }
            stack.extend(children);
        }
        plain == seen
    }

    fn is_numeric_word(&self, node: Node<'a>) -> bool {
        let text = self.slice(node);
        let text = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text);
        let name = text.strip_prefix('$').map(|name| name.trim_start_matches('{').trim_end_matches('}'));
        is_number(text)
            || matches!(text, "$#" | "$?")
            || yields_number(text)
            || name.is_some_and(|name| self.is_numeric(name))
    }
}

/// So many children are found one by one; for more a cursor is made, which costs more than it saves for few.
const FEW: u32 = 6;

pub(super) fn named_children(node: Node<'_>) -> Vec<Node<'_>> {
    if node.named_child_count() == 0 {
        return Vec::new();
    }
    children_of(node, Node::is_named)
}

/// Returns the children of a node that are wanted.
pub(super) fn children_of<'a>(node: Node<'a>, wanted: impl Fn(&Node<'a>) -> bool) -> Vec<Node<'a>> {
    let count = node.child_count();
    if count <= FEW {
        return (0..count).filter_map(|n| node.child(n)).filter(wanted).collect();
    }
    let mut cursor = node.walk();
    node.children(&mut cursor).filter(wanted).collect()
}

fn has_token(node: Node<'_>, token: &str) -> bool {
    !children_of(node, |child| !child.is_named() && child.kind() == token).is_empty()
}
