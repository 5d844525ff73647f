//! Judges one program with its arguments by the catalogue.

use super::catalogue::{Flags, Operands, PROGRAMS, Program, TELLS};
use super::families::{FAMILIES, Family};
use super::options::operands;
use super::{Concern, Harm, effect, value};
use crate::domain::gate::facts::Word;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Returns what speaks against a program with these arguments; nothing when it is known to read only.
/// When `appended`, arguments that are not known stand behind these; `listed` says that they are at least names of
/// files that some program found.
pub fn judge(name: &str, args: &[Word], appended: bool, listed: bool) -> Vec<Concern> {
    if !appended && tells(name, args) {
        return Vec::new();
    }
    if let Some(family) = FAMILY_BY_NAME.get(name) {
        return concern(match appended && !listed && !family.refused.is_empty() {
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
        // A name that was found begins with a folder: it is no test.
        (Flags::Own(check), _) => check(args, appended && !(listed && name == "test")),
        (Flags::Any, Some(word)) if reads => Some(at_run_time(name, word)),
        (Flags::Any, _) => None,
        (Flags::But { .. }, Some(word)) if name != "printf" => Some(at_run_time(name, word)),
        (Flags::But { .. }, _) if appended && !listed && program.operands != Operands::Text && name != "wc" => {
            Some(format!("“{name}” would be given options that are known only at run time."))
        }
        (Flags::But { short, long, valued }, _) => refused_option(name, args, short, long, valued),
        (Flags::Only(_, _), Some(word)) => Some(at_run_time(name, word)),
        (Flags::Only(options, most), None) => match operands(options, args) {
            _ if appended => Some(format!("“{name}” would be given options that are known only at run time.")),
            None => Some(format!("“{name}” is used with options that are not known to read only.")),
            Some(found) if found.len() > *most => Some(format!("“{name}” would write or set something.")),
            Some(_) => None,
        },
    };
    concern(found)
}

fn concern(found: Option<String>) -> Vec<Concern> {
    found.map(|why| effect(Harm::Moderate, why)).into_iter().collect()
}

/// The catalogue by name; of two entries with one name the first counts.
static BY_NAME: LazyLock<HashMap<&'static str, &'static Program>> = LazyLock::new(|| {
    let all = PROGRAMS.iter().rev();
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

/// Returns the place of the word that is a pattern or a small program, where there is one.
pub fn pattern_operand(name: &str, words: &[Word]) -> Option<usize> {
    lookup(name).filter(|program| program.operands == Operands::PatternRead)?;
    let given = |text: &str| {
        let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        letters.is_some_and(|letters| {
            letters.contains(['e', 'f']) && !matches!(name, "awk" | "gawk" | "mawk" | "nawk" | "jq" | "gojq" | "yq")
        }) || ["--regexp", "--file", "--expression", "--files"].iter().any(|long| text.starts_with(long))
    };
    let texts = || words.iter().enumerate().skip(1).filter_map(|(n, word)| Some((n, value(Some(word))?)));
    if texts().any(|(_, text)| given(text)) {
        return None;
    }
    texts().find(|(_, text)| !text.starts_with('-')).map(|(n, _)| n)
}

/// Returns whether a program of the system is asked for nothing but its version, its help or its settings.
pub fn tells(name: &str, args: &[Word]) -> bool {
    let (only, loud) = match args {
        [only] => (only, false),
        [only, second] if matches!(value(Some(second)), Some("--verbose" | "-v" | "-vv")) => (only, true),
        _ => return false,
    };
    let Some(text) = value(Some(only)) else { return false };
    if loud {
        return text == "--version" && !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase());
    }
    let plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-_.".contains(c));
    (plain && matches!(text, "--version" | "--help"))
        || TELLS.iter().any(|(names, words)| names.contains(&name) && words.contains(&text))
}

fn refused_option(name: &str, args: &[Word], short: &str, long: &[&str], valued: &str) -> Option<String> {
    let bad = |text: &str| {
        if let Some(rest) = text.strip_prefix("--") {
            let option = rest.split('=').next().unwrap_or(rest);
            return long.iter().any(|refused| {
                !option.is_empty() && (refused.starts_with(option) || option.starts_with(&format!("{refused}-")))
            });
        }
        let Some(letters) = text.strip_prefix('-') else { return false };
        letters.chars().take_while(|letter| !valued.contains(*letter)).any(|letter| short.contains(letter))
    };
    let hit =
        args.iter().filter_map(|word| value(Some(word))).take_while(|text| *text != "--").find(|text| bad(text))?;
    Some(format!("“{name} {}” does more than read.", super::clip(hit)))
}

fn by_family(family: &Family, args: &[Word]) -> Option<String> {
    let odd = || format!("“{}” is used in a way that is not known to read only.", family.name);
    if let Some(word) = args.iter().find(|word| word.value.is_none()) {
        return Some(at_run_time(family.name, word));
    }
    let rest = super::options::split(&family.globals, args).map_or(args, |split| split.rest);
    let words: Vec<&str> = rest.iter().filter_map(|word| value(Some(word))).collect();
    let first = words.first().copied().unwrap_or("");
    let two = words.get(1).map(|second| (first, *second));
    let known = |reads: &&str| match (reads.strip_prefix('='), reads.split_once(' ')) {
        (Some(all), _) => all.split(' ').eq(words.iter().copied()),
        (None, Some(("*", begins))) => two.is_some_and(|(_, second)| second.starts_with(begins)),
        (None, Some(pair)) => Some(pair) == two,
        (None, None) => *reads == first,
    };
    // A composition takes the file that describes it before what is asked of it.
    let composed = first == "compose" && words.get(1).is_some_and(|word| word.starts_with('-'));
    let reads = family.reads.iter().any(known) || composed && composition(family, &words);
    if !reads {
        return Some(odd());
    }
    let follows = matches!(first, "logs") || two.is_some_and(|(_, second)| second == "logs") || composed;
    let hit = words
        .iter()
        .find(|word| !(follows && **word == "-f") && family.refused.iter().any(|refused| is_refused(word, refused)))?;
    Some(format!("“{} … {}” does more than read.", family.name, super::clip(hit)))
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

fn is_refused(word: &str, refused: &str) -> bool {
    if let Some(part) = refused.strip_prefix('*') {
        return word.contains(part);
    }
    let letter = refused.len() == 2 && refused.starts_with('-');
    let part = |part: &str| part.eq_ignore_ascii_case(refused) && (!refused.starts_with('-') || part == refused);
    part(word)
        || (letter && word.starts_with(refused))
        || (!letter && word.split(['/', ',', '=', '.']).any(part))
        || (refused.starts_with("--") && word.len() > 4 && refused.starts_with(word.split('=').next().unwrap_or(word)))
}
