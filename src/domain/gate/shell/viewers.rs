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

pub(super) fn nvidia(args: &[Word], appended: bool) -> Option<String> {
    let shows = |text: &str| {
        let name = text.split('=').next().unwrap_or(text);
        matches!(name, "-L" | "-q" | "-x" | "-a" | "-d" | "-i" | "-l" | "--list-gpus" | "--query" | "--format" | "--id")
            || name.starts_with("--query-")
            || !name.starts_with('-') && !matches!(name, "drain" | "mig" | "clocks" | "compute-policy" | "boost-slider")
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
        long_valued: &["keyid-format", "status-fd"],
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
    // A notation that is no plain name is a script.
    let script = texts().any(|text| text.contains(".lua") || text.contains("://"));
    let whole = texts().any(|text| matches!(text, "pdf" | "docx" | "odt" | "epub" | "pptx"));
    if found.len() <= 16 && !script && !whole { None } else { odd("pandoc") }
}

/// What stands in pictures: tags are named and not set, and no option does more.
pub(super) fn exiftool(args: &[Word], appended: bool) -> Option<String> {
    const REFUSED: &[&str] = &[
        "if",
        "if2",
        "execute",
        "config",
        "p",
        "w",
        "w+",
        "w!",
        "o",
        "out",
        "textout",
        "tagsfromfile",
        "filename",
        "directory",
        "testname",
        "geotag",
        "delete_original",
        "restore_original",
        "overwrite_original",
        "api",
        "userparam",
        "use",
        "stay_open",
        "diff",
        "efile",
        "progress",
        "csv",
        "j+",
        "fileorder",
        "srcfile",
        "all",
    ];
    let plain = |text: &&str| {
        let Some(name) = text.strip_prefix('-') else { return !text.contains("://") && !text.ends_with(" |") };
        let name = name.to_ascii_lowercase();
        !name.contains(['=', '<', '>', '@', '&', ':'])
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'*'))
            && !REFUSED.iter().any(|refused| name == *refused || name.starts_with("efile") || name.starts_with("w"))
    };
    let texts = texts(args).filter(|_| !appended);
    if texts.is_some_and(|texts| !texts.is_empty() && texts.iter().all(plain)) { None } else { odd("exiftool") }
}

/// What stands in films and music; addresses and written reports are refused.
pub(super) fn probe(args: &[Word], appended: bool) -> Option<String> {
    const VALUED: &[&str] =
        &["-v", "-loglevel", "-of", "-print_format", "-show_entries", "-select_streams", "-i", "-read_intervals"];
    let known = |text: &&str| {
        text.starts_with("-show_")
            || VALUED.contains(text)
            || matches!(
                *text,
                "-hide_banner"
                    | "-pretty"
                    | "-unit"
                    | "-sexagesimal"
                    | "-count_frames"
                    | "-count_packets"
                    | "-f"
                    | "--Full"
                    | "--Output=JSON"
                    | "--Output=XML"
            )
            || text.starts_with("--Inform=") && !text.contains("file:")
            || !text.starts_with('-')
                && !text.contains("://")
                && !text.starts_with("concat:")
                && !text.starts_with("pipe:")
    };
    let texts = texts(args).filter(|_| !appended);
    if texts.is_some_and(|texts| !texts.is_empty() && texts.iter().all(known)) { None } else { odd("ffprobe") }
}

/// Words that are not in the dictionary.
pub(super) fn spelling(args: &[Word], appended: bool) -> Option<String> {
    let known = |text: &&str| {
        matches!(*text, "list" | "-l" | "-a" | "pipe" | "munch" | "dicts" | "soundslike" | "-d" | "-L" | "-G" | "-w")
            || text.starts_with("--lang=")
            || text.starts_with("-d") && !text.contains('/')
            || text.starts_with("--mode=")
            || !text.starts_with('-') && !matches!(*text, "check" | "-c" | "merge" | "create" | "dump" | "filter")
    };
    let texts = texts(args).filter(|_| !appended);
    let lists = |texts: &Vec<&str>| texts.iter().any(|text| matches!(*text, "list" | "-l" | "-a" | "pipe" | "dicts"));
    if texts.is_some_and(|texts| lists(&texts) && texts.iter().all(known)) { None } else { odd("aspell") }
}

/// Reports of a journal of accounts; files that are written, scripts and pagers are refused.
pub(super) fn ledger(args: &[Word], appended: bool) -> Option<String> {
    const REPORTS: &[&str] = &[
        "bal",
        "balance",
        "b",
        "reg",
        "register",
        "r",
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
        "check",
        "equity",
        "cleared",
    ];
    let refused = |text: &str| {
        text.starts_with('!')
            || text.starts_with("-o")
            || ["--output", "--script", "--pager", "--import", "--init-file", "--args-only", "--conf", "--rules"]
                .iter()
                .any(|long| text.starts_with(long))
    };
    let texts = texts(args).filter(|_| !appended);
    let fine =
        |texts: Vec<&str>| texts.iter().any(|text| REPORTS.contains(text)) && !texts.iter().any(|text| refused(text));
    if texts.is_some_and(fine) { None } else { odd("ledger") }
}
