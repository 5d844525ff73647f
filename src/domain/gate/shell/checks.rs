//! Programs whose harmless uses no table can say.

use super::options::{Options, operands};
use super::{clip, value};
use crate::domain::gate::facts::Word;
use crate::domain::gate::place;

/// Returns what speaks against a `find`, the programs that it starts left out.
pub(super) fn find_without_exec(args: &[Word]) -> Option<String> {
    if args.iter().any(|word| matches!(value(Some(word)), Some("-ok" | "-okdir"))) {
        return Some("“find -ok” waits for answers.".to_string());
    }
    let mut inside = false;
    let rest = args.iter().filter(|word| match value(Some(word)) {
        Some("-exec" | "-execdir") => {
            inside = true;
            false
        }
        Some(";" | "+") if inside => {
            inside = false;
            false
        }
        _ => !inside,
    });
    looks(rest)
}

/// Tests and actions of `find` that read only; those of the second list take one argument.
const FIND_ALONE: &[&str] = &[
    "-print",
    "-print0",
    "-ls",
    "-prune",
    "-quit",
    "-depth",
    "-d",
    "-true",
    "-false",
    "-a",
    "-o",
    "-and",
    "-or",
    "-not",
    "!",
    "(",
    ")",
    ",",
    "-empty",
    "-executable",
    "-readable",
    "-writable",
    "-nouser",
    "-nogroup",
    "-xdev",
    "-mount",
    "-daystart",
    "-follow",
    "-noleaf",
    "-ignore_readdir_race",
    "-noignore_readdir_race",
    "-warn",
    "-nowarn",
    "-H",
    "-L",
    "-P",
    "-X",
    "-E",
    "-s",
    "-x",
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "--help",
    "-help",
    "--version",
    "-version",
];
const FIND_VALUED: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-lname",
    "-ilname",
    "-regex",
    "-iregex",
    "-regextype",
    "-type",
    "-xtype",
    "-size",
    "-mtime",
    "-atime",
    "-ctime",
    "-mmin",
    "-amin",
    "-cmin",
    "-newer",
    "-anewer",
    "-cnewer",
    "-perm",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-links",
    "-inum",
    "-samefile",
    "-maxdepth",
    "-mindepth",
    "-printf",
    "-fstype",
    "-used",
    "-context",
    "-D",
    "-Bmin",
    "-Btime",
    "-flags",
    "-depth-n",
    "-f",
];

pub(super) fn find(args: &[Word], appended: bool) -> Option<String> {
    if appended {
        return Some("“find” would be given tests and actions that are known only at run time.".to_string());
    }
    looks(args.iter())
}

/// Returns what speaks against the tests and actions of a `find`.
fn looks<'a>(mut args: impl Iterator<Item = &'a Word>) -> Option<String> {
    while let Some(word) = args.next() {
        let Some(text) = word.value.as_deref() else { return Some(super::programs::at_run_time("find", word)) };
        let dashed = text.starts_with('-') || matches!(text, "!" | "(" | ")" | ",");
        // Brackets that stick to a word (`-prune)`) are no test that it knows: it refuses to run.
        let stuck = text.len() > 1 && text.ends_with(')');
        if !dashed || stuck || FIND_ALONE.contains(&text) {
            continue;
        }
        if FIND_VALUED.contains(&text) || (text.starts_with("-newer") && text.len() == 8) {
            args.next();
        } else {
            return Some(format!("“find {}” does more than look.", clip(text)));
        }
    }
    None
}

/// Entries of the system's own tables. What is asked of the name service goes out to the network, but for all that it
/// keeps here.
pub(super) fn getent(args: &[Word], appended: bool) -> Option<String> {
    const TABLES: &[&str] = &["passwd", "group", "services", "protocols", "rpc", "networks", "ethers", "aliases"];
    let texts: Option<Vec<&str>> = args.iter().map(|word| value(Some(word))).collect();
    let fine = match texts.as_deref() {
        Some([table, keys @ ..]) => {
            (TABLES.contains(table) || *table == "hosts" && keys.is_empty())
                && !keys.iter().any(|key| key.starts_with('-'))
        }
        Some([]) | None => false,
    };
    (!fine || appended).then(|| "“getent” can show passwords, or ask the network for a name.".to_string())
}

/// Whether the format is known, or cannot be an option: `-v` gives a value to a variable whose name can run commands.
pub(super) fn printf(args: &[Word], _: bool) -> Option<String> {
    let fine = match args.first() {
        Some(first) if value(Some(first)) == Some("--") => true,
        Some(first) => value(Some(first)).map_or_else(|| begins_plainly(first), |text| !text.starts_with('-')),
        None => true,
    };
    (!fine).then(|| "“printf” could be given an option that sets a variable.".to_string())
}

/// Whether a word that is known only at run time begins with text that no option begins with.
fn begins_plainly(word: &Word) -> bool {
    let bare = word.raw.strip_prefix(['"', '\'']).unwrap_or(&word.raw);
    bare.starts_with(|c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '%' | ' ' | '[' | '(' | '/' | ':' | '#' | '|' | '+')
    })
}

/// A test must be known for what it is: `-v` works out the name of a variable, which can run commands.
///
/// A word that is known only at run time may stand where a known word follows, or an operator; but two side by side
/// could be such an operator and its name, and one without quotes could be both.
pub(super) fn test(args: &[Word], appended: bool) -> Option<String> {
    if appended {
        return Some("What is tested is known only at run time.".to_string());
    }
    let matched = |word: &Word| word.glob && value(Some(word)).is_some_and(place::may_match_variable_test);
    let open = |word: &Word| word.value.is_none() || !word.from.is_empty() || matched(word);
    let bare = |word: &Word| open(word) && !is_one_string(word);
    // Behind a word that turns out to be such a test stands the name.
    let named = |word: &Word| value(Some(word)).is_some_and(|text| text.contains('['));
    let beside = args.windows(2).any(|pair| match pair {
        [first, second] => open(first) && (open(second) || named(second)),
        _ => false,
    });
    if beside || args.iter().any(bare) {
        return Some("What is tested is known only at run time, and could be a test that runs commands.".to_string());
    }
    let runs = |text: &str| matches!(text, "-v" | "-R") || text.contains("$(") || text.contains('`');
    args.iter()
        .filter_map(|word| value(Some(word)))
        .any(runs)
        .then(|| "A test on a variable's name can run commands.".to_string())
}

pub(super) fn date(args: &[Word], appended: bool) -> Option<String> {
    let texts: Option<Vec<&str>> = args.iter().map(|word| word.value.as_deref()).collect();
    let Some(texts) = texts.filter(|_| !appended) else {
        return Some("What “date” is given is known only at run time.".to_string());
    };
    let shows = texts.contains(&"-j");
    let sets = |text: &&str| {
        let long = text.strip_prefix("--").map(|rest| rest.split('=').next().unwrap_or(rest));
        long.is_some_and(|long| !long.is_empty() && "set".starts_with(long))
            || text.strip_prefix('-').is_some_and(|rest| {
                !rest.starts_with('-')
                    && rest.chars().take_while(|c| !matches!(c, 'd' | 'r' | 'I' | 'v' | 'f')).any(|c| c == 's')
            })
    };
    let mut at = 0;
    while let Some(text) = texts.get(at) {
        if !shows && (matches!(*text, "-f") || text.starts_with("--f")) {
            return Some("It shows what stands in a file.".to_string());
        }
        if sets(text) {
            return Some("It sets the clock.".to_string());
        }
        if matches!(*text, "-d" | "-r" | "-f" | "-v" | "--date" | "--reference" | "--file" | "--rfc-3339") {
            at += 1;
        } else if !text.starts_with(['+', '-']) && !shows {
            return Some("It may set the clock.".to_string());
        }
        at += 1;
    }
    None
}

pub(super) fn status_only(args: &[Word], appended: bool) -> Option<String> {
    let fine = args.iter().all(|word| {
        matches!(
            value(Some(word)),
            Some("status" | "show" | "list-timezones" | "list-locales" | "--no-pager" | "hostname")
        )
    });
    (!fine || args.len() > 2 || appended).then(|| "It may set something of the system.".to_string())
}

const JQ: Options = Options {
    short: "rcjaCMSeRsn0h",
    valued: "",
    long: &[
        "raw-output",
        "compact-output",
        "join-output",
        "ascii-output",
        "color-output",
        "monochrome-output",
        "sort-keys",
        "exit-status",
        "raw-input",
        "slurp",
        "null-input",
        "tab",
        "args",
        "jsonargs",
        "stream",
        "seq",
        "unbuffered",
        "help",
        "version",
    ],
    long_valued: &[],
};

/// Its options are read in their order: behind some stand words that look like others.
pub(super) fn jq(args: &[Word], appended: bool) -> Option<String> {
    let odd = "“jq” is used in a way that is not known to read only.";
    let Some(kept) = jq_words(args) else { return Some(odd.to_string()) };
    let Some(found) = operands(&JQ, &kept).filter(|_| !appended) else { return Some(odd.to_string()) };
    let program = found.first().and_then(|n| kept.get(*n)).and_then(|word| value(Some(word))).unwrap_or("");
    // `.env` is the value of a key.
    let program = program.replace(".env", " ");
    ["env", "$ENV", "include", "import", "input_filename", "debug", "$__prog"]
        .iter()
        .any(|word| program.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).any(|token| token == *word))
        .then(|| "The program of “jq” reaches beyond its input.".to_string())
}

/// Returns the words of `jq` without the values that it is given by name; `None` when one may be several words, or is no
/// value. What a named text holds may be known only at run time; which file is read may not.
fn jq_words(args: &[Word]) -> Option<Vec<Word>> {
    let known = |word: &&Word| word.value.is_some() && !word.glob;
    let mut kept: Vec<Word> = Vec::new();
    let mut args = args.iter();
    while let Some(word) = args.next() {
        match value(Some(word)) {
            Some("--arg" | "--argjson") => {
                args.next().filter(known)?;
                args.next().filter(|word| known(word) || is_one_string(word))?;
            }
            Some("--slurpfile" | "--rawfile") => {
                args.next().filter(known)?;
                args.next().filter(known)?;
            }
            Some("--indent") => {
                let number = args.next().filter(known)?;
                value(Some(number)).filter(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))?;
            }
            _ => kept.push(word.clone()),
        }
    }
    Some(kept)
}

/// Whether a word is one text in double quotes, so that it stays one word whatever it holds. `"$@"` is several.
fn is_one_string(word: &Word) -> bool {
    let Some(inner) = word.raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return false };
    if inner.contains("$@") || inner.contains("{@") || inner.contains("[@") {
        return false;
    }
    if !inner.contains('"') {
        return true;
    }
    // Quotes within stand in a substitution. With other quotes besides it is not said where that ends.
    let (mut depth, mut before) = (0_usize, ' ');
    for c in inner.chars() {
        match c {
            '(' if before == '$' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '"' if depth == 0 => return false,
            '\'' | '\\' | '`' | '\n' => return false,
            _ => {}
        }
        before = c;
    }
    true
}

pub(super) fn unzip(args: &[Word], appended: bool) -> Option<String> {
    let listing = args.first().and_then(|word| value(Some(word))).is_some_and(|text| {
        text.strip_prefix('-').is_some_and(|letters| {
            !letters.is_empty()
                && letters.chars().all(|c| matches!(c, 'l' | 'v' | 'Z' | '1' | 't' | 'q' | 'p'))
                && letters.contains(['l', 'v', 'Z', 't', 'p'])
        })
    });
    let folder = args.iter().filter_map(|word| value(Some(word))).skip(1).any(|text| text.starts_with('-'));
    (!listing || folder || appended).then(|| "“unzip” writes files.".to_string())
}

pub(super) fn ip(args: &[Word], appended: bool) -> Option<String> {
    let options = Options { short: "460shdrotpcjNaB", valued: "fl", long: &[], long_valued: &[] };
    let odd = Some("“ip” may change the network.".to_string());
    let mut rest = args;
    while let Some(text) = rest.first().and_then(|word| value(Some(word))).filter(|text| text.starts_with('-')) {
        let known = [
            "-br",
            "-brief",
            "-details",
            "-oneline",
            "-stats",
            "-statistics",
            "-human",
            "-family",
            "-json",
            "-pretty",
            "-color",
            "-resolve",
            "-iec",
            "-timestamp",
        ]
        .contains(&text)
            || text
                .strip_prefix('-')
                .is_some_and(|letters| letters.chars().all(|c| options.short.contains(c)) && letters.len() == 1);
        if !known {
            return odd;
        }
        rest = rest.get(1..).unwrap_or(&[]);
    }
    let verb = rest.get(1).map(|word| value(Some(word)).unwrap_or("?"));
    let object = rest.first().and_then(|word| value(Some(word))).unwrap_or("help");
    let looks = matches!(verb, None | Some("show" | "list" | "ls" | "lst" | "get" | "sh" | "dev" | "help"))
        // Of an interface `s` sets something; of all else it shows.
        || verb == Some("s") && !object.is_empty() && !"link".starts_with(object);
    if !looks || appended || matches!(object, "netns" | "vrf") { odd } else { None }
}
