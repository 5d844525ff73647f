//! Changes the Lisp of one source block of an Org text; every line of the rest, and of the block, stays that need not change.

use super::blocks::{Block, blocks};
use crate::domain::org::outline::Outline;

/// So many blocks are named.
const NAMED: usize = 8;

/// An Org text whose block was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The text.
    pub text: String,
    /// What whoever approves it should mind, in sentences.
    pub mind: Vec<String>,
}

/// Changes the one source block of Emacs Lisp that is wanted: by its `#+NAME:`, or by the title or the ID of the heading that
/// it stands below. Where that leaves several, the one that fits.
///
/// # Errors
/// In words, when no block or more than one is meant, or as `change` says.
pub fn change_within(
    outline: &Outline,
    wanted: Option<&str>,
    fits: impl Fn(&str) -> bool,
    change: impl FnOnce(&str) -> Result<(String, Vec<String>), String>,
) -> Result<Changed, String> {
    let text = &*outline.text;
    let found = blocks(text);
    let lisp: Vec<&Block<'_>> = found.blocks.iter().filter(|block| block.is_emacs_lisp()).collect();
    let block = chosen(outline, &lisp, wanted, fits)?;
    let raw = text.get(block.body.clone()).unwrap_or("");
    let indent = indent(raw);
    let (mut after, mind) = change(&code(block, text, indent))
        .map_err(|why| format!("the block in line {} (its lines are counted from its first): {why}", block.line))?;
    // The line on which the block ends is its own.
    if !after.is_empty() && !after.ends_with('\n') {
        after.push('\n');
    }
    let new = merged(raw, &code(block, text, indent), &after, indent);
    let (before, behind) = (text.get(..block.body.start).unwrap_or(""), text.get(block.body.end..).unwrap_or(""));
    let result = format!("{before}{new}{behind}");
    // What a line of it says must not end the block, or begin another.
    let read = blocks(&result);
    let same = read.blocks.iter().find(|read| read.begin == block.begin);
    let is_it = same.is_some_and(|read| code(read, &result, indent) == after);
    if !is_it || read.blocks.len() != found.blocks.len() {
        return Err("Org would no longer read it as that one block".to_string());
    }
    Ok(Changed { text: result, mind })
}

fn chosen<'b, 'a>(
    outline: &Outline,
    lisp: &[&'b Block<'a>],
    wanted: Option<&str>,
    fits: impl Fn(&str) -> bool,
) -> Result<&'b Block<'a>, String> {
    let wanted = wanted.map(str::trim).filter(|wanted| !wanted.is_empty());
    let named: Vec<&'b Block<'a>> = match wanted {
        None => lisp.to_vec(),
        Some(wanted) => {
            let by_name: Vec<&'b Block<'a>> = lisp.iter().copied().filter(|block| block.name == Some(wanted)).collect();
            let below = |block: &&'b Block<'a>| {
                let node = outline.nodes.get(outline.at(block.begin));
                node.is_some_and(|node| {
                    node.level > 0
                        && (outline.slice(&node.title).trim() == wanted || outline.property(node, "ID") == Some(wanted))
                })
            };
            if by_name.is_empty() { lisp.iter().copied().filter(below).collect() } else { by_name }
        }
    };
    let fits = |block: &&'b Block<'a>| fits(&code(block, &outline.text, indent_of(outline, block)));
    let fitting: Vec<&'b Block<'a>> = named.iter().copied().filter(fits).collect();
    match (named.as_slice(), fitting.as_slice()) {
        ([], _) => Err(match wanted {
            Some(wanted) => {
                format!("no source block of Emacs Lisp is named “{wanted}” or stands right below such a heading")
            }
            None => "there is no source block of Emacs Lisp".to_string(),
        }),
        // What is wrong with the only one is said of it.
        ([one], _) | (_, [one]) => Ok(*one),
        (several, []) => Err(format!("none of {} is it; say which “block” is meant", lines(several))),
        (_, several) => Err(format!("it could be each of {}; say which “block” is meant", lines(several))),
    }
}

/// Names blocks by the lines on which they begin.
fn lines(blocks: &[&Block<'_>]) -> String {
    let named = blocks.iter().take(NAMED).map(|block| match block.name {
        Some(name) => format!("“{name}” in line {}", block.line),
        None => format!("that in line {}", block.line),
    });
    let more = if blocks.len() > NAMED { ", …" } else { "" };
    format!("the blocks {}{more}", named.collect::<Vec<_>>().join(", "))
}

fn indent_of<'t>(outline: &'t Outline, block: &Block<'_>) -> &'t str {
    indent(outline.text.get(block.body.clone()).unwrap_or(""))
}

/// Returns the blanks that all lines begin with which are more than blanks.
fn indent(raw: &str) -> &str {
    let mut common: Option<&str> = None;
    for line in raw.lines().filter(|line| !line.trim().is_empty()) {
        let blanks = line.get(..line.len() - line.trim_start_matches([' ', '\t']).len()).unwrap_or("");
        let known = common.unwrap_or(blanks);
        let same = known.bytes().zip(blanks.bytes()).take_while(|(a, b)| a == b).count();
        common = known.get(..same);
    }
    common.unwrap_or("")
}

/// Returns the Lisp of a block: without its indentation, and without the commas that keep lines from being Org.
fn code(block: &Block<'_>, text: &str, indent: &str) -> String {
    let bare = |line: &str| match line.trim().is_empty() {
        true => line.to_string(),
        false => line.strip_prefix(indent).unwrap_or(line).to_string(),
    };
    block.code(text).split_inclusive('\n').map(bare).collect()
}

/// Puts new code into a block, of which the lines before and behind what changed stay byte for byte.
fn merged(raw: &str, before: &str, after: &str, indent: &str) -> String {
    let lines = |text| -> Vec<&str> { str::split_inclusive(text, '\n').collect() };
    let (raw, before, after) = (lines(raw), lines(before), lines(after));
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = before.iter().zip(&after).take_while(same).count();
    let rest = before.len().min(after.len()) - head;
    let tail = before.iter().rev().zip(after.iter().rev()).take(rest).take_while(same).count();
    let kept = raw.iter().take(head).map(|line| line.to_string());
    let new = after.get(head..after.len() - tail).unwrap_or_default().iter().map(|line| escaped(line, indent));
    kept.chain(new).chain(raw.iter().skip(raw.len() - tail).map(|line| line.to_string())).collect()
}

/// Returns a line as it stands in a block.
fn escaped(line: &str, indent: &str) -> String {
    let bare = line.trim_start_matches([' ', '\t']);
    if bare.trim().is_empty() {
        return line.to_string();
    }
    let rest = bare.trim_start_matches(',');
    let comma = if rest.starts_with('*') || rest.starts_with("#+") { "," } else { "" };
    let blanks = line.get(..line.len() - bare.len()).unwrap_or("");
    format!("{indent}{blanks}{comma}{bare}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::org::scan::{ScanOptions, scan};

    const TEXT: &str = "* One\n#+NAME: first\n#+begin_src emacs-lisp :tangle a.el\n(defun one ())\n#+end_src\n\
                        #+begin_src sh\none\n#+end_src\n* Two\n:PROPERTIES:\n:ID: two\n:END:\n  #+begin_src elisp\n  \
                        (defun two ()\n    \"Bullets:\n  ,* one\n   * two\")\n\n     \n  (defvar three 3)\n  #+end_src\n";

    fn change(wanted: Option<&str>, fit: &str, from: &str, to: &str) -> Result<String, String> {
        let outline = scan(TEXT.into(), &ScanOptions::default()).expect("it is small");
        let fits = |code: &str| code.contains(fit);
        let changed = change_within(&outline, wanted, fits, |code| match code.contains(from) {
            true => Ok((code.replace(from, to), Vec::new())),
            false => Err("there is nothing of it".to_string()),
        });
        changed.map(|changed| changed.text)
    }

    #[test]
    fn a_block_is_found_by_its_name_its_heading_or_what_it_holds_and_only_it_changes() {
        for (wanted, fit, from, to, text) in [
            (Some("first"), "", "one", "uno", TEXT.replace("defun one", "defun uno")),
            (Some("One"), "", "one", "uno", TEXT.replace("defun one", "defun uno")),
            (Some("two"), "", "3)", "4)", TEXT.replace("3)", "4)")),
            (Some("Two"), "", "(defvar three 3)", "", TEXT.replace("  (defvar three 3)\n", "\n")),
            (None, "three", "3)", "3)\n(a\n  b)", TEXT.replace("3)", "3)\n  (a\n    b)")),
            (None, "defun one", "())", "() \"\n* star\n#+x\")", TEXT.replace("one ())", "one () \"\n,* star\n,#+x\")")),
            (None, "two", "\n* one", "\n* uno", TEXT.replace(",* one", ",* uno")),
        ] {
            assert_eq!(change(wanted, fit, from, to).as_deref(), Ok(text.as_str()), "{wanted:?} {from}");
        }
        for (wanted, fit, from, said) in [
            (Some("none"), "", "x", "no source block of Emacs Lisp is named “none”"),
            (None, "defun", "x", "it could be each of the blocks “first” in line 3, that in line 13"),
            (None, "four", "x", "none of the blocks “first” in line 3, that in line 13 is it"),
            (
                Some("first"),
                "",
                "x",
                "the block in line 3 (its lines are counted from its first): there is nothing of it",
            ),
        ] {
            let why = change(wanted, fit, from, "y").expect_err(said);
            assert!(why.contains(said), "{why}");
        }
        let ends = change(Some("first"), "", "())", "() \"\n  #+end_src\")");
        assert!(
            ends.is_ok_and(|text| text.contains("\n  ,#+end_src\")\n#+end_src\n")),
            "an end inside of it is escaped"
        );
    }
}
