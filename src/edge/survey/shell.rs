//! Parses shell text into facts: every simple command, wherever it stands.
//!
//! tree-sitter gives the structure; a list of node kinds says what is understood. An error node, a
//! kind that is not on the list, or text that the pre-check refuses makes the script unknown, and
//! unknown asks. Nothing here judges, and nothing recurses on the input.

use crate::domain::gate::facts::{CommandFact, RedirectFact, RedirectKind, ScriptFact, Word};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tree_sitter::{Node, ParseOptions, Parser};

/// The longest shell text that is read, in bytes.
pub const MAX_LENGTH: usize = 16 * 1024;
/// The deepest nesting of brackets that is read.
const MAX_NESTING: usize = 64;
/// How long one text may be parsed.
const BUDGET: Duration = Duration::from_millis(50);
/// The most commands of one text that are read.
const MAX_COMMANDS: usize = 2_000;

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

/// Reads shell text into facts. Words carry no resolved paths yet.
pub fn read(text: &str, known: &Known<'_>) -> ScriptFact {
    let mut script = ScriptFact { text: text.to_string(), ..ScriptFact::default() };
    if let Some(why) = refuse(text) {
        script.unknown.push(why);
        return script;
    }
    match parse(text) {
        None => script.unknown.push("The command could not be parsed in time.".to_string()),
        Some(tree) if tree.root_node().has_error() => {
            script.unknown.push("The command is not clear shell syntax.".to_string());
            Walk { text, known, script: &mut script, pipelines: 0, assigned: Vec::new() }.run(tree.root_node());
        }
        Some(tree) => {
            Walk { text, known, script: &mut script, pipelines: 0, assigned: Vec::new() }.run(tree.root_node());
        }
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

fn parse(text: &str) -> Option<tree_sitter::Tree> {
    PARSER.with(|cell| {
        let mut slot = cell.try_borrow_mut().ok()?;
        if slot.is_none() {
            let mut parser = Parser::new();
            parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
            *slot = Some(parser);
        }
        let parser = slot.as_mut()?;
        let start = Instant::now();
        let mut late = |_: &tree_sitter::ParseState| {
            if start.elapsed() > BUDGET { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let bytes = text.as_bytes();
        let tree = parser.parse_with_options(
            &mut |at, _| bytes.get(at..).unwrap_or(&[]),
            None,
            Some(ParseOptions::new().progress_callback(&mut late)),
        );
        if tree.is_none() {
            parser.reset();
        }
        tree
    })
}

/// Where a node stands.
#[derive(Clone, Copy)]
struct Place {
    pipeline: usize,
    stage: usize,
}

struct Walk<'a> {
    text: &'a str,
    known: &'a Known<'a>,
    script: &'a mut ScriptFact,
    pipelines: usize,
    /// Names that the script gives values: what is known from outside no longer holds.
    assigned: Vec<String>,
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

    fn unknown(&mut self, why: &str) {
        if !self.script.unknown.iter().any(|known| known == why) {
            self.script.unknown.push(why.to_string());
        }
    }

    fn slice(&self, node: Node<'_>) -> &'a str {
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

    /// Returns a word with its quotes taken off, or without a value when that is known only at run time.
    fn word(&mut self, node: Node<'a>) -> Word {
        let raw = self.slice(node).to_string();
        let mut word = Word { raw, value: Some(String::new()), ..Word::default() };
        // Concatenations and strings hold leaves; an explicit stack keeps even odd trees from recursing.
        let mut stack = vec![(node, false)];
        let (mut first, mut open) = (true, false);
        while let Some((node, quoted)) = stack.pop() {
            let text = self.slice(node);
            match node.kind() {
                "concatenation" | "command_name" => {
                    if gaps(node, self.text) {
                        word.value = None;
                    }
                    stack.extend(named_children(node).into_iter().rev().map(|child| (child, quoted)));
                }
                "string" => self.quoted(node, &mut word),
                "raw_string" => append(&mut word, Some(text.get(1..text.len().saturating_sub(1)).unwrap_or(""))),
                "ansi_c_string" => append(&mut word, ansi_c(text).as_deref()),
                "word" | "number" | "test_operator" | "variable_name" | "regex" | "special_variable_name" => {
                    let (plain, glob, braces) = unquote(text, &mut open);
                    word.glob |= glob;
                    let plain = if first { self.tilde(plain) } else { Some(plain) };
                    append(&mut word, if braces { None } else { plain.as_deref() });
                }
                "extglob_pattern" => {
                    word.glob = true;
                    append(&mut word, Some(text));
                }
                "simple_expansion" | "expansion" => {
                    let value = self.variable(text);
                    append(&mut word, value.as_deref());
                }
                _ => word.value = None,
            }
            first = false;
        }
        word
    }

    fn quoted(&mut self, node: Node<'a>, word: &mut Word) {
        // The text between the children of a string belongs to it: tree-sitter leaves white space out.
        let mut at = node.start_byte() + 1;
        let end = node.end_byte().saturating_sub(1);
        for child in named_children(node) {
            if child.kind() == "string_content" {
                continue;
            }
            let before = self.text.get(at..child.start_byte()).unwrap_or("");
            append(word, Some(&unescape_double(before)));
            let value = match child.kind() {
                "simple_expansion" | "expansion" => self.variable(self.slice(child)),
                _ => None,
            };
            append(word, value.as_deref());
            at = child.end_byte();
        }
        let rest = self.text.get(at..end).unwrap_or("");
        append(word, Some(&unescape_double(rest)));
    }

    /// Looks through the text of a node that belongs to none of its children.
    fn leftovers(&mut self, node: Node<'a>) {
        if matches!(node.kind(), "raw_string" | "ansi_c_string" | "comment") {
            return;
        }
        let mut at = node.start_byte();
        let mut cursor = node.walk();
        let children: Vec<Node<'a>> = node.children(&mut cursor).collect();
        for child in children {
            self.overlooked(self.text.get(at..child.start_byte()).unwrap_or(""));
            at = child.end_byte().max(at);
        }
        self.overlooked(self.text.get(at..node.end_byte()).unwrap_or(""));
    }

    /// What a shell would substitute must have been seen by the grammar as well.
    fn overlooked(&mut self, plain: &str) {
        let mut escaped = false;
        let mut before = ' ';
        for c in plain.chars() {
            if !escaped && (c == '`' || (before == '$' && matches!(c, '(' | '{' | '['))) {
                self.unknown("Something in quotes is substituted that was not understood.");
            }
            before = if escaped { ' ' } else { c };
            escaped = c == '\\' && !escaped;
        }
    }

    fn tilde(&self, plain: String) -> Option<String> {
        let Some(rest) = plain.strip_prefix('~') else { return Some(plain) };
        match rest {
            "" => Some(self.known.home.to_string()),
            _ if rest.starts_with('/') => Some(format!("{}{rest}", self.known.home)),
            // `~user`, `~+` and `~-` are resolved where names are resolved; here they stay as they are.
            _ => Some(plain),
        }
    }

    fn variable(&self, text: &str) -> Option<String> {
        let name = text.trim_start_matches('$').trim_start_matches('{').trim_end_matches('}');
        if self.assigned.iter().any(|assigned| assigned == name) {
            return None;
        }
        match name {
            "HOME" => Some(self.known.home.to_string()),
            "PWD" => Some(self.known.folder.to_string()),
            _ => None,
        }
    }
}

/// What a word substitutes is a pipe of its own.
fn substitutions<'a>(word: Node<'a>, stack: &mut Vec<(Node<'a>, Option<Place>)>) {
    stack.push((word, None));
}

fn append(word: &mut Word, part: Option<&str>) {
    match (part, &mut word.value) {
        (Some(part), Some(value)) => value.push_str(part),
        _ => word.value = None,
    }
}

fn named_children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

fn has_token(node: Node<'_>, token: &str) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor).any(|child| !child.is_named() && child.kind() == token)
}

/// Returns whether text stands between the children of a concatenation that belongs to none of them.
fn gaps(node: Node<'_>, text: &str) -> bool {
    let children = named_children(node);
    let mut at = node.start_byte();
    for child in &children {
        if child.start_byte() != at && text.get(at..child.start_byte()).is_some_and(|gap| !gap.is_empty()) {
            return true;
        }
        at = child.end_byte();
    }
    at != node.end_byte()
}

/// Takes backslashes off an unquoted part of a word; says whether a pattern or braces stand in it.
/// A brace that was opened in an earlier part stays open.
fn unquote(text: &str, open: &mut bool) -> (String, bool, bool) {
    let (mut plain, mut glob, mut braces) = (String::new(), false, false);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') | None => {}
                Some(next) => plain.push(next),
            },
            '*' | '?' | '[' => {
                glob = true;
                plain.push(c);
            }
            '{' => {
                *open = true;
                plain.push(c);
            }
            ',' | '.' if *open => {
                braces = braces || c == ',' || plain.ends_with('.');
                plain.push(c);
            }
            _ => plain.push(c),
        }
    }
    (plain, glob, braces)
}

fn unescape_double(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match chars.next() {
            Some('\n') => {}
            Some(next @ ('$' | '`' | '"' | '\\')) => plain.push(next),
            Some(next) => {
                plain.push('\\');
                plain.push(next);
            }
            None => plain.push('\\'),
        }
    }
    plain
}

/// Returns what `$'…'` stands for; `None` for escapes that are rare enough to be unknown.
fn ansi_c(text: &str) -> Option<String> {
    let inner = text.strip_prefix("$'")?.strip_suffix('\'')?;
    let mut plain = String::new();
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        let next = chars.next()?;
        let mut digits = |most: usize, radix: u32, first: Option<char>| {
            let mut text: String = first.into_iter().collect();
            while text.len() < most
                && let Some(digit) = chars.next_if(|c| c.is_digit(radix))
            {
                text.push(digit);
            }
            u32::from_str_radix(&text, radix).ok().and_then(char::from_u32)
        };
        plain.push(match next {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' | 'E' => '\u{1b}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '\\' | '\'' | '"' | '?' => next,
            'x' => digits(2, 16, None)?,
            'u' => digits(4, 16, None)?,
            'U' => digits(8, 16, None)?,
            '0'..='7' => digits(3, 8, Some(next))?,
            _ => return None,
        });
    }
    Some(plain)
}

fn arithmetic_is_plain(text: &str) -> bool {
    !text.chars().any(|c| c.is_alphabetic() || matches!(c, '_' | '`' | '=' | '['))
        && !text.trim_start_matches('$').contains('$')
}

/// Allows `${name}`, `${#name}`, defaults and cuts; not assignment, indirection or prompt expansion.
fn expansion_is_plain(text: &str) -> bool {
    let Some(inner) = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else { return false };
    let inner = inner.strip_prefix('#').unwrap_or(inner);
    let name_ends = inner.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(inner.len());
    let (name, rest) = inner.split_at(name_ends);
    if name.is_empty() {
        return matches!(rest, "" | "@" | "*" | "?" | "!" | "$" | "#" | "-");
    }
    let simple = ["", "[@]", "[*]"].contains(&rest);
    simple
        || rest.starts_with(":-")
        || rest.starts_with('-')
        || rest.starts_with('#')
        || rest.starts_with('%')
        || (rest.starts_with('/') && !rest.contains('@'))
        || rest.starts_with(":+")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<Option<String>>> {
        let script = read(text, &Known { home: "/home/u", folder: "/work" });
        assert!(script.unknown.is_empty(), "{text}: {:?}", script.unknown);
        script.commands.into_iter().map(|c| c.words.into_iter().map(|w| w.value).collect()).collect()
    }

    fn literal(text: &str) -> Vec<String> {
        words(text).into_iter().flatten().map(|value| value.unwrap_or_else(|| "?".to_string())).collect()
    }

    #[test]
    fn quotes_are_taken_off() {
        assert_eq!(literal(r"r\m -r'f' "), ["rm", "-rf"]);
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
            &long,
            &deep,
        ] {
            assert!(!read(text, &known).unknown.is_empty(), "{text:.40}");
        }
    }
}
