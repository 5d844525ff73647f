//! Reads arguments by a table of options: what is not in the table is not understood.

use crate::domain::gate::facts::Word;

/// The options of a program that are known to be harmless.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Letters without a value.
    pub short: &'static str,
    /// Letters with a value.
    pub valued: &'static str,
    /// Long names, without `--`, with no value or with one after `=`.
    pub long: &'static [&'static str],
    /// Long names that take a value.
    pub long_valued: &'static [&'static str],
}

/// What was read.
#[derive(Debug)]
pub struct Split<'a> {
    /// What stands behind the options.
    pub rest: &'a [Word],
}

/// Reads leading options, as programs do that start others. `None` when one is not in the table.
pub fn split<'a>(options: &Options, args: &'a [Word]) -> Option<Split<'a>> {
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let Some(text) = word.value.as_deref() else { break };
        if text == "--" {
            at += 1;
            break;
        }
        match read(options, text) {
            Step::Operand => break,
            Step::Unknown => return None,
            Step::Alone => at += 1,
            Step::TakesNext => {
                args.get(at + 1)?.value.as_deref()?;
                at += 2;
            }
        }
    }
    Some(Split { rest: args.get(at..).unwrap_or(&[]) })
}

/// Reads options that may stand anywhere. Returns the places of the operands; `None` when an option
/// is not in the table, or a word could turn into an option at run time.
pub fn operands(options: &Options, args: &[Word]) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    let (mut at, mut ended) = (0, false);
    while let Some(word) = args.get(at) {
        let text = word.value.as_deref()?;
        if word.glob && !ended && text.starts_with(['*', '?', '[']) && !options.short.is_empty() {
            // A file named `-x` would be read as an option; files of that name are refused elsewhere.
            found.push(at);
            at += 1;
            continue;
        }
        match read(options, text) {
            _ if ended => found.push(at),
            Step::Operand => found.push(at),
            Step::Unknown if text == "--" => ended = true,
            Step::Unknown => return None,
            Step::Alone => {}
            Step::TakesNext => at += 1,
        }
        at += 1;
    }
    Some(found)
}

enum Step {
    Operand,
    Alone,
    TakesNext,
    Unknown,
}

fn read(options: &Options, text: &str) -> Step {
    let Some(rest) = text.strip_prefix('-').filter(|rest| !rest.is_empty()) else { return Step::Operand };
    if let Some(long) = rest.strip_prefix('-') {
        return read_long(options, long);
    }
    let mut letters = rest.chars();
    while let Some(letter) = letters.next() {
        if options.valued.contains(letter) {
            return if letters.as_str().is_empty() { Step::TakesNext } else { Step::Alone };
        }
        if !options.short.contains(letter) {
            return Step::Unknown;
        }
    }
    Step::Alone
}

fn read_long(options: &Options, long: &str) -> Step {
    let (name, inline) = match long.split_once('=') {
        Some((name, _)) => (name, true),
        None => (long, false),
    };
    if name.is_empty() {
        return Step::Unknown;
    }
    if options.long_valued.contains(&name) {
        return if inline { Step::Alone } else { Step::TakesNext };
    }
    if options.long.contains(&name) { Step::Alone } else { Step::Unknown }
}
