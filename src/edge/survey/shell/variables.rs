//! What the variables of a script may hold, as far as its text says.
//!
//! A variable that is only ever given literal words holds one of them, or nothing where it is not yet set.
//! Whatever else gives it a value makes it known only at run time; then at most where that came from is known.

use super::walk::{Walk, named_children};
use crate::domain::gate::facts::Word;
use std::collections::BTreeMap;
use tree_sitter::Node;

/// The most values of one variable that are told apart.
const MAX_TEXTS: usize = 12;
/// The most pipelines of one variable that are told apart.
const MAX_SOURCES: usize = 16;
/// The most ways to fill in the variables of one command.
const MAX_WAYS: usize = 24;

/// What one variable may hold.
#[derive(Debug)]
pub(super) struct Variable {
    /// The texts that it is given, and whether each is a pattern that stands for what it matches.
    texts: Vec<(String, bool)>,
    /// The pipelines whose output it is given.
    from: Vec<usize>,
    /// Whether it is given what is known only at run time.
    opaque: bool,
    /// Whether some of that came from nowhere known.
    lost: bool,
    /// Whether everything that it is given is a whole number.
    number: bool,
}

impl Default for Variable {
    fn default() -> Variable {
        Variable { texts: Vec::new(), from: Vec::new(), opaque: false, lost: false, number: true }
    }
}

/// One way to fill in variables: a text, or nothing for one that is not set.
pub(super) type Way = BTreeMap<String, Option<(String, bool)>>;

impl<'a> Walk<'a> {
    /// Finds out what the script gives its variables.
    pub(super) fn collect(&mut self, root: Node<'a>) {
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            match node.kind() {
                "variable_assignment" => self.assigned(node),
                "for_statement" => self.looped(node),
                "declaration_command" | "unset_command" => {
                    for name in named_children(node) {
                        let name = name.child_by_field_name("name").unwrap_or(name);
                        let name = self.slice(name).to_string();
                        self.opaque(&name, None, false);
                    }
                }
                "c_style_for_statement" | "arithmetic_expansion" | "test_command" | "compound_statement" => {
                    self.counted(node);
                }
                "command" => self.commanded(node),
                _ => {}
            }
            stack.extend(named_children(node).into_iter().rev());
        }
        if self.odd_names {
            // Which one is given a value is not known: it may be any.
            self.variables.values_mut().for_each(|variable| {
                (variable.opaque, variable.lost, variable.number) = (true, true, false);
            });
        }
        for name in ["HOME", "PWD"] {
            if let Some(variable) = self.variables.get_mut(name) {
                // Where it is not set anew it has the value that it had before.
                (variable.opaque, variable.lost, variable.number) = (true, true, false);
            }
        }
    }

    fn opaque(&mut self, name: &str, from: Option<usize>, number: bool) {
        let variable = self.variables.entry(name.to_string()).or_default();
        variable.opaque = true;
        variable.number &= number;
        match from {
            Some(from) if variable.from.contains(&from) => {}
            Some(from) if variable.from.len() < MAX_SOURCES => variable.from.push(from),
            Some(_) | None => variable.lost = true,
        }
    }

    fn text(&mut self, name: &str, text: &str, glob: bool) {
        let variable = self.variables.entry(name.to_string()).or_default();
        variable.number &= is_number(text);
        if variable.texts.iter().any(|(known, _)| known == text) {
            return;
        }
        if variable.texts.len() >= MAX_TEXTS {
            (variable.opaque, variable.lost) = (true, true);
            return;
        }
        variable.texts.push((text.to_string(), glob));
    }

    fn assigned(&mut self, node: Node<'a>) {
        let Some(target) = node.child_by_field_name("name") else { return };
        if target.kind() != "variable_name" {
            let name = self.slice(target).split('[').next().unwrap_or("").to_string();
            return self.opaque(&name, None, false);
        }
        let name = self.slice(target).to_string();
        if !self.slice(node).get(name.len()..).is_some_and(|rest| rest.trim_start().starts_with('=')) {
            return self.opaque(&name, None, false);
        }
        match node.child_by_field_name("value") {
            None => self.text(&name, "", false),
            Some(value) => self.given(&name, value),
        }
    }

    /// Notes that a variable is given what a word says.
    fn given(&mut self, name: &str, node: Node<'a>) {
        let inner = only_child(node);
        match inner.kind() {
            "arithmetic_expansion" => return self.opaque(name, None, true),
            "command_substitution" => {
                let (from, number) = (self.output(inner), yields_number(self.slice(inner)));
                return self.opaque(name, Some(from), number);
            }
            "brace_expression" => {
                if let Some((first, last)) = range(self.slice(inner)) {
                    match last.checked_sub(first) {
                        Some(0..8) => (first..=last).for_each(|n| self.text(name, &n.to_string(), false)),
                        _ => self.opaque(name, None, true),
                    }
                    return;
                }
            }
            _ => {}
        }
        let word = self.word(node);
        match word.value {
            Some(text) => self.text(name, &text, word.glob),
            None => self.opaque(name, None, false),
        }
    }

    fn looped(&mut self, node: Node<'a>) {
        let Some(name) = node.child_by_field_name("variable").map(|name| self.slice(name).to_string()) else { return };
        let mut cursor = node.walk();
        let values: Vec<Node<'a>> = node.children_by_field_name("value", &mut cursor).collect();
        if values.is_empty() {
            return self.opaque(&name, None, false);
        }
        for value in values {
            self.given(&name, value);
        }
    }

    /// Names that arithmetic changes hold numbers.
    fn counted(&mut self, node: Node<'a>) {
        let text = self.slice(node);
        let head = match node.kind() {
            "c_style_for_statement" => text.split_once("))").map_or("", |(head, _)| head),
            "arithmetic_expansion" => text,
            _ if text.starts_with("((") => text,
            _ => return,
        };
        for (name, rest) in names(head) {
            let rest = rest.trim_start();
            let sets = rest.starts_with("++")
                || rest.starts_with("--")
                || (rest.starts_with('=') && !rest.starts_with("=="))
                || rest.get(1..2) == Some("=") && rest.starts_with(['+', '-', '*', '/', '%', '&', '|', '^']);
            if sets {
                self.opaque(name, None, true);
            }
        }
    }

    /// Names that `read` fills; where from is known when it is visited.
    fn commanded(&mut self, node: Node<'a>) {
        let children = named_children(node);
        let Some(name) = children.iter().find(|child| child.kind() == "command_name") else { return };
        // Taken as the shell takes it: with its quotes and backslashes off.
        let name = self.word(*name).value;
        let name = name.as_deref().unwrap_or("");
        if !matches!(name, "read" | "mapfile" | "readarray" | "getopts" | "printf" | "let" | "wait") {
            return;
        }
        for child in children {
            if !Self::is_argument(child) {
                continue;
            }
            let Some(text) = self.word(child).value else {
                // What is printed, or asked with, is no name; what stands where a name may, is one that is not known.
                self.odd_names |= name != "printf";
                continue;
            };
            let base = text.split(['[', '=']).next().unwrap_or("");
            if name == "let" {
                // A sum may give a value to any name in it.
                names(&text).for_each(|(name, _)| self.opaque(name, None, false));
            } else if name == "read" && !base.is_empty() {
                let variable = self.variables.entry(base.to_string()).or_default();
                (variable.opaque, variable.number) = (true, false);
            } else {
                self.opaque(base, None, false);
            }
        }
    }

    /// Whether a part of a command is an argument of its program.
    fn is_argument(child: Node<'_>) -> bool {
        !matches!(
            child.kind(),
            "command_name"
                | "variable_assignment"
                | "comment"
                | "file_redirect"
                | "heredoc_redirect"
                | "herestring_redirect"
        )
    }

    /// Notes where `read` takes its lines from: a pipe, or what is not known.
    pub(super) fn reads_from(&mut self, words: &[Word], upstream: Option<usize>) {
        for name in words.iter().skip(1).filter_map(|word| word.value.clone()) {
            self.opaque(&name, upstream, false);
        }
    }

    /// Returns the number of the pipeline whose output a substitution stands for.
    pub(super) fn output(&mut self, node: Node<'a>) -> usize {
        if let Some(known) = self.outputs.get(&node.id()) {
            return *known;
        }
        self.pipelines += 1;
        self.outputs.insert(node.id(), self.pipelines);
        self.pipelines
    }

    /// Returns all ways to fill in the variables that stand in some words; one empty way when there are none.
    pub(super) fn ways(&self, nodes: &[Node<'a>]) -> Vec<Way> {
        let mut ways = vec![Way::new()];
        if self.variables.is_empty() {
            return ways;
        }
        let mut used: Vec<&str> = Vec::new();
        let mut stack: Vec<Node<'a>> = nodes.to_vec();
        while let Some(node) = stack.pop() {
            match node.kind() {
                "simple_expansion" | "expansion" => {
                    if let Some(name) = plain_name(self.slice(node))
                        && self.variables.get(name).is_some_and(|variable| !variable.opaque)
                        && !used.contains(&name)
                    {
                        used.push(name);
                    }
                }
                "command_substitution" | "process_substitution" => {}
                _ => stack.extend(named_children(node)),
            }
        }
        for name in used {
            let texts = self.variables.get(name).map_or([].as_slice(), |variable| &variable.texts);
            if ways.len() * (texts.len() + 1) > MAX_WAYS {
                return vec![Way::new()];
            }
            let choices = || texts.iter().cloned().map(Some).chain([None]);
            let with = |way: &Way| {
                let way = way.clone();
                choices().map(move |choice| {
                    let mut way = way.clone();
                    way.insert(name.to_string(), choice);
                    way
                })
            };
            ways = ways.iter().flat_map(with).collect();
        }
        ways
    }

    /// Returns what a variable holds in the way that is being looked at, and whether that is a pattern.
    pub(super) fn filled(&self, text: &str, quoted: bool) -> Option<(String, bool)> {
        let name = plain_name(text)?;
        if self.variables.contains_key(name) {
            let (text, glob) = self.way.get(name)?.clone().unwrap_or_default();
            if quoted {
                return Some((text, glob));
            }
            let pattern = text.contains(['*', '?', '[']);
            // Without quotes it is split at white space into several words.
            return (!text.contains(char::is_whitespace)).then_some((text, glob || pattern));
        }
        match name {
            "HOME" => Some((self.known.home.to_string(), false)),
            "PWD" if !self.moves => Some((self.known.folder.to_string(), false)),
            _ => None,
        }
    }

    /// Whether an unquoted word is nothing but a variable that holds nothing, so that it falls away.
    pub(super) fn vanishes(&self, node: Node<'a>) -> bool {
        // In quotes it is an empty word.
        let node = if node.kind() == "string" { node } else { only_child(node) };
        matches!(node.kind(), "simple_expansion" | "expansion")
            && plain_name(self.slice(node))
                .and_then(|name| self.way.get(name))
                .is_some_and(|held| held.as_ref().is_none_or(|(text, _)| text.is_empty()))
    }

    /// Returns the pipelines whose output a variable holds; `None` when it may hold something else.
    pub(super) fn sources(&self, text: &str) -> Option<&[usize]> {
        let variable = self.variables.get(plain_name(text)?)?;
        (variable.opaque && !variable.lost && variable.texts.is_empty()).then_some(&variable.from)
    }

    /// Whether all that a variable may hold is one word that is no test of its own.
    pub(super) fn is_one_word(&self, text: &str) -> bool {
        let variable = plain_name(text).and_then(|name| self.variables.get(name));
        let plain = |(text, glob): &(String, bool)| {
            !glob
                && !text.starts_with('-')
                && !text.contains(char::is_whitespace)
                && !text.contains(['*', '?', '[', '`'])
        };
        variable.is_some_and(|variable| variable.number || !variable.opaque && variable.texts.iter().all(plain))
    }

    /// Whether `$name` is a number; which one makes no difference to what a command does.
    pub(super) fn counts(&self, text: &str) -> bool {
        plain_name(text).is_some_and(|name| self.is_numeric(name))
    }

    /// Whether a name is a variable that holds nothing but whole numbers.
    pub(super) fn is_numeric(&self, name: &str) -> bool {
        self.variables.get(name).is_some_and(|variable| variable.number)
    }
}

/// Returns the name in `$name` and `${name}`.
fn plain_name(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('$')?;
    let name = rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(rest);
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    plain.then_some(name)
}

/// Returns what stands alone in quotes or in a word, and otherwise the node itself.
fn only_child(node: Node<'_>) -> Node<'_> {
    if !matches!(node.kind(), "string" | "command_name" | "concatenation") {
        return node;
    }
    let children = named_children(node);
    let edge = usize::from(node.kind() == "string");
    match children.as_slice() {
        [only] if only.start_byte() == node.start_byte() + edge && only.end_byte() + edge == node.end_byte() => *only,
        _ => node,
    }
}

/// Returns whether a text is a whole number.
pub(super) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.len() < 19 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the ends of `{1..9}`.
fn range(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.strip_prefix('{')?.strip_suffix('}')?.split_once("..")?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// Returns the names in arithmetic, each with what stands behind it.
pub(super) fn names(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let starts = text.char_indices().scan(' ', |before, (at, c)| {
        let begins = (c.is_ascii_alphabetic() || c == '_') && !(before.is_ascii_alphanumeric() || *before == '_');
        let base = *before == '#';
        *before = c;
        Some((at, begins && !base))
    });
    starts.filter(|(_, begins)| *begins).filter_map(|(at, _)| {
        let rest = text.get(at..)?;
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        Some((rest.get(..end)?, rest.get(end..)?))
    })
}

/// Returns whether all that a substitution yields is one whole number: a count by a program of the system.
pub(super) fn yields_number(text: &str) -> bool {
    let inner = text.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
    let Some(inner) = inner.or_else(|| text.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'))) else {
        return false;
    };
    if inner.contains([';', '&', '\n', '`', '(', ')', '{', '\\', '#']) || inner.contains("||") {
        return false;
    }
    // A pipe inside quotes cuts a word short, which then is none of these.
    let last = inner.rsplit('|').next().unwrap_or(inner).trim();
    let words: Vec<&str> = last.split_whitespace().collect();
    let piped = inner.contains('|');
    match words.as_slice() {
        ["nproc"] => true,
        ["date", "+%s" | "+%Y" | "+%m" | "+%d" | "+%H" | "+%M" | "+%S" | "+%j"] => true,
        ["git", "rev-list", "--count", ..] => true,
        ["seq", rest @ ..] => !rest.is_empty() && rest.iter().all(|word| is_number(word)),
        ["wc", "-l" | "-c" | "-w" | "-m"] => true,
        ["wc", "-l" | "-c" | "-w" | "-m", "<", _] => true,
        ["wc", "-l" | "-c" | "-w" | "-m", file] => file.starts_with('<'),
        ["grep", "-c" | "-ic" | "-ci" | "-vc" | "-cv", _] => piped,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::gate::facts::ScriptFact;
    use crate::edge::survey::shell::walk::may_give;
    use crate::edge::survey::shell::{Known, Patience, parse};
    use proptest::prelude::*;

    /// Returns the names to which a text gives a value, whether or not it is thought to give any.
    fn given(text: &str) -> Vec<String> {
        let (known, mut script) = (Known { home: "/h", folder: "/w" }, ScriptFact::default());
        let Some(tree) = parse(text, &Patience::default()) else { return Vec::new() };
        let mut walk = Walk::new(text, &known, &mut script);
        walk.collect(tree.root_node());
        walk.variables.into_keys().collect()
    }

    #[test]
    fn every_way_of_giving_a_value_is_looked_for() {
        for text in [
            "x=1",
            "x+=1 ls",
            "x[1]=2",
            "for x in a b; do ls; done",
            "for x; do ls; done",
            "select x in a b; do ls; done",
            "for ((x=1; x<2; x++)); do ls; done",
            "((x++))",
            "echo $((x++))",
            "echo $[x++]",
            "read x",
            "ls | while read -r x; do ls; done",
            "mapfile x",
            "readarray x",
            "getopts ab x",
            "printf -v x %s a",
            "let x++",
            "let x--",
            "let 'y = x = 1'",
            "wait -n -p x",
            "declare x",
            "typeset x",
            "export x",
            "readonly x",
            "local x",
            "unset x",
            "unset -v x",
        ] {
            assert!(given(text).iter().any(|name| name == "x"), "{text}: {:?}", given(text));
            assert!(may_give(text), "{text}");
        }
        for text in ["ls -l | sort", "echo $x \"${y}\" a", "cat < f > g", "if test -f a; then ls; fi"] {
            assert!(!may_give(text) && given(text).is_empty(), "{text}: {:?}", given(text));
        }
    }

    proptest! {
        #[test]
        fn what_is_thought_to_give_no_value_gives_none(
            parts in prop::collection::vec(prop::sample::select(vec![
                "x", "y", "=", "+=", "((", "))", "$((", "$[", "]", "[", "[[", "]]", "++", "--", "for", "in", "do", "done",
                "select", "while", "until", "read", "readarray", "mapfile", "getopts", "printf", "-v", "let", "wait", "-p",
                "declare", "typeset", "export", "readonly", "local", "unset", "coproc", "exec", "case", "esac", "{", "}",
                "(", ")", "|", "&&", ";", "<", ">", "<<<", "$x", "${x:=1}", "${x}", "`", "'", "\"", "\\", "\n", "test", "!",
            ]), 0..12),
            spaced in any::<bool>(),
        ) {
            let text = parts.join(if spaced { " " } else { "" });
            prop_assert!(may_give(&text) || given(&text).is_empty(), "{text}: {:?}", given(&text));
        }
    }

    #[test]
    fn only_counts_yield_numbers() {
        for fine in ["$(wc -l < x)", "$(ls | wc -l)", "`nproc`", "$(date +%s)", "$(ls | grep -c x)", "$(seq 1 3)"] {
            assert!(yields_number(fine), "{fine}");
        }
        for odd in [
            "$(cat x)",
            "$(cat x; ls | wc -l)",
            "$(echo 'a | wc -l')",
            "$(wc -l x)",
            "$(cat x && nproc)",
            "$(cat x || nproc)",
        ] {
            assert!(!yields_number(odd), "{odd}");
        }
    }
}
