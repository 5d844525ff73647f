//! Holds each leaf of a parsed script to the alphabet of its kind.
//!
//! The grammar's lexer is looser than a shell: where it takes too much for one word, a pattern or a name, a shell would
//! have begun the next command. Such a leaf does not look like its kind, and the script is unknown.

use super::walk::children_of;
use tree_sitter::Node;

/// What is said of a leaf that a shell may read otherwise.
pub(super) const ODD: &str = "A part of it may mean something else to the shell than it seems.";

/// Returns whether a shell may read a node otherwise than the grammar does.
pub(super) fn is_odd(node: Node<'_>, text: &str) -> bool {
    let slice = |node: Node<'_>| text.get(node.byte_range()).unwrap_or("");
    let leaf = slice(node);
    match node.kind() {
        "word" | "number" | "extglob_pattern" if is_part_of_expansion(node) => false,
        // A number may be written with its base: `10#$x` has a child.
        "word" | "number" => node.child_count() == 0 && !is_word(leaf, &[]),
        "extglob_pattern" => !is_word(leaf, b"()|"),
        "test_operator" => !leaf.starts_with('-') || !is_name(leaf.trim_start_matches('-')),
        "variable_name" => !is_name(leaf),
        "special_variable_name" => !is_special(leaf),
        "file_descriptor" => !is_name(leaf.trim_start_matches('{').trim_end_matches('}')),
        "simple_expansion" => {
            let name = leaf.strip_prefix('$').unwrap_or(leaf);
            !(is_name(name) && (!name.starts_with(|c: char| c.is_ascii_digit()) || name.len() == 1) || is_special(name))
        }
        "regex" => match pattern(node, text) {
            Pattern::Expansion => false,
            Pattern::Test => !is_word(leaf, b"()|"),
            Pattern::Word => !is_word(leaf, &[]),
        },
        // In double quotes and documents they quote nothing: what stands in them is substituted.
        "raw_string" | "ansi_c_string" => is_quoted_default(node),
        "comment" => {
            let before = text.get(..node.start_byte()).and_then(|head| head.chars().next_back());
            before.is_some_and(|c| !c.is_ascii_whitespace() && !matches!(c, ';' | '&' | '|' | '(' | ')'))
        }
        "heredoc_start" => !is_heredoc_name(leaf),
        // A line that is the document's name ends it, also within what is substituted.
        "heredoc_body" => children_of(node, Node::is_named)
            .into_iter()
            .any(|child| !matches!(child.kind(), "heredoc_content") && slice(child).contains('\n')),
        "command" | "declaration_command" | "unset_command" | "file_redirect" | "herestring_redirect" => {
            has_odd_gap(node, text, |gap| gap.bytes().all(|byte| matches!(byte, b' ' | b'\t')))
        }
        // A sum is worked out there, with blanks as one likes.
        "variable_assignment" if node.parent().is_some_and(|above| above.kind() == "c_style_for_statement") => false,
        "variable_assignment" | "command_name" => has_odd_gap(node, text, str::is_empty),
        _ => false,
    }
}

/// Returns whether a blank that is escaped belongs to no leaf: the grammar takes it for one that parts words, and a shell
/// for a letter, behind which no comment begins.
pub(super) fn loses_blank(root: Node<'_>, text: &str) -> bool {
    let mut escaped = false;
    text.bytes().enumerate().any(|(at, byte)| {
        let blank = escaped && matches!(byte, b' ' | b'\t');
        escaped = byte == b'\\' && !escaped;
        let within = || root.descendant_for_byte_range(at.saturating_sub(1), at + 1);
        let holds = |node: Node<'_>| {
            node.child_count() == 0 && node.id() != root.id() || matches!(node.kind(), "string" | "heredoc_body")
        };
        blank && !within().is_some_and(holds)
    })
}

/// Returns whether a text is one word to a shell, of which no sign that it leaves bare ends it; `more` are signs that
/// may stand in it besides.
fn is_word(leaf: &str, more: &[u8]) -> bool {
    let mut escaped = false;
    leaf.bytes().all(|byte| {
        let bare = !escaped;
        escaped = byte == b'\\' && bare;
        let ends = byte.is_ascii_whitespace()
            || matches!(byte, b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' | b'`' | b'\'' | b'"');
        !(bare && ends) || more.contains(&byte)
    })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_special(name: &str) -> bool {
    name.len() == 1 && name.bytes().all(|byte| b"*@?!#$-_0".contains(&byte))
}

/// Returns whether a document's name is a plain word, bare or wholly in quotes.
fn is_heredoc_name(leaf: &str) -> bool {
    let within = |quote: char| leaf.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    let name = within('\'').or_else(|| within('"')).or_else(|| leaf.strip_prefix('\\')).unwrap_or(leaf);
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

/// Where a pattern stands.
enum Pattern {
    /// In `${x#…}`, up to its bracket.
    Expansion,
    /// In `[[ … ]]`.
    Test,
    /// Where a shell reads words and commands.
    Word,
}

fn pattern(node: Node<'_>, text: &str) -> Pattern {
    for above in std::iter::successors(node.parent(), Node::parent) {
        match above.kind() {
            "expansion" => return Pattern::Expansion,
            // A bracket behind a word begins no test.
            "test_command" if is_test(above, text) => return Pattern::Test,
            "command" | "test_command" | "command_substitution" | "program" => return Pattern::Word,
            _ => {}
        }
    }
    Pattern::Word
}

fn is_test(node: Node<'_>, text: &str) -> bool {
    let begins = text.get(node.start_byte()..).is_some_and(|rest| rest.starts_with("[[ "));
    let before = text.get(..node.start_byte()).unwrap_or("");
    let bare = before.trim_end_matches([' ', '\t']);
    let word = bare.rsplit(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or("");
    let opens = bare.is_empty() || bare.ends_with(['\n', ';', '&', '|', '(', '{', '!']);
    begins
        && (opens
            || bare.len() < before.len() && matches!(word, "if" | "while" | "until" | "then" | "else" | "elif" | "do"))
}

fn is_part_of_expansion(node: Node<'_>) -> bool {
    node.parent().is_some_and(|above| above.kind() == "expansion")
}

/// Returns whether quotes stand in the default of a variable that stands in double quotes or in a document.
fn is_quoted_default(node: Node<'_>) -> bool {
    let mut expanded = false;
    for above in std::iter::successors(node.parent(), Node::parent) {
        match above.kind() {
            "expansion" => expanded = true,
            "string" | "heredoc_body" => return expanded,
            "command_substitution" | "process_substitution" => return false,
            _ => {}
        }
    }
    false
}

/// Returns whether something stands between the children of a node that does not belong there.
fn has_odd_gap(node: Node<'_>, text: &str, fine: impl Fn(&str) -> bool) -> bool {
    let mut at = node.start_byte();
    children_of(node, |_| true).into_iter().any(|child| {
        let gap = text.get(at..child.start_byte()).unwrap_or("");
        at = child.end_byte().max(at);
        !fine(gap)
    })
}
