//! Programs that unpack, query or describe files: with which arguments they only show what they find.

use super::options::{Options, given, operands};
use super::value;
use crate::domain::gate::facts::Word;

const NO_OPTIONS: Options = Options { short: "", valued: "", long: &[], long_valued: &[] };

pub(super) fn texts(args: &[Word]) -> Option<Vec<&str>> {
    args.iter().map(|word| value(Some(word))).collect()
}

pub(super) fn odd(name: &str) -> Option<String> {
    Some(format!("“{name}” is used in a way that is not known to read only."))
}

const PACKER: Options = Options {
    short: "cdtlkvqfnN0123456789C",
    valued: "",
    long: &[
        "stdout",
        "to-stdout",
        "decompress",
        "uncompress",
        "test",
        "list",
        "keep",
        "verbose",
        "quiet",
        "fast",
        "best",
    ],
    long_valued: &[],
};

/// Packers that write to standard output: asked to, or with nothing but standard input to read. Listing and testing
/// count only where nothing else asks for another mode, since the last one wins.
pub(super) fn packer(args: &[Word], appended: bool) -> Option<String> {
    packs(args, appended, &['l', 't'], &["list", "test"])
}

/// As [`packer`], of those for which the letter of listing means something else.
pub(super) fn packer_without_list(args: &[Word], appended: bool) -> Option<String> {
    packs(args, appended, &['t'], &["list", "test"])
}

fn packs(args: &[Word], appended: bool, letters: &[char], long: &[&str]) -> Option<String> {
    let harmless = given(&PACKER, args).filter(|_| !appended).is_some_and(|found| {
        let prints = found.has(&['c'], &["stdout", "to-stdout"]);
        let looks = found.has(letters, long) && !found.has(&['d'], &["decompress", "uncompress"]);
        prints || looks || found.operands.is_empty()
    });
    (!harmless).then(|| "It replaces files by packed or unpacked ones.".to_string())
}

/// `lz4` takes a second operand for what it writes; a pattern is as many as it matches.
pub(super) fn packer_of_one(args: &[Word], appended: bool) -> Option<String> {
    let named = args.iter().filter(|word| value(Some(word)).is_some_and(|text| !text.starts_with('-'))).count();
    let several = named > 1 || args.iter().any(|word| word.glob);
    if several { odd("lz4") } else { packer_without_list(args, appended) }
}

pub(super) fn ar(args: &[Word], appended: bool) -> Option<String> {
    let lists = args
        .first()
        .and_then(|word| value(Some(word)))
        .map(|text| text.trim_start_matches('-'))
        .is_some_and(|letters| letters.contains('t') && letters.chars().all(|c| matches!(c, 't' | 'v' | 'O')));
    let plain = args.iter().skip(1).all(|word| value(Some(word)).is_some_and(|text| !text.starts_with('-')));
    if lists && plain && !appended { None } else { odd("ar") }
}

pub(super) fn seven_zip(args: &[Word], appended: bool) -> Option<String> {
    let texts = texts(args).filter(|_| !appended);
    let lists = texts.is_some_and(|texts| {
        matches!(texts.first(), Some(&"l"))
            && texts.iter().skip(1).all(|text| !text.starts_with(['-', '@']) || matches!(*text, "-slt" | "-ba" | "-r"))
    });
    if lists { None } else { odd("7z") }
}

pub(super) fn cpio(args: &[Word], appended: bool) -> Option<String> {
    let lists = args.iter().filter_map(|word| value(Some(word))).any(|text| text.contains('t'));
    let plain = args.iter().all(|word| {
        value(Some(word))
            .and_then(|text| text.strip_prefix('-'))
            .is_some_and(|letters| letters.chars().all(|c| matches!(c, 't' | 'i' | 'v')))
    });
    if lists && plain && !appended { None } else { odd("cpio") }
}

/// The loader of a program that nobody has judged could run it; those of the system are known.
pub(super) fn ldd(args: &[Word], appended: bool) -> Option<String> {
    const SYSTEM: [&str; 5] = ["/bin/", "/usr/bin/", "/usr/lib/", "/lib/", "/usr/sbin/"];
    let plain = texts(args).filter(|_| !appended).is_some_and(|texts| {
        !texts.is_empty()
            && texts.iter().all(|text| {
                matches!(*text, "-v" | "-r" | "-d" | "-u")
                    || (SYSTEM.iter().any(|folder| text.starts_with(folder)) && !text.contains(".."))
            })
    });
    if plain { None } else { odd("ldd") }
}

pub(super) fn yq(args: &[Word], appended: bool) -> Option<String> {
    const YQ: Options = Options {
        short: "rPCMNjeyYcn0S",
        valued: "opI",
        long: &[
            "prettyPrint",
            "raw-output",
            "unwrapScalar",
            "colors",
            "no-colors",
            "no-doc",
            "exit-status",
            "yaml-output",
            "null-input",
            "tojson",
            "output-format",
            "input-format",
            "help",
            "version",
        ],
        long_valued: &["indent"],
    };
    let reaches = |text: &str| {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$')));
        words.into_iter().any(|word| {
            word.starts_with("load")
                || word.ends_with("ENV")
                || matches!(word, "env" | "strenv" | "envsubst" | "eval" | "include" | "import" | "input_filename")
        })
    };
    let Some(found) = operands(&YQ, args).filter(|_| !appended) else { return odd("yq") };
    let words = found.iter().filter_map(|n| args.get(*n).and_then(|word| value(Some(word))));
    let mut words = words.skip_while(|text| matches!(*text, "e" | "ea" | "eval" | "eval-all"));
    words.next().is_some_and(reaches).then(|| "The program of “yq” reaches beyond its input.".to_string())
}

pub(super) fn xmllint(args: &[Word], appended: bool) -> Option<String> {
    const XMLLINT: Options = Options {
        short: "",
        valued: "",
        long: &[
            "format",
            "noout",
            "html",
            "nonet",
            "recover",
            "c14n",
            "noblanks",
            "nowarning",
            "version",
            "huge",
            "debug",
        ],
        long_valued: &["xpath", "encode", "pretty"],
    };
    let Some(found) = operands(&XMLLINT, args).filter(|_| !appended) else { return odd("xmllint") };
    let away =
        found.iter().filter_map(|n| args.get(*n).and_then(|word| value(Some(word)))).any(|text| text.contains("://"));
    if away { odd("xmllint") } else { None }
}

/// Returns what speaks against a query of a database file; without `-readonly` only plain selections are reads.
pub(super) fn sqlite(args: &[Word], appended: bool) -> Option<String> {
    const SHOWS: &[&str] = &[
        ".tables",
        ".schema",
        ".fullschema",
        ".indexes",
        ".indices",
        ".databases",
        ".dbinfo",
        ".headers",
        ".mode",
        ".show",
        ".stats",
    ];
    const REACHES: &[&str] = &[
        "load_extension",
        "writefile",
        "readfile",
        "edit",
        "attach",
        "vacuum",
        "fts3_tokenizer",
        "zipfile",
        "fsdir",
        "lsdir",
        "pragma",
        "insert",
        "update",
        "delete",
        "replace",
        "create",
        "drop",
        "alter",
        "detach",
        "reindex",
    ];
    let Some(texts) = texts(args).filter(|_| !appended) else { return odd("sqlite3") };
    let (mut at, mut kept, mut words) = (0, false, Vec::new());
    while let Some(text) = texts.get(at) {
        match text.strip_prefix('-').map(|rest| rest.trim_start_matches('-')) {
            None => words.push(*text),
            Some("readonly") => kept = true,
            Some("separator" | "nullvalue") => at += 1,
            Some(
                "header" | "noheader" | "csv" | "json" | "column" | "line" | "list" | "html" | "box" | "markdown"
                | "table" | "tabs" | "batch" | "safe",
            ) => {}
            Some(_) => return odd("sqlite3"),
        }
        at += 1;
    }
    let [_, queries @ ..] = words.as_slice() else { return odd("sqlite3") };
    let plain = |query: &&str| {
        let query = query.trim();
        if query.contains('\n') && query.lines().any(|line| line.trim_start().starts_with('.')) {
            return false;
        }
        if query.starts_with('.') {
            return query.split_whitespace().next().is_some_and(|word| SHOWS.contains(&word))
                && !query.contains(['|', '\n']);
        }
        let lower = query.to_lowercase();
        if lower.trim_end().trim_end_matches(';').contains(';') {
            return false;
        }
        let mut tokens = lower.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let shown = lower.starts_with("pragma table_info(") && !lower.trim_end_matches(';').contains(';');
        let selects = lower.starts_with("select") || lower.starts_with("explain") || lower.starts_with("with");
        shown || ((kept || selects) && !tokens.any(|token| REACHES.contains(&token)))
    };
    if !queries.is_empty() && queries.iter().all(plain) { None } else { odd("sqlite3") }
}

pub(super) fn openssl(args: &[Word], appended: bool) -> Option<String> {
    let Some(texts) = texts(args).filter(|_| !appended) else { return odd("openssl") };
    let alone =
        |allowed: &[&str], rest: &[&str]| rest.iter().all(|text| !text.starts_with('-') || allowed.contains(text));
    // What stands before a colon says where from: the network, or a module that is loaded.
    let fetches = !matches!(texts.first(), Some(&("ciphers" | "list"))) && texts.iter().any(|text| text.contains(':'));
    let fine = match texts.as_slice() {
        _ if fetches => false,
        ["version", rest @ ..] => rest.iter().all(|text| matches!(*text, "-a" | "-v" | "-d")),
        ["x509", rest @ ..] => {
            rest.contains(&"-noout")
                && alone(
                    &[
                        "-in",
                        "-noout",
                        "-text",
                        "-subject",
                        "-issuer",
                        "-dates",
                        "-startdate",
                        "-enddate",
                        "-fingerprint",
                        "-serial",
                        "-pubkey",
                        "-purpose",
                        "-email",
                        "-hash",
                        "-sha256",
                        "-sha1",
                        "-inform",
                        "-ext",
                        "-nameopt",
                    ],
                    rest,
                )
        }
        // What is asked for, checked, or made a sum of; no key is read, and nothing is written.
        ["req" | "crl" | "verify", rest @ ..] => {
            (texts.first() == Some(&"verify") || rest.contains(&"-noout"))
                && alone(
                    &[
                        "-in",
                        "-noout",
                        "-text",
                        "-subject",
                        "-issuer",
                        "-verify",
                        "-modulus",
                        "-pubkey",
                        "-inform",
                        "-nameopt",
                        "-lastupdate",
                        "-nextupdate",
                        "-fingerprint",
                        "-CAfile",
                        "-untrusted",
                        "-show_chain",
                        "-verbose",
                    ],
                    rest,
                )
        }
        ["ciphers", rest @ ..] => alone(&["-v", "-V", "-s", "-tls1_2", "-tls1_3"], rest),
        ["list", rest @ ..] => rest.iter().all(|text| text.starts_with('-') && !text.contains('=')),
        ["asn1parse", rest @ ..] => alone(&["-in", "-i", "-inform", "-dump"], rest),
        _ => false,
    };
    if fine { None } else { odd("openssl") }
}

pub(super) fn rpm(args: &[Word], appended: bool) -> Option<String> {
    const RPM: Options = Options {
        short: "qailfcdRp",
        valued: "",
        long: &[
            "query",
            "all",
            "info",
            "list",
            "file",
            "changelog",
            "last",
            "provides",
            "requires",
            "scripts",
            "conflicts",
            "obsoletes",
            "docfiles",
            "configfiles",
            "whatprovides",
            "whatrequires",
            "version",
        ],
        long_valued: &["qf", "queryformat"],
    };
    let asks = args
        .iter()
        .filter_map(|word| value(Some(word)))
        .any(|text| text == "--query" || (text.starts_with("-q") && !text.starts_with("--")));
    let plain = args
        .iter()
        .filter_map(|word| value(Some(word)))
        .all(|text| !text.contains("://") && !text.contains("%(") && !text.contains("lua"));
    if operands(&RPM, args).is_some() && asks && plain && !appended { None } else { odd("rpm") }
}

/// Pagers show their files and end when nobody sits before them; `+command` and log files are refused. A number ends
/// where its digits do and a text at a dollar sign, and the next option begins there, in the same word.
pub(super) fn pager(args: &[Word], appended: bool) -> Option<String> {
    const PAGER: Options = Options {
        short: "NSRFXEeiIMmnrsQqgGdfu",
        valued: "pxjhyz",
        long: &[
            "LINE-NUMBERS",
            "RAW-CONTROL-CHARS",
            "quit-if-one-screen",
            "no-init",
            "chop-long-lines",
            "help",
            "version",
        ],
        long_valued: &["pattern", "tabs"],
    };
    let Some(found) = operands(&PAGER, args).filter(|_| !appended) else { return odd("less") };
    let Some(texts) = texts(args) else { return odd("less") };
    let commands = found.iter().filter_map(|n| texts.get(*n)).any(|text| text.starts_with('+'));
    let mut words = texts.iter();
    let mut ended = false;
    while let Some(word) = words.next().filter(|_| !ended) {
        ended = *word == "--";
        let Some(rest) = word.strip_prefix('-').filter(|_| !ended) else { continue };
        let (name, inline) = match rest.strip_prefix('-') {
            Some(long) => {
                let (name, inline) = long.split_once('=').unwrap_or((long, ""));
                (name.chars().next().filter(|_| PAGER.long_valued.contains(&name)), inline)
            }
            None => {
                let at = rest.find(|c| PAGER.valued.contains(c)).unwrap_or(rest.len());
                let (_, valued) = rest.split_at(at);
                (valued.chars().next(), valued.get(1..).unwrap_or(""))
            }
        };
        let Some(name) = name else { continue };
        let text = if inline.is_empty() { words.next().copied().unwrap_or("") } else { inline };
        let number = text.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '.'));
        let ends = if name == 'p' { text.contains('$') } else { !number };
        if ends {
            return odd("less");
        }
    }
    if commands { odd("less") } else { None }
}

/// `pdftotext file -`: without the dash it writes a file.
pub(super) fn pdftotext(args: &[Word], appended: bool) -> Option<String> {
    let found = operands(&Options { short: "q", valued: "fl", long: &["layout"], long_valued: &[] }, &dashed(args));
    let last = args.last().and_then(|word| value(Some(word)));
    if found.is_some_and(|found| found.len() == 2) && last == Some("-") && !appended { None } else { odd("pdftotext") }
}

/// Long options with one dash.
fn dashed(args: &[Word]) -> Vec<Word> {
    let twice = |word: &Word| match value(Some(word)) {
        Some("-layout") => Word { value: Some("--layout".to_string()), ..word.clone() },
        _ => word.clone(),
    };
    args.iter().map(twice).collect()
}

pub(super) fn sysctl(args: &[Word], appended: bool) -> Option<String> {
    let options = Options { short: "aneNbqr", valued: "", long: &["all", "names", "values"], long_valued: &[] };
    let sets = args.iter().filter_map(|word| value(Some(word))).any(|text| text.contains('='));
    if operands(&options, args).is_none() || sets || appended { odd("sysctl") } else { None }
}

/// `read` fills variables of its own; a name that means something to the shell is refused.
pub(super) fn read(args: &[Word], appended: bool) -> Option<String> {
    let options = Options { short: "rse", valued: "pdntN", long: &[], long_valued: &[] };
    let Some(found) = operands(&options, args).filter(|_| !appended) else { return odd("read") };
    let own = |text: &str| super::tables::harmless_variable(text, Some(""), true) && super::is_name(text);
    let fine = found.iter().all(|n| args.get(*n).and_then(|word| value(Some(word))).is_some_and(own));
    if fine { None } else { odd("read") }
}

/// `set -euo pipefail` decides how a script fails; other settings and positional words are refused.
pub(super) fn set(args: &[Word], appended: bool) -> Option<String> {
    let Some(texts) = texts(args).filter(|_| !appended) else { return odd("set") };
    let mut named = false;
    for text in texts {
        let letters = text.strip_prefix(['-', '+']);
        match letters {
            None if named && matches!(text, "pipefail" | "errexit" | "nounset" | "xtrace" | "verbose" | "noglob") => {
                named = false
            }
            Some(letters)
                if !letters.is_empty() && letters.chars().all(|c| matches!(c, 'e' | 'u' | 'x' | 'v' | 'f' | 'o')) =>
            {
                named = letters.ends_with('o');
            }
            _ => return odd("set"),
        }
    }
    None
}

/// `route -n`, `arp -a`, `swapon --show`: the table alone, and nothing that could be set.
pub(super) fn tables_of_the_system(args: &[Word], appended: bool) -> Option<String> {
    let options = Options { short: "snae", valued: "", long: &["show"], long_valued: &[] };
    if operands(&options, args).is_some_and(|found| found.is_empty()) && !appended { None } else { odd("It") }
}

pub(super) fn crontab(args: &[Word], appended: bool) -> Option<String> {
    if matches!(args, [only] if value(Some(only)) == Some("-l")) && !appended { None } else { odd("crontab") }
}

/// Programs of a compiler that are only asked what they are.
pub(super) fn rustc(args: &[Word], appended: bool) -> Option<String> {
    let options = Options {
        short: "vV",
        valued: "",
        long: &["version", "verbose", "help"],
        long_valued: &["explain", "print", "edition", "target"],
    };
    let writes = args.iter().filter_map(|word| value(Some(word))).any(|text| text.matches('=').count() > 1);
    let asked = args.iter().filter_map(|word| value(Some(word))).any(|text| {
        text.starts_with("--print")
            || text.starts_with("--explain")
            || matches!(text, "-vV" | "-V" | "--version" | "--help")
    });
    let plain = operands(&options, args).is_some_and(|found| found.is_empty());
    if plain && asked && !writes && !appended { None } else { odd("rustc") }
}

/// No option and no operand, as in `umask` and `alias`.
pub(super) fn nothing(args: &[Word], appended: bool) -> Option<String> {
    if operands(&NO_OPTIONS, args).is_some_and(|found| found.is_empty()) && !appended { None } else { odd("It") }
}
