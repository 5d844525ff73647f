//! Joins continued lines, as a shell does before it reads anything else: `$\⏎(date)` is a substitution.
//!
//! A backslash before a line's end is taken out, except in single quotes and comments. Where it is not plain in which of
//! them a place stands, the whole is unknown; and so it is where the parser, which reads what came of it, sees a place in
//! another of them than was thought here: a mistake has to be made twice in the same way to count.

use tree_sitter::{Node, Tree};

pub(super) const UNCLEAR: &str = "A line is continued where it is not plain what the shell makes of it.";

/// In what a place of the text stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// In plain text, or in brackets that hold plain text.
    Plain,
    /// In double quotes.
    Quotes,
}

/// A text whose continued lines are joined.
pub(super) struct Joined {
    pub(super) text: String,
    /// Where continuations were taken out, as places of the joined text.
    seams: Vec<usize>,
}

impl Joined {
    /// Returns whether the parser, too, sees every seam outside of comments and single quotes, and every continuation
    /// that was left inside of one.
    pub(super) fn agrees(&self, tree: &Tree) -> bool {
        let kind =
            |from: usize, to: usize| tree.root_node().descendant_for_byte_range(from, to).map(|node| literal(node));
        let joined = self.seams.iter().all(|at| {
            // A seam that touches the edge of one is beside it; at the edge of the whole there is nothing else.
            let Some(before) = at.checked_sub(1) else { return true };
            *at >= self.text.len() || kind(before, *at + 1) == Some(false)
        });
        let left = self.text.match_indices("\\\n").all(|(at, _)| {
            let escaped =
                self.text.get(..at).is_some_and(|head| head.bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 1);
            escaped || kind(at, at + 1) == Some(true)
        });
        joined && left
    }
}

/// Returns whether a node is a text that a shell takes as it stands.
fn literal(node: Node<'_>) -> bool {
    std::iter::successors(Some(node), Node::parent)
        .any(|node| matches!(node.kind(), "comment" | "raw_string" | "ansi_c_string"))
}

/// Returns a text with its continued lines joined, `None` when it has none; an error says why that cannot be done for
/// certain.
pub(super) fn joined(text: &str) -> Result<Option<Joined>, &'static str> {
    if !text.contains("\\\n") {
        return Ok(None);
    }
    let mut join = Join { text, at: 0, copied: 0, joined: String::with_capacity(text.len()), seams: Vec::new() };
    join.run()?;
    join.joined.push_str(text.get(join.copied..).unwrap_or(""));
    // Documents begin behind the line that names them, and a text in backquotes is read twice.
    let heredoc = text.replace("<<<", "").contains("<<") || join.joined.replace("<<<", "").contains("<<");
    // A pattern of `case` ends with a bracket that nothing opened.
    let nested = text.contains('`') || join.joined.contains("case") && join.joined.contains("$(");
    if heredoc || nested {
        return Err(UNCLEAR);
    }
    Ok(Some(Joined { text: join.joined, seams: join.seams }))
}

struct Join<'a> {
    text: &'a str,
    at: usize,
    /// How far the text has been copied.
    copied: usize,
    joined: String,
    /// Where continuations were taken out.
    seams: Vec<usize>,
}

impl Join<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(b'\n')
    }

    /// Returns what the shell reads next behind a place: continuations are no part of it.
    fn next(&self, mut at: usize) -> u8 {
        while self.byte(at) == b'\\' && self.text.as_bytes().get(at + 1) == Some(&b'\n') {
            at += 2;
        }
        self.byte(at)
    }

    fn take_out(&mut self) {
        self.joined.push_str(self.text.get(self.copied..self.at).unwrap_or(""));
        self.seams.push(self.joined.len());
        self.at += 2;
        self.copied = self.at;
    }

    fn run(&mut self) -> Result<(), &'static str> {
        let mut within = vec![Within::Plain];
        // What the shell has read before this place.
        let mut before = b'\n';
        while self.at < self.text.len() {
            let (byte, place) = (self.byte(self.at), within.last().copied().unwrap_or(Within::Plain));
            match byte {
                b'\\' if self.text.as_bytes().get(self.at + 1) == Some(&b'\n') => {
                    self.take_out();
                    continue;
                }
                b'\\' => self.at += 1,
                b'\'' if place == Within::Plain => self.single(before)?,
                b'"' if place == Within::Quotes => {
                    within.pop();
                }
                b'"' => within.push(Within::Quotes),
                b'(' if place == Within::Plain || before == b'$' => within.push(Within::Plain),
                b')' if place == Within::Plain && within.len() > 1 => {
                    within.pop();
                }
                // What quotes mean in `"${x#'…'}"` depends on the sign before them.
                b'{' if place == Within::Quotes && before == b'$' => self.braces()?,
                b'#' if place == Within::Plain && is_break(before) => {
                    let rest = self.text.get(self.at..).unwrap_or("");
                    self.at += rest.find('\n').unwrap_or(rest.len());
                    before = b'\n';
                    continue;
                }
                _ => {}
            }
            // `$$` is a number, and its second sign begins nothing.
            before = if byte == b'$' && before == b'$' { b'0' } else { byte };
            self.at += 1;
        }
        if within.len() == 1 { Ok(()) } else { Err(UNCLEAR) }
    }

    /// Goes to the end of single quotes, in which nothing is joined.
    fn single(&mut self, before: u8) -> Result<(), &'static str> {
        let from = self.at + 1;
        let rest = self.text.get(from..).unwrap_or("");
        let end = rest.find('\'').ok_or(UNCLEAR)?;
        // `$'…'` has escapes of its own, so that its end is not plain.
        if before == b'$' && rest.get(..end).is_some_and(|inner| inner.contains('\\')) {
            return Err(UNCLEAR);
        }
        self.at = from + end;
        Ok(())
    }

    fn braces(&self) -> Result<(), &'static str> {
        let rest = self.text.get(self.at..).unwrap_or("");
        let inside = rest.split('}').next().unwrap_or(rest);
        let odd = inside.contains(['\'', '"', '(']) || self.next(self.at + 1) == b'}';
        if odd { Err(UNCLEAR) } else { Ok(()) }
    }
}

/// Returns whether a word may begin behind a character.
fn is_break(before: u8) -> bool {
    before.is_ascii_whitespace() || matches!(before, b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_as_a_shell_joins_them() {
        for (text, expected) in [
            ("ls -l \\\n  -a", "ls -l   -a"),
            ("echo \"$\\\n(id)\"", "echo \"$(id)\""),
            ("echo \"$\\\n{x@P}\"", "echo \"${x@P}\""),
            ("r\\\nm x", "rm x"),
            ("cat <\\\n(id)", "cat <(id)"),
            ("a &\\\n& b", "a && b"),
            ("a \\\\\nb", "a \\\\\nb"),
            ("echo 'a\\\nb' c\\\nd", "echo 'a\\\nb' cd"),
            ("# no \\\nls \\\n-a", "# no \\\nls -a"),
            ("echo \"it's\" \\\n'x\\\ny'", "echo \"it's\" 'x\\\ny'"),
            ("echo \"$(printf 'a\\\nb')\" \\\n c", "echo \"$(printf 'a\\\nb')\"  c"),
            ("$\\\n\\\n(id)", "$(id)"),
        ] {
            let joined = joined(text).map(|joined| joined.map_or(text.to_string(), |joined| joined.text));
            assert_eq!(joined.as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_not_plain_is_not_joined() {
        for text in [
            "cat <<'E' \\\n; id\nE\n",
            "cat <\\\n<E\n$\\\n(id)\nE\n",
            "cat <\\\n<E\n# $\nE\n",
            "echo `i\\\nd`",
            "echo $'a\\'b' \\\n c",
            "echo \"${x#'}'}\" \\\n c",
            "echo \"a \\\n b",
            "echo 'a \\\n b' 'c\\\n",
            "echo $(case x in x) echo '\\\n' ;; esac) a\\\nb",
        ] {
            assert!(joined(text).is_err(), "{text}");
        }
    }
}
