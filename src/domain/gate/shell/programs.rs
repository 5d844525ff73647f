//! Judges one program with its arguments by the catalogue.

use super::allowed::{ALLOWED, COMMON_LONG, COMMON_SHORT, ONE_DASH, OPEN, TAKES};
use super::catalogue::{Flags, Operands, PROGRAMS, Program};
use super::families::{FAMILIES, Family};
use super::options::operands;
use super::{Concern, Harm, effect, value};
use crate::domain::gate::facts::Word;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What is known of words that are added behind those that stand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// There are none.
    Nothing,
    /// They may be anything.
    Unknown,
    /// Names that some program found; one may begin with a dash, and would be an option.
    Names,
    /// Names that are no options.
    Operands,
}

/// Returns what speaks against a program with these arguments, and those that are added; nothing when it is known to
/// read only.
pub fn judge(name: &str, args: &[Word], added: Added) -> Vec<Concern> {
    let appended = added != Added::Nothing;
    if let Some(family) = FAMILY_BY_NAME.get(name) {
        return concern(match appended && !(added == Added::Operands && takes_what_is_listed(name, args)) {
            true => Some(format!("“{name}” would be given words that are known only at run time.")),
            false => by_family(family, args),
        });
    }
    let Some(program) = lookup(name) else {
        return vec![effect(
            Harm::Moderate,
            format!("“{}” is not among the programs that are known to read only.", super::clip(name)),
        )];
    };
    let dynamic = args.iter().find(|word| word.value.is_none());
    let reads = matches!(program.operands, Operands::Read | Operands::PatternRead);
    let found = match (&program.flags, dynamic) {
        // Of what is added, only `test` takes names as it takes options, and what stands behind a program of `awk` is none.
        (Flags::Own(_), _) if matches!(added, Added::Unknown | Added::Names) && !ENDED.contains(&name) => {
            Some(format!("“{name}” would be given options that are known only at run time."))
        }
        (Flags::Own(_), Some(word)) if !AT_RUN_TIME.contains(&name) => Some(at_run_time(name, word)),
        (Flags::Own(check), _) => check(args, appended && !(added != Added::Unknown && name == "test")),
        (Flags::Any, Some(word)) if reads => Some(at_run_time(name, word)),
        (Flags::Any, _) => None,
        (Flags::Takes(_) | Flags::Only(_, _), Some(word)) => Some(at_run_time(name, word)),
        // What counts has no option that does more, whatever it is given.
        (Flags::Takes(options), None) => match operands(options, args) {
            _ if appended && added != Added::Operands && name != "wc" => {
                Some(format!("“{name}” would be given options that are known only at run time."))
            }
            None => Some(unknown_options(name)),
            Some(_) => None,
        },
        (Flags::Only(options, most), None) => match operands(options, args) {
            _ if appended => Some(format!("“{name}” would be given options that are known only at run time.")),
            None => Some(unknown_options(name)),
            // A pattern is as many operands as it matches.
            Some(found) if *most < usize::MAX && (found.len() > *most || args.iter().any(|word| word.glob)) => {
                Some(format!("“{name}” would write or set something."))
            }
            Some(_) => None,
        },
    };
    concern(found.or_else(|| reaches_out(name, args)))
}

/// Programs of which nothing that is added is an option: behind a first operand they know none, or have none at all.
const ENDED: &[&str] = &["awk", "gawk", "mawk", "nawk", "test", "[", "printf"];

/// Programs whose own rule says which of their words may be known only at run time.
const AT_RUN_TIME: &[&str] = &["jq", "gojq", "test", "[", "printf"];

fn unknown_options(name: &str) -> String {
    format!("“{name}” is used with options that are not known to read only.")
}

/// Returns what speaks against words that are no names of files to a program, though they stand where names do.
fn reaches_out(name: &str, args: &[Word]) -> Option<String> {
    // `@file` stands for the options in the file.
    const RESPONDS: &[&str] = &["nm", "objdump", "size", "strings", "readelf", "ar", "addr2line", "c++filt"];
    const FETCHES: &[&str] = &["pdfinfo", "pdftotext", "cloc", "openssl", "xmllint", "pandoc", "ffprobe", "mediainfo"];
    let mut texts = args.iter().filter_map(|word| value(Some(word)));
    if RESPONDS.contains(&name) {
        return texts
            .find(|text| text.starts_with('@'))
            .map(|text| format!("“{name}” takes its options from “{}”.", super::clip(text)));
    }
    let fetched = texts.find(|text| FETCHES.contains(&name) && text.contains("://"))?;
    Some(format!("“{name}” would fetch “{}”.", super::clip(fetched)))
}

fn concern(found: Option<String>) -> Vec<Concern> {
    found.map(|why| effect(Harm::Moderate, why)).into_iter().collect()
}

/// The catalogue by name.
static BY_NAME: LazyLock<HashMap<&'static str, &'static Program>> = LazyLock::new(|| {
    let all = PROGRAMS.iter();
    all.flat_map(|program| program.names.iter().map(move |name| (*name, program))).collect()
});

/// The programs with subcommands by name.
static FAMILY_BY_NAME: LazyLock<HashMap<&'static str, &'static Family>> =
    LazyLock::new(|| FAMILIES.iter().map(|family| (family.name, family)).collect());

/// Builds the tables now, so that no verdict pays for them.
pub fn prepare() {
    LazyLock::force(&BY_NAME);
    LazyLock::force(&FAMILY_BY_NAME);
}

fn lookup(name: &str) -> Option<&'static Program> {
    BY_NAME.get(name).copied()
}

pub(super) fn at_run_time(name: &str, word: &Word) -> String {
    format!("What “{name}” is given as “{}” is known only at run time.", super::clip(&word.raw))
}

/// Returns whether a program is in the catalogue: it reads its operands, and does not do what they say.
pub fn known(name: &str) -> bool {
    lookup(name).is_some()
}

/// Returns whether a program reads the content of its operands.
pub fn reads_content(name: &str) -> bool {
    lookup(name).is_some_and(|program| matches!(program.operands, Operands::Read | Operands::PatternRead))
}

/// Returns whether a program opens no file for its operands.
pub fn text_only(name: &str) -> bool {
    lookup(name).is_some_and(|program| program.operands == Operands::Text)
}

/// Returns whether a program shows names, sizes and types, not content.
pub fn lists(name: &str) -> bool {
    lookup(name).is_some_and(|program| program.operands == Operands::Listed)
}

/// Returns whether no option of a program does more than read.
pub fn any_option_reads(name: &str) -> bool {
    let any = || lookup(name).is_some_and(|program| matches!(program.flags, Flags::Any));
    any() || ENDED.contains(&name) || name == "wc"
}

/// Returns whether a program may be given names that were found in place of operands: however many there are, they are
/// files that it reads.
pub fn takes_names(name: &str) -> bool {
    lookup(name).is_some_and(|program| {
        let one = matches!(program.flags, Flags::Only(_, most) if most < usize::MAX);
        !one && program.operands != Operands::Text
    })
}

/// Returns whether the first operand of a program is a pattern or a small program.
pub fn is_pattern_reader(name: &str) -> bool {
    lookup(name).is_some_and(|program| program.operands == Operands::PatternRead)
}

/// Returns whether the last of the arguments ends the options of a program.
pub fn ends_options(name: &str, args: &[Word]) -> bool {
    let Some(Flags::Takes(options)) = lookup(name).map(|program| &program.flags) else { return false };
    value(args.last()) == Some("--") && operands(options, args).is_some()
}

/// Returns whether a text stands in words of a program otherwise than as the name of a file. Of programs whose options
/// are read in a way of their own, what is put in its place could then be an option, or a small program.
pub fn is_told(name: &str, words: &[Word], slot: &str) -> bool {
    if !lookup(name).is_some_and(|program| matches!(program.flags, Flags::Own(_))) || matches!(name, "test" | "[") {
        return false;
    }
    let pattern = pattern_operand(name, words).unwrap_or(0);
    words.windows(2).enumerate().any(|(before, pair)| {
        let texts = pair.iter().map(|word| value(Some(word)).unwrap_or(&word.raw));
        let [previous, text] = texts.collect::<Vec<_>>()[..] else { return false };
        let behind = before > 0 && previous.starts_with('-') && is_pattern_reader(name) && pattern == 0;
        text.contains(slot) && (text != slot || before < pattern || behind)
    })
}

/// Returns the place of the word that is a pattern or a small program, where there is one.
pub fn pattern_operand(name: &str, words: &[Word]) -> Option<usize> {
    lookup(name).filter(|program| program.operands == Operands::PatternRead)?;
    let given = |text: &str| {
        let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        letters.is_some_and(|letters| {
            letters.contains(['e', 'f']) && !matches!(name, "awk" | "gawk" | "mawk" | "nawk" | "jq" | "gojq" | "yq")
        }) || text.strip_prefix("--").is_some_and(|long| {
            // Programs take any beginning of a long name that no other has.
            let name = long.split('=').next().unwrap_or(long);
            let names = ["regexp", "file", "expression", "files"];
            !name.is_empty() && names.iter().any(|known| known.starts_with(name) || name.starts_with(known))
        })
    };
    let texts = || words.iter().enumerate().skip(1).filter_map(|(n, word)| Some((n, value(Some(word))?)));
    if texts().any(|(_, text)| given(text)) {
        return None;
    }
    texts().find(|(_, text)| !text.starts_with('-')).map(|(n, _)| n)
}

fn by_family(family: &Family, args: &[Word]) -> Option<String> {
    let odd = || format!("“{}” is used in a way that is not known to read only.", family.name);
    if let Some(word) = args.iter().find(|word| word.value.is_none()) {
        return Some(at_run_time(family.name, word));
    }
    let Some(split) = super::options::split(&family.globals, args).or_else(|| leading(family, args)) else {
        return Some(odd());
    };
    let words: Vec<&str> = split.rest.iter().filter_map(|word| value(Some(word))).collect();
    let first = words.first().copied().unwrap_or("");
    let known = |reads: &&str| match (reads.strip_prefix('='), reads.strip_prefix("* ")) {
        (Some(all), _) => all.split(' ').eq(words.iter().copied()),
        (None, Some(begins)) => words.get(1).is_some_and(|second| second.starts_with(begins)),
        (None, None) => begins_with(&words, reads),
    };
    // A composition takes the file that describes it before what is asked of it.
    let composed = first == "compose" && words.get(1).is_some_and(|word| word.starts_with('-'));
    let reads = family.reads.iter().any(known) || composed && composition(family, &words);
    if !reads {
        return Some(odd());
    }
    let follows = matches!(first, "logs") || words.get(1).is_some_and(|second| *second == "logs");
    let hit = words.iter().find(|word| {
        let named = composed && matches!(**word, "-f" | "--file" | "-p" | "--project-name" | "--profile");
        let known = named || follows && **word == "-f";
        !known && (family.refused.iter().any(|refused| is_refused(family, word, refused)) || !is_allowed(family, word))
    })?;
    Some(format!("“{} … {}” is not known to read only.", family.name, super::clip(hit)))
}

/// A family whose reads are options themselves has none before them.
fn leading<'a>(family: &Family, args: &'a [Word]) -> Option<super::options::Split<'a>> {
    let first = value(args.first())?;
    let option = |reads: &&str| reads.trim_start_matches('=').split(' ').next() == Some(first);
    family.reads.iter().any(option).then_some(super::options::Split { rest: args })
}

/// Whether these words stand first; no words are themselves alone.
fn begins_with(words: &[&str], reads: &str) -> bool {
    match reads.is_empty() {
        true => words.is_empty(),
        false => {
            let parts: Vec<&str> = reads.split(' ').collect();
            words.starts_with(&parts)
        }
    }
}

/// Whether names that some program found may stand behind these words.
fn takes_what_is_listed(name: &str, args: &[Word]) -> bool {
    let words: Vec<&str> = args.iter().map_while(|word| value(Some(word))).collect();
    let takes = TAKES.iter().find(|(family, _)| *family == name);
    takes.is_some_and(|(_, reads)| reads.iter().any(|reads| begins_with(&words, reads)))
}

/// Whether a word is no option, or one that is known to be harmless.
fn is_allowed(family: &Family, word: &str) -> bool {
    let Some(rest) = word.strip_prefix('-').filter(|rest| !matches!(*rest, "" | "-")) else { return true };
    let itself = |reads: &&str| reads.trim_start_matches('=').split(' ').any(|part| part == word);
    if OPEN.contains(&family.name) || family.reads.iter().any(itself) {
        return true;
    }
    let own = ALLOWED.iter().find(|allowed| allowed.families.contains(&family.name));
    let name = |text: &'_ str| -> String { text.split('=').next().unwrap_or(text).to_string() };
    let named = |long: &str| {
        let long = name(long);
        COMMON_LONG.contains(&long.as_str())
            || own.is_some_and(|own| own.long.contains(&long.as_str()))
            || family.globals.long.contains(&long.as_str())
            || family.globals.long_valued.contains(&long.as_str())
    };
    if ONE_DASH.contains(&family.name) {
        return named(rest.trim_start_matches('-'));
    }
    if let Some(long) = rest.strip_prefix('-') {
        return named(long);
    }
    let (short, valued) = own.map_or(("", ""), |own| (own.short, own.valued));
    name(rest)
        .chars()
        .take_while(|letter| !valued.contains(*letter) && !family.globals.valued.contains(*letter))
        .all(|letter| COMMON_SHORT.contains(letter) || short.contains(letter) || family.globals.short.contains(letter))
}

/// `docker compose -f file -p name ps`: the options before the command, then one that reads.
fn composition(family: &Family, words: &[&str]) -> bool {
    let mut at = 1;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        match *word {
            "-f" | "--file" | "-p" | "--project-name" | "--profile" => at += 2,
            _ => return false,
        }
    }
    words.get(at).is_some_and(|command| family.reads.contains(&format!("compose {command}").as_str()))
}

fn is_refused(family: &Family, word: &str, refused: &str) -> bool {
    if let Some(part) = refused.strip_prefix('*') {
        return word.contains(part);
    }
    let Some(option) = refused.strip_prefix('-') else {
        return word.split(['/', ',', '=', '.']).any(|part| part.eq_ignore_ascii_case(refused));
    };
    let name = word.split('=').next().unwrap_or(word);
    if ONE_DASH.contains(&family.name) {
        return name.starts_with('-') && name.trim_start_matches('-') == option.trim_start_matches('-');
    }
    let Some(letters) = name.strip_prefix('-') else { return false };
    match (option.strip_prefix('-'), letters.strip_prefix('-')) {
        // An abbreviation, or a longer name of the same kind.
        (Some(long), Some(given)) => {
            !given.is_empty() && (long.starts_with(given) || given.starts_with(&format!("{long}-")))
        }
        (None, None) if option.len() == 1 => {
            let own = ALLOWED.iter().find(|allowed| allowed.families.contains(&family.name));
            let valued = own.map_or("", |own| own.valued);
            let valued = |letter: &char| valued.contains(*letter) && !option.contains(*letter);
            letters.chars().take_while(|letter| !valued(letter)).any(|letter| option.contains(letter))
        }
        (None, None) => letters == option,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn nothing_is_named_twice() {
        let programs = PROGRAMS.iter().flat_map(|program| {
            let options = match &program.flags {
                Flags::Takes(options) | Flags::Only(options, _) => Some(options),
                Flags::Any | Flags::Own(_) => None,
            };
            let first = program.names.first().copied().unwrap_or("");
            let long = options.into_iter().flat_map(|options| options.long.iter().chain(options.long_valued));
            let names = program.names.iter().map(|name| format!("program {name}"));
            names.chain(long.map(move |long| format!("{first} --{long}")))
        });
        let families = FAMILIES.iter().flat_map(|family| {
            let reads = family.reads.iter().map(|reads| format!("{} {reads}", family.name));
            let refused = family.refused.iter().map(|word| format!("{} without {word}", family.name));
            std::iter::once(format!("program {}", family.name)).chain(reads).chain(refused)
        });
        let git = super::super::git::READS.iter().map(|command| format!("git {command}"));
        let told = super::super::told::TOLD.iter().map(|name| format!("told {name}"));
        let mut seen = BTreeSet::new();
        let twice: Vec<String> =
            programs.chain(families).chain(git).chain(told).filter(|name| !seen.insert(name.clone())).collect();
        assert!(twice.is_empty(), "named twice: {}", twice.join(", "));
    }
}
