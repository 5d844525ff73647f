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
                taken(args.get(at + 1)?)?;
                at += 2;
            }
        }
    }
    Some(Split { rest: args.get(at..).unwrap_or(&[]) })
}

/// Options and operands, as a program is given them.
#[derive(Debug, Default)]
pub struct Given<'a> {
    /// Letters, in their order.
    pub letters: String,
    /// Long names, without dashes and values.
    pub long: Vec<&'a str>,
    /// The places of the operands.
    pub operands: Vec<usize>,
}

impl Given<'_> {
    /// Returns whether one of these letters or long names was given.
    pub fn has(&self, letters: &[char], long: &[&str]) -> bool {
        self.letters.contains(letters) || self.long.iter().any(|name| long.contains(name))
    }
}

/// Reads options that may stand anywhere. Returns the places of the operands; `None` when an option
/// is not in the table, or a word could turn into an option at run time.
pub fn operands(options: &Options, args: &[Word]) -> Option<Vec<usize>> {
    given(options, args).map(|given| given.operands)
}

/// Reads options that may stand anywhere; `None` as with [`operands`].
pub fn given<'a>(options: &Options, args: &'a [Word]) -> Option<Given<'a>> {
    let mut found = Given::default();
    let (mut at, mut ended) = (0, false);
    while let Some(word) = args.get(at) {
        let text = word.value.as_deref()?;
        // A pattern may match a file named `-x`: the survey looks for one.
        if ended || word.glob && text.starts_with(['*', '?', '[']) {
            found.operands.push(at);
            at += 1;
            continue;
        }
        let step = read(options, text);
        match step {
            Step::Operand => found.operands.push(at),
            Step::Unknown if text == "--" => ended = true,
            Step::Unknown => return None,
            Step::Alone | Step::TakesNext => match text.strip_prefix("--") {
                Some(long) => found.long.push(long.split('=').next().unwrap_or(long)),
                None => found.letters.extend(letters(options, text)),
            },
        }
        if matches!(step, Step::TakesNext) {
            at += 1;
            // Without a value the program refuses to run.
            args.get(at).map_or(Some(()), taken)?;
        }
        at += 1;
    }
    Some(found)
}

/// Allows a word as the value of the option before it. What looks like an option itself would be one where the option
/// takes no value in another program of the same name.
fn taken(word: &Word) -> Option<()> {
    let text = word.value.as_deref()?;
    let rest = text.strip_prefix('-').unwrap_or("");
    (rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit())).then_some(())
}

/// Returns the letters of a word of options, up to one that takes the rest of it.
fn letters<'a>(options: &'a Options, text: &'a str) -> impl Iterator<Item = char> + 'a {
    let mut ended = false;
    text.chars().skip(1).take_while(move |letter| {
        let within = !ended;
        ended |= options.valued.contains(*letter);
        within
    })
}

#[derive(Clone, Copy)]
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
