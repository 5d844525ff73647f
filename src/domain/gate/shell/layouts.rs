//! Programs that read their options in a way of their own, which no table of letters and names can say.

use super::options::{Options, given};
use super::readers::{odd, texts};
use super::value;
use crate::domain::gate::facts::Word;

/// `tree` lets several letters of one word take a value each, so that a letter behind one of them is still an option.
pub(super) fn tree(args: &[Word], appended: bool) -> Option<String> {
    const TREE: Options = Options {
        short: "adfxlqNQpugshDFvtcUrASnCXJi0123456789",
        valued: "LPIHT",
        long: &[
            "noreport",
            "dirsfirst",
            "filesfirst",
            "prune",
            "gitignore",
            "matchdirs",
            "ignore-case",
            "metafirst",
            "charset",
            "filelimit",
            "timefmt",
            "sort",
            "si",
            "du",
            "inodes",
            "device",
            "nolinks",
            "help",
            "version",
        ],
        long_valued: &[],
    };
    let known = |text: &&str| match text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) {
        Some(letters) => letters.chars().all(|c| TREE.short.contains(c) || TREE.valued.contains(c)),
        None => true,
    };
    let plain = texts(args).is_some_and(|texts| texts.iter().all(known));
    if plain && given(&TREE, args).is_some() && !appended { None } else { odd("tree") }
}

/// `bat` shows files; `bat cache` changes what it keeps.
pub(super) fn bat(args: &[Word], appended: bool) -> Option<String> {
    const BAT: Options = Options {
        short: "ApnsuPSfLhV",
        valued: "lHrm",
        long: &[
            "show-all",
            "plain",
            "number",
            "squeeze-blank",
            "unbuffered",
            "no-paging",
            "chop-long-lines",
            "force-colorization",
            "list-languages",
            "list-themes",
            "diagnostic",
            "no-config",
            "paging",
            "color",
            "style",
            "decorations",
            "wrap",
            "tabs",
            "italic-text",
            "theme",
            "terminal-width",
            "language",
            "line-range",
            "highlight-line",
            "file-name",
            "map-syntax",
            "ignored-suffix",
            "squeeze-limit",
            "nonprintable-notation",
            "help",
            "version",
        ],
        long_valued: &[],
    };
    // A word behind a name that takes one is a file to this reader, which does no harm.
    let found = given(&BAT, args).filter(|_| !appended);
    let kept = found.is_some_and(|found| {
        let mut words = found.operands.iter().filter_map(|n| value(args.get(*n)));
        !words.any(|text| text == "cache")
    });
    if kept { None } else { odd("bat") }
}

/// `lsof` takes the value of some letters from the same word or, if that is no option, from the next.
pub(super) fn lsof(args: &[Word], appended: bool) -> Option<String> {
    const ALONE: &str = "abClnNoOPRtUvhVwX0";
    const VALUED: &str = "iucpgsFdTSrx";
    let known = |text: &&str| match text.strip_prefix(['-', '+']) {
        Some("") | None => true,
        Some("D") => text.starts_with('+'),
        Some(letters) => {
            letters.chars().take_while(|c| !VALUED.contains(*c)).all(|c| ALONE.contains(c)) && !letters.starts_with('-')
        }
    };
    if texts(args).is_some_and(|texts| texts.iter().all(known)) && !appended { None } else { odd("lsof") }
}

/// `xxd` knows each of its options by its first letters and bundles none; a second file is one that it writes.
pub(super) fn xxd(args: &[Word], appended: bool) -> Option<String> {
    const ALONE: &[&str] = &["-a", "-b", "-e", "-E", "-i", "-p", "-ps", "-plain", "-u", "-C", "-d", "-v"];
    const VALUED: &[&str] = &["-c", "-cols", "-g", "-l", "-len", "-o", "-s", "-seek"];
    let number = |text: &str| {
        let digits = text.trim_start_matches(['+', '-']);
        digits.starts_with(|c: char| c.is_ascii_digit()) && digits.chars().all(|c| c.is_ascii_hexdigit() || c == 'x')
    };
    let Some(texts) = texts(args).filter(|_| !appended) else { return odd("xxd") };
    let (mut words, mut files) = (texts.iter(), 0);
    while let Some(word) = words.next() {
        let glued = ["-c", "-g", "-l", "-o", "-s"].iter().any(|letter| word.strip_prefix(letter).is_some_and(number));
        let fine = match *word {
            text if VALUED.contains(&text) => words.next().is_some_and(|next| number(next)),
            text if text.starts_with('-') && text.len() > 1 => glued || ALONE.contains(&text),
            _ => {
                files += 1;
                true
            }
        };
        if !fine {
            return odd("xxd");
        }
    }
    // A pattern is as many files as it matches.
    if files > 1 || args.iter().any(|word| word.glob) { odd("xxd") } else { None }
}

/// Pages of the manual by name: a word with a slash names a file, whatever it is.
pub(super) fn info(args: &[Word], appended: bool) -> Option<String> {
    const INFO: Options = Options {
        short: "aw",
        valued: "kn",
        long: &["all", "where", "help", "version"],
        long_valued: &["apropos", "node"],
    };
    let files =
        args.iter().any(|word| value(Some(word)).is_none_or(|text| text.contains(['/', '~']) || text.starts_with('.')));
    let few = given(&INFO, args).is_some_and(|found| found.operands.len() <= 3);
    if few && !files && !appended { None } else { odd("info") }
}

/// The letters and long names with which `tar` was called; `None` when one is not known to read only.
///
/// In the old style the first word has no dash, and each of its letters that takes a value takes the next word.
pub(super) fn tar(args: &[Word], appended: bool) -> Option<String> {
    const TAR: Options = Options {
        short: "tvzjJZaPkpOhSRx",
        valued: "fCb",
        long: &[
            "list",
            "verbose",
            "gzip",
            "bzip2",
            "xz",
            "zstd",
            "lzma",
            "lzip",
            "auto-compress",
            "wildcards",
            "no-wildcards",
            "anchored",
            "ignore-case",
            "full-time",
            "utc",
            "numeric-owner",
            "extract",
            "to-stdout",
            "help",
            "version",
            "absolute-names",
        ],
        long_valued: &["file", "directory", "exclude", "strip-components", "show-transformed-names"],
    };
    let refuse = || Some("“tar” does more than list.".to_string());
    let old = value(args.first()).filter(|text| !text.starts_with('-') && !text.is_empty());
    let (mut letters, mut rest) = (old.unwrap_or("").to_string(), args);
    if let Some(bundle) = old {
        let takes = bundle.chars().filter(|c| TAR.valued.contains(*c)).count();
        if !bundle.chars().all(|c| TAR.short.contains(c) || TAR.valued.contains(c)) || args.len() <= takes {
            return refuse();
        }
        rest = args.get(1 + takes..).unwrap_or(&[]);
    }
    let Some(found) = given(&TAR, rest).filter(|_| !appended) else { return refuse() };
    letters.push_str(&found.letters);
    let asked = |letter: char, long: &str| letters.contains(letter) || found.long.contains(&long);
    // What is unpacked to standard output changes nothing.
    let unpacks = asked('x', "extract");
    let lists = asked('t', "list") != unpacks && (!unpacks || asked('O', "to-stdout"));
    // What stands before a colon is a machine, where the archive is fetched from.
    let remote = |text: &str| text.split('/').next().is_some_and(|first| first.contains(':'));
    let local = texts(args).is_some_and(|texts| !texts.iter().any(|text| remote(text)));
    if lists && local { None } else { refuse() }
}

/// Whether an unpacker is told to print what it unpacks: its content is shown then, and not its names alone.
pub(super) fn prints_content(name: &str, args: &[Word]) -> bool {
    let bundle = |letter: char| {
        let texts = args.iter().filter_map(|word| value(Some(word)));
        let mut bundles = texts.enumerate().filter(|(n, text)| *n == 0 || text.starts_with('-'));
        bundles.any(|(_, text)| text.contains(letter) && !text.starts_with("--"))
    };
    match name {
        "tar" | "bsdtar" | "gtar" => {
            bundle('O') || args.iter().any(|word| value(Some(word)).is_some_and(|text| text.starts_with("--to")))
        }
        "unzip" => bundle('p') || bundle('c'),
        _ => false,
    }
}
