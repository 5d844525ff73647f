//! Walks a parsed script: every command and redirection, wherever it stands.

use super::Known;
use super::word::{arithmetic_is_plain, expansion_is_plain};
use crate::domain::gate::facts::{CommandFact, RedirectFact, RedirectKind, ScriptFact, Word};
use tree_sitter::Node;

/// The most commands of one text that are read.
const MAX_COMMANDS: usize = 2_000;

/// Adds what stands in a parsed script to its facts.
pub(super) fn walk(text: &str, known: &Known<'_>, script: &mut ScriptFact, root: Node<'_>) {
    Walk { text, known, script, pipelines: 0, assigned: Vec::new() }.run(root);
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
    pipelines: usize,
    /// Names that the script gives values: what is known from outside no longer holds.
    pub(super) assigned: Vec<String>,
}

impl<'a> Walk<'a> {
    fn run(mut self, root: Node<'a>) {
        self.collect_assigned(root);
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

    fn collect_assigned(&mut self, root: Node<'a>) {
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            if matches!(node.kind(), "variable_assignment" | "for_statement" | "declaration_command" | "unset_command")
                && let Some(name) = named_children(node).into_iter().find(|child| child.kind() == "variable_name")
            {
                let name = self.slice(name).to_string();
                self.assigned.push(name);
            }
            if node.kind() == "command_name" && matches!(self.slice(node), "cd" | "pushd" | "popd") {
                // What follows may run in another folder: relative names are no longer known by `$PWD`.
                self.assigned.push("PWD".to_string());
            }
            stack.extend(named_children(node));
        }
    }

    fn visit(&mut self, node: Node<'a>, place: Option<Place>, stack: &mut Vec<(Node<'a>, Option<Place>)>) {
        self.leftovers(node);
        match node.kind() {
            "program" | "list" | "compound_statement" | "subshell" | "do_group" | "if_statement" | "elif_clause"
            | "else_clause" | "while_statement" | "case_statement" | "case_item" | "negated_command" => {
                if has_token(node, "&") {
                    self.script.background = true;
                }
                // What stands in a compound shares its pipe: `curl … | { sh; }`.
                self.push(node, place, stack);
            }
            "for_statement" => {
                if self.slice(node).starts_with("select") {
                    self.unknown("“select” waits for input.");
                }
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
            "arithmetic_expansion" => {
                if !arithmetic_is_plain(self.slice(node)) {
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
            "command_substitution" | "process_substitution" => self.push(node, None, stack),
            "string"
            | "concatenation"
            | "word"
            | "raw_string"
            | "ansi_c_string"
            | "translated_string"
            | "array"
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

    fn place(&mut self, place: Option<Place>) -> Place {
        place.unwrap_or_else(|| {
            self.pipelines += 1;
            Place { pipeline: self.pipelines, stage: 0 }
        })
    }

    fn push(&mut self, node: Node<'a>, place: Option<Place>, stack: &mut Vec<(Node<'a>, Option<Place>)>) {
        for child in named_children(node).into_iter().rev() {
            stack.push((child, place));
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
        let here = self.place(place);
        let children = named_children(node);
        let simple = children.iter().find(|child| child.kind() == "command");
        let index = simple.map(|body| {
            self.command(*body, Some(here), stack);
            self.script.commands.len() - 1
        });
        for child in children.iter().rev().filter(|child| child.kind() != "command") {
            let targets: Vec<Node<'a>> =
                named_children(*child).into_iter().filter(|part| part.kind() != "file_descriptor").collect();
            if child.kind() == "file_redirect" && targets.len() > 1 {
                let extra: Vec<Word> = targets.iter().skip(1).map(|target| self.word(*target)).collect();
                match index.and_then(|index| self.script.commands.get_mut(index)) {
                    Some(command) => command.words.extend(extra),
                    None => self.unknown("A redirection has more than one target."),
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

    fn command(&mut self, node: Node<'a>, place: Option<Place>, stack: &mut Vec<(Node<'a>, Option<Place>)>) {
        let place = self.place(place);
        let mut command = CommandFact { pipeline: place.pipeline, stage: place.stage, ..CommandFact::default() };
        for child in named_children(node) {
            match child.kind() {
                "variable_assignment" => command.assignments.push(self.assignment(child)),
                "command_name" => {
                    for part in named_children(child) {
                        command.words.push(self.word(part));
                    }
                }
                "file_redirect" | "heredoc_redirect" | "herestring_redirect" => {
                    stack.push((child, Some(place)));
                    continue;
                }
                "comment" => continue,
                _ => command.words.push(self.word(child)),
            }
            substitutions(child, stack);
        }
        self.script.commands.push(command);
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
            substitutions(child, stack);
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
        self.push(node, None, stack);
    }

    fn assignment(&mut self, node: Node<'a>) -> (String, Word) {
        let name = node.child_by_field_name("name").map(|name| self.slice(name).to_string()).unwrap_or_default();
        let word = node.child_by_field_name("value").map(|value| self.word(value));
        let empty = Word { value: Some(String::new()), ..Word::default() };
        (name, word.unwrap_or(empty))
    }

    fn redirect(&mut self, node: Node<'a>, place: Option<Place>, stack: &mut Vec<(Node<'a>, Option<Place>)>) {
        let pipeline = self.place(place).pipeline;
        let operator = (0..node.child_count())
            .filter_map(|n| node.child(n))
            .find(|child| !child.is_named())
            .map(|child| self.slice(child))
            .unwrap_or("");
        let targets: Vec<Node<'a>> =
            named_children(node).into_iter().filter(|child| child.kind() != "file_descriptor").collect();
        let target = targets.first().map(|child| self.word(*child));
        let number = target.as_ref().and_then(|word| word.value.as_deref());
        let copies =
            number.is_some_and(|text| text == "-" || (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())));
        let kind = match operator {
            "<" => RedirectKind::Read,
            ">&" | "<&" if copies => RedirectKind::Copy,
            ">&-" | "<&-" => RedirectKind::Copy,
            _ => RedirectKind::Write,
        };
        self.script.redirects.push(RedirectFact { kind, target, pipeline });
        for child in targets {
            substitutions(child, stack);
        }
    }

    fn test(&mut self, node: Node<'a>) {
        let text = self.slice(node);
        let arithmetic = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];
        let sums = text.starts_with("((") && !arithmetic_is_plain(text);
        let compares = text.starts_with("[[") && text.split_whitespace().any(|word| arithmetic.contains(&word));
        if sums || compares {
            self.unknown("Arithmetic on variables can run commands.");
        }
    }
}

/// What a word substitutes is a pipe of its own.
fn substitutions<'a>(word: Node<'a>, stack: &mut Vec<(Node<'a>, Option<Place>)>) {
    stack.push((word, None));
}

pub(super) fn named_children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

fn has_token(node: Node<'_>, token: &str) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor).any(|child| !child.is_named() && child.kind() == token)
}
