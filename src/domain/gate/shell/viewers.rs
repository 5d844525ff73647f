//! Programs that show documents, keys, pictures, accounts and manuals: with which arguments they only show them.

use super::options::{Options, operands};
use super::readers::{odd, texts};
use super::value;
use crate::domain::gate::facts::Word;

/// `screen -ls`, `zellij list-sessions`: what there is, and nothing started.
pub(super) fn sessions(args: &[Word], appended: bool) -> Option<String> {
    let lists = matches!(args, [only] if matches!(value(Some(only)), Some("-ls" | "-list" | "list-sessions" | "ls")));
    if lists && !appended { None } else { odd("screen") }
}

/// What a graphics card does now; every other option or word of it sets something or writes a file.
pub(super) fn nvidia(args: &[Word], appended: bool) -> Option<String> {
    let shows = |text: &str| {
        let name = text.split('=').next().unwrap_or(text);
        matches!(name, "-L" | "-q" | "-x" | "--list-gpus" | "--query" | "--format" | "--id" | "--help" | "--version")
            || name.starts_with("--query-")
    };
    if texts(args).is_some_and(|texts| texts.into_iter().all(shows)) && !appended { None } else { odd("nvidia-smi") }
}

/// Pages of the manual by name. What names a file would show the file, whatever it is.
pub(super) fn manual(args: &[Word], appended: bool) -> Option<String> {
    const MAN: Options = Options {
        short: "kfwWaiIKDuV7dtcZ",
        valued: "SsmLRer",
        long: &[
            "apropos",
            "whatis",
            "where",
            "path",
            "where-cat",
            "all",
            "ignore-case",
            "match-case",
            "regex",
            "wildcard",
            "names-only",
            "global-apropos",
            "no-hyphenation",
            "no-justification",
            "ascii",
            "help",
            "version",
            "usage",
            "debug",
        ],
        long_valued: &["sections", "systems", "locale", "extension", "encoding", "recode"],
    };
    let Some(found) = operands(&MAN, args).filter(|_| !appended) else { return odd("man") };
    let file = |n: &usize| args.get(*n).and_then(|word| value(Some(word))).is_none_or(|text| text.contains('/'));
    if found.iter().any(file) { Some("“man” would show a file.".to_string()) } else { None }
}

/// Keys that are listed, signatures that are checked.
pub(super) fn gpg(args: &[Word], appended: bool) -> Option<String> {
    const GPG: Options = Options {
        short: "kKvq",
        valued: "",
        long: &[
            "list-keys",
            "list-public-keys",
            "list-secret-keys",
            "list-sigs",
            "list-signatures",
            "fingerprint",
            "verify",
            "list-packets",
            "show-keys",
            "with-colons",
            "with-fingerprint",
            "with-subkey-fingerprint",
            "with-keygrip",
            "batch",
            "no-tty",
            "quiet",
            "verbose",
            "list-config",
            "version",
        ],
        long_valued: &["keyid-format"],
    };
    let asked = args.iter().filter_map(|word| value(Some(word))).any(|text| {
        text.starts_with("--list-")
            || matches!(text, "-k" | "-K" | "--fingerprint" | "--verify" | "--show-keys" | "--version")
    });
    if asked && operands(&GPG, args).is_some() && !appended { None } else { odd("gpg") }
}

/// `ssh-keygen -lf key.pub`: the fingerprint alone.
pub(super) fn fingerprint(args: &[Word], appended: bool) -> Option<String> {
    let options = Options { short: "lvB", valued: "fE", long: &[], long_valued: &[] };
    let asked = args.first().and_then(|word| value(Some(word))).is_some_and(|text| text.starts_with("-l"));
    let plain = operands(&options, args).is_some_and(|found| found.is_empty());
    if asked && plain && !appended { None } else { odd("ssh-keygen") }
}

/// A text in another notation, to standard output: no file, filter, template or page of the web.
pub(super) fn pandoc(args: &[Word], appended: bool) -> Option<String> {
    const PANDOC: Options = Options {
        short: "sSpNi",
        valued: "frtw",
        long: &[
            "standalone",
            "toc",
            "table-of-contents",
            "number-sections",
            "preserve-tabs",
            "reference-links",
            "no-highlight",
            "ascii",
            "strip-comments",
            "list-tables",
            "sandbox",
            "quiet",
            "verbose",
            "section-divs",
            "html-q-tags",
            "incremental",
            "file-scope",
        ],
        long_valued: &[
            "from",
            "read",
            "to",
            "write",
            "wrap",
            "columns",
            "toc-depth",
            "shift-heading-level-by",
            "tab-stop",
            "markdown-headings",
            "eol",
            "track-changes",
            "id-prefix",
            "reference-location",
        ],
    };
    let Some(found) = operands(&PANDOC, args).filter(|_| !appended) else { return odd("pandoc") };
    let texts = || args.iter().filter_map(|word| value(Some(word)));
    if !texts().any(|text| text == "--sandbox") && !is_markdown(args, &found) {
        return Some("“pandoc” reads what a text of this kind includes, unless “--sandbox” forbids it.".to_string());
    }
    // A notation that is no plain name is a script.
    let script = texts().any(|text| text.contains(".lua") || text.contains("://"));
    let whole = texts().any(|text| matches!(text, "pdf" | "docx" | "odt" | "epub" | "pptx"));
    // A file of its own notation is read as Lua, whatever it is called; a reader or writer is a plain name.
    let notation = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+'));
    let named = args.windows(2).all(|pair| match pair {
        [option, next]
            if matches!(
                value(Some(option)),
                Some("-f" | "-r" | "-t" | "-w" | "--from" | "--read" | "--to" | "--write")
            ) =>
        {
            value(Some(next)).is_some_and(notation)
        }
        _ => true,
    });
    let inline = texts().all(|text| {
        let long = ["--from=", "--read=", "--to=", "--write="].iter().find_map(|long| text.strip_prefix(long));
        let short = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')).filter(|rest| rest.len() > 1);
        long.is_none_or(notation)
            && short.is_none_or(|rest| rest.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+')))
    });
    if found.len() <= 16 && !script && !whole && named && inline { None } else { odd("pandoc") }
}

/// Whether pandoc reads nothing but Markdown, which includes no other file: said so, by the names of its files, or, as
/// without a word of either, by default.
fn is_markdown(args: &[Word], files: &[usize]) -> bool {
    let plain = |text: &str| ["markdown", "gfm", "commonmark"].iter().any(|name| text.starts_with(name));
    let texts: Vec<&str> = args.iter().filter_map(|word| value(Some(word))).collect();
    let readers = texts.iter().enumerate().filter_map(|(n, text)| match *text {
        "-f" | "-r" | "--from" | "--read" => texts.get(n + 1).copied(),
        _ => {
            let long = ["--from=", "--read="].iter().find_map(|long| text.strip_prefix(long));
            long.or_else(|| text.strip_prefix("-f").or_else(|| text.strip_prefix("-r")).filter(|rest| !rest.is_empty()))
        }
    });
    let readers: Vec<&str> = readers.collect();
    let named = |n: &usize| texts.get(*n).is_some_and(|text| text.ends_with(".md") || text.ends_with(".markdown"));
    match readers.is_empty() {
        true => files.iter().all(named),
        false => readers.into_iter().all(plain),
    }
}

/// What stands in pictures: a few options, tags by their plain names, and files. A name that begins like an option that
/// does more is no tag here, for the program takes many spellings of each.
pub(super) fn exiftool(args: &[Word], appended: bool) -> Option<String> {
    const OPTIONS: &[&str] = &[
        "a", "b", "e", "f", "g", "g1", "G", "G0", "G1", "j", "json", "n", "q", "r", "s", "s2", "s3", "S", "t", "u",
        "v", "X", "ver",
    ];
    const TAGS: &[&str] = &[
        "createdate",
        "datetimeoriginal",
        "modifydate",
        "filemodifydate",
        "imagesize",
        "imagewidth",
        "imageheight",
        "megapixels",
        "filetype",
        "mimetype",
        "model",
        "make",
        "orientation",
        "iso",
        "aperture",
        "fnumber",
        "shutterspeed",
        "exposuretime",
        "focallength",
        "lensmodel",
        "lensid",
        "gpsposition",
        "gpslatitude",
        "gpslongitude",
        "gpsaltitude",
        "artist",
        "author",
        "title",
        "subject",
        "keywords",
        "copyright",
        "comment",
        "description",
        "duration",
        "rotation",
        "pagecount",
        "software",
        "producer",
        "creator",
        "common",
        "colorspace",
        "bitdepth",
        "avgbitrate",
        "videoframerate",
        "album",
        "track",
        "genre",
        "year",
    ];
    let plain = |text: &&str| match text.strip_prefix('-') {
        Some(name) => OPTIONS.contains(&name) || TAGS.contains(&name.to_ascii_lowercase().as_str()),
        None => is_file(text),
    };
    let texts = texts(args).filter(|_| !appended);
    if texts.is_some_and(|texts| !texts.is_empty() && texts.iter().all(plain)) { None } else { odd("exiftool") }
}

/// Whether a word names a file and nothing else: no pipe, no address, no `kind:` of input, no list of arguments.
fn is_file(text: &str) -> bool {
    !text.contains(['|', ':', '<', '>']) && !text.starts_with(['-', '@', '+', '!']) && !text.is_empty()
}

/// What stands in films and music. No input but files: a filter as input could write, and load code.
pub(super) fn ffprobe(args: &[Word], appended: bool) -> Option<String> {
    const VALUED: &[&str] = &[
        "-v",
        "-loglevel",
        "-of",
        "-print_format",
        "-output_format",
        "-show_entries",
        "-select_streams",
        "-read_intervals",
    ];
    const ALONE: &[&str] = &[
        "-hide_banner",
        "-pretty",
        "-unit",
        "-prefix",
        "-sexagesimal",
        "-count_frames",
        "-count_packets",
        "-show_format",
        "-show_streams",
        "-show_frames",
        "-show_packets",
        "-show_chapters",
        "-show_programs",
        "-show_error",
        "-show_data",
        "-show_private_data",
        "-i",
    ];
    let Some(texts) = texts(args).filter(|texts| !appended && !texts.is_empty()) else { return odd("ffprobe") };
    let mut words = texts.iter();
    while let Some(word) = words.next() {
        let fine = match VALUED.contains(word) {
            true => words.next().is_some_and(|value| !value.starts_with('-')),
            false => ALONE.contains(word) || is_file(word),
        };
        if !fine {
            return odd("ffprobe");
        }
    }
    None
}

pub(super) fn mediainfo(args: &[Word], appended: bool) -> Option<String> {
    let known = |text: &&str| {
        matches!(*text, "-f" | "--Full" | "--Output=JSON" | "--Output=XML" | "--Version" | "--Help") || is_file(text)
    };
    let texts = texts(args).filter(|_| !appended);
    if texts.is_some_and(|texts| !texts.is_empty() && texts.iter().all(known)) { None } else { odd("mediainfo") }
}

/// Words that are not in the dictionary: `aspell list`, `hunspell -l`. Settings and dictionaries of one's own are
/// refused, for they may name filters that are loaded.
pub(super) fn spelling(args: &[Word], appended: bool) -> Option<String> {
    let named = |text: &str, prefix: &str| {
        let name = text.strip_prefix(prefix);
        name.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic() || c == '_'))
    };
    let asks = |text: &&str| matches!(*text, "list" | "-l" | "dicts" | "soundslike");
    let Some(texts) = texts(args).filter(|_| !appended) else { return odd("aspell") };
    let mut words = texts.iter().peekable();
    let mut asked = false;
    while let Some(word) = words.next() {
        asked |= asks(word);
        let fine = match *word {
            "-d" => words.next().is_some_and(|name| named(name, "")),
            text if text.starts_with('-') => {
                text == "-l"
                    || named(text, "-d")
                    || named(text, "--lang=")
                    || matches!(text, "--mode=none" | "--mode=tex" | "--mode=html" | "--mode=markdown" | "--mode=email")
            }
            text => asked && is_file(text),
        };
        if !fine {
            return odd("aspell");
        }
    }
    if asked { None } else { odd("aspell") }
}

/// Reports of a journal of accounts. The first word that is no option is the report; options are a list of those that
/// choose what is shown, so that none writes, runs a script or starts a pager.
pub(super) fn ledger(args: &[Word], appended: bool) -> Option<String> {
    const REPORTS: &[&str] = &[
        "bal",
        "balance",
        "reg",
        "register",
        "print",
        "accounts",
        "payees",
        "stats",
        "commodities",
        "incomestatement",
        "is",
        "balancesheet",
        "bs",
        "cashflow",
        "cf",
        "aregister",
        "areg",
        "activity",
        "files",
        "tags",
        "descriptions",
        "prices",
        "equity",
        "cleared",
    ];
    const LEDGER: Options = Options {
        short: "MWYDEBVCUR0123456789",
        valued: "fbep",
        long: &[
            "monthly",
            "weekly",
            "yearly",
            "quarterly",
            "daily",
            "empty",
            "tree",
            "flat",
            "real",
            "cleared",
            "pending",
            "uncleared",
            "current",
            "cost",
            "no-total",
            "average",
            "row-total",
            "collapse",
            "subtotal",
            "historical",
            "cumulative",
            "help",
            "version",
            "wide",
        ],
        long_valued: &["depth", "begin", "end", "period", "file"],
    };
    // A journal that begins with a mark is a program.
    let runs = args.iter().any(|word| value(Some(word)).is_none_or(|text| text.contains(['!', '|', '`'])));
    let found = operands(&LEDGER, args).filter(|_| !appended && !runs);
    let words = found.map(|found| found.iter().map(|n| args.get(*n).and_then(|w| value(Some(w)))).collect::<Vec<_>>());
    let report =
        |words: &Vec<Option<&str>>| words.first().is_some_and(|word| word.is_some_and(|w| REPORTS.contains(&w)));
    if words.is_some_and(|words| report(&words)) { None } else { odd("ledger") }
}
